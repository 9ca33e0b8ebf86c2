/* SPDX-License-Identifier: MIT
 * Free memory that cannot be used: how much, who pins it, and which settings would have helped. */
#include "allocator_sim.h"
#include "frame_kind.h"
#include "snapshot_part.h"
#include "sort.h"

#include "poison.h"

#define MIB ((int64_t)1 << 20)
#define WORTH_RATIO 0.05      /* stranded over reserved: below it, and without an oom or spare, nothing is simulated */
#define SPARE_RATIO 0.15      /* of the reserved peak that no peak of active bytes explains: likewise */
#define REPRODUCED_RATIO 0.05 /* difference of the peak, up to which the simulation counts as right */
#define MOST_PLAYED 400000u   /* entries, over all simulations: some 0.1 us each */

/* ---------------------------------------------------------------------------------------------------------- stranded */

/* Free bytes of a partly used segment that nobody could give back: all of them; of an expandable segment whole pages can
 * be. What is free in a private pool is there for the replays of its graphs. */
static int64_t stranded_in(const struct ap_snapshot *snapshot, const struct ap_segment *segment, uint32_t *ret_pins)
{
    int64_t page = segment->type.id == AP_TYPE_SMALL ? 2 * MIB : 20 * MIB, stranded = 0, at = 0;
    bool overflowed = false;
    *ret_pins = 0;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct ap_block *block = &snapshot->blocks[segment->first_block + i];
        int64_t end = ap_add_sat(at, block->size_bytes, &overflowed);
        *ret_pins += block->state != AP_BLOCK_INACTIVE;
        if (block->state == AP_BLOCK_INACTIVE && block->size_bytes > 0) {
            int64_t from = at / page * page + (at % page ? page : 0), to = end / page * page;
            int64_t whole = segment->expandable && to > from ? to - from : 0;
            stranded = ap_add_sat(stranded, block->size_bytes - whole, &overflowed);
        }
        at = end > 0 && end < INT64_MAX / 2 ? end : 0;
    }
    return *ret_pins && !segment->pool[0] && !segment->pool[1] ? stranded : 0;
}

/* One place that allocates, and its share of what is stranded: that of a segment is divided among its live blocks. */
struct pin {
    double share_bytes;
    int64_t live_bytes;
    uint32_t place; /* a stack, later the frame that the report shows for it */
    uint32_t stack; /* one of the place */
    uint32_t blocks;
};

static int by_place(const void *left, const void *right)
{
    const struct pin *a = left, *b = right;
    AP_BY_SMALLER(a->place, b->place);
    AP_BY_SMALLER(a->stack, b->stack);
    AP_BY_SMALLER(a->share_bytes, b->share_bytes); /* the sum of them is rounded, so their order tells */
    return 0;
}

static int by_share(const void *left, const void *right)
{
    const struct pin *a = left, *b = right;
    AP_BY_LARGER(a->share_bytes, b->share_bytes);
    return by_place(left, right);
}

static uint32_t pins_of(const struct ap_snapshot *snapshot, const struct ap_segment *segment, struct pin *pins,
                        int64_t stranded_bytes, uint32_t count)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct ap_block *block = &snapshot->blocks[segment->first_block + i];
        if (block->state != AP_BLOCK_INACTIVE)
            pins[used++] = (struct pin){ (double)stranded_bytes / count, block->size_bytes, block->stack, block->stack, 1 };
    }
    return used;
}

/* Pins of one place become one. */
static uint32_t join_pins(struct ap_snapshot_part *pass, struct pin *pins, uint32_t used)
{
    uint32_t count = 0;
    ap_sort(pins, used, sizeof(*pins), by_place);
    for (uint32_t i = 0; i < used; i++) {
        if (!count || pins[count - 1].place != pins[i].place) {
            pins[count++] = pins[i];
            continue;
        }
        pins[count - 1].share_bytes += pins[i].share_bytes;
        pins[count - 1].live_bytes = ap_add_sat(pins[count - 1].live_bytes, pins[i].live_bytes, &pass->overflowed);
        pins[count - 1].blocks += pins[i].blocks;
    }
    return count;
}

