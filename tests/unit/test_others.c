/* SPDX-License-Identifier: MIT
 * Files of other profilers, from their text to the key that tells of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_line.h"
#include "feed.h"
#include "other_reader.h"
#include "tap.h"

struct run {
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_error error;
    struct ap_model model;
    struct ap_other_verdict verdict;
    const struct ap_other_reader *reader;
    void *self;
    enum ap_status status;
};

static void begin(struct run *run, const struct ap_other_reader *reader)
{
    memset(run, 0, sizeof(*run));
    ap_gate_init(&run->gate, 0);
    ap_model_init(&run->model, &run->gate);
    run->verdict.window_ns = -1;
    run->reader = reader;
    run->status = reader->open(&run->gate, &run->self, &run->error);
}

static void read_bytes(struct run *run, enum ap_other_format format, const char *text, size_t bytes, size_t piece_bytes)
{
    struct feed feed = feed_of(text, bytes, piece_bytes);
    struct ap_other_input input = { .format = format,
                                    .source = feed_source(&feed),
                                    .limits = { .window_bytes = piece_bytes } };
    if (run->status == AP_OK)
        run->status = run->reader->read(run->self, &input, &run->notes, &run->error);
}

static void finish(struct run *run)
{
    if (run->status == AP_OK)
        run->status = run->reader->add(run->self, 0, &run->notes, &run->model, &run->verdict, &run->error);
    if (run->status == AP_OK)
        run->status = ap_model_status(&run->model, &run->error);
}

static void read_one(struct run *run, const struct ap_other_reader *reader, enum ap_other_format format, const char *text,
                     size_t piece_bytes)
{
    begin(run, reader);
    read_bytes(run, format, text, strlen(text), piece_bytes);
    finish(run);
}

static int64_t whole(const struct run *run, const char *path)
{
    return ap_value_integer(ap_value_at(&run->model.root, path), -1);
}

static double number(const struct run *run, const char *path)
{
    double value = -1;
    (void)ap_value_number(ap_value_at(&run->model.root, path), &value);
    return value;
}

static void end(struct run *run)
{
    run->reader->close(run->self);
    ap_model_release(&run->model);
    ok(atomic_load(&run->gate.used_bytes) == 0, "nothing is left");
}

/* ---- ONNX Runtime ---- */

#define RUN(ts, dur)                                                        \
    "{\"cat\":\"Session\",\"pid\":1,\"tid\":1,\"dur\":" #dur ",\"ts\":" #ts \
    ",\"ph\":\"X\",\"name\":\"model_run\",\"args\":{}}"
#define NODE(tid, ts, dur, name, op, provider)                                                                   \
    "{\"cat\":\"Node\",\"pid\":1,\"tid\":" #tid ",\"dur\":" #dur ",\"ts\":" #ts ",\"ph\":\"X\",\"name\":\"" name \
    "_kernel_time\",\"args\":{\"op_name\":\"" op "\",\"provider\":\"" provider "ExecutionProvider\",\"node_index\":\"3\"}}"

static void runs_have_time_outside_of_nodes(void)
{
    static const char text[] = "[" RUN(1000, 500) "," NODE(1, 1000, 400, "a", "Conv", "CPU") "," RUN(2000, 100) "," NODE(
        1, 2010, 40, "a", "Conv", "CPU") "," NODE(2, 2030, 40, "b \"q\"", "Relu", "CPU") "," RUN(3000, 100) "]";
    for (size_t piece = 0; piece < 8; piece += 7) {
        struct run run;
        read_one(&run, &ap_onnx_reader, AP_OTHER_onnxruntime, text, piece);
        is_int(run.status, AP_OK, "a profile is read");
        is_int(whole(&run, "onnxruntime.runs.count"), 3, "runs");
        is_int(whole(&run, "onnxruntime.runs.first_us"), 500000, "the first one");
        is_int(whole(&run, "onnxruntime.runs.warm.p50_us"), 100000, "the median of the others");
        is_int(whole(&run, "onnxruntime.runs.first_excess_us"), 400000, "what the first one takes more");
        is_int(whole(&run, "onnxruntime.runs.outside_us"), 140000, "nodes on two threads overlap; the cold run is left out");
        is_int(whole(&run, "onnxruntime.nodes.nodes"), 2, "nodes");
        is_int(whole(&run, "onnxruntime.nodes.total_us"), 480000, "their time");
        is_int(run.notes.notes[AP_COUNTER_unescaped_quote].count, 1, "a name that was not escaped");
        end(&run);
    }
}

