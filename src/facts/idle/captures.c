/* SPDX-License-Identifier: MIT */
#include "captures.h"

#include "name_pattern.h"
#include "row_set.h"
#include "rows_of.h"
#include "sort.h"

#include "poison.h"

enum { NOT_ASKED, BEGINS, ENDS, LAUNCHES, IS_OTHER };

struct finding {
    struct ap_captures *captures;
    const struct ap_trace *trace;
    struct ap_gate *gate;
    uint8_t *is;                 /* by name: each is looked at once */
    struct ap_row_set with_work; /* launches whose work is in the file: what is captured has none */
};

static uint8_t role_of(const struct finding *finding, uint32_t row)
{
    uint8_t *is = &finding->is[finding->trace->events.name[row]];
    if (*is != NOT_ASKED)
        return *is;
    struct ap_text name = ap_row_name(finding->trace, row);
    *is = ap_text_contains_folded(name, "streambegincapture") ? BEGINS
          : ap_text_contains_folded(name, "streamendcapture") ? ENDS
          : ap_text_contains_folded(name, "launch")           ? LAUNCHES
                                                              : IS_OTHER;
    return *is;
}

static bool has_captures(const struct finding *finding)
{
    for (struct ap_rows_of at = ap_rows_of(finding->trace, 1u << AP_KIND_runtime); ap_rows_of_next(&at);)
        if (role_of(finding, at.row) == BEGINS || role_of(finding, at.row) == ENDS)
            return true;
    return false;
}

static enum ap_status find_launches(struct finding *finding, const struct ap_links *links, struct ap_error *reterr)
{
    AP_TRY(ap_row_set_init(&finding->with_work, finding->gate, finding->trace->events.count, reterr));
    for (size_t i = 0; i < links->count; i++)
        if (ap_launch_at(links, i) != AP_NO_ROW)
            (void)ap_row_set_add(&finding->with_work, ap_launch_at(links, i));
    return AP_OK;
}

/* Of one thread. */
struct reading {
    uint32_t begun;         /* the call that began a capture; AP_NO_ROW = none is open */
    uint32_t first_without; /* launch since the last one with work, or the last capture; AP_NO_ROW = none */
    int64_t until_ns;       /* end of the last launch without work, before any with work, since it was begun */
    bool has_worked;        /* some launch since then had work */
};

static void add(struct finding *finding, uint32_t from, int64_t to_ns)
{
    int64_t from_ns = finding->trace->events.start_ns[from];
    bool overflowed = false; /* sums of threads: the largest number will do */
    ap_stretches_add(&finding->captures->time, finding->gate, from_ns, to_ns);
    finding->captures->total_ns = ap_add_sat(finding->captures->total_ns, to_ns - from_ns, &overflowed);
    finding->captures->row = from;
}

/* A recording that ends, or lacks the call, before the capture ends: it went on as far as launches have no work. */
static void leave_open(struct finding *finding, const struct reading *reading)
{
    if (reading->begun != AP_NO_ROW && reading->until_ns != AP_START_UNKNOWN)
        add(finding, reading->begun, reading->until_ns);
}

static const struct reading at_start = { AP_NO_ROW, AP_NO_ROW, AP_START_UNKNOWN, false };

/* One that began before the recording is known by its end, from the first launch on that has no work. */
static void end_capture(struct finding *finding, struct reading *reading, uint32_t row)
{
    uint32_t from = reading->begun != AP_NO_ROW ? reading->begun : reading->first_without;
    finding->captures->count += reading->begun == AP_NO_ROW && from != AP_NO_ROW;
    if (from != AP_NO_ROW)
        add(finding, from, ap_row_end_ns(finding->trace, row));
    *reading = at_start;
}

static void read_launch(const struct finding *finding, struct reading *reading, uint32_t row)
{
    if (ap_row_set_has(&finding->with_work, row)) {
        reading->first_without = AP_NO_ROW;
        reading->has_worked = true;
        return;
    }
    if (reading->first_without == AP_NO_ROW)
        reading->first_without = row;
    if (!reading->has_worked)
        reading->until_ns = ap_row_end_ns(finding->trace, row);
}

static void read_track(struct finding *finding, const struct ap_row_order *order, size_t track)
{
    struct reading reading = at_start;
    for (size_t at = order->track_start[track]; at < order->track_start[track + 1]; at++) {
        uint32_t row = order->rows[at];
        if (!ap_row_is_of(finding->trace, row, 1u << AP_KIND_runtime))
            continue;
        switch (role_of(finding, row)) {
        case BEGINS:
            leave_open(finding, &reading);
            reading = at_start;
            reading.begun = row;
            finding->captures->count++;
            break;
        case ENDS: end_capture(finding, &reading, row); break;
        case LAUNCHES: read_launch(finding, &reading, row); break;
        default: break;
        }
    }
    leave_open(finding, &reading);
}

enum ap_status ap_captures_init(struct ap_captures *captures, const struct ap_trace *trace, const struct ap_row_order *order,
                                const struct ap_links *links, struct ap_gate *gate, struct ap_error *reterr)
{
    struct finding finding = { .captures = captures, .trace = trace, .gate = gate };
    size_t name_count = ap_trace_id_count(trace);
    enum ap_status status = AP_OK;
    *captures = (struct ap_captures){ .row = AP_NO_ROW };
    AP_TRY(AP_ALLOC_CLEARED(gate, finding.is, name_count, reterr));
    if (has_captures(&finding)) {
        status = find_launches(&finding, links, reterr);
        for (size_t track = 0; track < order->track_count && status == AP_OK; track++)
            read_track(&finding, order, track);
        ap_row_set_release(&finding.with_work);
    }
    AP_FREE(gate, finding.is, name_count);
    AP_TRY(status);
    (void)ap_stretches_length_ns(&captures->time); /* puts them in order */
    return captures->time.failed ? ap_fail_memory(gate, reterr) : AP_OK;
}

const struct ap_stretch *ap_capture_after(const struct ap_captures *captures, int64_t at_ns)
{
    size_t first = 0;
    AP_BISECT(first, captures->time.count, at, captures->time.list[at].end_ns <= at_ns);
    return first < captures->time.count ? &captures->time.list[first] : NULL;
}
