/* SPDX-License-Identifier: MIT
 * The document around the parts of a snapshot: which one it is, what became of it when it is cut or broken. */
#include "snapshot.h"

#include "snapshot_reading.h"

#include "poison.h"

#define HOW_TO_EXPORT "a snapshot is written with json.dump(torch.cuda.memory._snapshot(), file)"

static enum ap_status refuse(struct ap_reading *reading, const char *says, struct ap_error *reterr)
{
    reading->refused = true;
    return ap_fail(reterr, AP_ERROR_INPUT, "%s", says);
}

/* Something was read that no snapshot has, and nothing yet that only a snapshot has. */
static enum ap_status refuse_foreign(struct ap_reading *reading, struct ap_error *reterr)
{
    const struct ap_foreign *foreign = reading->recognized ? NULL : ap_foreign_document(reading);
    return foreign ? ap_advise(reterr, foreign->advice, refuse(reading, foreign->says, reterr)) : AP_OK;
}

/* -------------------------------------------------------------------------------------------------- the object form */

static enum ap_status read_segments(struct ap_reading *reading, struct ap_error *reterr)
{
    struct ap_snapshot *to = reading->to;
    struct ap_json_token token;
    to->segment_count = to->block_count = 0; /* of two members the last one counts */
    to->has &= ~AP_SNAPSHOT_HAS_SEGMENTS;
    reading->segments_whole = false;
    reading->segments_begun = true;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind != AP_JSON_ARRAY_BEGIN) {
        reading->refused = true;
        return ap_fail_at(reterr, AP_ERROR_INPUT, token.offset_bytes, "segments is not a list; " HOW_TO_EXPORT);
    }
    to->has |= AP_SNAPSHOT_HAS_SEGMENTS;
    enum ap_status status;
    while ((status = ap_json_next_element(reading->json, &token, reterr)) == AP_OK) {
        if (token.kind == AP_JSON_OBJECT_BEGIN) {
            AP_TRY(ap_reading_segment(reading, token.offset_bytes, reterr));
        } else {
            ap_note(reading->notes, AP_COUNTER_segment_not_object, token.offset_bytes);
            AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
        }
    }
    if (status != AP_END)
        return status;
    reading->segments_whole = true;
    return AP_OK;
}

static enum ap_status read_member(struct ap_reading *reading, unsigned key, struct ap_error *reterr)
{
    switch (key) {
    case 0: reading->recognized = true; return read_segments(reading, reterr);
    case 1: reading->recognized = true; return ap_reading_histories(reading, reterr);
    case 2: return ap_reading_settings(reading, reterr);
    case 3: return ap_reading_annotations(reading, reterr);
    default: return ap_json_skip_value(reading->json, reterr); /* "stats", "categories", keys of tomorrow */
    }
}

static enum ap_status read_object(struct ap_reading *reading, struct ap_error *reterr)
{
    static const char *const keys[] = { "segments", "device_traces", "allocator_settings", "external_annotations" };
    struct ap_json_token key;
    uint64_t seen = 0;
    unsigned next = 0;
    enum ap_status status;
    while ((status = ap_json_next_key(reading->json, &key, reterr)) == AP_OK) {
        unsigned index = ap_reading_key(&key, keys, AP_COUNT_OF(keys), &next);
        if (index < AP_COUNT_OF(keys)) {
            ap_json_seen(reading->json, &seen, index, key.offset_bytes);
        } else {
            if (ap_text_is((struct ap_text){ key.text, key.text_bytes }, "traceEvents"))
                reading->trace_at_bytes = key.offset_bytes + 1;
            ap_foreign_key(reading, &key);
            AP_TRY(refuse_foreign(reading, reterr));
        }
        AP_TRY(read_member(reading, index, reterr));
    }
    if (status != AP_END)
        return status;
    if (!(reading->to->has & (AP_SNAPSHOT_HAS_SEGMENTS | AP_SNAPSHOT_HAS_HISTORY)))
        return refuse(reading,
                      "this is not a memory snapshot: the object has neither a list \"segments\" nor a list "
                      "\"device_traces\"; " HOW_TO_EXPORT,
                      reterr);
    return AP_OK;
}

