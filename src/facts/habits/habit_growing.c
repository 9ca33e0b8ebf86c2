/* SPDX-License-Identifier: MIT
 * Work that takes longer from call to call, where no sizes tell how much it is: what is there so far is put together anew
 * each time, or a model goes over all positions again for each one that it adds. Single calls are slow by chance, so the
 * quick ones of each few are compared. */
#include "habit_items.h"
#include "sort.h"

#include "poison.h"

#define BLOCK_CALLS 8   /* of which the second quickest stands for them */
#define BLOCK_ANSWERS 4 /* likewise of passes of a model, each of which is a median */
#define BLOCKS_MAX 32
#define LEAST_BLOCKS 5    /* that rise */
#define LEAST_RISING 0.85 /* of all pairs of blocks, the later one the slower one */
#define RESET 0.5         /* of the block before: a list, or a text, begins anew */
#define LIST_GROWTH 3.0   /* from the quickest block to the slowest one */
#define PREFIX_GROWTH 1.2 /* likewise: half a prompt is added */
#define BEHIND 6          /* operators behind, which work on what was put together */
#define GROUPS_MAX 16
#define PASSES_BACK 8           /* from a pass of a text to one that took less */
#define MOST_WHOLE 0.75         /* of all passes, those that go over a whole text by their signs */
#define LEAST_COMPARED 12       /* with one before */
#define LEAST_SLOWER 0.6        /* of them: chance makes it half */
#define LAYERS_MAX 64           /* of a pass, from which the median is taken */
#define LEAST_QUEUE (64 * 1024) /* elements */
#define MOST_MOVED 0.1          /* of them, in one call */
#define CUT_WITHIN 4            /* items before the concatenation, with what brings the little into its form */
#define WRITTEN_WITHIN 4        /* items behind the shift */
#define MADE_WITHIN 16          /* items before the concatenation */