static void long_shapes_are_told_apart(void)
{
    static char text[4000];
    size_t used = (size_t)snprintf(text, sizeof(text), "[" RUN(0, 100));
    for (int i = 0; i < 2; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used,
                             ",{\"cat\":\"Node\",\"pid\":1,\"tid\":1,\"dur\":9,\"ts\":%d,\"ph\":\"X\",\"name\":"
                             "\"c_kernel_time\",\"args\":{\"op_name\":\"Concat\",\"provider\":\"P\",\"input_type_shape\":[",
                             10 * i);
        for (int of = 0; of < 40; of++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "{\"float\":[1,64]},");
        used += (size_t)snprintf(text + used, sizeof(text) - used, "{\"float\":[%d]}]}}", i);
    }
    (void)snprintf(text + used, sizeof(text) - used, "]");
    struct run run;
    read_one(&run, &ap_onnx_reader, AP_OTHER_onnxruntime, text, 0);
    is_int(whole(&run, "onnxruntime.shapes.changing_nodes"), 1, "they change, though they begin alike");
    end(&run);
}

static void nodes_in_a_loop_count_once(void)
{
    static const char text[] = "[" RUN(0, 100) "," NODE(1, 10, 20, "in", "MatMul", "CPU") "," NODE(
        1, 40, 20, "in", "MatMul", "CPU") "," NODE(1, 5, 80, "loop", "Loop", "CPU") "]";
    struct run run;
    read_one(&run, &ap_onnx_reader, AP_OTHER_onnxruntime, text, 0);
    is_int(whole(&run, "onnxruntime.nodes.total_us"), 80000, "the loop without what is inside it, and that");
    is_int(whole(&run, "onnxruntime.runs.outside_us"), 60000, "going round is no work: only nodes inside are");
    is_int(whole(&run, "onnxruntime.loops.total_us"), 40000, "the loop alone");
    ok(!ap_value_at(&run.model.root, "onnxruntime.runs.warm.p50_us") ||
           ap_value_at(&run.model.root, "onnxruntime.runs.warm.p50_us")->type == AP_VALUE_NULL,
       "no other run, so no median: unknown, not zero");
    end(&run);
}

static void fallback_needs_another_provider(void)
{
    static const char mixed[] = "[" RUN(0, 100) "," NODE(1, 0, 30, "a", "Conv", "CUDA") "," NODE(
        1, 30, 10, "m", "MemcpyToHost", "CUDA") "," NODE(1, 40, 40, "n", "NonMaxSuppression", "CPU") "]";
    static const char plain[] = "[" RUN(0, 100) "," NODE(1, 0, 90, "a", "Conv", "CPU") "]";
    struct run run;
    read_one(&run, &ap_onnx_reader, AP_OTHER_onnxruntime, mixed, 0);
    is_int(whole(&run, "onnxruntime.fallback.nodes"), 1, "a node on the processor beside CUDA");
    ok(number(&run, "onnxruntime.fallback.share_ratio") == 0.5, "half of the time");
    is_int(whole(&run, "onnxruntime.copies.calls"), 1, "a copy");
    ok(strcmp(run.verdict.verdict, "fallback-bound") == 0, "which is said first");
    end(&run);
    read_one(&run, &ap_onnx_reader, AP_OTHER_onnxruntime, plain, 0);
    is_int(whole(&run, "onnxruntime.fallback.nodes"), 0, "the processor alone is no fallback");
    ok(strcmp(run.verdict.verdict, "operator-bound") == 0, "and nothing is said of one");
    end(&run);
}

