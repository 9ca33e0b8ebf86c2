/* SPDX-License-Identifier: MIT
 * The rows of host threads and streams for a timeline: of what the drawing shows at first, a step as a rule, and packed
 * those that a reader sees who zooms into it or goes to another finding or step. Rows that tell nothing are left out: those
 * that span all that is shown, Python frames that do little but call one other, and what is too deep. */
#include <stdio.h>

#include "id_map.h"
#include "pair_map.h"
#include "picture_rows.h"
#include "pictures.h"
#include "sort.h"

#include "poison.h"

#define MOST_BARS 900u
#define MOST_DEPTH 12u
#define LEAST_BARS (MOST_BARS / MOST_TRACKS) /* of each track, where it has so many */
#define LONGEST_WALK 256u
#define MOST_TRACKS 32u
#define LEAST_SHARE 2000 /* what is shorter than one in so many of what is shown cannot be seen */
#define MOST_NAMES 1000u /* of packed rows */
#define PACKED_BYTES 80  /* a row at most */

/* ---- which rows ---- */

struct rows {
    struct ap_part_context *context;
    struct ap_picture_view view;
    int64_t least_ns;      /* what is shorter cannot be seen */
    uint32_t *list, *more; /* those to be seen at first, the longest of which are drawn; those for readers who zoom */
    size_t count, capacity, more_count;
    struct ap_id_map wrappers; /* rows + 1 that do little but call one other */
    struct ap_id_map drawn;    /* rows + 1 */
};

static int64_t seen_ns(const struct rows *rows, uint32_t row)
{
    const struct ap_trace *trace = rows->context->trace;
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    start_ns = start_ns > rows->view.start_ns ? start_ns : rows->view.start_ns;
    end_ns = end_ns < rows->view.end_ns ? end_ns : rows->view.end_ns;
    return end_ns - start_ns;
}

/* The step itself and its parts are told. */
static bool spans_all(const struct rows *rows, uint32_t row)
{
    return seen_ns(rows, row) >= rows->view.end_ns - rows->view.start_ns && row != rows->view.step_row &&
           ap_row_kind(rows->context->trace->events.tag[row]) != AP_KIND_annotation;
}

static bool is_host(const struct rows *rows, uint32_t row)
{
    return ap_row_is_of(rows->context->trace, row, AP_HOST_KINDS);
}

static uint32_t around(const struct rows *rows, uint32_t row)
{
    return ap_host_container(&rows->context->facts->tree, rows->context->trace, row);
}

static bool is_wrapper(const struct rows *rows, uint32_t row)
{
    return ap_id_map_find(&rows->wrappers, row + 1) != NULL;
}

/* Rows around it that are shown, too; MOST_DEPTH and more = too deep. */
static uint32_t depth_of(const struct rows *rows, uint32_t row)
{
    uint32_t depth = 0, walked = 0;
    if (!is_host(rows, row))
        return 0;
    for (row = around(rows, row); row != AP_NO_ROW && depth < MOST_DEPTH; row = around(rows, row)) {
        if (++walked > LONGEST_WALK)
            return MOST_DEPTH;
        depth += !spans_all(rows, row) && !is_wrapper(rows, row);
    }
    return depth;
}

static bool seen_longer(const void *context, uint32_t a, uint32_t b)
{
    const struct rows *rows = context;
    int64_t a_ns = seen_ns(rows, rows->list[a]), b_ns = seen_ns(rows, rows->list[b]);
    return a_ns != b_ns ? a_ns > b_ns : rows->list[a] < rows->list[b];
}

static enum ap_status list_rows(struct rows *rows, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->context->facts->order;
    const struct ap_trace *trace = rows->context->trace;
    rows->least_ns = (rows->view.end_ns - rows->view.start_ns) / LEAST_SHARE;
    for (size_t i = 0; i < order->count; i++) {
        uint32_t row = order->rows[i];
        if (trace->events.start_ns[row] >= rows->view.end_ns || seen_ns(rows, row) <= rows->least_ns)
            continue;
        if (!ap_row_is_of(trace, row, AP_HOST_KINDS | AP_GPU_KINDS))
            continue;
        AP_TRY_ADD(rows->context->gate, rows->list, rows->count, rows->capacity, reterr, row);
    }
    return AP_OK;
}

static void find_wrapper(struct rows *rows, uint32_t row)
{
    const struct ap_trace *trace = rows->context->trace;
    uint32_t parent = is_host(rows, row) ? around(rows, row) : AP_NO_ROW;
    if (parent == AP_NO_ROW || ap_row_kind(trace->events.tag[parent]) != AP_KIND_python)
        return;
    if (trace->events.dur_ns[row] > trace->events.dur_ns[parent] / 20 * 19)
        *ap_id_map_add(&rows->wrappers, parent + 1) = 0;
}

