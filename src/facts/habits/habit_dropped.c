/* SPDX-License-Identifier: MIT
 * Gradients that are cleared before an optimizer works on them: of two models that are trained in turn, the loss of one went
 * back through the other. The order tells, by sizes: what steps of optimizers work on, and what passes before them made. */
#include "habit_items.h"

#include "poison.h"

#define NAMES_MAX 16 /* of operators in the steps of a turn */

/* What the operators of one name work on in the steps of a turn. */
struct updates {
    uint32_t name;
    size_t count;
    uint64_t keys; /* sum */
};

/* A turn: backward passes and the steps of optimizers behind them. They are read from the last one to the first. */
struct turn {
    uint32_t steps, clears; /* behind its passes; between the steps of the turn before and them */
    bool is_made;           /* its passes are read */
    bool has_untold;        /* a step does not tell what it works on: that may be all */
    struct updates of[NAMES_MAX];
    size_t name_count;
};

/* Of a size: the last turns, read so far, that made a gradient of it and that updated it; 0 = none. */
struct made {
    uint32_t made_in, updated_in;
    bool is_updated, is_dropped; /* in the turn that made it; before any turn did */
    bool is_cleared;             /* what that turn does not work on is cleared before any turn does */
    uint32_t kept_in;            /* the last pass of which a gradient of it is worked on */
};

/* A gradient of the backward pass that is read, from its last one on. */
struct gradient {
    uint32_t row, number; /* of the size */
};

struct pass {
    struct gradient *gradients;
    size_t count, capacity;
    size_t behind; /* of them, read behind its last node: they are of the pass before where that one's node is next */
    uint32_t number;
    ap_link_key last;
};

struct clearing {
    struct made *made; /* by number of the size */
    struct turn turn, next;
    uint32_t number;       /* of the turn */
    bool is_told;          /* the step that is read tells what it works on */
    const uint32_t *steps; /* rows of optimizers' steps in order of time; the last of them is read first */
    size_t step_count;
    struct pass pass;
};

static uint64_t key_of(uint32_t number)
{
    return (number + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15);
}

static void count_update(struct turn *turn, uint32_t name, uint32_t number)
{
    size_t i = 0;
    while (i < turn->name_count && turn->of[i].name != name)
        i++;
    if (i == NAMES_MAX)
        return;
    turn->name_count += i == turn->name_count;
    turn->of[i].name = name;
    turn->of[i].count++;
    turn->of[i].keys += key_of(number);
}

static uint64_t sum_of(const struct gradient *gradients, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += key_of(gradients[i].number);
    return sum;
}

/* Other operators may update what those of one name do not, as those of an optimizer for sparse gradients: a size that the
 * steps work on has to be one of those kept. */
static bool all_are_other(const struct clearing *clearing, size_t from, size_t count)
{
    bool other = true;
    for (size_t i = from; i < from + count && other; i++) {
        const struct made *made = &clearing->made[clearing->pass.gradients[i].number];
        other = !made->is_updated || made->kept_in == clearing->pass.number;
    }
    return other;
}

/* All gradients of the pass but @kept_count from @kept_from on are dropped, which are the first ones or the last ones. */
static void drop_but(struct ap_habit_rows *rows, struct clearing *clearing, size_t kept_from, size_t kept_count,
                     size_t count)
{
    struct pass *pass = &clearing->pass;
    pass->number++;
    for (size_t i = kept_from; i < kept_from + kept_count; i++)
        clearing->made[pass->gradients[i].number].kept_in = pass->number;
    size_t from = kept_from ? 0 : kept_count;
    if (!all_are_other(clearing, from, count - kept_count))
        return;
    for (size_t i = from; i < from + count - kept_count; i++)
        rows->dropped[pass->gradients[i].row] = clearing->made[pass->gradients[i].number].is_cleared;
}

/* Two models may have weights of the same sizes. A pass that made more gradients than the steps behind it work on made those
 * of the other model before all of theirs, or behind all of them. Where both would fit, it is not known which. */
