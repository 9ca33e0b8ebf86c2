/* SPDX-License-Identifier: MIT
 * What programs do in their loops: traces typed by hand, with the time that each habit takes and could save. */
#include "tensor_dims.h"
#include "typed_habits.h"

/* A forward, its backward and an update; the number of its node is the step's. */
static void training(struct run *run, int64_t start_us, uint32_t step)
{
    op(run, "aten::linear", start_us, 10, step * 10);
    op(run, "aten::relu", start_us + 10, 5, step * 10 + 1);
    node(run, start_us + 20, 10, step * 10);
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, start_us + 40, 10);
}

static void a_loop_is_told_with_its_backward(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 20; i++) {
        op(&run, "aten::index", i * 10, 4, (uint32_t)(100 + 2 * i));
        op(&run, "aten::sum", i * 10 + 5, 4, (uint32_t)(101 + 2 * i));
    }
    node(&run, 300, 50, 120);
    node(&run, 350, 30, 90);
    analyze(&run);
    is_int(habit(&run, "operator_loop", "count"), 1, "one stretch of two operators, 20 times");
    is_int(habit(&run, "operator_loop", "total_us"), 199 + 50, "from the first to the last, and the node that it made");
    ok(ap_text_equal(ap_value_text(at(&run, "habits.operator_loop.operators")), AP_TEXT("aten::index, aten::sum")),
       "named by its operators");
    end(&run);
}

/* Its first node comes behind another one, or behind an operator @at_us, 0 = none. */
static int64_t loop_behind(int64_t at_us)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 20; i++) {
        op(&run, "aten::index", i * 10, 4, (uint32_t)(100 + 2 * i));
        op(&run, "aten::sum", i * 10 + 5, 4, (uint32_t)(101 + 2 * i));
    }
    node(&run, 300, 50, 150);
    if (at_us)
        op(&run, "aten::mul", at_us, 4, 0);
    node(&run, 370, 30, 120);
    analyze(&run);
    int64_t total_us = habit(&run, "operator_loop", "total_us");
    end(&run);
    return total_us;
}

static void the_way_to_a_node_goes_with_it(void)
{
    is_int(loop_behind(0), 199 + 20 + 30, "from the one before, of another origin");
    is_int(loop_behind(345), 199 + 20 + 30, "what runs in that is none between them");
    is_int(loop_behind(355), 199 + 30, "not from where the program went on");
}

/* Windows of a series are cut, of data alone: they bear the number of the node that the layer behind makes. */
static void a_loop_without_nodes_takes_none_of_others(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 20; i++)
        op(&run, "aten::slice", i * 10, 4, 100);
    op(&run, "aten::stack", 200, 9, 100);
    op(&run, "aten::lstm", 210, 50, 100);
    op(&run, "aten::select", 270, 5, 101);
    node(&run, 300, 50, 101);
    node(&run, 350, 400, 100);
    analyze(&run);
    is_int(habit(&run, "operator_loop", "total_us"), 209, "from the first to the stack, and not the layer's backward");
    end(&run);
}

/* Ten steps of @per_step calls each; @are_marked or not. */
static int64_t loops_of_steps(int per_step, bool are_marked)
{
    struct run run;
    char name[32];
    begin(&run);
    for (int step = 0; step < 10; step++) {
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", step);
        if (are_marked)
            row(&run, "1", name, ANNOTATION, step * 1000, 1000);
        for (int i = 0; i < per_step; i++)
            op(&run, "aten::mm", step * 1000 + i * 10, 8, 0);
    }
    analyze(&run);
    int64_t count = habit(&run, "operator_loop", "count");
    end(&run);
    return count;
}

static void a_loop_ends_with_its_step(void)
{
    is_int(loops_of_steps(4, true), 0, "4 calls a step, however many steps");
    is_int(loops_of_steps(20, true), 10, "20 calls in each");
    is_int(loops_of_steps(4, false), 1, "no steps: one loop");
}

static void few_passes_and_layers_are_no_loop(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 15; i++)
        op(&run, "aten::index", i * 10, 4, 0);
    op(&run, "aten::mul", 150, 4, 0);
    for (int i = 0; i < 20; i++) {
        op(&run, "aten::linear", 200 + i * 10, 4, 0);
        op(&run, "aten::relu", 205 + i * 10, 4, 0);
    }
    analyze(&run);
    is_int(habit(&run, "operator_loop", "count"), 0, "15 passes, and 20 layers");
    end(&run);
}

/* Window after window; layers of a model make what attention is called with. */
static void attention_alone_is_a_loop(void)
{
    for (int layers = 0; layers < 2; layers++) {
        struct run run;
        begin(&run);
        for (int i = 0; i < 20; i++) {
            op(&run, layers ? "aten::linear" : "aten::transpose", i * 20, 4, 0);
            op(&run, "aten::scaled_dot_product_attention", i * 20 + 6, 12, 0);
        }
        analyze(&run);
        is_int(habit(&run, "operator_loop", "count"), !layers, "attention again and again, and no product between");
        end(&run);
    }
}

static void pass(struct run *run, const char *first, int64_t start_us, int64_t dur_us)
{
    static const char *const names[] = { "aten::index", "aten::linear", "aten::silu", "aten::linear", "aten::index_add_" };
    op(run, first, start_us, dur_us, 0);
    for (int i = 0; i < 5; i++)
        op(run, names[i], start_us + (dur_us + 1) * (i + 1), dur_us, 0);
}

static void experts_are_a_loop_and_layers_of_a_graph_are_not(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, "aten::where", i * 30, 4);
    op(&run, "aten::mul", 120, 4, 0);
    for (int i = 0; i < 8; i++)
        pass(&run, "aten::layer_norm", 200 + i * 30, 4);
    op(&run, "aten::mul", 500, 4, 0);
    for (int i = 0; i < 4; i++)
        pass(&run, "aten::eq", 1000 + i * 1206, 200); /* arithmetic takes it, and no loop */
    analyze(&run);
    is_int(habit(&run, "expert_loop", "count"), 1, "rows of each are found, by short calls");
    is_int(habit(&run, "expert_loop", "total_us"), 119, "from the first to the last");
    is_int(habit(&run, "operator_loop", "count"), 0, "and no other loop");
    end(&run);
}

static void long_calls_of_experts_are_dispatch_where_a_device_computes(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++)
        pass(&run, "aten::eq", i * 1206, 200);
    call(&run, "1", "cudaLaunchKernel", 10, 5, 1);
    work_on(&run, "7", "gemm", KERNEL, 300, 10, 1);
    analyze(&run);
    is_int(habit(&run, "expert_loop", "count"), 1, "a slow host is no arithmetic");
    is_int(habit(&run, "expert_loop", "total_us"), 3 * 1206 + 1205, "from the first to the last");
    end(&run);
    begin(&run);
    for (int i = 0; i < 20; i++)
        op(&run, "D2H Dispatch", i * 10, 5, 0);
    call(&run, "1", "cudaLaunchKernel", 300, 5, 1);
    work_on(&run, "7", "gemm", KERNEL, 310, 10, 1);
    analyze(&run);
    is_int(habit(&run, "operator_loop", "count"), 0, "a runtime at work is no loop of the program");
    end(&run);
}

static void a_loop_over_groups_is_one_though_its_calls_are_long(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 16; i++) {
        op(&run, "aten::eq", i * 1000, 200, 0);
        op(&run, "aten::index", i * 1000 + 200, 400, 0);
        op(&run, "aten::mean", i * 1000 + 600, 300, 0);
    }
    for (int i = 0; i < 16; i++) {
        op(&run, "aten::index", 20000 + i * 1000, 600, 0);
        op(&run, "aten::mean", 20000 + i * 1000 + 600, 300, 0);
    }
    analyze(&run);
    is_int(habit(&run, "operator_loop", "count"), 1, "all rows are looked at for each group");
    is_int(habit(&run, "operator_loop", "total_us"), 15900, "from the first to the last");
    end(&run);
}

/* A function that reads a value and then does one of two things, for @passes; @piece: what it begins with. */
static void with_an_if(struct run *run, int passes, const char *piece)
{
    begin(run);
    row(run, "1", "sample.py(9): penalize", PYTHON, 0, 10000);
    for (int i = 0; i < passes; i++) {
        op(run, piece, 10 + i * 50, 4, 0);
        op(run, "aten::is_nonzero", 15 + i * 50, 4, 0);
        op(run, i * i % 7 < 3 ? "aten::mul_" : "aten::div_", 20 + i * 50, 4, 0);
        if (i * i % 5 == 1)
            op(run, "aten::copy_", 30 + i * 50, 4, 0);
    }
    analyze(run);
}

static void a_loop_with_an_if_is_told_by_its_function(void)
{
    struct run run;
    with_an_if(&run, 100, "aten::select");
    is_int(habit(&run, "scalar_loop", "count"), 1, "few operators again and again in one run of it");
    is_int(habit(&run, "scalar_loop", "total_us"), 10 + 99 * 50 + 14, "from the first to the last, with the way to it");
    end(&run);
    with_an_if(&run, 100, "aten::linear");
    is_int(habit(&run, "scalar_loop", "count"), 0, "layers are none");
    end(&run);
    with_an_if(&run, 16, "aten::select");
    is_int(habit(&run, "scalar_loop", "count"), 0, "nor are a few calls");
    end(&run);
}

static void few_passes_over_all_rows_of_a_tensor_are_a_loop(void)
{
    struct run run;
    begin(&run);
    for (int taken = 0; taken < 2; taken++) { /* 8 passes of 8 rows, and of 9 */
        op_with(&run, "aten::unbind", taken * 1000, 4, 0, taken ? "[[9],[]]" : "[[8],[]]", "[\"long int\",\"Scalar\"]");
        for (int i = 0; i < 8; i++) {
            op(&run, "aten::item", taken * 1000 + 10 + i * 20, 4, 0);
            op(&run, "aten::select", taken * 1000 + 15 + i * 20, 4, 0);
            op(&run, "aten::clone", taken * 1000 + 20 + i * 20, 9, 0);
        }
        op(&run, "aten::stack", taken * 1000 + 170, 10, 0);
    }
    analyze(&run);
    is_int(habit(&run, "scalar_loop", "count"), 1, "beam by beam");
    is_int(habit(&run, "scalar_loop", "total_us"), 170 + 6, "with what is put together, and the way to the first");
    end(&run);
}

static void kinds_of_loops_are_told_apart(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 16; i++) {
        op(&run, "c10d::allreduce_", i * 1000, 10, 0);
        op(&run, "aten::div_", i * 1000 + 800, 10, 0);
        op(&run, "aten::item", 20000 + i * 10, 5, 0);
        op(&run, "aten::clone", 30000 + i * 10, 5, 0);
        op(&run, "aten::linalg_vector_norm", 40000 + i * 10, 5, 0);
    }
    analyze(&run);
    is_int(habit(&run, "collective_loop", "total_us"), 15810, "with the waits behind the collectives");
    is_int(habit(&run, "scalar_loop", "total_us"), 155, "reads of one value");
    is_int(habit(&run, "copy_loop", "total_us"), 155, "copies");
    is_int(habit(&run, "norm_loop", "total_us"), 155, "norms");
    end(&run);
}

static void a_method_that_goes_round_is_no_clipping(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 20; i++) {
        op(&run, "aten::mv", i * 10, 5, 0);
        op(&run, "aten::linalg_vector_norm", i * 10 + 6, 3, 0);
    }
    analyze(&run);
    is_int(habit(&run, "norm_loop", "count"), 0, "norms of what a product made");
    is_int(habit(&run, "operator_loop", "total_us"), 199, "but a loop");
    end(&run);
}

static void transforms_of_odd_lengths_are_told(void)
{
    struct run run;
    begin(&run);
    op_with(&run, "aten::_fft_r2c", 0, 100, 0, "[[8,188,1021],[],[],[]]", "[\"float\",\"\",\"\",\"\"]");
    op_with(&run, "aten::_fft_r2c", 100, 80, 0, "[[8,188,1000],[],[],[]]", "[\"float\",\"\",\"\",\"\"]");
    op_with(&run, "aten::_fft_c2c", 200, 40, 0, "[[8,17],[],[],[]]", "[\"c10::complex<float>\",\"\",\"\",\"\"]");
    analyze(&run);
    is_int(habit(&run, "odd_transform", "total_us"), 100, "of a prime; not of small factors, nor a short one");
    is_int(habit(&run, "odd_transform", "saves_us"), 75, "most of it");
    end(&run);
}

