/* SPDX-License-Identifier: MIT */
#include "headline.h"

#include <stdio.h>
#include <string.h>

#include "value_text.h"

#include "poison.h"

#define MAX_SHOWN 160
#define MAX_SENTENCE 300

static int shown(struct ap_text text)
{
    return (int)(text.bytes > MAX_SHOWN ? MAX_SHOWN : text.bytes);
}

bool ap_headline_is_alert(const struct ap_value *warning)
{
    struct ap_text code = ap_value_text(ap_value_member(warning, "code"));
    return ap_text_is(code, "input-cut") || ap_text_is(code, "salvaged") ||
           ap_text_is(ap_value_text(ap_value_member(warning, "severity")), "error");
}

static const char *why_no_verdict(const struct ap_value *root)
{
    if (!ap_value_first(ap_value_member(root, "trace")))
        return "no trace was given";
    if (ap_value_integer(ap_value_at(root, "trace.recorded.accelerator"), 0))
        return "the device is an accelerator of whose rows nothing is known here";
    return "nothing in the trace could be judged";
}

void ap_headline_verdict(const struct ap_value *root, char to[AP_FACT_BYTES])
{
    const struct ap_value *verdict = ap_value_member(root, "verdict");
    struct ap_text bound = ap_value_text(ap_value_member(verdict, "bound"));
    struct ap_text sentence = ap_value_text(ap_value_member(verdict, "sentence"));
    if (bound.bytes || sentence.bytes)
        (void)snprintf(to, AP_FACT_BYTES, "%.*s%s%.*s", shown(bound), bound.data, bound.bytes && sentence.bytes ? ": " : "",
                       (int)(sentence.bytes > MAX_SENTENCE ? MAX_SENTENCE : sentence.bytes), sentence.data);
    else
        (void)snprintf(to, AP_FACT_BYTES, "No verdict on time: %s.", why_no_verdict(root));
}

/* One figure of a fact: "p50 1.25 ms". What begins with a space goes on with the figure before it, and is left out without that one. */
struct figure {
    const char *path, *before;
};

#define MAX_FIGURES 5

static const struct fact {
    const char *name;
    struct figure figures[MAX_FIGURES];
} facts[] = {
    { "steps", { { "steps.count", "" }, { "steps.steady.p50_us", "median " }, { "steps.steady.mean_us", "mean " }, { "steps.steady.cv_ratio", "spread " } } },
    { "compared with the baseline", { { "comparison.steps.change", "steps " }, { "comparison.steps.delta_us", "by " }, { "comparison.steps.delta_ratio", "" } } },
    { "GPU", { { "trace.main_device.name", "" }, { "gpu.utilization_ratio", "busy " }, { "gpu.window_us", " of " }, { "split.judged.idle_ratio", " from first to last work and idle " }, { "split.judged.part", " of the " } } },
    { "memory of the device", { { "memory.replay.peak_requested_bytes", "peak in use " }, { "memory.summary.reserved_bytes", "reserved at the end " }, { "memory.summary.allocated_bytes", "allocated " } } },
    { "recording", { { "trace.window_us", "" }, { "trace.events.total", "events " }, { "trace.rank", "rank " }, { "trace.world_size", " of " } } },
};

static bool tell_figure(const struct ap_value *root, const struct figure *figure, const char *separator, char *to, size_t bytes, size_t *used)
{
    char text[AP_VALUE_TEXT_BYTES + MAX_SHOWN];
    const struct ap_value *value = figure->path ? ap_value_at(root, figure->path) : NULL;
    if (!value || value->type == AP_VALUE_NULL || value->type >= AP_VALUE_LIST)
        return false;
    (void)ap_format_value(value, text, sizeof(text));
    int added = snprintf(to + *used, bytes - *used, "%s%s%s", separator, figure->before, text);
    *used += added > 0 ? (size_t)added : 0;
    return true;
}

bool ap_headline_fact(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES])
{
    for (size_t i = 0; i < AP_COUNT_OF(facts); i++) {
        int name = snprintf(to, AP_FACT_BYTES, "%s", facts[i].name);
        size_t used = name > 0 ? (size_t)name : 0;
        bool any = false, told = false;
        for (size_t j = 0; j < MAX_FIGURES && used + 260 < AP_FACT_BYTES; j++) {
            const struct figure *figure = &facts[i].figures[j];
            bool goes_on = figure->path && figure->before[0] == ' ';
            if (!goes_on || told)
                told = tell_figure(root, figure, goes_on ? "" : any ? ", " : ": ", to, AP_FACT_BYTES, &used);
            any |= told;
        }
        if (any && index-- == 0)
            return true;
    }
    return false;
}

