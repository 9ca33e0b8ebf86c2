/* SPDX-License-Identifier: MIT
 * What a user can record or bring, how to see in the tree whether this run has it, and how to ask for it. */
#include <string.h>

#include "option_names.h"
#include "rule.h"

#include "poison.h"

enum presence {
    PRESENT_OBJECT, /* the path holds an object */
    PRESENT_TRUE,   /* the path holds a bool that is true */
    PRESENT_NUMBER, /* the path holds a number of at least @at_least */
    PRESENT_NEVER   /* nothing in one run's report can show it */
};

struct artifact {
    const char *id;
    enum presence presence;
    const char *path;
    int64_t at_least;
    const char *figures; /* which figures it makes known: "prefix." or "*.suffix", separated by spaces; "" = none */
    const char *request;
};

/* In the order in which they are asked for: what stands first makes the later ones possible. Requests begin with what the
 * thing is; they hold no line breaks. */
static const struct artifact artifacts[] = {
    { "trace", PRESENT_OBJECT, "trace", 0,
      "trace. cpu. steps. gpu. split. idle. data_loading. verdict. critical_path. links. launches. runtime. sync. copies. "
      "communication. "
      "compile. accelerator. phases. operators. modules. frames. autograd. drilldown. habits. compute. engine. graphs. "
      "repeats. "
      "trace_memory. joined.",
      "a PyTorch profiler trace (`" AP_OPTION_CPU_TRACE "`): run a few steps under `torch.profiler.profile` and call "
      "`prof.export_chrome_trace(\"trace.json.gz\")`" },
    { "snapshot", PRESENT_OBJECT, "memory", 0, "memory. joined.",
      "a CUDA memory snapshot as JSON (`" AP_OPTION_MEMORY_JSON "`): call "
      "`torch.cuda.memory._record_memory_history(max_entries=100000, stacks=\"python\")`, run a few steps, then write "
      "`torch.cuda.memory._snapshot()` with `json.dump`" },
    { "operators", PRESENT_NUMBER, "cpu.operator_summary.events", 1,
      "cpu.operator_summary. cpu.thread_summary. operators. phases. drilldown. habits.",
      "operator rows in the trace: record with `ProfilerActivity.CPU` among the activities" },
    { "gpu-rows", PRESENT_TRUE, "trace.recorded.gpu", 0,
      "gpu. compute. idle. data_loading.idle_ verdict.memory_ split.judged.idle_ split.judged.compute_ split.judged.memset_ "
      "split.judged.exposed_ split.window.idle_ split.window.compute_ split.window.memset_ split.window.exposed_ "
      "*.device_us *.device_share_ratio *_device_us",
      "GPU rows in the trace: record with `ProfilerActivity.CUDA` among the activities, on the machine with the GPU" },
    { "runtime-rows", PRESENT_TRUE, "trace.recorded.runtime", 0, "",
      "CUDA or HIP runtime rows in the trace: record with `ProfilerActivity.CUDA` among the activities" },
    { "steps", PRESENT_NUMBER, "steps.count", 1, "steps. split.steady. *.host_per_steady_step_us",
      "step marks in the trace: call `prof.step()` once per iteration, with "
      "`schedule=torch.profiler.schedule(wait=1, warmup=3, active=5)`" },
    { "three-steps", PRESENT_NUMBER, "steps.count", 3, "steps. *.per_step",
      "a trace of at least three steps: `schedule=torch.profiler.schedule(wait=1, warmup=3, active=5)` with "
      "`prof.step()` once per iteration" },
    { "shapes", PRESENT_TRUE, "trace.recorded.shapes", 0, "compute.", "operator shapes: record with `record_shapes=True`" },
    { "stacks", PRESENT_TRUE, "trace.recorded.stacks", 0, "modules. frames.",
      "Python stacks, to name the source line: one run with `with_stack=True` (it slows the host; do not time that run)" },
    { "trace-memory", PRESENT_TRUE, "trace.recorded.memory", 0, "trace_memory.",
      "memory events in the trace: record with `profile_memory=True`" },
    { "whole-trace", PRESENT_TRUE, "trace.complete", 0, "",
      "a trace that was written to its end: let `export_chrome_trace` return before the job ends, and check the disk" },
    { "history", PRESENT_TRUE, "memory.recorded.history", 0, "memory.history.",
      "allocator history in the snapshot: call "
      "`torch.cuda.memory._record_memory_history(max_entries=100000, stacks=\"python\")` before the steps that matter" },
    { "snapshot-stacks", PRESENT_TRUE, "memory.recorded.stacks", 0, "",
      "stacks in the snapshot: call `torch.cuda.memory._record_memory_history(context=\"all\", stacks=\"python\")` before "
      "the steps that matter" },
    { "requested-sizes", PRESENT_TRUE, "memory.recorded.requested_sizes", 0, "memory.state.rounding_",
      "requested sizes in the snapshot: take it with a newer PyTorch, which records them" },
    { "blocks", PRESENT_TRUE, "memory.recorded.blocks", 0,
      "memory.state.inactive_ memory.state.wholly_ memory.state.pending_ memory.state.largest_ memory.state.external_",
      "the blocks of the segments: write `torch.cuda.memory._snapshot()` whole" },
    { "settings", PRESENT_TRUE, "memory.recorded.settings", 0, "memory.settings.",
      "allocator settings in the snapshot: write `torch.cuda.memory._snapshot()` whole, with PyTorch 2.3 or later" },
    { "recorded-members", PRESENT_TRUE, "hang.recorded.members", 0, "hang.",
      "dumps of all ranks by the recorder of NCCL: gloo's tell neither the members of the groups nor sends and receives" },
    { "standstill", PRESENT_TRUE, "hang.recorded.standstill", 0, "",
      "dumps of a job that stands still: write those of all ranks once more, a minute later" },
    { "onnx-profile", PRESENT_OBJECT, "onnxruntime", 0, "onnxruntime. profile.",
      "a profile of an ONNX Runtime session: set `enable_profiling` of its options, run it some dozens of times, and call "
      "`end_profiling()`" },
    { "engine-times", PRESENT_OBJECT, "tensorrt.times", 0, "tensorrt.times.",
      "times of queries of the TensorRT engine: the file that `exportTimes` of trtexec writes" },
    { "engine-layers", PRESENT_OBJECT, "tensorrt.layers", 0, "tensorrt.layers.",
      "layers of the TensorRT engine: the files that `exportProfile` and `exportLayerInfo` of trtexec write" },
    { "compile-log", PRESENT_TRUE, "compile_log.structured", 0, "compile_log.",
      "the structured log of torch.compile: the folder that the environment variable `TORCH_TRACE` names" },
    { "plain-run", PRESENT_NEVER, NULL, 0, "",
      "step times of a run without the profiler: recording slows the host, so its share is an upper bound" },
    { "rank-snapshots", PRESENT_NEVER, NULL, 0, "cluster.memory.",
      "a memory snapshot of each rank as JSON, with its rank in the name of the file, beside the traces" },
    { "other-ranks", PRESENT_NEVER, NULL, 0, "cluster.",
      "traces of all ranks over the same steps: without them a slow link looks like waiting for a slow rank" },
    { "other-runs", PRESENT_NEVER, NULL, 0, "", "a trace of the same job with one setting changed, to compare" },
    { "baseline", PRESENT_OBJECT, "comparison", 0, "comparison.",
      "something to compare with (`" AP_OPTION_BASELINE "`): an older report, trace or snapshot of the same job" },
    { "device-memory", PRESENT_NEVER, NULL, 0, "",
      "the device's own view at the same moment: `nvidia-smi` (or `rocm-smi`) with its list of processes" },
};
_Static_assert(AP_COUNT_OF(artifacts) <= AP_ARTIFACT_MAX, "sets of artifacts are masks of 32 bits");

