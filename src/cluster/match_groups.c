/* SPDX-License-Identifier: MIT
 * match_groups.c - collectives whose groups no trace tells: are they of all ranks, as was assumed?
 *
 * If they are, their ends are common, and two ranks see them apart by what their clocks differ by: always by the same.
 * Ranks of two groups come into line in some collectives and not in others. Sends and receives are of groups, too: where a
 * run has them its collectives may be of one stage each, however steady the difference.
 *
 * Of collectives on the host ends stray by much, but ranks of one host have one clock: if one has left before another came,
 * they were not in one collective. Then all those are in doubt, but for the ones that have the same place in each step and
 * of which nobody leaves early though one comes late: who was in another group would not have waited for that one. */
#include "rank_matching.h"

#include <stdlib.h>

#include "pair_map.h"
#include "sort.h"

#include "poison.h"

#define FEW 8             /* differences of a rank that tell nothing */
#define APART_NS 200000   /* from the middle difference: beyond what ends and clocks of a recording stray */
#define APART_SHARE 0.08  /* of the differences of a rank */
#define UNEVEN_SHARE 0.25 /* the same, of uneven exchanges */
#define LEAST_PROVEN 2    /* collectives at one place of the step, and half of them, to tell that those there are of all */

/* How much later a rank saw the end than the first rank did. */
struct difference {
    uint32_t rank;
    int64_t ns;
};

static int by_rank(const void *left, const void *right)
{
    const struct difference *a = left, *b = right;
    AP_BY_SMALLER(a->rank, b->rank);
    AP_BY_SMALLER(a->ns, b->ns);
    return 0;
}

static bool is_without_group(const struct ap_match *match)
{
    return !match->group.id && !match->on_host;
}

/* Parts of an uneven exchange end apart, though not by much: they are judged by what the others tell of the clocks. */
static bool is_uneven(const struct ap_match *match)
{
    return match->operation == AP_COLLECTIVE_alltoall;
}

static int64_t end_of(const struct ap_matching *matching, size_t member)
{
    const struct ap_rank_collective *row = ap_match_row(matching, member);
    return row->start_ns + row->dur_ns;
}

/* @to has room for all members. */
static size_t list_differences(const struct ap_matching *matching, bool uneven, struct difference *to)
{
    size_t count = 0;
    for (size_t i = 0; i < matching->count; i++) {
        const struct ap_match *match = &matching->matches[i];
        if (!is_without_group(match) || !match->ends_together || is_uneven(match) != uneven ||
            matching->members[match->first].rank != 0)
            continue;
        for (size_t j = match->first + 1; j < match->first + match->count; j++)
            to[count++] =
                (struct difference){ matching->members[j].rank, end_of(matching, j) - end_of(matching, match->first) };
    }
    ap_sort(to, count, sizeof(to[0]), by_rank);
    return count;
}

/* @list: of one rank. Are few of them far from @usual_ns? */
static bool is_steady(const struct difference *list, size_t count, int64_t usual_ns, double share)
{
    size_t apart = 0;
    for (size_t i = 0; i < count; i++)
        apart += llabs(list[i].ns - usual_ns) > APART_NS;
    return count < FEW || (double)apart <= share * (double)count;
}

struct checking {
    const struct ap_matching *matching;
    struct difference *list;
    int64_t *usual_ns; /* by rank, of those that end together */
    bool *has_usual;
};

/* Of those that end together the middle one is taken for what the clocks differ by. */
static bool are_steady(struct checking *checking, bool uneven)
{
    size_t count = list_differences(checking->matching, uneven, checking->list);
    bool steady = true;
    for (size_t at = 0, end; at < count; at = end) {
        const struct difference *of_rank = checking->list + at;
        for (end = at; end < count && checking->list[end].rank == of_rank->rank;)
            end++;
        if (!uneven) {
            checking->usual_ns[of_rank->rank] = of_rank[(end - at - 1) / 2].ns;
            checking->has_usual[of_rank->rank] = true;
        }
        if (checking->has_usual[of_rank->rank])
            steady = steady &&
                     is_steady(of_rank, end - at, checking->usual_ns[of_rank->rank], uneven ? UNEVEN_SHARE : APART_SHARE);
    }
    return steady;
}

