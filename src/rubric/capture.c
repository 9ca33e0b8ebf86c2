/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "option_names.h"
#include "rule.h"

#include "poison.h"

#define USUAL_ENTRIES 100000
#define MOST_ENTRIES 10000000
#define FEW_ENTRIES 1000

enum reason {
#define AP_CAPTURE(id, file, option, artifact, remark, sentence) REASON_##id,
#include "capture.def"
#undef AP_CAPTURE
    REASON_COUNT
};

enum file { FILE_trace, FILE_snapshot };

static const struct {
    const char *id, *option, *artifact, *remark, *sentence;
    enum file file;
} reasons[REASON_COUNT] = {
#define AP_CAPTURE(id, file, option, artifact, remark, sentence) { #id, option, artifact, remark, sentence, FILE_##file },
#include "capture.def"
#undef AP_CAPTURE
};

struct wants {
    bool of[REASON_COUNT];
    bool cuda;                               /* the job uses a GPU */
    bool accelerator;                        /* or something else beside the CPU */
    bool many_ranks;                         /* each of them records */
    bool had_shapes, had_stacks, had_memory; /* the trace at hand: to leave them out would only move what is missing */
    int64_t entries;
};

/* ---- what is missing ---- */

static bool is_true(const struct ap_value *root, const char *path)
{
    return ap_value_integer(ap_value_at(root, path), 0) != 0;
}

static bool is_false(const struct ap_value *root, const char *path)
{
    const struct ap_value *value = ap_value_at(root, path);
    return value && value->type == AP_VALUE_BOOL && !value->as.integer;
}

static int64_t number_at(const struct ap_value *root, const char *path)
{
    return ap_value_integer(ap_value_at(root, path), 0);
}

static bool has_finding(const struct ap_value *root, const char *const *ids, size_t count)
{
    const struct ap_value *finding = ap_value_first(ap_value_member(root, "findings"));
    for (; finding; finding = finding->next)
        for (size_t i = 0; i < count; i++)
            if (ap_text_is(ap_value_text(ap_value_member(finding, "rule_id")), ids[i]))
                return true;
    return false;
}

/* A service of an accelerator answers requests and has no loop in which steps could be marked. */
static bool serves_on_accelerator(const struct ap_value *root)
{
    return is_true(root, "trace.recorded.accelerator") && number_at(root, "phases.inference.host_us") > 0 &&
           number_at(root, "phases.backward.host_us") == 0;
}

static void look_at_steps(const struct ap_value *root, struct wants *wants)
{
    static const char *const start_up[] = { "cold-start-only",        "cold-start-step",   "warm-up-steps",
                                            "start-up-in-window",     "compile-in-window", "lazy-loading",
                                            "graph-capture-in-window" };
    bool marked = ap_text_is(ap_value_text(ap_value_at(root, "steps.source")), "ProfilerStep");
    wants->of[REASON_steps] = !marked && !serves_on_accelerator(root);
    wants->of[REASON_more_steps] =
        marked && (is_true(root, "steps.quality.too_short") || number_at(root, "steps.count") < 3);
    wants->of[REASON_warm_up] = has_finding(root, start_up, AP_COUNT_OF(start_up));
}

/* Traces come from other recorders, too, to which code for PyTorch's says nothing: told by operators of PyTorch. */
static bool is_of_pytorch(const struct ap_value *root)
{
    static const char *const lists[] = { "cpu.operators_by_self", "cpu.top_ops", "operators.top" };
    if (ap_value_text(ap_value_at(root, "trace.program")).bytes) /* has its own way */
        return false;
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++) {
        const struct ap_value *row = ap_value_first(ap_value_at(root, lists[i]));
        for (; row; row = row->next)
            if (ap_text_starts_with(ap_value_text(ap_value_member(row, "name")), "aten::"))
                return true;
    }
    return number_at(root, "cpu.operator_summary.events") == 0;
}

