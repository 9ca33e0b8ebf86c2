/* SPDX-License-Identifier: MIT
 * What the order of a thread's rows tells: see habit_items.h. */
#include "habit_items.h"

#include "poison.h"

static void look_at_requests(struct ap_habit_rows *rows, size_t track)
{
    if (track == rows->facts->main_track)
        ap_habit_find_single_requests(rows);
    ap_habit_find_packed(rows);
    ap_habit_find_normed(rows);
    ap_habit_find_built(rows);
    ap_habit_find_turns(rows);
}

static enum ap_status look_at_backward(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    AP_TRY(ap_habit_find_gradients(rows, track, reterr));
    AP_TRY(ap_habit_find_reference(rows, track, reterr));
    if (rows->has_tables)
        ap_habit_find_tables(rows, track);
    ap_habit_find_work_between(rows);
    if (!rows->has_optimizer)
        ap_habit_find_gradient_turns(rows);
    AP_TRY(ap_habit_find_second_order(rows, track, reterr));
    return rows->goes_again ? AP_OK : ap_habit_find_nodes_again(rows, track, reterr);
}

static enum ap_status look_at_track(struct ap_habit_rows *rows, size_t track, struct ap_error *reterr)
{
    bool trains = rows->node_sequences.count != 0;
    AP_TRY(ap_habit_read_items(rows, track, reterr));
    AP_TRY(ap_habit_find_parameters(rows, reterr));
    AP_TRY(ap_habit_find_loops(rows, reterr));
    AP_TRY(ap_habit_find_forms(rows, reterr));
    AP_TRY(ap_habit_find_sizes(rows, reterr));
    AP_TRY(ap_habit_find_waste(rows, reterr));
    AP_TRY(ap_habit_find_choices(rows, reterr));
    AP_TRY(ap_habit_find_convolutions(rows, reterr));
    AP_TRY(ap_habit_find_experts(rows, reterr));
    ap_habit_find_objects(rows);
    ap_habit_find_lists(rows);
    ap_habit_find_history(rows);
    ap_habit_find_queue(rows);
    ap_habit_find_growing(rows, track);
    if (track == rows->facts->main_track && !rows->facts->phases.has_backward)
        ap_habit_find_encoders(rows);
    AP_TRY(ap_habit_find_attention(rows, reterr));
    if (trains)
        AP_TRY(look_at_backward(rows, track, reterr));
    if (trains && rows->has_sequences) {
        AP_TRY(ap_habit_find_reads(rows, reterr));
        ap_habit_find_passes(rows);
        ap_habit_find_prepared(rows);
    }
    if (rows->last_node_ns == INT64_MIN && !rows->has_optimizer)
        ap_habit_find_graphs(rows);
    if (!trains && !rows->has_optimizer)
        look_at_requests(rows, track);
    ap_habit_find_argument_checks(rows);
    ap_habit_find_construction(rows);
    ap_habit_find_constants(rows);
    if (track == rows->facts->main_track)
        ap_habit_find_micro_batches(rows);
    ap_habit_find_waits(rows);
    AP_TRY(ap_habit_read_loading(rows, track, reterr));
    return ap_habit_find_waste_of_loading(rows, reterr);
}

static enum ap_status look_at_rows(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    AP_TRY(ap_habit_rows_init(rows, reterr));
    rows->has_tables = ap_habit_has_tables(rows->trace);
    AP_TRY(ap_habit_signs_init(rows, reterr));
    AP_TRY(ap_habit_read_updates(rows, reterr));
    for (size_t track = 0; track < rows->facts->order.track_count; track++)
        if (ap_track_may_hold(&rows->facts->order, track, AP_HOST_KINDS))
            AP_TRY(look_at_track(rows, track, reterr));
    ap_habit_judge_backward_graphs(rows);
    AP_TRY(ap_habit_add_checkpointing(rows, reterr));
    ap_habit_add_loops(rows);
    ap_habit_add_constants(rows);
    return AP_OK;
}

enum ap_status ap_habits_of_rows(struct ap_habits *habits, const struct ap_facts *facts, struct ap_error *reterr)
{
    struct ap_gate *gate = habits->gate;
    struct ap_habit_rows rows = { .habits = habits,
                                  .facts = facts,
                                  .trace = facts->trace,
                                  .patterns = { .gate = gate },
                                  .signs = { .gate = gate },
                                  .updated = { .gate = gate },
                                  .looked_at = { .gate = gate },
                                  .node_sequences = { .gate = gate },
                                  .nodes_run = { .gate = gate },
                                  .weights_made = { .gate = gate },
                                  .of_parameters = { .gate = gate },
                                  .summed = { .gate = gate },
                                  .made_again = { .gate = gate } };
    enum ap_status status = look_at_rows(&rows, reterr);
    ap_name_patterns_release(&rows.patterns);
    ap_name_patterns_release(&rows.signs);
    ap_pair_map_release(&rows.node_sequences);
    ap_pair_map_release(&rows.nodes_run);
    ap_pair_map_release(&rows.weights_made);
    ap_pair_map_release(&rows.of_parameters);
    ap_pair_map_release(&rows.summed);
    ap_pair_map_release(&rows.made_again);
    ap_pair_map_release(&rows.updated);
    AP_FREE(gate, rows.dropped, facts->trace->events.count);
    ap_pair_map_release(&rows.looked_at);
    ap_mem_free(gate, rows.sign_of, ap_trace_id_count(facts->trace));
    ap_mem_free(gate, rows.differs_of, ap_trace_id_count(facts->trace));
    AP_FREE(gate, rows.words_of, ap_trace_id_count(facts->trace));
    AP_FREE(gate, rows.last_of, ap_trace_id_count(facts->trace));
    AP_FREE(gate, rows.items, rows.item_capacity);
    AP_FREE(gate, rows.loops, rows.loop_capacity);
    return status;
}
