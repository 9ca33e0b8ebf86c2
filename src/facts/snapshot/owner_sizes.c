/* SPDX-License-Identifier: MIT
 * owner_sizes.c - what is from before the history has no stack. Weights are told by having the sizes of the gradients, or of
 * the optimizer's state, one by one; what is left over after them by being more sets of the same sizes. */
#include "allocation_owner.h"
#include "sort.h"

#include "poison.h"

#define SHARE_MATCHED 0.9
#define MOST_SETS 4
#define STATES_OF_ADAM 2u
#define NO_INDEX UINT32_MAX
#define LEAST_OF_WEIGHTS 4u /* of one line of a constructor: a layer's weight is made once for each layer */
#define LEAST_LONE_BYTES ((int64_t)1 << 20)
#define SHARE_LONE 0.1   /* of zeros, by the bytes of weights: those are the norms of layers that are filled later */
#define SHARE_ALIKE 0.85 /* of one size: more than that may be a cache that an engine reserved */

enum sized_kind { SIZED_REFERENCE, SIZED_OPEN };

struct sized {
    int64_t bytes;
    uint32_t index; /* in the list */
    uint8_t kind;   /* enum sized_kind */
    uint32_t age;   /* 0 = from before the history, else one more than its entry */
};

struct settling {
    const struct ap_owners *owners;
    struct ap_owned_device *device;
    const struct ap_owned_device
        *beside; /* the moment behind a backward pass, for gradients that are not alive at this one */
    const struct ap_owned_device *gradients; /* which of the two is asked for them */
    struct sized *sizes;                     /* room for both lists */
    uint32_t count;
    uint32_t young;                    /* the entry from which on what is made is no older than what ran last */
    bool forward, backward, optimizer; /* work that the history holds */
    bool named;                        /* frames tell some weights */
};

/* Of one size the oldest first: weights are made before all else that has their sizes. */
static int by_bytes(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    AP_BY_SMALLER(a->bytes, b->bytes);
    AP_BY_SMALLER(a->kind, b->kind);
    AP_BY_SMALLER(a->age, b->age);
    return a->index < b->index ? -1 : a->index > b->index;
}

/* ------------------------------------------------------------------------------------------------------ references */

enum reference { BY_GRADIENTS, BY_STATE, BY_WEIGHTS };

/* A state that replaces an old one, or is set up, has the size of its weight; temporaries of a step need not. */
static bool is_reference(const struct ap_owned *owned, enum reference by)
{
    enum ap_owner_evidence evidence = (enum ap_owner_evidence)owned->evidence;
    enum ap_owner_category category = ap_owner_evidence_category(evidence);
    switch (by) {
    case BY_GRADIENTS: return category == AP_OWNER_GRADIENTS;
    case BY_STATE:
        return category == AP_OWNER_OPTIMIZER_STATE &&
               (owned->alloc == AP_NO_ENTRY || evidence == AP_EVIDENCE_STATE_INIT || evidence == AP_EVIDENCE_STATE_LOADED);
    case BY_WEIGHTS: break;
    }
    return evidence == AP_EVIDENCE_SIZES_OF_WEIGHTS;
}

static bool is_state(const struct ap_owned *owned)
{
    return ap_owned_category(owned) == AP_OWNER_OPTIMIZER_STATE;
}

static bool has_any(const struct ap_owned_device *of, enum reference by)
{
    for (uint32_t i = 0; i < of->count; i++)
        if (is_reference(&of->list[i], by))
            return true;
    return false;
}

static double gradient_bytes(const struct ap_owned_device *of)
{
    double bytes = 0;
    for (uint32_t i = 0; i < of->count; i++)
        bytes += is_reference(&of->list[i], BY_GRADIENTS) ? (double)of->list[i].bytes : 0;
    return bytes;
}

/* What is old and stays, and nothing tells what for. Where frames tell weights, what they do not tell is no weight. */
static bool is_open(const struct settling *settling, const struct ap_owned *owned)
{
    bool old = owned->alloc == AP_NO_ENTRY || owned->alloc < settling->young;
    return owned->evidence == AP_EVIDENCE_BEFORE_KEPT ||
           (!settling->named && owned->evidence == AP_EVIDENCE_NO_FRAME_SAYS && old && owned->end == AP_NO_ENTRY);
}

static uint32_t age_of(const struct ap_owned *owned)
{
    return owned->alloc == AP_NO_ENTRY ? 0 : owned->alloc + 1;
}

