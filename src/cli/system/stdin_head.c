/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "stdin_head.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LOOK_BYTES 4096
#define LARGEST_HEAD_BYTES (1 << 20)

/* False at the end of the input. */
static bool read_more(uint8_t *to, size_t cap_bytes, size_t *bytes, bool *ret_failed, struct ap_error *reterr)
{
    ssize_t got;
    do {
        struct pollfd wait = { .fd = STDIN_FILENO, .events = POLLIN };
        got = read(STDIN_FILENO, to + *bytes, cap_bytes - *bytes);
        if (got < 0 && errno == EAGAIN)
            (void)poll(&wait, 1, -1);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    *ret_failed = got < 0;
    if (got < 0) {
        *reterr = (struct ap_error){ .status = AP_ERROR_INPUT };
        (void)snprintf(reterr->message, sizeof(reterr->message), "cannot read standard input: %s", strerror(errno));
    }
    *bytes += got > 0 ? (size_t)got : 0;
    return got > 0;
}

enum ap_status ap_cli_recognize_stdin(struct ap_request *request, enum ap_artifact *ret_artifact, struct ap_error *reterr)
{
    static uint8_t head[LARGEST_HEAD_BYTES];
    size_t bytes = 0;
    enum ap_status status = AP_OK;
    bool more = true, failed = false;
    *ret_artifact = AP_ARTIFACT_UNKNOWN;
    for (size_t wanted = FIRST_LOOK_BYTES; more && *ret_artifact == AP_ARTIFACT_UNKNOWN && wanted <= sizeof(head);
         wanted *= 4) { /* looked at anew each time: four times as much, so that all looks together stay linear */
        while (more && bytes < wanted)
            more = read_more(head, wanted, &bytes, &failed, reterr);
        if (failed)
            return AP_ERROR_INPUT;
        status = ap_recognize_head(head, bytes, ret_artifact, reterr); /* a failure may be that of a head cut too short */
    }
    request->standard_input_head = head;
    request->standard_input_head_bytes = bytes;
    return status;
}
