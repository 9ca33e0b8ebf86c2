/* SPDX-License-Identifier: MIT
 * The verdict: what is wrong, how sure that is, what to do. Sentences have numbers of ranks and no names of an input. */
#include <stdio.h>
#include <string.h>

#include "hang_alike.h"
#include "part_hang.h"

#include "poison.h"

enum { SENTENCE_BYTES = AP_RANK_TEXT_BYTES + 400 };

/* "Rank 3" or "Ranks 0-2, 5". */
static void name_ranks(const struct ap_hang_report *report, const struct ap_hang_cause *cause,
                       char text[AP_RANK_TEXT_BYTES + 8])
{
    char ranks[AP_RANK_TEXT_BYTES];
    ap_rank_text(report->causes.ranks + cause->first_rank, cause->rank_count, ranks);
    (void)snprintf(text, AP_RANK_TEXT_BYTES + 8, "%s %s", cause->rank_count == 1 ? "Rank" : "Ranks", ranks);
}

/* @ are the ranks, # is how many others wait; {one|many} by how many ranks there are, <one|many> by that number. */
static const char *const sentences[] = {
    [AP_HANG_call_skipped] =
        "@ left out a call that the others of the group made: from there on {it is|they are} one call ahead.",
    [AP_HANG_call_added] =
        "@ made a call that the others of the group did not make: from there on {it is|they are} one call behind.",
    [AP_HANG_order_swapped] = "@ made this call and the next one in the other order.",
    [AP_HANG_desync] = "@ called another operation here than the others of the group.",
    [AP_HANG_size_mismatch] = "@ called the operation with another size than the others of the group.",
    [AP_HANG_type_mismatch] = "@ called the operation with another type than the others of the group.",
    [AP_HANG_group_order] = "@ wait for each other in a circle: each waits in one place for a rank that waits in another. "
                            "They use groups in different order, or one of them left out a call.",
    [AP_HANG_p2p_partner_missing] = "@ did not call the send or receive that another rank waits with.",
    [AP_HANG_lone_call] =
        "@ {waits|wait} in a collective that none of the other # ranks of the group has entered, and these "
        "wait for nobody: they do not make this call, or all of them are outside of the recorded "
        "operations.",
    [AP_HANG_stuck_outside] = "@ {has|have} not entered the collective that # rank<|s> wait<s|> in, and {waits|wait} for "
                              "nobody: {it is|they are} outside of the recorded operations.",
    [AP_HANG_dump_missing] = "@ left no dump, and # rank<|s> wait<s|> in a collective with {it|them}.",
    [AP_HANG_members_unknown] = "@ {waits|wait} in <a group|groups> of which these dumps do not tell the other members: "
                                "nothing tells who has not come.",
    [AP_HANG_collective_stalled] = "@ entered the collective with the same operation, size and type, and it ended on none.",
    [AP_HANG_dump_skew] = "@ {is|are} in a collective that ended on the other ranks of the group: the dumps were written at "
                          "different times, or a path to {it|them} is bad.",
    [AP_HANG_ring_too_small] = "@ may or may not have entered the collective that # rank<|s> wait<s|> in: {its|their} dump "
                               "no longer holds it.",
};

static void append(char to[SENTENCE_BYTES], const char *from, size_t bytes)
{
    size_t used = strlen(to);
    (void)snprintf(to + used, SENTENCE_BYTES - used, "%.*s", (int)bytes, from);
}

static void fill(const char *text, const struct ap_hang_cause *cause, uint32_t count, const char *who,
                 char to[SENTENCE_BYTES])
{
    char number[16];
    int number_bytes = snprintf(number, sizeof(number), "%u", (unsigned)count);
    for (const char *at = text; *at;) {
        size_t plain = strcspn(at, "@#{<");
        append(to, at, plain);
        at += plain;
        if (*at == '@') {
            append(to, who, strlen(who));
            at++;
        } else if (*at == '#') {
            append(to, number, (size_t)number_bytes);
            at++;
        } else if (*at) {
            const char *bar = strchr(at, '|'), *end = strpbrk(bar, "}>");
            bool one = (*at == '{' ? cause->rank_count : count) == 1;
            append(to, one ? at + 1 : bar + 1, (size_t)(one ? bar - at - 1 : end - bar - 1));
            at = end + 1;
        }
    }
}

