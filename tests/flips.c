/* SPDX-License-Identifier: MIT
 * flips.c - single bits flipped in gzip files: whatever bit it is, the run is refused, says in its warnings what was lost,
 * or its report is that of the whole file, byte for byte; what is read of one is never taken for all of it.
 *
 *     flips [--flips N] [--part I/COUNT] [--seed N] FILE.gz...
 *
 * --flips N       so many bits in all, spread evenly over each file, beside those of its header and its end; every second
 *                 one is read with salvage
 * --part I/COUNT  the I-th (from 0) of so many parts of them, to run side by side
 * --seed N        tells which bit is the first; drawn where it is not given, and printed
 * Prints TAP; the last line says how many were refused, told and harmless. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze_profile/analyze_profile.h"
#include "tap.h"

#define LARGEST_BYTES (1 << 20)
#define HEADER_BYTES 10 /* of gzip: some of its bits mean nothing */
#define TRAILER_BYTES 8

struct file {
    char path[32]; /* a copy, of which a byte is changed at a time */
    int fd;
    size_t bytes;
    char data[LARGEST_BYTES];
    bool is_snapshot;
    char *report; /* of the whole file */
    size_t report_bytes;
};

static struct {
    uint64_t refused, told, harmless, silent;
} count;

static struct file file;

struct comparison {
    size_t at;
    bool differs;
};

static enum ap_status keep(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)self, (void)reterr;
    char *grown = realloc(file.report, file.report_bytes + bytes);
    if (!grown)
        abort();
    memcpy(grown + file.report_bytes, data, bytes);
    file.report = grown;
    file.report_bytes += bytes;
    return AP_OK;
}

static enum ap_status compare(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct comparison *to = self;
    (void)reterr;
    to->differs |= bytes > file.report_bytes - to->at || memcmp(file.report + to->at, data, bytes) != 0;
    to->at += to->differs ? 0 : bytes;
    return AP_OK;
}

static struct ap_report *read_copy(bool salvage, struct ap_error *error)
{
    struct ap_request request = { .top_n = 3, .threads = 1, .salvage = salvage };
    struct ap_report *report = NULL;
    *(file.is_snapshot ? &request.memory_json_path : &request.cpu_trace_path) = file.path;
    return ap_report_new(&request, &report, NULL, error) == AP_OK ? report : NULL;
}

static bool is_told(const struct ap_report *report)
{
    return ap_value_first(ap_value_member(ap_report_root(report), "warnings")) != NULL;
}

static bool open_copy(const char *path)
{
    struct ap_error error;
    strcpy(file.path, "/tmp/flips-XXXXXX");
    file.fd = mkstemp(file.path);
    int from = open(path, O_RDONLY);
    ssize_t bytes = from < 0 ? -1 : read(from, file.data, sizeof(file.data));
    if (bytes <= 0 || file.fd < 0 || write(file.fd, file.data, (size_t)bytes) != bytes)
        return false;
    (void)close(from);
    file.bytes = (size_t)bytes;
    for (int i = 0; i < 2; i++) {
        file.is_snapshot = i > 0;
        struct ap_report *report = read_copy(false, &error);
        bool is_whole = report && !is_told(report) && ap_report_write_json(report, keep, NULL, &error) == AP_OK;
        ap_report_free(report);
        if (is_whole)
            return true;
    }
    return false;
}

static void close_copy(void)
{
    (void)close(file.fd);
    (void)unlink(file.path);
    free(file.report);
    file.report = NULL;
    file.report_bytes = 0;
}

static bool write_byte(size_t at, char byte)
{
    return pwrite(file.fd, &byte, 1, (off_t)at) == 1;
}

static void flip(size_t bit, bool salvage)
{
    struct ap_error error = { .status = AP_OK };
    struct comparison to = { .at = 0 };
    char byte = file.data[bit / 8];
    if (!write_byte(bit / 8, (char)(byte ^ (1 << bit % 8))))
        abort();
    struct ap_report *report = read_copy(salvage, &error);
    if (!report)
        count.refused++;
    else if (is_told(report))
        count.told++;
    else if (ap_report_write_json(report, compare, &to, &error) == AP_OK && !to.differs && to.at == file.report_bytes)
        count.harmless++;
    else
        count.silent++;
    if (!report && (!error.message[0] || error.status == AP_ERROR_MEMORY || error.status == AP_ERROR_USAGE))
        printf("# bit %zu: status %d, \"%s\"\n", bit, (int)error.status, error.message);
    ap_report_free(report);
    if (!write_byte(bit / 8, byte))
        abort();
}

static void flip_bits(const char *path, uint64_t flips, uint64_t part, uint64_t parts, uint64_t seed)
{
    uint64_t silent = count.silent;
    if (!ok(open_copy(path), path))
        return;
    uint64_t bits = file.bytes * 8, first = bits > flips ? seed % (bits / flips) : 0;
    for (uint64_t i = part; i < flips; i += parts)
        flip((size_t)(i * bits / flips + first), i / parts % 2 != 0);
    for (size_t bit = 0; bit < 8 * (HEADER_BYTES + TRAILER_BYTES) && part == 0; bit++)
        flip(bit < 8 * HEADER_BYTES ? bit : 8 * file.bytes - 1 - (bit - 8 * HEADER_BYTES), bit % 16 < 8);
    ok(count.silent == silent, "what is lost by a flipped bit is refused or told");
    close_copy();
}

int main(int argc, char **argv)
{
    uint64_t flips = 3000, part = 0, parts = 1, seed = (uint64_t)time(NULL);
    int first = 1;
    for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
        char *end = NULL;
        uint64_t number = strtoull(argv[first + 1], &end, 10);
        if (strcmp(argv[first], "--flips") == 0)
            flips = number;
        else if (strcmp(argv[first], "--seed") == 0)
            seed = number;
        else
            part = number, parts = *end == '/' ? strtoull(end + 1, NULL, 10) : 1;
    }
    if (!ok(first < argc && parts && part < parts, "there are files, and there is such a part"))
        return done();
    printf("# seed %" PRIu64 "\n", seed);
    for (int i = first; i < argc; i++)
        flip_bits(argv[i], flips / (uint64_t)(argc - first), part, parts, seed);
    printf("# %" PRIu64 " refused, %" PRIu64 " told, %" PRIu64 " harmless\n", count.refused, count.told, count.harmless);
    return done();
}
