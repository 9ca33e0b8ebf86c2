/* SPDX-License-Identifier: MIT
 * change.h - a change in words: which rows, in the language of conditions, and what becomes of them:
 *
 *     kernel ~ "gemm" speedup 2      wait = explicit gone      family = elementwise fused 4      thread = main less 12ms
 */
#ifndef AP_CHANGE_H
#define AP_CHANGE_H

#include "expr.h"

/** Changes of one prediction. */
#define AP_CHANGES_MAX 16

enum ap_change_verb {
#define AP_CHANGE_VERB(id, number, limit) AP_CHANGE_##id,
#include "change_verb.def"
#undef AP_CHANGE_VERB
    AP_CHANGE_VERB_COUNT_
};

/** What a replay cannot say of it, as a sentence without its full stop; NULL = nothing special. */
const char *ap_change_verb_limit(enum ap_change_verb verb);

/** Columns that conditions name; a set of them is a bit mask. */
enum ap_change_column {
#define AP_CHANGE_COLUMN(id) AP_CHANGE_COLUMN_##id,
#include "change_column.def"
#undef AP_CHANGE_COLUMN
    AP_CHANGE_COLUMN_COUNT_
};

/** As it is written. */
const char *ap_change_column_name(enum ap_change_column column);

/** What stands behind the verb: thousandths of a factor, a count, ns. */
struct ap_change {
    struct ap_text text; /* as it was written */
    struct ap_expr expr;
    struct ap_expr_room room; /* what the expression points to */
    uint32_t columns;         /* that it names */
    enum ap_change_verb verb;
    int64_t number;
};

/** @text is borrowed. False: *ret_mistake says what was expected. */
AP_MUST_CHECK bool ap_change_parse(struct ap_text text, struct ap_change *ret_change, struct ap_expr_mistake *ret_mistake);

#endif
