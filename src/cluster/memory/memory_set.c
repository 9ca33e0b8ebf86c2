/* SPDX-License-Identifier: MIT */
#include "memory_set.h"

#include "sort.h"

#include "poison.h"

void ap_memory_set_init(struct ap_memory_set *set, struct ap_gate *gate)
{
    *set = (struct ap_memory_set){ .gate = gate };
    ap_strpool_init(&set->names, gate);
}

void ap_memory_set_release(struct ap_memory_set *set)
{
    AP_FREE(set->gate, set->rows, set->capacity);
    ap_strpool_release(&set->names);
    *set = (struct ap_memory_set){ .gate = set->gate };
}

void ap_memory_row_members(struct ap_rank_memory *row, int64_t *ret_numbers[AP_MEMORY_ROW_NUMBERS],
                           struct ap_str *ret_names[AP_MEMORY_ROW_NAMES])
{
    int64_t *const numbers[] = { &row->rank,           &row->first_failure_ns, &row->peak_bytes, &row->peak_reserved_bytes,
                                 &row->reserved_bytes, &row->split_bytes,      &row->retries,    &row->failures,
                                 &row->failed_bytes,   &row->at_peak,          &row->lost_count };
    size_t count = 0;
    _Static_assert(AP_COUNT_OF(numbers) + AP_OWNER_CATEGORY_COUNT_ + AP_MEMORY_LINES == AP_MEMORY_ROW_NUMBERS, "all");
    for (; count < AP_COUNT_OF(numbers); count++)
        ret_numbers[count] = numbers[count];
    for (size_t i = 0; i < AP_OWNER_CATEGORY_COUNT_; i++)
        ret_numbers[count++] = &row->owners_bytes[i];
    ret_names[0] = &row->path;
    ret_names[1] = &row->failed_line;
    for (size_t i = 0; i < AP_MEMORY_LINES; i++) {
        ret_numbers[count++] = &row->lines[i].bytes;
        ret_names[2 + i] = &row->lines[i].name;
    }
}

/* --------------------------------------------------------------------------------------------------------- joining */

static enum ap_status move_row(struct ap_memory_set *set, const struct ap_memory_set *from, struct ap_rank_memory row,
                               struct ap_error *reterr)
{
    int64_t *numbers[AP_MEMORY_ROW_NUMBERS];
    struct ap_str *names[AP_MEMORY_ROW_NAMES];
    ap_memory_row_members(&row, numbers, names);
    for (size_t i = 0; i < AP_MEMORY_ROW_NAMES; i++) {
        struct ap_text text = ap_memory_text(from, *names[i]);
        if (names[i]->id)
            AP_TRY(ap_strpool_intern(&set->names, text.data, text.bytes, names[i], reterr));
    }
    AP_TRY_ADD(set->gate, set->rows, set->count, set->capacity, reterr, row);
    return AP_OK;
}

enum ap_status ap_memory_set_join(struct ap_memory_set *set, struct ap_memory_set *from, struct ap_error *reterr)
{
    for (size_t i = 0; i < from->count; i++)
        AP_TRY(move_row(set, from, from->rows[i], reterr));
    from->count = 0;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------------------- one order */

static int compare_rows(const struct ap_memory_set *set, const struct ap_rank_memory *left,
                        const struct ap_rank_memory *right, bool with_path)
{
    struct ap_rank_memory a = *left, b = *right;
    int64_t *a_numbers[AP_MEMORY_ROW_NUMBERS], *b_numbers[AP_MEMORY_ROW_NUMBERS];
    struct ap_str *a_names[AP_MEMORY_ROW_NAMES], *b_names[AP_MEMORY_ROW_NAMES];
    ap_memory_row_members(&a, a_numbers, a_names);
    ap_memory_row_members(&b, b_numbers, b_names);
    for (size_t i = 0; i < AP_MEMORY_ROW_NUMBERS; i++)
        AP_BY_SMALLER(*a_numbers[i], *b_numbers[i]);
    for (size_t i = AP_MEMORY_ROW_NAMES; i-- > (with_path ? 0u : 1u);) {
        int order = ap_text_compare(ap_memory_text(set, *a_names[i]), ap_memory_text(set, *b_names[i]));
        if (order)
            return order;
    }
    return 0;
}

static bool row_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_memory_set *set = context;
    int order = compare_rows(set, &set->rows[a], &set->rows[b], true);
    return order ? order < 0 : a < b;
}

enum ap_status ap_memory_set_finish(struct ap_memory_set *set, struct ap_error *reterr)
{
    uint32_t *order;
    struct ap_rank_memory *rows;
    size_t kept = 0, count;
    if (!set->count)
        return AP_OK;
    AP_TRY(ap_top_indices(set->gate, (uint32_t)set->count, 0, row_before, set, &order, &count, reterr));
    enum ap_status status = AP_ALLOC(set->gate, rows, count, reterr);
    if (status == AP_OK) {
        for (size_t i = 0; i < count; i++) /* of equals the one with the first path stays */
            if (!kept || compare_rows(set, &rows[kept - 1], &set->rows[order[i]], false) != 0)
                rows[kept++] = set->rows[order[i]];
        memcpy(set->rows, rows, kept * sizeof(*rows));
        set->count = kept;
    }
    AP_FREE(set->gate, rows, count);
    AP_FREE(set->gate, order, count);
    return status;
}