/* The frame that stands for the stack, as ap_memory_put_frame chooses it; UINT32_MAX for none. */
static uint32_t frame_of(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count, shown = ap_stack_main_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    return count ? frames[shown] : UINT32_MAX;
}

static int64_t rounded_bytes(double bytes)
{
    return bytes < 0x1p63 ? (int64_t)(bytes + 0.5) : INT64_MAX;
}

static enum ap_status put_pins(struct ap_snapshot_part *pass, struct ap_value *to, struct pin *pins, uint32_t used,
                               struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(pass->model, to, "pinned_by");
    uint32_t count = join_pins(pass, pins, used);
    for (uint32_t i = 0; i < count; i++)
        pins[i].place = frame_of(pass->snapshot, pins[i].stack);
    count = join_pins(pass, pins, count);
    ap_sort(pins, count, sizeof(*pins), by_share);
    for (uint32_t i = 0; i < count && (!pass->top_n || i < pass->top_n) && pins[i].share_bytes >= 1; i++) {
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        AP_TRY(ap_memory_put_frame(pass, row, "frame", pins[i].stack, reterr));
        ap_add_bytes(pass->model, row, "pinned_bytes", rounded_bytes(pins[i].share_bytes));
        ap_add_bytes(pass->model, row, "live_bytes", pins[i].live_bytes);
        ap_add_count(pass->model, row, "blocks", pins[i].blocks);
    }
    return AP_OK;
}

struct stranded {
    int64_t bytes, reserved_bytes;
    uint32_t segments;
};

/* The most that was in use since the reserve is what it is now. */
static int64_t most_since_reserved(const struct ap_replay *replay, const struct ap_replay_device *of)
{
    int64_t level = of->requested.start_bytes, most = level;
    bool overflowed = false;
    for (uint32_t i = 0; i < of->entry_count; i++) {
        struct ap_replay_step step;
        ap_replay_step(replay, of->first_entry + i, &step);
        level = ap_add_sat(level, step.requested_bytes, &overflowed);
        most = step.reserved_bytes || level > most ? level : most;
    }
    return most;
}

static void put_most_filled(struct ap_snapshot_part *pass, struct ap_value *to)
{
    int64_t bytes = 0;
    bool known = pass->replay->device_count;
    for (uint32_t i = 0; i < pass->replay->device_count; i++) {
        const struct ap_replay_device *of = &pass->replay->devices[i];
        known = known && (of->entry_count < 2 || of->requested.known);
        bytes = ap_add_sat(bytes, most_since_reserved(pass->replay, of), &pass->overflowed);
    }
    ap_put_bytes(pass, to, "most_filled_bytes", known, bytes);
}

static enum ap_status put_stranded(struct ap_snapshot_part *pass, struct ap_value *to, struct stranded *ret_stranded,
                                   struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = pass->snapshot;
    struct stranded sum = { .bytes = 0 };
    uint32_t used = 0, count;
    struct pin *pins = ap_memory_scratch(pass, snapshot->block_count, sizeof(*pins));
    if (!pins)
        return ap_fail_memory(pass->scratch.gate, reterr);
    for (uint32_t i = 0; i < snapshot->segment_count; i++) {
        const struct ap_segment *segment = &snapshot->segments[i];
        int64_t bytes = stranded_in(snapshot, segment, &count);
        sum.reserved_bytes = ap_add_sat(sum.reserved_bytes, segment->total_bytes, &pass->overflowed);
        if (bytes <= 0)
            continue;
        sum.bytes = ap_add_sat(sum.bytes, bytes, &pass->overflowed);
        sum.segments++;
        used += pins_of(snapshot, segment, pins + used, bytes, count);
    }
    bool known = snapshot->has & AP_SNAPSHOT_HAS_SEGMENTS && (snapshot->block_count || !snapshot->segment_count);
    ap_put_bytes(pass, to, "stranded_bytes", known, sum.bytes);
    ap_add_known_ratio(pass->model, to, "stranded_ratio", known && sum.reserved_bytes > 0,
                       (double)sum.bytes / (double)sum.reserved_bytes);
    ap_put_count(pass, to, "stranded_segments", known, sum.segments);
    put_most_filled(pass, to);
    *ret_stranded = sum;
    return put_pins(pass, to, pins, used, reterr);
}

