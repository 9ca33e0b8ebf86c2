/* SPDX-License-Identifier: MIT */
#include "kernel_family.h"

#include <string.h>

#include "word_search.h"

#include "poison.h"

/* ---- the table ---- */

struct table_row {
    const char *family;
    enum ap_kernel_group group;
};

enum { in_whole, in_head };

static const struct table_row table[] = {
#define AP_KERNEL_FAMILY(family, group, in, words) { family, AP_KERNEL_GROUP_##group },
#include "kernel_family.def"
#undef AP_KERNEL_FAMILY
};

static const struct ap_word_rule family_rules[] = {
#define AP_KERNEL_FAMILY(family, group, in, words) { words, in_##in == in_head },
#include "kernel_family.def"
#undef AP_KERNEL_FAMILY
};

enum { on_no, on_yes };

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

_Static_assert(AP_COUNT_OF(table) + 1 <= AP_KERNEL_FAMILY_MASK, "one byte holds the family and what else is told of a name");

/* Rows of one family share the number of its first row; the numbers of its other rows stay unused. */
static unsigned family_of_row(size_t row)
{
    size_t first = 0;
    while (strcmp(table[first].family, table[row].family) != 0)
        first++;
    return (unsigned)first + 1;
}

unsigned ap_kernel_family_count(void)
{
    return AP_COUNT_OF(table) + 1;
}

const char *ap_kernel_family_name(unsigned family)
{
    return family <= AP_COUNT_OF(table) ? table[family - 1].family : "other";
}

enum ap_kernel_group ap_kernel_family_group(unsigned family)
{
    return family <= AP_COUNT_OF(table) ? table[family - 1].group : AP_KERNEL_GROUP_other;
}

const char *ap_kernel_group_name(enum ap_kernel_group group)
{
    static const char *const names[] = {
        [AP_KERNEL_GROUP_gemm] = "GEMM",
        [AP_KERNEL_GROUP_attention] = "attention",
        [AP_KERNEL_GROUP_convolution] = "convolution",
        [AP_KERNEL_GROUP_normalisation] = "normalisation",
        [AP_KERNEL_GROUP_elementwise] = "elementwise",
        [AP_KERNEL_GROUP_reduction] = "reduction",
        [AP_KERNEL_GROUP_communication] = "communication",
        [AP_KERNEL_GROUP_copy] = "copy",
        [AP_KERNEL_GROUP_triton] = "triton",
        [AP_KERNEL_GROUP_other] = "other",
    };
    return names[group];
}

bool ap_kernel_family_is_eligible(unsigned family)
{
    enum ap_kernel_group group = ap_kernel_family_group(family);
    return (group == AP_KERNEL_GROUP_gemm || group == AP_KERNEL_GROUP_attention || group == AP_KERNEL_GROUP_convolution) &&
           strcmp(ap_kernel_family_name(family), "convolution layout") != 0;
}

/* ---- names ---- */

static bool follows(struct ap_text name, size_t at, struct ap_text lower)
{
    if (name.bytes - at < lower.bytes)
        return false;
    for (size_t i = 0; i < lower.bytes; i++) {
        char letter = name.data[at + i];
        if ((letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter) != lower.data[i])
            return false;
    }
    return true;
}

static struct ap_text after(struct ap_text name, size_t bytes)
{
    return (struct ap_text){ name.data + bytes, name.bytes - bytes };
}

/* Templates over result types are written with them: std::enable_if<..., void>::type kernel<...>(...) */
static struct ap_text without_result(struct ap_text name)
{
    const struct ap_text end = AP_TEXT("::type ");
    if (follows(name, 0, AP_TEXT("void ")))
        name = after(name, 5);
    if (!follows(name, 0, AP_TEXT("std::enable_if")))
        return name;
    for (size_t at = 0; at + end.bytes <= name.bytes; at++)
        if (follows(name, at, end))
            return after(name, at + end.bytes);
    return name;
}

