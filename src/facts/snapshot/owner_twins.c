/* SPDX-License-Identifier: MIT
 * owner_twins.c - a second model of the sizes of one that is trained, made or loaded as that one is, but by another line and
 * without gradients: a reference, a teacher. */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

#define SHARE_MATCHED 0.9
#define SHARE_OF_WEIGHTS 0.1 /* stacks that made less are left out, so there are few */
#define MOST_STACKS 10u
#define LEAST_WEIGHTS 4u
#define LEAST_BYTES ((int64_t)1 << 20)
#define MOST_GRADIENTS 1.1 /* of one model, by bytes; two that are trained have twice its */
#define MOST_STATES 3u     /* for each weight: two of Adam, and its copy in 32 bits */

struct sized {
    int64_t bytes;
    uint32_t stack, index; /* in the list */
};

/* The weights of one stack, in order of their sizes. */
struct model {
    const struct sized *list;
    uint32_t count;
    int64_t bytes;
    uint32_t alloc; /* the first entry, one more than that; 0 = from before the history */
};

static int by_stack_then_bytes(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    AP_BY_SMALLER(a->stack, b->stack);
    AP_BY_SMALLER(a->bytes, b->bytes);
    return a->index < b->index ? -1 : a->index > b->index;
}

static uint32_t list_weights(const struct ap_owned_device *device, struct sized *to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < device->count; i++)
        if (device->list[i].stack && ap_owned_category(&device->list[i]) == AP_OWNER_PARAMETERS)
            to[count++] = (struct sized){ device->list[i].bytes, device->list[i].stack, i };
    ap_sort(to, count, sizeof(*to), by_stack_then_bytes);
    return count;
}

static struct model model_at(const struct ap_owned_device *device, const struct sized *list, uint32_t count, uint32_t from)
{
    struct model model = { .list = list + from, .alloc = UINT32_MAX };
    bool overflowed = false;
    for (uint32_t i = from; i < count && list[i].stack == list[from].stack; i++) {
        uint32_t alloc = device->list[list[i].index].alloc, key = alloc == AP_NO_ENTRY ? 0 : alloc + 1;
        model.bytes = ap_add_sat(model.bytes, list[i].bytes, &overflowed);
        model.alloc = key < model.alloc ? key : model.alloc;
        model.count++;
    }
    return model;
}

static uint32_t list_models(const struct ap_owned_device *device, const struct sized *list, uint32_t count, struct model *to)
{
    double least = SHARE_OF_WEIGHTS * (double)ap_owned_sum_bytes(device, AP_OWNER_PARAMETERS);
    uint32_t models = 0;
    for (uint32_t i = 0; i < count && models < MOST_STACKS;) {
        struct model model = model_at(device, list, count, i);
        i += model.count;
        if (model.count >= LEAST_WEIGHTS && model.bytes >= LEAST_BYTES && (double)model.bytes >= least)
            to[models++] = model;
    }
    return models;
}

/* Nearly all of one finds its like, @times as large, in the other, and the other way. */
static bool is_alike(const struct model *one, const struct model *other, int64_t times)
{
    double matched = 0;
    for (uint32_t i = 0, j = 0; i < one->count && j < other->count;) {
        double wanted = (double)one->list[i].bytes * (double)times, got = (double)other->list[j].bytes;
        bool both = wanted >= got && wanted <= got, first = wanted < got;
        matched += both ? got : 0;
        i += both || first;
        j += both || !first;
    }
    return matched >= SHARE_MATCHED * (double)one->bytes * (double)times && matched >= SHARE_MATCHED * (double)other->bytes;
}

static bool has_size(const struct model *model, int64_t bytes)
{
    size_t low = 0;
    AP_BISECT(low, model->count, at, model->list[at].bytes < bytes);
    return low < model->count && model->list[low].bytes == bytes;
}

/* The gradients are those of this model, once. */
static bool has_gradients(const struct ap_owned_device *of, const struct model *model)
{
    double bytes = 0;
    for (uint32_t i = 0; i < of->count; i++)
        if (ap_owned_category(&of->list[i]) == AP_OWNER_GRADIENTS && has_size(model, of->list[i].bytes))
            bytes += (double)of->list[i].bytes;
    return bytes >= SHARE_MATCHED * (double)model->bytes && bytes <= MOST_GRADIENTS * (double)model->bytes;
}

