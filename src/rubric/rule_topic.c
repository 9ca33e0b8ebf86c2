/* SPDX-License-Identifier: MIT
 * What rules are about: a domain, parts of the step, and a kind of bottleneck. */
#include <string.h>

#include "rule.h"

#include "poison.h"

const char *const ap_domain_names[AP_DOMAIN_COUNT_] = {
#define AP_DOMAIN(name) #name,
#include "domain.def"
#undef AP_DOMAIN
};
const char *const ap_phases[AP_PHASE_COUNT] = {
#define AP_STEP_PHASE(name) #name,
#define AP_STEP_PHASE_NAMED(name) #name,
#define AP_STEP_PHASE_FOUND(name)
#include "step_phase.def"
#undef AP_STEP_PHASE
#undef AP_STEP_PHASE_NAMED
};

static const char *const bottlenecks[] = {
#define AP_BOTTLENECK(name) name,
#include "bottleneck.def"
#undef AP_BOTTLENECK
};

bool ap_domain_find(struct ap_text name, enum ap_domain *ret_domain)
{
    for (size_t i = 0; i < AP_DOMAIN_COUNT_; i++)
        if (ap_text_is(name, ap_domain_names[i])) {
            *ret_domain = (enum ap_domain)i;
            return true;
        }
    return false;
}

bool ap_phase_find(struct ap_text name, size_t *ret_phase)
{
    for (size_t i = 0; i < AP_PHASE_COUNT; i++)
        if (ap_text_is(name, ap_phases[i])) {
            *ret_phase = i;
            return true;
        }
    return false;
}

bool ap_is_focus(struct ap_text name)
{
    enum ap_domain domain;
    return ap_domain_find(name, &domain) && domain != AP_DOMAIN_quality;
}

bool ap_is_phase(struct ap_text name)
{
    size_t phase;
    return ap_phase_find(name, &phase);
}

const char *ap_rubric_phase_names(void)
{
    static const char names[] =
#define AP_STEP_PHASE(name) ", " #name
#define AP_STEP_PHASE_NAMED(name) ", " #name
#include "step_phase.def"
#undef AP_STEP_PHASE
#undef AP_STEP_PHASE_NAMED
#undef AP_STEP_PHASE_FOUND
        ;
    return names + 2;
}

const char *ap_bottleneck_find(struct ap_text name)
{
    for (size_t i = 0; i < AP_COUNT_OF(bottlenecks); i++)
        if (ap_text_is(name, bottlenecks[i]))
            return bottlenecks[i];
    return NULL;
}

const char *ap_bottleneck_names(void)
{
    static const char names[] =
#define AP_BOTTLENECK(name) ", " name
#include "bottleneck.def"
#undef AP_BOTTLENECK
        ;
    return names + 2;
}

bool ap_rule_is_about_comparison(const struct ap_rule *rule)
{
    for (size_t i = 0; i < rule->when.comparison_count; i++)
        if (strncmp(ap_figure_text(rule->when.comparisons[i].figure->path), "comparison.", sizeof("comparison.") - 1) == 0)
            return true;
    return false;
}

enum ap_domain ap_rule_default_domain(const struct ap_rule *rule)
{
    const char *path = rule->when.comparison_count ? ap_figure_text(rule->when.comparisons[0].figure->path) : "";
    if (strncmp(path, "memory.", 7) == 0)
        return AP_DOMAIN_memory;
    return strncmp(path, "gpu.", 4) == 0 ? AP_DOMAIN_gpu : AP_DOMAIN_cpu;
}

bool ap_rule_is_wanted(const struct ap_rule *rule, const struct ap_judge_options *options)
{
    size_t phase;
    if (rule->domain == AP_DOMAIN_quality)
        return true;
    if (options->focus && !ap_text_is(ap_text_of(options->focus), ap_domain_names[rule->domain]))
        return false;
    return !options->phase || !rule->phases || !ap_phase_find(ap_text_of(options->phase), &phase) ||
           (rule->phases >> phase & 1);
}
