/* SPDX-License-Identifier: MIT
 * Work whose result nobody needs, or that was there already: traces typed by hand, with the time that each such habit takes
 * and could save. */
#include "typed_habits.h"

static void nodes_that_run_again_are_told(void)
{
    struct run run;
    begin(&run);
    for (int pass = 0; pass < 3; pass++) {
        int64_t start_us = 100 + 100 * pass;
        node(&run, start_us, 10, (uint32_t)(50 + pass)); /* of each loss */
        node(&run, start_us + 12, 30, 20);               /* of what they share */
        row(&run, "1", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OPERATOR, start_us + 44, 5);
    }
    op(&run, "aten::add", 400, 5, 0);
    analyze(&run);
    is_int(habit(&run, "node_again", "count"), 2 * 2, "the second and third time, with what is added to the gradient");
    is_int(habit(&run, "node_again", "total_us"), 2 * (30 + 2 + 5), "with the way from one to the next");
    end(&run);
}

static void what_habits_take_of_devices_is_told(void)
{
    struct run run;
    begin(&run);
    node(&run, 0, 20, 20);
    call(&run, "1", "cudaLaunchKernel", 5, 5, 1);
    node(&run, 100, 20, 20); /* once more */
    call(&run, "1", "cudaLaunchKernel", 105, 5, 2);
    op(&run, "aten::add", 130, 20, 0);
    call(&run, "1", "cudaLaunchKernel", 135, 5, 3);
    work_on(&run, "7", "first", KERNEL, 10, 95, 1);
    work_on(&run, "7", "again", KERNEL, 112, 40, 2);
    work_on(&run, "7", "other", KERNEL, 152, 30, 3);
    analyze(&run);
    is_int(habit(&run, "node_again", "device_us"), 40 + 7,
           "what it launched, and how long the device stood still meanwhile");
    is_int(habit(&run, "node_again", "device_saves_us"), 47, "all of it could go");
    ok(ap_value_at(&run.model.root, "habits.node_again.saves_us")->type == AP_VALUE_NULL, "the host's time tells less");
    is_int(habit(&run, "recompute", "device_us"), 0, "what is not there takes nothing");
    end(&run);
}

static void checks_of_arguments_are_told(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::exp", 0, 10, 0);
    op(&run, "aten::gt", 20, 10, 0);
    op(&run, "aten::_is_all_true", 35, 10, 0);
    op(&run, "aten::is_nonzero", 50, 20, 0);
    op(&run, "aten::_is_all_true", 100, 10, 0); /* nobody reads it */
    op(&run, "aten::mul", 120, 10, 0);
    analyze(&run);
    is_int(habit(&run, "argument_check", "count"), 1, "a comparison whose answer is read");
    is_int(habit(&run, "argument_check", "total_us"), 50 + 10 + 30,
           "from the comparison to the answer, with Python around it");
    end(&run);
}

/* @taken: elements of a tensor of 256 rows, of which the gradient is added back. */
static void mask(struct run *run, const char *taken, const char *within)
{
    char dims[80];
    (void)snprintf(dims, sizeof(dims), "[[256,256],[],[%s],[],[]]", taken);
    begin(run);
    op(run, within, 0, 35, 0);
    op_with(run, "aten::_index_put_impl_", 0, 30, 0, dims, "[\"float\",\"\",\"float\",\"Scalar\",\"Scalar\"]");
    call(run, "1", "cudaLaunchKernel", 5, 5, 1);
    work_on(run, "7", "indexing_backward", KERNEL, 10, 400, 1);
    analyze(run);
}

static void gradients_of_what_a_mask_took_are_told(void)
{
    struct run run;
    mask(&run, "65280", "IndexBackward0");
    is_int(habit(&run, "mask_gradient", "count"), 1, "all but a diagonal");
    is_int(habit(&run, "mask_gradient", "device_us"), 400, "the device's work");
    end(&run);
    mask(&run, "300", "IndexBackward0");
    is_int(habit(&run, "mask_gradient", "count"), 0, "a few are taken as they should be");
    end(&run);
    mask(&run, "524288", "IndexBackward0");
    is_int(habit(&run, "mask_gradient", "count"), 0, "rows that are taken several times, as neighbors are");
    end(&run);
    mask(&run, "65280", "aten::index_put_");
    is_int(habit(&run, "mask_gradient", "count"), 0, "put in place for its own sake");
    end(&run);
}

/* On the CPU, of @taken rows; @finds: makes a list of indices of a mask. */
static void mask_on_host(struct run *run, const char *finds)
{
    begin(run);
    op(run, finds, 1, 4, 0);
    op_with(run, "aten::index", 0, 20, 30, "[[256,256],[[65280]]]", "[\"float\",\"TensorList\"]");
    row(run, "1", "autograd::engine::evaluate_function: IndexBackward0", OPERATOR, 100, 60);
    op(run, "IndexBackward0", 105, 50, 0);
    op_with(run, "aten::_index_put_impl_", 120, 30, 0, "[[256,256],[],[65280],[],[]]",
            "[\"float\",\"\",\"float\",\"Scalar\",\"Scalar\"]");
    analyze(run);
}

static void a_mask_takes_time_of_the_host_as_well(void)
{
    struct run run;
    mask_on_host(&run, "aten::nonzero");
    is_int(habit(&run, "mask_gradient", "total_us"), 60 + 20, "the node with all that it calls, and the way there");
    end(&run);
    mask_on_host(&run, "aten::arange");
    is_int(habit(&run, "mask_gradient", "total_us"), 0, "other rows by their indices");
    end(&run);
}

static void products_with_integers_and_diagonals_are_told(void)
{
    static const char integers[] = "[\"long int\",\"long int\"]", floats[] = "[\"float\",\"float\"]";
    static const char *const makers[] = { "aten::diag", "aten::diag_embed", "aten::diagflat" };
    struct run run;
    begin(&run);
    op_with(&run, "aten::mm", 0, 100, 0, "[[64,64],[64,64]]", integers);
    op_with(&run, "aten::mm", 100, 50, 0, "[[64,64],[64,64]]", floats);
    op_with(&run, "aten::mm", 150, 10, 0, "[[4,4],[4,4]]", integers);
    op_with(&run, "aten::matmul", 160, 10, 0, "[[64,64],[64,64]]", "[\"long int\",\"float\"]");
    analyze(&run);
    is_int(habit(&run, "integer_product", "total_us"), 100, "of large matrices, both of integers");
    is_int(habit(&run, "integer_product", "saves_us"), 75, "floats take some of it, too");
    end(&run);
    begin(&run);
    op_with(&run, "aten::addmm", 0, 100, 0, "[[64],[64,64],[64,64]]", "[\"c10::Half\",\"c10::Half\",\"c10::Half\"]");
    op_with(&run, "aten::_slow_conv2d_forward", 100, 300, 0, "[[8,3,64,64],[64,3,5,5]]", "[\"c10::Half\",\"c10::Half\"]");
    op_with(&run, "aten::mm", 400, 50, 0, "[[64,64],[64,64]]", floats);
    op_with(&run, "aten::gelu", 450, 50, 0, "[[64,64]]", "[\"c10::Half\"]");
    op(&run, "aten::embedding_renorm_", 500, 70, 0);
    analyze(&run);
    is_int(habit(&run, "half_product", "total_us"), 400, "what is multiplied in half precision");
    is_int(habit(&run, "half_product", "saves_us"), 380, "most of it");
    is_int(ap_value_integer(at(&run, "cpu.signals.row_norm_limit.total_dur_us"), -1) / 1000, 70, "rows that are scaled");
    end(&run);
    for (size_t i = 0; i < AP_COUNT_OF(makers); i++) {
        begin(&run);
        op_with(&run, makers[i], 0, 10, 20, "[[200],[]]", "[\"float\",\"Scalar\"]");
        op_with(&run, "aten::matmul", 10, 90, 20, "[[200,200],[200,50]]", floats);
        op_with(&run, makers[i], 200, 10, 0, "[[200],[]]", "[\"float\",\"Scalar\"]");
        op_with(&run, "aten::matmul", 210, 90, 0, "[[300,300],[300,50]]", floats);           /* is of others */
        op_with(&run, "aten::diag", 400, 10, 0, "[[200,200],[]]", "[\"float\",\"Scalar\"]"); /* takes the diagonal */
        op_with(&run, "aten::matmul", 410, 90, 0, "[[200,200],[200,50]]", floats);
        node(&run, 600, 70, 20);
        analyze(&run);
        is_int(habit(&run, "diagonal_product", "total_us"), 100 + 70, "what is made, multiplied, and its backward pass");
        end(&run);
    }
}

