/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "option_names.h"
#include "value_text.h"

#include "poison.h"

#define OWNER_BYTES 200 /* of a line whose folders come first */

double ap_relative_difference(double before, double after)
{
    double larger = fabs(before) > fabs(after) ? fabs(before) : fabs(after);
    return larger > 0 ? fabs(after - before) / larger : 0;
}

static const struct ap_value *before_at(const struct ap_comparing *comparing, const char *path)
{
    return ap_value_at(comparing->before, path);
}

static const struct ap_value *after_at(const struct ap_comparing *comparing, const char *path)
{
    return ap_value_at(comparing->after, path);
}

static double number_at(const struct ap_value *root, const char *path, double otherwise)
{
    double number;
    return ap_value_number(ap_value_at(root, path), &number) && isfinite(number) ? number : otherwise;
}

/* ---- what is compared ---- */

static void add_copy(struct ap_comparing *comparing, struct ap_value *to, const char *key, const char *path)
{
    struct ap_text text = ap_value_text(before_at(comparing, path));
    ap_add_known_text(comparing->model, to, key, text.bytes > 0, text);
}

static void add_baseline(struct ap_comparing *comparing, const struct ap_compare_run *run)
{
    struct ap_model *model = comparing->model;
    struct ap_value *baseline = ap_add_object(model, comparing->comparison, "baseline");
    ap_add_string(model, baseline, "path", run->path);
    ap_add_string(model, baseline, "kind", run->kind);
    add_copy(comparing, baseline, "generator_version", "generator.version");
    add_copy(comparing, baseline, "trace_path", "trace.path");
    add_copy(comparing, baseline, "memory_path", "memory.path");
    struct ap_value *context = ap_add_object(model, baseline, "context");
    for (const struct ap_value *label = ap_value_first(before_at(comparing, "context")); label; label = label->next)
        ap_add_text_named(model, context, label->key, ap_value_text(label));
}

/* ---- are they of one kind? ---- */

static bool is_same(const struct ap_value *a, const struct ap_value *b)
{
    double x = 0, y = 0;
    if (ap_value_number(a, &x) && ap_value_number(b, &y))
        return x == y;
    if (!a || !b || a->type == AP_VALUE_NULL || b->type == AP_VALUE_NULL)
        return true; /* not known: nothing to say */
    return a->type != AP_VALUE_TEXT || ap_text_equal(ap_value_text(a), ap_value_text(b));
}

/* Were devices recorded on both sides, or on none? */
static bool basis_is_same(const struct ap_comparing *comparing)
{
    return is_same(before_at(comparing, "split.basis"), after_at(comparing, "split.basis"));
}

/* Where these differ it is another experiment. */
static const struct {
    const char *path, *name;
} conditions[] = {
    { "trace.main_device.name", "devices" },
    { "trace.world_size", "numbers of ranks" },
    { "cluster.rank_count", "numbers of ranks that are given" },
    { "trace.rank", "ranks" },
    { "engine.mostly", "steps of the engine" },
};
enum { CONDITION_RANKS = 1 };

static bool recordings_differ(const struct ap_comparing *comparing)
{
    return strcmp(ap_recording_kind(comparing->before), ap_recording_kind(comparing->after)) != 0;
}

static bool condition_differs(const struct ap_comparing *comparing, size_t i)
{
    if (i == CONDITION_RANKS && ap_ranks_differ(comparing))
        return true;
    return !is_same(before_at(comparing, conditions[i].path), after_at(comparing, conditions[i].path));
}

static void set_alike(struct ap_comparing *comparing)
{
    comparing->alike = !recordings_differ(comparing);
    for (size_t i = 0; i < AP_COUNT_OF(conditions); i++)
        comparing->alike = comparing->alike && !condition_differs(comparing, i);
}

