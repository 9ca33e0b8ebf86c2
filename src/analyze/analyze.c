/* SPDX-License-Identifier: MIT
 * analyze.c - the table of the parts, and what runs it. */
#include "analyze.h"

#include "pass_runner.h"
#include "row_twice.h"

#include "poison.h"

static void forget_names(struct ap_facts *facts)
{
    ap_op_stats_forget_names(&facts->ops);
}

static void forget_path(struct ap_facts *facts)
{
    if (!facts->keeps_path)
        ap_facts_forget_path(facts);
}

/* Of these all passes take less time than a second thread takes to start. */
#define FEW_ROWS 4000
#define EARLY AP_FACTS_EARLY

/* In the order of the report. To add a part: its line here, with EARLY where it reads neither split nor path. */
static const struct ap_part_entry parts[] = {
    { ap_part_cpu, 64, EARLY, { "cpu" }, forget_names }, /* takes 15, and gives memory back before the others begin */
    { ap_part_document, 0, EARLY, { "trace" }, NULL },
    { ap_part_steps, 0, EARLY, { "steps" }, NULL },
    { ap_part_split, 5, EARLY | AP_FACT(split), { "split", "idle" }, NULL },
    { ap_part_data_loading, 5, EARLY | AP_FACT(split), { "data_loading" }, NULL },
    { ap_part_phases, 8, EARLY | AP_FACT(split), { "phases" }, NULL },
    { ap_part_host_work,
      63, /* takes 35, and begins before split and path keep memory of their own */
      EARLY,
      { "operators", "modules", "frames", "autograd", "drilldown", "habits" },
      NULL },
    { ap_part_gpu, 25, EARLY, { "gpu" }, NULL },
    { ap_part_compute, 8, EARLY | AP_FACT(path), { "compute" }, NULL },
    { ap_part_engine, 3, EARLY, { "engine" }, NULL },
    { ap_part_replay, 6, EARLY, { "graphs", "repeats" }, NULL },
    { ap_part_launches, 10, EARLY, { "links", "launches" }, NULL },
    { ap_part_runtime, 7, AP_FACT(names) | AP_FACT(main_track), { "runtime" }, NULL },
    { ap_part_syncs, 14, EARLY | AP_FACT(split), { "sync" }, NULL },
    { ap_part_copies, 15, EARLY, { "copies" }, NULL },
    { ap_part_trace_memory, 5, EARLY, { "trace_memory" }, NULL },
    { ap_part_joined, 3, EARLY, { "joined" }, NULL },
    { ap_part_communication, 7, EARLY, { "communication" }, NULL },
    { ap_part_compile, 5, EARLY | AP_FACT(split), { "compile" }, NULL },
    { ap_part_accelerator, 1, EARLY, { "accelerator" }, NULL },
    { ap_part_critical_path,
      36, /* takes 20, likewise */
      EARLY | AP_FACT(path_index) | AP_FACT(path),
      { "critical_path" },
      forget_path },
};
/* Reads what the others added. */
static const struct ap_part_entry verdict = { ap_part_verdict, 0, AP_FACTS_ALL, { "verdict", "symptoms" }, NULL };

_Static_assert(AP_COUNT_OF(parts) + AP_FACT_COUNT_ <= AP_PASS_MAX, "the runner has room for all");

static void note_findings_on_the_way(const struct ap_facts *facts, struct ap_notes *notes, bool overflowed)
{
    ap_note_many(notes, AP_COUNTER_gpu_twice, ap_gpu_rows_twice(&facts->order, facts->trace));
    ap_note_many(notes, AP_COUNTER_straddle, facts->ops.straddle_count);
    ap_note_many(notes, AP_COUNTER_self_time, facts->ops.mismatch_count);
    ap_note_many(notes, AP_COUNTER_time_overflow, facts->ops.overflowed || overflowed);
}

static struct ap_part_context context_of(const struct ap_facts *facts, const struct ap_part_options *options,
                                         struct ap_notes *notes)
{
    return (struct ap_part_context){
        .facts = facts, .trace = facts->trace, .options = options, .notes = notes, .gate = facts->gate
    };
}

enum ap_status ap_analyze_trace(struct ap_facts *facts, const struct ap_part_options *options, bool two_threads,
                                struct ap_notes *notes, struct ap_model *model, struct ap_error *reterr)
{
    const struct ap_passes passes = { ap_fact_entries, AP_FACT_COUNT_, parts, AP_COUNT_OF(parts) };
    struct ap_part_context context = context_of(facts, options, notes);
    bool overflowed = false;
    bool is_worth_it = facts->trace->events.count > FEW_ROWS;
    AP_TRY(ap_run_passes(&passes, facts, &context, two_threads && is_worth_it, model, &overflowed, reterr));
    AP_TRY(verdict.part(&context, model, &model->root, reterr));
    note_findings_on_the_way(facts, notes, overflowed || context.overflowed);
    return ap_model_status(model, reterr);
}

enum ap_status ap_analyze_pictures(const struct ap_facts *facts, const struct ap_part_options *options,
                                   struct ap_notes *notes, struct ap_model *model, struct ap_error *reterr)
{
    struct ap_part_context context = context_of(facts, options, notes);
    AP_TRY(ap_part_pictures(&context, model, &model->root, reterr));
    return ap_model_status(model, reterr);
}

static void add_nulls(struct ap_model *model, const struct ap_part_entry *part)
{
    for (size_t i = 0; part->keys[i]; i++)
        ap_add_null(model, &model->root, part->keys[i]);
}

void ap_analyze_no_trace(struct ap_model *model)
{
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        add_nulls(model, &parts[i]);
    add_nulls(model, &verdict);
}
