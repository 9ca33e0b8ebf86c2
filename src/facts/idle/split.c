/* SPDX-License-Identifier: MIT
 * split.c - the sweep over the rows of the devices: classes and gaps. Causes of the gaps: idle.c. */
#include "split.h"

#include <string.h>

#include "even_steps.h"
#include "idle.h"
#include "recurring_calls.h"

#include "poison.h"

#define DETAIL_MAX_COUNT 2000
#define LITTLE_BETWEEN 10 /* steps that leave out more than one part in this many are not all that a loop does: our choice */

int64_t ap_split_idle_ns(const struct ap_split_part *part)
{
    int64_t idle_ns = part->dur_ns;
    for (int i = 0; i < AP_SPLIT_CLASS_COUNT_; i++)
        idle_ns -= part->class_ns[i];
    return idle_ns;
}

bool ap_split_leaves_out(const struct ap_split *split)
{
    return split->between_ns > split->steady.dur_ns / LITTLE_BETWEEN;
}

const struct ap_split_part *ap_split_judged(const struct ap_split *split)
{
    /* Steps of a host that runs far ahead, and few steps in a long recording, say less than the whole window. */
    bool says_all = split->steady_count && split->steady.dur_ns >= split->window.dur_ns / 2 && !ap_split_leaves_out(split);
    return says_all ? &split->steady : &split->window;
}

enum ap_idle_cause ap_split_top_cause(const int64_t *cause_ns)
{
    int top = 0;
    for (int i = 1; i < AP_IDLE_CAUSE_COUNT_; i++)
        if (cause_ns[i] > cause_ns[top])
            top = i;
    return (enum ap_idle_cause)top;
}

/* ------------------------------------------------------------------------------------------------------- classes */

/* Each class covers what the classes before it left: unions of growing sets, whose differences are the classes. */
struct cover {
    int64_t to_ns;
    size_t step; /* the first one that a later piece can touch */
};

struct sweep {
    struct ap_split *split;
    const struct ap_steps *steps;
    struct cover covers[AP_SPLIT_CLASS_COUNT_];
};

static void credit_piece(struct sweep *sweep, int class, int64_t start_ns, int64_t end_ns)
{
    struct ap_split *split = sweep->split;
    size_t *step = &sweep->covers[class].step;
    split->window.class_ns[class] += end_ns - start_ns;
    ap_time_bins_add_class(split->bins, class, start_ns, end_ns);
    while (*step < sweep->steps->count && sweep->steps->steps[*step].end_ns <= start_ns)
        ++*step;
    for (size_t i = *step; i < sweep->steps->count && sweep->steps->steps[i].start_ns < end_ns; i++) {
        const struct ap_step *touched = &sweep->steps->steps[i];
        int64_t from_ns = touched->start_ns > start_ns ? touched->start_ns : start_ns;
        int64_t to_ns = touched->end_ns < end_ns ? touched->end_ns : end_ns;
        if (to_ns > from_ns)
            split->steps[i].class_ns[class] += to_ns - from_ns;
    }
}

static void cover_row(struct sweep *sweep, int first_class, int64_t start_ns, int64_t end_ns)
{
    for (int class = first_class; class < AP_SPLIT_CLASS_COUNT_; class ++) {
        struct cover *cover = &sweep->covers[class];
        if (end_ns <= cover->to_ns)
            continue;
        credit_piece(sweep, class, start_ns > cover->to_ns ? start_ns : cover->to_ns, end_ns);
        cover->to_ns = end_ns;
    }
}

static enum ap_split_class class_of(const struct ap_trace *trace, uint32_t row, const struct ap_kernel_families *families)
{
    switch (ap_row_kind(trace->events.tag[row])) {
    case AP_KIND_memcpy: return AP_SPLIT_memcpy;
    case AP_KIND_memset: return AP_SPLIT_memset;
    default: return ap_kernel_is_communication(families, trace, row) ? AP_SPLIT_communication : AP_SPLIT_compute;
    }
}

/* From unions of growing sets to what each class adds. */
static void take_differences(struct ap_split_part *part)
{
    for (int class = AP_SPLIT_CLASS_COUNT_ - 1; class > 0; class --)
        part->class_ns[class] -= part->class_ns[class - 1];
}

/* Window and steps together. */
static void find_outer(const struct ap_split *split, const struct ap_steps *steps, int64_t *ret_start_ns,
                       int64_t *ret_end_ns)
{
    *ret_start_ns = split->start_ns;
    *ret_end_ns = split->end_ns;
    if (steps->count) { /* steps lie in order and apart */
        *ret_start_ns = steps->steps[0].start_ns < *ret_start_ns ? steps->steps[0].start_ns : *ret_start_ns;
        *ret_end_ns =
            steps->steps[steps->count - 1].end_ns > *ret_end_ns ? steps->steps[steps->count - 1].end_ns : *ret_end_ns;
    }
}

