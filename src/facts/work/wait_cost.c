/* SPDX-License-Identifier: MIT
 * wait_cost.c - which waits let the device run dry: two sweeps over the launches of each device, forward for what was
 * queued already when a wait ended, backward for what came next. After a wait the host is behind: until work is queued again
 * the device stands still between kernels, too, for as long as the wait had held the host up. */
#include "gpu_cover.h"
#include "sort.h"
#include "waits.h"

#include "poison.h"

#define NOTHING_NEXT INT64_MAX
#define QUEUED_NS 20000 /* what starts so long after its call had to queue: launching alone takes some microseconds */

struct costing {
    struct ap_waits *waits;
    const struct ap_trace *trace;
    const struct ap_links *links;
    struct ap_gpu_cover cover, joined;
    uint32_t *by_end;   /* waits by device, then end */
    uint32_t *launches; /* places in links of one device, by launch; one block, with a spare part */
    int64_t *next_ns;   /* by wait: first start of what was launched after its end; NOTHING_NEXT */
    int64_t *queued_ns; /* by wait: last start of what was launched before its end: the queue is empty from then on */
    int64_t *behind_ns; /* by wait: start of the first work after its end that had to queue, else last start of all of it */
    int64_t *until_ns;  /* the same, but where the device runs dry at the next wait */
    size_t *device_counts; /* by track: on how many devices its thread launches */
};

/* What reads of numbers held the host up and the device did not feel: the host is behind by as much until work queues again.
 * The next read can be charged with it, since both would be gone together. */
struct lag {
    int64_t ns, until_ns;
};

/* What was launched before the recording began has waited longest. */
static int64_t launch_ns(const struct costing *costing, uint32_t place)
{
    uint32_t launch = ap_launch_at(costing->links, place);
    return launch == AP_NO_ROW ? INT64_MIN : costing->trace->events.start_ns[launch];
}

static int64_t start_ns(const struct costing *costing, uint32_t place)
{
    return costing->trace->events.start_ns[costing->links->row[place]];
}

static bool had_to_queue(const struct costing *costing, uint32_t place)
{
    uint32_t launch = ap_launch_at(costing->links, place);
    return launch != AP_NO_ROW && start_ns(costing, place) > ap_row_end_ns(costing->trace, launch) + QUEUED_NS;
}

static bool launch_before(const void *context, uint32_t a, uint32_t b)
{
    int64_t x = launch_ns(context, a), y = launch_ns(context, b);
    return x != y ? x < y : a < b;
}

static bool end_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_wait *waits = context, *x = &waits[a], *y = &waits[b];
    AP_SMALLER_FIRST(x->device, y->device);
    return x->end_ns != y->end_ns ? x->end_ns < y->end_ns : a < b;
}

static bool every_row(const void *context, size_t place)
{
    (void)context;
    (void)place;
    return true;
}

/* @waits: those of the device, by end. */
static void sweep(struct costing *costing, const uint32_t *waits, size_t wait_count, size_t launch_count)
{
    int64_t latest_ns = INT64_MIN, next_ns = NOTHING_NEXT, until_ns = INT64_MIN;
    bool queues = false; /* until_ns is where something had to */
    size_t at = 0;
    for (size_t i = 0; i < wait_count; i++) {
        int64_t end_ns = costing->waits->waits[waits[i]].end_ns;
        for (; at < launch_count && launch_ns(costing, costing->launches[at]) < end_ns; at++)
            if (start_ns(costing, costing->launches[at]) > latest_ns)
                latest_ns = start_ns(costing, costing->launches[at]);
        costing->queued_ns[waits[i]] = latest_ns;
    }
    at = launch_count;
    for (size_t i = wait_count; i-- > 0;) {
        int64_t end_ns = costing->waits->waits[waits[i]].end_ns;
        for (; at > 0 && launch_ns(costing, costing->launches[at - 1]) >= end_ns; at--) {
            int64_t started_ns = start_ns(costing, costing->launches[at - 1]);
            next_ns = started_ns < next_ns ? started_ns : next_ns;
            bool queued = had_to_queue(costing, costing->launches[at - 1]);
            if (queued || (!queues && started_ns > until_ns))
                until_ns = started_ns;
            queues = queues || queued;
        }
        costing->next_ns[waits[i]] = next_ns;
        costing->behind_ns[waits[i]] = costing->until_ns[waits[i]] = until_ns;
    }
}

