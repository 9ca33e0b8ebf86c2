/* SPDX-License-Identifier: MIT
 * run_folders.h - the regular files below paths, without a look at what they hold. */
#ifndef AP_RUN_FOLDERS_H
#define AP_RUN_FOLDERS_H

#include "run_files.h"

/** Adds @path, or what is below it where it is a folder, to @files. */
AP_MUST_CHECK enum ap_status ap_run_folders_list(struct ap_run_files *files, const char *path,
                                                 const struct ap_opener *opener, struct ap_error *reterr);
/** Is it one that can be entered? */
bool ap_is_folder(const char *path, const struct ap_opener *opener);

#endif
