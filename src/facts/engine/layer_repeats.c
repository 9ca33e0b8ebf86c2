/* SPDX-License-Identifier: MIT
 * layer_repeats.c - one stream is looked at, as the kernels of a layer run on one; kernels of graphs and others alike. */
#include "layer_repeats.h"

#include "pair_map.h"

#include "poison.h"

#define MOST_KERNELS 131072 /* of the stream: more tell nothing new */
#define LEAST_LENGTH 3      /* kernels of a layer */
#define MAX_GAP_NS 10000    /* between neighbors */

struct finding {
    struct ap_layer_repeats *repeats;
    const struct ap_facts *facts;
    const struct ap_trace *trace;
    struct ap_name_patterns patterns;
    uint8_t *roles;           /* by name id: enum ap_fusion_role, plus one; 0 = not asked */
    struct ap_pair_map pairs; /* of roles */
    uint32_t *names;
};

static bool is_kernel(const struct finding *finding, size_t place)
{
    return ap_row_kind(finding->trace->events.tag[finding->facts->links.row[place]]) == AP_KIND_kernel;
}

static uint32_t track_at(const struct finding *finding, size_t place)
{
    return finding->trace->events.track[finding->facts->links.row[place]];
}

static uint32_t row_at(const struct finding *finding, size_t at)
{
    return finding->facts->links.row[finding->repeats->places[at]];
}

/* ---- the stream ---- */

static enum ap_status busiest_stream(struct finding *finding, uint32_t *ret_track, struct ap_error *reterr)
{
    struct ap_layer_repeats *repeats = finding->repeats;
    const struct ap_links *links = &finding->facts->links;
    size_t count = finding->facts->order.track_count;
    int64_t *sums_ns;
    *ret_track = AP_NO_ROW;
    if (!links->count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(repeats->gate, sums_ns, count, reterr));
    for (size_t i = 0; i < links->count; i++)
        if (is_kernel(finding, i) && track_at(finding, i) < count)
            sums_ns[track_at(finding, i)] = ap_add_sat(sums_ns[track_at(finding, i)],
                                                       finding->trace->events.dur_ns[links->row[i]], &repeats->overflowed);
    for (uint32_t track = 0; track < count; track++)
        if (sums_ns[track] > 0 && (*ret_track == AP_NO_ROW || sums_ns[track] > sums_ns[*ret_track]))
            *ret_track = track;
    AP_FREE(repeats->gate, sums_ns, count);
    return AP_OK;
}

static enum ap_status take_stream(struct finding *finding, uint32_t track, struct ap_error *reterr)
{
    struct ap_layer_repeats *repeats = finding->repeats;
    const struct ap_links *links = &finding->facts->links;
    size_t count = 0;
    for (size_t i = 0; i < links->count && count < MOST_KERNELS; i++)
        count += is_kernel(finding, i) && track_at(finding, i) == track;
    AP_TRY(AP_ALLOC(repeats->gate, repeats->places, count, reterr));
    repeats->count = count;
    AP_TRY(AP_ALLOC_CLEARED(repeats->gate, repeats->covered, count, reterr));
    AP_TRY(AP_ALLOC(repeats->gate, finding->names, count, reterr));
    for (size_t i = 0, at = 0; at < count; i++) {
        if (!is_kernel(finding, i) || track_at(finding, i) != track)
            continue;
        repeats->places[at] = i;
        finding->names[at++] = finding->trace->events.name[links->row[i]];
    }
    return AP_OK;
}

/* ---- runs of repeats ---- */

static void cover(struct finding *finding, size_t first, size_t end)
{
    struct ap_layer_repeats *repeats = finding->repeats;
    for (size_t at = first; at < end; at++) {
        if (repeats->covered[at])
            continue;
        repeats->covered[at] = 1;
        repeats->total_ns =
            ap_add_sat(repeats->total_ns, finding->trace->events.dur_ns[row_at(finding, at)], &repeats->overflowed);
    }
}

static void cover_runs(struct finding *finding)
{
    size_t length = finding->repeats->period.length, same = 0;
    for (size_t at = length; at <= finding->repeats->count; at++) {
        if (at < finding->repeats->count && finding->names[at] == finding->names[at - length]) {
            same++;
            continue;
        }
        if (same >= length)
            cover(finding, at - same - length, at);
        same = 0;
    }
}

/* ---- neighbors ---- */

