/* SPDX-License-Identifier: MIT
 * replay.h - the history of an allocator played back: what was live when.
 *
 * The final state is the truth; a history has no initial one. So the history of each device is walked backwards by
 * address from the blocks that live at the end. That yields lifetimes: which alloc, which free_requested and which
 * free_completed belong to one and the same allocation, and what was live before the first entry. Forwards, the entries
 * then give three curves, of which each is anchored at its value at the end:
 *
 *   requested   bytes in use by tensors: rises at alloc, falls at free_requested (at free_completed where no request was
 *               recorded); ends at the segments' requested_size
 *   active      the same, falling at free_completed: includes blocks that wait for a stream
 *   reserved    rises at segment_alloc and segment_map, falls at segment_free and segment_unmap; ends at total_size
 *
 * Sizes in a history are requested bytes, so the first two curves are in requested bytes; what rounding adds is known for
 * blocks that live at the end only.
 *
 * A position says how many entries of a device have been played: 0 is the state before the first entry, the position
 * entry_count is the end. Entries are indices into snapshot->actions. Knows nothing of the report. */
#ifndef AP_REPLAY_H
#define AP_REPLAY_H

#include "snapshot.h"

#define AP_NO_ENTRY UINT32_MAX
#define AP_NO_LIFETIME UINT32_MAX

/** One allocation, from the entry that made it to the one that gave it back. Use ap_replay_allocation() for all that is
 *  known of it. */
struct ap_lifetime {
    uint32_t alloc;          /* AP_NO_ENTRY = it lived before the history began */
    uint32_t free_requested; /* AP_NO_ENTRY = not recorded, or never */
    uint32_t free_completed; /* the same */
    uint32_t block;          /* in snapshot->blocks: it lives at the end; AP_NO_ENTRY = it does not */
};

struct ap_allocation {
    uint64_t address;
    int64_t requested_bytes;
    int64_t block_bytes; /* 0 = not known: the block is gone */
    uint64_t stream;
    int64_t pool[2];
    uint32_t stack; /* of the allocation; 0 = not recorded, always so where it lived before and is gone */
    uint32_t device;
    bool has_address, has_requested, has_stream, has_pool;
    uint32_t alloc, free_requested, free_completed; /* as in ap_lifetime */
};

enum ap_odd_replay {
    AP_REPLAY_ALLOC_LOST,   /* an alloc whose block is neither freed later nor there at the end */
    AP_REPLAY_FREE_OF_LIVE, /* a free of an address that is live behind it */
    AP_REPLAY_SIZE_DIFFERS, /* the sizes at both ends of a lifetime differ */
    AP_REPLAY_NO_ADDRESS,   /* an alloc or free without an address */
    AP_REPLAY_ODD_COUNT_
};

/** How the history begins. */
enum ap_replay_begin {
    AP_BEGIN_NOTHING, /* no entries: history was off */
    AP_BEGIN_SINGLE,  /* one entry, what remains of a ring of one: no claim about the past */
    AP_BEGIN_EMPTY,   /* from an empty allocator: the history is whole */
    AP_BEGIN_MID_RUN  /* something was live before: recording began late, or the ring overflowed */
};

/** One of the three curves. Saturates at the ends of int64. */
struct ap_curve {
    int64_t start_bytes, peak_bytes, end_bytes;
    uint32_t peak_position; /* the first that reaches the peak; 0 = before the first entry */
    bool known;             /* the file tells the value at the end */
};

struct ap_replay_device {
    uint32_t first_entry, entry_count;
    uint32_t first_segment;                  /* of the device, AP_NO_ENTRY = none; replay->next_segment goes on */
    uint32_t first_lifetime, lifetime_count; /* of replay->lifetimes, in no order that means anything */
    struct ap_curve requested, active, reserved;
    int64_t live_end_bytes; /* requested bytes of the lifetimes in use at the end */
    int64_t offset_bytes;   /* requested.end_bytes, the segments' word, less live_end_bytes, the blocks' word: blocks that
                                 wait for a stream, or a contradiction. All of the requested curve is higher by that than
                                 what is in use. 0 where blocks do not tell what was requested */
    uint64_t odd[AP_REPLAY_ODD_COUNT_];
    uint64_t inconsistencies; /* all odd entries */
    uint64_t times_backwards; /* entries earlier than the one before */
    uint32_t lived_before;    /* lifetimes that began before the history */
    bool live_end_known;      /* all blocks say what was requested */
    bool starts_live;         /* something was in use before the first entry */
    bool below_zero;          /* the requested curve falls below zero somewhere */
    bool above_reserved;      /* the requested curve is above the reserved one somewhere: files mixed or edited */
    bool has_times;           /* every entry has a time */
    bool frees_in_two;        /* free_requested is recorded */
    bool ring_was_full;       /* a guess, from the length of the history: see ap_replay_new */
    enum ap_replay_begin begin;
};

