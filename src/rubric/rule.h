/* SPDX-License-Identifier: MIT
 * rule.h - what a rule is once it is read. Private to src/rubric and its tests. */
#ifndef AP_RULE_H
#define AP_RULE_H

#include "catalogue.h"
#include "expr.h"
#include "rubric.h"
#include "severity.h"

/* ---- rule_figure.c: what a condition may name ---- */

/** NULL where the catalogue has no such path, or rules may not name it. */
const struct ap_figure_info *ap_figure_find(struct ap_text path);
/** The figure in @root; NULL where it is missing, null, or no number. */
const struct ap_value *ap_figure_value(const struct ap_value *root, const struct ap_figure_info *figure);

/* ---- rule_artifact.c: what a user can record, and whether this run has it ---- */

/** Artifacts are named by their place in the table; a set of them is a bit mask. */
#define AP_ARTIFACT_MAX 32

/** Artifacts are 0 .. count - 1. */
size_t ap_artifact_count(void);
/** What rules call it. */
const char *ap_artifact_id(size_t artifact);
/** False where the table has no such artifact. */
bool ap_artifact_find(struct ap_text id, size_t *ret_artifact);
/** Does the report with this root show it? */
bool ap_artifact_is_there(const struct ap_value *root, size_t artifact);
/** What to ask for where this run lacks @artifact: what it is a part of, where all of that is missing. */
size_t ap_artifact_whole(const struct ap_value *root, size_t artifact);
/** A sentence that asks for it and says how it is recorded. */
const char *ap_artifact_request(size_t artifact);
/** The artifact without which @path is not known and which this run lacks; false where it is another reason. */
bool ap_artifact_behind(const struct ap_value *root, const char *path, size_t *ret_artifact);

/* ---- rule_expr.c: conditions ---- */

/** Where a mistake is looked for: the line may grow with the text. */
struct ap_place {
    const char *file;
    int line;
};

/** AP_ERROR_USAGE, "FILE:LINE: ...". */
enum ap_status ap_fail_in_rubric(struct ap_error *reterr, struct ap_place place, const char *format, ...) AP_PRINTF(3, 4);

/** @text is a whole condition, kept in @arena; its line breaks count lines from @place on. */
AP_MUST_CHECK enum ap_status ap_when_parse(struct ap_text text, struct ap_place place, struct ap_arena *arena,
                                           struct ap_expr *ret_when, struct ap_error *reterr);
/** What the rows of a list have to say: "KEY is VALUE|VALUE and KEY < NUMBER", kept in @arena but for its texts. */
AP_MUST_CHECK enum ap_status ap_where_parse(struct ap_text text, struct ap_place place, struct ap_arena *arena,
                                            struct ap_expr *ret_where, struct ap_error *reterr);
enum ap_status ap_fail_unknown_figure(struct ap_error *reterr, struct ap_place place, struct ap_text path);
/** The limit of a comparison as a value of the figure's unit and key; false where there is none, or it is not known. */
bool ap_comparison_limit(const struct ap_comparison *comparison, const struct ap_value *root, struct ap_value *ret_limit);

/* ---- rules ---- */

/** What a finding is about. */
enum ap_domain {
#define AP_DOMAIN(name) AP_DOMAIN_##name,
#include "domain.def"
#undef AP_DOMAIN
    AP_DOMAIN_COUNT_
};
extern const char *const ap_domain_names[AP_DOMAIN_COUNT_];

/** Parts of a step; a set of them is a bit mask. */
enum {
#define AP_STEP_PHASE(name) AP_NAMED_PHASE_##name,
#define AP_STEP_PHASE_NAMED(name) AP_NAMED_PHASE_##name,
#define AP_STEP_PHASE_FOUND(name)
#include "step_phase.def"
#undef AP_STEP_PHASE
#undef AP_STEP_PHASE_NAMED
#undef AP_STEP_PHASE_FOUND
    AP_PHASE_COUNT
};
extern const char *const ap_phases[AP_PHASE_COUNT];

/** What limits the run where a rule fires: one of a few words; NULL where @name is none of them. */
const char *ap_bottleneck_find(struct ap_text name);
/** "memory-bound, compute-bound, ...", for messages. */
const char *ap_bottleneck_names(void);

/* ---- rule_hardware.c: what a rule holds for ---- */

enum ap_platform { AP_PLATFORM_any, AP_PLATFORM_cpu, AP_PLATFORM_gpu, AP_PLATFORM_cuda, AP_PLATFORM_rocm };

struct ap_hardware {
    const char *name; /* as rules write it */
    enum ap_platform platform;
    double capability; /* least compute capability, 0 = any */
};

/** False where it is no hardware that rules can name. */
bool ap_hardware_find(struct ap_text name, struct ap_hardware *ret_hardware);
/** "any, cpu, ...", for messages. */
const char *ap_hardware_names(void);
/** Of the GPU; any where the report does not tell. */
enum ap_platform ap_platform_of(const struct ap_value *root);
/** False where the report tells of hardware for which a rule does not hold; what is not told fits. */
bool ap_hardware_fits(const struct ap_hardware *hardware, const struct ap_value *root);

