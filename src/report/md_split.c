/* SPDX-License-Identifier: MIT
 * md_split.c - what bounds the run, and where its time goes: parts, causes of idle time, steps, gaps, data loading. */
#include <stdio.h>

#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)
#define PATH_BYTES 100

/* ---- what bounds the run ---- */

static void write_symptom(struct md *md, const struct ap_value *symptom)
{
    const struct ap_value *value = ap_value_member(symptom, "value"), *present = ap_value_member(symptom, "present");
    ap_md_string(md, "- ");
    ap_md_prose(md, ap_value_text(ap_value_member(symptom, "title")));
    if (!present || present->type != AP_VALUE_BOOL) {
        ap_md_string(md, ": not evaluated\n");
        return;
    }
    ap_md_string(md, present->as.integer ? ": **yes**, " : ": no, ");
    ap_md_value(md, value, AP_TEXT("ratio"), MD_FULL);
    ap_md_string(md, " against ");
    ap_md_value(md, ap_value_member(symptom, "threshold"), AP_TEXT("ratio"), MD_FULL);
    ap_md_string(md, " (");
    ap_md_prose(md, ap_value_text(ap_value_member(symptom, "metric")));
    ap_md_string(md, ")\n");
}

/* Where GPU work fills little of what is judged, its utilization would seem to contradict the verdict. */
static void write_short_window(struct md *md)
{
    const struct ap_value *window = ap_md_at(md, "gpu.window_us"), *judged = ap_md_at(md, "split.judged.dur_us");
    int64_t window_ns = ap_value_integer(window, -1), judged_ns = ap_value_integer(judged, -1);
    if (!ap_md_known(md, "symptoms") || window_ns < 0 || window_ns >= judged_ns - judged_ns / 5)
        return;
    ap_md_string(md, "\nUtilization and gaps are those of the GPU's own window, first to last work, ");
    ap_md_rounded(md, window);
    ap_md_string(md, "; the verdict is about ");
    ap_md_rounded(md, judged);
    ap_md_string(md, ", and counts the time before and after as idle.\n");
}

void ap_md_bound(struct md *md)
{
    if (ap_md_known(md, "verdict")) {
        ap_md_string(md, "\n**");
        ap_md_prose(md, ap_value_text(ap_md_at(md, "verdict.bound")));
        ap_md_string(md, "**: ");
        ap_md_prose(md, ap_value_text(ap_md_at(md, "verdict.sentence")));
        ap_md_string(md, " (confidence ");
        ap_md_prose(md, ap_value_text(ap_md_at(md, "verdict.confidence")));
        ap_md_string(md, ").\n");
    }
    const struct ap_value *symptom = ap_value_first(ap_md_at(md, "symptoms"));
    if (symptom)
        ap_md_string(md, "\n");
    for (; symptom; symptom = symptom->next)
        write_symptom(md, symptom);
    write_short_window(md);
}

/* ---- the parts ---- */

static bool has_gpu(const struct md *md)
{
    return ap_md_known(md, "split.window.idle_us");
}

/* Time and share of one part of "split": two cells. */
static void write_share(struct md *md, const char *of, const char *part)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "split.%s.%s_us", of, part);
    ap_md_string(md, " ");
    ap_md_value(md, ap_md_at(md, path), AP_TEXT("us"), MD_FIGURE);
    (void)snprintf(path, sizeof(path), "split.%s.%s_ratio", of, part);
    ap_md_string(md, " | ");
    ap_md_value(md, ap_md_at(md, path), AP_TEXT("ratio"), MD_FIGURE);
    ap_md_string(md, " |");
}

static void write_part(struct md *md, const char *part, const char *title, bool has_steady)
{
    ap_out_format(&md->out, "| %s |", title);
    write_share(md, "window", part);
    if (has_steady)
        write_share(md, "steady", part);
    ap_out_format(&md->out, " `split.*.%s_*` |\n", part);
}

static void write_parts(struct md *md)
{
    static const struct {
        const char *key, *title;
    } parts[] = {
        { "compute", "Compute kernels" },
        { "memset", "Memset, no compute" },
        { "exposed_communication", "Communication, neither of these" },
        { "exposed_memcpy", "Copy, nothing else" },
        { "idle", "Idle" },
    };
    bool has_steady = ap_md_known(md, "split.steady");
    ap_md_string(md, "\n### The parts of the time\n\nEach instant counts once, on all devices together.\n\n");
    ap_md_string(md, has_steady ? "| Part | Window (us) | Share | Steady steps (us) | Share | Metric |\n"
                                  "| :--- | ---: | ---: | ---: | ---: | :--- |\n"
                                : "| Part | Window (us) | Share | Metric |\n| :--- | ---: | ---: | :--- |\n");
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++)
        write_part(md, parts[i].key, parts[i].title, has_steady);
    ap_md_string(md, "| Together | ");
    ap_md_value(md, ap_md_at(md, "split.window.dur_us"), AP_TEXT("us"), MD_FIGURE);
    ap_md_string(md, " | – |");
    if (has_steady) {
        ap_md_string(md, " ");
        ap_md_value(md, ap_md_at(md, "split.steady.dur_us"), AP_TEXT("us"), MD_FIGURE);
        ap_md_string(md, " | – |");
    }
    ap_md_string(md, " `split.*.dur_*` |\n");
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
    return ap_value_integer(ap_value_member(object, key), 0);
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