static void end_pass(struct ap_habit_rows *rows, struct clearing *clearing, size_t behind)
{
    struct pass *pass = &clearing->pass;
    size_t count = pass->count - behind;
    for (size_t i = 0; i < clearing->turn.name_count && !clearing->turn.has_untold; i++) {
        const struct updates *of = &clearing->turn.of[i];
        bool is_less = of->count < count;
        bool are_last = is_less && sum_of(pass->gradients, of->count) == of->keys;
        bool are_first = is_less && sum_of(pass->gradients + count - of->count, of->count) == of->keys;
        if (are_last != are_first) {
            drop_but(rows, clearing, are_last ? 0 : count - of->count, of->count, count);
            break;
        }
    }
    for (size_t i = 0; i < behind; i++)
        pass->gradients[i] = pass->gradients[count + i];
    pass->count = pass->behind = behind;
    pass->last = 0;
}

/* Numbers of nodes fall in a pass; it is read from its end. */
static void note_node(struct ap_habit_rows *rows, struct clearing *clearing, uint32_t row)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, row);
    if (!op || !op->sequence)
        return;
    if (op->sequence < clearing->pass.last)
        end_pass(rows, clearing, clearing->pass.behind);
    clearing->pass.last = op->sequence;
    clearing->pass.behind = 0;
}

/* Where the first one of the operands ends, a tensor or a list of tensors: what an operator that updates works on. */
static size_t ends_of_first(struct ap_text dims)
{
    int depth = 0;
    for (size_t at = 0; at < dims.bytes; at++) {
        depth += (dims.data[at] == '[') - (dims.data[at] == ']');
        if (dims.data[at] == ']' && depth == 1)
            return at + 1;
    }
    return dims.bytes;
}

static void note_update(const struct ap_habit_rows *rows, struct clearing *clearing, uint32_t row)
{
    uint32_t key[2];
    struct ap_text dims = ap_habit_dims_of(rows, row);
    size_t first = ends_of_first(dims);
    for (size_t at = 0; ap_habit_next_tensor(dims, &at, key); at++) {
        uint32_t number = ap_pair_map_find(&rows->updated, key[0], key[1]);
        if (number == AP_PAIR_NONE)
            continue;
        if (at < first)
            count_update(&clearing->turn, rows->trace->events.name[row], number);
        clearing->made[number].updated_in = clearing->number;
        clearing->is_told = true;
    }
}

/* The next turn makes and updates it, and all that steps then is cleared before; or that turn leaves it out as well, and
 * what becomes of the one gradient becomes of the other. */
static bool is_cleared(const struct clearing *clearing, const struct made *made)
{
    if (clearing->turn.has_untold || !made->made_in || made->made_in + 1 != clearing->number)
        return false;
    return made->is_updated ? clearing->next.steps && clearing->next.clears >= clearing->next.steps : made->is_dropped;
}

static enum ap_status note_made(struct ap_habit_rows *rows, struct clearing *clearing, uint32_t row, struct ap_error *reterr)
{
    uint32_t key[2], number;
    size_t at = 0;
    clearing->turn.is_made = true;
    if (!ap_habit_next_tensor(ap_habit_dims_of(rows, row), &at, key) ||
        (number = ap_pair_map_find(&rows->updated, key[0], key[1])) == AP_PAIR_NONE)
        return AP_OK;
    struct made *made = &clearing->made[number];
    if (made->made_in != clearing->number) {
        bool is_updated = made->updated_in == clearing->number;
        made->is_cleared = is_cleared(clearing, made);
        made->is_dropped = made->is_cleared && !is_updated;
        made->is_updated = is_updated;
        made->made_in = clearing->number;
    }
    rows->dropped[row] = made->is_dropped;
    struct pass *pass = &clearing->pass;
    AP_TRY(ap_mem_reserve(rows->habits->gate, (void **)&pass->gradients, &pass->capacity, pass->count + 1,
                          sizeof(pass->gradients[0]), reterr));
    pass->gradients[pass->count++] = (struct gradient){ row, number };
    pass->behind++;
    return AP_OK;
}

/* Its operators were read before it. */
static void note_step(struct clearing *clearing)
{
    clearing->turn.steps++;
    clearing->turn.has_untold |= !clearing->is_told;
    clearing->is_told = false;
    clearing->step_count--;
}