static void forward_work_in_a_node_is_recomputation(void)
{
    struct run run;
    begin(&run);
    node(&run, 0, 100, 5);
    op(&run, "aten::layer_norm", 20, 10, 7);
    op(&run, "aten::linear", 40, 20, 8);
    op(&run, "aten::mm", 70, 20, 0);
    node(&run, 200, 100, 6);
    op(&run, "aten::mm", 220, 60, 0);
    node(&run, 400, 100, 4);
    op(&run, "aten::lstm", 410, 30, 9);
    op(&run, "aten::mkldnn_rnn_layer_backward", 450, 40, 0);
    analyze(&run);
    is_int(habit(&run, "recompute", "count"), 2, "in the first and in the last node");
    is_int(habit(&run, "recompute", "total_us"), 60 + 40, "from its start to the end of the last forward operator");
    end(&run);
}

/* A step whose backward pass makes nodes: what they are, and one of them run. */
static void graph_of_backward(struct run *run, bool accumulates, uint32_t runs)
{
    struct ap_op_told detail = { .sequence = 1, .forward_thread = 1 };
    node(run, 0, 100, 5);
    op(run, "aten::mm", 10, 50, 20);
    row(run, "1", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OPERATOR, 100, 20);
    row(run, "1", "torch::autograd::AccumulateGrad", OPERATOR, 102, 18);
    op(run, accumulates ? "aten::copy_" : "aten::detach", 105, 10, accumulates ? 21 : 0);
    row(run, "1", "autograd::engine::evaluate_function: MmBackward0", OPERATOR, 200, 10);
    detail.sequence = runs;
    if (ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

static void a_graph_of_the_backward_pass_is_told_where_nothing_uses_it(void)
{
    struct run run;
    begin(&run);
    graph_of_backward(&run, true, 4);
    analyze(&run);
    is_int(habit(&run, "backward_graph", "count"), 2, "a product and the copy of a gradient made nodes");
    is_int(habit(&run, "backward_graph", "saves_us"), 2 + 10, "making a node, and all of the copy");
    end(&run);
    begin(&run);
    graph_of_backward(&run, true, 20);
    analyze(&run);
    is_int(habit(&run, "backward_graph", "count"), 0, "not where one of the nodes runs: a gradient penalty");
    end(&run);
    begin(&run);
    graph_of_backward(&run, false, 4);
    analyze(&run);
    is_int(habit(&run, "backward_graph", "count"), 0, "nor where gradients are not accumulated so: forward work came back");
    end(&run);
}

static void python_around_recomputation_goes_with_it(void)
{
    struct run run;
    begin(&run);
    node(&run, 0, 100, 5); /* hooks bring the forward back, and check it */
    row(&run, "1", "torch/utils/checkpoint.py(1351): unpack_hook", PYTHON, 5, 75);
    op(&run, "aten::linear", 40, 20, 8);
    op(&run, "aten::mm", 85, 10, 0);
    node(&run, 200, 100, 6); /* a node in Python computes its own gradients in the frame of the forward work */
    row(&run, "1", "my.py(7): backward", PYTHON, 205, 90);
    row(&run, "1", "my.py(3): again", PYTHON, 210, 30);
    op(&run, "aten::linear", 215, 20, 9);
    op(&run, "aten::mm", 250, 30, 0);
    analyze(&run);
    is_int(habit(&run, "recompute", "count"), 2, "in both nodes");
    is_int(habit(&run, "recompute", "total_us"), 80 + 40, "to the end of the frames that brought it back");
    end(&run);
}

/* A module runs in a frame of @file, which is asked what to do with what an operator saves; then its backward pass. */
static int64_t checkpointed_by(const char *file, bool again)
{
    struct run run;
    char name[100];
    begin(&run);
    (void)snprintf(name, sizeof(name), "%s(422): checkpoint", file);
    row(&run, "1", name, PYTHON, 0, 100);
    row(&run, "1", "nn.Module: Block_0", PYTHON, 20, 70);
    op(&run, "aten::linear", 30, 40, 5);
    (void)snprintf(name, sizeof(name), "%s(1341): pack_hook", file);
    row(&run, "1", name, PYTHON, 50, 10);
    row(&run, "1", "weakref.py(414): __getitem__", PYTHON, 52, 4);
    node(&run, 200, 100, 5);
    (void)snprintf(name, sizeof(name), "%s(1351): unpack_hook", file);
    row(&run, "1", name, PYTHON, 201, 50);
    op(&run, again ? "aten::linear" : "aten::mm", 220, 20, again ? 8 : 0);
    node(&run, 300, 20, 4);
    row(&run, "1", name, PYTHON, 301, 5);
    analyze(&run);
    int64_t total_us = habit(&run, "recompute", "total_us");
    end(&run);
    return total_us;
}

static void what_checkpointing_takes_elsewhere_goes_with_it(void)
{
    is_int(checkpointed_by("torch/utils/checkpoint.py", true), 51 + 20 + 10 + 10 + 5, "around the module, and its hooks");
    is_int(checkpointed_by("/opt/torch/utils/checkpoint.py", true), 51 + 45, "wherever it is installed");
    is_int(checkpointed_by("train.py", true), 51, "a function of the program's that is called so");
    is_int(checkpointed_by("torch/utils/checkpoint.py", false), 0, "where nothing is computed again");
}

static void a_loop_that_was_slow_once_is_the_same_loop(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 16; i++) {
        op(&run, "aten::index", i * 10, 5, 0);
        op(&run, "aten::index", 10000 + i * 200, 195, 0);
        op(&run, "aten::gather", 50000 + i * 200, 195, 0); /* never short: work that has no shorter form */
    }
    op(&run, "aten::relu", 5000, 10, 0);
    analyze(&run);
    is_int(habit(&run, "operator_loop", "count"), 2, "short once, and slow once");
    is_int(habit(&run, "operator_loop", "total_us"), 155 + 3195, "both; none of operators that are always long");
    end(&run);
}

static void giving_back_goes_with_a_growing_concatenation(void)
{
    static const char list[] = "[\"TensorList\",\"Scalar\"]";
    char dims[100];
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(dims, sizeof(dims), "[[[64,%d,8],[64,1,8]],[]]", 99 + i);
        op_with(&run, "aten::cat", i * 10000, 60, 0, dims, list);
        op(&run, "aten::mul", i * 10000 + (i == 2 ? 960 : 110), 10, 0);
        op_with(&run, "aten::cat", i * 10000 + 2000, 10, 0, "[[[4,9,8],[4,1,8]],[]]", list);
        op(&run, "aten::mul", i * 10000 + 2100, 10, 0);
        (void)snprintf(dims, sizeof(dims), "[[[2,%d,8],[2,1,8]],[]]", 99 + i);
        op_with(&run, "aten::cat", i * 10000 + 3000, 20, 0, dims, list);
        op(&run, "aten::mul", i * 10000 + 3030, 10, 0);
    }
    analyze(&run);
    is_int(habit(&run, "growing_cat", "total_us"), 240 + 3 * 50 + 60 + 4 * 20,
           "gaps behind those that grow and are large, of a long one no more than the concatenation took");
    end(&run);
}

static void passes_without_backward_are_told_by_where_they_stand(void)
{
    struct run run;
    begin(&run);
    for (uint32_t step = 1; step <= 4; step++) {
        int64_t start_us = step * 1000;
        row(&run, "1",
            step == 1   ? "ProfilerStep#1"
            : step == 2 ? "ProfilerStep#2"
            : step == 3 ? "ProfilerStep#3"
                        : "ProfilerStep#4",
            ANNOTATION, start_us, 1000);
        op(&run, "aten::linear", start_us + 10, 30, 0); /* of a teacher */
        training(&run, start_us + 100, step);
        op(&run, "aten::linear", start_us + 200, 50, 0);
        op(&run, "aten::argmax", start_us + 260, 40, 0);
        op(&run, "aten::linear", start_us + 400, 20, step * 10 + 4); /* makes a node that never runs */
        op(&run, "aten::sum", start_us + 420, 10, step * 10 + 6);
    }
    analyze(&run);
    is_int(habit(&run, "evaluation", "count"), 4, "behind the step of the optimizer");
    is_int(habit(&run, "evaluation", "total_us"), 400 + 4 * 50, "with what follows without gradients, and the way there");
    is_int(habit(&run, "gradless_pass", "total_us"), 120, "before the backward pass");
    is_int(habit(&run, "unused_graph", "count"), 4, "recorded for nothing, and in the last step as in those before");
    end(&run);
}

/* An optimizer that makes updates orthogonal by products; a model that is written out by products is evaluated with them. */
static void products_of_weights_are_no_pass_of_layers(void)
{
    static const char *const names[] = { "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3" };
    for (int layers = 0; layers < 2; layers++) {
        struct run run;
        begin(&run);
        for (uint32_t step = 1; step <= 3; step++) {
            int64_t start_us = step * 1000;
            row(&run, "1", names[step - 1], ANNOTATION, start_us, 1000);
            op(&run, layers ? "aten::linear" : "aten::mm", start_us + 10, 30, step * 10 - 5);
            node(&run, start_us + 50, 10, step * 10 - 5);
            row(&run, "1", "Optimizer.step#SGD.step", ANNOTATION, start_us + 70, 10);
            op(&run, "aten::matmul", start_us + 200, 100, 0);
            op(&run, "aten::addmm", start_us + 310, 100, 0);
        }
        analyze(&run);
        is_int(habit(&run, "evaluation", "count"), layers ? 0 : 3, "behind the step of the optimizer");
        end(&run);
    }
}

/* Without its graph the pass of a target or a teacher is needed still. */
static void a_pass_that_is_taken_out_of_its_graph_saves_its_nodes(void)
{
    struct run run;
    for (int detaches = 0; detaches < 2; detaches++) {
        begin(&run);
        for (uint32_t step = 1; step <= 3; step++) {
            op(&run, "aten::linear", step * 1000, 20, step * 10 - 2);
            op(&run, "aten::relu", step * 1000 + 30, 10, step * 10 - 1);
            op(&run, detaches ? "aten::detach" : "aten::select", step * 1000 + 50, 5, 0);
            training(&run, step * 1000 + 100, step);
        }
        analyze(&run);
        is_int(habit(&run, "unused_graph", "saves_us"), detaches ? 3 * 2 * 2 : 3 * 55, "two nodes, or the pass");
        end(&run);
    }
}

/* A critic that is updated several times a step is shown something new each time. */
static void what_another_update_follows_is_no_evaluation(void)
{
    static const char *const names[] = { "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3" };
    struct run run;
    begin(&run);
    for (uint32_t step = 1; step <= 3; step++) {
        int64_t start_us = step * 1000;
        row(&run, "1", names[step - 1], ANNOTATION, start_us, 1000);
        for (uint32_t update = 0; update < 3; update++) {
            op(&run, "aten::linear", start_us + 300 * update + 10, 50, 0);
            training(&run, start_us + 300 * update + 100, step * 3 + update);
        }
    }
    analyze(&run);
    is_int(habit(&run, "evaluation", "count"), 0, "nothing stands behind the last one");
    is_int(habit(&run, "gradless_pass", "count"), 3 * 3, "all of them stand before one");
    end(&run);
}

static void the_backward_of_a_last_pass_may_still_come(void)
{
    static const char *const names[] = { "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4" };
    for (int unused_in = 2; unused_in <= 3; unused_in++) {
        struct run run;
        begin(&run);
        for (uint32_t step = 1; step <= 4; step++) {
            int64_t start_us = step * 1000;
            row(&run, "1", names[step - 1], ANNOTATION, start_us, 1000);
            training(&run, start_us + 100, step);
            if ((int)step <= unused_in || step == 4) {
                op(&run, "aten::linear", start_us + 400, 20, step * 10 + 4);
                op(&run, "aten::sum", start_us + 420, 10, step * 10 + 6);
            }
        }
        analyze(&run);
        is_int(habit(&run, "unused_graph", "count"), unused_in == 2 ? 2 : 4, "not where a step before had none");
        end(&run);
    }
}

/* A target network, an agent that plays: without marks nothing tells whether they end a step or begin one. */
static void what_follows_the_optimizer_is_no_evaluation_without_marks(void)
{
    struct run run;
    begin(&run);
    for (uint32_t step = 1; step <= 4; step++) {
        int64_t start_us = step * 1000;
        op(&run, "aten::linear", start_us, 30, 0);
        op(&run, "aten::max", start_us + 30, 10, 0);
        training(&run, start_us + 100, step);
    }
    analyze(&run);
    is_int(habit(&run, "evaluation", "count"), 0, "the rows of the optimizer are no marks");
    is_int(habit(&run, "gradless_pass", "total_us"), 160, "passes without gradients");
    end(&run);
    begin(&run);
    for (uint32_t step = 1; step <= 4; step++) {
        int64_t start_us = step * 1000;
        op(&run, "aten::linear", start_us, 30, 0);
        op(&run, "aten::multinomial", start_us + 30, 10, 0);
        op(&run, "aten::linear", start_us + 400, 30, 0); /* the game's next state is there */
        training(&run, start_us + 500, step);
    }
    analyze(&run);
    is_int(habit(&run, "gradless_pass", "count"), 0, "a roll-out: layers have little of its time");
    end(&run);
}