/* How long the same call takes, from the first to the last one: the second quickest of each block. */
struct watch {
    uint32_t name, in_block, block_calls, count;
    int64_t least[2]; /* of the block */
    int64_t blocks[BLOCKS_MAX];
    bool grows; /* as judged behind all of them */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void end_block(struct watch *watch)
{
    watch->in_block = 0;
    watch->blocks[watch->count++] = watch->least[1];
    if (watch->count < BLOCKS_MAX)
        return;
    for (uint32_t i = 0; i < BLOCKS_MAX / 2; i++)
        watch->blocks[i] = smaller(watch->blocks[2 * i], watch->blocks[2 * i + 1]);
    watch->count = BLOCKS_MAX / 2;
    watch->block_calls *= 2;
}

static void note(struct watch *watch, uint32_t block_calls, int64_t dur_ns)
{
    watch->block_calls = watch->block_calls ? watch->block_calls : block_calls;
    if (!watch->in_block)
        watch->least[0] = watch->least[1] = INT64_MAX;
    if (dur_ns < watch->least[0]) {
        watch->least[1] = watch->least[0];
        watch->least[0] = dur_ns;
    } else if (dur_ns < watch->least[1]) {
        watch->least[1] = dur_ns;
    }
    if (++watch->in_block == watch->block_calls)
        end_block(watch);
}

/* From the first one on, until a list, or a text, begins anew. */
static uint32_t end_of_rise(const struct watch *watch, uint32_t from)
{
    uint32_t to = from + 1;
    while (to < watch->count && (double)watch->blocks[to] >= RESET * (double)watch->blocks[to - 1])
        to++;
    return to;
}

static int64_t low_of(const struct watch *watch)
{
    int64_t low_ns = INT64_MAX;
    for (uint32_t i = 0; i < watch->count; i++)
        low_ns = smaller(low_ns, watch->blocks[i]);
    return low_ns;
}

static int64_t high_of(const struct watch *watch)
{
    int64_t high_ns = 0;
    for (uint32_t i = 0; i < watch->count; i++)
        high_ns = watch->blocks[i] > high_ns ? watch->blocks[i] : high_ns;
    return high_ns;
}

static bool grows(const struct watch *watch, double growth)
{
    uint32_t pairs = 0, rising = 0, longest = 0, to;
    for (uint32_t from = 0; from < watch->count; from = to) {
        to = end_of_rise(watch, from);
        longest = to - from > longest ? to - from : longest;
        for (uint32_t i = from; i < to; i++)
            for (uint32_t j = i + 1; j < to; j++, pairs++)
                rising += watch->blocks[j] > watch->blocks[i];
    }
    return longest >= LEAST_BLOCKS && (double)rising >= LEAST_RISING * (double)pairs &&
           (double)high_of(watch) >= growth * (double)low_of(watch);
}

static int64_t dur_of(const struct ap_habit_rows *rows, size_t at)
{
    return rows->trace->events.dur_ns[rows->items[at].row];
}

static bool has_sizes(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_op_detail *op = ap_row_op(rows->trace, rows->items[at].row);
    return op && op->signature.id;
}

/* ---- what is there so far, put together anew ---- */

/* Calls that put something together, by what comes behind them; what works on it. */
struct gathering {
    uint32_t next;
    struct watch of[1 + BEHIND];
};

static bool is_sized_cat(const struct ap_habit_rows *rows, size_t at)
{
    return has_sizes(rows, at) && ap_habit_is_named(rows, at, AP_TEXT("aten::cat"));
}

static bool is_gathering(const struct ap_habit_rows *rows, size_t at)
{
    const struct ap_habit_item *item = &rows->items[at];
    return at + 1 < rows->item_count && ap_habit_is_call(rows, item) && AP_HAS(ap_item_words(rows, item), GATHER) &&
           !is_sized_cat(rows, at);
}

static struct gathering *gathering_of(const struct ap_habit_rows *rows, struct gathering *groups, size_t *count, size_t at)
{
    uint32_t name = ap_habit_name_at(rows, at), next = ap_habit_name_at(rows, at + 1);
    for (size_t i = 0; i < *count; i++)
        if (groups[i].of[0].name == name && groups[i].next == next)
            return &groups[i];
    if (*count == GROUPS_MAX)
        return NULL;
    groups[*count] = (struct gathering){ .next = next };
    groups[*count].of[0].name = name;
    return &groups[(*count)++];
}

/* Does the operator behind work on what was put together, as far as its name tells? */
static bool is_behind(const struct ap_habit_rows *rows, size_t at, struct watch *watch)
{
    if (at >= rows->item_count || !ap_habit_is_call(rows, &rows->items[at]) ||
        ap_item_words(rows, &rows->items[at]) & (AP_BIT(HEAVY) | AP_BIT(MODEL) | AP_BIT(GATHER)))
        return false;
    watch->name = watch->name ? watch->name : ap_habit_name_at(rows, at);
    return watch->name == ap_habit_name_at(rows, at);
}

static void note_gathering(const struct ap_habit_rows *rows, struct gathering *group, size_t at)
{
    note(&group->of[0], BLOCK_CALLS, dur_of(rows, at));
    for (size_t i = 1; i <= BEHIND && is_behind(rows, at + i, &group->of[i]); i++)
        note(&group->of[i], BLOCK_CALLS, dur_of(rows, at + i));
}

/* With the way of Python to each, and what is given back there and behind it. */
static void add_gathering(struct ap_habit_rows *rows, struct gathering *group, size_t at)
{
    int64_t total_ns = 0;
    size_t i = 0;
    for (; i <= BEHIND && (!i || is_behind(rows, at + i, &group->of[i])); i++)
        if (group->of[i].grows)
            total_ns =
                ap_add_sat(total_ns, dur_of(rows, at + i) + ap_habit_lead_ns(rows, at + i), &rows->habits->overflowed);
    total_ns = ap_add_sat(total_ns, ap_habit_given_back_ns(rows, at + i - 1, dur_of(rows, at)), &rows->habits->overflowed);
    (void)ap_habit_add(rows->habits, AP_HABIT_growing_cat, rows->items[at].row, total_ns, total_ns);
}

static void find_gatherings(struct ap_habit_rows *rows)
{
    struct gathering groups[GROUPS_MAX], *group;
    size_t count = 0;
    for (size_t at = 0; at < rows->item_count; at++)
        if (is_gathering(rows, at) && (group = gathering_of(rows, groups, &count, at)))
            note_gathering(rows, group, at);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= BEHIND; j++)
            groups[i].of[j].grows = grows(&groups[i].of[j], LIST_GROWTH);
    for (size_t at = 0; at < rows->item_count; at++)
        if (is_gathering(rows, at) && (group = gathering_of(rows, groups, &count, at)) && group->of[0].grows)
            add_gathering(rows, group, at);
}

