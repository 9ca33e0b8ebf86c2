/* SPDX-License-Identifier: MIT */
#include "rule.h"

#include "poison.h"

const struct ap_figure_info *ap_figure_find(struct ap_text path)
{
    const struct ap_figure_info *figure = ap_catalogue_find(path);
    return figure && figure->words ? figure : NULL;
}

const struct ap_value *ap_figure_value(const struct ap_value *root, const struct ap_figure_info *figure)
{
    const struct ap_value *value = ap_value_at(root, ap_figure_text(figure->path));
    double number;
    return ap_value_number(value, &number) ? value : NULL;
}
