/* SPDX-License-Identifier: MIT
 * What everything rests on: decimal text, quantiles, order, interned text, memory, output, counters. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "decimal_short.h"
#include "id_map.h"
#include "json_text.h"
#include "mem.h"
#include "notes.h"
#include "out.h"
#include "near_pairs.h"
#include "pair_map.h"
#include "quantile.h"
#include "random.h"
#include "sort.h"
#include "stretches.h"
#include "strpool.h"
#include "tap.h"
#include "text_sink.h"
#include "words.h"

/* -------------------------------------------------------------------------------------------------------- decimal */

static void times_are_read_digit_by_digit(void)
{
    static const struct {
        const char *text;
        enum ap_decimal_result result;
        int64_t ns;
    } cases[] = {
        { "0", AP_DECIMAL_EXACT, 0 },
        { "-0", AP_DECIMAL_EXACT, 0 },
        { "-0.0", AP_DECIMAL_EXACT, 0 },
        { "1", AP_DECIMAL_EXACT, 1000 },
        { "1.5", AP_DECIMAL_EXACT, 1500 },
        { "0.001", AP_DECIMAL_EXACT, 1 },
        { "-0.001", AP_DECIMAL_EXACT, -1 },
        { "12.345", AP_DECIMAL_EXACT, 12345 },
        { "-12.345", AP_DECIMAL_EXACT, -12345 },
        { "1234567890123456.789", AP_DECIMAL_EXACT, INT64_C(1234567890123456789) },
        { "-1234567890123456.789", AP_DECIMAL_EXACT, INT64_C(-1234567890123456789) },
        { "1719322847123456.001", AP_DECIMAL_EXACT, INT64_C(1719322847123456001) },
        { "999999999999999.999", AP_DECIMAL_EXACT, INT64_C(999999999999999999) },
        { "4611686018427387.903", AP_DECIMAL_EXACT, AP_MAX_TIME_NS },
        { "-4611686018427387.903", AP_DECIMAL_EXACT, -AP_MAX_TIME_NS },
        { "4611686018427387.904", AP_DECIMAL_OUT_OF_RANGE, 0 },
        { "-4611686018427387.904", AP_DECIMAL_OUT_OF_RANGE, 0 },
        { "4611686018427387.9035", AP_DECIMAL_OUT_OF_RANGE, 0 },
        { "9999999999999999999", AP_DECIMAL_OUT_OF_RANGE, 0 },
        { "99999999999999999999999999999999999999", AP_DECIMAL_OUT_OF_RANGE, 0 },
        { "1e400", AP_DECIMAL_OUT_OF_RANGE, 0 },
        { "1e99999999999999999999", AP_DECIMAL_OUT_OF_RANGE, 0 },
        { "0e99999999999999999999", AP_DECIMAL_EXACT, 0 },
        { "1e-99999999999999999999", AP_DECIMAL_ROUNDED, 0 },
        { "1e3", AP_DECIMAL_EXACT, 1000000 },
        { "1E+3", AP_DECIMAL_EXACT, 1000000 },
        { "1.5e3", AP_DECIMAL_EXACT, 1500000 },
        { "1500e-3", AP_DECIMAL_EXACT, 1500 },
        { "1.7193228471234567e15", AP_DECIMAL_EXACT, INT64_C(1719322847123456700) },
        { "0.0000001e7", AP_DECIMAL_EXACT, 1000 },
        { "0.0005", AP_DECIMAL_ROUNDED, 1 },
        { "-0.0005", AP_DECIMAL_ROUNDED, -1 },
        { "0.0004", AP_DECIMAL_ROUNDED, 0 },
        { "0.00049999999999", AP_DECIMAL_ROUNDED, 0 },
        { "0.0015", AP_DECIMAL_ROUNDED, 2 },
        { "0.0025", AP_DECIMAL_ROUNDED, 3 },
        { "1.9999", AP_DECIMAL_ROUNDED, 2000 },
        { "9.99951", AP_DECIMAL_ROUNDED, 10000 },
        { "1.0000000000000000000000000000", AP_DECIMAL_EXACT, 1000 },
        { "1.2340000", AP_DECIMAL_EXACT, 1234 },
        { "00012.5", AP_DECIMAL_EXACT, 12500 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        int64_t ns = 0;
        enum ap_decimal_result result = ap_decimal_us_to_ns(cases[i].text, strlen(cases[i].text), &ns);
        if (!ok(result == cases[i].result && ns == cases[i].ns, cases[i].text))
            printf("#   result %d, %" PRId64 " ns\n", (int)result, ns);
    }
}

/* Every way of writing the same time gives the same time. */
static void times_written_in_any_way_are_the_same(void)
{
    struct random random = { 1 };
    bool same = true;
    for (int i = 0; i < 20000 && same; i++) {
        int64_t ns = (int64_t)(random_next(&random) >> (2 + random_below(&random, 60)));
        bool negative = random_once_in(&random, 4);
        int64_t whole = ns / 1000, part = ns % 1000, want = negative ? -ns : ns, got[4];
        char text[4][80];
        (void)snprintf(text[0], 80, "%s%" PRId64 ".%03" PRId64, negative ? "-" : "", whole, part);
        (void)snprintf(text[1], 80, "%s%" PRId64 ".%03" PRId64 "000", negative ? "-" : "", whole, part);
        (void)snprintf(text[2], 80, "%s%" PRId64 "e-3", negative ? "-" : "", ns);
        (void)snprintf(text[3], 80, "%s0.%019" PRId64 "E16", negative ? "-" : "", ns);
        for (int k = 0; k < 4; k++)
            same &= ap_decimal_us_to_ns(text[k], strlen(text[k]), &got[k]) == AP_DECIMAL_EXACT && got[k] == want;
        if (!same)
            printf("#   %s\n", text[0]);
    }
    ok(same, "20,000 random times, each written in four ways");
}

static void sizes_are_whole_numbers(void)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "512", true, 512 },
        { "512.0", true, 512 },
        { "1e6", true, 1000000 },
        { "1.5e1", true, 15 },
        { "1.5", false, 0 },
        { "1e-1", false, 0 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "1e30", false, 0 },
        { "100e-2", true, 1 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        int64_t value = 0;
        bool whole = ap_decimal_to_integer(cases[i].text, strlen(cases[i].text), &value);
        ok(whole == cases[i].whole && value == cases[i].value, cases[i].text);
    }
}

/* What stands in quotation marks is not checked by the JSON reader. */
static void text_that_is_no_number(void)
{
    static const char *const texts[] = { "",  "0x10", "abc", "-",  "1x",  " 1", "1 ",  "+1",
                                         ".", ".5",   "1.",  "1e", "1e+", "-x", "--1", "1.5.5" };
    for (size_t i = 0; i < AP_COUNT_OF(texts); i++) {
        uint64_t number;
        char claim[60];
        (void)snprintf(claim, sizeof(claim), "\"%s\" is no number of digits", texts[i]);
        ok(!ap_decimal_to_u64(texts[i], strlen(texts[i]), &number), claim);
        int64_t value = 77;
        size_t bytes = strlen(texts[i]);
        char *exact = malloc(bytes ? bytes : 1); /* so that reading beyond its end is caught */
        if (!exact)
            abort();
        memcpy(exact, texts[i], bytes);
        (void)snprintf(claim, sizeof(claim), "\"%s\" is no size, and not 0 either", texts[i]);
        ok(!ap_decimal_to_integer(exact, bytes, &value) && value == 77, claim);
        free(exact);
    }
}