/* ---- queues of one length ----
 * All is copied to move them on by a little: the last frames of a stream, keys to compare with. What is put behind may come
 * before what is cut off in front or after it; or all is shifted by roll, and the end is written over. */

static double elements_of(const struct ap_tensor_dims *tensor)
{
    return ap_tensor_elements(tensor, 0, tensor->count);
}

/* What is moved on, with the little that is put to it. */
struct queue {
    struct ap_tensor_dims whole, large; /* with the little, and without */
    double of_large, of_small;
};

/* A large tensor and a small one are put together, along one dimension. */
static bool read_joined(const struct ap_habit_rows *rows, size_t at, struct queue *ret_queue)
{
    struct ap_tensor_list list;
    if (!ap_habit_is_named(rows, at, AP_TEXT("aten::cat")) || !ap_habit_read_tensors(rows, at, &list) || list.count != 2 ||
        list.tensors[1].input || list.tensors[0].count != list.tensors[1].count)
        return false;
    const struct ap_tensor_dims *one = &list.tensors[0], *other = &list.tensors[1];
    double of_one = elements_of(one), of_other = elements_of(other);
    int along = -1, differ = 0;
    for (int i = 0; i < one->count; i++)
        if (one->dims[i] != other->dims[i]) {
            along = i;
            differ++;
        }
    *ret_queue = (struct queue){ .whole = *one,
                                 .large = of_one > of_other ? *one : *other,
                                 .of_large = of_one > of_other ? of_one : of_other,
                                 .of_small = of_one > of_other ? of_other : of_one };
    if (differ != 1)
        return false;
    ret_queue->whole.dims[along] += other->dims[along];
    return ret_queue->of_large >= LEAST_QUEUE && ret_queue->of_small <= MOST_MOVED * ret_queue->of_large;
}

static void add_move(struct ap_habit_rows *rows, size_t at, size_t last, const struct queue *queue)
{
    int64_t dur_ns = rows->trace->events.dur_ns[rows->items[at].row];
    int64_t total_ns = dur_ns + ap_habit_given_back_ns(rows, last, dur_ns); /* what it replaces */
    struct ap_habit *habit = ap_habit_add(rows->habits, AP_HABIT_growing_cat, rows->items[at].row, total_ns,
                                          ap_share_of(total_ns, queue->of_large / (queue->of_large + queue->of_small)));
    if (habit)
        habit->signature = ap_row_op(rows->trace, rows->items[at].row)->signature.id;
}

/* Does it begin with a tensor of these sizes? */
static bool begins_with(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *tensor)
{
    struct ap_tensor_list list;
    return ap_habit_read_tensors(rows, at, &list) && ap_tensor_equal(&list.tensors[0], tensor);
}

/* Looks at the tensor and makes none like it: a piece is taken, a sum, or a product of another width. */
static bool only_reads(const struct ap_habit_rows *rows, size_t at, const struct ap_tensor_dims *whole)
{
    struct ap_tensor_list list;
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    if (AP_HAS(words, HEAVY))
        return ap_habit_read_tensors(rows, at, &list) && list.count > 1 && list.tensors[1].count == 2 &&
               list.tensors[1].dims[0] != list.tensors[1].dims[1] && whole->count > 1;
    return words & (AP_BIT(PIECE) | AP_BIT(VIEW) | AP_BIT(REDUCTION));
}

