/* SPDX-License-Identifier: MIT
 * Files, gzip and the second thread: every byte arrives, or its loss is said. What is refused by name stands in
 * test_container.c. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gzip_build.h"
#include "inflate.h"
#include "input_run.h"
#include "tap.h"

static struct gz gz;

/* A document with long and short matches, literals and, at level 0, stored blocks. The first block that an input hands
 * on is 4096 bytes at least: LARGE makes many blocks, SMALL is for tests that read it thousands of times. */
enum { SMALL = 2400, LARGE = 9000 };
static char document[LARGE + 100];
static size_t document_bytes = LARGE;

static void write_document(void)
{
    document[0] = '[';
    for (unsigned i = 0, at = 1; at < LARGE; i++)
        at += (unsigned)snprintf(document + at, 100, "{\"ph\":\"X\",\"ts\":%u,\"name\":\"op%u\"},\n", i * 7919u,
                                 i * i * 31u % 97u);
}

static bool noted(const struct input_run *run, enum ap_counter counter)
{
    return run->notes.notes[counter].count > 0;
}

static bool nothing_noted(const struct input_run *run)
{
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        if (run->notes.notes[i].count)
            return false;
    return true;
}

static void is_read_whole(const void *data, size_t bytes, const void *want, size_t want_bytes, const char *claim)
{
    static const size_t block_sizes[] = { 1, 2, 3, 7, 4096, 0 };
    bool same = true;
    for (size_t i = 0; i < sizeof(block_sizes) / sizeof(block_sizes[0]); i++)
        for (unsigned threads = 0; threads < 2; threads++) {
            const struct ap_input_options options = { .block_bytes = block_sizes[i], .threads = threads };
            struct input_run run = run_input(data, bytes, &options);
            same = same && run.status == AP_OK && input_run_gave(&run, want, want_bytes) && run.leaked_bytes == 0;
            same = same && run.raw_bytes == bytes;
            input_run_release(&run);
        }
    ok(same, claim);
}

static void plain_bytes_arrive_at_every_block_size(void)
{
    is_read_whole(document, document_bytes, document, document_bytes, "plain, blocks of 1, 2, 3, 7, 4096 and 512 KiB");
}

static void every_kind_of_member_is_read(void)
{
    static const unsigned flags[] = { 0, GZ_NAME, GZ_EXTRA, GZ_COMMENT, GZ_HCRC, GZ_HCRC | GZ_EXTRA | GZ_NAME | GZ_COMMENT };
    static const int levels[] = { 0, 1, 6, 9 };
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
        gz.bytes = 0;
        gz_put_member(&gz, flags[f], document, document_bytes, 6, 0, 0);
        is_read_whole(gz.data, gz.bytes, document, document_bytes, "gzip with each optional header field");
    }
    for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++) {
        gz.bytes = 0;
        gz_put_member(&gz, 0, document, document_bytes, levels[l], 0, 0);
        is_read_whole(gz.data, gz.bytes, document, document_bytes, "gzip, levels 0, 1, 6, 9");
    }
}

static void put_members(unsigned count, bool with_empty)
{
    gz.bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t from = document_bytes * i / count, to = document_bytes * (i + 1) / count;
        gz_put_member(&gz, i % 2 ? GZ_NAME : 0, document + from, to - from, 6, 0, 0);
        if (with_empty)
            gz_put_member(&gz, 0, "", 0, 6, 0, 0);
    }
}

static void members_follow_each_other(void)
{
    put_members(2, false);
    is_read_whole(gz.data, gz.bytes, document, document_bytes, "two members");
    put_members(100, true);
    is_read_whole(gz.data, gz.bytes, document, document_bytes, "a hundred members and as many empty ones");
}

static void padding_is_left_out_and_noted(void)
{
    static const uint8_t zeros[1000];
    gz_of(&gz, document, document_bytes);
    size_t member_bytes = gz.bytes;
    gz_put(&gz, zeros, sizeof(zeros));
    is_read_whole(gz.data, gz.bytes, document, document_bytes, "zero padding is left out");
    struct input_run run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ .threads = 1 });
    is_int(run.notes.notes[AP_COUNTER_trailing_padding].count, 1, "and noted");
    is_u64(run.notes.notes[AP_COUNTER_trailing_padding].first_offset_bytes, document_bytes, "where it stands");
    is_str(run.notes.notes[AP_COUNTER_trailing_padding].detail, "1000 zero bytes", "and how much");
    ok(!noted(&run, AP_COUNTER_trailing_data), "as padding only");
    input_run_release(&run);
    gz_put(&gz, gz.data, member_bytes);
    run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ 0 });
    is_int(run.status, AP_OK, "a member behind padding is no failure");
    is_u64(run.bytes, 2 * document_bytes, "and is read");
    input_run_release(&run);
}

