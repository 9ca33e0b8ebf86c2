/* SPDX-License-Identifier: MIT
 * What shapes tell of tensors that grow from call to call: what is put together, and inputs of layers. */
#include "habit_shapes.h"

#include "poison.h"

#define GROUPS_MAX 32
#define MOST_ADDED 0.25              /* of a growing tensor by one concatenation */
#define LEAST_RISES 0.75             /* of the changes of such a length: one more than before */
#define LEAST_STEPS_UP 0.5           /* of the changes of what grows: by what was added */
#define LEAST_LENGTHS 4              /* that a growing input was seen with */
#define LEAST_SIZES 3                /* that a growing tensor was seen with */
#define LEAST_GIVEN_BACK (32 * 1024) /* elements of 4 bytes: an allocator keeps what has fewer at hand */
#define LENGTH_WORDS 32              /* lengths of an input that are told apart: 64 in each */
#define LENGTHS_BEFORE 256           /* that may be shorter than the first one that is met */

/* ---- concatenations that grow ---- */

/* Alike but for the size that grows. */
struct growth {
    struct ap_tensor_dims first; /* the growing size is 0 */
    int64_t added, least, most;  /* of inputs that grow: which dimension, and the lengths */
    int sizes;
    size_t changes, rises; /* of tensors that grow: from one concatenation to the next, and those by what was added */
    int64_t last;
    uint64_t seen[LENGTH_WORDS]; /* lengths as bits, that of base is number LENGTHS_BEFORE */
    int64_t base;
};

/* A large tensor and little beside it, along one dimension. */
static bool read_growth(const struct ap_tensor_list *list, struct growth *ret_growth, int64_t *ret_size)
{
    const struct ap_tensor_dims *first = &list->tensors[0], *second = &list->tensors[1];
    int at = -1;
    if (list->count < 2 || first->input != 0 || second->input != 0 || first->count != second->count)
        return false;
    if (list->count > 2 && list->tensors[2].input == 0)
        return false;
    for (int i = 0; i < first->count; i++) {
        if (first->dims[i] == second->dims[i])
            continue;
        if (at >= 0)
            return false;
        at = i;
    }
    if (at < 0 || !second->dims[at] || (double)second->dims[at] > MOST_ADDED * (double)first->dims[at])
        return false;
    *ret_size = first->dims[at];
    *ret_growth = (struct growth){ .first = *first, .added = second->dims[at], .least = *ret_size, .most = *ret_size };
    ret_growth->first.dims[at] = 0;
    return true;
}

static struct growth *growth_of(struct growth *groups, int *count, const struct growth *growth)
{
    for (int i = 0; i < *count; i++)
        if (groups[i].added == growth->added && ap_tensor_equal(&groups[i].first, &growth->first))
            return &groups[i];
    if (*count == GROUPS_MAX)
        return NULL;
    groups[*count] = *growth;
    return &groups[(*count)++];
}

static bool is_of_growing_sizes(const struct growth *growth)
{
    return growth->sizes >= LEAST_SIZES && growth->most - growth->least <= growth->added * growth->sizes;
}

static bool grows(const struct growth *growth)
{
    return is_of_growing_sizes(growth) && (double)growth->rises >= LEAST_STEPS_UP * (double)growth->changes;
}

/* That of a row which is a concatenation; NULL = none. */
static struct growth *growth_of_row(struct ap_habit_shapes *shapes, struct growth *groups, int count, uint32_t row,
                                    int64_t *ret_size)
{
    const struct ap_trace *trace = shapes->facts->trace;
    const struct ap_op_detail *op = ap_row_op(trace, row);
    struct ap_text dims, types;
    struct growth growth;
    if (!op || !op->signature.id || !ap_text_is(ap_row_name(trace, row), "aten::cat"))
        return NULL;
    ap_trace_signature(trace, op->signature, &dims, &types);
    ap_tensor_list_read(&shapes->list, dims, types);
    return read_growth(&shapes->list, &growth, ret_size) ? growth_of(groups, &count, &growth) : NULL;
}

