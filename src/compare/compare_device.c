/* SPDX-License-Identifier: MIT
 * compare_device.c - how long kernels take. Shares of the time move with that: where kernels take longer and steps do not,
 * the device looks busier and waits less, which is no gain. */
#include "comparing.h"

#include "poison.h"

static const char figure[] = "gpu.kernel.total_dur_us";

static bool kernels_in(const struct ap_value *root, double parts, double *ret_ns)
{
    double ns;
    if (!ap_value_number(ap_value_at(root, figure), &ns))
        return false;
    *ret_ns = ns / parts;
    return true;
}

void ap_compare_device(struct ap_comparing *comparing)
{
    struct ap_model *model = comparing->model;
    double before_ns, after_ns;
    if (!kernels_in(comparing->before, comparing->before_parts, &before_ns) ||
        !kernels_in(comparing->after, comparing->after_parts, &after_ns)) {
        ap_add_null(model, comparing->comparison, "device");
        return;
    }
    double delta_ns = after_ns - before_ns, size_ns = delta_ns < 0 ? -delta_ns : delta_ns;
    if (ap_relative_difference(before_ns, after_ns) >= comparing->noise_ratio &&
        size_ns >= AP_ROW_LEAST_RATIO * comparing->whole_ns)
        comparing->device_change = ap_change_of(delta_ns, AP_BETTER_lower);
    struct ap_value *device = ap_add_object(model, comparing->comparison, "device");
    ap_add_string(model, device, "per", comparing->per_step ? "step" : "recording");
    ap_add_time(model, device, "before_us", (int64_t)before_ns);
    ap_add_time(model, device, "after_us", (int64_t)after_ns);
    ap_add_time(model, device, "delta_us", (int64_t)after_ns - (int64_t)before_ns);
    ap_add_quotient(model, device, "delta_ratio", delta_ns, before_ns);
    ap_add_string(model, device, "change", ap_change_name(ap_change_said(comparing, comparing->device_change)));
}

enum ap_change ap_change_of_share(const struct ap_comparing *comparing, enum ap_change change)
{
    bool hidden = change == AP_CHANGE_better && comparing->device_change == AP_CHANGE_worse;
    bool laid_bare = change == AP_CHANGE_worse && comparing->device_change == AP_CHANGE_better;
    return (hidden || laid_bare) && comparing->step_change != change ? AP_CHANGE_other : change;
}
