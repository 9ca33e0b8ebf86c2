/* SPDX-License-Identifier: MIT
 * Which gradients are cleared between steps, where an optimizer does not tell what it works on: of a list of many tensors
 * (more than 30, in PyTorch 2) no sizes are recorded. A gradient that is cleared is taken over from the backward pass as it
 * is; one that nothing clears is added to what is there. */
#include "habit_items.h"

#include "poison.h"

/* An optimizer's operator on lists of tensors, of which the first one is not told. */
static bool is_untold(const struct ap_habit_rows *rows, uint32_t row)
{
    struct ap_text name = ap_row_name(rows->trace, row), dims = ap_habit_dims_of(rows, row);
    return (ap_text_starts_with(name, "aten::_fused_") || ap_text_starts_with(name, "aten::_foreach_")) &&
           ap_text_starts_with(dims, "[[]");
}

/* Is any list told, of which the first tensor is not? */
static bool has_untold(const struct ap_trace *trace)
{
    for (uint32_t id = 1; id <= ap_strpool_count(&trace->signatures); id++) {
        struct ap_text dims, types;
        ap_trace_signature(trace, (struct ap_str){ id }, &dims, &types);
        if (ap_text_starts_with(dims, "[[]"))
            return true;
    }
    return false;
}

/* Is there any operator of that kind? */
static bool has_lists(const struct ap_trace *trace)
{
    for (uint32_t name = 1; name < ap_trace_id_count(trace); name++) {
        struct ap_text text = ap_trace_text(trace, name);
        if (ap_text_starts_with(text, "aten::_fused_") || ap_text_starts_with(text, "aten::_foreach_"))
            return true;
    }
    return false;
}

/* Of a thread: until when an optimizer's step, or the clearing of its gradients, lasts. */
struct reading {
    int64_t update_end_ns, clear_end_ns;
    bool has_untold, fills; /* some list is not told; gradients are filled with zeros, and added to then */
};

static void look_at(struct ap_habit_rows *rows, struct reading *reading, uint32_t row)
{
    int64_t start_ns = rows->trace->events.start_ns[row], end_ns = ap_row_end_ns(rows->trace, row);
    uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
    if (AP_HAS(words, OPTIMIZER) && end_ns > reading->update_end_ns)
        reading->update_end_ns = end_ns;
    if (AP_HAS(words, CLEARS) && end_ns > reading->clear_end_ns)
        reading->clear_end_ns = end_ns;
    if (start_ns < reading->clear_end_ns && ap_habit_is_operator(rows, row))
        reading->fills |= AP_HAS(words, FILLS) || ap_text_starts_with(ap_row_name(rows->trace, row), "aten::_foreach_zero");
    if (start_ns < reading->update_end_ns && ap_habit_is_operator(rows, row))
        reading->has_untold |= is_untold(rows, row);
}

/* Adds the sizes of gradients that are taken over. */
static enum ap_status note_taken(struct ap_habit_rows *rows, size_t track, uint32_t *taken, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    int64_t end_ns = INT64_MIN;
    uint32_t gradient = AP_NO_ROW; /* that is taken over, as far as it was read */
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        uint64_t words = ap_habit_is_operator(rows, row) ? ap_habit_words_of(rows, row) : 0;
        bool is_within = rows->trace->events.start_ns[row] < end_ns;
        if (is_within && AP_HAS(words, ADDS))
            gradient = AP_NO_ROW;
        if (!is_within && gradient != AP_NO_ROW) {
            AP_TRY(ap_habit_note_sizes(rows, gradient, reterr));
            ++*taken;
            gradient = AP_NO_ROW;
        }
        if (AP_HAS(words, ACCUMULATE)) {
            gradient = row;
            end_ns = ap_row_end_ns(rows->trace, row);
        }
    }
    return gradient == AP_NO_ROW ? AP_OK : ap_habit_note_sizes(rows, gradient, reterr);
}

enum ap_status ap_habit_read_taken(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    struct reading all = { .fills = false };
    uint32_t taken = 0;
    if (!has_lists(rows->trace) || !has_untold(rows->trace))
        return AP_OK;
    for (size_t track = 0; track < order->track_count; track++) {
        all.update_end_ns = all.clear_end_ns = INT64_MIN;
        if (!ap_track_may_hold(order, track, AP_HOST_KINDS))
            continue;
        for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++)
            look_at(rows, &all, order->rows[at]);
    }
    for (size_t track = 0; all.has_untold && !all.fills && track < order->track_count; track++)
        AP_TRY(note_taken(rows, track, &taken, reterr));
    if (all.has_untold && !taken) { /* nothing is known */
        struct ap_gate *gate = rows->updated.gate;
        ap_pair_map_release(&rows->updated);
        rows->updated = (struct ap_pair_map){ .gate = gate };
    }
    return AP_OK;
}
