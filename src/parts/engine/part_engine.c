/* SPDX-License-Identifier: MIT
 * part_engine.c - what an inference engine did, step by step: prompts read and tokens written, how long each waited, and
 * what the device did meanwhile. */
#include "engine_part.h"
#include "quantile.h"

#include "poison.h"

/* ---- phases ---- */

#define SELDOM_SHARE 20 /* kinds of steps that take a smaller part of the time do not count */

struct phase_sums {
    size_t count, told_count; /* told: whose batch is known */
    int64_t total_ns, host_ns, device_ns, work_ns, graph_ns, graph_launches;
    int64_t requests, most_requests;
    int64_t tokens, token_ns; /* time of steps whose tokens are known */
    int64_t *steps_ns;        /* in order of time */
};

static void add_ns(struct ap_part_context *context, int64_t *sum_ns, int64_t ns)
{
    *sum_ns = ap_add_sat(*sum_ns, ns, &context->overflowed);
}

static void take_batch(struct ap_part_context *context, struct phase_sums *sums, const struct ap_engine_step *step)
{
    if (step->told.requests >= 0) {
        sums->told_count++;
        add_ns(context, &sums->requests, step->told.requests);
        if (step->told.requests > sums->most_requests)
            sums->most_requests = step->told.requests;
    }
    if (step->told.tokens >= 0) {
        add_ns(context, &sums->tokens, step->told.tokens);
        add_ns(context, &sums->token_ns, step->step_ns);
    }
}

static void take_step(struct ap_part_context *context, struct phase_sums *sums, const struct ap_engine_step *step)
{
    sums->steps_ns[sums->count++] = step->step_ns;
    add_ns(context, &sums->total_ns, step->step_ns);
    add_ns(context, &sums->host_ns, step->end_ns - step->start_ns);
    add_ns(context, &sums->device_ns, step->device_ns);
    add_ns(context, &sums->work_ns, step->work_ns);
    add_ns(context, &sums->graph_ns, step->graph_ns);
    sums->graph_launches += step->graph_launches;
    take_batch(context, sums, step);
}

static void add_quantile(struct ap_model *model, struct ap_value *to, const char *key, const struct phase_sums *sums,
                         unsigned percent, size_t needed)
{
    bool is_known = sums->count >= needed;
    ap_add_known_time(model, to, key, is_known, is_known ? ap_quantile(sums->steps_ns, sums->count, percent) : 0);
}

static void add_phase(const struct phase_sums *sums, int64_t all_ns, struct ap_model *model, struct ap_value *to)
{
    ap_add_count(model, to, "count", (int64_t)sums->count);
    ap_add_time(model, to, "total_us", sums->total_ns);
    ap_add_quotient(model, to, "time_ratio", (double)sums->total_ns, (double)all_ns);
    add_quantile(model, to, "median_us", sums, 50, 1);
    add_quantile(model, to, "p90_us", sums, 90, 10);
    add_quantile(model, to, "p99_us", sums, 99, 100);
    add_quantile(model, to, "max_us", sums, 100, 1);
    ap_add_number_per(model, to, "requests", (double)sums->requests, (double)sums->told_count);
    ap_add_known_count(model, to, "most_requests", sums->told_count, sums->most_requests);
    ap_add_known_count(model, to, "tokens", sums->token_ns, sums->tokens);
    ap_add_known_time(model, to, "token_us", sums->tokens, sums->tokens ? sums->token_ns / sums->tokens : 0);
    ap_add_number_per(model, to, "tokens_s", (double)sums->tokens * 1e9, (double)sums->token_ns);
    ap_add_time(model, to, "host_us", sums->host_ns);
    ap_add_time(model, to, "device_us", sums->device_ns);
    ap_add_quotient(model, to, "device_ratio", (double)sums->device_ns, (double)sums->total_ns);
    ap_add_time(model, to, "waited_us", sums->total_ns > sums->device_ns ? sums->total_ns - sums->device_ns : 0);
    ap_add_quotient(model, to, "graph_ratio", (double)sums->graph_ns, (double)sums->work_ns);
    ap_add_count(model, to, "graph_launches", sums->graph_launches);
}

static int64_t all_steps_ns(struct ap_engine_work *work)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < work->steps.count; i++)
        add_ns(work->context, &sum_ns, work->steps.steps[i].step_ns);
    return sum_ns;
}

