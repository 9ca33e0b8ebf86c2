/* SPDX-License-Identifier: MIT
 * gpu_sequences.c - short kernels that follow each other again and again in the same order: what a compiler or a fused
 * kernel could do in one. A run is a row of consecutive kernels on one stream that are short, that each read and write
 * memory once (elementwise, reduction, normalization, copy) and that leave less than 10 us between them.
 *
 * Sequences of 2 to 8 kernels are counted length by length, in a table of bounded size: one of n kernels can only be
 * frequent where its first and its last n - 1 are. Then each run is cut, from its start on, into the longest frequent
 * sequences, so that no kernel counts twice. */
#include <string.h>

#include "gpu_work.h"
#include "sort.h"

#include "poison.h"

#define MAX_LENGTH 8
#define MIN_REPEATS 10
#define MAX_GAP_NS 10000
#define MAX_SLOTS ((size_t)1 << 18)

struct tally {
    uint32_t first;  /* place at which it was seen first */
    uint32_t length; /* 0 = free */
    uint32_t count;  /* while cutting: its number among those found */
};

struct found {
    uint32_t first, count;
    uint8_t length;
    int64_t total_ns, gap_ns;
    int64_t longest_ns; /* of each occurrence the longest kernel: as much is left of it when they are one */
};

struct sequences {
    struct ap_gpu_work *work;
    uint32_t *rows;    /* kernels of all runs */
    uint8_t *left;     /* kernels from here to the end of the run, at most MAX_LENGTH */
    uint8_t *frequent; /* length of the longest frequent sequence that begins here; 1 = none */
    size_t count, bytes;
    struct tally *slots;
    size_t slot_count, used;
    struct found *found;
    size_t found_count, found_capacity;
    int64_t total_ns, spared_ns; /* of all that repeat; of that, with one kernel for each */
};

/* ---- runs ---- */

static bool is_fusable(const struct ap_gpu_work *work, uint32_t row)
{
    const struct ap_trace *trace = work->context->trace;
    if (ap_row_kind(trace->events.tag[row]) != AP_KIND_kernel || trace->events.dur_ns[row] >= AP_GPU_SHORT_KERNEL_NS)
        return false;
    switch (ap_kernel_family_of(ap_kernel_subfamily_of(&work->context->facts->families, trace->events.name[row]))) {
    case AP_KERNEL_FAMILY_elementwise:
    case AP_KERNEL_FAMILY_reduction:
    case AP_KERNEL_FAMILY_normalisation:
    case AP_KERNEL_FAMILY_softmax:
    case AP_KERNEL_FAMILY_copy: return !ap_kernel_is_communication(&work->context->facts->families, trace, row);
    default: return false;
    }
}

static int64_t gap_ns(const struct ap_trace *trace, uint32_t before, uint32_t after)
{
    int64_t gap = trace->events.start_ns[after] - ap_row_end_ns(trace, before);
    return gap > 0 ? gap : 0;
}

/* Counts the kernels of all runs, and lists them where there is room for them already. Other rows than GPU work on the
 * stream's track do not part a run. */
static size_t collect(const struct sequences *sequences)
{
    const struct ap_gpu_work *work = sequences->work;
    const struct ap_trace *trace = work->context->trace;
    const struct ap_row_order *order = &work->context->facts->order;
    size_t count = 0;
    for (size_t track = 0; track < order->track_count; track++) {
        bool joins = false;
        if (ap_track_device(trace, &trace->tracks[track]) < 0)
            continue;
        for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
            uint32_t row = order->rows[i];
            if (!ap_event_kind_is_gpu_work(ap_row_kind(trace->events.tag[row])))
                continue;
            bool fusable = is_fusable(work, row);
            if (fusable && sequences->rows) {
                sequences->rows[count] = row;
                sequences->left[count] = joins && gap_ns(trace, sequences->rows[count - 1], row) < MAX_GAP_NS;
            }
            count += fusable;
            joins = fusable;
        }
    }
    return count;
}

/* On entry left says whether the kernel goes on with the run before it. */
static void measure_runs(struct sequences *sequences)
{
    uint8_t left = 0;
    bool joined = false;
    for (size_t i = sequences->count; i-- > 0;) {
        left = (uint8_t)(joined ? (left < MAX_LENGTH ? left + 1 : MAX_LENGTH) : 1);
        joined = sequences->left[i];
        sequences->left[i] = left;
        sequences->frequent[i] = 1;
    }
}

/* ---- counting ---- */

static uint32_t name_at(const struct sequences *sequences, size_t at)
{
    return sequences->work->context->trace->events.name[sequences->rows[at]];
}

