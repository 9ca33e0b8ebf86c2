/* SPDX-License-Identifier: MIT
 * off_core.c - the rows of a thread cut its time into pieces: from one edge of a row to the next. Pieces are equal that lie
 * in rows of one name, between the same edges. A piece that takes milliseconds where its equals take microseconds may have
 * waited for anything; but where it lies in an operator that only makes a view, dispatches, or launches, there is nothing to
 * wait for: neither memory, nor the interpreter's lock, nor its garbage collector, nor the device. Then the thread did not
 * run. Where the profiler says that it made room for rows then, or that a kernel was loaded, that is why.
 *
 * A system takes cores away without regard to what runs on them. So what stands out elsewhere is taken for the same, up to
 * what is as likely there as it was in such pieces; the rest has causes of its own. */
#include "off_core.h"

#include <math.h>

#include "loading.h"
#include "name_pattern.h"
#include "pair_map.h"
#include "quantile.h"
#include "sort.h"

#include "poison.h"

/* Our choices. A scheduler's slice is of milliseconds. */
#define STOOD_NS 1000000
#define STANDS_OUT 10    /* times as long as its equals */
#define EQUALS_LEAST 8   /* fewer do not tell what is usual */
#define SELDOM 4         /* of equals at most one in this many */
#define SURE_LEAST 3     /* pieces of as many names: one name may have a cause of its own */
#define EDGE_BEGIN 1u    /* as ids of names: the row around has just begun */
#define EDGE_END 2u      /* and it ends */
#define EDGE_NAMES 3u    /* what is added to names, which are none of these then */
#define STEP_OF_LENGTH 8 /* lengths are counted in as many classes for each doubling */
#define LENGTH_CLASSES (STEP_OF_LENGTH * 40)
#define KINDS_MOST 4096 /* more kinds of pieces that took long are not looked at: each takes more than a kilobyte */

/* Operators that compute nothing themselves: views, and those that call others. */
#define DOES_NOTHING                                                                                                 \
    "aten::view|aten::_unsafe_view|aten::view_as|aten::reshape|aten::_reshape_alias|aten::as_strided|aten::expand|"  \
    "aten::expand_as|aten::t|aten::transpose|aten::permute|aten::slice|aten::select|aten::unsqueeze|aten::squeeze|"  \
    "aten::narrow|aten::unbind|aten::split|aten::split_with_sizes|aten::chunk|aten::detach|detach|aten::alias|"      \
    "aten::flatten|aten::unflatten|aten::resolve_conj|aten::resolve_neg|aten::result_type|aten::lift_fresh|"         \
    "aten::linear|aten::matmul|aten::to|aten::_to_copy|aten::contiguous|aten::empty|aten::empty_strided|"            \
    "aten::empty_like|aten::dropout|aten::layer_norm|aten::batch_norm|aten::conv2d|aten::convolution|aten::softmax|" \
    "aten::log_softmax|aten::cross_entropy_loss|aten::scaled_dot_product_attention|*Backward0|*Backward1|*Backward2"
/* Calls that may wait for the driver's locks or load modules, and do neither most of the time. */
#define LAUNCHES "*LaunchKernel*"
/* What waits for a lock, a queue or another process stands still because of that. */
#define AP_CODE_KIND(id, patterns) CODE_##id,
enum {
#include "code_kind.def"
};
#define AP_CODE_KIND(id, patterns) patterns,
static const char *const code_patterns[] = {
#include "code_kind.def"
};
enum name_role { DOES_NOTHING_ROLE, LAUNCH_ROLE, WAITS_ROLE, NO_ROLE, HAS_LONG }; /* the last beside one of the others */
_Static_assert(HAS_LONG == 4, "a bit of its own");

enum piece_class { CLASS_SURE, CLASS_OTHER, CLASS_NONE };

/* @fixed is its name where it has not that of row @named; 0 = there was none yet. */
struct edge {
    int64_t at_ns;
    uint32_t open, named, fixed;
};

