/* SPDX-License-Identifier: MIT
 * output.h - a report on its way to a file: written beside it under another name and renamed when complete, so that
 * a failed run leaves neither half a report nor destroys an old one. */
#ifndef AP_OUTPUT_H
#define AP_OUTPUT_H

#include "analyze_profile/analyze_profile.h"

#define AP_OUTPUT_PATH_BYTES 4200

struct ap_output {
    int file;                                  /* -1 = not open */
    bool direct;                               /* standard output, a device, a pipe, what was open already: no renaming */
    const char *path;                          /* as given */
    char target[AP_OUTPUT_PATH_BYTES];         /* with links followed */
    char temporary[AP_OUTPUT_PATH_BYTES + 16]; /* empty = none */
};

/** From now on messages call no output by its path. */
void ap_output_hide_paths(void);
/** Open the temporary file. @path "-" = standard output. */
enum ap_status ap_output_open(struct ap_output *output, const char *path, struct ap_error *reterr);
/** Open a file to be written behind what it holds, without a temporary one. */
enum ap_status ap_output_open_end(struct ap_output *output, const char *path, struct ap_error *reterr);
/** An ap_write_fn. */
enum ap_status ap_output_write(void *output, const char *data, size_t bytes, struct ap_error *reterr);
/** All bytes are written: close. */
enum ap_status ap_output_close(struct ap_output *output, struct ap_error *reterr);
/** Put it in place. */
enum ap_status ap_output_commit(struct ap_output *output, struct ap_error *reterr);
/** Remove what is not in place. */
void ap_output_discard(struct ap_output *output);

#endif
