/* SPDX-License-Identifier: MIT
 * part_critical_path.c - what the critical path is made of: by class, by operator or kernel, and its longest parts. */
#include <string.h>

#include "critical_path.h"
#include "pair_map.h"
#include "part.h"
#include "sort.h"

#include "poison.h"

/* The same name may stand for an operator and for the kernel that it launches. */
enum part_kind { PART_HOST, PART_DEVICE, PART_GAP, PART_KIND_COUNT };

static const char *const part_kind_names[] = { "host", "device", "gap" };

static enum part_kind part_kind_of(const struct ap_trace *trace, const struct ap_path_segment *segment)
{
    switch (segment->path_class) {
    case AP_PATH_gpu_compute_bound:
    case AP_PATH_gpu_communication_bound:
    case AP_PATH_gpu_memcpy_bound:
    case AP_PATH_gpu_memset_bound: return PART_DEVICE;
    case AP_PATH_launch_overhead:
    case AP_PATH_kernel_kernel_overhead: return PART_GAP;
    default: /* what is not known may be a gap before work or a hole on a thread */
        return ap_row_is_of(trace, segment->row, AP_GPU_KINDS) ? PART_GAP : PART_HOST;
    }
}

/* All segments of one kind by name; all NULL where there is none of the kind, or another one is summed meanwhile. A part is
 * a name and a kind: its number is that of the name behind those of all names of the kinds before; there are less than 2^32
 * in all, as texts take bytes. */
struct parts_of_kind {
    int64_t *dur_ns;   /* 0 = no part */
    uint32_t *longest; /* number + 1 in longest_of, while that is kept */
};

/* Its longest segment, and of how many. Kept of all parts while these are few, else looked for again, of those that are
 * listed. */
struct part_longest {
    int64_t start_ns, dur_ns;
    uint32_t track, segments;
};

#define PARTS_FEW 8192
#define NAMES_FEW 65536 /* of more the kinds are summed one after the other: of each, the path is gone along once more */

/* One that is listed. */
struct part {
    uint32_t name;
    enum part_kind kind;
    int64_t dur_ns;
    struct part_longest longest;
};

#define LONGEST_COUNT 100 /* segments listed at most; all of them are in the trace that --trace-out writes */

struct composition {
    const struct ap_trace *trace;
    struct ap_gate *gate;
    int64_t class_ns[AP_PATH_CLASS_COUNT_];
    uint64_t class_segments[AP_PATH_CLASS_COUNT_], segments;
    const struct ap_steps *steps;
    size_t step;                             /* steps before it ended before the segment */
    int64_t steady_ns[AP_PATH_CLASS_COUNT_]; /* within steps that are neither cold nor cut */
    unsigned kinds;                          /* that are summed: bit 1 << kind */
    struct parts_of_kind parts[PART_KIND_COUNT];
    size_t name_count, part_count;
    bool keeps_longest;
    struct part_longest *longest_of; /* of each part in order of first sight */
    size_t longest_of_capacity;
    struct part *listed;
    size_t listed_count, listed_capacity;
    struct ap_path_segment longest[LONGEST_COUNT]; /* in order */
    size_t longest_count, longest_limit;
    enum ap_status status; /* of adding parts */
};

static int64_t length_ns(const struct ap_path_segment *segment)
{
    return segment->end_ns - segment->start_ns;
}

/* ------------------------------------------------------------------------------------------------------- summing */

/* Of equal ones the first in time. */
static void keep_if_long(struct composition *sums, const struct ap_path_segment *segment)
{
    size_t at = sums->longest_count;
    while (at && length_ns(&sums->longest[at - 1]) < length_ns(segment))
        at--;
    if (at == sums->longest_limit)
        return;
    if (sums->longest_count < sums->longest_limit)
        sums->longest_count++;
    memmove(&sums->longest[at + 1], &sums->longest[at], (sums->longest_count - 1 - at) * sizeof(sums->longest[0]));
    sums->longest[at] = *segment;
}

