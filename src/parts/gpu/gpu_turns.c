/* SPDX-License-Identifier: MIT
 * gpu_turns.c - whether the devices of a trace compute at the same time or one after the other, as they do where the layers
 * of one model are spread over them. */
#include "gpu_work.h"

#include "poison.h"

#define MAIN_SHARE 0.2  /* of the busiest device's time: a device that does less helps the others */
#define MOST_DEVICES 16 /* of one host; of more nothing is told */

/* Where the sweep is on a device. */
struct lane {
    size_t next, end;         /* rows of the device that are not taken yet */
    int64_t start_ns, end_ns; /* what runs, or runs next: kernels other than communication that meet; INT64_MAX = nothing */
    bool is_running;
};

struct turns {
    struct lane lanes[MOST_DEVICES];
    int64_t devices; /* the lanes, unless there are too many */
    int64_t alone_ns, together_ns, switches;
};

static void take_next(struct ap_gpu_work *work, struct lane *lane)
{
    const struct ap_trace *trace = work->context->trace;
    lane->start_ns = lane->end_ns = INT64_MAX;
    lane->is_running = false;
    for (; lane->next < lane->end; lane->next++) {
        uint32_t row = work->context->facts->links.row[lane->next];
        int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
        if (ap_gpu_part(work, row) != AP_GPU_COMPUTE || start_ns == end_ns)
            continue;
        if (lane->start_ns != INT64_MAX && start_ns > lane->end_ns)
            return;
        lane->end_ns = lane->start_ns == INT64_MAX || end_ns > lane->end_ns ? end_ns : lane->end_ns;
        lane->start_ns = lane->start_ns == INT64_MAX ? start_ns : lane->start_ns;
    }
}

static int64_t busy_ns(struct ap_gpu_work *work, struct lane lane)
{
    int64_t sum_ns = 0;
    for (take_next(work, &lane); lane.start_ns != INT64_MAX; take_next(work, &lane))
        sum_ns += lane.end_ns - lane.start_ns;
    return sum_ns;
}

/* Rows are by device. */
static struct lane lane_from(const struct ap_gpu_work *work, size_t first)
{
    const struct ap_links *links = &work->context->facts->links;
    const struct ap_trace *trace = work->context->trace;
    struct lane lane = { .next = first, .end = first };
    while (lane.end < links->count && ap_row_device(trace, links->row[lane.end]) == ap_row_device(trace, links->row[first]))
        lane.end++;
    return lane;
}

static void find_lanes(struct ap_gpu_work *work, struct turns *turns)
{
    size_t count = work->context->facts->links.count;
    int64_t busiest_ns = 0;
    struct lane lane;
    for (size_t first = 0; first < count; first = lane.end) {
        lane = lane_from(work, first);
        int64_t ns = busy_ns(work, lane);
        busiest_ns = ns > busiest_ns ? ns : busiest_ns;
    }
    for (size_t first = 0; first < count && busiest_ns; first = lane.end) {
        lane = lane_from(work, first);
        if ((double)busy_ns(work, lane) < MAIN_SHARE * (double)busiest_ns)
            continue;
        if (turns->devices < MOST_DEVICES)
            turns->lanes[turns->devices] = lane;
        turns->devices++;
    }
}

/* When it begins or ends to compute. */
static int64_t edge_ns(const struct lane *lane)
{
    return lane->is_running ? lane->end_ns : lane->start_ns;
}

/* At one time what ends comes first: it makes room. */
static struct lane *next_edge(struct turns *turns)
{
    struct lane *next = &turns->lanes[0];
    for (int64_t i = 1; i < turns->devices; i++) {
        struct lane *lane = &turns->lanes[i];
        if (edge_ns(lane) < edge_ns(next) || (edge_ns(lane) == edge_ns(next) && lane->is_running && !next->is_running))
            next = lane;
    }
    return edge_ns(next) == INT64_MAX ? NULL : next;
}

static void sum_turns(struct ap_gpu_work *work, struct turns *turns)
{
    const struct lane *last = NULL;
    int64_t last_ns = 0, running = 0;
    for (int64_t i = 0; i < turns->devices; i++)
        take_next(work, &turns->lanes[i]);
    for (struct lane *lane; (lane = next_edge(turns));) {
        int64_t now_ns = edge_ns(lane);
        turns->alone_ns += running == 1 ? now_ns - last_ns : 0;
        turns->together_ns += running > 1 ? now_ns - last_ns : 0;
        last_ns = now_ns;
        running += lane->is_running ? -1 : 1;
        if (lane->is_running) {
            take_next(work, lane);
            continue;
        }
        lane->is_running = true;
        turns->switches += last && last != lane;
        last = lane;
    }
}

void ap_gpu_add_turns(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu)
{
    struct turns turns = { .devices = 0 };
    find_lanes(work, &turns);
    if (turns.devices > 0 && turns.devices <= MOST_DEVICES)
        sum_turns(work, &turns);
    struct ap_value *to = ap_add_object(model, gpu, "turns");
    ap_add_count(model, to, "devices", turns.devices);
    ap_add_count(model, to, "switches", turns.switches);
    ap_add_time(model, to, "alone_us", turns.alone_ns);
    ap_add_quotient(model, to, "together_ratio", (double)turns.together_ns,
                    (double)turns.together_ns + (double)turns.alone_ns);
    int64_t saves_ns = turns.devices > 1 ? turns.alone_ns - turns.alone_ns / turns.devices : 0;
    ap_add_time(model, to, "saves_us", saves_ns);
}
