/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model_build.h"

#include "poison.h"

const struct ap_value *ap_value_first(const struct ap_value *parent)
{
    if (!parent || (parent->type != AP_VALUE_OBJECT && parent->type != AP_VALUE_LIST))
        return NULL;
    return parent->as.children.first;
}

const struct ap_value *ap_value_member_of(const struct ap_value *object, struct ap_text key)
{
    if (!object || object->type != AP_VALUE_OBJECT)
        return NULL;
    size_t before_last = key.bytes ? key.bytes - 1 : 0;
    /* Keys of as many bytes that end alike are nearly always the same. */
    for (const struct ap_value *child = object->as.children.first; child; child = child->next)
        if (child->key.bytes == key.bytes && (!key.bytes || (child->key.data[before_last] == key.data[before_last] &&
                                                             memcmp(child->key.data, key.data, before_last) == 0)))
            return child;
    return NULL;
}

const struct ap_value *ap_value_member(const struct ap_value *object, const char *key)
{
    return ap_value_member_of(object, ap_text_of(key));
}

const struct ap_value *ap_value_below(const struct ap_value *root, struct ap_text path)
{
    const struct ap_value *value = root;
    while (value && path.bytes) {
        const char *dot = memchr(path.data, '.', path.bytes);
        size_t bytes = dot ? (size_t)(dot - path.data) : path.bytes, passed = bytes + (dot != NULL);
        value = ap_value_member_of(value, (struct ap_text){ path.data, bytes });
        path = (struct ap_text){ path.data + passed, path.bytes - passed };
    }
    return value;
}

const struct ap_value *ap_value_at(const struct ap_value *root, const char *path)
{
    return ap_value_below(root, ap_text_of(path));
}

bool ap_value_number(const struct ap_value *value, double *ret_number)
{
    if (!value)
        return false;
    switch (value->type) {
    case AP_VALUE_BOOL:
    case AP_VALUE_COUNT:
    case AP_VALUE_BYTES:
    case AP_VALUE_TIME_NS: *ret_number = (double)value->as.integer; return true;
    case AP_VALUE_RATIO:
    case AP_VALUE_NUMBER: *ret_number = value->as.number; return true;
    default: return false;
    }
}

int64_t ap_value_integer(const struct ap_value *value, int64_t otherwise)
{
    if (!value || value->type < AP_VALUE_BOOL || value->type > AP_VALUE_TIME_NS)
        return otherwise;
    return value->as.integer;
}

struct ap_text ap_value_text(const struct ap_value *value)
{
    if (!value || (value->type != AP_VALUE_TEXT && value->type != AP_VALUE_LITERAL))
        return (struct ap_text){ "", 0 };
    return value->as.text;
}

size_t ap_value_count(const struct ap_value *parent)
{
    size_t count = 0;
    for (const struct ap_value *child = ap_value_first(parent); child; child = child->next)
        count++;
    return count;
}

struct ap_text ap_text_member(const struct ap_value *object, const char *key)
{
    return ap_value_text(ap_value_member(object, key));
}

struct ap_text ap_text_at(const struct ap_value *root, const char *path)
{
    return ap_value_text(ap_value_at(root, path));
}

int64_t ap_integer_member(const struct ap_value *object, const char *key, int64_t otherwise)
{
    return ap_value_integer(ap_value_member(object, key), otherwise);
}

int64_t ap_integer_at(const struct ap_value *root, const char *path, int64_t otherwise)
{
    return ap_value_integer(ap_value_at(root, path), otherwise);
}
