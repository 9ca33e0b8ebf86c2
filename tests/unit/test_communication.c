/* SPDX-License-Identifier: MIT
 * Collectives, compiled regions and other accelerators, from rows typed by hand. */
#include "analyzed.h"
#include "collective.h"
#include "collective_rows.h"
#include "event_text.h"
#include "random.h"
#include "tap.h"

/* A trace and what analysis makes of it. */
struct analyzed {
    struct trace_run run;
    struct ap_model model;
};

static void begin_top(struct analyzed *analyzed, const char *rows, uint64_t top_n)
{
    struct ap_part_options options = { .path = "typed by hand", .top_n = top_n };
    trace_run_rows(&analyzed->run, rows);
    ap_model_init(&analyzed->model, &analyzed->run.json.gate);
    if (analyzed->run.status != AP_OK ||
        analyze_trace(analyzed->run.trace, &options, &analyzed->run.json.notes, &analyzed->model, NULL) != AP_OK)
        abort();
}

static void begin(struct analyzed *analyzed, const char *rows)
{
    begin_top(analyzed, rows, 0);
}

static void end(struct analyzed *analyzed)
{
    ap_model_release(&analyzed->model);
    ok(trace_run_release(&analyzed->run), "all memory is given back");
}

static const struct ap_value *at(const struct analyzed *analyzed, const char *path)
{
    return ap_value_at(&analyzed->model.root, path);
}

static int64_t us(const struct analyzed *analyzed, const char *path)
{
    return ap_value_integer(at(analyzed, path), -1000) / 1000;
}

static int64_t count(const struct analyzed *analyzed, const char *path)
{
    return ap_value_integer(at(analyzed, path), -1);
}

static bool is_null(const struct ap_value *value)
{
    return value && value->type == AP_VALUE_NULL;
}

static bool near(const struct ap_value *value, double want)
{
    double number;
    return ap_value_number(value, &number) && number > want - 1e-6 && number < want + 1e-6;
}

/* Row @index of a list. */
static const struct ap_value *item(const struct analyzed *analyzed, const char *list, int index)
{
    const struct ap_value *row = ap_value_first(at(analyzed, list));
    while (row && index--)
        row = row->next;
    return row;
}

static bool text_is(const struct ap_value *row, const char *key, const char *want)
{
    return ap_text_is(ap_value_text(ap_value_member(row, key)), want);
}

static int64_t number(const struct ap_value *row, const char *key)
{
    return ap_value_integer(ap_value_member(row, key), -1);
}

/* -------------------------------------------------------------------------------------------------------- formulas */

static void operations_are_told_by_any_name(void)
{
    static const struct {
        const char *name;
        enum ap_collective_operation operation;
    } cases[] = {
        { "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", AP_COLLECTIVE_allreduce },
        { "ncclKernel_AllReduce_TREE_LL128_Sum_half(ncclWorkElem)", AP_COLLECTIVE_allreduce },
        { "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", AP_COLLECTIVE_allgather },
        { "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", AP_COLLECTIVE_reducescatter },
        { "ncclDevKernel_Broadcast_RING_LL(ncclDevComm*)", AP_COLLECTIVE_broadcast },
        { "ncclKernel_Reduce_RING_LL_Sum_float(ncclDevComm*)", AP_COLLECTIVE_reduce },
        { "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", AP_COLLECTIVE_sendrecv },
        { "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", AP_COLLECTIVE_unknown },
        { "rcclDevKernel_Generic", AP_COLLECTIVE_unknown },
        { "hcom_allReduce_", AP_COLLECTIVE_allreduce },
        { "HcclReduceScatter", AP_COLLECTIVE_reducescatter },
        { "mscclKernel_Sum_half_AllToAll", AP_COLLECTIVE_alltoall },
        { "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(...)", AP_COLLECTIVE_allreduce },
        { "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(...)", AP_COLLECTIVE_allreduce },
        { "one_shot_all_reduce_kernel", AP_COLLECTIVE_allreduce },
        { "two_shot_kernel", AP_COLLECTIVE_allreduce },
        { "void deep_ep::internode::dispatch<false, 8>(...)", AP_COLLECTIVE_dispatch },
        { "void dpsk::ep::intranode::combine<__nv_bfloat16, 8>(...)", AP_COLLECTIVE_combine },
        { "nvshmemi_barrier_on_stream", AP_COLLECTIVE_barrier },
        { "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(x)1, __nv_bfloat16>(y)",
          AP_COLLECTIVE_allreduce },
        { "allreduce_coalesced", AP_COLLECTIVE_allreduce },
        { "_allgather_base", AP_COLLECTIVE_allgather },
        { "all_gather_into_tensor_coalesced", AP_COLLECTIVE_allgather },
        { "_reduce_scatter_base", AP_COLLECTIVE_reducescatter },
        { "reduce_scatter_tensor_coalesced", AP_COLLECTIVE_reducescatter },
        { "all_to_allv", AP_COLLECTIVE_alltoall },
        { "send", AP_COLLECTIVE_send },
        { "recv", AP_COLLECTIVE_recv },
        { "gather", AP_COLLECTIVE_gather },
        { "scatter", AP_COLLECTIVE_scatter },
        { "barrier", AP_COLLECTIVE_barrier },
        { "wait", AP_COLLECTIVE_unknown },
        { "", AP_COLLECTIVE_unknown },
        { "_", AP_COLLECTIVE_unknown },
        { "all_", AP_COLLECTIVE_unknown },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++)
        is_str(ap_collective_operation_name(ap_collective_operation_of(ap_text_of(cases[i].name))),
               ap_collective_operation_name(cases[i].operation), cases[i].name[0] ? cases[i].name : "no name");
}

static void sizes_are_those_of_nccl_tests(void)
{
    unsigned float32 = ap_collective_dtype_of(AP_TEXT("Float")), half = ap_collective_dtype_of(AP_TEXT("c10::BFloat16"));
    is_int(ap_collective_dtype_bytes(half), 2, "two bytes");
    is_int(ap_collective_dtype_of(AP_TEXT("BFLOAT16")), half, "in any case");
    is_int(ap_collective_dtype_of(AP_TEXT("complicated")), 0, "no type");
    is_int(ap_collective_dtype_of(AP_TEXT("")), 0, "no name");
    is_int(ap_collective_dtype_of(AP_TEXT("long int")), ap_collective_dtype_of(AP_TEXT("Long")), "both spellings");
    is_int(ap_collective_bytes(AP_COLLECTIVE_allreduce, 100, 100, 8, float32), 400, "all-reduce: in");
    is_int(ap_collective_bytes(AP_COLLECTIVE_allgather, 100, 800, 8, float32), 3200, "all-gather: out");
    is_int(ap_collective_bytes(AP_COLLECTIVE_allgather, 100, -1, 8, float32), 3200, "or in times ranks");
    is_int(ap_collective_bytes(AP_COLLECTIVE_allgather, 100, -1, 0, float32), -1, "of how many?");
    is_int(ap_collective_bytes(AP_COLLECTIVE_reducescatter, 800, 100, 8, float32), 3200, "reduce-scatter: in");
    is_int(ap_collective_bytes(AP_COLLECTIVE_gather, 100, 0, 8, float32), 3200, "gather: what all send");
    is_int(ap_collective_bytes(AP_COLLECTIVE_recv, 0, 100, 8, half), 200, "receive: out");
    is_int(ap_collective_bytes(AP_COLLECTIVE_allreduce, 100, 100, 8, 0), -1, "of which type?");
    is_int(ap_collective_bytes(AP_COLLECTIVE_allreduce, INT64_MAX / 2, 1, 8, float32), -1, "more than there is");
    is_int(ap_collective_bytes(AP_COLLECTIVE_allreduce, 0, 0, 8, float32), 0, "nothing is 0");
    ok(ap_collective_bus_factor(AP_COLLECTIVE_allreduce, 8) == 1.75, "all-reduce 2(n-1)/n");
    ok(ap_collective_bus_factor(AP_COLLECTIVE_allgather, 4) == 0.75, "all-gather (n-1)/n");
    ok(ap_collective_bus_factor(AP_COLLECTIVE_broadcast, 4) == 1, "broadcast 1");
    ok(ap_collective_bus_factor(AP_COLLECTIVE_allreduce, 1) == 0, "one rank has no bus");
    ok(ap_collective_bus_factor(AP_COLLECTIVE_unknown, 8) == 0, "nor has what is unknown");
}

