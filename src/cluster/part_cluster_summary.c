/* SPDX-License-Identifier: MIT
 * part_cluster_summary.c - how large the run is, what of it is compared, and how much of the time went into waiting. */
#include <stdio.h>
#include <string.h>

#include "cluster_parts.h"
#include "sort.h"

#include "poison.h"

static const char *const spent_keys[AP_SPENT_COUNT_] = {
#define AP_SPENT(id, meaning) #id "_ratio",
#include "rank_spent.def"
#undef AP_SPENT
};

#define ABSENT_TEXT 200

struct ap_text ap_rank_label(const struct ap_run_view *view, size_t index, struct ap_model *model)
{
    const struct ap_rank_summary *rank = ap_view_rank(view, index);
    struct ap_text host = ap_rank_text(view->set, rank->host);
    char number[40];
    size_t bytes =
        (size_t)snprintf(number, sizeof(number), host.bytes ? "rank %lld on " : "rank %lld", (long long)rank->rank);
    char *text = ap_arena_alloc(&model->arena, bytes + host.bytes);
    if (!text) {
        model->failed = true;
        return AP_TEXT("");
    }
    memcpy(text, number, bytes);
    if (host.bytes)
        memcpy(text + bytes, host.data, host.bytes);
    return (struct ap_text){ text, bytes + host.bytes };
}

/* "1, 4-7": the ranks of the world that no file is of; cut with "..." where there are many holes. */
static void tell_absent(const struct ap_run_view *view, char to[ABSENT_TEXT])
{
    int64_t next = 0;
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i <= view->count; i++) {
        int64_t rank = i < view->count ? ap_view_rank(view, i)->rank : view->world_size;
        if (rank > next && used < ABSENT_TEXT - 50)
            used += (size_t)snprintf(to + used, ABSENT_TEXT - used, rank == next + 1 ? "%s%lld" : "%s%lld-%lld",
                                     used ? ", " : "", (long long)next, (long long)rank - 1);
        else if (rank > next)
            (void)snprintf(to + ABSENT_TEXT - 6, 6, " ...");
        next = rank + 1;
    }
}

static int64_t count_hosts(const struct ap_run_view *view)
{
    int64_t count = 0;
    for (size_t i = 0; i < view->count; i++) {
        uint32_t host = ap_view_rank(view, i)->host.id;
        bool new = host != 0;
        for (size_t j = i; new &&j-- > 0 && i - j < 64;)
            new = ap_view_rank(view, j)->host.id != host;
        count += new;
    }
    return count;
}

/* Traces that tell no backend and have a device are old: of NCCL. */
static int64_t count_nccl(const struct ap_run_view *view)
{
    int64_t count = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct ap_rank_summary *rank = ap_view_rank(view, i);
        struct ap_text backend = ap_rank_text(view->set, rank->backend);
        count += rank->has_device && (!backend.bytes || ap_text_contains(backend, AP_TEXT("nccl")));
    }
    return count;
}

static void add_sizes(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    const struct ap_run_view *view = found->view;
    char absent[ABSENT_TEXT];
    int64_t hosts = count_hosts(view), unread = 0;
    for (size_t i = 0; i < found->files->count; i++)
        unread += found->failures->why && found->failures->why[i];
    tell_absent(view, absent);
    ap_add_count(model, to, "rank_count", (int64_t)view->count);
    ap_add_known_count(model, to, "world_size", view->world_size > 0, view->world_size);
    int64_t nccl = count_nccl(view);
    ap_add_known_count(model, to, "nccl_rank_count", nccl > 0, nccl);
    ap_add_known_count(model, to, "absent_count", view->world_size > 0, view->absent_count);
    ap_add_known_string(model, to, "absent", absent[0], absent);
    ap_add_known_count(model, to, "host_count", hosts > 0, hosts);
    ap_add_count(model, to, "duplicate_count", (int64_t)view->set->duplicate_count);
    ap_add_count(model, to, "other_window_count", (int64_t)view->other_window_count);
    ap_add_count(model, to, "other_run_count", (int64_t)view->other_run_count);
    ap_add_count(model, to, "unread_count", unread);
}

static void add_steps(const struct ap_run_view *view, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *steps = ap_add_object(model, to, "steps");
    ap_add_count(model, steps, "count", (int64_t)view->step_count);
    ap_add_known_count(model, steps, "first", view->has_steps, view->first_step);
    ap_add_known_count(model, steps, "last", view->has_steps, view->last_step);
    ap_add_bool(model, steps, "are_whole", view->has_steps && !view->steps_are_partial);
    ap_add_count(model, steps, "apart_count", (int64_t)view->apart_count);
    ap_add_count(model, steps, "torn_count", (int64_t)view->torn_count);
    ap_add_time(model, steps, "p50_us", view->step_ns);
    ap_add_time(model, to, "rank_time_us", view->rank_time_ns);
}

static void add_matching(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    static const char *const reasons[AP_UNMATCHED_COUNT_] = { "transfers", "alone", "counts", "differ", "steps", "groups" };
    const struct ap_matching *matching = found->matching;
    uint64_t wanted =
        matching->recorded_count - matching->unmatched[AP_UNMATCHED_transfers] - matching->unmatched[AP_UNMATCHED_steps];
    struct ap_value *it = ap_add_object(model, to, "matching");
    ap_add_count(model, it, "recorded_count", (int64_t)matching->recorded_count);
    ap_add_count(model, it, "collective_count", (int64_t)matching->count);
    ap_add_quotient(model, it, "matched_ratio", (double)matching->member_count, (double)wanted);
    ap_add_quotient(model, it, "by_number_ratio", (double)matching->by_number_count, (double)matching->member_count);
    ap_add_count(model, it, "judged_count", (int64_t)found->delays->judged_count);
    ap_add_bool(model, it, "ordered_by_time", found->delays->by_time);
    struct ap_value *unmatched = ap_add_object(model, it, "unmatched");
    for (int i = 0; i < AP_UNMATCHED_COUNT_; i++)
        ap_add_count(model, unmatched, reasons[i], (int64_t)matching->unmatched[i]);
}

