/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "typed_trace.h"

#define NCCL "ncclDevKernel_AllReduce"
#define ADD "void at::native::vectorized_elementwise_kernel<4, Add>"
#define MUL "void at::native::vectorized_elementwise_kernel<4, Mul>"
#define SUM "void at::native::reduce_kernel<512, 1, Sum>"

/* On the stream @tid of a device; @start_ns and @dur_ns. */
static void device_row(struct run *run, int64_t device, const char *tid, const char *name, unsigned tag, int64_t start_ns,
                       int64_t dur_ns)
{
    char pid[24];
    (void)snprintf(pid, sizeof(pid), "%lld", (long long)device);
    uint32_t track = add_row(run, pid, tid, name, tag, start_ns, dur_ns);
    if (ap_event_kind_is_gpu_work(ap_row_kind((uint8_t)tag)))
        run->trace->tracks[track].device = (int32_t)device;
}

static void kernel(struct run *run, const char *tid, const char *name, int64_t start_ns, int64_t dur_ns)
{
    device_row(run, 0, tid, name, KERNEL, start_ns, dur_ns);
}

static void detail(struct run *run, struct ap_work_detail detail)
{
    if (ap_trace_add_work_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

static void copy(struct run *run, const char *name, int64_t start_ns, int64_t dur_ns, int64_t bytes)
{
    device_row(run, 0, "9", name, MEMCPY, start_ns, dur_ns);
    detail(run, (struct ap_work_detail){ .as.bytes = bytes });
}

static void grid(struct run *run, float blocks_per_sm, float occupancy_ratio)
{
    detail(run, (struct ap_work_detail){ .as.grid = { blocks_per_sm, occupancy_ratio } });
}

static const struct ap_value *item(const struct run *run, const char *list, size_t index)
{
    const struct ap_value *value = ap_value_first(at(run, list));
    while (value && index--)
        value = value->next;
    return value;
}

static int64_t member(const struct ap_value *value, const char *key)
{
    return ap_value_integer(ap_value_member(value, key), -1);
}

static bool is_near(const struct ap_value *value, double want)
{
    double got;
    return value && value->type != AP_VALUE_NULL && ap_value_number(value, &got) && got > want - 1e-6 && got < want + 1e-6;
}

static bool null_value(const struct ap_value *value)
{
    return value && value->type == AP_VALUE_NULL;
}

static bool member_is(const struct ap_value *value, const char *key, const char *text)
{
    return ap_text_is(ap_value_text(ap_value_member(value, key)), text);
}

/* ---- devices and streams ---- */

static void every_part_of_a_device_is_a_union(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "gemm", 100, 40);
    kernel(&run, "8", "gemm", 120, 40);                           /* beside it: 100..160 */
    kernel(&run, "20", NCCL, 150, 50);                            /* 10 beside compute */
    device_row(&run, 0, "9", "Memset (Device)", MEMSET, 190, 20); /* 10 beside the collective */
    copy(&run, "Memcpy HtoD (Pinned -> Device)", 150, 100, 1000);
    kernel(&run, "7", "gemm", 240, 20);
    analyze(&run);
    const struct ap_value *device = item(&run, "gpu.devices", 0);
    is_int(member(device, "window_us"), 160, "first start to last end");
    is_int(member(device, "busy_us"), 160, "nothing is idle");
    is_int(member(device, "idle_us"), 0, "busy and idle make up the window");
    is_int(member(device, "compute_us"), 80, "compute: kernels but collectives");
    is_int(member(device, "communication_us"), 50, "communication");
    is_int(member(device, "memcpy_us"), 100, "copies");
    is_int(member(device, "memset_us"), 20, "memsets");
    is_int(member(device, "exposed_communication_us"), 30, "compute hides 10 of it and the memset 10");
    is_int(member(device, "exposed_memcpy_us"), 30, "from the memset's end to the last kernel");
    is_int(member(device, "communication_overlap_us"), 10, "communication beside compute");
    is_int(member(device, "memcpy_overlap_us"), 20, "copies beside compute");
    is_int(number(&run, "gpu.communication.exposed_us"), 30, "the total of one device is the device's");
    is_int(number(&run, "gpu.memcpy.exposed_us"), 30, "also of copies");
    is_u64(ap_value_count(at(&run, "gpu.streams")), 4, "four streams");
    const struct ap_value *stream = item(&run, "gpu.streams", 0);
    ok(member_is(stream, "tid", "9"), "the busiest one first");
    is_int(member(stream, "busy_us"), 100, "its copy covers its memset");
    is_int(member(stream, "kernels"), 0, "it ran no kernels");
    end(&run);
}

static void two_devices(struct run *run, int64_t behind_ns)
{
    begin(run);
    for (int64_t step = 0; step < 5; step++) {
        device_row(run, 0, "7", "gemm", KERNEL, step * 200, 100);
        device_row(run, 1, "7", "gemm", KERNEL, step * 200 + behind_ns, 100);
        device_row(run, 2, "7", "gemm", KERNEL, step * 200, 10); /* helps */
    }
    analyze(run);
}

/* Nine steps of three kernels each; in the way of @kind. */
enum drift { SLOWING, EVEN, WARMING_UP, STALLED, SHARED, LONGER, BESIDE, SIZES, BLIND, CACHE };

static int64_t drift_dur_ns(enum drift kind, int step, int call)
{
    switch (kind) {
    case SLOWING: return 100 + 5 * step;
    case WARMING_UP: return step < 3 ? 150 : 100;
    case STALLED: return step == 4 ? 200 : 100 + (step > 5 ? 7 : 0);
    case SHARED: return step > 3 && call % 3 ? 200 : 100; /* the others' turn falls into most calls */
    default: return 100;
    }
}

static void drifting(struct run *run, enum drift kind)
{
    begin(run);
    for (int step = 0; step < 9; step++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", step);
        add_row(run, "1", "1", name, ANNOTATION, step * 4000, 4000);
        for (int call = 0; call < 12; call++) {
            static const char *const names[] = { ADD, MUL, SUM }, cache[] = "void flash_fwd_splitkv_kernel<x>(y)";
            int64_t start_ns = step * 4000 + 100 + call * 300, dur_ns = drift_dur_ns(kind, step, call / 3 + call);
            bool longer = kind >= LONGER, grows = kind == LONGER || (kind == SIZES && call % 3);
            kernel(run, "7", kind == CACHE ? cache : names[call % 3], start_ns, longer ? 100 + 5 * step : dur_ns);
            if (kind != BLIND)
                grid(run, grows ? 8.0F + (float)step : 8.0F, 0.5F);
            if (kind == BESIDE)
                kernel(run, "20", NCCL, start_ns + 20, 60);
        }
    }
    add_row(run, "1", "1", "aten::behind", OPERATOR, 36000, 10);
    analyze(run);
}

static void kernels_that_become_slower_are_told(void)
{
    static const struct {
        enum drift kind;
        const char *why;
    } others[] = { { EVEN, "as quick as before" },
                   { WARMING_UP, "the first ones were slower" },
                   { STALLED, "a moment in the middle" },
                   { SHARED, "the quickest calls are as quick as before: others use the device too" },
                   { LONGER, "more blocks each time: more work" },
                   { BESIDE, "a collective runs beside each" },
                   { SIZES, "others have more blocks each time: more work behind a grid that stays" },
                   { BLIND, "nothing tells how much they work" },
                   { CACHE, "attention over a cache that fills" } };
    struct run run;
    drifting(&run, SLOWING);
    is_int(number(&run, "gpu.drift.steps"), 9, "steady ones");
    is_int(number(&run, "gpu.drift.kernels"), 3, "all");
    ok(is_near(at(&run, "gpu.drift.slower_ratio"), 1), "all of their time");
    ok(is_near(at(&run, "gpu.drift.times"), 135.0 / 105), "of the last third over the first");
    is_int(number(&run, "gpu.drift.saves_us"), 3 * 12 * (15 + 30), "of the middle third and the last one");
    end(&run);
    for (size_t i = 0; i < AP_COUNT_OF(others); i++) {
        drifting(&run, others[i].kind);
        is_int(number(&run, "gpu.drift.kernels"), 0, others[i].why);
        end(&run);
    }
}

static void devices_that_take_turns_are_told(void)
{
    struct run run;
    two_devices(&run, 100);
    is_int(number(&run, "gpu.turns.devices"), 2, "the third does little");
    is_int(number(&run, "gpu.turns.switches"), 9, "from one to the other and back");
    is_int(number(&run, "gpu.turns.alone_us"), 1000, "one at a time");
    ok(is_near(at(&run, "gpu.turns.together_ratio"), 0), "never both");
    is_int(number(&run, "gpu.turns.saves_us"), 500, "both at once would take half");
    end(&run);
    two_devices(&run, 20);
    is_int(number(&run, "gpu.turns.alone_us"), 200, "20 at the begin and the end of each");
    ok(is_near(at(&run, "gpu.turns.together_ratio"), 80.0 / 120), "else together");
    end(&run);
}

static void devices_are_told_by_number_and_kept_apart(void)
{
    struct run run;
    begin(&run);
    device_row(&run, 9, "7", "gemm", KERNEL, 0, 10);
    device_row(&run, 2, "7", "gemm", KERNEL, 5, 10);
    device_row(&run, 9, "7", NCCL, KERNEL, 20, 10);
    device_row(&run, 2, "7", NCCL, KERNEL, 5, 10);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.devices")), 2, "two devices");
    is_int(member(item(&run, "gpu.devices", 0), "device"), 2, "in order of their numbers");
    is_int(member(item(&run, "gpu.devices", 1), "device"), 9, "which are no indices");
    is_int(member(item(&run, "gpu.devices", 0), "busy_us"), 10, "rows of one device do not cover those of another");
    is_int(member(item(&run, "gpu.devices", 0), "exposed_communication_us"), 0, "all hidden on the one");
    is_int(member(item(&run, "gpu.devices", 1), "exposed_communication_us"), 10, "and not on the other");
    is_int(number(&run, "gpu.window_us"), 40, "the total adds the windows");
    end(&run);
}

static void rows_without_length_or_place_make_no_time(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "gemm", 10, 0);
    analyze(&run);
    is_int(number(&run, "gpu.window_us"), 0, "one row without length");
    ok(null_value(at(&run, "gpu.utilization_ratio")), "has no utilization");
    is_int(number(&run, "gpu.kernel.count"), 1, "but is counted");
    end(&run);

    begin(&run);
    kernel(&run, "7", "gemm", 10, 30);
    kernel(&run, "7", "gemm", 20, -5);
    kernel(&run, "7", "gemm", AP_START_UNKNOWN, 7);
    analyze(&run);
    is_int(number(&run, "gpu.busy_us"), 30, "only what is placed is busy");
    is_int(number(&run, "gpu.kernel.total_dur_us"), 32, "sums are of the rows as written");
    is_int(member(item(&run, "gpu.kernels", 0), "min_dur_us"), -5, "also a negative one");
    end(&run);

    begin(&run);
    copy(&run, "Memcpy DtoH (Device -> Pageable)", AP_START_UNKNOWN, 7, 10);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.devices")), 0, "no row is placed in time");
    is_int(member(item(&run, "gpu.copies", 0), "total_dur_us"), 7, "and is summed still");
    end(&run);
}

