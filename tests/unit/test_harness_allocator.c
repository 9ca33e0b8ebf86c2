/* SPDX-License-Identifier: MIT
 * The caching allocator of the CUDA harness on a device that is only modeled, and its snapshots before our own analyzer. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include "allocator.h"
#include "harness_report.h"
#include "random.h"
#include "snapshot_writer.h"

#define MIB (UINT64_C(1) << 20)
#define MOST_BLOCKS 400

/** Addresses go up by 2 MiB and never come back; the bytes do. */
struct fake_device {
    uint64_t size_bytes, used_bytes, next_address;
    int64_t now_us;
    struct {
        uint64_t address, bytes;
    } regions[2000];
    size_t region_count;
};

static uint64_t fake_allocate(void *self, uint64_t bytes)
{
    struct fake_device *device = self;
    if (bytes > device->size_bytes - device->used_bytes || device->region_count == AP_COUNT_OF(device->regions))
        return 0;
    uint64_t address = device->next_address;
    device->next_address += (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    device->regions[device->region_count].address = address;
    device->regions[device->region_count++].bytes = bytes;
    device->used_bytes += bytes;
    return address;
}

static void fake_release(void *self, uint64_t address)
{
    struct fake_device *device = self;
    for (size_t i = 0; i < device->region_count; i++) {
        if (device->regions[i].address != address)
            continue;
        device->used_bytes -= device->regions[i].bytes;
        device->regions[i] = device->regions[--device->region_count];
        return;
    }
    ok(false, "only what was allocated is released");
}

static uint64_t fake_free_bytes(void *self)
{
    const struct fake_device *device = self;
    return device->size_bytes - device->used_bytes;
}

static int64_t fake_now_us(void *self)
{
    struct fake_device *device = self;
    return device->now_us += 10;
}

static struct fake_device fake;
static struct ap_error error;

static struct harness_allocator *allocator_of(uint64_t device_bytes, size_t history_limit)
{
    const struct harness_device device = { &fake, fake_allocate, fake_release, fake_free_bytes, fake_now_us };
    const struct harness_allocator_options options = { .history_limit = history_limit };
    struct harness_allocator *allocator = NULL;
    fake = (struct fake_device){ .size_bytes = device_bytes,
                                 .next_address = UINT64_C(0x7f0000000000),
                                 .now_us = INT64_C(1753000000000000) };
    ok(harness_allocator_new(&device, &options, &allocator, &error) == AP_OK, "an allocator");
    return allocator;
}

static const struct harness_frame main_frame = { "harness.c", 10, "main", NULL };
static const struct harness_frame step_frame = { "harness.c", 20, "step", &main_frame };

static struct harness_block *take(struct harness_allocator *allocator, uint64_t bytes)
{
    struct harness_block *block = NULL;
    if (!ok(harness_allocate(allocator, bytes, 0, &step_frame, &block, &error) == AP_OK, "memory is handed out"))
        note(error.message);
    return block;
}

static void give(struct harness_allocator *allocator, struct harness_block *block)
{
    ok(harness_release(allocator, block, &error) == AP_OK, "memory is given back");
}

static size_t free_blocks(const struct harness_allocator *allocator, int pool)
{
    return allocator->pools[pool].count;
}

/** Blocks tile their segments; the sums are the allocator's; no two free ones are neighbors; the pools hold the free ones.
 */
static bool is_sound(const struct harness_allocator *allocator)
{
    uint64_t reserved = 0, allocated = 0, requested = 0;
    size_t free_count = 0;
    bool sound = true;
    for (size_t i = 0; i < allocator->segment_count; i++) {
        const struct harness_segment *segment = allocator->segments[i];
        uint64_t at = segment->address;
        const struct harness_block *before = NULL;
        for (const struct harness_block *block = segment->first; block; before = block, block = block->next) {
            sound = sound && block->address == at && block->size_bytes && block->size_bytes % 512 == 0 &&
                    block->segment == segment && block->previous == before &&
                    (block->allocated || !before || before->allocated);
            at += block->size_bytes;
            allocated += block->allocated ? block->size_bytes : 0;
            requested += block->requested_bytes;
            free_count += !block->allocated;
        }
        sound = sound && at == segment->address + segment->size_bytes;
        reserved += segment->size_bytes;
    }
    return sound && reserved == allocator->reserved_bytes && allocated == allocator->allocated_bytes &&
           requested == allocator->requested_bytes && free_count == free_blocks(allocator, 0) + free_blocks(allocator, 1) &&
           reserved == fake.used_bytes;
}

static void sizes(void)
{
    struct harness_allocator *allocator = allocator_of(1024 * MIB, 0);
    struct harness_block *one = take(allocator, 1), *kib = take(allocator, 1000), *mib = take(allocator, MIB);
    is_u64(one->size_bytes, 512, "a byte takes 512");
    is_u64(kib->size_bytes, 1024, "sizes are multiples of 512");
    is_u64(kib->address - one->address, 512, "the rest of a small segment is used on");
    is_u64(allocator->reserved_bytes, 2 * MIB, "small requests share a segment of 2 MiB");
    ok(mib->segment == one->segment, "a request of 1 MiB is small");
    struct harness_block *more = take(allocator, MIB + 1), *nine = take(allocator, 9 * MIB);
    is_u64(more->segment->size_bytes, 20 * MIB, "larger ones share a segment of 20 MiB");
    ok(nine->segment == more->segment, "as long as they fit");
    struct harness_block *ten = take(allocator, 10 * MIB + 1), *rest = take(allocator, 19 * MIB);
    is_u64(ten->segment->size_bytes, 12 * MIB, "from 10 MiB a segment of multiples of 2 MiB");
    is_u64(ten->size_bytes, 10 * MIB + 512, "which is split where more than 1 MiB would be left");
    is_u64(rest->size_bytes, 20 * MIB, "and handed out whole where not");
    ok(is_sound(allocator), "all sums agree");
    harness_allocator_free(allocator);
    is_u64(fake.used_bytes, 0, "all goes back to the device");
}

static void merging(void)
{
    struct harness_allocator *allocator = allocator_of(1024 * MIB, 0);
    struct harness_block *a = take(allocator, 4 * MIB), *b = take(allocator, 4 * MIB), *c = take(allocator, 4 * MIB);
    give(allocator, a);
    give(allocator, c);
    is_int(free_blocks(allocator, 1), 2, "what is freed merges with the rest behind it");
    struct harness_block *again = take(allocator, 3 * MIB);
    ok(again->address == a->segment->address, "the smallest piece that fits is taken");
    give(allocator, again);
    give(allocator, b);
    is_int(free_blocks(allocator, 1), 1, "free neighbors on both sides merge");
    is_u64(allocator->reserved_bytes, 20 * MIB, "the cache keeps its segment");
    ok(harness_allocator_empty_cache(allocator, &error) == AP_OK, "the cache is emptied");
    is_u64(fake.used_bytes, 0, "and has nothing left");
    harness_allocator_free(allocator);
}

static void streams(void)
{
    struct harness_allocator *allocator = allocator_of(1024 * MIB, 0);
    struct harness_block *block = NULL, *other = NULL;
    ok(harness_allocate(allocator, 4 * MIB, 7, &step_frame, &block, &error) == AP_OK &&
           harness_release(allocator, block, &error) == AP_OK &&
           harness_allocate(allocator, 4 * MIB, 8, &step_frame, &other, &error) == AP_OK,
       "two streams");
    is_u64(allocator->reserved_bytes, 40 * MIB, "a stream does not take what another one freed");
    harness_allocator_free(allocator);
}

static void out_of_memory(void)
{
    struct harness_allocator *allocator = allocator_of(100 * MIB, 0);
    struct harness_block *block = take(allocator, 60 * MIB), *none = NULL;
    give(allocator, block);
    block = take(allocator, 90 * MIB);
    is_u64(allocator->retry_count, 1, "the cache is given up for a request that does not fit");
    is_int(harness_allocate(allocator, 30 * MIB, 0, &step_frame, &none, &error), AP_ERROR_LIMIT, "a request too many fails");
    is_u64(allocator->oom_count, 1, "it is counted");
    const struct harness_entry *last = harness_allocator_entry(allocator, allocator->entry_count - 1);
    is_int(last->action, HARNESS_OOM, "and in the history");
    is_u64(last->address, 10 * MIB, "with what the device had free");
    ok(is_sound(allocator), "all sums agree");
    harness_allocator_free(allocator);
}

static void ring(void)
{
    struct harness_allocator *allocator = allocator_of(100 * MIB, 8);
    for (int i = 0; i < 20; i++)
        give(allocator, take(allocator, 512));
    is_u64(allocator->entry_count, 8, "a ring keeps the newest entries");
    bool ordered = true;
    for (size_t i = 1; i < 8; i++)
        ordered =
            ordered && harness_allocator_entry(allocator, i - 1)->time_us < harness_allocator_entry(allocator, i)->time_us;
    ok(ordered, "the oldest first");
    harness_allocator_free(allocator);
}

static void no_memory(void)
{
    bool sound = true;
    int failed = 0;
    for (int64_t after = 0; after < 40; after++) {
        struct harness_allocator *allocator = allocator_of(1024 * MIB, 0);
        atomic_store(&allocator->gate.fail_after, after);
        struct harness_block *blocks[4] = { NULL };
        for (int i = 0; i < 4; i++)
            failed +=
                harness_allocate(allocator, (uint64_t)(i + 1) * 700 * 1024, 0, &step_frame, &blocks[i], &error) != AP_OK;
        sound = sound && fake.used_bytes == allocator->reserved_bytes;
        harness_allocator_free(allocator);
        sound = sound && fake.used_bytes == 0;
    }
    ok(failed > 0 && sound, "host memory may fail at any point: the device loses nothing");
}

struct workload {
    struct harness_allocator *allocator;
    struct random random;
    struct harness_block *blocks[MOST_BLOCKS];
    size_t count;
    uint64_t peak_requested_bytes;
    bool sound;
};

static uint64_t random_bytes(struct random *random)
{
    switch (random_below(random, 4)) {
    case 0: return random_below(random, 4000);
    case 1: return random_below(random, MIB);
    case 2: return random_below(random, 10 * MIB);
    default: return random_below(random, 60 * MIB);
    }
}

static void random_action(struct workload *work)
{
    if (work->count < MOST_BLOCKS && (work->count == 0 || random_below(&work->random, 100) < 55)) {
        struct harness_block *block = NULL;
        if (harness_allocate(work->allocator, random_bytes(&work->random), random_below(&work->random, 5) == 0 ? 7 : 0,
                             random_below(&work->random, 2) ? &step_frame : &main_frame, &block, &error) == AP_OK)
            work->blocks[work->count++] = block;
    } else {
        size_t at = random_below(&work->random, work->count);
        work->sound = work->sound && harness_release(work->allocator, work->blocks[at], &error) == AP_OK;
        work->blocks[at] = work->blocks[--work->count];
    }
    if (random_below(&work->random, 300) == 0)
        work->sound = work->sound && harness_allocator_empty_cache(work->allocator, &error) == AP_OK;
    if (work->allocator->requested_bytes > work->peak_requested_bytes)
        work->peak_requested_bytes = work->allocator->requested_bytes;
    work->sound = work->sound && is_sound(work->allocator);
}

static void check_replay(const struct workload *work, const struct harness_folder *folder, bool whole)
{
    const struct harness_allocator *allocator = work->allocator;
    struct ap_report *report = harness_report(NULL, folder->snapshot);
    if (!report)
        return;
    harness_no_warnings(report);
    is_int(harness_figure(report, "memory.replay.inconsistencies"), 0, "the replay finds no contradiction");
    is_u64(harness_replayed(report, "end_requested_bytes"), allocator->requested_bytes, "its end is the allocator's");
    is_u64(harness_replayed(report, "end_reserved_bytes"), allocator->reserved_bytes, "in reserved bytes too");
    is_u64(harness_figure(report, "memory.history.oom_count") > 0, whole && allocator->oom_count > 0, "failures are seen");
    if (whole) {
        is_u64(harness_replayed(report, "peak_requested_bytes"), work->peak_requested_bytes, "its peak is the allocator's");
        is_u64(harness_replayed(report, "peak_reserved_bytes"), allocator->peak_reserved_bytes, "in reserved bytes too");
        is_u64(harness_figure(report, "memory.fragmentation.simulated_peak_reserved_bytes"), allocator->peak_reserved_bytes,
               "the analyzer's own simulation of the scheme reserves as much");
    }
    ap_report_free(report);
}

static void random_workload(uint64_t seed, uint64_t device_bytes, size_t history_limit)
{
    struct workload *work = calloc(1, sizeof(*work));
    struct harness_folder folder;
    if (!work || !harness_folder_open(&folder)) {
        free(work);
        return;
    }
    *work = (struct workload){ .allocator = allocator_of(device_bytes, history_limit), .random = { seed }, .sound = true };
    for (int i = 0; i < 3000; i++)
        random_action(work);
    ok(work->sound, "all sums agree after every action");
    if (ok(harness_snapshot_write(work->allocator, folder.snapshot, &error) == AP_OK, "a snapshot is written"))
        check_replay(work, &folder, history_limit == 0);
    harness_allocator_free(work->allocator);
    harness_folder_close(&folder);
    free(work);
}

int main(void)
{
    sizes();
    merging();
    streams();
    out_of_memory();
    ring();
    no_memory();
    for (uint64_t seed = 1; seed <= 4; seed++)
        random_workload(seed, 64 * 1024 * MIB, 0);
    random_workload(5, 1024 * MIB, 0);
    random_workload(6, 64 * 1024 * MIB, 500);
    return done();
}
