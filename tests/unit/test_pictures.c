/* SPDX-License-Identifier: MIT
 * What pictures are drawn from: bins that add up to the split, the host's stacks, the rows of a step. */
#include <stdlib.h>

#include "analyzed.h"
#include "decimal.h"
#include "tap.h"
#include "time_bins.h"
#include "trace.h"
#include "trace_run.h"
#include "tree.h"

struct run {
    struct trace_run trace;
    struct ap_model model;
    int64_t place_start_ns, place_dur_ns; /* of the finding that is made */
};

static void analyze(struct run *run, const char *text)
{
    const struct ap_part_options options = { .path = "test" };
    trace_run_text(&run->trace, text);
    ap_model_init(&run->model, &run->trace.json.gate);
    if (run->trace.status != AP_OK || analyze_and_draw(run->trace.trace, &options, NULL, NULL, &run->trace.json.notes,
                                                       &run->model, &run->trace.json.error) != AP_OK)
        ok(false, run->trace.json.error.message);
}

static void release(struct run *run)
{
    ap_model_release(&run->model);
    ok(trace_run_release(&run->trace), "all memory came back");
}

static const struct ap_value *at(const struct run *run, const char *path)
{
    return ap_value_at(&run->model.root, path);
}

static int64_t integer(const struct ap_value *object, const char *key)
{
    return ap_value_integer(ap_value_member(object, key), -1);
}

/* ---- bins ---- */

static void bins_divide_what_they_cover(void)
{
    struct ap_time_bins bins;
    ap_time_bins_init(&bins, 100, 500);
    is_int(bins.count, 400, "as many bins as there are");
    is_int(bins.width_ns, 1, "of one length");
    ap_time_bins_init(&bins, -1000, 1001);
    is_int(bins.width_ns, 6, "rounded up");
    is_int(bins.count, 334, "so that all is covered");
    ap_time_bins_add_class(&bins, 2, -5000, 5000);
    ap_time_bins_add_cause(&bins, AP_IDLE_untraced, -997, -980);
    int64_t sum_ns = 0, cause_ns = 0;
    for (uint32_t i = 0; i < bins.count; i++) {
        sum_ns += bins.class_ns[i][2];
        cause_ns += bins.cause_ns[i][AP_IDLE_untraced];
    }
    is_int(sum_ns, 334 * 6, "what lies outside is left out");
    is_int(cause_ns, 17, "a piece over several bins is divided");
    is_int(bins.cause_ns[0][AP_IDLE_untraced], 3, "its start in the first");
    is_int(bins.cause_ns[3][AP_IDLE_untraced], 2, "its end in the last");
    ap_time_bins_add_class(&bins, 0, 10, 10);
    is_int(bins.class_ns[168][0], 0, "nothing adds nothing");
    ap_time_bins_init(&bins, 7, 7);
    ap_time_bins_add_class(&bins, 0, 0, 100);
    is_int(bins.count, 0, "no time, no bins");
    ap_time_bins_init(&bins, -AP_MAX_TIME_NS, AP_MAX_TIME_NS);
    ap_time_bins_add_class(&bins, 1, -AP_MAX_TIME_NS, AP_MAX_TIME_NS);
    is_int(bins.class_ns[bins.count - 1][1] > 0, 1, "the longest time there is");
    ap_time_bins_add_class(NULL, 0, 0, 1);
}

/* ---- a run: two steps, the device waits in the second for 600 us ---- */

#define X(cat, name, tid, ts, dur, args)                                                                           \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{" args "}}"
#define LAUNCH(ts, id) X("cuda_runtime", "cudaLaunchKernel", "1", ts, "10", "\"correlation\":" id)
#define DEVICE_ROW(name, ts, dur, id)                                                                       \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":" id "}}"

/* The formatter takes a text made of macros for one expression. */
/* clang-format off */
static const char two_steps[] = "{\"traceEvents\":["
    X("user_annotation", "ProfilerStep#1", "1", "0", "1000", "") ","
    X("user_annotation", "ProfilerStep#2", "1", "1000", "1000", "") ","
    X("cpu_op", "aten::mm", "1", "100", "100", "") ","
    LAUNCH("150", "1") ","
    DEVICE_ROW("gemm", "170", "800", "1") ","
    X("python_function", "train.py(1): load", "1", "1100", "550", "") ","
    X("python_function", "data.py(2): read", "1", "1101", "548", "") ","
    X("cpu_op", "aten::mm", "1", "1660", "100", "") ","
    LAUNCH("1700", "2") ","
    DEVICE_ROW("gemm", "1720", "200", "2") ","
    X("cpu_op", "aten::add", "2", "300", "50", "") "]}";
/* clang-format on */

