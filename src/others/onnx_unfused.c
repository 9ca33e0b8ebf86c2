/* SPDX-License-Identifier: MIT
 * onnx_unfused.c - nodes that follow each other where graph optimization leaves one node: in onnxruntime/core/optimizer
 * layer_norm_fusion.cc, gelu_fusion.cc, conv_activation_fusion.cc. Exporters write such nodes one behind the other, and the
 * executor runs them so. */
#include "onnx_profile.h"

#include "poison.h"

static const struct chain {
    const char *ops[10];
    unsigned stays;      /* how many of the first are there in the fused graph too */
    bool processor_only; /* other providers fuse it in some types only */
} chains[] = {
    { { "ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add" }, 0, false },
    { { "Pow", "ReduceMean", "Add", "Sqrt" }, 0, false }, /* likewise, in other surroundings, and of RMSNorm */
    { { "Div", "Erf", "Add", "Mul", "Mul" }, 0, false },
    { { "Erf", "Add", "Mul" }, 0, false },
    { { "Conv", "Relu" }, 1, true },
    { { "Conv", "LeakyRelu" }, 1, true },
    { { "Conv", "Clip" }, 1, true },
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
        if (!ap_text_is(ap_strpool_text(&onnx->strings, node->op), chain->ops[i]) || node->tid.id != first->tid.id)
            return false;
    }
    return !chain->processor_only || is_processor(onnx, first);
}

static void mark(struct ap_onnx *onnx, const struct chain *chain, size_t at)
{
    uint8_t signs = (uint8_t)(1 << AP_ONNX_UNFUSED | (chain->stays > 0) << AP_ONNX_BARE);
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
