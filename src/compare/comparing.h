/* SPDX-License-Identifier: MIT
 * comparing.h - what the parts of a comparison share. Private to src/compare. */
#ifndef AP_COMPARING_H
#define AP_COMPARING_H

#include "catalogue.h"
#include "compare.h"

/* A difference of two step times is a change from this p-value down, and from this share of the longer one on. */
#define AP_STEP_LEVEL 0.05
#define AP_STEP_LEAST_RATIO 0.02
/* Likewise for the parts of a step, which are many: stricter. The share is of the step. */
#define AP_PART_LEVEL 0.01
#define AP_PART_LEAST_RATIO 0.02
/* Rows without samples: so many times the spread of the steps (what is part of a step varies more than the whole), but at
 * least this; where there are no steps to learn it from, that. */
#define AP_APART_LEAST_COUNT 3 /* values of each side, where they are too few for the test */
#define AP_APART_FAR_COUNT 2   /* of sides that are so far apart that none of the one comes near the other */
#define AP_APART_FAR_TIMES 1.5
#define AP_NOISE_SPREADS 2
#define AP_NOISE_LEAST_RATIO 0.05
#define AP_NOISE_UNKNOWN_RATIO 0.10
/* Of the step (or of the window) that a row's difference must be to be told. */
#define AP_ROW_LEAST_RATIO 0.01
/* Sizes repeat: a smaller difference is rounding. */
#define AP_SIZE_LEAST_RATIO 0.01
#define AP_SIZE_LEAST_BYTES ((double)(1 << 20))
#define AP_RATIO_LEAST_POINTS 0.02
/* Of the bytes at the peak: where the shares with a stack are further apart, lines of the one side are nobody's on the
 * other. */
#define AP_STACKS_MOST_APART 0.25
/* Runs a side that repeat: from so many on a time may be called better or worse. */
#define AP_RUNS_LEAST_COUNT 3
/* Recordings without steps whose windows differ by this share of the longer one are not of one length. */
#define AP_LENGTH_LEAST_RATIO 0.1
#define AP_WORK_LEAST_RATIO 0.05 /* but if their operators are as many, but for this share */
/* The report has nine digits of a ratio. */
#define AP_WRITTEN_PRECISION 1e-8

/** What is called a change, and what is not. */
enum ap_change {
    AP_CHANGE_none,
    AP_CHANGE_worse,
    AP_CHANGE_better,
    AP_CHANGE_other,   /* different, which is neither good nor bad */
    AP_CHANGE_differs, /* different, and one run a side does not tell whether it would be so again */
    AP_CHANGE_unclear, /* too few values to test */
    AP_CHANGE_unknown  /* not known on one side */
};

/** "no change", "worse" */
const char *ap_change_name(enum ap_change change);

/** The change that a difference (after less before) is, once it is more than noise. */
enum ap_change ap_change_of(double delta, enum ap_better better);

/** Runs of one side; where a single report must stand for it, the middle one does. */
struct ap_side {
    const struct ap_compare_run *runs;
    size_t count;
};

/* An operator on the same shapes, called as often, by another kernel. */
struct ap_other_kernel {
    struct ap_text operator, before, after; /* the last two: kernels; an empty operator = none */
    double times;                           /* as long as before */
};

