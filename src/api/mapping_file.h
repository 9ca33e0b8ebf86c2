/* SPDX-License-Identifier: MIT
 * mapping_file.h - the trace that tells what the graphs of another one hold. */
#ifndef AP_MAPPING_FILE_H
#define AP_MAPPING_FILE_H

#include "analyze_profile/analyze_profile.h"
#include "graph_mapping.h"

/** Reads request->mapping_trace_path; its names enter @whole, which is not frozen yet. AP_ERROR_INPUT where it has no launch
 *  whose kernel is told. Release @mapping after a failure too. */
AP_MUST_CHECK enum ap_status ap_mapping_read(struct ap_graph_mapping *mapping, const struct ap_request *request,
                                             struct ap_trace *whole, struct ap_gate *gate, struct ap_error *reterr);

#endif
