/* SPDX-License-Identifier: MIT
 * test_overlay.c - spans to be drawn: which are kept, what is known of them, and that no two of a lane overlap. */
#include <stdlib.h>
#include <string.h>

#include "overlay.h"
#include "overlay_spans.h"
#include "random.h"
#include "tap.h"

static struct ap_gate gate;

static void put(struct ap_overlay *overlay, int64_t start_ns, int64_t dur_ns)
{
    if (ap_overlay_add(overlay, AP_OVERLAY_idle_causes, start_ns, dur_ns, AP_TEXT("gap"), NULL, 0, -1, NULL) != AP_OK)
        abort();
}

static void spans_keep_their_words(void)
{
    struct ap_overlay overlay;
    struct ap_text key, text;
    const struct ap_overlay_word words[] = { { "cause", AP_TEXT("a\0b\"\n") }, { "none", { "", 0 } } };
    ap_overlay_init(&overlay, &gate);
    is_int(ap_overlay_add(&overlay, AP_OVERLAY_findings, -5, 7, AP_TEXT("name"), words, 2, 9, NULL), AP_OK,
           "a span is added");
    const struct ap_overlay_span *span = &overlay.lists[AP_OVERLAY_findings].spans[0];
    is_int(span->start_ns, -5, "its start");
    is_int(span->saves_ns, 9, "what it saves");
    is_text(ap_strpool_text(&overlay.strings, span->name), "name", "its name");
    ok(ap_overlay_word(&overlay, span, 0, &key, &text) && ap_text_is(key, "cause") && ap_text_is(text, "ab\"\n"),
       "its first word, without the NUL");
    ok(ap_overlay_word(&overlay, span, 1, &key, &text) && ap_text_is(key, "none") && text.bytes == 0, "an empty word");
    ok(!ap_overlay_word(&overlay, span, 2, &key, &text), "and no more");
    is_int(ap_overlay_add(NULL, AP_OVERLAY_findings, 0, 1, AP_TEXT("x"), NULL, 0, -1, NULL), AP_OK, "nobody wants it");
    put(&overlay, 0, -1);
    put(&overlay, INT64_MIN, 1);
    put(&overlay, INT64_MAX, 1);
    put(&overlay, 0, INT64_MAX);
    is_u64(overlay.lists[AP_OVERLAY_idle_causes].count, 0, "what is not in time is left out");
    is_int(ap_overlay_add_everywhere(&overlay, AP_OVERLAY_findings, AP_TEXT("x"), NULL, 0, -1, NULL), AP_OK, "no recording");
    is_u64(overlay.lists[AP_OVERLAY_findings].count, 1, "nothing to span");
    ap_overlay_release(&overlay);
}

static void long_words_are_cut(void)
{
    struct ap_overlay overlay;
    static char text[9000];
    struct ap_text key, value;
    size_t count = 0;
    memset(text, 'x', sizeof(text));
    struct ap_overlay_word words[AP_OVERLAY_MAX_WORDS + 2];
    for (size_t i = 0; i < AP_COUNT_OF(words); i++)
        words[i] = (struct ap_overlay_word){ "key", { text, i == 2 ? sizeof(text) : 3 } };
    ap_overlay_init(&overlay, &gate);
    is_int(ap_overlay_add(&overlay, AP_OVERLAY_steps, 0, 1, (struct ap_text){ text, sizeof(text) }, words,
                          AP_COUNT_OF(words), -1, NULL),
           AP_OK, "a span with too much to say is added");
    while (ap_overlay_word(&overlay, &overlay.lists[AP_OVERLAY_steps].spans[0], count, &key, &value))
        count++;
    is_u64(count, 3, "what has room is kept, with whole keys");
    ap_overlay_release(&overlay);
}

static void of_many_the_longest_stay(void)
{
    struct ap_overlay overlay;
    ap_overlay_init(&overlay, &gate);
    overlay.max_spans = 10;
    for (int64_t i = 0; i < 1000; i++)
        put(&overlay, i, i * 7919 % 1000);
    const struct ap_overlay_list *list = &overlay.lists[AP_OVERLAY_idle_causes];
    int64_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        sum += list->spans[i].dur_ns;
    is_u64(list->count, 10, "no more than the track holds");
    is_u64(list->offered_count, 1000, "how many there were is known");
    is_int(sum, 990 + 991 + 992 + 993 + 994 + 995 + 996 + 997 + 998 + 999, "the longest ones");
    for (int i = 0; i < 100; i++)
        put(&overlay, 5000 + i, 990);
    for (size_t i = 0; i < list->count; i++)
        sum -= list->spans[i].start_ns >= 5000;
    is_int(sum, 9945, "of equally long ones the first");
    ap_overlay_release(&overlay);
}

