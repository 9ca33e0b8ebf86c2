/* SPDX-License-Identifier: MIT
 * Every document of fixtures/json, and of nst/JSONTestSuite where its folder is given, is accepted or refused as it must
 * be, wherever it stands: as the whole document, as a value that is skipped, and within an event.
 *     json_verdicts [FIXTURES [SUITE]]      (or the folders in AP_FIXTURES and AP_JSON_TEST_SUITE) */
#include <stdio.h>

#include "file_list.h"
#include "json_log.h"
#include "json_element.h"
#include "tap.h"

/* What JSONTestSuite refuses and we accept, since exporters write it; each is counted. */
static const char *const extensions[] = {
    "n_number_NaN.json",
    "n_number_infinity.json",
    "n_number_minus_infinity.json",
    "n_structure_capitalized_True.json",
    "n_string_unescaped_newline.json",
    "n_string_unescaped_tab.json",
    "n_string_unescaped_ctrl_char.json",
};

enum wanted { ACCEPT, REJECT, COUNT, EITHER };

/* ---------------------------------------------------------------------------------------------- ways of reading */

enum place { WHOLE, SKIPPED, EVENT_UNKNOWN, EVENT_ARGS, EVENT_ARGS_MEMBER, PLACE_COUNT_ };

static const struct {
    const char *claim, *before, *after;
} places[PLACE_COUNT_] = {
    [WHOLE] = { "as the document", "", "" },
    [SKIPPED] = { "as a skipped value", "{\"unknown\": ", "}" },
    [EVENT_UNKNOWN] = { "as an unknown member of an event", "[{\"ph\": \"X\", \"unknown\": ", ", \"name\": \"n\"}]" },
    [EVENT_ARGS] = { "as the args of an event", "[{\"args\": ", ", \"name\": \"n\"}]" },
    [EVENT_ARGS_MEMBER] = { "in the args of an event", "[{\"args\":{\"other\": ", ",\"bytes\":1},\"name\":\"n\"}]" },
};

static const struct ap_json_field fields[] = {
    { NULL, "ph", AP_STRINGS_REPEAT },
    { NULL, "name", AP_STRINGS_WITH_QUOTES },
    { "args", "bytes", AP_STRINGS_ANY },
    { "args", "device", AP_STRINGS_ANY },
};

/* What came of it. */
struct outcome {
    enum ap_status status; /* AP_END: accepted */
    bool has_offset;
    uint64_t offset_bytes, oddities;
};

static enum ap_status read_whole(struct json_run *run)
{
    struct ap_json_token token;
    enum ap_status status;
    while ((status = ap_json_next(run->json, &token, &run->error)) == AP_OK)
        continue;
    return status;
}

/* A document that brings a member of its own ends the value too early: refused as such. */
static enum ap_status refuse_here(struct json_run *run)
{
    return ap_fail_at(&run->error, AP_ERROR_INPUT, ap_json_offset(run->json), "more than one value");
}

static enum ap_status read_skipped(struct json_run *run)
{
    struct ap_json_token token;
    enum ap_status status = ap_json_next(run->json, &token, &run->error);
    if (status == AP_OK)
        status = ap_json_next_key(run->json, &token, &run->error);
    if (status == AP_OK)
        status = ap_json_skip_value(run->json, &run->error);
    if (status == AP_OK)
        status = ap_json_next(run->json, &token, &run->error);
    if (status == AP_OK && token.kind != AP_JSON_OBJECT_END)
        return refuse_here(run);
    return status == AP_OK ? ap_json_next(run->json, &token, &run->error) : status;
}

static enum ap_status read_records(struct json_run *run)
{
    struct ap_json_span spans[AP_COUNT_OF(fields) + 1];
    struct ap_json_token token;
    struct ap_element_reader *record = NULL;
    enum ap_status status = ap_json_next(run->json, &token, &run->error);
    unsigned elements = 0;
    if (status == AP_OK)
        status = ap_element_reader_new(run->json, fields, AP_COUNT_OF(fields), &record, &run->error);
    while (status == AP_OK) {
        enum ap_element_outcome outcome;
        uint64_t offset_bytes;
        status = ap_element_next(record, spans, &outcome, &offset_bytes, &run->error);
        if (status == AP_OK && (++elements > 1 || outcome != AP_ELEMENT_READ || spans[1].kind != AP_JSON_STRING))
            status = refuse_here(run);
    }
    if (status == AP_END)
        status = ap_json_next(run->json, &token, &run->error);
    ap_element_reader_free(record);
    return status == AP_OK ? refuse_here(run) : status;
}

