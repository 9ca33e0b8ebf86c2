/* SPDX-License-Identifier: MIT
 * The allocations that are alive at the peak as a tree of callers, for a flame graph. Stacks are sorted by their frames
 * from the outermost on, so that every node is a range of them; the node with most bytes is opened first, until there are
 * as many nodes as a chart can show. */
#include <stdlib.h>

#include "frame_kind.h"
#include "id_map.h"
#include "peak_part.h"
#include "sort.h"

#include "poison.h"

#define MOST_NODES 2000
#define MOST_CHILDREN 100 /* of one node; the rest is one more */

/* Names beside those of frames. */
#define NAME_ALL UINT32_MAX
#define NAME_NO_STACK (UINT32_MAX - 1)
#define NAME_SELF (UINT32_MAX - 2)
#define NAME_OTHER (UINT32_MAX - 3)
#define KEY_OF_NAME 5 /* added, it makes a key that is not 0 */

/* One stack, by the frames that are shown. */
struct branch {
    int64_t bytes;
    uint32_t allocations;
    uint32_t start, depth; /* flame->ids[start] is the outermost frame + 1, ids[start + depth] is 0 */
};

struct node {
    int64_t bytes;
    uint64_t allocations;
    uint32_t parent, name; /* frame id or NAME_... */
    uint32_t low, high;    /* range of flame->branches, sorted */
    uint32_t depth;        /* frames above it and its own */
    bool open;             /* has been looked into, or cannot be */
};

struct flame {
    struct ap_peak_part *own;
    struct branch *branches;
    uint32_t *ids;
    int64_t *bytes_before; /* of the branches before */
    uint64_t *allocations_before;
    uint32_t branch_count;
    size_t id_count;
    struct node *nodes;
    uint32_t node_count;
};

/* ------------------------------------------------------------------------------------------------------------- sorting */

static uint32_t key_at(const struct flame *flame, uint32_t branch, uint32_t depth)
{
    const struct branch *of = &flame->branches[branch];
    return depth < of->depth ? flame->ids[of->start + depth] : 0;
}

static void swap(struct branch *a, struct branch *b)
{
    struct branch spare = *a;
    *a = *b;
    *b = spare;
}

struct range {
    uint32_t low, high, depth;
};

/* Into less than, equal to, and greater than the middle one's key at a depth. */
static void split(struct flame *flame, const struct range *range, uint32_t *ret_less, uint32_t *ret_greater)
{
    uint32_t pivot = key_at(flame, range->low + (range->high - range->low) / 2, range->depth);
    uint32_t less = range->low, i = range->low, greater = range->high;
    while (i < greater) {
        uint32_t key = key_at(flame, i, range->depth);
        if (key < pivot)
            swap(&flame->branches[less++], &flame->branches[i++]);
        else if (key > pivot)
            swap(&flame->branches[i], &flame->branches[--greater]);
        else
            i++;
    }
    *ret_less = less;
    *ret_greater = greater;
}

static uint32_t length(const struct range *range)
{
    return range->high - range->low;
}

/* Multikey quicksort: no frame is looked at more often than it takes to tell stacks apart. Of the three parts the largest
 * waits longest, so that no more than two for each halving wait at once. */
static void sort_branches(struct flame *flame)
{
    struct range waiting[3 * 33];
    size_t count = 0;
    if (flame->branch_count > 1)
        waiting[count++] = (struct range){ 0, flame->branch_count, 0 };
    while (count) {
        struct range range = waiting[--count];
        uint32_t less, greater;
        split(flame, &range, &less, &greater);
        bool ended = key_at(flame, less, range.depth) == 0; /* equal to the end: they are one stack */
        struct range parts[] = { { range.low, less, range.depth },
                                 { less, ended ? less : greater, range.depth + 1 },
                                 { greater, range.high, range.depth } };
        for (int i = 0; i < 2; i++) /* largest first */
            for (int j = 0; j < 2 - i; j++)
                if (length(&parts[j]) < length(&parts[j + 1])) {
                    struct range spare = parts[j];
                    parts[j] = parts[j + 1];
                    parts[j + 1] = spare;
                }
        for (int i = 0; i < 3; i++)
            if (length(&parts[i]) > 1)
                waiting[count++] = parts[i];
    }
}

