/* SPDX-License-Identifier: MIT
 * gpu_peaks.h - what GPUs can do at most: the table of references/gpu-peaks.md, and the row of a trace's device. */
#ifndef AP_GPU_PEAKS_H
#define AP_GPU_PEAKS_H

#include "kernel_family.h"

/** Rates that a device has by what it multiplies. */
enum ap_peak_type {
    AP_PEAK_fp64,
    AP_PEAK_fp32,
    AP_PEAK_tf32,
    AP_PEAK_16_bit,
    AP_PEAK_fp8,
    AP_PEAK_int8,
    AP_PEAK_fp4,
    AP_PEAK_TYPE_COUNT_
};

/** As it heads its column: "16 bit". */
const char *ap_peak_type_name(enum ap_peak_type type);

struct ap_gpu_peak {
    struct ap_text device; /* of the text that was read */
    bool is_amd;
    int64_t major, minor;
    double sm_count, memory_gb;
    double tflop_s[AP_PEAK_TYPE_COUNT_]; /* 0 = cannot, or not known */
    double gb_s;                         /* likewise */
    double matmul_ratio;                 /* of the rate for 16 bits that good products reach */
};

#define AP_ABOVE_PEAK 1.05 /* of a peak: measuring is not more exact */

#define AP_GPU_PEAKS_MAX 256
#define AP_GPU_PEAKS_MAX_BYTES ((size_t)1 << 16)

struct ap_gpu_peaks {
    struct ap_gpu_peak *rows; /* AP_GPU_PEAKS_MAX of them have room */
    size_t count;
    size_t own_count; /* rows that stand first and go before the others where a device's name fits both */
};

/** The text of references/gpu-peaks.md. */
struct ap_text ap_gpu_peaks_builtin(void);

/** Adds the rows of a document, which must stay. AP_ERROR_USAGE with the line of the first mistake, or where there is no
 *  table of devices in it. */
AP_MUST_CHECK enum ap_status ap_gpu_peaks_add(struct ap_gpu_peaks *peaks, struct ap_text document, struct ap_error *reterr);

/** How the row was found. */
enum ap_peak_source {
    AP_PEAK_by_name,
    AP_PEAK_by_table,      /* the file names none, and a document of the caller's has one row */
    AP_PEAK_by_properties, /* estimated: by capability and multiprocessors */
    AP_PEAK_by_kernels,    /* estimated: the names of kernels tell the generation */
    AP_PEAK_by_make,       /* they tell no more than the make */
    AP_PEAK_assumed,       /* nothing is told: a device that most are faster than */
    AP_PEAK_SOURCE_COUNT_
};

struct ap_device_peak {
    struct ap_gpu_peak peak;
    struct ap_str name; /* of the device, as the trace has it; absent = not told */
    enum ap_peak_source source;
    bool is_mixed; /* the trace has devices of several names */
};

/** Of the first device of the trace that has rows of GPU work. False, and nothing is written, where the table has no row
 *  that could do. */
bool ap_gpu_peaks_find(const struct ap_gpu_peaks *peaks, const struct ap_trace *trace,
                       const struct ap_kernel_families *families, struct ap_device_peak *ret_device);

/** The row that this name fits; NULL where there is none. */
const struct ap_gpu_peak *ap_gpu_peaks_named(const struct ap_gpu_peaks *peaks, struct ap_text name);

/** Of a device that is only guessed at (AP_PEAK_by_kernels and behind it): the least one of the same make that can do what
 *  was measured, @tflop_s by type and @gb_s. False, and nothing is written, where the device is known or none can. */
bool ap_gpu_peaks_raise(const struct ap_gpu_peaks *peaks, const double tflop_s[AP_PEAK_TYPE_COUNT_], double gb_s,
                        struct ap_device_peak *device);

#endif
