/* SPDX-License-Identifier: MIT
 * cost_of_convolutions.c - convolutions: each place of the output, or of the input where it is transposed, meets all weights
 * once. */
#include <string.h>

#include "op_cost_internal.h"

#include "poison.h"

#define SPACE_MAX 3 /* dimensions of an image */

/* Where the arguments of an operator stand; -1 = it has none. */
struct places {
    int x, w, stride, padding, dilation, output_padding, groups, transposed;
};

struct convolution {
    const struct ap_tensor_dims *x, *w; /* [n, channels, sizes...], [out, in of a group, sizes...] */
    int space;
    bool is_transposed;
    double groups;
    double out_places; /* of one image */
};

/* One number may stand for all dimensions. */
static bool read_sizes(const struct ap_op_inputs *inputs, int place, int space, int64_t otherwise, int64_t *ret_sizes)
{
    int count = place < 0 ? 0 : ap_op_integers(inputs, place, ret_sizes, SPACE_MAX);
    if (!count && place >= 0 && inputs->concrete.bytes)
        return false;
    for (int i = count; i < space; i++)
        ret_sizes[i] = count ? ret_sizes[count - 1] : otherwise;
    return true;
}

static int64_t size_behind(const struct convolution *c, int i, const int64_t *stride, const int64_t *padding,
                           const int64_t *dilation, const int64_t *output_padding)
{
    int64_t in = c->x->dims[2 + i], covered = dilation[i] * (c->w->dims[2 + i] - 1) + 1;
    if (c->is_transposed)
        return (in - 1) * stride[i] - 2 * padding[i] + covered + output_padding[i];
    return stride[i] > 0 ? (in + 2 * padding[i] - covered) / stride[i] + 1 : 0;
}

static bool find_out_places(struct convolution *c, const struct ap_op_inputs *inputs, const struct places *places)
{
    int64_t stride[SPACE_MAX], padding[SPACE_MAX], dilation[SPACE_MAX], output_padding[SPACE_MAX];
    if (!inputs->concrete.bytes || !read_sizes(inputs, places->stride, c->space, 1, stride) ||
        !read_sizes(inputs, places->padding, c->space, 0, padding) ||
        !read_sizes(inputs, places->dilation, c->space, 1, dilation))
        return false;
    if (!read_sizes(inputs, c->is_transposed ? places->output_padding : -1, c->space, 0, output_padding))
        return false;
    c->out_places = 1;
    for (int i = 0; i < c->space; i++) {
        int64_t size = size_behind(c, i, stride, padding, dilation, output_padding);
        if (size <= 0)
            return false;
        c->out_places *= (double)size;
    }
    return true;
}

static bool read_convolution(struct convolution *c, const struct ap_op_inputs *inputs, const struct places *places)
{
    *c = (struct convolution){ .x = ap_op_input(inputs, places->x), .w = ap_op_input(inputs, places->w) };
    if (!c->x || !c->w || c->x->count != c->w->count || c->x->count < 3 || c->x->count > 2 + SPACE_MAX)
        return false;
    int64_t groups = places->groups < 0 ? -1 : ap_op_integer(inputs, places->groups);
    c->space = c->x->count - 2;
    c->is_transposed = places->transposed >= 0 && ap_op_flag(inputs, places->transposed);
    if (groups < 1 && c->w->dims[1])
        groups = c->x->dims[1] / c->w->dims[1];
    c->groups = groups > 0 ? (double)groups : 1;
    return true;
}

static void describe(const struct convolution *c, const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    cost->element = c->x->element;
    cost->groups = c->groups;
    cost->channels_per_group = (double)c->x->dims[1] / c->groups;
    cost->is_transposed = c->is_transposed;
    cost->is_channels_first = ap_op_is_channels_first(inputs, c->x);
}

/* Those that meet all weights. */
static double places_of_work(const struct convolution *c)
{
    return (double)c->x->dims[0] * (c->is_transposed ? ap_tensor_elements(c->x, 2, c->x->count) : c->out_places);
}

static double out_channels(const struct convolution *c)
{
    return c->is_transposed ? (double)c->w->dims[1] * c->groups : (double)c->w->dims[0];
}