static bool is_told(const struct rows *rows, uint32_t row)
{
    return !is_wrapper(rows, row) && !(is_host(rows, row) && spans_all(rows, row)) && depth_of(rows, row) < MOST_DEPTH;
}

static size_t drop_rows(const struct rows *rows, uint32_t *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_told(rows, list[i]))
            list[kept++] = list[i];
    return kept;
}

static enum ap_status choose_rows(struct rows *rows, const struct ap_model *model, struct ap_error *reterr)
{
    struct ap_gate *gate = rows->context->gate;
    AP_TRY(list_rows(rows, reterr));
    AP_TRY(ap_picture_more_rows(rows->context, model, &rows->view, &rows->more, &rows->more_count, reterr));
    AP_TRY(ap_id_map_init(&rows->wrappers, gate, rows->count + rows->more_count, reterr));
    AP_TRY(ap_id_map_init(&rows->drawn, gate, MOST_BARS, reterr));
    for (size_t i = 0; i < rows->count; i++)
        find_wrapper(rows, rows->list[i]);
    for (size_t i = 0; i < rows->more_count; i++)
        find_wrapper(rows, rows->more[i]);
    rows->count = drop_rows(rows, rows->list, rows->count);
    rows->more_count = drop_rows(rows, rows->more, rows->more_count);
    return AP_OK;
}

/* ---- output ---- */

struct lane {
    uint32_t track, depth;
    int64_t seen_ns;
    uint32_t bars; /* that it surely has */
    bool gpu;
};

/* Lanes are threads and streams; the main thread first, then those with most to see. */
struct lanes {
    struct lane list[MOST_TRACKS];
    size_t count;
    uint32_t main_track;
    bool left_out; /* more have rows */
};

static struct lane *lane_of(struct lanes *lanes, uint32_t track)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->list[i].track == track)
            return &lanes->list[i];
    return NULL;
}

/* NULL where there are too many. */
static struct lane *open_lane(struct lanes *lanes, const struct rows *rows, uint32_t row)
{
    uint32_t track = rows->context->trace->events.track[row];
    struct lane *lane = lane_of(lanes, track);
    if (!lane && lanes->count < MOST_TRACKS) {
        lane = &lanes->list[lanes->count++];
        *lane = (struct lane){ .track = track, .gpu = !is_host(rows, row) };
    }
    lanes->left_out |= !lane;
    return lane;
}

static void take_lane(struct lanes *lanes, const struct rows *rows, uint32_t row)
{
    uint32_t track = rows->context->trace->events.track[row], depth = depth_of(rows, row) + 1;
    struct lane *lane = lane_of(lanes, track);
    lane->depth = depth > lane->depth ? depth : lane->depth;
    lane->seen_ns += depth == 1 && seen_ns(rows, row) > 0 ? seen_ns(rows, row) : 0;
}

static bool lane_before(const struct lanes *lanes, const struct lane *a, const struct lane *b)
{
    if (a->gpu != b->gpu)
        return !a->gpu;
    if ((a->track == lanes->main_track) != (b->track == lanes->main_track))
        return a->track == lanes->main_track;
    return a->seen_ns != b->seen_ns ? a->seen_ns > b->seen_ns : a->track < b->track;
}

static void order_lanes(struct lanes *lanes)
{
    for (size_t i = 1; i < lanes->count; i++)
        for (size_t at = i; at > 0 && lane_before(lanes, &lanes->list[at], &lanes->list[at - 1]); at--) {
            struct lane spare = lanes->list[at];
            lanes->list[at] = lanes->list[at - 1];
            lanes->list[at - 1] = spare;
        }
}

static void put_lanes(const struct lanes *lanes, const struct rows *rows, struct ap_model *model, struct ap_value *to)
{
    const struct ap_trace *trace = rows->context->trace;
    ap_add_bool(model, to, "lanes_left_out", lanes->left_out);
    struct ap_value *list = ap_add_list(model, to, "lanes");
    for (size_t i = 0; i < lanes->count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_name(trace, model, row, "name", ap_track_name(trace, &trace->tracks[lanes->list[i].track]).id);
        ap_add_track(trace, lanes->list[i].track, model, row);
        ap_add_string(model, row, "side", lanes->list[i].gpu ? "gpu" : "host");
        ap_add_count(model, row, "depth", lanes->list[i].depth);
    }
}

#define COMMUNICATION UINT32_MAX

