/* SPDX-License-Identifier: MIT
 * part_cluster_late.c - who is late, and why; one sentence that says it. Sentences name ranks by number alone: names of
 * hosts and lines are words of the input and stand in keys of their own. */
#include <stdio.h>
#include <string.h>

#include "cluster_parts.h"
#include "rank_group.h"
#include "value_text.h"

#include "poison.h"

#define SENTENCE_BYTES 500
#define NUMBERS_BYTES 160
#define STEADY_SHARE 0.8     /* of the steps: from here on it is said of all of them */
#define MUCH_WAITING 0.1     /* of the time of all ranks: from here on it is said beside "balanced" */
#define TOO_MUCH_WAITING 0.3 /* and from here on it is not called so */
#define NAMED_RANKS 8        /* of a kind, those with most lateness */
#define NAMED_RANGES 8       /* of the numbers of a kind */

static const char *time_text(int64_t ns, char to[AP_VALUE_TEXT_BYTES])
{
    struct ap_value value = { .type = AP_VALUE_TIME_NS, .as.integer = ns };
    (void)ap_format_value(&value, to, AP_VALUE_TEXT_BYTES);
    return to;
}

/* ---------------------------------------------------------------------------------------------------------- kinds */

static bool is_of_kind(const struct ap_run_verdict *verdict, size_t rank, enum ap_late_kind kind)
{
    return verdict->kinds && verdict->kinds[rank] == kind;
}

/* Is it late because of what its host ran, so that the line tells where to look? */
static bool is_of_host(const struct ap_run_found *found, enum ap_late_kind kind, size_t rank)
{
    switch (kind) {
    case AP_LATE_host_code:
    case AP_LATE_data_loading:
    case AP_LATE_synchronization:
    case AP_LATE_allocation:
    case AP_LATE_compilation:
    case AP_LATE_garbage_collection:
    case AP_LATE_jitter: return true;
    case AP_LATE_more_work: return !ap_view_rank(found->view, rank)->has_device;
    default: return false;
    }
}

static struct ap_str line_of(const struct ap_run_found *found, enum ap_late_kind kind, size_t rank)
{
    return is_of_host(found, kind, rank) ? ap_delay_frame(&found->delays->ranks[rank]) : (struct ap_str){ 0 };
}

/* The line first, as all findings that name one have it. Where Python was not recorded there is none. */
static void add_place(const struct ap_run_found *found, enum ap_late_kind kind, size_t rank, struct ap_text label,
                      struct ap_model *model, struct ap_value *row)
{
    struct ap_text line = ap_rank_text(found->view->set, line_of(found, kind, rank));
    char *place = ap_arena_alloc(&model->arena, line.bytes + label.bytes + 2);
    if (!place) {
        model->failed = true;
        return;
    }
    memcpy(place, line.data, line.bytes);
    memcpy(place + line.bytes, ", ", 2);
    memcpy(place + line.bytes + 2, label.data, label.bytes);
    ap_add_known_text(model, row, "place", ap_text_contains(line, AP_TEXT(".py(")),
                      (struct ap_text){ place, line.bytes + label.bytes + 2 });
}

/* The ranks of a kind as rows, the latest first: a finding names them. Picked one by one, since there are few. */
static void add_ranks(const struct ap_run_found *found, enum ap_late_kind kind, struct ap_model *model, struct ap_value *to)
{
    const struct ap_run_verdict *verdict = found->verdict;
    struct ap_value *list = ap_add_list(model, to, "ranks");
    uint32_t before = AP_NO_RANK;
    for (int named = 0; named < NAMED_RANKS; named++) {
        uint32_t next = AP_NO_RANK;
        for (uint32_t i = 0; i < found->view->count; i++) {
            if (!is_of_kind(verdict, i, kind))
                continue;
            bool behind = before == AP_NO_RANK || verdict->typical_late_ns[i] < verdict->typical_late_ns[before] ||
                          (verdict->typical_late_ns[i] == verdict->typical_late_ns[before] && i > before);
            if (behind && (next == AP_NO_RANK || verdict->typical_late_ns[i] > verdict->typical_late_ns[next]))
                next = i;
        }
        if (next == AP_NO_RANK)
            return;
        const struct ap_rank_summary *rank = ap_view_rank(found->view, next);
        struct ap_value *row = ap_add_object(model, list, NULL);
        struct ap_text label = ap_rank_label(found->view, next, model);
        ap_add_text(model, row, "name", label);
        add_place(found, kind, next, label, model, row);
        ap_add_count(model, row, "rank", rank->rank);
        ap_add_known_text(model, row, "host", rank->host.id, ap_rank_text(found->view->set, rank->host));
        ap_add_time(model, row, "late_us", verdict->typical_late_ns[next]);
        ap_add_time(model, row, "waited_us", verdict->caused_ns[next]);
        before = next;
    }
}

