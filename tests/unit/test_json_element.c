/* SPDX-License-Identifier: MIT
 * The element reader gives what the pull reader gives, member by member, whatever the layout; and what it alone does:
 * forgotten escapes, commas before the bracket, events that are too large. */
#include "random.h"
#include "element_log.h"
#include "tap.h"

static const size_t window_sizes[] = { 0, 1, 7, 64, 333, 4096 };

/* -------------------------------------------------------------------------------------------- against the pull reader */

static bool equals_slow(const struct text_log *text, const char *name)
{
    struct text_log want = { .data = NULL };
    bool same = true;
    (void)log_elements_slowly(&want, text->data, text->bytes);
    for (unsigned set = 1; set <= ap_scan_count() && same; set++)
        for (size_t i = 0; i < AP_COUNT_OF(window_sizes) && same; i++) {
            size_t window = window_sizes[i];
            struct reading reading = {
                .window_bytes = window, .piece_bytes = window, .scan_set = set, .lend = (i + set) & 1
            };
            struct text_log got = { .data = NULL };
            (void)log_elements(&got, text->data, text->bytes, &reading);
            same = log_same(&want, &got);
            if (!same) {
                printf("#   %s, %s, window %zu, %s\n", name, ap_scan_at(set - 1)->name, window,
                       reading.lend ? "lent" : "copied");
                log_show_difference(&want, &got);
            }
            log_release(&got);
        }
    log_release(&want);
    return same;
}

/* ---- random arrays of objects that mostly repeat a few layouts */

#define LAYOUTS 6
#define MEMBERS 14

struct layout {
    unsigned count, keys[MEMBERS], args_count, args_keys[MEMBERS];
    bool repeats; /* each element begins with ph and cat, of few values */
    const char *comma, *colon, *open, *close, *between;
};

static const char *const element_keys[] = {
    "ph", "cat",   "name", "pid",        "ts",          "dur", "args",
    "id", "other", "bp",   "na\\u006de", "na\\u0000me", "",    "a key of as many bytes as are remembered ......"
};
static const char *const args_keys[] = { "bytes",       "device", "name", "External id", "Input Dims",
                                         "by\\u0074es", "args",   "ph",   "grid",        "" };
static const char *const commas[] = { ",", ", ", ",\n    ", " ,\r\n\t",
                                      ",                                                                       " };
static const char *const colons[] = { ":", ": ", " : ", ":\n" };
static const char *const opens[] = { "{", "{ ", "{\n  ", "{\t" };
static const char *const closes[] = { "}", " }", "\n  }" };
static const char *const betweens[] = { ",", ", ", ",\n  ", "\n, ", ",                        " };

#define PICK(random, list) (list)[random_below((random), AP_COUNT_OF(list))]

static struct layout random_layout(struct random *random)
{
    struct layout layout = { .comma = PICK(random, commas),
                             .colon = PICK(random, colons),
                             .open = PICK(random, opens),
                             .close = PICK(random, closes),
                             .between = PICK(random, betweens) };
    layout.repeats = random_once_in(random, 2);
    layout.count = (unsigned)random_below(random, MEMBERS);
    layout.args_count = (unsigned)random_below(random, 7);
    for (unsigned i = 0; i < layout.count; i++)
        layout.keys[i] = (unsigned)random_below(random, random_once_in(random, 8) ? AP_COUNT_OF(element_keys) : 9);
    for (unsigned i = 0; i < layout.args_count; i++)
        layout.args_keys[i] = (unsigned)random_below(random, AP_COUNT_OF(args_keys));
    return layout;
}

static void add_random_value(struct text_log *text, struct random *random, unsigned depth)
{
    static const char *const odd[] = { "null",
                                       "true",
                                       "false",
                                       "NaN",
                                       "-inf",
                                       "-Infinity",
                                       "[]",
                                       "{}",
                                       "-0",
                                       "0.5",
                                       "1e-7",
                                       "[1, [2, {\"a\": \"b\"}]]",
                                       "{\"name\": \"inner\", \"name\": 2}",
                                       "\"\"",
                                       "\"\\\"\"",
                                       "\"tab\\t and \\u00e9\"",
                                       "\"\x01 raw\"",
                                       "\"\xff broken\"",
                                       "\"\\ud800\"",
                                       "-12.5E+3",
                                       "\"a text of more than thirty-two bytes, to be sure\"",
                                       "123456789012345678901234567890123456789" };
    switch (random_below(random, depth ? 8 : 10)) {
    case 0:
    case 1:
    case 2:
        log_format(text, "%zu.%03zu", random_below(random, random_once_in(random, 9) ? 10 : 100000000),
                   random_below(random, 1000));
        break;
    case 3:
    case 4: log_format(text, "%zu", random_below(random, 100000)); break;
    case 5:
    case 6:
        log_format(text, "\"%.*s\"", (int)random_below(random, 40), "aten::convolution_backward_with_a_long_name");
        break;
    default: log_format(text, "%s", PICK(random, odd)); break;
    }
}

