/* SPDX-License-Identifier: MIT
 * cost_of_attention.c - attention in one call: two products forward, five backward. Keys and values may have fewer heads
 * than the queries; what a causal mask hides is not counted. */
#include "op_cost_internal.h"

#include "poison.h"

/* Where the arguments stand; -1 = it has none. */
struct places {
    int q, k, v, causal;
    bool heads_first; /* [batch, heads, tokens, size] and not [batch, tokens, heads, size] */
    int lengths;      /* of sequences of different lengths: given, they are not in the file */
    int window;       /* tokens to the left that are looked at */
    bool is_backward;
};

struct sizes {
    double batch, heads, queries, keys, head_size, value_size;
};

static bool read_sizes(const struct ap_op_inputs *inputs, const struct places *places, struct sizes *ret_sizes)
{
    const struct ap_tensor_dims *q = ap_op_input(inputs, places->q), *k = ap_op_input(inputs, places->k);
    const struct ap_tensor_dims *v = ap_op_input(inputs, places->v);
    int heads = places->heads_first ? 1 : 2, tokens = places->heads_first ? 2 : 1;
    if (!q || !k || !v || q->count != 4 || k->count != 4 || v->count != 4 || q->dims[3] != k->dims[3])
        return false;
    *ret_sizes = (struct sizes){ (double)q->dims[0],      (double)q->dims[heads], (double)q->dims[tokens],
                                 (double)k->dims[tokens], (double)q->dims[3],     (double)v->dims[3] };
    return true;
}

/* Pairs of a query and a key that meet: causal ones as if the last query stood beside the last key. Half of the square, as
 * others count it. */
static double pairs(const struct sizes *sizes, bool causal, int64_t window)
{
    double queries = sizes->queries, keys = sizes->keys;
    if (window >= 0 && (double)window + 1 < keys)
        return queries * ((double)window + 1);
    if (!causal)
        return queries * keys;
    return queries <= keys ? queries * keys - queries * queries / 2 : keys * keys / 2;
}

static void attention(const struct ap_op_inputs *inputs, const struct places *places, bool causal, struct ap_call_cost *cost)
{
    struct sizes sizes;
    const struct ap_tensor_dims *lengths = places->lengths < 0 ? NULL : ap_op_input(inputs, places->lengths);
    cost->is_backward = places->is_backward;
    if (lengths || !read_sizes(inputs, places, &sizes))
        return;
    const struct ap_tensor_dims *q = ap_op_input(inputs, places->q), *k = ap_op_input(inputs, places->k);
    const struct ap_tensor_dims *v = ap_op_input(inputs, places->v);
    int64_t window = places->window < 0 ? -1 : ap_op_integer(inputs, places->window);
    double products = sizes.batch * sizes.heads * pairs(&sizes, causal, window) * (sizes.head_size + sizes.value_size);
    double out = sizes.batch * sizes.heads * sizes.queries * sizes.value_size;
    int bytes = ap_element_bytes(q->element);
    cost->element = q->element;
    cost->head_size = sizes.head_size;
    cost->queries = sizes.queries;
    cost->keys = sizes.keys;
    cost->flops = 2 * products * (places->is_backward ? 2.5 : 1);
    if (bytes)
        cost->bytes =
            bytes * (places->is_backward ? 2 * (ap_cost_elements(q) + out + ap_cost_elements(k) + ap_cost_elements(v))
                                         : ap_cost_elements(q) + out + ap_cost_elements(k) + ap_cost_elements(v));
}

#define DEFINE(name, ...)                                                                \
    void ap_cost_of_##name(const struct ap_op_inputs *inputs, struct ap_call_cost *cost) \
    {                                                                                    \
        static const struct places places = __VA_ARGS__;                                 \
        attention(inputs, &places, ap_op_flag(inputs, places.causal), cost);             \
    }
DEFINE(sdpa_flash, { 0, 1, 2, 4, true, -1, -1, false })
DEFINE(sdpa_biased, { 0, 1, 2, 6, true, -1, -1, false })
DEFINE(sdpa, { 0, 1, 2, 5, true, -1, -1, false })
DEFINE(flash_forward, { 0, 1, 2, 8, false, 3, 11, false })
DEFINE(flash_library, { 0, 1, 2, 5, false, -1, -1, false })
DEFINE(sdpa_backward, { 1, 2, 3, 11, true, 6, -1, true })
DEFINE(sdpa_cudnn_backward, { 1, 2, 3, 14, true, -1, -1, true })
DEFINE(sdpa_cpu_backward, { 1, 2, 3, 7, true, -1, -1, true })
DEFINE(flash_backward, { 1, 2, 3, 11, false, 6, -1, true })
DEFINE(flash_library_backward, { 1, 2, 3, 10, false, -1, -1, true })

/* It has a number for its mask: none, and two that are causal. */
void ap_cost_of_efficient_forward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 2, 9, false, 4, -1, false };
    attention(inputs, &places, ap_op_integer(inputs, 9) > 0, cost);
}
