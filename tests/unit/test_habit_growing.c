/* SPDX-License-Identifier: MIT
 * Work that takes longer from call to call, and work on single tensors around the optimizer's step: traces typed by hand. */
#include "typed_habits.h"

static const char floats[] = "[\"float\",\"float\"]";

/* A list is stacked and its mean taken, again and again: each takes @more_us more than the one before it. */
static void stacks(struct run *run, int count, int more_us)
{
    begin(run);
    for (int i = 0; i < count; i++) {
        int64_t start_us = (int64_t)i * 1000;
        op(run, "aten::stack", start_us, 10 + i % 60 * more_us + (i % 7 == 3 ? 300 : 0), 0);
        op(run, "aten::mean", start_us + 700, 5 + i % 60 * more_us / 2, 0);
        op(run, "aten::linear", start_us + 900, 50, 0);
    }
    analyze(run);
}

static void lists_that_grow_are_told_by_their_time(void)
{
    struct run run;
    stacks(&run, 120, 4);
    is_int(habit(&run, "growing_cat", "count"), 120, "twice from the beginning on, though some calls are slow by chance");
    ok(habit(&run, "growing_cat", "total_us") > 120 * (10 + 30 * 6), "with what works on it behind");
    is_int(habit(&run, "growing_cat", "saves_us"), habit(&run, "growing_cat", "total_us"), "all of that");
    end(&run);
    stacks(&run, 120, 0);
    is_int(habit(&run, "growing_cat", "count"), 0, "batches of one size");
    end(&run);
    stacks(&run, 30, 4);
    is_int(habit(&run, "growing_cat", "count"), 0, "too few to tell");
    end(&run);
}

/* Keys are put behind a queue, of which as many are @cut off in front. */
static void queue_behind(struct run *run, int64_t at, const char *sizes, const char *cut)
{
    op_with(run, "aten::cat", at, 110, 0, sizes, "[\"TensorList\",\"Scalar\"]");
    op_with(run, "aten::slice", at + 120, 5, 0, cut, floats);
    analyze(run);
}

static void queue(struct run *run, const char *sizes, const char *cut)
{
    begin(run);
    queue_behind(run, 0, sizes, cut);
}

static void queues_that_are_moved_on_are_told(void)
{
    struct run run;
    queue(&run, "[[[4096, 64], [256, 64]], []]", "[[4352, 64], [], [], [], []]");
    is_int(habit(&run, "growing_cat", "count"), 1, "all is copied to add a little");
    end(&run);
    queue(&run, "[[[4096, 64], [4096, 64]], []]", "[[8192, 64], [], [], [], []]");
    is_int(habit(&run, "growing_cat", "count"), 0, "half of it is new");
    end(&run);
    queue(&run, "[[[4096, 64], [256, 64]], []]", "[[4096, 64], [], [], [], []]");
    is_int(habit(&run, "growing_cat", "count"), 0, "another tensor is cut");
    end(&run);
    begin(&run);
    op_with(&run, "aten::mul", 0, 50, 0, "[[4096, 64], []]", floats);
    queue_behind(&run, 100, "[[[4096, 64], [256, 64]], []]", "[[4352, 64], [], [], [], []]");
    is_int(habit(&run, "growing_cat", "count"), 0, "what was just computed is shifted by a few positions");
    end(&run);
}

/* A window over a stream: what is oldest is @cut off, and a frame put behind. @between works on @on from turn to turn. */
static void window(struct run *run, const char *cut, const char *joined, const char *between, const char *on)
{
    begin(run);
    for (int i = 0; i < 10; i++) {
        op_with(run, "aten::slice", i * 1000, 5, 0, cut, floats);
        op_with(run, "aten::unsqueeze", i * 1000 + 10, 5, 0, "[[64], []]", floats);
        op_with(run, "aten::cat", i * 1000 + 20, 110, 0, joined, "[\"TensorList\",\"Scalar\"]");
        op_with(run, between, i * 1000 + 200, 50, 0, on, floats);
    }
    analyze(run);
}

