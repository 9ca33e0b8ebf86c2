/* SPDX-License-Identifier: MIT
 * Placeholders: {figure.path}, {limit figure.path}, {name of-something}, {name of-something: words}, {known figure.path:
 * words}, {training: words}, {serving: words}, and so on for what else words can be bound to; {{ is a brace. */
#include <string.h>

#include "rule.h"
#include "value_text.h"

#include "poison.h"

#define NAME_SHOWN_BYTES 80

/* Names that sentences may need: those of the row of a list with the largest @by. */
struct name_source {
    const char *id, *list, *by, *name;
    const char *figure; /* must equal that largest figure, else the list was cut above the row; NULL = the list is whole */
    const char *otherwise;
    const char *only; /* member of a row that must be true; NULL = all rows */
    bool is_ours;     /* words of the report, and no name of the input */
};

static const struct name_source names[] = {
    { "top-operator", "cpu.operators_by_self", "self_dur_us", "name", "cpu.operator_summary.top_self_dur_us", "one operator",
      NULL, false },
    { "top-family", "cpu.families", "self_dur_us", "family", NULL, "one family", NULL, false },
    { "top-kernel", "gpu.kernels", "total_dur_us", "name", "gpu.kernel.top_total_dur_us", "one kernel", NULL, false },
    { "metric-operators", "sync", "", "metric_operators", NULL, "", NULL, false },
    { "top-call", "runtime.calls", "total_dur_us", "name", NULL, "one call", NULL, false },
    { "longest-gap", "idle.gaps", "dur_us", "host_row", NULL, "rows unknown", NULL, false },
    { "changed-most", "comparison.largest.time", "delta_us", "name", NULL, "one part", NULL, false },
    { "grew-most", "comparison.largest.memory", "delta_bytes", "name", NULL, "one line", NULL, false },
    { "asked-by", "memory.oom", "requested_bytes", "frame", NULL, "a line that was not recorded", "is_last", false },
    { "asked-as", "memory.oom", "requested_bytes", "shape", NULL, "a tensor whose shape its size does not tell", "is_last",
      false },
    { "alike-by", "memory.oom", "requested_bytes", "held_by", NULL, "nobody", "is_last", false },
    { "alike-as", "memory.oom", "requested_bytes", "held_as", NULL, "nothing", "is_last", false },
    { "most-as", "memory.oom", "requested_bytes", "most_as", NULL, "nothing known", "is_last", true },
    { "most-by", "memory.oom", "requested_bytes", "most_by", NULL, "a line that was not recorded", "is_last", false },
    { "forward-by", "memory.avoidable.activations.lines", "requested_bytes", "frame", NULL, "a line that was not recorded",
      NULL, false },
    { "failed-line", "cluster.memory.out_of_memory", "", "line", NULL, "a line that was not recorded", NULL, false },
    { "differing-owner", "cluster.memory.differs.owner", "", "category", NULL, "nothing", NULL, false },
    { "differing-line", "cluster.memory.differs.line", "", "line", NULL, "none", NULL, false },
    { "late-line", "cluster.late.host_code", "", "line", NULL, "code of which nothing was recorded", NULL, false },
    { "pause-line", "cluster.late.jitter", "", "line", NULL, "", NULL, false },
    { "work-line", "cluster.late.more_work", "", "line", NULL, "", NULL, false },
    { "top-line", "frames.items", "host_self_us", "name", "frames.top_self_us", "one line", NULL, false },
    { "top-onnx-operator", "onnxruntime.operators", "total_us", "operator", "onnxruntime.top_operator_us", "one operator",
      NULL, false },
    { "judged-device", "compute.device", "", "judged_as", NULL, "the device", NULL, true },
    { "longest-kernels", "compute.longest", "", "operator", NULL, "an operator", NULL, false },
    { "longest-bound", "compute.longest", "", "bound", NULL, "nothing known", NULL, true },
    { "longest-shapes", "compute.longest", "", "shapes_say", NULL, "nothing in the sizes says more", NULL, true },
#define AP_LATE(id, meaning) { "others-" #id, "cluster.late." #id, "", "others", NULL, "", NULL, true },
#include "late_kind.def"
#undef AP_LATE
    { "longest-step", "steps.rows", "dur_us", "name", "steps.steady.max_us", "one step", "steady", false },
};

enum placeholder_kind {
    PLACEHOLDER_VALUE,
    PLACEHOLDER_LIMIT,
    PLACEHOLDER_NAME,
    PLACEHOLDER_WORDS,
    PLACEHOLDER_STEPS,
    PLACEHOLDER_WARM_UP,
    PLACEHOLDER_DEVICES
};