static void add_random_args(struct text_log *text, struct random *random, const struct layout *layout)
{
    if (random_once_in(random, 12)) {
        add_random_value(text, random, 1);
        return;
    }
    log_format(text, "%s", layout->open);
    for (unsigned i = 0; i < layout->args_count; i++) {
        log_format(text, "%s\"%s\"%s", i ? layout->comma : "", args_keys[layout->args_keys[i]], layout->colon);
        add_random_value(text, random, 1);
    }
    log_format(text, "%s", layout->close);
}

static void add_random_element(struct text_log *text, struct random *random, const struct layout *layout)
{
    static const char *const phases[] = { "X", "X", "s", "" }, *const categories[] = { "cpu_op", "kernel", "a\\\"b",
                                                                                       "\xc3\xa9" };
    log_format(text, "%s", layout->open);
    if (layout->repeats)
        log_format(text, "\"ph\"%s\"%s\"%s\"cat\"%s\"%s\"", layout->colon, PICK(random, phases), layout->comma,
                   layout->colon, PICK(random, categories));
    for (unsigned i = 0; i < layout->count; i++) {
        const char *key = element_keys[layout->keys[i]];
        log_format(text, "%s\"%s\"%s", i || layout->repeats ? layout->comma : "", key, layout->colon);
        if (strcmp(key, "args") == 0 || strcmp(key, "other") == 0)
            add_random_args(text, random, layout);
        else
            add_random_value(text, random, 0);
    }
    log_format(text, "%s", layout->close);
}

static struct text_log random_array(struct random *random)
{
    struct text_log text = { .data = NULL };
    struct layout layouts[LAYOUTS];
    size_t count = random_below(random, 40);
    for (unsigned i = 0; i < LAYOUTS; i++)
        layouts[i] = random_layout(random);
    log_format(&text, "%s[", random_once_in(random, 3) ? "\n" : "");
    for (size_t i = 0; i < count; i++) {
        const struct layout *layout = &layouts[random_below(random, random_once_in(random, 3) ? LAYOUTS : 2)];
        log_format(&text, "%s", i ? layout->between : "");
        if (random_once_in(random, 15))
            add_random_value(&text, random, 1);
        else
            add_random_element(&text, random, layout);
    }
    log_format(&text, "%s]%s", random_once_in(random, 3) ? " " : "", random_once_in(random, 3) ? "\n" : "");
    return text;
}

static void random_arrays_equal_the_pull_reader(void)
{
    struct random random = { 3 };
    bool same = true;
    for (int i = 0; i < 50 && same; i++) {
        struct text_log text = random_array(&random);
        same = equals_slow(&text, "random array");
        if (!same)
            tap_show("text", text.data, text.bytes);
        log_release(&text);
    }
    ok(same, "50 random arrays: equal to the pull reader, in any layout, window and set");
}

static void broken_arrays_fail_alike(void)
{
    struct random random = { 4 };
    bool same = true;
    for (int i = 0; i < 1500 && same; i++) {
        struct text_log text = random_array(&random), want = { .data = NULL }, got = { .data = NULL };
        size_t at = random_below(&random, text.bytes);
        if (random_once_in(&random, 2))
            text.bytes = at; /* cut */
        else
            text.data[at] = (char)random_next(&random);
        struct reading reading = { .window_bytes = window_sizes[random_below(&random, AP_COUNT_OF(window_sizes))],
                                   .scan_set = 1 + (unsigned)random_below(&random, ap_scan_count()) };
        (void)log_elements_slowly(&want, text.data, text.bytes);
        (void)log_elements(&got, text.data, text.bytes, &reading);
        same = log_same(&want, &got) || log_tells_of_forgiving(&got);
        if (!same) {
            log_show_difference(&want, &got);
            tap_show("text", text.data, text.bytes);
        }
        log_release(&text);
        log_release(&want);
        log_release(&got);
    }
    ok(same, "1,500 broken or cut arrays: the same elements before, the same failure at the same byte");
}

static void thousands_of_layouts(void)
{
    struct text_log text = { .data = NULL };
    log_format(&text, "[");
    for (unsigned i = 0; i < 2000; i++)
        log_format(&text, "%s{\"ph\":\"X\",\"k%u\":%u,\"name\":\"n%u\",\"args\":{\"a%u\":1,\"bytes\":%u},\"ts\":%u.5}",
                   i ? "," : "", i, i, i, i, i, i);
    log_format(&text, "]");
    ok(equals_slow(&text, "2,000 layouts"), "2,000 different layouts: the table is full and nothing changes");
    log_release(&text);
}

