/* SPDX-License-Identifier: MIT */
#include "allocation_owner.h"

#include <string.h>

#include "name_pattern.h"
#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

#define MOST_NAME_BYTES 2048 /* of a frame's name, more does not tell more */

const char *ap_owner_category_name(enum ap_owner_category category)
{
    static const char *const names[] = {
#define AP_OWNER_CATEGORY(id, key, word) word,
#include "owner_category.def"
    };
    return names[category];
}

static const struct {
    enum ap_owner_category category;
    const char *sentence;
} evidences[] = {
#define AP_OWNER_EVIDENCE(id, category, sentence) { AP_OWNER_##category, sentence },
#include "owner_evidence.def"
};

enum ap_owner_category ap_owner_evidence_category(enum ap_owner_evidence evidence)
{
    return evidences[evidence].category;
}

enum ap_owner_category ap_owned_category(const struct ap_owned *owned)
{
    return ap_owner_evidence_category((enum ap_owner_evidence)owned->evidence);
}

int64_t ap_owned_sum_bytes(const struct ap_owned_device *device, enum ap_owner_category category)
{
    int64_t bytes = 0;
    bool overflowed = false;
    for (uint32_t i = 0; i < device->count; i++)
        if (ap_owned_category(&device->list[i]) == category)
            bytes = ap_add_sat(bytes, device->list[i].bytes, &overflowed);
    return bytes;
}

const char *ap_owner_evidence_sentence(enum ap_owner_evidence evidence)
{
    return evidences[evidence].sentence;
}

/* ----------------------------------------------------------------------------------------------------------- frames */

static const struct {
    enum ap_owner_sign sign;
    const char *files, *functions;
} lines[] = {
#define AP_OWNER_FRAME(sign, files, functions) { AP_SIGN_##sign, files, functions },
#include "owner_frames.def"
};
_Static_assert(AP_COUNT_OF(lines) <= 64, "patterns are matched as bits of 64");

struct frame_lines {
    struct ap_name_patterns files, functions;
};

static enum ap_status begin_lines(struct frame_lines *to, struct ap_gate *gate, struct ap_error *reterr)
{
    const char *files[AP_COUNT_OF(lines)], *functions[AP_COUNT_OF(lines)];
    for (size_t i = 0; i < AP_COUNT_OF(lines); i++) {
        files[i] = lines[i].files;
        functions[i] = lines[i].functions;
    }
    to->functions = (struct ap_name_patterns){ .gate = gate };
    enum ap_status status = ap_name_patterns_init(&to->files, gate, files, AP_COUNT_OF(lines), reterr);
    AP_AND_THEN(status, ap_name_patterns_init(&to->functions, gate, functions, AP_COUNT_OF(lines), reterr));
    return status;
}

static void end_lines(struct frame_lines *of)
{
    ap_name_patterns_release(&of->files);
    ap_name_patterns_release(&of->functions);
}

/* The end of a path that was written with backslashes, in forward slashes; other paths as they are. */
static struct ap_text with_slashes(struct ap_text path, char *spare, size_t spare_bytes)
{
    if (!path.bytes || !memchr(path.data, '\\', path.bytes))
        return path;
    size_t bytes = path.bytes < spare_bytes ? path.bytes : spare_bytes;
    for (size_t i = 0; i < bytes; i++) {
        char c = path.data[path.bytes - bytes + i];
        spare[i] = c == '\\' ? '/' : c;
    }
    return (struct ap_text){ spare, bytes };
}

static uint8_t sign_of_frame(const struct frame_lines *of, struct ap_text file, struct ap_text name)
{
    char spare[1024];
    if (name.bytes > MOST_NAME_BYTES)
        name.bytes = MOST_NAME_BYTES;
    uint64_t matches = ap_name_patterns_all(&of->functions, name);
    if (matches)
        matches &= ap_name_patterns_all(&of->files, with_slashes(file, spare, sizeof(spare)));
    for (size_t i = 0; i < AP_COUNT_OF(lines); i++)
        if (matches & (uint64_t)1 << i)
            return (uint8_t)lines[i].sign;
    return AP_SIGN_NONE;
}