/* The numbers of a kind's ranks but @without as groups are written: "3,8-15". Too many ranges are no text to read: none
 * then. */
static struct ap_text numbers_of(const struct ap_run_found *found, enum ap_late_kind kind, uint32_t without, char *to,
                                 size_t to_bytes)
{
    size_t used = 0, ranges = 0;
    for (size_t i = 0; i < found->view->count; i++) {
        if (i == without || !is_of_kind(found->verdict, i, kind))
            continue;
        long long first = (long long)ap_view_rank(found->view, i)->rank, last = first;
        while (i + 1 < found->view->count && i + 1 != without && is_of_kind(found->verdict, i + 1, kind) &&
               ap_view_rank(found->view, i + 1)->rank == last + 1) {
            i++;
            last++;
        }
        if (++ranges > NAMED_RANGES)
            return (struct ap_text){ 0 };
        used += (size_t)snprintf(to + used, to_bytes - used, last > first ? "%s%lld-%lld" : "%s%lld", used ? "," : "", first,
                                 last);
        if (used >= to_bytes)
            return (struct ap_text){ 0 };
    }
    return (struct ap_text){ to, used };
}

/* Are they a block of ranks as the ranks of one host are, whose name is not always recorded: side by side, and from a
 * multiple of their number on? */
static bool is_block(const struct ap_run_found *found, enum ap_late_kind kind)
{
    size_t count = found->verdict->late[kind].rank_count, first = 0;
    if (kind == AP_LATE_more_work || kind == AP_LATE_heavy_stage || count == found->view->count)
        return false;
    while (!is_of_kind(found->verdict, first, kind))
        first++;
    for (size_t i = 0; i < count; i++)
        if (!is_of_kind(found->verdict, first + i, kind) ||
            ap_view_rank(found->view, first + i)->rank != ap_view_rank(found->view, first)->rank + (int64_t)i)
            return false;
    return ap_view_rank(found->view, first)->rank % (int64_t)count == 0;
}

/* The others that are late like the latest. */
static void add_others(const struct ap_run_found *found, enum ap_late_kind kind, struct ap_model *model, struct ap_value *it)
{
    const struct ap_late_group *group = &found->verdict->late[kind];
    char numbers[NUMBERS_BYTES], text[NUMBERS_BYTES + 80] = "";
    bool several = group->worst != AP_NO_RANK && group->rank_count > 1 && is_of_kind(found->verdict, group->worst, kind);
    struct ap_text others =
        several ? numbers_of(found, kind, group->worst, numbers, sizeof(numbers)) : (struct ap_text){ 0 };
    if (others.bytes)
        (void)snprintf(text, sizeof(text), "rank%s %.*s%s", group->rank_count > 2 ? "s" : "", (int)others.bytes, others.data,
                       is_block(found, kind) ? ", side by side as ranks of one host are: look at what they share first"
                                             : "");
    else if (several)
        (void)snprintf(text, sizeof(text), "%zu more", group->rank_count - 1);
    ap_add_known_text(model, it, "others", several, ap_text_of(text));
}

