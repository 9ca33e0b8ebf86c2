/* SPDX-License-Identifier: MIT */
#include "autograd.h"

#include "key_table.h"
#include "sort.h"

#include "poison.h"

/* Threads that run forward operators: more of them are left out of the search. */
#define FORWARD_TRACKS 16

/* Operators with a sequence number, in the order of rows. */
struct numbered {
    uint32_t *rows;
    size_t count, capacity;
};

struct linking {
    struct ap_autograd *autograd;
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    const struct ap_host_tree *tree;
    struct numbered forward, backward;
    struct ap_key_table sequences; /* of backward rows: the one that starts first */
    struct ap_pair_map producers;  /* (sequence, track) */
    uint32_t *producer_rows;
    size_t producer_capacity;
    struct ap_pair_map votes; /* (forward thread, track) */
    uint32_t *vote_counts;
    size_t vote_capacity;
    uint32_t tracks[FORWARD_TRACKS];
    size_t track_count;
};

static const struct ap_op_detail *op_of(const struct linking *linking, uint32_t row)
{
    const struct ap_op_detail *op =
        ap_row_is_of(linking->trace, row, 1u << AP_KIND_operator) ? ap_row_op(linking->trace, row) : NULL;
    return op && op->sequence ? op : NULL;
}

/* Of a row that is numbered. */
static const struct ap_op_detail *numbered_op(const struct linking *linking, uint32_t row)
{
    return &linking->trace->op_details[linking->trace->events.detail[row] - 1];
}

static enum ap_status list_numbered(struct linking *linking, struct ap_error *reterr)
{
    for (struct ap_placed_rows at = ap_placed_rows(linking->order, linking->trace, 1u << AP_KIND_operator);
         ap_placed_rows_next(&at);) {
        const struct ap_op_detail *op = ap_row_op(linking->trace, at.row);
        if (!op || !op->sequence)
            continue;
        struct numbered *to = ap_op_forward_thread(linking->trace, op) ? &linking->backward : &linking->forward;
        AP_TRY_ADD(linking->autograd->gate, to->rows, to->count, to->capacity, reterr, at.row);
    }
    return AP_OK;
}

static enum ap_status find_backward_sequences(struct linking *linking, struct ap_error *reterr)
{
    const struct numbered *backward = &linking->backward;
    const int64_t *start_ns = linking->trace->events.start_ns;
    ap_link_key lowest = UINT32_MAX, highest = 0;
    for (size_t i = 0; i < backward->count; i++) {
        ap_link_key sequence = numbered_op(linking, backward->rows[i])->sequence;
        lowest = sequence < lowest ? sequence : lowest;
        highest = sequence > highest ? sequence : highest;
    }
    AP_TRY(ap_key_table_init(&linking->sequences, linking->autograd->gate, backward->count, lowest, highest, reterr));
    for (size_t i = 0; i < backward->count; i++)
        ap_key_table_add(&linking->sequences, numbered_op(linking, backward->rows[i])->sequence);
    AP_TRY(ap_key_table_finish(&linking->sequences, reterr));
    for (size_t i = 0; i < backward->count; i++) {
        uint32_t row = backward->rows[i],
                 *first = ap_key_table_find(&linking->sequences, numbered_op(linking, row)->sequence);
        if (*first == AP_ID_NONE || start_ns[row] < start_ns[*first])
            *first = row;
    }
    return AP_OK;
}

static bool is_searched(struct linking *linking, uint32_t track)
{
    for (size_t i = 0; i < linking->track_count; i++)
        if (linking->tracks[i] == track)
            return true;
    if (linking->track_count == FORWARD_TRACKS)
        return false;
    linking->tracks[linking->track_count++] = track;
    return true;
}

