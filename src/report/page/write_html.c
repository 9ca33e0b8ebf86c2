/* SPDX-License-Identifier: MIT
 * The HTML report from top to bottom: verdict, what was asked, findings, pictures, then all that the Markdown report has. */
#include <string.h>

#include "html_assets.h"
#include "html_findings.h"
#include "html_pictures.h"
#include "report.h"
#include "sections.h"

#include "poison.h"

/* Room for the parts; what is left over goes to the next one. Together with the assets they stay below HTML_MAX_BYTES. */
#define HEAD_ROOM 100000
#define ANSWERS_ROOM 150000
#define FINDINGS_ROOM 400000

static void write_asset(struct html *html, const unsigned char *data, size_t bytes)
{
    ap_out_text(&html->out, (struct ap_text){ (const char *)data, bytes });
}

static struct ap_text input_path(const struct html *html)
{
    const char *path = ap_html_known(html, "trace.path") ? "trace.path"
                       : ap_html_known(html, "cpu.path") ? "cpu.path"
                                                         : "memory.path";
    return ap_value_text(ap_html_at(html, path));
}

/* The file alone, without its folders. */
static struct ap_text last_part(struct ap_text path)
{
    size_t at = path.bytes;
    while (at && path.data[at - 1] != '/')
        at--;
    return (struct ap_text){ path.data + at, path.bytes - at };
}

/* Nothing may be loaded, and only what was compiled into this program may run or style; the picture of a page is an empty
 * one, so that none is asked for. */