#define MICRO_BATCHES 4

/* Two steps, in marks of that name, that put @times matrices of 5000 entries together, and choose by @chooses. */
static void sparse_matrices(struct run *run, const char *mark, int times, const char *chooses, const char *sizes)
{
    char name[40];
    begin(run);
    for (int step = 0; step < 2; step++) {
        int64_t start_us = 1000 * step;
        (void)snprintf(name, sizeof(name), "%s%d", mark, step);
        row(run, "1", name, ANNOTATION, start_us, 1000);
        op_with(run, chooses, start_us + 10, 20, 0, sizes, "[\"float\",\"long int\"]");
        for (int i = 0; i < times; i++, start_us += 200) {
            op_with(run, "aten::linear", start_us + 50, 20, 0, "[[8,64],[64,64]]", "[\"float\",\"float\"]");
            op_with(run, "aten::sparse_coo_tensor", start_us + 100, 10, 0, "[[2,5000],[5000]]", "[\"long int\",\"float\"]");
            op_with(run, "aten::coalesce", start_us + 110, 90, 0, "[[64,64]]", "[\"float\"]");
            if (times == MICRO_BATCHES)
                node(run, start_us + 205, 20, 20);
        }
        op_with(run, "aten::coalesce", start_us + 300, 90, 0, "[[64,64]]", "[\"float\"]"); /* of another origin */
    }
    analyze(run);
}

static void sparse_matrices_that_are_made_again_are_told(void)
{
    static const struct {
        const char *name, *sizes, *what;
        int times, count;
        const char *mark;
    } rows[] = {
        { "aten::select", "[[2,5000],[]]", "of two requests, each may be of another", 1, 0, "request" },
        { "aten::select", "[[2,5000],[]]", "of micro-batches, likewise", MICRO_BATCHES, 0, NULL },
        { "aten::select", "[[2,5000],[]]", "all of them, in both steps", 3, 6, NULL },
        { "aten::select", "[[2,5000],[]]", "of one a step each may be another", 1, 0, NULL },
        { "aten::index", "[[64],[5000]]", "values are taken, not entries", 2, 4, NULL },
        { "aten::index", "[[2,9000],[5000]]", "a sample of the entries", 2, 0, NULL },
        { "aten::stack", "[[5000],[5000]]", "entries that were made in the step", 2, 0, NULL },
        { "aten::cat", "[[2,2000],[2,3000]]", "a batch of graphs", 2, 0, NULL },
        { "aten::topk", "[[64,64],[]]", "nearest neighbors", 2, 0, NULL },
        { "aten::randint", "[[],[]]", "drawn anew", 2, 0, NULL },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct run run;
        sparse_matrices(&run, rows[i].mark ? rows[i].mark : "ProfilerStep#", rows[i].times, rows[i].name, rows[i].sizes);
        is_int(habit(&run, "sorted_again", "count"), rows[i].count, rows[i].what);
        is_int(habit(&run, "sorted_again", "total_us"), 100 * rows[i].count, "put together and brought in order");
        end(&run);
    }
}

static void a_dispatch_mode_is_told_with_its_line(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "train.py(3): step", PYTHON, 0, 500);
    op(&run, "aten::add", 10, 100, 0);
    op(&run, "PythonDispatchMode", 20, 80, 0);
    row(&run, "1", "torch/utils/flop_counter.py(1265): __torch_dispatch__", PYTHON, 22, 70);
    op(&run, "aten::add", 50, 20, 0);
    analyze(&run);
    is_int(habit(&run, "dispatch_mode", "total_us"), 80 - 20, "without the operator that it goes on to");
    ok(ap_text_equal(ap_value_text(at(&run, "habits.dispatch_mode.line")),
                     AP_TEXT("torch/utils/flop_counter.py(1265): __torch_dispatch__")),
       "whose mode it is");
    end(&run);
}

/* @detached: sizes of what is taken out of its graph before the backward pass. */
static void train_with(struct run *run, const char *detached)
{
    static const char *const names[] = { "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4" };
    begin(run);
    for (uint32_t step = 1; step <= 4; step++) {
        int64_t start_us = step * 1000;
        row(run, "1", names[step - 1], ANNOTATION, start_us, 1000);
        op(run, "aten::linear", start_us + 10, 30, step * 10);
        op_with(run, "aten::detach", start_us + 40, 2, 0, detached, "[\"float\"]");
        op(run, "aten::linear", start_us + 100, 10, step * 10 + 4);
        node(run, start_us + 200, 10, step * 10 + 4);
        row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, start_us + 300, 10);
    }
    analyze(run);
}

static void what_is_detached_and_trained_with_is_needed(void)
{
    struct run run;
    train_with(&run, "[[32,8]]");
    is_int(habit(&run, "unused_graph", "count"), 0, "images of a generator");
    end(&run);
    train_with(&run, "[[]]");
    is_int(habit(&run, "unused_graph", "count"), 4, "a number for the log");
    end(&run);
}

static void a_walk_over_all_state_is_work_of_who_asks_for_it(void)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 4; i++) {
        op(&run, "aten::add", 1000 * i, 10, 0);
        row(&run, "1", "train.py(3): average", PYTHON, 1000 * i + 10, 990);
        row(&run, "1", "torch/nn/modules/module.py(9): state_dict", PYTHON, 1000 * i + 20, 900);
    }
    op(&run, "aten::add", 4000, 10, 0);
    analyze(&run);
    is_int(habit(&run, "python_line", "total_us"), 4 * 990, "again and again");
    end(&run);
}

static void decompositions_go_with_their_backward(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::linalg_inv_ex", 0, 100, 20);
    op(&run, "aten::linalg_lu_factor_ex", 10, 40, 0);
    op(&run, "aten::_linalg_eigh", 120, 30, 0);
    row(&run, "1", "autograd::engine::evaluate_function: LinalgEighBackward0", OPERATOR, 200, 40);
    row(&run, "1", "autograd::engine::evaluate_function: LinalgInvExBackward0", OPERATOR, 250, 50);
    row(&run, "1", "autograd::engine::evaluate_function: LinalgVectorNormBackward0", OPERATOR, 300, 30);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "cpu.signals.decomposition_work.total_dur_us"), -1) / 1000, 170,
           "what runs within counts once, a norm is none, and an inverse leaves a backward pass");
    end(&run);
}

static void cosines_of_all_pairs_are_told(void)
{
    static const char types[] = "[\"float\",\"float\",\"Scalar\",\"Scalar\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::cosine_similarity", 0, 100, 0, "[[300,1,64],[1,300,64],[],[]]", types);
    op_with(&run, "aten::cosine_similarity", 200, 100, 0, "[[300,64],[300,64],[],[]]", types); /* row by row */
    analyze(&run);
    is_int(habit(&run, "all_pairs", "count"), 1, "rows that are spread out against each other");
    is_int(habit(&run, "all_pairs", "total_us"), 100, "one operator does it all");
    end(&run);
}

static void a_resize_of_what_a_resize_makes_goes_with_it(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::upsample_bicubic2d", 0, 900, 0);
    op(&run, "aten::adaptive_avg_pool2d", 910, 90, 0);
    op(&run, "aten::conv2d", 1010, 200, 0);
    op(&run, "aten::upsample_bilinear2d", 2000, 500, 0);
    op(&run, "aten::conv2d", 2510, 200, 0);
    op(&run, "aten::adaptive_avg_pool2d", 2720, 30, 0);
    analyze(&run);
    is_int(habit(&run, "resample", "count"), 2, "a pool behind a convolution is a layer of the model");
    is_int(habit(&run, "resample", "saves_us"), 1000 + 500, "from the first to the second");
    end(&run);
}

