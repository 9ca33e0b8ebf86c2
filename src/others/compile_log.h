/* SPDX-License-Identifier: MIT
 * compile_log.h - what torch.compile logs: TORCH_LOGS=recompiles,graph_breaks as text, or the structured log of TORCH_TRACE,
 * whose payloads hold the same sentences. See references/guide/other-profilers.md. */
#ifndef AP_COMPILE_LOG_H
#define AP_COMPILE_LOG_H

#include "log_line.h"
#include "other_reader.h"
#include "pair_map.h"
#include "strpool.h"

enum ap_break_kind {
#define AP_BREAK(id, words, what) AP_BREAK_##id,
#include "break_kind.def"
#undef AP_BREAK
    AP_BREAK_other,
    AP_BREAK_COUNT_
};

enum ap_recompile_kind {
#define AP_RECOMPILE(id, words, what) AP_RECOMPILE_##id,
#include "recompile_kind.def"
#undef AP_RECOMPILE
    AP_RECOMPILE_other,
    AP_RECOMPILE_COUNT_
};

enum ap_log_record { AP_LOG_NONE, AP_LOG_BREAK, AP_LOG_RECOMPILE };

/** A graph break or a recompilation, as one of the two logs tells it. */
struct ap_log_entry {
    struct ap_str place, function, reason; /* place: file.py:12 */
    uint8_t record, kind;
    bool structured;
};

/** One compilation of a function. */
struct ap_log_compilation {
    struct ap_str place, function;
    int64_t dur_ns; /* -1 = not told */
    bool again, failed, at_limit;
};

struct ap_compile_log {
    struct ap_gate *gate;
    struct ap_strpool strings;
    struct ap_log_entry *entries;
    size_t entry_count, entry_capacity;
    struct ap_log_compilation *compilations;
    size_t compilation_count, compilation_capacity;
    uint64_t files, lines, limit_lines;
    bool any_structured, overflowed;
};

/** Append what a file tells, of either kind. */
AP_MUST_CHECK enum ap_status ap_compile_log_read(struct ap_compile_log *log, struct ap_byte_source source,
                                                 struct ap_notes *notes, struct ap_error *reterr);

/** "scalar_read" */
const char *ap_break_kind_name(enum ap_break_kind kind);
/** "shape" */
const char *ap_recompile_kind_name(enum ap_recompile_kind kind);
/** "a value is read from a tensor" */
const char *ap_break_kind_what(enum ap_break_kind kind);
/** "a tensor of another shape" */
const char *ap_recompile_kind_what(enum ap_recompile_kind kind);
/** By the words of a reason. */
enum ap_break_kind ap_break_kind_of(struct ap_text reason);
/** Likewise. */
enum ap_recompile_kind ap_recompile_kind_of(struct ap_text reason);

#endif