static void bins_add_up_to_the_split(void)
{
    struct run run;
    int64_t sums[17] = { 0 }, all_ns = 0;
    analyze(&run, two_steps);
    const struct ap_value *bins = at(&run, "pictures.utilization.bins");
    for (const struct ap_value *bin = ap_value_first(bins); bin; bin = bin->next) {
        size_t i = 0;
        for (const struct ap_value *ns = ap_value_first(bin); ns; ns = ns->next, i++) {
            sums[i] += ns->as.integer;
            all_ns += ns->as.integer;
        }
        is_int((int64_t)i, (int64_t)ap_value_count(at(&run, "pictures.utilization.columns")), "a time for each column");
    }
    is_int((int64_t)ap_value_count(bins), 400, "400 bins");
    is_int(integer(at(&run, "pictures.utilization"), "bin_us"), 5000, "of 5 us: two steps of 1,000");
    is_int(all_ns, 2000000, "which have all of the time");
    is_int(sums[0], 1000000, "compute as in the split");
    is_int(sums[0], integer(at(&run, "split.window"), "compute_us"), "of the window");
    int64_t steps_ns = 0;
    for (const struct ap_value *step = ap_value_first(at(&run, "split.steps")); step; step = step->next)
        steps_ns += integer(ap_value_member(step, "idle_causes"), "host_python_us");
    for (size_t i = 0; i < 17; i++)
        if (ap_text_is(ap_value_text(list_item(at(&run, "pictures.utilization.columns"), i)), "host_python"))
            is_int(sums[i], steps_ns, "a cause as in the steps");
    release(&run);
}

static const struct ap_value *node_named(const struct run *run, const char *name, size_t nth)
{
    const struct ap_value *names = at(run, "pictures.host_flame.names");
    for (const struct ap_value *node = ap_value_first(at(run, "pictures.host_flame.nodes")); node; node = node->next)
        if (ap_text_is(ap_value_text(list_item(names, (size_t)integer(node, "name"))), name) && nth-- == 0)
            return node;
    return NULL;
}

static void host_time_by_stack(void)
{
    struct run run;
    analyze(&run, two_steps);
    const struct ap_value *all = node_named(&run, "all threads", 0), *steps = node_named(&run, "steps", 0);
    const struct ap_value *mm = node_named(&run, "aten::mm", 0), *load = node_named(&run, "train.py(1): load", 0);
    is_int(integer(all, "dur_us"), 2050000, "the whole is the sum of the threads");
    ok(ap_value_member(all, "parent")->type == AP_VALUE_NULL, "and has no parent");
    is_int(integer(steps, "dur_us"), 2000000, "steps are one node");
    is_int(integer(steps, "count"), 2, "of two rows");
    is_int(integer(mm, "dur_us"), 200000, "rows of one name below one node are one");
    is_int(integer(mm, "count"), 2, "of both steps");
    ok(!node_named(&run, "aten::mm", 1), "and stand once");
    is_int(integer(load, "dur_us"), 550000, "a Python frame");
    const struct ap_value *read = node_named(&run, "data.py(2): read", 0);
    ok(list_item(at(&run, "pictures.host_flame.nodes"), (size_t)integer(read, "parent")) == load, "and what it calls");
    is_int(integer(node_named(&run, "aten::add", 0), "dur_us"), 50000, "another thread");
    size_t number = 0;
    bool parents_first = true;
    for (const struct ap_value *node = ap_value_first(at(&run, "pictures.host_flame.nodes")); node;
         node = node->next, number++)
        parents_first &= integer(node, "parent") < (int64_t)number;
    ok(parents_first, "parents come first");
    release(&run);
}

static bool is_about(const struct ap_value *timeline, const char *about)
{
    return ap_text_is(ap_value_text(ap_value_member(timeline, "about")), about);
}

static bool has_bar(const struct run *run, const char *name)
{
    for (const struct ap_value *bar = ap_value_first(at(run, "pictures.timeline.bars")); bar; bar = bar->next)
        if (ap_text_is(ap_value_text(ap_value_member(bar, "name")), name))
            return true;
    return false;
}

static void threads_without_room_are_told(void)
{
    char text[8000] = "{\"traceEvents\": [";
    for (int threads = 32; threads <= 33; threads++) {
        struct run run;
        int bytes = (int)strlen("{\"traceEvents\": [");
        for (int i = 1; i <= threads; i++)
            bytes += snprintf(text + bytes, sizeof(text) - (size_t)bytes, "%s" X("cpu_op", "aten::mm", "%d", "%d", "90", ""),
                              i > 1 ? "," : "", i, i);
        (void)snprintf(text + bytes, sizeof(text) - (size_t)bytes, "]}");
        analyze(&run, text);
        is_int(integer(at(&run, "pictures.timeline"), "lanes_left_out"), threads > 32, "that threads have no room is told");
        release(&run);
    }
}