/* How long its calls take against the same calls of others. */
static double longer_times(enum ap_late_kind kind, const struct ap_work_apart *apart)
{
    if (kind == AP_LATE_slow_copies)
        return apart->times.copy_times;
    if (kind == AP_LATE_slow_cpu && ap_has_slow_host(apart))
        return apart->times.operator_times;
    return kind == AP_LATE_more_work || kind == AP_LATE_heavy_stage ? apart->times.at_least : apart->times.as_usual;
}

/* One of these tells how the work of the rank differs; of kinds that do not go by work none. */
static void add_apart(enum ap_late_kind kind, const struct ap_work_apart *apart, struct ap_model *model, struct ap_value *to)
{
    bool more = kind == AP_LATE_more_work || kind == AP_LATE_heavy_stage,
         longer = kind == AP_LATE_slow_device || kind == AP_LATE_slow_cpu;
    bool more_calls = more && apart->calls_times >= AP_APART_CALLS;
    bool extra_calls = more && !more_calls && apart->calls_more > 0 && apart->shapes_differ;
    bool other_shapes = more && !more_calls && !extra_calls && apart->shapes_differ && apart->times.is_shaped;
    double times = longer_times(kind, apart);
    bool is_longer = (more && !more_calls && !extra_calls && !other_shapes) || longer || kind == AP_LATE_slow_copies;
    bool equal = kind == AP_LATE_slow_copies || apart->times.is_shaped;
    ap_add_known_number(model, to, "calls_times", more_calls, apart->calls_times);
    ap_add_known_count(model, to, "calls_more", extra_calls, apart->calls_more);
    ap_add_known_number(model, to, "shapes_times", other_shapes, apart->work_times);
    ap_add_known_number(model, to, "equal_times", is_longer && equal && times >= AP_SLOW_TIMES, times);
    ap_add_known_number(model, to, "alike_times", is_longer && !equal && times >= AP_SLOW_TIMES, times);
}

static void add_kind(const struct ap_run_found *found, enum ap_late_kind kind, struct ap_model *model, struct ap_value *late)
{
    const struct ap_late_group *group = &found->verdict->late[kind];
    const struct ap_run_view *view = found->view;
    bool is = group->worst != AP_NO_RANK;
    const struct ap_rank_summary *worst = is ? ap_view_rank(view, group->worst) : NULL;
    struct ap_str frame = is ? line_of(found, kind, group->worst) : (struct ap_str){ 0 };
    struct ap_value *it = ap_add_object(model, late, ap_late_name(kind));
    bool judged = found->delays->judged_count > 0 || is;
    ap_add_known_count(model, it, "rank_count", judged, (int64_t)group->rank_count);
    ap_add_known_count(model, it, "others_count", is, (int64_t)group->rank_count - 1);
    char numbers[NUMBERS_BYTES];
    struct ap_text all = is ? numbers_of(found, kind, AP_NO_RANK, numbers, sizeof(numbers)) : (struct ap_text){ 0 };
    ap_add_known_text(model, it, "numbers", all.bytes, all);
    add_others(found, kind, model, it);
    ap_add_known_count(model, it, "rank", is, is ? worst->rank : 0);
    ap_add_known_text(model, it, "host", is && worst->host.id, ap_rank_text(view->set, is ? worst->host : frame));
    ap_add_known_time(model, it, "late_us", is, group->late_ns);
    ap_add_known_ratio(model, it, "step_ratio", is && view->step_ns,
                       view->step_ns ? (double)group->late_ns / (double)view->step_ns : 0);
    ap_add_known_ratio(model, it, "steps_late_ratio", is, group->share);
    ap_add_known_time(model, it, "waited_us", is, group->waited_ns);
    ap_add_known_ratio(model, it, "waited_ratio", is && view->rank_time_ns,
                       view->rank_time_ns ? (double)group->waited_ns / (double)view->rank_time_ns : 0);
    ap_add_known_time(model, it, "lost_us", is, group->lost_ns);
    ap_add_known_text(model, it, "line", frame.id, ap_rank_text(view->set, frame));
    add_apart(kind, is ? &group->apart : &(struct ap_work_apart){ .calls_times = 0 }, model, it);
    add_ranks(found, kind, model, it);
}

