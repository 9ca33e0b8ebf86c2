/* SPDX-License-Identifier: MIT */
#include "op_inputs.h"

#include <string.h>

#include "poison.h"

#define INTEGER_MAX (INT64_C(1) << 31)

void ap_op_inputs_read(struct ap_op_inputs *inputs, struct ap_text dims, struct ap_text types, struct ap_text strides,
                       struct ap_text concrete)
{
    ap_tensor_list_read(&inputs->tensors, dims, types);
    ap_tensor_list_read(&inputs->strides, strides, AP_TEXT(""));
    inputs->concrete = concrete;
}

static const struct ap_tensor_dims *at(const struct ap_tensor_list *list, int number)
{
    for (int i = 0; i < list->count; i++)
        if (list->tensors[i].input == number)
            return &list->tensors[i];
    return NULL;
}

const struct ap_tensor_dims *ap_op_input(const struct ap_op_inputs *inputs, int number)
{
    return at(&inputs->tensors, number);
}

/* ---- arguments ---- */

static struct ap_text without_quotes(struct ap_text text)
{
    while (text.bytes && (*text.data == ' ' || *text.data == '\n'))
        text.data++, text.bytes--;
    while (text.bytes && (text.data[text.bytes - 1] == ' ' || text.data[text.bytes - 1] == '\n'))
        text.bytes--;
    if (text.bytes >= 2 && *text.data == '"' && text.data[text.bytes - 1] == '"')
        return (struct ap_text){ text.data + 1, text.bytes - 2 };
    return text;
}

/* The list is one of texts, in most files: commas in them, and in lists, do not count. */
struct ap_text ap_op_argument(const struct ap_op_inputs *inputs, int number)
{
    struct ap_text list = inputs->concrete;
    bool quoted = false;
    int depth = 0;
    size_t start = 1;
    for (size_t i = 0; i < list.bytes; i++) {
        char letter = list.data[i];
        quoted ^= letter == '"';
        if (quoted)
            continue;
        bool ends = (letter == ',' && depth == 1) || (letter == ']' && depth == 1);
        depth += letter == '[' ? 1 : letter == ']' ? -1 : 0;
        if (ends && number-- == 0)
            return without_quotes((struct ap_text){ list.data + start, i - start });
        if (ends)
            start = i + 1;
    }
    return AP_TEXT("");
}

bool ap_op_flag(const struct ap_op_inputs *inputs, int number)
{
    struct ap_text text = ap_op_argument(inputs, number);
    return ap_text_is(text, "True") || ap_text_is(text, "true") || ap_text_is(text, "1");
}

int ap_op_integers(const struct ap_op_inputs *inputs, int number, int64_t *ret_integers, int limit)
{
    struct ap_text text = ap_op_argument(inputs, number);
    int count = 0;
    for (size_t i = 0; i < text.bytes && count < limit; i++) {
        if (!ap_is_digit(text.data[i]))
            continue;
        bool negative = i && text.data[i - 1] == '-';
        int64_t integer = 0;
        for (; i < text.bytes && ap_is_digit(text.data[i]); i++)
            integer = integer < INTEGER_MAX ? integer * 10 + (text.data[i] - '0') : integer;
        ret_integers[count++] = negative ? -integer : integer;
    }
    return count;
}

int64_t ap_op_integer(const struct ap_op_inputs *inputs, int number)
{
    int64_t integer;
    return ap_op_integers(inputs, number, &integer, 1) ? integer : -1;
}

/* ---- places in memory ---- */

static const struct ap_tensor_dims *steps_of(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor)
{
    const struct ap_tensor_dims *steps = at(&inputs->strides, tensor->input);
    return steps && steps->count == tensor->count ? steps : NULL;
}

double ap_op_distinct(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor)
{
    const struct ap_tensor_dims *steps = steps_of(inputs, tensor);
    double elements = 1;
    for (int i = 0; i < tensor->count; i++)
        elements *= steps && steps->dims[i] == 0 ? 1 : (double)tensor->dims[i];
    return elements;
}

bool ap_op_is_strided(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor)
{
    const struct ap_tensor_dims *steps = steps_of(inputs, tensor);
    int64_t least = INT64_MAX;
    for (int i = 0; steps && i < tensor->count; i++)
        if (tensor->dims[i] > 1 && steps->dims[i] && steps->dims[i] < least)
            least = steps->dims[i];
    return steps && least != INT64_MAX && least > 1;
}

int64_t ap_op_step(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor, int dimension)
{
    const struct ap_tensor_dims *steps = steps_of(inputs, tensor);
    return steps ? steps->dims[dimension] : 0;
}

bool ap_op_is_channels_first(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *image)
{
    const struct ap_tensor_dims *steps = steps_of(inputs, image);
    return steps && steps->count > 2 && image->dims[1] > 1 && steps->dims[1] > 1 && steps->dims[image->count - 1] == 1;
}

bool ap_op_is_row_major(const struct ap_op_inputs *inputs, const struct ap_tensor_dims *tensor)
{
    const struct ap_tensor_dims *steps = steps_of(inputs, tensor);
    int last = tensor->count - 1;
    while (last > 0 && tensor->dims[last] == 1)
        last--;
    return !steps || steps->dims[last] <= 1;
}