/* How the program that was recorded is told to mark its steps, to leave its warm-up out, and to record its devices. */
static const struct {
    const char *program;
    bool is_pytorch;
    const char *by_kind[3], *frames;
} advices[] = {
#define AP_PROGRAM_ADVICE(program, is_pytorch, steps, warm_up, devices, frames) \
    { program, is_pytorch, { steps, warm_up, devices }, frames },
#include "program_advice.def"
#undef AP_PROGRAM_ADVICE
};

static size_t advice_row(const struct ap_value *root)
{
    struct ap_text program = ap_value_text(ap_value_at(root, "trace.program"));
    size_t i = 0;
    bool by_pytorch = ap_value_integer(ap_value_at(root, "trace.by_pytorch"), 0); /* whatever else its names hold */
    while (advices[i].program && (!ap_text_is(program, advices[i].program) || (by_pytorch && !advices[i].is_pytorch)))
        i++;
    return i;
}

static const char *advice_for(const struct ap_value *root, enum placeholder_kind kind)
{
    const char *own = advices[advice_row(root)].by_kind[kind - PLACEHOLDER_STEPS];
    return *own ? own : advices[AP_COUNT_OF(advices) - 1].by_kind[kind - PLACEHOLDER_STEPS];
}

const char *ap_program_advice(const struct ap_value *root, const char *artifact)
{
    bool rows = ap_text_ends_with(ap_text_of(artifact), "-rows"), steps = ap_text_ends_with(ap_text_of(artifact), "steps");
    size_t row = advice_row(root);
    if (rows && ap_value_integer(ap_value_at(root, "trace.recorded.accelerator"), 0))
        return "rows of CUDA or ROCm: the accelerator of this trace writes others";
    if (ap_text_is(ap_text_of(artifact), "stacks") && *advices[row].frames)
        return advices[row].frames;
    if (!advices[row].program || (!rows && !steps))
        return NULL;
    const char *own = advices[row].by_kind[(rows ? PLACEHOLDER_DEVICES : PLACEHOLDER_STEPS) - PLACEHOLDER_STEPS];
    return *own ? own : NULL;
}

struct placeholder {
    enum placeholder_kind kind;
    const struct ap_figure_info *figure;
    const struct ap_comparison *comparison;
    const struct name_source *name;
    struct ap_text words; /* that are told where all of these hold; # stands for the figure's value */
    unsigned states;
    enum figure_test { FIGURE_KNOWN, FIGURE_SOME, FIGURE_NO, FIGURE_TESTS_ } test; /* of the figure, for words */
};

#define SHOWN(text) (int)((text).bytes > 80 ? 80 : (text).bytes), (text).data

/* ---- what stands between the braces ---- */

static const struct ap_comparison *comparison_in(const struct ap_expr *expr, const struct ap_figure_info *figure)
{
    for (size_t i = 0; i < expr->comparison_count; i++)
        if (expr->comparisons[i].figure == figure && expr->comparisons[i].test <= AP_TEST_not_equal)
            return &expr->comparisons[i];
    return NULL;
}

static const struct ap_comparison *comparison_of(const struct ap_rule *rule, const struct ap_figure_info *figure)
{
    return figure ? comparison_in(&rule->when, figure) : NULL;
}

static bool takes_word(struct ap_text *inner, const char *word)
{
    size_t bytes = strlen(word);
    if (!ap_text_starts_with(*inner, word))
        return false;
    *inner = (struct ap_text){ inner->data + bytes, inner->bytes - bytes };
    return true;
}

/* One bit each. */
static const char *const state_words[] = {
#define AP_STATE_WORD(word, told) word,
#include "state_words.def"
#undef AP_STATE_WORD
};

static unsigned take_state(struct ap_text *inner)
{
    for (size_t i = 0; i < AP_COUNT_OF(state_words); i++)
        if (takes_word(inner, state_words[i]))
            return 1u << i;
    return 0;
}

