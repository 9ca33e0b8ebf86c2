/* SPDX-License-Identifier: MIT
 * snapshot.h - a snapshot of the CUDA caching allocator: its final state and the history that led to it.
 * Knows nothing of traces, reports or replay. Sizes are bytes as written: a negative one stays negative.
 *
 *   segments   one per cudaMalloc region (expandable: per mapped range)      [ segment 0 ][ segment 1 ] ...
 *   blocks     those of a segment stand together, in address order           [ b ][b][ b ][  b  ][ b ] ...
 *   actions    the histories of all devices, one behind the other, oldest first */
#ifndef AP_SNAPSHOT_H
#define AP_SNAPSHOT_H

#include "json_reader.h"
#include "stacks.h"

/** Names that every snapshot's pool is born with: an id can be compared with these directly. */
enum ap_snapshot_name {
    AP_ACTION_ALLOC = 1,      /* a block was handed out; size = requested bytes */
    AP_ACTION_FREE_REQUESTED, /* the tensor died */
    AP_ACTION_FREE_COMPLETED, /* its bytes can be used again */
    AP_ACTION_SEGMENT_ALLOC,  /* cudaMalloc */
    AP_ACTION_SEGMENT_FREE,   /* cudaFree */
    AP_ACTION_SEGMENT_MAP,    /* an expandable segment grew */
    AP_ACTION_SEGMENT_UNMAP,  /* it shrank */
    AP_ACTION_SNAPSHOT,       /* size = active bytes of the device */
    AP_ACTION_OOM,            /* address = what the device reported free */
    AP_ACTION_USER_DEFINED,   /* a marker */
    AP_NAME_UNKNOWN,          /* actions up to here are known to this version; also any missing name */
    AP_TYPE_SMALL,
    AP_TYPE_LARGE
};

/* What a segment says about itself. */
#define AP_SEGMENT_HAS_DEVICE 0x001u
#define AP_SEGMENT_HAS_ADDRESS 0x002u
#define AP_SEGMENT_HAS_TOTAL 0x004u
#define AP_SEGMENT_HAS_ALLOCATED 0x008u
#define AP_SEGMENT_HAS_ACTIVE 0x010u
#define AP_SEGMENT_HAS_REQUESTED 0x020u
#define AP_SEGMENT_HAS_STREAM 0x040u
#define AP_SEGMENT_HAS_TYPE 0x080u
#define AP_SEGMENT_HAS_POOL 0x100u
#define AP_SEGMENT_HAS_EXPANDABLE 0x200u
#define AP_SEGMENT_HAS_BLOCKS 0x400u

struct ap_segment {
    uint64_t address;
    int64_t total_bytes, allocated_bytes, active_bytes, requested_bytes; /* 0 where the file has none */
    uint64_t stream;                                                     /* cudaStream_t as a number */
    int64_t pool[2];                                                     /* {0, 0} = the default pool */
    uint64_t offset_bytes;                                               /* where it begins in the decompressed input */
    uint32_t stack;                                                      /* of the cudaMalloc; 0 = not recorded */
    uint32_t first_block, block_count;
    int32_t device;
    struct ap_str type;       /* AP_NAME_UNKNOWN where the file has none */
    struct ap_str odd_device; /* as written, where it is not a number */
    struct ap_str odd_address;
    uint16_t has; /* AP_SEGMENT_HAS_... */
    bool expandable;
};

enum ap_block_state {
    AP_BLOCK_UNKNOWN,
    AP_BLOCK_ALLOCATED,
    AP_BLOCK_PENDING, /* active_pending_free, active_awaiting_free: freed, and waiting for a stream */
    AP_BLOCK_INACTIVE
};

#define AP_BLOCK_HAS_ADDRESS 1u /* written, or computed from the segment's address */
#define AP_BLOCK_HAS_REQUESTED 2u

struct ap_block {
    uint64_t address;
    int64_t size_bytes, requested_bytes;
    uint32_t stack; /* of the allocation; 0 = not recorded */
    uint8_t state;  /* enum ap_block_state */
    uint8_t has;    /* AP_BLOCK_HAS_... */
};

#define AP_ORIGIN_HAS_STREAM 1u
#define AP_ORIGIN_HAS_POOL 2u

/** What many entries have in common. */
struct ap_origin {
    uint64_t stream;               /* cudaStream_t as a number */
    int64_t pool[2];               /* {0, 0} = the default pool */
    struct ap_str compile_context; /* "N/A" where torch wrote that; absent = not recorded */
    struct ap_str user_metadata;   /* as JSON text where it is no string; absent = not recorded */
    uint32_t has;                  /* AP_ORIGIN_HAS_... */
};

#define AP_ACTION_HAS_TIME 1u
#define AP_ACTION_HAS_SIZE 2u
#define AP_ACTION_HAS_ADDRESS 4u

/** Columns, 37 bytes an entry. */
struct ap_actions {
    uint32_t count;
    struct ap_str *name; /* enum ap_snapshot_name where it is one of these */
    uint64_t *address;   /* of an oom: what the device reported free */
    int64_t *size_bytes;
    int64_t *time_ns; /* since the Unix epoch, by the recording machine's clock */
    uint32_t *stack;  /* 0 = not recorded */
    uint32_t *origin; /* index of snapshot->origins */
    uint8_t *has;     /* AP_ACTION_HAS_... */
    size_t capacity[7];
};

