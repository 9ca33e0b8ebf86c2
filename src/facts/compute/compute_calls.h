/* SPDX-License-Identifier: MIT
 * compute_calls.h - calls of operators whose work the shapes tell, each with the kernels that it launched: summed up by
 * operator, shapes and arguments. */
#ifndef AP_COMPUTE_CALLS_H
#define AP_COMPUTE_CALLS_H

#include "facts.h"
#include "op_cost.h"
#include "row_set.h"

/** What the shapes say of a call beside numbers: members of struct ap_call_cost. */
enum ap_cost_flag {
    AP_COST_is_transposed,
    AP_COST_is_backward,
    AP_COST_is_strided,
    AP_COST_is_mixed_layout,
    AP_COST_is_channels_first,
    AP_COST_is_scattered,
    AP_COST_meets_doubles,
    AP_COST_narrows,
    AP_COST_shortens,
    AP_COST_repeats,
    AP_COST_unpacks,
    AP_COST_is_training,
    AP_COST_FLAG_COUNT_
};

/** What of a cost all ask for; the rest of it, which is 0 for most, lies apart. */
struct ap_kept_cost {
    double flops, bytes; /* as in struct ap_call_cost */
    enum ap_work_kind kind : 8;
    enum ap_element element : 8;
    unsigned flags : 15;
    unsigned is_unfolded : 1; /* of the group: kernels of a convolution make a matrix of the image first */
    uint32_t has : 31;        /* its numbers that are not 0 */
    uint32_t is_of_row : 1;   /* the row of the only call tells them */
    uint32_t first;           /* byte of them, in the numbers of all groups */
};

/** Where a group is. There may be as many as calls: of a call that is like no other and has no kernels this is all that is
 *  kept, and its shapes are read again by who asks for more. */
struct ap_compute_place {
    enum ap_work_kind kind : 8;
    enum ap_element element : 8;
    unsigned flags : 15; /* of one that is alone, as in struct ap_kept_cost */
    unsigned is_alone : 1;
    uint32_t at; /* the row of its only call where it is alone, else its number among the full ones */
};

/** Calls that are alike. */
struct ap_compute_group {
    struct ap_kept_cost cost; /* of one call */
    uint32_t name, signature;
    uint32_t kernel;                      /* name of the longest kernel of the longest call; 0 = no kernel is known */
    uint32_t longest_row;                 /* that kernel, or the longest call where no kernel was recorded */
    uint32_t count;                       /* calls */
    uint32_t timed_count;                 /* of them those with kernels */
    uint32_t kernel_count;                /* of all of them */
    uint32_t first_call;                  /* its number */
    uint32_t first_kernel_count;          /* its kernels */
    uint32_t cold_count;                  /* first calls that took far longer than the others */
    int64_t total_ns, median_ns, cold_ns; /* of kernels; of calls on the host in a trace without GPU work. cold: beyond the
                                             median */
};

struct ap_compute {
    struct ap_gate *gate;
    const struct ap_trace *trace;
    struct ap_row_set counted; /* rows of the calls, numbered */
    uint32_t *group_of;        /* by number of the call */
    int64_t *call_ns;          /* likewise; NULL on the host, where rows tell it */
    struct ap_compute_place *groups;
    uint32_t group_count;
    size_t group_capacity;
    uint8_t *formulas;             /* by name id, plus one; 0 = no operator has the name */
    struct ap_known_cost *recent;  /* costs that rows tell, of those that were asked for last */
    struct ap_compute_group *full; /* groups that are not alone */
    size_t full_count, full_capacity;
    uint8_t *numbers; /* of their costs, as kept_cost.c packs them */
    size_t number_bytes, number_capacity;
    bool is_host;          /* no GPU work was recorded: times are of the host */
    int64_t kernel_ns;     /* of all kernels, without communication */
    int64_t waited_ns;     /* of kernels that ran within their call and took half of it at least: the call waited */
    int64_t known_ns;      /* of them: of calls whose operations or bytes are known */
    uint64_t other_count;  /* kernels, without communication, that are of none of the calls */
    int64_t dequantize_ns; /* of kernels that turn weights back to floats, by their names */
    uint64_t dequantize_count;
    int64_t turn_ns;                 /* of kernels that only change the layout for convolutions */
    int64_t product_ns;              /* of calls whose matrix operations are known */
    double flops, bytes;             /* of all calls: matrix operations; least bytes where they are known */
    double timed_flops, timed_bytes; /* of those with kernels */
    bool overflowed;
};

/** The facts must hold order, names, tree, links and graphs: kernels of a graph are of the operators that its mapping
 *  tells. @compute may be released after a failure too. */
AP_MUST_CHECK enum ap_status ap_compute_init(struct ap_compute *compute, const struct ap_facts *facts, struct ap_gate *gate,
                                             struct ap_error *reterr);
void ap_compute_release(struct ap_compute *compute);

/** What a call took: of its kernels, or on the host where none is recorded. */
static inline int64_t ap_compute_call_ns(const struct ap_compute *compute, const struct ap_trace *trace, uint32_t row,
                                         uint32_t call)
{
    return compute->call_ns ? compute->call_ns[call] : trace->events.dur_ns[row];
}

/** What the calls of the group with that number do. */
static inline enum ap_work_kind ap_compute_kind(const struct ap_compute *compute, uint32_t number)
{
    return compute->groups[number].kind;
}

/** The type of number that they do it in. */
static inline enum ap_element ap_compute_element(const struct ap_compute *compute, uint32_t number)
{
    return compute->groups[number].element;
}

/** Does the flag hold for the group? */
static inline bool ap_compute_is(const struct ap_compute *compute, uint32_t number, enum ap_cost_flag flag)
{
    const struct ap_compute_place *place = &compute->groups[number];
    return (place->is_alone ? place->flags : compute->full[place->at].cost.flags) >> flag & 1;
}

/** The group with that number, without what its calls cost: written to @room where it is alone. */
const struct ap_compute_group *ap_compute_calls_at(const struct ap_compute *compute, uint32_t number,
                                                   struct ap_compute_group *room);
/** All of it, for which the shapes of one that is alone are read. */
const struct ap_compute_group *ap_compute_group_at(const struct ap_compute *compute, uint32_t number,
                                                   struct ap_compute_group *room);
/** The same, with room in the block around. */
#define AP_COMPUTE_CALLS(compute, number) ap_compute_calls_at((compute), (number), &(struct ap_compute_group){ .count = 0 })
#define AP_COMPUTE_GROUP(compute, number) ap_compute_group_at((compute), (number), &(struct ap_compute_group){ .count = 0 })

/** Elements of weights that a model holds, as in struct ap_call_cost. */
double ap_compute_parameters(const struct ap_compute *compute, const struct ap_compute_group *group);
/** All of what one call costs. */
struct ap_call_cost ap_compute_cost(const struct ap_compute *compute, const struct ap_compute_group *group);
/** Operations that count: of products, convolutions and attention; 0 for other work and where they are not known. */
double ap_compute_matrix_flops(const struct ap_kept_cost *cost);
/** Those of a call of the group. */
double ap_compute_group_flops(const struct ap_compute *compute, uint32_t number);
/** What a call costs whose row tells all of it; good until another row is asked for. For one thread at a time: the last ones
 *  are kept in @compute. */
const struct ap_call_cost *ap_compute_cost_of_row(const struct ap_compute *compute, uint32_t row);

#endif