/* Of "some gpu.rows:" and its like, before the words; false where that is no figure. */
static bool take_figure(struct ap_text *inner, struct placeholder *placeholder)
{
    static const char *const tests[FIGURE_TESTS_] = { "known ", "some ", "no " };
    for (size_t i = 0; i < FIGURE_TESTS_; i++) {
        struct ap_text rest = *inner;
        const char *colon = takes_word(&rest, tests[i]) ? memchr(rest.data, ':', rest.bytes) : NULL;
        size_t bytes = colon ? (size_t)(colon - rest.data) : 0;
        if (!colon || memchr(rest.data, ' ', bytes))
            continue;
        placeholder->figure = ap_figure_find((struct ap_text){ rest.data, bytes });
        placeholder->test = (enum figure_test)i;
        *inner = (struct ap_text){ colon + 1, rest.bytes - bytes - 1 };
        return placeholder->figure != NULL;
    }
    return true;
}

/* Words that are told where something holds. */
static bool parse_clause(struct ap_text inner, struct placeholder *ret_placeholder)
{
    struct placeholder placeholder = { .kind = PLACEHOLDER_WORDS };
    unsigned state;
    while ((state = take_state(&inner)) != 0)
        placeholder.states |= state;
    bool is_figure = take_figure(&inner, &placeholder);
    placeholder.words = inner;
    *ret_placeholder = placeholder;
    return is_figure && (placeholder.states || placeholder.figure);
}

static bool parse_placeholder(const struct ap_rule *rule, struct ap_text inner, struct placeholder *ret_placeholder)
{
    struct placeholder placeholder = { .kind = PLACEHOLDER_VALUE };
    if (parse_clause(inner, ret_placeholder))
        return true;
    if (ap_text_starts_with(inner, "name ")) {
        const char *colon = memchr(inner.data, ':', inner.bytes);
        size_t bytes = colon ? (size_t)(colon - inner.data) : inner.bytes;
        placeholder.kind = PLACEHOLDER_NAME;
        placeholder.words = colon ? (struct ap_text){ colon + 1, inner.bytes - bytes - 1 } : AP_TEXT("#");
        for (size_t i = 0; i < AP_COUNT_OF(names); i++)
            if (ap_text_is((struct ap_text){ inner.data + 5, bytes - 5 }, names[i].id))
                placeholder.name = &names[i];
        *ret_placeholder = placeholder;
        return placeholder.name != NULL;
    }
    static const char *const hows[] = { "how to mark steps", "how to warm up", "how to record devices" };
    for (size_t i = 0; i < AP_COUNT_OF(hows); i++)
        if (ap_text_is(inner, hows[i])) {
            *ret_placeholder = placeholder;
            ret_placeholder->kind = (enum placeholder_kind)(PLACEHOLDER_STEPS + i);
            return true;
        }
    if (ap_text_starts_with(inner, "limit ")) {
        placeholder.kind = PLACEHOLDER_LIMIT;
        inner = (struct ap_text){ inner.data + 6, inner.bytes - 6 };
    }
    placeholder.figure = ap_figure_find(inner);
    placeholder.comparison = comparison_of(rule, placeholder.figure);
    *ret_placeholder = placeholder;
    return placeholder.figure && (placeholder.kind == PLACEHOLDER_VALUE || placeholder.comparison);
}

/* ---- walking through a text ---- */

struct piece {
    struct ap_text text; /* plain text, or what stands between the braces */
    bool braces, unclosed;
};

static bool next_piece(struct ap_text *rest, struct piece *ret_piece)
{
    if (!rest->bytes)
        return false;
    struct ap_text all = *rest;
    const char *brace = memchr(all.data, '{', all.bytes);
    size_t plain = brace ? (size_t)(brace - all.data) : all.bytes;
    size_t taken = plain;
    *ret_piece = (struct piece){ .text = { all.data, plain } };
    if (plain == 0 && all.bytes > 1 && all.data[1] == '{') {
        ret_piece->text.bytes = 1;
        taken = 2;
    } else if (plain == 0) {
        const char *end = memchr(all.data, '}', all.bytes);
        ret_piece->braces = true;
        ret_piece->unclosed = !end;
        ret_piece->text = (struct ap_text){ all.data + 1, end ? (size_t)(end - all.data) - 1 : all.bytes - 1 };
        taken = end ? (size_t)(end - all.data) + 1 : all.bytes;
    }
    *rest = (struct ap_text){ all.data + taken, all.bytes - taken };
    return true;
}

/* Names and words stand in a text where the report has them or is so: of all else something is always left. */
static bool is_always_there(const struct piece *piece, const struct placeholder *placeholder)
{
    if (!piece->braces)
        return ap_text_trim(piece->text).bytes;
    return placeholder->kind != PLACEHOLDER_NAME && placeholder->kind != PLACEHOLDER_WORDS;
}

