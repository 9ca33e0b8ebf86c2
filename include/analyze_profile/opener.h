/* SPDX-License-Identifier: MIT
 * opener.h - who opens the inputs. Knows nothing of what they hold. */
#ifndef ANALYZE_PROFILE_OPENER_H
#define ANALYZE_PROFILE_OPENER_H

#include "analyze_profile/error.h"

/** Opens files in place of open(2), for callers that decide what may be read. *@ret_fd is for reading and is closed by the
 *  library; what is no regular file is refused there. May be called more than once for one path, on the thread that called
 * the library. */
struct ap_opener {
    enum ap_status (*open)(void *opener_self, const char *path, int *ret_fd, struct ap_error *reterr);
    void *opener_self;
};

#endif
