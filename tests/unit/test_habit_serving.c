/* SPDX-License-Identifier: MIT
 * How models are fed and asked: traces typed by hand, each with a healthy one that looks alike. */
#include "typed_habits.h"

static const char workers[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
static const char two[] = "[\"float\",\"float\"]", floats[] = "[\"float\"]";

/* Steps of @waits each of such length, with a layer behind; returns the end. */
static int64_t steps_of_long_waits(struct run *run, int steps, int waits, int64_t wait_us, const char *behind)
{
    int64_t at_us = 0;
    for (int i = 0; i < steps; i++) {
        for (int j = 0; j < waits; j++, at_us += wait_us + 10)
            row(run, "1", workers, ANNOTATION, at_us, wait_us);
        op(run, behind, at_us, 5, 0);
        op(run, "aten::linear", at_us + 10, 20, 0);
        at_us += 40;
    }
    return at_us;
}

static int64_t steps_of_waits(struct run *run, int steps, int waits, const char *behind)
{
    return steps_of_long_waits(run, steps, waits, 30, behind);
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
    begin(&run);
    (void)steps_of_long_waits(&run, 3, 16, 4000, "aten::stack");
    analyze(&run);
    is_int(habit(&run, "loose_sample", "count"), 0, "a worker that takes long for each sample does for a batch as well");
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

/* Calls of a recurrent layer on a series that is one longer each time; @grown: what is put together, by its length. */
static void forecast(struct run *run, const char *weights, const char *grown)
{
    char dims[120];
    begin(run);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(dims, sizeof(dims), "[[4,%d,8],[1,4,16],%s]", 20 + i, weights);
        op_with(run, "aten::gru", i * 200, 100, 0, dims, "[\"float\",\"float\",\"TensorList\"]");
        if (grown)
            (void)snprintf(dims, sizeof(dims), grown, 20 + i);
        if (grown)
            op_with(run, "aten::cat", i * 200 + 120, 5, 0, dims, "[\"TensorList\",\"Scalar\"]");
    }
    analyze(run);
}

static void a_series_that_is_read_again_is_told(void)
{
    static const char series[] = "[[[4,%d,8],[4,1,8]],[]]";
    struct run run;
    forecast(&run, "[[48,8],[48,16],[48],[48]]", series);
    is_int(habit(&run, "growing_prefix", "count"), 16, "a state would do, and what is new alone");
    end(&run);
    forecast(&run, "[[48,8],[48,16],[48],[48],[48,8],[48,16],[48],[48]]", series);
    is_int(habit(&run, "growing_prefix", "count"), 0, "the way back sees each new value first");
    end(&run);
    forecast(&run, "[[48,8],[48,16],[48],[48],[48,16],[48,16],[48],[48]]", series);
    is_int(habit(&run, "growing_prefix", "count"), 16, "a second layer is no way back");
    end(&run);
    forecast(&run, "[[48,8],[48,16],[48],[48]]", NULL);
    is_int(habit(&run, "growing_prefix", "count"), 0, "batches in the order of their length");
    end(&run);
    forecast(&run, "[[48,8],[48,16],[48],[48]]", "[[[%d,8],[1,8]],[]]");
    is_int(habit(&run, "growing_prefix", "count"), 0, "so they are, and their answers are put together");
    end(&run);
    forecast(&run, "[[48,8],[48,16],[48],[48]]", "[[[4,%d],[4,1]],[]]");
    is_int(habit(&run, "growing_prefix", "count"), 16, "indices that become positions");
    end(&run);
}

enum packs { ALWAYS, ONCE, ONE_LAYER, ONE_LAYER_A_STEP };

/* A model that is quantized and used, @times. */
static void quantized(struct run *run, int times, enum packs packs)
{
    static const char weight[] = "[[64,64],[64]]", head[] = "[[10,64],[10]]";
    begin(run);
    for (int i = 0; i < times; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", i);
        if (packs == ONE_LAYER_A_STEP)
            row(run, "1", name, ANNOTATION, i * 1000, 1000);
        if (!i || packs != ONCE) {
            op_with(run, "aten::clone", i * 1000, 50, 0, "[[64,64],[]]", two);
            op_with(run, "aten::aminmax", i * 1000 + 60, 20, 0, "[[64,64]]", floats);
            op_with(run, "quantized::linear_prepack", i * 1000 + 90, 5, 0, "[[1,1],[]]", two);
            op_with(run, "quantized::linear_prepack", i * 1000 + 100, 200, 0, weight, two);
            op_with(run, "quantized::linear_prepack", i * 1000 + 310, 200, 0, packs < ONE_LAYER ? head : weight, two);
        }
        op_with(run, "quantized::linear_dynamic", i * 1000 + 600, 30, 0, "[[4,64],[]]", two);
        op_with(run, "aten::softmax", i * 1000 + 640, 10, 0, "[[4,64],[]]", two);
        op_with(run, "aten::div", i * 1000 + 900, 10, 0, "[[4,64],[]]", two);
    }
    analyze(run);
}

static void weights_that_are_packed_for_each_call_are_told(void)
{
    struct run run;
    quantized(&run, 3, ALWAYS);
    is_int(habit(&run, "weight_made", "count"), 3, "the first one too: what is recorded goes on");
    ok(habit(&run, "weight_made", "total_us") >= 3 * 510, "with the copy and the range before it");
    end(&run);
    quantized(&run, 3, ONCE);
    is_int(habit(&run, "weight_made", "count"), 0, "all layers, packed at the start");
    end(&run);
    quantized(&run, 3, ONE_LAYER);
    is_int(habit(&run, "weight_made", "count"), 0, "layer by layer, each tried");
    end(&run);
    quantized(&run, 3, ONE_LAYER_A_STEP);
    is_int(habit(&run, "weight_made", "count"), 3, "the same one in each step");
    end(&run);
}

/* @first, and then a weight is made and used, three times. */
static int64_t weights_behind(const char *first)
{
    static const char sizes[] = "[[256,256],[256,256]]";
    struct run run;
    begin(&run);
    for (int i = 0; i < 3; i++) {
        op_with(&run, first, i * 1000, 50, 0, sizes, two);
        op_with(&run, "aten::mul", i * 1000 + 60, 50, 0, sizes, two);
        op_with(&run, "aten::add", i * 1000 + 120, 50, 0, sizes, two);
        op_with(&run, "aten::linear", i * 1000 + 180, 50, 0, "[[4,256],[256,256]]", two);
    }
    analyze(&run);
    int64_t count = habit(&run, "weight_made", "count");
    end(&run);
    return count;
}

static void weights_that_are_drawn_for_each_call_are_not_told(void)
{
    is_int(weights_behind("aten::clone"), 2, "the same each time");
    is_int(weights_behind("aten::normal_"), 0, "other noise each time");
}

enum crop { CROPS, READS_THE_REST, CUTS_ONE_SIDE, IN_PLACE, CUTS_AGAIN, TILES };

/* Maps of @channels are scaled and cropped; what is left goes into a batch. */
static void cropped(struct run *run, enum crop crop, int channels)
{
    char whole[40], half[40], rest[80];
    (void)snprintf(whole, sizeof(whole), "[[%d,200,200],[]]", channels);
    (void)snprintf(half, sizeof(half), "[[%d,50,200],[]]", channels);
    (void)snprintf(rest, sizeof(rest), "[[[%d,50,%d]],[]]", channels, crop == CUTS_ONE_SIDE ? 200 : 50);
    begin(run);
    for (int i = 0; i < 2; i++) {
        int64_t at_us = i * 500;
        op_with(run, crop == IN_PLACE ? "aten::mul_" : "aten::mul", at_us, 90, 0, whole, two);
        op_with(run, "aten::clamp_", at_us + 90, 60, 0, whole, two);
        for (int view = 0; view <= (crop >= CUTS_AGAIN); view++) {
            int64_t view_us = at_us + 160 + 150 * view;
            op_with(run, "aten::slice", view_us, 2, 0, whole, two);
            if (crop != CUTS_ONE_SIDE)
                op_with(run, "aten::slice", view_us + 5, 2, 0, half, two);
            for (int layer = 0; layer < 70 && crop == TILES; layer++)
                op_with(run, "aten::relu", view_us + 10 + 2 * layer, 1, 0, "[[3,50,50]]", floats);
        }
    }
    op_with(run, "aten::stack", 1000, 20, 0, rest, two);
    if (crop == READS_THE_REST)
        op_with(run, "aten::mean", 1100, 20, 0, whole, two);
    analyze(run);
}

static void work_that_a_crop_throws_away_is_told(void)
{
    struct run run;
    cropped(&run, CROPS, 3);
    is_int(habit(&run, "unused_elements", "count"), 2, "two images");
    is_int(habit(&run, "unused_elements", "total_us"), 2 * 150, "each element alone");
    end(&run);
    cropped(&run, READS_THE_REST, 3);
    is_int(habit(&run, "unused_elements", "count"), 1, "the last one is read whole");
    end(&run);
    cropped(&run, CUTS_ONE_SIDE, 3);
    is_int(habit(&run, "unused_elements", "count"), 0, "the head of a sequence");
    end(&run);
    cropped(&run, IN_PLACE, 3);
    is_int(habit(&run, "unused_elements", "count"), 0, "a state that is kept");
    end(&run);
    cropped(&run, CUTS_AGAIN, 3);
    is_int(habit(&run, "unused_elements", "count"), 0, "two views of one image");
    end(&run);
    cropped(&run, TILES, 3);
    is_int(habit(&run, "unused_elements", "count"), 0, "tiles of it, and a model on each");
    end(&run);
    cropped(&run, CROPS, 8);
    is_int(habit(&run, "unused_elements", "count"), 0, "no image: it may be kept for the next step");
    end(&run);
}

/* Texts are read off images one by one; @first: the first layer of a call, @scores what is chosen from. */
static void read_off(struct run *run, const char *first, const char *scores, const char *between)
{
    begin(run);
    for (int i = 0; i < 20; i++) {
        op_with(run, first, i * 100, 50, 0, "[[1,8,8],[8,8,3]]", two);
        op_with(run, "aten::argmax", i * 100 + 60, 5, 0, scores, two);
        if (between)
            op(run, between, i * 100 + 70, 5, 0);
    }
    analyze(run);
}

static void texts_that_are_read_off_one_by_one_are_told(void)
{
    struct run run;
    read_off(&run, "aten::conv1d", "[[1,8,16],[]]", NULL);
    is_int(habit(&run, "single_request", "count"), 20, "no choice goes into the next call");
    end(&run);
    read_off(&run, "aten::conv1d", "[[1,16],[]]", NULL);
    is_int(habit(&run, "single_request", "count"), 0, "an action, and what a player sees then");
    end(&run);
    read_off(&run, "aten::linear", "[[1,8,16],[]]", NULL);
    is_int(habit(&run, "single_request", "count"), 0, "no image: it may be what was chosen");
    end(&run);
    read_off(&run, "aten::conv1d", "[[1,8,16],[]]", "aten::cat");
    is_int(habit(&run, "single_request", "count"), 0, "put behind what was there: it is generated");
    end(&run);
}

/* Several passes with dropout. */
static void passes_with_noise(struct run *run, const char *joins, const char *behind, const char *dims)
{
    begin(run);
    for (int i = 0; i < 4; i++) {
        op(run, "aten::linear", i * 100, 50, 0);
        op(run, "aten::dropout", i * 100 + 60, 30, 0);
        op(run, "aten::bernoulli_", i * 100 + 65, 20, 0);
    }
    op(run, joins, 400, 10, 0);
    op_with(run, behind, 420, 10, 0, dims, floats);
    analyze(run);
}

/* One pass with dropout, of a batch that @makes made. */
static int64_t noise_of_batch(const char *makes)
{
    struct run run;
    begin(&run);
    op(&run, makes, 0, 10, 0);
    op(&run, "aten::linear", 10, 50, 0);
    op(&run, "aten::dropout", 60, 30, 0);
    op(&run, "aten::bernoulli_", 65, 20, 0);
    op(&run, "aten::linear", 100, 50, 0);
    op(&run, "aten::view", 150, 5, 0);
    op(&run, "aten::std", 160, 10, 0);
    analyze(&run);
    int64_t count = habit(&run, "inference_dropout", "count");
    end(&run);
    return count;
}

static void noise_that_is_wanted_is_not_told(void)
{
    struct run run;
    is_int(noise_of_batch("aten::repeat"), 0, "each input several times, and how far the answers differ");
    is_int(noise_of_batch("aten::randn"), 1, "a batch of single inputs");
    passes_with_noise(&run, "aten::stack", "aten::var", "[[4,64,10]]");
    is_int(habit(&run, "inference_dropout", "count"), 0, "how far the answers differ is asked");
    end(&run);
    passes_with_noise(&run, "aten::stack", "aten::mean", "[[4,64,10]]");
    is_int(habit(&run, "inference_dropout", "count"), 0, "their mean is");
    end(&run);
    passes_with_noise(&run, "aten::stack", "aten::mean", "[[4]]");
    is_int(habit(&run, "inference_dropout", "count"), 4, "losses of batches");
    end(&run);
    passes_with_noise(&run, "aten::cat", "aten::mean", "[[64,4,10]]");
    is_int(habit(&run, "inference_dropout", "count"), 4, "one mean for all requests");
    end(&run);
    passes_with_noise(&run, "aten::stack", "aten::argmax", "[[4,64,10]]");
    is_int(habit(&run, "inference_dropout", "count"), 4, "requests that are answered together");
    end(&run);
}

/* Two ranks hand each other objects: @types of the bytes; @storage: how a pickle becomes a tensor. */
static void handed_over(struct run *run, const char *types, const char *storage)
{
    begin(run);
    op(run, "aten::linear", 0, 100, 0);
    op(run, "aten::empty", 300, 5, 0);
    op(run, storage, 310, 5, 0);
    op_with(run, "aten::to", 320, 5, 0, "[[1],[]]", "[\"long int\",\"Scalar\"]");
    op_with(run, "c10d::_allgather_base_", 330, 10, 0, "[[2],[1]]", "[\"long int\",\"long int\"]");
    op(run, "aten::max", 400, 5, 0);
    op(run, "aten::item", 410, 5, 0);
    op(run, "aten::resize_", 420, 5, 0);
    op_with(run, "c10d::_allgather_base_", 430, 10, 0, "[[8192],[4096]]", types);
    op(run, "aten::select", 1000, 5, 0);
    op(run, "aten::chunk", 1010, 5, 0);
    op(run, "aten::item", 1100, 5, 0);
    op(run, "aten::cat", 1200, 50, 0);
    analyze(run);
}

static void objects_that_ranks_hand_each_other_are_told(void)
{
    static const char bytes[] = "[\"unsigned char\",\"unsigned char\"]";
    struct run run;
    handed_over(&run, bytes, "aten::set_");
    is_int(habit(&run, "object_collective", "count"), 1, "sizes, and then bytes");
    is_int(habit(&run, "object_collective", "total_us"), 1005, "from the pickle to the last object");
    is_int(habit(&run, "object_collective", "saves_us"), 1005 - 570, "without the way of the bytes");
    end(&run);
    handed_over(&run, two, "aten::set_");
    is_int(habit(&run, "object_collective", "count"), 0, "rows of which each rank has another number");
    end(&run);
    handed_over(&run, bytes, "aten::view");
    is_int(habit(&run, "object_collective", "count"), 0, "images in 8 bits");
    end(&run);
}

/* One rank broadcasts; @made: of how many bytes the pickle is, of which @sent go through the second collective. */
static void broadcast(struct run *run, const char *made, const char *sent)
{
    begin(run);
    op(run, "aten::linear", 0, 100, 0);
    op_with(run, "aten::set_", 300, 5, 0, "[[],[]]", "[\"unsigned char\",\"\"]");
    op_with(run, "aten::to", 310, 5, 0, made, "[\"unsigned char\",\"Scalar\"]");
    op_with(run, "aten::cat", 320, 5, 0, "[[[1]],[]]", "[\"TensorList\",\"Scalar\"]");
    op_with(run, "c10d::broadcast_", 330, 10, 0, "[[[1]],[]]", "[\"TensorList\",\"Scalar\"]");
    op_with(run, "c10d::broadcast_", 500, 10, 0, sent, "[\"TensorList\",\"Scalar\"]");
    op(run, "aten::linear", 900, 100, 0);
    analyze(run);
}

static void objects_in_lists_are_told_by_their_bytes(void)
{
    struct run run;
    broadcast(&run, "[[4096],[]]", "[[[4096]],[]]");
    is_int(habit(&run, "object_collective", "count"), 1, "as many bytes as the pickle has");
    end(&run);
    broadcast(&run, "[[4096],[]]", "[[[512]],[]]");
    is_int(habit(&run, "object_collective", "count"), 0, "weights, after a number");
    end(&run);
}

/* Requests that wait in a list, answered in turn; @then: what is called @gap_us behind the choice, of such @types. */
static void requests(struct run *run, int gap_us, const char *then, const char *types)
{
    begin(run);
    for (int i = 0; i < 20; i++) {
        op_with(run, "aten::linear", i * 200, 50, 0, "[[1,8],[8,8],[8]]", "[\"float\",\"float\",\"float\"]");
        op_with(run, "aten::argmax", i * 200 + 60, 130 - gap_us, 0, "[[1,8],[]]", two);
        op_with(run, then, i * 200 + 190, 5, 0, "[[8],[]]", types);
    }
    analyze(run);
}

static void requests_that_wait_in_a_list_are_told(void)
{
    struct run run;
    requests(&run, 10, "aten::unsqueeze", floats);
    is_int(habit(&run, "single_request", "count"), 20, "nothing looks at the choice");
    end(&run);
    requests(&run, 60, "aten::unsqueeze", floats);
    is_int(habit(&run, "single_request", "count"), 0, "time enough for a player to act");
    end(&run);
    requests(&run, 10, "aten::unsqueeze", "[\"long int\"]");
    is_int(habit(&run, "single_request", "count"), 0, "the choice itself");
    end(&run);
    requests(&run, 10, "aten::embedding", floats);
    is_int(habit(&run, "single_request", "count"), 0, "looked up");
    end(&run);
}

/* Weights are drawn, @then works on them, and a layer of @weight answers. */
static void built_by(struct run *run, int times, const char *then, const char *weight)
{
    begin(run);
    for (int i = 0; i < times; i++) {
        op_with(run, "aten::uniform_", i * 1000, 100, 0, "[[16,8],[],[],[]]", floats);
        op_with(run, "aten::uniform_", i * 1000 + 110, 5, 0, "[[16],[],[],[]]", floats);
        op_with(run, then, i * 1000 + 700, 10, 0, "[[16,8],[16,8],[]]", two);
        op_with(run, "aten::linear", i * 1000 + 800, 20, 0, weight, two);
        op_with(run, "aten::linear", i * 1000 + 900, 20, 0, weight, two);
    }
    analyze(run);
}

/* Likewise, where they are copied over. */
static void built(struct run *run, int times, const char *weight)
{
    built_by(run, times, "aten::copy_", weight);
}

static void models_that_are_built_for_each_request_are_told(void)
{
    struct run run;
    built(&run, 3, "[[1,8],[16,8]]");
    is_int(habit(&run, "model_built", "count"), 3, "each of them");
    is_int(habit(&run, "model_built", "total_us"), 3 * 800, "to the first layer, with what is read from a file");
    end(&run);
    built(&run, 1, "[[1,8],[16,8]]");
    is_int(habit(&run, "model_built", "count"), 0, "the model has to be built once");
    end(&run);
    built(&run, 3, "[[16,8],[8,8]]");
    is_int(habit(&run, "model_built", "count"), 0, "noise that a model begins with");
    end(&run);
    built_by(&run, 3, "aten::mul", "[[1,8],[16,8]]");
    is_int(habit(&run, "model_built", "count"), 0, "noise of the weights of a Bayesian layer");
    end(&run);
}

/* Four beams in turn, of @layers layers each; @last ends a pass. */
static void beams(struct run *run, int layers, const char *first, const char *last, const char *joins)
{
    int64_t at_us = 0;
    begin(run);
    for (int i = 0; i < 4; i++) {
        op(run, first, at_us, 5, 0);
        at_us += 10;
        for (int layer = 0; layer < layers; layer++, at_us += 30) {
            op(run, "aten::layer_norm", at_us, 5, 0);
            op(run, "aten::linear", at_us + 10, 5, 0);
            op(run, layer % 2 ? "aten::gelu" : "aten::add", at_us + 20, 5, 0);
        }
        op(run, last, at_us, 5, 0);
        at_us += 10;
    }
    op(run, joins, at_us, 5, 0);
    analyze(run);
}

static void passes_in_turn_are_told(void)
{
    struct run run;
    beams(&run, 30, "aten::embedding", "aten::log_softmax", "aten::stack");
    is_int(habit(&run, "pass_in_turn", "count"), 1, "without sizes");
    is_int(habit(&run, "pass_in_turn", "total_us"), 4 * 920 - 5, "with the gaps between");
    is_int(habit(&run, "pass_in_turn", "saves_us"), (4 * 920 - 5) * 3 / 4, "one pass stays");
    end(&run);
    beams(&run, 30, "aten::unsqueeze", "aten::log_softmax", "aten::stack");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "nothing is looked up: blocks of one model");
    end(&run);
    beams(&run, 30, "aten::embedding", "aten::add", "aten::stack");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "a pass may go on with what the one before has made");
    end(&run);
    beams(&run, 30, "aten::embedding", "aten::argmax", "aten::stack");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "with what was chosen");
    end(&run);
    beams(&run, 30, "aten::embedding", "aten::log_softmax", "aten::mul");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "nothing is put together");
    end(&run);
    beams(&run, 30, "aten::embedding", "aten::linear", "aten::cat");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "scores of a layer, or a state that goes on");
    end(&run);
    beams(&run, 4, "aten::embedding", "aten::mean", "aten::cat");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "too little for a pass: a loop");
    end(&run);
}

