/* SPDX-License-Identifier: MIT
 * section_memory_owners.c - what is in use at the peak, short-lived allocations, bytes times lifetime, phases. */
#include <stdio.h>

#include "sections.h"

#include "poison.h"

#define MOST_DEVICES 8

static void write_amount(struct doc *doc, const struct ap_value *row)
{
    ap_doc_cell(doc, row, "{f requested_bytes}");
    ap_doc_cell(doc, row, "{f allocations}");
    ap_doc_cell(doc, row, "{f share_ratio}");
}

static void write_evidence(struct doc *doc, const struct ap_value *row)
{
    const struct ap_value *first = ap_value_first(ap_value_member(row, "evidence"));
    ap_doc_begin(doc, DOC_CELL);
    for (const struct ap_value *item = first; item; item = item->next) {
        ap_doc_say(doc, item == first ? "" : "; ");
        ap_doc_tell(doc, item, first->next ? "{p reason} ({r requested_bytes})" : "{p reason}");
    }
    ap_doc_end(doc, DOC_CELL);
}

static void write_caption(struct doc *doc, const char *list, size_t index, const char *remark)
{
    char path[100];
    (void)snprintf(path, sizeof(path), "Rows of `memory.peak.devices[%zu].%s`", index, list);
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_say(doc, path);
    ap_doc_say(doc, remark);
    ap_doc_end(doc, DOC_PARAGRAPH);
}

static void write_categories(struct doc *doc, const struct ap_value *device, size_t index)
{
    static const struct doc_column columns[] = { NAME(NULL, "Category"), NUMBER(NULL, "Requested (B)"),
                                                 NUMBER(NULL, "Allocations"), NUMBER(NULL, "Share"), NAME(NULL, "Told by") };
    write_caption(doc, "by_category", index, ".");
    doc->backend->grid(doc, COUNTED(columns));
    for (const struct ap_value *row = ap_value_first(ap_value_member(device, "by_category")); row; row = row->next) {
        if (!ap_integer_member(row, "requested_bytes", 0) && !ap_integer_member(row, "allocations", 0))
            continue;
        ap_doc_begin(doc, DOC_ROW);
        ap_doc_cell(doc, row, "{p category}");
        write_amount(doc, row);
        write_evidence(doc, row);
        ap_doc_end(doc, DOC_ROW);
    }
    doc->backend->grid_end(doc);
}

static void write_frames(struct doc *doc, const struct ap_value *device, size_t index)
{
    static const struct doc_column columns[] = { NAME(NULL, "Allocated by"), NAME(NULL, "Code"),
                                                 NUMBER(NULL, "Requested (B)"), NUMBER(NULL, "Allocations"),
                                                 NUMBER(NULL, "Share") };
    const struct ap_value *row = ap_value_first(ap_value_member(device, "by_frame"));
    if (!row)
        return;
    write_caption(doc, "by_frame", index, ", most bytes first: the innermost frame that is not a library's.");
    doc->backend->grid(doc, COUNTED(columns));
    for (; row; row = row->next) {
        ap_doc_begin(doc, DOC_ROW);
        ap_doc_cell(doc, row, "{n frame}");
        ap_doc_cell(doc, row, "{p code}");
        write_amount(doc, row);
        ap_doc_end(doc, DOC_ROW);
    }
    doc->backend->grid_end(doc);
}

/* What was in use at the peak and need not have been, with who made it. */
static void write_avoidable(struct doc *doc)
{
    static const struct doc_column columns[] = { NAME(NULL, "What"), NUMBER(NULL, "Held at the peak (B)"),
                                                 NUMBER(NULL, "Peak falls by (B)"), NUMBER(NULL, "Of the peak"),
                                                 NAME(NULL, "Most by") };
    static const struct {
        const char *key, *words;
    } kinds[] = { { "old_gradients", "gradients of the step before" },
                  { "previous_outputs", "results of the step before" },
                  { "batches_ahead", "batches ahead of the loop" },
                  { "unused_graphs", "graphs that no backward pass goes through" },
                  { "failed_step", "what a step that found no room had made" },
                  { "old_state", "state of an earlier optimizer" },
                  { "step_temporaries", "temporaries of the optimizer's step" } };
    bool any = false;
    for (size_t i = 0; i < AP_COUNT_OF(kinds); i++) {
        const struct ap_value *kind = ap_value_member(ap_doc_at(doc, "memory.avoidable"), kinds[i].key);
        if (ap_integer_member(kind, "held_bytes", 0) <= 0)
            continue;
        if (!any) {
            ap_doc_heading(doc, "Held at the peak without need");
            ap_doc_paragraph(doc, NULL,
                             "Rows of `memory.avoidable`; what the peak falls by is less where another moment comes near.");
            doc->backend->grid(doc, COUNTED(columns));
        }
        any = true;
        ap_doc_begin(doc, DOC_ROW);
        ap_doc_begin(doc, DOC_CELL);
        ap_doc_say(doc, kinds[i].words);
        ap_doc_end(doc, DOC_CELL);
        ap_doc_cell(doc, kind, "{f held_bytes}");
        ap_doc_cell(doc, kind, "{f saved_bytes}");
        ap_doc_cell(doc, kind, "{f saved_ratio}");
        ap_doc_cell(doc, ap_value_first(ap_value_member(kind, "by_stack")), "{n frame}");
        ap_doc_end(doc, DOC_ROW);
    }
    if (any)
        doc->backend->grid_end(doc);
}

