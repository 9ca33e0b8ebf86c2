/* SPDX-License-Identifier: MIT
 * nsys_names.c - StringIds, read once into memory of the gate: joining tables would ask a hostile one for every row. */
#include "nsys_internal.h"
#include "sort.h"

#include "poison.h"

/* Of an id that is there twice, the text that was met first. */
static int by_id(const void *left, const void *right)
{
    const struct ap_nsys_named *a = left, *b = right;
    AP_BY_SMALLER(a->id, b->id);
    AP_BY_SMALLER(a->text.id, b->text.id);
    return 0;
}

static enum ap_status add(struct ap_nsys *nsys, struct ap_guarded_rows *rows, struct ap_error *reterr)
{
    struct ap_nsys_names *names = &nsys->names;
    struct ap_nsys_named named;
    struct ap_text text;
    if (!ap_guarded_integer(rows, 0, &named.id) || !ap_guarded_text(rows, 1, &text))
        return AP_OK;
    AP_TRY(ap_strpool_intern(&names->texts, text.data, text.bytes, &named.text, reterr));
    AP_TRY_ADD(nsys->gate, names->named, names->count, names->capacity, reterr, named);
    return AP_OK;
}

enum ap_status ap_nsys_names_read(struct ap_nsys *nsys, struct ap_error *reterr)
{
    static const char *const columns[] = { "id", "value" };
    struct ap_guarded_rows rows;
    enum ap_status status = AP_OK, next = AP_END;
    if (!ap_guarded_rows_begin(&nsys->database, "StringIds", columns, AP_COUNT_OF(columns), &rows))
        return AP_OK;
    while (status == AP_OK && (next = ap_guarded_rows_next(&rows)) == AP_OK)
        status = add(nsys, &rows, reterr);
    if (next == AP_ERROR_CUT)
        ap_nsys_count_damage(nsys, "StringIds");
    ap_guarded_rows_end(&rows);
    ap_sort(nsys->names.named, nsys->names.count, sizeof(nsys->names.named[0]), by_id);
    return status;
}

void ap_nsys_names_release(struct ap_nsys *nsys)
{
    ap_strpool_release(&nsys->names.texts);
    AP_FREE(nsys->gate, nsys->names.named, nsys->names.capacity);
}

bool ap_nsys_name(const struct ap_nsys *nsys, int64_t id, struct ap_text *ret_text)
{
    const struct ap_nsys_names *names = &nsys->names;
    size_t low = 0;
    AP_BISECT(low, names->count, at, names->named[at].id < id);
    if (low == names->count || names->named[low].id != id)
        return false;
    *ret_text = ap_strpool_text(&names->texts, names->named[low].text);
    return true;
}
