/* SPDX-License-Identifier: MIT */
#include "headline.h"

#include <stdio.h>

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

void ap_headline_verdict(const struct ap_value *root, char to[AP_FACT_BYTES])
{
    const struct ap_value *verdict = ap_value_member(root, "verdict");
    struct ap_text bound = ap_value_text(ap_value_member(verdict, "bound"));
    struct ap_text sentence = ap_value_text(ap_value_member(verdict, "sentence"));
    to[0] = '\0';
    if (bound.bytes || sentence.bytes)
        (void)snprintf(to, AP_FACT_BYTES, "%.*s%s%.*s", shown(bound), bound.data, bound.bytes && sentence.bytes ? ": " : "",
                       (int)(sentence.bytes > MAX_SENTENCE ? MAX_SENTENCE : sentence.bytes), sentence.data);
}

/* One figure of a fact: "p50 1.25 ms". */
struct figure {
    const char *path, *before;
};

#define MAX_FIGURES 4

static const struct fact {
    const char *name;
    struct figure figures[MAX_FIGURES];
} facts[] = {
    { "steps", { { "steps.count", "" }, { "steps.steady.p50_us", "median " }, { "steps.steady.mean_us", "mean " }, { "steps.steady.cv_ratio", "spread " } } },
    { "compared with the baseline", { { "comparison.steps.change", "steps " }, { "comparison.steps.delta_us", "by " }, { "comparison.steps.delta_ratio", "" } } },
    { "GPU", { { "trace.main_device.name", "" }, { "gpu.utilization_ratio", "busy " }, { "gpu.busy_us", "for " }, { "gpu.window_us", "of " } } },
    { "memory of the device", { { "memory.replay.peak_requested_bytes", "peak in use " }, { "memory.summary.reserved_bytes", "reserved at the end " }, { "memory.summary.allocated_bytes", "allocated " } } },
    { "recording", { { "trace.window_us", "" }, { "trace.events.total", "events " }, { "trace.rank", "rank " }, { "trace.world_size", "of " } } },
};

static bool tell_figure(const struct ap_value *root, const struct figure *figure, bool first, char *to, size_t bytes, size_t *used)
{
    char text[AP_VALUE_TEXT_BYTES + MAX_SHOWN];
    const struct ap_value *value = figure->path ? ap_value_at(root, figure->path) : NULL;
    if (!value || value->type == AP_VALUE_NULL || value->type >= AP_VALUE_LIST)
        return false;
    (void)ap_format_value(value, text, sizeof(text));
    int added = snprintf(to + *used, bytes - *used, "%s%s%s", first ? ": " : ", ", figure->before, text);
    *used += added > 0 ? (size_t)added : 0;
    return true;
}

bool ap_headline_fact(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES])
{
    for (size_t i = 0; i < AP_COUNT_OF(facts); i++) {
        int name = snprintf(to, AP_FACT_BYTES, "%s", facts[i].name);
        size_t used = name > 0 ? (size_t)name : 0;
        bool any = false;
        for (size_t j = 0; j < MAX_FIGURES && used + 260 < AP_FACT_BYTES; j++)
            any = tell_figure(root, &facts[i].figures[j], !any, to, AP_FACT_BYTES, &used) || any;
        if (any && index-- == 0)
            return true;
    }
    return false;
}

void ap_headline_gain(const struct ap_value *finding, char to[AP_FACT_BYTES])
{
    const struct ap_value *time = ap_value_member(finding, "saves_us"), *bytes = ap_value_member(finding, "saves_bytes");
    char text[AP_VALUE_TEXT_BYTES], more[AP_VALUE_TEXT_BYTES];
    bool has_time = time && time->type == AP_VALUE_TIME_NS, has_bytes = bytes && bytes->type == AP_VALUE_BYTES;
    to[0] = '\0';
    if (!has_time && !has_bytes)
        return;
    (void)ap_format_value(has_time ? time : bytes, text, sizeof(text));
    (void)ap_format_value(bytes, more, sizeof(more));
    (void)snprintf(to, AP_FACT_BYTES, "saves at most %s%s%s", text, has_time && has_bytes ? " and " : "", has_time && has_bytes ? more : "");
}
