/* SPDX-License-Identifier: MIT
 * What a finding carries beside its texts, and which findings a user's focus keeps. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rubric.h"
#include "tap.h"
#include "tree.h"

#include "poison.h"

#define MS INT64_C(1000000)
#define GIB ((int64_t)1 << 30)

#define RULE_FOR(hardware, id, when, more)                                                                    \
    "### " id ": Title of " id "\n\n```rule\nwhen: " when "\n" more "\nbottleneck: leak\nhardware: " hardware \
    "\n```\n\n- Observation: seen\n- Hypothesis: guess\n- Action: do\n- Trade-off: pay\n- Validation: check\n\n"
#define RULE(id, when, more) RULE_FOR("any", id, when, more)
#define MIDDLE "severity: medium\nconfidence: medium\nsource: ours"

static struct ap_gate gate;

static void judge_with(struct ap_model *model, const struct ap_judge_options *options, const char *document)
{
    struct ap_rubric *rubric;
    struct ap_error error = { .message = "" };
    if (ap_rubric_parse(&gate, document, strlen(document), "r.md", &rubric, &error) != AP_OK) {
        note(error.message);
        ok(false, "the document is read");
        return;
    }
    is_int(ap_rubric_apply(rubric, options, model, &error), AP_OK, "the document is applied");
    ap_rubric_free(rubric);
}

static const struct ap_value *finding(const struct ap_model *model, size_t index)
{
    return list_item(ap_value_at(&model->root, "findings"), index);
}

static void says(const struct ap_value *object, const char *key, const char *want)
{
    is_text(ap_value_text(ap_value_member(object, key)), want, want);
}

static bool is_near(double got, double want)
{
    return fabs(got - want) < 1e-9;
}

static struct ap_value *put_object(struct ap_model *model, const char *path)
{
    struct ap_value *place = tree_place(model, path);
    place->type = AP_VALUE_OBJECT;
    place->as.children.first = place->as.children.last = NULL;
    return place;
}

static void a_base_tree(struct ap_model *model)
{
    ap_model_init(model, &gate);
    put_bool(model, "trace.complete", true);
    put_time(model, "trace.window_us", 1000 * MS);
    put_count(model, "gpu.rows", 10);
    put_time(model, "gpu.idle_us", 100 * MS);
    put_bytes(model, "memory.summary.reserved_bytes", 8 * GIB);
    put_bytes(model, "memory.state.slack_bytes", 2 * GIB);
    put_ratio(model, "memory.state.slack_ratio", 0.25);
}

static double number_at(const struct ap_value *object, const char *path)
{
    double number = -1;
    (void)ap_value_number(ap_value_at(object, path), &number);
    return number;
}

static void a_finding_carries_what_it_rests_on(void)
{
    struct ap_model model;
    a_base_tree(&model);
    judge_with(&model, &(struct ap_judge_options){ .more_options = AP_TEXT(" --focus gpu") },
               RULE("a", "gpu.idle_us > 50 ms and memory.state.slack_ratio < 90 %", "rank_by: gpu.idle_us\n" MIDDLE)
                   RULE("b", "memory.state.slack_ratio >= 0.1", "rank_by: memory.state.slack_bytes\n" MIDDLE)
                       RULE("c", "trace.complete is true", "severity: info\nconfidence: low"));
    const struct ap_value *a = finding(&model, 0), *b = finding(&model, 1), *c = finding(&model, 2);
    says(a, "verify_command",
         "analyze_profile --cpu-trace NEW_TRACE.json.gz --memory-json NEW_SNAPSHOT.json --json-out new.json "
         "--focus gpu  # gpu.idle_us is 100 ms here and should fall");
    says(b, "verify_command",
         "analyze_profile --memory-json NEW_SNAPSHOT.json --json-out new.json --focus gpu  "
         "# memory.state.slack_ratio is 25 % here and should be below 10 %");
    says(c, "verify_command",
         "analyze_profile --cpu-trace NEW_TRACE.json.gz --json-out new.json --focus gpu  "
         "# trace.complete is yes here and should be no");
    says(a, "threshold_source", "ours");
    is_int(ap_value_member(c, "threshold_source")->type, AP_VALUE_NULL, "a remark needs no source");
    says(list_item(ap_value_member(a, "evidence"), 1), "op", "<");
    ok(is_near(number_at(a, "gain.share_ratio"), 0.1), "a tenth of the window");
    ok(is_near(number_at(a, "gain.speedup_bound_ratio"), 1 / 0.9), "Amdahl's bound");
    ok(is_near(number_at(b, "gain.share_ratio"), 0.25), "a quarter of what is reserved");
    is_int(ap_value_at(b, "gain.speedup_bound_ratio")->type, AP_VALUE_NULL, "memory speeds nothing up by itself");
    is_int(ap_value_at(c, "gain.whole")->type, AP_VALUE_NULL, "no saving, no share");
    ap_model_release(&model);
}

static void the_command_looks_at_a_figure_of_the_validation(void)
{
    struct ap_model model;
    a_base_tree(&model);
    judge_with(
        &model, NULL,
        "### a: A\n\n```rule\nwhen: gpu.rows > 1 and gpu.idle_us < 1 s and steps.count is unknown\n" MIDDLE
        "\nbottleneck: leak\nhardware: any\n```\n\n- Observation: seen\n- Hypothesis: guess\n- Action: do\n- Trade-off: "
        "pay\n"
        "- Validation: `no.figure`, `steps.max_us` or `gpu.idle_us` `x\n\n" RULE("b", "steps.count is unknown", MIDDLE));
    says(finding(&model, 0), "verify_command",
         "analyze_profile --cpu-trace NEW_TRACE.json.gz --json-out new.json  "
         "# gpu.idle_us is 100 ms here and should rise");
    says(finding(&model, 1), "verify_command",
         "analyze_profile --cpu-trace NEW_TRACE.json.gz --json-out new.json  "
         "# steps.count is n/a here and should be known");
    ap_model_release(&model);
}

static void options_keep_findings_of_a_domain_or_phase(void)
{
    static const char document[] = RULE("a", "gpu.rows > 1", "domain: gpu\nphase: forward, backward\n" MIDDLE)
        RULE("b", "gpu.rows > 2", MIDDLE) RULE("c", "gpu.rows > 3", "domain: io\nphase: data_loading\n" MIDDLE)
            RULE("d", "gpu.rows > 4", "domain: quality\nphase: other\n" MIDDLE)
                RULE("e", "memory.state.slack_bytes > 1 B", MIDDLE) RULE("f", "trace.complete is true", MIDDLE);
    static const struct {
        struct ap_judge_options options;
        const char *kept;
        int64_t left_out;
    } cases[] = {
        { { .focus = NULL }, "abcdef", 0 },
        { { .focus = "gpu" }, "abd", 3 },
        { { .focus = "memory" }, "de", 4 },
        { { .focus = "cpu" }, "df", 4 },
        { { .phase = "backward" }, "abdef", 1 },
        { { .focus = "io", .phase = "data_loading" }, "cd", 4 },
        { { .focus = "io", .phase = "forward" }, "d", 5 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct ap_model model;
        char kept[16] = "";
        a_base_tree(&model);
        judge_with(&model, &cases[i].options, document);
        const struct ap_value *it = finding(&model, 0);
        for (size_t at = 0; it; it = it->next)
            kept[at++] = ap_value_text(ap_value_member(it, "rule_id")).data[0];
        is_str(kept, cases[i].kept, "the findings asked for, and those about the recording");
        is_int(ap_value_integer(ap_value_at(&model.root, "findings_left_out"), -1), cases[i].left_out,
               "the others are counted");
        ap_model_release(&model);
    }
}

static void put_place(struct ap_model *model, struct ap_value *to, const char *name, int64_t start_ns)
{
    ap_add_string(model, to, "name", name);
    ap_add_time(model, to, "start_us", start_ns);
    ap_add_time(model, to, "dur_us", 7);
    ap_add_count(model, to, "pid", 1);
    ap_add_string(model, to, "tid", "x");
}

static void places_stand_beside_the_figures_or_where_the_rule_says(void)
{
    struct ap_model model;
    a_base_tree(&model);
    put_place(&model, put_object(&model, "gpu.memcpy.longest"), "copy", 100);
    struct ap_value *list = put_list(&model, "launches.slow");
    for (int i = 0; i < 9; i++)
        put_place(&model, ap_add_object(&model, list, NULL), "launch", i);
    (void)put_list(&model, "gpu.memcpy.without");
    put_count(&model, "gpu.memcpy.count", 3);
    put_place(&model, ap_add_object(&model, list, NULL), "late one", 99);
    judge_with(&model, NULL,
               RULE("a", "gpu.memcpy.count > 1 and gpu.rows > 1", MIDDLE)
                   RULE("b", "gpu.rows > 1", "places: nothing.there, launches.slow\n" MIDDLE)
                       RULE("c", "gpu.rows > 1", "places: gpu.memcpy.longest, launches.slow, gpu.rows\n" MIDDLE)
                           RULE("d", "gpu.rows > 1", "places: launches.slow(name: late one)\n" MIDDLE));
    const struct ap_value *a = ap_value_member(finding(&model, 0), "places"),
                          *b = ap_value_member(finding(&model, 1), "places"),
                          *c = ap_value_member(finding(&model, 2), "places");
    is_int(ap_value_count(a), 1, "the row beside the figure");
    says(list_item(a, 0), "name", "copy");
    is_int(ap_value_integer(ap_value_member(list_item(a, 0), "start_us"), -1), 100, "with its start");
    is_int(ap_value_count(b), 5, "five of a list");
    is_int(ap_value_integer(ap_value_member(list_item(b, 4), "start_us"), -1), 4, "in its order");
    says(list_item(c, 1), "name", "launch");
    const struct ap_value *d = ap_value_member(finding(&model, 3), "places");
    is_int(ap_value_count(d), 1, "only rows that say so");
    says(list_item(d, 0), "name", "late one");
    ap_model_release(&model);
}

static void put_owner(struct ap_model *model, struct ap_value *list, const char *frame, int64_t bytes)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    if (frame)
        ap_add_string(model, row, "frame", frame);
    else
        ap_add_null(model, row, "frame");
    ap_add_bytes(model, row, "live_bytes", bytes);
}

static void a_finding_names_the_largest_owners(void)
{
    struct ap_model model;
    a_base_tree(&model);
    struct ap_value *devices = put_list(&model, "memory.peak.devices");
    for (int i = 0; i < 2; i++) {
        struct ap_value *owners = ap_add_list(&model, ap_add_object(&model, devices, NULL), "by_frame");
        put_owner(&model, owners, i ? "b.py:2 g" : "a.py:1 f", 40 + i);
        put_owner(&model, owners, NULL, 900);
        put_owner(&model, owners, i ? "d.py:4 i" : "c.py:3 h", i ? 70 : 3);
    }
    judge_with(&model, NULL,
               RULE("a", "gpu.rows > 1", "due_to: memory.peak.devices.by_frame(frame: live_bytes)\n" MIDDLE)
                   RULE("b", "gpu.rows > 1", MIDDLE)
                       RULE("c", "gpu.rows > 1", "due_to: memory.peak.devices(frame: live_bytes)\n" MIDDLE));
    const struct ap_value *a = ap_value_member(finding(&model, 0), "affected");
    is_int(ap_value_count(a), 3, "three of the owners on all devices");
    says(list_item(a, 0), "name", "d.py:4 i");
    is_int(ap_value_integer(ap_value_member(list_item(a, 0), "bytes"), -1), 70, "with its bytes");
    says(list_item(a, 1), "name", "b.py:2 g");
    says(list_item(a, 2), "name", "a.py:1 f");
    is_int(ap_value_count(ap_value_member(finding(&model, 1), "affected")), 0, "none, where the rule names none");
    is_int(ap_value_count(ap_value_member(finding(&model, 2), "affected")), 0, "nor where the rows have no name");
    ap_model_release(&model);
}

static void put_call(struct ap_model *model, struct ap_value *list, const char *operator, const char * call,
                     const char *category, int64_t idle_ns)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    if (operator)
        ap_add_string(model, row, "operator", operator);
    else
        ap_add_null(model, row, "operator");
    ap_add_string(model, row, "call", call);
    ap_add_string(model, row, "category", category);
    ap_add_bool(model, row, "at_end", idle_ns == 0);
    ap_add_count(model, row, "count", idle_ns / 1000);
    ap_add_time(model, row, "idle_us", idle_ns);
}

static void put_calls(struct ap_model *model)
{
    struct ap_value *list = put_list(model, "sync.by_cause");
    put_call(model, list, "aten::item", "cudaMemcpyAsync", "scalar_read", 3000);
    put_call(model, list, "aten::nonzero", "cudaMemcpyAsync", "data_dependent", 9000);
    put_call(model, list, "aten::item", "cudaStreamSynchronize", "scalar_read", 4000);
    put_call(model, list, NULL, "cudaDeviceSynchronize", "explicit", 5000);
    put_call(model, list, "aten::equal", "cudaStreamSynchronize", "scalar_read", 0);
    put_text(model, "sync.longest.operator", "aten::mm");
    put_time(model, "sync.longest.idle_us", 6);
}

/* What the only rule says with this line on the calls above: names and numbers. */
static void affected_is(const char *due_to, const char *want)
{
    struct ap_model model;
    char document[1000], got[300] = "";
    (void)snprintf(document, sizeof(document), RULE("a", "gpu.rows > 1", "due_to: %s\n" MIDDLE), due_to);
    a_base_tree(&model);
    put_calls(&model);
    judge_with(&model, NULL, document);
    for (const struct ap_value *it = ap_value_first(ap_value_member(finding(&model, 0), "affected")); it; it = it->next) {
        struct ap_text name = ap_value_text(ap_value_member(it, "name"));
        int64_t ns = ap_value_integer(ap_value_member(it, "us"), -1),
                bytes = ap_value_integer(ap_value_member(it, "bytes"), -1);
        int64_t count = ap_value_integer(ap_value_member(it, "count"), -1);
        size_t used = strlen(got);
        (void)snprintf(got + used, sizeof(got) - used, "%.*s %lld %lld %lld; ", (int)name.bytes, name.data, (long long)ns,
                       (long long)bytes, (long long)count);
    }
    is_str(got, want, due_to);
    ap_model_release(&model);
}

