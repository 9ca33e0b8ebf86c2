/* SPDX-License-Identifier: MIT
 * What layers are handed beside their input, made of data alone for each of them anew: edges of a graph with their weights,
 * masks; and for each token what an encoder makes. */
#include "habit_items.h"

#include "poison.h"

#define LEAST_ITEMS 4               /* fewer are an index, or a view of one */
#define LEAST_ELEMENTS 2049         /* fewer may be statistics of channels, which each frozen norm has of its own */
#define UNSIZED_ITEMS 6             /* where sizes do not tell how much data there is, and whether it is the same */
#define UNSIZED_NS 200000           /* likewise */
#define CHOSEN_WITHIN 16            /* operators before */
#define LEAST_ENCODER 2             /* layers: an attention layer by one operator counts as one */
#define LEAST_AGAIN 3               /* times that it is run for nothing */
#define LEAST_PROJECTED (16 * 1024) /* elements: fewer cost nothing */
#define LEAST_TRACED 2              /* times in one pass */
#define MOST_TRACED 64              /* of more of them in one pass, those behind are left out */

/* Operators right before one that makes a node, none of which makes one: data alone goes into them. */
struct stretch {
    size_t first, end;
};

struct chain {
    struct stretch stretches[MOST_TRACED];
    size_t count;
    bool differ;  /* the layers behind them do: it is no loop over pieces of the data, each with its own pass */
    bool has_own; /* the layer behind the last one has parameters that no other one uses */
};

/* Draws give something else each time; and what scores are highest, the model says. */
static bool name_may_differ(const struct ap_habit_rows *rows, uint32_t id)
{
    static const char *const random[] = { "aten::rand",    "aten::norm",        "aten::bernoulli",
                                          "aten::uniform", "aten::poisson",     "aten::dropout",
                                          "aten::detach",  "aten::exponential", "aten::native_dropout",
                                          "aten::argsort", "aten::argmin",      "aten::item",
                                          "aten::min" };
    struct ap_text name = ap_trace_text(rows->trace, id);
    for (size_t i = 0; i < AP_COUNT_OF(random); i++)
        if (ap_text_starts_with(name, random[i]))
            return true;
    return AP_HAS(rows->words_of[id], CHOICE) && !ap_text_is(name, "aten::cat");
}

static bool may_differ(struct ap_habit_rows *rows, size_t at)
{
    uint32_t name = ap_habit_name_at(rows, at);
    if (!rows->differs_of[name])
        rows->differs_of[name] = name_may_differ(rows, name) ? 2 : 1;
    return rows->differs_of[name] == 2;
}

static bool has_data(const struct ap_habit_rows *rows, size_t first, size_t end)
{
    struct ap_tensor_list list;
    for (size_t at = first; at < end; at++) {
        bool reads = ap_habit_read_tensors(rows, at, &list);
        for (int i = 0; reads && i < list.count; i++)
            if (ap_tensor_elements(&list.tensors[i], 0, list.tensors[i].count) >= LEAST_ELEMENTS)
                return true;
    }
    return false;
}

static bool has_sizes(const struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list;
    return ap_habit_read_tensors(rows, at, &list);
}

/* Is it the layer's own weight that was made, of packed numbers say? Another layer's is another one. */
static bool makes_weight(const struct ap_habit_rows *rows, size_t layer)
{
    static const char *const with_weight[] = { "aten::linear", "aten::conv", "aten::mm", "aten::addmm", "aten::matmul" };
    struct ap_text name = ap_row_name(rows->trace, rows->items[layer].row);
    struct ap_tensor_list list;
    for (size_t i = 0; i < AP_COUNT_OF(with_weight); i++)
        if (ap_text_starts_with(name, with_weight[i]))
            return ap_habit_read_tensors(rows, layer, &list) && list.count > 1 &&
                   ap_habit_has_tensor(rows, layer - 1, &list.tensors[1]);
    return false;
}

