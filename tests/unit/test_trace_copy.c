/* SPDX-License-Identifier: MIT
 * test_trace_copy.c - a trace written again with tracks of our own: what is chosen, what becomes of oddities, and that the
 * reader of this project takes what was written without a warning. */
#include <stdlib.h>
#include <string.h>

#include "json_check.h"
#include "tap.h"
#include "text_sink.h"
#include "trace_copy.h"
#include "trace_run.h"

static struct ap_gate gate;

struct copy {
    struct ap_overlay overlay;
    struct ap_trace_copy_options options;
    struct text_sink text;
    enum ap_status status;
};

static void begin(struct copy *copy)
{
    memset(copy, 0, sizeof(*copy));
    ap_overlay_init(&copy->overlay, &gate);
    copy->options = (struct ap_trace_copy_options){ .gate = &gate, .overlay = &copy->overlay, .version = "1" };
}

static void end(struct copy *copy)
{
    ap_overlay_release(&copy->overlay);
    text_sink_release(&copy->text);
    is_u64(gate.used_bytes, 0, "all memory went back");
}

static void find(struct copy *copy, int64_t start_us, int64_t dur_us)
{
    const struct ap_overlay_word words[] = { { "rule_id", AP_TEXT("a\"\n\x80") } };
    if (ap_overlay_add(&copy->overlay, AP_OVERLAY_findings, start_us * 1000, dur_us * 1000, AP_TEXT("</script>\x1b[0m"),
                       words, 1, 1500, NULL) != AP_OK)
        abort();
}

/* Warnings that reading it gives; -1 where it is refused. */
static int64_t warnings_of(const struct text_sink *text)
{
    struct trace_run run;
    int64_t count = 0;
    trace_run_text(&run, text->data);
    for (int i = 0; i < AP_COUNTER_COUNT_; i++)
        if (run.json.notes.notes[i].count) {
            note(ap_counter_info((enum ap_counter)i)->code);
            count++;
        }
    if (run.status != AP_OK)
        count = -1;
    ok(trace_run_release(&run), "reading it gives all memory back");
    return count;
}

static void write_as(struct copy *copy, const char *document, size_t bytes, const struct reading *reading)
{
    struct json_run run;
    struct lender *lender = json_run_open(&run, document, bytes, reading);
    text_sink_release(&copy->text);
    copy->status = ap_trace_copy_write(&copy->options, run.json, &run.notes, text_sink_of(&copy->text), &run.error);
    ok(json_run_close(&run, lender), "the reader gives all memory back");
}

static void write(struct copy *copy, const char *document)
{
    write_as(copy, document, strlen(document), &(struct reading){ .lend = false });
    is_int(copy->status, AP_OK, "the trace is written");
    ok(json_is_valid(copy->text.data, copy->text.bytes), "it is strict JSON");
    is_int(warnings_of(&copy->text), 0, "and is read without a warning");
}

static void holds(const struct copy *copy, const char *part, const char *claim)
{
    if (!ok(strstr(copy->text.data, part) != NULL, claim)) {
        note(part);
        note(copy->text.data);
    }
}

static void holds_not(const struct copy *copy, const char *part, const char *claim)
{
    ok(strstr(copy->text.data, part) == NULL, claim);
}

#define TEN(text) text text text text text text text text text text
#define EVENT(name, ts, dur) \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", \"pid\": 1, \"tid\": 2, \"ts\": " ts ", \"dur\": " dur "}"
#define LABEL "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"main\"}}"