/* ---- rules ---- */

#define AP_RULE_MAX_PLACES 4
#define AP_RULE_MAX_CLAUSES 4
#define AP_RULE_MAX_SUPPRESSORS 48
#define AP_RULE_MAX_RANKS 3
#define AP_RULE_MAX_RESTS 3

struct ap_severity_clause {
    enum ap_severity severity;
    struct ap_expr when;
};

struct ap_confidence_clause {
    bool one_lower; /* else: @confidence */
    enum ap_confidence confidence;
    bool with; /* holds where the artifact is there; else where it is not */
    size_t artifact;
};

enum ap_rule_text {
    AP_TEXT_observation,
    AP_TEXT_hypothesis,
    AP_TEXT_action,
    AP_TEXT_trade_off,
    AP_TEXT_validation,
    AP_TEXT_COUNT_
};
extern const char *const ap_rule_text_keys[AP_TEXT_COUNT_];

/** What stands at a place in the trace: the path, and of a list only rows whose text @key is @value, unless that is empty.
 */
struct ap_rule_place {
    struct ap_text path, key, value;
};

#define AP_RULE_MAX_CAUSE_LISTS 3
#define AP_CAUSE_MAX_NAMES 4

/** Rows of the list at @path, called by the first of @names that holds a text, weighed by @amount. */
struct ap_cause_list {
    struct ap_text path, amount, names[AP_CAUSE_MAX_NAMES];
    size_t name_count;
    struct ap_expr where; /* what a row has to say */
};

struct ap_rule {
    const struct ap_rule *next,
        *older; /* older: before it, with an id of as many bytes, but for multiples of AP_RULE_LENGTHS */
    int line;
    struct ap_text id, title, source, change;
    struct ap_text texts[AP_TEXT_COUNT_];
    struct ap_expr when;
    uint32_t needs, missing; /* artifacts */
    enum ap_severity severity;
    const struct ap_severity_clause *severity_clauses;
    size_t severity_clause_count;
    enum ap_confidence confidence;
    const struct ap_confidence_clause *confidence_clauses;
    size_t confidence_clause_count;
    const struct ap_figure_info
        *rank_by[AP_RULE_MAX_RANKS]; /* times or sizes: the smallest one that is known bounds the saving */
    size_t rank_by_count;
    struct ap_text rests_on[AP_RULE_MAX_RESTS]; /* paths of confidences in the report: the least of them is the most */
    size_t rests_on_count;
    enum ap_domain domain;
    uint32_t phases; /* that it is about; 0 = no part in particular */
    const struct ap_rule_place *places;
    size_t place_count;
    struct ap_text due_to; /* lists of causes, which few runs ask for: read where the rule is told */
    const char *bottleneck;
    struct ap_hardware hardware;
    const struct ap_rule *const *suppressed_by;
    size_t suppressed_by_count;
    bool suppresses_all;          /* the recording is of something else than the run: no advice is taken from it */
    bool not_among_ranks;         /* the report on a run leaves it out, though all ranks have it alike */
    enum ap_severity among_ranks; /* the most that it weighs there */
};

/** Ids are looked up among those of one length. */
#define AP_RULE_LENGTHS 64

struct ap_rubric {
    struct ap_arena arena;   /* holds this struct, too */
    struct ap_text document; /* as it was read; in the arena, or compiled in */
    const struct ap_rule *first, *of_length[AP_RULE_LENGTHS];
    struct ap_rule *last; /* of those that were read */
    size_t rule_count;
};

/** Of the document that is compiled in, without an arena: written by write_rules at build time. */
extern const struct ap_rubric ap_rubric_made;

/** rule_reader.c: one without rules. */
AP_MUST_CHECK enum ap_status ap_rubric_new(struct ap_gate *gate, struct ap_rubric **ret_rubric, struct ap_error *reterr);
/** rule_reader.c: as its last rule; it lies in the arena of @rubric. */
void ap_rubric_append(struct ap_rubric *rubric, struct ap_rule *rule);
/** NULL where no rule has the id. */
const struct ap_rule *ap_rubric_find(const struct ap_rubric *rubric, struct ap_text id);

/** rule_block.c: letters, digits, '_' and '.': what stands at a path depends on the input, so that only the form can be
 * checked. */
bool ap_text_is_path(struct ap_text text);

/** rule_block.c: the machine part; fills all of *rule but its texts. @text stays as long as @rubric, since the rule keeps
 * pieces of it; @place is of its first line. */
AP_MUST_CHECK enum ap_status ap_rule_block_parse(struct ap_rubric *rubric, struct ap_text text, struct ap_place place,
                                                 struct ap_rule *rule, struct ap_error *reterr);

