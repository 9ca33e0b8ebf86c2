/* SPDX-License-Identifier: MIT
 * op_cost.c - the table of the formulas, and those of memory-bound work. */
#include "op_cost_internal.h"

#include "poison.h"

#define SORT_PASSES 25 /* by what radix sorts of pairs reach */
#define TOPK_PASSES 5

double ap_cost_bytes(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor)
{
    int bytes = ap_element_bytes(tensor->element);
    return bytes ? ap_op_distinct(inputs, tensor) * bytes : -1;
}

double ap_cost_elements(const struct ap_tensor_dims *tensor)
{
    return ap_tensor_elements(tensor, 0, tensor->count);
}

bool ap_cost_sum(double *sum, double more)
{
    if (more < 0 || *sum < 0) {
        *sum = -1;
        return false;
    }
    *sum += more;
    return true;
}

/* Of all tensors; a list of them may have been cut. */
static double all_bytes(const struct ap_op_inputs *inputs)
{
    double sum = inputs->tensors.count < AP_TENSORS_MAX ? 0 : -1;
    for (int i = 0; i < inputs->tensors.count; i++)
        (void)ap_cost_sum(&sum, ap_cost_bytes(inputs, &inputs->tensors.tensors[i]));
    return inputs->tensors.count ? sum : -1;
}

/* What tensors of these sizes are broadcast to. */
static double broadcast_elements(const struct ap_op_inputs *inputs)
{
    double elements = 1;
    int most = 0;
    for (int i = 0; i < inputs->tensors.count; i++)
        most = inputs->tensors.tensors[i].count > most ? inputs->tensors.tensors[i].count : most;
    for (int at = 1; at <= most; at++) {
        int64_t size = 1;
        for (int i = 0; i < inputs->tensors.count; i++) {
            const struct ap_tensor_dims *tensor = &inputs->tensors.tensors[i];
            if (at <= tensor->count && tensor->dims[tensor->count - at] > size)
                size = tensor->dims[tensor->count - at];
        }
        elements *= (double)size;
    }
    return elements;
}

static void note_layout(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *first = &inputs->tensors.tensors[0];
    double most = ap_cost_elements(first);
    for (int i = 0; i < inputs->tensors.count; i++) {
        const struct ap_tensor_dims *tensor = &inputs->tensors.tensors[i];
        if (ap_cost_elements(tensor) < most) /* a bias or a mask: small */
            continue;
        cost->is_strided |= ap_op_is_strided(inputs, tensor);
        cost->is_mixed_layout |= ap_op_is_row_major(inputs, tensor) != ap_op_is_row_major(inputs, first);
    }
}

/* An image with its channels apart; one channel lies either way. */
static void note_channels(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *image = &inputs->tensors.tensors[0];
    cost->is_channels_first = image->count >= 4 && ap_op_is_channels_first(inputs, image);
}