static enum ap_status sign_frames(struct ap_owners *owners, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    struct frame_lines of;
    enum ap_status status = begin_lines(&of, owners->gate, reterr);
    for (uint32_t i = 0; i < snapshot->stacks.frame_count && status == AP_OK; i++) {
        const struct ap_frame *frame = &snapshot->stacks.frames[i];
        owners->frame_signs[i] = sign_of_frame(&of, ap_strpool_text(&snapshot->strings, frame->filename),
                                               ap_strpool_text(&snapshot->strings, frame->name));
    }
    end_lines(&of);
    return status;
}

static enum ap_work work_of_sign(enum ap_owner_sign sign)
{
    switch (sign) {
    case AP_SIGN_ACCUMULATE:
    case AP_SIGN_BACKWARD: return AP_WORK_BACKWARD;
    case AP_SIGN_STATE_INIT:
    case AP_SIGN_OPTIMIZER: return AP_WORK_OPTIMIZER;
    case AP_SIGN_ZERO_GRAD: return AP_WORK_ZERO_GRAD;
    case AP_SIGN_FORWARD: return AP_WORK_FORWARD;
    default: return AP_WORK_OTHER;
    }
}

static bool is_native(const struct ap_snapshot *snapshot, uint32_t frame)
{
    return ap_text_contains(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frame].name), AP_TEXT("::"));
}

static void sign_stacks(struct ap_owners *owners)
{
    const struct ap_stacks *stacks = &owners->replay->snapshot->stacks;
    owners->stacks[0] = (struct ap_owner_stack){ .sign = AP_SIGN_NONE };
    for (uint32_t i = 1; i <= stacks->stack_count; i++) {
        struct ap_owner_stack stack = { .sign = AP_SIGN_NONE };
        bool layer = false;
        uint32_t count;
        const uint32_t *frames = ap_stack_frames(stacks, i, &count);
        for (uint32_t j = 0; j < count; j++) {
            uint8_t sign = owners->frame_signs[frames[j]];
            enum ap_work work = work_of_sign((enum ap_owner_sign)sign);
            stack.zeros = stack.zeros || sign == AP_SIGN_ZEROS;
            stack.without_grad = stack.without_grad || sign == AP_SIGN_NO_GRAD;
            stack.table = stack.table || sign == AP_SIGN_TABLE;
            layer = layer || sign == AP_SIGN_LAYER;
            bool alone = sign >= AP_SIGN_ZEROS;
            stack.sign = stack.sign == AP_SIGN_NONE && !alone ? sign : stack.sign;
            stack.cloned = stack.cloned || (stack.sign == AP_SIGN_COPY && (sign == AP_SIGN_MODULE || sign == AP_SIGN_INIT));
            if (stack.cloned)
                stack.sign = AP_SIGN_MODULE;
            if (stack.sign == AP_SIGN_COPY && sign == AP_SIGN_STATE_LOAD)
                stack.sign = AP_SIGN_STATE_LOAD;
            stack.in_backward = stack.in_backward || work == AP_WORK_BACKWARD;
            stack.native = stack.native || (work == AP_WORK_BACKWARD && is_native(owners->replay->snapshot, frames[j]));
            stack.work = stack.work == AP_WORK_OTHER ? (uint8_t)work : stack.work;
        }
        if (layer && stack.sign == AP_SIGN_NONE) {
            stack.sign = AP_SIGN_FORWARD;
            stack.work = AP_WORK_FORWARD;
        }
        if (stack.in_backward)
            stack.work = AP_WORK_BACKWARD;
        else if (stack.sign == AP_SIGN_GATHERED)
            stack.work = AP_WORK_OTHER; /* for a forward, but none of its results */
        owners->stacks[i] = stack;
    }
}