static void starts_in_turn(void)
{
    static const char *const starts[] = { "\"ph\":\"X\",\"cat\":\"cpu_op\"",
                                          "\"ph\":\"X\",\"cat\":\"kernel\"",
                                          "\"ph\":\"s\",\"cat\":\"kernel\"",
                                          "\"ph\":\"X\",\"cat\":\"cpu_op\\\"\"",
                                          "\"ph\":\"X\",\"cat\":\"cpu_op\\u0020\"",
                                          "\"ph\":\"X\",\"cat\":\"cpu_op\tb\"",
                                          "\"ph\":\"X\",\"cat\": \"cpu_op\"",
                                          "\"ph\":\"X\",\"ph\":\"X\"",
                                          "\"ph\":\"X\",\"cat\":5",
                                          "\"ph\":\"\",\"cat\":\"\"" };
    static const char *const ends[] = { "\"name\":\"n\"",         "\"ts\":1.5",       "\"ts\": 1.5", "\"ph\":\"Y\",\"ts\":2",
                                        "\"args\":{\"bytes\":3}", "\"cat\":\"again\"" };
    struct text_log text = { .data = NULL };
    struct random random = { 7 };
    log_format(&text, "[");
    for (unsigned i = 0; i < 1000; i++)
        log_format(&text, "%s{%s,%s}", i ? "," : "", PICK(&random, starts), PICK(&random, ends));
    log_format(&text, "]");
    ok(equals_slow(&text, "starts"), "starts that repeat, nearly repeat or repeat a key change nothing");
    log_release(&text);
}

static void many_layouts_in_turn(void)
{
    struct text_log text = { .data = NULL };
    struct random random = { 5 };
    log_format(&text, "[");
    for (unsigned i = 0; i < 600; i++) {
        log_format(&text, "%s{", i ? ",\n" : "");
        for (unsigned k = 0; k < 6; k++)
            log_format(&text, "%s%*s\"%s\":%zu", k ? "," : "", (int)random_below(&random, 30), "",
                       element_keys[random_below(&random, 9)], random_below(&random, 1000));
        log_format(&text, "}");
    }
    log_format(&text, "]");
    ok(equals_slow(&text, "white space"), "white space that differs in each element changes nothing");
    log_release(&text);
}

/* ------------------------------------------------------------------------------------------------- one text, one claim */

/* The log of @text, "outcome ... kind ..."; also compared with the pull reader where @alike. */
static struct text_log read_text(const char *text, bool alike)
{
    struct text_log log = { .data = NULL }, copy = { .data = NULL };
    log_format(&copy, "%s", text);
    (void)log_elements(&log, text, strlen(text), &(struct reading){ .window_bytes = 5 });
    if (alike)
        ok(equals_slow(&copy, text), "equal to the pull reader:");
    log_release(&copy);
    return log;
}

static void says(const char *text, bool alike, const char *want, const char *claim)
{
    struct text_log log = read_text(text, alike);
    is_str(log.data, want, claim);
    log_release(&log);
}

static void members_are_found_by_name(void)
{
    says("[{\"name\":\"a\",\"ph\":\"X\"}]", true, "outcome 0 at 1\n  0 kind 5 X\n  2 kind 5 a\nstatus 1\n",
         "keys in any order");
    says("[{\"n\\u0061me\":\"a\\n\"}]", true, "outcome 0 at 1\n  2 kind 5 a\n\nstatus 1\n",
         "a key written with escapes is the same key");
    says("[{\"na\\u0000me\":1,\"name\\u0000\":2,\"ph\":3}]", true, "outcome 0 at 1\n  0 kind 6 3\nstatus 1\n",
         "a key that holds NUL is another key");
    says("[{\"name\":1,\"x\":{\"name\":2,\"ph\":3}}]", true, "outcome 0 at 1\n  2 kind 6 1\nstatus 1\n",
         "members of other objects are not taken");
    says("[{\"args\":{\"ph\":1,\"bytes\":2},\"bytes\":3}]", true, "outcome 0 at 1\n  6 kind 6 2\nstatus 1\n",
         "a member object's members are found in it alone");
    says("[{\"other\":{\"bytes\":1,\"device\":9},\"args\":{\"device\":2}}]", true,
         "outcome 0 at 1\n  7 kind 6 2\n  9 kind 6 1\nstatus 1\n", "two member objects are told apart");
    says("[{},{ },[],1,\"{\",null]", true,
         "outcome 0 at 1\noutcome 0 at 4\noutcome 1 at 8\noutcome 1 at 11\noutcome 1 at 13\n"
         "outcome 1 at 17\nstatus 1\n",
         "an element that is no object is told and passed");
    says("[]", true, "status 1\n", "an empty array");
}

