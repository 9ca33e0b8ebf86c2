/* SPDX-License-Identifier: MIT
 * gpu_copies.c - copies by kind, as the trace names them: "Memcpy HtoD (Pageable -> Device)". Rates are total bytes over
 * total time of the rows that tell their bytes: bytes over nanoseconds are decimal gigabytes over seconds. */
#include <string.h>

#include "cover.h"
#include "gpu_work.h"
#include "quantile.h"
#include "rows_of.h"
#include "sort.h"
#include "waits.h"

#include "poison.h"

/* A copy below this size measures latency, not bandwidth. */
#define LARGE_COPY_BYTES 65536

/* ---- what a name says ---- */

struct word {
    const char *part, *meaning; /* part in lower case */
};

static const char *first_word(struct ap_text name, const struct word *words, size_t count, const char *otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_contains_folded(name, words[i].part))
            return words[i].meaning;
    return otherwise;
}

static const char *direction_of(struct ap_text name)
{
    static const struct word words[] = {
        { "htod", "HtoD" }, { "hosttodevice", "HtoD" },   { "dtoh", "DtoH" }, { "devicetohost", "DtoH" },
        { "dtod", "DtoD" }, { "devicetodevice", "DtoD" }, { "ptop", "PtoP" }, { "peertopeer", "PtoP" },
        { "htoh", "HtoH" }, { "hosttohost", "HtoH" },
    };
    return first_word(name, words, AP_COUNT_OF(words), "other");
}

/* The kind of host memory, where there is any in the copy. */
static const char *memory_of(struct ap_text name)
{
    static const struct word words[] = {
        { "pageable", "pageable" },
        { "pinned", "pinned" },
        { "managed", "managed" },
        { "unified", "managed" },
    };
    const char *direction = direction_of(name);
    bool on_devices = strcmp(direction, "DtoD") == 0 || strcmp(direction, "PtoP") == 0;
    return first_word(name, words, AP_COUNT_OF(words), on_devices ? "device" : "unknown");
}

/* ---- what was copied ---- */

struct sums {
    int64_t count, known_count, bytes, total_ns, large_count, exposed_ns; /* known: of rows that tell their bytes */
};

static void sums_add(struct ap_gpu_work *work, struct sums *to, const struct sums *more)
{
    to->count += more->count;
    to->known_count += more->known_count;
    to->large_count += more->large_count;
    to->bytes = ap_gpu_add_ns(work, to->bytes, more->bytes);
    to->total_ns = ap_gpu_add_ns(work, to->total_ns, more->total_ns);
    to->exposed_ns = ap_gpu_add_ns(work, to->exposed_ns, more->exposed_ns);
}

static void sum_rows(struct ap_gpu_work *work, const struct ap_name_sums *names, struct sums *sums)
{
    const struct ap_trace *trace = work->context->trace;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_memcpy); ap_rows_of_next(&at);) {
        int64_t bytes = ap_row_bytes(trace, at.row), dur_ns = trace->events.dur_ns[at.row];
        struct sums row = { .count = 1, .total_ns = dur_ns };
        if (bytes >= 0) {
            row.bytes = bytes;
            row.known_count = 1;
            row.large_count = bytes >= LARGE_COPY_BYTES;
        }
        sums_add(work, &sums[ap_name_sums_number(names, trace->events.name[at.row])], &row);
    }
}

/* ---- what of it was exposed ----
 * Kernels and memsets cover a copy. How much of time t is covered up to then is known once all rows that start before t
 * were seen. So each copy asks at its start and at its end. */

/* A copy whose end is not reached yet. */
struct begun {
    int64_t end_ns, before_ns; /* before_ns: what was covered before its start */
    uint32_t row;
};

/* Those of a device, in a heap with what ends first on top. */
struct copies {
    struct ap_gpu_work *work;
    const struct ap_name_sums *names;
    struct sums *sums;
    struct begun *begun;
    size_t count, capacity;
};

static enum ap_status begin_copy(struct copies *copies, struct begun copy, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(copies->work->context->gate, copies->begun, copies->capacity, copies->count + 1, reterr));
    size_t at = copies->count++;
    for (; at && copies->begun[(at - 1) / 2].end_ns > copy.end_ns; at = (at - 1) / 2)
        copies->begun[at] = copies->begun[(at - 1) / 2];
    copies->begun[at] = copy;
    return AP_OK;
}

