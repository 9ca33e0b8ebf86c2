/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "raw_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poison.h"

static const char *file_kind(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return "a device";
    if (S_ISFIFO(mode))
        return "a FIFO";
    if (S_ISSOCK(mode))
        return "a socket";
    return "no regular file";
}

static enum ap_status fail_open(int error_number, struct ap_error *reterr)
{
    switch (error_number) {
    case ENOENT: return ap_fail(reterr, AP_ERROR_INPUT, "no such file");
    case ENXIO: /* a socket, or a device without a driver */
        return ap_fail(reterr, AP_ERROR_INPUT, "this is a socket or a device, expected a regular file");
    default: return ap_fail(reterr, AP_ERROR_INPUT, "cannot open the file: %s", strerror(error_number));
    }
}

/* O_NONBLOCK: opening a FIFO would wait for a writer. It means nothing for regular files. */
static enum ap_status open_path(const char *path, int *ret_fd, struct ap_error *reterr)
{
    *ret_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return *ret_fd < 0 ? fail_open(errno, reterr) : AP_OK;
}

static enum ap_status open_regular(struct ap_raw_source *raw, const char *path, const struct ap_opener *opener,
                                   struct ap_error *reterr)
{
    int fd;
    struct stat info;
    if (opener)
        AP_TRY(opener->open(opener->opener_self, path, &fd, reterr));
    else
        AP_TRY(open_path(path, &fd, reterr));
    if (fstat(fd, &info) != 0) {
        int error_number = errno;
        (void)close(fd);
        return fail_open(error_number, reterr);
    }
    if (!S_ISREG(info.st_mode)) {
        (void)close(fd);
        return ap_advise(reterr, S_ISDIR(info.st_mode) ? AP_ADVICE_NONE : AP_ADVICE_STANDARD_INPUT,
                         ap_fail(reterr, AP_ERROR_INPUT, "this is %s, expected a regular file", file_kind(info.st_mode)));
    }
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    raw->fd = fd;
    raw->owns_fd = true;
    raw->size_bytes = info.st_size > 0 ? (uint64_t)info.st_size : 0;
    return AP_OK;
}

static enum ap_status make_wake_pipe(struct ap_raw_source *raw, struct ap_error *reterr)
{
    if (pipe(raw->wake_fds) != 0) {
        raw->wake_fds[0] = raw->wake_fds[1] = -1;
        return ap_fail(reterr, AP_ERROR_INPUT, "cannot make a pipe: %s", strerror(errno));
    }
    for (int i = 0; i < 2; i++)
        (void)fcntl(raw->wake_fds[i], F_SETFD, FD_CLOEXEC);
    return AP_OK;
}

static enum ap_status open_standard_input(struct ap_raw_source *raw, bool wakeable, struct ap_error *reterr)
{
    struct stat info;
    if (fstat(STDIN_FILENO, &info) != 0)
        return ap_fail(reterr, AP_ERROR_INPUT, "cannot read standard input: %s", strerror(errno));
    if (S_ISDIR(info.st_mode))
        return ap_fail(reterr, AP_ERROR_INPUT, "standard input is a directory, expected a file or a pipe");
    raw->fd = STDIN_FILENO;
    if (S_ISREG(info.st_mode)) {
        off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
        raw->size_bytes = at >= 0 && info.st_size > at ? (uint64_t)(info.st_size - at) : 0;
        raw->first_byte = at > 0 ? (uint64_t)at : 0;
        return AP_OK;
    }
    return wakeable ? make_wake_pipe(raw, reterr) : AP_OK;
}

static void close_files(struct ap_raw_source *raw)
{
    if (raw->owns_fd)
        (void)close(raw->fd);
    for (int i = 0; i < 2; i++)
        if (raw->wake_fds[i] >= 0)
            (void)close(raw->wake_fds[i]);
}

static enum ap_status allocate(struct ap_raw_source *raw, struct ap_error *reterr)
{
    raw->buffer_size = raw->piece_bytes > AP_RAW_HEAD_BYTES ? raw->piece_bytes : AP_RAW_HEAD_BYTES;
    raw->buffer = ap_mem_resize(raw->gate, NULL, 0, raw->buffer_size);
    return raw->buffer ? AP_OK : ap_fail_memory(raw->gate, reterr);
}

