/* SPDX-License-Identifier: MIT
 * nsys_internal.h - an export while it is read: what its rows refer to, and the text that becomes of them.
 *
 * Tables and columns are those of the documentation of Nsight Systems ("SQLite Schema Reference"): times are nanoseconds of
 * one clock, names are ids of StringIds, a thread is one number (machine, process, thread), and the work of a device has the
 * correlationId of the call that launched it, which is unique within a process. Columns come and go with versions; what one
 * lacks is not told. TARGET_INFO_SYSTEM_ENV, META_DATA_... and the names of processes, which hold the environment of the
 * run, are never read. */
#ifndef AP_NSYS_INTERNAL_H
#define AP_NSYS_INTERNAL_H

#include "guarded_database.h"
#include "out.h"
#include "strpool.h"

#define AP_NSYS_GPUS_MAX 256

/** StringIds, in order of their numbers. */
struct ap_nsys_names {
    struct ap_strpool texts;
    struct ap_nsys_named {
        int64_t id;
        struct ap_str text;
    } * named;
    size_t count, capacity;
};

struct ap_nsys_gpu {
    int64_t id, sm_count; /* sm_count -1 = not told */
};

/** CUDA's number of a device is its own in each process. */
struct ap_nsys_cuda_id {
    int64_t pid, cuda_id, gpu_id; /* pid -1 = of all */
};

/** A domain of NVTX ranges. */
struct ap_nsys_domain {
    int64_t id, process;
    bool of_library;
};

/** A recorded CUDA event: who waits for it waits for what its stream had then. */
struct ap_nsys_event_record {
    int64_t process, event, correlation, stream;
};

struct ap_nsys {
    struct ap_gate *gate;
    struct ap_guarded_database database;
    struct ap_nsys_names names;
    struct ap_strpool processes; /* the 8 bytes of each globalPid, in order of appearance */
    struct ap_nsys_gpu gpus[AP_NSYS_GPUS_MAX];
    size_t gpu_count;
    struct ap_nsys_cuda_id cuda_ids[AP_NSYS_GPUS_MAX];
    size_t cuda_id_count;
    struct ap_nsys_domain domains[AP_NSYS_GPUS_MAX];
    size_t domain_count;
    struct ap_nsys_event_record *records;
    size_t record_count, record_capacity;

    struct ap_out out; /* into pending */
    char *pending;
    size_t pending_bytes, pending_at, pending_capacity;

    struct ap_guarded_rows rows; /* of the table that is at work */
    size_t table;                /* its place in the list of tables */
    bool header_written, table_open, has_event, has_argument, ended;
    uint64_t damaged_tables;
    char damaged_table[64]; /* the first one */
};

/** Row of a table to an event. */
typedef enum ap_status ap_nsys_emit(struct ap_nsys *nsys, struct ap_error *reterr);

struct ap_nsys_table {
    const char *name;
    const char *columns[AP_GUARDED_COLUMNS_MAX];
    ap_nsys_emit *emit;
};

/** The tables of which events are made, in the order in which they are read; ends with one without name. */
extern const struct ap_nsys_table ap_nsys_tables[];
/** Is one of them, or the one for names, there? */
bool ap_nsys_is_export(struct ap_nsys *nsys);

/* ---- what rows refer to ---- */

/** Read StringIds. */
AP_MUST_CHECK enum ap_status ap_nsys_names_read(struct ap_nsys *nsys, struct ap_error *reterr);
void ap_nsys_names_release(struct ap_nsys *nsys);
/** False where there is no such id. */
bool ap_nsys_name(const struct ap_nsys *nsys, int64_t id, struct ap_text *ret_text);

/** Read the domains of ranges and the records of events. */
AP_MUST_CHECK enum ap_status ap_nsys_target_read(struct ap_nsys *nsys, struct ap_error *reterr);
/** What stands before the events, with the devices. */
AP_MUST_CHECK enum ap_status ap_nsys_header_write(struct ap_nsys *nsys, struct ap_error *reterr);
/** The device of a row of @process, as CUDA numbers it there, as the machine does. */
int64_t ap_nsys_gpu_of(const struct ap_nsys *nsys, int64_t process, int64_t cuda_id);
/** Multiprocessors; -1 = not told. */
int64_t ap_nsys_sm_count(const struct ap_nsys *nsys, int64_t gpu_id);
/** Does a library make the ranges of this domain? */
bool ap_nsys_is_of_library(const struct ap_nsys *nsys, int64_t process, int64_t domain);
/** The last record of @event before the call @correlation; NULL = none. */
const struct ap_nsys_event_record *ap_nsys_record_before(const struct ap_nsys *nsys, int64_t process, int64_t event,
                                                         int64_t correlation);
/** Counts a table that ended with AP_ERROR_CUT. */
void ap_nsys_count_damage(struct ap_nsys *nsys, const char *table);

/* globalTid and globalPid: 8 bits each of hardware and machine, 24 bits process, 24 bits thread. */
static inline int64_t ap_nsys_pid(int64_t global)
{
    return global >> 24 & 0xffffff;
}

static inline int64_t ap_nsys_tid(int64_t global)
{
    return global & 0xffffff;
}

static inline int64_t ap_nsys_process(int64_t global)
{
    return (int64_t)((uint64_t)global & ~UINT64_C(0xffffff));
}

/* ---- names of ranges ---- */

enum ap_nsys_range_kind { AP_NSYS_ANNOTATION, AP_NSYS_OPERATOR, AP_NSYS_MODULE };

/** What the text of an NVTX range says. */
struct ap_nsys_range {
    enum ap_nsys_range_kind kind;
    struct ap_text name;
    struct ap_text sequence; /* digits; empty = not told */
    struct ap_text shapes;   /* a JSON list of lists of whole numbers; likewise */
    bool backward;
};

/** Borrows from @text. */
void ap_nsys_range_read(struct ap_text text, struct ap_nsys_range *ret_range);

#endif