static void what_was_launched_before_recording_is_told_apart(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "gemm", 0, 40);
    detail(&run, (struct ap_work_detail){ .correlation = 5, .as.grid = { -1, -1 } });
    kernel(&run, "7", "gemm", 50, 30);
    detail(&run, (struct ap_work_detail){ .correlation = 6, .as.grid = { -1, -1 } });
    device_row(&run, 77, "77", "cudaLaunchKernel", RUNTIME, 45, 3);
    if (ap_trace_add_call_detail(run.trace, (struct ap_call_detail){ .correlation = 6 }, NULL) != AP_OK)
        abort();
    analyze(&run);
    const struct ap_value *device = item(&run, "gpu.devices", 0);
    is_int(member(device, "launched_before_recording_count"), 1, "one has no launch in the trace");
    is_int(member(device, "launched_before_recording_us"), 40, "its time");
    is_int(member(device, "window_us"), 80, "it is in the window");
    is_int(member(device, "recorded_window_us"), 30, "and not in that of the recording");
    end(&run);

    begin(&run);
    kernel(&run, "7", "gemm", 0, 40);
    analyze(&run);
    ok(null_value(at(&run, "gpu.launched_before_recording_count")), "unknown where no launch was recorded");
    ok(null_value(at(&run, "gpu.recorded_window_us")), "as is their window");
    end(&run);
}

