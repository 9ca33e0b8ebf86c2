/* SPDX-License-Identifier: MIT
 * json_ahead.h - a second thread that reads elements of an array ahead of the first one.
 *
 * While the first thread reads one block of the input, the second one looks in the next block for what looks like the
 * place between two elements, reads on from there and hands each element to its user. Whether the guess was right shows
 * when the first thread comes to that block: only where it stands at that very place, between two elements, are those that
 * were read ahead its next ones, and it takes them over in one step; else they are dropped and read again. So what comes
 * of it all is the same with and without. */
#ifndef AP_JSON_AHEAD_H
#define AP_JSON_AHEAD_H

#include "json_element.h"

struct ap_ahead;

/** Blocks that may be read ahead at a time; the user keeps what was taken of each apart. */
#define AP_AHEAD_PIECES 2

enum ap_ahead_answer {
    AP_AHEAD_TAKEN,
    AP_AHEAD_NOT_TAKEN, /* an element for the first thread: reading ahead ends before it */
    AP_AHEAD_FAILED     /* likewise, and all that was taken of the piece since its last drop or take-over is void */
};

struct ap_ahead_user {
    /** On the second thread: the element that was read into spans[piece]. */
    enum ap_ahead_answer (*take)(void *self, unsigned piece, uint64_t offset_bytes);
    /** On the first thread, while the second one does not work on the piece: void all that was taken of it. */
    void (*drop)(void *self, unsigned piece);
    void *self;
    struct ap_json_span *spans[AP_AHEAD_PIECES]; /* as for ap_element_next */
    struct ap_notes *notes[AP_AHEAD_PIECES];     /* of the second thread */
    bool always_wait; /* also for a block that the second thread has not begun with: what it reads is then the same in every
                       * run; for tests */
};

/** From now on elements are read ahead for @first, whose next call then answers AP_ELEMENT_AHEAD where such are next. The
 *  user's functions are not called before. *@ret_ahead is NULL where the source does not show blocks ahead. */
AP_MUST_CHECK enum ap_status ap_ahead_new(struct ap_element_reader *first, const struct ap_ahead_user *user,
                                          struct ap_ahead **ret_ahead, struct ap_error *reterr);
/** Waits for the second thread. Before @first is freed; NULL is fine. */
void ap_ahead_free(struct ap_ahead *ahead);

/** The second thread's reader, for ap_element_text on that thread. */
struct ap_element_reader *ap_ahead_elements(struct ap_ahead *ahead);

/** After AP_ELEMENT_AHEAD: the piece that is next. */
unsigned ap_ahead_piece(struct ap_ahead *ahead);
/** After AP_ELEMENT_AHEAD, when the user has what was taken: @first goes on behind it. */
void ap_ahead_take_over(struct ap_ahead *ahead);
/** After AP_ELEMENT_AHEAD: @first reads these elements itself. */
void ap_ahead_refuse(struct ap_ahead *ahead);

#endif
