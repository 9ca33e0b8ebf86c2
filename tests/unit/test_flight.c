/* SPDX-License-Identifier: MIT
 * Dumps of a run that hangs, from JSON text to the verdict. They are written here in short: of each rank its entries,
 *     "GROUP/SEQUENCE OPERATION STATE [SIZE [TYPE]]; ..."      "0/7 all_reduce s 64; tp/3 send:0->1 c"
 * where STATE is c (completed), s (scheduled), t (retired without an end: it ran out of time). */
#include <stdio.h>
#include <string.h>

#include "feed.h"
#include "part_hang.h"
#include "tap.h"

struct dump {
    const char *groups; /* members of pg_config, "\"0\":\"[0, 1]\""; NULL = none, as gloo */
    const char *entries;
    unsigned first_record; /* above 0: older ones were overwritten */
};

struct run {
    struct ap_gate gate;
    struct ap_notes notes;
    struct ap_error error;
    struct ap_flight flight;
    struct ap_model model;
    enum ap_status status;
};

static int64_t written_ns; /* when the dumps were; 0 = not known */

static void begin(struct run *run)
{
    memset(run, 0, sizeof(*run));
    ap_gate_init(&run->gate, 0);
    ap_flight_init(&run->flight, &run->gate);
    ap_model_init(&run->model, &run->gate);
}

static void read_text(struct run *run, const char *text, int64_t rank, size_t piece_bytes)
{
    struct feed feed = feed_of(text, strlen(text), piece_bytes);
    struct ap_json_limits limits = { .window_bytes = piece_bytes, .several = true };
    struct ap_flight_source source = { .path = "dump", .rank = rank, .written_ns = written_ns };
    struct ap_json_reader *json = NULL;
    struct ap_flight flight;
    ap_flight_init(&flight, &run->gate);
    run->status = ap_json_reader_new(&run->gate, feed_source(&feed), &run->notes, &limits, &json, &run->error);
    if (run->status == AP_OK)
        run->status = ap_flight_read(&flight, json, &source, &run->notes, &run->error);
    if (run->status == AP_OK)
        run->status = ap_flight_join(&run->flight, &flight, &run->error);
    ap_flight_release(&flight);
    ap_json_reader_free(json);
}

static void analyze(struct run *run)
{
    if (run->status == AP_OK)
        run->status = ap_flight_finish(&run->flight, &run->notes, &run->error);
    if (run->status == AP_OK)
        run->status = ap_part_hang(&run->flight, 0, &run->notes, &run->model, &run->error);
}

/* False where something was not given back. */
static bool end(struct run *run)
{
    ap_flight_release(&run->flight);
    ap_model_release(&run->model);
    return atomic_load(&run->gate.used_bytes) == 0;
}

static size_t write_entry(char *to, size_t room, const char *entry, const char *library, unsigned record, bool is_first)
{
    char group[16] = "", operation[48] = "", type[16] = "Float", peers[16] = "";
    unsigned sequence = 0, size = 64;
    char state = 's';
    (void)sscanf(entry, " %15[^/]/%u %47s %c %u %15[A-Za-z]", group, &sequence, operation, &state, &size, type);
    char *colon = strchr(operation, ':');
    if (colon) {
        (void)snprintf(peers, sizeof(peers), " %s", colon + 1);
        *colon = '\0';
    }
    bool ended = state == 'c', is_gloo = strcmp(library, "gloo") == 0, p2p = peers[0];
    return (size_t)snprintf(
        to, room,
        "%s{\"record_id\":%u,\"pg_id\":0,\"process_group\":[\"%s\",\"%s\"],\"collective_seq_id\":%u,\"p2p_seq_id\":%u,"
        "\"op_id\":1,\"profiling_name\":\"%s:%s%s\",\"time_created_ns\":%llu,\"input_sizes\":[[%u]],\"output_sizes\":[[%u]],"
        "\"input_dtypes\":[\"%s\"],\"output_dtypes\":[\"%s\"],\"state\":\"%s\",\"time_discovered_started_ns\":0,"
        "\"time_discovered_completed_ns\":0,\"retired\":%s,\"timeout_ms\":600000,\"is_p2p\":%s}",
        is_first ? "" : ",", record, group, strcmp(group, "0") == 0 ? "default_pg" : "undefined", p2p ? 0 : sequence,
        p2p ? sequence : 0, library, operation, peers, 1700000000000000000ULL + sequence * 1000000ULL, size, size, type,
        type, ended && !is_gloo ? "completed" : "scheduled", ended || state == 't' ? "true" : "false",
        p2p ? "true" : "false");
}