static int widest_bytes(const struct ap_op_inputs *inputs)
{
    int widest = 0;
    for (int i = 0; i < inputs->tensors.count; i++) {
        int bytes = ap_element_bytes(inputs->tensors.tensors[i].element);
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

static void elementwise(const struct ap_op_inputs *inputs, struct ap_call_cost *cost, double out_bytes)
{
    note_layout(inputs, cost);
    cost->flops = broadcast_elements(inputs);
    cost->bytes = all_bytes(inputs);
    (void)ap_cost_sum(&cost->bytes, out_bytes);
}

/* A comparison writes less than this by some bytes an element, which is let be. */
static void of_binary(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    elementwise(inputs, cost, broadcast_elements(inputs) * widest_bytes(inputs));
}

static void of_comparison(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    elementwise(inputs, cost, broadcast_elements(inputs));
}

static void of_in_place(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    elementwise(inputs, cost, ap_cost_bytes(inputs, &inputs->tensors.tensors[0]));
}

/* Both are read or written once: each by its own type. */
static void of_copy(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    note_layout(inputs, cost);
    cost->flops = 0;
    cost->bytes = all_bytes(inputs);
    const struct ap_tensor_dims *from = ap_op_input(inputs, 1);
    cost->repeats = from && ap_op_distinct(inputs, from) * 2 <= ap_cost_elements(from);
}

static void of_fill(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    cost->flops = 0;
    cost->bytes = ap_cost_bytes(inputs, &inputs->tensors.tensors[0]);
}

static void passes_over_first(const struct ap_op_inputs *inputs, struct ap_call_cost *cost, int passes, int operations)
{
    double bytes = ap_cost_bytes(inputs, &inputs->tensors.tensors[0]);
    cost->flops = ap_cost_elements(&inputs->tensors.tensors[0]) * operations;
    cost->bytes = bytes < 0 ? -1 : bytes * passes;
}

/* Along a dimension, the last one where it is not told or counted from behind. */
static double along(const struct ap_tensor_dims *tensor, int64_t dimension)
{
    return (double)tensor->dims[dimension >= 0 && dimension < tensor->count ? dimension : tensor->count - 1];
}

/* Rows whose neighbors lie apart. */
static bool goes_across(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor, int64_t dimension)
{
    int64_t at = dimension < 0 ? dimension + tensor->count : dimension;
    return at >= 0 && at < tensor->count && tensor->dims[at] > 1 && ap_op_step(inputs, tensor, (int)at) > 1;
}

static void of_softmax(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *first = &inputs->tensors.tensors[0];
    cost->row_elements = along(first, ap_op_integer(inputs, 1));
    passes_over_first(inputs, cost, 2, 5);
    cost->is_strided |= goes_across(inputs, first, ap_op_integer(inputs, 1));
}

static void of_softmax_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    passes_over_first(inputs, cost, 3, 4);
}

/* Weight and bias are vectors among the first inputs; running statistics, which stand behind them, are no parameters. */
static double norm_parameters(const struct ap_op_inputs *inputs)
{
    double sum = 0;
    int vectors = 0;
    for (int i = 1; i < inputs->tensors.count && vectors < 2; i++)
        if (inputs->tensors.tensors[i].count == 1) {
            sum += ap_cost_elements(&inputs->tensors.tensors[i]);
            vectors++;
        }
    return sum;
}

/* Arguments of batch norms. */
enum { RUNNING_MEAN = 3, OF_BATCH = 5 };

static void of_norm(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    int64_t sizes[AP_DIMS_MAX];
    int count = ap_op_integers(inputs, 1, sizes, AP_DIMS_MAX); /* of layer and RMS norm: what is normalized together */
    cost->row_elements = count ? 1 : 0;
    for (int i = 0; i < count; i++)
        cost->row_elements *= (double)sizes[i];
    cost->parameters = norm_parameters(inputs);
    cost->is_training = ap_op_input(inputs, RUNNING_MEAN) && ap_op_flag(inputs, OF_BATCH);
    note_channels(inputs, cost);
    passes_over_first(inputs, cost, 2, 5);
}

static void of_norm_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    note_channels(inputs, cost);
    passes_over_first(inputs, cost, 3, 9);
}

static void of_reduction(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    note_layout(inputs, cost);
    note_channels(inputs, cost);
    passes_over_first(inputs, cost, 1, 1);
}

/* With each result, one for a stride of places, stands where it came from. */
static void of_max_pool(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    int64_t strides[3];
    int count = ap_op_integers(inputs, 2, strides, 3);
    double results = ap_cost_elements(&inputs->tensors.tensors[0]),
           bytes = ap_cost_bytes(inputs, &inputs->tensors.tensors[0]);
    for (int i = 0; i < count; i++)
        results /= strides[i] > 1 ? (double)strides[i] : 1;
    note_channels(inputs, cost);
    cost->flops = ap_cost_elements(&inputs->tensors.tensors[0]);
    if (bytes >= 0 && count)
        cost->bytes = bytes + results * (ap_element_bytes(cost->element) + 8);
}

/* Running sums: as much is written as is read. */
static void of_scan(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    note_layout(inputs, cost);
    passes_over_first(inputs, cost, 2, 1);
}

/* Read, written, and a byte of the mask for each. */
static void of_dropout(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    passes_over_first(inputs, cost, 2, 2);
    if (cost->bytes >= 0)
        cost->bytes += ap_cost_elements(&inputs->tensors.tensors[0]);
}

