/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tap.h"
#include "value_text.h"

#include "poison.h"

static void reads(struct ap_value value, const char *want)
{
    char text[AP_VALUE_TEXT_BYTES];
    size_t bytes = ap_format_value(&value, text, sizeof(text));
    is_str(text, want, want);
    is_int(bytes, strlen(text), "the length is returned");
}

static struct ap_value integer(enum ap_value_type type, int64_t number)
{
    return (struct ap_value){ .type = type, .as.integer = number };
}

static struct ap_value real(enum ap_value_type type, const char *key, double number)
{
    return (struct ap_value){ .type = type, .key = { key, strlen(key) }, .as.number = number };
}

static void times_have_three_digits_and_a_unit(void)
{
    reads(integer(AP_VALUE_TIME_NS, 0), "0 us");
    reads(integer(AP_VALUE_TIME_NS, 1), "0.001 us");
    reads(integer(AP_VALUE_TIME_NS, 1250), "1.25 us");
    reads(integer(AP_VALUE_TIME_NS, 999499), "999 us");
    reads(integer(AP_VALUE_TIME_NS, 999500), "1 ms");
    reads(integer(AP_VALUE_TIME_NS, 1250000), "1.25 ms");
    reads(integer(AP_VALUE_TIME_NS, 415800000), "416 ms");
    reads(integer(AP_VALUE_TIME_NS, 1049400000), "1.05 s");
    reads(integer(AP_VALUE_TIME_NS, 43425000000), "43.4 s");
    reads(integer(AP_VALUE_TIME_NS, INT64_C(12345000000000)), "12,345 s");
    reads(integer(AP_VALUE_TIME_NS, -1250000), "-1.25 ms");
    reads(integer(AP_VALUE_TIME_NS, INT64_MAX), "9,223,372,037 s");
    reads(integer(AP_VALUE_TIME_NS, INT64_MIN), "-9,223,372,037 s");
}

static void sizes_are_binary(void)
{
    reads(integer(AP_VALUE_BYTES, 0), "0 B");
    reads(integer(AP_VALUE_BYTES, 512), "512 B");
    reads(integer(AP_VALUE_BYTES, 1023), "1,023 B");
    reads(integer(AP_VALUE_BYTES, 1024), "1 KiB");
    reads(integer(AP_VALUE_BYTES, 65536), "64 KiB");
    reads(integer(AP_VALUE_BYTES, 1048575), "1 MiB");
    reads(integer(AP_VALUE_BYTES, INT64_C(3650722201)), "3.4 GiB");
    reads(integer(AP_VALUE_BYTES, INT64_MAX), "8,388,608 TiB");
}

static void shares_are_per_cent_and_quotients_times(void)
{
    reads(real(AP_VALUE_RATIO, "utilization_ratio", 0.39623), "39.6 %");
    reads(real(AP_VALUE_RATIO, "utilization_ratio", 1), "100 %");
    reads(real(AP_VALUE_RATIO, "utilization_ratio", 0), "0 %");
    reads(real(AP_VALUE_RATIO, "utilization_ratio", 0.005), "0.5 %");
    reads(real(AP_VALUE_RATIO, "utilization_ratio", 0.000002), "0.0002 %");
    reads(real(AP_VALUE_RATIO, "utilization_ratio", 0.0000000001), "<0.0001 %");
    reads(real(AP_VALUE_RATIO, "reserved_vs_allocated_ratio", 1.5), "1.5 times");
    reads(real(AP_VALUE_RATIO, "cold_start_ratio", 12.345), "12.3 times");
    reads(real(AP_VALUE_RATIO, "speedup_bound_ratio", 3.86), "3.86 times");
    reads(real(AP_VALUE_NUMBER, "allocs_per_s", 123456.7), "123,457");
    reads(real(AP_VALUE_NUMBER, "per_step", 2.5), "2.5");
    reads(real(AP_VALUE_NUMBER, "per_step", 1e300), "1e+300");
}

static void the_rest(void)
{
    reads(integer(AP_VALUE_COUNT, 1290), "1,290");
    reads(integer(AP_VALUE_COUNT, INT64_MIN), "-9,223,372,036,854,775,808");
    reads(integer(AP_VALUE_BOOL, 1), "yes");
    reads(integer(AP_VALUE_BOOL, 0), "no");
    reads((struct ap_value){ .type = AP_VALUE_TEXT, .as.text = { "name", 4 } }, "name");
}

static void what_is_not_known_is_never_0(void)
{
    char text[AP_VALUE_TEXT_BYTES];
    (void)ap_format_value(NULL, text, sizeof(text));
    is_str(text, "n/a", "a value that is not there");
    reads((struct ap_value){ .type = AP_VALUE_NULL }, "n/a");
    reads((struct ap_value){ .type = AP_VALUE_LIST }, "n/a");
    reads(real(AP_VALUE_RATIO, "x_ratio", (double)NAN), "n/a");
    reads(real(AP_VALUE_NUMBER, "x", (double)INFINITY), "n/a");
}

static void little_room_cuts(void)
{
    struct ap_value value = integer(AP_VALUE_COUNT, 1234567);
    char text[4];
    is_int(ap_format_value(&value, text, sizeof(text)), 3, "three bytes fit");
    is_str(text, "1,2", "and a NUL behind them");
    is_int(ap_format_value(&value, text, 1), 0, "no byte fits");
    is_str(text, "", "only the NUL");
}

int main(void)
{
    times_have_three_digits_and_a_unit();
    sizes_are_binary();
    shares_are_per_cent_and_quotients_times();
    the_rest();
    what_is_not_known_is_never_0();
    little_room_cuts();
    return done();
}