static const struct {
    const char *path, *text;
} differences[] = {
    { "trace.main_device.name", "the devices differ: times of two kinds of GPU" },
    { "trace.world_size", "the number of ranks differs" },
    { "trace.rank", "the traces are of different ranks" },
    { "engine.mostly", "the engine did other work: what it did on one side it hardly did on the other" },
    { "steps.source", "what stands for a step differs: step times may not be of the same thing" },
    { "split.basis", "one was recorded with GPU rows and one without: the parts of the time are not compared" },
    { "trace.recorded.shapes", "shapes were recorded in one only (record_shapes): it slows the host" },
    { "trace.recorded.stacks", "Python stacks were recorded in one only (with_stack): it slows the host" },
    { "trace.recorded.memory", "memory was recorded in one only (profile_memory): it slows the host" },
    { "trace.complete", "one of the traces is cut" },
    { "memory.complete", "one of the snapshots is cut" },
    { "generator.version", "the baseline was written by another version of this program, which may count differently" },
};

/* Which of the two is there decides, not what it holds. */
static void note_missing(struct ap_comparing *comparing, struct ap_value *notes, const char *path, const char *what)
{
    char text[120];
    bool before = ap_value_first(before_at(comparing, path)) != NULL,
         after = ap_value_first(after_at(comparing, path)) != NULL;
    if (before == after)
        return;
    (void)snprintf(text, sizeof(text), "only the %s has %s", before ? "baseline" : "new report", what);
    ap_add_string(comparing->model, notes, NULL, text);
}

static void add_notes(struct ap_comparing *comparing)
{
    struct ap_value *notes = ap_add_list(comparing->model, comparing->comparison, "notes");
    note_missing(comparing, notes, "trace", "a trace");
    note_missing(comparing, notes, "memory", "a memory snapshot");
    if (ap_value_first(before_at(comparing, "trace")) && ap_value_first(after_at(comparing, "trace")))
        note_missing(comparing, notes, "steps", "steps");
    for (size_t i = 0; i < AP_COUNT_OF(differences); i++)
        if (!is_same(before_at(comparing, differences[i].path), after_at(comparing, differences[i].path)))
            ap_add_string(comparing->model, notes, NULL, differences[i].text);
    if (recordings_differ(comparing))
        ap_add_string(comparing->model, notes, NULL,
                      "one recording is of no run: what it shows is not how the program runs");
    if (ap_stacks_differ(comparing))
        ap_add_string(comparing->model, notes, NULL,
                      "the snapshots have the stacks of very different shares of their memory: whose it is is not compared");
    if (ap_ranks_differ(comparing))
        ap_add_string(comparing->model, notes, NULL, "one is of a run of several ranks, and the other tells of none");
    if (comparing->behind)
        ap_add_string(comparing->model, notes, NULL,
                      "the devices work longer than the steps of the host last: marks of steps on the host do not tell how "
                      "long a step takes; wait for the device at the end of a step to see it there");
    if (ap_lengths_differ(comparing))
        ap_add_string(comparing->model, notes, NULL,
                      "the recordings differ in length, and times are of the whole recording: "
                      "operators and kernels of the longer one take more for that alone");
    bool left_out = ap_value_integer(before_at(comparing, "findings_left_out"), 0) > 0 ||
                    ap_value_integer(after_at(comparing, "findings_left_out"), 0) > 0;
    if (left_out)
        ap_add_string(comparing->model, notes, NULL,
                      "findings are left out by " AP_OPTION_FOCUS " or " AP_OPTION_PHASE
                      ": some of those that are new or gone "
                      "may only be out of sight");
}

/* ---- noise ---- */

static double larger_at(const struct ap_comparing *comparing, const char *path)
{
    double before = number_at(comparing->before, path, 0), after = number_at(comparing->after, path, 0);
    return before > after ? before : after;
}

/* How much must a difference be that no test decides? */
static void set_noise(struct ap_comparing *comparing)
{
    double before = number_at(comparing->before, "steps.steady.count", 0),
           after = number_at(comparing->after, "steps.steady.count", 0);
    double steps = larger_at(comparing, "steps.steady.cv_ratio"), runs = ap_runs_spread(comparing);
    double spread = AP_NOISE_SPREADS * (steps > runs ? steps : runs);
    comparing->noise_of_steps = before >= 2 && after >= 2;
    comparing->noise_ratio = !comparing->noise_of_steps      ? AP_NOISE_UNKNOWN_RATIO
                             : spread > AP_NOISE_LEAST_RATIO ? spread
                                                             : AP_NOISE_LEAST_RATIO;
}

