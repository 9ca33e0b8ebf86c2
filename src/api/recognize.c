/* SPDX-License-Identifier: MIT
 * recognize.c - is a file a trace, a snapshot or a report of ours? Told by the first member that only one of them has. */
#include "analyze_profile/analyze_profile.h"
#include "file_head.h"
#include "input.h"
#include "run_folders.h"

#include "poison.h"

static enum ap_artifact artifact_of(enum ap_file_kind kind)
{
    switch (kind) {
    case AP_FILE_trace: return AP_ARTIFACT_TRACE;
    case AP_FILE_snapshot: return AP_ARTIFACT_SNAPSHOT;
    case AP_FILE_report: return AP_ARTIFACT_REPORT;
    case AP_FILE_flight: return AP_ARTIFACT_FLIGHT_RECORDER;
    case AP_FILE_summary: return AP_ARTIFACT_SUMMARY;
    case AP_FILE_profile: return AP_ARTIFACT_PROFILE;
    case AP_FILE_other:
    case AP_FILE_KIND_COUNT_: break;
    }
    return AP_ARTIFACT_UNKNOWN;
}

enum ap_status ap_recognize(const char *path, enum ap_artifact *ret_artifact, struct ap_error *reterr)
{
    return ap_recognize_opened(path, NULL, ret_artifact, reterr);
}

/* Of what is open. */
static enum ap_status recognize(struct ap_gate *gate, struct ap_input *input, struct ap_notes *notes,
                                enum ap_artifact *ret_artifact, struct ap_error *reterr)
{
    struct ap_file_head head = { .kind = AP_FILE_other };
    enum ap_status status = ap_input_probe(input, reterr);
    AP_AND_THEN(status, ap_file_look_at_input(gate, input, 0, notes, &head, reterr));
    *ret_artifact = artifact_of(head.kind);
    ap_input_free(input);
    return status;
}

enum ap_status ap_recognize_opened(const char *path, const struct ap_opener *opener, enum ap_artifact *ret_artifact,
                                   struct ap_error *reterr)
{
    struct ap_gate gate;
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input *input;
    struct ap_input_options options = { .opener = opener, .accepts_logs = true };
    *ret_artifact = AP_ARTIFACT_UNKNOWN;
    if (ap_is_folder(path, opener)) {
        *ret_artifact = AP_ARTIFACT_FOLDER;
        return AP_OK;
    }
    ap_gate_init(&gate, 0);
    AP_TRY(ap_input_open(&gate, path, &options, &notes, &input, reterr));
    return recognize(&gate, input, &notes, ret_artifact, reterr);
}

enum ap_status ap_recognize_head(const void *head, size_t bytes, enum ap_artifact *ret_artifact, struct ap_error *reterr)
{
    struct ap_gate gate;
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    struct ap_input *input;
    struct ap_input_options options = { .accepts_logs = true };
    struct ap_text rest = { head, bytes };
    *ret_artifact = AP_ARTIFACT_UNKNOWN;
    ap_gate_init(&gate, 0);
    AP_TRY(ap_input_open_source(&gate, ap_text_source(&rest), &options, &notes, &input, reterr));
    return recognize(&gate, input, &notes, ret_artifact, reterr);
}
