/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "process_pipe.h"

#include <errno.h>
#include <unistd.h>

#include "poison.h"

static bool write_all(const struct ap_process_pipe *pipe, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t written = write(pipe->out, at, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

bool ap_pipe_read(const struct ap_process_pipe *pipe, void *to, size_t bytes)
{
    char *at = to;
    while (bytes) {
        ssize_t got = read(pipe->in, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool ap_pipe_send(const struct ap_process_pipe *pipe, const struct ap_frame *frame, const void *data)
{
    return write_all(pipe, frame, sizeof(*frame)) && (!data || write_all(pipe, data, (size_t)frame->bytes));
}
