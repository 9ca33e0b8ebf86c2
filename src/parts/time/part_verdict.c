/* SPDX-License-Identifier: MIT
 * part_verdict.c - which resource bounds the run, in the field's words, with the numbers that carry it; and the four
 * classic symptoms as named checks. */
#include <stdio.h>
#include <string.h>

#include "rows_of.h"
#include "value_text.h"
#include "verdict_unknown.h"

#include "poison.h"

enum bound {
#define AP_BOUND(id, name, sentence) BOUND_##id,
#include "verdict.def"
#undef AP_BOUND
    BOUND_COUNT
};

static const struct {
    const char *id, *name, *meaning;
} bounds[BOUND_COUNT] = {
#define AP_BOUND(id, name, sentence) { #id, name, sentence },
#include "verdict.def"
#undef AP_BOUND
};

/* Our choices. */
#define GPU_BOUND_RATIO 0.8 /* computing more than this, a device is the bottleneck */
#define GPU_LEADS_RATIO 0.5 /* also from here on, while nothing else takes over a quarter of that */
#define SMALL_CAUSE_RATIO 0.25
#define MEMORY_BOUND_RATIO 0.7 /* of the kernel time in families that move more than they compute */
#define SURE_RATIO 0.4         /* of the judged time in the bound's own part */
#define KNOWN_RATIO 0.1        /* of the judged time has to be known */
#define SEEN_RATIO 0.2         /* of the judged time in one thing that the devices are seen to do */
#define SHORT_WINDOW 100       /* a part of the recording of which the devices' window may lack, to be called by its name */
#define UNPLACED_RATIO 0.05    /* of the rows of devices: their times could not be read */
#define LOW_GPU_RATIO 0.5      /* a busy host counts as a symptom below this utilization */
#define TOLD_RATIO 0.1         /* of the time that devices wait for the host is the recording's own */

/* Driver calls that come again in each step are the host's time, as Python is, and no start-up; memory that is taken and
 * given back in each step, for which the device is waited for, neither. */
static void sum_parts(const struct ap_split_part *part, bool has_gpu, int64_t *part_ns)
{
    const int64_t *cause_ns = part->cause_ns, *class_ns = part->class_ns;
    int64_t host_ns = part->recurring_call_ns + cause_ns[AP_IDLE_host_python] + cause_ns[AP_IDLE_host_autograd] +
                      cause_ns[AP_IDLE_host_optimizer] + cause_ns[AP_IDLE_host_operator] + cause_ns[AP_IDLE_untraced];
    part_ns[BOUND_data_loading] = cause_ns[AP_IDLE_data_loading];
    part_ns[BOUND_synchronization] = cause_ns[AP_IDLE_synchronization] + part->recurring_allocation_ns;
    part_ns[BOUND_communication] = class_ns[AP_SPLIT_communication] + cause_ns[AP_IDLE_communication_wait];
    part_ns[BOUND_start_up] = cause_ns[AP_IDLE_allocation] - part->recurring_allocation_ns + cause_ns[AP_IDLE_driver_call] -
                              part->recurring_call_ns;
    part_ns[BOUND_queue] = cause_ns[AP_IDLE_queue_wait];
    part_ns[BOUND_launch] = cause_ns[AP_IDLE_launch_overhead];
    part_ns[BOUND_cpu] = host_ns;
    part_ns[BOUND_copy] = class_ns[AP_SPLIT_memcpy];
    part_ns[BOUND_unknown] = cause_ns[AP_IDLE_not_recorded];
    part_ns[BOUND_gpu] = has_gpu ? class_ns[AP_SPLIT_compute] + class_ns[AP_SPLIT_memset] : 0;
}

/* While collectives are started one by one the host is busy with them: the idle time between them is theirs. */
static void move_trains(const struct ap_value *root, int64_t *part_ns)
{
    static const enum bound of_host[] = { BOUND_cpu, BOUND_launch };
    int64_t idle_ns = ap_value_integer(ap_value_at(root, "communication.one_by_one.idle_us"), 0);
    for (size_t i = 0; i < AP_COUNT_OF(of_host); i++) {
        int64_t moved_ns = part_ns[of_host[i]] < idle_ns ? part_ns[of_host[i]] : idle_ns;
        part_ns[of_host[i]] -= moved_ns;
        part_ns[BOUND_communication] += moved_ns;
        idle_ns -= moved_ns;
    }
}

