/* SPDX-License-Identifier: MIT
 * scenario.h - the table of what the harness can plant. Knows nothing of CUDA. */
#ifndef HARNESS_SCENARIO_H
#define HARNESS_SCENARIO_H

#include "base.h"

#define HARNESS_MOST_RULES 8

enum harness_cost { HARNESS_COST_time, HARNESS_COST_bytes, HARNESS_COST_none };

enum harness_scenario_id {
#define HARNESS_SCENARIO(identifier, name, cost, ranks, accept, planted, healthy) HARNESS_SCENARIO_##identifier,
#include "scenario.def"
#undef HARNESS_SCENARIO
    HARNESS_SCENARIO_COUNT_
};

struct harness_scenario {
    const char *name;
    enum harness_cost cost;
    uint32_t ranks;
    const char *accept; /* separated by '|' */
    const char *planted, *healthy;
};

extern const struct harness_scenario harness_scenarios[HARNESS_SCENARIO_COUNT_];

/** HARNESS_SCENARIO_COUNT_ where there is none of that name. */
enum harness_scenario_id harness_scenario_find(const char *name);

/** The rules that name a scenario's cause as a list that ends with NULL. */
struct harness_rules {
    char text[256];
    const char *list[HARNESS_MOST_RULES + 1];
};
void harness_scenario_rules(const struct harness_scenario *scenario, struct harness_rules *ret_rules);

#endif
