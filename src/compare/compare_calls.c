/* SPDX-License-Identifier: MIT
 * compare_calls.c - what the verdict says of calls: those that another kernel serves, those that one side alone has, and how
 * many calls bring the work to the device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparing.h"
#include "value_text.h"

#include "poison.h"

#define LEAST_WORK_RATIO 0.1 /* of the time of kernels on the side that has the operator */
#define LEAST_LAUNCHES 50
#define LAUNCHES_TIMES 4

/* Long names that begin alike are told from where they differ, at the argument or the part of the name that does. */
static size_t shown_from(struct ap_text name, struct ap_text other)
{
    size_t from = 0, at = 0;
    for (; at < name.bytes && at < other.bytes && name.data[at] == other.data[at]; at++)
        from = strchr("<, :(", name.data[at]) ? at + 1 : from;
    return at < (size_t)ap_shown_bytes(name, 0) || from >= name.bytes || from >= other.bytes ? 0 : from;
}

void ap_add_other_kernel_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_other_kernel *other = &comparing->other_kernel;
    size_t used = strlen(text), from = shown_from(other->after, other->before);
    const char *cut = from ? "..." : "";
    if (other->operator.bytes)
        (void)snprintf(text + used, bytes - used,
                       "; another kernel serves %.*s on the same shapes, called as often, and takes %.2f times as long "
                       "(%s%.*s now, %s%.*s before)",
                       ap_shown_bytes(other->operator, 0), other->operator.data, other->times, cut,
                       ap_shown_bytes(other->after, from), other->after.data + from, cut,
                       ap_shown_bytes(other->before, from), other->before.data + from);
}

bool ap_list_has(const struct ap_value *list, struct ap_text name)
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
        if (ap_list_has(ap_value_member(row, "before"), name) || ap_list_has(ap_value_member(row, "after"), name))
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

/* Of the rows of a list the one that changed most the way the step did; NULL = none. */
static const struct ap_value *largest_with_step(const struct ap_comparing *comparing, const char *list)
{
    const struct ap_value *largest = NULL;
    for (const struct ap_value *row = ap_value_first(ap_value_at(comparing->comparison, list)); row; row = row->next) {
        int64_t delta_ns = ap_integer_member(row, "delta_us", 0);
        if ((double)delta_ns * comparing->step_delta_ns > 0 &&
            (!largest || llabs(delta_ns) > llabs(ap_integer_member(largest, "delta_us", 0))))
            largest = row;
    }
    return largest;
}

static void add_collective(const struct ap_value *row, const char *words, char *text, size_t bytes)
{
    char after[AP_VALUE_TEXT_BYTES], before[AP_VALUE_TEXT_BYTES];
    struct ap_text name = ap_text_member(row, "name");
    size_t used = strlen(text);
    (void)ap_format_value(ap_value_member(row, "after_us"), after, sizeof(after));
    (void)ap_format_value(ap_value_member(row, "before_us"), before, sizeof(before));
    (void)snprintf(text + used, bytes - used, "; %.*s takes %s a step%s, %s before", ap_shown_bytes(name, 0), name.data,
                   after, words, before);
}

/* Called as often, or nearly so? */
static bool is_as_often(const struct ap_value *row)
{
    double before = 0, after = 0;
    return ap_value_number(ap_value_member(row, "before_count"), &before) &&
           ap_value_number(ap_value_member(row, "after_count"), &after) &&
           ap_relative_difference(before, after) < AP_NOISE_UNKNOWN_RATIO;
}

static void add_counts(const struct ap_value *row, char *text, size_t bytes)
{
    char before[AP_VALUE_TEXT_BYTES], after[AP_VALUE_TEXT_BYTES];
    size_t used = strlen(text);
    (void)ap_format_value(ap_value_member(row, "after_count"), after, sizeof(after));
    (void)ap_format_value(ap_value_member(row, "before_count"), before, sizeof(before));
    (void)snprintf(text + used, bytes - used, ", in %s call%s, %s before", after, !strcmp(after, "1") ? "" : "s", before);
}

/* What a step moves by an operation, in bytes; 0 = not known. */
static double bytes_of(const struct ap_value *root, double parts, struct ap_text operation)
{
    const struct ap_value *row = ap_value_first(ap_value_at(root, "communication.by_operation"));
    while (row && !ap_text_equal(ap_text_member(row, "operation"), operation))
        row = row->next;
    return (double)ap_integer_member(row, "bytes", 0) / parts;
}

/* A larger model, or another type, moves more in as many calls. */
static bool add_bytes(const struct ap_comparing *comparing, const struct ap_value *row, char *text, size_t bytes)
{
    struct ap_text operation = ap_text_member(row, "name");
    double before = bytes_of(comparing->before, comparing->before_parts, operation),
           after = bytes_of(comparing->after, comparing->after_parts, operation);
    size_t used = strlen(text);
    if (before <= 0 || after <= 0 || ap_relative_difference(before, after) < AP_NOISE_UNKNOWN_RATIO)
        return false;
    (void)snprintf(text + used, bytes - used, ", and moves %.3g times as many bytes", after / before);
    return true;
}

void ap_add_collectives_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *all = largest_with_step(comparing, "collectives.rows"),
                          *bare = largest_with_step(comparing, "bare_collectives.rows");
    const struct ap_value *told = all ? all : bare;
    if (!told)
        return;
    add_collective(told, all ? "" : " without a kernel beside it", text, bytes);
    size_t used = strlen(text);
    if (!all)
        (void)snprintf(text + used, bytes - used, "%s: %s runs beside it",
                       ap_find_row(ap_value_at(comparing->comparison, "collectives.rows"), ap_text_member(bare, "name"))
                           ? ""
                           : ", and as long as before in all",
                       comparing->step_delta_ns < 0 ? "more" : "less");
    else if (!is_as_often(all))
        add_counts(all, text, bytes);
    else if (!add_bytes(comparing, all, text, bytes) && comparing->step_delta_ns > 0)
        (void)snprintf(text + used, bytes - used,
                       " (the link, or the wait for a rank that comes later: one rank does not "
                       "tell, the recordings of all ranks do)");
}
