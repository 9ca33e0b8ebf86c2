/* SPDX-License-Identifier: MIT
 * row_source.h - a table as what writes it sees it: so many rows, each made when it is asked for. */
#ifndef AP_ROW_SOURCE_H
#define AP_ROW_SOURCE_H

#include "model_redact.h"

struct ap_row_source {
    struct ap_gate *gate;
    const char *name; /* of the table */
    size_t count;
    /** Fill the empty object @row; its first member is "row_id". What it refers to may live in @model or in what @self
     * knows. */
    void (*fill)(void *self, size_t index, struct ap_model *model, struct ap_value *row);
    void *self;
    struct ap_redaction *redaction; /* of what it makes; NULL = none */
};

/** One row, redacted where its source asks for it. */
AP_MUST_CHECK static inline enum ap_status ap_source_fill(const struct ap_row_source *source, size_t index,
                                                          struct ap_model *model, struct ap_value *row,
                                                          struct ap_error *reterr)
{
    source->fill(source->self, index, model, row);
    AP_TRY(ap_model_status(model, reterr));
    return source->redaction ? ap_model_redact(model, row, source->redaction, reterr) : AP_OK;
}

#endif