/* ---- kernels ---- */

static void kernels_add_up_by_name_family_and_subfamily(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "volta_sgemm", 0, 20000);
    kernel(&run, "7", "volta_h884gemm", 30000, 60000);
    kernel(&run, "7", "volta_h884gemm", 100000, 40000);
    kernel(&run, "7", ADD, 200000, 9999);
    kernel(&run, "7", "no_known_name", 300000, 10000);
    kernel(&run, "7", NCCL, 400000, 1);
    analyze(&run);
    const struct ap_value *first = item(&run, "gpu.kernels", 0);
    ok(member_is(first, "name", "volta_h884gemm"), "the largest sum first");
    is_int(member(first, "count"), 2, "count");
    is_int(member(first, "total_dur_us"), 100000, "sum");
    is_int(member(first, "mean_dur_us"), 50000, "mean");
    is_int(member(first, "min_dur_us"), 40000, "shortest");
    is_int(member(first, "max_dur_us"), 60000, "longest");
    is_int(member(ap_value_member(first, "longest"), "start_us"), 30000, "and where that one is");
    ok(member_is(first, "subfamily", "gemm") && member_is(first, "family", "GEMM"), "family and subfamily");
    const struct ap_value *subfamily = item(&run, "gpu.subfamilies", 0);
    ok(member_is(subfamily, "subfamily", "gemm"), "the largest first");
    is_int(member(subfamily, "kernels"), 2, "of two names");
    is_int(member(subfamily, "total_dur_us"), 120000, "add up");
    int64_t families_ns = 0, subfamilies_ns = 0;
    for (const struct ap_value *value = ap_value_first(at(&run, "gpu.subfamilies")); value; value = value->next)
        subfamilies_ns += member(value, "total_dur_us");
    for (const struct ap_value *value = ap_value_first(at(&run, "gpu.families")); value; value = value->next)
        families_ns += member(value, "total_dur_us");
    is_int(families_ns, 140000, "families add up to all kernels");
    is_int(subfamilies_ns, 140000, "so do subfamilies");
    is_int(number(&run, "gpu.unnamed_family.total_dur_us"), 10000, "what has no family is told");
    ok(member_is(item(&run, "gpu.unnamed_family.names", 0), "name", "no_known_name"), "with its name");
    ok(member_is(item(&run, "gpu.communication.names", 0), "name", NCCL), "and what counted as communication");
    is_int(number(&run, "gpu.short_kernels.count"), 2, "9.999 us is short, 10 us is not");
    is_int(number(&run, "gpu.short_kernels.total_dur_us"), 10000, "their time");
    ok(is_near(at(&run, "gpu.sm.tensor_core_ratio"), 100.0 / 140), "tensor cores, of all kernels");
    ok(is_near(at(&run, "gpu.sm.tensor_core_of_eligible_ratio"), 100.0 / 120), "and of those that could use them");
    ok(is_near(at(&run, "gpu.family_share.gemm_ratio"), 120.0 / 140), "share of the busy time");
    end(&run);
}