/* As a group of the two is written. */
static struct ap_text pair_text(const struct ap_run_view *view, const struct ap_slow_link *link, char to[48])
{
    long long lower = (long long)ap_view_rank(view, link->ranks[0])->rank;
    long long upper = (long long)ap_view_rank(view, link->ranks[1])->rank;
    (void)snprintf(to, 48, upper == lower + 1 ? "%lld-%lld" : "%lld,%lld", lower, upper);
    return ap_text_of(to);
}

static void add_link(const struct ap_run_found *found, const struct ap_slow_link *link, struct ap_model *model,
                     struct ap_value *it)
{
    bool is = ap_has_slow_link(link);
    char pair[48];
    struct ap_text group =
        link->is_pair ? pair_text(found->view, link, pair) : ap_group_members(ap_rank_text(found->view->set, link->group));
    ap_add_known_text(model, it, "group", is, group);
    ap_add_known_count(model, it, "rank_count", is, ap_group_size(group));
    ap_add_known_string(model, it, "operation", is,
                        ap_collective_operation_name((enum ap_collective_operation)link->operation));
    ap_add_known_bytes(model, it, "bytes", is && link->bytes >= 0, link->bytes);
    ap_add_known_time(model, it, "dur_us", is, link->dur_ns);
    ap_add_known_time(model, it, "usual_us", is, link->usual_ns);
    ap_add_known_number(model, it, "times", is && link->usual_ns,
                        link->usual_ns ? (double)link->dur_ns / (double)link->usual_ns : 0);
    ap_add_known_time(model, it, "excess_us", is, link->excess_ns);
    int64_t lost_ns = 0;
    bool fits = is && !__builtin_mul_overflow(link->excess_ns, ap_group_size(group), &lost_ns);
    ap_add_known_time(model, it, "lost_us", fits, lost_ns);
    ap_add_known_count(model, it, "like_count", is, (int64_t)link->like_count);
}

/* The worst, and the list of all. */
static void add_links(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    const struct ap_run_verdict *verdict = found->verdict;
    struct ap_value *worst = ap_add_object(model, to, "link");
    uint64_t limit = found->options->top_n;
    add_link(found, &verdict->link, model, worst);
    ap_add_count(model, worst, "slow_count", (int64_t)verdict->link_count);
    struct ap_value *list = ap_add_list(model, to, "links");
    for (size_t i = 0; i < verdict->link_count && (!limit || i < limit); i++)
        add_link(found, &verdict->links[i], model, ap_add_object(model, list, NULL));
}

/* -------------------------------------------------------------------------------------------------------- sentence */

static enum ap_late_kind worst_kind(const struct ap_run_verdict *verdict)
{
    enum ap_late_kind worst = AP_LATE_NONE;
    for (int i = 0; i < AP_LATE_COUNT_; i++)
        if (verdict->late[i].worst != AP_NO_RANK &&
            (worst == AP_LATE_NONE || verdict->late[i].waited_ns > verdict->late[worst].waited_ns))
            worst = (enum ap_late_kind)i;
    return worst;
}

static void say_several(const struct ap_run_found *found, enum ap_late_kind kind, char sentence[SENTENCE_BYTES])
{
    const struct ap_late_group *group = &found->verdict->late[kind];
    char late[AP_VALUE_TEXT_BYTES], step[AP_VALUE_TEXT_BYTES], numbers[NUMBERS_BYTES], who[NUMBERS_BYTES + 8];
    struct ap_text all = numbers_of(found, kind, AP_NO_RANK, numbers, sizeof(numbers));
    if (all.bytes)
        (void)snprintf(who, sizeof(who), "ranks %.*s", (int)all.bytes, all.data);
    else
        (void)snprintf(who, sizeof(who), "%zu ranks", group->rank_count);
    (void)snprintf(sentence, SENTENCE_BYTES,
                   "%s are late in every step, and the others wait; the latest is rank %lld, by %s of a step of %s: %s", who,
                   (long long)ap_view_rank(found->view, group->worst)->rank, time_text(group->late_ns, late),
                   time_text(found->view->step_ns, step), ap_late_meaning(kind));
}