/* Is the row a concatenation of a large tensor that grows? */
static bool is_large_cat(struct ap_habit_shapes *shapes, struct growth *groups, int count, uint32_t row)
{
    int64_t size;
    const struct growth *group = growth_of_row(shapes, groups, count, row, &size);
    const struct ap_tensor_dims *whole = &shapes->list.tensors[0];
    return group && grows(group) && ap_tensor_elements(whole, 0, whole->count) >= LEAST_GIVEN_BACK;
}

/* A token put in front of samples of all lengths finds them in any order; what grows is each time as long as it was made. */
static void note_order(struct ap_habit_shapes *shapes, struct growth *groups, int count)
{
    const struct ap_row_order *order = &shapes->facts->order;
    size_t track = shapes->facts->main_track;
    int64_t size;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        struct growth *group = ap_row_is_of(shapes->facts->trace, row, 1u << AP_KIND_operator)
                                   ? growth_of_row(shapes, groups, count, row, &size)
                                   : NULL;
        if (!group)
            continue;
        group->changes += group->last && group->last != size;
        group->rises += group->last && group->last + group->added == size;
        group->last = size;
    }
}

/* Behind each concatenation the tensor that it replaces is given back, where it is large, page by page: time of its own in
 * which no operator runs, but no more than writing it took. Behind a small one it is the way to the next operator. */
static void add_releases(struct ap_habit_shapes *shapes, struct growth *groups, int count)
{
    const struct ap_row_order *order = &shapes->facts->order;
    size_t track = shapes->facts->main_track;
    struct ap_habit *habit = &shapes->habits->of[AP_HABIT_growing_cat];
    int64_t end_ns = INT64_MAX, made_ns = 0;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (!ap_row_is_of(shapes->facts->trace, row, 1u << AP_KIND_operator))
            continue;
        int64_t start_ns = shapes->facts->trace->events.start_ns[row], gap_ns = start_ns - end_ns;
        if (start_ns >= end_ns) {
            gap_ns = gap_ns < made_ns ? gap_ns : made_ns;
            habit->total_ns = ap_add_sat(habit->total_ns, gap_ns, &shapes->habits->overflowed);
            habit->saves_ns = ap_add_sat(habit->saves_ns, gap_ns, &shapes->habits->overflowed);
            end_ns = INT64_MAX;
        }
        if (is_large_cat(shapes, groups, count, row)) {
            end_ns = ap_row_end_ns(shapes->facts->trace, row);
            made_ns = shapes->facts->trace->events.dur_ns[row];
        }
    }
}

static int find_growing(struct ap_habit_shapes *shapes, struct growth *groups)
{
    struct growth growth, *group;
    int count = 0;
    int64_t size;
    for (int pass = 0; pass < 2; pass++) { /* first the groups, then what belongs to those that grow */
        bool any = false;
        for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
            if (!ap_text_is(ap_habit_shape_name(shapes, i), "aten::cat"))
                continue;
            ap_habit_read_shape(shapes, i);
            if (!read_growth(&shapes->list, &growth, &size) || !(group = growth_of(groups, &count, &growth)))
                continue;
            if (pass && grows(group))
                ap_habit_add_shape(shapes, AP_HABIT_growing_cat, i, (double)size / (double)(size + growth.added));
            if (pass)
                continue;
            group->sizes++;
            group->least = size < group->least ? size : group->least;
            group->most = size > group->most ? size : group->most;
            any = any || is_of_growing_sizes(group);
        }
        if (any && shapes->facts->main_track != AP_NO_ROW)
            note_order(shapes, groups, count);
    }
    if (shapes->habits->of[AP_HABIT_growing_cat].count && shapes->facts->main_track != AP_NO_ROW)
        add_releases(shapes, groups, count);
    return count;
}

/* ---- inputs that grow ---- */

static bool is_recurrent(struct ap_text name)
{
    return ap_text_is(name, "aten::lstm") || ap_text_is(name, "aten::gru");
}