/* Between two edges of rows of one thread. */
struct piece {
    uint32_t row; /* the innermost around it; AP_NO_ROW = none */
    uint32_t track;
    const struct edge *before, *after;
    int64_t start_ns, end_ns;
};

/* What is known of equals of which one took long. */
struct equals {
    uint32_t count, long_count;
    uint32_t lengths[LENGTH_CLASSES];
};

struct long_piece {
    struct ap_off_core_piece piece;
    uint32_t number, name; /* of its equals; of the row around it */
};

struct search {
    const struct ap_trace *trace;
    const struct ap_row_order *order;
    const struct ap_host_tree *tree;
    const struct ap_host_states *states;
    struct ap_gate *gate;
    struct ap_loading own;          /* rows of the profiler's own */
    uint8_t *roles;                 /* by name */
    int64_t least_ns;               /* shorter pieces are not asked for */
    struct ap_pair_map places, all; /* row and edge before; that and edge behind */
    struct long_piece *longs;
    size_t count, capacity;
    struct equals *equals;
    int64_t usual_ns[CLASS_NONE]; /* time of all pieces, less what stands out */
};

static uint32_t name_of(const struct search *s, uint32_t row)
{
    /* Annotations often hold a number, so that no two are equal. */
    return row == AP_NO_ROW || ap_row_kind(s->trace->events.tag[row]) == AP_KIND_annotation ? 0 : s->trace->events.name[row];
}

static uint32_t edge_name(const struct search *s, const struct edge *edge)
{
    return edge->named == AP_NO_ROW ? edge->fixed : name_of(s, edge->named) + EDGE_NAMES;
}

static bool is_call(const struct search *s, const struct edge *edge)
{
    return edge->named != AP_NO_ROW && ap_row_kind(s->trace->events.tag[edge->named]) == AP_KIND_runtime;
}

static enum piece_class class_of(const struct search *s, const struct piece *piece)
{
    if (piece->row == AP_NO_ROW)
        return CLASS_OTHER;
    int role = s->roles[s->trace->events.name[piece->row]] & ~HAS_LONG;
    enum ap_event_kind kind = ap_row_kind(s->trace->events.tag[piece->row]);
    if (kind == AP_KIND_runtime)
        return role == LAUNCH_ROLE ? CLASS_OTHER : CLASS_NONE;
    if (role == WAITS_ROLE || !ap_idle_is_of_host((enum ap_idle_cause)s->states->state[piece->row]))
        return CLASS_NONE;
    if (kind != AP_KIND_operator)
        return CLASS_OTHER;
    return role == DOES_NOTHING_ROLE || is_call(s, piece->before) || is_call(s, piece->after) ? CLASS_SURE : CLASS_OTHER;
}

/* ------------------------------------------------------------------------------------------------ from edge to edge */

typedef enum ap_status (*see_piece)(struct search *s, const struct piece *piece, struct ap_error *reterr);

static enum ap_status see(struct search *s, see_piece seen, uint32_t track, const struct edge *last, struct edge next,
                          struct ap_error *reterr)
{
    if (next.at_ns - last->at_ns < s->least_ns || (last->named == AP_NO_ROW && !last->fixed))
        return AP_OK;
    struct piece piece = { last->open, track, last, &next, last->at_ns, next.at_ns };
    return seen(s, &piece, reterr);
}

/* Ends the rows that are over by then. */
static enum ap_status close_rows(struct search *s, see_piece seen, uint32_t track, struct edge *last, int64_t by_ns,
                                 struct ap_error *reterr)
{
    while (last->open != AP_NO_ROW && ap_row_end_ns(s->trace, last->open) <= by_ns) {
        uint32_t row = last->open;
        int64_t end_ns = ap_row_end_ns(s->trace, row);
        AP_TRY(see(s, seen, track, last, (struct edge){ end_ns, row, AP_NO_ROW, EDGE_END }, reterr));
        *last = (struct edge){ end_ns > last->at_ns ? end_ns : last->at_ns, ap_host_parent(s->tree, row), row, 0 };
    }
    return AP_OK;
}

