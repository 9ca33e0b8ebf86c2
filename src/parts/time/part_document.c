/* SPDX-License-Identifier: MIT
 * part_document.c - what the trace is: form, contents by category, devices, what was recorded. */
#include "part.h"
#include "sort.h"

#include "poison.h"

static bool has_kind(const struct ap_trace *trace, enum ap_event_kind kind)
{
    return ap_trace_has_kind(trace, kind) || (trace->legacy_autograd && kind == AP_KIND_operator);
}

static bool has_category(const struct ap_trace *trace, const char *name)
{
    for (uint32_t id = 1; id < trace->category_count; id++)
        if (trace->categories[id].event_count &&
            ap_text_is(ap_strpool_text(&trace->category_names, (struct ap_str){ id }), name))
            return true;
    return false;
}

static bool has_frames(const struct ap_trace *trace, enum ap_frame_writer writer)
{
    for (uint32_t id = 1; id < trace->category_count; id++)
        if (trace->categories[id].event_count && trace->categories[id].frames == writer)
            return true;
    return false;
}

/* The dialect, told by marks that the writers leave. */
static const char *format_of(const struct ap_trace *trace)
{
    if (trace->legacy_autograd)
        return "legacy autograd";
    if (trace->writer)
        return ap_text_is(ap_text_of(trace->writer), "XLA")         ? "xla"
               : ap_text_is(ap_text_of(trace->writer), "rocprofv3") ? "rocprofv3"
                                                                    : "nsight systems";
    if (has_frames(trace, AP_FRAMES_VIZTRACER))
        return "viztracer";
    if (has_frames(trace, AP_FRAMES_PY_SPY))
        return has_category(trace, "speedscope") && !trace->by_py_spy ? "speedscope" : "py-spy";
    if (has_frames(trace, AP_FRAMES_BROWSER))
        return "chrome devtools";
    if (has_category(trace, "Node") || has_category(trace, "Session"))
        return "onnxruntime";
    if (has_category(trace, "Operator") || has_category(trace, "Runtime"))
        return "kineto 2021";
    if (has_category(trace, "cpu_op") || trace->has_schema_version || has_kind(trace, AP_KIND_kernel))
        return "kineto";
    return trace->form == AP_FORM_ARRAY ? "chrome array" : "chrome object";
}

static void add_events(const struct ap_trace *trace, struct ap_model *model, struct ap_value *document)
{
    struct ap_value *events = ap_add_object(model, document, "events");
    ap_add_count(model, events, "total", (int64_t)trace->event_count);
    ap_add_count(model, events, "duration", (int64_t)trace->events.count);
    struct ap_value *phases = ap_add_object(model, events, "by_phase");
    for (size_t i = 0; i < AP_COUNT_OF(trace->ph_counts); i++) {
        char letter = (char)i;
        if (trace->ph_counts[i])
            ap_add_count_named(model, phases, (struct ap_text){ &letter, 1 }, (int64_t)trace->ph_counts[i]);
    }
}

static bool category_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_category *categories = context;
    return categories[a].event_count != categories[b].event_count ? categories[a].event_count > categories[b].event_count
                                                                  : a < b;
}

static enum ap_status add_categories(struct ap_part_context *context, struct ap_model *model, struct ap_value *document,
                                     struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    struct ap_value *list = ap_add_list(model, document, "categories");
    uint32_t *order;
    size_t count;
    uint64_t limit = context->options->top_n && context->options->top_n < 64 ? 64 : context->options->top_n;
    AP_TRY(ap_top_indices(context->gate, (uint32_t)trace->category_count, limit, category_before, trace->categories, &order,
                          &count, reterr));
    for (size_t i = 0; i < count && trace->categories[order[i]].event_count; i++) {
        const struct ap_category *category = &trace->categories[order[i]];
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_known_text(model, row, "category", order[i],
                          ap_strpool_text(&trace->category_names, (struct ap_str){ order[i] }));
        ap_add_string(model, row, "kind", ap_event_kind_name(category->kind));
        ap_add_count(model, row, "events", (int64_t)category->event_count);
        ap_add_time(model, row, "total_dur_us", category->total_dur_ns);
    }
    AP_FREE(context->gate, order, count);
    return AP_OK;
}

static int64_t unknown_category_events(const struct ap_trace *trace)
{
    int64_t count = 0;
    for (size_t i = 0; i < trace->category_count; i++)
        if (trace->categories[i].kind == AP_KIND_unknown)
            count += (int64_t)trace->categories[i].event_count;
    return count;
}

static void add_known(struct ap_model *model, struct ap_value *parent, const char *key, int64_t count)
{
    ap_add_known_count(model, parent, key, count >= 0, count);
}

