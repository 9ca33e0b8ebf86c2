/* SPDX-License-Identifier: MIT */
#include "join_place.h"

#include <string.h>

#include "sort.h"

#include "poison.h"

#define MODULE_PATH_BYTES 400
#define LOOK_BACK 1000 /* rows that are not the host's, on a thread that has both */

/* ------------------------------------------------------------------------------------------------------- the open row */

static size_t first_after(const struct ap_part_context *context, uint32_t track, int64_t time_ns)
{
    const struct ap_row_order *order = &context->facts->order;
    size_t low = order->track_start[track];
    AP_BISECT(low, order->track_start[track + 1], at, context->trace->events.start_ns[order->rows[at]] <= time_ns);
    return low;
}

/* The innermost host row of the thread that was open; one that ends at the very time counts. */
static uint32_t open_row(const struct ap_part_context *context, uint32_t track, int64_t time_ns)
{
    const struct ap_trace *trace = context->trace;
    size_t at = first_after(context, track, time_ns), first = context->facts->order.track_start[track];
    for (int i = 0; i < LOOK_BACK && at > first; i++, at--)
        if (ap_row_is_of(trace, context->facts->order.rows[at - 1], AP_HOST_KINDS))
            break;
    if (at == first)
        return AP_NO_ROW;
    uint32_t row = context->facts->order.rows[at - 1];
    if (!ap_row_is_of(trace, row, AP_HOST_KINDS))
        return AP_NO_ROW;
    for (int i = 0; i < AP_NESTING_MAX && row != AP_NO_ROW; i++) {
        if (ap_row_end_ns(trace, row) >= time_ns)
            return row;
        row = ap_host_parent(&context->facts->tree, row);
    }
    return AP_NO_ROW;
}

static uint32_t operator_of(const struct ap_part_context *context, uint32_t row)
{
    if (row == AP_NO_ROW || ap_row_is_of(context->trace, row, 1u << AP_KIND_operator))
        return row;
    return ap_host_around(&context->facts->tree, context->trace, row, 1u << AP_KIND_operator);
}

static int rank_of(const struct ap_part_context *context, uint32_t track, uint32_t row)
{
    bool works = operator_of(context, row) != AP_NO_ROW;
    bool backward = ap_row_set_has(&context->facts->phases.backward_tracks, track);
    if (works && backward && ap_phase_of_row(&context->facts->phases, row) == AP_PHASE_backward)
        return 4;
    if (track == context->facts->main_track)
        return works ? 3 : 2;
    return works ? 1 : 0;
}

static uint32_t find_row(const struct ap_part_context *context, int64_t time_ns)
{
    uint32_t best = AP_NO_ROW;
    int best_rank = -1;
    for (uint32_t track = 0; track < context->facts->order.track_count; track++) {
        uint32_t row = open_row(context, track, time_ns);
        if (row == AP_NO_ROW)
            continue;
        int rank = rank_of(context, track, row);
        if (rank > best_rank) {
            best = row;
            best_rank = rank;
        }
    }
    return best;
}

/* -------------------------------------------------------------------------------------------- from backward to forward */

static ap_link_key sequence_of(const struct ap_part_context *context, uint32_t row)
{
    for (int i = 0; i < AP_NESTING_MAX && row != AP_NO_ROW; i++, row = ap_host_parent(&context->facts->tree, row)) {
        const struct ap_op_detail *op =
            ap_row_is_of(context->trace, row, 1u << AP_KIND_operator) ? ap_row_op(context->trace, row) : NULL;
        if (op && op->sequence && ap_op_forward_thread(context->trace, op))
            return op->sequence;
    }
    return 0;
}

/* Wrappers and views share the number: the row that starts last made the node. */
static void find_forward(const struct ap_part_context *context, struct ap_join_place *places, size_t count)
{
    const struct ap_trace *trace = context->trace;
    for (size_t i = 0; i < context->facts->order.count; i++) {
        uint32_t row = context->facts->order.rows[i];
        const struct ap_op_detail *op = ap_row_is_of(trace, row, 1u << AP_KIND_operator) ? ap_row_op(trace, row) : NULL;
        if (!op || !op->sequence || ap_op_forward_thread(trace, op))
            continue;
        for (size_t j = 0; j < count; j++) {
            struct ap_join_place *place = &places[j];
            int64_t start_ns = trace->events.start_ns[row];
            if (place->sequence == op->sequence && start_ns < place->time_ns &&
                (place->forward == AP_NO_ROW || start_ns > trace->events.start_ns[place->forward]))
                place->forward = row;
        }
    }
}

