/* SPDX-License-Identifier: MIT
 * What caused what: the tree of host rows, launches by correlation, operators by External id or by time. */
#include "event_text.h"
#include "key_table.h"
#include "links.h"
#include "tap.h"

struct linked {
    struct trace_run run;
    struct ap_row_order order;
    struct ap_host_tree tree;
    struct ap_links links;
};

static void begin(struct linked *linked, const char *rows)
{
    trace_run_rows(&linked->run, rows);
    struct ap_gate *gate = &linked->run.json.gate;
    if (linked->run.status != AP_OK || ap_row_order_init(&linked->order, linked->run.trace, gate, NULL) != AP_OK ||
        ap_host_tree_init(&linked->tree, linked->run.trace, &linked->order, gate, NULL) != AP_OK ||
        ap_links_init(&linked->links, linked->run.trace, &linked->order, &linked->tree, gate, NULL) != AP_OK)
        abort();
}

static void end(struct linked *linked)
{
    ap_links_release(&linked->links);
    ap_host_tree_release(&linked->tree);
    ap_row_order_release(&linked->order);
    ok(trace_run_release(&linked->run), "all memory is given back");
}

/* The parent of the row with this number in the file; -1 = none. */
static int64_t parent(const struct linked *linked, uint32_t row)
{
    return ap_host_parent(&linked->tree, row) == AP_NO_ROW ? -1 : (int64_t)ap_host_parent(&linked->tree, row);
}

static int64_t launch(const struct linked *linked, size_t index)
{
    return ap_launch_at(&linked->links, index) == AP_NO_ROW ? -1 : (int64_t)ap_launch_at(&linked->links, index);
}

static int64_t op(const struct linked *linked, size_t index)
{
    return ap_op_at(&linked->links, index) == AP_NO_ROW ? -1 : (int64_t)ap_op_at(&linked->links, index);
}

/* ------------------------------------------------------------------------------------------------------------ tree */

static void parents_are_what_is_open_at_the_start(void)
{
    struct linked linked;
    begin(&linked, OP("inner", 1, 10, 5, "") ANNOTATION("outer", 1, 0, 100, "") CALL("call", 1, 12, 1, "")
                       PYTHON("frame", 1, 5, 50) OP("behind", 1, 100, 5, "") OP("elsewhere", 2, 10, 5, ""));
    is_int(parent(&linked, 0), 3, "the innermost of any host kind, wherever it stands in the file");
    is_int(parent(&linked, 1), -1, "nothing is around the first");
    is_int(parent(&linked, 2), 0, "a call in an operator");
    is_int(parent(&linked, 3), 1, "a Python frame in an annotation");
    is_int(parent(&linked, 4), -1, "what starts at another's end is not in it");
    is_int(parent(&linked, 5), -1, "threads are apart");
    is_int((int64_t)ap_host_around(&linked.tree, linked.run.trace, 2, 1u << AP_KIND_annotation), 1, "the nearest of a kind");
    ok(ap_host_around(&linked.tree, linked.run.trace, AP_NO_ROW, AP_HOST_KINDS) == AP_NO_ROW, "nothing is around no row");
    end(&linked);
}

static void rows_that_cross_or_start_together(void)
{
    struct linked linked;
    begin(&linked, OP("first", 1, 0, 50, "") OP("crossing", 1, 30, 50, "") OP("late", 1, 60, 5, "") OP("short", 2, 0, 5, "")
                       OP("long", 2, 0, 50, "") OP("twin", 3, 0, 5, "") OP("twin", 3, 0, 5, "") OP("nothing", 3, 2, 0, ""));
    is_int(parent(&linked, 1), 0, "a row that crosses another's end began in it");
    is_int(parent(&linked, 2), 1, "behind that end only the crossing row is open");
    is_int((int64_t)ap_host_around(&linked.tree, linked.run.trace, 2, 1u << AP_KIND_operator), 1, "found around it");
    ok(ap_host_around(&linked.tree, linked.run.trace, 1, 1u << AP_KIND_operator) == 0, "and the first around the crossing");
    is_int(parent(&linked, 3), 4, "of equal starts the longer is around the shorter");
    is_int(parent(&linked, 4), -1, "not the other way");
    is_int(parent(&linked, 6), 5, "of twins the first in the file");
    is_int(parent(&linked, 7), 6, "a row without duration has a parent");
    end(&linked);
}

static void a_closed_crossing_row_is_not_around(void)
{
    struct linked linked;
    begin(&linked, OP("a", 1, 0, 50, "") OP("b", 1, 10, 100, "") OP("c", 1, 60, 5, ""));
    ok(ap_host_around(&linked.tree, linked.run.trace, 2, 1u << AP_KIND_operator) == 1, "b is open");
    ok(ap_host_around(&linked.tree, linked.run.trace, ap_host_parent(&linked.tree, 2), 1u << AP_KIND_operator) == 0,
       "a was when b began");
    end(&linked);
}

