/* SPDX-License-Identifier: MIT
 * Flame graphs from a list of names and a list of nodes, parents first: the root at the top, as wide as all. The script of
 * the page zooms by what stands here as numbers. */
#include "html_pictures.h"
#include "mem.h"
#include "visible_text.h"

#include "poison.h"

#define ROW_HEIGHT 18.0
#define MOST_DEPTH 60
#define MOST_NODES 3000
#define LEAST_WIDTH 0.2
#define LEAST_LABEL 38.0
#define LEAST_SEEN 1.0 /* the drawing is as high as what is at least as wide is deep; the script makes room for more */
#define MOST_TOP 20

struct node {
    const struct ap_value *row;
    struct ap_text name;
    double x, width, used; /* of its width, by its children so far */
    int64_t amount, below; /* of that, by its children */
    uint32_t depth;
    const char *code; /* whose, as a class of the style */
    bool listed;
};

struct kind {
    const char *id, *path, *title, *sentence;
    const char *amount_key, *count_key, *things; /* what of a node is its width, and what it counts */
    bool of_bytes;
    const char *table_titles[4];
};

struct flame {
    const struct kind *kind;
    const struct ap_value *of;
    struct node nodes[MOST_NODES];
    const struct ap_value *names[MOST_NODES];
    const char *codes[MOST_NODES]; /* of the names */
    size_t count, name_count, depth;
};

static void write_amount(struct html *html, const struct flame *flame, int64_t amount)
{
    if (flame->kind->of_bytes)
        ap_html_bytes(html, amount);
    else
        ap_html_time(html, amount);
}

/* Words of the report, classes of the style, what they say. */
static const struct {
    const char *word, *class, *label;
} codes[] = {
    { "user", "code_user", "your code, or a model's or engine's" },
    { "torch", "code_torch", "PyTorch" },
    { "library", "code_library", "another library" },
    { "runtime", "code_runtime", "a call of CUDA or HIP" },
    { "waiting", "code_waiting", "waits for another thread" },
};

static const char *class_of(struct ap_text word)
{
    for (size_t i = 0; i < AP_COUNT_OF(codes); i++)
        if (ap_text_is(word, codes[i].word))
            return codes[i].class;
    return "code_none";
}

/* Nodes that are no wider than a hair are left out with all below them. */
static void place_nodes(struct flame *flame)
{
    for (const struct ap_value *name = ap_value_first(ap_value_member(flame->of, "names"));
         name && flame->name_count < MOST_NODES; name = name->next)
        flame->names[flame->name_count++] = name;
    const struct ap_value *code = ap_value_first(ap_value_member(flame->of, "codes"));
    for (size_t i = 0; i < flame->name_count; i++, code = code ? code->next : NULL)
        flame->codes[i] = class_of(ap_value_text(code));
    for (const struct ap_value *row = ap_value_first(ap_value_member(flame->of, "nodes")); row && flame->count < MOST_NODES;
         row = row->next) {
        int64_t parent = ap_integer_member(row, "parent", -1);
        int64_t name = ap_integer_member(row, "name", -1);
        struct node *node = &flame->nodes[flame->count],
                    *above = parent >= 0 && parent < (int64_t)flame->count ? &flame->nodes[parent] : NULL;
        *node = (struct node){ .row = row, .amount = ap_integer_member(row, flame->kind->amount_key, 0) };
        node->name = name >= 0 && name < (int64_t)flame->name_count ? ap_value_text(flame->names[name]) : AP_TEXT("?");
        node->code = name >= 0 && name < (int64_t)flame->name_count ? flame->codes[name] : "code_none";
        double whole = flame->count ? (double)flame->nodes[0].amount : (double)node->amount;
        node->width = whole > 0 && (above || flame->count == 0) ? (double)node->amount / whole * SVG_WIDTH : 0;
        if (above) {
            node->depth = above->depth + 1;
            node->x = above->x + above->used;
            node->width = node->width < above->width - above->used ? node->width : above->width - above->used;
            above->used += node->width > 0 ? node->width : 0;
            above->below = ap_html_sum(above->below, node->amount);
        }
        if (node->width >= LEAST_SEEN && node->depth < MOST_DEPTH && node->depth + 1 > flame->depth)
            flame->depth = node->depth + 1;
        flame->count++;
    }
}

static void draw_node(struct html *html, const struct flame *flame, const struct node *node)
{
    int64_t count = ap_integer_member(node->row, flame->kind->count_key, 0);
    double y = node->depth * ROW_HEIGHT;
    ap_html_format(html, "<g data-d=\"%u\"><title>", (unsigned)node->depth);
    ap_html_text(html, node->name, 160);
    ap_html_string(html, ": ");
    write_amount(html, flame, node->amount);
    ap_html_string(html, ", ");
    ap_html_share(html, (double)node->amount / (double)flame->nodes[0].amount);
    ap_html_string(html, ", ");
    ap_html_count(html, count);
    ap_html_format(html, node->width < 3 ? " %s</title><rect class=\"%s\"" : " %s</title><rect class=\"cell %s\"",
                   flame->kind->things, node->code);
    ap_svg_position(html, "x", node->x);
    ap_svg_position(html, "width", node->width);
    ap_html_format(html, " y=\"%.0f\" height=\"%.0f\"/>", y, ROW_HEIGHT);
    if (node->width >= LEAST_LABEL) {
        ap_html_format(html, "<text class=\"in\" x=\"%.0f\" y=\"%.0f\">", node->x + 3, y + 13);
        ap_html_text(html, ap_short_label(node->name), ap_label_room(ap_short_label(node->name), node->width - 6));
        ap_html_string(html, "</text>");
    }
    ap_html_string(html, "</g>\n");
}

