/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "near_name.h"

#undef AP_TEXT /* options.def has its own */

#define DEFAULT_TOP_N 20
#define MOST_SECONDS 1000000
#define LEAST_SUMMARY_TOKENS 200 /* less holds no verdict with its first finding */

/* Those that do more than to be kept. */
enum option_id {
#define AP_SECTION(title)
#define AP_OPTION(id, name, argument, help) OPTION_##id,
#define AP_FLAG(id, name, argument, help)
#define AP_TEXT(id, name, argument, help)
#define AP_REQUEST_FLAG(id, name, argument, help)
#define AP_REQUEST_TEXT(id, name, argument, help)
#include "options.def"
    OPTION_COUNT
};

static const struct {
    char letter;
    const char *name;
} letters[] = {
#define AP_SECTION(title)
#define AP_OPTION(id, name, argument, help)
#define AP_FLAG(id, name, argument, help)
#define AP_TEXT(id, name, argument, help)
#define AP_REQUEST_FLAG(id, name, argument, help)
#define AP_REQUEST_TEXT(id, name, argument, help)
#define AP_LETTER(letter, name) { letter, name },
#include "options.def"
};
#define LETTER_COUNT (sizeof(letters) / sizeof(letters[0]))

enum entry_kind { ENTRY_TITLE, ENTRY_OPTION, ENTRY_FLAG, ENTRY_TEXT };

/* A section's title, or an option. */
static const struct entry {
    const char *name, *argument, *help;
    enum entry_kind kind;
    size_t place; /* its id; of a flag or a text, where it is kept */
} entries[] = {
#define KEPT(kind, member) kind, offsetof(struct ap_cli_options, member)
#define AP_SECTION(title) { title, NULL, NULL, ENTRY_TITLE, 0 },
#define AP_OPTION(id, name, argument, help) { name, argument, help, ENTRY_OPTION, OPTION_##id },
#define AP_FLAG(id, name, argument, help) { name, argument, help, KEPT(ENTRY_FLAG, id) },
#define AP_TEXT(id, name, argument, help) { name, argument, help, KEPT(ENTRY_TEXT, id) },
#define AP_REQUEST_FLAG(id, name, argument, help) { name, argument, help, KEPT(ENTRY_FLAG, request.id) },
#define AP_REQUEST_TEXT(id, name, argument, help) { name, argument, help, KEPT(ENTRY_TEXT, request.id) },
#include "options.def"
};
#define ENTRY_COUNT (sizeof(entries) / sizeof(entries[0]))

char ap_cli_letter_of(const char *name)
{
    for (size_t i = 0; i < LETTER_COUNT; i++)
        if (strcmp(letters[i].name, name) == 0)
            return letters[i].letter;
    return 0;
}

static void print_entry(FILE *to, const struct entry *entry)
{
    char left[64];
    char letter = ap_cli_letter_of(entry->name);
    (void)snprintf(left, sizeof(left), "  --%s%s%s%s%.1s", entry->name, entry->argument ? " " : "",
                   entry->argument ? entry->argument : "", letter ? ", -" : "", &letter);
    const char *line = entry->help;
    for (bool first = true; line; first = false) {
        const char *end = strchr(line, '\n');
        int bytes = end ? (int)(end - line) : (int)strlen(line);
        (void)fprintf(to, "%-24s %.*s\n", first ? left : "", bytes, line);
        line = end ? end + 1 : NULL;
    }
}

void ap_cli_print_brief_help(FILE *to)
{
    (void)fputs("Usage: analyze_profile [OPTION]... [FILE|DIR]...\n"
                "What a PyTorch run spends its time and memory on, why, and what to change first.\n"
                "A FILE is recognized by its content; a DIR holds the traces of all ranks of a run.\n"
                "\n"
                "  -o FILE                the report as .html, .md, .json or .svg; repeatable\n"
                "  --baseline FILE        what changed since this report, trace or snapshot\n"
                "  --fail-on WHAT         exit code 1: a finding this severe, or a figure too large\n"
                "  --table NAME           rows and lists, which --table tables names; --where chooses\n"
                "  --explain ID           what a rule, a finding or a figure means\n"
                "  --redact               hashes for the names of yours\n"
                "  --capture-snippet      Python code that records what can be judged\n"
                "  -q, -V, --help         no progress; the version; all options, and exit codes\n"
                "\n"
                "Examples:\n"
                "  analyze_profile trace.json.gz\n"
                "  analyze_profile trace.json.gz snapshot.json -o report.html\n"
                "  analyze_profile new.json.gz --baseline old.json.gz\n"
                "  analyze_profile traces/ -o run.html\n"
                "  analyze_profile trace.json.gz --table kernels --where 'dur_us > 1ms' --sort dur_us\n",
                to);
}

