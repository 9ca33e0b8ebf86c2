/* SPDX-License-Identifier: MIT
 * gpu_device.c - the row of a trace's device: by its name, else by what the properties tell, else by the kernels' names. */
#include <math.h>
#include <string.h>

#include "gpu_peaks.h"
#include "rows_of.h"

#include "poison.h"

#define ASSUMED_DEVICE "A10G"
#define AMD_WARP 64
#define OTHER_SIZE 0.1 /* of the multiprocessors, which differ by a few between cards of one name */

/* ---- by name ---- */

static bool is_word_end(struct ap_text text, size_t at)
{
    char letter = at < text.bytes ? ap_folded(text.data[at]) : ' ';
    return !((letter >= 'a' && letter <= 'z') || ap_is_digit(letter));
}

/* A word by itself: "A10" is not in "A100". */
static bool has_word(struct ap_text name, const char *word, size_t bytes)
{
    for (size_t at = 0; at + bytes <= name.bytes; at++) {
        size_t same = 0;
        while (same < bytes && ap_folded(name.data[at + same]) == ap_folded(word[same]))
            same++;
        if (same == bytes && (!at || is_word_end(name, at - 1)) && is_word_end(name, at + bytes))
            return true;
    }
    return false;
}

/* Bytes of the choice's words that the name holds, all of them; 0 else. */
static size_t choice_fits(struct ap_text choice, struct ap_text name)
{
    size_t sum = 0;
    for (size_t start = 0; start < choice.bytes;) {
        size_t end = start;
        while (end < choice.bytes && choice.data[end] != ' ')
            end++;
        if (end > start && !has_word(name, choice.data + start, end - start))
            return 0;
        sum += end - start;
        start = end + 1;
    }
    return sum;
}

static size_t row_fits(const struct ap_gpu_peak *row, struct ap_text name)
{
    size_t best = 0;
    for (size_t start = 0; start < row->device.bytes;) {
        const char *comma = memchr(row->device.data + start, ',', row->device.bytes - start);
        size_t end = comma ? (size_t)(comma - row->device.data) : row->device.bytes;
        size_t fits = choice_fits((struct ap_text){ row->device.data + start, end - start }, name);
        best = fits > best ? fits : best;
        start = end + 1;
    }
    return best;
}

static const struct ap_gpu_peak *best_of(const struct ap_gpu_peaks *peaks, size_t first, size_t end, struct ap_text name)
{
    const struct ap_gpu_peak *found = NULL;
    size_t best = 0;
    for (size_t i = first; i < end; i++) {
        size_t fits = row_fits(&peaks->rows[i], name);
        if (fits > best) {
            best = fits;
            found = &peaks->rows[i];
        }
    }
    return found;
}

const struct ap_gpu_peak *ap_gpu_peaks_named(const struct ap_gpu_peaks *peaks, struct ap_text name)
{
    const struct ap_gpu_peak *own = best_of(peaks, 0, peaks->own_count, name);
    return own ? own : best_of(peaks, peaks->own_count, peaks->count, name);
}

/* ---- by properties ---- */

static double distance(double a, double b)
{
    return a > 0 && b > 0 ? fabs(a - b) / b : 1;
}

static bool could_be(const struct ap_gpu_peak *row, const struct ap_device_properties *device)
{
    return row->major == device->compute_major && row->minor == device->compute_minor &&
           (device->warp_size < 0 || row->is_amd == (device->warp_size == AMD_WARP));
}

static double memory_gb_of(const struct ap_device_properties *device)
{
    return (double)device->memory_bytes / (double)(1 << 30);
}

/* They go with the multiprocessors. */
static void fit_rates(const struct ap_device_properties *device, struct ap_gpu_peak *peak)
{
    double ratio = peak->sm_count > 0 ? (double)device->sm_count / peak->sm_count : 1;
    peak->sm_count = (double)device->sm_count;
    for (int type = 0; type < AP_PEAK_TYPE_COUNT_; type++)
        peak->tflop_s[type] *= ratio;
}

static bool by_properties(const struct ap_gpu_peaks *peaks, const struct ap_device_properties *device,
                          struct ap_gpu_peak *ret_peak)
{
    const struct ap_gpu_peak *found = NULL;
    double nearest = 0;
    for (size_t i = 0; i < peaks->count; i++) {
        const struct ap_gpu_peak *row = &peaks->rows[i];
        double far = distance((double)device->sm_count, row->sm_count) + distance(memory_gb_of(device), row->memory_gb);
        if (could_be(row, device) && (!found || far < nearest)) {
            found = row;
            nearest = far;
        }
    }
    if (!found || device->sm_count <= 0)
        return false;
    *ret_peak = *found;
    fit_rates(device, ret_peak);
    return true;
}

/* A part of the device that the name tells (MIG, a partition of MI300X), or a smaller or larger kin of it. */
static bool is_other_size(const struct ap_device_properties *device, const struct ap_gpu_peak *peak)
{
    return device->sm_count > 0 && peak->sm_count > 0 && distance((double)device->sm_count, peak->sm_count) > OTHER_SIZE;
}

