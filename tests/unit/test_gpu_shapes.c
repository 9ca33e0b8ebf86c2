/* SPDX-License-Identifier: MIT
 * Attention in pieces and matrices that are not aligned: traces typed by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shape_text.h"

#define RUN_MORE    \
    int64_t now_us; \
    uint32_t correlation;
#include "typed_trace.h"

#define GEMM "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"
#define GEMM_ALIGN1 "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1"
#define GEMM_ALIGN16 "cutlass_80_tensorop_i8_gemm_s8_align16"
#define SOFTMAX "void (anonymous namespace)::softmax_warp_forward<float, 10, false, false>"
#define NLL_LOSS "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
#define LOG_SOFTMAX "void at::native::cunn_SoftMaxForward<8, float, LogSoftMaxForwardEpilogue>"
#define MUL "void at::native::vectorized_elementwise_kernel<4, Mul>"
#define BF16 "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]"

/* An operator of 5 us, its call and the kernel behind it; all follow each other. */
static void run_op(struct run *run, const char *op, const char *dims, const char *types, const char *stream,
                   const char *kernel, int64_t dur_us)
{
    struct ap_op_told detail = { .sequence = 0 };
    row(run, "1", op, OPERATOR, run->now_us, 5);
    if (dims &&
        (ap_trace_join_signature(run->trace, ap_text_of(dims), ap_text_of(types), &detail.signature, NULL) != AP_OK ||
         ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK))
        abort();
    run->correlation++;
    row(run, "1", "cudaLaunchKernel", RUNTIME, run->now_us + 1, 2);
    if (ap_trace_add_call_detail(run->trace, (struct ap_call_detail){ run->correlation, 0 }, NULL) != AP_OK)
        abort();
    row(run, stream, kernel, KERNEL, run->now_us + 10, dur_us);
    if (ap_trace_add_work_detail(run->trace, (struct ap_work_detail){ .correlation = run->correlation }, NULL) != AP_OK)
        abort();
    run->now_us += 10 + dur_us;
}

static void kernel(struct run *run, const char *kernel, int64_t dur_us)
{
    run_op(run, "aten::op", NULL, NULL, "7", kernel, dur_us);
}

static void copy(struct run *run, const char *name, int64_t dur_us)
{
    call(run, "1", "cudaMemcpyAsync", run->now_us + 1, 2, ++run->correlation);
    row(run, "7", name, MEMCPY, run->now_us + 10, dur_us);
    if (ap_trace_add_work_detail(run->trace, (struct ap_work_detail){ .correlation = run->correlation }, NULL) != AP_OK)
        abort();
    run->now_us += 10 + dur_us;
}

static const struct ap_value *top(const struct run *run)
{
    return ap_value_first(ap_value_at(&run->model.root, "gpu.unaligned_gemm.top"));
}

static bool member_is(const struct ap_value *value, const char *key, const char *text)
{
    return ap_text_is(ap_value_text(ap_value_member(value, key)), text);
}

/* ---- attention ---- */

static void attention_is_what_stands_between_two_products(void)
{
    struct run run;
    begin(&run);
    kernel(&run, MUL, 1000);
    kernel(&run, GEMM, 100);
    kernel(&run, MUL, 20);
    kernel(&run, SOFTMAX, 30);
    kernel(&run, GEMM, 200);
    kernel(&run, MUL, 7);
    kernel(&run, GEMM, 300);
    analyze(&run);
    is_int(number(&run, "gpu.unfused_attention.count"), 1, "once");
    is_int(number(&run, "gpu.unfused_attention.scores_us"), 50000, "what stands between");
    is_int(number(&run, "gpu.unfused_attention.gemm_us"), 300000, "the products on both sides");
    is_int(number(&run, "gpu.unfused_attention.total_dur_us"), 350000, "all of it");
    struct ap_stretches *time = ap_model_time_of(&run.model, "gpu.unfused_attention.total_dur_us");
    is_int(time ? ap_stretches_length_ns(time) : 0, 380000, "where it lies: with the launches between");
    end(&run);
}

