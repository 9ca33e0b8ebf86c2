#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels that are slow for one planted cause (tools/scenarios/kernel_cases.py): a rule that fits the cause stands first. Of
the same work by a good kernel nothing of medium or higher severity is said. Prints TAP."""
import sys
import tempfile
from pathlib import Path

from program import Program, program_of
from tap import Tap

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools" / "scenarios"))
import kernel_cases  # noqa: E402


PEAKS = """| Device | Kind | fp32 | 16 bit | GB/s | Matmul % |
| --- | --- | --- | --- | --- | --- |
| H100 | NVIDIA | 67 | 989.4 | 3350 | 80 |
"""


def report_of(program, folder, text, *more):
    """None where the program failed."""
    trace = Path(folder) / "trace.json"
    trace.write_text(text, encoding="utf-8")
    code, report, _ = Program(program, folder).report(trace, *more)
    return None if code else report


def told(program, folder, text):
    """(rule, severity) of the findings above a remark, the first one first; None where the program failed."""
    report = report_of(program, folder, text)
    return report and [(f["rule_id"], f["severity"]) for f in report["findings"] if f["severity"] != "info"]


def test_lengths(tap, program, folder):
    """Attention over sequences whose lengths the engine's annotation sums up: two steps of the same shapes, and none."""
    made = kernel_cases.call("vllm::unified_attention_with_output",
                             "bf16[8192,64,64] bf16[8192,8,64] bf16[8192,8,64] bf16[8192,64,64] - - - -",
                             ("kernel_unified_attention_2d", 140))
    steps = {"execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)":
             4 * 64 * 64 * (7671310 - 7475785 / 2 + 34489), "execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk6400"
             "sqsq64sqsk6400)": 4 * 64 * 64 * 6400, "a range of the user": None}
    recorder = kernel_cases.Recorder("H100")
    for name in steps:
        begin_us = recorder.host_us
        recorder.call(made)
        recorder.call(made)
        recorder.add("user_annotation", name, begin_us - 1, recorder.host_us - begin_us + 2, 4242, {})
        recorder.host_us += 50
    report = report_of(program, folder, recorder.document())
    found = [(row["flops"], row["count"]) for row in report["compute"]["operators"]] if report else []
    tap.same(sorted(found, key=str), sorted(((flops, 2) for flops in steps.values()), key=str), "operations by lengths")


def test_causes_by_lengths(tap, program, folder):
    """Why an engine's attention is slow goes by how long its sequences are in the mean, where the annotation says."""
    made = kernel_cases.call("vllm::unified_attention_with_output",
                             "bf16[888,8,64] bf16[888,1,64] bf16[888,1,64] bf16[888,8,64] - - - -",
                             ("kernel_unified_attention_2d", 400))
    for name, expected in (("execute_context_1(888_788544)_generation_0(0)", "slow_attention"),
                           ("execute_context_8(888_98568)_generation_0(0)", "short_attention")):
        recorder = kernel_cases.Recorder("H100")
        begin_us = recorder.host_us
        recorder.call(made)
        recorder.add("user_annotation", name, begin_us - 1, recorder.host_us - begin_us + 2, 4242, {})
        report = report_of(program, folder, recorder.document())
        tap.same([row["cause"] for row in report["compute"]["operators"]] if report else [], [expected], name)


def test_clears_first(tap, program, folder):
    """An operator that clears its result and then adds up into it is judged by its own kernels."""
    recorder = kernel_cases.Recorder("A100")
    for _ in range(kernel_cases.CALLS):
        begin_us = recorder.host_us
        recorder.call(kernel_cases.call("aten::fill_", "half[8,64,256,256] =0", ("void FillFunctor<c10::Half>", 40)))
        recorder.launch("void at::native::upsample_bilinear2d_backward_out_frame<c10::Half, float>(...)", 9000)
        made = kernel_cases.call("", "half[8,64,512,512] =[512,512] =[8,64,256,256] =False - -")
        recorder.add("cpu_op", "aten::upsample_bilinear2d_backward", begin_us - 1, recorder.host_us - begin_us + 2, 4242,
                     kernel_cases.op_arguments(made))
    said = told(program, folder, recorder.document())
    tap.same(said and said[0][0], "scattered-access", "gradients of a resized image, which is cleared first")


