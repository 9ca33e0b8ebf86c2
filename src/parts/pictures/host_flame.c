/* SPDX-License-Identifier: MIT
 * Host time by stack, for a flame graph: rows of one name below one node are one node. The rows of a thread come in order of
 * time, so that a row's parent has its node already. */
#include <string.h>

#include "code_kind.h"
#include "id_map.h"
#include "pair_map.h"
#include "pictures.h"
#include "sort.h"

#include "poison.h"

#define MOST_NODES_MET (1u << 17) /* stacks that come later count where they branch off */
#define MOST_NODES 3000u
#define LEAST_SHARE 2000 /* what is less than one in so many of the whole is not drawn */

/* Names beside those of rows. */
#define NAME_ALL UINT32_MAX
#define NAME_STEPS (UINT32_MAX - 1)
#define NAME_TRACK (UINT32_MAX - 2)
#define KEY_OF_NAME 5 /* added, it makes a key that is not 0 */

struct node {
    int64_t dur_ns;
    uint64_t count;
    uint32_t parent, name, track; /* the track where the name is NAME_TRACK */
    enum ap_code_kind code;       /* of its first row */
};

struct flame {
    struct ap_part_context *context;
    struct ap_pair_map map; /* of parent and name; a thread's name is its track, from the top down */
    struct node *nodes;     /* parents first */
    size_t capacity;
    uint32_t *node_of_row;
    struct ap_code_kinds codes;
    int64_t waiting_ns; /* of threads that are left out since they only wait */
    uint32_t waiting_count;
    bool overflowed;
};

static enum ap_status find_node(struct flame *flame, uint32_t parent, uint32_t name, uint32_t track, uint32_t *ret_node,
                                struct ap_error *reterr)
{
    uint32_t key = name == NAME_TRACK ? NAME_TRACK - track : name, count = flame->map.count;
    if (count >= MOST_NODES_MET) {
        uint32_t found = ap_pair_map_find(&flame->map, parent, key);
        *ret_node = found == AP_PAIR_NONE ? parent : found;
        return AP_OK;
    }
    AP_TRY(AP_RESERVE(flame->context->gate, flame->nodes, flame->capacity, (size_t)count + 1, reterr));
    AP_TRY(ap_pair_map_add(&flame->map, parent, key, ret_node, reterr));
    if (*ret_node == count)
        flame->nodes[count] = (struct node){ .parent = parent, .name = name, .track = track };
    return AP_OK;
}

static void add_time(struct flame *flame, uint32_t node, int64_t dur_ns)
{
    flame->nodes[node].dur_ns = ap_add_sat(flame->nodes[node].dur_ns, dur_ns, &flame->overflowed);
    flame->nodes[node].count++;
}

/* Steps differ by their number alone: until they have a node, they are marked. */
#define IS_STEP UINT32_MAX

static void mark_steps(struct flame *flame)
{
    const struct ap_steps *steps = &flame->context->facts->steps;
    for (size_t i = 0; i < flame->context->trace->events.count; i++)
        flame->node_of_row[i] = 0;
    for (size_t i = 0; i < steps->count; i++)
        flame->node_of_row[steps->steps[i].row] = IS_STEP;
}

static uint32_t name_of(const struct flame *flame, uint32_t row)
{
    return flame->node_of_row[row] == IS_STEP ? NAME_STEPS : flame->context->trace->events.name[row];
}

/* The row ends no later than what it runs in. */
static int64_t dur_within(const struct ap_trace *trace, uint32_t row, uint32_t parent)
{
    int64_t end_ns = ap_row_end_ns(trace, row);
    if (parent != AP_NO_ROW && ap_row_end_ns(trace, parent) < end_ns)
        end_ns = ap_row_end_ns(trace, parent);
    int64_t dur_ns = end_ns - trace->events.start_ns[row];
    return dur_ns > 0 ? dur_ns : 0;
}

/* A thread that only waits for work tells nothing, and is as wide as the run. */
#define WAITS_IN 100
#define WAITS_LEAST 95

