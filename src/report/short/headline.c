/* SPDX-License-Identifier: MIT */
#include "headline.h"

#include <stdio.h>
#include <string.h>

#include "model_build.h"
#include "value_text.h"

#include "poison.h"

#define MAX_SHOWN 160
#define MAX_SENTENCE 300

static int shown(struct ap_text text)
{
    return (int)(text.bytes > MAX_SHOWN ? MAX_SHOWN : text.bytes);
}

static const char *why_no_verdict(const struct ap_value *root)
{
    if (ap_value_member(root, "profile"))
        return "the profile holds nothing that could be judged";
    if (!ap_value_first(ap_value_member(root, "trace")))
        return "no trace was given";
    if (ap_integer_at(root, "trace.recorded.accelerator", 0))
        return "the device is an accelerator whose rows may stand for waits as well as for work";
    return "nothing in the trace could be judged";
}

/* ---- templates: words with {paths}, or {?paths} of what is not told where it is nothing ---- */

#define PATH_BYTES 100
#define VALUE_BYTES (AP_VALUE_TEXT_BYTES + MAX_SHOWN)
/* Of one value with the words around it: where less is left, no more is told. */
#define ROOM_BYTES 260

static bool is_told(const struct ap_value *value, bool unless_nothing)
{
    return value && value->type != AP_VALUE_NULL && value->type < AP_VALUE_LIST &&
           !(unless_nothing && ap_value_integer(value, 0) == 0);
}

/* Append the words up to one of @ends, with the values in them; false, and nothing is added, where one is not known. */
static bool tell_words(const struct ap_value *of, const char **template, const char *ends, char *to, size_t *used)
{
    size_t told = *used;
    bool known = true;
    while (**template && !strchr(ends, **template)) {
        char path[PATH_BYTES], value[VALUE_BYTES] = "";
        size_t words = strcspn(*template, "{[]|");
        const char *placeholder = *template + words;
        int path_bytes = *placeholder == '{' ? (int)strcspn(placeholder, "}") - 1 : 0;
        if (path_bytes) {
            bool unless_nothing = placeholder[1] == '?';
            (void)snprintf(path, sizeof(path), "%.*s", path_bytes - unless_nothing, placeholder + 1 + unless_nothing);
            const struct ap_value *figure = ap_value_at(of, path);
            known &= is_told(figure, unless_nothing);
            if (known)
                (void)ap_format_value(figure, value, sizeof(value));
        }
        if (told + 1 < AP_FACT_BYTES)
            (void)snprintf(to + told, AP_FACT_BYTES - told, "%.*s%s", (int)words, *template, value);
        told += strlen(to + told);
        *template = placeholder + (path_bytes ? path_bytes + 2 : 0);
    }
    *used = known ? told : *used;
    to[*used] = '\0';
    return known;
}

/* Words, then those in brackets up to the first of which a value is not known. False where the first words are not known. */
static bool tell(const struct ap_value *of, const char **template, char *to, size_t *used)
{
    bool told = tell_words(of, template, "[|", to, used), goes_on = told;
    while (**template == '[') {
        const char *words = *template + 1;
        *template = strchr(words, ']') + 1;
        goes_on = goes_on && *used + ROOM_BYTES < AP_FACT_BYTES && tell_words(of, &words, "]", to, used);
    }
    return told;
}

static bool tell_line(const struct ap_value *of, const char *template, char to[AP_FACT_BYTES])
{
    size_t used = 0;
    to[0] = '\0';
    return tell(of, &template, to, &used);
}

/* ---- the verdict ---- */

/* How full what was reserved is, where only a snapshot was given; as the head of the page. */
static bool tell_memory(const struct ap_value *root, char to[AP_FACT_BYTES])
{
    const struct ap_value *totals = ap_value_at(root, "memory.totals");
    int64_t used = ap_integer_member(totals, "allocated_bytes", -1),
            reserved = ap_integer_member(totals, "reserved_bytes", 0);
    bool failed = ap_integer_at(root, "memory.history.oom_count", 0) > 0;
    char share[VALUE_BYTES] = "";
    if (used < 0 || reserved <= 0 || used > reserved || ap_value_first(ap_value_member(root, "trace")))
        return false;
    const struct ap_value full = { .type = AP_VALUE_RATIO, .as.number = (double)used / (double)reserved };
    (void)ap_format_value(&full, share, sizeof(share));
    int bytes = snprintf(to, AP_FACT_BYTES, "%s%s", failed ? "Out of memory: " : share, failed ? "" : " full: ");
    char rest[AP_FACT_BYTES];
    (void)tell_line(root,
                    "{memory.totals.allocated_bytes} of {memory.totals.reserved_bytes} that the allocator reserved were "
                    "in use when the snapshot was taken[; the last request that failed was for "
                    "{memory.oom_summary.requested_bytes}][; the largest free "
                    "piece has {memory.totals.largest_free_block_bytes}]",
                    rest);
    (void)snprintf(to + bytes, AP_FACT_BYTES - (size_t)bytes, "%.*s", MAX_SENTENCE, rest);
    return true;
}