static struct begun take_first(struct copies *copies)
{
    struct begun first = copies->begun[0], moved = copies->begun[--copies->count];
    size_t at = 0;
    for (size_t below; (below = 2 * at + 1) < copies->count; at = below) {
        below += below + 1 < copies->count && copies->begun[below + 1].end_ns < copies->begun[below].end_ns;
        if (copies->begun[below].end_ns >= moved.end_ns)
            break;
        copies->begun[at] = copies->begun[below];
    }
    copies->begun[at] = moved;
    return first;
}

static void end_copies(struct copies *copies, int64_t at_ns, const struct ap_cover *cover)
{
    const struct ap_events *events = &copies->work->context->trace->events;
    while (copies->count && copies->begun[0].end_ns <= at_ns) {
        struct begun copy = take_first(copies);
        struct sums *of_name = &copies->sums[ap_name_sums_number(copies->names, events->name[copy.row])];
        int64_t covered_ns = ap_cover_before(cover, copy.end_ns) - copy.before_ns;
        of_name->exposed_ns = ap_gpu_add_ns(copies->work, of_name->exposed_ns, events->dur_ns[copy.row] - covered_ns);
    }
}

static enum ap_status find_exposed(struct copies *copies, struct ap_error *reterr)
{
    const struct ap_trace *trace = copies->work->context->trace;
    const struct ap_links *links = &copies->work->context->facts->links;
    for (size_t i = 0; i < links->count;) {
        int64_t device = ap_row_device(trace, links->row[i]);
        struct ap_cover cover = AP_COVER_EMPTY;
        for (; i < links->count && ap_row_device(trace, links->row[i]) == device; i++) {
            uint32_t row = links->row[i];
            int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
            end_copies(copies, start_ns - 1, &cover);
            if (ap_row_kind(trace->events.tag[row]) == AP_KIND_memcpy)
                AP_TRY(begin_copy(copies, (struct begun){ end_ns, ap_cover_before(&cover, start_ns), row }, reterr));
            else
                ap_cover_add(&cover, start_ns, end_ns);
        }
        end_copies(copies, INT64_MAX, &cover);
    }
    return AP_OK;
}

static enum ap_status sum_exposed(struct ap_gpu_work *work, const struct ap_name_sums *names, struct sums *sums,
                                  struct ap_error *reterr)
{
    struct copies copies = { .work = work, .names = names, .sums = sums };
    enum ap_status status = find_exposed(&copies, reterr);
    AP_FREE(work->context->gate, copies.begun, copies.capacity);
    return status;
}

/* ---- report ---- */

/* No copies are no bytes; copies that do not tell their bytes are an unknown number. */
static void add_bytes(struct ap_model *model, struct ap_value *to, const char *key, const struct sums *sums)
{
    ap_add_known_bytes(model, to, key, sums->known_count || !sums->count, sums->bytes);
}

static enum ap_status add_kinds(struct ap_gpu_work *work, const struct ap_name_sums *names, const struct sums *sums,
                                struct ap_model *model, struct ap_value *gpu, struct ap_error *reterr)
{
    const struct ap_trace *trace = work->context->trace;
    struct ap_value *list = ap_add_list(model, gpu, "copies");
    uint32_t *top;
    size_t count;
    AP_TRY(ap_name_sums_top(names, work->context->trace, work->context->options->top_n, &top, &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct sums *of_name = &sums[top[i]];
        struct ap_text name = ap_trace_text(trace, ap_name_sum_name(trace, &names->sums[top[i]]));
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "kind", name);
        ap_add_string(model, row, "direction", direction_of(name));
        ap_add_string(model, row, "memory", memory_of(name));
        ap_add_count(model, row, "count", of_name->count);
        add_bytes(model, row, "bytes", of_name);
        ap_add_known_bytes(model, row, "mean_bytes", of_name->known_count,
                           ap_mean(of_name->bytes, (uint64_t)of_name->known_count));
        ap_add_count(model, row, "large_count", of_name->large_count);
        ap_add_time(model, row, "total_dur_us", of_name->total_ns);
        ap_add_time(model, row, "exposed_us", of_name->exposed_ns);
        ap_add_count(model, row, "without_bytes_count", of_name->count - of_name->known_count);
        ap_add_number_per(model, row, "gigabytes_per_s", (double)of_name->bytes,
                          of_name->known_count ? (double)of_name->total_ns : 0);
        ap_add_place(trace, names->sums[top[i]].longest, model, ap_add_object(model, row, "longest"));
    }
    AP_FREE(names->gate, top, count);
    return AP_OK;
}

struct split {
    const char *meaning, *count_key, *bytes_key, *time_key;
    struct sums sums;
};

enum { HTOD, DTOH, DTOD, PAGEABLE, PINNED, SPLITS };

