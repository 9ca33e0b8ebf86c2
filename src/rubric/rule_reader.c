/* SPDX-License-Identifier: MIT
 * A document to rules: walks the blocks that libcmark finds. A rule is a heading of level 3 "id: title", the fenced block
 * "rule" right behind it, and right behind that the list of its five texts; everything else is for people. */
#include <string.h>

#include <cmark.h>

#include "rule.h"

#include "poison.h"

const char *const ap_rule_text_keys[AP_TEXT_COUNT_] = { "observation", "hypothesis", "action", "trade_off", "validation" };
static const char *const labels[AP_TEXT_COUNT_] = { "Observation:", "Hypothesis:", "Action:", "Trade-off:", "Validation:" };

struct reader {
    struct ap_rubric *rubric;
    const char *file;
    struct ap_text_buffer text; /* the inline text last gathered; a line break counts a line of the source */
    struct ap_error *reterr;
};

#define SHOWN(text) (int)((text).bytes > 80 ? 80 : (text).bytes), (text).data

static struct ap_place place_of(const struct reader *reader, cmark_node *node)
{
    return (struct ap_place){ reader->file, cmark_node_get_start_line(node) };
}

/* ---- inline text ---- */

static enum ap_status add(struct reader *reader, const char *text)
{
    return text ? ap_text_buffer_add(&reader->text, ap_text_of(text), reader->reterr) : AP_OK;
}

static enum ap_status add_code(struct reader *reader, cmark_node *block, const char *code)
{
    if (code && strchr(code, '`'))
        return ap_fail_in_rubric(reader->reterr, place_of(reader, block),
                                 "code with a back-tick in it is not supported here");
    AP_TRY(add(reader, "`"));
    AP_TRY(add(reader, code));
    return add(reader, "`");
}

static enum ap_status add_inline(struct reader *reader, cmark_node *block, cmark_node *node, bool enter)
{
    switch (cmark_node_get_type(node)) {
    case CMARK_NODE_TEXT: return add(reader, cmark_node_get_literal(node));
    case CMARK_NODE_CODE: return add_code(reader, block, cmark_node_get_literal(node));
    case CMARK_NODE_SOFTBREAK:
    case CMARK_NODE_LINEBREAK: return add(reader, "\n");
    case CMARK_NODE_PARAGRAPH:
    case CMARK_NODE_HEADING:
    case CMARK_NODE_EMPH:
    case CMARK_NODE_STRONG: return AP_OK;
    case CMARK_NODE_LINK:
        if (enter)
            return AP_OK;
        AP_TRY(add(reader, " ("));
        AP_TRY(add(reader, cmark_node_get_url(node)));
        return add(reader, ")");
    default:
        return ap_fail_in_rubric(reader->reterr, place_of(reader, block),
                                 "only words, emphasis, links and `code` are expected here, no HTML and no pictures");
    }
}

/* Fill reader->text with what stands in a paragraph or heading. */
static enum ap_status gather(struct reader *reader, cmark_node *block)
{
    reader->text.used = 0;
    cmark_iter *walk = cmark_iter_new(block);
    enum ap_status status = AP_OK;
    cmark_event_type event;
    while (status == AP_OK && (event = cmark_iter_next(walk)) != CMARK_EVENT_DONE)
        status = add_inline(reader, block, cmark_iter_get_node(walk), event == CMARK_EVENT_ENTER);
    cmark_iter_free(walk);
    return status;
}

static struct ap_text gathered(const struct reader *reader)
{
    return (struct ap_text){ reader->text.used ? reader->text.data : "", reader->text.used };
}

/* Copy what was gathered from byte @from on, on one line and without spaces at its ends. */
static enum ap_status keep(struct reader *reader, size_t from, struct ap_text *ret_text)
{
    size_t end = reader->text.used;
    while (from < end && strchr(" \n", reader->text.data[from]))
        from++;
    while (end > from && strchr(" \n", reader->text.data[end - 1]))
        end--;
    for (size_t i = from; i < end; i++)
        if (reader->text.data[i] == '\n')
            reader->text.data[i] = ' ';
    *ret_text = ap_arena_text(&reader->rubric->arena, (struct ap_text){ end ? reader->text.data + from : "", end - from });
    return ret_text->data ? AP_OK : ap_fail_memory(reader->rubric->arena.gate, reader->reterr);
}

/* ---- the parts of a rule ---- */

static size_t id_bytes(struct ap_text heading)
{
    size_t bytes = 0;
    while (bytes < heading.bytes) {
        char c = heading.data[bytes];
        if (!((c >= 'a' && c <= 'z') || ap_is_digit(c) || (c == '-' && bytes)))
            break;
        bytes++;
    }
    return bytes < heading.bytes && heading.data[bytes] == ':' ? bytes : 0;
}

static bool is_rule_block(cmark_node *node)
{
    const char *info = node && cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK ? cmark_node_get_fence_info(node) : NULL;
    return info && strcmp(info, "rule") == 0;
}

