/* SPDX-License-Identifier: MIT
 * run_files.h - the files of a run: what is found below paths, each told apart by its content, with the rank that it is of.
 * Nothing is left out in silence: what is no input of the run stays in the list with a reason. */
#ifndef AP_RUN_FILES_H
#define AP_RUN_FILES_H

#include "analyze_profile/opener.h"
#include "file_head.h"

/** More files than that are refused; and where so many were found in folders, and looked at, and none is an input, those
 *  that were not looked at yet. */
#define AP_RUN_FILES_MAX 200000
#define AP_RUN_FILES_MAX_OTHER 10000
/** Folders are entered so deep. */
#define AP_RUN_FILES_MAX_DEPTH 4

enum ap_rank_source { AP_RANK_unknown, AP_RANK_by_content, AP_RANK_by_name };

struct ap_run_file {
    const char *path;
    struct ap_file_head head; /* its rank: of the content, else of the name */
    enum ap_rank_source rank_source;
    uint64_t size_bytes, device, inode; /* inode 0 = not known */
    int64_t written_ns;                 /* since 1970, when its content was changed last; 0 = not known */
    bool is_named;                      /* by a path that was given, not found in a folder */
    bool is_shut;                       /* cannot be opened, or listed to its end: nobody knows what it is */
    const char *why_not;                /* why it cannot be read; NULL = it can, as far as was looked */
};

struct ap_run_files {
    struct ap_arena arena;
    struct ap_run_file *files; /* by path */
    size_t count, capacity;
    size_t kind_counts[AP_FILE_KIND_COUNT_]; /* of those that can be read */
};

struct ap_run_files_options {
    const char *rank_regex;         /* as ap_rank_pattern_new() takes it */
    const struct ap_opener *opener; /* NULL = the file system */
    unsigned jobs;                  /* files that are looked at at a time; 0 = 1 */
};

/** Files as they are named, folders with what is below them: regular files whose names do not begin with a dot. A path that
 *  is not there fails, with *ret_path; one below a folder that cannot be read does not. A file that is named twice is
 *  one. Release @files after a failure too. */
AP_MUST_CHECK enum ap_status ap_run_files_find(struct ap_run_files *files, struct ap_gate *gate, const char *const *paths,
                                               size_t path_count, const struct ap_run_files_options *options,
                                               const char **ret_path, struct ap_error *reterr);
void ap_run_files_release(struct ap_run_files *files);

/** The first file of a kind that can be read, behind number @after - 1; files->count where there is none. */
size_t ap_run_files_next(const struct ap_run_files *files, enum ap_file_kind kind, size_t after);

/** "content", "name"; NULL where no rank is known. */
const char *ap_rank_source_name(enum ap_rank_source source);

#endif
