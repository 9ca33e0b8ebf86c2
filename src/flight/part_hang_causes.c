/* SPDX-License-Identifier: MIT
 * The verdict: what is wrong, how sure that is, what to do. Sentences have numbers of ranks and no names of an input. */
#include <stdio.h>

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

/* Behind the ranks. %1$s etc. are not portable, so each says what it needs in order: verb forms for one and for more. */
static const char soon_written[] = " The dump was written soon after the last call: the job may still have run.";

/* Who is the odd one of a circle, as groups alike tell it. */
static void say_odd(const struct ap_hang_cause *cause, const char *who, char *to)
{
    bool one = cause->rank_count == 1;
    if (cause->alike == AP_ALIKE_MADE)
        (void)snprintf(to, SENTENCE_BYTES,
                       "%s %s not made a call that all ranks of groups like this one made, and %s elsewhere for those that "
                       "wait here: the call is left out, or comes too late.",
                       who, one ? "has" : "have", one ? "waits" : "wait");
    else
        (void)snprintf(
            to, SENTENCE_BYTES,
            "%s %s here for who waits elsewhere for %s, and no rank of groups like this one has made this call: it "
            "is one too many, or comes too early.",
            who, one ? "waits" : "wait", one ? "it" : "them");
}

static void say(const struct ap_hang_report *report, const struct ap_hang_cause *cause, const char *who, char *to)
{
    const struct ap_flight_entries *entries = &report->findings.flight->entries;
    bool is_transfer = cause->entry != AP_FLIGHT_NONE && entries->flags[cause->entry] & AP_FLIGHT_IS_P2P;
    bool one = cause->rank_count == 1;
    unsigned waiting = cause->waiting_count;
    unsigned missing = cause->group == AP_FLIGHT_NONE ? 0 : report->waits.list[cause->group].counts[AP_PLACE_MISSING];
    size_t bytes = SENTENCE_BYTES;
    if (cause->names_all) {
        (void)snprintf(to, bytes,
                       "%s called different things as one collective; there is no majority that tells who is wrong.", who);
        return;
    }
    switch (cause->verdict) {
    case AP_HANG_call_skipped:
        (void)snprintf(to, bytes, "%s left out a call that the others of the group made: from there on %s one call ahead.",
                       who, one ? "it is" : "they are");
        break;
    case AP_HANG_call_added:
        (void)snprintf(to, bytes,
                       "%s made a call that the others of the group did not make: from there on %s one call behind.", who,
                       one ? "it is" : "they are");
        break;
    case AP_HANG_order_swapped:
        (void)snprintf(to, bytes, "%s made this call and the next one in the other order.", who);
        break;
    case AP_HANG_desync:
        (void)snprintf(to, bytes,
                       "%s called another operation here than the others of the group. Whether a call is missing, added or "
                       "moved cannot be told.",
                       who);
        break;
    case AP_HANG_size_mismatch:
        (void)snprintf(to, bytes, "%s called the operation with another size than the others of the group.", who);
        break;
    case AP_HANG_type_mismatch:
        (void)snprintf(to, bytes, "%s called the operation with another type than the others of the group.", who);
        break;
    case AP_HANG_group_order:
        if (cause->alike != AP_ALIKE_UNKNOWN) {
            say_odd(cause, who, to);
            break;
        }
        (void)snprintf(to, bytes,
                       "%s wait for each other in a circle: each waits in one place for a rank that waits in another. They "
                       "use groups in different order, or one of them left out a call.",
                       who);
        break;
    case AP_HANG_p2p_partner_missing:
        (void)snprintf(to, bytes, "%s did not call the send or receive that another rank waits with.", who);
        break;
    case AP_HANG_lone_call:
        (void)snprintf(to, bytes,
                       "%s %s in a collective that none of the other %u ranks of the group has entered, and these wait for "
                       "nobody: they do not make this call, or all of them are outside of the recorded operations.%s",
                       who, one ? "waits" : "wait", missing, cause->may_run ? soon_written : "");
        break;
    case AP_HANG_stuck_outside:
        if (is_transfer) {
            (void)snprintf(
                to, bytes,
                "%s did not call the sends or receives that others wait with, and waits for nobody: it is outside "
                "of the recorded operations.%s",
                who, cause->may_run ? soon_written : "");
            break;
        }
        (void)snprintf(to, bytes,
                       "%s %s not entered the collective that %u rank%s wait%s in, and %s for nobody: %s outside of the "
                       "recorded operations.%s",
                       who, one ? "has" : "have", waiting, waiting == 1 ? "" : "s", waiting == 1 ? "s" : "",
                       one ? "waits" : "wait", one ? "it is" : "they are", cause->may_run ? soon_written : "");
        break;
    case AP_HANG_dump_missing:
        if (!waiting) {
            (void)snprintf(to, bytes, "%s left no dump, and others wait for a send or receive of %s.", who,
                           one ? "it" : "theirs");
            break;
        }
        (void)snprintf(to, bytes, "%s left no dump, and %u rank%s wait%s in a collective with %s.", who, waiting,
                       waiting == 1 ? "" : "s", waiting == 1 ? "s" : "", one ? "it" : "them");
        break;
    case AP_HANG_members_unknown:
        (void)snprintf(to, bytes,
                       "%s %s in %s of which these dumps do not tell the other members: nothing tells who has not come.",
                       who, one ? "waits" : "wait", waiting == 1 ? "a group" : "groups");
        break;
    case AP_HANG_collective_stalled:
        if (is_transfer) {
            (void)snprintf(to, bytes, "%s are in a send and a receive of each other, and these do not end.", who);
            break;
        }
        (void)snprintf(
            to, bytes, "%s entered the collective with the same operation, size and type, and it ended on none.%s%s", who,
            cause->may_lack_members ? " These dumps do not tell who is in the group: a rank that waits in another "
                                      "one may be missing."
                                    : "",
            cause->may_run ? soon_written : " If the job still ran when the dumps were written, it may just be under way.");
        break;
    case AP_HANG_dump_skew:
        if (cause->is_older) {
            (void)snprintf(
                to, bytes,
                "%s entered only after %s dump%s %s written what had ended on others when theirs were: the job ran "
                "between the dumps.",
                who, one ? "its" : "their", one ? "" : "s", one ? "was" : "were");
            break;
        }
        (void)snprintf(to, bytes,
                       "%s %s in a collective that ended on the other ranks of the group: the dumps were written at "
                       "different times, or a path to %s is bad.",
                       who, one ? "is" : "are", one ? "it" : "them");
        break;
    case AP_HANG_ring_too_small:
        (void)snprintf(to, bytes,
                       "%s may or may not have entered the collective that %u rank%s wait%s in: %s dump no longer holds it.",
                       who, waiting, waiting == 1 ? "" : "s", waiting == 1 ? "s" : "", one ? "its" : "their");
        break;
    case AP_HANG_COUNT_: break;
    }
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
    ap_add_string(model, to, "confidence", ap_hang_confidence_name(cause->confidence));
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

static void add_no_verdict(const struct ap_hang_report *report, struct ap_model *model, struct ap_value *hang)
{
    bool recorded = holds_calls_under_way(report) && !report->waits.pending_groups, ends = ap_hang_tells_ends(report);
    ap_add_string(model, hang, "verdict", recorded ? "none" : "not_recorded");
    ap_add_string(model, hang, "confidence", recorded && ends ? "high" : "low");
    if (report->waits.pending_groups)
        ap_add_string(model, hang, "sentence",
                      "An operation is pending, and these dumps do not tell for whom it waits: give those of all ranks.");
    else if (!recorded)
        ap_add_string(model, hang, "sentence",
                      report->findings.flight->entries.count
                          ? "Only operations that ended are recorded: they tell slow ones, not what hangs."
                          : "The dumps hold no operations.");
    else if (ends)
        ap_add_string(model, hang, "sentence",
                      "No operation is pending in these dumps: what hangs is not in what they recorded. Look at other "
                      "recorders (another backend), at sends and receives, and at the host.");
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
        ap_add_string(model, hang, "confidence", ap_hang_confidence_name(causes->list[0].confidence));
        ap_add_string(model, hang, "sentence", text);
        ap_add_string(model, hang, "action", ap_hang_infos[causes->list[0].verdict].action);
    }
    struct ap_value *list = ap_add_list(model, hang, "causes");
    for (uint32_t i = 0; i < causes->count && (!report->top_n || i < report->top_n); i++)
        add_cause(report, &causes->list[i], model, ap_add_object(model, list, NULL));
    return ap_model_status(model, reterr);
}