static enum ap_status add_phases(struct ap_engine_work *work, struct ap_model *model, struct ap_value *to,
                                 struct ap_error *reterr)
{
    const struct ap_engine_steps *steps = &work->steps;
    struct ap_value *phases = ap_add_object(model, to, "phases");
    int64_t *steps_ns, all_ns = all_steps_ns(work);
    const char *mostly = NULL;
    AP_TRY(AP_ALLOC(work->context->gate, steps_ns, steps->count, reterr));
    for (int phase = 0; phase < AP_ENGINE_PHASE_COUNT_; phase++) {
        struct phase_sums sums = { .steps_ns = steps_ns };
        for (size_t i = 0; i < steps->count; i++)
            if ((int)steps->steps[i].told.phase == phase)
                take_step(work->context, &sums, &steps->steps[i]);
        const char *name = ap_engine_phase_name((enum ap_engine_phase)phase);
        mostly = sums.total_ns > all_ns - all_ns / SELDOM_SHARE ? name : mostly;
        add_phase(&sums, all_ns, model, ap_add_object(model, phases, name));
    }
    ap_add_known_string(model, to, "mostly", mostly != NULL, mostly);
    AP_FREE(work->context->gate, steps_ns, steps->count);
    return AP_OK;
}

/* ---- between steps ---- */

/* Behind the last step the device stands still as behind the others, until the recording ends: what the thread of the steps
 * has rows in, and no more than the longest gap that was recorded whole. */
static int64_t cut_gap_ns(const struct ap_engine_work *work, int64_t longest_ns)
{
    const struct ap_trace *trace = work->context->trace;
    const struct ap_engine_step *last = &work->steps.steps[work->steps.count - 1];
    int64_t end_ns = INT64_MIN;
    if (last->device_end_ns == AP_START_UNKNOWN)
        return 0;
    for (uint32_t row = 0; row < trace->events.count; row++)
        if (trace->events.track[row] == trace->events.track[last->row] && ap_row_end_ns(trace, row) > end_ns)
            end_ns = ap_row_end_ns(trace, row);
    for (size_t i = 0; i < work->context->facts->links.count; i++)
        if (ap_row_end_ns(trace, work->context->facts->links.row[i]) > last->device_end_ns)
            return 0; /* other work */
    int64_t gap_ns = end_ns > last->device_end_ns ? end_ns - last->device_end_ns : 0;
    return gap_ns < longest_ns ? gap_ns : longest_ns;
}

static void add_gaps(struct ap_engine_work *work, int64_t all_ns, struct ap_model *model, struct ap_value *to)
{
    const struct ap_engine_steps *steps = &work->steps;
    struct ap_value *gaps = ap_add_object(model, to, "gaps");
    int64_t count = 0, total_ns = 0, host_ns = 0, followed = 0;
    size_t longest = 0;
    for (size_t i = 1; i < steps->count; i++) {
        const struct ap_engine_step *step = &steps->steps[i];
        if (step->is_first)
            continue;
        followed++;
        count += step->gap_ns > 0;
        add_ns(work->context, &total_ns, step->gap_ns);
        add_ns(work->context, &host_ns, step->start_ns - steps->steps[i - 1].end_ns);
        longest = step->gap_ns > steps->steps[longest].gap_ns ? i : longest;
    }
    ap_add_count(model, gaps, "count", count);
    ap_add_time(model, gaps, "total_us", total_ns);
    ap_add_quotient(model, gaps, "time_ratio", (double)total_ns, (double)all_ns);
    ap_add_known_time(model, gaps, "mean_us", count, count ? total_ns / count : 0);
    ap_add_time(model, gaps, "longest_us", steps->steps[longest].gap_ns);
    add_ns(work->context, &total_ns, cut_gap_ns(work, steps->steps[longest].gap_ns));
    ap_add_time(model, gaps, "lost_us", total_ns);
    ap_add_known_time(model, gaps, "host_us", followed, host_ns);
    ap_add_known_time(model, gaps, "host_mean_us", followed, followed ? host_ns / followed : 0);
}

static bool reads_prompts(const struct ap_engine_step *step)
{
    return step->told.phase == AP_ENGINE_prefill || step->told.phase == AP_ENGINE_mixed;
}