/* ---------------------------------------------------------------------------------------------------- the list form */

static enum ap_status refuse_list(struct ap_reading *reading, struct ap_error *reterr)
{
    AP_TRY(refuse_foreign(reading, reterr));
    return refuse(reading,
                  "this is not a memory snapshot: the list does not hold segments (objects with total_size and "
                  "blocks); " HOW_TO_EXPORT,
                  reterr);
}

/* An element that is no object, before anything told what the list is: only lists can still tell. */
static enum ap_status refuse_element(struct ap_reading *reading, const struct ap_json_token *token, struct ap_error *reterr)
{
    struct ap_json_token inner;
    if (token->kind == AP_JSON_ARRAY_BEGIN) {
        AP_TRY(ap_json_next(reading->json, &inner, reterr));
        if (inner.kind == AP_JSON_NUMBER || inner.kind == AP_JSON_ARRAY_BEGIN)
            ap_foreign_list_of_lists(reading);
    }
    return refuse_list(reading, reterr);
}

static enum ap_status read_list(struct ap_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    bool empty = true;
    reading->to->format = AP_SNAPSHOT_SEGMENT_LIST;
    reading->to->has |= AP_SNAPSHOT_HAS_SEGMENTS;
    reading->segments_begun = true;
    enum ap_status status;
    for (; (status = ap_json_next_element(reading->json, &token, reterr)) == AP_OK; empty = false) {
        if (token.kind == AP_JSON_OBJECT_BEGIN) {
            AP_TRY(ap_reading_segment(reading, token.offset_bytes, reterr));
            AP_TRY(refuse_foreign(reading, reterr));
        } else if (reading->recognized) {
            ap_note(reading->notes, AP_COUNTER_segment_not_object, token.offset_bytes);
            AP_TRY(ap_json_skip_rest(reading->json, &token, reterr));
        } else {
            return refuse_element(reading, &token, reterr);
        }
    }
    if (status != AP_END)
        return status;
    if (!empty && !reading->recognized)
        return refuse_list(reading, reterr);
    reading->segments_whole = true;
    return AP_OK;
}

static enum ap_status read_document(struct ap_reading *reading, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(reading->json, &token, reterr));
    if (token.kind == AP_JSON_OBJECT_BEGIN)
        AP_TRY(read_object(reading, reterr));
    else if (token.kind == AP_JSON_ARRAY_BEGIN)
        AP_TRY(read_list(reading, reterr));
    else
        return refuse(reading, "this is not a memory snapshot but a single JSON value; " HOW_TO_EXPORT, reterr);
    AP_TRY_UNTIL_END(ap_json_next(reading->json, &token, reterr));
    return AP_OK;
}

/* ----------------------------------------------------------------------------------------- cut and broken documents */

/* The segment that was being read is dropped with its blocks. */
static void drop_partial_segment(struct ap_snapshot *snapshot)
{
    const struct ap_segment *last = snapshot->segment_count ? &snapshot->segments[snapshot->segment_count - 1] : NULL;
    snapshot->block_count = last ? last->first_block + last->block_count : 0;
}

static enum ap_status refuse_cut(const struct ap_reading *reading, uint64_t offset_bytes, struct ap_error *reterr)
{
    const struct ap_snapshot *snapshot = reading->to;
    const struct ap_foreign *foreign = ap_foreign_document(reading);
    if (!reading->recognized && foreign)
        return ap_advise(reterr, foreign->advice,
                         ap_fail_at(reterr, AP_ERROR_INPUT, offset_bytes, "the file is cut, and %s", foreign->says));
    if (!reading->recognized)
        return ap_fail_at(reterr, AP_ERROR_INPUT, offset_bytes,
                          "the file ends at byte %llu, before it can be told to be a memory snapshot; " HOW_TO_EXPORT,
                          (unsigned long long)offset_bytes);
    if (!snapshot->segment_count && !snapshot->actions.count)
        return ap_fail_at(reterr, AP_ERROR_INPUT, offset_bytes,
                          "the memory snapshot ends at byte %llu, before its first segment and its first history "
                          "entry: there is nothing to report; export it again",
                          (unsigned long long)offset_bytes);
    return ap_advise(
        reterr, AP_ADVICE_SALVAGE,
        ap_fail_at(reterr, AP_ERROR_INPUT, offset_bytes,
                   "the memory snapshot ends at byte %llu, %s its segments, behind %u segments and %u history entries: "
                   "totals would be wrong; export it again",
                   (unsigned long long)offset_bytes, reading->segments_begun ? "within" : "before", snapshot->segment_count,
                   snapshot->actions.count));
}

