/* SPDX-License-Identifier: MIT
 * rank_delays.c - goes through the matched collectives and keeps, for each rank, the delay that is explained already.
 *
 * A delay is told against the middle one of those that meet. What a rank is late by beyond what its explained delay and
 * that of the middle one differ by is its own. Behind the collective, who waited is as late as who was waited for, but
 * only as far as the waiting was exposed: behind a collective that other kernels hid, the rank goes on as it was. */
#include "rank_delays.h"

#include "match_order.h"
#include "sort.h"

#include "poison.h"

/* Less than that is the noise of a launch; causes are not looked for. */
#define CAUSE_LEAST_NS 10000

#define NOBODY UINT32_MAX

struct walk {
    struct ap_delays *delays;
    int64_t *explained_ns; /* by rank: its delay, known so far */
    uint32_t *root;        /* by rank: whose it is; NOBODY = from before the window */
    int64_t *pending_ns;   /* by rank: waiting in collectives that others followed at once */
    int64_t *most_ns;      /* by rank: the longest of these waits */
    uint32_t *waits_for;   /* by rank: whose delay that was; NOBODY likewise */
    int64_t *step;         /* by rank: of its last collective */
    bool *seen;            /* by rank: its first collective is behind it */
    uint32_t *sorted;      /* members of one match by duration, the longest first */
    int64_t *values;       /* scratch, one for each member */
    size_t widest;         /* members of the largest match */
};

/* ----------------------------------------------------------------------------------------------------- one match */

struct meeting {
    const struct ap_match *match;
    int64_t longest_ns, shortest_ns, middle_lag_ns;
    bool middle_is_queued;
    uint32_t middle; /* rank */
    uint32_t last;   /* member with the shortest duration, the lowest rank of equals */
};

static const struct ap_rank_collective *member_row(const struct walk *walk, const struct ap_match *match, size_t i)
{
    return ap_match_row(walk->delays->matching, match->first + i);
}

static uint32_t member_rank(const struct walk *walk, const struct ap_match *match, size_t i)
{
    return walk->delays->matching->members[match->first + i].rank;
}

static bool is_followed(const struct walk *walk, const struct meeting *meeting, size_t member)
{
    const struct ap_matching *matching = walk->delays->matching;
    const struct ap_match_member *it = &matching->members[meeting->match->first + member];
    const struct ap_rank_summary *rank = ap_view_rank(matching->view, it->rank);
    return it->collective + 1 < rank->collective_count && ap_rank_is_queued(rank, it->collective + 1);
}

static bool is_queued(const struct walk *walk, const struct meeting *meeting, size_t member)
{
    const struct ap_matching *matching = walk->delays->matching;
    const struct ap_match_member *it = &matching->members[meeting->match->first + member];
    return ap_rank_is_queued(ap_view_rank(matching->view, it->rank), it->collective);
}

struct member_order {
    const struct walk *walk;
    const struct ap_match *match;
};

static bool is_longer(const void *context, uint32_t a, uint32_t b)
{
    const struct member_order *order = context;
    int64_t x = member_row(order->walk, order->match, a)->dur_ns, y = member_row(order->walk, order->match, b)->dur_ns;
    return x != y ? x > y : a < b;
}

static enum ap_status meet(struct walk *walk, const struct ap_match *match, struct meeting *ret_meeting,
                           struct ap_error *reterr)
{
    const struct member_order order = { walk, match };
    for (uint32_t i = 0; i < match->count; i++)
        walk->sorted[i] = i;
    AP_TRY(ap_sort_list(walk->delays->gate, walk->sorted, match->count, is_longer, &order, reterr));
    uint32_t middle = walk->sorted[(match->count - 1) / 2];
    struct meeting meeting = { .match = match, .middle = member_rank(walk, match, middle) };
    meeting.longest_ns = member_row(walk, match, walk->sorted[0])->dur_ns;
    meeting.shortest_ns = member_row(walk, match, walk->sorted[match->count - 1])->dur_ns;
    meeting.middle_lag_ns = meeting.longest_ns - member_row(walk, match, middle)->dur_ns;
    meeting.last = walk->sorted[match->count - 1];
    for (size_t i = match->count; i-- > 0 && member_row(walk, match, walk->sorted[i])->dur_ns == meeting.shortest_ns;)
        meeting.last = walk->sorted[i];
    *ret_meeting = meeting;
    ret_meeting->middle_is_queued = is_queued(walk, ret_meeting, middle);
    return AP_OK;
}

