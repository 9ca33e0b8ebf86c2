/* SPDX-License-Identifier: MIT */
#include "pair_map.h"
#include "replay_part.h"
#include "shape_text.h"
#include "sort.h"

#include "poison.h"

struct numbering {
    struct ap_pair_map operators, lines, kernels; /* (operator, signature); (that, line); (that, kernel) */
};

static enum ap_status number_of(struct numbering *numbering, const struct ap_mapped_kernel *mapped, uint32_t *ret_number,
                                struct ap_error *reterr)
{
    uint32_t number;
    AP_TRY(ap_pair_map_add(&numbering->operators, mapped->op, mapped->signature.id, &number, reterr));
    AP_TRY(ap_pair_map_add(&numbering->lines, number, mapped->line, &number, reterr));
    return ap_pair_map_add(&numbering->kernels, number, mapped->kernel, ret_number, reterr);
}

static enum ap_status take_launch(struct ap_replay_groups *groups, struct numbering *numbering, const struct ap_facts *facts,
                                  const struct ap_graph_launch *launch, struct ap_error *reterr)
{
    for (uint32_t i = 0; i < launch->count; i++) {
        const struct ap_mapped_kernel *mapped = ap_graph_mapped(&facts->graphs, launch, i);
        uint32_t row = facts->links.row[facts->graphs.places[launch->first + i]], number;
        if (!mapped || !mapped->op)
            continue;
        AP_TRY(number_of(numbering, mapped, &number, reterr));
        if (number == groups->count)
            AP_TRY_ADD(groups->gate, groups->list, groups->count, groups->capacity, reterr,
                       ((struct ap_replay_group){ .mapped = mapped }));
        groups->list[number].count++;
        groups->list[number].total_ns =
            ap_add_sat(groups->list[number].total_ns, facts->trace->events.dur_ns[row], &groups->overflowed);
    }
    return AP_OK;
}

enum ap_status ap_replay_groups_init(struct ap_replay_groups *groups, const struct ap_facts *facts, struct ap_gate *gate,
                                     struct ap_error *reterr)
{
    struct numbering numbering = { { .gate = gate }, { .gate = gate }, { .gate = gate } };
    enum ap_status status = AP_OK;
    *groups = (struct ap_replay_groups){ .gate = gate };
    for (size_t i = 0; status == AP_OK && i < facts->graphs.launch_count; i++)
        status = take_launch(groups, &numbering, facts, &facts->graphs.launches[i], reterr);
    ap_pair_map_release(&numbering.operators);
    ap_pair_map_release(&numbering.lines);
    ap_pair_map_release(&numbering.kernels);
    return status;
}

void ap_replay_groups_release(struct ap_replay_groups *groups)
{
    AP_FREE(groups->gate, groups->list, groups->capacity);
    *groups = (struct ap_replay_groups){ .gate = groups->gate };
}

const struct ap_mapped_kernel *ap_replay_mapped(const struct ap_graph_runs *graphs, const struct ap_links *links,
                                                size_t place)
{
    uint32_t row = ap_launch_at(links, place);
    size_t low = 0;
    AP_BISECT(low, graphs->launch_count, at, graphs->launches[at].row < row);
    if (low == graphs->launch_count || graphs->launches[low].row != row)
        return NULL;
    const struct ap_graph_launch *launch = &graphs->launches[low];
    size_t kernel = launch->first;
    AP_BISECT(kernel, launch->first + launch->count, at, graphs->places[at] < place);
    if (kernel == launch->first + launch->count || graphs->places[kernel] != place)
        return NULL;
    return ap_graph_mapped(graphs, launch, (uint32_t)(kernel - launch->first));
}

void ap_replay_add_shapes(const struct ap_trace *trace, struct ap_str signature, struct ap_model *model,
                          struct ap_value *row)
{
    struct ap_text dims, types;
    if (!signature.id) {
        ap_add_null(model, row, "dims");
        ap_add_null(model, row, "types");
        return;
    }
    ap_trace_signature(trace, signature, &dims, &types);
    ap_add_shape_text(model, row, "dims", dims);
    ap_add_shape_text(model, row, "types", types);
}