static void windows_over_a_stream_are_told(void)
{
    static const char whole[] = "[[4096, 64], [], [], [], []]", joined[] = "[[[4095, 64], [1, 64]], []]";
    struct run run;
    window(&run, whole, joined, "aten::mean", whole);
    is_int(habit(&run, "growing_cat", "count"), 9, "the oldest is cut off first: each goes on with what the last one made");
    end(&run);
    window(&run, whole, "[[[1, 64], [4095, 64]], []]", "aten::linear", "[[4096, 64], [8, 64]]");
    is_int(habit(&run, "growing_cat", "count"), 9, "put in front; a layer of another width reads all of it");
    end(&run);
    window(&run, whole, joined, "aten::linear", "[[4096, 64], [64, 64]]");
    is_int(habit(&run, "growing_cat", "count"), 0, "what a layer has made is shifted by a position");
    end(&run);
    window(&run, whole, joined, "aten::layer_norm", whole);
    is_int(habit(&run, "growing_cat", "count"), 0, "likewise a norm");
    end(&run);
    window(&run, "[[4097, 64], [], [], [], []]", joined, "aten::mean", whole);
    is_int(habit(&run, "growing_cat", "count"), 0, "more is cut off than is put behind");
    end(&run);
}

static void shifts_that_are_written_over_are_told(void)
{
    struct run run;
    for (int writes = 0; writes < 2; writes++) {
        begin(&run);
        for (int i = 0; i < 10; i++) {
            op_with(&run, "aten::roll", i * 1000, 100, 0, "[[4096, 64], [], []]", floats);
            op_with(&run, "aten::select", i * 1000 + 110, 5, 0, "[[4096, 64], [], []]", floats);
            op_with(&run, writes ? "aten::copy_" : "aten::mul", i * 1000 + 120, 5, 0, "[[64], [64]]", floats);
        }
        analyze(&run);
        is_int(habit(&run, "growing_cat", "count"), writes ? 10 : 0, writes ? "the end is written over" : "a piece is read");
        end(&run);
    }
}

/* Passes of six layers, after each of which a token is chosen; the time of layers rises, and that of attention. */
static void answers(struct run *run, int layer_us, int attention_us, int view_us, const char *dims)
{
    begin(run);
    for (int i = 0; i < 48; i++) {
        int64_t start_us = (int64_t)i * 10000;
        for (int layer = 0; layer < 6; layer++) {
            bool is_slow = (i + layer) % 5 == 0;
            op_with(run, "aten::linear", start_us, 100 + i * layer_us + (is_slow ? 400 : 0), 0, dims, floats);
            op(run, "aten::view", start_us + 1000, 100 + i * view_us, 0);
            op(run, "aten::gelu", start_us + 1200, 20 + i * attention_us, 0);
            start_us += 1500;
        }
        op(run, "aten::argmax", start_us, 10, 0);
    }
    analyze(run);
}

/* Two texts, whose passes go over what is there so far, of @puts in front of each attention; @joins and @picks between two.
 * Layers take up to @rises_us longer, but every third pass is slow. */
static void texts(struct run *run, const char *joins, const char *puts, const char *picks, int64_t rises_us)
{
    begin(run);
    for (int i = 0; i < 40; i++) {
        int64_t at_us = (int64_t)i * 10000, layer_us = 200 + i % 20 * rises_us / 20 + (i % 3 ? 0 : 30);
        op(run, joins, at_us, 10, 0);
        op(run, "aten::embedding", at_us + 20, 10, 0);
        at_us += 40;
        for (int layer = 0; layer < 4; layer++, at_us += 1000) {
            op(run, "aten::linear", at_us, layer_us, 0);
            op(run, puts, at_us + 500, 10, 0);
            op(run, "aten::scaled_dot_product_attention", at_us + 600, layer_us, 0);
        }
        op(run, picks, at_us, 10, 0);
        op(run, "aten::argmax", at_us + 20, 10, 0);
    }
    analyze(run);
}