/* --------------------------------------------------------------------------------------------------------- causes */

static int64_t spent_before(const struct ap_rank_collective *row, int class)
{
    for (int i = 0; i < AP_RANK_BEFORE; i++)
        if (row->before[i] == class && row->before_us[i])
            return (int64_t)row->before_us[i] * 1000;
    return 0;
}

static int64_t all_before(const struct ap_rank_collective *row)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < AP_RANK_BEFORE; i++)
        sum_ns += (int64_t)row->before_us[i] * 1000;
    return sum_ns;
}

/* The middle of what the others of its role spent before this collective; of all, where the rank is alone in its role. */
static int64_t usual_before(struct walk *walk, const struct meeting *meeting, size_t member, int class)
{
    const struct ap_delays *delays = walk->delays;
    uint32_t role = delays->role[member_rank(walk, meeting->match, member)];
    for (int pass = 0; pass < 2; pass++) {
        size_t count = 0;
        for (size_t i = 0; i < meeting->match->count; i++) {
            const struct ap_rank_collective *row = member_row(walk, meeting->match, i);
            if (i != member && (pass || delays->role[member_rank(walk, meeting->match, i)] == role))
                walk->values[count++] = class < 0 ? all_before(row) : spent_before(row, class);
        }
        if (!count)
            continue;
        ap_sort(walk->values, count, sizeof(walk->values[0]), ap_by_int64);
        return walk->values[(count - 1) / 2];
    }
    return 0;
}

/* Misra and Gries: who has more than a fifth of all lateness stays in the list. */
static void count_frame(struct ap_rank_delay *to, struct ap_str frame, int64_t late_ns)
{
    size_t least = 0;
    bool overflowed = false;
    for (size_t i = 0; i < AP_LATE_FRAMES; i++) {
        if (to->frames[i].frame.id == frame.id) {
            to->frames[i].late_ns = ap_add_sat(to->frames[i].late_ns, late_ns, &overflowed);
            return;
        }
        least = to->frames[i].late_ns < to->frames[least].late_ns ? i : least;
    }
    int64_t taken_ns = to->frames[least].late_ns < late_ns ? to->frames[least].late_ns : late_ns;
    for (size_t i = 0; i < AP_LATE_FRAMES; i++)
        to->frames[i].late_ns -= taken_ns;
    if (late_ns > taken_ns)
        to->frames[least] = (struct ap_late_frame){ frame, late_ns - taken_ns };
}

/* Divides the lateness by what the rank did more of since its collective before. What is left over came out of that one. */
static void find_causes(struct walk *walk, const struct meeting *meeting, size_t member, int64_t own_ns,
                        struct ap_rank_delay *to)
{
    const struct ap_rank_collective *row = member_row(walk, meeting->match, member);
    int64_t excess_ns[AP_SPENT_COUNT_], sum_ns = 0;
    int64_t longer_ns = all_before(row) - usual_before(walk, meeting, member, -1);
    int64_t explained_ns = longer_ns < 0 ? 0 : longer_ns < own_ns ? longer_ns : own_ns;
    to->transfer_ns += own_ns - explained_ns;
    for (int i = 0; i < AP_SPENT_COUNT_; i++) {
        int64_t spent_ns = spent_before(row, i);
        int64_t more_ns = spent_ns ? spent_ns - usual_before(walk, meeting, member, i) : 0;
        excess_ns[i] = more_ns > 0 ? more_ns : 0;
        sum_ns += excess_ns[i];
    }
    for (int i = 0; i < AP_SPENT_COUNT_ && sum_ns; i++)
        to->cause_ns[i] += ap_share_of(explained_ns, (double)excess_ns[i] / (double)sum_ns);
    /* Where nothing was recorded for most of it, no line that was recorded stands for it. */
    if (row->frame.id || spent_before(row, AP_SPENT_untraced))
        count_frame(to, row->frame, own_ns);
}

