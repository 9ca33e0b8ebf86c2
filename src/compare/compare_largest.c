/* SPDX-License-Identifier: MIT
 * compare_largest.c - what changed most: work that took another's place, an operator, a part of the step; of memory its
 * owner. Rules tell it as a finding. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comparing.h"

#include "poison.h"

/* An operator says more than the part of the step that it stands in: a part is named where it changed so much more. */
#define NAMED_IS_WORTH 2

static double number_in(const struct ap_value *row, const char *key)
{
    double number = 0;
    (void)ap_value_number(ap_value_member(row, key), &number);
    return number;
}

static bool is_called_change(const struct ap_value *row)
{
    struct ap_text change = ap_text_member(row, "change");
    return !ap_text_is(change, "no change") && !ap_text_is(change, "too few values");
}

/* Under another name the same operator may run another kernel: neither is new work. */
static bool is_other_name(const struct ap_value *row)
{
    struct ap_text change = ap_text_member(row, "change");
    return ap_text_is(change, "new") || ap_text_is(change, "gone");
}

struct largest {
    const char *what, *name_key;
    const struct ap_value *row;
    double delta;
};

/* All that stands in the split is in its parts: those that only name the rest of another are left out. */
static bool is_sum(const struct ap_value *row)
{
    struct ap_text part = ap_text_member(row, "part");
    return ap_text_is(part, "idle") || ap_text_is(part, "compute");
}

/* Time of the host that is all in operators, of which one is told by its name already. */
static bool is_named(const struct ap_value *row, const struct largest *largest)
{
    struct ap_text part = ap_text_member(row, "part");
    return largest->row && (ap_text_is(part, "host_states.host_operator") || ap_text_is(part, "host_states.host_autograd"));
}

/* The operator that starts collectives of all kinds: they are told by their operation. */
static bool is_any_collective(const struct ap_value *row)
{
    return ap_text_is(ap_text_member(row, "name"), "record_param_comms");
}

/* What took another's place, or made room, is told as that. */
static bool is_replaced(const struct ap_value *replaced, const struct ap_value *row)
{
    struct ap_text name = ap_text_member(row, "name");
    for (const struct ap_value *one = ap_value_first(replaced); one && name.bytes; one = one->next)
        if (ap_list_has(ap_value_member(one, "before"), name) || ap_list_has(ap_value_member(one, "after"), name))
            return true;
    return false;
}

static void look_through(const struct ap_value *list, const char *what, const char *name_key, const char *delta_key,
                         const struct ap_value *replaced, bool names_count, struct largest *largest)
{
    for (const struct ap_value *row = ap_value_first(list); row; row = row->next) {
        double delta = number_in(row, delta_key);
        if (is_called_change(row) && !is_sum(row) && !is_named(row, largest) && !is_any_collective(row) &&
            !is_replaced(replaced, row) && (names_count || !is_other_name(row)) && fabs(delta) > fabs(largest->delta))
            *largest = (struct largest){ what, name_key, row, delta };
    }
}

/* What ran beside a collective comes and goes from step to step: only what steps follow is told. */
static bool steps_follow(const struct ap_comparing *comparing, const struct largest *largest)
{
    return comparing->step_delta_ns != 0 && (largest->delta > 0) == (comparing->step_delta_ns > 0);
}

static void look_through_collectives(const struct ap_comparing *comparing, struct largest *largest)
{
    const struct ap_value *comparison = comparing->comparison;
    struct largest bare = { .row = NULL };
    look_through(ap_value_at(comparison, "collectives.rows"), "collective", "name", "delta_us", NULL, true, largest);
    look_through(ap_value_at(comparison, "bare_collectives.rows"), "bare collective", "name", "delta_us", NULL, true, &bare);
    if (steps_follow(comparing, &bare) && fabs(bare.delta) > fabs(largest->delta))
        *largest = bare;
}

/* "aten::mm, aten::copy_ in place of aten::addmm" */
static void add_replaced_name(struct ap_comparing *comparing, struct ap_value *to, const struct ap_value *row)
{
    const struct ap_value *after = ap_value_first(ap_value_member(row, "after")),
                          *before = ap_value_first(ap_value_member(row, "before"));
    ap_add_text(comparing->model, to, "name", ap_value_text(after));
    ap_add_text(comparing->model, to, "in_place_of", ap_value_text(before));
}

