/* SPDX-License-Identifier: MIT */
#include "pass_runner.h"

#include <pthread.h>

#include "poison.h"

struct task {
    ap_pass *pass;
    unsigned cost;
    struct ap_model model;
    enum ap_status status;
    struct ap_error error;
};

struct run {
    struct ap_pass_context *context;
    struct task tasks[AP_PASS_ENTRY_MAX];  /* in the order of the report */
    unsigned sequence[AP_PASS_ENTRY_MAX];  /* numbers of tasks, the dearest first */
    size_t count;
    _Atomic size_t next;
};

static void order_by_cost(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        size_t at = i;
        for (; at && run->tasks[run->sequence[at - 1]].cost < run->tasks[i].cost; at--)
            run->sequence[at] = run->sequence[at - 1];
        run->sequence[at] = (unsigned)i;
    }
}

static void *work(void *self)
{
    struct run *run = self;
    for (size_t next; (next = atomic_fetch_add(&run->next, 1)) < run->count;) {
        struct task *task = &run->tasks[run->sequence[next]];
        task->status = task->pass(run->context, &task->model, &task->model.root, &task->error);
        if (task->status == AP_OK)
            task->status = ap_model_status(&task->model, &task->error);
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
    struct run run = { .context = context, .count = count };
    for (size_t i = 0; i < count; i++) {
        run.tasks[i] = (struct task){ .pass = entries[i].pass, .cost = entries[i].cost };
        ap_model_init(&run.tasks[i].model, context->gate);
    }
    order_by_cost(&run);
    work_on_two_threads(&run);
    return put_together(&run, model, reterr);
}
