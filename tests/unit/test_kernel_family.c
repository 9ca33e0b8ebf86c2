/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "kernel_family.h"
#include "kernel_name.h"
#include "tap.h"
#include "word_search.h"

/* ---- one name ---- */

static const char *tried[1000];
static size_t tried_count;

static unsigned told_of(const char *name, enum ap_event_kind kind)
{
    if (tried_count < AP_COUNT_OF(tried))
        tried[tried_count++] = name;
    struct ap_gate gate;
    struct ap_trace *trace;
    struct ap_kernel_families families;
    struct ap_str text;
    uint32_t track;
    ap_gate_init(&gate, 0);
    if (ap_trace_new(&gate, &trace, NULL) != AP_OK ||
        ap_strpool_intern(&trace->strings, name, strlen(name), &text, NULL) != AP_OK ||
        ap_trace_track(trace, AP_TEXT("0"), false, AP_TEXT("7"), false, &track, NULL) != AP_OK ||
        ap_trace_add_row(trace, 0, 1, text, track, (uint8_t)(kind | AP_ROW_X), NULL) != AP_OK ||
        ap_kernel_families_init(&families, trace, &gate, NULL) != AP_OK)
        abort();
    unsigned told = families.of_name[text.id];
    ap_kernel_families_release(&families);
    ap_trace_free(trace);
    if (gate.used_bytes)
        abort();
    return told;
}

static const char *subfamily_of(const char *name)
{
    return ap_kernel_subfamily_name(told_of(name, AP_KIND_kernel) & AP_KERNEL_SUBFAMILY_MASK);
}

static bool is_communication(const char *name)
{
    return told_of(name, AP_KIND_kernel) & AP_KERNEL_COMMUNICATION;
}

static bool uses_tensor_cores(const char *name)
{
    return told_of(name, AP_KIND_kernel) & AP_KERNEL_TENSOR_CORE;
}

/* ---- claims ---- */