/* Wrappers, views and others share the number: the row that starts last made the node. */
static enum ap_status find_producers(struct linking *linking, struct ap_error *reterr)
{
    const uint32_t *first = NULL;
    ap_link_key asked = 0; /* most rows have the number of the row before */
    for (size_t i = 0; i < linking->forward.count; i++) {
        uint32_t row = linking->forward.rows[i], track = linking->trace->events.track[row], number;
        const struct ap_op_detail *op = numbered_op(linking, row);
        if (op->sequence != asked)
            first = ap_key_table_find(&linking->sequences, op->sequence);
        asked = op->sequence;
        if (!first || linking->trace->events.start_ns[row] >= linking->trace->events.start_ns[*first] ||
            !is_searched(linking, track))
            continue;
        AP_TRY(ap_pair_map_add(&linking->producers, op->sequence, track, &number, reterr));
        AP_TRY(AP_RESERVE(linking->autograd->gate, linking->producer_rows, linking->producer_capacity,
                          linking->producers.count, reterr));
        linking->producer_rows[number] = row;
    }
    return AP_OK;
}

/* The profiler numbers threads in its own way: the thread whose forward rows fit the backward rows best is meant. Where only
 * one is searched, no other can be. */
static enum ap_status vote(struct linking *linking, const struct ap_op_detail *op, struct ap_error *reterr)
{
    for (size_t i = 0; linking->track_count > 1 && i < linking->track_count; i++) {
        uint32_t number, before = linking->votes.count;
        if (ap_pair_map_find(&linking->producers, op->sequence, linking->tracks[i]) == AP_PAIR_NONE)
            continue;
        AP_TRY(
            ap_pair_map_add(&linking->votes, ap_op_forward_thread(linking->trace, op), linking->tracks[i], &number, reterr));
        AP_TRY(
            AP_RESERVE(linking->autograd->gate, linking->vote_counts, linking->vote_capacity, linking->votes.count, reterr));
        if (number == before)
            linking->vote_counts[number] = 0;
        linking->vote_counts[number]++;
    }
    return AP_OK;
}

/* @row_b: of one that has a number. */
static bool same_number(const struct linking *linking, uint32_t row_a, uint32_t row_b)
{
    const struct ap_op_detail *a = op_of(linking, row_a), *b = ap_row_op(linking->trace, row_b);
    return a && a->sequence == b->sequence &&
           ap_op_forward_thread(linking->trace, a) == ap_op_forward_thread(linking->trace, b);
}

/* A node has an outer row, that of the engine, and one within with its own name; older traces have only the latter. */
static enum ap_status find_nodes(struct linking *linking, struct ap_error *reterr)
{
    struct ap_autograd *autograd = linking->autograd;
    for (size_t i = 0; i < linking->backward.count; i++) {
        uint32_t row = linking->backward.rows[i];
        const struct ap_op_detail *op = numbered_op(linking, row);
        uint32_t around = ap_host_around(linking->tree, linking->trace, row, 1u << AP_KIND_operator);
        if (around != AP_NO_ROW && same_number(linking, around, row)) {
            if (autograd->nodes[autograd->node_count - 1].row == around)
                autograd->nodes[autograd->node_count - 1].name_row = row;
            continue;
        }
        AP_TRY_ADD(autograd->gate, autograd->nodes, autograd->node_count, autograd->node_capacity, reterr,
                   (struct ap_autograd_node){ row, row, AP_NO_ROW, false, AP_PAIR_NONE });
        AP_TRY(vote(linking, op, reterr));
    }
    return AP_OK;
}

static uint32_t producer_on(const struct linking *linking, const struct ap_op_detail *op, uint32_t track)
{
    uint32_t number = ap_pair_map_find(&linking->producers, op->sequence, track);
    return number == AP_PAIR_NONE ? AP_NO_ROW : linking->producer_rows[number];
}

static uint32_t producer_of(const struct linking *linking, uint32_t row)
{
    const struct ap_op_detail *op = numbered_op(linking, row);
    uint32_t most = 0, found = AP_NO_ROW;
    if (linking->track_count == 1)
        return producer_on(linking, op, linking->tracks[0]);
    for (size_t i = 0; i < linking->track_count; i++) {
        uint32_t number = ap_pair_map_find(&linking->votes, ap_op_forward_thread(linking->trace, op), linking->tracks[i]);
        if (number == AP_PAIR_NONE || linking->vote_counts[number] <= most)
            continue;
        most = linking->vote_counts[number];
        found = producer_on(linking, op, linking->tracks[i]);
    }
    return found;
}

