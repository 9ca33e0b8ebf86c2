/* SPDX-License-Identifier: MIT */
#include "peaks_file.h"

#include "text_file.h"

#include "poison.h"

static enum ap_status add_own(struct ap_peaks_file *file, const char *path, struct ap_error *reterr)
{
    size_t bytes;
    AP_TRY(ap_text_file_read(file->gate, path, "the table of GPUs", AP_GPU_PEAKS_MAX_BYTES, &file->text, &bytes, reterr));
    AP_TRY(ap_gpu_peaks_add(&file->peaks, (struct ap_text){ file->text, bytes }, reterr));
    file->peaks.own_count = file->peaks.count;
    return AP_OK;
}

enum ap_status ap_peaks_file_read(struct ap_peaks_file *file, const char *path, struct ap_gate *gate,
                                  struct ap_error *reterr)
{
    *file = (struct ap_peaks_file){ .gate = gate };
    AP_TRY(AP_ALLOC(gate, file->peaks.rows, AP_GPU_PEAKS_MAX, reterr));
    if (path)
        AP_TRY(add_own(file, path, reterr));
    return ap_gpu_peaks_add(&file->peaks, ap_gpu_peaks_builtin(), reterr);
}

void ap_peaks_file_release(struct ap_peaks_file *file)
{
    if (!file->gate)
        return;
    AP_FREE(file->gate, file->text, AP_GPU_PEAKS_MAX_BYTES + 1);
    AP_FREE(file->gate, file->peaks.rows, AP_GPU_PEAKS_MAX);
    *file = (struct ap_peaks_file){ .gate = NULL };
}
