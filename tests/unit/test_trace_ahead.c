/* SPDX-License-Identifier: MIT
 * Reading ahead on other threads: whatever is read, and wherever its blocks end, the trace, the counters and the errors
 * are those of one thread.
 *     test_trace_ahead [FIXTURES] */
#include "event_text.h"
#include "file_list.h"
#include "json_ahead.h"
#include "random.h"
#include "tap.h"

/* ---------------------------------------------------------------------------------------------------- the json stage */

/* Where records were read, by the second thread and in all. */
struct places {
    struct {
        uint64_t offset_bytes[4096];
        size_t count;
        struct ap_json_span spans[2];
        struct ap_notes notes;
    } ahead[AP_AHEAD_PIECES];
    uint64_t all[4096];
    size_t all_count, taken_count;
};

static enum ap_ahead_answer take_place(void *self, unsigned piece, struct ap_element_reader *elements, uint64_t offset_bytes)
{
    struct places *places = self;
    (void)elements;
    if (places->ahead[piece].count == AP_COUNT_OF(places->ahead[piece].offset_bytes))
        return AP_AHEAD_NOT_TAKEN;
    places->ahead[piece].offset_bytes[places->ahead[piece].count++] = offset_bytes;
    return AP_AHEAD_TAKEN;
}

static void drop_places(void *self, unsigned piece)
{
    ((struct places *)self)->ahead[piece].count = 0;
}

static void add_places(struct places *places, unsigned piece)
{
    size_t count = places->ahead[piece].count;
    if (count > AP_COUNT_OF(places->all) - places->all_count)
        count = AP_COUNT_OF(places->all) - places->all_count;
    memcpy(places->all + places->all_count, places->ahead[piece].offset_bytes, count * sizeof(places->all[0]));
    places->all_count += count;
    places->taken_count += count;
    places->ahead[piece].count = 0;
}

static enum ap_status read_places(struct json_run *run, struct places *places, unsigned helpers, bool refuse)
{
    static const struct ap_json_field fields[] = { { NULL, "a", AP_STRINGS_ANY } };
    struct ap_element_reader *records = NULL;
    struct ap_ahead *ahead = NULL;
    struct ap_json_token token;
    struct ap_json_span spans[2];
    struct ap_ahead_user user = {
        .helpers = helpers, .take = take_place, .drop = drop_places, .self = places, .always_wait = true
    };
    for (size_t i = 0; i < AP_AHEAD_PIECES; i++) {
        user.spans[i] = places->ahead[i].spans;
        user.notes[i] = &places->ahead[i].notes;
    }
    enum ap_status status = ap_json_next(run->json, &token, &run->error);
    if (status == AP_OK)
        status = ap_element_reader_new(run->json, fields, 1, &records, &run->error);
    if (status == AP_OK)
        status = ap_ahead_new(records, &user, &ahead, &run->error);
    while (status == AP_OK && places->all_count < AP_COUNT_OF(places->all)) {
        enum ap_element_outcome outcome;
        uint64_t offset_bytes;
        status = ap_element_next(records, spans, &outcome, &offset_bytes, &run->error);
        if (status != AP_OK)
            break;
        if (outcome != AP_ELEMENT_AHEAD) {
            places->all[places->all_count++] = offset_bytes;
        } else if (refuse) {
            ap_ahead_refuse(ahead);
        } else {
            add_places(places, ap_ahead_piece(ahead));
            ap_ahead_take_over(ahead);
        }
    }
    ap_ahead_free(ahead);
    ap_element_reader_free(records);
    return status;
}

static char many[60000];
static size_t many_bytes;

static void write_many(const char *record)
{
    size_t record_bytes = strlen(record);
    many_bytes = 0;
    many[many_bytes++] = '[';
    while (many_bytes + record_bytes + 2 < sizeof(many) && many_bytes < 50000) {
        many_bytes +=
            (size_t)snprintf(many + many_bytes, sizeof(many) - many_bytes, "%s%s", many_bytes > 1 ? "," : "", record);
    }
    many[many_bytes++] = ']';
}