/* Each byte at each place of one to eight digits, with digits behind that do not belong to them. */
static void short_numbers_are_digits_alone(void)
{
    bool same = true;
    for (unsigned bytes = 1; bytes <= 8; bytes++)
        for (unsigned at = 0; at < bytes; at++)
            for (unsigned byte = 0; byte < 256; byte++) {
                char text[17] = "9074051899999999";
                uint64_t want = 0;
                text[at] = (char)byte;
                bool digits = ap_decimal_to_u64(text, bytes, &want);
                same &= ap_decimal_short(text, bytes) == (digits ? (int64_t)want : -1);
            }
    ok(same, "numbers of one to eight digits, and all that are none");
}

/* Likewise of one to sixteen, and none of more. */
static void numbers_of_sixteen_digits(void)
{
    bool same = true;
    for (unsigned bytes = 0; bytes <= 18; bytes++)
        for (unsigned at = 0; at <= bytes; at++)
            for (char byte = ' '; byte < 'z'; byte++) {
                char text[] = "90740518990312457799999999";
                uint64_t want = 0;
                if (at < bytes)
                    text[at] = byte;
                bool digits = bytes <= 16 && ap_decimal_to_u64(text, bytes, &want);
                same &= ap_decimal_digits(text, bytes) == (digits ? (int64_t)want : -1);
            }
    ok(same, "numbers of one to sixteen digits, and all that are none");
}

static void millionths_are_exact(void)
{
    static const struct {
        const char *text;
        enum ap_decimal_result result;
        int64_t millionths;
    } cases[] = {
        { "0", AP_DECIMAL_EXACT, 0 },
        { "11.64", AP_DECIMAL_EXACT, 11640000 },
        { "-0.000001", AP_DECIMAL_EXACT, -1 },
        { "999999999999.999999", AP_DECIMAL_EXACT, INT64_C(999999999999999999) },
        { "1000000000000.5", AP_DECIMAL_EXACT, INT64_C(1000000000000500000) },
        { "0.0000005", AP_DECIMAL_ROUNDED, 1 },
        { "1.5e2", AP_DECIMAL_EXACT, 150000000 },
        { "9223372036855", AP_DECIMAL_OUT_OF_RANGE, 0 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        int64_t millionths = 0;
        enum ap_decimal_result result = ap_decimal_to_millionths(cases[i].text, strlen(cases[i].text), &millionths);
        ok(result == cases[i].result && millionths == cases[i].millionths, cases[i].text);
    }
}

static void ids_keep_every_digit(void)
{
    uint64_t number = 0;
    ok(ap_decimal_to_u64("18446744073709551615", 20, &number) && number == UINT64_MAX, "2^64-1");
    ok(!ap_decimal_to_u64("18446744073709551616", 20, &number), "2^64 is refused");
    ok(ap_decimal_to_u64("00000000000000000000000007", 26, &number) && number == 7, "leading zeros");
    ok(!ap_decimal_to_u64("-1", 2, &number) && !ap_decimal_to_u64("1.0", 3, &number), "digits only");
}

/* ------------------------------------------------------------------------------------------------------- quantile */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* By sorting, with long arithmetic. */
static int64_t slow_quantile(const int64_t *sorted, size_t count, unsigned percent)
{
    size_t scaled = (count - 1) * percent;
    int64_t lower = sorted[scaled / 100], upper = scaled % 100 ? sorted[scaled / 100 + 1] : lower;
    long double exact =
        (long double)lower + ((long double)upper - (long double)lower) * (long double)(scaled % 100) / 100.0L;
    return (int64_t)floorl(exact + 0.5L);
}

static void quantiles_are_those_of_the_sorted_list(void)
{
    struct random random = { 2 };
    int64_t values[2000], sorted[2000];
    bool same = true;
    for (int i = 0; i < 3000 && same; i++) {
        size_t count = 1 + random_below(&random, i % 20 ? 300 : 2000), kind = random_below(&random, 5);
        for (size_t k = 0; k < count; k++)
            values[k] = kind == 0   ? (int64_t)random_below(&random, 3)
                        : kind == 1 ? (int64_t)k
                        : kind == 2 ? -(int64_t)k
                        : kind == 3 ? (int64_t)(random_next(&random) >> 12) - (INT64_C(1) << 50)
                                    : 7;
        memcpy(sorted, values, count * sizeof(values[0]));
        qsort(sorted, count, sizeof(sorted[0]), by_value);
        unsigned percent = (unsigned)random_below(&random, 101);
        same = ap_quantile(values, count, percent) == slow_quantile(sorted, count, percent);
        unsigned percents[] = { percent, percent, (percent + 100) / 2, 100 };
        int64_t quantiles[AP_COUNT_OF(percents)];
        ap_quantiles(values, count, percents, AP_COUNT_OF(percents), quantiles);
        for (size_t k = 0; k < AP_COUNT_OF(percents); k++)
            same = same && quantiles[k] == slow_quantile(sorted, count, percents[k]);
    }
    ok(same, "3,000 random lists, one quantile and four at once: equal to sorting and interpolating");
    int64_t nine[] = { 40, 10, 90, 70, 30, 80, 50, 20, 60 }, three[3];
    ap_quantiles(nine, 9, (const unsigned[]){ 0, 50, 99 }, 3, three);
    ok(three[0] == 10 && three[1] == 50 && three[2] == 89, "0, 50 and 99 % of 10, 20 .. 90");
    int64_t extreme[] = { INT64_MAX, INT64_MIN };
    is_int(ap_quantile(extreme, 2, 50), 0, "half way between the smallest and the largest number");
    int64_t one[] = { -5 };
    is_int(ap_quantile(one, 1, 99), -5, "one value is every quantile");
    int64_t two[] = { 10, 20 };
    is_int(ap_quantile(two, 2, 25), 13, "2.5 above 10 is rounded up");
}

static void quantiles_take_no_quadratic_time(void)
{
    enum { COUNT = 300000 };
    int64_t *values = malloc(COUNT * sizeof(values[0]));
    if (!values)
        abort();
    for (int kind = 0; kind < 4; kind++) {
        for (int64_t i = 0; i < COUNT; i++)
            values[i] = kind == 0 ? i : kind == 1 ? COUNT - i : kind == 2 ? 1 : i < COUNT / 2 ? i : COUNT - i;
        (void)ap_quantile(values, COUNT, 50);
    }
    ok(true, "300,000 values in order, in reverse, all the same, up and down");
    free(values);
}

/* ----------------------------------------------------------------------------------------------------------- sort */

static bool smaller(const void *context, uint32_t a, uint32_t b)
{
    const int64_t *values = context;
    return values[a] != values[b] ? values[a] < values[b] : a < b;
}

static void top_lists_are_the_beginning_of_the_order(void)
{
    struct random random = { 3 };
    struct ap_gate gate;
    struct ap_error error;
    int64_t values[200];
    bool good = true;
    ap_gate_init(&gate, 0);
    for (int i = 0; i < 1000 && good; i++) {
        uint32_t count = (uint32_t)random_below(&random, 200), *list, indices[200], spare[200];
        uint64_t limit = random_below(&random, 250);
        size_t kept;
        for (uint32_t k = 0; k < count; k++) {
            values[k] = (int64_t)random_below(&random, 50);
            indices[k] = k;
        }
        ap_sort_indices(indices, count, spare, smaller, values);
        for (uint32_t k = 1; k < count; k++)
            good &= smaller(values, indices[k - 1], indices[k]);
        if (ap_top_indices(&gate, count, limit, smaller, values, &list, &kept, &error) != AP_OK)
            abort();
        good &= kept == (limit && limit < count ? limit : count) && (kept > 0) == (list != NULL);
        good &= kept == 0 || memcmp(list, indices, kept * sizeof(list[0])) == 0;
        ap_mem_free(&gate, list, kept * sizeof(list[0]));
    }
    ok(good, "1,000 random lists: the top is the beginning of the order, whatever the limit");
    is_u64(atomic_load(&gate.used_bytes), 0, "and all memory comes back");
}

static void seeking_finds_what_halving_finds(void)
{
    struct random random = { 5 };
    size_t farthest = 0, wrong = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t values[60], wanted = random_below(&random, 40), asked = 0;
        size_t count = (size_t)random_below(&random, 60), low = 0;
        size_t near = (size_t)random_below(&random, count + 1);
        for (size_t k = 0; k < count; k++)
            values[k] = (k ? values[k - 1] : 0) + random_below(&random, 3);
        AP_BISECT(low, count, at, values[at] < wanted);
        AP_SEEK(near, count, at, (asked++, values[at] < wanted));
        wrong += near != low;
        farthest = asked > farthest ? (size_t)asked : farthest;
    }
    is_u64(wrong, 0, "20,000 random lists: wherever the search begins it ends at the same place");
    ok(farthest <= 12, "and asks no more than twice as often as halving 60 values");
}