static void rows_of_the_median_step(void)
{
    struct run run;
    analyze(&run, two_steps);
    const struct ap_value *timeline = at(&run, "pictures.timeline");
    ok(is_about(timeline, "the median step"), "what it is about");
    is_int(integer(timeline, "start_us"), 0, "from where it begins");
    is_int(integer(timeline, "dur_us"), 1000000, "as long as it is");
    is_int(integer(at(&run, "pictures.timeline.gap"), "start_us"), 970000, "the gap that begins in it");
    is_int(integer(at(&run, "pictures.timeline.gap"), "dur_us"), 750000, "as long as it is, beyond the step as well");
    const struct ap_value *lanes = at(&run, "pictures.timeline.lanes"), *lane = ap_value_first(lanes);
    ok(ap_text_is(ap_value_text(ap_value_member(lane, "side")), "host"), "the thread that drives the run comes first");
    ok(ap_text_is(ap_value_text(ap_value_member(lane->next, "side")), "host"), "then the other one");
    ok(ap_text_is(ap_value_text(ap_value_member(lane->next->next, "side")), "gpu") && !lane->next->next->next,
       "then the stream");
    for (const struct ap_value *bar = ap_value_first(at(&run, "pictures.timeline.bars")); bar; bar = bar->next)
        ok(integer(bar, "depth") < integer(list_item(lanes, (size_t)integer(bar, "lane")), "depth"),
           "a bar lies in its lane");
    ok(has_bar(&run, "aten::add") && !has_bar(&run, "data.py(2): read"), "of this step alone");
    release(&run);
}

/* What a rubric would add: a remark, then a finding with a place. */
static void judge(void *self)
{
    struct run *run = self;
    struct ap_value *findings = ap_add_list(&run->model, &run->model.root, "findings");
    for (int i = 0; i < 2; i++) {
        struct ap_value *finding = ap_add_object(&run->model, findings, NULL);
        ap_add_string(&run->model, finding, "severity", i ? "high" : "info");
        ap_add_string(&run->model, finding, "rule_id", i ? "slow-mm" : "remark");
        struct ap_value *place = ap_add_object(&run->model, ap_add_list(&run->model, finding, "places"), NULL);
        ap_add_time(&run->model, place, "start_us", i ? run->place_start_ns : 1);
        ap_add_time(&run->model, place, "dur_us", run->place_dur_ns);
    }
}

/* Of a trace, with a finding that points at this place. */
static void analyze_with_place(struct run *run, const char *text, int64_t start_ns, int64_t dur_ns)
{
    const struct ap_part_options options = { .path = "test" };
    run->place_start_ns = start_ns;
    run->place_dur_ns = dur_ns;
    trace_run_text(&run->trace, text);
    ap_model_init(&run->model, &run->trace.json.gate);
    if (analyze_and_draw(run->trace.trace, &options, judge, run, &run->trace.json.notes, &run->model,
                         &run->trace.json.error) != AP_OK)
        ok(false, run->trace.json.error.message);
}

static void rows_of_the_step_of_the_first_finding(void)
{
    struct run run;
    analyze_with_place(&run, two_steps, 1200000, 100000);
    const struct ap_value *timeline = at(&run, "pictures.timeline"), *finding = at(&run, "pictures.timeline.finding");
    ok(is_about(timeline, "the step that the first finding points into"), "what it is about");
    ok(ap_text_is(ap_value_text(ap_value_member(finding, "rule_id")), "slow-mm"), "remarks aside");
    is_int(integer(finding, "start_us"), 1200000, "where");
    is_int(integer(timeline, "start_us"), 1000000, "the step begins before");
    is_int(integer(timeline, "dur_us"), 1000000, "and ends behind");
    ok(has_bar(&run, "data.py(2): read") && !has_bar(&run, "train.py(1): load"),
       "of a frame that does little but call another one only that is shown");
    release(&run);
}

