/* SPDX-License-Identifier: MIT
 * The rows of host threads and streams around one place, for a timeline: what the first finding points at, or where that is
 * most of the recording the costliest stretch of it; where it points nowhere the longest gap of the median steady step, or
 * of the run; without gaps worth it a step, without steps all. Rows that tell nothing are left out: those that span all that
 * is shown, Python frames that do little but call one other, and what is too short to be seen. */
#include "id_map.h"
#include "pictures.h"
#include "sort.h"

#include "poison.h"

#define MOST_BARS 900u
#define MOST_DEPTH 12u
#define LEAST_BARS (MOST_BARS / MOST_TRACKS) /* of each track, where it has so many */
#define LONGEST_WALK 256u
#define MOST_TRACKS 32u
#define LEAST_PAD_NS 50000
#define LEAST_PART 20    /* a gap that is less than one in so many of its step is not what to look at */
#define LEAST_SHARE 2000 /* what is shorter than one in so many of what is shown cannot be seen */

struct view {
    int64_t start_ns, end_ns;
    const struct ap_gap_detail *gap; /* NULL = none */
    const char *about;
    const struct ap_value *finding, *place; /* NULL = it is not about one */
};

/* ---- what to show ---- */

static bool shorter_step(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_steps *steps = context;
    const struct ap_step *x = &steps->steps[a], *y = &steps->steps[b];
    if (ap_step_is_steady(x) != ap_step_is_steady(y))
        return ap_step_is_steady(x);
    int64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;
    return x_ns != y_ns ? x_ns < y_ns : a < b;
}

