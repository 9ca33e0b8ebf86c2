/* SPDX-License-Identifier: MIT
 * compare_pairs.c - the same work under another name: what takes less and what takes more in its place belong together
 * where one operator called both (addmm, and mm with a copy), where one line of the program did (unfused and fused), where
 * attention, a norm or a layer of experts is fused on one side, where they are of one family, or where compiled code or a
 * graph took eager operators in. */
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "sort.h"

#include "poison.h"

#define NAMES_SHOWN 4
#define AS_OFTEN_RATIO 0.05 /* of the calls: steps at the ends of a recording are in part in it */

/* Rounds of grouping, the surest first. */
enum round { BY_CALLER, BY_LINE, BY_ATTENTION, BY_NORM, BY_EXPERTS, BY_FAMILY, BY_COMPILER, ROUND_COUNT };

static const char *const round_names[ROUND_COUNT] = { "caller",  "line",   "attention", "normalization",
                                                      "experts", "family", "compiled" };

struct item {
    struct ap_text name, caller, line, family;
    double before_ns, after_ns;       /* per step where that is known */
    double before_calls, after_calls; /* likewise; 0 = not known */
    bool is_new, is_gone;
    bool taken;
};

struct items {
    struct item *items;
    size_t count, room;
    bool by_device;
};

static const char *size_key(const struct items *items)
{
    return items->by_device ? "device_self_us" : "host_self_us";
}

static double size_of(const struct items *items, const struct ap_value *row)
{
    int64_t ns = ap_integer_member(row, size_key(items), 0);
    return ns > 0 ? (double)ns : 0;
}

static double delta_of(const struct item *item)
{
    return item->after_ns - item->before_ns;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* "model.py(12): forward" without the number, which moves with every edit above it. */
static struct ap_text without_line_number(struct ap_text line)
{
    const char *bracket = line.bytes ? memchr(line.data, '(', line.bytes) : NULL;
    return bracket ? (struct ap_text){ line.data, (size_t)(bracket - line.data) } : line;
}

static void take_row(struct items *items, const struct ap_value *row, double parts, bool is_after)
{
    struct item *item = &items->items[items->count++];
    double ns = size_of(items, row) / parts, calls = (double)ap_integer_member(row, "count", 0) / parts;
    *item = (struct item){ .name = ap_text_member(row, "name"),
                           .caller = ap_text_member(row, "caller"),
                           .line = ap_text_member(row, "top_frame"),
                           .family = ap_text_member(row, "family"),
                           .before_ns = is_after ? 0 : ns,
                           .after_ns = is_after ? ns : 0,
                           .before_calls = is_after ? 0 : calls,
                           .after_calls = is_after ? calls : 0,
                           .is_new = is_after,
                           .is_gone = !is_after };
}

static int by_name(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = ap_text_compare(x->name, y->name);
    return order ? order : (int)x->is_new - (int)y->is_new;
}

/* What is called from elsewhere than before is no work of that caller, or of that line. */
static struct ap_text if_same(struct ap_text before, struct ap_text after)
{
    return ap_text_equal(before, after) ? after : (struct ap_text){ 0 };
}

/* Both rows of one name become one item. */
static void join(struct items *items)
{
    size_t kept = 0;
    ap_sort(items->items, items->count, sizeof(items->items[0]), by_name);
    for (size_t i = 0; i < items->count; i++) {
        struct item *last = kept ? &items->items[kept - 1] : NULL;
        const struct item *item = &items->items[i];
        if (!last || !ap_text_equal(last->name, item->name)) {
            items->items[kept++] = *item;
            continue;
        }
        last->caller = if_same(last->caller, item->caller);
        last->line = if_same(without_line_number(last->line), without_line_number(item->line));
        last->is_new &= item->is_new;
        last->is_gone &= item->is_gone;
        last->before_ns += item->before_ns;
        last->after_ns += item->after_ns;
        last->before_calls += item->before_calls;
        last->after_calls += item->after_calls;
    }
    items->count = kept;
}

/* Below the end of a list that is cut a name has at most what the last one has: then it is not gone, and its change is the
 * least that it can be. */
static double least_listed(const struct items *items, const struct ap_value *root)
{
    const struct ap_value *rows = ap_value_at(root, "operators.top");
    double least = 0;
    bool any = false;
    if (ap_integer_at(root, "operators.names", INT64_MAX) <= (int64_t)ap_value_count(rows))
        return 0;
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        least = !any || size_of(items, row) < least ? size_of(items, row) : least;
        any = true;
    }
    return least;
}

