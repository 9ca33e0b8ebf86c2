/* SPDX-License-Identifier: MIT */
#include "period_work.h"

#include "frame_kind.h"
#include "sort.h"
#include "stack_frames.h"

#include "poison.h"

#define LEAST_WEIGHT_BYTES ((int64_t)1 << 20)
#define MIXED_TENTHS 9u    /* of the periods hold both kinds of work */
#define WORKING_TENTHS 1u  /* at most, of those of an inference */
#define FREED_SHARE 0.5    /* of what a period allocates */
#define FALL_SHARE 0.2     /* of the height of the curve */
#define MOST_OF_A_LAYER 4u /* weights of one size */
#define LAYER_SHARE 0.9    /* of the bytes of weights that repeat */
#define LEAST_ROUNDS 8u    /* that become longer */
#define LONGER_SHARE 0.8   /* of them are longer than the one before */
#define LONGER 1.5         /* the last round, than the first */
#define LEAST_SPAN 0.5     /* of the history */

/* What all periods hold together. */
struct held {
    uint32_t mixed, working; /* periods with backward or optimizer work and other work; with the former */
    double allocated_bytes, freed_bytes;
    double first_level, last_level, least_level, most_level;
};

static void walk_period(const struct ap_owners *owners, const struct ap_replay_device *of, const struct ap_periods *periods,
                        uint32_t index, struct held *held)
{
    const struct ap_replay *replay = owners->replay;
    const struct ap_actions *actions = &replay->snapshot->actions;
    uint32_t from = of->first_entry + periods->bounds[index], to = of->first_entry + periods->bounds[index + 1];
    bool work = false, other = false;
    for (uint32_t i = from; i < to; i++) {
        struct ap_replay_step step;
        ap_replay_step(replay, i, &step);
        held->last_level += (double)step.requested_bytes;
        held->least_level = held->last_level < held->least_level ? held->last_level : held->least_level;
        held->most_level = held->last_level > held->most_level ? held->last_level : held->most_level;
        if (actions->name[i].id != AP_ACTION_ALLOC)
            continue;
        bool working = owners->work[i] == AP_WORK_BACKWARD || owners->work[i] == AP_WORK_OPTIMIZER;
        work = work || working;
        other = other || !working;
        held->allocated_bytes += (double)actions->size_bytes[i];
        uint32_t lifetime = replay->lifetime_of[i];
        if (lifetime == AP_NO_LIFETIME)
            continue;
        const struct ap_lifetime *life = &replay->lifetimes[lifetime];
        uint32_t end = life->free_requested != AP_NO_ENTRY ? life->free_requested : life->free_completed;
        held->freed_bytes += end < to ? (double)actions->size_bytes[i] : 0;
    }
    held->working += work;
    held->mixed += work && other;
}

/* ----------------------------------------------------------------------------------------------------- whose loop it is */

/* Frames that the stacks of the periods have in common, outermost first. */
struct common {
    struct ap_gate *gate;
    uint32_t *frames, *spare;
    uint32_t count, room;
    bool any, calls; /* a stack was seen; one of them calls a module */
};

static void meet(struct common *common, const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t all, same = 0;
    (void)ap_stack_frames(&snapshot->stacks, stack, &all);
    if (!all || all > common->room)
        return;
    uint32_t count = ap_stack_shown(snapshot, stack, common->spare);
    for (uint32_t i = 0; i < count; i++)
        common->calls = common->calls || ap_frame_calls_module(snapshot, common->spare[i]);
    for (uint32_t i = 0; i < count && !common->any; i++)
        common->frames[i] = common->spare[count - 1 - i];
    while (common->any && same < count && same < common->count && common->frames[same] == common->spare[count - 1 - same])
        same++;
    common->count = common->any ? same : count;
    common->any = true;
}

static uint32_t longest_stack(const struct ap_stacks *stacks)
{
    uint32_t longest = 1;
    for (uint32_t i = 1; i <= stacks->stack_count; i++) {
        uint32_t count;
        (void)ap_stack_frames(stacks, i, &count);
        longest = count > longest ? count : longest;
    }
    return longest;
}

enum loop { LOOP_UNKNOWN, LOOP_IN_A_CALL, LOOP_OVER_CALLS };