static void kernels_of_all_generations_have_their_subfamily(void)
{
    static const struct {
        const char *subfamily, *name;
    } cases[] = {
        { "collective", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)" },
        { "collective", "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)" },
        { "collective", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)" },
        { "collective", "void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>(vllm::RankData*)" },
        { "collective", "void multimem_all_reduce_kernel<c10::BFloat16, 16>(void*)" },
        { "collective", "void dpsk::ep::internode::dispatch<false, 8>(int4*)" },
        { "collective", "void deep_ep::intranode::combine<__nv_bfloat16, 8>(int4*)" },
        { "collective", "nvshmemi_transfer_rma_proxy" },
        { "collective", "void (anonymous namespace)::two_shot_all_reduce_kernel<float, 16>(void*)" },
        { "triton pointwise", "triton_poi_fused_add_mul_native_layer_norm_5" },
        { "triton pointwise", "triton_poi_fused_all_reduce_wait_tensor_0" },
        { "triton reduction", "triton_red_fused__softmax_2" },
        { "triton reduction", "triton_per_fused_convolution_mean_1" },
        { "triton template", "triton_tem_fused_mm_0" },
        { "triton", "triton__0d1d2d3de" },
        { "kv cache", "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(...)" },
        { "attention", "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >(Flash_fwd_params)" },
        { "attention", "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<X> > >(Params)" },
        { "attention", "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausal" },
        { "attention", "attn_fwd.kd" },
        { "attention", "kernel_unified_attention_2d" },
        { "attention", "_ZN5aiter42fmha_fwd_hd128_bf16_causal_rtne_groupE" },
        { "rotary", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)" },
        { "norm", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1>(cudnnTensorStruct)" },
        { "norm", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)" },
        { "norm", "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)" },
        { "norm", "MIOpenBatchNormFwdTrainSpatial.kd" },
        { "softmax", "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false>(float*)" },
        { "convolution layout", "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>(...)" },
        { "convolution layout", "batched_transpose_16x32_half" },
        { "convolution side work", "SubTensorOpWithCastTensor1d" },
        { "convolution side work", "void im2col_kernel<float>(long, float const*)" },
        { "convolution", "void fft2d_r2c_32x32<float, false, 0u, false>(float2*, float const*, int)" },
        { "convolution", "void fft1d_c2r_32<float, float, float, true, false, false>(float*, float2 const*)" },
        { "other",
          "fft_rtc_fwd_len4096_factors_16_16_16_wgs_256_tpt_256_sp_op_CI_CI_unitstride_sbrr_R2C_dirReg" }, /* rocFFT */
        { "naive convolution", "naive_conv_ab_nonpacked_fwd_nchw_half_double_half.kd" },
        { "convolution", "volta_scudnn_128x64_relu_interior_nn_v1" },
        { "convolution", "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true, false, true>(int)" },
        { "convolution", "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16" },
        { "convolution", "cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128>" },
        { "convolution", "igemm_fwd_gtcx3_nhwc_fp16_bx0_ex0_bt256x128x32" },
        { "moe", "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu" },
        { "moe routing", "void moe::dev::routing::routingRenormalize::routingIndicesClusterKernel<X>(X)" },
        { "moe routing", "void moe::dev::routing::routingIndicesOffsetsKernel<X>(X)" },
        { "moe routing", "void vllm::moe::topkGatingSoftmax<8, 256, 4, 16, int>(float const*)" },
        { "optimizer", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::X>(int)" },
        { "copy and fill", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
                           "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::CopyFunctor<int, long, 2, "
                           "1, 1>, at::native::Copy<int, long> >(X)" },
        { "embedding", "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 4ul>(X)" },
        { "gemm", "volta_sgemm_128x64_tn" },
        { "gemm", "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn" },
        { "gemm", "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNN" },
        { "gemm", "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>(X)" },
        { "gemm", "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int> >(X)" },
        { "gemm", "Cijk_Ailk_Bljk_SB_MT128x64x8_SE_K1" },
        { "gemm", "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float>(X)" },
        { "gemm", "linear_gelu_kernel" },
        { "index backward", "void (anonymous namespace)::indexing_backward_kernel_small_stride<c10::BFloat16>(X)" },
        { "scan of columns", "void at::native::tensor_kernel_scan_outer_dim<long, unsigned int, std::plus<long> >(X)" },
        { "gemm", "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(X)" },
        { "quantize", "void vllm::scaled_fp8_quant_kernel<float>(X)" },
        { "activation and gating", "void vllm::act_and_mul_kernel<c10::BFloat16>(X)" },
        { "pooling and resize", "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int)" },
        { "pooling and resize", "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<float>(float)" },
        { "sampling and top-k", "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(X)" },
        { "sort, scan and unique", "void at_cuda_detail::cub::DeviceRadixSortSingleTileKernel<X>(X)" },
        { "concatenation", "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>(X)" },
        { "index, gather and scatter",
          "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<X> >(X)" },
        { "copy and fill", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, X>(int)" },
        { "copy and fill",
          "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>" },
        { "loss", "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float>(X)" },
        { "reduction", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, X> >(X)" },
        { "elementwise", "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, X>(int)" },
        { "elementwise", "saxpy(int, float, float*, float*)" },
        { "elementwise", "stream_triad_kernel(float*, float const*, float const*, long)" },
        { "elementwise",
          "void at::native::vectorized_elementwise_kernel<4, at::native::gelu_kernel(X)::{lambda()#1}, X>(int)" },
        { "elementwise", "std::enable_if<!(false), void>::type at::native::modern::elementwise_kernel<4, X>(int)" },
        { "other", "at::cuda::(anonymous namespace)::spin_kernel(long)" },
        { "other", "Kernel" },
        { "other", "" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++)
        is_str(subfamily_of(cases[i].name), cases[i].subfamily, cases[i].name);
}

static void words_in_arguments_do_not_mislead(void)
{
    is_str(
        subfamily_of("void at::native::elementwise_kernel<128, 2, at::native::BinaryFunctor<f, lambda_add_reduce> >(int)"),
        "elementwise", "lambda is no lamb, reduce in an argument is no reduction");
    is_str(subfamily_of("void at::native::elementwise_kernel<4, at::native::softmax_functor>(int)"), "elementwise",
           "an argument is not the head");
    is_str(subfamily_of("MY_LAYER_NORM_Kernel"), "norm", "letters count in any case");
    is_str(subfamily_of("matmul_like"), "gemm", "at the start");
    is_str(subfamily_of("a_tritonlike_triton_poi_x"), "other", "a word for the start counts there only");
    is_str(subfamily_of("^triton_poi_x"), "other", "a caret in a name is no start");
    is_str(subfamily_of("void (anonymous namespace)::"), "other", "nothing is left");
    is_str(subfamily_of("std::enable_if<true"), "other", "no result type ends there");
}

static bool is_eligible(const char *name)
{
    return told_of(name, AP_KIND_kernel) & AP_KERNEL_ELIGIBLE;
}

static void vectors_are_no_work_for_tensor_cores(void)
{
    ok(is_eligible("ampere_sgemm_128x64_tn") && !uses_tensor_cores("ampere_sgemm_128x64_tn"),
       "a product of matrices that could use them");
    ok(is_eligible("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64"), "and one that does");
    ok(!is_eligible("void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false>(X)"),
       "matrix times vector");
    ok(!is_eligible("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>(X)"), "likewise");
    ok(!is_eligible("void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float>(X)"),
       "sums of partial products");
    ok(!is_eligible("nchwToNhwcKernel"), "a change of layout");
    ok(!is_eligible("void at::native::vectorized_elementwise_kernel<4>(X)"), "anything else");
}

static void communication_is_told_by_a_list_of_names(void)
{
    ok(is_communication("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"), "NCCL");
    ok(is_communication("void wrapper<NCCLFunctor>(int)"), "also in an argument, in any case");
    ok(is_communication("hcclAllReduce"), "HCCL");
    ok(is_communication("void dpsk::ep::intranode::notify_dispatch<8>(int const*)"), "expert parallel notify");
    ok(is_communication("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<X>(X)"),
       "a fused all-reduce");
    ok(!is_communication("void other<allreduce_functor>(int)"), "a word for the head counts there only");
    ok(!is_communication("hipLaunchedKernel"), "a name that begins with hip is not communication");
    ok(!is_communication("triton_red_fused_all_gather_into_tensor_3"),
       "a compiled kernel only has its operators in its name");
    for (unsigned subfamily = 1; subfamily <= ap_kernel_subfamily_count(); subfamily++)
        ok((strcmp(ap_kernel_subfamily_name(subfamily), "collective") == 0) ==
               (ap_kernel_family_of(subfamily) == AP_KERNEL_FAMILY_communication),
           ap_kernel_subfamily_name(subfamily)); /* the one subfamily of communication is collective */
}

static void tensor_cores_are_told_by_name_where_they_are_of_use(void)
{
    ok(uses_tensor_cores("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn"), "V100");
    ok(uses_tensor_cores("ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn"), "A100");
    ok(uses_tensor_cores("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64"), "H100");
    ok(uses_tensor_cores("nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNT"), "B200");
    ok(uses_tensor_cores("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_MI32x32x8x1_SN"), "MI300X");
    ok(uses_tensor_cores("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<X>(X)"), "flash attention");
    ok(!uses_tensor_cores("volta_sgemm_128x64_tn"), "plain fp32");
    ok(!uses_tensor_cores("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_aligna4"),
       "xmma without tensor cores");
    ok(!uses_tensor_cores("void cutlass::Kernel<cutlass_80_simt_sgemm_128x256_8x4_tn_align1>(X)"), "simt");
    ok(!uses_tensor_cores("void implicit_convolve_sgemm<__half, bf16>(X)"), "an old convolution");
    ok(!uses_tensor_cores("triton_poi_fused_bf16_0"), "a family without matrix work");
    ok(told_of("volta_sgemm_128x64_tn", AP_KIND_kernel) & AP_KERNEL_ELIGIBLE, "plain fp32 could have");
}

static void softmax_is_no_normalisation(void)
{
    static const struct {
        const char *name, *family;
    } cases[] = {
        { "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false>(float*)", "softmax" },
        { "void at::native::cunn_SoftMaxForward<8, float>(float*)", "softmax" },
        { "void at::native::vectorized_layer_norm_kernel<float>(int)", "normalisation" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++)
        is_str(ap_kernel_family_name(ap_kernel_family_of(told_of(cases[i].name, AP_KIND_kernel) & AP_KERNEL_SUBFAMILY_MASK)),
               cases[i].family, cases[i].name);
}

static void names_of_other_rows_are_not_looked_at(void)
{
    is_int(told_of("ncclDevKernel_AllReduce", AP_KIND_operator), 0, "an operator with a kernel's name");
    ok(told_of("x", AP_KIND_kernel) != 0, "a kernel without family was still looked at");
}

static void names_tell_work_that_leaves_zeros_out(void)
{
    ok(told_of("void cusparse::csrmm_alg2_kernel<X>(X)", AP_KIND_kernel) & AP_KERNEL_SPARSE, "cuSPARSE");
    ok(told_of("sm90_xmma_sparse_gemm_f16f16_f16f32", AP_KIND_kernel) & AP_KERNEL_SPARSE, "two of four");
    ok(!(told_of("sm90_xmma_gemm_f16f16_f16f32", AP_KIND_kernel) & AP_KERNEL_SPARSE), "all of it");
}

static void families_and_subfamilies_have_names(void)
{
    unsigned last = ap_kernel_subfamily_count();
    is_str(ap_kernel_subfamily_name(last), "other", "the last subfamily is for what is not known");
    ok(last <= AP_KERNEL_SUBFAMILY_MASK, "all fit into the mask");
    for (int family = 0; family < AP_KERNEL_FAMILY_COUNT_; family++)
        ok(ap_kernel_family_name((enum ap_kernel_family)family) != NULL, "each family");
}

/* ---- the search ---- */

static uint16_t found(const struct ap_word_search *search, const char *text, size_t head_bytes)
{
    struct ap_word_cursor cursor = ap_word_cursor_start(search);
    for (size_t i = 0; text[i]; i++) {
        cursor.in_head = i < head_bytes;
        ap_word_cursor_read(&cursor, text[i]);
    }
    return cursor.first;
}

static void the_first_rule_with_a_word_is_found(void)
{
    static const struct ap_word_rule rules[] = { { "abcd|^x", false }, { "bc", false }, { "c|abd", true } };
    struct ap_gate gate;
    struct ap_word_search search;
    ap_gate_init(&gate, 0);
    if (ap_word_search_init(&search, &gate, rules, AP_COUNT_OF(rules), NULL) != AP_OK)
        abort();
    is_int(found(&search, "zabcdz", 6), 0, "a word around another one");
    is_int(found(&search, "zabcez", 6), 1, "a word within the start of another one");
    is_int(found(&search, "ABD", 3), 2, "in any case");
    is_int(found(&search, "ab", 2), AP_WORD_NONE, "a part is not enough");
    is_int(found(&search, "x", 1), 0, "at the start");
    is_int(found(&search, "ax", 2), AP_WORD_NONE, "and nowhere else");
    is_int(found(&search, "^x", 2), AP_WORD_NONE, "a caret is no start");
    is_int(found(&search, "zc", 1), AP_WORD_NONE, "a word for the head, behind it");
    is_int(found(&search, "zbc", 1), 1, "a word for the whole, behind it");
    is_int(found(&search, "", 0), AP_WORD_NONE, "nothing");
    is_int(found(&search, "\xff\x01|ab", 3), AP_WORD_NONE, "bytes of no word");
    ap_word_search_release(&search);
    is_u64(gate.used_bytes, 0, "all memory is given back");
}

/* Words of the table that are older than this claim and in none of the names above. To be lowered, never raised. */
#define UNTRIED_WORDS 218

static bool is_tried(const char *word)
{
    for (size_t i = 0; i < tried_count; i++)
        if (ap_text_contains_folded(ap_text_of(tried[i]), word))
            return true;
    return false;
}

static size_t untried_words(const char *words)
{
    size_t count = 0;
    while (*words) {
        char word[64];
        size_t bytes = strcspn(words, "|");
        (void)snprintf(word, sizeof(word), "%.*s", (int)bytes, words);
        count += !is_tried(word + (*word == '^'));
        words += bytes + (words[bytes] == '|');
    }
    return count;
}

static void a_new_word_has_the_name_of_a_kernel(void)
{
    static const char *const words[] = {
#define AP_KERNEL_SUBFAMILY(subfamily, family, in, words) words,
#include "kernel_family.def"
    };
    size_t count = 0;
    for (size_t i = 0; i < AP_COUNT_OF(words); i++)
        count += untried_words(words[i]);
    is_u64(count, UNTRIED_WORDS, "each new word of kernel_family.def stands in a name above");
}

static void kernels_have_short_names(void)
{
    static const char *const names[][2] = {
        { "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int)", "dgrad_engine" },
        { "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
          "multimem_all_reduce_kernel" },
        { "std::enable_if<true, void>::type internal::gemvx::kernel<int, 7>(int)", "kernel" },
        { "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllGather_RING_LL" },
        { "void <unnamed>::softmax_warp_forward", "softmax_warp_forward" },
        { "aten::add_", "aten::add_" },
        { "ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn" },
        { "train.py(33): forward", "train.py(33): forward" },
        { "sgd.py(322)", "sgd.py(322)" },
        { "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
          "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" },
        { "Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)" },
        { "/srv/train/model.py:48 forward", "/srv/train/model.py:48 forward" },
        { "void ", "void " },
        { "", "" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        struct ap_text got = ap_kernel_short_name(ap_text_of(names[i][0]));
        ok(ap_text_is(got, names[i][1]), names[i][0]);
    }
}

static void refused_memory_is_reported(void)
{
    static const struct ap_word_rule rules[] = { { "a", false } };
    for (int64_t after = 0; after < 2; after++) {
        struct ap_gate gate;
        struct ap_word_search search;
        struct ap_error error = { .status = AP_OK };
        ap_gate_init(&gate, 0);
        gate.fail_after = after;
        is_int(ap_word_search_init(&search, &gate, rules, 1, &error), AP_ERROR_MEMORY, "each request counts");
        ap_word_search_release(&search);
        is_u64(gate.used_bytes, 0, "and all is given back");
    }
}

int main(void)
{
    kernels_of_all_generations_have_their_subfamily();
    words_in_arguments_do_not_mislead();
    vectors_are_no_work_for_tensor_cores();
    communication_is_told_by_a_list_of_names();
    tensor_cores_are_told_by_name_where_they_are_of_use();
    softmax_is_no_normalisation();
    names_of_other_rows_are_not_looked_at();
    names_tell_work_that_leaves_zeros_out();
    families_and_subfamilies_have_names();
    the_first_rule_with_a_word_is_found();
    a_new_word_has_the_name_of_a_kernel();
    kernels_have_short_names();
    refused_memory_is_reported();
    return done();
}