static void rows_without_place_have_no_parent(void)
{
    struct linked linked;
    begin(&linked, OP("around", 1, 0, 50, "") EVENT("cpu_op", "unplaced", 1, 1, null, 5, "") OP("negative", 1, 5, -5, "")
                       KERNEL("k", 1, 5, 5, ""));
    is_int(parent(&linked, 1), -1, "no start, no parent");
    is_int(parent(&linked, 2), -1, "nor with a negative duration");
    is_int(parent(&linked, 3), -1, "device rows are in no tree");
    is_u64(linked.links.count, 1, "and linked they are");
    end(&linked);
}

static void nothing_links_nothing(void)
{
    struct linked linked;
    begin(&linked, "");
    is_u64(linked.links.count, 0, "no rows");
    end(&linked);
}

/* -------------------------------------------------------------------------------------------------------- launches */

static void the_first_call_in_the_file_is_the_launch(void)
{
    struct linked linked;
    begin(&linked, KERNEL("k", 7, 50, 5, "\"correlation\":4") CALL("cudaLaunchKernel", 1, 20, 5, "\"correlation\":4")
                       CALL("cuLaunchKernel", 1, 10, 5, "\"correlation\":4") KERNEL("early", 7, 1, 5, "\"correlation\":9")
                           KERNEL("silent", 7, 90, 5, ""));
    is_int((int64_t)linked.links.row[0], 3, "rows stand in order of time");
    is_int(launch(&linked, 0), -1, "launched before the recording began");
    is_int(launch(&linked, 1), 1, "of two calls with one correlation the first in the file");
    is_int(launch(&linked, 2), -1, "no correlation, no launch");
    is_u64(linked.links.linked_count, 1, "one is linked");
    is_int(linked.links.launched_dur_ns, 5000, "and its time");
    is_int(linked.links.total_dur_ns, 15000, "of all");
    end(&linked);
}

static void one_graph_launch_has_many_kernels(void)
{
    struct linked linked;
    begin(&linked, CALL("cudaGraphLaunch", 1, 0, 5, "\"correlation\":4") KERNEL("a", 7, 10, 5, "\"correlation\":4")
                       KERNEL("b", 7, 20, 5, "\"correlation\":4") MEMSET("Memset (Device)", 7, 30, 1, "\"correlation\":4"));
    is_u64(linked.links.linked_count, 3, "all are linked");
    ok(launch(&linked, 0) == 0 && launch(&linked, 1) == 0 && launch(&linked, 2) == 0, "to the one call");
    end(&linked);
}

/* Without correlations: a number that one call alone has is its own; shared by calls it is that of an operator. */
static void external_ids_link_where_no_correlation_does(void)
{
    struct linked linked;
    begin(&linked,
          OP("aten::mm", 1, 0, 100, "\"External id\":1") OP("aten::other", 1, 200, 80, "\"External id\":7")
              CALL("hipLaunchKernel", 1, 20, 5, "\"External id\":7") KERNEL("k", 7, 50, 5, "\"External id\":7")
                  CALL("hipLaunchKernel", 1, 30, 5, "\"External id\":8") KERNEL("l", 7, 60, 5, "\"External id\":8"));
    is_u64(linked.links.linked_count, 2, "both are linked");
    is_int(launch(&linked, 0), 2, "the first to the call with its number");
    is_int(op(&linked, 0), 0, "and to the operator around that by time, whatever number others have");
    is_int(op(&linked, 1), 0, "the second likewise");
    end(&linked);
    begin(&linked, OP("aten::mm", 1, 0, 100, "\"External id\":7") CALL("hipGetDevice", 1, 10, 5, "\"External id\":7")
                       CALL("hipLaunchKernel", 1, 20, 5, "\"External id\":7") KERNEL("k", 7, 50, 5, "\"External id\":7"));
    is_u64(linked.links.linked_count, 0, "which of two calls it was is not told");
    is_int(op(&linked, 0), 0, "but the operator is");
    end(&linked);
}

