/* SPDX-License-Identifier: MIT
 * strpool.h - interned text: equal texts have equal ids. Costs about 16 bytes a text beside its bytes. What is no text but
 * a number of bytes without padding serves as well: texts of one length lie side by side as an array, aligned as any. */
#ifndef AP_STRPOOL_H
#define AP_STRPOOL_H

#include "mem.h"

/** Interned text; id 0 is "absent". Valid within one pool only; ids count up from 1 in order of first sight. */
struct ap_str {
    uint32_t id;
};

struct ap_strpool {
    struct ap_gate *gate;
    char *bytes;
    size_t bytes_used, bytes_capacity;
    uint32_t *starts; /* start of text i in bytes; [count] is the end of the last one */
    uint32_t *hashes;
    size_t count, starts_capacity, hashes_capacity;
    uint32_t *slots; /* open addressing, ids; 0 = free */
    size_t slot_count;
    struct ap_recent_text *recent; /* texts that were seen last, by their ends; NULL = not made yet */
};

/** An empty pool; memory is taken with the first text. */
void ap_strpool_init(struct ap_strpool *pool, struct ap_gate *gate);
void ap_strpool_release(struct ap_strpool *pool);
/** The id of the text, copied in where it is new. @data may be NULL where @bytes is 0. */
AP_MUST_CHECK enum ap_status ap_strpool_intern(struct ap_strpool *pool, const char *data, size_t bytes,
                                               struct ap_str *ret_str, struct ap_error *reterr);
/** No text will be added any more: give back what only interning needs. */
void ap_strpool_freeze(struct ap_strpool *pool);
/** Borrowed until the next intern; {"", 0} for the absent text. */
static inline struct ap_text ap_strpool_text(const struct ap_strpool *pool, struct ap_str str)
{
    if (!str.id)
        return (struct ap_text){ "", 0 };
    return (struct ap_text){ pool->bytes + pool->starts[str.id], pool->starts[str.id + 1] - pool->starts[str.id] };
}
/** Ids in use are 1..count. */
uint32_t ap_strpool_count(const struct ap_strpool *pool);

#endif