/* ---- series ---- */

static void add_text(char to[AP_FACT_BYTES], const char *text)
{
    size_t used = strlen(to);
    (void)snprintf(to + used, AP_FACT_BYTES - used, "%s", text);
}

/* @before, the value at @path, @behind; nothing of it where the value is not known. */
static void add_known(char to[AP_FACT_BYTES], const struct ap_value *of, const char *before, const char *path, const char *behind)
{
    char text[AP_VALUE_TEXT_BYTES];
    const struct ap_value *value = ap_value_at(of, path);
    if (!value || value->type == AP_VALUE_NULL || value->type >= AP_VALUE_LIST)
        return;
    (void)ap_format_value(value, text, sizeof(text));
    add_text(to, before);
    add_text(to, text);
    add_text(to, behind);
}

static void tell_knee(const struct ap_value *series, char to[AP_FACT_BYTES])
{
    bool is_largest = ap_value_integer(ap_value_at(series, "knee.is_largest"), 0);
    to[0] = '\0';
    add_known(to, series, is_largest ? "Batch sizes: the largest, " : "Batch sizes: the knee is ", "knee.batch",
              is_largest ? ", has the best throughput" : "");
    if (!to[0])
        return;
    if (!is_largest)
        add_known(to, series, ", with ", "knee.share_of_best_ratio", " of the best throughput");
    add_known(to, series, ": ", "knee.samples_per_s", " samples a second");
}

/* "about 2 ms and 3 ms for each sample", where the line through the points makes sense. */
static bool tell_line(const struct ap_value *series, const char *name, const char *fixed, const char *slope, char to[AP_FACT_BYTES])
{
    to[0] = '\0';
    if (ap_value_integer(ap_value_at(series, fixed), -1) < 0 || ap_value_integer(ap_value_at(series, slope), -1) < 0)
        return false;
    add_text(to, name);
    add_known(to, series, ": about ", fixed, "");
    add_known(to, series, " and ", slope, " for each sample");
    return true;
}

static void tell_memory(const struct ap_value *series, char to[AP_FACT_BYTES])
{
    bool has_line = tell_line(series, "Memory", "memory.fixed_bytes", "memory.per_sample_bytes", to);
    if (ap_value_integer(ap_value_at(series, "memory.largest_batch"), 0) <= 0)
        return;
    add_known(to, series, has_line ? "; a batch of " : "Memory: a batch of ", "memory.largest_batch", " would still fit");
    add_known(to, series, " into the ", "memory.capacity_bytes", " of the device");
}

static void tell_time(const struct ap_value *series, char to[AP_FACT_BYTES])
{
    (void)tell_line(series, "Time of a batch", "latency.fixed_us", "latency.per_sample_us", to);
}

bool ap_headline_series(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES])
{
    static void (*const tells[])(const struct ap_value *series, char to[AP_FACT_BYTES]) = { tell_knee, tell_memory, tell_time };
    const struct ap_value *series = ap_value_member(root, "series");
    for (size_t i = 0; ap_value_first(series) && i < AP_COUNT_OF(tells); i++) {
        tells[i](series, to);
        if (to[0] && index-- == 0)
            return true;
    }
    return false;
}

void ap_headline_series_point(const struct ap_value *point, char to[AP_FACT_BYTES])
{
    to[0] = '\0';
    add_known(to, point, "", "batch", "");
    add_known(to, point, ": ", "step_us", " a batch");
    add_known(to, point, ", ", "samples_per_s", " samples a second");
    add_known(to, point, ", at most ", "peak_bytes", " of memory");
}

void ap_headline_gain(const struct ap_value *finding, char to[AP_FACT_BYTES])
{
    const struct ap_value *time = ap_value_member(finding, "saves_us"), *bytes = ap_value_member(finding, "saves_bytes");
    char text[AP_VALUE_TEXT_BYTES], more[AP_VALUE_TEXT_BYTES];
    bool has_time = time && time->type == AP_VALUE_TIME_NS && ap_value_integer(time, 0) > 0;
    bool has_bytes = bytes && bytes->type == AP_VALUE_BYTES && ap_value_integer(bytes, 0) > 0;
    to[0] = '\0';
    if (!has_time && !has_bytes)
        return;
    (void)ap_format_value(has_time ? time : bytes, text, sizeof(text));
    (void)ap_format_value(bytes, more, sizeof(more));
    (void)snprintf(to, AP_FACT_BYTES, "saves at most %s%s%s", text, has_time && has_bytes ? " and " : "", has_time && has_bytes ? more : "");
}