/* Lists as files have them: stretches in order that hardly overlap, that lie within one another, that go down. */
static void runs_of_any_length_are_merged(void)
{
    enum { COUNT = 3000 };
    struct random random = { 11 };
    static int64_t values[COUNT];
    static uint32_t indices[COUNT], spare[COUNT];
    bool good = true;
    for (int i = 0; i < 300 && good; i++) {
        int64_t value = 0, back = (int64_t)random_below(&random, 100);
        uint64_t run = 1 + random_below(&random, i % 3 ? 400 : 3);
        for (uint32_t k = 0; k < COUNT; k++) {
            value += random_below(&random, run) ? (int64_t)random_below(&random, 4) : -back;
            values[k] = i % 7 ? value : -value;
            indices[k] = k;
        }
        ap_sort_indices(indices, COUNT, spare, smaller, values);
        for (uint32_t k = 1; k < COUNT; k++)
            good &= smaller(values, indices[k - 1], indices[k]);
    }
    ok(good, "300 lists of 3,000, in runs of 1 to 400");
}

static void bisecting_finds_the_first(void)
{
    static const int values[] = { 1, 3, 3, 3, 8 };
    static const size_t first_not_below[] = { 0, 0, 1, 1, 4, 4, 4, 4, 4, 5 };
    bool good = true;
    for (int wanted = 0; wanted < 10; wanted++) {
        size_t low = 0;
        AP_BISECT(low, 5, at, values[at] < wanted);
        good &= low == first_not_below[wanted];
    }
    ok(good, "the first that is not below, or the end");
    size_t from = 2;
    AP_BISECT(from, 2, at, values[at] < 100);
    is_int((int)from, 2, "an empty stretch is not looked at");
}

static int by_pair(const void *left, const void *right)
{
    const int *a = left, *b = right;
    AP_BY_LARGER(a[0], b[0]);
    AP_BY_SMALLER(a[1], b[1]);
    return 0;
}

static bool pair_before(const void *context, uint32_t a, uint32_t b)
{
    const int *numbers = context;
    AP_LARGER_FIRST(numbers[2 * a], numbers[2 * b]);
    AP_SMALLER_FIRST(numbers[2 * a + 1], numbers[2 * b + 1]);
    return a < b;
}

static void keys_count_one_after_the_other(void)
{
    static const int pairs[4][2] = { { 1, 5 }, { 2, 6 }, { 2, 5 }, { 2, 5 } };
    static const int64_t numbers[] = { INT64_MIN, INT64_MAX };
    struct ap_gate gate;
    struct ap_error error;
    uint32_t order[] = { 0, 1, 2, 3 };
    ap_gate_init(&gate, 0);
    ok(by_pair(pairs[0], pairs[1]) == 1 && by_pair(pairs[1], pairs[0]) == -1, "the first key, the larger first");
    ok(by_pair(pairs[1], pairs[2]) == 1 && by_pair(pairs[2], pairs[1]) == -1, "then the second, the smaller first");
    is_int(by_pair(pairs[2], pairs[3]), 0, "then nothing");
    is_int(ap_sort_list(&gate, order, 4, pair_before, pairs, &error), AP_OK, "rows by the same keys");
    ok(order[0] == 2 && order[1] == 3 && order[2] == 1 && order[3] == 0, "equal ones as they stood");
    atomic_store(&gate.fail_after, 0);
    is_int(ap_sort_list(&gate, NULL, 0, pair_before, pairs, &error), AP_OK, "none take no memory");
    is_int(ap_sort_list(&gate, order, 4, pair_before, pairs, &error), AP_OK, "nor do some that stand in order");
    for (uint32_t i = 0; i < 4; i++)
        order[i] = i;
    is_int(ap_sort_list(&gate, order, 4, pair_before, pairs, &error), AP_ERROR_MEMORY, "others do");
    is_u64(atomic_load(&gate.used_bytes), 0, "and give it back");
    ok(ap_by_int64(&numbers[0], &numbers[1]) < 0 && ap_by_int64(&numbers[1], &numbers[1]) == 0, "numbers far apart");
}

/* -------------------------------------------------------------------------------------------------------- strpool */

