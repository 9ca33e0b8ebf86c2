/* SPDX-License-Identifier: MIT
 * recognize.c - is a file a trace, a snapshot or a report of ours? Told by the first member that only one of them has. */
#include "analyze_profile/analyze_profile.h"
#include "input.h"
#include "json_reader.h"

#include "poison.h"

static enum ap_artifact artifact_of_member(struct ap_text key)
{
    if (ap_text_is(key, "traceEvents") || ap_text_is(key, "schemaVersion") || ap_text_is(key, "deviceProperties"))
        return AP_ARTIFACT_TRACE;
    if (ap_text_is(key, "segments") || ap_text_is(key, "device_traces"))
        return AP_ARTIFACT_SNAPSHOT;
    if (ap_text_is(key, "schema_version"))
        return AP_ARTIFACT_REPORT;
    return AP_ARTIFACT_UNKNOWN;
}

static enum ap_artifact artifact_of_element_member(struct ap_text key)
{
    if (ap_text_is(key, "ph"))
        return AP_ARTIFACT_TRACE;
    if (ap_text_is(key, "total_size") || ap_text_is(key, "blocks") || ap_text_is(key, "segment_type"))
        return AP_ARTIFACT_SNAPSHOT;
    return AP_ARTIFACT_UNKNOWN;
}

/* Members of the object that was begun, up to the first that decides. */
static enum ap_status look_at_members(struct ap_json_reader *json, enum ap_artifact (*artifact_of)(struct ap_text),
                                      enum ap_artifact *ret_artifact, struct ap_error *reterr)
{
    for (;;) {
        struct ap_json_token key;
        AP_TRY_UNTIL_END(ap_json_next_key(json, &key, reterr));
        *ret_artifact = artifact_of((struct ap_text){ key.text, key.text_bytes });
        if (*ret_artifact != AP_ARTIFACT_UNKNOWN)
            return AP_OK;
        AP_TRY(ap_json_skip_value(json, reterr));
    }
}

static enum ap_status look(struct ap_json_reader *json, enum ap_artifact *ret_artifact, struct ap_error *reterr)
{
    struct ap_json_token token;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind == AP_JSON_OBJECT_BEGIN)
        return look_at_members(json, artifact_of_member, ret_artifact, reterr);
    if (token.kind != AP_JSON_ARRAY_BEGIN)
        return AP_OK;
    AP_TRY(ap_json_next(json, &token, reterr));
    if (token.kind == AP_JSON_OBJECT_BEGIN)
        return look_at_members(json, artifact_of_element_member, ret_artifact, reterr);
    return AP_OK;
}

enum ap_status ap_recognize(const char *path, enum ap_artifact *ret_artifact, struct ap_error *reterr)
{
    return ap_recognize_opened(path, NULL, ret_artifact, reterr);
}

enum ap_status ap_recognize_opened(const char *path, const struct ap_opener *opener, enum ap_artifact *ret_artifact,
                                   struct ap_error *reterr)
{
    struct ap_gate gate;
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input *input;
    struct ap_json_reader *json = NULL;
    struct ap_input_options options = { .salvage = true, .opener = opener };
    *ret_artifact = AP_ARTIFACT_UNKNOWN;
    ap_gate_init(&gate, 0);
    AP_TRY(ap_input_open(&gate, path, &options, &notes, &input, reterr));
    enum ap_status status = ap_input_probe(input, reterr);
    AP_AND_THEN(status, ap_json_reader_new(&gate, ap_input_source(input), &notes, NULL, &json, reterr));
    AP_AND_THEN(status, look(json, ret_artifact, reterr));
    ap_json_reader_free(json);
    ap_input_free(input);
    return status;
}
