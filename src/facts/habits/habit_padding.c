/* SPDX-License-Identifier: MIT
 * Batches most of which is padding: samples that are written one by one into a tensor larger than any of them, padded and
 * stacked, or put together though their lengths differ by far. The layers that the batch goes into work on the padding. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_SAMPLES 4
#define MOST_PARTS 8     /* operators from one sample to the next: views of its place, numbers for a mask */
#define MOST_TO_LAYER 64 /* operators until a layer reads the batch */
#define MOST_NEEDED 0.7  /* of a size that all are padded to: less is no rounding up, to a multiple of a tile */
#define MOST_FILLED 0.5  /* of a batch of different lengths: less is rare where they come in any order */

struct padded {
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

static bool is_named(const struct ap_habit_rows *rows, size_t at, const char *name)
{
    return ap_text_is(ap_row_name(rows->trace, rows->items[at].row), name);
}

static bool is_pad(const struct ap_habit_rows *rows, size_t at)
{
    return is_named(rows, at, "aten::pad") || is_named(rows, at, "aten::constant_pad_nd");
}

/* Row by row, or into all rows at once. */
static bool is_taken_apart(const struct ap_habit_rows *rows, size_t at)
{
    return is_named(rows, at, "aten::select") || is_named(rows, at, "aten::unbind");
}

/* Not that: what was looked at is not looked at again. */
static size_t is_none(struct padded *batch, size_t next)
{
    batch->samples = 0;
    return next;
}

/* Each sample is padded, and all are stacked. Returns the stack. */
static size_t read_pads(struct ap_habit_rows *rows, size_t at, struct padded *batch)
{
    struct ap_tensor_list list;
    size_t last = at;
    for (size_t next = at; next <= last + MOST_PARTS && ap_habit_is_of_step(rows, at, next); next++) {
        if (is_named(rows, next, "aten::stack"))
            return next;
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
    for (size_t next = at + 2; next <= last + MOST_PARTS && ap_habit_is_of_step(rows, at, next); next++) {
        if (!is_named(rows, next, "aten::copy_") || !is_named(rows, next - 1, "aten::slice"))
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

/* The batch, where a layer reads it: all samples, each as large as the largest or larger. */
static const struct ap_tensor_dims *batch_of(struct ap_habit_rows *rows, size_t at, const struct padded *batch,
                                             struct ap_tensor_list *list)
{
    bool looks_up = is_named(rows, at, "aten::embedding");
    if (!looks_up && !(ap_item_words(rows, &rows->items[at]) & (AP_BIT(WEIGHTED) | AP_BIT(HEAVY))))
        return NULL;
    if (!ap_habit_read_tensors(rows, at, list) || list->count <= looks_up)
        return NULL;
    const struct ap_tensor_dims *all = &list->tensors[looks_up];
    if (all->count != batch->needed.count + 1 || all->dims[0] < batch->samples ||
        (batch->elements <= 0 && all->dims[0] != batch->samples))
        return NULL;
    for (int i = 0; i < batch->needed.count; i++)
        if (all->dims[i + 1] < batch->needed.dims[i])
            return NULL;
    return all;
}

/* To the end of the forward pass, or to the next batch. Nodes of the backward pass go with what has numbers. */
static size_t last_of_pass(struct ap_habit_rows *rows, size_t begin, size_t layer)
{
    bool has_nodes = ap_item_sequence(rows, &rows->items[layer]);
    size_t last = layer;
    for (size_t next = layer + 1; next < rows->item_count && rows->items[next].step == rows->items[layer].step; next++) {
        if (rows->items[next].name == rows->items[begin].name &&
            (!is_taken_apart(rows, begin) || ap_habit_is_same(rows, begin, next)))
            break;
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
        double one = ap_tensor_elements(all, 1, all->count);
        double used = batch->elements > 0 ? batch->elements / (double)batch->samples
                                          : ap_tensor_elements(&batch->needed, 0, batch->needed.count);
        *ret_behind = at;
        if (one <= 0 || used > one * (batch->elements > 0 ? MOST_FILLED : MOST_NEEDED))
            return AP_OK;
        *ret_behind = last_of_pass(rows, begin, at);
        return ap_habit_add_stretch(rows, AP_HABIT_padded_sample, at, *ret_behind, used / one, reterr);
    }
    return AP_OK;
}

enum ap_status ap_habit_look_at_padding(struct ap_habit_rows *rows, size_t at, size_t *behind, struct ap_error *reterr)
{
    struct padded batch = { .samples = 0 };
    size_t end = is_pad(rows, at)                           ? read_pads(rows, at, &batch)
                 : is_taken_apart(rows, at)                 ? read_copies(rows, at, &batch)
                 : is_named(rows, at, "aten::pad_sequence") ? read_sequences(rows, at, &batch)
                                                            : at;
    if (end == at)
        return AP_OK;
    *behind = end;
    return batch.samples < LEAST_SAMPLES ? AP_OK : look_behind(rows, at, end, &batch, behind, reterr);
}