static bool is_tally_of(const struct sequences *sequences, const struct tally *tally, size_t at, size_t length)
{
    if (tally->length != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (name_at(sequences, tally->first + i) != name_at(sequences, at + i))
            return false;
    return true;
}

/* Of the sequence, or the free one where it belongs. */
static struct tally *tally_of(struct sequences *sequences, size_t at, size_t length)
{
    uint32_t names[MAX_LENGTH];
    for (size_t i = 0; i < length; i++)
        names[i] = name_at(sequences, at + i);
    size_t mask = sequences->slot_count - 1;
    size_t slot = (size_t)ap_hash_bytes(&sequences->work->context->gate->hash_key, names, length * sizeof(names[0])) & mask;
    while (sequences->slots[slot].length && !is_tally_of(sequences, &sequences->slots[slot], at, length))
        slot = (slot + 1) & mask;
    return &sequences->slots[slot];
}

/* Once the table is three quarters full, sequences not met before are not counted. */
static void count_one(struct sequences *sequences, size_t at, size_t length)
{
    struct tally *tally = tally_of(sequences, at, length);
    if (!tally->length) {
        if (sequences->used * 4 >= sequences->slot_count * 3)
            return;
        sequences->used++;
        *tally = (struct tally){ (uint32_t)at, (uint32_t)length, 0 };
    }
    tally->count++;
}

static bool may_be_frequent(const struct sequences *sequences, size_t at, size_t length)
{
    return sequences->left[at] >= length && sequences->frequent[at] >= length - 1 &&
           sequences->frequent[at + 1] >= length - 2;
}

static void forget_tallies(struct sequences *sequences)
{
    memset(sequences->slots, 0, sequences->slot_count * sizeof(sequences->slots[0]));
    sequences->used = 0;
}

/* frequent[at + 1] is read before it grows: places are visited in order. */
static bool count_length(struct sequences *sequences, size_t length)
{
    bool any = false;
    forget_tallies(sequences);
    for (size_t at = 0; at < sequences->count; at++)
        if (may_be_frequent(sequences, at, length))
            count_one(sequences, at, length);
    for (size_t at = 0; at < sequences->count; at++) {
        if (!may_be_frequent(sequences, at, length) || tally_of(sequences, at, length)->count < MIN_REPEATS)
            continue;
        sequences->frequent[at] = (uint8_t)length;
        any = true;
    }
    return any;
}

/* ---- cutting ---- */

/* ABCABCAB is ABC, again and again; AAAA is AA twice. Where more may follow than a sequence can hold, its end need not
 * repeat the whole body: ABCDEABC is taken for ABCDE. */
static size_t without_repeats(const struct sequences *sequences, size_t at, size_t length)
{
    const uint32_t *names = sequences->work->context->trace->events.name, *rows = sequences->rows + at;
    size_t longest = length == MAX_LENGTH ? length - 1 : length / 2;
    for (size_t period = 1; period <= longest; period++) {
        size_t i = period;
        while (i < length && names[rows[i]] == names[rows[i - period]])
            i++;
        if (i == length)
            return period == 1 ? 2 : period;
    }
    return length;
}

static enum ap_status take(struct sequences *sequences, size_t at, size_t length, struct ap_error *reterr)
{
    const struct ap_trace *trace = sequences->work->context->trace;
    struct tally *tally = tally_of(sequences, at, length);
    if (!tally->length) {
        if (sequences->used * 4 >= sequences->slot_count * 3)
            return AP_OK;
        AP_TRY(AP_RESERVE(sequences->work->context->gate, sequences->found, sequences->found_capacity,
                          sequences->found_count + 1, reterr));
        sequences->used++;
        *tally = (struct tally){ (uint32_t)at, (uint32_t)length, (uint32_t)sequences->found_count };
        sequences->found[sequences->found_count++] = (struct found){ .first = (uint32_t)at, .length = (uint8_t)length };
    }
    struct found *found = &sequences->found[tally->count];
    found->count++;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < length; i++) {
        int64_t dur_ns = trace->events.dur_ns[sequences->rows[at + i]];
        longest_ns = dur_ns > longest_ns ? dur_ns : longest_ns;
        found->total_ns = ap_gpu_add_ns(sequences->work, found->total_ns, dur_ns);
        if (i)
            found->gap_ns = ap_gpu_add_ns(sequences->work, found->gap_ns,
                                          gap_ns(trace, sequences->rows[at + i - 1], sequences->rows[at + i]));
    }
    found->longest_ns = ap_gpu_add_ns(sequences->work, found->longest_ns, longest_ns);
    return AP_OK;
}

static enum ap_status cut_runs(struct sequences *sequences, struct ap_error *reterr)
{
    forget_tallies(sequences);
    for (size_t at = 0; at < sequences->count;) {
        size_t length = sequences->frequent[at];
        if (length > 1) {
            length = without_repeats(sequences, at, length);
            AP_TRY(take(sequences, at, length, reterr));
        }
        at += length;
    }
    return AP_OK;
}

/* ---- report ---- */

