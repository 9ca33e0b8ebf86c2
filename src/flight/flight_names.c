/* SPDX-License-Identifier: MIT */
#include "flight_names.h"

#include <string.h>

#include "poison.h"

/* The digits from *@at on; -1 where there are none, or too many. */
static int64_t number_at(struct ap_text text, size_t *at)
{
    int64_t number = -1;
    for (; *at < text.bytes && ap_is_digit(text.data[*at]); ++*at) {
        number = (number < 0 ? 0 : number) * 10 + (text.data[*at] - '0');
        if (number > INT32_MAX)
            number = INT32_MAX + INT64_C(1);
    }
    return number > INT32_MAX ? -1 : number;
}

/* "0->1" or "1<-0": the first number is the rank's own. */
static void take_peers(struct ap_text peers, struct ap_operation_name *name)
{
    size_t at = 0;
    int64_t own = number_at(peers, &at), other;
    struct ap_text arrow = { peers.data + at, peers.bytes - at };
    bool right = ap_text_starts_with(arrow, "->");
    at += 2;
    if (own < 0 || (!right && !ap_text_starts_with(arrow, "<-")))
        return;
    other = number_at(peers, &at);
    uint32_t known = other < 0 ? UINT32_MAX : (uint32_t)other;
    name->from = right ? (uint32_t)own : known;
    name->to = right ? known : (uint32_t)own;
}

struct ap_operation_name ap_operation_name_of(struct ap_text profiling_name)
{
    struct ap_operation_name name = { .operation = profiling_name, .from = UINT32_MAX, .to = UINT32_MAX };
    const char *colon = profiling_name.bytes ? memchr(profiling_name.data, ':', profiling_name.bytes) : NULL;
    if (colon) {
        name.library = (struct ap_text){ profiling_name.data, (size_t)(colon - profiling_name.data) };
        name.operation = (struct ap_text){ colon + 1, profiling_name.bytes - name.library.bytes - 1 };
    }
    name.is_send = ap_text_starts_with(name.operation, "send ") || ap_text_is(name.operation, "send");
    name.is_receive = ap_text_starts_with(name.operation, "recv ") || ap_text_is(name.operation, "recv");
    if ((name.is_send || name.is_receive) && name.operation.bytes > 5)
        take_peers((struct ap_text){ name.operation.data + 5, name.operation.bytes - 5 }, &name);
    if (name.is_send || name.is_receive)
        name.operation.bytes = 4;
    return name;
}

/* The first line that fits decides. */
static const struct {
    const char *word, *not_word; /* NULL = none */
    enum ap_equal_sizes sizes;
} size_rules[] = {
    { "alltoall", NULL, AP_SIZES_DIFFER },
    { "all_to_all", NULL, AP_SIZES_DIFFER },
    { "_oop", NULL, AP_SIZES_DIFFER }, /* parts of an uneven all_gather or reduce_scatter */
    { "coalesced", NULL, AP_SIZES_DIFFER },
    { "barrier", NULL, AP_SIZES_DIFFER },
    { "send", NULL, AP_SIZES_DIFFER },
    { "recv", NULL, AP_SIZES_DIFFER },
    { "scatter", "reduce", AP_SIZES_OF_OUTPUTS },
    { "", NULL, AP_SIZES_OF_INPUTS },
};

enum ap_equal_sizes ap_operation_sizes(struct ap_text operation)
{
    size_t i = 0;
    while (!ap_text_contains_folded(operation, size_rules[i].word) ||
           (size_rules[i].not_word && ap_text_contains_folded(operation, size_rules[i].not_word)))
        i++;
    return size_rules[i].sizes;
}

size_t ap_operation_of_inspector(struct ap_text name, char *to, size_t capacity)
{
    size_t used = 0;
    for (size_t i = 0; i < name.bytes && used + 1 < capacity; i++) {
        char c = name.data[i];
        if (i && c >= 'A' && c <= 'Z')
            to[used++] = '_';
        to[used++] = ap_folded(c);
    }
    return used;
}