static void places_are_those_of_one_thread(unsigned helpers, const char *record, bool refuse, bool is_taken,
                                           const char *claim)
{
    static struct places one, two;
    struct json_run run;
    one = two = (struct places){ .all_count = 0 };
    write_many(record);
    struct lender *lender =
        json_run_open(&run, many, many_bytes, &(struct reading){ .window_bytes = 500, .piece_bytes = 500, .lend = true });
    enum ap_status status = read_places(&run, &one, 1, false);
    (void)json_run_close(&run, lender);
    lender = json_run_open(&run, many, many_bytes,
                           &(struct reading){ .window_bytes = 500, .piece_bytes = 500, .lend = true, .ahead = helpers });
    bool same = read_places(&run, &two, helpers, refuse) == status && one.all_count == two.all_count &&
                memcmp(one.all, two.all, one.all_count * sizeof(one.all[0])) == 0;
    ok(same && one.all_count > 100 && json_run_close(&run, lender), claim);
    if (is_taken)
        ok(two.taken_count > 0, "and some were read by the second thread");
    else
        is_u64(two.taken_count, 0, "and none was read by the second thread");
}

static void records_are_read_ahead(unsigned helpers)
{
    places_are_those_of_one_thread(helpers, "{\"a\":1,\"b\":[1,2]}", false, true, "records in a row");
    places_are_those_of_one_thread(helpers, "{\"a\":{\"x\":[{\"a\":1},{\"a\":2},{\"a\":3}]}}", false, true,
                                   "places between objects within a record look the same: then they are not met");
    places_are_those_of_one_thread(helpers, "{\"a\":\"},{\\\"a\\\":1},{\"}", false, true, "and those within a string");
    places_are_those_of_one_thread(helpers, "{\"a\":1}", true, false, "what is refused is read again");
    places_are_those_of_one_thread(helpers, "[{\"a\":1}]", false, false,
                                   "elements that are no objects are left to the first thread");
}

/* ------------------------------------------------------------------------------------------------------ whole traces */

static void log_run(struct text_log *log, const void *text, size_t bytes, const struct reading *reading, bool salvage)
{
    struct trace_run run;
    trace_run_read(&run, text, bytes, reading, salvage, AP_OK);
    log_end(log, run.status, &run.json.error);
    if (run.trace)
        log_trace(log, run.trace);
    log_notes(log, &run.json.notes);
    if (!trace_run_release(&run))
        log_format(log, "memory was kept\n");
}

/* In blocks of several sizes, with and without reading ahead. */
static bool reads_alike(const char *name, const void *text, size_t bytes, bool salvage)
{
    static const struct {
        size_t bytes;
        unsigned helpers;
    } blocks[] = { { 150, 1 }, { 700, 1 }, { 5000, 1 }, { 700, 2 }, { 150, 3 }, { 700, 7 }, { 5000, 7 } };
    struct text_log want = { .data = NULL };
    bool alike = true;
    log_run(&want, text, bytes, &(struct reading){ .lend = true }, salvage);
    for (size_t i = 0; i < AP_COUNT_OF(blocks) && alike; i++) {
        struct text_log got = { .data = NULL };
        const struct reading reading = {
            .window_bytes = blocks[i].bytes, .piece_bytes = blocks[i].bytes, .lend = true, .ahead = blocks[i].helpers
        };
        log_run(&got, text, bytes, &reading, salvage);
        alike = log_same(&want, &got);
        if (!alike) {
            printf("#   %s, blocks of %zu, %u helpers\n", name, blocks[i].bytes, blocks[i].helpers);
            log_show_difference(&want, &got);
        }
        log_release(&got);
    }
    log_release(&want);
    return alike;
}

static void fixtures_read_alike(const char *fixtures)
{
    char folder[1100];
    (void)snprintf(folder, sizeof(folder), "%s/traces", fixtures);
    struct file_list list = list_files(folder);
    size_t compared = 0;
    bool alike = true;
    for (size_t i = 0; i < list.count && alike; i++) {
        const struct listed_file *file = &list.files[i];
        if (file->data[0] == 0x1f || file->bytes > 100000)
            continue;
        compared++;
        alike = reads_alike(file->name, file->data, file->bytes, false);
    }
    ok(alike && compared > 10, "every fixture is the same trace");
    release_files(&list);
}