/* Since its last layer the model has chosen or drawn: an expert for each token, a code, a token to keep, edges to drop. What
 * is made of that is another one in each layer, however alike it looks. */
static bool is_of_choice(const struct ap_habit_rows *rows, size_t first)
{
    static const char *const chosen[] = { "aten::argmax", "aten::argmin",    "aten::argsort",  "aten::topk",
                                          "aten::sort",   "aten::max",       "aten::min",      "aten::multinomial",
                                          "aten::rand",   "aten::rand_like", "aten::randperm", "aten::bernoulli" };
    for (size_t at = first + 1; at-- > 0 && first - at <= CHOSEN_WITHIN && ap_habit_is_of_step(rows, first, at);) {
        for (size_t i = 0; i < AP_COUNT_OF(chosen); i++)
            if (ap_text_is(ap_row_name(rows->trace, rows->items[at].row), chosen[i]))
                return true;
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY))
            return false;
    }
    return false;
}

/* Where the operators end that begin with @first and make no node; do they stand before one that does? */
static size_t end_of_stretch(struct ap_habit_rows *rows, size_t first, bool *ret_is_one)
{
    ap_link_key sequence = 0;
    size_t end = first;
    for (; ap_habit_is_of_step(rows, first, end) && !may_differ(rows, end); end++) {
        ap_link_key own = ap_item_sequence(rows, &rows->items[end]);
        if (own && ((sequence && own != sequence) || ap_habit_sequence_after(rows, end) != own))
            break;
        sequence = own ? own : sequence;
    }
    *ret_is_one = sequence && ap_habit_is_of_step(rows, first, end) && !may_differ(rows, end);
    return end;
}

static size_t equal_before(const struct ap_habit_rows *rows, const struct stretch *one, const struct stretch *other)
{
    size_t equal = 0;
    while (one->first + equal < one->end && other->first + equal < other->end &&
           ap_habit_is_same(rows, one->end - 1 - equal, other->end - 1 - equal))
        equal++;
    return equal;
}

static void end_chain(struct ap_habit_rows *rows, struct chain *chain)
{
    for (size_t i = 0; chain->count >= LEAST_TRACED && chain->differ && i < chain->count; i++) {
        const struct ap_habit_item *first = &rows->items[chain->stretches[i].first];
        size_t count = chain->stretches[i].end - chain->stretches[i].first;
        int64_t from_ns = ap_item_start_ns(rows, first) - ap_habit_lead_ns(rows, chain->stretches[i].first);
        int64_t to_ns = ap_item_end_ns(rows, first + count - 1);
        struct ap_habit *habit =
            ap_habit_add_in_pieces(rows->habits, AP_HABIT_prepared_again, first->row, to_ns - from_ns, to_ns - from_ns);
        ap_habit_add_time(rows->habits, AP_HABIT_prepared_again, from_ns, to_ns);
        if (habit)
            ap_habit_take_names(rows, first, count, habit->names);
    }
    *chain = (struct chain){ .count = 0 };
}

/* Layers of one size each: of one that is used again the gradients are added up, and handed to it once. */
static bool has_own_parameters(const struct ap_habit_rows *rows, size_t layer)
{
    ap_link_key last = ap_habit_last_sequence(rows, layer);
    for (ap_link_key node = ap_item_sequence(rows, &rows->items[layer]); node && node <= last; node++)
        if (ap_pair_map_find(&rows->of_parameters, node, 1) != AP_PAIR_NONE)
            return true;
    return false;
}

static int64_t time_of(const struct ap_habit_rows *rows, size_t end, size_t count)
{
    return ap_item_end_ns(rows, &rows->items[end - 1]) - ap_item_start_ns(rows, &rows->items[end - count]);
}

/* Without sizes: by more operators, which take about as long; where what belongs to data begins with a constant, as degrees,
 * self-loops and masks do, and no weight of the layer's own is made ready. */
