/* SPDX-License-Identifier: MIT
 * whole_results.c - logits over all words and scores of all positions, at the peak: what (log-)softmax makes, and what is as
 * large as that. */
#include "avoidable_search.h"
#include "frame_kind.h"
#include "sort.h"

#include "poison.h"

#define LEAST_RESULT_BYTES ((int64_t)1 << 20) /* smaller ones are as large as others by chance */
#define LARGE_PART 50    /* of the peak: where any function may have made what is as large as the logits */
#define MOST_BETWEEN 64u /* entries from the product of queries and keys to its softmax: mask, scale, cast */

enum result { RESULT_NOT_LOOKED, RESULT_NONE, RESULT_LOGITS, RESULT_SCORES };

static const struct {
    enum result kind;
    struct ap_text word;
} words[] = {
#define AP_RESULT(kind, word) { RESULT_##kind, { word, sizeof(word) - 1 } },
#include "result_words.def"
};

static enum result of_name(struct ap_text name)
{
    for (size_t i = 0; i < AP_COUNT_OF(words); i++)
        if (ap_text_contains(name, words[i].word))
            return words[i].kind;
    return RESULT_NONE;
}

/* What the frames of libraries say, and the innermost of the user's. */
static enum result of_stack(const struct ap_avoidable_search *search, uint32_t stack)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    enum result kind = RESULT_NONE;
    if (search->results[stack] != RESULT_NOT_LOOKED)
        return (enum result)search->results[stack];
    uint32_t count, user = ap_stack_user_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count && kind == RESULT_NONE && (i == 0 || i - 1 != user); i++)
        kind = of_name(ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].name));
    search->results[stack] = (uint8_t)kind;
    return kind;
}

/* Of one that is a result: its size, and the user's function that made it, 0 = none. */
struct size {
    int64_t bytes;
    uint32_t file, name;
    bool shared; /* something else at the peak is as large */
};

static struct size size_of(const struct ap_avoidable_search *search, uint32_t stack, int64_t bytes)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    uint32_t count, user = ap_stack_user_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    const struct ap_frame *frame = user < count ? &snapshot->stacks.frames[frames[user]] : NULL;
    return (struct size){ bytes, frame ? frame->filename.id : 0, frame ? frame->name.id : 0, false };
}

/* A softmax of the user's own is called by the function that makes what it is of: that one; else as above. */
static struct size size_of_caller(const struct ap_avoidable_search *search, uint32_t stack, int64_t bytes)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    struct size size = size_of(search, stack, bytes);
    uint32_t count, at = ap_stack_user_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (; at < count; at++) {
        const struct ap_frame *frame = &snapshot->stacks.frames[frames[at]];
        if (ap_frame_is_library(ap_strpool_text(&snapshot->strings, frame->filename)))
            continue;
        size.file = frame->filename.id;
        size.name = frame->name.id;
        if (of_name(ap_strpool_text(&snapshot->strings, frame->name)) == RESULT_NONE)
            break;
    }
    return size;
}

static int by_size(const void *left, const void *right)
{
    const struct size *a = left, *b = right;
    AP_BY_SMALLER(a->bytes, b->bytes);
    AP_BY_SMALLER(a->file, b->file);
    AP_BY_SMALLER(a->name, b->name);
    return 0;
}

struct sizes {
    struct size *list;
    uint32_t count;
    enum result kind;
};

/* The first of that size, by the same function or by any; NULL = none. */
static struct size *listed(const struct sizes *sizes, struct size like, bool any_function)
{
    size_t at = 0;
    if (any_function)
        like.file = like.name = 0;
    AP_BISECT(at, sizes->count, i, by_size(&sizes->list[i], &like) < 0);
    if (at == sizes->count || sizes->list[at].bytes != like.bytes)
        return NULL;
    return any_function || (like.file && by_size(&sizes->list[at], &like) == 0) ? &sizes->list[at] : NULL;
}

/* By the same function, and by twice as many bits for a value or half as many. */
static bool is_listed(const struct sizes *sizes, struct size like)
{
    struct size half = like, twice = like;
    half.bytes = like.bytes / 2;
    twice.bytes = like.bytes <= INT64_MAX / 2 ? like.bytes * 2 : 0;
    return listed(sizes, like, false) || (like.bytes % 2 == 0 && listed(sizes, half, false)) || listed(sizes, twice, false);
}

