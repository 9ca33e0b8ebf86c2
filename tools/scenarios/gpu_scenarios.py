#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plant one cause each into a modeled GPU job, and write the trace with its truth.

    gpu_scenarios.py [CAUSE]...      write fixtures/scenarios/CAUSE/ and CAUSE-healthy/ (all causes without arguments)
    gpu_scenarios.py --check         write them elsewhere and compare; exit 1 if anything differs
    gpu_scenarios.py --list          the causes with the planted cost

The job runs twice on the model of gpu_model.py, with the cause and without it; the planted cost is the difference of the two
recorded windows. Nothing here was measured on a GPU, and the truth says so ("recording": "model").
"""
import argparse
import json
import os
import sys
import tempfile
from collections import namedtuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# noqa: E402
from gpu_jobs import (ColdTraining, Compiled, Convolutions, CopiedCache, CustomKernel, Decoder, Features, Pointwise,
                      Server, Towers, Training)
from make_fixtures import squeezed, unpacked  # noqa: E402
import recordings  # noqa: E402

# job(**settings, **(planted or healthy)) is the run; accept: the rules that name the cause, most fitting first;
# edit(run, planted) takes out what the recording lacks. Where only the recordings differ, the cause costs nothing.
Scenario = namedtuple("Scenario", "job settings planted healthy accept note edit", defaults=[None])
SCENARIOS = {
    "pageable-copies": Scenario(
        Training, {"input_bytes": 16 << 20}, {"pinned": False}, {}, ["pageable-copies"],
        "every batch is copied from memory that is not pinned; the twin pins it"),
    "sync-every-iteration": Scenario(
        Training, {"tokens": 2048, "steps": 7, "log_us": 700}, {"sync_at_end": True}, {}, ["explicit-sync"],
        "torch.cuda.synchronize() ends every step, before the loop's own bookkeeping"),
    "scalar-read-back": Scenario(
        Training, {"tokens": 2048}, {"items": 2}, {}, ["scalar-read-sync"],
        "the loss and the gradient norm are read with .item() in the middle of every step"),
    "slow-input-pipeline": Scenario(
        Training, {}, {"workers": 2}, {}, ["dataloader-wait", "dataloader-idle"],
        "two DataLoader workers instead of eight"),
    "malloc-in-loop": Scenario(
        Training, {"tokens": 2048}, {"scratch_mib": 64}, {}, ["device-malloc-in-loop"],
        "buffers are taken with cudaMalloc and given back with cudaFree in every step"),
    "no-copy-overlap": Scenario(
        Training, {"input_bytes": 48 << 20}, {}, {"prefetch": True}, ["exposed-input-copies"],
        "batches are copied on the compute stream when they are needed; the twin copies one ahead on a side stream"),
    "fp32-without-tensor-cores": Scenario(
        Training, {"steps": 4}, {"dtype": "fp32"}, {"dtype": "tf32"}, ["no-tensor-cores"],
        "matrix products in plain fp32; the twin allows TF32"),
    "per-tensor-optimizer": Scenario(
        Training, {"tokens": 2048, "steps": 4}, {"optimizer": "loop"}, {}, ["per-tensor-optimizer"],
        "AdamW updates one parameter after the other with eight kernels each; the twin is fused"),
    "exposed-communication": Scenario(
        Training, {"ranks": 4}, {"reduce": "after backward"}, {"reduce": "overlapped"},
        ["exposed-communication", "communication-not-overlapped"],
        "gradients are reduced after backward, one bucket after the other; the twin starts each bucket when it is full"),
    "reduced-one-by-one": Scenario(
        Training, {"ranks": 4, "layers": 4, "tokens": 2048, "steps": 3, "bus_bytes_per_s": 90e9},
        {"reduce": "after backward", "bucket_bytes": 1},
        {"reduce": "overlapped"}, ["one-by-one-collectives"],
        "after backward a loop over the parameters reduces one gradient after the other; the twin fills buckets meanwhile"),
    "straggler": Scenario(
        Training, {"ranks": 4, "reduce": "overlapped"}, {"peer_lag_us": 4200.0}, {}, ["slow-collectives"],
        "another rank comes some milliseconds late to the first collective of every step, as one rank's trace shows it"),
    "gradient-accumulation-without-no-sync": Scenario(
        Training, {"ranks": 4, "steps": 3, "layers": 1, "tokens": 2048, "micro_batches": 3, "reduce": "overlapped",
                   "workers": 16, "bus_bytes_per_s": 40e9}, {"reduce_every": 1}, {"reduce_every": 3},
        ["accumulation-reduces", "exposed-communication"],
        "gradients are reduced after each of three micro-batches; the twin uses no_sync() for all but the last"),
    "tiny-kernels": Scenario(
        Decoder, {"steps": 4}, {}, {"graph": True}, ["host-bound-small-ops"],
        "decoding launches hundreds of kernels of 2 to 4 us one by one; the twin replays them as one CUDA graph"),
    "engine-waits-to-schedule": Scenario(
        Server, {"layers": 12, "width": 2048, "schedule_us": 420.0}, {"ahead": False}, {}, ["engine-gaps"],
        "an inference engine waits for the tokens of each step before it schedules the next one; the twin schedules ahead"),
    "engine-without-graphs": Scenario(
        Server, {"layers": 12, "width": 2048, "steps": 12}, {"graph": False}, {}, ["decode-without-graphs"],
        "an inference engine launches the kernels of each decode step one by one; the twin replays a graph"),
    "serialized-streams": Scenario(
        Towers, {}, {"ordered": True}, {}, ["serialized-streams"],
        "an event makes each of two streams wait for the other, so that nothing runs side by side"),
    "low-occupancy-grid": Scenario(
        CustomKernel, {}, {"tiled": False}, {}, ["small-grids", "low-sm-efficiency"],
        "a kernel with one block per sample leaves most multiprocessors empty; the twin's grid is one block per tile"),
    "memory-bound-kernels": Scenario(
        Pointwise, {}, {}, {"fused": True},
        ["uncompiled-elementwise", "fusable-sequences", "memory-bound-kernels", "written-out"],
        "eight pointwise operators one after the other; in the twin a compiler fused them, and matrix products take most "
        "of the time"),
    "device-to-device-churn": Scenario(
        CopiedCache, {}, {"cloned": True}, {}, ["device-to-device-copies"],
        "a cache is cloned in every layer; the twin writes it in place"),
    "cold-start": Scenario(
        ColdTraining, {}, {}, {"cold": False}, ["cold-start-step", "lazy-loading", "warm-up-steps", "start-up-in-window"],
        "the recording begins with the first step of the process: lazy module loading and first allocations; the "
        "twin is warm"),
    "layout-conversions": Scenario(
        Convolutions, {}, {}, {"channels_last": True}, ["layout-conversions"],
        "convolutions on channels-first tensors convert before and after; the twin is channels last"),
    "recompiles": Scenario(
        Compiled, {}, {"recompiles": True}, {}, ["recompiles"],
        "every other step meets a new shape and compiles again; the twin has one version"),
    "copies-to-host": Scenario(
        Features, {}, {"to_host": True}, {}, ["large-results-to-host", "pageable-copies", "device-ran-dry"],
        "each batch's result goes to the host with .cpu(); the twin collects it on the device"),
    "slow-loader-in-process": Scenario(
        Training, {"batch_ms": 5.0}, {"workers": 0}, {}, ["dataloader-in-process"],
        "num_workers=0: the loop makes each batch itself; the twin has eight workers"),
    "missing-autocast": Scenario(
        Training, {"steps": 4, "tokens": 2048}, {"dtype": "fp32"}, {"dtype": "bf16", "cast_weights": True},
        ["no-tensor-cores"],
        "matrix products in fp32; the twin runs under autocast, which casts the weights"),
    "unfused-attention": Scenario(
        Training, {"steps": 4, "tokens": 2048}, {"attention_kind": "plain"}, {}, ["unfused-attention"],
        "attention as two matrix products with a softmax between them; the twin uses scaled_dot_product_attention"),
    "unaligned-sizes": Scenario(
        Training, {"steps": 4, "tokens": 2048}, {"width": 1021}, {}, ["unaligned-sizes"],
        "a hidden size of 1021; the twin's is 1024"),
    "data-dependent-size": Scenario(
        Training, {"tokens": 2048}, {"masked": "index"}, {"masked": "where"}, ["data-dependent-sync"],
        "tensors are indexed with a boolean mask all over the forward pass; the twin masks with torch.where"),
    "pinned-buffer-each-batch": Scenario(
        Training, {"tokens": 2048, "input_bytes": 6 << 20}, {"pin_each_batch": True}, {}, ["pinned-alloc-in-loop"],
        "each batch is pinned in the loop, in memory that is taken and given back each time; the twin's loader pins"),
    "python-overhead": Scenario(
        Training, {"tokens": 2048}, {"python_us": 240.0}, {},
        ["host-bound", "host-bound-small-ops", "python-between-operators"],
        "the model's code spends a quarter of a millisecond of Python before each operator"),
    "environment-in-loop": Scenario(
        Training, {"tokens": 2048, "items": 2}, {"environment_ms": 14.0}, {},
        ["python-between-operators"],
        "an environment is stepped in Python between two steps, 14 ms in which the GPU has nothing to do; with stacks"),
    "pause-without-stacks": Scenario(
        Training, {"tokens": 2048, "items": 2}, {"log_us": 14000}, {}, ["unrecorded-host-time"],
        "14 ms of Python between two steps, while the GPU has nothing to do; recorded without stacks"),
    "kernels-tuned": Scenario(
        Training, {"tokens": 2048}, {"candidates": 12}, {}, ["kernel-tuning-in-window"],
        "a kernel of Triton is tuned in the second recorded step; recorded with stacks; the twin was warm"),
    "driver-lock": Scenario(
        Training, {"tokens": 2048, "workers": 16}, {"query_us": 260.0}, {}, ["driver-calls-in-steps"],
        "another thread holds the driver's lock: each operator waits a quarter of a millisecond in a call that asks for an "
        "event"),
    "empty-cache-each-step": Scenario(
        Training, {"tokens": 2048}, {"empty_cache": True}, {}, ["empty-cache-in-loop", "device-malloc-in-loop"],
        "torch.cuda.empty_cache() ends every step; recorded with stacks"),
    "garbage-collection": Scenario(
        Training, {"tokens": 2048}, {"collect_garbage": True}, {}, ["explicit-gc"],
        "gc.collect() ends every step; recorded with stacks"),
    "shared-cores": Scenario(
        Training, {"tokens": 2048, "layers": 4, "steps": 6, "workers": 16}, {"shares_core": True}, {}, ["threads-off-core"],
        "other processes use the job's cores, so that its threads stand still for 4 or 8 ms now and then; the twin has "
        "its cores for itself"),
    "metrics-each-step": Scenario(
        Training, {"tokens": 2048, "workers": 16}, {"metrics": "read"}, {"metrics": "added"}, ["scalar-read-sync"],
        "two accuracies are made and read at the end of each step; the twin adds them up; recorded without stacks"),
    "tensor-printed": Scenario(
        Training, {"tokens": 2048, "workers": 16}, {"prints": True}, {}, ["tensors-formatted"],
        "a small tensor is printed in the middle of each step, value by value; recorded without stacks"),
    "dtype-casts": Scenario(
        Training, {"tokens": 2048, "steps": 4}, {"casts": True}, {}, ["copy-kernels", "copy-as-symptom"],
        "activations are cast to 32 bits and back in every layer"),
    "small-uploads": Scenario(
        Training, {"tokens": 2048}, {"uploads": True}, {}, ["device-ran-dry"],
        "numbers are brought to the device with torch.tensor(x, device=\"cuda\") all over the forward pass"),
    "zeroed-gradients": Scenario(
        Training, {"tokens": 1024}, {"zero_grad": "fill"}, {}, ["zero-grad"],
        "zero_grad(set_to_none=False): gradients are filled with zeros and added to; the twin forgets them"),
    "graph-breaks": Scenario(
        Compiled, {}, {"breaks": True}, {}, ["graph-breaks", "many-compiled-regions"],
        "a statistic is logged in each layer, which breaks the graph; the twin is one graph"),
    "queue-at-start": Scenario(
        Training, {"tokens": 8192, "steps": 4, "workers": 16}, {}, {}, ["launched-before"],
        "the recording begins while the host is ahead and the device has a step's work queued; the twin has all of it",
        recordings.begin_within),
    "sampled-rows": Scenario(
        Training, {"tokens": 4096, "steps": 4, "workers": 16}, {}, {}, ["queued-work-waits"],
        "two of three rows of kernels were left out by whoever filtered the file; the twin has all", recordings.sample),
    "host-rows-only": Scenario(
        Training, {"tokens": 2048, "steps": 4, "workers": 16}, {}, {}, ["gpu-rows-missing"],
        "a GPU job of which only host rows and launches were recorded; the twin has its GPU rows", recordings.drop_device),
    "graph-capture": Scenario(
        Decoder, {"steps": 4}, {}, {"graph": True}, ["graph-capture-only", "graph-capture-in-window"],
        "the recording is of the capture of a CUDA graph: launches that run nothing; the twin replays it",
        recordings.capture),
    "linked-by-external-id": Scenario(
        Training, {"steps": 4, "tokens": 2048}, {"attention_kind": "plain"}, {}, ["unfused-attention"],
        "attention as two matrix products with a softmax between them, in files whose rows share the external id alone",
        recordings.drop_correlation),
    "other-tracer": Scenario(
        Training, {"steps": 4, "tokens": 2048, "workers": 16}, {}, {}, ["unknown-categories", "no-steps"],
        "host rows as a tracer of Python functions writes them, whose category nobody knows; the twin is PyTorch's own file",
        recordings.as_other_tracer),
}


# Rules about the recording: what they name costs the run nothing.
RECORDINGS = ("launched-before", "queued-work-waits", "gpu-rows-missing", "graph-capture-only", "unknown-categories")


def recorded(cause, planted, **changes):
    """The run of a cause, or of its twin; changes of the settings make another job of it, for trying rules."""
    scenario = SCENARIOS[cause]
    known = {**scenario.settings, **changes, **(scenario.planted if planted else scenario.healthy)}
    return scenario.job(**known).record()


# ------------------------------------------------------------------------------------------------ files

def truth(cause, planted, cost_ns):
    scenario = SCENARIOS[cause]
    return {"cause": cause, "planted": planted, "twin": cause + "-healthy" if planted else cause, "recording": "model",
            "made_by": "tools/scenarios/gpu_scenarios.py " + cause, "accept": scenario.accept if planted else [],
            "unit": "us",
            "planted_cost": round(cost_ns / 1000, 3) if planted else None,
            "note": scenario.note + "; the cost is the difference of the two modeled windows"}


def built(cause):
    """(folder, trace, truth) of the cause and of its twin."""
    sick, well = recorded(cause, True), recorded(cause, False)
    edit, lacks = SCENARIOS[cause].edit, SCENARIOS[cause].accept[0] in RECORDINGS
    cost_ns = 0 if lacks else sick.window_ns() - well.window_ns()
    for folder, run, planted in ((cause, sick, True), (cause + "-healthy", well, False)):
        if edit:
            edit(run, planted)
        text = json.dumps(truth(cause, planted, cost_ns), indent=1) + "\n"
        yield folder, squeezed(run.document()), text.encode()


def write(folder, causes):
    for cause in causes:
        for name, trace, truth_text in built(cause):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
            for file, data in (("trace.json.gz", trace), ("truth.json", truth_text)):
                with open(os.path.join(folder, name, file), "wb") as stream:
                    stream.write(data)
                yield os.path.join(name, file)


def differences(folder, causes):
    """Generated files that differ from those in the folder, compressed ones by content."""
    with tempfile.TemporaryDirectory() as fresh:
        for path in write(fresh, causes):
            there = os.path.join(folder, path)
            if not os.path.exists(there):
                yield path + ": missing"
                continue
            with open(there, "rb") as a, open(os.path.join(fresh, path), "rb") as b:
                if unpacked(a.read()) != unpacked(b.read()):
                    yield path + ": differs"


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(root, "fixtures", "scenarios"), help="folder of the scenarios")
    parser.add_argument("--check", action="store_true", help="compare with the folder instead of writing to it")
    parser.add_argument("--list", action="store_true", help="print the causes and their planted costs")
    parser.add_argument("cause", nargs="*", help="which causes (all)")
    options = parser.parse_args()
    causes = options.cause or list(SCENARIOS)
    if options.list:
        for cause in causes:
            sick, well = (recorded(cause, planted).window_ns() / 1e6 for planted in (True, False))
            print("%-28s %9.3f ms, %9.3f ms without, cost %8.3f ms = %4.1f %%" % (cause, sick, well, sick - well,
                                                                                  100 * (sick - well) / sick))
        return 0
    if not options.check:
        print("%d files written to %s" % (len(list(write(options.out, causes))), options.out))
        return 0
    found = list(differences(options.out, causes))
    print("\n".join(found) if found else "modeled GPU scenarios are as generated")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
