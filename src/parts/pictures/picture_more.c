/* SPDX-License-Identifier: MIT
 * picture_more.c - the longest rows of stretches of time, by a sieve: two looks at their rows, whatever their number. */
#include "id_map.h"
#include "picture_rows.h"
#include "sort.h"

#include "poison.h"

#define MOST_OF_VIEW 3000u
#define MOST_OF_ALL 1500u
#define MOST_OF_PLACE 150u
#define MOST_PLACES 10u
_Static_assert(MOST_OF_VIEW + MOST_OF_ALL + MOST_PLACES * MOST_OF_PLACE <= AP_MOST_MORE_ROWS, "room for all");
#define CLASSES (64 * 4) /* of lengths: each power of two in four parts */

struct more {
    const struct ap_part_context *context;
    uint32_t *list;
    size_t count;
    struct ap_id_map taken; /* rows + 1 */
};

struct sieve {
    int64_t start_ns, end_ns; /* rows that begin within */
    uint32_t counts[CLASSES];
    int least;          /* longer ones are all taken; of this class one of @every */
    uint32_t every, at; /* 0 = none */
};

static int class_of(int64_t dur_ns)
{
    uint64_t value = dur_ns > 0 ? (uint64_t)dur_ns : 0;
    int bits = 0;
    for (uint64_t rest = value; rest >>= 1;)
        bits++;
    return bits * 4 + (int)(bits < 2 ? value & 3 : value >> (bits - 2) & 3);
}

/* Of the rows from..to of one track the first that begins at @ns or later. */
static size_t first_from(const struct more *more, size_t from, size_t to, int64_t ns)
{
    const struct ap_row_order *order = &more->context->facts->order;
    const int64_t *start_ns = more->context->trace->events.start_ns;
    AP_BISECT(from, to, at, start_ns[order->rows[at]] < ns);
    return from;
}

static void take(struct more *more, struct sieve *sieve, uint32_t row, int length)
{
    if (length < sieve->least || (length == sieve->least && (!sieve->every || sieve->at++ % sieve->every)))
        return;
    uint32_t *known = more->count < AP_MOST_MORE_ROWS ? ap_id_map_add(&more->taken, row + 1) : NULL;
    if (!known || *known != AP_ID_NONE)
        return;
    *known = 0;
    more->list[more->count++] = row;
}

/* Counts the rows of the stretch, or takes of them what passes. */
static void look(struct more *more, struct sieve *sieve, bool takes)
{
    const struct ap_trace *trace = more->context->trace;
    const struct ap_row_order *order = &more->context->facts->order;
    for (size_t track = 0; track < order->track_count; track++) {
        size_t end = order->track_start[track + 1];
        for (size_t i = first_from(more, order->track_start[track], end, sieve->start_ns); i < end; i++) {
            uint32_t row = order->rows[i];
            if (trace->events.start_ns[row] >= sieve->end_ns)
                break;
            if (!ap_row_is_of(trace, row, AP_HOST_KINDS | AP_GPU_KINDS))
                continue;
            int length = class_of(trace->events.dur_ns[row]);
            if (takes)
                take(more, sieve, row, length);
            else
                sieve->counts[length]++;
        }
    }
}

/* As many of the longest as there is room for; of those on the edge some from everywhere. */
static void add_stretch(struct more *more, int64_t start_ns, int64_t end_ns, uint32_t most)
{
    struct sieve sieve = { .start_ns = start_ns, .end_ns = end_ns };
    uint32_t taken = 0;
    look(more, &sieve, false);
    for (sieve.least = CLASSES - 1; sieve.least > 0 && taken + sieve.counts[sieve.least] <= most; sieve.least--)
        taken += sieve.counts[sieve.least];
    uint32_t on_edge = sieve.counts[sieve.least], room = most - taken;
    sieve.every = room ? on_edge / room + (on_edge % room != 0) : 0;
    sieve.every = room && !sieve.every ? 1 : sieve.every;
    look(more, &sieve, true);
}

/* With half as much before and behind. */
static void add_places(struct more *more, const struct ap_model *model)
{
    const struct ap_trace *trace = more->context->trace;
    const struct ap_value *finding = ap_value_first(ap_value_member(&model->root, "findings"));
    for (uint32_t places = 0; finding && places < MOST_PLACES; finding = finding->next) {
        const struct ap_value *place = ap_picture_place(finding);
        int64_t start_ns = ap_value_integer(ap_value_member(place, "start_us"), 0);
        int64_t dur_ns = ap_value_integer(ap_value_member(place, "dur_us"), 0);
        if (!place || start_ns < trace->window_start_ns || start_ns > trace->window_end_ns ||
            dur_ns > trace->window_end_ns - start_ns)
            continue;
        places++;
        int64_t end_ns = start_ns + dur_ns, before_ns = start_ns - trace->window_start_ns,
                behind_ns = trace->window_end_ns - end_ns, pad_ns = dur_ns / 2;
        add_stretch(more, start_ns - (pad_ns < before_ns ? pad_ns : before_ns),
                    end_ns + (pad_ns < behind_ns ? pad_ns : behind_ns), MOST_OF_PLACE);
    }
}

enum ap_status ap_picture_more_rows(const struct ap_part_context *context, const struct ap_model *model,
                                    const struct ap_picture_view *view, uint32_t **ret_list, size_t *ret_count,
                                    struct ap_error *reterr)
{
    struct more more = { .context = context };
    *ret_list = NULL;
    *ret_count = 0;
    AP_TRY(AP_ALLOC(context->gate, more.list, AP_MOST_MORE_ROWS, reterr));
    enum ap_status status = ap_id_map_init(&more.taken, context->gate, AP_MOST_MORE_ROWS, reterr);
    if (status == AP_OK) {
        add_places(&more, model);
        add_stretch(&more, view->start_ns, view->end_ns, MOST_OF_VIEW);
        add_stretch(&more, context->trace->window_start_ns, INT64_MAX, MOST_OF_ALL);
        *ret_list = more.list;
        *ret_count = more.count;
        ap_id_map_release(&more.taken);
    } else
        AP_FREE(context->gate, more.list, AP_MOST_MORE_ROWS);
    return status;
}