static void forward(const struct ap_op_inputs *inputs, const struct places *places, bool always_transposed,
                    struct ap_call_cost *cost)
{
    struct convolution c;
    if (!read_convolution(&c, inputs, places))
        return;
    c.is_transposed |= always_transposed;
    if (always_transposed && ap_op_integer(inputs, places->groups) < 1)
        c.groups = 1;
    describe(&c, inputs, cost);
    if (!find_out_places(&c, inputs, places))
        return;
    int bytes = ap_element_bytes(c.x->element);
    cost->out_channels = out_channels(&c);
    cost->places = (double)c.x->dims[0] * c.out_places;
    cost->flops = 2 * places_of_work(&c) * ap_cost_elements(c.w);
    cost->weight_bytes = ap_cost_elements(c.w) * bytes;
    cost->parameters = ap_cost_elements(c.w) + (ap_op_input(inputs, 2) ? out_channels(&c) : 0);
    if (bytes)
        cost->bytes =
            bytes * (ap_cost_elements(c.x) + ap_cost_elements(c.w) + (double)c.x->dims[0] * out_channels(&c) * c.out_places);
}

void ap_cost_of_convolution(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 3, 4, 5, 7, 8, 6 };
    forward(inputs, &places, false, cost);
}

void ap_cost_of_conv(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 3, 4, 5, -1, 6, -1 };
    forward(inputs, &places, false, cost);
}

void ap_cost_of_conv_transpose(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 3, 4, 7, 5, 6, -1 };
    forward(inputs, &places, true, cost);
}

void ap_cost_of_library_conv(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 4, 3, 5, -1, 6, -1 };
    forward(inputs, &places, false, cost);
}

void ap_cost_of_cudnn_conv(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 3, 2, 4, -1, 5, -1 };
    forward(inputs, &places, false, cost);
}

void ap_cost_of_depthwise_conv(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 0, 1, 4, 5, 6, -1, -1, -1 };
    forward(inputs, &places, false, cost);
}

/* cuDNN has no bias among its arguments, MIOpen has one at 2: the sizes of the padding are several numbers. */
void ap_cost_of_library_conv_transpose(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places cudnn = { 0, 1, 4, 2, 5, 3, 6, -1 }, miopen = { 0, 1, 5, 3, 6, 4, 7, -1 };
    int64_t sizes[SPACE_MAX];
    forward(inputs, ap_op_integers(inputs, 2, sizes, SPACE_MAX) ? &cudnn : &miopen, true, cost);
}

/* How many of the first two are true: the gradient of the image, and that of the weights. Both without a mask. */
static int wanted_gradients(struct ap_text mask)
{
    const char *comma = mask.bytes > 2 ? memchr(mask.data, ',', mask.bytes) : NULL;
    if (!comma)
        return 2;
    size_t second = (size_t)(comma - mask.data) + 1;
    while (second < mask.bytes && mask.data[second] == ' ')
        second++;
    return (ap_folded(mask.data[1]) == 't') + (second < mask.bytes && ap_folded(mask.data[second]) == 't');
}

void ap_cost_of_convolution_backward(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    static const struct places places = { 1, 2, 4, 5, 6, 8, 9, 7 };
    const struct ap_tensor_dims *gradient = ap_op_input(inputs, 0);
    struct convolution c;
    cost->is_backward = true;
    if (!gradient || !read_convolution(&c, inputs, &places) || gradient->count != c.x->count || !inputs->concrete.bytes)
        return;
    int wanted = wanted_gradients(ap_op_argument(inputs, 10));
    describe(&c, inputs, cost);
    c.out_places = ap_tensor_elements(gradient, 2, gradient->count);
    int bytes = ap_element_bytes(c.x->element);
    cost->flops = 2 * places_of_work(&c) * ap_cost_elements(c.w) * wanted;
    if (bytes)
        cost->bytes =
            bytes * (ap_cost_elements(gradient) + ap_cost_elements(c.x) + ap_cost_elements(c.w)) * (wanted ? wanted : 1);
}

/* Until 2021: the sizes of the image are no tensor, and not needed. */
void ap_cost_of_cudnn_backward_input(const struct ap_op_inputs *inputs, struct ap_call_cost *cost)
{
    const struct ap_tensor_dims *gradient = ap_op_input(inputs, 1), *w = ap_op_input(inputs, 2);
    cost->is_backward = true;
    if (!gradient || !w || gradient->count != w->count || gradient->count < 3 || gradient->dims[1] != w->dims[0])
        return;
    int bytes = ap_element_bytes(gradient->element);
    cost->element = gradient->element;
    cost->channels_per_group = (double)w->dims[1];
    cost->groups = 1;
    cost->flops = 2 * ap_cost_elements(gradient) * ap_tensor_elements(w, 1, w->count);
    if (bytes)
        cost->bytes = bytes * (ap_cost_elements(gradient) + ap_cost_elements(w));
}
