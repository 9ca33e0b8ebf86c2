/* SPDX-License-Identifier: MIT */
#include "op_family.h"

#include <string.h>

#include "name_pattern.h"

#include "poison.h"

#define AP_FAMILY(name, patterns) name,
static const char *const family_names[] = {
#include "op_family.def"
    "other",
};
#undef AP_FAMILY
#define AP_FAMILY(name, patterns) patterns,
static const char *const family_patterns[] = {
#include "op_family.def"
};
#undef AP_FAMILY

_Static_assert(AP_COUNT_OF(family_names) <= AP_OP_FAMILY_MAX, "arrays by family have this size");
#define OTHER_FAMILY (AP_COUNT_OF(family_names) - 1)

unsigned ap_op_family_count(void)
{
    return (unsigned)AP_COUNT_OF(family_names);
}

const char *ap_op_family_name(unsigned family)
{
    return family_names[family];
}

enum ap_status ap_op_families_init(struct ap_op_families *families, const struct ap_trace *trace, struct ap_gate *gate,
                                   const uint32_t *counts, size_t counted, struct ap_error *reterr)
{
    *families = (struct ap_op_families){ .gate = gate };
    size_t count = ap_trace_id_count(trace);
    AP_TRY(AP_ALLOC(gate, families->of_name, count, reterr));
    families->name_count = count;
    memset(families->of_name, OTHER_FAMILY, count);
    struct ap_name_patterns patterns;
    enum ap_status status = ap_name_patterns_init(&patterns, gate, family_patterns, AP_COUNT_OF(family_patterns), reterr);
    for (uint32_t id = 1; id < counted && status == AP_OK; id++)
        if (counts[id])
            families->of_name[id] = (uint8_t)ap_name_patterns_first(&patterns, ap_trace_text(trace, id), OTHER_FAMILY);
    ap_name_patterns_release(&patterns);
    return status;
}

void ap_op_families_release(struct ap_op_families *families)
{
    ap_mem_free(families->gate, families->of_name, families->name_count);
    *families = (struct ap_op_families){ .gate = families->gate };
}