/* The host as a whole is what a device waits for; which half of it is larger gives the name. */
static enum bound largest_wait(const int64_t *part_ns)
{
    int64_t host_ns = part_ns[BOUND_launch] + part_ns[BOUND_cpu], most_ns = host_ns;
    enum bound most = part_ns[BOUND_launch] > part_ns[BOUND_cpu] ? BOUND_launch : BOUND_cpu;
    for (int i = 0; i < BOUND_COUNT; i++) {
        if (i == BOUND_launch || i == BOUND_cpu || i == BOUND_gpu || i == BOUND_unknown || part_ns[i] <= most_ns)
            continue;
        most = (enum bound)i;
        most_ns = part_ns[i];
    }
    return most;
}

static int64_t wait_ns(const int64_t *part_ns, enum bound bound)
{
    return bound == BOUND_launch || bound == BOUND_cpu ? part_ns[BOUND_launch] + part_ns[BOUND_cpu] : part_ns[bound];
}

/* What recording costs a host that devices wait for; what other recorders cost is not known. */
static bool knows_recording(const struct ap_split *split, const struct ap_value *root)
{
    return split->has_gpu && split->knows_recording && ap_value_integer(ap_value_at(root, "trace.by_pytorch"), 0);
}

static enum bound choose_bound(const int64_t *part_ns, int64_t dur_ns)
{
    enum bound wait = largest_wait(part_ns);
    double gpu_ratio = (double)part_ns[BOUND_gpu] / (double)dur_ns,
           wait_ratio = (double)wait_ns(part_ns, wait) / (double)dur_ns;
    if (gpu_ratio >= GPU_BOUND_RATIO || (gpu_ratio >= GPU_LEADS_RATIO && wait_ratio < gpu_ratio * SMALL_CAUSE_RATIO))
        return BOUND_gpu;
    return wait;
}

/* Where queued work waits and no row tells for what, rows may be missing: the host may not be blamed. What a device is seen
 * to do stays. */
static enum bound choose_seen(const int64_t *part_ns, int64_t dur_ns)
{
    enum bound seen = part_ns[BOUND_copy] > part_ns[BOUND_communication] ? BOUND_copy : BOUND_communication;
    bool leads = part_ns[seen] > part_ns[BOUND_gpu] && (double)part_ns[seen] >= SEEN_RATIO * (double)dur_ns;
    return leads ? seen : BOUND_queue;
}

/* Kernel time in families that do few operations for each byte: elementwise, reductions, normalizations, copies. */
static double memory_bound_ratio(const struct ap_part_context *context)
{
    double memory_ns = 0, all_ns = 0;
    for (size_t i = 0; i < context->facts->links.count; i++) {
        uint32_t row = context->facts->links.row[i];
        if (ap_row_kind(context->trace->events.tag[row]) != AP_KIND_kernel)
            continue;
        double dur_ns = (double)context->trace->events.dur_ns[row];
        enum ap_kernel_family family =
            ap_kernel_family_of(ap_kernel_subfamily_of(&context->facts->families, context->trace->events.name[row]));
        if (family != AP_KERNEL_FAMILY_communication)
            all_ns += dur_ns;
        if (family == AP_KERNEL_FAMILY_elementwise || family == AP_KERNEL_FAMILY_reduction ||
            family == AP_KERNEL_FAMILY_normalisation || family == AP_KERNEL_FAMILY_softmax ||
            family == AP_KERNEL_FAMILY_copy)
            memory_ns += dur_ns;
    }
    return all_ns > 0 ? memory_ns / all_ns : -1;
}

static void format_ns(int64_t ns, char *to, size_t bytes)
{
    struct ap_value value = { .type = AP_VALUE_TIME_NS, .as.integer = ns };
    (void)ap_format_value(&value, to, bytes);
}