static bool is_again_unsized(const struct ap_habit_rows *rows, const struct stretch *last, const struct stretch *next,
                             size_t equal)
{
    if (equal < UNSIZED_ITEMS || !has_own_parameters(rows, last->end) || !has_own_parameters(rows, next->end))
        return false;
    int64_t last_ns = time_of(rows, last->end, equal), next_ns = time_of(rows, next->end, equal);
    bool has_constant = false;
    for (size_t back = 1; back <= equal; back++)
        has_constant |= AP_HAS(ap_item_words(rows, &rows->items[next->end - back]), CONSTANT);
    return has_constant && last_ns >= UNSIZED_NS && next_ns >= UNSIZED_NS && last_ns / 2 <= next_ns &&
           next_ns / 2 <= last_ns;
}

/* The first one is cut to what the second one has of it, too. */
static void go_on(struct ap_habit_rows *rows, struct chain *chain, struct stretch next)
{
    struct stretch *last = chain->count ? &chain->stretches[chain->count - 1] : NULL;
    size_t equal = last ? equal_before(rows, last, &next) : 0;
    bool is_again = equal >= LEAST_ITEMS && (has_sizes(rows, next.end) || is_again_unsized(rows, last, &next, equal));
    if (!is_again && chain->count > 1)
        return; /* another one between them */
    if (!is_again) {
        chain->stretches[0] = next;
        chain->count = 1;
        chain->has_own = has_own_parameters(rows, next.end);
        return;
    }
    bool has_own = has_own_parameters(rows, next.end);
    chain->differ |= !ap_habit_is_same(rows, last->end, next.end) || (has_own && chain->has_own);
    chain->has_own |= has_own;
    if (chain->count == 1)
        last->first = last->end - equal;
    next.first = next.end - equal;
    if (chain->count < MOST_TRACED)
        chain->stretches[chain->count++] = next;
}

void ap_habit_find_prepared(struct ap_habit_rows *rows)
{
    struct chain chain = { .count = 0 };
    for (size_t at = 0; at < rows->item_count; at++) {
        if (chain.count && !ap_habit_is_of_step(rows, chain.stretches[0].first, at))
            end_chain(rows, &chain);
        bool is_one;
        size_t end = end_of_stretch(rows, at, &is_one);
        if (is_one && end - at >= LEAST_ITEMS && (has_data(rows, at, end) || !has_sizes(rows, end)) &&
            !makes_weight(rows, end) && !is_of_choice(rows, at))
            go_on(rows, &chain, (struct stretch){ at, end });
        at = end > at ? end : at; /* each operator is looked at once */
    }
    end_chain(rows, &chain);
}

/* ---- an encoder that is run again for each token: what it makes is handed to all of them ---- */

static double elements_of(const struct ap_tensor_dims *tensor)
{
    return ap_tensor_elements(tensor, 0, tensor->count);
}

/* Items of a pass, from its first layer or embedding to the choice that ends it. */
struct turn {
    size_t first, end;
};

static bool is_embedding(const struct ap_habit_rows *rows, size_t at)
{
    return ap_habit_is_named(rows, at, AP_TEXT("aten::embedding"));
}

/* How many items both passes begin with, of the same sizes. */
static size_t begins_alike(const struct ap_habit_rows *rows, const struct turn *before, const struct turn *turn)
{
    size_t count = 0;
    while (before->first + count < before->end && turn->first + count < turn->end &&
           ap_habit_is_same(rows, before->first + count, turn->first + count))
        count++;
    return count;
}

/* The elements that the last layer from @first to before @end makes; 0 where these are no encoder: one has seen all of its
 * input, by attention or by a recurrent layer. */