static void prepare(struct ap_raw_source *raw, struct ap_gate *gate, size_t piece_bytes)
{
    *raw = (struct ap_raw_source){ .gate = gate, .fd = -1, .wake_fds = { -1, -1 }, .piece_bytes = piece_bytes };
    atomic_init(&raw->taken_bytes, 0);
}

enum ap_status ap_raw_source_init_path(struct ap_raw_source *raw, struct ap_gate *gate, const char *path,
                                       const struct ap_opener *opener, size_t piece_bytes, bool wakeable,
                                       struct ap_error *reterr)
{
    prepare(raw, gate, piece_bytes);
    if (!opener && strcmp(path, "-") == 0)
        AP_TRY(open_standard_input(raw, wakeable, reterr));
    else
        AP_TRY(open_regular(raw, path, opener, reterr));
    enum ap_status status = allocate(raw, reterr);
    if (status != AP_OK)
        close_files(raw);
    return status;
}

enum ap_status ap_raw_source_init(struct ap_raw_source *raw, struct ap_gate *gate, struct ap_byte_source from,
                                  size_t piece_bytes, struct ap_error *reterr)
{
    prepare(raw, gate, piece_bytes);
    raw->from = from;
    return allocate(raw, reterr);
}

void ap_raw_source_put_back(struct ap_raw_source *raw, const uint8_t *head, size_t head_bytes)
{
    raw->head = head;
    raw->head_bytes = head_bytes;
    raw->size_bytes += raw->size_bytes ? head_bytes : 0;
}

void ap_raw_source_release(struct ap_raw_source *raw)
{
    close_files(raw);
    ap_mem_free(raw->gate, raw->buffer, raw->buffer_size);
}

/* Wait until there is something to read or ap_raw_source_wake is called. False: woken. */
static bool wait_for_bytes(const struct ap_raw_source *raw)
{
    /* poll leaves out descriptors below zero: without a wake pipe only the first counts. */
    struct pollfd waits[2] = { { .fd = raw->fd, .events = POLLIN }, { .fd = raw->wake_fds[0], .events = POLLIN } };
    while (poll(waits, 2, -1) < 0 && (errno == EINTR || errno == EAGAIN))
        continue;
    return waits[1].revents == 0;
}

static size_t read_head(struct ap_raw_source *raw, uint8_t *to, size_t cap_bytes)
{
    size_t bytes = raw->head_bytes < cap_bytes ? raw->head_bytes : cap_bytes;
    memcpy(to, raw->head, bytes);
    raw->head += bytes;
    raw->head_bytes -= bytes;
    return bytes;
}

static enum ap_status fail_read(struct ap_error *reterr)
{
    return ap_fail(reterr, AP_ERROR_INPUT, "cannot read the file: %s", strerror(errno));
}

static enum ap_status read_fd(struct ap_raw_source *raw, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                              struct ap_error *reterr)
{
    bool wait = raw->wake_fds[0] >= 0;
    for (;;) {
        if (wait && !wait_for_bytes(raw))
            return ap_fail(reterr, AP_ERROR_INPUT, "reading was given up");
        ssize_t got = read(raw->fd, to, cap_bytes);
        if (got >= 0) {
            *ret_bytes = (size_t)got;
            return AP_OK;
        }
        if (errno == EAGAIN && raw->owns_fd) /* /proc/kmsg */
            return ap_fail(reterr, AP_ERROR_INPUT, "the file waits for others to write more, expected one that ends");
        if (errno == EAGAIN || errno == EWOULDBLOCK) /* somebody made standard input non-blocking */
            wait = true;
        else if (errno != EINTR)
            return fail_read(reterr);
    }
}