static size_t unnamed_namespace_bytes(struct ap_text name, size_t at)
{
    static const char *const spellings[] = { "(anonymous namespace)::", "<unnamed>::" };
    for (size_t i = 0; i < AP_COUNT_OF(spellings); i++)
        if (follows(name, at, ap_text_of(spellings[i])))
            return strlen(spellings[i]);
    return 0;
}

static uint16_t first_rule(const struct ap_word_search *words, struct ap_text name)
{
    struct ap_word_cursor cursor = ap_word_cursor_start(words);
    for (size_t at = 0; at < name.bytes; at++) {
        char letter = name.data[at];
        if (letter == '(' || letter == '<') {
            size_t unnamed = unnamed_namespace_bytes(name, at);
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
    struct ap_word_search families, tensor_cores;
};

static uint8_t recognize(const struct recognizer *recognizer, struct ap_text name)
{
    name = without_result(name);
    uint16_t row = first_rule(&recognizer->families, name);
    unsigned family = row == AP_WORD_NONE ? ap_kernel_family_count() : family_of_row(row), told = 0;
    if (ap_kernel_family_group(family) == AP_KERNEL_GROUP_communication)
        told |= AP_KERNEL_COMMUNICATION;
    if (ap_kernel_family_is_eligible(family)) {
        row = first_rule(&recognizer->tensor_cores, name);
        if (row != AP_WORD_NONE && tensor_core_verdicts[row] == on_yes)
            told |= AP_KERNEL_TENSOR_CORE;
    }
    return (uint8_t)(told | family);
}

static void mark_collectives(struct ap_kernel_families *families, const struct ap_trace *trace)
{
    for (size_t i = 0; i < trace->collective_count; i++) {
        uint32_t row = trace->collectives[i].row;
        if (ap_row_kind(trace->events.tag[row]) == AP_KIND_kernel)
            families->of_name[trace->events.name[row]] |= AP_KERNEL_COLLECTIVE;
    }
}

static void recognize_names(struct ap_kernel_families *families, const struct ap_trace *trace,
                            const struct recognizer *recognizer)
{
    for (size_t row = 0; row < trace->events.count; row++) {
        if (ap_row_kind(trace->events.tag[row]) != AP_KIND_kernel)
            continue;
        uint32_t name = trace->events.name[row];
        if (!families->of_name[name])
            families->of_name[name] =
                recognize(recognizer, ap_strpool_text(&trace->strings, (struct ap_str){ name }));
    }
}

enum ap_status ap_kernel_families_init(struct ap_kernel_families *families, const struct ap_trace *trace,
                                       struct ap_gate *gate, struct ap_error *reterr)
{
    struct recognizer recognizer = { { .gate = gate }, { .gate = gate } };
    *families = (struct ap_kernel_families){ .gate = gate, .name_count = (size_t)ap_strpool_count(&trace->strings) + 1 };
    families->of_name = ap_mem_resize(gate, NULL, 0, families->name_count);
    if (!families->of_name)
        return ap_fail_memory(gate, reterr);
    memset(families->of_name, 0, families->name_count);
    enum ap_status status = ap_word_search_init(&recognizer.families, gate, family_rules, AP_COUNT_OF(family_rules), reterr);
    if (status == AP_OK)
        status = ap_word_search_init(&recognizer.tensor_cores, gate, tensor_core_rules, AP_COUNT_OF(tensor_core_rules),
                                     reterr);
    if (status == AP_OK) {
        recognize_names(families, trace, &recognizer);
        mark_collectives(families, trace);
    }
    ap_word_search_release(&recognizer.tensor_cores);
    ap_word_search_release(&recognizer.families);
    return status;
}

void ap_kernel_families_release(struct ap_kernel_families *families)
{
    if (families->of_name)
        ap_mem_free(families->gate, families->of_name, families->name_count);
    *families = (struct ap_kernel_families){ .gate = families->gate };
}