/* Times of a second session are counted on from the first: where there is no room for them, they are left out. */
static void sessions_may_last_for_ever(void)
{
    static const char most[] = "[" RUN(0, 100) "," NODE(1, 0, 4611686018427387, "a", "Conv", "CPU") "]";
    static const char second[] = "[" RUN(0, 100) "," RUN(4611686018427387, 4611686018427387) "]";
    struct run run;
    begin(&run, &ap_onnx_reader);
    read_bytes(&run, AP_OTHER_onnxruntime, most, strlen(most), 0);
    read_bytes(&run, AP_OTHER_onnxruntime, second, strlen(second), 0);
    finish(&run);
    is_int(run.status, AP_OK, "both are read");
    is_int(whole(&run, "onnxruntime.runs.count"), 2, "runs whose times fit");
    is_int(run.notes.notes[AP_COUNTER_time_out_of_range].count, 1, "the other is counted");
    end(&run);
}

#define SHAPED(ts, dur, name, op, shapes)                                                                                \
    "{\"cat\":\"Node\",\"pid\":1,\"tid\":1,\"dur\":" #dur ",\"ts\":" #ts ",\"ph\":\"X\",\"name\":\"" name                \
    "_kernel_time\",\"args\":{\"op_name\":\"" op "\",\"provider\":\"CPUExecutionProvider\",\"input_type_shape\":" shapes \
    "}}"
#define WITH_BIAS(bias)                              \
    "[" RUN(0, 100) "," SHAPED(0, 40, "m", "MatMul", \
                               "[{\"float\":[128,64]},{\"float\":[64,32]}]") "," SHAPED(40, 5, "a", "Add", bias) "]"

/* A bias is a vector; a number that is added is none. */
static void a_number_is_no_bias(void)
{
    struct run run;
    read_one(&run, &ap_onnx_reader, AP_OTHER_onnxruntime, WITH_BIAS("[{\"float\":[32]},{\"float\":[128,32]}]"), 0);
    is_int(whole(&run, "onnxruntime.unoptimized_nodes"), 1, "a product and its bias are one node");
    end(&run);
    read_one(&run, &ap_onnx_reader, AP_OTHER_onnxruntime, WITH_BIAS("[{\"float\":[]},{\"float\":[128,32]}]"), 0);
    is_int(whole(&run, "onnxruntime.unoptimized_nodes"), 0, "a product and a number are two");
    end(&run);
}

/* ---- TensorRT ---- */

static void queries_have_percentiles(void)
{
    static const char text[] =
        "[{\"startEnqMs\":0,\"endEnqMs\":0.9,\"startH2dMs\":0,\"endH2dMs\":0,\"startComputeMs\":1,\"endComputeMs\":2,"
        "\"startD2hMs\":2,\"endD2hMs\":2,\"h2dMs\":0,\"computeMs\":1,\"d2hMs\":0,\"latencyMs\":1},"
        "{\"startEnqMs\":1,\"endEnqMs\":1.9,\"startH2dMs\":2,\"endH2dMs\":2,\"startComputeMs\":3,\"endComputeMs\":4,"
        "\"startD2hMs\":4,\"endD2hMs\":4,\"h2dMs\":0,\"computeMs\":1,\"d2hMs\":0,\"latencyMs\":1.5}]";
    struct run run;
    read_one(&run, &ap_tensorrt_reader, AP_OTHER_tensorrt_times, text, 0);
    is_int(whole(&run, "tensorrt.times.parts.latency.count"), 2, "queries");
    is_int(whole(&run, "tensorrt.times.parts.latency.p50_us"), 1250000, "median latency");
    is_int(whole(&run, "tensorrt.times.idle_us"), 1000000, "between the computations");
    is_int(whole(&run, "tensorrt.times.window_us"), 4000000, "window");
    ok(number(&run, "tensorrt.times.enqueue_times") > 0.89, "enqueued as slowly as computed");
    ok(strcmp(run.verdict.verdict, "enqueue-bound") == 0, "which is said first");
    end(&run);
}

