/* SPDX-License-Identifier: MIT
 * part_habits.c - habits: what the program does in its loop though another way of writing would save it. */
#include <stdio.h>

#include "habits.h"
#include "host_part.h"
#include "shape_text.h"

#include "poison.h"

static const char *const ids[] = {
#define AP_HABIT(id, sentence) #id,
#include "habits.def"
#undef AP_HABIT
};

/* Where a device works for it, that is what it costs. */
static void add_cost(struct ap_part_context *context, size_t id, const struct ap_habit *habit, struct ap_model *model,
                     struct ap_value *row)
{
    const struct ap_facts *facts = context->facts;
    bool has_work = habit->has_device && habit->has_time;
    bool is_known = id != AP_HABIT_optimizer_step || !facts->links.count; /* the GPU may need longer than the host */
    bool has_host_only = !facts->links.count && !ap_trace_has_kind(context->trace, AP_KIND_accelerator) &&
                         !ap_trace_has_kind(context->trace, AP_KIND_runtime);
    double whole_ns = has_host_only ? (double)facts->window_ns : has_work ? (double)facts->links.total_dur_ns : 0;
    if (!habit->count)
        whole_ns = 1; /* what is not there costs nothing, whatever was recorded */
    ap_add_known_time(model, row, "work_us", has_work, habit->work_ns);
    ap_add_quotient(model, row, "cost_ratio", (double)(has_host_only ? habit->total_ns : habit->work_ns),
                    whole_ns > 0 ? whole_ns : 0);
    ap_add_known_time(model, row, "gain_us", is_known, habit->work_ns > 0 ? habit->work_saves_ns : habit->saves_ns);
}

static void add_habit(struct ap_part_context *context, const struct ap_habits *habits, size_t id, struct ap_model *model,
                      struct ap_value *parent)
{
    const struct ap_habit *habit = &habits->of[id];
    struct ap_text dims = { "", 0 }, types = { "", 0 };
    struct ap_value *row = ap_add_object(model, parent, ids[id]);
    ap_add_count(model, row, "count", (int64_t)habit->count);
    ap_add_number_per(model, row, "per_step", (double)habit->step_count, (double)habits->per_step.count);
    ap_add_time(model, row, "total_us", habit->total_ns);
    bool has_devices = context->facts->links.count > 0;
    bool is_known = has_devices && (habit->has_device || !habit->count);
    ap_add_known_time(model, row, "saves_us", !has_devices, habit->saves_ns);
    ap_add_known_time(model, row, "device_us", is_known, habit->device_ns);
    ap_add_known_time(model, row, "device_saves_us", is_known, habit->device_saves_ns);
    ap_add_quotient(model, row, "window_share_ratio", (double)habit->total_ns,
                    context->facts->window_ns > 0 ? (double)context->facts->window_ns : 0);
    add_cost(context, id, habit, model, row);
    ap_add_name(context->trace, model, row, "line", habit->line);
    ap_add_names(context->trace, model, row, "operators", habit->names, AP_HABIT_NAMES);
    if (habit->signature)
        ap_trace_signature(context->trace, (struct ap_str){ habit->signature }, &dims, &types);
    ap_add_shape_text(model, row, "shapes", dims);
    if (habit->row == AP_NO_ROW)
        ap_add_null(model, row, "longest");
    else
        ap_add_place(context->trace, habit->row, model, ap_add_object(model, row, "longest"));
}

static void keep_time(struct ap_habit *habit, size_t id, struct ap_model *model)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "habits.%s", ids[id]);
    if (habit->has_time)
        ap_model_keep_time(model, path, &habit->time);
}

enum ap_status ap_part_habits(struct ap_part_context *context, struct ap_habits *habits, const struct ap_host_work *work,
                              struct ap_model *model, struct ap_value *root, struct ap_error *reterr)
{
    AP_TRY(ap_habits_finish(habits, context->facts, work, reterr));
    struct ap_value *object = ap_add_object(model, root, "habits");
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++)
        add_habit(context, habits, i, model, object);
    for (size_t i = 0; i < AP_HABIT_COUNT_; i++)
        keep_time(&habits->of[i], i, model);
    ap_note_overflow(context, habits->overflowed);
    return AP_OK;
}