struct ap_replay {
    struct ap_gate *gate;
    const struct ap_snapshot *snapshot;
    struct ap_replay_device *devices; /* one for each history; the index is the device's ordinal */
    struct ap_lifetime *lifetimes;
    uint32_t *lifetime_of;   /* by entry: the lifetime it belongs to, or AP_NO_LIFETIME */
    uint32_t *block_segment; /* by block: its segment */
    uint32_t *next_segment;  /* by segment: the next one of its device, or AP_NO_ENTRY */
    uint32_t device_count, lifetime_count;
    size_t lifetime_capacity;
};

/** Costs 4 bytes an entry and 16 a lifetime. Borrows the snapshot. Sums that overflow set *overflowed.
 *  ring_was_full: the history begins in mid-run and its length is one that people choose for max_entries (a power of two
 *  or of ten, or such a power times 2 or 5), or its first entry frees what no entry allocated. */
AP_MUST_CHECK enum ap_status ap_replay_new(const struct ap_snapshot *snapshot, struct ap_gate *gate, bool *overflowed,
                                           struct ap_replay **ret_replay, struct ap_error *reterr);
void ap_replay_free(struct ap_replay *replay); /* NULL is fine */

/** The device that a lifetime belongs to. */
uint32_t ap_replay_device_of(const struct ap_replay *replay, uint32_t lifetime);
/** What is known of a lifetime: from its entries, and from its block at the end. */
void ap_replay_allocation(const struct ap_replay *replay, uint32_t lifetime, struct ap_allocation *ret_allocation);
/** Requested bytes alone; 0 where they are not known. */
int64_t ap_replay_lifetime_bytes(const struct ap_replay *replay, uint32_t lifetime);

enum ap_live { AP_LIVE_REQUESTED, AP_LIVE_ACTIVE }; /* which of the two curves */

/** Is the lifetime part of the curve at this position of its device? */
bool ap_replay_is_live(const struct ap_replay *replay, uint32_t device, uint32_t lifetime, uint32_t position,
                       enum ap_live which);
/** The lifetimes live at a position of a device: indices, ascending. Free with ap_mem_free(gate, list, count * 4);
 *  NULL where there are none. Their bytes add up to the curve, less what the segments' fields and the blocks disagree by
 *  (offset_bytes) and what allocs that were lost leave behind. */
AP_MUST_CHECK enum ap_status ap_replay_live_at(const struct ap_replay *replay, uint32_t device, uint32_t position,
                                               enum ap_live which, uint32_t **ret_list, uint32_t *ret_count,
                                               struct ap_error *reterr);

/** What an entry adds to each curve. */
struct ap_replay_step {
    int64_t requested_bytes, active_bytes, reserved_bytes;
};
/** What one entry (an index into snapshot->actions) did, and how much was in use behind it. */
void ap_replay_step(const struct ap_replay *replay, uint32_t entry, struct ap_replay_step *ret_step);

struct ap_curve_point {
    uint32_t position;
    int64_t time_ns; /* of the entry before the position; of the first one for position 0 */
    bool has_time;
    int64_t requested_bytes, active_bytes, reserved_bytes;
};

/** The curves of one device in about @wanted points (at least 8), in order of position. Of each stretch of equal length
 *  the points with the lowest and the highest requested bytes and the highest reserved bytes are kept, so that no peak is
 *  lost, and the first and the last point. Free with ap_mem_free(gate, points, capacity * sizeof(**points)). */
AP_MUST_CHECK enum ap_status ap_replay_curve(const struct ap_replay *replay, uint32_t device, uint32_t wanted,
                                             struct ap_curve_point **ret_points, uint32_t *ret_count, uint32_t *ret_capacity,
                                             struct ap_error *reterr);

#endif