/* Scores of 100 classes, of which an index takes one; with @used they are read once more behind it. */
static void scores_of_all(struct run *run, bool used)
{
    begin(run);
    op_with(run, "aten::mul", 0, 40, 0, "[[200,100],[]]", "[\"float\",\"Scalar\"]");
    op_with(run, "aten::sigmoid", 40, 50, 0, "[[200,100]]", "[\"float\"]");
    op_with(run, "aten::index", 100, 5, 0, "[[200,100],[]]", "[\"float\",\"TensorList\"]");
    op_with(run, "aten::gt", 110, 5, 0, "[[200],[]]", "[\"float\",\"Scalar\"]");
    if (used)
        op_with(run, "aten::sum", 120, 5, 0, "[[200,100]]", "[\"float\"]");
    analyze(run);
}

static void elements_that_nobody_uses_are_told(void)
{
    struct run run;
    scores_of_all(&run, false);
    is_int(habit(&run, "unused_elements", "count"), 1, "one of a hundred is taken");
    is_int(habit(&run, "unused_elements", "total_us"), 90, "of what treats each alone");
    end(&run);
    scores_of_all(&run, true);
    is_int(habit(&run, "unused_elements", "count"), 0, "all are used later");
    end(&run);
}

/* Probabilities of two batches of which the largest is looked for, and what comes behind both. */
static void largest_of(struct run *run, const char *made_by, const char *behind, const char *dims)
{
    begin(run);
    for (int64_t at_us = 0; at_us < 200; at_us += 100) {
        op_with(run, made_by, at_us, 50, 0, "[[200,100],[],[]]", "[\"float\",\"Scalar\",\"\"]");
        op_with(run, "aten::argmax", at_us + 60, 20, 0, "[[200,100],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
        op_with(run, "aten::eq", at_us + 90, 5, 0, "[[200],[200]]", "[\"long int\",\"long int\"]");
    }
    op_with(run, behind, 200, 5, 0, dims, "[\"float\",\"Scalar\",\"long int\"]");
    analyze(run);
}

static void probabilities_of_which_the_order_is_asked_are_told(void)
{
    struct run run;
    largest_of(&run, "aten::softmax", "aten::sum", "[[200]]");
    is_int(habit(&run, "order_only", "saves_us"), 100, "the largest score has the largest probability");
    end(&run);
    largest_of(&run, "aten::softmax", "aten::gather", "[[200,100],[],[200,1]]");
    is_int(habit(&run, "order_only", "count"), 1, "the probability itself is read");
    end(&run);
    largest_of(&run, "aten::softmax", "aten::cat", "[[[200,100],[200,100]],[]]");
    is_int(habit(&run, "order_only", "count"), 0, "the probabilities are kept, and put together at the end");
    end(&run);
    largest_of(&run, "aten::sin", "aten::sum", "[[200]]");
    is_int(habit(&run, "order_only", "count"), 0, "of another function the place is another one");
    end(&run);
}

/* The product of @factors, of which @takes takes @pairs; then @behind on @dims. */
static void diagonal_of(struct run *run, const char *factors, const char *takes, const char *pairs, const char *behind,
                        const char *dims)
{
    const char *const types = "[\"float\",\"float\",\"\"]";
    begin(run);
    op_with(run, "aten::matmul", 0, 1000, 0, factors, types);
    op_with(run, takes, 1000, 10, 0, pairs, types);
    op_with(run, behind, 1010, 20, 0, dims, types);
    analyze(run);
}

static void products_for_their_diagonal_are_told(void)
{
    struct run run;
    diagonal_of(&run, "[[512,64],[64,512]]", "aten::diagonal", "[[512,512],[],[]]", "aten::mean", "[[512],[]]");
    is_int(habit(&run, "diagonal_only", "count"), 1, "rows of the same number");
    is_int(habit(&run, "diagonal_only", "saves_us"), 1010 - 32, "but so many rows in place of 512");
    end(&run);
    diagonal_of(&run, "[[512,64],[64,512]]", "aten::trace", "[[512,512]]", "aten::log", "[[]]");
    is_int(habit(&run, "diagonal_only", "count"), 1, "their sum");
    end(&run);
    diagonal_of(&run, "[[512,64],[64,512]]", "aten::diagonal", "[[512,512],[],[]]", "aten::logsumexp", "[[512,512],[]]");
    is_int(habit(&run, "diagonal_only", "count"), 0, "all pairs are used: a contrastive loss");
    end(&run);
    diagonal_of(&run, "[[512,64],[64,512]]", "aten::diagonal", "[[512,64],[],[]]", "aten::mean", "[[64],[]]");
    is_int(habit(&run, "diagonal_only", "count"), 0, "of another matrix");
    end(&run);
    diagonal_of(&run, "[[16,16,64],[16,64,16]]", "aten::diagonal", "[[16,16,16],[],[]]", "aten::mean", "[[16,16],[]]");
    is_int(habit(&run, "diagonal_only", "count"), 0, "small");
    end(&run);
}

/* Draws by a hundred thousand weights; with @changed_by an operator on tensors of @dims between draws. */
static void draws(struct run *run, const char *changed_by, const char *dims, bool replaced, const char *drawn)
{
    begin(run);
    for (int64_t at_us = 0; at_us < 300; at_us += 100) {
        op_with(run, "aten::multinomial", at_us, 50, 0, "[[100000],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
        for (int i = 0; i < (replaced ? 3 : 30); i++)
            op(run, "aten::empty", at_us + 1 + i, 1, 0);
        op_with(run, "aten::view", at_us + 60, 1, 0, drawn, "[\"long int\",\"ScalarList\"]");
        if (changed_by)
            op_with(run, changed_by, at_us + 70, 5, 0, dims, "[\"float\",\"\",\"float\"]");
    }
    analyze(run);
}

static void draws_by_the_same_weights_are_told(void)
{
    struct run run;
    draws(&run, NULL, NULL, true, "[[64],[]]");
    is_int(habit(&run, "table_draw", "count"), 3, "nothing changes the weights");
    is_int(habit(&run, "table_draw", "saves_us"), 3 * 45, "but for the way to the place of each draw");
    end(&run);
    draws(&run, "aten::index_put_", "[[100000],[],[64]]", true, "[[64],[]]");
    is_int(habit(&run, "table_draw", "count"), 1, "they are written between the others");
    end(&run);
    draws(&run, "aten::softmax", "[[1,100000],[],[]]", true, "[[64],[]]");
    is_int(habit(&run, "table_draw", "count"), 1, "they are a row of what a model says of the next token");
    end(&run);
    draws(&run, "aten::embedding", "[[100000,64],[8]]", true, "[[64],[]]");
    is_int(habit(&run, "table_draw", "count"), 3, "a table with a row for each is something else");
    end(&run);
    draws(&run, NULL, NULL, false, "[[64],[]]");
    is_int(habit(&run, "table_draw", "count"), 0, "without replacement nothing is summed up");
    end(&run);
    draws(&run, NULL, NULL, true, "[[20000],[]]");
    is_int(habit(&run, "table_draw", "count"), 0, "of many draws these take the time");
    end(&run);
}

/* Three layers of the sizes @widths, before each of which edges are prepared by @made_by and three others. @own: each has
 * parameters of its own. */
static void layers_of_a_graph(struct run *run, const char *made_by, const char *edges, const char *const widths[3], bool own)
{
    begin(run);
    for (uint32_t layer = 0; layer < 3; layer++) {
        int64_t at_us = 200 * layer;
        uint32_t number = 10 + 2 * layer;
        op_with(run, made_by, at_us, 20, number, edges, "[\"float\",\"float\"]");
        op_with(run, "aten::nonzero", at_us + 20, 20, number, edges, "[\"bool\"]");
        op_with(run, "aten::cat", at_us + 40, 20, number, "[[[2,400],[2,50]],[]]", "[\"TensorList\",\"Scalar\"]");
        op_with(run, "aten::scatter_add_", at_us + 60, 20, number, "[[50],[],[450]]", "[\"float\",\"Scalar\",\"float\"]");
        op_with(run, "aten::linear", at_us + 80, 50, number, widths[layer], "[\"float\",\"float\"]");
        op_with(run, "aten::relu", at_us + 130, 10, number + 1, "[[50,16]]", "[\"float\"]");
    }
    op_with(run, "aten::sum", 620, 10, 16, "[[50,8]]", "[\"float\"]");
    op_with(run, "aten::neg", 632, 2, 17, "[[]]", "[\"float\"]");
    for (uint32_t number = 17; number >= 10; number--) {
        int64_t at_us = 640 + (17 - number) * 20;
        node(run, at_us, 15, number);
        if (own)
            row(run, "1", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OPERATOR, at_us + 16, 2);
    }
    analyze(run);
}

static void what_layers_prepare_again_is_told(void)
{
    static const char *const narrower[] = { "[[50,64],[16,64]]", "[[50,16],[16,16]]", "[[50,16],[8,16]]" };
    static const char *const equal[] = { "[[50,16],[16,16]]", "[[50,16],[16,16]]", "[[50,16],[16,16]]" };
    static const char *const packed[] = { "[[80,50],[50]]", "[[20,50],[50]]", "[[20,50],[50]]" };
    static const char edges[] = "[[4000],[4000]]";
    struct run run;
    layers_of_a_graph(&run, "aten::ne", edges, narrower, false);
    is_int(habit(&run, "prepared_again", "count"), 3, "before each of three layers");
    is_int(habit(&run, "prepared_again", "total_us"), 3 * 80 + 2 * 60, "with the way to it");
    end(&run);
    layers_of_a_graph(&run, "aten::ne", edges, equal, false);
    is_int(habit(&run, "prepared_again", "count"), 0, "a loop over pieces of the data looks the same");
    end(&run);
    layers_of_a_graph(&run, "aten::ne", edges, equal, true);
    is_int(habit(&run, "prepared_again", "count"), 3, "but that one layer takes its gradients once");
    end(&run);
    layers_of_a_graph(&run, "aten::ne", "[[512],[512]]", narrower, false);
    is_int(habit(&run, "prepared_again", "count"), 0, "each frozen norm has statistics of its own");
    end(&run);
    layers_of_a_graph(&run, "aten::ne", edges, packed, false);
    is_int(habit(&run, "prepared_again", "count"), 0, "what is made is the weight of each layer");
    end(&run);
    layers_of_a_graph(&run, "aten::bernoulli", edges, narrower, false);
    is_int(habit(&run, "prepared_again", "count"), 0, "what is drawn is something else each time");
    end(&run);
}

/* Images that a loader makes floats and then smaller, each as a batch of one, and puts together; with @later they are made
 * smaller first. @flips: what is called with the large one before. */
static void images_loaded(struct run *run, bool later, const char *flips, const char *batch)
{
    begin(run);
    row(run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ANNOTATION, 0, 1000);
    for (int64_t at_us = 10; at_us < 400; at_us += 200) {
        const char *image = later ? "[[3,8,10],[]]" : "[[3,80,100],[]]", *type = "[\"float\",\"Scalar\"]";
        if (later)
            op_with(run, "aten::upsample_bilinear2d", at_us, 30, 0, "[[1,3,80,100],[]]", "[\"unsigned char\",\"Scalar\"]");
        op_with(run, "aten::to", at_us + 30, 40, 0, image, "[\"unsigned char\",\"Scalar\"]");
        op_with(run, "aten::sub", at_us + 70, 20, 0, image, type);
        op_with(run, flips, at_us + 90, 10, 0, image, type);
        if (!later)
            op_with(run, "aten::upsample_bilinear2d", at_us + 100, 50, 0, "[[1,3,80,100],[]]", type);
        op_with(run, "aten::reshape", at_us + 160, 2, 0, "[[1,3,8,10],[]]", type);
    }
    op_with(run, "aten::stack", 410, 20, 0, "[[[3,8,10],[3,8,10]],[]]", "[\"TensorList\",\"Scalar\"]");
    op_with(run, "aten::stack", 430, 20, 0, batch, "[\"TensorList\",\"Scalar\"]");
    analyze(run);
}

static void images_that_a_loader_works_on_are_told(void)
{
    static const char labels[] = "[[[],[]],[]]";
    struct run run;
    images_loaded(&run, false, "aten::flip", labels);
    is_int(habit(&run, "unused_elements", "count"), 2, "two images of which a hundredth is kept");
    is_int(habit(&run, "unused_elements", "total_us"), 2 * (40 + 20 + 10 + 50),
           "with the resize, of 8 bits the quicker one");
    is_int(habit(&run, "resample", "count"), 2, "and resizes are there");
    end(&run);
    images_loaded(&run, true, "aten::flip", labels);
    is_int(habit(&run, "unused_elements", "count"), 0, "made smaller first");
    end(&run);
    images_loaded(&run, false, "aten::flip", "[[[3,80,100],[3,80,100]],[]]");
    is_int(habit(&run, "unused_elements", "count"), 0, "the large ones are learned, the small ones what a model is given");
    end(&run);
    images_loaded(&run, false, "aten::mean", labels);
    is_int(habit(&run, "unused_elements", "count"), 0,
           "the mean of the large one is asked, and the small one is a thumbnail");
    end(&run);
}

/* Layers behind a copy of rows; @other goes with what they made. */
static void copied_rows(struct run *run, const char *source, const char *other)
{
    begin(run);
    op_with(run, "aten::repeat_interleave", 0, 20, 0, source, "[\"float\",\"Scalar\",\"Scalar\"]");
    op_with(run, "aten::linear", 20, 100, 0, "[[6400,96],[256,96],[256]]", "[\"float\",\"float\",\"float\"]");
    op_with(run, "aten::relu", 120, 20, 0, "[[6400,256]]", "[\"float\"]");
    op_with(run, "aten::linear", 140, 60, 0, "[[6400,256],[64,256],[64]]", "[\"float\",\"float\",\"float\"]");
    op_with(run, "aten::mul", 200, 50, 0, other, "[\"float\",\"float\"]");
    analyze(run);
}

static void layers_on_copies_of_rows_are_told(void)
{
    struct run run;
    copied_rows(&run, "[[128,96],[],[]]", "[[6400,64],[6400,64]]");
    is_int(habit(&run, "repeated_copy", "count"), 1, "each row fifty times");
    is_int(habit(&run, "repeated_copy", "total_us"), 200, "the layers as well, until each copy meets something else");
    is_int(habit(&run, "repeated_copy", "saves_us"), 196, "once is needed");
    end(&run);
    copied_rows(&run, "[[128,48],[],[]]", "[[6400,64],[6400,64]]");
    is_int(habit(&run, "repeated_copy", "count"), 0, "another tensor goes into the layers");
    end(&run);
}

static void repeated_copies_are_told(void)
{
    static const char three[] = "[\"float\",\"float\",\"float\"]";
    struct run run;
    begin(&run);
    op_with(&run, "aten::repeat_interleave", 0, 50, 0, "[[2,2,1000,64],[],[],[]]", "[\"float\",\"Scalar\",\"Scalar\",\"\"]");
    op_with(&run, "aten::scaled_dot_product_attention", 60, 50, 0, "[[2,8,1,64],[2,8,1000,64],[2,8,1000,64]]", three);
    op_with(&run, "aten::repeat_interleave", 200, 50, 0, "[[500,64],[500],[]]", "[\"float\",\"long int\",\"Scalar\"]");
    op_with(&run, "aten::mul", 260, 50, 0, "[[1500,64],[1500,64]]", "[\"float\",\"float\"]");
    analyze(&run);
    is_int(habit(&run, "repeated_copy", "count"), 1, "by a number, for a product; not each row as often as a list says");
    is_int(habit(&run, "repeated_copy", "saves_us"), 50, "the copy");
    end(&run);
}

static void weights_for_one_call(struct run *run, int64_t start_us)
{
    op_with(run, "aten::to", start_us, 30, 0, "[[256,256],[],[],[],[]]", "[\"signed char\",\"\",\"\",\"\",\"\"]");
    op_with(run, "aten::mul", start_us + 30, 20, 0, "[[256,256],[256,1]]", "[\"float\",\"float\"]");
    op_with(run, "aten::linear", start_us + 50, 40, 0, "[[4,256],[256,256],[]]", "[\"float\",\"float\",\"\"]");
}

/* A request: a query, the norms of a table, and the product of both. */
static void search(struct run *run, int64_t start_us, const char *before, const char *between)
{
    static const char two[] = "[\"float\",\"float\"]", one[] = "[\"float\",\"\"]";
    op_with(run, before, start_us, 10, 0, "[[8,64],[64,64]]", two);
    op_with(run, "aten::linalg_vector_norm", start_us + 10, 40, 0, "[[5000,64],[]]", one);
    op_with(run, "aten::clamp_min", start_us + 50, 5, 0, "[[5000,1],[]]", one);
    op_with(run, "aten::div", start_us + 55, 40, 0, "[[5000,64],[5000,64]]", two);
    op_with(run, between, start_us + 96, 2, 0, "[[8,64],[8,64]]", two);
    op_with(run, "aten::numpy_T", start_us + 99, 1, 0, "[[5000,64]]", "[\"float\"]");
    op_with(run, "aten::matmul", start_us + 100, 50, 0, "[[8,64],[64,5000]]", two);
    op_with(run, "aten::topk", start_us + 150, 20, 0, "[[8,5000],[]]", one);
}

static void tables_that_are_prepared_for_each_search_are_told(void)
{
    static const struct {
        const char *before, *between;
        int count;
        const char *why;
    } cases[] = {
        { "aten::mm", "aten::numpy_T", 3, "the first time as well: the loop went on before the recording" },
        { "aten::mm", "aten::div", 3, "though the query is made behind it" },
        { "aten::cat", "aten::div", 0, "rows may be new ones" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run run;
        begin(&run);
        for (int k = 0; k < 3; k++)
            search(&run, k * 200, cases[i].before, cases[i].between);
        analyze(&run);
        is_int(habit(&run, "weight_made", "count"), cases[i].count, cases[i].why);
        is_int(habit(&run, "weight_made", "saves_us"), cases[i].count * 85, "what makes it");
        end(&run);
    }
}

static void packed_weights_that_are_unpacked_are_told(const char *with)
{
    struct run run;
    begin(&run);
    for (int64_t at_us = 0; at_us < 600; at_us += 200) {
        op_with(&run, with, at_us, 10, 0, "[[256,128],[]]", "[\"unsigned char\",\"Scalar\"]");
        op_with(&run, "aten::stack", at_us + 10, 20, 0, "[[[256,128],[256,128]],[]]", "[\"TensorList\",\"Scalar\"]");
        op_with(&run, "aten::flatten", at_us + 30, 5, 0, "[[256,128,2],[],[]]", "[\"unsigned char\",\"Scalar\",\"Scalar\"]");
        op_with(&run, "aten::to", at_us + 35, 30, 0, "[[256,256],[],[],[],[]]", "[\"unsigned char\",\"\",\"\",\"\",\"\"]");
        op_with(&run, "aten::linear", at_us + 65, 40, 0, "[[4,256],[256,256],[]]", "[\"float\",\"float\",\"\"]");
        op_with(&run, "aten::view", at_us + 110, 5, 0, "[[4,256],[]]", "[\"float\",\"ScalarList\"]");
    }
    analyze(&run);
    is_int(habit(&run, "weight_made", "count"), 2, "in each call but the first");
    is_int(habit(&run, "weight_made", "saves_us"), 2 * 65, "from the packed numbers on");
    end(&run);
}

static void weights_that_are_made_anew_are_told(void)
{
    static const char two[] = "[\"float\",\"float\"]";
    struct run run;
    begin(&run);
    for (int call = 0; call < 3; call++)
        weights_for_one_call(&run, 200 * call);
    analyze(&run);
    is_int(habit(&run, "weight_made", "count"), 2, "the first time it is needed");
    is_int(habit(&run, "weight_made", "saves_us"), 2 * 50, "what makes it");
    end(&run);
    begin(&run);
    for (uint32_t step = 1; step < 4; step++) { /* weights that are trained change: a mask over them is needed each time */
        op_with(&run, "aten::mul", step * 1000, 20, step * 10, "[[256,256],[256,256]]", two);
        op_with(&run, "aten::linear", step * 1000 + 20, 40, step * 10 + 1, "[[4,256],[256,256]]", two);
        op_with(&run, "aten::matmul", step * 1000 + 100, 20, step * 10 + 2, "[[256,8],[8,256]]", two);
        op_with(&run, "aten::add", step * 1000 + 120, 10, step * 10 + 3, "[[256,256],[256,256],[]]", two);
        op_with(&run, "aten::linear", step * 1000 + 130, 40, step * 10 + 4, "[[4,256],[256,256]]", two);
        node(&run, step * 1000 + 300, 10, step * 10 + 4);
    }
    analyze(&run);
    is_int(habit(&run, "weight_made", "count"), 3, "in training a product of low rank alone");
    is_int(habit(&run, "weight_made", "total_us"), 3 * 30 + 3 * 10, "with what adds it, and the gradient of all of it");
    end(&run);
}

static void norms_of_weights_that_were_left_in_are_told(void)
{
    for (uint32_t trains = 0; trains < 2; trains++) {
        struct run run;
        begin(&run);
        for (uint32_t i = 0; i < 3; i++) {
            op(&run, "aten::_weight_norm", i * 100, 30, trains * (i * 10 + 1));
            op(&run, i ? "aten::conv1d" : "aten::conv_transpose1d", i * 100 + 30, 40, trains * (i * 10 + 2));
            if (trains)
                node(&run, i * 100 + 80, 10, i * 10 + 2);
        }
        analyze(&run);
        is_int(habit(&run, "weight_made", "count"), trains ? 0 : 3, trains ? "trained ones change" : "sizes or none");
        is_int(habit(&run, "weight_made", "saves_us"), trains ? 0 : 3 * 30, "what makes them");
        end(&run);
    }
}

static void penalties_on_weights_are_told(void)
{
    struct run run;
    begin(&run);
    for (uint32_t step = 1; step < 3; step++) {
        int64_t at_us = step * 1000;
        op_with(&run, "aten::abs", at_us, 20, step * 10, "[[300,64]]", "[\"float\"]");
        op_with(&run, "aten::sum", at_us + 20, 10, step * 10 + 1, "[[300,64],[]]", "[\"float\",\"\"]");
        op_with(&run, "aten::abs", at_us + 30, 4, step * 10 + 2, "[[300]]", "[\"float\"]");
        op_with(&run, "aten::sum", at_us + 34, 4, step * 10 + 3, "[[300],[]]", "[\"float\",\"\"]");
        op_with(&run, "aten::add", at_us + 38, 2, step * 10 + 4, "[[],[],[]]", "[\"float\",\"float\",\"Scalar\"]");
        op(&run, "aten::ones_like", at_us + 41, 1, 0); /* of the backward pass: not of the penalty */
        op_with(&run, "aten::linear", at_us + 50, 10, step * 10 + 5, "[[4,64],[300,64],[300]]",
                "[\"float\",\"float\",\"float\"]");
        op_with(&run, "aten::abs", at_us + 60, 4, step * 10 + 6, "[[4,300]]", "[\"float\"]"); /* of no weight */
        op_with(&run, "aten::sum", at_us + 64, 4, step * 10 + 7, "[[4,300],[]]", "[\"float\",\"\"]");
        node(&run, at_us + 200, 25, step * 10);
        row(&run, "1", "Optimizer.step#SGD.step", ANNOTATION, at_us + 300, 50);
        op_with(&run, "aten::add_", at_us + 310, 5, 0, "[[300,64],[300,64],[]]", "[\"float\",\"float\",\"Scalar\"]");
        op_with(&run, "aten::add_", at_us + 320, 5, 0, "[[300],[300],[]]", "[\"float\",\"float\",\"Scalar\"]");
    }
    analyze(&run);
    is_int(habit(&run, "weight_penalty", "count"), 2, "one a step");
    is_int(habit(&run, "weight_penalty", "total_us"), 2 * (40 + 25), "both weights, and the node");
    end(&run);
}

/* A loop of @passes over six classes of 4 Ki pixels, behind @heads: @piece is taken of the probabilities, and @between is in
 * each pass, on a tensor of @dims. */
static int64_t probabilities_by_class(int heads, int passes, const char *piece, const char *between, const char *dims)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < heads; i++)
        op_with(&run, "aten::linear", i * 10, 10, 0, "[[4096,32],[6,32],[6]]", "[\"float\",\"float\",\"float\"]");
    for (int i = 1; i <= passes; i++) {
        op_with(&run, "aten::softmax", i * 100, 40, 10 + 4 * (uint32_t)i, "[[1,6,64,64],[],[]]",
                "[\"float\",\"Scalar\",\"\"]");
        op_with(&run, piece, i * 100 + 40, 5, 0, "[[1,6,64,64],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
        op_with(&run, between, i * 100 + 50, 5, 0, dims, "[\"float\"]");
    }
    analyze(&run);
    int64_t saves_us = habit(&run, "softmax_again", "count") ? habit(&run, "softmax_again", "saves_us") : 0;
    end(&run);
    return saves_us;
}

static void probabilities_for_each_class_are_told(void)
{
    is_int(probabilities_by_class(1, 6, "aten::select", "aten::mul", "[[1,64,64]]"), 5 * 40, "all but the first");
    is_int(probabilities_by_class(1, 5, "aten::select", "aten::mul", "[[1,64,64]]"), 4 * 40, "without the background");
    is_int(probabilities_by_class(1, 4, "aten::select", "aten::mul", "[[1,64,64]]"), 0, "as many models, perhaps");
    is_int(probabilities_by_class(1, 6, "aten::mul", "aten::mul", "[[1,64,64]]"), 0, "no class is taken");
    is_int(probabilities_by_class(1, 6, "aten::select", "aten::add", "[[1,6,64,64]]"), 0, "scores of each pass");
    is_int(probabilities_by_class(6, 6, "aten::select", "aten::mul", "[[1,64,64]]"), 0, "scores of as many heads");
    is_int(probabilities_by_class(1, 6, "aten::select", "aten::mul", "[[6,64]]"), 0, "as many, but no class is taken");
}

/* Norms of two weights, the second one numbered @second, each with @behind. */
static void norms_of_weights(struct run *run, uint32_t second, const char *behind)
{
    begin(run);
    op_with(run, "aten::linear", 0, 10, 1, "[[4,64],[300,64],[300]]", "[\"float\",\"float\",\"float\"]");
    node(run, 20, 5, 1);
    op_with(run, "aten::linalg_vector_norm", 100, 20, 10, "[[300,64]]", "[\"float\"]");
    op(run, behind, 120, 2, 0);
    op_with(run, "aten::linalg_vector_norm", 130, 20, second, "[[300]]", "[\"float\"]");
    op(run, behind, 150, 2, 0);
    op_with(run, "aten::add", 160, 2, 12, "[[],[],[]]", "[\"float\",\"float\",\"Scalar\"]");
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, 300, 50);
    op_with(run, "aten::add_", 310, 5, 0, "[[300,64],[300,64],[]]", "[\"float\",\"float\",\"Scalar\"]");
    op_with(run, "aten::add_", 320, 5, 0, "[[300],[300],[]]", "[\"float\",\"float\",\"Scalar\"]");
    analyze(run);
}

static void norms_for_a_log_are_no_penalty(void)
{
    struct run run;
    norms_of_weights(&run, 11, "aten::detach");
    is_int(habit(&run, "weight_penalty", "count"), 1, "a sum of norms that goes on");
    end(&run);
    norms_of_weights(&run, 11, "aten::item");
    is_int(habit(&run, "weight_penalty", "count"), 0, "each is read");
    end(&run);
    norms_of_weights(&run, 10, "aten::detach");
    is_int(habit(&run, "weight_penalty", "count"), 0, "of gradients: no node is made");
    end(&run);
}

/* A module is called for each of @rows rows of a tensor that has 24, and chooses. */
static void choices_by_row(struct run *run, int rows)
{
    begin(run);
    for (int i = 0; i < rows; i++) {
        row(run, "1", "nn.Module: Policy_0", PYTHON, i * 50 + 10, 12);
        op_with(run, "aten::select", i * 50, 5, 0, "[[24,8],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
        op_with(run, "aten::linear", i * 50 + 10, 10, 0, "[[8],[8,8],[8]]", "[\"float\",\"float\",\"float\"]");
        op_with(run, "aten::argmax", i * 50 + 30, 5, 0, "[[8],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    }
    analyze(run);
}

static void rows_that_choose_are_independent_where_all_are_gone_through(void)
{
    struct run run;
    choices_by_row(&run, 24);
    is_int(habit(&run, "module_loop", "count"), 1, "as many passes as there are rows");
    end(&run);
    choices_by_row(&run, 20);
    is_int(habit(&run, "module_loop", "count"), 0, "else what was chosen may be what the next pass begins with");
    end(&run);
}

/* Two of four experts are chosen for each of 64 tokens; of the last one the tokens are @tokens. */
static void mixture(struct run *run, const char *tokens)
{
    static const char types[] = "[\"float\",\"float\",\"float\"]";
    begin(run);
    op_with(run, "aten::topk", 0, 5, 0, "[[8,8,4],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    for (int expert = 0; expert < 4; expert++) {
        const char *dims = expert == 3 ? tokens : "[[64,16],[32,16],[32]]";
        op_with(run, "aten::linear", 100 + 100 * expert, 40, 0, dims, types);
        op_with(run, "aten::relu", 140 + 100 * expert, 10, 0, "[[64,32]]", "[\"float\"]");
        op_with(run, "aten::linear", 150 + 100 * expert, 40, 0, "[[64,32],[16,32],[16]]", types);
    }
    op_with(run, "aten::scatter", 600, 5, 0, "[[64,4],[],[8,8,2],[8,8,2]]", "[\"float\",\"Scalar\",\"long int\",\"float\"]");
    op_with(run, "aten::linear", 700, 40, 0, "[[64,16],[10,16],[10]]", types); /* behind them */
    analyze(run);
}

static void experts_that_run_on_all_tokens_are_told(void)
{
    struct run run;
    mixture(&run, "[[64,16],[32,16],[32]]");
    is_int(habit(&run, "unused_expert", "count"), 1, "as many calls with all tokens as there are scores");
    is_int(habit(&run, "unused_expert", "total_us"), 390, "from the first expert's first layer to the last one's last");
    is_int(habit(&run, "unused_expert", "saves_us"), 195, "two of four");
    end(&run);
    mixture(&run, "[[9,16],[32,16],[32]]");
    is_int(habit(&run, "unused_expert", "count"), 0, "one with tokens of its own");
    end(&run);
}

/* The best of four experts for each of 64 tokens: its number goes into @spreads, what that makes into @behind. */
static void mixture_of_one(struct run *run, const char *best, const char *spreads, const char *behind, const char *column)
{
    static const char types[] = "[\"float\",\"float\",\"float\"]";
    begin(run);
    op_with(run, best, 0, 5, 0, "[[64,4],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]");
    op_with(run, spreads, 10, 5, 0, "[[64],[]]", "[\"long int\",\"Scalar\"]");
    op_with(run, "aten::to", 15, 5, 0, "[[64,4]]", "[\"long int\"]");
    op_with(run, behind, 20, 5, 0, "[[64,4],[64,1]]", "[\"float\",\"float\"]");
    for (int expert = 0; expert < 4; expert++) {
        op_with(run, "aten::linear", 100 + 100 * expert, 40, 0, "[[64,16],[32,16],[32]]", types);
        op_with(run, "aten::linear", 150 + 100 * expert, 40, 0, "[[64,32],[16,32],[16]]", types);
        op_with(run, "aten::mul", 192 + 100 * expert, 5, 0, column, types);
    }
    op_with(run, "aten::linear", 700, 40, 0, "[[64,16],[10,16],[10]]", types); /* behind them */
    analyze(run);
}

static void the_best_of_experts_that_all_run_is_told(void)
{
    static const struct {
        const char *best, *spreads, *behind, *column, *what;
        int count;
    } rows[] = {
        { "aten::max", "aten::one_hot", "aten::mul", "[[64,1],[64,16]]", "each result is weighed with a column of one hot",
          1 },
        { "aten::argmax", "aten::one_hot", "aten::mul", "[[64,1],[64,16]]", "the place alone is asked for", 1 },
        { "aten::max", "aten::one_hot", "aten::mean", "[[64,1],[64,16]]", "how often each is the best; all of them count",
          0 },
        { "aten::max", "aten::bincount", "aten::mul", "[[64,1],[64,16]]", "likewise, counted", 0 },
        { "aten::max", "aten::eq", "aten::mul", "[[64,1],[64,16]]", "compared once, as with labels", 0 },
        { "aten::max", "aten::one_hot", "aten::mul", "[[64,16],[64,16]]", "layers behind each other, of no column", 0 },
        { "aten::max", "aten::one_hot", "aten::mul", "[[64,4,1],[64,4,16]]", "all results with all columns", 1 },
        { "aten::max", "aten::one_hot", "aten::mul", "[[64,4],[64,1]]", "the weights alone", 0 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct run run;
        mixture_of_one(&run, rows[i].best, rows[i].spreads, rows[i].behind, rows[i].column);
        is_int(habit(&run, "unused_expert", "count"), rows[i].count, rows[i].what);
        if (rows[i].count)
            is_int(habit(&run, "unused_expert", "saves_us"), 390 * 3 / 4, "three of four");
        end(&run);
    }
}

/* Three steps, each with a sort of so many rows. */
static void sorts(struct run *run, const char *first, const char *second, const char *third)
{
    static const char *const names[] = { "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3" };
    const char *dims[] = { first, second, third };
    begin(run);
    for (int step = 0; step < 3; step++) {
        row(run, "1", names[step], ANNOTATION, 1000 * step, 1000);
        op(run, "aten::linear", 1000 * step, 10, 0);
        op(run, "aten::cat", 1000 * step + 50, 50, 0);
        op_with(run, "aten::sort", 1000 * step + 100, 400, 0, dims[step], "[\"float\",\"Scalar\"]");
    }
    analyze(run);
}

static void metrics_of_all_results_are_told(void)
{
    struct run run;
    sorts(&run, "[[20000],[]]", "[[20400],[]]", "[[20800],[]]");
    is_int(habit(&run, "whole_history", "count"), 3, "as many more in each step");
    is_int(habit(&run, "whole_history", "total_us"), 1200, "the sorts");
    end(&run);
    sorts(&run, "[[20000],[]]", "[[20400],[]]", "[[20300],[]]");
    is_int(habit(&run, "whole_history", "count"), 0, "sizes as they come");
    end(&run);
    sorts(&run, "[[8,20000],[]]", "[[8,20001],[]]", "[[8,20002],[]]");
    is_int(habit(&run, "whole_history", "count"), 0, "texts that grow");
    end(&run);
}

/* A gradient of these sizes: made anew, or added to what is there. */
static void gradient(struct run *run, int64_t start_us, const char *dims, bool adds)
{
    row(run, "1", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OPERATOR, start_us, 10);
    op_with(run, "torch::autograd::AccumulateGrad", start_us + 1, 8, 0, dims, "[\"float\"]");
    op(run, adds ? "aten::add_" : "aten::detach", start_us + 2, 4, 0);
}

/* @cleared: the step whose gradients of the second model were cleared; 0 = none. */
static void two_models(struct run *run, int cleared)
{
    begin(run);
    for (int step = 1; step <= 3; step++) {
        int64_t start_us = 1000 * step;
        op(run, "aten::linear", start_us, 20, 0);
        node(run, start_us + 100, 20, (uint32_t)(10 * step + 9));
        gradient(run, start_us + 120, "[[16,8]]", step != cleared);
        gradient(run, start_us + 140, "[[16]]", step != cleared);
        node(run, start_us + 200, 20, (uint32_t)(10 * step + 8));
        gradient(run, start_us + 220, "[[16,8]]", false);
        gradient(run, start_us + 240, "[[16]]", false);
        row(run, "1", "Optimizer.step#AdamW.step", ANNOTATION, start_us + 300, 10);
    }
    analyze(run);
}

static void a_reference_with_gradients_is_told(void)
{
    struct run run;
    two_models(&run, 0);
    is_int(habit(&run, "unneeded_gradient", "count"), 3, "gradients of the same sizes that nothing clears");
    is_int(habit(&run, "unneeded_gradient", "saves_us"), 3 * 75, "half of each backward pass");
    end(&run);
    two_models(&run, 2);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "of an optimizer that steps now and then");
    end(&run);
}

static void the_input_of_what_is_computed_again_is_needed(void)
{
    struct run run;
    begin(&run);
    for (int step = 0; step < 2; step++) {
        node(&run, 1000 * step, 300, (uint32_t)(2 * step + 5)); /* a block that was checkpointed */
        op(&run, "aten::mm", 1000 * step + 20, 50, 0);
        op(&run, "aten::mm", 1000 * step + 80, 50, 0);
        gradient(&run, 1000 * step + 140, "[[16,8]]", false);
        gradient(&run, 1000 * step + 160, "[[4,16]]", false); /* is handed on */
        node(&run, 1000 * step + 310, 50, (uint32_t)(2 * step + 4));
        row(&run, "1", "Optimizer.step#SGD.step", ANNOTATION, 1000 * step + 400, 50);
        op_with(&run, "aten::add_", 1000 * step + 410, 20, 0, "[[16,8],[16,8],[]]", "[\"float\",\"float\",\"Scalar\"]");
    }
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "though no optimizer is called with its sizes");
    end(&run);
}

/* A layer's node, with the products of its gradients, and its gradient, without sizes. */
static void layer_back(struct run *run, int64_t start_us, uint32_t sequence, int products, bool adds)
{
    node(run, start_us, 50, sequence);
    for (int i = 0; i < products; i++)
        op(run, "aten::mm", start_us + 2 + 20 * i, 20, 0);
    row(run, "1", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", OPERATOR, start_us + 52, 10);
    op(run, "torch::autograd::AccumulateGrad", start_us + 53, 8, 0);
    op(run, adds ? "aten::add_" : "aten::detach", start_us + 54, 4, 0);
}

/* Two trained layers and two others, whose gradients come behind or before; @cleared: the step that makes all anew. */
static void teacher_and_student(struct run *run, bool are_last, int last_products, int cleared, const char *clear)
{
    begin(run);
    for (int step = 1; step <= 3; step++) {
        int64_t start_us = 1000 * step;
        for (int layer = 0; layer < 4; layer++)
            layer_back(run, start_us + 100 * layer, (uint32_t)(10 * step + 9 - layer), layer % 2 ? last_products : 2,
                       (layer >= 2) == are_last && step != cleared);
        row(run, "1", "Optimizer.step#AdamW.step", ANNOTATION, start_us + 500, 10);
        row(run, "1", clear, ANNOTATION, start_us + 520, 20);
        op(run, "aten::linear", start_us + 600, 20, 0);
    }
    analyze(run);
}

/* A discriminator of three layers and a generator of two that its loss goes on to, in turn; in the one's turn two losses. Of
 * the generator's turn the other's gradients are @frozen, or, though not cleared, used in the step (@shares). */
static void models_in_turn(struct run *run, bool frozen, bool shares)
{
    begin(run);
    for (int turn = 0; turn < 6; turn++) {
        int64_t start_us = 2000 * turn;
        uint32_t sequence = (uint32_t)(100 * turn + 100);
        if (!shares || turn % 2 == 0)
            row(run, "1", "Optimizer.zero_grad#Adam.zero_grad", ANNOTATION, start_us, 20);
        op(run, "aten::linear", start_us + 50, 20, 0);
        for (int layer = 0; layer < 3 && !(frozen && turn % 2); layer++)
            layer_back(run, start_us + 100 + 100 * layer, sequence - (uint32_t)layer, 2, turn % 2);
        for (int layer = 0; layer < 3 && turn % 2 == 0; layer++)
            layer_back(run, start_us + 1000 + 100 * layer, sequence + 9 - (uint32_t)layer, 2, true);
        for (int layer = 3; layer < 5 && turn % 2; layer++)
            layer_back(run, start_us + 100 + 100 * layer, sequence - (uint32_t)layer, 2, false);
        row(run, "1", "Optimizer.step#Adam.step", ANNOTATION, start_us + 1500, 10);
    }
    analyze(run);
}

static void gradients_for_the_other_model_are_told_without_sizes(void)
{
    struct run run;
    models_in_turn(&run, false, false);
    is_int(habit(&run, "unneeded_gradient", "count"), 3, "in each turn, the last one too");
    is_int(habit(&run, "unneeded_gradient", "saves_us"), 3 * 3 * (20 + 8), "of each layer the weight's product, and adding");
    end(&run);
    models_in_turn(&run, true, false);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "of two losses the second one adds to what its step uses");
    end(&run);
    models_in_turn(&run, false, true);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "what is not cleared before a step is used in it");
    end(&run);
}

static void gradients_that_nothing_clears_are_told_without_sizes(void)
{
    static const char clear[] = "Optimizer.zero_grad#AdamW.zero_grad";
    struct run run;
    teacher_and_student(&run, true, 2, 0, clear);
    is_int(habit(&run, "unneeded_gradient", "count"), 3, "a frozen backbone: none of it is trained");
    is_int(habit(&run, "unneeded_gradient", "saves_us"), 3 * 162, "all of it");
    end(&run);
    teacher_and_student(&run, false, 1, 0, clear);
    is_int(habit(&run, "unneeded_gradient", "saves_us"), 3 * 161, "a teacher: nothing behind its first layer");
    end(&run);
    teacher_and_student(&run, false, 2, 0, clear);
    is_int(habit(&run, "unneeded_gradient", "saves_us"), 3 * 2 * (20 + 8), "layers before trained ones hand it on");
    end(&run);
    teacher_and_student(&run, true, 2, 2, clear);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "an optimizer that steps now and then clears them");
    end(&run);
    teacher_and_student(&run, true, 2, 0, "clear");
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "what clears gradients is not known");
    end(&run);
    begin(&run);
    for (int step = 1; step <= 2; step++) {
        for (int layer = 0; layer < 4; layer++) /* the trunk's come again with the second loss */
            layer_back(&run, 1000 * step + 100 * layer, (uint32_t)(10 * step + (layer % 2 ? 0 : 9 - layer)), 2, layer == 3);
        row(&run, "1", clear, ANNOTATION, 1000 * step + 500, 10);
        row(&run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 1000 * step + 520, 10);
    }
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "two losses go back one after the other");
    end(&run);
    begin(&run);
    op(&run, "aten::zero_", 10, 5, 0);
    for (int step = 1; step <= 2; step++) {
        for (int layer = 0; layer < 4; layer++)
            layer_back(&run, 1000 * step + 100 * layer, (uint32_t)(10 * step + 9 - layer), 2, layer >= 2);
        row(&run, "1", clear, ANNOTATION, 1000 * step + 500, 10);
        row(&run, "1", "Optimizer.step#AdamW.step", ANNOTATION, 1000 * step + 520, 10);
    }
    analyze(&run);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "gradients may be filled with zeros");
    end(&run);
}