/* --------------------------------------------------------------------------------------------------------- delays */

struct lateness {
    int64_t relative_ns; /* against the middle one */
    int64_t own_ns, inherited_ns, waited_ns;
    int64_t pending_ns; /* waiting since the last collective that nothing followed at once */
    bool is_followed;
};

static struct lateness lateness_of(const struct walk *walk, const struct meeting *meeting, size_t member)
{
    const struct ap_rank_collective *row = member_row(walk, meeting->match, member);
    uint32_t rank = member_rank(walk, meeting->match, member);
    int64_t expected_ns = walk->explained_ns[rank] - walk->explained_ns[meeting->middle];
    struct lateness it = { .relative_ns = meeting->longest_ns - row->dur_ns - meeting->middle_lag_ns };
    bool overflowed = false;
    it.pending_ns = ap_add_sat(walk->pending_ns[rank], row->dur_ns - meeting->shortest_ns, &overflowed);
    it.waited_ns = it.pending_ns < row->exposed_ns ? it.pending_ns : row->exposed_ns;
    it.is_followed = is_followed(walk, meeting, member);
    if (it.relative_ns <= 0)
        return it;
    it.inherited_ns = expected_ns < 0 ? 0 : expected_ns < it.relative_ns ? expected_ns : it.relative_ns;
    it.own_ns = it.relative_ns - it.inherited_ns;
    return it;
}

static void count_waiting(struct ap_delays *delays, uint32_t rank, const struct lateness *it)
{
    struct ap_rank_delay *to = &delays->ranks[rank];
    bool overflowed = false;
    to->matched_count++;
    to->waited_ns = ap_add_sat(to->waited_ns, it->waited_ns, &overflowed);
    delays->waited_ns = ap_add_sat(delays->waited_ns, it->waited_ns, &overflowed);
}

static void add_lateness(struct walk *walk, const struct meeting *meeting, size_t member, const struct lateness *it)
{
    struct ap_delays *delays = walk->delays;
    uint32_t rank = member_rank(walk, meeting->match, member);
    struct ap_rank_delay *to = &delays->ranks[rank];
    bool overflowed = false;
    if (!walk->seen[rank]) {
        to->before_ns = it->own_ns;
        return;
    }
    to->late_ns = ap_add_sat(to->late_ns, it->own_ns, &overflowed);
    to->inherited_ns = ap_add_sat(to->inherited_ns, it->inherited_ns, &overflowed);
    const struct ap_run_view *view = delays->matching->view;
    if (view->has_steps && meeting->match->step >= view->first_step && meeting->match->step <= view->last_step) {
        int64_t *late_ns = &delays->late_ns[(size_t)(meeting->match->step - view->first_step) * delays->rank_count + rank];
        *late_ns = ap_add_sat(*late_ns, it->own_ns, &overflowed);
    }
    if (it->own_ns >= CAUSE_LEAST_NS)
        find_causes(walk, meeting, member, it->own_ns, to);
}

static void count_lateness(struct walk *walk, const struct meeting *meeting, size_t member, const struct lateness *it)
{
    uint32_t rank = member_rank(walk, meeting->match, member);
    count_waiting(walk->delays, rank, it);
    walk->delays->ranks[rank].last_count += member == meeting->last && meeting->longest_ns > meeting->shortest_ns;
    add_lateness(walk, meeting, member, it);
}

/* Whose delay the others waited for. */
static uint32_t root_of(const struct walk *walk, const struct meeting *meeting, const struct lateness *last)
{
    uint32_t rank = member_rank(walk, meeting->match, meeting->last);
    if (!walk->seen[rank])
        return NOBODY;
    return last->own_ns >= last->inherited_ns ? rank : walk->root[rank];
}

