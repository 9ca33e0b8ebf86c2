/* SPDX-License-Identifier: MIT
 * The machine part of a rule: lines "key: value"; a line that begins with a space goes on with the value above. */
#include <string.h>

#include "rule.h"

#include "poison.h"

/* Where the lists of a rule lie until it is known how long they are. */
struct room {
    struct ap_severity_clause severity_clauses[AP_RULE_MAX_CLAUSES];
    struct ap_confidence_clause confidence_clauses[AP_RULE_MAX_CLAUSES];
    struct ap_rule_place places[AP_RULE_MAX_PLACES];
    const struct ap_rule *suppressed_by[AP_RULE_MAX_SUPPRESSORS];
};

struct block {
    struct ap_rubric *rubric;
    struct ap_rule *rule;
    struct room *room;
    struct ap_place place; /* of the value that is being read */
    struct ap_error *reterr;
};

#define SHOWN(text) (int)((text).bytes > 80 ? 80 : (text).bytes), (text).data

/* The first word, up to a space. */
static struct ap_text next_word(struct ap_text *rest)
{
    *rest = ap_text_trim(*rest);
    size_t bytes = 0;
    while (bytes < rest->bytes && !ap_is_space(rest->data[bytes]))
        bytes++;
    struct ap_text word = { rest->data, bytes };
    *rest = ap_text_trim((struct ap_text){ rest->data + bytes, rest->bytes - bytes });
    return word;
}

/* ---- values ---- */

static enum ap_status parse_when(struct block *block, struct ap_text value)
{
    return ap_when_parse(value, block->place, &block->rubric->arena, &block->rule->when, block->reterr);
}

static enum ap_status parse_artifact(struct block *block, struct ap_text id, size_t *ret_artifact)
{
    if (ap_artifact_find(id, ret_artifact))
        return AP_OK;
    return ap_fail_in_rubric(block->reterr, block->place,
                             "no artifact is called \"%.*s\": expected trace, snapshot, gpu-rows, steps, stacks or "
                             "another one of those that the document lists",
                             SHOWN(id));
}

static enum ap_status parse_artifacts(struct block *block, struct ap_text value, uint32_t *ret_set)
{
    struct ap_text id;
    while (ap_text_next_part(&value, ',', &id)) {
        size_t artifact;
        AP_TRY(parse_artifact(block, id, &artifact));
        *ret_set |= UINT32_C(1) << artifact;
    }
    return AP_OK;
}

static enum ap_status parse_needs(struct block *block, struct ap_text value)
{
    return parse_artifacts(block, value, &block->rule->needs);
}

static enum ap_status parse_missing(struct block *block, struct ap_text value)
{
    return parse_artifacts(block, value, &block->rule->missing);
}

static enum ap_status parse_severity_level(struct block *block, struct ap_text word, enum ap_severity *ret_severity)
{
    int rank = ap_severity_rank(word);
    if (rank < 0)
        return ap_fail_in_rubric(block->reterr, block->place, "\"%.*s\" is no severity: expected one of %s", SHOWN(word),
                                 ap_severity_list(AP_SEVERITY_info));
    *ret_severity = (enum ap_severity)rank;
    return AP_OK;
}

static enum ap_status too_many_clauses(struct block *block)
{
    return ap_fail_in_rubric(block->reterr, block->place, "more than %d clauses behind the first level",
                             AP_RULE_MAX_CLAUSES);
}

static enum ap_status parse_severity_clause(struct block *block, struct ap_text part)
{
    struct ap_rule *rule = block->rule;
    if (rule->severity_clause_count == AP_RULE_MAX_CLAUSES)
        return too_many_clauses(block);
    struct ap_severity_clause *clause = &block->room->severity_clauses[rule->severity_clause_count];
    AP_TRY(parse_severity_level(block, next_word(&part), &clause->severity));
    struct ap_text word = next_word(&part);
    if (!ap_text_is(word, "when"))
        return ap_fail_in_rubric(block->reterr, block->place, "met \"%.*s\" where \"when CONDITION\" was expected",
                                 SHOWN(word));
    AP_TRY(ap_when_parse(part, block->place, &block->rubric->arena, &clause->when, block->reterr));
    rule->severity_clause_count++;
    return AP_OK;
}

static enum ap_status parse_severity(struct block *block, struct ap_text value)
{
    struct ap_text part = { "", 0 };
    (void)ap_text_next_part(&value, ';', &part);
    AP_TRY(parse_severity_level(block, part, &block->rule->severity));
    while (ap_text_next_part(&value, ';', &part))
        AP_TRY(parse_severity_clause(block, part));
    return AP_OK;
}