static void add_waiting(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    const struct ap_delays *delays = found->delays;
    const struct ap_run_verdict *verdict = found->verdict;
    const struct ap_run_view *view = found->view;
    int64_t steps = view->step_count ? (int64_t)view->step_count : 1;
    bool judged = delays->judged_count > 0, has_last = verdict->most_last != AP_NO_RANK;
    struct ap_value *it = ap_add_object(model, to, "waiting");
    ap_add_known_time(model, it, "total_us", judged, delays->waited_ns);
    ap_add_quotient(model, it, "total_ratio", (double)delays->waited_ns, judged ? (double)view->rank_time_ns : 0);
    ap_add_time(model, it, "floor_us", verdict->floor_ns);
    ap_add_known_time(model, it, "absent_us", judged && view->absent_count, verdict->absent_ns);
    ap_add_known_time(model, it, "absent_lost_us", judged && view->absent_count, verdict->absent_ns * (int64_t)view->count);
    ap_add_known_count(model, it, "absent_count", judged && view->absent_count, (int64_t)verdict->absent_count);
    ap_add_known_ratio(model, it, "absent_step_ratio", judged && view->absent_count && view->step_ns,
                       view->step_ns ? (double)verdict->absent_ns / (double)(view->step_ns * steps) : 0);
    ap_add_known_count(model, it, "last_rank", has_last, has_last ? ap_view_rank(view, verdict->most_last)->rank : 0);
    ap_add_known_count(model, it, "last_count", has_last, has_last ? delays->ranks[verdict->most_last].last_count : 0);
    ap_add_known_count(model, it, "last_of", has_last, has_last ? delays->ranks[verdict->most_last].matched_count : 0);
}

static void add_pipeline(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    const struct ap_matching *matching = found->matching;
    double time_ns = (double)found->view->rank_time_ns;
    bool has = matching->transfer_count > 0;
    struct ap_value *it = ap_add_object(model, to, "pipeline");
    ap_add_count(model, it, "transfer_count", (int64_t)matching->transfer_count);
    ap_add_known_time(model, it, "exposed_us", has, matching->transfer_exposed_ns);
    ap_add_known_ratio(model, it, "exposed_ratio", has && time_ns > 0,
                       (double)matching->transfer_exposed_ns / (time_ns > 0 ? time_ns : 1));
}

/* Is all that is no transfer waiting that was found? Not where a collective could not be matched, or a rank is absent, nor
 * in pipelines, whose ranks wait in sends and receives. */
static bool tells_transfers(const struct ap_run_found *found)
{
    const struct ap_matching *matching = found->matching;
    uint64_t unmatched = 0;
    for (int i = 0; i < AP_UNMATCHED_COUNT_; i++)
        unmatched += i == AP_UNMATCHED_steps ? 0 : matching->unmatched[i];
    return found->delays->judged_count && !unmatched && !found->view->absent_count && !matching->transfer_count;
}

static void add_transfers(const struct ap_run_found *found, double communication_ns, double all_ns, struct ap_model *model,
                          struct ap_value *time)
{
    double left_ns = communication_ns - (double)found->delays->waited_ns;
    bool told = all_ns > 0 && left_ns >= 0 && tells_transfers(found);
    ap_add_known_ratio(model, time, "transfer_ratio", told, told ? left_ns / all_ns : 0);
    ap_add_known_time(model, time, "transfer_us", told, told ? (int64_t)left_ns : 0);
}

/* Of the time of all ranks in what is compared. */
static void add_time(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    const struct ap_run_view *view = found->view;
    double sums[AP_SPENT_COUNT_] = { 0 }, all = 0;
    struct ap_value *time = ap_add_object(model, to, "time");
    for (size_t i = 0; i < view->count; i++) {
        const struct ap_rank_summary *rank = ap_view_rank(view, i);
        for (int j = 0; j < AP_SPENT_COUNT_ && !view->has_steps; j++)
            sums[j] += (double)rank->spent_ns[j];
        for (size_t k = 0; k < rank->step_count && view->has_steps; k++)
            for (int j = 0; j < AP_SPENT_COUNT_ && ap_view_has_step(view, rank->steps[k].number); j++)
                sums[j] += (double)rank->steps[k].spent_ns[j];
    }
    for (int j = 0; j < AP_SPENT_COUNT_; j++)
        all += sums[j];
    double host = sums[AP_SPENT_python] + sums[AP_SPENT_operators] + sums[AP_SPENT_launch] + sums[AP_SPENT_untraced];
    bool has_device = view->count && ap_view_rank(view, 0)->has_device;
    ap_add_known_ratio(model, time, "host_bound_ratio", has_device && all > 0, all > 0 ? host / all : 0);
    ap_add_known_time(model, time, "host_bound_us", has_device && all > 0, (int64_t)host);
    add_transfers(found, has_device ? sums[AP_SPENT_communication] : -1, all, model, time);
    for (int j = 0; j < AP_SPENT_COUNT_; j++) {
        ap_add_known_ratio(model, time, spent_keys[j], all > 0, all > 0 ? sums[j] / all : 0);
    }
}

void ap_cluster_add_summary(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    add_sizes(found, model, to);
    add_steps(found->view, model, to);
    add_matching(found, model, to);
    add_waiting(found, model, to);
    add_pipeline(found, model, to);
    add_time(found, model, to);
}