/* Is what is cut the result of the last such concatenation? It is where nothing behind that made a tensor of its sizes: a
 * layer that shifts its input by a position is handed another one each time. */
static bool is_same_queue(struct ap_habit_rows *rows, size_t at, size_t cut, const struct queue *queue)
{
    for (size_t back = cut; back-- > 0 && rows->looks_left; rows->looks_left--) {
        if (ap_habit_is_same(rows, at, back))
            return true;
        if (!ap_habit_is_call(rows, &rows->items[back]) ||
            (begins_with(rows, back, &queue->whole) && !only_reads(rows, back, &queue->whole)))
            return false;
    }
    return false;
}

static bool is_cut_before(struct ap_habit_rows *rows, size_t at, const struct queue *queue)
{
    for (size_t back = at; back-- > 0 && at - back <= CUT_WITHIN && ap_habit_is_of_step(rows, at, back);)
        if (ap_habit_is_named(rows, back, AP_TEXT("aten::slice")) && begins_with(rows, back, &queue->whole))
            return is_same_queue(rows, at, back, queue);
    return false;
}

/* What has just been computed is no queue: a layer shifts its input by a position. */
static bool is_made_here(const struct ap_habit_rows *rows, size_t at, const struct queue *queue)
{
    for (size_t back = at; back-- > 0 && at - back <= MADE_WITHIN && ap_habit_is_of_step(rows, at, back);)
        if (AP_HAS(ap_item_words(rows, &rows->items[back]), BY_ELEMENT) && begins_with(rows, back, &queue->large))
            return true;
    return false;
}

static bool is_cut_behind(const struct ap_habit_rows *rows, size_t at, const struct queue *queue)
{
    return ap_habit_is_of_step(rows, at, at + 1) && AP_HAS(ap_item_words(rows, &rows->items[at + 1]), PIECE) &&
           begins_with(rows, at + 1, &queue->whole) && !is_made_here(rows, at, queue);
}

/* All is shifted by roll, and right behind it a little of what that made is written. */
static void look_at_roll(struct ap_habit_rows *rows, size_t at)
{
    struct ap_tensor_list list, written;
    if (!ap_habit_read_tensors(rows, at, &list) || elements_of(&list.tensors[0]) < LEAST_QUEUE)
        return;
    struct queue queue = { .whole = list.tensors[0], .of_large = elements_of(&list.tensors[0]) };
    bool takes_piece = false;
    for (size_t next = at + 1; next <= at + WRITTEN_WITHIN && ap_habit_is_of_step(rows, at, next); next++) {
        uint64_t words = ap_item_words(rows, &rows->items[next]);
        takes_piece |= AP_HAS(words, PIECE) && begins_with(rows, next, &queue.whole);
        if (!AP_HAS(words, FILLS))
            continue;
        if (takes_piece && ap_habit_read_tensors(rows, next, &written) &&
            elements_of(&written.tensors[0]) <= MOST_MOVED * queue.of_large)
            add_move(rows, at, at, &queue);
        return;
    }
}

static void find_queues(struct ap_habit_rows *rows)
{
    struct queue queue;
    bool trains = rows->facts->phases.has_backward;
    ap_habit_begin_search(rows);
    for (size_t at = 0; at < rows->item_count; at++) {
        if (ap_habit_is_named(rows, at, AP_TEXT("aten::roll")))
            look_at_roll(rows, at);
        if (!read_joined(rows, at, &queue))
            continue;
        if (is_cut_behind(rows, at, &queue))
            add_move(rows, at, at + 1, &queue);
        else if (!trains && is_cut_before(rows, at, &queue))
            add_move(rows, at, at, &queue);
    }
}

/* ---- all positions again ---- */

/* A pass of the model, up to the choice of what it goes on with. */
struct answer {
    int64_t layers[LAYERS_MAX], views[LAYERS_MAX];
    size_t layer_count, view_count, first;
    int64_t total_ns;
};