/* What becomes of a document that ends too early, or is broken and shall be salvaged. */
static enum ap_status keep_what_was_read(struct ap_reading *reading, enum ap_counter counter, bool salvage,
                                         const struct ap_error *why, struct ap_error *reterr)
{
    struct ap_snapshot *snapshot = reading->to;
    uint64_t offset_bytes = why->has_offset ? why->offset_bytes : ap_json_offset(reading->json);
    drop_partial_segment(snapshot);
    bool something = snapshot->segment_count || snapshot->actions.count || reading->segments_whole;
    if (!reading->recognized || !something || !(reading->segments_whole || salvage)) {
        if (counter == AP_COUNTER_cut)
            return refuse_cut(reading, offset_bytes, reterr);
        if (reterr)
            *reterr = *why;
        return why->status;
    }
    snapshot->complete = false;
    ap_note(reading->notes, counter, offset_bytes);
    ap_note_detail(reading->notes, counter, "%s; %u segments%s, %u blocks and %u history entries were read, up to byte %llu",
                   counter == AP_COUNTER_salvaged ? "not valid JSON from there on" : "the rest is missing",
                   snapshot->segment_count, reading->segments_whole ? " (all)" : " (totals are wrong)",
                   snapshot->block_count, snapshot->actions.count, (unsigned long long)offset_bytes);
    return AP_OK;
}

static enum ap_status read_and_judge(struct ap_reading *reading, bool salvage, struct ap_error *reterr)
{
    struct ap_error why = { .status = AP_OK };
    enum ap_status status = read_document(reading, &why);
    if (status == AP_ERROR_CUT)
        status = keep_what_was_read(reading, AP_COUNTER_cut, salvage, &why, reterr);
    else if (status == AP_ERROR_INPUT && salvage && !reading->refused)
        status = keep_what_was_read(reading, AP_COUNTER_salvaged, salvage, &why, reterr);
    else if (status != AP_OK && reterr)
        *reterr = why;
    AP_AND_THEN(status, ap_reading_check_places(reading, reterr));
    AP_AND_THEN(status, ap_reading_leave_strays(reading, reterr));
    if (status == AP_OK && reading->trace_at_bytes)
        ap_note(reading->notes, AP_COUNTER_two_forms, reading->trace_at_bytes - 1);
    bool no_list = !(reading->to->has & AP_SNAPSHOT_HAS_SEGMENTS);
    bool empty = !reading->to->segment_count && !reading->to->history_count; /* a history may end with all given back */
    if (status == AP_OK && (no_list || empty))
        ap_note_many(reading->notes, AP_COUNTER_no_segments, 1);
    reading->to->bytes_read = ap_json_offset(reading->json);
    ap_snapshot_freeze(reading->to);
    return status;
}

enum ap_status ap_snapshot_read(struct ap_json_reader *json, struct ap_gate *gate, struct ap_notes *notes,
                                const struct ap_snapshot_options *options, struct ap_snapshot **ret_snapshot,
                                struct ap_error *reterr)
{
    struct ap_reading reading = { .json = json, .notes = notes };
    AP_TRY(ap_snapshot_new(gate, &reading.to, reterr));
    enum ap_status status = read_and_judge(&reading, options && options->salvage, reterr);
    ap_element_reader_free(reading.entries);
    if (status != AP_OK) {
        ap_snapshot_free(reading.to);
        return status;
    }
    *ret_snapshot = reading.to;
    return AP_OK;
}
