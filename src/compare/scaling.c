/* SPDX-License-Identifier: MIT */
#include "scaling.h"

#include <math.h>
#include <string.h>

#include "figure_path.h"
#include "sort.h"

#include "poison.h"

/* The knee: from this share of the best throughput on, a larger batch buys little. */
#define KNEE_RATIO 0.9
/* Left free of the device's memory: the context, libraries, fragmentation. */
#define RESERVE_RATIO 0.1
/* An answer this many times beyond what was measured is a guess. */
#define FAR_RATIO 4

static const struct {
    const char *figure, *note;
} peaks[AP_SCALING_PEAKS] = {
    { "trace_memory.devices.peak_reserved_bytes", NULL },
    { "trace_memory.devices.peak_allocated_bytes",
      "The trace does not tell what was reserved: memory is what was allocated, and the allocator holds more than that." },
    { "trace_memory.devices.peak_at_least_bytes",
      "Memory that was allocated before the recording is not in the peaks, so more is needed than the line says." },
};

static int64_t integer_at(const struct ap_value *root, const char *path)
{
    return ap_value_integer(ap_figure_fold(root, ap_text_of(path)), -1);
}

void ap_scaling_take(struct ap_scaling_point *point, const struct ap_value *root)
{
    point->step_ns = integer_at(root, "steps.steady.p50_us");
    if (point->step_ns < 0)
        point->step_ns = integer_at(root, "steps.mean_us");
    for (size_t i = 0; i < AP_SCALING_PEAKS; i++)
        point->peak_bytes[i] = integer_at(root, peaks[i].figure);
    const struct ap_value *complete = ap_value_at(root, "trace.complete");
    point->cut = complete && complete->type == AP_VALUE_BOOL && !complete->as.integer;
    point->capacity_bytes = integer_at(root, "trace.main_device.memory_bytes");
}

/* ---- straight lines ---- */

/* y = fixed + slope x */
struct line {
    bool known;
    double fixed, slope, fit; /* fit: coefficient of determination, NaN where it says nothing */
};

struct sums {
    double count, x, y, xx, xy, yy;
};

static void add_point(struct sums *sums, double x, double y)
{
    sums->count++;
    sums->x += x;
    sums->y += y;
    sums->xx += x * x;
    sums->xy += x * y;
    sums->yy += y * y;
}

static struct line fit(const struct sums *sums)
{
    struct line line = { .known = false, .fit = NAN };
    double x_spread = sums->xx - sums->x * sums->x / sums->count, y_spread = sums->yy - sums->y * sums->y / sums->count;
    double common = sums->xy - sums->x * sums->y / sums->count;
    if (sums->count < 2 || !(x_spread > 0))
        return line;
    line.known = true;
    line.slope = common / x_spread;
    line.fixed = (sums->y - line.slope * sums->x) / sums->count;
    if (sums->count > 2 && y_spread > 0)
        line.fit = common * common / (x_spread * y_spread);
    return line;
}

static int64_t whole(double number)
{
    return fabs(number) < 9e18 ? (int64_t)llround(number) : 0;
}

/* A run costs nothing less than 0, whatever the line says. */
static bool makes_sense(const struct line *line)
{
    return line->known && whole(line->fixed) >= 0 && whole(line->slope) >= 0;
}

/* ---- time ---- */

struct scaling {
    const struct ap_scaling_point *points;
    size_t count;
    bool sizes_differ; /* without that nothing follows from them */
    struct ap_model *model;
    struct ap_value *series, *notes;
    double best; /* samples a second */
    int peak;    /* place in peaks; -1 = memory is not known */
};

static double throughput(const struct ap_scaling_point *point)
{
    return point->step_ns > 0 ? (double)point->batch * 1e9 / (double)point->step_ns : 0;
}

static void note(struct scaling *scaling, const char *text)
{
    ap_add_string(scaling->model, scaling->notes, NULL, text);
}

static struct line fit_latency(const struct ap_scaling_point *points, size_t count)
{
    struct sums sums = { .count = 0 };
    for (size_t i = 0; i < count; i++)
        if (points[i].step_ns > 0)
            add_point(&sums, (double)points[i].batch, (double)points[i].step_ns);
    return fit(&sums);
}

bool ap_scaling_latency(const struct ap_scaling_point *points, size_t count, uint64_t batch, int64_t *ret_fixed_ns,
                        int64_t *ret_grows_ns)
{
    struct line line = fit_latency(points, count);
    *ret_fixed_ns = whole(line.fixed);
    *ret_grows_ns = whole(line.slope * (double)batch);
    return makes_sense(&line);
}

