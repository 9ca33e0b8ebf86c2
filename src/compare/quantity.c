/* SPDX-License-Identifier: MIT */
#include "quantity.h"

#include "poison.h"

/* Never through the locale. */
bool ap_quantity_take_number(struct ap_text *rest, double *ret_number)
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
    while (at < rest->bytes && (rest->data[at] == ' ' || rest->data[at] == '\t'))
        at++;
    *rest = (struct ap_text){ rest->data + at, rest->bytes - at };
    return true;
}

static const struct unit {
    const char *name;
    double scale;
} time_units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } },
  multiples[] = {
      { "", 1 },           { "K", 1e3 },           { "M", 1e6 },           { "G", 1e9 },          { "T", 1e12 },
      { "Ki", 1024 },      { "Mi", 1048576 },      { "Gi", 1073741824.0 }, { "Ti", 1099511627776.0 },
  };

static bool scale_by(const struct unit *units, size_t count, struct ap_text name, double *number)
{
    for (size_t i = 0; i < count; i++)
        if (ap_text_is(name, units[i].name)) {
            *number *= units[i].scale;
            return true;
        }
    return false;
}

const char *ap_quantity_apply_unit(enum ap_metric_unit unit, struct ap_text name, double *number)
{
    switch (unit) {
    case AP_METRIC_TIME:
        return scale_by(time_units, AP_COUNT_OF(time_units), name, number)
                   ? NULL : "the figure is a time: a number with ns, us, ms or s was expected, such as 150ms";
    case AP_METRIC_SIZE:
        if (name.bytes && name.data[name.bytes - 1] == 'B')
            name.bytes--;
        return scale_by(multiples, AP_COUNT_OF(multiples), name, number)
                   ? NULL : "the figure is a size: K, M, G, T (powers of 1,000) or Ki, Mi, Gi, Ti (of 1,024) was expected "
                            "behind the number, such as 40GiB";
    case AP_METRIC_RATIO:
        if (ap_text_is(name, "%"))
            *number /= 100;
        else if (name.bytes)
            return "the figure is a ratio: a number such as 80% or 0.8 was expected";
        return NULL;
    case AP_METRIC_NUMBER:
        return scale_by(multiples, AP_COUNT_OF(multiples), name, number) ? NULL
                                                                         : "the figure has no unit: a plain number was expected";
    }
    return NULL;
}
