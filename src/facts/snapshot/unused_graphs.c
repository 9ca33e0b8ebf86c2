/* SPDX-License-Identifier: MIT
 * unused_graphs.c - what forward passes keep for a backward pass that never comes, or that goes on without it. */
#include "avoidable_search.h"

#include "snapshot_state.h"
#include "sort.h"

#include "poison.h"

#define MOST_SHORT 32u    /* entries that temporaries live */
#define LEAST_OF_GRAPH 8u /* activations, of so many lines: */
#define LEAST_LINES 3u
#define MORE_THAN_ONE_PASS 1.5 /* times the allocations of the longest forward that a backward pass follows */
#define SHARE_OF_FORWARD 0.5   /* of the bytes that the forwards made: results that are kept on purpose are less */
#define SHARE_OF_RUN 0.8       /* of what a forward makes and keeps, from the first allocation of a graph on, */
#define SHARE_OF_GRAPH 0.9     /* as far as so many of its allocations */

/* Under no_grad or inference_mode there is no graph: what is kept there is a cache or a result. A cache of keys and values
 * says itself what it is kept for. */
static bool is_kept(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end)
{
    if (alloc == AP_NO_ENTRY || !ap_search_is_forward(search, alloc))
        return false;
    const struct ap_owner_stack *stack = &search->owners->stacks[search->owners->replay->snapshot->actions.stack[alloc]];
    return !stack->without_grad && !stack->grown && stack->sign != AP_SIGN_KV_CACHE &&
           (end == AP_NO_ENTRY || end - alloc > MOST_SHORT);
}

/* Was there no room for something while it was alive? Then the failure may have cut its forward short, and let it go. */
static bool sees_failure(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end)
{
    uint32_t offset = search->of->first_entry;
    return search->failures_before[end - offset] > search->failures_before[alloc - offset];
}

/* Of a forward pass behind which no backward pass came before it went, or before the end of the history. */
static bool has_no_backward(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end)
{
    const struct ap_pass *pass = is_kept(search, alloc, end) ? ap_search_pass(search, alloc) : NULL;
    if (!pass || end == AP_NO_ENTRY)
        return pass && search->keeps_graphs && pass->use == ap_search_end(search);
    return end < pass->use && (pass->outgrown || !sees_failure(search, alloc, end));
}

/* The pass of a forward whose backward pass left it there, NULL = none: something else gave it back, and not in a later
 * backward pass. A backward pass that finds no room leaves what it did not come to. */
static const struct ap_pass *left_behind(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end)
{
    const struct ap_pass *pass = is_kept(search, alloc, end) && end != AP_NO_ENTRY ? ap_search_pass(search, alloc) : NULL;
    if (!pass || pass->done == AP_NO_ENTRY || end < pass->done || ap_search_work(search, end) == AP_WORK_BACKWARD ||
        sees_failure(search, alloc, end))
        return NULL;
    const struct ap_pass *at = ap_search_pass(search, end);
    return at == pass || end < at->use || at->done == AP_NO_ENTRY || end > at->done ? pass : NULL;
}

/* What a forward made may be there for the backward pass that the history no longer shows: only one of several forwards in a
 * row has it before it. Results that are kept on purpose are of few lines, or of few bytes. */
static void look_for_graphs_at_end(struct ap_avoidable_search *search)
{
    uint32_t most = 0, count = 0, lines = 0, stack = 0, end = ap_search_end(search);
    double kept_bytes = 0, made_bytes = 0;
    if (!search->pass_count || search->passes[search->pass_count - 1].use != end)
        return;
    const struct ap_pass *last = &search->passes[search->pass_count - 1];
    for (const struct ap_pass *pass = search->passes + search->of->starts_live; pass < last;
         pass++) /* the first may be cut */
        most = pass->count > most ? pass->count : most;
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        if (owned->end != AP_NO_ENTRY || owned->alloc == AP_NO_ENTRY || owned->alloc < last->start ||
            !is_kept(search, owned->alloc, AP_NO_ENTRY))
            continue;
        count++;
        lines += owned->stack != stack; /* the list is in order of stacks */
        stack = owned->stack;
        kept_bytes += (double)owned->bytes;
    }
    for (uint32_t i = last->start; i < end; i++)
        made_bytes += ap_search_is_forward(search, i) ? (double)search->owners->replay->snapshot->actions.size_bytes[i] : 0;
    bool graph = lines >= LEAST_OF_GRAPH || (lines >= LEAST_LINES && kept_bytes >= SHARE_OF_FORWARD * made_bytes);
    search->keeps_graphs = most && graph && count > MORE_THAN_ONE_PASS * most;
}