/* What the device does for a habit counts there, and could go in the same share as on the host. */
static void gpu_work_of_habits_is_told(void)
{
    struct run run;
    begin(&run);
    for (int step = 0; step < 2; step++) {
        node(&run, step * 1000, 100, 5);
        op(&run, "aten::layer_norm", step * 1000 + 20, 20, 7);
        call(&run, "1", "cudaLaunchKernel", step * 1000 + 30, 5, (ap_link_key)(10 + step));
        op(&run, "aten::mm", step * 1000 + 70, 20, 0);
        call(&run, "1", "cudaLaunchKernel", step * 1000 + 80, 5, (ap_link_key)(20 + step));
        work_on(&run, "7", "layer_norm_kernel", KERNEL, step * 1000 + 200, 300, (ap_link_key)(10 + step));
        work_on(&run, "7", "gemm", KERNEL, step * 1000 + 500, 100, (ap_link_key)(20 + step));
    }
    analyze(&run);
    ok(is_null(&run, "habits.recompute.saves_us"), "the host's part tells less");
    is_int(habit(&run, "recompute", "work_us"), 2 * 300, "what was launched in it, not behind it");
    is_int(habit(&run, "recompute", "gain_us"), 2 * 300, "of which all could go");
    ok(ratio(&run, "habits.recompute.cost_ratio") == 0.75, "of all that the device did");
    end(&run);
    begin(&run);
    node(&run, 0, 100, 5);
    op(&run, "aten::layer_norm", 20, 20, 7);
    call(&run, "1", "cudaLaunchKernel", 30, 5, 1);
    analyze(&run);
    ok(is_null(&run, "habits.recompute.work_us"), "no row of a device was recorded");
    is_int(habit(&run, "recompute", "gain_us"), 40, "as on the host");
    end(&run);
}

