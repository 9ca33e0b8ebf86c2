/* SPDX-License-Identifier: MIT
 * section_list.c - the sections in their order, and how to read them. */
#include "sections.h"

#include "poison.h"

static const char *const how_to_read[] = {
    "Figures are exact and stand in the JSON report at the path that each table names; commas separate thousands. "
    "Those with a %, x, /s or /step, and those in parentheses, are rounded. A dash or \"not recorded\" means not "
    "known or not defined, never zero.",
    "Times are microseconds (us): in 1,034,551.204 the first comma stands after the seconds, the second after the "
    "milliseconds. KiB, MiB and GiB are powers of 1,024.",
    "**Window**: first start to last end of all events but the profiler's own.",
    "**Total** counts an operator with everything it calls; nested operators count again in their callers.",
    "**Self** is the time in which an operator is the innermost open one on its thread; self times add up to the "
    "busy time. *Self less runtime* takes the calls of the CUDA or HIP runtime and driver out as well.",
    "**Parts of the time**: each instant belongs to the first of compute, memset, communication and copy that runs "
    "on any device, else it is idle, and has one cause: what the thread that launches next did up to its call, then "
    "the launch. A wait for the device is a cause only as far as the device then ran out of work.",
    "**Judged part**: the steady steps where they are at least half as long as the window, else the window.",
    "**Busy** is the union of a thread's operators (of a device's kernels, copies and memsets): overlaps count once.",
    "**Reserved** is what the allocator holds from the driver, **allocated** what it handed out, **requested** what "
    "was asked for before rounding, **active** what is allocated plus what was freed and still waits for a stream.",
    "**Slack** is reserved less allocated. **Inactive split** are free blocks in segments that still hold a live "
    "one: emptying the cache does not return them. **External fragmentation** is 1 less the largest of them over "
    "their sum.",
    "**Saves at most** is an upper bound: what would go if the cause went entirely. Savings of several findings "
    "overlap.",
    "Confidence is *low* where a finding is a hypothesis; *missing to be sure* names what would settle it.",
    "All formulas, and where another tool gives another number for the same trace: `references/definitions.md` in "
    "the source of this program.",
};

static void write_how_to_read(struct doc *doc)
{
    doc->backend->section(doc, "How to read this report");
    ap_doc_begin(doc, DOC_LIST);
    for (size_t i = 0; i < AP_COUNT_OF(how_to_read); i++)
        ap_doc_item(doc, NULL, how_to_read[i]);
    ap_doc_end(doc, DOC_LIST);
}

/* The domains that a section tells of: with --focus the others are left out, and stand in the JSON. FOR_profile: also where
 * there is neither a trace nor a snapshot, but a profile of another program. Sections on devices are left out where a tracer
 * of the host alone recorded. */
enum {
    FOR_cpu = 1,
    FOR_gpu = 2,
    FOR_memory = 4,
    FOR_io = 8,
    FOR_all = 15,
    FOR_profile = 16,
    OF_DEVICES = 32,
    OF_HOST_ALONE = 64
};