/* All tensors once: inputs, and the output that the caller hands in. */
static void of_each_once(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    cost->flops = ap_cost_elements(&inputs->tensors.tensors[0]) * 5;
    cost->bytes = all_bytes(inputs);
}

/* What is normalized and what is added to it: both are read and written in place. */
static void of_added_norm(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    passes_over_first(inputs, cost, 4, 6);
}

/* Values are read, and written with where they came from; by digits, each of which is counted, read and written. */
static void of_sort(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    cost->passes = SORT_PASSES;
    passes_over_first(inputs, cost, 2, 1);
    if (cost->bytes >= 0)
        cost->bytes += 8 * ap_cost_elements(&inputs->tensors.tensors[0]);
}

/* What is kept is little. */
static void of_topk(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    cost->passes = TOPK_PASSES;
    passes_over_first(inputs, cost, 1, 1);
}

/* Into a tensor, along a dimension, by an index, values: each is read, and what it meets is read and written. */
static void of_scatter(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *index = ap_op_input(inputs, 2), *values = ap_op_input(inputs, 3);
    if (!index || !values)
        return;
    double value_bytes = ap_cost_bytes(inputs, values), index_bytes = ap_cost_bytes(inputs, index);
    cost->is_scattered = true;
    cost->flops = ap_cost_elements(values);
    cost->bytes = value_bytes < 0 || index_bytes < 0 ? -1 : 3 * value_bytes + index_bytes;
}

/* Into a tensor, at the places of a list of indices, values: of each is told what a list has, but for its type. */
static void of_index_put(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *values = ap_op_input(inputs, 2);
    cost->is_scattered = true;
    if (!values)
        return;
    cost->flops = ap_cost_elements(values);
    cost->bytes = ap_cost_bytes(inputs, values);
    cost->bytes *= cost->bytes < 0 ? 1 : 3;
}

/* Gradients of the rows that were met, added up into those of a whole table. */
static void of_embedding_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *gradient = ap_op_input(inputs, 0), *index = ap_op_input(inputs, 1);
    int64_t rows = ap_op_integer(inputs, 2);
    int bytes = gradient ? ap_element_bytes(gradient->element) : 0;
    cost->is_scattered = true;
    cost->flops = gradient ? ap_cost_elements(gradient) : -1;
    if (bytes && index && rows > 0)
        cost->bytes = bytes * (ap_cost_elements(gradient) + (double)rows * along(gradient, -1)) +
                      ap_cost_elements(index) * ap_element_bytes(index->element);
}

/* All is read and written. The type of a list is seldom told: its kernel may know how long an element is. */
static void of_cat(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    double elements = 0;
    cost->flops = 0;
    cost->bytes = all_bytes(inputs);
    cost->bytes *= cost->bytes < 0 ? 1 : 2;
    if (cost->bytes >= 0 || inputs->tensors.count >= AP_TENSORS_MAX)
        return;
    for (int i = 0; i < inputs->tensors.count; i++)
        elements += ap_cost_elements(&inputs->tensors.tensors[i]);
    cost->moved_elements = 2 * elements;
}

/* Rows of a table: read and written, and the numbers of the rows. */
static void rows_of_table(const struct ap_op_inputs *inputs, struct ap_call_cost *cost, int index_input, double row_elements)
{
    const struct ap_tensor_dims *table = ap_op_input(inputs, 0), *index = ap_op_input(inputs, index_input);
    cost->flops = 0;
    cost->is_scattered = true;
    if (!table || !index || !ap_element_bytes(table->element))
        return;
    double elements = ap_cost_elements(index) * row_elements;
    cost->bytes =
        2 * elements * ap_element_bytes(table->element) + ap_op_distinct(inputs, index) * ap_element_bytes(index->element);
}

static void of_embedding(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *table = ap_op_input(inputs, 0);
    if (!table)
        return;
    cost->parameters = ap_cost_elements(table);
    rows_of_table(inputs, cost, 1, (double)table->dims[table->count - 1]);
}