/* Adapters on a layer that is not frozen: the optimizer's list is so long that it has no sizes. On another thread than the
 * forward pass nothing but nodes runs. @adds: to the gradients of the adapters, too. */
static void adapters(struct run *run, bool adds)
{
    begin(run);
    for (int step = 1; step <= 3; step++) {
        int64_t start_us = 1000 * step;
        op(run, "aten::linear", start_us, 20, 0);
        node(run, start_us + 100, 50, (uint32_t)(10 * step + 2));
        op(run, "aten::mm", start_us + 105, 20, 0);
        op(run, "aten::mm", start_us + 126, 20, 0);
        gradient(run, start_us + 150, "[[64,64]]", true);
        node(run, start_us + 200, 20, (uint32_t)(10 * step + 1));
        gradient(run, start_us + 220, "[[64,8]]", adds);
        row(run, "1", "Optimizer.step#AdamW.step", ANNOTATION, start_us + 300, 100);
        op_with(run, "aten::_fused_adamw_", start_us + 310, 50, 0, "[[],[]]", "[\"TensorList\",\"TensorList\"]");
    }
    analyze(run);
}

static void a_base_that_is_not_frozen_is_told(void)
{
    struct run run;
    adapters(&run, false);
    is_int(habit(&run, "unneeded_gradient", "count"), 3, "gradients that nothing clears beside some that are");
    is_int(habit(&run, "unneeded_gradient", "saves_us"), 3 * (20 + 8), "the product of the weight, and accumulating it");
    end(&run);
    adapters(&run, true);
    is_int(habit(&run, "unneeded_gradient", "count"), 0, "where none is cleared, each may be of use");
    end(&run);
}

