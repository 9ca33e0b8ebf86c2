/* SPDX-License-Identifier: MIT
 * The document that sections speak through, in both formats: templates, lists within lists, cells, text of the input. */
#include "html.h"
#include "md_document.h"
#include "figure_text.h"
#include "tap.h"
#include "text_sink.h"

static struct ap_gate gate;
static struct ap_model model;

/* What @write says, in Markdown or HTML. */
static void says(void (*write)(struct doc *doc), const char *markdown, const char *markup, const char *what)
{
    struct text_sink md_text = { .data = NULL }, html_text = { .data = NULL };
    struct md md;
    struct html html;
    ap_md_init(&md, &model, NULL, text_sink_of(&md_text));
    write(&md.doc);
    ok(ap_md_finish(&md, NULL) == AP_OK && md_text.data, "Markdown is written");
    is_str(md_text.data, markdown, what);
    ap_html_init(&html, &model, text_sink_of(&html_text));
    write(&html.doc);
    ok(ap_out_finish(&html.out, NULL) == AP_OK && html_text.data, "HTML is written");
    is_str(html_text.data, markup, what);
    text_sink_release(&md_text);
    text_sink_release(&html_text);
}

static void fill(void)
{
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    ap_add_string(&model, &model.root, "name", "a|b<c>");
    ap_add_string(&model, &model.root, "sentence", "call `f()` of @team's <b>");
    ap_add_time(&model, &model.root, "dur_us", 1034551204);
    ap_add_ratio(&model, &model.root, "tiny_ratio", 0.000001);
    ap_add_count(&model, &model.root, "count", 12345);
    ap_add_null(&model, &model.root, "nothing");
    ap_add_ratio(&model, ap_add_object(&model, &model.root, "gpu"), "utilization_ratio", 0.5);
    struct ap_value *topic = ap_add_object(&model, &model.root, "topic");
    ap_add_count(&model, topic, "count", 0);
    ap_add_count(&model, ap_add_object(&model, topic, "a"), "count", 0);
    ap_add_count(&model, ap_add_object(&model, topic, "b"), "count", 2);
}

static void write_template(struct doc *doc)
{
    ap_doc_paragraph(doc, NULL, "**{c count}** of {f count}: {n name}[, no {f nothing}][, {F dur_us}].");
    ap_doc_paragraph(doc, NULL, "{r dur_us}, {f tiny_ratio}, {t dur_us}, {f nothing}, {F nothing}");
}

static void write_prose(struct doc *doc)
{
    ap_doc_begin(doc, DOC_ALERT);
    ap_doc_tell(doc, NULL, "*see* {p sentence}");
    ap_doc_end(doc, DOC_ALERT);
}

static void write_lists(struct doc *doc)
{
    static const int64_t depths[] = { 0, 2, 1, 0 };
    ap_doc_begin(doc, DOC_LIST);
    for (size_t i = 0; i < AP_COUNT_OF(depths); i++) {
        ap_doc_begin_at(doc, DOC_ITEM, depths[i]);
        ap_doc_say(doc, "x");
        ap_doc_end(doc, DOC_ITEM);
    }
    ap_doc_end(doc, DOC_LIST);
}

static void write_grid(struct doc *doc)
{
    static const struct doc_column columns[] = { NAME(NULL, "Who"), NUMBER(NULL, "How many") };
    doc->backend->grid(doc, COUNTED(columns));
    ap_doc_begin(doc, DOC_ROW);
    ap_doc_cell(doc, NULL, "");
    ap_doc_cell(doc, NULL, "{f count}");
    ap_doc_end(doc, DOC_ROW);
    doc->backend->grid_end(doc);
}

static const struct doc_figure figures[] = {
    { "count", "Things" }, { "absent", "Never" }, { "nothing", "Unknown" }, FIGURE("gpu.utilization_ratio")
};

static const struct doc_part parts[] = {
    { .only_if = "nothing", .says = "left out" },
    SAYS("{c count} things"),
    FIGURES("Figures", figures),
};

static void write_section(struct doc *doc)
{
    static const struct doc_section section = { .title = "A section",
                                                .if_any = { "absent", "count" },
                                                .parts = COUNTED(parts) };
    static const struct doc_section other = { .title = "Another", .if_any = { "absent" }, .parts = COUNTED(parts) };
    ap_doc_section(doc, &section);
    ap_doc_section(doc, &other);
}

static const struct doc_figure of_topic[] = { { "topic.count", "All" }, { "topic.a.count", "A" }, { "topic.b.count", "B" } };

static void write_figures(struct doc *doc)
{
    static const struct doc_part part = { .figures = COUNTED(of_topic), .skips_nothing = true };
    (void)ap_doc_parts(doc, &part, 1);
}

