/* SPDX-License-Identifier: MIT
 * graph_runs.c - kernels are put to their launches by counting; launches alike are found by the hash of their names, under
 * the key of this run, and compared name by name. */
#include "graph_runs.h"

#include "hash.h"
#include "row_set.h"
#include "sort.h"

#include "poison.h"

#define MOST_SOUGHT 32     /* kinds of graphs, the longest first, that are sought in more costly ways */
#define MOST_CANDIDATES 64 /* captured graphs of the right length that are looked at for each of them */

struct finding {
    struct ap_graph_runs *runs;
    const struct ap_trace *trace;
    const struct ap_links *links;
    const struct ap_call_kinds *calls;
    const struct ap_graph_mapping *mapping;
    struct ap_row_set launched; /* rows of graph launches that have kernels */
};

static bool is_of_graph(const struct finding *finding, struct ap_device_row linked)
{
    return linked.launch != AP_NO_ROW && ap_row_kind(finding->trace->events.tag[linked.row]) == AP_KIND_kernel &&
           ap_call_kind_of(finding->calls, finding->trace, linked.launch) == AP_CALL_graph_launch;
}

/* ---- launches ---- */

static enum ap_status find_launches(struct finding *finding, struct ap_error *reterr)
{
    struct ap_graph_runs *runs = finding->runs;
    AP_TRY(ap_row_set_init(&finding->launched, runs->gate, finding->trace->events.count, reterr));
    for (size_t i = 0; i < finding->links->count; i++) {
        if (!is_of_graph(finding, ap_device_row_at(finding->links, i)))
            continue;
        (void)ap_row_set_add(&finding->launched, ap_launch_at(finding->links, i));
        runs->place_count++;
    }
    ap_row_set_finish(&finding->launched);
    runs->launch_count = finding->launched.count;
    if (!runs->launch_count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(runs->gate, runs->launches, runs->launch_count, reterr));
    AP_TRY(AP_ALLOC(runs->gate, runs->places, runs->place_count, reterr));
    return AP_OK;
}

/* Rows of links are in order of start on each device, and stay so within a launch. */
static void put_kernels(struct finding *finding)
{
    struct ap_graph_runs *runs = finding->runs;
    const struct ap_links *links = finding->links;
    size_t first = 0;
    for (size_t i = 0; i < links->count; i++) {
        if (!is_of_graph(finding, ap_device_row_at(links, i)))
            continue;
        struct ap_graph_launch *launch = &runs->launches[ap_row_set_number(&finding->launched, ap_launch_at(links, i))];
        launch->row = ap_launch_at(links, i);
        launch->count++;
    }
    for (size_t i = 0; i < runs->launch_count; i++) {
        runs->launches[i].first = first;
        first += runs->launches[i].count;
        runs->launches[i].count = 0;
    }
    for (size_t i = 0; i < links->count; i++) {
        if (!is_of_graph(finding, ap_device_row_at(links, i)))
            continue;
        struct ap_graph_launch *launch = &runs->launches[ap_row_set_number(&finding->launched, ap_launch_at(links, i))];
        runs->places[launch->first + launch->count++] = i;
    }
}

/* ---- launches alike ---- */

static uint32_t name_at(const struct finding *finding, const struct ap_graph_launch *launch, uint32_t kernel)
{
    return finding->trace->events.name[finding->links->row[finding->runs->places[launch->first + kernel]]];
}

static bool are_alike(const struct finding *finding, const struct ap_graph_launch *a, const struct ap_graph_launch *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (name_at(finding, a, i) != name_at(finding, b, i))
            return false;
    return true;
}

static uint64_t hash_of(const struct finding *finding, const struct ap_graph_launch *launch)
{
    uint64_t hash = launch->count;
    for (uint32_t i = 0; i < launch->count; i++)
        hash = ap_hash_pair(&finding->runs->gate->hash_key, hash, name_at(finding, launch, i));
    return hash;
}

static enum ap_status kind_of(struct finding *finding, size_t index, uint32_t *slots, size_t slot_count,
                              struct ap_error *reterr)
{
    struct ap_graph_runs *runs = finding->runs;
    struct ap_graph_launch *launch = &runs->launches[index];
    size_t slot = (size_t)hash_of(finding, launch) & (slot_count - 1);
    while (slots[slot] && !are_alike(finding, launch, &runs->launches[runs->kinds[slots[slot] - 1].launch]))
        slot = (slot + 1) & (slot_count - 1);
    if (!slots[slot]) {
        struct ap_graph_kind kind = { .launch = index, .kernels = launch->count };
        AP_TRY_ADD(runs->gate, runs->kinds, runs->kind_count, runs->kind_capacity, reterr, kind);
        slots[slot] = (uint32_t)runs->kind_count;
    }
    launch->graph = slots[slot] - 1;
    struct ap_graph_kind *kind = &runs->kinds[launch->graph];
    kind->launches++;
    for (uint32_t i = 0; i < launch->count; i++)
        kind->total_ns =
            ap_add_sat(kind->total_ns, finding->trace->events.dur_ns[finding->links->row[runs->places[launch->first + i]]],
                       &runs->overflowed);
    return AP_OK;
}

