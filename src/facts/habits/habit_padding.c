/* SPDX-License-Identifier: MIT
 * Batches most of which is padding: samples that are written one by one into a tensor larger than any of them, padded and
 * stacked, or put together though their lengths differ by far. The layers that the batch goes into work on the padding. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_SAMPLES 4
#define MOST_PARTS 8     /* operators from one sample to the next: views of its place, numbers for a mask */
#define MOST_TO_LAYER 64 /* operators until a layer reads the batch, or the padding is left out again */
#define MOST_NEEDED 0.7  /* of a size that all are padded to: less is no rounding up, to a multiple of a tile */
#define MOST_FILLED 0.5  /* of a batch of different lengths: less is rare where they come in any order */

struct padded {
    struct ap_tensor_dims whole;  /* the tensor that the samples are put into; of no dimensions = the size is not known */
    struct ap_tensor_dims needed; /* of one sample: in each dimension the largest */
    int64_t samples;
    double elements; /* of all samples; 0 = the size is one that all are padded to */
};

static bool note_sample(struct padded *batch, const struct ap_tensor_dims *sample)
{
    if (!batch->samples)
        batch->needed = *sample;
    if (sample->count != batch->needed.count || !sample->count)
        return false;
    for (int i = 0; i < sample->count; i++)
        if (sample->dims[i] > batch->needed.dims[i])
            batch->needed.dims[i] = sample->dims[i];
    batch->samples++;
    return true;
}

static bool is_pad(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_named(rows, at, AP_TEXT("aten::pad")) ||
           ap_habit_is_named(rows, at, AP_TEXT("aten::constant_pad_nd"));
}

/* Row by row, or into all rows at once. */
static bool is_taken_apart(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_named(rows, at, AP_TEXT("aten::select")) || ap_habit_is_named(rows, at, AP_TEXT("aten::unbind"));
}

/* Not that: what was looked at is not looked at again. */
static size_t is_none(struct padded *batch, size_t next)
{
    batch->samples = 0;
    return next;
}

/* So many samples of one size. */
static void note_whole(struct padded *batch, int64_t samples, const struct ap_tensor_dims *sample)
{
    if (sample->count >= AP_DIMS_MAX)
        return;
    batch->whole.dims[0] = samples;
    batch->whole.count = sample->count + 1;
    for (int i = 0; i < sample->count; i++)
        batch->whole.dims[i + 1] = sample->dims[i];
}

/* Each sample is padded, and all are stacked. Returns the stack. */
static size_t read_pads(struct ap_habit_rows *rows, size_t at, struct padded *batch)
{
    struct ap_tensor_list list;
    size_t last = at;
    for (size_t next = at; next <= last + MOST_PARTS && ap_habit_is_of_step(rows, at, next); next++) {
        if (ap_habit_is_named(rows, next, AP_TEXT("aten::stack"))) {
            if (ap_habit_read_tensors(rows, next, &list))
                note_whole(batch, batch->samples, &list.tensors[0]);
            return next;
        }
        if (!is_pad(rows, next))
            continue;
        last = next;
        if (!ap_habit_read_tensors(rows, next, &list) || !note_sample(batch, &list.tensors[0]))
            break;
    }
    return is_none(batch, last + 1);
}

/* Each sample is copied into the beginning of its row: out[row, :length] = sample. */
static size_t read_copies(struct ap_habit_rows *rows, size_t at, struct padded *batch)
{
    struct ap_tensor_list list;
    size_t last = at;
    if (!ap_habit_read_tensors(rows, at, &list))
        return at;
    batch->whole = list.tensors[0];
    for (size_t next = at + 2; next <= last + MOST_PARTS && ap_habit_is_of_step(rows, at, next); next++) {
        if (!ap_habit_is_named(rows, next, AP_TEXT("aten::copy_")) ||
            !ap_habit_is_named(rows, next - 1, AP_TEXT("aten::slice")))
            continue;
        last = next;
        if (!ap_habit_read_tensors(rows, next, &list) || !note_sample(batch, &list.tensors[0]))
            return is_none(batch, last);
    }
    return last;
}

/* Of more samples than are told the first ones stand for all. */
static size_t read_sequences(struct ap_habit_rows *rows, size_t at, struct padded *batch)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list))
        return at + 1;
    for (int i = 0; i < list.count; i++) {
        if (!note_sample(batch, &list.tensors[i]))
            return is_none(batch, at + 1);
        batch->elements += ap_tensor_elements(&list.tensors[i], 0, list.tensors[i].count);
    }
    return at + 1;
}

/* The very tensor that the samples were put into: others of a step, such as the next prompts behind results that were put
 * together, are as large or larger. */
static bool is_whole(const struct padded *batch, const struct ap_tensor_dims *all)
{
    int at = batch->elements > 0 && all->dims[0] == batch->needed.dims[0]; /* sequences may lie along the first dimension */
    if (all->count != batch->needed.count + 1)
        return false;
    if (batch->elements <= 0)
        return all->dims[0] == batch->samples && ap_tensor_elements(all, 1, all->count) > 0 &&
               all->count == batch->whole.count &&
               !memcmp(all->dims, batch->whole.dims, sizeof(all->dims[0]) * (size_t)all->count);
    if (all->dims[at] < batch->samples || all->dims[!at] != batch->needed.dims[0])
        return false;
    for (int i = 1; i < batch->needed.count; i++)
        if (all->dims[i + 1] != batch->needed.dims[i])
            return false;
    return true;
}

