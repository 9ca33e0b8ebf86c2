/* SPDX-License-Identifier: MIT */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

static int by_stack(const void *left, const void *right)
{
    const struct ap_owned *a = left, *b = right;
    AP_BY_SMALLER(a->stack, b->stack);
    return a->lifetime < b->lifetime ? -1 : a->lifetime > b->lifetime;
}

/* As when it is asked a second time. */
static bool is_in_order(const struct ap_owned_device *device)
{
    for (uint32_t i = 1; i < device->count; i++)
        if (by_stack(&device->list[i - 1], &device->list[i]) > 0)
            return false;
    return true;
}

/* The run of equal stacks that begins at @from; the first of two equal categories wins. */
static uint32_t take_group(const struct ap_owned_device *device, uint32_t from, struct ap_owned_group *ret_group)
{
    int64_t of_category[AP_OWNER_CATEGORY_COUNT_] = { 0 };
    bool overflowed = false;
    uint32_t i = from, best = ap_owned_category(&device->list[from]);
    *ret_group = (struct ap_owned_group){ .stack = device->list[from].stack };
    for (; i < device->count && device->list[i].stack == ret_group->stack; i++) {
        const struct ap_owned *owned = &device->list[i];
        int64_t *sum = &of_category[ap_owned_category(owned)];
        *sum = ap_add_sat(*sum, owned->bytes, &overflowed);
        ret_group->bytes = ap_add_sat(ret_group->bytes, owned->bytes, &overflowed);
    }
    ret_group->count = i - from;
    for (uint32_t j = 0; j < AP_OWNER_CATEGORY_COUNT_; j++)
        best = of_category[j] > of_category[best] ? j : best;
    ret_group->category = (uint8_t)best;
    return i;
}

enum ap_status ap_owned_by_stack(const struct ap_owners *owners, struct ap_owned_device *device,
                                 struct ap_owned_group **ret_groups, uint32_t *ret_count, struct ap_error *reterr)
{
    uint32_t count = 0;
    *ret_groups = NULL;
    *ret_count = 0;
    if (!device->count)
        return AP_OK;
    if (!is_in_order(device))
        ap_sort(device->list, device->count, sizeof(*device->list), by_stack);
    for (uint32_t i = 0; i < device->count; i++)
        count += i == 0 || device->list[i].stack != device->list[i - 1].stack;
    struct ap_owned_group *groups;
    AP_TRY(AP_ALLOC(owners->gate, groups, count, reterr));
    uint32_t at = 0;
    for (uint32_t i = 0; i < device->count;)
        i = take_group(device, i, &groups[at++]);
    *ret_groups = groups;
    *ret_count = count;
    return AP_OK;
}