static enum ap_status find_kinds(struct finding *finding, struct ap_error *reterr)
{
    struct ap_graph_runs *runs = finding->runs;
    size_t slot_count = 16;
    uint32_t *slots;
    while (slot_count < 2 * runs->launch_count)
        slot_count *= 2;
    AP_TRY(AP_ALLOC_CLEARED(runs->gate, slots, slot_count, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; status == AP_OK && i < runs->launch_count; i++)
        status = kind_of(finding, i, slots, slot_count, reterr);
    AP_FREE(runs->gate, slots, slot_count);
    return status;
}

/* ---- in the mapping ---- */

static bool stands_at(const struct finding *finding, const struct ap_graph_launch *launch, size_t first)
{
    for (uint32_t i = 0; i < launch->count; i++)
        if (finding->mapping->kernels[first + i].kernel != name_at(finding, launch, i))
            return false;
    return true;
}

static enum ap_status take_match(struct finding *finding, struct ap_graph_kind *kind, enum ap_graph_match match,
                                 size_t first, struct ap_error *reterr)
{
    struct ap_graph_runs *runs = finding->runs;
    AP_TRY(AP_RESERVE(runs->gate, runs->mapped, runs->mapped_capacity, runs->mapped_count + kind->kernels, reterr));
    kind->match = match;
    kind->mapped = runs->mapped_count;
    memcpy(runs->mapped + runs->mapped_count, finding->mapping->kernels + first, kind->kernels * sizeof(runs->mapped[0]));
    runs->mapped_count += kind->kernels;
    return AP_OK;
}

/* Another captured graph of the same names, of a batch of another size perhaps: what differs is not known. */
static void forget_differences(struct finding *finding, struct ap_graph_kind *kind, size_t first)
{
    for (uint32_t i = 0; i < kind->kernels; i++) {
        struct ap_mapped_kernel *mapped = &finding->runs->mapped[kind->mapped + i];
        const struct ap_mapped_kernel *other = &finding->mapping->kernels[first + i];
        if (mapped->op != other->op)
            mapped->op = 0;
        if (mapped->line != other->line)
            mapped->line = 0;
        if (mapped->op && mapped->signature.id == other->signature.id && mapped->arguments.id == other->arguments.id)
            continue;
        kind->shapes_differ |= mapped->signature.id != 0;
        mapped->signature = mapped->arguments = (struct ap_str){ 0 };
    }
}

/* Captured graphs, found by their length. */
static enum ap_status match_captures(struct finding *finding, struct ap_graph_kind *kind, struct ap_error *reterr)
{
    const struct ap_graph_mapping *mapping = finding->mapping;
    const struct ap_graph_launch *launch = &finding->runs->launches[kind->launch];
    size_t looked_at = 0;
    for (size_t i = 0; i < mapping->sequence_count && looked_at < MOST_CANDIDATES; i++) {
        const struct ap_mapped_sequence *sequence = &mapping->sequences[i];
        if (!sequence->is_capture || sequence->count != launch->count)
            continue;
        looked_at++;
        if (!stands_at(finding, launch, sequence->first))
            continue;
        if (kind->match == AP_GRAPH_unmatched)
            AP_TRY(take_match(finding, kind, AP_GRAPH_by_capture, sequence->first, reterr));
        else
            forget_differences(finding, kind, sequence->first);
    }
    return AP_OK;
}

/* Of each kernel, how long an end of the sequence before it is its beginning too (Knuth, Morris, Pratt). */
static void find_borders(const struct finding *finding, const struct ap_graph_launch *launch, uint32_t *borders)
{
    uint32_t border = borders[0] = 0;
    for (uint32_t i = 1; i < launch->count; i++) {
        while (border && name_at(finding, launch, border) != name_at(finding, launch, i))
            border = borders[border - 1];
        border += name_at(finding, launch, border) == name_at(finding, launch, i);
        borders[i] = border;
    }
}

/* Anywhere in a sequence of the mapping. */
static enum ap_status match_sequence(struct finding *finding, struct ap_graph_kind *kind, struct ap_error *reterr)
{
    const struct ap_graph_mapping *mapping = finding->mapping;
    const struct ap_graph_launch *launch = &finding->runs->launches[kind->launch];
    uint32_t *borders, same;
    AP_TRY(AP_ALLOC(finding->runs->gate, borders, launch->count, reterr));
    find_borders(finding, launch, borders);
    enum ap_status status = AP_OK;
    for (size_t i = 0; status == AP_OK && i < mapping->sequence_count && kind->match == AP_GRAPH_unmatched; i++) {
        size_t first = mapping->sequences[i].first, end = first + mapping->sequences[i].count;
        same = 0;
        for (size_t at = first; at < end && same < launch->count; at++) {
            while (same && name_at(finding, launch, same) != mapping->kernels[at].kernel)
                same = borders[same - 1];
            same += name_at(finding, launch, same) == mapping->kernels[at].kernel;
            if (same == launch->count)
                status = take_match(finding, kind, AP_GRAPH_by_sequence, at + 1 - launch->count, reterr);
        }
    }
    AP_FREE(finding->runs->gate, borders, launch->count);
    return status;
}

/* The n-th kernel of a name is the n-th of that name there: branches of a graph run in any order. */
static bool pair_by_count(const struct finding *finding, const struct ap_graph_launch *launch,
                          const struct ap_mapped_sequence *sequence, uint32_t *next, uint32_t *heads, uint32_t *ret_pairs)
{
    const struct ap_mapped_kernel *kernels = finding->mapping->kernels + sequence->first;
    bool fits = true;
    for (uint32_t i = launch->count; i-- > 0;) {
        next[i] = heads[kernels[i].kernel];
        heads[kernels[i].kernel] = i + 1;
    }
    for (uint32_t i = 0; i < launch->count; i++) {
        uint32_t *head = &heads[name_at(finding, launch, i)];
        fits = fits && *head;
        ret_pairs[i] = *head ? *head - 1 : 0;
        *head = *head ? next[*head - 1] : 0;
    }
    for (uint32_t i = 0; i < launch->count; i++)
        heads[kernels[i].kernel] = 0;
    return fits;
}

static enum ap_status match_counts(struct finding *finding, struct ap_graph_kind *kind, struct ap_error *reterr)
{
    const struct ap_graph_mapping *mapping = finding->mapping;
    struct ap_graph_runs *runs = finding->runs;
    const struct ap_graph_launch *launch = &runs->launches[kind->launch];
    size_t looked_at = 0, id_count = ap_trace_id_count(finding->trace);
    uint32_t *lists = NULL, *heads = NULL;
    enum ap_status status = AP_ALLOC(runs->gate, lists, 2 * (size_t)launch->count, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(runs->gate, heads, id_count, reterr));
    for (size_t i = 0; status == AP_OK && i < mapping->sequence_count && looked_at < MOST_CANDIDATES; i++) {
        const struct ap_mapped_sequence *sequence = &mapping->sequences[i];
        if (!sequence->is_capture || sequence->count != launch->count)
            continue;
        looked_at++;
        uint32_t *pairs = lists + launch->count;
        if (!pair_by_count(finding, launch, sequence, lists, heads, pairs))
            continue;
        status = take_match(finding, kind, AP_GRAPH_by_count, sequence->first, reterr);
        for (uint32_t at = 0; status == AP_OK && at < launch->count; at++)
            runs->mapped[kind->mapped + at] = mapping->kernels[sequence->first + pairs[at]];
        break;
    }
    AP_FREE(runs->gate, lists, 2 * (size_t)launch->count);
    AP_FREE(runs->gate, heads, id_count);
    return status;
}

static bool longest_first(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_graph_kind *kinds = context;
    AP_LARGER_FIRST(kinds[a].total_ns, kinds[b].total_ns);
    return a < b;
}

static enum ap_status match_kinds(struct finding *finding, struct ap_error *reterr)
{
    struct ap_graph_runs *runs = finding->runs;
    uint32_t *top;
    size_t count;
    AP_TRY(ap_top_indices(runs->gate, (uint32_t)runs->kind_count, MOST_SOUGHT, longest_first, runs->kinds, &top, &count,
                          reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; status == AP_OK && i < count; i++) {
        struct ap_graph_kind *kind = &runs->kinds[top[i]];
        status = match_captures(finding, kind, reterr);
        if (status == AP_OK && kind->match == AP_GRAPH_unmatched)
            status = match_sequence(finding, kind, reterr);
        if (status == AP_OK && kind->match == AP_GRAPH_unmatched)
            status = match_counts(finding, kind, reterr);
        if (kind->match != AP_GRAPH_unmatched)
            runs->matched_kernels += (size_t)kind->launches * kind->kernels;
    }
    AP_FREE(runs->gate, top, count);
    return status;
}

static enum ap_status find_all(struct finding *finding, struct ap_error *reterr)
{
    AP_TRY(find_launches(finding, reterr));
    if (!finding->runs->launch_count)
        return AP_OK;
    put_kernels(finding);
    AP_TRY(find_kinds(finding, reterr));
    return finding->mapping ? match_kinds(finding, reterr) : AP_OK;
}

enum ap_status ap_graph_runs_init(struct ap_graph_runs *runs, const struct ap_trace *trace, const struct ap_links *links,
                                  const struct ap_call_kinds *calls, const struct ap_graph_mapping *mapping,
                                  struct ap_gate *gate, struct ap_error *reterr)
{
    struct finding finding = { .runs = runs, .trace = trace, .links = links, .calls = calls, .mapping = mapping };
    *runs = (struct ap_graph_runs){ .gate = gate };
    enum ap_status status = find_all(&finding, reterr);
    ap_row_set_release(&finding.launched);
    return status;
}

void ap_graph_runs_release(struct ap_graph_runs *runs)
{
    AP_FREE(runs->gate, runs->places, runs->place_count);
    AP_FREE(runs->gate, runs->launches, runs->launch_count);
    AP_FREE(runs->gate, runs->kinds, runs->kind_capacity);
    AP_FREE(runs->gate, runs->mapped, runs->mapped_capacity);
    *runs = (struct ap_graph_runs){ .gate = runs->gate };
}