/* ------------------------------------------------------------------------------------------------------------ what if */

struct choice {
    const char *setting;
    int64_t max_split_bytes; /* 0 = as it was */
    double gc_threshold_ratio;
    bool expandable, apart;
};

/* Those that help most often first: the last ones are left out where the history is long. */
static const struct choice choices[] = {
    { .setting = "expandable_segments:True", .expandable = true },
    { .setting = "order: long-lived first", .apart = true },
    { .setting = "max_split_size_mb:128", .max_split_bytes = 128 * MIB },
    { .setting = "garbage_collection_threshold:0.8", .gc_threshold_ratio = 0.8 },
    { .setting = "max_split_size_mb:512", .max_split_bytes = 512 * MIB },
};

struct whatif {
    struct ap_snapshot_part *pass;
    struct ap_value *to;
    uint32_t device;
    int64_t capacity_bytes; /* 0 = not known */
    struct ap_sim_rules recorded;
    struct ap_sim_result base, packed; /* as recorded; the same from a packed beginning */
    uint64_t played;                   /* entries left that may be simulated */
    bool reproduced;
    struct ap_sim_result expandable; /* with expandable segments */
};

static bool may_play(struct whatif *whatif)
{
    uint32_t entries = whatif->pass->replay->devices[whatif->device].entry_count;
    if (whatif->played < entries)
        return false;
    whatif->played -= entries;
    return true;
}

static enum ap_status play_base(struct whatif *whatif, struct ap_error *reterr)
{
    const struct ap_replay *replay = whatif->pass->replay;
    const struct ap_replay_device *of = &replay->devices[whatif->device];
    double peak = (double)of->reserved.peak_bytes;
    if (!may_play(whatif))
        return AP_OK;
    AP_TRY(ap_sim_run(replay, whatif->device, &whatif->recorded, &whatif->base, reterr));
    double off = (double)whatif->base.peak_reserved_bytes - peak;
    whatif->reproduced =
        whatif->base.finished && peak > 0 && off <= REPRODUCED_RATIO * peak && -off <= REPRODUCED_RATIO * peak;
    whatif->packed = whatif->base;
    if (!whatif->reproduced || of->begin != AP_BEGIN_MID_RUN)
        return AP_OK;
    struct ap_sim_rules rules = whatif->recorded;
    rules.packed = true;
    whatif->packed.finished = false;
    return may_play(whatif) ? ap_sim_run(replay, whatif->device, &rules, &whatif->packed, reterr) : AP_OK;
}

/* False where it says nothing new, or cannot be played. */
static bool rules_of(const struct whatif *whatif, const struct choice *choice, struct ap_sim_rules *ret_rules)
{
    struct ap_sim_rules rules = whatif->recorded;
    bool mid_run = whatif->pass->replay->devices[whatif->device].begin == AP_BEGIN_MID_RUN;
    rules.repeat_retries = false;
    rules.capacity_bytes = whatif->capacity_bytes;
    rules.expandable = choice->expandable || (rules.expandable && !choice->max_split_bytes);
    rules.max_split_bytes = choice->max_split_bytes ? choice->max_split_bytes
                            : choice->expandable    ? -1
                                                    : rules.max_split_bytes;
    rules.gc_threshold_ratio = choice->gc_threshold_ratio > 0 ? choice->gc_threshold_ratio : rules.gc_threshold_ratio;
    rules.long_lived_apart = choice->apart;
    rules.packed = mid_run;
    *ret_rules = rules;
    return choice->gc_threshold_ratio <= 0 || whatif->capacity_bytes;
}

