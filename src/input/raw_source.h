/* SPDX-License-Identifier: MIT
 * raw_source.h - the bytes as they lie in the file, in pieces. Knows files and nothing of what they hold. */
#ifndef AP_RAW_SOURCE_H
#define AP_RAW_SOURCE_H

#include <stdatomic.h>

#include "analyze_profile/opener.h"
#include "byte_source.h"
#include "mem.h"

enum { AP_RAW_HEAD_BYTES = 1024 }; /* what can be looked at before anything is taken */

/** Read by one thread at a time; taken_bytes may be looked at from any. */
struct ap_raw_source {
    struct ap_gate *gate;
    struct ap_byte_source from; /* where fd is -1 */
    int fd;
    int wake_fds[2];     /* pipe that ends a wait for bytes; -1 where reading cannot wait long */
    const uint8_t *head; /* comes first; borrowed */
    size_t head_bytes;
    bool owns_fd, ended;
    enum ap_status status; /* the failure that every further call repeats */
    struct ap_error error;
    uint64_t size_bytes; /* 0 = unknown */
    uint64_t first_byte; /* of the file: standard input may stand behind its beginning */
    _Atomic uint64_t taken_bytes;
    size_t piece_bytes; /* pieces are no larger than this */
    uint8_t *buffer;
    size_t buffer_size, begin, end; /* what was read and not yet handed out is buffer[begin, end) */
};

/** Open and allocate; after a failure there is nothing to release. */
AP_MUST_CHECK enum ap_status ap_raw_source_init_path(struct ap_raw_source *raw, struct ap_gate *gate, const char *path,
                                                     const struct ap_opener *opener, size_t piece_bytes, bool wakeable,
                                                     struct ap_error *reterr);
/** The same from memory, a pipe or whatever else the source reads; it is borrowed. */
AP_MUST_CHECK enum ap_status ap_raw_source_init(struct ap_raw_source *raw, struct ap_gate *gate, struct ap_byte_source from,
                                                size_t piece_bytes, struct ap_error *reterr);
/** These bytes, which are borrowed, come before the first. */
void ap_raw_source_put_back(struct ap_raw_source *raw, const uint8_t *head, size_t head_bytes);
void ap_raw_source_release(struct ap_raw_source *raw);

/** Look at the first AP_RAW_HEAD_BYTES (fewer where the input is shorter or fails) without taking them; only before
 *  anything was taken. A failure shows when its place is reached. */
void ap_raw_source_peek(struct ap_raw_source *raw, const uint8_t **ret_data, size_t *ret_bytes);

/** The next piece, borrowed until the next call; AP_END at the end. */
AP_MUST_CHECK enum ap_status ap_raw_source_next(struct ap_raw_source *raw, const uint8_t **ret_data, size_t *ret_bytes,
                                                struct ap_error *reterr);

/** The next 1..cap bytes, copied; AP_END at the end. */
AP_MUST_CHECK enum ap_status ap_raw_source_read(struct ap_raw_source *raw, uint8_t *to, size_t cap_bytes, size_t *ret_bytes,
                                                struct ap_error *reterr);

/** Can bytes be read at any place? Only of regular files; @ret_size_bytes is that of what ap_raw_source_peek began with. */
bool ap_raw_source_has_pages(const struct ap_raw_source *raw, uint64_t *ret_size_bytes);
/** Up to @cap_bytes at that place, fewer only at the end. Moves nothing; on any thread. */
AP_MUST_CHECK enum ap_status ap_raw_source_fetch(struct ap_raw_source *raw, uint64_t offset_bytes, uint8_t *to,
                                                 size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr);
/** All @bytes at that place, zeros behind the end; false where reading fails. Moves nothing. */
bool ap_raw_source_read_at(struct ap_raw_source *raw, uint64_t offset_bytes, uint8_t *to, size_t bytes);

/** End a wait for bytes from another thread: the read fails. */
void ap_raw_source_wake(struct ap_raw_source *raw);

#endif