/* What operators of a pass tell, whatever they take. */
struct signs {
    bool joins;    /* before its first layer something was put together, as the text so far is */
    bool looks_up; /* tokens */
    bool puts;     /* something was put together or written since the last attention */
    bool keeps;    /* and attention looked at it: a cache */
    bool picks;    /* behind its layers a piece is taken: of the last position */
    size_t attends;
};

/* Passes by these signs, and those that take longer than one some passes before in the same text. */
struct texts {
    size_t passes, keeping, whole, compared, slower;
    size_t length;               /* of this text: passes so far */
    int64_t before[PASSES_BACK]; /* in turn */
};

struct prefix {
    struct answer answer;
    struct signs signs;
    struct texts texts;
    struct watch layers, views; /* as long whatever the text, but on a machine that slows down: there both rise alike */
    size_t layer_count;
    uint64_t answers;
    bool adds;    /* else it is only watched */
    bool is_sure; /* by the signs */
};

static int64_t median(int64_t *values, size_t count)
{
    if (!count)
        return 0;
    ap_sort(values, count, sizeof(values[0]), ap_by_int64);
    return values[count / 2];
}

/* A concatenation that turns halves of a vector is multiplied next: positions are put into it. */
static bool puts_to_cache(const struct ap_habit_rows *rows, size_t at)
{
    if (ap_habit_is_named(rows, at, AP_TEXT("aten::copy_")) || ap_habit_is_named(rows, at, AP_TEXT("aten::index_copy_")) ||
        ap_habit_is_named(rows, at, AP_TEXT("aten::index_put_")))
        return true;
    return ap_habit_is_named(rows, at, AP_TEXT("aten::cat")) &&
           !(at + 1 < rows->item_count && ap_habit_is_named(rows, at + 1, AP_TEXT("aten::mul")));
}

/* The time rises by one position from pass to pass, so a pass has about so many. */
static double positions(const struct prefix *prefix, int64_t dur_ns)
{
    uint32_t rises = end_of_rise(&prefix->layers, 0) - 1;
    double rise_ns = (double)(prefix->layers.blocks[rises] - prefix->layers.blocks[0]);
    return rise_ns > 0 ? (double)dur_ns / rise_ns * rises * prefix->layers.block_calls : 1;
}

static void note_signs(struct ap_habit_rows *rows, struct prefix *prefix, size_t at)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct signs *signs = &prefix->signs;
    bool has_layers = prefix->answer.layer_count != 0;
    bool takes_piece =
        ap_habit_is_named(rows, at, AP_TEXT("aten::select")) || ap_habit_is_named(rows, at, AP_TEXT("aten::slice"));
    signs->joins |= !has_layers && ap_habit_is_named(rows, at, AP_TEXT("aten::cat"));
    signs->looks_up |= ap_habit_is_named(rows, at, AP_TEXT("aten::embedding"));
    signs->puts |= has_layers && puts_to_cache(rows, at);
    if (has_layers && (AP_HAS(words, ATTENTION) || ap_habit_is_named(rows, at, AP_TEXT("aten::softmax")))) {
        signs->attends++;
        signs->keeps |= signs->puts;
        signs->puts = false;
    }
    signs->picks = !AP_HAS(words, MODEL) && (signs->picks || (has_layers && takes_piece));
}

/* A text is generated, and nothing of it kept. */
static bool is_whole_text(const struct signs *signs)
{
    return signs->joins && signs->looks_up && signs->picks && !signs->keeps && signs->attends > 1;
}

static void end_signs(struct prefix *prefix, int64_t dur_ns)
{
    struct texts *texts = &prefix->texts;
    bool is_whole = is_whole_text(&prefix->signs);
    texts->length = is_whole ? texts->length : 0;
    texts->passes += prefix->answer.layer_count != 0;
    texts->keeping += prefix->answer.layer_count && prefix->signs.keeps;
    texts->whole += is_whole;
    if (is_whole && texts->length >= PASSES_BACK) {
        texts->compared++;
        texts->slower += dur_ns > texts->before[texts->length % PASSES_BACK];
    }
    texts->before[texts->length % PASSES_BACK] = dur_ns;
    texts->length++;
    prefix->signs = (struct signs){ .attends = 0 };
}

