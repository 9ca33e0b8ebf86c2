/* SPDX-License-Identifier: MIT
 * part_pictures.c - steps, and where the time goes over the run. */
#include <stdio.h>

#include "pictures.h"

#include "poison.h"

#define MOST_STEPS 400

static void add_steps(struct ap_part_context *context, struct ap_model *model, struct ap_value *pictures)
{
    struct ap_value *list = ap_add_list(model, pictures, "steps");
    for (size_t i = 0; i < context->facts->steps.count && i < MOST_STEPS; i++) {
        const struct ap_step *step = &context->facts->steps.steps[i];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", ap_row_name(context->trace, step->row));
        ap_add_time(model, row, "start_us", step->start_ns);
        ap_add_time(model, row, "dur_us", ap_step_dur_ns(&context->facts->steps, context->trace, i));
        ap_add_bool(model, row, "cold", step->cold);
        ap_add_bool(model, row, "cut", step->cut);
    }
}

static const char *const class_names[AP_SPLIT_CLASS_COUNT_] = { "compute", "memset", "exposed_communication",
                                                                "exposed_memcpy" };

/* Columns once, then a list of times for each bin: 400 bins of 17 keys would be mostly keys. */
static void add_bins(struct ap_part_context *context, struct ap_model *model, struct ap_value *pictures)
{
    const struct ap_time_bins *bins = context->facts->bins;
    if (!bins->width_ns) {
        ap_add_null(model, pictures, "utilization");
        return;
    }
    struct ap_value *to = ap_add_object(model, pictures, "utilization");
    ap_add_time(model, to, "start_us", bins->start_ns);
    ap_add_time(model, to, "bin_us", bins->width_ns);
    struct ap_value *columns = ap_add_list(model, to, "columns");
    for (int i = 0; i < AP_SPLIT_CLASS_COUNT_; i++)
        ap_add_string(model, columns, NULL, class_names[i]);
    for (int i = 0; i < AP_IDLE_CAUSE_COUNT_; i++)
        ap_add_string(model, columns, NULL, ap_idle_cause_name((enum ap_idle_cause)i));
    struct ap_value *list = ap_add_list(model, to, "bins");
    for (uint32_t bin = 0; bin < bins->count; bin++) {
        struct ap_value *row = ap_add_list(model, list, NULL);
        for (int i = 0; i < AP_SPLIT_CLASS_COUNT_; i++)
            ap_add_time(model, row, NULL, bins->class_ns[bin][i]);
        for (int i = 0; i < AP_IDLE_CAUSE_COUNT_; i++)
            ap_add_time(model, row, NULL, bins->cause_ns[bin][i]);
    }
}

enum ap_status ap_part_pictures(struct ap_part_context *context, struct ap_model *model, struct ap_value *parent,
                                struct ap_error *reterr)
{
    struct ap_value *pictures = ap_add_object(model, parent, "pictures");
    add_steps(context, model, pictures);
    add_bins(context, model, pictures);
    AP_TRY(ap_add_timeline(context, model, pictures, reterr));
    return ap_add_host_flame(context, model, pictures, reterr);
}
