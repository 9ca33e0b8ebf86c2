/* SPDX-License-Identifier: MIT
 * How models are fed and asked: traces typed by hand, each with a healthy one that looks alike. */
#include "typed_habits.h"

static const char workers[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

/* Steps of @waits each, with a layer behind; returns the end. */
static int64_t steps_of_waits(struct run *run, int steps, int waits, const char *behind)
{
    int64_t at_us = 0;
    for (int i = 0; i < steps; i++) {
        for (int j = 0; j < waits; j++, at_us += 40)
            row(run, "1", workers, ANNOTATION, at_us, 30);
        op(run, behind, at_us, 5, 0);
        op(run, "aten::linear", at_us + 10, 20, 0);
        at_us += 40;
    }
    return at_us;
}

static void samples_that_the_loop_puts_together_are_told(void)
{
    struct run run;
    begin(&run);
    (void)steps_of_waits(&run, 3, 16, "aten::stack");
    analyze(&run);
    is_int(habit(&run, "loose_sample", "count"), 3 * 16, "each wait for one");
    is_int(habit(&run, "loose_sample", "total_us"), 3 * 16 * 30, "their time");
    is_int(habit(&run, "loose_sample", "saves_us"), 3 * 15 * 30, "one a batch is left");
    is_int(habit(&run, "epoch_start", "count"), 0, "and no epoch begins between two of them");
    end(&run);
    begin(&run);
    (void)steps_of_waits(&run, 3, 16, "aten::relu");
    analyze(&run);
    is_int(habit(&run, "loose_sample", "count"), 0, "batches that are fetched ahead");
    end(&run);
    begin(&run);
    (void)steps_of_waits(&run, 3, 4, "aten::stack");
    analyze(&run);
    is_int(habit(&run, "loose_sample", "count"), 0, "one batch of each of four sources");
    end(&run);
}

static void two_loaders_are_no_epochs(void)
{
    struct run run;
    begin(&run);
    (void)steps_of_waits(&run, 6, 2, "aten::cat");
    analyze(&run);
    is_int(habit(&run, "epoch_start", "count"), 0, "two batches a step, with labels and without");
    end(&run);
    begin(&run);
    int64_t at_us = steps_of_waits(&run, 4, 1, "aten::relu");
    row(&run, "1", workers, ANNOTATION, at_us, 5);
    row(&run, "1", workers, ANNOTATION, at_us + 10, 50);
    op(&run, "aten::linear", at_us + 70, 20, 0);
    analyze(&run);
    ok(habit(&run, "epoch_start", "count") >= 1, "two waits where there is one elsewhere");
    end(&run);
}

int main(void)
{
    samples_that_the_loop_puts_together_are_told();
    two_loaders_are_no_epochs();
    return done();
}
