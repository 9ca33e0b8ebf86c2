/* SPDX-License-Identifier: MIT */
#include "piped_team.h"

#include "poison.h"

static enum ap_status fail_pipe(struct ap_error *reterr)
{
    return ap_fail(reterr, AP_ERROR_INPUT, "the processes of this run can no longer be reached");
}

/* ------------------------------------------------------------------------------------------------------ who reports */

static enum ap_status give(void *self, size_t helper, const char *data, size_t bytes, struct ap_error *reterr)
{
    const struct ap_piped_team *team = self;
    const struct ap_frame frame = { .kind = AP_FRAME_share, .helper = (uint32_t)helper, .bytes = bytes };
    return ap_pipe_send(&team->pipe, &frame, bytes ? data : NULL) ? AP_OK : fail_pipe(reterr);
}

/* Asks for the next frame of the answer. */
static enum ap_status ask(struct ap_piped_team *team, size_t helper, struct ap_error *reterr)
{
    struct ap_frame frame = { .kind = AP_FRAME_take, .helper = (uint32_t)helper };
    if (!ap_pipe_send(&team->pipe, &frame, NULL) || !ap_pipe_read(&team->pipe, &frame, sizeof(frame)))
        return fail_pipe(reterr);
    team->at_end = frame.kind == AP_FRAME_end;
    team->left_bytes = frame.kind == AP_FRAME_data ? frame.bytes : 0;
    if (frame.kind == AP_FRAME_lost)
        return ap_fail(reterr, AP_ERROR_INPUT, "the process that was to read it ended before it had");
    return AP_OK;
}

static enum ap_status take(void *self, size_t helper, void *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct ap_piped_team *team = self;
    if (helper != team->taken_from) {
        team->taken_from = helper;
        team->at_end = false;
    }
    while (!team->left_bytes && !team->at_end)
        AP_TRY(ask(team, helper, reterr));
    size_t bytes = team->left_bytes < cap_bytes ? (size_t)team->left_bytes : cap_bytes;
    if (bytes && !ap_pipe_read(&team->pipe, to, bytes))
        return fail_pipe(reterr);
    team->left_bytes -= bytes;
    *ret_bytes = bytes;
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- a helper */

static enum ap_status receive(void *self, const char **ret_share, size_t *ret_bytes, struct ap_error *reterr)
{
    struct ap_piped_team *team = self;
    struct ap_frame frame;
    if (!ap_pipe_read(&team->pipe, &frame, sizeof(frame)))
        return AP_END; /* there is nothing to help with */
    if (frame.kind != AP_FRAME_share || frame.bytes > SIZE_MAX / 2)
        return fail_pipe(reterr);
    team->share_bytes = (size_t)frame.bytes;
    AP_TRY(AP_ALLOC(&team->gate, team->share, team->share_bytes + 1, reterr));
    if (!ap_pipe_read(&team->pipe, team->share, team->share_bytes))
        return fail_pipe(reterr);
    *ret_share = team->share;
    *ret_bytes = team->share_bytes;
    return AP_OK;
}

static enum ap_status write_answer(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    const struct ap_piped_team *team = self;
    while (bytes) {
        size_t part = bytes < AP_FRAME_DATA_BYTES ? bytes : AP_FRAME_DATA_BYTES;
        const struct ap_frame frame = { .kind = AP_FRAME_data, .bytes = part };
        if (!ap_pipe_send(&team->pipe, &frame, data))
            return fail_pipe(reterr);
        data += part;
        bytes -= part;
    }
    return AP_OK;
}

bool ap_piped_team_init(struct ap_piped_team *team, struct ap_process_pipe pipe)
{
    struct ap_frame hello;
    if (!ap_pipe_read(&pipe, &hello, sizeof(hello)) || hello.kind != AP_FRAME_hello)
        return false;
    *team = (struct ap_piped_team){ .pipe = pipe, .reports = hello.helper == 0, .taken_from = SIZE_MAX };
    ap_gate_init(&team->gate, 0);
    team->helpers = (struct ap_helpers){ .count = (size_t)hello.bytes - 1, .give = give, .take = take, .self = team };
    team->team = (struct ap_program_team){
        .receive = receive, .write = write_answer, .self = team, .per_host = (unsigned)hello.per_host
    };
    team->team.helpers = team->reports ? &team->helpers : NULL;
    return true;
}

void ap_piped_team_finish(struct ap_piped_team *team)
{
    const struct ap_frame end = { .kind = AP_FRAME_end };
    if (!team->reports && team->share)
        (void)!ap_pipe_send(&team->pipe, &end, NULL);
    AP_FREE(&team->gate, team->share, team->share_bytes + 1);
}
