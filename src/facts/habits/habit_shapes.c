/* SPDX-License-Identifier: MIT
 * What shapes and types of operators tell, summed over calls that are alike. */
#include "habit_shapes.h"

#include "poison.h"

#define TRIES_MAX 64         /* candidates that are looked at, each against all shapes: a recommender has dozens of tables */
#define DOUBLE_SAVES 0.55    /* half the bytes, half the width of an instruction, and shorter series of functions */
#define LEAST_DOUBLES 1024   /* elements: sums and numbers for a log are none that cost */
#define LEAST_LENGTH 64      /* of a transform; of short ones a detour costs little */
#define TRANSFORM_SAVES 0.75 /* measured with lengths from 509 to 16001 beside the next power of two: 0.5 to 0.86 */
#define LEAST_CLASSES 32     /* of a one-hot matrix: less is no table to look up in */
#define LEAST_TABLE (64 * 1024) /* elements of an embedding table whose gradient may cost */
#define MOST_OF_TABLE 0.125     /* of its rows that a step touches */

void ap_habit_add_shape(struct ap_habit_shapes *shapes, enum ap_habit_id id, uint32_t index, double share)
{
    const struct ap_shape_cost shape = ap_host_shape_cost(shapes->work, index);
    struct ap_habit *habit = &shapes->habits->of[id];
    int64_t self_ns = shape.cost.host_self_ns, device_ns = ap_device_cost(shapes->work, &shape.cost)->self_ns;
    habit->count += shape.cost.calls;
    habit->total_ns = ap_add_sat(habit->total_ns, self_ns, &shapes->habits->overflowed);
    habit->saves_ns = ap_add_sat(habit->saves_ns, ap_share_of(self_ns, share), &shapes->habits->overflowed);
    habit->has_device = shapes->facts->links.count > 0;
    habit->device_ns = ap_add_sat(habit->device_ns, device_ns, &shapes->habits->overflowed);
    habit->device_saves_ns = ap_add_sat(habit->device_saves_ns, ap_share_of(device_ns, share), &shapes->habits->overflowed);
    if (habit->row != AP_NO_ROW && habit->longest_ns >= self_ns)
        return;
    habit->longest_ns = self_ns;
    habit->row = shape.cost.slowest_row;
    habit->names[0] = shape.cost.name;
    habit->signature = shape.signature;
}

/* ---- 64-bit floats ---- */