static bool is_peak(const struct ap_value *device)
{
    return ap_text_is(ap_text_member(device, "at"), "peak");
}

/* "2.68 GiB in 236 allocations, at entry 240; ..." */
static void write_moment(struct doc *doc, const struct ap_value *device)
{
    int64_t position = ap_integer_member(device, "position", 0);
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_tell(doc, device, "{F requested_bytes} in {f live_count} allocations");
    if (!is_peak(device))
        ap_doc_say(doc, ", at the end: no history tells a peak");
    else
        ap_doc_say(doc, position > 0 ? ", at entry " : ", before the first entry");
    if (is_peak(device) && position > 0)
        ap_doc_integer(doc, position - 1);
    ap_doc_tell(doc, device, "[, in {n phase}]. Stacks are recorded for {f with_stack_ratio} of the bytes.");
    ap_doc_end(doc, DOC_PARAGRAPH);
}

static void write_device(struct doc *doc, const struct ap_value *device, size_t index)
{
    ap_doc_begin(doc, DOC_HEADING);
    ap_doc_tell(doc, device,
                is_peak(device) ? "Who owns the peak, device {i device}" : "Who owns the memory, device {i device}");
    ap_doc_end(doc, DOC_HEADING);
    write_moment(doc, device);
    write_categories(doc, device, index);
    write_frames(doc, device, index);
}

static void write_devices(struct doc *doc)
{
    size_t index = 0;
    for (const struct ap_value *device = ap_value_first(ap_doc_at(doc, "memory.peak.devices")); device;
         device = device->next) {
        if (index < MOST_DEVICES && ap_integer_member(device, "live_count", 0) > 0)
            write_device(doc, device, index);
        index++;
    }
    if (index <= MOST_DEVICES)
        return;
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_say(doc, "The first ");
    ap_doc_integer(doc, MOST_DEVICES);
    ap_doc_say(doc, " of ");
    ap_doc_integer(doc, (int64_t)index);
    ap_doc_say(doc, " devices; `memory.peak.devices` has all.");
    ap_doc_end(doc, DOC_PARAGRAPH);
}

static const struct doc_part parts[] = {
    CALL(write_devices),
    CALL(write_avoidable),
    ROWS("Memory by annotated phase", .path = "memory.phases",
         .remark = ", highest peak first; start, duration and change are those of the occurrence with the highest peak",
         COLUMNS(NAME("name", "Phase"), ID("device", "Device"), NUMBER("count", "Occurrences"),
                 NUMBER("peak_requested_bytes", "Peak (B)"), NUMBER("delta_bytes", "Change (B)"),
                 NUMBER("delta_bytes_sum", "Change, all occurrences (B)"), ID("start_us", "Start (us)"),
                 NUMBER("dur_us", "Duration (us)"))),
    ROWS("Short-lived allocations", .path = "memory.temporaries", .remark = ", freed within 32 entries, largest first",
         .limit = 10,
         COLUMNS(NAME("frame", "Allocated by"), ID("stack", "Stack"), NUMBER("largest_bytes", "Largest (B)"),
                 NUMBER("allocations", "Allocations"), NUMBER("requested_bytes", "Sum (B)"),
                 NUMBER("mean_life_entries", "Mean life (entries)"), NUMBER("mean_life_us", "Mean life (us)"))),
    ROWS("Bytes times lifetime", .path = "memory.byte_time", .remark = ", bytes times lifetime, largest first", .limit = 10,
         COLUMNS(NAME("frame", "Allocated by"), ID("stack", "Stack"), NUMBER("gigabyte_seconds", "GB s"),
                 NUMBER("gigabyte_entries", "GB entries"), NUMBER("share_ratio", "Share"),
                 NUMBER("allocations", "Allocations"))),
    ROWS("Stacks that allocate most often", .path = "memory.allocation_counts", .remark = ", most first", .limit = 10,
         COLUMNS(NAME("frame", "Allocated by"), ID("stack", "Stack"), NUMBER("allocations", "Allocations"),
                 NUMBER("share_ratio", "Share"), NUMBER("requested_bytes", "Sum (B)"))),
};