static void the_last_duplicate_counts(void)
{
    says("[{\"ph\":1,\"ph\":2}]", true, "outcome 0 at 1\n  0 kind 6 2\nstatus 1\nduplicate-key 1 first 0\n",
         "the last member of a name counts");
    says("[{\"args\":{\"bytes\":1,\"device\":4},\"args\":{\"bytes\":2}}]", true,
         "outcome 0 at 1\n  6 kind 6 2\nstatus 1\nduplicate-key 1 first 0\n", "the last member object counts as a whole");
    says("[{\"args\":{\"bytes\":1},\"args\":null}]", true, "outcome 0 at 1\nstatus 1\nduplicate-key 1 first 0\n",
         "also where the last one is no object");
    says("[{\"args\":[],\"args\":{\"bytes\":1}}]", true,
         "outcome 0 at 1\n  6 kind 6 1\nstatus 1\nduplicate-key 1 first 0\nmember-of-wrong-type 1 first 9\n",
         "or the first one is none");
    says("[{\"args\":{\"x\":1,\"x\":2,\"bytes\":1,\"bytes\":3}}]", true,
         "outcome 0 at 1\n  6 kind 6 3\nstatus 1\nduplicate-key 2 first 0\n", "within a member object too");
    says("[{\"x\":1,\"x\":1,\"x\":1},{\"x\":1,\"y\":2},{\"x\":1,\"x\":1}]", true,
         "outcome 0 at 1\noutcome 0 at 21\noutcome 0 at 35\nstatus 1\nduplicate-key 3 first 0\n",
         "duplicates of members that nobody wants are counted");
    says("[{\"args\":{},\"args\":{},\"ph\":1},{\"args\":{},\"args\":{},\"ph\":1}]", true,
         "outcome 0 at 1\n  0 kind 6 1\noutcome 0 at 30\n  0 kind 6 1\nstatus 1\nduplicate-key 2 first 0\n",
         "each time that a layout repeats them");
}

static void args_may_be_anything(void)
{
    says("[{\"args\":null,\"ph\":1},{\"ph\":1},{\"args\":[{\"bytes\":1}],\"ph\":1},{\"args\":\"{}\",\"ph\":1},{\"args\":{},"
         "\"ph\":1}]",
         true,
         "outcome 0 at 1\n  0 kind 6 1\noutcome 0 at 22\n  0 kind 6 1\noutcome 0 at 31\n  0 kind 6 1\n"
         "outcome 0 at 61\n  0 kind 6 1\noutcome 0 at 82\n  0 kind 6 1\nstatus 1\nmember-of-wrong-type 2 first 39\n",
         "args that are null, missing, an array, a text or empty");
}

/* What was learned from one event must not be believed of the next. */
static void layouts_that_nearly_repeat(void)
{
    says("[{\"ph\":1,\"ts\":5},{\"ph\": 1,\"ts\":  5},{\"ph\":\"a\",\"ts\":\n5}]", true,
         "outcome 0 at 1\n  0 kind 6 1\n  4 kind 6 5\noutcome 0 at 17\n  0 kind 6 1\n  4 kind 6 5\n"
         "outcome 0 at 36\n  0 kind 5 a\n  4 kind 6 5\nstatus 1\n",
         "more white space before a value than last time");
    says("[{\"args\":5,\"ph\":1},{\"args\":{\"bytes\":2},\"ph\":1},{\"args\":5,\"ph\":1},{\"args\":{\"bytes\":3},\"ph\":1}]",
         true,
         "outcome 0 at 1\n  0 kind 6 1\noutcome 0 at 19\n  0 kind 6 1\n  6 kind 6 2\noutcome 0 at 47\n  0 kind 6 1\n"
         "outcome 0 at 65\n  0 kind 6 1\n  6 kind 6 3\nstatus 1\nmember-of-wrong-type 2 first 9\n",
         "args that were a number and now are an object");
    says("[{\"ts\":92879398.212,\"ph\":1},{\"ts\":\"aten::co\",\"\":\"\",\"ph\":2},{\"ts\":1234567,\"ph\":3}]", true,
         "outcome 0 at 1\n  0 kind 6 1\n  4 kind 6 92879398.212\noutcome 0 at 28\n  0 kind 6 2\n  4 kind 5 aten::co\n"
         "outcome 0 at 59\n  0 kind 6 3\n  4 kind 6 1234567\nstatus 1\n",
         "a text whose quotation marks stand where a number had its point and end");
    says("[{\"ph\":\"\"},{\"ph\":\"\"},{\"ph\":\"ab\"},{\"ph\":12},{\"ph\":\"\"},{\"ph\":0},{\"ph\":01}]", true,
         "outcome 0 at 1\n  0 kind 5 \noutcome 0 at 11\n  0 kind 5 \noutcome 0 at 21\n  0 kind 5 ab\noutcome 0 at 33\n  0 "
         "kind 6 12\n"
         "outcome 0 at 43\n  0 kind 5 \noutcome 0 at 53\n  0 kind 6 0\nstatus 3 at 69\n",
         "texts and numbers in turn, empty, short, and one that begins with a needless zero");
    says("[{\"ph\":1},{\"ph\":1\xff\"a\"}]", true, "outcome 0 at 1\n  0 kind 6 1\nstatus 3 at 17\n",
         "a byte that stands nowhere in JSON is no gap");
}

