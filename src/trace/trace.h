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

/* Row tags: the kind in the low bits, and these. */
#define AP_ROW_KIND_MASK 0x1fu
#define AP_ROW_CPU_CATEGORY 0x20u /* ph X and a category that contains "cpu": a CPU event of the original script */
#define AP_ROW_X 0x40u            /* ph X; without it the row is a B with its E */

/** Columns, one row per duration event, in file order; 25 bytes a row. */
struct ap_events {
    size_t count, capacity;
    int64_t *start_ns;   /* ts as written; the base time is added on output only */
    int64_t *dur_ns;     /* as written: negative ones are in plain sums but nest nowhere */
    uint32_t *name;      /* ap_str of trace->strings */
    uint32_t *track;     /* index into trace->tracks */
    uint8_t *tag;
};

static inline enum ap_event_kind ap_row_kind(uint8_t tag)
{
    return (enum ap_event_kind)(tag & AP_ROW_KIND_MASK);
}

/** A (pid, tid) pair; both may be any JSON scalar. */
struct ap_track {
    struct ap_str pid, tid;          /* as written, in trace->strings; absent = the member is missing */
    struct ap_str label;             /* thread_name */
    bool has_sort_index;
    int64_t sort_index;              /* thread_sort_index: where viewers draw the thread */
    bool pid_is_text, tid_is_text;   /* written in quotation marks where first met */
    int64_t device;                  /* GPU rows: args.device, else pid; -1 = no GPU row yet */
    size_t open_begin;               /* B events not ended yet: index + 1 of the innermost, 0 = none */
};

struct ap_category {
    enum ap_event_kind kind;
    bool has_cpu;                    /* contains "cpu" in any case */
    uint64_t event_count, row_count;
    int64_t total_dur_ns;
};

struct ap_device_properties {
    struct ap_str name;
    int64_t id, memory_bytes, sm_count, compute_major, compute_minor; /* -1 = not told */
};

enum ap_trace_form { AP_FORM_OBJECT, AP_FORM_ARRAY };

struct ap_trace {
    struct ap_gate *gate;
    struct ap_strpool strings;
    struct ap_events events;
    struct ap_track *tracks;
    size_t track_count, track_capacity;
    struct ap_strpool track_names;   /* id - 1 = index into tracks */
    char *ids;                       /* scratch of ap_trace_track */
    size_t ids_capacity;
    struct ap_category *categories;  /* [i] belongs to id i+1 of category_names; [0] is "no category" */
    size_t category_count, category_capacity;
    struct ap_strpool category_names;
    int64_t *copy_bytes;             /* one for each memcpy row, in row order; -1 = not told */
    size_t copy_count, copy_capacity;
    struct ap_device_properties *devices;
    size_t device_count, device_capacity;

    enum ap_trace_form form;
    bool complete, legacy_autograd, has_schema_version;
    uint64_t event_count, object_count;
    uint64_t phase_counts[128];      /* by the one letter of ph */
    uint64_t memory_event_count, out_of_memory_count, shape_row_count;
    bool has_window_all, has_window; /* of all X rows; the same without the profiler's own span */
    int64_t window_all_start_ns, window_all_end_ns, window_start_ns, window_end_ns;

    struct ap_str base_time_ns;      /* digits as written; absent = not told */
    int64_t rank, world_size;        /* -1 = the file does not say */
    struct ap_str backend;
    bool record_shapes, with_stack, with_modules, with_flops, profile_memory; /* as the header says */
};

struct ap_trace_options {
    bool salvage; /* use what precedes broken JSON */
};

/** Read a whole trace: Kineto's object form or a bare array of events. A cut input gives a trace with complete = false
 *  once one whole event was read. The trace owns its memory; free it with ap_trace_free. */
AP_MUST_CHECK enum ap_status ap_trace_read(struct ap_json_reader *json, struct ap_gate *gate, struct ap_notes *notes,
                                           const struct ap_trace_options *options, struct ap_trace **ret_trace,
                                           struct ap_error *reterr);
void ap_trace_free(struct ap_trace *trace);

/* For builders in tests as well. */
AP_MUST_CHECK enum ap_status ap_trace_new(struct ap_gate *gate, struct ap_trace **ret_trace, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_trace_add_row(struct ap_trace *trace, int64_t start_ns, int64_t dur_ns, struct ap_str name,
                                              uint32_t track, uint8_t tag, struct ap_error *reterr);
/** The track of these ids, made where it is new. */
AP_MUST_CHECK enum ap_status ap_trace_track(struct ap_trace *trace, struct ap_text pid, bool pid_is_text,
                                            struct ap_text tid, bool tid_is_text, uint32_t *ret_track,
                                            struct ap_error *reterr);

#endif
