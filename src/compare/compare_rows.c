/* SPDX-License-Identifier: MIT
 * compare_rows.c - operators, kernels and owners of memory by name. A report has their sums and no samples, so a difference
 * of times counts from the spread of the steps on, and from a share of the step. */
#include <math.h>
#include <string.h>

#include "comparing.h"
#include "sort.h"

#include "poison.h"

/* One list of a report, and what of its rows is compared. */
struct table {
    const char *key;         /* in the comparison */
    const char *rows;        /* path of the list, largest first */
    const char *name, *size; /* members: what a row is called, and what is compared: a time or bytes */
    const char *count;       /* member: how often */
    const char *names;       /* path of the number of all names; NULL: not told, */
    const char *total;       /* but the sum of all counts; of memory a member of the device */
    bool bytes, of_host;
    const char *sentence; /* what is compared */
};

static const struct table tables[] = {
    { "device_operators", "operators.top", "name", "device_self_us", "count", "operators.names", NULL, false, false,
      "device time of what the operator launched itself" },
    { "host_operators", "cpu.operators_by_self", "name", "self_dur_us", "count", "cpu.operator_summary.names", NULL, false,
      true, "time in which the operator was the innermost open one on its thread" },
    { "kernels", "gpu.kernels", "name", "total_dur_us", "count", NULL, "gpu.kernel.count", false, false,
      "sum of the durations of the kernel" },
    { "collectives", "communication.by_operation", "operation", "total_dur_us", "count", NULL, "communication.count", false,
      false, "time of the kernels of collectives, the wait for other ranks with it" },
    { "bare_collectives", "communication.by_operation", "operation", "exposed_us", "count", NULL, "communication.count",
      false, false, "time of collectives beside which no other kernel ran" },
    { "memory_owners", "memory.peak.devices", "frame", "requested_bytes", "allocations", NULL, "live_count", true, false,
      "requested bytes in use at the peak, by the innermost frame that is not a library's" },
};

struct row {
    const struct ap_value *value;
    struct ap_text name;
    int64_t size; /* ns or bytes */
};

struct side {
    struct row *rows; /* by name */
    size_t count;
    bool whole;    /* the list has all names */
    int64_t least; /* of the rows; what a missing one has at most */
    double parts;  /* what sizes are divided by */
};

/* What is compared in one table: the two sides, and of several runs each one. */
struct matched {
    const struct table *table;
    struct side sides[2];
    struct side *runs[2]; /* NULL = the sides alone */
};

struct pair {
    const struct row *before, *after; /* NULL = not in the list */
    int64_t before_size, after_size;  /* a bound where the row is missing */
    double delta;                     /* times: per step where that is known */
};

/* A report has each name once; where a name stands more often after all, the largest come first. */
static int by_name(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = ap_text_compare(x->name, y->name);
    return order ? order : (y->size > x->size) - (y->size < x->size);
}

static int64_t size_in(const struct table *table, const struct ap_value *row)
{
    int64_t size = ap_integer_member(row, table->size, 0);
    return size > 0 ? size : 0;
}

/* Of the devices in a list the one that memory.peak is about. */
static const struct ap_value *peak_device(const struct table *table, const struct ap_value *root)
{
    int64_t wanted = ap_integer_at(root, "memory.peak.device", -1);
    const struct ap_value *device = ap_value_first(ap_value_at(root, table->rows));
    while (device && ap_integer_member(device, "device", -1) != wanted)
        device = device->next;
    return device;
}

static const struct ap_value *rows_of(const struct table *table, const struct ap_value *root)
{
    return table->bytes ? ap_value_member(peak_device(table, root), "by_frame") : ap_value_at(root, table->rows);
}

/* Are all names in the list? */
static bool is_whole(const struct table *table, const struct ap_value *root, const struct side *side)
{
    bool overflowed = false;
    int64_t sum = 0;
    if (table->names)
        return ap_integer_at(root, table->names, INT64_MAX) <= (int64_t)side->count;
    for (size_t i = 0; i < side->count; i++)
        sum = ap_add_sat(sum, ap_integer_member(side->rows[i].value, table->count, 0), &overflowed);
    const struct ap_value *total =
        table->bytes ? ap_value_member(peak_device(table, root), table->total) : ap_value_at(root, table->total);
    return ap_value_integer(total, INT64_MAX) <= sum;
}

static struct ap_text name_in(const struct table *table, const struct ap_value *row)
{
    struct ap_text name = ap_text_member(row, table->name);
    return name.bytes || !table->bytes ? name : AP_TEXT("memory without a stack");
}

