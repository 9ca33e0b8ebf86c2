/* SPDX-License-Identifier: MIT
 * Work on each element alone of which a part is taken: images that are worked on before they are made smaller. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_ELEMENTS (16 * 1024) /* fewer cost nothing */
#define LEAST_LEFT_OUT 4           /* so many times more are computed than are used */
#define MOST_BEFORE_TAKEN 24 /* operators that made what is taken: with the numbers that transforms make between them */
#define MOST_TO_CROPPED 64   /* operators until what a crop left is used: others of the batch are cropped before */
#define LOOKS_BEHIND_EACH 16 /* operators behind it that may use the rest, for each operator of the thread */
#define MOST_JOINS 8         /* operators that put results together, one behind the other */
#define MOST_OF_STEP 512
#define LEAST_ENLARGED 1.5     /* so many times more places than the image had */
#define MOST_TO_FIRST_LAYER 16 /* operators from a resize to the layer that sees what it made */

static double elements_of(const struct ap_tensor_dims *tensor)
{
    return ap_tensor_elements(tensor, 0, tensor->count);
}

/* ---- elements that nobody uses ---- */

/* Elements of what is taken, by the first that is called with it; 0 = not known. */
static double taken_elements(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    return ap_habit_is_of_step(rows, at, at + 1) && ap_habit_read_tensors(rows, at + 1, &list)
               ? elements_of(&list.tensors[0])
               : 0;
}

/* The same sizes, where dimensions of one are put before those of one of them: an image as a batch of one. */
static bool is_same_image(const struct ap_tensor_dims *one, const struct ap_tensor_dims *other)
{
    const struct ap_tensor_dims *shorter = one->count < other->count ? one : other;
    const struct ap_tensor_dims *longer = shorter == one ? other : one;
    int more = longer->count - shorter->count;
    for (int i = 0; i < longer->count; i++)
        if (longer->dims[i] != (i < more ? 1 : shorter->dims[i - more]))
            return false;
    return true;
}

/* Made by each element alone, or, where channels are taken, by each channel alone. */
static bool is_by_element(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *all, bool takes_channels)
{
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (!ap_habit_read_tensors(rows, at, &list))
        return false;
    const struct ap_tensor_dims *from = &list.tensors[0];
    if (AP_HAS(words, RESIZE))
        return takes_channels && from->count == 4 && all->count == 4 && from->dims[0] == all->dims[0] &&
               from->dims[1] == all->dims[1];
    if (!takes_channels && list.count > 1 && ap_tensor_equal(&list.tensors[1], all))
        return false; /* a resize of both would be the better form: none is sure */
    return (takes_channels ? AP_HAS(words, BY_ELEMENT) : AP_HAS(words, AFFINE)) && is_same_image(from, all);
}

/* Results that are put together: batches of a loader, all that was said about a data set. */
static bool is_join(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return ap_text_is(name, "aten::stack") || ap_text_is(name, "aten::cat");
}

/* Each item is asked for its name once, as long as @at grows. */
static bool is_joined_behind(struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *all)
{
    struct ap_tensor_list list;
    size_t next = rows->next_join > at ? rows->next_join : at + 1;
    while (next < rows->item_count && !is_join(rows, next))
        next++;
    rows->next_join = next;
    for (size_t end = next + MOST_JOINS; next < end && next < rows->item_count; next++) {
        bool reads = is_join(rows, next) && ap_habit_read_tensors(rows, next, &list);
        for (int i = 0; reads && i < list.count; i++)
            if (is_same_image(&list.tensors[i], all))
                return true;
    }
    return false;
}

void ap_habit_begin_search(struct ap_habit_rows *rows)
{
    rows->next_join = 0;
    rows->looks_left = LOOKS_BEHIND_EACH * rows->item_count + MOST_OF_STEP;
}

/* Up to the next one that is worked on. One more part of it may be taken, as for views of an image, or its tiles. */
bool ap_habit_is_used_behind(struct ap_habit_rows *rows, size_t first, size_t at, const struct ap_tensor_dims *all)
{
    for (size_t next = at + 1; ap_habit_is_of_step(rows, at, next); next++) {
        if (ap_habit_is_same(rows, first, next))
            break;
        if (!rows->looks_left || ap_habit_has_tensor(rows, next, all))
            return true;
        rows->looks_left--;
    }
    return is_joined_behind(rows, at, all);
}

/* The sizes @one with a smaller one for that of number @at: what a crop of images leaves of them. */
static bool is_cut(const struct ap_tensor_dims *part, const struct ap_tensor_dims *one, int at)
{
    if (part->count != one->count || part->dims[at] >= one->dims[at])
        return false;
    for (int i = 0; i < one->count; i++)
        if (i != at && part->dims[i] != one->dims[i])
            return false;
    return true;
}

