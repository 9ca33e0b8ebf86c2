/* SPDX-License-Identifier: MIT
 * The HTML report from models built by hand: strict markup whatever the names, one script and one style that the policy
 * names, every picture, and never too large. */
#include "catalogue.h"
#include "hostile_names.h"
#include "html_assets.h"
#include "html_check.h"
#include "json_check.h"
#include "md_check.h"
#include "report.h"
#include "sample_pictures.h"
#include "tap.h"
#include "text_sink.h"

#define MOST_BYTES 1500000u

static struct ap_gate gate;

static struct text_sink html_of(struct ap_model *model)
{
    struct text_sink to = { .data = NULL };
    struct ap_error error;
    if (ap_write_html(model, text_sink_of(&to), &error) != AP_OK)
        ok(false, error.message);
    return to;
}

static struct text_sink sample(const struct ap_text *names, size_t count, int size)
{
    struct ap_model model;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    sample_fill(&model, names, count);
    sample_pictures_fill(&model, names, count, size);
    struct text_sink text = html_of(&model);
    ap_model_release(&model);
    return text;
}

static bool is_strict(const struct text_sink *text, struct html_counts *counts)
{
    char why[200] = "";
    bool strict = html_is_strict(text->data, text->bytes, counts, why, sizeof(why));
    if (!strict)
        printf("# %s\n", why);
    return strict;
}

static void every_picture_is_drawn(void)
{
    static const char *const ids[] = { "split",       "utilization",    "steps-chart", "step-parts", "timeline",
                                       "kernel-map",  "collectives",    "host-flame",  "memory-0",   "memory-flame",
                                       "segment-map", "trace-memory-0", "roofline",    "efficiency" };
    struct text_sink text = sample(NULL, 0, 20);
    struct html_counts counts;
    ok(is_strict(&text, &counts), "the sample is strict HTML");
    for (size_t i = 0; i < AP_COUNT_OF(ids); i++) {
        char wanted[60];
        (void)snprintf(wanted, sizeof(wanted), "<figure id=\"%s\" role=\"group\"", ids[i]);
        ok(strstr(text.data, wanted), ids[i]);
    }
    is_int((int64_t)counts.figures, AP_COUNT_OF(ids), "and no other: ids has each picture");
    ok(counts.shapes > 300, "they have shapes");
    text_sink_release(&text);
}

/* Links of findings and sections name figures that reports have, and pictures that there are. */
static void links_name_what_there_is(void)
{
    static const char *const paths[] = {
#define AP_SECTION_FIGURE(title, path, words) path,
#define AP_SECTION_COUNT(title, path, words)
#include "section_figures.def"
#undef AP_SECTION_FIGURE
#undef AP_SECTION_COUNT
    };
    static const char *const shown[] = {
#define AP_SHOWS(picture, path) path,
#define AP_SHOWS_PLACES(picture, path)
#define AP_SHOWS_GAIN(picture)
#include "picture_shows.def"
#undef AP_SHOWS
    };
    for (size_t i = 0; i < AP_COUNT_OF(paths); i++)
        ok(ap_catalogue_find(ap_text_of(paths[i])) != NULL, paths[i]);
    for (size_t i = 0; i < AP_COUNT_OF(shown); i++) {
        size_t bytes = strlen(shown[i]);
        bool any = false;
        for (size_t k = 0; k < ap_figure_count; k++)
            any |= strncmp(ap_figure_text(ap_figures[k].path), shown[i], bytes) == 0 &&
                   strchr(".", ap_figure_text(ap_figures[k].path)[bytes]);
        ok(any, shown[i]);
    }
}

/* A finding leads to the pictures of its figures, and they lead back. */
static void findings_and_pictures_are_linked(void)
{
    struct ap_model model;
    struct html_counts counts;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    sample_fill(&model, NULL, 0);
    sample_pictures_fill(&model, NULL, 0, 4);
    struct ap_value *finding = (struct ap_value *)ap_value_first(ap_value_at(&model.root, "findings"));
    struct ap_value *evidence = (struct ap_value *)ap_value_member(finding, "evidence");
    struct ap_value *row = ap_add_object(&model, evidence, NULL);
    ap_add_string(&model, row, "metric", "communication.exposed_us");
    ap_add_time(&model, row, "value", 1000);
    struct text_sink page = html_of(&model);
    ok(is_strict(&page, &counts), "a page with links is strict HTML");
    const char *card = strstr(page.data, "id=\"finding-1\""), *figure = strstr(page.data, "<figure id=\"collectives\"");
    const char *there = card ? strstr(card, "<a href=\"#collectives\"") : NULL;
    ok(there && figure && there < figure, "the card leads to the picture");
    ok(there && strstr(there, "<use href=\"#collectives-drawing\""), "and shows it");
    const char *back = figure ? strstr(figure, "<a href=\"#finding-1\">1. ") : NULL;
    ok(back && back < strstr(figure, "</figure>"), "the picture leads back");
    text_sink_release(&page);
    ap_model_release(&model);
}

