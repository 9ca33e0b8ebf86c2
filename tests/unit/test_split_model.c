/* SPDX-License-Identifier: MIT
 * test_split_model.c - where the time goes, in random traces: the same as in a model that asks every instant. And in traces
 * that memory does not suffice for. */
#include "random.h"
#include "split_bench.h"

#define LENGTH 160
#define MAX_ROWS 60

enum cause {
#define AP_IDLE_CAUSE(id, sentence) CAUSE_##id,
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
    CAUSE_COUNT
};

static const char *const cause_names[] = {
#define AP_IDLE_CAUSE(id, sentence) #id,
#include "idle_cause.def"
#undef AP_IDLE_CAUSE
};
static const char *const class_names[] = { "compute", "memset", "exposed_communication", "exposed_memcpy" };

/* What a row is, as the model sees it. @own: its class, unless what is open around it decides. */
static const struct sort {
    const char *name;
    unsigned tag;
    int own;
    bool decides; /* whatever is around it, but for data loading */
} sorts[] = {
    { "enumerate(DataLoader)#x", ANNOTATION, CAUSE_data_loading, true },
    { "Optimizer.step#SGD.step", ANNOTATION, CAUSE_host_optimizer, true },
    { "gloo:all_reduce", ANNOTATION, CAUSE_communication_wait, true },
    { "autograd::engine::evaluate_function: A", OPERATOR, CAUSE_host_autograd, true },
    { "cudaStreamSynchronize", RUNTIME, CAUSE_synchronization, true },
    { "cudaMalloc", RUNTIME, CAUSE_allocation, true },
    { "cudaMemcpyAsync", RUNTIME, CAUSE_launch_overhead, true },
    { "cudaLaunchKernel", RUNTIME, CAUSE_launch_overhead, true }, /* or CAUSE_driver_call, of a millisecond */
    { "cudaEventQuery", RUNTIME, CAUSE_driver_call, false },
    { "aten::mm", OPERATOR, CAUSE_host_operator, false },
    { "f.py(1): g", PYTHON, CAUSE_host_python, false },
    { "forward", ANNOTATION, CAUSE_untraced, false },
    { "ProfilerStep#1", ANNOTATION, CAUSE_untraced, true },
};
#define STEP (AP_COUNT_OF(sorts) - 1)
static const struct {
    const char *name;
    unsigned tag;
    int class;
} works[] = {
    { "sgemm", KERNEL, 0 },
    { "Memset (Device)", MEMSET, 1 },
    { "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KERNEL, 2 },
    { "Memcpy DtoH", MEMCPY, 3 },
};

struct model_row {
    int track; /* of the host; -1 = a device's */
    int device;
    int start, end;
    size_t sort, number;
    uint32_t correlation;
    int state;
};

struct sums {
    int64_t classes[4], causes[CAUSE_COUNT];
};

struct model {
    struct model_row rows[MAX_ROWS]; /* host rows by thread, then as the tool orders them; then device rows likewise */
    size_t count;
    bool any_linked, clocks_differ;
    int host_start; /* of its first row */
    int main_track, start, end, outer_start, outer_end;
    int gap_start[LENGTH + 1];
    struct sums at[LENGTH]; /* what each instant is */
    int gap_count;
};

static int row_order(const void *a, const void *b)
{
    const struct model_row *x = a, *y = b;
    if ((x->track < 0) != (y->track < 0))
        return x->track < 0 ? 1 : -1;
    if (x->track >= 0 && x->track != y->track)
        return x->track - y->track;
    if (x->start != y->start)
        return x->start - y->start;
    if (x->track < 0 && x->device != y->device)
        return x->device - y->device;
    if (x->end != y->end)
        return y->end - x->end;
    return x->number < y->number ? -1 : 1;
}

/* The last of the thread's rows before number @before that is open at @at; NULL = none. */
static const struct model_row *innermost(const struct model *model, int track, int at, size_t before)
{
    for (size_t i = before; i-- > 0;)
        if (model->rows[i].track == track && model->rows[i].start <= at && model->rows[i].end > at)
            return &model->rows[i];
    return NULL;
}

static void find_states(struct model *model)
{
    for (size_t i = 0; i < model->count && model->rows[i].track >= 0; i++) {
        struct model_row *row = &model->rows[i];
        const struct model_row *around = innermost(model, row->track, row->start, i);
        const struct sort *sort = &sorts[row->sort];
        int outer = around ? around->state : CAUSE_untraced;
        bool passes_on = outer == CAUSE_communication_wait || outer == CAUSE_host_autograd || outer == CAUSE_host_optimizer;
        row->state = outer == CAUSE_data_loading ? outer : sort->decides || !passes_on ? sort->own : outer;
        if (outer != CAUSE_data_loading && strcmp(sort->name, "cudaLaunchKernel") == 0 && row->end - row->start >= 100)
            row->state = CAUSE_driver_call;
    }
}

static const struct model_row *launch_of(const struct model *model, const struct model_row *work)
{
    const struct model_row *first = NULL;
    for (size_t i = 0; i < model->count && work->correlation; i++)
        if (model->rows[i].track >= 0 && model->rows[i].correlation == work->correlation &&
            (!first || model->rows[i].number < first->number))
            first = &model->rows[i];
    return first;
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* The host's side of one gap, an instant after the other; up to three are asked. */
static void ask_host(struct model *model, int gap_start, int host_end, int track)
{
    bool left[LENGTH] = { false };
    int sync_end = gap_start;
    for (int pass = 0; pass < 3; pass++)
        for (int at = gap_start; at < host_end; at++) {
            const struct model_row *row = NULL;
            if (pass > 0 && !left[at])
                continue;
            if (pass < 2)
                row = innermost(model, pass ? model->main_track : track, at, model->count);
            for (size_t i = 0; i < model->count && pass == 2; i++)
                if (model->rows[i].track >= 0 && model->rows[i].state == CAUSE_communication_wait &&
                    model->rows[i].start <= at && model->rows[i].end > at)
                    row = &model->rows[i];
            int state = row ? row->state : CAUSE_untraced;
            left[at] = pass < 2 && state == CAUSE_untraced;
            if (left[at])
                continue;
            if (state == CAUSE_synchronization && row->start <= gap_start)
                sync_end = gap_start + clamp(row->end - row->start, 0, host_end - gap_start);
            if (state != CAUSE_data_loading && at < sync_end)
                state = CAUSE_synchronization;
            if (!row && at < model->host_start)
                state = CAUSE_not_recorded;
            model->at[at].causes[state]++;
        }
}

/* Instants before @end in which some device works. */
static int count_busy(const struct model *model, int end)
{
    int busy = 0;
    for (int at = 0; at < end; at++) {
        bool is_busy = false;
        for (size_t i = 0; i < model->count; i++)
            is_busy = is_busy || (model->rows[i].track < 0 && model->rows[i].start <= at && model->rows[i].end > at);
        busy += is_busy;
    }
    return busy;
}

static void explain_gap(struct model *model, int gap_start, int gap_end, const struct model_row *next)
{
    const struct model_row *launch = next ? launch_of(model, next) : NULL;
    int host_end = gap_end, call_end = gap_end;
    model->gap_count += gap_start >= model->start && gap_end <= model->end;
    for (int at = gap_start; at < gap_end && model->clocks_differ; at++)
        model->at[at].causes[CAUSE_not_recorded]++;
    if (model->clocks_differ)
        return;
    if (launch) {
        host_end = clamp(launch->start, gap_start, gap_end);
        call_end = clamp(launch->end, gap_start, gap_end);
    } else if (next && model->any_linked) {
        host_end = call_end = gap_start;
    }
    ask_host(model, gap_start, host_end, launch ? launch->track : model->main_track);
    bool at_edge = gap_end - call_end - 3 >= 100 && count_busy(model, gap_start) * 100 <= count_busy(model, LENGTH);
    for (int at = host_end; at < gap_end; at++)
        model->at[at].causes[gap_end - call_end > 3 && at >= call_end + 3 ? (at_edge ? CAUSE_not_recorded : CAUSE_queue_wait)
                             : launch && launch->state == CAUSE_driver_call ? CAUSE_driver_call
                                                                            : CAUSE_launch_overhead]++;
}

static void explain(struct model *model)
{
    memset(model->at, 0, sizeof(model->at));
    model->gap_count = 0;
    for (int at = model->outer_start; at < model->outer_end;) {
        int class = 4, gap_end = model->outer_end;
        const struct model_row *next = NULL;
        for (size_t i = 0; i < model->count; i++) {
            const struct model_row *row = &model->rows[i];
            if (row->track < 0 && row->start <= at && row->end > at && works[row->sort].class < class)
                class = works[row->sort].class;
            if (row->track < 0 && row->start > at && !next)
                next = row;
        }
        if (class < 4) {
            model->at[at++].classes[class]++;
            continue;
        }
        if (next)
            gap_end = next->start;
        explain_gap(model, at, gap_end, next);
        at = gap_end;
    }
}

static bool same(const struct model *model, const struct ap_value *part, int start, int end)
{
    struct sums sums = { { 0 }, { 0 } };
    char key[100];
    bool has_gpu = ap_value_member(part, "idle_us")->type != AP_VALUE_NULL;
    for (int at = start; at < end; at++) {
        for (int i = 0; i < 4; i++)
            sums.classes[i] += model->at[at].classes[i];
        for (int i = 0; i < CAUSE_COUNT; i++)
            sums.causes[i] += model->at[at].causes[i];
    }
    bool good = true;
    for (int i = 0; i < 4 && has_gpu; i++) {
        (void)snprintf(key, sizeof(key), "%s_us", class_names[i]);
        good &= time_of(part, key) == sums.classes[i];
    }
    for (int i = 0; i < CAUSE_COUNT; i++) {
        (void)snprintf(key, sizeof(key), "%s.%s_us", has_gpu ? "idle_causes" : "host_states", cause_names[i]);
        good &= time_of(part, key) == sums.causes[i];
    }
    return good;
}

/* The thread with most operator time, then most rows. */
static int find_main(const struct model *model)
{
    int best = 0, best_busy = -1, best_rows = 0;
    for (int track = 0; track < 4; track++) {
        int busy = 0, rows = 0;
        bool covered[LENGTH] = { false };
        for (size_t i = 0; i < model->count; i++) {
            const struct model_row *row = &model->rows[i];
            if (row->track != track)
                continue;
            rows++;
            for (int at = row->start; at < row->end; at++)
                covered[at] |= sorts[row->sort].tag == OPERATOR;
        }
        for (int at = 0; at < LENGTH; at++)
            busy += covered[at];
        if (rows && (busy > best_busy || (busy == best_busy && rows > best_rows))) {
            best = track;
            best_busy = busy;
            best_rows = rows;
        }
    }
    return best;
}

static const char *const threads[] = { "1", "2", "3", "4" };

/* One after the other on one thread. */
static void make_steps(struct run *run, struct model *model, struct random *random, size_t count)
{
    int at = (int)random_below(random, LENGTH / 2), track = (int)random_below(random, 4);
    for (size_t i = 0; i < count; i++) {
        char name[40];
        struct model_row row = { .track = track, .start = at, .number = model->count, .sort = STEP };
        row.end = at + (int)random_below(random, 20);
        at = row.end + (int)random_below(random, 5);
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", (int)i + 1);
        host(run, threads[track], name, ANNOTATION, row.start, row.end - row.start);
        model->rows[model->count++] = row;
    }
}

static void make_rows(struct run *run, struct model *model, struct random *random)
{
    size_t host_count = random_below(random, 30), device_count = random_below(random, 12),
           step_count = random_below(random, 4);
    memset(model, 0, sizeof(*model));
    begin(run);
    for (int i = 0; i < 4; i++) { /* threads are numbered as they are met */
        uint32_t track;
        if (ap_trace_track(run->trace, AP_TEXT("1"), false, ap_text_of(threads[i]), false, &track, NULL) != AP_OK)
            abort();
    }
    for (size_t i = 0; i < host_count + device_count; i++) {
        struct model_row row = { .number = i };
        row.start = (int)random_below(random, LENGTH - 10);
        size_t most = random_once_in(random, 5) ? (size_t)(LENGTH - row.start) : 9;
        row.end = row.start + (int)random_below(random, most);
        row.correlation = (uint32_t)random_below(random, 10);
        if (i < host_count) {
            row.track = (int)random_below(random, 4);
            row.sort = random_below(random, STEP);
            if (sorts[row.sort].tag == RUNTIME) {
                call(run, threads[row.track], sorts[row.sort].name, row.start, row.end - row.start, row.correlation);
            } else {
                row.correlation = 0;
                host(run, threads[row.track], sorts[row.sort].name, sorts[row.sort].tag, row.start, row.end - row.start);
            }
        } else {
            row.track = -1;
            row.device = (int)random_below(random, 2);
            row.sort = random_below(random, AP_COUNT_OF(works));
            gpu_of(run, row.device, works[row.sort].name, works[row.sort].tag, row.start, row.end - row.start,
                   row.correlation);
        }
        model->rows[model->count++] = row;
    }
    make_steps(run, model, random, step_count);
}

/* The tool says which steps it saw and where; all else the model finds for itself. */
static void take_windows(const struct run *run, struct model *model)
{
    const struct ap_value *steps = at(run, "split.steps"), *first = ap_value_first(steps), *last = first;
    bool any = false;
    int linked = 0, early = 0;
    model->host_start = LENGTH;
    for (size_t i = 0; i < model->count; i++)
        if (model->rows[i].track >= 0) {
            model->host_start = model->rows[i].start < model->host_start ? model->rows[i].start : model->host_start;
        } else {
            const struct model_row *launch = launch_of(model, &model->rows[i]);
            linked += launch != NULL;
            early += launch && model->rows[i].start < launch->start;
            model->start = any && model->start < model->rows[i].start ? model->start : model->rows[i].start;
            model->end = any && model->end > model->rows[i].end ? model->end : model->rows[i].end;
            model->any_linked |= launch != NULL;
            any = true;
        }
    model->clocks_differ = early * 2 > linked;
    if (!any) {
        model->start = (int)(run->trace->window_start_ns / TYPED_UNIT_NS);
        model->end = (int)(run->trace->window_end_ns / TYPED_UNIT_NS);
    }
    model->outer_start = model->start;
    model->outer_end = model->end;
    model->main_track = find_main(model);
    if (!first)
        return;
    while (last->next)
        last = last->next;
    int64_t start = time_of(first, "start_us"), end = time_of(last, "start_us") + time_of(last, "dur_us");
    model->outer_start = start < model->start ? (int)start : model->start;
    model->outer_end = end > model->end ? (int)end : model->end;
    model->main_track = atoi(ap_value_text(ap_value_member(first, "tid")).data) - 1;
}

static bool agrees(const struct run *run, struct model *model)
{
    take_windows(run, model);
    find_states(model);
    explain(model);
    bool good = same(model, at(run, "split.window"), model->start, model->end);
    for (const struct ap_value *step = ap_value_first(at(run, "split.steps")); step; step = step->next)
        good &=
            same(model, step, (int)time_of(step, "start_us"), (int)(time_of(step, "start_us") + time_of(step, "dur_us")));
    if (!is_null(run, "idle"))
        good &= ap_value_integer(at(run, "idle.gap_count"), -1) == model->gap_count;
    return good;
}

static void random_traces_agree_with_the_model(void)
{
    struct random random = { 20240611 };
    int wrong = 0, uneven = 0, judged = 0, with_steps = 0, lost = 0;
    for (int i = 0; i < 1500; i++) {
        struct run run;
        static struct model model;
        make_rows(&run, &model, &random);
        qsort(model.rows, model.count, sizeof(model.rows[0]), row_order);
        report(&run);
        if (!is_null(&run, "split")) {
            judged++;
            with_steps += ap_value_first(at(&run, "split.steps")) != NULL;
            uneven += !all_add_up(&run);
            if (!agrees(&run, &model) && wrong++ == 0)
                printf("#   the first that differs is number %d\n", i);
        }
        ap_trace_free(run.trace);
        ap_model_release(&run.model);
        lost += run.gate.used_bytes != 0;
    }
    printf("# %d with a window, %d with steps\n", judged, with_steps);
    ok(judged > 1100 && with_steps > 370, "random traces have windows, and some have steps");
    is_int(uneven, 0, "their parts add up");
    is_int(wrong, 0, "and are what asking every instant gives");
    is_int(lost, 0, "and all memory is given back");
}

/* ---------------------------------------------------------------------------------------------------------- failures */

static void steps_with_all_causes(struct run *run)
{
    begin(run);
    for (int i = 0; i < 40; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", i);
        host(run, "1", name, ANNOTATION, 100 * i, 90);
        host(run, "1", "enumerate(DataLoader)#x", ANNOTATION, 100 * i + 1, 9);
        host(run, "3", "gloo:all_reduce", ANNOTATION, 100 * i + 5, 50);
        call(run, "2", "cudaLaunchKernel", 100 * i + 60, 2, (uint32_t)i + 1);
        gpu_of(run, i % 2, "sgemm", KERNEL, 100 * i + 62, 7, (uint32_t)i + 1);
    }
}

static void memory_may_end_anywhere(void)
{
    refuse_each_request(steps_with_all_causes, 0);
}

int main(void)
{
    random_traces_agree_with_the_model();
    memory_may_end_anywhere();
    return done();
}