static enum ap_status read_heading(struct reader *reader, cmark_node *heading, struct ap_rule *rule)
{
    AP_TRY(gather(reader, heading));
    size_t bytes = id_bytes(gathered(reader));
    if (!bytes)
        return ap_fail_in_rubric(
            reader->reterr, place_of(reader, heading),
            "met \"%.*s\" where \"### id: title\" was expected, the id in small letters, digits and hyphens",
            SHOWN(gathered(reader)));
    AP_TRY(keep(reader, bytes + 1, &rule->title));
    rule->id = ap_arena_text(&reader->rubric->arena, (struct ap_text){ reader->text.data, bytes });
    if (!rule->id.data)
        return ap_fail_memory(reader->rubric->arena.gate, reader->reterr);
    rule->line = cmark_node_get_start_line(heading);
    const struct ap_rule *same = ap_rubric_find(reader->rubric, rule->id);
    if (same)
        return ap_fail_in_rubric(reader->reterr, place_of(reader, heading), "rule %.*s stands already in line %d",
                                 SHOWN(rule->id), same->line);
    if (!rule->title.bytes)
        return ap_fail_in_rubric(reader->reterr, place_of(reader, heading), "rule %.*s has no title", SHOWN(rule->id));
    return AP_OK;
}

static enum ap_status read_text(struct reader *reader, cmark_node *item, enum ap_rule_text which, struct ap_rule *rule)
{
    cmark_node *paragraph = cmark_node_first_child(item);
    struct ap_place place = place_of(reader, item);
    if (!paragraph || cmark_node_get_type(paragraph) != CMARK_NODE_PARAGRAPH || cmark_node_next(paragraph))
        return ap_fail_in_rubric(reader->reterr, place, "expected \"%s\" and its text in one paragraph", labels[which]);
    AP_TRY(gather(reader, paragraph));
    struct ap_text text = gathered(reader);
    if (!ap_text_starts_with(text, labels[which]))
        return ap_fail_in_rubric(reader->reterr, place, "met \"%.*s\" where \"%s\" was expected", SHOWN(text),
                                 labels[which]);
    size_t label_bytes = strlen(labels[which]);
    struct ap_text told = ap_text_trim((struct ap_text){ text.data + label_bytes, text.bytes - label_bytes });
    AP_TRY(ap_rule_text_check(rule, told, place, reader->reterr));
    AP_TRY(keep(reader, label_bytes, &rule->texts[which]));
    if (!rule->texts[which].bytes)
        return ap_fail_in_rubric(reader->reterr, place, "\"%s\" has no text", labels[which]);
    return AP_OK;
}

static enum ap_status read_texts(struct reader *reader, cmark_node *block, struct ap_rule *rule)
{
    cmark_node *list = cmark_node_next(block);
    if (!list || cmark_node_get_type(list) != CMARK_NODE_LIST)
        return ap_fail_in_rubric(
            reader->reterr, (struct ap_place){ reader->file, cmark_node_get_end_line(block) },
            "expected the list of Observation, Hypothesis, Action, Trade-off and Validation right behind the "
            "block of rule %.*s",
            SHOWN(rule->id));
    cmark_node *item = cmark_node_first_child(list);
    for (int i = 0; i < AP_TEXT_COUNT_; i++) {
        if (!item)
            return ap_fail_in_rubric(reader->reterr, place_of(reader, list), "rule %.*s has no text \"%s\"", SHOWN(rule->id),
                                     labels[i]);
        AP_TRY(read_text(reader, item, (enum ap_rule_text)i, rule));
        item = cmark_node_next(item);
    }
    if (item)
        return ap_fail_in_rubric(reader->reterr, place_of(reader, item), "rule %.*s has more than five texts",
                                 SHOWN(rule->id));
    return AP_OK;
}

static enum ap_status read_rule(struct reader *reader, cmark_node *heading)
{
    struct ap_rubric *rubric = reader->rubric;
    struct ap_rule *rule = ap_arena_alloc(&rubric->arena, sizeof(*rule));
    if (!rule)
        return ap_fail_memory(rubric->arena.gate, reader->reterr);
    AP_TRY(read_heading(reader, heading, rule));
    cmark_node *block = cmark_node_next(heading);
    if (!is_rule_block(block))
        return ap_fail_in_rubric(reader->reterr, place_of(reader, heading),
                                 "expected a fenced block with the word rule right behind the heading of rule %.*s",
                                 SHOWN(rule->id));
    struct ap_place place = place_of(reader, block);
    place.line++; /* behind the fence */
    const char *literal = cmark_node_get_literal(block);
    struct ap_text machine_part = ap_arena_text(&rubric->arena, ap_text_of(literal ? literal : ""));
    if (!machine_part.data)
        return ap_fail_memory(rubric->arena.gate, reader->reterr);
    AP_TRY(ap_rule_block_parse(rubric, machine_part, place, rule, reader->reterr));
    AP_TRY(read_texts(reader, block, rule));
    ap_rubric_append(rubric, rule);
    return AP_OK;
}

/* ---- the document ---- */

