/* SPDX-License-Identifier: MIT
 * What shapes and types of operators tell, summed over calls that are alike. */
#include <string.h>

#include "habits.h"
#include "tensor_dims.h"

#include "poison.h"

#define GROUPS_MAX 32
#define TRIES_MAX 16            /* candidates that are looked at, each against all shapes */
#define DOUBLE_SAVES 0.55       /* half the bytes, half the width of an instruction, and shorter series of functions */
#define LEAST_DOUBLES 1024      /* elements: sums and numbers for a log are none that cost */
#define LEAST_LENGTH 64         /* of a transform; of short ones a detour costs little */
#define TRANSFORM_SAVES 0.75    /* measured with lengths from 509 to 16001 beside the next power of two: 0.5 to 0.86 */
#define LEAST_CLASSES 32        /* of a one-hot matrix: less is no table to look up in */
#define LEAST_TABLE (64 * 1024) /* elements of an embedding table whose gradient may cost */
#define MOST_OF_TABLE 0.125     /* of its rows that a step touches */
#define MOST_ADDED 0.25         /* of a growing tensor by one concatenation */
#define LEAST_RISES 0.75        /* of the changes of such a length: one more than before */
#define LEAST_LENGTHS 4         /* that a growing input was seen with */
#define LEAST_SIZES 3           /* that a growing tensor was seen with */
#define LONGEST_RELEASE_NS INT64_C(500000) /* behind a concatenation: longer gaps have another cause */
#define LENGTH_WORDS 32                    /* lengths of an input that are told apart: 64 in each */
#define LENGTHS_BEFORE 256                 /* that may be shorter than the first one that is met */

struct shapes {
    struct ap_habits *habits;
    const struct ap_facts *facts;
    const struct ap_host_work *work;
    struct ap_tensor_list list; /* of the shape that is looked at */
};

static struct ap_text name_of(const struct shapes *shapes, uint32_t index)
{
    return ap_trace_text(shapes->facts->trace, shapes->work->shapes[index].cost.name);
}

static bool is_named(struct ap_text name, const char *text)
{
    return ap_text_equal(name, (struct ap_text){ text, strlen(text) });
}

static void read_shape(struct shapes *shapes, uint32_t index)
{
    struct ap_text dims, types;
    ap_trace_signature(shapes->facts->trace, (struct ap_str){ shapes->work->shapes[index].signature }, &dims, &types);
    ap_tensor_list_read(&shapes->list, dims, types);
}

static const struct ap_tensor_dims *input(const struct shapes *shapes, int number)
{
    for (int i = 0; i < shapes->list.count; i++)
        if (shapes->list.tensors[i].input == number)
            return &shapes->list.tensors[i];
    return NULL;
}

/* All calls of the shape; @share of their own time could go. The habit shows the shape with most of it. */
static void add_shape(struct shapes *shapes, enum ap_habit_id id, uint32_t index, double share)
{
    const struct ap_shape_cost *shape = &shapes->work->shapes[index];
    struct ap_habit *habit = &shapes->habits->of[id];
    int64_t self_ns = shape->cost.host_self_ns;
    habit->count += shape->cost.calls;
    habit->total_ns = ap_add_sat(habit->total_ns, self_ns, &shapes->habits->overflowed);
    habit->saves_ns = ap_add_sat(habit->saves_ns, ap_share_of(self_ns, share), &shapes->habits->overflowed);
    habit->has_device = shapes->facts->links.count > 0;
    habit->device_ns = ap_add_sat(habit->device_ns, shape->cost.device_self_ns, &shapes->habits->overflowed);
    habit->device_saves_ns =
        ap_add_sat(habit->device_saves_ns, ap_share_of(shape->cost.device_self_ns, share), &shapes->habits->overflowed);
    if (habit->row != AP_NO_ROW && habit->longest_ns >= self_ns)
        return;
    habit->longest_ns = self_ns;
    habit->row = shape->cost.slowest_row;
    habit->names[0] = shape->cost.name;
    habit->signature = shape->signature;
}

/* ---- 64-bit floats ---- */

