/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "redact.h"
#include "siphash.h"
#include "tap.h"

#include "poison.h"

#define SECRET "name-0fc281e74ae2b22a"

static struct ap_gate gate;
static struct ap_redaction redaction;

static struct ap_text redacted(struct ap_text text)
{
    struct ap_error error;
    struct ap_text made = { "", 0 };
    is_int(ap_redact(&redaction, text, &made, &error), AP_OK, "a text is redacted");
    return made;
}

static void stays(const char *text)
{
    struct ap_text made = redacted(ap_text_of(text));
    is_text(made, text, text);
}

static void becomes(const char *text, const char *want)
{
    struct ap_text made = redacted(ap_text_of(text));
    is_text(made, want, text);
}

static void names_of_libraries_stay(void)
{
    stays("aten::copy_");
    stays("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
          "3> >(int)");
    stays("at::native::(anonymous namespace)::f(float const*, std::array<char*, 3ul>)::{lambda(int)#1}");
    stays("ampere_sgemm_128x64_tn");
    stays("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)");
    stays("Memcpy HtoD (Pageable -> Device)");
    stays("ProfilerStep#12");
    stays("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    stays("autograd::engine::evaluate_function: AddmmBackward0");
    stays("torch/nn/modules/linear.py(114): forward");
    stays("torch/optim/adamw.py:3 step");
    stays("torch.nn.Linear");
    stays("triton_poi_fused_add_mul_0");
    stays("cudaLaunchKernelExC_v11060");
    stays("");
}

static const char *const kernels[] = {
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn",
    "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_32x1_nn_align8>(int)",
    "triton_tem_fused_addmm_3",
    "FSDP::all_gather",
    "void vllm::rms_norm_kernel<c10::Half>(c10::Half*, c10::Half const*, float, int, int)",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::half_t>, true>(Flash_fwd_params)",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)",
    "void gemv2T_kernel_val<int, float, 128, 16, 4, 4, false, cublasGemvParamsEx<int, float> >(float, float)",
    "void cutlass::device_kernel<at::Half>(at::Half)",
    "_fwd_kernel",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
    "_ZN2at6native12_GLOBAL__N_129vectorized_elementwise_kernelILin5EZNS0_UlvE0_EEEEvPKDF16bT_.kd",
    "_ZN7cutlass13device_kernelI4HalfLNS_6LayoutE7ETnPFT_RKS1_EXadL_Z4siluIS1_EEEEEvPDv4_f",
    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
};

static void kernels_of_libraries_stay(void)
{
    for (size_t i = 0; i < AP_COUNT_OF(kernels); i++)
        stays(kernels[i]);
}

/* At whatever place of a name that is known. */
static void a_secret_within_one_does_not(void)
{
    static const char *const secrets[] = { "acmexq", "ACMEXQ", "_acmexq_", "Acmexq2" };
    char text[256];
    for (size_t i = 0; i < AP_COUNT_OF(kernels); i++)
        for (size_t s = 0; s < AP_COUNT_OF(secrets); s++) {
            size_t bytes = strlen(kernels[i]), survived = 0;
            for (size_t at = 0; at <= bytes; at++) {
                (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)at, kernels[i], secrets[s], kernels[i] + at);
                struct ap_error error;
                struct ap_text made = { "", 0 };
                survived += ap_redact(&redaction, ap_text_of(text), &made, &error) != AP_OK ||
                            ap_text_contains_folded(made, "acmexq");
            }
            ok(!survived, kernels[i]);
        }
}

static void what_readers_go_by_stays(void)
{
#define AP_KIND(kind)
#define AP_CATEGORY(spelling, kind) stays(spelling);
#include "event_kind.def"
    stays("CPU functions");
    stays("[memory]");
    stays("PyTorch Profiler (0)");
}

static bool all_hashed(struct ap_text made)
{
    return made.bytes >= 21 && memchr(made.data, '-', made.bytes);
}