static void equal_texts_have_equal_ids(void)
{
    struct random random = { 4 };
    struct ap_gate gate;
    struct ap_strpool pool;
    struct ap_error error;
    enum { COUNT = 30000 };
    uint32_t *ids = calloc(COUNT, sizeof(ids[0]));
    bool good = true;
    if (!ids)
        abort();
    ap_gate_init(&gate, 0);
    ap_strpool_init(&pool, &gate);
    for (uint32_t i = 0; i < COUNT * 3; i++) {
        char text[80];
        uint32_t number = i < COUNT ? i : (uint32_t)random_below(&random, COUNT);
        int bytes = snprintf(text, sizeof(text), "%0*u", (int)(number % 40), number);
        struct ap_str str;
        if (ap_strpool_intern(&pool, text, (size_t)bytes, &str, &error) != AP_OK)
            abort();
        struct ap_text got = ap_strpool_text(&pool, str);
        good &= got.bytes == (size_t)bytes && memcmp(got.data, text, got.bytes) == 0;
        if (!ids[number])
            ids[number] = str.id;
        good &= ids[number] == str.id && str.id == number + 1;
    }
    ok(good, "ids count up in order of first sight, and come again");
    is_u64(ap_strpool_count(&pool), COUNT, "one id for each text");
    ap_strpool_freeze(&pool);
    is_text(ap_strpool_text(&pool, (struct ap_str){ 1 }), "0", "a frozen pool still tells its texts");
    is_text(ap_strpool_text(&pool, (struct ap_str){ 0 }), "", "id 0 is the absent text");
    ap_strpool_release(&pool);
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory comes back");
    free(ids);
}

/* The pool looks at their ends first. */
static void texts_alike_at_their_ends_differ(void)
{
    struct ap_gate gate;
    struct ap_strpool pool;
    struct ap_error error;
    bool good = true;
    ap_gate_init(&gate, 0);
    ap_strpool_init(&pool, &gate);
    for (unsigned round = 0; round < 3; round++) {
        uint32_t expected = 1;
        for (size_t bytes = 1; bytes <= 40; bytes++)
            for (size_t at = 0; at <= bytes; at++, expected++) {
                char text[40];
                struct ap_str str;
                memset(text, 'a', sizeof(text));
                if (at < bytes)
                    text[at] = 'b';
                if (ap_strpool_intern(&pool, text, bytes, &str, &error) != AP_OK ||
                    ap_strpool_intern(&pool, text, bytes, &str, &error) != AP_OK)
                    abort();
                good &= str.id == expected;
            }
    }
    ok(good, "texts that differ in one byte, wherever it stands, are different ones");
    ap_strpool_release(&pool);
}

static void any_bytes_can_be_interned(void)
{
    struct ap_gate gate;
    struct ap_strpool pool;
    struct ap_error error;
    struct ap_str empty, none, nul, two_nul, high;
    ap_gate_init(&gate, 0);
    ap_strpool_init(&pool, &gate);
    bool good = ap_strpool_intern(&pool, "", 0, &empty, &error) == AP_OK &&
                ap_strpool_intern(&pool, NULL, 0, &none, &error) == AP_OK &&
                ap_strpool_intern(&pool, "\0", 1, &nul, &error) == AP_OK &&
                ap_strpool_intern(&pool, "\0\0", 2, &two_nul, &error) == AP_OK &&
                ap_strpool_intern(&pool, "\xff\xfe", 2, &high, &error) == AP_OK;
    ok(good && empty.id == none.id && nul.id != two_nul.id && nul.id != empty.id && high.id == 4,
       "empty text, NUL and bytes that are no UTF-8 are texts like others");
    ap_strpool_release(&pool);
}

/* A single byte that differs, at any place of any length, makes another text. */
static void every_byte_matters(void)
{
    struct ap_gate gate;
    struct ap_strpool pool;
    struct ap_error error;
    char text[70];
    bool good = true;
    uint32_t count = 0;
    ap_gate_init(&gate, 0);
    ap_strpool_init(&pool, &gate);
    for (size_t bytes = 1; bytes <= 70; bytes++)
        for (size_t at = 0; at < bytes; at++) {
            struct ap_str str;
            memset(text, 'a', sizeof(text));
            text[at] = 'b';
            if (ap_strpool_intern(&pool, text, bytes, &str, &error) != AP_OK)
                abort();
            good &= str.id == ++count;
        }
    ok(good, "texts of 1 to 70 bytes that differ in one byte are different");
    ap_strpool_release(&pool);
}

/* --------------------------------------------------------------------------------------------------------- memory */

static void the_gate_counts_and_refuses(void)
{
    struct ap_gate gate;
    struct ap_error error = { .status = AP_OK };
    ap_gate_init(&gate, 1000);
    void *a = ap_mem_resize(&gate, NULL, 0, 600), *b = ap_mem_resize(&gate, NULL, 0, 500);
    ok(a && !b, "what would pass the limit is refused");
    is_int(ap_fail_memory(&gate, &error), AP_ERROR_LIMIT, "as a limit");
    ok(error.advice == AP_ADVICE_MORE_MEMORY, "that tells what can be raised");
    is_u64(atomic_load(&gate.used_bytes), 600, "and not counted");
    a = ap_mem_resize(&gate, a, 600, 900);
    ok(a && atomic_load(&gate.used_bytes) == 900, "growing counts the difference");
    void *shrunk = ap_mem_resize(&gate, a, 900, 100);
    ok(shrunk && atomic_load(&gate.used_bytes) == 100, "shrinking gives it back");
    is_u64(atomic_load(&gate.peak_bytes), 900, "the peak stays");
    ap_mem_free(&gate, shrunk, 100);
    ap_mem_free(&gate, NULL, 0);
    is_u64(atomic_load(&gate.used_bytes), 0, "freeing gives it back");
}

static void the_gate_fails_as_planned(void)
{
    struct ap_gate gate;
    struct ap_error error;
    ap_gate_init(&gate, 0);
    atomic_store(&gate.fail_after, 2);
    void *a = ap_mem_resize(&gate, NULL, 0, 1), *b = ap_mem_resize(&gate, NULL, 0, 1), *c = ap_mem_resize(&gate, NULL, 0, 1);
    void *d = ap_mem_resize(&gate, a, 1, 2);
    ok(a && b && !c && !d, "so many requests succeed, then none");
    is_int(ap_fail_memory(&gate, &error), AP_ERROR_MEMORY, "which is no limit");
    ap_mem_free(&gate, a, 1);
    ap_mem_free(&gate, b, 1);
    void *array = NULL;
    size_t capacity = 0;
    is_int(ap_mem_reserve(&gate, &array, &capacity, 5, 8, &error), AP_ERROR_MEMORY, "a refused array");
    ok(array == NULL && capacity == 0, "stays as it was");
    atomic_store(&gate.fail_after, -1);
    is_int(ap_mem_reserve(&gate, &array, &capacity, SIZE_MAX / 2, 8, &error), AP_ERROR_MEMORY,
           "a size beyond all memory is refused");
    is_int(ap_mem_reserve(&gate, &array, &capacity, 17, 8, &error), AP_OK, "another array is given");
    ok(array && capacity >= 17, "with room for what was asked for");
    ap_mem_free(&gate, array, capacity * 8);
    is_u64(atomic_load(&gate.used_bytes), 0, "and comes back whole");
}

