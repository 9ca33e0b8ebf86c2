/* SPDX-License-Identifier: MIT
 * The trace reader: from JSON text to rows, tracks, categories and what the file says of itself; what is odd is counted,
 * what is no trace is named, what is cut is used as far as it goes.
 *     test_trace [FIXTURES] */
#include "decimal.h"
#include "event_text.h"
#include "file_list.h"
#include "random.h"
#include "tap.h"
#include "trace_run.h"

/* ------------------------------------------------------------------------------------------------------- counters */

/* An event, what it counts, and what becomes of it. */
struct odd_case {
    const char *event;
    enum ap_counter counter, also; /* both count once */
    size_t rows;
    const char *claim;
};
#define NONE AP_COUNTER_COUNT_

#define PLACE "\"pid\":1,\"tid\":1,"
static const struct odd_case odd_cases[] = {
    { "7", AP_COUNTER_event_not_object, NONE, 0, "an element that is no object" },
    { "{\"name\":\"a\"}", AP_COUNTER_phase_missing, NONE, 0, "no ph" },
    { "{\"ph\":7}", AP_COUNTER_phase_missing, NONE, 0, "a ph that is a number" },
    { "{\"ph\":\"\"}", AP_COUNTER_phase_missing, NONE, 0, "an empty ph" },
    { "{\"ph\":\"XX\"}", AP_COUNTER_phase_unknown, NONE, 0, "a ph of two letters" },
    { "{\"ph\":\"Q\"}", AP_COUNTER_phase_unknown, NONE, 0, "a ph that nobody defines" },
    { "{\"ph\":\"\xc3\xa9\"}", AP_COUNTER_phase_unknown, NONE, 0, "a ph that is no ASCII" },
    { "{\"ph\":\"\xff\"}", AP_COUNTER_phase_unknown, AP_COUNTER_bad_utf8, 0, "a ph that is no UTF-8" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"dur\":1}", AP_COUNTER_ts_missing, NONE, 1, "no ts" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":null,\"dur\":1}", AP_COUNTER_ts_not_number, NONE, 1,
      "a ts that is null" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":\"5\",\"dur\":1}", AP_COUNTER_ts_not_number, NONE, 1,
      "a ts in quotation marks" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":NaN,\"dur\":1}", AP_COUNTER_ts_not_number,
      AP_COUNTER_nonfinite, 1, "a ts that is NaN" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1}", AP_COUNTER_dur_missing, NONE, 0, "no dur" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":[]}", AP_COUNTER_dur_not_number, NONE, 0,
      "a dur that is an array" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":Infinity}", AP_COUNTER_dur_not_number,
      AP_COUNTER_nonfinite, 0, "an infinite dur" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":-1}", AP_COUNTER_dur_negative, NONE, 1,
      "a negative dur" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1.0005,\"dur\":1.25}", AP_COUNTER_time_rounded, NONE,
      1, "a ts finer than nanoseconds" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1e300}", AP_COUNTER_time_out_of_range, NONE,
      0, "a dur beyond range" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":-1e300,\"dur\":1}", AP_COUNTER_time_out_of_range,
      NONE, 1, "a ts beyond range" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":4611686018427387,\"dur\":4611686018427387}",
      AP_COUNTER_time_out_of_range, NONE, 1, "an end beyond range" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_name_missing, NONE, 1, "no name" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":null," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_name_not_text, NONE, 1,
      "a name that is null" },
    { "{\"ph\":\"X\",\"cat\":[],\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_category_not_text,
      AP_COUNTER_category_missing, 1, "a cat that is an array" },
    { "{\"ph\":\"X\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_category_missing, NONE, 1, "no cat" },
    { "{\"ph\":\"X\",\"cat\":\"\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_category_missing, NONE, 1,
      "an empty cat" },
    { "{\"ph\":\"X\",\"cat\":\"brand new\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_category_unknown, NONE,
      1, "a cat of the future" },
    { "{\"ph\":\"E\"," PLACE "\"ts\":1}", AP_COUNTER_end_without_begin, NONE, 0, "an E without B" },
    { "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1}", AP_COUNTER_begin_without_end, NONE, 0,
      "a B without E" },
    { "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1},{\"ph\":\"E\"," PLACE "\"ts\":\"2\"}",
      AP_COUNTER_ts_not_number, NONE, 0, "an E whose ts is a text" },
    { "{\"ph\":\"X\",\"ph\":\"M\"}", AP_COUNTER_duplicate_key, NONE, 0, "a key twice" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\\ud800\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_bad_utf8, NONE, 1,
      "half a surrogate pair in a name" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\tb\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_raw_control, NONE, 1,
      "a raw tab in a name" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\"y\"," PLACE "\"ts\":1,\"dur\":1}", AP_COUNTER_unescaped_quote, NONE, 1,
      "a quotation mark in a name" },
    { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"args\":{\"v\":NaN}," PLACE "\"ts\":1,\"dur\":1}",
      AP_COUNTER_nonfinite, NONE, 1, "NaN among args" },
};

/* These two count once, nothing else does. */
static bool counts_only(const struct trace_run *run, enum ap_counter counter, enum ap_counter also)
{
    bool only = true;
    for (int i = 0; i < AP_COUNTER_COUNT_; i++) {
        uint64_t want = i == (int)counter || i == (int)also, got = run->json.notes.notes[i].count;
        if (got != want)
            printf("#   %s: %llu, not %llu\n", ap_counter_info((enum ap_counter)i)->code, (unsigned long long)got,
                   (unsigned long long)want);
        only &= got == want;
    }
    return only;
}

static void oddities_are_counted_and_survived(void)
{
    static const char good[] = "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"good\"," PLACE "\"ts\":1,\"dur\":1}";
    for (size_t i = 0; i < AP_COUNT_OF(odd_cases); i++) {
        struct text_log text = { .data = NULL };
        struct trace_run run;
        char claim[200];
        log_format(&text, "{\"traceEvents\":[%s,%s,%s]}", good, odd_cases[i].event, good);
        trace_run_text(&run, text.data);
        const struct ap_note *note = &run.json.notes.notes[odd_cases[i].counter];
        bool counted =
            run.status == AP_OK && run.trace->complete && counts_only(&run, odd_cases[i].counter, odd_cases[i].also);
        counted = counted && note->has_offset && note->first_offset_bytes >= strlen(good) &&
                  note->first_offset_bytes < text.bytes - strlen(good);
        (void)snprintf(claim, sizeof(claim), "%s is counted, with its place", odd_cases[i].claim);
        ok(counted, claim);
        (void)snprintf(claim, sizeof(claim), "%s: %zu of 1 become rows, the others stay", odd_cases[i].claim,
                       odd_cases[i].rows);
        is_u64(run.trace ? run.trace->events.count : 0, 2 + odd_cases[i].rows, claim);
        ok(trace_run_release(&run), "all memory comes back");
        log_release(&text);
    }
}

static void what_is_not_known_is_no_zero(void)
{
    struct trace_run run;
    trace_run_text(
        &run,
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":\"x\",\"dur\":5},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"m\"," PLACE "\"ts\":5,\"dur\":5,\"args\":{\"bytes\":\"many\"}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"m\"," PLACE "\"ts\":5,\"dur\":5,\"args\":{\"bytes\":\"4096\"}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"m\"," PLACE "\"ts\":5,\"dur\":5,\"args\":{\"bytes\":-1}},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"m\"," PLACE "\"ts\":5,\"dur\":5}]");
    is_int(run.trace->events.start_ns[0], AP_START_UNKNOWN, "a start that is not known stays unknown");
    is_int(run.trace->events.dur_ns[0], 5000, "while its duration counts");
    ok(run.trace->window_start_ns == 5000 && run.trace->window_end_ns == 10000, "and the window is that of the others");
    ok(ap_row_bytes(run.trace, 1) == -1 && ap_row_bytes(run.trace, 3) == -1 && ap_row_bytes(run.trace, 4) == -1,
       "bytes of a copy that are no number, negative or missing are unknown");
    is_int(ap_row_bytes(run.trace, 2), 4096, "written as text they are read");
    is_int(run.trace->rank, -1, "a rank that the file does not tell is unknown");
    ok(!run.trace->base_time_ns.id && !run.trace->backend.id, "so are base time and backend");
    (void)trace_run_release(&run);
}

