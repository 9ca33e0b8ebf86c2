/* SPDX-License-Identifier: MIT */
#include "excerpt.h"

#include <string.h>

#include "sort.h"

#include "poison.h"

#define LEAST_STEPS 3     /* a stretch of fewer says little of the others */
#define MOST_TRACKS 10000 /* each is searched for each try */

/* The first row of the track that starts at @ns or later. */
static size_t row_from(const struct ap_facts *facts, size_t track, int64_t ns)
{
    const struct ap_row_order *order = &facts->order;
    size_t low = order->track_start[track];
    AP_BISECT(low, order->track_start[track + 1], at, facts->trace->events.start_ns[order->rows[at]] < ns);
    return low;
}

static size_t rows_between(const struct ap_facts *facts, int64_t start_ns, int64_t end_ns)
{
    size_t count = 0;
    for (size_t track = 0; track < facts->order.track_count; track++)
        count += row_from(facts, track, end_ns) - row_from(facts, track, start_ns);
    return count;
}

/* Where the step is over: with periods its row ends before the next one starts. */
static int64_t end_of(const struct ap_steps *steps, size_t step)
{
    return step + 1 < steps->count ? steps->steps[step + 1].start_ns : steps->steps[step].end_ns;
}

static bool choose_steps(struct ap_excerpt *excerpt, const struct ap_facts *whole, size_t most_rows)
{
    const struct ap_steps *steps = &whole->steps;
    size_t first = steps->count / 2, low = first;
    while (first < steps->count && !ap_step_is_steady(&steps->steps[first]))
        first++;
    if (first == steps->count || whole->order.track_count > MOST_TRACKS)
        return false;
    AP_BISECT(low, steps->count, at,
              at < first || rows_between(whole, steps->steps[first].start_ns, end_of(steps, at)) <= most_rows);
    if (low < first + LEAST_STEPS)
        return false;
    excerpt->facts.steps.steps = steps->steps + first;
    excerpt->facts.steps.count = low - first;
    excerpt->start_ns = steps->steps[first].start_ns;
    excerpt->end_ns = end_of(steps, low - 1);
    return true;
}

/* Rows that start in it, track by track. What began before is left out, such as a frame around all of the run. */
static enum ap_status take_rows(struct ap_excerpt *excerpt, const struct ap_facts *whole, struct ap_error *reterr)
{
    struct ap_row_order *order = &excerpt->facts.order;
    *order = (struct ap_row_order){ .gate = whole->gate };
    excerpt->row_capacity = rows_between(whole, excerpt->start_ns, excerpt->end_ns);
    AP_TRY(AP_ALLOC(whole->gate, order->rows, excerpt->row_capacity + 1, reterr));
    AP_TRY(AP_ALLOC_CLEARED(whole->gate, order->track_start, whole->order.track_count + 1, reterr));
    order->track_count = whole->order.track_count;
    for (size_t track = 0; track < order->track_count; track++) {
        size_t first = row_from(whole, track, excerpt->start_ns), end = row_from(whole, track, excerpt->end_ns);
        memcpy(order->rows + order->count, whole->order.rows + first, (end - first) * sizeof(order->rows[0]));
        order->count += end - first;
        order->track_start[track + 1] = (uint32_t)order->count;
    }
    return AP_OK;
}

/* Work of devices is of it by its launch. */
static bool holds(const struct ap_excerpt *excerpt, struct ap_device_row work)
{
    const struct ap_events *events = &excerpt->facts.trace->events;
    int64_t ns = events->start_ns[work.launch == AP_NO_ROW ? work.row : work.launch];
    return ns >= excerpt->start_ns && ns < excerpt->end_ns;
}

static enum ap_status take_links(struct ap_excerpt *excerpt, const struct ap_facts *whole, struct ap_error *reterr)
{
    struct ap_links *links = &excerpt->facts.links;
    const struct ap_links *from = &whole->links;
    links->count = links->linked_count = 0;
    for (size_t i = 0; i < from->count; i++)
        excerpt->link_capacity += holds(excerpt, ap_device_row_at(from, i));
    AP_TRY(AP_ALLOC(whole->gate, links->row, excerpt->link_capacity + 1, reterr));
    AP_TRY(AP_ALLOC(whole->gate, links->launch, excerpt->link_capacity + 1, reterr));
    AP_TRY(AP_ALLOC(whole->gate, links->op, excerpt->link_capacity + 1, reterr));
    for (size_t i = 0; i < from->count; i++) {
        struct ap_device_row work = ap_device_row_at(from, i);
        if (!holds(excerpt, work))
            continue;
        links->linked_count += work.launch != AP_NO_ROW;
        links->row[links->count] = work.row;
        links->launch[links->count] = work.launch;
        links->op[links->count++] = work.op;
    }
    return AP_OK;
}

enum ap_status ap_excerpt_init(struct ap_excerpt *excerpt, const struct ap_facts *whole, size_t most_rows, bool *ret_found,
                               struct ap_error *reterr)
{
    *excerpt = (struct ap_excerpt){ .facts = *whole };
    struct ap_facts *facts = &excerpt->facts;
    facts->order = (struct ap_row_order){ .gate = whole->gate };
    facts->links.row = facts->links.launch = facts->links.op = NULL;
    facts->path_index = (struct ap_path_index){ .gate = whole->gate };
    *ret_found = false;
    if (!choose_steps(excerpt, whole, most_rows))
        return AP_OK;
    facts->window_ns = excerpt->end_ns - excerpt->start_ns;
    AP_TRY(take_rows(excerpt, whole, reterr));
    AP_TRY(take_links(excerpt, whole, reterr));
    AP_TRY(ap_path_index_init(&facts->path_index, facts->trace, &facts->order, &facts->links, facts->gate, reterr));
    *ret_found = true;
    return AP_OK;
}

void ap_excerpt_release(struct ap_excerpt *excerpt)
{
    struct ap_facts *facts = &excerpt->facts;
    if (!facts->trace)
        return;
    if (facts->path_index.trace)
        ap_path_index_release(&facts->path_index);
    AP_FREE(facts->gate, facts->order.rows, excerpt->row_capacity + 1);
    if (facts->order.track_start)
        AP_FREE(facts->gate, facts->order.track_start, facts->order.track_count + 1);
    AP_FREE(facts->gate, facts->links.row, excerpt->link_capacity + 1);
    AP_FREE(facts->gate, facts->links.launch, excerpt->link_capacity + 1);
    AP_FREE(facts->gate, facts->links.op, excerpt->link_capacity + 1);
    *excerpt = (struct ap_excerpt){ .facts = { .trace = NULL } };
}
