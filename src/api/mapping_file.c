/* SPDX-License-Identifier: MIT */
#include "mapping_file.h"

#include "facts.h"
#include "input.h"
#include "json_reader.h"
#include "opened_input.h"

#include "poison.h"

static enum ap_status read_trace(const struct ap_request *request, struct ap_gate *gate, struct ap_trace **ret_trace,
                                 struct ap_error *reterr)
{
    struct ap_input_options options = { .salvage = request->salvage,
                                        .role = AP_ROLE_TRACE,
                                        .opener = request->opener,
                                        .threads = ap_request_threads(request) > 1 };
    struct ap_trace_options trace_options = { .salvage = request->salvage,
                                              .threads = ap_request_threads(request) > 1 ? 2 : 1 };
    struct ap_json_limits limits = { .skipped_depth = request->max_depth };
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_json_reader *json = NULL;
    struct ap_input *input;
    AP_TRY(ap_input_open(gate, request->mapping_trace_path, &options, &notes, &input, reterr));
    enum ap_status status = ap_input_probe(input, reterr);
    AP_AND_THEN(status, ap_json_reader_new(gate, ap_input_source(input), &notes, &limits, &json, reterr));
    AP_AND_THEN(status, ap_trace_read(json, gate, &notes, &trace_options, ret_trace, reterr));
    ap_json_reader_free(json);
    ap_input_free(input);
    return status;
}

/* The few facts that it takes to know who launched what. */
static enum ap_status find_facts(struct ap_facts *facts, struct ap_error *reterr)
{
    static const enum ap_fact needed[] = { AP_FACT_order, AP_FACT_names, AP_FACT_tree, AP_FACT_links };
    for (size_t i = 0; i < AP_COUNT_OF(needed); i++)
        AP_TRY(ap_fact_entries[needed[i]].find(facts, reterr));
    return AP_OK;
}

static enum ap_status take_mapping(struct ap_graph_mapping *mapping, struct ap_trace *trace, struct ap_trace *whole,
                                   struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_facts facts;
    enum ap_status status = ap_facts_init(&facts, trace, false, reterr);
    AP_AND_THEN(status, find_facts(&facts, reterr));
    AP_AND_THEN(status, ap_graph_mapping_init(mapping, whole, trace, &facts.order, &facts.tree, &facts.links, &facts.calls,
                                              gate, reterr));
    ap_facts_release(&facts);
    return status;
}

enum ap_status ap_mapping_read(struct ap_graph_mapping *mapping, const struct ap_request *request, struct ap_trace *whole,
                               struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_trace *trace;
    *mapping = (struct ap_graph_mapping){ .gate = gate };
    AP_TRY(read_trace(request, gate, &trace, reterr));
    enum ap_status status = take_mapping(mapping, trace, whole, gate, reterr);
    ap_trace_free(trace);
    if (status == AP_OK && !mapping->count)
        return ap_refuse(reterr, AP_SETTING_MAPPING_TRACE,
                         "a trace of the capture of these graphs, or of a run without them, was expected; in this one no "
                         "launch tells its kernel");
    return status;
}
