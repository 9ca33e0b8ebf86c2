/* SPDX-License-Identifier: MIT
 * test_causes.c - costs that are summed up on the way: as many keys as there are, as little memory as they take. */
#include "causes.h"
#include "tap.h"

#define COSTS 100000

static struct ap_cause cost(uint32_t i, uint32_t keys)
{
    return (struct ap_cause){ .kind = 1,
                              .op = i % keys,
                              .row = i,
                              .count = 1,
                              .weight_ns = 3,
                              .time_ns = i % 7,
                              .bytes = 2,
                              .bytes_known = true,
                              .row_weight_ns = i == 77777 ? 9 : 3 };
}

static void add_all(struct ap_gate *gate, struct ap_cause_sums *sums, uint32_t keys)
{
    struct ap_error error;
    bool overflowed = false, added = true;
    for (uint32_t i = 0; i < COSTS; i++) {
        struct ap_cause one = cost(i, keys);
        added = added && ap_causes_add(sums, &one, gate, &overflowed, &error) == AP_OK;
    }
    added = added && ap_causes_sum(sums->list, &sums->count, gate, &overflowed, &error) == AP_OK;
    ok(added && !overflowed, "all are added");
}

static void few_keys_take_little(void)
{
    struct ap_gate gate;
    struct ap_cause_sums sums = { .list = NULL };
    int64_t count = 0, time_ns = 0, bytes = 0;
    ap_gate_init(&gate, 0);
    add_all(&gate, &sums, 5);
    for (size_t i = 0; i < sums.count; i++) {
        count += sums.list[i].count;
        time_ns += sums.list[i].time_ns;
        bytes += sums.list[i].bytes;
        if (sums.list[i].op == 77777 % 5)
            is_int(sums.list[i].row, 77777, "the row that weighs most is kept");
        else
            is_int(sums.list[i].row, sums.list[i].op, "of equals the first row is kept");
    }
    is_int((int64_t)sums.count, 5, "one for each key");
    is_int(count, COSTS, "none is lost");
    is_int(time_ns, 299995, "times add up");
    is_int(bytes, 2 * COSTS, "and bytes");
    ok(atomic_load(&gate.peak_bytes) < 10000 * sizeof(struct ap_cause), "memory is that of the keys, not of the costs");
    ap_causes_release(&sums, &gate);
    is_int((int64_t)atomic_load(&gate.used_bytes), 0, "all is given back");
}

static void many_keys_stay_apart(void)
{
    struct ap_gate gate;
    struct ap_cause_sums sums = { .list = NULL };
    ap_gate_init(&gate, 0);
    add_all(&gate, &sums, COSTS);
    is_int((int64_t)sums.count, COSTS, "one for each of many keys");
    ap_causes_release(&sums, &gate);
}

int main(void)
{
    few_keys_take_little();
    many_keys_stay_apart();
    return done();
}