/* The batch, where a layer reads it. Rows of numbers that go into a product are a matrix, not samples. */
static const struct ap_tensor_dims *batch_of(struct ap_habit_rows *rows, size_t at, const struct padded *batch,
                                             struct ap_tensor_list *list)
{
    bool looks_up = ap_habit_is_named(rows, at, AP_TEXT("aten::embedding"));
    if (!looks_up && !(ap_item_words(rows, &rows->items[at]) & (AP_BIT(WEIGHTED) | AP_BIT(HEAVY))))
        return NULL;
    if (!ap_habit_read_tensors(rows, at, list) || list->count <= looks_up)
        return NULL;
    const struct ap_tensor_dims *all = &list->tensors[looks_up];
    return (looks_up || all->count > 2) && is_whole(batch, all) ? all : NULL;
}

/* The padding is left out before other layers: packed or nested, or picked by a mask. */
static bool is_taken_out(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *all)
{
    struct ap_tensor_list list;
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    if (ap_text_is(name, "aten::_pack_padded_sequence") || ap_text_starts_with(name, "aten::_nested_tensor_from"))
        return true;
    bool picks = ap_text_is(name, "aten::index") || ap_text_is(name, "aten::masked_select");
    if ((!picks && !ap_text_is(name, "aten::index_select")) || !ap_habit_read_tensors(rows, at, &list))
        return false;
    const struct ap_tensor_dims *from = &list.tensors[0];
    return (picks && from->count > 1 && from->dims[0] == all->dims[0] && from->dims[1] == all->dims[1]) ||
           from->dims[0] == all->dims[0] * all->dims[1];
}

/* A look-up of other words, or a first layer of pictures: of another input of the model. */
static bool is_of_another(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *all, int64_t length)
{
    struct ap_tensor_list list;
    bool looks_up = ap_habit_is_named(rows, at, AP_TEXT("aten::embedding"));
    if ((!looks_up && !ap_habit_is_named(rows, at, AP_TEXT("aten::conv2d"))) || !ap_habit_read_tensors(rows, at, &list) ||
        list.count <= looks_up)
        return false;
    const struct ap_tensor_dims *from = &list.tensors[looks_up];
    for (int i = 0; i < from->count; i++)
        if (from->dims[i] == length)
            return false;
    return looks_up || (all->count < 4 && from->count == 4 && from->dims[1] == 3);
}

/* To the end of the forward pass, to what reads something else, or to the next batch. Nodes of the backward pass go with
 * what has numbers. Where the padding is left out before the first product, @begin: looking it up costs little. */
static size_t last_of_pass(struct ap_habit_rows *rows, size_t begin, size_t layer, const struct ap_tensor_dims *all,
                           int64_t length)
{
    bool has_nodes = ap_item_sequence(rows, &rows->items[layer]);
    bool multiplies = !ap_habit_is_named(rows, layer, AP_TEXT("aten::embedding"));
    size_t last = layer;
    for (size_t next = layer + 1; next < rows->item_count && rows->items[next].step == rows->items[layer].step; next++) {
        if (ap_habit_name_at(rows, next) == ap_habit_name_at(rows, begin) &&
            (!is_taken_apart(rows, begin) || ap_habit_is_same(rows, begin, next)))
            break;
        if (is_taken_out(rows, next, all))
            return multiplies || next - layer > MOST_TO_LAYER ? last : begin;
        if (is_of_another(rows, next, all, length))
            break;
        multiplies = multiplies || (ap_item_words(rows, &rows->items[next]) & (AP_BIT(WEIGHTED) | AP_BIT(HEAVY)));
        if (ap_habit_is_call(rows, &rows->items[next]))
            last = !has_nodes || ap_item_sequence(rows, &rows->items[next]) ? next : last;
        else if (!AP_HAS(ap_item_words(rows, &rows->items[next]), CLEARS))
            break;
    }
    return last;
}

static enum ap_status look_behind(struct ap_habit_rows *rows, size_t begin, size_t end, const struct padded *batch,
                                  size_t *ret_behind, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    for (size_t at = end; at < end + MOST_TO_LAYER && ap_habit_is_of_step(rows, begin, at); at++) {
        const struct ap_tensor_dims *all = batch_of(rows, at, batch, &list);
        if (!all)
            continue;
        int64_t length = batch->elements > 0 ? batch->needed.dims[0] : all->dims[1];
        bool comes_second = batch->elements > 0 && all->dims[0] == length;
        double one = ap_tensor_elements(all, 0, all->count) / (double)all->dims[comes_second];
        double used = batch->elements > 0 ? batch->elements / (double)batch->samples
                                          : ap_tensor_elements(&batch->needed, 0, batch->needed.count);
        *ret_behind = at;
        if (used > one * (batch->elements > 0 ? MOST_FILLED : MOST_NEEDED))
            return AP_OK;
        size_t last = last_of_pass(rows, begin, at, all, length);
        *ret_behind = last < at ? at : last;
        if (last < at)
            return AP_OK;
        return ap_habit_add_stretch(rows, AP_HABIT_padded_sample, at, *ret_behind, used / one, reterr);
    }
    return AP_OK;
}

enum ap_status ap_habit_look_at_padding(struct ap_habit_rows *rows, size_t at, size_t *behind, struct ap_error *reterr)
{
    struct padded batch = { .samples = 0 };
    size_t end = is_pad(rows, at)                                             ? read_pads(rows, at, &batch)
                 : is_taken_apart(rows, at)                                   ? read_copies(rows, at, &batch)
                 : ap_habit_is_named(rows, at, AP_TEXT("aten::pad_sequence")) ? read_sequences(rows, at, &batch)
                                                                              : at;
    if (end == at)
        return AP_OK;
    *behind = end;
    return batch.samples < LEAST_SAMPLES ? AP_OK : look_behind(rows, at, end, &batch, behind, reterr);
}
