/* SPDX-License-Identifier: MIT
 * cost_of_attention.c - attention in one call: two products forward, five backward. Keys and values may have fewer heads
 * than the queries; what a causal mask hides is not counted. Of sequences of different lengths, packed one behind the other,
 * the shapes tell how many there are and the longest: that bounds the pairs of tokens that meet. */
#include <math.h>

#include "op_cost_internal.h"

#include "poison.h"

#define CLOSE 1.01 /* bounds that are as near as this are one number */

/* Where the arguments stand; -1 = it has none. */
struct places {
    int q, k, v, causal;
    bool heads_first; /* [batch, heads, tokens, size] and not [batch, tokens, heads, size] */
    int lengths;      /* of packed sequences: where each begins, one more than there are */
    int longest;      /* of the queries; of the keys at the place behind it */
    int window;       /* tokens to the left that are looked at; behind it those to the right */
    bool is_backward;
    int mask; /* a mask or bias as a tensor; 0 = it takes none */
};

struct sizes {
    double batch, heads, queries, keys, head_size, value_size;
};

/* Packed ones have no batch: [tokens, heads, size], or a batch of one. */
static bool read_sizes(const struct ap_op_inputs *inputs, const struct places *places, struct sizes *ret_sizes)
{
    const struct ap_tensor_dims *q = ap_op_input(inputs, places->q), *k = ap_op_input(inputs, places->k);
    const struct ap_tensor_dims *v = ap_op_input(inputs, places->v);
    if (!q || !k || !v || q->count != k->count || q->count != v->count || (q->count != 3 && q->count != 4))
        return false;
    int size = q->count - 1, heads = places->heads_first ? size - 2 : size - 1,
        tokens = places->heads_first ? size - 1 : size - 2;
    if (q->dims[size] != k->dims[size])
        return false;
    *ret_sizes = (struct sizes){ q->count == 4 ? (double)q->dims[0] : 1,
                                 (double)q->dims[heads],
                                 (double)q->dims[tokens],
                                 (double)k->dims[tokens],
                                 (double)q->dims[size],
                                 (double)v->dims[size] };
    return true;
}

/* Tokens to each side that are looked at; negative = all. */
struct window {
    int64_t left, right;
};

static struct window read_window(const struct ap_op_inputs *inputs, const struct places *places, bool causal)
{
    if (places->window < 0)
        return (struct window){ -1, -1 };
    return (struct window){ ap_op_integer(inputs, places->window), causal ? 0 : ap_op_integer(inputs, places->window + 1) };
}

/* Of one query, at most. */
static double seen_by_one(const struct sizes *sizes, struct window window)
{
    double left = window.left < 0 ? sizes->keys : (double)window.left;
    double right = window.right < 0 ? sizes->keys : (double)window.right;
    return fmin(left + right + 1, sizes->keys);
}

/* Keys that windows would hold beyond an end of the sequence. @before: keys on that side of the first query. */
static double cut_at_end(int64_t window, double before, double queries)
{
    double most = (double)window - before, least = fmax(most - queries, 0);
    return most > 0 ? (most * most - least * least) / 2 : 0;
}

/* Pairs of a query and a key that meet: causal ones as if the last query stood beside the last key. Half of the square, as
 * others count it. */
static double pairs(const struct sizes *sizes, bool causal, struct window window)
{
    double queries = sizes->queries, keys = sizes->keys;
    if (window.left >= 0 && window.right >= 0 && seen_by_one(sizes, window) < keys)
        return queries * seen_by_one(sizes, window) - cut_at_end(window.left, keys - queries, queries) -
               cut_at_end(window.right, 0, queries);
    if (!causal)
        return queries * keys;
    return queries <= keys ? queries * keys - queries * queries / 2 : keys * keys / 2;
}

/* ---- packed sequences ---- */

struct bounds {
    double least, most; /* pairs */
};

/* So many tokens in so many sequences, none longer than the longest. Of all ways to deal them even ones have the least
 * squares, after the longest, and as many long ones as fit the most. */