static enum ap_status parse_confidence_level(struct block *block, struct ap_text word, enum ap_confidence *ret_confidence)
{
    for (size_t i = 0; i < AP_COUNT_OF(ap_confidence_names); i++)
        if (ap_text_is(word, ap_confidence_names[i])) {
            *ret_confidence = (enum ap_confidence)i;
            return AP_OK;
        }
    return ap_fail_in_rubric(block->reterr, block->place, "\"%.*s\" is no confidence: expected low, medium or high",
                             SHOWN(word));
}

static enum ap_status parse_confidence_clause(struct block *block, struct ap_text part)
{
    struct ap_rule *rule = block->rule;
    if (rule->confidence_clause_count == AP_RULE_MAX_CLAUSES)
        return too_many_clauses(block);
    struct ap_confidence_clause clause = { .one_lower = false };
    struct ap_text level = next_word(&part), word = next_word(&part);
    clause.one_lower = ap_text_is(level, "lower");
    if (!clause.one_lower)
        AP_TRY(parse_confidence_level(block, level, &clause.confidence));
    clause.with = ap_text_is(word, "with");
    if (!clause.with && !ap_text_is(word, "without"))
        return ap_fail_in_rubric(block->reterr, block->place,
                                 "met \"%.*s\" where \"with ARTIFACT\" or \"without ARTIFACT\" was expected", SHOWN(word));
    AP_TRY(parse_artifact(block, part, &clause.artifact));
    block->room->confidence_clauses[rule->confidence_clause_count++] = clause;
    return AP_OK;
}

static enum ap_status parse_confidence(struct block *block, struct ap_text value)
{
    struct ap_text part = { "", 0 };
    (void)ap_text_next_part(&value, ';', &part);
    AP_TRY(parse_confidence_level(block, part, &block->rule->confidence));
    while (ap_text_next_part(&value, ';', &part))
        AP_TRY(parse_confidence_clause(block, part));
    return AP_OK;
}

static enum ap_status add_rank(struct block *block, struct ap_text path)
{
    struct ap_rule *rule = block->rule;
    const struct ap_figure_info *figure = ap_figure_find(path);
    if (!figure)
        return ap_fail_unknown_figure(block->reterr, block->place, path);
    if (figure->unit != AP_UNIT_time && figure->unit != AP_UNIT_bytes)
        return ap_fail_in_rubric(block->reterr, block->place,
                                 "%s is a %s: findings are ranked by a time or a size that they could save",
                                 ap_figure_text(figure->path), ap_unit_name(figure->unit));
    if (rule->rank_by_count && rule->rank_by[0]->unit != figure->unit)
        return ap_fail_in_rubric(block->reterr, block->place, "%s is a %s and %s is a %s: they cannot be compared",
                                 ap_figure_text(rule->rank_by[0]->path), ap_unit_name(rule->rank_by[0]->unit),
                                 ap_figure_text(figure->path), ap_unit_name(figure->unit));
    if (rule->rank_by_count == AP_RULE_MAX_RANKS)
        return ap_fail_in_rubric(block->reterr, block->place, "more than %d figures", AP_RULE_MAX_RANKS);
    rule->rank_by[rule->rank_by_count++] = figure;
    return AP_OK;
}

static enum ap_status parse_rank_by(struct block *block, struct ap_text value)
{
    struct ap_text path;
    while (ap_text_next_part(&value, ',', &path))
        AP_TRY(add_rank(block, path));
    return AP_OK;
}

static enum ap_status parse_suppressed_by(struct block *block, struct ap_text value)
{
    struct ap_rule *rule = block->rule;
    struct ap_text id;
    while (ap_text_next_part(&value, ',', &id)) {
        /* Only rules above: so no two rules can hide each other. */
        const struct ap_rule *other = ap_rubric_find(block->rubric, id);
        if (!other)
            return ap_fail_in_rubric(block->reterr, block->place,
                                     "no rule above is called \"%.*s\": a rule is suppressed by rules that stand before it",
                                     SHOWN(id));
        if (rule->suppressed_by_count == AP_RULE_MAX_SUPPRESSORS)
            return ap_fail_in_rubric(block->reterr, block->place, "more than %d rules", AP_RULE_MAX_SUPPRESSORS);
        block->room->suppressed_by[rule->suppressed_by_count++] = other;
    }
    return AP_OK;
}

static enum ap_status parse_suppresses(struct block *block, struct ap_text value)
{
    block->rule->suppresses_all = ap_text_is(value, "all");
    if (block->rule->suppresses_all)
        return AP_OK;
    return ap_fail_in_rubric(block->reterr, block->place, "\"%.*s\" is nothing that a rule suppresses: expected all",
                             SHOWN(value));
}

