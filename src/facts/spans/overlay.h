/* SPDX-License-Identifier: MIT
 * overlay.h - spans of time that the analysis wants shown beside the events of the trace: on which of the fixed tracks,
 * from when, how long, and in a few words what. Any pass may add some; the written trace draws them.
 * Knows nothing of files. Spans are kept while they are few; of very many on one track the longest stay. */
#ifndef AP_OVERLAY_H
#define AP_OVERLAY_H

#include "strpool.h"

enum ap_overlay_track {
    AP_OVERLAY_findings,
    AP_OVERLAY_idle_causes,
    AP_OVERLAY_critical_path,
    AP_OVERLAY_steps,
    AP_OVERLAY_TRACK_COUNT_
};

/** Most spans of one track. */
#define AP_OVERLAY_MAX_SPANS ((size_t)50000)
/** Most words about one span. */
#define AP_OVERLAY_MAX_WORDS 6

struct ap_overlay_span {
    int64_t start_ns, dur_ns; /* start as written in the trace */
    int64_t saves_ns;         /* -1 = not told */
    uint32_t ordinal;         /* counts all spans offered to the track: makes every order total */
    bool everywhere;          /* about the whole recording: stands at no place of its own */
    struct ap_str name;
    struct ap_str words; /* see ap_overlay_word */
};

struct ap_overlay {
    struct ap_gate *gate;
    struct ap_strpool strings;
    size_t max_spans; /* AP_OVERLAY_MAX_SPANS; tests set less */
    struct ap_overlay_list {
        struct ap_overlay_span *spans; /* a heap with the shortest first once the track is full, else in the order given */
        size_t count, capacity;
        uint64_t offered_count;
    } lists[AP_OVERLAY_TRACK_COUNT_];
    int64_t start_ns, end_ns; /* of the recording; equal where nothing is placed in time */
    uint64_t pid;             /* of the process that the tracks are drawn in: no track of the trace has it */
};

/** What is known of a span beside its name; texts come from small sets (causes, ids, devices), since each different one is
 *  kept. */
struct ap_overlay_word {
    const char *key;
    struct ap_text text;
};

/** No spans yet. May be released at any time. */
void ap_overlay_init(struct ap_overlay *overlay, struct ap_gate *gate);
void ap_overlay_release(struct ap_overlay *overlay);

/** The track's name, as it is shown. */
const char *ap_overlay_track_name(enum ap_overlay_track track);

/** Add a span. With @overlay NULL nobody wants any, and nothing happens. Spans of negative length, or beyond the range of
 *  time, are left out. @saves_ns -1 = not told. */
AP_MUST_CHECK enum ap_status ap_overlay_add(struct ap_overlay *overlay, enum ap_overlay_track track, int64_t start_ns,
                                            int64_t dur_ns, struct ap_text name, const struct ap_overlay_word *words,
                                            size_t word_count, int64_t saves_ns, struct ap_error *reterr);

/** The same for what concerns the whole recording. */
AP_MUST_CHECK enum ap_status ap_overlay_add_everywhere(struct ap_overlay *overlay, enum ap_overlay_track track,
                                                       struct ap_text name, const struct ap_overlay_word *words,
                                                       size_t word_count, int64_t saves_ns, struct ap_error *reterr);

/** The @index-th word of a span; false behind the last one. Key and text are borrowed as of the string pool. */
bool ap_overlay_word(const struct ap_overlay *overlay, const struct ap_overlay_span *span, size_t index,
                     struct ap_text *ret_key, struct ap_text *ret_text);

/** Spans of a track by start, then the longer first, those about the whole recording last, and a lane for each such that no
 *  two spans of a lane overlap: what viewers need to draw them. Spans beyond the last lane are left out of the list. Both
 * arrays have *ret_count elements and are the caller's: free them with ap_overlay_layout_release. */
struct ap_overlay_layout {
    struct ap_gate *gate;
    uint32_t *order; /* indices into the list's spans */
    uint8_t *lanes;  /* of order[i] */
    size_t count, capacity;
    unsigned lane_count;
};
#define AP_OVERLAY_MAX_LANES 64

/** Lays the spans of one track out. Nothing is left behind on failure. */
AP_MUST_CHECK enum ap_status ap_overlay_layout_init(struct ap_overlay_layout *layout, const struct ap_overlay *overlay,
                                                    enum ap_overlay_track track, struct ap_error *reterr);
void ap_overlay_layout_release(struct ap_overlay_layout *layout);

#endif