static struct bounds squares(double tokens, double sequences, double longest)
{
    double others = fmax(sequences - 1, 0), rest = fmax(tokens - longest, 0), full;
    if (longest <= 0)
        return (struct bounds){ tokens * tokens / sequences, tokens * tokens };
    full = floor(tokens / longest);
    if (tokens > sequences * longest) /* that cannot be */
        return (struct bounds){ 0, tokens * tokens };
    return (struct bounds){ others > 0 ? longest * longest + rest * rest / others : tokens * tokens,
                            full * longest * longest + (tokens - full * longest) * (tokens - full * longest) };
}

/* Each query looks at one key at least, and at all of the longest sequence at most. */
static struct bounds products(const struct sizes *sizes, double longest_queries, double longest_keys)
{
    struct bounds bounds = { fmax(sizes->queries, sizes->keys), sizes->queries * sizes->keys };
    if (longest_keys > 0)
        bounds.most = fmin(bounds.most, sizes->queries * longest_keys);
    if (longest_queries > 0)
        bounds.most = fmin(bounds.most, sizes->keys * longest_queries);
    bounds.least = fmin(bounds.least, bounds.most);
    return bounds;
}

static double longest_of(const struct ap_op_inputs *inputs, int place)
{
    int64_t longest = place < 0 ? -1 : ap_op_integer(inputs, place);
    return longest > 0 ? (double)longest : 0;
}

static struct bounds packed_pairs(const struct ap_op_inputs *inputs, const struct places *places, const struct sizes *sizes,
                                  bool causal, struct window window)
{
    const struct ap_tensor_dims *lengths = ap_op_input(inputs, places->lengths);
    double sequences = lengths->count == 1 && lengths->dims[0] > 1 ? (double)lengths->dims[0] - 1 : 1;
    double queries = longest_of(inputs, places->longest);
    double keys = places->longest < 0 ? 0 : longest_of(inputs, places->longest + 1);
    bool alike = sizes->queries >= sizes->keys && sizes->queries <= sizes->keys && queries >= keys && queries <= keys;
    struct bounds bounds = alike ? squares(sizes->queries, sequences, queries) : products(sizes, queries, keys);
    if (causal && queries > 1) {
        bounds.least /= 2;
        bounds.most /= alike ? 2 : 1;
    }
    bounds.most = fmin(bounds.most, sizes->queries * seen_by_one(sizes, window));
    bounds.least = fmin(bounds.least, bounds.most);
    return bounds;
}

/* ---- all ---- */

static void set_bytes(const struct ap_op_inputs *inputs, const struct places *places, const struct sizes *sizes,
                      struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *q = ap_op_input(inputs, places->q);
    int bytes = ap_element_bytes(q->element);
    double out = sizes->batch * sizes->heads * sizes->queries * sizes->value_size;
    double all = ap_cost_elements(q) + out + ap_cost_elements(ap_op_input(inputs, places->k)) +
                 ap_cost_elements(ap_op_input(inputs, places->v));
    if (bytes)
        cost->bytes = bytes * all * (places->is_backward ? 2 : 1);
}

/* A mask is read besides, what a broadcast repeats of it once. */
static void add_mask(const struct ap_op_inputs *inputs, const struct places *places, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *mask = places->mask ? ap_op_input(inputs, places->mask) : NULL;
    double bytes = mask && mask->count >= 2 ? ap_cost_bytes(inputs, mask) : 0;
    if (bytes <= 0)
        return;
    cost->mask_bytes = bytes;
    (void)ap_cost_sum(&cost->bytes, bytes);
}

static void attention(const struct ap_op_inputs *inputs, const struct places *places, bool causal, struct ap_call_cost *cost)
{
    struct sizes sizes;
    const struct ap_tensor_dims *lengths = places->lengths < 0 ? NULL : ap_op_input(inputs, places->lengths);
    cost->is_backward = places->is_backward;
    if (!read_sizes(inputs, places, &sizes))
        return;
    struct window window = read_window(inputs, places, causal);
    cost->element = ap_op_input(inputs, places->q)->element;
    cost->head_size = sizes.head_size;
    cost->pair_flops = 2 * sizes.heads * (sizes.head_size + sizes.value_size) * (places->is_backward ? 2.5 : 1);
    if (!lengths && ap_op_input(inputs, places->q)->count != 4)
        return;
    set_bytes(inputs, places, &sizes, cost);
    add_mask(inputs, places, cost);
    if (!lengths) {
        cost->queries = sizes.queries;
        cost->keys = sizes.keys;
        cost->flops = sizes.batch * pairs(&sizes, causal, window) * cost->pair_flops;
        return;
    }
    struct bounds bounds = packed_pairs(inputs, places, &sizes, causal, window);
    double longest_keys = places->longest < 0 ? 0 : longest_of(inputs, places->longest + 1);
    cost->queries = places->longest < 0 ? 0 : longest_of(inputs, places->longest);
    cost->keys = longest_keys;
    cost->flops_least = sizes.batch * bounds.least * cost->pair_flops;
    cost->flops_most = sizes.batch * bounds.most * cost->pair_flops;
    if (bounds.most <= bounds.least * CLOSE)
        cost->flops = cost->flops_least;
}

