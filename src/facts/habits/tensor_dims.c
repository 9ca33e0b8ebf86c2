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
    reading->open.count = 0;
    reading->fits = true;
    reading->depth--;
}

static void read_dims(struct reading *reading, struct ap_text dims)
{
    for (size_t i = 0; i < dims.bytes; i++) {
        char letter = dims.data[i];
        if (letter >= '0' && letter <= '9') {
            reading->has_number = true;
            if (reading->number < SIZE_MAX_)
                reading->number = reading->number * 10 + (letter - '0');
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

/* Types are a list of texts, one each input. */
static void read_types(struct ap_tensor_list *list, struct ap_text types)
{
    static const char word[] = "\"double\"";
    int input = 0;
    for (size_t i = 0; i < types.bytes; i++) {
        input += types.data[i] == ',';
        if (types.bytes - i < sizeof(word) - 1 || memcmp(types.data + i, word, sizeof(word) - 1) != 0)
            continue;
        for (int tensor = 0; tensor < list->count; tensor++)
            list->tensors[tensor].is_double |= list->tensors[tensor].input == input;
    }
}

void ap_tensor_list_read(struct ap_tensor_list *list, struct ap_text dims, struct ap_text types)
{
    struct reading reading = { .list = list, .fits = true };
    list->count = 0;
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
