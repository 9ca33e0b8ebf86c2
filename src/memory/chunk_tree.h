/* SPDX-License-Identifier: MIT
 * chunk_tree.h - inside the allocator's simulation: stretches of memory, and search trees over them by size, then address.
 * A treap with priorities under the run's key: every operation takes O(log n) steps on average, whatever a file holds. */
#ifndef AP_CHUNK_TREE_H
#define AP_CHUNK_TREE_H

#include "hash.h"

#define AP_NO_CHUNK UINT32_MAX

enum ap_chunk_state { AP_CHUNK_USED, AP_CHUNK_FREE, AP_CHUNK_UNMAPPED };

struct ap_chunk {
    uint64_t address;
    int64_t bytes;
    uint32_t before, behind;  /* its neighbors in the segment */
    uint32_t smaller, larger; /* in the tree */
    uint32_t older, younger;  /* in the list of wholly free segments */
    uint16_t pool;
    uint8_t state; /* enum ap_chunk_state */
    bool paged;    /* of an expandable segment */
    bool cached;   /* it is in the list of wholly free segments */
};

/** Put chunk @index into the tree at *@root (AP_NO_CHUNK = empty). It must be in none. @key: one and the same for a tree. */
void ap_chunk_tree_insert(const struct ap_hash_key *key, struct ap_chunk *chunks, uint32_t *root, uint32_t index);
/** The chunk must be in the tree. */
void ap_chunk_tree_remove(const struct ap_hash_key *key, struct ap_chunk *chunks, uint32_t *root, uint32_t index);
/** The smallest chunk of at least @bytes, of equal ones that with the lowest address; AP_NO_CHUNK where there is none. */
uint32_t ap_chunk_tree_find(const struct ap_chunk *chunks, uint32_t root, int64_t bytes);

#endif