static void a_copy_between_two_products_goes_with_them(void)
{
    for (int to_host = 0; to_host < 2; to_host++) {
        struct run run;
        begin(&run);
        kernel(&run, GEMM, 100);
        copy(&run, to_host ? "Memcpy DtoH (Device -> Pinned)" : "Memcpy DtoD (Device -> Device)", 40);
        kernel(&run, SOFTMAX, 30);
        kernel(&run, GEMM, 200);
        analyze(&run);
        is_int(number(&run, "gpu.unfused_attention.scores_us"), to_host ? 0 : 70000,
               to_host ? "the model was asked for it" : "scores that a mask must not change are copied first");
        end(&run);
    }
}

static void a_product_counts_once(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 2; i++) {
        kernel(&run, GEMM, 100);
        kernel(&run, SOFTMAX, 10);
    }
    kernel(&run, GEMM, 100);
    analyze(&run);
    is_int(number(&run, "gpu.unfused_attention.count"), 2, "twice in a row");
    is_int(number(&run, "gpu.unfused_attention.gemm_us"), 300000, "three products");
    end(&run);
}

static void other_softmaxes_are_no_attention(void)
{
    struct run run;
    begin(&run);
    kernel(&run, SOFTMAX, 10); /* nothing before it */
    kernel(&run, GEMM, 100);
    kernel(&run, LOG_SOFTMAX, 10);
    kernel(&run, GEMM, 100);
    run_op(&run, "aten::_log_softmax_backward_data", NULL, NULL, "7", SOFTMAX, 10);
    kernel(&run, GEMM, 100);
    for (int i = 0; i < 8; i++)
        kernel(&run, MUL, 1);
    kernel(&run, SOFTMAX, 10); /* far from its neighbors */
    kernel(&run, GEMM, 100);
    kernel(&run, SOFTMAX, 10);
    kernel(&run, "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>", 5); /* of experts, or a token */
    kernel(&run, GEMM, 100);
    run_op(&run, "aten::op", NULL, NULL, "8", SOFTMAX, 10); /* on another stream */
    kernel(&run, GEMM, 100);
    kernel(&run, SOFTMAX, 10); /* of a loss */
    kernel(&run, NLL_LOSS, 5);
    kernel(&run, GEMM, 100);
    kernel(&run, SOFTMAX, 10); /* nothing behind it */
    analyze(&run);
    is_int(number(&run, "gpu.unfused_attention.count"), 0, "none");
    is_int(number(&run, "gpu.unfused_attention.total_dur_us"), 0, "no time");
    end(&run);
}

/* Scores are as wide as the second product is deep. A gate is as wide as there are experts, and their products are not. */
static void a_product_goes_over_what_the_softmax_is_of(void)
{
    static const struct {
        const char *softmax, *product;
        int64_t count;
        const char *what;
    } cases[] = {
        { "[[4, 16, 512, 640], [], []]", "[[64, 512, 640], [64, 640, 128]]", 1, "scores by values" },
        { "[[4, 16, 512, 640], [], []]", "[[64, 640, 512], [64, 512, 128]]", 1, "their gradient by queries" },
        { "[[512, 640], [], []]", "[[512, 640], [640, 128]]", 1, "of one head" },
        { "[[4096, 64], [], []]", "[[4096, 2048], [2048, 8192]]", 0, "a gate and the product of an expert" },
        { "[[4096, 64], [], []]", "[[64, 128, 2048], [64, 2048, 8192]]", 0, "and those of all experts" },
        { "[[4096, 64], [], []]", "[]", 1, "sizes that are not told say nothing" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct run run;
        begin(&run);
        kernel(&run, GEMM, 100);
        run_op(&run, "aten::_softmax", cases[i].softmax, "[]", "7", SOFTMAX, 10);
        run_op(&run, "aten::bmm", cases[i].product, "[]", "7", GEMM, 100);
        analyze(&run);
        is_int(number(&run, "gpu.unfused_attention.count"), cases[i].count, cases[i].what);
        end(&run);
    }
}

static void a_result_that_goes_to_the_host_ends_a_request(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 2; i++) { /* scores of the classes, and the next request */
        kernel(&run, GEMM, 100);
        kernel(&run, SOFTMAX, 10);
        row(&run, "7", "Memcpy DtoH (Device -> Pageable)", MEMCPY, run.now_us, 2);
        if (ap_trace_add_work_detail(run.trace, (struct ap_work_detail){ .as.bytes = 4096 }, NULL) != AP_OK)
            abort();
        run.now_us += 5;
    }
    kernel(&run, GEMM, 100);
    analyze(&run);
    is_int(number(&run, "gpu.unfused_attention.count"), 0, "none");
    end(&run);
}