/* Straight from the file or source, past the buffer. */
static enum ap_status read_through(struct ap_raw_source *raw, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                   struct ap_error *reterr)
{
    if (raw->ended)
        return AP_END;
    if (raw->status != AP_OK) {
        *reterr = raw->error;
        return raw->status;
    }
    size_t got = 0;
    if (raw->head_bytes)
        got = read_head(raw, to, cap_bytes);
    else
        raw->status = raw->fd >= 0 ? read_fd(raw, to, cap_bytes, &got, &raw->error)
                                   : raw->from.read(raw->from.self, to, cap_bytes, &got, &raw->error);
    if (raw->status != AP_OK) {
        *reterr = raw->error;
        return raw->status;
    }
    raw->ended = got == 0;
    atomic_fetch_add_explicit(&raw->taken_bytes, got, memory_order_relaxed);
    *ret_bytes = got;
    return got ? AP_OK : AP_END;
}

void ap_raw_source_peek(struct ap_raw_source *raw, const uint8_t **ret_data, size_t *ret_bytes)
{
    struct ap_error seen_again_later;
    enum ap_status status = AP_OK;
    while (status == AP_OK && raw->end < AP_RAW_HEAD_BYTES) {
        size_t want = AP_RAW_HEAD_BYTES - raw->end, got = 0;
        if (want > raw->piece_bytes)
            want = raw->piece_bytes;
        status = read_through(raw, raw->buffer + raw->end, want, &got, &seen_again_later);
        raw->end += got;
    }
    *ret_data = raw->buffer;
    *ret_bytes = raw->end;
}

enum ap_status ap_raw_source_next(struct ap_raw_source *raw, const uint8_t **ret_data, size_t *ret_bytes,
                                  struct ap_error *reterr)
{
    if (raw->begin == raw->end) {
        size_t got = 0;
        AP_TRY(read_through(raw, raw->buffer, raw->piece_bytes, &got, reterr));
        raw->begin = 0;
        raw->end = got;
    }
    size_t bytes = raw->end - raw->begin;
    if (bytes > raw->piece_bytes)
        bytes = raw->piece_bytes;
    *ret_data = raw->buffer + raw->begin;
    *ret_bytes = bytes;
    raw->begin += bytes;
    return AP_OK;
}

enum ap_status ap_raw_source_read(struct ap_raw_source *raw, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                  struct ap_error *reterr)
{
    size_t bytes = raw->end - raw->begin;
    if (bytes == 0)
        return read_through(raw, to, cap_bytes, ret_bytes, reterr);
    if (bytes > cap_bytes)
        bytes = cap_bytes;
    memcpy(to, raw->buffer + raw->begin, bytes);
    raw->begin += bytes;
    *ret_bytes = bytes;
    return AP_OK;
}

bool ap_raw_source_has_pages(const struct ap_raw_source *raw, uint64_t *ret_size_bytes)
{
    *ret_size_bytes = raw->size_bytes;
    return raw->fd >= 0 && raw->size_bytes > 0;
}

enum ap_status ap_raw_source_fetch(struct ap_raw_source *raw, uint64_t offset_bytes, uint8_t *to, size_t cap_bytes,
                                   size_t *ret_bytes, struct ap_error *reterr)
{
    size_t got = 0;
    while (got < cap_bytes) {
        ssize_t more = pread(raw->fd, to + got, cap_bytes - got, (off_t)(raw->first_byte + offset_bytes + got));
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return fail_read(reterr);
        if (more == 0)
            break;
        got += (size_t)more;
    }
    atomic_fetch_add_explicit(&raw->taken_bytes, got, memory_order_relaxed);
    *ret_bytes = got;
    return AP_OK;
}

bool ap_raw_source_read_at(struct ap_raw_source *raw, uint64_t offset_bytes, uint8_t *to, size_t bytes)
{
    struct ap_error error;
    size_t got;
    if (ap_raw_source_fetch(raw, offset_bytes, to, bytes, &got, &error) != AP_OK)
        return false;
    memset(to + got, 0, bytes - got);
    return true;
}

void ap_raw_source_wake(struct ap_raw_source *raw)
{
    const char byte = 0;
    if (raw->wake_fds[1] >= 0)
        while (write(raw->wake_fds[1], &byte, 1) < 0 && errno == EINTR)
            continue;
}