#define OF_A_CUT_FILE "; but the file is cut: what stood behind the cut is missing, and GPU rows often stand last"

static void format_unknown(const struct ap_part_context *context, const struct ap_split_part *judged, enum bound bound,
                           char *to, size_t bytes)
{
    char part[AP_VALUE_TEXT_BYTES];
    int64_t queue_ns = judged->cause_ns[AP_IDLE_queue_wait];
    *to = 0;
    if (bound != BOUND_queue && (double)queue_ns >= SEEN_RATIO * (double)judged->dur_ns) {
        format_ns(queue_ns, part, sizeof(part));
        (void)snprintf(to, bytes, "; for another %s queued work waits and no row tells for what: rows may be missing", part);
        return;
    }
    if (!judged->cause_ns[AP_IDLE_not_recorded])
        return;
    format_ns(judged->cause_ns[AP_IDLE_not_recorded], part, sizeof(part));
    (void)snprintf(to, bytes, ", as far as it is known: for another %s %s", part,
                   ap_lacks_host(context)                           ? "no device works, and no row of the host tells why"
                   : ap_links_clocks_differ(&context->facts->links) ? "the clocks of host and device differ"
                                                                    : "work from before the recording hides it");
}

/* A tracer of Python could have recorded nothing else, and what XLA runs on a device would stand in its trace. */
static bool traces_frames(const struct ap_trace *trace)
{
    bool traces = trace->writer && ap_text_is(ap_text_of(trace->writer), "XLA");
    for (size_t i = 0; i < trace->category_count; i++)
        traces |= trace->categories[i].frames != AP_FRAMES_PLAIN;
    return traces;
}

/* What the judged part is called: of devices that is no longer than from their first to their last work. */
static const char *part_name(const struct ap_part_context *context, const struct ap_split_part *judged, enum bound bound)
{
    const struct ap_split *split = &context->facts->split;
    if (judged == &split->steady)
        return context->facts->steps.count == 1 ? "only recorded step"
               : bound == BOUND_start_up        ? "recorded steps"
                                                : "steady steps";
    return split->has_gpu && split->window.dur_ns < context->facts->window_ns - context->facts->window_ns / SHORT_WINDOW
               ? "time from the first to the last GPU work"
               : "recorded window";
}

/* What the verdict is made of. */
struct reading {
    const struct ap_split_part *judged;
    enum bound bound;
    bool memory_bound;
    int64_t part_ns[BOUND_COUNT];
    int64_t recording_ns; /* of the host's parts, an estimate */
    int64_t off_core_ns;  /* of them, in which the host did not run */
    bool by_estimate;     /* what is no work of the host decides the bound */
    int64_t uneven_ns;    /* of the rest, what only some of the steps have that do the same */
    bool untold;          /* what the device waited for: no row says what launched its work */
    bool no_host;         /* no row of it was recorded */
};

static const char *meaning_of(const struct ap_part_context *context, const struct reading *is)
{
    const struct ap_split_part *judged = is->judged;
    int64_t bound_ns = is->part_ns[is->bound];
    if (is->bound == BOUND_gpu && (double)bound_ns < GPU_BOUND_RATIO * (double)ap_known_ns(judged))
        return is->off_core_ns > ap_share_of(ap_known_ns(judged), SEEN_RATIO)
                   ? "the device computes for most of the time in which the host runs"
               : is->recording_ns > ap_share_of(ap_known_ns(judged), SEEN_RATIO)
                   ? "the device computes for most of the time that recording leaves"
                   : "the device computes for most of the time";
    if (is->bound == BOUND_gpu && is->memory_bound)
        return "the device computes nearly all of the time, mostly in kernels that move memory";
    if (is->bound == BOUND_communication && judged->class_ns[AP_SPLIT_communication] == bound_ns)
        return "collectives run while nothing computes";
    if (is->bound == BOUND_synchronization && judged->recurring_allocation_ns > bound_ns / 2)
        return "the device has nothing to do while the host takes memory from the driver or gives it back";
    if (!context->facts->split.has_gpu && is->bound == BOUND_cpu)
        return traces_frames(context->trace) ? "the time goes into host code"
               : context->trace->complete    ? "the time goes into host code; no GPU work was recorded"
                                             : "the time goes into host code; no GPU work stands before the cut";
    return bounds[is->bound].meaning;
}