/** The history of one device: a range of the actions. Its index is the device's ordinal. */
struct ap_history {
    uint32_t first_action, action_count;
};

struct ap_annotation {
    struct ap_str name;  /* AP_NAME_UNKNOWN where the file has none */
    struct ap_str stage; /* "START" or "END" as a rule; absent = not recorded */
    int64_t time_ns;
    int32_t device; /* -1 = not recorded */
    bool has_time;
};

#define AP_SETTING_HAS_EXPANDABLE 1u
#define AP_SETTING_HAS_MAX_SPLIT 2u
#define AP_SETTING_HAS_GC 4u

struct ap_allocator_settings {
    struct ap_str conf;      /* PYTORCH_CUDA_ALLOC_CONF; absent = not recorded */
    int64_t max_split_bytes; /* -1 = without limit */
    double gc_threshold_ratio;
    bool expandable_segments;
    uint8_t has; /* AP_SETTING_HAS_... */
};

enum ap_snapshot_format {
    AP_SNAPSHOT_OBJECT,      /* torch.cuda.memory._snapshot() */
    AP_SNAPSHOT_SEGMENT_LIST /* torch.cuda.memory_snapshot() */
};

#define AP_SNAPSHOT_HAS_SEGMENTS 0x01u
#define AP_SNAPSHOT_HAS_HISTORY 0x02u /* device_traces is there, though it may be empty */
#define AP_SNAPSHOT_HAS_SETTINGS 0x04u
#define AP_SNAPSHOT_HAS_ANNOTATIONS 0x08u
#define AP_SNAPSHOT_HAS_STACKS 0x10u /* at least one frame somewhere */

struct ap_snapshot {
    struct ap_gate *gate;
    struct ap_strpool strings;
    struct ap_stacks stacks;
    struct ap_strpool origin_pool;
    const struct ap_origin *origins; /* [0] knows nothing */
    struct ap_segment *segments;
    struct ap_block *blocks;
    struct ap_history *histories;
    struct ap_annotation *annotations;
    struct ap_actions actions;
    struct ap_allocator_settings settings;
    uint32_t segment_count, block_count, history_count, annotation_count;
    size_t segment_capacity, block_capacity, history_capacity, annotation_capacity;
    uint64_t odd_annotations; /* elements of external_annotations that are no objects: counted, without a name */
    uint64_t bytes_read;      /* of the decompressed input */
    uint32_t has;             /* AP_SNAPSHOT_HAS_... */
    enum ap_snapshot_format format;
    bool complete; /* read to its proper end */
};

struct ap_snapshot_options {
    bool salvage; /* read a cut or broken document as far as it goes */
};

/** Read the document to its end. A document that is something else is refused with its name. What was odd goes to
 *  @notes; a cut or broken document as spec'd: segments not whole -> refused unless salvage. */
AP_MUST_CHECK enum ap_status ap_snapshot_read(struct ap_json_reader *json, struct ap_gate *gate, struct ap_notes *notes,
                                              const struct ap_snapshot_options *options, struct ap_snapshot **ret_snapshot,
                                              struct ap_error *reterr);
void ap_snapshot_free(struct ap_snapshot *snapshot); /* NULL is fine */

/* Building one by hand, as the reader does. */

/** An empty one that has nothing. */
AP_MUST_CHECK enum ap_status ap_snapshot_new(struct ap_gate *gate, struct ap_snapshot **ret_snapshot,
                                             struct ap_error *reterr);
/** The blocks added since the last segment become this segment's: first_block and block_count are filled in, and
 *  addresses that the blocks lack are computed. */
AP_MUST_CHECK enum ap_status ap_snapshot_add_segment(struct ap_snapshot *snapshot, const struct ap_segment *segment,
                                                     struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_snapshot_add_block(struct ap_snapshot *snapshot, const struct ap_block *block,
                                                   struct ap_error *reterr);
/** Begin the history of the next device; actions added from here on belong to it. */
AP_MUST_CHECK enum ap_status ap_snapshot_add_history(struct ap_snapshot *snapshot, struct ap_error *reterr);

struct ap_action {
    struct ap_str name;
    uint64_t address;
    int64_t size_bytes, time_ns;
    uint32_t stack, origin;
    uint8_t has;
};
/** Adds an entry at the end of the last history begun; texts and stack are those of the snapshot. */
AP_MUST_CHECK enum ap_status ap_snapshot_add_action(struct ap_snapshot *snapshot, const struct ap_action *action,
                                                    struct ap_error *reterr);
/** The index of an equal origin, added where there is none. */
AP_MUST_CHECK enum ap_status ap_snapshot_intern_origin(struct ap_snapshot *snapshot, const struct ap_origin *origin,
                                                       uint32_t *ret_index, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_snapshot_add_annotation(struct ap_snapshot *snapshot, const struct ap_annotation *annotation,
                                                        struct ap_error *reterr);
/** Nothing will be added to strings, stacks and origins any more: give back what only adding needs. */
void ap_snapshot_freeze(struct ap_snapshot *snapshot);

#endif