enum ap_status ap_rule_text_check(const struct ap_rule *rule, struct ap_text text, struct ap_place place,
                                  struct ap_error *reterr)
{
    const struct ap_place begin = place;
    struct piece piece;
    bool may_be_empty = text.bytes > 0;
    while (next_piece(&text, &piece)) {
        struct placeholder placeholder;
        if (piece.unclosed)
            return ap_fail_in_rubric(reterr, place, "a brace is never closed; {{ writes one as text");
        if (piece.braces && !parse_placeholder(rule, piece.text, &placeholder))
            return ap_fail_in_rubric(
                reterr, place,
                "nothing can be filled in for {%.*s}: expected a figure, \"limit\" and a figure that "
                "this rule's condition compares, or \"name\" and one of the document's list; {{ writes a brace",
                SHOWN(piece.text));
        if (is_always_there(&piece, &placeholder))
            may_be_empty = false;
        for (size_t i = 0; i < piece.text.bytes; i++)
            place.line += piece.text.data[i] == '\n';
    }
    if (may_be_empty)
        return ap_fail_in_rubric(reterr, begin,
                                 "all of this text depends on the report: begin it with words that always hold");
    return AP_OK;
}

/* ---- filling ---- */

enum ap_status ap_text_buffer_add(struct ap_text_buffer *buffer, struct ap_text text, struct ap_error *reterr)
{
    if (!text.bytes)
        return AP_OK;
    AP_TRY(AP_RESERVE(buffer->gate, buffer->data, buffer->capacity, buffer->used + text.bytes, reterr));
    memcpy(buffer->data + buffer->used, text.data, text.bytes);
    buffer->used += text.bytes;
    return AP_OK;
}

void ap_text_buffer_release(struct ap_text_buffer *buffer)
{
    ap_mem_free(buffer->gate, buffer->data, buffer->capacity);
    buffer->data = NULL;
    buffer->used = buffer->capacity = 0;
}

static bool is_meant(const struct name_source *source, const struct ap_value *row)
{
    if (!source->only)
        return true;
    const struct ap_value *value = ap_value_member(row, source->only);
    return value && value->type == AP_VALUE_BOOL && value->as.integer;
}

static const struct ap_value *row_of(const struct name_source *source, const struct ap_value *root)
{
    const struct ap_value *best = NULL;
    double largest = 0, size;
    const struct ap_value *list = ap_value_at(root, source->list), *row = ap_value_first(list);
    if (list && list->type == AP_VALUE_OBJECT)
        return list; /* of one thing alone */
    for (; row; row = row->next)
        if (is_meant(source, row) && ap_value_number(ap_value_member(row, source->by), &size) && (!best || size > largest)) {
            best = row;
            largest = size;
        }
    if (best && source->figure && (!ap_value_number(ap_value_at(root, source->figure), &size) || size != largest))
        return NULL;
    return best;
}

/* The end of a path tells the line. */
static struct ap_text end_of(struct ap_text name)
{
    size_t from = name.bytes - NAME_SHOWN_BYTES;
    while (from < name.bytes && ((unsigned char)name.data[from] & 0xc0) == 0x80)
        from++; /* not in the midst of a character */
    return (struct ap_text){ name.data + from, name.bytes - from };
}

/* A name of the input as a code span: short, on one line, without a back-tick that would end the span. */
static enum ap_status add_name(struct ap_text_buffer *to, struct ap_text name, struct ap_error *reterr)
{
    char shown[NAME_SHOWN_BYTES + 8];
    bool path = name.bytes > NAME_SHOWN_BYTES && name.data[0] == '/';
    if (path)
        name = end_of(name);
    size_t used = 0, bytes = ap_text_cut(name, NAME_SHOWN_BYTES).bytes;
    shown[used++] = '`';
    if (path) {
        memcpy(shown + used, "...", 3);
        used += 3;
    }
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)name.data[i];
        shown[used++] = c == '`' ? '\'' : c < ' ' || c == 127 ? ' ' : (char)c;
    }
    if (bytes < name.bytes) {
        memcpy(shown + used, "...", 3);
        used += 3;
    }
    shown[used++] = '`';
    return ap_text_buffer_add(to, (struct ap_text){ shown, used }, reterr);
}