static void inference_that_makes_nodes_is_told(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::linear", 0, 50, 1);
    op(&run, "aten::dropout", 50, 30, 3);
    op(&run, "aten::bernoulli_", 55, 20, 0);
    op(&run, "aten::linear", 80, 50, 4);
    op(&run, "aten::scaled_dot_product_attention", 130, 40, 6);
    op(&run, "aten::dropout", 140, 10, 6);
    op(&run, "aten::relu", 180, 1, 8);
    analyze(&run);
    is_int(habit(&run, "inference_graph", "count"), 4, "those with a later number behind them");
    is_int(habit(&run, "inference_graph", "saves_us"), 78, "2 us a node, dropout as a whole, and what calls it");
    is_int(habit(&run, "inference_dropout", "total_us"), 30, "dropout");
    end(&run);
    begin(&run);
    op(&run, "aten::linear", 0, 50, 1);
    op(&run, "aten::dropout", 50, 30, 3);
    op(&run, "aten::linear", 80, 50, 3);
    analyze(&run);
    is_int(habit(&run, "inference_dropout", "count"), 0, "one that draws nothing is switched off");
    end(&run);
    begin(&run);
    op(&run, "aten::lstm_cell", 0, 100, 1);
    op(&run, "aten::tanh", 110, 10, 20);
    op(&run, "aten::lstm_cell", 130, 30, 21);
    op(&run, "aten::tanh", 170, 10, 40);
    analyze(&run);
    is_int(habit(&run, "inference_graph", "saves_us"), 19 * 2 + 2 + 30, "all nodes of an operator, at most its time");
    end(&run);
}

static void encoders_that_cannot_be_fused_are_told(void)
{
    static const char *const packed[] = { "aten::unflatten", "aten::unsqueeze", "aten::transpose", "aten::squeeze",
                                          "aten::contiguous" };
    struct run run;
    for (int in_order = 0; in_order < 2; in_order++) {
        begin(&run);
        op(&run, "aten::linear", 0, 50, 1);
        for (int i = 0; i < 5; i++)
            op(&run, packed[in_order ? i : 4 - i], 50 + i * 20, 20, (uint32_t)(4 + i));
        op(&run, "aten::scaled_dot_product_attention", 200, 40, 9);
        op(&run, "aten::add", 240, 30, 10);
        op(&run, "aten::linear", 270, 50, 11);
        op(&run, "aten::relu", 320, 30, 14);
        op(&run, "aten::linear", 350, 50, 15);
        op(&run, "aten::mean", 400, 10, 18);
        analyze(&run);
        is_int(habit(&run, "inference_graph", "count"), 11, "all but the last one made nodes");
        is_int(habit(&run, "inference_graph", "saves_us"), in_order ? 5 * 20 + 30 + 11 * 2 : 17 * 2,
               in_order ? "a layer of an encoder: what brings into order, and the activation" : "2 us a node");
        end(&run);
    }
}

static void constants_are_counted_where_they_repeat(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        op(&run, "aten::ones", i * 100, 10, 0);
        op(&run, "aten::triu", i * 100 + 10, 10, 5);
        op(&run, "aten::masked_fill", i * 100 + 20, 10, 5);
        op(&run, "aten::add", i * 100 + 30, 10, 5);
        op(&run, "aten::softmax", i * 100 + 40, 10, 5);
        op(&run, "aten::linear", i * 100 + 50, 10, 6);
    }
    op(&run, "aten::arange", 1000, 500, 0);
    analyze(&run);
    is_int(habit(&run, "constants", "count"), 4, "four masks, and not what is made once");
    is_int(habit(&run, "constants", "total_us"), 160, "to the last that makes no node");
    is_int(habit(&run, "constants", "saves_us"), 120, "one is needed, in all steps");
    end(&run);
}

static void the_order_of_products_is_judged_by_shapes(void)
{
    static const char types[] = "[\"float\",\"float\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::mm", 0, 900, 0, "[[400,400],[400,400]]", types);
    op_with(&run, "aten::view", 900, 1, 0, "[[400,400],[]]", types);
    op_with(&run, "aten::reshape", 902, 6, 0, "[[400,4],[]]", types);
    op(&run, "aten::clone", 903, 4, 0);
    op_with(&run, "aten::mm", 910, 100, 0, "[[400,400],[400,4]]", types);
    op_with(&run, "aten::mm", 2000, 900, 0, "[[400,400],[400,400]]", types);
    op_with(&run, "aten::softmax", 2900, 1, 0, "[[400,400],[]]", types);
    op_with(&run, "aten::mm", 2910, 100, 0, "[[400,400],[400,4]]", types);
    analyze(&run);
    is_int(habit(&run, "product_order", "count"), 1, "views, and copies of the other operand, keep it; softmax does not");
    is_int(habit(&run, "product_order", "total_us"), 1000, "both products");
    is_int(habit(&run, "product_order", "saves_us"), 980, "all but 2 of 101 parts of the arithmetic");
    end(&run);
}

/* The large product of two goes into something else as well, @behind. */
static void products_that_are_used_again_are_no_order(void)
{
    static const char types[] = "[\"float\",\"float\"]";
    static const char *const behind[] = { "[[400,500],[500]]", "[[500,400],[400,4]]" };
    struct run run;
    for (int i = 0; i < 2; i++) {
        begin(&run);
        op_with(&run, "aten::mm", 0, 900, 0, "[[400,300],[300,500]]", types);
        op_with(&run, "aten::mm", 910, 100, 0, "[[400,500],[500,4]]", types);
        op_with(&run, "aten::mv", 1020, 10, 0, behind[i], types);
        op_with(&run, "aten::mm", 2000, 900, 0, "[[400,300],[300,500]]", types);
        analyze(&run);
        is_int(habit(&run, "product_order", "count"), i, i ? "another tensor" : "it has to be made");
        end(&run);
    }
}

/* An adapter beside a layer: x W, then x A with the same x, all of x, W and x W of one size. */
static void layers_of_one_input_are_no_order(void)
{
    static const char types[] = "[\"float\",\"float\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::linear", 0, 901, 0, "[[400,400],[400,400],[]]", types);
    op_with(&run, "aten::mm", 1, 900, 0, "[[400,400],[400,400]]", types);
    op_with(&run, "aten::linear", 909, 102, 0, "[[400,400],[4,400],[]]", types);
    op_with(&run, "aten::mm", 910, 100, 0, "[[400,400],[400,4]]", types);
    op_with(&run, "aten::add", 1100, 1, 0, "[[400,400],[400,400]]", types);
    op_with(&run, "aten::matmul", 2000, 901, 0, "[[4,100,400],[400,400]]", types);
    op_with(&run, "aten::mm", 2001, 900, 0, "[[400,400],[400,400]]", types);
    op_with(&run, "aten::mm", 2910, 100, 0, "[[400,400],[400,4]]", types);
    op_with(&run, "aten::add", 3100, 1, 0, "[[400,400],[400,400]]", types);
    analyze(&run);
    is_int(habit(&run, "product_order", "count"), 0, "sizes do not tell what the second layer was given");
    end(&run);
    begin(&run);
    op_with(&run, "aten::linear", 0, 901, 0, "[[4000,400],[800,400],[]]", types);
    op_with(&run, "aten::mm", 1, 900, 0, "[[4000,400],[400,800]]", types);
    op_with(&run, "aten::linear", 909, 102, 0, "[[4000,800],[1,800],[]]", types);
    op_with(&run, "aten::mm", 910, 100, 0, "[[4000,800],[800,1]]", types);
    analyze(&run);
    is_int(habit(&run, "product_order", "count"), 1, "where they tell, it is one");
    end(&run);
}

static void shapes_tell_of_doubles_and_of_growth(void)
{
    static const char list[] = "[\"TensorList\",\"Scalar\"]";
    char dims[100];
    struct run run;
    begin(&run);
    op_with(&run, "aten::mm", 0, 100, 0, "[[32,32],[32,32]]", "[\"double\",\"double\"]");
    op_with(&run, "aten::mul_", 100, 50, 0, "[[8,8],[]]", "[\"float\",\"double\"]");
    op_with(&run, "aten::addmm", 160, 20, 0, "[[32],[64,32],[32,32]]", "[\"double\",\"double\",\"double\"]");
    op_with(&run, "aten::addmm", 180, 20, 0, "[[32],[64,32],[32,32]]", "[\"float\",\"float\",\"float\"]");
    for (int i = 0; i < 3; i++) {
        (void)snprintf(dims, sizeof(dims), "[[[2,%d,8],[2,1,8]],[]]", 99 + i);
        op_with(&run, "aten::cat", 200 + i * 100, 10, 0, dims, list);
        (void)snprintf(dims, sizeof(dims), "[[[4,%d,8],[4,1,8]],[]]", 99 + i % 2);
        op_with(&run, "aten::cat", 210 + i * 100, 10, 0, dims, list);
    }
    analyze(&run);
    is_int(habit(&run, "double_work", "total_us"), 120, "a number among the inputs makes no tensor double");
    is_int(habit(&run, "double_work", "saves_us"), 66, "a little more than half of it");
    is_int(habit(&run, "model_layer", "count"), 2, "of any floats, but not a product of matrices that no layer calls");
    is_int(habit(&run, "growing_cat", "count"), 3, "three sizes, and not two");
    is_int(habit(&run, "growing_cat", "total_us"), 30, "their time");
    end(&run);
}

/* Samples of all lengths from 99 to 106 get a token in front: as many sizes as if one tensor grew. */
static void what_comes_in_any_order_does_not_grow(void)
{
    static const int order[] = { 3, 0, 6, 2, 7, 4, 1, 5 };
    for (int grows = 0; grows < 2; grows++) {
        struct run run;
        begin(&run);
        for (int i = 0; i < 16; i++) {
            char dims[100];
            (void)snprintf(dims, sizeof(dims), "[[[2,%d,8],[2,1,8]],[]]", 99 + (grows ? i / 2 : order[i % 8]));
            op_with(&run, "aten::cat", i * 100, 10, 0, dims, "[\"TensorList\",\"Scalar\"]");
        }
        analyze(&run);
        is_int(habit(&run, "growing_cat", "count"), grows ? 16 : 0,
               grows ? "two caches, step by step" : "lengths as they come");
        end(&run);
    }
}

static void tables_and_one_hot_rows_are_told_by_shapes(void)
{
    struct run run;
    begin(&run);
    op_with(&run, "aten::embedding", 0, 10, 0, "[[10000,8],[64]]", "[\"float\",\"long int\"]");
    op_with(&run, "aten::embedding_dense_backward", 20, 30, 0, "[[64,8],[64]]", "[\"float\",\"long int\"]");
    op_with(&run, "aten::sqrt", 60, 100, 0, "[[10000,8]]", "[\"float\"]");
    op_with(&run, "aten::embedding", 160, 10, 0, "[[20000,8],[64]]", "[\"float\",\"long int\"]");
    op_with(&run, "aten::sqrt", 170, 20, 0, "[[20000,8]]", "[\"float\"]");
    op(&run, "aten::one_hot", 200, 20, 0);
    op_with(&run, "aten::scatter_", 205, 10, 0, "[[32,500],[],[32,1],[]]",
            "[\"long int\",\"Scalar\",\"long int\",\"Scalar\"]");
    op_with(&run, "aten::linear", 300, 80, 0, "[[32,500],[16,500]]", "[\"float\",\"float\"]");
    analyze(&run);
    is_int(habit(&run, "embedding_gradient", "total_us"), 150, "the gradient, and the updates of both tables");
    is_int(habit(&run, "one_hot_product", "total_us"), 90, "what is made and multiplied");
    end(&run);
    begin(&run);
    op_with(&run, "aten::embedding_bag", 0, 12, 0, "[[10000,8],[64],[4]]", "[\"float\",\"long int\",\"long int\"]");
    op_with(&run, "aten::_embedding_bag", 1, 10, 0, "[[10000,8],[64],[4]]", "[\"float\",\"long int\",\"long int\"]");
    op_with(&run, "aten::_embedding_bag_dense_backward", 20, 30, 0, "[[4,8],[64]]", "[\"float\",\"long int\"]");
    op_with(&run, "aten::add_", 60, 100, 0, "[[10000,8],[10000,8],[]]", "[\"float\",\"float\",\"Scalar\"]");
    analyze(&run);
    is_int(habit(&run, "embedding_gradient", "total_us"), 130, "bags look rows up too, once each");
    end(&run);
    begin(&run);
    op(&run, "aten::one_hot", 0, 20, 0);
    op_with(&run, "aten::scatter_", 5, 10, 0, "[[32,500],[],[32,1],[]]",
            "[\"long int\",\"Scalar\",\"long int\",\"Scalar\"]");
    op_with(&run, "aten::matmul", 100, 80, 0, "[[500,32],[32,16]]", "[\"float\",\"float\"]");
    analyze(&run);
    is_int(habit(&run, "one_hot_product", "total_us"), 90, "transposed, it adds up rows by class");
    end(&run);
}

