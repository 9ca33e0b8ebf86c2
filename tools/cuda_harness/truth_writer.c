/* SPDX-License-Identifier: MIT
 * See truth_writer.h. */
#include "truth_writer.h"

#include <inttypes.h>

#include "harness_text.h"

static void member(struct ap_out *out, const char *key, const char *text)
{
    ap_out_format(out, "  \"%s\": ", key);
    harness_json_string(out, text);
    ap_out_string(out, ",\n");
}

static void write_truth(struct ap_out *out, const void *self)
{
    const struct harness_truth *truth = self;
    ap_out_string(out, "{\n");
    member(out, "cause", truth->cause);
    ap_out_format(out, "  \"planted\": %s,\n", truth->planted ? "true" : "false");
    member(out, "twin", truth->twin);
    member(out, "recording", truth->recording);
    member(out, "made_by", truth->made_by);
    ap_out_string(out, "  \"accept\": [");
    for (const char *const *rule = truth->accept; truth->planted && rule && *rule; rule++) {
        if (rule != truth->accept)
            ap_out_string(out, ", ");
        harness_json_string(out, *rule);
    }
    ap_out_string(out, "],\n");
    member(out, "unit", truth->unit);
    if (truth->cost_known)
        ap_out_format(out, "  \"planted_cost\": %" PRId64 ",\n", truth->planted_cost);
    else
        ap_out_string(out, "  \"planted_cost\": null,\n");
    ap_out_string(out, "  \"note\": ");
    harness_json_string(out, truth->note);
    ap_out_string(out, "\n}\n");
}

enum ap_status harness_truth_write(const struct harness_truth *truth, const char *path, struct ap_error *reterr)
{
    return harness_write_file(path, write_truth, truth, reterr);
}
