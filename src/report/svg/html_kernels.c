/* SPDX-License-Identifier: MIT
 * Kernels by family as a map of areas, and what moves between ranks as bars. */
#include <stdio.h>

#include "family_class.h"
#include "html_pictures.h"
#include "kernel_name.h"

#include "poison.h"

#define MAP_HEIGHT 360.0
#define NAMED_FAMILIES 10                  /* of which each has a color of its own */
#define MOST_FAMILIES (NAMED_FAMILIES + 1) /* the last is the rest, in a gray of its own */
#define MOST_KERNELS 64
#define CHARACTER 6.6

struct area {
    double size, x, y, width, height;
};

struct kernel {
    struct ap_text name, family_name;
    int64_t dur_ns, count;
    size_t family;
};

struct family {
    struct ap_text name;
    int64_t dur_ns;
    const char *class;
    bool is_rest;
};

struct map {
    struct family families[MOST_FAMILIES];
    struct area family_areas[MOST_FAMILIES];
    size_t family_count;
    struct kernel kernels[MOST_KERNELS];
    size_t kernel_count;
    int64_t whole_ns;
};

/* ---- dividing an area ---- */

/* How long the worst of a row of @count areas of @sum in all would be drawn, along a side of @side. */
static double worst_shape(const struct area *areas, size_t count, double sum, double side)
{
    double thickness = sum / side, worst = 1;
    for (size_t i = 0; i < count; i++) {
        double length = areas[i].size / thickness;
        double shape = length > thickness ? length / thickness : thickness / length;
        worst = shape > worst ? shape : worst;
    }
    return worst;
}

static void place_row(struct area *areas, size_t count, double sum, struct area *rest)
{
    bool across = rest->width >= rest->height; /* the row stands at the left */
    double side = across ? rest->height : rest->width, thickness = sum / side, at = 0;
    for (size_t i = 0; i < count; i++) {
        double length = areas[i].size / thickness;
        areas[i].x = across ? rest->x : rest->x + at;
        areas[i].y = across ? rest->y + at : rest->y;
        areas[i].width = across ? thickness : length;
        areas[i].height = across ? length : thickness;
        at += length;
    }
    rest->x += across ? thickness : 0;
    rest->y += across ? 0 : thickness;
    rest->width -= across ? thickness : 0;
    rest->height -= across ? 0 : thickness;
}

/* Squarified treemap (Bruls, Huizing, van Wijk 2000). Sizes fall, are above 0 and become parts of the whole. */
static void divide(struct area *areas, size_t count, struct area whole)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += areas[i].size;
    for (size_t i = 0; i < count; i++)
        areas[i].size *= whole.width * whole.height / sum;
    for (size_t at = 0, end; at < count && whole.width > 0.01 && whole.height > 0.01; at = end) {
        double side = whole.width < whole.height ? whole.width : whole.height, row = areas[at].size;
        for (end = at + 1; end < count; end++) {
            double longer = row + areas[end].size;
            if (worst_shape(areas + at, end - at + 1, longer, side) > worst_shape(areas + at, end - at, row, side))
                break;
            row = longer;
        }
        place_row(areas + at, end - at, row, &whole);
    }
}

/* ---- kernels by family ---- */

/* Families come largest first; the rest, which may be larger than some of them, is put into its place. */
static void add_rest(struct map *map, int64_t rest_ns, bool has_families)
{
    size_t at = map->family_count;
    if (rest_ns <= 0)
        return;
    for (; at > 0 && map->families[at - 1].dur_ns < rest_ns; at--)
        map->families[at] = map->families[at - 1];
    map->families[at] = (struct family){ has_families ? AP_TEXT("other and smaller families") : AP_TEXT("other"), rest_ns,
                                         ap_family_class(AP_TEXT("")), true };
    map->family_count++;
}

static void list_families(struct map *map, const struct ap_value *families)
{
    int64_t rest_ns = 0;
    bool rest_has_families = false;
    for (const struct ap_value *row = ap_value_first(families); row; row = row->next) {
        int64_t ns = ap_integer_member(row, "total_dur_us", 0);
        struct ap_text name = ap_text_member(row, "family");
        bool unknown = ap_text_is(name, "other");
        if (ns <= 0)
            continue;
        map->whole_ns = ap_html_sum(map->whole_ns, ns);
        if (unknown || !ap_has_family_class(name) || map->family_count == NAMED_FAMILIES) {
            rest_ns = ap_html_sum(rest_ns, ns);
            rest_has_families |= !unknown;
        } else {
            map->families[map->family_count] = (struct family){ name, ns, ap_family_class(name), false };
            map->family_count++;
        }
    }
    add_rest(map, rest_ns, rest_has_families);
}

