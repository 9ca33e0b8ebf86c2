/* SPDX-License-Identifier: MIT
 * compare_pieces.c - the same work in other pieces. A longer recording calls operators more often, and each call takes as
 * long as before. Where most of the time is in operators that are called several times as often and take a fraction of the
 * time each, the work was cut into smaller pieces, and the other way round it was put together: that needs no shapes.
 * Without steps a faster program that did more in the same time looks alike. */
#include <stdio.h>
#include <string.h>

#include "comparing.h"

#include "poison.h"

#define LEAST_CALLS_TIMES 3.0
#define MOST_EACH_TIMES 0.5
#define MOST_OF_TIME 0.5 /* of what the operators take that both sides list, on the side of few calls */
#define LEAST_NAMES 2
#define LEAST_CALLS 2

/* One side: its operators, and what a sum is divided by. */
struct side {
    const struct ap_value *list;
    double parts;
};

static double time_of(const struct ap_value *row, const char *key)
{
    return (double)ap_integer_member(row, key, 0);
}

static double count_of(const struct ap_value *row)
{
    return (double)ap_integer_member(row, "count", 0);
}

/* The operator with most time of those that @many calls in smaller pieces; NULL where they are not most of what
 * @few take. */
static const struct ap_value *find_pieces(const struct side *few, const struct side *many, const char *key)
{
    double all_ns = 0, cut_ns = 0;
    size_t names = 0, listed = 0;
    const struct ap_value *largest = NULL;
    for (const struct ap_value *row = ap_value_first(few->list); row && listed < AP_FOUND_MOST; row = row->next, listed++) {
        const struct ap_value *other = ap_find_row(many->list, ap_text_member(row, "name"));
        double ns = time_of(row, key), other_ns = time_of(other, key), count = count_of(row), other_count = count_of(other);
        if (ns <= 0 || other_ns <= 0 || count < LEAST_CALLS)
            continue;
        all_ns += ns;
        if (other_count / many->parts < LEAST_CALLS_TIMES * count / few->parts ||
            other_ns / other_count > MOST_EACH_TIMES * ns / count)
            continue;
        cut_ns += ns;
        names++;
        largest = largest && time_of(largest, key) >= ns ? largest : row;
    }
    return names >= LEAST_NAMES && cut_ns > MOST_OF_TIME * all_ns ? largest : NULL;
}

void ap_add_pieces_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    static const char *const what[2][2] = {
        { "work put together, or less of it and slower", "work put together" },
        { "work in smaller pieces, or more of it and faster", "work in smaller pieces" },
    };
    bool on_device = ap_integer_at(comparing->after, "operators.device_us", 0) > 0;
    const char *list = on_device ? "operators.top" : "cpu.operators_by_self",
               *key = on_device ? "device_self_us" : "self_dur_us";
    struct side before = { ap_value_at(comparing->before, list), comparing->before_parts },
                after = { ap_value_at(comparing->after, list), comparing->after_parts };
    const struct ap_value *cut = find_pieces(&before, &after, key), *joined = find_pieces(&after, &before, key);
    const struct ap_value *found = cut ? cut : joined;
    if (!found || (cut && joined))
        return;
    struct ap_text name = ap_text_member(found, "name");
    const struct ap_value *was = ap_find_row(before.list, name), *is = ap_find_row(after.list, name);
    double was_count = count_of(was) / before.parts, is_count = count_of(is) / after.parts;
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used,
                   "; %.*s is called %.4g times as often%s, and takes %.2g times as long each, as most operators do: %s",
                   ap_shown_bytes(name, 0), name.data, is_count / was_count, comparing->per_step ? " in a step" : "",
                   time_of(is, key) / count_of(is) / (time_of(was, key) / count_of(was)),
                   what[cut != NULL][comparing->per_step]);
}