static void a_name_that_tells_nothing_leaves_tensor_cores_unknown(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "attn_fwd", 0, 40);
    kernel(&run, "7", "volta_sgemm", 50, 30);
    kernel(&run, "7", ADD, 90, 20);
    analyze(&run);
    ok(null_value(ap_value_member(item(&run, "gpu.kernels", 0), "tensor_core")), "attention without a known word: unknown");
    is_int(member(item(&run, "gpu.kernels", 1), "tensor_core"), 0, "a plain product: no");
    is_int(member(item(&run, "gpu.kernels", 2), "tensor_core"), 0, "an addition has no use for them: no");
    end(&run);
}

static void a_kernel_that_tells_its_collective_is_communication(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", ADD, 0, 10);
    kernel(&run, "7", ADD, 20, 30);
    if (ap_trace_add_collective(run.trace, 1, (struct ap_collective){ .in_elements = -1 }, -1, NULL) != AP_OK)
        abort();
    analyze(&run);
    is_int(number(&run, "gpu.communication.busy_us"), 30, "the one that says so");
    is_int(number(&run, "gpu.compute_us"), 10, "the other one of its name is none");
    is_int(member(item(&run, "gpu.communication.names", 0), "count"), 1, "and is not among what matched");
    end(&run);
}

static void a_multiplication_within_a_convolution_is_told(void)
{
    struct run run;
    begin(&run);
    for (unsigned i = 1; i <= 2; i++) {
        device_row(&run, 77, "77", i == 1 ? "aten::cudnn_convolution" : "aten::mm", AP_KIND_operator | AP_ROW_X, i * 100,
                   50);
        device_row(&run, 77, "77", "cudaLaunchKernel", RUNTIME, i * 100 + 10, 5);
        if (ap_trace_add_call_detail(run.trace, (struct ap_call_detail){ .correlation = i }, NULL) != AP_OK)
            abort();
        kernel(&run, "7", "volta_sgemm", i * 1000, i * 10);
        detail(&run, (struct ap_work_detail){ .correlation = i, .as.grid = { -1, -1 } });
    }
    analyze(&run);
    ok(is_near(at(&run, "gpu.family_share.gemm_ratio"), 1), "all of it by name");
    ok(is_near(at(&run, "gpu.family_share.gemm_in_convolution_ratio"), 1.0 / 3), "some of it by operator");
    end(&run);
}

static void kernels_that_unpack_weights_are_told_by_name(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*)", 0, 30);
    kernel(&run, "7", "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16>(x)", 30, 20);
    kernel(&run, "7", "volta_sgemm", 50, 40);
    kernel(&run, "7", "void dequant_swiglu_quant_kernel<__half>(int*, __half*)", 90, 5);
    kernel(&run, "7", "dequant_reduce_kernel<8, 4, 2>(signed char const*, float const*, signed char*)", 95, 5);
    analyze(&run);
    is_int(number(&run, "gpu.family_share.dequantizing_us"), 30, "what packs activations, or unpacks them, is none of them");
    ok(is_near(at(&run, "gpu.family_share.dequantizing_ratio"), 0.3), "share of the busy time");
    end(&run);
}

/* On stream 7 two stand side by side, one alone; on stream 8 one stands behind a norm. */
static void elementwise_kernels_go_into_what_stands_beside_them(void)
{
    static const char norm[] = "void at::native::vectorized_layer_norm_kernel<float>", gemm[] = "sm80_xmma_gemm_f16";
    struct run run;
    begin(&run);
    kernel(&run, "7", gemm, 0, 10);
    kernel(&run, "7", ADD, 10, 20);
    kernel(&run, "7", ADD, 30, 50);
    kernel(&run, "7", gemm, 80, 10);
    kernel(&run, "7", ADD, 90, 40);
    kernel(&run, "8", norm, 0, 10);
    kernel(&run, "8", ADD, 10, 7);
    analyze(&run);
    is_int(number(&run, "gpu.family_share.pointwise_us"), 117, "all of them");
    is_int(number(&run, "gpu.family_share.chained_us"), 27, "but for the longest of two, and for one alone");
    ok(is_near(at(&run, "gpu.sm.named_capability"), 8), "the device is of capability 8 or newer, by a name");
    end(&run);
}