/* -------------------------------------------------------------------------------------------------------------- nodes */

static uint32_t add_node(struct flame *flame, uint32_t parent, uint32_t name, const struct range *range)
{
    bool overflowed = false;
    uint32_t id = flame->node_count++;
    bool leaf = name == NAME_NO_STACK || name == NAME_SELF || name == NAME_OTHER;
    flame->nodes[id] = (struct node){
        .bytes = ap_subtract_sat(flame->bytes_before[range->high], flame->bytes_before[range->low], &overflowed),
        .allocations = flame->allocations_before[range->high] - flame->allocations_before[range->low],
        .parent = parent,
        .name = name,
        .low = range->low,
        .high = range->high,
        .depth = range->depth,
        .open = leaf,
    };
    return id;
}

/* End of the run of branches that have one frame at this depth, found in steps that double. */
static uint32_t run_end(const struct flame *flame, uint32_t from, uint32_t high, uint32_t depth)
{
    uint32_t key = key_at(flame, from, depth), step = 1, low = from;
    while (high - low > step && key_at(flame, low + step, depth) == key) {
        low += step;
        step *= 2;
    }
    if (high - low > step)
        high = low + step;
    while (high - low > 1) { /* low has the key, high does not or is the end */
        uint32_t middle = low + (high - low) / 2;
        if (key_at(flame, middle, depth) == key)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct child {
    int64_t bytes;
    uint32_t name, low, high;
};

static bool child_before(const struct child *a, const struct child *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->low < b->low;
}

/* Keeps the largest, in order. */
static void keep_child(struct child *kept, uint32_t *count, uint32_t limit, const struct child *child)
{
    if (*count == limit && !child_before(child, &kept[limit - 1]))
        return;
    uint32_t at = *count < limit ? (*count)++ : limit - 1;
    while (at > 0 && child_before(child, &kept[at - 1])) {
        kept[at] = kept[at - 1];
        at--;
    }
    kept[at] = *child;
}

/* All children of a node; the largest go to @kept. */
static uint32_t list_children(const struct flame *flame, const struct node *node, bool root, struct child *kept,
                              uint32_t *ret_kept)
{
    bool overflowed = false;
    uint32_t count = 0;
    *ret_kept = 0;
    for (uint32_t i = node->low, end; i < node->high; i = end) {
        uint32_t key = key_at(flame, i, node->depth);
        end = run_end(flame, i, node->high, node->depth);
        struct child child = { .name = key ? key - 1 : root ? NAME_NO_STACK : NAME_SELF, .low = i, .high = end };
        child.bytes = ap_subtract_sat(flame->bytes_before[end], flame->bytes_before[i], &overflowed);
        keep_child(kept, ret_kept, MOST_CHILDREN, &child);
        count++;
    }
    return count;
}

/* What the kept children leave of a node. */
static void add_other(struct flame *flame, uint32_t id, uint32_t first)
{
    bool overflowed = false;
    struct node other = flame->nodes[id];
    for (uint32_t i = first; i < flame->node_count; i++) {
        other.bytes = ap_subtract_sat(other.bytes, flame->nodes[i].bytes, &overflowed);
        other.allocations -= flame->nodes[i].allocations;
    }
    other.parent = id;
    other.name = NAME_OTHER;
    other.open = true;
    flame->nodes[flame->node_count++] = other;
}

static void open_node(struct flame *flame, uint32_t id)
{
    struct child kept[MOST_CHILDREN];
    const struct node node = flame->nodes[id];
    uint32_t room = MOST_NODES - flame->node_count, first = flame->node_count, kept_count;
    flame->nodes[id].open = true;
    uint32_t count = list_children(flame, &node, id == 0, kept, &kept_count);
    if (count == 1 && kept[0].name == NAME_SELF)
        return; /* a leaf */
    if (count > kept_count || count > room) {
        if (room < 2)
            return;
        kept_count = kept_count < room - 1 ? kept_count : room - 1;
    }
    for (uint32_t i = 0; i < kept_count; i++) {
        struct range range = { kept[i].low, kept[i].high, node.depth + 1 };
        (void)add_node(flame, id, kept[i].name, &range);
    }
    if (kept_count < count)
        add_other(flame, id, first);
}

static void grow_tree(struct flame *flame)
{
    struct range all = { 0, flame->branch_count, 0 };
    (void)add_node(flame, UINT32_MAX, NAME_ALL, &all);
    while (flame->node_count < MOST_NODES) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < flame->node_count; i++)
            if (!flame->nodes[i].open && (best == UINT32_MAX || flame->nodes[i].bytes > flame->nodes[best].bytes))
                best = i;
        if (best == UINT32_MAX)
            return;
        open_node(flame, best);
    }
}