/* Of a circle whose odd one groups alike tell, and of sends and receives there is more to say, or less. */
static const char *sentence_of(const struct ap_hang_cause *cause, bool is_transfer)
{
    enum ap_hang verdict = cause->verdict;
    if (cause->names_all)
        return "@ called different things as one collective; there is no majority that tells who is wrong.";
    if (verdict == AP_HANG_dump_skew && cause->is_older)
        return "@ entered only after {its|their} dump{|s} {was|were} written what had ended on others when theirs were: the "
               "job ran between the dumps.";
    if (verdict == AP_HANG_group_order && cause->alike == AP_ALIKE_MADE)
        return "@ {has|have} not made a call that all ranks of groups like this one made, and {waits|wait} elsewhere for "
               "those that wait here: the call is left out, or comes too late.";
    if (verdict == AP_HANG_group_order && cause->alike != AP_ALIKE_UNKNOWN)
        return "@ {waits|wait} here for who waits elsewhere for {it|them}, and no rank of groups like this one has made "
               "this call: it is one too many, or comes too early.";
    if (verdict == AP_HANG_stuck_outside && is_transfer)
        return "@ did not call the sends or receives that others wait with, and {waits|wait} for nobody: {it is|they are} "
               "outside of the recorded operations.";
    if (verdict == AP_HANG_dump_missing && !cause->waiting_count)
        return "@ left no dump, and others wait for a send or receive of {it|theirs}.";
    if (verdict == AP_HANG_collective_stalled && is_transfer)
        return "@ are in a send and a receive of each other, and these do not end.";
    return sentences[verdict];
}

/* That the job may have run on. */
static const char *doubt_of(const struct ap_hang_cause *cause, bool is_transfer)
{
    enum ap_hang verdict = cause->verdict;
    bool is_stalled = verdict == AP_HANG_collective_stalled && !is_transfer;
    if (cause->names_all)
        return "";
    if (cause->may_run && (is_stalled || verdict == AP_HANG_stuck_outside || verdict == AP_HANG_lone_call))
        return " The dump was written soon after the last call: the job may still have run.";
    return is_stalled ? " If the job still ran when the dumps were written, it may just be under way." : "";
}

static void say(const struct ap_hang_report *report, const struct ap_hang_cause *cause, const char *who,
                char to[SENTENCE_BYTES])
{
    const struct ap_flight_entries *entries = &report->findings.flight->entries;
    bool is_transfer = cause->entry != AP_FLIGHT_NONE && entries->flags[cause->entry] & AP_FLIGHT_IS_P2P;
    bool is_lone = cause->verdict == AP_HANG_lone_call && cause->group != AP_FLIGHT_NONE;
    uint32_t count = is_lone ? report->waits.list[cause->group].counts[AP_PLACE_MISSING] : (uint32_t)cause->waiting_count;
    const char *doubt = doubt_of(cause, is_transfer);
    *to = 0;
    fill(sentence_of(cause, is_transfer), cause, count, who, to);
    if (cause->verdict == AP_HANG_collective_stalled && !cause->names_all && !is_transfer && cause->may_lack_members)
        fill(" These dumps do not tell who is in the group: a rank that waits in another one may be missing.", cause, count,
             who, to);
    append(to, doubt, strlen(doubt));
}

static void add_waiting(const struct ap_hang_report *report, const struct ap_hang_cause *cause, struct ap_model *model,
                        struct ap_value *to)
{
    ap_add_count(model, to, "waiting_count", cause->waiting_count);
    ap_add_known_count(model, to, "absent_count", cause->group != AP_FLIGHT_NONE,
                       cause->group == AP_FLIGHT_NONE ? 0 : report->waits.list[cause->group].counts[AP_PLACE_ABSENT]);
}

static void add_cause(const struct ap_hang_report *report, const struct ap_hang_cause *cause, struct ap_model *model,
                      struct ap_value *to)
{
    const struct ap_hang_info *info = &ap_hang_infos[cause->verdict];
    const struct ap_flight_entries *entries = &report->findings.flight->entries;
    uint32_t example = cause->other_entry != AP_FLIGHT_NONE ? cause->other_entry : cause->entry;
    struct ap_str site = example == AP_FLIGHT_NONE ? (struct ap_str){ 0 } : entries->site[example];
    char who[AP_RANK_TEXT_BYTES + 8], text[SENTENCE_BYTES];
    ap_add_string(model, to, "verdict", info->id);
    ap_add_string(model, to, "confidence", ap_confidence_names[cause->confidence]);
    ap_add_string(model, to, "what", info->what);
    name_ranks(report, cause, who);
    say(report, cause, who, text);
    ap_add_string(model, to, "sentence", text);
    ap_add_string(model, to, "action", info->action);
    ap_add_known_string(model, to, "ranks", cause->rank_count,
                        ap_rank_text(report->causes.ranks + cause->first_rank, cause->rank_count, text));
    ap_add_count(model, to, "rank_count", cause->rank_count);
    who[0] = who[0] == 'R' ? 'r' : who[0]; /* within a sentence */
    ap_add_known_string(model, to, "who", cause->rank_count, who);
    ap_hang_add_group_name(report, cause->group, model, to);
    ap_add_known_count(model, to, "sequence", cause->sequence >= 0, cause->sequence);
    ap_hang_add_operation(report, cause->entry, false, model, to);
    ap_hang_add_operation(report, cause->other_entry, true, model, to);
    ap_add_known_text(model, to, "site", site.id, ap_flight_text(report->findings.flight, site));
    add_waiting(report, cause, model, to);
}

