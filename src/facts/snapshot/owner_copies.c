/* SPDX-License-Identifier: MIT
 * owner_copies.c - a second copy of the weights, made by whatever code: one stack that made an allocation of the size of
 * each weight, or of twice that as a copy in 32 bits is, and keeps them. */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

#define SHARE_MATCHED 0.9
#define SHARE_OF_WEIGHTS 0.6 /* what is copied of them: all layers of one kind at least */
#define MOST_COPIES 3u
#define LEAST_WEIGHTS 4u
#define LEAST_PART 8u /* of their number */
#define LEAST_BYTES ((int64_t)1 << 20)
#define MOST_STATE 8.0  /* times the weights: in 16 bits, those in 32 and two states beside them */
#define LONGEST_GAP 64u /* entries between two allocations of one backward pass */

struct sized {
    int64_t bytes;
    uint32_t stack, index; /* in the list */
    bool goes;             /* is freed in the history */
};

static int by_stack_then_bytes(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    AP_BY_SMALLER(a->stack, b->stack);
    AP_BY_SMALLER(a->bytes, b->bytes);
    AP_BY_SMALLER(a->index, b->index);
    return 0;
}

static bool is_made_otherwise(enum ap_owner_evidence evidence)
{
    return evidence == AP_EVIDENCE_CHECKPOINT_KEPT || evidence == AP_EVIDENCE_INIT_KEPT;
}

/* What no frame names, and stays a while, or is made and given back between the passes of a training. */
static bool is_unnamed(const struct ap_owners *owners, enum ap_owner_evidence evidence, bool stays)
{
    return evidence == AP_EVIDENCE_BETWEEN ? owners->has_backward : evidence == AP_EVIDENCE_NO_FRAME_SAYS && stays;
}

/* What a constructor copied deeply is a layer that was made of another, or
 * the whole model once more; what it made otherwise may be an optimizer's or a wrapper's: the sizes tell. */
static uint32_t list_of(const struct ap_owners *owners, const struct ap_owned_device *device, bool weights, bool others_open,
                        struct sized *to)
{
    uint32_t count = 0, old = device->has_history ? ap_owned_old_entries(&owners->replay->devices[device->device]) : 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        enum ap_owner_evidence evidence = (enum ap_owner_evidence)owned->evidence;
        bool is_weight = ap_owner_evidence_category(evidence) == AP_OWNER_PARAMETERS;
        bool stays = owned->end == AP_NO_ENTRY || (owned->alloc != AP_NO_ENTRY && owned->end - owned->alloc > old);
        bool is_open = is_weight ? owners->stacks[owned->stack].cloned || (others_open && is_made_otherwise(evidence))
                                 : is_unnamed(owners, evidence, stays) && owned->stack;
        bool is = weights ? is_weight && !is_open : is_open;
        if (is)
            to[count++] = (struct sized){ owned->bytes, weights ? 0 : owned->stack, i, owned->end != AP_NO_ENTRY };
    }
    ap_sort(to, count, sizeof(*to), by_stack_then_bytes);
    return count;
}

static uint32_t same_size(const struct sized *list, uint32_t count, uint32_t from)
{
    uint32_t end = from + 1;
    while (end < count && list[end].bytes == list[from].bytes)
        end++;
    return end - from;
}

static uint32_t count_going(const struct sized *list, uint32_t count)
{
    uint32_t going = 0;
    for (uint32_t i = 0; i < count; i++)
        going += list[i].goes;
    return going;
}

/* Both in order of their sizes: most bytes of the weights, and nearly all of the stack, find each other. While a copy is
 * made anew there may be two or three of each, of which all but one go; the two states of an optimizer both stay. */
static bool is_copy(const struct sized *weights, uint32_t weight_count, const struct sized *of, uint32_t count,
                    int64_t times)
{
    double all = 0, own = 0, matched = 0, matched_own = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++)
        own += (double)of[i].bytes;
    for (uint32_t i = 0, same; i < weight_count; i += same) {
        double wanted = (double)weights[i].bytes * (double)times;
        same = same_size(weights, weight_count, i);
        all += same * wanted;
        while (at < count && (double)of[at].bytes < wanted)
            at++;
        if (at == count || (double)of[at].bytes > wanted)
            continue;
        uint32_t found = same_size(of, count, at);
        bool anew = found % same == 0 && found <= MOST_COPIES * same && found - count_going(of + at, found) <= same;
        matched += (found < same ? found : same) * wanted;
        matched_own += (anew ? found : found < same ? found : same) * wanted;
    }
    return matched >= (double)LEAST_BYTES && matched >= SHARE_OF_WEIGHTS * all && matched_own >= SHARE_MATCHED * own;
}

