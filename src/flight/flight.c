/* SPDX-License-Identifier: MIT
 * The columns. */
#include "flight.h"

#include "sort.h"

#include "poison.h"

void ap_flight_init(struct ap_flight *flight, struct ap_gate *gate)
{
    *flight = (struct ap_flight){ .gate = gate, .group_names = { .gate = gate }, .processes = { .gate = gate } };
    ap_strpool_init(&flight->strings, gate);
}

/* Every column, its place among the capacities, and where an entry has it. */
#define COLUMNS(DO)      \
    DO(0, dump)          \
    DO(1, group)         \
    DO(2, sequence)      \
    DO(3, operation)     \
    DO(4, library)       \
    DO(5, input_count)   \
    DO(6, output_count)  \
    DO(7, input_sizes)   \
    DO(8, output_sizes)  \
    DO(9, input_types)   \
    DO(10, output_types) \
    DO(11, created_ns)   \
    DO(12, started_ns)   \
    DO(13, completed_ns) \
    DO(14, duration_ns)  \
    DO(15, site)         \
    DO(16, peer_from)    \
    DO(17, peer_to)      \
    DO(18, state)        \
    DO(19, flags)

void ap_flight_release(struct ap_flight *flight)
{
    struct ap_flight_entries *entries = &flight->entries;
#define RELEASE(place, column) AP_FREE(flight->gate, entries->column, entries->capacity[place]);
    COLUMNS(RELEASE)
#undef RELEASE
    AP_FREE(flight->gate, flight->dumps, flight->dump_capacity);
    AP_FREE(flight->gate, flight->configs, flight->config_capacity);
    AP_FREE(flight->gate, flight->names, flight->name_capacity);
    AP_FREE(flight->gate, flight->process_dumps, flight->process_capacity);
    AP_FREE(flight->gate, flight->decoded, flight->decoded_capacity);
    ap_pair_map_release(&flight->group_names);
    ap_pair_map_release(&flight->processes);
    ap_strpool_release(&flight->strings);
}

enum ap_status ap_flight_add_dump(struct ap_flight *flight, const struct ap_flight_dump *dump, struct ap_error *reterr)
{
    AP_TRY_ADD(flight->gate, flight->dumps, flight->dump_count, flight->dump_capacity, reterr, *dump);
    return AP_OK;
}

enum ap_status ap_flight_name_group(struct ap_flight *flight, struct ap_str name, struct ap_str description,
                                    uint32_t *ret_group, struct ap_error *reterr)
{
    AP_TRY(AP_RESERVE(flight->gate, flight->names, flight->name_capacity, (size_t)flight->name_count + 1, reterr));
    AP_TRY(ap_pair_map_add(&flight->group_names, name.id, description.id, ret_group, reterr));
    if (*ret_group == flight->name_count)
        flight->names[flight->name_count++] = (struct ap_flight_group_name){ name, description, 0 };
    return AP_OK;
}

enum ap_status ap_flight_add_entry(struct ap_flight *flight, const struct ap_flight_entry *entry, struct ap_error *reterr)
{
    struct ap_flight_entries *entries = &flight->entries;
    size_t needed = (size_t)entries->count + 1;
    if (entries->count == AP_FLIGHT_NONE - 1)
        return ap_fail(reterr, AP_ERROR_LIMIT, "the dumps hold more than four thousand million entries");
#define RESERVE(place, column) AP_TRY(AP_RESERVE(flight->gate, entries->column, entries->capacity[place], needed, reterr));
    COLUMNS(RESERVE)
#undef RESERVE
#define TAKE(place, its_column) entries->its_column[entries->count] = entry->its_column;
    COLUMNS(TAKE)
#undef TAKE
    entries->count++;
    flight->dumps[entry->dump].entry_count++;
    return AP_OK;
}

/* ------------------------------------------------------------------------------------------- one dump for each rank */

struct ranked {
    uint32_t rank, dump;
};

static int by_rank(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    AP_BY_SMALLER(a->rank, b->rank);
    AP_BY_SMALLER(a->dump, b->dump);
    return 0;
}

static void keep_entries(struct ap_flight *flight, const uint32_t *new_dumps)
{
    struct ap_flight_entries *entries = &flight->entries;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < entries->count; i++) {
        if (new_dumps[entries->dump[i]] == AP_FLIGHT_NONE)
            continue;
#define MOVE(place, column) entries->column[kept] = entries->column[i];
        COLUMNS(MOVE)
#undef MOVE
        entries->dump[kept] = new_dumps[entries->dump[kept]];
        kept++;
    }
    entries->count = kept;
}

/* Dumps in the order of their ranks; of two of one rank the first one. */
static void order_dumps(struct ap_flight *flight, struct ranked *ranked, struct ap_flight_dump *ordered, uint32_t *new_dumps,
                        struct ap_notes *notes)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < flight->dump_count; i++)
        ranked[i] = (struct ranked){ flight->dumps[i].rank, i };
    ap_sort(ranked, flight->dump_count, sizeof(ranked[0]), by_rank);
    for (uint32_t i = 0; i < flight->dump_count; i++) {
        bool again = i && ranked[i].rank == ranked[i - 1].rank;
        new_dumps[ranked[i].dump] = again ? AP_FLIGHT_NONE : kept;
        if (again)
            ap_note_many(notes, AP_COUNTER_flight_rank_twice, 1);
        else
            ordered[kept++] = flight->dumps[ranked[i].dump];
    }
    for (uint32_t i = 0; i < kept; i++)
        flight->dumps[i] = ordered[i];
    flight->dump_count = kept;
}

enum ap_status ap_flight_finish(struct ap_flight *flight, struct ap_notes *notes, struct ap_error *reterr)
{
    uint32_t count = flight->dump_count;
    struct ranked *ranked;
    struct ap_flight_dump *ordered;
    uint32_t *new_dumps = NULL;
    if (!count)
        return AP_OK;
    AP_TRY(AP_ALLOC(flight->gate, ranked, count, reterr));
    enum ap_status status = AP_ALLOC(flight->gate, ordered, count, reterr);
    AP_AND_THEN(status, AP_ALLOC(flight->gate, new_dumps, count, reterr));
    if (status == AP_OK) {
        order_dumps(flight, ranked, ordered, new_dumps, notes);
        keep_entries(flight, new_dumps);
    }
    AP_FREE(flight->gate, new_dumps, count);
    AP_FREE(flight->gate, ordered, count);
    AP_FREE(flight->gate, ranked, count);
    return status;
}