/* Runs of plain characters are written at once: the cut is still by characters, whatever stands on either side of it. */
static void texts_are_cut_by_characters(void)
{
    static const char *const cases[][2] = {
        { "abc", "abc" },        { "abcd", "abcd" },     { "abcde", "abc…" },          { "a&bc", "a&amp;bc" },
        { "a&bcd", "a&amp;b…" }, { "abc'", "abc&#39;" }, { "abc'e", "abc…" },          { "äöüß", "äöüß" },
        { "äöüßx", "äöü…" },     { "a\nb", "a\\u{a}b" }, { "ab\177cd", "ab\\u{7f}…" }, { "ab\177c", "ab\\u{7f}c" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct text_sink to = { .data = NULL };
        struct html html;
        ap_html_init(&html, &model, text_sink_of(&to));
        ap_html_text(&html, ap_text_of(cases[i][0]), 4);
        ok(ap_out_finish(&html.out, NULL) == AP_OK && to.data, "HTML is written");
        is_str(to.data, cases[i][1], cases[i][1]);
        text_sink_release(&to);
    }
}

/* Keys of an input are copied, those of ours are not. */
static void keys_of_an_input_are_copied(void)
{
    char key[] = "given";
    ap_add_count_named(&model, &model.root, ap_text_of(key), 7);
    key[0] = 'x';
    is_int(ap_value_integer(ap_value_member(&model.root, "given"), 0), 7,
           "what the caller does with its key is nothing to us");
}

int main(void)
{
    fill();
    says(write_template,
         "\n**12345** of 12,345: `a`&#124;`b<c>`, 1,034,551.204 us (1.03 s).\n"
         "\n1.03 s, &lt;0.001 %, `1034551.204`, –, not recorded\n",
         "<p><strong>12345</strong> of 12,345: <code>a|b&lt;c&gt;</code>, 1,034,551.204 us (1.03 s).</p>\n"
         "<p>1.03 s, &lt;0.001 %, <code>1034551.204</code>, –, not recorded</p>\n",
         "values in words; what is not known is left out with its words");
    says(write_prose, "\n> *see* call `f()` of `@team's` &#60;b&#62;\n",
         "<blockquote>\n<p><em>see</em> call <code>f()</code> of <code>@team's</code> &lt;b&gt;</p>\n</blockquote>\n",
         "words of the input stay words");
    says(write_lists, "\n- x\n    - x\n  - x\n- x\n",
         "<ul>\n<li>x\n<ul>\n<li>x</li>\n<li>x</li>\n</ul>\n</li>\n<li>x</li>\n</ul>\n", "lists within lists");
    says(write_grid, "\n| Who | How many |\n| :--- | ---: |\n| | 12,345 |\n",
         "<div class=\"t\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\">Who</th><th scope=\"col\" class=\"r\">How "
         "many</th></tr>\n</thead>\n<tbody>\n<tr><td></td><td class=\"r\">12,345</td></tr>\n</tbody></table></div>\n",
         "a table of cells");
    says(write_section,
         "\n## A section\n\n12345 things\n\n### Figures\n\n| Figure | Value | Path |\n| :--- | ---: | :--- |\n"
         "| Things | 12,345 | `count` |\n| Unknown | not recorded | `nothing` |\n"
         "| GPU utilization | 50.0 % | `gpu.utilization_ratio` |\n",
         "<section class=\"s\" id=\"a-section\"><details><summary><h2>A section</h2></summary>\n<p>12345 things</p>\n"
         "<h3>Figures</h3>\n<div class=\"t\" tabindex=\"0\"><table class=\"figures\">\n<thead><tr><th "
         "scope=\"col\">Figure</th>"
         "<th scope=\"col\" class=\"r\">Value</th><th scope=\"col\">Path</th></tr></thead>\n<tbody>\n"
         "<tr><th scope=\"row\">Things</th><td class=\"r\">12,345</td><td><code>count</code></td></tr>\n"
         "<tr><th scope=\"row\">Unknown</th><td class=\"r\">not recorded</td><td><code>nothing</code></td></tr>\n"
         "<tr><th scope=\"row\">GPU utilization</th><td class=\"r\">50 "
         "%</td><td><code>gpu.utilization_ratio</code></td></tr>\n"
         "</tbody></table></div>\n",
         "a section is data");
    says(write_figures,
         "\n| Figure | Value | Path |\n| :--- | ---: | :--- |\n| All | 0 | `topic.count` |\n| B | 2 | "
         "`topic.b.count` |\n",
         "<div class=\"t\" tabindex=\"0\"><table class=\"figures\">\n<thead><tr><th "
         "scope=\"col\">Figure</th>"
         "<th scope=\"col\" class=\"r\">Value</th><th scope=\"col\">Path</th></tr></thead>\n<tbody>\n"
         "<tr><th scope=\"row\">All</th><td class=\"r\">0</td><td><code>topic.count</code></td></tr>\n"
         "<tr><th scope=\"row\">B</th><td class=\"r\">2</td><td><code>topic.b.count</code></td></tr>\n"
         "</tbody></table></div>\n",
         "what there is none of is left out below the topic");
    texts_are_cut_by_characters();
    keys_of_an_input_are_copied();
    ap_model_release(&model);
    return done();
}