static uint32_t row_kind(const struct rows *rows, uint32_t row)
{
    const struct ap_part_context *context = rows->context;
    enum ap_event_kind kind = ap_row_kind(context->trace->events.tag[row]);
    bool talks = kind == AP_KIND_kernel && ap_kernel_is_communication(&context->facts->families, context->trace, row);
    return talks ? COMMUNICATION : (uint32_t)kind;
}

static const char *kind_of(const struct rows *rows, uint32_t row)
{
    uint32_t kind = row_kind(rows, row);
    return kind == COMMUNICATION ? "communication" : ap_event_kind_name((enum ap_event_kind)kind);
}

static void put_bar(const struct lanes *lanes, const struct rows *rows, uint32_t row, struct ap_model *model,
                    struct ap_value *list)
{
    const struct ap_trace *trace = rows->context->trace;
    const struct lane *lane = lane_of((struct lanes *)lanes, trace->events.track[row]);
    struct ap_value *to = ap_add_object(model, list, NULL);
    ap_add_text(model, to, "name", ap_row_name(trace, row));
    ap_add_string(model, to, "kind", kind_of(rows, row));
    ap_add_count(model, to, "lane", lane - lanes->list);
    ap_add_count(model, to, "depth", depth_of(rows, row));
    ap_add_time(model, to, "start_us", trace->events.start_ns[row]);
    ap_add_time(model, to, "dur_us", trace->events.dur_ns[row]);
}

static void put_gap(const struct rows *rows, struct ap_model *model, struct ap_value *to)
{
    const struct ap_gap_detail *gap = rows->view.gap;
    if (!gap) {
        ap_add_null(model, to, "gap");
        return;
    }
    struct ap_value *row = ap_add_object(model, to, "gap");
    enum ap_idle_cause cause = ap_split_top_cause(gap->cause_ns);
    ap_add_time(model, row, "start_us", gap->start_ns);
    ap_add_time(model, row, "dur_us", gap->end_ns - gap->start_ns);
    ap_add_string(model, row, "cause", ap_idle_cause_name(cause));
    ap_add_time(model, row, "cause_us", gap->cause_ns[cause]);
}

static void put_finding(const struct rows *rows, struct ap_model *model, struct ap_value *to)
{
    if (!rows->view.finding) {
        ap_add_null(model, to, "finding");
        return;
    }
    struct ap_value *row = ap_add_object(model, to, "finding");
    ap_add_text(model, row, "rule_id", ap_value_text(ap_value_member(rows->view.finding, "rule_id")));
    ap_add_time(model, row, "start_us", ap_value_integer(ap_value_member(rows->view.place, "start_us"), 0));
    ap_add_time(model, row, "dur_us", ap_value_integer(ap_value_member(rows->view.place, "dur_us"), 0));
}

/* The longest rows, and of each thread and stream some, so that none that works is left out; rows come longest first. */
static size_t keep_bars(struct lanes *lanes, const struct rows *rows, uint32_t *list, size_t count)
{
    size_t kept = 0, sure = 0;
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = open_lane(lanes, rows, rows->list[list[i]]);
        sure += lane && lane->bars++ < LEAST_BARS;
    }
    for (size_t i = 0; i < lanes->count; i++)
        lanes->list[i].bars = 0;
    size_t more = MOST_BARS - sure;
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = lane_of(lanes, rows->context->trace->events.track[rows->list[list[i]]]);
        if (!lane || (lane->bars++ >= LEAST_BARS && !more))
            continue;
        more -= lane->bars > LEAST_BARS;
        list[kept++] = list[i];
    }
    return kept;
}

/* ---- packed rows ---- */

/* Those that are not drawn, and for whose thread or stream there is room. */
static void drop_drawn(struct rows *rows, struct lanes *lanes)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->more_count; i++) {
        uint32_t row = rows->more[i];
        if (ap_id_map_find(&rows->drawn, row + 1) || !open_lane(lanes, rows, row))
            continue;
        take_lane(lanes, rows, row);
        rows->more[kept++] = row;
    }
    rows->more_count = kept;
}

/* "name lane depth start dur;": where the name stands in names, and nanoseconds, the start from that of what is shown. */
static size_t pack_row(const struct lanes *lanes, const struct rows *rows, uint32_t row, uint32_t name, char *to)
{
    const struct ap_trace *trace = rows->context->trace;
    const struct lane *lane = lane_of((struct lanes *)lanes, trace->events.track[row]);
    int bytes = snprintf(to, PACKED_BYTES, "%u %u %u %lld %lld;", (unsigned)name, (unsigned)(lane - lanes->list),
                         (unsigned)depth_of(rows, row), (long long)(trace->events.start_ns[row] - rows->view.start_ns),
                         (long long)trace->events.dur_ns[row]);
    return bytes > 0 && bytes < PACKED_BYTES ? (size_t)bytes : 0;
}

