/* SPDX-License-Identifier: MIT
 * Convolutions in a costly form: traces typed by hand, with what they take and could save. */
#include "typed_habits.h"

static const char floats[] = "[\"float\",\"float\"]";

/* Images of 8 channels; patches of @patch numbers are multiplied behind @between. */
static void patches(struct run *run, const char *between, const char *product, const char *sizes)
{
    begin(run);
    op_with(run, "aten::im2col", 0, 100, 20, "[[4,8,32,32],[],[]]", "[\"float\",\"ScalarList\",\"ScalarList\"]");
    op(run, between, 100, 5, 21);
    op_with(run, product, 110, 50, 22, sizes, floats);
    node(run, 300, 40, 22);
    node(run, 345, 5, 21);
    node(run, 350, 150, 20);
    analyze(run);
}

static void products_with_patches_are_told(void)
{
    struct run run;
    patches(&run, "aten::view", "aten::matmul", "[[16,72],[4,72,1024]]");
    is_int(habit(&run, "patch_product", "count"), 1, "a weight times patches that overlap");
    ok(habit(&run, "patch_product", "total_us") >= 100 + 50 + 40 + 150, "with the backward pass");
    end(&run);
    patches(&run, "aten::transpose", "aten::linear", "[[4,1024,72],[16,72]]");
    is_int(habit(&run, "patch_product", "count"), 1, "turned");
    end(&run);
    patches(&run, "aten::transpose", "aten::linear", "[[4,16,512],[64,512]]");
    is_int(habit(&run, "patch_product", "count"), 0, "patches side by side have no element twice");
    end(&run);
    patches(&run, "aten::softmax", "aten::matmul", "[[16,72],[4,72,1024]]");
    is_int(habit(&run, "patch_product", "count"), 0, "each patch was treated by itself");
    end(&run);
    patches(&run, "aten::view", "aten::matmul", "[[4,16,72],[4,72,1024]]");
    is_int(habit(&run, "patch_product", "count"), 0, "each image has a weight of its own");
    end(&run);
}

/* Images times a matrix that an optimizer updates, or another one of @updated. */
static void filter(struct run *run, const char *sizes, const char *updated)
{
    begin(run);
    op_with(run, "aten::conv2d", 0, 200, 0, sizes, floats);
    op_with(run, "aten::conv2d", 200, 10, 20, "[[4,3,64,64],[16,3,3,3]]", floats);
    node(run, 300, 20, 20);
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, 400, 50);
    op_with(run, "aten::add_", 410, 5, 0, updated, floats);
    analyze(run);
}

static void filters_of_images_are_told(void)
{
    static const char blur[] = "[[4,3,64,64],[3,1,20,20]]";
    struct run run;
    filter(&run, blur, "[[16,3,3,3],[16,3,3,3]]");
    is_int(habit(&run, "image_filter", "total_us"), 200, "a matrix that nothing trains");
    is_int(habit(&run, "image_filter", "saves_us"), 180, "a row and a column stay");
    end(&run);
    filter(&run, blur, "[[3,1,20,20],[3,1,20,20]]");
    is_int(habit(&run, "image_filter", "count"), 0, "a layer");
    end(&run);
    filter(&run, "[[4,64,64,64],[64,1,20,20]]", "[[16,3,3,3],[16,3,3,3]]");
    is_int(habit(&run, "image_filter", "count"), 0, "a frozen layer");
    end(&run);
    filter(&run, "[[4,3,64,64],[3,1,3,3]]", "[[16,3,3,3],[16,3,3,3]]");
    is_int(habit(&run, "image_filter", "count"), 0, "small: two would take as long");
    end(&run);
}

static void long_filters_of_signals_are_told(void)
{
    struct run run;
    begin(&run);
    op_with(&run, "aten::conv1d", 0, 200, 0, "[[8,1,8000],[1,1,4097]]", floats);
    op_with(&run, "aten::conv1d", 300, 200, 0, "[[8,1,8000],[32,1,9]]", floats);
    op_with(&run, "aten::conv1d", 600, 200, 0, "[[8,64,8000],[64,1,4097]]", floats);
    analyze(&run);
    is_int(habit(&run, "image_filter", "count"), 1, "one signal, thousands of taps; neither a short one nor a layer's");
    is_int(habit(&run, "image_filter", "saves_us"), 197, "transforms take time as well, less the longer the filter is");
    end(&run);
}

int main(void)
{
    products_with_patches_are_told();
    filters_of_images_are_told();
    long_filters_of_signals_are_told();
    return done();
}
