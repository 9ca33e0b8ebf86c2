/* SPDX-License-Identifier: MIT */
#include "shape_text.h"

#include <string.h>

#include "poison.h"

/* ---- sizes of matrices ---- */

/* Which inputs are the matrices that are multiplied. */
static const struct product {
    const char *name;
    unsigned first, second;
} products[] = {
    { "aten::mm", 0, 1 },         { "aten::bmm", 0, 1 },     { "aten::matmul", 0, 1 },
    { "aten::addmm", 1, 2 },      { "aten::baddbmm", 1, 2 }, { "aten::addbmm", 1, 2 },
    { "aten::_scaled_mm", 0, 1 }, { "aten::_int_mm", 0, 1 }, { "aten::_addmm_activation", 1, 2 },
};

static const struct product *find_product(struct ap_text name)
{
    for (size_t i = 0; i < AP_COUNT_OF(products); i++)
        if (ap_text_is(name, products[i].name))
            return &products[i];
    return NULL;
}

/* The last number in the list with this place in a list of lists of numbers; -1 where there is none, or something else. */
static int64_t last_size(struct ap_text dims, unsigned place)
{
    int64_t size = -1;
    unsigned depth = 0, at_place = 0;
    for (size_t i = 0; i < dims.bytes; i++) {
        char c = dims.data[i];
        if (c == '[') {
            depth++;
        } else if (c == ']') {
            if (depth == 2 && at_place == place)
                return size;
            if (depth)
                depth--;
        } else if (c == ',') {
            at_place += depth == 1;
        } else if (ap_is_digit(c) && depth == 2 && at_place == place) {
            bool goes_on = i && ap_is_digit(dims.data[i - 1]);
            size = goes_on ? size : 0;
            if (size > INT32_MAX)
                return -1;
            size = size * 10 + (c - '0');
        }
    }
    return -1;
}

/* The name at this place in a list of quoted names. */
static struct ap_text name_at(struct ap_text types, unsigned place)
{
    unsigned quotes = 0;
    size_t start = 0;
    for (size_t i = 0; i < types.bytes; i++) {
        if (types.data[i] != '"')
            continue;
        if (quotes == 2 * place)
            start = i + 1;
        if (quotes++ == 2 * place + 1)
            return (struct ap_text){ types.data + start, i - start };
    }
    return AP_TEXT("");
}

/* Bytes of an element of the types whose products libraries run at full speed only from aligned rows; 0 = another type. */
static int64_t element_bytes(struct ap_text type)
{
    static const struct {
        const char *word;
        int64_t bytes;
    } types[] = { { "bfloat16", 2 }, { "half", 2 }, { "float16", 2 }, { "float8", 1 }, { "signed char", 1 } };
    for (size_t i = 0; i < AP_COUNT_OF(types); i++)
        if (ap_text_contains_folded(type, types[i].word))
            return types[i].bytes;
    return 0;
}

bool ap_shape_is_unaligned(struct ap_text operator_name, struct ap_text dims, struct ap_text types, bool inner)
{
    const struct product *product = find_product(operator_name);
    int64_t bytes = product ? element_bytes(name_at(types, product->first)) : 0;
    if (!bytes)
        return false;
    int64_t inner_size = inner ? last_size(dims, product->first) : 0, columns = last_size(dims, product->second);
    return inner_size >= 0 && columns >= 0 && (inner_size * bytes % 16 || columns * bytes % 16);
}

/* ---- shown ---- */

#define SHOWN_BYTES 200

void ap_add_shape_text(struct ap_model *model, struct ap_value *row, const char *key, struct ap_text text)
{
    char shown[SHOWN_BYTES + 4];
    size_t bytes = 0, at = 0;
    for (; at < text.bytes && bytes < SHOWN_BYTES; at++) {
        if (!ap_is_space(text.data[at]))
            shown[bytes++] = text.data[at];
        else if (at && text.data[at - 1] == ',')
            shown[bytes++] = ' ';
        else if (at && !ap_is_space(text.data[at - 1]) && text.data[at - 1] != '[' && at + 1 < text.bytes &&
                 !ap_is_space(text.data[at + 1]) && text.data[at + 1] != ']')
            shown[bytes++] = ' ';
    }
    while (at < text.bytes && bytes && ((uint8_t)text.data[at] & 0xc0) == 0x80) /* within a character */
        at--, bytes--;
    if (at < text.bytes) {
        memcpy(shown + bytes, "...", 3);
        bytes += 3;
    }
    ap_add_text(model, row, key, (struct ap_text){ shown, bytes });
}
