/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "rubric_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poison.h"

/* One byte more than is allowed is read, so that too long a file is noticed. */
static enum ap_status read_all(int file, char *text, size_t *ret_bytes, struct ap_error *reterr)
{
    size_t bytes = 0;
    while (bytes <= AP_RUBRIC_MAX_BYTES) {
        ssize_t got = read(file, text + bytes, AP_RUBRIC_MAX_BYTES + 1 - bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ap_fail(reterr, AP_ERROR_USAGE, "the rubric cannot be read: %s", strerror(errno));
        if (got == 0)
            break;
        bytes += (size_t)got;
    }
    *ret_bytes = bytes;
    return bytes <= AP_RUBRIC_MAX_BYTES ? AP_OK : ap_fail(reterr, AP_ERROR_USAGE, "the rubric is longer than 1 MiB");
}

static enum ap_status read_and_parse(struct ap_gate *gate, int file, const char *path, struct ap_rubric **ret_rubric,
                                     struct ap_error *reterr)
{
    struct stat about;
    size_t bytes = 0;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
        return ap_fail(reterr, AP_ERROR_USAGE, "the rubric is not a regular file");
    char *text;
    AP_TRY(AP_ALLOC(gate, text, AP_RUBRIC_MAX_BYTES + 1, reterr));
    enum ap_status status = read_all(file, text, &bytes, reterr);
    AP_AND_THEN(status, ap_rubric_parse(gate, text, bytes, path, ret_rubric, reterr));
    ap_mem_free(gate, text, AP_RUBRIC_MAX_BYTES + 1);
    return status;
}

enum ap_status ap_rubric_read(struct ap_gate *gate, const char *path, struct ap_rubric **ret_rubric, struct ap_error *reterr)
{
    struct ap_text builtin = ap_rubric_builtin();
    if (!path)
        return ap_rubric_parse(gate, builtin.data, builtin.bytes, "built-in rubric", ret_rubric, reterr);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return ap_fail(reterr, AP_ERROR_USAGE, "the rubric cannot be opened: %s", strerror(errno));
    enum ap_status status = read_and_parse(gate, file, path, ret_rubric, reterr);
    (void)close(file);
    return status;
}