static void look_at_trace(const struct ap_value *root, struct wants *wants)
{
    bool operators = number_at(root, "cpu.operator_summary.events") > 0;
    if (!is_of_pytorch(root))
        return;
    wants->accelerator = is_true(root, "trace.recorded.accelerator");
    wants->cuda = is_true(root, "trace.recorded.gpu");
    if (!wants->accelerator &&
        (is_true(root, "trace.recorded.runtime") || ap_value_first(ap_value_at(root, "trace.devices")) ||
         number_at(root, "cpu.signals.gpu_use.count") > 0))
        wants->cuda = true;
    wants->of[REASON_whole_trace] = is_false(root, "trace.complete");
    wants->of[REASON_operators] = !operators;
    wants->of[REASON_gpu_rows] = wants->cuda && !is_true(root, "trace.recorded.gpu");
    wants->of[REASON_shapes] = operators && is_false(root, "trace.recorded.shapes");
    wants->of[REASON_stacks] = operators && is_false(root, "trace.recorded.stacks");
    wants->of[REASON_trace_memory] = operators && is_false(root, "trace.recorded.memory");
    wants->had_shapes = is_true(root, "trace.recorded.shapes");
    wants->had_stacks = is_true(root, "trace.recorded.stacks");
    wants->had_memory = is_true(root, "trace.recorded.memory");
    wants->of[REASON_snapshot] = wants->cuda;
    look_at_steps(root, wants);
}

/* The largest history of a device whose ring was full; 0 = none was. */
static int64_t full_ring(const struct ap_value *root)
{
    int64_t most = 0;
    const struct ap_value *device = ap_value_first(ap_value_at(root, "memory.replay.devices"));
    for (; device; device = device->next) {
        int64_t entries = ap_value_integer(ap_value_member(device, "entries"), 0);
        if (ap_value_integer(ap_value_member(device, "ring_was_full"), 0) && entries > most)
            most = entries;
    }
    return most;
}

/* Ten times a full ring, with a round figure. */
static int64_t entries_for(int64_t full)
{
    int64_t entries = USUAL_ENTRIES;
    while (entries < MOST_ENTRIES && entries / 10 < full)
        entries *= entries / 10 * 2 < full ? 10 : 2;
    return entries < MOST_ENTRIES ? entries : MOST_ENTRIES;
}

static void look_at_memory(const struct ap_value *root, struct wants *wants)
{
    bool history = is_true(root, "memory.recorded.history");
    int64_t full = full_ring(root);
    wants->cuda = true;
    wants->of[REASON_snapshot] = false;
    wants->of[REASON_history] = !history;
    wants->of[REASON_longer_history] = history && (full > 0 || number_at(root, "memory.history.entries") < FEW_ENTRIES);
    wants->of[REASON_snapshot_stacks] = is_false(root, "memory.recorded.stacks");
    wants->of[REASON_whole_snapshot] =
        is_false(root, "memory.recorded.blocks") || is_false(root, "memory.recorded.settings");
    wants->entries = entries_for(full);
}

/* What single traces lack is told by the report of one rank. Dumps of a run that hangs need no trace. */
static void look_at_run(const struct ap_value *root, struct wants *wants)
{
    bool has_ranks = number_at(root, "cluster.rank_count") > 0;
    int64_t steps = number_at(root, "cluster.steps.count");
    wants->many_ranks = wants->cuda = true;
    wants->of[REASON_steps] = has_ranks && steps == 0;
    wants->of[REASON_more_steps] = has_ranks && steps > 0 && steps < 3;
}

static bool is_of_run(const struct ap_value *root)
{
    return ap_value_member(root, "cluster") || ap_value_member(root, "hang");
}

static void look(const struct ap_value *root, struct wants *wants)
{
    const struct ap_value *trace = ap_value_member(root, "trace"), *memory = ap_value_member(root, "memory");
    *wants = (struct wants){ .entries = USUAL_ENTRIES };
    if (is_of_run(root)) {
        look_at_run(root, wants);
        return;
    }
    if (trace && trace->type == AP_VALUE_OBJECT)
        look_at_trace(root, wants);
    else
        wants->of[REASON_trace] = true;
    if (memory && memory->type == AP_VALUE_OBJECT)
        look_at_memory(root, wants);
}

static bool wants_file(const struct wants *wants, enum file file)
{
    for (size_t i = 0; i < REASON_COUNT; i++)
        if (wants->of[i] && reasons[i].file == file)
            return true;
    return false;
}

/* ---- the code ---- */

struct code {
    char text[2048];
    size_t used;
};

