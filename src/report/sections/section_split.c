/* SPDX-License-Identifier: MIT
 * section_split.c - where the time goes: parts, causes of idle time, steps, gaps, data loading. */
#include <stdio.h>

#include "sections.h"

#include "poison.h"

#define PATH_BYTES 100

static bool has_gpu(const struct doc *doc)
{
    return ap_doc_known(doc, "split.window.idle_us");
}

/* ---- the parts ---- */

static void write_number_cell(struct doc *doc, const char *path)
{
    ap_doc_begin(doc, DOC_CELL);
    ap_doc_value(doc, ap_doc_at(doc, path), ap_text_of(path), FORM_NUMBER);
    ap_doc_end(doc, DOC_CELL);
}

/* Time and share of one part of "split". */
static void write_share(struct doc *doc, const char *of, const char *part)
{
    static const char *const keys[] = { "us", "ratio" };
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof(path), "split.%s.%s_%s", of, part, keys[i]);
        write_number_cell(doc, path);
    }
}

static void write_figure(struct doc *doc, const char *path)
{
    ap_doc_begin(doc, DOC_CELL);
    ap_doc_say(doc, "`split.");
    ap_doc_say(doc, path);
    ap_doc_say(doc, "_*`");
    ap_doc_end(doc, DOC_CELL);
}

static void write_part(struct doc *doc, const char *key, const char *title, bool has_steady)
{
    char path[PATH_BYTES];
    ap_doc_begin(doc, DOC_ROW);
    ap_doc_cell(doc, NULL, title);
    write_share(doc, "window", key);
    if (has_steady)
        write_share(doc, "steady", key);
    (void)snprintf(path, sizeof(path), "*.%s", key);
    write_figure(doc, path);
    ap_doc_end(doc, DOC_ROW);
}

static void write_sum(struct doc *doc, bool has_steady)
{
    ap_doc_begin(doc, DOC_ROW);
    ap_doc_cell(doc, NULL, "Together");
    write_number_cell(doc, "split.window.dur_us");
    ap_doc_cell(doc, NULL, "–");
    if (has_steady) {
        write_number_cell(doc, "split.steady.dur_us");
        ap_doc_cell(doc, NULL, "–");
    }
    write_figure(doc, "*.dur");
    ap_doc_end(doc, DOC_ROW);
}

static void write_parts(struct doc *doc)
{
    static const char *const kinds[][2] = {
        { "compute", "Compute kernels" },
        { "memset", "Memset, no compute" },
        { "exposed_communication", "Communication, neither of these" },
        { "exposed_memcpy", "Copy, nothing else" },
        { "idle", "Idle" },
    };
    static const struct doc_column both[] = { NAME(NULL, "Part"),    NUMBER(NULL, "Window (us)"),
                                              NUMBER(NULL, "Share"), NUMBER(NULL, "Steady steps (us)"),
                                              NUMBER(NULL, "Share"), NAME(NULL, "Path") };
    static const struct doc_column one[] = { NAME(NULL, "Part"), NUMBER(NULL, "Window (us)"), NUMBER(NULL, "Share"),
                                             NAME(NULL, "Path") };
    bool has_steady = ap_doc_known(doc, "split.steady");
    if (!has_gpu(doc))
        return;
    ap_doc_heading(doc, "The parts of the time");
    ap_doc_paragraph(doc, NULL, "Each instant counts once, on all devices together.");
    doc->backend->grid(doc, has_steady ? both : one, has_steady ? AP_COUNT_OF(both) : AP_COUNT_OF(one));
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++)
        write_part(doc, kinds[i][0], kinds[i][1], has_steady);
    write_sum(doc, has_steady);
    doc->backend->grid_end(doc);
}

/* ---- causes ---- */

static const struct cause {
    const char *id, *meaning;
} causes[] = {
#define AP_IDLE_CAUSE(id, sentence) { #id, sentence },
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
};

static int64_t ns_of(const struct ap_value *object, const struct cause *cause)
{
    char key[PATH_BYTES];
    (void)snprintf(key, sizeof(key), "%s_us", cause->id);
    return ap_integer_member(object, key, 0);
}

/* Those that took any time, most first; the table's order between equals. */
static size_t order_causes(const struct ap_value *object, const struct cause **order)
{
    size_t count = 0;
    for (size_t i = 0; i < AP_COUNT_OF(causes); i++) {
        size_t at = count;
        if (ns_of(object, &causes[i]) <= 0)
            continue;
        for (; at > 0 && ns_of(object, order[at - 1]) < ns_of(object, &causes[i]); at--)
            order[at] = order[at - 1];
        order[at] = &causes[i];
        count++;
    }
    return count;
}

static void write_cause(struct doc *doc, const char *key, const struct cause *cause)
{
    char path[PATH_BYTES];
    ap_doc_begin(doc, DOC_ROW);
    ap_doc_begin(doc, DOC_CELL);
    ap_doc_text(doc, DOC_NAME, ap_text_of(cause->id));
    ap_doc_end(doc, DOC_CELL);
    write_share(doc, key, cause->id);
    ap_doc_cell(doc, NULL, cause->meaning);
    (void)snprintf(path, sizeof(path), "%s.%s", key, cause->id);
    write_figure(doc, path);
    ap_doc_end(doc, DOC_ROW);
}

