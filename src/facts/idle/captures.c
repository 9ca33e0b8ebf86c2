/* SPDX-License-Identifier: MIT */
#include "captures.h"

#include "name_pattern.h"
#include "sort.h"

#include "poison.h"

enum { NOT_ASKED, BEGINS, ENDS, IS_OTHER };

struct finding {
    struct ap_captures *captures;
    const struct ap_trace *trace;
    struct ap_gate *gate;
    uint8_t *is; /* by name: each is looked at once */
};

static uint8_t role_of(const struct finding *finding, uint32_t row)
{
    uint8_t *is = &finding->is[finding->trace->events.name[row]];
    struct ap_text name = ap_trace_text(finding->trace, finding->trace->events.name[row]);
    if (*is == NOT_ASKED)
        *is = ap_text_contains_folded(name, "streambegincapture") ? BEGINS
              : ap_text_contains_folded(name, "streamendcapture") ? ENDS
                                                                  : IS_OTHER;
    return *is;
}

/* One that the recording does not end is not known to be one of what follows. */
static void read_track(struct finding *finding, const struct ap_row_order *order, size_t track)
{
    uint32_t begun = AP_NO_ROW;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (!ap_row_is_of(finding->trace, row, 1u << AP_KIND_runtime))
            continue;
        uint8_t role = role_of(finding, row);
        if (role == ENDS && begun != AP_NO_ROW) {
            ap_stretches_add(&finding->captures->time, finding->gate, finding->trace->events.start_ns[begun],
                             ap_row_end_ns(finding->trace, row));
            finding->captures->row = begun;
        }
        begun = role == BEGINS ? row : role == ENDS ? AP_NO_ROW : begun;
    }
}

enum ap_status ap_captures_init(struct ap_captures *captures, const struct ap_trace *trace, const struct ap_row_order *order,
                                struct ap_gate *gate, struct ap_error *reterr)
{
    struct finding finding = { .captures = captures, .trace = trace, .gate = gate };
    size_t name_count = ap_trace_id_count(trace);
    *captures = (struct ap_captures){ .row = AP_NO_ROW };
    AP_TRY(AP_ALLOC_CLEARED(gate, finding.is, name_count, reterr));
    for (size_t track = 0; track < order->track_count; track++)
        read_track(&finding, order, track);
    AP_FREE(gate, finding.is, name_count);
    (void)ap_stretches_length_ns(&captures->time); /* puts them in order */
    return captures->time.failed ? ap_fail_memory(gate, reterr) : AP_OK;
}

const struct ap_stretch *ap_capture_after(const struct ap_captures *captures, int64_t at_ns)
{
    size_t first = 0;
    AP_BISECT(first, captures->time.count, at, captures->time.list[at].end_ns <= at_ns);
    return first < captures->time.count ? &captures->time.list[first] : NULL;
}