static int64_t least_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How long the host was held up: by the wait, or by the operator that is there for it alone. */
static int64_t held_ns(const struct costing *costing, const struct ap_wait *wait)
{
    uint32_t op = wait->chain.op;
    if (wait->category == AP_SYNC_formatting)
        return most_ns(wait->blocked_ns, wait->written_ns);
    bool asked = wait->category == AP_SYNC_scalar_read || wait->category == AP_SYNC_data_dependent ||
                 wait->category == AP_SYNC_to_host || wait->category == AP_SYNC_to_device;
    if (!asked || wait->chain.leaf == AP_NO_ROW || !ap_text_starts_with(ap_row_name(costing->trace, op), "aten::"))
        return wait->blocked_ns;
    return most_ns(wait->blocked_ns, costing->trace->events.dur_ns[op]);
}

/* The same less what other waits in that operator were charged with. */
static int64_t left_of_held_ns(const struct costing *costing, const struct ap_wait *wait, int64_t in_op_ns)
{
    int64_t ns = held_ns(costing, wait);
    return ns > wait->blocked_ns ? most_ns(wait->blocked_ns, ns - in_op_ns) : ns;
}

static bool is_costly(const struct costing *costing, uint32_t wait)
{
    return costing->next_ns[wait] != NOTHING_NEXT && costing->queued_ns[wait] < costing->waits->waits[wait].end_ns;
}

/* Where the device runs dry, if it does. */
static int64_t dry_ns(const struct costing *costing, uint32_t wait)
{
    return most_ns(costing->waits->waits[wait].start_ns, costing->queued_ns[wait]);
}

/* What the wait is charged with of the time that the device stood still. */
static int64_t charged_ns_of(const struct costing *costing, uint32_t at, int64_t idle_ns, int64_t held_ns, struct lag *lag)
{
    if (costing->waits->waits[at].category != AP_SYNC_scalar_read) {
        lag->ns = 0; /* what of it is still left nobody knows */
        return least_ns(idle_ns, held_ns);
    }
    int64_t most_ns = held_ns + (dry_ns(costing, at) < lag->until_ns ? lag->ns : 0);
    idle_ns = least_ns(idle_ns, most_ns);
    *lag = (struct lag){ most_ns - idle_ns, costing->behind_ns[at] };
    return idle_ns;
}

/* What a wait can be charged with ends where the device runs dry at the next one that has other work behind it. */
static void end_at_next_wait(struct costing *costing, const uint32_t *waits, size_t wait_count)
{
    int64_t group_ns = NOTHING_NEXT, dry_in_group_ns = INT64_MAX, dry_later_ns = INT64_MAX;
    for (size_t i = wait_count; i-- > 0;) {
        int64_t next_ns = costing->next_ns[waits[i]];
        if (!is_costly(costing, waits[i]))
            continue;
        if (next_ns != group_ns) {
            dry_later_ns = dry_in_group_ns;
            dry_in_group_ns = INT64_MAX;
            group_ns = next_ns;
        }
        dry_in_group_ns = least_ns(dry_in_group_ns, dry_ns(costing, waits[i]));
        costing->until_ns[waits[i]] = most_ns(next_ns, least_ns(costing->until_ns[waits[i]], dry_later_ns));
    }
}

/* What one thread launches on several devices need not wait for the host where another of them works. */
static int64_t idle_between_ns(const struct costing *costing, const struct ap_wait *wait, int64_t from_ns, int64_t until_ns)
{
    bool has_all = costing->cover.device_count > 1 &&
                   costing->device_counts[costing->trace->events.track[wait->row]] == costing->cover.device_count;
    return until_ns - from_ns -
           ap_gpu_covered_ns(has_all ? &costing->joined : &costing->cover, has_all ? 0 : wait->device, from_ns, until_ns);
}

/* Waits of one device by end; next_ns does not fall on the way, so those before the same next row stand together. Whether
 * the device worked before its first row nobody knows. */
static void charge(struct costing *costing, const uint32_t *waits, size_t wait_count, int64_t first_ns)
{
    int64_t done_ns = INT64_MIN, group_ns = INT64_MIN, group_end_ns = first_ns, group_idle_ns = 0, charged_ns = 0,
            in_op_ns = 0;
    uint32_t op = AP_NO_ROW;
    struct lag lag = { .until_ns = INT64_MIN };
    for (size_t i = 0; i < wait_count; i++) {
        struct ap_wait *wait = &costing->waits->waits[waits[i]];
        int64_t next_ns = costing->next_ns[waits[i]], until_ns = costing->until_ns[waits[i]], idle_ns = 0;
        wait->at_end = next_ns == NOTHING_NEXT;
        if (!is_costly(costing, waits[i]))
            continue;
        if (next_ns != group_ns) {
            done_ns = group_end_ns;
            group_ns = next_ns;
            group_idle_ns = charged_ns = 0;
        }
        group_end_ns = most_ns(group_end_ns, until_ns);
        int64_t from_ns = most_ns(dry_ns(costing, waits[i]), done_ns);
        if (from_ns < until_ns)
            idle_ns = idle_between_ns(costing, wait, from_ns, until_ns);
        group_idle_ns = most_ns(group_idle_ns, idle_ns);
        in_op_ns = wait->chain.op == op ? in_op_ns : 0;
        op = wait->chain.op;
        wait->idle_ns = charged_ns_of(costing, waits[i], least_ns(idle_ns, group_idle_ns - charged_ns),
                                      left_of_held_ns(costing, wait, in_op_ns), &lag);
        in_op_ns += wait->idle_ns;
        charged_ns += wait->idle_ns;
    }
}

