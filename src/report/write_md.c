/* SPDX-License-Identifier: MIT
 * The Markdown report from top to bottom: what matters first, how to read it last. */
#include "md.h"
#include "report.h"

#include "poison.h"

static void write_input(struct md *md, const char *label, const char *path, const char *format, const char *complete)
{
    ap_md_string(md, "- ");
    ap_md_string(md, label);
    ap_md_string(md, ": ");
    if (!ap_md_known(md, path)) {
        ap_md_string(md, "not given\n");
        return;
    }
    ap_md_whole_name(md, ap_value_text(ap_md_at(md, path)));
    if (ap_md_known(md, format)) {
        ap_md_string(md, ", ");
        ap_md_name(md, ap_value_text(ap_md_at(md, format)));
    }
    ap_md_string(md, ap_md_false(md, complete) ? ", **incomplete**\n" : "\n");
}

/* What the user said the report is about, and labels. */
static void write_topic(struct md *md)
{
    static const char *const keys[] = { "focus", "phase" }, *const labels[] = { "- Focus: ", "- Phase: " };
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        if (ap_md_known(md, keys[i])) {
            ap_md_string(md, labels[i]);
            ap_md_name(md, ap_value_text(ap_md_at(md, keys[i])));
            ap_out_char(&md->out, '\n');
        }
    const struct ap_value *label = ap_value_first(ap_md_at(md, "context"));
    for (; label; label = label->next) {
        ap_md_string(md, "- ");
        ap_md_name(md, label->key);
        ap_md_string(md, ": ");
        ap_md_whole_name(md, ap_value_text(label));
        ap_out_char(&md->out, '\n');
    }
}

static void write_head(struct md *md)
{
    ap_md_string(md, "# Profile report\n\n");
    const char *trace_path = ap_md_known(md, "trace.path") ? "trace.path" : "cpu.path";
    write_input(md, "Trace", trace_path, "trace.format", "trace.complete");
    write_input(md, "Memory snapshot", "memory.path", "memory.format", "memory.complete");
    if (ap_md_known(md, "trace.rank")) {
        ap_md_string(md, "- Rank: ");
        ap_md_value(md, ap_md_at(md, "trace.rank"), (struct ap_text){ "", 0 }, MD_ID);
        if (ap_md_known(md, "trace.world_size")) {
            ap_md_string(md, ", world size ");
            ap_md_value(md, ap_md_at(md, "trace.world_size"), (struct ap_text){ "", 0 }, MD_ID);
        }
        ap_out_char(&md->out, '\n');
    }
    write_topic(md);
    ap_md_string(md, "- Written by ");
    ap_md_name(md, ap_value_text(ap_md_at(md, "generator.name")));
    ap_out_char(&md->out, ' ');
    ap_md_name(md, ap_value_text(ap_md_at(md, "generator.version")));
    ap_md_string(md, ", report format ");
    ap_md_name(md, ap_value_text(ap_md_at(md, "schema_version")));
    ap_out_char(&md->out, '\n');
}

static const char how_to_read[] =
    "\n## How to read this report\n\n"
    "- Figures are exact and stand in the JSON report at the path that each table names; commas separate "
    "thousands. Those with a %, x, /s or /step, and those in parentheses, are rounded. A dash or \"not "
    "recorded\" means not known or not defined, never zero.\n"
    "- Times are microseconds (us): in 1,034,551.204 the first comma stands behind the seconds, the second "
    "behind the milliseconds. KiB, MiB and GiB are powers of 1,024.\n"
    "- **Window**: first start to last end of all events but the profiler's own.\n"
    "- **Total** counts an operator with everything it calls; nested operators count again in their callers.\n"
    "- **Self** is the time in which an operator is the innermost open one on its thread; self times add up "
    "to the busy time. *Self less runtime* takes the calls of the CUDA or HIP runtime and driver out as well.\n"
    "- **Parts of the time**: each instant belongs to the first of compute, memset, communication and copy that runs on "
    "any device, else it is idle, and has one cause: what the thread that launches next did up to its call, then "
    "the launch. A wait for the device is a cause only as far as the device then ran out of work.\n"
    "- **Judged part**: the steady steps where they are at least half as long as the window, else the window.\n"
    "- **Busy** is the union of a thread's operators (of a device's kernels, copies and memsets): overlaps "
    "count once.\n"
    "- **Reserved** is what the allocator holds from the driver, **allocated** what it handed out, "
    "**requested** what was asked for before rounding, **active** what is allocated plus what was freed and "
    "still waits for a stream.\n"
    "- **Slack** is reserved less allocated. **Inactive split** are free blocks in segments that still hold a "
    "live one: emptying the cache does not return them. **External fragmentation** is 1 less the largest of "
    "them over their sum.\n"
    "- **Saves at most** is an upper bound: what would go if the cause went entirely. Savings of several "
    "findings overlap.\n"
    "- Confidence is *low* where a finding is a hypothesis; *missing to be sure* names what would settle it.\n"
    "- All formulas, and where another tool gives another number for the same trace: `references/definitions.md` in the "
    "source of this program.\n";

/* The domains that a section tells of: with --focus the others are left out, and stand in the JSON. */
enum { FOR_cpu = 1, FOR_gpu = 2, FOR_memory = 4, FOR_io = 8, FOR_all = 15 };

static const struct {
    void (*write)(struct md *md);
    unsigned domains;
} sections[] = {
    { ap_md_summary, FOR_all },
    { ap_md_split, FOR_all & ~FOR_memory },
    { ap_md_steps, FOR_all & ~FOR_memory },
    { ap_md_data_loading, FOR_io },
    { ap_md_critical_path, FOR_cpu | FOR_gpu },
    { ap_md_operators, FOR_cpu | FOR_gpu },
    { ap_md_cpu, FOR_cpu },
    { ap_md_gpu, FOR_gpu | FOR_io },
    { ap_md_launches, FOR_cpu | FOR_gpu },
    { ap_md_syncs, FOR_cpu | FOR_gpu },
    { ap_md_copies, FOR_gpu | FOR_io },
    { ap_md_communication, FOR_gpu | FOR_io },
    { ap_md_compile, FOR_cpu },
    { ap_md_accelerator, FOR_gpu },
    { ap_md_trace_memory, FOR_memory },
    { ap_md_memory, FOR_memory },
    { ap_md_joined, FOR_memory },
    { ap_md_trace, FOR_all },
};

static void write_sections(struct md *md)
{
    static const char *const names[] = { "cpu", "gpu", "memory", "io" };
    unsigned wanted = FOR_all;
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(ap_value_text(ap_md_at(md, "focus")), names[i]))
            wanted = 1u << i;
    for (size_t i = 0; i < AP_COUNT_OF(sections); i++)
        if (sections[i].domains & wanted)
            sections[i].write(md);
}

void ap_md_all_sections(struct md *md)
{
    write_sections(md);
    ap_md_warnings(md);
    ap_md_not_evaluated(md);
    ap_md_capture(md);
    ap_md_string(md, how_to_read);
}

enum ap_status ap_write_markdown(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr)
{
    struct md md = { .model = model };
    ap_out_init(&md.out, sink);
    write_head(&md);
    ap_md_alerts(&md);
    ap_md_verdict(&md);
    ap_md_conditions(&md);
    ap_md_comparison(&md);
    ap_md_series(&md);
    ap_md_findings(&md);
    ap_md_all_sections(&md);
    return ap_out_finish(&md.out, reterr);
}
