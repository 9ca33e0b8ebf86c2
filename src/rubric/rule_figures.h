/* SPDX-License-Identifier: MIT
 * rule_figures.h - the bytes of fixtures/rules/figures.txt: figures that fire each built-in rule, and what just does not. */
#ifndef AP_RULE_FIGURES_H
#define AP_RULE_FIGURES_H

#include <stddef.h>

extern const unsigned char ap_rule_figures[];
extern const size_t ap_rule_figures_bytes;

#endif