/* Rows are made, joined with others or not, and multiplied; without sizes. */
static void rows_without_sizes(struct run *run, int made, const char *joined, int64_t product_us, const char *product)
{
    begin(run);
    op(run, "aten::relu", 0, 10, 0);
    for (int i = 0; i < made; i++) {
        op(run, "aten::one_hot", 20 + 200 * i, 90, 0);
        op(run, "aten::to", 120 + 200 * i, 90, 0);
    }
    op(run, joined, 1000, 10, 0);
    op(run, product, 1020, product_us, 7);
    analyze(run);
}

static void one_hot_rows_are_told_by_what_follows(void)
{
    struct run run;
    rows_without_sizes(&run, 1, "aten::view", 200, "aten::matmul");
    is_int(habit(&run, "one_hot_product", "total_us"), 1200, "from the rows to the product");
    end(&run);
    rows_without_sizes(&run, 3, "aten::cat", 200, "aten::matmul");
    is_int(habit(&run, "one_hot_product", "count"), 1, "of several columns");
    end(&run);
    rows_without_sizes(&run, 1, "aten::cat", 200, "aten::matmul");
    is_int(habit(&run, "one_hot_product", "count"), 0, "beside other data");
    end(&run);
    rows_without_sizes(&run, 1, "aten::view", 200, "aten::linear");
    is_int(habit(&run, "one_hot_product", "count"), 0, "a layer may be given something else");
    end(&run);
    rows_without_sizes(&run, 1, "aten::mul", 200, "aten::matmul");
    is_int(habit(&run, "one_hot_product", "count"), 0, "used for something else");
    end(&run);
    rows_without_sizes(&run, 1, "aten::view", 20000, "aten::matmul");
    is_int(habit(&run, "one_hot_product", "count"), 0, "labels before a large product");
    end(&run);
}

static void scores_by_one_hot(struct run *run, const char *types)
{
    begin(run);
    op(run, "aten::one_hot", 0, 20, 0);
    op_with(run, "aten::scatter_", 5, 10, 0, "[[32,500],[],[32,1],[]]", "[\"long int\",\"Scalar\",\"long int\",\"Scalar\"]");
    op_with(run, "aten::mul", 100, 80, 0, "[[32,500],[32,500]]", types);
    op_with(run, "aten::sum", 200, 30, 0, "[[32,500],[]]", "[\"float\",\"ScalarList\"]");
    op_with(run, "aten::log_softmax", 300, 70, 0, "[[32,500],[]]", "[\"float\",\"Scalar\"]");
    analyze(run);
}

static void scores_that_one_hot_rows_pick_are_told(void)
{
    struct run run;
    scores_by_one_hot(&run, "[\"float\",\"long int\"]");
    is_int(habit(&run, "one_hot_product", "total_us"), 120, "what is made, multiplied and summed up");
    end(&run);
    scores_by_one_hot(&run, "[\"float\",\"float\"]");
    is_int(habit(&run, "one_hot_product", "total_us"), 0, "other factors");
    end(&run);
}

static void what_the_caller_chooses_is_told_with_its_line(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "serve.py(9): answer", PYTHON, 0, 200);
    row(&run, "1", "nn.Module: Net_0", PYTHON, 1, 190);
    row(&run, "1", "net.py(5): forward", PYTHON, 2, 188);
    row(&run, "1", "nn.Module: Linear_0", PYTHON, 3, 60);
    op(&run, "aten::linear", 5, 50, 1);
    op(&run, "aten::linear", 80, 50, 4);
    analyze(&run);
    ok(ap_text_equal(ap_value_text(at(&run, "habits.inference_graph.line")), AP_TEXT("serve.py(9): answer")),
       "who calls the model, not its forward");
    end(&run);
}

static void lines_and_hooks_are_told_by_frames(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "train.py(9): step", PYTHON, 0, 1000);
    row(&run, "1", "train.py(3): tokenize", PYTHON, 10, 300);
    row(&run, "1", "train.py(4): <listcomp>", PYTHON, 20, 200);
    row(&run, "1", "re.py(1): split", PYTHON, 20, 150);
    op(&run, "aten::linear", 320, 600, 0);
    row(&run, "1", "torch/nn/modules/module.py(1): _call_impl", PYTHON, 930, 60);
    row(&run, "1", "train.py(7): forward", PYTHON, 931, 5);
    row(&run, "1", "train.py(8): watch", PYTHON, 940, 40);
    node(&run, 1000, 60, 5);
    row(&run, "1", "torch/utils/hooks.py(128): hook", PYTHON, 1005, 50);
    row(&run, "1", "train.py(8): watch", PYTHON, 1010, 40);
    node(&run, 1100, 60, 4);
    row(&run, "1", "torch/autograd/function.py(311): apply", PYTHON, 1105, 50);
    row(&run, "1", "train.py(12): backward", PYTHON, 1110, 40);
    analyze(&run);
    is_int(habit(&run, "python_line", "total_us"), 300, "with its comprehension and what the library does");
    ok(ap_text_equal(ap_value_text(at(&run, "habits.python_line.line")), AP_TEXT("train.py(3): tokenize")), "the line");
    is_int(habit(&run, "module_hook", "total_us"), 40 + 40, "what a module calls beside its forward, and backward");
    end(&run);
}

/* Libraries wrap forward in functions of their own, in which all of the model runs. */
static void decorators_of_forward_are_no_hooks(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "nn.Module: Model_0", PYTHON, 0, 1000);
    row(&run, "1", "torch/nn/modules/module.py(1): _call_impl", PYTHON, 1, 990);
    row(&run, "1", "lib/outputs.py(8): wrapper", PYTHON, 2, 900);
    row(&run, "1", "lib/deprecation.py(3): wrapped", PYTHON, 3, 890);
    row(&run, "1", "lib/model.py(7): forward", PYTHON, 4, 880);
    row(&run, "1", "nn.Module: Layer_0", PYTHON, 5, 800);
    row(&run, "1", "torch/nn/modules/module.py(1): _call_impl", PYTHON, 6, 790);
    row(&run, "1", "lib/outputs.py(8): wrapper", PYTHON, 7, 700);
    row(&run, "1", "lib/layer.py(7): forward", PYTHON, 8, 600);
    row(&run, "1", "train.py(8): watch", PYTHON, 910, 40);
    row(&run, "1", "nn.Module: Probe_0", PYTHON, 911, 30);
    row(&run, "1", "torch/nn/modules/module.py(1): _call_impl", PYTHON, 912, 20);
    row(&run, "1", "train.py(5): forward", PYTHON, 913, 10);
    row(&run, "1", "nn.Module: Patched_0", PYTHON, 1000, 500);
    row(&run, "1", "torch/nn/modules/module.py(1): _call_impl", PYTHON, 1001, 490);
    row(&run, "1", "train.py(30): fast_path", PYTHON, 1002, 480);
    analyze(&run);
    is_int(habit(&run, "module_hook", "total_us"), 40,
           "what runs beside a forward, whatever it calls; not what stands around one, or in its place");
    end(&run);
}

/* Four calls, one of which was held up for @longest_us; each is a gap between operators. */
static void lines_of(struct run *run, int64_t longest_us)
{
    int64_t at_us = 0;
    begin(run);
    for (int i = 0; i < 4; i++) {
        int64_t dur_us = i ? 1000 : longest_us;
        op(run, "aten::add", at_us, 10, 0);
        row(run, "1", "train.py(3): tokenize", PYTHON, at_us + 10, dur_us);
        at_us += dur_us + 10;
    }
    op(run, "aten::add", at_us, 10, 0);
    analyze(run);
}

static void what_comes_once_is_no_habit(void)
{
    struct run run;
    lines_of(&run, 20000);
    is_int(habit(&run, "python_line", "total_us"), 3000, "a line, without the call that was held up");
    is_int(ap_value_integer(at(&run, "cpu.thread_summary.long_gaps_us"), -1) / 1000, 3000, "nor is that gap one of many");
    end(&run);
    lines_of(&run, 5000);
    is_int(habit(&run, "python_line", "total_us"), 8000, "a call may be longer than the others");
    is_int(ap_value_integer(at(&run, "cpu.thread_summary.long_gaps_us"), -1) / 1000, 8000, "and a gap");
    end(&run);
}

static void python_of_the_library_is_no_work_of_the_line(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        op(&run, "aten::add", 1000 * i, 10, 0);
        row(&run, "1", "train.py(3): update", PYTHON, 1000 * i + 10, 990);
        row(&run, "1", "torch/nn/utils/clip_grad.py(9): clip_grad_norm_", PYTHON, 1000 * i + 20, 900);
    }
    op(&run, "aten::add", 4000, 10, 0);
    analyze(&run);
    is_int(habit(&run, "python_line", "total_us"), 0, "clipping is no tokenizing");
    end(&run);
}

/* So many steps that train, and call @library for a third of their time. */
static int64_t library_calls(int steps, const char *library)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < steps; i++) {
        row(&run, "1", "train.py(3): step", PYTHON, 1000 * i, 1000);
        op(&run, "aten::linear", 1000 * i + 10, 500, 0);
        row(&run, "1", library, PYTHON, 1000 * i + 600, 300);
        row(&run, "1", "numpy/core/fromnumeric.py(7): sort", PYTHON, 1000 * i + 610, 200);
    }
    analyze(&run);
    int64_t total_us = habit(&run, "python_line", "total_us");
    end(&run);
    return total_us;
}

static void a_line_that_trains_may_call_libraries(void)
{
    is_int(library_calls(4, "numpy/lib/histograms.py(9): histogram"), 1200, "with all that these call");
    is_int(library_calls(2, "numpy/lib/histograms.py(9): histogram"), 0, "again and again");
    is_int(library_calls(4, "torch/nn/utils/clip_grad.py(9): clip_grad_norm_"), 0, "not PyTorch's own");
}

static void what_is_added_before_a_norm_is_no_part_of_it(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::add", 0, 10, 0);
    op(&run, "aten::to", 10, 10, 0);
    op(&run, "aten::pow", 20, 10, 0);
    op(&run, "aten::mean", 30, 10, 0);
    op(&run, "aten::rsqrt", 40, 10, 0);
    op(&run, "aten::mul", 50, 10, 0);
    analyze(&run);
    is_int(habit(&run, "written_out", "total_us"), 50, "from the cast on");
    end(&run);
}

static void forms_that_are_written_out_are_told(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::mean", 0, 10, 10); /* a norm: with what stands before and behind */
    op(&run, "aten::sub", 10, 10, 11);
    op(&run, "aten::pow", 20, 10, 12);
    op(&run, "aten::mean", 30, 10, 13);
    op(&run, "aten::add", 40, 10, 14);
    op(&run, "aten::sqrt", 50, 10, 15);
    op(&run, "aten::div", 60, 10, 16);
    op(&run, "aten::linear", 70, 500, 17);
    op(&run, "aten::softmax", 600, 10, 30); /* far from the logarithm */
    op(&run, "aten::linear", 610, 10, 31);
    op(&run, "aten::log", 620, 10, 33);
    op(&run, "aten::pow", 700, 10, 40); /* no root: a power and a mean are no norm */
    op(&run, "aten::mean", 710, 10, 41);
    node(&run, 800, 30, 12);
    analyze(&run);
    is_int(habit(&run, "written_out", "count"), 1, "the norm");
    is_int(habit(&run, "written_out", "total_us"), 70 + 30, "its operators, and the node that it made");
    is_int(habit(&run, "written_out", "saves_us"), 70, "its own operator takes some of it");
    end(&run);
}

/* -(y log(p + eps) + (1 - y) log(1 - p + eps)), of which the second term has @more before its logarithm. */
static int64_t binary_cross_entropies(const char *more)
{
    struct run run;
    const char *const names[] = { "aten::sigmoid", "aten::add", "aten::log", "aten::mul", "aten::rsub", "aten::rsub", more,
                                  "aten::log",     "aten::mul", "aten::add", "aten::mean" };
    begin(&run);
    for (size_t i = 0; i < AP_COUNT_OF(names); i++)
        op(&run, names[i], (int64_t)i * 10, 10, 10 + (uint32_t)i);
    op(&run, "aten::linear", 200, 10, 30);
    node(&run, 300, 90, 12);
    analyze(&run);
    int64_t saves_us = habit(&run, "written_out", "count") ? habit(&run, "written_out", "saves_us") : 0;
    end(&run);
    return saves_us;
}

static void a_binary_cross_entropy_that_is_written_out_is_told(void)
{
    is_int(binary_cross_entropies("aten::add"), 110, "11 operators and a node, of which the logits' own loss takes 0.45");
    is_int(binary_cross_entropies("aten::linear"), 0, "the second logarithm is of something else");
    is_int(binary_cross_entropies("aten::tanh"), 0, "likewise");
}

