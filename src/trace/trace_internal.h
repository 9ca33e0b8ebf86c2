/* SPDX-License-Identifier: MIT
 * trace_internal.h - inside the trace stage: how a trace is filled. */
#ifndef AP_TRACE_INTERNAL_H
#define AP_TRACE_INTERNAL_H

#include "json_element.h"
#include "notes.h"
#include "trace.h"

/** The members of an event that are read. */
enum ap_event_field {
#define AP_FIELD(id, parent, key, strings) AP_FIELD_##id,
#include "event_field.def"
    AP_FIELD_COUNT_
};

/** A B event that waits for its E. */
struct ap_open_begin {
    uint32_t outer; /* index + 1 of the B event around it on the same track */
    int64_t start_ns;
    struct ap_str name;
    uint8_t tag;
    uint32_t category;
    uint64_t offset_bytes;
};

/** What is needed while events are read, and dies with the reading. */
struct ap_trace_reading {
    struct ap_trace *trace;
    struct ap_gate *gate;
    struct ap_notes *notes;
    struct ap_json_reader *json;
    struct ap_element_reader *elements;
    struct ap_speedscope *speedscope; /* NULL = the file is of another form */
    struct ap_trace_ahead *ahead;     /* reads events of the next blocks; NULL = nobody */
    unsigned helpers;                 /* threads that read ahead */
    bool always_wait;
    struct ap_json_span spans[AP_FIELD_COUNT_ + 1];
    uint64_t offset_bytes;   /* of the event being read */
    struct ap_process_name { /* process_name, in order of the file */
        struct ap_str pid, name;
    } * process_names;
    size_t process_name_count, process_name_capacity;
    struct ap_open_begin *open;
    size_t open_count, open_capacity;
    uint32_t open_free; /* index + 1 of a slot to use again; 0 = there is none */
    unsigned arrays;    /* traceEvents members met */
    bool looks_like_snapshot, looks_like_tensorrt, looks_like_execution_trace;
    bool has_snapshot;          /* beside the events */
    uint64_t snapshot_at_bytes; /* where it begins */
    struct ap_known_category {  /* the few that most events are of */
        char text[24];
        uint32_t bytes, index; /* bytes 0 = none */
    } known_categories[16];
    struct ap_known_track {          /* the few threads that most events belong to */
        uint64_t pid, tid, tid_tail; /* as ap_short_text() and ap_ends_of() give them */
        uint32_t bytes;              /* of both, the second in the low half; 0 = none */
        uint32_t track;
    } known_tracks[16];
};

/** What a row without category says of itself: in external_id of its detail, until ap_trace_settle_kinds() has looked; above
 *  it, AP_MARK_BITS each, what a copy reads and writes, as ap_xla_memory() numbers it. */
enum ap_uncategorized_mark { AP_MARK_NONE, AP_MARK_HLO_OP, AP_MARK_STEP };
#define AP_MARK_BITS 4

extern const struct ap_json_field ap_event_fields[AP_FIELD_COUNT_];

/** Rows are ready for so many more. Without memory all rows are dropped; AP_ERROR_LIMIT beyond 4,294,967,294 of them. */
AP_MUST_CHECK enum ap_status ap_trace_ready_rows(struct ap_trace *trace, size_t more, struct ap_error *reterr);
/** As ap_trace_add_row(), which see, without a call. */
static inline enum ap_status ap_trace_put_row(struct ap_trace *trace, int64_t start_ns, int64_t dur_ns, struct ap_str name,
                                              uint32_t track, uint8_t tag, struct ap_error *reterr)
{
    struct ap_events *events = &trace->events;
    if (AP_UNLIKELY(events->count == events->ready))
        AP_TRY(ap_trace_ready_rows(trace, 1, reterr));
    size_t row = events->count++;
    events->start_ns[row] = start_ns;
    events->dur_ns[row] = dur_ns;
    events->name[row] = name.id;
    events->track[row] = track;
    if (events->detail)
        events->detail[row] = 0;
    events->tag[row] = tag;
    return AP_OK;
}

