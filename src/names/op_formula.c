/* SPDX-License-Identifier: MIT */
#include "op_formula.h"

#include <string.h>

#include "poison.h"

static const struct {
    enum ap_work_kind kind;
    const char *names;
} formulas[AP_FORMULA_COUNT_] = {
    [AP_FORMULA_none] = { AP_WORK_KIND_COUNT_, "" },
#define AP_OP_FORMULA(formula, kind, names) [AP_FORMULA_##formula] = { AP_WORK_##kind, names },
#include "op_formula.def"
};

/* One alternative: "text", "text*" or "*text". */
static bool is_named(struct ap_text name, const char *pattern, size_t bytes)
{
    bool has_head = pattern[bytes - 1] == '*', has_tail = pattern[0] == '*';
    size_t fixed = bytes - has_head - has_tail;
    if (name.bytes < fixed || (!has_head && !has_tail && name.bytes != fixed))
        return false;
    return memcmp(has_tail ? name.data + name.bytes - fixed : name.data, pattern + has_tail, fixed) == 0;
}

static bool is_among(struct ap_text name, const char *names)
{
    for (const char *end = names + strlen(names); names < end;) {
        const char *bar = memchr(names, '|', (size_t)(end - names));
        size_t bytes = (size_t)((bar ? bar : end) - names);
        if (is_named(name, names, bytes))
            return true;
        names += bytes + 1;
    }
    return false;
}

enum ap_op_formula ap_op_formula_of(struct ap_text name)
{
    for (int formula = AP_FORMULA_none + 1; formula < AP_FORMULA_COUNT_; formula++)
        if (is_among(name, formulas[formula].names))
            return (enum ap_op_formula)formula;
    return AP_FORMULA_none;
}

enum ap_status ap_op_formulas_init(struct ap_name_patterns *set, struct ap_gate *gate, struct ap_error *reterr)
{
    const char *entries[AP_FORMULA_COUNT_];
    for (int formula = 0; formula < AP_FORMULA_COUNT_; formula++)
        entries[formula] = formulas[formula].names;
    return ap_name_patterns_init(set, gate, entries, AP_FORMULA_COUNT_, reterr);
}

enum ap_op_formula ap_op_formulas_find(const struct ap_name_patterns *set, struct ap_text name)
{
    return (enum ap_op_formula)ap_name_patterns_first(set, name, AP_FORMULA_none);
}

enum ap_work_kind ap_op_formula_kind(enum ap_op_formula formula)
{
    return formulas[formula].kind;
}

const char *ap_work_kind_name(enum ap_work_kind kind)
{
    static const char *const names[AP_WORK_KIND_COUNT_] = {
        [AP_WORK_gemm] = "GEMM",
        [AP_WORK_convolution] = "convolution",
        [AP_WORK_attention] = "attention",
        [AP_WORK_moe] = "mixture of experts",
        [AP_WORK_elementwise] = "elementwise",
        [AP_WORK_copy] = "copy",
        [AP_WORK_softmax] = "softmax",
        [AP_WORK_normalization] = "normalization",
        [AP_WORK_reduction] = "reduction",
        [AP_WORK_index] = "indexing",
    };
    return names[kind];
}

bool ap_work_kind_multiplies(enum ap_work_kind kind)
{
    return kind <= AP_WORK_moe;
}