static void say_late(const struct ap_run_found *found, enum ap_late_kind kind, char sentence[SENTENCE_BYTES])
{
    const struct ap_late_group *group = &found->verdict->late[kind];
    char late[AP_VALUE_TEXT_BYTES], step[AP_VALUE_TEXT_BYTES];
    (void)time_text(group->late_ns, late);
    (void)time_text(found->view->step_ns, step);
    long long rank = (long long)ap_view_rank(found->view, group->worst)->rank;
    if (kind == AP_LATE_jitter || kind == AP_LATE_uneven_data)
        (void)snprintf(sentence, SENTENCE_BYTES,
                       "%s: the latest one is late by %s of a step of %s, and the others wait for it", ap_late_meaning(kind),
                       late, step);
    else if (group->share < STEADY_SHARE)
        (void)snprintf(
            sentence, SENTENCE_BYTES,
            "in %.0f %% of the steps rank %lld is late, in the mean of all steps by %s, where the median step takes %s, and "
            "the others wait for it: %s",
            group->share * 100, rank, late, step, ap_late_meaning(kind));
    else if (group->rank_count > 1)
        say_several(found, kind, sentence);
    else
        (void)snprintf(sentence, SENTENCE_BYTES, "rank %lld is late by %s in a step of %s, and the others wait for it: %s",
                       rank, late, step, ap_late_meaning(kind));
}

static void say_absent(const struct ap_run_found *found, char sentence[SENTENCE_BYTES])
{
    const struct ap_run_verdict *verdict = found->verdict;
    char time[AP_VALUE_TEXT_BYTES];
    long long last = verdict->most_last == AP_NO_RANK ? -1 : (long long)ap_view_rank(found->view, verdict->most_last)->rank;
    size_t used = (size_t)snprintf(
        sentence, SENTENCE_BYTES,
        "the last arrival is not among these %zu of %lld ranks: collectives go on for %s after all that are given have come",
        found->view->count, (long long)found->view->world_size, time_text(verdict->absent_ns, time));
    if (last >= 0 && used < SENTENCE_BYTES)
        (void)snprintf(sentence + used, SENTENCE_BYTES - used, "; of those given rank %lld comes last in %u of %u", last,
                       found->delays->ranks[verdict->most_last].last_count,
                       found->delays->ranks[verdict->most_last].matched_count);
}

/* Of ranks that are no stragglers: others are as late, or one is late by chance, as processes that share cores are. */
static int64_t most_usually_late(const struct ap_run_verdict *verdict)
{
    int64_t most_ns = verdict->floor_ns;
    for (size_t i = 0; i < verdict->delays->rank_count; i++)
        most_ns = verdict->typical_late_ns[i] > most_ns ? verdict->typical_late_ns[i] : most_ns;
    return most_ns;
}

/* The one that comes last nearly always is told, though nothing shows why it does. */
static const char *say_balanced(const struct ap_run_found *found, char sentence[SENTENCE_BYTES])
{
    const struct ap_run_verdict *verdict = found->verdict;
    const struct ap_rank_delay *last = verdict->most_last == AP_NO_RANK ? NULL : &found->delays->ranks[verdict->most_last];
    char who[120] = "no rank", time[AP_VALUE_TEXT_BYTES];
    double waited = found->view->rank_time_ns ? (double)found->delays->waited_ns / (double)found->view->rank_time_ns : 0;
    if (found->view->apart_count) {
        (void)snprintf(
            sentence, SENTENCE_BYTES,
            "%zu of %zu ranks recorded other steps than the first one: no step of theirs is compared with its steps",
            found->view->apart_count, found->view->count);
        return "unknown";
    }
    bool is_one = waited >= MUCH_WAITING && last && last->last_count >= STEADY_SHARE * last->matched_count;
    if (found->view->absent_count)
        (void)snprintf(who, sizeof(who), "none of the %zu ranks of %lld that are given", found->view->count,
                       (long long)found->view->world_size);
    size_t used = (size_t)snprintf(sentence, SENTENCE_BYTES, "%s is late by more than %s in most steps", who,
                                   time_text(most_usually_late(verdict), time));
    if (waited >= MUCH_WAITING && used < SENTENCE_BYTES)
        used += (size_t)snprintf(sentence + used, SENTENCE_BYTES - used,
                                 "; together the ranks wait for each other %.0f %% of their time", waited * 100);
    if (is_one && used < SENTENCE_BYTES)
        (void)snprintf(
            sentence + used, SENTENCE_BYTES - used, ": rank %lld comes last in %u of %u collectives, and no trace tells why",
            (long long)ap_view_rank(found->view, verdict->most_last)->rank, last->last_count, last->matched_count);
    return is_one || waited >= TOO_MUCH_WAITING ? "unknown" : "balanced";
}