/* Where a device waits for the host, or would if the host did not record as well. */
static void format_aside(const struct reading *is, const char *meaning, char *to, size_t bytes)
{
    static const char device[] = "the device";
    char part[AP_VALUE_TEXT_BYTES];
    const char *who = strncmp(meaning, device, sizeof(device) - 1) == 0 ? "it" : device;
    int64_t host_ns = is->part_ns[BOUND_launch] + is->part_ns[BOUND_cpu];
    bool of_host = is->bound == BOUND_launch || is->bound == BOUND_cpu;
    *to = 0;
    if (is->bound == BOUND_gpu && is->part_ns[BOUND_start_up] > ap_share_of(ap_known_ns(is->judged), TOLD_RATIO)) {
        format_ns(is->part_ns[BOUND_start_up], part, sizeof(part));
        (void)snprintf(to, bytes, "; %s more is start-up: contexts, modules, first allocations", part);
    } else if (is->off_core_ns > ap_share_of(of_host ? host_ns : ap_known_ns(is->judged), TOLD_RATIO)) {
        format_ns(is->off_core_ns, part, sizeof(part));
        (void)snprintf(to, bytes,
                       of_host
                           ? "; for some %s of it the host's threads stood still: others used their cores"
                           : "; for some %s more %s waits for threads of the host that stood still: others used their cores",
                       part, who);
    } else if (of_host && is->uneven_ns > host_ns / 2) {
        format_ns(is->uneven_ns, part, sizeof(part));
        (void)snprintf(to, bytes, "; %s of it only in some of the steps, though the host does the same in all", part);
    } else if (is->recording_ns > ap_share_of(of_host ? host_ns : ap_known_ns(is->judged), TOLD_RATIO)) {
        format_ns(is->recording_ns, part, sizeof(part));
        if (of_host)
            (void)snprintf(to, bytes, "; some %s of it are the recording's own cost", part);
        else
            (void)snprintf(to, bytes, "; %s waits for the host for some %s more that are the recording's own cost", who,
                           part);
    }
}

static void add_sentence(const struct ap_part_context *context, const struct reading *is, struct ap_model *model,
                         struct ap_value *to)
{
    char text[520], part[AP_VALUE_TEXT_BYTES], whole[AP_VALUE_TEXT_BYTES], unknown[160], aside[200];
    int64_t dur_ns = wait_ns(is->part_ns, is->bound), all_ns = ap_known_ns(is->judged);
    format_ns(dur_ns, part, sizeof(part));
    format_ns(all_ns, whole, sizeof(whole));
    format_unknown(context, is->judged, is->bound, unknown, sizeof(unknown));
    const char *meaning = meaning_of(context, is);
    format_aside(is, meaning, aside, sizeof(aside));
    (void)snprintf(text, sizeof(text), "%s: %s of %s (%.1f %%) of the %s%s%s%s", meaning, part, whole,
                   100.0 * (double)dur_ns / (double)all_ns, part_name(context, is->judged, is->bound), unknown, aside,
                   context->trace->complete ? "" : OF_A_CUT_FILE);
    ap_add_string(model, to, "sentence", text);
}

/* Work of devices whose time could not be read stands nowhere: they look idle, or busy with the rest. */
static bool lacks_device_work(const struct ap_trace *trace)
{
    size_t all = 0, unplaced = 0;
    for (struct ap_rows_of at = ap_rows_of(trace, AP_GPU_KINDS); ap_rows_of_next(&at);) {
        all++;
        unplaced += trace->events.start_ns[at.row] == AP_START_UNKNOWN;
    }
    return (double)unplaced > UNPLACED_RATIO * (double)all;
}

