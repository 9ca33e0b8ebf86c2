/* SPDX-License-Identifier: MIT
 * analyze_profile.h - the library: reads a PyTorch profiler trace and a CUDA memory snapshot, judges them by a rubric
 * and writes the report. It never prints, never exits and never executes anything that stands in an input. */
#ifndef ANALYZE_PROFILE_H
#define ANALYZE_PROFILE_H

#include <stddef.h>

#include "analyze_profile/error.h"
#include "analyze_profile/model.h"

#ifdef __cplusplus
extern "C" {
#endif


/** One run of a series: a trace, and how many samples are in a batch. */
struct ap_series_entry {
    const char *path;
    uint64_t batch; /* 0 = as the recorded shapes show it */
};

/** What a report is made from. A zeroed struct with one path set is a sensible request. Text is borrowed during the
 *  call. */
struct ap_request {
    const char *cpu_trace_path;   /* "-" = standard input; NULL = none */
    const char *memory_json_path; /* likewise; at least one of the two is needed */
    /** What the report is compared with: a JSON report of this program, or a trace or snapshot, which is analysed too;
     *  NULL = nothing. Not standard input. */
    const char *baseline_path;
    /** Traces of one program with several batch sizes, instead of cpu_trace_path; the report is about the largest and tells
     *  how time and memory go with the size. At most 64. */
    const struct ap_series_entry *series;
    size_t series_count;
    /** What makes a run fail: severities and conditions on figures, "high", "steps.p50_us > +5%"; several may stand in one
     *  text with commas between. A report with a mistake in them is not made. */
    const char *const *fail_on;
    size_t fail_on_count;
    const char *rubric_path;      /* rules to use instead of the built-in ones; NULL = built-in */
    /** What the report is to be about; NULL = all. @focus is cpu, gpu, memory or io: findings and sections of that domain.
     *  @phase is a part of the step, one of those that ap_phase_names() tells. */
    const char *focus, *phase;
    const char *const *context;   /* "KEY=VALUE": labels that stand in the report in this order */
    size_t context_count;
    bool with_tracks;             /* keep what ap_report_write_trace needs */
    bool trace_all;               /* ap_report_write_trace copies all events, not only those around the findings */
    bool with_pictures;           /* add "pictures" to the tree: what ap_report_write_html draws of a trace */
    bool with_folded;             /* keep what ap_report_write_folded needs */
    uint64_t top_n;               /* longest list in the report; 0 = no bound */
    uint64_t max_memory_bytes;    /* 0 = no bound; else at least AP_MIN_MAX_MEMORY_BYTES */
    uint32_t max_depth;           /* nesting allowed in parts of the input that are skipped; 0 = 10,000 */
    bool salvage;                 /* use what precedes a broken place or a wrong checksum */
    bool strict;                  /* anything that lost data is an error */
    bool one_thread;              /* read and parse on the calling thread alone */
    /** Called now and then on the calling thread while an input is read; total is 0 where unknown. May be NULL. */
    void (*progress)(void *progress_self, const char *path, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_self;
    int64_t fail_after;           /* tests: number of allocations that succeed; 0 = all */
};

#define AP_MIN_MAX_MEMORY_BYTES UINT64_C(33554432)

struct ap_report;

/** Read and judge. *ret_report is freed with ap_report_free. On failure nothing is left behind; *ret_path is then the
 *  input that the error is about, or NULL. @ret_path may be NULL. */
AP_API enum ap_status ap_report_new(const struct ap_request *request, struct ap_report **ret_report, const char **ret_path,
                                    struct ap_error *reterr);
AP_API void ap_report_free(struct ap_report *report);

/** The tree of figures, findings and warnings; valid as long as the report. */
AP_API const struct ap_value *ap_report_root(const struct ap_report *report);

/** The severity of the worst finding: 0 info, 1 low, 2 medium, 3 high, 4 critical; -1 without findings. */
AP_API int ap_report_worst_severity(const struct ap_report *report);

/** Conditions of ap_request.fail_on that hold; with ap_request.strict also those that cannot be judged. */
AP_API int ap_report_failed_conditions(const struct ap_report *report);

/** Takes the bytes of a report as they are made. Any status but AP_OK ends the writing and is returned. */
typedef enum ap_status ap_write_fn(void *write_self, const char *data, size_t bytes, struct ap_error *reterr);
AP_API enum ap_status ap_report_write_json(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                           struct ap_error *reterr);
AP_API enum ap_status ap_report_write_markdown(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                               struct ap_error *reterr);
/** For people: one file that loads nothing, smaller than 1.5 MB, with pictures where with_pictures was set. */
AP_API enum ap_status ap_report_write_html(const struct ap_report *report, ap_write_fn *write, void *write_self,
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

/** "forward, backward, ...": the names that ap_request.phase takes. */
AP_API const char *ap_phase_names(void);
/** The stacks of all allocations that are in use at the peak of requested bytes of their device (at the end, where the
 *  history tells no peak), folded: "outermost;...;innermost BYTES", a line for each stack, as flame graph tools read them.
 *  The report was made with with_folded set; AP_ERROR_USAGE where it has no snapshot. */
AP_API enum ap_status ap_report_write_folded(const struct ap_report *report, ap_write_fn *write, void *write_self,
                                             struct ap_error *reterr);

enum ap_artifact { AP_ARTIFACT_UNKNOWN, AP_ARTIFACT_TRACE, AP_ARTIFACT_SNAPSHOT, AP_ARTIFACT_REPORT };

/** What a file is, by its content. Fails as reading it would: not openable, not JSON (named), cut before it can be told. */
AP_API enum ap_status ap_recognise(const char *path, enum ap_artifact *ret_artifact, struct ap_error *reterr);

/** "0.1.0" */
AP_API const char *ap_version(void);
/** What inflates gzip: "zlib 1.2.13", "ISA-L 2.30.0". */
AP_API const char *ap_inflater_name(void);
/** How to turn a pickled snapshot into JSON in the environment that made it. */
AP_API const char *ap_pickle_advice(void);

#ifdef __cplusplus
}
#endif

#endif
