/* SPDX-License-Identifier: MIT
 * kept_cost.c - the cost of a call in few bytes: what all ask for as it is, and of the rest what is not 0. */
#include "kept_cost.h"

#include <string.h>

#include "poison.h"

static const uint16_t rare_numbers[] = {
#define RARE(member) offsetof(struct ap_call_cost, member)
    RARE(parameters),
    RARE(batch),
    RARE(m),
    RARE(n),
    RARE(k),
    RARE(weight_bytes),
    RARE(head_size),
    RARE(queries),
    RARE(keys),
    RARE(pair_flops),
    RARE(flops_least),
    RARE(flops_most),
    RARE(tokens),
    RARE(query_bytes),
    RARE(key_bytes),
    RARE(groups),
    RARE(channels_per_group),
    RARE(out_channels),
    RARE(places),
    RARE(row_elements),
    RARE(tokens_per_expert),
    RARE(experts),
    RARE(moved_elements),
    RARE(mask_bytes),
    RARE(passes),
    RARE(elements),
};
static const uint16_t flags[AP_COST_FLAG_COUNT_] = {
#define FLAG(member) [AP_COST_##member] = RARE(member)
    FLAG(is_transposed),     FLAG(is_backward),  FLAG(is_strided),    FLAG(is_mixed_layout),
    FLAG(is_channels_first), FLAG(is_scattered), FLAG(meets_doubles), FLAG(narrows),
    FLAG(shortens),          FLAG(repeats),      FLAG(unpacks),       FLAG(is_training),
#undef FLAG
#undef RARE
};
#define IS_WHOLE (1u << 14) /* of the flags: its numbers are whole ones, as sizes are: seven bits a byte, the lowest first */
#define LARGEST_WHOLE ((double)(UINT64_C(1) << 53))
#define BYTES_MAX 8 /* of a number: seven bits each of 53, or a double */
_Static_assert(AP_COUNT_OF(flags) <= 14, "flags and narrow ones fit");
_Static_assert(sizeof(struct ap_call_cost) == (AP_COUNT_OF(rare_numbers) + 6) * sizeof(double) || _Alignof(double) < 8,
               "a number more is kept here, too");

static double take_number(const struct ap_kept_cost *kept, const uint8_t **at)
{
    double number;
    uint64_t whole = 0;
    if (kept->flags & IS_WHOLE) {
        unsigned shift = 0;
        for (; **at & 0x80; shift += 7)
            whole |= (uint64_t)(*(*at)++ & 0x7f) << shift;
        return (double)(whole | (uint64_t) * (*at)++ << shift);
    }
    memcpy(&number, *at, sizeof(number));
    *at += sizeof(number);
    return number;
}

struct ap_call_cost ap_compute_cost(const struct ap_compute *compute, const struct ap_compute_group *group)
{
    const struct ap_kept_cost *kept = &group->cost;
    if (kept->is_of_row)
        return *ap_compute_cost_of_row(compute, group->longest_row);
    struct ap_call_cost cost = { .kind = kept->kind, .element = kept->element, .flops = kept->flops, .bytes = kept->bytes };
    const uint8_t *at = kept->has ? compute->numbers + kept->first : NULL;
    for (uint32_t left = kept->has; left; left &= left - 1) {
        double number = take_number(kept, &at);
        memcpy((char *)&cost + rare_numbers[__builtin_ctz(left)], &number, sizeof(number));
    }
    for (size_t i = 0; i < AP_COUNT_OF(flags); i++)
        *(bool *)((char *)&cost + flags[i]) = kept->flags >> i & 1;
    return cost;
}

double ap_compute_parameters(const struct ap_compute *compute, const struct ap_compute_group *group)
{
    if (group->cost.is_of_row)
        return ap_compute_cost_of_row(compute, group->longest_row)->parameters;
    const uint8_t *at = group->cost.has & 1 ? compute->numbers + group->cost.first : NULL; /* the first of rare numbers */
    return at ? take_number(&group->cost, &at) : 0;
}

static double rare_number(const struct ap_call_cost *cost, size_t i)
{
    double number;
    memcpy(&number, (const char *)cost + rare_numbers[i], sizeof(number));
    return number;
}

static bool is_whole(const struct ap_call_cost *cost)
{
    for (size_t i = 0; i < AP_COUNT_OF(rare_numbers); i++) {
        double number = rare_number(cost, i);
        if (!(number >= 0 && number < LARGEST_WHOLE && number == (double)(uint64_t)number))
            return false;
    }
    return true;
}

/* There is room for BYTES_MAX. */
static void add_number(struct ap_compute *compute, double number, bool is_whole)
{
    uint8_t *at = compute->numbers + compute->number_bytes;
    if (is_whole) {
        uint64_t whole = (uint64_t)number;
        for (; whole > 0x7f; whole >>= 7)
            *at++ = (uint8_t)(whole | 0x80);
        *at++ = (uint8_t)whole;
    } else {
        memcpy(at, &number, sizeof(number));
        at += sizeof(number);
    }
    compute->number_bytes = (size_t)(at - compute->numbers);
}

unsigned ap_cost_flags(const struct ap_call_cost *cost)
{
    unsigned set = 0;
    for (size_t i = 0; i < AP_COUNT_OF(flags); i++)
        set |= *(const bool *)((const char *)cost + flags[i]) ? 1u << i : 0;
    return set;
}

enum ap_status ap_keep_cost(struct ap_compute *compute, const struct ap_call_cost *cost, struct ap_kept_cost *ret_kept,
                            struct ap_error *reterr)
{
    struct ap_kept_cost kept = { .flops = cost->flops,
                                 .bytes = cost->bytes,
                                 .kind = cost->kind,
                                 .element = cost->element,
                                 .flags = is_whole(cost) ? IS_WHOLE : 0,
                                 .first = (uint32_t)compute->number_bytes };
    if (compute->number_bytes > UINT32_MAX)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4 GiB of sizes of operators: record a shorter run");
    AP_TRY(AP_RESERVE(compute->gate, compute->numbers, compute->number_capacity,
                      compute->number_bytes + AP_COUNT_OF(rare_numbers) * BYTES_MAX, reterr));
    for (size_t i = 0; i < AP_COUNT_OF(rare_numbers); i++) {
        double number = rare_number(cost, i);
        if (number == 0)
            continue;
        kept.has |= UINT32_C(1) << i;
        add_number(compute, number, kept.flags & IS_WHOLE);
    }
    kept.flags |= ap_cost_flags(cost) & (IS_WHOLE - 1);
    *ret_kept = kept;
    return AP_OK;
}
