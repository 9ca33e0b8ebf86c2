/* SPDX-License-Identifier: MIT */
#include "kernel_family.h"

#include <string.h>

#include "kernel_name.h"
#include "rows_of.h"
#include "word_search.h"

#include "poison.h"

/* ---- the table ---- */

static const char *const family_words[] = {
#define AP_KERNEL_FAMILY(family, word) word,
#include "kernel_family.def"
};

enum { in_whole, in_head };

static const struct table_row {
    const char *subfamily;
    enum ap_kernel_family family;
} table[] = {
#define AP_KERNEL_SUBFAMILY(subfamily, family, in, words) { subfamily, AP_KERNEL_FAMILY_##family },
#include "kernel_family.def"
};

static const struct ap_word_rule subfamily_rules[] = {
#define AP_KERNEL_SUBFAMILY(subfamily, family, in, words) { words, in_##in == in_head },
#include "kernel_family.def"
};

enum { on_never, on_no, on_yes, on_unknown };

static const struct ap_word_rule tensor_core_rules[] = {
#define AP_TENSOR_CORE_WORDS(on, words) { words, false },
#include "tensor_core_words.def"
#undef AP_TENSOR_CORE_WORDS
};

static const uint8_t tensor_core_verdicts[] = {
#define AP_TENSOR_CORE_WORDS(on, words) on_##on,
#include "tensor_core_words.def"
#undef AP_TENSOR_CORE_WORDS
};

_Static_assert(AP_COUNT_OF(table) + 1 <= AP_KERNEL_SUBFAMILY_MASK,
               "the low bits hold the subfamily beside what else is told of a name");

/* Rows of one subfamily share the number of its first row; the numbers of its other rows stay unused. */
static unsigned subfamily_of_row(size_t row)
{
    size_t first = 0;
    while (strcmp(table[first].subfamily, table[row].subfamily) != 0)
        first++;
    return (unsigned)first + 1;
}

unsigned ap_kernel_subfamily_count(void)
{
    return AP_COUNT_OF(table) + 1;
}

const char *ap_kernel_subfamily_name(unsigned subfamily)
{
    return subfamily <= AP_COUNT_OF(table) ? table[subfamily - 1].subfamily : "other";
}

enum ap_kernel_family ap_kernel_family_of(unsigned subfamily)
{
    return subfamily <= AP_COUNT_OF(table) ? table[subfamily - 1].family : AP_KERNEL_FAMILY_other;
}

const char *ap_kernel_family_name(enum ap_kernel_family family)
{
    return family_words[family];
}

static bool may_be_eligible(unsigned subfamily)
{
    enum ap_kernel_family family = ap_kernel_family_of(subfamily);
    const char *name = ap_kernel_subfamily_name(subfamily);
    return (family == AP_KERNEL_FAMILY_gemm || family == AP_KERNEL_FAMILY_attention ||
            family == AP_KERNEL_FAMILY_convolution) &&
           strcmp(name, "convolution layout") != 0 && strcmp(name, "convolution side work") != 0;
}

/* ---- names ---- */

static uint16_t first_rule(const struct ap_word_search *words, struct ap_text name)
{
    struct ap_word_cursor cursor = ap_word_cursor_start(words);
    for (size_t at = 0; at < name.bytes; at++) {
        char letter = name.data[at];
        if (letter == '(' || letter == '<') {
            size_t unnamed = ap_kernel_unnamed_bytes(name, at);
            if (unnamed) {
                at += unnamed - 1;
                continue;
            }
            cursor.in_head = false;
        }
        ap_word_cursor_read(&cursor, letter);
    }
    return cursor.first;
}

struct recognizer {
    struct ap_word_search subfamilies, tensor_cores;
    bool is_ready; /* with the first name of a kernel: many traces have none */
};

static bool has_word(struct ap_text name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_contains_folded(name, words[i]))
            return true;
    return false;
}

static bool is_sparse(struct ap_text name)
{
    static const char *const words[] = { "sparse", "csrm", "coomm", "bsrmm",  "bsrsm",
                                         "spmm",   "spmv", "sddmm", "spgemm", "slidingorchunked" };
    return has_word(name, words, AP_COUNT_OF(words));
}

static bool unfolds(struct ap_text name)
{
    static const char *const words[] = { "im2col", "col2im", "2d2col", "3d2col", "vol2col", "col2vol" };
    return has_word(name, words, AP_COUNT_OF(words));
}