static bool has_size(const struct sized *weights, uint32_t weight_count, int64_t bytes)
{
    size_t low = 0;
    AP_BISECT(low, weight_count, at, weights[at].bytes < bytes);
    return low < weight_count && weights[low].bytes == bytes;
}

/* Between the first backward pass and the next forward one, or, where gradients are summed up over several passes, between
 * the last of these and what follows; @start AP_NO_ENTRY = there is none, or the state is known. Where no stack tells a
 * forward, there it ends with the next backward pass. */
struct first_update {
    uint32_t start, end;
};

static bool has_state(const struct ap_owned_device *device)
{
    for (uint32_t i = 0; i < device->count; i++)
        if (ap_owned_category(&device->list[i]) == AP_OWNER_OPTIMIZER_STATE)
            return true;
    return false;
}

static bool is_work(const struct ap_owners *owners, uint32_t entry, unsigned work)
{
    return owners->replay->snapshot->actions.name[entry].id == AP_ACTION_ALLOC && owners->work[entry] == work;
}

/* What is behind the first backward pass at @from or later. */
static struct first_update find_update(const struct ap_owners *owners, uint32_t from, uint32_t history_end)
{
    struct first_update update = { AP_NO_ENTRY, AP_NO_ENTRY };
    for (uint32_t i = from; i < history_end && update.end == AP_NO_ENTRY; i++) {
        bool backward = is_work(owners, i, AP_WORK_BACKWARD), any = update.start != AP_NO_ENTRY;
        if (any && (is_work(owners, i, AP_WORK_FORWARD) || (backward && i - update.start > LONGEST_GAP)))
            update.end = i;
        else if (backward)
            update.start = i;
    }
    return update;
}

/* When the largest gradient that a backward pass left is given back; AP_NO_ENTRY = never, or there is none. */
static uint32_t gradients_end(const struct ap_owners *owners, uint32_t from, const struct first_update *update)
{
    const struct ap_replay *replay = owners->replay;
    int64_t most_bytes = 0;
    uint32_t end = AP_NO_ENTRY;
    for (uint32_t i = from; i <= update->start; i++) {
        uint32_t number = is_work(owners, i, AP_WORK_BACKWARD) ? replay->lifetime_of[i] : AP_NO_LIFETIME;
        if (number == AP_NO_LIFETIME || replay->lifetimes[number].free_completed < update->end)
            continue;
        int64_t bytes = ap_replay_lifetime_bytes(replay, number);
        end = bytes > most_bytes ? replay->lifetimes[number].free_completed : end;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    return end;
}

static struct first_update find_first_update(const struct ap_owners *owners, const struct ap_owned_device *device)
{
    struct first_update update = { AP_NO_ENTRY, AP_NO_ENTRY };
    if (!device->has_history || has_state(device))
        return update;
    const struct ap_replay_device *of = &owners->replay->devices[device->device];
    uint32_t history_end = of->first_entry + of->entry_count, last = AP_NO_ENTRY;
    update = find_update(owners, of->first_entry, history_end);
    uint32_t freed = update.end == AP_NO_ENTRY ? AP_NO_ENTRY : gradients_end(owners, of->first_entry, &update);
    for (uint32_t i = update.end; freed != AP_NO_ENTRY && i < freed; i++)
        last = is_work(owners, i, AP_WORK_BACKWARD) ? i : last;
    return last == AP_NO_ENTRY ? update : find_update(owners, last, history_end);
}

/* Did a request fail while a checkpoint was read? Then it is there in part. */
static bool load_failed(const struct ap_owners *owners, int64_t index)
{
    const struct ap_replay_device *of = &owners->replay->devices[index];
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    for (uint32_t i = of->first_entry; i < of->first_entry + of->entry_count; i++)
        if (actions->name[i].id == AP_ACTION_OOM && owners->stacks[actions->stack[i]].sign == AP_SIGN_CHECKPOINT)
            return true;
    return false;
}

/* The state of an optimizer has, and a checkpoint with it is of, the sizes of the weights, or twice those. */
static bool is_of_sizes(const struct sized *weights, uint32_t weight_count, const struct sized *of, uint32_t count,
                        bool in_part)
{
    double own = 0, matched = 0, all = 0;
    for (uint32_t i = 0; i < weight_count; i++)
        all += (double)weights[i].bytes;
    for (uint32_t i = 0; i < count; i++) {
        own += (double)of[i].bytes;
        if (has_size(weights, weight_count, of[i].bytes) ||
            (of[i].bytes % 2 == 0 && has_size(weights, weight_count, of[i].bytes / 2)))
            matched += (double)of[i].bytes;
    }
    return matched >= (double)LEAST_BYTES && matched >= SHARE_MATCHED * own && (in_part || own >= SHARE_MATCHED * all);
}

/* What all stacks are judged by. */
struct settling {
    const struct ap_owners *owners;
    struct ap_owned_device *device;
    const struct sized *weights;
    uint32_t weight_count;
    struct first_update update;
    bool needs_masters, load_failed;
    double backward_bytes;
};

static bool is_state(const struct settling *settling, const struct sized *of, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t alloc = settling->device->list[of[i].index].alloc;
        if (alloc == AP_NO_ENTRY || alloc < settling->update.start || alloc >= settling->update.end)
            return false;
    }
    return is_of_sizes(settling->weights, settling->weight_count, of, count, true);
}