static double encoded_elements(struct ap_habit_rows *rows, size_t first, size_t end)
{
    struct ap_tensor_list list;
    double elements = 0;
    size_t layers = 0;
    bool sees_all = false;
    for (size_t at = first; at < end; at++) {
        bool attends = AP_HAS(ap_item_words(rows, &rows->items[at]), ATTENTION) ||
                       ap_habit_is_named(rows, at, AP_TEXT("aten::softmax")) ||
                       ap_habit_is_named(rows, at, AP_TEXT("aten::_transformer_encoder_layer_fwd")) ||
                       ap_habit_is_named(rows, at, AP_TEXT("aten::lstm")) ||
                       ap_habit_is_named(rows, at, AP_TEXT("aten::gru"));
        sees_all |= attends;
        if (!AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) || !ap_habit_read_tensors(rows, at, &list))
            continue;
        const struct ap_tensor_dims *x = &list.tensors[0], *weight = &list.tensors[1];
        elements = elements_of(x);
        if (!attends && list.count > 1 && weight->count == 2 && weight->dims[1] > 0)
            elements *= (double)weight->dims[0] / (double)weight->dims[1];
        layers++;
    }
    return sees_all && layers >= LEAST_ENCODER ? elements : 0;
}

/* Is what differs one longer than it was: the text so far, or what is kept of it? */
static bool is_one_longer(struct ap_habit_rows *rows, size_t before, size_t at)
{
    struct ap_tensor_list was, is;
    if (ap_habit_name_at(rows, before) != ap_habit_name_at(rows, at) || !ap_habit_read_tensors(rows, before, &was) ||
        !ap_habit_read_tensors(rows, at, &is) || was.count != is.count)
        return false;
    size_t longer = 0;
    for (int i = 0; i < is.count; i++) {
        if (was.tensors[i].count != is.tensors[i].count)
            return false;
        for (int j = 0; j < is.tensors[i].count; j++) {
            int64_t more = is.tensors[i].dims[j] - was.tensors[i].dims[j];
            if (more != 0 && more != 1)
                return false;
            longer += more == 1;
        }
    }
    return longer > 0;
}

/* Layers behind it look at what the encoder made. A picture may be the next one of a list: a text that is handed in whole,
 * one longer each time, tells that it is not. */
static bool looks_at(struct ap_habit_rows *rows, const struct turn *turn, size_t behind, double elements)
{
    struct ap_tensor_list list;
    bool looks = false, has_text = is_embedding(rows, turn->first);
    for (size_t at = behind; at < turn->end && !(looks && has_text); at++) {
        bool reads = AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) && ap_habit_read_tensors(rows, at, &list);
        has_text |= is_embedding(rows, at);
        for (int i = 0; reads && i < list.count; i++)
            looks |= elements_of(&list.tensors[i]) == elements;
    }
    return looks && has_text;
}

/* Between two passes something as large as the encoder's input is touched: it may be the next frame. */
static bool may_bring_input(struct ap_habit_rows *rows, const struct turn *before, const struct turn *turn)
{
    struct ap_tensor_list list;
    if (!ap_habit_read_tensors(rows, turn->first, &list))
        return true;
    double input = elements_of(&list.tensors[is_embedding(rows, turn->first) && list.count > 1]);
    for (size_t at = before->end + 1; at < turn->first; at++) {
        if (!ap_habit_is_call(rows, &rows->items[at]) ||
            ap_text_starts_with(ap_row_name(rows->trace, rows->items[at].row), "aten::rand"))
            return true;
        if (ap_habit_is_named(rows, at, AP_TEXT("aten::cat")) ||
            ap_habit_is_named(rows, at, AP_TEXT("aten::index_select")) || !ap_habit_read_tensors(rows, at, &list))
            continue;
        for (int i = 0; i < list.count; i++)
            if (elements_of(&list.tensors[i]) >= input)
                return true;
    }
    return false;
}

