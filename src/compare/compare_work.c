/* SPDX-License-Identifier: MIT
 * compare_work.c - whether what two recordings hold can be set against each other: as much work in both, steps that are as
 * long as their work, ranks that are known, and recordings of a run. */
#include <stdio.h>
#include <string.h>

#include "comparing.h"

#include "poison.h"

/* Steps of the host are not those of the run, where the devices work so much longer than all of them last. */
#define BEHIND_TIMES 1.25
#define SAME_CALLS_RATIO 0.6 /* of what kernels take in one of both */
/* Of operators that both have: names, and calls of each, since once is what a start does too. */
#define LEAST_NAMES 4
#define LEAST_CALLS 2
#define AS_OFTEN_RATIO 0.02 /* counts that differ by less are the same */

static double number_at(const struct ap_value *root, const char *path)
{
    double number = 0;
    (void)ap_value_number(ap_value_at(root, path), &number);
    return number;
}

static double busy_of_step_ns(const struct ap_value *root)
{
    double steps = number_at(root, "steps.count");
    return steps >= 1 ? number_at(root, "gpu.utilization_ratio") * number_at(root, "gpu.window_us") / steps : 0;
}

static bool is_behind(const struct ap_value *root)
{
    return busy_of_step_ns(root) > BEHIND_TIMES * number_at(root, "steps.mean_us");
}

static double longer_of_step_ns(const struct ap_value *root)
{
    double busy_ns = busy_of_step_ns(root), host_ns = number_at(root, "steps.mean_us");
    return busy_ns > host_ns ? busy_ns : host_ns;
}

void ap_compare_work(struct ap_comparing *comparing)
{
    comparing->behind = comparing->per_step && (is_behind(comparing->before) || is_behind(comparing->after));
    if (!comparing->behind)
        return;
    double before_ns = longer_of_step_ns(comparing->before), after_ns = longer_of_step_ns(comparing->after);
    comparing->before_step_ns = before_ns;
    comparing->after_step_ns = after_ns;
    comparing->whole_ns = before_ns > after_ns ? before_ns : after_ns;
    /* how much steps of the host vary says nothing about the work of the devices */
    double noise_ratio = comparing->noise_ratio < AP_NOISE_UNKNOWN_RATIO ? comparing->noise_ratio : AP_NOISE_UNKNOWN_RATIO;
    if (ap_relative_difference(before_ns, after_ns) >= noise_ratio)
        comparing->longer_change = ap_change_of(after_ns - before_ns, AP_BETTER_lower);
}

const struct ap_value *ap_find_row(const struct ap_value *list, struct ap_text name)
{
    const struct ap_value *row = ap_value_first(list);
    for (size_t i = 0; row && i < AP_FOUND_MOST; row = row->next, i++)
        if (ap_text_equal(ap_text_member(row, "name"), name))
            return row;
    return NULL;
}

/* How many operators of both sides are called as often to the call; and of the others, how many as that with most time. */
struct rounds {
    size_t both, as_many, by_one_factor;
    double factor;
};

static void count_rounds(const struct ap_comparing *comparing, struct rounds *rounds)
{
    static const char operators[] = "cpu.operators_by_self";
    const struct ap_value *before = ap_value_at(comparing->before, operators);
    const struct ap_value *row = ap_value_first(ap_value_at(comparing->after, operators));
    for (size_t listed = 0; row && listed < AP_FOUND_MOST; row = row->next, listed++) {
        const struct ap_value *other = ap_find_row(before, ap_text_member(row, "name"));
        int64_t now = ap_integer_member(row, "count", 0), was = ap_integer_member(other, "count", 0);
        if (now < LEAST_CALLS || was < LEAST_CALLS)
            continue;
        double factor = (double)now / (double)was;
        rounds->both++;
        rounds->as_many += now == was;
        rounds->factor = rounds->factor > 0 || now == was ? rounds->factor : factor;
        rounds->by_one_factor += now != was && ap_relative_difference(factor, rounds->factor) <= AS_OFTEN_RATIO;
    }
}

/* A longer recording of the same calls everything more often. Where most operators of both are called as often to the call,
 * both hold as many rounds, and the others are what the program does otherwise. But where these are all so many times as
 * many, what is as many may be a start that both recorded, and a loop goes round more often. */
static bool most_calls_are_as_many(const struct ap_comparing *comparing)
{
    struct rounds rounds = { 0 };
    count_rounds(comparing, &rounds);
    size_t others = rounds.both - rounds.as_many;
    bool is_longer = rounds.by_one_factor >= 2 && 2 * rounds.by_one_factor > others;
    return rounds.both >= LEAST_NAMES && 2 * rounds.as_many >= rounds.both && !is_longer;
}

/* Without steps: a longer recording takes longer for that alone, unless both hold as much, or the same calls and what one of
 * them does beside. */
bool ap_lengths_differ(const struct ap_comparing *comparing)
{
    static const char window[] = "trace.window_us", work[] = "cpu.operator_summary.events";
    double before_ns = number_at(comparing->before, window), after_ns = number_at(comparing->after, window);
    double before = number_at(comparing->before, work), after = number_at(comparing->after, work);
    bool as_much = (before > 0 && after > 0 && ap_relative_difference(before, after) <= AP_WORK_LEAST_RATIO) ||
                   comparing->same_calls_ratio > SAME_CALLS_RATIO || most_calls_are_as_many(comparing);
    return !comparing->per_step && before_ns > 0 && after_ns > 0 && !as_much &&
           ap_relative_difference(before_ns, after_ns) > AP_LENGTH_LEAST_RATIO;
}