static bool is_product(struct ap_text name)
{
    static const char *const names[] = { "aten::mm",     "aten::addmm",  "aten::bmm",    "aten::baddbmm",
                                         "aten::linear", "aten::matmul", "aten::einsum", "aten::convolution" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (is_named(name, names[i]))
            return true;
    return false;
}

static bool has_double(const struct ap_tensor_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (list->tensors[i].element == AP_ELEMENT_fp64 &&
            ap_tensor_elements(&list->tensors[i], 0, list->tensors[i].count) >= LEAST_DOUBLES)
            return true;
    return false;
}

static void find_double(struct shapes *shapes)
{
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        read_shape(shapes, i);
        if (has_double(&shapes->list))
            add_shape(shapes, AP_HABIT_double_work, i, DOUBLE_SAVES);
    }
}

/* ---- Fourier transforms ---- */

/* What is left of the number without the factors of which libraries have fast methods. */
static int64_t odd_factor(int64_t number)
{
    static const int64_t factors[] = { 2, 3, 5, 7, 11, 13 };
    for (size_t i = 0; i < AP_COUNT_OF(factors); i++)
        while (number % factors[i] == 0)
            number /= factors[i];
    return number;
}

/* Of real or complex values along the last dimension: the length that is read is that of the transform. */
static void find_transforms(struct shapes *shapes)
{
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        if (!is_named(name_of(shapes, i), "aten::_fft_r2c") && !is_named(name_of(shapes, i), "aten::_fft_c2c"))
            continue;
        read_shape(shapes, i);
        const struct ap_tensor_dims *values = input(shapes, 0);
        int64_t length = values && values->count ? values->dims[values->count - 1] : 0;
        if (length >= LEAST_LENGTH && odd_factor(length) > 1)
            add_shape(shapes, AP_HABIT_odd_transform, i, TRANSFORM_SAVES);
    }
}

/* ---- embedding tables ---- */

/* How many rows of the table all its look-ups of a step can touch; 0 = no look-up in it. */
static double touched_rows(struct shapes *shapes, const struct ap_tensor_dims *table, double updates)
{
    double rows = 0;
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        if (!is_named(name_of(shapes, i), "aten::embedding"))
            continue;
        read_shape(shapes, i);
        const struct ap_tensor_dims *weight = input(shapes, 0), *indices = input(shapes, 1);
        if (weight && indices && ap_tensor_equal(weight, table))
            rows += ap_tensor_elements(indices, 0, indices->count) * (double)shapes->work->shapes[i].cost.calls;
    }
    return rows / updates;
}

/* A table that is the matrix of a product too has a dense gradient anyway. */
static bool is_multiplied(struct shapes *shapes, const struct ap_tensor_dims *table)
{
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        if (!is_product(name_of(shapes, i)))
            continue;
        read_shape(shapes, i);
        for (int at = 0; at < shapes->list.count; at++) {
            const struct ap_tensor_dims *tensor = &shapes->list.tensors[at];
            if (tensor->count == 2 && ((tensor->dims[0] == table->dims[0] && tensor->dims[1] == table->dims[1]) ||
                                       (tensor->dims[0] == table->dims[1] && tensor->dims[1] == table->dims[0])))
                return true;
        }
    }
    return false;
}

/* The share of the row's work that is on the table: of operators on many tensors, by elements. */
static double table_share(const struct shapes *shapes, const struct ap_tensor_dims *table)
{
    double all = 0, on_table = 0;
    for (int i = 0; i < shapes->list.count && shapes->list.tensors[i].input == 0; i++) {
        double elements = ap_tensor_elements(&shapes->list.tensors[i], 0, shapes->list.tensors[i].count);
        all += elements;
        on_table += ap_tensor_equal(&shapes->list.tensors[i], table) ? elements : 0;
    }
    return all > 0 ? on_table / all : 0;
}

/* Of several tables the gradients' own operators, whose shapes do not tell which one, go with the first. */
static void add_table(struct shapes *shapes, const struct ap_tensor_dims *table, double touched_ratio, bool is_first)
{
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        struct ap_text name = name_of(shapes, i);
        if (is_named(name, "aten::embedding") || is_named(name, "aten::index_select"))
            continue;
        read_shape(shapes, i);
        double share = is_named(name, "aten::embedding_dense_backward") ? is_first : table_share(shapes, table);
        if (share > 0)
            add_shape(shapes, AP_HABIT_embedding_gradient, i, share * (1 - touched_ratio));
    }
}

