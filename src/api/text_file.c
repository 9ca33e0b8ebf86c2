/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poison.h"

/* One byte more than is allowed is read, so that too long a file is noticed. */
static enum ap_status read_all(int file, const char *what, char *text, size_t max_bytes, size_t *ret_bytes,
                               struct ap_error *reterr)
{
    size_t bytes = 0;
    while (bytes <= max_bytes) {
        ssize_t got = read(file, text + bytes, max_bytes + 1 - bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ap_fail(reterr, AP_ERROR_USAGE, "%s cannot be read: %s", what, strerror(errno));
        if (got == 0)
            break;
        bytes += (size_t)got;
    }
    *ret_bytes = bytes;
    return bytes <= max_bytes ? AP_OK : ap_fail(reterr, AP_ERROR_USAGE, "%s is longer than %zu KiB", what, max_bytes / 1024);
}

static enum ap_status read_file(struct ap_gate *gate, int file, const char *what, size_t max_bytes, char **ret_text,
                                size_t *ret_bytes, struct ap_error *reterr)
{
    struct stat about;
    char *text;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return ap_fail(reterr, AP_ERROR_USAGE, "%s is not a regular file", what);
    AP_TRY(AP_ALLOC(gate, text, max_bytes + 1, reterr));
    enum ap_status status = read_all(file, what, text, max_bytes, ret_bytes, reterr);
    if (status == AP_OK)
        *ret_text = text;
    else
        AP_FREE(gate, text, max_bytes + 1);
    return status;
}

static enum ap_status read_text(struct ap_gate *gate, const char *path, const char *what, size_t max_bytes, char **ret_text,
                                size_t *ret_bytes, struct ap_error *reterr)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return ap_fail(reterr, AP_ERROR_USAGE, "%s cannot be opened: %s", what, strerror(errno));
    enum ap_status status = read_file(gate, file, what, max_bytes, ret_text, ret_bytes, reterr);
    (void)close(file);
    return status;
}

enum ap_status ap_rubric_read(struct ap_gate *gate, const char *path, struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    char *text;
    size_t bytes;
    if (!path)
        return ap_rubric_read_builtin(gate, ret_rubric, reterr);
    AP_TRY(read_text(gate, path, "the rubric", AP_RUBRIC_MAX_BYTES, &text, &bytes, reterr));
    enum ap_status status = ap_rubric_parse(gate, text, bytes, path, ret_rubric, reterr);
    AP_FREE(gate, text, AP_RUBRIC_MAX_BYTES + 1);
    return status;
}

static enum ap_status add_own(struct ap_peaks_file *file, const char *path, struct ap_error *reterr)
{
    size_t bytes;
    AP_TRY(read_text(file->gate, path, "the table of GPUs", AP_GPU_PEAKS_MAX_BYTES, &file->text, &bytes, reterr));
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