static const char *say(const struct ap_run_found *found, char sentence[SENTENCE_BYTES])
{
    const struct ap_run_verdict *verdict = found->verdict;
    char time[AP_VALUE_TEXT_BYTES], usual[AP_VALUE_TEXT_BYTES];
    enum ap_late_kind kind = worst_kind(verdict);
    if (!found->delays->judged_count && kind == AP_LATE_NONE) {
        (void)snprintf(sentence, SENTENCE_BYTES,
                       "no collective of several ranks could be compared, so nothing tells who waits for whom%s",
                       found->matching->unmatched[AP_UNMATCHED_groups] ? ": it cannot be told which ranks took part in which"
                                                                       : "");
        return "unknown";
    }
    if (verdict->absent_is_late) {
        say_absent(found, sentence);
        return "absent-rank";
    }
    if (ap_has_slow_link(&verdict->link) &&
        (kind == AP_LATE_NONE || kind == AP_LATE_other || verdict->link.excess_ns > verdict->late[kind].waited_ns)) {
        char groups[40] = "one group";
        if (verdict->link_count > 1)
            (void)snprintf(groups, sizeof(groups), "%zu groups", verdict->link_count);
        (void)snprintf(sentence, SENTENCE_BYTES,
                       "the transfers of %s take %s where those of groups alike take %s, though all arrive together", groups,
                       time_text(verdict->link.dur_ns, time), time_text(verdict->link.usual_ns, usual));
        return "slow-link";
    }
    if (kind != AP_LATE_NONE) {
        say_late(found, kind, sentence);
        return kind == AP_LATE_jitter || kind == AP_LATE_uneven_data ? "moving" : "straggler";
    }
    if (verdict->unexplained_count) {
        (void)snprintf(sentence, SENTENCE_BYTES,
                       "%zu rank%s late in most steps for no reason that the trace%s, so who is waited for is not known",
                       verdict->unexplained_count, verdict->unexplained_count == 1 ? " is" : "s are",
                       verdict->unexplained_count == 1 ? " tells" : "s tell");
        return "unknown";
    }
    return say_balanced(found, sentence);
}

/* Of dumps and of snapshots alone nothing is asked about time. */
static void add_verdict(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    char sentence[SENTENCE_BYTES];
    if (found->view->count == 0 && (found->files->kind_counts[AP_FILE_flight] || found->view->set->memory.count)) {
        ap_add_null(model, to, "verdict");
        return;
    }
    struct ap_value *verdict = ap_add_object(model, to, "verdict");
    const char *bound = say(found, sentence);
    ap_add_string(model, verdict, "kind", bound);
    ap_add_string(model, verdict, "sentence", sentence);
}

void ap_cluster_add_late(const struct ap_run_found *found, struct ap_model *model, struct ap_value *to)
{
    add_verdict(found, model, to);
    struct ap_value *late = ap_add_object(model, to, "late");
    for (int i = 0; i < AP_LATE_COUNT_; i++)
        add_kind(found, (enum ap_late_kind)i, model, late);
    add_links(found, model, to);
}