static void layers_meet_their_descriptions(void)
{
    static const char profile[] = "[{\"count\":2},{\"name\":\"r\",\"timeMs\":0.2,\"averageMs\":0.1,\"percentage\":10},"
                                  "{\"name\":\"c\",\"timeMs\":1.4,\"averageMs\":0.7,\"medianMs\":0.7},"
                                  "{\"name\":\"c\",\"timeMs\":0.4,\"averageMs\":0.2}]";
    static const char layers[] =
        "{\"Layers\":[{\"Name\":\"c\",\"LayerType\":\"Conv\",\"Weights\":{\"Type\":\"Half\",\"Count\":1},\"Outputs\":["
        "{\"Name\":\"x\",\"Format/Datatype\":\"Row major linear FP32\"}]},"
        "{\"Name\":\"r\",\"LayerType\":\"Reformat\",\"Outputs\":[{\"Format/Datatype\":\"Row major linear FP32\"}]},"
        "{\"Name\":\"c\",\"LayerType\":\"Conv\",\"Outputs\":[{\"Format/Datatype\":\"Row major linear "
        "FP32\"}]}],\"Bindings\":[]}";
    struct run run;
    begin(&run, &ap_tensorrt_reader);
    read_bytes(&run, AP_OTHER_tensorrt_profile, profile, sizeof(profile) - 1, 3);
    read_bytes(&run, AP_OTHER_tensorrt_layers, layers, sizeof(layers) - 1, 3);
    finish(&run);
    is_int(run.status, AP_OK, "two files of one engine");
    is_int(whole(&run, "tensorrt.layers.total_us"), 1000000, "the sum of a query");
    is_int(whole(&run, "tensorrt.layers.reformats.total_us"), 100000, "layouts");
    is_int(whole(&run, "tensorrt.layers.fp32.total_us"), 200000, "the second layer of a name has the second description");
    is_int(whole(&run, "tensorrt.layers.low_precision.total_us"), 700000, "weights tell before outputs do");
    is_int(whole(&run, "tensorrt.layers.iterations"), 2, "iterations");
    end(&run);
    begin(&run, &ap_tensorrt_reader);
    read_bytes(&run, AP_OTHER_tensorrt_profile, profile, sizeof(profile) - 1, 0);
    read_bytes(&run, AP_OTHER_tensorrt_profile, profile, sizeof(profile) - 1, 0);
    is_int(run.status, AP_ERROR_USAGE, "two of one kind are of two engines");
    end(&run);
}

/* ---- torch.compile ---- */

#define AT "V1123 10:09:24.548000 14867 torch/_dynamo/guards.py:637] "

static const char text_log[] =
    "Epoch 1\n" AT "[0/0] [__graph_breaks] Graph break in user code at a.py:11\n" AT
    "[0/0] [__graph_breaks] Graph Break Reason: Encountered graph break when attempting to trace CALL: f(x):\n" AT
    "[0/0] [__graph_breaks] \n" AT "[0/0] [__graph_breaks] Failed to trace builtin operator\n" AT
    "[0/0] [__graph_breaks]   Explanation: Dynamo does not know how to trace builtin operator `print`\n"
    "words of the program\n" AT "[0/1] [__recompiles] Recompiling function f in a.py:3\r\n" AT
    "[0/1] [__recompiles]     triggered by the following guard failure(s):\n" AT
    "[0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5  # y = x  # a.py:4 in f\n"
    "[rank0]:W1123 10:10:29.129000 16191 torch/_dynamo/convert_frame.py:2061] [0/8] torch._dynamo hit "
    "config.recompile_limit (8)\n";

