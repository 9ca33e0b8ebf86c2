/* SPDX-License-Identifier: MIT */
#include "summary_rows.h"

#include "poison.h"

enum ap_status ap_summary_refuse(const struct ap_json_reader *json, const char *what, struct ap_error *reterr)
{
    return ap_fail_at(reterr, AP_ERROR_INPUT, ap_json_offset(json), "not a summary as this version writes it: %s", what);
}

enum ap_status ap_summary_expect(struct ap_json_reader *json, enum ap_json_kind kind, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    return token.kind == kind ? AP_OK : ap_summary_refuse(json, "a list or an object was expected", reterr);
}

enum ap_status ap_summary_read_row(struct ap_json_reader *json, int64_t *values, size_t width, struct ap_error *reterr)
{
    for (size_t i = 0;; i++) {
        struct ap_json_token token;
        enum ap_status status = ap_json_next_element(json, &token, reterr);
        if (status == AP_END)
            return i == width ? AP_OK : ap_summary_refuse(json, "a row is too short", reterr);
        AP_TRY(status);
        if (i == width || token.kind != AP_JSON_NUMBER || !ap_json_integer(&token, &values[i]))
            return ap_summary_refuse(json, "a row is too long, or holds what is no whole number", reterr);
    }
}

enum ap_status ap_summary_read_names(struct ap_json_reader *json, struct ap_strpool *pool, struct ap_gate *gate,
                                     struct ap_summary_names *names, struct ap_error *reterr)
{
    AP_TRY(ap_summary_expect(json, AP_JSON_ARRAY_BEGIN, reterr));
    for (;;) {
        struct ap_json_token token;
        struct ap_str name;
        AP_TRY_UNTIL_END(ap_json_next_element(json, &token, reterr));
        if (token.kind != AP_JSON_STRING)
            return ap_summary_refuse(json, "a name is no text", reterr);
        AP_TRY(ap_strpool_intern(pool, token.text, token.text_bytes, &name, reterr));
        AP_TRY_ADD(gate, names->list, names->count, names->capacity, reterr, name);
    }
}

bool ap_summary_name(const struct ap_summary_names *names, int64_t place, struct ap_str *ret_name)
{
    *ret_name = (struct ap_str){ 0 };
    if (place < 0 || (uint64_t)place > names->count)
        return false;
    if (place)
        *ret_name = names->list[place - 1];
    return true;
}

void ap_summary_names_release(struct ap_summary_names *names, struct ap_gate *gate)
{
    AP_FREE(gate, names->list, names->capacity);
    *names = (struct ap_summary_names){ .list = NULL };
}