static void events_around_findings_are_copied_as_they_stand(void)
{
    struct copy copy;
    begin(&copy);
    find(&copy, 100000, 100);
    write(&copy, "{\"schemaVersion\": 1, \"other\": [1], \"deviceProperties\": [{\"id\": 0, \"name\": \"A\\u0041\", "
                 "\"deep\": [1, {\"a\": []}], "
                 "\"numSms\": \"x\"}, 5], \"traceEvents\": [" EVENT("far", "1.125", "2") ",\n " EVENT(
                     "near", "95000.001",
                     "0") ", " EVENT("long", "0",
                                     "1000000") ", " EVENT("behind", "105100.001",
                                                           "3") ", " LABEL ", "
                                                                "{\"ph\":\"s\",\"id\":1,\"ts\":100050,\"pid\":1,\"tid\":2,"
                                                                "\"cat\":\"ac2g\",\"name\":\"ac2g\"}, "
                                                                "{\"ph\":\"C\",\"name\":\"no place\",\"pid\":1}], "
                                                                "\"baseTimeNanoseconds\": 17, \"displayTimeUnit\": \"ms\", "
                                                                "\"with_stack\": [], \"schemaVersion\": 2}");
    holds(&copy, EVENT("near", "95000.001", "0"), "what ends within the margin, byte for byte");
    holds(&copy, EVENT("long", "0", "1000000"), "what spans the finding");
    holds(&copy, LABEL, "names of threads");
    holds(&copy, "\"ph\":\"s\"", "arrows");
    holds_not(&copy, "\"far\"", "what ends before the margin is left out");
    holds_not(&copy, "\"behind\"", "and what begins behind it");
    holds_not(&copy, "no place", "and what has no time");
    holds(&copy, "\"schemaVersion\": 1,", "the first of two members");
    holds(&copy, "\"deviceProperties\": [{\"id\":0,\"name\":\"AA\",\"deep\":[1,{\"a\":[]}]}]",
          "of the devices what is as the format says");
    holds(&copy, "\"baseTimeNanoseconds\": 17,\n\"displayTimeUnit\": \"ms\"", "members behind the events");
    holds_not(&copy, "with_stack", "but not of another type");
    holds(&copy, "\"selection\": \"events around the findings\", \"events_read\": 7, \"events_copied\": 4",
          "the file says what it is");
    holds(&copy,
          "\"cat\":\"analyze_profile\",\"name\":\"</"
          "script>\\u001b[0m\",\"ts\":100000,\"dur\":100,\"args\":{\"rule_id\":\"a\\\"\\n"
          "\xEF\xBF\xBD\",\"saves_us\":1.5}}",
          "the finding, with hostile bytes made harmless");
    copy.options.all = true;
    write(&copy, "{\"traceEvents\": [" EVENT("far", "1.125", "2") ", {\"ph\":\"C\",\"name\":\"no place\",\"pid\":1}]}");
    holds(&copy, "\"far\"", "all events where all are wanted");
    holds(&copy, "no place", "even those without a time");
    end(&copy);
}

static void oddities_are_written_strictly(void)
{
    static const char document[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\xff\x01\",\"pid\":1,\"tid\":\"t\xff\",\"ts\":1,\"dur\":2,\"args\":{"
        "\"x\":NaN,"
        "\"correlation\":NaN,\"External id\":5}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"dup\",\"name\":\"last\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f \"x.py\" g\",\"pid\":1,\"tid\":2,\"ts\":1.00049,\"dur\":1e1},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":[1],\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":7,\"pid\":null,\"tid\":2,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":{\"a\":1},\"tid\":2,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"negative\",\"ts\":1,\"dur\":-2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"no ts\",\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"text\",\"ts\":\"1\",\"dur\":2},"
        "{\"ph\":\"?\",\"name\":\"phase\",\"ts\":1},"
        "{\"name\":\"none\",\"ts\":1},7,[],{},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":1},"
        "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"open\",\"pid\":\"p\",\"tid\":2,\"ts\":3},"
        "{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"closed\",\"pid\":\"p\",\"tid\":2,\"ts\":4},"
        "{\"ph\":\"E\",\"pid\":\"p\",\"tid\":2,\"ts\":5},"
        "{\"ph\":\"i\",\"name\":\"deep\",\"ts\":9.5,\"args\":{\"bytes\":3,\"a\":" TEN(TEN("[")) "1" TEN(TEN("]")) "}},]";
    struct copy copy;
    begin(&copy);
    copy.options.all = true;
    write(&copy, document);
    holds(&copy,
          "\"name\":\"a\xEF\xBF\xBD\\u0001\",\"pid\":1,\"tid\":\"t\xEF\xBF\xBD\",\"ts\":1,\"dur\":2,\"args\":{\"External "
          "id\":5,"
          "\"correlation\":null}}",
          "broken bytes are replaced, NaN is null");
    holds(&copy, "\"name\":\"last\"", "the last of two equal keys");
    holds(&copy, "\"name\":\"f \\\"x.py\\\" g\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":10}",
          "quotation marks are escaped, times whole ns");
    holds(&copy, "\"name\":\"7\",\"pid\":null", "a name that is a number");
    holds(&copy, "\"name\":\"unknown\"", "a name that is missing");
    static const char *const broken[] = { "negative", "no ts", "\"text\"", "phase", "none" };
    for (size_t i = 0; i < AP_COUNT_OF(broken); i++)
        holds_not(&copy, broken[i], broken[i]);
    holds(&copy, "{\"ph\":\"E\",\"pid\":\"p\",\"tid\":2,\"ts\":9.5}", "what is open is ended");
    holds(&copy, "{\"ph\":\"i\",\"name\":\"deep\",\"ts\":9.5,\"args\":{\"bytes\":3}}", "deep nesting is left out");
    holds(&copy, "\"events_read\": 19, \"events_copied\": 10, \"events_rewritten\": 7, \"events_broken\": 9",
          "all is counted");
    end(&copy);
}