static void set_parts(struct ap_comparing *comparing)
{
    double before = number_at(comparing->before, "steps.count", 0), after = number_at(comparing->after, "steps.count", 0);
    comparing->per_step = before >= 1 && after >= 1;
    comparing->before_parts = comparing->per_step ? before : 1;
    comparing->after_parts = comparing->per_step ? after : 1;
    comparing->whole_ns = larger_at(comparing, comparing->per_step ? "steps.mean_us" : "trace.window_us");
    ap_compare_work(comparing);
}

static void add_noise(struct ap_comparing *comparing)
{
    struct ap_model *model = comparing->model;
    struct ap_value *noise = ap_add_object(model, comparing->comparison, "noise");
    ap_add_ratio(model, noise, "ratio", comparing->noise_ratio);
    ap_add_string(model, noise, "of",
                  comparing->noise_of_steps
                      ? (comparing->several
                             ? "twice the spread of the steady steps, or of the runs of a side where that is more (standard "
                               "deviation over mean, the larger of both), at least 5 %"
                             : "twice the spread of the steady steps (standard deviation over mean, the larger of both), "
                               "at least 5 %")
                      : "nothing that repeats: there are no two steady steps on both sides, so 10 % is taken");
    ap_add_ratio(model, noise, "least_share_ratio", AP_ROW_LEAST_RATIO);
}

/* ---- in a sentence ---- */

/* "Different devices (A now, B before) and ranks (1 now, 3 before)" */
static void add_conditions(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    const char *between = "";
    (void)snprintf(text, bytes, "Different ");
    if (recordings_differ(comparing)) {
        (void)snprintf(text, bytes, "Different recordings (%s now, %s before)", ap_recording_kind(comparing->after),
                       ap_recording_kind(comparing->before));
        between = ", ";
    }
    for (size_t i = 0; i < AP_COUNT_OF(conditions); i++) {
        size_t used = strlen(text);
        if (!condition_differs(comparing, i))
            continue;
        (void)ap_format_value(before_at(comparing, conditions[i].path), before, sizeof(before));
        (void)ap_format_value(after_at(comparing, conditions[i].path), after, sizeof(after));
        if (i == CONDITION_RANKS && ap_ranks_differ(comparing))
            (void)snprintf(number_at(comparing->after, conditions[i].path, 0) > 1 ? before : after, sizeof(after),
                           "none told");
        (void)snprintf(text + used, bytes - used, "%s%s (%.60s now, %.60s before)", between, conditions[i].name, after,
                       before);
        between = ", ";
    }
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, ": not the same experiment, so no time tells whether the program got slower");
}

static const char *format(const struct ap_value *steps, const char *key, char *text)
{
    (void)ap_format_value(ap_value_member(steps, key), text, AP_VALUE_TEXT_BYTES);
    return text;
}

static void add_test(const struct ap_comparing *comparing, const struct ap_value *steps, bool differs, char *text,
                     size_t bytes)
{
    char p[AP_VALUE_TEXT_BYTES];
    const char *values = comparing->several ? "runs" : "steady steps";
    const struct ap_value *tested = ap_value_member(steps, "test");
    long long after = (long long)ap_integer_member(steps, "after_count", 0),
              before = (long long)ap_integer_member(steps, "before_count", 0);
    const char *equal = number_at(steps, "delta_us", 0) == 0 ? ", and the medians are equal" : "";
    (void)format(steps, "p_value", p);
    if (tested && tested->type == AP_VALUE_TEXT)
        (void)snprintf(text, bytes, " (%.*s, p %s%s; %lld and %lld %s)", (int)ap_value_text(tested).bytes,
                       ap_value_text(tested).data, *p == '<' ? "< " : "= ", *p == '<' ? p + 1 : p, after, before, values);
    else
        (void)snprintf(text, bytes, " (%lld and %lld %s are too few for a test%s)", after, before, values,
                       differs ? ", but do not overlap" : equal);
}

