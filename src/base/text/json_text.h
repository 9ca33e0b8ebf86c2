/* SPDX-License-Identifier: MIT
 * json_text.h - the one place where text becomes JSON, for all that write it. */
#ifndef AP_JSON_TEXT_H
#define AP_JSON_TEXT_H

#include "out.h"

/** A string in quotation marks: valid whatever the text holds. What a terminal or an editor would not show is escaped,
 *  nothing is lost but bytes that are not UTF-8. */
void ap_json_write_text(struct ap_out *out, struct ap_text text);

/** A literal comes from an input: what is no JSON number, true, false or null after all becomes a string. */
void ap_json_write_literal(struct ap_out *out, struct ap_text text);

#endif