static uint64_t calls_of(const struct shapes *shapes, const char *name)
{
    for (uint32_t i = 0; i < shapes->work->op_count; i++)
        if (is_named(ap_trace_text(shapes->facts->trace, shapes->work->ops[i].cost.name), name))
            return shapes->work->ops[i].cost.calls;
    return 0;
}

static bool is_among(const struct ap_tensor_dims *tables, uint32_t count, const struct ap_tensor_dims *table)
{
    for (uint32_t i = 0; i < count; i++)
        if (ap_tensor_equal(&tables[i], table))
            return true;
    return false;
}

static void find_tables(struct shapes *shapes)
{
    struct ap_tensor_dims found[TRIES_MAX];
    uint32_t found_count = 0;
    double updates = (double)(shapes->facts->steps.count ? shapes->facts->steps.count : 1);
    if (!calls_of(shapes, "aten::embedding_dense_backward"))
        return;
    for (uint32_t i = 0, tries = 0; i < shapes->work->shape_map.count && tries < TRIES_MAX; i++) {
        if (!is_named(name_of(shapes, i), "aten::embedding"))
            continue;
        read_shape(shapes, i);
        const struct ap_tensor_dims *weight = input(shapes, 0);
        tries++;
        if (!weight || weight->count != 2 || !weight->dims[0])
            continue;
        struct ap_tensor_dims table = *weight;
        if (is_among(found, found_count, &table))
            continue; /* tables of one shape cannot be told apart, and rows must not be summed twice */
        double ratio = touched_rows(shapes, &table, updates) / (double)table.dims[0];
        if (ap_tensor_elements(&table, 0, 2) < LEAST_TABLE || ratio > MOST_OF_TABLE || is_multiplied(shapes, &table))
            continue;
        add_table(shapes, &table, ratio, found_count == 0);
        found[found_count++] = table;
    }
}

/* ---- one-hot matrices ---- */

static bool is_matrix(const struct ap_tensor_dims *tensor, double rows, double columns)
{
    return tensor->count >= 2 && (double)tensor->dims[tensor->count - 1] == columns &&
           ap_tensor_elements(tensor, 0, tensor->count - 1) == rows;
}

/* Is the matrix the first operand of a product that a program writes (backward has only plain ones)? As it is, it looks rows
 * up; transposed, it adds up the rows of each class. */
static bool is_multiplied_first(struct shapes *shapes, double rows, double columns)
{
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        struct ap_text name = name_of(shapes, i);
        if (!is_named(name, "aten::linear") && !is_named(name, "aten::matmul"))
            continue;
        read_shape(shapes, i);
        const struct ap_tensor_dims *first = input(shapes, 0);
        if (first && (is_matrix(first, rows, columns) || is_matrix(first, columns, rows)))
            return true;
    }
    return false;
}

static void add_one_hot(struct shapes *shapes, double rows, double columns)
{
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        read_shape(shapes, i);
        for (int at = 0; at < shapes->list.count; at++)
            if (is_matrix(&shapes->list.tensors[at], rows, columns) || is_matrix(&shapes->list.tensors[at], columns, rows)) {
                add_shape(shapes, AP_HABIT_one_hot_product, i, 1);
                break;
            }
    }
}

/* Scores times a matrix of ones and zeros, whose integers tell it from other factors, and then a sum: one score of each row
 * is wanted. */
static bool is_a_mask(struct shapes *shapes, double rows, double columns)
{
    bool is_multiplied = false, is_summed = false;
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        struct ap_text name = name_of(shapes, i);
        if (!is_named(name, "aten::mul") && !is_named(name, "aten::sum"))
            continue;
        read_shape(shapes, i);
        const struct ap_tensor_dims *one = input(shapes, 0), *other = input(shapes, 1);
        if (!one || !is_matrix(one, rows, columns))
            continue;
        is_summed |= is_named(name, "aten::sum");
        is_multiplied |= is_named(name, "aten::mul") && other && ap_tensor_equal(one, other) &&
                         (one->element == AP_ELEMENT_int64) != (other->element == AP_ELEMENT_int64);
    }
    return is_multiplied && is_summed;
}