static enum ap_status walk_track(struct search *s, see_piece seen, uint32_t track, struct ap_error *reterr)
{
    const struct ap_row_order *order = s->order;
    struct edge last = { 0, AP_NO_ROW, AP_NO_ROW, 0 };
    for (size_t i = order->track_start[track]; i < order->track_start[track + 1]; i++) {
        uint32_t row = order->rows[i];
        int64_t start_ns = s->trace->events.start_ns[row];
        if (!ap_row_is_of(s->trace, row, AP_HOST_KINDS))
            continue;
        /* Pieces lie between the starts of two rows, and are no longer than that. */
        if (start_ns - last.at_ns >= s->least_ns) {
            AP_TRY(close_rows(s, seen, track, &last, start_ns, reterr));
            AP_TRY(see(s, seen, track, &last, (struct edge){ start_ns, row, row, 0 }, reterr));
        }
        last = (struct edge){ start_ns, row, AP_NO_ROW, EDGE_BEGIN };
    }
    return close_rows(s, seen, track, &last, INT64_MAX, reterr);
}

static enum ap_status walk(struct search *s, int64_t least_ns, see_piece seen, struct ap_error *reterr)
{
    s->least_ns = least_ns;
    for (size_t track = 0; track < s->order->track_count; track++)
        AP_TRY(walk_track(s, seen, (uint32_t)track, reterr));
    return AP_OK;
}

/* -------------------------------------------------------------------------------------------- long pieces, and equals */

static enum ap_status note_long(struct search *s, const struct piece *piece, struct ap_error *reterr)
{
    enum piece_class class = class_of(s, piece);
    uint32_t name = name_of(s, piece->row), place;
    struct long_piece found = { { piece->start_ns, piece->end_ns, piece->track, piece->row, class == CLASS_SURE }, 0, name };
    if (class == CLASS_NONE || s->all.count == KINDS_MOST ||
        ap_loading_starts_within(&s->own, piece->start_ns, piece->end_ns))
        return AP_OK;
    s->roles[name] |= HAS_LONG;
    AP_TRY(ap_pair_map_add(&s->places, name, edge_name(s, piece->before), &place, reterr));
    AP_TRY(ap_pair_map_add(&s->all, place, edge_name(s, piece->after), &found.number, reterr));
    AP_TRY_ADD(s->gate, s->longs, s->count, s->capacity, reterr, found);
    return AP_OK;
}

/* By the highest bit of the length and the three behind it. */
static uint32_t length_class(int64_t ns)
{
    uint32_t doublings = 0;
    for (; ns >= 2 * STEP_OF_LENGTH; ns /= 2)
        doublings++;
    uint32_t class = STEP_OF_LENGTH * doublings + (uint32_t)ns;
    return class < LENGTH_CLASSES ? class : LENGTH_CLASSES - 1;
}

static int64_t middle_ns(uint32_t class)
{
    uint32_t doublings = class < 2 * STEP_OF_LENGTH ? 0 : class / STEP_OF_LENGTH - 1;
    int64_t least = class - STEP_OF_LENGTH * doublings;
    return (2 * least + 1) * ((int64_t)1 << doublings) / 2;
}

static inline enum ap_status count_equals(struct search *s, const struct piece *piece, struct ap_error *reterr)
{
    (void)reterr;
    enum piece_class class = class_of(s, piece);
    int64_t dur_ns = piece->end_ns - piece->start_ns;
    if (class == CLASS_NONE)
        return AP_OK;
    s->usual_ns[class] += dur_ns;
    uint32_t name = name_of(s, piece->row);
    if (!(s->roles[name] & HAS_LONG))
        return AP_OK;
    uint32_t place = ap_pair_map_find(&s->places, name, edge_name(s, piece->before));
    uint32_t number = place == AP_PAIR_NONE ? AP_PAIR_NONE : ap_pair_map_find(&s->all, place, edge_name(s, piece->after));
    if (number == AP_PAIR_NONE)
        return AP_OK;
    s->equals[number].count++;
    s->equals[number].long_count += dur_ns >= STOOD_NS;
    s->equals[number].lengths[length_class(dur_ns)]++;
    return AP_OK;
}

