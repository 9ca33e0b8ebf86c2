/* SPDX-License-Identifier: MIT
 * picture_files.h - the pictures of a report on their way to a folder, each in a file of its own; see output.h. */
#ifndef AP_CLI_PICTURE_FILES_H
#define AP_CLI_PICTURE_FILES_H

#include "options.h"
#include "output.h"

struct ap_cli_pictures {
    const char *folder;                   /* NULL = not wanted: nothing is done then */
    const struct ap_cli_options *options; /* for the other files of the run */
    struct ap_cli_picture *first;         /* not in place; the last one begun first */
    bool made_folder;
};

/** Make the folder where it is missing. */
enum ap_status ap_cli_pictures_open(struct ap_cli_pictures *pictures, struct ap_error *reterr);
/** Write all under temporary names. */
enum ap_status ap_cli_pictures_write(struct ap_cli_pictures *pictures, const struct ap_report *report,
                                     struct ap_error *reterr);
/** Put them in place. */
enum ap_status ap_cli_pictures_commit(struct ap_cli_pictures *pictures, struct ap_error *reterr);
/** Remove what is not in place. */
void ap_cli_pictures_release(struct ap_cli_pictures *pictures);

#endif