/* The rows that are met, summed up by bag: each is read, and each bag's sum is written. */
static void of_embedding_bag(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *table = ap_op_input(inputs, 0), *index = ap_op_input(inputs, 1),
                                *bags = ap_op_input(inputs, 2);
    cost->is_scattered = true;
    if (!table || !index || !bags || table->count != 2 || bags->count != 1)
        return;
    double met = ap_cost_elements(index), row = (double)table->dims[1];
    int bytes = ap_element_bytes(table->element);
    cost->parameters = ap_cost_elements(table);
    cost->flops = met * row;
    if (bytes)
        cost->bytes = bytes * row * (met + ap_cost_elements(bags)) + met * ap_element_bytes(index->element);
}

/* The types of a list are not told: one as large as what it chooses from may be a mask. */
static bool may_be_mask(const struct ap_tensor_dims *index, const struct ap_tensor_dims *from)
{
    int same = 0;
    while (same < index->count && same < from->count && index->dims[same] == from->dims[same])
        same++;
    return same == index->count;
}

/* By a list of indices for the first dimensions; a gap in it is not told. */
static void of_index(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *from = ap_op_input(inputs, 0), *index = ap_op_input(inputs, 1);
    int indexed = 0, bytes = from ? ap_element_bytes(from->element) : 0;
    cost->is_scattered = true;
    cost->flops = 0;
    if (!from || !index || !bytes || may_be_mask(index, from))
        return;
    for (int i = 0; i < inputs->tensors.count; i++)
        indexed += inputs->tensors.tensors[i].input == 1;
    if (indexed >= from->count)
        return;
    double chosen = ap_cost_elements(index), rows = ap_tensor_elements(from, indexed, from->count);
    cost->bytes = bytes * 2 * chosen * rows + 8 * chosen * indexed;
}

/* To the sizes that are given, of the dimensions behind batch and channels. */
static void of_resize(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *image = ap_op_input(inputs, 0);
    int64_t sizes[AP_DIMS_MAX];
    int count = ap_op_integers(inputs, 1, sizes, AP_DIMS_MAX), bytes = image ? ap_element_bytes(image->element) : 0;
    if (!image || !bytes || !count || image->count != count + 2)
        return;
    double places = 1;
    for (int i = 0; i < count; i++)
        places *= (double)sizes[i];
    double out = ap_tensor_elements(image, 0, 2) * places;
    cost->flops = out;
    cost->bytes = bytes * (ap_cost_elements(image) + out);
}

/* Of one image, batch and channels in front: what has the sizes of another one in the other dimensions. */
static double resized_bytes(const struct ap_tensor_dims *image, double places)
{
    return ap_element_bytes(image->element) * ap_tensor_elements(image, 0, 2) * places;
}

/* Each gradient goes to the places that it came from, several to one: to the sizes that are given. */
static void of_resize_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *gradient = ap_op_input(inputs, 0);
    int64_t sizes[AP_DIMS_MAX];
    int count = ap_op_integers(inputs, 2, sizes, AP_DIMS_MAX);
    cost->is_scattered = true;
    if (!gradient || gradient->count < 3 || count != gradient->count || !ap_element_bytes(gradient->element))
        return;
    double places = 1;
    for (int i = 2; i < count; i++)
        places *= (double)sizes[i];
    cost->flops = ap_cost_elements(gradient);
    cost->bytes = ap_cost_bytes(inputs, gradient) + resized_bytes(gradient, places);
}

/* Gradients, and where each came from if that is told, are read; of the image the sizes alone are needed, and as much is
 * written. */
static void of_pool_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    cost->is_scattered = true;
    note_channels(inputs, cost);
    cost->flops = ap_cost_elements(&inputs->tensors.tensors[0]);
    cost->bytes = all_bytes(inputs);
}

/* A grid tells for each place of the result where in the image it comes from. Of its gradients nobody knows how many meet in
 * one place, so that no good kernel is told. */
