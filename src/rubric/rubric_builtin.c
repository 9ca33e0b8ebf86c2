/* SPDX-License-Identifier: MIT
 * rubric_builtin.c - the rules that were compiled in. Their Markdown was read when the program was built, which is what
 * takes long about a document, so that a run only reads their blocks. */
#include "rubric_source.h"
#include "rubric_text.h"
#include "rule.h"

#include "poison.h"

#define NAME "built-in rubric"

struct ap_text ap_rubric_builtin(void)
{
    return (struct ap_text){ (const char *)ap_rubric_text, ap_rubric_text_bytes };
}

static enum ap_status read_rule(struct ap_rubric *rubric, const struct ap_rule_source *source, struct ap_error *reterr)
{
    struct ap_rule *rule = ap_arena_alloc(&rubric->arena, sizeof(*rule));
    if (!rule)
        return ap_fail_memory(rubric->arena.gate, reterr);
    rule->line = source->line;
    rule->id = ap_text_of(source->id);
    rule->title = ap_text_of(source->title);
    struct ap_place place = { NAME, source->block_line };
    AP_TRY(ap_rule_block_parse(rubric, ap_text_of(source->block), place, true, rule, reterr));
    for (int i = 0; i < AP_TEXT_COUNT_; i++)
        rule->texts[i] = ap_text_of(source->texts[i]);
    ap_rubric_append(rubric, rule);
    return AP_OK;
}

enum ap_status ap_rubric_read_builtin(struct ap_gate *gate, struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    struct ap_rubric *rubric;
    enum ap_status status = ap_rubric_new(gate, &rubric, reterr);
    if (status != AP_OK)
        return status;
    rubric->document = ap_rubric_builtin();
    for (size_t i = 0; i < ap_rule_source_count && status == AP_OK; i++)
        status = read_rule(rubric, &ap_rule_sources[i], reterr);
    if (status == AP_OK)
        *ret_rubric = rubric;
    else
        ap_rubric_free(rubric);
    return status;
}