static void bound_missing(const struct ap_comparing *comparing, struct items *items)
{
    double before_ns = least_listed(items, comparing->before) / comparing->before_parts,
           after_ns = least_listed(items, comparing->after) / comparing->after_parts;
    double least_ns = items->by_device ? 0 : ap_stall_ns(comparing);
    for (size_t i = 0; i < items->count; i++) {
        struct item *item = &items->items[i];
        if (item->is_new && before_ns > 0)
            item->before_ns = before_ns < item->after_ns ? before_ns : item->after_ns;
        if (item->is_gone && after_ns > 0)
            item->after_ns = after_ns < item->before_ns ? after_ns : item->before_ns;
        bool is_sure = larger(delta_of(item), -delta_of(item)) > least_ns;
        item->is_new &= is_sure || before_ns <= 0;
        item->is_gone &= is_sure || after_ns <= 0;
    }
}

/* GPU work that no operator launched: replays of graphs above all. */
static void take_graphs(const struct ap_comparing *comparing, struct items *items)
{
    static const char path[] = "operators.outside_operators_device_us";
    double before_ns = (double)ap_integer_at(comparing->before, path, 0) / comparing->before_parts,
           after_ns = (double)ap_integer_at(comparing->after, path, 0) / comparing->after_parts;
    if (items->by_device && (before_ns > 0 || after_ns > 0))
        items->items[items->count++] = (struct item){ .name = AP_TEXT("GPU work outside of operators (graphs)"),
                                                      .before_ns = before_ns,
                                                      .after_ns = after_ns,
                                                      .is_new = before_ns <= 0,
                                                      .is_gone = after_ns <= 0 };
}

static bool has_device_time(const struct ap_value *root)
{
    return ap_integer_at(root, "operators.device_us", 0) > 0;
}

static enum ap_status open_items(struct ap_comparing *comparing, struct items *items, struct ap_error *reterr)
{
    const struct ap_value *before = ap_value_at(comparing->before, "operators.top"),
                          *after = ap_value_at(comparing->after, "operators.top");
    *items = (struct items){ .room = ap_value_count(before) + ap_value_count(after) + 1,
                             .by_device = has_device_time(comparing->before) && has_device_time(comparing->after) };
    AP_TRY(AP_ALLOC(comparing->gate, items->items, items->room, reterr));
    for (const struct ap_value *row = ap_value_first(before); row; row = row->next)
        take_row(items, row, comparing->before_parts, false);
    for (const struct ap_value *row = ap_value_first(after); row; row = row->next)
        take_row(items, row, comparing->after_parts, true);
    join(items);
    bound_missing(comparing, items);
    take_graphs(comparing, items);
    return AP_OK;
}

/* ---- groups ---- */

static bool is_compiled(struct ap_text name)
{
    static const char *const words[] = { "CompiledFunction", "Torch-Compiled", "CompiledFxGraph", "triton_",
                                         "GPU work outside" };
    for (size_t i = 0; i < AP_COUNT_OF(words); i++)
        if (ap_text_starts_with(name, words[i]))
            return true;
    return false;
}

/* What is one call where it is fused, and several where it is written out. A piece that tells is one that hardly anything
 * else needs; the others are counted with it. */
struct fusing {
    const char *key, *family, *words[2]; /* of the fused one: its family, or a word of its name */
    const char *tells[6], *pieces[10];
};

static const struct fusing *fusing_of(enum round round)
{
    static const struct fusing all[] = {
        { "attention",
          "attention",
          { NULL },
          { "aten::softmax", "aten::_softmax", "aten::_safe_softmax" },
          { "aten::bmm", "aten::baddbmm", "aten::matmul", "aten::mul", "aten::div", "aten::masked_fill" } },
        { "normalization",
          "normalisation",
          { NULL },
          { "aten::rsqrt", "aten::sqrt", "aten::var", "aten::var_mean", "aten::std" },
          { "aten::mean", "aten::pow", "aten::mul", "aten::div", "aten::sub", "aten::add", "aten::square", "aten::to",
            "aten::copy_" } },
        { "experts",
          NULL,
          { "moe", "experts" },
          { "aten::mm", "aten::bmm", "aten::addmm", "aten::_grouped_mm" },
          { "aten::index", "aten::index_add_", "aten::silu", "aten::gelu", "aten::mul", "aten::index_select",
            "aten::scatter_add_", "aten::topk", "aten::copy_" } },
    };
    return round >= BY_ATTENTION && round <= BY_EXPERTS ? &all[round - BY_ATTENTION] : NULL;
}

static bool is_any_of(struct ap_text name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count && names[i]; i++)
        if (ap_text_is(name, names[i]))
            return true;
    return false;
}

static bool is_fused(const struct item *item, const struct fusing *fusing)
{
    if (fusing->family)
        return ap_text_is(item->family, fusing->family);
    return ap_text_contains(item->name, ap_text_of(fusing->words[0])) ||
           ap_text_contains(item->name, ap_text_of(fusing->words[1]));
}

static bool tells(const struct item *item, const struct fusing *fusing)
{
    return is_any_of(item->name, fusing->tells, AP_COUNT_OF(fusing->tells));
}