/* Sizes around those from which the system is asked for huge pages, up and down. */
static void large_blocks_keep_what_they_hold(void)
{
    static const size_t sizes[] = { 64,       (2 << 20) - 1,  2 << 20, (3 << 20) + 5, 9 << 20, 16 << 20,
                                    40 << 20, (17 << 20) + 9, 5 << 20, (2 << 20) + 1, 70 };
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    uint8_t *memory = NULL;
    size_t bytes = 0;
    bool kept = true;
    for (size_t i = 0; i < AP_COUNT_OF(sizes); i++) {
        memory = ap_mem_resize(&gate, memory, bytes, sizes[i]);
        for (size_t at = 0; at < bytes && at < sizes[i]; at += 61)
            kept &= memory[at] == (uint8_t)(at * 7);
        bytes = sizes[i];
        for (size_t at = 0; at < bytes; at++)
            memory[at] = (uint8_t)(at * 7);
    }
    ok(kept, "blocks keep what they hold, however they grow and shrink");
    ap_mem_free(&gate, memory, bytes);
    memory = ap_mem_cleared(&gate, 3 << 20);
    bool cleared = true;
    for (size_t at = 0; at < 3 << 20; at++)
        cleared &= memory[at] == 0;
    ok(cleared, "a large block is cleared where that was asked for");
    ap_mem_free(&gate, memory, 3 << 20);
    is_u64(atomic_load(&gate.used_bytes), 0, "and all of it comes back");
}

static enum ap_status add_numbers(struct ap_gate *gate, uint16_t **numbers, size_t *count, size_t *capacity,
                                  struct ap_error *reterr)
{
    for (uint16_t i = 0; i < 100; i++)
        AP_TRY_ADD(gate, *numbers, *count, *capacity, reterr, i);
    return AP_OK;
}

static void arrays_know_the_size_of_their_elements(void)
{
    struct ap_gate gate;
    struct ap_error error;
    ap_gate_init(&gate, 0);
    uint16_t *numbers = NULL, *cleared = NULL;
    size_t count = 0, capacity = 0;
    is_int(add_numbers(&gate, &numbers, &count, &capacity, &error), AP_OK, "numbers are added");
    ok(count == 100 && numbers[0] == 0 && numbers[99] == 99, "in order");
    is_u64(atomic_load(&gate.used_bytes), capacity * sizeof(uint16_t), "in so many bytes");
    atomic_store(&gate.fail_after, 0);
    count = capacity;
    is_int(add_numbers(&gate, &numbers, &count, &capacity, &error), AP_ERROR_MEMORY, "one that cannot be added");
    ok(count == capacity && numbers[99] == 99, "leaves the others");
    is_int(AP_ALLOC(&gate, cleared, 3, &error), AP_ERROR_MEMORY, "neither is there another array");
    atomic_store(&gate.fail_after, -1);
    is_int(AP_ALLOC_CLEARED(&gate, cleared, 3, &error), AP_OK, "an array of a known size");
    ok(cleared && !cleared[0] && !cleared[2], "is cleared where asked for");
    AP_FREE(&gate, cleared, 3);
    is_int(AP_ALLOC(&gate, cleared, SIZE_MAX / 2, &error), AP_ERROR_MEMORY, "a size beyond all memory is refused");
    ok(!cleared, "and gives none");
    AP_FREE(&gate, numbers, capacity);
    is_u64(atomic_load(&gate.used_bytes), 0, "all comes back");
}

static void an_arena_gives_clear_aligned_memory(void)
{
    struct ap_gate gate;
    struct ap_arena arena;
    bool good = true;
    ap_gate_init(&gate, 0);
    ap_arena_init(&arena, &gate);
    for (size_t bytes = 0; bytes < 200000 && good; bytes = bytes * 3 / 2 + 1) {
        unsigned char *memory = ap_arena_alloc(&arena, bytes);
        good = memory && (uintptr_t)memory % 16 == 0;
        for (size_t i = 0; i < bytes && good; i++)
            good = memory[i] == 0;
        if (bytes && good)
            memset(memory, 0xff, bytes);
    }
    ok(good, "pieces of every size are aligned and cleared");
    ok(ap_arena_alloc(&arena, SIZE_MAX - 5) == NULL, "a size that overflows is refused");
    struct ap_text copy = ap_arena_text(&arena, (struct ap_text){ "a\0b", 3 });
    ok(copy.bytes == 3 && memcmp(copy.data, "a\0b", 4) == 0, "a copied text keeps its NUL and gets one behind");
    ap_arena_release(&arena);
    is_u64(atomic_load(&gate.used_bytes), 0, "all memory comes back");
}

/* ---------------------------------------------------------------------------------------------------- text and sums */

static void texts_are_compared(void)
{
    ok(ap_text_is(AP_TEXT("ab"), "ab") && !ap_text_is(AP_TEXT("ab"), "abc") && !ap_text_is(AP_TEXT("abc"), "ab"),
       "a text is another of the same bytes");
    ok(!ap_text_is(AP_TEXT("a\0b"), "a"), "NUL does not end it");
    ok(ap_text_compare(AP_TEXT("a"), AP_TEXT("ab")) < 0 && ap_text_compare(AP_TEXT("b"), AP_TEXT("ab")) > 0 &&
           ap_text_compare(AP_TEXT("a"), AP_TEXT("a")) == 0 && ap_text_compare(AP_TEXT("\xff"), AP_TEXT("a")) > 0,
       "order is that of bytes, the shorter first");
    ok(ap_text_ends_with(AP_TEXT("a.py"), ".py") && ap_text_ends_with(AP_TEXT(""), "") &&
           !ap_text_ends_with(AP_TEXT("y"), "py"),
       "endings");
    ok(ap_text_cut(AP_TEXT("abc"), 3).bytes == 3 && ap_text_cut(AP_TEXT("abc"), 2).bytes == 2 &&
           ap_text_cut(AP_TEXT("a\xe2\x82\xac"), 3).bytes == 1 && ap_text_cut(AP_TEXT("\x82\x82"), 1).bytes == 0,
       "a text is cut between characters");
    ok(ap_text_contains(AP_TEXT("abc"), AP_TEXT("bc")) && ap_text_contains(AP_TEXT("abc"), AP_TEXT("")) &&
           !ap_text_contains(AP_TEXT("abc"), AP_TEXT("abcd")) && !ap_text_contains(AP_TEXT("abc"), AP_TEXT("B")),
       "parts");
    ok(ap_is_digit('0') && ap_is_digit('9') && !ap_is_digit('/') && !ap_is_digit(':'), "digits");
    ok(ap_folded('A') == 'a' && ap_folded('Z') == 'z' && ap_folded('[') == '[' && ap_folded('@') == '@', "small letters");
    ok(ap_text_contains_folded(AP_TEXT("A CpU_op"), "cpu") && !ap_text_contains_folded(AP_TEXT("cp"), "cpu") &&
           !ap_text_contains_folded(AP_TEXT(""), "cpu"),
       "a word is found in any case");
    ok(ap_text_contains_folded(AP_TEXT("CcPcPu"), "cpu") && ap_text_contains_folded(AP_TEXT("x_[0]"), "[0") &&
           ap_text_contains_folded(AP_TEXT("x"), "") && !ap_text_contains_folded(AP_TEXT("cCpPcp"), "cpu"),
       "behind beginnings that lead nowhere, too");
    ok(ap_text_starts_with(AP_TEXT("aten::add"), "aten::") && !ap_text_starts_with(AP_TEXT("ate"), "aten::"), "a beginning");
}