void ap_headline_verdict(const struct ap_value *root, char to[AP_FACT_BYTES])
{
    const struct ap_value *of_run = ap_value_at(root, "cluster.verdict.kind") ? ap_value_at(root, "cluster.verdict") : NULL;
    const struct ap_value *verdict = of_run ? of_run : ap_value_member(root, "verdict");
    struct ap_text bound = ap_text_member(verdict, of_run ? "kind" : "bound");
    struct ap_text sentence = ap_text_member(verdict, "sentence");
    if (!bound.bytes)
        sentence = ap_text_at(root, "hang.sentence");
    if (!bound.bytes && !sentence.bytes) {
        bound = ap_text_at(root, "profile.verdict");
        sentence = ap_text_at(root, "profile.sentence");
    }
    if (bound.bytes || sentence.bytes)
        (void)snprintf(to, AP_FACT_BYTES, "%.*s%s%.*s", shown(bound), bound.data, bound.bytes && sentence.bytes ? ": " : "",
                       (int)(sentence.bytes > MAX_SENTENCE ? MAX_SENTENCE : sentence.bytes), sentence.data);
    else if (!tell_memory(root, to))
        (void)snprintf(to, AP_FACT_BYTES, "No verdict on time: %s.", why_no_verdict(root));
}

/* ---- facts ---- */

/* Its name, and what of the rest is known. */
static const char *const facts[] = {
    "steps|{steps.count}|median {steps.steady.p50_us}|mean {steps.steady.mean_us}|spread {steps.steady.cv_ratio}",
    "GPU|{trace.main_device.name}|busy {gpu.utilization_ratio}[ of {gpu.window_us}]"
    "[ from first to last work and idle {split.judged.idle_ratio}][ of the judged {split.judged.dur_us}]"
    "[, of which {?split.judged.idle_causes.not_recorded_us} are not recorded]",
    "memory of the device|peak requested {memory.replay.peak_requested_bytes}|reserved at the end "
    "{memory.summary.reserved_bytes}|allocated {memory.summary.allocated_bytes}",
    "session|runs {onnxruntime.runs.count}|first {onnxruntime.runs.first_us}|median of the others "
    "{onnxruntime.runs.warm.p50_us}|no node for {onnxruntime.runs.outside_ratio}",
    "engine|queries {tensorrt.times.parts.latency.count}|p50 {tensorrt.times.parts.latency.p50_us}|p99 "
    "{tensorrt.times.parts.latency.p99_us}|"
    "layers {tensorrt.layers.total_us}",
    "torch.compile|compilations {compile_log.compilations.count}|graph breaks {compile_log.breaks.count}|recompilations "
    "{compile_log.recompiles.count}",
    "recording|{trace.window_us}|events {trace.events.total}|rank {trace.rank}[ of {trace.world_size}]",
};

/* Of a device whose name alone is known, too. */
static bool is_other_device(const struct ap_value *root, const char *fact)
{
    return strncmp(fact, "GPU|", 4) == 0 && ap_integer_at(root, "trace.recorded.accelerator", 0) &&
           !ap_integer_at(root, "trace.recorded.gpu", 0);
}

static bool tell_fact(const struct ap_value *root, const char *fact, char to[AP_FACT_BYTES])
{
    size_t used = 0;
    bool any = false;
    if (is_other_device(root, fact))
        used += (size_t)snprintf(to, AP_FACT_BYTES, "accelerator"), fact += strlen("GPU");
    else
        (void)tell(root, &fact, to, &used);
    while (*fact++ == '|' && used + ROOM_BYTES < AP_FACT_BYTES) {
        size_t before = used;
        used += (size_t)snprintf(to + used, AP_FACT_BYTES - used, "%s", any ? ", " : ": ");
        bool told = tell(root, &fact, to, &used);
        used = told ? used : before;
        to[used] = '\0';
        any |= told;
    }
    return any;
}

bool ap_headline_fact(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES])
{
    for (size_t i = 0; i < AP_COUNT_OF(facts); i++)
        if (tell_fact(root, facts[i], to) && index-- == 0)
            return true;
    return false;
}

/* ---- series ---- */

static bool is_true(const struct ap_value *of, const char *path)
{
    return ap_integer_at(of, path, 0) > 0;
}

/* Does the line through the points make sense? */
static bool has_line(const struct ap_value *series, const char *fixed, const char *slope)
{
    return ap_integer_at(series, fixed, -1) >= 0 && ap_integer_at(series, slope, -1) >= 0;
}