/** The column events.detail, where there is none yet. */
AP_MUST_CHECK enum ap_status ap_trace_need_details(struct ap_trace *trace, struct ap_error *reterr);
/** Adds to the table of operators; of no row yet. */
AP_MUST_CHECK enum ap_status ap_trace_put_op_told(struct ap_trace *trace, const struct ap_op_told *told,
                                                  struct ap_error *reterr);
/** What the operator of that number in the table was given. */
static inline struct ap_op_told ap_trace_op_told(const struct ap_trace *trace, size_t number)
{
    const struct ap_op_detail *op = &trace->op_details[number];
    return (struct ap_op_told){ op->external_id, op->sequence, op->signature, ap_op_arguments(trace, op),
                                ap_op_forward_thread(trace, op) };
}
/** Fails only where the number is one that no track has room for. */
AP_MUST_CHECK enum ap_status ap_trace_set_device(struct ap_trace *trace, uint32_t track, int64_t device,
                                                 struct ap_error *reterr);
/** In place of what was told of the track before. */
AP_MUST_CHECK enum ap_status ap_trace_set_label(struct ap_trace *trace, uint32_t track, struct ap_track_label label,
                                                struct ap_error *reterr);
/** No track is looked for any more. */
void ap_trace_freeze_tracks(struct ap_trace *trace);
void ap_trace_release_tracks(struct ap_trace *trace);
/** Frees what rows have beside their columns: shapes, correlations, collectives, memory. */
void ap_trace_release_details(struct ap_trace *trace);
/** For a second traceEvents member: what the first one gave is dropped. */
void ap_trace_forget_events(struct ap_trace *trace);
/** Take the event in reading->spans. */
AP_MUST_CHECK enum ap_status ap_trace_take_event(struct ap_trace_reading *reading, struct ap_error *reterr);
/** What the event in reading->spans says beside its place in time: for the row that was added last. */
AP_MUST_CHECK enum ap_status ap_trace_take_detail(struct ap_trace_reading *reading, enum ap_event_kind kind,
                                                  struct ap_error *reterr);
/** The [memory] or [OutOfMemory] instant in reading->spans. */
AP_MUST_CHECK enum ap_status ap_trace_take_memory_event(struct ap_trace_reading *reading, int64_t start_ns, uint32_t track,
                                                        bool out_of_memory, struct ap_error *reterr);
/** The window that holds this, too. */
static inline void ap_trace_widen(bool *has, int64_t *start_ns, int64_t *end_ns, int64_t from_ns, int64_t to_ns)
{
    if (!*has || from_ns < *start_ns)
        *start_ns = from_ns;
    if (!*has || to_ns > *end_ns)
        *end_ns = to_ns;
    *has = true;
}

/** Index of the category @text; index 0, "no category", for the empty text. */
AP_MUST_CHECK enum ap_status ap_trace_category(struct ap_trace *trace, struct ap_text text, uint32_t *ret_index,
                                               struct ap_error *reterr);
/** A key that is not its own number: the rest is an id of trace->odd_keys and, in the lowest bits, the last digit, which is
 *  not in that text: numbers that follow one another share a text. Of what is no plain number all is in the text. */
#define AP_ODD_KEY UINT32_C(0x80000000)
#define AP_ODD_DIGIT_BITS 4
#define AP_ODD_NO_DIGIT UINT32_C(10)

static inline uint32_t ap_odd_key_text(ap_link_key key)
{
    return (key & ~AP_ODD_KEY) >> AP_ODD_DIGIT_BITS;
}

static inline uint32_t ap_odd_key_digit(ap_link_key key)
{
    return key & ((1u << AP_ODD_DIGIT_BITS) - 1);
}

static inline ap_link_key ap_odd_key(uint32_t text, uint32_t digit)
{
    return AP_ODD_KEY | text << AP_ODD_DIGIT_BITS | digit;
}