static enum ap_status parse_among_ranks(struct block *block, struct ap_text value)
{
    int severity = ap_severity_rank(value);
    block->rule->not_among_ranks = ap_text_is(value, "never");
    if (severity >= 0)
        block->rule->among_ranks = (enum ap_severity)severity;
    if (severity >= 0 || block->rule->not_among_ranks)
        return AP_OK;
    return ap_fail_in_rubric(block->reterr, block->place, "met \"%.*s\" where never or a severity was expected",
                             SHOWN(value));
}

static enum ap_status parse_domain(struct block *block, struct ap_text value)
{
    if (ap_domain_find(value, &block->rule->domain))
        return AP_OK;
    return ap_fail_in_rubric(block->reterr, block->place, "\"%.*s\" is no domain: expected cpu, gpu, memory, io or quality",
                             SHOWN(value));
}

static enum ap_status parse_phase(struct block *block, struct ap_text value)
{
    struct ap_text name;
    while (ap_text_next_part(&value, ',', &name)) {
        size_t phase;
        if (!ap_phase_find(name, &phase))
            return ap_fail_in_rubric(block->reterr, block->place, "\"%.*s\" is no phase: expected one of %s", SHOWN(name),
                                     ap_rubric_phase_names());
        block->rule->phases |= UINT32_C(1) << phase;
    }
    return AP_OK;
}

bool ap_text_is_path(struct ap_text text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!(text.data[i] >= 'a' && text.data[i] <= 'z') && !ap_is_digit(text.data[i]) && text.data[i] != '_' &&
            text.data[i] != '.')
            return false;
    return text.bytes != 0;
}

/* A path, and behind it in parentheses what the rows of its list have to say: "gpu.kernels(subfamily: softmax)". */
static bool split_place(struct ap_text part, struct ap_rule_place *ret_place)
{
    struct ap_text rest = part, inner;
    *ret_place = (struct ap_rule_place){ .path = part };
    if (!part.bytes || part.data[part.bytes - 1] != ')')
        return ap_text_is_path(part);
    rest.bytes--;
    if (!ap_text_next_part(&rest, '(', &ret_place->path) || !rest.data)
        return false;
    inner = rest;
    if (!ap_text_next_part(&inner, ':', &ret_place->key) || !inner.data)
        return false;
    ret_place->value = ap_text_trim(inner);
    return ap_text_is_path(ret_place->path) && ap_text_is_path(ret_place->key) && ret_place->value.bytes;
}

/* On one line: line breaks and the spaces behind them are one space. */
static enum ap_status keep_line(struct block *block, struct ap_text value, struct ap_text *ret_line)
{
    if (!memchr(value.data, '\n', value.bytes)) {
        *ret_line = value;
        return AP_OK;
    }
    char *copy = ap_arena_alloc(&block->rubric->arena, value.bytes + 1);
    if (!copy)
        return ap_fail_memory(block->rubric->arena.gate, block->reterr);
    size_t used = 0;
    for (size_t i = 0; i < value.bytes; i++)
        if (!ap_is_space(value.data[i]) || !ap_is_space(value.data[i - 1])) /* a value begins with a word */
            copy[used++] = (char)(ap_is_space(value.data[i]) ? ' ' : value.data[i]);
    *ret_line = (struct ap_text){ copy, used };
    return AP_OK;
}

static enum ap_status parse_places(struct block *block, struct ap_text value)
{
    struct ap_rule *rule = block->rule;
    struct ap_text part;
    while (ap_text_next_part(&value, ',', &part)) {
        struct ap_rule_place place;
        if (!split_place(part, &place))
            return ap_fail_in_rubric(block->reterr, block->place,
                                     "met \"%.*s\" where the path of a list or object of the report was expected",
                                     SHOWN(part));
        if (rule->place_count == AP_RULE_MAX_PLACES)
            return ap_fail_in_rubric(block->reterr, block->place, "more than %d paths", AP_RULE_MAX_PLACES);
        block->room->places[rule->place_count++] = place;
    }
    return AP_OK;
}

static enum ap_status parse_rests_on(struct block *block, struct ap_text value)
{
    struct ap_rule *rule = block->rule;
    struct ap_text path;
    while (ap_text_next_part(&value, ',', &path)) {
        if (!ap_text_is_path(path))
            return ap_fail_in_rubric(block->reterr, block->place,
                                     "met \"%.*s\" where the path of a confidence in the report was expected", SHOWN(path));
        if (rule->rests_on_count == AP_RULE_MAX_RESTS)
            return ap_fail_in_rubric(block->reterr, block->place, "more than %d paths", AP_RULE_MAX_RESTS);
        rule->rests_on[rule->rests_on_count++] = path;
    }
    return AP_OK;
}