/* Collectives that follow each other at once count as one wait, at the last of them, in which all are in line: it was for
 * whom the longest of them was for. */
static void note_wait(struct walk *walk, const struct meeting *meeting, size_t member, uint32_t root)
{
    uint32_t rank = member_rank(walk, meeting->match, member);
    int64_t here_ns = member_row(walk, meeting->match, member)->dur_ns - meeting->shortest_ns;
    if (walk->pending_ns[rank] && here_ns <= walk->most_ns[rank])
        return;
    walk->most_ns[rank] = here_ns;
    walk->waits_for[rank] = root;
}

static void go_on(struct walk *walk, const struct meeting *meeting, size_t member, const struct lateness *it,
                  int64_t middle_explained_ns)
{
    uint32_t rank = member_rank(walk, meeting->match, member);
    bool overflowed = false;
    walk->pending_ns[rank] = it->is_followed ? it->pending_ns : 0;
    if (it->own_ns > it->inherited_ns)
        walk->root[rank] = walk->seen[rank] ? rank : NOBODY;
    if (it->waited_ns > 0 && it->waited_ns > it->relative_ns)
        walk->root[rank] = walk->waits_for[rank];
    int64_t explained_ns = ap_add_sat(middle_explained_ns, it->relative_ns + it->waited_ns, &overflowed);
    /* Behind one that was queued the middle one may have come earlier: it is known no better how late this rank is. */
    if (!meeting->middle_is_queued || explained_ns > walk->explained_ns[rank])
        walk->explained_ns[rank] = explained_ns;
}

/* No rank begins a step before the one before has brought all into line: what was explained there is over. */
static void begin_step(struct walk *walk, const struct ap_match *match)
{
    for (size_t i = 0; i < match->count; i++) {
        uint32_t rank = member_rank(walk, match, i);
        if (match->step < 0 || match->step == walk->step[rank])
            continue;
        walk->step[rank] = match->step;
        walk->explained_ns[rank] = walk->pending_ns[rank] = 0;
        walk->root[rank] = NOBODY;
    }
}

/* ----------------------------------------------------------------------------------------------- those with a root
 *
 * Who is ready before the root of a broadcast waits for the root alone, and of a reduction the root waits for the last one:
 * the others leave when they like, so that durations do not tell who was waited for. It is who came when the waiting
 * ended. */

/* Of those that did not wait themselves, the one that came nearest to the end of the longest waiting. Where clocks do not
 * tell, it is known if there is but one. NOBODY = it is not known. */
static uint32_t find_awaited(const struct walk *walk, const struct meeting *meeting)
{
    const struct ap_clocks *clocks = walk->delays->clocks;
    const struct ap_match *match = meeting->match;
    uint32_t longest = member_rank(walk, match, walk->sorted[0]), found = NOBODY, alone = NOBODY, others = 0;
    const struct ap_rank_collective *row = member_row(walk, match, walk->sorted[0]);
    int64_t most_ns = meeting->longest_ns - meeting->shortest_ns, nearest_ns = INT64_MAX;
    int64_t over_ns = ap_clocks_common_ns(clocks, longest, row->start_ns) + most_ns;
    for (uint32_t i = 0; i < match->count; i++) {
        const struct ap_rank_collective *it = member_row(walk, match, i);
        uint32_t rank = member_rank(walk, match, i);
        if (it->dur_ns - meeting->shortest_ns > most_ns / 2)
            continue;
        if (walk->pending_ns[rank] > most_ns / 2) {
            others += 2; /* it came as early as the others, and had to wait in the one before */
            continue;
        }
        others++;
        alone = i;
        int64_t error_ns = ap_clocks_error_ns(clocks, longest, rank);
        int64_t apart_ns = ap_clocks_common_ns(clocks, rank, it->start_ns) - over_ns;
        apart_ns = apart_ns < 0 ? -apart_ns : apart_ns;
        if (error_ns < 0 || apart_ns > error_ns + most_ns / 4 || apart_ns >= nearest_ns)
            continue;
        nearest_ns = apart_ns;
        found = i;
    }
    return found != NOBODY || others != 1 ? found : alone;
}

