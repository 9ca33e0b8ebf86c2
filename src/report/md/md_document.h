/* SPDX-License-Identifier: MIT
 * md_document.h - a document in CommonMark with GitHub's tables. */
#ifndef AP_MD_DOCUMENT_H
#define AP_MD_DOCUMENT_H

#include "document.h"
#include "out.h"

struct md {
    struct doc doc;
    struct ap_out out;
    bool cell_is_empty; /* nothing stands in the cell that is open */
};

/** Markdown of @model to @sink; what is written is complete once ap_out_finish(&md->out, ...) said so. */
void ap_md_init(struct md *md, const struct ap_model *model, struct ap_sink sink);

#endif
