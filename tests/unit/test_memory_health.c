/* SPDX-License-Identifier: MIT
 * Leaks, churn, fragmentation and settings as the report has them. */
#include <stdlib.h>
#include <string.h>

#include "allocator_model.h"
#include "snapshot_bench.h"

#define MiB ((int64_t)1 << 20)

static void finish(struct bench *bench)
{
    is_int(bench->status, AP_OK, "all went well");
    end(bench);
}

static void set_conf(struct bench *bench, const char *conf)
{
    bench->snapshot->has |= AP_SNAPSHOT_HAS_SETTINGS;
    bench->snapshot->settings.has = AP_SETTING_HAS_EXPANDABLE | AP_SETTING_HAS_MAX_SPLIT | AP_SETTING_HAS_GC;
    bench->snapshot->settings.max_split_bytes = -1;
    keep(bench,
         ap_strpool_intern(&bench->snapshot->strings, conf, strlen(conf), &bench->snapshot->settings.conf, &bench->error));
}

static void block(struct bench *bench, int64_t bytes, enum ap_block_state state)
{
    const struct ap_block made = {
        .size_bytes = bytes, .requested_bytes = bytes, .state = (uint8_t)state, .has = AP_BLOCK_HAS_REQUESTED
    };
    keep(bench, ap_snapshot_add_block(bench->snapshot, &made, &bench->error));
}

static void segment(struct bench *bench, uint64_t address, int64_t bytes, bool expandable)
{
    const struct ap_segment made = {
        .address = address, .total_bytes = bytes, .type = { AP_TYPE_LARGE }, .expandable = expandable, .has = 0x7ff
    };
    keep(bench, ap_snapshot_add_segment(bench->snapshot, &made, &bench->error));
}

/* Is there a note on the setting? */
static bool noted(const struct bench *bench, const char *setting)
{
    for (const struct ap_value *row = ap_value_first(at(bench, "memory.settings_notes")); row; row = row->next) {
        const struct ap_value *name = ap_value_first(row);
        if (name && name->type == AP_VALUE_TEXT && ap_text_is(name->as.text, setting))
            return true;
    }
    return false;
}

static void settings_without_effect(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    set_conf(&bench, "expandable_segments:True, roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:64,no_such:1,");
    pass(&bench, 0);
    ok(noted(&bench, "expandable_segments"), "asked for, and off");
    ok(noted(&bench, "max_split_size_mb"), "asked for, and without limit");
    ok(noted(&bench, "no_such"), "unknown");
    ok(!noted(&bench, "roundup_power2_divisions"), "a known key");
    is_int(whole(&bench, "memory.settings_note_count"), 3, "three notes; commas in brackets do not part");
    finish(&bench);
}

static void settings_that_conflict(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    set_conf(&bench, "");
    bench.snapshot->settings.expandable_segments = true;
    bench.snapshot->settings.max_split_bytes = 64 * MiB;
    bench.snapshot->settings.gc_threshold_ratio = 0.8;
    pass(&bench, 0);
    ok(noted(&bench, "max_split_size_mb") && noted(&bench, "garbage_collection_threshold"), "both conflict");
    ok(!noted(&bench, "expandable_segments"), "no segments: nothing to say of them");
    finish(&bench);
}

static void good_settings(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    set_conf(&bench, "expandable_segments:True");
    bench.snapshot->settings.expandable_segments = true;
    block(&bench, 20 * MiB, AP_BLOCK_ALLOCATED);
    segment(&bench, 1000, 20 * MiB, true);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.settings_note_count"), 0, "no notes");
    is_int(whole(&bench, "memory.fragmentation.stranded_bytes"), 0, "nothing is stranded");
    ok(is_null(&bench, "memory.leaks.leaking") && is_null(&bench, "memory.churn.allocations"), "no history, no figures");
    ok(is_null(&bench, "memory.fragmentation.simulated_device"), "nothing to simulate");
    finish(&bench);
}

/* Graphs are replayed there. */
static void what_is_free_in_private_pools_is_not_stranded(void)
{
    for (int pool = 0; pool < 2; pool++) {
        struct bench bench;
        begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
        block(&bench, 5 * MiB, AP_BLOCK_ALLOCATED);
        block(&bench, 35 * MiB, AP_BLOCK_INACTIVE);
        segment(&bench, 1000, 40 * MiB, false);
        bench.snapshot->segments[0].pool[1] = pool;
        pass(&bench, 0);
        is_int(whole(&bench, "memory.fragmentation.stranded_bytes"), pool ? 0 : 35 * MiB, pool ? "a graph's" : "nobody's");
        finish(&bench);
    }
}

/* Small segments and large ones of one pool are rows of their own. */
static void the_largest_private_pool_is_told(void)
{
    static const struct {
        int64_t pool, bytes;
        uint32_t type;
    } segments[] = { { 0, 50 * MiB, AP_TYPE_LARGE },
                     { 1, 40 * MiB, AP_TYPE_LARGE },
                     { 1, 2 * MiB, AP_TYPE_SMALL },
                     { 2, 32 * MiB, AP_TYPE_LARGE } };
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    for (size_t i = 0; i < AP_COUNT_OF(segments); i++) {
        block(&bench, segments[i].bytes, AP_BLOCK_ALLOCATED);
        segment(&bench, (uint64_t)(i + 1) << 32, segments[i].bytes, false);
        bench.snapshot->segments[i].pool[1] = segments[i].pool;
        bench.snapshot->segments[i].type.id = segments[i].type;
    }
    pass(&bench, 0);
    is_int(whole(&bench, "memory.private_pool_count"), 2, "two private pools");
    is_int(whole(&bench, "memory.largest_private_pool_bytes"), 42 * MiB, "both rows of one");
    finish(&bench);
}