void ap_part_memory_owners(struct doc *doc)
{
    (void)ap_doc_parts(doc, COUNTED(parts));
}

/* ---- for the verdict ---- */

/* ": 37.3 % temporaries, 59.1 % unknown" */
static void write_shares(struct doc *doc, const struct ap_value *device)
{
    const char *template = ": {f share_ratio} {p category}";
    for (const struct ap_value *row = ap_value_first(ap_value_member(device, "by_category")); row; row = row->next) {
        if (ap_integer_member(row, "requested_bytes", 0) <= 0)
            continue;
        ap_doc_tell(doc, row, template);
        template = ", {f share_ratio} {p category}";
    }
}

/* How full what was reserved is, and what would still fit, where only a snapshot was given; as the head of the page. */
static void write_fullness(struct doc *doc)
{
    const struct ap_value *totals = ap_doc_at(doc, "memory.totals");
    int64_t used = ap_integer_member(totals, "allocated_bytes", -1),
            reserved = ap_integer_member(totals, "reserved_bytes", 0);
    bool failed = ap_value_integer(ap_doc_at(doc, "memory.history.oom_count"), 0) > 0;
    if (used < 0 || reserved <= 0 || used > reserved || ap_doc_known(doc, "trace"))
        return;
    const struct ap_value full = { .type = AP_VALUE_RATIO, .as.number = (double)used / (double)reserved };
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_say(doc, failed ? "**Out of memory" : "**");
    if (!failed)
        ap_doc_value(doc, &full, AP_TEXT(""), FORM_NUMBER);
    ap_doc_say(doc, failed ? "**: " : " full**: ");
    ap_doc_tell(doc, totals,
                "{r allocated_bytes} of {r reserved_bytes} that the allocator reserved were "
                "in use when the snapshot was taken");
    if (failed && ap_doc_known(doc, "memory.oom_summary.requested_bytes"))
        ap_doc_tell(doc, NULL, "; the last request that failed was for {r memory.oom_summary.requested_bytes}");
    if (ap_doc_known(doc, "memory.totals.largest_free_block_bytes"))
        ap_doc_tell(doc, totals, "; the largest free piece has {r largest_free_block_bytes}");
    ap_doc_say(doc, ".");
    ap_doc_end(doc, DOC_PARAGRAPH);
}

void ap_part_memory_bound(struct doc *doc)
{
    int64_t id = ap_value_integer(ap_doc_at(doc, "memory.peak.device"), -1);
    const struct ap_value *device = ap_value_first(ap_doc_at(doc, "memory.peak.devices")), *owner;
    while (device && ap_integer_member(device, "device", -1) != id)
        device = device->next;
    bool wanted = !ap_doc_known(doc, "focus") || ap_text_is(ap_doc_text_at(doc, "focus"), "memory");
    if (!wanted || ap_integer_member(device, "requested_bytes", 0) <= 0)
        return;
    write_fullness(doc);
    ap_doc_begin(doc, DOC_PARAGRAPH);
    ap_doc_tell(doc, device,
                is_peak(device) ? "**Memory**: {r requested_bytes} requested and in use at the peak, device {i device}"
                                : "**Memory**: {r requested_bytes} requested and in use, device {i device}");
    write_shares(doc, device);
    const struct ap_value *first = ap_value_first(ap_value_member(device, "by_frame"));
    owner = first;
    while (owner && !ap_text_member(owner, "frame").bytes)
        owner = owner->next;
    if (owner)
        ap_doc_tell(doc, owner,
                    owner == first ? "; most by {n frame} {r requested_bytes}"
                                   : "; of what has a stack most by {n frame} {r requested_bytes}");
    ap_doc_say(doc, ".");
    ap_doc_end(doc, DOC_PARAGRAPH);
}
