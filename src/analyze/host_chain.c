/* SPDX-License-Identifier: MIT */
#include "host_chain.h"

#include <string.h>

#include "poison.h"

enum { KNOWN = 1, LIBRARY = 2, ATEN = 4 };

static const char *const library_patterns[] = {
#define AP_LIBRARY_FRAME(patterns) patterns,
#include "library_frames.def"
};

enum ap_status ap_host_chains_init(struct ap_host_chains *chains, const struct ap_trace *trace,
                                   const struct ap_host_tree *tree, struct ap_gate *gate, struct ap_error *reterr)
{
    *chains = (struct ap_host_chains){ .gate = gate, .trace = trace, .tree = tree, .library.gate = gate };
    size_t count = (size_t)ap_strpool_count(&trace->strings) + 1;
    chains->name_flags = ap_mem_resize(gate, NULL, 0, count);
    if (!chains->name_flags)
        return ap_fail_memory(gate, reterr);
    chains->name_count = count;
    memset(chains->name_flags, 0, count);
    return ap_name_patterns_init(&chains->library, gate, library_patterns, AP_COUNT_OF(library_patterns), reterr);
}

void ap_host_chains_release(struct ap_host_chains *chains)
{
    ap_name_patterns_release(&chains->library);
    ap_mem_free(chains->gate, chains->name_flags, chains->name_count);
    *chains = (struct ap_host_chains){ .gate = chains->gate, .library.gate = chains->gate };
}

static uint8_t flags_of(struct ap_host_chains *chains, uint32_t row)
{
    uint32_t name = chains->trace->events.name[row];
    uint8_t *flags = &chains->name_flags[name];
    if (!*flags) {
        struct ap_text text = ap_strpool_text(&chains->trace->strings, (struct ap_str){ name });
        bool library = ap_name_patterns_first(&chains->library, text, SIZE_MAX) != SIZE_MAX;
        *flags = (uint8_t)(KNOWN | (library ? LIBRARY : 0) | (ap_text_starts_with(text, "aten::") ? ATEN : 0));
    }
    return *flags;
}

struct ap_host_chain ap_host_chain_of(struct ap_host_chains *chains, uint32_t row)
{
    const struct ap_trace *trace = chains->trace;
    struct ap_host_chain chain = { AP_NO_ROW, AP_NO_ROW, AP_NO_ROW };
    int64_t start_ns = trace->events.start_ns[row];
    bool in_operators = true, met_aten = false;
    for (int depth = 0; row != AP_NO_ROW && depth < AP_CHAIN_LIMIT && chain.line == AP_NO_ROW; depth++) {
        enum ap_event_kind kind = ap_row_kind(trace->events.tag[row]);
        if (kind == AP_KIND_operator && in_operators) {
            bool aten = flags_of(chains, row) & ATEN;
            chain.leaf = chain.leaf == AP_NO_ROW ? row : chain.leaf;
            chain.op = aten || !met_aten ? row : chain.op;
            met_aten |= aten;
        } else if (kind == AP_KIND_annotation || kind == AP_KIND_python) {
            in_operators = false;
            if (kind == AP_KIND_annotation && chain.op == AP_NO_ROW)
                chain.op = row;
            if (kind == AP_KIND_python && !(flags_of(chains, row) & LIBRARY))
                chain.line = row;
        }
        row = ap_host_next_around(chains->tree, trace, row, start_ns);
    }
    return chain;
}