/* Two kernels of one call within an operator. */
static int64_t chained_us_of(const char *call, unsigned around)
{
    struct run run;
    begin(&run);
    device_row(&run, 77, "77", "group_norm", around, 0, 50);
    device_row(&run, 77, "77", call, RUNTIME, 10, 5);
    if (ap_trace_add_call_detail(run.trace, (struct ap_call_detail){ .correlation = 1 }, NULL) != AP_OK)
        abort();
    for (int i = 0; i < 2; i++) {
        kernel(&run, "7", ADD, 100 + i * 20, 20);
        detail(&run, (struct ap_work_detail){ .correlation = 1, .as.grid = { -1, -1 } });
    }
    analyze(&run);
    int64_t chained_us = number(&run, "gpu.family_share.chained_us");
    end(&run);
    return chained_us;
}

static void kernels_of_one_operator_are_no_chain(void)
{
    is_int(chained_us_of("cudaLaunchKernel", OPERATOR), 0, "an operator needs all of its kernels");
    is_int(chained_us_of("cudaGraphLaunch", OPERATOR), 20, "a graph has those of many operators");
    is_int(chained_us_of("cudaLaunchKernel", ANNOTATION), 20, "so has what an annotation names");
}

static void lists_keep_to_their_length(void)
{
    struct run run;
    begin(&run);
    run.top_n = 2;
    for (int i = 0; i < 5; i++) {
        char name[16], tid[8];
        (void)snprintf(name, sizeof(name), "name %d", i);
        (void)snprintf(tid, sizeof(tid), "%d", i);
        kernel(&run, tid, name, 0, 10);
        copy(&run, name, 0, 10, 1);
    }
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.kernels")), 2, "kernels");
    is_u64(ap_value_count(at(&run, "gpu.streams")), 2, "streams");
    is_u64(ap_value_count(at(&run, "gpu.copies")), 2, "copies");
    is_u64(ap_value_count(at(&run, "gpu.unnamed_family.names")), 2, "names without a family");
    ok(member_is(item(&run, "gpu.kernels", 0), "name", "name 0"), "of equal sums the first name in order");
    is_int(number(&run, "gpu.unnamed_family.total_dur_us"), 50, "sums are of all");
    end(&run);
}

static void scans_of_few_columns_are_told(void)
{
    static const char scan[] = "void at::native::tensor_kernel_scan_outer_dim<long, unsigned int, std::plus<long> >(long*)";
    struct run run;
    begin(&run);
    kernel(&run, "7", scan, 0, 100);
    grid(&run, 0.01f, 0);
    kernel(&run, "7", scan, 200, 30); /* of many columns */
    grid(&run, 8, 1);
    kernel(&run, "7", "gemm", 300, 100);
    grid(&run, 0.01f, 0);
    kernel(&run, "7", "indexing_backward_kernel<float>", 400, 50);
    analyze(&run);
    is_int(number(&run, "gpu.sm.narrow_scan_us"), 100, "of so few that most of the device stays empty");
    is_int(number(&run, "gpu.family_share.index_backward_us"), 50, "gradients of an index");
    end(&run);
}

static void blocks_of_a_warp_are_told(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "gate_kernel", 0, 20000);
    grid(&run, 300, 0.5f);
    kernel(&run, "7", "gate_kernel", 100000, 20000);
    grid(&run, 300, 1);
    kernel(&run, "7", "gate_kernel", 200000, 40000); /* not so quick */
    grid(&run, 300, 0.5f);
    kernel(&run, "7", "void at::native::vectorized_gather_kernel<16, long>", 300000, 20000);
    grid(&run, 300, 0.5f);
    kernel(&run, "7", "void gemvNSP_kernel<float, float, float, float, 1, 32, 4, 1024>", 400000, 20000);
    grid(&run, 300, 0.5f);
    kernel(&run, "7", "void at_cuda_detail::cub::DeviceScanKernel<float>", 500000, 20000);
    grid(&run, 300, 0.5f);
    analyze(&run);
    is_int(number(&run, "gpu.sm.tiny_block_us"), 20000, "many, one behind the other, that leave half of the device free");
    end(&run);
}

static void a_copy(struct run *run, const char *around, int64_t start, ap_link_key correlation)
{
    (void)row(run, "1", around, OPERATOR, start, 50);
    (void)row(run, "1", "aten::contiguous", OPERATOR, start + 1, 40);
    (void)row(run, "1", "aten::clone", OPERATOR, start + 2, 30);
    (void)row(run, "1", "aten::copy_", OPERATOR, start + 3, 20);
    call(run, "1", "cudaLaunchKernel", start + 4, 5, correlation);
    work_on(run, "7", "direct_copy_kernel_cuda", KERNEL, start + 10, 30, correlation);
}

static void copies_within_convolutions_change_the_layout(void)
{
    struct run run;
    begin(&run);
    a_copy(&run, "aten::convolution_backward", 0, 1);
    a_copy(&run, "aten::linear", 100, 2);
    analyze(&run);
    is_int(us(&run, "gpu.family_share.convolution_layout_us"), 30, "where a convolution asked for it");
    end(&run);
}