/* Layers that models of text have on all positions: some have no aten::linear, but aten::addmm of flat inputs. */
static bool is_of_positions(struct ap_text name)
{
    return ap_text_is(name, "aten::linear") || ap_text_is(name, "aten::layer_norm") || is_recurrent(name);
}

/* A layer that reads the sequence from its end as well sees each position anew; one that only goes forward has a state to
 * keep. The third matrix of weights is that way's, or the next layer's, which takes what the first one made: where both are
 * of one width it is not known. */
static bool may_go_back(const struct ap_habit_shapes *shapes)
{
    const struct ap_tensor_dims *first = ap_habit_shape_input(shapes, 2);
    int matrices = 0;
    for (int i = 0; first && i < shapes->list.count; i++) {
        const struct ap_tensor_dims *weight = &shapes->list.tensors[i];
        if (weight->input == 2 && weight->count == 2 && ++matrices == 3)
            return weight->dims[1] == first->dims[1];
    }
    return shapes->list.leaves_out || !first;
}

/* Is it the input, or the indices or values that it is made of? Only how wide a position is may differ. */
static bool is_series(const struct growth *cat, const struct ap_tensor_dims *input)
{
    int long_dims = 0, at = -1;
    for (int i = 0; i < input->count; i++)
        long_dims += input->dims[i] > 1;
    if (cat->first.count == 1 && long_dims == 1)
        return ap_tensor_elements(input, 0, input->count) >= (double)cat->least &&
               ap_tensor_elements(input, 0, input->count) <= (double)cat->most + (double)cat->added;
    for (int i = 0; i < input->count && i < cat->first.count; i++)
        if (!cat->first.dims[i])
            at = i;
        else if (cat->first.dims[i] != input->dims[i] && (i + 1 < input->count || i < 2))
            return false;
    return at >= 0 && at + 1 < input->count && cat->first.count <= input->count && input->dims[at] >= cat->least &&
           input->dims[at] <= cat->most + cat->added;
}

/* Recurrent layers are asked again for new data as well, as for sentences in the order of their length: what they make has
 * to be put behind what they took. */
static bool is_put_behind(const struct ap_habit_shapes *shapes)
{
    const struct ap_tensor_dims *input = ap_habit_shape_input(shapes, 0);
    for (int i = 0; input && i < shapes->cat_count; i++)
        if (grows(&shapes->cats[i]) && is_series(&shapes->cats[i], input))
            return true;
    return false;
}

static bool tells_of_positions(const struct ap_habit_shapes *shapes, struct ap_text name)
{
    return is_of_positions(name) && (!is_recurrent(name) || (is_put_behind(shapes) && !may_go_back(shapes)));
}

/* A layer's input, alike but for the size of one dimension. One position alone is the last, of which the next is told. */
static bool read_length(const struct ap_habit_shapes *shapes, int at, struct growth *ret_growth, int64_t *ret_length)
{
    const struct ap_tensor_dims *first = ap_habit_shape_input(shapes, 0);
    if (!first || at + 1 >= first->count)
        return false;
    *ret_length = first->dims[at];
    *ret_growth =
        (struct growth){ .first = *first, .added = at, .least = *ret_length, .most = *ret_length, .base = *ret_length };
    ret_growth->first.dims[at] = 0;
    return true;
}

/* Lengths that differ by more than the bits are no text that is generated. */
static void note_length(struct growth *group, int64_t length)
{
    int64_t bit = length - group->base + LENGTHS_BEFORE;
    if (bit < 0 || bit >= LENGTH_WORDS * 64)
        return;
    group->sizes += !(group->seen[bit / 64] >> (bit % 64) & 1);
    group->seen[bit / 64] |= UINT64_C(1) << (bit % 64);
    group->least = length < group->least ? length : group->least;
    group->most = length > group->most ? length : group->most;
}

static void note_lengths(const struct ap_habit_shapes *shapes, struct growth *groups, int *count)
{
    struct growth growth, *group;
    int64_t length;
    for (int at = 0; read_length(shapes, at, &growth, &length); at++) {
        group = length > 1 ? growth_of(groups, count, &growth) : NULL;
        if (group)
            note_length(group, length);
    }
}