static enum ap_status find_loop(const struct ap_owners *owners, const struct ap_replay_device *of,
                                const struct ap_periods *periods, enum loop *ret_loop, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    struct common common = { .gate = owners->gate, .room = longest_stack(&snapshot->stacks) };
    size_t bytes = (size_t)common.room * 2 * sizeof(uint32_t);
    uint32_t before = 0, from = of->first_entry + periods->bounds[0];
    *ret_loop = LOOP_UNKNOWN;
    common.frames = ap_mem_resize(common.gate, NULL, 0, bytes);
    if (!common.frames)
        return ap_fail_memory(common.gate, reterr);
    common.spare = common.frames + common.room;
    for (uint32_t i = from; i < of->first_entry + periods->bounds[periods->bound_count - 1]; i++) {
        uint32_t stack = snapshot->actions.stack[i];
        if (snapshot->actions.name[i].id != AP_ACTION_ALLOC || !stack || stack == before)
            continue;
        meet(&common, snapshot, stack);
        before = stack;
    }
    bool inside = false;
    for (uint32_t i = 0; i < common.count; i++)
        inside = inside || ap_frame_calls_module(snapshot, common.frames[i]);
    if (common.calls)
        *ret_loop = inside ? LOOP_IN_A_CALL : LOOP_OVER_CALLS;
    ap_mem_free(common.gate, common.frames, bytes);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------- layers of one pass */

/* How many layers the model has: so many weights of one size, of those that are no vectors. */
static enum ap_status count_layers(const struct ap_owners *owners, uint32_t device, uint32_t *ret_layers,
                                   struct ap_error *reterr)
{
    struct ap_owned_device end;
    int64_t *sizes;
    uint32_t count = 0, layers = 0;
    AP_TRY(ap_owned_take_at(owners, device, owners->replay->devices[device].entry_count, &end, reterr));
    enum ap_status status = AP_ALLOC(owners->gate, sizes, end.count, reterr);
    if (status == AP_OK) {
        for (uint32_t i = 0; i < end.count; i++)
            if (ap_owned_category(&end.list[i]) == AP_OWNER_PARAMETERS && end.list[i].bytes >= LEAST_WEIGHT_BYTES)
                sizes[count++] = end.list[i].bytes;
        ap_sort(sizes, count, sizeof(*sizes), ap_by_int64);
        for (uint32_t i = 0, same = 0; i < count; i++) {
            same = i && sizes[i] == sizes[i - 1] ? same + 1 : 1;
            layers = same > layers ? same : layers;
        }
        AP_FREE(owners->gate, sizes, end.count);
    }
    ap_owned_release(owners, &end);
    *ret_layers = layers;
    return status;
}

/* How often one stack allocates within the periods, at most. */
static enum ap_status count_repeats(const struct ap_owners *owners, const struct ap_replay_device *of,
                                    const struct ap_periods *periods, uint32_t *ret_most, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    size_t stacks = (size_t)snapshot->stacks.stack_count + 1;
    uint32_t *counts, most = 0;
    AP_TRY(AP_ALLOC_CLEARED(owners->gate, counts, stacks, reterr));
    for (uint32_t i = of->first_entry + periods->bounds[0]; i < of->first_entry + periods->bounds[periods->bound_count - 1];
         i++) {
        uint32_t stack = snapshot->actions.stack[i];
        if (snapshot->actions.name[i].id == AP_ACTION_ALLOC && stack && ++counts[stack] > most)
            most = counts[stack];
    }
    AP_FREE(owners->gate, counts, stacks);
    *ret_most = most;
    return AP_OK;
}

/* A function that goes through the layers by itself loops over modules as well. It ends with the layers, and each comes
 * once; a step runs all of them. */
static enum ap_status are_layers(const struct ap_owners *owners, uint32_t device, const struct ap_periods *periods,
                                 bool *ret_layers, struct ap_error *reterr)
{
    uint32_t layers, most, count = ap_period_count(periods);
    AP_TRY(count_layers(owners, device, &layers, reterr));
    AP_TRY(count_repeats(owners, &owners->replay->devices[device], periods, &most, reterr));
    *ret_layers = count <= layers && most <= layers;
    return AP_OK;
}

/* Weights whose sizes repeat. */
struct repeated {
    double bytes, matched[2]; /* of all; of those that come a few times for each period, and for each and one more */
    uint32_t count, least;    /* of all; of the size that comes least often */
};

static struct repeated sum_repeated(const int64_t *sizes, uint32_t count, uint32_t periods)
{
    struct repeated sum = { .least = UINT32_MAX };
    for (uint32_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && sizes[i + same] == sizes[i];)
            same++;
        if (same < AP_LEAST_PERIODS)
            continue;
        double bytes = (double)sizes[i] * same;
        sum.bytes += bytes;
        sum.count += same;
        sum.least = same < sum.least ? same : sum.least;
        for (uint32_t last = 0; last < 2; last++)
            sum.matched[last] += same % (periods + last) == 0 && same / (periods + last) <= MOST_OF_A_LAYER ? bytes : 0;
    }
    return sum;
}