static void write_groups(char *to, size_t room, const char *groups)
{
    size_t used = 0;
    to[0] = '\0';
    for (const char *at = groups; at && *at; at += strcspn(at, ";") + (at[strcspn(at, ";")] == ';')) {
        char name[16] = "", ranks[120] = "";
        (void)sscanf(at, " %15[^=]=%119[^;]", name, ranks);
        used += (size_t)snprintf(to + used, room - used, "%s\"%s\":{\"name\":\"%s\",\"desc\":\"\",\"ranks\":\"%s\"}",
                                 used ? "," : "", name, name, ranks);
    }
}

/* One run: groups for all ranks alike. */
static void run_dumps(struct run *run, const char *library, const struct dump *dumps, size_t count)
{
    static char text[1 << 16];
    char groups[2000];
    begin(run);
    for (size_t i = 0; i < count && run->status == AP_OK; i++) {
        if (!dumps[i].entries)
            continue;
        write_groups(groups, sizeof(groups), dumps[i].groups);
        size_t used = (size_t)snprintf(text, sizeof(text), "{\"version\":\"2.10\",\"pg_config\":{%s},\"entries\":[", groups);
        unsigned record = dumps[i].first_record;
        const char *entry = dumps[i].entries;
        for (bool first = true; *entry; first = false, record++) {
            char one[200];
            size_t bytes = strcspn(entry, ";");
            (void)snprintf(one, sizeof(one), "%.*s", (int)bytes, entry);
            used += write_entry(text + used, sizeof(text) - used, one, library, record, first);
            entry += bytes + (entry[bytes] == ';');
        }
        (void)snprintf(text + used, sizeof(text) - used, "]}");
        read_text(run, text, (int64_t)i, 0);
    }
    analyze(run);
}

static const struct ap_value *cause_of(const struct run *run, size_t number)
{
    const struct ap_value *cause = ap_value_first(ap_value_at(&run->model.root, "hang.causes"));
    while (cause && number--)
        cause = cause->next;
    return cause;
}

static bool has_text(const struct ap_value *of, const char *key, const char *text)
{
    return ap_text_is(ap_value_text(ap_value_member(of, key)), text);
}

/* The first cause, and how many there are. */
static void expect(const char *title, const char *library, const struct dump *dumps, size_t count, const char *verdict,
                   const char *confidence, const char *ranks, size_t causes)
{
    struct run run;
    run_dumps(&run, library, dumps, count);
    const struct ap_value *hang = ap_value_at(&run.model.root, "hang"), *first = cause_of(&run, 0);
    size_t found = ap_value_count(ap_value_member(hang, "causes"));
    bool right = run.status == AP_OK && has_text(hang, "verdict", verdict) && has_text(hang, "confidence", confidence) &&
                 found == causes && (!causes || has_text(first, "ranks", ranks));
    struct ap_text its_verdict = ap_value_text(ap_value_member(hang, "verdict"));
    struct ap_text its_ranks = ap_value_text(ap_value_member(first, "ranks"));
    struct ap_text its_confidence = ap_value_text(ap_value_member(hang, "confidence"));
    if (!right)
        printf("# %s: %.*s, %.*s, ranks %.*s, %zu causes, status %d %s\n", title, (int)its_verdict.bytes, its_verdict.data,
               (int)its_confidence.bytes, its_confidence.data, (int)its_ranks.bytes, its_ranks.data, found, run.status,
               run.error.message);
    ok(right, title);
    ok(end(&run), "and all memory comes back");
}

#define EXPECT(title, library, verdict, confidence, ranks, causes, ...)                          \
    do {                                                                                         \
        static const struct dump dumps_[] = { __VA_ARGS__ };                                     \
        expect(title, library, dumps_, AP_COUNT_OF(dumps_), verdict, confidence, ranks, causes); \
    } while (0)

#define FOUR "0=[0, 1, 2, 3]"
#define PAIRS "0=[0, 1, 2, 3];a=[0, 1];b=[2, 3]"