static void other_trailing_bytes_are_left_out_and_noted(void)
{
    static const char *const trails[] = { "garbage", "\x1f\x1f", "{}" };
    for (size_t i = 0; i < sizeof(trails) / sizeof(trails[0]); i++) {
        gz_of(&gz, document, document_bytes);
        size_t end = gz.bytes;
        gz_put(&gz, trails[i], strlen(trails[i]));
        struct input_run run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ .block_bytes = 5 });
        ok(run.status == AP_OK && input_run_gave(&run, document, document_bytes), "trailing bytes are left out");
        ok(noted(&run, AP_COUNTER_trailing_data) && !noted(&run, AP_COUNTER_trailing_padding), "and noted as data");
        char want[64];
        (void)snprintf(want, sizeof(want), "from byte %zu of the compressed file on", end);
        is_str(run.notes.notes[AP_COUNTER_trailing_data].detail, want, "with their place");
        input_run_release(&run);
    }
}

static void cut_anywhere_gives_what_stands_before(size_t block_bytes, unsigned threads, const char *claim)
{
    size_t before = 0;
    bool cut = true, prefix = true, grows = true;
    for (size_t bytes = 1; bytes < gz.bytes; bytes++) {
        const struct ap_input_options options = { .block_bytes = block_bytes, .threads = threads };
        struct input_run run = run_input(gz.data, bytes, &options);
        cut = cut && run.status == AP_ERROR_CUT && run.error.offset_bytes == run.bytes && nothing_noted(&run);
        prefix = prefix && run.bytes <= document_bytes && (!run.bytes || !memcmp(run.content, document, run.bytes));
        grows = grows && run.bytes >= before;
        before = run.bytes;
        input_run_release(&run);
    }
    ok(cut, claim);
    ok(prefix, "the bytes before the cut are right");
    ok(grows, "and never fewer for a later cut");
    is_u64(before, document_bytes, "all of them where only the last byte of the trailer is missing");
}

static void cut_files_are_cut(void)
{
    gz.bytes = 0;
    gz_put_member(&gz, GZ_HCRC | GZ_EXTRA | GZ_NAME | GZ_COMMENT, document, document_bytes, 6, 0, 0);
    cut_anywhere_gives_what_stands_before(4096, 0, "one member, cut at every byte");
    cut_anywhere_gives_what_stands_before(1, 0, "the same byte by byte");
    cut_anywhere_gives_what_stands_before(7, 1, "the same on two threads");
    gz.bytes = 0;
    gz_put_member(&gz, 0, document, document_bytes, 0, 0, 0);
    cut_anywhere_gives_what_stands_before(3, 0, "stored, cut at every byte");
}

static void a_cut_between_members_cannot_be_seen(void)
{
    put_members(2, false);
    size_t ends = 0;
    for (size_t bytes = 1; bytes < gz.bytes; bytes++) {
        struct input_run run = run_input(gz.data, bytes, &(struct ap_input_options){ .block_bytes = 64 });
        ends += run.status == AP_OK;
        if (run.status != AP_OK && run.status != AP_ERROR_CUT)
            ends = 1000;
        input_run_release(&run);
    }
    is_u64(ends, 1, "two members cut at every byte: whole at the one place between them, else cut");
}

static void flipped_bits_never_pass_unseen(size_t block_bytes, bool salvage)
{
    size_t unseen = 0, changed = 0;
    for (size_t bit = 0; bit < gz.bytes * 8; bit++) {
        gz.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const struct ap_input_options options = { .block_bytes = block_bytes, .salvage = salvage };
        struct input_run run = run_input(gz.data, gz.bytes, &options);
        gz.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bool same = input_run_gave(&run, document, document_bytes);
        bool said = run.status != AP_OK || (salvage && noted(&run, AP_COUNTER_checksum));
        unseen += !same && !said;
        changed += said;
        input_run_release(&run);
    }
    is_u64(unseen, 0, salvage ? "every flipped bit is noted with salvage" : "every flipped bit is an error or harmless");
    ok(changed > gz.bytes * 7, "and most are seen");
}