static void transfers_are_bounded_by_others(void)
{
    struct ap_collective_time times[] = {
        { -1, 900, 0 }, { 100, 50, 0 }, { 200, 900, 0 }, { 400, 160, 0 }, { 800, 900, 0 }
    };
    ap_collective_find_bounds(times, AP_COUNT_OF(times));
    is_int(times[0].bound_ns, 900, "others say nothing of an unknown size");
    is_int(times[1].bound_ns, 50, "the fastest is itself");
    is_int(times[2].bound_ns, 100, "no longer for a byte than a smaller one");
    is_int(times[3].bound_ns, 160, "as long as it took, where that is less");
    is_int(times[4].bound_ns, 320, "by the best of the smaller ones");
    ap_collective_find_bounds(times, 0);
}

static void first_inputs_are_read_from_signatures(void)
{
    static const struct {
        const char *dims, *types;
        int64_t elements; /* -1 = none */
    } cases[] = {
        { "[[394241]]", "[\"float\"]", 394241 },
        { "[[1, 25136], [8, 25136]]", "[\"c10::BFloat16\", \"\"]", 25136 },
        { "[[[2,3],[4]],[]]", "[\"float\"]", 10 },
        { "[[],[7]]", "[\"float\"]", 1 },
        { "[[5,0,7]]", "[\"float\"]", 0 },
        { "[]", "[\"float\"]", -1 },
        { "", "[\"float\"]", -1 },
        { "[[5]]", "", -1 },
        { "[[5]]", "[\"TensorList\"]", -1 },
        { "[[5]]", "[\"float", -1 },
        { "[[-5]]", "[\"float\"]", -1 },
        { "[[4000000000,4000000000]]", "[\"float\"]", -1 },
        { "[[99999999999999999999]]", "[\"float\"]", -1 },
        { "[[[[1]]]]", "[\"float\"]", -1 },
        { "5", "[\"float\"]", -1 },
        { "]]]]", "[\"float\"]", -1 },
        { "[[5", "[\"float\"]", -1 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        int64_t elements = -1;
        unsigned dtype = 0;
        bool found = ap_collective_first_input(ap_text_of(cases[i].dims), ap_text_of(cases[i].types), &elements, &dtype);
        is_int(found ? elements : -1, cases[i].elements, cases[i].dims);
        ok(found == (dtype != 0), "with its type");
    }
}

/* ------------------------------------------------------------------------------------------------------ collectives */

#define TOLD(name, in, out, ranks, dtype)                                                                           \
    "\"Collective name\":\"" name "\",\"In msg nelems\":" #in ",\"Out msg nelems\":" #out ",\"Group size\":" #ranks \
    ",\"dtype\":\"" dtype                                                                                           \
    "\",\"Process Group Name\":\"0\",\"Process Group Description\":\"default_pg\",\"Process Group Ranks\":\"[0, 1]\""

static void nothing_to_say_is_null(void)
{
    struct analyzed analyzed;
    begin(&analyzed, OP("aten::mm", 1, 0, 10, "") KERNEL("gemm", 7, 5, 5, ""));
    ok(is_null(at(&analyzed, "communication")), "no collective");
    ok(is_null(at(&analyzed, "accelerator")), "no accelerator");
    is_int(count(&analyzed, "compile.regions"), 0, "nothing compiled is 0");
    ok(is_null(at(&analyzed, "compile.compile_share_ratio")), "and has no share");
    ok(is_null(at(&analyzed, "compile.regions_per_step")), "nor a rate without steps");
    end(&analyzed);
}

/* The fastest one tells the link best, as waiting is in the others; of small ones it is the latency. */
static void the_fastest_large_one_tells_the_link(void)
{
    for (int large = 0; large < 2; large++) {
        struct analyzed analyzed;
        begin(&analyzed,
              large
                  ? KERNEL("ncclDevKernel_Generic(x)", 9, 0, 4000, TOLD("allreduce", 8000000, 8000000, 8, "BFloat16"))
                        KERNEL("ncclDevKernel_Generic(x)", 9, 5000, 1000, TOLD("allreduce", 8000000, 8000000, 8, "BFloat16"))
                            KERNEL("ncclDevKernel_Generic(x)", 9, 9000, 10, TOLD("allreduce", 4000, 4000, 8, "BFloat16"))
                  : KERNEL("ncclDevKernel_Generic(x)", 9, 0, 10, TOLD("allreduce", 1000000, 1000000, 8, "BFloat16")));
        const struct ap_value *best = at(&analyzed, "communication.large_busbw_gigabytes_per_s");
        ok(large ? near(best, 1.75 * 16e6 / 1e6) : is_null(best), "bus bandwidth of 16 MB in a millisecond");
        end(&analyzed);
    }
}

static void kernels_tell_their_size_themselves(void)
{
    struct analyzed analyzed;
    begin(&analyzed, KERNEL("ncclDevKernel_Generic(x)", 9, 0, 100, TOLD("allreduce", 1000000, 1000000, 8, "BFloat16"))
                         KERNEL("ncclDevKernel_Generic(x)", 9, 200, 50, TOLD("allreduce", 1000000, 1000000, 8, "BFloat16"))
                             KERNEL("gemm", 7, 220, 10, ""));
    const struct ap_value *row = item(&analyzed, "communication.collectives", 0);
    is_int(count(&analyzed, "communication.count"), 2, "two kernels");
    is_u64(ap_value_count(at(&analyzed, "communication.collectives")), 1, "of one kind");
    ok(text_is(row, "operation", "allreduce") && text_is(row, "dtype", "BFloat16") && text_is(row, "group", "0"),
       "which it is");
    is_int(number(row, "bytes"), 2000000, "its size");
    is_int(number(row, "group_size"), 8, "its ranks");
    ok(near(ap_value_member(row, "algbw_gigabytes_per_s"), 2e6 / 75e3), "decimal GB/s at the median");
    ok(near(ap_value_member(row, "busbw_gigabytes_per_s"), 1.75 * 2e6 / 75e3), "times 2(n-1)/n");
    ok(near(ap_value_member(row, "max_busbw_gigabytes_per_s"), 1.75 * 2e6 / 50e3), "and of the fastest");
    is_int(number(row, "exposed_us") / 1000, 140, "a kernel hides ten");
    ok(near(ap_value_member(row, "overlap_ratio"), 10.0 / 150), "which is a share");
    is_int(number(row, "start_us"), 0, "the longest one's place");
    is_int(number(row, "dur_us") / 1000, 100, "and duration");
    ok(near(ap_value_member(item(&analyzed, "communication.by_operation", 0), "busbw_gigabytes_per_s"), 1.75 * 4e6 / 150e3),
       "all bytes over all time");
    ok(text_is(item(&analyzed, "communication.groups", 0), "ranks", "[0, 1]"), "the group");
    is_int(number(item(&analyzed, "communication.groups", 0), "count"), 2, "and what it did");
    ok(near(at(&analyzed, "communication.exposed_ratio"), 140.0 / 150), "exposed, of all communication");
    is_int(count(&analyzed, "communication.slow_count"), 1, "twice as long as the fastest");
    is_int(us(&analyzed, "communication.slow_excess_us"), 50, "by so much");
    is_int(number(row, "slow_excess_us") / 1000, 50, "which its kind tells as well");
    is_int(number(at(&analyzed, "communication.slowest"), "start_us"), 0, "and where it is");
    ok(near(at(&analyzed, "communication.worst_share_of_best_ratio"), 0.5), "half the bandwidth");
    end(&analyzed);
}

/* A run of one rank calls barriers and reductions too. Of unknown size a group is not known to be one of one. */
static void one_rank_talks_to_nobody(void)
{
    struct analyzed analyzed;
    begin(&analyzed, KERNEL("gemm", 7, 0, 100, "")
                         KERNEL("ncclDevKernel_Generic(x)", 9, 100, 40, TOLD("allreduce", 1000, 1000, 1, "Float")));
    ok(is_null(at(&analyzed, "communication")), "a group of one has no collective");
    is_int(us(&analyzed, "split.window.exposed_communication_us"), 0, "nor does its time go there");
    end(&analyzed);
    begin(&analyzed, KERNEL("ncclDevKernel_Generic(x)", 9, 100, 40, TOLD("allreduce", 1000, 1000, 1, "Float"))
                         KERNEL("ncclDevKernel_Generic(x)", 9, 200, 50, TOLD("allreduce", 1000, 1000, 2, "Float"))
                             KERNEL("ncclDevKernel_Generic(x)", 9, 300, 60, ""));
    is_int(count(&analyzed, "communication.count"), 2, "kernels of one name in other groups do");
    end(&analyzed);
}

/* The size may stand in the header's list of groups or follow from the ranks; a kernel may leave it to its operator. */
static void a_group_of_one_is_known_by_its_list_or_operator(void)
{
    static const struct {
        const char *op, *kernel, *header;
        bool talks;
    } cases[] = {
        { "", "\"Collective name\":\"allreduce\",\"Process Group Ranks\":\"[3]\"", "", false },
        { "", "\"Collective name\":\"allreduce\",\"Process Group Ranks\":\"[3, ...]\"", "", true },
        { "", "\"Collective name\":\"allreduce\",\"Process Group Name\":\"5\"",
          "{\"pg_name\":\"5\",\"pg_size\":1,\"ranks\":[3]}", false },
        { "", "\"Collective name\":\"allreduce\",\"Process Group Name\":\"5\"",
          "{\"pg_name\":\"5\",\"pg_size\":2,\"ranks\":[3,4]}", true },
        { "", "\"Collective name\":\"allreduce\",\"Process Group Name\":\"6\"",
          "{\"pg_name\":\"5\",\"pg_size\":1,\"ranks\":[3]}", true },
        { "\"External id\":77,\"Collective name\":\"allreduce\",\"Group size\":1", "\"External id\":77", "", false },
        { "\"External id\":77,\"Collective name\":\"allreduce\",\"Group size\":2", "\"External id\":77", "", true },
        { "\"External id\":77,\"Collective name\":\"allreduce\",\"Group size\":1", "\"External id\":78", "", true },
        { "\"External id\":77,\"Collective name\":\"allreduce\",\"Group size\":1",
          "\"External id\":77,\"Collective name\":\"allreduce\",\"Group size\":2", "", true },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct analyzed analyzed;
        char rows[2000];
        (void)snprintf(rows, sizeof(rows),
                       ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\",\"pid\":1,\"tid\":1,\"ts\":0,"
                       "\"dur\":50,\"args\":{%s}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_Generic(x)\","
                       "\"pid\":0,\"tid\":9,\"ts\":100,\"dur\":40,\"args\":{%s}}],\"distributedInfo\":{\"rank\":3,"
                       "\"pg_config\":[%s]},\"more\":[",
                       cases[i].op, cases[i].kernel, cases[i].header);
        begin(&analyzed, rows);
        is_int(us(&analyzed, "split.window.exposed_communication_us"), cases[i].talks ? 40 : 0, "its time");
        end(&analyzed);
    }
}

static void of_unknown_sizes_none_is_small_or_slow(void)
{
    struct analyzed analyzed;
    begin(&analyzed, KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 9, 0, 100, "")
                         KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 9, 200, 50, ""));
    is_int(count(&analyzed, "communication.allreduce_count"), 2, "they are there");
    ok(at(&analyzed, "communication.small_allreduce_count")->type == AP_VALUE_NULL, "how many are small is not known");
    ok(at(&analyzed, "communication.slow_count")->type == AP_VALUE_NULL, "nor how many are slow");
    ok(at(&analyzed, "communication.slow_excess_us")->type == AP_VALUE_NULL, "nor by how much");
    end(&analyzed);
}