/* ----------------------------------------------------------------------------------------------------------- branches */

static void take_branch(struct flame *flame, const struct ap_owned_group *group)
{
    uint32_t *ids = flame->ids + flame->id_count;
    uint32_t depth = ap_stack_shown(flame->own->pass->snapshot, group->stack, ids);
    for (uint32_t i = 0; i < depth / 2; i++) {
        uint32_t spare = ids[i];
        ids[i] = ids[depth - 1 - i];
        ids[depth - 1 - i] = spare;
    }
    for (uint32_t i = 0; i < depth; i++)
        ids[i]++;
    flame->branches[flame->branch_count++] = (struct branch){ group->bytes, group->count, (uint32_t)flame->id_count, depth };
    flame->id_count += depth;
}

static enum ap_status take_branches(struct flame *flame, struct ap_arena *arena, const struct ap_owned_group *groups,
                                    uint32_t count, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = flame->own->pass->snapshot;
    size_t ids = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t depth;
        (void)ap_stack_frames(&snapshot->stacks, groups[i].stack, &depth);
        ids += depth;
    }
    if (ids >= UINT32_MAX)
        return ap_fail(reterr, AP_ERROR_LIMIT, "more than 4 billion frames in live stacks: record a shorter history");
    flame->ids = ap_arena_alloc(arena, (ids + 1) * sizeof(*flame->ids));
    flame->branches = ap_arena_alloc(arena, ((size_t)count + 1) * sizeof(*flame->branches));
    flame->bytes_before = ap_arena_alloc(arena, ((size_t)count + 1) * sizeof(*flame->bytes_before));
    flame->allocations_before = ap_arena_alloc(arena, ((size_t)count + 1) * sizeof(*flame->allocations_before));
    flame->nodes = ap_arena_alloc(arena, (MOST_NODES + 1) * sizeof(*flame->nodes));
    if (!flame->ids || !flame->branches || !flame->bytes_before || !flame->allocations_before || !flame->nodes)
        return ap_fail_memory(flame->own->gate, reterr);
    for (uint32_t i = 0; i < count; i++)
        take_branch(flame, &groups[i]);
    sort_branches(flame);
    for (uint32_t i = 0; i < count; i++) {
        bool overflowed = false;
        flame->bytes_before[i + 1] = ap_add_sat(flame->bytes_before[i], flame->branches[i].bytes, &overflowed);
        flame->allocations_before[i + 1] = flame->allocations_before[i] + flame->branches[i].allocations;
    }
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------------- output */

static enum ap_status name_text(const struct flame *flame, uint32_t name, struct ap_text *ret_text, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = flame->own->pass;
    switch (name) {
    case NAME_ALL: *ret_text = AP_TEXT("all"); return AP_OK;
    case NAME_NO_STACK: *ret_text = AP_TEXT("no stack recorded"); return AP_OK;
    case NAME_SELF: *ret_text = AP_TEXT("self"); return AP_OK;
    case NAME_OTHER: *ret_text = AP_TEXT("other"); return AP_OK;
    default: return ap_memory_frame_text(pass->snapshot, &pass->scratch, name, ret_text, reterr);
    }
}