static bool is_sure(const struct texts *texts)
{
    return (double)texts->whole >= MOST_WHOLE * (double)texts->passes && texts->compared >= LEAST_COMPARED &&
           (double)texts->slower >= LEAST_SLOWER * (double)texts->compared;
}

static void end_answer(struct ap_habit_rows *rows, struct prefix *prefix)
{
    struct answer *answer = &prefix->answer;
    bool is_alike = answer->layer_count && answer->layer_count == prefix->layer_count;
    int64_t dur_ns = median(answer->layers, answer->layer_count);
    end_signs(prefix, dur_ns);
    if (is_alike && prefix->adds) {
        double length = prefix->is_sure ? (double)prefix->texts.length : positions(prefix, dur_ns);
        (void)ap_habit_add(rows->habits, AP_HABIT_growing_prefix, rows->items[answer->first].row, answer->total_ns,
                           ap_share_of(answer->total_ns, length > 1 ? 1 - 1 / length : 0));
    } else if (is_alike) {
        note(&prefix->layers, BLOCK_ANSWERS, dur_ns);
        note(&prefix->views, BLOCK_ANSWERS, median(answer->views, answer->view_count));
    }
    prefix->layer_count = answer->layer_count;
    *answer = (struct answer){ .layer_count = 0 };
}

static void note_item(struct ap_habit_rows *rows, struct prefix *prefix, size_t at)
{
    uint64_t words = ap_item_words(rows, &rows->items[at]);
    struct answer *answer = &prefix->answer;
    bool is_layer = AP_HAS(words, HEAVY) && AP_HAS(words, MODEL);
    note_signs(rows, prefix, at);
    if (is_layer && !answer->layer_count)
        answer->first = at;
    if (is_layer && answer->layer_count < LAYERS_MAX)
        answer->layers[answer->layer_count++] = dur_of(rows, at);
    if (AP_HAS(words, VIEW) && !AP_HAS(words, HEAVY) && answer->view_count < LAYERS_MAX)
        answer->views[answer->view_count++] = dur_of(rows, at);
    if (answer->layer_count)
        answer->total_ns = ap_add_sat(answer->total_ns, dur_of(rows, at), &rows->habits->overflowed);
    if (AP_HAS(words, CHOSEN))
        end_answer(rows, prefix);
}

static void go_over(struct ap_habit_rows *rows, struct prefix *prefix)
{
    prefix->answer = (struct answer){ .layer_count = 0 };
    prefix->signs = (struct signs){ .attends = 0 };
    prefix->texts = (struct texts){ .passes = 0 };
    prefix->layer_count = 0;
    for (size_t at = 0; at < rows->item_count; at++)
        note_item(rows, prefix, at);
}

/* A cache of keys and values lets attention grow with the text, not the layers; where something is put to one in most
 * passes, all of them slow down with the machine. */
static void find_prefix(struct ap_habit_rows *rows)
{
    struct prefix prefix = { .adds = false };
    for (size_t at = 0; at < rows->item_count; at++)
        if (AP_HAS(ap_item_words(rows, &rows->items[at]), MODEL) && has_sizes(rows, at))
            return; /* which tell it better */
    go_over(rows, &prefix);
    /* what layers put through the caches slows views down as well, by less */
    double of_views = grows(&prefix.views, 1) ? (double)high_of(&prefix.views) / (double)(low_of(&prefix.views) + 1) : 1;
    prefix.is_sure = is_sure(&prefix.texts);
    if (prefix.texts.keeping > prefix.texts.passes / 2 ||
        (!prefix.is_sure && !grows(&prefix.layers, PREFIX_GROWTH * of_views)))
        return;
    prefix.adds = true;
    go_over(rows, &prefix);
}

void ap_habit_find_growing(struct ap_habit_rows *rows, size_t track)
{
    if (track != rows->facts->main_track)
        return;
    find_gatherings(rows);
    find_queues(rows);
    if (rows->facts->phases.has_backward)
        return;
    find_prefix(rows);
    ap_habit_find_reruns(rows);
}
