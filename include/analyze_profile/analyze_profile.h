/* SPDX-License-Identifier: MIT
 * analyze_profile.h - the library: reads a PyTorch profiler trace and a CUDA memory snapshot, judges them by a rubric
 * and writes the report. It never prints, never exits and never executes anything that stands in an input. */
#ifndef ANALYZE_PROFILE_H
#define ANALYZE_PROFILE_H

#include <stddef.h>

#include "analyze_profile/error.h"
#include "analyze_profile/helpers.h"
#include "analyze_profile/model.h"
#include "analyze_profile/opener.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One run of a series: a trace, and how many samples are in a batch. */
struct ap_series_entry {
    const char *path;
    uint64_t batch; /* 0 = as the recorded shapes show it */
};

#define AP_MIN_REDACT_KEY_BYTES 16

/** What a report is made from. A zeroed struct with one path set is a sensible request. Text is borrowed during the
 *  call. */
struct ap_request {
    const char *cpu_trace_path;   /* "-" = standard input; NULL = none */
    const char *memory_json_path; /* likewise; at least one of the two is needed */
    const char *recognized_path;  /* cpu_trace_path, where ap_recognize called it a trace: it is not asked again. NULL = it
                                     was not asked */
    /** The files of a run of many ranks, and folders that hold them, instead of the two above; what is one trace and perhaps
     *  one snapshot after all is analyzed as those. */
    const char *const *run_paths;
    size_t run_path_count;
    const char *rank_regex; /* an extended regular expression whose first group is the rank that a file's name tells; NULL =
                               the usual names. What a file says of its rank itself comes first */
    bool has_rank;          /* of the run only the files of this rank are analyzed, as a report of one rank: */
    uint64_t rank;
    bool with_ranks;                  /* keep what ap_report_write_ranks needs; one trace is a run too then */
    uint32_t jobs;                    /* files of a run that are read at a time; 0 = as many as there are processors */
    const struct ap_helpers *helpers; /* read traces and summaries of the run too, without any change of the report; NULL =
                                         none */
    /** What the report is compared with: a JSON report of this program, or a trace or snapshot, which is analyzed too;
     *  NULL = nothing. Not standard input. */
    const char *baseline_path;
    /** More runs of either side, of the same kinds of file: the comparison then is between runs, and from three a side on it
     *  may call a time better or worse. At most 63 of each; they need a baseline. */
    const char *const *more_baselines;
    size_t more_baseline_count;
    const char *const *more_runs;
    size_t more_run_count;
    /** Traces of one program with several batch sizes, instead of cpu_trace_path; the report is about the largest and tells
     *  how time and memory go with the size. At most 64. */
    const struct ap_series_entry *series;
    size_t series_count;
    /** What makes a run fail: severities and conditions on figures, "high", "steps.p50_us > +5%"; several may stand in one
     *  text with commas between. A report with a mistake in them is not made. */
    const char *const *fail_on;
    size_t fail_on_count;
    /** Changes whose gain is predicted, each alone and all together: "kernel ~ gemm speedup 2". At most 16. */
    const char *const *what_if;
    size_t what_if_count;
    const char *mapping_trace_path; /* a trace of the capture of the GPU graphs that the trace replays, or of a run without
                                       them: from it kernels of graphs get their operators, shapes and lines. NULL = none */
    const char *peaks_path;         /* rates of GPUs, in the form of references/gpu-peaks.md, which go before those of that
                                table; NULL = none */
    const char *rubric_path;        /* rules to use instead of the built-in ones; NULL = built-in */
    /** What the report is to be about; NULL = all. @focus is cpu, gpu, memory or io: findings and sections of that domain.
     *  @phase is a part of the step, one of those that ap_phase_names() tells. */
    const char *focus, *phase;
    const char *const *context; /* "KEY=VALUE": labels that stand in the report in this order */
    size_t context_count;
    bool with_tracks;   /* keep what ap_report_write_trace needs */
    bool trace_all;     /* ap_report_write_trace copies all events, not only those around the findings */
    bool with_pictures; /* add "pictures" to the tree: what the HTML report draws of a trace */
    /** Names of files, functions, modules, annotations, groups and hosts become hashes in all that is written from the
     *  report. references/guide/safety.md tells what stays. */
    bool redact;
    /** What their key is made of, at least AP_MIN_REDACT_KEY_BYTES: with the same key the same name becomes the same hash
     *  in every run. NULL = a key that is drawn for this report. Not used after ap_report_new. */
    const void *redact_key;
    size_t redact_key_bytes;
    /** What ap_report_write_slice copies: "START:END" in microseconds since the first event or as the trace writes them (or
     *  with a unit: us, ms, s), "finding:ID" or "finding:N"; NULL = nothing. */
    const char *slice;
    enum ap_words words;       /* of answers that tell how to ask on: a digest, a table as text */
    bool with_folded;          /* keep what ap_report_write_folded needs */
    bool with_rows;            /* keep the rows of the inputs, for ap_report_write_table and ap_report_write_around */
    uint64_t top_n;            /* longest list in the report; 0 = no bound */
    uint64_t max_memory_bytes; /* 0 = no bound; else at least AP_MIN_MAX_MEMORY_BYTES */
    const char
        *max_memory_why; /* where nobody chose it: what it is, for the message; NULL = somebody did. Outlives the report */
    uint32_t max_depth;  /* nesting allowed in parts of the input that are skipped; 0 = 10,000 */
    bool salvage;        /* use what precedes a broken place or a wrong checksum */
    bool strict;         /* anything that lost data is an error */
    unsigned threads; /* that read and analyze: 1 = the calling one alone; 0 = as many as there are processors, up to 16 */
    const char *sandbox; /* what this process is confined by, for the report; NULL = not said */
    /** Called now and then on the calling thread while an input is read; total is 0 where unknown. May be NULL. */
    void (*progress)(void *progress_self, const char *path, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_self;
    /** Asked again and again on any thread that works for the report, now and when it is asked questions: NULL = go on;
     *  else why the work is given up, for the message of the failure, which is AP_ERROR_LIMIT. May be NULL. */
    const char *(*stop)(void *stop_self);
    void *stop_self;
    const struct ap_opener *opener; /* opens the inputs; NULL = the file system, and standard input */
    /** What the caller has read of standard input already, to see what it is; it stands before the rest. */
    const void *standard_input_head;
    size_t standard_input_head_bytes;
    int64_t fail_after; /* tests: number of allocations that succeed; 0 = all */
};

#define AP_MIN_MAX_MEMORY_BYTES UINT64_C(33554432)

struct ap_report;

/** Read and judge. *ret_report is freed with ap_report_free. On failure nothing is left behind; *ret_path is then the
 *  input that the error is about, or NULL. @ret_path may be NULL. */
AP_API enum ap_status ap_report_new(const struct ap_request *request, struct ap_report **ret_report, const char **ret_path,
                                    struct ap_error *reterr);
/** Frees all that the report holds, its tree too. NULL is allowed. */
AP_API void ap_report_free(struct ap_report *report);

/** Memory that it takes, without what the C library adds. */
AP_API uint64_t ap_report_held_bytes(const struct ap_report *report);

/** Who is asked from now on whether a question to the report is given up, as ap_request.stop: another one than when it was
 *  read, where that one may be gone. NULL = nobody. Not beside a question. */
AP_API void ap_report_set_stop(struct ap_report *report, const char *(*stop)(void *stop_self), void *stop_self);

/** The tree of figures, findings and warnings; valid as long as the report. */
AP_API const struct ap_value *ap_report_root(const struct ap_report *report);

/** Is the file that is stored there one that the report was read from? Of those that were found in folders; a caller knows
 *  those that it named itself. Device and number as stat tells them. */
AP_API bool ap_report_has_read(const struct ap_report *report, uint64_t device, uint64_t inode);

/** Conditions of ap_request.fail_on that hold; with ap_request.strict also those that cannot be judged. */
AP_API int ap_report_failed_conditions(const struct ap_report *report);

/** Takes the bytes of a report as they are made. Any status but AP_OK ends the writing and is returned. */
typedef enum ap_status ap_write_fn(void *write_self, const char *data, size_t bytes, struct ap_error *reterr);
/** The whole tree as JSON; references/report-schema.json describes it. */
AP_API enum ap_status ap_report_write_json(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                           struct ap_error *reterr);
/** How much of a report: at most 250 lines that say what there is besides, or all of it. */
enum ap_extent { AP_EXTENT_SHORT, AP_EXTENT_WHOLE };
/** The same for people, as Markdown. */
AP_API enum ap_status ap_report_write_markdown(const struct ap_report *report, enum ap_extent extent, ap_write_fn *write,
                                               void *write_self, struct ap_error *reterr);
/** For people: one file that loads nothing, smaller than 1.5 MB, with pictures where with_pictures was set. */
AP_API enum ap_status ap_report_write_html(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                           struct ap_error *reterr);

/** Takes pictures: each is begun by its name (letters, digits and dashes: "utilization"), written and ended. Any status but
 * AP_OK ends it all and is returned. */
struct ap_picture_taker {
    enum ap_status (*begin)(void *self, const char *name, struct ap_error *reterr);
    ap_write_fn *write;
    enum ap_status (*end)(void *self, struct ap_error *reterr);
    void *self;
};
/** The pictures of the HTML report, each as a file of SVG that needs nothing else; with_pictures was set. */
AP_API enum ap_status ap_report_write_pictures(const struct ap_report *report, const struct ap_picture_taker *taker,
                                               struct ap_error *reterr);

/** A part of the tree as JSON on one line. */
AP_API enum ap_status ap_value_write_json(const struct ap_value *value, ap_write_fn *write, void *write_self,
                                          struct ap_error *reterr);

/** The conditions of fail_on as JUnit XML, and as annotations of GitHub Actions. */
AP_API enum ap_status ap_report_write_junit(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                            struct ap_error *reterr);
AP_API enum ap_status ap_report_write_annotations(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                                  struct ap_error *reterr);

/** The trace again as a Chrome trace, for viewers such as Perfetto, with findings, idle causes, critical path and steps as
 *  tracks of a process of their own. @request is the one that the report was made from, with_tracks set; its trace is read
 *  again, which standard input does not allow: then the tracks are written alone. */
AP_API enum ap_status ap_report_write_trace(struct ap_report *report, const struct ap_request *request, ap_write_fn *write,
                                            void *write_self, struct ap_error *reterr);

/** The part of a helper: reads the files of the share that ap_helpers.give brought, with the options of @request, and writes
 *  what ap_helpers.take takes. Files that cannot be read are part of the answer; it fails only where nothing can be
 *  answered. */
AP_API enum ap_status ap_share_read(const struct ap_request *request, const char *share, size_t bytes, ap_write_fn *write,
                                    void *write_self, struct ap_error *reterr);

/** What was kept of each rank of a run, as JSON: whole numbers and names, from which the report on the run can be made
 *  again,
 *  alone or with that of other ranks. The order in which such files are given does not matter, nor how they were merged
 *  before. The report was made with with_ranks set. */
AP_API enum ap_status ap_report_write_ranks(struct ap_report *report, ap_write_fn *write, void *write_self,
                                            struct ap_error *reterr);

/** The stretch request->slice of the trace, in the form of the input and small enough to share: nothing is added. @request
 * is the one that the report was made from; its trace is read again, so it cannot be standard input. */
AP_API enum ap_status ap_report_write_slice(struct ap_report *report, const struct ap_request *request, ap_write_fn *write,
                                            void *write_self, struct ap_error *reterr);

/** "forward, backward, ...": the names that ap_request.phase takes. */
AP_API const char *ap_phase_names(void);
/** The stacks of all allocations that are in use at the peak of requested bytes of their device (at the end, where the
 *  history tells no peak), folded: "outermost;...;innermost BYTES", a line for each stack, as flame graph tools read them.
 *  The report was made with with_folded set; AP_ERROR_USAGE where it has no snapshot. */
AP_API enum ap_status ap_report_write_folded(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                             struct ap_error *reterr);

/* ---- questions to a report: one question, one bounded answer ----
 * Text is for people: readable units, control characters and what reorders or hides text written as \u{...}. JSON has the
 * keys and units of the report. CSV is of tables alone; a cell that a spreadsheet would take for a formula begins with an
 * apostrophe. */
/** Compact, for tables alone: JSON with the names of the columns once, a row as a list of values, kernels by their short
 *  names. */
enum ap_format { AP_FORMAT_TEXT, AP_FORMAT_JSON, AP_FORMAT_CSV, AP_FORMAT_COMPACT };

struct ap_table_query {
    /** A list in the report by its path, "gpu.kernels", lists on the way entered; or the rows behind it, for which the
     * report was made with with_rows: operators, kernels, launches, copies, synchronisations, collectives, allocations,
     * steps; or findings; or tables: all that there are. */
    const char *name;
    const char *where; /* "name contains gemm and dur_us > 1ms or tid = 7"; NULL = all rows */
    const char
        *sort;      /* a column; numbers from the largest down, text from a to z; "dur_us:asc"; NULL = order of the table */
    uint64_t limit; /* rows at most; 0 = all */
    const char *columns; /* "row_id,name,dur_us": these alone, in this order; NULL = all */
    enum ap_format format;
    unsigned width; /* of text, in columns; 0 = not bounded */
};

/** Before anything is read: AP_ERROR_USAGE where no input would make the question right, as no report has such a table or
 * column, or
 *  @where or @sort has a mistake. */
AP_API enum ap_status ap_table_query_check(const struct ap_table_query *query, struct ap_error *reterr);

/** The rows of a table. Each has a row_id, which ap_report_write_around takes. AP_ERROR_USAGE tells what was expected. */
AP_API enum ap_status ap_report_write_table(struct ap_report *report, const struct ap_table_query *query, ap_write_fn *write,
                                            void *write_self, struct ap_error *reterr);

struct ap_around_query {
    const char *id;        /* "row:1234", "step:3", "alloc:17", "gpu.kernels[3]", the id of a finding */
    uint64_t limit;        /* longest list; 0 = 10 */
    enum ap_format format; /* text or JSON */
    unsigned width;
};

/** What launched it, what it launched, what ran beside it, its source lines, its step. The report was made with with_rows.
 */
AP_API enum ap_status ap_report_write_around(struct ap_report *report, const struct ap_around_query *query,
                                             ap_write_fn *write, void *write_self, struct ap_error *reterr);

struct ap_summary_options {
    unsigned width; /* of a terminal; 0 = 80 */
    unsigned lines; /* of a terminal; 0 = 24 */
    bool color;
    const char *const *files; /* where the reports are: said at the end; may be NULL */
    size_t file_count;
};

/** One screen: verdict, first findings, where the files are. */
AP_API enum ap_status ap_report_write_summary(const struct ap_report *report, const struct ap_summary_options *options,
                                              ap_write_fn *write, void *write_self, struct ap_error *reterr);

/** A digest as Markdown that is at most @tokens * AP_BYTES_PER_TOKEN bytes long, what is most valuable first: verdict,
 * findings with evidence and action, figures. Text of code and numbers has some 2.5 to 4 bytes a token: 3 is the rule of
 * thumb. */
#define AP_BYTES_PER_TOKEN 3
/** @tokens: at least 1. */
AP_API enum ap_status ap_report_write_digest(const struct ap_report *report, uint64_t tokens, ap_write_fn *write,
                                             void *write_self, struct ap_error *reterr);

struct ap_listing;
/** All rules of the rubric: id, title, severity, confidence, condition. @rubric_path NULL = built-in. */
AP_API enum ap_status ap_rules_list(const char *rubric_path, struct ap_listing **ret_listing, struct ap_error *reterr);
/** All figures that a report can have: name, unit and meaning. */
AP_API enum ap_status ap_figures_list(struct ap_listing **ret_listing, struct ap_error *reterr);
/** A list of objects; valid as long as the listing. */
AP_API const struct ap_value *ap_listing_rows(const struct ap_listing *listing);
AP_API enum ap_status ap_listing_write(struct ap_listing *listing, enum ap_format format, ap_write_fn *write,
                                       void *write_self, struct ap_error *reterr);
AP_API void ap_listing_free(struct ap_listing *listing);
/** A rule or finding, by its id: its text, inputs, thresholds, hardware, trade-off; a figure, by its name: unit, meaning,
 * the rules that use it. @report adds what they came to there; it may be NULL. */
AP_API enum ap_status ap_write_explanation(const char *id, const struct ap_report *report, const char *rubric_path,
                                           enum ap_format format, ap_write_fn *write, void *write_self,
                                           struct ap_error *reterr);

enum ap_artifact {
    AP_ARTIFACT_UNKNOWN,
    AP_ARTIFACT_TRACE,
    AP_ARTIFACT_SNAPSHOT,
    AP_ARTIFACT_REPORT,
    AP_ARTIFACT_FLIGHT_RECORDER, /* of one rank; analyzed as a part of a run */
    AP_ARTIFACT_SUMMARY,         /* of ranks; likewise */
    AP_ARTIFACT_FOLDER,          /* not looked into */
    AP_ARTIFACT_PROFILE          /* of another profiler; analyzed as a part of a run */
};

/** What a file is, by its content. Fails as reading it would: not openable, not JSON (named), cut before it can be told. */
AP_API enum ap_status ap_recognize(const char *path, enum ap_artifact *ret_artifact, struct ap_error *reterr);
/** The same of standard input, by its first bytes: unknown as well where they are too few. */
AP_API enum ap_status ap_recognize_head(const void *head, size_t bytes, enum ap_artifact *ret_artifact,
                                        struct ap_error *reterr);
/** The same of what @opener opens. */
AP_API enum ap_status ap_recognize_opened(const char *path, const struct ap_opener *opener, enum ap_artifact *ret_artifact,
                                          struct ap_error *reterr);

/** "0.1.0" */
AP_API const char *ap_version(void);
/** What inflates gzip: "zlib 1.2.13", "ISA-L 2.30.0". */
AP_API const char *ap_inflater_name(void);
/** The formats of compressed files that are read besides gzip, as "zstd", one after the other from @i 0 on; NULL behind the
 *  last. */
AP_API const char *ap_codec_name(size_t i);
/** Python code that records all that can be judged. */
AP_API const char *ap_capture_snippet(void);
/** How to have a snapshot as JSON in the place of a pickle, and behind a warning how to convert one. */
AP_API const char *ap_pickle_advice(void);

#ifdef __cplusplus
}
#endif

#endif