static void grids_are_weighted_by_time(void)
{
    struct run run;
    begin(&run);
    kernel(&run, "7", "gemm", 0, 100);
    grid(&run, 0.5f, 0.2f);
    kernel(&run, "8", "gemm", 50, 100); /* fills all while the other runs too */
    grid(&run, 4, 0.6f);
    kernel(&run, "7", "gemm", 200, 100);
    grid(&run, -1, -1);
    kernel(&run, "7", NCCL, 300, 100);
    grid(&run, 0.25f, -1);
    analyze(&run);
    ok(is_near(at(&run, "gpu.sm.mean_blocks_per_sm"), (50.0 + 400 + 25) / 300), "blocks per multiprocessor");
    ok(is_near(at(&run, "gpu.sm.occupancy_ratio"), 0.4), "occupancy, of those that tell it");
    ok(is_near(at(&run, "gpu.sm.estimated_efficiency_ratio"), (25.0 + 100 + 25) / 400),
       "at each instant the largest counts");
    is_int(number(&run, "gpu.sm.small_grid_us"), 100, "a small grid; a collective's is meant to be small");
    ok(is_near(at(&run, "gpu.sm.small_grid_ratio"), 0.5), "of the kernels that tell");
    ok(is_near(at(&run, "gpu.sm.known_ratio"), 0.75), "which are not all");
    is_int(number(&run, "gpu.fill.empty_sm_us"), 25, "half of the device while the small grid is alone");
    is_int(number(&run, "gpu.fill.streams"), 2, "streams with kernels");
    is_int(number(&run, "gpu.fill.other_streams_us"), 100, "on the one with less");
    is_int(number(&run, "gpu.fill.overlap_us"), 50, "while both run");
    ok(is_near(at(&run, "gpu.fill.overlap_ratio"), 0.5), "which is half of it");
    end(&run);

    begin(&run);
    kernel(&run, "7", "gemm", 0, 100);
    analyze(&run);
    static const char *const unknown[] = { "gpu.sm.mean_blocks_per_sm", "gpu.sm.occupancy_ratio",
                                           "gpu.sm.small_grid_us",      "gpu.sm.estimated_efficiency_ratio",
                                           "gpu.sm.small_grid_ratio",   "gpu.fill.empty_sm_us",
                                           "gpu.fill.overlap_ratio" };
    for (size_t i = 0; i < AP_COUNT_OF(unknown); i++)
        ok(null_value(at(&run, unknown[i])), unknown[i]);
    end(&run);
}

/* What each nanosecond counts: the most filled of the kernels running then; what all of them leave empty; whether there are
 * two. */
static void fill_equals_a_slow_count(void)
{
    enum { KERNELS = 60, TICKS = 400 };
    struct random random = { .state = 11 };
    int wrong = 0;
    for (int round = 0; round < 20; round++) {
        struct run run;
        int64_t start[KERNELS], dur[KERNELS], last = 0, first = TICKS;
        double filled[KERNELS], sum = 0, empty = 0, got = -1;
        int64_t together = 0;
        begin(&run);
        for (int i = 0; i < KERNELS; i++) {
            start[i] = (int64_t)random_below(&random, TICKS / 2);
            dur[i] = (int64_t)random_below(&random, 40);
            filled[i] = (double)random_below(&random, 9) / 8;
            kernel(&run, "7", "gemm", start[i], dur[i]);
            grid(&run, (float)filled[i], -1);
            first = start[i] < first ? start[i] : first;
            last = start[i] + dur[i] > last ? start[i] + dur[i] : last;
        }
        for (int64_t tick = 0; tick < TICKS; tick++) {
            double most = 0, all = 0;
            int count = 0;
            for (int i = 0; i < KERNELS; i++) {
                if (start[i] > tick || tick >= start[i] + dur[i])
                    continue;
                most = filled[i] > most ? filled[i] : most;
                all += filled[i];
                count++;
            }
            sum += most;
            empty += count && all < 1 ? 1 - all : 0;
            together += count > 1;
        }
        struct ap_part_options options = { .path = "random" };
        if (analyze_trace(run.trace, &options, &run.notes, &run.model, NULL) != AP_OK)
            abort();
        (void)ap_value_number(at(&run, "gpu.sm.estimated_efficiency_ratio"), &got);
        double off = got - sum / (double)(last - first);
        wrong += off > 1e-6 || off < -1e-6;
        wrong += number(&run, "gpu.fill.overlap_us") != together;
        wrong += number(&run, "gpu.fill.empty_sm_us") != (int64_t)empty;
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
    }
    is_int(wrong, 0, "for random kernels that overlap");
}

/* ---- copies ---- */