static void collectives_of_other_sizes_tell_what_to_expect(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          KERNEL("ncclDevKernel_Generic(x)", 9, 0, 100, TOLD("allreduce", 1000000, 1000000, 8, "BFloat16"))
              KERNEL("ncclDevKernel_Generic(x)", 9, 200, 300, TOLD("allreduce", 2000000, 2000000, 8, "BFloat16"))
                  KERNEL("ncclDevKernel_Generic(x)", 9, 600, 400, TOLD("allreduce", 4000000, 4000000, 8, "BFloat16"))
                      KERNEL("ncclDevKernel_Generic(x)", 9, 1100, 90, TOLD("allreduce", 4, 4, 8, "BFloat16"))
                          KERNEL("ncclDevKernel_Generic(x)", 9, 1200, 250, TOLD("allreduce", 4, 4, 8, "BFloat16")) KERNEL(
                              "ncclDevKernel_Generic(x)", 9, 1500, 999, TOLD("allreduce", 4000000, 4000000, 8, "Float")));
    is_int(count(&analyzed, "communication.slow_count"), 1, "four bytes take no longer than two megabytes");
    is_int(us(&analyzed, "communication.slow_excess_us"), 150, "beyond 100 us; 300 is less than twice 200");
    ok(near(at(&analyzed, "communication.worst_share_of_best_ratio"), 0.4), "100 of 250");
    end(&analyzed);

    begin(&analyzed,
          KERNEL("ncclDevKernel_Generic(x)", 9, 0, 100, TOLD("allreduce", 1000000, 1000000, 8, "BFloat16"))
              KERNEL("ncclDevKernel_Generic(x)", 9, 200, 500, TOLD("allreduce", 2000000, 2000000, 8, "BFloat16")));
    is_int(count(&analyzed, "communication.slow_count"), 1, "bandwidth does not fall with size");
    is_int(us(&analyzed, "communication.slow_excess_us"), 300, "beyond twice the time for twice the bytes");
    is_int(us(&analyzed, "communication.transfer_exposed_us"), 0, "nothing goes from one rank to another");
    is_int(count(&analyzed, "communication.ddp_forward_count"), 0, "no forward pass in sight");
    end(&analyzed);
}

