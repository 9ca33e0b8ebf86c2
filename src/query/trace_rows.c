/* SPDX-License-Identifier: MIT */
#include "trace_rows.h"

#include <stdio.h>

#include "part.h"

#include "poison.h"

enum ap_status ap_trace_rows_init(struct ap_trace_rows *rows, const struct ap_facts *facts, struct ap_error *reterr)
{
    enum ap_status status = ap_host_chains_init(&rows->chains, facts->trace, &facts->tree, facts->gate, reterr);
    if (status == AP_OK)
        rows->facts = facts;
    else
        ap_host_chains_release(&rows->chains);
    return status;
}

void ap_trace_rows_release(struct ap_trace_rows *rows)
{
    if (rows->facts)
        ap_host_chains_release(&rows->chains);
    *rows = (struct ap_trace_rows){ .facts = NULL };
}

/* "row:1234": the number of the row among the events of the file that have a duration, in order of the file, from 0 on. */
static void format_row_id(uint32_t row, char to[AP_ROW_ID_BYTES])
{
    (void)snprintf(to, AP_ROW_ID_BYTES, "row:%lu", (unsigned long)row);
}

void ap_add_row_id(struct ap_model *model, struct ap_value *to, const char *key, uint32_t row)
{
    char id[AP_ROW_ID_BYTES];
    format_row_id(row, id);
    ap_add_known_string(model, to, key, row != AP_NO_ROW, id);
}

void ap_add_row_name(const struct ap_trace_rows *rows, struct ap_model *model, struct ap_value *to, const char *key,
                     uint32_t row)
{
    ap_add_name(rows->facts->trace, model, to, key, ap_row_name_id(rows->facts->trace, row));
}

void ap_add_step_of(const struct ap_trace_rows *rows, struct ap_model *model, struct ap_value *to, int64_t at_ns)
{
    size_t step = at_ns == AP_START_UNKNOWN ? rows->facts->steps.count : ap_step_at(&rows->facts->steps, at_ns);
    ap_add_known_count(model, to, "step", step < rows->facts->steps.count, (int64_t)step);
}
