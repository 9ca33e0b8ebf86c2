/* SPDX-License-Identifier: MIT
 * trace.h - one rank's trace in memory: columns of duration rows, tracks, categories, what the file says of itself.
 * Knows no analysis. */
#ifndef AP_TRACE_H
#define AP_TRACE_H

#include "event_kind.h"
#include "json_reader.h"
#include "strpool.h"

/** start_ns of a row whose ts is missing or no number: counted in totals, not placed in time. */
#define AP_START_UNKNOWN INT64_MIN
/** Number of no row, and of no track. */
#define AP_NO_ROW UINT32_MAX

/* Row tags: the kind in the low bits, and these. */
#define AP_ROW_KIND_MASK 0x1fu
#define AP_ROW_CPU_CATEGORY 0x20u /* ph X and a category that contains "cpu": a CPU event of the original script */
#define AP_ROW_X 0x40u            /* ph X; without it the row is a B with its E */

/** Columns, one row per duration event, in file order; 25 bytes a row, 29 where some have details. */
struct ap_events {
    size_t count, capacity;
    size_t ready;      /* rows whose memory was taken: count at least, capacity at most */
    int64_t *start_ns; /* ts as written; the base time is added on output only */
    int64_t *dur_ns;   /* as written: negative ones are in plain sums but nest nowhere */
    uint32_t *name;    /* ap_str of trace->strings */
    uint32_t *track;   /* index into trace->tracks */
    uint32_t *detail;  /* as ap_row_detail() reads it; NULL = no row has one */
    uint8_t *tag;
};

/** A number that only links rows (correlation, External id, ...): equal numbers have equal keys; 0 = not told. */
typedef uint32_t ap_link_key;

/** Of operators and annotations that tell any of it. */
struct ap_op_detail {
    ap_link_key external_id; /* its own number */
    ap_link_key sequence;    /* Sequence number: links a forward operator to its backward */
    struct ap_str signature; /* of trace->signatures: Input Dims and Input type as written */
};

/** All that one tells: the rest is in columns of its own, which many traces lack. */
struct ap_op_told {
    ap_link_key external_id, sequence;
    struct ap_str signature;
    struct ap_str arguments; /* likewise: Input Strides and Concrete Inputs, of operators whose work these decide, and
                                counters */
    uint32_t forward_thread; /* Fwd thread id: not 0 in backward */
};

/** Of runtime and driver calls. */
struct ap_call_detail {
    ap_link_key correlation;
    ap_link_key external_id; /* of the operator that called, unless ap_external_id_is_correlation() */
};

/** Of rows of work that tell any of it: kernels, copies, memsets and rows of other accelerators. */
struct ap_work_detail {
    ap_link_key correlation;
    ap_link_key external_id;
    union {
        int64_t bytes; /* copies, memsets; -1 = not told */
        struct {
            float blocks_per_sm;   /* kernels; negative = not told */
            float occupancy_ratio; /* likewise; of 0 to 1 */
        } grid;
    } as;
};

/** Of waits on a GPU track. */
struct ap_sync_detail {
    ap_link_key correlation;
    ap_link_key record_correlation; /* of the event record that is waited for */
    int64_t stream, wait_on_stream; /* -1 = not told */
};

/** What a collective says of itself, on the host operator or on the kernel. Those that say the same are kept once. */
struct ap_collective {
    int64_t in_elements, out_elements, group_size; /* -1 = not told */
    int64_t peer;                                  /* of a send or receive; -1 = not told */
    struct ap_str name, dtype, group_name, group_description, group_ranks;
    uint32_t zero; /* where padding would be: they are compared as bytes */
};

/** A row that says it; in order of rows. */
struct ap_collective_call {
    uint32_t row;
    struct ap_str what; /* of trace->collective_kinds; see ap_trace_collective() */
};

/** The kernel that a call launches, where the call tells it (ROCm): also while a graph is captured and nothing runs. In
 *  order of rows. */
struct ap_launched_name {
    uint32_t row;
    struct ap_str kernel;
};

/** Of a [memory] or [OutOfMemory] instant that is placed in time; in file order. Sizes are within AP_MAX_MEMORY_BYTES. */
struct ap_memory_event {
    int64_t start_ns;
    int64_t bytes;                 /* negative = freed; of an out-of-memory instant: what was asked for, -1 = not told */
    int64_t total_allocated_bytes; /* of the device, after it; -1 = not told, as in 2021 */
    int64_t total_reserved_bytes;  /* likewise */
    uint64_t address;              /* 0 = not told */
    uint32_t track;
    int16_t device_id;  /* -1 = not told, or the CPU */
    int8_t device_type; /* c10::DeviceType; -1 = not told */
    bool out_of_memory;
};