/* The end of a step, whose operators come now. */
static void end_turn(struct ap_habit_rows *rows, struct clearing *clearing)
{
    if (!clearing->turn.is_made)
        return;
    end_pass(rows, clearing, 0);
    clearing->next = clearing->turn;
    clearing->turn = (struct turn){ .steps = 0 };
    clearing->number++;
}

static enum ap_status read_backwards(struct ap_habit_rows *rows, struct clearing *clearing, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    size_t track = rows->facts->main_track;
    for (size_t at = order->track_start[track + 1]; at > order->track_start[track]; at--) {
        uint32_t row = order->rows[at - 1];
        uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
        uint32_t step = clearing->step_count ? clearing->steps[clearing->step_count - 1] : AP_NO_ROW;
        bool is_of_step = step != AP_NO_ROW && rows->trace->events.start_ns[row] < ap_row_end_ns(rows->trace, step);
        if (is_of_step)
            end_turn(rows, clearing);
        if (row == step)
            note_step(clearing);
        else if (is_of_step && ap_habit_is_operator(rows, row))
            note_update(rows, clearing, row);
        else if (AP_HAS(words, ACCUMULATE))
            AP_TRY(note_made(rows, clearing, row, reterr));
        else if (AP_HAS(words, NODE))
            note_node(rows, clearing, row);
        else if (AP_HAS(words, CLEARS))
            clearing->turn.clears += clearing->turn.is_made;
    }
    end_pass(rows, clearing, 0);
    return AP_OK;
}

/* The rows of steps. Where the recording begins with a clear, gradients are cleared before they are made, not behind the
 * step that used them: those of other models live on there. Else nobody asks for the steps. */
static enum ap_status find_steps(struct ap_habit_rows *rows, uint32_t **ret_steps, size_t *ret_count, size_t *ret_capacity,
                                 bool *ret_clears_first, struct ap_error *reterr)
{
    const struct ap_row_order *order = &rows->facts->order;
    const uint32_t *bounds = &order->track_start[rows->facts->main_track];
    bool is_first = true;
    for (size_t at = bounds[0]; at < bounds[1] && (is_first || *ret_clears_first); at++) {
        uint32_t row = order->rows[at];
        uint64_t words = ap_row_is_of(rows->trace, row, AP_HOST_KINDS) ? ap_habit_words_of(rows, row) : 0;
        *ret_clears_first |= is_first && AP_HAS(words, CLEARS);
        is_first &= !(words & (AP_BIT(ACCUMULATE) | AP_BIT(OPTIMIZER)));
        if (AP_HAS(words, OPTIMIZER))
            AP_TRY_ADD(rows->habits->gate, *ret_steps, *ret_count, *ret_capacity, reterr, row);
    }
    return AP_OK;
}

enum ap_status ap_habit_find_dropped(struct ap_habit_rows *rows, struct ap_error *reterr)
{
    struct clearing clearing = { .number = 1 };
    uint32_t *steps = NULL;
    size_t count = 0, capacity = 0;
    bool clears_first = false;
    if (rows->facts->main_track == AP_NO_ROW || !rows->updated.count)
        return AP_OK;
    enum ap_status status = find_steps(rows, &steps, &count, &capacity, &clears_first, reterr);
    if (clears_first) {
        AP_AND_THEN(status, AP_ALLOC_CLEARED(rows->habits->gate, clearing.made, rows->updated.count, reterr));
        AP_AND_THEN(status, AP_ALLOC_CLEARED(rows->habits->gate, rows->dropped, rows->trace->events.count, reterr));
    }
    clearing.steps = steps;
    clearing.step_count = count;
    if (clears_first)
        AP_AND_THEN(status, read_backwards(rows, &clearing, reterr));
    AP_FREE(rows->habits->gate, clearing.pass.gradients, clearing.pass.capacity);
    AP_FREE(rows->habits->gate, clearing.made, rows->updated.count);
    AP_FREE(rows->habits->gate, steps, capacity);
    return status;
}