/** To read the events of one array: ahead on helper threads where wanted and possible. */
AP_MUST_CHECK enum ap_status ap_trace_ahead_new(struct ap_trace_reading *reading, struct ap_error *reterr);
void ap_trace_ahead_free(struct ap_trace_reading *reading);
/** After AP_ELEMENT_AHEAD: add what was read ahead, or leave it to be read again. */
AP_MUST_CHECK enum ap_status ap_trace_ahead_take(struct ap_trace_reading *reading, struct ap_error *reterr);

/** B events without E: counted. */
void ap_trace_close_open(struct ap_trace_reading *reading);
/** The value of a member rocprofiler-sdk-tool: what rocprofv3 wrote in place of events. */
AP_MUST_CHECK enum ap_status ap_trace_read_rocprof(struct ap_trace_reading *reading, struct ap_error *reterr);
/** The document is one of speedscope. */
AP_MUST_CHECK enum ap_status ap_speedscope_begin(struct ap_trace_reading *reading, struct ap_error *reterr);
/** The members of such a document that hold profiles and frames. AP_END where @key is neither: the value is then unread. */
AP_MUST_CHECK enum ap_status ap_speedscope_take(struct ap_trace_reading *reading, struct ap_text key,
                                                struct ap_error *reterr);
/** Once all is read: rows get their names. */
void ap_speedscope_finish(struct ap_trace_reading *reading);
void ap_speedscope_free(struct ap_trace_reading *reading);
/** Of a category "fee" or "py-spy". */
enum ap_frame_writer ap_frame_writer_of(struct ap_text category);
/** The name of a frame as PyTorch's profiler words it, "train.py(12): main", in place of that of another writer. */
AP_MUST_CHECK enum ap_status ap_trace_frame_name(struct ap_trace_reading *reading, enum ap_frame_writer writer,
                                                 struct ap_str *name, struct ap_error *reterr);
/** Of the name of a process, as text or as JSON writes it: "/device:..." or "/host:..." in it, as XLA's profiler names them,
 *  to the end; "" where it is another's. */
struct ap_text ap_xla_process_words(struct ap_text name);
/** "pinned" and its like, in the words of XLA's profiler: a number from 1 on; 0 = not known. */
unsigned ap_xla_memory(struct ap_text word);
/** What a name of XLA's profiler is of. */
struct ap_xla_naming {
    enum ap_event_kind kind;
    ap_link_key marks;
    bool hip; /* the device is one of HIP */
};
/** Puts the words of PyTorch's profiler in place of a name; other names stay as they are. */
AP_MUST_CHECK enum ap_status ap_xla_name(struct ap_trace *trace, const struct ap_xla_naming *row, struct ap_str *name,
                                         struct ap_error *reterr);
/** Is it a call of CUDA or HIP by its name ("cuGraphLaunch")? */
bool ap_xla_is_call(struct ap_text name);
/** Kinds of rows without category, by the names of their processes and threads, where XLA's profiler wrote the trace. */
AP_MUST_CHECK enum ap_status ap_trace_settle_kinds(struct ap_trace_reading *reading, struct ap_error *reterr);
/** Cut what reaches beyond the stretch that the file says it is, and take the place in time from what lies outside. */
void ap_trace_clip(struct ap_trace *trace);
/** Take the place in time from rows that lie so far from all others that they cannot be of their run; counted. */
AP_MUST_CHECK enum ap_status ap_trace_leave_strays(struct ap_trace *trace, struct ap_notes *notes, struct ap_error *reterr);
/** Let the rows of optimizers' steps begin behind the closure that they call, where they call one; @notes counts them. */
AP_MUST_CHECK enum ap_status ap_trace_leave_closures(struct ap_trace *trace, struct ap_notes *notes,
                                                     struct ap_error *reterr);
/** The members of the document beside traceEvents. AP_END where @key is none of them: the value is then unread. */
AP_MUST_CHECK enum ap_status ap_trace_take_header(struct ap_trace_reading *reading, struct ap_text key,
                                                  struct ap_error *reterr);

#endif