/* --------------------------------------------------------------------------------------------------- made-up traces */

static const char *const usual[] = {
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%zu.5,\"dur\":3,\"args\":{\"External "
    "id\":%zu,"
    "\"Sequence number\":4,\"Input Dims\":[[4,8],[8,2]],\"Input type\":[\"float\",\"float\"]}}",
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":1,"
    "\"args\":{\"correlation\":%zu,\"External id\":7}}",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%zu,\"dur\":9,\"args\":{\"device\":0,"
    "\"stream\":7,\"correlation\":%zu,\"blocks per SM\":1.5,\"est. achieved occupancy %%\":30}}",
    "{\"ph\":\"s\",\"id\":%zu,\"pid\":1,\"tid\":1,\"ts\":%zu,\"cat\":\"ac2g\",\"name\":\"ac2g\"}",
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":%zu,\"dur\":2,"
    "\"args\":{\"device\":0,\"bytes\":%zu}}",
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%zu\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":90}",
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"args\":{\"Bytes\":%zu,\"Device "
    "Type\":1,\"Device Id\":0,"
    "\"Addr\":123}}",
};

static const char *const odd[] = {
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op %zu\",\"pid\":1,\"tid\":%zu,\"ts\":1,\"dur\":3,\"args\":{\"External "
    "id\":99999999999}}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a},{\\\"ph\\\":%zu\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":%zu}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":1,\"args\":{\"x\":[{\"ph\":"
    "\"X\"},{\"ph\":%zu},{\"ph\":\"X\"}]}}",
    "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"b %zu\",\"pid\":1,\"tid\":2,\"ts\":%zu}",
    "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":%zu,\"args\":{\"v\":%zu}}",
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"thread %zu\",\"v\":%zu}}",
    "%zu,[%zu]",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%zu,\"dur\":1,\"args\":{\"device\":%zu}}",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":%zu,\"ts\":1,\"dur\":1,\"args\":{\"device\":1,"
    "\"correlation\":\"%zu\"}}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"says \"hi\" %zu\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":1}",
    "{\"ph\":\"X\",\"ph\":\"X\",\"cat\":\"cat %zu\",\"pid\":1,\"tid\":1,\"ts\":NaN,\"dur\":%zu}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"\\u00e9\\ud800 %zu\",\"pid\":1,\"tid\":\"t\\u0041 "
    "%zu\",\"ts\":1,\"dur\":-1}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"long\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":4611686018427000,\"args\":{"
    "\"v\":%zu}}",
    "{\"ph\":\"X\",\"pid\":\"CUDA functions\",\"tid\":1,\"name\":\"legacy\",\"ts\":%zu,\"dur\":%zu}",
    ("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c10d::allreduce_\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":1,\"args\":{"
     "\"Collective name\":\"allreduce\","
     "\"dtype\":\"Float\",\"In msg nelems\":%zu,\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\"}}"),
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream "
    "Sync\",\"pid\":0,\"tid\":7,\"ts\":%zu,\"dur\":1,\"args\":{\"stream\":7,\"correlation\":%zu}}",
    "{\"cat\":\"cpu_op\",\"v\":[%zu,%zu]}",
    "{\"cat\":\"cpu_op\",\"name\":\"no \"phase\"\",\"v\":[%zu,%zu]}",
    "{\"name\":\"C:\\t%zu\\\",\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":1}",
    ("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"d\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":1,\"args\":{\"p\":\"C:\\t\\\","
     "\"q\":[\"D:\\%zu\\\"]}}"),
    ("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":%zu,\"dur\":%zu,\"name\":\"no path:\\n\\\"}               "
     " "
     "                                                                                                                \"}"),
};

#define TRACE_BYTES 40000