enum ap_status ap_owners_init(struct ap_owners *owners, const struct ap_replay *replay, struct ap_gate *gate,
                              struct ap_error *reterr)
{
    const struct ap_stacks *stacks = &replay->snapshot->stacks;
    *owners = (struct ap_owners){ .gate = gate, .replay = replay };
    owners->stacks = ap_mem_resize(gate, NULL, 0, ((size_t)stacks->stack_count + 1) * sizeof(*owners->stacks));
    owners->frame_signs = ap_mem_resize(gate, NULL, 0, (size_t)stacks->frame_count + 1);
    owners->work = ap_mem_resize(gate, NULL, 0, (size_t)replay->snapshot->actions.count + 1);
    enum ap_status status = AP_OK;
    if (!owners->stacks || !owners->frame_signs || !owners->work)
        status = ap_fail_memory(gate, reterr);
    else
        status = sign_frames(owners, reterr);
    if (status == AP_OK) {
        sign_stacks(owners);
        status = ap_owners_find_grown(owners, reterr);
        AP_AND_THEN(status, ap_owners_find_work(owners, reterr));
    }
    if (status != AP_OK)
        ap_owners_release(owners);
    return status;
}

void ap_owners_release(struct ap_owners *owners)
{
    const struct ap_stacks *stacks = &owners->replay->snapshot->stacks;
    AP_FREE(owners->gate, owners->stacks, (size_t)stacks->stack_count + 1);
    ap_mem_free(owners->gate, owners->frame_signs, (size_t)stacks->frame_count + 1);
    ap_mem_free(owners->gate, owners->work, (size_t)owners->replay->snapshot->actions.count + 1);
    owners->work = NULL;
    owners->stacks = NULL;
    owners->frame_signs = NULL;
}

/* ------------------------------------------------------------------------------------------------- what decides a case */

/* What is known of one allocation beside its stack. */
struct life {
    bool begun; /* its alloc is in the history */
    bool freed;
    bool trained;              /* there are backward passes in the history */
    bool shortly;              /* freed within a few entries */
    bool between;              /* freed before any pass or step allocated */
    bool kept;                 /* alive at the end, and has been for a while */
    bool sees_backward;        /* while it lived, a backward pass allocated */
    bool sees_other;           /* while it lived, something else did */
    uint8_t made_in, freed_in; /* enum ap_work */
};

static enum ap_owner_evidence evidence_without_sign(bool has_stack, const struct life *life)
{
    if (life->freed_in == AP_WORK_ZERO_GRAD && (!life->begun || life->made_in == AP_WORK_BACKWARD))
        return AP_EVIDENCE_FREED_BY_ZERO_GRAD;
    if (!life->begun && life->freed_in == AP_WORK_OPTIMIZER)
        return AP_EVIDENCE_REPLACED_BY_STEP;
    if (life->made_in == AP_WORK_BACKWARD) /* on a thread without a stack */
        return life->sees_other || life->kept ? AP_EVIDENCE_BARE_KEPT : AP_EVIDENCE_BARE_FREED;
    if (life->freed_in == AP_WORK_BACKWARD)
        return AP_EVIDENCE_FREED_BY_BACKWARD;
    if (has_stack)
        return life->between ? AP_EVIDENCE_BETWEEN : AP_EVIDENCE_NO_FRAME_SAYS;
    if (life->begun)
        return AP_EVIDENCE_NO_STACK;
    return life->freed ? AP_EVIDENCE_BEFORE : AP_EVIDENCE_BEFORE_KEPT;
}

/* Whatever its lifetime; AP_EVIDENCE_NO_FRAME_SAYS = that counts. */
static enum ap_owner_evidence evidence_of_stack(const struct ap_owner_stack *stack, enum ap_owner_sign sign)
{
    switch (sign) {
    case AP_SIGN_WORKSPACE: return AP_EVIDENCE_WORKSPACE;
    case AP_SIGN_COLLECTIVE: return AP_EVIDENCE_COLLECTIVE;
    case AP_SIGN_GATHERED: return AP_EVIDENCE_GATHERED;
    case AP_SIGN_ACCUMULATE: return AP_EVIDENCE_ACCUMULATE;
    case AP_SIGN_INPUT: return AP_EVIDENCE_INPUT;
    case AP_SIGN_KV_CACHE: return AP_EVIDENCE_KV_CACHE;
    default: return stack->grown ? AP_EVIDENCE_KV_GROWN : AP_EVIDENCE_NO_FRAME_SAYS;
    }
}