/** Beyond it no size is taken as told: differences of two running sums must not overflow. */
#define AP_MAX_MEMORY_BYTES (INT64_C(1) << 60)

static inline enum ap_event_kind ap_row_kind(uint8_t tag)
{
    return (enum ap_event_kind)(tag & AP_ROW_KIND_MASK);
}

/** A (pid, tid) pair; both may be any JSON scalar. There may be as many as rows, so they are small. */
struct ap_track {
    struct ap_str pid, tid;                    /* as written, in trace->track_ids; absent = the member is missing */
    int32_t device;                            /* as ap_track_device() reads it */
    uint32_t open_begin : 29;                  /* B events not ended yet: index + 1 of the innermost, 0 = none */
    uint32_t is_other : 1;                     /* an earlier track has these ids, and rows of another device */
    uint32_t pid_is_text : 1, tid_is_text : 1; /* written in quotation marks where first met */
};
#define AP_OPEN_BEGINS_MAX ((UINT32_C(1) << 29) - 1)

/** What an M event says of a thread. */
struct ap_track_label {
    struct ap_str name; /* thread_name */
    bool has_sort_index;
    int64_t sort_index; /* thread_sort_index: where viewers draw the thread */
};

/** Who writes frames of Python in words of its own; a browser's rows are of its threads, none of a device. */
enum ap_frame_writer { AP_FRAMES_PLAIN, AP_FRAMES_VIZTRACER, AP_FRAMES_PY_SPY, AP_FRAMES_BROWSER };

struct ap_category {
    enum ap_event_kind kind;
    enum ap_frame_writer frames;
    bool has_cpu; /* contains "cpu" in any case */
    uint64_t event_count, row_count;
    int64_t total_dur_ns;
};

struct ap_device_properties {
    struct ap_str name;
    int64_t id, memory_bytes, sm_count, compute_major, compute_minor, warp_size; /* -1 = not told */
};

/** A process group of the rank, as distributedInfo lists it. */
struct ap_trace_group {
    struct ap_str name, description, ranks; /* ranks as written: "[0, 1]" or "\"[0, 1]\"" */
    int64_t size;                           /* -1 = not told */
};

/** A process of which its name, or a member of one of its rows, tells the rank: so write tools that merge traces. */
struct ap_process_rank {
    struct ap_str pid;
    int64_t rank;
};

enum ap_trace_form { AP_FORM_OBJECT, AP_FORM_ARRAY };

struct ap_trace {
    struct ap_gate *gate;
    struct ap_strpool strings;
    struct ap_events events;
    struct ap_track *tracks;
    size_t track_count, track_capacity;
    struct ap_track_label *track_labels;
    size_t track_label_count, track_label_capacity;
    struct ap_strpool track_ids; /* apart from names: of millions of threads no name's figures are kept */
    uint32_t *track_slots;       /* numbers of tracks + 1, by their ids; 0 = free. Until ap_trace_freeze() */
    size_t track_slot_count;
    int64_t *far_devices; /* those that no track has room for: track->device is -2 less the index here */
    size_t far_device_count, far_device_capacity;
    uint32_t *label_of_track; /* by track: number + 1 in track_labels; 0, or not that many, where it has none */
    size_t label_capacity;
    struct ap_category *categories; /* [i] belongs to id i+1 of category_names; [0] is "no category" */
    size_t category_count, category_capacity;
    struct ap_strpool category_names;
    struct ap_op_detail *op_details;
    size_t op_detail_count, op_detail_capacity;
    uint32_t *op_arguments; /* as ap_op_arguments() reads them; up to the last one that is told */
    size_t op_argument_count, op_argument_capacity;
    uint32_t *forward_threads; /* likewise ap_op_forward_thread() */
    size_t forward_thread_count, forward_thread_capacity;
    struct ap_call_detail *call_details;
    size_t call_detail_count, call_detail_capacity;
    struct ap_work_detail *work_details;
    size_t work_detail_count, work_detail_capacity;
    struct ap_sync_detail *sync_details;
    size_t sync_detail_count, sync_detail_capacity;
    struct ap_collective_call *collectives;
    size_t collective_count, collective_capacity;
    int64_t *collective_sequences; /* see ap_trace_collective_sequence(); up to the last one that is told */
    size_t collective_sequence_count, collective_sequence_capacity;
    struct ap_launched_name *launched_names;
    size_t launched_name_count, launched_name_capacity;
    struct ap_memory_event *memory_instants;
    size_t memory_instant_count, memory_instant_capacity;
    struct ap_strpool odd_keys; /* numbers that are no small integers, as written */
    struct ap_strpool signatures;
    struct ap_strpool collective_kinds; /* each a struct ap_collective */
    uint8_t *wants_arguments;           /* while it is read, by name id: see take_arguments() */
    size_t wants_arguments_capacity;
    char *signature; /* scratch of ap_trace_join_signature */
    size_t signature_capacity;
    struct ap_device_properties *devices;
    size_t device_count, device_capacity;