static void odd_numbers_link_as_well(void)
{
    struct linked linked;
    begin(&linked,
          CALL("a", 1, 0, 1, "\"correlation\":-3") CALL("b", 1, 2, 1, "\"correlation\":4294967297")
              CALL("c", 1, 4, 1, "\"correlation\":\"17\"") CALL("d", 1, 6, 1, "\"correlation\":2147483647")
                  CALL("e", 1, 8, 1, "\"correlation\":0") KERNEL("k", 7, 10, 1, "\"correlation\":-3")
                      KERNEL("k", 7, 20, 1, "\"correlation\":4294967297") KERNEL("k", 7, 30, 1, "\"correlation\":17")
                          KERNEL("k", 7, 40, 1, "\"correlation\":2147483647") KERNEL("k", 7, 50, 1, "\"correlation\":1")
                              KERNEL("k", 7, 60, 1, "\"correlation\":0") KERNEL("k", 7, 70, 1, "\"correlation\":[17]"));
    is_int(launch(&linked, 0), 0, "negative");
    is_int(launch(&linked, 1), 1, "beyond 32 bits; not the same as 1");
    is_int(launch(&linked, 2), 2, "in quotation marks");
    is_int(launch(&linked, 3), 3, "at the edge of small keys");
    is_int(launch(&linked, 4), -1, "1 is not 2^32 + 1");
    is_int(launch(&linked, 5), 4, "0 is a number");
    is_int(launch(&linked, 6), -1, "a list is none");
    end(&linked);
}

static void devices_are_listed_one_after_the_other(void)
{
    struct linked linked;
    begin(&linked,
          EVENT("kernel", "late", 1, 7, 5, 1, "\"device\":1") EVENT("kernel", "early", 0, 7, 10, 1, "\"device\":0"));
    is_int((int64_t)linked.links.row[0], 1, "device 0 first");
    is_int(ap_row_device(linked.run.trace, linked.links.row[1]), 1, "then device 1");
    end(&linked);
}

/* A track keeps such a number elsewhere. */
static void devices_of_large_numbers_are_in_order(void)
{
    static const int64_t wanted[] = { 5000000000, 5000000000, 6000000000, 6000000000 };
    struct linked linked;
    begin(&linked, EVENT("kernel", "a", 1, 7, 10, 1, "\"device\":6000000000")
                       EVENT("kernel", "b", 2, 7, 20, 1, "\"device\":5000000000")
                           EVENT("kernel", "c", 1, 8, 30, 1, "\"device\":6000000000")
                               EVENT("kernel", "d", 2, 8, 40, 1, "\"device\":5000000000"));
    for (size_t i = 0; i < AP_COUNT_OF(wanted); i++)
        is_int(ap_row_device(linked.run.trace, linked.links.row[i]), wanted[i], "rows of a device side by side");
    end(&linked);
}

/* ------------------------------------------------------------------------------------------------------- operators */

static void external_ids_name_operators(void)
{
    struct linked linked;
    begin(&linked, OP("aten::mm", 1, 0, 100, "\"External id\":7") OP("aten::other", 1, 10, 80, "\"External id\":8")
                       CALL("cudaLaunchKernel", 1, 20, 5, "\"External id\":7,\"correlation\":100")
                           KERNEL("k", 7, 50, 5, "\"External id\":8,\"correlation\":100")
                               KERNEL("alone", 7, 60, 5, "\"External id\":8,\"correlation\":101"));
    is_int(op(&linked, 0), 0, "the call's id decides");
    is_int(op(&linked, 1), 1, "without a call, the id of the row of work");
    is_u64(linked.links.by_external_id_count, 2, "both by id");
    is_u64(linked.links.op_count, 2, "both have one");
    is_int(linked.links.op_dur_ns, 10000, "their time");
    end(&linked);
}

static void an_id_that_repeats_the_correlation_names_nothing(void)
{
    struct linked linked;
    begin(&linked, OP("aten::wrong", 1, 500, 10, "\"External id\":100") OP("aten::right", 1, 0, 100, "\"External id\":7")
                       CALL("cudaLaunchKernel", 1, 20, 5, "\"External id\":100,\"correlation\":100")
                           KERNEL("k", 7, 50, 5, "\"External id\":100,\"correlation\":100"));
    ok(ap_external_id_is_correlation(linked.run.trace), "the era is told");
    is_int(op(&linked, 0), 1, "so time decides");
    is_u64(linked.links.by_time_count, 1, "which is counted");
    end(&linked);
}

static void an_id_that_no_operator_has_falls_back_to_time(void)
{
    struct linked linked;
    begin(&linked, OP("aten::mm", 1, 0, 100, "\"External id\":7")
                       CALL("cudaLaunchKernel", 1, 20, 5, "\"External id\":99,\"correlation\":1")
                           CALL("cudaLaunchKernel", 1, 200, 5, "\"External id\":98,\"correlation\":2")
                               KERNEL("k", 7, 50, 5, "\"correlation\":1") KERNEL("k", 7, 250, 5, "\"correlation\":2"));
    is_int(op(&linked, 0), 0, "the operator around the call");
    is_int(op(&linked, 1), -1, "none is around: unknown");
    is_u64(linked.links.by_external_id_count, 0, "none by id");
    end(&linked);
}