static void names_of_any_kind(void)
{
    static const char *const names[][2] = {
        { "null", "None" },
        { "true", "True" },
        { "false", "False" },
        { "12.50", "12.50" },
        { "[1, 2]", "[1, 2]" },
        { "{\"a\":1}", "{\"a\":1}" },
        { "[\"\xff\"]", "[\"\xef\xbf\xbd\"]" },
        { "\"\"", "" },
        { "\"a\\u0000b\"", "a" },
        { "\"\\u00e9\"", "\xc3\xa9" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(names); i++) {
        struct text_log text = { .data = NULL };
        struct trace_run run;
        log_format(&text, "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":%s," PLACE "\"ts\":1,\"dur\":1}]", names[i][0]);
        trace_run_text(&run, text.data);
        struct ap_text name = trace_run_name(&run, 0);
        if (strstr(names[i][0], "u0000"))
            ok(name.bytes == 3 && memcmp(name.data, "a\0b", 3) == 0, "a NUL in a name is data");
        else
            is_text(name, names[i][1], names[i][0]);
        (void)trace_run_release(&run);
        log_release(&text);
    }
}

/* ---------------------------------------------------------------------------------------------------------- times */

static void times_keep_every_digit(void)
{
    struct trace_run run;
    trace_run_text(&run,
                   "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1719322847123456.789,\"dur\":0.001},"
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1719322847123457,\"dur\":1e3}]");
    const struct ap_events *events = &run.trace->events;
    is_int(events->start_ns[0], INT64_C(1719322847123456789), "a ts of 19 digits");
    is_int(events->dur_ns[0], 1, "a dur of one nanosecond");
    is_int(events->dur_ns[1], 1000000, "an exponent");
    is_int(run.trace->window_all_end_ns, INT64_C(1719322847123457000) + 1000000, "the window ends with the last end");
    (void)trace_run_release(&run);
    trace_run_text(&run, "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":5,\"dur\":1},"
                         "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":-0.5,\"dur\":-0}]");
    is_int(run.trace->events.start_ns[1], -500, "a negative ts");
    is_int(run.trace->events.dur_ns[1], 0, "minus zero is zero, not negative");
    is_u64(trace_run_count(&run, AP_COUNTER_dur_negative), 0, "and not counted as such");
    is_int(run.trace->window_all_start_ns, -500, "the window begins with the first row in time, not in the file");
    (void)trace_run_release(&run);
}

static void the_profilers_own_span_is_left_out_of_the_window(void)
{
    struct trace_run run;
    trace_run_text(&run,
                   "[{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\"," PLACE "\"ts\":0,\"dur\":100},"
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":10,\"dur\":20},"
                   "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":40},{\"ph\":\"E\"," PLACE "\"ts\":50}]");
    ok(run.trace->window_all_start_ns == 0 && run.trace->window_all_end_ns == 100000,
       "the original's window holds all X rows");
    ok(run.trace->window_start_ns == 10000 && run.trace->window_end_ns == 50000,
       "ours leaves out the profiler's span and has B with E");
    (void)trace_run_release(&run);
}

/* --------------------------------------------------------------------------------------------------- begin and end */

static void pairs_become_rows(void)
{
    struct trace_run run;
    trace_run_text(&run, "["
                         "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":10},"
                         "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":11},"
                         "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":12},"
                         "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":15},"
                         "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":16},"
                         "{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"again\",\"pid\":1,\"tid\":1,\"ts\":17},"
                         "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":18},"
                         "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":30}]");
    static const struct {
        const char *name;
        int64_t start_ns, dur_ns;
    } want[] = { { "inner", 12000, 3000 }, { "other", 11000, 5000 }, { "again", 17000, 1000 }, { "outer", 10000, 20000 } };
    is_u64(run.trace->events.count, AP_COUNT_OF(want), "four pairs are four rows");
    for (size_t i = 0; i < AP_COUNT_OF(want) && i < run.trace->events.count; i++) {
        is_text(trace_run_name(&run, i), want[i].name, "an E ends the innermost B of its thread");
        ok(run.trace->events.start_ns[i] == want[i].start_ns && run.trace->events.dur_ns[i] == want[i].dur_ns,
           "from B to E");
        ok(!(run.trace->events.tag[i] & (AP_ROW_X | AP_ROW_CPU_CATEGORY)), "but is no X event, also of a cpu category");
    }
    ok(counts_only(&run, NONE, NONE), "nothing is odd in that");
    is_u64(run.trace->ph_counts['B'], 4, "B events are counted");
    (void)trace_run_release(&run);
}

static void an_end_before_its_begin_is_negative(void)
{
    struct trace_run run;
    trace_run_text(&run,
                   "[{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":10},{\"ph\":\"E\"," PLACE "\"ts\":4},"
                   "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"b\"," PLACE "\"ts\":-4611686018427387},"
                   "{\"ph\":\"E\"," PLACE "\"ts\":4611686018427387}]");
    is_int(run.trace->events.dur_ns[0], -6000, "its duration is negative, as written");
    is_u64(trace_run_count(&run, AP_COUNTER_dur_negative), 1, "and counted");
    is_int(run.trace->events.dur_ns[1], INT64_C(9223372036854774000), "the longest pair there can be");
    (void)trace_run_release(&run);
}

static void many_open_begins(void)
{
    struct text_log text = { .data = NULL };
    struct trace_run run;
    log_format(&text, "[");
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 6000; i++) /* deep on three threads, twice closed */
            log_format(&text, "{\"ph\":\"%s\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":%d,\"ts\":%d},",
                       round == 1 ? "E" : "B", i % 3, round * 6000 + i);
    log_format(&text, "{\"ph\":\"M\"}]");
    trace_run_text(&run, text.data);
    is_u64(run.trace->events.count, 6000, "6,000 pairs that nest 2,000 deep");
    is_u64(trace_run_count(&run, AP_COUNTER_begin_without_end), 6000, "6,000 more stay open");
    ok(trace_run_release(&run), "all memory comes back");
    log_release(&text);
}

/* --------------------------------------------------------------------------------------------------------- tracks */

static void a_track_is_a_pair_of_ids(void)
{
    struct trace_run run;
    trace_run_text(
        &run,
        "["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":18446744073709551615,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":18446744073709551614,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":\"Spans\",\"tid\":\"PyTorch \\u00e9\",\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":\"S\\u0070ans\",\"tid\":\"PyTorch "
        "\xc3\xa9\",\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":null,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":12,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":11,\"tid\":2,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":NaN,\"tid\":{\"a\":\"\xff\"},\"ts\":1,\"dur\":1},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":11,\"tid\":2,\"args\":{\"name\":\"first\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":11,\"tid\":2,\"args\":{\"name\":\"thread \\u00e9\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":11,\"tid\":2,\"args\":{\"name\":7}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":11,\"tid\":2,\"args\":{\"name\":\"no\"}}]");
    static const uint32_t want[] = { 0, 1, 2, 2, 3, 3, 4, 5, 6 };
    bool same = run.trace->events.count == AP_COUNT_OF(want);
    for (size_t i = 0; i < AP_COUNT_OF(want) && same; i++)
        same = run.trace->events.track[i] == want[i];
    ok(same, "ids are told apart by every digit and letter, however they are written");
    const struct ap_track *tracks = run.trace->tracks;
    is_text(ap_trace_id_text(run.trace, tracks[0].tid), "18446744073709551615", "an id of 2^64-1 keeps every digit");
    ok(tracks[2].pid_is_text && tracks[2].tid_is_text && !tracks[0].pid_is_text, "text and numbers stay what they are");
    ok(!tracks[3].pid.id && !tracks[3].tid.id, "missing ids and null are no ids");
    ok(tracks[6].pid_is_text && tracks[6].tid_is_text, "what strict JSON does not know becomes text");
    is_text(ap_trace_id_text(run.trace, tracks[6].tid), "{\"a\":\"\xef\xbf\xbd\"}", "of valid UTF-8");
    is_text(ap_trace_text(run.trace, ap_track_name(run.trace, &tracks[5]).id), "thread \xc3\xa9",
            "the last name of a thread counts");
    (void)trace_run_release(&run);
}

