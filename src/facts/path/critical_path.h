/* SPDX-License-Identifier: MIT
 * critical_path.h - the chain of host time, GPU work and gaps that the window had to wait for: shortening anything that is
 * not on it does not shorten the window. Found by walking back from the end of the window: at each moment the path is on
 * one host thread or on one stream and goes on at what ended last and released it. No graph is kept.
 *
 *   host     ----op--sync]                     op--launch----
 *   stream           ^   [kernel]<-gap-[kernel]<--'
 */
#ifndef AP_CRITICAL_PATH_H
#define AP_CRITICAL_PATH_H

#include "kernel_family.h"
#include "path_index.h"
#include "path_pieces.h"

enum ap_path_class {
#define AP_PATH_CLASS(id, sentence) AP_PATH_##id,
#include "path_class.def"
#undef AP_PATH_CLASS
    AP_PATH_CLASS_COUNT_
};

/** The id in path_class.def, which is a key of the report. */
const char *ap_path_class_name(enum ap_path_class path_class);

/** Why the path goes from one thread or stream to another. */
enum ap_path_edge {
    AP_PATH_EDGE_launch,          /* a call launched what ran next */
    AP_PATH_EDGE_stream,          /* one after the other on a stream */
    AP_PATH_EDGE_event_wait,      /* the stream waited for an event of another one, as recorded */
    AP_PATH_EDGE_inferred_wait,   /* the same, told by times alone */
    AP_PATH_EDGE_synchronisation, /* a call blocked until GPU work ended */
    AP_PATH_EDGE_thread,          /* work went on on another host thread, told by times alone */
    AP_PATH_EDGE_COUNT_
};

struct ap_critical_path {
    struct ap_gate *gate;
    struct ap_path_pieces pieces;           /* without a hole from start_ns to end_ns */
    int64_t class_ns[AP_PATH_CLASS_COUNT_]; /* length of the pieces */
    int64_t start_ns, end_ns;               /* the window: of all rows but the profiler's own span */
    uint64_t edges[AP_PATH_EDGE_COUNT_];
    const char *approximate_because; /* NULL = waits were recorded */
};

/** The path through the whole trace; without pieces where nothing of the host or a GPU is placed in time. */
AP_MUST_CHECK enum ap_status ap_critical_path_find(struct ap_critical_path *path, const struct ap_trace *trace,
                                                   const struct ap_path_index *index,
                                                   const struct ap_kernel_families *families, struct ap_gate *gate,
                                                   struct ap_error *reterr);
void ap_critical_path_release(struct ap_critical_path *path);
/** Gives the pieces back; what is told of them together stays. */
void ap_critical_path_forget_pieces(struct ap_critical_path *path);

/** A stretch of the path under one name. */
struct ap_path_segment {
    int64_t start_ns, end_ns;
    uint32_t row; /* host: the innermost operator or annotation, else frame or call, that was open; GPU work; gap: what came
                       after it. AP_NO_ROW = nothing was recorded */
    uint32_t track; /* AP_NO_ROW = nothing was recorded */
    enum ap_path_class path_class;
};

typedef void ap_path_visit(void *self, const struct ap_path_segment *segment);

/** Hands out the segments in order of time; each begins where the one before ended. Host pieces are cut by the rows of
 *  their threads here, so that the path itself stays small. */
AP_MUST_CHECK enum ap_status ap_critical_path_visit(const struct ap_critical_path *path, const struct ap_path_index *index,
                                                    const struct ap_row_order *order, ap_path_visit *visit, void *self,
                                                    struct ap_error *reterr);

#endif