/* Which way steps changed, where runs repeat; else that they differ, which one run a side does not tell from chance. */
static void add_step_sentence(const struct ap_comparing *comparing, const struct ap_value *steps, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES], head[60];
    double delta = number_at(steps, "delta_ratio", 0);
    enum ap_change change = comparing->step_change;
    bool differs = change == AP_CHANGE_worse || change == AP_CHANGE_better;
    if (differs && comparing->repeats)
        (void)snprintf(head, sizeof(head), "Steps are %.1f %% %s", fabs(delta) * 100, delta > 0 ? "slower" : "faster");
    else
        (void)snprintf(head, sizeof(head), "%s",
                       differs                       ? "Steps differ"
                       : change == AP_CHANGE_unclear ? "Whether steps are slower cannot be told"
                                                     : "Steps are no slower and no faster");
    (void)snprintf(text, bytes, "%s: the median steady step takes %s, it took %s before", head,
                   format(steps, "after_p50_us", after), format(steps, "before_p50_us", before));
    size_t used = strlen(text);
    if (differs && !comparing->repeats)
        (void)snprintf(text + used, bytes - used, ", %+.1f %%", delta * 100);
    used = strlen(text);
    add_test(comparing, steps, differs, text + used, bytes - used);
    used = strlen(text);
    if (differs && !comparing->repeats)
        (void)snprintf(text + used, bytes - used, "; %s does not tell this from chance between runs, %d runs a side do",
                       comparing->several ? "so few" : "one run a side", AP_RUNS_LEAST_COUNT);
}

static const char *format_ns(double ns, char *text)
{
    struct ap_value value = { .type = AP_VALUE_TIME_NS, .as.integer = (int64_t)ns };
    (void)ap_format_value(&value, text, AP_VALUE_TEXT_BYTES);
    return text;
}

/* Where devices are behind the host, a step takes as long as they work for it. */
static void add_behind_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    double before_ns = comparing->before_step_ns, after_ns = comparing->after_step_ns;
    bool changed = comparing->longer_change != AP_CHANGE_none;
    (void)snprintf(
        text, bytes,
        "%s: steps of the host end before their work is done; by the longer of a host's step and what the devices "
        "work for it, a step takes %s, it took %s before (%+.1f %%)",
        changed ? comparing->repeats ? after_ns > before_ns ? "Steps are slower" : "Steps are faster" : "Steps differ"
                : "Steps differ by no more than noise",
        format_ns(after_ns, after), format_ns(before_ns, before), 100 * (after_ns - before_ns) / before_ns);
    size_t used = strlen(text);
    if (changed && !comparing->repeats)
        (void)snprintf(text + used, bytes - used, "; %s does not tell this from chance between runs, %d runs a side do",
                       comparing->several ? "so few" : "one run a side", AP_RUNS_LEAST_COUNT);
}

static void add_unlike_sentence(const struct ap_comparing *comparing, const struct ap_value *steps, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    add_conditions(comparing, text, bytes);
    size_t used = strlen(text);
    if (ap_value_first(steps))
        (void)snprintf(text + used, bytes - used,
                       "; the median steady step takes %s, it took %s there. What runs can be compared: operators, kernels "
                       "and copies that are new, gone or more",
                       format(steps, "after_p50_us", after), format(steps, "before_p50_us", before));
    ap_add_ranks_sentence(comparing, text, bytes);
}

/* The step may hide what kernels take: behind idle time, or because there are too few steps to tell. Without steps, that
 * kernels take as long is all that can be told. */
