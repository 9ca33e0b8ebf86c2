/* SPDX-License-Identifier: MIT
 * other_reader.h - what each kind of file of another profiler is behind: it reads files, then tells of them. To add one: its
 * file, its line in other_readers.c, its format in other_format.def. */
#ifndef AP_OTHER_READER_H
#define AP_OTHER_READER_H

#include "byte_source.h"
#include "model_build.h"
#include "other_format.h"

/** A file, from its first byte on. */
struct ap_other_input {
    enum ap_other_format format; /* one of the reader's */
    struct ap_byte_source source;
    struct ap_json_limits limits;
    bool salvage;     /* what is broken ends there as if it were cut */
    const char *path; /* as given or found, for those that tell their files apart; NULL = has none */
};

#define AP_OTHER_UNKNOWN "unknown" /* the verdict where the sentence says what is missing */

/** What a reader has to say first. */
struct ap_other_verdict {
    const char *verdict;    /* one of profile_verdict in the catalogue; NULL = nothing could be judged */
    const char *confidence; /* low, medium, high */
    char sentence[400];     /* why, in words of ours: no name of an input */
    int64_t window_ns;      /* that the files are about, what findings are shares of; -1 = not known */
};

struct ap_other_reader {
    const char *key; /* of the report, as other_format.def has it */
    AP_MUST_CHECK enum ap_status (*open)(struct ap_gate *gate, void **ret_self, struct ap_error *reterr);
    /** Once for each file. A file that is cut is read as far as it goes, and counted; one that holds nothing fails. */
    AP_MUST_CHECK enum ap_status (*read)(void *self, const struct ap_other_input *input, struct ap_notes *notes,
                                         struct ap_error *reterr);
    /** Append the key to the root of @model. @top_n bounds lists; 0 = all. */
    AP_MUST_CHECK enum ap_status (*add)(void *self, uint64_t top_n, struct ap_notes *notes, struct ap_model *model,
                                        struct ap_other_verdict *ret_verdict, struct ap_error *reterr);
    void (*close)(void *self);
};

extern const struct ap_other_reader ap_onnx_reader, ap_tensorrt_reader, ap_compile_log_reader;

/** All of them, in the order of the report. */
extern const struct ap_other_reader *const ap_other_readers[];
extern const size_t ap_other_reader_count;

#endif
