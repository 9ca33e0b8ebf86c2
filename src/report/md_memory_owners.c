/* SPDX-License-Identifier: MIT
 * The memory section's owners: what is in use at the peak, short-lived allocations, bytes times lifetime, phases. */
#include "md.h"

#include "poison.h"

#define MOST_DEVICES 8

static const struct ap_value *member(const struct ap_value *object, const char *key)
{
    return ap_value_member(object, key);
}

static void write_cell(struct md *md, const struct ap_value *row, const char *key, enum md_form form)
{
    ap_out_char(&md->out, ' ');
    ap_md_value(md, member(row, key), ap_text_of(key), form);
    ap_md_string(md, " |");
}

static void write_amount(struct md *md, const struct ap_value *row)
{
    write_cell(md, row, "requested_bytes", MD_FIGURE);
    write_cell(md, row, "allocations", MD_FIGURE);
    write_cell(md, row, "share_ratio", MD_FIGURE);
}

static void write_evidence(struct md *md, const struct ap_value *row)
{
    const struct ap_value *first = ap_value_first(member(row, "evidence"));
    for (const struct ap_value *item = first; item; item = item->next) {
        ap_md_string(md, item == first ? " " : "; ");
        ap_md_prose(md, ap_value_text(member(item, "reason")));
        if (!first->next)
            continue;
        ap_md_string(md, " (");
        ap_md_rounded(md, member(item, "requested_bytes"));
        ap_md_string(md, ")");
    }
    ap_md_string(md, " |\n");
}

static void write_categories(struct md *md, const struct ap_value *device, size_t index)
{
    ap_out_format(&md->out, "\nRows of `memory.peak.devices[%zu].by_category`.\n", index);
    ap_md_string(md, "\n| Category | Requested (B) | Allocations | Share | Told by |\n"
                     "| :--- | ---: | ---: | ---: | :--- |\n");
    for (const struct ap_value *row = ap_value_first(member(device, "by_category")); row; row = row->next) {
        if (!ap_value_integer(member(row, "requested_bytes"), 0) && !ap_value_integer(member(row, "allocations"), 0))
            continue;
        ap_md_string(md, "|");
        write_cell(md, row, "category", MD_PROSE);
        write_amount(md, row);
        write_evidence(md, row);
    }
}

static void write_frames(struct md *md, const struct ap_value *device, size_t index)
{
    const struct ap_value *rows = member(device, "by_frame");
    if (!ap_value_first(rows))
        return;
    ap_out_format(&md->out, "\nRows of `memory.peak.devices[%zu].by_frame`, most bytes first: the innermost frame that is "
                            "not a library's.\n", index);
    ap_md_string(md, "\n| Allocated by | Code | Requested (B) | Allocations | Share |\n"
                     "| :--- | :--- | ---: | ---: | ---: |\n");
    for (const struct ap_value *row = ap_value_first(rows); row; row = row->next) {
        ap_md_string(md, "|");
        write_cell(md, row, "frame", MD_NAME);
        write_cell(md, row, "code", MD_PROSE);
        write_amount(md, row);
        ap_out_char(&md->out, '\n');
    }
}

static bool is_peak(const struct ap_value *device)
{
    return ap_text_is(ap_value_text(member(device, "at")), "peak");
}

/* "2.68 GiB in 236 allocations, at entry 240; ..." */
static void write_moment(struct md *md, const struct ap_value *device)
{
    const struct ap_value *phase = member(device, "phase"), *stacked = member(device, "with_stack_ratio");
    int64_t position = ap_value_integer(member(device, "position"), 0);
    ap_md_string(md, "\n");
    ap_md_value(md, member(device, "requested_bytes"), AP_TEXT("requested_bytes"), MD_FULL);
    ap_md_string(md, " in ");
    ap_md_value(md, member(device, "live_count"), AP_TEXT("live_count"), MD_FIGURE);
    ap_md_string(md, is_peak(device) ? " allocations" : " allocations, at the end: no history tells a peak");
    if (is_peak(device) && position > 0) {
        ap_md_string(md, ", at entry ");
        ap_md_integer(md, position - 1);
    } else if (is_peak(device)) {
        ap_md_string(md, ", before the first entry");
    }
    if (phase && phase->type == AP_VALUE_TEXT) {
        ap_md_string(md, ", in ");
        ap_md_name(md, ap_value_text(phase));
    }
    ap_md_string(md, ". Stacks are recorded for ");
    ap_md_value(md, stacked, AP_TEXT("with_stack_ratio"), MD_FIGURE);
    ap_md_string(md, " of the bytes.\n");
}

static void write_device(struct md *md, const struct ap_value *device, size_t index)
{
    ap_md_string(md, is_peak(device) ? "\n### Who owns the peak, device " : "\n### Who owns the memory, device ");
    ap_md_value(md, member(device, "device"), AP_TEXT("device"), MD_ID);
    ap_out_char(&md->out, '\n');
    write_moment(md, device);
    write_categories(md, device, index);
    write_frames(md, device, index);
}

static void write_devices(struct md *md)
{
    size_t index = 0;
    for (const struct ap_value *device = ap_value_first(ap_md_at(md, "memory.peak.devices")); device; device = device->next) {
        if (index < MOST_DEVICES && ap_value_integer(member(device, "live_count"), 0) > 0)
            write_device(md, device, index);
        index++;
    }
    if (index > MOST_DEVICES) {
        ap_md_string(md, "\nThe first ");
        ap_md_integer(md, MOST_DEVICES);
        ap_md_string(md, " of ");
        ap_md_integer(md, (int64_t)index);
        ap_md_string(md, " devices; `memory.peak.devices` has all.\n");
    }
}

