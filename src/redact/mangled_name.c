/* SPDX-License-Identifier: MIT */
#include "mangled_name.h"

#include <string.h>

#include "poison.h"

#define MOST_DEPTH 64
#define MOST_DIGITS 5
/* Of what is told by one letter, in a row, equal ones counted once: more of them could spell a word. */
#define MOST_LETTERS 5

/* What an E ends. */
enum bracket { PLAIN, OF_LITERAL, OF_LAMBDA };

struct mangled {
    struct ap_text text;
    size_t at, depth;
    uint8_t open[MOST_DEPTH]; /* enum bracket */
    size_t letters;           /* in a row, up to here */
    char letter;              /* the last of them */
    ap_is_known_fn *is_known;
    void *is_known_self;
};

static bool is_next(const struct mangled *mangled, const char *any_of)
{
    return mangled->at < mangled->text.bytes && mangled->text.data[mangled->at] &&
           strchr(any_of, mangled->text.data[mangled->at]);
}

static bool take(struct mangled *mangled, const char *any_of)
{
    bool is = is_next(mangled, any_of);
    mangled->at += is;
    return is;
}

static size_t take_digits(struct mangled *mangled, uint32_t *ret_number)
{
    size_t digits = 0;
    *ret_number = 0;
    while (digits < MOST_DIGITS && is_next(mangled, "0123456789")) {
        *ret_number = *ret_number * 10 + (uint32_t)(mangled->text.data[mangled->at++] - '0');
        digits++;
    }
    return digits;
}

static bool push(struct mangled *mangled, enum bracket bracket)
{
    if (mangled->depth == MOST_DEPTH)
        return false;
    mangled->open[mangled->depth++] = (uint8_t)bracket;
    return true;
}

/* 4relu */
static bool take_name(struct mangled *mangled)
{
    uint32_t bytes;
    if (!take_digits(mangled, &bytes) || !bytes || bytes > mangled->text.bytes - mangled->at)
        return false;
    struct ap_text name = { mangled->text.data + mangled->at, bytes };
    mangled->at += bytes;
    return ap_text_is(name, "_GLOBAL__N_1") || mangled->is_known(mangled->is_known_self, name);
}

/* What came before, by number: S_, S0_, S1A_; or of the standard library: St. */
static bool take_substitution(struct mangled *mangled)
{
    if (take(mangled, "_tabsiod"))
        return true;
    for (int i = 0; i < 2; i++)
        if (take(mangled, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") && take(mangled, "_"))
            return true;
    return false;
}

/* T_, T0_, T12_; Tn in front of what a template takes beside types. */
static bool take_parameter(struct mangled *mangled)
{
    uint32_t number;
    if (take(mangled, "n"))
        return true;
    (void)take_digits(mangled, &number);
    return take(mangled, "_");
}

/* A value behind its type: 128E, n1E. */
static bool take_value(struct mangled *mangled)
{
    uint32_t number;
    (void)take(mangled, "n");
    return take_digits(mangled, &number) && take(mangled, "E");
}

#define BUILTINS "vwbcahstijlmxynofdegz"

static bool take_literal(struct mangled *mangled)
{
    if (take(mangled, "_"))
        return take(mangled, "Z") && push(mangled, PLAIN);
    if (take(mangled, "N"))
        return push(mangled, OF_LITERAL);
    if (take(mangled, "S"))
        return take_substitution(mangled) && take_value(mangled);
    return (take(mangled, BUILTINS) || take_name(mangled)) && take_value(mangled);
}

/* DF16_, DF16b, Dv4_, and what is told by two letters: Dp, Dn. */
static bool take_extended(struct mangled *mangled)
{
    uint32_t number;
    if (take(mangled, "F"))
        return take_digits(mangled, &number) && take(mangled, "_b");
    if (take(mangled, "v"))
        return take_digits(mangled, &number) && take(mangled, "_");
    return take(mangled, "ptTnaci012");
}

/* A lambda or a type without a name, by number; or a qualifier of a vendor, whose name follows. */
static bool take_unnamed(struct mangled *mangled)
{
    uint32_t number;
    if (take(mangled, "l"))
        return push(mangled, OF_LAMBDA);
    if (!take(mangled, "t"))
        return is_next(mangled, "123456789");
    (void)take_digits(mangled, &number);
    return take(mangled, "_");
}

static bool take_end(struct mangled *mangled)
{
    uint32_t number;
    if (!mangled->depth)
        return false;
    switch ((enum bracket)mangled->open[--mangled->depth]) {
    case PLAIN: return true;
    case OF_LITERAL: return take_value(mangled);
    case OF_LAMBDA: (void)take_digits(mangled, &number); return take(mangled, "_");
    }
    return false;
}

#define BEGINNINGS "NIJXFZ"
#define QUALIFIERS "KPROVM"

static bool take_letter(struct mangled *mangled)
{
    char letter = mangled->text.data[mangled->at];
    mangled->letters += letter != mangled->letter;
    mangled->letter = letter;
    bool fits = mangled->letters <= MOST_LETTERS && (!is_next(mangled, BEGINNINGS) || push(mangled, PLAIN));
    mangled->at++;
    return fits;
}

static bool take_some(struct mangled *mangled)
{
    uint32_t number;
    if (is_next(mangled, BEGINNINGS QUALIFIERS BUILTINS))
        return take_letter(mangled);
    mangled->letters = 0;
    mangled->letter = '\0';
    if (is_next(mangled, "123456789"))
        return take_name(mangled);
    if (take(mangled, "E"))
        return take_end(mangled);
    if (take(mangled, "S"))
        return take_substitution(mangled);
    if (take(mangled, "T"))
        return take_parameter(mangled);
    if (take(mangled, "L"))
        return take_literal(mangled);
    if (take(mangled, "D"))
        return take_extended(mangled);
    if (take(mangled, "U"))
        return take_unnamed(mangled);
    if (take(mangled, "C"))
        return take(mangled, "123");
    return take(mangled, "A") && take_digits(mangled, &number) && take(mangled, "_");
}

/* Kernels of AMD have their description's name. */
static struct ap_text without_ending(struct ap_text text)
{
    if (text.bytes > 3 && memcmp(text.data + text.bytes - 3, ".kd", 3) == 0)
        text.bytes -= 3;
    return text;
}

bool ap_mangled_name_is_known(struct ap_text text, ap_is_known_fn *is_known, void *is_known_self)
{
    struct mangled mangled = { .text = without_ending(text), .at = 2, .is_known = is_known, .is_known_self = is_known_self };
    bool is = ap_text_starts_with(text, "_Z") && mangled.text.bytes > 2;
    while (is && mangled.at < mangled.text.bytes)
        is = take_some(&mangled);
    return is && !mangled.depth;
}
