/* SPDX-License-Identifier: MIT
 * allocation_owner.h - what an allocation is for: told by the frames of its stack and by how long it lived.
 * Each distinct frame and each distinct stack is looked at once; allocations then cost a look-up. */
#ifndef AP_ALLOCATION_OWNER_H
#define AP_ALLOCATION_OWNER_H

#include "replay.h"

enum ap_owner_category {
#define AP_OWNER_CATEGORY(id, key, word) AP_OWNER_##id,
#include "owner_category.def"
    AP_OWNER_CATEGORY_COUNT_
};

enum ap_owner_evidence {
#define AP_OWNER_EVIDENCE(id, category, sentence) AP_EVIDENCE_##id,
#include "owner_evidence.def"
    AP_OWNER_EVIDENCE_COUNT_
};

/** As reports write it: "optimizer state". */
const char *ap_owner_category_name(enum ap_owner_category category);
/** What an allocation with this evidence is for: owner_evidence.def has both. */
enum ap_owner_category ap_owner_evidence_category(enum ap_owner_evidence evidence);
/** Why it is taken to be for that, for people. */
const char *ap_owner_evidence_sentence(enum ap_owner_evidence evidence);

/** An allocation freed within so many entries is short-lived: a few tensors of one expression come and go in that. */
#define AP_SHORT_LIFE_ENTRIES 32

/* What the stack alone says. */
enum ap_owner_sign {
    AP_SIGN_NONE,
    AP_SIGN_WORKSPACE,
    AP_SIGN_COLLECTIVE,
    AP_SIGN_GATHERED,
    AP_SIGN_STATE_INIT,
    AP_SIGN_STATE_LOAD,
    AP_SIGN_OPTIMIZER,
    AP_SIGN_ACCUMULATE,
    AP_SIGN_BACKWARD,
    AP_SIGN_MODULE,
    AP_SIGN_FORWARD,
    AP_SIGN_INIT,
    AP_SIGN_ZERO_GRAD,
    AP_SIGN_INPUT,
    AP_SIGN_KV_CACHE,
    AP_SIGN_COPY,
    AP_SIGN_CHECKPOINT,
    AP_SIGN_BUFFER,
    AP_SIGN_ZEROS,   /* of a frame alone: a stack has the sign of another one */
    AP_SIGN_NO_GRAD, /* likewise */
    AP_SIGN_TABLE,   /* likewise */
    AP_SIGN_LAYER    /* likewise, where there is one: alone it stands for a forward */
};

/** What an entry of the history is part of. */
enum ap_work {
    AP_WORK_OTHER,
    AP_WORK_FORWARD, /* modules, and functions of torch.nn */
    AP_WORK_BACKWARD,
    AP_WORK_OPTIMIZER,
    AP_WORK_ZERO_GRAD
};

struct ap_owner_stack {
    uint8_t sign;      /* enum ap_owner_sign, of the innermost frame that has one */
    bool in_backward;  /* any frame is one of a backward pass: a recomputed forward is, too */
    bool native;       /* and one of C++ is: then those of autograd's threads are recorded */
    uint8_t work;      /* enum ap_work */
    bool zeros;        /* filled with zeros as it was made */
    bool without_grad; /* called by a function under no_grad or inference_mode, as a decorator */
    bool table;        /* for the dense gradient of an embedding */
    bool again;        /* allocates before, between and behind backward passes */
    bool opens;        /* does so before the forward of a pass alone */
    bool grown;        /* makes all its pieces again and again, each time larger by the same */
    bool cloned;       /* by deepcopy in a constructor: layers made of each other, or a copy of the whole model */
};

struct ap_owners {
    struct ap_gate *gate;
    const struct ap_replay *replay;
    struct ap_owner_stack *stacks; /* by stack id */
    uint8_t *frame_signs;          /* by frame id */
    uint8_t *work;                 /* enum ap_work, by entry: by its stack, its annotation, or the thread it must be of */
    uint64_t remade_count;         /* pieces of grown stacks that took the place of smaller ones */
    bool has_backward;             /* some entry allocates for a backward pass */
    bool has_passes;               /* some entry allocates for a forward or backward pass, or for an optimizer's step */
};

/** Looks at the frames and stacks of the replay's snapshot, which is borrowed. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_owners_init(struct ap_owners *owners, const struct ap_replay *replay, struct ap_gate *gate,
                                            struct ap_error *reterr);
void ap_owners_release(struct ap_owners *owners);
/** Finds stacks that are grown, for ap_owners_init. */
AP_MUST_CHECK enum ap_status ap_owners_find_grown(struct ap_owners *owners, struct ap_error *reterr);
/** Fills owners->work, for ap_owners_init. */
AP_MUST_CHECK enum ap_status ap_owners_find_work(struct ap_owners *owners, struct ap_error *reterr);

/** An allocation that is alive at some moment. */
struct ap_owned {
    int64_t bytes;
    uint32_t stack;      /* 0 = not recorded */
    uint32_t lifetime;   /* AP_NO_LIFETIME: of a block on a device without history */
    uint32_t alloc, end; /* entries; AP_NO_ENTRY = before the history; after its end */
    uint8_t evidence;    /* enum ap_owner_evidence */
};