/* ---- alignment ---- */

static bool unaligned(const char *op, const char *dims, const char *types, bool inner)
{
    return ap_shape_is_unaligned(ap_text_of(op), ap_text_of(dims), ap_text_of(types), inner);
}

static void sizes_tell_alignment(void)
{
    static const char fp8[] = "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\"]";
    ok(!unaligned("aten::mm", "[[888, 2880], [2880, 640]]", BF16, true), "multiples of 8");
    ok(unaligned("aten::mm", "[[888, 2881], [2881, 640]]", BF16, true), "the inner size");
    ok(!unaligned("aten::mm", "[[888, 2881], [2881, 640]]", BF16, false), "which is not asked for in backward");
    ok(unaligned("aten::mm", "[[888, 2880], [2880, 50257]]", BF16, false), "the columns");
    ok(!unaligned("aten::mm", "[[887, 2880], [2880, 640]]", BF16, true), "rows do not matter");
    ok(unaligned("aten::bmm", "[[96, 3137, 64], [96, 64, 3137]]", BF16, true), "of batches too");
    ok(unaligned("aten::addmm", "[[10], [5, 128], [128, 10], [], []]", "[\"c10::Half\", \"c10::Half\"]", true),
       "behind the bias");
    ok(!unaligned("aten::addmm", "[[7], [5, 128], [128, 16], [], []]", "[\"c10::Half\", \"c10::Half\"]", true),
       "not the bias");
    ok(unaligned("aten::_scaled_mm", "[[32, 72], [72, 64]]", fp8, true), "of 8 bits: 16 elements");
    ok(!unaligned("aten::mm", "[[5, 127], [127, 127]]", "[\"float\", \"float\"]", true), "32 bits: nothing is said");
    ok(!unaligned("aten::mul", "[[5, 127], [127, 127]]", BF16, true), "no product");
    ok(unaligned("aten::mm", "[\n [\n  8,\n  127\n ],\n [\n  127,\n  8\n ]\n]", BF16, true), "one number a line");
}

static void what_is_no_list_of_sizes_says_nothing(void)
{
    static const char *const odd[] = { "",
                                       "[",
                                       "[]",
                                       "[[]]",
                                       "[[], []]",
                                       "[[8, 127]",
                                       "]]]]",
                                       "[[-3], [[[3]]]]",
                                       "null",
                                       "[[8, 99999999999999999999], [3, 99999999999999999999]]",
                                       "[\"a\", \"b\"]",
                                       ",,,," };
    int told = 0;
    for (size_t i = 0; i < AP_COUNT_OF(odd); i++)
        told += unaligned("aten::mm", odd[i], BF16, true);
    is_int(told, 0, "nothing is said of odd texts");
    ok(!unaligned("aten::mm", "[[1, 1], [1, 1]]", "", true), "no types");
    ok(!unaligned("aten::mm", "[[1, 1], [1, 1]]", "[\"c10::Half", true), "a type that does not end");
}