static void wrong_trailers_are_refused_unless_salvaged(void)
{
    static const struct {
        uint32_t crc_xor, size_add;
        const char *what;
    } cases[] = { { 1, 0, "checksum" }, { 0x80000000u, 0, "checksum" }, { 0, 1, "length" } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        gz.bytes = 0;
        gz_put_member(&gz, 0, document, document_bytes, 6, cases[i].crc_xor, cases[i].size_add);
        gz_put_member(&gz, 0, " ", 1, 6, 0, 0);
        struct input_run run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ .threads = 1 });
        is_int(run.status, AP_ERROR_INPUT, "a wrong trailer is refused");
        ok(strstr(run.error.message, cases[i].what) && run.error.advice == AP_ADVICE_SALVAGE, "the message says why");
        ok(run.error.has_offset && run.error.offset_bytes == document_bytes, "and where");
        input_run_release(&run);
        run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ .salvage = true });
        ok(run.status == AP_OK && run.bytes == document_bytes + 1, "with salvage it is read, and what follows");
        is_int(run.notes.notes[AP_COUNTER_checksum].count, 1, "and noted");
        input_run_release(&run);
    }
    gz.bytes = 0;
    gz_put_header(&gz, GZ_HCRC | GZ_NAME);
    gz.data[gz.bytes - 1] ^= 1;
    gz_put_deflate(&gz, document, document_bytes, 6);
    gz_put_u32(&gz, (uint32_t)crc32(0, (const Bytef *)document, (uInt)document_bytes));
    gz_put_u32(&gz, (uint32_t)document_bytes);
    struct input_run run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ 0 });
    ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "header checksum"), "so is a wrong header checksum");
    input_run_release(&run);
}

static void broken_streams_end_where_they_break(void)
{
    gz.bytes = 0;
    gz_put_header(&gz, 0);
    z_stream stream = { 0 };
    (void)deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = (Bytef *)document;
    stream.avail_in = 2000;
    stream.next_out = gz.data + gz.bytes;
    stream.avail_out = 60000;
    (void)deflate(&stream, Z_FULL_FLUSH);
    gz.bytes += stream.total_out;
    deflateEnd(&stream);
    gz_put(&gz, "\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12); /* a block of the reserved type 3 */
    for (size_t block_bytes = 0; block_bytes < 6; block_bytes += 5) {
        struct input_run run = run_input(gz.data, gz.bytes, &(struct ap_input_options){ .block_bytes = block_bytes });
        ok(run.status == AP_ERROR_INPUT && run.error.has_offset, "a broken stream is refused");
        is_u64(run.error.offset_bytes, 2000, "at the byte it was read up to");
        ok(run.error.advice == AP_ADVICE_SALVAGE, "the message says what can be done");
        ok(run.bytes == 2000 && !memcmp(run.content, document, 2000), "what stands before was delivered");
        ok(nothing_noted(&run), "and nothing noted");
        input_run_release(&run);
        const struct ap_input_options salvage = { .block_bytes = block_bytes, .salvage = true, .threads = 1 };
        run = run_input(gz.data, gz.bytes, &salvage);
        ok(run.status == AP_ERROR_CUT && run.bytes == 2000, "with salvage it is a cut");
        ok(noted(&run, AP_COUNTER_salvaged), "and noted");
        input_run_release(&run);
    }
}

static void strange_headers_are_refused(void)
{
    static const char *const heads[] = { "\x1f\x8b\x07\x00zzzzzzzzzzzz", "\x1f\x8b\x08\x20zzzzzzzzzzzz" };
    for (size_t i = 0; i < 2; i++) {
        struct input_run run = run_input(heads[i], 16, &(struct ap_input_options){ 0 });
        ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "unknown"), "unknown method or flags");
        input_run_release(&run);
    }
    size_t bytes = (size_t)2 << 20;
    char *endless = calloc(1, bytes);
    if (!endless)
        abort();
    memset(endless, 'n', bytes);
    memcpy(endless, "\x1f\x8b\x08\x08\0\0\0\0\0\0", 10);
    struct input_run run = run_input(endless, bytes, &(struct ap_input_options){ 0 });
    ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "has no end"), "a file name of 2 MiB");
    input_run_release(&run);
    free(endless);
}