/* A container that was read whole is known when it comes again: that must not hide a fault in one like it. */
static void containers_that_nearly_repeat(void)
{
    static const char *const values[] = {
        "[[4,8],[8,2]]",
        "[\"float\",\"float\"]",
        "{\"a\":[1],\"b\":{}}",
        "[[[[[[[[[[1]]]]]]]]]]",
        "[\"a text that is as long as what is remembered of one, no more.\"]",
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]",
    };
    for (size_t i = 0; i < AP_COUNT_OF(values); i++) {
        size_t bytes = strlen(values[i]);
        bool same = true;
        for (size_t at = 0; at < bytes && same; at++) {
            struct text_log text = { .data = NULL };
            char changed[80];
            memcpy(changed, values[i], bytes + 1);
            changed[at] = changed[at] == '[' ? '{' : changed[at] == ',' ? ']' : changed[at] == '"' ? '7' : ',';
            log_format(&text, "[{\"ph\":%s},{\"ph\":%s,\"args\":{\"bytes\":%s}},{\"ph\":%s},{\"ph\":%s}]", values[i],
                       values[i], values[i], changed, values[i]);
            same = equals_slow(&text, "containers");
            log_release(&text);
        }
        ok(same, values[i]);
    }
    says("[{\"ph\":[NaN]},{\"ph\":[NaN]},{\"ph\":[NaN]}]", true,
         "outcome 0 at 1\n  0 kind 2 [NaN]\noutcome 0 at 14\n  0 kind 2 [NaN]\noutcome 0 at 27\n  0 kind 2 [NaN]\n"
         "status 1\nnon-finite-number 3 first 8\n",
         "what is odd in a container is counted each time");
}

static void gaps_of_any_length(void)
{
    struct text_log text = { .data = NULL };
    log_format(&text, "[");
    for (unsigned i = 0; i < 20; i++)
        log_format(&text, "%s{\"name\"%*s:%*s\"a\",%*s\"%0*u\":1,\"ph\":\"X\"%*s}", i ? "," : "", (int)(i * 9), "",
                   (int)(60 + i % 3), "", (int)(i * 31), "", (int)(i * 8), i, (int)(i * 13), "");
    log_format(&text, "%*s]", 3000, "");
    ok(equals_slow(&text, "long gaps"), "gaps of more than 64 bytes");
    log_release(&text);
}

/* -------------------------------------------------------------------------------------------------- what it forgives */

static void paths_that_end_with_a_backslash_are_recovered(void)
{
    says("[{\"name\":\"C:\\a\\\",\"ph\":\"X\"},{\"ph\":\"Y\"}]", false,
         "outcome 0 at 1\n  0 kind 5 X\n  2 kind 5 C:\\a\\\noutcome 0 at 27\n  0 kind 5 Y\nstatus 1\n"
         "unescaped-backslash 1 first 12\nunescaped-path-end 1 first 14\n",
         "a Windows path that ends with a backslash");
    says("[{\"ph\":\"X\",\"args\":{\"x\":[\"C:\\t\\\"]}}]", false,
         "outcome 0 at 1\n  0 kind 5 X\nstatus 1\nunescaped-path-end 1 first 29\n",
         "and in args, at the end of a list, in the last event");
    says("[{\"ph\":\"c:\\n \\\", \\\"\"}]", true, "outcome 0 at 1\n  0 kind 5 c:\n \", \"\nstatus 1\n",
         "what is JSON is read as it is");
    says("[{\"ph\":\"c:\\\\\\\"}]", false, "status 4 at 16\n", "who escapes the first backslash escapes the last");
    says("[{\"name\":\"C:\\t\\\",\"ph\":\"X\",\"cat\":1}]", false,
         "outcome 0 at 1\n  0 kind 5 X\n  1 kind 6 1\n  2 kind 5 C:\\t\\\nstatus 1\nunescaped-path-end 1 first 14\n",
         "no member behind a name becomes part of it");
    says("[{\"name\":\"f(\\\"a\\\") \"b\"\",\"ph\":\"X\"}]", false,
         "outcome 0 at 1\n  0 kind 5 X\n  2 kind 5 f(\"a\") \"b\"\nstatus 1\nunescaped-quote 1 first 10\n",
         "a name with quotation marks of both kinds");
    says("[{\"x\":\"c:\\n\\\"} and so on", false, "status 4 at 24\nhaving forgiven something\n",
         "a cut within what looks like a path is a cut");
}

static void paths_may_be_cut_anywhere(void)
{
    static const char text[] =
        "[{\"name\":\"C:\\t\\\" , \"ph\":\"X\",\"args\":{\"x\":[\"D:\\b\\\" , \"E:\\\"]}} , {\"ph\":\"Y\"}]";
    bool cut = true;
    for (size_t bytes = 1; bytes < sizeof(text) - 1; bytes++) {
        struct text_log log = { .data = NULL };
        cut &= log_elements(&log, text, bytes, &(struct reading){ .window_bytes = 5 }) == AP_ERROR_CUT;
        log_release(&log);
    }
    ok(cut, "an array with such paths that is cut anywhere is cut");
}