static size_t family_of(const struct map *map, struct ap_text name)
{
    size_t rest = map->family_count;
    for (size_t i = 0; i < map->family_count; i++) {
        if (map->families[i].is_rest)
            rest = i;
        else if (ap_text_equal(map->families[i].name, name))
            return i;
    }
    return rest;
}

static void list_kernels(struct map *map, const struct ap_value *kernels)
{
    int64_t rest_ns[MOST_FAMILIES];
    for (size_t i = 0; i < map->family_count; i++)
        rest_ns[i] = map->families[i].dur_ns;
    for (const struct ap_value *row = ap_value_first(kernels); row && map->kernel_count < MOST_KERNELS - MOST_FAMILIES;
         row = row->next) {
        struct ap_text family_name = ap_text_member(row, "family");
        size_t family = family_of(map, family_name);
        int64_t ns = ap_integer_member(row, "total_dur_us", 0);
        if (family == map->family_count || ns <= 0 || ns > rest_ns[family])
            continue;
        rest_ns[family] -= ns;
        map->kernels[map->kernel_count++] =
            (struct kernel){ ap_text_member(row, "name"), family_name, ns, ap_integer_member(row, "count", 0), family };
    }
    for (size_t i = 0; i < map->family_count; i++)
        if (rest_ns[i] > 0)
            map->kernels[map->kernel_count++] =
                (struct kernel){ AP_TEXT("other kernels"), map->families[i].name, rest_ns[i], 0, i };
}

static void draw_kernel(struct html *html, const struct map *map, const struct kernel *kernel, const struct area *area)
{
    char class[40];
    const char *label = ap_family_label(map->families[kernel->family].class);
    (void)snprintf(class, sizeof(class), "cell %s", map->families[kernel->family].class);
    ap_svg_rect_open(html, class, area->x, area->y, area->width, area->height);
    ap_html_text(html, kernel->family_name, 60);
    ap_html_string(html, ", ");
    ap_html_text(html, kernel->name, 200);
    ap_html_string(html, ": ");
    ap_html_time(html, kernel->dur_ns);
    ap_html_string(html, ", ");
    ap_html_share(html, (double)kernel->dur_ns / (double)map->whole_ns);
    if (kernel->count) {
        ap_html_string(html, ", ");
        ap_html_count(html, kernel->count);
        ap_html_string(html, " launches");
    }
    ap_svg_rect_close(html);
    if (area->height >= 17 && area->width >= 5 * CHARACTER)
        ap_svg_fitting(html, label, area->x + 4, area->y + 13, ap_kernel_short_name(kernel->name), area->width - 8);
    if (area->height >= 34 && area->width > 58) {
        ap_svg_text(html, label, area->x + 4, area->y + 28);
        ap_html_time(html, kernel->dur_ns);
        ap_html_string(html, area->width > 110 ? ", " : "");
        if (area->width > 110)
            ap_html_share(html, (double)kernel->dur_ns / (double)map->whole_ns);
        ap_svg_text_end(html);
    }
}

static void draw_family(struct html *html, const struct map *map, size_t family)
{
    struct area areas[MOST_KERNELS], whole = map->family_areas[family];
    const struct kernel *kernels[MOST_KERNELS];
    size_t count = 0;
    for (size_t i = 0; i < map->kernel_count; i++) {
        if (map->kernels[i].family != family)
            continue;
        size_t at = count++; /* what is left of the family may be larger than its first kernels */
        for (; at > 0 && kernels[at - 1]->dur_ns < map->kernels[i].dur_ns; at--)
            kernels[at] = kernels[at - 1];
        kernels[at] = &map->kernels[i];
    }
    for (size_t i = 0; i < count; i++)
        areas[i] = (struct area){ .size = (double)kernels[i]->dur_ns };
    divide(areas, count, whole);
    for (size_t i = 0; i < count && ap_html_has_room(html, 8000); i++)
        draw_kernel(html, map, kernels[i], &areas[i]);
}