static void the_rest_does_not(void)
{
    static const char *const secrets[] = {
        "Secret",
        "my_module",
        "secret::op",
        "cuSecret",
        "cudaSecret",
        "torchsecret",
        "aten_secret",
        "Secret\xc3\xa9",
        "\xe4\xb8\xad",
        "10.1.2.3",
        "user@host",
        "host-12.corp",
        "SecretBackward",
        "C:\\Users\\x",
        "/home/x",
        "secret/torch/x",
        "torch_secret/x.py",
        "vllm::SECRET",
        "torch/SECRET/x.py",
        "transformers/SECRET/y.py",
        "SECRETBackward0",
        "triton_poi_fused_SECRET_0",
        "ampere_secret_gemm",
        "cudaMemSecret",
        "cudaLaunchSecret_v1",
        "at::native::secret_kernel",
        "torch.nn.Secret",
        "site-packages/torch/secret.py",
    };
    for (size_t i = 0; i < AP_COUNT_OF(secrets); i++) {
        struct ap_text made = redacted(ap_text_of(secrets[i]));
        ok(all_hashed(made) && !ap_text_contains_folded(made, "secret"), secrets[i]);
    }
}

/* What a number can tell: where, when, and who. */
static void addresses_dates_and_telephone_numbers_do_not(void)
{
    static const char *const secrets[] = { "0x7f00dead0000",    "10.1.2.3",         "fe80::1ff:fe23:4567", "2026-11-23",
                                           "20261123",          "23.11.2026",       "2026/11/23",          "+49 170 1234567",
                                           "(555) 123-4567",    "555-123-4567",     "5551234567",          "0171/1234567",
                                           "jane.doe@corp.com", "1700000000000000", "555 123 4567 90" };
    for (size_t i = 0; i < AP_COUNT_OF(secrets); i++) {
        struct ap_text made = redacted(ap_text_of(secrets[i]));
        size_t digits = 0;
        for (size_t at = 0; at < made.bytes; at++)
            if (made.bytes - at >= 16 &&
                (memcmp(made.data + at, "name-", 5) == 0 || memcmp(made.data + at, "path-", 5) == 0))
                at += 20;
            else
                digits += ap_is_digit(made.data[at]);
        ok(all_hashed(made) && digits <= 4, secrets[i]);
    }
    stays("void f<128, 4, 1.5>(3ul, -1)");
    stays("[[1024, 4096], [65536]]");
    stays("ProfilerStep#1234567");
}

static void hashes_go_by_the_key(void)
{
    static const uint64_t vector_key[2] = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
    static const char vector_text[15] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
    is_u64(ap_siphash(vector_key, (struct ap_text){ vector_text, 15 }), UINT64_C(0xa129ca6149be45e5),
           "the value that its authors give");
    struct ap_gate other;
    ap_gate_init(&other, 0);
    ok(memcmp(gate.redact_key, other.redact_key, sizeof(gate.redact_key)) != 0, "each run draws a key");
    ap_siphash_key(AP_TEXT("0123456789abcdef"), gate.redact_key);
    becomes("Secret", SECRET);
    becomes(SECRET, SECRET);
    becomes("name-5f0b704a", "name-5f0b704a");
    becomes("name-5f0b704a_7", "name-5f0b704a_7");
    becomes("nn.Module: Secret_3", "nn.Module: " SECRET "_3");
    becomes("void Secret<at::Half>::Secret(int)", "void " SECRET "<at::Half>::" SECRET "(int)");
    becomes("aten::add<Secret>::add", "aten::add<" SECRET ">::add");
    becomes("vllm::Secret", "vllm::" SECRET);
}

