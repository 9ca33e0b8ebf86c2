/* SPDX-License-Identifier: MIT
 * Weights that are made for a call, used, and made again for the next one: packed ones, or those of a whole model. */
#include "habit_items.h"

#include "poison.h"

#define MODELS_MAX 8                    /* that are told apart, by the first weight of each */
#define LONGEST_GAP_NS INT64_C(2000000) /* in which modules are copied and replaced: a longer one has another cause */
#define MOST_DRAWN 64                   /* weights of one model that are remembered */
#define LEAST_BUILT 2                   /* the first model has to be built */

/* From the first operator on what becomes weights to the last one that packs them. */
struct packing {
    size_t first, pack, last;
    bool is_of_several, is_added;
};

static bool is_quantized(const struct ap_habit_rows *rows, size_t at)
{
    return ap_text_starts_with(ap_row_name(rows->trace, rows->items[at].row), "quantized::");
}

/* Brings a quantized weight into the order that its kernel takes. */
static bool packs(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return is_quantized(rows, at) ? ap_text_contains(name, ap_text_of("_prepack"))
                                  : ap_text_starts_with(name, "aten::fbgemm_pack_") ||
                                        ap_text_starts_with(name, "aten::_convert_weight_to_int4pack");
}

/* Of sizes that tell weights apart: modules pack one element as they are made, before they get their weight. */
static bool is_pack(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    return packs(rows, at) && ap_habit_read_tensors(rows, at, &list) &&
           ap_tensor_elements(&list.tensors[0], 0, list.tensors[0].count) > 1;
}

static bool is_use(const struct ap_habit_rows *rows, size_t at)
{
    return AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) || (is_quantized(rows, at) && !packs(rows, at));
}

/* Copies, ranges, scales and rounding of weights; no layer, and nothing else that makes a model's input. */
static bool prepares(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return (ap_item_words(rows, &rows->items[at]) &
            (AP_BIT(NO_WORK) | AP_BIT(COPY) | AP_BIT(FILLS) | AP_BIT(CONSTANT) | AP_BIT(SCALAR) | AP_BIT(BY_ELEMENT) |
             AP_BIT(REDUCTION) | AP_BIT(ORDERED) | AP_BIT(VIEW) | AP_BIT(PAIRED) | AP_BIT(ZEROS) |
             AP_BIT(OF_CONSTANT_ALONE))) ||
           packs(rows, at) || ap_text_is(name, "aten::aminmax") || ap_text_starts_with(name, "aten::quantize_per_") ||
           ap_text_starts_with(name, "aten::_empty_");
}

static size_t first_of_packing(const struct ap_habit_rows *rows, size_t pack)
{
    size_t first = pack;
    while (first && ap_habit_is_of_step(rows, pack, first - 1) && !is_use(rows, first - 1) && prepares(rows, first - 1) &&
           ap_habit_gap_before(rows, first) <= LONGEST_GAP_NS)
        first--;
    return first;
}

static void add_packing(struct ap_habit_rows *rows, struct packing *packing)
{
    int64_t from_ns = ap_item_start_ns(rows, &rows->items[packing->first]) - ap_habit_lead_ns(rows, packing->first);
    int64_t to_ns = ap_item_end_ns(rows, &rows->items[packing->last]);
    struct ap_habit *habit = ap_habit_add_in_pieces(rows->habits, AP_HABIT_weight_made, rows->items[packing->pack].row,
                                                    to_ns - from_ns, to_ns - from_ns);
    ap_habit_add_time(rows->habits, AP_HABIT_weight_made, from_ns, to_ns);
    if (habit)
        ap_habit_take_names(&rows->items[packing->first], packing->last - packing->first + 1, habit->names);
    packing->is_added = true;
}

/* One that was met begins with the same operator on the same sizes. Weights of one size in one step may be the next layer's:
 * a model is quantized layer by layer, and each of them tried. */
static void see_packing(struct ap_habit_rows *rows, struct packing *met, size_t *count, struct packing *packing)
{
    packing->first = first_of_packing(rows, packing->pack);
    for (size_t i = 0; i < *count; i++) {
        if (!ap_habit_is_same(rows, met[i].pack, packing->pack))
            continue;
        if (!packing->is_of_several && rows->items[met[i].pack].step == rows->items[packing->pack].step)
            return;
        if (!met[i].is_added)
            add_packing(rows, &met[i]);
        add_packing(rows, packing);
        return;
    }
    if (*count < MODELS_MAX)
        met[(*count)++] = *packing;
}