static bool only_waits(struct flame *flame, uint32_t track)
{
    const struct ap_part_context *context = flame->context;
    const struct ap_trace *trace = context->trace;
    int64_t whole_ns = 0, waits_ns = 0, waited_ns = INT64_MIN;
    if (track == context->facts->main_track)
        return false;
    for (size_t i = context->facts->order.track_start[track]; i < context->facts->order.track_start[track + 1]; i++) {
        uint32_t row = context->facts->order.rows[i];
        if (!ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        uint32_t parent = ap_host_container(&context->facts->tree, trace, row);
        int64_t dur_ns = dur_within(trace, row, parent);
        if (parent == AP_NO_ROW)
            whole_ns = ap_add_sat(whole_ns, dur_ns, &flame->overflowed);
        if (trace->events.start_ns[row] < waited_ns || ap_code_kind_of(&flame->codes, row) != AP_CODE_waiting)
            continue;
        waited_ns = ap_row_end_ns(trace, row);
        waits_ns = ap_add_sat(waits_ns, dur_ns, &flame->overflowed);
    }
    if (waits_ns <= 0 || waits_ns / WAITS_LEAST < whole_ns / WAITS_IN)
        return false;
    flame->waiting_count++;
    flame->waiting_ns = ap_add_sat(flame->waiting_ns, whole_ns, &flame->overflowed);
    return true;
}

static enum ap_status take_track(struct flame *flame, uint32_t track, struct ap_error *reterr)
{
    const struct ap_part_context *context = flame->context;
    const struct ap_trace *trace = context->trace;
    uint32_t root = AP_NO_ROW;
    for (size_t i = context->facts->order.track_start[track]; i < context->facts->order.track_start[track + 1]; i++) {
        uint32_t row = context->facts->order.rows[i], node;
        if (!ap_row_is_of(trace, row, AP_HOST_KINDS))
            continue;
        uint32_t parent = ap_host_container(&context->facts->tree, trace, row);
        if (root == AP_NO_ROW)
            AP_TRY(find_node(flame, 0, NAME_TRACK, track, &root, reterr));
        uint32_t above = parent == AP_NO_ROW ? root : flame->node_of_row[parent];
        AP_TRY(find_node(flame, above, name_of(flame, row), track, &node, reterr));
        flame->node_of_row[row] = node;
        if (flame->nodes[node].code == AP_CODE_none)
            flame->nodes[node].code = ap_code_kind_of(&flame->codes, row);
        if (node != above)
            add_time(flame, node, dur_within(trace, row, parent));
    }
    return AP_OK;
}

/* Nothing is shorter than what it calls; threads and the whole are the sums of what runs in them. */
static enum ap_status sum_up(struct flame *flame, struct ap_error *reterr)
{
    struct ap_gate *gate = flame->context->gate;
    size_t count = flame->map.count;
    int64_t *below_ns;
    AP_TRY(AP_ALLOC_CLEARED(gate, below_ns, count, reterr));
    for (size_t i = count; i-- > 0;) {
        struct node *node = &flame->nodes[i];
        node->dur_ns = node->dur_ns > below_ns[i] ? node->dur_ns : below_ns[i];
        if (i)
            below_ns[node->parent] = ap_add_sat(below_ns[node->parent], node->dur_ns, &flame->overflowed);
    }
    AP_FREE(gate, below_ns, count);
    return AP_OK;
}

static enum ap_status take_rows(struct flame *flame, struct ap_error *reterr)
{
    uint32_t root;
    mark_steps(flame);
    AP_TRY(find_node(flame, AP_NO_ROW, NAME_ALL, 0, &root, reterr));
    for (uint32_t track = 0; track < flame->context->facts->order.track_count; track++)
        if (!only_waits(flame, track))
            AP_TRY(take_track(flame, track, reterr));
    return sum_up(flame, reterr);
}

/* ------------------------------------------------------------------------------------------------------------- output */

/* No node is longer than its parent and each has a larger number, so that parents come first here too. */
static bool longer(const void *context, uint32_t a, uint32_t b)
{
    const struct node *nodes = context;
    return nodes[a].dur_ns != nodes[b].dur_ns ? nodes[a].dur_ns > nodes[b].dur_ns : a < b;
}

/* A thread without a name is told by its id, of which so much fits. */
#define ID_BYTES 60

static void put_name(const struct flame *flame, const struct node *node, struct ap_model *model, struct ap_value *names)
{
    const struct ap_trace *trace = flame->context->trace;
    const struct ap_track *track = &trace->tracks[node->track];
    char text[ID_BYTES + 10] = "thread ";
    if (node->name == NAME_ALL) {
        ap_add_string(model, names, NULL, "all threads");
    } else if (node->name == NAME_STEPS) {
        ap_add_string(model, names, NULL, "steps");
    } else if (node->name == NAME_TRACK && !ap_track_name(trace, track).id) {
        struct ap_text id = ap_trace_id_text(trace, track->tid);
        size_t bytes = strlen(text), more = id.bytes < ID_BYTES ? id.bytes : ID_BYTES;
        while (more && more < id.bytes && ((unsigned char)id.data[more] & 0xC0) == 0x80)
            more--; /* no half of a character */
        memcpy(text + bytes, id.data, more);
        ap_add_text(model, names, NULL, (struct ap_text){ text, bytes + more });
    } else {
        ap_add_text(model, names, NULL,
                    ap_trace_text(trace, node->name == NAME_TRACK ? ap_track_name(trace, track).id : node->name));
    }
}

static uint32_t name_key(const struct node *node)
{
    return (node->name == NAME_TRACK ? NAME_TRACK - 1 - node->track : node->name) + KEY_OF_NAME;
}

struct drawn {
    const uint32_t *list; /* numbers of nodes */
    size_t count;
    struct ap_id_map names, places;
};

static void put_nodes(const struct flame *flame, struct drawn *drawn, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *names = ap_add_list(model, to, "names"), *codes = ap_add_list(model, to, "codes"),
                    *list = ap_add_list(model, to, "nodes");
    uint32_t name_count = 0;
    for (size_t i = 0; i < drawn->count; i++) {
        const struct node *node = &flame->nodes[drawn->list[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        uint32_t *name = ap_id_map_add(&drawn->names, name_key(node));
        if (*name == AP_ID_NONE) {
            *name = name_count++;
            put_name(flame, node, model, names);
            ap_add_string(model, codes, NULL, ap_code_kind_name(node->code));
        }
        *ap_id_map_add(&drawn->places, drawn->list[i] + 1) = (uint32_t)i;
        ap_add_known_count(model, row, "parent", i > 0, i > 0 ? *ap_id_map_find(&drawn->places, node->parent + 1) : 0);
        ap_add_count(model, row, "name", *name);
        ap_add_time(model, row, "dur_us", node->dur_ns);
        ap_add_count(model, row, "count", (int64_t)node->count);
    }
}

static enum ap_status put_flame(struct flame *flame, struct ap_model *model, struct ap_value *pictures,
                                struct ap_error *reterr)
{
    struct ap_gate *gate = flame->context->gate;
    uint32_t *list;
    size_t count;
    AP_TRY(ap_top_indices(gate, flame->map.count, MOST_NODES, longer, flame->nodes, &list, &count, reterr));
    struct drawn drawn = { .list = list };
    while (drawn.count < count && flame->nodes[list[drawn.count]].dur_ns > flame->nodes[0].dur_ns / LEAST_SHARE)
        drawn.count++;
    if (drawn.count < 2) {
        ap_add_null(model, pictures, "host_flame");
        AP_FREE(gate, list, count);
        return AP_OK;
    }
    enum ap_status status = ap_id_map_init(&drawn.names, gate, drawn.count, reterr);
    if (status == AP_OK) {
        status = ap_id_map_init(&drawn.places, gate, drawn.count, reterr);
        if (status == AP_OK) {
            struct ap_value *to = ap_add_object(model, pictures, "host_flame");
            ap_add_count(model, to, "waiting_threads", flame->waiting_count);
            ap_add_time(model, to, "waiting_us", flame->waiting_ns);
            put_nodes(flame, &drawn, model, to);
            ap_id_map_release(&drawn.places);
        }
        ap_id_map_release(&drawn.names);
    }
    AP_FREE(gate, list, count);
    return status;
}

enum ap_status ap_add_host_flame(struct ap_part_context *context, struct ap_model *model, struct ap_value *pictures,
                                 struct ap_error *reterr)
{
    struct flame flame = { .context = context, .map = { .gate = context->gate } };
    AP_TRY(AP_ALLOC(context->gate, flame.node_of_row, context->trace->events.count + 1, reterr));
    enum ap_status status = ap_code_kinds_init(&flame.codes, context->trace, context->gate, reterr);
    AP_AND_THEN(status, take_rows(&flame, reterr));
    AP_AND_THEN(status, put_flame(&flame, model, pictures, reterr));
    ap_note_overflow(context, flame.overflowed);
    ap_code_kinds_release(&flame.codes);
    AP_FREE(context->gate, flame.nodes, flame.capacity);
    ap_pair_map_release(&flame.map);
    AP_FREE(context->gate, flame.node_of_row, context->trace->events.count + 1);
    return status;
}