/* A stack of bands tells of each what it is for, how much, and by which lines; of what was there before, a guess. */
static void memory_is_stacked(void)
{
    struct text_sink text = sample(NULL, 0, 20);
    const char *figure = strstr(text.data, "<figure id=\"memory-0\"");
    const char *before = figure
                             ? strstr(figure, "held since before the recording, most likely weights: at most 2 MiB at once, "
                                              "3 allocations, the largest 1 MiB, the longest lived 1 ms")
                             : NULL;
    ok(before && before < strstr(figure, "</figure>"), "a band tells of itself");
    const char *band = figure ? strstr(figure, "<path class=\"band own_parameters\"") : NULL;
    ok(band && band < strstr(figure, "<path class=\"band own_activations\""), "what was there before is below");
    ok(band && !strstr(band, "no such category: at most"), "a stranger is not drawn");
    text_sink_release(&text);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        count++;
    return count;
}

/* What is no family that the program knows has the gray of all others, together with "other". */
static void no_two_families_look_alike(void)
{
    static const char *const names[] = { "GEMM",        "attention", "other", "convolution",   "normalisation", "a",
                                         "elementwise", "reduction", "copy",  "communication", "triton" };
    static const char *const classes[] = { "fam_gemm",        "fam_attention", "fam_convolution", "fam_normalization",
                                           "fam_elementwise", "fam_reduction", "fam_copy",        "communication",
                                           "fam_triton",      "fam_other" };
    struct ap_model model;
    struct html_counts counts;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    struct ap_value *families = ap_add_list(&model, ap_add_object(&model, &model.root, "gpu"), "families");
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        struct ap_value *row = ap_add_object(&model, families, NULL);
        ap_add_string(&model, row, "family", names[i]);
        ap_add_time(&model, row, "total_dur_us", 20000000 - (int64_t)i * 1000000);
    }
    struct text_sink text = html_of(&model);
    ok(is_strict(&text, &counts), "eleven families are strict HTML");
    for (size_t i = 0; i < AP_COUNT_OF(classes); i++) {
        char key[60];
        (void)snprintf(key, sizeof(key), "<rect class=\"%s\"", classes[i]);
        is_int((int64_t)count_of(text.data, key), 1, classes[i]);
    }
    /* 18 of other, 15 of a: first, being 33 of 165 ms */
    ok(strstr(text.data, "Largest family: other and smaller families."), "the rest is one, in its place");
    ok(strstr(text.data, "other and smaller families <b>20 %</b> <span class=\"muted\">33 ms"), "with the sum");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* A finding that is about more than is shown is outlined as far as that goes. */
static void a_part_of_a_finding(void)
{
    struct ap_model model;
    struct html_counts counts;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    sample_fill(&model, NULL, 0);
    sample_pictures_fill(&model, NULL, 0, 4);
    struct ap_value *dur = (struct ap_value *)ap_value_at(&model.root, "pictures.timeline.finding.dur_us");
    struct text_sink whole = html_of(&model);
    ok(strstr(whole.data, " Outlined: ") && strstr(whole.data, "<rect class=\"findmark\""), "a finding is outlined");
    dur->as.integer = INT64_C(5000000000000);
    struct text_sink part = html_of(&model);
    ok(is_strict(&part, &counts), "a part of one is strict HTML");
    ok(strstr(part.data, "<rect class=\"findmark\"") && !strstr(part.data, "width=\"1000.1"), "it is outlined within");
    text_sink_release(&whole);
    text_sink_release(&part);
    ap_model_release(&model);
}

/* A condition, a comparison and a series, with names as hostile as a file can be called. */
static void put_answers(struct ap_model *model, struct ap_text name)
{
    struct ap_value *condition = ap_add_object(model, put_list(model, "conditions"), NULL);
    ap_add_text(model, condition, "condition", name);
    ap_add_bool(model, condition, "held", true);
    ap_add_text(model, condition, "text", name);
    put_text(model, "comparison.verdict.sentence", "Steps are slower");
    ap_add_text(model, tree_place(model, "comparison.baseline"), "path", name);
    put_count(model, "series.knee.batch", 16);
    struct ap_value *points = put_list(model, "series.points");
    for (int64_t batch = 8; batch <= 32; batch *= 2) {
        struct ap_value *point = ap_add_object(model, points, NULL);
        ap_add_count(model, point, "batch", batch);
        ap_add_text(model, point, "path", name);
        ap_add_number(model, point, "samples_per_s", (double)batch);
        ap_add_time(model, point, "step_us", 1000);
    }
}

