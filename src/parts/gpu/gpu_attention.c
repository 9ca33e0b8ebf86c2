/* SPDX-License-Identifier: MIT
 * gpu_attention.c - attention that is not one kernel: on a stream, a matrix multiplication, then a softmax with at most some
 * small kernels around it, then a matrix multiplication again. The softmax of a loss is none of it, nor one from whose
 * result something is chosen: the next token, the experts of a token; nor one behind which results go to the host: they are
 * what the model was asked for, and the next product is of the next request. Where shapes tell it, the second product goes
 * over as many keys as the softmax: the weights of experts, of gates and of a pooling are no scores of it. */
#include <string.h>

#include "gpu_work.h"
#include "stretches.h"
#include "tensor_dims.h"

#include "poison.h"

/* Scaling, mask, casts, softmax, dropout, layout: what stands between the two products. */
#define MAX_BETWEEN 8
#define MOST_DIMS_BYTES 512 /* of "Input Dims" of a product or a softmax; longer ones are not read */

/* What ran on a stream since its last matrix multiplication. */
struct stretch {
    int64_t gemm_ns, between_ns; /* gemm_ns: of that multiplication; -1 = there was none yet */
    int64_t gemm_start_ns;
    uint32_t between;
    uint32_t softmax_op; /* of the first softmax; AP_NO_ROW = not known */
    bool has_softmax, has_loss, chooses;
};

struct attention {
    int64_t count, scores_ns, gemm_ns; /* scores: all between the products, the softmax included */
    struct ap_stretches time;
};

static bool is_subfamily(unsigned subfamily, const char *name)
{
    return strcmp(ap_kernel_subfamily_name(subfamily), name) == 0;
}

enum role { ROLE_other, ROLE_softmax, ROLE_choice };

/* By subfamily. */
static void find_roles(uint8_t roles[AP_KERNEL_SUBFAMILY_MASK + 1])
{
    for (unsigned i = 1; i <= ap_kernel_subfamily_count(); i++) {
        bool chooses = is_subfamily(i, "sampling and top-k") || is_subfamily(i, "sort, scan and unique") ||
                       is_subfamily(i, "moe routing");
        roles[i] = is_subfamily(i, "softmax") ? ROLE_softmax : chooses ? ROLE_choice : ROLE_other;
    }
}

static bool is_of_loss(const struct ap_trace *trace, struct ap_device_row linked)
{
    return ap_text_contains_folded(ap_row_name(trace, linked.row), "logsoftmax") ||
           (linked.op != AP_NO_ROW && ap_text_contains_folded(ap_row_name(trace, linked.op), "log_softmax"));
}

/* A loss takes the softmax of the last product, and its kernels follow. */
static bool is_loss(const struct ap_trace *trace, struct ap_device_row linked)
{
    return ap_text_contains_folded(ap_row_name(trace, linked.row), "nll_loss") ||
           ap_text_contains_folded(ap_row_name(trace, linked.row), "cross_entropy");
}

/* A search for the largest is a sum by its kernel's name. */
static bool is_choice(const struct ap_trace *trace, struct ap_device_row linked)
{
    return ap_text_contains_folded(ap_row_name(trace, linked.row), "argmax") ||
           (linked.op != AP_NO_ROW && ap_text_contains_folded(ap_row_name(trace, linked.op), "argmax"));
}

static bool read_dims(const struct ap_trace *trace, uint32_t op, struct ap_tensor_list *ret_list)
{
    const struct ap_op_detail *detail = op != AP_NO_ROW ? ap_row_op(trace, op) : NULL;
    struct ap_text dims, types;
    if (!detail)
        return false;
    ap_trace_signature(trace, detail->signature, &dims, &types);
    if (dims.bytes > MOST_DIMS_BYTES)
        return false;
    ap_tensor_list_read(ret_list, dims, types);
    return ret_list->count > 0;
}

/* False where shapes say that the product has no matrix with a side as long as the rows of the softmax. What is before its
 * last two dimensions is a batch, as of as many experts as a gate chose among. */
static bool may_weigh(const struct ap_trace *trace, uint32_t product_op, uint32_t softmax_op)
{
    struct ap_tensor_list softmax, product;
    if (!read_dims(trace, softmax_op, &softmax) || !read_dims(trace, product_op, &product) || product.count < 2)
        return true;
    int64_t width = softmax.tensors[0].dims[softmax.tensors[0].count - 1];
    for (int i = 0; i < product.count; i++)
        for (int j = product.tensors[i].count; j > 0 && j > product.tensors[i].count - 2; j--)
            if (product.tensors[i].dims[j - 1] == width)
                return true;
    return false;
}

