/* SPDX-License-Identifier: MIT
 * kept_cost.c - the cost of a call in few bytes: what all ask for as it is, and of the rest what is not 0. */
#include "kept_cost.h"

#include <string.h>

#include "poison.h"

static const uint16_t rare_numbers[] = {
#define RARE(member) offsetof(struct ap_call_cost, member)
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
static const uint16_t flags[] = {
    RARE(is_transposed),     RARE(is_backward),  RARE(is_strided),    RARE(is_mixed_layout),
    RARE(is_channels_first), RARE(is_scattered), RARE(meets_doubles), RARE(narrows),
    RARE(shortens),          RARE(repeats),      RARE(unpacks),       RARE(is_training),
#undef RARE
};
#define NUMBER_WORDS (sizeof(double) / sizeof(uint32_t))
#define IS_NARROW (1u << 14) /* of the flags: its numbers are whole ones of 32 bits, as sizes are */
_Static_assert(AP_COUNT_OF(flags) <= 14, "flags and narrow ones fit");
_Static_assert(sizeof(struct ap_call_cost) == (AP_COUNT_OF(rare_numbers) + 7) * sizeof(double) || _Alignof(double) < 8,
               "a number more is kept here, too");

struct ap_call_cost ap_compute_cost(const struct ap_compute *compute, const struct ap_compute_group *group)
{
    const struct ap_kept_cost *kept = &group->cost;
    struct ap_call_cost cost = { .kind = kept->kind,
                                 .element = kept->element,
                                 .flops = kept->flops,
                                 .bytes = kept->bytes,
                                 .parameters = kept->parameters };
    const uint32_t *number = kept->has ? compute->numbers + kept->first : NULL;
    for (size_t i = 0; kept->has >> i; i++) {
        if (!(kept->has >> i & 1))
            continue;
        double value = kept->flags & IS_NARROW ? *number : 0;
        if (!(kept->flags & IS_NARROW))
            memcpy(&value, number, sizeof(value));
        memcpy((char *)&cost + rare_numbers[i], &value, sizeof(value));
        number += kept->flags & IS_NARROW ? 1 : NUMBER_WORDS;
    }
    for (size_t i = 0; i < AP_COUNT_OF(flags); i++)
        *(bool *)((char *)&cost + flags[i]) = kept->flags >> i & 1;
    return cost;
}

static double rare_number(const struct ap_call_cost *cost, size_t i)
{
    double number;
    memcpy(&number, (const char *)cost + rare_numbers[i], sizeof(number));
    return number;
}

/* Minus zero is no number of these. */
static bool is_narrow(const struct ap_call_cost *cost)
{
    for (size_t i = 0; i < AP_COUNT_OF(rare_numbers); i++) {
        double number = rare_number(cost, i);
        if (!(number >= 0 && number <= UINT32_MAX && number == (double)(uint32_t)number))
            return false;
    }
    return true;
}

enum ap_status ap_keep_cost(struct ap_compute *compute, const struct ap_call_cost *cost, struct ap_kept_cost *ret_kept,
                            struct ap_error *reterr)
{
    struct ap_kept_cost kept = { .flops = cost->flops,
                                 .bytes = cost->bytes,
                                 .parameters = cost->parameters,
                                 .kind = cost->kind,
                                 .element = cost->element,
                                 .flags = is_narrow(cost) ? IS_NARROW : 0,
                                 .first = compute->number_count };
    for (size_t i = 0; i < AP_COUNT_OF(rare_numbers); i++) {
        double number = rare_number(cost, i);
        uint32_t words[NUMBER_WORDS] = { 0 };
        if (number == 0)
            continue;
        kept.has |= UINT32_C(1) << i;
        if (kept.flags & IS_NARROW)
            words[0] = (uint32_t)number;
        else
            memcpy(words, &number, sizeof(number));
        for (size_t word = 0; word < (kept.flags & IS_NARROW ? 1 : NUMBER_WORDS); word++)
            AP_TRY_ADD(compute->gate, compute->numbers, compute->number_count, compute->number_capacity, reterr,
                       words[word]);
    }
    for (size_t i = 0; i < AP_COUNT_OF(flags); i++)
        kept.flags |= *(const bool *)((const char *)cost + flags[i]) ? 1u << i : 0;
    *ret_kept = kept;
    return AP_OK;
}