static void rank_outside(void)
{
    EXPECT("nothing pending", "nccl", "none", "high", "", 0, { FOUR, "0/1 all_reduce c", 0 },
           { FOUR, "0/1 all_reduce c", 0 }, { FOUR, "0/1 all_reduce c", 0 }, { FOUR, "0/1 all_reduce c", 0 });
    EXPECT("nor is one call less anybody's wait, but it is told", "nccl", "none", "low", "", 0,
           { "0=[0, 1]", "0/1 broadcast c;0/2 broadcast c", 0 }, { "0=[0, 1]", "0/1 broadcast c", 0 });
    EXPECT("one rank outside", "nccl", "stuck_outside", "high", "2", 1, { FOUR, "0/1 all_reduce c;0/2 all_reduce s", 0 },
           { FOUR, "0/1 all_reduce c;0/2 all_reduce s", 0 }, { FOUR, "0/1 all_reduce c", 0 },
           { FOUR, "0/1 all_reduce c;0/2 all_reduce t", 0 });
    EXPECT("of gloo, medium", "gloo", "stuck_outside", "medium", "2", 1, { NULL, "0/1 all_reduce c;0/2 all_reduce s", 0 },
           { NULL, "0/1 all_reduce c;0/2 all_reduce s", 0 }, { NULL, "0/1 all_reduce c", 0 },
           { NULL, "0/1 all_reduce c;0/2 all_reduce s", 0 });
    EXPECT("in a small group, on which the large one waits", "nccl", "stuck_outside", "high", "3", 1,
           { PAIRS, "0/1 all_reduce c;a/1 all_gather c;0/2 all_reduce s", 0 },
           { PAIRS, "0/1 all_reduce c;a/1 all_gather c;0/2 all_reduce s", 0 },
           { PAIRS, "0/1 all_reduce c;b/1 all_gather s", 0 }, { PAIRS, "0/1 all_reduce c", 0 });
    EXPECT("of another backend, without ends, low", "xyz", "stuck_outside", "low", "1", 1,
           { FOUR, "0/1 all_reduce t;0/2 all_reduce t", 0 }, { FOUR, "0/1 all_reduce t", 0 },
           { FOUR, "0/1 all_reduce t;0/2 all_reduce t", 0 }, { FOUR, "0/1 all_reduce t;0/2 all_reduce t", 0 });
}

static void absent_ranks(void)
{
    EXPECT("a rank without a dump", "nccl", "dump_missing", "medium", "3", 1, { FOUR, "0/2 all_reduce s", 0 },
           { FOUR, "0/2 all_reduce s", 0 }, { FOUR, "0/2 all_reduce s", 0 });
    EXPECT("but nobody waits for it", "nccl", "none", "high", "", 0, { FOUR, "0/2 all_reduce c", 0 },
           { FOUR, "0/2 all_reduce c", 0 }, { FOUR, "0/2 all_reduce c", 0 });
    EXPECT("a ring that is too small", "nccl", "ring_too_small", "low", "1", 1, { "0=[0, 1]", "0/2 all_reduce s", 0 },
           { "0=[0, 1];z=[1, 2]", "0/9 all_reduce s", 40 });
    EXPECT("a ring that was overwritten, but reaches back", "nccl", "stuck_outside", "high", "1", 1,
           { "0=[0, 1]", "0/2 all_reduce s", 40 }, { "0=[0, 1]", "0/1 all_reduce c", 40 });
}