static void a_text_log_tells_why(void)
{
    for (size_t piece = 0; piece < 8; piece += 7) {
        struct run run;
        read_one(&run, &ap_compile_log_reader, AP_OTHER_compile_log, text_log, piece);
        const struct ap_value *row = ap_value_first(ap_value_at(&run.model.root, "compile_log.recompile_rows"));
        is_int(whole(&run, "compile_log.breaks.kinds.print.count"), 1, "a break for a print");
        is_int(whole(&run, "compile_log.recompiles.kinds.shape.count"), 1, "a shape");
        is_int(whole(&run, "compile_log.compilations.limit_count"), 1, "the limit");
        is_int(whole(&run, "compile_log.compilations.count"), -1, "how many compilations is not told: unknown, not zero");
        ok(ap_text_is(ap_value_text(ap_value_member(row, "reason")),
                      "tensor 'x' size mismatch at index 0. expected 4, actual 5"),
           "the reason without its source");
        ok(ap_text_is(ap_value_text(ap_value_member(row, "place")), "a.py:3"), "the function");
        end(&run);
    }
}

#define OLD_GUARDS "[2024-01-10 12:11:28,121] [0/1] torch._dynamo.guards.__recompiles: [DEBUG] "
#define OLD_BREAKS "[rank1]: [2023-10-10 12:11:28,121] torch._dynamo.symbolic_convert.__graph_breaks: [DEBUG] "

/* Of PyTorch 2.1 and 2.2, and of 2.3 to 2.5, which tell the reason behind the place. */
static const char *const old_text_log =
    OLD_BREAKS "Graph break: call_function BuiltinVariable(print) {} from user code at:\n" OLD_BREAKS
               "  File \"/home/u/a.py\", line 40, in step\n" OLD_GUARDS "Recompiling function f in a.py:3\n" OLD_GUARDS
               "    triggered by the following guard failure(s):\n" OLD_GUARDS
               "    - tensor 'L['x']' size mismatch at index 0. expected 3, actual 4\n"
               "[2024-01-10 12:11:28,121] [0/1] torch._dynamo.guards: [NOTICE] of no level\n"
               "[2024-01-10 12:11:28,121] other.module: [INFO] of no compiler\n[2024-01-10 12:11:28,121] [0/1\n" AT
               "[0/0] [__graph_breaks] Graph break in user code at a.py:50\n" AT
               "[0/0] [__graph_breaks] Reason: Unsupported: builtin: print [<class 'x'>] False\n" AT
               "[0/0] [__graph_breaks]   File \"a.py\", line 50, in step\n";

static void older_text_logs_are_read(void)
{
    ok(ap_is_compile_log(old_text_log, strlen(old_text_log)), "an older log is known");
    for (size_t piece = 0; piece < 8; piece += 7) {
        struct run run;
        read_one(&run, &ap_compile_log_reader, AP_OTHER_compile_log, old_text_log, piece);
        is_int(whole(&run, "compile_log.breaks.count"), 2, "two breaks");
        is_int(whole(&run, "compile_log.breaks.kinds.print.count"), 2, "for prints");
        is_int(whole(&run, "compile_log.recompiles.kinds.shape.count"), 1, "a shape");
        end(&run);
    }
}

static void long_lines_are_whole_or_counted(void)
{
    static char text[200000];
    static const size_t reasons[] = { 301, 8000, 60000, 70000 };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        struct run run;
        size_t bytes = (size_t)snprintf(text, sizeof(text), "%s",
                                        AT "[0/0] [__graph_breaks] Graph break in user code at a.py:50\n" AT
                                           "[0/0] [__graph_breaks] Reason: ");
        memset(text + bytes, 'r', reasons[i]);
        (void)snprintf(text + bytes + reasons[i], 80000, "\n");
        memset(text + bytes + reasons[i] + 1, '.', 70000); /* of the program itself */
        text[bytes + reasons[i] + 70001] = 0;
        read_one(&run, &ap_compile_log_reader, AP_OTHER_compile_log, text, 0);
        struct ap_text reason =
            ap_text_member(ap_value_first(ap_value_at(&run.model.root, "compile_log.break_rows")), "reason");
        is_int((int64_t)reason.bytes, reasons[i] < 8192 ? (int64_t)reasons[i] : 8192, "a reason is whole, or 8 KiB");
        is_int((int64_t)run.notes.notes[AP_COUNTER_text_cut].count, reasons[i] > 65536, "a line that was cut is counted");
        is_int((int64_t)run.model.cut_texts, reasons[i] > 8192, "and a text of the report");
        end(&run);
    }
}