static void add_device(const struct ap_trace *trace, const struct ap_device_properties *device, struct ap_model *model,
                       struct ap_value *row)
{
    add_known(model, row, "id", device->id);
    struct ap_text name = ap_trace_text(trace, device->name.id);
    ap_add_known_text(model, row, "name", name.bytes > 0, name); /* drivers of early HIP give an empty one */
    ap_add_known_bytes(model, row, "memory_bytes", device->memory_bytes >= 0, device->memory_bytes);
    add_known(model, row, "sm_count", device->sm_count);
    ap_add_known_number(model, row, "compute_capability", device->compute_major >= 0 && device->compute_minor >= 0,
                        (double)device->compute_major + (double)device->compute_minor / 10);
}

static void add_devices(const struct ap_trace *trace, struct ap_model *model, struct ap_value *document)
{
    struct ap_value *list = ap_add_list(model, document, "devices");
    for (size_t i = 0; i < trace->device_count && i < 64; i++)
        add_device(trace, &trace->devices[i], model, ap_add_object(model, list, NULL));
}

/* The device that did the work; without any the first one. */
static const struct ap_device_properties *main_device(const struct ap_part_context *context)
{
    const struct ap_trace *trace = context->trace;
    for (size_t i = 0; i < trace->device_count && context->facts->links.count; i++)
        if (trace->devices[i].id == ap_row_device(trace, context->facts->links.row[0]))
            return &trace->devices[i];
    return trace->device_count ? &trace->devices[0] : NULL;
}

static void add_main_device(const struct ap_part_context *context, struct ap_model *model, struct ap_value *document)
{
    const struct ap_device_properties *device = main_device(context);
    if (device)
        add_device(context->trace, device, model, ap_add_object(model, document, "main_device"));
    else
        ap_add_null(model, document, "main_device");
}

/* A file of a run with a GPU tells so in its header, whatever was recorded. */
static bool lists_gpu(const struct ap_trace *trace)
{
    struct ap_text backend = ap_trace_text(trace, trace->backend.id);
    return trace->device_count || ap_text_contains_folded(backend, "nccl") || ap_text_contains_folded(backend, "rccl");
}

static bool is_format(const struct ap_trace *trace, const char *format)
{
    return ap_text_is(ap_text_of(format_of(trace)), format);
}

/* Rows, and none of a category that is known: compilers and build tools write such traces too. */
static bool is_of_nobody(const struct ap_trace *trace)
{
    bool rows = false;
    for (size_t i = 0; i < trace->category_count; i++) {
        enum ap_event_kind kind = trace->categories[i].kind;
        if (trace->categories[i].row_count && kind != AP_KIND_unknown && kind != AP_KIND_none)
            return false;
        rows |= trace->categories[i].row_count > 0;
    }
    return rows && !trace->has_schema_version && !trace->legacy_autograd && !lists_gpu(trace);
}

/* Whose advice holds where names tell no program. */
static const char *recorder_of(const struct ap_trace *trace)
{
    static const struct {
        const char *format, *program;
    } recorders[] = { { "xla", "XLA" },
                      { "nsight systems", "Nsight Systems" },
                      { "viztracer", "VizTracer" },
                      { "rocprofv3", "rocprofv3" },
                      { "py-spy", "py-spy" },
                      { "speedscope", "speedscope" },
                      { "chrome devtools", "Chrome DevTools" } };
    for (size_t i = 0; i < AP_COUNT_OF(recorders); i++)
        if (is_format(trace, recorders[i].format))
            return recorders[i].program;
    return is_of_nobody(trace) ? "another recorder" : NULL;
}

/* Calls that wait for all of a device: PyTorch's profiler makes one when it stops, whatever ran. */
static bool is_wait_for_device(const struct ap_trace *trace, uint32_t row)
{
    struct ap_text name = ap_row_name(trace, row);
    return ap_text_is(name, "cudaDeviceSynchronize") || ap_text_is(name, "hipDeviceSynchronize");
}

/* A call that may have given a device work. In nearly all traces one of the first is. */
static bool has_calls_for_work(const struct ap_trace *trace)
{
    bool found = trace->events.count == 0 && has_kind(trace, AP_KIND_runtime);
    for (uint32_t row = 0; row < trace->events.count && !found; row++)
        found = ap_row_is_of(trace, row, 1u << AP_KIND_runtime) && !is_wait_for_device(trace, row);
    return found;
}