static void a_finding_names_the_operators_concerned(void)
{
    affected_is("sync.by_cause(operator: idle_us)", "aten::nonzero 9000 -1 -1; aten::item 7000 -1 -1; ");
    affected_is("sync.by_cause(operator|call: idle_us)",
                "aten::nonzero 9000 -1 -1; aten::item 7000 -1 -1; cudaDeviceSynchronize 5000 -1 -1; ");
    affected_is("sync.by_cause(operator|call: idle_us where category is scalar_read|explicit)",
                "aten::item 7000 -1 -1; cudaDeviceSynchronize 5000 -1 -1; ");
    affected_is("sync.by_cause(operator: count where category is s*)", "aten::item -1 -1 7; ");
    affected_is("sync.by_cause(call: idle_us\n  where idle_us < 5 and\n  at_end is false)",
                "cudaStreamSynchronize 4000 -1 -1; cudaMemcpyAsync 3000 -1 -1; ");
    affected_is("sync.by_cause(operator: idle_us where idle_us > 3.5)", "aten::nonzero 9000 -1 -1; aten::item 4000 -1 -1; ");
    affected_is(
        "sync.by_cause(operator: idle_us where category is none); sync.by_cause(call: idle_us where at_end is false)",
        "cudaMemcpyAsync 12000 -1 -1; cudaDeviceSynchronize 5000 -1 -1; cudaStreamSynchronize 4000 -1 -1; ");
    affected_is("sync.by_cause(operator: idle_us where at_end is true)", "");
    affected_is("sync.by_cause(operator: category)", "");
    affected_is("sync.by_cause(operator: idle_us where nothing is x)", "");
    affected_is("nothing.here(operator: idle_us)", "");
    affected_is("sync.longest(operator: idle_us)", "aten::mm 6 -1 -1; ");
    affected_is("sync(operator: idle_us)", "");
    affected_is("gpu.rows(operator: idle_us)", "");
}

