/* SPDX-License-Identifier: MIT */
#include "redact.h"

#include <stdio.h>
#include <string.h>

#include "mangled_name.h"
#include "public_names.h"
#include "siphash.h"

#include "poison.h"

#define HEX_DIGITS 16
#define OLD_HEX_DIGITS 8 /* of reports before */
#define KIND_BYTES 5     /* "name-", "path-" */
#define HASHED_BYTES (KIND_BYTES + HEX_DIGITS)
#define MOST_DIGITS 5 /* of a number that stays: less than a date or a telephone number has */

static const struct ap_text words[] = {
#define AP_PUBLIC_WORD(word) { word, sizeof(word) - 1 },
#define AP_PUBLIC_ROOT(word) { word, sizeof(word) - 1 },
#define AP_PUBLIC_PACKAGE(folder) { folder, sizeof(folder) - 1 },
#include "public_words.def"
};

static const struct ap_text beginnings[] = {
#define AP_PUBLIC_START(beginning) { beginning, sizeof(beginning) - 1 },
#include "public_words.def"
};

static const struct ap_text parts[] = {
#define AP_PUBLIC_PART(part) { part, sizeof(part) - 1 },
#include "public_words.def"
};

static const struct ap_text packages[] = {
#define AP_PUBLIC_PACKAGE(folder) { folder, sizeof(folder) - 1 },
#include "public_words.def"
};
_Static_assert(AP_COUNT_OF(words) < AP_REDACT_SLOTS / 2, "the table of words stays half empty");

/* Where a word of ours stands in the table: nobody chooses these. */
static size_t place_of(struct ap_text word)
{
    static const uint64_t key[2] = { 0, 0 };
    return (size_t)ap_siphash(key, word) % AP_REDACT_SLOTS;
}

void ap_redaction_init(struct ap_redaction *redaction, struct ap_gate *gate)
{
    memset(redaction, 0, sizeof(*redaction));
    redaction->gate = gate;
    for (size_t i = 0; i < AP_COUNT_OF(words); i++) {
        size_t at = place_of(words[i]);
        while (redaction->slots[at])
            at = (at + 1) % AP_REDACT_SLOTS;
        redaction->slots[at] = (uint16_t)(i + 1);
    }
}

void ap_redaction_release(struct ap_redaction *redaction)
{
    ap_mem_free(redaction->gate, redaction->text, redaction->capacity);
    redaction->text = NULL;
    redaction->used = redaction->capacity = 0;
}

/* ---- characters ---- */

static bool is_hex(char c)
{
    return ap_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Bytes beyond ASCII belong to words, so that no script is left as it is. */
static bool is_of_word(char c)
{
    return ap_is_letter(c) || ap_is_digit(c) || (uint8_t)c >= 0x80 || (c && strchr("_./\\-@$~", c));
}

static bool is_of_identifier(char c)
{
    return ap_is_letter(c) || ap_is_digit(c) || c == '_';
}

static bool all_of(struct ap_text text, bool (*is)(char c))
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!is(text.data[i]))
            return false;
    return true;
}

static size_t digits_at(struct ap_text text, size_t at)
{
    size_t count = 0;
    while (at + count < text.bytes && ap_is_digit(text.data[at + count]))
        count++;
    return count;
}

static struct ap_text part_of(struct ap_text text, size_t from)
{
    return (struct ap_text){ text.data + from, text.bytes - from };
}

static size_t find(struct ap_text text, const char *what)
{
    size_t bytes = strlen(what);
    for (size_t i = 0; i + bytes <= text.bytes; i++)
        if (memcmp(text.data + i, what, bytes) == 0)
            return i;
    return text.bytes;
}

/* ---- what is public ---- */

static bool is_listed(struct ap_text word, const struct ap_text *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_equal(word, list[i]))
            return true;
    return false;
}

static bool is_word(const struct ap_redaction *redaction, struct ap_text word)
{
    for (size_t at = place_of(word); redaction->slots[at]; at = (at + 1) % AP_REDACT_SLOTS)
        if (ap_text_equal(word, words[redaction->slots[at] - 1]))
            return true;
    return false;
}