static void write_lifetimes(struct md *md)
{
    static const struct md_column temporaries[] = {
        MD_COLUMN("frame", "Allocated by", MD_NAME),
        MD_COLUMN("stack", "Stack", MD_ID),
        MD_COLUMN("largest_bytes", "Largest (B)", MD_FIGURE),
        MD_COLUMN("allocations", "Allocations", MD_FIGURE),
        MD_COLUMN("requested_bytes", "Sum (B)", MD_FIGURE),
        MD_COLUMN("mean_life_entries", "Mean life (entries)", MD_FIGURE),
        MD_COLUMN("mean_life_us", "Mean life (us)", MD_FIGURE),
    };
    static const struct md_column byte_time[] = {
        MD_COLUMN("frame", "Allocated by", MD_NAME),
        MD_COLUMN("stack", "Stack", MD_ID),
        MD_COLUMN("gigabyte_seconds", "GB s", MD_FIGURE),
        MD_COLUMN("gigabyte_entries", "GB entries", MD_FIGURE),
        MD_COLUMN("share_ratio", "Share", MD_FIGURE),
        MD_COLUMN("allocations", "Allocations", MD_FIGURE),
    };
    static const struct md_column counts[] = {
        MD_COLUMN("frame", "Allocated by", MD_NAME),
        MD_COLUMN("stack", "Stack", MD_ID),
        MD_COLUMN("allocations", "Allocations", MD_FIGURE),
        MD_COLUMN("share_ratio", "Share", MD_FIGURE),
        MD_COLUMN("requested_bytes", "Sum (B)", MD_FIGURE),
    };
    static const struct md_table short_table = { .path = "memory.temporaries", .limit = 10,
                                                 .remark = ", freed within 32 entries, largest first",
                                                 MD_COLUMNS(temporaries) };
    static const struct md_table time_table = { .path = "memory.byte_time", .limit = 10,
                                                .remark = ", bytes times lifetime, largest first", MD_COLUMNS(byte_time) };
    static const struct md_table count_table = { .path = "memory.allocation_counts", .limit = 10,
                                                 .remark = ", most first", MD_COLUMNS(counts) };
    ap_md_table(md, "Short-lived allocations", &short_table);
    ap_md_table(md, "Bytes times lifetime", &time_table);
    ap_md_table(md, "Stacks that allocate most often", &count_table);
}

static void write_phases(struct md *md)
{
    static const struct md_column phases[] = {
        MD_COLUMN("name", "Phase", MD_NAME),
        MD_COLUMN("device", "Device", MD_ID),
        MD_COLUMN("count", "Occurrences", MD_FIGURE),
        MD_COLUMN("peak_requested_bytes", "Peak (B)", MD_FIGURE),
        MD_COLUMN("delta_bytes", "Change (B)", MD_FIGURE),
        MD_COLUMN("delta_bytes_sum", "Change, all occurrences (B)", MD_FIGURE),
        MD_COLUMN("start_us", "Start (us)", MD_ID),
        MD_COLUMN("dur_us", "Duration (us)", MD_FIGURE),
    };
    static const struct md_table table = { .path = "memory.phases",
                                           .remark = ", highest peak first; start, duration and change are those of the "
                                                     "occurrence with the highest peak",
                                           MD_COLUMNS(phases) };
    ap_md_table(md, "Memory by annotated phase", &table);
}

/* ", 37.3 % temporaries, 59.1 % unknown" */
static void write_shares(struct md *md, const struct ap_value *device)
{
    const char *before = ": ";
    for (const struct ap_value *row = ap_value_first(member(device, "by_category")); row; row = row->next) {
        if (ap_value_integer(member(row, "requested_bytes"), 0) <= 0)
            continue;
        ap_md_string(md, before);
        ap_md_value(md, member(row, "share_ratio"), AP_TEXT("share_ratio"), MD_FIGURE);
        ap_out_char(&md->out, ' ');
        ap_md_prose(md, ap_value_text(member(row, "category")));
        before = ", ";
    }
}

void ap_md_memory_bound(struct md *md)
{
    int64_t id = ap_value_integer(ap_md_at(md, "memory.peak.device"), -1);
    const struct ap_value *device = ap_value_first(ap_md_at(md, "memory.peak.devices")), *owner;
    while (device && ap_value_integer(member(device, "device"), -1) != id)
        device = device->next;
    bool wanted = !ap_md_known(md, "focus") || ap_text_is(ap_value_text(ap_md_at(md, "focus")), "memory");
    if (!wanted || ap_value_integer(member(device, "requested_bytes"), 0) <= 0)
        return;
    ap_md_string(md, "\n**Memory**: ");
    ap_md_rounded(md, member(device, "requested_bytes"));
    ap_md_string(md, is_peak(device) ? " in use at the peak, device " : " in use, device ");
    ap_md_value(md, member(device, "device"), AP_TEXT("device"), MD_ID);
    write_shares(md, device);
    owner = ap_value_first(member(device, "by_frame"));
    while (owner && !ap_value_text(member(owner, "frame")).bytes)
        owner = owner->next;
    if (owner) {
        ap_md_string(md, "; most by ");
        ap_md_name(md, ap_value_text(member(owner, "frame")));
        ap_out_char(&md->out, ' ');
        ap_md_rounded(md, member(owner, "requested_bytes"));
    }
    ap_md_string(md, ".\n");
}

void ap_md_memory_owners(struct md *md)
{
    write_devices(md);
    write_phases(md);
    write_lifetimes(md);
}
