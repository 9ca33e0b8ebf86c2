/* SPDX-License-Identifier: MIT */
#include "wait_graph.h"

#include <string.h>

#include "poison.h"

void ap_wait_graph_init(struct ap_wait_graph *graph, struct ap_gate *gate, uint32_t node_count)
{
    *graph = (struct ap_wait_graph){ .gate = gate, .node_count = node_count };
}

void ap_wait_graph_release(struct ap_wait_graph *graph)
{
    AP_FREE(graph->gate, graph->arrows, graph->arrow_capacity);
    AP_FREE(graph->gate, graph->starts, (size_t)graph->node_count + 1);
    AP_FREE(graph->gate, graph->targets, (size_t)graph->arrow_count + 1);
}

enum ap_status ap_wait_graph_add(struct ap_wait_graph *graph, uint32_t from, uint32_t to, struct ap_error *reterr)
{
    AP_TRY_ADD(graph->gate, graph->arrows, graph->arrow_count, graph->arrow_capacity, reterr, (struct ap_arrow){ from, to });
    return AP_OK;
}

enum ap_status ap_wait_graph_index(struct ap_wait_graph *graph, bool reversed, struct ap_error *reterr)
{
    size_t nodes = (size_t)graph->node_count + 1;
    if (!graph->starts)
        AP_TRY(AP_ALLOC(graph->gate, graph->starts, nodes, reterr));
    if (!graph->targets)
        AP_TRY(AP_ALLOC(graph->gate, graph->targets, (size_t)graph->arrow_count + 1, reterr));
    memset(graph->starts, 0, nodes * sizeof(graph->starts[0]));
    for (uint32_t i = 0; i < graph->arrow_count; i++)
        graph->starts[reversed ? graph->arrows[i].to : graph->arrows[i].from]++;
    for (uint32_t node = 1; node < graph->node_count + 1; node++)
        graph->starts[node] += graph->starts[node - 1];
    for (uint32_t i = graph->arrow_count; i-- > 0;) {
        const struct ap_arrow *arrow = &graph->arrows[i];
        graph->targets[--graph->starts[reversed ? arrow->to : arrow->from]] = reversed ? arrow->from : arrow->to;
    }
    return AP_OK;
}

/* Tarjan's search for strongly connected nodes, with a stack of its own in the place of recursion. */
struct search {
    const struct ap_wait_graph *graph;
    uint32_t *circles;
    uint32_t *order, *low, *at; /* by node: when it was met, 0 = not yet; the earliest that it leads to; its next arrow */
    uint32_t *path, *open;
    uint32_t path_count, open_count, met, circle_count;
};

static void enter(struct search *search, uint32_t node)
{
    search->order[node] = search->low[node] = ++search->met;
    search->at[node] = search->graph->starts[node];
    search->path[search->path_count++] = node;
    search->open[search->open_count++] = node;
}

/* What was opened since belongs to @node; alone it is no circle. UINT32_MAX in low marks what is closed. */
static void close_circle(struct search *search, uint32_t node)
{
    bool alone = search->open[search->open_count - 1] == node;
    uint32_t last;
    do {
        last = search->open[--search->open_count];
        search->low[last] = UINT32_MAX;
        search->circles[last] = alone ? AP_NODE_NONE : search->circle_count;
    } while (last != node);
    search->circle_count += !alone;
}

static void leave(struct search *search, uint32_t node)
{
    search->path_count--;
    uint32_t low = search->low[node];
    if (low == search->order[node])
        close_circle(search, node);
    else if (search->path_count && low < search->low[search->path[search->path_count - 1]])
        search->low[search->path[search->path_count - 1]] = low;
}

static void walk_from(struct search *search, uint32_t start)
{
    enter(search, start);
    while (search->path_count) {
        uint32_t node = search->path[search->path_count - 1];
        if (search->at[node] == search->graph->starts[node + 1]) {
            leave(search, node);
            continue;
        }
        uint32_t next = search->graph->targets[search->at[node]++];
        if (!search->order[next])
            enter(search, next);
        else if (search->low[next] != UINT32_MAX && search->order[next] < search->low[node])
            search->low[node] = search->order[next];
    }
}

enum ap_status ap_wait_graph_circles(const struct ap_wait_graph *graph, uint32_t *circles, uint32_t *ret_count,
                                     struct ap_error *reterr)
{
    uint32_t nodes = graph->node_count, *memory;
    *ret_count = 0;
    if (!nodes)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(graph->gate, memory, (size_t)nodes * 5, reterr));
    struct search search = { .graph = graph,
                             .circles = circles,
                             .order = memory,
                             .low = memory + nodes,
                             .at = memory + (size_t)nodes * 2,
                             .path = memory + (size_t)nodes * 3,
                             .open = memory + (size_t)nodes * 4 };
    for (uint32_t node = 0; node < nodes; node++)
        if (!search.order[node])
            walk_from(&search, node);
    AP_FREE(graph->gate, memory, (size_t)nodes * 5);
    *ret_count = search.circle_count;
    return AP_OK;
}