/* What makes the mask, multiplies by it and sums up, in the backward pass too. */
static void add_mask(struct shapes *shapes, double rows, double columns)
{
    static const char *const names[] = { "aten::scatter_", "aten::fill_", "aten::copy_", "aten::mul", "aten::sum" };
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        bool is_of_mask = false;
        for (size_t j = 0; j < AP_COUNT_OF(names); j++)
            is_of_mask |= is_named(name_of(shapes, i), names[j]);
        if (!is_of_mask)
            continue;
        read_shape(shapes, i);
        const struct ap_tensor_dims *first = input(shapes, 0);
        if (first && is_matrix(first, rows, columns))
            add_shape(shapes, AP_HABIT_one_hot_product, i, 1);
    }
}

/* one_hot writes a one into each row of a matrix by scatter_. */
static void find_one_hot(struct shapes *shapes)
{
    if (!calls_of(shapes, "aten::one_hot"))
        return;
    for (uint32_t i = 0, tries = 0; i < shapes->work->shape_map.count && tries < TRIES_MAX; i++) {
        if (!is_named(name_of(shapes, i), "aten::scatter_"))
            continue;
        read_shape(shapes, i);
        tries++;
        const struct ap_tensor_dims *into = input(shapes, 0), *indices = input(shapes, 2);
        if (!into || !indices || into->count < 2 || indices->dims[indices->count - 1] != 1)
            continue;
        double columns = (double)into->dims[into->count - 1], rows = ap_tensor_elements(into, 0, into->count - 1);
        if (columns < LEAST_CLASSES || rows == columns)
            continue;
        bool is_product = is_multiplied_first(shapes, rows, columns);
        if (!is_product && !is_a_mask(shapes, rows, columns))
            continue;
        if (is_product)
            add_one_hot(shapes, rows, columns);
        else
            add_mask(shapes, rows, columns);
        return;
    }
}

/* ---- concatenations that grow ---- */

/* Alike but for the size that grows. */
struct growth {
    struct ap_tensor_dims first; /* the growing size is 0 */
    int64_t added, least, most;  /* of inputs that grow: which dimension, and the lengths */
    int sizes;
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

static bool grows(const struct growth *growth)
{
    return growth->sizes >= LEAST_SIZES && growth->most - growth->least <= growth->added * growth->sizes;
}

/* Is the row a concatenation of a tensor that grows? */
static bool is_growing_cat(struct shapes *shapes, struct growth *groups, int count, uint32_t row)
{
    const struct ap_trace *trace = shapes->facts->trace;
    const struct ap_op_detail *op = ap_row_op(trace, row);
    struct ap_text dims, types;
    struct growth growth;
    int64_t size;
    if (!op || !op->signature.id || !is_named(ap_row_name(trace, row), "aten::cat"))
        return false;
    ap_trace_signature(trace, op->signature, &dims, &types);
    ap_tensor_list_read(&shapes->list, dims, types);
    if (!read_growth(&shapes->list, &growth, &size))
        return false;
    struct growth *group = growth_of(groups, &count, &growth);
    return group && grows(group);
}

/* Behind each concatenation the tensor that it replaces is given back, page by page where it is large: time of its own in
 * which no operator runs. */
static void add_releases(struct shapes *shapes, struct growth *groups, int count)
{
    const struct ap_row_order *order = &shapes->facts->order;
    size_t track = shapes->facts->main_track;
    struct ap_habit *habit = &shapes->habits->of[AP_HABIT_growing_cat];
    int64_t end_ns = INT64_MAX;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (!ap_row_is_of(shapes->facts->trace, row, 1u << AP_KIND_operator))
            continue;
        int64_t start_ns = shapes->facts->trace->events.start_ns[row], gap_ns = start_ns - end_ns;
        if (start_ns >= end_ns) {
            gap_ns = gap_ns <= LONGEST_RELEASE_NS ? gap_ns : 0;
            habit->total_ns = ap_add_sat(habit->total_ns, gap_ns, &shapes->habits->overflowed);
            habit->saves_ns = ap_add_sat(habit->saves_ns, gap_ns, &shapes->habits->overflowed);
            end_ns = INT64_MAX;
        }
        if (is_growing_cat(shapes, groups, count, row))
            end_ns = ap_row_end_ns(shapes->facts->trace, row);
    }
}

