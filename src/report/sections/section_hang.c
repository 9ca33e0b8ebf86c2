/* SPDX-License-Identifier: MIT
 * section_hang.c - a run that hangs: what is wrong, who is where, who waits for whom. */
#include "sections.h"

#include "poison.h"

static void write_dumps(struct doc *doc)
{
    ap_doc_paragraph(doc, ap_doc_at(doc, "hang.dumps"),
                     "{f count} dumps with {f entries} operations[, of {f world_size} ranks][; no dump of {p missing}].");
}

#define GROUP "{n group}[ {n description}], {n operation} number {f sequence}: "
#define ABSENT "[; there is no dump of {p absent}]"

static const char *wait_of(const struct ap_value *group)
{
    bool one = ap_integer_member(group, "waiting_count", 0) == 1;
    if (ap_integer_member(group, "missing_count", 0) == 0)
        return one ? GROUP "rank {p waiting} is inside" ABSENT
                   : GROUP "ranks {p waiting} are inside[; rank {i through_rank} waits in what it entered before]" ABSENT;
    return one ? GROUP "rank {p waiting} waits for {p missing}[; rank {i through_rank} waits itself]" ABSENT
               : GROUP "ranks {p waiting} wait for {p missing}[; rank {i through_rank} waits itself]" ABSENT;
}

/* All may be inside, and some of them in another operation. */
static const struct ap_value *odd_of(struct doc *doc, const struct ap_value *group)
{
    const struct ap_value *cause = ap_value_first(ap_doc_at(doc, "hang.causes"));
    while (cause && !(ap_text_member(cause, "other_operation").bytes &&
                      ap_text_equal(ap_text_member(cause, "group"), ap_text_member(group, "group")) &&
                      ap_integer_member(cause, "sequence", -1) == ap_integer_member(group, "sequence", -2)))
        cause = cause->next;
    return cause;
}

/* As a tree: what waits because of a group stands below it. */
static void write_waits(struct doc *doc)
{
    const struct ap_value *group = ap_value_first(ap_doc_at(doc, "hang.groups"));
    enum { SHOWN = 40 };
    if (ap_integer_member(group, "depth", -1) < 0)
        return;
    ap_doc_heading(doc, "Who waits for whom");
    ap_doc_begin(doc, DOC_LIST);
    for (int shown = 0; group && shown < SHOWN; group = group->next, shown++) {
        int64_t depth = ap_integer_member(group, "depth", -1);
        if (depth < 0)
            break;
        ap_doc_begin_at(doc, DOC_ITEM, depth < 8 ? depth : 8);
        ap_doc_tell(doc, group, wait_of(group));
        const struct ap_value *odd = odd_of(doc, group);
        if (odd)
            ap_doc_tell(doc, odd, "; of these {p ranks} called {n other_operation}");
        ap_doc_end(doc, DOC_ITEM);
    }
    ap_doc_end(doc, DOC_LIST);
}

static const struct doc_part parts[] = {
    CALL(write_dumps),
    ROWS("Causes", .path = "hang.causes", .remark = ", the surest first", .limit = 20,
         COLUMNS(PROSE("what", "What"), NAME("ranks", "Ranks"), PROSE("confidence", "Confidence"), NAME("group", "Group"),
                 NAME("description", "Called"), ID("sequence", "Number"), NAME("operation", "Operation"),
                 NAME("sizes", "Sizes"), NAME("types", "Types"), NAME("other_operation", "Odd operation"),
                 NAME("other_sizes", "Odd sizes"), NAME("other_types", "Odd types"), NAME("site", "Called at"),
                 NUMBER("waiting_count", "Inside"), PROSE("action", "What to do"))),
    ROWS("What they did last", .path = "hang.last",
         .remark =
             ", as their traces end, which may be long before the hang: the last collective, and what the host did since",
         COLUMNS(ID("rank", "Rank"), NAME("host", "Host"), ID("step", "Step"), NAME("operation", "Last collective"),
                 NAME("group", "Group"), ID("sequence", "Number"), NUMBER("since_us", "Since then (us)"),
                 NAME("line", "What the host did"))),
    CALL(write_waits),
    ROWS("Process groups", .path = "hang.groups", .limit = 40,
         .remark = ", those that wait first. Number: the first collective that is pending, and who is where",
         COLUMNS(NAME("group", "Group"), NAME("description", "Called"), NUMBER("size", "Ranks"), NAME("members", "Which"),
                 ID("sequence", "Number"), NAME("operation", "Operation"), NAME("waiting", "Inside"),
                 NUMBER("done_count", "Through"), NAME("missing", "Not there"), NAME("absent", "No dump"),
                 NUMBER("unknown_count", "Not known"), ID("last_sequence", "Last number"))),
    ROWS("Ranks", .path = "hang.ranks", .limit = 40,
         .remark = ", those that others wait for first. Lag: from the first rank's call of a collective to its own, by the "
                   "clocks of the hosts",
         COLUMNS(ID("rank", "Rank"), PROSE("role", "Role"), PROSE("state", "Last or pending"),
                 NAME("operation", "Operation"), NAME("group", "Group"), NAME("description", "Called"),
                 ID("sequence", "Number"), NAME("site", "Called at"), NUMBER("pending_count", "Pending"),
                 NUMBER("entries", "Operations"), NUMBER("p50_lag_us", "Lag, p50 (us)"),
                 NUMBER("max_lag_us", "Lag, max (us)"), FULL("last_ratio", "Last to call"), NAME("host", "Host"))),
    ROWS("Sends and receives that do not add up", .path = "hang.pairs", .limit = 20,
         COLUMNS(NAME("group", "Group"), ID("from_rank", "From"), ID("to_rank", "To"), NUMBER("sends", "Sends"),
                 NUMBER("receives", "Receives"))),
    ROWS("Durations", .path = "hang.durations", .limit = 20,
         .remark = ", those with slow ones first. Durations hold the wait for the last rank, for whom they are shortest",
         COLUMNS(NAME("operation", "Operation"), NAME("group", "Group"), NAME("description", "Called"),
                 NAME("sizes", "Sizes"), NUMBER("count", "Count"), NUMBER("p50_us", "p50 (us)"),
                 NUMBER("max_us", "Max (us)"), NUMBER("slow_count", "Slow"), ID("sequence", "Number of the longest"),
                 ID("rank", "Its rank"), ID("last_rank", "Came last"))),
};

const struct doc_section ap_section_hang = { .title = "Hang", .if_any = { "hang" }, .parts = COUNTED(parts) };
