/* SPDX-License-Identifier: MIT
 * json_ahead.h - helper threads that read elements of an array ahead of the first one.
 *
 * While the first thread reads one block of the input, each helper looks in one of the next blocks for what looks like the
 * place between two elements, reads on from there and hands each element to its user. Whether the guess was right shows
 * when the first thread comes to that block: only where it stands at that very place, between two elements, are those that
 * were read ahead its next ones, and it takes them over in one step; else they are dropped and read again. So what comes
 * of it all is the same with and without. */
#ifndef AP_JSON_AHEAD_H
#define AP_JSON_AHEAD_H

#include "json_element.h"

struct ap_ahead;

#define AP_AHEAD_MOST_HELPERS 15
/** Blocks that may be read ahead at a time, two for each helper: so none need wait until the first thread has taken over
 *  what it read. The user keeps what was taken of each apart. */
#define AP_AHEAD_PIECES (2 * AP_AHEAD_MOST_HELPERS)

enum ap_ahead_answer {
    AP_AHEAD_TAKEN,
    AP_AHEAD_NOT_TAKEN, /* an element for the first thread: reading ahead ends before it */
    AP_AHEAD_FAILED     /* likewise, and all that was taken of the piece since its last drop or take-over is void */
};

struct ap_ahead_user {
    unsigned helpers; /* 1 to AP_AHEAD_MOST_HELPERS */
    /** On a helper's thread: the element that was read into spans[piece]; @elements is the helper's, for ap_element_text. */
    enum ap_ahead_answer (*take)(void *self, unsigned piece, struct ap_element_reader *elements, uint64_t offset_bytes);
    /** On the first thread, while no helper works on the piece: void all that was taken of it. */
    void (*drop)(void *self, unsigned piece);
    void *self;
    /* Of each piece, two for each helper. */
    struct ap_json_span *spans[AP_AHEAD_PIECES]; /* as for ap_element_next */
    struct ap_notes *notes[AP_AHEAD_PIECES];     /* of the helper that works on it */
    bool always_wait; /* also for a block that no helper has begun with: what they read is then the same in every run; for
                       * tests */
};

/** From now on elements are read ahead for @first, whose next call then answers AP_ELEMENT_AHEAD where such are next. The
 *  user's functions are not called before. *@ret_ahead is NULL where the source does not show blocks ahead. */
AP_MUST_CHECK enum ap_status ap_ahead_new(struct ap_element_reader *first, const struct ap_ahead_user *user,
                                          struct ap_ahead **ret_ahead, struct ap_error *reterr);
/** Waits for the helpers. Before @first is freed; NULL is fine. */
void ap_ahead_free(struct ap_ahead *ahead);

/** After AP_ELEMENT_AHEAD: the piece that is next. */
unsigned ap_ahead_piece(struct ap_ahead *ahead);
/** After AP_ELEMENT_AHEAD, when the user has what was taken: @first goes on behind it. */
void ap_ahead_take_over(struct ap_ahead *ahead);
/** After AP_ELEMENT_AHEAD: @first reads these elements itself. */
void ap_ahead_refuse(struct ap_ahead *ahead);

#endif