static const char *knee_of(const struct ap_value *series)
{
    return is_true(series, "knee.is_largest")
               ? "Batch sizes: the largest, {knee.batch}, has the best throughput[: {knee.samples_per_s} samples a second]"
               : "Batch sizes: the knee is {knee.batch}[, with {knee.share_of_best_ratio} of the best throughput]"
                 "[: {knee.samples_per_s} samples a second]";
}

static const char *memory_of(const struct ap_value *series)
{
    bool line = has_line(series, "memory.fixed_bytes", "memory.per_sample_bytes");
    if (!is_true(series, "memory.largest_batch"))
        return line ? "Memory: about {memory.fixed_bytes} and {memory.per_sample_bytes} for each sample" : "";
    return line ? "Memory: about {memory.fixed_bytes} and {memory.per_sample_bytes} for each sample; a batch of "
                  "{memory.largest_batch} would still fit[ into the {memory.capacity_bytes} of the device]"
                : "Memory: a batch of {memory.largest_batch} would still fit[ into the {memory.capacity_bytes} of the "
                  "device]";
}

static const char *time_of(const struct ap_value *series)
{
    return has_line(series, "latency.fixed_us", "latency.per_sample_us")
               ? "Time of a batch: about {latency.fixed_us} and {latency.per_sample_us} for each sample"
               : "";
}

bool ap_headline_series(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES])
{
    static const char *(*const lines[])(const struct ap_value *series) = { knee_of, memory_of, time_of };
    const struct ap_value *series = ap_value_member(root, "series");
    for (size_t i = 0; ap_value_first(series) && i < AP_COUNT_OF(lines); i++)
        if (tell_line(series, lines[i](series), to) && to[0] && index-- == 0)
            return true;
    return false;
}

void ap_headline_series_point(const struct ap_value *point, char to[AP_FACT_BYTES])
{
    (void)tell_line(
        point, "{batch}[: {step_us} a batch][, {samples_per_s} samples a second][, at most {peak_bytes} of memory]", to);
}

void ap_headline_gain(const struct ap_value *finding, char to[AP_FACT_BYTES])
{
    const struct ap_value *time = ap_value_member(finding, "saves_us"), *bytes = ap_value_member(finding, "saves_bytes");
    bool has_time = time && time->type == AP_VALUE_TIME_NS && ap_value_integer(time, 0) > 0;
    bool has_bytes = bytes && bytes->type == AP_VALUE_BYTES && ap_value_integer(bytes, 0) > 0;
    bool of_ranks = ap_text_is(ap_text_at(finding, "gain.whole"), "cluster.rank_time_us");
    (void)tell_line(finding,
                    has_time && has_bytes  ? "saves at most {saves_us} and {saves_bytes}"
                    : has_time && of_ranks ? "saves at most {saves_us} of all ranks together"
                    : has_time             ? "saves at most {saves_us}"
                    : has_bytes            ? "saves at most {saves_bytes}"
                                           : "",
                    to);
}

/* ---- what was asked for ---- */

static void tell_prediction(struct ap_text change, const struct ap_value *prediction, const struct ap_value *root,
                            char to[AP_FACT_BYTES])
{
    struct ap_text why_not = ap_text_at(root, "prediction.replay.why_not");
    bool of_batch = ap_text_starts_with(change, "batch ");
    char told[AP_FACT_BYTES] = "no row of the recording fits that";
    if (prediction && prediction->type == AP_VALUE_OBJECT)
        (void)tell_line(prediction, "{before_us} become {after_us} (from {after_low_us} to {after_high_us})", told);
    else if (of_batch)
        (void)snprintf(told, sizeof(told), "that takes recordings with several batch sizes");
    else if (why_not.bytes)
        (void)snprintf(told, sizeof(told), "nothing is predicted: %.*s", shown(why_not), why_not.data);
    (void)snprintf(to, AP_FACT_BYTES, "What if %.*s: %.200s", (int)(change.bytes > 160 ? 160 : change.bytes), change.data,
                   told);
}

bool ap_headline_what_if(const struct ap_value *root, size_t index, char to[AP_FACT_BYTES])
{
    const struct ap_value *row = ap_value_first(ap_value_at(root, "prediction.what_if"));
    const struct ap_value *together = ap_value_at(root, "prediction.what_if_together");
    bool several = row && row->next, is_together = together && together->type == AP_VALUE_OBJECT;
    for (; row && index; row = row->next)
        index--;
    if (row)
        tell_prediction(ap_text_member(row, "change"), ap_value_member(row, "prediction"), root, to);
    else if (several && is_together && index == 0)
        tell_prediction(AP_TEXT("all of it"), together, root, to);
    return row || (several && is_together && index == 0);
}