/* Sizes of the reference times @times, or over -@times, and those of what is open. */
static void list_sizes(struct settling *settling, enum reference by, int64_t times)
{
    const struct ap_owned_device *from = by == BY_GRADIENTS ? settling->gradients : settling->device;
    settling->count = 0;
    for (uint32_t i = 0; i < settling->device->count; i++)
        if (is_open(settling, &settling->device->list[i]))
            settling->sizes[settling->count++] =
                (struct sized){ settling->device->list[i].bytes, i, SIZED_OPEN, age_of(&settling->device->list[i]) };
    for (uint32_t i = 0; i < from->count; i++) {
        int64_t bytes = from->list[i].bytes;
        if (!is_reference(&from->list[i], by) || (times > 0 && bytes > INT64_MAX / times))
            continue;
        settling->sizes[settling->count++] =
            (struct sized){ times > 0 ? bytes * times : bytes / -times, NO_INDEX, SIZED_REFERENCE, 0 };
    }
    ap_sort(settling->sizes, settling->count, sizeof(*settling->sizes), by_bytes);
}

/* -------------------------------------------------------------------------------------------------------- matching */

/* One run of equal sizes: how many of it the reference asks for, how many are open. */
struct run {
    uint32_t end, wanted, open;
};

static struct run run_at(const struct settling *settling, uint32_t from, uint32_t copies)
{
    const struct sized *sizes = settling->sizes;
    struct run run = { .end = from };
    for (; run.end < settling->count && sizes[run.end].bytes == sizes[from].bytes; run.end++) {
        run.wanted += sizes[run.end].kind == SIZED_REFERENCE;
        run.open += sizes[run.end].kind == SIZED_OPEN;
    }
    run.wanted /= copies;
    return run;
}

/* Do nearly all sizes of the reference stand among the open ones, and nearly all of it divide into so many copies? */
static bool fits(const struct settling *settling, uint32_t copies)
{
    double all = 0, matched = 0;
    struct run run;
    for (uint32_t i = 0; i < settling->count; i = run.end) {
        run = run_at(settling, i, 1);
        uint32_t wanted = run.wanted / copies, found = run.open < wanted ? run.open : wanted;
        all += (double)settling->sizes[i].bytes * run.wanted;
        matched += (double)settling->sizes[i].bytes * found * copies;
    }
    return all > 0 && matched >= SHARE_MATCHED * all;
}

static void settle(struct settling *settling, uint32_t copies, enum ap_owner_evidence evidence)
{
    struct run run;
    for (uint32_t i = 0; i < settling->count; i = run.end) {
        run = run_at(settling, i, copies);
        for (uint32_t j = i; j < run.end && run.wanted; j++) {
            if (settling->sizes[j].kind != SIZED_OPEN)
                continue;
            settling->device->list[settling->sizes[j].index].evidence = (uint8_t)evidence;
            run.wanted--;
        }
    }
}

/* ----------------------------------------------------------------------------------------------------------- weights */

static bool settle_by_gradients(struct settling *settling, const struct ap_owned_device *of)
{
    settling->gradients = of;
    list_sizes(settling, BY_GRADIENTS, 1);
    if (!fits(settling, 1))
        return false;
    settle(settling, 1, AP_EVIDENCE_SIZES_OF_WEIGHTS);
    return true;
}

/* In the midst of a backward pass some of the gradients are there: those of a whole pass tell more. */
static bool settle_weights(struct settling *settling)
{
    static const struct {
        enum reference by;
        uint32_t copies;
        int64_t times;
    } ways[] = { { BY_STATE, STATES_OF_ADAM, 1 },
                 { BY_STATE, 1, 1 },
                 /* states in 32 bits of weights in 16 */
                 { BY_STATE, STATES_OF_ADAM, -2 },
                 { BY_STATE, 1, -2 } };
    bool beside_first = gradient_bytes(settling->beside) > gradient_bytes(settling->device);
    const struct ap_owned_device *more = beside_first ? settling->beside : settling->device;
    if (settle_by_gradients(settling, more) ||
        settle_by_gradients(settling, beside_first ? settling->device : settling->beside))
        return true;
    for (size_t i = 0; i < AP_COUNT_OF(ways); i++) {
        list_sizes(settling, ways[i].by, ways[i].times);
        if (!fits(settling, ways[i].copies))
            continue;
        settle(settling, ways[i].copies, AP_EVIDENCE_SIZES_OF_WEIGHTS);
        return true;
    }
    return false;
}

/* Further sets of the sizes of the weights, then of twice those, as 32 bits beside 16: first what the history asks for,
 * gradients that no pass makes anew and state that no step makes, then copies. */
