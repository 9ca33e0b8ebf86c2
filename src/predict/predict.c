/* SPDX-License-Identifier: MIT */
#include "predict.h"

#include "quantile.h"
#include "sort.h"

#include "poison.h"

/* A replay of what was recorded may be off by so much: steps by 1 %, the window by 0.5 %. */
#define STEP_ERROR_PARTS 100
#define WINDOW_ERROR_PARTS 200
/* Of the window, so much may be waits that no edge explains, even where they make neither longer: 10 %. */
#define UNEXPLAINED_PARTS 10

/* --------------------------------------------------------------------------------------------------- the unchanged */

static int64_t distance_ns(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

static bool is_placed(const struct ap_replay_graph *graph, size_t step)
{
    return graph->step_start[step] != AP_NO_TASK && graph->step_end[step] != AP_NO_TASK;
}

static bool is_steady(const struct ap_predictor *predictor, size_t step)
{
    return ap_step_is_steady(&predictor->facts->steps.steps[step]) && is_placed(&predictor->graph, step);
}

/* Of a steady step. What another one before it left to do is not its gain, nor its loss. */
static int64_t step_ns(const struct ap_predictor *predictor, const struct ap_replay_times *times, size_t step)
{
    return ap_replay_step_ns(times, step, step && is_steady(predictor, step - 1));
}

static const char *find_errors(struct ap_predictor *predictor)
{
    const struct ap_replay_times *recorded = &predictor->recorded, *unchanged = &predictor->unchanged;
    const char *why_not = NULL;
    predictor->window_error_ns = distance_ns(recorded->window_ns, unchanged->window_ns);
    if (predictor->window_error_ns > recorded->window_ns / WINDOW_ERROR_PARTS)
        why_not = "a replay without any change does not give the recorded window: devices waited for something that is not "
                  "recorded";
    for (size_t i = 0; i < predictor->graph.step_count; i++) {
        if (!is_steady(predictor, i))
            continue;
        int64_t recorded_ns = step_ns(predictor, recorded, i);
        int64_t off_ns = distance_ns(recorded_ns, step_ns(predictor, unchanged, i));
        if (!predictor->steady_count++)
            predictor->worst_step_ns = recorded_ns;
        if (off_ns > predictor->step_error_ns) {
            predictor->step_error_ns = off_ns;
            predictor->worst_step_ns = recorded_ns;
        }
        if (off_ns > recorded_ns / STEP_ERROR_PARTS)
            why_not = "a replay without any change does not give the recorded steps: devices waited for something that is "
                      "not recorded";
    }
    return why_not;
}

/* XLA's runtime copies and launches on threads of its own, for others that wait for it without a word in the trace. */
static bool has_silent_threads(const struct ap_facts *facts)
{
    const struct ap_trace *trace = facts->trace;
    if (!trace->writer || !ap_text_is(ap_text_of(trace->writer), "XLA"))
        return false;
    for (size_t i = 0; i < facts->links.count; i++) {
        uint32_t launch = ap_launch_at(&facts->links, i);
        if (launch != AP_NO_ROW && trace->events.track[launch] != facts->main_track)
            return true;
    }
    return false;
}

/* What the recording lacks is no time that could be replayed. */
static const char *find_lack(const struct ap_predictor *predictor)
{
    if (!predictor->graph.count || predictor->recorded.window_ns <= 0)
        return "no work is placed in time";
    if (!predictor->graph.thread_task_count)
        return "no host rows were recorded";
    if (has_silent_threads(predictor->facts))
        return "threads of XLA's runtime feed the device, and what waits for them is not recorded";
    if (predictor->graph.unexplained_ns > predictor->recorded.window_ns / UNEXPLAINED_PARTS)
        return "for more than a tenth of the window devices waited for something that is not recorded";
    return NULL;
}

static int64_t profiler_ns_on(const struct ap_facts *facts, size_t track)
{
    bool overflowed = false;
    int64_t own_ns = 0;
    for (size_t i = facts->order.track_start[track]; i < facts->order.track_start[track + 1]; i++)
        own_ns = ap_add_sat(own_ns, ap_profiler_row_ns(facts->trace, facts->order.rows[i]), &overflowed);
    return own_ns;
}

/* At least a quarter of what was recorded is no profiler's. A thread that only looks on has no work in the replay, and what
 * recording it cost is none of that. */
static void find_quiet(struct ap_predictor *predictor)
{
    const struct ap_facts *facts = predictor->facts;
    bool overflowed = false;
    int64_t loud_ns = 0, own_ns = 0;
    for (size_t i = 0; i < predictor->graph.count; i++) {
        if (predictor->graph.tasks[i].is_device)
            return;
        loud_ns = ap_add_sat(loud_ns, ap_task_work_ns(&predictor->graph, &predictor->graph.tasks[i]), &overflowed);
    }
    for (size_t track = 0; track < predictor->graph.track_count; track++)
        if (predictor->graph.first_of_thread[track] < predictor->graph.first_of_thread[track + 1])
            own_ns = ap_add_sat(own_ns, profiler_ns_on(facts, track), &overflowed);
    predictor->loud_ns = loud_ns;
    predictor->quiet_ns = own_ns < loud_ns - loud_ns / 4 ? loud_ns - own_ns : loud_ns / 4;
}

static bool has_host_rows(const struct ap_trace *trace)
{
    uint32_t row = 0;
    while (row < trace->events.count && !ap_row_is_of(trace, row, AP_HOST_KINDS))
        row++;
    return row < trace->events.count;
}

/* Told without a graph, which takes as much memory as the rows. NULL = nothing. */
static const char *find_hindrance(const struct ap_facts *facts, bool asked)
{
    if (ap_trace_has_kind(facts->trace, AP_KIND_accelerator))
        return "the work of an accelerator other than CUDA and ROCm is not followed";
    if (facts->path_index.work_count && !has_host_rows(facts->trace))
        return "no host rows were recorded";
    if (facts->order.track_count > AP_REPLAYED_TRACKS_MAX && !asked)
        return "more than ten thousand threads and streams are replayed only where a change is asked for";
    if (facts->order.track_count > AP_REPLAY_TRACKS_MAX)
        return "more than 134,217,727 threads and streams are not replayed";
    return NULL;
}

enum ap_status ap_predictor_init(struct ap_predictor *predictor, const struct ap_facts *facts, bool asked,
                                 struct ap_error *reterr)
{
    size_t rows = facts->trace->events.count;
    bool is_excerpt = false;
    *predictor = (struct ap_predictor){ .facts = facts };
    ap_arena_init(&predictor->arena, facts->gate);
    if (rows > AP_REPLAYED_ROWS && !asked)
        AP_TRY(ap_excerpt_init(&predictor->excerpt, facts, AP_EXCERPT_ROWS, &is_excerpt, reterr));
    if (rows > AP_REPLAYED_ROWS_MAX && !asked && !is_excerpt) {
        predictor->why_not =
            "more than a million rows without steps to choose from are replayed only where a change is asked "
            "for";
        return AP_OK;
    }
    predictor->facts = facts = is_excerpt ? &predictor->excerpt.facts : facts;
    predictor->why_not = find_hindrance(facts, asked);
    if (predictor->why_not)
        return AP_OK;
    AP_TRY(ap_replay_graph_init(&predictor->graph, facts->trace, &facts->order, &facts->path_index, &facts->calls,
                                &facts->steps, facts->main_track, facts->gate, reterr));
    if (is_excerpt)
        predictor->graph.stretch_ns = facts->window_ns;
    AP_TRY(ap_replay_recorded(&predictor->graph, &predictor->recorded, reterr));
    ap_replay_times_forget_tasks(&predictor->recorded);
    AP_TRY(ap_replay_run(&predictor->graph, NULL, &predictor->unchanged, reterr));
    ap_replay_times_forget_tasks(&predictor->unchanged);
    find_quiet(predictor);
    const char *lack = find_lack(predictor), *errors = find_errors(predictor);
    predictor->why_not = lack ? lack : errors;
    predictor->exact = !predictor->why_not;
    return AP_OK;
}

void ap_predictor_release(struct ap_predictor *predictor)
{
    ap_replay_times_release(&predictor->recorded);
    ap_replay_times_release(&predictor->unchanged);
    ap_replay_graph_release(&predictor->graph);
    if (predictor->facts) {
        AP_FREE(predictor->facts->gate, predictor->nodes.list, predictor->nodes.capacity);
        ap_arena_release(&predictor->arena);
    }
    ap_excerpt_release(&predictor->excerpt);
    *predictor = (struct ap_predictor){ .facts = NULL };
}

/* ------------------------------------------------------------------------------------------------------- a change */

/* What each steady step gains; the ends of the middle half of them, of few all of them. */
static void spread(int64_t *gains_ns, size_t count, int64_t *ret_low_ns, int64_t *ret_high_ns)
{
    bool few = count < 4;
    const unsigned percents[] = { few ? 0 : 25, few ? 100 : 75 };
    int64_t ends_ns[2];
    ap_quantiles(gains_ns, count, percents, 2, ends_ns);
    *ret_low_ns = ends_ns[0];
    *ret_high_ns = ends_ns[1];
}

/* For as many samples as before; bounded, so that it can be subtracted. */
static int64_t per_batch_ns(const struct ap_replay_edit *edit, int64_t ns)
{
    __extension__ __int128 product = (__int128)ns * 1000;
    if (edit->samples == 1000)
        return ns;
    product /= edit->samples;
    return product < INT64_MAX / 4 ? (int64_t)product : INT64_MAX / 4;
}

static enum ap_status sum_steps(const struct ap_predictor *predictor, const struct ap_replay_edit *edit,
                                const struct ap_replay_times *changed, struct ap_prediction *to, struct ap_error *reterr)
{
    size_t count = 0;
    int64_t *gains_ns, before_ns = 0, low_ns, high_ns;
    bool overflowed = false;
    AP_TRY(AP_ALLOC(predictor->graph.gate, gains_ns, predictor->steady_count, reterr));
    for (size_t i = 0; i < predictor->graph.step_count; i++) {
        if (!is_steady(predictor, i))
            continue;
        int64_t now_ns = step_ns(predictor, &predictor->unchanged, i);
        before_ns = ap_add_sat(before_ns, now_ns, &overflowed);
        gains_ns[count] = now_ns - per_batch_ns(edit, step_ns(predictor, changed, i));
        to->steps_save_ns = ap_add_sat(to->steps_save_ns, gains_ns[count++], &overflowed);
    }
    spread(gains_ns, count, &low_ns, &high_ns);
    AP_FREE(predictor->graph.gate, gains_ns, predictor->steady_count);
    to->before_ns = ap_mean(before_ns, count);
    to->after_ns = to->before_ns - ap_mean(to->steps_save_ns, count);
    to->low_ns = to->before_ns - high_ns < to->after_ns ? to->before_ns - high_ns : to->after_ns;
    to->high_ns = to->before_ns - low_ns > to->after_ns ? to->before_ns - low_ns : to->after_ns;
    return AP_OK;
}

/* What a stretch gains, all of the recording does in proportion. */
static int64_t of_whole_ns(const struct ap_predictor *predictor, int64_t ns)
{
    __extension__ __int128 product = (__int128)ns * predictor->graph.whole_ns;
    if (predictor->graph.stretch_ns <= 0)
        return ns;
    product /= predictor->graph.stretch_ns;
    return product > INT64_MAX / 4 ? INT64_MAX / 4 : product < -INT64_MAX / 4 ? -INT64_MAX / 4 : (int64_t)product;
}

/* What a window without steps gains. Where devices work all of the time, and the host goes on after that for no work, it is
 * what they gain: that is what the verdict is about. */
static int64_t window_gain_ns(const struct ap_predictor *predictor, const struct ap_replay_edit *edit,
                              const struct ap_replay_times *changed, int64_t gain_ns)
{
    const struct ap_replay_times *unchanged = &predictor->unchanged;
    const struct ap_split_part *judged = ap_split_judged(&predictor->facts->split);
    int64_t device_ns = unchanged->device_ns - per_batch_ns(edit, changed->device_ns);
    bool at_work = ap_split_idle_ns(judged) < judged->dur_ns / 10;
    return at_work && device_ns > gain_ns && device_ns < unchanged->window_ns ? device_ns : gain_ns;
}

static enum ap_status compare(const struct ap_predictor *predictor, const struct ap_replay_edit *edit,
                              const struct ap_replay_times *changed, struct ap_prediction *to, struct ap_error *reterr)
{
    int64_t window_ns = per_batch_ns(edit, changed->window_ns);
    to->saves_ns = of_whole_ns(predictor, predictor->unchanged.window_ns - window_ns);
    if (predictor->steady_count && !ap_split_leaves_out(&predictor->facts->split)) {
        AP_TRY(sum_steps(predictor, edit, changed, to, reterr));
        int64_t steps_save_ns = of_whole_ns(predictor, to->steps_save_ns);
        if (steps_save_ns > to->saves_ns) /* rows of other threads may end the window, and stay where they are */
            to->saves_ns = steps_save_ns;
        return AP_OK;
    }
    to->before_ns = predictor->unchanged.window_ns;
    to->saves_ns = window_gain_ns(predictor, edit, changed, to->saves_ns);
    to->after_ns = to->low_ns = to->high_ns = to->before_ns - to->saves_ns;
    to->steps_save_ns = to->saves_ns;
    return AP_OK;
}

static void widen_to(struct ap_prediction *prediction, int64_t after_ns)
{
    prediction->low_ns = after_ns < prediction->low_ns ? after_ns : prediction->low_ns;
    prediction->high_ns = after_ns > prediction->high_ns ? after_ns : prediction->high_ns;
}

/* So much of a gain were predictions of changes that were really made off: a tenth. */
#define USUAL_ERROR_PARTS 10

/* So many times the gain. */
static int64_t after_times(const struct ap_prediction *prediction, int64_t after_ns, double factor)
{
    double gain_ns = (double)(prediction->before_ns - after_ns) * factor;
    return gain_ns < (double)prediction->before_ns ? prediction->before_ns - (int64_t)gain_ns : 0;
}

/* Of the host alone the profiler's own work is in the steps, and in what goes, and not alike: without it the gain is another
 * share, of which the work that goes has @lost_ns. */
static double quiet_factor(const struct ap_predictor *predictor, const struct ap_replay_edit *edit, int64_t lost_ns)
{
    return (double)lost_ns / (double)edit->lost_ns * ((double)predictor->loud_ns / (double)predictor->quiet_ns);
}

/* Predicts the share that a run without the profiler gains; the range reaches to what the recording does. */
static void settle(const struct ap_predictor *predictor, const struct ap_replay_edit *edit, struct ap_prediction *prediction)
{
    int64_t recorded_ns = prediction->after_ns;
    bool is_loud = predictor->quiet_ns && edit->lost_ns > 0 && recorded_ns < prediction->before_ns;
    if (is_loud) {
        double factor = quiet_factor(predictor, edit, edit->quiet_lost_ns);
        prediction->after_ns = after_times(prediction, recorded_ns, factor);
        prediction->low_ns = after_times(prediction, prediction->low_ns, factor);
        prediction->high_ns = after_times(prediction, prediction->high_ns, factor);
    }
    int64_t gain_ns = prediction->before_ns - prediction->after_ns;
    int64_t off_ns = (gain_ns < 0 ? -gain_ns : gain_ns) / USUAL_ERROR_PARTS;
    prediction->low_ns -= off_ns < prediction->low_ns ? off_ns : prediction->low_ns;
    prediction->high_ns += off_ns;
    if (!is_loud)
        return;
    widen_to(prediction, recorded_ns);
    widen_to(prediction, after_times(prediction, recorded_ns, quiet_factor(predictor, edit, edit->least_lost_ns)));
}

static const char *limit_of(const struct ap_change *const *changes, size_t count)
{
    return count == 1 ? ap_change_verb_limit(changes[0]->verb) : NULL;
}

enum ap_status ap_predict(struct ap_predictor *predictor, const struct ap_change *const *changes, size_t count,
                          struct ap_prediction *ret_prediction, struct ap_error *reterr)
{
    struct ap_replay_edit edit;
    struct ap_replay_times times;
    struct ap_prediction prediction = { .limit = limit_of(changes, count) };
    bool of_workers = false;
    enum ap_status status = ap_replay_edit_init(&edit, &predictor->graph, reterr);
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        uint64_t rows = 0;
        status = ap_change_apply(predictor->facts, &predictor->graph, &predictor->batch, &predictor->nodes, changes[i],
                                 &edit, &rows, reterr);
        prediction.rows += rows;
        of_workers |= changes[i]->verb == AP_CHANGE_workers;
    }
    if (status == AP_OK) {
        status = ap_replay_run(&predictor->graph, &edit, &times, reterr);
        AP_AND_THEN(status, compare(predictor, &edit, &times, &prediction, reterr));
        ap_replay_times_release(&times);
    }
    if (status == AP_OK)
        settle(predictor, &edit, &prediction);
    if (of_workers && predictor->quiet_ns) /* they may find no core of their own there */
        widen_to(&prediction, prediction.before_ns);
    ap_replay_edit_release(&edit);
    if (status == AP_OK)
        *ret_prediction = prediction;
    return status;
}