static void fires_on(const char *hardware, const char *call, const char *device, double capability, bool want)
{
    struct ap_model model;
    char document[1000], text[200];
    (void)snprintf(document, sizeof(document), RULE_FOR("%s", "a", "gpu.rows > 1", MIDDLE), hardware);
    (void)snprintf(text, sizeof(text), "%s on %s, %s, %g", hardware, call ? call : "-", device ? device : "-", capability);
    a_base_tree(&model);
    if (call) {
        struct ap_value *list = put_list(&model, "runtime.calls");
        ap_add_string(&model, ap_add_object(&model, list, NULL), "name", "other");
        ap_add_string(&model, ap_add_object(&model, list, NULL), "name", call);
    }
    if (device)
        put_text(&model, "trace.main_device.name", device);
    if (capability > 0)
        put_double(&model, "trace.main_device.compute_capability", AP_VALUE_NUMBER, capability);
    judge_with(&model, NULL, document);
    ok((ap_value_count(ap_value_at(&model.root, "findings")) == 1) == want, text);
    is_int(ap_value_count(ap_value_at(&model.root, "not_evaluated")), 0, "and nothing is asked for");
    ap_model_release(&model);
}

static void a_rule_is_silent_on_hardware_that_it_does_not_hold_for(void)
{
    static const char sm80[] = "CUDA, compute capability 8.0 and later";
    fires_on(sm80, NULL, NULL, 0, true);
    fires_on(sm80, "cudaLaunchKernel", NULL, 0, true);
    fires_on(sm80, "cudaLaunchKernel", NULL, 8.0, true);
    fires_on(sm80, "cudaLaunchKernel", NULL, 7.5, false);
    fires_on(sm80, NULL, "NVIDIA A100-SXM4-40GB", 8.0, true);
    fires_on(sm80, NULL, "Tesla V100-SXM2-16GB", 7.0, false);
    fires_on(sm80, "hipLaunchKernel", NULL, 9.4, false);
    fires_on("CUDA", NULL, "AMD Instinct MI300X", 9.4, false);
    fires_on("CUDA", "hipLaunchKernel", NULL, 0, false);
    fires_on("ROCm", "hipLaunchKernel", NULL, 0, true);
    fires_on("ROCm", "cuLaunchKernel", NULL, 0, false);
    fires_on("CUDA and ROCm", "hipLaunchKernel", NULL, 0, true);
    fires_on("CPU", "cudaLaunchKernel", NULL, 0, true);
    fires_on("any", "hipLaunchKernel", "AMD Instinct MI300X", 9.4, true);
}

int main(void)
{
    ap_gate_init(&gate, 0);
    a_finding_carries_what_it_rests_on();
    the_command_looks_at_a_figure_of_the_validation();
    options_keep_findings_of_a_domain_or_phase();
    places_stand_beside_the_figures_or_where_the_rule_says();
    a_finding_names_the_largest_owners();
    a_finding_names_the_operators_concerned();
    a_rule_is_silent_on_hardware_that_it_does_not_hold_for();
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory went back");
    return done();
}
