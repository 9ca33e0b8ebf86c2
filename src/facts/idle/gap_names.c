/* SPDX-License-Identifier: MIT */
#include "gap_names.h"

#include "host_chain.h"

#include "poison.h"

#define CALLERS_MAX 16 /* built-in functions call each other no deeper than that */

static bool is_built_in(const struct ap_trace *trace, uint32_t row)
{
    return ap_row_is_of(trace, row, 1u << AP_KIND_python) && ap_text_starts_with(ap_row_name(trace, row), "<");
}

/* The Python function that called it, where it is a built-in one. */
static uint32_t caller_of(const struct ap_gap_names *names, uint32_t row)
{
    int64_t start_ns = names->trace->events.start_ns[row];
    uint32_t around = row;
    int left = CALLERS_MAX;
    while (around != AP_NO_ROW && is_built_in(names->trace, around))
        around = ap_host_next_around(names->tree, names->trace, around, start_ns, &left);
    return around != AP_NO_ROW && ap_row_is_of(names->trace, around, 1u << AP_KIND_python) ? around : row;
}

void ap_gap_names_add(struct ap_gap_names *names, struct ap_gap_detail *details, uint32_t detail, enum ap_idle_cause cause,
                      uint32_t row, int64_t dur_ns)
{
    uint32_t number, before = names->map.count;
    bool overflowed = false;
    if (names->failed)
        return;
    row = is_built_in(names->trace, row) ? caller_of(names, row) : row;
    names->failed = ap_pair_map_add(&names->map, detail * AP_IDLE_CAUSE_COUNT_ + (uint32_t)cause,
                                    names->trace->events.name[row], &number, NULL) != AP_OK ||
                    AP_RESERVE(names->gate, names->sum_ns, names->sum_capacity, names->map.count, NULL) != AP_OK;
    if (names->failed)
        return;
    names->sum_ns[number] = ap_add_sat(number == before ? 0 : names->sum_ns[number], dur_ns, &overflowed);
    if (names->sum_ns[number] <= details[detail].host_row_ns[cause])
        return;
    details[detail].host_row[cause] = row;
    details[detail].host_row_ns[cause] = names->sum_ns[number];
}

void ap_gap_names_release(struct ap_gap_names *names)
{
    ap_pair_map_release(&names->map);
    AP_FREE(names->gate, names->sum_ns, names->sum_capacity);
}