/* Whose code it is. */
static const char *code_of(const struct flame *flame, uint32_t name)
{
    const struct ap_snapshot *snapshot = flame->own->pass->snapshot;
    if (name >= NAME_OTHER)
        return "none";
    struct ap_text file = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[name].filename);
    if (ap_text_contains(file, AP_TEXT("/torch/")))
        return "torch";
    return ap_frame_is_library(file) ? "library" : "user";
}

/* Names once each, as a frame may stand in many nodes; then the nodes, every parent before its children. */
static enum ap_status put_names(const struct flame *flame, struct ap_value *to, struct ap_id_map *map,
                                struct ap_error *reterr)
{
    struct ap_value *names = ap_add_list(flame->own->pass->model, to, "names"),
                    *codes = ap_add_list(flame->own->pass->model, to, "codes");
    uint32_t count = 0;
    for (uint32_t i = 0; i < flame->node_count; i++) {
        uint32_t *at = ap_id_map_add(map, flame->nodes[i].name + KEY_OF_NAME);
        struct ap_text text;
        if (*at != AP_ID_NONE)
            continue;
        *at = count++;
        AP_TRY(name_text(flame, flame->nodes[i].name, &text, reterr));
        ap_add_text(flame->own->pass->model, names, NULL, text);
        ap_add_string(flame->own->pass->model, codes, NULL, code_of(flame, flame->nodes[i].name));
    }
    return AP_OK;
}

static void put_nodes(const struct flame *flame, struct ap_value *to, const struct ap_id_map *map)
{
    struct ap_snapshot_part *pass = flame->own->pass;
    struct ap_value *list = ap_add_list(pass->model, to, "nodes");
    for (uint32_t i = 0; i < flame->node_count; i++) {
        const struct node *node = &flame->nodes[i];
        struct ap_value *row = ap_add_object(pass->model, list, NULL);
        ap_put_count(pass, row, "parent", i > 0, node->parent);
        ap_add_count(pass->model, row, "name", *ap_id_map_find(map, node->name + KEY_OF_NAME));
        ap_add_bytes(pass->model, row, "requested_bytes", node->bytes);
        ap_add_count(pass->model, row, "allocations", (int64_t)node->allocations);
    }
}

static enum ap_status put_tree(const struct flame *flame, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_id_map map;
    AP_TRY(ap_id_map_init(&map, flame->own->gate, flame->node_count, reterr));
    enum ap_status status = put_names(flame, to, &map, reterr);
    if (status == AP_OK)
        put_nodes(flame, to, &map);
    ap_id_map_release(&map);
    return status;
}

static enum ap_status put_flame(struct ap_peak_part *own, struct ap_value *to, const struct ap_owned_group *groups,
                                uint32_t count, struct ap_error *reterr)
{
    struct ap_arena arena;
    struct flame flame = { .own = own };
    ap_arena_init(&arena, own->gate);
    enum ap_status status = take_branches(&flame, &arena, groups, count, reterr);
    if (status == AP_OK) {
        grow_tree(&flame);
        status = put_tree(&flame, to, reterr);
    }
    ap_arena_release(&arena);
    return status;
}

enum ap_status ap_own_put_flame(struct ap_peak_part *own, struct ap_error *reterr)
{
    struct ap_snapshot_part *pass = own->pass;
    struct ap_owned_group *groups;
    uint32_t count;
    if (!own->has_largest || !own->largest.count) {
        ap_add_null(pass->model, own->memory, "flame");
        return AP_OK;
    }
    struct ap_value *to = ap_add_object(pass->model, own->memory, "flame");
    ap_put_count(pass, to, "device", own->largest.device >= 0, (uint64_t)own->largest.device);
    ap_add_string(pass->model, to, "at", own->largest.at_peak ? "peak" : "end");
    AP_TRY(ap_owned_by_stack(own->owners, &own->largest, &groups, &count, reterr));
    enum ap_status status = put_flame(own, to, groups, count, reterr);
    AP_FREE(own->gate, groups, count);
    return status;
}