static AP_PRINTF(2, 3) void add(struct code *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(code->text + code->used, sizeof(code->text) - code->used, format, arguments);
    va_end(arguments);
    if (bytes > 0)
        code->used += (size_t)bytes;
    if (code->used >= sizeof(code->text))
        code->used = sizeof(code->text) - 1;
}

/* What is missing and what there was; the rest stays as it is by default, as each option costs something. */
static void write_trace_code(const struct wants *wants, struct code *code)
{
    const bool *of = wants->of;
    bool all = of[REASON_trace];
    int wait = of[REASON_warm_up] ? 5 : 1, warm_up = of[REASON_warm_up] ? 5 : 3, active = of[REASON_more_steps] ? 10 : 5;
    if (wants->accelerator) /* all that this PyTorch can record is the default */
        add(code, "from torch.profiler import profile, schedule\n\nwith profile(\n");
    else
        add(code,
            "from torch.profiler import ProfilerActivity, profile, schedule\n\n"
            "with profile(\n"
            "    activities=[ProfilerActivity.CPU%s],\n",
            wants->cuda || all ? ", ProfilerActivity.CUDA" : "");
    add(code, "    schedule=schedule(wait=%d, warmup=%d, active=%d, repeat=1),%s\n", wait, warm_up, active,
        of[REASON_warm_up] ? "  # start-up is over before it records" : "");
    add(code, "    on_trace_ready=lambda prof: prof.export_chrome_trace(%s),\n",
        wants->many_ranks ? "f\"traces/rank{rank}.json.gz\"" : "\"trace.json.gz\"");
    if (of[REASON_shapes] || wants->had_shapes || all)
        add(code, "    record_shapes=True,\n");
    if (of[REASON_trace_memory] || wants->had_memory)
        add(code, "    profile_memory=True,  # for who allocates; take times from a run without it\n");
    if (of[REASON_stacks] || wants->had_stacks)
        add(code, "    with_stack=True,  # for source lines; take times from a run without it\n");
    add(code,
        ") as prof:\n"
        "    for step, batch in zip(range(%d), loader):  # your loop\n"
        "        train_step(batch)\n"
        "        prof.step()\n",
        wait + warm_up + active);
}

static void write_snapshot_code(const struct wants *wants, struct code *code)
{
    add(code,
        "import json\n\nimport torch\n\n"
        "torch.cuda.memory._record_memory_history(max_entries=%lld, %sstacks=\"python\")\n"
        "try:\n"
        "    for step, batch in zip(range(5), loader):  # your loop\n"
        "        train_step(batch)\n"
        "finally:  # an out of memory is recorded as well\n"
        "    with open(\"snapshot.json\", \"w\") as file:\n"
        "        json.dump(torch.cuda.memory._snapshot(), file)\n"
        "    torch.cuda.memory._record_memory_history(enabled=None)\n",
        (long long)wants->entries, wants->of[REASON_snapshot_stacks] ? "context=\"all\", " : "");
}

static void add_code(struct ap_model *model, struct ap_value *to, const char *key, const struct wants *wants, enum file file)
{
    struct code code = { .used = 0 };
    if (!wants_file(wants, file)) {
        ap_add_null(model, to, key);
        return;
    }
    if (file == FILE_trace)
        write_trace_code(wants, &code);
    else
        write_snapshot_code(wants, &code);
    ap_add_string(model, to, key, code.text);
}

/* ---- into the tree ---- */

static bool asks_for(const struct ap_value *entry, const char *request)
{
    const struct ap_value *missing = ap_value_first(ap_value_member(entry, "missing"));
    for (; missing; missing = missing->next)
        if (ap_text_is(ap_value_text(missing), request))
            return true;
    return false;
}

/* Rules that could not be judged, or not be sure, for the want of it. */
static void add_rules(struct ap_model *model, struct ap_value *to, const char *artifact)
{
    static const char *const lists[] = { "findings", "not_evaluated" };
    struct ap_value *rules = ap_add_list(model, to, "rules");
    size_t number;
    if (!ap_artifact_find(ap_text_of(artifact), &number))
        return;
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++) {
        const struct ap_value *entry = ap_value_first(ap_value_member(&model->root, lists[i]));
        for (; entry; entry = entry->next)
            if (asks_for(entry, ap_artifact_request(number)))
                ap_add_text(model, rules, NULL, ap_value_text(ap_value_member(entry, "rule_id")));
    }
}

