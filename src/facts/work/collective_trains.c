/* SPDX-License-Identifier: MIT */
#include "collective_trains.h"

#include "poison.h"

/* Our choices. What computes for longer than a collective takes is the work of a layer, however few kernels do it. */
#define LEAST_COUNT 16         /* fewer in a row are the buckets of a model */
#define MOST_KERNELS 2         /* between two of them: a division by the number of ranks, a cast; a layer has more */
#define LONG_KERNEL_NS 1000000 /* computes for longer than it takes to start the next */

struct train {
    uint64_t count;
    uint8_t operation;
    int kernels;                      /* since its last collective */
    int64_t kernel_ns, collective_ns; /* of these, and of that */
    int64_t start_ns, end_ns, idle_ns;
    int64_t busy_to_ns, gap_ns; /* idle since its last collective */
};

static void close_train(struct ap_collective_trains *trains, struct train *train)
{
    if (train->count >= LEAST_COUNT) {
        trains->count++;
        trains->collectives += train->count;
        trains->dur_ns = ap_add_sat(trains->dur_ns, train->end_ns - train->start_ns, &trains->overflowed);
        trains->idle_ns = ap_add_sat(trains->idle_ns, train->idle_ns, &trains->overflowed);
    }
    *train = (struct train){ .count = 0 };
}

static void take_collective(struct ap_collective_trains *trains, struct train *train, uint8_t operation, int64_t start_ns,
                            int64_t end_ns)
{
    if (train->count && train->operation != operation)
        close_train(trains, train);
    if (!train->count)
        *train = (struct train){ .operation = operation, .start_ns = start_ns, .end_ns = end_ns, .busy_to_ns = start_ns };
    train->count++;
    train->kernels = 0;
    train->kernel_ns = 0;
    train->collective_ns = end_ns - start_ns;
    train->idle_ns = ap_add_sat(train->idle_ns, train->gap_ns, &trains->overflowed);
    train->gap_ns = 0;
    train->end_ns = end_ns > train->end_ns ? end_ns : train->end_ns;
}

static void take_other(struct ap_collective_trains *trains, struct train *train, bool is_kernel, int64_t dur_ns)
{
    if (!is_kernel)
        return;
    train->kernels++;
    train->kernel_ns = ap_add_sat(train->kernel_ns, dur_ns, &trains->overflowed);
    if (train->kernels > MOST_KERNELS || dur_ns > LONG_KERNEL_NS || train->kernel_ns > train->collective_ns)
        close_train(trains, train);
}

/* Idle time up to @start_ns, and work up to @end_ns. */
static void take_time(struct train *train, int64_t start_ns, int64_t end_ns)
{
    if (start_ns > train->busy_to_ns)
        train->gap_ns += start_ns - train->busy_to_ns;
    train->busy_to_ns = end_ns > train->busy_to_ns ? end_ns : train->busy_to_ns;
}

struct ap_collective_trains ap_collective_trains_of(const struct ap_collective_rows *collectives,
                                                    const struct ap_trace *trace, const struct ap_links *links)
{
    struct ap_collective_trains trains = { .count = 0 };
    struct train train = { .count = 0 };
    int64_t device = 0;
    size_t next = 0;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t row = links->row[i];
        int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
        if (ap_row_device(trace, row) != device)
            close_train(&trains, &train);
        device = ap_row_device(trace, row);
        if (train.count)
            take_time(&train, start_ns, end_ns);
        if (next < collectives->device_count && collectives->rows[next].row == row)
            take_collective(&trains, &train, ap_collective_kind(collectives, &collectives->rows[next++])->operation,
                            start_ns, end_ns);
        else if (train.count)
            take_other(&trains, &train, ap_row_kind(trace->events.tag[row]) == AP_KIND_kernel, end_ns - start_ns);
        if (train.count == 1)
            train.busy_to_ns = end_ns > train.busy_to_ns ? end_ns : train.busy_to_ns;
    }
    close_train(&trains, &train);
    return trains;
}