    enum ap_trace_form form;
    const char *writer; /* told by what only this one writes: "Nsight Systems", "XLA"; NULL = PyTorch, or not known */
    bool complete, legacy_autograd, by_py_spy, has_schema_version;
    bool tracks_split; /* one pid and tid has rows of several devices */
    uint64_t event_count, object_count;
    uint64_t ph_counts[128]; /* by the one letter of ph */
    uint64_t memory_event_count, out_of_memory_count, shape_row_count;
    uint64_t calls_with_external_id, calls_named_by_correlation; /* the latter: External id equals the correlation */
    bool has_window_all, has_window; /* of all X rows; the same without the profiler's own span */
    int64_t window_all_start_ns, window_all_end_ns, window_start_ns, window_end_ns;

    bool is_slice; /* of a longer recording, from which only what meets this stretch was copied */
    int64_t slice_start_ns, slice_end_ns;
    struct ap_str base_time_ns; /* digits as written; absent = not told */
    int64_t rank, world_size;   /* -1 = the file does not say */
    struct ap_str backend, host_name;
    struct ap_trace_group *groups;
    size_t group_count, group_capacity;
    struct ap_process_rank *process_ranks;
    size_t process_rank_count, process_rank_capacity;
    bool record_shapes, with_stack, with_modules, with_flops, profile_memory; /* as the header says */
};

/** Text of an id of trace->strings. */
static inline struct ap_text ap_trace_text(const struct ap_trace *trace, uint32_t id)
{
    return ap_strpool_text(&trace->strings, (struct ap_str){ id });
}

/** Text of a process or thread id. */
static inline struct ap_text ap_trace_id_text(const struct ap_trace *trace, struct ap_str id)
{
    return ap_strpool_text(&trace->track_ids, id);
}

/** Of GPU rows: args.device, else pid; -1 = the track has none. */
static inline int64_t ap_track_device(const struct ap_trace *trace, const struct ap_track *track)
{
    return AP_LIKELY(track->device >= -1) ? track->device : trace->far_devices[-2 - (int64_t)track->device];
}

/** Number + 1 in trace->track_labels; 0 = it has none. */
static inline uint32_t ap_track_label_number(const struct ap_trace *trace, size_t track)
{
    return track < trace->label_capacity ? trace->label_of_track[track] : 0;
}

/** What is told of one of trace->tracks; NULL = nothing. */
static inline const struct ap_track_label *ap_track_label(const struct ap_trace *trace, const struct ap_track *track)
{
    uint32_t label = ap_track_label_number(trace, (size_t)(track - trace->tracks));
    return label ? &trace->track_labels[label - 1] : NULL;
}

/** The name of a thread in trace->strings. */
static inline struct ap_str ap_track_name(const struct ap_trace *trace, const struct ap_track *track)
{
    const struct ap_track_label *label = ap_track_label(trace, track);
    return label ? label->name : (struct ap_str){ 0 };
}

/** Entries of an array by id: ids are below it. */
static inline size_t ap_trace_id_count(const struct ap_trace *trace)
{
    return (size_t)ap_strpool_count(&trace->strings) + 1;
}

/** Below, equal to or above 0: their order as texts. */
static inline int ap_trace_compare_texts(const struct ap_trace *trace, uint32_t a, uint32_t b)
{
    return ap_text_compare(ap_trace_text(trace, a), ap_trace_text(trace, b));
}

/* Sets of kinds: bit 1 << kind. */
#define AP_HOST_KINDS \
    (1u << AP_KIND_operator | 1u << AP_KIND_annotation | 1u << AP_KIND_runtime | 1u << AP_KIND_python | 1u << AP_KIND_engine)