static void texts_that_are_gone_over_whole_are_told_by_what_is_kept(void)
{
    struct run run;
    texts(&run, "aten::cat", "aten::view", "aten::select", 100);
    is_int(habit(&run, "growing_prefix", "count"), 39, "though the machine is busy, and the second text begins anew");
    end(&run);
    texts(&run, "aten::cat", "aten::cat", "aten::select", 100);
    is_int(habit(&run, "growing_prefix", "count"), 0, "keys are put to a cache");
    end(&run);
    texts(&run, "aten::cat", "aten::index_copy_", "aten::select", 100);
    is_int(habit(&run, "growing_prefix", "count"), 0, "or written into one");
    end(&run);
    texts(&run, "aten::slice", "aten::view", "aten::select", 100);
    is_int(habit(&run, "growing_prefix", "count"), 0, "nothing is put together: texts to judge");
    end(&run);
    texts(&run, "aten::cat", "aten::view", "aten::neg", 100);
    is_int(habit(&run, "growing_prefix", "count"), 0, "no position is picked: classes of texts");
    end(&run);
    texts(&run, "aten::cat", "aten::view", "aten::select", 0);
    is_int(habit(&run, "growing_prefix", "count"), 0, "none takes longer than the ones before");
    end(&run);
}

static void prefixes_that_grow_are_told_by_their_time(void)
{
    struct run run;
    answers(&run, 3, 0, 0, NULL);
    is_int(habit(&run, "growing_prefix", "count"), 47, "each pass takes longer");
    ok(habit(&run, "growing_prefix", "saves_us") > habit(&run, "growing_prefix", "total_us") * 9 / 10, "one position stays");
    end(&run);
    answers(&run, 0, 3, 0, NULL);
    is_int(habit(&run, "growing_prefix", "count"), 0, "a cache: layers take the same time");
    end(&run);
    answers(&run, 3, 3, 3, NULL);
    is_int(habit(&run, "growing_prefix", "count"), 0, "all rises: the machine slows down");
    end(&run);
    answers(&run, 3, 3, 1, NULL);
    is_int(habit(&run, "growing_prefix", "count"), 47, "views rise by less: what layers need more is not in the caches");
    end(&run);
    answers(&run, 3, 0, 0, "[[1,64],[64,64]]");
    is_int(habit(&run, "growing_prefix", "count"), 0, "shapes tell that it is one position");
    end(&run);
}

static void accumulate(struct run *run, int64_t start_us, const char *dims)
{
    row(run, "1", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OPERATOR, start_us, 10);
    op_with(run, "torch::autograd::AccumulateGrad", start_us + 1, 8, 0, dims, "[\"float\"]");
}

/* A forward and a backward pass through layers of the sizes, and a step for the first @updated of them. */
static void turn(struct run *run, int64_t start_us, const char *const *sizes, int count, int updated)
{
    row(run, "1", "Optimizer.zero_grad#SGD.zero_grad", ANNOTATION, start_us, 5);
    for (int i = count - 1; i >= 0; i--)
        op(run, "aten::linear", start_us + 10 + (count - i) * 10, 8, (uint32_t)(start_us + 100 - i));
    for (int i = 0; i < count; i++) {
        node(run, start_us + 100 + i * 100, 80, (uint32_t)(start_us + 100 - i));
        op_with(run, "aten::mm", start_us + 110 + i * 100, 30, 0, "[[8,8],[8,8]]", floats);
        op_with(run, "aten::mm", start_us + 140 + i * 100, 30, 0, "[[8,8],[8,8]]", floats);
        accumulate(run, start_us + 185 + i * 100, sizes[i]);
    }
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, start_us + 900, 60);
    for (int i = 0; i < updated; i++)
        op_with(run, "aten::add_", start_us + 905 + i * 8, 5, 0, sizes[i], floats);
}

