/* SPDX-License-Identifier: MIT
 * compare_traits.c - operators of the same name that work on other element types, on other shapes, or on tensors of the same
 * shapes that lie otherwise in memory. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "sort.h"

#include "poison.h"

#define ABOUT_AS_MUCH 0.5
#define LEAST_TYPE_RATIO 0.2 /* of what kernels take, else of the step, both sides together: what the sentence tells */

static double size_of(const struct ap_value *row, const char *size_key)
{
    int64_t ns = ap_integer_member(row, size_key, 0);
    return ns > 0 ? (double)ns : 0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

struct typed {
    struct ap_text name, dims; /* what is compared: dims only where they are part of it */
    struct ap_text type;       /* or its shapes, or how its tensors lie */
    double ns, count;          /* of a step, where both sides have steps */
    bool is_shared;            /* the other side has it too */
};

/* The first tensor's: "["", "c10::BFloat16", "Scalar"]" as shapes are recorded. */
static struct ap_text first_type(struct ap_text types)
{
    const char *at = types.data, *end = types.data + types.bytes;
    while (at && at < end && (at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
        if (!close)
            break;
        struct ap_text type = { at + 1, (size_t)(close - at - 1) };
        if (type.bytes && !ap_text_starts_with(type, "Scalar") && !ap_text_starts_with(type, "Generic") &&
            !ap_text_starts_with(type, "Tensor"))
            return type;
        at = close + 1;
    }
    return AP_TEXT("");
}

static struct ap_text type_of(const struct ap_value *row)
{
    return first_type(ap_text_member(row, "types"));
}

static struct ap_text dims_of(const struct ap_value *row)
{
    struct ap_text dims = ap_text_member(row, "dims");
    return dims.bytes && memchr(dims.data, ',', dims.bytes) ? dims : AP_TEXT(""); /* "[]": no tensor */
}

static struct ap_text layout_of(const struct ap_value *row)
{
    return ap_text_member(row, "layout");
}

/* What operators of a name are told apart by. */
static const struct trait {
    const char *list;
    struct ap_text (*of)(const struct ap_value *row);
    bool is_alone; /* it counts only where the other side has none like it: an operator works on many shapes */
    bool of_dims;  /* of equal shapes only: with others tensors lie in another way, too */
} traits[] = {
    { "types", type_of, false, false },
    { "shapes", dims_of, true, false },
    { "layouts", layout_of, true, true },
};

static int by_name(const struct typed *x, const struct typed *y)
{
    int order = ap_text_compare(x->name, y->name);
    return order ? order : ap_text_compare(x->dims, y->dims);
}

static int by_name_and_type(const void *a, const void *b)
{
    const struct typed *x = a, *y = b;
    int order = by_name(x, y);
    return order ? order : ap_text_compare(x->type, y->type);
}

/* Sums of equal ones are rounded, so their order tells. */
static int by_name_type_and_time(const void *a, const void *b)
{
    const struct typed *x = a, *y = b;
    int order = by_name_and_type(a, b);
    if (order)
        return order;
    AP_BY_SMALLER(x->ns, y->ns);
    return 0;
}

/* Equal ones are one; the count of those that are left. */
static size_t add_up(struct typed *typed, size_t count)
{
    size_t kept = 0;
    ap_sort(typed, count, sizeof(typed[0]), by_name_type_and_time);
    for (size_t i = 0, end; i < count; i = end) {
        struct typed sum = typed[i];
        for (end = i + 1; end < count && by_name_and_type(&typed[end], &typed[i]) == 0; end++) {
            sum.ns += typed[end].ns;
            sum.count += typed[end].count;
        }
        typed[kept++] = sum;
    }
    return kept;
}

static void mark_shared(struct typed *before, size_t before_count, struct typed *after, size_t after_count)
{
    for (size_t i = 0, j = 0; i < before_count && j < after_count;) {
        int order = by_name_and_type(&before[i], &after[j]);
        before[i].is_shared |= order == 0;
        after[j].is_shared |= order == 0;
        i += order <= 0;
        j += order >= 0;
    }
}

/* Of each name the type that most of its time is spent on; the count of names. */
static size_t keep_largest(struct typed *typed, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || by_name(&typed[kept - 1], &typed[i]) != 0)
            typed[kept++] = typed[i];
        else if (typed[i].ns > typed[kept - 1].ns)
            typed[kept - 1] = typed[i];
    return kept;
}

/* How many sizes of two shapes differ; SIZE_MAX = they are of another make. */
static size_t sizes_apart(struct ap_text x, struct ap_text y)
{
    size_t apart = 0, i = 0, j = 0;
    while (i < x.bytes && j < y.bytes) {
        size_t from_i = i, from_j = j;
        while (i < x.bytes && ap_is_digit(x.data[i]))
            i++;
        while (j < y.bytes && ap_is_digit(y.data[j]))
            j++;
        apart += i - from_i != j - from_j || memcmp(x.data + from_i, y.data + from_j, i - from_i) != 0;
        if ((i == from_i) != (j == from_j) || (i < x.bytes && j < y.bytes && x.data[i++] != y.data[j++]))
            return SIZE_MAX;
    }
    return i == x.bytes && j == y.bytes ? apart : SIZE_MAX;
}

/* Two products of a layer take as long as each other, and which takes most is chance: of those that take about as much, the
 * one that is most like @before. */
static struct typed most_alike(const struct typed *before, const struct typed *rows, size_t count)
{
    struct typed largest = rows[0], best;
    for (size_t i = 1; i < count; i++)
        largest = rows[i].ns > largest.ns ? rows[i] : largest;
    best = largest;
    for (size_t i = 0; i < count && !largest.is_shared; i++)
        if (!rows[i].is_shared && rows[i].ns >= ABOUT_AS_MUCH * largest.ns &&
            sizes_apart(before->type, rows[i].type) < sizes_apart(before->type, best.type))
            best = rows[i];
    return best;
}

/* As keep_largest(), of what is now. */
static size_t keep_alike(const struct typed *before, size_t before_count, struct typed *after, size_t count)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && by_name(&after[end], &after[i]) == 0;)
            end++;
        while (at < before_count && by_name(&before[at], &after[i]) < 0)
            at++;
        if (at < before_count && by_name(&before[at], &after[i]) == 0)
            after[kept++] = most_alike(&before[at], &after[i], end - i);
    }
    return kept;
}