static void add_recorded(const struct ap_trace *trace, struct ap_model *model, struct ap_value *document)
{
    struct ap_value *recorded = ap_add_object(model, document, "recorded");
    bool gpu = has_kind(trace, AP_KIND_kernel) || has_kind(trace, AP_KIND_memcpy) || has_kind(trace, AP_KIND_memset);
    for (size_t i = 0; !gpu && i < trace->track_count; i++)
        gpu = ap_track_device(trace, &trace->tracks[i]) >= 0; /* rows of the legacy exporter have no category */
    ap_add_bool(model, recorded, "shapes", trace->record_shapes || trace->shape_row_count);
    ap_add_bool(model, recorded, "stacks", trace->with_stack || has_kind(trace, AP_KIND_python));
    ap_add_bool(model, recorded, "modules", trace->with_modules);
    ap_add_bool(model, recorded, "flops", trace->with_flops);
    ap_add_bool(model, recorded, "memory", trace->profile_memory || trace->memory_event_count);
    ap_add_bool(model, recorded, "gpu", gpu);
    ap_add_bool(model, recorded, "gpu_listed", lists_gpu(trace));
    ap_add_bool(model, recorded, "accelerator", has_kind(trace, AP_KIND_accelerator));
    bool runtime = has_kind(trace, AP_KIND_runtime), work = runtime && has_calls_for_work(trace);
    ap_add_bool(model, recorded, "runtime", work);
    ap_add_bool(model, document, "gpu_unused", runtime && !work && !gpu && !has_kind(trace, AP_KIND_accelerator));
}

/* What was recorded, where names tell that it is no loop under PyTorch's own profiler; NULL = they do not. */
static const char *program_of(const struct ap_trace *trace)
{
    static const struct {
        const char *program;
        bool anywhere;
        const char *text;
    } signs[] = {
#define begins false
#define anywhere true
#define AP_PROGRAM_SIGN(program, at, text) { program, at, text },
#include "program_sign.def"
#undef AP_PROGRAM_SIGN
#undef begins
#undef anywhere
    };
    size_t first = AP_COUNT_OF(signs);
    if (is_format(trace, "onnxruntime"))
        return "ONNX Runtime";
    for (uint32_t id = 1; id < ap_trace_id_count(trace); id++) {
        struct ap_text name = ap_trace_text(trace, id);
        for (size_t i = 0; i < first; i++)
            if (signs[i].anywhere ? ap_text_contains_folded(name, signs[i].text) : ap_text_starts_with(name, signs[i].text))
                first = i;
    }
    return first < AP_COUNT_OF(signs) ? signs[first].program : recorder_of(trace);
}

/* Of an engine that answers requests: nothing trains there, and it fills the device with its cache on purpose. */
static bool serves(const char *program)
{
    return program && (strcmp(program, "vLLM") == 0 || strcmp(program, "SGLang") == 0);
}

static void add_slice(const struct ap_trace *trace, struct ap_model *model, struct ap_value *document)
{
    if (!trace->is_slice) {
        ap_add_null(model, document, "slice");
        return;
    }
    struct ap_value *slice = ap_add_object(model, document, "slice");
    ap_add_time(model, slice, "start_us", trace->slice_start_ns);
    ap_add_time(model, slice, "end_us", trace->slice_end_ns);
}

enum ap_status ap_part_document(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                struct ap_error *reterr)
{
    const struct ap_trace *trace = context->trace;
    struct ap_value *document = ap_add_object(model, root, "trace");
    ap_add_string(model, document, "path", context->options->path);
    ap_add_string(model, document, "format", format_of(trace));
    ap_add_bool(model, document, "complete", trace->complete);
    const char *program = program_of(trace);
    ap_add_known_string(model, document, "program", program != NULL, program);
    ap_add_bool(model, document, "by_pytorch", !recorder_of(trace) && !is_format(trace, "onnxruntime"));
    ap_add_bool(model, document, "serves", serves(program));
    add_slice(trace, model, document);
    ap_add_bytes(model, document, "bytes_read", (int64_t)context->options->bytes_read);
    ap_add_bool(model, document, "compressed", context->options->compressed);
    add_events(trace, model, document);
    AP_TRY(add_categories(context, model, document, reterr));
    ap_add_known_time(model, document, "window_us", context->facts->window_ns >= 0, context->facts->window_ns);
    ap_add_count(model, document, "unknown_category_events", unknown_category_events(trace));
    ap_add_known_literal(model, document, "base_time_ns", trace->base_time_ns.id,
                         ap_strpool_text(&trace->strings, trace->base_time_ns));
    add_known(model, document, "rank", trace->rank);
    add_known(model, document, "world_size", trace->world_size);
    ap_add_name(trace, model, document, "backend", trace->backend.id);
    add_devices(trace, model, document);
    add_main_device(context, model, document);
    add_recorded(trace, model, document);
    ap_add_count(model, document, "memory_events", (int64_t)trace->memory_event_count);
    ap_add_count(model, document, "out_of_memory_events", (int64_t)trace->out_of_memory_count);
    return AP_OK;
}
