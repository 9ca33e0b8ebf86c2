/* SPDX-License-Identifier: MIT */
#include "name_spreads.h"

#include <assert.h>
#include <string.h>

#include "quantile.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

#define NOT_SHOWN UINT32_MAX

/* Durations of the rows of each shown name, side by side. */
struct gathered {
    uint32_t *shown; /* by name id: which of the spreads, or NOT_SHOWN */
    size_t shown_count;
    size_t *start; /* of the i-th in dur_ns; [count] is the end */
    int64_t *dur_ns;
    size_t dur_count;
};

static int by_name(const void *left, const void *right)
{
    const struct ap_name_rows *a = left, *b = right;
    AP_BY_SMALLER(a->name, b->name);
    return 0;
}

/* Once each. */
static size_t sort_names(struct ap_name_rows *names, size_t name_count)
{
    size_t count = 0;
    ap_sort(names, name_count, sizeof(names[0]), by_name);
    for (size_t i = 0; i < name_count; i++)
        if (i == 0 || names[i].name != names[i - 1].name)
            names[count++] = names[i];
    return count;
}

static void release_gathered(struct gathered *gathered, struct ap_gate *gate, size_t count)
{
    AP_FREE(gate, gathered->shown, gathered->shown_count);
    AP_FREE(gate, gathered->start, count + 1);
    AP_FREE(gate, gathered->dur_ns, gathered->dur_count);
}

static void place_rows(struct gathered *gathered, const struct ap_trace *trace, size_t count, uint32_t kinds, uint8_t flag)
{
    for (struct ap_rows_of at = ap_rows_of(trace, kinds); ap_rows_of_next(&at);) {
        if ((trace->events.tag[at.row] & flag) != flag)
            continue;
        uint32_t shown = gathered->shown[trace->events.name[at.row]];
        if (shown != NOT_SHOWN)
            gathered->dur_ns[gathered->start[shown]++] = trace->events.dur_ns[at.row];
    }
    assert(gathered->start[count - 1] == gathered->dur_count); /* as many as was told */
    memmove(gathered->start + 1, gathered->start, count * sizeof(gathered->start[0]));
    gathered->start[0] = 0;
}

static enum ap_status gather(struct gathered *gathered, const struct ap_name_spreads *spreads, const struct ap_trace *trace,
                             const struct ap_name_rows *names, uint32_t kinds, uint8_t flag, struct ap_error *reterr)
{
    struct ap_gate *gate = spreads->gate;
    gathered->shown_count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC(gate, gathered->shown, gathered->shown_count, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, gathered->start, spreads->count + 1, reterr));
    memset(gathered->shown, 0xff, gathered->shown_count * sizeof(gathered->shown[0]));
    for (size_t i = 0; i < spreads->count; i++) {
        gathered->shown[names[i].name] = (uint32_t)i;
        gathered->start[i + 1] = gathered->start[i] + names[i].count;
    }
    gathered->dur_count = gathered->start[spreads->count];
    if (!gathered->dur_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, gathered->dur_ns, gathered->dur_count, reterr));
    place_rows(gathered, trace, spreads->count, kinds, flag);
    return AP_OK;
}

static void measure(struct ap_name_spread *spread, int64_t *dur_ns, size_t count)
{
    if (!count)
        return;
    spread->min_ns = spread->max_ns = dur_ns[0];
    for (size_t i = 1; i < count; i++) {
        spread->min_ns = dur_ns[i] < spread->min_ns ? dur_ns[i] : spread->min_ns;
        spread->max_ns = dur_ns[i] > spread->max_ns ? dur_ns[i] : spread->max_ns;
    }
    int64_t quantiles_ns[2];
    ap_quantiles(dur_ns, count, (const unsigned[]){ 50, 99 }, 2, quantiles_ns);
    spread->p50_ns = quantiles_ns[0];
    spread->p99_ns = quantiles_ns[1];
}

enum ap_status ap_name_spreads_init(struct ap_name_spreads *spreads, const struct ap_trace *trace, struct ap_gate *gate,
                                    struct ap_name_rows *names, size_t name_count, uint32_t kinds, uint8_t flag,
                                    struct ap_error *reterr)
{
    struct gathered gathered = { .shown = NULL };
    *spreads = (struct ap_name_spreads){ .gate = gate };
    if (!name_count)
        return AP_OK;
    AP_TRY(AP_ALLOC(gate, spreads->spreads, name_count, reterr));
    spreads->capacity = name_count;
    spreads->count = sort_names(names, name_count);
    for (size_t i = 0; i < spreads->count; i++)
        spreads->spreads[i] = (struct ap_name_spread){ .name = names[i].name };
    enum ap_status status = gather(&gathered, spreads, trace, names, kinds, flag, reterr);
    for (size_t i = 0; i < spreads->count && status == AP_OK; i++)
        measure(&spreads->spreads[i], gathered.dur_ns + gathered.start[i], gathered.start[i + 1] - gathered.start[i]);
    release_gathered(&gathered, gate, spreads->count);
    return status;
}

void ap_name_spreads_release(struct ap_name_spreads *spreads)
{
    AP_FREE(spreads->gate, spreads->spreads, spreads->capacity);
    *spreads = (struct ap_name_spreads){ .gate = spreads->gate };
}

const struct ap_name_spread *ap_name_spreads_find(const struct ap_name_spreads *spreads, uint32_t name)
{
    size_t behind = 1;
    AP_BISECT(behind, spreads->count, at, spreads->spreads[at].name <= name);
    return &spreads->spreads[behind - 1];
}

void ap_name_spreads_add(const struct ap_name_spreads *spreads, uint32_t name, struct ap_model *model, struct ap_value *row)
{
    const struct ap_name_spread *spread = ap_name_spreads_find(spreads, name);
    ap_add_time(model, row, "max_dur_us", spread->max_ns > 0 ? spread->max_ns : 0);
    ap_add_time(model, row, "min_dur_us", spread->min_ns);
    ap_add_time(model, row, "p50_us", spread->p50_ns);
    ap_add_time(model, row, "p99_us", spread->p99_ns);
}
