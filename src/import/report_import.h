/* SPDX-License-Identifier: MIT
 * report_import.h - a JSON report of this program as a tree again: what write_json wrote, of this version or an older one.
 * The file is hostile as any other input: nesting, size and memory are bounded; keys that this version does not know are
 * kept as they are. Knows JSON and the model, nothing of what a report says. */
#ifndef AP_REPORT_IMPORT_H
#define AP_REPORT_IMPORT_H

#include "json_reader.h"
#include "model_build.h"

/** Nesting of a report; as deep as the writer goes. */
#define AP_IMPORT_MAX_DEPTH 64
/** Values in one report. */
#define AP_IMPORT_MAX_VALUES ((uint64_t)8 << 20)

/** Read the document into @model, which is empty. A number's unit is told by its key, as the report format promises: _us a
 *  time (kept in nanoseconds), _bytes a size, _ratio a ratio; else a whole number is a count. AP_ERROR_INPUT where the
 * document is no report of this program, or of a format (schema_version) with another major number than 1. */
AP_MUST_CHECK enum ap_status ap_report_import(struct ap_json_reader *json, struct ap_model *model, struct ap_error *reterr);

#endif