static void add_device_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    char delta[AP_VALUE_TEXT_BYTES], before[AP_VALUE_TEXT_BYTES];
    const struct ap_value *device = ap_value_member(comparing->comparison, "device");
    size_t used = strlen(text);
    if (comparing->device_change == AP_CHANGE_none && !comparing->per_step && ap_value_first(device))
        (void)snprintf(text + used, bytes - used, "; kernels take about as long: %s, %s before",
                       format(device, "after_us", delta), format(device, "before_us", before));
    if (comparing->device_change == AP_CHANGE_none || ap_largest_part(comparing) || comparing->behind)
        return;
    (void)format(device, "delta_us", delta);
    (void)snprintf(text + used, bytes - used, "; kernels take %s %s%s (%+.1f %%)", delta + (*delta == '-'),
                   number_at(device, "delta_us", 0) > 0 ? "more" : "less", comparing->per_step ? " a step" : "",
                   number_at(device, "delta_ratio", 0) * 100);
}

static void add_list(const struct ap_value *list, char *text, size_t bytes)
{
    const struct ap_value *name = ap_value_first(list);
    for (size_t told = 0; name && told < 2; name = name->next, told++) {
        size_t used = strlen(text);
        struct ap_text words = ap_value_text(name);
        (void)snprintf(text + used, bytes - used, "%s%.*s", told ? " and " : "", (int)(words.bytes > 60 ? 60 : words.bytes),
                       words.data);
    }
    size_t used = strlen(text);
    if (name)
        (void)snprintf(text + used, bytes - used, " and %zu more", ap_value_count(list) - 2);
}

/* The largest work that took another's place, and what is computed in another type. */
static void add_replaced_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES], name[AP_VALUE_TEXT_BYTES];
    const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, "replaced")), *largest = row;
    for (; row; row = row->next)
        if (number_at(row, "before_us", 0) + number_at(row, "after_us", 0) >
            number_at(largest, "before_us", 0) + number_at(largest, "after_us", 0))
            largest = row;
    size_t used = strlen(text);
    if (largest) {
        (void)snprintf(text + used, bytes - used, "; ");
        add_list(ap_value_member(largest, "after"), text, bytes);
        used = strlen(text);
        (void)snprintf(text + used, bytes - used, " (%s) in place of ", format(largest, "after_us", after));
        add_list(ap_value_member(largest, "before"), text, bytes);
        used = strlen(text);
        (void)snprintf(text + used, bytes - used, " (%s)", format(largest, "before_us", before));
    }
    const struct ap_value *type = ap_largest_typed(comparing, "types");
    used = strlen(text);
    if (type)
        (void)snprintf(text + used, bytes - used, "; %.60s computes in %.40s, in %.40s before", format(type, "name", name),
                       format(type, "after", after), format(type, "before", before));
    ap_add_shapes_sentence(comparing, text, bytes);
    ap_add_layouts_sentence(comparing, text, bytes);
    ap_add_sizes_sentence(comparing, text, bytes);
    const struct ap_value *layout = ap_value_member(comparing->comparison, "layout");
    used = strlen(text);
    if (ap_value_first(layout))
        (void)snprintf(text + used, bytes - used, "; copies between layouts take %s, %s before",
                       format(layout, "after_us", after), format(layout, "before_us", before));
}

static bool has_trace(const struct ap_comparing *comparing)
{
    return ap_value_first(before_at(comparing, "trace")) || ap_value_first(after_at(comparing, "trace"));
}

/* What two snapshots are compared by: the peak, where both have a history, else what was reserved at the end; NULL =
 * neither. */
static const struct ap_value *memory_row(const struct ap_comparing *comparing)
{
    static const char *const figures[] = { "memory.replay.devices.peak_reserved_bytes", "memory.summary.reserved_bytes" };
    for (size_t i = 0; i < AP_COUNT_OF(figures); i++) {
        const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, "memory"));
        for (; row; row = row->next) {
            const struct ap_value *delta = ap_value_member(row, "delta");
            if (ap_text_is(ap_text_member(row, "metric"), figures[i]) && delta->type == AP_VALUE_BYTES)
                return row;
        }
    }
    return NULL;
}

/* Who holds more, where more is held, or less: the largest of them. */
static const struct ap_value *largest_owner(const struct ap_comparing *comparing, double delta)
{
    const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, "memory_owners.rows")), *largest = NULL;
    for (; row; row = row->next) {
        double owned = number_at(row, "delta_bytes", 0);
        if (owned * delta > 0 && fabs(owned) > fabs(number_at(largest, "delta_bytes", 0)))
            largest = row;
    }
    return largest;
}

