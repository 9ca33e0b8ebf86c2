/* SPDX-License-Identifier: MIT
 * How hard the allocator worked, on the device with the longest history. */
#include "churn.h"
#include "period_work.h"
#include "snapshot_part.h"

#include "poison.h"

static void put_rates(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_churn *churn)
{
    const struct ap_churn_part *whole = &churn->whole, *steady = &churn->steady;
    double seconds = (double)whole->span_ns / 1e9, steady_seconds = (double)steady->span_ns / 1e9;
    double segment_ops = (double)steady->segment_allocs + (double)steady->segment_frees;
    ap_add_number_per(pass->model, to, "allocations_per_s", (double)whole->allocations, seconds);
    ap_add_number_per(pass->model, to, "bytes_allocated_per_s", (double)whole->allocated_bytes, seconds);
    ap_add_number_per(pass->model, to, "allocations_per_period", (double)steady->allocations, steady->periods);
    ap_add_number_per(pass->model, to, "bytes_allocated_per_period", (double)steady->allocated_bytes, steady->periods);
    ap_add_number_per(pass->model, to, "segment_ops_steady_per_s", segment_ops, steady_seconds);
    ap_add_number_per(pass->model, to, "segment_ops_steady_per_period", segment_ops, steady->periods);
    ap_add_number_per(pass->model, to, "segment_alloc_steady_per_period", (double)steady->segment_allocs, steady->periods);
    ap_add_number_per(pass->model, to, "segment_free_steady_per_period", (double)steady->segment_frees, steady->periods);
    ap_add_number_per(pass->model, to, "empty_cache_steady_per_period", (double)steady->empty_caches, steady->periods);
}

static void put_bursts(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_churn *churn, bool known)
{
    ap_put_count(pass, to, "segment_alloc_steady_count", known, churn->steady.segment_allocs);
    ap_put_count(pass, to, "segment_free_steady_count", known, churn->steady.segment_frees);
    ap_put_bytes(pass, to, "segment_alloc_steady_bytes", known, churn->steady.segment_alloc_bytes);
    ap_put_bytes(pass, to, "segment_free_steady_bytes", known, churn->steady.segment_free_bytes);
    ap_put_count(pass, to, "retry_bursts", known, churn->whole.retries);
    ap_put_count(pass, to, "retry_bursts_steady", known, churn->steady.retries);
    ap_put_bytes(pass, to, "retry_bytes", known, churn->retry_bytes);
    ap_put_count(pass, to, "collections", known, churn->whole.collections);
    ap_put_count(pass, to, "empty_cache_calls", known, churn->whole.empty_caches);
    ap_put_count(pass, to, "empty_cache_calls_steady", known, churn->steady.empty_caches);
    ap_put_count(pass, to, "bursts_steady", known,
                 churn->steady.empty_caches + churn->steady.retries + churn->steady.collections);
    ap_put_bytes(pass, to, "empty_cache_bytes", known, churn->empty_cache_bytes);
}

static void put_pending(struct ap_snapshot_part *pass, struct ap_value *to, const struct ap_churn *churn,
                        const struct ap_replay_device *of, bool known)
{
    const struct ap_actions *actions = &pass->snapshot->actions;
    uint32_t entry = churn->peak_pending_entry;
    known = known && churn->pending_known;
    bool at_entry = known && entry != AP_NO_ENTRY;
    ap_put_bytes(pass, to, "pending_free_peak_bytes", known, churn->peak_pending_bytes);
    if (known)
        ap_add_quotient(pass->model, to, "pending_free_peak_ratio", (double)churn->peak_pending_bytes,
                        (double)of->active.peak_bytes);
    else
        ap_add_null(pass->model, to, "pending_free_peak_ratio");
    ap_put_time(pass, to, "pending_free_peak_time_us", at_entry && (actions->has[entry] & AP_ACTION_HAS_TIME),
                at_entry ? actions->time_ns[entry] : 0);
}

static enum ap_status put_churn(struct ap_snapshot_part *pass, struct ap_value *to, uint32_t device, bool known,
                                const struct ap_churn *churn, const struct ap_periods *periods, struct ap_error *reterr)
{
    static const struct ap_replay_device none = { .entry_count = 0 };
    const struct ap_replay_device *of = known ? &pass->replay->devices[device] : &none;
    ap_put_count(pass, to, "device", known, device);
    ap_put_count(pass, to, "periods", known && churn->whole.periods, churn->whole.periods);
    ap_add_string(pass->model, to, "period_source",
                  ap_memory_period_source(churn->whole.periods ? periods->source : AP_PERIODS_NONE));
    ap_add_known_string(pass->model, to, "steady_is", known,
                        churn->steady.periods ? "after the first period" : "second half");
    ap_put_count(pass, to, "allocations", known, churn->whole.allocations);
    ap_put_bytes(pass, to, "allocated_bytes", known, churn->whole.allocated_bytes);
    put_rates(pass, to, churn);
    put_bursts(pass, to, churn, known);
    AP_TRY(ap_memory_put_frame(pass, to, "empty_cache_frame", churn->empty_cache_stack, reterr));
    put_pending(pass, to, churn, of, known);
    return AP_OK;
}

/* What repeats need be no step: layers of one call do, too. Then nothing is counted by periods. */
static enum ap_status find_steps(const struct ap_snapshot_part *pass, uint32_t device, struct ap_periods *periods,
                                 struct ap_error *reterr)
{
    enum ap_period_proof proof = AP_PERIODS_NO_STEPS;
    AP_TRY(ap_periods_find(pass->replay, device, periods, reterr));
    if (ap_period_count(periods))
        AP_TRY(ap_periods_prove(pass->owners, device, periods, &proof, reterr));
    if (proof < AP_PERIODS_STEPS) {
        ap_periods_release(periods);
        *periods = (struct ap_periods){ .gate = pass->scratch.gate };
    }
    return AP_OK;
}

enum ap_status ap_memory_put_churn(struct ap_snapshot_part *pass, struct ap_value *memory, struct ap_error *reterr)
{
    struct ap_value *to = ap_add_object(pass->model, memory, "churn");
    const struct ap_replay *replay = pass->replay;
    struct ap_churn churn = { .peak_pending_entry = AP_NO_ENTRY };
    struct ap_periods periods = { .gate = pass->scratch.gate };
    uint32_t busiest = 0;
    for (uint32_t i = 1; i < replay->device_count; i++)
        if (replay->devices[i].entry_count > replay->devices[busiest].entry_count)
            busiest = i;
    bool known = replay->device_count && replay->devices[busiest].entry_count > 1;
    if (known) {
        enum ap_status status = find_steps(pass, busiest, &periods, reterr);
        AP_AND_THEN(status, ap_churn_measure(replay, busiest, &periods, &churn, reterr));
        if (status != AP_OK) {
            ap_periods_release(&periods);
            return status;
        }
    }
    enum ap_status status = put_churn(pass, to, busiest, known, &churn, &periods, reterr);
    ap_periods_release(&periods);
    return status;
}