/* Below, at or above zero as the word comes before, is, or comes behind the line. */
static int compare(struct ap_text word, struct ap_text line)
{
    size_t bytes = word.bytes < line.bytes ? word.bytes : line.bytes;
    int order = memcmp(word.data, line.data, bytes);
    return order ? order : (word.bytes > line.bytes) - (word.bytes < line.bytes);
}

/* A bisection of the text, each step to the line that its middle lies in. */
static bool is_name(struct ap_text word)
{
    const char *low = (const char *)ap_public_names, *high = low + ap_public_names_bytes;
    while (low < high) {
        const char *start = low + (high - low) / 2, *end;
        while (start > low && start[-1] != '\n')
            start--;
        end = memchr(start, '\n', (size_t)(high - start));
        int order = compare(word, (struct ap_text){ start, (size_t)(end - start) });
        if (order == 0)
            return true;
        if (order < 0)
            high = start;
        else
            low = end + 1;
    }
    return false;
}

/* Linear_12: the instance of a module, without which modules of one class could not be told to be so. */
static size_t instance_bytes(struct ap_text word)
{
    size_t digits = 0;
    while (digits < word.bytes && ap_is_digit(word.data[word.bytes - 1 - digits]))
        digits++;
    bool is_one = digits && digits <= MOST_DIGITS && digits + 1 < word.bytes && word.data[word.bytes - 1 - digits] == '_';
    return is_one ? digits + 1 : 0;
}

static bool is_redacted(struct ap_text word)
{
    if (word.bytes > KIND_BYTES + OLD_HEX_DIGITS && word.bytes != HASHED_BYTES)
        word.bytes -= instance_bytes(word);
    return (word.bytes == HASHED_BYTES || word.bytes == KIND_BYTES + OLD_HEX_DIGITS) &&
           (memcmp(word.data, "name-", KIND_BYTES) == 0 || memcmp(word.data, "path-", KIND_BYTES) == 0) &&
           all_of(part_of(word, KIND_BYTES), is_hex);
}

/* 12, -1.5, 128x64, 3ul: no address, date or telephone number. */
static bool is_number(struct ap_text word)
{
    size_t at = word.bytes > 1 && word.data[0] == '-', dots = 0;
    for (;;) {
        size_t digits = digits_at(word, at);
        if (!digits || digits > MOST_DIGITS)
            return false;
        at += digits;
        if (at == word.bytes)
            return true;
        dots += word.data[at] == '.';
        if (dots > 1 || (word.data[at] != '.' && word.data[at] != 'x'))
            break;
        at++;
    }
    while (at < word.bytes && strchr("ulUL", word.data[at]))
        at++;
    return at == word.bytes;
}

/* Less its digits, and what joins them: s16816gemm, MT128x64x32. */
static bool is_part(struct ap_text part)
{
    char letters[32];
    size_t used = 0, digits = 0;
    for (size_t at = 0; at < part.bytes; at++) {
        bool joins = part.data[at] == 'x' && at && ap_is_digit(part.data[at - 1]) && digits_at(part, at + 1);
        digits = ap_is_digit(part.data[at]) ? digits + 1 : 0;
        if (digits > MOST_DIGITS + 1 || used == sizeof(letters))
            return false;
        if (!digits && !joins)
            letters[used++] = part.data[at];
    }
    return used < 2 || is_listed((struct ap_text){ letters, used }, parts, AP_COUNT_OF(parts)) || is_name(part);
}

/* A kernel whose name a library puts together: each part is known. */
static bool is_put_together(struct ap_text word)
{
    bool begins = false;
    for (size_t i = 0; i < AP_COUNT_OF(beginnings) && !begins; i++)
        begins = ap_text_starts_with(word, beginnings[i].data);
    for (size_t at = 0; begins && at < word.bytes;) {
        const char *end = memchr(word.data + at, '_', word.bytes - at);
        size_t bytes = end ? (size_t)(end - word.data) - at : word.bytes - at;
        if (!is_part((struct ap_text){ word.data + at, bytes }))
            return false;
        at += bytes + 1;
    }
    return begins;
}