static struct outcome read_at(enum place place, const uint8_t *data, size_t bytes, size_t window_bytes)
{
    struct text_log text = { .data = NULL };
    struct json_run run;
    struct outcome outcome = { .oddities = 0 };
    log_bytes(&text, places[place].before, strlen(places[place].before));
    log_bytes(&text, data, bytes);
    log_bytes(&text, places[place].after, strlen(places[place].after));
    struct lender *lender = json_run_open(&run, text.data, text.bytes, &(struct reading){ .window_bytes = window_bytes });
    outcome.status = place == WHOLE ? read_whole(&run) : place == SKIPPED ? read_skipped(&run) : read_records(&run);
    outcome.has_offset = run.error.has_offset;
    outcome.offset_bytes = run.error.offset_bytes;
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        outcome.oddities += run.notes.notes[i].count;
    if (outcome.has_offset && outcome.offset_bytes > text.bytes)
        outcome.has_offset = false; /* a place outside the text is none */
    (void)json_run_close(&run, lender);
    log_release(&text);
    return outcome;
}

/* -------------------------------------------------------------------------------------------------------- verdicts */

static bool fits(const struct outcome *outcome, enum wanted wanted)
{
    bool refused = outcome->status == AP_ERROR_INPUT || outcome->status == AP_ERROR_CUT || outcome->status == AP_ERROR_LIMIT;
    refused = refused && outcome->has_offset;
    switch (wanted) {
    case ACCEPT: return outcome->status == AP_END;
    case REJECT: return refused;
    case COUNT: return outcome->status == AP_END && outcome->oddities > 0;
    default: return outcome->status == AP_END || refused;
    }
}

