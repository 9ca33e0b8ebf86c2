/* SPDX-License-Identifier: MIT */
#include "tensor_layout.h"

#include <stdio.h>

#include "tensor_dims.h"

#include "poison.h"

#define MOST_DIMS 5

/* From the dimension whose neighbors lie side by side outwards, by number of dimensions. */
static const int channels_last[MOST_DIMS + 1][MOST_DIMS] = { [4] = { 1, 3, 2, 0 }, [5] = { 1, 4, 3, 2, 0 } };

/* Does the tensor lie in this order without room between? Of one element a dimension lies any way. */
static bool lies_in(const struct ap_tensor_dims *tensor, const struct ap_tensor_dims *steps, const int *order)
{
    int64_t step = 1;
    for (int i = 0; i < tensor->count; i++) {
        int dim = order[i];
        if (tensor->dims[dim] != 1 && steps->dims[dim] != step)
            return false;
        if (tensor->dims[dim] > 0 && step > INT64_MAX / tensor->dims[dim])
            return false;
        step *= tensor->dims[dim];
    }
    return true;
}

static const char *layout_of(const struct ap_tensor_dims *tensor, const struct ap_tensor_dims *steps)
{
    int order[AP_DIMS_MAX];
    for (int i = 0; i < tensor->count; i++)
        order[i] = tensor->count - 1 - i;
    if (lies_in(tensor, steps, order))
        return "contiguous";
    order[0] = tensor->count - 2;
    order[1] = tensor->count - 1;
    if (lies_in(tensor, steps, order))
        return "transposed";
    if ((tensor->count == 4 || tensor->count == 5) && lies_in(tensor, steps, channels_last[tensor->count]))
        return "channels last";
    return "strided";
}

struct ap_text ap_layout_text(struct ap_text dims, struct ap_text strides, char to[AP_LAYOUT_TEXT_BYTES])
{
    struct ap_tensor_list tensors, steps;
    size_t bytes = 0;
    ap_tensor_list_read(&tensors, dims, AP_TEXT(""));
    ap_tensor_list_read(&steps, strides, AP_TEXT(""));
    if (tensors.count != steps.count || tensors.leaves_out || steps.leaves_out)
        return AP_TEXT("");
    for (int i = 0; i < tensors.count; i++) {
        const struct ap_tensor_dims *tensor = &tensors.tensors[i], *of_tensor = &steps.tensors[i];
        if (of_tensor->input != tensor->input || of_tensor->count != tensor->count)
            return AP_TEXT("");
        if (tensor->count > 1)
            bytes += (size_t)snprintf(to + bytes, AP_LAYOUT_TEXT_BYTES - bytes, "%s%s", bytes ? ", " : "",
                                      layout_of(tensor, of_tensor));
    }
    return (struct ap_text){ to, bytes };
}