void ap_join_places_find(const struct ap_part_context *context, struct ap_join_place *places, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        places[i].row = find_row(context, places[i].time_ns);
        places[i].forward = AP_NO_ROW;
        places[i].sequence = sequence_of(context, places[i].row);
        any = any || places[i].sequence;
    }
    if (any)
        find_forward(context, places, count);
}

/* ------------------------------------------------------------------------------------------------------------ in words */

static bool is_module(const struct ap_part_context *context, struct ap_user_frames *frames, uint32_t row)
{
    if (ap_row_is_of(context->trace, row, 1u << AP_KIND_python))
        return ap_is_module_frame(frames, context->trace->events.name[row]);
    return ap_row_is_of(context->trace, row, 1u << AP_KIND_annotation) &&
           ap_text_starts_with(ap_row_name(context->trace, row), "[pl][module]");
}

/* Classes, outermost first; where they do not fit, only the inner ones. */
static struct ap_text module_path(const struct ap_part_context *context, struct ap_user_frames *frames, uint32_t row,
                                  char *buffer)
{
    size_t from = MODULE_PATH_BYTES;
    for (int i = 0; i < AP_NESTING_MAX && row != AP_NO_ROW; i++, row = ap_host_parent(&context->facts->tree, row)) {
        if (!is_module(context, frames, row))
            continue;
        struct ap_text name = ap_module_class(ap_row_name(context->trace, row));
        size_t needed = name.bytes + (from < MODULE_PATH_BYTES);
        if (!name.bytes || needed > from)
            break;
        if (from < MODULE_PATH_BYTES)
            buffer[--from] = '/';
        from -= name.bytes;
        memcpy(buffer + from, name.data, name.bytes);
    }
    return (struct ap_text){ buffer + from, MODULE_PATH_BYTES - from };
}

/* Any row, or none, to the line of the user's that stands behind it. */
static uint32_t user_line_of(const struct ap_part_context *context, struct ap_user_frames *frames, uint32_t row)
{
    const struct ap_trace *trace = context->trace;
    while (row != AP_NO_ROW &&
           !(ap_row_is_of(trace, row, 1u << AP_KIND_python) && ap_is_user_frame(frames, trace->events.name[row])))
        row = ap_host_around(&context->facts->tree, trace, row, 1u << AP_KIND_python);
    return row;
}

static void add_row_name(const struct ap_part_context *context, uint32_t row, const char *key, struct ap_model *model,
                         struct ap_value *to)
{
    if (row == AP_NO_ROW)
        ap_add_null(model, to, key);
    else
        ap_add_text(model, to, key, ap_row_name(context->trace, row));
}

static void add_module(const struct ap_part_context *context, struct ap_user_frames *frames,
                       const struct ap_join_place *place, struct ap_model *model, struct ap_value *to)
{
    char buffer[MODULE_PATH_BYTES];
    struct ap_text path = module_path(context, frames, place->row, buffer);
    if (!path.bytes)
        path = module_path(context, frames, place->forward, buffer);
    ap_add_known_text(model, to, "module", path.bytes, path);
}

void ap_add_no_join_place(struct ap_model *model, struct ap_value *to)
{
    static const char *const keys[] = { "step",      "phase",    "module", "operator", "forward_operator",
                                        "user_line", "start_us", "dur_us", "pid",      "tid" };
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        ap_add_null(model, to, keys[i]);
}

void ap_add_join_place(const struct ap_part_context *context, struct ap_user_frames *frames,
                       const struct ap_join_place *place, struct ap_model *model, struct ap_value *to)
{
    static const char *const keys[] = { "start_us", "dur_us", "pid", "tid" };
    size_t step = ap_step_at(&context->facts->steps, place->time_ns);
    ap_add_known_count(model, to, "step", step < context->facts->steps.count, (int64_t)step);
    if (place->row == AP_NO_ROW)
        ap_add_null(model, to, "phase");
    else
        ap_add_string(model, to, "phase", ap_phase_name(ap_phase_of_row(&context->facts->phases, place->row)));
    add_module(context, frames, place, model, to);
    uint32_t op = operator_of(context, place->row), line = user_line_of(context, frames, place->row);
    add_row_name(context, op, "operator", model, to);
    add_row_name(context, place->forward, "forward_operator", model, to);
    line = line != AP_NO_ROW ? line : user_line_of(context, frames, place->forward);
    add_row_name(context, line, "user_line", model, to);
    if (place->row != AP_NO_ROW) {
        ap_add_place(context->trace, op != AP_NO_ROW ? op : place->row, model, to);
        return;
    }
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        ap_add_null(model, to, keys[i]);
}
