/* SPDX-License-Identifier: MIT
 * trace_events.c - from the members of one event to a row, a count or a name. */
#include <string.h>

#include "decimal_short.h"
#include "same_bytes.h"
#include "trace_internal.h"
#include "trace_ranks.h"

#include "poison.h"

#define NOT_INLINE __attribute__((noinline))                /* rare, and would cost the usual row its registers */
#define ALWAYS_INLINE inline __attribute__((always_inline)) /* of the usual row, which takes no calls */

const struct ap_json_field ap_event_fields[AP_FIELD_COUNT_] = {
#define AP_FIELD(id, parent, key, strings) { parent, key, AP_STRINGS_##strings },
#include "event_field.def"
};

static const struct ap_json_span *field(const struct ap_trace_reading *reading, enum ap_event_field index)
{
    return &reading->spans[index];
}

static void note(struct ap_trace_reading *reading, enum ap_counter counter)
{
    ap_note(reading->notes, counter, reading->offset_bytes);
}

static bool is_container(const struct ap_json_span *span)
{
    return span->kind == AP_JSON_OBJECT_BEGIN || span->kind == AP_JSON_ARRAY_BEGIN;
}

/* The text of a value of any kind, valid UTF-8. Containers hold strings that nobody has decoded. */
static enum ap_status any_text(struct ap_trace_reading *reading, const struct ap_json_span *span, struct ap_text *ret_text,
                               struct ap_error *reterr)
{
    struct ap_json_span shown = *span;
    if (is_container(span))
        shown.decode = 1;
    return ap_element_text(reading->elements, &shown, ret_text, reterr);
}

/* What Python's str() makes of a scalar, which is what the original script showed. */
static enum ap_status literal_text(struct ap_trace_reading *reading, const struct ap_json_span *span,
                                   struct ap_text *ret_text, struct ap_error *reterr)
{
    switch (span->kind) {
    case AP_JSON_NULL: *ret_text = AP_TEXT("None"); return AP_OK;
    case AP_JSON_TRUE: *ret_text = AP_TEXT("True"); return AP_OK;
    case AP_JSON_FALSE: *ret_text = AP_TEXT("False"); return AP_OK;
    default: return any_text(reading, span, ret_text, reterr);
    }
}

/* ---------------------------------------------------------------------------------------------------- categories */

static enum ap_status add_category(struct ap_trace *trace, struct ap_text text, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(trace->gate, trace->categories, trace->category_capacity, trace->category_count + 1, reterr));
    struct ap_category *category = &trace->categories[trace->category_count++];
    *category = (struct ap_category){ .kind = text.bytes ? ap_event_kind_of(text) : AP_KIND_none,
                                      .frames = ap_frame_writer_of(text),
                                      .has_cpu = ap_text_contains_folded(text, "cpu") };
    return AP_OK;
}

enum ap_status ap_trace_category(struct ap_trace *trace, struct ap_text text, uint32_t *ret_index, struct ap_error *reterr)
{
    struct ap_str name = { 0 };
    if (!trace->category_count)
        AP_TRY(add_category(trace, AP_TEXT(""), reterr));
    if (text.bytes)
        AP_TRY(ap_strpool_intern(&trace->category_names, text.data, text.bytes, &name, reterr));
    if (name.id >= trace->category_count)
        AP_TRY(add_category(trace, text, reterr));
    *ret_index = name.id;
    return AP_OK;
}

static NOT_INLINE enum ap_status learn_category(struct ap_trace_reading *reading, struct ap_known_category *known,
                                                uint32_t *ret_index, struct ap_error *reterr)
{
    const struct ap_json_span *span = field(reading, AP_FIELD_CAT);
    struct ap_text text = { "", 0 };
    if (span->kind == AP_JSON_STRING)
        AP_TRY(ap_element_text(reading->elements, span, &text, reterr));
    else if (span->kind != AP_SPAN_ABSENT)
        note(reading, AP_COUNTER_category_not_text);
    AP_TRY(ap_trace_category(reading->trace, text, ret_index, reterr));
    if (known) {
        memcpy(known->text, span->text, span->bytes);
        known->bytes = span->bytes;
        known->index = *ret_index;
    }
    return AP_OK;
}