static void the_2021_spelling_is_read(void)
{
    struct linked linked;
    begin(&linked, EVENT("Operator", "aten::mm", 1, 1, 0, 100, "\"External id\":7")
                       EVENT("Runtime", "cudaLaunchKernel", 1, 2, 20, 5, "\"external id\":7,\"correlation\":1")
                           EVENT("Kernel", "k", 0, 7, 50, 5, "\"external id\":7,\"correlation\":1,\"device\":0"));
    is_int(op(&linked, 0), 0, "also from another thread");
    end(&linked);
}

static void operators_are_preferred_to_annotations(void)
{
    struct linked linked;
    begin(&linked, OP("record_param_comms", 1, 0, 100, "\"External id\":7")
                       ANNOTATION("nccl:all_reduce", 1, 10, 50, "\"External id\":8")
                           CALL("cudaLaunchKernelExC", 1, 20, 5, "\"External id\":8,\"correlation\":1")
                               ANNOTATION("alone", 2, 0, 100, "") CALL("cudaLaunchKernel", 2, 20, 5, "\"correlation\":2")
                                   KERNEL("a", 7, 50, 5, "\"correlation\":1") KERNEL("b", 7, 60, 5, "\"correlation\":2"));
    is_int(op(&linked, 0), 0, "the operator around the annotation");
    is_int(op(&linked, 1), 3, "an annotation where there is no operator");
    is_u64(linked.links.op_count, 1, "which is none");
    is_int(linked.links.op_dur_ns, 5000, "nor is its time one's");
    end(&linked);
}

/* Keys close together, far apart, and all over 32 bits. */
static void key_tables_hold_what_was_added(void)
{
    enum { KEYS = 2000 };
    struct ap_gate gate;
    struct ap_key_table table;
    uint32_t apart[] = { 1, 17, 64, 65, 2000000 }, wrong = 0;
    ap_gate_init(&gate, 0);
    for (size_t i = 0; i < AP_COUNT_OF(apart); i++) {
        uint32_t lowest = 100, highest = lowest + (KEYS - 1) * apart[i];
        if (ap_key_table_init(&table, &gate, KEYS, lowest, highest, NULL) != AP_OK)
            abort();
        for (uint32_t k = 0; k < KEYS; k++)
            ap_key_table_add(&table, lowest + (KEYS - 1 - k) * apart[i]);
        ap_key_table_add(&table, lowest);
        if (ap_key_table_finish(&table, NULL) != AP_OK)
            abort();
        for (uint32_t k = 0; k < KEYS; k++) {
            uint32_t *value = ap_key_table_find(&table, lowest + k * apart[i]);
            wrong += !value || *value != AP_ID_NONE;
            if (value)
                *value = k;
        }
        for (uint32_t k = 0; k < KEYS; k++) {
            const uint32_t *value = ap_key_table_find(&table, lowest + k * apart[i]);
            wrong += !value || *value != k;
            wrong += apart[i] > 1 && ap_key_table_find(&table, lowest + k * apart[i] + 1) != NULL;
        }
        wrong +=
            ap_key_table_find(&table, 99) || ap_key_table_find(&table, highest + 1) || ap_key_table_find(&table, UINT32_MAX);
        ap_key_table_release(&table);
    }
    is_u64(wrong, 0, "2,000 keys 1, 17, 64, 65 and 2,000,000 apart: each has its own value, none between them is found");
    if (ap_key_table_init(&table, &gate, 5, UINT32_MAX, 0, NULL) != AP_OK || ap_key_table_finish(&table, NULL) != AP_OK)
        abort();
    ok(!ap_key_table_find(&table, 7), "a table without keys");
    ap_key_table_release(&table);
    is_u64(atomic_load(&gate.used_bytes), 0, "and all memory comes back");
}

int main(void)
{
    key_tables_hold_what_was_added();
    parents_are_what_is_open_at_the_start();
    rows_that_cross_or_start_together();
    a_closed_crossing_row_is_not_around();
    rows_without_place_have_no_parent();
    nothing_links_nothing();
    the_first_call_in_the_file_is_the_launch();
    one_graph_launch_has_many_kernels();
    external_ids_link_where_no_correlation_does();
    odd_numbers_link_as_well();
    devices_are_listed_one_after_the_other();
    devices_of_large_numbers_are_in_order();
    external_ids_name_operators();
    an_id_that_repeats_the_correlation_names_nothing();
    an_id_that_no_operator_has_falls_back_to_time();
    the_2021_spelling_is_read();
    operators_are_preferred_to_annotations();
    return done();
}
