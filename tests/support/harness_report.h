/* SPDX-License-Identifier: MIT
 * harness_report.h - what the analyzer says of a trace and a snapshot that the CUDA harness's writers wrote to a folder of
 * the test.
 *
 *     struct harness_folder folder;
 *     if (harness_folder_open(&folder)) { ... folder.trace ... harness_folder_close(&folder); } */
#ifndef AP_HARNESS_REPORT_H
#define AP_HARNESS_REPORT_H

#include <stdlib.h>
#include <unistd.h>

#include "analyze_profile/analyze_profile.h"
#include "tap.h"

struct harness_folder {
    char path[256], trace[300], snapshot[300], truth[300];
};

static inline bool harness_folder_open(struct harness_folder *folder)
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(folder->path, sizeof(folder->path), "%s/harness-XXXXXX", parent ? parent : "/tmp");
    if (!ok(mkdtemp(folder->path) != NULL, "a folder for the files"))
        return false;
    (void)snprintf(folder->trace, sizeof(folder->trace), "%s/trace.json.gz", folder->path);
    (void)snprintf(folder->snapshot, sizeof(folder->snapshot), "%s/snapshot.json.gz", folder->path);
    (void)snprintf(folder->truth, sizeof(folder->truth), "%s/truth.json", folder->path);
    return true;
}

static inline void harness_folder_close(const struct harness_folder *folder)
{
    (void)unlink(folder->trace);
    (void)unlink(folder->snapshot);
    (void)unlink(folder->truth);
    (void)rmdir(folder->path);
}

/** NULL, and a failed check, where the files cannot be read. Either path may be NULL. */
static inline struct ap_report *harness_report(const char *trace, const char *snapshot)
{
    const struct ap_request request = { .cpu_trace_path = trace, .memory_json_path = snapshot, .top_n = 10, .strict = true };
    struct ap_report *report = NULL;
    struct ap_error error = { 0 };
    if (!ok(ap_report_new(&request, &report, NULL, &error) == AP_OK, "the analyzer reads what was written"))
        note(error.message);
    return report;
}

static inline int64_t harness_figure(const struct ap_report *report, const char *path)
{
    return ap_value_integer(ap_value_at(ap_report_root(report), path), -1);
}

/** Of the first device that was replayed. */
static inline int64_t harness_replayed(const struct ap_report *report, const char *key)
{
    const struct ap_value *devices = ap_value_at(ap_report_root(report), "memory.replay.devices");
    return ap_value_integer(ap_value_member(ap_value_first(devices), key), -1);
}

static inline void harness_no_warnings(const struct ap_report *report)
{
    const struct ap_value *warnings = ap_value_at(ap_report_root(report), "warnings");
    if (!ok(warnings && ap_value_count(warnings) == 0, "without a warning"))
        for (const struct ap_value *warning = ap_value_first(warnings); warning; warning = warning->next) {
            struct ap_text code = ap_value_text(ap_value_member(warning, "code"));
            printf("#   %.*s\n", (int)code.bytes, code.data);
        }
}

#endif
