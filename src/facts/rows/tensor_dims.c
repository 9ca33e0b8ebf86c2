/* SPDX-License-Identifier: MIT */
#include "tensor_dims.h"

#include <string.h>

#include "poison.h"

#define SIZE_MAX_ (INT64_C(1) << 31)

/* Reading "[[4,8],[[8,2],[2]],[]]": depth 1 holds the inputs. */
struct reading {
    struct ap_tensor_list *list;
    struct ap_tensor_dims open;
    int64_t number;
    int depth, input;
    bool has_number, fits;
};

static void end_number(struct reading *reading)
{
    if (reading->has_number && reading->open.count < AP_DIMS_MAX && reading->number < SIZE_MAX_)
        reading->open.dims[reading->open.count++] = reading->number;
    else if (reading->has_number)
        reading->fits = false;
    reading->has_number = false;
    reading->number = 0;
}

static void end_list(struct reading *reading)
{
    end_number(reading);
    if (reading->open.count && reading->fits && reading->list->count < AP_TENSORS_MAX) {
        reading->open.input = reading->input;
        reading->list->tensors[reading->list->count++] = reading->open;
    }
    reading->list->leaves_out |= !reading->fits;
    reading->open.count = 0;
    reading->fits = true;
    reading->depth--;
}

static void read_dims(struct reading *reading, struct ap_text dims)
{
    for (size_t i = 0; i < dims.bytes; i++) {
        char letter = dims.data[i];
        if (ap_is_digit(letter)) {
            reading->has_number = true;
            if (reading->number < SIZE_MAX_)
                reading->number = reading->number * 10 + (letter - '0');
        } else if (letter == '-') { /* a size that is not known */
            reading->fits = false;
        } else if (letter == '[') {
            reading->depth++;
        } else if (letter == ']') {
            end_list(reading);
        } else if (letter == ',') {
            end_number(reading);
            reading->input += reading->depth == 1;
        }
    }
}

const char *ap_element_name(enum ap_element element)
{
    static const char *const names[AP_ELEMENT_COUNT_] = {
        [AP_ELEMENT_unknown] = "unknown",
#define AP_ELEMENT(id, bytes, words) [AP_ELEMENT_##id] = #id,
#include "element_type.def"
#undef AP_ELEMENT
    };
    return names[element];
}

int ap_element_bytes(enum ap_element element)
{
    static const int bytes_of[AP_ELEMENT_COUNT_] = {
#define AP_ELEMENT(id, bytes, words) [AP_ELEMENT_##id] = bytes,
#include "element_type.def"
#undef AP_ELEMENT
    };
    return bytes_of[element];
}

/* One alternative of element_type.def. */
static bool is_type(struct ap_text type, const char *word, size_t bytes)
{
    bool is_begin = word[bytes - 1] == '*';
    bytes -= is_begin;
    if (type.bytes < bytes || (!is_begin && type.bytes != bytes))
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (ap_folded(type.data[i]) != word[i])
            return false;
    return true;
}

/* By the name in "Input type": "float", "c10::BFloat16", "Half". */
static enum ap_element element_of(struct ap_text type)
{
    static const char *const words_of[AP_ELEMENT_COUNT_] = {
        [AP_ELEMENT_unknown] = "",
#define AP_ELEMENT(id, bytes, words) [AP_ELEMENT_##id] = words,
#include "element_type.def"
#undef AP_ELEMENT
    };
    if (type.bytes > 5 && memcmp(type.data, "c10::", 5) == 0)
        type = (struct ap_text){ type.data + 5, type.bytes - 5 };
    for (int element = AP_ELEMENT_unknown + 1; element < AP_ELEMENT_COUNT_; element++)
        for (const char *word = words_of[element]; *word;) {
            size_t bytes = strcspn(word, "|");
            if (is_type(type, word, bytes))
                return (enum ap_element)element;
            word += bytes + (word[bytes] == '|');
        }
    return AP_ELEMENT_unknown;
}

/* Most inputs are of the type of the one before. */
struct last_type {
    struct ap_text text;
    enum ap_element element;
};

static void set_element(struct ap_tensor_list *list, int input, struct ap_text type, struct last_type *last)
{
    int tensor = 0;
    while (tensor < list->count && list->tensors[tensor].input != input)
        tensor++;
    if (tensor == list->count) /* a number or nothing, whose type would be looked for among all */
        return;
    if (!ap_text_equal(type, last->text))
        *last = (struct last_type){ type, element_of(type) };
    for (; tensor < list->count; tensor++)
        if (list->tensors[tensor].input == input)
            list->tensors[tensor].element = last->element;
}

/* Types are a list of texts, one each input. */
static void read_types(struct ap_tensor_list *list, struct ap_text types)
{
    struct last_type last = { AP_TEXT(""), AP_ELEMENT_unknown };
    int input = 0, depth = 0;
    for (size_t i = 0; i < types.bytes; i++) {
        char letter = types.data[i];
        depth += letter == '[' ? 1 : letter == ']' ? -1 : 0;
        input += letter == ',' && depth == 1;
        if (letter != '"')
            continue;
        const char *end = memchr(types.data + i + 1, '"', types.bytes - i - 1);
        if (!end)
            return;
        set_element(list, input, (struct ap_text){ types.data + i + 1, (size_t)(end - types.data) - i - 1 }, &last);
        i = (size_t)(end - types.data);
    }
}

void ap_tensor_list_read(struct ap_tensor_list *list, struct ap_text dims, struct ap_text types)
{
    struct reading reading = { .list = list, .fits = true };
    list->count = 0;
    list->leaves_out = false;
    read_dims(&reading, dims);
    read_types(list, types);
}

double ap_tensor_elements(const struct ap_tensor_dims *tensor, int first, int end)
{
    double elements = 1;
    for (int i = first; i < end && i < tensor->count; i++)
        elements *= (double)tensor->dims[i];
    return elements;
}

bool ap_tensor_equal(const struct ap_tensor_dims *a, const struct ap_tensor_dims *b)
{
    return a->count == b->count && memcmp(a->dims, b->dims, (size_t)a->count * sizeof(a->dims[0])) == 0;
}