def test_algorithms_tried(tap, program, folder):
    """The first call of a convolution runs each algorithm; where all launch as many kernels, it is just slow."""
    image, weight = "bf16[32,256,56,56]@802816,1,14336,256", "bf16[256,256,3,3]"
    arguments = f"{image} {weight} =[1,1] =[1,1] =[1,1] =1 =True =False =True"
    for tries in (True, False):
        recorder = kernel_cases.Recorder("H100")
        for number in range(kernel_cases.CALLS):
            around = [("nchwToNhwcKernel", 2)] * (0 if tries else 4)
            tried = [("implicit_convolve_sgemm", 3000)] * (5 if tries else 1)
            kernels = around + (tried if number == 0 else []) + [(kernel_cases.FPROP, 200)] * (1 if tries or number else 0)
            recorder.call(kernel_cases.call("aten::cudnn_convolution", arguments, *kernels))
        said = told(program, folder, recorder.document())
        tap.same(said is not None and "algorithms-tried" in dict(said), tries, "algorithms that are tried in the first call")


def test_vector_after_vector(tap, program, folder):
    """One matrix for vector after vector; not layers of a model, which have activations between, fused ones too."""
    product = kernel_cases.call("aten::mv", "bf16[8192,8192] bf16[8192]", ("gemv2T_kernel_val", 47))
    between = kernel_cases.call("aten::relu", "bf16[8192]", ("vectorized_elementwise_kernel", 2))
    fused = kernel_cases.call("triton_poi_fused_relu_0", "bf16[8192]", ("triton_poi_fused_relu_0", 2))
    for calls, expected in (([product], True), ([product] * 3 + [between], False), ([product] * 3 + [fused], False)):
        recorder = kernel_cases.Recorder("H100")
        for made in calls * (64 // len(calls)):
            recorder.call(made)
        said = told(program, folder, recorder.document())
        tap.same([rule for rule, _ in said or [] if rule == "vector-after-vector"], ["vector-after-vector"] * expected,
                 "a matrix that is read for each vector")


def test_plans(tap, program, folder):
    """Calls of a library that take the host milliseconds build plans; in some hundred microseconds they are looked up."""
    for us, expected in ((300, False), (9000, True)):
        recorder = kernel_cases.Recorder("A100")
        for step in range(6):
            begin_us = recorder.host_us
            for _ in range(4):
                at_us = recorder.host_us
                recorder.launch("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32", 20)
                recorder.host_us = at_us + us
                recorder.add("cpu_op", "aten::cudnn_convolution", at_us, us - 1, 4242, {})
            recorder.add("user_annotation", f"ProfilerStep#{step}", begin_us, recorder.host_us - begin_us, 4242, {})
        said = told(program, folder, recorder.document())
        tap.same(said and any(rule == "library-plans-in-steps" for rule, _ in said), expected, f"plans at {us} us a call")


def test_unknown_device(tap, program, folder):
    """Without properties of devices kernels are held against the least device that could be meant and could do it."""
    mm, add = "bf16[8192,8192] bf16[8192,8192]", "float[67108864] float[67108864] =1"
    for kernel, operator, arguments, us, expected in (
            ("Cijk_Alik_Bljk_BBS_MT256x256x64", "aten::mm", mm, 8000, ("MI100", "make", False)),
            ("Cijk_Alik_Bljk_BBS_MT256x256x64", "aten::mm", mm, 4400, ("MI300X", "make", False)),
            ("Cijk_Alik_Bljk_BBS_MT256x256x64_ISA942", "aten::mm", mm, 8000, ("MI300X", "kernel names", True)),
            ("ampere_bf16_s16816gemm_bf16_256x128_tn", "aten::mm", mm, 8000, ("A40", "make", False)),
            ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "aten::mm", mm, 1300, ("H100 NVL", "kernel names", True)),
            ("gemm_e4m3", "aten::_scaled_mm", "fp8[8192,8192] fp8[8192,8192]@1,8192 float[] float[] - - =15 =False", 6000,
             ("L4", "nothing", False)),    # the least one with a rate for 8 bits
            ("elementwise_kernel", "aten::add", add, 2000, ("A10G", "nothing", False)),
            ("elementwise_kernel", "aten::add", add, 600, ("RTX 5090", "nothing", False))):
        recorder = kernel_cases.Recorder(None)
        for _ in range(kernel_cases.CALLS):
            recorder.call(kernel_cases.call(operator, arguments, (kernel, us)))
        report = report_of(program, folder, recorder.document())
        report = report or {"compute": {"device": {}, "lost_ratio": 0}, "findings": []}
        device, findings = report["compute"]["device"], report["findings"]
        tap.same((device.get("judged_as"), device.get("told_by"), report["compute"]["lost_ratio"] is not None), expected,
                 f"{kernel} in {us} us: the device, and whether what is lost is known")
        tap.same((device.get("stand_in_gb_s") is None, [f["severity"] for f in findings if f["rule_id"] == "least-device"],
                  [f["rule_id"] for f in findings if f["severity"] in ("medium", "high", "critical") and not expected[2]]),
                 (expected[2], [] if expected[2] else ["info"], []),
                 f"{kernel} in {us} us: a device that stands in is told, and blames nothing for more than little")


