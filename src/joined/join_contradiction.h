/* SPDX-License-Identifier: MIT
 * join_contradiction.h - what tells without any clock that a trace and a snapshot are not of one process. */
#ifndef AP_JOIN_CONTRADICTION_H
#define AP_JOIN_CONTRADICTION_H

#include "memory_join.h"

/** Sets the state and the device where other devices work than hold memory, or one holds more than it has. */
void ap_join_find_contradiction(struct ap_memory_join *join, const struct ap_replay *replay);

/** Does the trace tell of more reserved memory, while both recorded, than join->device ever held by its history? */
bool ap_join_bytes_contradict(const struct ap_memory_join *join, const struct ap_replay *replay);

#endif