static void copies_are_told_by_kind(void)
{
    struct run run;
    begin(&run);
    copy(&run, "Memcpy HtoD (Pageable -> Device)", 0, 1000, 65536);
    copy(&run, "Memcpy HtoD (Pageable -> Device)", 2000, 1000, 100);
    copy(&run, "Memcpy HtoD (Pageable -> Device)", 4000, 5000, -1);
    copy(&run, "Memcpy DtoH (Device -> Pinned)", 10000, 500, 64);
    copy(&run, "CopyDeviceToDevice", 11000, 700, 0);
    copy(&run, "what is this", 12000, 100, 5);
    kernel(&run, "7", "gemm", 4500, 1000);
    analyze(&run);
    const struct ap_value *first = item(&run, "gpu.copies", 0);
    ok(member_is(first, "kind", "Memcpy HtoD (Pageable -> Device)"), "the name as the trace has it");
    ok(member_is(first, "direction", "HtoD") && member_is(first, "memory", "pageable"), "from pageable memory");
    is_int(member(first, "count"), 3, "count");
    is_int(member(first, "bytes"), 65636, "bytes");
    is_int(member(first, "large_count"), 1, "64 KiB is large");
    is_int(member(first, "total_dur_us"), 7000, "time");
    is_int(member(first, "exposed_us"), 6000, "a kernel hides some of it");
    ok(is_near(ap_value_member(first, "gigabytes_per_s"), 65636.0 / 7000), "known bytes over all the time");
    is_int(member(first, "without_bytes_count"), 1, "and how many rows tell none");
    ok(member_is(item(&run, "gpu.copies", 1), "kind", "CopyDeviceToDevice"), "largest sum first");
    ok(member_is(item(&run, "gpu.copies", 1), "direction", "DtoD"), "as AMD names it");
    ok(member_is(item(&run, "gpu.copies", 3), "direction", "other"), "a kind not known");
    is_int(number(&run, "gpu.memcpy.htod_count"), 3, "to the device");
    is_int(number(&run, "gpu.memcpy.dtoh_bytes"), 64, "from it");
    is_int(number(&run, "gpu.memcpy.dtod_dur_us"), 700, "within it");
    is_int(number(&run, "gpu.memcpy.pinned_count"), 1, "with pinned memory");
    is_int(number(&run, "gpu.memcpy.pageable_dur_us"), 7000, "and without");
    is_int(number(&run, "gpu.memcpy.pageable_held_us"), 7000, "behind which nothing is known to have waited");
    is_int(number(&run, "gpu.memcpy.exposed_us"), 7300, "what nothing hides");
    end(&run);
}

static void memory_that_no_copy_tells_may_be_pageable(void)
{
    struct run run;
    begin(&run);
    copy(&run, "Memcpy HtoD (Host -> Device)", 0, 1000, 64);
    kernel(&run, "7", "gemm", 4500, 1000);
    analyze(&run);
    is_int(number(&run, "gpu.memcpy.htod_count"), 1, "one copy");
    ok(ap_value_at(&run.model.root, "gpu.memcpy.pageable_bytes")->type == AP_VALUE_NULL, "from who knows what memory");
    end(&run);
}

static void bytes_that_no_copy_tells_are_not_zero(void)
{
    struct run run;
    begin(&run);
    copy(&run, "Memcpy HtoD (Host -> Device)", 0, 1000, -1);
    copy(&run, "Memcpy HtoD (Host -> Device)", 2000, 1000, -1);
    analyze(&run);
    const struct ap_value *first = item(&run, "gpu.copies", 0);
    ok(ap_value_member(first, "bytes")->type == AP_VALUE_NULL && ap_value_member(first, "mean_bytes")->type == AP_VALUE_NULL,
       "of a kind");
    ok(at(&run, "gpu.memcpy.bytes")->type == AP_VALUE_NULL && at(&run, "gpu.memcpy.htod_bytes")->type == AP_VALUE_NULL,
       "of all");
    is_int(number(&run, "gpu.memcpy.dtoh_bytes"), 0, "no copies are no bytes");
    end(&run);
}

static void exposed_copies_equal_a_slow_count(void)
{
    enum { ROWS = 50, TICKS = 300 };
    struct random random = { .state = 5 };
    int wrong = 0;
    for (int round = 0; round < 40; round++) {
        struct run run;
        int64_t start[ROWS], dur[ROWS], device[ROWS], want = 0, got = 0;
        bool is_copy[ROWS];
        begin(&run);
        for (int i = 0; i < ROWS; i++) {
            start[i] = (int64_t)random_below(&random, TICKS);
            dur[i] = (int64_t)random_below(&random, 20);
            device[i] = (int64_t)random_below(&random, 2);
            is_copy[i] = random_below(&random, 2);
            device_row(&run, device[i], "7", is_copy[i] ? "copy" : "gemm", is_copy[i] ? MEMCPY : KERNEL, start[i], dur[i]);
        }
        for (int copied = 0; copied < ROWS; copied++)
            for (int64_t tick = start[copied]; is_copy[copied] && tick < start[copied] + dur[copied]; tick++) {
                bool hidden = false;
                for (int i = 0; i < ROWS; i++)
                    hidden |= !is_copy[i] && device[i] == device[copied] && start[i] <= tick && tick < start[i] + dur[i];
                want += !hidden;
            }
        struct ap_part_options options = { .path = "random" };
        if (analyze_trace(run.trace, &options, &run.notes, &run.model, NULL) != AP_OK)
            abort();
        got = member(item(&run, "gpu.copies", 0), "exposed_us");
        wrong += got != want;
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
    }
    is_int(wrong, 0, "for random rows of two devices");
}

/* ---- sequences ---- */

static int64_t add_short(struct run *run, const char *const *names, size_t count, int64_t at_ns, int64_t gap_ns)
{
    for (size_t i = 0; i < count; i++) {
        kernel(run, "7", names[i], at_ns, 2000);
        at_ns += 2000 + gap_ns;
    }
    return at_ns;
}