static void paths_beside_deep_values(void)
{
    struct text_log text = { .data = NULL }, log = { .data = NULL };
    log_format(&text, "[{\"p\":\"C:\\t\\\",\"q\":");
    for (int i = 0; i < 20000; i++)
        log_format(&text, "[");
    (void)log_elements(&log, text.data, text.bytes, &(struct reading){ .window_bytes = 64 });
    is_str(log.data, "status 6 at 10018\nhaving forgiven something\n",
           "too deep a value behind such a path is refused as one, at its byte");
    log_release(&log);
    log_release(&text);
}

static void forgotten_escapes_are_recovered(void)
{
    says("[{\"name\":\"torch/\"a\".py\",\"ph\":\"X\"}]", false,
         "outcome 0 at 1\n  0 kind 5 X\n  2 kind 5 torch/\"a\".py\nstatus 1\nunescaped-quote 1 first 10\n",
         "quotation marks that were not escaped in a name");
    says("[{\"name\":\"a\"\"b\",\"ph\":\"X\"},{\"name\":\"c\",\"ph\":\"X\"}]", false,
         "outcome 0 at 1\n  0 kind 5 X\n  2 kind 5 a\"\"b\noutcome 0 at 26\n  0 kind 5 X\n  2 kind 5 c\nstatus "
         "1\nunescaped-quote 1 first 10\n",
         "and the next event is read as usual");
    says("[{\"n\\u0061me\":\"a\"b\",\"ph\":\"X\"}]", false,
         "outcome 0 at 1\n  0 kind 5 X\n  2 kind 5 a\"b\nstatus 1\nunescaped-quote 1 first 15\n",
         "whose key was written with escapes as well");
    says("[{\"cat\":\"a\"b\",\"ph\":\"X\"}]", false, "status 3 at 11\n", "not in other members");
    says("[{\"x\":\"a\"b\",\"ph\":\"X\"}]", false, "status 3 at 9\n", "nor in members that nobody wants");
    says("[{\"args\":{\"name\":\"a\"b\"},\"ph\":\"X\"}]", false, "status 3 at 20\n", "nor within args");
    says("[{\"name\":\"a\"b\n\",\"ph\":\"X\"}]", false, "status 3 at 12\n", "nor across lines");
    says("[{\"name\":\"a\"b", false, "status 4 at 13\n", "a cut in such a name is a cut");
    struct text_log far = { .data = NULL };
    log_format(&far, "[{\"name\":\"a\"b");
    for (int i = 0; i < 20000; i++)
        log_format(&far, "c");
    log_format(&far, "\",\"ph\":\"X\"}]");
    struct text_log log = { .data = NULL };
    is_int(log_elements(&log, far.data, far.bytes, &(struct reading){ .window_bytes = 64 }), AP_ERROR_INPUT,
           "its true end is not looked for without end");
    log_release(&log);
    log_release(&far);
}

static void a_comma_before_the_bracket(void)
{
    says("[{\"ph\":1},]", false, "outcome 0 at 1\n  0 kind 6 1\nstatus 1\ntrailing-comma 1 first 10\n",
         "a comma after the last object is accepted and counted");
    says("[{\"ph\":1} , \n ]", false, "outcome 0 at 1\n  0 kind 6 1\nstatus 1\ntrailing-comma 1 first 14\n",
         "with white space too");
    says("[1,]", true, "outcome 1 at 1\nstatus 3 at 3\n", "not after another element");
    says("[,]", true, "status 3 at 1\n", "nor without any");
    says("[{\"ph\":1},,{}]", true, "outcome 0 at 1\n  0 kind 6 1\nstatus 3 at 10\n", "nor twice");
    says("[{\"ph\":1}{}]", true, "outcome 0 at 1\n  0 kind 6 1\nstatus 3 at 9\n", "a missing comma is an error");
}

/* What stands between two elements, of the array before. */
static void an_array_may_not_begin_with_a_comma(void)
{
    static const char text[] = "[[{\"ph\":1},{\"ph\":2}],[,{\"ph\":3}]]";
    struct json_run run;
    struct ap_json_token token;
    struct ap_json_span spans[RECORD_LOG_FIELDS + 1];
    struct ap_element_reader *element = NULL;
    enum ap_element_outcome outcome;
    uint64_t offset_bytes;
    struct lender *lender = json_run_open(&run, text, strlen(text), &(struct reading){ .window_bytes = 64 });
    enum ap_status status = ap_json_next(run.json, &token, &run.error);
    if (status == AP_OK)
        status = ap_element_reader_new(run.json, element_log_fields, RECORD_LOG_FIELDS, &element, &run.error);
    for (int array = 0; array < 2 && status == AP_OK; array++) {
        status = ap_json_next_element(run.json, &token, &run.error);
        while (status == AP_OK)
            status = ap_element_next(element, spans, &outcome, &offset_bytes, &run.error);
        if (status == AP_END && array == 0)
            status = AP_OK;
    }
    is_int(status, AP_ERROR_INPUT, "a comma at the beginning of an array is an error, whatever stood in the last one");
    ap_element_reader_free(element);
    (void)json_run_close(&run, lender);
}

