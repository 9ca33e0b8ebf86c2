/* SPDX-License-Identifier: MIT */
#include "md_brief.h"

#include <string.h>

#include "poison.h"

const struct ap_md_form *ap_md_form(size_t i)
{
    static const struct ap_md_form forms[] = {
#define AP_BRIEF_LEVEL(its_findings, its_percent, its_weight) \
    { .findings = (its_findings), .percent = (its_percent), .weight = (its_weight) },
#include "md_brief.def"
    };
    return i < AP_COUNT_OF(forms) ? &forms[i] : NULL;
}

static bool is_of(const char *wanted, struct ap_text heading)
{
    return !wanted || ap_text_starts_with(heading, wanted);
}

struct ap_md_part ap_md_brief_part(const struct ap_md_form *form, const char *section, struct ap_text heading)
{
    static const struct {
        int weight;
        const char *section, *heading;
        size_t rows;
    } parts[] = {
#define AP_BRIEF(its_weight, its_section, its_heading, its_rows) \
    { .weight = (its_weight), .section = (its_section), .heading = (its_heading), .rows = (its_rows) },
#include "md_brief.def"
    };
    for (size_t i = 0; i < AP_COUNT_OF(parts); i++) {
        if (strcmp(parts[i].section, section) != 0 || !is_of(parts[i].heading, heading))
            continue;
        size_t rows = parts[i].rows * form->percent / 100;
        return (struct ap_md_part){ .is_kept = parts[i].weight >= form->weight,
                                    .rows = parts[i].rows && !rows ? 1 : rows,
                                    .items = parts[i].rows };
    }
    return (struct ap_md_part){ .is_kept = false };
}