def test_device_of_table(tap, program, folder):
    """A table with one row tells the device that the file does not; of two rows nobody knows which."""
    recorder = kernel_cases.Recorder(None)
    for _ in range(kernel_cases.CALLS):
        recorder.call(kernel_cases.call("aten::add", "float[67108864] float[67108864] =1", ("elementwise_kernel", 1610.6)))
    table = Path(folder) / "peaks.md"
    for text, expected in ((PEAKS, ("H100", "table", 14.8, "high")),
                           (PEAKS + "| Other | NVIDIA | 1 | 1 | 1 | 80 |\n", ("A10G", "nothing", 82.7, None))):
        table.write_text(text, encoding="utf-8")
        report = report_of(program, folder, recorder.document(), "--peaks", str(table))
        device = report["compute"]["device"] if report else {}
        said = [f["severity"] for f in report["findings"] if f["rule_id"] == "slow-memory-kernels"] if report else []
        ratio = report and round(report["compute"]["longest"]["roofline_ratio"] * 100, 1)
        tap.same((device.get("judged_as"), device.get("told_by"), ratio, said[0] if said else None),
                 expected, f"{expected[0]}: the device, and what is reached of its roofline")


def test_other_sizes(tap, program, folder):
    """A part of a device, and a kin of it that has its name: held against what so many multiprocessors can do."""
    a100, mi300x = kernel_cases.PROPERTIES["A100"], kernel_cases.PROPERTIES["MI300X"]
    for properties, rate, gb_s in (
            ({**a100, "name": a100["name"] + " MIG 1g.10gb", "numSms": 14, "totalGlobalMem": 10 << 30}, 40.4, 2039 / 8),
            ({**mi300x, "numSms": 38}, 163.4, 5300 / 8), ({**a100, "numSms": 106}, 312, 2039)):
        kernel_cases.PROPERTIES["part"] = properties
        recorder = kernel_cases.Recorder("part")
        for _ in range(kernel_cases.CALLS):
            recorder.call(kernel_cases.call("aten::mm", "bf16[4096,4096] bf16[4096,4096]",
                                            ("k", 2 * 4096**3 / rate / 0.6e6)))
            recorder.call(kernel_cases.call("aten::add", "float[67108864] float[67108864] =1",
                                            ("e", 805306368 / gb_s / 850)))
        report = report_of(program, folder, recorder.document()) or {"compute": {"device": {"rates": []}}, "findings": []}
        device, above = report["compute"]["device"], [f for f in report["findings"] if f["severity"] != "info"]
        rates = [round(row["tflop_s"], 1) for row in device["rates"] if row["type"] == "16 bit"]
        tap.same((rates, round(device.get("gb_s", 0)), device.get("estimated"), above),
                 ([rate], round(gb_s), rate < 312, []), f"{properties['numSms']} multiprocessors of {properties['name']}")