static void a_gpu_row_knows_its_device(void)
{
    struct trace_run run;
    trace_run_text(
        &run,
        "["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":9,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"device\":2}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":3,\"tid\":7,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":\"4\",\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"device\":"
        "\"5\"}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":\"GPU\",\"tid\":7,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"k\",\"pid\":6,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"device\":"
        "2}}]");
    static const int64_t want[] = { 2, 3, 5, 0, -1 };
    for (size_t i = 0; i < AP_COUNT_OF(want); i++)
        is_int(ap_track_device(run.trace, &run.trace->tracks[i]), want[i],
               "by its argument, else by its pid; rows that are no GPU work have none");
    (void)trace_run_release(&run);
}

#define KERNEL_OF(pid, device)                                     \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":" pid \
    ",\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"device\":" device "}}"

static void devices_under_one_pid_are_kept_apart(void)
{
    struct trace_run run;
    trace_run_text(&run, "[" KERNEL_OF("9", "2") "," KERNEL_OF("9", "3") "," KERNEL_OF("9", "2") "," KERNEL_OF(
                             "9", "3") "," KERNEL_OF("8", "3") "]");
    const struct ap_trace *trace = run.trace;
    static const uint32_t want[] = { 0, 1, 0, 1, 2 };
    is_u64(trace->track_count, 3, "each device of a pid and tid is a track");
    for (size_t i = 0; i < AP_COUNT_OF(want); i++)
        is_int(trace->events.track[i], want[i], "the same for all rows of a device");
    is_int(ap_track_device(trace, &trace->tracks[1]), 3, "of that device");
    ok(trace->tracks[1].pid.id == trace->tracks[0].pid.id && trace->tracks[1].tid.id == trace->tracks[0].tid.id,
       "with the ids as written");
    (void)trace_run_release(&run);
}

/* Numbers that a track has no room for are kept beside the tracks. */
static void devices_may_have_any_number(void)
{
    struct trace_run run;
    trace_run_text(&run,
                   "[" KERNEL_OF("1", "2147483647") "," KERNEL_OF("1", "2147483648") "," KERNEL_OF(
                       "1", "9000000000000000000") "," KERNEL_OF("1", "2147483648") "," KERNEL_OF("2", "5000000000") "]");
    static const int64_t want[] = { 2147483647, 2147483648, INT64_C(9000000000000000000), 2147483648, 5000000000 };
    is_u64(run.trace->track_count, 4, "a track for each device of a pid and tid");
    for (size_t i = 0; i < AP_COUNT_OF(want); i++)
        is_int(ap_row_device(run.trace, (uint32_t)i), want[i], "each row is of its device");
    ok(trace_run_release(&run), "all memory is given back");
}

#define THREADS 1000

