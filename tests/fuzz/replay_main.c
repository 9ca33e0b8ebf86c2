/* SPDX-License-Identifier: MIT
 * replay_main.c - runs a fuzz target without a fuzzer: over the files named, and over random changes of them.
 *
 *     replay [--max-bytes N] [--mutate N] [--seed N] [--save FILE] [--words DICTIONARY] [--prefix HEX] FILE|FOLDER...
 *
 * --prefix HEX     bytes put before each file named after it, where the files lack what the target wants first
 * --max-bytes N    larger files are run as they are, but not changed
 * --mutate N       so many runs with changed files beside those with the files themselves
 * --seed N         other changes; the same number makes the same ones
 * --words FILE     words that changes put in, as a dictionary of libFuzzer; may come more than once
 * --save FILE      where the input goes that ends the program
 * Every input lies in a heap block of exactly its size, so that a sanitizer sees a read beyond it. At the end it says how
 * many runs there were, how fast, and a number that is the same where the inputs were. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "file_list.h"
#include "random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Sanitizers end the program without a signal; they call this before. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct options {
    uint8_t prefix[64];
    size_t prefix_bytes, max_bytes;
    uint64_t mutations, seed;
};

/* What runs now, for the callback that saves it. */
static const uint8_t *current;
static size_t current_bytes;
static const char *save_path;

static void save_current(void)
{
    if (!save_path || !current)
        return;
    int file = open(save_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0 && write(file, current, current_bytes) >= 0)
        (void)close(file);
    current = NULL;
}

static void on_signal(int number)
{
    save_current();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void fail(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    exit(99);
}

/* ---------------------------------------------------------------------------------------------------------- running */

struct tally {
    uint64_t runs, digest;
};

static void run(struct tally *tally, const uint8_t *data, size_t bytes)
{
    /* An empty input is the end of a block, not its only byte. */
    uint8_t *block = malloc(bytes ? bytes : 1);
    if (!block)
        abort();
    if (bytes)
        memcpy(block, data, bytes);
    current = bytes ? block : block + 1;
    current_bytes = bytes;
    for (size_t i = 0; i < bytes; i++)
        tally->digest = (tally->digest ^ block[i]) * UINT64_C(0x100000001b3);
    tally->digest = (tally->digest ^ bytes) * UINT64_C(0x100000001b3);
    tally->runs++;
    (void)LLVMFuzzerTestOneInput(current, bytes);
    current = NULL;
    free(block);
}

/* ------------------------------------------------------------------------------------------------------------ words */

/* What a dictionary of libFuzzer holds: a word a line, in quotes; \", \\ and \xHH stand for bytes; # begins a remark. */
struct word {
    uint8_t data[62], bytes;
};

struct words {
    struct word *list;
    size_t count;
};

static uint8_t read_byte(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *text = *at;
    unsigned byte = text[0];
    size_t taken = 1;
    if (byte == '\\') {
        if (end - text >= 4 && text[1] == 'x' && sscanf((const char *)text + 2, "%2x", &byte) == 1)
            taken = 4;
        else if (end - text >= 2 && (text[1] == '"' || text[1] == '\\'))
            byte = text[1], taken = 2;
        else
            fail("a dictionary has \\\", \\\\ and \\xHH only");
    }
    *at = text + taken;
    return (uint8_t)byte;
}

static struct word read_word(const uint8_t *at, const uint8_t *end)
{
    struct word word = { .bytes = 0 };
    if (end - at < 2 || at[0] != '"' || end[-1] != '"')
        fail("a line of a dictionary is a word in quotes");
    for (at++, end--; at < end;) {
        if (word.bytes == sizeof(word.data))
            fail("a word of a dictionary is too long");
        word.data[word.bytes++] = read_byte(&at, end);
    }
    return word;
}

static void append_words(const char *path, struct words *words)
{
    size_t bytes;
    uint8_t *text = read_whole_file(path, &bytes);
    for (const uint8_t *line = text, *all_end = text + bytes, *end; line < all_end; line = end + 1) {
        end = memchr(line, '\n', (size_t)(all_end - line));
        if (!end)
            fail("a dictionary ends with a line feed");
        if (end == line || line[0] == '#')
            continue;
        struct word *grown = realloc(words->list, (words->count + 1) * sizeof(grown[0]));
        if (!grown)
            abort();
        words->list = grown;
        grown[words->count++] = read_word(line, end);
    }
    free(text);
}

/* --------------------------------------------------------------------------------------------------------- changing */

struct input {
    uint8_t *data;
    size_t bytes, capacity;
};

/* Replace @removed bytes at @at by @bytes others. */
static void splice(struct input *input, size_t at, size_t removed, const uint8_t *data, size_t bytes)
{
    if (input->bytes - removed + bytes > input->capacity)
        return;
    memmove(input->data + at + bytes, input->data + at + removed, input->bytes - at - removed);
    if (bytes)
        memcpy(input->data + at, data, bytes);
    input->bytes = input->bytes - removed + bytes;
}

/* A piece of another text, short ones more often. */
static size_t piece_bytes(struct random *random, size_t available)
{
    size_t most = random_once_in(random, 4) ? available : available < 40 ? available : 40;
    return most ? 1 + random_below(random, most) : 0;
}

static void change(struct input *input, const struct file_list *list, const struct words *words, struct random *random)
{
    size_t at = input->bytes ? random_below(random, input->bytes) : 0, left = input->bytes - at;
    const struct listed_file *other = &list->files[random_below(random, list->count)];
    size_t other_at = other->bytes ? random_below(random, other->bytes) : 0;
    const struct word *word = words->count ? &words->list[random_below(random, words->count)] : NULL;
    uint8_t piece[256];
    size_t bytes;
    switch (random_below(random, 8)) {
    case 0:
        if (left)
            input->data[at] ^= (uint8_t)(1u << random_below(random, 8));
        break;
    case 1:
        if (left)
            input->data[at] = (uint8_t)random_next(random);
        break;
    case 2:
        if (random_once_in(random, 3))
            input->bytes = at;
        break;
    case 3: splice(input, at, piece_bytes(random, left), NULL, 0); break;
    case 4: /* a piece twice */
        bytes = piece_bytes(random, left < sizeof(piece) ? left : sizeof(piece));
        if (bytes)
            memcpy(piece, input->data + at, bytes);
        splice(input, random_below(random, input->bytes + 1), 0, piece, bytes);
        break;
    case 5: /* a piece of another file, put in or in place of the rest */
        bytes = piece_bytes(random, other->bytes - other_at);
        splice(input, at, random_once_in(random, 2) ? left : 0, other->data + other_at, bytes);
        break;
    default:
        if (word)
            splice(input, at, random_once_in(random, 2) && left ? 1 : 0, word->data, word->bytes);
        break;
    }
}

static void run_changed(struct tally *tally, const struct options *options, const struct file_list *list,
                        const struct words *words)
{
    struct random random = { options->seed };
    struct input input = { .capacity = options->max_bytes * 2 + 4096 };
    input.data = malloc(input.capacity);
    if (!input.data)
        abort();
    for (uint64_t i = 0; i < options->mutations; i++) {
        const struct listed_file *file = &list->files[random_below(&random, list->count)];
        if (file->bytes > options->max_bytes)
            continue;
        if (file->bytes)
            memcpy(input.data, file->data, file->bytes);
        input.bytes = file->bytes;
        for (size_t changes = 1 + random_below(&random, 4); changes; changes--)
            change(&input, list, words, &random);
        run(tally, input.data, input.bytes);
    }
    free(input.data);
}

/* ------------------------------------------------------------------------------------------------------ command line */

static uint64_t number_of(const char *text)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (!*text || *end)
        fail("not a number");
    return number;
}