static bool is_set_already(const struct whatif *whatif, const struct choice *choice)
{
    const struct ap_sim_rules *now = &whatif->recorded;
    return (choice->expandable && now->expandable) || (choice->gc_threshold_ratio > 0 && now->gc_threshold_ratio > 0) ||
           (choice->max_split_bytes && now->max_split_bytes == choice->max_split_bytes);
}

/* Against the recorded peak: a beginning that is packed anew may reserve more than there was. */
static int64_t saved(const struct whatif *whatif, const struct ap_sim_result *result)
{
    if (!result->finished)
        return 0;
    int64_t recorded_bytes = whatif->pass->replay->devices[whatif->device].reserved.peak_bytes;
    int64_t packed_bytes = whatif->packed.peak_reserved_bytes;
    return (packed_bytes < recorded_bytes ? packed_bytes : recorded_bytes) - result->peak_reserved_bytes;
}

static enum ap_status put_choice(struct whatif *whatif, struct ap_value *list, const struct choice *choice,
                                 struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = whatif->pass;
    const struct ap_replay_device *of = &pass->replay->devices[whatif->device];
    struct ap_sim_result result = { .finished = false };
    struct ap_sim_rules rules;
    if (is_set_already(whatif, choice))
        return AP_OK;
    if (whatif->reproduced && whatif->packed.finished && rules_of(whatif, choice, &rules) && may_play(whatif))
        AP_TRY(ap_sim_run(pass->replay, whatif->device, &rules, &result, reterr));
    bool known = result.finished;
    if (choice->expandable)
        whatif->expandable = result;
    struct ap_value *row = ap_add_object(pass->model, list, NULL);
    ap_add_string(pass->model, row, "setting", choice->setting);
    ap_add_string(pass->model, row, "method", known && of->begin == AP_BEGIN_EMPTY ? "replayed" : "hypothesis");
    ap_put_bytes(pass, row, "peak_reserved_bytes", known, result.peak_reserved_bytes);
    ap_put_bytes(pass, row, "saved_bytes", known, saved(whatif, &result));
    ap_put_count(pass, row, "segment_allocs", known, result.segment_allocs);
    ap_put_count(pass, row, "failed_allocations", known && whatif->capacity_bytes, result.failed);
    ap_put_count(pass, row, "oom_avoided", known && result.oom_count, result.oom_passed);
    return AP_OK;
}

static enum ap_status put_choices(struct whatif *whatif, bool worth, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = whatif->pass;
    if (worth)
        AP_TRY(play_base(whatif, reterr));
    bool known = worth && whatif->base.finished;
    ap_put_count(pass, whatif->to, "simulated_device", worth, whatif->device);
    ap_put_bytes(pass, whatif->to, "simulated_peak_reserved_bytes", known, whatif->base.peak_reserved_bytes);
    ap_put_bool(pass, whatif->to, "simulation_reproduces", known, whatif->reproduced);
    struct ap_value *list = ap_add_list(pass->model, whatif->to, "whatif");
    for (size_t i = 0; i < AP_COUNT_OF(choices) && worth; i++)
        AP_TRY(put_choice(whatif, list, &choices[i], reterr));
    const struct ap_sim_result *expandable = &whatif->expandable;
    int64_t recorded_bytes = worth ? pass->replay->devices[whatif->device].reserved.peak_bytes : 0;
    ap_put_bytes(pass, whatif->to, "expandable_saved_bytes", expandable->finished, saved(whatif, expandable));
    ap_add_quotient(pass->model, whatif->to, "expandable_saved_ratio", (double)saved(whatif, expandable),
                    expandable->finished ? (double)recorded_bytes : 0);
    ap_put_count(pass, whatif->to, "expandable_oom_avoided", expandable->finished && expandable->oom_count,
                 expandable->oom_passed);
    return AP_OK;
}

