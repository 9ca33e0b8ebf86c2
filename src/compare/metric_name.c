/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "metric_names.h"

#include "poison.h"

/* Longest name that distances are taken for. */
#define MAX_NAME 160

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

/* Levenshtein's distance: letters to insert, take away or replace. */
static size_t distance(struct ap_text a, struct ap_text b)
{
    size_t row[MAX_NAME + 1];
    for (size_t j = 0; j <= b.bytes; j++)
        row[j] = j;
    for (size_t i = 0; i < a.bytes; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.bytes; j++) {
            size_t replaced = diagonal + (a.data[i] != b.data[j]), least = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < least ? replaced : least;
        }
    }
    return row[b.bytes];
}

static struct ap_text last_key(struct ap_text name)
{
    size_t at = name.bytes;
    while (at && name.data[at - 1] != '.')
        at--;
    return (struct ap_text){ name.data + at, name.bytes - at };
}

/* The same last key counts as nearer: a place is forgotten sooner than what stands there. */
static size_t unlikeness(struct ap_text name, struct ap_text other)
{
    return distance(name, other) + 4 * distance(last_key(name), last_key(other));
}

void ap_metric_names_near(struct ap_text name, const char *ret_names[AP_METRIC_NEAREST])
{
    size_t best[AP_METRIC_NEAREST], count = 0;
    if (name.bytes > MAX_NAME)
        name.bytes = MAX_NAME;
    for (size_t i = 0; i < ap_metric_name_count; i++) {
        struct ap_text other = ap_text_of(ap_metric_names[i]);
        if (other.bytes > MAX_NAME)
            continue;
        size_t score = unlikeness(name, other), at = count;
        while (at && best[at - 1] > score)
            at--;
        if (at == AP_METRIC_NEAREST)
            continue;
        count += count < AP_METRIC_NEAREST;
        for (size_t j = count - 1; j > at; j--) {
            best[j] = best[j - 1];
            ret_names[j] = ret_names[j - 1];
        }
        best[at] = score;
        ret_names[at] = ap_metric_names[i];
    }
    for (; count < AP_METRIC_NEAREST; count++)
        ret_names[count] = "";
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