struct ap_text ap_autograd_node_name(const struct ap_trace *trace, uint32_t row)
{
    static const char engine[] = "autograd::engine::evaluate_function: ";
    struct ap_text name = ap_row_name(trace, row);
    if (!ap_text_starts_with(name, engine))
        return name;
    return (struct ap_text){ name.data + sizeof(engine) - 1, name.bytes - (sizeof(engine) - 1) };
}

/* A row bears the number that the next node will get. The node of an operator of PyTorch's own is named after it
 * (AddmmBackward0); that of a custom function in C++ is none of theirs: its own row need not have the number, and they only
 * ran before it. */
static bool only_ran_before(const struct ap_trace *trace, const struct ap_autograd_node *node)
{
    return ap_text_starts_with(ap_autograd_node_name(trace, node->name_row), "torch::autograd::CppNode<") &&
           ap_text_starts_with(ap_row_name(trace, node->producer), "aten::");
}

static bool earlier_number(const void *context, uint32_t a, uint32_t b)
{
    const struct linking *linking = context;
    const struct ap_trace *trace = linking->trace;
    const struct ap_op_detail *x = numbered_op(linking, linking->autograd->nodes[a].row),
                              *y = numbered_op(linking, linking->autograd->nodes[b].row);
    AP_SMALLER_FIRST(ap_op_forward_thread(trace, x), ap_op_forward_thread(trace, y));
    AP_SMALLER_FIRST(x->sequence, y->sequence);
    return a < b;
}

static struct ap_text node_name(const struct linking *linking, uint32_t node)
{
    return ap_autograd_node_name(linking->trace, linking->autograd->nodes[node].name_row);
}

/* Nodes of one number side by side: it is ambiguous where one has another name than the first. */
static enum ap_status count_ambiguous(struct linking *linking, struct ap_error *reterr)
{
    struct ap_autograd *autograd = linking->autograd;
    uint32_t *nodes, count = (uint32_t)autograd->node_count;
    AP_TRY(AP_ALLOC(autograd->gate, nodes, count, reterr));
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = i;
    enum ap_status status = ap_sort_list(autograd->gate, nodes, count, earlier_number, linking, reterr);
    for (uint32_t first = 0, i = 1; i < count && status == AP_OK; i++) {
        if (!same_number(linking, autograd->nodes[nodes[first]].row, autograd->nodes[nodes[i]].row))
            first = i;
        bool differs = !ap_text_equal(node_name(linking, nodes[first]), node_name(linking, nodes[i]));
        autograd->ambiguous_count += differs;
        /* It is counted once: the rest of its nodes is passed over. */
        while (differs && i + 1 < count &&
               same_number(linking, autograd->nodes[nodes[first]].row, autograd->nodes[nodes[i + 1]].row))
            i++;
    }
    AP_FREE(autograd->gate, nodes, count);
    return status;
}

static enum ap_status add_to_pair(struct linking *linking, uint32_t index, struct ap_error *reterr)
{
    struct ap_autograd *autograd = linking->autograd;
    const struct ap_events *events = &linking->trace->events;
    struct ap_autograd_node *node = &autograd->nodes[index];
    uint32_t number, before = autograd->pair_map.count;
    AP_TRY(
        ap_pair_map_add(&autograd->pair_map, events->name[node->producer], events->name[node->name_row], &number, reterr));
    AP_TRY(AP_RESERVE(autograd->gate, autograd->pairs, autograd->pair_capacity, autograd->pair_map.count, reterr));
    struct ap_autograd_pair *pair = &autograd->pairs[number];
    if (number == before)
        *pair = (struct ap_autograd_pair){ events->name[node->producer], node->name_row, 0, 0, 0, index, index };
    else
        autograd->nodes[pair->last_node].next = index;
    pair->last_node = index;
    pair->count++;
    (void)ap_row_set_add(&autograd->chosen.rows, node->row);
    node->is_first = ap_row_set_add(&autograd->chosen.rows, node->producer);
    bool overflowed = false; /* the sum of all rows was checked when they were read */
    pair->backward_host_ns = ap_add_sat(pair->backward_host_ns, events->dur_ns[node->row], &overflowed);
    if (node->is_first)
        pair->forward_host_ns = ap_add_sat(pair->forward_host_ns, events->dur_ns[node->producer], &overflowed);
    return AP_OK;
}

