/* SPDX-License-Identifier: MIT
 * Weights of 32 bits that are cast to 16 more often than a pass needs it. Autocast keeps a cast of a weight that needs a
 * gradient until the outermost of its blocks ends: then one pass casts it once, and one gradient comes back through that.
 * More of both are of casts that were not kept. Of a weight that is frozen none is kept, nor of any in inference. */
#include "habits.h"
#include "tensor_dims.h"

#include "poison.h"

#define LEAST_ELEMENTS (16 * 1024) /* fewer cost nothing */
#define WEIGHTS_MOST 16            /* sizes of weights that are looked at, each against all shapes */
#define OFTEN 1.75                 /* casts of a weight for each gradient that it gets: more than one and a half by chance */

struct casts {
    struct ap_habits *habits;
    const struct ap_facts *facts;
    const struct ap_host_work *work;
    struct ap_tensor_list list; /* of the shape that is looked at */
};

/* What happens to weights of one size. */
struct uses {
    double shortened, lengthened; /* casts to 16 bits, and of gradients back to 32 */
    double made;                  /* by operators that cast */
    double gathered, multiplied;  /* gradients that arrive; products with it */
    bool changed;                 /* in place: no optimizer tells of each */
};

static void read_shape(struct casts *casts, uint32_t index)
{
    struct ap_text dims, types;
    ap_trace_signature(casts->facts->trace, (struct ap_str){ ap_host_shape_cost(casts->work, index).signature }, &dims,
                       &types);
    ap_tensor_list_read(&casts->list, dims, types);
}

static bool is_named(const struct casts *casts, uint32_t index, const char *name)
{
    return ap_text_equal(ap_trace_text(casts->facts->trace, ap_host_shape_cost(casts->work, index).cost.name),
                         ap_text_of(name));
}

static bool is_short(enum ap_element element)
{
    return element == AP_ELEMENT_fp16 || element == AP_ELEMENT_bf16;
}

static const struct ap_tensor_dims *input(const struct casts *casts, int number)
{
    for (int i = 0; i < casts->list.count; i++)
        if (casts->list.tensors[i].input == number)
            return &casts->list.tensors[i];
    return NULL;
}

/* Copies between 32 and 16 bits, of a matrix or more: 1 = to 16 bits, -1 = to 32. */
static int cast_of(const struct casts *casts, uint32_t index)
{
    const struct ap_tensor_dims *to = input(casts, 0), *from = input(casts, 1);
    if (!is_named(casts, index, "aten::copy_") || !to || !from || !ap_tensor_equal(to, from) || to->count < 2 ||
        ap_tensor_elements(to, 0, to->count) < LEAST_ELEMENTS)
        return 0;
    return is_short(to->element) && from->element == AP_ELEMENT_fp32   ? 1
           : to->element == AP_ELEMENT_fp32 && is_short(from->element) ? -1
                                                                       : 0;
}

static void note_use(const struct casts *casts, uint32_t index, const struct ap_tensor_dims *weight, struct uses *uses)
{
    const struct ap_tensor_dims *first = input(casts, 0), *second = input(casts, 1);
    double calls = (double)ap_host_shape_cost(casts->work, index).cost.calls;
    int cast = cast_of(casts, index);
    bool is_first = first && ap_tensor_equal(first, weight), is_second = second && ap_tensor_equal(second, weight);
    uses->shortened += is_first && cast > 0 ? calls : 0;
    uses->lengthened += is_first && cast < 0 ? calls : 0;
    uses->made += is_first && first->element == AP_ELEMENT_fp32 && is_named(casts, index, "aten::_to_copy") ? calls : 0;
    uses->gathered += is_first && is_named(casts, index, "torch::autograd::AccumulateGrad") ? calls : 0;
    bool multiplies = is_named(casts, index, "aten::linear") || is_named(casts, index, "aten::conv2d") ||
                      is_named(casts, index, "aten::convolution");
    uses->multiplied += is_second && multiplies ? calls : 0;
    uses->changed |=
        is_first && is_second && (is_named(casts, index, "aten::lerp_") || is_named(casts, index, "aten::add_"));
}

