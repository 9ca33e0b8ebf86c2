/* SPDX-License-Identifier: MIT */
#include "gap_names.h"

#include "host_chain.h"

#include "poison.h"

#define CALLERS_MAX 24 /* functions of libraries call each other no deeper than that */

static bool is_built_in(const struct ap_trace *trace, uint32_t row)
{
    struct ap_text name = ap_row_name(trace, row);
    return name.bytes && name.data[0] == '<' && ap_row_is_of(trace, row, 1u << AP_KIND_python);
}

/* The Python function that called it, where it is a built-in one; the user's that called that, where it is a library's. */
static uint32_t find_caller(struct ap_gap_names *names, uint32_t row)
{
    const struct ap_trace *trace = names->trace;
    if (!ap_row_is_of(trace, row, 1u << AP_KIND_python) || ap_is_user_frame(&names->frames, trace->events.name[row]))
        return row;
    int64_t start_ns = trace->events.start_ns[row];
    uint32_t function = is_built_in(trace, row) ? AP_NO_ROW : row;
    uint32_t around = row;
    for (int left = CALLERS_MAX; left > 0;) {
        around = ap_host_next_around(names->tree, trace, around, start_ns, &left);
        if (around == AP_NO_ROW)
            break;
        if (!ap_row_is_of(trace, around, 1u << AP_KIND_python))
            continue;
        if (ap_is_user_frame(&names->frames, trace->events.name[around]))
            return around;
        function = function == AP_NO_ROW && !is_built_in(trace, around) ? around : function;
    }
    return function == AP_NO_ROW ? row : function;
}

/* A row is innermost again and again, each time that one within it has ended. */
static uint32_t caller_of(struct ap_gap_names *names, uint32_t row)
{
    struct ap_known_caller *known = &names->known[row % AP_COUNT_OF(names->known)];
    if (known->asked != row + 1)
        *known = (struct ap_known_caller){ row + 1, find_caller(names, row) };
    return known->caller;
}

/* The number of the pair. A gap is in the same few names again and again. */
static enum ap_status number_of(struct ap_gap_names *names, uint32_t gap_and_cause, uint32_t name, uint32_t *ret_number)
{
    uint32_t *last = &names->number_of[name % AP_COUNT_OF(names->number_of)];
    if (*last < names->map.count && names->map.pairs[*last].a == gap_and_cause && names->map.pairs[*last].b == name) {
        *ret_number = *last;
        return AP_OK;
    }
    AP_TRY(ap_pair_map_add(&names->map, gap_and_cause, name, ret_number, NULL));
    *last = *ret_number;
    AP_TRY(AP_RESERVE(names->gate, names->sum_ns, names->sum_capacity, names->map.count, NULL));
    return AP_RESERVE(names->gate, names->rows, names->row_capacity, names->map.count, NULL);
}

void ap_gap_names_add(struct ap_gap_names *names, struct ap_gap_detail *details, uint32_t detail, enum ap_idle_cause cause,
                      uint32_t row, int64_t dur_ns)
{
    uint32_t number, before = names->map.count;
    bool overflowed = false;
    if (!names->frames.kinds && !names->failed)
        names->failed = ap_user_frames_init(&names->frames, names->trace, names->gate, NULL) != AP_OK;
    if (names->failed)
        return;
    row = caller_of(names, row);
    names->failed =
        number_of(names, detail * AP_IDLE_CAUSE_COUNT_ + (uint32_t)cause, names->trace->events.name[row], &number) != AP_OK;
    if (names->failed)
        return;
    if (number == before) {
        names->sum_ns[number] = 0;
        names->rows[number] = row;
    }
    names->sum_ns[number] = ap_add_sat(names->sum_ns[number], dur_ns, &overflowed);
    if (names->sum_ns[number] <= details[detail].host_row_ns[cause])
        return;
    details[detail].host_row[cause] = row;
    details[detail].host_row_ns[cause] = names->sum_ns[number];
}

enum ap_status ap_gap_names_keep(const struct ap_gap_names *names, enum ap_idle_cause cause, int64_t least_ns,
                                 struct ap_split *split, struct ap_error *reterr)
{
    size_t count = 0;
    for (uint32_t i = 0; i < names->map.count; i++)
        count += names->map.pairs[i].a % AP_IDLE_CAUSE_COUNT_ == (uint32_t)cause && names->sum_ns[i] >= least_ns;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(split->gate, split->named, count, reterr));
    for (uint32_t i = 0; i < names->map.count; i++)
        if (names->map.pairs[i].a % AP_IDLE_CAUSE_COUNT_ == (uint32_t)cause && names->sum_ns[i] >= least_ns)
            split->named[split->named_count++] =
                (struct ap_gap_name){ names->map.pairs[i].a / AP_IDLE_CAUSE_COUNT_, names->rows[i], names->sum_ns[i] };
    return AP_OK;
}

void ap_gap_names_release(struct ap_gap_names *names)
{
    if (names->frames.kinds)
        ap_user_frames_release(&names->frames);
    ap_pair_map_release(&names->map);
    AP_FREE(names->gate, names->sum_ns, names->sum_capacity);
    AP_FREE(names->gate, names->rows, names->row_capacity);
}
