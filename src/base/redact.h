/* SPDX-License-Identifier: MIT
 * redact.h - texts of an input without what they tell of the program, its files and its machine. Each word that is not a
 * public one (public_words.def) becomes "name-1a2b3c4d", or "path-1a2b3c4d" where it looks like a file: a hash of the word
 * alone, so the same word gives the same hash in every run and file. Numbers and punctuation stay. What was redacted before
 * stays as it is. */
#ifndef AP_REDACT_H
#define AP_REDACT_H

#include "mem.h"

#define AP_REDACT_SLOTS 2048

struct ap_redaction {
    struct ap_gate *gate;
    char *text;
    size_t used, capacity;
    uint16_t slots[AP_REDACT_SLOTS]; /* public words by hash: number + 1; 0 = free */
};

/** Finds a place for each public word; memory is taken only when texts come. May be released at any time. */
void ap_redaction_init(struct ap_redaction *redaction, struct ap_gate *gate);
void ap_redaction_release(struct ap_redaction *redaction);

/** *ret_text is borrowed until the next call. */
AP_MUST_CHECK enum ap_status ap_redact(struct ap_redaction *redaction, struct ap_text text, struct ap_text *ret_text,
                                       struct ap_error *reterr);

/** Is @text the name of a device as a vendor gives it ("NVIDIA A100-SXM4-40GB")? Such a name tells no program. */
bool ap_redact_is_device_name(struct ap_text text);

#endif
