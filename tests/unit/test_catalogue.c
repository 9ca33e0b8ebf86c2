/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "catalogue.h"
#include "tap.h"

static void rows_are_found_by_their_path(void)
{
    const struct ap_figure_info *figure = ap_catalogue_find(AP_TEXT("gpu.utilization_ratio"));
    ok(figure && strcmp(ap_figure_text(figure->path), "gpu.utilization_ratio") == 0, "a figure");
    ok(figure && figure->unit == AP_UNIT_ratio && figure->better == AP_BETTER_higher &&
           figure->compared == AP_COMPARED_figures && figure->words &&
           strcmp(ap_figure_text(figure->title), "GPU utilization") == 0,
       "with its unit, which way is better, and its title");
    ok(ap_catalogue_find(AP_TEXT("memory.replay.devices.peak_reserved_bytes")) != NULL, "in a list");
    ok(ap_catalogue_find(AP_TEXT("cpu.top_ops.self_dur_us")) != NULL, "in a shape");
    ok(!ap_catalogue_find(AP_TEXT("")) && !ap_catalogue_find(AP_TEXT("steps")) &&
           !ap_catalogue_find(AP_TEXT("steps.p50_us.x")) && !ap_catalogue_find(AP_TEXT("verdict.bound")),
       "no objects, no texts, nothing below a figure");
}

static void keys_of_the_input_stand_under_a_pattern(void)
{
    const struct ap_figure_info *member = ap_catalogue_find(AP_TEXT("cpu.signals.foreach_update.count"));
    ok(member && member->is_member && member->words, "a key that the map always has is a row that rules may name");
    const struct ap_figure_info *any = ap_catalogue_find(AP_TEXT("cpu.signals.anything.count"));
    ok(any && strcmp(ap_figure_text(any->path), "cpu.signals.*.count") == 0 && !any->words, "any other is the pattern");
    ok(!ap_catalogue_find(AP_TEXT("cpu.signals.count")), "a pattern stands for exactly one key");
    ok(ap_catalogue_matches(AP_TEXT("a.b.c"), "a.*.c") && !ap_catalogue_matches(AP_TEXT("a.b.b.c"), "a.*.c") &&
           !ap_catalogue_matches(AP_TEXT("a..c"), "a.*.c"),
       "key by key");
}

static void conditions_name_numbers(void)
{
    ok(ap_catalogue_has_number(AP_TEXT("steps.p50_us")), "a time");
    ok(!ap_catalogue_has_number(AP_TEXT("trace.complete")), "no yes or no");
    ok(!ap_catalogue_has_number(AP_TEXT("idle.gaps.start_us")), "no place in the trace");
    ok(!ap_catalogue_has_number(AP_TEXT("<row_of_kernels>.dur_us")), "no row of the recording");
}

static void units_are_those_of_the_rows(void)
{
    is_int(ap_catalogue_unit(AP_TEXT("launches.queue_delay_us.p50")), AP_UNIT_time, "the name need not end in the unit");
    is_int(ap_catalogue_unit(AP_TEXT("memory.bytes_read")), AP_UNIT_bytes, "or may end otherwise");
    is_int(ap_catalogue_unit(AP_TEXT("no.such_us")), AP_UNIT_number, "what is not known has none");
    is_int(ap_catalogue_key_unit(AP_TEXT("longest.start_us")), AP_UNIT_time, "a column of a table");
    is_int(ap_catalogue_key_unit(AP_TEXT("share_ratio")), AP_UNIT_ratio, "of any");
    is_int(ap_catalogue_key_unit(AP_TEXT("ratio_of_nothing")), AP_UNIT_number, "one of none");
    is_int(ap_catalogue_key_unit(AP_TEXT("")), AP_UNIT_number, "no column");
}

static void keys_have_one_unit(void)
{
    const struct ap_key_info *key = ap_catalogue_key(AP_TEXT("communication.by_operation.busbw_gigabytes_per_s"));
    ok(key && key->unit == AP_UNIT_number && strcmp(key->sign, "GB/s") == 0, "of a path its last key");
    key = ap_catalogue_key(AP_TEXT("cold_start_ratio"));
    ok(key && key->unit == AP_UNIT_ratio && strcmp(key->sign, "times") == 0, "a ratio that is no share");
    ok(*ap_catalogue_sign(AP_TEXT("share_ratio")) == '\0', "shares have no sign");
    ok(strcmp(ap_catalogue_sign(AP_TEXT("rates")), "/s") == 0, "a map has that of what is in it");
    ok(!ap_catalogue_key(AP_TEXT("of_nothing_ratio")) && !ap_catalogue_key(AP_TEXT("")), "no suffix tells");
    size_t wrong = 0;
    for (size_t i = 1; i < ap_key_count; i++)
        wrong += strcmp(ap_keys[i - 1].key, ap_keys[i].key) >= 0;
    is_u64(wrong, 0, "keys stand in order, each once");
}

static void rows_stand_in_order(void)
{
    size_t wrong = 0;
    for (size_t i = 1; i < ap_figure_count; i++)
        wrong += ap_text_compare(ap_text_of(ap_figure_text(ap_figures[i - 1].path)),
                                 ap_text_of(ap_figure_text(ap_figures[i].path))) >= 0;
    is_u64(wrong, 0, "rows stand in order, each once");
}

/* The table of their hashes is written by make_catalogue.py, and read by C. */
static void each_row_is_found(void)
{
    size_t wrong = 0;
    for (size_t i = 0; i < ap_figure_count; i++)
        wrong += ap_catalogue_find(ap_text_of(ap_figure_text(ap_figures[i].path))) != &ap_figures[i];
    is_u64(wrong, 0, "each row is found by its path");
    ok(!ap_catalogue_find((struct ap_text){ "trace\0x", 7 }), "a path ends with its text, not with a zero byte in it");
}

int main(void)
{
    rows_are_found_by_their_path();
    keys_of_the_input_stand_under_a_pattern();
    conditions_name_numbers();
    units_are_those_of_the_rows();
    keys_have_one_unit();
    rows_stand_in_order();
    each_row_is_found();
    return done();
}