static void what_was_asked_comes_first(void)
{
    static const char *const links[] = { "conditions", "compared-with-the-baseline", "batch-sizes" };
    for (size_t i = 0; i < AP_COUNT_OF(hostile); i++) {
        struct ap_model model;
        struct html_counts counts;
        char wanted[80];
        ap_gate_init(&gate, 0);
        ap_model_init(&model, &gate);
        tree_place(&model, "comparison.baseline")->type = AP_VALUE_OBJECT;
        put_answers(&model, hostile[i]);
        struct text_sink text = html_of(&model);
        ok(is_strict(&text, &counts) && text_is_clean(text.data, text.bytes),
           "with a baseline, conditions and a series: strict and clean");
        for (size_t link = 0; i == 0 && link < AP_COUNT_OF(links); link++) {
            (void)snprintf(wanted, sizeof(wanted), "<a href=\"#%s\">", links[link]);
            ok(strstr(text.data, wanted), "it is linked from the top");
            (void)snprintf(wanted, sizeof(wanted), "id=\"%s\"><details open=\"\">", links[link]);
            const char *section = strstr(text.data, wanted);
            ok(section && section < strstr(text.data, "<section id=\"findings\""), "and stands open before the findings");
        }
        is_int((int64_t)counts.figures, 1, "the series is drawn");
        is_int((int64_t)count_of(text.data, "<rect class=\"steady\" x="), 2, "a bar for each batch");
        is_int((int64_t)count_of(text.data, "<rect class=\"cold\" x="), 1, "the knee in another color");
        text_sink_release(&text);
        ap_model_release(&model);
    }
}

static void only_our_script_may_run(void)
{
    struct text_sink text = sample(NULL, 0, 3);
    struct html_counts counts;
    char policy[400];
    (void)snprintf(policy, sizeof(policy),
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '%s'; "
                   "style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'\">",
                   ap_html_script_hash, ap_html_style_hash);
    ok(is_strict(&text, &counts), "strict");
    ok(strstr(text.data, policy), "the policy allows what was compiled in, by its hash, and nothing else");
    ok(strstr(text.data, policy) < strstr(text.data, "<style>"), "and stands before all that it is about");
    is_int((int64_t)counts.scripts, 1, "one script");
    is_int((int64_t)counts.styles, 1, "one style");
    const char *script = strstr(text.data, "<script>");
    ok(script && memcmp(script + 8, ap_html_script, ap_html_script_bytes) == 0 &&
           strncmp(script + 8 + ap_html_script_bytes, "</script>", 9) == 0,
       "the script is ours to the byte");
    const char *style = strstr(text.data, "<style>");
    ok(style && memcmp(style + 7, ap_html_style, ap_html_style_bytes) == 0 &&
           strncmp(style + 7 + ap_html_style_bytes, "</style>", 8) == 0,
       "and so is the style");
    text_sink_release(&text);
}

static void hostile_names_change_nothing(void)
{
    const struct ap_text harmless = AP_TEXT("aten::mm");
    struct text_sink text = sample(&harmless, 1, 6);
    struct html_counts want, counts;
    ok(is_strict(&text, &want), "harmless names");
    text_sink_release(&text);
    for (size_t i = 0; i < AP_COUNT_OF(hostile); i++) {
        if (!hostile[i].bytes)
            continue; /* what has no name is drawn another way */
        text = sample(&hostile[i], 1, 6);
        bool strict = is_strict(&text, &counts);
        ok(strict && text_is_clean(text.data, text.bytes), "a hostile name: strict and clean");
        if (!ok(counts.shape == want.shape, "the page has the elements that it has with a harmless one"))
            printf("# hostile name %zu: %zu elements for %zu\n", i, counts.tags, want.tags);
        text_sink_release(&text);
    }
}

static void names_are_shown_as_text(void)
{
    const struct ap_text name = AP_TEXT("<b>\"x\" & 'y'\xE2\x80\xAEz");
    struct text_sink text = sample(&name, 1, 3);
    ok(strstr(text.data, "<code>&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;\\u{202e}z</code>"), "in tables");
    ok(strstr(text.data, "<title>&lt;b&gt;&quot;x&quot; &amp; &#39;y&#39;\\u{202e}z: "), "in pictures");
    ok(!strstr(text.data, "<b>\"x"), "and nowhere else");
    text_sink_release(&text);
}