/* The next element into @spans, all but the last of which are as they were left: how many fields it has. */
static unsigned fields_of_next(struct ap_element_reader *element, struct ap_json_span *spans)
{
    enum ap_element_outcome outcome;
    uint64_t offset_bytes;
    unsigned count = 0;
    if (ap_element_next(element, spans, &outcome, &offset_bytes, NULL) != AP_OK)
        return 0;
    for (unsigned i = 0; i < RECORD_LOG_FIELDS; i++)
        count += spans[i].kind != AP_SPAN_ABSENT;
    return count;
}

/* Into two arrays of spans in turn; and into one that somebody else has used between two arrays. */
static void nothing_is_left_of_other_elements(void)
{
    static const char text[] = "[[{\"ph\":1,\"id\":2},{\"ph\":3},{\"ph\":4,\"id\":5},{\"ph\":6},{\"ph\":7}],[{\"ph\":8}]]";
    static const unsigned want[] = { 2, 1, 2, 1, 1 };
    struct json_run run;
    struct ap_json_token token;
    struct ap_json_span spans[2][RECORD_LOG_FIELDS + 1] = { { { .kind = 0 } } };
    struct ap_element_reader *element = NULL;
    bool right = true;
    struct lender *lender = json_run_open(&run, text, strlen(text), &(struct reading){ .window_bytes = 4096 });
    if (ap_json_next(run.json, &token, &run.error) != AP_OK || ap_json_next(run.json, &token, &run.error) != AP_OK ||
        ap_element_reader_new(run.json, element_log_fields, RECORD_LOG_FIELDS, &element, &run.error) != AP_OK)
        abort();
    for (unsigned i = 0; i < AP_COUNT_OF(want); i++)
        right &= fields_of_next(element, spans[i / 2 % 2]) == want[i];
    ok(right, "an element into other spans than the one before has its own values alone");
    (void)fields_of_next(element, spans[0]); /* the end of the array */
    memset(spans, 0, sizeof(spans));
    if (ap_json_next_element(run.json, &token, &run.error) != AP_OK)
        abort();
    is_int(fields_of_next(element, spans[0]), 1, "so has the first one of another array, whatever its spans held");
    ap_element_reader_free(element);
    (void)json_run_close(&run, lender);
}

/* Where a cut falls: between two elements, or in one. */
static void a_cut_between_elements_is_known(void)
{
    static const char text[] = "[{\"ph\":1}, {\"ph\":2},\n";
    /* One letter for the first so many bytes of the text: b = between elements, c = within one. */
    static const char want[] = "bcccccccbbbcccccccbbb";
    char got[sizeof(text)] = "";
    for (size_t bytes = 1; bytes <= sizeof(text) - 1; bytes++) {
        struct json_run run;
        struct ap_json_token token;
        struct ap_json_span spans[RECORD_LOG_FIELDS + 1];
        struct ap_element_reader *element = NULL;
        enum ap_element_outcome outcome;
        uint64_t offset_bytes;
        struct lender *lender = json_run_open(&run, text, bytes, &(struct reading){ .window_bytes = 4 });
        enum ap_status status = ap_json_next(run.json, &token, &run.error);
        if (status == AP_OK)
            status = ap_element_reader_new(run.json, element_log_fields, RECORD_LOG_FIELDS, &element, &run.error);
        while (status == AP_OK)
            status = ap_element_next(element, spans, &outcome, &offset_bytes, &run.error);
        got[bytes - 1] = status != AP_ERROR_CUT ? '!' : ap_element_at_boundary(element) ? 'b' : 'c';
        ap_element_reader_free(element);
        (void)json_run_close(&run, lender);
    }
    is_str(got, want, "a cut between two elements is told from one within an element");
}

static void large_events_are_passed(void)
{
    const struct ap_json_limits limits = { .token_bytes = 2000 };
    struct text_log text = { .data = NULL }, log = { .data = NULL };
    log_format(&text, "[{\"ph\":\"a\"},{\"ph\":\"b\",\"stack\":\"");
    for (int i = 0; i < 20000; i++)
        log_format(&text, "/frame");
    log_format(&text, "\"},{\"ph\":\"c\"}]");
    (void)log_elements(&log, text.data, text.bytes, &(struct reading){ .window_bytes = 64, .limits = limits });
    is_str(log.data, "outcome 0 at 1\n  0 kind 5 a\noutcome 2 at 12\noutcome 0 at 120034\n  0 kind 5 c\nstatus 1\n",
           "an event larger than token_bytes is passed, told and alone in that");
    log_clear(&log);
    struct json_run run;
    struct lender *lender =
        json_run_open(&run, text.data, text.bytes, &(struct reading){ .window_bytes = 64, .limits = limits });
    struct ap_json_span spans[RECORD_LOG_FIELDS + 1];
    struct ap_json_token token;
    struct ap_element_reader *element = NULL;
    enum ap_status status = ap_json_next(run.json, &token, &run.error);
    uint64_t before = 0, offset_bytes;
    if (status == AP_OK)
        status = ap_element_reader_new(run.json, element_log_fields, RECORD_LOG_FIELDS, &element, &run.error);
    before = atomic_load(&run.gate.used_bytes);
    while (status == AP_OK) {
        enum ap_element_outcome outcome;
        status = ap_element_next(element, spans, &outcome, &offset_bytes, &run.error);
    }
    ok(atomic_load(&run.gate.peak_bytes) - before < 5 * limits.token_bytes,
       "without keeping more than a few times token_bytes");
    ap_element_reader_free(element);
    (void)json_run_close(&run, lender);
    log_release(&log);
    log_release(&text);
}