/* The device that ran out of memory, else the one that reserved most. */
static bool choose_device(const struct ap_replay *replay, uint32_t *ret_device, bool *ret_oom)
{
    bool any = false;
    int64_t capacity_bytes;
    *ret_oom = false;
    for (uint32_t i = 0; i < replay->device_count; i++) {
        const struct ap_replay_device *of = &replay->devices[i];
        if (of->entry_count < 2 || !of->reserved.known || of->below_zero)
            continue;
        bool oom = ap_capacity_at_oom(replay, i, &capacity_bytes);
        if (any && (oom < *ret_oom ||
                    (oom == *ret_oom && of->reserved.peak_bytes <= replay->devices[*ret_device].reserved.peak_bytes)))
            continue;
        *ret_device = i;
        *ret_oom = oom;
        any = true;
    }
    return any;
}

/* roundup_power2_divisions:N; 0 where it is off, or set for each size apart, which the simulation does not play. */
static uint32_t divisions_of(const struct ap_snapshot *snapshot)
{
    static const char key[] = "roundup_power2_divisions:";
    struct ap_text conf = ap_strpool_text(&snapshot->strings, snapshot->settings.conf);
    uint32_t number = 0;
    for (size_t i = 0; i + sizeof(key) - 1 < conf.bytes; i++) {
        if (!ap_text_starts_with((struct ap_text){ conf.data + i, conf.bytes - i }, key))
            continue;
        for (size_t j = i + sizeof(key) - 1; j < conf.bytes && ap_is_digit(conf.data[j]) && number < 1000; j++)
            number = number * 10 + (uint32_t)(conf.data[j] - '0');
        break;
    }
    return number;
}

/* Settings as recorded. Expandable segments are seen in the state too, where no settings were written. */
static struct ap_sim_rules rules_recorded(const struct ap_snapshot *snapshot)
{
    const struct ap_allocator_settings *settings = &snapshot->settings;
    struct ap_sim_rules rules = { .max_split_bytes = -1, .repeat_retries = true, .round_divisions = divisions_of(snapshot) };
    rules.expandable = settings->has & AP_SETTING_HAS_EXPANDABLE && settings->expandable_segments;
    for (uint32_t i = 0; i < snapshot->segment_count && !(settings->has & AP_SETTING_HAS_EXPANDABLE); i++)
        rules.expandable = rules.expandable || snapshot->segments[i].expandable;
    if (settings->has & AP_SETTING_HAS_MAX_SPLIT && settings->max_split_bytes >= 0)
        rules.max_split_bytes = settings->max_split_bytes;
    if (settings->has & AP_SETTING_HAS_GC)
        rules.gc_threshold_ratio = settings->gc_threshold_ratio;
    return rules;
}

/* How much of the peak of reserved memory was in use at no time: sizes that change from step to step leave segments behind.
 */
static double spare_at_peak(const struct ap_replay_device *of)
{
    return of->active.known && of->reserved.peak_bytes > 0
               ? 1 - (double)of->active.peak_bytes / (double)of->reserved.peak_bytes
               : 0;
}

enum ap_status ap_memory_put_fragmentation(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    struct ap_value *to = ap_add_object(pass->model, memory, "fragmentation");
    struct whatif whatif = { .pass = pass, .to = to, .recorded = rules_recorded(pass->snapshot), .played = MOST_PLAYED };
    struct stranded stranded = { .bytes = 0 };
    bool oom = false;
    AP_TRY(put_stranded(pass, to, &stranded, reterr));
    bool worth = choose_device(pass->replay, &whatif.device, &oom) &&
                 (oom || (double)stranded.bytes > WORTH_RATIO * (double)stranded.reserved_bytes ||
                  spare_at_peak(&pass->replay->devices[whatif.device]) > SPARE_RATIO);
    if (oom)
        (void)ap_capacity_at_oom(pass->replay, whatif.device, &whatif.capacity_bytes);
    return put_choices(&whatif, worth, reterr);
}