static enum ap_status parse_due_to(struct block *block, struct ap_text value)
{
    AP_TRY(keep_line(block, value, &block->rule->due_to));
    return ap_cause_lists_check(block->rule->due_to, block->place, &block->rubric->arena, block->reterr);
}

static enum ap_status parse_bottleneck(struct block *block, struct ap_text value)
{
    block->rule->bottleneck = ap_bottleneck_find(value);
    if (block->rule->bottleneck)
        return AP_OK;
    return ap_fail_in_rubric(block->reterr, block->place, "\"%.*s\" is no bottleneck: expected one of %s", SHOWN(value),
                             ap_bottleneck_names());
}

static enum ap_status parse_hardware(struct block *block, struct ap_text value)
{
    if (ap_hardware_find(value, &block->rule->hardware))
        return AP_OK;
    return ap_fail_in_rubric(block->reterr, block->place, "\"%.*s\" is no hardware: expected one of %s", SHOWN(value),
                             ap_hardware_names());
}

static enum ap_status parse_source(struct block *block, struct ap_text value)
{
    return keep_line(block, value, &block->rule->source);
}

/* What stands in it is read where it is predicted. */
static enum ap_status parse_change(struct block *block, struct ap_text value)
{
    struct ap_text unknown;
    AP_TRY(keep_line(block, value, &block->rule->change));
    if (ap_rule_change_check(block->rule->change, &unknown))
        return AP_OK;
    return ap_fail_in_rubric(block->reterr, block->place,
                             "met {%.*s} where {saving}, or a time or count that rules may name, was expected",
                             SHOWN(unknown));
}

/* ---- keys ---- */

enum {
    KEY_when,
    KEY_needs,
    KEY_severity,
    KEY_confidence,
    KEY_rests_on,
    KEY_rank_by,
    KEY_missing,
    KEY_suppressed_by,
    KEY_suppresses,
    KEY_among_ranks,
    KEY_source,
    KEY_domain,
    KEY_phase,
    KEY_places,
    KEY_due_to,
    KEY_change,
    KEY_bottleneck,
    KEY_hardware
};

static const struct {
    struct ap_text name;
    enum ap_status (*parse)(struct block *block, struct ap_text value);
} keys[] = {
    [KEY_when] = { { "when", sizeof("when") - 1 }, parse_when },
    [KEY_needs] = { { "needs", sizeof("needs") - 1 }, parse_needs },
    [KEY_severity] = { { "severity", sizeof("severity") - 1 }, parse_severity },
    [KEY_confidence] = { { "confidence", sizeof("confidence") - 1 }, parse_confidence },
    [KEY_rests_on] = { { "rests_on", sizeof("rests_on") - 1 }, parse_rests_on },
    [KEY_rank_by] = { { "rank_by", sizeof("rank_by") - 1 }, parse_rank_by },
    [KEY_missing] = { { "missing", sizeof("missing") - 1 }, parse_missing },
    [KEY_suppressed_by] = { { "suppressed_by", sizeof("suppressed_by") - 1 }, parse_suppressed_by },
    [KEY_suppresses] = { { "suppresses", sizeof("suppresses") - 1 }, parse_suppresses },
    [KEY_among_ranks] = { { "among_ranks", sizeof("among_ranks") - 1 }, parse_among_ranks },
    [KEY_source] = { { "source", sizeof("source") - 1 }, parse_source },
    [KEY_domain] = { { "domain", sizeof("domain") - 1 }, parse_domain },
    [KEY_phase] = { { "phase", sizeof("phase") - 1 }, parse_phase },
    [KEY_places] = { { "places", sizeof("places") - 1 }, parse_places },
    [KEY_due_to] = { { "due_to", sizeof("due_to") - 1 }, parse_due_to },
    [KEY_change] = { { "change", sizeof("change") - 1 }, parse_change },
    [KEY_bottleneck] = { { "bottleneck", sizeof("bottleneck") - 1 }, parse_bottleneck },
    [KEY_hardware] = { { "hardware", sizeof("hardware") - 1 }, parse_hardware },
};