/* ---- rule_topic.c: domains and phases ---- */

/** False, and nothing is written, where there is no such domain. */
bool ap_domain_find(struct ap_text name, enum ap_domain *ret_domain);
/** Likewise for phases. */
bool ap_phase_find(struct ap_text name, size_t *ret_phase);
/** The domain of the first figure of the condition: what a rule is about that does not say so. */
enum ap_domain ap_rule_default_domain(const struct ap_rule *rule);
/** Is it about what changed since a baseline? Without one nobody asks for it. */
bool ap_rule_is_about_comparison(const struct ap_rule *rule);
/** Is it about a file of another profiler? */
bool ap_rule_is_of_profile(const struct ap_rule *rule);
/** Do the options keep findings of this rule? */
bool ap_rule_is_wanted(const struct ap_rule *rule, const struct ap_judge_options *options);

/* ---- rule_places.c: where in the trace a finding can be looked at ---- */

#define AP_FINDING_MAX_PLACES 5

/** Append the list "places": name, start_us, dur_us, pid, tid of rows that the report holds at the rule's places or, where
 * it names none, beside the figures of its condition. */
void ap_rule_add_places(const struct ap_rule *rule, struct ap_model *model, struct ap_value *finding);

/* ---- rule_due_to.c: who or what holds or takes most of what a finding is about ---- */

#define AP_FINDING_MAX_CAUSES 3

/** Is it "PATH(NAME: AMOUNT where KEY is VALUE); ...", lists of the report? What it takes to read that stays in @arena. */
AP_MUST_CHECK enum ap_status ap_cause_lists_check(struct ap_text text, struct ap_place place, struct ap_arena *arena,
                                                  struct ap_error *reterr);
/** Append the list "affected": name and time, bytes or count of the largest rows of the first list of the rule that has any;
 * lists on the way are gone through, rows of one name are summed up. Rows without a name or an amount are left out. */
AP_MUST_CHECK enum ap_status ap_rule_add_causes(const struct ap_rule *rule, struct ap_model *model, struct ap_value *finding,
                                                struct ap_error *reterr);

/* ---- rule_change.c: what a replay would change ---- */

/** Can the placeholders be filled: {saving}, or times and counts that rules may name? *ret_unknown: the first that cannot.
 */
bool ap_rule_change_check(struct ap_text change, struct ap_text *ret_unknown);
/** Append "change": null where the rule names none, or a figure in it is not known or 0. @saving_ns: 0 = not a time. */
void ap_rule_add_change(const struct ap_rule *rule, const struct ap_value *root, int64_t saving_ns, struct ap_model *model,
                        struct ap_value *finding);

struct ap_gain {
    bool known; /* else the rest is 0 */
    double step_ratio;
    int64_t window_ns;
};

/** How much of what the change of the rule is about lies in the phase that the options name. *ret_known: false where they
 *  name none, where the rule is about phases of its own, or where it is not told. */
AP_MUST_CHECK enum ap_status ap_rule_phase_share(const struct ap_rule *rule, const struct ap_value *root,
                                                 const struct ap_judge_options *options, bool *ret_known, double *ret_ratio,
                                                 struct ap_error *reterr);

/** What taking away the cause gains, as the options predict it. */
AP_MUST_CHECK enum ap_status ap_rule_gain(const struct ap_rule *rule, const struct ap_value *root, int64_t saving_ns,
                                          const struct ap_judge_options *options, struct ap_gain *ret_gain,
                                          struct ap_error *reterr);

/* ---- rule_verify.c: how to see whether a change helped ---- */

/** Append "verify_command". */
void ap_rule_add_command(const struct ap_rule *rule, const struct ap_judge_options *options, struct ap_model *model,
                         struct ap_value *finding);

/* ---- rule_text.c: placeholders ---- */

/** How the program that was recorded is told to record this artifact; NULL where it or its device has no way of its own. */
const char *ap_program_advice(const struct ap_value *root, const char *artifact);

/** Are all placeholders of @text such that can be filled? Its line breaks count lines from @place on. */
AP_MUST_CHECK enum ap_status ap_rule_text_check(const struct ap_rule *rule, struct ap_text text, struct ap_place place,
                                                struct ap_error *reterr);

/** Text that grows. {0} with a gate is the empty state. */
struct ap_text_buffer {
    struct ap_gate *gate;
    char *data;
    size_t used, capacity;
};

/** Append; on failure the buffer is as it was. */
AP_MUST_CHECK enum ap_status ap_text_buffer_add(struct ap_text_buffer *buffer, struct ap_text text, struct ap_error *reterr);
void ap_text_buffer_release(struct ap_text_buffer *buffer);

/** Append @text with its placeholders filled. */
AP_MUST_CHECK enum ap_status ap_rule_text_fill(const struct ap_rule *rule, struct ap_text text, const struct ap_value *root,
                                               struct ap_text_buffer *to, struct ap_error *reterr);

#endif