static void write_causes(struct doc *doc)
{
    static const struct doc_column columns[] = { NAME(NULL, "Cause"), NUMBER(NULL, "Time (us)"), NUMBER(NULL, "Share"),
                                                 NAME(NULL, "What it is"), NAME(NULL, "Path") };
    const char *key = has_gpu(doc) ? "judged.idle_causes" : "judged.host_states";
    const struct cause *order[AP_COUNT_OF(causes)];
    size_t count =
        order_causes(ap_doc_at(doc, has_gpu(doc) ? "split.judged.idle_causes" : "split.judged.host_states"), order);
    if (!count)
        return;
    ap_doc_heading(doc, has_gpu(doc) ? "Why the device idles" : "What the main thread did");
    ap_doc_paragraph(
        doc, NULL,
        has_gpu(doc) ? "The shares are of the {p split.judged.part}, {F split.judged.dur_us}."
        : ap_value_integer(ap_doc_at(doc, "trace.recorded.accelerator"), 0)
            ? "Of an accelerator, not of a GPU, work was recorded. The shares are of the {p split.judged.part}, "
              "{F split.judged.dur_us}."
            : "No GPU work was recorded. The shares are of the {p split.judged.part}, {F split.judged.dur_us}.");
    doc->backend->grid(doc, COUNTED(columns));
    for (size_t i = 0; i < count; i++)
        write_cause(doc, key, order[i]);
    doc->backend->grid_end(doc);
}

/* ---- steps and gaps ---- */

static const struct doc_figure gap_figures[] = {
    FIGURE("idle.gap_count"),
    FIGURE("idle.longest_us"),
    { "idle.over_10us.count", "Gaps over 10 us" },
    { "idle.over_10us.dur_us", "Time in them" },
    { "idle.over_100us.count", "Gaps over 100 us" },
    { "idle.over_100us.dur_us", "Time in them" },
    { "idle.over_1ms.count", "Gaps over 1 ms" },
    { "idle.over_1ms.dur_us", "Time in them" },
};

static const struct doc_part gap_parts[] = {
    FIGURES("Gaps between GPU work", gap_figures),
    ROWS("Longest gaps", .path = "idle.gaps",
         .remark = ", longest first; pid and tid are those of the thread that launched what ended the "
                   "gap, of the main thread where that is not recorded",
         .limit = 20,
         COLUMNS(NUMBER("start_us", "Start (us)"), NUMBER("dur_us", "Length (us)"), ID("pid", "pid"), ID("tid", "tid"),
                 NAME("cause", "Main cause"), NUMBER("cause_us", "Of it (us)"), NAME("host_row", "The host was in"),
                 NUMBER("host_row_us", "For (us)"), NAME("next", "Ended by"))),
};

static void write_gaps(struct doc *doc)
{
    if (has_gpu(doc) && ap_value_integer(ap_doc_at(doc, "idle.gap_count"), 0))
        (void)ap_doc_parts(doc, COUNTED(gap_parts));
}

static const struct doc_part split_parts[] = {
    CALL(write_parts),
    CALL(write_causes),
    { .only_if = "split.window.idle_us",
      .title = "The parts of each step",
      .rows = { .path = "split.steps",
                .remark = ", in order of time",
                .limit = 20,
                COLUMNS(NAME("name", "Step"), NUMBER("dur_us", "Duration (us)"), NUMBER("compute_us", "Compute (us)"),
                        NUMBER("memset_us", "Memset (us)"), NUMBER("exposed_communication_us", "Exposed communication (us)"),
                        NUMBER("exposed_memcpy_us", "Exposed copies (us)"), NUMBER("idle_us", "Idle (us)"),
                        NUMBER("idle_ratio", "Idle")) } },
    CALL(write_gaps),
};

const struct doc_section ap_section_split = { .title = "Where the time goes",
                                              .if_any = { "split" },
                                              .parts = COUNTED(split_parts) };

/* ---- data loading ---- */

static const struct doc_figure loading_figures[] = {
    FIGURE("data_loading.count"),          FIGURE("data_loading.total_dur_us"),
    FIGURE("data_loading.window_ratio"),   FIGURE("data_loading.idle_us"),
    FIGURE("data_loading.idle_ratio"),     FIGURE("data_loading.single_process_count"),
    FIGURE("data_loading.spared_us"),      FIGURE("data_loading.multi_process_count"),
    FIGURE("data_loading.first_us"),       FIGURE("data_loading.p50_us"),
    FIGURE("data_loading.max_us"),         FIGURE("data_loading.slow_count"),
    FIGURE("data_loading.slow_excess_us"),
};

static const struct doc_part loading_parts[] = {
    FIGURES("Waits of the loop", loading_figures),
    ROWS("Longest waits", .path = "data_loading.waits", .remark = ", longest first", .limit = 20,
         COLUMNS(NAME("name", "Wait"), NUMBER("start_us", "Start (us)"), NUMBER("dur_us", "Duration (us)"), ID("pid", "pid"),
                 ID("tid", "tid"))),
};

const struct doc_section ap_section_data_loading = { .title = "Data loading",
                                                     .if_any = { "data_loading" },
                                                     .parts = COUNTED(loading_parts) };