static void unaligned_products_are_summed_and_named(void)
{
    struct run run;
    begin(&run);
    run_op(&run, "aten::mm", "[[8, 127], [127, 8]]", BF16, "7", GEMM, 10);
    run_op(&run, "aten::mm", "[[8, 127], [127, 8]]", BF16, "7", GEMM, 20);
    run_op(&run, "aten::mm", "[[8, 128], [128, 8]]", BF16, "7", GEMM, 1000);
    run_op(&run, "aten::mm", "[[8, 128], [128, 8]]", BF16, "7", GEMM_ALIGN16, 1000);
    run_op(&run, "aten::bmm", "[[2, 8, 127], [2, 127, 8]]", BF16, "7", GEMM_ALIGN1, 50);
    run_op(&run, "aten::op", NULL, NULL, "7", GEMM_ALIGN1, 5);
    run_op(&run, "aten::mul", "[[8, 127], [127, 8]]", BF16, "7", MUL, 1000);
    analyze(&run);
    is_int(number(&run, "gpu.unaligned_gemm.count"), 4, "kernels");
    is_int(number(&run, "gpu.unaligned_gemm.total_dur_us"), 85000, "their time");
    struct ap_stretches *time = ap_model_time_of(&run.model, "gpu.unaligned_gemm.total_dur_us");
    is_int(time ? ap_stretches_length_ns(time) : 0, 85000, "where it lies");
    const struct ap_value *first = top(&run), *second = first ? first->next : NULL, *third = second ? second->next : NULL;
    ok(third && !third->next, "three kinds");
    ok(member_is(first, "operator", "aten::bmm") && member_is(first, "told_by", "kernel and shapes"), "the longest first");
    ok(member_is(second, "dims", "[[8, 127], [127, 8]]") && member_is(second, "told_by", "shapes"), "by shapes alone");
    is_int(ap_value_integer(ap_value_member(second, "count"), -1), 2, "calls alike are one");
    is_int(ap_value_integer(ap_value_member(ap_value_member(second, "longest"), "dur_us"), -1), 20000,
           "the longest of them");
    ok(member_is(third, "kernel", GEMM_ALIGN1) && member_is(third, "told_by", "kernel"), "by the kernel's name alone");
    end(&run);
}

static void backward_is_asked_for_columns_only(void)
{
    struct run run;
    struct ap_op_told detail = { .sequence = 5, .forward_thread = 1 };
    begin(&run);
    row(&run, "1", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, 0, 100);
    if (ap_trace_add_op_detail(run.trace, detail, NULL) != AP_OK)
        abort();
    run.now_us = 10;
    run_op(&run, "aten::mm", "[[128, 127], [127, 64]]", BF16, "7", GEMM, 10);
    analyze(&run);
    is_int(number(&run, "gpu.unaligned_gemm.count"), 0, "a batch of 127 is no fault in backward");
    end(&run);
}

/* ---- operations ---- */

static void operations_are_counted_by_shapes(void)
{
    struct run run;
    begin(&run);
    run_op(&run, "aten::mm", "[[8, 127], [127, 16]]", BF16, "7", GEMM, 10);
    run_op(&run, "aten::mm", "[[8, 127], [127, 16]]", BF16, "7", GEMM, 30);
    run_op(&run, "aten::mm", NULL, NULL, "7", GEMM, 1000);
    analyze(&run);
    is_int(number(&run, "compute.calls"), 2, "calls whose shapes are known");
    is_int(number(&run, "compute.flops"), 2 * 2 * 8 * 127 * 16, "two operations for each product");
    is_int(number(&run, "compute.bytes"), 2 * 2 * (8 * 127 + 127 * 16 + 8 * 16), "each matrix once, of 16 bits");
    const struct ap_value *group = find(&run, "compute.operators", "operator", "aten::mm");
    is_int(ap_value_integer(ap_value_member(group, "count"), -1), 2, "calls alike are one row");
    end(&run);
}