bool ap_is_one_recording(const struct ap_comparing *comparing)
{
    static const char *const figures[] = { "trace.bytes_read", "trace.window_us", "cpu.operator_summary.self_dur_us",
                                           "steps.total_us", "gpu.kernel.total_dur_us" };
    for (size_t i = 0; i < AP_COUNT_OF(figures); i++)
        if (number_at(comparing->before, figures[i]) != number_at(comparing->after, figures[i]))
            return false;
    return number_at(comparing->before, figures[0]) > 0 && !comparing->several;
}

/* A run of several ranks says so in its trace, and one that does not, and communicates nothing, is of another kind. Old
 * recorders say nothing of ranks, but their collectives are there. */
static bool is_of_ranks(const struct ap_value *root)
{
    return number_at(root, "trace.world_size") > 1;
}

static bool is_alone(const struct ap_value *root)
{
    const struct ap_value *size = ap_value_at(root, "trace.world_size"), *by_pytorch = ap_value_at(root, "trace.by_pytorch");
    return size && size->type == AP_VALUE_NULL && ap_value_integer(by_pytorch, 0) == 1 &&
           number_at(root, "communication.count") == 0 && number_at(root, "communication.host_collectives.count") == 0 &&
           number_at(root, "cpu.operator_summary.events") > 0;
}

bool ap_ranks_differ(const struct ap_comparing *comparing)
{
    return (is_of_ranks(comparing->before) && is_alone(comparing->after)) ||
           (is_alone(comparing->before) && is_of_ranks(comparing->after));
}

const char *ap_recording_kind(const struct ap_value *root)
{
    static const char *const kinds[][2] = { { "graph-capture-only", "a capture of graphs" },
                                            { "cold-start-only", "a start" } };
    for (const struct ap_value *row = ap_value_first(ap_value_member(root, "findings")); row; row = row->next)
        for (size_t i = 0; i < AP_COUNT_OF(kinds); i++)
            if (ap_text_is(ap_text_member(row, "rule_id"), kinds[i][0]))
                return kinds[i][1];
    return "a run";
}

static double in_collectives_ns(const struct ap_value *root, double parts)
{
    double device_ns = number_at(root, "communication.total_dur_us");
    return (device_ns > 0 ? device_ns : number_at(root, "communication.host_collectives.total_dur_us")) / parts;
}

static double collective_bytes(const struct ap_value *root)
{
    double bytes = 0;
    for (const struct ap_value *row = ap_value_first(ap_value_at(root, "communication.by_operation")); row; row = row->next)
        bytes += (double)ap_integer_member(row, "bytes", 0);
    return bytes;
}

/* Stages of a pipeline, and ranks that own more of a table, have collectives of their own. */
static bool are_same_collectives(const struct ap_comparing *comparing)
{
    static const char *const counts[] = { "communication.count", "communication.host_collectives.count" };
    double before = comparing->before_parts, after = comparing->after_parts;
    for (size_t i = 0; i < AP_COUNT_OF(counts); i++)
        if (ap_relative_difference(number_at(comparing->before, counts[i]) / before,
                                   number_at(comparing->after, counts[i]) / after) > AS_OFTEN_RATIO)
            return false;
    return ap_relative_difference(collective_bytes(comparing->before) / before,
                                  collective_bytes(comparing->after) / after) <= AP_NOISE_UNKNOWN_RATIO;
}

/* Ranks of one run leave a collective together: of steps that last as long, who spends less of one in collectives comes
 * later. Whether both are of one run is the user's to say. */
void ap_add_ranks_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    double rank[2];
    double ranks = number_at(comparing->after, "trace.world_size");
    double step_ns[] = { number_at(comparing->before, "steps.mean_us"), number_at(comparing->after, "steps.mean_us") };
    double ns[] = { in_collectives_ns(comparing->before, comparing->before_parts),
                    in_collectives_ns(comparing->after, comparing->after_parts) };
    if (!ap_value_number(ap_value_at(comparing->before, "trace.rank"), &rank[0]) ||
        !ap_value_number(ap_value_at(comparing->after, "trace.rank"), &rank[1]) || rank[0] == rank[1] || ranks < 2 ||
        ranks != number_at(comparing->before, "trace.world_size"))
        return;
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used,
                   "; if both are of one run, give both files together, without a baseline: that tells which rank is late");
    int late = ns[1] < ns[0];
    if (!comparing->per_step || ns[late] <= 0 || ap_relative_difference(step_ns[0], step_ns[1]) > AP_NOISE_LEAST_RATIO ||
        ns[!late] - ns[late] < AP_NOISE_LEAST_RATIO * step_ns[late] || !are_same_collectives(comparing))
        return;
    used = strlen(text);
    (void)snprintf(
        text + used, bytes - used,
        "; steps last as long, and rank %.0f spends %.1f %% less of a step in collectives than rank %.0f: then rank "
        "%.0f waits for it",
        rank[late], 100 * (ns[!late] - ns[late]) / step_ns[late], rank[!late], rank[!late]);
}