static void add_latency(struct scaling *scaling)
{
    struct ap_model *model = scaling->model;
    struct line line = fit_latency(scaling->points, scaling->count);
    if (line.known && whole(line.fixed) < 0)
        note(scaling,
             "A line through the times would begin below 0: time grows faster than the batch, and no limit follows.");
    if (line.known && whole(line.slope) < 0)
        note(scaling, "The time of a batch falls as batches grow, so it is no fixed time and a time for each sample.");
    if (!makes_sense(&line)) {
        ap_add_null(model, scaling->series, "latency");
        return;
    }
    struct ap_value *latency = ap_add_object(model, scaling->series, "latency");
    ap_add_time(model, latency, "fixed_us", whole(line.fixed));
    ap_add_time(model, latency, "per_sample_us", whole(line.slope));
    ap_add_known_ratio(model, latency, "fit_ratio", isfinite(line.fit), line.fit);
    ap_add_known_number(model, latency, "limit_samples_per_s", line.slope > 0, 1e9 / line.slope);
}

static void add_knee(struct scaling *scaling)
{
    struct ap_model *model = scaling->model;
    for (size_t i = 0; scaling->best > 0 && scaling->sizes_differ && i < scaling->count; i++) {
        double here = throughput(&scaling->points[i]);
        if (here < KNEE_RATIO * scaling->best)
            continue;
        bool is_largest = scaling->points[i].batch == scaling->points[scaling->count - 1].batch;
        struct ap_value *knee = ap_add_object(model, scaling->series, "knee");
        ap_add_count(model, knee, "batch", (int64_t)scaling->points[i].batch);
        ap_add_number(model, knee, "samples_per_s", here);
        ap_add_ratio(model, knee, "share_of_best_ratio", here / scaling->best);
        ap_add_bool(model, knee, "is_largest", is_largest);
        if (is_largest)
            note(scaling, "Throughput still rises at the largest batch: the knee may lie beyond it.");
        return;
    }
    ap_add_null(model, scaling->series, "knee");
}

/* ---- memory ---- */

static int64_t peak_of(const struct scaling *scaling, const struct ap_scaling_point *point)
{
    return scaling->peak < 0 ? -1 : point->peak_bytes[scaling->peak];
}

static bool all_have_peak(const struct ap_scaling_point *points, size_t count, int peak)
{
    for (size_t i = 0; i < count; i++)
        if (points[i].peak_bytes[peak] < 0)
            return false;
    return true;
}

static int choose_peak(const struct ap_scaling_point *points, size_t count)
{
    for (int peak = 0; peak < AP_SCALING_PEAKS; peak++)
        if (all_have_peak(points, count, peak))
            return peak;
    return -1;
}

/* Of the largest batch's device: the runs are of one kind of device, or the lines mean nothing. */
static int64_t capacity_of(const struct scaling *scaling)
{
    return scaling->points[scaling->count - 1].capacity_bytes;
}

static void add_largest_batch(struct scaling *scaling, struct ap_value *memory, const struct line *line)
{
    struct ap_model *model = scaling->model;
    int64_t capacity = capacity_of(scaling);
    double room = (double)capacity * (1 - RESERVE_RATIO) - line->fixed;
    double largest = line->slope > 0 ? floor(room / line->slope) : -1;
    double measured = (double)scaling->points[scaling->count - 1].batch;
    bool known = capacity > 0 && largest >= 0 && largest < 9e15;
    ap_add_known_bytes(model, memory, "capacity_bytes", capacity > 0, capacity);
    ap_add_ratio(model, memory, "reserve_ratio", RESERVE_RATIO);
    ap_add_known_count(model, memory, "largest_batch", known, known ? (int64_t)largest : 0);
    ap_add_known_ratio(model, memory, "beyond_measured_ratio", known, largest / measured);
    if (known && largest > FAR_RATIO * measured)
        note(scaling,
             "The batch that would still fit is more than 4 times the largest measured one: try sizes between first.");
    if (known && largest < measured)
        note(scaling, "The largest measured batch leaves less than the reserve of 10 % free.");
    if (capacity <= 0)
        note(scaling, "The trace does not tell the memory of the device, so not what would still fit.");
}

static void add_memory(struct scaling *scaling)
{
    struct ap_model *model = scaling->model;
    struct sums sums = { .count = 0 };
    for (size_t i = 0; scaling->peak >= 0 && i < scaling->count; i++)
        add_point(&sums, (double)scaling->points[i].batch, (double)peak_of(scaling, &scaling->points[i]));
    struct line line = fit(&sums);
    if (line.known && whole(line.slope) <= 0)
        note(scaling, "Memory does not grow with the batch here, so what would still fit cannot be told.");
    if (line.known && whole(line.fixed) < 0)
        note(scaling, "A line through the peaks would begin below 0: memory grows faster than the batch, so what would "
                      "still fit cannot be told.");
    if (!makes_sense(&line)) {
        ap_add_null(model, scaling->series, "memory");
        return;
    }
    struct ap_value *memory = ap_add_object(model, scaling->series, "memory");
    ap_add_bytes(model, memory, "fixed_bytes", whole(line.fixed));
    ap_add_bytes(model, memory, "per_sample_bytes", whole(line.slope));
    ap_add_known_ratio(model, memory, "fit_ratio", isfinite(line.fit), line.fit);
    add_largest_batch(scaling, memory, &line);
}