/* Every second layer looks at a window only: of its shapes two kinds of calls are made. */
static void attention_of_two_kinds_has_no_rate(void)
{
    static const char op[] = "aten::_scaled_dot_product_cudnn_attention";
    static const char dims[] = "[[16,16,559,64],[16,16,559,64],[16,16,559,64]]";
    static const int64_t alike_us[] = { 130, 150, 170, 190, 210, 230, 250, 270 }; /* a clock that goes up and down */
    for (int apart = 0; apart < 2; apart++) {
        struct run run;
        begin(&run);
        for (int i = 0; i < 8; i++)
            run_op(&run, op, dims, BF16, "7", "kernel_unified_attention_2d", apart ? 130 + i % 2 * 170 : alike_us[i]);
        analyze(&run);
        const struct ap_value *group = find(&run, "compute.operators", "operator", op);
        is_int(ap_value_member(group, "tflop_s")->type == AP_VALUE_NULL, apart, "what it computes is known of one kind");
        is_int(number(&run, "compute.coverage.known_us"), apart ? 0 : 8 * 200 * 1000, "only that counts as known");
        end(&run);
    }
}

/* An index is made positive, and sorted, by operators within the one that adds up: its own kernel comes behind them. */
static void what_works_out_places_leaves_the_work_to_the_one_around_it(void)
{
    struct run run;
    struct ap_op_told put = { .sequence = 0 };
    begin(&run);
    row(&run, "1", "aten::_index_put_impl_", OPERATOR, 0, 30);
    if (ap_trace_join_signature(run.trace, AP_TEXT("[[8, 128], [], [4096, 128], [], []]"),
                                AP_TEXT("[\"float\", \"\", \"float\", \"Scalar\", \"Scalar\"]"), &put.signature,
                                NULL) != AP_OK ||
        ap_trace_add_op_detail(run.trace, put, NULL) != AP_OK)
        abort();
    run.now_us = 5;
    run_op(&run, "aten::remainder", "[[4096], []]", "[\"long int\", \"Scalar\"]", "7", MUL, 3);
    row(&run, "1", "cudaLaunchKernel", RUNTIME, 25, 2);
    if (ap_trace_add_call_detail(run.trace, (struct ap_call_detail){ 99, 0 }, NULL) != AP_OK)
        abort();
    row(&run, "7", "void (anonymous namespace)::indexing_backward_kernel<float, 4>", KERNEL, 40, 500);
    if (ap_trace_add_work_detail(run.trace, (struct ap_work_detail){ .correlation = 99 }, NULL) != AP_OK)
        abort();
    analyze(&run);
    is_int(number(&run, "compute.calls"), 2, "both count");
    is_int(number(&run, "compute.coverage.known_us"), 503 * 1000, "each with its own kernel");
    end(&run);
}

/* ---- memory ---- */

static void products_that_are_not_aligned(struct run *run)
{
    begin(run);
    for (int i = 0; i < 3; i++)
        run_op(run, "aten::mm", i ? "[[8, 127], [127, 8]]" : "[[8, 125], [125, 8]]", BF16, "7", GEMM, 10);
}

static void refused_memory_is_reported_and_none_is_lost(void)
{
    refuse_each_request(products_that_are_not_aligned, 0);
}

int main(void)
{
    attention_is_what_stands_between_two_products();
    a_copy_between_two_products_goes_with_them();
    a_product_counts_once();
    other_softmaxes_are_no_attention();
    a_product_goes_over_what_the_softmax_is_of();
    a_result_that_goes_to_the_host_ends_a_request();
    sizes_tell_alignment();
    what_is_no_list_of_sizes_says_nothing();
    unaligned_products_are_summed_and_named();
    backward_is_asked_for_columns_only();
    operations_are_counted_by_shapes();
    attention_of_two_kinds_has_no_rate();
    what_works_out_places_leaves_the_work_to_the_one_around_it();
    refused_memory_is_reported_and_none_is_lost();
    return done();
}