/* Which of the lengths the shape has, be it multiplied by the rest of a batch; 0 = none. */
static int64_t length_in(const struct ap_habit_shapes *shapes, const struct growth *growth, int64_t others)
{
    for (int tensor = 0; tensor < shapes->list.count; tensor++)
        for (int i = 0; i < shapes->list.tensors[tensor].count; i++) {
            int64_t size = shapes->list.tensors[tensor].dims[i];
            if (size >= growth->least && size <= growth->most)
                return size;
            if (size % others == 0 && size / others >= growth->least && size / others <= growth->most)
                return size / others;
        }
    return 0;
}

static void add_lengths(struct ap_habit_shapes *shapes, const struct growth *growth)
{
    int64_t others = 1;
    for (int i = 0; i + 1 < growth->first.count; i++)
        if (i != growth->added && growth->first.dims[i] > 0 && others < INT32_MAX)
            others *= growth->first.dims[i];
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        ap_habit_read_shape(shapes, i);
        int64_t length = length_in(shapes, growth, others);
        if (length == growth->least) /* the prompt, which has to be gone over once */
            ap_habit_add_shape(shapes, AP_HABIT_growing_prefix, i, 0);
        else if (length)
            ap_habit_add_shape(shapes, AP_HABIT_growing_prefix, i, 1 - 1 / (double)length);
    }
}

/* The length that the row's input has, where it is of the group; 0 = it is not. */
static int64_t length_of_row(struct ap_habit_shapes *shapes, const struct growth *group, uint32_t row)
{
    const struct ap_trace *trace = shapes->facts->trace;
    const struct ap_op_detail *op = ap_row_op(trace, row);
    struct ap_text dims, types;
    struct growth growth;
    int64_t length;
    if (!op || !op->signature.id || !is_of_positions(ap_row_name(trace, row)))
        return 0;
    ap_trace_signature(trace, op->signature, &dims, &types);
    ap_tensor_list_read(&shapes->list, dims, types);
    return tells_of_positions(shapes, ap_row_name(trace, row)) && read_length(shapes, (int)group->added, &growth, &length) &&
                   ap_tensor_equal(&growth.first, &group->first)
               ? length
               : 0;
}

/* Lengths of samples come as they are; those of a text that is generated rise by one, but where the next text begins. */
static bool comes_in_order(struct ap_habit_shapes *shapes, const struct growth *group)
{
    const struct ap_row_order *order = &shapes->facts->order;
    size_t track = shapes->facts->main_track, changes = 0, rises = 0;
    int64_t last = 0;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        int64_t length =
            ap_row_is_of(shapes->facts->trace, row, 1u << AP_KIND_operator) ? length_of_row(shapes, group, row) : 0;
        if (length <= 1)
            continue;
        changes += last && length != last;
        rises += last && length == last + 1;
        last = length;
    }
    return (double)rises >= LEAST_RISES * (double)changes;
}

/* Text is generated: each call has one position more than the last one, and all before it again. */
static void find_lengths(struct ap_habit_shapes *shapes)
{
    struct growth groups[GROUPS_MAX];
    int count = 0;
    if (shapes->facts->phases.has_backward || shapes->facts->main_track == AP_NO_ROW)
        return;
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        if (!is_of_positions(ap_habit_shape_name(shapes, i)))
            continue;
        ap_habit_read_shape(shapes, i);
        if (tells_of_positions(shapes, ap_habit_shape_name(shapes, i)))
            note_lengths(shapes, groups, &count);
    }
    for (int i = 0; i < count; i++)
        if (groups[i].sizes >= LEAST_LENGTHS && groups[i].most - groups[i].least + 1 == groups[i].sizes &&
            comes_in_order(shapes, &groups[i])) {
            add_lengths(shapes, &groups[i]);
            return;
        }
}

void ap_habit_find_grown_shapes(struct ap_habit_shapes *shapes)
{
    struct growth cats[GROUPS_MAX];
    shapes->cat_count = find_growing(shapes, cats);
    shapes->cats = cats;
    find_lengths(shapes);
    shapes->cats = NULL;
}