/* Segments and steps both come in order of time. */
static void add_to_steps(struct composition *sums, const struct ap_path_segment *segment)
{
    const struct ap_steps *steps = sums->steps;
    while (sums->step < steps->count && steps->steps[sums->step].end_ns <= segment->start_ns)
        sums->step++;
    if (sums->step < steps->count && ap_step_holds(&steps->steps[sums->step], segment->start_ns, segment->end_ns)) {
        sums->steady_ns[segment->path_class] += ap_step_is_steady(&steps->steps[sums->step]) ? length_ns(segment) : 0;
        return;
    }
    for (size_t i = sums->step; i < steps->count && steps->steps[i].start_ns < segment->end_ns; i++) {
        const struct ap_step *step = &steps->steps[i];
        int64_t start_ns = step->start_ns > segment->start_ns ? step->start_ns : segment->start_ns;
        int64_t end_ns = step->end_ns < segment->end_ns ? step->end_ns : segment->end_ns;
        if (ap_step_is_steady(step) && end_ns > start_ns)
            sums->steady_ns[segment->path_class] += end_ns - start_ns;
    }
}

static void forget_longest(struct composition *sums)
{
    for (size_t kind = 0; kind < PART_KIND_COUNT; kind++) {
        AP_FREE(sums->gate, sums->parts[kind].longest, sums->name_count);
        sums->parts[kind].longest = NULL;
    }
    AP_FREE(sums->gate, sums->longest_of, sums->longest_of_capacity);
    sums->longest_of = NULL;
    sums->longest_of_capacity = 0;
    sums->keeps_longest = false;
}

static enum ap_status begin_part(struct composition *sums, uint32_t *longest)
{
    if (++sums->part_count > PARTS_FEW)
        forget_longest(sums);
    if (!sums->keeps_longest)
        return AP_OK;
    AP_TRY(AP_RESERVE(sums->gate, sums->longest_of, sums->longest_of_capacity, sums->part_count, NULL));
    sums->longest_of[sums->part_count - 1] = (struct part_longest){ .dur_ns = -1 };
    *longest = (uint32_t)sums->part_count;
    return AP_OK;
}

static enum ap_status begin_kind(const struct composition *sums, struct parts_of_kind *parts)
{
    AP_TRY(AP_ALLOC_CLEARED(sums->gate, parts->dur_ns, sums->name_count, NULL));
    return sums->keeps_longest ? AP_ALLOC_CLEARED(sums->gate, parts->longest, sums->name_count, NULL) : AP_OK;
}

static void keep_longest(struct part_longest *longest, const struct ap_path_segment *segment)
{
    longest->segments++;
    if (length_ns(segment) > longest->dur_ns)
        *longest = (struct part_longest){ segment->start_ns, length_ns(segment), segment->track, longest->segments };
}

static enum ap_status add_to_part(struct composition *sums, const struct ap_path_segment *segment)
{
    enum part_kind kind = part_kind_of(sums->trace, segment);
    struct parts_of_kind *parts = &sums->parts[kind];
    if (!(sums->kinds >> kind & 1))
        return AP_OK;
    uint32_t name = sums->trace->events.name[segment->row];
    if (!parts->dur_ns)
        AP_TRY(begin_kind(sums, parts));
    if (!parts->dur_ns[name])
        AP_TRY(begin_part(sums, parts->longest ? &parts->longest[name] : NULL));
    parts->dur_ns[name] += length_ns(segment);
    if (parts->longest)
        keep_longest(&sums->longest_of[parts->longest[name] - 1], segment);
    return AP_OK;
}

static void add_segment(void *self, const struct ap_path_segment *segment)
{
    struct composition *sums = self;
    sums->class_ns[segment->path_class] += length_ns(segment);
    sums->class_segments[segment->path_class]++;
    sums->segments++;
    add_to_steps(sums, segment);
    if (sums->longest_limit)
        keep_if_long(sums, segment);
    if (segment->row != AP_NO_ROW && sums->status == AP_OK)
        sums->status = add_to_part(sums, segment);
}

static void add_again(void *self, const struct ap_path_segment *segment)
{
    struct composition *sums = self;
    if (segment->row != AP_NO_ROW && sums->status == AP_OK)
        sums->status = add_to_part(sums, segment);
}

/* Parts that are listed of more than few. */
struct listed_parts {
    const struct ap_trace *trace;
    struct ap_pair_map numbers; /* (name, kind) */
    struct part *parts;
};