/* Behind the first backward pass its states are made in one update: two models that take turns have a backward pass between
 * theirs. */
static bool is_made_at_once(const struct ap_owners *owners, const struct ap_owned_device *device)
{
    const struct ap_replay *replay = owners->replay;
    const struct ap_replay_device *of = &replay->devices[device->device];
    uint32_t first = UINT32_MAX, last = 0, from = of->first_entry;
    while (from < of->first_entry + of->entry_count && owners->work[from] != AP_WORK_BACKWARD)
        from++;
    for (uint32_t i = 0; i < device->count; i++) {
        uint32_t alloc = device->list[i].alloc;
        if (ap_owned_category(&device->list[i]) != AP_OWNER_OPTIMIZER_STATE || alloc == AP_NO_ENTRY || alloc < from)
            continue;
        first = alloc < first ? alloc : first;
        last = alloc > last ? alloc : last;
    }
    for (uint32_t i = first; i < last; i++)
        if (owners->work[i] == AP_WORK_BACKWARD)
            return false;
    return true;
}

/* Two may have the gradients of one alone, but have states both. Each state of an optimizer is made by a line of its own,
 * once for each weight. */
static bool has_states_of_one(const struct ap_owned_device *device, const struct model *model, struct sized *states)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        int64_t bytes = device->list[i].bytes;
        if (ap_owned_category(&device->list[i]) == AP_OWNER_OPTIMIZER_STATE &&
            (has_size(model, bytes) || (bytes % 2 == 0 && has_size(model, bytes / 2))))
            states[count++] = (struct sized){ bytes, device->list[i].stack, i };
    }
    ap_sort(states, count, sizeof(*states), by_stack_then_bytes);
    for (uint32_t i = model->count; i < count; i++)
        if (states[i].stack == states[i - model->count].stack)
            return false;
    return count && count <= (uint64_t)MOST_STATES * model->count;
}

/* Which of the two is the twin, NULL = none. Of the same sizes it is the later one. */
static const struct model *twin_of(const struct ap_owned_device *device, const struct ap_owned_device *gradients,
                                   const struct model *one, const struct model *other, struct sized *states)
{
    const struct model *first = one->alloc <= other->alloc ? one : other, *later = first == one ? other : one;
    if (is_alike(first, later, 1))
        return has_gradients(gradients, first) && has_states_of_one(device, first, states) ? later : NULL;
    bool twice = is_alike(one, other, 2);
    if (!twice && !is_alike(other, one, 2))
        return NULL;
    const struct model *half = twice ? one : other, *whole = twice ? other : one;
    if (has_gradients(gradients, half) && !has_gradients(gradients, whole) && has_states_of_one(device, half, states))
        return whole;
    return has_gradients(gradients, whole) && !has_gradients(gradients, half) && has_states_of_one(device, whole, states)
               ? half
               : NULL;
}

static void settle(struct ap_owned_device *device, const struct ap_owned_device *gradients, struct sized *list)
{
    struct model models[MOST_STACKS];
    uint32_t weights = list_weights(device, list), count = list_models(device, list, weights, models);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            const struct model *twin = twin_of(device, gradients, &models[i], &models[j], list + weights);
            for (uint32_t k = 0; twin && k < twin->count; k++)
                device->list[twin->list[k].index].evidence = AP_EVIDENCE_TWIN;
        }
}

enum ap_status ap_owned_settle_twins(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *device,
                                     struct ap_error *reterr)
{
    struct ap_owned_device behind = { .device = index };
    struct sized *list;
    uint32_t passes, position;
    if (!device->count || !ap_owned_sum_bytes(device, AP_OWNER_OPTIMIZER_STATE) || !is_made_at_once(owners, device))
        return AP_OK;
    AP_TRY(AP_ALLOC(owners->gate, list, device->count, reterr));
    position = ap_owned_behind_backward(owners, index, &passes);
    enum ap_status status = position ? ap_owned_list_live(owners, index, position, &behind, reterr) : AP_OK;
    if (status == AP_OK) {
        bool more = ap_owned_sum_bytes(&behind, AP_OWNER_GRADIENTS) > ap_owned_sum_bytes(device, AP_OWNER_GRADIENTS);
        settle(device, more ? &behind : device, list);
        ap_owned_release(owners, &behind);
    }
    AP_FREE(owners->gate, list, device->count);
    return status;
}