/* How much later the awaited one came than the middle one of those whose clocks tell; without clocks, than the middle one
 * waited. No more than somebody waited. */
static int64_t lag_of_awaited(const struct walk *walk, const struct meeting *meeting, uint32_t awaited)
{
    const struct ap_clocks *clocks = walk->delays->clocks;
    const struct ap_match *match = meeting->match;
    uint32_t rank = member_rank(walk, match, awaited);
    int64_t most_ns = meeting->longest_ns - meeting->shortest_ns;
    int64_t came_ns = ap_clocks_common_ns(clocks, rank, member_row(walk, match, awaited)->start_ns);
    size_t count = 0;
    for (uint32_t i = 0; i < match->count; i++) {
        uint32_t other = member_rank(walk, match, i);
        int64_t error_ns = i == awaited ? 0 : ap_clocks_error_ns(clocks, rank, other);
        if (error_ns >= 0 && error_ns <= most_ns / 4)
            walk->values[count++] = came_ns - ap_clocks_common_ns(clocks, other, member_row(walk, match, i)->start_ns);
    }
    int64_t lag_ns = meeting->middle_lag_ns;
    lag_ns = most_ns - lag_ns; /* what the middle one waited */
    if (2 * count > match->count) {
        ap_sort(walk->values, count, sizeof(walk->values[0]), ap_by_int64);
        lag_ns = walk->values[count / 2];
    }
    return lag_ns < 0 ? 0 : lag_ns < most_ns ? lag_ns : most_ns;
}

static void blame_awaited(struct walk *walk, const struct meeting *meeting, uint32_t awaited)
{
    uint32_t rank = member_rank(walk, meeting->match, awaited);
    int64_t expected_ns = walk->explained_ns[rank] - walk->explained_ns[meeting->middle];
    int64_t lag_ns = lag_of_awaited(walk, meeting, awaited);
    struct lateness it = { .inherited_ns = expected_ns < 0 ? 0 : expected_ns < lag_ns ? expected_ns : lag_ns };
    bool overflowed = false;
    it.own_ns = lag_ns - it.inherited_ns;
    walk->delays->ranks[rank].last_count++;
    walk->delays->ranks[rank].awaited_count++;
    add_lateness(walk, meeting, awaited, &it);
    if (it.own_ns > it.inherited_ns)
        walk->root[rank] = walk->seen[rank] ? rank : NOBODY;
    walk->explained_ns[rank] = ap_add_sat(walk->explained_ns[rank], it.own_ns, &overflowed);
}

static void wait_for_root(struct walk *walk, const struct meeting *meeting, size_t member, uint32_t root)
{
    struct ap_delays *delays = walk->delays;
    uint32_t rank = member_rank(walk, meeting->match, member);
    struct lateness it = lateness_of(walk, meeting, member);
    bool overflowed = false;
    count_waiting(delays, rank, &it);
    delays->ranks[rank].rooted_count++;
    note_wait(walk, meeting, member, root);
    if (root != NOBODY && it.pending_ns >= CAUSE_LEAST_NS)
        walk->root[rank] = root;
    if (walk->root[rank] != NOBODY && walk->root[rank] != rank) {
        struct ap_rank_delay *of_root = &delays->ranks[walk->root[rank]];
        of_root->caused_ns = ap_add_sat(of_root->caused_ns, it.waited_ns, &overflowed);
    }
    walk->pending_ns[rank] = it.is_followed ? it.pending_ns : 0;
    walk->explained_ns[rank] = ap_add_sat(walk->explained_ns[rank], it.waited_ns, &overflowed);
    walk->seen[rank] = true;
}

