/* SPDX-License-Identifier: MIT
 * run_request.h - the files of a request for a run of many ranks, and whether they are one rank's after all. */
#ifndef AP_RUN_REQUEST_H
#define AP_RUN_REQUEST_H

#include "analyze_profile/analyze_profile.h"
#include "rank_set.h"
#include "run_files.h"

/** Finds the files of request->run_paths. *one gets the paths of a trace and a snapshot where there is no more than one of
 *  each and nothing else of a run. AP_ERROR_INPUT where there is nothing to analyze. Release @files after a failure too. */
AP_MUST_CHECK enum ap_status ap_run_request_find(const struct ap_request *request, struct ap_gate *gate,
                                                 struct ap_run_files *files, struct ap_request *one, const char **ret_path,
                                                 struct ap_error *reterr);

/** Names in @notes what of a folder is not read, for the report of one rank: that of a run lists all its files. */
void ap_run_request_note_rest(const struct ap_run_files *files, struct ap_notes *notes);

/** Notes which ranks of a run were read in part: of their traces and of their snapshots. */
void ap_run_request_note_losses(const struct ap_rank_set *set, struct ap_notes *of_traces, struct ap_notes *of_snapshots);

/** Are there files of other profilers, and is the report about them, alone or beside one trace and one snapshot? In a run of
 *  many ranks they are listed and not read. */
bool ap_run_request_has_profiles(const struct ap_run_files *files);

/** A dump of the flight recorder, or a profile of another program, that is given as a trace is analyzed as what it is. */
bool ap_run_request_is_no_trace(const struct ap_request *request);

#endif
