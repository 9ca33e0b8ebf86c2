/* SPDX-License-Identifier: MIT */
#include "rule.h"

#include "poison.h"

const struct ap_metric ap_metrics[] = {
#define AP_METRIC(path, unit, sentence) { path, AP_UNIT_##unit, sentence },
#include "metrics.def"
#undef AP_METRIC
};
const size_t ap_metric_count = AP_COUNT_OF(ap_metrics);

const struct ap_metric *ap_metric_find(struct ap_text path)
{
    for (size_t i = 0; i < ap_metric_count; i++)
        if (ap_text_is(path, ap_metrics[i].path))
            return &ap_metrics[i];
    return NULL;
}

const char *ap_unit_name(enum ap_unit unit)
{
    static const char *const names[] = { "count", "size", "time", "ratio", "number", "yes or no" };
    return names[unit];
}

const struct ap_value *ap_metric_value(const struct ap_value *root, const struct ap_metric *metric)
{
    const struct ap_value *value = ap_value_at(root, metric->path);
    double number;
    return ap_value_number(value, &number) ? value : NULL;
}