static enum ap_status open_types(struct ap_comparing *comparing, const char *size_key, const struct trait *trait,
                                 const struct ap_value *root, double parts, struct typed **ret_typed, size_t *ret_room,
                                 size_t *ret_count, struct ap_error *reterr)
{
    const struct ap_value *rows = ap_value_at(root, "operators.by_shape");
    size_t count = 0;
    *ret_room = ap_value_count(rows);
    AP_TRY(AP_ALLOC(comparing->gate, *ret_typed, *ret_room, reterr));
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        struct typed typed = { .name = ap_text_member(row, "name"),
                               .dims = trait->of_dims ? dims_of(row) : AP_TEXT(""),
                               .type = trait->of(row),
                               .ns = size_of(row, size_key) / parts,
                               .count = (double)ap_integer_member(row, "count", 0) / parts };
        if (typed.type.bytes)
            (*ret_typed)[count++] = typed;
    }
    *ret_count = add_up(*ret_typed, count);
    return AP_OK;
}

static void add_type_change(struct ap_comparing *comparing, const struct trait *trait, struct ap_value *list,
                            const struct typed *before, const struct typed *after)
{
    struct ap_model *model = comparing->model;
    if (larger(before->ns, after->ns) < AP_ROW_LEAST_RATIO * comparing->whole_ns || ap_text_equal(before->type, after->type))
        return;
    if (trait->is_alone && (before->is_shared || after->is_shared))
        return;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "name", after->name);
    if (trait->of_dims)
        ap_add_text(model, row, "dims", after->dims);
    ap_add_text(model, row, "before", before->type);
    ap_add_text(model, row, "after", after->type);
    ap_add_time(model, row, "before_us", (int64_t)before->ns);
    ap_add_time(model, row, "after_us", (int64_t)after->ns);
    if (trait->is_alone && !trait->of_dims)
        ap_add_quotient(model, row, "calls_times", after->count, before->count);
}

