/* SPDX-License-Identifier: MIT */
#include "overlay.h"

#include <string.h>

#include "decimal.h"
#include "sort.h"

#include "poison.h"

#define FIRST_PID UINT64_C(2000000000) /* above the ids of operating systems, within what viewers store */
#define MAX_TEXT_BYTES ((size_t)2048)

static const char *const track_names[AP_OVERLAY_TRACK_COUNT_] = {
    [AP_OVERLAY_findings] = "findings",
    [AP_OVERLAY_idle_causes] = "idle causes",
    [AP_OVERLAY_critical_path] = "critical path",
    [AP_OVERLAY_steps] = "steps",
};

void ap_overlay_init(struct ap_overlay *overlay, struct ap_gate *gate)
{
    *overlay = (struct ap_overlay){ .gate = gate, .max_spans = AP_OVERLAY_MAX_SPANS, .pid = FIRST_PID };
    ap_strpool_init(&overlay->strings, gate);
}

void ap_overlay_release(struct ap_overlay *overlay)
{
    for (size_t i = 0; i < AP_OVERLAY_TRACK_COUNT_; i++) {
        struct ap_overlay_list *list = &overlay->lists[i];
        AP_FREE(overlay->gate, list->spans, list->capacity);
        *list = (struct ap_overlay_list){ .spans = NULL };
    }
    ap_strpool_release(&overlay->strings);
}

const char *ap_overlay_track_name(enum ap_overlay_track track)
{
    return track_names[track];
}

/* ---- the longest of many ---- */

/* Of equally long ones the later offered goes first. */
static bool goes_before(const struct ap_overlay_span *a, const struct ap_overlay_span *b)
{
    return a->dur_ns != b->dur_ns ? a->dur_ns < b->dur_ns : a->ordinal > b->ordinal;
}

static void sink(struct ap_overlay_list *list, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < list->count; child++)
            if (goes_before(&list->spans[child], &list->spans[least]))
                least = child;
        if (least == at)
            return;
        struct ap_overlay_span span = list->spans[at];
        list->spans[at] = list->spans[least];
        list->spans[least] = span;
        at = least;
    }
}

static enum ap_status keep(struct ap_overlay *overlay, struct ap_overlay_list *list, const struct ap_overlay_span *span,
                           struct ap_error *reterr)
{
    if (list->count == overlay->max_spans) {
        list->spans[0] = *span;
        sink(list, 0);
        return AP_OK;
    }
    AP_TRY_ADD(overlay->gate, list->spans, list->count, list->capacity, reterr, *span);
    if (list->count == overlay->max_spans)
        for (size_t i = list->count / 2; i-- > 0;)
            sink(list, i);
    return AP_OK;
}

/* ---- words: key NUL text NUL key NUL ... in one text of the pool ---- */

/* As much of it as has room, NUL left out. */
static void append(char *to, size_t *used, struct ap_text text)
{
    for (size_t i = 0; i < text.bytes && *used < MAX_TEXT_BYTES - 1; i++)
        if (text.data[i])
            to[(*used)++] = text.data[i];
    to[(*used)++] = '\0';
}

static enum ap_status intern_words(struct ap_overlay *overlay, const struct ap_overlay_word *words, size_t count,
                                   struct ap_str *ret_str, struct ap_error *reterr)
{
    char text[MAX_TEXT_BYTES];
    size_t used = 0;
    if (!count)
        return AP_OK;
    for (size_t i = 0; i < count && i < AP_OVERLAY_MAX_WORDS && used + strlen(words[i].key) + 2 <= MAX_TEXT_BYTES; i++) {
        append(text, &used, ap_text_of(words[i].key));
        append(text, &used, words[i].text);
    }
    return ap_strpool_intern(&overlay->strings, text, used, ret_str, reterr);
}

static bool next_text(struct ap_text *rest, struct ap_text *ret_text)
{
    const char *end = rest->bytes ? memchr(rest->data, '\0', rest->bytes) : NULL;
    if (!end)
        return false;
    *ret_text = (struct ap_text){ rest->data, (size_t)(end - rest->data) };
    rest->bytes -= ret_text->bytes + 1;
    rest->data = end + 1;
    return true;
}

bool ap_overlay_word(const struct ap_overlay *overlay, const struct ap_overlay_span *span, size_t index,
                     struct ap_text *ret_key, struct ap_text *ret_text)
{
    struct ap_text rest = ap_strpool_text(&overlay->strings, span->words);
    for (size_t i = 0; next_text(&rest, ret_key) && next_text(&rest, ret_text); i++)
        if (i == index)
            return true;
    return false;
}