/* What is counted, where there is one of it. */
static const struct noun {
    const char *plural, *singular;
} nouns[] = {
    { " calls", " call" },
    { " rows", " row" },
    { " steps", " step" },
    { " kernels", " kernel" },
    { " times", " time" },
    { " copies", " copy" },
    { " waits", " wait" },
    { " collectives", " collective" },
    { " broadcasts", " broadcast" },
    { " regions", " region" },
    { " launches", " launch" },
    { " stretches", " stretch" },
    { " iterations", " iteration" },
    { " captures", " capture" },
    { " blocks", " block" },
    { " optimizer steps", " optimizer step" },
    { " nodes", " node" },
    { " lines", " line" },
    { " functions", " function" },
    { " graph breaks", " graph break" },
    { " layers", " layer" },
    { " recompilations", " recompilation" },
    { " queries", " query" },
    { " cores", " core" },
    { " gaps", " gap" },
    { " groups", " group" },
    { " ranks", " rank" },
    { " operators", " operator" },
    { " tensors", " tensor" },
    { " threads", " thread" },
    { " allocations", " allocation" },
    { " loops", " loop" },
    { " pairs", " pair" },
    { " compiled regions", " compiled region" },
};

/* Takes the noun that begins @rest. */
static struct ap_text take_one_of(struct ap_text *rest)
{
    for (size_t i = 0; i < AP_COUNT_OF(nouns); i++) {
        struct ap_text plural = ap_text_of(nouns[i].plural);
        bool ends =
            rest->bytes == plural.bytes || (rest->bytes > plural.bytes && strchr(" ,.;:)\n", rest->data[plural.bytes]));
        if (!ends || memcmp(rest->data, plural.data, plural.bytes) != 0)
            continue;
        *rest = (struct ap_text){ rest->data + plural.bytes, rest->bytes - plural.bytes };
        return ap_text_of(nouns[i].singular);
    }
    return (struct ap_text){ .bytes = 0 };
}

static bool is_one(const struct placeholder *placeholder, const struct ap_value *root)
{
    const struct ap_value *value =
        placeholder->kind == PLACEHOLDER_VALUE ? ap_figure_value(root, placeholder->figure) : NULL;
    return value && value->type == AP_VALUE_COUNT && value->as.integer == 1;
}

/* Of an engine that answers requests: nothing trains there. */
static bool serves(const struct ap_value *root)
{
    return ap_value_integer(ap_value_at(root, "trace.serves"), 0) ||
           ap_value_integer(ap_value_at(root, "engine.count"), 0) > 0;
}

/* Operators without a backward pass anywhere. */
static bool only_infers(const struct ap_value *root)
{
    for (const struct ap_value *row = ap_value_first(ap_value_at(root, "phases.items")); row; row = row->next)
        if (ap_text_is(ap_value_text(ap_value_member(row, "phase")), "inference"))
            return true;
    return false;
}

static bool is_recorded(const struct ap_value *root, const char *path)
{
    return ap_value_integer(ap_value_at(root, path), 0);
}

/* Nothing tells of a device: neither its rows nor calls that would launch them. */
static bool runs_on_host(const struct ap_value *root)
{
    return !is_recorded(root, "trace.recorded.gpu") && !is_recorded(root, "trace.recorded.accelerator") &&
           !is_recorded(root, "trace.recorded.runtime");
}

/* A GPU that is known to compute neither in bfloat16 nor in TF32 on tensor cores. */
static bool is_before_capability_8(const struct ap_value *root)
{
    double capability;
    return ap_value_number(ap_value_at(root, "trace.main_device.compute_capability"), &capability) && capability < 8;
}

/* Those that hold. */
static unsigned states_of(const struct ap_value *root)
{
    unsigned bits = 0;
    bool is_pytorch = advices[advice_row(root)].is_pytorch, is_serving = serves(root);
    bool infers = is_serving || (is_pytorch && only_infers(root)), on_host = runs_on_host(root);
    bool is_old = is_before_capability_8(root), is_rocm = ap_platform_of(root) == AP_PLATFORM_rocm;
    const bool states[] = { !infers,  infers,  is_serving, !is_serving, is_pytorch, !is_pytorch,
                            !on_host, on_host, !is_old,    is_old,      is_rocm };
    _Static_assert(AP_COUNT_OF(states) == AP_COUNT_OF(state_words), "each word has its state");
    for (size_t i = 0; i < AP_COUNT_OF(states); i++)
        bits |= states[i] ? 1u << i : 0;
    return bits;
}

static bool holds(const struct placeholder *placeholder, const struct ap_value *root)
{
    double number;
    if (placeholder->states & ~states_of(root))
        return false;
    const struct ap_value *value = placeholder->figure ? ap_figure_value(root, placeholder->figure) : NULL;
    bool is_some = value && ap_value_number(value, &number) && number != 0;
    return !placeholder->figure || (placeholder->test == FIGURE_KNOWN  ? value != NULL
                                    : placeholder->test == FIGURE_SOME ? is_some
                                                                       : !is_some);
}