static enum ap_owner_evidence evidence_of(const struct ap_owner_stack *stack, bool has_stack, const struct life *life)
{
    enum ap_owner_sign sign = (enum ap_owner_sign)stack->sign;
    bool saved = life->sees_backward || life->freed_in == AP_WORK_BACKWARD;
    if (life->made_in == AP_WORK_OPTIMIZER && sign != AP_SIGN_WORKSPACE && sign != AP_SIGN_COLLECTIVE &&
        sign != AP_SIGN_GATHERED && sign != AP_SIGN_STATE_INIT)
        sign = AP_SIGN_OPTIMIZER; /* by a frame further out, or by an annotation */
    enum ap_owner_evidence by_stack = evidence_of_stack(stack, sign);
    if (by_stack != AP_EVIDENCE_NO_FRAME_SAYS)
        return by_stack;
    if (sign == AP_SIGN_FORWARD && saved && !stack->in_backward)
        return AP_EVIDENCE_FORWARD_SAVED; /* however short: the last layers' are needed at once */
    if (sign == AP_SIGN_NONE && life->begun && life->freed_in == AP_WORK_BACKWARD && life->made_in != AP_WORK_BACKWARD)
        return AP_EVIDENCE_FREED_BY_BACKWARD; /* likewise, where no frames of Python tell the forward */
    if (life->made_in == AP_WORK_BACKWARD && life->freed_in == AP_WORK_ZERO_GRAD)
        return AP_EVIDENCE_FREED_BY_ZERO_GRAD; /* likewise: an optimizer that works in place leaves no entries between */
    if (life->shortly)
        return AP_EVIDENCE_SHORT;
    switch (sign) {
    case AP_SIGN_COPY: return AP_EVIDENCE_COPY_FRAME;
    case AP_SIGN_CHECKPOINT: return life->freed ? AP_EVIDENCE_CHECKPOINT_FREED : AP_EVIDENCE_CHECKPOINT_KEPT;
    case AP_SIGN_STATE_INIT: return AP_EVIDENCE_STATE_INIT;
    case AP_SIGN_STATE_LOAD: return AP_EVIDENCE_STATE_LOADED;
    case AP_SIGN_OPTIMIZER: return life->kept || !life->begun ? AP_EVIDENCE_STEP_KEPT : AP_EVIDENCE_STEP_FREED;
    case AP_SIGN_BACKWARD:
        return life->sees_other || life->kept || !life->begun ? AP_EVIDENCE_BACKWARD_KEPT : AP_EVIDENCE_BACKWARD_FREED;
    case AP_SIGN_MODULE: return AP_EVIDENCE_MODULE;
    case AP_SIGN_FORWARD: return saved ? AP_EVIDENCE_FORWARD_SAVED : AP_EVIDENCE_FORWARD;
    case AP_SIGN_INIT:
        if (life->freed || stack->again) /* what a step makes is no model */
            return AP_EVIDENCE_NO_FRAME_SAYS;
        return stack->zeros && !life->trained ? AP_EVIDENCE_ZEROS_KEPT : AP_EVIDENCE_INIT_KEPT;
    default: return evidence_without_sign(has_stack, life);
    }
}

/* What came next of each kind, while the history is gone through from its end. */
struct passes_ahead {
    uint32_t backward, other; /* entries; AP_NO_ENTRY = none */
};

static void look_back(const struct ap_owners *owners, uint32_t entry, struct passes_ahead *ahead)
{
    const struct ap_actions *actions = &owners->replay->snapshot->actions;
    if (actions->name[entry].id != AP_ACTION_ALLOC)
        return;
    enum ap_work work = (enum ap_work)owners->work[entry];
    if (work == AP_WORK_BACKWARD)
        ahead->backward = entry;
    else if (work == AP_WORK_FORWARD || work == AP_WORK_OPTIMIZER)
        ahead->other = entry;
}

uint32_t ap_owned_old_entries(const struct ap_replay_device *device)
{
    return device->entry_count / 20 > 2 * AP_SHORT_LIFE_ENTRIES ? device->entry_count / 20 : 2 * AP_SHORT_LIFE_ENTRIES;
}

