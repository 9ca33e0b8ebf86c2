/* SPDX-License-Identifier: MIT */
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "option_names.h"

#include "poison.h"

static const struct ap_counter_info infos[AP_COUNTER_COUNT_] = {
#define AP_COUNTER(id, code, severity, sentence) [AP_COUNTER_##id] = { code, sentence, AP_NOTE_##severity },
#include "counters.def"
#undef AP_COUNTER
};

const struct ap_counter_info *ap_counter_info(enum ap_counter counter)
{
    return &infos[counter];
}

const char *ap_note_severity_name(enum ap_note_severity severity)
{
    static const char *const names[] = { "info", "loss", "error" };
    return names[severity];
}

void ap_note(struct ap_notes *notes, enum ap_counter counter, uint64_t offset_bytes)
{
    struct ap_note *note = &notes->notes[counter];
    note->count++;
    if (!note->has_offset || offset_bytes < note->first_offset_bytes) {
        note->has_offset = true;
        note->first_offset_bytes = offset_bytes;
    }
}

void ap_note_many(struct ap_notes *notes, enum ap_counter counter, uint64_t count)
{
    notes->notes[counter].count += count;
}

void ap_note_detail(struct ap_notes *notes, enum ap_counter counter, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(notes->notes[counter].detail, sizeof(notes->notes[counter].detail), format, arguments);
    va_end(arguments);
}

void ap_notes_add(struct ap_notes *notes, const struct ap_notes *more)
{
    for (int i = 0; i < AP_COUNTER_COUNT_; i++) {
        const struct ap_note *note = &more->notes[i];
        if (!note->count)
            continue;
        if (note->has_offset) {
            ap_note(notes, (enum ap_counter)i, note->first_offset_bytes);
            ap_note_many(notes, (enum ap_counter)i, note->count - 1);
        } else {
            ap_note_many(notes, (enum ap_counter)i, note->count);
        }
        if (note->detail[0])
            ap_note_detail(notes, (enum ap_counter)i, "%s", note->detail);
    }
}