/* A pass that found no room ends before its last layer. A step runs the whole model, where each weight has a result at
 * least; what allocates less often is a part of it, and that comes no more often than there are layers. */
static bool broke_off(const struct ap_replay *replay, const struct ap_replay_device *of, const struct ap_periods *periods,
                      const struct repeated *weights)
{
    const struct ap_actions *actions = &replay->snapshot->actions;
    uint32_t begin = periods->bounds[0], end = periods->bounds[periods->bound_count - 1];
    uint64_t allocs = 0;
    bool failed = false;
    for (uint32_t i = begin; i < of->entry_count; i++) {
        uint32_t action = actions->name[of->first_entry + i].id;
        allocs += i < end && action == AP_ACTION_ALLOC;
        failed = failed || (i >= end && action == AP_ACTION_OOM);
    }
    uint32_t count = ap_period_count(periods);
    return failed && weights->count && count <= weights->least && allocs < (uint64_t)count * weights->count;
}

/* Without stacks layers are told by weights alone: of those that are there before and stay, nearly all sizes that repeat do
 * so once or more for each period. The last layer may be outside of the periods. */
static enum ap_status repeat_as_weights(const struct ap_owners *owners, uint32_t device, const struct ap_periods *periods,
                                        bool *ret_layers, struct ap_error *reterr)
{
    struct ap_owned_device before;
    int64_t *sizes;
    uint32_t count = 0;
    AP_TRY(ap_owned_take_at(owners, device, periods->bounds[0], &before, reterr));
    enum ap_status status = AP_ALLOC(owners->gate, sizes, before.count, reterr);
    for (uint32_t i = 0; i < before.count && status == AP_OK; i++)
        if (before.list[i].end == AP_NO_ENTRY && before.list[i].bytes >= LEAST_WEIGHT_BYTES)
            sizes[count++] = before.list[i].bytes;
    if (status == AP_OK) {
        ap_sort(sizes, count, sizeof(*sizes), ap_by_int64);
        struct repeated sum = sum_repeated(sizes, count, ap_period_count(periods));
        double least = LAYER_SHARE * sum.bytes;
        *ret_layers = (sum.bytes > 0 && (sum.matched[0] >= least || sum.matched[1] >= least)) ||
                      broke_off(owners->replay, &owners->replay->devices[device], periods, &sum);
        AP_FREE(owners->gate, sizes, before.count);
    }
    ap_owned_release(owners, &before);
    return status;
}

enum ap_status ap_periods_prove(const struct ap_owners *owners, uint32_t device, const struct ap_periods *periods,
                                enum ap_period_proof *ret_proof, struct ap_error *reterr)
{
    const struct ap_replay_device *of = &owners->replay->devices[device];
    uint32_t count = ap_period_count(periods);
    struct held held = { .mixed = 0 };
    enum loop loop;
    *ret_proof = count && periods->source == AP_PERIODS_ANNOTATIONS ? AP_PERIODS_STEPS : AP_PERIODS_NO_STEPS;
    if (!count || *ret_proof == AP_PERIODS_STEPS)
        return AP_OK;
    for (uint32_t i = 0; i < count; i++)
        walk_period(owners, of, periods, i, &held);
    bool mixed = (uint64_t)held.mixed * 10 >= (uint64_t)count * MIXED_TENTHS;
    bool working = (uint64_t)held.working * 10 > (uint64_t)count * WORKING_TENTHS;
    if (mixed || working || periods->source != AP_PERIODS_REPETITION) {
        *ret_proof = mixed ? AP_PERIODS_TRAINING : working ? AP_PERIODS_NO_STEPS : AP_PERIODS_UNSURE;
        return AP_OK;
    }
    AP_TRY(find_loop(owners, of, periods, &loop, reterr));
    bool falls = held.first_level - held.last_level > FALL_SHARE * (held.most_level - held.least_level);
    bool freed = !falls && held.freed_bytes >= FREED_SHARE * held.allocated_bytes;
    bool steps = loop == LOOP_OVER_CALLS || (loop == LOOP_UNKNOWN && freed), layers = false;
    if (loop == LOOP_UNKNOWN && steps)
        AP_TRY(repeat_as_weights(owners, device, periods, &layers, reterr));
    if (loop == LOOP_OVER_CALLS)
        AP_TRY(are_layers(owners, device, periods, &layers, reterr));
    *ret_proof = steps && !layers ? AP_PERIODS_STEPS : AP_PERIODS_UNSURE;
    return AP_OK;
}