static void of_grid_sampler(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *image = ap_op_input(inputs, 0), *grid = ap_op_input(inputs, 1);
    cost->is_scattered = true;
    if (!image || !grid || image->count < 4 || grid->count != image->count || !ap_element_bytes(image->element))
        return;
    double places = ap_tensor_elements(grid, 1, grid->count - 1);
    double result = resized_bytes(image, places), read = ap_cost_bytes(inputs, image);
    cost->flops = ap_tensor_elements(image, 0, 2) * places;
    cost->bytes = result + (read < result ? read : result) + ap_cost_bytes(inputs, grid);
}

static void of_gather(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    rows_of_table(inputs, cost, 2, 1);
}

static void of_index_select(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *from = ap_op_input(inputs, 0);
    int64_t along = ap_op_integer(inputs, 1);
    if (from && along >= 0 && along < from->count && from->dims[along])
        rows_of_table(inputs, cost, 2, ap_cost_elements(from) / (double)from->dims[along]);
}

static ap_cost_formula *const formulas[AP_FORMULA_COUNT_] = {
    [AP_FORMULA_mm] = ap_cost_of_mm,
    [AP_FORMULA_addmm] = ap_cost_of_addmm,
    [AP_FORMULA_scaled_mm] = ap_cost_of_mm,
    [AP_FORMULA_addmv] = ap_cost_of_addmv,
    [AP_FORMULA_mv] = ap_cost_of_mv,
    [AP_FORMULA_recurrent] = ap_cost_of_recurrent,
    [AP_FORMULA_recurrent_backward] = ap_cost_of_recurrent_backward,
    [AP_FORMULA_grouped_mm] = ap_cost_of_grouped_mm,
    [AP_FORMULA_linear] = ap_cost_of_linear,
    [AP_FORMULA_matmul] = ap_cost_of_matmul,
    [AP_FORMULA_own_product] = ap_cost_of_own_product,
    [AP_FORMULA_convolution] = ap_cost_of_convolution,
    [AP_FORMULA_conv] = ap_cost_of_conv,
    [AP_FORMULA_conv_transpose] = ap_cost_of_conv_transpose,
    [AP_FORMULA_library_conv] = ap_cost_of_library_conv,
    [AP_FORMULA_cudnn_conv] = ap_cost_of_cudnn_conv,
    [AP_FORMULA_depthwise_conv] = ap_cost_of_depthwise_conv,
    [AP_FORMULA_library_conv_transpose] = ap_cost_of_library_conv_transpose,
    [AP_FORMULA_convolution_backward] = ap_cost_of_convolution_backward,
    [AP_FORMULA_cudnn_backward_input] = ap_cost_of_cudnn_backward_input,
    [AP_FORMULA_sdpa_flash] = ap_cost_of_sdpa_flash,
    [AP_FORMULA_sdpa_cpu] = ap_cost_of_sdpa_flash,
    [AP_FORMULA_sdpa_biased] = ap_cost_of_sdpa_biased,
    [AP_FORMULA_sdpa] = ap_cost_of_sdpa,
    [AP_FORMULA_flash_forward] = ap_cost_of_flash_forward,
    [AP_FORMULA_flash_library] = ap_cost_of_flash_library,
    [AP_FORMULA_efficient_forward] = ap_cost_of_efficient_forward,
    [AP_FORMULA_sdpa_backward] = ap_cost_of_sdpa_backward,
    [AP_FORMULA_sdpa_biased_backward] = ap_cost_of_sdpa_biased_backward,
    [AP_FORMULA_efficient_backward] = ap_cost_of_efficient_backward,
    [AP_FORMULA_sdpa_cudnn_backward] = ap_cost_of_sdpa_cudnn_backward,
    [AP_FORMULA_sdpa_cpu_backward] = ap_cost_of_sdpa_cpu_backward,
    [AP_FORMULA_flash_backward] = ap_cost_of_flash_backward,
    [AP_FORMULA_flash_library_backward] = ap_cost_of_flash_library_backward,
    [AP_FORMULA_flash_packed] = ap_cost_of_flash_packed,
    [AP_FORMULA_flash_packed_backward] = ap_cost_of_flash_packed_backward,
    [AP_FORMULA_flash_three] = ap_cost_of_flash_three,
    [AP_FORMULA_engine_attention] = ap_cost_of_engine_attention,
    [AP_FORMULA_experts] = ap_cost_of_experts,
    [AP_FORMULA_copy] = of_copy,
    [AP_FORMULA_comparison] = of_comparison,
    [AP_FORMULA_binary] = of_binary,
    [AP_FORMULA_in_place] = of_in_place,
    [AP_FORMULA_fill] = of_fill,
    [AP_FORMULA_softmax] = of_softmax,
    [AP_FORMULA_softmax_backward] = of_softmax_backward,
    [AP_FORMULA_norm] = of_norm,
    [AP_FORMULA_norm_backward] = of_norm_backward,
    [AP_FORMULA_library_norm_backward] = of_norm_backward,
    [AP_FORMULA_reduction] = of_reduction,
    [AP_FORMULA_max_pool] = of_max_pool,
    [AP_FORMULA_scan] = of_scan,
    [AP_FORMULA_dropout] = of_dropout,
    [AP_FORMULA_scatter] = of_scatter,
    [AP_FORMULA_norm_each_once] = of_each_once,
    [AP_FORMULA_added_norm] = of_added_norm,
    [AP_FORMULA_each_once] = of_each_once,
    [AP_FORMULA_sort] = of_sort,
    [AP_FORMULA_topk] = of_topk,
    [AP_FORMULA_index_put] = of_index_put,
    [AP_FORMULA_embedding_backward] = of_embedding_backward,
    [AP_FORMULA_cat] = of_cat,
    [AP_FORMULA_embedding] = of_embedding,
    [AP_FORMULA_embedding_bag] = of_embedding_bag,
    [AP_FORMULA_index] = of_index,
    [AP_FORMULA_resize] = of_resize,
    [AP_FORMULA_resize_backward] = of_resize_backward,
    [AP_FORMULA_pool_backward] = of_pool_backward,
    [AP_FORMULA_grid_sampler] = of_grid_sampler,
    [AP_FORMULA_gather] = of_gather,
    [AP_FORMULA_index_select] = of_index_select,
};