static void add_memory_sentence(const struct ap_comparing *comparing, const struct ap_value *row, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES], delta[AP_VALUE_TEXT_BYTES];
    struct ap_text title = ap_text_member(row, "title");
    (void)snprintf(text, bytes, "%.*s: %s, it was %s before (%+.1f %%)", (int)title.bytes, title.data,
                   format(row, "after", after), format(row, "before", before), number_at(row, "delta_ratio", 0) * 100);
    const struct ap_value *owner =
        ap_text_is(ap_text_member(row, "change"), "no change") ? NULL : largest_owner(comparing, number_at(row, "delta", 0));
    struct ap_text name = ap_text_cut(ap_text_member(owner, "name"), OWNER_BYTES);
    size_t used = strlen(text);
    if (owner)
        (void)snprintf(text + used, bytes - used, "; what changed most at the peak: %.*s, %s%s", (int)name.bytes, name.data,
                       number_at(owner, "delta_bytes", 0) > 0 ? "+" : "", format(owner, "delta_bytes", delta));
}

/* Rows of a list with this change. */
static int64_t count_changes(const struct ap_value *list, const char *change)
{
    int64_t count = 0;
    for (const struct ap_value *row = ap_value_first(list); row; row = row->next)
        count += ap_text_is(ap_text_member(row, "change"), change);
    return count;
}

/* What of the work changed, behind what is said of the steps. */
static void add_work_sentences(const struct ap_comparing *comparing, const struct ap_value *steps, char *text, size_t bytes)
{
    const struct ap_value *shapes = ap_largest_typed(comparing, "shapes");
    if (comparing->alike && !ap_lengths_differ(comparing) && (ap_value_first(steps) || !shapes)) {
        add_device_sentence(comparing, text, bytes);
        ap_add_same_sentence(comparing, text, bytes);
        ap_add_other_kernel_sentence(comparing, text, bytes);
        ap_add_launches_sentence(comparing, text, bytes);
        ap_add_collectives_sentence(comparing, text, bytes);
        ap_add_rows_sentence(comparing, basis_is_same(comparing), text, bytes);
        ap_add_alone_sentence(comparing, text, bytes);
    }
    size_t used = strlen(text);
    if (comparing->alike && !shapes)
        ap_add_pieces_sentence(comparing, text, bytes);
    if (comparing->alike && used == strlen(text))
        ap_add_counts_sentence(comparing, text, bytes);
    add_replaced_sentence(comparing, text, bytes);
}

/* The sentence, and in one word what changed. */
static struct ap_text say_verdict(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *steps = ap_value_member(comparing->comparison, "steps");
    const struct ap_value *memory = has_trace(comparing) ? NULL : memory_row(comparing);
    struct ap_text change = ap_text_of(
        ap_change_name(ap_value_first(steps) ? ap_change_said(comparing, comparing->step_change) : AP_CHANGE_unknown));
    if (memory) {
        add_memory_sentence(comparing, memory, text, bytes);
        change = ap_text_member(memory, "change");
    } else if (ap_is_one_recording(comparing)) {
        (void)snprintf(text, bytes, "Both are the same recording: give one of the program before and one of it now");
        return AP_TEXT("no change");
    } else if (!comparing->alike) {
        add_unlike_sentence(comparing, steps, text, bytes);
        change = AP_TEXT("not comparable");
    } else if (comparing->behind && comparing->before_step_ns > 0 && basis_is_same(comparing)) {
        add_behind_sentence(comparing, text, bytes);
        change = ap_text_of(ap_change_name(ap_change_said(comparing, comparing->longer_change)));
    } else if (ap_value_first(steps)) {
        add_step_sentence(comparing, steps, text, bytes);
        ap_add_long_sentence(comparing, text, bytes);
        ap_add_period_sentence(comparing, text, bytes);
        ap_add_part_sentence(comparing, text, bytes);
    } else if (ap_are_runs_of_ranks(comparing)) {
        ap_add_cluster_sentence(comparing, text, bytes);
        change = ap_text_of(ap_change_name(ap_change_said(comparing, ap_compare_cluster(comparing))));
    } else {
        bool of_ranks = ap_value_first(before_at(comparing, "cluster")) && ap_value_first(after_at(comparing, "cluster"));
        (void)snprintf(text, bytes, "%s: whether the run is slower cannot be told",
                       of_ranks ? "The ranks of one side, or of both, have no steps in common"
                                : "One side has no steady steps, or neither");
    }
    if (!memory)
        add_work_sentences(comparing, steps, text, bytes);
    if (!memory && comparing->alike)
        ap_add_findings_sentence(comparing, text, bytes);
    return change;
}

