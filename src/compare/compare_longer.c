/* SPDX-License-Identifier: MIT
 * compare_longer.c - what the verdict says of rows that take longer or less time than before: how many, and which most. */
#include <stdio.h>
#include <string.h>

#include "comparing.h"
#include "value_text.h"

#include "poison.h"

/* The names that changed most in one direction: "aten::mm +7.74 ms, aten::addmm +4.44 ms". */
static void add_names(const struct ap_value *list, bool longer, char *text, size_t bytes)
{
    enum { MOST_NAMES = 3 };
    const char *before = " (";
    size_t told = 0;
    for (const struct ap_value *row = ap_value_first(ap_value_member(list, "rows")); row && told < MOST_NAMES;
         row = row->next) {
        char delta[AP_VALUE_TEXT_BYTES];
        struct ap_text name = ap_text_member(row, "name"), change = ap_text_member(row, "change");
        if ((ap_integer_member(row, "delta_us", 0) > 0) != longer || ap_text_is(change, "new") || ap_text_is(change, "gone"))
            continue;
        size_t used = strlen(text);
        (void)ap_format_value(ap_value_member(row, "delta_us"), delta, sizeof(delta));
        (void)snprintf(text + used, bytes - used, "%s%.*s %s%s", before, ap_shown_bytes(name, 0), name.data,
                       longer ? "+" : "", delta);
        before = ", ";
        told++;
    }
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, "%s", told ? ")" : "");
}

/* Operators say what work changed: of the device, where it was recorded, else of the host. */
void ap_add_rows_sentence(const struct ap_comparing *comparing, bool with_device, char *text, size_t bytes)
{
    static const char *const counts[] = { "worse_count", "better_count" }, *const words[] = { "; longer: ", "; shorter: " };
    static const struct {
        const char *list, *one, *more;
    } rows[] = {
        { "kernels", "kernel", "kernels" },
        { "device_operators", "operator on the device", "operators on the device" },
        { "host_operators", "operator on the host", "operators on the host" },
    };
    enum { DEVICE_ROWS = 1, HOST_ROWS = 2 };
    bool on_device = ap_integer_at(comparing->after, "operators.device_us", 0) > 0;
    size_t first = with_device ? 0 : HOST_ROWS;
    for (size_t i = 0; i < AP_COUNT_OF(counts); i++) {
        const char *before = words[i];
        for (size_t row = first; row < AP_COUNT_OF(rows); row++) {
            const struct ap_value *list = ap_value_member(comparing->comparison, rows[row].list);
            int64_t count = ap_integer_member(list, counts[i], 0);
            size_t used = strlen(text);
            if (count <= 0)
                continue;
            (void)snprintf(text + used, bytes - used, "%s%lld %s", before, (long long)count,
                           count == 1 ? rows[row].one : rows[row].more);
            if (row == (on_device && with_device ? DEVICE_ROWS : HOST_ROWS))
                add_names(list, i == 0, text, bytes);
            before = ", ";
        }
    }
}