/* Work that waits though it was launched may wait for anything; of a host of which little was recorded not much is known.
 * Where no row tells which call launched what, an idle device may be one whose work stands in a queue. */
static const char *confidence_of(const struct ap_part_context *context, const struct ap_split_part *judged, enum bound bound,
                                 int64_t bound_ns)
{
    bool cut = !context->trace->complete;
    const struct ap_links *links = &context->facts->links;
    bool unlinked = context->facts->split.has_gpu && links->linked_count * 20 <= links->count;
    if (bound == BOUND_queue || bound == BOUND_unknown ||
        judged->cause_ns[AP_IDLE_queue_wait] > ap_share_of(judged->dur_ns, SEEN_RATIO) || lacks_device_work(context->trace))
        return "low";
    if (unlinked && bound != BOUND_communication && bound != BOUND_copy)
        return bound == BOUND_gpu ? "medium" : "low";
    if (cut) /* a device whose rows are missing looks idle; time in which it did compute stays what it is */
        return bound == BOUND_gpu ? "medium" : "low";
    bool of_host = bound == BOUND_launch || bound == BOUND_cpu;
    bool recorded = !of_host || judged->cause_ns[AP_IDLE_untraced] <= bound_ns / 2;
    bool mostly_known = ap_known_ns(judged) >= judged->dur_ns / 2;
    return recorded && mostly_known && (double)bound_ns >= SURE_RATIO * (double)ap_known_ns(judged) ? "high" : "medium";
}

static void add_unknown_sentence(const char *why, struct ap_model *model, struct ap_value *to)
{
    char text[240];
    (void)snprintf(text, sizeof(text), "what bounds the run cannot be told: %s", why);
    ap_add_string(model, to, "sentence", text);
}

static void add_bounds(const int64_t part_ns[BOUND_COUNT], int64_t dur_ns, struct ap_model *model, struct ap_value *parts)
{
    for (int i = 0; i < BOUND_COUNT; i++) {
        struct ap_value *part = ap_add_object(model, parts, bounds[i].id);
        ap_add_string(model, part, "bound", bounds[i].name);
        ap_add_string(model, part, "meaning", bounds[i].meaning);
        ap_add_time(model, part, "dur_us", part_ns[i]);
        ap_add_quotient(model, part, "judged_ratio", (double)part_ns[i], (double)dur_ns);
    }
}

/* That and the pieces by which it is told; there are none where they are too few. What no device waited for cost what the
 * host was ahead; where none works it cost nothing: of several threads one goes on. */
static void add_off_core(struct ap_part_context *context, const struct reading *is, struct ap_model *model,
                         struct ap_value *host)
{
    const struct ap_off_core *off = &context->facts->split.off_core;
    struct ap_stretches stretches = { .list = NULL };
    ap_add_time(model, host, "off_core_us", is->off_core_ns);
    ap_add_quotient(model, host, "off_core_ratio", (double)is->off_core_ns, (double)ap_known_ns(is->judged));
    struct ap_value *to = ap_add_object(model, host, "off_core");
    ap_add_count(model, to, "count", (int64_t)off->sure_count);
    ap_add_known_time(model, to, "median_us", off->sure_count, off->median_ns);
    ap_add_known_time(model, to, "equal_us", off->sure_count, off->equal_ns);
    ap_add_known_time(model, to, "total_us", off->sure_count, context->facts->split.has_gpu ? off->sum_ns : is->off_core_ns);
    for (size_t i = 0; i < off->count; i++)
        if (off->pieces[i].sure || ap_off_core_is_all(off))
            ap_stretches_add(&stretches, model->arena.gate, off->pieces[i].start_ns, off->pieces[i].end_ns);
    ap_model_keep_time(model, "verdict.host.off_core", &stretches);
}

