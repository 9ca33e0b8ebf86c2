/* SPDX-License-Identifier: MIT
 * cost_of_products.c - products of matrices, in batches, groups and mixtures of experts. */
#include <math.h>

#include "op_cost_internal.h"

#include "poison.h"

/* [batch x m x k] times [batch x k x n], of operands of cost->element. Of 4 bits two numbers stand in one along k. */
static void set_product(struct ap_call_cost *cost, double batch, double m, double n, double k, int a_bytes, int b_bytes,
                        int out_bytes)
{
    double numbers = cost->element == AP_ELEMENT_fp4 ? 2 : 1;
    cost->batch = batch;
    cost->m = m;
    cost->n = n;
    cost->k = k * numbers;
    cost->flops = 2 * batch * m * n * cost->k;
    cost->weight_bytes = batch * k * n * b_bytes;
    cost->parameters = batch > 1 ? 0 : cost->k * n;
    if (a_bytes && b_bytes)
        cost->bytes = batch * (m * k * a_bytes + k * n * b_bytes + m * n * out_bytes);
}

static void product(struct ap_call_cost *cost, const struct ap_tensor_dims *a, const struct ap_tensor_dims *b, int out_bytes)
{
    int a_bytes, b_bytes, last;
    if (!a || !b || a->count != b->count || (a->count != 2 && a->count != 3))
        return;
    last = a->count - 1;
    if (a->dims[last] != b->dims[last - 1] || (last == 2 && a->dims[0] != b->dims[0]))
        return;
    cost->element = a->element;
    a_bytes = ap_element_bytes(a->element);
    b_bytes = ap_element_bytes(b->element);
    set_product(cost, last == 2 ? (double)a->dims[0] : 1, (double)a->dims[last - 1], (double)b->dims[last],
                (double)a->dims[last], a_bytes, b_bytes, out_bytes ? out_bytes : a_bytes);
}

/* Whole numbers of 8 bits are summed up in 32. Floats of 8 have a result of 16, or more: what it is stands in a number of
 * PyTorch's own. */
static int out_bytes_of(enum ap_element element)
{
    int bytes = ap_element_bytes(element);
    return bytes > 1 ? bytes : element == AP_ELEMENT_int8 || element == AP_ELEMENT_uint8 ? 4 : 2;
}

void ap_cost_of_mm(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *a = ap_op_input(inputs, 0);
    product(cost, a, ap_op_input(inputs, 1), a ? out_bytes_of(a->element) : 0);
}

void ap_cost_of_addmm(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *bias = ap_op_input(inputs, 0);
    product(cost, ap_op_input(inputs, 1), ap_op_input(inputs, 2), 0);
    if (!bias || cost->flops < 0)
        return;
    (void)ap_cost_sum(&cost->bytes, ap_cost_bytes(inputs, bias));
    cost->parameters += cost->batch > 1 ? 0 : ap_cost_elements(bias);
}

/* [n x k] times a vector: one row meets the matrix. */
static void matrix_and_vector(const struct ap_tensor_dims *a, const struct ap_tensor_dims *x, struct ap_call_cost *cost)
{
    if (!a || !x || a->count != 2 || x->count != 1 || a->dims[1] != x->dims[0])
        return;
    int bytes = ap_element_bytes(a->element);
    cost->element = a->element;
    set_product(cost, 1, 1, (double)a->dims[0], (double)a->dims[1], bytes, bytes, bytes);
}

void ap_cost_of_mv(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    matrix_and_vector(ap_op_input(inputs, 0), ap_op_input(inputs, 1), cost);
}

/* That, added to a vector. */
void ap_cost_of_addmv(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    matrix_and_vector(ap_op_input(inputs, 1), ap_op_input(inputs, 2), cost);
}

/* Each row of the input, a time step of one sequence, meets the matrices of all gates, layers and directions once. Bytes are
 * not counted: weights may be read again at each step, and steps wait for each other. */
static void recurrent(const struct ap_op_inputs *inputs, struct ap_call_cost *cost, double times)
{
    const struct ap_tensor_dims *x = ap_op_input(inputs, 0);
    double weights = 0;
    for (int i = 0; i < inputs->tensors.count; i++) {
        const struct ap_tensor_dims *tensor = &inputs->tensors.tensors[i];
        bool may_be_weights = tensor->count == 2 && (tensor->input == 1 || tensor->input == 2);
        weights += may_be_weights ? ap_cost_elements(tensor) : 0;
    }
    if (!x || x->count < 2 || weights <= 0)
        return;
    cost->flops = 2 * times * ap_tensor_elements(x, 0, x->count - 1) * weights;
    cost->parameters = weights;
}

void ap_cost_of_recurrent(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    recurrent(inputs, cost, 1);
}

/* Gradients of the inputs, and of the weights. */
void ap_cost_of_recurrent_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    recurrent(inputs, cost, 2);
    cost->is_backward = true;
    cost->parameters = 0;
}

/* Rows are dealt to groups: each meets the matrix of one of them. Of two matrices the inner size is dealt: each group has a
 * result of its own. */
void ap_cost_of_grouped_mm(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *a = ap_op_input(inputs, 0), *b = ap_op_input(inputs, 1), *ends;
    if (!a || !b || a->count != 2 || (b->count != 2 && b->count != 3) || a->dims[1] != b->dims[b->count - 2])
        return;
    double m = (double)a->dims[0], n = (double)b->dims[b->count - 1], k = (double)a->dims[1];
    int bytes = ap_element_bytes(a->element);
    cost->element = a->element;
    set_product(cost, 1, m, n, k, bytes, ap_element_bytes(b->element), out_bytes_of(a->element));
    if (b->count == 3 && cost->bytes >= 0) {
        cost->experts = (double)b->dims[0];
        cost->tokens_per_expert = m / cost->experts;
        cost->weight_bytes *= fmin(cost->experts, m);
        cost->bytes += cost->weight_bytes - k * n * ap_element_bytes(b->element);
        return;
    }
    ends = ap_op_input(inputs, ap_op_input(inputs, 4) ? 4 : 2);
    if (ends && ends->count == 1 && cost->bytes >= 0)
        cost->bytes += ((double)ends->dims[0] - 1) * m * n * out_bytes_of(cost->element);
}