static void cost_device(struct costing *costing, const uint32_t *waits, size_t wait_count)
{
    const struct ap_links *links = costing->links;
    int64_t device = costing->waits->waits[waits[0]].device;
    size_t count = 0, low = 0;
    AP_BISECT(low, links->count, at, ap_row_device(costing->trace, links->row[at]) < device);
    int64_t first_ns = low < links->count ? start_ns(costing, (uint32_t)low) : INT64_MIN;
    for (; low < links->count && ap_row_device(costing->trace, links->row[low]) == device; low++)
        costing->launches[count++] = (uint32_t)low;
    ap_sort_indices(costing->launches, count, costing->launches + links->count, launch_before, costing);
    sweep(costing, waits, wait_count, count);
    end_at_next_wait(costing, waits, wait_count);
    charge(costing, waits, wait_count, first_ns);
}

/* On how many devices each thread launches; rows are by device. */
static void count_devices(struct costing *costing, int64_t *last_devices)
{
    for (size_t i = 0; i < costing->links->count; i++) {
        struct ap_device_row linked = ap_device_row_at(costing->links, i);
        int64_t device = ap_row_device(costing->trace, linked.row);
        uint32_t track = linked.launch == AP_NO_ROW ? AP_NO_ROW : costing->trace->events.track[linked.launch];
        if (track == AP_NO_ROW || (costing->device_counts[track] && last_devices[track] == device))
            continue;
        costing->device_counts[track]++;
        last_devices[track] = device;
    }
}

static void cost_all(struct costing *costing)
{
    const struct ap_wait *waits = costing->waits->waits;
    size_t count = costing->waits->count;
    for (uint32_t i = 0; i < count; i++)
        costing->by_end[i] = i;
    ap_sort_indices(costing->by_end, count, costing->by_end + count, end_before, waits);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && waits[costing->by_end[end]].device == waits[costing->by_end[first]].device;)
            end++;
        cost_device(costing, costing->by_end + first, end - first);
    }
}

enum ap_status ap_waits_find_cost(struct ap_waits *waits, const struct ap_trace *trace, const struct ap_links *links,
                                  struct ap_error *reterr)
{
    struct costing costing = {
        .waits = waits, .trace = trace, .links = links, .cover.gate = waits->gate, .joined.gate = waits->gate
    };
    int64_t *last_devices = NULL;
    struct ap_gate *gate = waits->gate;
    if (!waits->count || !links->count)
        return AP_OK;
    enum ap_status status = AP_ALLOC(gate, costing.by_end, 2 * waits->count, reterr);
    AP_AND_THEN(status, AP_ALLOC(gate, costing.launches, 2 * links->count, reterr));
    AP_AND_THEN(status, AP_ALLOC(gate, costing.next_ns, 4 * waits->count, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(gate, costing.device_counts, trace->track_count, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(gate, last_devices, trace->track_count, reterr));
    AP_AND_THEN(status, ap_gpu_cover_init(&costing.cover, trace, links, every_row, NULL, gate, reterr));
    if (costing.cover.device_count > 1)
        AP_AND_THEN(status, ap_gpu_cover_join(&costing.joined, &costing.cover, reterr));
    if (status == AP_OK) {
        costing.queued_ns = costing.next_ns + waits->count;
        costing.behind_ns = costing.queued_ns + waits->count;
        costing.until_ns = costing.behind_ns + waits->count;
        count_devices(&costing, last_devices);
        cost_all(&costing);
    }
    ap_gpu_cover_release(&costing.cover);
    ap_gpu_cover_release(&costing.joined);
    AP_FREE(gate, costing.by_end, 2 * waits->count);
    AP_FREE(gate, costing.launches, 2 * links->count);
    AP_FREE(gate, costing.next_ns, 4 * waits->count);
    AP_FREE(gate, costing.device_counts, trace->track_count);
    AP_FREE(gate, last_devices, trace->track_count);
    return status;
}
