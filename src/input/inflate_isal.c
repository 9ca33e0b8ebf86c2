/* SPDX-License-Identifier: MIT */
#include "inflate.h"

#include <isa-l.h>
#include <string.h>

#include "poison.h"

/* With this little input isal_inflate works symbol by symbol. Its fast loop, which needs 8 bytes of input, counts a match
 * as written before it has looked whether its distance is valid: where it is not, up to 258 bytes of something are
 * handed out as content (seen with 2.30). */
enum { CAREFUL_BYTES = 4, FAST_BYTES = 8 };
/* So much of each stream is gone through slowly: a file may be of a million empty ones, each of which would have its state
 * copied. */
enum { BEGIN_BYTES = 256 };

struct ap_inflater {
    struct ap_gate *gate;
    bool careful, corrupt;
    ptrdiff_t begun_bytes;        /* of the stream, up to BEGIN_BYTES */
    struct inflate_state *before; /* the last step: about 90 KB copied for each MiB that is made of them */
    struct inflate_state state;
};

struct ap_inflater *ap_inflater_new(struct ap_gate *gate)
{
    struct ap_inflater *inflater = ap_mem_resize(gate, NULL, 0, sizeof(*inflater));
    struct inflate_state *before = ap_mem_resize(gate, NULL, 0, sizeof(*before));
    if (!inflater || !before) {
        AP_FREE(gate, inflater, 1);
        AP_FREE(gate, before, 1);
        return NULL;
    }
    inflater->before = before;
    /* isal_inflate_init leaves the lookup tables as they are: with hostile input nothing may depend on old memory. */
    memset(&inflater->state, 0, sizeof(inflater->state));
    inflater->gate = gate;
    inflater->careful = false;
    inflater->corrupt = false;
    inflater->begun_bytes = 0;
    isal_inflate_init(&inflater->state);
    return inflater;
}

void ap_inflater_free(struct ap_inflater *inflater)
{
    if (!inflater)
        return;
    AP_FREE(inflater->gate, inflater->before, 1);
    AP_FREE(inflater->gate, inflater, 1);
}

void ap_inflater_reset(struct ap_inflater *inflater)
{
    inflater->careful = false;
    inflater->corrupt = false;
    inflater->begun_bytes = 0;
    isal_inflate_reset(&inflater->state);
}

/* isal_inflate decodes ahead into a buffer of its own. Where it meets a broken place it returns at once and leaves there
 * what did not fit into the output: all of it was decoded before that place. */
static void hand_out_rest(struct inflate_state *state, struct ap_inflate_io *io)
{
    int32_t rest = state->tmp_out_valid - state->tmp_out_processed;
    size_t bytes = rest > 0 ? (size_t)rest : 0;
    if (bytes > io->out_bytes)
        bytes = io->out_bytes;
    memcpy(io->out, state->tmp_out_buffer + state->tmp_out_processed, bytes);
    state->tmp_out_processed += (int32_t)bytes;
    io->out += bytes;
    io->out_bytes -= bytes;
}

/* False: the stream is broken. */
static bool inflate_piece(struct inflate_state *state, struct ap_inflate_io *io, size_t in_bytes)
{
    state->next_in = (uint8_t *)(uintptr_t)io->in; /* only read from */
    state->avail_in = (uint32_t)in_bytes;
    state->next_out = io->out;
    state->avail_out = (uint32_t)io->out_bytes;
    int result = isal_inflate(state);
    /* Less than nothing where it gives back bytes that it had taken ahead in an earlier call. */
    ptrdiff_t taken = (ptrdiff_t)in_bytes - (ptrdiff_t)state->avail_in;
    io->in += taken;
    io->in_bytes = (size_t)((ptrdiff_t)io->in_bytes - taken);
    io->out = state->next_out;
    io->out_bytes = state->avail_out;
    return result >= 0;
}

static bool inflate_carefully(struct inflate_state *state, struct ap_inflate_io *io)
{
    do {
        if (!inflate_piece(state, io, io->in_bytes < CAREFUL_BYTES ? io->in_bytes : CAREFUL_BYTES))
            return false;
    } while (io->in_bytes > 0 && io->out_bytes > 0 && state->block_state != ISAL_BLOCK_FINISH);
    return true;
}

static bool begin_stream(struct ap_inflater *inflater, struct ap_inflate_io *io)
{
    struct ap_inflate_io begin = *io;
    ptrdiff_t most = BEGIN_BYTES - inflater->begun_bytes;
    if (most <= 0)
        return true;
    begin.in_bytes = io->in_bytes < (size_t)most ? io->in_bytes : (size_t)most;
    bool is_sound = inflate_carefully(&inflater->state, &begin);
    inflater->begun_bytes += begin.in - io->in;
    io->in_bytes = (size_t)((ptrdiff_t)io->in_bytes - (begin.in - io->in));
    io->in = begin.in;
    io->out = begin.out;
    io->out_bytes = begin.out_bytes;
    return is_sound;
}

/* A broken stream is gone through once more from the last sound step on, so that exactly what was encoded before the
 * broken place comes out, whatever the sizes of the steps. */
static bool inflate_some(struct ap_inflater *inflater, struct ap_inflate_io *io)
{
    if (!begin_stream(inflater, io))
        return false;
    if (inflater->state.block_state == ISAL_BLOCK_FINISH || !io->out_bytes)
        return true;
    if (!inflater->careful && io->in_bytes >= FAST_BYTES) {
        struct ap_inflate_io attempt = *io;
        *inflater->before = inflater->state;
        if (inflate_piece(&inflater->state, &attempt, attempt.in_bytes)) {
            *io = attempt;
            return true;
        }
        inflater->state = *inflater->before;
        inflater->careful = true;
    }
    return inflate_carefully(&inflater->state, io);
}

enum ap_inflate_result ap_inflater_step(struct ap_inflater *inflater, struct ap_inflate_io *io)
{
    struct inflate_state *state = &inflater->state;
    if (!inflater->corrupt)
        inflater->corrupt = !inflate_some(inflater, io);
    if (inflater->corrupt) {
        hand_out_rest(state, io);
        return state->tmp_out_processed < state->tmp_out_valid ? AP_INFLATE_MORE : AP_INFLATE_CORRUPT;
    }
    return state->block_state == ISAL_BLOCK_FINISH ? AP_INFLATE_DONE : AP_INFLATE_MORE;
}

size_t ap_inflater_unread(const struct ap_inflater *inflater, uint8_t to[AP_INFLATE_UNREAD_MAX])
{
    const struct inflate_state *state = &inflater->state;
    if (state->read_in_length <= 0)
        return 0;
    /* The stream ends within a byte: the rest of that byte is filling. */
    uint64_t bits = state->read_in >> (state->read_in_length % 8);
    size_t bytes = (size_t)state->read_in_length / 8;
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
    return bytes;
}

uint32_t ap_inflate_crc32(uint32_t crc, const uint8_t *data, size_t bytes)
{
    return crc32_gzip_refl(crc, data, bytes);
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *ap_inflate_name(void)
{
    return "ISA-L " TEXT(ISAL_MAJOR_VERSION) "." TEXT(ISAL_MINOR_VERSION) "." TEXT(ISAL_PATCH_VERSION);
}