static bool is_product(struct ap_text name)
{
    static const char *const names[] = { "aten::mm",     "aten::addmm",  "aten::bmm",    "aten::baddbmm",
                                         "aten::linear", "aten::matmul", "aten::einsum", "aten::convolution" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
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

/* What models are made of, by operators that such a layer calls once; of loops and solvers it is no part. */
static bool is_layer(struct ap_text name)
{
    static const char *const names[] = { "aten::linear",
                                         "aten::addmm",
                                         "aten::convolution",
                                         "aten::lstm",
                                         "aten::gru",
                                         "aten::embedding",
                                         "aten::layer_norm",
                                         "aten::batch_norm",
                                         "aten::group_norm",
                                         "aten::lstm_cell",
                                         "aten::gru_cell",
                                         "aten::rms_norm",
                                         "aten::scaled_dot_product_attention" };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

static void find_double(struct ap_habit_shapes *shapes)
{
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        ap_habit_read_shape(shapes, i);
        if (has_double(&shapes->list))
            ap_habit_add_shape(shapes, AP_HABIT_double_work, i, DOUBLE_SAVES);
        if (is_layer(ap_habit_shape_name(shapes, i)))
            ap_habit_add_shape(shapes, AP_HABIT_model_layer, i, 0);
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
static void find_transforms(struct ap_habit_shapes *shapes)
{
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        if (!ap_text_is(ap_habit_shape_name(shapes, i), "aten::_fft_r2c") &&
            !ap_text_is(ap_habit_shape_name(shapes, i), "aten::_fft_c2c"))
            continue;
        ap_habit_read_shape(shapes, i);
        const struct ap_tensor_dims *values = ap_habit_shape_input(shapes, 0);
        int64_t length = values && values->count ? values->dims[values->count - 1] : 0;
        if (length >= LEAST_LENGTH && odd_factor(length) > 1)
            ap_habit_add_shape(shapes, AP_HABIT_odd_transform, i, TRANSFORM_SAVES);
    }
}

/* ---- embedding tables ---- */

/* "aten::embedding_bag" only calls the operator that has the underscore. */
static bool is_look_up(struct ap_text name)
{
    return ap_text_is(name, "aten::embedding") || ap_text_is(name, "aten::_embedding_bag");
}

static bool is_dense_backward(struct ap_text name)
{
    return ap_text_is(name, "aten::embedding_dense_backward") || ap_text_is(name, "aten::_embedding_bag_dense_backward");
}

/* How many rows of the table all its look-ups of a step can touch; 0 = no look-up in it. */
static double touched_rows(struct ap_habit_shapes *shapes, const struct ap_tensor_dims *table, double updates)
{
    double rows = 0;
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        if (!is_look_up(ap_habit_shape_name(shapes, i)))
            continue;
        ap_habit_read_shape(shapes, i);
        const struct ap_tensor_dims *weight = ap_habit_shape_input(shapes, 0), *indices = ap_habit_shape_input(shapes, 1);
        if (weight && indices && ap_tensor_equal(weight, table))
            rows += ap_tensor_elements(indices, 0, indices->count) * (double)ap_host_shape_cost(shapes->work, i).cost.calls;
    }
    return rows / updates;
}

/* A table that is the matrix of a product too has a dense gradient anyway. */
static bool is_multiplied(struct ap_habit_shapes *shapes, const struct ap_tensor_dims *table)
{
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        if (!is_product(ap_habit_shape_name(shapes, i)))
            continue;
        ap_habit_read_shape(shapes, i);
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
static double table_share(const struct ap_habit_shapes *shapes, const struct ap_tensor_dims *table)
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
static void add_table(struct ap_habit_shapes *shapes, const struct ap_tensor_dims *table, double touched_ratio,
                      bool is_first)
{
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        struct ap_text name = ap_habit_shape_name(shapes, i);
        if (is_look_up(name) || ap_text_is(name, "aten::embedding_bag") || ap_text_is(name, "aten::index_select"))
            continue;
        ap_habit_read_shape(shapes, i);
        double share = is_dense_backward(name) ? is_first : table_share(shapes, table);
        if (share > 0)
            ap_habit_add_shape(shapes, AP_HABIT_embedding_gradient, i, share * (1 - touched_ratio));
    }
}

static uint64_t calls_of(const struct ap_habit_shapes *shapes, const char *name)
{
    for (uint32_t i = 0; i < shapes->work->op_count; i++)
        if (ap_text_is(ap_trace_text(shapes->facts->trace, ap_host_op_cost(shapes->work, i).cost.name), name))
            return ap_host_op_cost(shapes->work, i).cost.calls;
    return 0;
}

static bool is_among(const struct ap_tensor_dims *tables, uint32_t count, const struct ap_tensor_dims *table)
{
    for (uint32_t i = 0; i < count; i++)
        if (ap_tensor_equal(&tables[i], table))
            return true;
    return false;
}

static void find_tables(struct ap_habit_shapes *shapes)
{
    struct ap_tensor_dims found[TRIES_MAX];
    uint32_t found_count = 0;
    double updates = (double)(shapes->facts->steps.count ? shapes->facts->steps.count : 1);
    if (!calls_of(shapes, "aten::embedding_dense_backward") && !calls_of(shapes, "aten::_embedding_bag_dense_backward"))
        return;
    for (uint32_t i = 0, tries = 0; i < shapes->work->shape_count && tries < TRIES_MAX; i++) {
        if (!is_look_up(ap_habit_shape_name(shapes, i)))
            continue;
        ap_habit_read_shape(shapes, i);
        const struct ap_tensor_dims *weight = ap_habit_shape_input(shapes, 0);
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
static bool is_multiplied_first(struct ap_habit_shapes *shapes, double rows, double columns)
{
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        struct ap_text name = ap_habit_shape_name(shapes, i);
        if (!ap_text_is(name, "aten::linear") && !ap_text_is(name, "aten::matmul"))
            continue;
        ap_habit_read_shape(shapes, i);
        const struct ap_tensor_dims *first = ap_habit_shape_input(shapes, 0);
        if (first && (is_matrix(first, rows, columns) || is_matrix(first, columns, rows)))
            return true;
    }
    return false;
}

static void add_one_hot(struct ap_habit_shapes *shapes, double rows, double columns)
{
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        ap_habit_read_shape(shapes, i);
        for (int at = 0; at < shapes->list.count; at++)
            if (is_matrix(&shapes->list.tensors[at], rows, columns) || is_matrix(&shapes->list.tensors[at], columns, rows)) {
                ap_habit_add_shape(shapes, AP_HABIT_one_hot_product, i, 1);
                break;
            }
    }
}

/* Scores times a matrix of ones and zeros, whose integers tell it from other factors, and then a sum: one score of each row
 * is wanted. */
static bool is_a_mask(struct ap_habit_shapes *shapes, double rows, double columns)
{
    bool is_multiplied = false, is_summed = false;
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        struct ap_text name = ap_habit_shape_name(shapes, i);
        if (!ap_text_is(name, "aten::mul") && !ap_text_is(name, "aten::sum"))
            continue;
        ap_habit_read_shape(shapes, i);
        const struct ap_tensor_dims *one = ap_habit_shape_input(shapes, 0), *other = ap_habit_shape_input(shapes, 1);
        if (!one || !is_matrix(one, rows, columns))
            continue;
        is_summed |= ap_text_is(name, "aten::sum");
        is_multiplied |= ap_text_is(name, "aten::mul") && other && ap_tensor_equal(one, other) &&
                         (one->element == AP_ELEMENT_int64) != (other->element == AP_ELEMENT_int64);
    }
    return is_multiplied && is_summed;
}

/* What makes the mask, multiplies by it and sums up, in the backward pass too. */
static void add_mask(struct ap_habit_shapes *shapes, double rows, double columns)
{
    static const char *const names[] = { "aten::scatter_", "aten::fill_", "aten::copy_", "aten::mul", "aten::sum" };
    for (uint32_t i = 0; i < shapes->work->shape_count; i++) {
        bool is_of_mask = false;
        for (size_t j = 0; j < AP_COUNT_OF(names); j++)
            is_of_mask |= ap_text_is(ap_habit_shape_name(shapes, i), names[j]);
        if (!is_of_mask)
            continue;
        ap_habit_read_shape(shapes, i);
        const struct ap_tensor_dims *first = ap_habit_shape_input(shapes, 0);
        if (first && is_matrix(first, rows, columns))
            ap_habit_add_shape(shapes, AP_HABIT_one_hot_product, i, 1);
    }
}

/* one_hot writes a one into each row of a matrix by scatter_. */
static void find_one_hot(struct ap_habit_shapes *shapes)
{
    if (!calls_of(shapes, "aten::one_hot"))
        return;
    for (uint32_t i = 0, tries = 0; i < shapes->work->shape_count && tries < TRIES_MAX; i++) {
        if (!ap_text_is(ap_habit_shape_name(shapes, i), "aten::scatter_"))
            continue;
        ap_habit_read_shape(shapes, i);
        tries++;
        const struct ap_tensor_dims *into = ap_habit_shape_input(shapes, 0), *indices = ap_habit_shape_input(shapes, 2);
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

void ap_habits_of_shapes(struct ap_habits *habits, const struct ap_facts *facts, const struct ap_host_work *work)
{
    struct ap_habit_shapes shapes = { .habits = habits, .facts = facts, .work = work };
    find_double(&shapes);
    find_transforms(&shapes);
    find_tables(&shapes);
    find_one_hot(&shapes);
    ap_habit_find_grown_shapes(&shapes);
}