/* Who receives is there first and waits. */
static void transfers_are_not_called_slow(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          KERNEL("ncclDevKernel_SendRecv(x)", 9, 0, 100, TOLD("recv", 1000000, 1000000, 2, "BFloat16"))
              KERNEL("ncclDevKernel_SendRecv(x)", 9, 200, 900, TOLD("recv", 1000000, 1000000, 2, "BFloat16"))
                  KERNEL("ncclDevKernel_SendRecv(x)", 9, 1200, 50, TOLD("send", 1000000, 1000000, 2, "BFloat16")));
    ok(is_null(at(&analyzed, "communication.slow_count")), "nothing tells how fast they could be");
    is_int(us(&analyzed, "communication.transfer_exposed_us"), 100 + 900 + 50, "all of it is waited for");
    end(&analyzed);
}

#define REDUCED(id, launched, start)                                \
    CALL("cudaLaunchKernel", 2, launched, 5, "\"correlation\":" id) \
    KERNEL("ncclDevKernel_Generic(x)", 9, start, 40,                \
           TOLD("allreduce", 1000000, 1000000, 8, "BFloat16") ",\"correlation\":" id)

#define ON_HOST(start, dur) OP("gloo:all_reduce", 3, start, dur, "\"Input Dims\":[[1000000]],\"Input type\":[\"float\"]")

/* Buckets of layers that are alike have one size, so that the sizes do not tell. */
static void passes_that_are_reduced_are_counted(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          OP("DistributedDataParallel.forward", 1, 0, 50, "") OP("DistributedDataParallel.forward", 1, 100, 50, "")
              REDUCED("1", 160, 170) REDUCED("2", 180, 215) OP("DistributedDataParallel.forward", 1, 300, 50, "")
                  OP("DistributedDataParallel.forward", 1, 400, 50, "") REDUCED("3", 460, 470) REDUCED("4", 480, 515));
    is_int(count(&analyzed, "communication.ddp_forward_count"), 4, "four passes");
    is_int(count(&analyzed, "communication.reduced_forward_count"), 2, "of which every second is reduced, in two buckets");
    is_int(us(&analyzed, "communication.surplus_reduce_us"), 4 * 40, "all of it where no optimizer has a step");
    end(&analyzed);
    begin(&analyzed, OP("DistributedDataParallel.forward", 1, 0, 50, "") ON_HOST(60, 30)
                         OP("DistributedDataParallel.forward", 1, 100, 50, "") ON_HOST(160, 50)
                             OP("Optimizer.step#SGD.step", 1, 220, 10, ""));
    is_int(count(&analyzed, "communication.reduced_forward_count"), 2, "gloo runs where it was called");
    is_int(us(&analyzed, "communication.surplus_reduce_us"), 80 / 2, "one of two goes with the step");
    end(&analyzed);
    begin(&analyzed,
          OP("DistributedDataParallel.forward", 1, 0, 50, "") OP("torch::distributed::reducer::mul_out", 1, 55, 4, "")
              OP("gloo:all_reduce", 3, 60, 30, "") OP("DistributedDataParallel.forward", 1, 100, 50, "")
                  OP("gloo:all_reduce", 3, 160, 50, "")); /* of a loss, say */
    is_int(count(&analyzed, "communication.reduced_forward_count"), 1, "where no size is known, buckets tell");
    end(&analyzed);
}

static void what_a_kernel_does_not_tell_its_call_does(void)
{
    struct analyzed analyzed;
    begin(&analyzed, OP("c10d::allreduce_", 1, 0, 90, "\"Input Dims\":[[],[]],\"Input type\":[\"TensorList\",\"\"]")
                         OP("record_param_comms", 1, 5, 80, TOLD("allreduce", 1000, 1000, 4, "Float"))
                             ANNOTATION("nccl:all_reduce", 1, 10, 50, "\"Input Dims\":[[1000]],\"Input type\":[\"float\"]")
                                 CALL("cudaLaunchKernelExC", 1, 20, 5, "\"correlation\":1")
                                     KERNEL("ncclDevKernel_Generic(x)", 9, 100, 10, "\"correlation\":1")
          /* traces of 2023: no args, but shapes */
          OP("record_param_comms", 2, 5, 80, "\"Input Dims\":[[]],\"Input type\":[\"TensorList\"]")
              ANNOTATION("nccl:all_to_all", 2, 10, 50, "\"Input Dims\":[[6144]],\"Input type\":[\"long int\"]")
                  CALL("cudaLaunchKernel", 2, 20, 5, "\"correlation\":2")
                      KERNEL("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)", 9, 200, 20, "\"correlation\":2")
          /* no call on the thread, but an operator by its id */
          OP("symm_mem::multimem_all_reduce_", 3, 0, 50,
             "\"External id\":77,\"Input Dims\":[[512],[]],\"Input type\":[\"c10::Half\",\"\"]")
              KERNEL("multimem_all_reduce_kernel<x>(y)", 9, 300, 30, "\"External id\":77,\"correlation\":99"));
    const struct ap_value *multimem = item(&analyzed, "communication.collectives", 0);
    const struct ap_value *alltoall = item(&analyzed, "communication.collectives", 1);
    const struct ap_value *allreduce = item(&analyzed, "communication.collectives", 2);
    ok(text_is(allreduce, "operation", "allreduce") && number(allreduce, "group_size") == 4 &&
           number(allreduce, "bytes") == 4000,
       "args of the operator around the launch");
    ok(text_is(alltoall, "operation", "alltoall") && number(alltoall, "bytes") == 49152 &&
           text_is(alltoall, "dtype", "Long"),
       "name and shapes of the annotation around it");
    ok(is_null(ap_value_member(alltoall, "group_size")) && is_null(ap_value_member(alltoall, "busbw_gigabytes_per_s")),
       "whose ranks are not known");
    ok(text_is(multimem, "operation", "allreduce") && number(multimem, "bytes") == 1024, "shapes of the operator by id");
    is_int(count(&analyzed, "communication.calls"), 2, "calls");
    is_int(count(&analyzed, "communication.missing_details_count"), 1, "one of them tells nothing");
    is_int(count(&analyzed, "communication.small_allreduce_count"), 2, "both all-reduces are small");
    is_int(count(&analyzed, "communication.median_allreduce_bytes"), 2512, "their median");
    is_int(us(&analyzed, "communication.alltoall_dur_us"), 20, "all-to-all");
    is_int(us(&analyzed, "communication.alltoall_exposed_us"), 20, "which nothing covers");
    end(&analyzed);
}

static void unknown_collectives_stay_unknown(void)
{
    struct analyzed analyzed;
    begin(&analyzed, KERNEL("ncclDevKernel_Generic(x)", 9, 0, 100, "\"correlation\":5") KERNEL("gemm", 7, 0, 10, ""));
    const struct ap_value *row = item(&analyzed, "communication.collectives", 0);
    ok(text_is(row, "operation", "unknown") && is_null(ap_value_member(row, "bytes")) &&
           is_null(ap_value_member(row, "dtype")) && is_null(ap_value_member(row, "group")) &&
           is_null(ap_value_member(row, "algbw_gigabytes_per_s")),
       "nothing is guessed");
    is_int(number(row, "exposed_us") / 1000, 90, "its time is known");
    ok(is_null(at(&analyzed, "communication.dtype_fp32_bytes_ratio")), "no bytes, no share of them");
    is_u64(ap_value_count(at(&analyzed, "communication.groups")), 0, "no group");
    end(&analyzed);
}

