/* SPDX-License-Identifier: MIT */
#include "rank_group.h"

#include <stdio.h>
#include <string.h>

#include "sort.h"

#include "poison.h"

#define MEMBERS_MAX 100000
#define TEXT_MAX 4096 /* a list that is longer than this is told by a hash of it */

struct members {
    int64_t *list;
    size_t count, capacity;
};

/* ----------------------------------------------------------------------------------------------------------- lists */

/* Numbers in a text such as "[0, 1, 2]"; none where it is cut ("..."). */
static enum ap_status read_members(struct members *members, struct ap_gate *gate, struct ap_text text,
                                   struct ap_error *reterr)
{
    members->count = 0;
    if (ap_text_contains(text, AP_TEXT("...")))
        return AP_OK;
    for (size_t i = 0; i < text.bytes && members->count < MEMBERS_MAX;) {
        int64_t number = 0;
        size_t digits = 0;
        for (; i + digits < text.bytes && ap_is_digit(text.data[i + digits]) && digits < 9; digits++)
            number = number * 10 + (text.data[i + digits] - '0');
        if (digits)
            AP_TRY_ADD(gate, members->list, members->count, members->capacity, reterr, number);
        i += digits ? digits : 1;
    }
    return AP_OK;
}

static size_t sorted_without_equals(struct members *members)
{
    size_t kept = 0;
    ap_sort(members->list, members->count, sizeof(members->list[0]), ap_by_int64);
    for (size_t i = 0; i < members->count; i++)
        if (!kept || members->list[kept - 1] != members->list[i])
            members->list[kept++] = members->list[i];
    return kept;
}

/* How many from @at on are one stride apart. */
static size_t run_length(const struct members *members, size_t at)
{
    size_t count = 1;
    while (at + count < members->count && (count == 1 || members->list[at + count] - members->list[at + count - 1] ==
                                                             members->list[at + 1] - members->list[at]))
        count++;
    return count;
}

/* A run of two is two numbers: the second may begin a longer one. */
static size_t write_run(const struct members *members, size_t at, char *to, size_t bytes)
{
    size_t length = run_length(members, at);
    long long first = (long long)members->list[at];
    if (length < 3) {
        (void)snprintf(to, bytes, "%s%lld", at ? "," : "", first);
        return 1;
    }
    long long last = (long long)members->list[at + length - 1],
              stride = (long long)(members->list[at + 1] - members->list[at]);
    if (stride == 1)
        (void)snprintf(to, bytes, "%s%lld-%lld", at ? "," : "", first, last);
    else
        (void)snprintf(to, bytes, "%s%lld-%lld:%lld", at ? "," : "", first, last, stride);
    return length;
}

/* False where the text would be too long. */
static bool write_members(const struct members *members, char text[TEXT_MAX])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t at = 0; at < members->count;) {
        if (used + 80 > TEXT_MAX)
            return false;
        at += write_run(members, at, text + used, TEXT_MAX - used);
        used += strlen(text + used);
    }
    return used > 0;
}

/* ---------------------------------------------------------------------------------------------------------- groups */

static enum ap_status take_members(struct ap_rank_groups *groups, const struct ap_collective *told, struct members *members,
                                   struct ap_error *reterr)
{
    const struct ap_trace *trace = groups->trace;
    const uint32_t *listed = told->group_name.id ? ap_id_map_find(&groups->by_name, told->group_name.id) : NULL;
    struct ap_gate *gate = groups->set->gate;
    if (listed)
        AP_TRY(read_members(members, gate, ap_strpool_text(&trace->strings, trace->groups[*listed].ranks), reterr));
    if (!members->count)
        AP_TRY(read_members(members, gate, ap_strpool_text(&trace->strings, told->group_ranks), reterr));
    members->count = sorted_without_equals(members);
    if (told->group_size > 0 && members->count && (int64_t)members->count != told->group_size)
        members->count = 0;
    for (int64_t rank = 0; !members->count && told->group_size == trace->world_size && rank < trace->world_size &&
                           trace->world_size <= MEMBERS_MAX;)
        for (; rank < trace->world_size; rank++)
            AP_TRY_ADD(gate, members->list, members->count, members->capacity, reterr, rank);
    return AP_OK;
}

static void write_unknown(const struct ap_rank_groups *groups, const struct ap_collective *told, char text[TEXT_MAX])
{
    const struct ap_strpool *strings = &groups->trace->strings;
    struct ap_text name = ap_strpool_text(strings, told->group_description.id ? told->group_description : told->group_name);
    text[0] = '\0';
    if (name.bytes || told->group_size > 0)
        (void)snprintf(text, TEXT_MAX, "?%.*s/%lld", (int)(name.bytes < 200 ? name.bytes : 200), name.bytes ? name.data : "",
                       (long long)told->group_size);
}

static enum ap_status make_text(struct ap_rank_groups *groups, const struct ap_collective *told, struct ap_str *ret_text,
                                struct ap_error *reterr)
{
    char text[TEXT_MAX];
    struct members members = { .count = 0 };
    enum ap_status status = take_members(groups, told, &members, reterr);
    if (status == AP_OK && !write_members(&members, text))
        write_unknown(groups, told, text);
    AP_FREE(groups->set->gate, members.list, members.capacity);
    *ret_text = (struct ap_str){ 0 };
    if (status == AP_OK && text[0])
        status = ap_strpool_intern(&groups->set->names, text, strlen(text), ret_text, reterr);
    return status;
}

