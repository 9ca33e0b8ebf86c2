/* SPDX-License-Identifier: MIT
 * redact.h - texts of an input without what they tell of the program, its files and its machine. Each word that is not a
 * known, whole, as a public one (public_words.def, public_names.txt) becomes "name-" and 16 hexadecimal digits, or "path-"
 * where it looks like a file: SipHash of the word under the gate's redact_key, so that the same word gives the same hash
 * where the key is the same, and who lacks it cannot try guesses. Punctuation and numbers of up to five digits stay;
 * longer ones, addresses, dates and telephone numbers do not. What was redacted before stays as it is. */
#ifndef AP_REDACT_H
#define AP_REDACT_H

#include "mem.h"

#define AP_REDACT_SLOTS 4096

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

/** Is @text the name of a device as a vendor gives it ("NVIDIA A100-SXM4-40GB"), and nothing more? It tells no program. */
bool ap_redact_is_device_name(struct ap_text text);

#endif