static void look_for_longest(void *self, const struct ap_path_segment *segment)
{
    struct listed_parts *listed = self;
    if (segment->row == AP_NO_ROW)
        return;
    uint32_t number = ap_pair_map_find(&listed->numbers, listed->trace->events.name[segment->row],
                                       (uint32_t)part_kind_of(listed->trace, segment));
    if (number != AP_PAIR_NONE)
        keep_longest(&listed->parts[number].longest, segment);
}

/* -------------------------------------------------------------------------------------------------------- report */

static void add_edges(const struct ap_critical_path *path, struct ap_model *model, struct ap_value *to)
{
    static const char *const keys[AP_PATH_EDGE_COUNT_] = {
        [AP_PATH_EDGE_launch] = "launch",
        [AP_PATH_EDGE_stream] = "stream",
        [AP_PATH_EDGE_event_wait] = "event_wait",
        [AP_PATH_EDGE_inferred_wait] = "inferred_wait",
        [AP_PATH_EDGE_synchronisation] = "synchronisation",
        [AP_PATH_EDGE_thread] = "thread",
    };
    struct ap_value *edges = ap_add_object(model, to, "edges");
    for (size_t i = 0; i < AP_COUNT_OF(keys); i++)
        ap_add_count(model, edges, keys[i], (int64_t)path->edges[i]);
}

static int64_t sum_of_classes(const int64_t *class_ns)
{
    int64_t total_ns = 0; /* bounded by the window: segments follow one another */
    for (size_t i = 0; i < AP_PATH_CLASS_COUNT_; i++)
        total_ns += class_ns[i];
    return total_ns;
}

static void add_figures(const int64_t *class_ns, struct ap_model *model, struct ap_value *to)
{
    static const char *const keys[][2] = {
#define AP_PATH_CLASS(id, sentence) { #id "_us", #id "_ratio" },
#include "path_class.def"
#undef AP_PATH_CLASS
    };
    for (size_t i = 0; i < AP_PATH_CLASS_COUNT_; i++) {
        ap_add_time(model, to, keys[i][0], class_ns[i]);
        ap_add_quotient(model, to, keys[i][1], (double)class_ns[i], (double)sum_of_classes(class_ns));
    }
}

/* What cold start and a cut step make of the path is not what each step is made of. */
static void add_steady(const struct composition *sums, struct ap_model *model, struct ap_value *to)
{
    int64_t total_ns = sum_of_classes(sums->steady_ns), steps = 0;
    for (size_t i = 0; i < sums->steps->count; i++)
        steps += ap_step_is_steady(&sums->steps->steps[i]);
    if (!total_ns) {
        ap_add_null(model, to, "steady");
        return;
    }
    struct ap_value *steady = ap_add_object(model, to, "steady");
    ap_add_count(model, steady, "steps", steps);
    ap_add_time(model, steady, "length_us", total_ns);
    add_figures(sums->steady_ns, model, steady);
}

static void add_classes(const struct composition *sums, int64_t total_ns, struct ap_model *model, struct ap_value *to)
{
    add_figures(sums->class_ns, model, to);
    struct ap_value *list = ap_add_list(model, to, "classes");
    for (size_t i = 0; i < AP_PATH_CLASS_COUNT_; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "class", ap_path_class_name((enum ap_path_class)i));
        ap_add_time(model, row, "dur_us", sums->class_ns[i]);
        ap_add_count(model, row, "segments", (int64_t)sums->class_segments[i]);
        ap_add_quotient(model, row, "share_ratio", (double)sums->class_ns[i], (double)total_ns);
    }
}

static enum part_kind kind_of(const struct composition *sums, uint32_t part)
{
    return (enum part_kind)((part >= sums->name_count) + (part >= 2 * sums->name_count));
}

static uint32_t name_of(const struct composition *sums, uint32_t part)
{
    return (uint32_t)(part - kind_of(sums, part) * sums->name_count);
}

/* 0 = there is no such part. */
static int64_t part_ns(const struct composition *sums, uint32_t part)
{
    const int64_t *dur_ns = sums->parts[kind_of(sums, part)].dur_ns;
    return dur_ns ? dur_ns[name_of(sums, part)] : 0;
}

static bool part_before(const void *context, uint32_t a, uint32_t b)
{
    const struct composition *sums = context;
    int64_t a_ns = part_ns(sums, a), b_ns = part_ns(sums, b);
    AP_LARGER_FIRST(a_ns, b_ns);
    int order = a_ns ? ap_trace_compare_texts(sums->trace, name_of(sums, a), name_of(sums, b)) : 0;
    return order ? order < 0 : a < b;
}

