/* SPDX-License-Identifier: MIT
 * around_text.c - an answer of --around for people: a block for each member, a line for each row. */
#include <string.h>

#include "around.h"
#include "table_cell.h"
#include "visible_text.h"

#include "poison.h"

#define MAX_ELEMENTS 10 /* of a list in what is told; a table has them all */

static void write_member(struct ap_out *out, const struct ap_value *object, const char *key, const char *before)
{
    const struct ap_value *value = ap_value_member(object, key);
    if (!value || value->type == AP_VALUE_NULL)
        return;
    ap_out_string(out, before);
    ap_cell_write_text(out, value, 0);
}

/* One line: id, how long, what it is, when. */
static void write_row(struct ap_out *out, const struct ap_value *row, unsigned width)
{
    static const char *const weights[] = { "queue_delay_us", "overlap_us", "gap_us" };
    static const char *const told[] = { ", queued for ", ", overlaps ", ", gap " };
    struct ap_text id = ap_text_member(row, "row_id");
    ap_out_string(out, "  ");
    size_t used = 2 + ap_out_visible(out, id, 0);
    const struct ap_value *dur = ap_value_member(row, "dur_us");
    if (!dur)
        dur = ap_value_member(row, "bytes"); /* of memory */
    for (; used < 16; used++)
        ap_out_char(out, ' ');
    size_t columns = dur ? ap_cell_columns(dur) : 0;
    for (; columns < 9; columns++)
        ap_out_char(out, ' ');
    if (dur)
        ap_cell_write_text(out, dur, 0);
    ap_out_string(out, "  ");
    const struct ap_value *name = ap_value_member(row, "name");
    (void)ap_out_visible(out, ap_value_text(name ? name : ap_value_member(row, "line")), width > 60 ? width - 30 : 60);
    for (size_t i = 0; i < AP_COUNT_OF(weights); i++)
        write_member(out, row, weights[i], told[i]);
    ap_out_char(out, '\n');
}

void ap_title_write(struct ap_out *out, struct ap_text key)
{
    for (size_t i = 0; i < key.bytes; i++)
        ap_out_char(out, key.data[i] == '_' ? ' ' : key.data[i]);
    ap_out_char(out, ':');
}

static bool is_row(const struct ap_value *value)
{
    return ap_value_member(value, "row_id") != NULL;
}

static void write_list(struct ap_out *out, const struct ap_value *list, unsigned width)
{
    for (const struct ap_value *row = ap_value_first(list); row; row = row->next) {
        if (is_row(row)) {
            write_row(out, row, width);
            continue;
        }
        ap_out_string(out, "  ");
        ap_cell_write_text(out, row, width > 10 ? width - 4 : 0);
        ap_out_char(out, '\n');
    }
}

/* "share_ratio 57.7 %, speedup_bound_ratio 2.37 times" */
static void write_members(struct ap_out *out, const struct ap_value *object)
{
    const char *before = "";
    for (const struct ap_value *member = ap_value_first(object); member; member = member->next) {
        if (member->type == AP_VALUE_NULL || member->type == AP_VALUE_OBJECT)
            continue;
        ap_out_string(out, before);
        (void)ap_out_visible(out, member->key, 0);
        ap_out_char(out, ' ');
        ap_cell_write_text(out, member, 0);
        before = ", ";
    }
}

/* The first objects of a list, under its name. */
static void write_elements(struct ap_out *out, const struct ap_value *list)
{
    const struct ap_value *element = ap_value_first(list);
    for (size_t i = 0; element && i < MAX_ELEMENTS; i++, element = element->next) {
        ap_out_string(out, "\n    ");
        write_members(out, element);
    }
    if (element)
        ap_out_format(out, "\n    and %zu more", ap_value_count(list) - MAX_ELEMENTS);
}

void ap_facts_write_text(struct ap_out *out, const struct ap_value *object)
{
    ap_out_char(out, '\n');
    for (const struct ap_value *member = ap_value_first(object); member; member = member->next) {
        if (member->type == AP_VALUE_NULL || (member->type >= AP_VALUE_LIST && !ap_value_first(member)))
            continue;
        const struct ap_value *first = ap_value_first(member);
        bool objects = member->type == AP_VALUE_LIST && first->type == AP_VALUE_OBJECT;
        ap_out_string(out, "  ");
        (void)ap_out_visible(out, member->key, 0);
        ap_out_string(out, objects ? ":" : ": ");
        if (objects)
            write_elements(out, member);
        else if (member->type == AP_VALUE_OBJECT)
            write_members(out, member);
        else
            ap_cell_write_text(out, member, 0);
        ap_out_char(out, '\n');
    }
}

/* A list in an object, with what the object says of all of it. */
static void write_object(struct ap_out *out, const struct ap_value *object, unsigned width)
{
    const struct ap_value *list = ap_value_member(object, "rows");
    list = list ? list : ap_value_member(object, "largest");
    if (!list || list->type != AP_VALUE_LIST) {
        ap_facts_write_text(out, object);
        return;
    }
    int64_t count = ap_integer_member(object, "count", 0);
    ap_out_format(out, " %lld", (long long)count);
    write_member(out, object, "total_us", ", ");
    write_member(out, object, "bytes", ", ");
    if (count > (int64_t)ap_value_count(list))
        ap_out_format(out, "; the first %zu", ap_value_count(list));
    ap_out_char(out, '\n');
    write_list(out, list, width);
}

void ap_around_write_text(struct ap_out *out, const struct ap_value *answer, unsigned width)
{
    for (const struct ap_value *member = ap_value_first(answer); member; member = member->next) {
        bool empty = member->type == AP_VALUE_NULL || (member->type >= AP_VALUE_LIST && !ap_value_first(member)) ||
                     ap_integer_member(member, "count", 1) == 0 ||
                     (member->type == AP_VALUE_COUNT && member->as.integer == 0);
        if (empty)
            continue;
        ap_title_write(out, member->key);
        if (member->type == AP_VALUE_LIST) {
            ap_out_char(out, '\n');
            write_list(out, member, width);
        } else if (member->type == AP_VALUE_OBJECT && is_row(member) && !ap_text_is(member->key, "row") &&
                   !ap_text_is(member->key, "allocation")) {
            ap_out_char(out, '\n');
            write_row(out, member, width);
        } else if (member->type == AP_VALUE_OBJECT) {
            write_object(out, member, width);
        } else {
            ap_out_char(out, ' ');
            ap_cell_write_text(out, member, 0);
            ap_out_char(out, '\n');
        }
    }
}