static void sums_stop_at_the_ends(void)
{
    bool overflowed = false;
    is_int(ap_add_sat(INT64_MAX - 1, 1, &overflowed), INT64_MAX, "a sum that just fits");
    ok(!overflowed, "is none that overflows");
    is_int(ap_add_sat(INT64_MAX, 1, &overflowed), INT64_MAX, "one more stays");
    ok(overflowed, "and is told");
    overflowed = false;
    is_int(ap_add_sat(INT64_MIN, -1, &overflowed), INT64_MIN, "downward too");
    ok(overflowed, "and is told");
    is_int(ap_add_sat(INT64_MIN, INT64_MAX, &overflowed), -1, "ends of both kinds");
    is_int(ap_share_of(1000, 0.25), 250, "a quarter");
    is_int(ap_share_of(INT64_MAX, 1), INT64_MAX, "all of what no double holds");
    is_int(ap_share_of(INT64_MAX, 0), 0, "nothing of it");
}

/* ------------------------------------------------------------------------------------------------------------- out */

static const char *written(struct text_sink *sink, void (*write)(struct ap_out *out))
{
    struct ap_out out;
    text_sink_release(sink);
    ap_out_init(&out, text_sink_of(sink));
    write(&out);
    if (ap_out_finish(&out, NULL) != AP_OK)
        abort();
    return sink->data ? sink->data : "";
}

static void write_times(struct ap_out *out)
{
    static const int64_t times[] = { 0, 1, -1, 10, 100, 1000, 1500, 1050, -999, 12345678, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < AP_COUNT_OF(times); i++) {
        ap_out_microseconds(out, times[i]);
        ap_out_char(out, ' ');
    }
}

static void write_numbers(struct ap_out *out)
{
    static const double numbers[] = { 0, -0.0, 1, 0.5, 1.0 / 3, 1e300, -2.5, 123456789, 1234567890.0, 1e-7 };
    for (size_t i = 0; i < AP_COUNT_OF(numbers); i++) {
        ap_out_number(out, numbers[i]);
        ap_out_char(out, ' ');
    }
    ap_out_number(out, (double)NAN);
    ap_out_number(out, -(double)INFINITY);
}

/* Of all sizes that are written without an exponent, and just beside what is rounded up and down. */
static void numbers_are_written_as_printf_writes_them(void)
{
    uint64_t state = 1, differ = 0, quick = 0;
    for (int i = 0; i < 200000; i++) {
        char expected[40], room[AP_DECIMAL_BYTES];
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int decimals = (int)(state >> 60);
        double number = (double)(int64_t)(state >> 20 & 0xffffffffff) - 0x8000000000, scale = 1;
        for (int digit = 0; digit < decimals; digit++)
            scale *= 10;
        number = i % 3 == 0 ? number / scale : i % 3 == 1 ? ((double)(state >> 40 & 0xfffff) + 0.5) / scale : number / 7e11;
        struct ap_text text = ap_decimal_of_double(number, room);
        (void)snprintf(expected, sizeof(expected), "%.9g", number == 0 ? 0.0 : number);
        quick += text.bytes != 0;
        differ += text.bytes && !ap_text_is(text, expected);
    }
    ok(!differ, "numbers are written as printf writes them");
    ok(quick > 100000, "most of them without it");
}

static void write_much(struct ap_out *out)
{
    for (int i = 0; i < 20000; i++)
        ap_out_format(out, "%d,", i % 10);
    ap_out_string(out, "end");
}

static void numbers_are_written_alike_everywhere(void)
{
    static const char numbers[] = "0 0 1 0.5 0.333333333 1e+300 -2.5 123456789 1.23456789e+09 1e-07 nullnull";
    static const char *const locales[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8", "de_DE", NULL };
    struct text_sink sink = { .data = NULL };
    is_str(written(&sink, write_times),
           "0 0.001 -0.001 0.01 0.1 1 1.5 1.05 -0.999 12345.678 9223372036854775.807 -9223372036854775.808 ",
           "times are microseconds with up to three exact decimals");
    is_str(written(&sink, write_numbers), numbers, "numbers have at most nine digits; what is not finite is null");
    size_t at = 0;
    while (locales[at] && !setlocale(LC_NUMERIC, locales[at]))
        at++;
    if (locales[at])
        is_str(written(&sink, write_numbers), numbers, "also in a locale with a decimal comma");
    else
        skip("no locale with another decimal point is installed");
    (void)setlocale(LC_NUMERIC, "C");
    const char *much = written(&sink, write_much);
    ok(sink.bytes == 40003 && strcmp(much + 39996, "8,9,end") == 0, "text longer than the buffer comes out whole");
    text_sink_release(&sink);
}

/* Most letters are passed eight at a time. */
static void every_byte_is_escaped_where_it_stands(void)
{
    size_t wrong = 0;
    for (int byte = 0; byte < 0x80; byte++)
        for (size_t place = 0; place < 20; place++) {
            struct text_sink sink = { .data = NULL };
            struct ap_out out;
            char text[20], expected[32];
            memset(text, 'a', sizeof(text));
            text[place] = (char)byte;
            ap_out_init(&out, text_sink_of(&sink));
            ap_json_write_text(&out, (struct ap_text){ text, sizeof(text) });
            if (ap_out_finish(&out, NULL) != AP_OK)
                abort();
            bool escaped = byte < ' ' || byte == 0x7f || byte == '"' || byte == '\\';
            (void)snprintf(expected, sizeof(expected), "\"%.*s%c", (int)place, text, escaped ? '\\' : byte);
            wrong += strncmp(sink.data, expected, place + 2) != 0 || (!escaped && sink.bytes != sizeof(text) + 2);
            text_sink_release(&sink);
        }
    ok(!wrong, "every byte of a text is escaped in JSON, or stands for itself, at every place");
}

static void a_failed_sink_is_told_once(void)
{
    struct text_sink sink = { .limit_bytes = 20000 };
    struct ap_out out;
    struct ap_error error = { .status = AP_OK };
    ap_out_init(&out, text_sink_of(&sink));
    write_much(&out);
    is_int(ap_out_finish(&out, &error), AP_ERROR_OUTPUT, "the first failure of the sink shows at the end");
    is_str(error.message, "the sink is full", "with its message");
    ok(sink.bytes <= 20000, "nothing is written after it");
    text_sink_release(&sink);
}

/* ---------------------------------------------------------------------------------------------------------- notes */

static void counters_are_complete(void)
{
    bool good = true;
    for (int i = 0; i < AP_COUNTER_COUNT_; i++) {
        const struct ap_counter_info *info = ap_counter_info((enum ap_counter)i);
        good &= info->code && strlen(info->code) >= 3 &&
                strspn(info->code, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(info->code);
        good &= info->sentence && strlen(info->sentence) > 10 && info->sentence[strlen(info->sentence) - 1] != '.';
        for (int k = 0; k < i; k++)
            good &= strcmp(info->code, ap_counter_info((enum ap_counter)k)->code) != 0;
    }
    ok(good, "each counter has a code of its own and a sentence without full stop");
}

static void notes_keep_the_first_place(void)
{
    struct ap_notes notes = { .notes = { { .count = 0 } } };
    ap_note(&notes, AP_COUNTER_cut, 500);
    ap_note(&notes, AP_COUNTER_cut, 100);
    ap_note(&notes, AP_COUNTER_cut, 900);
    ap_note_many(&notes, AP_COUNTER_cut, 7);
    const struct ap_note *cut = &notes.notes[AP_COUNTER_cut];
    ok(cut->count == 10 && cut->has_offset && cut->first_offset_bytes == 100, "they count, and keep the smallest offset");
    ap_note_many(&notes, AP_COUNTER_bom, 0);
    ok(!notes.notes[AP_COUNTER_bom].has_offset && !notes.notes[AP_COUNTER_bom].count, "none more is none");
    ap_note_detail(&notes, AP_COUNTER_cut, "%0*d", 1000, 5);
    ok(strlen(cut->detail) == sizeof(cut->detail) - 1 && cut->count == 10, "a detail is cut to its room and counts nothing");
}

static void errors_are_cut_to_their_room(void)
{
    struct ap_error error = { .status = AP_OK };
    is_int(ap_fail(&error, AP_ERROR_INPUT, "%0*d", 5000, 1), AP_ERROR_INPUT, "a failure returns its status");
    ok(strlen(error.message) == sizeof(error.message) - 1 && !error.has_offset, "a long message is cut");
    is_int(ap_fail_at(&error, AP_ERROR_CUT, 77, "x"), AP_ERROR_CUT, "a failure with a place");
    ok(error.has_offset && error.offset_bytes == 77 && error.status == AP_ERROR_CUT, "keeps it");
    is_int(ap_fail(NULL, AP_ERROR_INPUT, "x"), AP_ERROR_INPUT, "nobody needs to listen");
}

/* ---------------------------------------------------------------------------------------------------------- id map */

static void ids_find_what_was_put_there(void)
{
    enum { KEYS = 5000 };
    struct ap_gate gate;
    struct ap_id_map map;
    int wrong = 0;
    ap_gate_init(&gate, 0);
    gate.hash_key.times[0].low = 77;
    if (ap_id_map_init(&map, &gate, KEYS, NULL) != AP_OK)
        abort();
    ok(!ap_id_map_find(&map, 1), "an empty map has no key");
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t *value = ap_id_map_add(&map, UINT32_MAX - i * 2654435761u); /* none of them is 0 */
        wrong += *value != AP_ID_NONE;
        *value = i;
    }
    is_int(wrong, 0, "fresh keys have no value");
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t *value = ap_id_map_find(&map, UINT32_MAX - i * 2654435761u);
        wrong += !value || *value != i || ap_id_map_add(&map, UINT32_MAX - i * 2654435761u) != value;
    }
    is_int(wrong, 0, "each key keeps its own, also when it is added again");
    ok(!ap_id_map_find(&map, 12345), "other keys are not in it");
    ap_id_map_release(&map);
    is_u64(gate.used_bytes, 0, "all memory is given back");
}

