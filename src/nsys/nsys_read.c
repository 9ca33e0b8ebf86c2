/* SPDX-License-Identifier: MIT
 * nsys_read.c - the export from its header over its tables to the end of the text, as much at a time as is asked for. */
#include <stdio.h>
#include <string.h>

#include "nsys_internal.h"

#include "poison.h"

/* So much text is made before it is handed on. */
#define CHUNK_BYTES ((size_t)64 << 10)

bool ap_nsys_begins(const uint8_t *head, size_t bytes)
{
    static const char magic[16] = "SQLite format 3";
    return bytes >= sizeof(magic) && memcmp(head, magic, sizeof(magic)) == 0;
}

static enum ap_status append(void *self, const char *data, size_t bytes, struct ap_error *reterr)
{
    struct ap_nsys *nsys = self;
    AP_TRY(AP_RESERVE(nsys->gate, nsys->pending, nsys->pending_capacity, nsys->pending_bytes + bytes, reterr));
    memcpy(nsys->pending + nsys->pending_bytes, data, bytes);
    nsys->pending_bytes += bytes;
    return AP_OK;
}

void ap_nsys_count_damage(struct ap_nsys *nsys, const char *table)
{
    if (!nsys->damaged_tables++)
        (void)snprintf(nsys->damaged_table, sizeof(nsys->damaged_table), "%s", table);
}

static enum ap_status open_database(struct ap_nsys *nsys, const struct ap_nsys_pages *pages, struct ap_error *reterr)
{
    AP_TRY(ap_guarded_open(&nsys->database, pages, reterr));
    if (ap_nsys_is_export(nsys))
        return AP_OK;
    if (ap_guarded_has_table(&nsys->database, "StringTable"))
        return ap_fail(reterr, AP_ERROR_INPUT,
                       "this is an SQLite database of nvprof, which is not read: record with nsys profile, then nsys export "
                       "-t sqlite");
    return ap_fail(reterr, AP_ERROR_INPUT,
                   "this is an SQLite database, but no export of Nsight Systems (it lacks StringIds and the tables of "
                   "events): expected what nsys export -t sqlite wrote; of rocprofv3 export with -f json");
}

enum ap_status ap_nsys_open(struct ap_gate *gate, const struct ap_nsys_pages *pages, struct ap_nsys **ret_nsys,
                            struct ap_error *reterr)
{
    struct ap_nsys *nsys;
    AP_TRY(AP_ALLOC_CLEARED(gate, nsys, 1, reterr));
    nsys->gate = gate;
    ap_strpool_init(&nsys->names.texts, gate);
    ap_strpool_init(&nsys->processes, gate);
    ap_out_init(&nsys->out, (struct ap_sink){ append, nsys });
    enum ap_status status = open_database(nsys, pages, reterr);
    if (status != AP_OK) {
        ap_nsys_free(nsys);
        return status;
    }
    *ret_nsys = nsys;
    return AP_OK;
}

void ap_nsys_free(struct ap_nsys *nsys)
{
    if (!nsys)
        return;
    struct ap_gate *gate = nsys->gate;
    if (nsys->table_open)
        ap_guarded_rows_end(&nsys->rows);
    ap_guarded_release(&nsys->database);
    ap_nsys_names_release(nsys);
    ap_strpool_release(&nsys->processes);
    AP_FREE(gate, nsys->records, nsys->record_capacity);
    AP_FREE(gate, nsys->pending, nsys->pending_capacity);
    AP_FREE(gate, nsys, 1);
}

/* ---- text ---- */

static enum ap_status begin(struct ap_nsys *nsys, struct ap_error *reterr)
{
    AP_TRY(ap_nsys_header_write(nsys, reterr));
    nsys->header_written = true;
    return AP_OK;
}

static enum ap_status next_row(struct ap_nsys *nsys, const struct ap_nsys_table *table, struct ap_error *reterr)
{
    enum ap_status status = ap_guarded_rows_next(&nsys->rows);
    if (status == AP_OK)
        return table->emit(nsys, reterr);
    if (status == AP_ERROR_CUT)
        ap_nsys_count_damage(nsys, table->name);
    ap_guarded_rows_end(&nsys->rows);
    nsys->table_open = false;
    nsys->table++;
    return AP_OK;
}

static size_t column_count(const struct ap_nsys_table *table)
{
    size_t count = 0;
    while (count < AP_GUARDED_COLUMNS_MAX && table->columns[count])
        count++;
    return count;
}

/* One more row, or one table further. */
static enum ap_status advance(struct ap_nsys *nsys, struct ap_error *reterr)
{
    const struct ap_nsys_table *table = &ap_nsys_tables[nsys->table];
    if (nsys->table_open)
        return next_row(nsys, table, reterr);
    if (!table->name) {
        ap_out_string(&nsys->out, "\n]}\n");
        nsys->ended = true;
        return AP_OK;
    }
    if (nsys->table == 0) { /* not with the header, behind which who asks what a file is stops */
        AP_TRY(ap_nsys_names_read(nsys, reterr));
        AP_TRY(ap_nsys_target_read(nsys, reterr));
    }
    nsys->table_open = ap_guarded_rows_begin(&nsys->database, table->name, table->columns, column_count(table), &nsys->rows);
    nsys->table += !nsys->table_open;
    return AP_OK;
}

static enum ap_status make_text(struct ap_nsys *nsys, struct ap_error *reterr)
{
    nsys->pending_bytes = nsys->pending_at = 0;
    if (!nsys->header_written)
        AP_TRY(begin(nsys, reterr));
    else
        while (!nsys->ended && nsys->pending_bytes < CHUNK_BYTES)
            AP_TRY(advance(nsys, reterr));
    return ap_out_finish(&nsys->out, reterr);
}

enum ap_status ap_nsys_read(struct ap_nsys *nsys, uint8_t *to, size_t cap_bytes, size_t *ret_bytes, struct ap_error *reterr)
{
    while (nsys->pending_at == nsys->pending_bytes) {
        if (nsys->ended)
            return AP_END;
        AP_TRY(make_text(nsys, reterr));
    }
    size_t bytes = nsys->pending_bytes - nsys->pending_at;
    bytes = bytes < cap_bytes ? bytes : cap_bytes;
    memcpy(to, nsys->pending + nsys->pending_at, bytes);
    nsys->pending_at += bytes;
    *ret_bytes = bytes;
    return AP_OK;
}

void ap_nsys_note(const struct ap_nsys *nsys, struct ap_notes *notes)
{
    if (!nsys->damaged_tables)
        return;
    ap_note_many(notes, AP_COUNTER_database_damaged, nsys->damaged_tables);
    ap_note_detail(notes, AP_COUNTER_database_damaged, "the first one is %s", nsys->damaged_table);
}