static bool has_element(const struct ap_op_inputs *inputs, enum ap_element element)
{
    for (int i = 0; i < inputs->tensors.count; i++)
        if (inputs->tensors.tensors[i].element == element)
            return true;
    return false;
}

static bool has_smaller_float(const struct ap_op_inputs *inputs)
{
    return has_element(inputs, AP_ELEMENT_fp32) || has_element(inputs, AP_ELEMENT_fp16) ||
           has_element(inputs, AP_ELEMENT_bf16);
}

static bool has_8_bits(const struct ap_op_inputs *inputs)
{
    return has_element(inputs, AP_ELEMENT_fp8) || has_element(inputs, AP_ELEMENT_int8) ||
           has_element(inputs, AP_ELEMENT_uint8);
}

static bool is_short(enum ap_element element)
{
    return element == AP_ELEMENT_fp16 || element == AP_ELEMENT_bf16;
}

void ap_op_cost_of(enum ap_op_formula formula, const struct ap_op_inputs *inputs, struct ap_call_cost *ret_cost)
{
    *ret_cost = (struct ap_call_cost){ .kind = ap_op_formula_kind(formula), .flops = -1, .bytes = -1 };
    if (!inputs->tensors.count || inputs->tensors.leaves_out)
        return;
    ret_cost->element = inputs->tensors.tensors[0].element;
    ret_cost->elements = ap_cost_elements(&inputs->tensors.tensors[0]);
    ret_cost->meets_doubles = has_element(inputs, AP_ELEMENT_fp64) && has_smaller_float(inputs);
    ret_cost->narrows = formula == AP_FORMULA_copy && has_smaller_float(inputs) &&
                        (ret_cost->element == AP_ELEMENT_fp8 || ret_cost->element == AP_ELEMENT_int8);
    ret_cost->shortens = formula == AP_FORMULA_copy && has_element(inputs, AP_ELEMENT_fp32) && is_short(ret_cost->element);
    ret_cost->unpacks = formula == AP_FORMULA_copy && is_short(ret_cost->element) && has_8_bits(inputs);
    formulas[formula](inputs, ret_cost);
}