def test_convolutions_of_unknown_size(tap, program, folder):
    """Convolutions in 32 bits whose stride and padding nobody recorded, among products in 16 bits."""
    plain = "implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3>"
    tf32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_tensor16x8x8__5x_cudnn"
    for channels, kernel, expected in ((256, plain, ["wide-products"]), (16, plain, []), (256, tf32, [])):
        recorder = kernel_cases.Recorder("A100")
        for _ in range(kernel_cases.CALLS):
            recorder.call(kernel_cases.call("aten::mm", "bf16[8192,8192] bf16[8192,8192]", (kernel_cases.AMPERE, 4400)))
            dims = f"float[16,{channels},64,64] float[256,{channels},3,3]"
            recorder.call(kernel_cases.call("aten::cudnn_convolution", dims, (kernel, 4400)))
        said = told(program, folder, recorder.document())
        tap.same(said is not None and [rule for rule, _ in said], expected, f"{channels} channels, {kernel[:20]}")


def test_not_judged(tap, program, folder):
    """Work that shapes do not tell, or that the table of devices has no rate for: whatever its time, nothing is said."""
    for kernel, operator, arguments in (
            ("void cusparse::csrmm_alg2_kernel<...>(...)", "aten::addmm", "float[4096,64] float[4096,4096] float[4096,64]"),
            ("sm90_xmma_sparse_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel__5x_cublas", "aten::linear",
             "bf16[8192,8192] bf16[8192,8192] -"),
            ("cutlass_80_tensorop_c1688gemm_128x64_16x4_nn_align1", "aten::mm", "complex[1024,1024] complex[1024,1024]"),
            ("gemm_kernel", "aten::mm", "long[1024,1024] long[1024,1024]")):
        for us in (700, 7000):
            recorder = kernel_cases.Recorder("H100")
            for _ in range(kernel_cases.CALLS):
                recorder.call(kernel_cases.call(operator, arguments, (kernel, us)))
            report = report_of(program, folder, recorder.document()) or {"compute": {"operators": [{"good_us": 0}]}}
            tap.same((report["compute"]["operators"][0]["good_us"],
                      [f["rule_id"] for f in report["findings"] if f["rule_id"].startswith("slow-")]), (None, []),
                     f"{kernel} in {us} us is not judged")


def main():
    program = program_of(__doc__)
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        test_lengths(tap, program, folder)
        test_causes_by_lengths(tap, program, folder)
        test_clears_first(tap, program, folder)
        test_algorithms_tried(tap, program, folder)
        test_vector_after_vector(tap, program, folder)
        test_plans(tap, program, folder)
        test_unknown_device(tap, program, folder)
        test_device_of_table(tap, program, folder)
        test_convolutions_of_unknown_size(tap, program, folder)
        test_not_judged(tap, program, folder)
        test_other_sizes(tap, program, folder)
        for name, case in kernel_cases.cases():
            slow, good = (told(program, folder, kernel_cases.document(case, planted)) for planted in (True, False))
            tap.ok(bool(slow) and slow[0][0] in case.accept, f"{name}: {case.accept[0]} stands first, of {slow}")
            tap.ok(good is not None and all(severity == "low" for _, severity in good), f"{name}: a good kernel, {good}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