static void repeated_sequences_are_found_once(void)
{
    static const char *const names[] = { ADD, MUL, SUM };
    struct run run;
    int64_t at_ns = 0;
    begin(&run);
    for (int i = 0; i < 12; i++) {
        at_ns = add_short(&run, names, 3, at_ns, 1000);
        kernel(&run, "7", "gemm", at_ns, 50000); /* parts the runs */
        at_ns += 51000;
    }
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.sequences")), 1, "the longest one, not its parts");
    const struct ap_value *found = item(&run, "gpu.sequences", 0);
    is_int(member(found, "length"), 3, "of three kernels");
    is_int(member(found, "occurrences"), 12, "each time");
    is_int(member(found, "total_dur_us"), 12 * 6000, "time of the kernels");
    is_int(member(found, "gap_us"), 12 * 2000, "and between them");
    ok(ap_text_is(ap_value_text(ap_value_first(ap_value_member(found, "names"))), ADD), "in their order");
    is_int(member(ap_value_member(found, "first"), "dur_us"), 8000, "the first one's place");
    end(&run);
}

static void a_loop_is_told_by_its_body(void)
{
    static const char *const names[] = { ADD, MUL, SUM };
    struct run run;
    int64_t at_ns = 0;
    begin(&run);
    for (int i = 0; i < 30; i++)
        at_ns = add_short(&run, names, 3, at_ns, 0);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.sequences")), 1, "one sequence");
    is_int(member(item(&run, "gpu.sequences", 0), "length"), 3, "as long as the loop's body");
    is_int(member(item(&run, "gpu.sequences", 0), "occurrences"), 30, "as often as the loop ran, no kernel twice");
    end(&run);
}

static void what_is_rare_long_or_far_apart_is_no_sequence(void)
{
    static const char *const names[] = { ADD, MUL };
    struct run run;
    begin(&run);
    for (int i = 0; i < 9; i++)
        (void)add_short(&run, names, 2, i * 100000, 0);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.sequences")), 0, "nine times is not often");
    end(&run);

    begin(&run);
    for (int i = 0; i < 50; i++)
        kernel(&run, "7", i % 2 ? ADD : MUL, i * 20000, 10000);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.sequences")), 0, "kernels of 10 us are not short");
    end(&run);

    begin(&run);
    for (int i = 0; i < 50; i++)
        kernel(&run, "7", i % 2 ? ADD : MUL, i * 12000, 2000);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.sequences")), 0, "10 us apart is too far");
    end(&run);

    begin(&run);
    for (int i = 0; i < 50; i++)
        kernel(&run, i % 2 ? "7" : "8", i % 2 ? ADD : MUL, i * 2000, 2000);
    analyze(&run);
    is_u64(ap_value_count(at(&run, "gpu.sequences")), 2, "on each stream its own: the same kernel over and over");
    end(&run);
}

/* ---- memory ---- */

static void build_some_of_everything(struct run *run)
{
    static const char *const names[] = { ADD, MUL, SUM };
    int64_t at_ns = 0;
    begin(run);
    for (int i = 0; i < 12; i++) {
        at_ns = add_short(run, names, 3, at_ns, 1000);
        kernel(run, "8", "gemm", at_ns, 50000);
        grid(run, 2, 0.5f);
        copy(run, "Memcpy HtoD (Pageable -> Device)", at_ns, 1000, 65536);
        at_ns += 51000;
    }
    device_row(run, 1, "7", NCCL, KERNEL, 0, 10);
}

static void refused_memory_is_reported_and_none_is_lost(void)
{
    refuse_each_request(build_some_of_everything, 0);
}

int main(void)
{
    refused_memory_is_reported_and_none_is_lost();
    every_part_of_a_device_is_a_union();
    devices_that_take_turns_are_told();
    kernels_that_become_slower_are_told();
    devices_are_told_by_number_and_kept_apart();
    rows_without_length_or_place_make_no_time();
    what_was_launched_before_recording_is_told_apart();
    kernels_add_up_by_name_family_and_subfamily();
    a_name_that_tells_nothing_leaves_tensor_cores_unknown();
    a_kernel_that_tells_its_collective_is_communication();
    a_multiplication_within_a_convolution_is_told();
    kernels_that_unpack_weights_are_told_by_name();
    elementwise_kernels_go_into_what_stands_beside_them();
    kernels_of_one_operator_are_no_chain();
    lists_keep_to_their_length();
    scans_of_few_columns_are_told();
    blocks_of_a_warp_are_told();
    copies_within_convolutions_change_the_layout();
    grids_are_weighted_by_time();
    fill_equals_a_slow_count();
    copies_are_told_by_kind();
    bytes_that_no_copy_tells_are_not_zero();
    memory_that_no_copy_tells_may_be_pageable();
    exposed_copies_equal_a_slow_count();
    repeated_sequences_are_found_once();
    a_loop_is_told_by_its_body();
    what_is_rare_long_or_far_apart_is_no_sequence();
    return done();
}