static enum ap_status pack_rows(const struct lanes *lanes, const struct rows *rows, char *text, struct ap_model *model,
                                struct ap_value *to, struct ap_error *reterr)
{
    struct ap_pair_map known = { .gate = rows->context->gate };
    struct ap_value *names = ap_add_list(model, to, "names"), *kinds = ap_add_list(model, to, "kinds");
    size_t bytes = 0;
    enum ap_status status = AP_OK;
    for (size_t i = 0; status == AP_OK && i < rows->more_count; i++) {
        uint32_t row = rows->more[i], name = 0, before = known.count;
        status = ap_pair_map_add(&known, ap_row_name_id(rows->context->trace, row), row_kind(rows, row), &name, reterr);
        if (status != AP_OK || name >= MOST_NAMES)
            continue;
        if (name == before) {
            ap_add_text(model, names, NULL, ap_row_name(rows->context->trace, row));
            ap_add_string(model, kinds, NULL, kind_of(rows, row));
        }
        bytes += pack_row(lanes, rows, row, name, text + bytes);
    }
    text[bytes] = '\0';
    ap_add_string(model, to, "rows", text);
    ap_pair_map_release(&known);
    return status;
}

static enum ap_status put_more(const struct lanes *lanes, const struct rows *rows, struct ap_model *model,
                               struct ap_value *timeline, struct ap_error *reterr)
{
    const struct ap_trace *trace = rows->context->trace;
    struct ap_value *to = ap_add_object(model, timeline, "more");
    char *text;
    ap_add_time(model, to, "start_us", trace->window_start_ns);
    ap_add_time(model, to, "dur_us", trace->window_end_ns - trace->window_start_ns);
    AP_TRY(AP_ALLOC(rows->context->gate, text, rows->more_count * PACKED_BYTES + 1, reterr));
    enum ap_status status = pack_rows(lanes, rows, text, model, to, reterr);
    AP_FREE(rows->context->gate, text, rows->more_count * PACKED_BYTES + 1);
    return status;
}

static enum ap_status put_timeline(struct rows *rows, struct ap_model *model, struct ap_value *pictures,
                                   struct ap_error *reterr)
{
    struct lanes lanes = { .main_track = rows->context->facts->main_track };
    struct ap_gate *gate = rows->context->gate;
    uint32_t *longest;
    size_t count, drawn = 0;
    AP_TRY(ap_top_indices(gate, (uint32_t)rows->count, 0, seen_longer, rows, &longest, &count, reterr));
    drawn = keep_bars(&lanes, rows, longest, count);
    for (size_t i = 0; i < drawn; i++) {
        take_lane(&lanes, rows, rows->list[longest[i]]);
        *ap_id_map_add(&rows->drawn, rows->list[longest[i]] + 1) = 0;
    }
    drop_drawn(rows, &lanes);
    order_lanes(&lanes);
    struct ap_value *to = ap_add_object(model, pictures, "timeline");
    ap_add_string(model, to, "about", rows->view.about);
    ap_add_time(model, to, "start_us", rows->view.start_ns);
    ap_add_time(model, to, "dur_us", rows->view.end_ns - rows->view.start_ns);
    put_finding(rows, model, to);
    put_gap(rows, model, to);
    put_lanes(&lanes, rows, model, to);
    struct ap_value *list = ap_add_list(model, to, "bars");
    for (size_t i = 0; i < drawn; i++)
        put_bar(&lanes, rows, rows->list[longest[i]], model, list);
    ap_add_count(model, to, "left_out", (int64_t)(rows->count - drawn));
    AP_FREE(gate, longest, count);
    return put_more(&lanes, rows, model, to, reterr);
}

enum ap_status ap_add_timeline(struct ap_part_context *context, struct ap_model *model, struct ap_value *pictures,
                               struct ap_error *reterr)
{
    struct rows rows = { .context = context, .wrappers = { .gate = context->gate }, .drawn = { .gate = context->gate } };
    if (!context->trace->has_window) {
        ap_add_null(model, pictures, "timeline");
        return AP_OK;
    }
    AP_TRY(ap_picture_view_choose(context, model, &rows.view, reterr));
    enum ap_status status = choose_rows(&rows, model, reterr);
    if (status == AP_OK && rows.count + rows.more_count)
        status = put_timeline(&rows, model, pictures, reterr);
    else if (status == AP_OK)
        ap_add_null(model, pictures, "timeline");
    ap_id_map_release(&rows.drawn);
    ap_id_map_release(&rows.wrappers);
    AP_FREE(context->gate, rows.more, AP_MOST_MORE_ROWS);
    AP_FREE(context->gate, rows.list, rows.capacity);
    return status;
}