/* The median of the steady ones, of all where none is steady. */
static enum ap_status median_step(const struct ap_part_context *context, const struct ap_step **ret_step,
                                  struct ap_error *reterr)
{
    const struct ap_steps *steps = &context->facts->steps;
    uint32_t *order;
    size_t count, steady = 0;
    *ret_step = NULL;
    for (size_t i = 0; i < steps->count; i++)
        steady += ap_step_is_steady(&steps->steps[i]);
    AP_TRY(ap_top_indices(context->gate, (uint32_t)steps->count, 0, shorter_step, steps, &order, &count, reterr));
    if (count)
        *ret_step = &steps->steps[order[((steady ? steady : count) - 1) / 2]];
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

/* The longest of those that touch the step; they are in order of length. */
static const struct ap_gap_detail *longest_gap(const struct ap_split *split, const struct ap_step *step)
{
    for (size_t i = 0; i < split->detail_count; i++)
        if (!step || (split->details[i].start_ns < step->end_ns && split->details[i].end_ns > step->start_ns))
            return &split->details[i];
    return NULL;
}

/* Half as much before and behind as the thing itself, at least some, within the recording. */
static void look_at(struct view *view, const struct ap_trace *trace, int64_t start_ns, int64_t end_ns, const char *about)
{
    int64_t pad_ns = (end_ns - start_ns) / 2;
    pad_ns = pad_ns > LEAST_PAD_NS ? pad_ns : LEAST_PAD_NS;
    view->about = about;
    view->start_ns = start_ns - pad_ns > trace->window_start_ns ? start_ns - pad_ns : trace->window_start_ns;
    view->end_ns = end_ns + pad_ns < trace->window_end_ns ? end_ns + pad_ns : trace->window_end_ns;
}

static const struct ap_value *first_place(const struct ap_value *finding)
{
    const struct ap_value *place = ap_value_first(ap_value_member(finding, "places"));
    const struct ap_value *start = ap_value_member(place, "start_us"), *dur = ap_value_member(place, "dur_us");
    bool placed = start && start->type == AP_VALUE_TIME_NS && dur && dur->type == AP_VALUE_TIME_NS && dur->as.integer > 0;
    return placed ? place : NULL;
}

/* What the weightiest finding points at. */
static bool find_place(const struct ap_trace *trace, const struct ap_model *model, struct view *view)
{
    const struct ap_value *finding = ap_value_first(ap_value_member(&model->root, "findings"));
    while (finding && ap_text_is(ap_value_text(ap_value_member(finding, "severity")), "info"))
        finding = finding->next;
    const struct ap_value *place = first_place(finding);
    if (!place)
        return false;
    int64_t start_ns = ap_value_integer(ap_value_member(place, "start_us"), 0);
    int64_t dur_ns = ap_value_integer(ap_value_member(place, "dur_us"), 0);
    if (start_ns < trace->window_start_ns || start_ns > trace->window_end_ns || dur_ns > trace->window_end_ns - start_ns)
        return false;
    view->finding = finding;
    view->place = place;
    return true;
}

static bool is_worth_it(const struct ap_gap_detail *gap, int64_t of_ns)
{
    return gap && gap->end_ns - gap->start_ns >= of_ns / LEAST_PART;
}

/* The longest gap within; else the median step, where it lies there; else the middle tenth. */
static void look_within(struct view *view, const struct ap_part_context *context, const struct ap_step *step,
                        const struct ap_step *place)
{
    const struct ap_gap_detail *gap = context->facts->split.has_gpu ? longest_gap(&context->facts->split, place) : NULL;
    int64_t dur_ns = place->end_ns - place->start_ns, tenth_ns = dur_ns / 10;
    bool has_step = step && step->start_ns >= place->start_ns && step->end_ns <= place->end_ns &&
                    step->end_ns - step->start_ns <= dur_ns / 2;
    if (is_worth_it(gap, has_step ? step->end_ns - step->start_ns : dur_ns)) {
        look_at(view, context->trace, gap->start_ns, gap->end_ns, "the longest gap within what the first finding points at");
        view->gap = gap;
        return;
    }
    view->about = has_step ? "the median step within what the first finding points at"
                           : "the middle tenth of what the first finding points at";
    view->start_ns = has_step ? step->start_ns : place->start_ns + (dur_ns - tenth_ns) / 2;
    view->end_ns = has_step ? step->end_ns : view->start_ns + (tenth_ns > 0 ? tenth_ns : 1);
}

/* All of it, unless that is most of the recording: then hardly a row could be read. */
static void look_at_place(struct view *view, const struct ap_part_context *context, const struct ap_step *step)
{
    const struct ap_trace *trace = context->trace;
    int64_t start_ns = ap_value_integer(ap_value_member(view->place, "start_us"), 0);
    const struct ap_step place = { .start_ns = start_ns,
                                   .end_ns = start_ns + ap_value_integer(ap_value_member(view->place, "dur_us"), 0) };
    if (place.end_ns - place.start_ns > (trace->window_end_ns - trace->window_start_ns) / 10 * 9) {
        look_within(view, context, step, &place);
        return;
    }
    look_at(view, trace, place.start_ns, place.end_ns, "what the first finding points at");
    const struct ap_step shown = { .start_ns = view->start_ns, .end_ns = view->end_ns };
    const struct ap_gap_detail *gap = context->facts->split.has_gpu ? longest_gap(&context->facts->split, &place) : NULL;
    if (context->facts->split.has_gpu &&
        !is_worth_it(gap, view->end_ns - view->start_ns)) /* one beside it tells something, too */
        gap = longest_gap(&context->facts->split, &shown);
    view->gap = is_worth_it(gap, view->end_ns - view->start_ns) ? gap : NULL;
}

static enum ap_status choose_view(const struct ap_part_context *context, const struct ap_model *model, struct view *view,
                                  struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    const struct ap_split *split = &context->facts->split;
    const struct ap_step *step;
    AP_TRY(median_step(context, &step, reterr));
    *view =
        (struct view){ .start_ns = trace->window_start_ns, .end_ns = trace->window_end_ns, .about = "the whole recording" };
    if (find_place(trace, model, view)) {
        look_at_place(view, context, step);
        return AP_OK;
    }
    if (step)
        *view = (struct view){ .start_ns = step->start_ns, .end_ns = step->end_ns, .about = "the median step" };
    const struct ap_gap_detail *gap = split->has_gpu ? longest_gap(split, step) : NULL;
    gap = gap || !split->has_gpu ? gap : longest_gap(split, NULL);
    if (!is_worth_it(gap, step ? step->end_ns - step->start_ns : 0))
        return AP_OK; /* a device that is hardly ever idle: the step says more */
    look_at(view, trace, gap->start_ns, gap->end_ns, step ? "the longest gap of the median step" : "the longest gap");
    view->gap = gap;
    return AP_OK;
}

/* ---- which rows ---- */

struct rows {
    struct ap_part_context *context;
    struct view view;
    int64_t least_ns; /* what is shorter cannot be seen */
    uint32_t *list;
    size_t count, capacity;
    struct ap_id_map wrappers; /* rows + 1 that do little but call one other */
};

static int64_t seen_ns(const struct rows *rows, uint32_t row)
{
    const struct ap_trace *trace = rows->context->trace;
    int64_t start_ns = trace->events.start_ns[row], end_ns = ap_row_end_ns(trace, row);
    start_ns = start_ns > rows->view.start_ns ? start_ns : rows->view.start_ns;
    end_ns = end_ns < rows->view.end_ns ? end_ns : rows->view.end_ns;
    return end_ns - start_ns;
}

static bool spans_all(const struct rows *rows, uint32_t row)
{
    return seen_ns(rows, row) >= rows->view.end_ns - rows->view.start_ns;
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

/* Rows around it that are drawn, too; MOST_DEPTH and more = too deep. */
static uint32_t depth_of(const struct rows *rows, uint32_t row)
{
    uint32_t depth = 0, walked = 0;
    if (!is_host(rows, row))
        return 0;
    for (row = around(rows, row); row != AP_NO_ROW && depth < MOST_DEPTH && !spans_all(rows, row); row = around(rows, row)) {
        if (++walked > LONGEST_WALK)
            return MOST_DEPTH;
        depth += seen_ns(rows, row) > rows->least_ns && !is_wrapper(rows, row);
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
        if (is_host(rows, row) && spans_all(rows, row))
            continue;
        AP_TRY_ADD(rows->context->gate, rows->list, rows->count, rows->capacity, reterr, row);
    }
    return AP_OK;
}

static enum ap_status find_wrappers(struct rows *rows, struct ap_error *reterr)
{
    const struct ap_trace *trace = rows->context->trace;
    AP_TRY(ap_id_map_init(&rows->wrappers, rows->context->gate, rows->count, reterr));
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t row = rows->list[i], parent = is_host(rows, row) ? around(rows, row) : AP_NO_ROW;
        if (parent == AP_NO_ROW || ap_row_kind(trace->events.tag[parent]) != AP_KIND_python)
            continue;
        if (seen_ns(rows, row) > seen_ns(rows, parent) / 20 * 19)
            *ap_id_map_add(&rows->wrappers, parent + 1) = 0;
    }
    return AP_OK;
}

static void drop_rows(struct rows *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (!is_wrapper(rows, rows->list[i]) && depth_of(rows, rows->list[i]) < MOST_DEPTH)
            rows->list[kept++] = rows->list[i];
    rows->count = kept;
}

static enum ap_status choose_rows(struct rows *rows, struct ap_error *reterr)
{
    AP_TRY(list_rows(rows, reterr));
    if (!rows->count)
        return AP_OK;
    AP_TRY(find_wrappers(rows, reterr));
    drop_rows(rows);
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
    return lane;
}

static void take_lane(struct lanes *lanes, const struct rows *rows, uint32_t row)
{
    uint32_t track = rows->context->trace->events.track[row], depth = depth_of(rows, row) + 1;
    struct lane *lane = lane_of(lanes, track);
    lane->depth = depth > lane->depth ? depth : lane->depth;
    lane->seen_ns += depth == 1 ? seen_ns(rows, row) : 0;
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
    struct ap_value *list = ap_add_list(model, to, "lanes");
    for (size_t i = 0; i < lanes->count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_name(trace, model, row, "name", trace->tracks[lanes->list[i].track].label.id);
        ap_add_track(trace, lanes->list[i].track, model, row);
        ap_add_string(model, row, "side", lanes->list[i].gpu ? "gpu" : "host");
        ap_add_count(model, row, "depth", lanes->list[i].depth);
    }
}

static const char *kind_of(const struct rows *rows, uint32_t row)
{
    const struct ap_part_context *context = rows->context;
    enum ap_event_kind kind = ap_row_kind(context->trace->events.tag[row]);
    if (kind == AP_KIND_kernel && ap_kernel_is_communication(&context->facts->families, context->trace, row))
        return "communication";
    return ap_event_kind_name(kind);
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

static enum ap_status put_timeline(struct rows *rows, struct ap_model *model, struct ap_value *pictures,
                                   struct ap_error *reterr)
{
    struct lanes lanes = { .main_track = rows->context->facts->main_track };
    struct ap_gate *gate = rows->context->gate;
    uint32_t *longest;
    size_t count, drawn = 0;
    AP_TRY(ap_top_indices(gate, (uint32_t)rows->count, 0, seen_longer, rows, &longest, &count, reterr));
    drawn = keep_bars(&lanes, rows, longest, count);
    for (size_t i = 0; i < drawn; i++)
        take_lane(&lanes, rows, rows->list[longest[i]]);
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
    return AP_OK;
}

enum ap_status ap_add_timeline(struct ap_part_context *context, struct ap_model *model, struct ap_value *pictures,
                               struct ap_error *reterr)
{
    struct rows rows = { .context = context, .wrappers = { .gate = context->gate } };
    if (!context->trace->has_window) {
        ap_add_null(model, pictures, "timeline");
        return AP_OK;
    }
    AP_TRY(choose_view(context, model, &rows.view, reterr));
    enum ap_status status = choose_rows(&rows, reterr);
    if (status == AP_OK && !rows.count && rows.view.place) { /* nothing within it: itself, and what is around */
        rows.view = (struct view){ .start_ns = context->trace->window_start_ns,
                                   .end_ns = context->trace->window_end_ns,
                                   .about = "what the first finding points at",
                                   .finding = rows.view.finding,
                                   .place = rows.view.place };
        status = choose_rows(&rows, reterr);
    }
    if (status == AP_OK && rows.count)
        status = put_timeline(&rows, model, pictures, reterr);
    else if (status == AP_OK)
        ap_add_null(model, pictures, "timeline");
    ap_id_map_release(&rows.wrappers);
    AP_FREE(context->gate, rows.list, rows.capacity);
    return status;
}