static void settle_sets(struct settling *settling)
{
    bool gradients = has_any(settling->device, BY_GRADIENTS) || has_any(settling->beside, BY_GRADIENTS), states = false;
    for (uint32_t i = 0; i < settling->device->count && !states; i++)
        states = is_state(&settling->device->list[i]);
    uint32_t wanted_states = settling->optimizer && !states ? STATES_OF_ADAM : 0;
    /* what has an optimizer has gradients, though the history, or its stacks, show no pass that makes them */
    bool wants_gradients = (settling->backward || settling->optimizer || states) && !gradients;
    for (int64_t times = 1; times <= 2; times++)
        for (int set = 0; set < MOST_SETS; set++) {
            if (!wants_gradients && !wanted_states)
                settling->young = 0; /* what the history made may be activations that are kept */
            list_sizes(settling, BY_WEIGHTS, times);
            if (!fits(settling, 1))
                break;
            enum ap_owner_evidence evidence = wants_gradients && times == 1 ? AP_EVIDENCE_SIZES_OF_GRADIENTS
                                              : wanted_states               ? AP_EVIDENCE_SIZES_OF_STATE
                                                                            : AP_EVIDENCE_SIZES_ONCE_MORE;
            settle(settling, 1, evidence);
            wanted_states -= evidence == AP_EVIDENCE_SIZES_OF_STATE;
            wants_gradients = wants_gradients && evidence != AP_EVIDENCE_SIZES_OF_GRADIENTS;
        }
}

/* Where nothing but forward passes ran there are weights, and whatever an engine reserved for its cache: that is many of one
 * size. */
static void settle_inference(struct settling *settling)
{
    double all = 0, alike = 0;
    struct run run;
    list_sizes(settling, BY_WEIGHTS, 1);
    for (uint32_t i = 0; i < settling->count; i = run.end) {
        run = run_at(settling, i, 1);
        double bytes = (double)settling->sizes[i].bytes * run.open;
        all += bytes;
        alike = bytes > alike ? bytes : alike;
    }
    for (uint32_t i = 0; i < settling->count && alike <= SHARE_ALIKE * all; i++) {
        struct ap_owned *owned = &settling->device->list[settling->sizes[i].index];
        if (owned->evidence == AP_EVIDENCE_BEFORE_KEPT)
            owned->evidence = AP_EVIDENCE_INFERENCE_KEPT;
    }
}

/* -------------------------------------------------------------------------------------------------------- lone tensors */

/* The sizes of all gradients and of all state, and of what was made once in an __init__, or a few times. */
static void list_lone(struct settling *settling)
{
    const struct ap_owned_device *of[] = { settling->device, settling->beside };
    settling->count = 0;
    for (uint32_t i = 0; i < settling->device->count; i++)
        if (settling->device->list[i].evidence == AP_EVIDENCE_INIT_ALONE)
            settling->sizes[settling->count++] = (struct sized){ settling->device->list[i].bytes, i, SIZED_OPEN, 0 };
    for (size_t j = 0; j < AP_COUNT_OF(of); j++)
        for (uint32_t i = 0; i < of[j]->count; i++)
            if (is_reference(&of[j]->list[i], BY_GRADIENTS) || is_state(&of[j]->list[i]))
                settling->sizes[settling->count++] = (struct sized){ of[j]->list[i].bytes, NO_INDEX, SIZED_REFERENCE, 0 };
    ap_sort(settling->sizes, settling->count, sizeof(*settling->sizes), by_bytes);
}

/* A constructor makes buffers and data sets as well as weights. Weights are many, or have a gradient or state. */
static void settle_inits(struct settling *settling)
{
    struct ap_owned *list = settling->device->list;
    struct run run;
    settling->count = 0;
    for (uint32_t i = 0; i < settling->device->count; i++)
        if (list[i].evidence == AP_EVIDENCE_INIT_KEPT && list[i].bytes >= LEAST_LONE_BYTES)
            settling->sizes[settling->count++] = (struct sized){ list[i].stack, i, SIZED_OPEN, 0 };
    ap_sort(settling->sizes, settling->count, sizeof(*settling->sizes), by_bytes);
    for (uint32_t i = 0; i < settling->count; i = run.end) {
        run = run_at(settling, i, 1); /* those of one stack */
        for (uint32_t j = i; j < run.end && run.open < LEAST_OF_WEIGHTS; j++)
            list[settling->sizes[j].index].evidence = AP_EVIDENCE_INIT_ALONE;
    }
    list_lone(settling);
    for (uint32_t i = 0; i < settling->count; i = run.end) {
        run = run_at(settling, i, 1);
        for (uint32_t j = i; j < run.end && run.wanted; j++)
            if (settling->sizes[j].kind == SIZED_OPEN)
                list[settling->sizes[j].index].evidence = AP_EVIDENCE_INIT_KEPT;
    }
}

/* Layers that are filled from a file are made as zeros, too: of several sizes, where nothing else can be the weights. A
 * cache or a buffer is of one. */
