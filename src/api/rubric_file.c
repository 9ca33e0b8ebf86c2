/* SPDX-License-Identifier: MIT */
#include "rubric_file.h"

#include "text_file.h"

#include "poison.h"

enum ap_status ap_rubric_read(struct ap_gate *gate, const char *path, struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    char *text;
    size_t bytes;
    if (!path)
        return ap_rubric_read_builtin(gate, ret_rubric, reterr);
    AP_TRY(ap_text_file_read(gate, path, "the rubric", AP_RUBRIC_MAX_BYTES, &text, &bytes, reterr));
    enum ap_status status = ap_rubric_parse(gate, text, bytes, path, ret_rubric, reterr);
    AP_FREE(gate, text, AP_RUBRIC_MAX_BYTES + 1);
    return status;
}