static void add_host(struct ap_part_context *context, const struct reading *is, struct ap_model *model, struct ap_value *to)
{
    int64_t host_ns = is->part_ns[BOUND_launch] + is->part_ns[BOUND_cpu],
            own_ns = host_ns - is->recording_ns - is->off_core_ns - is->uneven_ns;
    int64_t short_ns = ap_value_integer(ap_value_at(&model->root, "gpu.short_kernels.total_dur_us"), 0);
    bool overflowed = false, is_known = knows_recording(&context->facts->split, &model->root);
    struct ap_value *host = ap_add_object(model, to, "host");
    double known = is->untold ? 0 : (double)ap_known_ns(is->judged);
    ap_add_known_time(model, host, "dur_us", !is->untold, host_ns);
    ap_add_quotient(model, host, "judged_ratio", (double)host_ns, known);
    ap_add_known_time(model, host, "recording_us", is_known, is->recording_ns);
    add_off_core(context, is, model, host);
    ap_add_time(model, host, "uneven_us", is->uneven_ns);
    ap_add_known_time(model, host, "own_us", !is->untold, own_ns);
    ap_add_quotient(model, host, "own_ratio", (double)own_ns,
                    is->untold ? 0 : known - (double)(is->recording_ns + is->off_core_ns + is->uneven_ns));
    ap_add_known_time(model, host, "with_short_kernels_us", !is->untold,
                      ap_add_sat(own_ns, short_ns > 0 ? short_ns : 0, &overflowed));
    ap_note_overflow(context, overflowed);
}

/* A start comes once: where devices compute for longer than that, the run is what is left without it. */
static enum bound bound_after_start(const struct reading *is, int64_t known)
{
    int64_t rest_ns[BOUND_COUNT], start_ns = is->part_ns[BOUND_start_up];
    if (is->part_ns[BOUND_gpu] <= start_ns)
        return BOUND_start_up;
    memcpy(rest_ns, is->part_ns, sizeof(rest_ns));
    rest_ns[BOUND_start_up] = 0;
    return choose_bound(rest_ns, known - start_ns) == BOUND_gpu ? BOUND_gpu : BOUND_start_up;
}

/* Is it the host only because it records, or is kept from running? Then what is next after it bounds the run, if it is known
 * what that is. */
static enum bound bound_of(struct reading *is)
{
    int64_t own_ns[BOUND_COUNT], known = ap_known_ns(is->judged), foreign_ns = is->recording_ns + is->off_core_ns;
    enum bound bound = choose_bound(is->part_ns, known);
    if (bound == BOUND_start_up)
        return bound_after_start(is, known);
    if ((bound == BOUND_cpu || bound == BOUND_launch) && foreign_ns) {
        memcpy(own_ns, is->part_ns, sizeof(own_ns));
        int64_t of_cpu_ns = own_ns[BOUND_cpu] < foreign_ns ? own_ns[BOUND_cpu] : foreign_ns;
        own_ns[BOUND_cpu] -= of_cpu_ns;
        own_ns[BOUND_launch] -= foreign_ns - of_cpu_ns;
        enum bound own = choose_bound(own_ns, known - foreign_ns);
        is->by_estimate = own != BOUND_queue && own != BOUND_launch && own != BOUND_cpu;
        return is->by_estimate ? own : bound;
    }
    return bound == BOUND_queue ? choose_seen(is->part_ns, known) : bound;
}

static void move_part(int64_t *part_ns, enum bound from, enum bound to)
{
    part_ns[to] += part_ns[from];
    part_ns[from] = 0;
}

/* Why it cannot be told after all; NULL = it can. Work from before the recording hides more of it, and no waits. */
static const char *choose(struct reading *is)
{
    enum bound bound = bound_of(is);
    if (is->untold)
        move_part(is->part_ns, BOUND_queue, BOUND_unknown);
    if (is->untold && bound == BOUND_queue)
        return "devices are idle, and no row tells which call or operator launched their work: they may wait for the host, "
               "or "
               "for what stands before in a queue";
    if (bound != BOUND_gpu && ap_known_ns(is->judged) < ap_share_of(is->judged->dur_ns, KNOWN_RATIO))
        return is->no_host ? "no row of the host tells why devices are idle for nearly all of the time"
                           : "for nearly all of the time work from before the recording hides it";
    is->bound = bound;
    return NULL;
}