/* A model larger than any run makes: long names of signs that are written out, in rows by the thousand. */
static void the_largest_is_small(void)
{
    static char signs[400], hidden[400];
    memset(signs, '"', sizeof(signs));
    for (size_t i = 0; i + 4 <= sizeof(hidden); i += 4)
        memcpy(hidden + i, "\xF3\xA0\x80\x81", 4);
    const struct ap_text names[] = { { signs, sizeof(signs) }, { hidden, sizeof(hidden) } };
    struct ap_model model;
    struct html_counts counts;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    sample_fill(&model, names, AP_COUNT_OF(names));
    sample_pictures_fill(&model, names, AP_COUNT_OF(names), 500);
    struct sample more = { .model = &model, .names = names, .name_count = AP_COUNT_OF(names) };
    static const char *const lists[] = {
        "cpu.operators",   "cpu.operators_by_self",   "operators.top", "runtime.calls", "sync.by_cause",
        "copies.by_cause", "critical_path.operators", "idle.gaps",     "gpu.copies",    "autograd.by_forward_op"
    };
    for (size_t i = 0; i < AP_COUNT_OF(lists); i++) {
        struct ap_value *list = put_list(&model, lists[i]);
        for (int row = 0; row < 5000; row++) {
            sample_operator(&more, list, row, row);
            for (const char *const *key =
                     (const char *const[]){ "operator", "line", "call", "what", "kind", "forward", NULL };
                 *key; key++)
                sample_named_text(&more, list->as.children.last, *key);
        }
    }
    struct ap_value *findings = put_list(&model, "findings"), *context = tree_place(&model, "context");
    for (int i = 0; i < 3000; i++) {
        sample_finding(&more, findings, i % 2 ? "high" : "info");
        ap_add_text_named(&model, context, sample_name(&more), sample_name(&more));
    }
    struct text_sink text = html_of(&model);
    ok(text.bytes < MOST_BYTES, "below 1.5 MB");
    printf("# %zu bytes\n", text.bytes);
    ok(is_strict(&text, &counts), "and still strict HTML");
    ok(strstr(text.data, "are left out to keep this file small"), "what is left out is said");
    ok(strstr(text.data, "<footer>"), "and the end is there");
    text_sink_release(&text);
    ap_model_release(&model);
}

/* Any value at any place: nothing may overflow or run away. */
static void extreme_numbers(void)
{
    static const int64_t extremes[] = { INT64_MIN, INT64_MAX, -1, 0 };
    for (size_t i = 0; i < AP_COUNT_OF(extremes); i++) {
        struct ap_model model;
        struct html_counts counts;
        ap_gate_init(&gate, 0);
        ap_model_init(&model, &gate);
        sample_fill(&model, NULL, 0);
        sample_pictures_fill(&model, NULL, 0, 4);
        struct ap_value *open[32] = { model.root.as.children.first };
        for (size_t depth = 1; depth > 0;) {
            struct ap_value *value = open[depth - 1];
            if (!value) {
                depth--;
                continue;
            }
            open[depth - 1] = value->next;
            if (value->type == AP_VALUE_COUNT || value->type == AP_VALUE_TIME_NS || value->type == AP_VALUE_BYTES)
                value->as.integer = extremes[i];
            if ((value->type == AP_VALUE_LIST || value->type == AP_VALUE_OBJECT) && depth < AP_COUNT_OF(open))
                open[depth++] = value->as.children.first;
        }
        struct text_sink text = html_of(&model);
        ok(is_strict(&text, &counts), "extreme numbers are strict HTML");
        text_sink_release(&text);
        ap_model_release(&model);
    }
}

static void an_empty_model(void)
{
    struct ap_model model;
    struct html_counts counts;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    struct text_sink text = html_of(&model);
    ok(is_strict(&text, &counts), "an empty model is strict HTML");
    is_int((int64_t)counts.figures, 0, "without pictures");
    ok(!strstr(text.data, "Pictures</"), "nor a heading of them, nor a link to it");
    text_sink_release(&text);
    struct text_sink full = { .limit_bytes = 100 };
    struct ap_error error;
    is_int(ap_write_html(&model, text_sink_of(&full), &error), AP_ERROR_OUTPUT, "a full sink is told");
    text_sink_release(&full);
    ap_model_release(&model);
}

int main(void)
{
    every_picture_is_drawn();
    links_name_what_there_is();
    findings_and_pictures_are_linked();
    memory_is_stacked();
    no_two_families_look_alike();
    a_part_of_a_finding();
    what_was_asked_comes_first();
    only_our_script_may_run();
    hostile_names_change_nothing();
    names_are_shown_as_text();
    the_largest_is_small();
    extreme_numbers();
    an_empty_model();
    return done();
}