static struct life life_of(const struct ap_owners *owners, const struct ap_owned *owned,
                           const struct ap_replay_device *device, const struct passes_ahead *ahead)
{
    uint32_t end = device->first_entry + device->entry_count;
    uint32_t old = ap_owned_old_entries(device);
    struct life life = { .begun = owned->alloc != AP_NO_ENTRY, .freed = owned->end != AP_NO_ENTRY };
    life.trained = owners->has_backward;
    life.shortly = life.begun && life.freed && owned->end - owned->alloc <= AP_SHORT_LIFE_ENTRIES;
    life.kept = !life.freed && (!life.begun || end - owned->alloc > old);
    life.sees_backward = ahead->backward != AP_NO_ENTRY && (!life.freed || ahead->backward < owned->end);
    life.sees_other = ahead->other != AP_NO_ENTRY && (!life.freed || ahead->other < owned->end);
    life.between = owners->has_passes && life.begun && life.freed && !life.sees_backward && !life.sees_other &&
                   owned->end - owned->alloc <= old;
    life.made_in = life.begun ? owners->work[owned->alloc] : AP_WORK_OTHER;
    life.freed_in = life.freed ? owners->work[owned->end] : AP_WORK_OTHER;
    return life;
}

/* Later allocs first; those from before the history last. */
static int by_alloc_falling(const void *left, const void *right)
{
    const struct ap_owned *a = left, *b = right;
    uint64_t a_key = a->alloc == AP_NO_ENTRY ? 0 : (uint64_t)a->alloc + 1;
    uint64_t b_key = b->alloc == AP_NO_ENTRY ? 0 : (uint64_t)b->alloc + 1;
    AP_BY_LARGER(a_key, b_key);
    return a->lifetime < b->lifetime ? -1 : a->lifetime > b->lifetime;
}

static void judge_list(const struct ap_owners *owners, const struct ap_replay_device *device, struct ap_owned *list,
                       uint32_t count)
{
    struct passes_ahead ahead = { AP_NO_ENTRY, AP_NO_ENTRY };
    uint32_t entry = device->first_entry + device->entry_count;
    ap_sort(list, count, sizeof(*list), by_alloc_falling);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t stop = list[i].alloc == AP_NO_ENTRY ? device->first_entry : list[i].alloc + 1;
        while (entry > stop)
            look_back(owners, --entry, &ahead);
        struct life life = life_of(owners, &list[i], device, &ahead);
        list[i].evidence = (uint8_t)evidence_of(&owners->stacks[list[i].stack], list[i].stack != 0, &life);
    }
}

/* ---------------------------------------------------------------------------------------------------------- gathering */

static enum ap_status make_list(const struct ap_owners *owners, struct ap_owned_device *device, uint32_t count,
                                struct ap_error *reterr)
{
    device->count = count;
    device->list = count ? ap_mem_resize(owners->gate, NULL, 0, (size_t)count * sizeof(*device->list)) : NULL;
    return count && !device->list ? ap_fail_memory(owners->gate, reterr) : AP_OK;
}

static struct ap_owned owned_of(const struct ap_replay *replay, uint32_t lifetime)
{
    struct ap_allocation allocation;
    ap_replay_allocation(replay, lifetime, &allocation);
    bool requested = allocation.free_requested != AP_NO_ENTRY;
    return (struct ap_owned){ .bytes = allocation.requested_bytes,
                              .stack = allocation.stack,
                              .lifetime = lifetime,
                              .alloc = allocation.alloc,
                              .end = requested ? allocation.free_requested : allocation.free_completed };
}