static void a_map_of_nothing_and_without_memory(void)
{
    struct ap_gate gate;
    struct ap_id_map map;
    ap_gate_init(&gate, 0);
    if (ap_id_map_init(&map, &gate, 0, NULL) != AP_OK)
        abort();
    ok(!ap_id_map_find(&map, 7), "a map of no keys can be asked");
    ap_id_map_release(&map);
    gate.fail_after = 0;
    is_int(ap_id_map_init(&map, &gate, 10, NULL), AP_ERROR_MEMORY, "a refusal is told");
    ap_id_map_release(&map);
    is_u64(gate.used_bytes, 0, "and nothing is held");
}

/* Each pair is asked for twice, so that every second answer is the one before; then all of them once more, and a failure
 * of memory leaves nothing that could be taken for an answer. */
static void pairs_keep_their_numbers(void)
{
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    struct ap_pair_map map = { .gate = &gate };
    uint32_t number = 0;
    bool same = true;
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t pair = i % 1000 / 2;
        same = same && ap_pair_map_add(&map, pair, 7 - pair % 3, &number, NULL) == AP_OK && number == pair;
        same = same && ap_pair_map_find(&map, pair, 7 - pair % 3) == pair;
    }
    ok(same && map.count == 500, "pairs have numbers in order of first sight, also when they come again");
    same = ap_pair_map_add(&map, 499, 3, &number, NULL) == AP_OK && number == 500;
    ok(same, "a pair that differs from the last in one key is another");
    gate.fail_after = 0;
    enum ap_status status = AP_OK;
    for (uint32_t i = 1000; status == AP_OK && i < 10000; i++)
        status = ap_pair_map_add(&map, i, 0, &number, NULL);
    is_int(status, AP_ERROR_MEMORY, "a refusal is told");
    gate.fail_after = -1;
    ap_pair_map_release(&map);
    is_u64(gate.used_bytes, 0, "and nothing is held");
}

/* As above, and each id twice: with one first key, and with another one for every fifth. */
static void pairs_of_ids_keep_their_numbers(void)
{
    struct ap_gate gate;
    struct ap_near_pairs pairs;
    uint32_t number, expected = 0;
    bool same = true;
    ap_gate_init(&gate, 0);
    is_int(ap_near_pairs_init(&pairs, &gate, 1000, NULL), AP_OK, "room for ids");
    for (int time = 0; time < 2; time++, expected = 0)
        for (uint32_t id = 0; id < 1000; id++) {
            same = same && ap_near_pairs_add(&pairs, 7, id, &number, NULL) == AP_OK && number == expected++;
            for (uint32_t other = 8; other < 10 && id % 5 == 0; other++)
                same = same && ap_near_pairs_add(&pairs, other, id, &number, NULL) == AP_OK && number == expected++;
        }
    ok(same && pairs.count == 1400, "pairs have numbers in order of first sight, also when they come again");
    for (int time = 0; time < 2; time++, expected = 0)
        for (uint32_t a = 10; a < 610; a++)
            for (uint32_t id = a % 5; id < 1000; id += 250)
                same = same && ap_near_pairs_add(&pairs, a, id, &number, NULL) == AP_OK && number == 1400 + expected++;
    ok(same && pairs.count == 1400 + 600 * 4, "also of more first keys than few");
    gate.fail_after = 0;
    enum ap_status status = AP_OK;
    for (uint32_t i = 1000; status == AP_OK && i < 10000; i++)
        status = ap_near_pairs_add(&pairs, i, 0, &number, NULL);
    is_int(status, AP_ERROR_MEMORY, "a refusal is told");
    gate.fail_after = -1;
    ap_near_pairs_release(&pairs);
    is_u64(gate.used_bytes, 0, "and nothing is held");
}

/* ---------------------------------------------------------------------------------------------------------- words */

