/* SPDX-License-Identifier: MIT
 * Any bytes as an input file, from where users have them: a file, standard input as a file or as a pipe, on the caller's
 * thread or on others. Claims that none of it changes what is delivered or how it ends, that a block is what a look at it
 * told before, and that all memory comes back, also where memory fails or reading is given up.
 * First byte: bits 0-2 place, bits 3-4 threads (a fuzzer starts them for one in four), bit 5 lent blocks, bit 6 logs, bit 7
 * given up at once. Second byte: requests for memory that succeed, 255 = all; or what it is that is no file. Third byte, as
 * for fuzz_gzip: bits 0-2 block size, bit 3 salvage, bits 4-5 role. The rest is the file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "input_run.h"
#include "turn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum place { IN_FILE, IN_OPENED, ON_STDIN, ON_STDIN_BEHIND_HEAD, IN_PIPE, IN_PIPE_BEHIND_HEAD, NOWHERE, STDIN_NOWHERE };

#define HEAD_BYTES 100
#define PIPE_BYTES 60000 /* so many a pipe takes without a reader */
#define MOST_BLOCKS 1000
#define LARGE_BYTES ((size_t)66 << 10) /* a smaller file is read without threads */

static void require(bool condition, const char *what, const struct input_run *got, const struct input_run *wanted)
{
    if (condition)
        return;
    fprintf(stderr, "%s\n%d, %zu bytes: %s\n%d, %zu bytes: %s\n", what, (int)got->status, got->bytes, got->error.message,
            (int)wanted->status, wanted->bytes, wanted->error.message);
    abort();
}

static int must(int result)
{
    if (result < 0) {
        perror("fuzz_input");
        abort();
    }
    return result;
}

static int file_of(const uint8_t *text, size_t bytes, size_t at)
{
    int file = must(memfd_create("fuzz", MFD_CLOEXEC));
    if (bytes && write(file, text, bytes) != (ssize_t)bytes)
        abort();
    must((int)lseek(file, (off_t)at, SEEK_SET));
    return file;
}

/* Its end to read from. The other one is left open where nobody reads to the end: then reading waits for more. */
static int pipe_of(const uint8_t *text, size_t bytes, int *ret_writer)
{
    int ends[2];
    must(pipe(ends));
    if (bytes && write(ends[1], text, bytes) != (ssize_t)bytes)
        abort();
    *ret_writer = ends[1];
    return ends[0];
}

static enum ap_status hand_out(void *self, const char *path, int *ret_fd, struct ap_error *reterr)
{
    (void)path;
    *ret_fd = dup(*(const int *)self);
    return *ret_fd < 0 ? ap_fail(reterr, AP_ERROR_INPUT, "%s", strerror(errno)) : AP_OK;
}

/* What is no file: by its number. */
static int open_other(unsigned number)
{
    int ends[2];
    switch (number % 4) {
    case 0: return must(open("/", O_RDONLY | O_CLOEXEC));
    case 1: return must(open("/dev/null", O_RDONLY | O_CLOEXEC));
    case 2: must(pipe(ends)); break;
    default: must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    }
    (void)close(ends[1]);
    return ends[0];
}

static void read_by_copy(struct input_run *run, struct ap_byte_source source)
{
    uint8_t piece[1000];
    size_t got = 1;
    while (run->status == AP_OK && got) {
        run->status = source.read(source.self, piece, sizeof(piece), &got, &run->error);
        if (run->status == AP_OK)
            input_run_keep(run, piece, got);
    }
}

static void read_lent(struct input_run *run, struct ap_byte_source source)
{
    struct ap_block_view block = { .bytes = 1 };
    while (run->status == AP_OK && block.bytes) {
        struct ap_block_view next = { .bytes = 0 };
        bool seen = source.peek(source.self, 0, &next);
        run->status = source.borrow(source.self, &block, &run->error);
        if (run->status == AP_OK && block.bytes)
            input_run_keep(run, block.data, block.bytes);
        require(!seen || run->status != AP_OK || (next.data == block.data && next.bytes == block.bytes),
                "the next block is what was looked at", run, run);
    }
}