/* Where time goes, and how much of what is the host's is not its own. */
static void read_parts(struct ap_part_context *context, const struct ap_value *root, struct reading *is)
{
    const struct ap_split *split = &context->facts->split;
    const struct ap_split_part *judged = is->judged;
    sum_parts(judged, split->has_gpu, is->part_ns);
    move_trains(root, is->part_ns);
    is->no_host = ap_lacks_host(context);
    is->untold = split->has_gpu && !ap_links_tell_launches(&context->facts->links);
    if (is->untold) {
        move_part(is->part_ns, BOUND_cpu, BOUND_queue);
        move_part(is->part_ns, BOUND_launch, BOUND_queue);
    }
    int64_t host_ns = is->part_ns[BOUND_launch] + is->part_ns[BOUND_cpu];
    if (knows_recording(split, root))
        is->recording_ns = judged->recording_ns < host_ns ? judged->recording_ns : host_ns;
    host_ns -= is->recording_ns;
    is->off_core_ns = judged->off_core_ns < host_ns ? judged->off_core_ns : host_ns;
    host_ns -= is->off_core_ns;
    is->uneven_ns = judged->uneven_ns < host_ns ? judged->uneven_ns : host_ns;
}

static void add_verdict(struct ap_part_context *context, struct ap_model *model, struct ap_value *root)
{
    const struct ap_split_part *judged = ap_split_judged(&context->facts->split);
    struct reading is = { .judged = judged, .bound = BOUND_unknown };
    read_parts(context, root, &is);
    const char *why = ap_why_unknown(context, judged, root);
    if (!why)
        why = choose(&is);
    double memory_ratio = memory_bound_ratio(context);
    is.memory_bound = is.bound == BOUND_gpu && memory_ratio > MEMORY_BOUND_RATIO;
    int64_t bound_ns = wait_ns(is.part_ns, is.bound);
    struct ap_value *to = ap_add_object(model, root, "verdict");
    ap_add_string(model, to, "bound", is.memory_bound ? "memory-bandwidth-bound" : bounds[is.bound].name);
    if (why)
        add_unknown_sentence(why, model, to);
    else
        add_sentence(context, &is, model, to);
    ap_add_time(model, to, "dur_us", bound_ns);
    ap_add_time(model, to, "known_us", ap_known_ns(judged));
    ap_add_quotient(model, to, "judged_ratio", (double)bound_ns, (double)ap_known_ns(judged));
    const char *confidence = confidence_of(context, judged, is.bound, bound_ns);
    bool is_estimate = is.memory_bound || (is.by_estimate && strcmp(confidence, "high") == 0);
    ap_add_string(model, to, "confidence", is_estimate ? "medium" : confidence);
    ap_add_known_ratio(model, to, "memory_bound_family_ratio", memory_ratio >= 0, memory_ratio);
    add_host(context, &is, model, to);
    add_bounds(is.part_ns, judged->dur_ns, model, ap_add_object(model, to, "parts"));
}

/* ---- symptoms ---- */

struct symptom {
    const char *id, *title, *figure;
    double threshold;
    bool above; /* the symptom is a value above the threshold */
};

/* @counts: what else must hold for the value to be a symptom. */
static void add_symptom(const struct symptom *symptom, bool known, double value, bool counts, struct ap_model *model,
                        struct ap_value *list)
{
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_string(model, row, "id", symptom->id);
    ap_add_string(model, row, "title", symptom->title);
    ap_add_string(model, row, "metric", symptom->figure);
    ap_add_known_ratio(model, row, "value", known, value);
    ap_add_ratio(model, row, "threshold", symptom->threshold);
    ap_add_known_bool(model, row, "present", known,
                      counts && (symptom->above ? value > symptom->threshold : value < symptom->threshold));
}

static bool number_at(const struct ap_value *root, const char *path, double *ret_number)
{
    return ap_value_number(ap_value_at(root, path), ret_number);
}

