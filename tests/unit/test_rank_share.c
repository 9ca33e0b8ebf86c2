/* SPDX-License-Identifier: MIT
 * A run read by several: who reads what, and an answer that is whole, or breaks off at any byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_share.h"
#include "tap.h"

static struct ap_gate gate;

/* ---- who reads what ---- */

enum { FILES = 40 };

static uint64_t load_of(struct ap_share share, const struct ap_run_file *list)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < share.count; i++)
        bytes += list[share.files[i]].size_bytes;
    return bytes;
}

static void spread_over(size_t readers, bool one_is_huge)
{
    struct ap_run_file list[FILES] = { { .path = NULL } };
    struct ap_run_files files = { .files = list, .count = FILES };
    uint32_t order[FILES], seen[FILES] = { 0 };
    uint64_t total = 0, most = 0;
    struct ap_rank_spread spread;
    for (uint32_t i = 0; i < FILES; i++) {
        order[i] = i;
        list[i].size_bytes = one_is_huge && i == 0 ? 100000 : 1000 - 10 * i;
        total += list[i].size_bytes;
    }
    if (!ok(ap_rank_spread_init(&spread, &gate, &files, order, FILES, readers, NULL) == AP_OK, "files are spread"))
        return;
    for (size_t reader = 0; reader < readers; reader++) {
        struct ap_share share = ap_rank_spread_of(&spread, reader);
        uint64_t load = load_of(share, list);
        most = load > most ? load : most;
        for (size_t i = 0; i < share.count; i++)
            seen[share.files[i]]++;
    }
    bool once = true;
    for (size_t i = 0; i < FILES; i++)
        once = once && seen[i] == 1;
    uint64_t least = total / readers > list[0].size_bytes ? total / readers : list[0].size_bytes;
    ok(once, "each has one reader");
    ok(most * 3 <= least * 4 + 3, "and no reader more than a third above the best division");
    ap_rank_spread_release(&spread);
}

/* ---- a helper in this process ---- */

struct other {
    char share[4096], answer[16384];
    size_t share_bytes, answer_bytes, cut_bytes, at;
};

static enum ap_status give(void *self, size_t helper, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct other *other = self;
    (void)helper;
    (void)reterr;
    if (bytes)
        memcpy(other->share, data, bytes);
    other->share_bytes = bytes;
    return AP_OK;
}

static enum ap_status keep(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct other *other = self;
    (void)reterr;
    memcpy(other->answer + other->answer_bytes, data, bytes);
    other->answer_bytes += bytes;
    return AP_OK;
}

/* Up to where it is cut; then it ends, as if its process had. */
static enum ap_status take(void *self, size_t helper, void *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    struct other *other = self;
    size_t left = (other->cut_bytes < other->answer_bytes ? other->cut_bytes : other->answer_bytes) - other->at;
    (void)helper;
    if (!left && other->cut_bytes < other->answer_bytes)
        return ap_fail(reterr, AP_ERROR_INPUT, "gone");
    *ret_bytes = left < cap_bytes ? left : cap_bytes;
    memcpy(to, other->answer + other->at, *ret_bytes);
    other->at += *ret_bytes;
    return AP_OK;
}

static struct other other;
static const struct ap_helpers helpers = { .count = 1, .give = give, .take = take, .self = &other };

/* How many ranks and failures an answer gives that is cut there. */
static bool take_cut(size_t cut_bytes, struct ap_share share, size_t file_count, size_t *ret_ranks, size_t *ret_failures)
{
    struct ap_rank_set set;
    struct ap_rank_failures failures = { .count = file_count };
    struct ap_error error = { .status = AP_OK };
    other.cut_bytes = cut_bytes;
    other.at = 0;
    ap_rank_set_init(&set, &gate);
    ap_arena_init(&failures.arena, &gate);
    bool taken = AP_ALLOC_CLEARED(&gate, failures.why, file_count, &error) == AP_OK &&
                 ap_share_take(&helpers, 0, share, &set, &failures, &error) == AP_OK;
    *ret_ranks = set.count;
    *ret_failures = 0;
    for (size_t i = 0; taken && i < file_count; i++)
        *ret_failures += failures.why[i] != NULL;
    ap_rank_failures_release(&failures);
    ap_rank_set_release(&set);
    return taken;
}

static void answers_are_whole_or_none(void)
{
    const char *fixtures = getenv("AP_FIXTURES");
    char trace[4096];
    (void)snprintf(trace, sizeof(trace), "%s/traces/gpu_only.json", fixtures ? fixtures : "fixtures");
    struct ap_run_file list[3] = { { .path = trace, .head = { .kind = AP_FILE_trace, .rank = 3, .host = "node\"7" } },
                                   { .path = "not asked for" },
                                   { .path = "/none/here.json", .head = { .kind = AP_FILE_trace, .rank = 4 } } };
    struct ap_run_files files = { .files = list, .count = 3 };
    const uint32_t numbers[] = { 0, 2 };
    const struct ap_share share = { numbers, 2 };
    const struct ap_cluster_options options = { .jobs = 1, .max_depth = 100 };
    size_t ranks, failures;
    struct ap_error error = { .status = AP_OK };
    is_int(ap_share_give(&helpers, 0, &files, share, &gate, &error), AP_OK, "a share is given");
    is_int(ap_share_answer((struct ap_text){ other.share, other.share_bytes }, &options, &gate,
                           (struct ap_sink){ keep, &other }, &error),
           AP_OK, "and answered");
    ok(take_cut(SIZE_MAX, share, 3, &ranks, &failures) && ranks == 1 && failures == 1,
       "one file gave a rank, the other a reason why not");
    bool all = true;
    for (size_t cut = 0; cut < other.answer_bytes; cut++)
        all = all && take_cut(cut, share, 3, &ranks, &failures) && ranks == 0 && failures == 2;
    ok(all, "an answer that breaks off anywhere gives no rank, and a reason for each file");
    is_int(ap_share_answer((struct ap_text){ "7\0x\0", 4 }, &options, &gate, (struct ap_sink){ keep, &other }, &error),
           AP_ERROR_USAGE, "what is no share is refused");
}

int main(void)
{
    ap_gate_init(&gate, 0);
    for (size_t readers = 1; readers < 9; readers += 3) {
        spread_over(readers, false);
        spread_over(readers, true);
    }
    spread_over(FILES + 5, false);
    answers_are_whole_or_none();
    is_int(gate.used_bytes, 0, "nothing is left");
    return done();
}