enum ap_status ap_periods_of_passes(const struct ap_owners *owners, uint32_t device, struct ap_periods *ret_periods,
                                    struct ap_error *reterr)
{
    const struct ap_replay_device *of = &owners->replay->devices[device];
    struct ap_periods periods = { .gate = owners->gate, .source = AP_PERIODS_PASSES };
    bool worked = true;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        uint32_t entry = of->first_entry + i;
        enum ap_work work = (enum ap_work)owners->work[entry];
        if (owners->replay->snapshot->actions.name[entry].id != AP_ACTION_ALLOC)
            continue;
        enum ap_status status = worked && work == AP_WORK_FORWARD ? ap_periods_add(&periods, i, reterr) : AP_OK;
        if (status != AP_OK) {
            ap_periods_release(&periods);
            return status;
        }
        worked = work == AP_WORK_BACKWARD || work == AP_WORK_OPTIMIZER || (worked && work != AP_WORK_FORWARD);
    }
    /* The last pass is whole as well where its backward pass ran: a recording of four steps has four. */
    enum ap_status status = AP_OK;
    if (worked && periods.bound_count == AP_LEAST_PERIODS)
        status = ap_periods_add(&periods, of->entry_count, reterr);
    if (ap_period_count(&periods) < AP_LEAST_PERIODS)
        periods.bound_count = 0;
    if (status != AP_OK)
        ap_periods_release(&periods);
    else
        *ret_periods = periods;
    return status;
}

/* ------------------------------------------------------------------------------------------- rounds that become longer */

struct place {
    int64_t bytes;
    uint32_t position;
};

static int by_bytes_then_position(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    AP_BY_SMALLER(a->bytes, b->bytes);
    AP_BY_SMALLER(a->position, b->position);
    return 0;
}

/* Nearly each lies further from the one before than that did, by half at least in all; layers of a pass are equally long. */
static bool lengthens(const struct place *list, uint32_t count)
{
    uint32_t longer = 0, first = 0, before = 0;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t distance = list[i].position - list[i - 1].position;
        first = i == 1 ? distance : first;
        longer += distance > before;
        before = distance;
    }
    return count > LEAST_ROUNDS && longer >= LONGER_SHARE * (count - 1) && before >= LONGER * first;
}

static enum ap_status list_places(const struct ap_owners *owners, const struct ap_replay_device *of, struct place **ret_list,
                                  uint32_t *ret_count, struct ap_error *reterr)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    *ret_count = 0;
    AP_TRY(AP_ALLOC(owners->gate, *ret_list, of->entry_count, reterr));
    for (uint32_t i = 0; i < of->entry_count; i++)
        if (actions->name[of->first_entry + i].id == AP_ACTION_ALLOC)
            (*ret_list)[(*ret_count)++] = (struct place){ actions->size_bytes[of->first_entry + i], i };
    ap_sort(*ret_list, *ret_count, sizeof(**ret_list), by_bytes_then_position);
    return AP_OK;
}

enum ap_status ap_periods_that_lengthen(const struct ap_owners *owners, uint32_t device, struct ap_periods *ret_periods,
                                        struct ap_error *reterr)
{
    const struct ap_replay_device *of = &owners->replay->devices[device];
    struct ap_periods periods = { .gate = owners->gate, .source = AP_PERIODS_LONGER_ROUNDS };
    struct place *list;
    uint32_t count, best = 0, best_count = 0, longest = (uint32_t)(LEAST_SPAN * of->entry_count);
    AP_TRY(list_places(owners, of, &list, &count, reterr));
    for (uint32_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && list[i + same].bytes == list[i].bytes;)
            same++;
        uint32_t span = list[i + same - 1].position - list[i].position;
        if (span <= longest || !lengthens(list + i, same))
            continue;
        best = i;
        best_count = same;
        longest = span;
    }
    enum ap_status status = AP_OK;
    for (uint32_t i = best; i < best + best_count && status == AP_OK; i++)
        status = ap_periods_add(&periods, list[i].position, reterr);
    AP_FREE(owners->gate, list, of->entry_count);
    if (status != AP_OK)
        ap_periods_release(&periods);
    else
        *ret_periods = periods;
    return status;
}
