/* SPDX-License-Identifier: MIT */
#include "pass_runner.h"

#include <pthread.h>

#include "poison.h"

struct task {
    const struct ap_pass_entry *entry;
    unsigned urgency; /* cost of it and of the longest chain that waits for it */
    bool begun;
    struct ap_model model;
    enum ap_status status;
    struct ap_error error;
};

struct run {
    struct ap_pass_context *context;
    struct task tasks[AP_PASS_ENTRY_MAX]; /* in the order of the report */
    size_t count;
    pthread_mutex_t lock;  /* of what changes while passes run: */
    pthread_cond_t ended;  /* a pass */
    unsigned given;        /* by passes that have ended */
    unsigned running_count;
};

/* From the end of the list, as what needs stands behind what gives. */
static void find_urgency(struct run *run)
{
    for (size_t i = run->count; i-- > 0;) {
        struct task *task = &run->tasks[i];
        unsigned behind = 0;
        for (size_t other = i + 1; other < run->count; other++)
            if (run->tasks[other].entry->needs & task->entry->gives && run->tasks[other].urgency > behind)
                behind = run->tasks[other].urgency;
        task->urgency = task->entry->cost + behind;
    }
}

static struct task *most_urgent(struct run *run)
{
    struct task *best = NULL;
    for (size_t i = 0; i < run->count; i++) {
        struct task *task = &run->tasks[i];
        if (!task->begun && !(task->entry->needs & ~run->given) && (!best || task->urgency > best->urgency))
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
        run->given |= task->entry->gives;
    (void)pthread_cond_broadcast(&run->ended);
    (void)pthread_mutex_unlock(&run->lock);
}

static void *work(void *self)
{
    struct run *run = self;
    for (struct task *task; (task = begin_task(run));) {
        task->status = task->entry->pass(run->context, &task->model, &task->model.root, &task->error);
        if (task->status == AP_OK)
            task->status = ap_model_status(&task->model, &task->error);
        end_task(run, task);
    }
    return NULL;
}

static void work_on_two_threads(struct run *run)
{
    pthread_t helper;
    bool helped = run->context->options->two_threads && pthread_create(&helper, NULL, work, run) == 0;
    (void)work(run);
    if (helped)
        (void)pthread_join(helper, NULL);
}

/* The values of all, or the first failure. */
static enum ap_status put_together(struct run *run, struct ap_model *model, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < run->count; i++) {
        struct task *task = &run->tasks[i];
        if (status == AP_OK && task->status == AP_OK) {
            ap_model_adopt(model, &task->model);
            continue;
        }
        if (status == AP_OK && reterr)
            *reterr = task->error;
        status = status == AP_OK ? task->status : status;
        ap_model_release(&task->model);
    }
    return status;
}

enum ap_status ap_run_passes(struct ap_pass_context *context, const struct ap_pass_entry *entries, size_t count,
                             struct ap_model *model, struct ap_error *reterr)
{
    struct run run = { .context = context, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };
    for (size_t i = 0; i < count; i++) {
        run.tasks[i] = (struct task){ .entry = &entries[i] };
        ap_model_init(&run.tasks[i].model, context->gate);
    }
    find_urgency(&run);
    work_on_two_threads(&run);
    return put_together(&run, model, reterr);
}
