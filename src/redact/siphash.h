/* SPDX-License-Identifier: MIT
 * siphash.h - SipHash-2-4 (Aumasson, Bernstein): a keyed hash of 64 bits that tells nothing of the text to whoever lacks the
 * key, not even whether a guess was right. Tables take hash.h, which is faster and promises less. */
#ifndef AP_SIPHASH_H
#define AP_SIPHASH_H

#include "base.h"

/** @key: two words that nobody else knows. The same on every machine. */
uint64_t ap_siphash(const uint64_t key[2], struct ap_text text);
/** Both words of a key, made of a text that nobody else knows. */
void ap_siphash_key(struct ap_text secret, uint64_t ret_key[2]);

#endif