static enum ap_status add_group(struct ap_rank_groups *groups, const struct ap_collective *told, struct ap_error *reterr)
{
    uint32_t number, before = groups->seen.count;
    AP_TRY(ap_pair_map_add(&groups->seen, told->group_name.id, told->group_ranks.id, &number, reterr));
    if (number < before)
        return AP_OK;
    AP_TRY(AP_RESERVE(groups->set->gate, groups->list, groups->capacity, (size_t)number + 1, reterr));
    groups->list[number].name = told->group_name;
    return make_text(groups, told, &groups->list[number].text, reterr);
}

/* Names count up, or end in a number that does: shorter ones were made before. */
static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ap_rank_groups *groups = context;
    const struct ap_named_ranks *left = &groups->list[a], *right = &groups->list[b];
    AP_SMALLER_FIRST(left->text.id, right->text.id);
    struct ap_text one = ap_strpool_text(&groups->trace->strings, left->name);
    struct ap_text other = ap_strpool_text(&groups->trace->strings, right->name);
    AP_SMALLER_FIRST(one.bytes, other.bytes);
    int order = ap_text_compare(one, other);
    return order ? order < 0 : a < b;
}

/* Groups of the same ranks get numbers, in an order that is the same on each of these. */
static enum ap_status number_groups(struct ap_rank_groups *groups, const uint32_t *order, struct ap_error *reterr)
{
    char text[TEXT_MAX + 16];
    uint32_t number = 1;
    struct ap_named_ranks before = { .name = { 0 } };
    for (uint32_t i = 0; i < groups->seen.count; i++) {
        struct ap_named_ranks *it = &groups->list[order[i]], plain = *it;
        number = plain.text.id != before.text.id ? 1 : number + (plain.name.id != before.name.id);
        before = plain;
        if (number == 1 || !plain.text.id)
            continue;
        struct ap_text ranks = ap_strpool_text(&groups->set->names, plain.text);
        (void)snprintf(text, sizeof(text), "%.*s #%u", (int)ranks.bytes, ranks.data, (unsigned)number);
        AP_TRY(ap_strpool_intern(&groups->set->names, text, strlen(text), &it->text, reterr));
    }
    return AP_OK;
}

static enum ap_status tell_apart(struct ap_rank_groups *groups, struct ap_error *reterr)
{
    uint32_t *order;
    size_t count;
    AP_TRY(ap_top_indices(groups->set->gate, groups->seen.count, 0, is_before, groups, &order, &count, reterr));
    enum ap_status status = number_groups(groups, order, reterr);
    AP_FREE(groups->set->gate, order, count);
    return status;
}

enum ap_status ap_rank_groups_init(struct ap_rank_groups *groups, const struct ap_trace *trace, struct ap_rank_set *set,
                                   struct ap_error *reterr)
{
    *groups = (struct ap_rank_groups){ .trace = trace, .set = set, .seen = { .gate = set->gate } };
    AP_TRY(ap_id_map_init(&groups->by_name, set->gate, trace->group_count + 1, reterr));
    for (uint32_t i = 0; i < trace->group_count; i++)
        if (trace->groups[i].name.id)
            *ap_id_map_add(&groups->by_name, trace->groups[i].name.id) = i;
    for (uint32_t i = 0; i < trace->group_count; i++)
        AP_TRY(add_group(groups, &(struct ap_collective){ .group_name = trace->groups[i].name, .group_size = -1 }, reterr));
    for (size_t i = 0; i < trace->collective_count; i++)
        AP_TRY(add_group(groups, ap_trace_collective(trace, i), reterr));
    return tell_apart(groups, reterr);
}

void ap_rank_groups_release(struct ap_rank_groups *groups)
{
    ap_pair_map_release(&groups->seen);
    ap_id_map_release(&groups->by_name);
    AP_FREE(groups->set->gate, groups->list, groups->capacity);
}

struct ap_str ap_rank_group_of(const struct ap_rank_groups *groups, const struct ap_collective *told)
{
    uint32_t number = ap_pair_map_find(&groups->seen, told->group_name.id, told->group_ranks.id);
    return number == AP_PAIR_NONE ? (struct ap_str){ 0 } : groups->list[number].text;
}

/* ------------------------------------------------------------------------------------------------------ of the text */

static int64_t take_number(struct ap_text text, size_t *at)
{
    int64_t number = 0;
    while (*at < text.bytes && ap_is_digit(text.data[*at]) && number < 100000000)
        number = number * 10 + (text.data[(*at)++] - '0');
    return number;
}

struct ap_text ap_group_members(struct ap_text text)
{
    const char *number = text.bytes && ap_is_digit(text.data[0]) ? memchr(text.data, ' ', text.bytes) : NULL;
    return number ? (struct ap_text){ text.data, (size_t)(number - text.data) } : text;
}

bool ap_group_next(struct ap_text text, size_t *at, int64_t *first, int64_t *last, int64_t *stride)
{
    if (*at >= text.bytes || !ap_is_digit(text.data[*at]))
        return false;
    *first = *last = take_number(text, at);
    *stride = 1;
    if (*at < text.bytes && text.data[*at] == '-') {
        (*at)++;
        *last = take_number(text, at);
    }
    if (*at < text.bytes && text.data[*at] == ':') {
        (*at)++;
        *stride = take_number(text, at);
    }
    if (*at < text.bytes)
        *at += text.data[*at] == ',' ? 1 : text.bytes - *at;
    return *stride > 0 && *last >= *first;
}

int64_t ap_group_size(struct ap_text text)
{
    int64_t size = 0, first, last, stride;
    size_t told = text.bytes;
    while (told && ap_is_digit(text.data[told - 1]))
        told--;
    if (text.bytes && text.data[0] == '?')
        return text.data[told - 1] == '/' ? take_number(text, &told) : 0;
    for (size_t at = 0; ap_group_next(text, &at, &first, &last, &stride);)
        size += (last - first) / stride + 1;
    return size;
}