struct ap_comparing {
    struct ap_gate *gate;
    struct ap_side sides[2]; /* before, after: the report's own run comes first */
    bool several;            /* runs of a side: then values that are tested are those of runs */
    bool repeats;            /* enough of them on both sides to call a time better or worse */
    struct ap_model *model;
    const struct ap_value *before, *after; /* roots */
    uint64_t top_n;
    struct ap_value *comparison; /* in the model */
    /* how much the steps vary, and how long they are */
    double noise_ratio;
    bool noise_of_steps;
    /* rows are per step where both sides have steps: what to divide by, else 1; whole is the longer step or window */
    bool per_step;
    double before_parts, after_parts, whole_ns;
    bool alike;  /* one kind of device, one rank, as many ranks: else a difference in time is none of the program */
    bool behind; /* on a side the devices work longer than the steps of the host last: those do not tell the step */
    double before_step_ns, after_step_ns; /* then: the longer of both, in the mean; and what changed by it */
    enum ap_change longer_change;
    enum ap_change step_change;
    double step_delta_ns;         /* what the median steady step takes more, where that is a change; else 0 */
    enum ap_change device_change; /* of the time that kernels take */
    double same_calls_ratio;      /* of the time of kernels: operators that both call as often, on the same shapes */
    struct ap_other_kernel other_kernel;
};

/** What may be said of a change of something that varies from run to run: no more than that it differs where each side has
 *  too few runs. */
enum ap_change ap_change_said(const struct ap_comparing *comparing, enum ap_change change);

/** compare_runs.c: "runs" */
void ap_compare_runs(struct ap_comparing *comparing);
/** Median duration of the steady steps of a run, in ns; -1 = none. */
int64_t ap_run_step_ns(const struct ap_value *root);
/** How much the steps of the runs of one side differ: standard deviation over mean, of the side where it is more. */
double ap_runs_spread(const struct ap_comparing *comparing);

/** |delta| over the larger of both sizes, whichever side it is; 0 where both are 0. */
double ap_relative_difference(double before, double after);

/** Is @delta_ns, of a step, most of what the steps are known to have changed by? Then it is no noise. */
bool ap_explains_step(const struct ap_comparing *comparing, double delta_ns);

/** A stall of the host falls on whatever operator is open: a difference of one operator that is less than this, by which the
 *  mean of a step is unsure, may be one. 0 where runs repeat, which tell more. */
double ap_stall_ns(const struct ap_comparing *comparing);

/* Operators of a list, or collectives, that are looked for on the other side: those with most time. A list may be as long as
 * its trace. */
#define AP_FOUND_MOST 100
/** Is a name in the list? */
bool ap_list_has(const struct ap_value *list, struct ap_text name);
/** The row of that name among so many of the @list; NULL = none. */
const struct ap_value *ap_find_row(const struct ap_value *list, struct ap_text name);

/** compare_work.c: sets behind, and what steps take then: at least what the host's step lasts, and what the devices work for
 *  it, in the mean of the devices. */
void ap_compare_work(struct ap_comparing *comparing);
/** Both are the same recording: as many bytes, and all times equal to the nanosecond. */
bool ap_is_one_recording(const struct ap_comparing *comparing);
/** Recordings without steps of which one holds more. */
bool ap_lengths_differ(const struct ap_comparing *comparing);
/** One side is of several ranks, and the other of none that can be seen. */
bool ap_ranks_differ(const struct ap_comparing *comparing);

/** Of traces of two ranks of as many: how to read them together, and which of both comes later if they are of one run,
 *  behind the text. */
void ap_add_ranks_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);

/** What a recording is of, by the findings that say that it is of no run: "a run", "a start". */
const char *ap_recording_kind(const struct ap_value *root);

/** compare_steps.c: "steps" and "split" */
AP_MUST_CHECK enum ap_status ap_compare_steps(struct ap_comparing *comparing, struct ap_error *reterr);
/** The part of the step that changed most, in the direction of the step; NULL where none did. The causes of idle time stand
 *  for it. */
const struct ap_value *ap_largest_part(const struct ap_comparing *comparing);
/** What medians of steps do not show, behind the text: that few are long; that more lies between them. */
void ap_add_long_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
void ap_add_period_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
void ap_add_part_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** In words, a part of the split: "idle time in which the host ran operators". */
void ap_add_part_name(struct ap_text part, char *text, size_t bytes);
/** compare_pairs.c: "replaced", "layout"; and what ap_compare_traits adds */
AP_MUST_CHECK enum ap_status ap_compare_pairs(struct ap_comparing *comparing, struct ap_error *reterr);
/** compare_traits.c: "types", "shapes", "layouts"; @size_key: of a row of operators, what its time is called */
AP_MUST_CHECK enum ap_status ap_compare_traits(struct ap_comparing *comparing, const char *size_key,
                                               struct ap_error *reterr);
