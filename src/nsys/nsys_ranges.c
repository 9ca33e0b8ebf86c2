/* SPDX-License-Identifier: MIT
 * nsys_ranges.c - what the text of an NVTX range says: PyTorch writes its operators so (torch.autograd.profiler.emit_nvtx:
 * "aten::addmm, seq = 5, op_id = 12, sizes = [[4], [2, 3], [3, 4]]"), hooks the modules of a model by their paths, and
 * people whatever they like. */
#include <string.h>

#include "nsys_internal.h"

#include "poison.h"

static bool find(struct ap_text text, const char *part, size_t *ret_at)
{
    size_t bytes = strlen(part);
    for (size_t at = 0; at + bytes <= text.bytes; at++) {
        if (memcmp(text.data + at, part, bytes) == 0) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}

static struct ap_text behind(struct ap_text text, size_t at)
{
    return (struct ap_text){ text.data + at, text.bytes - at };
}

static struct ap_text digits_of(struct ap_text text)
{
    size_t bytes = 0;
    while (bytes < text.bytes && bytes < 18 && ap_is_digit(text.data[bytes]))
        bytes++;
    return (struct ap_text){ text.data, bytes };
}

/* "[[2, 3], [], [4]]" at the start of @text; empty where it is not just that. */
static struct ap_text shapes_of(struct ap_text text)
{
    int depth = 0;
    char last = ',';
    for (size_t at = 0; at < text.bytes; at++) {
        char c = text.data[at];
        if (c == ' ')
            continue;
        bool value_ended = ap_is_digit(last) || last == ']';
        if (c == '[' ? last != '[' && last != ',' : c == ']' ? last == ',' : c == ',' ? !value_ended : !ap_is_digit(c))
            break;
        if ((ap_is_digit(c) && (last == ']' || depth != 2)) ||
            (ap_is_digit(c) && ap_is_digit(last) && text.data[at - 1] == ' '))
            break;
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (depth == 0 && c == ']')
            return (struct ap_text){ text.data, at + 1 };
        if (depth < 1 || depth > 2)
            break;
        last = c;
    }
    return AP_TEXT("");
}

/* Where what PyTorch adds to the name of an operator begins. */
static bool find_details(struct ap_text text, size_t *ret_at)
{
    static const char *const marks[] = { ", seq = ", ", op_id = ", ", sizes = " };
    bool found = false;
    for (size_t i = 0; i < AP_COUNT_OF(marks); i++) {
        size_t at;
        if (!find(text, marks[i], &at) || (found && at >= *ret_at))
            continue;
        *ret_at = at;
        found = true;
    }
    return found;
}

static bool is_operator(struct ap_text text)
{
    static const char *const spaces[] = { "aten::", "prims::", "c10d::", "autograd::engine::", "torch::autograd::" };
    for (size_t i = 0; i < AP_COUNT_OF(spaces); i++)
        if (ap_text_starts_with(text, spaces[i]))
            return true;
    return false;
}

static bool is_list_of_layers(struct ap_text word)
{
    static const char *const words[] = { "layers", "layer", "blocks", "block", "h", "experts", "stages" };
    for (size_t i = 0; i < AP_COUNT_OF(words); i++)
        if (ap_text_is(word, words[i]))
            return true;
    return false;
}

static bool is_identifier(struct ap_text word)
{
    for (size_t i = 0; i < word.bytes; i++) {
        char c = ap_folded(word.data[i]);
        if (!ap_is_digit(c) && c != '_' && (c < 'a' || c > 'z'))
            return false;
    }
    return word.bytes > 0;
}

/* The path of a module as named_modules() has it: "model.layers.3.mlp". A number alone makes none: "train.step.3". */
static bool is_module_path(struct ap_text text)
{
    struct ap_text rest = text, word, before = AP_TEXT("");
    bool has_layer = false;
    while (ap_text_next_part(&rest, '.', &word)) {
        if (!is_identifier(word))
            return false;
        has_layer |= digits_of(word).bytes == word.bytes && is_list_of_layers(before);
        before = word;
    }
    return has_layer;
}

/* Hooks of several programs write a Python dictionary: {'Module': 'model.layers.0.mlp', ...}. */
static bool is_module_dictionary(struct ap_text text, struct ap_text *ret_name)
{
    static const char begin[] = "{'Module': '";
    size_t end;
    if (!ap_text_starts_with(text, begin))
        return false;
    struct ap_text name = behind(text, sizeof(begin) - 1);
    if (!find(name, "'", &end) || end == 0)
        return false;
    *ret_name = (struct ap_text){ name.data, end };
    return true;
}

static void read_operator(struct ap_text text, size_t details_at, struct ap_nsys_range *range)
{
    struct ap_text details = behind(text, details_at);
    size_t at;
    range->kind = AP_NSYS_OPERATOR;
    range->name = (struct ap_text){ text.data, details_at };
    range->backward = ap_text_contains(range->name, AP_TEXT("Backward"));
    if (find(details, ", seq = ", &at))
        range->sequence = digits_of(behind(details, at + strlen(", seq = ")));
    if (find(details, ", sizes = ", &at))
        range->shapes = shapes_of(behind(details, at + strlen(", sizes = ")));
}

void ap_nsys_range_read(struct ap_text text, struct ap_nsys_range *ret_range)
{
    size_t details_at = 0;
    *ret_range = (struct ap_nsys_range){ .kind = AP_NSYS_ANNOTATION, .name = text, .sequence = AP_TEXT("") };
    ret_range->shapes = AP_TEXT("");
    if (find_details(text, &details_at) && details_at > 0)
        read_operator(text, details_at, ret_range);
    else if (is_operator(text))
        ret_range->kind = AP_NSYS_OPERATOR;
    else if (is_module_dictionary(text, &ret_range->name) || is_module_path(text))
        ret_range->kind = AP_NSYS_MODULE;
}