/* An autograd thread's, which has no frames of Python: a gradient, unless something else is as large. */
static bool is_gradient(const struct ap_avoidable_search *search, const struct sizes *sizes, uint32_t alloc, uint32_t stack,
                        int64_t bytes)
{
    if (alloc == AP_NO_ENTRY || bytes < search->of->requested.peak_bytes / LARGE_PART ||
        (stack && !search->owners->stacks[stack].native) || ap_search_work(search, alloc) != AP_WORK_BACKWARD)
        return false;
    const struct size *like = listed(sizes, (struct size){ .bytes = bytes }, true);
    return like && !like->shared;
}

/* The layer that makes logits is another function than the loss; a feed-forward layer may be as wide as there are scores. */
static bool is_whole(const struct ap_avoidable_search *search, const struct sizes *sizes, uint32_t alloc, uint32_t stack,
                     int64_t bytes)
{
    if (bytes < LEAST_RESULT_BYTES)
        return false;
    if (is_gradient(search, sizes, alloc, stack, bytes))
        return true;
    if (!stack)
        return false;
    enum result kind = of_stack(search, stack);
    if (kind != RESULT_NONE && (kind != sizes->kind || kind == RESULT_LOGITS))
        return kind == sizes->kind;
    bool any_function = kind == RESULT_SCORES || bytes >= search->of->requested.peak_bytes / LARGE_PART;
    return is_listed(sizes, size_of(search, stack, bytes)) ||
           ((kind == RESULT_SCORES || sizes->kind == RESULT_LOGITS) && any_function &&
            listed(sizes, (struct size){ .bytes = bytes }, true));
}

/* ------------------------------------------------------------------------------------------------ is a softmax attention's
 */

static bool same_function(struct size a, struct size b)
{
    return a.file && a.file == b.file && a.name == b.name;
}

static bool is_attention(struct ap_text name)
{
    return ap_text_contains(name, AP_TEXT("attention")) || ap_text_contains(name, AP_TEXT("attn"));
}

static struct ap_text base_name(struct ap_text path)
{
    size_t from = path.bytes;
    while (from && path.data[from - 1] != '/' && path.data[from - 1] != '\\')
        from--;
    return (struct ap_text){ path.data + from, path.bytes - from };
}

static bool names_attention(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ap_frame *frame = &snapshot->stacks.frames[frames[i]];
        if (is_attention(ap_strpool_text(&snapshot->strings, frame->name)) ||
            is_attention(base_name(ap_strpool_text(&snapshot->strings, frame->filename))))
            return true;
    }
    return false;
}

static bool is_in_forward(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count;
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct ap_text name = ap_strpool_text(&snapshot->strings, snapshot->stacks.frames[frames[i]].name);
        if (ap_text_contains(name, AP_TEXT("forward")) || ap_text_contains(name, AP_TEXT("_call_impl")))
            return true;
    }
    return false;
}

/* What a function makes itself, not by a module that it calls. */
static bool is_made_by_itself(const struct ap_snapshot *snapshot, uint32_t stack)
{
    uint32_t count, user = ap_stack_user_frame(snapshot, stack);
    const uint32_t *frames = ap_stack_frames(&snapshot->stacks, stack, &count);
    for (uint32_t i = 0; i < user && i < count; i++)
        if (ap_frame_calls_module(snapshot, frames[i]))
            return false;
    return user < count;
}

/* Attention multiplies queries and keys in the function that normalizes them, within a forward. The classes that a softmax
 * of a model's outputs tells apart come out of a module, and a sampler sorts and scales them outside. */
static bool is_of_attention(const struct ap_avoidable_search *search, const struct ap_owned *owned)
{
    const struct ap_snapshot *snapshot = search->owners->replay->snapshot;
    const struct ap_actions *actions = &snapshot->actions;
    struct size own = size_of(search, owned->stack, owned->bytes),
                caller = size_of_caller(search, owned->stack, owned->bytes);
    if (names_attention(snapshot, owned->stack))
        return true;
    if (!is_in_forward(snapshot, owned->stack))
        return false;
    uint32_t first = search->of->first_entry, alloc = owned->alloc;
    for (uint32_t i = alloc; alloc != AP_NO_ENTRY && i > first && alloc - i < MOST_BETWEEN;) {
        int64_t bytes = actions->size_bytes[--i];
        if (!ap_search_allocates(search, i) ||
            (bytes != owned->bytes && bytes / 2 != owned->bytes && bytes != owned->bytes / 2))
            continue;
        struct size of = size_of(search, actions->stack[i], bytes);
        return is_made_by_itself(snapshot, actions->stack[i]) && (same_function(of, own) || same_function(of, caller));
    }
    return false;
}

static bool comes_and_goes(const struct ap_owned *owned)
{
    enum ap_owner_category category = ap_owned_category(owned);
    return category == AP_OWNER_ACTIVATIONS || category == AP_OWNER_TEMPORARIES || category == AP_OWNER_UNKNOWN;
}