static enum ap_fusion_role role_of(struct finding *finding, size_t at)
{
    uint8_t *role = &finding->roles[finding->names[at]];
    if (!*role)
        *role = (uint8_t)(ap_fusion_role_of(&finding->patterns, ap_trace_text(finding->trace, finding->names[at])) + 1);
    return (enum ap_fusion_role)(*role - 1);
}

static enum ap_status take_pair(struct finding *finding, size_t at, const char *text, int64_t gap_ns,
                                struct ap_error *reterr)
{
    struct ap_layer_repeats *repeats = finding->repeats;
    int64_t first_ns = finding->trace->events.dur_ns[row_at(finding, at)];
    int64_t second_ns = finding->trace->events.dur_ns[row_at(finding, at + 1)];
    int64_t saves_ns = (first_ns < second_ns ? first_ns : second_ns) + gap_ns;
    uint32_t number;
    AP_TRY(ap_pair_map_add(&finding->pairs, role_of(finding, at), role_of(finding, at + 1), &number, reterr));
    if (number == repeats->fusion_count)
        AP_TRY(AP_RESERVE(repeats->gate, repeats->fusions, repeats->fusion_capacity, (size_t)number + 1, reterr));
    struct ap_fusion_found *found = &repeats->fusions[number];
    if (number == repeats->fusion_count) {
        *found = (struct ap_fusion_found){ .text = text, .longest_ns = -1 };
        repeats->fusion_count++;
    }
    found->count++;
    found->total_ns = ap_add_sat(found->total_ns, first_ns + second_ns, &repeats->overflowed);
    found->saves_ns = ap_add_sat(found->saves_ns, saves_ns, &repeats->overflowed);
    if (first_ns + second_ns > found->longest_ns) {
        found->longest_ns = first_ns + second_ns;
        found->at = at;
    }
    return AP_OK;
}

/* Each kernel is half of one pair at most. */
static enum ap_status find_fusions(struct finding *finding, struct ap_error *reterr)
{
    struct ap_layer_repeats *repeats = finding->repeats;
    AP_TRY(ap_fusion_patterns_init(&finding->patterns, repeats->gate, reterr));
    AP_TRY(AP_ALLOC_CLEARED(repeats->gate, finding->roles, ap_trace_id_count(finding->trace), reterr));
    for (size_t at = 0; at + 1 < repeats->count; at++) {
        if (!repeats->covered[at] || !repeats->covered[at + 1])
            continue;
        const char *text = ap_fusion_of(role_of(finding, at), role_of(finding, at + 1));
        int64_t gap_ns =
            finding->trace->events.start_ns[row_at(finding, at + 1)] - ap_row_end_ns(finding->trace, row_at(finding, at));
        if (!text || gap_ns >= MAX_GAP_NS)
            continue;
        AP_TRY(take_pair(finding, at, text, gap_ns > 0 ? gap_ns : 0, reterr));
        at++;
    }
    return AP_OK;
}

static enum ap_status find_all(struct finding *finding, struct ap_error *reterr)
{
    uint32_t track;
    struct ap_layer_repeats *repeats = finding->repeats;
    AP_TRY(busiest_stream(finding, &track, reterr));
    if (track == AP_NO_ROW)
        return AP_OK;
    AP_TRY(take_stream(finding, track, reterr));
    AP_TRY(ap_kernel_period_find(finding->names, repeats->count, LEAST_LENGTH, repeats->gate, &repeats->period, reterr));
    if (!repeats->period.length)
        return AP_OK;
    cover_runs(finding);
    return find_fusions(finding, reterr);
}

enum ap_status ap_layer_repeats_init(struct ap_layer_repeats *repeats, const struct ap_facts *facts, struct ap_gate *gate,
                                     struct ap_error *reterr)
{
    struct finding finding = { .repeats = repeats, .facts = facts, .trace = facts->trace };
    *repeats = (struct ap_layer_repeats){ .gate = gate };
    finding.pairs.gate = finding.patterns.gate = gate;
    enum ap_status status = find_all(&finding, reterr);
    AP_FREE(gate, finding.names, repeats->count);
    AP_FREE(gate, finding.roles, ap_trace_id_count(facts->trace));
    ap_pair_map_release(&finding.pairs);
    ap_name_patterns_release(&finding.patterns);
    return status;
}

void ap_layer_repeats_release(struct ap_layer_repeats *repeats)
{
    AP_FREE(repeats->gate, repeats->places, repeats->count);
    AP_FREE(repeats->gate, repeats->covered, repeats->count);
    AP_FREE(repeats->gate, repeats->fusions, repeats->fusion_capacity);
    *repeats = (struct ap_layer_repeats){ .gate = repeats->gate };
}