/* A step's line that goes on making the sizes while the first of them stay has something added to those, as squares of
 * gradients are. A state is made once, or anew in each step; only zeros may be asked for in vain. */
static bool is_added_to(const struct settling *settling, const struct sized *of, uint32_t count)
{
    const struct ap_owner_stack *stack = &settling->owners->stacks[settling->device->list[of->index].stack];
    for (uint32_t i = 0; i < count; i++)
        if (of[i].goes)
            return false;
    return stack->again && !stack->zeros;
}

/* Of a checkpoint with an optimizer, what stays is its state where the weights were copied and no other state is there: Adam
 * has two of each weight, and uses them as they were read. */
static bool may_be_used(const struct settling *settling, const struct sized *of, uint32_t count)
{
    double own = 0, all = 0;
    for (uint32_t i = 0; i < settling->weight_count; i++)
        all += (double)settling->weights[i].bytes;
    for (uint32_t i = 0; i < count; i++)
        own += (double)of[i].bytes;
    return settling->owners->has_backward && own >= 2 * SHARE_MATCHED * all && own * SHARE_MATCHED <= 2 * all &&
           !has_state(settling->device);
}

/* What backward passes left, whatever it is called: where the step allocates nothing, it looks like their temporaries. */
static double bytes_of_backward(const struct ap_owners *owners, const struct ap_owned_device *device)
{
    double bytes = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const struct ap_owned *owned = &device->list[i];
        bool backward = owned->alloc != AP_NO_ENTRY && owners->work[owned->alloc] == AP_WORK_BACKWARD;
        bytes += backward || ap_owned_category(owned) == AP_OWNER_GRADIENTS ? (double)owned->bytes : 0;
    }
    return bytes;
}

/* Weights, and perhaps the state beside them, cloned to be saved. Beside gradients the same sizes may be theirs: clipped,
 * scaled or summed up. */
static bool is_saved(const struct settling *settling, const struct sized *of, uint32_t count)
{
    const struct ap_owned_device *device = settling->device;
    double own = 0, all = 0;
    for (uint32_t i = 0; i < settling->weight_count; i++)
        all += (double)settling->weights[i].bytes;
    for (uint32_t i = 0; i < count; i++)
        own += (double)of[i].bytes;
    return !settling->owners->stacks[device->list[of->index].stack].zeros && own <= MOST_STATE * all &&
           is_of_sizes(settling->weights, settling->weight_count, of, count, false) &&
           settling->backward_bytes < (1 - SHARE_MATCHED) * all;
}