static void mismatches(void)
{
    EXPECT("another size", "nccl", "size_mismatch", "high", "1", 1, { FOUR, "0/1 all_reduce s 64", 0 },
           { FOUR, "0/1 all_reduce s 32", 0 }, { FOUR, "0/1 all_reduce s 64", 0 }, { FOUR, "0/1 all_reduce s 64", 0 });
    EXPECT("another type", "nccl", "type_mismatch", "high", "0", 1, { FOUR, "0/1 all_reduce s 64 Half", 0 },
           { FOUR, "0/1 all_reduce s 64", 0 }, { FOUR, "0/1 all_reduce s 64", 0 }, { FOUR, "0/1 all_reduce s 64", 0 });
    EXPECT("another type, though calls before were of it", "nccl", "type_mismatch", "high", "0", 1,
           { FOUR, "0/1 all_reduce c 64;0/2 all_reduce s 64", 0 },
           { FOUR, "0/1 all_reduce c 64;0/2 all_reduce s 64 Half", 0 },
           { FOUR, "0/1 all_reduce c 64;0/2 all_reduce s 64 Half", 0 },
           { FOUR, "0/1 all_reduce c 64;0/2 all_reduce s 64 Half", 0 });
    EXPECT("two cannot vote", "nccl", "size_mismatch", "medium", "0-1", 1, { "0=[0, 1]", "0/1 all_reduce s 64", 0 },
           { "0=[0, 1]", "0/1 all_reduce s 32", 0 });
    EXPECT("uneven by nature", "nccl", "collective_stalled", "medium", "0-1", 1, { "0=[0, 1]", "0/1 all_to_all s 64", 0 },
           { "0=[0, 1]", "0/1 all_to_all s 32", 0 });
    EXPECT("that went through is none", "nccl", "none", "high", "", 0, { "0=[0, 1]", "0/1 all_reduce c 64", 0 },
           { "0=[0, 1]", "0/1 all_reduce c 32", 0 });
    EXPECT("another operation, and no more", "nccl", "desync", "high", "1", 1, { FOUR, "0/1 all_reduce s", 0 },
           { FOUR, "0/1 broadcast s", 0 }, { FOUR, "0/1 all_reduce s", 0 }, { FOUR, "0/1 all_reduce s", 0 });
    EXPECT("a call that is missing", "nccl", "call_skipped", "high", "1", 1,
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s;0/4 gather s", 0 },
           { FOUR, "0/1 broadcast s;0/2 reduce s;0/3 gather s", 0 },
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s;0/4 gather s", 0 },
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s;0/4 gather s", 0 });
    EXPECT("a call too many", "nccl", "call_added", "high", "1", 1,
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s;0/4 gather s", 0 },
           { FOUR, "0/1 barrier s;0/2 all_reduce s;0/3 broadcast s;0/4 reduce s;0/5 gather s", 0 },
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s;0/4 gather s", 0 },
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s;0/4 gather s", 0 });
    EXPECT("two in the other order", "nccl", "order_swapped", "high", "1", 1,
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s", 0 },
           { FOUR, "0/1 broadcast s;0/2 all_reduce s;0/3 reduce s", 0 },
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s", 0 },
           { FOUR, "0/1 all_reduce s;0/2 broadcast s;0/3 reduce s", 0 });
}

static void circles_and_stalls(void)
{
    EXPECT("groups in different order", "nccl", "group_order", "high", "0-1", 1,
           { "a=[0, 1];b=[0, 1]", "a/1 all_reduce s", 0 }, { "a=[0, 1];b=[0, 1]", "b/1 all_reduce s", 0 });
    EXPECT("all inside", "nccl", "collective_stalled", "medium", "0-3", 1, { FOUR, "0/1 all_reduce s", 0 },
           { FOUR, "0/1 all_reduce s", 0 }, { FOUR, "0/1 all_reduce s", 0 }, { FOUR, "0/1 all_reduce t", 0 });
    EXPECT("all inside, one through", "nccl", "dump_skew", "low", "1-3", 1, { FOUR, "0/1 all_reduce c", 0 },
           { FOUR, "0/1 all_reduce s", 0 }, { FOUR, "0/1 all_reduce s", 0 }, { FOUR, "0/1 all_reduce s", 0 });
    EXPECT("all that called in a group of which nothing tells who is in it", "gloo", "collective_stalled", "low", "0-1", 1,
           { NULL, "0/1 all_reduce c;a/1 all_reduce s", 0 }, { NULL, "0/1 all_reduce c;a/1 all_reduce s", 0 },
           { NULL, "0/1 all_reduce c;b/1 all_reduce c", 0 }, { NULL, "0/1 all_reduce c;b/1 all_reduce c", 0 });
    EXPECT("in two of them at once, each may lack who waits in the other", "gloo", "members_unknown", "low", "0-3", 1,
           { NULL, "0/1 all_reduce c;a/1 all_reduce s", 0 }, { NULL, "0/1 all_reduce c;a/1 all_reduce s", 0 },
           { NULL, "0/1 all_reduce c;b/1 all_reduce s", 0 }, { NULL, "0/1 all_reduce c;b/1 all_reduce s", 0 });
    EXPECT("alone in a group, and awaited by another", "gloo", "members_unknown", "medium", "2", 1,
           { NULL, "0/1 all_reduce c;0/2 all_reduce s", 0 }, { NULL, "0/1 all_reduce c;0/2 all_reduce s", 0 },
           { NULL, "0/1 all_reduce c;b/1 barrier s", 0 });
    EXPECT("what a later one tells to be done", "nccl", "none", "high", "", 0,
           { "0=[0, 1]", "0/1 all_reduce s;0/2 all_reduce c", 0 }, { "0=[0, 1]", "0/1 all_reduce c;0/2 all_reduce c", 0 });
}

#define TWO "0=[0, 1, 2, 3];a=[0, 2];b=[1, 3]"

static void odd_ones(void)
{
    EXPECT("a call that ranks of groups alike have not made", "nccl", "group_order", "medium", "3", 1,
           { TWO, "a/1 barrier c;0/1 all_reduce s", 0 }, { TWO, "b/1 barrier c;0/1 all_reduce s", 0 },
           { TWO, "a/1 barrier c;0/1 all_reduce s", 0 }, { TWO, "b/1 barrier c;b/2 barrier s", 0 });
    EXPECT("a call that all ranks of groups alike made", "nccl", "group_order", "medium", "1", 1,
           { TWO, "a/1 barrier c;0/1 all_reduce s", 0 }, { TWO, "0/1 all_reduce s", 0 },
           { TWO, "a/1 barrier c;0/1 all_reduce s", 0 }, { TWO, "b/1 barrier s", 0 });
    EXPECT("where these stand at other places themselves, all on the circle are named", "nccl", "group_order", "high",
           "1, 3", 1, { TWO, "a/1 barrier c;a/2 barrier c;0/1 all_reduce s", 0 },
           { TWO, "b/1 barrier c;0/1 all_reduce s", 0 }, { TWO, "a/1 barrier c;0/1 all_reduce s", 0 },
           { TWO, "b/1 barrier c;b/2 barrier s", 0 });
    EXPECT("alone in a call, and all the others wait for nobody", "nccl", "lone_call", "medium", "1", 1,
           { FOUR, "0/1 all_reduce c", 0 }, { FOUR, "0/1 all_reduce c;0/2 all_reduce s", 0 },
           { FOUR, "0/1 all_reduce c", 0 }, { FOUR, "0/1 all_reduce c", 0 });
    EXPECT("two of four that have not come are outside", "nccl", "stuck_outside", "high", "2-3", 1,
           { FOUR, "0/1 all_reduce c;0/2 all_reduce s", 0 }, { FOUR, "0/1 all_reduce c;0/2 all_reduce s", 0 },
           { FOUR, "0/1 all_reduce c", 0 }, { FOUR, "0/1 all_reduce c", 0 });
}

#define STEADY "0/1 all_reduce c;0/2 all_reduce c;0/3 all_reduce c"

/* Calls stand a millisecond apart. */
static void a_job_that_runs(void)
{
    EXPECT("a dump that is older than those of others blames nobody", "nccl", "dump_skew", "low", "1", 1,
           { "0=[0, 1, 2]", STEADY ";0/4 all_reduce s", 0 }, { "0=[0, 1, 2]", "0/1 all_reduce c", 0 },
           { "0=[0, 1, 2]", STEADY ";0/4 all_reduce s", 0 });
    EXPECT("but gloo retires what failed, too", "gloo", "stuck_outside", "medium", "1", 1,
           { "0=[0, 1]", STEADY ";0/4 all_reduce s", 0 }, { "0=[0, 1]", "0/1 all_reduce c", 0 });
    written_ns = 1700000000000000000 + 5 * 1000000;
    EXPECT("a dump that was written soon after the last call is less sure", "nccl", "stuck_outside", "medium", "1", 1,
           { "0=[0, 1]", STEADY ";0/4 all_reduce s", 0 }, { "0=[0, 1]", STEADY, 0 });
    EXPECT("so is what all are in just then", "nccl", "collective_stalled", "low", "0-1", 1,
           { "0=[0, 1]", STEADY ";0/4 all_reduce s", 0 }, { "0=[0, 1]", STEADY ";0/4 all_reduce s", 0 });
    EXPECT("and one of gloo hardly at all", "gloo", "stuck_outside", "low", "1", 1,
           { "0=[0, 1]", STEADY ";0/4 all_reduce s", 0 }, { "0=[0, 1]", STEADY, 0 });
    written_ns += 60 * INT64_C(1000000000);
    EXPECT("one that was written later is as sure as ever", "nccl", "stuck_outside", "high", "1", 1,
           { "0=[0, 1]", STEADY ";0/4 all_reduce s", 0 }, { "0=[0, 1]", STEADY, 0 });
    written_ns = 0;
}

static void sends(void)
{
    EXPECT("a send without a receive", "nccl", "p2p_partner_missing", "medium", "1", 1,
           { "0=[0, 1]", "0/1 send:0->1 c;0/2 send:0->1 s", 0 }, { "0=[0, 1]", "0/1 recv:1<-0 c", 0 });
    EXPECT("a batch that stays scheduled is no sign", "nccl", "none", "high", "", 0,
           { "0=[0, 1]", "0/1 send:0->1 s;0/2 send:0->1 s", 0 }, { "0=[0, 1]", "0/1 recv:1<-0 s;0/2 recv:1<-0 s", 0 });
    EXPECT("who waits for a peer is not at fault", "nccl", "p2p_partner_missing", "medium", "1", 1,
           { "0=[0, 1, 2]", "0/1 all_reduce c;0/1 recv:0<-1 s", 0 }, { "0=[0, 1, 2]", "0/1 all_reduce c", 0 },
           { "0=[0, 1, 2]", "0/1 all_reduce c;0/2 all_reduce s", 0 });
    EXPECT("where rings lost older ones, those behind the last end count", "nccl", "p2p_partner_missing", "medium", "1", 1,
           { "0=[0, 1]", "0/8 send:0->1 c;0/9 send:0->1 s", 40 }, { "0=[0, 1]", "0/7 recv:1<-0 c;0/8 recv:1<-0 c", 40 });
    EXPECT("who waits for a peer without a dump is not at fault", "nccl", "dump_missing", "medium", "1", 1,
           { "0=[0, 1, 2]", "0/1 all_reduce c;0/1 recv:0<-1 s", 0 }, { NULL, NULL, 0 },
           { "0=[0, 1, 2]", "0/1 all_reduce c;0/2 all_reduce s", 0 });
    EXPECT("a transfer that both are in", "nccl", "collective_stalled", "medium", "0-1", 1,
           { "0=[0, 1, 2]", "0/1 all_reduce c;0/1 send:0->1 c;0/2 send:0->1 s", 0 },
           { "0=[0, 1, 2]", "0/1 all_reduce c;0/1 recv:1<-0 c;0/2 recv:1<-0 s", 0 },
           { "0=[0, 1, 2]", "0/1 all_reduce c;0/2 all_reduce s", 0 });
    EXPECT("a transfer whose peer is not told is waited in too", "nccl", "not_recorded", "low", "", 0,
           { NULL, "0/1 all_reduce c;9/1 recv:0<-1 s", 0 }, { NULL, "0/1 all_reduce c;9/1 recv:1<-0 s", 0 },
           { NULL, "0/1 all_reduce c;0/2 all_reduce s", 0 });
    EXPECT("the entry of a batch tells its end", "nccl", "stuck_outside", "high", "1", 1,
           { "0=[0, 1]", "0/1 send:0->1 s;0/1 coalesced c;0/2 all_reduce s", 0 },
           { "0=[0, 1]", "0/1 recv:1<-0 s;0/1 coalesced c", 0 });
    EXPECT("a circle through a transfer and a group", "nccl", "group_order", "high", "0-1", 1,
           { "0=[0, 1]", "0/1 all_reduce c;0/1 send:0->1 s", 0 }, { "0=[0, 1]", "0/1 all_reduce c;0/2 all_reduce s", 0 });
}

#define LIKE "0/2 all_reduce s 64;0/3 all_reduce s 64;0/4 all_reduce s 64;0/5 all_reduce s 64"
#define ODD "0/2 all_reduce s 65;0/3 all_reduce s 64;0/4 all_reduce s 64;0/5 all_reduce s 64"

static void calls_like_each_other(void)
{
    EXPECT("a wrong size among calls that are like each other is in its place", "nccl", "size_mismatch", "high", "1", 1,
           { FOUR, LIKE, 0 }, { FOUR, ODD, 0 }, { FOUR, LIKE, 0 }, { FOUR, LIKE, 0 });
    EXPECT("of two ranks the first one may be the odd one", "nccl", "size_mismatch", "medium", "0-1", 1,
           { "0=[0, 1]", "0/1 all_reduce c 64;0/2 all_reduce s 65", 0 },
           { "0=[0, 1]", "0/1 all_reduce c 64;0/2 all_reduce s 64", 0 });
}

/* ----------------------------------------------------------------------------------------------------------- reading */

static const char gloo_dump[] =
    "{\"comm_lib_version\":\"\",\"entries\":[{\"collective_seq_id\":1,\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],"
    "\"profiling_name\":\"gloo:all_reduce\",\"record_id\":0,\"retired\":true,\"state\":\"scheduled\",\"input_sizes\":[[4],["
    "2,3]],"
    "\"time_created_ns\":5,\"is_p2p\":false,\"frames\":[{\"name\":\"wait\",\"filename\":\"/x/torch/distributed/c10d.py\","
    "\"line\":7},{\"name\":\"tr\\u0061in\",\"filename\":\"my.py\",\"line\":12}]}],\"pg_config\":{\"\":{\"desc\":\"\","
    "\"name\":"
    "\"\",\"ranks\":\"[0, 1]\"}},\"pg_status\":{\"0\":{\"last_enqueued_collective\":\"1\"}},\"version\":\"2.10\"}";

static void reader_takes_every_form(void)
{
    struct run run;
    for (size_t piece = 0; piece < 9; piece++) {
        begin(&run);
        read_text(&run, gloo_dump, 3, piece);
        const struct ap_flight_entries *entries = &run.flight.entries;
        ok(run.status == AP_OK && entries->count == 1 && entries->input_count[0] == 10 && entries->sequence[0] == 1 &&
               run.flight.dumps[0].rank == 3 && run.flight.dumps[0].has_enqueued,
           "a dump in pieces");
        ok(ap_text_is(ap_flight_text(&run.flight, entries->site[0]), "my.py:12 train"), "the program's own frame");
        ok(end(&run), "and all memory comes back");
    }
    begin(&run);
    read_text(&run, "[{\"pg_id\":2,\"seq_id\":7,\"profiling_name\":\"nccl:send 1->0\",\"state\":\"completed\"}]", 0, 0);
    ok(run.status == AP_OK && run.flight.entries.count == 1 && run.flight.entries.flags[0] & AP_FLIGHT_IS_SEND &&
           run.flight.entries.peer_to[0] == 0,
       "a list of records, as the first versions wrote it");
    ok(end(&run), "and all memory comes back");
    begin(&run);
    read_text(&run, "{\"version\":\"2.4\",\"pg_config\":{}}", 0, 0);
    ok(run.status == AP_OK && run.flight.dump_count == 1 && !run.flight.entries.count, "an empty dump");
    ok(end(&run), "and all memory comes back");
    begin(&run);
    read_text(&run, "{\"traceEvents\":[]}", 0, 0);
    ok(run.status == AP_ERROR_INPUT && run.error.advice == AP_ADVICE_AS_TRACE && !run.flight.dump_count, "a trace is named");
    ok(end(&run), "and all memory comes back");
}

#define INSPECTED(rank, number, took)                                               \
    "{\"header\":{\"id\":\"0x7f\",\"rank\":" #rank                                  \
    ",\"n_ranks\":2,\"nnodes\":1},\"metadata\":{\"hostname\":\"h\",\"pid\":1" #rank \
    "},\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":" #number                  \
    ",\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":" #took ",\"coll_timing_source\":\"kernel_gpu\"}}\n"

static void inspector(void)
{
    struct run run;
    begin(&run);
    read_text(&run,
              INSPECTED(0, 1, 100) INSPECTED(0, 2, 100) INSPECTED(0, 3, 100) INSPECTED(0, 4, 100) INSPECTED(0, 5, 9000), -1,
              0);
    read_text(&run, INSPECTED(1, 1, 100) INSPECTED(1, 2, 100) INSPECTED(1, 3, 100) INSPECTED(1, 4, 100) INSPECTED(1, 5, 90),
              -1, 0);
    analyze(&run);
    const struct ap_value *hang = ap_value_at(&run.model.root, "hang");
    const struct ap_value *slow = ap_value_first(ap_value_member(hang, "durations"));
    ok(run.status == AP_OK && run.flight.dump_count == 2 && has_text(hang, "verdict", "not_recorded"),
       "what only ended is no hang");
    ok(ap_value_integer(ap_value_member(slow, "slow_count"), 0) == 1 &&
           ap_value_integer(ap_value_member(slow, "last_rank"), -1) == 1 && has_text(slow, "operation", "all_reduce"),
       "a slow one, and who came last");
    ok(end(&run), "and all memory comes back");
}

/* Later records, which may be in another file, tell of a larger communicator: the rank in that one counts. */
static void inspector_of_several_files(void)
{
    struct run run;
    begin(&run);
    read_text(&run, INSPECTED(1, 1, 100), -1, 0);
    read_text(&run, INSPECTED(0, 1, 100), -1, 0);
    read_text(&run,
              "{\"header\":{\"id\":\"0x8f\",\"rank\":5,\"n_ranks\":8},\"metadata\":{\"hostname\":\"h\",\"pid\":10},"
              "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":2}}",
              -1, 0);
    const struct ap_flight *flight = &run.flight;
    ok(run.status == AP_OK && flight->dump_count == 2 && flight->entries.count == 3 && flight->dumps[0].rank == 1 &&
           flight->dumps[1].rank == 5 && flight->dumps[1].entry_count == 2 && flight->entries.dump[2] == 1,
       "the records of a process in two files are one dump");
    ok(end(&run), "and all memory comes back");
}

