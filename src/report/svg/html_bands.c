/* SPDX-License-Identifier: MIT */
#include "html_bands.h"
#include "visible_text.h"

#include "poison.h"

#define BAND_BYTES 20000
#define MOST_FRAMES 6
#define MOST_STACK_FRAMES 12
#define STACKS_ROOM 20000 /* more are not begun */

static const struct owner {
    const char *word, *class, *likely;
} owners[] = {
#define AP_MEMORY_OWNER(word, class, likely) { word, class, likely },
#include "memory_owners.def"
};

static const struct owner *owner_of(struct ap_text category)
{
    for (size_t i = 0; i < AP_COUNT_OF(owners); i++)
        if (ap_text_is(category, owners[i].word))
            return &owners[i];
    return NULL;
}

const char *ap_memory_owner_class(struct ap_text category)
{
    const struct owner *owner = owner_of(category);
    return owner ? owner->class : "own_unknown";
}

/* Its words for people: what was held before the recording is guessed, which is said. */
static void write_owner(struct html *html, struct ap_text category, bool before)
{
    const struct owner *owner = owner_of(category);
    if (!before) {
        ap_html_text(html, category, 40);
        return;
    }
    ap_html_string(html, "held since before the recording, ");
    ap_html_string(html, owner && owner->likely ? "most likely " : "for what is not known");
    ap_html_string(html, owner && owner->likely ? owner->likely : "");
}

/* ---- a band ---- */

struct levels {
    double at[AP_MOST_BAND_POINTS]; /* bytes */
    size_t count;
    int64_t most;
};

static void read_levels(const struct ap_value *band, size_t count, struct levels *levels)
{
    const struct ap_value *level = ap_value_first(ap_value_member(band, "levels"));
    levels->count = 0;
    levels->most = 0;
    for (; level && levels->count < count; level = level->next) {
        int64_t bytes = ap_value_integer(level, 0);
        levels->at[levels->count++] = bytes > 0 ? (double)bytes : 0;
        levels->most = bytes > levels->most ? bytes : levels->most;
    }
    while (levels->count < count)
        levels->at[levels->count++] = 0;
}

/* From @from to before @to the band has a height: along its upper edge, and back along the lower one. */
static void draw_run(struct html *html, const struct ap_band_places *places, const struct levels *levels,
                     const double *below, size_t from, size_t to)
{
    double last = -1;
    ap_svg_step(html, "M", places->x[from]);
    ap_svg_step(html, " ", places->bottom - below[from] * places->per_byte);
    for (size_t i = from; i < to; i++) {
        double y = places->bottom - (below[i] + levels->at[i]) * places->per_byte;
        if (i > from && y == last)
            continue;
        if (i > from)
            ap_svg_step(html, "H", places->x[i]);
        ap_svg_step(html, "V", y);
        last = y;
    }
    ap_svg_step(html, "H", to < places->count ? places->x[to] : places->x[places->count - 1]);
    last = -1;
    for (size_t i = to; i-- > from;) {
        double y = places->bottom - below[i] * places->per_byte;
        if (y != last)
            ap_svg_step(html, "V", y);
        last = y;
        if (i > from && below[i - 1] != below[i])
            ap_svg_step(html, "H", places->x[i]);
    }
    ap_html_string(html, "Z");
}

static void write_frames(struct html *html, const struct ap_value *frame, int most)
{
    for (int i = 0; frame && i < most; frame = frame->next, i++) {
        ap_html_string(html, i ? " from " : "");
        ap_html_text(html, ap_short_label(ap_value_text(frame)), 80);
    }
}

static void write_title(struct html *html, const struct ap_value *band, const struct levels *levels)
{
    const struct ap_value *frame = ap_value_first(ap_value_member(band, "frames"));
    ap_html_string(html, "<title>");
    write_owner(html, ap_text_member(band, "category"), ap_integer_member(band, "before", 0) == 1);
    ap_html_string(html, ": at most ");
    ap_html_bytes(html, levels->most);
    ap_html_tell(html, band, " at once, {v allocations} allocations, the largest {v largest_bytes}");
    if (ap_value_member(band, "longest_us") && ap_value_member(band, "longest_us")->type == AP_VALUE_TIME_NS)
        ap_html_tell(html, band, ", the longest lived {v longest_us}");
    if (frame)
        ap_html_string(html, ap_integer_member(band, "rest", 0) == 1 ? "; several lines, most by " : "; by ");
    write_frames(html, frame, MOST_FRAMES);
    ap_html_string(html, "</title>");
}