/* @odd_in: one of so many events is odd. Some are pretty-printed, some end too early or are broken somewhere. */
static size_t make_trace(struct random *random, char *text, size_t odd_in)
{
    static const char *const betweens[] = { ",", ",\n", ",\n  ", " ,\t", ", " };
    const char *between = betweens[random_below(random, AP_COUNT_OF(betweens))];
    size_t bytes = (size_t)snprintf(text, TRACE_BYTES, "{\"traceEvents\":[{\"ph\":\"M\"}");
    while (bytes < TRACE_BYTES - 2000) {
        bool is_odd = odd_in && random_once_in(random, odd_in);
        const char *event =
            is_odd ? odd[random_below(random, AP_COUNT_OF(odd))] : usual[random_below(random, AP_COUNT_OF(usual))];
        bytes += (size_t)snprintf(text + bytes, TRACE_BYTES - bytes, "%s", between);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        bytes +=
            (size_t)snprintf(text + bytes, TRACE_BYTES - bytes, event, random_below(random, 50), random_below(random, 50));
#pragma GCC diagnostic pop
    }
    bytes += (size_t)snprintf(text + bytes, TRACE_BYTES - bytes, "],\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3}}");
    if (random_once_in(random, 4))
        return bytes - random_below(random, bytes / 2);
    if (random_once_in(random, 4))
        text[random_below(random, bytes)] = '!';
    return bytes;
}

static void made_up_traces_read_alike(void)
{
    static char text[TRACE_BYTES];
    struct random random = { 20261121 };
    bool alike = true;
    for (int i = 0; i < 120 && alike; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "made-up trace %d", i);
        size_t bytes = make_trace(&random, text, i % 3 == 0 ? 0 : (size_t)(i % 3 == 1 ? 100 : 8));
        alike = reads_alike(name, text, bytes, i & 1);
    }
    ok(alike, "traces with all kinds of events, whole, cut and broken, are the same");
}

static void two_arrays_read_alike(void)
{
    static char text[2 * TRACE_BYTES];
    struct random random = { 7 };
    size_t bytes = (size_t)snprintf(text, sizeof(text), "{\"traceEvents\":[{\"ph\":\"M\"}");
    for (int array = 0; array < 2; array++) {
        for (int i = 0; i < 80; i++) {
            text[bytes++] = ',';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, usual[random_below(&random, AP_COUNT_OF(usual))],
                                      random_below(&random, 9), random_below(&random, 9));
#pragma GCC diagnostic pop
        }
        bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, array ? "]}" : "],\"traceEvents\":[{\"ph\":\"M\"}");
    }
    ok(reads_alike("two arrays", text, bytes, false), "of two arrays of events the last one counts all the same");
}

static void memory_may_fail_anywhere(void)
{
    static char text[TRACE_BYTES];
    struct random random = { 3 };
    size_t bytes = make_trace(&random, text, 100);
    enum ap_status status = AP_ERROR_MEMORY;
    bool clean = true;
    int64_t fails = 0;
    for (; status == AP_ERROR_MEMORY && fails < 3000; fails++) {
        struct json_run run;
        struct ap_trace *trace = NULL;
        struct lender *lender = json_run_open(
            &run, text, bytes, &(struct reading){ .window_bytes = 400, .piece_bytes = 400, .lend = true, .ahead = true });
        atomic_store(&run.gate.fail_after, fails);
        status = ap_trace_read(run.json, &run.gate, &run.notes,
                               &(struct ap_trace_options){ .salvage = true, .threads = 2, .always_wait = true }, &trace,
                               &run.error);
        clean &= status == AP_OK || (!trace && run.error.message[0]);
        ap_trace_free(trace);
        clean &= json_run_close(&run, lender);
    }
    ok(status == AP_OK && fails > 20, "a refused allocation ends the reading, until all succeed");
    ok(clean, "and leaves nothing behind");
}

int main(int argc, char **argv)
{
    const char *fixtures = fixtures_folder(argc, argv);
    records_are_read_ahead(1);
    records_are_read_ahead(4);
    fixtures_read_alike(fixtures);
    made_up_traces_read_alike();
    two_arrays_read_alike();
    memory_may_fail_anywhere();
    return done();
}