static int64_t usual_ns(const struct equals *equals)
{
    uint32_t below = 0, class = 0;
    while (class < LENGTH_CLASSES - 1 && (below += equals->lengths[class]) <= equals->count / 2)
        class ++;
    return middle_ns(class);
}

static bool stands_out(const struct equals *equals, int64_t dur_ns)
{
    return equals->count >= EQUALS_LEAST && equals->long_count <= equals->count / SELDOM &&
           dur_ns / STANDS_OUT > usual_ns(equals);
}

/* ------------------------------------------------------------------------------------------------------- all together */

/* Drops what does not stand out, and takes what does off what is usual. Returns the time that stands out of a class. */
static int64_t choose(struct search *s, enum piece_class class)
{
    int64_t sum_ns = 0;
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct long_piece *found = &s->longs[i];
        int64_t dur_ns = found->piece.end_ns - found->piece.start_ns;
        if (found->piece.sure != (class == CLASS_SURE)) {
            s->longs[kept++] = *found;
        } else if (stands_out(&s->equals[found->number], dur_ns)) {
            found->piece.start_ns += usual_ns(&s->equals[found->number]);
            sum_ns += found->piece.end_ns - found->piece.start_ns;
            s->longs[kept++] = *found;
        }
    }
    s->count = kept;
    s->usual_ns[class] -= sum_ns;
    return sum_ns;
}

static size_t count_names(const struct search *s, size_t most)
{
    uint32_t names[SURE_LEAST];
    size_t count = 0;
    for (size_t i = 0; i < s->count && count < most; i++) {
        bool is_new = s->longs[i].piece.sure;
        for (size_t k = 0; k < count; k++)
            is_new = is_new && names[k] != s->longs[i].name;
        if (is_new)
            names[count++] = s->longs[i].name;
    }
    return count;
}

static enum ap_status find_medians(const struct search *s, struct ap_off_core *off, struct ap_error *reterr)
{
    int64_t *lengths;
    size_t at = 0;
    AP_TRY(AP_ALLOC(s->gate, lengths, off->sure_count, reterr));
    for (size_t i = 0; i < s->count; i++)
        if (s->longs[i].piece.sure)
            lengths[at++] = s->longs[i].piece.end_ns - s->longs[i].piece.start_ns + usual_ns(&s->equals[s->longs[i].number]);
    off->median_ns = ap_quantile(lengths, at, 50);
    at = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->longs[i].piece.sure)
            lengths[at++] = usual_ns(&s->equals[s->longs[i].number]);
    off->equal_ns = ap_quantile(lengths, at, 50);
    AP_FREE(s->gate, lengths, off->sure_count);
    return AP_OK;
}

static enum ap_status sum_up(struct search *s, struct ap_off_core *off, struct ap_error *reterr)
{
    int64_t sure_ns = choose(s, CLASS_SURE), other_ns = choose(s, CLASS_OTHER);
    size_t sure_count = 0;
    for (size_t i = 0; i < s->count; i++)
        sure_count += s->longs[i].piece.sure;
    if (count_names(s, SURE_LEAST) < SURE_LEAST)
        return AP_OK;
    double rate = (double)sure_ns / (double)(s->usual_ns[CLASS_SURE] > 0 ? s->usual_ns[CLASS_SURE] : 1);
    rate -= rate / sqrt((double)sure_count); /* which that number may well be off by */
    double likely_ns = rate * (double)s->usual_ns[CLASS_OTHER];
    off->share = (double)other_ns <= likely_ns ? 1 : likely_ns / (double)other_ns;
    off->sum_ns = sure_ns + (int64_t)(off->share * (double)other_ns);
    off->sure_count = sure_count;
    for (size_t i = 0; i < s->count; i++)
        AP_TRY_ADD(off->gate, off->pieces, off->count, off->capacity, reterr, s->longs[i].piece);
    return find_medians(s, off, reterr);
}