static void each_thread_is_found_again(void)
{
    static char text[2 * THREADS * 64];
    size_t used = (size_t)snprintf(text, sizeof(text), "[");
    struct trace_run run;
    for (unsigned i = 0; i < 2 * THREADS; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%s{\"ph\":\"X\",\"name\":\"a\",\"pid\":%u,\"tid\":%u,\"ts\":%u,\"dur\":1}", i ? "," : "",
                                 i % THREADS % 10, i % THREADS / 10, i);
    (void)snprintf(text + used, sizeof(text) - used, "]");
    trace_run_text(&run, text);
    is_u64(run.trace->track_count, THREADS, "as many tracks as threads");
    bool found = true;
    for (uint32_t i = 0; i < THREADS; i++)
        found = found && run.trace->events.track[i] == i && run.trace->events.track[i + THREADS] == i;
    ok(found, "each one is found again");
    ok(trace_run_release(&run), "all memory is given back");
}

static void a_missing_id_is_as_an_empty_one(void)
{
    struct trace_run run;
    trace_run_text(&run, "[{\"ph\":\"X\",\"name\":\"a\",\"tid\":7,\"ts\":1,\"dur\":1},"
                         "{\"ph\":\"X\",\"name\":\"a\",\"pid\":\"\",\"tid\":7,\"ts\":2,\"dur\":1},"
                         "{\"ph\":\"X\",\"name\":\"a\",\"pid\":7,\"ts\":3,\"dur\":1}]");
    static const uint32_t want[] = { 0, 0, 1 };
    for (size_t i = 0; i < AP_COUNT_OF(want); i++)
        is_u64(run.trace->events.track[i], want[i], "nobody tells them apart; which of both lacks does");
    ok(trace_run_release(&run), "all memory is given back");
}

/* ------------------------------------------------------------------------------------------------------- categories */

static const char *const spellings[] = {
#define AP_CATEGORY(spelling, kind) spelling,
#include "event_kind.def"
};

static void categories_of_all_years(void)
{
    static const struct {
        const char *category;
        enum ap_event_kind kind;
    } cases[] = {
        { "cpu_op", AP_KIND_operator },
        { "Operator", AP_KIND_operator },
        { "OPERATOR", AP_KIND_operator },
        { "user_annotation", AP_KIND_annotation },
        { "gpu_user_annotation", AP_KIND_gpu_annotation },
        { "python_function", AP_KIND_python },
        { "cuda_runtime", AP_KIND_runtime },
        { "cuda_driver", AP_KIND_runtime },
        { "hip_runtime", AP_KIND_runtime },
        { "Runtime", AP_KIND_runtime },
        { "newchip_runtime", AP_KIND_runtime },
        { "newchip_driver", AP_KIND_runtime },
        { "kernel", AP_KIND_kernel },
        { "Kernel", AP_KIND_kernel },
        { "gpu_memcpy", AP_KIND_memcpy },
        { "Memcpy", AP_KIND_memcpy },
        { "gpu_memset", AP_KIND_memset },
        { "Memset", AP_KIND_memset },
        { "cuda_sync", AP_KIND_gpu_sync },
        { "overhead", AP_KIND_overhead },
        { "Trace", AP_KIND_span },
        { "ac2g", AP_KIND_flow },
        { "fee", AP_KIND_python },
        { "py-spy", AP_KIND_python },
        { "speedscope", AP_KIND_python },
        { "osrt", AP_KIND_os_call },
        { "disabled-by-default-devtools.timeline", AP_KIND_operator },
        { "devtools.timeline,v8", AP_KIND_operator },
        { "v8.compile", AP_KIND_operator },
        { "v8x", AP_KIND_unknown },
        { "cc,toplevel", AP_KIND_operator },
        { "devtools.timelines", AP_KIND_unknown },
        { "mtia_ccp_events", AP_KIND_accelerator },
        { "cpu_instant_event", AP_KIND_instant },
        { "cpu_op2", AP_KIND_unknown },
        { "kernels", AP_KIND_unknown },
        { "runtime_", AP_KIND_unknown },
        { "\xc3\xa9", AP_KIND_unknown },
        { "operator", AP_KIND_operator },
        { "node", AP_KIND_engine },
        { "user", AP_KIND_annotation },
        { "session", AP_KIND_engine },
        { "pl_profile", AP_KIND_annotation },
        { "pl_module", AP_KIND_annotation },
        { "module", AP_KIND_annotation },
        { "python", AP_KIND_python },
        { "runtime", AP_KIND_runtime },
        { "hip_driver", AP_KIND_runtime },
        { "mtia_runtime", AP_KIND_runtime },
        { "xpu_runtime", AP_KIND_runtime },
        { "xpu_driver", AP_KIND_runtime },
        { "glow_runtime", AP_KIND_runtime },
        { "privateuse1_runtime", AP_KIND_runtime },
        { "privateuse1_driver", AP_KIND_runtime },
        { "memcpy", AP_KIND_memcpy },
        { "memset", AP_KIND_memset },
        { "cuda_event", AP_KIND_gpu_sync },
        { "xpu_sync", AP_KIND_gpu_sync },
        { "cuda_profiler_range", AP_KIND_gpu_sync },
        { "mtia_insight", AP_KIND_accelerator },
        { "mtia_workloadd", AP_KIND_accelerator },
        { "hpu_op", AP_KIND_accelerator },
        { "collective_comm", AP_KIND_accelerator },
        { "mtia_counters", AP_KIND_instant },
        { "hardware_counters", AP_KIND_instant },
        { "xpu_scope_profiler", AP_KIND_instant },
        { "memory", AP_KIND_instant },
        { "async", AP_KIND_flow },
        { "async_cpu_to_gpu", AP_KIND_flow },
        { "async_gpu", AP_KIND_flow },
        { "cpu_to_cuda", AP_KIND_flow },
        { "fwdbwd", AP_KIND_flow },
        { "fwd_bwd", AP_KIND_flow },
        { "forward_backward", AP_KIND_flow },
        { "critical_path", AP_KIND_flow },
        { "external_correlation", AP_KIND_flow },
        { "trace", AP_KIND_span },
        { "analyze_profile", AP_KIND_span },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++)
        is_int(ap_event_kind_of(ap_text_of(cases[i].category)), cases[i].kind, cases[i].category);
    for (size_t i = 0; i < AP_COUNT_OF(spellings); i++) {
        char claim[80];
        size_t at = 0;
        while (at < AP_COUNT_OF(cases) && strcmp(cases[at].category, spellings[i]) != 0)
            at++;
        (void)snprintf(claim, sizeof(claim), "%s of event_kind.def has a row in categories_of_all_years()", spellings[i]);
        ok(at < AP_COUNT_OF(cases), claim);
    }
    for (int kind = 0; kind < AP_KIND_COUNT_; kind++)
        ok(ap_event_kind_name((enum ap_event_kind)kind)[0], "each kind has a name");
}

static void cpu_categories_are_the_originals(void)
{
    struct trace_run run;
    trace_run_text(&run, "["
                         "{\"ph\":\"X\",\"cat\":\"my CPU stuff\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1},"
                         "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1},"
                         "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1},"
                         "{\"ph\":\"X\",\"cat\":\"\\u0063pu_op\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1}]");
    const uint8_t *tag = run.trace->events.tag;
    ok(tag[0] & AP_ROW_CPU_CATEGORY && ap_row_kind(tag[0]) == AP_KIND_unknown,
       "a category that contains cpu in any case is one");
    ok(!(tag[1] & AP_ROW_CPU_CATEGORY) && ap_row_kind(tag[1]) == AP_KIND_operator, "an operator of 2021 is none");
    ok(tag[2] == tag[3] && ap_row_kind(tag[2]) == AP_KIND_operator, "escapes make no other category");
    is_u64(run.trace->category_count, 4, "there are three, and the place for none");
    (void)trace_run_release(&run);
}

static void many_categories_and_tracks(void)
{
    struct text_log text = { .data = NULL };
    struct trace_run run;
    log_format(&text, "[");
    for (unsigned i = 0; i < 3000; i++)
        log_format(&text, "%s{\"ph\":\"X\",\"cat\":\"c%u\",\"name\":\"n%u\",\"pid\":%u,\"tid\":\"t%u\",\"ts\":1,\"dur\":1}",
                   i ? "," : "", i % 1000, i, i % 7, i % 900);
    log_format(&text, "]");
    trace_run_text(&run, text.data);
    bool good = run.trace->category_count == 1001 && run.trace->events.count == 3000;
    for (size_t i = 1; i < run.trace->category_count; i++)
        good &= run.trace->categories[i].row_count == 3 && run.trace->categories[i].total_dur_ns == 3000;
    ok(good, "a thousand categories are a thousand categories");
    (void)trace_run_release(&run);
    log_release(&text);
}

static void the_legacy_exporter_is_known(void)
{
    struct trace_run run;
    trace_run_text(&run,
                   "[{\"name\":\"add\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"tid\":1,\"pid\":\"CPU functions\",\"args\":{}},"
                   "{\"name\":\"k\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"tid\":0,\"pid\":\"CUDA functions\",\"args\":{}}]");
    ok(run.trace->legacy_autograd, "rows without category whose pid tells their side");
    ok(ap_row_kind(run.trace->events.tag[0]) == AP_KIND_operator && ap_row_kind(run.trace->events.tag[1]) == AP_KIND_kernel,
       "are operators and kernels");
    ok(counts_only(&run, NONE, NONE), "and nothing is odd in that");
    (void)trace_run_release(&run);
}

/* ------------------------------------------------------------------------------------------------------- the document */

static void the_header_may_stand_anywhere(void)
{
    static const char header[] =
        "\"schemaVersion\":1,\"deviceProperties\":[{\"id\":3,\"name\":\"NVIDIA \\u0041100\",\"totalGlobalMem\":85051572224,"
        "\"numSms\":108,\"computeMajor\":8,\"computeMinor\":0,\"other\":[]},5],\"distributedInfo\":{\"backend\":\"nccl\","
        "\"rank\":3,\"world_size\":8,"
        "\"pg_config\":[{}]},\"record_shapes\":1,\"with_stack\":0,\"profile_memory\":true,\"with_flops\":false,\"with_"
        "modules\":1,"
        "\"baseTimeNanoseconds\":1719322847000000001,\"unknown\":{\"deep\":[[[]]]}";
    static const char events[] = "\"traceEvents\":[{\"ph\":\"M\"}]";
    for (int order = 0; order < 2; order++) {
        struct text_log text = { .data = NULL };
        struct trace_run run;
        log_format(&text, "{%s,%s}", order ? events : header, order ? header : events);
        trace_run_text(&run, text.data);
        const struct ap_trace *trace = run.trace;
        ok(trace->device_count == 1 && trace->devices[0].id == 3 && trace->devices[0].memory_bytes == INT64_C(85051572224) &&
               trace->devices[0].sm_count == 108 && trace->devices[0].compute_major == 8 &&
               trace->devices[0].compute_minor == 0,
           order ? "device properties behind the events" : "device properties before the events");
        is_text(ap_strpool_text(&trace->strings, trace->devices[0].name), "NVIDIA A100", "the device's name");
        ok(trace->rank == 3 && trace->world_size == 8, "rank and world size");
        is_text(ap_strpool_text(&trace->strings, trace->backend), "nccl", "backend");
        ok(trace->record_shapes && !trace->with_stack && trace->profile_memory && !trace->with_flops &&
               trace->with_modules && trace->has_schema_version,
           "flags written as numbers or words");
        is_text(ap_strpool_text(&trace->strings, trace->base_time_ns), "1719322847000000001",
                "the base time keeps every digit");
        is_u64(trace_run_count(&run, AP_COUNTER_member_type), 1, "a device that is no object is counted");
        (void)trace_run_release(&run);
        log_release(&text);
    }
}

static void header_members_of_another_type_are_counted(void)
{
    struct trace_run run;
    trace_run_text(&run, "{\"deviceProperties\":{},\"distributedInfo\":[{\"rank\":1}],\"record_shapes\":\"yes\","
                         "\"baseTimeNanoseconds\":\"1\","
                         "\"traceEvents\":[{\"ph\":\"M\"}]}");
    is_u64(trace_run_count(&run, AP_COUNTER_member_type), 4, "devices, distribution, a flag and the base time");
    ok(run.trace->rank == -1 && !run.trace->device_count && !run.trace->base_time_ns.id, "and are not recorded");
    (void)trace_run_release(&run);
    trace_run_text(
        &run, "{\"distributedInfo\":{\"rank\":1.5,\"world_size\":null,\"backend\":7},\"traceEvents\":[{\"ph\":\"M\"}]}");
    ok(trace_run_count(&run, AP_COUNTER_member_type) == 2 && run.trace->rank == -1 && run.trace->world_size == -1,
       "a rank that is no whole number is unknown; null is not odd");
    (void)trace_run_release(&run);
}

static void the_last_event_array_counts(void)
{
    struct trace_run run;
    trace_run_text(
        &run, "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1},"
              "{\"ph\":\"B\",\"name\":\"open\",\"cat\":\"cpu_op\"," PLACE "\"ts\":1},{\"ph\":\"i\",\"name\":\"[memory]\"}],"
              "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\"," PLACE
              "\"ts\":50,\"dur\":2},{\"ph\":\"E\"," PLACE "\"ts\":60}]}");
    is_u64(trace_run_count(&run, AP_COUNTER_two_event_arrays), 1, "a second array is counted");
    is_str(run.json.notes.notes[AP_COUNTER_two_event_arrays].detail, "3 events in the one before, 2 in the last",
           "with the size of both");
    ok(run.trace->event_count == 2 && run.trace->events.count == 1 && run.trace->ph_counts['X'] == 1,
       "the rows are those of the last");
    ok(run.trace->window_start_ns == 50000 && run.trace->window_end_ns == 52000, "so is the window");
    ok(!run.trace->work_detail_count && !run.trace->memory_event_count, "and everything else");
    is_u64(trace_run_count(&run, AP_COUNTER_end_without_begin), 1, "what was open in the first does not end in the second");
    (void)trace_run_release(&run);
}

static void other_documents_are_named(void)
{
    static const char *const cases[][2] = {
        { "{\"segments\":[{\"device\":0,\"total_size\":5}],\"device_traces\":[]}", "CUDA memory snapshot" },
        { "[{\"device\":0,\"address\":1,\"total_size\":5,\"segment_type\":\"large\",\"blocks\":[]}]",
          "CUDA memory snapshot" },
        { "{\"schema\":\"1.1\",\"pid\":1,\"nodes\":[{\"id\":1}]}", "execution trace" },
        { "[[0,0,[5,1],1],[1,1,[6,2],2]]", "memory timeline" },
        { "{\"Layers\":[\"a\"],\"Bindings\":[\"b\"]}", "trtexec" },
        { "[{\"count\":5},{\"name\":\"l\",\"timeMs\":1,\"averageMs\":2}]", "trtexec" },
        { "[{\"startComputeMs\":1,\"computeMs\":2}]", "trtexec" },
        { "{\"a\":1}", "without traceEvents" },
        { "{}", "without traceEvents" },
        { "[{\"a\":1}]", "no trace events" },
        { "7", "single value" },
        { "\"traceEvents\"", "single value" },
        { "{\"traceEvents\":{}}", "traceEvents is not an array" },
        { "{\"traceEvents\":null}", "traceEvents is not an array" },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct trace_run run;
        trace_run_text(&run, cases[i][0]);
        if (!ok(run.status == AP_ERROR_INPUT && strstr(run.json.error.message, cases[i][1]), cases[i][1]))
            printf("#   status %d: %s\n", (int)run.status, run.json.error.message);
        ok(!run.trace && trace_run_release(&run), "nothing is left behind");
    }
}

static void empty_traces_are_traces(void)
{
    static const char *const texts[] = { "{\"traceEvents\":[]}", "[]", "[\n]", "{\"traceEvents\":[{\"ph\":\"M\"}]}" };
    for (size_t i = 0; i < AP_COUNT_OF(texts); i++) {
        struct trace_run run;
        trace_run_text(&run, texts[i]);
        ok(run.status == AP_OK && run.trace->complete && run.trace->events.count == 0 && !run.trace->has_window, texts[i]);
        (void)trace_run_release(&run);
    }
}

static void large_events_are_left_out(void)
{
    struct text_log text = { .data = NULL };
    struct trace_run run;
    log_format(&text, "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\"," PLACE "\"ts\":1,\"dur\":1,\"args\":{\"stack\":\"");
    for (int i = 0; i < 50000; i++)
        log_format(&text, "/frame");
    log_format(&text, "\"}},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\"," PLACE "\"ts\":1,\"dur\":1}]");
    const struct reading reading = { .window_bytes = 512, .limits = { .token_bytes = 10000 } };
    trace_run_read(&run, text.data, text.bytes, &reading, false, AP_OK);
    ok(run.status == AP_OK && run.trace->events.count == 1 && run.trace->event_count == 2,
       "an event of 300 KB beyond the limit is left out alone");
    ok(counts_only(&run, AP_COUNTER_event_too_large, NONE), "and counted");
    (void)trace_run_release(&run);
    log_release(&text);
}

/* ----------------------------------------------------------------------------------------------------------- cuts */

/* A small trace, cut at every byte: what is read only grows, and nothing cut is complete. */
static void cuts_are_survived_at_every_byte(const char *text, bool array, const char *title, size_t window_bytes)
{
    size_t bytes = strlen(text), first_whole = (size_t)(strstr(text, "}}") - text) + 2;
    uint64_t events = 0;
    bool good = true;
    char claim[200];
    while (bytes && strchr(" \n", text[bytes - 1]))
        bytes--;
    for (size_t cut = 0; cut < bytes && good; cut++) {
        struct trace_run run;
        trace_run_read(&run, text, cut, &(struct reading){ .window_bytes = window_bytes }, false, AP_OK);
        if (run.status == AP_OK) {
            const struct ap_note *note = &run.json.notes.notes[AP_COUNTER_cut];
            bool only_bracket = strstr(note->detail, "only the closing bracket"),
                 after_event = strchr("},\n ", text[cut - 1]);
            good = run.trace->event_count >= events && !run.trace->complete && cut >= first_whole;
            good = good && note->count == 1 && note->first_offset_bytes <= cut && (!only_bracket || (array && after_event));
            events = run.trace->event_count;
        } else {
            good = run.status == AP_ERROR_CUT && cut < first_whole && events == 0 && run.json.error.has_offset &&
                   run.json.error.offset_bytes <= cut && run.json.error.message[0];
        }
        if (!good)
            printf("#   cut at %zu: status %d, %s\n", cut, (int)run.status, run.json.error.message);
        good &= trace_run_release(&run);
    }
    (void)snprintf(claim, sizeof(claim),
                   "%s cut at each of %zu bytes, window %zu: used as far as it goes, never as complete", title, bytes,
                   window_bytes);
    ok(good && events > 0, claim);
}

static void cuts_are_survived(void)
{
    static const char object[] = "{\"schemaVersion\": 1, \"traceEvents\": [\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", "
                                 "\"name\": \"a\\u00e9\", \"pid\": 1, "
                                 "\"tid\": 1, \"ts\": 1.5, \"dur\": 2, \"args\": {\"x\": [1, null]}},\n  {\"ph\": \"B\", "
                                 "\"name\": \"b\", \"pid\": 1, \"tid\": 1, \"ts\": 3, \"args\": {}},\n"
                                 "  {\"ph\": \"E\", \"pid\": 1, \"tid\": 1, \"ts\": 4}\n], \"record_shapes\": 1, "
                                 "\"distributedInfo\": {\"rank\": 1}}\n";
    static const char array[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{}},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"torch/"
        "\"b\".py\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},\n{\"ph\":\"M\"}]";
    static const size_t windows[] = { 0, 1, 7 };
    for (size_t i = 0; i < AP_COUNT_OF(windows); i++) {
        cuts_are_survived_at_every_byte(object, false, "an object", windows[i]);
        cuts_are_survived_at_every_byte(array, true, "an array", windows[i]);
    }
}

static void a_cut_container_is_a_cut(void)
{
    static const char text[] = "[{\"ph\":\"M\"},{\"ph\":\"M\"}]";
    struct trace_run run;
    trace_run_read(&run, text, sizeof(text) - 1, &(struct reading){ .window_bytes = 5 }, false, AP_ERROR_CUT);
    ok(run.status == AP_OK && !run.trace->complete && trace_run_count(&run, AP_COUNTER_cut) == 1,
       "a whole document in a compressed stream that ends too early is cut");
    (void)trace_run_release(&run);
    trace_run_read(&run, text, 12, &(struct reading){ .window_bytes = 5 }, false, AP_ERROR_CUT);
    ok(run.status == AP_OK && !run.trace->complete && trace_run_count(&run, AP_COUNTER_cut) == 1 &&
           !strstr(run.json.notes.notes[AP_COUNTER_cut].detail, "bracket"),
       "an array that it leaves unclosed lacks more than its bracket");
    (void)trace_run_release(&run);
}

static void broken_json_is_refused_or_salvaged(void)
{
    static const char text[] = "{\"traceEvents\":[{\"ph\":\"M\"},{\"ph\":\"M\"},{\"ph\":!}]}";
    struct trace_run run;
    trace_run_text(&run, text);
    ok(run.status == AP_ERROR_INPUT && run.json.error.has_offset && run.json.error.offset_bytes == 44 &&
           run.json.error.advice == AP_ADVICE_SALVAGE,
       "broken JSON is refused with its place and what to do");
    (void)trace_run_release(&run);
    trace_run_read(&run, text, sizeof(text) - 1, &(struct reading){ .lend = false }, true, AP_OK);
    ok(run.status == AP_OK && run.trace->event_count == 2 && !run.trace->complete &&
           trace_run_count(&run, AP_COUNTER_salvaged) == 1 && trace_run_count(&run, AP_COUNTER_cut) == 0,
       "with --salvage what comes before is used, and told");
    (void)trace_run_release(&run);
    trace_run_read(&run, "{\"traceEvents\":[!", 17, &(struct reading){ .lend = false }, true, AP_OK);
    is_int(run.status, AP_ERROR_INPUT, "where nothing comes before, it is refused all the same");
    (void)trace_run_release(&run);
}

/* ----------------------------------------------------------------------------------------------- same in every window */

static void fixtures_read_alike(const char *fixtures)
{
    static const size_t windows[] = { 0, 1, 3, 100, 5000 };
    char folder[1100];
    (void)snprintf(folder, sizeof(folder), "%s/traces", fixtures);
    struct file_list list = list_files(folder);
    bool alike = list.count > 10;
    size_t compared = 0;
    for (size_t i = 0; i < list.count && alike; i++) {
        const struct listed_file *file = &list.files[i];
        struct text_log want = { .data = NULL };
        if (file->data[0] == 0x1f || file->bytes > 100000)
            continue;
        compared++;
        for (unsigned set = 1; set <= ap_scan_count() && alike; set++)
            for (size_t w = 0; w < AP_COUNT_OF(windows) && alike; w++) {
                struct text_log got = { .data = NULL };
                struct trace_run run;
                const struct reading reading = {
                    .window_bytes = windows[w], .piece_bytes = windows[w], .scan_set = set, .lend = (w + set) & 1
                };
                trace_run_read(&run, file->data, file->bytes, &reading, false, AP_OK);
                log_format(&got, "status %d\n", (int)run.status);
                if (run.trace)
                    log_trace(&got, run.trace);
                log_notes(&got, &run.json.notes);
                if (!want.bytes)
                    log_bytes(&want, got.data, got.bytes);
                alike = log_same(&want, &got) && run.status == AP_OK && trace_run_release(&run);
                if (!alike) {
                    printf("#   %s, set %u, window %zu\n", file->name, set, windows[w]);
                    log_show_difference(&want, &got);
                }
                log_release(&got);
            }
        log_release(&want);
    }
    ok(alike && compared > 10, "every fixture is the same trace in every window and instruction set");
    release_files(&list);
}

static void memory_may_fail_anywhere(const char *fixtures)
{
    char path[1100];
    size_t bytes;
    (void)snprintf(path, sizeof(path), "%s/traces/odd_values.json", fixtures);
    uint8_t *text = read_whole_file(path, &bytes);
    enum ap_status status = AP_ERROR_MEMORY;
    bool clean = true;
    int64_t fails = 0;
    for (; status == AP_ERROR_MEMORY && fails < 2000; fails++) {
        struct ap_gate gate;
        struct ap_notes notes = { .notes = { { .count = 0 } } };
        struct ap_error error = { .status = AP_OK };
        struct ap_json_reader *json = NULL;
        struct ap_trace *trace = NULL;
        struct feed feed = feed_of(text, bytes, 0);
        ap_gate_init(&gate, 0);
        atomic_store(&gate.fail_after, fails);
        status = ap_json_reader_new(&gate, feed_source(&feed), &notes, &(struct ap_json_limits){ .window_bytes = 300 },
                                    &json, &error);
        if (status == AP_OK)
            status = ap_trace_read(json, &gate, &notes, NULL, &trace, &error);
        clean &= status == AP_OK || (!trace && error.message[0]);
        ap_trace_free(trace);
        ap_json_reader_free(json);
        clean &= atomic_load(&gate.used_bytes) == 0;
    }
    ok(status == AP_OK && fails > 20, "a refused allocation ends the reading, until all succeed");
    ok(clean, "and leaves nothing behind");
    free(text);
}

/* --------------------------------------------------------------------------------------------------------- details */

static bool signature_is(const struct trace_run *run, uint32_t row, const char *dims, const char *types)
{
    const struct ap_op_detail *op = ap_row_op(run->trace, row);
    struct ap_text got_dims, got_types;
    ap_trace_signature(run->trace, op ? op->signature : (struct ap_str){ 0 }, &got_dims, &got_types);
    return ap_text_is(got_dims, dims) && ap_text_is(got_types, types);
}

static void operators_tell_ids_and_shapes(void)
{
    struct trace_run run;
    trace_run_rows(&run, OP("a", 1, 1, 1,
                            "\"External id\":7,\"Sequence number\":3,\"Fwd thread id\":2,\"Input Dims\":[[4,8],[]],"
                            "\"Input type\":[\"float\",\"\"]") OP("b", 1, 2, 1, "\"Input Dims\":[[4, 8]]")
                             OP("c", 1, 3, 1, "") OP("d", 1, 4, 1, "\"external id\":7,\"Input type\":[\"float\"]")
                                 OP("e", 1, 5, 1, "\"External id\":null,\"Input Dims\":\"[]\",\"Fwd thread id\":1"));
    const struct ap_op_detail *a = ap_row_op(run.trace, 0), *d = ap_row_op(run.trace, 3);
    ok(a && a->external_id && a->sequence && a->external_id != a->sequence, "ids have keys");
    is_u64(a ? ap_op_forward_thread(run.trace, a) : 0, 2, "the forward's thread");
    ok(signature_is(&run, 0, "[[4,8],[]]", "[\"float\",\"\"]"), "shapes and types as written");
    ok(signature_is(&run, 1, "[[4, 8]]", ""), "shapes without types");
    ok(!ap_row_op(run.trace, 2), "a row that tells nothing has no detail");
    ok(d && a && d->external_id == a->external_id, "the spelling of 2021 has the same keys");
    ok(d && !d->signature.id, "types without shapes are no signature");
    ok(!ap_row_op(run.trace, 4), "values of another type tell nothing");
    ok(trace_run_release(&run), "all memory is given back");
}

/* Numbers beyond those that are their own keys, and what is no plain number. */
static void large_numbers_link_as_small_ones_do(void)
{
    static const char *const ids[] = {
        "2147483646",           "2147483647", "2147483648", "21474836470", "214748364",       "18446744073709551615",
        "18446744073709551616", "-1",         "\"-1x\"",    "\"7fff\"",    "\"02147483648\"", "\"21474836480\""
    };
    struct text_log text = { .data = NULL };
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < AP_COUNT_OF(ids); i++)
            log_format(&text, OP("a", 1, 1, 1, "\"External id\":%s"), ids[i]);
    struct trace_run run;
    trace_run_rows(&run, text.data);
    bool equal = run.trace && run.trace->events.count == 2 * AP_COUNT_OF(ids), different = equal;
    for (size_t i = 0; i < AP_COUNT_OF(ids) && equal; i++) {
        uint32_t key = ap_row_op(run.trace, (uint32_t)i)->external_id;
        equal = key && ap_row_op(run.trace, (uint32_t)(i + AP_COUNT_OF(ids)))->external_id == key;
        for (size_t other = 0; other < i; other++)
            different &= ap_row_op(run.trace, (uint32_t)other)->external_id != key;
    }
    ok(equal, "equal numbers have equal keys, however large");
    ok(different, "and different ones have different keys");
    ok(trace_run_release(&run), "all memory is given back");
    log_release(&text);
}