static enum ap_status open_side(struct ap_comparing *comparing, const struct table *table, const struct ap_value *root,
                                double parts, struct side *side, struct ap_error *reterr)
{
    const struct ap_value *rows = rows_of(table, root);
    *side = (struct side){ .count = ap_value_count(rows), .least = INT64_MAX, .parts = table->bytes ? 1 : parts };
    AP_TRY(AP_ALLOC(comparing->gate, side->rows, side->count, reterr));
    size_t at = 0;
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        int64_t size = size_in(table, row);
        side->rows[at++] = (struct row){ row, name_in(table, row), size };
        side->least = size < side->least ? size : side->least;
    }
    side->whole = is_whole(table, root, side);
    ap_sort(side->rows, side->count, sizeof(side->rows[0]), by_name);
    return AP_OK;
}

static void close_side(struct ap_comparing *comparing, struct side *side)
{
    AP_FREE(comparing->gate, side->rows, side->count);
}

/* ---- pairs ---- */

/* What a row that is missing may have at most, without making more of the difference than there is. */
static int64_t bound_of(const struct side *missing)
{
    return missing->whole ? 0 : missing->least;
}

static void finish_pair(const struct side *before, const struct side *after, struct pair *pair)
{
    pair->before_size = pair->before ? pair->before->size : bound_of(before);
    pair->after_size = pair->after ? pair->after->size : bound_of(after);
    pair->delta = (double)pair->after_size / after->parts - (double)pair->before_size / before->parts;
    /* of a bound that is larger than the row nothing follows */
    if ((!pair->before && pair->delta < 0) || (!pair->after && pair->delta > 0))
        pair->delta = 0;
}

static size_t find_pairs(const struct side *before, const struct side *after, struct pair *pairs)
{
    size_t i = 0, j = 0, count = 0;
    while (i < before->count || j < after->count) {
        int order = i == before->count  ? 1
                    : j == after->count ? -1
                                        : ap_text_compare(before->rows[i].name, after->rows[j].name);
        struct pair *pair = &pairs[count++];
        *pair = (struct pair){ .before = order <= 0 ? &before->rows[i++] : NULL };
        if (order >= 0)
            pair->after = &after->rows[j++];
        finish_pair(before, after, pair);
    }
    return count;
}

static struct ap_text name_of(const struct pair *pair)
{
    return pair->after ? pair->after->name : pair->before->name;
}

static double size_of(double number)
{
    return number < 0 ? -number : number;
}

static const struct row *find_row(const struct side *side, struct ap_text name)
{
    size_t i = 0;
    AP_BISECT(i, side->count, at, ap_text_compare(side->rows[at].name, name) < 0);
    return i < side->count && ap_text_equal(side->rows[i].name, name) ? &side->rows[i] : NULL;
}

/* The least and the most that runs of a side tell of a name; false where none does. */
static bool find_range(const struct side *runs, size_t count, struct ap_text name, double *ret_least, double *ret_most)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = find_row(&runs[i], name);
        double size = row ? (double)row->size / runs[i].parts : 0;
        if (!row && !runs[i].whole)
            continue; /* below the end of its list */
        *ret_least = !any || size < *ret_least ? size : *ret_least;
        *ret_most = !any || size > *ret_most ? size : *ret_most;
        any = true;
    }
    return any;
}

/* Of several runs: do all of one side take longer than all of the other? */
static bool runs_stand_apart(const struct ap_comparing *comparing, const struct matched *matched, struct ap_text name)
{
    double before_least, before_most, after_least, after_most;
    if (!matched->runs[0])
        return true;
    return find_range(matched->runs[0], comparing->sides[0].count, name, &before_least, &before_most) &&
           find_range(matched->runs[1], comparing->sides[1].count, name, &after_least, &after_most) &&
           (after_least > before_most || before_least > after_most);
}

/* Of an operator that is called as often as before. */
static bool may_be_stall(const struct ap_comparing *comparing, const struct matched *matched, const struct pair *pair)
{
    const char *count = matched->table->count;
    if (!matched->table->of_host || comparing->several || !pair->before || !pair->after ||
        (double)ap_integer_member(pair->before->value, count, 0) / comparing->before_parts !=
            (double)ap_integer_member(pair->after->value, count, 0) / comparing->after_parts)
        return false;
    return size_of(pair->delta) < ap_stall_ns(comparing);
}

