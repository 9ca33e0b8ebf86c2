/* SPDX-License-Identifier: MIT */
#include "near_name.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

#define MAX_BYTES 80   /* longest name that letters are counted for */
#define LEAST_PART 3   /* a shorter part is in too many names */
#define LETTERS_EACH 5 /* one mistake for so many letters */

/* Less is better: the beginning, a part, some letters off. */
enum { OF_PART = 1000, OF_LETTERS = 2000, NO_SCORE = 10000 };

/* A name is held against some thousand: a fuzzer that notes each comparison would do little else, and learn nothing. */
#if defined(__clang__)
#define NOT_NOTED __attribute__((no_sanitize("coverage")))
#else
#define NOT_NOTED
#endif

/* Small letters, and one sign between words. A table: each of thousands of names is folded for one that is unknown. */
#define FOLD(c) (uint8_t)((c) == '_' || (c) == ' ' ? '-' : (c) >= 'A' && (c) <= 'Z' ? (c) + 'a' - 'A' : (c))
#define FOLD_4(c) FOLD(c), FOLD((c) + 1), FOLD((c) + 2), FOLD((c) + 3)
#define FOLD_16(c) FOLD_4(c), FOLD_4((c) + 4), FOLD_4((c) + 8), FOLD_4((c) + 12)
#define FOLD_64(c) FOLD_16(c), FOLD_16((c) + 16), FOLD_16((c) + 32), FOLD_16((c) + 48)
static const uint8_t fold[256] = { FOLD_64(0), FOLD_64(64), FOLD_64(128), FOLD_64(192) };

/* @letters: a bit for each that comes, of those that differ in their lower five bits. */
struct name {
    const uint8_t *text;
    size_t bytes;
    uint32_t letters;
};

NOT_NOTED static struct name fold_name(struct ap_text text, uint8_t to[MAX_BYTES])
{
    struct name name = { to, text.bytes, 0 };
    for (size_t i = 0; i < text.bytes; i++) {
        to[i] = fold[(uint8_t)text.data[i]];
        name.letters |= UINT32_C(1) << (to[i] & 31);
    }
    return name;
}

/* Where @part stands in @name; its length where nowhere. */
static size_t find(const struct name *name, const struct name *part)
{
    const uint8_t *at = name->text, *end = name->text + name->bytes;
    while ((size_t)(end - at) >= part->bytes) {
        at = memchr(at, part->text[0], (size_t)(end - at) - part->bytes + 1);
        if (!at)
            break;
        if (memcmp(at, part->text, part->bytes) == 0)
            return (size_t)(at - name->text);
        at++;
    }
    return name->bytes;
}

NOT_NOTED static bool are_swapped(const struct name *a, size_t i, const struct name *b, size_t j)
{
    return i && j && a->text[i] == b->text[j - 1] && a->text[i - 1] == b->text[j];
}

NOT_NOTED static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, take away, replace or swap with the next; more than @most where there are more. Only pieces of lengths
 * that differ by at most so many are compared. */
NOT_NOTED static size_t count_changes(const struct name *a, const struct name *b, size_t most)
{
    size_t rows[3][MAX_BYTES + 2], least_above = 0;
    if (a->bytes > b->bytes + most || b->bytes > a->bytes + most)
        return most + 1;
    for (size_t j = 0; j <= lesser(b->bytes, most) + 1; j++)
        rows[0][j] = j;
    for (size_t i = 0; i < a->bytes; i++) {
        size_t *row = rows[(i + 1) % 3];
        const size_t *above = rows[i % 3], *two_above = rows[(i + 2) % 3];
        size_t first = i + 1 > most ? i + 1 - most : 1, last = lesser(b->bytes, i + 1 + most);
        size_t least_here = row[first - 1] = first == 1 ? i + 1 : most + 1;
        for (size_t j = first - 1; j < last; j++) {
            size_t least = above[j] + (a->text[i] != b->text[j]);
            least = lesser(lesser(row[j], above[j + 1]) + 1, least);
            row[j + 1] = are_swapped(a, i, b, j) ? lesser(two_above[j - 1] + 1, least) : least;
            least_here = lesser(row[j + 1], least_here);
        }
        row[last + 1] = most + 1; /* what the next row takes for above its last */
        if (least_here > most && least_above > most)
            return most + 1;
        least_above = least_here;
    }
    return rows[a->bytes % 3][b->bytes];
}

static struct name last_key(struct name name)
{
    size_t at = name.bytes;
    while (at && name.text[at - 1] != '.')
        at--;
    return (struct name){ name.text + at, name.bytes - at, name.letters };
}

static size_t score(struct ap_text wanted, struct ap_text candidate)
{
    uint8_t folded[2][MAX_BYTES];
    size_t most = wanted.bytes / LETTERS_EACH;
    if (wanted.bytes > MAX_BYTES || candidate.bytes > MAX_BYTES || wanted.bytes < LEAST_PART ||
        wanted.bytes > candidate.bytes + most)
        return NO_SCORE;
    struct name a = fold_name(wanted, folded[0]), b = fold_name(candidate, folded[1]);
    if ((size_t)__builtin_popcount(a.letters & ~b.letters) > most) /* so many have to change at least */
        return NO_SCORE;
    size_t at = find(&b, &a);
    if (at < b.bytes)
        return (at ? OF_PART : 0) + b.bytes;
    size_t changes = count_changes(&a, &b, most);
    if (changes > most) { /* the place is left out */
        b = last_key(b);
        changes = count_changes(&a, &b, most);
    }
    return changes > most ? NO_SCORE : OF_LETTERS + changes;
}

void ap_near_names_offer(struct ap_near_names *near, struct ap_text wanted, struct ap_text candidate)
{
    size_t of_candidate = score(wanted, candidate), at = near->count;
    while (at && near->scores[at - 1] > of_candidate)
        at--;
    if (at == AP_NEAR_NAMES || of_candidate == NO_SCORE)
        return;
    near->count += near->count < AP_NEAR_NAMES;
    for (size_t i = near->count - 1; i > at; i--) {
        near->scores[i] = near->scores[i - 1];
        near->names[i] = near->names[i - 1];
    }
    near->scores[at] = of_candidate;
    near->names[at] = candidate;
}

void ap_near_names_write(const struct ap_near_names *near, char *to, size_t capacity)
{
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < near->count && used < capacity; i++) {
        const char *before = i == 0 ? "; did you mean " : i + 1 == near->count ? " or " : ", ";
        int bytes = snprintf(to + used, capacity - used, "%s%.*s%s", before, (int)near->names[i].bytes, near->names[i].data,
                             i + 1 == near->count ? "?" : "");
        used += bytes > 0 ? (size_t)bytes : 0;
    }
}