static void write_head(struct html *html)
{
    ap_html_string(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '");
    ap_html_string(html, ap_html_script_hash);
    ap_html_string(html, "'; style-src '");
    ap_html_string(html, ap_html_style_hash);
    ap_html_string(html,
                   "'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
                   "<link rel=\"icon\" href=\"data:,\">\n<title>Profile report");
    ap_html_string(html, input_path(html).bytes ? ": " : "");
    ap_html_text(html, last_part(input_path(html)), 80);
    ap_html_string(html, "</title>\n<style>");
    write_asset(html, ap_html_style, ap_html_style_bytes);
    ap_html_string(html, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#findings\">To the findings</a>\n");
}

/* ---- what the report is about ---- */

static bool is_file(const char *path)
{
    return strcmp(path, "trace.path") == 0 || strcmp(path, "memory.path") == 0;
}

static void write_fact(struct html *html, const char *label, const char *path)
{
    const struct ap_value *value = ap_html_at(html, path);
    if (!value || value->type == AP_VALUE_NULL)
        return;
    ap_html_format(html, "<div><dt>%s</dt><dd>", label);
    if (value->type == AP_VALUE_TEXT)
        ap_html_name(html, is_file(path) ? last_part(value->as.text) : value->as.text);
    else
        ap_html_value(html, value);
    ap_html_string(html, "</dd></div>\n");
}

/* Files of other profilers, as the Markdown report names them. */
static void write_profiles(struct html *html)
{
    size_t count = 0, most = 6;
    const struct ap_value *file = ap_value_first(ap_html_at(html, "profile.files"));
    for (; file; file = file->next, count++) {
        if (count >= most)
            continue;
        ap_html_string(html, "<div><dt>");
        ap_html_text(html, ap_value_text(ap_value_member(file, "kind")), 60);
        ap_html_string(html, "</dt><dd>");
        ap_html_name(html, last_part(ap_value_text(ap_value_member(file, "path"))));
        ap_html_string(html, "</dd></div>\n");
    }
    if (count > most)
        ap_html_format(html, "<div><dt>Files beside them</dt><dd>%zu</dd></div>\n", count - most);
}

static void write_labels(struct html *html)
{
    for (const struct ap_value *label = ap_value_first(ap_html_at(html, "context")); label; label = label->next) {
        if (!ap_html_has_room(html, 4000))
            return;
        ap_html_string(html, "<div><dt>");
        ap_html_text(html, label->key, 60);
        ap_html_string(html, "</dt><dd>");
        ap_html_name(html, ap_value_text(label));
        ap_html_string(html, "</dd></div>\n");
    }
}

static const struct {
    const char *label, *path;
} facts[] = {
    { "Trace", "trace.path" },
    { "Memory snapshot", "memory.path" },
    { "Device", "trace.main_device.name" },
    { "Rank", "trace.rank" },
    { "Ranks of the run", "trace.world_size" },
    { "Ranks with a dump", "hang.dumps.count" },
    { "Ranks that there are", "hang.dumps.world_size" },
    { "Ranks compared", "cluster.rank_count" },
    { "Ranks of the run", "cluster.world_size" },
    { "Median step", "cluster.steps.p50_us" },
    { "Waiting of all ranks", "cluster.waiting.total_ratio" },
    { "Runs", "onnxruntime.runs.count" },
    { "Median run but the first", "onnxruntime.runs.warm.p50_us" },
    { "First run", "onnxruntime.runs.first_us" },
    { "Median query", "tensorrt.times.parts.latency.p50_us" },
    { "99th percentile of the queries", "tensorrt.times.parts.latency.p99_us" },
    { "Sum of the layers", "tensorrt.layers.total_us" },
    { "Graph breaks", "compile_log.breaks.count" },
    { "Recompilations", "compile_log.recompiles.count" },
    { "Focus", "focus" },
    { "Phase", "phase" },
    { "Recorded", "trace.window_us" },
    { "Steps", "steps.count" },
    { "Median steady step", "steps.steady.p50_us" },
    { "GPU busy, first to last work", "gpu.utilization_ratio" },
    { "Peak memory", "trace_memory.gpu.peak_allocated_bytes" },
    { "Peak requested", "memory.replay.peak_requested_bytes" },
    { "Reserved", "memory.totals.reserved_bytes" },
};

static void write_facts(struct html *html)
{
    ap_html_string(html, "<dl class=\"facts\">\n");
    write_profiles(html);
    bool has_ranks = ap_value_integer(ap_html_at(html, "cluster.rank_count"), 0) > 0; /* else dumps alone */
    bool is_alone = ap_value_integer(ap_html_at(html, "trace.world_size"), 0) == 1;
    for (size_t i = 0; i < AP_COUNT_OF(facts); i++)
        if ((has_ranks || strncmp(facts[i].path, "cluster.", 8) != 0) &&
            !(is_alone && (strcmp(facts[i].path, "trace.rank") == 0 || strcmp(facts[i].path, "trace.world_size") == 0)))
            write_fact(html, facts[i].label, facts[i].path);
    write_labels(html);
    ap_html_string(html, "</dl>\n");
}

static void write_verdict(struct html *html)
{
    if (ap_html_known(html, "hang"))
        ap_html_tell(html, ap_html_at(html, "hang"),
                     "<p class=\"verdict\"><strong>Hang</strong> {p sentence} <span class=\"muted\">(confidence "
                     "{t confidence})</span></p>\n");
    if (ap_html_known(html, "profile.verdict"))
        ap_html_tell(html, ap_html_at(html, "profile"),
                     "<p class=\"verdict\"><strong>{p verdict}</strong> {p sentence} <span class=\"muted\">(confidence "
                     "{t confidence})</span></p>\n");
    if (ap_html_known(html, "cluster.verdict"))
        ap_html_tell(html, ap_html_at(html, "cluster.verdict"),
                     "<p class=\"verdict\"><strong>{p kind}</strong> {p sentence}</p>\n");
    if (ap_html_known(html, "verdict.bound"))
        ap_html_tell(html, ap_html_at(html, "verdict"),
                     "<p class=\"verdict\"><strong>{p bound}</strong> {p sentence} <span class=\"muted\">(confidence "
                     "{t confidence})</span></p>\n");
    if (ap_html_known(html, "comparison.verdict.sentence"))
        ap_html_tell(html, NULL,
                     "<p><a href=\"#compared-with-the-baseline\">Compared with the baseline</a>: "
                     "{p comparison.verdict.sentence}.</p>\n");
}

/* ---- the headline of a snapshot: how full, and what would still fit; of what it is full is told behind it ---- */

static int64_t bytes_at(const struct html *html, const char *path)
{
    return ap_value_integer(ap_html_at(html, path), 0);
}

static void write_share(struct html *html, int64_t used_bytes, int64_t reserved_bytes)
{
    int64_t failed = bytes_at(html, "memory.history.oom_count");
    ap_html_string(html, "<p class=\"verdict\"><strong>");
    if (failed > 0)
        ap_html_string(html, "Out of memory");
    else
        ap_html_share(html, (double)used_bytes / (double)reserved_bytes);
    ap_html_string(html, failed > 0 ? "</strong> " : " full</strong> ");
    ap_html_bytes(html, used_bytes);
    ap_html_string(html, " of ");
    ap_html_bytes(html, reserved_bytes);
    ap_html_string(html, " that the allocator reserved are in use in this snapshot");
    if (failed > 0) {
        ap_html_string(html, " (");
        ap_html_share(html, (double)used_bytes / (double)reserved_bytes);
        ap_html_string(html, ")");
    }
}

/* "; the device has 24 GiB" where that is known. */
static void write_capacity(struct html *html, int64_t reserved_bytes)
{
    int64_t capacity_bytes = bytes_at(html, "memory.oom_summary.capacity_bytes");
    if (capacity_bytes < reserved_bytes)
        return;
    ap_html_string(html, "; the device has ");
    ap_html_bytes(html, capacity_bytes);
}

/* What would still fit; where a request failed, beside what it was for. */
static void write_what_fits(struct html *html)
{
    bool failed =
        bytes_at(html, "memory.history.oom_count") > 0 && ap_html_known(html, "memory.oom_summary.requested_bytes");
    if (failed)
        ap_html_tell(html, ap_html_at(html, "memory.oom_summary"),
                     ". The last request that failed was for {v requested_bytes}");
    if (ap_html_known(html, "memory.totals.largest_free_block_bytes"))
        ap_html_tell(html, ap_html_at(html, "memory.totals"),
                     failed ? "; the largest free piece has {v largest_free_block_bytes}"
                            : ". The largest free piece has {v largest_free_block_bytes}: a larger request needs more from "
                              "the driver");
}

static void write_memory_verdict(struct html *html)
{
    int64_t used_bytes = bytes_at(html, "memory.totals.allocated_bytes"),
            reserved_bytes = bytes_at(html, "memory.totals.reserved_bytes");
    if (!ap_html_known(html, "memory.totals.allocated_bytes") || reserved_bytes <= 0 || used_bytes > reserved_bytes ||
        ap_html_known(html, "verdict.bound"))
        return;
    write_share(html, used_bytes, reserved_bytes);
    write_capacity(html, reserved_bytes);
    write_what_fits(html);
    ap_html_string(html, ".</p>\n");
}

/* ---- the contents of the page, which stay in view: on a narrow screen the three parts alone ---- */

static void write_parts(struct html *html, bool of_pictures)
{
    const struct html_contents *in = html->contents;
    bool any = false;
    for (size_t i = 0; in && i < in->count; i++) {
        const struct html_part *part = &in->parts[i];
        if ((part->id[0] != '\0') != of_pictures)
            continue;
        ap_html_string(html, any ? "<li><a href=\"#" : "<ul class=\"parts\">\n<li><a href=\"#");
        if (of_pictures)
            ap_html_string(html, part->id);
        else
            ap_html_slug(html, ap_text_of(part->title));
        ap_html_format(html, "\">%s</a></li>\n", part->title);
        any = true;
    }
    if (any)
        ap_html_string(html, "</ul>\n");
}

static void write_nav(struct html *html)
{
    ap_html_string(html, "<nav aria-label=\"Parts of the report\">\n<a href=\"#findings\">Findings</a>\n");
    if (ap_html_has_pictures(html)) {
        ap_html_string(html, "<a href=\"#pictures\">Pictures</a>\n");
        write_parts(html, true);
    }
    ap_html_string(html, "<a href=\"#details\">Details</a>\n");
    write_parts(html, false);
    ap_html_string(html, "</nav>\n");
}

/* ---- what was asked of the run: a baseline, conditions, other batch sizes ---- */

/* They are what the reader came for, so they are not folded away. */
static void write_answers(struct html *html)
{
    ap_html_limit(html, ANSWERS_ROOM);
    html->opens_sections = true;
    ap_section_conditions(&html->doc);
    ap_section_comparison(&html->doc);
    ap_section_series(&html->doc);
    ap_html_series(html);
    ap_html_section_end(html);
    html->opens_sections = false;
}

/* ---- from top to bottom ---- */

static void write_top(struct html *html)
{
    ap_html_limit(html, HEAD_ROOM);
    ap_html_string(html, "<header>\n<h1>Profile report</h1>\n");
    write_verdict(html);
    write_memory_verdict(html);
    ap_html_first_finding(html);
    ap_html_split(html);
    if (ap_html_owners_lead(html))
        ap_html_memory_owners(html);
    write_facts(html);
    ap_part_alerts(&html->doc);
    ap_html_string(html, "</header>\n");
    write_nav(html);
    ap_html_string(html, "<main>\n");
}

static void write_end(struct html *html)
{
    ap_html_tell(html, NULL, "</main>\n<footer><p>Written by {n generator.name} {t generator.version}");
    ap_html_string(html, ". This file loads nothing and sends nothing. Figures are rounded here and exact in the JSON "
                         "report.</p></footer>\n<script>");
    write_asset(html, ap_html_script, ap_html_script_bytes);
    ap_html_string(html, "</script>\n</body>\n</html>\n");
}

static void write_sections(struct html *html)
{
    ap_html_limit(html, HTML_MAX_BYTES);
    ap_html_string(html,
                   "<section id=\"details\" aria-labelledby=\"details-title\"><h2 id=\"details-title\">Details</h2>\n");
    ap_all_sections(&html->doc);
    ap_html_section_end(html);
    ap_html_string(html, "</section>\n");
}

static void write_all(struct html *html)
{
    write_head(html);
    write_top(html);
    write_answers(html);
    ap_html_limit(html, FINDINGS_ROOM);
    ap_html_findings(html);
    ap_html_pictures(html);
    write_sections(html);
    write_end(html);
}

static enum ap_status drop(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    (void)self, (void)data, (void)bytes, (void)reterr;
    return AP_OK;
}

/* Twice: what stands at the top leads to what stands below, which is known only when it has been written. */
enum ap_status ap_write_html(const struct ap_model *model, struct ap_sink sink, struct ap_error *reterr)
{
    struct html_contents contents = { .count = 0 };
    struct html html;
    ap_html_init(&html, model, (struct ap_sink){ drop, NULL });
    html.gathers = &contents;
    write_all(&html);
    AP_TRY(ap_out_finish(&html.out, reterr));
    ap_html_init(&html, model, sink);
    html.contents = &contents;
    write_all(&html);
    return ap_out_finish(&html.out, reterr);
}
