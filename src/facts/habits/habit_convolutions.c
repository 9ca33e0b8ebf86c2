/* SPDX-License-Identifier: MIT
 * Convolutions that are written in a costly form: as a product with patches that overlap, and as filters of images with a
 * whole matrix where a row and a column may do. */
#include "habit_items.h"

#include "poison.h"

#define BEHIND_PATCHES 4   /* operators until patches are multiplied */
#define LEAST_OVERLAP 2    /* so many times more elements are in the patches than in the images */
#define PATCHES_KEEP 0.1   /* the product stays; measured with layers of 16 and 32 channels: 0.1 to 0.2 */
#define MOST_CHANNELS 4    /* of an image; layers have more */
#define LEAST_KERNEL 7     /* below that two calls take as long as one */
#define LEAST_TAPS 512     /* of a signal: shorter filters take as long as transforms do */
#define TRANSFORM_KEEPS 50 /* of its taps: there and back, forward and backward */
#define FEWEST_PIXELS 4096 /* fewer cost nothing */

/* Of (batch, channels, height, width): patches of all channels, (batch, numbers of a patch, patches) or turned. */
static bool are_patches(const struct ap_tensor_dims *patches, const struct ap_tensor_dims *images, int64_t patch)
{
    if (patches->count != 3 || patches->dims[0] != images->dims[0] || patch % images->dims[1] ||
        (patches->dims[1] != patch && patches->dims[2] != patch))
        return false;
    return ap_tensor_elements(patches, 0, 3) >= LEAST_OVERLAP * ap_tensor_elements(images, 0, 4);
}

/* A matrix times patches: one weight for all of them. */
static bool is_convolution(const struct ap_tensor_list *list, const struct ap_tensor_dims *images)
{
    const struct ap_tensor_dims *a = &list->tensors[0], *b = &list->tensors[1];
    if (list->count < 2)
        return false;
    if (a->count == 2)
        return are_patches(b, images, a->dims[1]); /* W @ patches */
    return b->count == 2 && (are_patches(a, images, b->dims[0]) || are_patches(a, images, b->dims[1]));
}

static enum ap_status look_at_patches(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list images, list;
    if (!ap_habit_read_tensors(rows, at, &images) || images.tensors[0].count != 4 || images.tensors[0].dims[1] <= 0)
        return AP_OK;
    for (size_t next = at + 1; next <= at + BEHIND_PATCHES && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (AP_HAS(words, HEAVY))
            return ap_habit_read_tensors(rows, next, &list) && is_convolution(&list, &images.tensors[0])
                       ? ap_habit_add_stretch(rows, AP_HABIT_patch_product, at, next, PATCHES_KEEP, reterr)
                       : AP_OK;
        if (!AP_HAS(words, VIEW))
            break; /* of each patch by itself: no convolution */
    }
    return AP_OK;
}

/* A signal's long filter, which nothing trains: by Fourier transforms it takes as long whatever its length. */
static bool is_long_filter(const struct ap_tensor_dims *signal, const struct ap_tensor_dims *taps)
{
    return signal->count == 3 && taps->count == 3 && signal->dims[1] <= MOST_CHANNELS && taps->dims[1] == 1 &&
           taps->dims[0] == signal->dims[1] && taps->dims[2] >= LEAST_TAPS &&
           ap_tensor_elements(signal, 0, 3) >= FEWEST_PIXELS;
}

/* The same matrix for each of a few channels, which nothing trains. */
static enum ap_status look_at_filter(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, at, &list) || list.count < 2)
        return AP_OK;
    const struct ap_tensor_dims *images = &list.tensors[0], *matrix = &list.tensors[1];
    if (is_long_filter(images, matrix) && !ap_habit_is_trained(rows, at, 1))
        return ap_habit_add_stretch(rows, AP_HABIT_image_filter, at, at, TRANSFORM_KEEPS / (double)matrix->dims[2], reterr);
    if (images->count != 4 || matrix->count != 4 || images->dims[1] > MOST_CHANNELS || matrix->dims[0] != images->dims[1] ||
        matrix->dims[1] != 1 || matrix->dims[2] < LEAST_KERNEL || matrix->dims[3] < LEAST_KERNEL ||
        ap_tensor_elements(images, 0, 4) < FEWEST_PIXELS || ap_habit_is_trained(rows, at, 1))
        return AP_OK;
    double height = (double)matrix->dims[2], width = (double)matrix->dims[3];
    return ap_habit_add_stretch(rows, AP_HABIT_image_filter, at, at, (height + width) / (height * width), reterr);
}

enum ap_status ap_habit_find_convolutions(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    for (size_t at = 0; at < rows->item_count; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        if (!ap_habit_is_call(rows, &rows->items[at]))
            continue;
        if (AP_HAS(words, PATCHES))
            AP_TRY(look_at_patches(rows, at, reterr));
        if (AP_HAS(words, WEIGHTED))
            AP_TRY(look_at_filter(rows, at, reterr));
    }
    return AP_OK;
}
