/* SPDX-License-Identifier: MIT
 * compare_calls.c - what the verdict says of calls: those that another kernel serves, those that one side alone has, and how
 * many calls bring the work to the device. */
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "value_text.h"

#include "poison.h"

#define LEAST_WORK_RATIO 0.1 /* of the time of kernels on the side that has the operator */
#define LEAST_LAUNCHES 50
#define LAUNCHES_TIMES 4

void ap_add_other_kernel_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_other_kernel *other = &comparing->other_kernel;
    size_t used = strlen(text);
    if (other->operator.bytes)
        (void)snprintf(text + used, bytes - used,
                       "; another kernel serves %.*s on the same shapes, called as often, and takes %.2f times as long "
                       "(%.*s now, %.*s before)",
                       ap_shown_bytes(other->operator, 0), other->operator.data, other->times,
                       ap_shown_bytes(other->after, 0), other->after.data, ap_shown_bytes(other->before, 0),
                       other->before.data);
}

static bool has_name(const struct ap_value *list, struct ap_text name)
{
    for (const struct ap_value *entry = ap_value_first(list); entry; entry = entry->next)
        if (ap_text_equal(ap_value_text(entry), name))
            return true;
    return false;
}

/* As work that took the place of other work. */
static bool is_told(const struct ap_comparing *comparing, struct ap_text name)
{
    const struct ap_value *row = ap_value_first(ap_value_member(comparing->comparison, "replaced"));
    for (; row; row = row->next)
        if (has_name(ap_value_member(row, "before"), name) || has_name(ap_value_member(row, "after"), name))
            return true;
    return false;
}

/* The largest operator that one side alone has on its device; NULL = none of weight. */
static const struct ap_value *largest_alone(const struct ap_comparing *comparing, const char *change, const char *size_key)
{
    const struct ap_value *list = ap_value_member(comparing->comparison, "device_operators"), *largest = NULL;
    double least_ns = LEAST_WORK_RATIO * (double)ap_integer_at(comparing->comparison, "device.before_us", 0);
    for (const struct ap_value *row = ap_value_first(ap_value_member(list, "rows")); row; row = row->next) {
        double ns = (double)ap_integer_member(row, size_key, 0);
        if (!ap_text_is(ap_text_member(row, "change"), change) || ns <= least_ns ||
            is_told(comparing, ap_text_member(row, "name")))
            continue;
        largest = row;
        least_ns = ns;
    }
    return largest;
}

void ap_add_alone_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    static const struct {
        const char *change, *size_key, *words;
    } sides[] = { { "new", "after_us", "new on the device" }, { "gone", "before_us", "gone from the device" } };
    for (size_t i = 0; i < AP_COUNT_OF(sides); i++) {
        const struct ap_value *row = largest_alone(comparing, sides[i].change, sides[i].size_key);
        char time[AP_VALUE_TEXT_BYTES];
        if (!row)
            continue;
        size_t used = strlen(text);
        struct ap_text name = ap_text_member(row, "name");
        (void)ap_format_value(ap_value_member(row, sides[i].size_key), time, sizeof(time));
        (void)snprintf(text + used, bytes - used, "; %s: %.*s (%s%s)", sides[i].words, ap_shown_bytes(name, 0), name.data,
                       time, comparing->per_step ? " a step" : "");
    }
}

static double launches_of(const struct ap_value *root, double parts)
{
    return (double)ap_integer_at(root, "launches.calls", 0) / parts;
}

void ap_add_launches_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    double before = launches_of(comparing->before, comparing->before_parts),
           after = launches_of(comparing->after, comparing->after_parts);
    bool is_fewer = after < before;
    double more = is_fewer ? before : after, fewer = is_fewer ? after : before;
    if (more < LEAST_LAUNCHES || fewer <= 0 || more < LAUNCHES_TIMES * fewer)
        return;
    const struct ap_value *graphs = ap_value_at(is_fewer ? comparing->after : comparing->before, "launches.graph_launches");
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, "; calls that launch work: %.4g%s%s, %.4g before", after,
                   comparing->per_step ? " a step" : "",
                   ap_value_integer(graphs, 0) <= 0 ? ""
                   : is_fewer                       ? " (CUDA graphs now)"
                                                    : " (CUDA graphs before)",
                   before);
}
