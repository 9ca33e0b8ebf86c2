/* SPDX-License-Identifier: MIT */
#include "flight_mismatch.h"

#include "sort.h"

#include "poison.h"

/* So many calls behind the odd one are compared, of so many odd ranks. */
enum { FOLLOWING = 64, ODD_RANKS = 8 };

struct search {
    const struct ap_flight_order *order;
    struct ap_flight_mismatches *to;
    struct ap_flight_slot *slots; /* of the run at hand */
    uint32_t slot_count;
    size_t slot_capacity;
};

typedef uint64_t key_of(const struct ap_flight_slot *slot);

static uint64_t operation_key(const struct ap_flight_slot *slot)
{
    return slot->operation;
}

static uint64_t size_key(const struct ap_flight_slot *slot)
{
    return (uint64_t)slot->size;
}

static uint64_t type_key(const struct ap_flight_slot *slot)
{
    return slot->type;
}

/* Of what was overwritten or cut, a slot may be a part only. */
static bool is_whole(const struct ap_flight_groups *groups, uint32_t group, const struct ap_flight_slot *slot,
                     int64_t sequence)
{
    const struct ap_flight_dump *dump = &groups->flight->dumps[slot->dump];
    uint32_t seat = ap_flight_find_seat(groups, group, slot->dump);
    if (slot->count == 1 && !dump->cut && !dump->wrapped)
        return true;
    return !(dump->wrapped && sequence == groups->seats[seat].first_sequence && slot->count > 1) &&
           !(dump->cut && sequence == groups->seats[seat].last_sequence);
}

static enum ap_status take_slots(struct search *search, const struct ap_flight_run *run, bool *ret_all_done,
                                 struct ap_error *reterr)
{
    struct ap_flight_slot slot;
    *ret_all_done = true;
    search->slot_count = 0;
    for (uint32_t at = run->first; ap_flight_next_slot(search->order, run, &at, &slot);) {
        if (!is_whole(search->order->groups, run->group, &slot, run->sequence))
            continue;
        *ret_all_done = *ret_all_done && slot.done == AP_FLIGHT_DONE;
        AP_TRY_ADD(search->to->gate, search->slots, search->slot_count, search->slot_capacity, reterr, slot);
    }
    return AP_OK;
}

static bool are_equal(const struct search *search, key_of *key, bool (*is_known)(const struct ap_flight_slot *slot))
{
    const struct ap_flight_slot *first = NULL;
    for (uint32_t i = 0; i < search->slot_count; i++) {
        const struct ap_flight_slot *slot = &search->slots[i];
        if (is_known && !is_known(slot))
            continue;
        if (first && key(first) != key(slot))
            return false;
        first = slot;
    }
    return true;
}

static bool has_size(const struct ap_flight_slot *slot)
{
    return slot->size >= 0;
}

static bool has_type(const struct ap_flight_slot *slot)
{
    return slot->type != 0;
}

/* ---------------------------------------------------------------------------------------------------------- majority */

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    AP_BY_SMALLER(*a, *b);
    return 0;
}

/* The key that most have; false where two are as frequent. */
static bool find_usual(const struct search *search, key_of *key, uint64_t *scratch, uint64_t *ret_usual)
{
    uint32_t best = 0, second = 0;
    for (uint32_t i = 0; i < search->slot_count; i++)
        scratch[i] = key(&search->slots[i]);
    ap_sort(scratch, search->slot_count, sizeof(scratch[0]), by_number);
    for (uint32_t i = 0, start = 0; i < search->slot_count; i++) {
        if (scratch[i] != scratch[start])
            start = i;
        if (i + 1 < search->slot_count && scratch[i + 1] == scratch[i])
            continue;
        uint32_t times = i + 1 - start;
        second = times > best ? best : times > second ? times : second;
        if (times > best) {
            best = times;
            *ret_usual = scratch[i];
        }
    }
    return best > second;
}

static uint32_t entry_of(const struct search *search, const struct ap_flight_slot *slot)
{
    return search->order->entries[slot->first];
}

static enum ap_status list_odd(struct search *search, key_of *key, uint64_t usual, struct ap_flight_mismatch *mismatch,
                               struct ap_error *reterr)
{
    struct ap_flight_mismatches *to = search->to;
    uint64_t first = key(&search->slots[0]);
    mismatch->usual_entry = mismatch->odd_entry = AP_FLIGHT_NONE;
    mismatch->first_odd = to->odd_count;
    mismatch->slot_count = search->slot_count;
    for (uint32_t i = 0; i < search->slot_count; i++) {
        const struct ap_flight_slot *slot = &search->slots[i];
        bool as_usual = key(slot) == (mismatch->is_decided ? usual : first);
        uint32_t *example = as_usual ? &mismatch->usual_entry : &mismatch->odd_entry;
        if (*example == AP_FLIGHT_NONE)
            *example = entry_of(search, slot);
        if (!mismatch->is_decided || !as_usual)
            AP_TRY_ADD(to->gate, to->odd, to->odd_count, to->odd_capacity, reterr, slot->dump);
    }
    mismatch->odd_count = to->odd_count - mismatch->first_odd;
    return AP_OK;
}