/* How many items of the pass are an encoder that made the same for the pass before; 0 = none. */
static size_t encoder_again(struct ap_habit_rows *rows, const struct turn *before, const struct turn *turn)
{
    size_t count = begins_alike(rows, before, turn), behind = turn->first + count;
    if (behind == turn->end || before->first + count == before->end || !is_one_longer(rows, before->first + count, behind))
        return 0;
    double elements = encoded_elements(rows, turn->first, behind);
    return elements > 0 && looks_at(rows, turn, behind, elements) && !may_bring_input(rows, before, turn) ? count : 0;
}

static void add_encoder(struct ap_habit_rows *rows, size_t first, size_t last)
{
    int64_t dur_ns = ap_item_end_ns(rows, &rows->items[last]) - ap_item_start_ns(rows, &rows->items[first]);
    struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_encoder_again, rows->items[first].row, dur_ns, dur_ns);
    if (habit)
        ap_habit_take_names(rows, &rows->items[first], last - first + 1, habit->names);
}

/* ---- layers on what was there before the token: keys and values of an encoder's output, made anew ---- */

/* How many elements an operator makes of those that it is called with, as far as that can be told; of one that works on each
 * alone as many as the largest of them has. */
static double made_elements(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_list *list)
{
    const struct ap_tensor_dims *one = &list->tensors[0], *other = &list->tensors[1];
    double elements = elements_of(one), most = elements, all = 0;
    if (list->count > 1 && is_embedding(rows, at))
        return elements_of(other) * (double)one->dims[one->count - 1];
    if (list->count > 1 && AP_HAS(ap_item_words(rows, &rows->items[at]), HEAVY) && one->count && other->count) {
        bool is_layer = AP_HAS(ap_item_words(rows, &rows->items[at]), WEIGHTED);
        double inner = (double)one->dims[one->count - 1];
        return inner > 0 ? elements / inner * (double)other->dims[is_layer ? 0 : other->count - 1] : 0;
    }
    for (int i = 0; i < list->count; i++) {
        double of_one = elements_of(&list->tensors[i]);
        most = of_one > most ? of_one : most;
        all += of_one;
    }
    return AP_HAS(ap_item_words(rows, &rows->items[at]), GATHER) ? all : most;
}

/* May it make a tensor of so many elements that is no projection of such a one? */
static bool may_make(const struct ap_habit_rows *rows, size_t at, double elements)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct ap_text name = ap_row_name(rows->trace, rows->items[at].row);
    struct ap_tensor_list list;
    if (!ap_habit_is_call(rows, &rows->items[at]) || ap_text_starts_with(name, "aten::rand") ||
        ap_text_starts_with(name, "aten::conv"))
        return true;
    if (AP_HAS(words, ATTENTION) || (words & (AP_BIT(VIEW) | AP_BIT(PIECE) | AP_BIT(NO_WORK)) && !AP_HAS(words, HEAVY)) ||
        !ap_habit_read_tensors(rows, at, &list))
        return false;
    if (AP_HAS(words, WEIGHTED) && elements_of(&list.tensors[0]) == elements)
        return false;
    return made_elements(rows, at, &list) == elements;
}

/* A piece of something larger is taken, which may have as many elements: the next input. */
static bool may_take(const struct ap_habit_rows *rows, size_t at, double elements)
{
    struct ap_tensor_list list;
    if (!AP_HAS(ap_item_words(rows, &rows->items[at]), PIECE) || !ap_habit_read_tensors(rows, at, &list))
        return false;
    return elements_of(&list.tensors[0]) > elements;
}

/* Elements of what the first layer of both passes is handed that has the same sizes in both and is large: *ret_at; 0 = none
 * has. */
static double projected_elements(struct ap_habit_rows *rows, const struct turn *before, const struct turn *turn,
                                 size_t *ret_at)
{
    struct ap_tensor_list list;
    for (size_t at = turn->first; at < turn->end; at++) {
        size_t then = before->first + (at - turn->first);
        if (!ap_habit_is_named(rows, at, AP_TEXT("aten::linear")) || !ap_habit_is_same(rows, then, at) ||
            !ap_habit_read_tensors(rows, at, &list) || elements_of(&list.tensors[0]) < LEAST_PROJECTED)
            continue;
        *ret_at = at;
        return elements_of(&list.tensors[0]);
    }
    return 0;
}