/* As build systems nest folders: files whose paths begin alike for long are two. */
static void long_places_stay_whole(void)
{
    char text[6000], place[700];
    size_t bytes = 0;
    for (int i = 0; i < 2; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, AT "{\"str\": [\"%0600d/%d.py\", %d]}\n", 0, i, i);
    for (int i = 0; i < 2; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes,
                                  AT "{\"artifact\": {\"name\": \"recompile_reasons\"}, \"frame_id\": %d, "
                                     "\"frame_compile_id\": 1}\n\t\"%d/0: s.step == 6\"\n" AT
                                     "{\"dynamo_start\": {\"stack\": [{\"line\": 9, \"name\": \"f\", \"filename\": %d}]}, "
                                     "\"frame_id\": %d, \"frame_compile_id\": 1}\n",
                                  i, i, i, i);
    struct run run;
    read_one(&run, &ap_compile_log_reader, AP_OTHER_compile_log, text, 0);
    const struct ap_value *row = ap_value_first(ap_value_at(&run.model.root, "compile_log.recompile_rows"));
    for (int i = 0; i < 2; i++, row = row ? row->next : NULL) {
        (void)snprintf(place, sizeof(place), "%0600d/%d.py:9", 0, i);
        ok(row && ap_text_is(ap_value_text(ap_value_member(row, "place")), place), "each row has its own place, whole");
    }
    end(&run);
}

/* A recompilation beyond the limit never begins: what begins next is another function. */
static void a_limit_is_of_its_own_function(void)
{
    static const char structured[] =
        AT "{\"str\": [\"a.py\", 0]}\n" AT "{\"artifact\": {\"name\": \"recompile_reasons\"}, \"frame_id\": 1, "
           "\"frame_compile_id\": 7}\n\t\"1/6: s.step == 6\"\n" AT
           "{\"dynamo_start\": {\"stack\": [{\"line\": 9, \"name\": \"f\", \"filename\": 0}]}, \"frame_id\": 1, "
           "\"frame_compile_id\": 7}\n" AT "{\"artifact\": {\"name\": \"recompile_reasons\"}, \"frame_id\": 1, "
           "\"frame_compile_id\": 8}\n\t\"1/7: s.step == 7\"\n" AT
           "{\"dynamo_start\": {\"stack\": [{\"line\": 20, \"name\": \"g\", \"filename\": 0}]}, \"frame_id\": 2, "
           "\"frame_compile_id\": 0}\n";
    struct run run;
    begin(&run, &ap_compile_log_reader);
    read_bytes(&run, AP_OTHER_compile_log, structured, sizeof(structured) - 1, 0);
    finish(&run);
    const struct ap_value *row = ap_value_first(ap_value_at(&run.model.root, "compile_log.recompile_rows"));
    is_int(ap_value_integer(ap_value_member(row, "count"), 0), 2, "two recompilations of one function");
    ok(ap_text_is(ap_value_text(ap_value_member(row, "place")), "a.py:9") && !row->next, "and none of the other");
    end(&run);
}