static const struct split no_splits[SPLITS] = {
    [HTOD] = { "HtoD", "htod_count", "htod_bytes", "htod_dur_us", { 0 } },
    [DTOH] = { "DtoH", "dtoh_count", "dtoh_bytes", "dtoh_dur_us", { 0 } },
    [DTOD] = { "DtoD", "dtod_count", "dtod_bytes", "dtod_dur_us", { 0 } },
    [PAGEABLE] = { "pageable", "pageable_count", "pageable_bytes", "pageable_dur_us", { 0 } },
    [PINNED] = { "pinned", "pinned_count", "pinned_bytes", "pinned_dur_us", { 0 } },
};

static void split_add(struct ap_gpu_work *work, struct split *splits, size_t split_count, const char *meaning,
                      const struct sums *sums)
{
    for (size_t i = 0; i < split_count; i++)
        if (strcmp(splits[i].meaning, meaning) == 0)
            sums_add(work, &splits[i].sums, sums);
}

/* Copies, and what the devices stood still behind those that the host waited for. */
struct held {
    int64_t pageable_ns; /* from pageable memory to the device */
    int64_t dtoh_ns;     /* from the device to the host */
};

enum { HOLDS_NOTHING = 1, HOLDS_DTOH, HOLDS_PAGEABLE }; /* 0 = the name was not asked for yet */

static uint8_t holds(struct ap_text name)
{
    const char *direction = direction_of(name);
    if (strcmp(direction, "DtoH") == 0)
        return HOLDS_DTOH;
    return strcmp(direction, "HtoD") == 0 && strcmp(memory_of(name), "pageable") == 0 ? HOLDS_PAGEABLE : HOLDS_NOTHING;
}

static void hold_copy(struct ap_gpu_work *work, struct held *held, uint8_t *of_name, uint32_t row)
{
    const struct ap_trace *trace = work->context->trace;
    uint8_t *held_by = &of_name[trace->events.name[row]];
    if (!*held_by)
        *held_by = holds(ap_row_name(trace, row));
    if (*held_by == HOLDS_DTOH)
        held->dtoh_ns = ap_gpu_add_ns(work, held->dtoh_ns, trace->events.dur_ns[row]);
    else if (*held_by == HOLDS_PAGEABLE)
        held->pageable_ns = ap_gpu_add_ns(work, held->pageable_ns, trace->events.dur_ns[row]);
}

static enum ap_status hold_copies(struct ap_gpu_work *work, struct held *held, struct ap_error *reterr)
{
    const struct ap_links *links = &work->context->facts->links;
    const struct ap_trace *trace = work->context->trace;
    uint8_t *of_name;
    AP_TRY(AP_ALLOC_CLEARED(work->context->gate, of_name, ap_trace_id_count(trace), reterr));
    for (size_t i = 0; i < links->count; i++)
        if (ap_row_is_of(trace, links->row[i], 1u << AP_KIND_memcpy))
            hold_copy(work, held, of_name, links->row[i]);
    AP_FREE(work->context->gate, of_name, ap_trace_id_count(trace));
    return AP_OK;
}

static void hold_wait(struct ap_gpu_work *work, struct held *held, const struct ap_wait *wait)
{
    if (wait->at_end)
        return;
    if (wait->category == AP_SYNC_to_host && held->dtoh_ns)
        held->dtoh_ns = ap_gpu_add_ns(work, held->dtoh_ns, wait->idle_ns);
    if (wait->category == AP_SYNC_to_device && held->pageable_ns)
        held->pageable_ns = ap_gpu_add_ns(work, held->pageable_ns, wait->idle_ns);
}

static enum ap_status find_held(struct ap_gpu_work *work, struct held *ret_held, struct ap_error *reterr)
{
    const struct ap_facts *facts = work->context->facts;
    const struct ap_trace *trace = work->context->trace;
    struct ap_waits waits;
    *ret_held = (struct held){ 0 };
    AP_TRY(hold_copies(work, ret_held, reterr));
    if (!ret_held->pageable_ns && !ret_held->dtoh_ns)
        return AP_OK;
    enum ap_status status =
        ap_waits_init(&waits, trace, &facts->order, &facts->tree, &facts->links, &facts->calls, work->context->gate, reterr);
    AP_AND_THEN(status, ap_waits_find_cost(&waits, trace, &facts->links, reterr));
    for (size_t i = 0; i < waits.count && status == AP_OK; i++)
        hold_wait(work, ret_held, &waits.waits[i]);
    ap_waits_release(&waits);
    return status;
}

