/* SPDX-License-Identifier: MIT
 * cupti_records.h - CUPTI's activity records into a recording. One recording in a process. */
#ifndef HARNESS_CUPTI_RECORDS_H
#define HARNESS_CUPTI_RECORDS_H

#include "recording.h"

/** Records of all kinds go to @recording from now on; CUPTI stamps them with the host's real-time clock. */
AP_MUST_CHECK enum ap_status harness_cupti_start(struct harness_recording *recording, struct ap_error *reterr);
/** No more records; all that CUPTI still holds is added. The device has been waited for. */
AP_MUST_CHECK enum ap_status harness_cupti_stop(struct harness_recording *recording, struct ap_error *reterr);

#endif