void ap_capture_add(struct ap_model *model)
{
    struct wants wants;
    look(&model->root, &wants);
    bool of_profile = ap_value_member(&model->root, "profile") && !ap_value_first(ap_value_member(&model->root, "trace")) &&
                      !ap_value_first(ap_value_member(&model->root, "memory"));
    if (of_profile || (!wants_file(&wants, FILE_trace) && !wants_file(&wants, FILE_snapshot))) {
        ap_add_null(model, &model->root, "capture");
        return;
    }
    struct ap_value *capture = ap_add_object(model, &model->root, "capture");
    struct ap_value *list = ap_add_list(model, capture, "reasons");
    for (size_t i = 0; i < REASON_COUNT; i++) {
        if (!wants.of[i])
            continue;
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "id", reasons[i].id);
        ap_add_string(model, row, "file", reasons[i].file == FILE_trace ? "trace" : "snapshot");
        ap_add_string(model, row, "option", reasons[i].option);
        ap_add_string(model, row, "text", reasons[i].sentence);
        ap_add_known_string(model, row, "remark", *reasons[i].remark, reasons[i].remark);
        add_rules(model, row, reasons[i].artifact);
    }
    add_code(model, capture, "trace_snippet", &wants, FILE_trace);
    add_code(model, capture, "snapshot_snippet", &wants, FILE_snapshot);
}

static const char all[] =
    "import json\n"
    "\n"
    "import torch\n"
    "from torch.profiler import profile, schedule\n"
    "\n"
    "# Put your DataLoader and your training step in the place of loader and train_step. Each function is a short "
    "run of\n"
    "# its own, because what one records slows the others.\n"
    "\n"
    "\n"
    "def record(loader, train_step, path, **details):\n"
    "    with profile(\n"
    "        schedule=schedule(wait=1, warmup=3, active=5, repeat=1),\n"
    "        on_trace_ready=lambda prof: prof.export_chrome_trace(path),\n"
    "        record_shapes=True,\n"
    "        **details,\n"
    "    ) as prof:\n"
    "        for step, batch in zip(range(1 + 3 + 5), loader):\n"
    "            train_step(batch)\n"
    "            prof.step()\n"
    "\n"
    "\n"
    "def record_trace(loader, train_step):\n"
    "    \"\"\"Where the time goes: trace.json.gz of five steady steps.\"\"\"\n"
    "    record(loader, train_step, \"trace.json.gz\")\n"
    "\n"
    "\n"
    "def record_details(loader, train_step):\n"
    "    \"\"\"Source lines, and who allocates: details.json.gz. It slows the host: take no times from it.\"\"\"\n"
    "    record(loader, train_step, \"details.json.gz\", profile_memory=True, with_stack=True)\n"
    "\n"
    "\n"
    "def record_snapshot(loader, train_step):\n"
    "    \"\"\"Who holds memory on the GPU: snapshot.json of five steps.\"\"\"\n"
    "    torch.cuda.memory._record_memory_history(max_entries=100000, stacks=\"python\")\n"
    "    try:\n"
    "        for step, batch in zip(range(5), loader):\n"
    "            train_step(batch)\n"
    "    finally:  # an out of memory is recorded as well\n"
    "        with open(\"snapshot.json\", \"w\") as file:\n"
    "            json.dump(torch.cuda.memory._snapshot(), file)\n"
    "        torch.cuda.memory._record_memory_history(enabled=None)\n"
    "\n"
    "\n"
    "record_trace(loader, train_step)\n"
    "record_details(loader, train_step)\n"
    "if torch.cuda.is_available():\n"
    "    record_snapshot(loader, train_step)\n"
    "# analyze_profile trace.json.gz snapshot.json " AP_OPTION_MD_OUT " report.md " AP_OPTION_JSON_OUT " report.json\n"
    "# analyze_profile details.json.gz " AP_OPTION_MD_OUT " details.md " AP_OPTION_JSON_OUT " details.json\n";

const char *ap_capture_all(void)
{
    return all;
}