/* A finding that is longer than any step does not choose one. */
static void rows_where_a_finding_fills_all(void)
{
    static const char without_steps[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":950},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":960,\"dur\":40}]}";
    struct run run = { .place_dur_ns = 0 };
    analyze_with_place(&run, two_steps, 0, 2000000);
    const struct ap_value *timeline = at(&run, "pictures.timeline");
    ok(is_about(timeline, "the median step"), "the median step is shown");
    is_int(integer(at(&run, "pictures.timeline.finding"), "dur_us"), 2000000, "the finding is told as long as it is");
    release(&run);
    analyze_with_place(&run, without_steps, 0, 950000);
    timeline = at(&run, "pictures.timeline");
    ok(is_about(timeline, "the whole recording"), "without steps, all");
    is_int(integer(timeline, "dur_us"), 1000000, "as long as it is");
    is_int(integer(at(&run, "pictures.timeline.finding"), "dur_us"), 950000, "with the finding");
    release(&run);
}

static void without_rows(void)
{
    struct run run;
    analyze(&run, "{\"traceEvents\":[]}");
    ok(at(&run, "pictures.utilization")->type == AP_VALUE_NULL, "no time, no strip");
    ok(at(&run, "pictures.timeline")->type == AP_VALUE_NULL, "no rows, no timeline");
    ok(at(&run, "pictures.host_flame")->type == AP_VALUE_NULL, "no host, no flame graph");
    is_int((int64_t)ap_value_count(at(&run, "pictures.steps")), 0, "no steps");
    release(&run);
}

/* The profiler's own frame opens the range of a step and ends soon: the step does not run in it. */
static void a_step_does_not_run_in_the_frame_that_opens_it(void)
{
    struct run run;
    analyze(&run, "{\"traceEvents\":[" X("python_function", "profiler.py(9): step", "1", "0", "10",
                                         "") "," X("user_annotation", "ProfilerStep#1", "1", "5", "1000",
                                                   "") "," X("cpu_op", "aten::mm", "1", "100", "800", "") "]}");
    const struct ap_value *steps = node_named(&run, "steps", 0);
    is_int(integer(steps, "dur_us"), 1000000, "the step has its time");
    ok(ap_text_is(
           ap_value_text(list_item(
               at(&run, "pictures.host_flame.names"),
               (size_t)integer(list_item(at(&run, "pictures.host_flame.nodes"), (size_t)integer(steps, "parent")), "name"))),
           "thread 1"),
       "below the thread, not below the frame");
    release(&run);
}

static struct ap_text code_named(struct run *run, const char *name)
{
    const struct ap_value *code = ap_value_first(at(run, "pictures.host_flame.codes"));
    for (const struct ap_value *of = ap_value_first(at(run, "pictures.host_flame.names")); of && code;
         of = of->next, code = code->next)
        if (ap_text_is(ap_value_text(of), name))
            return ap_value_text(code);
    return AP_TEXT("no such name");
}

/* Each name has the code that it is of; a thread that only waits is left out and told, one that works and waits stays. */
static void whose_code_and_who_waits(void)
{
    struct run run;
    analyze(&run,
            "{\"traceEvents\":[" X("python_function", "train.py(9): step", "1", "0", "1000", "") "," X(
                "python_function", "torch/nn/modules/module.py(1): forward", "1", "10", "900",
                "") "," X("cpu_op", "aten::mm", "1", "20", "500",
                          "") "," X("cpu_op", "vllm::rotary", "1", "600", "100",
                                    "") "," X("cuda_runtime", "cudaLaunchKernel", "1", "30", "400",
                                              "") "," X("python_function", "numpy/core.py(1): dot", "1", "920", "70",
                                                        "") "," X("python_function", "threading.py(1): run", "2", "0",
                                                                  "1000",
                                                                  "") "," X("python_function", "threading.py(359): wait",
                                                                            "2", "1", "998",
                                                                            "") "," X("python_function",
                                                                                      "loader.py(1): work", "3", "0", "1000",
                                                                                      "") "," X("python_function",
                                                                                                "queue.py(1): get", "3", "0",
                                                                                                "400", "") "]}");
    static const char *const told[][2] = { { "train.py(9): step", "user" },
                                           { "torch/nn/modules/module.py(1): forward", "torch" },
                                           { "aten::mm", "torch" },
                                           { "vllm::rotary", "library" },
                                           { "cudaLaunchKernel", "runtime" },
                                           { "numpy/core.py(1): dot", "library" },
                                           { "queue.py(1): get", "waiting" },
                                           { "all threads", "none" },
                                           { "threading.py(359): wait", "no such name" } };
    for (size_t i = 0; i < AP_COUNT_OF(told); i++)
        ok(ap_text_is(code_named(&run, told[i][0]), told[i][1]), told[i][0]);
    is_int(ap_value_integer(at(&run, "pictures.host_flame.waiting_threads"), -1), 1, "one thread only waits");
    is_int(ap_value_integer(at(&run, "pictures.host_flame.waiting_us"), -1), 1000000, "as long as it was recorded");
    release(&run);
}

int main(void)
{
    bins_divide_what_they_cover();
    bins_add_up_to_the_split();
    host_time_by_stack();
    rows_of_the_median_step();
    threads_without_room_are_told();
    rows_of_the_step_of_the_first_finding();
    rows_where_a_finding_fills_all();
    without_rows();
    a_step_does_not_run_in_the_frame_that_opens_it();
    whose_code_and_who_waits();
    return done();
}