/* Requests that are being answered wait while prompts are read between two of their tokens, or with one of them. */
static void add_stalls(struct ap_engine_work *work, int64_t all_ns, struct ap_model *model, struct ap_value *to)
{
    const struct ap_engine_steps *steps = &work->steps;
    struct ap_value *stalls = ap_add_object(model, to, "stalls");
    int64_t count = 0, total_ns = 0, longest_ns = 0, run_ns = 0;
    bool decoded = false;
    for (size_t i = 0; i < steps->count; i++) {
        const struct ap_engine_step *step = &steps->steps[i];
        if (step->is_first)
            decoded = false, run_ns = 0;
        if (step->told.phase == AP_ENGINE_decode) {
            count += run_ns > 0;
            add_ns(work->context, &total_ns, run_ns);
            longest_ns = run_ns > longest_ns ? run_ns : longest_ns;
            run_ns = 0;
            decoded = true;
        } else if (decoded && reads_prompts(step)) {
            add_ns(work->context, &run_ns, step->step_ns);
        }
    }
    ap_add_count(model, stalls, "count", count);
    ap_add_time(model, stalls, "total_us", total_ns);
    ap_add_quotient(model, stalls, "time_ratio", (double)total_ns, (double)all_ns);
    ap_add_time(model, stalls, "longest_us", longest_ns);
}

/* ---- all ---- */

static void add_totals(struct ap_engine_work *work, struct ap_model *model, struct ap_value *to)
{
    const struct ap_engine_steps *steps = &work->steps;
    int64_t tokens = 0, token_ns = 0, device_ns = 0, work_ns = 0, graph_ns = 0, queued_ns = 0, pauses = -1;
    for (size_t i = 0; i < steps->count; i++) {
        const struct ap_engine_step *step = &steps->steps[i];
        if (step->told.tokens >= 0) {
            add_ns(work->context, &tokens, step->told.tokens);
            add_ns(work->context, &token_ns, step->step_ns);
        }
        add_ns(work->context, &device_ns, step->device_ns);
        add_ns(work->context, &work_ns, step->work_ns);
        add_ns(work->context, &graph_ns, step->graph_ns);
        add_ns(work->context, &queued_ns, step->queued_ns);
        pauses += step->is_first;
    }
    ap_add_string(model, to, "name", steps->engine);
    ap_add_count(model, to, "count", (int64_t)steps->count);
    ap_add_count(model, to, "elsewhere", (int64_t)steps->elsewhere);
    ap_add_count(model, to, "pauses", pauses);
    ap_add_time(model, to, "total_us", all_steps_ns(work));
    ap_add_time(model, to, "queued_us", queued_ns);
    ap_add_known_count(model, to, "tokens", token_ns, tokens);
    ap_add_number_per(model, to, "tokens_s", (double)tokens * 1e9, (double)token_ns);
    ap_add_time(model, to, "device_us", device_ns);
    ap_add_quotient(model, to, "device_ratio", (double)device_ns, (double)all_steps_ns(work));
    ap_add_quotient(model, to, "graph_ratio", (double)graph_ns, (double)work_ns);
}

static enum ap_status add_engine(struct ap_engine_work *work, struct ap_model *model, struct ap_value *root,
                                 struct ap_error *reterr)
{
    struct ap_part_context *context = work->context;
    AP_TRY(ap_engine_steps_init(&work->steps, context->facts, context->gate, reterr));
    ap_note_overflow(context, work->steps.overflowed);
    if (!work->steps.count) {
        ap_add_null(model, root, "engine");
        return AP_OK;
    }
    struct ap_value *to = ap_add_object(model, root, "engine");
    add_totals(work, model, to);
    AP_TRY(add_phases(work, model, to, reterr));
    add_gaps(work, all_steps_ns(work), model, to);
    add_stalls(work, all_steps_ns(work), model, to);
    AP_TRY(ap_engine_add_batches(work, model, to, reterr));
    return ap_engine_add_slowest(work, model, to, reterr);
}

enum ap_status ap_part_engine(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                              struct ap_error *reterr)
{
    struct ap_engine_work work = { .context = context, .steps = { .gate = context->gate } };
    enum ap_status status = add_engine(&work, model, root, reterr);
    ap_engine_steps_release(&work.steps);
    return status;
}
