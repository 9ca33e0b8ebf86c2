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

static const char *key_of(char name)
{
    static const char *const keys[] = { "a", "b", "c", "d", "e" };
    return keys[name - 'a'];
}

static enum ap_status note_pass(char name, unsigned needs, unsigned gives, struct ap_model *model, struct ap_value *root)
{
    if (needs & ~atomic_load(&seen.given))
        atomic_fetch_add(&seen.wrong, 1);
    seen.begun[atomic_fetch_add(&seen.begun_count, 1)] = name;
    ap_add_count(model, root, key_of(name), 1);
    atomic_fetch_or(&seen.given, gives);
    return AP_OK;
}

#define PASS(name, needs, gives)                                                                                            \
    static enum ap_status pass_##name(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,       \
                                      struct ap_error *reterr)                                                             \
    {                                                                                                                      \
        (void)context;                                                                                                     \
        (void)reterr;                                                                                                      \
        return note_pass(#name[0], needs, gives, model, root);                                                                  \
    }
PASS(a, 0, A)
PASS(b, A, B)
PASS(c, 0, C)
PASS(d, B | C, 0)
PASS(e, 0, 0)

static enum ap_status pass_fails(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                 struct ap_error *reterr)
{
    (void)context;
    (void)model;
    (void)root;
    return ap_fail(reterr, AP_ERROR_MEMORY, "first");
}

static enum ap_status pass_fails_too(struct ap_pass_context *context, struct ap_model *model, struct ap_value *root,
                                     struct ap_error *reterr)
{
    (void)context;
    (void)model;
    (void)root;
    return ap_fail(reterr, AP_ERROR_LIMIT, "second");
}

/* The keys of the report, or the message of the failure. */
static const char *run(const struct ap_pass_entry *entries, size_t count, bool two_threads)
{
    static char told[64];
    struct ap_gate gate;
    struct ap_model model;
    struct ap_error error = { .status = AP_OK };
    struct ap_analyze_options options = { .two_threads = two_threads };
    ap_gate_init(&gate, 0);
    ap_model_init(&model, &gate);
    struct ap_pass_context context = { .gate = &gate, .options = &options };
    memset(&seen, 0, sizeof(seen));
    size_t at = 0;
    if (ap_run_passes(&context, entries, count, &model, &error) == AP_OK)
        for (const struct ap_value *value = model.root.as.children.first; value; value = value->next)
            told[at++] = value->key.data[0];
    else
        at = (size_t)snprintf(told, sizeof(told), "%s", error.message);
    told[at] = 0;
    ap_model_release(&model);
    if (atomic_load(&gate.used_bytes))
        return "memory is lost";
    return told;
}

static void passes_wait_for_what_they_need(void)
{
    static const struct ap_pass_entry entries[] = {
        { pass_a, 1, 0, A }, { pass_b, 1, A, B }, { pass_c, 1, 0, C }, { pass_d, 1, B | C, 0 }, { pass_e, 9, 0, 0 },
    };
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        wrong += strcmp(run(entries, AP_COUNT_OF(entries), i % 2), "abcde") != 0;
        wrong += atomic_load(&seen.wrong) + (atomic_load(&seen.begun_count) != 5);
    }
    is_int(wrong, 0, "200 runs on one and two threads: what is needed is there, values in the order of the list");
}

static void the_longest_chain_goes_first(void)
{
    static const struct ap_pass_entry entries[] = {
        { pass_a, 1, 0, A }, { pass_b, 1, A, B }, { pass_c, 3, 0, C }, { pass_d, 5, B | C, 0 }, { pass_e, 4, 0, 0 },
    };
    (void)run(entries, AP_COUNT_OF(entries), false);
    is_str(seen.begun, "cabde", "3 + 5, then 1 + 1 + 5, then what was behind them, all before 4");
}

static void the_first_failure_of_the_list_is_told(void)
{
    static const struct ap_pass_entry entries[] = {
        { pass_a, 1, 0, A }, { pass_fails, 1, A, B }, { pass_fails_too, 9, 0, 0 }, { pass_d, 1, B, 0 }, { pass_e, 1, 0, 0 },
    };
    int wrong = 0;
    for (int i = 0; i < 200; i++)
        wrong += strcmp(run(entries, AP_COUNT_OF(entries), i % 2), "first") != 0 || atomic_load(&seen.begun_count) != 2;
    is_int(wrong, 0, "whichever came first; what needs nothing of it still ran, what does did not");
}

int main(void)
{
    passes_wait_for_what_they_need();
    the_longest_chain_goes_first();
    the_first_failure_of_the_list_is_told();
    return done();
}
