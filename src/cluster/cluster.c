/* SPDX-License-Identifier: MIT */
#include "cluster.h"

#include "cluster_parts.h"

#include "poison.h"

enum ap_status ap_cluster_analyze(const struct ap_run_files *files, const struct ap_cluster_options *options,
                                  struct ap_gate *gate, struct ap_model *model, const char **ret_path,
                                  struct ap_error *reterr)
{
    (void)options;
    (void)gate;
    *ret_path = NULL;
    struct ap_value *cluster = ap_add_object(model, &model->root, "cluster");
    ap_cluster_add_files(files, model, cluster);
    return ap_model_status(model, reterr);
}
