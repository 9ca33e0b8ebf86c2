# SPDX-License-Identifier: MIT
"""Traces of one slow kernel each, and of a good one: the same operator, with the shapes, types, strides and arguments that
the profiler records, and a kernel that takes as long as bytes or operations at a given rate do. Nothing here was measured.

A tensor is written "bf16[4096,1024]" or, with steps in memory, "bf16[4096,1024]@1,4096"; a list of them with "+" between;
another argument "=text", none "-".
"""
import json
import re
from collections import namedtuple
from math import prod

TYPES = {"bf16": ("c10::BFloat16", 2), "half": ("c10::Half", 2), "float": ("float", 4), "double": ("double", 8),
         "long": ("long int", 8), "int": ("int", 4), "bool": ("bool", 1), "fp8": ("c10::Float8_e4m3fn", 1),
         "int8": ("signed char", 1), "uint8": ("unsigned char", 1), "complex": ("c10::complex<float>", 8)}
PROPERTIES = {
    "A100": {"name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 84_974_239_744, "computeMajor": 8, "computeMinor": 0,
             "numSms": 108, "warpSize": 32},
    "H100": {"name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84_942_979_072, "computeMajor": 9, "computeMinor": 0,
             "numSms": 132, "warpSize": 32},
    "B200": {"name": "NVIDIA B200", "totalGlobalMem": 191_502_483_456, "computeMajor": 10, "computeMinor": 0, "numSms": 148,
             "warpSize": 32},
    "V100": {"name": "Tesla V100-SXM2-32GB", "totalGlobalMem": 34_079_637_504, "computeMajor": 7, "computeMinor": 0,
             "numSms": 80, "warpSize": 32},
    "L4": {"name": "NVIDIA L4", "totalGlobalMem": 23_580_639_232, "computeMajor": 8, "computeMinor": 9, "numSms": 58,
           "warpSize": 32},
    "MI300X": {"name": "AMD Instinct MI300X", "totalGlobalMem": 206_141_652_992, "computeMajor": 9, "computeMinor": 4,
               "numSms": 304, "warpSize": 64}}
# calls: what is called in turn; us: the kernels' times. Without a device the file tells none, as a cut trace does.
Case = namedtuple("Case", "device calls good accept")
Call = namedtuple("Call", "op arguments kernels")        # kernels: (name, us) each
CALLS = 10


def call(op, arguments, *kernels):
    return Call(op, arguments.split(), kernels)


def bytes_us(count, tb_s):
    return count / tb_s / 1e6


def flops_us(count, tflop_s):
    return count / tflop_s / 1e6


# ---- a call as the profiler writes it

def tensor(text):
    found = re.fullmatch(r"(\w+)\[([\d,]*)\](?:@([\d,]+))?", text)
    name, dims, steps = found.groups()
    dims = [int(size) for size in dims.split(",") if size]
    plain = [prod(dims[i + 1:]) for i in range(len(dims))]
    return TYPES[name][0], dims, [int(step) for step in steps.split(",")] if steps else plain


def argument(text):
    """Type, sizes, steps and value of one argument."""
    if text == "-":
        return "", [], [], ""
    if text.startswith("="):
        return ("ScalarList" if text[1] == "[" else "Scalar"), [], [], text[1:].replace(",", ", ")
    tensors = [tensor(part) for part in text.split("+")]
    if len(tensors) == 1:
        return (*tensors[0], "")
    return "TensorList", [t[1] for t in tensors], [t[2] for t in tensors], ""


def op_arguments(made):
    types, dims, steps, values = zip(*[argument(text) for text in made.arguments])
    return {"Concrete Inputs": list(values), "Input type": list(types), "Input Strides": list(steps),
            "Input Dims": list(dims)}


class Recorder:
    """One thread and one stream. The host is ahead of the device."""

    def __init__(self, device):
        self.device, self.rows, self.host_us, self.device_us, self.number = device, [], 1000.0, 1200.0, 0
        self.is_amd = device == "MI300X"

    def add(self, category, name, ts, dur, tid, args):
        self.rows.append({"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 4242, "tid": tid,
                          "ts": round(ts, 3), "dur": round(dur, 3), "args": args})

    def launch(self, name, us):
        self.number += 1
        args = {"External id": self.number, "correlation": self.number}
        launch = "hipExtModuleLaunchKernel" if self.is_amd else "cudaLaunchKernel"
        self.add("cuda_runtime", launch, self.host_us + 4, 4, 4242, args)
        start = max(self.device_us + 1, self.host_us + 12)
        self.add("kernel", name, start, us, 7, {**args, "device": 0, "stream": 7, "grid": [264, 1, 1],
                                                "block": [256, 1, 1]})
        self.device_us = start + us
        self.host_us += 9

    def call(self, made):
        at_us = self.host_us
        for name, us in made.kernels:
            self.launch(name, us * (1 + 0.004 * (self.number * 7 % 5)))
        self.host_us += 3
        self.add("cpu_op", made.op, at_us, self.host_us - at_us - 1, 4242, op_arguments(made))

    def document(self):
        self.add("cuda_runtime", "hipDeviceSynchronize" if self.is_amd else "cudaDeviceSynchronize", self.host_us,
                 self.device_us + 5 - self.host_us, 4242, {"correlation": self.number + 1})
        head = {"schemaVersion": 1, "record_shapes": 1}
        if self.device:
            head["deviceProperties"] = [{"id": 0, **PROPERTIES[self.device]}]
        return json.dumps({**head, "traceEvents": sorted(self.rows, key=lambda row: row["ts"]),
                           "traceName": "slow_kernel.pt.trace.json"})


def document(case, planted):
    recorder = Recorder(case.device)
    for _ in range(CALLS):
        for made in case.calls if planted else case.good:
            recorder.call(made)
    return recorder.document()


# ---- the cases

NVJET = "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"
AMPERE = "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn"
XMMA = ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__"
        "5x_cublas")
CIJK = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0_AFC0_AFEM1_AFEM1_ASEM1_CLR1"
FFMA = ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__"
        "5x_cublas")
TF32 = ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_execute_kernel__"
        "5x_cublas")
FPROP = ("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1_g1_"
         "tensor16x8x16_execute_kernel__5x_cudnn")
FLASH = ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
         "cutlass::bfloat16_t>>(pytorch_flash::Flash_fwd_params)")
