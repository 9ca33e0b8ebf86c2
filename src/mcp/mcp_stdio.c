/* SPDX-License-Identifier: MIT
 * mcp_stdio.c - lines in, lines out. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "mcp_session.h"

#include "poison.h"

#define READ_BYTES ((size_t)64 << 10)

struct line {
    struct ap_gate gate;
    char *data;
    size_t bytes, capacity;
    bool too_long; /* its bytes are thrown away up to its end */
};

static enum ap_status wait_for(int fd, short events, enum ap_status failure, struct ap_error *reterr)
{
    struct pollfd wait = { .fd = fd, .events = events };
    if (errno == EINTR)
        return AP_OK;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return ap_fail(reterr, failure, "the connection broke: %s", strerror(errno));
    while (poll(&wait, 1, -1) < 0 && errno == EINTR)
        continue;
    return AP_OK;
}

static enum ap_status write_all(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    const int *fd = self;
    while (bytes) {
        ssize_t written = write(*fd, data, bytes);
        if (written < 0) {
            AP_TRY(wait_for(*fd, POLLOUT, AP_ERROR_OUTPUT, reterr));
            continue;
        }
        data += written;
        bytes -= (size_t)written;
    }
    return AP_OK;
}

static enum ap_status append(struct line *line, const char *data, size_t bytes, struct ap_error *reterr)
{
    if (line->too_long || bytes > AP_MCP_MAX_MESSAGE_BYTES - line->bytes) {
        line->too_long = true;
        return AP_OK;
    }
    if (!bytes)
        return AP_OK;
    AP_TRY(AP_RESERVE(&line->gate, line->data, line->capacity, line->bytes + bytes, reterr));
    memcpy(line->data + line->bytes, data, bytes);
    line->bytes += bytes;
    return AP_OK;
}

static enum ap_status refuse_line(struct ap_mcp_session *session, struct ap_error *reterr)
{
    static const char too_long[] =
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"the message is longer "
        "than 1 MiB\"}}\n";
    (void)pthread_mutex_lock(session->sink.lock);
    enum ap_status status = session->sink.to.write(session->sink.to.self, too_long, sizeof(too_long) - 1, reterr);
    (void)pthread_mutex_unlock(session->sink.lock);
    return status;
}

static enum ap_status end_line(struct ap_mcp_session *session, struct line *line, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    if (line->too_long)
        status = refuse_line(session, reterr);
    else if (line->bytes)
        status = ap_mcp_session_take(session, line->data, line->bytes, reterr);
    line->bytes = 0;
    line->too_long = false;
    return status;
}

static enum ap_status take(struct ap_mcp_session *session, struct line *line, const char *data, size_t bytes,
                           struct ap_error *reterr)
{
    while (bytes) {
        const char *end = memchr(data, '\n', bytes);
        size_t part = end ? (size_t)(end - data) : bytes;
        AP_TRY(append(line, data, part, reterr));
        if (end)
            AP_TRY(end_line(session, line, reterr));
        part += end != NULL;
        data += part;
        bytes -= part;
    }
    return AP_OK;
}

static enum ap_status run(struct ap_mcp_session *session, struct line *line, int in_fd, struct ap_error *reterr)
{
    char piece[READ_BYTES];
    for (;;) {
        ssize_t got = read(in_fd, piece, sizeof(piece));
        if (got < 0)
            AP_TRY(wait_for(in_fd, POLLIN, AP_ERROR_INPUT, reterr));
        else if (got == 0)
            return end_line(session, line, reterr); /* the last one may lack its line break */
        else
            AP_TRY(take(session, line, piece, (size_t)got, reterr));
    }
}

enum ap_status ap_mcp_server_run(struct ap_mcp_server *server, int in_fd, int out_fd, struct ap_error *reterr)
{
    struct line line = { .data = NULL };
    struct ap_mcp_session session;
    struct ap_error error;
    ap_gate_init(&line.gate, 0);
    ap_mcp_session_begin(&session, server, (struct ap_sink){ write_all, &out_fd });
    enum ap_status status = run(&session, &line, in_fd, reterr);
    enum ap_status ended = ap_mcp_session_end(&session, status != AP_OK, &error);
    ap_mem_free(&line.gate, line.data, line.capacity);
    if (status == AP_OK && ended != AP_OK)
        *reterr = error;
    return status == AP_OK ? ended : status;
}
