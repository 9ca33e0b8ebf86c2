/* SPDX-License-Identifier: MIT
 * The segments that the allocator holds, largest first. Those that are equal, and full or free as a whole, are one bar. */
#include "html_pictures.h"

#include "poison.h"

#define MOST_SEGMENTS 128
#define MAP_LEFT 150.0
#define BAR 14.0
#define PITCH 18.0
#define THIN_BAR 5.0
#define THIN_PITCH 6.5
#define MOST_WIDE 40  /* bars; of more they are thin */
#define COUNT_ROOM 90 /* right of the longest bar */

enum use { IN_PART, WHOLLY_USED, WHOLLY_FREE };

struct bar {
    const struct ap_value *segment;
    int64_t reserved_bytes, used_bytes, pending_bytes;
    enum use use;
    size_t count;
};

struct map {
    struct bar bars[MOST_SEGMENTS];
    size_t count, segments; /* bars, and what they stand for */
    int64_t largest_bytes;
    double height, pitch, scale;
};

static struct bar bar_of(const struct ap_value *segment)
{
    struct bar bar = { .segment = segment, .reserved_bytes = ap_integer_member(segment, "reserved_bytes", 0), .count = 1 };
    for (const struct ap_value *run = ap_value_first(ap_value_member(segment, "runs")); run; run = run->next) {
        bar.used_bytes = ap_html_sum(bar.used_bytes, ap_integer_member(run, "allocated_bytes", 0));
        bar.pending_bytes = ap_html_sum(bar.pending_bytes, ap_integer_member(run, "pending_free_bytes", 0));
    }
    if (bar.used_bytes >= bar.reserved_bytes)
        bar.use = WHOLLY_USED;
    else if (bar.used_bytes <= 0 && bar.pending_bytes <= 0)
        bar.use = WHOLLY_FREE;
    return bar;
}

static bool is_like(const struct bar *a, const struct bar *b)
{
    return a->use != IN_PART && a->use == b->use && a->reserved_bytes == b->reserved_bytes &&
           ap_integer_member(a->segment, "device", 0) == ap_integer_member(b->segment, "device", 0) &&
           ap_text_equal(ap_text_member(a->segment, "segment_type"), ap_text_member(b->segment, "segment_type"));
}

static void read_segments(struct map *map, const struct ap_value *segments)
{
    const struct ap_value *segment = ap_value_first(segments);
    for (; segment && map->segments < MOST_SEGMENTS; segment = segment->next, map->segments++) {
        struct bar bar = bar_of(segment);
        size_t at = 0;
        while (at < map->count && !is_like(&map->bars[at], &bar))
            at++;
        if (at < map->count)
            map->bars[at].count++;
        else
            map->bars[map->count++] = bar;
        map->largest_bytes = bar.reserved_bytes > map->largest_bytes ? bar.reserved_bytes : map->largest_bytes;
    }
    map->height = map->count > MOST_WIDE ? THIN_BAR : BAR;
    map->pitch = map->count > MOST_WIDE ? THIN_PITCH : PITCH;
    map->scale = map->largest_bytes > 0 ? (SVG_WIDTH - MAP_LEFT - COUNT_ROOM) / (double)map->largest_bytes : 0;
}

static void draw_part(struct html *html, const char *class, double *x, double y, double width, double height)
{
    if (width >= 0.1)
        ap_svg_rect(html, class, *x, y, width, height);
    *x += width;
}

static void draw_bar(struct html *html, const struct map *map, const struct bar *bar, double y)
{
    double x = MAP_LEFT;
    ap_svg_rect(html, "lane", MAP_LEFT, y, (double)bar->reserved_bytes * map->scale, map->height);
    ap_html_string(html, "<g>");
    for (const struct ap_value *run = ap_value_first(ap_value_member(bar->segment, "runs"));
         run && ap_html_has_room(html, 2000); run = run->next) {
        double used = (double)ap_integer_member(run, "allocated_bytes", 0),
               pending = (double)ap_integer_member(run, "pending_free_bytes", 0);
        draw_part(html, "alloc", &x, y, used * map->scale, map->height);
        draw_part(html, "pending", &x, y, pending * map->scale, map->height);
        draw_part(html, "free", &x, y, ((double)ap_integer_member(run, "bytes", 0) - used - pending) * map->scale,
                  map->height);
    }
    ap_html_string(html, "<title>");
    if (bar->count > 1)
        ap_html_format(html, "%zu segments, each ", bar->count);
    ap_html_tell(html, bar->segment, "{v segment_type}: ");
    ap_html_bytes(html, bar->used_bytes);
    ap_html_tell(html, bar->segment, " allocated of {v reserved_bytes}</title></g>\n");
    if (bar->count < 2)
        return;
    ap_svg_text(html, "small", MAP_LEFT + (double)bar->reserved_bytes * map->scale + 6, y + map->height / 2 + 4);
    ap_html_format(html, "%zu alike, %s", bar->count, bar->use == WHOLLY_FREE ? "free" : "full");
    ap_svg_text_end(html);
}

/* The first of each kind is named; the labels need more room than thin segments have. */
static void name_bars(struct html *html, const struct map *map)
{
    const struct bar *named = NULL;
    double free_y = 0;
    for (size_t i = 0; i < map->count && ap_html_has_room(html, 3000); i++) {
        const struct bar *bar = &map->bars[i];
        double y = 2 + map->pitch * (double)i;
        bool same =
            named && named->reserved_bytes == bar->reserved_bytes &&
            ap_text_equal(ap_text_member(named->segment, "segment_type"), ap_text_member(bar->segment, "segment_type"));
        if (y < free_y || (same && map->pitch < PITCH))
            continue;
        ap_svg_label(html, "small e", MAP_LEFT - 8, y + map->height / 2 + 4, bar->segment,
                     "{v segment_type} {v reserved_bytes}");
        free_y = y + 13;
        named = bar;
    }
}

static void write_sentence(struct html *html, const struct map *map)
{
    int64_t all = ap_value_integer(ap_html_at(html, "memory.summary.segments"), (int64_t)map->segments);
    if (all > (int64_t)map->segments)
        ap_html_format(html, "The largest %zu of ", map->segments);
    ap_html_count(html, all);
    ap_html_tell(html, NULL,
                 " segments, largest first: each is a piece of memory taken from the driver, as long as it is large. Of "
                 "{v memory.totals.reserved_bytes} reserved {v memory.totals.allocated_bytes} are allocated.");
}

void ap_html_segments(struct html *html)
{
    struct map map = { .count = 0 };
    read_segments(&map, ap_html_at(html, "memory.segment_map.segments"));
    if (!map.count || map.largest_bytes <= 0)
        return;
    ap_figure_begin(html, "segment-map", "Segments of the allocator");
    write_sentence(html, &map);
    ap_figure_body(html);
    ap_svg_begin(html, "segment-map", "", map.pitch * (double)map.count + 6);
    name_bars(html, &map);
    for (size_t i = 0; i < map.count && ap_html_has_room(html, 3000); i++)
        draw_bar(html, &map, &map.bars[i], 2 + map.pitch * (double)i);
    ap_svg_end(html);
    ap_legend_begin(html);
    ap_legend_entry(html, "alloc", "allocated");
    ap_legend_entry(html, "pending", "freed, waits for a stream");
    ap_legend_entry(html, "free", "free");
    ap_legend_end(html);
    ap_figure_end(html);
}
