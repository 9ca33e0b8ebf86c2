/* SPDX-License-Identifier: MIT
 * onnx_unfused.c - nodes that follow each other where graph optimization leaves one node: in onnxruntime/core/optimizer
 * layer_norm_fusion.cc, gelu_fusion.cc, conv_activation_fusion.cc, matmul_add_fusion.cc, quick_gelu_fusion.cc,
 * identity_elimination.cc. Exporters write such nodes one behind the other, and the
 * executor runs them so. */
#include <string.h>

#include "onnx_profile.h"

#include "poison.h"

/* Dimensions of the input @number of a call, as in [{"float":[128,512]},{"float":[512]}]; 0: a scalar, or not told. */
static unsigned dimensions_of(struct ap_text shapes, unsigned number)
{
    unsigned count = 0;
    size_t at = 0;
    for (unsigned seen = 0; at < shapes.bytes; at++)
        if (shapes.data[at] == ':' && seen++ == number)
            break;
    for (; at < shapes.bytes && shapes.data[at] != ']'; at++)
        count += shapes.data[at] == '[' || shapes.data[at] == ',';
    return at < shapes.bytes && shapes.data[at - 1] != '[' ? count : 0;
}

static struct ap_text shapes_of(const struct ap_onnx *onnx, size_t at)
{
    return ap_strpool_text(&onnx->strings, onnx->events[onnx->order[at]].shape);
}

/* A product of two matrices and a bias, which is a Gemm. Of more dimensions it depends on the version. */
static bool is_gemm(const struct ap_onnx *onnx, size_t at)
{
    struct ap_text product = shapes_of(onnx, at), sum = shapes_of(onnx, at + 1);
    unsigned second = dimensions_of(product, 1); /* not told of weights that were laid out anew */
    return dimensions_of(product, 0) == 2 && (second == 2 || !second) && dimensions_of(sum, 0) + dimensions_of(sum, 1) == 3;
}

/* x * sigmoid(x): of a gate that squeezes, one of the factors is smaller. */
static bool is_silu(const struct ap_onnx *onnx, size_t at)
{
    struct ap_text gate = shapes_of(onnx, at + 1), both = shapes_of(onnx, at + 2); /* "[A]" and "[A,A]" */
    if (gate.bytes < 2 || both.bytes < 2 * (gate.bytes - 2) + 3)
        return false;
    struct ap_text one = { gate.data + 1, gate.bytes - 2 };
    return memcmp(both.data + 1, one.data, one.bytes) == 0 &&
           memcmp(both.data + both.bytes - 1 - one.bytes, one.data, one.bytes) == 0;
}

static const struct chain {
    const char *ops[10];
    unsigned stays;                                      /* how many of the first are there in the fused graph too */
    enum { ANYWHERE, ON_PROCESSOR, UNOPTIMIZED } where;  /* in some types only elsewhere; where no fusion was made at all */
    bool (*fits)(const struct ap_onnx *onnx, size_t at); /* what names do not tell */
} chains[] = {
    { { "ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add" }, 0, ANYWHERE, NULL },
    { { "Pow", "ReduceMean", "Add", "Sqrt" }, 0, ANYWHERE, NULL }, /* likewise, in other surroundings, and of RMSNorm */
    { { "Div", "Erf", "Add", "Mul", "Mul" }, 0, ANYWHERE, NULL },
    { { "Erf", "Add", "Mul" }, 0, ANYWHERE, NULL },
    { { "Conv", "Relu" }, 1, ON_PROCESSOR, NULL },
    { { "Conv", "LeakyRelu" }, 1, ON_PROCESSOR, NULL },
    { { "Conv", "Clip" }, 1, ON_PROCESSOR, NULL },
    { { "Conv", "Sigmoid", "Mul" }, 1, UNOPTIMIZED, is_silu },
    { { "MatMul", "Add" }, 1, UNOPTIMIZED, is_gemm },
    { { "Identity" }, 0, UNOPTIMIZED, NULL },
};

static bool is_processor(const struct ap_onnx *onnx, const struct ap_onnx_event *node)
{
    return ap_text_is(ap_strpool_text(&onnx->strings, node->provider), "CPUExecutionProvider");
}

static bool fits(const struct ap_onnx *onnx, const struct chain *chain, size_t at)
{
    const struct ap_onnx_event *first = &onnx->events[onnx->order[at]];
    for (size_t i = 0; i < AP_COUNT_OF(chain->ops) && chain->ops[i]; i++) {
        if (at + i >= onnx->node_count)
            return false;
        const struct ap_onnx_event *node = &onnx->events[onnx->order[at + i]];
        if (!ap_text_is(ap_strpool_text(&onnx->strings, node->op), chain->ops[i]) || node->tid.id != first->tid.id ||
            node->session != first->session)
            return false;
    }
    if (chain->where == UNOPTIMIZED && onnx->sessions[first->session].is_optimized)
        return false;
    return (chain->where == ANYWHERE || is_processor(onnx, first)) && (!chain->fits || chain->fits(onnx, at));
}

static void mark(struct ap_onnx *onnx, const struct chain *chain, size_t at)
{
    uint8_t signs = (uint8_t)(1 << AP_ONNX_UNFUSED | (chain->where != ANYWHERE) << AP_ONNX_LEFT);
    for (size_t i = chain->stays; i < AP_COUNT_OF(chain->ops) && chain->ops[i]; i++)
        onnx->events[onnx->order[at + i]].signs |= signs;
}

void ap_onnx_find_unfused(struct ap_onnx *onnx)
{
    for (size_t at = 0; at < onnx->node_count; at++)
        for (size_t i = 0; i < AP_COUNT_OF(chains); i++)
            if (fits(onnx, &chains[i], at))
                mark(onnx, &chains[i], at);
}
