/* SPDX-License-Identifier: MIT
 * The memory section's leaks, churn and fragmentation. */
#include "md.h"

#include "poison.h"

#define FIGURES(array) (array), AP_COUNT_OF(array)

static void write_leaks(struct md *md)
{
    static const struct md_figure growth[] = {
        { "memory.leaks.verdict", "Verdict" },
        { "memory.leaks.confidence", "Confidence" },
        { "memory.leaks.device", "Device" },
        { "memory.leaks.periods", "Periods" },
        { "memory.leaks.period_source", "Periods found by" },
        { "memory.leaks.net_growth_bytes", "Net growth" },
        { "memory.leaks.growth_bytes_per_period", "Growth a period (B)" },
        { "memory.leaks.leaking_bytes", "Of that, by stacks that go on growing" },
        { "memory.leaks.leaking_bytes_per_period", "The same a period (B)" },
        { "memory.leaks.held_bytes", "Held by these stacks at the end" },
        { "memory.leaks.periods_until_full", "Periods until the device is full" },
        { "memory.spike.usual_peak_bytes", "Most in use in a usual period" },
        { "memory.spike.above_usual_bytes", "Peak of the history above that" },
    };
    static const struct md_column stacks[] = {
        MD_COLUMN("frame", "Allocated by", MD_NAME),
        MD_COLUMN("size_bytes", "Each (B)", MD_FIGURE),
        MD_COLUMN("growth_bytes", "Growth (B)", MD_FIGURE),
        MD_COLUMN("count_growth", "Growth (allocations)", MD_FIGURE),
        MD_COLUMN("bytes_per_period", "A period (B)", MD_FIGURE),
        MD_COLUMN("live_bytes", "Live at last (B)", MD_FIGURE),
        MD_COLUMN("first_seen_us", "First seen (us)", MD_ID),
        MD_COLUMN("last_seen_us", "Last seen (us)", MD_ID),
        MD_COLUMN("fit_ratio", "Fit", MD_FIGURE),
    };
    static const struct md_table table = { .path = "memory.leaks.stacks", .remark = ", most grown first",
                                           MD_COLUMNS(stacks) };
    if (!ap_md_known(md, "memory.leaks.net_growth_bytes"))
        return;
    ap_md_figures(md, "Growth from period to period", FIGURES(growth));
    ap_md_table(md, "Stacks that go on growing", &table);
}

static void write_churn(struct md *md)
{
    static const struct md_figure churn[] = {
        { "memory.churn.allocations_per_s", "Allocations a second" },
        { "memory.churn.allocations_per_period", "Allocations a period" },
        { "memory.churn.bytes_allocated_per_period", "Allocated a period (B)" },
        { "memory.churn.steady_is", "Steady state" },
        { "memory.churn.segment_alloc_steady_count", "Segments made in steady state" },
        { "memory.churn.segment_free_steady_count", "Segments given back in steady state" },
        { "memory.churn.segment_ops_steady_per_period", "Both a period" },
        { "memory.churn.retry_bursts", "Cache given up because the device was full" },
        { "memory.churn.empty_cache_calls", "Cache emptied without need" },
        { "memory.churn.empty_cache_frame", "By" },
        { "memory.churn.pending_free_peak_bytes", "Most that waited for a stream" },
    };
    if (ap_md_known(md, "memory.churn.allocations"))
        ap_md_figures(md, "Allocator churn", FIGURES(churn));
}

static void write_fragmentation(struct md *md)
{
    static const struct md_figure stranded[] = {
        { "memory.fragmentation.stranded_bytes", "Stranded" },
        { "memory.fragmentation.stranded_ratio", "Of reserved" },
        { "memory.fragmentation.stranded_segments", "Segments" },
    };
    static const struct md_column pins[] = {
        MD_COLUMN("frame", "Allocated by", MD_NAME),
        MD_COLUMN("pinned_bytes", "Pins (B)", MD_FIGURE),
        MD_COLUMN("live_bytes", "With (B)", MD_FIGURE),
        MD_COLUMN("blocks", "Blocks", MD_FIGURE),
    };
    static const struct md_column choices[] = {
        MD_COLUMN("setting", "Setting", MD_NAME),
        MD_COLUMN("method", "Method", MD_NAME),
        MD_COLUMN("peak_reserved_bytes", "Peak reserved (B)", MD_FIGURE),
        MD_COLUMN("saved_bytes", "Saved (B)", MD_FIGURE),
        MD_COLUMN("failed_allocations", "Failed allocations", MD_FIGURE),
        MD_COLUMN("oom_avoided", "Failures avoided", MD_FIGURE),
    };
    static const struct md_table pin_table = { .path = "memory.fragmentation.pinned_by",
                                               .remark = ", a segment's stranded bytes divided among its live blocks",
                                               MD_COLUMNS(pins) };
    static const struct md_table choice_table = { .path = "memory.fragmentation.whatif", MD_COLUMNS(choices) };
    ap_md_figures(md, "Fragmentation", FIGURES(stranded));
    ap_md_table(md, "Who pins partly used segments", &pin_table);
    if (!ap_md_table(md, "Other settings, simulated", &choice_table))
        return;
    if (ap_md_false(md, "memory.fragmentation.simulation_reproduces"))
        ap_md_string(md, "\nThe model of the allocator does not come to the recorded peak: no figures.\n");
    else
        ap_md_string(md, "\nThe history played with a model of the allocator. A hypothesis: it begins in mid-run, and "
                         "what was live then is taken to lie packed.\n");
}

void ap_md_memory_health(struct md *md)
{
    static const struct md_column notes[] = {
        MD_COLUMN("setting", "Setting", MD_NAME),
        MD_COLUMN("problem", "Problem", MD_PROSE),
    };
    static const struct md_table note_table = { .path = "memory.settings_notes", MD_COLUMNS(notes) };
    write_leaks(md);
    write_churn(md);
    write_fragmentation(md);
    ap_md_table(md, "Allocator settings to look at", &note_table);
}
