/* SPDX-License-Identifier: MIT
 * Passes begin once what they need is there, the most urgent first, and their values stand in the order of the list. */
#include <stdatomic.h>
#include <string.h>

#include "pass_runner.h"
#include "tap.h"

enum { A = 1, B = 2, C = 4 };

/* What has ended, and in which order the passes began. */
static struct {
    _Atomic unsigned given;
    _Atomic int begun_count, wrong;
    char begun[16];
} seen;

static void note_pass(char name, unsigned needs, unsigned gives)
{
    if (needs & ~atomic_load(&seen.given))
        atomic_fetch_add(&seen.wrong, 1);
    seen.begun[atomic_fetch_add(&seen.begun_count, 1)] = name;
    atomic_fetch_or(&seen.given, gives);
}

#define FACT(name, needs, gives)                                                       \
    static enum ap_status find_##name(struct ap_facts *facts, struct ap_error *reterr) \
    {                                                                                  \
        (void)facts;                                                                   \
        (void)reterr;                                                                  \
        note_pass(#name[0], needs, gives);                                             \
        return AP_OK;                                                                  \
    }
FACT(a, 0, A)
FACT(b, A, B)
FACT(c, 0, C)

#define PART(name, needs)                                                                                             \
    static enum ap_status part_##name(struct ap_part_context *context, struct ap_model *model, struct ap_value *root, \
                                      struct ap_error *reterr)                                                        \
    {                                                                                                                 \
        (void)reterr;                                                                                                 \
        note_pass(#name[0], needs, 0);                                                                                \
        context->overflowed = #name[0] == 'd';                                                                        \
        ap_add_count(model, root, #name, 1);                                                                          \
        return AP_OK;                                                                                                 \
    }
PART(d, B | C)
PART(e, 0)

static enum ap_status find_fails(struct ap_facts *facts, struct ap_error *reterr)
{
    (void)facts;
    return ap_fail(reterr, AP_ERROR_MEMORY, "first");
}

static enum ap_status part_fails(struct ap_part_context *context, struct ap_model *model, struct ap_value *root,
                                 struct ap_error *reterr)
{
    (void)context;
    (void)model;
    (void)root;
    return ap_fail(reterr, AP_ERROR_LIMIT, "second");
}

/* The keys of the report, "!" behind them where a sum overflowed; or the message of the failure. */
static const char *run(const struct ap_passes *passes, bool two_threads)
{
    static char told[64];
    struct ap_gate gate;
    struct ap_model model;
    struct ap_error error = { .status = AP_OK };
    struct ap_facts facts = { .gate = &gate };
    bool overflowed = false;
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    const struct ap_part_context context = { .gate = &gate, .facts = &facts };
    memset(&seen, 0, sizeof(seen));
    size_t at = 0;
    if (ap_run_passes(passes, &facts, &context, two_threads, &model, &overflowed, &error) == AP_OK) {
        for (const struct ap_value *value = model.root.as.children.first; value; value = value->next)
            told[at++] = value->key.data[0];
        if (overflowed)
            told[at++] = '!';
    } else {
        at = (size_t)snprintf(told, sizeof(told), "%s", error.message);
    }
    told[at] = 0;
    ap_model_release(&model);
    if (atomic_load(&gate.used_bytes))
        return "memory is lost";
    return told;
}

static void passes_wait_for_what_they_need(void)
{
    static const struct ap_fact_entry facts[] = { { find_a, 1, 0 }, { find_b, 1, A }, { find_c, 1, 0 } };
    static const struct ap_part_entry parts[] = { { .part = part_d, .cost = 1, .needs = B | C },
                                                  { .part = part_e, .cost = 9 } };
    static const struct ap_passes passes = { facts, AP_COUNT_OF(facts), parts, AP_COUNT_OF(parts) };
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        wrong += strcmp(run(&passes, i % 2), "de!") != 0;
        wrong += atomic_load(&seen.wrong) + (atomic_load(&seen.begun_count) != 5);
    }
    is_int(wrong, 0, "200 runs on one and two threads: what is needed is there, values in the order of the list");
}

static void the_longest_chain_goes_first(void)
{
    static const struct ap_fact_entry facts[] = { { find_a, 1, 0 }, { find_b, 1, A }, { find_c, 3, 0 } };
    static const struct ap_part_entry parts[] = { { .part = part_d, .cost = 5, .needs = B | C },
                                                  { .part = part_e, .cost = 4 } };
    static const struct ap_passes passes = { facts, AP_COUNT_OF(facts), parts, AP_COUNT_OF(parts) };
    (void)run(&passes, false);
    is_str(seen.begun, "cabde", "3 + 5, then 1 + 1 + 5, then what was behind them, all before 4");
}

static void the_first_failure_of_the_list_is_told(void)
{
    static const struct ap_fact_entry facts[] = { { find_a, 1, 0 }, { find_fails, 1, A } };
    static const struct ap_part_entry parts[] = { { .part = part_fails, .cost = 9 },
                                                  { .part = part_d, .cost = 1, .needs = B },
                                                  { .part = part_e, .cost = 1 } };
    static const struct ap_passes passes = { facts, AP_COUNT_OF(facts), parts, AP_COUNT_OF(parts) };
    int wrong = 0;
    for (int i = 0; i < 200; i++)
        wrong += strcmp(run(&passes, i % 2), "first") != 0 || atomic_load(&seen.begun_count) != 2;
    is_int(wrong, 0, "whichever came first; what needs nothing of it still ran, what does did not");
}

int main(void)
{
    passes_wait_for_what_they_need();
    the_longest_chain_goes_first();
    the_first_failure_of_the_list_is_told();
    return done();
}