static enum ap_status fill_clause(const struct placeholder *placeholder, const struct ap_value *root,
                                  struct ap_text_buffer *to, struct ap_error *reterr)
{
    char text[AP_VALUE_TEXT_BYTES];
    const struct ap_value *value = placeholder->figure ? ap_figure_value(root, placeholder->figure) : NULL;
    struct ap_text words = placeholder->words;
    if (!holds(placeholder, root))
        return AP_OK;
    const char *mark = value ? memchr(words.data, '#', words.bytes) : NULL;
    size_t before = mark ? (size_t)(mark - words.data) : words.bytes;
    AP_TRY(ap_text_buffer_add(to, (struct ap_text){ words.data, before }, reterr));
    if (!mark)
        return AP_OK;
    AP_TRY(ap_text_buffer_add(to, (struct ap_text){ text, ap_format_value(value, text, sizeof(text)) }, reterr));
    return ap_text_buffer_add(to, (struct ap_text){ mark + 1, words.bytes - before - 1 }, reterr);
}

/* Behind the device that the file does not name. */
static const char *how_told(const struct ap_value *row)
{
    struct ap_text told_by = ap_value_text(ap_value_member(row, "told_by"));
    return ap_text_is(told_by, "kernel names") ? " (told by the names of its kernels)"
           : ap_text_is(told_by, "nothing")    ? ", the least device that fits, as the file names none"
                                               : "";
}

static enum ap_status fill_name(const struct placeholder *placeholder, const struct ap_value *root,
                                struct ap_text_buffer *to, struct ap_error *reterr)
{
    const struct name_source *source = placeholder->name;
    const struct ap_value *row = row_of(source, root);
    struct ap_text name = ap_value_text(ap_value_member(row, source->name)), words = placeholder->words;
    const char *mark = memchr(words.data, '#', words.bytes);
    size_t before = mark ? (size_t)(mark - words.data) : words.bytes;
    if (!name.bytes)
        return ap_text_buffer_add(to, ap_text_of(source->otherwise), reterr);
    AP_TRY(ap_text_buffer_add(to, (struct ap_text){ words.data, before }, reterr));
    if (!mark)
        return AP_OK;
    AP_TRY(source->is_ours ? ap_text_buffer_add(to, name, reterr) : add_name(to, name, reterr));
    AP_TRY(ap_text_buffer_add(to, ap_text_of(how_told(row)), reterr));
    return ap_text_buffer_add(to, (struct ap_text){ mark + 1, words.bytes - before - 1 }, reterr);
}

static enum ap_status fill_one(const struct placeholder *placeholder, const struct ap_value *root, struct ap_text_buffer *to,
                               struct ap_error *reterr)
{
    char text[AP_VALUE_TEXT_BYTES];
    if (placeholder->kind == PLACEHOLDER_WORDS)
        return fill_clause(placeholder, root, to, reterr);
    if (placeholder->kind >= PLACEHOLDER_STEPS)
        return ap_text_buffer_add(to, ap_text_of(advice_for(root, placeholder->kind)), reterr);
    if (placeholder->kind == PLACEHOLDER_NAME)
        return fill_name(placeholder, root, to, reterr);
    struct ap_value limit;
    const struct ap_value *value = NULL;
    if (placeholder->kind == PLACEHOLDER_VALUE)
        value = ap_figure_value(root, placeholder->figure);
    else if (ap_comparison_limit(placeholder->comparison, root, &limit))
        value = &limit;
    size_t bytes = ap_format_value(value, text, sizeof(text));
    return ap_text_buffer_add(to, (struct ap_text){ text, bytes }, reterr);
}

enum ap_status ap_rule_text_fill(const struct ap_rule *rule, struct ap_text text, const struct ap_value *root,
                                 struct ap_text_buffer *to, struct ap_error *reterr)
{
    struct piece piece;
    while (next_piece(&text, &piece)) {
        struct placeholder placeholder;
        if (piece.braces && parse_placeholder(rule, piece.text, &placeholder)) {
            AP_TRY(fill_one(&placeholder, root, to, reterr));
            if (is_one(&placeholder, root))
                AP_TRY(ap_text_buffer_add(to, take_one_of(&text), reterr));
        } else {
            AP_TRY(ap_text_buffer_add(to, piece.text, reterr));
        }
    }
    return AP_OK;
}
