/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "cleanup.h"

static bool paths_are_hidden;

void ap_output_hide_paths(void)
{
    paths_are_hidden = true;
}

static const char *shown_path(const struct ap_output *output)
{
    return strcmp(output->path, "-") == 0 ? "standard output" : paths_are_hidden ? "an output" : output->path;
}

static enum ap_status fail(const struct ap_output *output, const char *what, struct ap_error *reterr)
{
    return ap_fail(reterr, AP_ERROR_OUTPUT, "%s: %s: %s", shown_path(output), what, strerror(errno));
}

static enum ap_status open_direct(struct ap_output *output, struct ap_error *reterr)
{
    output->direct = true;
    output->file = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return output->file < 0 ? fail(output, "cannot be opened for writing", reterr) : AP_OK;
}

#define MOST_INHERITED 64

/* Who started the program writes that file, too, as with --json-out /dev/stdout >> log: another one in its place would lose
 * what stands in it and what comes behind. -1 = nobody does. */
static int inherited(const struct stat *file)
{
    struct stat status;
    for (int i = STDOUT_FILENO; i < MOST_INHERITED; i++)
        if (fstat(i, &status) == 0 && status.st_dev == file->st_dev && status.st_ino == file->st_ino &&
            (fcntl(i, F_GETFL) & O_ACCMODE) != O_RDONLY)
            return i;
    return -1;
}

static enum ap_status write_on(struct ap_output *output, int descriptor, struct ap_error *reterr)
{
    output->direct = true;
    output->file = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return output->file < 0 ? fail(output, "cannot be opened for writing", reterr) : AP_OK;
}

/* mkstemp makes files that only their owner can read; a report gets the permissions of any new file, or of the file
 * that it replaces. */
static void set_permissions(const struct ap_output *output, const struct stat *old)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(output->file, old ? old->st_mode & 0777 : 0666 & ~mask);
}

#define NAME_BYTES 240 /* a name may have 255, with what is put behind it */

static void name_temporary(struct ap_output *output)
{
    const char *slash = strrchr(output->target, '/');
    size_t folder_bytes = slash ? (size_t)(slash - output->target) + 1 : 0;
    (void)snprintf(output->temporary, sizeof(output->temporary), "%.*s%.*s.part-XXXXXX", (int)folder_bytes, output->target,
                   NAME_BYTES, output->target + folder_bytes);
}

static bool make_temporary(struct ap_output *output)
{
    sigset_t before;
    ap_cli_cleanup_hold(&before);
    output->file = mkstemp(output->temporary);
    int why = errno;
    if (output->file >= 0)
        ap_cli_cleanup_list(output->temporary, false);
    else
        output->temporary[0] = '\0';
    ap_cli_cleanup_go_on(&before);
    errno = why;
    return output->file >= 0;
}

/* Leaves errno as it is. */
static bool is_link(const char *path)
{
    struct stat status;
    int why = errno;
    bool is = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    errno = why;
    return is;
}

enum ap_status ap_output_open(struct ap_output *output, const char *path, struct ap_error *reterr)
{
    struct stat old;
    *output = (struct ap_output){ .file = -1, .path = path };
    if (strcmp(path, "-") == 0) {
        output->direct = true;
        output->file = STDOUT_FILENO;
        return AP_OK;
    }
    bool exists = stat(path, &old) == 0;
    if (!exists && is_link(path)) /* another file in its place would lose where it leads */
        return fail(output, "a link to what is not there", reterr);
    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return fail(output, "cannot be written", reterr);
    }
    if (exists && !S_ISREG(old.st_mode))
        return open_direct(output, reterr);
    int descriptor = exists ? inherited(&old) : -1;
    if (descriptor >= 0)
        return write_on(output, descriptor, reterr);
    char *resolved = exists ? realpath(path, NULL) : NULL;
    const char *target = resolved ? resolved : path;
    if (strlen(target) >= sizeof(output->target)) {
        free(resolved);
        errno = ENAMETOOLONG;
        return fail(output, "cannot be written", reterr);
    }
    (void)snprintf(output->target, sizeof(output->target), "%s", target);
    free(resolved);
    name_temporary(output);
    if (!make_temporary(output))
        return fail(output, "cannot be created", reterr);
    (void)fcntl(output->file, F_SETFD, FD_CLOEXEC);
    set_permissions(output, exists ? &old : NULL);
    return AP_OK;
}

enum ap_status ap_output_open_end(struct ap_output *output, const char *path, struct ap_error *reterr)
{
    *output = (struct ap_output){ .path = path, .direct = true };
    output->file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    return output->file >= 0 ? AP_OK : fail(output, "cannot be written", reterr);
}

enum ap_status ap_output_write(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    const struct ap_output *output = self;
    while (bytes) {
        ssize_t written = write(output->file, data, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EPIPE && output->file == STDOUT_FILENO)
            return AP_OK; /* who reads has seen enough; the files beside it are written all the same */
        if (written < 0)
            return fail(output, "cannot be written", reterr);
        data += written;
        bytes -= (size_t)written;
    }
    return AP_OK;
}

enum ap_status ap_output_close(struct ap_output *output, struct ap_error *reterr)
{
    int file = output->file;
    output->file = -1;
    return close(file) == 0 ? AP_OK : fail(output, "cannot be written", reterr);
}

enum ap_status ap_output_commit(struct ap_output *output, struct ap_error *reterr)
{
    if (output->direct)
        return AP_OK;
    if (rename(output->temporary, output->target) != 0)
        return fail(output, "cannot be put in place", reterr);
    ap_cli_cleanup_unlist(output->temporary);
    output->temporary[0] = '\0';
    return AP_OK;
}

void ap_output_discard(struct ap_output *output)
{
    if (output->file > STDERR_FILENO)
        (void)close(output->file);
    output->file = -1;
    if (output->temporary[0])
        (void)unlink(output->temporary);
    ap_cli_cleanup_unlist(output->temporary);
    output->temporary[0] = '\0';
}