/* ---------------------------------------------------------------------------------- what follows an odd operation */

static uint64_t call_of(const struct ap_flight_slot *slot)
{
    return (slot->operation ^ (uint64_t)slot->size * UINT64_C(0x9e3779b97f4a7c15)) + slot->type;
}

/* The calls of a dump from the mismatch on, as far as their numbers follow each other. */
static uint32_t calls_of(const struct search *search, const struct ap_flight_mismatch *mismatch, uint32_t dump,
                         uint64_t calls[FOLLOWING])
{
    uint32_t count = 0;
    struct ap_flight_slot slot;
    while (count < FOLLOWING && ap_flight_find_slot(search->order, mismatch->group, mismatch->sequence + count, dump, &slot))
        calls[count++] = call_of(&slot);
    return count;
}

/* Does @a from @from on go as @b goes from its beginning? At least @least calls must tell. */
static bool follows(const uint64_t *a, uint32_t a_count, uint32_t from, const uint64_t *b, uint32_t b_count, uint32_t least)
{
    uint32_t compared = 0;
    for (uint32_t i = 0; i + from < a_count && i < b_count; i++, compared++)
        if (a[i + from] != b[i])
            return false;
    return compared >= least;
}

/* The same calls in another order up to some place, and behind it the same. Sums of the calls do for their sets: calls are
 * mixed numbers. */
static bool are_reordered(const uint64_t *usual, uint32_t usual_count, const uint64_t *odd, uint32_t odd_count)
{
    uint64_t usual_sum = 0, odd_sum = 0;
    for (uint32_t i = 0; i < usual_count && i < odd_count; i++) {
        usual_sum += usual[i];
        odd_sum += odd[i];
        if (usual_sum == odd_sum)
            return follows(usual, usual_count, i + 1, odd + i + 1, odd_count - i - 1, 0);
    }
    return false;
}

static enum ap_mismatch_kind kind_of_calls(const uint64_t *usual, uint32_t usual_count, const uint64_t *odd,
                                           uint32_t odd_count)
{
    bool swapped = are_reordered(usual, usual_count, odd, odd_count);
    bool skipped = follows(usual, usual_count, 1, odd, odd_count, 3);
    bool added = follows(odd, odd_count, 1, usual, usual_count, 3);
    if (swapped + skipped + added != 1)
        return AP_MISMATCH_OPERATION;
    return swapped ? AP_MISMATCH_SWAPPED : skipped ? AP_MISMATCH_SKIPPED : AP_MISMATCH_ADDED;
}

/* Does what follows fit as it stands? Then one call is another one in its place. Where calls are like each other, moved ones
 * would fit as well, so this is asked first. */
static bool is_in_place(const struct search *search, const struct ap_flight_mismatch *mismatch)
{
    uint64_t usual[FOLLOWING], odd[FOLLOWING];
    const uint32_t *dumps = search->order->groups->flight->entries.dump;
    uint32_t usual_count = calls_of(search, mismatch, dumps[mismatch->usual_entry], usual);
    uint32_t odd_count = calls_of(search, mismatch, dumps[mismatch->odd_entry], odd);
    return odd_count && follows(usual, usual_count, 1, odd + 1, odd_count - 1, 3);
}

/* Only what all odd ranks tell alike. */
static enum ap_mismatch_kind kind_of(const struct search *search, const struct ap_flight_mismatch *mismatch)
{
    uint64_t usual[FOLLOWING], odd[FOLLOWING];
    const struct ap_flight_groups *groups = search->order->groups;
    if (!mismatch->is_decided || mismatch->odd_count > ODD_RANKS)
        return AP_MISMATCH_OPERATION;
    uint32_t usual_count = calls_of(search, mismatch, groups->flight->entries.dump[mismatch->usual_entry], usual);
    enum ap_mismatch_kind kind = AP_MISMATCH_OPERATION;
    for (uint32_t i = 0; i < mismatch->odd_count; i++) {
        uint32_t odd_count = calls_of(search, mismatch, search->to->odd[mismatch->first_odd + i], odd);
        enum ap_mismatch_kind its_kind = kind_of_calls(usual, usual_count, odd, odd_count);
        if (i && its_kind != kind)
            return AP_MISMATCH_OPERATION;
        kind = its_kind;
    }
    return kind;
}