/* What all of one stack is: AP_EVIDENCE_NO_FRAME_SAYS = no copy. An optimizer needs weights of 16 bits once in 32; zeros are
 * no copy. */
static enum ap_owner_evidence judge(const struct settling *settling, const struct sized *of, uint32_t count)
{
    const struct ap_owned *first = &settling->device->list[of->index];
    enum ap_owner_evidence made = (enum ap_owner_evidence)first->evidence;
    const struct sized *weights = settling->weights;
    uint32_t weight_count = settling->weight_count;
    if (made == AP_EVIDENCE_BETWEEN)
        return is_saved(settling, of, count) ? AP_EVIDENCE_SAVED_SIZES : AP_EVIDENCE_NO_FRAME_SAYS;
    if (made == AP_EVIDENCE_NO_FRAME_SAYS && is_state(settling, of, count))
        return is_added_to(settling, of, count) ? AP_EVIDENCE_NO_FRAME_SAYS : AP_EVIDENCE_FIRST_UPDATE;
    if (made == AP_EVIDENCE_NO_FRAME_SAYS && settling->owners->stacks[first->stack].zeros)
        return AP_EVIDENCE_NO_FRAME_SAYS;
    if (made == AP_EVIDENCE_CHECKPOINT_KEPT && may_be_used(settling, of, count))
        return AP_EVIDENCE_NO_FRAME_SAYS;
    if (made == AP_EVIDENCE_CHECKPOINT_KEPT)
        return is_of_sizes(weights, weight_count, of, count, settling->load_failed) ? AP_EVIDENCE_CHECKPOINT_COPY
                                                                                    : AP_EVIDENCE_NO_FRAME_SAYS;
    if (is_copy(weights, weight_count, of, count, 1))
        return AP_EVIDENCE_COPY_SIZES;
    if (!is_copy(weights, weight_count, of, count, 2))
        return AP_EVIDENCE_NO_FRAME_SAYS;
    return made == AP_EVIDENCE_INIT_KEPT && settling->needs_masters ? AP_EVIDENCE_INIT_TWICE : AP_EVIDENCE_COPY_SIZES;
}

/* A stack of far fewer allocations than there are weights is no copy (half of these are vectors), so all stacks together
 * cost no more than a few times the list. */
static void settle(struct settling *settling, const struct sized *open, uint32_t open_count)
{
    for (uint32_t i = 0, end; i < open_count; i = end) {
        for (end = i + 1; end < open_count && open[end].stack == open[i].stack;)
            end++;
        if (end - i < settling->weight_count / LEAST_PART + 1 || settling->weight_count < LEAST_WEIGHTS)
            continue;
        enum ap_owner_evidence evidence = judge(settling, open + i, end - i);
        for (uint32_t j = i; j < end && evidence != AP_EVIDENCE_NO_FRAME_SAYS; j++)
            settling->device->list[open[j].index].evidence = (uint8_t)evidence;
        settling->needs_masters = settling->needs_masters && evidence != AP_EVIDENCE_INIT_TWICE;
    }
}

enum ap_status ap_owned_settle_copies(const struct ap_owners *owners, struct ap_owned_device *device,
                                      struct ap_error *reterr)
{
    struct sized *sizes;
    if (!device->count)
        return AP_OK;
    AP_TRY(AP_ALLOC(owners->gate, sizes, 2 * (size_t)device->count, reterr));
    bool others_open = true; /* unless the weights themselves were read from a checkpoint to the device, or made there */
    uint32_t weights = list_of(owners, device, true, others_open, sizes);
    if (weights < LEAST_WEIGHTS)
        weights = list_of(owners, device, true, others_open = false, sizes);
    uint32_t open = list_of(owners, device, false, others_open, sizes + device->count);
    struct settling settling = { .owners = owners,
                                 .device = device,
                                 .weights = sizes,
                                 .weight_count = weights,
                                 .update = find_first_update(owners, device),
                                 .needs_masters = owners->has_backward,
                                 .load_failed = device->has_history && load_failed(owners, device->device),
                                 .backward_bytes = bytes_of_backward(owners, device) };
    settle(&settling, sizes + device->count, open);
    AP_FREE(owners->gate, sizes, 2 * (size_t)device->count);
    return AP_OK;
}