static void lanes_do_not_overlap(void)
{
    struct ap_overlay overlay;
    struct ap_overlay_layout layout;
    struct random random = { 7 };
    ap_overlay_init(&overlay, &gate);
    overlay.start_ns = 0;
    overlay.end_ns = 100000;
    for (int i = 0; i < 2000; i++)
        put(&overlay, (int64_t)(random_next(&random) % 100000), (int64_t)(random_next(&random) % 700));
    if (ap_overlay_add_everywhere(&overlay, AP_OVERLAY_idle_causes, AP_TEXT("all"), NULL, 0, -1, NULL) != AP_OK ||
        ap_overlay_layout_init(&layout, &overlay, AP_OVERLAY_idle_causes, NULL) != AP_OK)
        abort();
    const struct ap_overlay_span *spans = overlay.lists[AP_OVERLAY_idle_causes].spans;
    int64_t free_from_ns[AP_OVERLAY_MAX_LANES] = { 0 }, overlaps = 0;
    for (size_t i = 0; i < layout.count; i++) {
        const struct ap_overlay_span *span = &spans[layout.order[i]];
        overlaps += span->start_ns < free_from_ns[layout.lanes[i]];
        free_from_ns[layout.lanes[i]] = span->start_ns + span->dur_ns;
    }
    is_int(overlaps, 0, "no two spans of a lane overlap");
    is_u64(layout.count, 2001, "all have a lane");
    ok(spans[layout.order[2000]].everywhere && layout.lanes[2000] + 1u == layout.lane_count,
       "the whole recording comes last");
    ap_overlay_layout_release(&layout);
    for (int i = 0; i < 200; i++)
        put(&overlay, 50000, 1000);
    is_int(ap_overlay_layout_init(&layout, &overlay, AP_OVERLAY_idle_causes, NULL), AP_OK,
           "more at once than there are lanes");
    is_int(layout.lane_count, AP_OVERLAY_MAX_LANES, "lanes are bounded");
    ap_overlay_layout_release(&layout);
    is_int(ap_overlay_layout_init(&layout, &overlay, AP_OVERLAY_steps, NULL), AP_OK, "an empty track");
    is_u64(layout.count, 0, "has no lanes");
    ap_overlay_layout_release(&layout);
    ap_overlay_release(&overlay);
}

static void row(struct ap_trace *trace, const char *pid, int64_t device, const char *name, unsigned tag, int64_t start_us,
                int64_t dur_us)
{
    struct ap_str text;
    uint32_t track;
    if (ap_strpool_intern(&trace->strings, name, strlen(name), &text, NULL) != AP_OK ||
        ap_trace_track(trace, ap_text_of(pid), false, AP_TEXT("7"), false, &track, NULL) != AP_OK ||
        ap_trace_add_row(trace, start_us * 1000, dur_us * 1000, text, track, (uint8_t)tag, NULL) != AP_OK)
        abort();
    trace->tracks[track].device = (int32_t)device;
}

static void gaps_path_and_steps_come_from_the_analysis(void)
{
    struct ap_trace *trace;
    struct ap_row_order order = { .gate = &gate };
    struct ap_overlay overlay;
    struct ap_text key, text;
    ap_overlay_init(&overlay, &gate);
    if (ap_trace_new(&gate, &trace, NULL) != AP_OK)
        abort();
    row(trace, "2000000000", 1, "k", AP_KIND_kernel | AP_ROW_X, 0, 1000);
    row(trace, "2000000007", -1, "ProfilerStep#3", AP_KIND_annotation | AP_ROW_X, 50, 500);
    if (ap_row_order_init(&order, trace, &gate, NULL) != AP_OK)
        abort();
    struct ap_gap_detail gaps[] = { { .start_ns = 0, .end_ns = 100000 },
                                    { .start_ns = 200000, .end_ns = 300001 },
                                    { .start_ns = 400000, .end_ns = 600000 } };
    for (size_t i = 0; i < AP_COUNT_OF(gaps); i++)
        memset(gaps[i].host_row, 0xff, sizeof(gaps[i].host_row));
    gaps[1].cause_ns[1] = 5;
    gaps[1].host_row[1] = 1;
    gaps[2].cause_ns[AP_IDLE_untraced] = 5;
    const struct ap_split split = { .has_gpu = true, .details = gaps, .detail_count = 3 };
    struct ap_step step = { 50000, 550000, 1, true, false };
    const struct ap_facts facts = {
        .trace = trace, .order = order, .split = split, .steps = { .steps = &step, .count = 1, .source = "ProfilerStep" }
    };
    is_int(ap_overlay_add_facts(&overlay, &facts, NULL), AP_OK, "gaps, path and steps are drawn");
    is_u64(overlay.pid, 2000000008, "under a process id that the trace does not have");
    const struct ap_overlay_list *idle = &overlay.lists[AP_OVERLAY_idle_causes];
    is_u64(idle->count, 2, "those of more than 100 us");
    is_text(ap_strpool_text(&overlay.strings, idle->spans[0].name), ap_idle_cause_name((enum ap_idle_cause)1),
            "named by the cause");
    ok(ap_overlay_word(&overlay, &idle->spans[0], 1, &key, &text) && ap_text_is(text, "ProfilerStep#3"),
       "with what the host did");
    is_text(ap_strpool_text(&overlay.strings, idle->spans[1].name), "untraced", "also without a host row");

    is_u64(overlay.lists[AP_OVERLAY_critical_path].count, 0, "no path, nothing to draw");

    const struct ap_overlay_list *steps = &overlay.lists[AP_OVERLAY_steps];
    is_int(steps->spans[0].dur_ns, 500000, "from their start to their end");
    is_text(ap_strpool_text(&overlay.strings, steps->spans[0].name), "ProfilerStep#3", "named by what marks them");
    ok(ap_overlay_word(&overlay, &steps->spans[0], 0, &key, &text) && ap_text_is(text, "cold"), "with their state");
    ap_row_order_release(&order);
    ap_trace_free(trace);
    ap_overlay_release(&overlay);
}

int main(void)
{
    ap_gate_init(&gate, 0);
    spans_keep_their_words();
    long_words_are_cut();
    of_many_the_longest_stay();
    lanes_do_not_overlap();
    gaps_path_and_steps_come_from_the_analysis();
    is_u64(gate.used_bytes, 0, "all memory went back");
    return done();
}