/* Is what the rank of @entry called a call that the rank of @other makes at another place? */
static bool makes_elsewhere(const struct search *search, const struct ap_flight_mismatch *mismatch, uint32_t entry,
                            uint32_t other)
{
    const uint32_t *dumps = search->order->groups->flight->entries.dump;
    struct ap_flight_slot odd, slot;
    struct ap_flight_run run;
    if (!ap_flight_find_slot(search->order, mismatch->group, mismatch->sequence, dumps[entry], &odd))
        return false;
    for (uint32_t at = search->order->group_starts[mismatch->group];
         ap_flight_next_run(search->order, mismatch->group, &at, &run);)
        if (run.sequence != mismatch->sequence &&
            ap_flight_find_slot(search->order, mismatch->group, run.sequence, dumps[other], &slot) &&
            call_of(&slot) == call_of(&odd))
            return true;
    return false;
}

/* Then it is likely that call, and not this one with a wrong size. Of two ranks either may be the odd one: a call that is
 * made nowhere else is a wrong one. Where the type alone differs, both calls have to be the program's: a program that goes
 * on with another type has made calls of the old one before. */
static bool is_moved(const struct search *search, const struct ap_flight_mismatch *mismatch)
{
    bool one_way = mismatch->is_decided && mismatch->kind != AP_MISMATCH_TYPE;
    return makes_elsewhere(search, mismatch, mismatch->odd_entry, mismatch->usual_entry) &&
           (one_way || makes_elsewhere(search, mismatch, mismatch->usual_entry, mismatch->odd_entry));
}

/* -------------------------------------------------------------------------------------------------------------------- */

static enum ap_status add_mismatch(struct search *search, const struct ap_flight_run *run, key_of *key,
                                   enum ap_mismatch_kind kind, struct ap_error *reterr)
{
    struct ap_flight_mismatches *to = search->to;
    struct ap_flight_mismatch mismatch = { .kind = kind, .group = run->group, .sequence = run->sequence };
    uint64_t usual = 0, *scratch;
    AP_TRY(AP_ALLOC(to->gate, scratch, search->slot_count, reterr));
    mismatch.is_decided = find_usual(search, key, scratch, &usual);
    AP_FREE(to->gate, scratch, search->slot_count);
    AP_TRY(list_odd(search, key, usual, &mismatch, reterr));
    if (!is_in_place(search, &mismatch)) {
        enum ap_mismatch_kind by_calls = kind_of(search, &mismatch);
        if (by_calls != AP_MISMATCH_OPERATION || is_moved(search, &mismatch))
            mismatch.kind = by_calls;
    }
    AP_TRY_ADD(to->gate, to->list, to->count, to->capacity, reterr, mismatch);
    return AP_OK;
}

static enum ap_status search_group(struct search *search, uint32_t group, struct ap_error *reterr)
{
    struct ap_flight_run run;
    uint32_t at = search->order->group_starts[group];
    while (ap_flight_next_run(search->order, group, &at, &run)) {
        bool all_done;
        AP_TRY(take_slots(search, &run, &all_done, reterr));
        if (all_done || search->slot_count < 2)
            continue;
        if (!are_equal(search, operation_key, NULL))
            return add_mismatch(search, &run, operation_key, AP_MISMATCH_OPERATION, reterr);
        if (!are_equal(search, size_key, has_size))
            return add_mismatch(search, &run, size_key, AP_MISMATCH_SIZE, reterr);
        if (!are_equal(search, type_key, has_type))
            return add_mismatch(search, &run, type_key, AP_MISMATCH_TYPE, reterr);
    }
    return AP_OK;
}

enum ap_status ap_flight_mismatches_init(struct ap_flight_mismatches *mismatches, const struct ap_flight_order *order,
                                         struct ap_error *reterr)
{
    struct search search = { .order = order, .to = mismatches };
    enum ap_status status = AP_OK;
    *mismatches = (struct ap_flight_mismatches){ .gate = order->gate };
    for (uint32_t group = 0; group < order->groups->group_count && status == AP_OK; group++)
        status = search_group(&search, group, reterr);
    AP_FREE(mismatches->gate, search.slots, search.slot_capacity);
    return status;
}

void ap_flight_mismatches_release(struct ap_flight_mismatches *mismatches)
{
    AP_FREE(mismatches->gate, mismatches->list, mismatches->capacity);
    AP_FREE(mismatches->gate, mismatches->odd, mismatches->odd_capacity);
}

const struct ap_flight_mismatch *ap_flight_mismatch_of(const struct ap_flight_mismatches *mismatches, uint32_t group)
{
    size_t at = 0;
    AP_BISECT(at, mismatches->count, i, mismatches->list[i].group < group);
    return at < mismatches->count && mismatches->list[at].group == group ? &mismatches->list[at] : NULL;
}
