/* SPDX-License-Identifier: MIT */
#include "compared_runs.h"

#include "poison.h"

static const char *path_of(const struct ap_request *request, size_t index)
{
    if (index == 0)
        return request->baseline_path;
    return index <= request->more_baseline_count ? request->more_baselines[index - 1]
                                                 : request->more_runs[index - 1 - request->more_baseline_count];
}

enum ap_status ap_compared_runs_open(struct ap_compared_runs *runs, const struct ap_request *request, struct ap_gate *gate,
                                     const char **path, uint64_t *ret_held_bytes, struct ap_error *reterr)
{
    *ret_held_bytes = 0;
    *runs = (struct ap_compared_runs){ .gate = gate };
    if (!request->baseline_path)
        return AP_OK;
    runs->room = 1 + request->more_baseline_count + request->more_run_count;
    AP_TRY(AP_ALLOC_CLEARED(gate, runs->opened, runs->room, reterr));
    AP_TRY(AP_ALLOC_CLEARED(gate, runs->runs, runs->room, reterr));
    for (size_t i = 0; i < runs->room; i++) {
        uint64_t held_bytes;
        *path = path_of(request, i);
        AP_TRY(ap_baseline_open(&runs->opened[i], request, *path, gate, &held_bytes, reterr));
        *ret_held_bytes += held_bytes;
        runs->runs[i] = (struct ap_compare_run){ *path, runs->opened[i].kind, ap_baseline_root(&runs->opened[i]) };
        *(i <= request->more_baseline_count ? &runs->before_count : &runs->more_count) += 1;
    }
    return AP_OK;
}

const struct ap_value *ap_compared_runs_root(const struct ap_compared_runs *runs)
{
    return runs->before_count ? runs->runs[ap_compare_middle(runs->runs, runs->before_count)].root : NULL;
}

void ap_compared_runs_release(struct ap_compared_runs *runs)
{
    for (size_t i = 0; runs->opened && i < runs->room; i++)
        ap_baseline_close(&runs->opened[i]);
    AP_FREE(runs->gate, runs->opened, runs->room);
    AP_FREE(runs->gate, runs->runs, runs->room);
    *runs = (struct ap_compared_runs){ .gate = runs->gate };
}