/* What @made_of says, a layer, flat or not, two narrow ones behind it, and a sum; @times. */
static void add_aside(struct run *run, bool flat, const char *made_of, const char *input, const char *between,
                      const char *sum, int times)
{
    char dims[80];
    for (int64_t at_us = 0; at_us < times * 200; at_us += 200) {
        op_with(run, "aten::mul", at_us - 10, 5, 0, made_of, two);
        if (flat)
            op_with(run, "aten::addmm", at_us, 50, 0, "[[512],[4,256],[256,512],[],[]]", "[\"float\",\"float\",\"float\"]");
        else
            op_with(run, "aten::linear", at_us, 50, 0, "[[4,256],[512,256]]", two);
        op_with(run, flat ? "aten::view" : "aten::dropout", at_us + 50, 1, 0, "[[4,256],[],[]]", floats);
        (void)snprintf(dims, sizeof(dims), "[%s]", input);
        op_with(run, "aten::linear", at_us + 51, 9, 0, dims, "[\"float\",\"float\",\"float\"]");
        op_with(run, between, at_us + 60, 5, 0, "[[4,16]]", floats);
        op_with(run, "aten::linear", at_us + 65, 15, 0, "[[4,16],[512,16]]", two);
        op_with(run, "aten::mul", at_us + 80, 5, 0, "[[4,512],[]]", two);
        op_with(run, "aten::add", at_us + 85, 5, 0, sum, two);
        op_with(run, "aten::gelu", at_us + 100, 50, 0, "[[4,512]]", floats);
    }
}

