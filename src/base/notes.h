/* SPDX-License-Identifier: MIT
 * notes.h - counts what was odd in one input and survived: the source of the report's "warnings". */
#ifndef AP_NOTES_H
#define AP_NOTES_H

#include "base.h"

enum ap_counter {
#define AP_COUNTER(id, code, severity, sentence) AP_COUNTER_##id,
#include "counters.def"
#undef AP_COUNTER
    AP_COUNTER_COUNT_
};

enum ap_note_severity { AP_NOTE_info, AP_NOTE_loss, AP_NOTE_error };

struct ap_note {
    uint64_t count;
    bool has_offset;
    uint64_t first_offset_bytes; /* into the decompressed input */
    char detail[256];            /* what is particular to this input; empty = nothing */
};

/** One per input file; {0} is the empty state. */
struct ap_notes {
    struct ap_note notes[AP_COUNTER_COUNT_];
};

struct ap_counter_info {
    const char *code, *sentence;
    enum ap_note_severity severity;
};

/** What counters.def says of it. Never NULL. */
const struct ap_counter_info *ap_counter_info(enum ap_counter counter);
/** As the report writes it: "info", "loss", "error". */
const char *ap_note_severity_name(enum ap_note_severity severity);

/** Count one more; the first offset is kept. */
void ap_note(struct ap_notes *notes, enum ap_counter counter, uint64_t offset_bytes);
/** Count @count more, where no byte can be named. */
void ap_note_many(struct ap_notes *notes, enum ap_counter counter, uint64_t count);
/** Say what is particular; replaces an earlier detail, counts nothing. */
void ap_note_detail(struct ap_notes *notes, enum ap_counter counter, const char *format, ...) AP_PRINTF(3, 4);
/** Add what another reading of the same input counted. */
void ap_notes_add(struct ap_notes *notes, const struct ap_notes *more);

#endif