static bool is_part_of(const struct item *item, const struct fusing *fusing)
{
    return is_fused(item, fusing) || tells(item, fusing) ||
           is_any_of(item->name, fusing->pieces, AP_COUNT_OF(fusing->pieces));
}

/* Families of which any program calls all kinds for all ends: that one is there and another is not tells nothing. */
static bool is_of_any_end(struct ap_text family)
{
    static const char *const families[] = { "other", "elementwise", "view and shape", "allocation and fill" };
    return is_any_of(family, families, AP_COUNT_OF(families));
}

static struct ap_text key_of(const struct item *item, enum round round)
{
    const struct fusing *fusing = fusing_of(round);
    if (fusing)
        return is_part_of(item, fusing) ? ap_text_of(fusing->key) : AP_TEXT("");
    switch (round) {
    case BY_CALLER: return item->caller.bytes ? item->caller : item->name;
    case BY_LINE: return without_line_number(item->line);
    case BY_FAMILY: return is_of_any_end(item->family) ? AP_TEXT("") : item->family;
    case BY_ATTENTION:
    case BY_NORM:
    case BY_EXPERTS:
    case BY_COMPILER:
    case ROUND_COUNT: break;
    }
    return AP_TEXT("compiled code or graphs");
}

static int by_caller(const void *a, const void *b)
{
    return ap_text_compare(key_of(a, BY_CALLER), key_of(b, BY_CALLER));
}

static int by_line(const void *a, const void *b)
{
    return ap_text_compare(key_of(a, BY_LINE), key_of(b, BY_LINE));
}

static int by_attention(const void *a, const void *b)
{
    return ap_text_compare(key_of(a, BY_ATTENTION), key_of(b, BY_ATTENTION));
}

static int by_norm(const void *a, const void *b)
{
    return ap_text_compare(key_of(a, BY_NORM), key_of(b, BY_NORM));
}

static int by_experts(const void *a, const void *b)
{
    return ap_text_compare(key_of(a, BY_EXPERTS), key_of(b, BY_EXPERTS));
}

static int by_family(const void *a, const void *b)
{
    return ap_text_compare(key_of(a, BY_FAMILY), key_of(b, BY_FAMILY));
}

struct group {
    struct item *items;
    size_t count;
    enum round round;
    double less_ns, more_ns, before_ns, after_ns;
    bool has_new_or_gone, has_compiled;
    bool has_fused[2], has_piece[2]; /* on one side only: on the old one, on the new one; a piece that tells */
};

/* What both sides call as often is there still: it gave its place to nothing, and took none. */
static bool is_called_as_often(const struct item *item)
{
    return item->before_calls > 0 && item->after_calls > 0 &&
           ap_relative_difference(item->before_calls, item->after_calls) < AS_OFTEN_RATIO;
}

static bool counts(const struct ap_comparing *comparing, const struct item *item)
{
    double delta = delta_of(item);
    return !item->taken && !is_called_as_often(item) &&
           (delta < 0 ? -delta : delta) >= AP_ROW_LEAST_RATIO / 2 * comparing->whole_ns;
}

static struct group sum_group(const struct ap_comparing *comparing, struct item *items, size_t count, enum round round)
{
    struct group group = { .items = items, .count = count, .round = round };
    const struct fusing *fusing = fusing_of(round);
    for (size_t i = 0; i < count; i++) {
        double delta = delta_of(&items[i]);
        bool alone = fusing && !items[i].taken && (items[i].is_new || items[i].is_gone);
        group.has_fused[items[i].is_new] |= alone && is_fused(&items[i], fusing);
        group.has_piece[items[i].is_new] |= alone && tells(&items[i], fusing);
        if (!counts(comparing, &items[i]))
            continue;
        *(delta < 0 ? &group.less_ns : &group.more_ns) += delta < 0 ? -delta : delta;
        group.before_ns += items[i].before_ns;
        group.after_ns += items[i].after_ns;
        group.has_new_or_gone |= items[i].is_new || items[i].is_gone;
        group.has_compiled |= is_compiled(items[i].name);
    }
    return group;
}

/* Something takes less, something else takes more, and one of them was not there before or is no more. */
static bool is_replacement(const struct ap_comparing *comparing, const struct group *group)
{
    double least = AP_ROW_LEAST_RATIO * comparing->whole_ns;
    return group->has_new_or_gone && group->less_ns >= least && group->more_ns >= least && least > 0 &&
           (group->round != BY_COMPILER || group->has_compiled) &&
           (!fusing_of(group->round) || (group->has_fused[0] && group->has_piece[1]) ||
            (group->has_fused[1] && group->has_piece[0]));
}

static int by_delta(const void *a, const void *b)
{
    AP_BY_SMALLER(delta_of(a), delta_of(b));
    return by_name(a, b);
}

