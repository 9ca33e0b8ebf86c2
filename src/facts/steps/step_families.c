/* SPDX-License-Identifier: MIT
 * step_families.c - annotations that a loop repeats. */
#include "name_pattern.h"
#include "step_source.h"

#include "poison.h"

/* An annotation around a loop's body is met early; with more families than this the later ones are not
 * looked at. */
#define FAMILIES_MAX 4096
#define NO_FAMILY UINT32_MAX
#define STEPS_NEEDED 3

/* What frameworks annotate by themselves, and pieces of a step: repeated, but no steps. */
static const char *const not_steps[] = {
    "Optimizer.*|enumerate(DataLoader)*|nccl:*|gloo:*|mpi:*|ucc:*|xccl:*|rccl:*|hccl:*|c10d::*|DistributedDataParallel.*|"
    "DataParallel.*|FullyShardedDataParallel.*|FSDP::*|torch.distributed.*|torch::distributed::*|ProfilerStep*|PyTorch "
    "Profiler*|"
    "Iteration Start*|Record Window End*|Activity Buffer*|## Call *|Torch-Compiled Region*|TorchDynamo*|Pregraph*|Inductor*|"
    "CompiledFunction*|CompiledFxGraph*|*layer*|*Layer*|*block*|*Block*|*expert*|*bucket*|[pl][module]*",
    /* parts of a step: better than nothing */
    "*forward*|*Forward*|*backward*|*Backward*|*optimizer*|*preprocess*|*postprocess*|*loss*|*data_load*|*sampl*|*all_"
    "reduce*",
};

struct ap_step_family {
    uint32_t name; /* of its first row */
    uint32_t track;
    bool part;      /* of a step, by its name */
    bool varied;    /* not all rows have that name */
    bool ruled_out; /* rows on several threads, or rows that overlap */
    uint64_t count;
    int64_t total_ns, first_ns, covered_to_ns;
};

/* What does not fit is left off, at the start of a character. With @fold groups of digits become N. */
static struct ap_text cut_name(struct ap_text name, bool fold, char ret_name[static AP_STEP_FAMILY_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < name.bytes; i++) {
        bool digit = fold && ap_is_digit(name.data[i]);
        if (digit && i > 0 && ap_is_digit(name.data[i - 1]))
            continue;
        if (used == AP_STEP_FAMILY_BYTES - 1) {
            for (; used && ((unsigned char)name.data[i] & 0xc0) == 0x80; i--)
                used--;
            break;
        }
        ret_name[used++] = digit ? 'N' : name.data[i];
    }
    return (struct ap_text){ ret_name, used };
}

static enum ap_status classify(struct ap_step_families *families, const struct ap_name_patterns *excluded,
                               const struct ap_trace *trace, uint32_t name, struct ap_error *reterr)
{
    char folded[AP_STEP_FAMILY_BYTES];
    struct ap_str id;
    struct ap_text text = ap_trace_text(trace, name);
    families->family_of[name] = NO_FAMILY;
    size_t kind = ap_name_patterns_first(excluded, text, AP_COUNT_OF(not_steps));
    if (!text.bytes || families->count == FAMILIES_MAX || kind == 0)
        return AP_OK;
    text = cut_name(text, true, folded);
    AP_TRY(ap_strpool_intern(&families->names, text.data, text.bytes, &id, reterr));
    if (id.id > families->count) {
        AP_TRY_ADD(families->gate, families->families, families->count, families->capacity, reterr,
                   (struct ap_step_family){ .name = name, .part = kind == 1 });
    }
    families->family_of[name] = id.id;
    return AP_OK;
}

static void take_row(struct ap_step_family *family, const struct ap_trace *trace, uint32_t row)
{
    int64_t start_ns = trace->events.start_ns[row], dur_ns = trace->events.dur_ns[row];
    bool overflowed = false;
    if (family->count == 0) {
        family->track = trace->events.track[row];
        family->first_ns = start_ns;
    } else if (family->track != trace->events.track[row] || start_ns < family->covered_to_ns) {
        family->ruled_out = true;
        return;
    }
    family->count++;
    family->varied |= family->name != trace->events.name[row];
    family->total_ns = ap_add_sat(family->total_ns, dur_ns, &overflowed);
    family->covered_to_ns = start_ns + dur_ns;
}

static enum ap_status take_rows(struct ap_step_families *families, const struct ap_name_patterns *excluded,
                                const struct ap_trace *trace, const struct ap_row_order *order, struct ap_error *reterr)
{
    for (struct ap_placed_rows at = ap_placed_rows(order, trace, 1u << AP_KIND_annotation); ap_placed_rows_next(&at);) {
        uint32_t name = trace->events.name[at.row];
        if (!families->family_of[name])
            AP_TRY(classify(families, excluded, trace, name, reterr));
        if (families->family_of[name] != NO_FAMILY)
            take_row(&families->families[families->family_of[name] - 1], trace, at.row);
    }
    return AP_OK;
}

enum ap_status ap_step_families_init(struct ap_step_families *families, const struct ap_trace *trace,
                                     const struct ap_row_order *order, struct ap_gate *gate, struct ap_error *reterr)
{
    struct ap_name_patterns excluded;
    size_t name_count = ap_trace_id_count(trace);
    *families = (struct ap_step_families){ .gate = gate };
    ap_strpool_init(&families->names, gate);
    AP_TRY(AP_ALLOC_CLEARED(gate, families->family_of, name_count, reterr));
    families->name_count = name_count;
    enum ap_status status = ap_name_patterns_init(&excluded, gate, not_steps, AP_COUNT_OF(not_steps), reterr);
    AP_AND_THEN(status, take_rows(families, &excluded, trace, order, reterr));
    ap_name_patterns_release(&excluded);
    return status;
}

void ap_step_families_release(struct ap_step_families *families)
{
    ap_strpool_release(&families->names);
    AP_FREE(families->gate, families->families, families->capacity);
    AP_FREE(families->gate, families->family_of, families->name_count);
    families->families = NULL;
    families->family_of = NULL;
    families->count = families->capacity = families->name_count = 0;
}

uint32_t ap_step_families_best(const struct ap_step_families *families, unsigned percent, bool also_parts)
{
    uint32_t best = 0;
    for (size_t i = 0; i < families->count; i++) {
        const struct ap_step_family *family = &families->families[i];
        double span_ns = (double)family->covered_to_ns - (double)family->first_ns;
        if (family->ruled_out || family->count < STEPS_NEEDED || family->total_ns == 0 ||
            (double)family->total_ns * 100 < span_ns * percent || (family->part && !also_parts))
            continue;
        if (!best || family->total_ns > families->families[best - 1].total_ns)
            best = (uint32_t)i + 1;
    }
    return best;
}

void ap_step_family_name(const struct ap_step_families *families, const struct ap_trace *trace, uint32_t id,
                         char ret_name[static AP_STEP_FAMILY_BYTES])
{
    const struct ap_step_family *family = &families->families[id - 1];
    struct ap_text name = ap_trace_text(trace, family->name);
    ret_name[cut_name(name, family->varied, ret_name).bytes] = '\0';
}