static enum ap_status add_types(struct ap_comparing *comparing, const char *size_key, const struct trait *trait,
                                struct ap_error *reterr)
{
    struct typed *before = NULL, *after = NULL;
    size_t before_room = 0, after_room = 0, before_count = 0, after_count = 0;
    struct ap_value *list = ap_add_list(comparing->model, comparing->comparison, trait->list);
    enum ap_status status = open_types(comparing, size_key, trait, comparing->before, comparing->before_parts, &before,
                                       &before_room, &before_count, reterr);
    AP_AND_THEN(status, open_types(comparing, size_key, trait, comparing->after, comparing->after_parts, &after, &after_room,
                                   &after_count, reterr));
    if (status == AP_OK) {
        mark_shared(before, before_count, after, after_count);
        before_count = keep_largest(before, before_count);
        after_count = trait->is_alone && !trait->of_dims ? keep_alike(before, before_count, after, after_count)
                                                         : keep_largest(after, after_count);
    }
    for (size_t i = 0, j = 0; status == AP_OK && i < before_count && j < after_count;) {
        int order = by_name(&before[i], &after[j]);
        if (order == 0)
            add_type_change(comparing, trait, list, &before[i], &after[j]);
        i += order <= 0;
        j += order >= 0;
    }
    AP_FREE(comparing->gate, before, before_room);
    AP_FREE(comparing->gate, after, after_room);
    return status;
}

static double whole_of_both_ns(const struct ap_comparing *comparing)
{
    const struct ap_value *device = ap_value_member(comparing->comparison, "device");
    double before_ns = (double)ap_integer_member(device, "before_us", 0),
           after_ns = (double)ap_integer_member(device, "after_us", 0);
    return before_ns > 0 && after_ns > 0 ? before_ns + after_ns : comparing->whole_ns;
}

const struct ap_value *ap_largest_typed(const struct ap_comparing *comparing, const char *list)
{
    const struct ap_value *largest = NULL, *row = ap_value_first(ap_value_member(comparing->comparison, list));
    double most_ns = 0, all_ns = 0;
    for (; row; row = row->next) {
        double ns = (double)ap_integer_member(row, "before_us", 0) + (double)ap_integer_member(row, "after_us", 0);
        largest = ns > most_ns ? row : largest;
        most_ns = ns > most_ns ? ns : most_ns;
        all_ns += ns;
    }
    return all_ns > LEAST_TYPE_RATIO * whole_of_both_ns(comparing) ? largest : NULL;
}

#define SHOWN_BYTES 60
int ap_shown_bytes(struct ap_text text, size_t from)
{
    return text.bytes - from < SHOWN_BYTES ? (int)(text.bytes - from) : SHOWN_BYTES;
}

/* Where the first tensor begins that is another one; in a list in which that is the first one, at the list. */
static size_t first_difference(struct ap_text text, struct ap_text other)
{
    size_t from = 0;
    for (size_t i = 0; i < text.bytes && i < other.bytes && text.data[i] == other.data[i]; i++)
        from = text.data[i] == '[' ? i : from;
    return from > 1 ? from : 0;
}

void ap_add_shapes_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *shapes = ap_largest_typed(comparing, "shapes");
    if (!shapes)
        return;
    struct ap_text name = ap_text_member(shapes, "name"), after = ap_text_member(shapes, "after"),
                   before = ap_text_member(shapes, "before");
    size_t used = strlen(text), from = first_difference(after, before);
    (void)snprintf(text + used, bytes - used, "; %.*s works on other shapes (%s%.*s now, %s%.*s before)",
                   ap_shown_bytes(name, 0), name.data, from ? "... " : "", ap_shown_bytes(after, from), after.data + from,
                   from ? "... " : "", ap_shown_bytes(before, from), before.data + from);
}

void ap_add_layouts_sentence(const struct ap_comparing *comparing, char *text, size_t bytes)
{
    const struct ap_value *layouts = ap_largest_typed(comparing, "layouts");
    if (!layouts)
        return;
    struct ap_text name = ap_text_member(layouts, "name"), after = ap_text_member(layouts, "after"),
                   before = ap_text_member(layouts, "before");
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, "; tensors of %.*s lie otherwise in memory (%.*s now, %.*s before)",
                   ap_shown_bytes(name, 0), name.data, ap_shown_bytes(after, 0), after.data, ap_shown_bytes(before, 0),
                   before.data);
}

enum ap_status ap_compare_traits(struct ap_comparing *comparing, const char *size_key, struct ap_error *reterr)
{
    for (size_t i = 0; i < AP_COUNT_OF(traits); i++)
        AP_TRY(add_types(comparing, size_key, &traits[i], reterr));
    return AP_OK;
}