struct choice {
    enum place place;
    bool lent, given_up, threaded;
    unsigned number; /* the second byte */
};

static void read_input(struct input_run *run, struct ap_input *input, const struct choice *choice)
{
    if (choice->given_up) { /* most times in the midst of it */
        for (int i = 0; i < 1000 && choice->threaded && ap_input_raw_bytes(input) == 0; i++)
            (void)sched_yield();
    } else {
        run->status = ap_input_probe(input, &run->error);
        if (run->status == AP_OK)
            (choice->lent ? read_lent : read_by_copy)(run, ap_input_source(input));
        run->compressed = ap_input_is_compressed(input);
        run->is_log = ap_input_is_log(input);
        run->raw_bytes = ap_input_raw_bytes(input);
        require(!ap_input_size_bytes(input) || run->raw_bytes <= ap_input_size_bytes(input), "no more than all is read", run,
                run);
    }
    ap_input_free(input);
}

/* @fd: of the file; on standard input it stands there already. */
static struct input_run run_from(int fd, const char *path, const struct ap_input_options *options,
                                 const struct choice *choice)
{
    struct input_run run = { .status = AP_OK };
    struct ap_input *input;
    struct ap_gate gate;
    struct ap_opener opener = { hand_out, &fd };
    struct ap_input_options chosen = *options;
    if (choice->place == IN_OPENED || (choice->place == NOWHERE && choice->number & 4))
        chosen.opener = &opener;
    ap_gate_init(&gate, 0);
    gate.fail_after = choice->number == 255 || choice->place >= NOWHERE ? -1 : (int64_t)choice->number;
    run.status = ap_input_open(&gate, path, &chosen, &run.notes, &input, &run.error);
    if (run.status == AP_OK)
        read_input(&run, input, choice);
    run.leaked_bytes = gate.used_bytes;
    return run;
}

static bool is_pipe(const struct choice *choice)
{
    return choice->place == IN_PIPE || choice->place == IN_PIPE_BEHIND_HEAD;
}

/* The text lies at the place, and is read from there. */
static struct input_run run_placed(const uint8_t *text, size_t bytes, struct ap_input_options options,
                                   const struct choice *choice)
{
    size_t head_bytes = 0;
    char path[64] = "-";
    int file, writer = -1;
    if (choice->place == ON_STDIN_BEHIND_HEAD || choice->place == IN_PIPE_BEHIND_HEAD)
        head_bytes = bytes < HEAD_BYTES ? bytes : HEAD_BYTES;
    options.head = text;
    options.head_bytes = head_bytes;
    if (is_pipe(choice))
        file = pipe_of(text + head_bytes, bytes - head_bytes, &writer);
    else
        file = choice->place < NOWHERE ? file_of(text, bytes, head_bytes) : open_other(choice->number);
    if (writer >= 0 && !choice->given_up) {
        (void)close(writer);
        writer = -1;
    }
    if (choice->place == IN_FILE || choice->place == IN_OPENED || choice->place == NOWHERE)
        (void)snprintf(path, sizeof(path), choice->place == NOWHERE && choice->number & 8 ? "/none" : "/proc/self/fd/%d",
                       file);
    else
        must(dup2(file, STDIN_FILENO));
    struct input_run run = run_from(file, path, &options, choice);
    (void)close(file);
    if (writer >= 0)
        (void)close(writer);
    return run;
}