/* The gradient of a weight is as large as the logits where there are as many tokens as the weight is wide. */
static bool is_whole_owned(const struct ap_avoidable_search *search, const struct sizes *sizes, const struct ap_owned *owned)
{
    return (comes_and_goes(owned) || of_stack(search, owned->stack) == sizes->kind) &&
           is_whole(search, sizes, owned->alloc, owned->stack, owned->bytes);
}

static enum ap_status cut_whole(struct ap_avoidable_search *search, const struct sizes *sizes, struct ap_error *reterr)
{
    const struct ap_replay *replay = search->owners->replay;
    for (uint32_t i = 0; i < search->of->lifetime_count; i++) {
        uint32_t lifetime = search->of->first_lifetime + i;
        const struct ap_lifetime *life = &replay->lifetimes[lifetime];
        uint32_t end = ap_search_life_end(life);
        int64_t bytes = ap_replay_lifetime_bytes(replay, lifetime);
        if (life->alloc != AP_NO_ENTRY &&
            is_whole(search, sizes, life->alloc, replay->snapshot->actions.stack[life->alloc], bytes))
            AP_TRY(ap_search_cut(search, life->alloc, end == AP_NO_ENTRY ? ap_search_end(search) : end, bytes, reterr));
    }
    return AP_OK;
}

/* What else at the peak is as large as one of these, such as a weight: a gradient without a stack may be its. */
static void find_shared(const struct ap_avoidable_search *search, struct sizes *sizes)
{
    for (uint32_t i = 0; i < search->owned->count; i++) {
        const struct ap_owned *owned = &search->owned->list[i];
        struct size *like = listed(sizes, (struct size){ .bytes = owned->bytes }, true);
        if (like && !is_whole_owned(search, sizes, owned) &&
            !(owned->stack && search->owners->stacks[owned->stack].in_backward && comes_and_goes(owned)))
            like->shared = true;
    }
}

static void add_result(struct ap_avoidable_search *search, struct sizes *sizes, const struct ap_owned *owned)
{
    if (owned->bytes < LEAST_RESULT_BYTES || of_stack(search, owned->stack) != sizes->kind ||
        (sizes->kind == RESULT_SCORES && !is_of_attention(search, owned)))
        return;
    sizes->list[sizes->count++] = size_of(search, owned->stack, owned->bytes);
    sizes->list[sizes->count++] = size_of_caller(search, owned->stack, owned->bytes);
}

/* The first request that failed behind the peak: had there been room, its result would be there. */
static struct ap_owned failed_request(const struct ap_avoidable_search *search)
{
    const struct ap_actions *actions = &search->owners->replay->snapshot->actions;
    for (uint32_t i = search->peak; i < ap_search_end(search); i++)
        if (actions->name[i].id == AP_ACTION_OOM && (actions->has[i] & AP_ACTION_HAS_SIZE))
            return (struct ap_owned){ .bytes = actions->size_bytes[i], .stack = actions->stack[i], .alloc = i };
    return (struct ap_owned){ .bytes = 0 };
}

static enum ap_status find_whole(struct ap_avoidable_search *search, enum result kind, struct ap_avoidable *to,
                                 struct ap_error *reterr)
{
    const struct ap_owned_device *owned = search->owned;
    struct ap_owned failed = failed_request(search);
    struct sizes sizes = { .kind = kind };
    size_t room = 2 * (size_t)owned->count + 2;
    AP_TRY(AP_ALLOC(search->owners->gate, sizes.list, room, reterr));
    for (uint32_t i = 0; i < owned->count; i++)
        add_result(search, &sizes, &owned->list[i]);
    add_result(search, &sizes, &failed);
    ap_sort(sizes.list, sizes.count, sizeof(*sizes.list), by_size);
    find_shared(search, &sizes);
    for (uint32_t i = 0; i < owned->count; i++)
        if (is_whole_owned(search, &sizes, &owned->list[i]))
            ap_avoidable_add(search, to, &owned->list[i]);
    enum ap_status status = to->count ? cut_whole(search, &sizes, reterr) : AP_OK;
    AP_FREE(search->owners->gate, sizes.list, room);
    return status;
}

enum ap_status ap_search_logits(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    return find_whole(search, RESULT_LOGITS, to, reterr);
}

enum ap_status ap_search_scores(struct ap_avoidable_search *search, struct ap_avoidable *to, struct ap_error *reterr)
{
    return find_whole(search, RESULT_SCORES, to, reterr);
}
