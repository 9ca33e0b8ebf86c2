/* SPDX-License-Identifier: MIT
 * Layers that work on more than is there, padding or enlarged images: traces typed by hand. */
#include "typed_habits.h"

#define ONE "[\"float\",\"Scalar\"]"
#define TWO "[\"float\",\"float\"]"
#define LOOK_UP "[\"float\",\"long int\"]"

/* Words of 30 or so, four rows of 96; @copy: how a row gets its own. */
static void written_by_row(struct run *run, const char *row_by, const char *copy, const char *longest, const char *looked_up)
{
    begin(run);
    for (int i = 0; i < 4; i++) {
        if (i == 0 || row_by[6] == 's')
            op_with(run, row_by, 30 * i, 5, 0, "[[4,96],[],[]]", ONE);
        op_with(run, "aten::slice", 30 * i + 10, 5, 0, "[[96],[],[]]", ONE);
        op_with(run, copy, 30 * i + 20, 5, 0, i == 2 ? longest : "[[24],[24]]", TWO);
    }
    op_with(run, "aten::embedding", 200, 100, 10, looked_up, LOOK_UP);
    op_with(run, "aten::linear", 300, 100, 11, "[[4,96,8],[8,8],[8]]", TWO);
    row(run, "1", "Optimizer.zero_grad#SGD.zero_grad", ANNOTATION, 410, 5);
    op(run, "aten::ones_like", 420, 5, 0);
    node(run, 500, 100, 11);
    node(run, 600, 100, 10);
    analyze(run);
}

