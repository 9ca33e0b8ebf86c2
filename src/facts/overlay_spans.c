/* SPDX-License-Identifier: MIT
 * overlay_spans.c - the steps, gaps of the GPU with their causes, and the critical path as spans to be drawn. */
#include "overlay_spans.h"

#include <stdio.h>

#include "decimal.h"

#include "poison.h"

#define SHORTEST_GAP_NS INT64_C(100000)
#define LAST_PID INT64_C(4000000000) /* viewers keep ids in 32 bits */

static void learn_trace(struct ap_overlay *overlay, const struct ap_trace *trace)
{
    int64_t pid = (int64_t)overlay->pid;
    for (size_t i = 0; i < trace->track_count; i++) {
        struct ap_text text = ap_trace_id_text(trace, trace->tracks[i].pid);
        int64_t taken;
        if (ap_decimal_to_integer(text.data, text.bytes, &taken) && taken >= pid && taken < LAST_PID)
            pid = taken + 1;
    }
    overlay->pid = (uint64_t)pid;
    if (trace->has_window) {
        overlay->start_ns = trace->window_start_ns;
        overlay->end_ns = trace->window_end_ns;
    }
}

static struct ap_text name_of(const struct ap_trace *trace, uint32_t row)
{
    return row == AP_NO_ROW ? AP_TEXT("nothing recorded") : ap_row_name(trace, row);
}

static enum ap_status add_gap(struct ap_overlay *overlay, const struct ap_trace *trace, const struct ap_gap_detail *gap,
                              struct ap_error *reterr)
{
    enum ap_idle_cause cause = ap_split_top_cause(gap->cause_ns);
    struct ap_overlay_word words[] = { { "cause", ap_text_of(ap_idle_cause_meaning(cause)) },
                                       { "host", name_of(trace, gap->host_row[cause]) } };
    return ap_overlay_add(overlay, AP_OVERLAY_idle_causes, gap->start_ns, gap->end_ns - gap->start_ns,
                          ap_text_of(ap_idle_cause_name(cause)), words, AP_COUNT_OF(words), -1, reterr);
}

static enum ap_status add_idle(struct ap_overlay *overlay, const struct ap_trace *trace, const struct ap_split *split,
                               struct ap_error *reterr)
{
    for (size_t i = 0; split->has_gpu && i < split->detail_count; i++)
        if (split->details[i].end_ns - split->details[i].start_ns > SHORTEST_GAP_NS)
            AP_TRY(add_gap(overlay, trace, &split->details[i], reterr));
    return AP_OK;
}

struct path_visit {
    struct ap_overlay *overlay;
    const struct ap_trace *trace;
    enum ap_status status;
    struct ap_error *reterr;
};

static void add_segment(void *self, const struct ap_path_segment *segment)
{
    struct path_visit *visit = self;
    struct ap_overlay_word word = { "class", ap_text_of(ap_path_class_name(segment->path_class)) };
    if (visit->status == AP_OK)
        visit->status =
            ap_overlay_add(visit->overlay, AP_OVERLAY_critical_path, segment->start_ns, segment->end_ns - segment->start_ns,
                           name_of(visit->trace, segment->row), &word, 1, -1, visit->reterr);
}

static enum ap_status add_path(struct ap_overlay *overlay, const struct ap_path_index *index,
                               const struct ap_row_order *order, const struct ap_critical_path *path,
                               struct ap_error *reterr)
{
    struct path_visit visit = { .overlay = overlay, .trace = index->trace, .status = AP_OK, .reterr = reterr };
    if (!path->pieces.count)
        return AP_OK;
    AP_TRY(ap_critical_path_visit(path, index, order, add_segment, &visit, reterr));
    return visit.status;
}

static struct ap_text state_of(const struct ap_step *step)
{
    if (step->cut)
        return AP_TEXT("cut off by the recording");
    return step->cold ? AP_TEXT("cold") : AP_TEXT("steady");
}

static enum ap_status add_steps(struct ap_overlay *overlay, const struct ap_trace *trace, const struct ap_steps *steps,
                                struct ap_error *reterr)
{
    for (size_t i = 0; i < steps->count; i++) {
        const struct ap_step *step = &steps->steps[i];
        struct ap_text name = ap_row_name(trace, step->row);
        struct ap_overlay_word words[] = { { "state", state_of(step) }, { "marked_by", ap_text_of(steps->source) } };
        AP_TRY(ap_overlay_add(overlay, AP_OVERLAY_steps, step->start_ns, step->end_ns - step->start_ns, name, words,
                              AP_COUNT_OF(words), -1, reterr));
    }
    return AP_OK;
}

enum ap_status ap_overlay_add_facts(struct ap_overlay *overlay, const struct ap_facts *facts, struct ap_error *reterr)
{
    learn_trace(overlay, facts->trace);
    AP_TRY(add_steps(overlay, facts->trace, &facts->steps, reterr));
    AP_TRY(add_idle(overlay, facts->trace, &facts->split, reterr));
    return add_path(overlay, &facts->path_index, &facts->order, &facts->path, reterr);
}