/* A process stands once before its operations; or all members are in one object. Times may have parts of a microsecond. */
static void inspectors_of_other_versions(void)
{
    struct run run;
    begin(&run);
    read_text(&run,
              "{\"header\":{\"id\":\"0x7f\",\"rank\":2,\"n_ranks\":4},\"metadata\":{\"hostname\":\"h\",\"pid\":9},"
              "\"dump_stats\":{\"coll_records\":1}}\n"
              "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":7,\"coll_exec_time_us\":12.5}}\n"
              "{\"proxy_trace\":{\"record_sn\":41,\"parent_sn\":7,\"rank\":3}}\n",
              -1, 0);
    read_text(&run,
              "{\"id\":\"0x7f\",\"rank\":3,\"n_ranks\":4,\"pid\":12,\"hostname\":\"h\","
              "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":7,\"coll_exec_time_us\":12}}\n",
              -1, 0);
    const struct ap_flight *flight = &run.flight;
    ok(run.status == AP_OK && flight->dump_count == 2 && flight->entries.count == 2 && flight->dumps[0].rank == 2 &&
           flight->dumps[1].rank == 3 && flight->entries.group[0] == flight->entries.group[1],
       "records of other versions of the Inspector are of their processes");
    is_int(flight->entries.duration_ns[0], 12500, "and parts of a microsecond count");
    ok(end(&run), "and all memory comes back");
}