static void equal_signatures_are_one_text(void)
{
    struct trace_run run;
    trace_run_rows(&run, OP("a", 1, 1, 1, "\"Input Dims\":[[1]],\"Input type\":[\"int\"]")
                             OP("b", 1, 2, 1, "\"Input Dims\":[[1]],\"Input type\":[\"int\"]")
                                 OP("c", 1, 3, 1, "\"Input Dims\":[[1]],\"Input type\":[\"float\"]"));
    const struct ap_op_detail *a = ap_row_op(run.trace, 0), *b = ap_row_op(run.trace, 1), *c = ap_row_op(run.trace, 2);
    ok(a && b && c && a->signature.id == b->signature.id && a->signature.id != c->signature.id, "types tell them apart");
    ok(trace_run_release(&run), "all memory is given back");
}

static void work_tells_bytes_or_its_grid(void)
{
    struct trace_run run;
    trace_run_rows(&run, KERNEL("a", 7, 1, 1, "\"correlation\":4,\"blocks per SM\":1.5,\"est. achieved occupancy %\":25")
                             KERNEL("b", 7, 2, 1, "\"blocks per SM\":\"inf\",\"est. achieved occupancy %\":-1")
                                 KERNEL("c", 7, 3, 1, "\"blocks per SM\":Infinity") COPY("d", 7, 4, 1, "\"bytes\":4096")
                                     MEMSET("e", 7, 5, 1, "\"bytes\":\"256\"") COPY("f", 7, 6, 1, "\"bytes\":-4")
                                         KERNEL("g", 7, 7, 1, "\"blocks per SM\":1,\"est. achieved occupancy %\":0")
                                             KERNEL("h", 7, 8, 1, "\"blocks per SM\":0.1,\"est. achieved occupancy %\":0"));
    const struct ap_work_detail *a = ap_row_work(run.trace, 0), *b = ap_row_work(run.trace, 1),
                                *c = ap_row_work(run.trace, 2);
    ok(a && a->correlation && a->as.grid.blocks_per_sm > 1.49f && a->as.grid.blocks_per_sm < 1.51f,
       "blocks per multiprocessor");
    ok(a && a->as.grid.occupancy_ratio > 0.249f && a->as.grid.occupancy_ratio < 0.251f, "occupancy is a share");
    ok(!b, "\"inf\" in quotation marks is not told, nor is what is negative");
    ok(!c, "nor a bare Infinity");
    is_int(ap_row_bytes(run.trace, 3), 4096, "bytes of a copy");
    is_int(ap_row_bytes(run.trace, 4), 256, "of a memset, written as a text");
    is_int(ap_row_bytes(run.trace, 5), -1, "negative bytes are not told");
    const struct ap_work_detail *g = ap_row_work(run.trace, 6), *h = ap_row_work(run.trace, 7);
    ok(g && g->as.grid.occupancy_ratio < 0, "a block on each multiprocessor occupies something: the estimate failed");
    ok(h && h->as.grid.occupancy_ratio == 0, "few blocks may round to nothing");
    ok(trace_run_release(&run), "all memory is given back");
}