static void failures_repeat(void)
{
    gz_of(&gz, document, document_bytes);
    for (unsigned threads = 0; threads < 2; threads++) {
        struct ap_gate gate;
        struct ap_notes notes = { 0 };
        struct ap_error error = { 0 };
        struct ap_input *input;
        ap_gate_init(&gate, 0);
        struct feed feed = feed_of(gz.data, gz.bytes - 3, 0);
        const struct ap_input_options options = { .threads = threads };
        if (ap_input_open_source(&gate, feed_source(&feed), &options, &notes, &input, &error) != AP_OK)
            abort();
        struct ap_byte_source source = ap_input_source(input);
        static uint8_t all[LARGE];
        size_t got = 0;
        ok(source.read(source.self, all, sizeof(all), &got, &error) == AP_OK && got == document_bytes, "all bytes");
        for (int i = 0; i < 3; i++) {
            memset(&error, 0, sizeof(error));
            ok(source.read(source.self, all, sizeof(all), &got, &error) == AP_ERROR_CUT && error.message[0],
               "then the same failure again and again");
        }
        ap_input_free(input);
    }
}

static void failures_of_the_source_pass_through(void)
{
    for (unsigned compressed = 0; compressed < 2; compressed++) {
        gz_of(&gz, document, document_bytes);
        struct feed feed = compressed ? feed_of(gz.data, gz.bytes / 2, 100) : feed_of(document, 1500, 100);
        feed.at_end = AP_ERROR_INPUT;
        struct ap_gate gate;
        struct input_run run = { .status = AP_OK };
        struct ap_input *input;
        ap_gate_init(&gate, 0);
        const struct ap_input_options options = { .threads = 1 };
        if (ap_input_open_source(&gate, feed_source(&feed), &options, &run.notes, &input, &run.error) != AP_OK)
            abort();
        input_run_read(&run, input);
        ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, "the fed block"), "a read error is told");
        ok(run.bytes > 0 && memcmp(run.content, document, run.bytes) == 0, "after the bytes before it");
        input_run_release(&run);
    }
}

/* The block behind the next one: for as long as it takes where one is sure to come. */
static void wait_for_block(const struct ap_byte_source *source, bool will_come, struct ap_block_view *ret_block)
{
    *ret_block = (struct ap_block_view){ NULL, 0 };
    while (!source->peek(source->self, 1, ret_block) && will_come)
        (void)sched_yield();
}

static void blocks_can_be_borrowed(void)
{
    for (unsigned threads = 0; threads < 2; threads++) {
        struct ap_gate gate;
        struct ap_notes notes = { 0 };
        struct ap_error error = { 0 };
        struct ap_input *input;
        struct ap_block_view block = { NULL, 0 }, last = { NULL, 0 };
        char copy[sizeof(document)], last_copy[sizeof(document)];
        size_t total = 0, blocks = 0, seen = 0;
        bool kept = true, zeros = true, foreseen = true;
        ap_gate_init(&gate, 0);
        struct feed feed = feed_of(document, document_bytes, 0);
        const struct ap_input_options options = { .threads = threads, .block_bytes = 64 };
        if (ap_input_open_source(&gate, feed_source(&feed), &options, &notes, &input, &error) != AP_OK)
            abort();
        is_int(ap_input_probe(input, &error), AP_OK, "a look at the first block");
        struct ap_byte_source source = ap_input_source(input);
        ok(!source.peek(source.self, 0, &block), "a block that was looked at is not shown again");
        struct ap_block_view ahead[2] = { { NULL, 0 } };
        while (source.borrow(source.self, &block, &error) == AP_OK && block.bytes) {
            foreseen = foreseen && (!ahead[0].bytes || (ahead[0].data == block.data && ahead[0].bytes == block.bytes));
            seen += ahead[0].bytes != 0;
            ahead[0] = ahead[1];
            wait_for_block(&source, threads && total + 64 * 4 < document_bytes, &ahead[1]);
            memcpy(copy, block.data, block.bytes);
            zeros = zeros && block.data[block.bytes] == 0 && block.data[block.bytes + AP_BLOCK_ROOM_AFTER - 1] == 0;
            kept = kept && (!last.bytes || memcmp(last.data, last_copy, last.bytes) == 0);
            kept = kept && memcmp(copy, document + total, block.bytes) == 0;
            memset(block.data - AP_BLOCK_ROOM_BEFORE, 'x', AP_BLOCK_ROOM_BEFORE); /* what a borrower may do */
            total += block.bytes;
            blocks++;
            last = block;
            memcpy(last_copy, copy, block.bytes);
        }
        is_u64(total, document_bytes, "all bytes come in blocks");
        ok(blocks > 10, "in many of them");
        ok(kept, "the block before stays valid");
        ok(foreseen && (seen > 10) == threads, "and what was seen two blocks ahead came");
        ok(zeros, "zeros stand behind each");
        ap_input_free(input);
        is_u64(gate.used_bytes, 0, "and all memory is given back");
    }
}

