/* SPDX-License-Identifier: MIT
 * error.h - how calls fail, what a failure is about and what may help. */
#ifndef ANALYZE_PROFILE_ERROR_H
#define ANALYZE_PROFILE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks what the shared library shows. */
#define AP_API __attribute__((visibility("default")))

enum ap_status {
    AP_OK = 0,
    AP_END,          /* nothing more of what was asked for; not a failure */
    AP_ERROR_USAGE,  /* the caller asked for something that cannot be */
    AP_ERROR_INPUT,  /* the artifact is refused, unreadable or broken */
    AP_ERROR_CUT,    /* the artifact ends before it is complete */
    AP_ERROR_OUTPUT, /* a report could not be written */
    AP_ERROR_LIMIT,  /* a stated limit was reached (depth, token, memory) */
    AP_ERROR_MEMORY  /* the machine has no more memory */
};

/** What a request or a question says, and a failure can be about. Messages name none of them: the program, its server and
 *  each program on the library know them by other names. */
enum ap_setting {
    AP_SETTING_NONE,
    AP_SETTING_SERIES, /* members of struct ap_request: series, */
    AP_SETTING_BASELINE,
    AP_SETTING_RERUN,
    AP_SETTING_FAIL_ON,
    AP_SETTING_WHAT_IF,
    AP_SETTING_FOCUS,
    AP_SETTING_PHASE,
    AP_SETTING_CONTEXT,
    AP_SETTING_SLICE,
    AP_SETTING_MAX_MEMORY,
    AP_SETTING_STRICT,
    AP_SETTING_RANK_REGEX,
    AP_SETTING_RANK,
    AP_SETTING_MAPPING_TRACE,
    AP_SETTING_TABLE, /* of struct ap_table_query: name, */
    AP_SETTING_WHERE,
    AP_SETTING_SORT,
    AP_SETTING_COLUMNS,
    AP_SETTING_FORMAT,
    AP_SETTING_AROUND,  /* of struct ap_around_query: id */
    AP_SETTING_EXPLAIN, /* of ap_write_explanation(): id */
    AP_SETTING_COUNT
};

/** What may help after a failure. */
enum ap_advice {
    AP_ADVICE_NONE,
    AP_ADVICE_SALVAGE,         /* ap_request.salvage uses what can be read */
    AP_ADVICE_NOT_STRICT,      /* without ap_request.strict it is a warning */
    AP_ADVICE_MORE_DEPTH,      /* a larger ap_request.max_depth; for parts that are skipped */
    AP_ADVICE_MORE_MEMORY,     /* a larger ap_request.max_memory_bytes */
    AP_ADVICE_GO_ON,           /* an ap_request.stop that lets it go on */
    AP_ADVICE_SMALLER_REPORT,  /* write it with a smaller ap_request.top_n */
    AP_ADVICE_GIVE_INPUT,      /* a trace, a snapshot, or both */
    AP_ADVICE_GIVE_TRACE,      /* a trace as well */
    AP_ADVICE_GIVE_SNAPSHOT,   /* a snapshot as well */
    AP_ADVICE_ONE_RANK,        /* of a run of many ranks one: ap_request.rank */
    AP_ADVICE_GIVE_BASELINE,   /* a baseline as well */
    AP_ADVICE_GIVE_REPORT,     /* a report to look into as well */
    AP_ADVICE_AS_TRACE,        /* this input is a trace: ap_request.cpu_trace_path */
    AP_ADVICE_AS_SNAPSHOT,     /* this input is a snapshot: ap_request.memory_json_path */
    AP_ADVICE_STANDARD_INPUT,  /* a pipe is read as standard input, "-" */
    AP_ADVICE_SAY_BATCH,       /* ap_series_entry.batch */
    AP_ADVICE_LIST_FIGURES,    /* ap_figures_list() */
    AP_ADVICE_LIST_EVERYTHING, /* that, and ap_rules_list() */
    AP_ADVICE_LIST_TABLES,     /* the table "tables" */
    AP_ADVICE_ALL_COLUMNS,     /* without ap_table_query.columns all are shown */
    AP_ADVICE_TELL_RANKS,      /* ap_request.rank_regex, or one of them as a baseline */
    AP_ADVICE_COUNT
};

/** Why a call failed. Written only on failure; the caller owns the storage. */
struct ap_error {
    enum ap_status status;
    enum ap_setting setting; /* what was said wrongly, which the message does not name */
    enum ap_advice advice;   /* what to do next, which the message does not tell */
    bool has_lines;          /* the line feeds in the message are the library's own: no name of an input stands in it */
    bool has_offset;
    uint64_t offset_bytes; /* into the decompressed input; valid where has_offset */
    char message[768];     /* what was expected, what was met; no final newline */
};

/** Whose words a text is in: how it names settings and what else can be asked. */
enum ap_words {
    AP_WORDS_LIBRARY, /* names of this interface */
    AP_WORDS_PROGRAM, /* options of the command line: --max-memory */
    AP_WORDS_SERVER,  /* tools of the server and their arguments */
    AP_WORDS_COUNT
};

#define AP_ERROR_TEXT_BYTES 1024

/** All of a failure but its offset, "SETTING: MESSAGE; ADVICE", with a NUL at its end; returns @to. AP_ERROR_TEXT_BYTES are
 *  enough. */
AP_API const char *ap_error_text(const struct ap_error *error, enum ap_words words, char *to, size_t to_bytes);

#ifdef __cplusplus
}
#endif

#endif