static void waits_and_barriers(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          ANNOTATION("ProfilerStep#1", 1, 0, 500, "") ANNOTATION("ProfilerStep#2", 1, 500, 500, "")
              OP("record_param_comms", 1, 10, 5, TOLD("wait", 0, 0, 1, "Byte")) OP("c10d::barrier", 1, 20, 50, "")
                  OP("record_param_comms", 1, 21, 40, TOLD("barrier", 0, 0, 2, "Byte")) OP("c10d::barrier", 1, 120, 50, "")
                      OP("record_param_comms", 1, 200, 5, "\"Input Dims\":[[],[]],\"Input type\":[\"Scalar\",\"\"]"));
    is_int(count(&analyzed, "communication.calls"), 1, "a wait is no call, nor is what has no tensor");
    is_int(count(&analyzed, "communication.barrier_count"), 2, "a barrier is recorded once or twice");
    ok(near(at(&analyzed, "communication.barriers_per_step"), 1), "one a step");
    is_int(count(&analyzed, "communication.count"), 0, "no device did anything");
    ok(is_null(at(&analyzed, "communication.exposed_ratio")), "so nothing is exposed");
    end(&analyzed);
}

static void host_backends_have_collectives_too(void)
{
    struct analyzed analyzed;
    begin(&analyzed, OP("c10d::allreduce_", 1, 0, 5, "")
                         ANNOTATION("gloo:all_reduce", 2, 0, 1000, "\"Input Dims\":[[250000]],\"Input type\":[\"float\"]")
                             ANNOTATION("gloo:broadcast", 2, 2000, 10, "") ANNOTATION("gloo:loop", 3, 0, 10, ""));
    const struct ap_value *row = item(&analyzed, "communication.collectives", 0);
    is_int(count(&analyzed, "communication.host_collectives.count"), 2, "by their names");
    is_int(us(&analyzed, "communication.host_collectives.total_dur_us"), 1010, "their time");
    is_int(us(&analyzed, "communication.total_dur_us"), 0, "which is no device's");
    ok(ap_value_member(row, "on_host")->as.integer && number(row, "bytes") == 1000000, "with shapes where recorded");
    ok(near(ap_value_member(row, "algbw_gigabytes_per_s"), 1), "and bandwidth");
    ok(is_null(ap_value_member(row, "exposed_us")), "hidden from what?");
    is_int(count(&analyzed, "communication.broadcast_count"), 1, "a broadcast");
    is_int(us(&analyzed, "communication.broadcast_dur_us"), 10, "and its time");
    end(&analyzed);
}

static void kinds_are_kept_apart_and_bounded(void)
{
    struct analyzed analyzed;
    begin_top(&analyzed,
              KERNEL("nccl_a", 9, 0, 10, TOLD("allreduce", 1, 1, 2, "Float"))
                  KERNEL("nccl_a", 9, 20, 10, TOLD("allreduce", 2, 2, 2, "Float"))
                      KERNEL("nccl_a", 9, 40, 30, TOLD("allreduce", 2, 2, 2, "Half"))
                          KERNEL("nccl_b", 9, 80, 10, TOLD("allreduce", 2, 2, 2, "Half"))
                              KERNEL("nccl_a", 9, 100, 10, TOLD("broadcast", 2, 2, 2, "Half")),
              3);
    is_u64(ap_value_count(at(&analyzed, "communication.collectives")), 3, "as many as asked for");
    is_int(number(item(&analyzed, "communication.collectives", 0), "total_dur_us") / 1000, 30, "the longest first");
    is_u64(ap_value_count(at(&analyzed, "communication.by_operation")), 2, "two operations");
    is_int(number(item(&analyzed, "communication.by_operation", 0), "total_dur_us") / 1000, 60, "add up");
    is_int(us(&analyzed, "communication.total_dur_us"), 70, "to all");
    end(&analyzed);
}

/* ---------------------------------------------------------------------------------------------------- what covers it */

enum { TICKS = 90, ROWS = 24 };

struct interval {
    int64_t start, dur, device;
    int kind; /* 0 collective, 1 kernel, 2 memset, 3 copy */
};

static bool covers(const struct interval *interval, int64_t device, int64_t tick)
{
    return interval->device == device && interval->start <= tick && tick < interval->start + interval->dur;
}

static bool covered(const struct interval *intervals, unsigned kinds, int64_t device, int64_t tick)
{
    for (int i = 0; i < ROWS; i++)
        if (kinds >> intervals[i].kind & 1 && covers(&intervals[i], device, tick))
            return true;
    return false;
}

static struct ap_trace *build(struct ap_gate *gate, const struct interval *intervals)
{
    static const char *const names[] = { "ncclDevKernel_AllReduce", "gemm", "Memset (Device)", "Memcpy DtoD" };
    static const uint8_t kinds[] = { AP_KIND_kernel, AP_KIND_kernel, AP_KIND_memset, AP_KIND_memcpy };
    struct ap_trace *trace;
    if (ap_trace_new(gate, &trace, NULL) != AP_OK)
        abort();
    for (int i = 0; i < ROWS; i++) {
        struct ap_str name;
        uint32_t track;
        char thread[24];
        (void)snprintf(thread, sizeof(thread), "%d", (int)intervals[i].device);
        if (ap_strpool_intern(&trace->strings, names[intervals[i].kind], strlen(names[intervals[i].kind]), &name, NULL) !=
                AP_OK ||
            ap_trace_track(trace, AP_TEXT("0"), false, ap_text_of(thread), false, &track, NULL) != AP_OK ||
            ap_trace_add_row(trace, intervals[i].start, intervals[i].dur, name, track, kinds[intervals[i].kind] | AP_ROW_X,
                             NULL) != AP_OK)
            abort();
        trace->tracks[track].device = (int32_t)intervals[i].device;
    }
    return trace;
}

static int compare_with_ticks(const struct ap_collective_rows *collectives, const struct interval *intervals)
{
    int wrong = 0;
    int64_t busy = 0, exposed = 0, overlap = 0;
    struct ap_collective_cover of_all = { 0, 0 };
    for (int64_t device = 0; device < 2; device++)
        for (int64_t tick = 0; tick < 2 * TICKS; tick++) {
            bool communicates = covered(intervals, 1, device, tick);
            busy += communicates;
            exposed += communicates && !covered(intervals, 6, device, tick);
            overlap += communicates && covered(intervals, 2, device, tick);
        }
    wrong += busy != collectives->busy_ns || exposed != collectives->exposed_ns || overlap != collectives->overlap_ns;
    for (size_t i = 0; i < collectives->count; i++) {
        const struct interval *own = &intervals[collectives->rows[i].row];
        int64_t own_exposed = 0, own_overlap = 0;
        for (int64_t tick = own->start; tick < own->start + own->dur; tick++) {
            own_exposed += !covered(intervals, 6, own->device, tick);
            own_overlap += covered(intervals, 2, own->device, tick);
        }
        wrong += own_exposed != collectives->own[i].cover.exposed_ns || own_overlap != collectives->own[i].cover.overlap_ns;
        of_all.exposed_ns += own_exposed;
        of_all.overlap_ns += own_overlap;
    }
    if (collectives->count) /* all are of one kind */
        wrong +=
            of_all.exposed_ns != collectives->covers[0].exposed_ns || of_all.overlap_ns != collectives->covers[0].overlap_ns;
    return wrong;
}