static enum ap_status parse_entry(struct block *block, struct ap_text entry, unsigned *seen)
{
    const char *colon = memchr(entry.data, ':', entry.bytes);
    struct ap_text name = ap_text_trim((struct ap_text){ entry.data, colon ? (size_t)(colon - entry.data) : entry.bytes });
    for (size_t i = 0; colon && i < AP_COUNT_OF(keys); i++) {
        if (!ap_text_equal(name, keys[i].name))
            continue;
        if (*seen & 1u << i)
            return ap_fail_in_rubric(block->reterr, block->place, "%s stands twice in this rule", keys[i].name.data);
        *seen |= 1u << i;
        struct ap_text value = { colon + 1, entry.bytes - (size_t)(colon + 1 - entry.data) }, trimmed = ap_text_trim(value);
        if (!trimmed.bytes)
            return ap_fail_in_rubric(block->reterr, block->place, "%s has no value", keys[i].name.data);
        /* conditions count their own lines, so they keep their line breaks */
        return keys[i].parse(block, i == KEY_when ? value : trimmed);
    }
    return ap_fail_in_rubric(block->reterr, block->place,
                             "met \"%.*s\" where one of when, needs, severity, confidence, rests_on, rank_by, missing, "
                             "suppressed_by, suppresses, among_ranks, source, domain, phase, places, due_to, change, "
                             "bottleneck or hardware and a colon was expected",
                             SHOWN(name));
}

/* Bytes of the entry that begins @text: its line and those after it that begin with a space. */
static size_t entry_bytes(struct ap_text text, int *ret_lines)
{
    size_t at = 0;
    *ret_lines = 0;
    do {
        const char *end = memchr(text.data + at, '\n', text.bytes - at);
        at = end ? (size_t)(end - text.data) + 1 : text.bytes;
        ++*ret_lines;
    } while (at < text.bytes && (text.data[at] == ' ' || text.data[at] == '\t'));
    return at;
}

static void *keep_list(struct ap_arena *arena, const void *list, size_t bytes)
{
    void *kept = ap_arena_alloc(arena, bytes);
    return kept ? memcpy(kept, list, bytes) : NULL;
}

#define KEEP_LIST(arena, list, count) ((list) = keep_list(arena, list, (count) * sizeof(*(list))))

static enum ap_status keep_lists(struct ap_arena *arena, struct ap_rule *rule, struct ap_error *reterr)
{
    bool kept = KEEP_LIST(arena, rule->severity_clauses, rule->severity_clause_count) &&
                KEEP_LIST(arena, rule->confidence_clauses, rule->confidence_clause_count) &&
                KEEP_LIST(arena, rule->places, rule->place_count) &&
                KEEP_LIST(arena, rule->suppressed_by, rule->suppressed_by_count);
    return kept ? AP_OK : ap_fail_memory(arena->gate, reterr);
}

static bool never_above_info(const struct ap_rule *rule)
{
    for (size_t i = 0; i < rule->severity_clause_count; i++)
        if (rule->severity_clauses[i].severity != AP_SEVERITY_info)
            return false;
    return rule->severity == AP_SEVERITY_info;
}

enum ap_status ap_rule_block_parse(struct ap_rubric *rubric, struct ap_text text, struct ap_place place,
                                   struct ap_rule *rule, struct ap_error *reterr)
{
    static const int required[] = { KEY_when, KEY_severity, KEY_confidence, KEY_source, KEY_bottleneck, KEY_hardware };
    struct room room;
    struct block block = { .rubric = rubric, .rule = rule, .room = &room, .place = place, .reterr = reterr };
    unsigned seen = 0;
    rule->among_ranks = AP_SEVERITY_critical;
    rule->severity_clauses = room.severity_clauses;
    rule->confidence_clauses = room.confidence_clauses;
    rule->places = room.places;
    rule->suppressed_by = room.suppressed_by;
    while (text.bytes) {
        int lines;
        size_t bytes = entry_bytes(text, &lines);
        if (ap_text_trim((struct ap_text){ text.data, bytes }).bytes)
            AP_TRY(parse_entry(&block, (struct ap_text){ text.data, bytes }, &seen));
        text.data += bytes;
        text.bytes -= bytes;
        block.place.line += lines;
    }
    for (size_t i = 0; i < AP_COUNT_OF(required); i++)
        if (!(seen & 1u << required[i]) && !(required[i] == KEY_source && never_above_info(rule)))
            return ap_fail_in_rubric(reterr, place, "rule %.*s has no line \"%s: ...\"", SHOWN(rule->id),
                                     keys[required[i]].name.data);
    if (!(seen & 1u << KEY_domain))
        rule->domain = ap_rule_default_domain(rule);
    AP_TRY(keep_lists(&rubric->arena, rule, reterr));
    return ap_rule_text_check(rule, rule->source, place, reterr);
}
