/* SPDX-License-Identifier: MIT
 * compare_cluster.c - two runs of as many ranks: the steps that all ranks have, what ranks spend more time on, and who is
 * late. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "value_text.h"

#include "poison.h"

#define SHOWN_BYTES 240 /* of what is said of one run */

static double number_at(const struct ap_value *root, const char *path)
{
    double number = 0;
    (void)ap_value_number(ap_value_at(root, path), &number);
    return number;
}

static double step_ns(const struct ap_value *root)
{
    return number_at(root, "cluster.steps.count") >= 1 ? number_at(root, "cluster.steps.p50_us") : 0;
}

bool ap_are_runs_of_ranks(const struct ap_comparing *comparing)
{
    return step_ns(comparing->before) > 0 && step_ns(comparing->after) > 0;
}

static double per_step(const struct ap_value *root)
{
    return number_at(root, "cluster.rank_count") * number_at(root, "cluster.steps.count");
}

/* Of steps that all ranks recorded whole; 0 = not known. */
static double mean_step_ns(const struct ap_value *root)
{
    return ap_integer_at(root, "cluster.steps.are_whole", 0) ? number_at(root, "cluster.rank_time_us") / per_step(root) : 0;
}

static bool is_change(double before_ns, double after_ns)
{
    return before_ns > 0 && after_ns > 0 && ap_relative_difference(before_ns, after_ns) >= AP_NOISE_LEAST_RATIO;
}

/* By what steps changed: where few are long their mean shows it, not their median. 0 = by no more than noise. */
static double change_ns(const struct ap_comparing *comparing, bool *ret_in_mean)
{
    double before_ns = step_ns(comparing->before), after_ns = step_ns(comparing->after),
           before_mean_ns = mean_step_ns(comparing->before), after_mean_ns = mean_step_ns(comparing->after);
    bool in_median = is_change(before_ns, after_ns);
    *ret_in_mean = !in_median && is_change(before_mean_ns, after_mean_ns);
    return in_median ? after_ns - before_ns : *ret_in_mean ? after_mean_ns - before_mean_ns : 0;
}

enum ap_change ap_compare_cluster(const struct ap_comparing *comparing)
{
    bool in_mean;
    double delta_ns = change_ns(comparing, &in_mean);
    return delta_ns == 0 ? AP_CHANGE_none : ap_change_of(delta_ns, AP_BETTER_lower);
}

/* The share of the time of all ranks in a step of one rank, in the mean. */
static double spent_ns(const struct ap_value *root, double ratio)
{
    return ratio * number_at(root, "cluster.rank_time_us") / per_step(root);
}

static const struct ap_value *member_of(const struct ap_value *object, struct ap_text key)
{
    const struct ap_value *member = ap_value_first(object);
    while (member && !ap_text_equal(member->key, key))
        member = member->next;
    return member;
}

static const char *format_ns(double ns, char *text)
{
    struct ap_value value = { .type = AP_VALUE_TIME_NS, .as.integer = (int64_t)ns };
    (void)ap_format_value(&value, text, AP_VALUE_TEXT_BYTES);
    return text;
}

/* What the ranks spend more time on, or less, as their steps do: most of all. */
static void add_class(const struct ap_comparing *comparing, double step, char *text, size_t bytes)
{
    static const char end[] = "_ratio";
    double most_ns = 0;
    struct ap_text most = AP_TEXT("");
    for (const struct ap_value *now = ap_value_first(ap_value_at(comparing->after, "cluster.time")); now; now = now->next) {
        struct ap_text key = now->key;
        double after, before;
        const struct ap_value *was = member_of(ap_value_at(comparing->before, "cluster.time"), key);
        bool is_class = ap_text_ends_with(key, end) && !ap_text_is(key, "host_bound_ratio") &&
                        !ap_text_is(key, "transfer_ratio"); /* sums of others */
        if (!is_class || !ap_value_number(now, &after) || !ap_value_number(was, &before))
            continue;
        double delta_ns = spent_ns(comparing->after, after) - spent_ns(comparing->before, before);
        if (delta_ns * step <= 0 || fabs(delta_ns) <= fabs(most_ns))
            continue;
        most_ns = delta_ns;
        most = (struct ap_text){ key.data, key.bytes - strlen(end) };
    }
    char delta[AP_VALUE_TEXT_BYTES];
    (void)format_ns(most_ns, delta);
    size_t used = strlen(text);
    if (!most.bytes)
        return;
    (void)snprintf(text + used, bytes - used, "; of what ranks spend time on, %.*s changed most: %s%s a step in the mean",
                   (int)most.bytes, most.data, most_ns > 0 ? "+" : "", delta);
    for (char *at = text + used; *at; at++)
        *at = *at == '_' ? ' ' : *at;
}

/* Who is late, where that is told and is another verdict than on the other side. */
static void add_verdict(const struct ap_comparing *comparing, bool is_after, char *text, size_t bytes)
{
    const struct ap_value *root = is_after ? comparing->after : comparing->before,
                          *other = is_after ? comparing->before : comparing->after;
    struct ap_text said = ap_value_text(ap_value_at(root, "cluster.verdict.sentence")),
                   kind = ap_value_text(ap_value_at(root, "cluster.verdict.kind"));
    bool is_same = ap_text_equal(said, ap_value_text(ap_value_at(other, "cluster.verdict.sentence")));
    size_t used = strlen(text);
    if (said.bytes && !is_same && !ap_text_is(kind, "balanced") && !ap_text_is(kind, "unknown"))
        (void)snprintf(text + used, bytes - used, "; %s: %.*s", is_after ? "now" : "before",
                       (int)ap_text_cut(said, SHOWN_BYTES).bytes, said.data);
}

static void add_mean(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    double before_ns = mean_step_ns(comparing->before), after_ns = mean_step_ns(comparing->after);
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, "; but in the mean a step takes %s, it took %s before, %+.1f %%",
                   format_ns(after_ns, after), format_ns(before_ns, before), 100 * (after_ns - before_ns) / before_ns);
}

void ap_add_cluster_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    double before_ns = step_ns(comparing->before), after_ns = step_ns(comparing->after);
    bool in_mean;
    double delta_ns = change_ns(comparing, &in_mean);
    (void)snprintf(text, bytes, "%s: the median step of all ranks takes %s, it took %s before, %+.1f %%",
                   in_mean         ? "Some steps differ"
                   : delta_ns != 0 ? "Steps differ"
                                   : "Steps differ by no more than noise",
                   format_ns(after_ns, after), format_ns(before_ns, before), 100 * (after_ns - before_ns) / before_ns);
    if (in_mean)
        add_mean(comparing, text, bytes);
    if (delta_ns != 0)
        add_class(comparing, delta_ns, text, bytes);
    add_verdict(comparing, true, text, bytes);
    add_verdict(comparing, false, text, bytes);
}