static void find_growing(struct shapes *shapes)
{
    struct growth groups[GROUPS_MAX], growth, *group;
    int count = 0;
    int64_t size;
    for (int pass = 0; pass < 2; pass++) /* first the groups, then what belongs to those that grow */
        for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
            if (!is_named(name_of(shapes, i), "aten::cat"))
                continue;
            read_shape(shapes, i);
            if (!read_growth(&shapes->list, &growth, &size) || !(group = growth_of(groups, &count, &growth)))
                continue;
            if (pass && grows(group))
                add_shape(shapes, AP_HABIT_growing_cat, i, (double)size / (double)(size + growth.added));
            if (pass)
                continue;
            group->sizes++;
            group->least = size < group->least ? size : group->least;
            group->most = size > group->most ? size : group->most;
        }
    if (shapes->habits->of[AP_HABIT_growing_cat].count && shapes->facts->main_track != AP_NO_ROW)
        add_releases(shapes, groups, count);
}

/* ---- inputs that grow ---- */

/* Layers that models of text have on all positions: some have no aten::linear, but aten::addmm of flat inputs. */
static bool is_of_positions(struct ap_text name)
{
    return is_named(name, "aten::linear") || is_named(name, "aten::layer_norm");
}

/* A layer's input, alike but for the size of one dimension. One position alone is the last, of which the next is told. */
static bool read_length(const struct shapes *shapes, int at, struct growth *ret_growth, int64_t *ret_length)
{
    const struct ap_tensor_dims *first = input(shapes, 0);
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

static void note_lengths(const struct shapes *shapes, struct growth *groups, int *count)
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
static int64_t length_in(const struct shapes *shapes, const struct growth *growth, int64_t others)
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

static void add_lengths(struct shapes *shapes, const struct growth *growth)
{
    int64_t others = 1;
    for (int i = 0; i + 1 < growth->first.count; i++)
        if (i != growth->added && growth->first.dims[i] > 0 && others < INT32_MAX)
            others *= growth->first.dims[i];
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        read_shape(shapes, i);
        int64_t length = length_in(shapes, growth, others);
        if (length == growth->least) /* the prompt, which has to be gone over once */
            add_shape(shapes, AP_HABIT_growing_prefix, i, 0);
        else if (length)
            add_shape(shapes, AP_HABIT_growing_prefix, i, 1 - 1 / (double)length);
    }
}

/* The length that the row's input has, where it is of the group; 0 = it is not. */
static int64_t length_of_row(struct shapes *shapes, const struct growth *group, uint32_t row)
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
    return read_length(shapes, (int)group->added, &growth, &length) && ap_tensor_equal(&growth.first, &group->first) ? length
                                                                                                                     : 0;
}

/* Lengths of samples come as they are; those of a text that is generated rise by one, but where the next text begins. */
static bool comes_in_order(struct shapes *shapes, const struct growth *group)
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
static void find_lengths(struct shapes *shapes)
{
    struct growth groups[GROUPS_MAX];
    int count = 0;
    if (shapes->facts->phases.has_backward || shapes->facts->main_track == AP_NO_ROW)
        return;
    for (uint32_t i = 0; i < shapes->work->shape_map.count; i++) {
        if (!is_of_positions(name_of(shapes, i)))
            continue;
        read_shape(shapes, i);
        note_lengths(shapes, groups, &count);
    }
    for (int i = 0; i < count; i++)
        if (groups[i].sizes >= LEAST_LENGTHS && groups[i].most - groups[i].least + 1 == groups[i].sizes &&
            comes_in_order(shapes, &groups[i])) {
            add_lengths(shapes, &groups[i]);
            return;
        }
}

void ap_habits_of_shapes(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct shapes shapes = { .habits = habits, .facts = facts, .work = work };
    find_double(&shapes);
    find_transforms(&shapes);
    find_tables(&shapes);
    find_one_hot(&shapes);
    find_growing(&shapes);
    find_lengths(&shapes);
}
