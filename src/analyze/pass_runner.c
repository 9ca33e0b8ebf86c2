/* SPDX-License-Identifier: MIT */
#include "pass_runner.h"

#include "thread.h"

#include "poison.h"

struct task {
    const struct ap_fact_entry *fact; /* NULL = a part */
    const struct ap_part_entry *part;
    unsigned cost, needs, gives;
    unsigned urgency; /* cost of it and of the longest chain that waits for it */
    bool begun;
    struct ap_part_context context; /* of a part, with what it writes to: */
    struct ap_model model;
    enum ap_status status;
    struct ap_error error;
};

struct run {
    struct ap_facts *facts;
    struct task tasks[AP_PASS_MAX]; /* facts, then parts in the order of the report */
    size_t count;
    pthread_mutex_t lock; /* of what changes while passes run: */
    pthread_cond_t ended; /* a pass */
    unsigned given;       /* by passes that have ended */
    unsigned running_count;
};

/* From the end of the list, as what needs stands behind what gives. */
static void find_urgency(struct run *run)
{
    for (size_t i = run->count; i-- > 0;) {
        struct task *task = &run->tasks[i];
        unsigned behind = 0;
        for (size_t other = i + 1; other < run->count; other++)
            if (run->tasks[other].needs & task->gives && run->tasks[other].urgency > behind)
                behind = run->tasks[other].urgency;
        task->urgency = task->cost + behind;
    }
}

static struct task *most_urgent(struct run *run)
{
    struct task *best = NULL;
    for (size_t i = 0; i < run->count; i++) {
        struct task *task = &run->tasks[i];
        if (!task->begun && !(task->needs & ~run->given) && (!best || task->urgency > best->urgency))
            best = task;
    }
    return best;
}

/* Waits where what runs may give what the others need; NULL = there is nothing more to begin. */
static struct task *begin_task(struct run *run)
{
    struct task *task;
    (void)pthread_mutex_lock(&run->lock);
    while (!(task = most_urgent(run)) && run->running_count)
        (void)pthread_cond_wait(&run->ended, &run->lock);
    if (task) {
        task->begun = true;
        run->running_count++;
    }
    (void)pthread_mutex_unlock(&run->lock);
    return task;
}

static void end_task(struct run *run, const struct task *task)
{
    (void)pthread_mutex_lock(&run->lock);
    run->running_count--;
    if (task->status == AP_OK)
        run->given |= task->gives;
    (void)pthread_cond_broadcast(&run->ended);
    (void)pthread_mutex_unlock(&run->lock);
}

static void do_task(struct run *run, struct task *task)
{
    if (task->fact) {
        task->status = task->fact->find(run->facts, &task->error);
        return;
    }
    task->status = task->part->part(&task->context, &task->model, &task->model.root, &task->error);
    if (task->status == AP_OK)
        task->status = ap_model_status(&task->model, &task->error);
    if (task->part->behind)
        task->part->behind(run->facts);
}

static void *work(void *self)
{
    struct run *run = self;
    for (struct task *task; (task = begin_task(run));) {
        do_task(run, task);
        end_task(run, task);
    }
    return NULL;
}

static void work_on_threads(struct run *run, bool two_threads)
{
    pthread_t helper;
    bool helped = two_threads && ap_thread_start(&helper, work, run);
    (void)work(run);
    if (helped)
        (void)pthread_join(helper, NULL);
}

/* The values of all, or the first failure. */
static enum ap_status put_together(struct run *run, struct ap_model *model, bool *ret_overflowed, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < run->count; i++) {
        struct task *task = &run->tasks[i];
        if (status == AP_OK && task->status != AP_OK && reterr)
            *reterr = task->error;
        status = status == AP_OK ? task->status : status;
        *ret_overflowed |= task->context.overflowed;
        if (task->fact)
            continue;
        if (status == AP_OK)
            ap_model_adopt(model, &task->model);
        else
            ap_model_release(&task->model);
    }
    return status;
}

enum ap_status ap_run_passes(const struct ap_passes *passes, struct ap_facts *facts, const struct ap_part_context *context,
                             bool two_threads, struct ap_model *model, bool *ret_overflowed, struct ap_error *reterr)
{
    struct run run = { .facts = facts, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };
    for (size_t i = 0; i < passes->fact_count; i++) {
        const struct ap_fact_entry *fact = &passes->facts[i];
        run.tasks[run.count++] = (struct task){ .fact = fact, .cost = fact->cost, .needs = fact->needs, .gives = 1u << i };
    }
    for (size_t i = 0; i < passes->part_count; i++) {
        const struct ap_part_entry *part = &passes->parts[i];
        struct task *task = &run.tasks[run.count++];
        *task = (struct task){ .part = part, .cost = part->cost, .needs = part->needs, .context = *context };
        ap_model_init(&task->model, context->gate);
    }
    find_urgency(&run);
    work_on_threads(&run, two_threads);
    return put_together(&run, model, ret_overflowed, reterr);
}