/* An export of Nsight Systems is read from files only; of text that never began, as much was looked at as lay there. */
static void compare(const struct input_run *placed, const struct input_run *wanted, const uint8_t *text, size_t bytes)
{
    if (bytes >= 6 && memcmp(text, "SQLite", 6) == 0)
        return;
    bool refused = wanted->status == AP_ERROR_INPUT && !wanted->error.has_offset;
    require(placed->status == wanted->status, "how it ends depends on the place", placed, wanted);
    require(refused || input_run_gave(placed, wanted->content, wanted->bytes), "content depends on the place", placed,
            wanted);
    require(refused || (placed->compressed == wanted->compressed && placed->is_log == wanted->is_log),
            "what it is depends on the place", placed, wanted);
}

static struct input_run run_plainly(const uint8_t *text, size_t bytes, struct ap_input_options options)
{
    options.threads = 0;
    options.block_bytes = 4096;
    return run_input(text, bytes, &options);
}

static void run_text(const uint8_t *text, size_t bytes, struct ap_input_options options, const struct choice *choice)
{
    struct input_run wanted = run_plainly(text, bytes, options);
    /* A few bytes can stand for megabytes: then small blocks would take seconds. */
    if (options.block_bytes && options.block_bytes < wanted.bytes / MOST_BLOCKS)
        options.block_bytes = wanted.bytes / MOST_BLOCKS;
    struct input_run run = run_placed(text, bytes, options, choice);
    require(run.leaked_bytes == 0, "memory is not given back", &run, &run);
    require(run.status == AP_OK || run.error.message[0], "a failure says what it is", &run, &run);
    if (choice->place >= NOWHERE)
        require(choice->place == STDIN_NOWHERE || run.status == AP_ERROR_INPUT, "it is no file", &run, &run);
    else if (!choice->given_up && choice->number == 255)
        compare(&run, &wanted, text, bytes);
    input_run_release(&run);
    input_run_release(&wanted);
}

/* Compressed, and not ended, or refused before it ended: whatever stands behind it is unpacked, too. */
static bool goes_on(const uint8_t *text, size_t bytes)
{
    struct input_run run = run_plainly(text, bytes, (struct ap_input_options){ 0 });
    bool is_cut = run.status == AP_ERROR_CUT || (run.status == AP_ERROR_INPUT && !run.error.has_offset);
    input_run_release(&run);
    return run.compressed && is_cut;
}

/* White space behind a file that several threads shall read, unless it would be code, of which each bit can stand for a
 * hundred bytes. */
static void run_large(const uint8_t *text, size_t bytes, const struct ap_input_options *options, const struct choice *choice)
{
    if (goes_on(text, bytes)) {
        run_text(text, bytes, *options, choice);
        return;
    }
    size_t large_bytes = bytes < LARGE_BYTES ? LARGE_BYTES : bytes;
    uint8_t *large = malloc(large_bytes);
    if (!large)
        abort();
    memset(large, ' ', large_bytes);
    if (bytes)
        memcpy(large, text, bytes);
    run_text(large, large_bytes, *options, choice);
    free(large);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t block_sizes[8] = { 1, 7, 64, 1000, 4096, 5000, 0, 16384 };
    static const unsigned threads[4] = { 0, 1, 2, 6 };
    if (size < 3)
        return 0;
    unsigned thread_count = is_turn(data, size, 0, 4) ? threads[data[0] >> 3 & 3] : 0;
    const struct choice choice = {
        .place = (enum place)(data[0] & 7),
        .lent = data[0] & 32,
        .given_up = data[0] & 128,
        .threaded = thread_count > 0,
        .number = data[1],
    };
    struct ap_input_options options = {
        .threads = thread_count,
        .accepts_logs = data[0] & 64,
        .block_bytes = block_sizes[data[2] & 7],
        .salvage = data[2] >> 3 & 1,
        .role = (enum ap_input_role)((data[2] >> 4 & 3) % 3),
    };
    size_t bytes = size - 3;
    if (options.threads > 2 && choice.place < IN_PIPE)
        run_large(data + 3, bytes, &options, &choice);
    else
        run_text(data + 3, bytes < PIPE_BYTES ? bytes : PIPE_BYTES, options, &choice);
    return 0;
}