/* @span has its place; the texts are yet to be kept. */
static enum ap_status add(struct ap_overlay *overlay, enum ap_overlay_track track, struct ap_overlay_span *span,
                          struct ap_text name, const struct ap_overlay_word *words, size_t word_count,
                          struct ap_error *reterr)
{
    struct ap_overlay_list *list = &overlay->lists[track];
    span->ordinal = (uint32_t)list->offered_count++;
    /* a span that would go at once leaves no texts behind */
    if (list->count == overlay->max_spans && !goes_before(&list->spans[0], span))
        return AP_OK;
    size_t bytes = name.bytes < MAX_TEXT_BYTES ? name.bytes : MAX_TEXT_BYTES;
    AP_TRY(ap_strpool_intern(&overlay->strings, name.data, bytes, &span->name, reterr));
    AP_TRY(intern_words(overlay, words, word_count, &span->words, reterr));
    return keep(overlay, list, span, reterr);
}

enum ap_status ap_overlay_add(struct ap_overlay *overlay, enum ap_overlay_track track, int64_t start_ns, int64_t dur_ns,
                              struct ap_text name, const struct ap_overlay_word *words, size_t word_count, int64_t saves_ns,
                              struct ap_error *reterr)
{
    struct ap_overlay_span span = { .start_ns = start_ns, .dur_ns = dur_ns, .saves_ns = saves_ns };
    if (!overlay || dur_ns < 0 || dur_ns > AP_MAX_TIME_NS || start_ns < -AP_MAX_TIME_NS ||
        start_ns > AP_MAX_TIME_NS - dur_ns)
        return AP_OK;
    return add(overlay, track, &span, name, words, word_count, reterr);
}

enum ap_status ap_overlay_add_everywhere(struct ap_overlay *overlay, enum ap_overlay_track track, struct ap_text name,
                                         const struct ap_overlay_word *words, size_t word_count, int64_t saves_ns,
                                         struct ap_error *reterr)
{
    if (!overlay || overlay->end_ns <= overlay->start_ns)
        return AP_OK;
    struct ap_overlay_span span = { .start_ns = overlay->start_ns,
                                    .dur_ns = overlay->end_ns - overlay->start_ns,
                                    .saves_ns = saves_ns,
                                    .everywhere = true };
    return add(overlay, track, &span, name, words, word_count, reterr);
}

/* ---- lanes ---- */

static bool starts_before(const void *context, uint32_t left, uint32_t right)
{
    const struct ap_overlay_span *spans = context, *a = &spans[left], *b = &spans[right];
    if (a->everywhere != b->everywhere)
        return b->everywhere;
    AP_SMALLER_FIRST(a->start_ns, b->start_ns);
    return a->dur_ns != b->dur_ns ? a->dur_ns > b->dur_ns : a->ordinal < b->ordinal;
}

static void give_lanes(struct ap_overlay_layout *layout, const struct ap_overlay_span *spans)
{
    int64_t free_from_ns[AP_OVERLAY_MAX_LANES];
    size_t kept = 0;
    for (size_t i = 0; i < layout->count; i++) {
        const struct ap_overlay_span *span = &spans[layout->order[i]];
        unsigned lane = 0;
        while (lane < layout->lane_count && free_from_ns[lane] > span->start_ns)
            lane++;
        if (lane == AP_OVERLAY_MAX_LANES)
            continue;
        if (lane == layout->lane_count)
            layout->lane_count++;
        free_from_ns[lane] = span->start_ns + span->dur_ns;
        layout->order[kept] = layout->order[i];
        layout->lanes[kept++] = (uint8_t)lane;
    }
    layout->count = kept;
}

enum ap_status ap_overlay_layout_init(struct ap_overlay_layout *layout, const struct ap_overlay *overlay,
                                      enum ap_overlay_track track, struct ap_error *reterr)
{
    const struct ap_overlay_list *list = &overlay->lists[track];
    *layout = (struct ap_overlay_layout){ .gate = overlay->gate };
    if (!list->count)
        return AP_OK;
    AP_TRY(ap_top_indices(overlay->gate, (uint32_t)list->count, 0, starts_before, list->spans, &layout->order,
                          &layout->capacity, reterr));
    layout->count = layout->capacity;
    enum ap_status status = AP_ALLOC(overlay->gate, layout->lanes, layout->capacity, reterr);
    if (status == AP_OK)
        give_lanes(layout, list->spans);
    else
        ap_overlay_layout_release(layout);
    return status;
}

void ap_overlay_layout_release(struct ap_overlay_layout *layout)
{
    AP_FREE(layout->gate, layout->order, layout->capacity);
    ap_mem_free(layout->gate, layout->lanes, layout->capacity);
    *layout = (struct ap_overlay_layout){ .gate = layout->gate };
}