static enum ap_status new_sums(struct ap_autograd *autograd, struct ap_error *reterr)
{
    struct ap_chosen_rows *chosen = &autograd->chosen;
    ap_row_set_finish(&chosen->rows);
    if (!chosen->rows.count)
        return AP_OK;
    AP_TRY(AP_ALLOC_CLEARED(autograd->gate, chosen->device_total_ns, chosen->rows.count, reterr));
    return AP_OK;
}

/* There may be as many sequence numbers as rows, so what is found by them goes as soon as nobody asks. */
static void forget_numbered(struct linking *linking, struct numbered *numbered)
{
    AP_FREE(linking->autograd->gate, numbered->rows, numbered->capacity);
    *numbered = (struct numbered){ NULL, 0, 0 };
}

static void forget_sequences(struct linking *linking)
{
    ap_key_table_release(&linking->sequences);
    linking->sequences = (struct ap_key_table){ .gate = linking->autograd->gate };
    forget_numbered(linking, &linking->forward);
}

static void forget_producers(struct linking *linking)
{
    struct ap_gate *gate = linking->autograd->gate;
    ap_pair_map_release(&linking->producers);
    ap_pair_map_release(&linking->votes);
    AP_FREE(gate, linking->producer_rows, linking->producer_capacity);
    AP_FREE(gate, linking->vote_counts, linking->vote_capacity);
    linking->producer_rows = linking->vote_counts = NULL;
    linking->producer_capacity = linking->vote_capacity = 0;
}

static enum ap_status link_nodes(struct linking *linking, struct ap_error *reterr)
{
    struct ap_autograd *autograd = linking->autograd;
    AP_TRY(list_numbered(linking, reterr));
    if (!linking->backward.count)
        return AP_OK;
    AP_TRY(find_backward_sequences(linking, reterr));
    AP_TRY(find_producers(linking, reterr));
    forget_sequences(linking);
    AP_TRY(find_nodes(linking, reterr));
    forget_numbered(linking, &linking->backward);
    for (uint32_t i = 0; i < autograd->node_count; i++)
        autograd->nodes[i].producer = producer_of(linking, autograd->nodes[i].row);
    forget_producers(linking);
    AP_TRY(count_ambiguous(linking, reterr));
    AP_TRY(ap_row_set_init(&autograd->chosen.rows, autograd->gate, linking->trace->events.count, reterr));
    for (uint32_t i = 0; i < autograd->node_count; i++) {
        if (autograd->nodes[i].producer != AP_NO_ROW && only_ran_before(linking->trace, &autograd->nodes[i]))
            autograd->nodes[i].producer = AP_NO_ROW;
        if (autograd->nodes[i].producer == AP_NO_ROW)
            continue;
        autograd->linked_count++;
        AP_TRY(add_to_pair(linking, i, reterr));
    }
    return new_sums(autograd, reterr);
}

enum ap_status ap_autograd_init(struct ap_autograd *autograd, const struct ap_trace *trace, const struct ap_row_order *order,
                                const struct ap_host_tree *tree, struct ap_gate *gate, struct ap_error *reterr)
{
    *autograd = (struct ap_autograd){ .gate = gate, .pair_map = { .gate = gate }, .chosen = { .rows = { .gate = gate } } };
    struct linking linking = { .autograd = autograd, .trace = trace, .order = order, .tree = tree };
    linking.sequences.gate = linking.sequences.keys.gate = linking.sequences.map.gate = gate;
    linking.producers.gate = linking.votes.gate = gate;
    enum ap_status status = link_nodes(&linking, reterr);
    forget_sequences(&linking);
    forget_numbered(&linking, &linking.backward);
    forget_producers(&linking);
    return status;
}

void ap_autograd_release(struct ap_autograd *autograd)
{
    struct ap_gate *gate = autograd->gate;
    AP_FREE(gate, autograd->nodes, autograd->node_capacity);
    ap_pair_map_release(&autograd->pair_map);
    AP_FREE(gate, autograd->pairs, autograd->pair_capacity);
    AP_FREE(gate, autograd->chosen.device_total_ns, autograd->chosen.rows.count);
    ap_row_set_release(&autograd->chosen.rows);
    *autograd = (struct ap_autograd){ .gate = gate };
}