SPLIT_KV = FLASH.replace("flash_fwd_kernel", "flash_fwd_splitkv_kernel", 1)
VECTORIZED = ("void at::native::vectorized_elementwise_kernel<4, at::native::%s, std::array<char*, 3ul>>(int, "
              "at::native::%s, std::array<char*, 3ul>)")
ELEMENTWISE = ("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::%s>"
               "(at::TensorIteratorBase&, at::native::%s const&)::{lambda(int)#1}>(int, ...)")
REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, ...>>>(...)"


def one(op, arguments, kernel, slow_us, good_us, accept, device="H100", good_arguments=None, good_kernel=None):
    return Case(device, [call(op, arguments, (kernel, slow_us))],
                [call(op, good_arguments or arguments, (good_kernel or kernel, good_us))], accept)


def add(kind):
    return kind % (("CUDAFunctor_add<float>",) * 2)


def products():
    flops = 2 * 2304 * 4096 * 1792
    yield "wave", one("aten::mm", "bf16[2304,4096] bf16[4096,1792]", AMPERE, flops_us(flops, 145),
                      flops_us(flops, 235), ["tile-fill"], "A100")
    flops = 2 * 27904 * 8192 * 128    # 109 tiles on 108 multiprocessors
    yield "wave-and-a-tile", one("aten::mm", "bf16[27904,8192] bf16[8192,128]", AMPERE, flops_us(flops, 136),
                                 flops_us(flops, 200), ["tile-fill"], "A100", "bf16[27648,8192] bf16[8192,128]")
    yield "tile-padding", one("aten::mm", "bf16[16384,1024] bf16[1024,136]", XMMA, 90, 19, ["tile-fill"])
    flops = 2 * 4095 ** 3
    yield "unaligned", one(
        "aten::mm", "half[4095,4095] half[4095,4095]", "cutlass_75_tensorop_f16_s1688gemm_f16_256x128_nn_align1",
        flops_us(flops, 88), flops_us(flops, 250), ["unaligned-sizes"], "A100",
        "half[4096,4096] half[4096,4096]", AMPERE.replace("bf16", "fp16"))
    yield "split-k", one("aten::mm", "bf16[256,131072] bf16[131072,256]", XMMA, 900, 58, ["unsplit-products", "tile-fill"],
                         good_kernel=XMMA.replace("execute_segment_k_off", "execute_split_k"))
    parts = call("aten::mm", "bf16[64,32768] bf16[32768,64]", (XMMA.replace("128x128x64", "64x64x64"), 6.2),
                 ("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, ...>(...)", 2.6))
    yield "split-k-summed-up", Case("H100", [call(parts.op, " ".join(parts.arguments), (XMMA, 210))], [parts],
                                    ["unsplit-products"])
    yield "split-k-narrow", one("aten::mm", "bf16[64,262144] bf16[262144,64]", CIJK.replace("256x256", "64x64"), 700, 22,
                                ["unsplit-products"], "MI300X")
    read = 4096 * 14336 * 2
    yield "few-rows", one("aten::mm", "bf16[4,4096] bf16[4096,14336]", NVJET.replace("128x256", "64x8"),
                          bytes_us(read, .75), bytes_us(read, 2.6), ["few-row-products"])
    yield "vector", one(
        "aten::addmv_", "bf16[14336] bf16[14336,4096] bf16[4096] =0 =1",
        "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false, false>",
        bytes_us(read, .7), bytes_us(read, 2.5), ["few-row-products"])
    yield "vector-alone", one("aten::mv", "half[14336,4096] half[4096]", "void gemv2N_kernel<int, int, __half, __half>",
                              bytes_us(read, .7), bytes_us(read, 2.5), ["few-row-products"])
    moved = 3 * 65536 * 64 * 4
    yield "tiny-products", one(
        "aten::bmm", "float[65536,8,8] float[65536,8,8]",
        "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 3, 4, false, cublasGemvTensorStridedBatched<float const>>",
        bytes_us(moved, .3), bytes_us(moved, 2.3), ["tiny-products"])
    flops = 2 * 4096 ** 3
    yield "plain-fp32-simt", one(
        "aten::mm", "float[4096,4096] float[4096,4096]", "cutlass_80_simt_sgemm_256x128_8x4_nn_align1",
        flops_us(flops, 17), flops_us(flops, 110), ["no-tensor-cores"], "A100", good_kernel=TF32)
    yield "plain-fp32", one("aten::addmm", "float[4096] float[4096,4096] float[4096,4096] =1 =1", FFMA,
                            flops_us(flops, 48), flops_us(flops, 330), ["no-tensor-cores"], good_kernel=TF32)
    solved = call("aten::mm", "double[4096,4096] double[4096,4096]",
                  ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", flops_us(flops, 17)))
    widened = call("aten::copy_", "double[4096,4096] float[4096,4096] =False",
                   (ELEMENTWISE % (("direct_copy_kernel_cuda",) * 2), bytes_us(12 * 2 ** 24, 1.7)))
    yield "double", Case("A100", [widened, widened, solved], [solved], ["double-precision-leak"])    # meant where alone
    yield "double-few-units", one(
        "aten::mm", "double[4096,4096] double[4096,4096]", "cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1",
        flops_us(flops, .42), flops_us(flops, 35), ["double-precision-kernels"], "L4",
        "float[4096,4096] float[4096,4096]", TF32)
    yield "bf16-before-ampere", one(
        "aten::mm", "bf16[4096,4096] bf16[4096,4096]", "cutlass_70_simt_bf16_sgemm_bf16_128x128_8x2_tn_align1",
        flops_us(flops, 11), flops_us(flops, 92), ["emulated-bfloat16"], "V100", "half[4096,4096] half[4096,4096]",
        "volta_fp16_s884gemm_fp16_256x128_ldg8_f2f_tn")
    flops = 2 * 8192 ** 3
    yield "older-generation", one("aten::mm", "bf16[8192,8192] bf16[8192,8192]", AMPERE, flops_us(flops, 420),
                                  flops_us(flops, 1500), ["older-kernels"], "B200",
                                  good_kernel="nvjet_sm100_tst_256x256_64x4_2x1_2cta_v_bz_TNN")
    flops_of_160_tiles = 2 * 4096 * 8192 * 1280
    yield "wave-blackwell", one(
        "aten::mm", "bf16[4096,8192] bf16[8192,1280]",
        "cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32_bf16_bf16_128x256x64_1x1x1_0_tnn_align8_warpspecialized",
        flops_us(flops_of_160_tiles, 820), flops_us(flops_of_160_tiles, 1400), ["tile-fill"], "B200",
        good_kernel="nvjet_sm100_tst_128x160_64x4_2x1_2cta_v_bz_TNN")
    yield "poor-kernel", one("aten::mm", "bf16[8192,8192] bf16[8192,8192]", CIJK, flops_us(flops, 240),
                             flops_us(flops, 620), ["slow-gemm"], "MI300X")
    yield "poor-kernel-bare", one("aten::mm", "bf16[8192,8192] bf16[8192,8192]", CIJK, flops_us(flops, 240),
                                  flops_us(flops, 560), ["slow-gemm"], None)    # which no device can do whose name it fits
    yield "poor-kernel-fp8", one(
        "aten::_scaled_mm", "fp8[8192,8192] fp8[8192,8192]@1,8192 float[] float[] - - =15 =False",
        "nvjet_qqtst_128x256_128x4_2x1_v_bz_coopA_TNT", flops_us(flops, 420), flops_us(flops, 1250), ["slow-gemm"])
    flops = 2 * 512 * 256 ** 3
    yield "own-kernel", one("mylib::matmul", "bf16[8192,8192] bf16[8192,8192]", "matmul_kernel", flops_us(2 * 8192 ** 3, 48),
                            flops_us(2 * 8192 ** 3, 215), ["slow-gemm"], "A100")
    yield "small-batched", one("aten::bmm", "bf16[512,256,256] bf16[512,256,256]", CIJK.replace("256x256", "64x64"),
                               flops_us(flops, 25), flops_us(flops, 300), ["slow-gemm"], "MI300X")
    moved = 2 * (8192 * 8192 + 2 * 8192 * 16)
    yield "outer-product", one("aten::mm", "bf16[8192,16] bf16[16,8192]", XMMA, bytes_us(moved, .5), bytes_us(moved, 2.4),
                               ["slow-gemm", "narrow-products", "tile-fill"])
    read = 64 * 4096 * 4096 * 2
    yield "grouped", one("aten::_grouped_mm", "bf16[128,4096] bf16[64,4096,4096] int[64] - -",
                         "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<"
                         "cute::tuple<int, int, int>>>>(Params)", bytes_us(read, 1.1),
                         flops_us(2 * 32768 * 4096 ** 2, 600), ["experts-few-tokens"],
                         good_arguments="bf16[32768,4096] bf16[64,4096,4096] int[64] - -")


CONV = " =[1,1] =[1,1] =[1,1] =%d =False =True =False"    # padding, stride, dilation, groups


def convolutions():
    moved = 2 * 64 * 512 * 56 * 56 * 2
    yield "depthwise", one(
        "aten::_conv_depthwise2d", "half[64,512,56,56] half[512,1,3,3] =[3,3] - =[1,1] =[1,1] =[1,1]",
        "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel_generic<c10::Half, int>(...)",
        bytes_us(moved, .5), bytes_us(moved, 2.3), ["depthwise-convolutions"])
    moved = 2 * 64 * 256 * 56 * 56 * 2
    yield "groups", one("aten::cudnn_convolution", "half[64,256,56,56] half[256,8,3,3]" + CONV % 32,
                        "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, __half, "
                        "__half>",
                        bytes_us(moved, .3), bytes_us(moved, 2.4), ["few-channel-convolutions"])
    flops = 2 * 8 * 28 * 28 * 512 * 16 * 9
    yield "groups-of-16", one("aten::miopen_convolution", "float[8,512,28,28] float[512,16,3,3] - =[1,1] =[1,1] =[1,1] =32 "
                              "=False =False", "igemm_fwd_gtcx3_nhwc_fp32_bx0_ex0_bt64x64x8.kd", flops_us(flops, 1.5),
                              flops_us(flops, 45), ["few-channel-convolutions"], "MI300X")
    turns = [("Im2d2Col", 40), (CIJK.replace("256x256", "64x64"), 27)] * 16
    flops = 2 * 16 * 3136 * 128 * 1152
    yield "unfolded", Case("MI300X", [call("aten::miopen_convolution", "half[16,128,56,56] half[128,128,3,3] -" + CONV[:-12]
                                           % 1, *turns)],
                           [call("aten::miopen_convolution", "half[16,128,56,56]@401408,1,7168,128 half[128,128,3,3] -"
                                 + CONV[:-12] % 1, ("igemm_fwd_gtcx3_nhwc_fp16_bx0", flops_us(flops, 300)))],
                           ["unfolded-convolutions"])
    flops = 2 * 128 * 112 * 112 * 64 * 147
    yield "first-layer", one(
        "aten::cudnn_convolution", "half[128,3,224,224] half[64,3,7,7] =[3,3] =[2,2] =[1,1] =1 =False =True =False", FPROP,
        flops_us(flops, 30), flops_us(flops, 160), ["few-channel-convolutions"])
    flops = 2 * 32 * 112 * 112 * 64 * 147
    yield "first-layer-fp32", one(
        "aten::miopen_convolution", "float[32,3,224,224] float[64,3,7,7] - =[3,3] =[2,2] =[1,1] =1 =False =False",
        "igemm_fwd_gtcx3_nhwc_fp32_bx0_ex0_bt128x64x8.kd", flops_us(flops, 20), flops_us(flops, 60),
        ["few-channel-convolutions"], "MI300X")
    flops = 2 * 64 * 3136 * 256 * 2304
    first, last = "half[64,256,56,56]", "half[64,256,56,56]@802816,1,14336,256"
    turn = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>(...)"
    back = turn.replace("nchwToNhwc", "nhwcToNchw")
    good = call("aten::cudnn_convolution", last + " half[256,256,3,3]" + CONV % 1, (FPROP, flops_us(flops, 560)))
    yield "layout-turned", Case("H100", [call("aten::cudnn_convolution", first + " half[256,256,3,3]" + CONV % 1,
                                              (turn, 190),
                                              (FPROP, flops_us(flops, 540)), (back, 190))], [good], ["channels-first"])
    yield "layout", Case("H100", [call("aten::cudnn_convolution", first + " half[256,256,3,3]" + CONV % 1, (
        FPROP.replace("nhwckrsc_nhwc", "nchwkcrs_nchw"), flops_us(flops, 180)))], [good], ["channels-first"])
    # strides that nobody kept up: a kernel for channels last, and none that turns the image for it
    yield "layout-of-the-kernel", Case("H100", [call("aten::cudnn_convolution", first + " half[256,256,3,3]" + CONV % 1, (
        FPROP, flops_us(flops, 180)))], [good], ["slow-convolutions"])
    flops = 2 * 32 * 3136 * 250 * 33 * 9
    yield "odd-channels", one(
        "aten::cudnn_convolution", "half[32,33,56,56]@103488,1,1848,33 half[250,33,3,3]" + CONV % 1, FPROP,
        flops_us(flops, 24), 34, ["odd-channels"],
        good_arguments="half[32,40,56,56]@125440,1,2240,40 half[256,40,3,3]" + CONV % 1)
    flops = 2 * 16 * 4096 * 256 * 2304
    yield "dilated", one(
        "aten::cudnn_convolution", "half[16,256,64,64]@1048576,1,16384,256 half[256,256,3,3] =[4,4] =[1,1] =[4,4] =1 =False "
        "=True =False", FPROP, flops_us(flops, 60), flops_us(flops, 520), ["slow-convolutions"])
    flops = 2 * 4 * 16 * 56 * 56 * 64 * 64 * 27
    yield "volume", one(
        "aten::cudnn_convolution", "half[4,64,16,56,56] half[64,64,3,3,3] =[1,1,1] =[1,1,1] =[1,1,1] =1 =False =True =False",
        "void implicit_convolveNd_sgemm<__half, 3, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(...)",
        flops_us(flops, 14), flops_us(flops, 300), ["slow-convolutions", "no-tensor-cores", "channels-first"],
        good_kernel=FPROP)
    flops = 2 * 16 * 32 * 32 * 512 * 256 * 16
    yield "transposed", one(
        "aten::cudnn_convolution_transpose", "half[16,512,32,32] half[512,256,4,4] =[1,1] =[0,0] =[2,2] =[1,1] =1 =False "
        "=True "
        "=False", FPROP.replace("fprop", "dgrad"), flops_us(flops, 45), flops_us(flops, 420), ["transposed-convolutions"])
    yield "small-image", one(
        "aten::miopen_convolution", "float[1,2048,7,7] float[2048,2048,3,3] - =[1,1] =[1,1] =[1,1] =1 =False =False",
        "igemm_fwd_gtcx3_nhwc_fp32_bx0_ex0_bt64x64x32_wt32x32x2_ws1x1_wr1x1_ta1x16x1x1_1x4x1x16_tb1x16x1x1_1x4x1x16.kd",
        380, 48, ["few-place-convolutions"], "MI300X")
    flops = 2 * 32 * 3136 * 128 * 1152
    yield "backward", one(
        "aten::convolution_backward", "half[32,128,56,56]@401408,1,7168,128 half[32,128,56,56]@401408,1,7168,128 "
        "half[128,128,3,3] =[0] =[1,1] =[1,1] =[1,1] =False =[0,0] =1 =[False,True,False]",
        "cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", flops_us(flops, 22),
        flops_us(flops, 300), ["slow-convolutions", "no-tensor-cores"],
        good_kernel="sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4")
    yield "bare-pointwise", one(
        "aten::convolution", "float[4,256,56,56] float[64,256,1,1] - =[1,1] =[0,0] =[1,1] =False =[0,0] =1",
        "igemm_fwd_gtcx3_nhwc_fp32_bx0_bt128x64x32", 400, 14, ["slow-convolutions"], None)
    flops = 2 * 8 * 224 * 224 * 64 * 64 * 225
    yield "bare-large-filter", one(
        "aten::convolution", "float[8,64,224,224] float[64,64,15,15] - =[1,1] =[7,7] =[1,1] =False =[0,0] =1",
        "naive_conv_ab_nonpacked_fwd_nchw_float_double_float", flops_us(flops, 6), flops_us(flops, 90),
        ["naive-convolutions"], "MI300X", good_kernel="igemm_fwd_gtcx3_nhwc_fp32_bx0_bt128x64x32")
    flops = 2 * 8 * 3136 * 64 * 576
    arguments = "half[8,64,56,56]@200704,1,3584,64 half[64,64,3,3] - =[1,1] =[1,1] =[1,1] =1 =False =True"
    yield "naive", one("aten::miopen_convolution", arguments, "naive_conv_ab_nonpacked_fwd_nhwc_half_double_half.kd", 3000,
                       flops_us(flops, 200), ["naive-convolutions"], "MI300X", good_kernel="igemm_fwd_gtcx3_nhwc_fp16_bx0")
    yield "naive-without-shapes", one("custom::convolution", "-", "naive_conv_ab_nonpacked_wrw_nchw_float_double_float.kd",
                                      3000, 30, ["naive-convolutions"], "MI300X", good_kernel="igemm_wrw_gtcx3_nhwc_fp32_b")


def attention():
    flops = 4 * 4 * 32 * 8192 ** 2 * 128 / 2
    plain = " - - =8192 =8192 =0. =True =False =0.088 - - - -"
    yield "attention-old", one("aten::_flash_attention_forward", "bf16[4,8192,32,128] bf16[4,8192,32,128] "
                               "bf16[4,8192,32,128]"
                               + plain, FLASH, flops_us(flops, 260), flops_us(flops, 610), ["slow-attention"])
    moved = 2 * 64 * 4096 * 8 * 128 * 2
    yield "attention-decode", one(
        "aten::_flash_attention_forward", "bf16[64,1,32,128] bf16[64,4096,8,128] bf16[64,4096,8,128] - - =1 =4096 =0. "
        "=False "
        "=False =0.088 - - - -", FLASH, bytes_us(moved, .7), bytes_us(moved, 2.5), ["decode-attention"],
        good_kernel=SPLIT_KV)
    flops = 4 * 8 * 16 * 4096 ** 2 * 80
    yield "attention-head", one("aten::_flash_attention_forward", "half[8,4096,16,80] half[8,4096,16,80] "
                                "half[8,4096,16,80] - - "
                                "=4096 =4096 =0. =False =False =0.11 - - - -", FLASH, flops_us(flops, 180),
                                flops_us(flops, 420), ["padded-heads"])
    scores = 8 * 16 * 2048 * 2048 * 2
    bmm = flops_us(2 * 8 * 16 * 2048 ** 2 * 64, 300)
    soft = "void (anonymous namespace)::softmax_warp_forward<c10::Half, c10::Half, float, 11, false, false>(...)"
    masked = ELEMENTWISE % (("CUDAFunctor_add<c10::Half>",) * 2)
    flops = 4 * 8 * 16 * 2048 ** 2 * 64
    yield "attention-by-hand", Case(
        "H100", [call("aten::bmm", "half[128,2048,64] half[128,64,2048]", (NVJET.replace("tst", "hsh"), bmm)),
                 call("aten::add", "half[8,16,2048,2048] half[8,1,1,2048] =1", (masked, bytes_us(2 * scores, 2.4))),
                 call("aten::_softmax", "half[8,16,2048,2048] =-1 =False", (soft, bytes_us(2 * scores, 2.5))),
                 call("aten::bmm", "half[128,2048,2048] half[128,2048,64]", (NVJET.replace("tst", "hsh"), bmm))],
        [call("aten::_flash_attention_forward", "half[8,2048,16,64] half[8,2048,16,64] half[8,2048,16,64] - - =2048 =2048 "
              "=0. "
              "=False =False =0.125 - - - -", (FLASH, flops_us(flops, 450)))], ["unfused-attention"])
    flops = 4 * 8 * 16 * 2048 ** 2 * 64
    yield "attention-bias", one(
        "aten::_scaled_dot_product_efficient_attention", "float[8,16,2048,64] float[8,16,2048,64] float[8,16,2048,64] "
        "float[8,16,2048,2048] =False =0. =False =False -",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, ...>::Params)",
        flops_us(flops, 21), flops_us(flops, 450), ["masked-attention", "no-tensor-cores"],
        good_arguments="half[8,16,2048,64] half[8,16,2048,64] half[8,16,2048,64] - =False =0. =False =False -",
        good_kernel="cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0")
    yield "attention-mask", one(
        "aten::_scaled_dot_product_efficient_attention", "half[8,16,2048,64] half[8,16,2048,64] half[8,16,2048,64] "
        "half[8,16,2048,2048]@4194304,0,2048,1 =False =0. =False =False -",
        "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t, ...>::Params)",
        flops_us(flops, 90), flops_us(flops, 450), ["masked-attention"],
        good_arguments="half[8,16,2048,64] half[8,16,2048,64] half[8,16,2048,64] - =False =0. =False =False -",
        good_kernel="cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0")
    bias = "bf16[4,4096,16,64] bf16[4,4096,16,64] bf16[4,4096,16,64] %s - - - - =0. =0 =False =1.0 - -"
    flops = 4 * 4 * 16 * 4096 ** 2 * 64    # the operator within, which is the one that launches
    yield "attention-bias-within", one(
        "aten::_efficient_attention_forward", bias % "bf16[4,16,4096,4096]",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, ...>)",
        flops_us(flops, 60), flops_us(flops, 180), ["masked-attention"], "A100", bias % "-")
    yield "attention-short", one(
        "aten::_flash_attention_forward", "bf16[256,64,12,64] bf16[256,64,12,64] bf16[256,64,12,64] - - =64 =64 =0. =False "
        "=False =0.125 - - - -", FLASH, 260, 52, ["short-attention"])


CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy%s<at::native::(anonymous namespace)::OpaqueType<2u>, ...>"


def traffic():
    parts = "+".join(["half[32,512,1024]"] * 8)
    moved = 2 * 2 * 8 * 32 * 512 * 1024
    yield "concatenation", one("aten::cat", parts + " =1", CAT % "", bytes_us(moved, .5), bytes_us(moved, 2.4),
                               ["slow-memory-kernels"], good_kernel=CAT % "_aligned16_contig")
    moved = 4 * 128 * (1310720 + 65536) + 8 * 1310720
    yield "embedding-bag", one(
        "aten::_embedding_bag", "float[5000000,128] long[1310720] long[65536] =False =0 =False - =False =-1",
        "void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<float, long>(...)",
        bytes_us(moved, .25), bytes_us(moved, 1.9), ["scattered-access"])
    moved = 2 * 8192 * 8192 * 2
    copy = ELEMENTWISE % (("direct_copy_kernel_cuda(at::TensorIteratorBase&)",) * 2)
    yield "transposed-copy", one("aten::copy_", "bf16[8192,8192] bf16[8192,8192]@1,8192 =False", copy,
                                 bytes_us(moved, .6), bytes_us(moved, 2.5), ["strided-elementwise"],
                                 good_arguments="bf16[8192,8192] bf16[8192,8192] =False")
    yield "mixed-layouts", one("aten::add", "float[8192,8192] float[8192,8192]@1,8192 =1", add(ELEMENTWISE),
                               bytes_us(3 * 2 ** 28, .8), bytes_us(3 * 2 ** 28, 2.9), ["strided-elementwise"],
                               good_arguments="float[8192,8192] float[8192,8192] =1", good_kernel=add(VECTORIZED))
    moved = 2 * 64 * 1024 * 4096 * 2
    yield "broadcast", one("aten::mul", "half[64,1024,4096] half[64,1024,1]", ELEMENTWISE % (("MulFunctor<float>",) * 2),
                           bytes_us(moved, .7), bytes_us(moved, 2.7), ["slow-memory-kernels"])
    moved = 2 * 16 * 32000 * 512 * 2
    softmax = "void at::native::(anonymous namespace)::cunn_%s<c10::BFloat16, float, c10::BFloat16, ...>(...)"
    yield "softmax-across", one("aten::_log_softmax", "bf16[16,32000,512] =1 =False", softmax % "SpatialSoftMaxForward",
                                bytes_us(moved, .6), bytes_us(moved, 3.5), ["strided-elementwise"], "MI300X",
                                "bf16[16,512,32000] =2 =False", softmax % "SoftMaxForward")
    moved = 2 * 4194304 * 8 * 2
    yield "short-softmax", one(
        "aten::_softmax", "half[4194304,8] =-1 =False",
        "void (anonymous namespace)::softmax_warp_forward<c10::Half, c10::Half, float, 3, false, false>(...)",
        bytes_us(moved, .25), bytes_us(moved, 2.1), ["short-rows"])
    moved = 2 * 1048576 * 64 * 2
    yield "short-layer-norm", one(
        "aten::native_layer_norm", "half[1048576,64] =[64] half[64] half[64] =1e-05",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half, float, false>(int, float, ...)",
        bytes_us(moved, .4), bytes_us(moved, 2.2), ["short-rows"])
    yield "one-result", one("aten::sum", "float[268435456] -", REDUCE, bytes_us(2 ** 30, .5), bytes_us(2 ** 30, 2.8),
                            ["slow-memory-kernels"])
    yield "outer-sum", one("aten::sum", "float[1048576,64]@1,1048576 =[1] =False -", REDUCE, bytes_us(2 ** 28, .5),
                           bytes_us(2 ** 28, 2.6), ["strided-elementwise", "slow-memory-kernels", "short-rows"],
                           good_arguments="float[65536,1024] =[1] =False -")
    moved = 8192 * 4096 * 2 * 2
    yield "embedding-backward", one(
        "aten::embedding_dense_backward", "half[8192,4096] long[8192] =32000 =-1 =False",
        "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<c10::Half, float, long>(...)",
        2600, 210, ["scattered-access"])
    yield "index-put", one(
        "aten::_index_put_impl_", "float[1048576,128] long[2097152] float[2097152,128] =True =False",
        "void at::native::(anonymous namespace)::indexing_backward_kernel<float, 4>(long const*, long const*, ...)",
        bytes_us(3 * 2 ** 30, .12), bytes_us(3 * 2 ** 30, 1.3), ["index-backward", "scattered-access"])
    yield "scatter-atomics", one(
        "aten::scatter_add_", "float[1000,64] =0 long[4194304,64] float[4194304,64]",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true, "
        "float>>(int, ...)", bytes_us(5 * 2 ** 30, .15), bytes_us(5 * 2 ** 30, 1.6), ["scattered-access"])
    yield "scatter", one(
        "aten::scatter_", "float[4194304,64] =0 long[4194304,64] float[4194304,64]",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true, "
        "float>>(int, ...)", bytes_us(5 * 2 ** 30, .15), bytes_us(5 * 2 ** 30, 1.6), ["scattered-access"])
    moved = 5 * 16 * 256 * 128 * 128 * 2
    yield "exact-upsampling", one(
        "aten::_upsample_nearest_exact2d", "half[16,256,128,128] =[256,256] - -",
        "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<c10::Half, ...>(...)",
        bytes_us(moved, .5), bytes_us(moved, 2.4), ["slow-memory-kernels"])
    moved = 2 * 8 * 64 * (512 * 512 + 256 * 256)
    yield "resize-backward", one(
        "aten::upsample_bilinear2d_backward", "half[8,64,512,512] =[512,512] =[8,64,256,256] =False - -",
        "void at::native::(anonymous namespace)::upsample_bilinear2d_backward_out_frame<c10::Half, float>(...)",
        bytes_us(moved, .12), bytes_us(moved, 1.1), ["scattered-access"])
    moved = 64 * 64 * (56 * 56 * 10 + 112 * 112 * 4)
    yield "pool-backward", one(
        "aten::max_pool2d_with_indices_backward", "half[64,64,56,56] half[64,64,112,112] =[3,3] =[2,2] =[1,1] =[1,1] =False "
        "long[64,64,56,56]", "void at::native::(anonymous namespace)::max_pool_backward_nchw<c10::Half, float, int>(...)",
        bytes_us(moved, .2), bytes_us(moved, 1.4), ["scattered-access"])
    moved = 4 * (2 * 8 * 64 * 512 * 512 + 8 * 512 * 512 * 2)
    yield "grid", one(
        "aten::grid_sampler_2d", "float[8,64,512,512] float[8,512,512,2] =0 =0 =False",
        "void at::native::(anonymous namespace)::grid_sampler_2d_kernel<float, int>(int, ...)",
        bytes_us(moved, .3), bytes_us(moved, 1.8), ["scattered-access"])
    yield "gather", one("aten::gather", "float[1048576,256] =1 long[1048576,256] =False",
                        "void at::native::_scatter_gather_elementwise_kernel<128, 4, ...>(int, ...)",
                        bytes_us(2 ** 32, .3), bytes_us(2 ** 32, 1.9), ["scattered-access"])
    yield "rows-by-index", one("aten::index", "half[1048576,64] long[4194304]",
                               "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<...>>(...)",
                               bytes_us(2 * 2 ** 29, .2), bytes_us(2 * 2 ** 29, 1.5), ["scattered-access"])
    moved = 5 * 16 * 256 * 128 * 128 * 2
    yield "upsampling", one("aten::upsample_nearest2d", "half[16,256,128,128] =[256,256] - -",
                            "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<c10::Half, ...>(...)",
                            bytes_us(moved, .5), bytes_us(moved, 2.4), ["slow-memory-kernels"])
    yield "cumsum", one("aten::cumsum", "float[65536,1024] =0 -",
                        "void at::native::tensor_kernel_scan_outer_dim<float, std::plus<float>>(float*, float const*, ...)",
                        bytes_us(2 ** 29, .3), bytes_us(2 ** 29, 2.2), ["slow-memory-kernels"])
    moved = 64 * 131072 * 4
    yield "topk", one("aten::topk", "float[64,131072] =50 =-1 =True =True",
                      "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(...)", 1500, 95, ["slow-sorting"])
    yield "sort", one("aten::sort", "float[64,1048576] - =-1 =False",
                      "void at_cuda_detail::cub::DeviceSegmentedRadixSortKernel<...>(...)", 42000, 5200, ["slow-sorting"])
    moved = 2 * 8 * 256 * 3136 * 4
    yield "batch-norm", one("aten::cudnn_batch_norm", "float[8,256,56,56] float[256] float[256] float[256] float[256] =True "
                            "=0.1 "
                            "=1e-05", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(...)",
                            bytes_us(moved, .3), bytes_us(moved, 2.1), ["slow-memory-kernels"])
    norm = "half[32,320,128,128] half[320] half[320] =32 =320 =16384 =32 =1e-05"
    moved = 2 * 32 * 320 * 128 * 128

    def in_parts(tb_s):    # the elementwise part is the operator's own: no neighbor could do it
        return call("aten::native_group_norm", norm,
                    ("void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::Half>", bytes_us(moved, tb_s)),
                    (ELEMENTWISE % (("GroupNormKernelImplInternal<c10::Half>",) * 2), bytes_us(2 * moved, tb_s)))
    yield "norm-in-parts", Case("A100", [in_parts(.3)], [in_parts(1.7)], ["slow-memory-kernels"])
    yield "double-weight", Case("H100", [
        call("aten::mul", "float[32768,4096] double[4096]", (ELEMENTWISE % (("MulFunctor<double>",) * 2),
                                                             bytes_us(12 * 2 ** 27, 2.7))),
        call("aten::tanh", "double[32768,4096]", (VECTORIZED % (("tanh_kernel",) * 2), bytes_us(2 ** 31, 2.9)))],
        [call("aten::mul", "float[32768,4096] float[4096]", (VECTORIZED % (("MulFunctor<float>",) * 2),
                                                             bytes_us(2 ** 30, 2.7)))], ["double-precision-leak"])
    yield "double-add", one("aten::add", "double[134217728] float[134217728] =1",
                            add(VECTORIZED).replace("float", "double"),
                            bytes_us(3 * 2 ** 30, 2.9), bytes_us(3 * 2 ** 29, 2.9), ["double-precision-leak"],
                            good_arguments="float[134217728] float[134217728] =1", good_kernel=add(VECTORIZED))
    moved = 2 * 65536 * 8192 * 2
    yield "rms-norm", one("_C::rms_norm", "bf16[65536,8192] bf16[65536,8192] bf16[8192] =1e-06",
                          "void vllm::rms_norm_kernel<c10::BFloat16, 8>(...)", bytes_us(moved, .8), bytes_us(moved, 2.6),
                          ["slow-memory-kernels"])
    moved = 3 * 65536 * 8192 * 2
    yield "gated", one("_C::silu_and_mul", "bf16[65536,8192] bf16[65536,16384]",
                       "void vllm::act_and_mul_kernel<c10::BFloat16, (c10::BFloat16 (*)(c10::BFloat16 const&)), true>(...)",
                       bytes_us(moved, .9), bytes_us(moved, 2.8), ["slow-memory-kernels"])
    yield "pooling", one("aten::max_pool2d_with_indices", "half[64,256,112,112] =[3,3] =[2,2] =[1,1] =[1,1] =False",
                         "void at::native::(anonymous namespace)::max_pool_forward_nchw<c10::Half>(...)", 4000, 330,
                         ["slow-memory-kernels"])