static enum ap_status find(struct search *s, struct ap_off_core *off, struct ap_error *reterr)
{
    size_t name_count = ap_trace_id_count(s->trace);
    struct ap_name_patterns patterns;
    const char *const entries[NO_ROLE] = { DOES_NOTHING, LAUNCHES, code_patterns[CODE_waiting] };
    enum ap_status status = ap_name_patterns_init(&patterns, s->gate, entries, NO_ROLE, reterr);
    AP_AND_THEN(status, AP_ALLOC(s->gate, s->roles, name_count, reterr));
    if (status == AP_OK)
        s->roles[0] = NO_ROLE;
    for (uint32_t id = 1; status == AP_OK && id < name_count; id++)
        s->roles[id] = (uint8_t)ap_name_patterns_first(&patterns, ap_trace_text(s->trace, id), NO_ROLE);
    ap_name_patterns_release(&patterns);
    AP_AND_THEN(status, walk(s, STOOD_NS, note_long, reterr));
    if (status == AP_OK && count_names(s, SURE_LEAST) == SURE_LEAST) {
        status = AP_ALLOC_CLEARED(s->gate, s->equals, s->all.count, reterr);
        AP_AND_THEN(status, walk(s, 1, count_equals, reterr));
        AP_AND_THEN(status, sum_up(s, off, reterr));
    }
    AP_FREE(s->gate, s->roles, name_count);
    AP_FREE(s->gate, s->equals, s->all.count);
    return status;
}

enum ap_status ap_off_core_init(struct ap_off_core *off, const struct ap_trace *trace, const struct ap_row_order *order,
                                const struct ap_host_tree *tree, const struct ap_host_states *states, struct ap_gate *gate,
                                struct ap_error *reterr)
{
    struct search s = { .trace = trace, .order = order, .tree = tree, .states = states, .gate = gate };
    *off = (struct ap_off_core){ .gate = gate };
    s.places.gate = s.all.gate = gate;
    enum ap_status status = ap_loading_init(&s.own, trace, "*", gate, reterr);
    AP_AND_THEN(status, find(&s, off, reterr));
    ap_loading_release(&s.own);
    AP_FREE(gate, s.longs, s.capacity);
    ap_pair_map_release(&s.places);
    ap_pair_map_release(&s.all);
    return status;
}

void ap_off_core_release(struct ap_off_core *off)
{
    AP_FREE(off->gate, off->pieces, off->capacity);
    *off = (struct ap_off_core){ .gate = off->gate };
}

static bool is_before(const struct ap_off_core_piece *piece, uint32_t track, int64_t at_ns)
{
    return piece->track < track || (piece->track == track && piece->end_ns <= at_ns);
}

int64_t ap_off_core_within_ns(const struct ap_off_core *off, uint32_t track, int64_t start_ns, int64_t end_ns)
{
    int64_t sure_ns = 0, other_ns = 0;
    size_t i = 0;
    AP_BISECT(i, off->count, at, is_before(&off->pieces[at], track, start_ns));
    for (; i < off->count && off->pieces[i].track == track && off->pieces[i].start_ns < end_ns; i++) {
        int64_t from_ns = off->pieces[i].start_ns > start_ns ? off->pieces[i].start_ns : start_ns;
        int64_t to_ns = off->pieces[i].end_ns < end_ns ? off->pieces[i].end_ns : end_ns;
        *(off->pieces[i].sure ? &sure_ns : &other_ns) += to_ns > from_ns ? to_ns - from_ns : 0;
    }
    return sure_ns + (int64_t)(off->share * (double)other_ns);
}