int main(void)
{
    gpu_work_of_habits_is_told();
    nodes_that_run_again_are_told();
    what_habits_take_of_devices_is_told();
    checks_of_arguments_are_told();
    gradients_of_what_a_mask_took_are_told();
    a_mask_takes_time_of_the_host_as_well();
    products_with_integers_and_diagonals_are_told();
    sparse_matrices_that_are_made_again_are_told();
    a_dispatch_mode_is_told_with_its_line();
    what_is_detached_and_trained_with_is_needed();
    a_walk_over_all_state_is_work_of_who_asks_for_it();
    decompositions_go_with_their_backward();
    cosines_of_all_pairs_are_told();
    a_resize_of_what_a_resize_makes_goes_with_it();
    elements_that_nobody_uses_are_told();
    what_layers_prepare_again_is_told();
    images_that_a_loader_works_on_are_told();
    probabilities_of_which_the_order_is_asked_are_told();
    products_for_their_diagonal_are_told();
    draws_by_the_same_weights_are_told();
    layers_on_copies_of_rows_are_told();
    repeated_copies_are_told();
    weights_that_are_made_anew_are_told();
    tables_that_are_prepared_for_each_search_are_told();
    packed_weights_that_are_unpacked_are_told("aten::bitwise_and");
    packed_weights_that_are_unpacked_are_told("aten::__and__");
    packed_weights_that_are_unpacked_are_told("aten::__rshift__");
    packed_weights_that_are_unpacked_are_told("aten::bitwise_right_shift");
    packed_weights_that_are_unpacked_are_told("aten::floor_divide");
    packed_weights_that_are_unpacked_are_told("aten::remainder");
    norms_of_weights_that_were_left_in_are_told();
    penalties_on_weights_are_told();
    norms_for_a_log_are_no_penalty();
    probabilities_for_each_class_are_told();
    rows_that_choose_are_independent_where_all_are_gone_through();
    experts_that_run_on_all_tokens_are_told();
    the_best_of_experts_that_all_run_is_told();
    metrics_of_all_results_are_told();
    a_reference_with_gradients_is_told();
    gradients_for_the_other_model_are_told_without_sizes();
    the_input_of_what_is_computed_again_is_needed();
    gradients_that_nothing_clears_are_told_without_sizes();
    a_base_that_is_not_frozen_is_told();
    return done();
}
