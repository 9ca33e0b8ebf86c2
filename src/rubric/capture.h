/* SPDX-License-Identifier: MIT
 * capture.h - what to record next time: what this report could not know, as Python code that is ready to paste. */
#ifndef AP_CAPTURE_H
#define AP_CAPTURE_H

#include "model_build.h"

/** Append "capture" to the root of a tree that was judged: null where nothing is missing. */
void ap_capture_add(struct ap_model *model);

/** Code that records all that can be judged. */
const char *ap_capture_all(void);

#endif
