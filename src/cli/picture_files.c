/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "picture_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "cleanup.h"
#include "places.h"

struct ap_cli_picture {
    struct ap_cli_picture *next;
    struct ap_output output;
    char path[AP_OUTPUT_PATH_BYTES];
};

/* Nobody asked for the names of pictures: what lies there and is no file is not waited for, as a FIFO would be. */
static bool is_other_than_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static enum ap_status begin(void *self, const char *name, struct ap_error *reterr)
{
    struct ap_cli_pictures *pictures = self;
    struct ap_cli_picture *picture = calloc(1, sizeof(*picture));
    if (!picture)
        return ap_fail(reterr, AP_ERROR_MEMORY, "%.120s: %s", pictures->folder, "out of memory");
    picture->output.file = -1;
    picture->next = pictures->first;
    pictures->first = picture;
    int bytes = snprintf(picture->path, sizeof(picture->path), "%s/%s.svg", pictures->folder, name);
    if (bytes < 0 || (size_t)bytes >= sizeof(picture->path))
        return ap_fail(reterr, AP_ERROR_OUTPUT, "%.120s: %s", pictures->folder, "the path is too long");
    if (ap_cli_is_input(pictures->options, picture->path))
        return ap_fail(reterr, AP_ERROR_USAGE, "%.120s: %s", picture->path, "a picture would overwrite an input");
    if (ap_cli_is_output(pictures->options, picture->path))
        return ap_fail(reterr, AP_ERROR_USAGE, "%.120s: %s", picture->path, "a picture would overwrite another output");
    if (is_other_than_file(picture->path))
        return ap_fail(reterr, AP_ERROR_OUTPUT, "%.120s: %s", picture->path,
                       "cannot be written: no regular file lies there");
    return ap_output_open(&picture->output, picture->path, reterr);
}

static enum ap_status write_bytes(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct ap_cli_pictures *pictures = self;
    return ap_output_write(&pictures->first->output, data, bytes, reterr);
}

static enum ap_status end(void *self, struct ap_error *reterr)
{
    struct ap_cli_pictures *pictures = self;
    return ap_output_close(&pictures->first->output, reterr);
}

static bool make_folder(struct ap_cli_pictures *pictures)
{
    sigset_t before;
    ap_cli_cleanup_hold(&before);
    pictures->made_folder = mkdir(pictures->folder, 0777) == 0;
    int why = errno;
    if (pictures->made_folder)
        ap_cli_cleanup_list(pictures->folder, true);
    ap_cli_cleanup_go_on(&before);
    errno = why;
    return pictures->made_folder || why == EEXIST;
}

enum ap_status ap_cli_pictures_open(struct ap_cli_pictures *pictures, struct ap_error *reterr)
{
    return !pictures->folder || make_folder(pictures)
               ? AP_OK
               : ap_fail(reterr, AP_ERROR_OUTPUT, "%.120s: %s", pictures->folder, strerror(errno));
}

enum ap_status ap_cli_pictures_write(struct ap_cli_pictures *pictures, const struct ap_report *report,
                                     struct ap_error *reterr)
{
    const struct ap_picture_taker taker = { begin, write_bytes, end, pictures };
    if (!pictures->folder)
        return AP_OK;
    return ap_report_write_pictures(report, &taker, reterr);
}

enum ap_status ap_cli_pictures_commit(struct ap_cli_pictures *pictures, struct ap_error *reterr)
{
    enum ap_status status = AP_OK;
    for (struct ap_cli_picture *picture = pictures->first; picture && status == AP_OK; picture = picture->next)
        status = ap_output_commit(&picture->output, reterr);
    return status;
}

void ap_cli_pictures_release(struct ap_cli_pictures *pictures)
{
    while (pictures->first) {
        struct ap_cli_picture *picture = pictures->first;
        pictures->first = picture->next;
        ap_output_discard(&picture->output);
        free(picture);
    }
    if (!pictures->made_folder)
        return;
    (void)rmdir(pictures->folder); /* stays where a picture was put in place */
    ap_cli_cleanup_unlist(pictures->folder);
    pictures->made_folder = false;
}