/* What is looked up first is as much as was chosen by the pass before, or the text so far, which is one token longer. */
static bool goes_on_with_choice(struct ap_habit_rows *rows, const struct turn *before, const struct turn *turn)
{
    struct ap_tensor_list scores, ids;
    if (!is_embedding(rows, turn->first) || turn->end - turn->first != before->end - before->first ||
        !ap_habit_read_tensors(rows, before->end, &scores) || !ap_habit_read_tensors(rows, turn->first, &ids) ||
        ids.count < 2 || !scores.tensors[0].count)
        return false;
    return ap_tensor_elements(&scores.tensors[0], 0, scores.tensors[0].count - 1) == elements_of(&ids.tensors[1]) ||
           is_one_longer(rows, before->first, turn->first);
}

/* The token that was chosen begins the pass; the input was there before the pass that chose it. */
static double projected_again(struct ap_habit_rows *rows, const struct turn *before, const struct turn *turn)
{
    size_t layer;
    double elements = goes_on_with_choice(rows, before, turn) ? projected_elements(rows, before, turn, &layer) : 0;
    if (elements <= 0)
        return 0;
    for (size_t at = before->end + 1; at < layer; at++)
        if (may_take(rows, at, elements))
            return 0;
    for (size_t at = before->first; at < turn->end; at++)
        if (may_make(rows, at, elements))
            return 0;
    return elements;
}

static void add_projections(struct ap_habit_rows *rows, const struct turn *turn, double elements)
{
    struct ap_tensor_list list;
    for (size_t at = turn->first; at < turn->end; at++) {
        if (!ap_habit_is_named(rows, at, AP_TEXT("aten::linear")) || !ap_habit_read_tensors(rows, at, &list) ||
            elements_of(&list.tensors[0]) != elements)
            continue;
        int64_t dur_ns = ap_item_end_ns(rows, &rows->items[at]) - ap_item_start_ns(rows, &rows->items[at]);
        struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_projected_again, rows->items[at].row, dur_ns, dur_ns);
        if (habit)
            ap_habit_take_names(rows, &rows->items[at], 1, habit->names);
    }
}

/* An encoder that both passes begin with, or layers on what was there. */
static bool look_at_turn(struct ap_habit_rows *rows, const struct turn *before, const struct turn *turn, bool adds)
{
    size_t items = encoder_again(rows, before, turn);
    double elements = items ? 0 : projected_again(rows, before, turn);
    if (items && adds)
        add_encoder(rows, turn->first, turn->first + items - 1);
    if (elements > 0 && adds)
        add_projections(rows, turn, elements);
    return items || elements > 0;
}

static size_t go_over_encoders(struct ap_habit_rows *rows, bool adds)
{
    struct turn before = { 0, 0 }, turn;
    size_t times = 0;
    bool is_open = false;
    for (size_t at = 0; at < rows->item_count; at++) {
        uint64_t words = ap_item_words(rows, &rows->items[at]);
        if (!is_open && (AP_HAS(words, HEAVY) || is_embedding(rows, at))) {
            turn.first = at;
            is_open = true;
        }
        if (!is_open || !(words & (AP_BIT(CHOSEN) | AP_BIT(TOP))))
            continue;
        turn.end = at;
        times += before.end && look_at_turn(rows, &before, &turn, adds);
        before = turn;
        is_open = false;
    }
    return times;
}

void ap_habit_find_encoders(struct ap_habit_rows *rows)
{
    if (go_over_encoders(rows, false) >= LEAST_AGAIN)
        (void)go_over_encoders(rows, true);
}