static void every_cut_gives_a_whole_document(void)
{
    static const char document[] =
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"distributedInfo\": {\"rank\": 1, \"x\": {\"y\": [1, "
        "{}], "
        "\"z\": " TEN(TEN("[")) TEN(TEN("]")) "}}, "
                                              "\"traceEvents\": [" EVENT("a", "1", "2") ", " EVENT(
                                                  "b", "3", "4") "], \"displayTimeUnit\": \"ms\"}";
    struct copy copy;
    int64_t broken = 0, last = 0;
    begin(&copy);
    find(&copy, 0, 5);
    for (size_t bytes = 0; bytes < sizeof(document); bytes++)
        for (int i = 0; i < 3; i++) {
            struct reading reading = { .piece_bytes = i ? (size_t)(2 * i) : 0, .lend = i == 2 };
            write_as(&copy, document, bytes, &reading);
            broken +=
                copy.status != AP_OK || !json_is_valid(copy.text.data, copy.text.bytes) || warnings_of(&copy.text) != 0;
        }
    is_int(broken, 0, "whatever the input was cut to");
    last += strstr(copy.text.data, EVENT("b", "3", "4")) != NULL;
    is_int(last, 1, "the whole one is copied whole");
    end(&copy);
}

static void limits_and_second_arrays(void)
{
    struct copy copy;
    begin(&copy);
    find(&copy, 0, 5);
    copy.options.limit_bytes = 200;
    write(&copy, "[" EVENT("one", "1", "2") "," EVENT("two", "1", "2") "," EVENT("three", "1",
                                                                                 "2") ",{\"ph\":\"s\",\"ts\":1}," LABEL "]");
    holds(&copy, "\"two\"", "up to the limit");
    holds_not(&copy, "\"three\"", "not beyond it");
    holds_not(&copy, "\"ph\":\"s\"", "nor smaller ones behind");
    holds(&copy, LABEL, "names of threads are kept");
    holds(&copy, "\"events_over_limit\": 2", "how many are left out is said");
    copy.options.limit_bytes = 0;
    copy.options.arrays_before = 1;
    write(&copy, "{\"traceEvents\":[" EVENT("one", "1", "2") "],\"traceEvents\":[" EVENT("two", "1", "2") "]}");
    holds(&copy, "\"two\"", "the last of two arrays");
    holds_not(&copy, "\"one\"", "alone");
    copy.text.limit_bytes = 0;
    copy.options.arrays_before = 0;
    text_sink_release(&copy.text);
    is_int(ap_trace_copy_write(&copy.options, NULL, NULL, text_sink_of(&copy.text), NULL), AP_OK, "without an input");
    ok(json_is_valid(copy.text.data, copy.text.bytes), "tracks alone are strict JSON");
    holds(&copy, "only the tracks of analyze_profile are here", "the file says so");
    holds(&copy, "\"name\":\"findings\"", "and has them");
    struct text_sink full = { .limit_bytes = 10 };
    struct ap_error error;
    is_int(ap_trace_copy_write(&copy.options, NULL, NULL, text_sink_of(&full), &error), AP_ERROR_OUTPUT,
           "a full disk is told");
    text_sink_release(&full);
    end(&copy);
}

static void without_findings_gaps_or_steps_are_shown(void)
{
    struct copy copy;
    begin(&copy);
    copy.overlay.end_ns = 1000000000;
    write(&copy, "[" EVENT("a", "1", "2") "]");
    holds(&copy, "\"selection\": \"events of the whole recording", "nothing has a place: all");
    if (ap_overlay_add(&copy.overlay, AP_OVERLAY_steps, 900000000, 5, AP_TEXT("s"), NULL, 0, -1, NULL) != AP_OK ||
        ap_overlay_add_everywhere(&copy.overlay, AP_OVERLAY_findings, AP_TEXT("f"), NULL, 0, -1, NULL) != AP_OK)
        abort();
    write(&copy, "[" EVENT("a", "1", "2") "]");
    holds(&copy, "\"selection\": \"events around the longest steps\", \"events_read\": 1, \"events_copied\": 0",
          "steps, then");
    for (int i = 0; i < 20; i++)
        if (ap_overlay_add(&copy.overlay, AP_OVERLAY_idle_causes, i * 20000000, i + 1, AP_TEXT("g"), NULL, 0, -1, NULL) !=
            AP_OK)
            abort();
    write(&copy, "[" EVENT("a", "1", "2") "," EVENT("b", "380000", "2") "," EVENT("c", "299999", "2") "]");
    holds(&copy, "around the longest gaps of the GPU\", \"events_read\": 3, \"events_copied\": 2",
          "the five longest gaps before them");
    end(&copy);
}

int main(void)
{
    ap_gate_init(&gate, 0);
    events_around_findings_are_copied_as_they_stand();
    oddities_are_written_strictly();
    every_cut_gives_a_whole_document();
    limits_and_second_arrays();
    without_findings_gaps_or_steps_are_shown();
    return done();
}