/** The row of "types", "shapes" or "layouts" that takes most, where that is much of what both sides take; NULL = none. */
const struct ap_value *ap_largest_typed(const struct ap_comparing *comparing, const char *list);
/** What operator works on other shapes, from where these differ on, behind the text. */
void ap_add_shapes_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** Tensors of which operator lie otherwise in memory, behind the text. */
void ap_add_layouts_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** compare_same.c: sets same_calls_ratio and other_kernel */
AP_MUST_CHECK enum ap_status ap_find_same_calls(struct ap_comparing *comparing, struct ap_error *reterr);
/** compare_calls.c: what the verdict says of calls, behind the text: of other kernels, of what one side alone has, of how
 *  many launch. */
void ap_add_other_kernel_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
void ap_add_alone_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
void ap_add_launches_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** compare_longer.c: how many kernels and operators take longer, or less, and which most, behind the text; @with_device:
 *  devices were recorded on both sides. */
void ap_add_rows_sentence(const struct ap_comparing *comparing, bool with_device, char *text, size_t bytes);
/** compare_pieces.c: that most operators are called more often and are shorter each, or the other way round, behind the
 *  text. */
void ap_add_pieces_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** compare_cluster.c: of two runs of many ranks, whose steps are those that all ranks have. */
bool ap_are_runs_of_ranks(const struct ap_comparing *comparing);
enum ap_change ap_compare_cluster(const struct ap_comparing *comparing);
void ap_add_cluster_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** compare_counts.c: that a step calls more operators, fewer, or the same ones as often, behind the text. */
void ap_add_counts_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** A step calls more operators or fewer, others take their place, or they work on other input. */
bool ap_is_other_work(const struct ap_comparing *comparing);
/** Which collective takes longer, or has less beside it, where steps follow. */
void ap_add_collectives_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** Of a text from there on, how many bytes a sentence of the verdict shows. */
int ap_shown_bytes(struct ap_text text, size_t from);
/** compare_same.c: "same_work", behind ap_compare_device; and what the verdict says of it, if anything. */
AP_MUST_CHECK enum ap_status ap_compare_same(struct ap_comparing *comparing, struct ap_error *reterr);
void ap_add_same_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);
/** How many times as much a step holds, and how long it takes for as much, behind the text. */
void ap_add_sizes_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);

/** compare_largest.c: "largest" */
void ap_compare_largest(struct ap_comparing *comparing);
/** compare_rows.c: "device_operators", "host_operators", "kernels", "memory_owners" */
AP_MUST_CHECK enum ap_status ap_compare_rows(struct ap_comparing *comparing, struct ap_error *reterr);
/** compare_device.c: "device" */
void ap_compare_device(struct ap_comparing *comparing);
/** What the change of a share of the time, or of what could be saved of it, is called: neither good nor bad where it is the
 *  other side of what kernels take, and steps did not follow. */
enum ap_change ap_change_of_share(const struct ap_comparing *comparing, enum ap_change change);
/** compare_figures.c: "figures", "memory" */
void ap_compare_figures(struct ap_comparing *comparing);
/** compare_findings.c: "findings" */
void ap_compare_findings(struct ap_comparing *comparing);
/** The weightiest finding about the run that is new, and the one that is gone, behind the text. */
void ap_add_findings_sentence(const struct ap_comparing *comparing, char *text, size_t bytes);

/** Do two snapshots tell whose their memory is alike? In compare_rows.c. */
bool ap_stacks_differ(const struct ap_comparing *comparing);

#endif