#define AP_GPU_KINDS (1u << AP_KIND_kernel | 1u << AP_KIND_memcpy | 1u << AP_KIND_memset)

static inline bool ap_row_is_of(const struct ap_trace *trace, uint32_t row, uint32_t kinds)
{
    return kinds >> ap_row_kind(trace->events.tag[row]) & 1;
}

/** Has the trace a category of that kind with rows? */
static inline bool ap_trace_has_kind(const struct ap_trace *trace, enum ap_event_kind kind)
{
    for (size_t i = 0; i < trace->category_count; i++)
        if (trace->categories[i].kind == kind && trace->categories[i].row_count)
            return true;
    return false;
}

/** Of a row that is placed in time. */
static inline int64_t ap_row_end_ns(const struct ap_trace *trace, uint32_t row)
{
    return trace->events.start_ns[row] + trace->events.dur_ns[row];
}

static inline int64_t ap_row_device(const struct ap_trace *trace, uint32_t row)
{
    return ap_track_device(trace, &trace->tracks[trace->events.track[row]]);
}

/** 0 for AP_NO_ROW. */
static inline uint32_t ap_row_name_id(const struct ap_trace *trace, uint32_t row)
{
    return row == AP_NO_ROW ? 0 : trace->events.name[row];
}

static inline struct ap_text ap_row_name(const struct ap_trace *trace, uint32_t row)
{
    return ap_trace_text(trace, trace->events.name[row]);
}

/** Id of @text in trace->strings; 0 = it is not there. Looks at all of them. */
uint32_t ap_trace_find_text(const struct ap_trace *trace, const char *text);

/** In traces of 2021-06 to 2024-01 runtime and device rows repeat their own correlation as External id, which then names
 *  no operator. */
static inline bool ap_external_id_is_correlation(const struct ap_trace *trace)
{
    return trace->calls_named_by_correlation * 2 > trace->calls_with_external_id;
}

/** Number + 1 of the row's entry in the table of its kind; 0 = it has none. */
static inline uint32_t ap_row_detail(const struct ap_trace *trace, uint32_t row)
{
    return trace->events.detail ? trace->events.detail[row] : 0;
}

/* The detail of a row, or NULL where it has none. Only of rows of these kinds. */
static inline const struct ap_op_detail *ap_row_op(const struct ap_trace *trace, uint32_t row)
{
    uint32_t detail = ap_row_detail(trace, row);
    return detail ? &trace->op_details[detail - 1] : NULL;
}

/** What else an operator tells; absent, or 0, where it does not. @op: one of trace->op_details. */
static inline struct ap_str ap_op_arguments(const struct ap_trace *trace, const struct ap_op_detail *op)
{
    size_t number = (size_t)(op - trace->op_details);
    return number < trace->op_argument_count ? (struct ap_str){ trace->op_arguments[number] } : (struct ap_str){ 0 };
}

static inline uint32_t ap_op_forward_thread(const struct ap_trace *trace, const struct ap_op_detail *op)
{
    size_t number = (size_t)(op - trace->op_details);
    return number < trace->forward_thread_count ? trace->forward_threads[number] : 0;
}

static inline const struct ap_call_detail *ap_row_call(const struct ap_trace *trace, uint32_t row)
{
    uint32_t detail = ap_row_detail(trace, row);
    return detail ? &trace->call_details[detail - 1] : NULL;
}

static inline const struct ap_work_detail *ap_row_work(const struct ap_trace *trace, uint32_t row)
{
    uint32_t detail = ap_row_detail(trace, row);
    return detail ? &trace->work_details[detail - 1] : NULL;
}

static inline const struct ap_sync_detail *ap_row_sync(const struct ap_trace *trace, uint32_t row)
{
    uint32_t detail = ap_row_detail(trace, row);
    return detail ? &trace->sync_details[detail - 1] : NULL;
}

/** A figure of a kernel without the digits that storing it in 32 bits invents; -1 where it is not told. */
double ap_plain_figure(float figure);

/** Of a copy or memset; -1 where it is not told. */
static inline int64_t ap_row_bytes(const struct ap_trace *trace, uint32_t row)
{
    const struct ap_work_detail *work = ap_row_work(trace, row);
    return work ? work->as.bytes : -1;
}

/** What the call says: @number is that of one of trace->collectives. */
const struct ap_collective *ap_trace_collective(const struct ap_trace *trace, size_t number);

