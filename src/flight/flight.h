/* SPDX-License-Identifier: MIT
 * flight.h - what the ranks of a run had recorded of their collectives when they hung: dumps of PyTorch's flight recorder,
 * records of the Inspector of NCCL and RCCL. Knows nothing of traces, nor of what follows from the dumps.
 *
 * How the room goes about it. Every dump of a run is read into one set of columns, an entry a row. What is said of a run is
 * found from the columns in passes, each in a file of its own, each linear but for one sort:
 *
 *   flight_groups    process groups: one by name and members over all ranks; who is in it; what each rank did in it last
 *   flight_order     the entries by group, sequence number and rank: who entered what
 *   flight_mismatch  entries of one sequence number that are different operations, sizes or types
 *   flight_p2p       sends without a receive
 *   flight_waits     who waits for whom over all groups: roots, circles
 *   flight_timing    who enqueues late; which operations lasted far longer than others like them
 *   hang_cause       what is wrong, how sure that is and what to do
 *   part_hang        the key "hang" of the report
 *
 * A rank that has no entry where others wait is not blamed for it when its oldest entries were overwritten, and one odd
 * entry alone never tells a call that was left out from one that was moved: what the dumps leave open stays open. */
#ifndef AP_FLIGHT_H
#define AP_FLIGHT_H

#include "json_reader.h"
#include "pair_map.h"
#include "strpool.h"

#define AP_FLIGHT_NONE UINT32_MAX

enum ap_flight_kind {
    AP_FLIGHT_RECORDER, /* of PyTorch */
    AP_FLIGHT_INSPECTOR /* of NCCL, RCCL: operations that ended, not all of them */
};

/** One process. */
struct ap_flight_dump {
    const char *path; /* borrowed */
    enum ap_flight_kind kind;
    uint32_t rank;
    bool rank_is_known;            /* else numbered in the order of the files */
    bool cut;                      /* later entries are missing, or some that could not be read */
    bool wrapped;                  /* older entries are missing */
    bool has_status, has_enqueued; /* pg_status was there; by it anything was ever enqueued */
    struct ap_str version, library, host;
    int64_t process_id; /* -1 = not told */
    int64_t written_ns; /* as the file says; 0 = not known */
    uint32_t entry_count, world_size;
    uint32_t first_config, config_count; /* of flight->configs */
};

/** A process group as one rank knows it. */
struct ap_flight_config {
    struct ap_str name, description, ranks; /* ranks: "[0, 1]" */
};

enum ap_flight_state { AP_FLIGHT_STATE_UNKNOWN, AP_FLIGHT_SCHEDULED, AP_FLIGHT_STARTED, AP_FLIGHT_COMPLETED };

#define AP_FLIGHT_IS_P2P 1u
#define AP_FLIGHT_IS_RETIRED 2u
#define AP_FLIGHT_IS_SEND 4u
#define AP_FLIGHT_IS_RECEIVE 8u

/** Columns. Times are nanoseconds since the Unix epoch, 0 where not told. */
struct ap_flight_entries {
    uint32_t count;
    uint32_t *dump;    /* index of flight->dumps */
    uint32_t *group;   /* number in flight->group_names */
    int64_t *sequence; /* within the group; of p2p entries a count of their own */
    struct ap_str *operation, *library;
    int64_t *input_count, *output_count; /* numbers of all tensors together; -1 = not told */
    struct ap_str *input_sizes, *output_sizes, *input_types, *output_types; /* as written; absent = not told */
    int64_t *created_ns, *started_ns, *completed_ns;
    int64_t *duration_ns;          /* -1 = not told */
    struct ap_str *site;           /* where the program called it; absent = not told */
    uint32_t *peer_from, *peer_to; /* of p2p: ranks within the group; AP_FLIGHT_NONE = not told */
    uint8_t *state, *flags;
    size_t capacity[20];
};

struct ap_flight_entry {
    uint32_t dump, group, peer_from, peer_to;
    struct ap_str operation, library, input_sizes, output_sizes, input_types, output_types, site;
    int64_t sequence, input_count, output_count, created_ns, started_ns, completed_ns, duration_ns;
    uint8_t state, flags;
};

struct ap_flight {
    struct ap_gate *gate;
    struct ap_strpool strings;
    struct ap_flight_dump *dumps;
    struct ap_flight_config *configs;
    struct ap_flight_entries entries;
    struct ap_pair_map group_names; /* (name, description) to a number */
    struct ap_flight_group_name {
        struct ap_str name, description;
        uint32_t size;            /* as the library tells it; 0 = not told */
    } * names;                    /* by that number */
    struct ap_pair_map processes; /* (host, process id) of the Inspector to a number */
    uint32_t *process_dumps;      /* by that number: its dump */
    uint32_t dump_count, config_count, name_count, process_count;
    size_t dump_capacity, config_capacity, name_capacity, process_capacity;
    char *decoded;
    size_t decoded_capacity;
};

/** Without dumps. */
void ap_flight_init(struct ap_flight *flight, struct ap_gate *gate);
void ap_flight_release(struct ap_flight *flight);

struct ap_flight_source {
    const char *path;   /* borrowed as long as @flight lives */
    int64_t rank;       /* negative = not known: then as the dump says, or numbered */
    int64_t written_ns; /* when the file was; 0 = not known */
};

/** Read one file into @flight, which holds none yet: a dump, or records of the Inspector in JSON lines. What was odd goes to
 *  @notes. A file that is cut keeps what was read. */
AP_MUST_CHECK enum ap_status ap_flight_read(struct ap_flight *flight, struct ap_json_reader *json,
                                            const struct ap_flight_source *source, struct ap_notes *notes,
                                            struct ap_error *reterr);

/** Add what another file held. In the order of the files the outcome is the same whoever read them. */
AP_MUST_CHECK enum ap_status ap_flight_join(struct ap_flight *flight, const struct ap_flight *other,
                                            struct ap_error *reterr);

/** After the last one: of two dumps of one rank the first one stays. */
AP_MUST_CHECK enum ap_status ap_flight_finish(struct ap_flight *flight, struct ap_notes *notes, struct ap_error *reterr);

/* Building one by hand, as the readers do. */

/** A dump without entries: the one that entries are added to from now on. Where its rank is not known it gets a number. */
AP_MUST_CHECK enum ap_status ap_flight_add_dump(struct ap_flight *flight, const struct ap_flight_dump *dump,
                                                struct ap_error *reterr);
/** The dump of a process that the Inspector recorded, by its host and id. Its rank is that in its largest communicator. */
AP_MUST_CHECK enum ap_status ap_flight_add_process(struct ap_flight *flight, const struct ap_flight_dump *dump,
                                                   uint32_t *ret_dump, struct ap_error *reterr);
/** The number of a group by the names that one rank has for it. */
AP_MUST_CHECK enum ap_status ap_flight_name_group(struct ap_flight *flight, struct ap_str name, struct ap_str description,
                                                  uint32_t *ret_group, struct ap_error *reterr);
AP_MUST_CHECK enum ap_status ap_flight_add_entry(struct ap_flight *flight, const struct ap_flight_entry *entry,
                                                 struct ap_error *reterr);

static inline struct ap_text ap_flight_text(const struct ap_flight *flight, struct ap_str str)
{
    return ap_strpool_text(&flight->strings, str);
}

#endif