static void an_optimizer_that_begins_anew_is_told(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 3; i++) {
        row(&run, "1", i == 2 ? "Optimizer.step#LBFGS.step" : "Optimizer.step#AdamW.step", ANNOTATION, i * 1000, 500);
        op(&run, "aten::zeros_like", i * 1000 + 10, 20, 0);
        op(&run, "aten::zeros_like", i * 1000 + 40, 20, 0);
    }
    row(&run, "1", "Optimizer.step#Adam.step", ANNOTATION, 5000, 500);
    op(&run, "aten::zeros_like", 5010, 20, 0);
    analyze(&run);
    is_int(habit(&run, "state_anew", "count"), 2, "two zeros a step, of an optimizer that keeps means");
    is_int(habit(&run, "state_anew", "saves_us"), 60 + 60 + 500,
           "until they are made, and the way from one step to the next");
    end(&run);
}

static void positions_that_nobody_uses_are_told(void)
{
    static const char types[] = "[\"float\",\"float\",\"float\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::linear", 0, 100, 0, "[[2,10,8],[50,8],[50]]", types); /* logits: the last one is chosen */
    op_with(&run, "aten::select", 100, 1, 0, "[[2,10,50],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    op_with(&run, "aten::argmax", 110, 5, 0, "[[2,50],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    op_with(&run, "aten::linear", 200, 100, 0, "[[2,10,8],[60,8],[60]]", types); /* all are used beside the choice */
    op_with(&run, "aten::select", 300, 1, 0, "[[2,10,60],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    op_with(&run, "aten::sum", 310, 5, 0, "[[2,10,60]]", "[\"float\"]");
    op_with(&run, "aten::argmax", 320, 5, 0, "[[2,60],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    analyze(&run);
    is_int(habit(&run, "unused_rows", "count"), 1, "a result of which one position is chosen, and no other use");
    is_int(habit(&run, "unused_rows", "saves_us"), 90, "nine of ten positions");
    end(&run);
    begin(&run);
    op_with(&run, "aten::linear", 0, 100, 0, "[[2,10,8],[50,8],[50]]", types);
    for (int i = 1; i <= 10; i++) {
        op_with(&run, "aten::select", 100 * i, 1, 0, "[[2,10,50],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
        op_with(&run, "aten::tanh", 100 * i + 10, 5, 0, "[[2,50],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    }
    analyze(&run);
    is_int(habit(&run, "unused_rows", "count"), 0, "a loop takes position after position");
    end(&run);
}

static void a_mask_of_all_pairs_is_told(void)
{
    static const char types[] = "[\"float\",\"float\",\"float\",\"float\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::scaled_dot_product_attention", 0, 100, 0,
            "[[2,4,1024,64],[2,4,1024,64],[2,4,1024,64],[1,1,1024,1024]]", types);
    op_with(&run, "aten::scaled_dot_product_attention", 200, 100, 0, /* one for each row */
            "[[2,4,1024,64],[2,4,1024,64],[2,4,1024,64],[2,1,1024,1024]]", types);
    op_with(&run, "aten::scaled_dot_product_attention", 400, 100, 0, /* of padding */
            "[[2,4,1024,64],[2,4,1024,64],[2,4,1024,64],[1,1,1,1024]]", types);
    op_with(&run, "aten::scaled_dot_product_attention", 600, 100, 0, /* short */
            "[[2,4,64,64],[2,4,64,64],[2,4,64,64],[64,64]]", types);
    analyze(&run);
    is_int(habit(&run, "square_mask", "count"), 1, "one mask for all rows and heads, of all pairs");
    is_int(habit(&run, "masked_attention", "count"), 3, "others may hide padding");
    end(&run);
}

static void caches_in_another_order_are_told(void)
{
    static const char types[] = "[\"float\",\"Scalar\",\"long int\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::index_select", 0, 30, 0, "[[64,8,1030,128],[],[64]]", types);
    op_with(&run, "aten::index_select", 40, 30, 0, "[[64,8,1030,128],[],[64]]", types);
    op_with(&run, "aten::index_select", 80, 10, 0, "[[64,3,224,224],[],[64]]", types);    /* images */
    op_with(&run, "aten::index_select", 100, 30, 0, "[[64,8,1,128],[],[64]]", types);     /* what was generated alone */
    op_with(&run, "aten::index_select", 200, 30, 0, "[[50000,8,16,64],[],[64]]", types);  /* some of the rows */
    op_with(&run, "aten::index_select", 300, 30, 0, "[[1048576,8],[],[1048576]]", types); /* no cache */
    analyze(&run);
    is_int(habit(&run, "cache_order", "count"), 2, "keys and values are put in order whole");
    is_int(habit(&run, "cache_order", "total_us"), 60, "its time");
    end(&run);
}

static void request_after_request(struct run *run, int count, const char *dims)
{
    static const char types[] = "[\"float\",\"float\",\"float\"]";
    for (int i = 0; i < count; i++) {
        op_with(run, "aten::linear", i * 100, 50, 0, dims, types);
        op_with(run, "aten::relu", i * 100 + 60, 10, 0, "[[1,8]]", "[\"float\"]");
    }
}

static void a_batch_of_one_is_told(void)
{
    struct run run;
    begin(&run);
    request_after_request(&run, 16, "[[1,8],[8,8],[8]]");
    analyze(&run);
    is_int(habit(&run, "single_request", "count"), 16, "calls of layers");
    is_int(habit(&run, "single_request", "saves_us"), 16 * 60 + 16 * 10 + 15 * 30, "operators, and the way between them");
    end(&run);
    begin(&run);
    request_after_request(&run, 16, "[[2,8],[8,8],[8]]");
    analyze(&run);
    is_int(habit(&run, "single_request", "count"), 0, "a batch of two");
    end(&run);
    begin(&run);
    for (int i = 0; i < 16; i++) { /* a layer in one call, of many short ones or of one long one */
        op_with(&run, "aten::_transformer_encoder_layer_fwd", i * 1000, 400, 0, "[[1,8,8],[],[]]", "[\"float\",\"\",\"\"]");
        for (int j = 0; j < (i < 8 ? 39 : 1); j++)
            op(&run, "aten::addmm", i * 1000 + j * 10, 9, 0);
    }
    analyze(&run);
    is_int(habit(&run, "single_request", "saves_us"), 8 * 400, "those of short parts");
    end(&run);
    begin(&run);
    request_after_request(&run, 16, "[[1,8],[8,8],[8]]");
    op(&run, "aten::argmax", 5000, 5, 0);
    analyze(&run);
    is_int(habit(&run, "single_request", "count"), 0, "what is generated cannot go side by side");
    end(&run);
}

static void checks_of_values_are_told(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::isnan", 0, 10, 0);
    op(&run, "aten::any", 10, 5, 0);
    op(&run, "aten::is_nonzero", 20, 1, 0);
    op(&run, "aten::linear", 30, 50, 0);
    op(&run, "aten::any", 90, 5, 0);
    op(&run, "aten::isinf", 1000, 10, 0); /* 905 us behind it: Python of something else */
    op(&run, "aten::any", 1010, 5, 0);
    op(&run, "aten::isinf", 1020, 10, 0);
    analyze(&run);
    is_int(habit(&run, "value_check", "count"), 3, "what is asked of other things is no check");
    is_int(habit(&run, "value_check", "total_us"), 21 + 15 + 15,
           "the check and what is made of it, with Python between them");
    end(&run);
}

/* A filter, or a dynamic program: only the last state is used. Results of all rows are put together, or added up. */
static void passes_that_go_on_from_each_other_make_no_batch(void)
{
    static const struct {
        const char *last, *behind;
        int count;
    } cases[] = { { "aten::sub", "aten::mul", 0 }, { "aten::sub", "aten::stack", 1 }, { "aten::add", "aten::mul", 1 } };
    for (size_t c = 0; c < AP_COUNT_OF(cases); c++) {
        static const char *const names[] = { "aten::unsqueeze", "aten::mm", "aten::select", "aten::where",
                                             "aten::logsumexp" };
        struct run run;
        begin(&run);
        for (int i = 0; i < 24; i++) {
            for (size_t k = 0; k < AP_COUNT_OF(names); k++)
                op(&run, names[k], i * 60 + (int64_t)k * 10, 8, 0);
            op(&run, cases[c].last, i * 60 + 50, 8, 0);
        }
        op(&run, cases[c].behind, 24 * 60, 8, 0);
        analyze(&run);
        is_int(habit(&run, "operator_loop", "count"), cases[c].count, cases[c].behind);
        end(&run);
    }
}

/* Their entropy is part of the loss; of a mean over heads, which layers hand out, nobody knows. The next layer's scores have
 * the same sizes. */
static void weights_of_attention_are_used_beside(void)
{
    static const char two[] = "[\"float\",\"float\"]", *const uses[] = { "aten::log", "aten::mean", "aten::view" };
    for (size_t use = 0; use < AP_COUNT_OF(uses); use++) {
        struct run run;
        begin(&run);
        for (int layer = 0; layer < 2; layer++) {
            op_with(&run, "aten::matmul", layer * 1000, 50, 0, "[[2,4,9,8],[2,4,8,9]]", two);
            op_with(&run, "aten::div", layer * 1000 + 60, 10, 0, "[[2,4,9,9],[]]", two);
            op_with(&run, "aten::softmax", layer * 1000 + 80, 10, 0, "[[2,4,9,9],[],[]]", two);
            op_with(&run, "aten::dropout", layer * 1000 + 95, 10, 0, "[[2,4,9,9],[],[]]", two);
            op_with(&run, "aten::matmul", layer * 1000 + 120, 50, 0, "[[2,4,9,9],[2,4,9,8]]", two);
            op_with(&run, "aten::linear", layer * 1000 + 180, 50, 0, "[[2,9,32],[32,32],[32]]", two);
            op_with(&run, uses[use], layer * 1000 + 240, 10, 0, "[[2,4,9,9],[]]", two);
        }
        analyze(&run);
        is_int(habit(&run, "used_weights", "count"), use ? 0 : 2, uses[use]);
        end(&run);
    }
}

/* Products of a few rows each and as many columns: padded to the largest they would take longer. Rows of a table that meet
 * the same weight are put together, whatever their number. */
static void matrices_of_many_sizes_make_no_batch(void)
{
    static const struct {
        const char *dims;
        int count;
    } cases[] = { { "[[16,%d],[%d,16]]", 0 }, { "[[%d,16],[16,16]]", 1 }, { "[[16,24],[24,16]]", 1 } };
    for (size_t c = 0; c < AP_COUNT_OF(cases); c++) {
        struct run run;
        char dims[64];
        begin(&run);
        for (int i = 0; i < 24; i++) {
            (void)snprintf(dims, sizeof(dims), cases[c].dims, 20 + i * 7 % 24, 20 + i * 7 % 24);
            op(&run, "aten::numpy_T", i * 40, 4, 0);
            op_with(&run, "aten::mm", i * 40 + 10, 10, 0, dims, "[\"float\",\"float\"]");
            op(&run, "aten::div", i * 40 + 25, 8, 0);
        }
        analyze(&run);
        is_int(habit(&run, "operator_loop", "count"), cases[c].count, cases[c].dims);
        end(&run);
    }
}

/* Forces go along the differences of all pairs; a kernel of their distances needs these alone. */
static void pairs_that_are_used_themselves_are_needed(void)
{
    static const char two[] = "[\"double\",\"double\"]", one[] = "[\"double\",\"\"]";
    for (int forces = 0; forces < 2; forces++) {
        struct run run;
        begin(&run);
        op_with(&run, "aten::sub", 0, 100, 0, "[[1,500,3],[500,1,3]]", two);
        op_with(&run, "aten::square", 100, 100, 0, "[[500,500,3]]", one);
        op_with(&run, "aten::sum", 200, 100, 0, "[[500,500,3],[]]", one);
        op_with(&run, "aten::pow", 300, 100, 0, "[[500,500],[]]", one);
        op_with(&run, "aten::einsum", 400, 100, 0, forces ? "[[],[[500,500],[500,500,3]]]" : "[[],[[500,500],[500,3]]]",
                one);
        analyze(&run);
        is_int(habit(&run, "all_pairs", "count"), !forces, "made one by one, and summed up");
        end(&run);
    }
}

static void work_on_more_than_is_needed_is_told_by_shapes(void)
{
    static const char two[] = "[\"float\",\"float\"]", one[] = "[\"float\",\"\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::sub", 0, 100, 0, "[[512,1,32],[1,256,32]]", two);
    op_with(&run, "aten::pow", 100, 100, 0, "[[512,256,32],[]]", one);
    op_with(&run, "aten::sum", 200, 100, 0, "[[512,256,32],[]]", one);
    op_with(&run, "aten::sub", 400, 100, 0, "[[512,1,32],[1,256,32]]", two); /* the pairs are used */
    op_with(&run, "aten::linear", 500, 100, 0, "[[512,256,32],[8,32]]", two);
    op_with(&run, "aten::mul", 700, 100, 0, "[[512,256,32],[1,256,32]]", two); /* only one is spread out */
    op_with(&run, "aten::sum", 800, 100, 0, "[[512,256,32],[]]", one);
    op_with(&run, "aten::mul", 3000, 100, 0, "[[80,48,1,1],[48,40,24]]", two); /* as in broadcasting, from the last */
    op_with(&run, "aten::unsqueeze", 3100, 10, 0, "[[80,40],[]]", one);        /* makes another factor */
    op_with(&run, "aten::mul", 3110, 90, 0, "[[80,48,40,24],[80,1,40,1]]", two);
    op_with(&run, "aten::sum", 3200, 100, 0, "[[80,48,40,24],[]]", one);
    op_with(&run, "aten::gt", 3300, 50, 0, "[[80,48,40,24],[]]", one); /* looks at the pairs once more */
    op_with(&run, "aten::sort", 1000, 400, 0, "[[64,9000],[]]", one);
    op_with(&run, "aten::slice", 1400, 10, 0, "[[64,9000],[]]", one);
    op_with(&run, "aten::sort", 1500, 400, 0, "[[64,9000],[]]", one); /* of the next request */
    op_with(&run, "aten::slice", 1900, 10, 0, "[[64,9000],[]]", one);
    op_with(&run, "aten::sort", 2000, 400, 0, "[[32,9000],[]]", one); /* all of it is used */
    op_with(&run, "aten::slice", 2400, 10, 0, "[[32,9000],[]]", one);
    op_with(&run, "aten::softmax", 2410, 10, 0, "[[32,9000],[]]", one);
    analyze(&run);
    is_int(habit(&run, "all_pairs", "count"), 2, "spread out against each other and summed up");
    is_int(habit(&run, "all_pairs", "total_us"), 300 + 350, "from the pairs to the last look at them");
    is_int(habit(&run, "whole_sort", "count"), 2, "of which a part is used");
    is_int(habit(&run, "whole_sort", "total_us"), 800, "the sorts");
    end(&run);
}

static void accumulate(struct run *run, int64_t start_us, const char *dims)
{
    row(run, "1", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OPERATOR, start_us, 10);
    op_with(run, "torch::autograd::AccumulateGrad", start_us + 1, 8, 0, dims, "[\"float\"]");
}

static void frozen_backbone(struct run *run, int64_t start_us, const char *updated)
{
    op(run, "aten::linear", start_us, 10, 50);
    node(run, start_us + 100, 100, 51);
    accumulate(run, start_us + 200, "[[10, 64]]");
    node(run, start_us + 300, 300, 50);
    accumulate(run, start_us + 600, "[[64, 96]]");
    row(run, "1", "Optimizer.step#AdamW.step", ANNOTATION, start_us + 700, 100);
    op_with(run, "aten::_fused_adamw_", start_us + 710, 50, 0, updated, "[\"TensorList\"]");
}

static void gradients_that_no_optimizer_uses_are_told(void)
{
    struct run run;
    begin(&run);
    frozen_backbone(&run, 0, "[[[10, 64], [10]], []]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 1, "one backward pass");
    is_int(habit(&run, "unneeded_gradient", "total_us"), 90 + 310 + 90,
           "behind the last weight that is updated, with the way there, and what is given back behind it");
    end(&run);
    begin(&run);
    frozen_backbone(&run, 0, "[[[10, 64], [64, 96]], []]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "all weights are updated");
    end(&run);
    begin(&run);
    frozen_backbone(&run, 0, "[[[7040]], []]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "an optimizer with tensors of its own sizes tells nothing");
    end(&run);
}

static void the_gradient_that_feeds_unneeded_ones_is_none_either(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::mm", 120, 20, 0);
    op(&run, "aten::mm", 150, 40, 0);
    frozen_backbone(&run, 0, "[[[10, 64], [10]], []]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "total_us"), 90 + 310 + 90 + 30, "one of two products of the node before");
    end(&run);
}

/* A layer that nobody trains, what its input comes from, and a layer that is trained. */
static void branch(struct run *run, const char *end_of_branch)
{
    begin(run);
    op(run, "aten::linear", 0, 10, 50);
    node(run, 100, 100, 60);
    op(run, "aten::mm", 110, 40, 0);
    op(run, "aten::mm", 155, 40, 0);
    accumulate(run, 200, "[[32, 32]]");
    op(run, end_of_branch, 300, 50, 59);
    accumulate(run, 350, "[[500, 32]]");
    node(run, 400, 100, 51);
    op(run, "aten::mm", 410, 40, 0);
    accumulate(run, 500, "[[10, 64]]");
    row(run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 700, 100);
    op_with(run, "aten::_fused_adamw_", 710, 50, 0, "[[[10, 64]], []]", "[\"TensorList\"]");
    analyze(run);
}

static void a_branch_that_ends_in_embeddings_is_unneeded_as_a_whole(void)
{
    struct run run;
    branch(&run, "autograd::engine::evaluate_function: EmbeddingBackward0");
    is_int(habit(&run, "unneeded_gradient", "total_us"), 359 - 100, "a teacher's, from its first product on");
    end(&run);
    branch(&run, "autograd::engine::evaluate_function: MulBackward0");
    is_int(habit(&run, "unneeded_gradient", "total_us"), 80 + 8, "else the way through it may be needed");
    end(&run);
}

/* @matrix: of the layer behind, whose vector is as long as one that is updated. */
static void layer_with_vector(struct run *run, const char *matrix)
{
    begin(run);
    op(run, "aten::linear", 0, 10, 50);
    node(run, 100, 100, 51);
    accumulate(run, 200, "[[10, 64]]");
    node(run, 300, 300, 50);
    op(run, "aten::mm", 320, 100, 0);
    accumulate(run, 600, "[[10]]");
    accumulate(run, 620, matrix);
    row(run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 700, 100);
    op_with(run, "aten::_fused_adamw_", 710, 50, 0, "[[[10, 64], [10], [10, 96]], []]", "[\"TensorList\"]");
    analyze(run);
}

static void a_vector_goes_with_the_matrix_of_its_layer(void)
{
    struct run run;
    layer_with_vector(&run, "[[64, 96]]");
    is_int(habit(&run, "unneeded_gradient", "total_us"), 90 + 330 + 70,
           "neither is updated, whatever else has the vector's size");
    end(&run);
    layer_with_vector(&run, "[[10, 96]]");
    is_int(habit(&run, "unneeded_gradient", "total_us"), 0, "both are updated");
    end(&run);
}

/* Two models that are trained in turn, the first one with a loss that goes back through the other. */
static void in_turn(struct run *run, bool clears, const char *other)
{
    for (int i = 0; i < 3; i++) {
        if (clears)
            row(run, "1", "Optimizer.zero_grad#AdamW.zero_grad", ANNOTATION, i * 1000 + 2, 5);
        frozen_backbone(run, i * 1000 + 10, i == 1 ? other : "[[[10, 64], [10]], []]");
    }
}

static void gradients_that_are_cleared_unused_are_told(void)
{
    struct run run;
    begin(&run);
    in_turn(&run, true, "[[[64, 96]], []]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 1, "cleared before the other model's step");
    is_int(habit(&run, "unneeded_gradient", "total_us"), 90 + 310 + 90, "behind the last weight that is updated next");
    end(&run);
    begin(&run);
    in_turn(&run, false, "[[[64, 96]], []]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "what is not cleared adds up for a later step");
    end(&run);
    begin(&run);
    op(&run, "torch::autograd::AccumulateGrad", 0, 1, 0);
    in_turn(&run, true, "[[[64, 96]], []]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "nor where gradients are cleared behind their step");
    end(&run);
    begin(&run);
    in_turn(&run, true, "[[[64, 96]], []]");
    row(&run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 1900, 50);
    op_with(&run, "aten::_fused_adamw_", 1910, 30, 0, "[[[7, 7]], []]", "[\"TensorList\"]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "two optimizers step, and one was cleared: it may add up");
    end(&run);
    begin(&run);
    in_turn(&run, true, "[]");
    op_with(&run, "aten::_fused_adamw_", 3010, 50, 0, "[[[64, 96]], []]", "[\"TensorList\"]");
    row(&run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 3000, 100);
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "a step that does not tell its sizes may work on all");
    end(&run);
}

/* The backward of a convolution: the gradients of the input, which requires one, and of the weight. */
static void first_layer(struct run *run, const char *looked_at)
{
    op(run, "aten::conv2d", 0, 10, 50);
    node(run, 50, 20, 51);
    accumulate(run, 75, "[[10, 64]]");
    node(run, 100, 410, 50);
    op(run, "aten::convolution_backward", 105, 400, 0);
    op(run, "aten::mm", 110, 300, 0);
    accumulate(run, 520, "[[4, 3, 64, 64]]");
    accumulate(run, 540, "[[48, 3, 7, 7]]");
    op_with(run, "aten::sign", 560, 10, 0, looked_at, "[\"float\"]");
    row(run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 700, 100);
    op_with(run, "aten::_fused_adamw_", 710, 50, 0, "[[[10, 64], [48, 3, 7, 7]], []]", "[\"TensorList\"]");
}

static void a_gradient_of_an_input_is_told_where_nothing_looks_at_it(void)
{
    struct run run;
    begin(&run);
    first_layer(&run, "[[10]]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 1, "one backward pass");
    is_int(habit(&run, "unneeded_gradient", "total_us"), 200 + 8,
           "one of two products of the convolution, and accumulating it");
    end(&run);
    begin(&run);
    first_layer(&run, "[[4, 3, 64, 64]]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "an attack uses it");
    end(&run);
    begin(&run);
    op(&run, "c10d::allreduce_", 600, 10, 0);
    first_layer(&run, "[[10]]");
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "of several ranks each may update a part");
    end(&run);
}

/* Ten calls that end 5 ms behind their operators, while another thread begins frames. */
static void held_up(struct run *run, const char *process, int frames)
{
    for (int i = 0; i < 10; i++) {
        int64_t start_us = i * 6000;
        row(run, "1", "train.py(9): step", PYTHON, start_us, 5900);
        row(run, "1", "<built-in function linear>", PYTHON, start_us + 10, 5600);
        op(run, "aten::linear", start_us + 20, 590, 0);
        for (int frame = 0; frame < frames; frame++)
            (void)add_row(run, process, "2", "watch.py(3): total", PYTHON, (start_us + 1000 + frame * 500) * 1000, 400000);
    }
}

/* Within an operator, while another thread begins frames. */
static void stands_still(struct run *run, int64_t start_us, int64_t dur_us)
{
    op(run, "aten::mm", start_us, dur_us, 0);
    for (int frame = 1; frame < 4; frame++)
        (void)add_row(run, "1", "2", "watch.py(3): total", PYTHON, (start_us + frame * 1000) * 1000, 400000);
}

static void another_thread_that_holds_the_interpreter_is_told(void)
{
    struct run run;
    begin(&run);
    held_up(&run, "1", 4);
    analyze(&run);
    is_int(habit(&run, "interpreter_held", "count"), 10, "behind each operator");
    is_int(habit(&run, "interpreter_held", "total_us"), 50000, "to the end of its call");
    ok(ap_text_equal(ap_value_text(at(&run, "habits.interpreter_held.line")), AP_TEXT("watch.py(3): total")),
       "named by what the other thread ran");
    end(&run);
    begin(&run);
    held_up(&run, "1", 4);
    for (int i = 0; i < 8; i++)
        op(&run, "aten::mm", 5920 + i * 4, 2, 0);
    stands_still(&run, 70000, 8000);
    analyze(&run);
    is_int(habit(&run, "interpreter_held", "total_us"), 58000, "an operator that is short at other times waits, too");
    end(&run);
    begin(&run);
    held_up(&run, "1", 4);
    stands_still(&run, 70000, 8000);
    analyze(&run);
    is_int(habit(&run, "interpreter_held", "total_us"), 50000, "not one that may be long");
    end(&run);
    begin(&run);
    held_up(&run, "1", 1);
    analyze(&run);
    is_int(habit(&run, "interpreter_held", "count"), 0, "a thread that begins one frame may wait itself");
    end(&run);
    begin(&run);
    held_up(&run, "7", 4);
    analyze(&run);
    is_int(habit(&run, "interpreter_held", "count"), 0, "another process has an interpreter of its own");
    end(&run);
}

static void pieces(struct run *run, int64_t start_us, const char *first, const char *other)
{
    for (int i = 0; i < 20; i++) {
        op(run, "aten::select", start_us + i * 20, 2, 0);
        row(run, "1", i % 2 ? other : first, PYTHON, start_us + i * 20 + 4, 8);
        op(run, "aten::linear", start_us + i * 20 + 5, 5, 0);
    }
}

static void a_module_in_a_loop_is_told_from_layers(void)
{
    struct run run;
    begin(&run);
    pieces(&run, 0, "nn.Module: Linear_0", "nn.Module: Linear_0");
    op(&run, "aten::relu", 500, 1, 0);
    pieces(&run, 1000, "nn.Module: Linear_1", "nn.Module: Linear_2");
    op(&run, "aten::relu", 1500, 1, 0);
    pieces(&run, 2000, "train.py(1): f", "train.py(1): f");
    analyze(&run);
    is_int(habit(&run, "module_loop", "count"), 1, "one module; not layers, and not where no module is recorded");
    is_int(habit(&run, "module_loop", "total_us"), 390, "from the first to the last");
    is_int(habit(&run, "operator_loop", "count"), 0, "and no other loop");
    end(&run);
}

/* for row in tensor: one call takes all rows apart. */
static void unbound(struct run *run, const char *dims)
{
    begin(run);
    op_with(run, "aten::unbind", 0, 2, 0, dims, "[\"float\",\"Scalar\"]");
    for (int i = 0; i < 20; i++) {
        row(run, "1", "nn.Module: Net_0", PYTHON, i * 20 + 4, 14);
        op(run, "aten::linear", i * 20 + 5, 5, 0);
        op(run, "aten::argmax", i * 20 + 12, 2, 0);
    }
    op(run, "aten::relu", 500, 1, 0);
    analyze(run);
}

static void a_loop_over_the_rows_of_a_tensor_is_told(void)
{
    struct run run;
    unbound(&run, "[[20,8],[]]");
    is_int(habit(&run, "module_loop", "count"), 1, "as many passes as the tensor has rows, whatever they choose");
    end(&run);
    unbound(&run, "[[3,8],[]]");
    is_int(habit(&run, "module_loop", "count"), 0, "rows of something else");
    end(&run);
}

static void a_loop_that_keeps_its_results_takes_no_pieces(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 20; i++) {
        row(&run, "1", "nn.Module: Linear_0", PYTHON, i * 20, 8);
        op(&run, "aten::linear", i * 20 + 1, 5, 0);
        op(&run, "aten::select", i * 20 + 10, 2, 0);
        op(&run, "aten::copy_", i * 20 + 14, 2, 0);
    }
    analyze(&run);
    is_int(habit(&run, "module_loop", "count"), 0, "the piece is where the result goes");
    end(&run);
}

static void recurrent(struct run *run, int64_t start_us, const char *cell)
{
    for (int i = 0; i < 20; i++) {
        op(run, "aten::select", start_us + i * 20, 2, 0);
        op(run, cell, start_us + i * 20 + 3, 16, 0);
    }
    op(run, "aten::relu", start_us + 500, 1, 0);
}

static void a_layer_of_cells_keeps_most_of_a_loop_over_them(void)
{
    struct run run;
    begin(&run);
    recurrent(&run, 0, "aten::lstm_cell");
    analyze(&run);
    is_int(habit(&run, "operator_loop", "saves_us"), 399, "an LSTM is one operator");
    end(&run);
    begin(&run);
    for (int i = 0; i < 20; i++) {
        op(&run, "aten::select", i * 100, 2, 0);
        op(&run, "aten::lstm_cell", i * 100 + 3, 90, 0);
    }
    analyze(&run);
    is_int(habit(&run, "operator_loop", "total_us"), 1993, "of larger cells");
    is_int(habit(&run, "operator_loop", "saves_us"), 1993 - 600, "half of what they compute, 60 us each, is needed anyway");
    end(&run);
    begin(&run);
    recurrent(&run, 0, "aten::gru_cell");
    analyze(&run);
    is_int(habit(&run, "operator_loop", "total_us"), 399, "from the first to the last");
    is_int(habit(&run, "operator_loop", "saves_us"), 159, "a GRU takes its steps one by one");
    end(&run);
}

static void a_causal_mask_costs_in_attention_too(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 2; i++) {
        op(&run, "aten::ones", i * 300, 10, 0);
        op(&run, "aten::triu", i * 300 + 10, 10, 0);
        op_with(&run, "aten::scaled_dot_product_attention", i * 300 + 30, 200, 0,
                "[[4,2,64,8],[4,2,64,8],[4,2,64,8],[64,64],[]]", "[\"float\",\"float\",\"float\",\"bool\",\"\"]");
    }
    analyze(&run);
    is_int(habit(&run, "constants", "total_us"), 40, "the masks");
    is_int(habit(&run, "constants", "saves_us"), 20 + 200, "one of them, and half of the attention");
    end(&run);
}

static void prefix(struct run *run, const int *lengths, size_t count)
{
    char dims[60];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(dims, sizeof(dims), "[[1,%d,64],[64,64]]", lengths[i]);
        op_with(run, "aten::linear", (int64_t)i * 100, 90, 0, dims, "[\"float\",\"float\"]");
    }
}

static void lengths_that_rise_are_a_prefix_and_lengths_of_samples_are_none(void)
{
    static const int rising[] = { 5, 6, 7, 8, 9, 5, 6, 7, 8, 9 }, mixed[] = { 7, 5, 9, 6, 8, 5, 7, 9, 6, 8 };
    int lengths[100];
    struct run run;
    begin(&run);
    prefix(&run, rising, AP_COUNT_OF(rising));
    analyze(&run);
    is_int(habit(&run, "growing_prefix", "count"), 10, "one more each time, and again");
    int64_t of_6_to_9 = 2 * (75 + 77 + 78 + 80); /* of 90 each, less one position */
    ok(llabs(habit(&run, "growing_prefix", "saves_us") - of_6_to_9) <= 8, "the prompt has to be gone over once");
    end(&run);
    begin(&run);
    prefix(&run, mixed, AP_COUNT_OF(mixed));
    analyze(&run);
    is_int(habit(&run, "growing_prefix", "count"), 0, "as they come");
    end(&run);
    begin(&run);
    for (int i = 0; i < 100; i++)
        lengths[i] = 40 + i;
    prefix(&run, lengths, AP_COUNT_OF(lengths));
    analyze(&run);
    is_int(habit(&run, "growing_prefix", "count"), 100, "a long answer");
    end(&run);
    begin(&run);
    for (int i = 0; i < 10; i++) { /* a model without aten::linear but for its last position, from which the next is told */
        char dims[60];
        (void)snprintf(dims, sizeof(dims), "[[1,%d,64],[],[64]]", 5 + i % 5);
        op_with(&run, "aten::layer_norm", (int64_t)i * 100, 80, 0, dims, "[\"float\",\"float\",\"float\"]");
        op_with(&run, "aten::linear", (int64_t)i * 100 + 85, 5, 0, "[[1,1,64],[64,64]]", "[\"float\",\"float\"]");
    }
    analyze(&run);
    is_int(habit(&run, "growing_prefix", "count"), 10, "norms tell of it as well");
    end(&run);
}

static void starts_of_epochs_are_told(void)
{
    static const char wait[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
    struct run run;
    begin(&run);
    row(&run, "1", wait, ANNOTATION, 0, 50);
    op(&run, "aten::linear", 60, 10, 0);
    row(&run, "1", wait, ANNOTATION, 100, 5);
    for (int i = 0; i < 9; i++) /* two seeds, an order of samples and its way into a list */
        op(&run, "aten::empty", 106 + i, 1, 0);
    row(&run, "1", wait, ANNOTATION, 120, 60);
    op(&run, "aten::linear", 190, 10, 0);
    row(&run, "1", wait, ANNOTATION, 205, 10);
    op(&run, "aten::linear", 220, 5, 0);
    row(&run, "1", wait, ANNOTATION, 230, 5);
    row(&run, "1", wait, ANNOTATION, 240, 50);
    op(&run, "aten::linear", 295, 5, 0);
    analyze(&run);
    is_int(habit(&run, "epoch_start", "count"), 3, "those between two waits, and the first");
    is_int(habit(&run, "epoch_start", "total_us"), 80 + 50 + 10 + 60, "their waits, and that which ends an epoch once");
    end(&run);
}

/* A gradient that goes into the loss: what runs in its nodes has numbers, and the last backward pass goes through them. */
static void gradients_of_gradients_are_told(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::mm", 0, 10, 1);
    node(&run, 20, 30, 1);
    op(&run, "aten::mm", 25, 20, 2);
    op(&run, "aten::norm", 60, 5, 3);
    node(&run, 70, 5, 3);
    node(&run, 80, 40, 2); /* what the first one made */
    op(&run, "aten::mm", 85, 30, 0);
    node(&run, 130, 10, 1);
    analyze(&run);
    is_int(habit(&run, "second_order", "count"), 2, "a node that was recorded, and the one that it made");
    is_int(habit(&run, "second_order", "total_us"), 100, "from the first to the second: with the norm and its node");
    end(&run);
    begin(&run); /* a graph that no pass goes through, and work that is done again */
    op(&run, "aten::mm", 0, 10, 1);
    node(&run, 20, 30, 1);
    op(&run, "aten::mm", 25, 20, 2);
    node(&run, 60, 30, 3);
    op(&run, "aten::linear", 65, 20, 4);
    analyze(&run);
    is_int(habit(&run, "second_order", "count"), 0, "no second pass");
    end(&run);
}

static void cells(struct run *run, int64_t start_us, int64_t inner_us)
{
    for (int i = 0; i < 20; i++) {
        int64_t at_us = start_us + i * 1000;
        op(run, "aten::select", at_us, 5, 0);
        op(run, "aten::lstm_cell", at_us + 10, 400, 0);
        for (int j = 0; j < 400 / inner_us; j++)
            op(run, "aten::mul", at_us + 10 + j * inner_us, inner_us, 0);
    }
}

static void cells_of_many_short_calls_are_a_loop(void)
{
    static const int64_t inner_us[] = { 10, 200 }, loops[] = { 1, 0 };
    static const char *const what[] = { "40 calls in a cell", "where 2 calls take its time, dispatch does not weigh" };
    for (size_t i = 0; i < AP_COUNT_OF(loops); i++) {
        struct run run;
        begin(&run);
        cells(&run, 0, inner_us[i]);
        analyze(&run);
        is_int(habit(&run, "operator_loop", "count"), loops[i], what[i]);
        end(&run);
    }
}

/* A filter bank is filled value by value: a triangle of another width for each band, so no pass is like the next one. */
static void fills(struct run *run, int bands, const char *sometimes)
{
    int64_t at_us = 0;
    begin(run);
    for (int band = 0; band < bands; band++) {
        op(run, "aten::select", at_us++ * 5, 4, 0);
        op(run, "aten::item", at_us++ * 5, 4, 0);
        for (int i = 0; i < 2 + band * band % 7; i++) {
            op(run, "aten::select", at_us++ * 5, 4, 0);
            op(run, "aten::fill_", at_us++ * 5, 4, 0);
        }
        if (band % 8 == 0)
            op(run, sometimes, at_us++ * 5, 4, 0);
    }
    analyze(run);
}

static void a_loop_with_passes_that_differ_is_told_without_frames(void)
{
    struct run run;
    fills(&run, 40, "aten::neg");
    is_int(habit(&run, "scalar_loop", "count"), 1, "few operators, very often");
    end(&run);
    fills(&run, 16, "aten::neg");
    is_int(habit(&run, "scalar_loop", "count"), 0, "not so often");
    end(&run);
    fills(&run, 40, "aten::linear");
    is_int(habit(&run, "scalar_loop", "count"), 0, "layers between them: a model that is not known");
    end(&run);
}

/* Layers of one width for inputs of one, and all that they make put together. */
static void heads(struct run *run, const char *input, const char *last)
{
    static const char types[] = "[\"float\",\"float\",\"float\"]";
    char dims[64];
    begin(run);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(dims, sizeof(dims), "[[8,%s],[%s,%s],[%s]]", input, last, input, last);
        op_with(run, "aten::linear", i * 30, 20, 0, dims, types);
        op(run, "aten::relu", i * 30 + 20, 5, 0);
    }
    op(run, "aten::cat", 300, 20, 0);
    analyze(run);
}

static void heads_of_one_input_are_a_loop(void)
{
    struct run run;
    heads(&run, "64", "16");
    is_int(habit(&run, "operator_loop", "count"), 1, "all take one input, and their results are put together");
    end(&run);
    heads(&run, "64", "64");
    is_int(habit(&run, "operator_loop", "count"), 0, "each may take what the one before has made");
    end(&run);
}

/* Four heads of attention of @width values, whose products take longer than dispatch. */
static void attention_heads(struct run *run, int width, const char *weighs, const char *behind)
{
    static const char types[] = "[\"float\",\"float\",\"float\"]";
    const char *const names[] = { "aten::linear", "aten::linear", "aten::matmul", weighs, "aten::linear", "aten::matmul" };
    char layer[64], scores[64], weighed[64];
    (void)snprintf(layer, sizeof(layer), "[[8,64,192],[%d,192]]", width);
    (void)snprintf(scores, sizeof(scores), "[[8,64,%d],[8,%d,64]]", width, width);
    (void)snprintf(weighed, sizeof(weighed), "[[8,64,64],[8,64,%d]]", width);
    const char *const dims[] = { layer, layer, scores, "[[8,64,64]]", layer, weighed };
    begin(run);
    for (int i = 0; i < 24; i++)
        op_with(run, names[i % 6], i * 300, 300, 0, dims[i % 6], types);
    op(run, behind, 7200, 100, 0);
    analyze(run);
}

/* Twenty passes of two operators, @long_passes of them ten times as long as dispatch takes. */
static void interrupted_loop(struct run *run, int long_passes)
{
    int64_t at_us = 0;
    begin(run);
    for (int i = 0; i < 20; i++) {
        int64_t takes_us = i % 4 == 1 && i / 4 < long_passes ? 4000 : 20;
        op(run, "aten::select", at_us, 5, 0);
        op(run, "aten::mul", at_us + 10, takes_us, 0);
        at_us += takes_us + 20;
    }
    analyze(run);
}

static void a_loop_that_stood_still_in_some_passes_is_told(void)
{
    struct run run;
    interrupted_loop(&run, 5);
    is_int(habit(&run, "operator_loop", "count"), 1, "most passes are short");
    end(&run);
    begin(&run);
    for (int i = 0; i < 40; i++)
        op(&run, i % 2 ? "aten::mul" : "aten::select", 4100 * i, i % 2 ? 4000 : 5, 0);
    analyze(&run);
    is_int(habit(&run, "operator_loop", "count"), 0, "none is: arithmetic");
    end(&run);
}

static void heads_one_by_one_are_a_loop_though_their_calls_are_long(void)
{
    struct run run;
    attention_heads(&run, 24, "aten::softmax", "aten::cat");
    is_int(habit(&run, "operator_loop", "count"), 1, "each makes scores and weighs with them");
    is_int(habit(&run, "operator_loop", "saves_us"), 4745, "65 % of it: all at once take the rest");
    end(&run);
    attention_heads(&run, 96, "aten::softmax", "aten::cat");
    is_int(habit(&run, "operator_loop", "count"), 0, "wide ones are as quick one by one");
    end(&run);
    attention_heads(&run, 24, "aten::softmax", "aten::linear");
    is_int(habit(&run, "operator_loop", "count"), 0, "layers one behind the other are put together nowhere");
    end(&run);
    attention_heads(&run, 24, "aten::relu", "aten::cat");
    is_int(habit(&run, "operator_loop", "count"), 0, "long calls of other layers are arithmetic");
    end(&run);
}

static void the_backward_of_a_costly_order_is_costly_too(void)
{
    static const char types[] = "[\"float\",\"float\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::mm", 0, 900, 5, "[[400,4],[4,400]]", types);
    op_with(&run, "aten::mm", 910, 100, 6, "[[400,400],[400,4]]", types);
    node(&run, 2000, 100, 6);
    node(&run, 2100, 900, 5);
    node(&run, 3100, 10, 4);
    analyze(&run);
    is_int(habit(&run, "product_order", "total_us"), 2000, "both products, and the nodes that they made");
    end(&run);
}

static void what_is_not_between_steps_is_no_habit(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 40; i++)
        op(&run, "aten::item", i * 10, 5, 0);
    for (int i = 0; i < 4; i++) {
        char name[30];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", i);
        row(&run, "1", name, ANNOTATION, 500 + i * 1000, 900);
        op(&run, "aten::linear", 600 + i * 1000, 700, 0);
    }
    for (int i = 0; i < 40; i++)
        op(&run, "aten::item", 4600 + i * 10, 5, 0);
    analyze(&run);
    is_int(habit(&run, "scalar_loop", "count"), 0, "it prepares the loop, or reports on it");
    end(&run);
}

static void a_draw_from_all_that_is_sorted_is_told(void)
{
    static const char one[] = "[\"float\",\"\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::sort", 0, 400, 0, "[[8,9000],[]]", one);
    op_with(&run, "aten::softmax", 400, 20, 0, "[[8,9000],[]]", one);
    op_with(&run, "aten::cumsum", 420, 30, 0, "[[8,9000],[]]", one);
    op_with(&run, "aten::multinomial", 450, 50, 0, "[[8,9000],[]]", one);
    op_with(&run, "aten::sort", 1000, 400, 0, "[[8,100],[]]", one); /* little */
    op_with(&run, "aten::cumsum", 1420, 30, 0, "[[8,100],[]]", one);
    op_with(&run, "aten::multinomial", 1450, 50, 0, "[[8,100],[]]", one);
    op_with(&run, "aten::sort", 2000, 400, 0, "[[4,9000],[]]", one); /* top-k: the tail is masked by its number */
    op_with(&run, "aten::slice", 2400, 1, 0, "[[4,9000],[]]", one);
    op_with(&run, "aten::fill_", 2401, 9, 0, "[[4,8960],[]]", one);
    op_with(&run, "aten::softmax", 2410, 30, 0, "[[4,9000],[]]", one);
    op_with(&run, "aten::multinomial", 2440, 60, 0, "[[4,9000],[]]", one);
    op_with(&run, "aten::sort", 3000, 400, 0, "[[2,9000],[]]", one); /* nothing tells that a part is enough */
    op_with(&run, "aten::softmax", 3400, 30, 0, "[[2,9000],[]]", one);
    op_with(&run, "aten::multinomial", 3440, 60, 0, "[[2,9000],[]]", one);
    op_with(&run, "aten::sort", 4000, 400, 0, "[[3,9000],[]]", one); /* what is drawn from is cut behind the sum */
    op_with(&run, "aten::cumsum", 4400, 30, 0, "[[3,9000],[]]", one);
    op_with(&run, "aten::slice", 4430, 1, 0, "[[3,9000],[]]", one);
    op_with(&run, "aten::multinomial", 4440, 60, 0, "[[3,64],[]]", one);
    analyze(&run);
    is_int(habit(&run, "whole_sort", "count"), 3, "summed up or cut, and one drawn");
    is_int(habit(&run, "whole_sort", "total_us"), 500 + 491 + 431, "the sort and what works on all of it behind");
    end(&run);
}

static void positions_are_unused_through_what_treats_each_alone(void)
{
    static const char types[] = "[\"float\",\"float\",\"float\"]", one[] = "[\"float\",\"Scalar\",\"Scalar\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::linear", 0, 100, 0, "[[2,10,8],[50,8],[50]]", types);
    op_with(&run, "aten::log_softmax", 100, 60, 0, "[[2,10,50],[],[]]", one);
    op_with(&run, "aten::select", 160, 1, 0, "[[2,10,50],[],[]]", one);
    op_with(&run, "aten::argmax", 170, 5, 0, "[[2,50],[],[]]", one);
    analyze(&run);
    is_int(habit(&run, "unused_rows", "total_us"), 160, "the layer, and the chances of all positions");
    end(&run);
}

static void positions_that_are_compared_are_a_causal_mask(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 2; i++) {
        op(&run, "aten::arange", i * 300, 10, 0);
        op(&run, "aten::unsqueeze", i * 300 + 10, 2, 0);
        op(&run, "aten::gt", i * 300 + 12, 8, 0);
        op_with(&run, "aten::scaled_dot_product_attention", i * 300 + 30, 200, 0,
                "[[4,2,64,8],[4,2,64,8],[4,2,64,8],[64,64],[]]", "[\"float\",\"float\",\"float\",\"bool\",\"\"]");
    }
    analyze(&run);
    is_int(habit(&run, "constants", "saves_us"), 20 + 200, "one of the masks, and half of the attention");
    end(&run);
}

static void dims_of_any_text_are_read(void)
{
    struct ap_tensor_list list;
    ap_tensor_list_read(&list, AP_TEXT("[[4, 8], [[8, 2], [2]], [], [99999999999]]"),
                        AP_TEXT("[\"float\", \"TensorList\", \"\", \"double\"]"));
    is_int(list.count, 3, "what is too large for a size is left out");
    is_int(list.tensors[2].input, 1, "lists share an input");
    is_int(list.tensors[1].dims[1], 2, "sizes");
    ap_tensor_list_read(&list, AP_TEXT("]]]][[[[,,,1"), AP_TEXT(",,\"double\""));
    is_int(list.count, 0, "any text");
    ap_tensor_list_read(&list, AP_TEXT("[[1,2,3,4,5,6,7]]"), AP_TEXT(""));
    is_int(list.count, 0, "too many dimensions");
}

int main(void)
{
    a_loop_is_told_with_its_backward();
    the_way_to_a_node_goes_with_it();
    a_loop_without_nodes_takes_none_of_others();
    a_loop_ends_with_its_step();
    few_passes_and_layers_are_no_loop();
    attention_alone_is_a_loop();
    long_calls_of_experts_are_dispatch_where_a_device_computes();
    a_loop_over_groups_is_one_though_its_calls_are_long();
    a_loop_with_an_if_is_told_by_its_function();
    few_passes_over_all_rows_of_a_tensor_are_a_loop();
    experts_are_a_loop_and_layers_of_a_graph_are_not();
    kinds_of_loops_are_told_apart();
    a_graph_of_the_backward_pass_is_told_where_nothing_uses_it();
    python_around_recomputation_goes_with_it();
    what_checkpointing_takes_elsewhere_goes_with_it();
    a_loop_that_was_slow_once_is_the_same_loop();
    giving_back_goes_with_a_growing_concatenation();
    forward_work_in_a_node_is_recomputation();
    passes_without_backward_are_told_by_where_they_stand();
    a_pass_that_is_taken_out_of_its_graph_saves_its_nodes();
    products_of_weights_are_no_pass_of_layers();
    what_another_update_follows_is_no_evaluation();
    the_backward_of_a_last_pass_may_still_come();
    what_follows_the_optimizer_is_no_evaluation_without_marks();
    inference_that_makes_nodes_is_told();
    encoders_that_cannot_be_fused_are_told();
    constants_are_counted_where_they_repeat();
    the_order_of_products_is_judged_by_shapes();
    products_that_are_used_again_are_no_order();
    layers_of_one_input_are_no_order();
    shapes_tell_of_doubles_and_of_growth();
    what_comes_in_any_order_does_not_grow();
    tables_and_one_hot_rows_are_told_by_shapes();
    one_hot_rows_are_told_by_what_follows();
    scores_that_one_hot_rows_pick_are_told();
    what_the_caller_chooses_is_told_with_its_line();
    lines_and_hooks_are_told_by_frames();
    decorators_of_forward_are_no_hooks();
    what_comes_once_is_no_habit();
    python_of_the_library_is_no_work_of_the_line();
    a_line_that_trains_may_call_libraries();
    what_is_added_before_a_norm_is_no_part_of_it();
    forms_that_are_written_out_are_told();
    a_binary_cross_entropy_that_is_written_out_is_told();
    an_optimizer_that_begins_anew_is_told();
    positions_that_nobody_uses_are_told();
    a_mask_of_all_pairs_is_told();
    caches_in_another_order_are_told();
    a_batch_of_one_is_told();
    checks_of_values_are_told();
    passes_that_go_on_from_each_other_make_no_batch();
    weights_of_attention_are_used_beside();
    matrices_of_many_sizes_make_no_batch();
    pairs_that_are_used_themselves_are_needed();
    work_on_more_than_is_needed_is_told_by_shapes();
    gradients_that_no_optimizer_uses_are_told();
    a_branch_that_ends_in_embeddings_is_unneeded_as_a_whole();
    the_gradient_that_feeds_unneeded_ones_is_none_either();
    a_vector_goes_with_the_matrix_of_its_layer();
    gradients_that_are_cleared_unused_are_told();
    a_gradient_of_an_input_is_told_where_nothing_looks_at_it();
    another_thread_that_holds_the_interpreter_is_told();
    a_method_that_goes_round_is_no_clipping();
    transforms_of_odd_lengths_are_told();
    a_loop_over_the_rows_of_a_tensor_is_told();
    a_loop_that_keeps_its_results_takes_no_pieces();
    a_layer_of_cells_keeps_most_of_a_loop_over_them();
    a_module_in_a_loop_is_told_from_layers();
    a_causal_mask_costs_in_attention_too();
    lengths_that_rise_are_a_prefix_and_lengths_of_samples_are_none();
    starts_of_epochs_are_told();
    gradients_of_gradients_are_told();
    cells_of_many_short_calls_are_a_loop();
    heads_of_one_input_are_a_loop();
    a_loop_with_passes_that_differ_is_told_without_frames();
    a_loop_that_stood_still_in_some_passes_is_told();
    heads_one_by_one_are_a_loop_though_their_calls_are_long();
    the_backward_of_a_costly_order_is_costly_too();
    what_is_not_between_steps_is_no_habit();
    a_draw_from_all_that_is_sorted_is_told();
    positions_are_unused_through_what_treats_each_alone();
    positions_that_are_compared_are_a_causal_mask();
    dims_of_any_text_are_read();
    return done();
}
