/* SPDX-License-Identifier: MIT
 * record_file.c - an export into a file: written beside it, then put in its place. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "recorder.h"

#include "poison.h"

typedef enum ap_status export_fn(struct ap_recorder *recorder, ap_write_fn *write, void *write_self,
                                 struct ap_error *reterr);

static enum ap_status write_part(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    if (fwrite(data, 1, bytes, self) != bytes)
        return ap_fail(reterr, AP_ERROR_OUTPUT, "writing failed: %s", strerror(errno));
    return AP_OK;
}

static enum ap_status save_part(struct ap_recorder *recorder, export_fn *export, const char *part_path,
                                struct ap_error *reterr)
{
    FILE *file = fopen(part_path, "we");
    if (!file)
        return ap_fail(reterr, AP_ERROR_OUTPUT, "cannot open '%.400s' for writing: %s", part_path, strerror(errno));
    enum ap_status status = export(recorder, write_part, file, reterr);
    if (fclose(file) != 0 && status == AP_OK)
        status = ap_fail(reterr, AP_ERROR_OUTPUT, "writing '%.400s' failed: %s", part_path, strerror(errno));
    return status;
}

static enum ap_status save(struct ap_recorder *recorder, export_fn *export, const char *path, struct ap_error *reterr)
{
    size_t bytes = strlen(path) + sizeof(".part");
    char *part_path = ap_mem_resize(&recorder->gate, NULL, 0, bytes);
    if (!part_path)
        return ap_fail_memory(&recorder->gate, reterr);
    (void)snprintf(part_path, bytes, "%s.part", path);
    enum ap_status status = save_part(recorder, export, part_path, reterr);
    if (status == AP_OK && rename(part_path, path) != 0)
        status = ap_fail(reterr, AP_ERROR_OUTPUT, "cannot put '%.400s' in its place: %s", path, strerror(errno));
    if (status != AP_OK)
        (void)remove(part_path);
    ap_mem_free(&recorder->gate, part_path, bytes);
    return status;
}

enum ap_status ap_recorder_save_trace(struct ap_recorder *recorder, const char *path, struct ap_error *reterr)
{
    return save(recorder, ap_recorder_write_trace, path, reterr);
}

enum ap_status ap_recorder_save_snapshot(struct ap_recorder *recorder, const char *path, struct ap_error *reterr)
{
    return save(recorder, ap_recorder_write_snapshot, path, reterr);
}
