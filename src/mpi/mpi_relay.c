/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "mpi_relay.h"

#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include "mem.h"

#include "poison.h"

#define LONGEST_SLEEP_NS 4000000

/* Kinds of frames are the tags of messages. One that is out of the order below is a mistake of ours. */
enum { TAG_NOTHING = 100 }; /* to a helper: it is not needed */

struct relay {
    struct ap_process_pipe *pipe;
    struct ap_gate gate;
    int place, place_count;
    uint8_t *was_given, *has_ended; /* by helper; on place 0 */
};

/* -------------------------------------------------------------------------------------------------------- messages */

/* MPI's own waiting takes a whole processor. */
static void sleep_longer(long *ns)
{
    struct timespec time = { .tv_nsec = *ns };
    (void)nanosleep(&time, NULL);
    *ns = *ns * 2 < LONGEST_SLEEP_NS ? *ns * 2 : LONGEST_SLEEP_NS;
}

static void send_message(int place, int tag, const void *data, size_t bytes)
{
    MPI_Request request;
    int done = 0;
    (void)MPI_Isend(data, (int)bytes, MPI_BYTE, place, tag, MPI_COMM_WORLD, &request);
    for (long ns = 10000; !done;) {
        (void)MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            sleep_longer(&ns);
    }
}

/* The next message of a place; its bytes are kept until ap_mem_free(gate, *ret_data, *ret_bytes + 1). NULL data = no
 * memory: it was received and is lost. */
static int receive_message(struct relay *relay, int place, uint8_t **ret_data, size_t *ret_bytes)
{
    MPI_Message message;
    MPI_Status status;
    int found = 0, bytes = 0;
    for (long ns = 10000; !found;) {
        (void)MPI_Improbe(place, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status);
        if (!found)
            sleep_longer(&ns);
    }
    (void)MPI_Get_count(&status, MPI_BYTE, &bytes);
    *ret_bytes = (size_t)bytes;
    *ret_data = ap_mem_resize(&relay->gate, NULL, 0, *ret_bytes + 1);
    if (!*ret_data)
        (void)MPI_Abort(MPI_COMM_WORLD, 5);
    (void)MPI_Mrecv(*ret_data, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    return status.MPI_TAG;
}

/* --------------------------------------------------------------------------------------------- place 0: the report */

static bool bring_share(struct relay *relay, const struct ap_frame *frame)
{
    uint8_t *data = ap_mem_resize(&relay->gate, NULL, 0, (size_t)frame->bytes + 1);
    bool whole = data && ap_pipe_read(relay->pipe, data, (size_t)frame->bytes);
    if (whole) {
        send_message((int)frame->helper + 1, AP_FRAME_share, data, (size_t)frame->bytes);
        relay->was_given[frame->helper] = 1;
    }
    ap_mem_free(&relay->gate, data, (size_t)frame->bytes + 1);
    return whole;
}

/* The next part of an answer. Of one that has ended there is no more. */
static bool bring_answer(struct relay *relay, uint32_t helper)
{
    uint8_t *data = NULL;
    size_t bytes = 0;
    struct ap_frame frame = { .kind = AP_FRAME_lost, .helper = helper };
    if (relay->was_given[helper] && !relay->has_ended[helper]) {
        frame.kind = (uint32_t)receive_message(relay, (int)helper + 1, &data, &bytes);
        relay->has_ended[helper] = frame.kind != AP_FRAME_data;
    }
    frame.bytes = bytes;
    bool sent = ap_pipe_send(relay->pipe, &frame, bytes ? data : NULL);
    ap_mem_free(&relay->gate, data, bytes + 1);
    return sent;
}

static bool serve(struct relay *relay)
{
    struct ap_frame frame;
    if (!ap_pipe_read(relay->pipe, &frame, sizeof(frame)) || frame.helper + 1 >= (uint32_t)relay->place_count)
        return false;
    if (frame.kind == AP_FRAME_share)
        return bring_share(relay, &frame);
    return frame.kind == AP_FRAME_take && bring_answer(relay, frame.helper);
}

/* Those that were given nothing are told; what the others still send is taken, or they would wait for ever. */
static void let_all_end(struct relay *relay)
{
    for (int i = 0; i + 1 < relay->place_count; i++) {
        if (!relay->was_given[i])
            send_message(i + 1, TAG_NOTHING, NULL, 0);
        while (relay->was_given[i] && !relay->has_ended[i]) {
            uint8_t *data;
            size_t bytes;
            relay->has_ended[i] = receive_message(relay, i + 1, &data, &bytes) != AP_FRAME_data;
            ap_mem_free(&relay->gate, data, bytes + 1);
        }
    }
}

static void relay_report(struct relay *relay)
{
    size_t count = (size_t)relay->place_count;
    relay->was_given = ap_mem_cleared(&relay->gate, count);
    relay->has_ended = ap_mem_cleared(&relay->gate, count);
    if (!relay->was_given || !relay->has_ended)
        (void)MPI_Abort(MPI_COMM_WORLD, 5);
    while (serve(relay))
        ;
    let_all_end(relay);
    ap_mem_free(&relay->gate, relay->has_ended, count);
    ap_mem_free(&relay->gate, relay->was_given, count);
}

/* ------------------------------------------------------------------------------------------------ the other places */

/* Returns the kind of frame, as which it was sent on. */
static uint32_t bring_part(struct relay *relay)
{
    static uint8_t data[AP_FRAME_DATA_BYTES];
    struct ap_frame frame;
    bool whole = ap_pipe_read(relay->pipe, &frame, sizeof(frame)) && frame.bytes <= sizeof(data) &&
                 ap_pipe_read(relay->pipe, data, (size_t)frame.bytes);
    if (!whole || (frame.kind != AP_FRAME_data && frame.kind != AP_FRAME_end))
        frame = (struct ap_frame){ .kind = AP_FRAME_lost };
    send_message(0, (int)frame.kind, data, (size_t)frame.bytes);
    return frame.kind;
}

static void relay_help(struct relay *relay)
{
    uint8_t *data;
    size_t bytes;
    if (receive_message(relay, 0, &data, &bytes) == AP_FRAME_share) {
        const struct ap_frame frame = { .kind = AP_FRAME_share, .bytes = bytes };
        bool given = ap_pipe_send(relay->pipe, &frame, data);
        if (!given)
            send_message(0, AP_FRAME_lost, NULL, 0);
        while (given && bring_part(relay) == AP_FRAME_data)
            ;
    }
    ap_mem_free(&relay->gate, data, bytes + 1);
}

static int count_on_host(void)
{
    MPI_Comm host;
    int count = 1;
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    (void)MPI_Comm_size(host, &count);
    (void)MPI_Comm_free(&host);
    return count;
}

void ap_mpi_relay(struct ap_process_pipe *pipe)
{
    struct relay relay = { .pipe = pipe };
    ap_gate_init(&relay.gate, 0);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &relay.place);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &relay.place_count);
    const struct ap_frame hello = { .kind = AP_FRAME_hello,
                                    .helper = (uint32_t)relay.place,
                                    .bytes = (uint64_t)relay.place_count,
                                    .per_host = (uint64_t)count_on_host() };
    (void)!ap_pipe_send(pipe, &hello, NULL); /* who does not hear it has ended, which is noticed below */
    if (relay.place == 0)
        relay_report(&relay);
    else
        relay_help(&relay);
    (void)close(pipe->out);
    (void)close(pipe->in);
}
