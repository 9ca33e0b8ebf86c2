/* SPDX-License-Identifier: MIT
 * onnx_profile.h - profiles of sessions of ONNX Runtime: their events in a list, and what they come to. See
 * references/guide/other-profilers.md. */
#ifndef AP_ONNX_PROFILE_H
#define AP_ONNX_PROFILE_H

#include "json_element.h"
#include "other_reader.h"
#include "pair_map.h"
#include "strpool.h"
#include "time_spread.h"

enum ap_onnx_kind {
    AP_ONNX_OTHER,
    AP_ONNX_LOAD,   /* of the model */
    AP_ONNX_INIT,   /* of the session: graph optimization, memory for weights */
    AP_ONNX_RUN,    /* one call of run() */
    AP_ONNX_NODE,   /* one execution of a node, on the host */
    AP_ONNX_FENCE,  /* around it, of versions that had fences */
    AP_ONNX_KERNEL, /* on a device */
};

struct ap_onnx_event {
    int64_t start_ns, dur_ns, self_ns;            /* self: less nodes inside it, as in a loop */
    struct ap_str name, op, provider, shape, tid; /* shape: beginning of its text */
    uint32_t session;
    uint8_t kind, signs;
};

/** What a call of a node shows; bits of signs. */
enum ap_onnx_sign {
    AP_ONNX_HELPED,  /* a thread of the pool did a part of it */
    AP_ONNX_SHARED,  /* two of the threads that did were on one core */
    AP_ONNX_HOLDS,   /* other nodes run inside, as in a loop */
    AP_ONNX_UNFUSED, /* it stands where graph optimization leaves one node of several */
    AP_ONNX_LEFT,    /* likewise, of those that no optimized graph has */
    AP_ONNX_CAST_IN, /* a cast that ONNX Runtime put in, as there is no kernel for the type */
    AP_ONNX_SIGN_COUNT_
};

struct ap_onnx_sum {
    uint64_t nodes, calls;
    int64_t total_ns;
};

/** Rows of one name. */
struct ap_onnx_group {
    struct ap_str name, op, provider, shape;
    uint32_t graph;
    uint64_t calls, nodes;
    int64_t total_ns, first_ns, max_ns;
    bool changes; /* its shapes do */
    uint8_t signs;
};

struct ap_onnx_groups {
    struct ap_pair_map map;
    struct ap_onnx_group *list;
    size_t capacity;
};

/** One call of run(). */
struct ap_onnx_run {
    int64_t start_ns, dur_ns, outside_ns; /* outside: no node ran, and no kernel; -1 = not known */
    uint32_t session;
    bool is_first; /* of its session */
};

/** A file. Each has a clock of its own, which begins with it: they are laid one behind the other. */
struct ap_onnx_session {
    struct ap_str path;
    int64_t base_ns, load_ns, init_ns, node_ns, first_ns, run_ns;
    uint64_t events, nodes, runs;
    uint32_t graph;    /* sessions that run the same nodes have one */
    bool is_optimized; /* a node is there that only graph optimization makes */
};

#define AP_ONNX_CORE_WORDS 16 /* 1,024 cores; others are not told apart */

/** Of intra-op pools, summed over nodes, as the main thread of each told it. */
struct ap_onnx_pool {
    uint32_t threads; /* with the main thread, of the largest */
    int64_t run_ns, wait_ns, other_ns;
    uint64_t nodes, alone_nodes;        /* alone: on the processor, in a session without a pool */
    uint64_t cores[AP_ONNX_CORE_WORDS]; /* bits of those on which its threads ran */
};

struct ap_onnx {
    struct ap_gate *gate;
    struct ap_strpool strings;
    struct ap_onnx_event *events;
    size_t count, capacity;
    struct ap_onnx_pool pool;
    struct ap_onnx_session *sessions;
    size_t session_count, session_capacity;
    int64_t read_end_ns; /* of the last event so far */
    bool overflowed;

    /* ap_onnx_find: */
    uint32_t *order; /* nodes and kernels by session, thread and start */
    size_t node_count;
    struct ap_pair_map graphs, graph_providers;
    struct ap_onnx_groups by_node, by_operator, by_provider, kernels;
    struct ap_onnx_sum signs[AP_ONNX_SIGN_COUNT_];
    struct ap_onnx_run *runs;
    size_t run_count;
    bool is_untimed; /* nodes of a provider that launches work and goes on, and no kernel was recorded */
    int64_t load_ns, init_ns, fence_ns, node_ns, kernel_ns, start_ns, end_ns;
};

/** Append a session, and the events of its file; with @salvage those before a place that is broken. */
AP_MUST_CHECK enum ap_status ap_onnx_read(struct ap_onnx *onnx, struct ap_json_reader *json, bool salvage,
                                          struct ap_notes *notes, struct ap_error *reterr);
/** Which sessions run the same nodes, and which were optimized. */
AP_MUST_CHECK enum ap_status ap_onnx_find_graphs(struct ap_onnx *onnx, struct ap_error *reterr);
/** Append a row for each session to @list. */
AP_MUST_CHECK enum ap_status ap_onnx_add_sessions(const struct ap_onnx *onnx, struct ap_model *model, struct ap_value *list,
                                                  struct ap_error *reterr);
/** Mark the calls of nodes that stand where graph optimization leaves one, in the order of onnx->order. */
void ap_onnx_find_unfused(struct ap_onnx *onnx);
/** Runs, groups and sums, once all is read. */
AP_MUST_CHECK enum ap_status ap_onnx_find(struct ap_onnx *onnx, struct ap_error *reterr);

#endif
