/* SPDX-License-Identifier: MIT
 * other_profiles.h - the files of other profilers among those that were given, from their paths to the keys that tell of
 * them. */
#ifndef AP_OTHER_PROFILES_H
#define AP_OTHER_PROFILES_H

#include "analyze_profile/analyze_profile.h"
#include "model_build.h"
#include "run_files.h"

/** Read all of @files that are of another profiler and append "profile" and the key of each reader to the report; nothing
 *  where there are none. A failure comes with *ret_path. What was odd goes to @notes. */
AP_MUST_CHECK enum ap_status ap_other_profiles_add(const struct ap_request *request, const struct ap_run_files *files,
                                                   struct ap_gate *gate, struct ap_notes *notes, struct ap_model *model,
                                                   const char **ret_path, struct ap_error *reterr);

#endif