enum ap_status ap_owned_list_all(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *ret_device,
                                 struct ap_error *reterr)
{
    const struct ap_replay *replay = owners->replay;
    const struct ap_replay_device *of = &replay->devices[index];
    *ret_device = (struct ap_owned_device){ .device = index, .has_history = true };
    AP_TRY(make_list(owners, ret_device, of->lifetime_count, reterr));
    uint32_t capacity = ret_device->count, count = 0;
    for (uint32_t i = of->first_lifetime; i < of->first_lifetime + of->lifetime_count; i++) {
        uint32_t alloc = replay->lifetimes[i].alloc;
        uint32_t born = alloc == AP_NO_ENTRY ? 0 : alloc - of->first_entry + 1;
        if (ap_replay_is_live(replay, index, i, born, AP_LIVE_REQUESTED))
            ret_device->list[count++] = owned_of(replay, i);
    }
    judge_list(owners, of, ret_device->list, count);
    ret_device->count = count;
    ap_owned_settle_kept(owners, index, ret_device);
    ret_device->count = capacity;
    for (uint32_t i = count; i < capacity; i++)
        ret_device->list[i] = (struct ap_owned){ .lifetime = AP_NO_LIFETIME }; /* never live: no bytes */
    return AP_OK;
}

enum ap_status ap_owned_list_live(const struct ap_owners *owners, uint32_t index, uint32_t position,
                                  struct ap_owned_device *ret_device, struct ap_error *reterr)
{
    const struct ap_replay *replay = owners->replay;
    uint32_t *live, count;
    AP_TRY(ap_replay_live_at(replay, index, position, AP_LIVE_REQUESTED, &live, &count, reterr));
    enum ap_status status = make_list(owners, ret_device, count, reterr);
    for (uint32_t i = 0; i < count && status == AP_OK; i++)
        ret_device->list[i] = owned_of(replay, live[i]);
    AP_FREE(replay->gate, live, count);
    if (status == AP_OK)
        judge_list(owners, &replay->devices[index], ret_device->list, ret_device->count);
    return status;
}

static enum ap_status take_live(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *to,
                                struct ap_error *reterr)
{
    AP_TRY(ap_owned_list_live(owners, index, to->position, to, reterr));
    enum ap_status status = ap_owned_settle_sizes(owners, index, to, reterr);
    AP_AND_THEN(status, ap_owned_settle_copies(owners, to, reterr));
    AP_AND_THEN(status, ap_owned_settle_earlier(owners, index, to, reterr));
    AP_AND_THEN(status, ap_owned_settle_twins(owners, index, to, reterr));
    AP_AND_THEN(status, ap_owned_settle_pools(owners, to, reterr));
    if (status == AP_OK)
        ap_owned_settle_kept(owners, index, to);
    else
        ap_owned_release(owners, to);
    return status;
}

static int64_t device_of(const struct ap_segment *segment)
{
    return (segment->has & AP_SEGMENT_HAS_DEVICE) && segment->device >= 0 ? segment->device : -1;
}

/* Requested sizes where they were recorded, else rounded ones. */
static int64_t bytes_of(const struct ap_block *block)
{
    return block->has & AP_BLOCK_HAS_REQUESTED ? block->requested_bytes : block->size_bytes;
}

/* Without a history only the stack can tell. */
static uint8_t evidence_of_block(const struct ap_owners *owners, uint32_t stack)
{
    struct life life = { .kept = true };
    enum ap_owner_evidence evidence = evidence_of(&owners->stacks[stack], stack != 0, &life);
    return (uint8_t)(evidence == AP_EVIDENCE_BEFORE_KEPT ? AP_EVIDENCE_NO_STACK : evidence);
}

static void take_blocks(const struct ap_owners *owners, const struct ap_segment *segment, struct ap_owned *list,
                        uint32_t *count)
{
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct ap_block *block = &owners->replay->snapshot->blocks[segment->first_block + i];
        if (block->state != AP_BLOCK_ALLOCATED)
            continue;
        if (list)
            list[*count] = (struct ap_owned){ bytes_of(block), block->stack, AP_NO_LIFETIME,
                                              AP_NO_ENTRY,     AP_NO_ENTRY,  evidence_of_block(owners, block->stack) };
        ++*count;
    }
}

static enum ap_status take_end_state(const struct ap_owners *owners, struct ap_owned_device *to, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    bool overflowed = false;
    uint32_t count = 0;
    to->total_known = snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS;
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct ap_segment *segment = &snapshot->segments[i];
        if (device_of(segment) != to->device)
            continue;
        take_blocks(owners, segment, NULL, &count);
        to->total_bytes = ap_add_sat(to->total_bytes, segment->requested_bytes, &overflowed);
        to->total_known = to->total_known && (segment->has & AP_SEGMENT_HAS_REQUESTED);
    }
    AP_TRY(make_list(owners, to, count, reterr));
    count = 0;
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        if (device_of(&snapshot->segments[i]) == to->device)
            take_blocks(owners, &snapshot->segments[i], to->list, &count);
    return AP_OK;
}