/* Of a page: which band it is, and its height at each point. */
static void begin_band(struct html *html, const struct ap_band_places *places, const struct levels *levels, int number)
{
    ap_html_string(html, "<g class=\"b\"");
    if (html->contents) {
        ap_html_format(html, " data-d=\"%d\" data-v=\"", number);
        for (size_t i = 0; i < places->count; i++)
            ap_svg_step(html, i ? " " : "", levels->at[i] * places->per_byte);
        ap_html_string(html, "\"");
    }
    ap_html_string(html, ">");
}

static void draw_band(struct html *html, const struct ap_band_places *places, const struct ap_value *band, int number,
                      double *below)
{
    struct levels levels;
    read_levels(band, places->count, &levels);
    if ((double)levels.most * places->per_byte < 0.3 || !ap_html_has_room(html, BAND_BYTES))
        return;
    begin_band(html, places, &levels, number);
    write_title(html, band, &levels);
    ap_html_format(html, "<path class=\"band %s\" d=\"", ap_memory_owner_class(ap_text_member(band, "category")));
    for (size_t from = 0, to; from < places->count; from = to) {
        bool is_there = levels.at[from] > 0;
        for (to = from + 1; to < places->count && (levels.at[to] > 0) == is_there;)
            to++;
        if (is_there && ap_html_has_room(html, BAND_BYTES))
            draw_run(html, places, &levels, below, from, to);
    }
    ap_html_string(html, "\"/></g>\n");
    for (size_t i = 0; i < places->count; i++)
        below[i] += levels.at[i];
}

static bool is_of(const struct ap_value *band, const struct owner *owner, bool before)
{
    return ap_text_is(ap_text_member(band, "category"), owner->word) &&
           (ap_integer_member(band, "before", 0) == 1) == before;
}

/* What was there before is at the bottom: it hardly moves. */
bool ap_draw_bands(struct html *html, const struct ap_value *bands, const struct ap_band_places *places)
{
    double below[AP_MOST_BAND_POINTS] = { 0 };
    if (!ap_value_first(bands) || places->count < 2)
        return false;
    ap_html_string(html, "<g class=\"bands\">\n");
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < AP_COUNT_OF(owners); i++) {
            int number = 0;
            for (const struct ap_value *band = ap_value_first(bands); band; band = band->next, number++)
                if (is_of(band, &owners[i], pass == 0))
                    draw_band(html, places, band, number, below);
        }
    ap_html_string(html, "</g>\n");
    return true;
}

void ap_put_allocations(struct html *html, const struct ap_value *allocations, const struct ap_band_places *places)
{
    struct ap_text rows = ap_text_member(allocations, "rows");
    if (!html->contents || !rows.bytes || !ap_html_has_room(html, rows.bytes + STACKS_ROOM))
        return;
    ap_html_format(html, "<g class=\"allocations\" data-d=\"%.4g %.1f", places->per_byte, places->bottom);
    for (size_t i = 0; i < places->count; i++)
        ap_svg_step(html, " ", places->x[i]);
    ap_html_string(html, "\" data-n=\"");
    for (const struct ap_value *stack = ap_value_first(ap_value_member(allocations, "stacks"));
         stack && ap_html_has_room(html, rows.bytes + 5000); stack = stack->next) {
        write_frames(html, ap_value_first(ap_value_member(stack, "frames")), MOST_STACK_FRAMES);
        ap_html_string(html, "\n");
    }
    ap_html_string(html, "\" data-v=\"");
    ap_html_text(html, rows, rows.bytes);
    ap_html_string(html, "\"></g>\n");
}

static int64_t level_at(const struct ap_value *band, size_t point)
{
    const struct ap_value *level = ap_value_first(ap_value_member(band, "levels"));
    while (level && point--)
        level = level->next;
    return ap_value_integer(level, 0);
}

void ap_legend_bands(struct html *html, const struct ap_value *bands, const struct ap_band_places *places)
{
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < AP_COUNT_OF(owners); i++) {
            int64_t bytes = 0;
            bool any = false;
            for (const struct ap_value *band = ap_value_first(bands); band; band = band->next)
                if (is_of(band, &owners[i], pass == 0)) {
                    bytes = ap_html_sum(bytes, level_at(band, places->peak));
                    any = true;
                }
            if (!any)
                continue;
            ap_legend_item(html, owners[i].class, "");
            write_owner(html, ap_text_of(owners[i].word), pass == 0);
            ap_html_string(html, " <span class=\"muted\">");
            ap_html_bytes(html, bytes);
            ap_html_string(html, "</span>");
            ap_legend_item_end(html);
        }
}