static void an_input_may_be_freed_at_any_moment(void)
{
    gz_of(&gz, document, document_bytes);
    bool clean = true;
    for (size_t reads = 0; reads < 60; reads++) {
        struct ap_gate gate;
        struct ap_notes notes = { 0 };
        struct ap_error error = { 0 };
        struct ap_input *input;
        uint8_t piece[100];
        ap_gate_init(&gate, 0);
        struct feed feed = feed_of(gz.data, gz.bytes, 0);
        const struct ap_input_options options = { .threads = 1, .block_bytes = 16 };
        if (ap_input_open_source(&gate, feed_source(&feed), &options, &notes, &input, &error) != AP_OK)
            abort();
        struct ap_byte_source source = ap_input_source(input);
        for (size_t i = 0, got; i < reads; i++)
            clean = clean && source.read(source.self, piece, sizeof(piece), &got, &error) == AP_OK && got > 0;
        ap_input_free(input);
        clean = clean && gate.used_bytes == 0;
    }
    ok(clean, "freed after 0 to 59 reads, nothing is left behind");
    ap_input_free(NULL);
}

static void every_refused_request_for_memory_is_an_error(void)
{
    gz_of(&gz, document, document_bytes);
    for (unsigned threads = 0; threads < 2; threads++) {
        int64_t requests = 0;
        bool clean = true;
        for (;; requests++) {
            const struct ap_input_options options = { .threads = threads, .block_bytes = 512 };
            struct input_run run = run_input_failing(gz.data, gz.bytes, &options, requests);
            enum ap_status status = run.status;
            clean = clean && run.leaked_bytes == 0 && (status == AP_OK || status == AP_ERROR_MEMORY);
            input_run_release(&run);
            if (status == AP_OK || requests > 100)
                break;
        }
        ok(clean && requests >= 4 && requests < 100, "each request refused in turn: an error and no leak");
    }
}

/* --- files ---------------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/test_input_XXXXXX";

static struct input_run run_path(const char *path, unsigned threads)
{
    struct input_run run = { .status = AP_OK };
    struct ap_gate gate;
    struct ap_input *input;
    ap_gate_init(&gate, 0);
    const struct ap_input_options options = { .threads = threads };
    run.status = ap_input_open(&gate, path, &options, &run.notes, &input, &run.error);
    if (run.status == AP_OK)
        input_run_read(&run, input);
    run.leaked_bytes = gate.used_bytes;
    return run;
}

static void path_is_refused(const char *path, const char *want)
{
    struct input_run run = run_path(path, 1);
    if (!ok(run.status == AP_ERROR_INPUT && strstr(run.error.message, want) && run.leaked_bytes == 0, want))
        printf("# %d %s\n", (int)run.status, run.error.message);
    input_run_release(&run);
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        abort();
}

static void only_regular_files_are_opened(void)
{
    char path[100];
    (void)alarm(60); /* none of this may block */
    (void)snprintf(path, sizeof(path), "%s/missing", folder);
    path_is_refused(path, "no such file");
    path_is_refused(folder, "a directory");
    path_is_refused("/dev/null", "a device");
    (void)snprintf(path, sizeof(path), "%s/fifo", folder);
    if (mkfifo(path, 0600) == 0)
        path_is_refused(path, "a FIFO");
    else
        skip("no FIFO can be made here");
    (void)unlink(path);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        path_is_refused(address.sun_path, "socket");
    else
        skip("no socket can be made here");
    (void)close(fd);
    (void)unlink(address.sun_path);
    (void)alarm(0);
}

static void files_are_read(void)
{
    char path[100];
    (void)snprintf(path, sizeof(path), "%s/trace.json", folder);
    gz_of(&gz, document, document_bytes);
    for (unsigned compressed = 0; compressed < 2; compressed++)
        for (unsigned threads = 0; threads < 2; threads++) {
            write_file(path, compressed ? (const void *)gz.data : document, compressed ? gz.bytes : document_bytes);
            struct input_run run = run_path(path, threads);
            ok(run.status == AP_OK && input_run_gave(&run, document, document_bytes), "a file is read, gzip or not");
            ok(run.compressed == compressed && nothing_noted(&run), "whatever its name says");
            input_run_release(&run);
        }
    struct ap_gate gate;
    struct ap_notes notes = { 0 };
    struct ap_error error;
    struct ap_input *input;
    ap_gate_init(&gate, 0);
    if (ap_input_open(&gate, path, &(struct ap_input_options){ 0 }, &notes, &input, &error) != AP_OK)
        abort();
    is_u64(ap_input_size_bytes(input), gz.bytes, "its size is known");
    is_u64(ap_input_raw_bytes(input), 0, "nothing was taken yet");
    ap_input_free(input);
    (void)unlink(path);
}

