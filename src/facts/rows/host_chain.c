/* SPDX-License-Identifier: MIT */
#include "host_chain.h"

#include "poison.h"

enum ap_status ap_host_chains_init(struct ap_host_chains *chains, const struct ap_trace *trace,
                                   const struct ap_host_tree *tree, struct ap_gate *gate, struct ap_error *reterr)
{
    *chains = (struct ap_host_chains){ .trace = trace, .tree = tree };
    return ap_user_frames_init(&chains->frames, trace, gate, reterr);
}

void ap_host_chains_release(struct ap_host_chains *chains)
{
    ap_user_frames_release(&chains->frames);
}

static bool is_aten(const struct ap_trace *trace, uint32_t row)
{
    return ap_text_starts_with(ap_row_name(trace, row), "aten::");
}

struct ap_host_chain ap_host_chain_of(struct ap_host_chains *chains, uint32_t row)
{
    const struct ap_trace *trace = chains->trace;
    struct ap_host_chain chain = { AP_NO_ROW, AP_NO_ROW, AP_NO_ROW };
    int64_t start_ns = trace->events.start_ns[row];
    bool in_operators = true, met_aten = false;
    for (int left = AP_NESTING_MAX; row != AP_NO_ROW && chain.line == AP_NO_ROW;) {
        enum ap_event_kind kind = ap_row_kind(trace->events.tag[row]);
        if (kind == AP_KIND_operator && in_operators) {
            bool aten = is_aten(trace, row);
            chain.leaf = chain.leaf == AP_NO_ROW ? row : chain.leaf;
            chain.op = aten || !met_aten ? row : chain.op;
            met_aten |= aten;
        } else if (kind == AP_KIND_annotation || kind == AP_KIND_python) {
            in_operators = false;
            if (kind == AP_KIND_annotation && chain.op == AP_NO_ROW)
                chain.op = row;
            if (kind == AP_KIND_python && ap_is_user_frame(&chains->frames, trace->events.name[row]))
                chain.line = row;
        }
        row = ap_host_next_around(chains->tree, trace, row, start_ns, &left);
    }
    return chain;
}

uint32_t ap_host_caller_of_model(struct ap_host_chains *chains, uint32_t row)
{
    const struct ap_trace *trace = chains->trace;
    int64_t start_ns = trace->events.start_ns[row];
    uint32_t caller = AP_NO_ROW;
    bool in_module = false;
    for (int left = AP_NESTING_MAX; row != AP_NO_ROW;) {
        enum ap_frame_kind kind = ap_row_kind(trace->events.tag[row]) == AP_KIND_python
                                      ? ap_frame_kind_of(&chains->frames, trace->events.name[row])
                                      : AP_FRAME_OF_LIBRARY;
        if (kind == AP_FRAME_OF_MODULE) {
            in_module = true;
            caller = AP_NO_ROW;
        } else if (kind == AP_FRAME_OF_USER && in_module && caller == AP_NO_ROW) {
            caller = row;
        }
        row = ap_host_next_around(chains->tree, trace, row, start_ns, &left);
    }
    return caller;
}
