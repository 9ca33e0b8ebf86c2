/* SPDX-License-Identifier: MIT
 * The hardware that a rule holds for, and what the report tells of the one that was used. */
#include <string.h>

#include "rule.h"

#include "poison.h"

static const struct ap_hardware hardware[] = {
    { "any", AP_PLATFORM_any, 0 },
    { "CPU", AP_PLATFORM_cpu, 0 },
    { "CUDA and ROCm", AP_PLATFORM_gpu, 0 },
    { "CUDA", AP_PLATFORM_cuda, 0 },
    { "ROCm", AP_PLATFORM_rocm, 0 },
    { "CUDA, compute capability 7.0 and later", AP_PLATFORM_cuda, 7.0 },
    { "CUDA, compute capability 7.5 and later", AP_PLATFORM_cuda, 7.5 },
    { "CUDA, compute capability 8.0 and later", AP_PLATFORM_cuda, 8.0 },
    { "CUDA, compute capability 8.9 and later", AP_PLATFORM_cuda, 8.9 },
    { "CUDA, compute capability 9.0 and later", AP_PLATFORM_cuda, 9.0 },
    { "CUDA, compute capability 10.0 and later", AP_PLATFORM_cuda, 10.0 },
};

bool ap_hardware_find(struct ap_text name, struct ap_hardware *ret_hardware)
{
    for (size_t i = 0; i < AP_COUNT_OF(hardware); i++)
        if (ap_text_is(name, hardware[i].name)) {
            *ret_hardware = hardware[i];
            return true;
        }
    return false;
}

const char *ap_hardware_names(void)
{
    return "any, CPU, CUDA and ROCm, CUDA, ROCm, or CUDA, compute capability N and later, with 7.0, 7.5, 8.0, 8.9, 9.0 or "
           "10.0";
}

/* By the calls of its runtime: both give their devices a compute capability, and devices may lack a name. */
static enum ap_platform platform_of_calls(const struct ap_value *root)
{
    const struct ap_value *call = ap_value_first(ap_value_at(root, "runtime.calls"));
    for (; call; call = call->next) {
        struct ap_text name = ap_value_text(ap_value_member(call, "name"));
        if (ap_text_starts_with(name, "hip"))
            return AP_PLATFORM_rocm;
        if (ap_text_starts_with(name, "cuda") || ap_text_starts_with(name, "cuLaunch"))
            return AP_PLATFORM_cuda;
    }
    return AP_PLATFORM_any;
}

enum ap_platform ap_platform_of(const struct ap_value *root)
{
    enum ap_platform platform = platform_of_calls(root);
    if (platform != AP_PLATFORM_any)
        return platform;
    struct ap_text device = ap_value_text(ap_value_at(root, "trace.main_device.name"));
    if (ap_text_starts_with(device, "AMD "))
        return AP_PLATFORM_rocm;
    return ap_text_starts_with(device, "NVIDIA ") || ap_text_starts_with(device, "Tesla ") ? AP_PLATFORM_cuda
                                                                                           : AP_PLATFORM_any;
}

bool ap_hardware_fits(const struct ap_hardware *wanted, const struct ap_value *root)
{
    double capability;
    if (wanted->platform != AP_PLATFORM_cuda && wanted->platform != AP_PLATFORM_rocm)
        return true; /* what the condition and its figures say already */
    enum ap_platform platform = ap_platform_of(root);
    if (platform != AP_PLATFORM_any && platform != wanted->platform)
        return false;
    return !ap_value_number(ap_value_at(root, "trace.main_device.compute_capability"), &capability) ||
           capability >= wanted->capability - 0.05;
}