/* One that is loaded, and then serves all, could be merged; of several, requests name theirs. */
static void adapters_that_requests_choose_are_not_to_be_merged(void)
{
    static const int64_t chosen_us[] = { -500, 500 };
    for (size_t i = 0; i < AP_COUNT_OF(chosen_us); i++) {
        struct run run;
        begin(&run);
        (void)row(&run, "1", "peft/peft_model.py(1500): set_adapter", PYTHON, chosen_us[i] - 50, 10);
        add_aside(&run, false, "[[4,256],[]]", "[4,256],[16,256],[]", "aten::to", "[[4,512],[4,512],[]]", 6);
        analyze(&run);
        is_int(habit(&run, "adapter_aside", "count"), i ? 0 : 6, i ? "between two requests" : "before all of them");
        end(&run);
    }
}

static void adapters_that_could_be_merged_are_told(void)
{
    static const char sum[] = "[[4,512],[4,512],[]]", data[] = "[[4,256],[]]", narrow[] = "[4,256],[16,256],[]";
    static const struct {
        const char *made_of, *input, *between, *sum;
        int times, count;
        const char *why;
    } cases[] = {
        { data, narrow, "aten::to", sum, 6, 6, "of low rank, and added to what the layer makes" },
        { data, "[1,4,256],[16,256],[]", "aten::to", sum, 6, 6, "though that is called with flat rows" },
        { data, narrow, "aten::tanh", sum, 6, 0, "a branch that is no product" },
        { data, narrow, "aten::to", "[[4,512],[512],[]]", 6, 0, "a bias is added" },
        { data, "[3,256],[16,256],[]", "aten::to", sum, 6, 0, "of another input" },
        { data, "[4,256],[16,256],[16]", "aten::to", sum, 6, 0, "a bias: a branch of the model" },
        { "[[512,256],[512,1]]", narrow, "aten::to", sum, 6, 0, "beside a weight of few bits, unpacked for each call" },
        { data, narrow, "aten::to", sum, 3, 0, "few are a part of the model" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run run;
        begin(&run);
        add_aside(&run, i == 1, cases[i].made_of, cases[i].input, cases[i].between, cases[i].sum, cases[i].times);
        analyze(&run);
        is_int(habit(&run, "adapter_aside", "count"), cases[i].count, cases[i].why);
        is_int(habit(&run, "adapter_aside", "saves_us"), cases[i].count * 40, "from behind the layer to the sum");
        end(&run);
    }
}

int main(void)
{
    objects_in_lists_are_told_by_their_bytes();
    objects_that_ranks_hand_each_other_are_told();
    samples_that_the_loop_puts_together_are_told();
    two_loaders_are_no_epochs();
    a_series_that_is_read_again_is_told();
    weights_that_are_packed_for_each_call_are_told();
    weights_that_are_drawn_for_each_call_are_not_told();
    work_that_a_crop_throws_away_is_told();
    texts_that_are_read_off_one_by_one_are_told();
    noise_that_is_wanted_is_not_told();
    requests_that_wait_in_a_list_are_told();
    models_that_are_built_for_each_request_are_told();
    passes_in_turn_are_told();
    adapters_that_requests_choose_are_not_to_be_merged();
    adapters_that_could_be_merged_are_told();
    return done();
}