static void models_of_equal_sizes_are_told_apart_by_order(void)
{
    static const char *const both[] = { "[[1, 64]]", "[[64, 64]]", "[[64, 64]]", "[[96, 64]]" };
    static const char *const generator[] = { "[[64, 64]]", "[[96, 64]]" };
    static const char *const alike[] = { "[[64, 64]]", "[[64, 64]]", "[[64, 64]]", "[[64, 64]]" };
    struct run run;
    begin(&run);
    for (int i = 0; i < 3; i++) {
        turn(&run, i * 2000, both, 4, 2);
        turn(&run, i * 2000 + 1000, generator, 2, 2);
    }
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 3, "of the other model, behind all of the one that is trained");
    ok(habit(&run, "unneeded_gradient", "total_us") >= 3 * 180, "the layer of a size that both have as well");
    end(&run);
    begin(&run);
    for (int i = 0; i < 3; i++) {
        turn(&run, i * 2000, alike, 4, 2);
        turn(&run, i * 2000 + 1000, alike, 2, 2);
    }
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "all sizes alike: which one is trained is not known");
    end(&run);
    begin(&run);
    for (int i = 0; i < 3; i++) {
        turn(&run, i * 2000, both, 4, 2);
        for (int other = 2; other < 4; other++)
            op_with(&run, "aten::_sparse_add_", i * 2000 + 905 + other * 8, 5, 0, both[other], floats);
    }
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "what another operator of the step updates is trained as well");
    end(&run);
}

static void sparse_matrices_made_dense_are_told(void)
{
    struct run run;
    for (int is_used = 0; is_used < 2; is_used++) {
        begin(&run);
        op_with(&run, "aten::to_dense", 0, 100, 0, "[[2000,2000]]", "[\"float\"]");
        for (int layer = 0; layer < 2; layer++) {
            op_with(&run, "aten::linear", 200 + layer * 200, 50, 0, "[[2000,64],[64,64]]", floats);
            op_with(&run, "aten::matmul", 260 + layer * 200, 100, 0,
                    is_used ? "[[2000,2000],[2000,64]]" : "[[1000,2000],[2000,64]]", floats);
        }
        analyze(&run);
        is_int(habit(&run, "diagonal_product", "count"), is_used ? 3 : 0, is_used ? "with both products" : "none takes it");
        is_int(habit(&run, "diagonal_product", "total_us"), is_used ? 300 : 0, "no layer between them");
        end(&run);
    }
}

/* A step with @on_gradient behind the backward pass, and with operators behind the step of the optimizer, which have nodes
 * from @of_weight on. */
static void step_of(struct run *run, const char *on_gradient, const char *on_weight, const char *second, uint32_t of_weight)
{
    begin(run);
    op(run, "aten::linear", 0, 10, 50);
    node(run, 100, 100, 50);
    accumulate(run, 200, "[[64, 96]]");
    op_with(run, on_gradient, 300, 40, 0, "[[64, 96],[]]", floats);
    op_with(run, "aten::quantile", 350, 100, 0, "[[6144],[]]", floats);
    op_with(run, "aten::mean", 460, 100, 0, "[[512],[]]", floats);
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, 700, 20);
    op_with(run, "aten::add_", 705, 5, 0, "[[64, 96],[64, 96]]", floats);
    op_with(run, on_weight, 800, 40, of_weight, "[[64, 96],[]]", floats);
    op_with(run, second, 850, 60, of_weight ? of_weight + 1 : 0, "[[64, 96],[64, 96]]", floats);
    op_with(run, "aten::linear", 1000, 10, 60, "[[8, 96],[64, 96]]", floats);
    analyze(run);
}

