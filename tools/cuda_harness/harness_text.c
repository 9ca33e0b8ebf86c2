/* SPDX-License-Identifier: MIT
 * See harness_text.h. */
#include "harness_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void harness_json_string(struct ap_out *out, const char *text)
{
    if (!text) {
        ap_out_string(out, "null");
        return;
    }
    ap_out_char(out, '"');
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\')
            ap_out_char(out, '\\');
        if (byte < 0x20)
            ap_out_format(out, "\\u%04x", (unsigned)byte);
        else
            ap_out_char(out, *c);
    }
    ap_out_char(out, '"');
}

/** gzip where the path says so. */
struct text_file {
    gzFile gzip;
    FILE *plain;
};

static enum ap_status write_bytes(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    const struct text_file *file = self;
    bool written = file->gzip ? gzfwrite(data, 1, bytes, file->gzip) == bytes : fwrite(data, 1, bytes, file->plain) == bytes;
    return written ? AP_OK : ap_fail(reterr, AP_ERROR_OUTPUT, "writing failed: %s", strerror(errno));
}

static bool open_file(struct text_file *file, const char *path)
{
    size_t bytes = strlen(path);
    if (bytes > 3 && strcmp(path + bytes - 3, ".gz") == 0)
        file->gzip = gzopen(path, "wb9");
    else
        file->plain = fopen(path, "wb");
    return file->gzip || file->plain;
}

static bool close_file(struct text_file *file)
{
    return file->gzip ? gzclose(file->gzip) == Z_OK : fclose(file->plain) == 0;
}

enum ap_status harness_write_file(const char *path, harness_write_fn *write, const void *self, struct ap_error *reterr)
{
    struct text_file file = { 0 };
    if (!open_file(&file, path))
        return ap_fail(reterr, AP_ERROR_OUTPUT, "cannot create %s: %s", path, strerror(errno));
    struct ap_out *out = malloc(sizeof(*out));
    enum ap_status status = AP_OK;
    if (out) {
        ap_out_init(out, (struct ap_sink){ write_bytes, &file });
        write(out, self);
        status = ap_out_finish(out, reterr);
    } else {
        status = ap_fail(reterr, AP_ERROR_MEMORY, "no memory to write %s", path);
    }
    free(out);
    if (!close_file(&file) && status == AP_OK)
        status = ap_fail(reterr, AP_ERROR_OUTPUT, "writing %s failed: %s", path, strerror(errno));
    if (status != AP_OK)
        (void)remove(path);
    return status;
}