/* What a forward made when a request of its own failed is no more than one forward makes; a validation that keeps the graph
 * of each batch has several when it fails. */
static void look_for_graphs_at_failures(struct ap_avoidable_search *search)
{
    uint32_t most = 0, end = ap_search_end(search);
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        if (owned->end == AP_NO_ENTRY || !is_kept(search, owned->alloc, owned->end) ||
            !sees_failure(search, owned->alloc, owned->end) || !ap_search_pass(search, owned->alloc))
            continue;
        search->passes[ap_search_pass(search, owned->alloc) - search->passes].cut++;
    }
    for (uint32_t i = search->of->starts_live; i < search->pass_count; i++) { /* the first may be cut */
        struct ap_pass *pass = &search->passes[i];
        pass->outgrown = most && pass->cut > MORE_THAN_ONE_PASS * most;
        most = pass->use != end && pass->count > most ? pass->count : most;
    }
}

/* What of one kind is held at the peak. */
struct graph {
    uint32_t count, lines, stack; /* the last stack that was met */
    uint32_t moments;             /* between two allocations, in which it goes */
    uint32_t from, to;            /* entries that made it */
    bool is_one;
};

static void add_to(struct graph *graph, const struct ap_owned *owned)
{
    bool first = !graph->count++;
    graph->lines += first || graph->stack != owned->stack; /* the list is in order of stacks */
    graph->stack = owned->stack;
    graph->from = first || owned->alloc < graph->from ? owned->alloc : graph->from;
    graph->to = first || owned->alloc > graph->to ? owned->alloc : graph->to;
}

/* Many activations of several lines are held, as a graph holds them; results that are kept on purpose are of one line.
 * Python frees a graph at once, and those of several batches each at once: a backward pass, which may be of threads without
 * stacks, allocates between its frees. */
static bool holds_graph(const struct graph *graph)
{
    return graph->count >= LEAST_OF_GRAPH && graph->lines >= LEAST_LINES &&
           graph->moments <= graph->count / LEAST_OF_GRAPH + 1;
}

/* Of what its forward kept from the first allocation of the graph on nothing went in the backward pass, as far as nearly all
 * of the graph: hidden states that are collected lie between activations that do. A loss and logits that a variable holds
 * until the next step lie behind it, and those of the pass that does have a backward pass between the two. */
static bool is_whole(const struct ap_avoidable_search *search, const struct graph *graph)
{
    const struct ap_replay *replay = search->owners->replay;
    uint32_t kept = 0, left = 0, whole = 0;
    for (uint32_t i = graph->from; i <= graph->to; i++) {
        uint32_t lifetime = ap_search_is_forward(search, i) ? replay->lifetime_of[i] : AP_NO_LIFETIME;
        uint32_t end = lifetime == AP_NO_LIFETIME ? i : ap_search_life_end(&replay->lifetimes[lifetime]);
        if (!is_kept(search, i, end))
            continue;
        kept++;
        left += left_behind(search, i, end) != NULL;
        whole = left >= SHARE_OF_RUN * kept ? left : whole;
    }
    return whole >= SHARE_OF_GRAPH * left;
}

/* When one of a graph goes: behind so many allocations. */
struct going {
    uint32_t graph, moment;
};

static int by_graph_then_moment(const void *left, const void *right)
{
    const struct going *a = left, *b = right;
    AP_BY_SMALLER(a->graph, b->graph);
    AP_BY_SMALLER(a->moment, b->moment);
    return 0;
}

static void count_moments(struct going *going, uint32_t count, struct graph *graphs)
{
    ap_sort(going, count, sizeof(*going), by_graph_then_moment);
    for (uint32_t i = 0; i < count; i++)
        graphs[going[i].graph].moments += !i || by_graph_then_moment(&going[i - 1], &going[i]);
}