static void write_family_legend(struct html *html, const struct map *map)
{
    ap_legend_begin(html);
    for (size_t i = 0; i < map->family_count; i++) {
        ap_legend_item(html, map->families[i].class, "");
        ap_html_text(html, map->families[i].name, 60);
        ap_legend_time(html, map->families[i].dur_ns, map->whole_ns);
    }
    ap_legend_end(html);
}

static void write_kernel_map(struct html *html)
{
    struct map map = { .whole_ns = 0 };
    list_families(&map, ap_html_at(html, "gpu.families"));
    list_kernels(&map, ap_html_at(html, "gpu.kernels"));
    if (!map.family_count)
        return;
    for (size_t i = 0; i < map.family_count; i++)
        map.family_areas[i] = (struct area){ .size = (double)map.families[i].dur_ns };
    divide(map.family_areas, map.family_count, (struct area){ 0, 0, 0, SVG_WIDTH, MAP_HEIGHT });
    ap_figure_begin(html, "kernel-map", "GPU kernels by family");
    ap_html_time(html, map.whole_ns);
    ap_html_string(html, " of kernel time; each area is as large as its kernel's total, each family has its color in all "
                         "pictures. Largest family: ");
    ap_html_text(html, map.families[0].name, 60);
    ap_html_string(html, ". All stand in a table under GPU.");
    ap_figure_body(html);
    ap_svg_begin(html, "kernel-map", "", MAP_HEIGHT);
    for (size_t i = 0; i < map.family_count; i++)
        draw_family(html, &map, i);
    ap_svg_end(html);
    write_family_legend(html, &map);
    ap_figure_end(html);
}

/* ---- collectives ---- */

#define MOST_BARS 12
#define BAR_LEFT 240.0

static void draw_collective(struct html *html, const struct ap_value *row, int64_t longest_ns, double y)
{
    int64_t total_ns = ap_integer_member(row, "total_dur_us", 0), exposed_ns = ap_integer_member(row, "exposed_us", 0);
    double scale = (SVG_WIDTH - BAR_LEFT - 150) / (double)longest_ns;
    ap_svg_text(html, "", 0, y + 14);
    ap_html_text(html, ap_text_member(row, "operation"), 34);
    ap_svg_text_end(html);
    ap_svg_rect_open(html, "comm_hidden", BAR_LEFT, y, (double)total_ns * scale, 20);
    ap_html_string(html, "in all ");
    ap_html_time(html, total_ns);
    ap_svg_rect_close(html);
    ap_svg_rect_open(html, "exposed_communication", BAR_LEFT, y, (double)exposed_ns * scale, 20);
    ap_html_string(html, "not hidden ");
    ap_html_time(html, exposed_ns);
    ap_svg_rect_close(html);
    ap_svg_text(html, "small", BAR_LEFT + (double)total_ns * scale + 6, y + 14);
    ap_html_time(html, total_ns);
    ap_html_string(html, ", ");
    int64_t count = ap_integer_member(row, "count", 0);
    ap_html_count(html, count);
    ap_html_string(html, count == 1 ? " call" : " calls");
    ap_svg_text_end(html);
}

static void write_collectives(struct html *html)
{
    const struct ap_value *rows = ap_html_at(html, "communication.by_operation");
    size_t count = 0;
    int64_t longest_ns = 0;
    for (const struct ap_value *row = ap_value_first(rows); row && count < MOST_BARS; row = row->next, count++) {
        int64_t ns = ap_integer_member(row, "total_dur_us", 0);
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    if (!count || longest_ns <= 0)
        return;
    ap_figure_begin(html, "collectives", "Communication by operation");
    ap_html_string(html, "Time in collectives of this rank, dark where no other kernel or memset hides it. Sizes, groups "
                         "and bandwidths stand "
                         "under Communication.");
    ap_figure_body(html);
    ap_svg_begin(html, "collectives", "", 26.0 * (double)count);
    const struct ap_value *row = ap_value_first(rows);
    for (size_t i = 0; i < count && ap_html_has_room(html, 3000); i++, row = row->next)
        draw_collective(html, row, longest_ns, 26.0 * (double)i);
    ap_svg_end(html);
    ap_figure_end(html);
}

void ap_html_kernels(struct html *html)
{
    write_kernel_map(html);
    write_collectives(html);
}
