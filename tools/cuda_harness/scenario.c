/* SPDX-License-Identifier: MIT
 * See scenario.h. */
#include "scenario.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct harness_scenario harness_scenarios[HARNESS_SCENARIO_COUNT_] = {
#define HARNESS_SCENARIO(identifier, name, cost, ranks, accept, planted, healthy) \
    { name, HARNESS_COST_##cost, ranks, accept, planted, healthy },
#include "scenario.def"
#undef HARNESS_SCENARIO
};

enum harness_scenario_id harness_scenario_find(const char *name)
{
    int id = 0;
    while (id < HARNESS_SCENARIO_COUNT_ && strcmp(harness_scenarios[id].name, name) != 0)
        id++;
    return (enum harness_scenario_id)id;
}

void harness_scenario_rules(const struct harness_scenario *scenario, struct harness_rules *ret_rules)
{
    size_t count = 0;
    int bytes = snprintf(ret_rules->text, sizeof(ret_rules->text), "%s", scenario->accept);
    assert(bytes > 0 && (size_t)bytes < sizeof(ret_rules->text));
    (void)bytes;
    for (char *at = ret_rules->text; at && count < HARNESS_MOST_RULES; count++) {
        ret_rules->list[count] = at;
        at = strchr(at, '|');
        if (at)
            *at++ = '\0';
    }
    ret_rules->list[count] = NULL;
}
