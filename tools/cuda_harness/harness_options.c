/* SPDX-License-Identifier: MIT
 * See harness_options.h. */
#include "harness_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
    OPTION_SCENARIO,
    OPTION_ALL,
    OPTION_OUT,
    OPTION_STEPS,
    OPTION_REPEAT,
    OPTION_DEVICE_MIB,
    OPTION_LIST,
    OPTION_HELP
};

struct option_info {
    enum option_id id;
    const char *name, *value, *sentence;
    uint32_t least, most; /* of a number */
};

static const struct option_info option_table[] = {
    { OPTION_SCENARIO, "--scenario", "NAME", "record this scenario and its healthy twin; may be given several times", 0, 0 },
    { OPTION_ALL, "--all", NULL, "record all scenarios", 0, 0 },
    { OPTION_OUT, "--out", "DIR", "write DIR/NAME/ and DIR/NAME-healthy/ (must exist)", 0, 0 },
    { OPTION_STEPS, "--steps", "N", "steps in the recorded window (default 8)", 3, 1000 },
    { OPTION_REPEAT, "--repeat", "N", "timings of each kind, of which the median counts (default 5)", 1, 99 },
    { OPTION_DEVICE_MIB, "--device-mib", "N", "MiB that the allocator of a memory scenario may take (default 1024)", 256,
      1u << 20 },
    { OPTION_LIST, "--list", NULL, "list the scenarios", 0, 0 },
    { OPTION_HELP, "--help", NULL, "this text", 0, 0 },
};

AP_PRINTF(3, 4) static bool fail(char *mistake, size_t mistake_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(mistake, mistake_bytes, format, arguments);
    va_end(arguments);
    return false;
}

static const struct option_info *find_option(const char *name)
{
    for (size_t i = 0; i < AP_COUNT_OF(option_table); i++)
        if (strcmp(option_table[i].name, name) == 0)
            return &option_table[i];
    return NULL;
}

static bool read_number(const struct option_info *option, const char *text, uint32_t *ret_number)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || number < option->least || number > option->most)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

static bool take(struct harness_options *options, const struct option_info *option, const char *value, char *mistake,
                 size_t mistake_bytes)
{
    uint32_t number = 0;
    if (option->most && !read_number(option, value, &number))
        return fail(mistake, mistake_bytes, "%s %s: expected a whole number from %u to %u", option->name, value,
                    (unsigned)option->least, (unsigned)option->most);
    switch (option->id) {
    case OPTION_SCENARIO: {
        enum harness_scenario_id id = harness_scenario_find(value);
        if (id == HARNESS_SCENARIO_COUNT_)
            return fail(mistake, mistake_bytes, "no scenario is called %s: --list shows all", value);
        options->chosen[id] = true;
        break;
    }
    case OPTION_ALL:
        for (size_t i = 0; i < AP_COUNT_OF(options->chosen); i++)
            options->chosen[i] = true;
        break;
    case OPTION_OUT: options->out = value; break;
    case OPTION_STEPS: options->steps = number; break;
    case OPTION_REPEAT: options->repeat = number; break;
    case OPTION_DEVICE_MIB: options->device_bytes = (uint64_t)number << 20; break;
    case OPTION_LIST: options->list = true; break;
    case OPTION_HELP: options->help = true; break;
    }
    return true;
}

bool harness_options_parse(int argc, char **argv, struct harness_options *options, char *mistake, size_t mistake_bytes)
{
    *options = (struct harness_options){ .steps = 8, .warm_up_steps = 2, .repeat = 5, .device_bytes = UINT64_C(1) << 30 };
    bool any = false;
    for (int i = 1; i < argc; i++) {
        const struct option_info *option = find_option(argv[i]);
        if (!option)
            return fail(mistake, mistake_bytes, "unknown argument %s: --help shows all", argv[i]);
        if (option->value && i + 1 == argc)
            return fail(mistake, mistake_bytes, "%s: expected %s", option->name, option->value);
        const char *value = option->value ? argv[++i] : NULL;
        if (!take(options, option, value, mistake, mistake_bytes))
            return false;
    }
    for (size_t i = 0; i < AP_COUNT_OF(options->chosen); i++)
        any |= options->chosen[i];
    if (options->help || options->list)
        return true;
    if (!any)
        return fail(mistake, mistake_bytes, "nothing to do: give --scenario NAME or --all");
    return options->out ? true : fail(mistake, mistake_bytes, "--out: expected a folder to write to");
}

void harness_options_print_help(FILE *to)
{
    (void)fputs(
        "usage: cuda_harness (--scenario NAME)... | --all --out DIR\n"
        "Runs jobs with one planted cause each, and their healthy twins; writes trace.json.gz, snapshot.json.gz and\n"
        "truth.json of both.\n\n",
        to);
    for (size_t i = 0; i < AP_COUNT_OF(option_table); i++) {
        const struct option_info *option = &option_table[i];
        char name[64];
        (void)snprintf(name, sizeof(name), "%s %s", option->name, option->value ? option->value : "");
        (void)fprintf(to, "  %-18s %s\n", name, option->sentence);
    }
}

void harness_options_print_list(FILE *to)
{
    for (size_t i = 0; i < AP_COUNT_OF(harness_scenarios); i++)
        (void)fprintf(to, "%-18s %s; healthy: %s\n", harness_scenarios[i].name, harness_scenarios[i].planted,
                      harness_scenarios[i].healthy);
}
