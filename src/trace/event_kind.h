/* SPDX-License-Identifier: MIT
 * event_kind.h - what a category means, whatever year spelled it. The only place that knows category names. */
#ifndef AP_EVENT_KIND_H
#define AP_EVENT_KIND_H

#include "base.h"

enum ap_event_kind {
#define AP_KIND(kind) AP_KIND_##kind,
#include "event_kind.def"
    AP_KIND_COUNT_
};

/** By the table of event_kind.def, whatever the case; names that end with _runtime or _driver are calls. */
enum ap_event_kind ap_event_kind_of(struct ap_text category);
/** Its id in event_kind.def. */
const char *ap_event_kind_name(enum ap_event_kind kind);

/** Kernel, copy or memset: decided by category alone, never by an argument or a pid. */
static inline bool ap_event_kind_is_gpu_work(enum ap_event_kind kind)
{
    return kind == AP_KIND_kernel || kind == AP_KIND_memcpy || kind == AP_KIND_memset;
}

#endif