/** All that is alive on a device at the peak of its requested bytes; at the end where the history tells no peak. */
struct ap_owned_device {
    int64_t device; /* ordinal; -1 = segments do not tell one */
    bool at_peak;
    uint32_t position;   /* as in replay.h; 0 where there is no history */
    int64_t total_bytes; /* of the curve, or of the segments */
    bool total_known;
    int64_t listed_bytes; /* sum over the list */
    struct ap_owned *list;
    uint32_t count;
    bool has_history;
};

/* No machine has more; a file that names more is answered for the first. */
#define AP_MOST_OWNED_DEVICES 64

/** How many devices there are to ask about, and their ordinals, in order; and how many more there are. Free with
 *  ap_mem_free(gate, list, count * 8). */
AP_MUST_CHECK enum ap_status ap_owned_devices(const struct ap_owners *owners, int64_t **ret_list, uint32_t *ret_count,
                                              uint32_t *ret_more, struct ap_error *reterr);
/** What the device held at its peak, or at the end where no peak is known. Free the list with ap_owned_release. */
AP_MUST_CHECK enum ap_status ap_owned_take(const struct ap_owners *owners, int64_t device,
                                           struct ap_owned_device *ret_device, struct ap_error *reterr);
/** The same at any position of a device that has a history; its total is what is listed. */
AP_MUST_CHECK enum ap_status ap_owned_take_at(const struct ap_owners *owners, uint32_t device, uint32_t position,
                                              struct ap_owned_device *ret_device, struct ap_error *reterr);
void ap_owned_release(const struct ap_owners *owners, struct ap_owned_device *device);
/** What it is for. */
enum ap_owner_category ap_owned_category(const struct ap_owned *owned);
/** Of all that is listed for that; the largest number where the sum is larger. */
int64_t ap_owned_sum_bytes(const struct ap_owned_device *device, enum ap_owner_category category);
/** The position behind the last backward pass that something else follows, 0 = none; and how many passes there are. */
uint32_t ap_owned_behind_backward(const struct ap_owners *owners, uint32_t index, uint32_t *ret_passes);

/** What the device numbered @index held at @position, each judged by itself; for ap_owned_take. */
AP_MUST_CHECK enum ap_status ap_owned_list_live(const struct ap_owners *owners, uint32_t index, uint32_t position,
                                                struct ap_owned_device *ret_device, struct ap_error *reterr);
/** All that the device numbered @index ever held, in no order, each judged by itself. Free the list with
 *  ap_owned_release. */
AP_MUST_CHECK enum ap_status ap_owned_list_all(const struct ap_owners *owners, uint32_t index,
                                               struct ap_owned_device *ret_device, struct ap_error *reterr);
/** Tells weights, gradients, optimizer state and copies from before the history by their sizes; for ap_owned_take. */
AP_MUST_CHECK enum ap_status ap_owned_settle_sizes(const struct ap_owners *owners, uint32_t index,
                                                   struct ap_owned_device *device, struct ap_error *reterr);
/** Tells copies of weights by the sizes of all that one stack made; for ap_owned_take. */
AP_MUST_CHECK enum ap_status ap_owned_settle_copies(const struct ap_owners *owners, struct ap_owned_device *device,
                                                    struct ap_error *reterr);
/** Tells a model that was trained before one of the same sizes was built; for ap_owned_take. */
AP_MUST_CHECK enum ap_status ap_owned_settle_earlier(const struct ap_owners *owners, uint32_t index,
                                                     struct ap_owned_device *device, struct ap_error *reterr);
/** Tells a second model of the sizes of one that is trained; for ap_owned_take. */
AP_MUST_CHECK enum ap_status ap_owned_settle_twins(const struct ap_owners *owners, uint32_t index,
                                                   struct ap_owned_device *device, struct ap_error *reterr);
/** Tells the cache of keys and values that an engine makes behind its weights; for ap_owned_take. */
AP_MUST_CHECK enum ap_status ap_owned_settle_pools(const struct ap_owners *owners, struct ap_owned_device *device,
                                                   struct ap_error *reterr);

/** What nothing else tells, and nobody frees or a private pool holds, is kept; behind what tells by sizes. */
void ap_owned_settle_kept(const struct ap_owners *owners, uint32_t index, struct ap_owned_device *device);

/** An allocation as old as this at the end of a history is no part of what ran last. */
uint32_t ap_owned_old_entries(const struct ap_replay_device *device);

/** What of it was allocated with one stack. */
struct ap_owned_group {
    int64_t bytes;
    uint32_t stack, count;
    uint8_t category; /* enum ap_owner_category, of most of the bytes */
};
/** Groups in order of their stacks. Free with AP_FREE(gate, groups, count);
 *  NULL where there are none. */
AP_MUST_CHECK enum ap_status ap_owned_by_stack(const struct ap_owners *owners, struct ap_owned_device *device,
                                               struct ap_owned_group **ret_groups, uint32_t *ret_count,
                                               struct ap_error *reterr);

#endif
