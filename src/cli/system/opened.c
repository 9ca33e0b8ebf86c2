/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum ap_status fail(int why, struct ap_error *reterr)
{
    if (reterr) {
        *reterr = (struct ap_error){ .status = AP_ERROR_INPUT };
        if (why == ENOENT)
            (void)snprintf(reterr->message, sizeof(reterr->message), "no such file");
        else if (why == ENXIO)
            (void)snprintf(reterr->message, sizeof(reterr->message),
                           "this is a socket or a device, expected a regular file");
        else
            (void)snprintf(reterr->message, sizeof(reterr->message), "cannot open the file: %s", strerror(why));
    }
    return AP_ERROR_INPUT;
}

/* One and the same descriptor from its beginning: a file is read once at a time. */
static enum ap_status open_again(void *self, const char *path, int *ret_fd, struct ap_error *reterr)
{
    const struct ap_cli_opened *opened = self;
    for (size_t i = 0; i < opened->count; i++) {
        if (strcmp(opened->files[i].path, path) != 0)
            continue;
        if (opened->files[i].file < 0)
            return fail(opened->files[i].why, reterr);
        *ret_fd = fcntl(opened->files[i].file, F_DUPFD_CLOEXEC, 3);
        if (*ret_fd < 0)
            return fail(errno, reterr);
        (void)lseek(*ret_fd, 0, SEEK_SET);
        return AP_OK;
    }
    return fail(EACCES, reterr);
}

void ap_cli_opened_begin(struct ap_cli_opened *opened)
{
    opened->count = 0;
    opened->opener = (struct ap_opener){ open_again, opened };
}

/* O_NONBLOCK: opening a FIFO would wait for a writer. It means nothing for regular files. */
bool ap_cli_opened_add(struct ap_cli_opened *opened, const char *path)
{
    if (opened->count == AP_CLI_MOST_OPENED)
        return false;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), why = errno;
    opened->files[opened->count].path = path;
    opened->files[opened->count].file = file;
    opened->files[opened->count++].why = file < 0 ? why : 0;
    return true;
}

void ap_cli_opened_release(struct ap_cli_opened *opened)
{
    while (opened->count)
        if (opened->files[--opened->count].file >= 0)
            (void)close(opened->files[opened->count].file);
}