static void exposed_time_equals_a_slow_count(void)
{
    struct random random = { .state = 11 };
    int wrong = 0;
    for (int round = 0; round < 300; round++) {
        struct ap_gate gate;
        struct interval intervals[ROWS];
        struct ap_row_order order;
        struct ap_host_tree tree;
        struct ap_links links;
        struct ap_kernel_families families;
        struct ap_collective_rows collectives;
        ap_gate_init(&gate, 0);
        for (int i = 0; i < ROWS; i++)
            intervals[i] = (struct interval){ .start = (int64_t)random_below(&random, TICKS),
                                              .dur = (int64_t)random_below(&random, 30),
                                              .device = (int64_t)random_below(&random, 2),
                                              .kind = (int)random_below(&random, 4) };
        struct ap_trace *trace = build(&gate, intervals);
        if (ap_row_order_init(&order, trace, &gate, NULL) != AP_OK ||
            ap_host_tree_init(&tree, trace, &order, &gate, NULL) != AP_OK ||
            ap_links_init(&links, trace, &order, &tree, &gate, NULL) != AP_OK ||
            ap_kernel_families_init(&families, trace, &gate, NULL) != AP_OK ||
            ap_collective_rows_init(&collectives, trace, &tree, &links, &families, true, &gate, NULL) != AP_OK)
            abort();
        wrong += compare_with_ticks(&collectives, intervals);
        ap_collective_rows_release(&collectives);
        ap_kernel_families_release(&families);
        ap_links_release(&links);
        ap_host_tree_release(&tree);
        ap_row_order_release(&order);
        ap_trace_free(trace);
        wrong += gate.used_bytes != 0;
    }
    is_int(wrong, 0, "rows and unions, for random rows on two devices");
}

/* ------------------------------------------------------------------------------------------------------ compilation */

static void regions_and_graphs_are_counted(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          ANNOTATION("ProfilerStep#1", 1, 0, 1000, "") OP("TorchDynamo Cache Lookup", 1, 10, 20, "")
              OP("Torch-Compiled Region: 3/1", 1, 30, 200, "") OP("Pregraph bytecode", 1, 31, 5, "")
                  OP("aten::detach", 1, 32, 1, "") ANNOTATION("## Call CompiledFxGraph fabc ##", 1, 40, 150, "")
                      OP("aten::mm", 1, 50, 10, "") CALL("cudaLaunchKernel", 1, 52, 2, "\"correlation\":1")
                          OP("triton_poi_fused_add_0", 1, 70, 10, "") CALL("cuLaunchKernel", 1, 72, 2, "\"correlation\":2")
                              KERNEL("gemm", 7, 100, 30, "\"correlation\":1")
                                  KERNEL("triton_poi_fused_add_0", 7, 200, 10, "\"correlation\":2"));
    is_int(count(&analyzed, "compile.regions"), 1, "one region");
    ok(near(at(&analyzed, "compile.regions_per_step"), 1), "one a step");
    is_int(count(&analyzed, "compile.recompiled_frames"), 1, "in its second version");
    is_int(count(&analyzed, "compile.recompiles_in_window"), 0, "which was there before");
    is_int(count(&analyzed, "compile.graph_breaks"), 0, "no break");
    is_int(us(&analyzed, "compile.eager_between_us"), 0, "what runs in the graph is not eager");
    is_int(us(&analyzed, "compile.outside_graphs_us"), 50, "200 in the region less 150 in its graph");
    is_int(count(&analyzed, "compile.distinct_fx_graphs"), 1, "one graph");
    is_int(us(&analyzed, "compile.guard_us"), 20, "guards");
    ok(near(at(&analyzed, "compile.triton_time_ratio"), 0.25), "generated kernels");
    is_int(number(item(&analyzed, "compile.top_regions", 0), "device_us") / 1000, 40, "work launched in the region");
    ok(near(at(&analyzed, "compile.compile_share_ratio"), 0), "nothing was compiled");
    end(&analyzed);
}

#define GRAPH(tid, ts, dur) ANNOTATION("## Call CompiledFxGraph fabc ##", tid, ts, dur, "")

static void a_region_in_a_region_is_a_break(void)
{
    struct analyzed analyzed;
    begin(&analyzed, OP("Torch-Compiled Region: 0/0", 1, 0, 500, "") GRAPH(1, 10, 50) OP("aten::mm", 1, 20, 10, "")
                         OP("aten::item", 1, 100, 40, "") OP("aten::_local_scalar_dense", 1, 110, 20, "")
                             OP("Torch-Compiled Region: 1/0", 1, 200, 200, "") GRAPH(1, 210, 50)
                                 CALL("cudaLaunchKernel", 1, 220, 2, "\"correlation\":1")
                                     KERNEL("k", 7, 300, 9, "\"correlation\":1") OP("aten::behind", 1, 450, 10, ""));
    is_int(count(&analyzed, "compile.graph_breaks"), 1, "the frame goes on in another");
    is_int(us(&analyzed, "compile.eager_between_us"), 140, "from the end of its graph on");
    is_int(us(&analyzed, "compile.outside_graphs_us"), 400 + 10,
           "500 in the outer region less both graphs, and to the first row of the one behind the break");
    is_int(count(&analyzed, "compile.distinct_frames"), 2, "two frames");
    ok(text_is(item(&analyzed, "compile.top_regions", 0), "name", "Torch-Compiled Region: 0/0"), "the outer one is longer");
    is_int(number(item(&analyzed, "compile.top_regions", 0), "device_us"), 0, "but launched nothing");
    is_int(number(item(&analyzed, "compile.top_regions", 1), "device_us") / 1000, 9, "the inner one did");
    end(&analyzed);
}

static void what_goes_by_between_regions_is_outside_of_graphs(void)
{
    struct analyzed analyzed;
    begin(&analyzed, OP("Torch-Compiled Region: 0/0", 1, 0, 100, "") GRAPH(1, 10, 80) OP("aten::item", 1, 120, 40, "")
                         OP("Torch-Compiled Region: 1/0", 1, 200, 100, "") GRAPH(1, 210, 80));
    is_int(count(&analyzed, "compile.graph_breaks"), 1, "one break");
    is_int(us(&analyzed, "compile.eager_between_us"), 100, "from region to region");
    is_int(us(&analyzed, "compile.outside_graphs_us"), 140, "100 between the regions, 20 in each around its graph");
    end(&analyzed);
}

static void a_region_behind_a_region_may_be_a_break(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          ANNOTATION("ProfilerStep#1", 1, 0, 500, "") ANNOTATION("ProfilerStep#2", 1, 500, 500, "")
              OP("Torch-Compiled Region: 0/0", 1, 0, 50, "") OP("vllm::attention", 1, 60, 30, "")
                  OP("Torch-Compiled Region: 1/0", 1, 100, 50, "") OP("Torch-Compiled Region: 2/0", 1, 160, 50, "")
                      OP("aten::add", 1, 300, 30, "") OP("Torch-Compiled Region: 0/0", 1, 510, 50, "")
                          OP("vllm::attention", 1, 570, 10, "") OP("Torch-Compiled Region: 1/0", 1, 600, 50, "")
                              OP("Torch-Compiled Region: 2/0", 1, 660, 50, ""));
    is_int(count(&analyzed, "compile.graph_breaks"), 2, "with an operator between, and not into the next step");
    ok(near(at(&analyzed, "compile.graph_breaks_per_step"), 1), "one a step");
    is_int(us(&analyzed, "compile.eager_between_us"), 90, "from region to region");
    is_int(us(&analyzed, "compile.outside_graphs_us"), 90, "no more is known without graphs");
    end(&analyzed);
}