SMEM_SOFTMAX = ("void at::native::(anonymous namespace)::cunn_SoftMaxForwardSmem<4, float, float, float, at::native::"
                "(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)")
COPY = VECTORIZED % (("direct_copy_kernel_cuda(at::TensorIteratorBase&)",) * 2)


def types():
    """Floats that are wider than the model, on the way to a call or in it."""
    weights = 16384 * 4096
    thin = call("aten::mm", "bf16[4,4096] bf16[4096,16384]@1,4096", (NVJET, bytes_us(2 * weights, 2.8)))
    cast = call("aten::copy_", "bf16[16384,4096] float[16384,4096] =False", (COPY, bytes_us(6 * weights, 2.9)))
    yield "recast", Case("H100", [cast, thin], [thin], ["weights-cast-anew"])
    flops = 4 * 16 * 32 * 4096 ** 2 * 64
    wide, short = (" ".join([f"{name}[16,4096,32,64]"] * 3) for name in ("float", "bf16"))
    head = call("aten::mm", "bf16[65536,2048] bf16[2048,8192]", (NVJET, flops_us(2 * 65536 * 2048 * 8192, 700)))
    yield "wide-attention", Case("H100", [
        head, call("aten::_efficient_attention_forward", wide + " - - - =4096 =4096 =0. =0 =False",
                   ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
                    flops_us(flops, 27)))],
        [head, call("aten::_flash_attention_forward", short + " - - =4096 =4096 =0. =False =False =0.125 - - - -",
                    (FLASH, flops_us(flops, 420)))], ["wide-attention"])