static void draw_nodes(struct html *html, const struct flame *flame)
{
    for (size_t i = 0; i < flame->count && ap_html_has_room(html, 12000); i++) {
        if (flame->nodes[i].width < LEAST_WIDTH || flame->nodes[i].depth >= MOST_DEPTH)
            continue;
        draw_node(html, flame, &flame->nodes[i]);
    }
}

static bool any_of(const struct flame *flame, const char *class)
{
    for (size_t i = 0; i < flame->count; i++)
        if (flame->nodes[i].width >= LEAST_WIDTH && flame->nodes[i].code == class)
            return true;
    return false;
}

static void write_legend(struct html *html, const struct flame *flame)
{
    ap_legend_begin(html);
    for (size_t i = 0; i < AP_COUNT_OF(codes); i++)
        if (any_of(flame, codes[i].class))
            ap_legend_entry(html, codes[i].class, codes[i].label);
    ap_legend_end(html);
}

static void write_waiting(struct html *html, const struct ap_value *of)
{
    int64_t threads = ap_integer_member(of, "waiting_threads", 0);
    if (threads <= 0)
        return;
    ap_html_string(html, " Left out: ");
    ap_html_count(html, threads);
    ap_html_string(html, threads == 1 ? " thread that only waits, " : " threads that only wait, ");
    ap_html_value(html, ap_value_member(of, "waiting_us"));
    ap_html_string(html, ".");
}

static int64_t own_amount(const struct node *node)
{
    return ap_html_less(node->amount, node->below);
}

static struct node *largest_own(struct flame *flame)
{
    struct node *best = NULL;
    for (size_t i = 0; i < flame->count; i++)
        if (!flame->nodes[i].listed && own_amount(&flame->nodes[i]) > (best ? own_amount(best) : 0))
            best = &flame->nodes[i];
    return best;
}

/* What nodes have beyond their children, largest first. */
static void write_table(struct html *html, struct flame *flame)
{
    ap_figures_begin(html, flame->kind->table_titles);
    for (int shown = 0; shown < MOST_TOP && ap_html_has_room(html, 3000); shown++) {
        struct node *node = largest_own(flame);
        if (!node)
            break;
        node->listed = true;
        ap_html_string(html, "<tr><th scope=\"row\">");
        ap_html_name(html, node->name);
        ap_html_format(html, "</th><td class=\"r\" data-v=\"%lld\">", (long long)own_amount(node));
        write_amount(html, flame, own_amount(node));
        ap_html_format(html, "</td><td class=\"r\" data-v=\"%lld\">", (long long)node->amount);
        write_amount(html, flame, node->amount);
        ap_html_string(html, "</td></tr>\n");
    }
    ap_figures_end(html);
}

static void write_flame(struct html *html, struct flame *flame)
{
    const char *id = flame->kind->id;
    place_nodes(flame);
    if (flame->count < 2 || flame->nodes[0].amount <= 0)
        return;
    ap_figure_begin(html, id, flame->kind->title);
    write_amount(html, flame, flame->nodes[0].amount);
    ap_html_string(html, flame->kind->sentence);
    write_waiting(html, flame->of);
    ap_figure_body(html);
    ap_svg_begin(html, id, "flame", (double)flame->depth * ROW_HEIGHT + 1);
    draw_nodes(html, flame);
    ap_svg_end(html);
    write_legend(html, flame);
    write_table(html, flame);
    ap_figure_end(html);
}

static void write_kind(struct html *html, const struct kind *kind)
{
    if (!ap_html_known(html, kind->path))
        return;
    struct flame *flame = ap_mem_cleared(html->gate, sizeof(*flame));
    if (!flame) {
        html->out.status = ap_fail_memory(html->gate, &html->out.error);
        return;
    }
    flame->kind = kind;
    flame->of = ap_html_at(html, kind->path);
    write_flame(html, flame);
    ap_mem_free(html->gate, flame, sizeof(*flame));
}

void ap_html_host_flame(struct html *html)
{
    static const struct kind kind = {
        .id = "host-flame",
        .path = "pictures.host_flame",
        .title = "Host time by call stack",
        .sentence =
            " of host time: threads below the root, what each calls below it. Wide means long; the order says nothing.",
        .amount_key = "dur_us",
        .count_key = "count",
        .things = "calls",
        .table_titles = { "Name", "Own time", "With what it calls" },
    };
    write_kind(html, &kind);
}

void ap_html_memory_flame(struct html *html)
{
    static const struct kind at_peak = {
        .id = "memory-flame",
        .path = "memory.flame",
        .title = "Memory at the peak by call stack",
        .sentence = " in use at the peak, by the Python stack that asked for it, outermost at the top.",
        .amount_key = "requested_bytes",
        .count_key = "allocations",
        .things = "allocations",
        .of_bytes = true,
        .table_titles = { "Frame", "Own bytes", "With what it calls" },
    };
    struct kind at_end = at_peak;
    at_end.title = "Memory at the end by call stack";
    at_end.sentence = " in use at the end, by the Python stack that asked for it, outermost at the top.";
    write_kind(html, ap_text_is(ap_value_text(ap_html_at(html, "memory.flame.at")), "peak") ? &at_peak : &at_end);
}
