/* SPDX-License-Identifier: MIT */
#include "catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "poison.h"

bool ap_catalogue_matches(struct ap_text path, const char *pattern)
{
    size_t i = 0, j = 0;
    while (i < path.bytes && pattern[j]) {
        bool at_key = j == 0 || pattern[j - 1] == '.';
        if (at_key && pattern[j] == '*' && path.data[i] != '.') {
            while (i < path.bytes && path.data[i] != '.')
                i++;
            j++;
        } else if (path.data[i++] != pattern[j++]) {
            return false;
        }
    }
    return i == path.bytes && !pattern[j];
}

/* As make_catalogue.py has it. A table that nobody adds to needs no key: how far a look-up goes is known when it is
 * built. */
static size_t slot_of(struct ap_text path)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < path.bytes; i++)
        hash = (hash ^ (unsigned char)path.data[i]) * 16777619u;
    return (hash ^ hash >> 15) & (ap_figure_slot_count - 1);
}

const struct ap_figure_info *ap_catalogue_find(struct ap_text path)
{
    if (memchr(path.data, '\0', path.bytes))
        return NULL;
    for (size_t slot = slot_of(path); ap_figure_slots[slot]; slot = (slot + 1) & (ap_figure_slot_count - 1)) {
        const struct ap_figure_info *figure = &ap_figures[ap_figure_slots[slot] - 1];
        const char *known = ap_figure_text(figure->path);
        if (strncmp(path.data, known, path.bytes) == 0 && !known[path.bytes])
            return figure;
    }
    for (size_t i = 0; i < ap_pattern_figure_count; i++)
        if (ap_catalogue_matches(path, ap_figure_text(ap_figures[ap_pattern_figures[i]].path)))
            return &ap_figures[ap_pattern_figures[i]];
    return NULL;
}

static int by_key(const void *key, const void *element)
{
    const struct ap_text *wanted = key;
    const struct ap_key_info *info = element;
    return ap_text_compare(*wanted, ap_text_of(info->key));
}

const struct ap_key_info *ap_catalogue_key(struct ap_text path)
{
    size_t start = path.bytes;
    while (start && path.data[start - 1] != '.')
        start--;
    struct ap_text key = { start ? path.data + start : path.data, path.bytes - start };
    return bsearch(&key, ap_keys, ap_key_count, sizeof(ap_keys[0]), by_key);
}

const char *ap_catalogue_sign(struct ap_text path)
{
    const struct ap_key_info *key = ap_catalogue_key(path);
    return key && key->sign ? key->sign : "";
}

bool ap_catalogue_has_number(struct ap_text path)
{
    const struct ap_figure_info *figure = ap_catalogue_find(path);
    return figure && figure->is_number;
}

enum ap_unit ap_catalogue_unit(struct ap_text path)
{
    const struct ap_figure_info *figure = ap_catalogue_find(path);
    return figure ? figure->unit : AP_UNIT_number;
}

enum ap_unit ap_catalogue_key_unit(struct ap_text path)
{
    const struct ap_key_info *key = ap_catalogue_key(path);
    return key ? key->unit : AP_UNIT_number;
}
