/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "metric_names.h"

#include "poison.h"

bool ap_metric_name_matches(struct ap_text name, const char *pattern)
{
    size_t i = 0, j = 0;
    while (i < name.bytes && pattern[j]) {
        bool at_key = j == 0 || pattern[j - 1] == '.';
        if (at_key && pattern[j] == '*' && name.data[i] != '.') {
            while (i < name.bytes && name.data[i] != '.')
                i++;
            j++;
        } else if (name.data[i++] != pattern[j++]) {
            return false;
        }
    }
    return i == name.bytes && !pattern[j];
}

bool ap_metric_name_is_known(struct ap_text name)
{
    for (size_t i = 0; i < ap_metric_name_count; i++)
        if (ap_metric_name_matches(name, ap_metric_names[i]))
            return true;
    return false;
}

static struct ap_text last_key(struct ap_text name)
{
    size_t at = name.bytes;
    while (at && name.data[at - 1] != '.')
        at--;
    return (struct ap_text){ name.data + at, name.bytes - at };
}

static bool ends_with(struct ap_text text, const char *end)
{
    size_t bytes = strlen(end);
    return text.bytes >= bytes && memcmp(text.data + text.bytes - bytes, end, bytes) == 0;
}

enum ap_metric_unit ap_metric_name_unit(struct ap_text name)
{
    struct ap_text key = last_key(name);
    struct ap_text around = { name.data, key.bytes < name.bytes ? name.bytes - key.bytes - 1 : 0 };
    if (ends_with(key, "_us") || ends_with(around, "_us"))
        return AP_METRIC_TIME;
    if (ends_with(key, "_bytes") || ap_text_is(key, "bytes"))
        return AP_METRIC_SIZE;
    return ends_with(key, "_ratio") ? AP_METRIC_RATIO : AP_METRIC_NUMBER;
}
