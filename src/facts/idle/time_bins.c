/* SPDX-License-Identifier: MIT */
#include "time_bins.h"

#include "poison.h"

void ap_time_bins_init(struct ap_time_bins *bins, int64_t start_ns, int64_t end_ns)
{
    *bins = (struct ap_time_bins){ .start_ns = start_ns };
    int64_t range_ns = end_ns - start_ns;
    if (range_ns <= 0)
        return;
    bins->width_ns = range_ns / AP_TIME_BINS_MAX + (range_ns % AP_TIME_BINS_MAX != 0);
    bins->count = (uint32_t)(range_ns / bins->width_ns + (range_ns % bins->width_ns != 0));
}

/* Of so many bins. Their length alone may go beyond int64 where the end does not. */
static int64_t end_of(const struct ap_time_bins *bins, uint32_t count)
{
    return (int64_t)((uint64_t)bins->start_ns + (uint64_t)count * (uint64_t)bins->width_ns);
}

/* The part of the piece in the bin of its start; moves the start behind it. */
static int64_t take_part(const struct ap_time_bins *bins, uint32_t bin, int64_t *start_ns, int64_t end_ns)
{
    int64_t bin_end_ns = end_of(bins, bin + 1);
    int64_t part_end_ns = end_ns < bin_end_ns ? end_ns : bin_end_ns;
    int64_t part_ns = part_end_ns - *start_ns;
    *start_ns = part_end_ns;
    return part_ns;
}

static bool clip(const struct ap_time_bins *bins, int64_t *start_ns, int64_t *end_ns, uint32_t *ret_bin)
{
    if (!bins || !bins->width_ns)
        return false;
    int64_t last_ns = end_of(bins, bins->count);
    *start_ns = *start_ns > bins->start_ns ? *start_ns : bins->start_ns;
    *end_ns = *end_ns < last_ns ? *end_ns : last_ns;
    if (*end_ns <= *start_ns)
        return false;
    *ret_bin = (uint32_t)((*start_ns - bins->start_ns) / bins->width_ns);
    return true;
}

void ap_time_bins_add_class(struct ap_time_bins *bins, int class, int64_t start_ns, int64_t end_ns)
{
    uint32_t bin;
    if (!clip(bins, &start_ns, &end_ns, &bin))
        return;
    for (; start_ns < end_ns; bin++)
        bins->class_ns[bin][class] += take_part(bins, bin, &start_ns, end_ns);
}

void ap_time_bins_add_cause(struct ap_time_bins *bins, enum ap_idle_cause cause, int64_t start_ns, int64_t end_ns)
{
    uint32_t bin;
    if (!clip(bins, &start_ns, &end_ns, &bin))
        return;
    for (; start_ns < end_ns; bin++)
        bins->cause_ns[bin][cause] += take_part(bins, bin, &start_ns, end_ns);
}