static void add_verdict(struct ap_comparing *comparing)
{
    struct ap_model *model = comparing->model;
    char text[1600];
    struct ap_text change = say_verdict(comparing, text, sizeof(text));
    const struct ap_value *findings = ap_value_at(comparing->comparison, "findings.rows");
    struct ap_value *verdict = ap_add_object(model, comparing->comparison, "verdict");
    ap_add_text(model, verdict, "change", change);
    ap_add_string(model, verdict, "sentence", text);
    struct ap_text before = ap_value_text(before_at(comparing, "verdict.bound")),
                   after = ap_value_text(after_at(comparing, "verdict.bound"));
    ap_add_known_text(model, verdict, "before_bound", before.bytes > 0, before);
    ap_add_known_text(model, verdict, "after_bound", after.bytes > 0, after);
    static const struct {
        const char *key, *change;
    } counted[] = { { "new_count", "new" },       { "gone_count", "gone" },       { "worse_count", "worse" },
                    { "better_count", "better" }, { "differs_count", "differs" }, { "changed_count", "changed" } };
    for (size_t i = 0; i < AP_COUNT_OF(counted); i++)
        ap_add_count(model, verdict, counted[i].key, count_changes(findings, counted[i].change));
}

static enum ap_status compare_sides(struct ap_comparing *comparing, const struct ap_compare_run *baseline,
                                    struct ap_error *reterr)
{
    set_alike(comparing);
    set_noise(comparing);
    set_parts(comparing);
    add_baseline(comparing, baseline);
    ap_compare_runs(comparing);
    AP_TRY(ap_find_same_calls(comparing, reterr));
    add_notes(comparing);
    add_noise(comparing);
    AP_TRY(ap_compare_steps(comparing, reterr));
    AP_TRY(ap_compare_rows(comparing, reterr));
    AP_TRY(ap_compare_pairs(comparing, reterr));
    ap_compare_device(comparing);
    AP_TRY(ap_compare_same(comparing, reterr));
    ap_compare_figures(comparing);
    ap_compare_findings(comparing);
    ap_compare_largest(comparing);
    add_verdict(comparing);
    return ap_model_status(comparing->model, reterr);
}

enum ap_status ap_compare(struct ap_model *model, const struct ap_compare_options *options, struct ap_error *reterr)
{
    size_t middle = ap_compare_middle(options->before, options->before_count), after_count = options->more_count + 1;
    struct ap_compare_run *after;
    AP_TRY(AP_ALLOC(model->arena.gate, after, after_count, reterr));
    after[0] = (struct ap_compare_run){ options->after_path, "report", &model->root };
    for (size_t i = 0; i < options->more_count; i++)
        after[i + 1] = options->more[i];
    struct ap_comparing comparing = {
        .gate = model->arena.gate,
        .model = model,
        .before = options->before[middle].root,
        .after = &model->root,
        .sides = { { options->before, options->before_count }, { after, after_count } },
        .several = options->before_count + after_count > 2,
        .repeats = options->before_count >= AP_RUNS_LEAST_COUNT && after_count >= AP_RUNS_LEAST_COUNT,
        .top_n = options->top_n,
    };
    comparing.comparison = ap_add_object(model, &model->root, "comparison");
    enum ap_status status = compare_sides(&comparing, &options->before[middle], reterr);
    AP_FREE(model->arena.gate, after, after_count);
    return status;
}