static void recompiles_are_told_by_order(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          OP("Torch-Compiled Region: 0/0", 1, 0, 5, "") OP("Torch-Compiled Region: 0/1", 1, 10, 5, "")
              OP("Torch-Compiled Region: 0/0", 1, 20, 5, "") OP("Torch-Compiled Region: 0/2", 1, 30, 5, "")
                  OP("Torch-Compiled Region: 7/1", 1, 40, 5, "") OP("Torch-Compiled Region: 7/0", 1, 50, 5, "")
                      OP("Torch-Compiled Region: odd", 1, 60, 5, "") OP("Torch-Compiled Region", 1, 70, 5, "")
                          OP("_compile.compile_inner", 1, 80, 15, "") OP("backend_compile (dynamo_timed)", 1, 85, 5, "")
                              ANNOTATION("inner_fn (dynamo_timed)", 2, 0, 10, "")
                                  CALL("cudaStreamBeginCapture", 1, 100, 2, "") CALL("cudaStreamEndCapture", 1, 120, 5, "")
                                      CALL("hipStreamBeginCapture", 2, 100, 2, ""));
    is_int(count(&analyzed, "compile.recompiles_in_window"), 2, "versions 1 and 2 of frame 0 came behind version 0");
    is_int(count(&analyzed, "compile.recompiled_frames"), 2, "frames 0 and 7");
    is_int(count(&analyzed, "compile.distinct_frames"), 2, "names without numbers are none");
    is_int(count(&analyzed, "compile.regions"), 8, "but regions");
    is_int(us(&analyzed, "compile.compile_us"), 25, "nested compiling counts once");
    is_int(count(&analyzed, "compile.compile_rows"), 2, "so do its rows");
    is_int(count(&analyzed, "compile.graph_captures"), 2, "captures");
    is_int(us(&analyzed, "compile.graph_capture_us"), 25, "the time of the one that ended");
    end(&analyzed);
}

static void graphs_that_are_captured_again_are_told(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          CALL("cudaStreamBeginCapture", 1, 0, 2, "") CALL("cudaGraphLaunch", 1, 90, 5, "\"correlation\":1")
              KERNEL("gemm", 7, 100, 100, "\"correlation\":1") CALL("cudaGraphLaunch", 1, 195, 5, "\"correlation\":2")
                  KERNEL("gemm", 7, 210, 100, "\"correlation\":2") CALL("cudaStreamBeginCapture", 1, 320, 2, "")
                      CALL("cudaGraphLaunch", 1, 390, 5, "\"correlation\":3")
                          KERNEL("gemm", 7, 400, 100, "\"correlation\":3"));
    is_int(count(&analyzed, "compile.captures_again"), 1, "one came behind replays");
    is_int(us(&analyzed, "compile.captures_again_idle_us"), 90, "the device stood still from replay to replay");
    end(&analyzed);
    begin(&analyzed, CALL("cudaStreamBeginCapture", 1, 0, 2, "") CALL("cudaGraphLaunch", 1, 90, 5, "")
                         CALL("cudaStreamBeginCapture", 1, 120, 2, "") CALL("cudaGraphLaunch", 1, 190, 5, "")
                             CALL("cudaGraphLaunch", 1, 300, 5, "") KERNEL("gemm", 7, 310, 100, ""));
    is_int(count(&analyzed, "compile.captures_again"), 0, "two pieces of a program that are replayed from then on");
    end(&analyzed);
}

/* ------------------------------------------------------------------------------------------------------ accelerators */

static void accelerators_have_their_own_figures(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          EVENT("mtia_ccp_events", "pe_exe", 17, 101, 0, 40, "\"correlation\":5")
              EVENT("mtia_ccp_events", "pe_exe", 17, 102, 20, 40, "\"correlation\":6")
                  EVENT("mtia_ccp_events", "event_wait", 17, 102, 60, 40, "") EVENT("hpu_op", "matmul", 18, 1, 180, 20, "")
                      EVENT("mtia_runtime", "runFunction", 1, 1, 0, 5, "\"correlation\":5"));
    ok(is_null(at(&analyzed, "gpu")), "they are no GPU");
    is_int(count(&analyzed, "accelerator.rows"), 4, "rows of every such category");
    is_int(us(&analyzed, "accelerator.window_us"), 200, "first start to last end");
    is_int(us(&analyzed, "accelerator.busy_us"), 120, "union");
    is_int(us(&analyzed, "accelerator.idle_us"), 80, "busy and idle make up the window");
    is_int(us(&analyzed, "accelerator.working_us"), 80, "without the wait");
    is_int(us(&analyzed, "accelerator.total_dur_us"), 140, "plain sum");
    is_int(count(&analyzed, "accelerator.linked_rows"), 1, "one call is there");
    is_int(count(&analyzed, "accelerator.correlated_rows"), 2, "of two");
    is_u64(ap_value_count(at(&analyzed, "accelerator.categories")), 2, "two categories");
    is_u64(ap_value_count(at(&analyzed, "accelerator.tracks")), 3, "three tracks");
    ok(text_is(item(&analyzed, "accelerator.names", 0), "name", "pe_exe"), "the longest name");
    is_int(number(item(&analyzed, "accelerator.tracks", 0), "busy_us") / 1000, 80, "the busiest track");
    ok(text_is(item(&analyzed, "accelerator.tracks", 0), "longest_name", "pe_exe"), "and its longest row");
    end(&analyzed);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static void memory_may_fail_anywhere(void)
{
    static const char rows[] = OP("record_param_comms", 1, 5, 80, TOLD("allreduce", 1000, 1000, 4, "Float"))
        CALL("cudaLaunchKernelExC", 1, 20, 5, "\"correlation\":1")
            KERNEL("ncclDevKernel_Generic(x)", 9, 100, 10, "\"correlation\":1")
                KERNEL("ncclDevKernel_Generic(x)", 9, 200, 10, TOLD("broadcast", 7, 7, 4, "Int"))
                    ANNOTATION("gloo:all_reduce", 2, 0, 10, "") OP("Torch-Compiled Region: 0/0", 1, 200, 50, "")
                        OP("Torch-Compiled Region: 1/0", 1, 300, 50, "")
                            EVENT("mtia_ccp_events", "pe_exe", 17, 101, 0, 40, "\"correlation\":1")
                                EVENT("hpu_op", "matmul", 18, 1, 180, 20, "");
    enum ap_status status = AP_ERROR_MEMORY;
    int odd = 0, failures = 0;
    for (; status != AP_OK && failures < 100000; failures++) {
        struct ap_part_options options = { .path = "typed by hand" };
        struct trace_run run;
        struct ap_model model;
        trace_run_rows(&run, rows);
        ap_model_init(&model, &run.json.gate);
        run.json.gate.fail_after = failures;
        status = analyze_trace(run.trace, &options, &run.json.notes, &model, NULL);
        odd += status != AP_OK && status != AP_ERROR_MEMORY;
        run.json.gate.fail_after = -1;
        ap_model_release(&model);
        odd += !trace_run_release(&run);
    }
    ok(failures > 50 && status == AP_OK, "it runs once nothing is refused");
    is_int(odd, 0, "until then each refusal is told and all memory is given back");
}

/* ------------------------------------------------------------------------------------------- one after the other */

#define REDUCTION ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d}\n"