/* However many digits they have: a part of the spellings has a way of its own. */
static void figures_of_any_spelling(void)
{
    static const struct {
        const char *text;
        double figure;
    } cases[] = {
        { "0", 0 },
        { "3", 3 },
        { "12345678", 12345678 },
        { "123456789", 123456789 },
        { "1.5", 1.5 },
        { "0.25", 0.25 },
        { "12.5", 12.5 },
        { "0.462963", 0.462963 },
        { "0.4629634", 0.462963 },
        { "9.999999", 9.999999 },
        { "0.000001", 1e-6 },
        { "1e2", 100 },
        { "1.5e1", 15 },
        { "-1", -1 },
        { "-0.5", -1 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct trace_run run;
        char row[300];
        (void)snprintf(row, sizeof(row),
                       "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,"
                       "\"args\":{\"blocks per SM\":%s}}]",
                       cases[i].text);
        trace_run_text(&run, row);
        const struct ap_work_detail *work = ap_row_work(run.trace, 0);
        /* of a kernel that tells nothing no details are kept */
        ok((work ? work->as.grid.blocks_per_sm : -1) == (float)cases[i].figure, cases[i].text);
        ok(trace_run_release(&run), "all memory is given back");
    }
}

static void waits_tell_streams(void)
{
    struct trace_run run;
    trace_run_rows(&run, EVENT("cuda_sync", "Context Sync", 0, -1, 1, 1, "\"stream\":4294967295,\"correlation\":5")
                             EVENT("cuda_sync", "Stream Wait Event", 0, 7, 2, 1,
                                   "\"stream\":7,\"wait_on_stream\":13,\"wait_on_cuda_event_record_corr_id\":44")
                                 EVENT("cuda_sync", "Event Sync", 0, 7, 3, 1,
                                       "\"stream\":-1,\"wait_on_cuda_event_record_corr_id\":-1"));
    const struct ap_sync_detail *a = ap_row_sync(run.trace, 0), *b = ap_row_sync(run.trace, 1),
                                *c = ap_row_sync(run.trace, 2);
    ok(a && a->stream == -1 && a->wait_on_stream == -1 && a->correlation, "-1 in 32 bits without sign is no stream");
    ok(b && b->stream == 7 && b->wait_on_stream == 13 && b->record_correlation, "which stream waits for which");
    ok(c && c->stream == -1 && !c->record_correlation && !c->correlation, "-1 is no record");
    ok(trace_run_release(&run), "all memory is given back");
}

#define ALLREDUCE_ARGS                                                                                         \
    "\"Collective name\":\"allreduce\",\"In msg nelems\":100,\"Out msg nelems\":200,\"Group "                  \
    "size\":8,\"dtype\":\"BFloat16\","                                                                         \
    "\"Process Group Name\":\"0\",\"Process Group Description\":\"default_pg\",\"Process Group Ranks\":\"[0, " \
    "1]\",\"Seq\":3"

static bool str_is(const struct trace_run *run, struct ap_str str, const char *want)
{
    return ap_text_is(ap_strpool_text(&run->trace->strings, str), want);
}

static void collectives_tell_size_and_group(void)
{
    struct trace_run run;
    trace_run_rows(&run, OP("none", 1, 1, 1, "\"dtype\":\"Float\"") OP("record_param_comms", 1, 2, 1, ALLREDUCE_ARGS)
                             KERNEL("ncclDevKernel_Generic", 7, 3, 1, ALLREDUCE_ARGS ",\"correlation\":4")
                                 OP("record_param_comms", 1, 4, 1, "\"Collective name\":\"barrier\""));
    const struct ap_collective *op = ap_row_collective(run.trace, 1), *bare = ap_row_collective(run.trace, 3);
    ok(!ap_row_collective(run.trace, 0), "without a collective's name there is none");
    ok(op && op->in_elements == 100 && op->out_elements == 200 && op->group_size == 8, "numbers");
    ok(op && str_is(&run, op->name, "allreduce") && str_is(&run, op->dtype, "BFloat16") &&
           str_is(&run, op->group_name, "0") && str_is(&run, op->group_description, "default_pg") &&
           str_is(&run, op->group_ranks, "[0, 1]"),
       "and texts");
    ok(ap_trace_collective_sequence(run.trace, 0) == 3 && ap_trace_collective_sequence(run.trace, 2) == -1,
       "the number of the call");
    ok(op == ap_row_collective(run.trace, 2), "what is said twice is kept once");
    ok(ap_row_collective(run.trace, 2) && ap_row_work(run.trace, 2), "a kernel tells of both");
    ok(bare && bare->in_elements == -1 && bare->group_size == -1 && !bare->dtype.id, "what is missing is not told");
    ok(trace_run_release(&run), "all memory is given back");
}

static void memory_instants_tell_sizes(void)
{
#define MEMORY(name, args) \
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":5.5,\"args\":{" args "}},"
#define MEMORY_2021                                                                                              \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":\"2\",\"ts\":7,\"args\":{\"Device Type\":0,\"Device " \
    "Id\":-1,\"Bytes\":-8}}"
    struct trace_run run;
    trace_run_text(
        &run, "[" MEMORY("[memory]", "\"Total Reserved\":4096,\"Total Allocated\":1536,\"Bytes\":512,"
                                     "\"Addr\":137125018206208,\"Device Id\":3,\"Device Type\":1,\"Ev Idx\":9")
                  MEMORY("[OutOfMemory]", "\"Total Reserved\":1,\"Total Allocated\":2,\"Bytes\":3,\"Device Id\":0,"
                                          "\"Device Type\":1")
                      MEMORY("[memory]", "\"Bytes\":\"many\",\"Total Allocated\":-5,\"Device Type\":1000,\"Addr\":-1")
                          MEMORY("[memory]", "\"Bytes\":9223372036854775807,\"Total Reserved\":1e30,\"Device Id\":40000,"
                                             "\"Addr\":18446744073709551615") "{\"ph\":\"i\",\"name\":\"[memory]\",\"args\":"
                                                                              "{\"Bytes\":1}}," MEMORY_2021 "]");
    const struct ap_memory_event *told = run.trace->memory_instants;
    if (is_u64(run.trace->memory_instant_count, 5, "those placed in time are kept")) {
        ok(told->start_ns == 5500 && told->bytes == 512 && told->total_allocated_bytes == 1536 &&
               told->total_reserved_bytes == 4096 && told->address == 137125018206208 && told->device_type == 1 &&
               told->device_id == 3 && !told->out_of_memory,
           "all that an instant tells");
        ok(told[1].out_of_memory && told[1].bytes == 3 && told[1].total_allocated_bytes == 2, "a request that failed");
        ok(told[2].bytes == 0 && told[2].total_allocated_bytes == -1 && told[2].device_type == -1 &&
               told[2].device_id == -1 && told[2].address == UINT64_MAX,
           "what is no size and no device is not told");
        ok(told[3].bytes == 0 && told[3].total_reserved_bytes == -1 && told[3].device_id == -1 &&
               told[3].address == UINT64_MAX,
           "nor is what no device can hold");
        ok(told[4].bytes == -8 && told[4].total_allocated_bytes == -1 && told[4].address == 0 &&
               told[4].track == told->track,
           "the form of 2021, on the same thread");
    }
    is_u64(run.trace->memory_event_count, 5, "[memory] instants are counted, placed or not");
    is_u64(trace_run_count(&run, AP_COUNTER_ts_missing), 1, "and what lacks a time is noted");
    ok(trace_run_release(&run), "all memory is given back");
    trace_run_text(
        &run, "{\"traceEvents\":[" MEMORY("[memory]", "\"Bytes\":1") "{\"ph\":\"M\"}],\"traceEvents\":[{\"ph\":\"M\"}]}");
    is_u64(run.trace->memory_instant_count, 0, "a second array drops those of the first");
    ok(trace_run_release(&run), "all memory is given back");
}

/* Lightning hands the training step to the optimizer; LBFGS calls it again and again. */
static void an_update_begins_behind_the_closure_that_it_calls(void)
{
    struct trace_run run;
    trace_run_rows(
        &run, ANNOTATION("Optimizer.step#A.step", 1, 10, 90, "") OP("aten::linear", 1, 20, 10, "")
                  OP("autograd::engine::evaluate_function: AddmmBackward0", 1, 40, 20, "")
                      OP("aten::linalg_vector_norm", 1, 62, 3, "") OP("aten::_fused_adamw_", 1, 70, 20, "")
                          OP("aten::linear", 2, 80, 15, "") ANNOTATION("Optimizer.step#B.step", 1, 200, 90, "")
                              ANNOTATION("Optimizer.step#C.step", 1, 220, 60, "") OP("aten::linear", 1, 230, 10, "")
                                  OP("aten::mm", 1, 250, 10, "") ANNOTATION("Optimizer.step#D.step", 1, 300, 50, "")
                                      OP("aten::linalg_vector_norm", 1, 310, 10, "") OP("aten::linear", 1, 345, 10, ""));
    static const struct {
        size_t row;
        int64_t start_ns, dur_ns;
        const char *claim;
    } want[] = {
        { 0, 65000, 35000, "forward, backward and clipping are the closure's; another thread's work is none of it" },
        { 6, 240000, 50000, "an optimizer that calls another one" },
        { 7, 240000, 40000, "with that one" },
        { 10, 300000, 50000, "norms without a closure are the optimizer's; what reaches over its end is not within it" }
    };
    for (size_t i = 0; i < AP_COUNT_OF(want); i++)
        ok(run.trace->events.start_ns[want[i].row] == want[i].start_ns &&
               run.trace->events.dur_ns[want[i].row] == want[i].dur_ns,
           want[i].claim);
    is_u64(run.json.notes.notes[AP_COUNTER_closure].count, 3, "it is said of how many rows");
    (void)trace_run_release(&run);
}

static void a_second_event_array_begins_anew(void)
{
    struct trace_run run;
    trace_run_text(
        &run, "{\"traceEvents\":[{\"ph\":\"M\"}" OP("old", 1, 1, 1, "\"External id\":5,\"Input Dims\":[[1]]," ALLREDUCE_ARGS)
                  KERNEL("k", 7, 2, 1, "\"correlation\":4") CALL("c", 1, 2, 1, "\"correlation\":4,\"External id\":4")
                      EVENT("cuda_sync", "s", 0, 7, 2, 1, "\"stream\":7") "],\n\"traceEvents\":[{\"ph\":\"M\"}" OP(
                          "new", 1, 1, 1, "") OP("newer", 1, 2, 1, "\"External id\":6") "]}");
    if (ok(run.status == AP_OK && run.trace->events.count == 2, "only the rows of the last one stay")) {
        ok(!ap_row_op(run.trace, 0) && !ap_row_collective(run.trace, 0), "no row has a detail of a former one");
        ok(ap_row_op(run.trace, 1) && !ap_row_op(run.trace, 1)->signature.id, "and the new ones have theirs");
        is_u64(run.trace->calls_named_by_correlation + run.trace->collective_count + run.trace->work_detail_count, 0,
               "nothing of the former is counted");
    }
    ok(trace_run_release(&run), "all memory is given back");
}

static void work_that_says_the_same_is_kept_once(void)
{
    struct trace_run run;
    trace_run_text(&run,
                   "[{\"ph\":\"M\"}" KERNEL("k", 7, 1, 1, "\"External id\":7") KERNEL("l", 7, 2, 1, "\"External id\":7")
                       KERNEL("m", 7, 3, 1, "\"correlation\":4") KERNEL("n", 7, 4, 1, "\"stream\":7") "]");
    const struct ap_trace *trace = run.trace;
    if (ok(run.status == AP_OK && trace->events.count == 4, "four kernels")) {
        ok(ap_row_work(trace, 0) == ap_row_work(trace, 1), "of which two that follow one another tell the same");
        is_u64(ap_row_work(trace, 2)->correlation, 5, "a third one its call");
        ok(!ap_row_work(trace, 3), "and the last one nothing");
        is_u64(trace->work_detail_count, 2, "it is kept where it changes");
    }
    ok(trace_run_release(&run), "all memory is given back");
}

int main(int argc, char **argv)
{
    const char *fixtures = fixtures_folder(argc, argv);
    oddities_are_counted_and_survived();
    what_is_not_known_is_no_zero();
    names_of_any_kind();
    times_keep_every_digit();
    the_profilers_own_span_is_left_out_of_the_window();
    pairs_become_rows();
    an_end_before_its_begin_is_negative();
    many_open_begins();
    a_track_is_a_pair_of_ids();
    a_gpu_row_knows_its_device();
    devices_under_one_pid_are_kept_apart();
    devices_may_have_any_number();
    each_thread_is_found_again();
    a_missing_id_is_as_an_empty_one();
    categories_of_all_years();
    cpu_categories_are_the_originals();
    many_categories_and_tracks();
    the_legacy_exporter_is_known();
    the_header_may_stand_anywhere();
    header_members_of_another_type_are_counted();
    the_last_event_array_counts();
    operators_tell_ids_and_shapes();
    large_numbers_link_as_small_ones_do();
    equal_signatures_are_one_text();
    work_tells_bytes_or_its_grid();
    figures_of_any_spelling();
    waits_tell_streams();
    collectives_tell_size_and_group();
    memory_instants_tell_sizes();
    an_update_begins_behind_the_closure_that_it_calls();
    a_second_event_array_begins_anew();
    work_that_says_the_same_is_kept_once();
    other_documents_are_named();
    empty_traces_are_traces();
    large_events_are_left_out();
    cuts_are_survived();
    a_cut_container_is_a_cut();
    broken_json_is_refused_or_salvaged();
    fixtures_read_alike(fixtures);
    memory_may_fail_anywhere(fixtures);
    return done();
}