/* Packed weights, and not what a collective sent, a cache keeps, or a product of 8-bit numbers gave. */
static bool dequantizes(struct ap_text name)
{
    static const char *const others[] = { "_quant", "reduce", "gather", "cache", "swiglu", "silu", "gelu", "activation" };
    return ap_text_contains_folded(name, "dequant") && !has_word(name, others, AP_COUNT_OF(others));
}

static uint16_t recognize(const struct recognizer *recognizer, struct ap_text name)
{
    name = ap_kernel_without_result(name);
    uint16_t row = first_rule(&recognizer->subfamilies, name);
    unsigned subfamily = row == AP_WORD_NONE ? ap_kernel_subfamily_count() : subfamily_of_row(row);
    unsigned told = (is_sparse(name) ? AP_KERNEL_SPARSE : 0) | (unfolds(name) ? AP_KERNEL_UNFOLDS : 0);
    if (ap_kernel_family_of(subfamily) == AP_KERNEL_FAMILY_elementwise && dequantizes(name))
        told |= AP_KERNEL_DEQUANTIZES;
    if (strcmp(ap_kernel_subfamily_name(subfamily), "convolution layout") == 0)
        told |= AP_KERNEL_TURNS;
    if (ap_kernel_family_of(subfamily) == AP_KERNEL_FAMILY_communication)
        told |= AP_KERNEL_COMMUNICATION;
    if (may_be_eligible(subfamily)) {
        row = first_rule(&recognizer->tensor_cores, name);
        uint8_t verdict = row == AP_WORD_NONE ? on_unknown : tensor_core_verdicts[row];
        told |= (verdict == on_never ? 0 : AP_KERNEL_ELIGIBLE) | (verdict == on_yes ? AP_KERNEL_TENSOR_CORE : 0) |
                (verdict == on_no ? AP_KERNEL_PLAIN : 0);
    }
    return (uint16_t)(told | subfamily);
}

static void mark_collectives(struct ap_kernel_families *families, const struct ap_trace *trace)
{
    for (size_t i = 0; i < trace->collective_count; i++) {
        uint32_t row = trace->collectives[i].row;
        if (ap_row_kind(trace->events.tag[row]) == AP_KIND_kernel)
            families->of_name[trace->events.name[row]] |= AP_KERNEL_COLLECTIVE;
    }
}

static enum ap_status prepare(struct recognizer *recognizer, struct ap_gate *gate, struct ap_error *reterr)
{
    if (recognizer->is_ready)
        return AP_OK;
    recognizer->is_ready = true;
    AP_TRY(ap_word_search_init(&recognizer->subfamilies, gate, subfamily_rules, AP_COUNT_OF(subfamily_rules), reterr));
    return ap_word_search_init(&recognizer->tensor_cores, gate, tensor_core_rules, AP_COUNT_OF(tensor_core_rules), reterr);
}

static enum ap_status recognize_names(struct ap_kernel_families *families, const struct ap_trace *trace,
                                      struct recognizer *recognizer, struct ap_error *reterr)
{
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_kernel); ap_rows_of_next(&at);) {
        uint32_t name = trace->events.name[at.row];
        if (families->of_name[name])
            continue;
        AP_TRY(prepare(recognizer, families->gate, reterr));
        families->of_name[name] = recognize(recognizer, ap_trace_text(trace, name));
    }
    return AP_OK;
}

enum ap_status ap_kernel_families_init(struct ap_kernel_families *families, const struct ap_trace *trace,
                                       struct ap_gate *gate, struct ap_error *reterr)
{
    struct recognizer recognizer = { .subfamilies = { .gate = gate }, .tensor_cores = { .gate = gate } };
    *families = (struct ap_kernel_families){ .gate = gate,
                                             .name_count = ap_trace_id_count(trace),
                                             .alone = { .gate = gate, .operators = { .gate = gate } } };
    AP_TRY(AP_ALLOC_CLEARED(gate, families->of_name, families->name_count, reterr));
    enum ap_status status = ap_lone_groups_init(&families->alone, trace, gate, reterr);
    AP_AND_THEN(status, recognize_names(families, trace, &recognizer, reterr));
    if (status == AP_OK)
        mark_collectives(families, trace);
    ap_word_search_release(&recognizer.tensor_cores);
    ap_word_search_release(&recognizer.subfamilies);
    return status;
}

void ap_kernel_families_release(struct ap_kernel_families *families)
{
    AP_FREE(families->gate, families->of_name, families->name_count);
    ap_lone_groups_release(&families->alone);
    *families = (struct ap_kernel_families){ .gate = families->gate };
}
