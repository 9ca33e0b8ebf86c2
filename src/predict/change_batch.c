/* SPDX-License-Identifier: MIT
 * change_batch.c - a batch that is so many times as large. How much of a step grows with the batch is told by runs with
 * several sizes, as a fixed time and one for each sample; where in the step it grows is not. So the work of devices grows by
 * the one factor with which the replay takes as long as that line says, and batches that the loop makes itself take so many
 * times as long. Without a device all work of the host grows. */
#include "change_apply.h"
#include "sort.h"

#include "poison.h"

#define TRIES 16      /* halvings: finer than the line is */
#define NEAR_PARTS 20 /* 5 %: nearer than this no line is */

struct batch {
    struct ap_applying *applying;
    int64_t factor; /* of the batch, in thousandths */
    bool of_devices;
};

static int64_t scaled_ns(int64_t ns, int64_t thousandths)
{
    __extension__ __int128 product = (__int128)ns * thousandths / 1000;
    return product < INT64_MAX ? (int64_t)product : INT64_MAX;
}

static bool grows(const struct batch *batch, uint32_t task)
{
    const struct ap_applying *applying = batch->applying;
    const struct ap_task *tasks = applying->graph->tasks;
    if (!batch->of_devices)
        return !tasks[task].is_device;
    return tasks[task].is_device &&
           !ap_kernel_is_communication(&applying->facts->families, applying->facts->trace, tasks[task].row);
}

/* Batches that the loop makes, and what else grows by @factor, in thousandths; a number of tasks. */
static uint64_t grow(const struct batch *batch, struct ap_replay_edit *edit, int64_t factor)
{
    const struct ap_replay_graph *graph = batch->applying->graph;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        int64_t made_ns = graph->tasks[i].is_device ? 0 : ap_selection_work_ns(batch->applying->selection, graph, i);
        bool overflowed = false;
        if (grows(batch, i)) {
            edit->work_ns[i] = scaled_ns(edit->work_ns[i], factor);
            rows++;
        } else if (made_ns > 0) {
            edit->work_ns[i] = ap_add_sat(edit->work_ns[i], scaled_ns(made_ns, batch->factor) - made_ns, &overflowed);
        }
    }
    return rows;
}

static enum ap_status time_with(const struct batch *batch, int64_t factor, int64_t *ret_ns, struct ap_error *reterr)
{
    const struct ap_replay_graph *graph = batch->applying->graph;
    struct ap_replay_edit edit;
    struct ap_replay_times times;
    enum ap_status status = ap_replay_edit_init(&edit, graph, reterr);
    if (status == AP_OK) {
        (void)grow(batch, &edit, factor);
        status = ap_replay_run(graph, &edit, &times, reterr);
        if (status == AP_OK)
            *ret_ns = ap_change_steps_ns(&times);
        ap_replay_times_release(&times);
    }
    ap_replay_edit_release(&edit);
    return status;
}

/* The largest factor with which the steps take no more than the line says: between none and that of the batch, and more only
 * where the line says clearly more. Where other things limit the steps, many factors fit. */
static enum ap_status find_factor(const struct batch *batch, int64_t wanted_ns, int64_t *ret_factor, struct ap_error *reterr)
{
    bool larger = batch->factor > 1000;
    int64_t low = larger ? 1000 : batch->factor, high = larger ? batch->factor : 1000, ns;
    AP_TRY(time_with(batch, high, &ns, reterr));
    if (ns <= wanted_ns) {
        low = high;
        high = larger && wanted_ns - ns > wanted_ns / NEAR_PARTS ? batch->factor * 4 : low;
    }
    for (int i = 0; i < TRIES && low < high; i++) {
        int64_t middle = low + (high - low + 1) / 2;
        AP_TRY(time_with(batch, middle, &ns, reterr));
        if (ns <= wanted_ns)
            low = middle;
        else
            high = middle - 1;
    }
    *ret_factor = low;
    return AP_OK;
}

static bool has_device_work(const struct ap_replay_graph *graph)
{
    uint32_t i = 0;
    while (i < graph->count && !graph->tasks[i].is_device)
        i++;
    return i < graph->count;
}

enum ap_status ap_change_times(struct ap_applying *applying, uint64_t *ret_rows, struct ap_error *reterr)
{
    const struct ap_batch_cost *cost = applying->batch;
    struct batch batch = { applying, applying->change->number, has_device_work(applying->graph) };
    struct batch same = { applying, 1000, batch.of_devices };
    int64_t now_ns, factor;
    *ret_rows = 0;
    if (cost->fixed_ns < 0 || cost->grows_ns <= 0)
        return AP_OK;
    AP_TRY(time_with(&same, 1000, &now_ns, reterr));
    double then = ((double)cost->fixed_ns + (double)cost->grows_ns * (double)batch.factor / 1000) /
                  ((double)cost->fixed_ns + (double)cost->grows_ns);
    double wanted_ns = (double)now_ns * then;
    if (wanted_ns > 9e18)
        return AP_OK;
    AP_TRY(find_factor(&batch, (int64_t)wanted_ns, &factor, reterr));
    *ret_rows = grow(&batch, applying->edit, factor);
    applying->edit->samples = batch.factor;
    return AP_OK;
}
