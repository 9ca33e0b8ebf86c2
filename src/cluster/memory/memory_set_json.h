/* SPDX-License-Identifier: MIT
 * memory_set_json.h - a set of rows as a JSON value: names, and each row as a list of whole numbers in the order of
 * ap_memory_row_members(). Read back, it is the same set. */
#ifndef AP_MEMORY_SET_JSON_H
#define AP_MEMORY_SET_JSON_H

#include "json_reader.h"
#include "memory_set.h"
#include "out.h"

/** Write a set that is finished, as one object. */
AP_MUST_CHECK enum ap_status ap_memory_set_write(const struct ap_memory_set *set, struct ap_out *out,
                                                 struct ap_error *reterr);
/** Add what the object holds that comes next in @json. AP_ERROR_INPUT where it holds what cannot be. */
AP_MUST_CHECK enum ap_status ap_memory_set_read(struct ap_json_reader *json, struct ap_memory_set *set,
                                                struct ap_error *reterr);

#endif