enum ap_status ap_owned_take(const struct ap_owners *owners, int64_t device, struct ap_owned_device *ret_device,
                             struct ap_error *reterr)
{
    const struct ap_replay *replay = owners->replay;
    struct ap_owned_device to = { .device = device };
    bool overflowed = false;
    to.has_history = device >= 0 && device < replay->device_count && replay->devices[device].entry_count > 0;
    if (to.has_history) {
        const struct ap_replay_device *of = &replay->devices[device];
        to.at_peak = of->requested.known && (of->begin == AP_BEGIN_EMPTY || of->begin == AP_BEGIN_MID_RUN);
        to.position = to.at_peak ? of->requested.peak_position : of->entry_count;
        to.total_bytes = to.at_peak ? of->requested.peak_bytes : of->requested.end_bytes;
        to.total_known = of->requested.known;
        AP_TRY(take_live(owners, (uint32_t)device, &to, reterr));
    } else {
        AP_TRY(take_end_state(owners, &to, reterr));
    }
    for (uint32_t i = 0; i < to.count; i++)
        to.listed_bytes = ap_add_sat(to.listed_bytes, to.list[i].bytes, &overflowed);
    if (!to.total_known)
        to.total_bytes = to.listed_bytes;
    *ret_device = to;
    return AP_OK;
}

enum ap_status ap_owned_take_at(const struct ap_owners *owners, uint32_t device, uint32_t position,
                                struct ap_owned_device *ret_device, struct ap_error *reterr)
{
    struct ap_owned_device to = { .device = device, .position = position, .has_history = true };
    bool overflowed = false;
    AP_TRY(take_live(owners, device, &to, reterr));
    for (uint32_t i = 0; i < to.count; i++)
        to.listed_bytes = ap_add_sat(to.listed_bytes, to.list[i].bytes, &overflowed);
    to.total_bytes = to.listed_bytes;
    *ret_device = to;
    return AP_OK;
}

void ap_owned_release(const struct ap_owners *owners, struct ap_owned_device *device)
{
    AP_FREE(owners->gate, device->list, device->count);
    device->list = NULL;
}

/* ------------------------------------------------------------------------------------------------------------ devices */

enum ap_status ap_owned_devices(const struct ap_owners *owners, int64_t **ret_list, uint32_t *ret_count, uint32_t *ret_more,
                                struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = owners->replay->snapshot;
    size_t most = (size_t)snapshot->segment_count + owners->replay->device_count, found = 0;
    uint32_t count = 0;
    *ret_list = NULL;
    *ret_count = *ret_more = 0;
    if (!most)
        return AP_OK;
    int64_t *all;
    AP_TRY(AP_ALLOC(owners->gate, all, most, reterr));
    for (uint32_t i = 0; i < snapshot->segment_count; i++)
        all[found++] = device_of(&snapshot->segments[i]);
    for (uint32_t i = 0; i < owners->replay->device_count; i++)
        if (owners->replay->devices[i].entry_count)
            all[found++] = i;
    ap_sort(all, found, sizeof(*all), ap_by_int64);
    for (size_t i = 0; i < found; i++)
        if (!count || all[i] != all[count - 1])
            all[count++] = all[i];
    *ret_more = count > AP_MOST_OWNED_DEVICES ? count - AP_MOST_OWNED_DEVICES : 0;
    count -= *ret_more;
    int64_t *list = count ? ap_mem_resize(owners->gate, all, most * sizeof(*all), count * sizeof(*all)) : NULL;
    if (!list) {
        AP_FREE(owners->gate, all, most);
        return count ? ap_fail_memory(owners->gate, reterr) : AP_OK;
    }
    *ret_list = list;
    *ret_count = count;
    return AP_OK;
}