static enum ap_status check_ends(const struct ap_matching *matching, bool *ret_are_of_all, bool *ret_uneven_are,
                                 struct ap_error *reterr)
{
    struct ap_gate *gate = matching->gate;
    struct checking checking = { .matching = matching };
    enum ap_status status = AP_ALLOC(gate, checking.list, matching->member_count, reterr);
    AP_AND_THEN(status, AP_ALLOC(gate, checking.usual_ns, matching->view->count, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(gate, checking.has_usual, matching->view->count, reterr));
    if (status == AP_OK) {
        *ret_are_of_all = are_steady(&checking, false);
        *ret_uneven_are = *ret_are_of_all && are_steady(&checking, true);
    }
    AP_FREE(gate, checking.has_usual, matching->view->count);
    AP_FREE(gate, checking.usual_ns, matching->view->count);
    AP_FREE(gate, checking.list, matching->member_count);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ on the host */

static bool is_of_host(const struct ap_match *match)
{
    return !match->group.id && match->on_host;
}

/* Has a member left before another one of its host came? */
static bool is_refuted(const struct ap_matching *matching, const struct ap_match *match)
{
    uint32_t host = ap_view_rank(matching->view, matching->members[match->first].rank)->host.id;
    int64_t first_end_ns = INT64_MAX, last_start_ns = INT64_MIN;
    for (size_t i = match->first; i < match->first + match->count; i++) {
        const struct ap_rank_collective *row = ap_match_row(matching, i);
        if (!host || ap_view_rank(matching->view, matching->members[i].rank)->host.id != host)
            continue;
        first_end_ns = end_of(matching, i) < first_end_ns ? end_of(matching, i) : first_end_ns;
        last_start_ns = row->start_ns > last_start_ns ? row->start_ns : last_start_ns;
    }
    return first_end_ns < INT64_MAX && first_end_ns / 2 < last_start_ns / 2 - APART_NS / 2;
}

static bool are_refuted(const struct ap_matching *matching)
{
    size_t count = 0, refuted = 0;
    for (size_t i = 0; i < matching->count; i++) {
        const struct ap_match *match = &matching->matches[i];
        if (!is_of_host(match) || !match->ends_together || is_uneven(match))
            continue;
        count++;
        refuted += is_refuted(matching, match);
    }
    return (double)refuted > APART_SHARE * (double)count;
}

/* Has everybody waited for one that came by far later than the others? */
static bool is_proven(const struct ap_matching *matching, const struct ap_match *match)
{
    uint32_t host = ap_view_rank(matching->view, matching->members[match->first].rank)->host.id;
    int64_t first_end_ns = INT64_MAX, last_ns = INT64_MIN, second_ns = INT64_MIN, shortest_ns = INT64_MAX;
    if (!host || match->count < matching->view->count)
        return false;
    for (size_t i = match->first; i < match->first + match->count; i++) {
        const struct ap_rank_collective *row = ap_match_row(matching, i);
        if (ap_view_rank(matching->view, matching->members[i].rank)->host.id != host)
            return false;
        second_ns = row->start_ns > last_ns ? last_ns : row->start_ns > second_ns ? row->start_ns : second_ns;
        last_ns = row->start_ns > last_ns ? row->start_ns : last_ns;
        first_end_ns = end_of(matching, i) < first_end_ns ? end_of(matching, i) : first_end_ns;
        shortest_ns = row->dur_ns < shortest_ns ? row->dur_ns : shortest_ns;
    }
    return first_end_ns >= last_ns && last_ns / 2 - second_ns / 2 > APART_NS / 2 + shortest_ns; /* halves */
}

/* Collectives of one operation that are the same one of it in each step. */
struct places {
    struct ap_pair_map map; /* (operation, how many of it were before in the step) */
    struct place {
        uint32_t count, proven, refuted;
    } * list;
    uint32_t *of_match; /* by match; of those of the host */
};

static enum ap_status find_places(const struct ap_matching *matching, struct places *places, struct ap_error *reterr)
{
    uint32_t order = 0;
    for (size_t i = 0; i < matching->count; i++) {
        const struct ap_match *match = &matching->matches[i], *before = i ? &match[-1] : NULL;
        bool follows = before && is_of_host(before) && before->operation == match->operation && before->step == match->step;
        order = follows ? order + 1 : 0;
        if (!is_of_host(match) || !match->ends_together || is_uneven(match))
            continue;
        AP_TRY(ap_pair_map_add(&places->map, match->operation, order, &places->of_match[i], reterr));
        struct place *place = &places->list[places->of_match[i]];
        place->count++;
        place->proven += is_proven(matching, match);
        place->refuted += is_refuted(matching, match);
    }
    return AP_OK;
}

static bool is_kept(const struct ap_matching *matching, const struct places *places, size_t number)
{
    const struct ap_match *match = &matching->matches[number];
    const struct place *place = &places->list[places->of_match[number]];
    return match->ends_together && !is_uneven(match) && place->proven >= LEAST_PROVEN && 2 * place->proven >= place->count &&
           !place->refuted;
}

/* -------------------------------------------------------------------------------------------------------- taking out */

static bool is_to_go(const struct ap_match *match, bool uneven_alone, bool of_host)
{
    return of_host ? is_of_host(match) : is_without_group(match) && (is_uneven(match) || !uneven_alone);
}

/* @places: of those of the host; NULL = the others go. */
static void take_out(struct ap_matching *matching, bool uneven_alone, const struct places *places)
{
    size_t count = 0, member_count = 0;
    for (size_t i = 0; i < matching->count; i++) {
        struct ap_match match = matching->matches[i];
        if (is_to_go(&match, uneven_alone, places) && !(places && is_kept(matching, places, i))) {
            matching->unmatched[AP_UNMATCHED_groups] += match.count;
            continue;
        }
        for (size_t j = 0; j < match.count; j++)
            matching->members[member_count + j] = matching->members[match.first + j];
        match.first = (uint32_t)member_count;
        member_count += match.count;
        matching->matches[count++] = match;
    }
    matching->count = count;
    matching->member_count = member_count;
}

static enum ap_status take_out_of_host(struct ap_matching *matching, struct ap_error *reterr)
{
    struct places places = { .map = { .gate = matching->gate } };
    size_t count = matching->count;
    enum ap_status status = AP_ALLOC_CLEARED(matching->gate, places.list, count, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(matching->gate, places.of_match, count, reterr));
    AP_AND_THEN(status, find_places(matching, &places, reterr));
    if (status == AP_OK)
        take_out(matching, false, &places);
    AP_FREE(matching->gate, places.of_match, count);
    AP_FREE(matching->gate, places.list, count);
    ap_pair_map_release(&places.map);
    return status;
}

/* Groups whose collectives are one operation each may come into line with all others of it, in all of its collectives. */
static bool has_several_operations(const struct ap_matching *matching)
{
    uint32_t operations = 0;
    for (size_t i = 0; i < matching->count; i++)
        if (is_without_group(&matching->matches[i]) && matching->matches[i].ends_together)
            operations |= UINT32_C(1) << matching->matches[i].operation;
    return operations & (operations - 1);
}

enum ap_status ap_match_groups_check(struct ap_matching *matching, struct ap_error *reterr)
{
    bool any = false, are_of_all = false, uneven_are = false;
    if (are_refuted(matching))
        AP_TRY(take_out_of_host(matching, reterr));
    for (size_t i = 0; i < matching->count && !any; i++)
        any = is_without_group(&matching->matches[i]);
    if (!any)
        return AP_OK;
    if (!matching->transfer_count)
        AP_TRY(check_ends(matching, &are_of_all, &uneven_are, reterr));
    matching->may_hide_groups = are_of_all && has_several_operations(matching);
    if (!are_of_all || !uneven_are)
        take_out(matching, are_of_all, NULL);
    return AP_OK;
}
