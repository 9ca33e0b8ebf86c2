/* SPDX-License-Identifier: MIT
 * What was in use at the peak of the largest device and need not have been. */
#include "avoidable.h"
#include "peak_part.h"

#include "poison.h"

static enum ap_status put_kind(struct ap_peak_part *own, struct ap_value *to, const struct ap_avoidable *kind, bool known,
                               struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    ap_put_count(pass, to, "count", known, kind->count);
    ap_put_bytes(pass, to, "held_bytes", known, kind->held_bytes);
    ap_put_bytes(pass, to, "saved_bytes", known, kind->saved_bytes);
    ap_add_quotient(pass->model, to, "saved_ratio", (double)kind->saved_bytes, known ? (double)own->largest.total_bytes : 0);
    struct ap_value *list = ap_add_list(pass->model, to, "by_stack");
    for (uint32_t i = 0; i < kind->stack_count; i++) {
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        AP_TRY(ap_memory_put_frame(pass, row, "frame", kind->stacks[i].stack, reterr));
        ap_add_bytes(pass->model, row, "requested_bytes", kind->stacks[i].bytes);
        ap_add_count(pass->model, row, "allocations", kind->stacks[i].count);
    }
    list = ap_add_list(pass->model, to, "lines");
    for (uint32_t i = 0; i < kind->line_count; i++) {
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        struct ap_text text;
        AP_TRY(ap_memory_frame_text(pass->snapshot, &pass->scratch, kind->lines[i].frame, &text, reterr));
        ap_add_text(pass->model, row, "frame", text);
        ap_add_bytes(pass->model, row, "requested_bytes", kind->lines[i].bytes);
        ap_add_count(pass->model, row, "allocations", kind->lines[i].count);
    }
    return AP_OK;
}

enum ap_status ap_own_put_avoidable(struct ap_peak_part *own, struct ap_error *reterr)
{
    static const char *const keys[] = {
        [AP_AVOIDABLE_OLD_GRADIENTS] = "old_gradients",
        [AP_AVOIDABLE_PREVIOUS_OUTPUTS] = "previous_outputs",
        [AP_AVOIDABLE_BATCHES_AHEAD] = "batches_ahead",
        [AP_AVOIDABLE_UNUSED_GRAPHS] = "unused_graphs",
        [AP_AVOIDABLE_FAILED_STEP] = "failed_step",
        [AP_AVOIDABLE_REGROWN] = "regrown",
        [AP_AVOIDABLE_OLD_STATE] = "old_state",
        [AP_AVOIDABLE_ACTIVATIONS] = "activations",
        [AP_AVOIDABLE_UNCHECKED] = "unchecked",
        [AP_AVOIDABLE_LOGITS] = "logits",
        [AP_AVOIDABLE_SCORES] = "scores",
        [AP_AVOIDABLE_LARGE] = "large_tensors",
        [AP_AVOIDABLE_STEP_TEMPORARIES] = "step_temporaries",
    };
    struct ap_value *to = ap_add_object(own->pass->model, own->memory, "avoidable");
    struct ap_avoidable kinds[AP_AVOIDABLE_KIND_COUNT_] = { { .held_bytes = 0 } };
    bool known = own->has_largest && own->largest.at_peak;
    if (known)
        AP_TRY(ap_avoidable_find(own->owners, &own->largest, kinds, reterr));
    for (size_t i = 0; i < AP_AVOIDABLE_KIND_COUNT_; i++) {
        struct ap_value *row = ap_add_object(own->pass->model, to, keys[i]);
        AP_TRY(put_kind(own, row, &kinds[i], known, reterr));
        if (i == AP_AVOIDABLE_ACTIVATIONS)
            ap_put_count(own->pass, row, "calls", known && kinds[i].call_count, kinds[i].call_count);
    }
    return AP_OK;
}