static const char help_head[] = "Usage: analyze_profile [OPTION]... [FILE|DIR]...\n"
                                "       analyze_profile mcp --root DIR...\n"
                                "Ranked diagnosis of a PyTorch profiler trace and a CUDA memory snapshot, or of a\n"
                                "profile of ONNX Runtime, TensorRT or torch.compile: what costs most, the evidence,\n"
                                "the likely cause, what to change and how to verify it. Works offline; nothing from\n"
                                "an input is executed, and pickles are never loaded.\n\n"
                                "A FILE without an option is recognized by its content. The traces of several ranks,\n"
                                "or the DIR that holds them, are read together: which rank is late, and why.\n";

static const char help_tail[] =
    "\nRecording what it reads (--capture-snippet shows it ready to run):\n"
    "  with profile(schedule=schedule(wait=1, warmup=3, active=5, repeat=1), record_shapes=True,\n"
    "               on_trace_ready=lambda prof: prof.export_chrome_trace(\"trace.json.gz\")) as prof:\n"
    "      for batch in loader:  # profile and schedule are from torch.profiler\n"
    "          train_step(batch)\n"
    "          prof.step()\n"
    "  torch.cuda.memory._record_memory_history(max_entries=100000, stacks=\"python\")\n"
    "  ...  # a few steps, in a run of their own\n"
    "  json.dump(torch.cuda.memory._snapshot(), open(\"snapshot.json\", \"w\"))\n"
    "\nExamples:\n"
    "  analyze_profile --cpu-trace trace.json.gz --memory-json snapshot.json\n"
    "  analyze_profile trace.json.gz -o report.html -o report.json\n"
    "  analyze_profile trace.json.gz --trace-out findings.json.gz\n"
    "  analyze_profile trace.json.gz --focus io --context commit=1a2b3c\n"
    "  analyze_profile new.json.gz --baseline old.json --fail-on 'high,steps.p50_us > +5%'\n"
    "  analyze_profile traces/ --html-out run.html\n"
    "  analyze_profile --series 8=b8.json.gz 16=b16.json.gz 32=b32.json.gz\n"
    "  analyze_profile trace.json.gz --table kernels --where 'dur_us > 1ms' --sort dur_us\n"
    "  ssh node cat trace.json.gz | analyze_profile -\n"
    "  analyze_profile mcp --root ~/profiles\n"
    "\nExit codes:\n"
    "  0  the report was written\n"
    "  1  it was written, and something that --fail-on names holds\n"
    "  2  mistake in the command line or in the rubric\n"
    "  3  an input was refused or could not be read\n"
    "  4  the report could not be written\n"
    "  5  a limit or the memory was reached\n";

void ap_cli_print_help(FILE *to)
{
    (void)fputs(help_head, to);
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (entries[i].kind == ENTRY_TITLE)
            (void)fprintf(to, "\n%s:\n", entries[i].name);
        else
            print_entry(to, &entries[i]);
    }
    (void)fputs(help_tail, to);
}

static bool mistake(char *to, size_t bytes, const char *text, const char *about)
{
    (void)snprintf(to, bytes, text, about);
    return false;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    if (*end || number > max || strlen(text) > 19)
        return false;
    *ret_number = number;
    return true;
}

static bool parse_size(const char *text, uint64_t *ret_bytes)
{
    static const struct {
        const char *suffix;
        uint64_t bytes;
    } units[] = {
        { "", 1 },
        { "K", 1000 },
        { "M", 1000000 },
        { "G", 1000000000 },
        { "Ki", 1u << 10 },
        { "Mi", 1u << 20 },
        { "Gi", UINT64_C(1) << 30 },
    };
    size_t digits = strspn(text, "0123456789");
    char number[16] = "";
    uint64_t value;
    if (digits == 0 || digits >= sizeof(number))
        return false;
    memcpy(number, text, digits);
    if (!parse_number(number, UINT64_C(1) << 50, &value))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text + digits, units[i].suffix) != 0 || value > UINT64_MAX / units[i].bytes)
            continue;
        *ret_bytes = value * units[i].bytes;
        return true;
    }
    return false;
}

static bool parse_format(const char *text, enum ap_cli_format *ret_format)
{
    static const struct {
        const char *name;
        enum ap_cli_format format;
    } formats[] = { { "md", AP_CLI_FORMAT_MD },
                    { "json", AP_CLI_FORMAT_JSON },
                    { "text", AP_CLI_FORMAT_TEXT },
                    { "csv", AP_CLI_FORMAT_CSV } };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(text, formats[i].name) == 0) {
            *ret_format = formats[i].format;
            return true;
        }
    return false;
}

static bool ends_with(const char *text, size_t bytes, const char *end)
{
    size_t end_bytes = strlen(end);
    return bytes > end_bytes && memcmp(text + bytes - end_bytes, end, end_bytes) == 0;
}

