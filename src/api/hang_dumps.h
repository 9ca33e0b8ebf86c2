/* SPDX-License-Identifier: MIT
 * hang_dumps.h - the flight-recorder dumps among the files of a run, from their paths to the key "hang". */
#ifndef AP_HANG_DUMPS_H
#define AP_HANG_DUMPS_H

#include "analyze_profile/analyze_profile.h"
#include "model_build.h"
#include "run_files.h"

/** Read all dumps of @files and append "hang" to the report; nothing where there are none. One that cannot be read is told
 *  in its why_not; where none can, that is the failure, with *ret_path. What was odd goes to @notes. */
AP_MUST_CHECK enum ap_status ap_hang_dumps_add(const struct ap_request *request, struct ap_run_files *files,
                                               struct ap_gate *gate, struct ap_notes *notes, struct ap_model *model,
                                               const char **ret_path, struct ap_error *reterr);

#endif