static void each_front_end_has_its_words(void)
{
    bool complete = true, options = true;
    for (int i = 1; i < AP_SETTING_COUNT; i++) {
        const char *option = ap_setting_name((enum ap_setting)i, AP_WORDS_PROGRAM);
        const char *member = ap_setting_name((enum ap_setting)i, AP_WORDS_LIBRARY);
        complete = complete && option && member && *member && ap_setting_name((enum ap_setting)i, AP_WORDS_SERVER);
        options = options && option && strncmp(option, "--", 2) == 0 && !strstr(member, "--");
    }
    for (int i = 1; i < AP_ADVICE_COUNT; i++) {
        const char *told = ap_advice_text((enum ap_advice)i, AP_WORDS_PROGRAM);
        const char *plain = ap_advice_text((enum ap_advice)i, AP_WORDS_LIBRARY);
        complete = complete && told && *told && plain && *plain && ap_advice_text((enum ap_advice)i, AP_WORDS_SERVER);
        options = options && plain && !strstr(plain, "--");
    }
    ok(complete, "each setting and each advice has words in all three");
    ok(options, "the program's settings are options, and the library's words name none");
}

static void a_failure_is_told_in_its_words(void)
{
    struct ap_error error;
    char text[AP_ERROR_TEXT_BYTES], small[8];
    is_int(ap_fail(&error, AP_ERROR_INPUT, "it is %d", 7), AP_ERROR_INPUT, "a failure");
    is_str(ap_error_text(&error, AP_WORDS_PROGRAM, text, sizeof(text)), "it is 7", "is its message");
    is_int(ap_refuse(&error, AP_SETTING_FAIL_ON, "not '%s'", "--sort"), AP_ERROR_USAGE, "about a setting it is of use");
    is_str(ap_error_text(&error, AP_WORDS_PROGRAM, text, sizeof(text)), "--fail-on: not '--sort'",
           "an option of the program");
    is_str(ap_error_text(&error, AP_WORDS_SERVER, text, sizeof(text)), "conditions: not '--sort'",
           "an argument of the server; what the message quotes stays");
    is_int(ap_advise(&error, AP_ADVICE_GIVE_BASELINE, ap_fail(&error, AP_ERROR_USAGE, "alone")), AP_ERROR_USAGE, "advised");
    is_str(ap_error_text(&error, AP_WORDS_PROGRAM, text, sizeof(text)), "alone; give --baseline FILE as well",
           "advice follows, and the setting of the failure before is gone");
    is_str(ap_error_text(&error, AP_WORDS_LIBRARY, text, sizeof(text)), "alone; give baseline_path as well",
           "in the words of the library as well");
    (void)ap_advise(&error, AP_ADVICE_LIST_FIGURES, ap_fail(&error, AP_ERROR_USAGE, "did you mean x?"));
    is_str(ap_error_text(&error, AP_WORDS_SERVER, text, sizeof(text)), "did you mean x? list_metrics names all figures",
           "behind a question there is no semicolon");
    is_str(ap_error_text(&error, AP_WORDS_SERVER, small, sizeof(small)), "did you", "it is cut to its room");
    memset(error.message, 'x', sizeof(error.message) - 1);
    error.message[sizeof(error.message) - 1] = '\0';
    size_t longest = 0;
    for (int words = 0; words < AP_WORDS_COUNT; words++)
        for (int i = 0; i < AP_SETTING_COUNT * AP_ADVICE_COUNT; i++) {
            error.setting = (enum ap_setting)(i % AP_SETTING_COUNT);
            error.advice = (enum ap_advice)(i / AP_SETTING_COUNT);
            size_t bytes = strlen(ap_error_text(&error, (enum ap_words)words, text, sizeof(text)));
            longest = bytes > longest ? bytes : longest;
        }
    ok(longest < AP_ERROR_TEXT_BYTES - 1, "the longest failure fits");
    is_int(ap_advise(NULL, AP_ADVICE_SALVAGE, ap_refuse(NULL, AP_SETTING_SORT, "x")), AP_ERROR_USAGE, "nobody need listen");
}

static void stretches_overlap_however_they_came(void)
{
    struct ap_gate gate;
    struct ap_stretches a = { .list = NULL }, b = { .list = NULL }, both = { .list = NULL };
    ap_gate_init(&gate, 0);
    ap_stretches_add(&a, &gate, 10, 20);
    ap_stretches_add(&a, &gate, 15, 30); /* longer */
    ap_stretches_add(&a, &gate, 0, 5);   /* from another thread */
    ap_stretches_add(&a, &gate, 3, 3);
    ap_stretches_add(&b, &gate, 4, 12);
    ap_stretches_add(&b, &gate, 29, 90);
    is_int(ap_stretches_overlap_ns(&a, &b), 4, "1, 2 and 1");
    is_int(ap_stretches_length_ns(&a), 25, "of one set");
    ap_stretches_add_all(&both, &gate, &b);
    ap_stretches_add_all(&both, &gate, &a);
    is_int(ap_stretches_length_ns(&both), 90, "a union");
    for (int64_t i = 0; i <= (int64_t)AP_STRETCHES_MOST; i++)
        ap_stretches_add(&b, &gate, 100 + 2 * i, 101 + 2 * i);
    ok(b.unknown && !b.failed && !b.count, "too many are not known");
    ap_stretches_add_all(&a, &gate, &b);
    ok(a.unknown, "nor is what they are added to");
    atomic_store(&gate.fail_after, 0);
    ap_stretches_release(&both, &gate);
    ap_stretches_add(&both, &gate, 0, 1);
    ok(both.failed, "memory that was refused");
    is_int((int64_t)atomic_load(&gate.used_bytes), 0, "all is given back");
}

int main(void)
{
    times_are_read_digit_by_digit();
    times_written_in_any_way_are_the_same();
    sizes_are_whole_numbers();
    text_that_is_no_number();
    short_numbers_are_digits_alone();
    numbers_of_sixteen_digits();
    millionths_are_exact();
    ids_keep_every_digit();
    quantiles_are_those_of_the_sorted_list();
    quantiles_take_no_quadratic_time();
    top_lists_are_the_beginning_of_the_order();
    seeking_finds_what_halving_finds();
    runs_of_any_length_are_merged();
    bisecting_finds_the_first();
    keys_count_one_after_the_other();
    ids_find_what_was_put_there();
    stretches_overlap_however_they_came();
    a_map_of_nothing_and_without_memory();
    pairs_keep_their_numbers();
    pairs_of_ids_keep_their_numbers();
    equal_texts_have_equal_ids();
    texts_alike_at_their_ends_differ();
    any_bytes_can_be_interned();
    every_byte_matters();
    the_gate_counts_and_refuses();
    the_gate_fails_as_planned();
    large_blocks_keep_what_they_hold();
    arrays_know_the_size_of_their_elements();
    an_arena_gives_clear_aligned_memory();
    texts_are_compared();
    sums_stop_at_the_ends();
    numbers_are_written_as_printf_writes_them();
    numbers_are_written_alike_everywhere();
    every_byte_is_escaped_where_it_stands();
    a_failed_sink_is_told_once();
    counters_are_complete();
    notes_keep_the_first_place();
    errors_are_cut_to_their_room();
    each_front_end_has_its_words();
    a_failure_is_told_in_its_words();
    return done();
}
