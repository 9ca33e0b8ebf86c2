/* SPDX-License-Identifier: MIT
 * test_data_loading.c - what it takes to start DataLoaders, by the frames and the first wait behind each; and what workers
 * would spare. */
#include "typed_trace.h"

#define LOADER "torch/utils/data/dataloader.py"
#define WAIT "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

/* Three batches of 10 us each, but the first. */
static int64_t batches(struct run *run, int64_t start, int64_t first)
{
    for (int i = 0; i < 3; i++) {
        int64_t dur = i ? 10 : first;
        (void)row(run, "1", WAIT, OPERATOR, start, dur);
        (void)row(run, "1", "aten::mm", OPERATOR, start + dur, 100);
        start += dur + 100;
    }
    return start;
}

static void starts_take_their_first_wait_and_their_end_too(void)
{
    struct run run;
    begin(&run);
    int64_t at_us = 0;
    for (int i = 0; i < 3; i++) {
        (void)row(&run, "1", LOADER "(389): _get_iterator", PYTHON, at_us, 200);
        at_us = batches(&run, at_us + 200, 60);
        (void)row(&run, "1", LOADER "(1550): _shutdown_workers", PYTHON, at_us, 30);
        at_us += 30;
    }
    analyze(&run);
    is_int(ap_value_integer(at(&run, "data_loading.start_count"), -1), 3, "starts");
    is_int(us(&run, "data_loading.start_us"), 3 * (200 + 50 + 30), "making, the first wait beyond the median, the end");
    end(&run);
}

static void one_that_goes_on_takes_nothing(void)
{
    struct run run;
    begin(&run);
    (void)row(&run, "1", "main.py(3): _get_iterator", PYTHON, 0, 200);
    (void)batches(&run, 300, 60);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "data_loading.start_count"), -1), 0, "no start in it");
    is_int(us(&run, "data_loading.start_us"), 0, "and nothing that it took");
    end(&run);
}

/* Ten batches that the loop makes itself, of which the last one takes longer. */
static int64_t spared_us(int64_t made, int64_t last, bool on_gpu)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 10; i++) {
        int64_t start = i * 10000, dur = i == 9 ? last : made;
        (void)row(&run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", OPERATOR, start, dur);
        (void)row(&run, "1", "aten::mm", OPERATOR, start + dur, 100);
        if (on_gpu)
            (void)row(&run, "gpu", "gemm", KERNEL, start + dur, 100);
    }
    analyze(&run);
    int64_t spared = us(&run, "data_loading.spared_us");
    end(&run);
    return spared;
}

static void batches_that_are_made_at_once_spare_nothing(void)
{
    is_int(spared_us(400, 400, false), 0, "taking it from a worker takes as long");
    is_int(spared_us(400, 9000, false), 0, "a thread that lost its core");
    is_int(spared_us(2000, 4000, false), 10 * (2000 - 500) + 2000, "beyond taking it");
    is_int(spared_us(400, 400, true), 10 * (400 - 150), "a thread unpacks it");
}

int main(void)
{
    starts_take_their_first_wait_and_their_end_too();
    one_that_goes_on_takes_nothing();
    batches_that_are_made_at_once_spare_nothing();
    return done();
}