static void step_with(struct run *run, const char *on_gradient, const char *on_weight, const char *second)
{
    step_of(run, on_gradient, on_weight, second, 0);
}

static void work_around_the_optimizer_is_told(void)
{
    struct run run;
    step_with(&run, "aten::abs", "aten::mul", "aten::add_");
    is_int(habit(&run, "gradient_work", "count"), 2, "on the gradient, and on as many elements");
    is_int(habit(&run, "gradient_work", "total_us"), 150, "with what Python takes between, not what is made of others");
    is_int(habit(&run, "weight_work", "count"), 2, "an average written out");
    is_int(habit(&run, "weight_work", "saves_us"), 82, "one pass stays");
    end(&run);
    step_of(&run, "aten::abs", "aten::mul", "aten::add", 51);
    is_int(habit(&run, "weight_work", "count"), 0, "with nodes: the weight of the next pass is made");
    end(&run);
    step_with(&run, "aten::mul_", "aten::detach", "aten::lerp_");
    is_int(habit(&run, "gradient_work", "total_us"), 110, "scaling is of clipping");
    is_int(habit(&run, "weight_work", "count"), 0, "one pass over each");
    end(&run);
    step_with(&run, "aten::_foreach_mul_", "aten::_foreach_mul_", "aten::_foreach_add_");
    is_int(habit(&run, "gradient_work", "count"), 0, "clipping scales all at once");
    is_int(habit(&run, "weight_work", "count"), 0, "and so does an average");
    end(&run);
    step_with(&run, "aten::add_", "aten::lerp_", "aten::detach");
    is_int(habit(&run, "gradient_work", "total_us"), 110, "a sum is weight decay");
    end(&run);
    step_with(&run, "c10d::allreduce_", "aten::mul", "aten::add_");
    is_int(habit(&run, "gradient_work", "count"), 0, "gradients are reduced");
    end(&run);
}

static void lists_of_one_save_the_way_to_them(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::linear", 0, 10, 50);
    node(&run, 100, 100, 50);
    row(&run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 300, 100);
    op(&run, "aten::_foreach_add_", 310, 30, 0);
    op(&run, "aten::add_", 315, 20, 0);
    op(&run, "aten::_foreach_mul_", 360, 10, 0);
    analyze(&run);
    is_int(habit(&run, "optimizer_step", "saves_us"), 60, "what is between calls on lists");
    end(&run);
}