/* Lists the first of the parts that were @summed, which are forgotten. */
static enum ap_status list_parts(struct composition *sums, uint64_t limit, size_t summed, struct ap_error *reterr)
{
    uint32_t *order;
    size_t count;
    if (!summed)
        return AP_OK;
    limit = limit && limit < summed ? limit : summed;
    AP_TRY(ap_top_indices(sums->gate, (uint32_t)(PART_KIND_COUNT * sums->name_count), limit, part_before, sums, &order,
                          &count, reterr));
    enum ap_status status = AP_OK;
    for (size_t i = 0; i < count && status == AP_OK; i++) {
        enum part_kind kind = kind_of(sums, order[i]);
        struct part part = { name_of(sums, order[i]), kind, part_ns(sums, order[i]), { .dur_ns = -1 } };
        if (sums->keeps_longest)
            part.longest = sums->longest_of[sums->parts[kind].longest[part.name] - 1];
        status = AP_RESERVE(sums->gate, sums->listed, sums->listed_capacity, sums->listed_count + 1, reterr);
        if (status == AP_OK)
            sums->listed[sums->listed_count++] = part;
    }
    AP_FREE(sums->gate, order, count);
    for (size_t i = 0; i < PART_KIND_COUNT; i++) {
        AP_FREE(sums->gate, sums->parts[i].dur_ns, sums->name_count);
        sums->parts[i].dur_ns = NULL;
    }
    return status;
}

static bool listed_before(const void *context, uint32_t a, uint32_t b)
{
    const struct composition *sums = context;
    const struct part *x = &sums->listed[a], *y = &sums->listed[b];
    AP_LARGER_FIRST(x->dur_ns, y->dur_ns);
    int order = ap_trace_compare_texts(sums->trace, x->name, y->name);
    return order ? order < 0 : a < b;
}

static enum ap_status visit(const struct ap_part_context *context, ap_path_visit *visitor, void *self,
                            struct ap_error *reterr)
{
    return ap_critical_path_visit(&context->facts->path, &context->facts->path_index, &context->facts->order, visitor, self,
                                  reterr);
}

/* Goes along the path, once where names are few. */
static enum ap_status sum_path(const struct ap_part_context *context, struct composition *sums, struct ap_error *reterr)
{
    const unsigned all = (1u << PART_KIND_COUNT) - 1;
    sums->keeps_longest = sums->name_count <= NAMES_FEW;
    for (unsigned kind = 0; kind < PART_KIND_COUNT; kind++) {
        size_t before = sums->part_count;
        sums->kinds = sums->name_count <= NAMES_FEW ? all : 1u << kind;
        AP_TRY(visit(context, kind ? add_again : add_segment, sums, reterr));
        if (sums->status != AP_OK)
            return ap_fail_memory(context->gate, reterr);
        AP_TRY(list_parts(sums, context->options->top_n, sums->part_count - before, reterr));
        if (sums->kinds == all)
            break;
    }
    return AP_OK;
}

/* The longest segment of each part that is listed. */
static enum ap_status find_longest(const struct ap_part_context *context, struct composition *sums, struct ap_error *reterr)
{
    struct listed_parts listed = { .trace = sums->trace, .numbers.gate = context->gate, .parts = sums->listed };
    enum ap_status status = AP_OK;
    uint32_t number;
    for (size_t i = 0; i < sums->listed_count && status == AP_OK; i++)
        status = ap_pair_map_add(&listed.numbers, sums->listed[i].name, sums->listed[i].kind, &number, reterr);
    AP_AND_THEN(status, visit(context, look_for_longest, &listed, reterr));
    ap_pair_map_release(&listed.numbers);
    return status;
}

static void add_part(const struct composition *sums, const struct part *part, int64_t total_ns, struct ap_model *model,
                     struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", ap_trace_text(sums->trace, part->name));
    ap_add_string(model, row, "kind", part_kind_names[part->kind]);
    ap_add_time(model, row, "total_dur_us", part->dur_ns);
    ap_add_count(model, row, "segments", part->longest.segments);
    ap_add_quotient(model, row, "share_ratio", (double)part->dur_ns, (double)total_ns);
    ap_add_time(model, row, "start_us", part->longest.start_ns);
    ap_add_time(model, row, "dur_us", part->longest.dur_ns);
    ap_add_track(sums->trace, part->longest.track, model, row);
}