/* @count reductions of 10 us, 100 us apart, and behind each @between divisions of @kernel_us. */
static void reduce_one_by_one(struct analyzed *analyzed, int count, int between, int kernel_us)
{
    char rows[20000] = "";
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(rows + used, sizeof(rows) - used, REDUCTION, "ncclKernel_AllReduce_RING", i * 100, 10);
        for (int k = 0; k < between; k++)
            used += (size_t)snprintf(rows + used, sizeof(rows) - used, REDUCTION, "div", i * 100 + 20 + k * 10, kernel_us);
    }
    begin(analyzed, rows);
}

static void reductions_in_a_row_are_a_train(void)
{
    struct analyzed analyzed;
    reduce_one_by_one(&analyzed, 20, 2, 5);
    is_int(count(&analyzed, "communication.one_by_one.trains"), 1, "one train");
    is_int(count(&analyzed, "communication.one_by_one.count"), 20, "of all");
    is_int(us(&analyzed, "communication.one_by_one.dur_us"), 1910, "from the first to the end of the last");
    is_int(us(&analyzed, "communication.one_by_one.idle_us"), 19 * 80, "idle between reductions and divisions");
    end(&analyzed);
    reduce_one_by_one(&analyzed, 20, 3, 1);
    is_int(count(&analyzed, "communication.one_by_one.trains"), 0, "a layer in between is none");
    end(&analyzed);
    reduce_one_by_one(&analyzed, 15, 0, 0);
    is_int(count(&analyzed, "communication.one_by_one.trains"), 0, "nor are few");
    end(&analyzed);
    reduce_one_by_one(&analyzed, 20, 2, 6);
    is_int(count(&analyzed, "communication.one_by_one.trains"), 0, "nor those beside which more is computed than sent");
    end(&analyzed);
}

static void captured_launches_have_no_work(void)
{
    struct analyzed analyzed;
    begin(&analyzed,
          CALL("hipStreamBeginCapture", 1, 0, 1, "") CALL("hipLaunchKernel", 1, 10, 5, "\"correlation\":1")
              CALL("hipLaunchKernel", 1, 20, 5, "\"correlation\":2") CALL("hipStreamEndCapture", 1, 30, 1, "")
                  CALL("hipLaunchKernel", 1, 40, 5, "\"correlation\":3") KERNEL("fill", 7, 50, 5, "\"correlation\":3"));
    is_int(count(&analyzed, "compile.launches_without_work"), 2, "what is captured does not run");
    ok(near(at(&analyzed, "compile.launches_without_work_ratio"), 2.0 / 3), "of three launches");
    ok(ap_text_is(ap_value_text(at(&analyzed, "verdict.bound")), "unknown"), "so nothing bounds the run");
    const struct ap_value *symptom = ap_value_first(at(&analyzed, "symptoms"));
    for (int i = 0; i < 3; i++, symptom = symptom->next)
        ok(ap_value_member(symptom, "present")->type == AP_VALUE_NULL, "and an idle device is no symptom");
    end(&analyzed);
}

/* The recording begins or ends within a capture, or lacks one of its calls. */
static void captures_without_an_end_last_as_long_as_launches_have_no_work(void)
{
    static const char begin_call[] = CALL("hipStreamBeginCapture", 1, 0, 2, ""),
                      end_call[] = CALL("hipStreamEndCapture", 1, 30, 2, "");
    static const struct {
        bool begins, ends;
        int captures, us;
    } cases[] = { { true, true, 1, 32 }, { true, false, 1, 25 }, { false, true, 1, 22 }, { false, false, 0, 0 } };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct analyzed analyzed;
        char rows[2000];
        (void)snprintf(
            rows, sizeof(rows), "%s%s%s%s", cases[i].begins ? begin_call : "",
            CALL("hipLaunchKernel", 1, 10, 5, "\"correlation\":1") CALL("hipLaunchKernel", 1, 20, 5, "\"correlation\":2"),
            cases[i].ends ? end_call : "",
            CALL("hipLaunchKernel", 1, 400, 5, "\"correlation\":3") CALL("hipLaunchKernel", 1, 410, 5, "\"correlation\":4")
                KERNEL("fill", 7, 410, 5, "\"correlation\":3") KERNEL("fill", 7, 420, 5, "\"correlation\":4"));
        begin(&analyzed, rows);
        is_int(count(&analyzed, "compile.graph_captures"), cases[i].captures, "captures");
        is_int(us(&analyzed, "compile.graph_capture_us"), cases[i].us, "until it ends, or the last launch without work");
        end(&analyzed);
    }
}

/* The device works for this part of the recording beside a capture. */
static void a_capture_beside_work_is_no_capture_alone(void)
{
    for (int works = 0; works < 2; works++) {
        struct analyzed analyzed;
        char rows[1200];
        (void)snprintf(rows, sizeof(rows), "%s" KERNEL("mm", 7, 110, % d, "\"correlation\":3"),
                       CALL("hipStreamBeginCapture", 1, 0, 2, "") CALL("hipLaunchKernel", 1, 10, 5, "\"correlation\":1")
                           CALL("hipLaunchKernel", 1, 20, 5, "\"correlation\":2") CALL("hipStreamEndCapture", 1, 30, 2, "")
                               CALL("hipLaunchKernel", 1, 100, 5, "\"correlation\":3") OP("aten::mm", 1, 98, 902, ""),
                       works ? 600 : 400);
        begin(&analyzed, rows);
        ok(ap_text_is(ap_value_text(at(&analyzed, "verdict.bound")), "unknown") == !works, "what bounds the run");
        end(&analyzed);
    }
}

static void a_gpu_shows_without_its_rows(void)
{
    struct analyzed analyzed;
    begin(&analyzed, OP("aten::mm", 1, 0, 100, "") OP("aten::record_stream", 1, 120, 5, ""));
    ok(ap_text_is(ap_value_text(at(&analyzed, "verdict.bound")), "unknown"), "an operator that needs a GPU");
    end(&analyzed);
    begin(&analyzed, OP("aten::mm", 1, 0, 100, "") OP("aten::add", 1, 120, 5, ""));
    ok(ap_text_is(ap_value_text(at(&analyzed, "verdict.bound")), "CPU-bound"), "operators that do not");
    end(&analyzed);
}

int main(void)
{
    operations_are_told_by_any_name();
    sizes_are_those_of_nccl_tests();
    transfers_are_bounded_by_others();
    first_inputs_are_read_from_signatures();
    nothing_to_say_is_null();
    kernels_tell_their_size_themselves();
    the_fastest_large_one_tells_the_link();
    of_unknown_sizes_none_is_small_or_slow();
    collectives_of_other_sizes_tell_what_to_expect();
    transfers_are_not_called_slow();
    passes_that_are_reduced_are_counted();
    one_rank_talks_to_nobody();
    a_group_of_one_is_known_by_its_list_or_operator();
    what_a_kernel_does_not_tell_its_call_does();
    unknown_collectives_stay_unknown();
    waits_and_barriers();
    host_backends_have_collectives_too();
    kinds_are_kept_apart_and_bounded();
    exposed_time_equals_a_slow_count();
    regions_and_graphs_are_counted();
    a_region_in_a_region_is_a_break();
    a_region_behind_a_region_may_be_a_break();
    what_goes_by_between_regions_is_outside_of_graphs();
    recompiles_are_told_by_order();
    graphs_that_are_captured_again_are_told();
    accelerators_have_their_own_figures();
    reductions_in_a_row_are_a_train();
    captured_launches_have_no_work();
    captures_without_an_end_last_as_long_as_launches_have_no_work();
    a_capture_beside_work_is_no_capture_alone();
    a_gpu_shows_without_its_rows();
    memory_may_fail_anywhere();
    return done();
}