static void begin_bins(struct ap_split *split, const struct ap_steps *steps)
{
    int64_t start_ns, end_ns;
    _Static_assert((int)AP_TIME_BIN_CLASSES == (int)AP_SPLIT_CLASS_COUNT_, "bins have the classes of the split");
    find_outer(split, steps, &start_ns, &end_ns);
    if (split->bins)
        ap_time_bins_init(split->bins, start_ns, end_ns);
}

static void finish_bins(struct ap_time_bins *bins)
{
    for (uint32_t i = 0; bins && i < bins->count; i++)
        for (int class = AP_SPLIT_CLASS_COUNT_ - 1; class > 0; class --)
            bins->class_ns[i][class] -= bins->class_ns[i][class - 1];
}

/* ---------------------------------------------------------------------------------------------------------- gaps */

static struct ap_gap_walk walk_of(const struct ap_split *split, const struct ap_merged_work *merged,
                                  const struct ap_steps *steps)
{
    struct ap_gap_walk walk = { .merged = merged };
    find_outer(split, steps, &walk.busy_to_ns, &walk.end_ns);
    return walk;
}

static void sum_gaps(struct ap_split *split, struct ap_gap_walk walk)
{
    static const int64_t over_ns[AP_GAPS_COUNT_] = { 0, 10000, 100000, 1000000 };
    struct ap_gap gap;
    while (ap_gap_next(&walk, &gap)) {
        int64_t gap_ns = gap.end_ns - gap.start_ns;
        for (int sum = 0; sum < AP_GAPS_COUNT_ && gap_ns > over_ns[sum] && ap_gap_in_window(split, &gap); sum++) {
            split->gap_sums[sum].count++;
            split->gap_sums[sum].dur_ns += gap_ns;
        }
    }
}

static void sweep_rows(struct sweep *sweep, const struct ap_merged_work *merged, const struct ap_kernel_families *families)
{
    const struct ap_trace *trace = merged->trace;
    for (int class = 0; class < AP_SPLIT_CLASS_COUNT_; class ++)
        sweep->covers[class].to_ns = INT64_MIN;
    for (size_t i = 0; i < merged->links->count; i++) {
        uint32_t row = merged->links->row[ap_merged_work_at(merged, i)];
        cover_row(sweep, (int)class_of(trace, row, families), trace->events.start_ns[row], ap_row_end_ns(trace, row));
    }
}

static struct ap_gap_detail detail_of(const struct ap_gap *gap, const struct ap_trace *trace, const struct ap_links *links,
                                      uint32_t main_track)
{
    uint32_t next = gap->work == AP_NO_ROW ? AP_NO_ROW : links->row[gap->work];
    uint32_t launch = gap->work == AP_NO_ROW ? AP_NO_ROW : ap_launch_at(links, gap->work);
    struct ap_gap_detail detail = { .start_ns = gap->start_ns, .end_ns = gap->end_ns, .next = next, .track = main_track };
    if (launch != AP_NO_ROW)
        detail.track = trace->events.track[launch];
    memset(detail.host_row, 0xff, sizeof(detail.host_row));
    return detail;
}

/* The list of the longest gaps is the caller's: it has room for DETAIL_MAX_COUNT. */
static enum ap_status choose_details(struct ap_split *split, const struct ap_merged_work *merged, struct ap_gap_walk walk,
                                     uint32_t main_track, struct ap_long_gap **ret_longest, struct ap_error *reterr)
{
    struct ap_long_gap *longest;
    size_t count;
    AP_TRY(ap_longest_gaps(walk, DETAIL_MAX_COUNT, split->gate, &longest, &count, reterr));
    *ret_longest = longest;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(split->gate, split->details, count, reterr));
    split->detail_count = count;
    for (size_t i = 0; i < count; i++)
        split->details[longest[i].rank] = detail_of(&longest[i].gap, merged->trace, merged->links, main_track);
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------------------- windows */

static int64_t last_end_ns(const struct ap_trace *trace, const struct ap_links *links)
{
    int64_t end_ns = INT64_MIN;
    for (size_t i = 0; i < links->count; i++) {
        int64_t row_end_ns = ap_row_end_ns(trace, links->row[i]);
        end_ns = row_end_ns > end_ns ? row_end_ns : end_ns;
    }
    return end_ns;
}

static void set_window(struct ap_split *split, const struct ap_merged_work *merged)
{
    const struct ap_trace *trace = merged->trace;
    split->has_gpu = merged->links->count;
    if (split->has_gpu) {
        split->start_ns = trace->events.start_ns[merged->links->row[ap_merged_work_at(merged, 0)]];
        split->end_ns = last_end_ns(trace, merged->links);
    } else if (trace->has_window) {
        split->start_ns = trace->window_start_ns;
        split->end_ns = trace->window_end_ns;
    }
    split->window.dur_ns = split->end_ns - split->start_ns;
}