static void a_structured_log_counts_alone(void)
{
    static const char structured[] = AT
        "{\"str\": [\"lib.py\", 0]}\n" AT "{\"str\": [\"a.py\", 1]}\n" AT
        "{\"artifact\": {\"name\": \"dynamo_graph_break_reason\", \"encoding\": \"string\"}, \"has_payload\": \"1\"}\n"
        "\tGraph break in user code at a.py:15\n\tGraph Break Reason: Data-dependent branching\n\n" AT
        "{\"artifact\": {\"name\": \"recompile_reasons\", \"encoding\": \"json\"}}\n\t[\n\t\"0/1: k == 1.5\",\n\t\"0/0: k "
        "== 0.0\"\n"
        "\t]\n" AT "{\"dynamo_start\": {\"stack\": [{\"line\": 1, \"name\": \"<module>\", \"filename\": 0}, {\"line\": 9, "
        "\"name\": \"g\", \"filename\": 1}]}, \"frame_id\": 0}\n" AT
        "{\"compilation_metrics\": {\"compile_id\": \"0/2\", \"co_name\": \"g\", \"co_filename\": \"a.py\", "
        "\"co_firstlineno\": 9, \"entire_frame_compile_time_s\": 1.25, \"fail_type\": null}}\n";
    struct run run;
    begin(&run, &ap_compile_log_reader);
    read_bytes(&run, AP_OTHER_compile_log, text_log, sizeof(text_log) - 1, 0);
    read_bytes(&run, AP_OTHER_compile_log, structured, sizeof(structured) - 1, 5);
    finish(&run);
    const struct ap_value *row = ap_value_first(ap_value_at(&run.model.root, "compile_log.recompile_rows"));
    is_int(whole(&run, "compile_log.breaks.count"), 1, "what the text log says again is left out");
    is_int(whole(&run, "compile_log.breaks.kinds.branch.count"), 1, "a branch");
    is_int(whole(&run, "compile_log.recompiles.kinds.value.count"), 1, "a value");
    is_int(whole(&run, "compile_log.compilations.again_us"), 1250000000, "the time of compiling again");
    ok(ap_text_is(ap_value_text(ap_value_member(row, "place")), "a.py:9"), "the innermost frame of the start");
    end(&run);
}

/* ---- hostile ---- */