/* The form is told by the name, as everywhere on a command line. */
static bool take_output(struct ap_cli_options *options, const char *path, char *to, size_t bytes)
{
    const struct {
        const char *suffix, **place;
    } forms[] = { { ".html", &options->html_out },
                  { ".htm", &options->html_out },
                  { ".md", &options->md_out },
                  { ".json", &options->json_out },
                  { ".svg", &options->svg_out } };
    size_t path_bytes = strlen(path) - (ends_with(path, strlen(path), ".gz") ? strlen(".gz") : 0);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (!ends_with(path, path_bytes, forms[i].suffix))
            continue;
        if (*forms[i].place)
            return mistake(to, bytes, "'%s' is the second output of its form: one of each can be written", path);
        *forms[i].place = path;
        options->has_output = true;
        options->request.with_pictures = options->request.with_pictures || options->html_out || options->svg_out;
        return true;
    }
    return mistake(to, bytes, "--output takes a FILE that ends in .html, .md, .json or .svg, perhaps with .gz, not '%s'",
                   path);
}

static bool set_option(struct ap_cli_options *options, enum option_id id, const char *value, char *to, size_t bytes)
{
    uint64_t number;
    switch (id) {
    case OPTION_cpu_trace: options->traces[options->trace_count++] = value; return true;
    case OPTION_memory_json: options->snapshots[options->snapshot_count++] = value; return true;
    case OPTION_series: return options->is_series = true;
    case OPTION_trace_out: options->trace_out = value; return options->request.with_tracks = true;
    case OPTION_summary_out: options->summary_out = value; return options->request.with_ranks = true;
    case OPTION_context: options->context[options->request.context_count++] = value; return true;
    case OPTION_output: return take_output(options, value, to, bytes);
    case OPTION_html_out: options->html_out = value; return options->request.with_pictures = true;
    case OPTION_pictures_out:
        options->pictures_out = value;
        options->request.with_pictures = true;
        return strcmp(value, "-") != 0 || mistake(to, bytes, "--pictures-out takes a folder, not '%s'", value);
    case OPTION_folded_out: options->folded_out = value; return options->request.with_folded = true;
    case OPTION_top_n:
        return parse_number(value, UINT32_MAX, &options->request.top_n) ||
               mistake(to, bytes, "--top-n takes a whole number, 0 for everything, not '%s'", value);
    case OPTION_rubric: options->request.rubric_path = value; return true;
    case OPTION_baseline:
        if (options->request.baseline_path)
            options->baselines[options->request.more_baseline_count++] = value;
        else
            options->request.baseline_path = value;
        return true;
    case OPTION_rerun: options->runs[options->request.more_run_count++] = value; return true;
    case OPTION_fail_on: options->fail_on[options->request.fail_on_count++] = value; return true;
    case OPTION_what_if: options->what_if[options->request.what_if_count++] = value; return true;
    case OPTION_format:
        return parse_format(value, &options->format) ||
               mistake(to, bytes, "--format takes md, json, text or csv, not '%s'", value);
    case OPTION_table: options->table.name = value; return true;
    case OPTION_where: options->table.where = value; return true;
    case OPTION_sort: options->table.sort = value; return true;
    case OPTION_columns: options->table.columns = value; return true;
    case OPTION_limit:
        options->has_limit = true;
        return parse_number(value, UINT32_MAX, &options->table.limit) ||
               mistake(to, bytes, "--limit takes a whole number, 0 for all rows, not '%s'", value);
    case OPTION_summary_tokens:
        options->has_summary_tokens = true;
        return (parse_number(value, UINT32_MAX, &options->summary_tokens) &&
                options->summary_tokens >= LEAST_SUMMARY_TOKENS) ||
               mistake(to, bytes, "--summary-tokens takes a whole number from 200 on, not '%s'", value);
    case OPTION_max_memory:
        return (parse_size(value, &options->request.max_memory_bytes) &&
                options->request.max_memory_bytes >= AP_MIN_MAX_MEMORY_BYTES) ||
               mistake(to, bytes, "--max-memory takes a size of at least 32Mi, such as 1536M or 2Gi, not '%s'", value);
    case OPTION_max_seconds:
        if (!parse_number(value, MOST_SECONDS, &number) || number == 0)
            return mistake(to, bytes, "--max-seconds takes a whole number from 1 to 1000000, not '%s'", value);
        options->max_seconds = (uint32_t)number;
        return true;
    case OPTION_max_depth:
        if (!parse_number(value, 100000000, &number) || number == 0)
            return mistake(to, bytes, "--max-depth takes a whole number from 1 to 100000000, not '%s'", value);
        options->request.max_depth = (uint32_t)number;
        return true;
    case OPTION_threads:
        if (!parse_number(value, 16, &number) || number == 0)
            return mistake(to, bytes, "--threads takes a whole number from 1 to 16, not '%s'", value);
        options->request.threads = (unsigned)number;
        return true;
    case OPTION_rank:
        options->request.has_rank = true;
        return parse_number(value, 99999999, &options->request.rank) ||
               mistake(to, bytes, "--rank takes a whole number, not '%s'", value);
    case OPTION_jobs:
        if (!parse_number(value, 4096, &number) || number == 0)
            return mistake(to, bytes, "--jobs takes a whole number from 1 to 4096, not '%s'", value);
        options->request.jobs = (uint32_t)number;
        return true;
    case OPTION_root: options->roots[options->root_count++] = value; return true;
    case OPTION_COUNT: break;
    }
    return false;
}

