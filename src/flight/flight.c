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
    struct ap_flight_dump *added = &flight->dumps[flight->dump_count - 1];
    added->rank = added->rank_is_known ? added->rank : flight->dump_count - 1;
    added->entry_count = 0;
    return AP_OK;
}

enum ap_status ap_flight_add_process(struct ap_flight *flight, const struct ap_flight_dump *dump, uint32_t *ret_dump,
                                     struct ap_error *reterr)
{
    uint32_t process,
        id = dump->process_id >= 0 && dump->process_id <= INT32_MAX ? (uint32_t)dump->process_id : AP_FLIGHT_NONE;
    AP_TRY(AP_RESERVE(flight->gate, flight->process_dumps, flight->process_capacity, (size_t)flight->process_count + 1,
                      reterr));
    AP_TRY(ap_pair_map_add(&flight->processes, dump->host.id, id, &process, reterr));
    if (process == flight->process_count) {
        AP_TRY(ap_flight_add_dump(flight, dump, reterr));
        flight->process_dumps[flight->process_count++] = flight->dump_count - 1;
    }
    *ret_dump = flight->process_dumps[process];
    struct ap_flight_dump *it = &flight->dumps[*ret_dump];
    if (dump->world_size > it->world_size) {
        it->world_size = dump->world_size;
        it->rank = dump->rank_is_known ? dump->rank : it->rank;
        it->rank_is_known = it->rank_is_known || dump->rank_is_known;
    }
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

/* ------------------------------------------------------------------------------------------------ of several files */

struct joining {
    struct ap_flight *to;
    const struct ap_flight *from;
    struct ap_str *texts; /* by id there: the one here */
    uint32_t *dumps, *groups;
};

static struct ap_str text_of(const struct joining *joining, struct ap_str text)
{
    return joining->texts[text.id];
}

static enum ap_status join_texts(const struct joining *joining, struct ap_error *reterr)
{
    joining->texts[0].id = 0;
    for (uint32_t id = 1; id <= ap_strpool_count(&joining->from->strings); id++) {
        struct ap_text text = ap_flight_text(joining->from, (struct ap_str){ id });
        AP_TRY(ap_strpool_intern(&joining->to->strings, text.data, text.bytes, &joining->texts[id], reterr));
    }
    return AP_OK;
}

static enum ap_status join_dump(const struct joining *joining, uint32_t number, struct ap_error *reterr)
{
    struct ap_flight *to = joining->to;
    struct ap_flight_dump dump = joining->from->dumps[number];
    dump.first_config += to->config_count;
    dump.version = text_of(joining, dump.version);
    dump.library = text_of(joining, dump.library);
    dump.host = text_of(joining, dump.host);
    if (dump.kind == AP_FLIGHT_INSPECTOR)
        return ap_flight_add_process(to, &dump, &joining->dumps[number], reterr);
    joining->dumps[number] = to->dump_count;
    return ap_flight_add_dump(to, &dump, reterr);
}

static enum ap_status join_groups(const struct joining *joining, struct ap_error *reterr)
{
    struct ap_flight *to = joining->to;
    const struct ap_flight *from = joining->from;
    for (uint32_t i = 0; i < from->config_count; i++) {
        struct ap_flight_config config = from->configs[i];
        config.name = text_of(joining, config.name);
        config.description = text_of(joining, config.description);
        config.ranks = text_of(joining, config.ranks);
        AP_TRY_ADD(to->gate, to->configs, to->config_count, to->config_capacity, reterr, config);
    }
    for (uint32_t i = 0; i < from->name_count; i++) {
        const struct ap_flight_group_name *name = &from->names[i];
        AP_TRY(ap_flight_name_group(to, text_of(joining, name->name), text_of(joining, name->description),
                                    &joining->groups[i], reterr));
        if (name->size)
            to->names[joining->groups[i]].size = name->size;
    }
    return AP_OK;
}

static enum ap_status join_entries(const struct joining *joining, struct ap_error *reterr)
{
    const struct ap_flight_entries *entries = &joining->from->entries;
    for (uint32_t i = 0; i < entries->count; i++) {
        struct ap_flight_entry entry;
#define GIVE(place, column) entry.column = entries->column[i];
        COLUMNS(GIVE)
#undef GIVE
        entry.dump = joining->dumps[entry.dump];
        entry.group = joining->groups[entry.group];
        struct ap_str *const texts[] = { &entry.operation,   &entry.library,      &entry.site,        &entry.input_sizes,
                                         &entry.input_types, &entry.output_sizes, &entry.output_types };
        for (size_t k = 0; k < AP_COUNT_OF(texts); k++)
            *texts[k] = text_of(joining, *texts[k]);
        AP_TRY(ap_flight_add_entry(joining->to, &entry, reterr));
    }
    return AP_OK;
}

static enum ap_status join_all(const struct joining *joining, struct ap_error *reterr)
{
    AP_TRY(join_texts(joining, reterr));
    for (uint32_t i = 0; i < joining->from->dump_count; i++)
        AP_TRY(join_dump(joining, i, reterr));
    AP_TRY(join_groups(joining, reterr));
    return join_entries(joining, reterr);
}

enum ap_status ap_flight_join(struct ap_flight *flight, const struct ap_flight *other, struct ap_error *reterr)
{
    struct joining joining = { .to = flight, .from = other };
    size_t texts = (size_t)ap_strpool_count(&other->strings) + 1, dumps = (size_t)other->dump_count + 1;
    size_t groups = (size_t)other->name_count + 1;
    AP_TRY(AP_ALLOC(flight->gate, joining.texts, texts, reterr));
    enum ap_status status = AP_ALLOC(flight->gate, joining.dumps, dumps, reterr);
    AP_AND_THEN(status, AP_ALLOC(flight->gate, joining.groups, groups, reterr));
    AP_AND_THEN(status, join_all(&joining, reterr));
    AP_FREE(flight->gate, joining.groups, groups);
    AP_FREE(flight->gate, joining.dumps, dumps);
    AP_FREE(flight->gate, joining.texts, texts);
    return status;
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
