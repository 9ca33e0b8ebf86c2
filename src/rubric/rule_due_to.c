/* SPDX-License-Identifier: MIT
 * What a finding is due to: the rows of the report that hold most of what it is about, as the source lines that own memory. */
#include <string.h>

#include "rule.h"

#include "poison.h"

struct causes {
    const struct ap_value *names[AP_FINDING_MAX_CAUSES], *amounts[AP_FINDING_MAX_CAUSES];
    size_t count;
};

/* The largest stay, in falling order; of equals the earlier one stands first. */
static void take_row(struct causes *causes, const struct ap_value *row, const struct ap_rule_place *of)
{
    const struct ap_value *name = ap_value_member(row, of->key.data), *amount = ap_value_member(row, of->value.data);
    if (!name || name->type != AP_VALUE_TEXT || !amount || amount->type != AP_VALUE_BYTES || amount->as.integer <= 0)
        return;
    size_t at = causes->count < AP_FINDING_MAX_CAUSES ? causes->count++ : AP_FINDING_MAX_CAUSES;
    for (; at > 0 && causes->amounts[at - 1]->as.integer < amount->as.integer; at--)
        if (at < AP_FINDING_MAX_CAUSES) {
            causes->names[at] = causes->names[at - 1];
            causes->amounts[at] = causes->amounts[at - 1];
        }
    if (at < AP_FINDING_MAX_CAUSES) {
        causes->names[at] = name;
        causes->amounts[at] = amount;
    }
}

/* Rows of the list at a path; on the way through a list, of each of its elements. */
static void take_rows(struct causes *causes, const struct ap_value *from, const char *path, const struct ap_rule_place *of)
{
    if (from->type == AP_VALUE_LIST) {
        for (const struct ap_value *row = ap_value_first(from); row; row = row->next)
            if (path[0] == '\0')
                take_row(causes, row, of);
            else
                take_rows(causes, row, path, of);
    } else if (from->type == AP_VALUE_OBJECT && path[0] != '\0') {
        struct ap_text key = { path, strcspn(path, ".") };
        const char *rest = path + key.bytes + (path[key.bytes] == '.');
        for (const struct ap_value *child = ap_value_first(from); child; child = child->next)
            if (ap_text_equal(child->key, key))
                take_rows(causes, child, rest, of);
    }
}

void ap_rule_add_causes(const struct ap_rule *rule, struct ap_model *model, struct ap_value *finding)
{
    struct ap_value *list = ap_add_list(model, finding, "due_to");
    struct causes causes = { .count = 0 };
    if (rule->due_to.path.bytes)
        take_rows(&causes, &model->root, rule->due_to.path.data, &rule->due_to);
    for (size_t i = 0; i < causes.count; i++) {
        struct ap_value *row = ap_add_object(model, list, NULL);
        ap_add_text(model, row, "name", causes.names[i]->as.text);
        ap_add_bytes(model, row, "bytes", causes.amounts[i]->as.integer);
    }
}
