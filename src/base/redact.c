/* SPDX-License-Identifier: MIT */
#include "redact.h"

#include <stdio.h>
#include <string.h>

#include "poison.h"

#define HASHED_BYTES 13 /* "name-1a2b3c4d" */
#define MOST_NESTING 32

static const struct ap_text words[] = {
#define AP_PUBLIC_WORD(word) { word, sizeof(word) - 1 },
#include "public_words.def"
};

static const struct ap_text roots[] = {
#define AP_PUBLIC_ROOT(word) { word, sizeof(word) - 1 },
#include "public_words.def"
};

static const struct ap_text beginnings[] = {
#define AP_PUBLIC_START(beginning) { beginning, sizeof(beginning) - 1 },
#include "public_words.def"
};

static const struct ap_text packages[] = {
#define AP_PUBLIC_PACKAGE(folder) { folder, sizeof(folder) - 1 },
#include "public_words.def"
};
_Static_assert(AP_COUNT_OF(words) < AP_REDACT_SLOTS / 2, "the table of words stays half empty");

/* FNV-1a with a last mixing: stable over runs and machines, and no more secret than the word is. */
static uint64_t hash_of(struct ap_text text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.bytes; i++)
        hash = (hash ^ (uint8_t)text.data[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

void ap_redaction_init(struct ap_redaction *redaction, struct ap_gate *gate)
{
    memset(redaction, 0, sizeof(*redaction));
    redaction->gate = gate;
    for (size_t i = 0; i < AP_COUNT_OF(words); i++) {
        size_t at = hash_of(words[i]) % AP_REDACT_SLOTS;
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

static bool is_letter(char c)
{
    return ap_folded(c) >= 'a' && ap_folded(c) <= 'z';
}

static bool is_hex(char c)
{
    return ap_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Bytes beyond ASCII belong to words, so that no script is left as it is. */
static bool is_of_word(char c)
{
    return is_letter(c) || ap_is_digit(c) || (uint8_t)c >= 0x80 || (c && strchr("_./\\-@$~", c));
}

static bool all_of(struct ap_text text, bool (*is)(char c))
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!is(text.data[i]))
            return false;
    return true;
}

static bool is_of_identifier(char c)
{
    return is_letter(c) || ap_is_digit(c) || c == '_';
}

static bool is_of_chain(char c)
{
    return is_of_identifier(c) || c == ':' || c == '~' || c == '.';
}

/* ---- words ---- */

static struct ap_text part_of(struct ap_text text, size_t from)
{
    return (struct ap_text){ text.data + from, text.bytes - from };
}

static bool is_listed(struct ap_text word, const struct ap_text *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_equal(word, list[i]))
            return true;
    return false;
}

static bool is_word(const struct ap_redaction *redaction, struct ap_text word)
{
    size_t at = hash_of(word) % AP_REDACT_SLOTS;
    for (; redaction->slots[at]; at = (at + 1) % AP_REDACT_SLOTS)
        if (ap_text_equal(word, words[redaction->slots[at] - 1]))
            return true;
    return false;
}

/* Linear_12: the instance of a module, without which modules of one class could not be told to be so. */
static size_t instance_bytes(struct ap_text word)
{
    size_t digits = 0;
    while (digits < word.bytes && ap_is_digit(word.data[word.bytes - 1 - digits]))
        digits++;
    return digits && digits + 1 < word.bytes && word.data[word.bytes - 1 - digits] == '_' ? digits + 1 : 0;
}

static bool is_redacted(struct ap_text word)
{
    if (word.bytes > HASHED_BYTES)
        word.bytes -= instance_bytes(word);
    return word.bytes == HASHED_BYTES && (memcmp(word.data, "name-", 5) == 0 || memcmp(word.data, "path-", 5) == 0) &&
           all_of(part_of(word, 5), is_hex);
}

static bool is_of_number(char c)
{
    return ap_is_digit(c) || c == '.' || c == '-' || c == '_' || c == 'x' || c == '/' || c == '\\' || c == '~';
}

/* 12, 1.5, 128x64, 3ul, 0x7f00, but no address of a machine. */
static bool is_number(struct ap_text word)
{
    size_t dots = 0;
    for (size_t i = 0; i < word.bytes; i++)
        dots += word.data[i] == '.';
    if (word.bytes > 2 && word.data[0] == '0' && word.data[1] == 'x' && all_of(part_of(word, 2), is_hex))
        return true;
    while (word.bytes > 1 && strchr("ulUL", word.data[word.bytes - 1]) && ap_is_digit(word.data[0]))
        word.bytes--;
    return all_of(word, is_of_number) && dots < 3 && !(word.bytes > 1 && word.data[0] == 'x');
}

/* AddmmBackward0: nodes of PyTorch's own have a number, those of the user's have none. */
static bool is_autograd_node(struct ap_text word)
{
    static const char ending[] = "Backward";
    size_t digits = 0;
    while (digits < word.bytes && ap_is_digit(word.data[word.bytes - 1 - digits]))
        digits++;
    size_t name_bytes = word.bytes - digits, ending_bytes = sizeof(ending) - 1;
    return digits && name_bytes > ending_bytes && memcmp(word.data + name_bytes - ending_bytes, ending, ending_bytes) == 0 &&
           all_of(word, is_of_identifier);
}

static bool begins_publicly(struct ap_text word)
{
    for (size_t i = 0; i < AP_COUNT_OF(beginnings); i++)
        if (word.bytes >= beginnings[i].bytes && memcmp(word.data, beginnings[i].data, beginnings[i].bytes) == 0)
            return all_of(word, is_of_identifier);
    return false;
}

static size_t find(struct ap_text text, const char *what)
{
    size_t bytes = strlen(what);
    for (size_t i = 0; i + bytes <= text.bytes; i++)
        if (memcmp(text.data + i, what, bytes) == 0)
            return i;
    return text.bytes;
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

/* Where the part of a path begins that a public package gives it; word.bytes = nowhere. */
static size_t public_tail(struct ap_text word)
{
    static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
    size_t at = 0;
    for (size_t i = 0; i < AP_COUNT_OF(folders); i++) {
        size_t found = find(word, folders[i]);
        if (found < word.bytes)
            at = found + strlen(folders[i]);
    }
    struct ap_text tail = part_of(word, at);
    size_t slash = find(tail, "/");
    bool is_public = slash < tail.bytes && is_listed((struct ap_text){ tail.data, slash }, packages, AP_COUNT_OF(packages));
    if (!is_public)
        return word.bytes;
    return at ? at - strlen(folders[0]) : 0;
}

/* torch.nn.Linear */
static bool is_module_path(struct ap_text word)
{
    size_t dot = find(word, ".");
    return dot < word.bytes && all_of(word, is_of_chain) &&
           is_listed((struct ap_text){ word.data, dot }, packages, AP_COUNT_OF(packages));
}

/* ---- a text from its first word to its last ---- */

struct scan {
    struct ap_redaction *redaction;
    struct ap_text text;
    size_t at;
    size_t depth;                   /* of brackets */
    bool goes_on[MOST_NESTING + 1]; /* at each depth: the name before was a library's, which "::" continues */
    bool library_file;              /* the function that follows is the library's */
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
    (void)snprintf(hashed, sizeof(hashed), "%s-%08x", path ? "path" : "name", (unsigned)(hash_of(word) & 0xffffffffu));
    put(redaction, hashed, HASHED_BYTES);
}

/* What joins it to its neighbors stays. */
static void put_name(struct ap_redaction *redaction, struct ap_text word)
{
    size_t before = 0, behind = 0;
    while (before < word.bytes && word.data[before] == ':')
        before++;
    while (behind < word.bytes - before && word.data[word.bytes - 1 - behind] == ':')
        behind++;
    struct ap_text name = { word.data + before, word.bytes - before - behind };
    size_t instance = is_redacted(name) ? name.bytes : instance_bytes(name);
    put(redaction, word.data, before);
    if (instance < name.bytes)
        put_hash(redaction, (struct ap_text){ name.data, name.bytes - instance }, false);
    put(redaction, name.data + name.bytes - instance, instance);
    put(redaction, word.data + word.bytes - behind, behind);
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

/* at::native::add; and what goes on behind brackets: at::X<float>::run. */
static bool is_library_chain(const struct scan *scan, struct ap_text word)
{
    size_t root = find(word, "::");
    if (root == word.bytes || !all_of(word, is_of_chain))
        return false;
    if (root == 0)
        return scan->depth <= MOST_NESTING && scan->goes_on[scan->depth];
    struct ap_text first = { word.data, root };
    return is_listed(first, roots, AP_COUNT_OF(roots)) || begins_publicly(first);
}

static bool is_plain(const struct scan *scan, struct ap_text word)
{
    return (word.bytes == 1 && (uint8_t)word.data[0] < 0x80) || is_number(word) || is_word(scan->redaction, word) ||
           begins_publicly(word) || is_autograd_node(word) || is_module_path(word) || is_redacted(word);
}

static void put_path(struct scan *scan, struct ap_text word)
{
    size_t tail = public_tail(word);
    struct ap_text head = { word.data, tail };
    scan->library_file = tail < word.bytes;
    if (head.bytes && is_redacted(head))
        put(scan->redaction, head.data, head.bytes);
    else if (head.bytes)
        put_hash(scan->redaction, head, true);
    put(scan->redaction, word.data + tail, word.bytes - tail);
}

static void take_word(struct scan *scan, struct ap_text word)
{
    bool chain = is_library_chain(scan, word), plain = !chain && is_plain(scan, word);
    bool of_library = scan->library_file && !is_number(word);
    if (!is_number(word))
        scan->library_file = false;
    if (chain || plain || (of_library && all_of(word, is_of_identifier)))
        put(scan->redaction, word.data, word.bytes);
    else if (is_path(word) && find(word, "::") == word.bytes)
        put_path(scan, word);
    else
        put_name(scan->redaction, word);
    if (scan->depth <= MOST_NESTING)
        scan->goes_on[scan->depth] = chain;
}

static void take_other(struct scan *scan, char c)
{
    if (c == '<' || c == '(' || c == '{' || c == '[') {
        if (++scan->depth <= MOST_NESTING)
            scan->goes_on[scan->depth] = false;
    } else if ((c == '>' || c == ')' || c == '}' || c == ']') && scan->depth) {
        scan->depth--;
    }
    if (!strchr("(): ", c))
        scan->library_file = false;
    put(scan->redaction, &c, 1);
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
        if (word.bytes)
            take_word(&scan, word);
        else
            take_other(&scan, text.data[scan.at]);
        scan.at += word.bytes ? word.bytes : 1;
    }
    *ret_text = (struct ap_text){ redaction->text, redaction->used };
    return AP_OK;
}

bool ap_redact_is_device_name(struct ap_text text)
{
    static const char *const vendors[] = { "NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "TITAN ", "AMD ", "Intel(R) " };
    for (size_t i = 0; i < AP_COUNT_OF(vendors); i++)
        if (ap_text_starts_with(text, vendors[i]))
            return true;
    return false;
}