/* Where no cause was found. */
static bool holds_calls_under_way(const struct ap_hang_report *report)
{
    const struct ap_flight *flight = report->findings.flight;
    for (uint32_t i = 0; i < flight->dump_count; i++)
        if (flight->dumps[i].kind == AP_FLIGHT_RECORDER && flight->dumps[i].entry_count)
            return true;
    return false;
}

bool ap_hang_tells_ends(const struct ap_hang_report *report)
{
    for (uint32_t i = 0; i < report->groups.seat_count; i++)
        if (report->groups.seats[i].is_open)
            return false;
    return true;
}

/* The group in which ranks differ most in how many collectives they called; false = they do in none. */
static bool find_uneven(const struct ap_hang_report *report, const struct ap_flight_seat **ret_least,
                        const struct ap_flight_seat **ret_most)
{
    const struct ap_flight_groups *groups = &report->groups;
    int64_t widest = 0;
    for (uint32_t g = 0; g < groups->group_count; g++) {
        const struct ap_flight_seat *seats = groups->seats + groups->groups[g].first_seat, *least = NULL, *most = NULL;
        for (uint32_t i = 0; i < groups->groups[g].seat_count; i++) {
            if (seats[i].last_sequence < 0)
                continue;
            least = !least || seats[i].last_sequence < least->last_sequence ? &seats[i] : least;
            most = !most || seats[i].last_sequence > most->last_sequence ? &seats[i] : most;
        }
        if (!least || most->last_sequence - least->last_sequence <= widest)
            continue;
        widest = most->last_sequence - least->last_sequence;
        *ret_least = least;
        *ret_most = most;
    }
    return widest > 0;
}

/* What a group's ranks called must be equal; whoever called less may only have been asked earlier. */
static void add_uneven(const struct ap_hang_report *report, const struct ap_flight_seat *least,
                       const struct ap_flight_seat *most, struct ap_model *model, struct ap_value *hang)
{
    char text[SENTENCE_BYTES];
    const struct ap_flight_dump *dumps = report->findings.flight->dumps;
    (void)snprintf(
        text, sizeof(text),
        "No operation is pending, but in one group rank %u called %lld collectives and rank %u %lld: rank %u left "
        "some out, and what waited for it ended by a timeout or an error, or its dump is older.",
        (unsigned)dumps[most->dump].rank, (long long)most->last_sequence, (unsigned)dumps[least->dump].rank,
        (long long)least->last_sequence, (unsigned)dumps[least->dump].rank);
    ap_add_string(model, hang, "sentence", text);
}

static void add_no_verdict(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang)
{
    bool recorded = holds_calls_under_way(report) && !report->waits.pending_groups, ends = ap_hang_tells_ends(report);
    const struct ap_flight_seat *least = NULL, *most = NULL;
    ap_add_string(model, hang, "verdict", recorded ? "none" : "not_recorded");
    bool is_uneven = recorded && ends && find_uneven(report, &least, &most);
    ap_add_string(model, hang, "confidence", recorded && ends && !is_uneven ? "high" : "low");
    if (report->waits.pending_groups)
        ap_add_string(model, hang, "sentence",
                      "An operation is pending, and these dumps do not tell for whom it waits: give those of all ranks.");
    else if (!recorded)
        ap_add_string(model, hang, "sentence",
                      report->findings.flight->entries.count
                          ? "Only operations that ended are recorded: they tell slow ones, not what hangs."
                          : "The dumps hold no operations.");
    else if (is_uneven)
        add_uneven(report, least, most, model, hang);
    else if (ends)
        ap_add_string(model, hang, "sentence",
                      "No operation is pending in these dumps. If the job stands still, the reason is not in what they "
                      "recorded: look at other recorders (another backend), at sends and receives, and at the host.");
    else
        ap_add_string(model, hang, "sentence",
                      "All ranks entered the same operations; which of them ended is not recorded.");
    ap_add_null(model, hang, "action");
}

enum ap_status ap_hang_add_causes(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang,
                                  struct ap_error *reterr)
{
    const struct ap_hang_causes *causes = &report->causes;
    char who[AP_RANK_TEXT_BYTES + 8], text[SENTENCE_BYTES];
    if (!causes->count) {
        add_no_verdict(report, model, hang);
    } else {
        name_ranks(report, &causes->list[0], who);
        say(report, &causes->list[0], who, text);
        ap_add_string(model, hang, "verdict", ap_hang_infos[causes->list[0].verdict].id);
        ap_add_string(model, hang, "confidence", ap_confidence_names[causes->list[0].confidence]);
        ap_add_string(model, hang, "sentence", text);
        ap_add_string(model, hang, "action", ap_hang_infos[causes->list[0].verdict].action);
    }
    struct ap_value *list = ap_add_list(model, hang, "causes");
    for (uint32_t i = 0; i < causes->count && (!report->top_n || i < report->top_n); i++)
        add_cause(report, &causes->list[i], model, ap_add_object(model, list, NULL));
    return ap_model_status(model, reterr);
}