static bool found_before(const void *context, uint32_t a, uint32_t b)
{
    const struct found *x = (const struct found *)context + a, *y = (const struct found *)context + b;
    if ((x->count >= MIN_REPEATS) != (y->count >= MIN_REPEATS))
        return x->count >= MIN_REPEATS;
    int64_t x_ns = x->total_ns / 2 + x->gap_ns / 2, y_ns = y->total_ns / 2 + y->gap_ns / 2;
    AP_LARGER_FIRST(x_ns, y_ns);
    return a < b; /* the one that was met first */
}

static void add_sequence(const struct sequences *sequences, const struct found *found, struct ap_model *model,
                         struct ap_value *list)
{
    const struct ap_trace *trace = sequences->work->context->trace;
    uint32_t first = sequences->rows[found->first], last = sequences->rows[found->first + found->length - 1];
    struct ap_value *row = ap_add_object(model, list, NULL);
    struct ap_value *names = ap_add_list(model, row, "names");
    for (size_t i = 0; i < found->length; i++)
        ap_add_text(model, names, NULL, ap_row_name(trace, sequences->rows[found->first + i]));
    ap_add_count(model, row, "length", found->length);
    ap_add_count(model, row, "occurrences", found->count);
    ap_add_time(model, row, "total_dur_us", found->total_ns);
    ap_add_time(model, row, "gap_us", found->gap_ns);
    struct ap_value *place = ap_add_object(model, row, "first");
    ap_add_time(model, place, "start_us", trace->events.start_ns[first]);
    ap_add_time(model, place, "dur_us", ap_row_end_ns(trace, last) - trace->events.start_ns[first]);
    ap_add_track(trace, trace->events.track[first], model, place);
}

static enum ap_status report(struct sequences *sequences, struct ap_model *model, struct ap_value *list,
                             struct ap_error *reterr)
{
    struct ap_gate *gate = sequences->work->context->gate;
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(gate, (uint32_t)sequences->found_count, sequences->work->context->options->top_n, found_before,
                          sequences->found, &top, &count, reterr));
    for (size_t i = 0; i < count && sequences->found[top[i]].count >= MIN_REPEATS; i++)
        add_sequence(sequences, &sequences->found[top[i]], model, list);
    AP_FREE(gate, top, count);
    for (size_t i = 0; i < sequences->found_count; i++) {
        const struct found *found = &sequences->found[i];
        if (found->count < MIN_REPEATS)
            continue;
        sequences->total_ns = ap_gpu_add_ns(sequences->work, sequences->total_ns, found->total_ns);
        sequences->spared_ns = ap_gpu_add_ns(sequences->work, sequences->spared_ns, found->total_ns - found->longest_ns);
        sequences->spared_ns = ap_gpu_add_ns(sequences->work, sequences->spared_ns, found->gap_ns);
    }
    return AP_OK;
}

static enum ap_status find(struct sequences *sequences, struct ap_model *model, struct ap_value *list,
                           struct ap_error *reterr)
{
    struct ap_gate *gate = sequences->work->context->gate;
    sequences->slot_count = 16;
    while (sequences->slot_count < 2 * sequences->count && sequences->slot_count < MAX_SLOTS)
        sequences->slot_count *= 2;
    sequences->bytes = sequences->count * (sizeof(uint32_t) + 2);
    if (!(sequences->rows = ap_mem_resize(gate, NULL, 0, sequences->bytes)))
        return ap_fail_memory(gate, reterr);
    AP_TRY(AP_ALLOC(gate, sequences->slots, sequences->slot_count, reterr));
    sequences->left = (uint8_t *)(sequences->rows + sequences->count);
    sequences->frequent = sequences->left + sequences->count;
    (void)collect(sequences);
    measure_runs(sequences);
    for (size_t length = 2; length <= MAX_LENGTH && count_length(sequences, length); length++)
        continue;
    AP_TRY(cut_runs(sequences, reterr));
    return report(sequences, model, list, reterr);
}

enum ap_status ap_gpu_add_sequences(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                    struct ap_error *reterr)
{
    struct ap_gate *gate = work->context->gate;
    struct sequences sequences = { .work = work };
    struct ap_value *list = ap_add_list(model, gpu, "sequences");
    sequences.count = collect(&sequences);
    enum ap_status status = sequences.count < MIN_REPEATS ? AP_OK : find(&sequences, model, list, reterr);
    struct ap_value *total = ap_add_object(model, gpu, "sequence_total");
    ap_add_time(model, total, "total_dur_us", sequences.total_ns);
    ap_add_time(model, total, "saves_us", sequences.spared_ns);
    ap_add_quotient(model, total, "share_ratio", (double)sequences.total_ns, (double)work->totals.busy_ns);
    AP_FREE(gate, sequences.found, sequences.found_capacity);
    AP_FREE(gate, sequences.slots, sequences.slot_count);
    ap_mem_free(gate, sequences.rows, sequences.bytes);
    return status;
}
