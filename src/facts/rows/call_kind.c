/* SPDX-License-Identifier: MIT */
#include "call_kind.h"

#include <string.h>

#include "name_pattern.h"
#include "rows_of.h"

#include "poison.h"

static const char *const patterns[] = {
#define AP_CALL(kind, patterns) patterns,
#include "call_kind.def"
};

static const uint8_t kind_of_entry[] = {
#define AP_CALL(kind, patterns) AP_CALL_##kind,
#include "call_kind.def"
    AP_CALL_other,
};

const char *ap_call_kind_word(enum ap_call_kind kind)
{
    static const char *const words[] = {
#define AP_CALL_KIND(kind, word) word,
#include "call_kind.def"
    };
    return words[kind];
}

static void classify(struct ap_call_kinds *kinds, const struct ap_trace *trace, const struct ap_name_patterns *set)
{
    for (struct ap_rows_of at = ap_rows_of(trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);) {
        uint32_t name = trace->events.name[at.row];
        if (kinds->by_name[name] != AP_CALL_none)
            continue;
        struct ap_text text = ap_trace_text(trace, name);
        kinds->by_name[name] = kind_of_entry[ap_name_patterns_first(set, text, AP_COUNT_OF(patterns))];
    }
}

enum ap_status ap_call_kinds_init(struct ap_call_kinds *kinds, const struct ap_trace *trace, struct ap_gate *gate,
                                  struct ap_error *reterr)
{
    struct ap_name_patterns set;
    *kinds = (struct ap_call_kinds){ .gate = gate };
    size_t count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC(gate, kinds->by_name, count, reterr));
    kinds->count = count;
    memset(kinds->by_name, AP_CALL_none, count);
    enum ap_status status = ap_name_patterns_init(&set, gate, patterns, AP_COUNT_OF(patterns), reterr);
    if (status == AP_OK)
        classify(kinds, trace, &set);
    ap_name_patterns_release(&set);
    return status;
}

void ap_call_kinds_release(struct ap_call_kinds *kinds)
{
    ap_mem_free(kinds->gate, kinds->by_name, kinds->count);
    *kinds = (struct ap_call_kinds){ .gate = kinds->gate };
}