static void what_the_largest_blocks_hold(void)
{
    for (int used = 0; used < 2; used++) {
        struct bench bench;
        begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
        for (int i = 0; i < 20; i++)
            block(&bench, (i * 7 % 20 + 1) * MiB, used && i != 17 ? AP_BLOCK_ALLOCATED : AP_BLOCK_INACTIVE);
        segment(&bench, 1000, 210 * MiB, false);
        pass(&bench, 0);
        const struct ap_value *value = at(&bench, "memory.largest_blocks_bytes");
        if (used) /* 1 to 20 MiB, of which 20 is free and 1, 2 and 3 are not among the largest */
            is_int(ap_value_integer(value, 0), (210 - 20 - 6) * MiB, "sixteen");
        else
            is_int(ap_value_integer(value, -1), -1, "none is in use");
        finish(&bench);
    }
}

static void whole_pages_are_not_stranded(void)
{
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    block(&bench, 5 * MiB, AP_BLOCK_ALLOCATED);
    block(&bench, 35 * MiB, AP_BLOCK_INACTIVE);
    segment(&bench, 1000, 40 * MiB, true);
    block(&bench, 5 * MiB, AP_BLOCK_ALLOCATED);
    block(&bench, 35 * MiB, AP_BLOCK_INACTIVE);
    segment(&bench, (uint64_t)100 * MiB, 40 * MiB, false);
    block(&bench, 40 * MiB, AP_BLOCK_INACTIVE);
    segment(&bench, (uint64_t)200 * MiB, 40 * MiB, false);
    pass(&bench, 0);
    is_int(whole(&bench, "memory.fragmentation.stranded_bytes"), 15 * MiB + 35 * MiB, "one page of the first can go");
    is_int(whole(&bench, "memory.fragmentation.stranded_segments"), 2, "the free segment is not one of them");
    const struct ap_value *row = ap_value_first(at(&bench, "memory.fragmentation.pinned_by"));
    ok(row && !row->next, "one place pins both");
    is_int(ap_value_integer(ap_value_at(row, "pinned_bytes"), -1), 50 * MiB, "all of it");
    is_int(ap_value_integer(ap_value_at(row, "blocks"), -1), 2, "with two blocks");
    finish(&bench);
}

/* A whole history through the pass, with every allocation refused in turn. */
static void refused_allocations(void)
{
    struct allocator_model *model = calloc(1, sizeof(*model));
    struct random random = { 3 };
    struct bench bench;
    begin_with(&bench, AP_SNAPSHOT_HAS_SEGMENTS);
    model->next_address = (uint64_t)64 << 20;
    model_record(model);
    while (model->entry_count < 900)
        model_step(model, &random);
    model_complete_unseen(model);
    model_write(model, AP_ACTION_OOM, 1000, 500 * MiB, 0);
    keep(&bench, model_snapshot(model, bench.snapshot, &bench.error));
    pass(&bench, 0);
    is_int(whole(&bench, "memory.fragmentation.simulated_device"), 0, "an oom: the history is simulated");
    const struct ap_value *reproduces = at(&bench, "memory.fragmentation.simulation_reproduces");
    ok(reproduces && reproduces->type == AP_VALUE_BOOL && reproduces->as.integer, "to the recorded peak");
    ok(whole(&bench, "memory.fragmentation.expandable_saved_bytes") != INT64_MIN, "and with expandable segments");
    uint64_t before;
    unsigned refused = 0;
    ap_model_release(&bench.model);
    before = atomic_load(&bench.gate.used_bytes);
    for (int64_t after = 0; after < 5000 && bench.status == AP_OK; after++) {
        ap_model_init(&bench.model, &bench.gate);
        atomic_store(&bench.gate.fail_after, after);
        enum ap_status status =
            ap_join_part_snapshot(bench.snapshot, "s.json", 0, true, NULL, &bench.notes, &bench.model, &bench.error);
        atomic_store(&bench.gate.fail_after, -1);
        ap_model_release(&bench.model);
        if (atomic_load(&bench.gate.used_bytes) != before)
            ok(false, "memory is lost where a request is refused");
        if (status == AP_OK)
            break;
        refused++;
    }
    ok(refused > 50, "each refusal is reported and leaves nothing behind");
    ap_model_init(&bench.model, &bench.gate);
    finish(&bench);
    free(model);
}

int main(void)
{
    settings_without_effect();
    settings_that_conflict();
    good_settings();
    what_is_free_in_private_pools_is_not_stranded();
    the_largest_private_pool_is_told();
    what_the_largest_blocks_hold();
    whole_pages_are_not_stranded();
    refused_allocations();
    return done();
}