static enum ap_status nested_status(size_t depth)
{
    struct text_log text = { .data = NULL }, log = { .data = NULL };
    log_format(&text, "[{\"args\":{\"stack\":");
    for (size_t i = 0; i < depth; i++)
        log_format(&text, "[");
    for (size_t i = 0; i < depth; i++)
        log_format(&text, "]");
    log_format(&text, "},\"ph\":1}]");
    enum ap_status status = log_elements(&log, text.data, text.bytes, &(struct reading){ .window_bytes = 4096 });
    log_release(&log);
    log_release(&text);
    return status;
}

static void depth_within_events_is_limited(void)
{
    is_int(nested_status(513), AP_END, "513 levels within args are skipped");
    is_int(nested_status(9990), AP_END, "9,990 levels too");
    is_int(nested_status(10001), AP_ERROR_LIMIT, "10,001 are refused");
    is_int(nested_status(100000), AP_ERROR_LIMIT, "and 100,000");
}

static void memory_may_fail_anywhere(void)
{
    static const char text[] =
        "[{\"name\":\"\\u00e9 and a long name to be decoded\",\"args\":{\"k\\u0065y\":[1,2,3],\"name\":\"x\\n\"}},"
        "{\"ph\":\"a text longer than the window, so that it must grow, and longer still\"}]";
    enum ap_status status = AP_ERROR_MEMORY;
    bool clean = true;
    int64_t fails = 0;
    for (; status == AP_ERROR_MEMORY && fails < 1000; fails++) {
        struct ap_gate gate;
        struct ap_notes notes = { .notes = { { .count = 0 } } };
        struct ap_json_span spans[RECORD_LOG_FIELDS + 1];
        struct ap_json_token token;
        struct ap_json_reader *json = NULL;
        struct ap_element_reader *element = NULL;
        struct feed feed = feed_of(text, sizeof(text) - 1, 5);
        ap_gate_init(&gate, 0);
        atomic_store(&gate.fail_after, fails);
        status = ap_json_reader_new(&gate, feed_source(&feed), &notes, &(struct ap_json_limits){ .window_bytes = 5 }, &json,
                                    NULL);
        if (status == AP_OK)
            status = ap_json_next(json, &token, NULL);
        if (status == AP_OK)
            status = ap_element_reader_new(json, element_log_fields, RECORD_LOG_FIELDS, &element, NULL);
        while (status == AP_OK) {
            enum ap_element_outcome outcome;
            uint64_t offset_bytes;
            status = ap_element_next(element, spans, &outcome, &offset_bytes, NULL);
            for (unsigned i = 0; status == AP_OK && i < RECORD_LOG_FIELDS; i++) {
                struct ap_text decoded;
                if (spans[i].kind != AP_SPAN_ABSENT)
                    status = ap_element_text(element, &spans[i], &decoded, NULL);
            }
        }
        ap_element_reader_free(element);
        ap_json_reader_free(json);
        clean &= atomic_load(&gate.used_bytes) == 0;
    }
    ok(status == AP_END && fails > 6, "a refused allocation is an error of its own until all succeed");
    ok(clean, "and leaves nothing behind");
}

int main(void)
{
    members_are_found_by_name();
    the_last_duplicate_counts();
    args_may_be_anything();
    layouts_that_nearly_repeat();
    containers_that_nearly_repeat();
    gaps_of_any_length();
    thousands_of_layouts();
    starts_in_turn();
    many_layouts_in_turn();
    random_arrays_equal_the_pull_reader();
    broken_arrays_fail_alike();
    paths_that_end_with_a_backslash_are_recovered();
    paths_may_be_cut_anywhere();
    paths_beside_deep_values();
    forgotten_escapes_are_recovered();
    a_comma_before_the_bracket();
    an_array_may_not_begin_with_a_comma();
    nothing_is_left_of_other_elements();
    a_cut_between_elements_is_known();
    large_events_are_passed();
    depth_within_events_is_limited();
    memory_may_fail_anywhere();
    return done();
}