static void fusing_saves_passes_over_memory(void)
{
    static const struct {
        const char *step, *first, *second, *what;
        int saves;
    } rows[] = {
        { "Optimizer.step#Adam.step", "aten::lerp_", "aten::addcmul_", "Adam goes over its tensors many times", 1780 },
        { "Optimizer.step#SGD.step", "aten::add", "aten::add_", "weight decay makes a tensor", 1300 },
        { "Optimizer.step#SGD.step", "aten::mul_", "aten::add_", "momentum is kept in place", 800 },
        { "Optimizer.step#SGD.step", "aten::add_", "aten::add_", "one sum reads and writes what it has to", 320 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct run run;
        begin(&run);
        op(&run, "aten::linear", 0, 10, 50);
        node(&run, 100, 100, 50);
        row(&run, "1", rows[i].step, ANNOTATION, 300, 2000);
        op(&run, rows[i].first, 300, 1000, 0);
        op(&run, rows[i].second, 1300, 1000, 0);
        analyze(&run);
        is_int(habit(&run, "optimizer_step", "saves_us"), rows[i].saves, rows[i].what);
        end(&run);
    }
}

/* Tokens, each by an encoder of 32 positions and a decoder that looks at @looked_at, with their @first operators; @between:
 * what is there before it. */
static void translate(struct run *run, const char *const first[2], bool encodes, int grows_by, const char *looked_at,
                      const char *between)
{
    static const char three[] = "[\"float\",\"float\",\"float\"]", two[] = "[\"float\",\"float\"]";
    char dims[120];
    begin(run);
    for (int i = 0; i < 6; i++) {
        int64_t at_us = i * 1000;
        int length = 5 + i * grows_by;
        op_with(run, "aten::to", at_us, 5, 0, between, two);
        if (encodes || !i) {
            op_with(run, first[0], at_us + 10, 10, 0, "[[4000,64],[4,32]]", "[\"float\",\"long int\"]");
            op_with(run, "aten::linear", at_us + 20, 80, 0, "[[4,32,64],[64,64]]", two);
            op_with(run, "aten::scaled_dot_product_attention", at_us + 100, 80, 0, "[[4,2,32,32],[4,2,32,32],[4,2,32,32]]",
                    three);
            op_with(run, "aten::linear", at_us + 180, 80, 0, "[[4,32,256],[64,256]]", two);
        }
        (void)snprintf(dims, sizeof(dims), "[[4000,64],[4,%d]]", length);
        op_with(run, first[1], at_us + 300, 10, 0, dims, "[\"float\",\"long int\"]");
        op_with(run, "aten::linear", at_us + 310, 40, 0, looked_at, two);
        op_with(run, "aten::argmax", at_us + 360, 10, 0, "[[4,4000]]", "[\"float\"]");
    }
    analyze(run);
}

static void encoders_that_are_run_for_each_token_are_told(void)
{
    static const char made[] = "[[32,4,64],[128,64]]", little[] = "[[4,1],[]]", text[] = "aten::embedding";
    static const struct {
        const char *first[2];
        bool encodes;
        int grows_by;
        const char *looked_at, *between;
        uint64_t count;
        const char *why;
    } cases[] = {
        { { text, text }, true, 1, made, little, 5, "each time but the first" },
        { { text, text }, false, 1, made, little, 0, "what it made is kept" },
        { { text, text },
          true,
          1,
          "[[4,64],[64,64]]",
          little,
          0,
          "nothing looks at it: a frame for each step of a history" },
        { { text, text }, true, 1, made, "[[4,32],[]]", 0, "the next input may come" },
        { { text, text }, true, 3, made, little, 0, "answers of any length" },
        { { text, text }, true, 0, made, little, 0, "a model that is asked again" },
        { { "aten::conv2d", text }, true, 1, made, little, 5, "a picture, with the whole text" },
        { { "aten::conv2d", "aten::linear" }, true, 1, made, little, 0, "the next picture of a list, with a history" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run run;
        translate(&run, cases[i].first, cases[i].encodes, cases[i].grows_by, cases[i].looked_at, cases[i].between);
        is_int(habit(&run, "encoder_again", "count"), (int64_t)cases[i].count, cases[i].why);
        is_int(habit(&run, "encoder_again", "saves_us"), (int64_t)cases[i].count * 250,
               "from its first operator to its last");
        end(&run);
    }
}

/* Keys that grow: what comes before them is as large as it was, and no encoder. */
static void a_cache_behind_a_projection_is_no_encoder(void)
{
    static const char two[] = "[\"float\",\"float\"]";
    struct run run;
    char dims[120];
    begin(&run);
    for (int i = 0; i < 6; i++) {
        op_with(&run, "aten::embedding", i * 1000, 10, 0, "[[4000,64],[4,1]]", "[\"float\",\"long int\"]");
        for (int j = 0; j < 3; j++)
            op_with(&run, "aten::linear", i * 1000 + 20 + j * 30, 20, 0, "[[4,1,64],[64,64]]", two);
        (void)snprintf(dims, sizeof(dims), "[[[4,2,%d,32],[4,2,1,32]],[]]", 8 + i);
        op_with(&run, "aten::cat", i * 1000 + 120, 20, 0, dims, "[\"TensorList\",\"Scalar\"]");
        op_with(&run, "aten::linear", i * 1000 + 150, 20, 0, "[[4,1,64],[64,64]]", two);
        op_with(&run, "aten::argmax", i * 1000 + 180, 10, 0, "[[4,4000]]", "[\"float\"]");
    }
    analyze(&run);
    is_int(habit(&run, "encoder_again", "count"), 0, "no attention, no encoder");
    end(&run);
}

/* Tokens of which each is looked up by @ids and goes to layers, two of which are handed @memory; @between: by an operator
 * of that name, what is there before it. */
static void answer(struct run *run, const char *ids, const char *memory, const char *between, const char *dims)
{
    static const char two[] = "[\"float\",\"float\"]", three[] = "[\"float\",\"float\",\"float\"]";
    begin(run);
    for (int i = 0; i < 6; i++) {
        int64_t at_us = i * 1000;
        op_with(run, between, at_us, 5, 0, dims, two);
        op_with(run, "aten::embedding", at_us + 10, 10, 0, ids, "[\"float\",\"long int\"]");
        op_with(run, "aten::linear", at_us + 20, 20, 0, "[[4,1,64],[64,64]]", two);
        for (int j = 0; j < 2; j++)
            op_with(run, "aten::linear", at_us + 50 + 100 * j, 90, 0, memory, two);
        op_with(run, "aten::scaled_dot_product_attention", at_us + 250, 20, 0, "[[4,2,1,32],[4,2,100,32],[4,2,100,32]]",
                three);
        op_with(run, "aten::argmax", at_us + 300, 10, 0, "[[4,4000]]", "[\"float\"]");
    }
    analyze(run);
}

static void inputs_that_are_projected_for_each_token_are_told(void)
{
    static const char one[] = "[[4000,64],[4,1]]", memory[] = "[[4,100,64],[64,64]]", little[] = "[[4,1],[]]";
    struct run run;
    answer(&run, one, memory, "aten::to", little);
    is_int(habit(&run, "projected_again", "count"), 10, "keys and values, for each token but the first");
    is_int(habit(&run, "projected_again", "saves_us"), 900, "all of it");
    end(&run);
    answer(&run, "[[4000,64],[4,14]]", memory, "aten::to", little);
    is_int(habit(&run, "projected_again", "count"), 0, "a question each, to the next picture of a list");
    end(&run);
    answer(&run, one, "[[4,10,64],[64,64]]", "aten::to", little);
    is_int(habit(&run, "projected_again", "count"), 0, "small");
    end(&run);
    answer(&run, one, memory, "aten::mul", "[[4,100,64],[]]");
    is_int(habit(&run, "projected_again", "count"), 0, "as much is made between them");
    end(&run);
    answer(&run, one, memory, "aten::linear", "[[4,100,8],[64,8]]");
    is_int(habit(&run, "projected_again", "count"), 0, "a layer makes as much");
    end(&run);
    answer(&run, one, memory, "aten::select", "[[9,4,100,64],[],[]]");
    is_int(habit(&run, "projected_again", "count"), 0, "the next one is taken");
    end(&run);
    answer(&run, one, memory, "aten::randn", "[[],[]]");
    is_int(habit(&run, "projected_again", "count"), 0, "something is drawn");
    end(&run);
}

int main(void)
{
    lists_that_grow_are_told_by_their_time();
    queues_that_are_moved_on_are_told();
    windows_over_a_stream_are_told();
    shifts_that_are_written_over_are_told();
    prefixes_that_grow_are_told_by_their_time();
    texts_that_are_gone_over_whole_are_told_by_what_is_kept();
    models_of_equal_sizes_are_told_apart_by_order();
    sparse_matrices_made_dense_are_told();
    work_around_the_optimizer_is_told();
    lists_of_one_save_the_way_to_them();
    fusing_saves_passes_over_memory();
    encoders_that_are_run_for_each_token_are_told();
    a_cache_behind_a_projection_is_no_encoder();
    inputs_that_are_projected_for_each_token_are_told();
    return done();
}
