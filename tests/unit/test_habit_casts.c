/* SPDX-License-Identifier: MIT
 * Weights that are cast to 16 bits again: traces typed by hand, with what such casts take and could save. */
#include "typed_habits.h"

#define WEIGHT "[[256,128],[],[]]"
#define TWO "[[256,128],[256,128],[]]"

/* A cast of 10 us, and the product with it. */
static void cast(struct run *run, int64_t start_us)
{
    op_with(run, "aten::_to_copy", start_us, 10, 0, WEIGHT, "[\"float\",\"Scalar\",\"\"]");
    op_with(run, "aten::copy_", start_us + 2, 6, 0, TWO, "[\"c10::BFloat16\",\"float\",\"Scalar\"]");
    op_with(run, "aten::linear", start_us + 12, 5, 0, "[[8,128],[256,128]]", "[\"c10::BFloat16\",\"c10::BFloat16\"]");
}

/* Its gradient on the way back: 20 us. */
static void uncast(struct run *run, int64_t start_us)
{
    op_with(run, "ToCopyBackward0", start_us, 20, 0, "[[256,128]]", "[\"c10::BFloat16\"]");
    op_with(run, "aten::copy_", start_us + 2, 10, 0, TWO, "[\"float\",\"c10::BFloat16\",\"Scalar\"]");
}

static void pass(struct run *run, int64_t start_us, int casts, bool trains)
{
    for (int i = 0; i < casts; i++)
        cast(run, start_us + 20 * i);
    node(run, start_us + 200, 5, 20);
    for (int i = 0; i < casts && trains; i++)
        uncast(run, start_us + 210 + 30 * i);
    if (trains)
        op_with(run, "torch::autograd::AccumulateGrad", start_us + 400, 4, 0, "[[256,128]]", "[\"float\"]");
}

static void of_casts_in_one_pass_one_is_needed(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, i * 1000, 4, true);
    analyze(&run);
    is_int(habit(&run, "cast_again", "count"), 4 * 3, "three of four");
    is_int(habit(&run, "cast_again", "total_us"), 4 * 4 * 30, "with their backward pass");
    is_int(habit(&run, "cast_again", "saves_us"), 4 * 3 * 30, "of those three");
    end(&run);
    begin(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, i * 1000, 1, true);
    analyze(&run);
    is_int(habit(&run, "cast_again", "count"), 0, "one in each pass, behind which the weight changes");
    end(&run);
}

static void frozen_weights_need_none(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, i * 1000, 1, false);
    analyze(&run);
    is_int(habit(&run, "cast_again", "count"), 4, "all of them");
    is_int(habit(&run, "cast_again", "saves_us"), 4 * 10, "all that they take");
    end(&run);
    begin(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, i * 1000, 1, false);
    op_with(&run, "aten::lerp_", 5000, 10, 0, TWO, "[\"float\",\"float\",\"Scalar\"]");
    analyze(&run);
    is_int(habit(&run, "cast_again", "count"), 0, "an average of weights changes");
    end(&run);
    begin(&run);
    for (int i = 0; i < 4; i++)
        cast(&run, i * 1000);
    analyze(&run);
    is_int(habit(&run, "cast_again", "saves_us"), 4 * 10, "nor do any in inference");
    end(&run);
}

int main(void)
{
    of_casts_in_one_pass_one_is_needed();
    frozen_weights_need_none();
    return done();
}