static bool is_change(const struct ap_comparing *comparing, const struct matched *matched, const struct pair *pair)
{
    double before = (double)pair->before_size / matched->sides[0].parts,
           after = (double)pair->after_size / matched->sides[1].parts;
    double larger = before > after ? before : after, size = size_of(pair->delta);
    if (matched->table->bytes)
        return size >= AP_SIZE_LEAST_BYTES && size >= AP_SIZE_LEAST_RATIO * larger;
    return size > 0 && (size >= comparing->noise_ratio * larger || ap_explains_step(comparing, after - before)) &&
           size >= AP_ROW_LEAST_RATIO * comparing->whole_ns && !may_be_stall(comparing, matched, pair) &&
           runs_stand_apart(comparing, matched, name_of(pair));
}

/* The largest difference first, then by name. */
static int by_weight(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    double x_size = size_of(x->delta), y_size = size_of(y->delta);
    AP_BY_LARGER(x_size, y_size);
    return ap_text_compare(name_of(x), name_of(y));
}

/* ---- the list ---- */

static const char *change_name(const struct ap_comparing *comparing, const struct matched *matched, const struct pair *pair)
{
    enum ap_change change = ap_change_of(pair->delta, AP_BETTER_lower);
    if (!pair->before && matched->sides[0].whole)
        return "new";
    if (!pair->after && matched->sides[1].whole)
        return "gone";
    return ap_change_name(matched->table->bytes ? change : ap_change_said(comparing, change));
}

static int64_t rounded(double number)
{
    return (int64_t)(number < 0 ? number - 0.5 : number + 0.5);
}

static void add_size(struct ap_model *model, struct ap_value *row, const struct table *table, const char *time_key,
                     const char *bytes_key, bool known, double size)
{
    if (table->bytes)
        ap_add_known_bytes(model, row, bytes_key, known, rounded(size));
    else
        ap_add_known_time(model, row, time_key, known, rounded(size));
}

static void add_count(struct ap_comparing *comparing, struct ap_value *to, const char *key, const struct table *table,
                      const struct row *from, double parts)
{
    const struct ap_value *count = from ? ap_value_member(from->value, table->count) : NULL;
    if (count && count->type == AP_VALUE_COUNT && fmod((double)count->as.integer, parts) == 0)
        ap_add_count(comparing->model, to, key, (int64_t)((double)count->as.integer / parts));
    else if (count && count->type == AP_VALUE_COUNT)
        ap_add_number(comparing->model, to, key, (double)count->as.integer / parts);
    else
        ap_add_null(comparing->model, to, key);
}

static void add_pair(struct ap_comparing *comparing, const struct matched *matched, struct ap_value *list,
                     const struct pair *pair)
{
    const struct table *table = matched->table;
    const struct side *before = &matched->sides[0], *after = &matched->sides[1];
    struct ap_model *model = comparing->model;
    struct ap_value *row = ap_add_object(model, list, NULL);
    bool before_known = pair->before || before->whole, after_known = pair->after || after->whole;
    ap_add_text(model, row, "name", name_of(pair));
    add_size(model, row, table, "before_us", "before_bytes", before_known, (double)pair->before_size / before->parts);
    add_size(model, row, table, "after_us", "after_bytes", after_known, (double)pair->after_size / after->parts);
    add_size(model, row, table, "delta_us", "delta_bytes", true, pair->delta);
    ap_add_bool(model, row, "delta_is_least", !before_known || !after_known);
    add_count(comparing, row, "before_count", table, pair->before, before->parts);
    add_count(comparing, row, "after_count", table, pair->after, after->parts);
    ap_add_string(model, row, "change", change_name(comparing, matched, pair));
}

/* Names whose change is called so. */
struct changes {
    size_t all, worse, better;
};

static struct changes count_changes(const struct ap_comparing *comparing, const struct matched *matched,
                                    const struct pair *pairs, size_t count)
{
    struct changes changes = { .all = 0 };
    for (size_t i = 0; i < count; i++) {
        if (!is_change(comparing, matched, &pairs[i]))
            continue;
        const char *name = change_name(comparing, matched, &pairs[i]);
        bool moved = strcmp(name, "new") != 0 && strcmp(name, "gone") != 0;
        changes.all++;
        changes.worse += moved && pairs[i].delta > 0;
        changes.better += moved && pairs[i].delta < 0;
    }
    return changes;
}