static void read_prefix(struct options *options, const char *hex)
{
    options->prefix_bytes = 0;
    for (; hex[0] && hex[1]; hex += 2) {
        unsigned byte = 0;
        if (options->prefix_bytes == sizeof(options->prefix) || sscanf(hex, "%2x", &byte) != 1)
            fail("--prefix wants pairs of hexadecimal digits");
        options->prefix[options->prefix_bytes++] = (uint8_t)byte;
    }
}

static void read_option(struct options *options, const char *name, const char *value)
{
    if (strcmp(name, "--prefix") == 0)
        read_prefix(options, value);
    else if (strcmp(name, "--max-bytes") == 0)
        options->max_bytes = (size_t)number_of(value);
    else if (strcmp(name, "--mutate") == 0)
        options->mutations = number_of(value);
    else if (strcmp(name, "--seed") == 0)
        options->seed = number_of(value);
    else if (strcmp(name, "--save") == 0)
        save_path = value;
    else
        fail("unknown option");
}

/* The files of @path, each with the prefix before it, at the end of @list. */
static void append_files(const struct options *options, const char *path, struct file_list *list)
{
    struct file_list more = list_files(path);
    struct listed_file *grown = realloc(list->files, (list->count + more.count) * sizeof(grown[0]) + 1);
    if (!grown)
        abort();
    list->files = grown;
    for (size_t i = 0; i < more.count; i++) {
        struct listed_file *file = &list->files[list->count++];
        *file = more.files[i];
        file->bytes = options->prefix_bytes + more.files[i].bytes;
        file->data = malloc(file->bytes + 1);
        if (!file->data)
            abort();
        memcpy(file->data, options->prefix, options->prefix_bytes);
        memcpy(file->data + options->prefix_bytes, more.files[i].data, more.files[i].bytes);
    }
    release_files(&more);
}

static void catch_ends(void)
{
    static const int signals[] = { SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    bool sanitized = __sanitizer_set_death_callback != NULL;
    if (sanitized)
        __sanitizer_set_death_callback(save_current);
    for (size_t i = 0; i < (sanitized ? 2 : sizeof(signals) / sizeof(signals[0])); i++)
        (void)signal(signals[i], on_signal);
}

int main(int argc, char **argv)
{
    struct options options = { .max_bytes = 1 << 16, .seed = 1 };
    struct file_list list = { NULL, 0 };
    struct words words = { NULL, 0 };
    struct tally tally = { 0, UINT64_C(0xcbf29ce484222325) };
    struct timespec start, end;
    for (int at = 1; at < argc; at++) {
        if (strncmp(argv[at], "--", 2) != 0)
            append_files(&options, argv[at], &list);
        else if (at + 1 < argc && strcmp(argv[at], "--words") == 0)
            append_words(argv[at + 1], &words), at++;
        else if (at + 1 < argc)
            read_option(&options, argv[at], argv[at + 1]), at++;
        else
            fail("an option without a value");
    }
    if (!list.count)
        fail("no files: give files or folders");
    catch_ends();
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (size_t i = 0; i < list.count; i++)
        run(&tally, list.files[i].data, list.files[i].bytes);
    run_changed(&tally, &options, &list, &words);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("%" PRIu64 " runs, of these %zu with files as they are; %.0f a second; inputs %016" PRIx64 "\n", tally.runs,
           list.count, seconds > 0 ? (double)tally.runs / seconds : 0.0, tally.digest);
    release_files(&list);
    free(words.list);
    return 0;
}