static void memory_may_fail_anywhere(void)
{
    struct run run = { .status = AP_ERROR_MEMORY };
    int odd = 0, failures = 0;
    for (; run.status != AP_OK && failures < 100000; failures++) {
        begin(&run);
        run.gate.fail_after = failures;
        read_text(&run, gloo_dump, 1, 0);
        if (run.status == AP_OK)
            read_text(&run, INSPECTED(0, 1, 100) INSPECTED(1, 1, 100), -1, 0);
        analyze(&run);
        run.gate.fail_after = -1;
        odd += run.status != AP_OK && run.status != AP_ERROR_MEMORY;
        odd += !end(&run);
    }
    ok(failures > 50 && failures < 100000, "without memory reading, joining and judging fail");
    is_int(odd, 0, "with that error, and give back what they had");
}

static void cuts(void)
{
    struct run run;
    char text[sizeof(gloo_dump)];
    unsigned read = 0;
    for (size_t bytes = 0; bytes < sizeof(gloo_dump) - 1; bytes++) {
        memcpy(text, gloo_dump, bytes);
        text[bytes] = '\0';
        begin(&run);
        read_text(&run, text, 0, 0);
        analyze(&run);
        read += run.status == AP_OK;
        if (!end(&run) || (run.status == AP_OK && !run.notes.notes[AP_COUNTER_cut].count))
            ok(false, "a cut dump");
    }
    ok(read > 100, "a dump that is cut behind its entries is read");
}

int main(void)
{
    rank_outside();
    absent_ranks();
    mismatches();
    circles_and_stalls();
    odd_ones();
    a_job_that_runs();
    sends();
    calls_like_each_other();
    reader_takes_every_form();
    inspector();
    inspector_of_several_files();
    inspectors_of_other_versions();
    memory_may_fail_anywhere();
    cuts();
    return done();
}