/* ---- all ---- */

static void add_points(struct scaling *scaling)
{
    struct ap_model *model = scaling->model;
    struct ap_value *list = ap_add_list(model, scaling->series, "points");
    for (size_t i = 0; i < scaling->count; i++) {
        const struct ap_scaling_point *point = &scaling->points[i];
        int64_t peak = peak_of(scaling, point);
        double here = throughput(point);
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_count(model, row, "batch", (int64_t)point->batch);
        ap_add_string(model, row, "batch_from", point->guessed ? "shapes" : "label");
        ap_add_string(model, row, "path", point->path);
        ap_add_known_time(model, row, "step_us", point->step_ns > 0, point->step_ns);
        ap_add_number_per(model, row, "samples_per_s", here, here > 0);
        ap_add_known_time(model, row, "per_sample_us", point->step_ns > 0,
                          whole((double)point->step_ns / (double)point->batch));
        ap_add_known_ratio(model, row, "share_of_best_ratio", here > 0, here / (scaling->best > 0 ? scaling->best : 1));
        ap_add_known_bytes(model, row, "peak_bytes", peak >= 0, peak);
        ap_add_known_bytes(model, row, "per_sample_bytes", peak >= 0, whole((double)peak / (double)point->batch));
    }
}

static void add_notes(struct scaling *scaling)
{
    bool times = false, guessed = false, devices = false, cut = false;
    for (size_t i = 0; i < scaling->count; i++) {
        times |= scaling->points[i].step_ns > 0;
        guessed |= scaling->points[i].guessed;
        cut |= scaling->points[i].cut;
        devices |= scaling->points[i].capacity_bytes != scaling->points[0].capacity_bytes;
    }
    if (!scaling->sizes_differ)
        note(scaling, "All runs have batches of one size, as ranks of one run do: nothing can be told of how time and "
                      "memory grow with it.");
    if (times && scaling->sizes_differ)
        note(scaling,
             "Assumed: a batch costs a fixed time and a time for each sample; kernels that fill the device only from some "
             "size on bend that line.");
    if (!times)
        note(scaling, "No trace has steps: record with a schedule and prof.step().");
    if (scaling->peak >= 0 && scaling->sizes_differ)
        note(scaling,
             "Assumed: memory is a fixed part (parameters, optimizer, workspaces) and a part for each sample; 10 % of the "
             "device is left free for the context and fragmentation.");
    if (scaling->peak < 0)
        note(scaling, "Memory is not known for all runs: record with profile_memory=True.");
    if (scaling->peak >= 0 && peaks[scaling->peak].note)
        note(scaling, peaks[scaling->peak].note);
    if (cut)
        note(scaling, "A trace is cut: its times and its peak may not be those of the whole run.");
    if (guessed)
        note(scaling, "A batch size is guessed from recorded shapes: write BATCH=FILE to say it.");
    if (devices)
        note(scaling, "The runs are of devices with different memory: the lines mix them.");
}

static int by_batch(const void *a, const void *b)
{
    const struct ap_scaling_point *x = a, *y = b;
    AP_BY_SMALLER(x->batch, y->batch);
    AP_BY_SMALLER(x->step_ns, y->step_ns);
    return strcmp(x->path, y->path);
}

void ap_scaling_add(struct ap_scaling_point *points, size_t count, struct ap_model *model)
{
    struct scaling scaling = { .points = points, .count = count, .model = model, .peak = choose_peak(points, count) };
    ap_sort(points, count, sizeof(points[0]), by_batch);
    scaling.sizes_differ = count && points[0].batch != points[count - 1].batch;
    for (size_t i = 0; i < count; i++)
        scaling.best = throughput(&points[i]) > scaling.best ? throughput(&points[i]) : scaling.best;
    scaling.series = ap_add_object(model, &model->root, "series");
    ap_add_string(model, scaling.series, "latency_metric", "steps.steady.p50_us");
    ap_add_known_string(model, scaling.series, "memory_metric", scaling.peak >= 0,
                        scaling.peak >= 0 ? peaks[scaling.peak].figure : "");
    scaling.notes = ap_add_list(model, scaling.series, "notes");
    add_points(&scaling);
    add_notes(&scaling);
    add_latency(&scaling);
    add_knee(&scaling);
    add_memory(&scaling);
}
