/* SPDX-License-Identifier: MIT */
#include "severity.h"

#include <string.h>

#include "poison.h"

const char *const ap_severity_names[AP_SEVERITY_COUNT_] = {
#define AP_SEVERITY(name) #name,
#include "severity.def"
#undef AP_SEVERITY
};

const char *const ap_confidence_names[3] = { "low", "medium", "high" };

int ap_severity_rank(struct ap_text severity)
{
    for (int i = 0; i < AP_SEVERITY_COUNT_; i++)
        if (ap_text_is(severity, ap_severity_names[i]))
            return i;
    return -1;
}

const char *ap_severity_list(enum ap_severity from)
{
    static const char all[] =
#define AP_SEVERITY(name) ", " #name
#include "severity.def"
#undef AP_SEVERITY
        ;
    const char *list = all + 2;
    for (unsigned i = 0; i < from; i++)
        list += strlen(ap_severity_names[i]) + 2;
    return list;
}