/* A heading of level 3 that begins like a rule's must be one; others are for people. */
static enum ap_status is_rule_heading(struct reader *reader, cmark_node *node, bool *ret_is)
{
    *ret_is = false;
    if (cmark_node_get_type(node) != CMARK_NODE_HEADING || cmark_node_get_heading_level(node) != 3)
        return AP_OK;
    if (is_rule_block(cmark_node_next(node))) {
        *ret_is = true;
        return AP_OK;
    }
    AP_TRY(gather(reader, node));
    *ret_is = id_bytes(gathered(reader)) != 0;
    return AP_OK;
}

static enum ap_status read_document(struct reader *reader, cmark_node *document)
{
    cmark_node *node = cmark_node_first_child(document);
    while (node) {
        bool rule;
        AP_TRY(is_rule_heading(reader, node, &rule));
        if (rule) {
            AP_TRY(read_rule(reader, node));
            node = cmark_node_next(cmark_node_next(node)); /* behind heading and block */
            continue;
        }
        if (is_rule_block(node))
            return ap_fail_in_rubric(reader->reterr, place_of(reader, node),
                                     "expected a heading \"### id: title\" right before the block of a rule");
        node = cmark_node_next(node);
    }
    if (!reader->rubric->rule_count)
        return ap_fail_in_rubric(reader->reterr, (struct ap_place){ reader->file, 1 },
                                 "no rule in this document: expected \"### id: title\" with a fenced block \"rule\"");
    return AP_OK;
}

/* What libcmark must not see: it holds its memory outside the gate and takes time that grows with the nesting of a line. */
static enum ap_status check_size(const char *text, size_t bytes, const char *file, struct ap_error *reterr)
{
    struct ap_place place = { file, 1 };
    if (bytes > AP_RUBRIC_MAX_BYTES)
        return ap_fail_in_rubric(reterr, place, "the document has %zu bytes: at most %zu are read", bytes,
                                 AP_RUBRIC_MAX_BYTES);
    for (size_t at = 0; at < bytes; place.line++) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t line_bytes = end ? (size_t)(end - text) - at : bytes - at;
        if (line_bytes > AP_RUBRIC_MAX_LINE_BYTES)
            return ap_fail_in_rubric(reterr, place, "the line has %zu bytes: at most %zu are read", line_bytes,
                                     AP_RUBRIC_MAX_LINE_BYTES);
        if (memchr(text + at, '\0', line_bytes))
            return ap_fail_in_rubric(reterr, place, "a NUL byte: expected a text in UTF-8");
        at += line_bytes + 1;
    }
    return AP_OK;
}

void ap_rubric_append(struct ap_rubric *rubric, struct ap_rule *rule)
{
    if (rubric->last)
        rubric->last->next = rule;
    else
        rubric->first = rule;
    rubric->last = rule;
    rule->older = rubric->of_length[rule->id.bytes % AP_RULE_LENGTHS];
    rubric->of_length[rule->id.bytes % AP_RULE_LENGTHS] = rule;
    rubric->rule_count++;
}

enum ap_status ap_rubric_new(struct ap_gate *gate, struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    struct ap_arena arena;
    ap_arena_init(&arena, gate);
    struct ap_rubric *rubric = ap_arena_alloc(&arena, sizeof(*rubric));
    if (!rubric)
        return ap_fail_memory(gate, reterr);
    rubric->arena = arena;
    *ret_rubric = rubric;
    return AP_OK;
}

enum ap_status ap_rubric_parse(struct ap_gate *gate, const char *text, size_t bytes, const char *name_for_errors,
                               struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    struct ap_rubric *rubric = NULL;
    AP_TRY(check_size(text, bytes, name_for_errors, reterr));
    AP_TRY(ap_rubric_new(gate, &rubric, reterr));
    struct reader reader = { .rubric = rubric, .file = name_for_errors, .text = { .gate = gate }, .reterr = reterr };
    cmark_node *document = cmark_parse_document(text, bytes, CMARK_OPT_VALIDATE_UTF8);
    enum ap_status status = read_document(&reader, document);
    rubric->document = ap_arena_text(&rubric->arena, (struct ap_text){ text, bytes });
    if (status == AP_OK && !rubric->document.data)
        status = ap_fail_memory(gate, reterr);
    cmark_node_free(document);
    ap_text_buffer_release(&reader.text);
    if (status == AP_OK)
        *ret_rubric = rubric;
    else
        ap_rubric_free(rubric);
    return status;
}

void ap_rubric_free(struct ap_rubric *rubric)
{
    if (!rubric)
        return;
    struct ap_arena arena = rubric->arena; /* the struct lies in it */
    ap_arena_release(&arena);
}

size_t ap_rubric_rule_count(const struct ap_rubric *rubric)
{
    return rubric->rule_count;
}

const struct ap_rule *ap_rubric_find(const struct ap_rubric *rubric, struct ap_text id)
{
    for (const struct ap_rule *rule = rubric->of_length[id.bytes % AP_RULE_LENGTHS]; rule; rule = rule->older)
        if (ap_text_equal(rule->id, id))
            return rule;
    return NULL;
}
