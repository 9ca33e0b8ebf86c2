/* SPDX-License-Identifier: MIT
 * fusion.h - kernels that stand next to each other and that a known fused kernel replaces, told by both names. */
#ifndef AP_FUSION_H
#define AP_FUSION_H

#include "name_pattern.h"

enum ap_fusion_role {
#define AP_FUSION_ROLE(role, patterns) AP_FUSION_ROLE_##role,
#include "fusion.def"
    AP_FUSION_ROLE_none, /* of no known pair */
    AP_FUSION_ROLE_COUNT_ = AP_FUSION_ROLE_none
};

/** The roles as patterns, for all names of a trace. @patterns may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_fusion_patterns_init(struct ap_name_patterns *patterns, struct ap_gate *gate,
                                                     struct ap_error *reterr);
/** Of a kernel's name. */
enum ap_fusion_role ap_fusion_role_of(const struct ap_name_patterns *patterns, struct ap_text name);

/** What one kernel in place of the two does, for people; NULL = none is known. */
const char *ap_fusion_of(enum ap_fusion_role first, enum ap_fusion_role second);

#endif
