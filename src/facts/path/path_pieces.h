/* SPDX-License-Identifier: MIT
 * path_pieces.h - the pieces of a critical path, packed. The walk goes back in time and adds one behind the other; read
 * from the last one back they come in order of time. Each is the bytes of a few small numbers, as most follow what is near:
 * there may be two for each row of a trace. */
#ifndef AP_PATH_PIECES_H
#define AP_PATH_PIECES_H

#include "mem.h"

/** A path_class is below it. */
#define AP_PATH_PIECE_CLASSES 16u

/** Part of the path on one actor; it ends where the next one begins. */
struct ap_path_piece {
    int64_t start_ns, end_ns;
    uint32_t at;        /* host: the track; else the row of GPU work, for a gap the one after it; AP_NO_ROW = none */
    uint8_t path_class; /* host: cpu_bound until the rows of the thread are looked at, or synchronization */
    bool host;
};

struct ap_path_pieces {
    struct ap_gate *gate;
    unsigned char *bytes; /* of all but the last: what it is, then its length and how far its at is from that before it */
    size_t used, capacity;
    struct ap_path_piece last; /* added last, which may still grow */
    uint32_t at[2];            /* of the last piece of a device and of the host that is in bytes */
    size_t count;
};

/** Adds one that ends where the last one begins. One like the last one makes that longer. */
AP_MUST_CHECK enum ap_status ap_path_pieces_add(struct ap_path_pieces *pieces, const struct ap_path_piece *piece,
                                                struct ap_error *reterr);
void ap_path_pieces_release(struct ap_path_pieces *pieces);

/** Where a reader stands. */
struct ap_path_reader {
    const struct ap_path_pieces *pieces;
    size_t left, at_byte;
    uint32_t at[2];
    int64_t now_ns;
};

/** A reader that stands before the first one in time; it borrows the pieces. */
struct ap_path_reader ap_path_pieces_read(const struct ap_path_pieces *pieces);
/** The next one in order of time; false = there is none. */
bool ap_path_reader_next(struct ap_path_reader *reader, struct ap_path_piece *ret_piece);

#endif
