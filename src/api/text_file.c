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

enum ap_status ap_text_file_read(struct ap_gate *gate, const char *path, const char *what, size_t max_bytes, char **ret_text,
                                 size_t *ret_bytes, struct ap_error *reterr)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return ap_fail(reterr, AP_ERROR_USAGE, "%s cannot be opened: %s", what, strerror(errno));
    enum ap_status status = read_file(gate, file, what, max_bytes, ret_text, ret_bytes, reterr);
    (void)close(file);
    return status;
}