static void add_name(struct ap_comparing *comparing, struct ap_value *to, const struct largest *largest)
{
    if (strcmp(largest->what, "replaced") == 0) {
        add_replaced_name(comparing, to, largest->row);
        return;
    }
    char words[160];
    struct ap_text name = ap_text_member(largest->row, largest->name_key);
    if (strcmp(largest->what, "bare collective") == 0) {
        (void)snprintf(words, sizeof(words), "%.*s without a kernel beside it", ap_shown_bytes(name, 0), name.data);
        name = ap_text_of(words);
    } else if (strcmp(largest->what, "part") == 0) {
        ap_add_part_name(name, words, sizeof(words));
        name = ap_text_of(words);
    }
    ap_add_text(comparing->model, to, "name", name);
    ap_add_null(comparing->model, to, "in_place_of");
}

static void add_time(struct ap_comparing *comparing, struct ap_value *at)
{
    struct ap_model *model = comparing->model;
    struct largest largest = { .row = NULL };
    const struct ap_value *comparison = comparing->comparison;
    bool on_device = ap_integer_at(comparing->after, "operators.device_us", 0) > 0;
    const char *operators = on_device ? "device_operators.rows" : "host_operators.rows";
    const struct ap_value *replaced = ap_value_member(comparison, "replaced");
    if (comparing->alike && !ap_lengths_differ(comparing)) {
        look_through(replaced, "replaced", "under", "delta_us", NULL, true, &largest);
        if (on_device)
            look_through_collectives(comparing, &largest);
        look_through(ap_value_at(comparison, operators), "operator", "name", "delta_us", replaced, true, &largest);
        /* A kernel whose time others took over changed nothing. */
        bool is_more = comparing->device_change != AP_CHANGE_none || comparing->step_delta_ns != 0 || !on_device;
        if (is_more && !ap_value_first(ap_value_at(comparison, operators)))
            look_through(ap_value_at(comparison, "kernels.rows"), "kernel", "name", "delta_us", NULL, !on_device, &largest);
        largest.delta *= NAMED_IS_WORTH;
        look_through(ap_value_at(comparison, "split.parts"), "part", "part", "delta_us", NULL, true, &largest);
        largest.delta = number_in(largest.row, "delta_us");
    }
    if (!largest.row) {
        ap_add_null(model, at, "time");
        return;
    }
    struct ap_value *to = ap_add_object(model, at, "time");
    ap_add_string(model, to, "what", largest.what);
    add_name(comparing, to, &largest);
    ap_add_time(model, to, "delta_us", (int64_t)largest.delta);
    ap_add_time(model, to, "more_us", largest.delta > 0 ? (int64_t)(largest.delta * comparing->after_parts) : 0);
    ap_add_time(model, to, "less_us", largest.delta < 0 ? (int64_t)(-largest.delta * comparing->after_parts) : 0);
    ap_add_quotient(model, to, "share_ratio", fabs(largest.delta), comparing->whole_ns);
    ap_add_bool(model, to, "repeats", comparing->repeats);
    ap_add_string(model, to, "confidence", comparing->repeats ? "high" : "low");
}

/* Memory is of one peak: it repeats. */
static void add_bytes(struct ap_comparing *comparing, struct ap_value *at)
{
    struct ap_model *model = comparing->model;
    struct largest largest = { .row = NULL };
    look_through(ap_value_at(comparing->comparison, "memory_owners.rows"), "owner", "name", "delta_bytes", NULL, true,
                 &largest);
    if (!largest.row) {
        ap_add_null(model, at, "memory");
        return;
    }
    struct ap_value *to = ap_add_object(model, at, "memory");
    ap_add_text(model, to, "name", ap_text_member(largest.row, "name"));
    ap_add_bytes(model, to, "delta_bytes", (int64_t)largest.delta);
    ap_add_bytes(model, to, "more_bytes", largest.delta > 0 ? (int64_t)largest.delta : 0);
}

void ap_compare_largest(struct ap_comparing *comparing)
{
    struct ap_value *largest = ap_add_object(comparing->model, comparing->comparison, "largest");
    add_time(comparing, largest);
    add_bytes(comparing, largest);
}