/* AddmmBackward0, cudaLaunchKernelExC_v11060: the name, less the number that versions have. */
static struct ap_text without_version(struct ap_text word)
{
    size_t digits = 0;
    while (digits < word.bytes && ap_is_digit(word.data[word.bytes - 1 - digits]))
        digits++;
    if (!digits || digits > MOST_DIGITS)
        return word;
    struct ap_text rest = { word.data, word.bytes - digits };
    if (rest.bytes > 2 && memcmp(rest.data + rest.bytes - 2, "_v", 2) == 0)
        return (struct ap_text){ rest.data, rest.bytes - 2 };
    return rest.bytes > 8 && memcmp(rest.data + rest.bytes - 8, "Backward", 8) == 0 ? rest : word;
}

static bool is_known_by_itself(const struct ap_redaction *redaction, struct ap_text word)
{
    return (word.bytes == 1 && (uint8_t)word.data[0] < 0x80) || is_number(word) || is_word(redaction, word) ||
           is_name(word) || is_name(without_version(word)) || is_word(redaction, without_version(word)) ||
           is_put_together(word) || is_redacted(word);
}

static bool is_known_within(void *redaction, struct ap_text name)
{
    return is_known_by_itself(redaction, name);
}

static bool is_known(struct ap_redaction *redaction, struct ap_text word)
{
    return is_known_by_itself(redaction, word) || ap_mangled_name_is_known(word, is_known_within, redaction);
}

static bool is_path(struct ap_text word)
{
    static const char *const endings[] = { ".py", ".so", ".cpp", ".cu", ".json", ".gz" };
    for (size_t i = 0; i < AP_COUNT_OF(endings); i++) {
        size_t bytes = strlen(endings[i]);
        if (word.bytes > bytes && memcmp(word.data + word.bytes - bytes, endings[i], bytes) == 0)
            return true;
    }
    return memchr(word.data, '/', word.bytes) || memchr(word.data, '\\', word.bytes);
}

/* ---- a text from its first word to its last ---- */

struct scan {
    struct ap_redaction *redaction;
    struct ap_text text;
    size_t at;
};

static void put(struct ap_redaction *redaction, const char *data, size_t bytes)
{
    if (bytes)
        memcpy(redaction->text + redaction->used, data, bytes);
    redaction->used += bytes;
}

static void put_hash(struct ap_redaction *redaction, struct ap_text word, bool path)
{
    char hashed[HASHED_BYTES + 1];
    (void)snprintf(hashed, sizeof(hashed), "%s-%016llx", path ? "path" : "name",
                   (unsigned long long)ap_siphash(redaction->gate->redact_key, word));
    put(redaction, hashed, HASHED_BYTES);
}

static void put_name(struct ap_redaction *redaction, struct ap_text name)
{
    size_t instance = instance_bytes(name);
    struct ap_text rest = { name.data, name.bytes - instance };
    if (is_known(redaction, rest))
        put(redaction, rest.data, rest.bytes);
    else
        put_hash(redaction, rest, false);
    put(redaction, name.data + rest.bytes, instance);
}

/* The word at scan->at: "::" within a name belongs to it. */
static struct ap_text next_word(const struct scan *scan)
{
    size_t end = scan->at;
    for (;;) {
        if (end < scan->text.bytes && is_of_word(scan->text.data[end]))
            end++;
        else if (end + 1 < scan->text.bytes && scan->text.data[end] == ':' && scan->text.data[end + 1] == ':')
            end += 2;
        else
            break;
    }
    return (struct ap_text){ scan->text.data + scan->at, end - scan->at };
}

/* ---- paths ---- */

static size_t ending_bytes(struct ap_text name)
{
    static const char *const endings[] = { ".py", ".so", ".cpp", ".cu", ".h" };
    for (size_t i = 0; i < AP_COUNT_OF(endings); i++) {
        size_t bytes = strlen(endings[i]);
        if (name.bytes > bytes && memcmp(name.data + name.bytes - bytes, endings[i], bytes) == 0)
            return bytes;
    }
    return 0;
}