/* What is not listed adds up here, also what has no name. */
static void add_other(const struct composition *sums, int64_t listed_ns, uint64_t listed_segments, size_t listed,
                      int64_t total_ns, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *other = ap_add_object(model, to, "other_operators");
    ap_add_count(model, other, "names", (int64_t)(sums->part_count - listed));
    ap_add_time(model, other, "total_dur_us", total_ns - listed_ns);
    ap_add_count(model, other, "segments", (int64_t)(sums->segments - listed_segments));
    ap_add_quotient(model, other, "share_ratio", (double)(total_ns - listed_ns), (double)total_ns);
}

static enum ap_status add_parts(const struct ap_part_context *context, struct composition *sums, int64_t total_ns,
                                struct ap_model *model, struct ap_value *to, struct ap_error *reterr)
{
    struct ap_value *list = ap_add_list(model, to, "operators");
    int64_t listed_ns = 0;
    uint64_t listed_segments = 0;
    uint32_t *order;
    size_t count;
    if (!sums->keeps_longest)
        AP_TRY(find_longest(context, sums, reterr));
    AP_TRY(ap_top_indices(context->gate, (uint32_t)sums->listed_count, context->options->top_n, listed_before, sums, &order,
                          &count, reterr));
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &sums->listed[order[i]];
        add_part(sums, part, total_ns, model, list);
        listed_ns += part->dur_ns;
        listed_segments += part->longest.segments;
    }
    AP_FREE(context->gate, order, count);
    add_other(sums, listed_ns, listed_segments, count, total_ns, model, to);
    return AP_OK;
}

static void add_longest(const struct composition *sums, struct ap_model *model, struct ap_value *to)
{
    struct ap_value *list = ap_add_list(model, to, "longest_segments");
    for (size_t i = 0; i < sums->longest_count; i++) {
        const struct ap_path_segment *segment = &sums->longest[i];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_string(model, row, "class", ap_path_class_name(segment->path_class));
        ap_add_name(sums->trace, model, row, "name", ap_row_name_id(sums->trace, segment->row));
        ap_add_time(model, row, "start_us", segment->start_ns);
        ap_add_time(model, row, "dur_us", length_ns(segment));
        ap_add_track(sums->trace, segment->track, model, row);
    }
}

static enum ap_status add_report(struct ap_part_context *context, struct composition *sums, struct ap_model *model,
                                 struct ap_value *root, struct ap_error *reterr)
{
    const struct ap_critical_path *path = &context->facts->path;
    int64_t total_ns = sum_of_classes(sums->class_ns);
    struct ap_value *to = ap_add_object(model, root, "critical_path");
    ap_add_time(model, to, "window_us", path->end_ns - path->start_ns);
    ap_add_time(model, to, "length_us", total_ns);
    ap_add_bool(model, to, "approximate", path->approximate_because != NULL);
    ap_add_known_string(model, to, "approximate_because", path->approximate_because, path->approximate_because);
    ap_add_count(model, to, "segments", (int64_t)sums->segments);
    add_edges(path, model, to);
    add_classes(sums, total_ns, model, to);
    add_steady(sums, model, to);
    AP_TRY(add_parts(context, sums, total_ns, model, to, reterr));
    add_longest(sums, model, to);
    return AP_OK;
}

enum ap_status ap_part_critical_path(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                     struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    uint64_t top_n = context->options->top_n;
    struct composition sums = { .trace = trace, .gate = context->gate, .steps = &context->facts->steps };
    if (!context->facts->path.pieces.count) {
        ap_add_null(model, root, "critical_path");
        return AP_OK;
    }
    sums.longest_limit = top_n && top_n < LONGEST_COUNT ? (size_t)top_n : LONGEST_COUNT;
    sums.name_count = ap_trace_id_count(trace);
    enum ap_status status = sum_path(context, &sums, reterr);
    AP_AND_THEN(status, add_report(context, &sums, model, root, reterr));
    forget_longest(&sums);
    for (size_t i = 0; i < PART_KIND_COUNT; i++)
        AP_FREE(context->gate, sums.parts[i].dur_ns, sums.name_count);
    AP_FREE(context->gate, sums.listed, sums.listed_capacity);
    return status;
}