static bool check_file(const struct listed_file *file, enum place place, enum wanted wanted)
{
    static const size_t windows[] = { 0, 1, 7 };
    const uint8_t *data = file->data;
    size_t bytes = file->bytes;
    /* A byte order mark is one at the beginning of a document only. */
    if (place != WHOLE && bytes >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        wanted = REJECT;
    for (size_t i = 0; i < AP_COUNT_OF(windows); i++) {
        struct outcome outcome = read_at(place, data, bytes, windows[i]);
        if (fits(&outcome, wanted))
            continue;
        printf("#   %s: status %d%s at %llu, %llu oddities, window %zu\n", file->name, (int)outcome.status,
               outcome.has_offset ? "" : " without place", (unsigned long long)outcome.offset_bytes,
               (unsigned long long)outcome.oddities, windows[i]);
        return false;
    }
    return true;
}

/* The documents of which @wanted (NULL: of all) is @only, at every place. */
static void check_files(const struct file_list *list, const char *title,
                        enum wanted (*wanted)(const struct listed_file *file), enum wanted only)
{
    static const char *const verbs[] = { "are accepted", "are refused with their place", "are accepted and counted",
                                         "are accepted or refused with their place" };
    for (enum place place = WHOLE; place < PLACE_COUNT_; place++) {
        size_t count = 0;
        bool good = true;
        char claim[200];
        for (size_t i = 0; i < list->count; i++)
            if (!wanted || wanted(&list->files[i]) == only) {
                count++;
                good &= check_file(&list->files[i], place, only);
            }
        (void)snprintf(claim, sizeof(claim), "%zu documents of %s %s %s", count, title, verbs[only], places[place].claim);
        ok(good && count > 0, claim);
    }
}

static void check_fixtures(const char *fixtures)
{
    static const struct {
        const char *folder;
        enum wanted wanted;
    } folders[] = { { "accept", ACCEPT }, { "reject", REJECT }, { "extension", COUNT }, { "either", EITHER } };
    for (size_t i = 0; i < AP_COUNT_OF(folders); i++) {
        char path[1100], title[60];
        (void)snprintf(path, sizeof(path), "%s/json/%s", fixtures, folders[i].folder);
        (void)snprintf(title, sizeof(title), "fixtures/json/%s", folders[i].folder);
        struct file_list list = list_files(path);
        check_files(&list, title, NULL, folders[i].wanted);
        release_files(&list);
    }
}

/* ------------------------------------------------------------------------- what the index says of the open questions */

/* Does the reason of this document in index.json begin with "refused"? */
static bool index_says_refused(const struct listed_file *index, const char *name)
{
    char wanted[300], *line, *text = malloc(index->bytes + 1);
    if (!text)
        abort();
    memcpy(text, index->data, index->bytes);
    text[index->bytes] = '\0';
    (void)snprintf(wanted, sizeof(wanted), "\"name\": \"%.*s\"", (int)strcspn(name, "."), name);
    line = strstr(text, wanted);
    if (line)
        line[strcspn(line, "\n")] = '\0';
    bool refused = line && strstr(line, "\"why\": \"refused");
    free(text);
    return refused;
}

static void open_questions_are_answered_as_the_index_says(const char *fixtures)
{
    char path[1100];
    bool good = true;
    (void)snprintf(path, sizeof(path), "%s/json/index.json", fixtures);
    struct file_list index = list_files(path);
    (void)snprintf(path, sizeof(path), "%s/json/either", fixtures);
    struct file_list list = list_files(path);
    for (size_t i = 0; i < list.count; i++) {
        bool too_deep_to_keep = strcmp(list.files[i].name, "deep_value_of_unknown_key.json") == 0;
        enum wanted wanted = index_says_refused(&index.files[0], list.files[i].name) || too_deep_to_keep ? REJECT : ACCEPT;
        good &= check_file(&list.files[i], WHOLE, wanted);
        if (too_deep_to_keep)
            good &= check_file(&list.files[i], SKIPPED, ACCEPT);
    }
    ok(good && list.count > 0, "what the grammar leaves open is treated as index.json says");
    release_files(&list);
    release_files(&index);
}

/* ---------------------------------------------------------------------------------------------------- JSONTestSuite */

static bool is_extension(const char *name)
{
    for (size_t i = 0; i < AP_COUNT_OF(extensions); i++)
        if (strcmp(name, extensions[i]) == 0)
            return true;
    return false;
}

static enum wanted of_suite(const struct listed_file *file)
{
    if (is_extension(file->name))
        return COUNT;
    return file->name[0] == 'y' ? ACCEPT : file->name[0] == 'n' ? REJECT : EITHER;
}

/* Only documents: y_*.json, n_*.json, i_*.json. */
static void keep_documents(struct file_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct listed_file *file = &list->files[i];
        const char *end = strrchr(file->name, '.');
        if (strchr("yni", file->name[0]) && file->name[1] == '_' && end && strcmp(end, ".json") == 0) {
            size_t name = (size_t)(file->name - file->path);
            struct listed_file swapped = list->files[kept];
            list->files[kept] = *file;
            list->files[kept].name = list->files[kept].path + name;
            *file = swapped;
            kept++;
        }
    }
    for (size_t i = kept; i < list->count; i++)
        free(list->files[i].data);
    list->count = kept;
}

static void check_suite(const char *folder)
{
    struct file_list list = list_files(folder);
    char claim[300];
    keep_documents(&list);
    check_files(&list, "JSONTestSuite", of_suite, ACCEPT);
    check_files(&list, "JSONTestSuite", of_suite, REJECT);
    check_files(&list, "JSONTestSuite", of_suite, EITHER);
    for (size_t e = 0; e < AP_COUNT_OF(extensions); e++)
        for (enum place place = WHOLE; place < PLACE_COUNT_; place++) {
            bool found = false;
            for (size_t i = 0; i < list.count; i++)
                if (strcmp(list.files[i].name, extensions[e]) == 0)
                    found = check_file(&list.files[i], place, COUNT);
            (void)snprintf(claim, sizeof(claim), "our extension %s is accepted and counted %s", extensions[e],
                           places[place].claim);
            ok(found, claim);
        }
    release_files(&list);
}

int main(int argc, char **argv)
{
    const char *suite = argc > 2 && argv[2][0] ? argv[2] : getenv("AP_JSON_TEST_SUITE");
    const char *fixtures = fixtures_folder(argc, argv);
    check_fixtures(fixtures);
    open_questions_are_answered_as_the_index_says(fixtures);
    if (suite && suite[0])
        check_suite(suite);
    else
        skip("NO JSONTestSuite: give its folder as -Djson_test_suite=FOLDER or in AP_JSON_TEST_SUITE");
    return done();
}