static void a_library_elsewhere_is_known_by_its_folder(void)
{
    struct ap_text made = redacted(AP_TEXT("/home/jane/lib/python3.11/site-packages/torch/nn/modules/linear.py:12 forward"));
    struct ap_text tail = AP_TEXT("/site-packages/torch/nn/modules/linear.py:12 forward");
    ok(made.bytes == 21 + tail.bytes && memcmp(made.data + 21, tail.data, tail.bytes) == 0,
       "only what is before site-packages goes");
    made = redacted(AP_TEXT("/home/jane/site-packages/secret/torch/x.py:12 f2"));
    ok(made.bytes == 21 + 4 + 21, "a package that is not public goes with its functions");
    made = redacted(AP_TEXT("torch/nn/secret/x.py"));
    ok(ap_text_starts_with(made, "torch/nn/path-") && made.bytes == 9 + 21, "a path stays as far as it is known");
}

static void models_of_devices_are_nothing_more(void)
{
    static const char *const models[] = { "NVIDIA A100-SXM4-40GB",
                                          "NVIDIA A100-PG509-200",
                                          "Tesla V100-DGXS-32GB",
                                          "AMD Instinct MI300X VF",
                                          "AMD Radeon Graphics",
                                          "NVIDIA GeForce RTX 3080 Ti Laptop GPU",
                                          "NVIDIA H100 80GB HBM3",
                                          "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
                                          "NVIDIA RTX 6000 Ada Generation",
                                          "Intel(R) Data Center GPU Max 1550",
                                          "NVIDIA GH200 480GB",
                                          "TITAN V" };
    static const char *const others[] = { "A100",
                                          "NVIDIA secret",
                                          "NVIDIA A100-SXM4-40GB of secret",
                                          "NVIDIA A100secret",
                                          "NVIDIA 20261126",
                                          "NVIDIA /home/me",
                                          "NVIDIA A100-SXM4-40GBsecret12345" };
    for (size_t i = 0; i < AP_COUNT_OF(models); i++)
        ok(ap_redact_is_device_name(ap_text_of(models[i])), models[i]);
    for (size_t i = 0; i < AP_COUNT_OF(others); i++)
        ok(!ap_redact_is_device_name(ap_text_of(others[i])), others[i]);
}

static void any_bytes_are_fine(void)
{
    char text[512];
    uint32_t state = 1;
    for (int round = 0; round < 2000; round++) {
        size_t bytes = (size_t)round % sizeof(text);
        for (size_t i = 0; i < bytes; i++) {
            state = state * 1664525u + 1013904223u;
            text[i] = (state >> 28) ? (char)("<>():: a_b.\\/#0x"[state >> 24 & 15]) : (char)(state >> 16);
        }
        struct ap_error error;
        struct ap_text made, again;
        if (ap_redact(&redaction, (struct ap_text){ text, bytes }, &made, &error) != AP_OK) {
            ok(false, "a text is redacted");
            return;
        }
        char *copy = ap_mem_resize(&gate, NULL, 0, made.bytes + 1);
        memcpy(copy, made.data, made.bytes);
        size_t kept = made.bytes;
        bool same = ap_redact(&redaction, (struct ap_text){ copy, kept }, &again, &error) == AP_OK && again.bytes == kept &&
                    memcmp(copy, again.data, kept) == 0;
        ap_mem_free(&gate, copy, kept + 1);
        if (!same) {
            ok(false, "redacting again changes nothing");
            tap_show("of", text, bytes);
            return;
        }
    }
    ok(true, "any bytes are redacted, and again changes nothing");
}

int main(void)
{
    ap_gate_init(&gate, 0);
    ap_redaction_init(&redaction, &gate);
    names_of_libraries_stay();
    kernels_of_libraries_stay();
    a_secret_within_one_does_not();
    what_readers_go_by_stays();
    the_rest_does_not();
    addresses_dates_and_telephone_numbers_do_not();
    hashes_go_by_the_key();
    a_library_elsewhere_is_known_by_its_folder();
    models_of_devices_are_nothing_more();
    any_bytes_are_fine();
    ap_redaction_release(&redaction);
    return done();
}