/** The number of the call in its group; -1 = not told. */
static inline int64_t ap_trace_collective_sequence(const struct ap_trace *trace, size_t number)
{
    return number < trace->collective_sequence_count ? trace->collective_sequences[number] : -1;
}

/** What @what of trace->collective_kinds says; NULL where it is absent. */
const struct ap_collective *ap_trace_collective_of(const struct ap_trace *trace, struct ap_str what);

/** Number in trace->collectives of a collective's host operator or kernel; AP_NO_ROW for all other rows. */
uint32_t ap_row_collective_number(const struct ap_trace *trace, uint32_t row);
/** What it says; NULL for all other rows. */
const struct ap_collective *ap_row_collective(const struct ap_trace *trace, uint32_t row);

/** What a call says that it launches; absent where it does not. */
struct ap_str ap_row_launched_name(const struct ap_trace *trace, uint32_t row);

/** The two parts of an operator's signature, as the file writes them ("[[4,8],[8,2]]", "[\"float\",\"float\"]"), or of its
 *  arguments ("[[8,1],[2,1]]", "[\"\",\"False\"]"); either may be empty. */
void ap_trace_signature(const struct ap_trace *trace, struct ap_str signature, struct ap_text *ret_dims,
                        struct ap_text *ret_types);

struct ap_trace_options {
    bool salvage;     /* use what precedes broken JSON */
    unsigned threads; /* that read, at most 16, where the source lets blocks be seen ahead; 0 is as 1 */
    bool always_wait; /* for tests, see json_ahead.h */
};

/** Read a whole trace: Kineto's object form or a bare array of events. A cut input gives a trace with complete = false
 *  once one whole event was read. The trace owns its memory; free it with ap_trace_free. */
AP_MUST_CHECK enum ap_status ap_trace_read(struct ap_json_reader *json, struct ap_gate *gate, struct ap_notes *notes,
                                           const struct ap_trace_options *options, struct ap_trace **ret_trace,
                                           struct ap_error *reterr);
void ap_trace_free(struct ap_trace *trace);
/** Nothing is added any more: gives back what only served to find texts and tracks. */
void ap_trace_freeze(struct ap_trace *trace);

/* For builders in tests as well. */
AP_MUST_CHECK enum ap_status ap_trace_new(struct ap_gate *gate, struct ap_trace **ret_trace, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_trace_add_row(struct ap_trace *trace, int64_t start_ns, int64_t dur_ns, struct ap_str name,
                                              uint32_t track, uint8_t tag, struct ap_error *reterr);
/* Give the last row its detail: the one of its kind. */
AP_MUST_CHECK enum ap_status ap_trace_add_op_detail(struct ap_trace *trace, struct ap_op_told told, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_trace_add_call_detail(struct ap_trace *trace, struct ap_call_detail detail,
                                                      struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_trace_add_work_detail(struct ap_trace *trace, struct ap_work_detail detail,
                                                      struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_trace_add_sync_detail(struct ap_trace *trace, struct ap_sync_detail detail,
                                                      struct ap_error *reterr);
/** @collective is about the last row. */
AP_MUST_CHECK enum ap_status ap_trace_add_collective(struct ap_trace *trace, uint32_t row, struct ap_collective collective,
                                                     int64_t sequence, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_trace_add_memory_event(struct ap_trace *trace, struct ap_memory_event event,
                                                       struct ap_error *reterr);
/** The key of the number @digits as it is written. */
AP_MUST_CHECK enum ap_status ap_trace_link_key(struct ap_trace *trace, struct ap_text digits, ap_link_key *ret_key,
                                               struct ap_error *reterr);
/** Joins the two parts of a signature. */
AP_MUST_CHECK enum ap_status ap_trace_join_signature(struct ap_trace *trace, struct ap_text dims, struct ap_text types,
                                                     struct ap_str *ret_signature, struct ap_error *reterr);
/** The track of these ids, made where it is new. */
AP_MUST_CHECK enum ap_status ap_trace_track(struct ap_trace *trace, struct ap_text pid, bool pid_is_text, struct ap_text tid,
                                            bool tid_is_text, uint32_t *ret_track, struct ap_error *reterr);
/** Notes the device of a GPU row; where the track has rows of another one, @track becomes a track of its own. */
AP_MUST_CHECK enum ap_status ap_trace_device_track(struct ap_trace *trace, int64_t device, uint32_t *track,
                                                   struct ap_error *reterr);

#endif
