/* SPDX-License-Identifier: MIT
 * split_bench.h - traces typed row by row, analyzed, and what the report says of their time. Times are in units of 10 us.
 *
 *     struct run run;
 *     begin(&run);
 *     host(&run, "1", "aten::mm", OPERATOR, 0, 30);
 *     gpu(&run, "sgemm", KERNEL, 5, 10, 0);
 *     report(&run);        ... time_at(&run, "split.window.idle_us") ...
 *     end(&run); */
#ifndef AP_SPLIT_BENCH_H
#define AP_SPLIT_BENCH_H

#define TYPED_UNIT_NS 10000
#include "typed_trace.h"

#define OVERHEAD (AP_KIND_overhead | AP_ROW_X)

TAP_UNUSED static void host(struct run *run, const char *thread, const char *name, unsigned tag, int64_t start, int64_t dur)
{
    (void)row(run, thread, name, tag, start, dur);
}

/* @correlation 0: it has none. */
TAP_UNUSED static void gpu_of(struct run *run, int device, const char *name, unsigned tag, int64_t start, int64_t dur,
                              ap_link_key correlation)
{
    work_on(run, device ? "27" : "7", name, tag, start, dur, correlation);
    run->trace->tracks[run->trace->events.track[run->trace->events.count - 1]].device = device;
}

TAP_UNUSED static void gpu(struct run *run, const char *name, unsigned tag, int64_t start, int64_t dur,
                           ap_link_key correlation)
{
    gpu_of(run, 0, name, tag, start, dur, correlation);
}

/* As the reader leaves it behind rows of calls. */
TAP_UNUSED static void has_calls(struct run *run)
{
    struct ap_trace *trace = run->trace;
    if (ap_mem_reserve(trace->gate, (void **)&trace->categories, &trace->category_capacity, trace->category_count + 1,
                       sizeof(trace->categories[0]), NULL) != AP_OK)
        abort();
    trace->categories[trace->category_count++] = (struct ap_category){ .kind = AP_KIND_runtime, .row_count = 1 };
}

TAP_UNUSED static void report(struct run *run)
{
    struct ap_part_options options = { .path = "typed by hand" };
    if (analyze_trace(run->trace, &options, &run->notes, &run->model, NULL) != AP_OK)
        abort();
}

TAP_UNUSED static const struct ap_value *nth(const struct ap_value *list, size_t i)
{
    const struct ap_value *value = ap_value_first(list);
    while (value && i--)
        value = value->next;
    return value;
}

/* A time, in our unit; -1 = null or not there. */
TAP_UNUSED static int64_t time_of(const struct ap_value *object, const char *path)
{
    int64_t ns = ap_value_integer(ap_value_at(object, path), -TYPED_UNIT_NS);
    return ns % TYPED_UNIT_NS ? -2 : ns / TYPED_UNIT_NS;
}

TAP_UNUSED static int64_t time_at(const struct run *run, const char *path)
{
    return time_of(&run->model.root, path);
}

TAP_UNUSED static int64_t window_cause(const struct run *run, const char *cause)
{
    char key[100];
    (void)snprintf(key, sizeof(key), "split.window.idle_causes.%s_us", cause);
    return time_at(run, key);
}

TAP_UNUSED static struct ap_text text_at(const struct run *run, const char *path)
{
    return ap_value_text(at(run, path));
}

/* What every part must be: its parts sum to it, and the causes to its idle time, or to all of it on the host alone. */
TAP_UNUSED static bool adds_up(const struct ap_value *part)
{
    TAP_UNUSED static const char *const classes[] = { "compute_us", "memset_us", "exposed_communication_us",
                                                      "exposed_memcpy_us", "idle_us" };
    int64_t dur_ns = ap_value_integer(ap_value_member(part, "dur_us"), -1), sum_ns = 0, cause_ns = 0;
    const struct ap_value *idle = ap_value_member(part, "idle_us");
    bool has_gpu = idle->type != AP_VALUE_NULL;
    for (size_t i = 0; i < AP_COUNT_OF(classes); i++) {
        int64_t class_ns = ap_value_integer(ap_value_member(part, classes[i]), 0);
        if (class_ns < 0)
            return false;
        sum_ns += class_ns;
    }
    const struct ap_value *causes = ap_value_first(ap_value_member(part, has_gpu ? "idle_causes" : "host_states"));
    for (; causes; causes = causes->next)
        if (causes->type == AP_VALUE_TIME_NS) {
            if (causes->as.integer < 0)
                return false;
            cause_ns += causes->as.integer;
        }
    return ap_value_member(part, has_gpu ? "host_states" : "idle_causes")->type == AP_VALUE_NULL &&
           cause_ns == (has_gpu ? idle->as.integer : dur_ns) && (!has_gpu || sum_ns == dur_ns);
}

TAP_UNUSED static bool all_add_up(const struct run *run)
{
    const struct ap_value *split = at(run, "split"), *steady = ap_value_member(split, "steady");
    bool good = adds_up(ap_value_member(split, "window")) && adds_up(ap_value_member(split, "judged"));
    for (const struct ap_value *step = ap_value_first(ap_value_member(split, "steps")); step; step = step->next)
        good &= adds_up(step);
    return good && (steady->type == AP_VALUE_NULL || adds_up(steady));
}

#endif