/* A part of NVIDIA's has a part of the memory, and of what that can deliver; AMD's may see all of it, but reach no more than
 * their share. */
static void fit_size(const struct ap_device_properties *device, struct ap_gpu_peak *peak)
{
    double multiprocessors = (double)device->sm_count / peak->sm_count;
    double memory = device->memory_bytes > 0 && peak->memory_gb > 0 ? memory_gb_of(device) / peak->memory_gb : 1;
    peak->gb_s *= fmin(1, peak->is_amd ? multiprocessors : memory);
    fit_rates(device, peak);
}

/* ---- by the names of kernels ---- */

static const struct {
    const char *device, *words;
    enum ap_peak_source source;
} makes[] = {
#define AP_KERNEL_DEVICE(device, source, words) { device, words, AP_PEAK_by_##source },
#include "kernel_device.def"
#undef AP_KERNEL_DEVICE
};

static bool holds_a_word(struct ap_text name, const char *words)
{
    char word[32];
    while (*words) {
        size_t bytes = strcspn(words, "|");
        memcpy(word, words, bytes);
        word[bytes] = 0;
        if (ap_text_contains_folded(name, word))
            return true;
        words += bytes + (words[bytes] == '|');
    }
    return false;
}

/* The first line that the name of any kernel fits; their count = none. */
static size_t made_for(const struct ap_trace *trace, const struct ap_kernel_families *families)
{
    size_t best = AP_COUNT_OF(makes);
    for (uint32_t name = 1; name < families->name_count; name++)
        for (size_t make = 0; families->of_name[name] && make < best; make++)
            if (holds_a_word(ap_trace_text(trace, name), makes[make].words))
                best = make;
    return best;
}

static int64_t first_device(const struct ap_trace *trace)
{
    struct ap_rows_of at = ap_rows_of(trace, AP_GPU_KINDS);
    return ap_rows_of_next(&at) ? ap_row_device(trace, at.row) : -1;
}

static const struct ap_device_properties *properties_of(const struct ap_trace *trace)
{
    int64_t device = first_device(trace);
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == device)
            return &trace->devices[i];
    return trace->device_count ? &trace->devices[0] : NULL;
}

bool ap_gpu_peaks_find(const struct ap_gpu_peaks *peaks, const struct ap_trace *trace,
                       const struct ap_kernel_families *families, struct ap_device_peak *ret_device)
{
    const struct ap_device_properties *properties = properties_of(trace);
    struct ap_device_peak device = { .source = AP_PEAK_by_name };
    const struct ap_gpu_peak *row = NULL;
    if (properties) {
        device.name = properties->name;
        for (size_t i = 0; i < trace->device_count; i++)
            device.is_mixed |= trace->devices[i].name.id != properties->name.id;
        if (properties->name.id)
            row = ap_gpu_peaks_named(peaks, ap_strpool_text(&trace->strings, properties->name));
        if (!row && by_properties(peaks, properties, &device.peak)) {
            device.source = AP_PEAK_by_properties;
            *ret_device = device;
            return true;
        }
        if (!row) /* a device that the table does not know, and no likeness of it */
            return false;
    }
    if (!row && !properties && peaks->own_count == 1) {
        device.source = AP_PEAK_by_table;
        row = &peaks->rows[0];
    }
    if (!row) {
        size_t make = made_for(trace, families);
        bool told = make < AP_COUNT_OF(makes);
        device.source = told ? makes[make].source : AP_PEAK_assumed;
        row = ap_gpu_peaks_named(peaks, ap_text_of(told ? makes[make].device : ASSUMED_DEVICE));
    }
    if (!row)
        return false;
    device.peak = *row;
    if (properties && is_other_size(properties, row)) {
        device.source = AP_PEAK_by_properties;
        fit_size(properties, &device.peak);
    }
    *ret_device = device;
    return true;
}

/* ---- by what it did ---- */

static bool can_do(const struct ap_gpu_peak *row, const double *tflop_s, double gb_s)
{
    bool can = gb_s <= row->gb_s * AP_ABOVE_PEAK;
    for (int type = 0; type < AP_PEAK_TYPE_COUNT_; type++)
        can &= tflop_s[type] <= row->tflop_s[type] * AP_ABOVE_PEAK;
    return can;
}

static double might(const struct ap_gpu_peak *row)
{
    return row->tflop_s[AP_PEAK_16_bit] * row->gb_s;
}

bool ap_gpu_peaks_raise(const struct ap_gpu_peaks *peaks, const double tflop_s[AP_PEAK_TYPE_COUNT_], double gb_s,
                        struct ap_device_peak *device)
{
    const struct ap_gpu_peak *least = NULL;
    for (size_t i = 0; i < peaks->count && device->source >= AP_PEAK_by_kernels; i++) {
        const struct ap_gpu_peak *row = &peaks->rows[i];
        if (row->is_amd == device->peak.is_amd && row->major >= device->peak.major && can_do(row, tflop_s, gb_s) &&
            (!least || might(row) < might(least)))
            least = row;
    }
    if (least)
        device->peak = *least;
    return least;
}
