/* SPDX-License-Identifier: MIT */
#include "fusion.h"

#include "poison.h"

static const char *const roles[AP_FUSION_ROLE_COUNT_] = {
#define AP_FUSION_ROLE(role, patterns) [AP_FUSION_ROLE_##role] = patterns,
#include "fusion.def"
};

static const struct {
    enum ap_fusion_role first, second;
    const char *text;
} pairs[] = {
#define AP_FUSION(first, second, text) { AP_FUSION_ROLE_##first, AP_FUSION_ROLE_##second, text },
#include "fusion.def"
};

enum ap_status ap_fusion_patterns_init(struct ap_name_patterns *patterns, struct ap_gate *gate, struct ap_error *reterr)
{
    return ap_name_patterns_init(patterns, gate, roles, AP_COUNT_OF(roles), reterr);
}

enum ap_fusion_role ap_fusion_role_of(const struct ap_name_patterns *patterns, struct ap_text name)
{
    return (enum ap_fusion_role)ap_name_patterns_first(patterns, name, AP_FUSION_ROLE_none);
}

const char *ap_fusion_of(enum ap_fusion_role first, enum ap_fusion_role second)
{
    for (size_t i = 0; i < AP_COUNT_OF(pairs); i++)
        if (pairs[i].first == first && pairs[i].second == second)
            return pairs[i].text;
    return NULL;
}