size_t ap_artifact_count(void)
{
    return AP_COUNT_OF(artifacts);
}

const char *ap_artifact_id(size_t artifact)
{
    return artifacts[artifact].id;
}

const char *ap_artifact_request(size_t artifact)
{
    return artifacts[artifact].request;
}

bool ap_artifact_find(struct ap_text id, size_t *ret_artifact)
{
    for (size_t i = 0; i < AP_COUNT_OF(artifacts); i++)
        if (ap_text_is(id, artifacts[i].id)) {
            *ret_artifact = i;
            return true;
        }
    return false;
}

bool ap_artifact_is_there(const struct ap_value *root, size_t artifact)
{
    const struct artifact *it = &artifacts[artifact];
    const struct ap_value *value = it->path ? ap_value_at(root, it->path) : NULL;
    switch (it->presence) {
    case PRESENT_OBJECT: return value && value->type == AP_VALUE_OBJECT;
    case PRESENT_TRUE: return ap_value_integer(value, 0) != 0;
    case PRESENT_NUMBER: return ap_value_integer(value, 0) >= it->at_least;
    case PRESENT_NEVER: break;
    }
    return false;
}

static bool makes_known(const struct artifact *it, const char *path)
{
    size_t path_bytes = strlen(path);
    for (const char *word = it->figures, *end; *word; word = *end ? end + 1 : end) {
        for (end = word; *end && *end != ' ';)
            end++;
        bool is_end = *word == '*';
        size_t bytes = (size_t)(end - word) - is_end;
        const char *at = is_end && path_bytes >= bytes ? path + path_bytes - bytes : path;
        if (*at == word[is_end] && path_bytes >= bytes && memcmp(at, word + is_end, bytes) == 0)
            return true;
    }
    return false;
}

size_t ap_artifact_whole(const struct ap_value *root, size_t artifact)
{
    const char *path = artifacts[artifact].path;
    size_t whole;
    return path && ap_artifact_behind(root, path, &whole) && whole < artifact ? whole : artifact;
}

bool ap_artifact_behind(const struct ap_value *root, const char *path, size_t *ret_artifact)
{
    for (size_t i = 0; i < AP_COUNT_OF(artifacts); i++)
        if (makes_known(&artifacts[i], path) && !ap_artifact_is_there(root, i)) {
            *ret_artifact = i;
            return true;
        }
    return false;
}