static enum ap_status tell(struct ap_predictor *predictor, struct ap_told_change *told, struct ap_error *reterr)
{
    struct ap_change change;
    const struct ap_change *one = &change;
    struct ap_expr_mistake mistake;
    struct ap_text rest = told->text;
    while (!told->prediction.rows && ap_text_next_part(&rest, ';', &told->part))
        if (ap_change_parse(told->part, &change, &mistake))
            AP_TRY(ap_predict(predictor, &one, 1, &told->prediction, reterr));
    return AP_OK;
}

enum ap_status ap_predict_text(struct ap_predictor *predictor, struct ap_text changes,
                               const struct ap_told_change **ret_told, struct ap_error *reterr)
{
    *ret_told = NULL;
    size_t i = 0;
    while (i < predictor->told_count && !ap_text_equal(predictor->told[i].text, changes))
        i++;
    if (i == AP_TOLD_MAX || !predictor->exact || !changes.bytes)
        return AP_OK;
    struct ap_told_change *told = &predictor->told[i];
    if (i == predictor->told_count) {
        *told = (struct ap_told_change){ .text = ap_arena_text(&predictor->arena, changes) };
        if (!told->text.data)
            return ap_fail_memory(predictor->facts->gate, reterr);
        AP_TRY(tell(predictor, told, reterr));
        predictor->told_count++;
    }
    *ret_told = told->prediction.rows ? told : NULL;
    return AP_OK;
}
