/* SPDX-License-Identifier: MIT */
#include "family_class.h"

#include <string.h>

#include "poison.h"

static const struct {
    const char *word, *class;
} classes[] = {
#define AP_FAMILY_CLASS(word, class) { word, class },
#include "family_class.def"
};

static const char *find(struct ap_text family)
{
    for (size_t i = 0; i < AP_COUNT_OF(classes); i++)
        if (ap_text_is(family, classes[i].word))
            return classes[i].class;
    return NULL;
}

bool ap_has_family_class(struct ap_text family)
{
    return find(family) != NULL;
}

const char *ap_family_class(struct ap_text family)
{
    const char *found = find(family);
    return found ? found : "fam_other";
}

const char *ap_family_label(const char *family_class)
{
    return strcmp(family_class, "communication") == 0 ? "gin" : "tin";
}
