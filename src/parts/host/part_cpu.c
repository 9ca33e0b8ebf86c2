/* SPDX-License-Identifier: MIT
 * part_cpu.c - operators, threads and named patterns of the host. */
#include "cpu_part.h"

#include "poison.h"

enum ap_status ap_part_cpu(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                           struct ap_error *reterr)
{
    struct ap_value *cpu = ap_add_object(model, root, "cpu");
    ap_add_string(model, cpu, "path", context->options->path);
    AP_TRY(ap_cpu_add_operators(context, model, cpu, reterr));
    AP_TRY(ap_cpu_add_threads(context, model, cpu, reterr));
    return ap_cpu_add_signals(context, model, cpu, reterr);
}
