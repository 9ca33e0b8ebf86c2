/* SPDX-License-Identifier: MIT
 * compare_counts.c - how many operators a step calls. Times vary with whatever else the machine does, counts do not: a step
 * that calls more of them does more, and one that calls as many of each on the same shapes does what it did before. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "value_text.h"

#include "poison.h"

#define MORE_RATIO 0.05     /* of the larger count: fewer are the steps at the ends of a recording */
#define AS_OFTEN_RATIO 0.01 /* of each operator */
#define ALIKE_RATIO 0.1     /* between operators that are called so many times as often */
#define MOST_OF_TIME 0.8    /* of the operators that both sides list */
#define LEAST_COUNT 20      /* calls of a step: of fewer a count says little */

static const char operators[] = "cpu.operators_by_self";

static double calls_of(const struct ap_value *root, double parts)
{
    return (double)ap_integer_at(root, "cpu.operator_summary.events", 0) / parts;
}

static double count_in(const struct ap_value *row, double parts)
{
    return (double)ap_integer_member(row, "count", 0) / parts;
}

struct counted {
    double all_ns, alike_ns, equal_ns; /* of operators of both lists: called as many times as often as all are; as often */
    const struct ap_value *before, *after; /* the one with most time of those whose count changed as the sum did */
};

/* Is an operator called so many times as often as all are? Where all are hardly called more often, one that is called as
 * before is no part of it. */
static bool is_alike(double times, double all_times)
{
    return fabs(times / all_times - 1) < ALIKE_RATIO && fabs(times - all_times) < fabs(times - 1);
}

static struct counted count_operators(const struct ap_comparing *comparing, double times)
{
    struct counted counted = { .all_ns = 0 };
    const struct ap_value *list = ap_value_at(comparing->before, operators);
    const struct ap_value *row = ap_value_first(ap_value_at(comparing->after, operators));
    for (size_t listed = 0; row && listed < AP_FOUND_MOST; row = row->next, listed++) {
        const struct ap_value *other = ap_find_row(list, ap_text_member(row, "name"));
        double after = count_in(row, comparing->after_parts), before = count_in(other, comparing->before_parts),
               ns = (double)ap_integer_member(row, "self_dur_us", 0);
        if (!other || before <= 0)
            continue;
        counted.all_ns += ns;
        counted.alike_ns += is_alike(after / before, times) ? ns : 0;
        counted.equal_ns += ap_relative_difference(before, after) < AS_OFTEN_RATIO ? ns : 0;
        bool is_more = ap_relative_difference(before, after) > MORE_RATIO && (after > before) == (times > 1);
        if (is_more && (!counted.after || ns > (double)ap_integer_member(counted.after, "self_dur_us", 0))) {
            counted.after = row;
            counted.before = other;
        }
    }
    return counted;
}

/* Does something tell of other types, shapes or layouts? */
static bool has_other_input(const struct ap_comparing *comparing)
{
    static const char *const lists[] = { "types", "shapes", "layouts" };
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++)
        if (ap_value_first(ap_value_member(comparing->comparison, lists[i])))
            return true;
    return false;
}

bool ap_is_other_work(const struct ap_comparing *comparing)
{
    return has_other_input(comparing) || ap_value_first(ap_value_member(comparing->comparison, "replaced")) ||
           ap_relative_difference(calls_of(comparing->before, comparing->before_parts),
                                  calls_of(comparing->after, comparing->after_parts)) > MORE_RATIO;
}

static bool is_same_input(const struct ap_comparing *comparing)
{
    return !has_other_input(comparing) && ap_integer_at(comparing->before, "trace.recorded.shapes", 0) &&
           ap_integer_at(comparing->after, "trace.recorded.shapes", 0);
}

static void add_more(const struct ap_comparing *comparing, const struct counted *counted, bool same_work, char *text,
                     size_t bytes)
{
    struct ap_text name = ap_text_member(counted->after, "name");
    size_t used = strlen(text);
    double after = count_in(counted->after, comparing->after_parts);
    if (counted->after)
        (void)snprintf(text + used, bytes - used, ", %.*s %.4g time%s, %.4g before", ap_shown_bytes(name, 0), name.data,
                       after, after == 1 ? "" : "s", count_in(counted->before, comparing->before_parts));
    used = strlen(text);
    if (same_work)
        (void)snprintf(text + used, bytes - used, ": %s of the same work (layers, passes)",
                       count_in(counted->after, comparing->after_parts) > count_in(counted->before, comparing->before_parts)
                           ? "more"
                           : "less");
}

void ap_add_counts_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    double before = calls_of(comparing->before, comparing->before_parts),
           after = calls_of(comparing->after, comparing->after_parts);
    bool on_device = ap_integer_at(comparing->after, "operators.device_us", 0) > 0, same_input = is_same_input(comparing);
    if (!comparing->per_step || before < LEAST_COUNT || after < LEAST_COUNT)
        return;
    struct counted counted = count_operators(comparing, after / before);
    bool is_told = ap_value_first(ap_value_member(comparing->comparison, "same_work"));
    size_t used = strlen(text);
    if (ap_relative_difference(before, after) > MORE_RATIO) {
        (void)snprintf(text + used, bytes - used, "; a step calls operators %.6g times, %.6g before", round(after),
                       round(before));
        add_more(comparing, &counted, same_input && counted.after && counted.alike_ns > MOST_OF_TIME * counted.all_ns, text,
                 bytes);
    } else if (!on_device && same_input && comparing->step_delta_ns != 0 && !is_told && counted.equal_ns >= counted.all_ns &&
               ap_relative_difference(before, after) < AS_OFTEN_RATIO) {
        (void)snprintf(
            text + used, bytes - used,
            "; a step calls the same operators on the same shapes as often as before: it computes what it did, so look "
            "at the machine first (other processes, cores, clock)");
    }
}