/* Could what was not recorded, a share of the window, have brought the figure over the limit? Then it tells nothing. */
static bool is_open(double figure, double not_recorded_ratio, double limit)
{
    return (figure < limit) != (figure + not_recorded_ratio < limit);
}

/* Much queued work waits for nothing that is in the file: rows are missing, and any gap may be one of them. */
static bool lacks_rows(const struct ap_split_part *all)
{
    return all->dur_ns && (double)all->cause_ns[AP_IDLE_queue_wait] >= SEEN_RATIO * (double)all->dur_ns;
}

static void add_symptoms(const struct ap_part_context *context, struct ap_model *model, struct ap_value *root)
{
    const struct ap_split *split = &context->facts->split;
    static const struct symptom high_cpu = {
        "high-cpu-low-gpu", "High CPU with low GPU time",
        "1 - cpu.thread_summary.idle_us / trace.window_us while gpu.utilization_ratio < 50 %", 0.5, true
    };
    static const struct symptom low_gpu = { "low-gpu-utilization", "GPU utilization below 80 %", "gpu.utilization_ratio",
                                            0.8, false };
    static const struct symptom gaps = { "large-gpu-gaps", "Large gaps between GPU operations",
                                         "idle.over_100us.window_ratio", 0.1, true };
    static const struct symptom allocation = {
        "high-allocation-time", "High allocation time",
        "cpu.signals.device_malloc.window_share_ratio + cpu.signals.host_alloc.window_share_ratio", 0.05, true
    };
    double host_idle = 0, window = 0, utilization = 0, gap_ratio = 0, device_malloc = 0, host_alloc = 0;
    bool has_gpu = split->has_gpu && number_at(root, "gpu.utilization_ratio", &utilization);
    bool has_host = number_at(root, "cpu.thread_summary.idle_us", &host_idle) &&
                    number_at(root, "trace.window_us", &window) && window > 0;
    double busy = has_host ? 1 - host_idle / window : 0; /* one thread after the other may be busy: forward, then backward */
    bool has_gaps = number_at(root, "idle.over_100us.window_ratio", &gap_ratio);
    const struct ap_value *runtime = ap_value_at(root, "trace.recorded.runtime");
    bool has_calls = ap_value_integer(runtime, 0) && !ap_value_integer(ap_value_at(root, "trace.recorded.accelerator"), 0) &&
                     number_at(root, "cpu.signals.device_malloc.window_share_ratio", &device_malloc) &&
                     number_at(root, "cpu.signals.host_alloc.window_share_ratio", &host_alloc);
    const struct ap_split_part *all = &split->window;
    double open = all->dur_ns ? (double)all->cause_ns[AP_IDLE_not_recorded] / (double)all->dur_ns : 0;
    bool is_told = !lacks_rows(all) && !ap_is_capture(root) && !ap_is_glimpse(context, ap_split_judged(split));
    has_gpu = has_gpu && is_told;
    struct ap_value *list = ap_add_list(model, root, "symptoms");
    add_symptom(&high_cpu, has_gpu && has_host && !is_open(utilization, open, LOW_GPU_RATIO), busy,
                utilization < LOW_GPU_RATIO, model, list);
    add_symptom(&low_gpu, has_gpu && !is_open(utilization, open, low_gpu.threshold), utilization, true, model, list);
    add_symptom(&gaps, has_gaps && is_told && !is_open(gap_ratio - open, open, gaps.threshold), gap_ratio, true, model,
                list);
    add_symptom(&allocation, has_calls, device_malloc + host_alloc, true, model, list);
}

enum ap_status ap_part_verdict(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                               struct ap_error *reterr)
{
    (void)reterr;
    /* Of an accelerator's rows nobody here knows which are work: then the host's time does not tell what bounds the run. */
    bool other = !context->facts->split.has_gpu && ap_value_integer(ap_value_at(root, "trace.recorded.accelerator"), 0);
    if (ap_split_judged(&context->facts->split)->dur_ns && !other)
        add_verdict(context, model, root);
    else
        ap_add_null(model, root, "verdict");
    add_symptoms(context, model, root);
    return AP_OK;
}