def passes():
    """Work that several operators do together though one would do."""
    rows, words, hidden = 8192, 128256, 2048
    logits = rows * words
    short, full = f"bf16[{rows},{words}]", f"float[{rows},{words}]"
    head = call("aten::mm", f"bf16[{rows},{hidden}] bf16[{hidden},{words}]", (NVJET, flops_us(2 * logits * hidden, 690)))
    yield "vocabulary", Case("H100", [
        head, call("aten::copy_", f"{full} {short} =False", (COPY, bytes_us(6 * logits, 2.9))),
        call("aten::_log_softmax", f"{full} =1 =False", (SMEM_SOFTMAX, bytes_us(8 * logits, 2.8))),
        call("aten::_log_softmax_backward_data", f"{full} {full} =1 =6", (
            SMEM_SOFTMAX.replace("ForwardSmem", "Backward"), bytes_us(12 * logits, 2.8))),
        call("aten::copy_", f"{short} {full} =False", (COPY, bytes_us(6 * logits, 2.9)))],
        [head, call("liger::cross_entropy", f"{short} long[{rows}]", ("liger_cross_entropy_kernel",
                                                                      bytes_us(4 * logits, 2.7)))], ["vocabulary-loss"])
    image, vectors = "half[64,256,56,56]@802816,1,14336,256", " ".join(["float[256]"] * 4)
    moved, flops = 4 * 64 * 256 * 56 * 56, 2 * 64 * 56 * 56 * 256 * 256 * 9
    convolve = call("aten::cudnn_convolution", image + " half[256,256,3,3]" + CONV % 1, (FPROP, flops_us(flops, 230)))

    def norm(learns, kernel, kernel_us):
        return call("aten::cudnn_batch_norm", f"{image} {vectors} ={learns} =0.1 =1e-05", (kernel, kernel_us))
    yield "batch-norm-learns", Case(
        "A100", [convolve, norm(True, "nhwc_bn_fwd_train_kernel", bytes_us(moved, .9))],
        [convolve, norm(False, "nhwc_bn_fwd_inf_kernel", bytes_us(moved, 1.6))], ["batch-norm-in-training-mode"])
    keys, moved = "bf16[32,8,4,8192,128]", 32 * 8 * 8192 * 128 * 2
    spread = call("aten::copy_", f"{keys} {keys}@8388608,1048576,0,128,1 =False", (
        ELEMENTWISE % (("direct_copy_kernel_cuda",) * 2), bytes_us(5 * moved, 2.7)))

    def attend(heads, kernel_us):
        pairs = f"bf16[32,8192,{heads},128] bf16[32,8192,{heads},128]"
        return call("aten::_flash_attention_forward", f"bf16[32,1,32,128] {pairs} - - =1 =8192 =0. =False =False =0.088 "
                    "- - - -", (SPLIT_KV, kernel_us))
    rows, words = 256, 151936
    logits, full, short = rows * words, f"float[{rows},{words}]", f"bf16[{rows},{words}]"
    thin = call("aten::mm", f"bf16[{rows},4096] bf16[4096,{words}]@1,4096", (NVJET, bytes_us(2 * 4096 * words, 2.6)))
    yield "drawn", Case("H100", [
        thin, call("aten::copy_", f"{full} {short} =False", (COPY, bytes_us(6 * logits, 2.9))),
        call("aten::div_", f"{full} float[{rows},1]", (ELEMENTWISE % (("Div",) * 2), bytes_us(8 * logits, 2.7))),
        call("aten::_softmax", f"{full} =-1 =False", (SMEM_SOFTMAX.replace("Log", ""), bytes_us(8 * logits, 2.8))),
        call("aten::div", f"{full} {full}", (VECTORIZED % (("DivFunctor<float>",) * 2), bytes_us(12 * logits, 2.8))),
        call("aten::argmax", f"{full} =-1 =False", (REDUCE, bytes_us(4 * logits, 2.6)))],
        [thin, call("flashinfer::sample", short, ("TopKTopPSamplingFromProbKernel", bytes_us(4 * logits, 2.5)))],
        ["vocabulary-sampling"])
    yield "repeated-keys", Case("H100", [spread, spread, attend(32, bytes_us(8 * moved, 2.8))],
                                [attend(8, bytes_us(2 * moved, 2.7))], ["expanded-copies"])
    yield from types()
    packed, weights = 4096 * 11008 // 2, "bf16[4096,11008]"
    vector = "void gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, false, true, true, false>()"
    yield "dequantized", Case("H100", [
        call("bitsandbytes::dequantize_4bit", f"uint8[{packed},1] float[{packed // 32}] =64 =nf4",
             ("void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*, float*, __nv_bfloat16*)",
              bytes_us(packed * 5, 2.8))),
        call("aten::mm", "bf16[1,4096] " + weights, (vector, bytes_us(packed * 4, 2.9)))],
        [call("bitsandbytes::gemv_4bit", f"bf16[1,4096] uint8[{packed},1]", (
            "void kgemm_4bit_inference_naive<__nv_bfloat16, 128, 16>(int, int, int, __nv_bfloat16*, unsigned char*)",
            bytes_us(packed, 2.2)))], ["dequantized-weights"])
    weights = 8192 * 28672
    thin = call("aten::mm", "bf16[8,28672] bf16[28672,8192]@1,28672", (NVJET, bytes_us(2 * weights, 2.7)))
    yield "dequantized-by-operators", Case("H100", [
        call("aten::copy_", "bf16[8192,28672] int8[8192,28672] =False", (COPY, bytes_us(3 * weights, 2.6))),
        call("aten::mul", "bf16[8192,28672] bf16[8192,1]", (ELEMENTWISE % (("MulFunctor<float>",) * 2),
                                                            bytes_us(4 * weights, 2.6))), thin],
        [thin], ["dequantized-weights"])
    sizes, moved = "bf16[16384,8192]", 16384 * 8192
    product = call("aten::_scaled_mm", "fp8[16384,8192] fp8[8192,8192]@1,8192 float[] float[] - - =15 =False",
                   ("nvjet_qqtst_128x256_128x4_2x1_v_bz_coopA_TNT", flops_us(2 * moved * 8192, 1300)))
    yield "unfused-scaling", Case("H100", [
        call("aten::abs", sizes, (VECTORIZED % (("AbsFunctor<c10::BFloat16>",) * 2), bytes_us(4 * moved, 2.9))),
        call("aten::max", sizes, (REDUCE.replace("float", "c10::BFloat16"), bytes_us(2 * moved, 2.7))),
        call("aten::div", sizes, (VECTORIZED % (("DivFunctor<float>",) * 2), bytes_us(4 * moved, 2.9))),
        call("aten::clamp", sizes, (VECTORIZED % (("clamp_kernel",) * 2), bytes_us(4 * moved, 2.9))),
        call("aten::copy_", "fp8[16384,8192] " + sizes, (COPY.replace("direct", "float8"), bytes_us(3 * moved, 2.6))),
        product],
        [call("torchao::quantize", sizes, ("triton_red_fused_abs_amax_clamp_div_0", bytes_us(3 * moved, 2.8))), product],
        ["unfused-scaling"])