/* The weights are [out, in]. */
void ap_cost_of_linear(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *x = ap_op_input(inputs, 0), *w = ap_op_input(inputs, 1);
    if (!x || !w || w->count != 2 || x->dims[x->count - 1] != w->dims[1])
        return;
    int bytes = ap_element_bytes(x->element);
    set_product(cost, 1, ap_tensor_elements(x, 0, x->count - 1), (double)w->dims[0], (double)w->dims[1], bytes,
                ap_element_bytes(w->element), bytes == 1 ? 2 : bytes);
}

/* Batches are spread out against each other; one matrix for all of them meets all rows at once. */
void ap_cost_of_matmul(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *a = ap_op_input(inputs, 0), *b = ap_op_input(inputs, 1);
    if (!a || !b || a->count < 2 || b->count < 2 || a->dims[a->count - 1] != b->dims[b->count - 2])
        return;
    int bytes = ap_element_bytes(a->element);
    double batch = 1, rows = b->count == 2 ? ap_tensor_elements(a, 0, a->count - 1) : (double)a->dims[a->count - 2];
    for (int at = 3; b->count > 2 && (at <= a->count || at <= b->count); at++) {
        int64_t of_a = at <= a->count ? a->dims[a->count - at] : 1, of_b = at <= b->count ? b->dims[b->count - at] : 1;
        batch *= (double)(of_a == 1 ? of_b : of_a);
    }
    set_product(cost, batch, rows, (double)b->dims[b->count - 1], (double)a->dims[a->count - 1], bytes,
                ap_element_bytes(b->element), bytes);
    if (cost->bytes >= 0)
        cost->bytes = ap_cost_elements(a) * bytes + ap_cost_elements(b) * ap_element_bytes(b->element) +
                      batch * rows * cost->n * bytes;
}

/* Of a library that is not known, by the name alone: two matrices and perhaps a vector, of one type. Packed weights have
 * another one, and sizes that do not tell how many there are. */
void ap_cost_of_own_product(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *a = ap_op_input(inputs, 0), *b = ap_op_input(inputs, 1);
    if (a && b && a->element == b->element && inputs->tensors.count <= 3)
        ap_cost_of_matmul(inputs, cost);
}

/* ---- mixtures of experts in one call ---- */

/* The weights are [experts, inner or twice that, hidden] and [experts, hidden, inner], or both the other way around. */
struct experts {
    const struct ap_tensor_dims *up, *down, *tokens;
    double chosen; /* experts for each token */
};

static bool find_experts(const struct ap_op_inputs *inputs, struct experts *ret_experts)
{
    *ret_experts = (struct experts){ .chosen = 0 };
    for (int i = 0; i < inputs->tensors.count; i++) {
        const struct ap_tensor_dims *tensor = &inputs->tensors.tensors[i];
        if (tensor->count == 3 && !ret_experts->up)
            ret_experts->up = tensor;
        else if (tensor->count == 3 && !ret_experts->down && tensor->dims[0] == ret_experts->up->dims[0])
            ret_experts->down = tensor;
        else if (tensor->count == 2 && !ret_experts->up)
            ret_experts->tokens = tensor;
        else if (tensor->count == 2 && ret_experts->down && ret_experts->chosen <= 0 &&
                 tensor->dims[0] == ret_experts->tokens->dims[0] && tensor->dims[1] <= ret_experts->up->dims[0])
            ret_experts->chosen = (double)tensor->dims[1];
        if (ret_experts->up && !ret_experts->tokens)
            return false;
    }
    if (!ret_experts->down || !ret_experts->up->dims[0])
        return false;
    int64_t hidden = ret_experts->tokens->dims[1];
    return (hidden == ret_experts->up->dims[2] && hidden == ret_experts->down->dims[1]) ||
           (hidden == ret_experts->up->dims[1] && hidden == ret_experts->down->dims[2]);
}

/* So many experts are met by tokens that choose theirs evenly. The power by squares: pow() differs between machines. */
static double experts_met(double experts, int64_t tokens, double chosen)
{
    double missed = 1, base = 1 - fmin(chosen / experts, 1);
    for (; tokens; tokens /= 2) {
        missed *= tokens % 2 ? base : 1;
        base *= base;
    }
    return experts * (1 - missed);
}

void ap_cost_of_experts(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    struct experts found;
    if (!find_experts(inputs, &found) || found.chosen <= 0)
        return;
    double experts = (double)found.up->dims[0], tokens = (double)found.tokens->dims[0];
    double of_one = (double)found.up->dims[1] * (double)found.up->dims[2] + /* elements of the weights of an expert */
                    (double)found.down->dims[1] * (double)found.down->dims[2];
    int weight_bytes = ap_element_bytes(found.up->element), token_bytes = ap_element_bytes(found.tokens->element);
    cost->element = found.up->element;
    cost->experts = experts;
    cost->tokens_per_expert = tokens * found.chosen / experts;
    cost->flops = 2 * tokens * found.chosen * of_one;
    cost->parameters = experts * of_one;
    cost->weight_bytes = experts_met(experts, found.tokens->dims[0], found.chosen) * of_one * weight_bytes;
    if (weight_bytes && token_bytes)
        cost->bytes = cost->weight_bytes + 2 * ap_cost_elements(found.tokens) * token_bytes;
}