static void rows_that_are_written_one_by_one_are_told(void)
{
    struct run run;
    written_by_row(&run, "aten::select", "aten::copy_", "[[48],[48]]", "[[500,8],[4,96]]");
    is_int(habit(&run, "padded_sample", "count"), 1, "of 96 places at most 48 are used");
    is_int(habit(&run, "padded_sample", "total_us"), 200 + 200, "the layers, without what makes the batch, and their nodes");
    is_int(habit(&run, "padded_sample", "saves_us"), 200, "half of it");
    end(&run);
    written_by_row(&run, "aten::unbind", "aten::copy_", "[[48],[48]]", "[[500,8],[4,96]]");
    is_int(habit(&run, "padded_sample", "saves_us"), 200, "a loop over all rows is that, too");
    end(&run);
    written_by_row(&run, "aten::select", "aten::copy_", "[[80],[80]]", "[[500,8],[4,96]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "one sample is nearly as long");
    end(&run);
    written_by_row(&run, "aten::select", "aten::copy_", "[[48],[48]]", "[[500,8],[4,48]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "a buffer, of which layers read what is filled");
    end(&run);
    written_by_row(&run, "aten::select", "aten::copy_", "[[48],[48]]", "[[500,8],[4,200]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "results are put together, and the next prompts are read");
    end(&run);
    written_by_row(&run, "aten::select", "aten::add_", "[[48],[48]]", "[[500,8],[4,96]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "windows that are added up");
    end(&run);
}

/* Four pictures; @joined: what puts them together, of @sizes. */
static void padded_pictures_of(struct run *run, int count, const char *joined, const char *sizes, const char *layer)
{
    begin(run);
    for (int i = 0; i < count; i++)
        op_with(run, "aten::pad", 20 * i, 10, 0, i ? "[[3,60,50],[],[]]" : "[[3,50,60],[],[]]", ONE);
    op_with(run, joined, 100, 10, 0, sizes, "[\"TensorList\",\"Scalar\"]");
    op_with(run, "aten::conv2d", 200, 100, 10, layer, TWO);
    node(run, 400, 200, 10);
    analyze(run);
}

static void padded_pictures(struct run *run, int count, const char *joined, const char *layer)
{
    padded_pictures_of(run, count, joined, "[[[3,120,120],[3,120,120],[3,120,120],[3,120,120]],[]]", layer);
}

static void pictures_that_are_padded_to_a_constant_are_told(void)
{
    struct run run;
    padded_pictures(&run, 4, "aten::stack", "[[4,3,120,120],[8,3,3,3]]");
    is_int(habit(&run, "padded_sample", "saves_us"), 300 * 3 / 4, "of each side half is needed");
    end(&run);
    padded_pictures_of(&run, 4, "aten::stack", "[[[3,64,64],[3,64,64]],[]]", "[[4,3,64,64],[8,3,3,3]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "rounded up");
    end(&run);
    padded_pictures(&run, 4, "aten::stack", "[[5,3,120,120],[8,3,3,3]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "one needs no padding");
    end(&run);
    padded_pictures(&run, 4, "aten::cat", "[[4,3,120,120],[8,3,3,3]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "branches of a model, put side by side");
    end(&run);
    padded_pictures(&run, 1, "aten::stack", "[[1,3,120,120],[8,3,3,3]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "one image");
    end(&run);
}

/* @looked_up: what the layers read. @then: what they do next. */
static void sequences_before(struct run *run, const char *lengths, const char *looked_up, const char *then,
                             const char *sizes)
{
    begin(run);
    op_with(run, "aten::pad_sequence", 0, 10, 0, lengths, "[\"TensorList\",\"Scalar\",\"Scalar\"]");
    op_with(run, "aten::embedding", 100, 100, 10, looked_up, LOOK_UP);
    op_with(run, then, 200, 10, 0, sizes, LOOK_UP);
    op_with(run, "aten::gru", 210, 90, 11, "[[4,100,8],[1,4,8]]", TWO);
    analyze(run);
}

static void sequences(struct run *run, const char *lengths)
{
    sequences_before(run, lengths, "[[500,8],[4,100]]", "aten::add", "[[4,100,8],[100,8]]");
}

static void sequences_of_unlike_lengths_are_told(void)
{
    struct run run;
    sequences(&run, "[[[100],[20],[30],[10]],[],[]]");
    is_int(habit(&run, "padded_sample", "saves_us"), 120, "40 % of the batch is filled");
    end(&run);
    sequences(&run, "[[[100],[50],[90],[10]],[],[]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "in any order");
    end(&run);
}

static void padding_that_no_layer_works_on_costs_nothing(void)
{
    static const char unlike[] = "[[[100],[20],[30],[10]],[],[]]", padded[] = "[[500,8],[4,100]]";
    struct run run;
    sequences_before(&run, unlike, padded, "aten::_pack_padded_sequence", "[[4,100,8],[4]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "packed before the layers that take the time");
    end(&run);
    sequences_before(&run, unlike, padded, "aten::_nested_tensor_from_mask", "[[4,100,8],[4,100]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "made a nested tensor");
    end(&run);
    sequences_before(&run, unlike, padded, "aten::index", "[[4,100,8],[]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "picked by a mask");
    end(&run);
    sequences_before(&run, unlike, padded, "aten::index", "[[300,8],[]]");
    is_int(habit(&run, "padded_sample", "count"), 1, "a look-up in a table of positions takes nothing out");
    end(&run);
    sequences_before(&run, unlike, "[[500,8],[4,200]]", "aten::add", "[[4,200,8],[200,8]]");
    is_int(habit(&run, "padded_sample", "count"), 0, "labels: the layers read something else, which is longer");
    end(&run);
    sequences_before(&run, unlike, "[[500,8],[100,4]]", "aten::add", "[[100,4,8],[4,8]]");
    is_int(habit(&run, "padded_sample", "saves_us"), 120, "time may come first");
    end(&run);
    sequences_before(&run, unlike, padded, "aten::embedding", "[[500,8],[4,300]]");
    is_int(habit(&run, "padded_sample", "total_us"), 100, "another input of the model begins there");
    end(&run);
}

static void a_matrix_is_no_batch(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++)
        op_with(&run, "aten::pad", 20 * i, 10, 0, "[[8],[],[]]", ONE);
    op_with(&run, "aten::stack", 100, 10, 0, "[[[32],[32],[32],[32]],[]]", "[\"TensorList\",\"Scalar\"]");
    op_with(&run, "aten::matmul", 200, 100, 0, "[[4,32],[32,64]]", TWO);
    analyze(&run);
    is_int(habit(&run, "padded_sample", "count"), 0, "one filter, moved on from row to row");
    end(&run);
}

/* An image is resized, a layer sees it, and @then works on what the layer made; @last follows. */
static void resized_before(struct run *run, const char *image, const char *then, const char *sizes, const char *last)
{
    begin(run);
    op_with(run, "aten::upsample_bilinear2d", 0, 100, 0, image, TWO);
    op_with(run, "aten::sub", 100, 50, 0, "[[8,3,192,192],[3,1,1]]", TWO);
    op_with(run, "aten::conv2d", 150, 800, 10, "[[8,3,192,192],[16,3,3,3]]", TWO);
    op_with(run, "aten::relu", 950, 40, 11, "[[8,16,96,96]]", TWO);
    op_with(run, then, 990, 10, 12, sizes, TWO);
    op_with(run, last, 1000, 20, 13, "[[8,16],[10,16]]", TWO);
    node(run, 1100, 200, 12);
    node(run, 1300, 600, 10);
    analyze(run);
}

static void resized(struct run *run, const char *image, const char *then, const char *sizes)
{
    resized_before(run, image, then, sizes, "aten::linear"); /* a head */
}

static void images_that_are_enlarged_are_told(void)
{
    static const char small[] = "[[8,3,96,96],[],[],[],[]]", pooled[] = "[[8,16,96,96],[]]";
    struct run run;
    resized(&run, small, "aten::mean", pooled);
    is_int(habit(&run, "enlarged_image", "count"), 1, "four times as many places, which are pooled");
    is_int(habit(&run, "enlarged_image", "total_us"), 850 + 800, "from the first layer to the pooling, and their nodes");
    is_int(habit(&run, "enlarged_image", "saves_us"), 1650 * 3 / 4, "a quarter stays");
    end(&run);
    resized(&run, small, "aten::adaptive_avg_pool2d", pooled);
    is_int(habit(&run, "enlarged_image", "count"), 1, "pooled in another way");
    end(&run);
    resized(&run, small, "aten::flatten", pooled);
    is_int(habit(&run, "enlarged_image", "count"), 0, "a model for one size");
    end(&run);
    resized(&run, small, "aten::upsample_bilinear2d", pooled);
    is_int(habit(&run, "enlarged_image", "count"), 0, "a picture is made: the size is that of the result");
    end(&run);
    resized_before(&run, small, "aten::mean", pooled, "aten::mul");
    is_int(habit(&run, "enlarged_image", "count"), 0, "a loss is the mean over the places of a map");
    end(&run);
    resized(&run, "[[8,3,160,160],[],[],[],[]]", "aten::mean", pooled);
    is_int(habit(&run, "enlarged_image", "count"), 0, "about the same size");
    end(&run);
    resized(&run, "[[8,16,96,96],[],[],[],[]]", "aten::mean", pooled);
    is_int(habit(&run, "enlarged_image", "count"), 0, "maps of a model");
    end(&run);
}

int main(void)
{
    rows_that_are_written_one_by_one_are_told();
    pictures_that_are_padded_to_a_constant_are_told();
    sequences_of_unlike_lengths_are_told();
    padding_that_no_layer_works_on_costs_nothing();
    a_matrix_is_no_batch();
    images_that_are_enlarged_are_told();
    return done();
}