static const struct {
    unsigned domains;
    const struct doc_section *section; /* or, where that does not suffice: */
    void (*write)(struct doc *doc);
} sections[] = {
    { FOR_all, &ap_section_cluster, NULL },
    { FOR_memory, &ap_section_cluster_memory, NULL },
    { FOR_all, &ap_section_hang, NULL },
    { FOR_all | FOR_profile, &ap_section_onnxruntime, NULL },
    { FOR_all | FOR_profile, &ap_section_tensorrt, NULL },
    { FOR_all | FOR_profile, &ap_section_compile_log, NULL },
    { FOR_all & ~FOR_memory, NULL, ap_section_prediction },
    { FOR_all, &ap_section_summary, NULL },
    { (FOR_all & ~FOR_memory) | OF_DEVICES, &ap_section_split, NULL },
    { FOR_all & ~FOR_memory, &ap_section_steps, NULL },
    { FOR_cpu | FOR_gpu | OF_DEVICES, &ap_section_engine, NULL },
    { FOR_io | OF_DEVICES, &ap_section_data_loading, NULL },
    { FOR_cpu | FOR_gpu | OF_DEVICES, &ap_section_critical_path, NULL },
    { FOR_cpu | FOR_gpu | OF_DEVICES, &ap_section_operators, NULL },
    { FOR_cpu | OF_HOST_ALONE, &ap_section_host_alone, NULL },
    { FOR_cpu, &ap_section_cpu, NULL },
    { FOR_gpu | FOR_io | OF_DEVICES, &ap_section_gpu, NULL },
    { FOR_cpu | FOR_gpu | OF_DEVICES, &ap_section_compute, NULL },
    { FOR_gpu | OF_DEVICES, &ap_section_replay, NULL },
    { FOR_cpu | FOR_gpu | OF_DEVICES, &ap_section_launches, NULL },
    { FOR_cpu | FOR_gpu | OF_DEVICES, &ap_section_syncs, NULL },
    { FOR_gpu | FOR_io | OF_DEVICES, &ap_section_copies, NULL },
    { FOR_gpu | FOR_io | OF_DEVICES, &ap_section_communication, NULL },
    { FOR_cpu | OF_DEVICES, NULL, ap_section_compile },
    { FOR_gpu | OF_DEVICES, &ap_section_accelerator, NULL },
    { FOR_memory | OF_DEVICES, &ap_section_trace_memory, NULL },
    { FOR_memory | OF_DEVICES, &ap_section_memory, NULL },
    { FOR_memory | OF_DEVICES, &ap_section_joined, NULL },
    { FOR_all, &ap_section_input, NULL },
    { FOR_all | FOR_profile, &ap_section_warnings, NULL },
    { FOR_all | FOR_profile | OF_DEVICES, NULL, ap_section_not_evaluated },
    { FOR_all, NULL, ap_section_capture },
    { FOR_all | FOR_profile | OF_DEVICES, NULL, write_how_to_read },
};

static bool is_recorded(struct doc *doc, const char *what)
{
    return ap_integer_member(ap_doc_at(doc, "trace.recorded"), what, 0);
}

/* They trace Python, or a browser's threads, or what is not known here: nothing of a device was recorded. VizTracer takes
 * rows of PyTorch's profiler in, on demand. */
static bool is_of_host_alone(struct doc *doc)
{
    static const char *const formats[] = { "viztracer", "py-spy", "speedscope", "chrome devtools" };
    bool is = ap_text_is(ap_doc_text_at(doc, "trace.program"), "another recorder");
    for (size_t i = 0; i < AP_COUNT_OF(formats); i++)
        is |= ap_text_is(ap_doc_text_at(doc, "trace.format"), formats[i]);
    is |= ap_text_is(ap_doc_text_at(doc, "trace.format"), "xla") && !is_recorded(doc, "accelerator") &&
          !is_recorded(doc, "runtime"); /* of JAX or TensorFlow on the host */
    return is && !ap_doc_known(doc, "memory") && !is_recorded(doc, "gpu");
}

void ap_all_sections(struct doc *doc)
{
    bool host_alone = is_of_host_alone(doc);
    static const char *const names[] = { "cpu", "gpu", "memory", "io" };
    unsigned wanted = FOR_all;
    bool of_profile = ap_doc_is_of_profile(doc);
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(ap_doc_text_at(doc, "focus"), names[i]))
            wanted = 1u << i;
    for (size_t i = 0; i < AP_COUNT_OF(sections) && !(doc->brief && doc->brief->is_too_long); i++) {
        if (!(sections[i].domains & wanted) || (of_profile && !(sections[i].domains & FOR_profile)) ||
            sections[i].domains & (host_alone ? OF_DEVICES : OF_HOST_ALONE))
            continue;
        if (sections[i].section)
            ap_doc_section(doc, sections[i].section);
        else
            sections[i].write(doc);
    }
}