static enum ap_status prepare_steps(struct ap_split *split, const struct ap_steps *steps, struct ap_error *reterr)
{
    if (!steps->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(split->gate, split->steps, steps->count, reterr));
    split->step_count = steps->count;
    for (size_t i = 0; i < steps->count; i++)
        split->steps[i].dur_ns = steps->steps[i].end_ns - steps->steps[i].start_ns;
    return AP_OK;
}

static void add_part(struct ap_split_part *to, const struct ap_split_part *part)
{
    to->dur_ns += part->dur_ns;
    for (int i = 0; i < AP_SPLIT_CLASS_COUNT_; i++)
        to->class_ns[i] += part->class_ns[i];
    for (int i = 0; i < AP_IDLE_CAUSE_COUNT_; i++)
        to->cause_ns[i] += part->cause_ns[i];
    to->recording_ns += part->recording_ns;
    to->off_core_ns += part->off_core_ns;
}

static int64_t between_steady_ns(const struct ap_steps *steps)
{
    int64_t between_ns = 0;
    for (size_t i = 1; i < steps->count; i++)
        if (ap_step_is_steady(&steps->steps[i - 1]) && ap_step_is_steady(&steps->steps[i]))
            between_ns += steps->steps[i].start_ns - steps->steps[i - 1].end_ns;
    return between_ns;
}

static void finish_parts(struct ap_split *split, const struct ap_steps *steps)
{
    take_differences(&split->window);
    for (size_t i = 0; i < split->step_count; i++) {
        take_differences(&split->steps[i]);
        if (!ap_step_is_steady(&steps->steps[i]))
            continue;
        add_part(&split->steady, &split->steps[i]);
        split->steady_count++;
    }
    split->between_ns = between_steady_ns(steps);
}

/* Classes and gaps, and what each gap is due to. */
static enum ap_status divide(struct ap_split *split, const struct ap_merged_work *merged, const struct ap_idle_input *input,
                             const struct ap_kernel_families *families, struct ap_error *reterr)
{
    struct sweep sweep = { .split = split, .steps = input->steps };
    struct ap_long_gap *longest = NULL;
    set_window(split, merged);
    begin_bins(split, input->steps);
    AP_TRY(prepare_steps(split, input->steps, reterr));
    sweep_rows(&sweep, merged, families);
    struct ap_gap_walk walk = walk_of(split, merged, input->steps);
    sum_gaps(split, walk);
    enum ap_status status = choose_details(split, merged, walk, input->main_track, &longest, reterr);
    AP_AND_THEN(status, ap_idle_attribute(split, input, walk, longest, reterr));
    AP_FREE(split->gate, longest, DETAIL_MAX_COUNT);
    return status;
}

enum ap_status ap_split_init(struct ap_split *split, const struct ap_trace *trace, const struct ap_row_order *order,
                             const struct ap_host_tree *tree, const struct ap_links *links, const struct ap_steps *steps,
                             const struct ap_kernel_families *families, uint32_t main_track, struct ap_time_bins *bins,
                             struct ap_idle_pieces *pieces, struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_idle_input input = { trace, order, tree, links, steps, main_track };
    struct ap_merged_work merged;
    *split = (struct ap_split){ .gate = gate, .bins = bins, .pieces = pieces, .off_core = { .gate = gate } };
    if (main_track == AP_NO_ROW)
        input.main_track = 0; /* a thread of which nothing is recorded answers nothing */
    enum ap_status status = ap_merged_work_init(&merged, trace, links, gate, reterr);
    AP_AND_THEN(status, divide(split, &merged, &input, families, reterr));
    ap_merged_work_release(&merged);
    AP_TRY(status);
    if (pieces && pieces->is_short)
        return ap_fail_memory(gate, reterr);
    for (size_t i = 0; i < AP_IDLE_CAUSE_COUNT_; i++)
        if (split->of_cause[i].failed)
            return ap_fail_memory(gate, reterr);
    finish_parts(split, steps);
    finish_bins(bins);
    AP_TRY(ap_find_uneven_steps(split, trace, order, steps, reterr));
    return ap_find_recurring_calls(split, trace, links, steps, reterr);
}

void ap_split_release(struct ap_split *split)
{
    struct ap_gate *gate = split->gate;
    AP_FREE(gate, split->steps, split->step_count);
    AP_FREE(gate, split->details, split->detail_count);
    AP_FREE(gate, split->named, split->named_count);
    ap_off_core_release(&split->off_core);
    ap_stretches_release(&split->captures.time, gate);
    for (size_t i = 0; i < AP_IDLE_CAUSE_COUNT_; i++)
        ap_stretches_release(&split->of_cause[i], gate);
    *split = (struct ap_split){ .gate = gate };
}