static void standard_input_is_read(void)
{
    int saved = dup(STDIN_FILENO), ends[2];
    for (unsigned threads = 0; threads < 2; threads++) {
        gz_of(&gz, document, document_bytes);
        if (pipe(ends) != 0 || write(ends[1], gz.data, gz.bytes) != (ssize_t)gz.bytes)
            abort();
        (void)close(ends[1]);
        (void)dup2(ends[0], STDIN_FILENO);
        (void)close(ends[0]);
        struct input_run run = run_path("-", threads);
        ok(run.status == AP_OK && input_run_gave(&run, document, document_bytes), "a pipe on standard input");
        is_u64(run.leaked_bytes, 0, "gives back its memory");
        input_run_release(&run);
    }
    int directory = open(folder, O_RDONLY);
    (void)dup2(directory, STDIN_FILENO);
    (void)close(directory);
    path_is_refused("-", "is a directory");
    (void)dup2(saved, STDIN_FILENO);
    (void)close(saved);
}

static void a_silent_pipe_does_not_hold_up_the_end(void)
{
    int saved = dup(STDIN_FILENO), ends[2];
    struct ap_gate gate;
    struct ap_notes notes = { 0 };
    struct ap_error error;
    struct ap_input *input;
    ap_gate_init(&gate, 0);
    if (pipe(ends) != 0)
        abort();
    (void)dup2(ends[0], STDIN_FILENO);
    (void)alarm(60);
    if (ap_input_open(&gate, "-", &(struct ap_input_options){ .threads = 1 }, &notes, &input, &error) != AP_OK)
        abort();
    ap_input_free(input); /* nobody ever writes */
    (void)alarm(0);
    is_u64(gate.used_bytes, 0, "an input waiting for a pipe can be freed");
    (void)dup2(saved, STDIN_FILENO);
    (void)close(saved);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Against the definition, bit by bit: however long the text is, in one piece or in two. */
static void checksums_are_those_of_gzip(void)
{
    const uint8_t *text = (const uint8_t *)document;
    uint32_t slow = 0;
    bool good = true;
    for (size_t bytes = 0; bytes < 2000; bytes++) {
        size_t half = bytes / 2;
        uint32_t in_two = ap_inflate_crc32(ap_inflate_crc32(0, text, half), text + half, bytes - half);
        good &= ap_inflate_crc32(0, text, bytes) == slow && in_two == slow;
        slow = ~slow ^ text[bytes];
        for (int bit = 0; bit < 8; bit++)
            slow = slow >> 1 ^ (slow & 1 ? 0xedb88320u : 0);
        slow = ~slow;
    }
    ok(good, "checksums of 0 to 1,999 bytes are those of gzip");
}

int main(void)
{
    write_document();
    checksums_are_those_of_gzip();
    printf("# inflate by %s\n", ap_input_inflate_name());
    plain_bytes_arrive_at_every_block_size();
    every_kind_of_member_is_read();
    members_follow_each_other();
    padding_is_left_out_and_noted();
    other_trailing_bytes_are_left_out_and_noted();
    document_bytes = SMALL;
    cut_files_are_cut();
    a_cut_between_members_cannot_be_seen();
    gz_of(&gz, document, document_bytes);
    flipped_bits_never_pass_unseen(4096, false);
    flipped_bits_never_pass_unseen(3, true);
    document_bytes = LARGE;
    wrong_trailers_are_refused_unless_salvaged();
    broken_streams_end_where_they_break();
    strange_headers_are_refused();
    failures_repeat();
    failures_of_the_source_pass_through();
    blocks_can_be_borrowed();
    an_input_may_be_freed_at_any_moment();
    every_refused_request_for_memory_is_an_error();
    if (!mkdtemp(folder))
        abort();
    only_regular_files_are_opened();
    files_are_read();
    standard_input_is_read();
    a_silent_pipe_does_not_hold_up_the_end();
    (void)rmdir(folder);
    return done();
}