#define DEFINE(name, ...)                                                                \
    void ap_cost_of_##name(const struct ap_op_inputs *inputs, struct ap_call_cost *cost) \
    {                                                                                    \
        static const struct places places = __VA_ARGS__;                                 \
        attention(inputs, &places, ap_op_flag(inputs, places.causal), cost);             \
    }
DEFINE(sdpa_flash, { 0, 1, 2, 4, true, -1, -1, -1, false, 0 })
DEFINE(sdpa, { 0, 1, 2, 5, true, -1, -1, -1, false, 3 })
DEFINE(sdpa_biased, { 0, 1, 2, 6, true, -1, -1, -1, false, 3 })
DEFINE(flash_forward, { 0, 1, 2, 8, false, 3, 5, 11, false, 0 })
DEFINE(flash_library, { 0, 1, 2, 5, false, -1, -1, 6, false, 0 })
DEFINE(flash_packed, { 0, 1, 2, 9, false, 3, 5, 10, false, 0 })
DEFINE(sdpa_backward, { 1, 2, 3, 11, true, 6, 8, -1, true, 0 })
DEFINE(sdpa_biased_backward, { 1, 2, 3, 11, true, -1, -1, -1, true, 4 })
DEFINE(sdpa_cudnn_backward, { 1, 2, 3, 14, true, -1, -1, -1, true, 8 })
DEFINE(sdpa_cpu_backward, { 1, 2, 3, 7, true, -1, -1, -1, true, 0 })
DEFINE(flash_backward, { 1, 2, 3, 11, false, 6, 8, 15, true, 0 })
DEFINE(flash_library_backward, { 1, 2, 3, 10, false, -1, -1, -1, true, 0 })
DEFINE(flash_packed_backward, { 1, 2, 3, 15, false, 9, 11, -1, true, 0 })

/* Of keys that lie in pages the sizes are those of the pool. */
void ap_cost_of_flash_three(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 2, 24, false, 7, 12, 25, false, 0 };
    if (!ap_op_input(inputs, 14))
        attention(inputs, &places, ap_op_flag(inputs, places.causal), cost);
}

/* These have a number for a mask of theirs: none, and two that are causal. */
void ap_cost_of_efficient_forward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 2, 9, false, 4, 6, -1, false, 3 };
    attention(inputs, &places, ap_op_integer(inputs, places.causal) > 0, cost);
}

void ap_cost_of_efficient_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 1, 2, 3, 14, false, 6, 8, -1, true, 4 };
    attention(inputs, &places, ap_op_integer(inputs, places.causal) > 0, cost);
}

/* Of an engine: queries are [tokens, heads, size] or [tokens, heads times size], and what they look at lies in pages. */
void ap_cost_of_engine_attention(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *q = ap_op_input(inputs, 0), *k = ap_op_input(inputs, 1);
    if (!q || !k || !q->dims[0] || !k->dims[0] || (q->count != 2 && q->count != 3) || q->count != k->count)
        return;
    cost->element = k->element; /* queries may have fewer bits */
    cost->head_size = q->count == 3 ? (double)q->dims[2] : 0;
    cost->pair_flops = 4 * ap_cost_elements(q) / (double)q->dims[0];
    cost->key_bytes = 2 * ap_cost_elements(k) / (double)k->dims[0] * ap_element_bytes(k->element);
    cost->query_bytes = 2 * ap_cost_elements(q) * ap_element_bytes(q->element);
    cost->tokens = (double)q->dims[0];
}