static void add_totals(struct ap_gpu_work *work, const struct ap_name_sums *names, const struct sums *sums,
                       const struct held *held, struct ap_model *model, struct ap_value *gpu)
{
    struct split splits[SPLITS];
    struct sums all = { .count = 0 };
    bool is_told = true; /* what memory of the host it was */
    memcpy(splits, no_splits, sizeof(splits));
    for (size_t i = 0; i < names->count; i++) {
        struct ap_text name = ap_trace_text(work->context->trace, ap_name_sum_name(work->context->trace, &names->sums[i]));
        sums_add(work, &all, &sums[i]);
        split_add(work, splits, SPLITS, direction_of(name), &sums[i]);
        split_add(work, splits, SPLITS, memory_of(name), &sums[i]);
        is_told = is_told && strcmp(memory_of(name), "unknown") != 0;
    }
    struct ap_value *copies = ap_add_object(model, gpu, "memcpy");
    ap_add_count(model, copies, "count", all.count);
    ap_add_time(model, copies, "total_dur_us", all.total_ns);
    add_bytes(model, copies, "bytes", &all);
    ap_add_count(model, copies, "large_count", all.large_count);
    ap_add_number_per(model, copies, "gigabytes_per_s", (double)all.bytes, all.known_count ? (double)all.total_ns : 0);
    for (size_t i = 0; i < SPLITS; i++) {
        const struct sums *of = &splits[i].sums;
        bool known = i < PAGEABLE || is_told || of->count;
        ap_add_known_count(model, copies, splits[i].count_key, known, of->count);
        ap_add_known_bytes(model, copies, splits[i].bytes_key, known && (of->known_count || !of->count), of->bytes);
        ap_add_known_time(model, copies, splits[i].time_key, known, of->total_ns);
        if (i == DTOH)
            ap_add_known_time(model, copies, "dtoh_held_us", known, held->dtoh_ns);
        if (i == PAGEABLE)
            ap_add_known_time(model, copies, "pageable_held_us", known, held->pageable_ns);
    }
    ap_add_time(model, copies, "device_dur_us", splits[DTOD].sums.total_ns);
    ap_add_quotient(model, copies, "device_ratio", (double)splits[DTOD].sums.total_ns, (double)work->totals.busy_ns);
    ap_add_time(model, copies, "busy_us", work->totals.memcpy_ns);
    ap_add_time(model, copies, "exposed_us", work->totals.exposed_memcpy_ns);
    ap_add_quotient(model, copies, "exposed_ratio", (double)work->totals.exposed_memcpy_ns, (double)work->totals.window_ns);
    ap_add_time(model, copies, "overlap_us", work->totals.memcpy_overlap_ns);
}

static void add_memsets(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu)
{
    const struct ap_trace *trace = work->context->trace;
    int64_t count = 0, total_ns = 0;
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_memset); ap_rows_of_next(&at);) {
        count++;
        total_ns = ap_gpu_add_ns(work, total_ns, trace->events.dur_ns[at.row]);
    }
    struct ap_value *memsets = ap_add_object(model, gpu, "memset");
    ap_add_count(model, memsets, "count", count);
    ap_add_time(model, memsets, "total_dur_us", total_ns);
}

static enum ap_status add_copies(struct ap_gpu_work *work, struct ap_name_sums *names, struct ap_model *model,
                                 struct ap_value *gpu, struct ap_error *reterr)
{
    AP_TRY(ap_name_sums_init(names, work->context->trace, work->context->gate, reterr));
    AP_TRY(ap_name_sums_add_all(names, work->context->trace, AP_KIND_memcpy, reterr));
    struct sums *sums;
    AP_TRY(AP_ALLOC_CLEARED(names->gate, sums, names->count + 1, reterr));
    struct held held;
    sum_rows(work, names, sums);
    enum ap_status status = sum_exposed(work, names, sums, reterr);
    AP_AND_THEN(status, find_held(work, &held, reterr));
    if (status == AP_OK) {
        add_totals(work, names, sums, &held, model, gpu);
        status = add_kinds(work, names, sums, model, gpu, reterr);
    }
    AP_FREE(names->gate, sums, names->count + 1);
    return status;
}

enum ap_status ap_gpu_add_copies(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                 struct ap_error *reterr)
{
    struct ap_name_sums names = { .gate = work->context->gate };
    enum ap_status status = add_copies(work, &names, model, gpu, reterr);
    work->totals.overflowed |= names.overflowed;
    ap_name_sums_release(&names);
    if (status == AP_OK)
        add_memsets(work, model, gpu);
    return status;
}
