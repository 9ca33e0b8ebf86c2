/* SPDX-License-Identifier: MIT
 * Summaries of ranks: merged in any order and by any tree they are the same bytes, and what is written reads back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "rank_group.h"
#include "rank_json.h"
#include "tap.h"

enum { RANKS = 12, TREES = 24 };

static struct ap_gate gate;

/* ---- made summaries ---- */

static uint32_t state;

static uint32_t dice(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static struct ap_str name(struct ap_rank_set *set, const char *format, unsigned number)
{
    char text[64];
    struct ap_str str;
    (void)snprintf(text, sizeof(text), format, number);
    return ap_strpool_intern(&set->names, text, strlen(text), &str, NULL) == AP_OK ? str : (struct ap_str){ 0 };
}

static bool add_memory(struct ap_rank_set *set, unsigned number)
{
    struct ap_memory_set *to = &set->memory;
    struct ap_rank_memory row = { .rank = number, .peak_bytes = 1000 + dice(99), .first_failure_ns = -1, .failures = -1 };
    char path[64];
    int length = snprintf(path, sizeof(path), "rank%u.snapshot.json", number);
    if (ap_strpool_intern(&to->names, path, (size_t)length, &row.path, NULL) != AP_OK ||
        ap_strpool_intern(&to->names, "train.py:3 step", 15, &row.lines[dice(AP_MEMORY_LINES)].name, NULL) != AP_OK ||
        AP_RESERVE(&gate, to->rows, to->capacity, to->count + 1, NULL) != AP_OK)
        return false;
    to->rows[to->count++] = row;
    return true;
}

/* Rank by rank from its number alone, as if each had been made on another machine. Two of them say the same. */
static bool make_rank(struct ap_rank_set *set, unsigned number)
{
    state = 77 + (number == RANKS - 1 ? 0 : number);
    struct ap_rank_summary rank = { .rank = number == RANKS - 1 ? 0 : number, .world_size = RANKS, .rows = 1000 + dice(9) };
    rank.path = name(set, "rank%u.json", number);
    rank.host = name(set, "node%u", number / 4);
    rank.end_ns = 1000000 + dice(1000);
    for (unsigned i = 0; i < 3; i++) {
        struct ap_rank_step step = { .number = i, .start_ns = i * 1000, .end_ns = i * 1000 + 900 + dice(99), .work = -7 };
        step.spent_ns[dice(AP_SPENT_COUNT_)] = dice(500);
        if (AP_RESERVE(&gate, rank.steps, rank.step_capacity, rank.step_count + 1, NULL) != AP_OK)
            return false;
        rank.steps[rank.step_count++] = step;
    }
    for (unsigned i = 0; i < 5; i++) {
        struct ap_rank_collective it = {
            .start_ns = i * 100, .dur_ns = dice(90), .sequence = i, .bytes = -1, .step = i / 2
        };
        it.group = name(set, "0-%u", RANKS - 1);
        it.frame = name(set, dice(2) ? "train.py(%u): step" : "aten::op%u", dice(4));
        it.before[0] = (uint8_t)dice(AP_SPENT_COUNT_);
        it.before_us[0] = dice(1000);
        if (AP_RESERVE(&gate, rank.collectives, rank.collective_capacity, rank.collective_count + 1, NULL) != AP_OK)
            return false;
        rank.collectives[rank.collective_count++] = it;
    }
    struct ap_rank_call call = { .key = INT64_MIN + number,
                                 .count = 3,
                                 .total_ns = 300,
                                 .least_ns = 90,
                                 .kind = AP_RANK_CALL_operator,
                                 .is_shaped = true,
                                 .name = name(set, "k%u", number % 2) };
    if (AP_RESERVE(&gate, rank.calls, rank.call_capacity, 1, NULL) != AP_OK ||
        AP_RESERVE(&gate, set->ranks, set->capacity, set->count + 1, NULL) != AP_OK)
        return false;
    rank.calls[rank.call_count++] = call;
    set->ranks[set->count++] = rank;
    return add_memory(set, (unsigned)rank.rank);
}

/* ---- bytes ---- */

struct bytes {
    char data[65536];
    size_t used;
};

static enum ap_status keep(void *self, const char *data, size_t count, struct ap_error *reterr)
{
    struct bytes *bytes = self;
    (void)reterr;
    if (bytes->used + count > sizeof(bytes->data))
        return AP_ERROR_OUTPUT;
    memcpy(bytes->data + bytes->used, data, count);
    bytes->used += count;
    return AP_OK;
}

static bool write_set(struct ap_rank_set *set, struct bytes *to)
{
    to->used = 0;
    return ap_rank_set_finish(set, NULL) == AP_OK && ap_rank_json_write(set, (struct ap_sink){ keep, to }, NULL) == AP_OK;
}

static enum ap_status read_set(const struct bytes *from, struct ap_rank_set *set, struct ap_error *reterr)
{
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct feed feed = feed_of(from->data, from->used, 0);
    struct ap_json_reader *json;
    AP_TRY(ap_json_reader_new(&gate, feed_source(&feed), &notes, NULL, &json, reterr));
    enum ap_status status = ap_rank_json_read(json, set, reterr);
    ap_json_reader_free(json);
    return status;
}

/* ---- the claims ---- */

/* Ranks from @first on, split at random places; half of the parts pass through a file. */
static bool merge(struct ap_rank_set *set, const unsigned *order, unsigned first, unsigned count)
{
    if (count == 1)
        return make_rank(set, order[first]);
    unsigned left = 1 + (unsigned)rand() % (count - 1);
    struct ap_rank_set parts[2];
    bool made = true;
    for (int i = 0; i < 2 && made; i++) {
        ap_rank_set_init(&parts[i], &gate);
        made = merge(&parts[i], order, i ? first + left : first, i ? count - left : left);
        struct bytes bytes;
        if (made && rand() % 2) {
            made = write_set(&parts[i], &bytes);
            ap_rank_set_release(&parts[i]);
            ap_rank_set_init(&parts[i], &gate);
            made = made && read_set(&bytes, &parts[i], NULL) == AP_OK;
        }
        made = made && ap_rank_set_join(set, &parts[i], NULL) == AP_OK;
        ap_rank_set_release(&parts[i]);
    }
    return made;
}

static void any_tree_gives_the_same_bytes(void)
{
    static struct bytes want, got;
    unsigned order[RANKS];
    bool same = true;
    srand(5);
    for (int tree = 0; tree < TREES; tree++) {
        struct ap_rank_set set;
        for (unsigned i = 0; i < RANKS; i++)
            order[i] = i;
        for (unsigned i = RANKS; i-- > 1;) {
            unsigned j = (unsigned)rand() % (i + 1), other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
        ap_rank_set_init(&set, &gate);
        same = same && merge(&set, order, 0, RANKS) && write_set(&set, tree ? &got : &want);
        same = same && (!tree || (got.used == want.used && memcmp(got.data, want.data, want.used) == 0));
        if (!tree)
            is_int(set.count, RANKS - 1, "what says the same is there once");
        ap_rank_set_release(&set);
    }
    ok(same, "any order and any tree of merging give the same bytes");
    ok(want.used > 1000 && strstr(want.data, "rank0.json") && !strstr(want.data, "rank11.json"),
       "of equals the first path stays");
}

static void broken_documents_are_refused(void)
{
    static const char *const documents[] = {
        "{\"rank_summaries\":2}",
        "{\"rank_summaries\":3,\"ranks\":[{}]}",
        "{\"rank_summaries\":3,\"ranks\":[{\"head\":[1]}]}",
        "{\"rank_summaries\":3,\"ranks\":[{\"head\":[-1,8,0,0,0,0,0,0,0,0,0,0,0,0,0]}]}",
        "{\"rank_summaries\":3,\"ranks\":[{\"head\":[1,8,9,0,0,0,0,0,0,0,0,0,0,0,0]}]}",
        "[1]",
        "{\"names\":[1]}",
        "{\"rank_summaries\":3,\"ranks\":[{\"head\":[1,8,0,0,0,0,0,0,0,0,0,0,0,0,0],\"calls\":[[1,2,3.5,0,0,0,0]]}]}",
    };
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        struct bytes bytes = { .used = strlen(documents[i]) };
        struct ap_error error = { .status = AP_OK };
        struct ap_rank_set set;
        memcpy(bytes.data, documents[i], bytes.used);
        ap_rank_set_init(&set, &gate);
        is_int(read_set(&bytes, &set, &error), AP_ERROR_INPUT, documents[i]);
        ap_rank_set_release(&set);
    }
}

static void groups_tell_their_members(void)
{
    is_int(ap_group_size(AP_TEXT("0-7")), 8, "a range");
    is_int(ap_group_size(AP_TEXT("0-56:8")), 8, "every eighth");
    is_int(ap_group_size(AP_TEXT("3,5,9")), 3, "a list");
    is_int(ap_group_size(AP_TEXT("?default_pg/8")), 8, "members that are not told");
    is_int(ap_group_size(AP_TEXT("?tp/-1")), 0, "nor their number");
    is_int(ap_group_size(AP_TEXT("")), 0, "nothing");
}

int main(void)
{
    ap_gate_init(&gate, 0);
    any_tree_gives_the_same_bytes();
    broken_documents_are_refused();
    groups_tell_their_members();
    is_int(gate.used_bytes, 0, "nothing is left");
    return done();
}