static void settle_zeros(struct settling *settling)
{
    struct ap_owned *list = settling->device->list;
    double zeros_bytes = 0, weights_bytes = 0, alike_bytes = 0;
    struct run run;
    settling->count = 0;
    for (uint32_t i = 0; i < settling->device->count; i++) {
        if (ap_owned_category(&list[i]) == AP_OWNER_PARAMETERS)
            weights_bytes += (double)list[i].bytes;
        if (list[i].evidence != AP_EVIDENCE_ZEROS_KEPT)
            continue;
        zeros_bytes += (double)list[i].bytes;
        settling->sizes[settling->count++] = (struct sized){ list[i].bytes, i, SIZED_OPEN, 0 };
    }
    ap_sort(settling->sizes, settling->count, sizeof(*settling->sizes), by_bytes);
    for (uint32_t i = 0; i < settling->count; i = run.end) {
        run = run_at(settling, i, 1);
        double bytes = (double)settling->sizes[i].bytes * run.open;
        alike_bytes = bytes > alike_bytes ? bytes : alike_bytes;
    }
    bool layers = alike_bytes <= SHARE_ALIKE * zeros_bytes && weights_bytes < SHARE_LONE * zeros_bytes;
    for (uint32_t i = 0; i < settling->count && layers; i++)
        list[settling->sizes[i].index].evidence = AP_EVIDENCE_INIT_KEPT;
}

/* ----------------------------------------------------------------------------------------------------------- history */

uint32_t ap_owned_behind_backward(const struct ap_owners *owners, uint32_t index, uint32_t *ret_passes)
{
    const struct ap_replay_device *of = &owners->replay->devices[index];
    uint32_t behind = 0, last = 0;
    *ret_passes = 0;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        enum ap_work work = (enum ap_work)owners->work[of->first_entry + i];
        bool allocates = owners->replay->snapshot->actions.name[of->first_entry + i].id == AP_ACTION_ALLOC;
        if (allocates && work == AP_WORK_BACKWARD)
            last = i + 1;
        else if (last && (work == AP_WORK_ZERO_GRAD || (allocates && work != AP_WORK_OTHER))) {
            behind = last;
            last = 0;
            ++*ret_passes;
        }
    }
    *ret_passes += last != 0;
    return behind;
}

/* What work the history holds. */
static void look_at_history(struct settling *settling, const struct ap_replay_device *of)
{
    const struct ap_owners *owners = settling->owners;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        enum ap_work work = (enum ap_work)owners->work[of->first_entry + i];
        bool allocates = owners->replay->snapshot->actions.name[of->first_entry + i].id == AP_ACTION_ALLOC;
        settling->forward = settling->forward || (allocates && work == AP_WORK_FORWARD);
        settling->backward = settling->backward || work == AP_WORK_BACKWARD;
        settling->optimizer = settling->optimizer || work == AP_WORK_OPTIMIZER;
    }
}

static bool has_open(const struct settling *settling)
{
    const struct ap_owned_device *device = settling->device;
    for (uint32_t i = 0; i < device->count; i++)
        if (is_open(settling, &device->list[i]) || device->list[i].evidence == AP_EVIDENCE_INIT_KEPT ||
            device->list[i].evidence == AP_EVIDENCE_ZEROS_KEPT)
            return true;
    return false;
}

static bool has_weights(const struct ap_owned_device *device)
{
    for (uint32_t i = 0; i < device->count; i++)
        if (ap_owned_category(&device->list[i]) == AP_OWNER_PARAMETERS)
            return true;
    return false;
}

enum ap_status ap_owned_settle_sizes(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *device,
                                     struct ap_error *reterr)
{
    struct ap_owned_device beside = { .device = device->device };
    struct settling settling = { .owners = owners, .device = device, .beside = &beside, .gradients = device };
    const struct ap_replay_device *of = &owners->replay->devices[index];
    settling.named = has_weights(device);
    settling.young = of->first_entry + of->entry_count - ap_owned_old_entries(of);
    if (ap_owned_old_entries(of) > of->entry_count)
        settling.young = of->first_entry;
    if (!has_open(&settling))
        return AP_OK;
    look_at_history(&settling, of);
    uint32_t passes, behind = ap_owned_behind_backward(owners, index, &passes);
    if (behind)
        AP_TRY(ap_owned_list_live(owners, index, behind, &beside, reterr));
    size_t room = (size_t)device->count * 2 + beside.count;
    enum ap_status status = AP_ALLOC(owners->gate, settling.sizes, room, reterr);
    if (status == AP_OK) {
        if (settle_weights(&settling))
            settle_sets(&settling);
        else if (settling.forward && !settling.backward && !settling.optimizer)
            settle_inference(&settling);
        settle_zeros(&settling);
        settle_inits(&settling);
        AP_FREE(owners->gate, settling.sizes, room);
    }
    ap_owned_release(owners, &beside);
    return status;
}
