/* SPDX-License-Identifier: MIT
 * What is made for a call, used, and made again for the next one: packed weights, those of a model, rows of length 1. */
#include "habit_items.h"

#include "poison.h"

#define MODELS_MAX 8                    /* that are told apart, by the first weight of each */
#define LONGEST_GAP_NS INT64_C(2000000) /* in which modules are copied and replaced: a longer one has another cause */
#define MOST_DRAWN 64                   /* weights of one model that are remembered */
#define LEAST_BUILT 2                   /* the first model has to be built */
#define NORM_WITHIN 4                   /* operators from the norms to the division by them */
#define PRODUCT_WITHIN 4                /* and from there to the product */
#define CHOICE_WITHIN 4                 /* and to the choice of the best ones */
#define MOST_ASKED 256                  /* operators of a question before */
#define LEAST_NORMED_NS INT64_C(1000000)
#define LEAST_QUESTIONS 3
#define PRODUCT_KEEPS 0.05 /* of cosines in one call: the product of normed rows with a vector */
#define MAKES 0.25         /* of the time of norms and division: what takes less made no tensor as large */

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
        ap_habit_take_names(rows, &rows->items[packing->first], packing->last - packing->first + 1, habit->names);
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

/* ---- rows that are brought to length 1 for each question: those of a corpus, of all classes ---- */

/* Norms, the division by them, the product with a question, the choice of the best; 0 = it is none of that. */
struct normed {
    size_t first, divides;
    bool multiplies; /* and the product too, element by element */
};

/* The next item of these words or this name, over what brings norms or rows into their form; @at where none is near. */
static size_t next_of(const struct ap_habit_rows *rows, size_t at, size_t most, uint64_t words, const char *name)
{
    for (size_t next = at + 1; next <= at + most && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t own = ap_item_words(rows, &rows->items[next]);
        struct ap_text text = ap_row_name(rows->trace, rows->items[next].row);
        if (own & words || (name && ap_text_is(text, name)))
            return next;
        if (!(own & (AP_BIT(VIEW) | AP_BIT(BY_ELEMENT))) && !ap_text_starts_with(text, "aten::clamp") &&
            !ap_text_is(text, "aten::expand_as") && !ap_text_is(text, "aten::numpy_T"))
            return at;
    }
    return at;
}

/* All of it but the choice in one call, which spreads the question out over the rows first. */
static bool is_cosine(const struct ap_habit_rows *rows, size_t at, struct normed *ret_normed)
{
    *ret_normed = (struct normed){ at, at, true };
    return next_of(rows, at, CHOICE_WITHIN, AP_BIT(TOP) | AP_BIT(SORT) | AP_BIT(CHOSEN), NULL) > at;
}

static bool read_normed(const struct ap_habit_rows *rows, size_t at, struct normed *ret_normed)
{
    if (ap_habit_is_named(rows, at, AP_TEXT("aten::cosine_similarity")))
        return is_cosine(rows, at, ret_normed);
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), NORM))
        return false;
    size_t divides = next_of(rows, at, NORM_WITHIN, 0, "aten::div");
    size_t product = divides > at ? next_of(rows, divides, PRODUCT_WITHIN, AP_BIT(HEAVY) | AP_BIT(PRODUCT), NULL) : at;
    *ret_normed = (struct normed){ at, divides, false };
    return product > divides &&
           next_of(rows, product, CHOICE_WITHIN, AP_BIT(TOP) | AP_BIT(SORT) | AP_BIT(CHOSEN), NULL) > product;
}

static int64_t time_of_normed(const struct ap_habit_rows *rows, const struct normed *normed)
{
    return ap_item_end_ns(rows, &rows->items[normed->divides]) - ap_item_start_ns(rows, &rows->items[normed->first]);
}

/* Since the last choice a model was asked, but neither it nor anything else took the time that making so many rows takes, be
 * it outside of operators: they were there before. Cosines in one call are those of a layer seldom, so several questions may
 * have been put to the model at once. */
static bool was_there(const struct ap_habit_rows *rows, const struct normed *normed)
{
    int64_t most_ns = ap_share_of(time_of_normed(rows, normed), MAKES);
    bool has_layer = false;
    for (size_t back = normed->first; back-- > 0 && normed->first - back <= MOST_ASKED;) {
        uint64_t words = ap_item_words(rows, &rows->items[back]);
        if (ap_habit_gap_before(rows, back + 1) > most_ns || AP_HAS(words, LOADER))
            return false;
        if (words & (AP_BIT(TOP) | AP_BIT(SORT) | AP_BIT(CHOSEN)))
            return has_layer || normed->multiplies;
        if (ap_item_end_ns(rows, &rows->items[back]) - ap_item_start_ns(rows, &rows->items[back]) > most_ns)
            return false;
        has_layer |= AP_HAS(words, HEAVY);
    }
    return false;
}

static size_t go_over_normed(struct ap_habit_rows *rows, bool adds)
{
    struct normed normed;
    size_t count = 0;
    for (size_t at = 0; at < rows->item_count; at++) {
        if (!read_normed(rows, at, &normed))
            continue;
        int64_t dur_ns = time_of_normed(rows, &normed);
        if (dur_ns < LEAST_NORMED_NS || !was_there(rows, &normed))
            continue;
        count++;
        int64_t saves_ns = normed.multiplies ? ap_share_of(dur_ns, 1 - PRODUCT_KEEPS) : dur_ns;
        struct ap_habit *habit =
            adds ? ap_habit_add(rows->habits, AP_HABIT_normed_again, rows->items[at].row, dur_ns, saves_ns) : NULL;
        if (habit)
            ap_habit_take_names(rows, rows->items + at, normed.divides + 1 - at, habit->names);
    }
    return count;
}

void ap_habit_find_normed(struct ap_habit_rows *rows)
{
    if (go_over_normed(rows, false) + 1 >= LEAST_QUESTIONS) /* what is before the first one is not known */
        (void)go_over_normed(rows, true);
}