static void add_table(struct ap_comparing *comparing, const struct matched *matched, struct pair *pairs, size_t count)
{
    const struct table *table = matched->table;
    struct ap_model *model = comparing->model;
    size_t shown = 0;
    ap_sort(pairs, count, sizeof(pairs[0]), by_weight);
    struct changes changes = count_changes(comparing, matched, pairs, count);
    struct ap_value *to = ap_add_object(model, comparing->comparison, table->key);
    ap_add_string(model, to, "of", table->sentence);
    ap_add_string(model, to, "per", table->bytes ? "peak" : comparing->per_step ? "step" : "recording");
    ap_add_count(model, to, "compared_count", (int64_t)count);
    ap_add_count(model, to, "changed_count", (int64_t)changes.all);
    ap_add_count(model, to, "worse_count", (int64_t)changes.worse);
    ap_add_count(model, to, "better_count", (int64_t)changes.better);
    ap_add_bool(model, to, "complete", matched->sides[0].whole && matched->sides[1].whole);
    struct ap_value *list = ap_add_list(model, to, "rows");
    for (size_t i = 0; i < count && (!comparing->top_n || shown < comparing->top_n); i++)
        if (is_change(comparing, matched, &pairs[i])) {
            add_pair(comparing, matched, list, &pairs[i]);
            shown++;
        }
}

bool ap_stacks_differ(const struct ap_comparing *comparing)
{
    double before, after;
    return ap_value_number(ap_value_at(comparing->before, "memory.peak.with_stack_ratio"), &before) &&
           ap_value_number(ap_value_at(comparing->after, "memory.peak.with_stack_ratio"), &after) &&
           size_of(after - before) > AP_STACKS_MOST_APART;
}

static bool has_rows(const struct ap_value *root, const struct table *table)
{
    return ap_value_first(rows_of(table, root)) != NULL;
}

static double parts_of(const struct ap_comparing *comparing, const struct ap_value *root)
{
    double steps;
    return comparing->per_step && ap_value_number(ap_value_at(root, "steps.count"), &steps) && steps >= 1 ? steps : 1;
}

static void close_runs(struct ap_comparing *comparing, struct side **runs, size_t count)
{
    for (size_t i = 0; *runs && i < count; i++)
        close_side(comparing, &(*runs)[i]);
    AP_FREE(comparing->gate, *runs, count);
}

static enum ap_status open_runs(struct ap_comparing *comparing, const struct table *table, const struct ap_side *side,
                                struct side **ret_runs, struct ap_error *reterr)
{
    AP_TRY(AP_ALLOC_CLEARED(comparing->gate, *ret_runs, side->count, reterr));
    for (size_t i = 0; i < side->count; i++)
        AP_TRY(open_side(comparing, table, side->runs[i].root, parts_of(comparing, side->runs[i].root), &(*ret_runs)[i],
                         reterr));
    return AP_OK;
}

static enum ap_status add_pairs(struct ap_comparing *comparing, const struct matched *matched, struct ap_error *reterr)
{
    struct pair *pairs;
    size_t room = matched->sides[0].count + matched->sides[1].count;
    AP_TRY(AP_ALLOC(comparing->gate, pairs, room, reterr));
    add_table(comparing, matched, pairs, find_pairs(&matched->sides[0], &matched->sides[1], pairs));
    AP_FREE(comparing->gate, pairs, room);
    return AP_OK;
}

static enum ap_status compare_table(struct ap_comparing *comparing, const struct table *table, struct ap_error *reterr)
{
    struct matched matched = { .table = table };
    const struct ap_value *roots[] = { comparing->before, comparing->after };
    const double parts[] = { comparing->before_parts, comparing->after_parts };
    enum ap_status status = AP_OK;
    if (!has_rows(comparing->before, table) || !has_rows(comparing->after, table) ||
        (table->bytes && ap_stacks_differ(comparing))) {
        ap_add_null(comparing->model, comparing->comparison, table->key);
        return AP_OK;
    }
    for (size_t i = 0; i < 2; i++) {
        AP_AND_THEN(status, open_side(comparing, table, roots[i], parts[i], &matched.sides[i], reterr));
        if (comparing->several && !table->bytes)
            AP_AND_THEN(status, open_runs(comparing, table, &comparing->sides[i], &matched.runs[i], reterr));
    }
    AP_AND_THEN(status, add_pairs(comparing, &matched, reterr));
    for (size_t i = 0; i < 2; i++) {
        close_side(comparing, &matched.sides[i]);
        close_runs(comparing, &matched.runs[i], comparing->sides[i].count);
    }
    return status;
}

enum ap_status ap_compare_rows(struct ap_comparing *comparing, struct ap_error *reterr)
{
    for (size_t i = 0; i < AP_COUNT_OF(tables); i++)
        AP_TRY(compare_table(comparing, &tables[i], reterr));
    return AP_OK;
}
