/* SPDX-License-Identifier: MIT */
#include "hang_last.h"

#include "sort.h"

#include "poison.h"

#define SHOWN 16

/* "0-2, 5 and 3 more": the next range. */
static bool next_range(struct ap_text *rest, int64_t *ret_first, int64_t *ret_last)
{
    int64_t numbers[2] = { 0, -1 };
    int count = 0;
    while (rest->bytes && !ap_is_digit(*rest->data)) {
        if ((ap_folded(*rest->data) >= 'a' && ap_folded(*rest->data) <= 'z'))
            return false;
        rest->data++;
        rest->bytes--;
    }
    for (bool digits = true; rest->bytes && count < 2 && digits; count++) {
        for (numbers[count] = 0; rest->bytes && ap_is_digit(*rest->data) && numbers[count] < 100000000; rest->bytes--)
            numbers[count] = numbers[count] * 10 + (*rest->data++ - '0');
        digits = rest->bytes && *rest->data == '-';
        rest->data += digits;
        rest->bytes -= digits;
    }
    *ret_first = numbers[0];
    *ret_last = count == 2 ? numbers[1] : numbers[0];
    return count > 0;
}

/* The last window of the rank, or of the first one behind it; set->count where there is none. */
static size_t find_window(const struct ap_rank_set *set, int64_t rank)
{
    size_t found = 0;
    AP_BISECT(found, set->count, at, set->ranks[at].rank < rank);
    while (found + 1 < set->count && set->ranks[found + 1].rank == set->ranks[found].rank)
        found++;
    return found;
}

static void add_collective(const struct ap_rank_set *set, const struct ap_rank_summary *rank, struct ap_model *model,
                           struct ap_value *to)
{
    const struct ap_rank_collective *last = rank->collective_count ? &rank->collectives[rank->collective_count - 1] : NULL;
    int64_t end_ns = last ? last->start_ns + last->dur_ns : 0;
    ap_add_known_count(model, to, "step", last && last->step >= 0, last ? last->step : 0);
    ap_add_known_string(
        model, to, "operation", last,
        ap_collective_operation_name(last ? (enum ap_collective_operation)last->operation : AP_COLLECTIVE_unknown));
    ap_add_known_text(model, to, "group", last && last->group.id,
                      ap_rank_text(set, last ? last->group : (struct ap_str){ 0 }));
    ap_add_known_count(model, to, "sequence", last && last->sequence >= 0, last ? last->sequence : 0);
    ap_add_known_time(model, to, "since_us", last && rank->end_ns >= end_ns, last ? rank->end_ns - end_ns : 0);
}

static void add_rank(const struct ap_rank_set *set, const struct ap_rank_summary *rank, struct ap_model *model,
                     struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_count(model, row, "rank", rank->rank);
    ap_add_known_text(model, row, "host", rank->host.id, ap_rank_text(set, rank->host));
    add_collective(set, rank, model, row);
    ap_add_known_text(model, row, "line", rank->last_frame.id, ap_rank_text(set, rank->last_frame));
}

/* Ranks of which there is a trace, in order; ranges are gone through by what the set has, not by their numbers. */
static void add_ranks(const struct ap_rank_set *set, struct ap_text ranks, struct ap_model *model, struct ap_value *list)
{
    int64_t first, last;
    for (int shown = 0; shown < SHOWN && next_range(&ranks, &first, &last);)
        for (size_t at = find_window(set, first); at < set->count && set->ranks[at].rank <= last && shown < SHOWN;
             at = find_window(set, set->ranks[at].rank + 1), shown++)
            add_rank(set, &set->ranks[at], model, list);
}

enum ap_status ap_hang_add_last(const struct ap_rank_set *set, struct ap_model *model, struct ap_error *reterr)
{
    struct ap_value *hang = model->root.as.children.last; /* the only key there */
    const struct ap_value *surest = ap_value_first(ap_value_at(&model->root, "hang.causes"));
    struct ap_text ranks = ap_text_member(surest, "ranks");
    if (hang && set->count && ranks.bytes)
        add_ranks(set, ranks, model, ap_add_list(model, hang, "last"));
    return ap_model_status(model, reterr);
}