static enum ap_status walk_rooted(struct walk *walk, uint32_t number, struct ap_error *reterr)
{
    struct ap_delays *delays = walk->delays;
    const struct ap_match *match = &delays->matching->matches[number];
    struct meeting meeting;
    AP_TRY(meet(walk, match, &meeting, reterr));
    uint32_t root = NOBODY, awaited = NOBODY;
    delays->judged_count++;
    if (meeting.longest_ns - meeting.shortest_ns >= CAUSE_LEAST_NS)
        awaited = find_awaited(walk, &meeting);
    if (awaited != NOBODY) {
        uint32_t rank = member_rank(walk, match, awaited);
        blame_awaited(walk, &meeting, awaited);
        root = walk->seen[rank] ? walk->root[rank] == NOBODY ? rank : walk->root[rank] : NOBODY;
        delays->last_rank[number] = rank;
    }
    for (size_t i = 0; i < match->count; i++)
        wait_for_root(walk, &meeting, i, root);
    return AP_OK;
}

static enum ap_status walk_match(struct walk *walk, uint32_t number, struct ap_error *reterr)
{
    struct ap_delays *delays = walk->delays;
    const struct ap_match *match = &delays->matching->matches[number];
    struct meeting meeting;
    bool overflowed = false;
    delays->last_rank[number] = -1;
    if (!match->ends_together && !match->has_root)
        return AP_OK;
    begin_step(walk, match);
    if (match->has_root)
        return walk_rooted(walk, number, reterr);
    AP_TRY(meet(walk, match, &meeting, reterr));
    struct lateness last = lateness_of(walk, &meeting, meeting.last);
    uint32_t root = root_of(walk, &meeting, &last);
    int64_t middle_explained_ns = walk->explained_ns[meeting.middle];
    delays->judged_count++;
    if (meeting.longest_ns > meeting.shortest_ns)
        delays->last_rank[number] = member_rank(walk, match, meeting.last);
    /* All are judged by what is known before anybody goes on. The middle one's own delay is used by all of them. */
    for (size_t i = 0; i < match->count; i++) {
        struct lateness it = lateness_of(walk, &meeting, i);
        count_lateness(walk, &meeting, i, &it);
        note_wait(walk, &meeting, i, root);
        uint32_t to = walk->waits_for[member_rank(walk, match, i)];
        if (to != NOBODY)
            delays->ranks[to].caused_ns = ap_add_sat(delays->ranks[to].caused_ns, it.waited_ns, &overflowed);
    }
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < match->count; i++)
            if ((member_rank(walk, match, i) == meeting.middle) == turn) {
                struct lateness it = lateness_of(walk, &meeting, i);
                go_on(walk, &meeting, i, &it, middle_explained_ns);
            }
    for (size_t i = 0; i < match->count; i++)
        walk->seen[member_rank(walk, match, i)] = true;
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- roles */

/* What a rank communicates, whatever the sizes: ranks of one pipeline stage and column have the same. */
static uint64_t role_key(const struct ap_matching *matching, uint32_t rank)
{
    const struct ap_rank_summary *summary = ap_view_rank(matching->view, rank);
    uint64_t counts[AP_COLLECTIVE_COUNT_] = { 0 }, key = summary->has_device;
    for (size_t i = 0; i < summary->collective_count; i++)
        if (ap_view_has_step(matching->view, summary->collectives[i].step))
            counts[summary->collectives[i].operation]++;
    for (int i = 0; i < AP_COLLECTIVE_COUNT_; i++)
        key = (key ^ counts[i]) * UINT64_C(0x100000001b3);
    return key;
}

static bool is_smaller_key(const void *context, uint32_t a, uint32_t b)
{
    const uint64_t *keys = context;
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
}