/* At the multiplication @linked. */
static void end_stretch(struct ap_gpu_work *work, struct stretch *stretch, struct ap_device_row linked,
                        struct attention *found)
{
    const struct ap_trace *trace = work->context->trace;
    uint32_t row = linked.row;
    int64_t gemm_ns = trace->events.dur_ns[row], start_ns = trace->events.start_ns[row];
    bool is_attention = stretch->has_softmax && !stretch->has_loss && !stretch->chooses && stretch->gemm_ns >= 0 &&
                        stretch->between <= MAX_BETWEEN && may_weigh(trace, linked.op, stretch->softmax_op);
    if (is_attention) {
        found->count++;
        found->scores_ns = ap_gpu_add_ns(work, found->scores_ns, stretch->between_ns);
        found->gemm_ns = ap_gpu_add_ns(work, found->gemm_ns, ap_gpu_add_ns(work, stretch->gemm_ns, gemm_ns));
        ap_stretches_add(&found->time, work->context->gate, stretch->gemm_start_ns, ap_row_end_ns(trace, row));
    }
    *stretch = (struct stretch){ .gemm_ns = is_attention ? 0 : gemm_ns, /* none counts twice */
                                 .gemm_start_ns = start_ns,
                                 .softmax_op = AP_NO_ROW };
}

static void take_kernel(struct ap_gpu_work *work, struct stretch *stretch, struct ap_device_row linked, const uint8_t *roles,
                        struct attention *found)
{
    const struct ap_trace *trace = work->context->trace;
    unsigned subfamily = ap_kernel_subfamily_of(&work->context->facts->families, trace->events.name[linked.row]);
    int64_t dur_ns = trace->events.dur_ns[linked.row];
    if (ap_kernel_family_of(subfamily) == AP_KERNEL_FAMILY_gemm) {
        end_stretch(work, stretch, linked, found);
        return;
    }
    stretch->has_loss |= stretch->has_softmax && is_loss(trace, linked);
    if (roles[subfamily] == ROLE_softmax && !is_of_loss(trace, linked)) {
        if (!stretch->has_softmax)
            stretch->softmax_op = linked.op;
        stretch->has_softmax = true;
    }
    stretch->chooses |= roles[subfamily] == ROLE_choice || (stretch->has_softmax && is_choice(trace, linked));
    stretch->between_ns = ap_gpu_add_ns(work, stretch->between_ns, dur_ns);
    stretch->between += stretch->between < UINT32_MAX;
}

/* Of scores that were not to be changed, as a mask does. It is a part of what fills them. */
static void take_copy(struct ap_gpu_work *work, struct stretch *stretch, uint32_t row)
{
    const struct ap_trace *trace = work->context->trace;
    if (ap_text_contains_folded(ap_row_name(trace, row), "dtoh"))
        *stretch = (struct stretch){ .gemm_ns = -1, .softmax_op = AP_NO_ROW };
    else if (ap_text_contains_folded(ap_row_name(trace, row), "dtod"))
        stretch->between_ns = ap_gpu_add_ns(work, stretch->between_ns, trace->events.dur_ns[row]);
}

/* Without one there is no attention either. */
static bool has_softmax(const struct ap_part_context *context, const uint8_t *roles)
{
    for (uint32_t name = 1; name < ap_trace_id_count(context->trace); name++)
        if (roles[ap_kernel_subfamily_of(&context->facts->families, name)] == ROLE_softmax)
            return true;
    return false;
}

static enum ap_status find_attention(struct ap_gpu_work *work, struct attention *found, struct ap_error *reterr)
{
    const struct ap_part_context *context = work->context;
    const struct ap_trace *trace = context->trace;
    struct stretch *stretches; /* by track */
    uint8_t roles[AP_KERNEL_SUBFAMILY_MASK + 1] = { 0 };
    find_roles(roles);
    if (!has_softmax(context, roles))
        return AP_OK;
    AP_TRY(AP_ALLOC(context->gate, stretches, context->facts->order.track_count, reterr));
    for (size_t track = 0; track < context->facts->order.track_count; track++)
        stretches[track] = (struct stretch){ .gemm_ns = -1, .softmax_op = AP_NO_ROW };
    for (size_t i = 0; i < context->facts->links.count; i++) {
        struct ap_device_row linked = ap_device_row_at(&context->facts->links, i);
        struct stretch *stretch = &stretches[trace->events.track[linked.row]];
        unsigned kind = ap_row_kind(trace->events.tag[linked.row]);
        if (kind == AP_KIND_kernel && ap_gpu_part(work, linked.row) == AP_GPU_COMPUTE)
            take_kernel(work, stretch, linked, roles, found);
        else if (kind == AP_KIND_memcpy)
            take_copy(work, stretch, linked.row);
    }
    AP_FREE(context->gate, stretches, context->facts->order.track_count);
    return AP_OK;
}

enum ap_status ap_gpu_add_attention(struct ap_gpu_work *work, struct ap_model *model, struct ap_value *gpu,
                                    struct ap_error *reterr)
{
    struct attention found = { .count = 0 };
    struct ap_value *to = ap_add_object(model, gpu, "unfused_attention");
    enum ap_status status = find_attention(work, &found, reterr);
    ap_model_keep_time(model, "gpu.unfused_attention", &found.time);
    AP_TRY(status);
    ap_add_count(model, to, "count", found.count);
    ap_add_time(model, to, "scores_us", found.scores_ns);
    ap_add_quotient(model, to, "scores_ratio", (double)found.scores_ns, (double)work->totals.busy_ns);
    ap_add_time(model, to, "gemm_us", found.gemm_ns);
    ap_add_time(model, to, "total_dur_us", ap_gpu_add_ns(work, found.scores_ns, found.gemm_ns));
    return AP_OK;
}