static enum ap_status find_category(struct ap_trace_reading *reading, uint32_t *ret_index, struct ap_error *reterr)
{
    const struct ap_json_span *span = field(reading, AP_FIELD_CAT);
    if (AP_UNLIKELY(span->kind != AP_JSON_STRING || span->decode || !span->bytes || span->bytes > 24))
        return learn_category(reading, NULL, ret_index, reterr);
    unsigned place = (uint8_t)span->text[0] + 2u * (uint8_t)span->text[span->bytes - 1] + 3 * span->bytes;
    struct ap_known_category *known = &reading->known_categories[place % AP_COUNT_OF(reading->known_categories)];
    if (AP_UNLIKELY(known->bytes != span->bytes || !ap_same_bytes(span->text, known->text, span->bytes)))
        return learn_category(reading, known, ret_index, reterr);
    *ret_index = known->index;
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------------- tracks */

static enum ap_status id_text(struct ap_trace_reading *reading, const struct ap_json_span *span, struct ap_text *ret_text,
                              struct ap_error *reterr)
{
    if (span->kind == AP_SPAN_ABSENT || span->kind == AP_JSON_NULL) {
        *ret_text = (struct ap_text){ NULL, 0 };
        return AP_OK;
    }
    return any_text(reading, span, ret_text, reterr);
}

/* Shown as text, not as the JSON literal that it was: also what strict JSON does not know. */
static bool is_id_text(const struct ap_json_span *span)
{
    return span->kind != AP_JSON_NUMBER && span->kind != AP_JSON_TRUE && span->kind != AP_JSON_FALSE;
}

static NOT_INLINE enum ap_status find_new_track(struct ap_trace_reading *reading, uint32_t *ret_track,
                                                struct ap_error *reterr)
{
    const struct ap_json_span *pid_span = field(reading, AP_FIELD_PID), *tid_span = field(reading, AP_FIELD_TID);
    struct ap_text pid, tid;
    if (is_container(pid_span) || is_container(tid_span))
        note(reading, AP_COUNTER_id_not_scalar);
    AP_TRY(id_text(reading, pid_span, &pid, reterr));
    if (pid.data && pid.data != pid_span->text) { /* one decoding buffer serves both: keep the first in the pool */
        struct ap_str kept;
        AP_TRY(ap_strpool_intern(&reading->trace->track_ids, pid.data, pid.bytes, &kept, reterr));
        pid = ap_trace_id_text(reading->trace, kept);
    }
    AP_TRY(id_text(reading, tid_span, &tid, reterr));
    return ap_trace_track(reading->trace, pid, is_id_text(pid_span), tid, is_id_text(tid_span), ret_track, reterr);
}

/* Both ids are short numbers, or the second one a short text. What is absent is longer than all texts. */
static inline bool has_short_ids(const struct ap_json_span *pid, const struct ap_json_span *tid)
{
    return pid->kind == AP_JSON_NUMBER && tid->bytes - 1 < 16 && pid->bytes <= 8 &&
           (tid->kind == AP_JSON_NUMBER || (tid->kind == AP_JSON_STRING && !tid->decode));
}

static inline enum ap_status find_track(struct ap_trace_reading *reading, uint32_t *ret_track, struct ap_error *reterr)
{
    const struct ap_json_span *pid = field(reading, AP_FIELD_PID), *tid = field(reading, AP_FIELD_TID);
    if (AP_UNLIKELY(!has_short_ids(pid, tid)))
        return find_new_track(reading, ret_track, reterr);
    struct ap_known_track track = { .pid = ap_short_text(pid->text, pid->bytes), .bytes = pid->bytes << 16 | tid->bytes };
    if (AP_LIKELY(tid->bytes <= 8))
        track.tid = ap_short_text(tid->text, tid->bytes);
    else
        ap_ends_of(tid->text, tid->bytes, &track.tid, &track.tid_tail);
    unsigned place = (uint8_t)(tid->text[tid->bytes - 1] + tid->text[0]);
    struct ap_known_track *known = &reading->known_tracks[place % AP_COUNT_OF(reading->known_tracks)];
    if (AP_UNLIKELY(track.pid != known->pid || track.tid != known->tid || track.bytes != known->bytes ||
                    track.tid_tail != known->tid_tail)) {
        AP_TRY(find_new_track(reading, &track.track, reterr));
        *known = track;
    }
    *ret_track = known->track;
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------------- rows */

static NOT_INLINE bool read_unusual_time(struct ap_trace_reading *reading, const struct ap_json_span *span,
                                         enum ap_counter missing, enum ap_counter not_number, int64_t *ret_ns)
{
    if (span->kind != AP_JSON_NUMBER) {
        note(reading, span->kind == AP_SPAN_ABSENT ? missing : not_number);
        return false;
    }
    enum ap_decimal_result result = ap_decimal_us_to_ns(span->text, span->bytes, ret_ns);
    if (result != AP_DECIMAL_EXACT)
        note(reading, result == AP_DECIMAL_ROUNDED ? AP_COUNTER_time_rounded : AP_COUNTER_time_out_of_range);
    return result != AP_DECIMAL_OUT_OF_RANGE;
}

/* A time in the file's microseconds; false (and counted) where it is none. */
static ALWAYS_INLINE bool read_time(struct ap_trace_reading *reading, enum ap_event_field index, enum ap_counter missing,
                                    enum ap_counter not_number, int64_t *ret_ns)
{
    const struct ap_json_span *span = field(reading, index);
    int64_t ns = span->kind == AP_JSON_NUMBER ? ap_decimal_usual_time(span->text, span->bytes) : -1;
    if (AP_UNLIKELY(ns < 0))
        return read_unusual_time(reading, span, missing, not_number, ret_ns);
    *ret_ns = ns;
    return true;
}

static ALWAYS_INLINE enum ap_status read_name(struct ap_trace_reading *reading, struct ap_str *ret_name,
                                              struct ap_error *reterr)
{
    const struct ap_json_span *span = field(reading, AP_FIELD_NAME);
    struct ap_text text;
    if (AP_LIKELY(span->kind == AP_JSON_STRING && !span->decode)) {
        text = (struct ap_text){ span->text, span->bytes };
    } else if (span->kind == AP_JSON_STRING) {
        AP_TRY(ap_element_text(reading->elements, span, &text, reterr));
    } else if (span->kind == AP_SPAN_ABSENT) {
        note(reading, AP_COUNTER_name_missing);
        text = AP_TEXT("unknown");
    } else {
        note(reading, AP_COUNTER_name_not_text);
        AP_TRY(literal_text(reading, span, &text, reterr));
    }
    return ap_strpool_intern(&reading->trace->strings, text.data, text.bytes, ret_name, reterr);
}

/* The device of a GPU row: its argument, else its pid (equal in all traces seen). */
static int64_t device_of(struct ap_trace_reading *reading)
{
    const struct ap_json_span *span = field(reading, AP_FIELD_ARGS_DEVICE);
    int64_t device;
    if (span->kind == AP_SPAN_ABSENT)
        span = field(reading, AP_FIELD_PID);
    if (span->kind == AP_JSON_NUMBER || span->kind == AP_JSON_STRING) {
        device = ap_decimal_digits(span->text, span->bytes);
        if (AP_LIKELY(device >= 0) || (ap_decimal_to_integer(span->text, span->bytes, &device) && device >= 0))
            return device;
    }
    if (field(reading, AP_FIELD_ARGS_DEVICE)->kind != AP_SPAN_ABSENT)
        note(reading, AP_COUNTER_device_not_number);
    return 0;
}

/* The exporter of torch.autograd.profiler writes rows without a category and tells host from device by the pid. */
static enum ap_event_kind legacy_kind(struct ap_trace_reading *reading)
{
    const struct ap_json_span *pid = field(reading, AP_FIELD_PID);
    struct ap_text text = { pid->text, pid->bytes };
    if (pid->kind == AP_JSON_STRING && ap_text_is(text, "CPU functions")) {
        reading->trace->legacy_autograd = true;
        return AP_KIND_operator;
    }
    if (pid->kind == AP_JSON_STRING && ap_text_is(text, "CUDA functions")) {
        reading->trace->legacy_autograd = true;
        return AP_KIND_kernel;
    }
    note(reading, AP_COUNTER_category_missing);
    return AP_KIND_none;
}

static enum ap_event_kind row_kind(struct ap_trace_reading *reading, const struct ap_category *category)
{
    if (AP_UNLIKELY(category->kind == AP_KIND_none))
        return legacy_kind(reading);
    if (AP_UNLIKELY(category->kind == AP_KIND_unknown))
        note(reading, AP_COUNTER_category_unknown);
    return category->kind;
}

static ALWAYS_INLINE enum ap_status add_row(struct ap_trace_reading *reading, uint32_t category_index, int64_t start_ns,
                                            int64_t dur_ns, struct ap_str name, uint32_t track, uint8_t tag,
                                            struct ap_error *reterr)
{
    struct ap_trace *trace = reading->trace;
    struct ap_category *category = &trace->categories[category_index];
    bool overflowed = false;
    category->row_count++;
    category->total_dur_ns = ap_add_sat(category->total_dur_ns, dur_ns, &overflowed);
    if (AP_UNLIKELY(overflowed))
        note(reading, AP_COUNTER_time_overflow);
    if (AP_UNLIKELY(dur_ns < 0))
        note(reading, AP_COUNTER_dur_negative);
    if (AP_LIKELY(start_ns != AP_START_UNKNOWN)) {
        if (tag & AP_ROW_X)
            ap_trace_widen(&trace->has_window_all, &trace->window_all_start_ns, &trace->window_all_end_ns, start_ns,
                           start_ns + dur_ns);
        if (ap_row_kind(tag) != AP_KIND_span && dur_ns >= 0)
            ap_trace_widen(&trace->has_window, &trace->window_start_ns, &trace->window_end_ns, start_ns, start_ns + dur_ns);
    }
    trace->shape_row_count += field(reading, AP_FIELD_ARGS_SHAPES)->kind != AP_SPAN_ABSENT;
    enum ap_event_kind kind = ap_row_kind(tag);
    if (ap_event_kind_is_gpu_work(kind))
        AP_TRY(ap_trace_device_track(trace, device_of(reading), &track, reterr));
    AP_TRY(ap_trace_put_row(trace, start_ns, dur_ns, name, track, tag, reterr));
    return ap_trace_take_detail(reading, kind, reterr);
}

static uint8_t row_tag(const struct ap_category *category, enum ap_event_kind kind, bool is_x)
{
    unsigned tag = (unsigned)kind;
    if (is_x)
        tag |= AP_ROW_X | (category->has_cpu ? AP_ROW_CPU_CATEGORY : 0u);
    return (uint8_t)tag;
}

static enum ap_status take_complete(struct ap_trace_reading *reading, uint32_t category_index, struct ap_error *reterr)
{
    int64_t start_ns, dur_ns;
    if (!read_time(reading, AP_FIELD_DUR, AP_COUNTER_dur_missing, AP_COUNTER_dur_not_number, &dur_ns))
        return AP_OK;
    if (!read_time(reading, AP_FIELD_TS, AP_COUNTER_ts_missing, AP_COUNTER_ts_not_number, &start_ns))
        start_ns = AP_START_UNKNOWN;
    if (AP_UNLIKELY(start_ns != AP_START_UNKNOWN &&
                    (start_ns + dur_ns > AP_MAX_TIME_NS || start_ns + dur_ns < -AP_MAX_TIME_NS))) {
        note(reading, AP_COUNTER_time_out_of_range); /* so that no difference of two times overflows */
        start_ns = AP_START_UNKNOWN;
    }
    const struct ap_category *category = &reading->trace->categories[category_index];
    uint8_t tag = row_tag(category, row_kind(reading, category), true);
    struct ap_str name;
    uint32_t track;
    AP_TRY(read_name(reading, &name, reterr));
    if (AP_UNLIKELY(category->frames))
        AP_TRY(ap_trace_frame_name(reading, category->frames, &name, reterr));
    AP_TRY(find_track(reading, &track, reterr));
    return add_row(reading, category_index, start_ns, dur_ns, name, track, tag, reterr);
}

/* --------------------------------------------------------------------------------------------------- begin and end */

static NOT_INLINE enum ap_status take_begin(struct ap_trace_reading *reading, uint32_t category_index,
                                            struct ap_error *reterr)
{
    struct ap_open_begin begin = { .category = category_index, .offset_bytes = reading->offset_bytes };
    uint32_t track_index;
    if (!read_time(reading, AP_FIELD_TS, AP_COUNTER_ts_missing, AP_COUNTER_ts_not_number, &begin.start_ns))
        begin.start_ns = AP_START_UNKNOWN;
    const struct ap_category *category = &reading->trace->categories[category_index];
    begin.tag = row_tag(category, row_kind(reading, category), false);
    AP_TRY(read_name(reading, &begin.name, reterr));
    AP_TRY(ap_trace_frame_name(reading, category->frames, &begin.name, reterr));
    AP_TRY(find_track(reading, &track_index, reterr));
    struct ap_track *track = &reading->trace->tracks[track_index];
    begin.outer = track->open_begin;
    uint32_t slot = reading->open_free;
    if (slot) {
        reading->open_free = reading->open[slot - 1].outer;
    } else {
        if (reading->open_count == AP_OPEN_BEGINS_MAX)
            return ap_fail(reterr, AP_ERROR_LIMIT, "more than 536,870,911 B events that have not ended");
        AP_TRY(AP_RESERVE(reading->gate, reading->open, reading->open_capacity, reading->open_count + 1, reterr));
        slot = (uint32_t)++reading->open_count;
    }
    reading->open[slot - 1] = begin;
    track->open_begin = slot & AP_OPEN_BEGINS_MAX;
    return AP_OK;
}

/* An E event need not have a name; one that has closes the B event of that name. */
static bool names_another(const struct ap_trace_reading *reading, struct ap_str begun)
{
    const struct ap_json_span *name = field(reading, AP_FIELD_NAME);
    return name->kind == AP_JSON_STRING && name->bytes && !name->decode &&
           !ap_text_equal((struct ap_text){ name->text, name->bytes }, ap_strpool_text(&reading->trace->strings, begun));
}

static NOT_INLINE enum ap_status take_end(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    int64_t end_ns;
    uint32_t track_index;
    AP_TRY(find_track(reading, &track_index, reterr));
    struct ap_track *track = &reading->trace->tracks[track_index];
    if (!track->open_begin) {
        note(reading, AP_COUNTER_end_without_begin);
        return AP_OK;
    }
    uint32_t slot = track->open_begin;
    struct ap_open_begin begin = reading->open[slot - 1];
    if (!reading->trace->categories[begin.category].frames && names_another(reading, begin.name))
        note(reading, AP_COUNTER_crossing_pairs);
    track->open_begin = begin.outer & AP_OPEN_BEGINS_MAX;
    reading->open[slot - 1].outer = reading->open_free;
    reading->open_free = slot;
    if (!read_time(reading, AP_FIELD_TS, AP_COUNTER_ts_missing, AP_COUNTER_ts_not_number, &end_ns))
        return AP_OK;
    if (begin.start_ns == AP_START_UNKNOWN)
        return AP_OK;
    return add_row(reading, begin.category, begin.start_ns, end_ns - begin.start_ns, begin.name, track_index, begin.tag,
                   reterr);
}

void ap_trace_close_open(struct ap_trace_reading *reading)
{
    struct ap_trace *trace = reading->trace;
    for (size_t i = 0; i < trace->track_count; i++)
        for (uint32_t slot = trace->tracks[i].open_begin; slot; slot = reading->open[slot - 1].outer)
            ap_note(reading->notes, AP_COUNTER_begin_without_end, reading->open[slot - 1].offset_bytes);
}

/* -------------------------------------------------------------------------------------------------------- other ph */

static bool name_is(const struct ap_trace_reading *reading, const char *name)
{
    const struct ap_json_span *span = field(reading, AP_FIELD_NAME);
    return span->kind == AP_JSON_STRING && ap_text_is((struct ap_text){ span->text, span->bytes }, name);
}

/* Of the track: a fresh one says nothing. */
static struct ap_track_label label_of(const struct ap_trace *trace, uint32_t track)
{
    const struct ap_track_label *label = ap_track_label(trace, &trace->tracks[track]);
    return label ? *label : (struct ap_track_label){ .has_sort_index = false };
}

static enum ap_status take_thread_name(struct ap_trace_reading *reading, const struct ap_json_span *label,
                                       struct ap_error *reterr)
{
    uint32_t track;
    struct ap_text text;
    struct ap_str name;
    AP_TRY(find_track(reading, &track, reterr));
    AP_TRY(ap_element_text(reading->elements, label, &text, reterr));
    AP_TRY(ap_strpool_intern(&reading->trace->strings, text.data, text.bytes, &name, reterr));
    struct ap_track_label of = label_of(reading->trace, track);
    of.name = name; /* named twice in many files: the last one counts */
    return ap_trace_set_label(reading->trace, track, of, reterr);
}

/* Of all rows of a process one that names it or a thread of it is enough. */
static enum ap_status take_rank(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    const struct ap_json_span *told = field(reading, AP_FIELD_ARGS_RANK), *label = field(reading, AP_FIELD_ARGS_NAME);
    struct ap_text pid, text;
    int64_t rank = -1;
    if (told->kind == AP_JSON_NUMBER && !ap_decimal_to_integer(told->text, told->bytes, &rank))
        rank = -1;
    if (rank < 0 && name_is(reading, "process_name") && label->kind == AP_JSON_STRING) {
        AP_TRY(ap_element_text(reading->elements, label, &text, reterr));
        rank = ap_rank_in_name(text);
    }
    if (rank < 0 || field(reading, AP_FIELD_PID)->kind == AP_SPAN_ABSENT)
        return AP_OK;
    AP_TRY(literal_text(reading, field(reading, AP_FIELD_PID), &pid, reterr));
    return ap_trace_note_rank(reading->trace, pid, rank, reterr);
}

static enum ap_status take_process_name(struct ap_trace_reading *reading, const struct ap_json_span *label,
                                        struct ap_error *reterr)
{
    uint32_t track;
    struct ap_text text;
    struct ap_process_name process;
    AP_TRY(find_track(reading, &track, reterr));
    process.pid = reading->trace->tracks[track].pid;
    AP_TRY(ap_element_text(reading->elements, label, &text, reterr));
    AP_TRY(ap_strpool_intern(&reading->trace->strings, text.data, text.bytes, &process.name, reterr));
    AP_TRY_ADD(reading->gate, reading->process_names, reading->process_name_count, reading->process_name_capacity, reterr,
               process);
    return AP_OK;
}

/* Other writers name processes by what they ran, which no part shows: only devices and hosts of XLA are kept. */
static bool names_xla(const struct ap_json_span *label)
{
    return label->kind == AP_JSON_STRING && ap_xla_process_words((struct ap_text){ label->text, label->bytes }).bytes;
}

static NOT_INLINE enum ap_status take_metadata(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    const struct ap_json_span *label = field(reading, AP_FIELD_ARGS_NAME), *sort = field(reading, AP_FIELD_ARGS_SORT);
    int64_t place;
    uint32_t track;
    AP_TRY(take_rank(reading, reterr));
    if (name_is(reading, "thread_name") && label->kind == AP_JSON_STRING)
        return take_thread_name(reading, label, reterr);
    if (name_is(reading, "process_name") && names_xla(label))
        return take_process_name(reading, label, reterr);
    if (!name_is(reading, "thread_sort_index") || sort->kind != AP_JSON_NUMBER ||
        !ap_decimal_to_integer(sort->text, sort->bytes, &place))
        return AP_OK;
    AP_TRY(find_track(reading, &track, reterr));
    struct ap_track_label of = label_of(reading->trace, track);
    of.sort_index = place;
    of.has_sort_index = true;
    return ap_trace_set_label(reading->trace, track, of, reterr);
}

static NOT_INLINE enum ap_status take_instant(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    bool memory = name_is(reading, "[memory]"), out_of_memory = name_is(reading, "[OutOfMemory]");
    int64_t start_ns;
    uint32_t track;
    if (!memory && !out_of_memory)
        return AP_OK;
    reading->trace->memory_event_count += memory;
    reading->trace->out_of_memory_count += out_of_memory;
    if (!read_time(reading, AP_FIELD_TS, AP_COUNTER_ts_missing, AP_COUNTER_ts_not_number, &start_ns))
        return AP_OK;
    AP_TRY(find_track(reading, &track, reterr));
    return ap_trace_take_memory_event(reading, start_ns, track, out_of_memory, reterr);
}

static void recognize_other_document(struct ap_trace_reading *reading)
{
    reading->looks_like_snapshot |= field(reading, AP_FIELD_TOTAL_SIZE)->kind != AP_SPAN_ABSENT;
    reading->looks_like_tensorrt |= field(reading, AP_FIELD_AVERAGE_MS)->kind != AP_SPAN_ABSENT ||
                                    field(reading, AP_FIELD_COMPUTE_MS)->kind != AP_SPAN_ABSENT;
}

/* One of "XBEiIMCstfPbenNODSTpFRcv(),", and NUL, or below 128 none. */
static inline bool is_defined_phase(unsigned letter)
{
#define BIT(letter) (UINT64_C(1) << ((letter) % 64))
    static const uint64_t defined[2] = {
        BIT('\0') | BIT('(') | BIT(')') | BIT(','),
        BIT('B') | BIT('C') | BIT('D') | BIT('E') | BIT('F') | BIT('I') | BIT('M') | BIT('N') | BIT('O') | BIT('P') |
            BIT('R') | BIT('S') | BIT('T') | BIT('X') | BIT('b') | BIT('c') | BIT('e') | BIT('f') | BIT('i') | BIT('n') |
            BIT('p') | BIT('s') | BIT('t') | BIT('v'),
    };
#undef BIT
    return defined[letter / 64] >> (letter % 64) & 1;
}

enum ap_status ap_trace_take_event(struct ap_trace_reading *reading, struct ap_error *reterr)
{
    const struct ap_json_span *ph = field(reading, AP_FIELD_PH);
    uint32_t category;
    AP_TRY(find_category(reading, &category, reterr));
    reading->trace->categories[category].event_count++;
    if (AP_UNLIKELY(ph->bytes != 1 || (uint8_t)ph->text[0] >= 128 || ph->kind != AP_JSON_STRING)) {
        recognize_other_document(reading);
        note(reading, ph->kind == AP_JSON_STRING && ph->bytes ? AP_COUNTER_phase_unknown : AP_COUNTER_phase_missing);
        return AP_OK;
    }
    char letter = ph->text[0];
    reading->trace->ph_counts[(uint8_t)letter]++;
    switch (letter) {
    case 'X': return take_complete(reading, category, reterr);
    case 'B': return take_begin(reading, category, reterr);
    case 'E': return take_end(reading, reterr);
    case 'M': return take_metadata(reading, reterr);
    case 'i':
    case 'I': return take_instant(reading, reterr);
    default:
        if (!is_defined_phase((uint8_t)letter))
            note(reading, AP_COUNTER_phase_unknown);
        return AP_OK;
    }
}
