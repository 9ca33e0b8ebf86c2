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

/* A layer that calls @first, and then @inner on tensors of @types where they are known. */
static void layer_within(struct run *run, const char *first, const char *inner, const char *types)
{
    begin(run);
    op(run, "aten::linear", 0, 1000, 0);
    op(run, first, 10, 100, 0);
    op(run, "aten::_to_copy", 20, 80, 0);
    op_with(run, inner, 200, 700, 0, types ? "[[8,128],[256,128]]" : NULL, types);
    analyze(run);
}

static void layers_under_autocast_are_told(void)
{
    struct run run;
    layer_within(&run, "aten::to", "aten::linear", NULL);
    is_int(habit(&run, "autocast_layer", "count"), 1, "a layer within a layer of the same name, behind a cast");
    is_int(habit(&run, "autocast_layer", "total_us"), 1000, "with its casts");
    end(&run);
    layer_within(&run, "aten::to", "aten::linear", "[\"c10::BFloat16\",\"c10::BFloat16\"]");
    is_int(habit(&run, "autocast_layer", "count"), 1, "in bfloat16");
    end(&run);
    layer_within(&run, "aten::to", "aten::linear", "[\"c10::Half\",\"c10::Half\"]");
    is_int(habit(&run, "autocast_layer", "count"), 0, "in fp16, which is told as such");
    end(&run);
    layer_within(&run, "aten::to", "aten::addmm", NULL);
    is_int(habit(&run, "autocast_layer", "count"), 0, "the layer's own product");
    end(&run);
    layer_within(&run, "aten::view", "aten::linear", NULL);
    is_int(habit(&run, "autocast_layer", "count"), 0, "nothing is cast");
    end(&run);
}

int main(void)
{
    of_casts_in_one_pass_one_is_needed();
    frozen_weights_need_none();
    layers_under_autocast_are_told();
    return done();
}