/* Of a package's path as much as is known, up to a slash or to the end; 0 where it is no public package's. */
static size_t known_bytes(const struct scan *scan, struct ap_text path)
{
    size_t kept = 0;
    for (size_t at = 0; at < path.bytes;) {
        struct ap_text rest = part_of(path, at);
        size_t slash = find(rest, "/");
        struct ap_text name = { rest.data, slash };
        name.bytes -= slash == rest.bytes ? ending_bytes(name) : 0;
        if (at ? !is_known(scan->redaction, name) : !is_listed(name, packages, AP_COUNT_OF(packages)))
            break;
        at += slash + (slash < rest.bytes);
        kept = at;
    }
    return kept;
}

/* Where the path below an installation's packages begins. */
static size_t packages_at(struct ap_text path)
{
    static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
    for (size_t i = 0; i < AP_COUNT_OF(folders); i++) {
        size_t at = find(path, folders[i]);
        if (at < path.bytes)
            return at;
    }
    return path.bytes;
}

static void put_head(struct ap_redaction *redaction, struct ap_text head)
{
    if (head.bytes && is_redacted(head))
        put(redaction, head.data, head.bytes);
    else if (head.bytes)
        put_hash(redaction, head, true);
}

static void put_path(struct scan *scan, struct ap_text path)
{
    size_t folder = packages_at(path), below = folder < path.bytes ? folder + strlen("/site-packages/") : 0;
    size_t kept = known_bytes(scan, part_of(path, below));
    if (!kept) {
        put_head(scan->redaction, path);
        return;
    }
    if (below)
        put_head(scan->redaction, (struct ap_text){ path.data, folder });
    put(scan->redaction, path.data + (below ? folder : 0), below + kept - (below ? folder : 0));
    put_head(scan->redaction, part_of(path, below + kept));
}

/* ---- names ---- */

/* Identifiers with dots between; else parts of it, 10.1.2.3 or a host's, could stay. */
static bool is_dotted(struct ap_text word)
{
    size_t names = 0;
    for (size_t at = 0; at <= word.bytes; names++) {
        struct ap_text rest = part_of(word, at);
        struct ap_text name = { rest.data, find(rest, ".") };
        if (!name.bytes || (!is_redacted(name) && (ap_is_digit(name.data[0]) || !all_of(name, is_of_identifier))))
            return false;
        at += name.bytes + 1;
    }
    return names > 1;
}

/* torch.nn.Linear: each name for itself. */
static void put_dotted(struct scan *scan, struct ap_text word)
{
    for (size_t at = 0; at < word.bytes;) {
        struct ap_text rest = part_of(word, at);
        size_t bytes = find(rest, ".");
        put_name(scan->redaction, (struct ap_text){ rest.data, bytes });
        put(scan->redaction, rest.data + bytes, bytes < rest.bytes);
        at += bytes + 1;
    }
}

static void put_word(struct scan *scan, struct ap_text word)
{
    if (is_known(scan->redaction, word))
        put(scan->redaction, word.data, word.bytes);
    else if (is_path(word))
        put_path(scan, word);
    else if (is_dotted(word))
        put_dotted(scan, word);
    else
        put_name(scan->redaction, word);
}

/* at::native::add: each name for itself, what joins them stays. */
static void put_chain(struct scan *scan, struct ap_text chain)
{
    for (size_t at = 0; at < chain.bytes;) {
        struct ap_text rest = part_of(chain, at);
        size_t bytes = find(rest, "::");
        if (bytes)
            put_word(scan, (struct ap_text){ rest.data, bytes });
        if (bytes < rest.bytes)
            put(scan->redaction, "::", 2);
        at += bytes + 2;
    }
}

/* Numbers in a row, with nothing between but what stands in dates and telephone numbers: bytes up to the end of the last
 * one; 0 where they have too few digits for one of these, or are one number. */
