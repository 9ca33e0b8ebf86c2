/* SPDX-License-Identifier: MIT */
#include "gap_names.h"

#include <string.h>

#include "host_chain.h"

#include "poison.h"

#define NO_SUM UINT32_MAX
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

static enum ap_status begin(struct ap_gap_names *names)
{
    size_t name_count = ap_trace_id_count(names->trace);
    AP_TRY(ap_user_frames_init(&names->frames, names->trace, names->gate, NULL));
    AP_TRY(AP_ALLOC(names->gate, names->last_of, name_count, NULL));
    memset(names->last_of, 0xff, name_count * sizeof(names->last_of[0]));
    return AP_OK;
}

/* The sum of the row's name. Gaps come one after the other, so that those of this one are a name's last ones. */
static int64_t *sum_of(struct ap_gap_names *names, uint32_t detail, enum ap_idle_cause cause, uint32_t row)
{
    uint32_t gap_and_cause = detail * AP_IDLE_CAUSE_COUNT_ + (uint32_t)cause;
    uint32_t *last = &names->last_of[names->trace->events.name[row]];
    for (uint32_t i = *last; i != NO_SUM && names->sums[i].gap_and_cause / AP_IDLE_CAUSE_COUNT_ == detail;
         i = names->sums[i].before)
        if (names->sums[i].gap_and_cause == gap_and_cause)
            return &names->sums_ns[i];
    if (names->count == NO_SUM || AP_RESERVE(names->gate, names->sums, names->capacity, names->count + 1, NULL) != AP_OK ||
        AP_RESERVE(names->gate, names->sums_ns, names->ns_capacity, names->count + 1, NULL) != AP_OK)
        return NULL;
    names->sums[names->count] = (struct ap_gap_name_sum){ gap_and_cause, row, *last };
    names->sums_ns[names->count] = 0;
    *last = (uint32_t)names->count;
    return &names->sums_ns[names->count++];
}

void ap_gap_names_add(struct ap_gap_names *names, struct ap_gap_detail *details, uint32_t detail, enum ap_idle_cause cause,
                      uint32_t row, int64_t dur_ns)
{
    bool overflowed = false;
    if (!names->last_of && !names->failed)
        names->failed = begin(names) != AP_OK;
    if (names->failed)
        return;
    row = caller_of(names, row);
    int64_t *sum_ns = sum_of(names, detail, cause, row);
    if (!sum_ns) {
        names->failed = true;
        return;
    }
    *sum_ns = ap_add_sat(*sum_ns, dur_ns, &overflowed);
    if (*sum_ns <= details[detail].host_row_ns[cause])
        return;
    details[detail].host_row[cause] = row;
    details[detail].host_row_ns[cause] = *sum_ns;
}

enum ap_status ap_gap_names_keep(const struct ap_gap_names *names, enum ap_idle_cause cause, int64_t least_ns,
                                 struct ap_split *split, struct ap_error *reterr)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++)
        count += names->sums[i].gap_and_cause % AP_IDLE_CAUSE_COUNT_ == (uint32_t)cause && names->sums_ns[i] >= least_ns;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(split->gate, split->named, count, reterr));
    for (size_t i = 0; i < names->count; i++) {
        const struct ap_gap_name_sum *sum = &names->sums[i];
        if (sum->gap_and_cause % AP_IDLE_CAUSE_COUNT_ == (uint32_t)cause && names->sums_ns[i] >= least_ns)
            split->named[split->named_count++] =
                (struct ap_gap_name){ sum->gap_and_cause / AP_IDLE_CAUSE_COUNT_, sum->row, names->sums_ns[i] };
    }
    return AP_OK;
}

void ap_gap_names_release(struct ap_gap_names *names)
{
    if (names->frames.kinds)
        ap_user_frames_release(&names->frames);
    AP_FREE(names->gate, names->last_of, ap_trace_id_count(names->trace));
    AP_FREE(names->gate, names->sums, names->capacity);
    AP_FREE(names->gate, names->sums_ns, names->ns_capacity);
}