/* What happens to the weight, and the share of its casts that one which is kept would spare. */
static double spared(struct casts *casts, const struct ap_tensor_dims *weight, struct uses *ret_uses)
{
    struct uses uses = { .made = 0 };
    for (uint32_t i = 0; i < casts->work->shape_count; i++) {
        read_shape(casts, i);
        note_use(casts, i, weight, &uses);
    }
    double made = uses.made < uses.shortened ? uses.made : uses.shortened;
    uses.made = made;
    *ret_uses = uses;
    if (uses.gathered > 0) {
        double passed = uses.lengthened < made ? uses.lengthened : made;
        return passed >= OFTEN * uses.gathered ? (passed - uses.gathered) / made : 0;
    }
    return made > 0 && uses.multiplied >= made && uses.lengthened <= 0 && !uses.changed ? 1 : 0;
}

/* Calls of the shape with all that they call, of which that share goes. */
static void add_shape(struct casts *casts, uint32_t index, double share)
{
    const struct ap_shape_cost shape = ap_host_shape_cost(casts->work, index);
    struct ap_habit *habit = &casts->habits->of[AP_HABIT_cast_again];
    bool *overflowed = &casts->habits->overflowed;
    int64_t host_ns = shape.cost.host_total_ns, device_ns = ap_device_cost(casts->work, &shape.cost)->total_ns;
    habit->total_ns = ap_add_sat(habit->total_ns, host_ns, overflowed);
    habit->saves_ns = ap_add_sat(habit->saves_ns, ap_share_of(host_ns, share), overflowed);
    habit->device_ns = ap_add_sat(habit->device_ns, device_ns, overflowed);
    habit->device_saves_ns = ap_add_sat(habit->device_saves_ns, ap_share_of(device_ns, share), overflowed);
}

/* The casts, their nodes of the backward pass, and the sums of the gradients that come through them. */
static void add_casts(struct casts *casts, const struct ap_tensor_dims *weight, const struct uses *uses, double share)
{
    struct ap_habit *habit = &casts->habits->of[AP_HABIT_cast_again];
    for (uint32_t i = 0; i < casts->work->shape_count; i++) {
        const struct ap_shape_cost shape = ap_host_shape_cost(casts->work, i);
        double calls = (double)shape.cost.calls, spared = share * uses->made;
        read_shape(casts, i);
        const struct ap_tensor_dims *first = input(casts, 0), *second = input(casts, 1);
        if (!first || !ap_tensor_equal(first, weight))
            continue;
        if (is_named(casts, i, "ToCopyBackward0") && is_short(first->element))
            add_shape(casts, i, share);
        if (is_named(casts, i, "aten::add_") && uses->gathered > 0 && second && ap_tensor_equal(second, weight))
            add_shape(casts, i, spared < calls ? spared / calls : 1);
        if (!is_named(casts, i, "aten::_to_copy") || first->element != AP_ELEMENT_fp32)
            continue;
        add_shape(casts, i, share);
        habit->count += (uint64_t)(calls * share);
        if (habit->row != AP_NO_ROW && habit->longest_ns >= shape.cost.host_total_ns)
            continue;
        habit->longest_ns = shape.cost.host_total_ns;
        habit->row = shape.cost.slowest_row;
        habit->names[0] = shape.cost.name;
        habit->signature = shape.signature;
    }
}

/* A checkpointed pass is run again, and casts again: its first casts may have gone with their block. */
void ap_habits_of_casts(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct casts casts = { habits, facts, work, { .count = 0 } };
    struct ap_tensor_dims weights[WEIGHTS_MOST];
    uint32_t count = 0, shape_count = habits->of[AP_HABIT_recompute].count ? 0 : work->shape_count;
    for (uint32_t i = 0; i < shape_count && count < WEIGHTS_MOST; i++) {
        read_shape(&casts, i);
        if (cast_of(&casts, i) <= 0)
            continue;
        weights[count++] = *input(&casts, 0);
        for (uint32_t k = 0; k + 1 < count; k++)
            if (ap_tensor_equal(&weights[k], &weights[count - 1])) {
                count--;
                break;
            }
    }
    for (uint32_t k = 0; k < count; k++) {
        struct uses uses;
        double share = spared(&casts, &weights[k], &uses);
        if (share > 0)
            add_casts(&casts, &weights[k], &uses, share);
    }
    habits->of[AP_HABIT_cast_again].has_device = facts->links.count > 0;
}