static size_t row_of_numbers(const struct scan *scan)
{
    struct ap_text rest = part_of(scan->text, scan->at);
    size_t digits = 0, groups = 0, end = 0;
    for (size_t at = 0; at < rest.bytes && (ap_is_digit(rest.data[at]) || memchr(" ()-+./", rest.data[at], 7));) {
        size_t count = digits_at(rest, at);
        at += count ? count : 1;
        if (!count || (at < rest.bytes && (ap_is_letter(rest.data[at]) || rest.data[at] == '_')))
            continue;
        digits += count;
        groups++;
        end = at;
    }
    return groups > 1 && digits >= MOST_DIGITS + 2 ? end : 0;
}

/* The numbers of steps grow, and readers go by them. */
static bool is_step_number(const struct scan *scan, struct ap_text word)
{
    static const char before[] = "ProfilerStep#";
    size_t bytes = sizeof(before) - 1;
    return digits_at(word, 0) == word.bytes && scan->at >= bytes &&
           memcmp(scan->text.data + scan->at - bytes, before, bytes) == 0;
}

static size_t take_word(struct scan *scan, struct ap_text word)
{
    size_t row = ap_is_digit(word.data[0]) ? row_of_numbers(scan) : 0;
    if (is_step_number(scan, word)) {
        put(scan->redaction, word.data, word.bytes);
    } else if (row > word.bytes) {
        put_hash(scan->redaction, (struct ap_text){ word.data, row }, false);
        return row;
    } else {
        put_chain(scan, word);
    }
    return word.bytes;
}

enum ap_status ap_redact(struct ap_redaction *redaction, struct ap_text text, struct ap_text *ret_text,
                         struct ap_error *reterr)
{
    struct scan scan = { .redaction = redaction, .text = text };
    if (text.bytes > SIZE_MAX / (2 * HASHED_BYTES))
        return ap_fail_memory(redaction->gate, reterr);
    /* a word of two bytes and what parts it from the next become a hash and that */
    size_t needed = text.bytes * HASHED_BYTES + HASHED_BYTES;
    AP_TRY(AP_RESERVE(redaction->gate, redaction->text, redaction->capacity, needed, reterr));
    redaction->used = 0;
    while (scan.at < text.bytes) {
        struct ap_text word = next_word(&scan);
        if (!word.bytes)
            put(redaction, text.data + scan.at, 1);
        scan.at += word.bytes ? take_word(&scan, word) : 1;
    }
    *ret_text = (struct ap_text){ redaction->text, redaction->used };
    return AP_OK;
}

/* What the names of models are made of: a word that all know, or a few digits with a few letters: "A100", "40GB", "SXM4". */
static bool is_part_of_model(struct ap_text part)
{
    static const char *const known[] = { "NVIDIA", "Tesla", "GeForce",  "Quadro",      "TITAN",  "AMD",       "Intel",
                                         "RTX",    "GTX",   "PCIe",     "PCIE",        "DGXS",   "Ada",       "Generation",
                                         "Laptop", "GPU",   "Graphics", "Device",      "Radeon", "Instinct",  "Arc",
                                         "Data",   "Max",   "Center",   "Workstation", "Server", "Blackwell", "Edition",
                                         "SUPER",  "NVL",   "MIG",      "OAM",         "GRID",   "Pro",       "PRO",
                                         "Orin",   "Thor",  "XTX",      "Xavier" };
    size_t digits = 0;
    for (size_t i = 0; i < part.bytes; i++)
        digits += ap_is_digit(part.data[i]);
    if (digits)
        return digits <= MOST_DIGITS && part.bytes - digits <= 4;
    for (size_t i = 0; i < AP_COUNT_OF(known); i++)
        if (ap_text_is(part, known[i]))
            return true;
    return part.bytes <= 2; /* "Ti", "VF", "(R)" */
}

bool ap_redact_is_device_name(struct ap_text text)
{
    static const char *const vendors[] = { "NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "TITAN ", "AMD ", "Intel(R) " };
    bool known = false;
    for (size_t i = 0; i < AP_COUNT_OF(vendors); i++)
        known = known || ap_text_starts_with(text, vendors[i]);
    for (size_t at = 0; known && at < text.bytes;) {
        size_t start = at;
        while (at < text.bytes && !memchr(" -/.()", text.data[at], 6))
            at++;
        known = is_part_of_model((struct ap_text){ text.data + start, at - start });
        at++;
    }
    return known;
}