/* Fills @ret_graphs, one for each pass and one behind them for what no backward pass follows. */
static enum ap_status gather(const struct ap_avoidable_search *search, struct graph *ret_graphs, struct ap_error *reterr)
{
    struct going *going = NULL;
    uint32_t count = 0;
    AP_TRY(AP_ALLOC(search->owners->gate, going, search->owned->count, reterr));
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        const struct ap_pass *pass = left_behind(search, owned->alloc, owned->end);
        uint32_t graph = pass ? (uint32_t)(pass - search->passes) : search->pass_count;
        if (!pass && !has_no_backward(search, owned->alloc, owned->end))
            continue;
        add_to(&ret_graphs[graph], owned);
        if (owned->end != AP_NO_ENTRY)
            going[count++] = (struct going){ graph, search->allocations_before[owned->end - search->of->first_entry] };
    }
    count_moments(going, count, ret_graphs);
    AP_FREE(search->owners->gate, going, search->owned->count);
    for (uint32_t i = 0; i <= search->pass_count; i++)
        ret_graphs[i].is_one = holds_graph(&ret_graphs[i]) && (i == search->pass_count || is_whole(search, &ret_graphs[i]));
    return AP_OK;
}

/* Its backward pass is done and the history ends with it: of a run that leaves graphs behind, the last one. */
static bool is_left_at_end(const struct ap_avoidable_search *search, uint32_t alloc, uint32_t end)
{
    const struct ap_pass *pass = end == AP_NO_ENTRY && is_kept(search, alloc, end) ? ap_search_pass(search, alloc) : NULL;
    return pass && pass->done != AP_NO_ENTRY;
}

/* A graph like those at the peak is let go wherever it is: the next highest point may have another one. */
static enum ap_status cut_graphs(struct ap_avoidable_search *search, bool unused, bool behind, struct ap_error *reterr)
{
    const struct ap_replay *replay = search->owners->replay;
    for (uint32_t i = 0; i < search->of->lifetime_count; i++) {
        uint32_t lifetime = search->of->first_lifetime + i;
        const struct ap_lifetime *life = &replay->lifetimes[lifetime];
        uint32_t end = ap_search_life_end(life);
        if ((unused && has_no_backward(search, life->alloc, end)) ||
            (behind && (left_behind(search, life->alloc, end) || is_left_at_end(search, life->alloc, end))))
            AP_TRY(ap_search_cut(search, life->alloc, end == AP_NO_ENTRY ? ap_search_end(search) : end,
                                 ap_replay_lifetime_bytes(replay, lifetime), reterr));
    }
    return AP_OK;
}

/* The graphs of passes may overlap, so that none of them goes over its entries again. */
static void count_entries(struct ap_avoidable_search *search)
{
    const struct ap_str *names = search->owners->replay->snapshot->actions.name + search->of->first_entry;
    for (uint32_t i = 0; i < search->of->entry_count; i++) {
        search->allocations_before[i + 1] = search->allocations_before[i] + (names[i].id == AP_ACTION_ALLOC);
        search->failures_before[i + 1] = search->failures_before[i] + (names[i].id == AP_ACTION_OOM);
    }
}

static enum ap_status find_graphs(struct ap_avoidable_search *search, struct graph *graphs, struct ap_avoidable *to,
                                  struct ap_error *reterr)
{
    bool behind = false;
    count_entries(search);
    look_for_graphs_at_end(search);
    look_for_graphs_at_failures(search);
    AP_TRY(gather(search, graphs, reterr));
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        const struct ap_pass *pass = left_behind(search, owned->alloc, owned->end);
        if (pass ? graphs[pass - search->passes].is_one
                 : graphs[search->pass_count].is_one && has_no_backward(search, owned->alloc, owned->end))
            ap_avoidable_add(search, to, owned);
        behind = behind || (pass && graphs[pass - search->passes].is_one);
    }
    return cut_graphs(search, graphs[search->pass_count].is_one, behind, reterr);
}

enum ap_status ap_search_unused_graphs(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    struct ap_gate *gate = search->owners->gate;
    size_t graph_count = (size_t)search->pass_count + 1, entry_count = (size_t)search->of->entry_count + 1;
    struct graph *graphs = NULL;
    enum ap_status status = AP_ALLOC_CLEARED(gate, graphs, graph_count, reterr);
    AP_AND_THEN(status, AP_ALLOC_CLEARED(gate, search->allocations_before, entry_count, reterr));
    AP_AND_THEN(status, AP_ALLOC_CLEARED(gate, search->failures_before, entry_count, reterr));
    AP_AND_THEN(status, find_graphs(search, graphs, to, reterr));
    AP_FREE(gate, search->failures_before, entry_count);
    AP_FREE(gate, search->allocations_before, entry_count);
    AP_FREE(gate, graphs, graph_count);
    return status;
}