static bool take(struct ap_cli_options *options, const struct entry *entry, const char *value, char *to, size_t bytes)
{
    if (entry->kind == ENTRY_OPTION)
        return set_option(options, (enum option_id)entry->place, value, to, bytes);
    if (entry->kind == ENTRY_FLAG)
        memcpy((char *)options + entry->place, &(bool){ true }, sizeof(bool));
    else
        memcpy((char *)options + entry->place, &value, sizeof(value));
    return true;
}

#define NAME_BYTES 40

/* "there is no option '--jsn-out'; did you mean --json-out?" */
static bool no_option(const char *argument, char *to, size_t bytes)
{
    static char names[ENTRY_COUNT][NAME_BYTES];
    struct ap_near_names near = { .count = 0 };
    char told[160];
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        (void)snprintf(names[i], NAME_BYTES, "--%s", entries[i].name);
        if (entries[i].kind != ENTRY_TITLE)
            ap_near_names_offer(&near, (struct ap_text){ argument, strcspn(argument, "=") }, ap_text_of(names[i]));
    }
    ap_near_names_write(&near, told, sizeof(told));
    (void)snprintf(to, bytes, "there is no option '%.120s'%s", argument, told);
    return false;
}

/* --name, --name=value or --name value; a unique beginning is not enough, so that new options break no script. */
static bool parse_option(int argc, char **argv, int *at, struct ap_cli_options *options, char *to, size_t bytes)
{
    const char *name = argv[*at] + 2, *value = strchr(name, '=');
    size_t name_bytes = value ? (size_t)(value - name) : strlen(name);
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        const struct entry *entry = &entries[i];
        if (entry->kind == ENTRY_TITLE || strlen(entry->name) != name_bytes || memcmp(entry->name, name, name_bytes) != 0)
            continue;
        if (!entry->argument && value)
            return mistake(to, bytes, "--%s takes no argument", entry->name);
        if (entry->argument && !value && *at + 1 >= argc)
            return mistake(to, bytes, "--%s needs an argument", entry->name);
        if (entry->argument)
            value = value ? value + 1 : argv[++*at];
        if (value && !*value)
            return mistake(to, bytes, "--%s needs an argument that is not empty", entry->name);
        return take(options, entry, value, to, bytes);
    }
    return no_option(argv[*at], to, bytes);
}

/* -o FILE, -oFILE, -q. */
static bool parse_letter(int argc, char **argv, int *at, struct ap_cli_options *options, char *to, size_t bytes)
{
    const char *argument = argv[*at];
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        const struct entry *entry = &entries[i];
        const char *value = argument[2] ? argument + 2 : NULL;
        if (entry->kind == ENTRY_TITLE || ap_cli_letter_of(entry->name) != argument[1])
            continue;
        if (!entry->argument && value)
            return no_option(argument, to, bytes);
        if (entry->argument && !value && *at + 1 >= argc)
            return mistake(to, bytes, "-%s needs an argument", argument + 1);
        if (entry->argument && !value)
            value = argv[++*at];
        if (value && !*value)
            return mistake(to, bytes, "-%s needs an argument that is not empty", argument + 1);
        return take(options, entry, value, to, bytes);
    }
    return no_option(argument, to, bytes);
}

bool ap_cli_parse(int argc, char **argv, struct ap_cli_options *options, char *to, size_t bytes)
{
    bool only_files = false;
    options->request.top_n = DEFAULT_TOP_N;
    options->request.words = AP_WORDS_PROGRAM;
    options->request.context = options->context;
    options->request.fail_on = options->fail_on;
    options->request.what_if = options->what_if;
    options->request.more_baselines = options->baselines;
    options->request.more_runs = options->runs;
    for (int i = 1; i < argc; i++) {
        if (only_files || argv[i][0] != '-' || argv[i][1] == '\0')
            options->files[options->file_count++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_files = true;
        else if (strcmp(argv[i], "-h") == 0)
            options->brief_help = true;
        else if (argv[i][1] != '-' ? !parse_letter(argc, argv, &i, options, to, bytes)
                                   : !parse_option(argc, argv, &i, options, to, bytes))
            return false;
    }
    return true;
}
