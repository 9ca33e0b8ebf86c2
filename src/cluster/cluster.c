/* SPDX-License-Identifier: MIT */
#include "cluster.h"

#include "cluster_parts.h"

#include "poison.h"

static enum ap_status add_all(const struct ap_run_found *found, struct ap_model *model, struct ap_error *reterr)
{
    struct ap_value *cluster = ap_add_object(model, &model->root, "cluster");
    ap_cluster_add_late(found, model, cluster);
    ap_cluster_add_summary(found, model, cluster);
    AP_TRY(ap_cluster_add_ranks(found, model, cluster, reterr));
    AP_TRY(ap_cluster_add_step(found, model, cluster, reterr));
    AP_TRY(ap_cluster_add_memory(found, model, cluster, reterr));
    AP_TRY(ap_cluster_add_clocks(found, model, cluster, reterr));
    AP_TRY(ap_cluster_add_files(found, model, cluster, reterr));
    return ap_model_status(model, reterr);
}

static enum ap_status find_all(struct ap_run_found *found, const struct ap_rank_set *set, struct ap_model *model,
                               struct ap_error *reterr)
{
    struct ap_run_view view;
    struct ap_matching matching = { .gate = set->gate };
    struct ap_delays delays = { .gate = set->gate };
    struct ap_run_verdict verdict = { .gate = set->gate };
    struct ap_clocks clocks = { .gate = set->gate };
    enum ap_status status = ap_run_view_init(&view, set, reterr);
    AP_AND_THEN(status, ap_matching_init(&matching, &view, reterr));
    AP_AND_THEN(status, ap_clocks_init(&clocks, &matching, reterr));
    AP_AND_THEN(status, ap_delays_init(&delays, &matching, &clocks, reterr));
    AP_AND_THEN(status, ap_run_verdict_init(&verdict, &delays, reterr));
    found->clocks = &clocks;
    found->view = &view;
    found->matching = &matching;
    found->delays = &delays;
    found->verdict = &verdict;
    AP_AND_THEN(status, add_all(found, model, reterr));
    ap_run_verdict_release(&verdict);
    ap_delays_release(&delays);
    ap_clocks_release(&clocks);
    ap_matching_release(&matching);
    ap_run_view_release(&view);
    return status;
}

enum ap_status ap_cluster_analyze(const struct ap_run_files *files, const struct ap_cluster_options *options,
                                  struct ap_rank_set *set, struct ap_model *model, struct ap_error *reterr)
{
    struct ap_rank_failures failures;
    enum ap_status status = ap_rank_read_all(set, &failures, files, options, reterr);
    struct ap_run_found found = { .files = files, .failures = &failures, .options = options };
    AP_AND_THEN(status, find_all(&found, set, model, reterr));
    ap_rank_failures_release(&failures);
    return status;
}
