/* SPDX-License-Identifier: MIT */
#include "finding_id.h"

#include <string.h>

#include "decimal.h"
#include "model_build.h"

#include "poison.h"

#define BY_RANK "finding:"
#define BY_PLACE "findings["

static bool begins(const char *id, const char *prefix)
{
    return strncmp(id, prefix, strlen(prefix)) == 0;
}

/* Its place from 0 on. */
static bool read_place(const char *id, uint64_t *ret_place)
{
    if (begins(id, BY_RANK)) {
        struct ap_text rank = ap_text_of(id + sizeof(BY_RANK) - 1);
        return ap_decimal_to_u64(rank.data, rank.bytes, ret_place) && (*ret_place)-- > 0;
    }
    size_t bytes = begins(id, BY_PLACE) ? strlen(id) : 0;
    return bytes > sizeof(BY_PLACE) && id[bytes - 1] == ']' &&
           ap_decimal_to_u64(id + sizeof(BY_PLACE) - 1, bytes - sizeof(BY_PLACE), ret_place);
}

bool ap_finding_is_numbered(const char *id)
{
    uint64_t place;
    return read_place(id, &place);
}

const char *ap_finding_rule(const char *id)
{
    return begins(id, BY_RANK) ? id + sizeof(BY_RANK) - 1 : id;
}

bool ap_finding_is_name(const char *id)
{
    const char *rule = ap_finding_rule(id);
    if (ap_finding_is_numbered(id) || rule != id)
        return *rule != '\0';
    return *id >= 'a' && *id <= 'z' && !id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

const struct ap_value *ap_finding_named(const struct ap_value *root, const char *id)
{
    const struct ap_value *finding = ap_value_first(ap_value_member(root, "findings"));
    uint64_t place = 0;
    bool numbered = read_place(id, &place);
    for (; finding; finding = finding->next)
        if (numbered ? place-- == 0 : ap_text_is(ap_text_member(finding, "rule_id"), ap_finding_rule(id)))
            break;
    return finding;
}
