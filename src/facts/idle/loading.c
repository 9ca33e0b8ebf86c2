/* SPDX-License-Identifier: MIT */
#include "loading.h"

#include "name_pattern.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

static int by_start(const void *left, const void *right)
{
    const struct ap_loading_span *a = left, *b = right;
    AP_BY_SMALLER(a->start_ns, b->start_ns);
    AP_BY_SMALLER(a->end_ns, b->end_ns);
    return 0;
}

static enum ap_status take_rows(struct ap_loading *loading, const struct ap_trace *trace,
                                const struct ap_name_patterns *names, struct ap_error *reterr)
{
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_overhead); ap_rows_of_next(&at);) {
        int64_t start_ns = trace->events.start_ns[at.row];
        if (start_ns == AP_START_UNKNOWN || trace->events.dur_ns[at.row] <= 0 ||
            ap_name_patterns_first(names, ap_row_name(trace, at.row), 1))
            continue;
        AP_TRY_ADD(loading->gate, loading->spans, loading->count, loading->capacity, reterr,
                   (struct ap_loading_span){ start_ns, ap_row_end_ns(trace, at.row) });
    }
    return AP_OK;
}

enum ap_status ap_loading_init(struct ap_loading *loading, const struct ap_trace *trace, const char *names_of,
                               struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_name_patterns names;
    *loading = (struct ap_loading){ .gate = gate };
    enum ap_status status = ap_name_patterns_init(&names, gate, &names_of, 1, reterr);
    AP_AND_THEN(status, take_rows(loading, trace, &names, reterr));
    ap_name_patterns_release(&names);
    ap_sort(loading->spans, loading->count, sizeof(loading->spans[0]), by_start);
    return status;
}

void ap_loading_release(struct ap_loading *loading)
{
    AP_FREE(loading->gate, loading->spans, loading->capacity);
    *loading = (struct ap_loading){ .gate = loading->gate };
}

/* The first span that starts at or behind the time. */
static size_t first_from(const struct ap_loading *loading, int64_t at_ns)
{
    size_t from = 0;
    AP_BISECT(from, loading->count, at, loading->spans[at].start_ns < at_ns);
    return from;
}

bool ap_loading_starts_within(const struct ap_loading *loading, int64_t start_ns, int64_t end_ns)
{
    size_t first = first_from(loading, start_ns);
    return first < loading->count && loading->spans[first].start_ns < end_ns;
}

/* A call loads what it needs piece by piece: spans that start within it are its own. */
bool ap_loading_fills(const struct ap_loading *loading, const struct ap_trace *trace, uint32_t row)
{
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row), filled_ns = 0, done_ns = start_ns;
    if (start_ns == AP_START_UNKNOWN)
        return false;
    for (size_t i = first_from(loading, start_ns); i < loading->count && loading->spans[i].start_ns < end_ns; i++) {
        int64_t from_ns = loading->spans[i].start_ns > done_ns ? loading->spans[i].start_ns : done_ns;
        int64_t to_ns = loading->spans[i].end_ns < end_ns ? loading->spans[i].end_ns : end_ns;
        if (to_ns <= from_ns)
            continue;
        filled_ns += to_ns - from_ns;
        done_ns = to_ns;
    }
    return filled_ns > (end_ns - start_ns) / 2;
}
