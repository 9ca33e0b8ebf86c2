/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <string.h>

#include "poison.h"

static const struct unit_name {
    enum ap_unit unit;
    const char *name;
    double scale;
} unit_names[] = {
#define AP_UNIT_NAME(unit, name, scale) { AP_UNIT_##unit, name, scale },
#include "unit.def"
#undef AP_UNIT_NAME
};

const char *ap_unit_name(enum ap_unit unit)
{
    static const char *const names[] = { "count", "size", "time", "ratio", "number", "yes or no" };
    return names[unit];
}

const char *ap_unit_examples(enum ap_unit unit)
{
    static const char *const examples[] = {
        "a number without unit",       "a size such as 64 KiB or 1 GiB", "a time such as 10 us, 1.5 ms or 2 s",
        "a share such as 30 % or 0.3", "a number without unit",          "\"is true\" or \"is false\""
    };
    return examples[unit];
}

static const struct unit_name *find(struct ap_text name)
{
    for (size_t i = 0; i < AP_COUNT_OF(unit_names); i++)
        if (ap_text_is(name, unit_names[i].name))
            return &unit_names[i];
    return NULL;
}

/* "Ki" of "KiB"; "" of "B". */
static struct ap_text multiple_of(struct ap_text name)
{
    name.bytes -= name.bytes && name.data[name.bytes - 1] == 'B';
    return name;
}

bool ap_unit_is_name(struct ap_text word)
{
    const struct unit_name *multiple = find(multiple_of(word));
    return find(word) || (multiple && multiple->unit == AP_UNIT_count);
}

bool ap_unit_take_number(struct ap_text *rest, double *ret_number)
{
    uint64_t digits = 0;
    double scale = 1;
    size_t at = 0, count = 0;
    bool point = false;
    for (; at < rest->bytes; at++) {
        char c = rest->data[at];
        if (c == '.' && !point && count) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        if (++count > 15)
            return false;
        digits = digits * 10 + (uint64_t)(c - '0');
        scale *= point ? 10 : 1;
    }
    if (!count || rest->data[at - 1] == '.')
        return false;
    *ret_number = (double)digits / scale;
    *rest = (struct ap_text){ rest->data + at, rest->bytes - at };
    return true;
}

bool ap_unit_apply(enum ap_unit unit, struct ap_text name, double *number)
{
    const struct unit_name *found = find(name);
    if (!name.bytes)
        return unit != AP_UNIT_bool;
    if (!found || found->unit != unit) {
        found = find(unit == AP_UNIT_bytes ? multiple_of(name) : name);
        if (!found || found->unit != AP_UNIT_count || unit == AP_UNIT_time || unit == AP_UNIT_ratio || unit == AP_UNIT_bool)
            return false;
    }
    /* 30 / 100 is the double nearest to 0.3, 30 * 0.01 is not */
    *number = found->scale < 1 ? *number / 100 : *number * found->scale;
    return true;
}