def experts():
    up, down = 22016 * 8192 * 2, 11008 * 8192 * 2
    flops = 2 * 8192 * 2 * (22016 + 11008) * 4096
    yield "experts-slow", one("vllm::rocm_aiter_fused_moe",
                              "bf16[8192,4096] bf16[8,22016,4096] bf16[8,4096,11008] float[8192,2]",
                              "aiter_fused_moe_kernel_bf16", flops_us(flops, 180), flops_us(flops, 560), ["slow-experts"],
                              None)
    read = 64 * (22016 + 11008) * 4096 * 2
    yield "experts-few-tokens", one(
        "vllm::rocm_aiter_fused_moe", "bf16[128,4096] bf16[64,22016,4096] bf16[64,4096,11008] float[128,2]",
        "aiter_fused_moe_kernel_bf16", bytes_us(read, 1.4), flops_us(2 * 2 ** 15 * 2 * (22016 + 11008) * 4096, 560),
        ["experts-few-tokens"], "MI300X", "bf16[32768,4096] bf16[64,22016,4096] bf16[64,4096,11008] float[32768,2]")
    yield "experts-few-tokens-read", one(
        "vllm::rocm_aiter_fused_moe", "bf16[128,4096] bf16[64,22016,4096] bf16[64,4096,11008] float[128,2]",
        "aiter_fused_moe_kernel_bf16", bytes_us(read, .9), bytes_us(read, 4.3), ["experts-few-tokens"], "MI300X")
    flops = 2 * 16384 * 8 * 3 * 2048 * 768
    yield "experts-triton", one(
        "vllm::inplace_fused_experts", "bf16[16384,2048] bf16[128,1536,2048] bf16[128,2048,768] float[16384,8] int[16384,8]",
        "fused_moe_kernel", flops_us(flops, 120), flops_us(flops, 480), ["slow-experts"])


def cases():
    """By name: (name, Case)."""
    for group in (products, convolutions, attention, traffic, passes, experts):
        yield from group()