/* Of a crop: two slices behind each other, one of them by height and one by width. What the second one leaves is told by
 * what is called with it later, alone or stacked; 0 = not known. */
static double cropped_elements(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list all, half, list;
    if (!ap_habit_is_of_step(rows, at, at + 1) || ap_habit_name_at(rows, at) != ap_habit_name_at(rows, at + 1) ||
        !ap_habit_read_tensors(rows, at, &all) || !ap_habit_read_tensors(rows, at + 1, &half) || all.tensors[0].count < 3)
        return 0;
    int by_height = all.tensors[0].count - 2, by_width = by_height + 1;
    bool height_first = is_cut(&half.tensors[0], &all.tensors[0], by_height);
    if (!height_first && !is_cut(&half.tensors[0], &all.tensors[0], by_width))
        return 0;
    for (size_t next = at + 2; next <= at + MOST_TO_CROPPED && ap_habit_is_of_step(rows, at, next); next++)
        for (int i = 0; ap_habit_read_tensors(rows, next, &list) && i < list.count; i++)
            if (is_cut(&list.tensors[i], &half.tensors[0], height_first ? by_width : by_height))
                return elements_of(&list.tensors[i]);
    return 0;
}

static bool is_in_place(const struct ap_habit_rows *rows, size_t at)
{
    return ap_text_ends_with(ap_row_name(rows->trace, rows->items[at].row), "_");
}

/* Gray, with or without a mask, or of three colors: other maps may be what a program keeps from step to step. */
static bool has_colors(const struct ap_tensor_dims *image)
{
    return image->count >= 3 && image->dims[image->count - 3] >= 1 && image->dims[image->count - 3] <= 4;
}

/* An image is worked on, and most of it is cut off. A mean or a channel of the whole may be taken on the way, of which the
 * crop has one too. What begins in place may be kept for the next step. */
static enum ap_status look_at_crop(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list;
    size_t first = at, last = at;
    if (!ap_habit_read_tensors(rows, at, &list) || !has_colors(&list.tensors[0]))
        return AP_OK;
    const struct ap_tensor_dims *all = &list.tensors[0];
    double of_all = elements_of(all), taken = of_all < LEAST_ELEMENTS ? 0 : cropped_elements(rows, at);
    if (taken <= 0 || of_all < LEAST_LEFT_OUT * taken)
        return AP_OK;
    for (size_t back = at; back-- > 0 && at - back <= MOST_BEFORE_TAKEN && ap_habit_is_of_step(rows, at, back);) {
        uint64_t words = ap_item_words(rows, &rows->items[back]);
        if (ap_habit_is_same(rows, at, back))
            break; /* the image before */
        if (is_by_element(rows, back, all, true)) {
            first = is_in_place(rows, back) ? first : back;
            last = last == at ? back : last;
        } else if (ap_habit_has_tensor(rows, back, all) && !(words & (AP_BIT(PIECE) | AP_BIT(VIEW) | AP_BIT(REDUCTION)))) {
            break;
        }
    }
    if (first == at || ap_habit_is_used_behind(rows, first, at, all))
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_unused_elements, first, last, taken / of_all, reterr);
}

/* Does it read the image, as a batch of one or without? A view alone reads nothing. */
static bool reads_image(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *all)
{
    struct ap_tensor_list list;
    bool reads = !AP_HAS(ap_item_words(rows, &rows->items[at]), VIEW) && ap_habit_read_tensors(rows, at, &list);
    for (int i = 0; reads && i < list.count; i++)
        if (is_same_image(&list.tensors[i], all))
            return true;
    return false;
}

static enum ap_status look_at_taken(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list, before;
    bool takes_channels = AP_HAS(ap_item_words(rows, &rows->items[at]), TAKES);
    double taken = taken_elements(rows, at);
    size_t first = at, last = at;
    if (!ap_habit_read_tensors(rows, at, &list) || taken <= 0)
        return AP_OK;
    const struct ap_tensor_dims *all = &list.tensors[0];
    double of_all = elements_of(all);
    if (of_all < LEAST_ELEMENTS || of_all < LEAST_LEFT_OUT * taken)
        return AP_OK;
    for (size_t back = at; back-- > 0 && at - back <= MOST_BEFORE_TAKEN && ap_habit_is_of_step(rows, at, back);) {
        if (is_by_element(rows, back, all, takes_channels)) {
            first = back;
            last = last == at ? back : last;
        } else if (ap_habit_has_tensor(rows, back, all) || reads_image(rows, back, all)) {
            break;
        }
        if (AP_HAS(ap_item_words(rows, &rows->items[back]), RESIZE))
            break;
    }
    if (first == at || ap_habit_is_used_behind(rows, first, at, all))
        return AP_OK;
    if (ap_habit_read_tensors(rows, first, &before) && before.tensors[0].element != all->element)
        last = at; /* of smaller elements the resize is quicker, too */
    return ap_habit_add_stretch(rows, AP_HABIT_unused_elements, first, last, taken / of_all, reterr);
}