static enum ap_status find_roles(struct ap_delays *delays, struct ap_error *reterr)
{
    uint64_t *list;
    uint32_t *order;
    size_t count = delays->rank_count, order_count;
    AP_TRY(AP_ALLOC(delays->gate, list, count, reterr));
    for (uint32_t i = 0; i < count; i++)
        list[i] = role_key(delays->matching, i);
    enum ap_status status =
        ap_top_indices(delays->gate, (uint32_t)count, 0, is_smaller_key, list, &order, &order_count, reterr);
    for (size_t i = 0, role = 0; i < count && status == AP_OK; i++) {
        role += i && list[order[i]] != list[order[i - 1]];
        delays->role[order[i]] = (uint32_t)role;
    }
    AP_FREE(delays->gate, order, order_count);
    AP_FREE(delays->gate, list, count);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- all */

static enum ap_status prepare(struct walk *walk, struct ap_error *reterr)
{
    struct ap_delays *delays = walk->delays;
    struct ap_gate *gate = delays->gate;
    const struct ap_matching *matching = delays->matching;
    for (size_t i = 0; i < matching->count; i++)
        walk->widest = matching->matches[i].count > walk->widest ? matching->matches[i].count : walk->widest;
    AP_TRY(AP_ALLOC_CLEARED(gate, walk->explained_ns, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC(gate, walk->root, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, walk->pending_ns, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, walk->most_ns, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC(gate, walk->waits_for, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, walk->step, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, walk->seen, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC(gate, walk->sorted, walk->widest, reterr));
    AP_TRY(AP_ALLOC(gate, walk->values, walk->widest, reterr));
    for (size_t i = 0; i < delays->rank_count; i++)
        walk->root[i] = walk->waits_for[i] = NOBODY;
    return AP_OK;
}

static enum ap_status walk_all(struct ap_delays *delays, struct ap_error *reterr)
{
    struct walk walk = { .delays = delays };
    enum ap_status status = prepare(&walk, reterr);
    for (size_t i = 0; i < delays->matching->count && status == AP_OK; i++)
        status = walk_match(&walk, delays->order[i], reterr);
    AP_FREE(delays->gate, walk.explained_ns, delays->rank_count);
    AP_FREE(delays->gate, walk.root, delays->rank_count);
    AP_FREE(delays->gate, walk.pending_ns, delays->rank_count);
    AP_FREE(delays->gate, walk.most_ns, delays->rank_count);
    AP_FREE(delays->gate, walk.waits_for, delays->rank_count);
    AP_FREE(delays->gate, walk.step, delays->rank_count);
    AP_FREE(delays->gate, walk.seen, delays->rank_count);
    AP_FREE(delays->gate, walk.sorted, walk.widest);
    AP_FREE(delays->gate, walk.values, walk.widest);
    return status;
}

enum ap_status ap_delays_init(struct ap_delays *delays, const struct ap_matching *matching, const struct ap_clocks *clocks,
                              struct ap_error *reterr)
{
    struct ap_gate *gate = matching->gate;
    *delays = (struct ap_delays){ .gate = gate,
                                  .matching = matching,
                                  .clocks = clocks,
                                  .rank_count = matching->view->count,
                                  .step_count = matching->view->step_count };
    if (!delays->rank_count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(gate, delays->ranks, delays->rank_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, delays->role, delays->rank_count, reterr));
    if (delays->step_count)
        AP_TRY(AP_ALLOC_CLEARED(gate, delays->late_ns, delays->rank_count * delays->step_count, reterr));
    AP_TRY(find_roles(delays, reterr));
    if (!matching->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, delays->order, matching->count, reterr));
    AP_TRY(AP_ALLOC(gate, delays->last_rank, matching->count, reterr));
    AP_TRY(ap_match_order(matching, delays->order, &delays->by_time, reterr));
    AP_TRY(walk_all(delays, reterr));
    return delays->step_count ? ap_own_delays_find(delays, reterr) : AP_OK;
}

void ap_delays_release(struct ap_delays *delays)
{
    struct ap_gate *gate = delays->gate;
    if (!delays->matching)
        return;
    AP_FREE(gate, delays->ranks, delays->rank_count);
    AP_FREE(gate, delays->role, delays->rank_count);
    AP_FREE(gate, delays->late_ns, delays->rank_count * delays->step_count);
    AP_FREE(gate, delays->order, delays->matching->count);
    AP_FREE(gate, delays->last_rank, delays->matching->count);
    *delays = (struct ap_delays){ .gate = gate };
}