static void odd_files_are_survived(void)
{
    static const struct {
        const struct ap_other_reader *reader;
        enum ap_other_format format;
        const char *text;
    } files[] = {
        { &ap_onnx_reader, AP_OTHER_onnxruntime, "[]" },
        { &ap_onnx_reader, AP_OTHER_onnxruntime, "{}" },
        { &ap_onnx_reader, AP_OTHER_onnxruntime, "[1,[2],null,{}]" },
        { &ap_onnx_reader, AP_OTHER_onnxruntime, "[{\"ph\":\"X\",\"cat\":7,\"name\":[1],\"ts\":\"1\",\"dur\":-1}]" },
        { &ap_onnx_reader, AP_OTHER_onnxruntime,
          "[{\"ph\":\"X\",\"cat\":\"Node\",\"name\":\"a_kernel_time\",\"ts\":1e300,\"dur\":1}]" },
        { &ap_onnx_reader, AP_OTHER_onnxruntime,
          "[{\"ph\":\"X\",\"cat\":\"Node\",\"name\":\"_kernel_time\",\"ts\":4611686018427387,\"dur\":4611686018427387,"
          "\"args\":{"
          "\"thread_scheduling_stats\":{\"main_thread\":[{}],\"sub_threads\":{\"a\":1,\"b\":{\"num_run\":"
          "99999999999999999999}}}}}]" },
        { &ap_onnx_reader, AP_OTHER_onnxruntime,
          "[{\"ph\":\"X\",\"cat\":\"Node\",\"name\":\"a_kernel_time\",\"ts\":1,\"dur\":1,\"args\":{\"thread_scheduling_"
          "stats\":{"
          "\"main_thread\":{\"Run\":2147483647,\"Run\":2147483647,\"Wait\":-5}}}}]" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_times, "[]" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_times, "[{\"latencyMs\":1e300},{\"latencyMs\":-1},{\"computeMs\":\"1\"}]" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_times,
          "[{\"h2dMs\":4611686018427,\"computeMs\":4611686018427,\"d2hMs\":4611686018427,\"startComputeMs\":4611686018427,"
          "\"endComputeMs\":0}]" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_profile,
          "[{\"count\":0},{\"name\":1,\"averageMs\":0},{\"averageMs\":4611686018427}]" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_layers, "{\"Layers\":{\"a\":1}}" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_layers,
          "{\"Layers\":[1,[],{\"Name\":{},\"Outputs\":[[],{}],\"Weights\":1},\"\"]}" },
        { &ap_compile_log_reader, AP_OTHER_compile_log, AT "{\"compilation_metrics\": {\"compile_id\": \"0/" },
        { &ap_compile_log_reader, AP_OTHER_compile_log,
          AT "{\"str\": [\"a\", -1]}\n" AT "{\"dynamo_start\": {\"stack\": [[1]]}}" },
        { &ap_compile_log_reader, AP_OTHER_compile_log, AT "[0/0] [__recompiles] Recompiling function f\n\t\n" AT "[" },
        { &ap_compile_log_reader, AP_OTHER_compile_log,
          AT "{\"artifact\": {\"name\": \"recompile_reasons\"}}\n\t\"\n" AT
             "{\"dynamo_start\": {\"stack\": [{\"filename\": 9}, {" },
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        for (size_t cut = 0; cut <= strlen(files[i].text); cut++) {
            struct run run;
            begin(&run, files[i].reader);
            read_bytes(&run, files[i].format, files[i].text, cut, 0);
            finish(&run);
            run.reader->close(run.self);
            ap_model_release(&run.model);
            if (atomic_load(&run.gate.used_bytes) != 0)
                ok(false, files[i].text);
        }
    ok(true, "odd files, cut at every byte");
}

/* ---- memory ---- */

static void each_allocation_may_fail(void)
{
    static const struct {
        const struct ap_other_reader *reader;
        enum ap_other_format format;
        const char *text;
    } files[] = {
        { &ap_onnx_reader, AP_OTHER_onnxruntime,
          "[" RUN(0, 100) "," NODE(1, 0, 90, "a", "Conv", "CPU") "," RUN(200, 9) "]" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_profile, "[{\"name\":\"r\",\"averageMs\":0.1}]" },
        { &ap_tensorrt_reader, AP_OTHER_tensorrt_times, "[{\"computeMs\":0.1,\"latencyMs\":0.2}]" },
        { &ap_compile_log_reader, AP_OTHER_compile_log, text_log },
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        enum ap_status status = AP_ERROR_MEMORY;
        for (int64_t n = 0; n < 500 && status != AP_OK; n++) {
            struct run run;
            memset(&run, 0, sizeof(run));
            ap_gate_init(&run.gate, 0);
            ap_model_init(&run.model, &run.gate);
            atomic_store(&run.gate.fail_after, n);
            run.reader = files[i].reader;
            status = run.status = run.reader->open(&run.gate, &run.self, &run.error);
            if (status == AP_OK) {
                read_bytes(&run, files[i].format, files[i].text, strlen(files[i].text), 0);
                finish(&run);
                status = run.status;
                run.reader->close(run.self);
            }
            ap_model_release(&run.model);
            if (atomic_load(&run.gate.used_bytes) != 0)
                ok(false, "nothing is left where memory ends");
        }
        is_int(status, AP_OK, "with memory enough all is read");
    }
}

int main(void)
{
    each_allocation_may_fail();
    runs_have_time_outside_of_nodes();
    long_shapes_are_told_apart();
    nodes_in_a_loop_count_once();
    fallback_needs_another_provider();
    sessions_may_last_for_ever();
    a_number_is_no_bias();
    queries_have_percentiles();
    layers_meet_their_descriptions();
    a_text_log_tells_why();
    older_text_logs_are_read();
    a_structured_log_counts_alone();
    long_lines_are_whole_or_counted();
    long_places_stay_whole();
    a_limit_is_of_its_own_function();
    odd_files_are_survived();
    return done();
}