static void write_causes(struct md *md)
{
    const char *key = has_gpu(md) ? "judged.idle_causes" : "judged.host_states";
    char path[PATH_BYTES];
    const struct cause *order[AP_COUNT_OF(causes)];
    (void)snprintf(path, sizeof(path), "split.%s", key);
    size_t count = order_causes(ap_md_at(md, path), order);
    if (!count)
        return;
    ap_md_string(md, has_gpu(md) ? "\n### Why the device idles\n\nThe shares are of the "
                                 : "\n### What the main thread did\n\nNo GPU work was recorded. The shares are of the ");
    ap_md_prose(md, ap_value_text(ap_md_at(md, "split.judged.part")));
    ap_md_string(md, ", ");
    ap_md_value(md, ap_md_at(md, "split.judged.dur_us"), AP_TEXT("us"), MD_FULL);
    ap_md_string(md, ".\n\n| Cause | Time (us) | Share | What it is | Metric |\n| :--- | ---: | ---: | :--- | :--- |\n");
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "%s.%s", key, order[i]->id);
        ap_out_format(&md->out, "| `%s` |", order[i]->id);
        write_share(md, key, order[i]->id);
        ap_out_format(&md->out, " %s | `split.%s_*` |\n", order[i]->meaning, path);
    }
}

/* ---- steps and gaps ---- */

static void write_steps(struct md *md)
{
    static const struct md_column columns[] = {
        MD_COLUMN("name", "Step", MD_NAME),
        MD_COLUMN("dur_us", "Duration (us)", MD_FIGURE),
        MD_COLUMN("compute_us", "Compute (us)", MD_FIGURE),
        MD_COLUMN("memset_us", "Memset (us)", MD_FIGURE),
        MD_COLUMN("exposed_communication_us", "Exposed communication (us)", MD_FIGURE),
        MD_COLUMN("exposed_memcpy_us", "Exposed copies (us)", MD_FIGURE),
        MD_COLUMN("idle_us", "Idle (us)", MD_FIGURE),
        MD_COLUMN("idle_ratio", "Idle", MD_FIGURE),
    };
    static const struct md_table steps = {
        .path = "split.steps",
        .remark = ", in order of time",
        .limit = 20,
        MD_COLUMNS(columns),
    };
    ap_md_table(md, "The parts of each step", &steps);
}

static void write_gaps(struct md *md)
{
    static const struct md_figure figures[] = {
        { "idle.gap_count", "Gaps" },
        { "idle.longest_us", "Longest gap" },
        { "idle.over_10us.count", "Gaps over 10 us" },
        { "idle.over_10us.dur_us", "Time in them" },
        { "idle.over_100us.count", "Gaps over 100 us" },
        { "idle.over_100us.dur_us", "Time in them" },
        { "idle.over_1ms.count", "Gaps over 1 ms" },
        { "idle.over_1ms.dur_us", "Time in them" },
    };
    static const struct md_column columns[] = {
        MD_COLUMN("start_us", "Start (us)", MD_FIGURE),
        MD_COLUMN("dur_us", "Length (us)", MD_FIGURE),
        MD_COLUMN("pid", "pid", MD_ID),
        MD_COLUMN("tid", "tid", MD_ID),
        MD_COLUMN("cause", "Main cause", MD_NAME),
        MD_COLUMN("cause_us", "Of it (us)", MD_FIGURE),
        MD_COLUMN("host_row", "The host was in", MD_NAME),
        MD_COLUMN("next", "Ended by", MD_NAME),
    };
    static const struct md_table gaps = {
        .path = "idle.gaps",
        .remark = ", longest first; pid and tid are those of the thread that launched what ended the gap",
        .limit = 20,
        MD_COLUMNS(columns),
    };
    if (!ap_value_integer(ap_md_at(md, "idle.gap_count"), 0))
        return;
    ap_md_figures(md, "Gaps between GPU work", FIGURES(figures));
    ap_md_table(md, "Longest gaps", &gaps);
}

void ap_md_split(struct md *md)
{
    if (!ap_md_known(md, "split"))
        return;
    ap_md_string(md, "\n## Where the time goes\n");
    if (has_gpu(md))
        write_parts(md);
    write_causes(md);
    if (has_gpu(md)) {
        write_steps(md);
        write_gaps(md);
    }
}

/* ---- data loading ---- */

void ap_md_data_loading(struct md *md)
{
    static const struct md_figure figures[] = {
        { "data_loading.count", "Waits for a batch" },
        { "data_loading.total_dur_us", "Their time" },
        { "data_loading.window_ratio", "Share of the window" },
        { "data_loading.idle_us", "Left the device idle, judged part" },
        { "data_loading.idle_ratio", "Left the device idle, share of the judged part" },
        { "data_loading.single_process_count", "Waits without worker processes" },
        { "data_loading.multi_process_count", "Waits for worker processes" },
        { "data_loading.first_us", "First" },
        { "data_loading.p50_us", "Median" },
        { "data_loading.max_us", "Longest" },
        { "data_loading.slow_count", "Over 5 medians" },
        { "data_loading.slow_excess_us", "Their time beyond the median" },
    };
    static const struct md_column columns[] = {
        MD_COLUMN("name", "Wait", MD_NAME),
        MD_COLUMN("start_us", "Start (us)", MD_FIGURE),
        MD_COLUMN("dur_us", "Duration (us)", MD_FIGURE),
        MD_COLUMN("pid", "pid", MD_ID),
        MD_COLUMN("tid", "tid", MD_ID),
    };
    static const struct md_table waits = {
        .path = "data_loading.waits",
        .remark = ", longest first",
        .limit = 20,
        MD_COLUMNS(columns),
    };
    if (!ap_md_known(md, "data_loading"))
        return;
    ap_md_string(md, "\n## Data loading\n");
    ap_md_figures(md, "Waits of the loop", FIGURES(figures));
    ap_md_table(md, "Longest waits", &waits);
}