/* Those that take less from the front, or more from the back of the group, which is in order of what they changed. */
static void add_names(struct ap_comparing *comparing, struct ap_value *row, const char *key, const struct group *group,
                      bool more)
{
    struct ap_value *list = ap_add_list(comparing->model, row, key);
    for (size_t i = 0, shown = 0; i < group->count && shown < NAMES_SHOWN; i++) {
        const struct item *item = &group->items[more ? group->count - 1 - i : i];
        if (!counts(comparing, item) || (delta_of(item) > 0) != more)
            continue;
        ap_add_text(comparing->model, list, NULL, item->name);
        shown++;
    }
}

static enum ap_change change_of(const struct ap_comparing *comparing, const struct group *group)
{
    double delta = group->after_ns - group->before_ns, size = delta < 0 ? -delta : delta;
    bool is_change =
        (size >= comparing->noise_ratio * larger(group->before_ns, group->after_ns) || ap_explains_step(comparing, delta)) &&
        size >= AP_ROW_LEAST_RATIO * comparing->whole_ns;
    return is_change ? ap_change_said(comparing, ap_change_of(delta, AP_BETTER_lower)) : AP_CHANGE_none;
}

static void add_group(struct ap_comparing *comparing, struct ap_value *list, const struct group *group)
{
    struct ap_model *model = comparing->model;
    struct ap_value *row = ap_add_object(model, list, NULL);
    ap_add_text(model, row, "under", key_of(&group->items[0], group->round));
    ap_add_string(model, row, "by", round_names[group->round]);
    ap_sort(group->items, group->count, sizeof(group->items[0]), by_delta);
    add_names(comparing, row, "before", group, false);
    add_names(comparing, row, "after", group, true);
    ap_add_time(model, row, "before_us", (int64_t)group->before_ns);
    ap_add_time(model, row, "after_us", (int64_t)group->after_ns);
    ap_add_time(model, row, "delta_us", (int64_t)group->after_ns - (int64_t)group->before_ns);
    ap_add_string(model, row, "change", ap_change_name(change_of(comparing, group)));
}

static void group_by(struct ap_comparing *comparing, struct items *items, enum round round, struct ap_value *list)
{
    static int (*const orders[ROUND_COUNT])(const void *a, const void *b) = { by_caller,  by_line,   by_attention, by_norm,
                                                                              by_experts, by_family, NULL };
    if (orders[round])
        ap_sort(items->items, items->count, sizeof(items->items[0]), orders[round]);
    for (size_t i = 0; i < items->count && round == BY_COMPILER; i++) /* a compiler takes no collectives in */
        items->items[i].taken |= ap_text_is(items->items[i].family, "communication");
    for (size_t i = 0, end; i < items->count; i = end) {
        struct ap_text key = key_of(&items->items[i], round);
        for (end = i + 1; end < items->count && ap_text_equal(key, key_of(&items->items[end], round));)
            end++;
        struct group group = sum_group(comparing, &items->items[i], end - i, round);
        if (!key.bytes || !is_replacement(comparing, &group))
            continue;
        add_group(comparing, list, &group);
        for (size_t j = i; j < end; j++)
            items->items[j].taken |= counts(comparing, &items->items[j]);
    }
}

/* Copies from one layout of a tensor to another, which a library makes of its own accord. */
static void add_layout(struct ap_comparing *comparing)
{
    static const char path[] = "gpu.family_share.convolution_layout_us";
    struct ap_model *model = comparing->model;
    double before_ns = (double)ap_integer_at(comparing->before, path, 0) / comparing->before_parts,
           after_ns = (double)ap_integer_at(comparing->after, path, 0) / comparing->after_parts;
    double size_ns = before_ns > after_ns ? before_ns - after_ns : after_ns - before_ns;
    if (size_ns <= 0 || size_ns < AP_ROW_LEAST_RATIO * comparing->whole_ns ||
        size_ns < comparing->noise_ratio * larger(before_ns, after_ns)) {
        ap_add_null(model, comparing->comparison, "layout");
        return;
    }
    struct ap_value *layout = ap_add_object(model, comparing->comparison, "layout");
    ap_add_time(model, layout, "before_us", (int64_t)before_ns);
    ap_add_time(model, layout, "after_us", (int64_t)after_ns);
}

enum ap_status ap_compare_pairs(struct ap_comparing *comparing, struct ap_error *reterr)
{
    struct items items;
    AP_TRY(open_items(comparing, &items, reterr));
    struct ap_value *list = ap_add_list(comparing->model, comparing->comparison, "replaced");
    for (enum round round = 0; round < ROUND_COUNT; round++)
        group_by(comparing, &items, round, list);
    add_layout(comparing);
    AP_FREE(comparing->gate, items.items, items.room);
    return ap_compare_traits(comparing, size_key(&items), reterr);
}