/* ---- images of another size ---- */

/* A resize right behind it is one of what it made: without the way by the other size it has less to read, or none to do. */
static enum ap_status look_at_resample(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    bool goes_on = ap_habit_is_of_step(rows, at, at + 1) && AP_HAS(ap_item_words(rows, &rows->items[at + 1]), TO_SIZE);
    return ap_habit_add_stretch(rows, AP_HABIT_resample, at, at + goes_on, 0, reterr);
}

/* ---- images that are made larger for a model that takes any size ---- */

static double places_of(const struct ap_tensor_dims *image)
{
    return image->count == 4 ? (double)image->dims[2] * (double)image->dims[3] : 0;
}

/* The layer that sees the larger image; 0 = none. Of several images that are resized one by one only the last one tells. */
static size_t first_layer_of(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *image)
{
    struct ap_tensor_list list;
    for (size_t next = at + 1; next <= at + MOST_TO_FIRST_LAYER && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        if (AP_HAS(words, RESIZE))
            return 0;
        if (!AP_HAS(words, WEIGHTED))
            continue;
        bool sees = ap_habit_read_tensors(rows, next, &list) && list.tensors[0].dims[1] == image->dims[1] &&
                    places_of(&list.tensors[0]) >= LEAST_ENLARGED * places_of(image);
        return sees ? next : 0;
    }
    return 0;
}

/* Over all places, behind which any size is the same. */
static bool is_pooled(const struct ap_habit_rows *rows, size_t at)
{
    return AP_HAS(ap_item_words(rows, &rows->items[at]), REDUCTION) ||
           ap_text_starts_with(ap_row_name(rows->trace, rows->items[at].row), "aten::adaptive_");
}

/* The last operator on images from the first layer on, where that pools them; 0 = another one, or a model for one size.
 * Where something is trained a layer has to follow: a loss takes the mean over all places of any map. */
static size_t pooled_at(const struct ap_habit_rows *rows, size_t at, size_t layer)
{
    struct ap_tensor_list list;
    size_t last = 0;
    for (size_t next = layer; ap_habit_is_of_step(rows, at, next) && !ap_habit_is_same(rows, at, next); next++) {
        if (AP_HAS(ap_item_words(rows, &rows->items[next]), RESIZE))
            return 0;
        if (!ap_habit_read_tensors(rows, next, &list))
            continue;
        if (last && AP_HAS(ap_item_words(rows, &rows->items[next]), WEIGHTED) && list.tensors[0].count < 4 &&
            is_pooled(rows, last))
            return last;
        last = places_of(&list.tensors[0]) > 1 ? next : last;
    }
    return last && is_pooled(rows, last) && !rows->facts->phases.has_backward ? last : 0;
}

/* Layers take as much less as there are fewer places. */
static enum ap_status look_at_enlarged(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    struct ap_tensor_list list, made;
    if (!ap_habit_read_tensors(rows, at, &list) || places_of(&list.tensors[0]) <= 0 || !has_colors(&list.tensors[0]))
        return AP_OK;
    size_t layer = first_layer_of(rows, at, &list.tensors[0]), last = layer ? pooled_at(rows, at, layer) : 0;
    if (!last || !ap_habit_read_tensors(rows, layer, &made))
        return AP_OK;
    return ap_habit_add_stretch(rows, AP_HABIT_enlarged_image, layer, last,
                                places_of(&list.tensors[0]) / places_of(&made.tensors[0]), reterr);
}

enum ap_status ap_habit_look_at_images(struct ap_habit_rows *rows, size_t at, struct ap_error *reterr)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (words & (AP_BIT(TAKES) | AP_BIT(RESIZE)))
        AP_TRY(look_at_taken(rows, at, reterr));
    if (ap_habit_is_named(rows, at, AP_TEXT("aten::slice")))
        AP_TRY(look_at_crop(rows, at, reterr));
    if (AP_HAS(words, RESIZE))
        AP_TRY(look_at_enlarged(rows, at, reterr));
    return AP_HAS(words, RESAMPLE) ? look_at_resample(rows, at, reterr) : AP_OK;
}

enum ap_status ap_habit_find_waste_of_loading(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    ap_habit_begin_search(rows);
    for (size_t at = 0; at < rows->item_count; at++)
        AP_TRY(ap_habit_look_at_images(rows, at, reterr));
    return AP_OK;
}
