/* SPDX-License-Identifier: MIT */
#include "figure_path.h"

#include <math.h>
#include <string.h>

#include "model_build.h"

#include "poison.h"

/* Lists in each other; a report has at most three. */
#define MAX_LISTS 64

struct folding {
    const struct ap_value *best;
    double best_number;
    struct {
        const struct ap_value *next; /* element to go on with */
        struct ap_text path;         /* below it */
    } lists[MAX_LISTS];
    size_t list_count;
};

static struct ap_text first_key(struct ap_text *path)
{
    const char *dot = memchr(path->data, '.', path->bytes);
    size_t bytes = dot ? (size_t)(dot - path->data) : path->bytes;
    struct ap_text key = { path->data, bytes };
    path->data += bytes + (dot != NULL);
    path->bytes -= bytes + (dot != NULL);
    return key;
}

static void take(struct folding *folding, const struct ap_value *value)
{
    double number;
    if (value->type == AP_VALUE_BOOL || !ap_value_number(value, &number) || isnan(number) ||
        (folding->best && number <= folding->best_number))
        return;
    folding->best = value;
    folding->best_number = number;
}

/* Down to a figure or to a list, which is remembered. */
static void descend(struct folding *folding, const struct ap_value *value, struct ap_text path)
{
    while (value && value->type != AP_VALUE_LIST && path.bytes) {
        struct ap_text key = first_key(&path);
        value = ap_value_member_of(value, key);
    }
    if (value && value->type == AP_VALUE_LIST && folding->list_count < MAX_LISTS) {
        folding->lists[folding->list_count].next = ap_value_first(value);
        folding->lists[folding->list_count++].path = path;
    } else if (value && !path.bytes) {
        take(folding, value);
    }
}

const struct ap_value *ap_figure_fold(const struct ap_value *root, struct ap_text path)
{
    struct folding folding = { .list_count = 0 };
    descend(&folding, root, path);
    while (folding.list_count) {
        const struct ap_value *element = folding.lists[folding.list_count - 1].next;
        if (!element) {
            folding.list_count--;
            continue;
        }
        folding.lists[folding.list_count - 1].next = element->next;
        descend(&folding, element, folding.lists[folding.list_count - 1].path);
    }
    return folding.best;
}