void ap_habit_find_packed(struct ap_habit_rows *rows)
{
    struct packing met[MODELS_MAX], packing = { .is_added = false };
    size_t count = 0;
    bool is_open = false;
    for (size_t at = 0; at < rows->item_count; at++) {
        if (is_open && is_use(rows, at))
            see_packing(rows, met, &count, &packing);
        if (is_pack(rows, at)) {
            packing.pack = is_open ? packing.pack : at;
            packing.is_of_several = is_open && (packing.is_of_several || !ap_habit_is_same(rows, packing.pack, at));
            packing.last = at;
            is_open = true;
        } else if (is_use(rows, at)) {
            is_open = false;
        }
    }
}

/* ---- models that are built to answer: weights are drawn, perhaps loaded over, and then a layer uses them ---- */

/* What was drawn since the last layer. */
struct drawn {
    struct ap_tensor_dims weights[MOST_DRAWN];
    size_t count, first; /* first: item */
};

static bool draws_weight(const struct ap_habit_rows *rows, size_t at, struct ap_tensor_list *list)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    return (ap_text_is(name, "aten::uniform_") || ap_text_is(name, "aten::normal_")) &&
           ap_habit_read_tensors(rows, at, list) && list->tensors[0].count > 1;
}

static void note_drawn(struct drawn *drawn, size_t at, const struct ap_tensor_dims *weight)
{
    if (!drawn->count)
        drawn->first = at;
    if (drawn->count < MOST_DRAWN)
        drawn->weights[drawn->count++] = *weight;
}

/* Another tensor of its sizes is made with it: noise that a weight is drawn around, as Bayesian layers do. A weight is
 * drawn, scaled and loaded over where it lies. */
static void leave_out_noise(const struct ap_habit_rows *rows, size_t at, struct drawn *drawn)
{
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    if (!ap_text_is(name, "aten::mul") && !ap_text_is(name, "aten::add") && !ap_text_is(name, "aten::addcmul"))
        return;
    for (size_t i = drawn->count; i-- > 0;)
        if (ap_habit_has_tensor(rows, at, &drawn->weights[i]))
            drawn->weights[i] = drawn->weights[--drawn->count];
}

/* The layer's weight is one of those: noise that a model begins with is none. */
static bool uses_drawn(const struct ap_habit_rows *rows, size_t at, const struct drawn *drawn)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), WEIGHTED) || !ap_habit_read_tensors(rows, at, &list) ||
        list.count < 2)
        return false;
    for (size_t i = 0; i < drawn->count; i++)
        if (ap_tensor_equal(&drawn->weights[i], &list.tensors[1]))
            return true;
    return false;
}

/* Each layer ends what was drawn before it. */
static uint64_t count_built(struct ap_habit_rows *rows, bool adds)
{
    struct drawn drawn = { .count = 0 };
    struct ap_tensor_list list;
    uint64_t built = 0;
    for (size_t at = 0; at < rows->item_count; at++) {
        if (draws_weight(rows, at, &list))
            note_drawn(&drawn, at, &list.tensors[0]);
        leave_out_noise(rows, at, &drawn);
        if (!drawn.count || !AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY))
            continue;
        if (uses_drawn(rows, at, &drawn)) {
            int64_t dur_ns = ap_item_start_ns(rows, &rows->items[at]) - ap_item_start_ns(rows, &rows->items[drawn.first]);
            built++;
            if (adds) {
                (void)ap_habit_add_in_pieces(rows->habits, AP_HABIT_model_built, rows->items[drawn.first].row, dur_ns,
                                             dur_ns);
                ap_habit_add_time(rows->habits, AP_HABIT_model_built, ap_item_start_ns(rows, &rows->items[drawn.first]),
                                  ap_item_start_ns(rows, &rows->items[at]));
            }
        }
        drawn.count = 0;
    }
    return built;
}

void ap_habit_find_built(struct ap_habit_rows *rows)
{
    if (count_built(rows, false) >= LEAST_BUILT)
        (void)count_built(rows, true);
}
