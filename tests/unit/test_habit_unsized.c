/* SPDX-License-Identifier: MIT
 * What habits are told by where no sizes were recorded: typed traces, with the time that each takes and could save. */
#include "typed_habits.h"

/* Of the backward pass, of any kind. */
static void node_of(struct run *run, const char *kind, int64_t start_us, int64_t dur_us, uint32_t sequence)
{
    char name[100];
    struct ap_op_told detail = { .sequence = sequence, .forward_thread = 1 };
    (void)snprintf(name, sizeof(name), "autograd::engine::evaluate_function: %s", kind);
    row(run, "1", name, OPERATOR, start_us, dur_us);
    if (sequence && ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

/* W + B @ A before a layer, with the node of the @product; @other: what has its second gradient. */
static void adapter(struct run *run, const char *product, const char *behind_product, const char *other)
{
    begin(run);
    op(run, product, 100, 50, 10);
    op(run, behind_product, 150, 40, 11);
    op(run, "aten::linear", 200, 30, 12);
    op(run, "aten::relu", 240, 10, 14);
    node_of(run, "AddmmBackward0", 330, 70, 13);
    node_of(run, "AddBackward0", 400, 5, 11);
    node_of(run, "MmBackward0", 405, 60, 10);
    node_of(run, "TBackward0", 465, 2, 9);
    node_of(run, "torch::autograd::AccumulateGrad", 470, 5, 0);
    node_of(run, other, 475, 5, 0);
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, 500, 10);
    analyze(run);
}

static void a_weight_that_two_parameters_make_is_told(void)
{
    struct run run;
    adapter(&run, "aten::matmul", "aten::add", "torch::autograd::AccumulateGrad");
    is_int(habit(&run, "weight_made", "count"), 1, "once");
    is_int(habit(&run, "weight_made", "total_us"), 90 + 65 + 70,
           "the product and the sum, with their nodes and the layer's");
    is_int(habit(&run, "weight_made", "saves_us"), 147 + 35, "of the layer's node the gradient of the weight");
    end(&run);
    adapter(&run, "aten::matmul", "aten::add", "ReluBackward0");
    is_int(habit(&run, "weight_made", "count"), 0, "one factor is an activation: a layer and a residual");
    end(&run);
    adapter(&run, "aten::matmul", "aten::relu", "torch::autograd::AccumulateGrad");
    is_int(habit(&run, "weight_made", "count"), 0, "no sum of weights");
    end(&run);
    adapter(&run, "aten::conv2d", "aten::add", "torch::autograd::AccumulateGrad");
    is_int(habit(&run, "weight_made", "count"), 0, "weight and bias of a layer before a residual sum");
    end(&run);
}

/* @puts into zeros, from which @sequence on; then @then and a sum. */
static void picked(struct run *run, const char *zeros, uint32_t sequence, const char *then)
{
    begin(run);
    op(run, "aten::log_softmax", 0, 50, 20);
    op(run, zeros, 60, 40, 0);
    op(run, "aten::unsqueeze", 101, 2, 0);
    op(run, "aten::scatter_", 105, 20, 21);
    op(run, then, 130, 40, sequence);
    op(run, "aten::sum", 175, 20, sequence + 1);
    op(run, "aten::mean", 200, 5, sequence + 2);
    node_of(run, "MulBackward0", 300, 30, sequence);
    analyze(run);
}

/* Ones times scores, summed up; and twice @then. */
static void ones_in_order(struct run *run, const char *then)
{
    begin(run);
    op(run, "aten::one_hot", 0, 40, 0);
    op(run, "aten::to", 45, 20, 0);
    op(run, "aten::permute", 66, 2, 0);
    op(run, "aten::mul", 70, 20, 21);
    op(run, "aten::sum", 95, 5, 22);
    op(run, then, 101, 5, 23);
    op(run, then, 107, 5, 24);
    analyze(run);
}

static void one_score_of_each_row_by_ones_is_told(void)
{
    struct run run;
    picked(&run, "aten::zeros_like", 21, "aten::mul");
    is_int(habit(&run, "one_hot_product", "total_us"), 135 + 30, "from the zeros to the sum, and the node of the product");
    end(&run);
    picked(&run, "aten::zeros_like", 22, "aten::mul");
    is_int(habit(&run, "one_hot_product", "count"), 0, "what is put there has a gradient: weights of experts");
    end(&run);
    picked(&run, "aten::clone", 21, "aten::mul");
    is_int(habit(&run, "one_hot_product", "count"), 0, "no zeros");
    end(&run);
    picked(&run, "aten::zeros", 21, "aten::add");
    is_int(habit(&run, "one_hot_product", "count"), 0, "sums of rows");
    end(&run);
    picked(&run, "aten::one_hot", 21, "aten::mul");
    is_int(habit(&run, "one_hot_product", "count"), 0, "other operators between");
    end(&run);
    ones_in_order(&run, "aten::neg");
    is_int(habit(&run, "one_hot_product", "total_us"), 100, "with what brings the ones into order");
    end(&run);
    ones_in_order(&run, "aten::sum");
    is_int(habit(&run, "one_hot_product", "count"), 0, "how much they overlap, beside the sums of both: a dice loss");
    end(&run);
}

/* The gradient of a table, of which filling takes @zeros_us of @dense_us; then @behind, and an update of two parameters by
 * @updates each. */
static void table(struct run *run, int64_t zeros_us, int64_t dense_us, const char *behind, const char *updates,
                  const char *dims)
{
    begin(run);
    op(run, "aten::embedding", 0, 50, 20);
    node_of(run, "EmbeddingBackward0", 1000, dense_us + 50, 20);
    op(run, "EmbeddingBackward0", 1001, dense_us + 10, 0);
    op_with(run, "aten::embedding_dense_backward", 1002, dense_us, 0, dims, dims ? "[\"float\"]" : NULL);
    op(run, "aten::zeros", 1003, zeros_us, 0);
    op(run, behind, 1020 + dense_us, 20, 0);
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, 3000, 1000);
    op(run, updates, 3010, 350, 0);
    op(run, "aten::mul_", 3020, 330, 0); /* within it */
    op(run, updates, 3400, 310, 0);      /* of another matrix as large */
    analyze(run);
}

static void tables_with_gradients_of_all_rows_are_told(void)
{
    static const char add[] = "aten::add_", detach[] = "aten::detach";
    struct run run;
    table(&run, 300, 400, detach, add, NULL);
    is_int(habit(&run, "embedding_gradient", "total_us"), 300 + 350, "zeros, and the update of one parameter");
    end(&run);
    table(&run, 300, 400, detach, "aten::_fused_adamw_", NULL);
    is_int(habit(&run, "embedding_gradient", "total_us"), 300, "of an update of all at once it is not known");
    end(&run);
    table(&run, 300, 500, detach, add, NULL);
    is_int(habit(&run, "embedding_gradient", "count"), 0, "most of it adds rows: many were looked up");
    end(&run);
    table(&run, 90, 110, detach, add, NULL);
    is_int(habit(&run, "embedding_gradient", "count"), 0, "a small one");
    end(&run);
    table(&run, 300, 400, add, add, NULL);
    is_int(habit(&run, "embedding_gradient", "count"), 0, "a gradient of another use comes in: that of a layer is dense");
    end(&run);
    table(&run, 300, 400, detach, add, "[[512,32]]");
    is_int(habit(&run, "embedding_gradient", "count"), 0, "sizes tell more, where they are known");
    end(&run);
}

/* Time steps of a layer that is handed a piece by @takes each time, with another layer behind it. */
static void time_steps(struct run *run, const char *takes, const char *layer)
{
    begin(run);
    op(run, takes, 0, 4, 0);
    op(run, "aten::zeros", 5, 4, 0);
    for (int i = 0; i < 20; i++) {
        op(run, layer, 1000 + i * 1000, 800, (uint32_t)(100 + 20 * i));
        op(run, "aten::linear", 1800 + i * 1000, 50, (uint32_t)(110 + 20 * i));
        op(run, takes, 1900 + i * 1000, 4, (uint32_t)(120 + 20 * i));
    }
    op(run, "aten::add", 22000, 4, 600);
    analyze(run);
}

static void layers_that_are_handed_time_steps_are_a_loop(void)
{
    struct run run;
    time_steps(&run, "aten::slice", "aten::lstm");
    is_int(habit(&run, "operator_loop", "count"), 1, "though each takes long, and a layer follows");
    is_int(habit(&run, "operator_loop", "total_us"), 19904, "from the first to the last");
    is_int(habit(&run, "operator_loop", "saves_us"), 19904 - 20 * (800 - 30) / 2, "what cells compute stays, of it half");
    end(&run);
    time_steps(&run, "aten::cat", "aten::lstm");
    is_int(habit(&run, "operator_loop", "count"), 0, "each step is made of the one before");
    end(&run);
    time_steps(&run, "aten::slice", "aten::layer_norm");
    is_int(habit(&run, "operator_loop", "count"), 0, "any other layer may be one of many");
    end(&run);
}

/* Four times forward and backward a step: into parameters, or as gradients that are asked for. */
static int64_t passes(const char *last_node, const char *within)
{
    struct run run;
    begin(&run);
    for (int i = 0; i < 8; i++) {
        int64_t start_us = i * 100;
        op(&run, "aten::linear", start_us, 10, (uint32_t)(10 * i + 1));
        node_of(&run, "AddmmBackward0", start_us + 20, 10, (uint32_t)(10 * i + 1));
        node_of(&run, last_node, start_us + 30, 5, 0);
        if (within)
            op(&run, within, start_us + 31, 3, 0);
        if (i % 4 == 3)
            row(&run, "1", "Optimizer.step#SGD.step", ANNOTATION, start_us + 40, 10);
    }
    analyze(&run);
    int64_t count = habit(&run, "micro_batch", "count");
    end(&run);
    return count;
}

static void gradients_that_are_asked_for_are_no_micro_batches(void)
{
    static const char accumulates[] = "torch::autograd::AccumulateGrad";
    is_int(passes(accumulates, accumulates), 8, "all add to the same gradients");
    is_int(passes(accumulates, NULL), 0, "an inner loop takes the gradients of parameters");
    is_int(passes("TBackward0", "aten::t"), 0, "a solver, a penalty");
}

/* Anchors of @sizes, each by six operators, the fourth of which is @of_size; then work on data. */
static void anchors(struct run *run, int sizes, const char *of_size)
{
    const char *const names[] = { "aten::arange", "aten::mul", "aten::meshgrid", of_size, "aten::sub", "aten::stack" };
    begin(run);
    for (int i = 0; i < sizes; i++)
        for (int j = 0; j < 6; j++)
            op(run, names[j], i * 60 + j * 10, 8, j % 3 ? 5 : 0);
    op(run, "aten::max", 1000, 50, 5);
    op(run, "aten::linear", 1100, 50, 5);
    op(run, "aten::relu", 1200, 50, 6);
    analyze(run);
}

static void constants_that_follow_each_other_are_told_apart(void)
{
    struct run run;
    anchors(&run, 9, "aten::full_like");
    is_int(habit(&run, "constants", "count"), 9, "each round makes one");
    is_int(habit(&run, "constants", "total_us"), 9 * 58, "with all that it is made by");
    end(&run);
    anchors(&run, 3, "aten::full_like");
    is_int(habit(&run, "constants", "count"), 0, "three may be one");
    end(&run);
    anchors(&run, 9, "aten::matmul");
    is_int(habit(&run, "constants", "total_us"), 9 * 28, "not what data is multiplied with");
    end(&run);
}

/* So many layers, with @reads behind each: a statistic of its result, without gradient. */
static void read_layers(struct run *run, int layers, const char *computes, const char *reads)
{
    begin(run);
    for (int i = 0; i < layers; i++) {
        int64_t at_us = i * 100;
        op(run, "aten::linear", at_us, 20, (uint32_t)(10 + 2 * i));
        op(run, computes, at_us + 30, 10, (uint32_t)(12 + 2 * i));
        op(run, reads, at_us + 42, 3, (uint32_t)(12 + 2 * i));
    }
    op(run, "aten::relu", 9000, 10, (uint32_t)(10 + 2 * layers));
    op(run, "aten::add", 9020, 10, (uint32_t)(11 + 2 * layers));
    for (int i = layers; i-- > 0;)
        node(run, 9100 + (layers - i) * 20, 15, (uint32_t)(10 + 2 * i));
    analyze(run);
}

static void values_that_are_read_behind_layers_are_told(void)
{
    struct run run;
    read_layers(&run, 20, "aten::mean", "aten::item");
    is_int(habit(&run, "scalar_loop", "count"), 20, "a statistic of each");
    is_int(habit(&run, "scalar_loop", "total_us"), 20 * 15, "and not the nodes of the layers behind");
    end(&run);
    read_layers(&run, 12, "aten::mean", "aten::item");
    is_int(habit(&run, "scalar_loop", "count"), 0, "few layers: numbers that a model needs");
    end(&run);
    read_layers(&run, 20, "aten::mean", "aten::detach");
    is_int(habit(&run, "scalar_loop", "count"), 0, "nothing is read");
    end(&run);
    read_layers(&run, 20, "aten::argmax", "aten::item");
    is_int(habit(&run, "scalar_loop", "count"), 0, "a choice that the program goes on with");
    end(&run);
}

/* Two tensors are put together by @pairs and summed up by @sums; in the backward pass so many gradients are summed up. */
static void pairs_of(struct run *run, const char *pairs, const char *sums, int spread)
{
    begin(run);
    op(run, pairs, 0, 100, 20);
    op(run, "aten::pow", 105, 60, 21);
    op(run, sums, 170, 30, 22);
    op(run, "aten::linear", 210, 30, 23);
    node_of(run, "SumBackward1", 300, 10, 22);
    node_of(run, "PowBackward0", 310, 50, 21);
    node_of(run, "SubBackward0", 360, 90, 20);
    for (int i = 0; i < spread; i++) {
        op(run, "aten::sum", 370 + 30 * i, 25, 0);
        op(run, "aten::sum", 372 + 30 * i, 20, 0); /* within it */
    }
    analyze(run);
}

static void pairs_are_told_by_gradients_that_are_summed_up(void)
{
    struct run run;
    pairs_of(&run, "aten::sub", "aten::sum", 2);
    is_int(habit(&run, "all_pairs", "total_us"), 200 + 150, "from the pairs to the sum, with their nodes");
    end(&run);
    pairs_of(&run, "aten::sub", "aten::sum", 1);
    is_int(habit(&run, "all_pairs", "count"), 0, "one of them is as large as the result");
    end(&run);
    pairs_of(&run, "aten::sub", "aten::sqrt", 2);
    is_int(habit(&run, "all_pairs", "count"), 0, "what is made of the pairs is wanted");
    end(&run);
    begin(&run);
    op(&run, "aten::cosine_similarity", 0, 100, 20);
    op(&run, "aten::div", 110, 10, 30);
    for (uint32_t number = 20; number < 22; number++) {
        node_of(&run, "ExpandBackward0", 200 + 50 * (number - 20), 40, number);
        op(&run, "aten::sum", 205 + 50 * (number - 20), 30, 0);
    }
    analyze(&run);
    is_int(habit(&run, "all_pairs", "total_us"), 100 + 40 + 40 + 10, "likewise within one operator");
    end(&run);
}

/* Two tensors, or one, are spread out by @spreads and put side by side for a layer. */
static void layer_of_pairs(struct run *run, int tensors, const char *spreads, const char *layer)
{
    begin(run);
    for (uint32_t i = 0; i < 2; i++) {
        op(run, "aten::unsqueeze", 20 * i, 5, 20 + 2 * i);
        op(run, spreads, 10 + 20 * i, 5, 21 + 2 * i);
    }
    op(run, "aten::cat", 50, 40, 24);
    op(run, layer, 100, 100, 25);
    op(run, "aten::relu", 210, 10, 27);
    node_of(run, "AddmmBackward0", 300, 200, 26);
    node_of(run, "CatBackward0", 510, 20, 24);
    for (uint32_t i = 2; i-- > 0;) {
        node_of(run, "ExpandBackward0", 600 - 50 * i, 30, 21 + 2 * i);
        if ((int)i < tensors)
            op(run, "aten::sum", 605 - 50 * i, 20, 0);
    }
    analyze(run);
}

/* Of data alone: it has the number of the node behind it, and the one before is another's. */
static void a_call_without_node_has_none(void)
{
    struct run run;
    begin(&run);
    op(&run, "aten::mm", 50, 20, 10);
    op(&run, "aten::matmul", 100, 50, 11);
    op(&run, "aten::add", 150, 40, 11);
    op(&run, "aten::linear", 200, 30, 11);
    op(&run, "aten::relu", 240, 10, 12);
    node_of(&run, "AddmmBackward0", 330, 70, 11);
    node_of(&run, "MmBackward0", 405, 60, 10);
    node_of(&run, "torch::autograd::AccumulateGrad", 470, 5, 0);
    node_of(&run, "torch::autograd::AccumulateGrad", 475, 5, 0);
    analyze(&run);
    is_int(habit(&run, "weight_made", "count"), 0, "a sum of data before a layer");
    end(&run);
}

static void layers_of_all_pairs_are_told(void)
{
    struct run run;
    layer_of_pairs(&run, 2, "aten::expand", "aten::linear");
    is_int(habit(&run, "all_pairs", "count"), 1, "each row beside each other one");
    is_int(habit(&run, "all_pairs", "total_us"), 190 + 330,
           "from the first that is spread out to the layer, with their nodes");
    end(&run);
    layer_of_pairs(&run, 1, "aten::expand", "aten::linear");
    is_int(habit(&run, "all_pairs", "count"), 0, "one of them has as many rows itself");
    end(&run);
    layer_of_pairs(&run, 2, "aten::relu", "aten::linear");
    is_int(habit(&run, "all_pairs", "count"), 0, "two results side by side");
    end(&run);
    layer_of_pairs(&run, 2, "aten::expand", "aten::layer_norm");
    is_int(habit(&run, "all_pairs", "count"), 0, "a norm needs both");
    end(&run);
}

/* Three layers, before each of which an adjacency is normalized behind @before, with a product of @product_us for the last
 * one. @own: each has parameters of its own. */
static void layers_of_a_graph(struct run *run, const char *before, const char *begins, int64_t product_us, bool own)
{
    begin(run);
    for (uint32_t layer = 0; layer < 3; layer++) {
        int64_t at_us = 6000 * layer;
        uint32_t number = 10 + 2 * layer;
        op(run, before, at_us - 10, 5, number);
        op(run, begins, at_us, 20, number);
        op(run, "aten::add", at_us + 20, 20, number);
        op(run, "aten::sum", at_us + 40, 20, number);
        op(run, "aten::diag", at_us + 60, 20, number);
        op(run, "aten::matmul", at_us + 80, layer == 2 ? product_us : 500, number);
        op(run, "aten::matmul", at_us + 80 + (layer == 2 ? product_us : 500), 100, number);
        op(run, "aten::linear", at_us + 5180, 50, number);
        op(run, "aten::relu", at_us + 5230, 10, number + 1);
    }
    op(run, "aten::sum", 18000, 10, 16);
    op(run, "aten::neg", 18020, 2, 17);
    for (uint32_t number = 17; number >= 10; number--) {
        int64_t at_us = 18400 + (17 - number) * 20;
        node_of(run, number % 2 ? "ReluBackward0" : "AddmmBackward0", at_us, 15, number);
        if (own || number > 15)
            node_of(run, "torch::autograd::AccumulateGrad", at_us + 16, 2, 0);
    }
    analyze(run);
}

static void what_layers_prepare_again_is_told_by_its_constants(void)
{
    struct run run;
    layers_of_a_graph(&run, "aten::item", "aten::eye", 500, true);
    is_int(habit(&run, "prepared_again", "count"), 3, "the same before each of three layers");
    end(&run);
    layers_of_a_graph(&run, "aten::argmin", "aten::eye", 500, true);
    is_int(habit(&run, "prepared_again", "count"), 0, "of what each layer chose: codes, experts");
    end(&run);
    layers_of_a_graph(&run, "aten::rand", "aten::eye", 500, true);
    is_int(habit(&run, "prepared_again", "count"), 0, "of what is drawn for each layer: edges to drop");
    end(&run);
    layers_of_a_graph(&run, "aten::item", "aten::norm", 500, true);
    is_int(habit(&run, "prepared_again", "count"), 0, "of each layer's own weight, as spectral norms");
    end(&run);
    layers_of_a_graph(&run, "aten::item", "aten::abs", 500, true);
    is_int(habit(&run, "prepared_again", "count"), 0, "without a constant it may be the layer's weight");
    end(&run);
    layers_of_a_graph(&run, "aten::item", "aten::eye", 500, false);
    is_int(habit(&run, "prepared_again", "count"), 0, "a loop over pieces of the data looks the same");
    end(&run);
    layers_of_a_graph(&run, "aten::item", "aten::eye", 5000, true);
    is_int(habit(&run, "prepared_again", "count"), 2, "what takes far longer is of other data");
    end(&run);
}

/* A convolution of that many microseconds with a product beside it; @other: the convolution of another layer. */
static void slow_convolutions(struct run *run, int64_t dur_us, const char *other)
{
    begin(run);
    op(run, "aten::_slow_conv2d_forward", 0, dur_us, 0);
    op(run, "aten::addmm", 10000, 4000, 0);
    op(run, other, 20000, 100, 0);
    analyze(run);
}

static void convolutions_without_onednn_are_told(void)
{
    static const char half[] = "[\"c10::Half\",\"c10::Half\"]";
    struct run run;
    slow_convolutions(&run, 6000, "aten::relu");
    is_int(habit(&run, "slow_convolution", "total_us"), 6000 + 4000, "with the products of the same model");
    is_int(habit(&run, "slow_convolution", "saves_us"), 8000, "most of it");
    end(&run);
    slow_convolutions(&run, 4000, "aten::relu");
    is_int(habit(&run, "slow_convolution", "count"), 0, "small ones in float32 go that way too");
    end(&run);
    slow_convolutions(&run, 6000, "aten::mkldnn_convolution");
    is_int(habit(&run, "slow_convolution", "count"), 0, "another one is taken by oneDNN");
    end(&run);
    begin(&run);
    op_with(&run, "aten::_slow_conv2d_forward", 0, 6000, 0, "[[8,3,64,64],[64,3,5,5]]", half);
    analyze(&run);
    is_int(habit(&run, "slow_convolution", "count"), 0, "types that are recorded tell more");
    end(&run);
    begin(&run);
    op(&run, "aten::_slow_conv2d_forward", 0, 6000, 0);
    for (int i = 1; i < 20; i++)
        op(&run, "aten::_slow_conv2d_forward", 10000 + 200 * i, 100, 0);
    analyze(&run);
    is_int(habit(&run, "slow_convolution", "count"), 0, "one of many small ones waited for the CPU");
    end(&run);
}

/* Operators one right behind the other, each of @dur_us; their names end with an empty one. */
static int64_t chain(struct run *run, int64_t at_us, const char *const *names, int64_t dur_us)
{
    for (; **names; names++, at_us += dur_us)
        op(run, *names, at_us, dur_us, 0);
    return at_us;
}

/* Tokens of a draft go through the model, which looks at @before each, keeps something by @keeps, and ends with scores. */
static void tokens(struct run *run, const char *before, const char *keeps)
{
    int64_t at_us = 0;
    begin(run);
    for (int i = 0; i < 4; i++) {
        const char *const head[] = { "aten::slice", "aten::embedding", before, "" };
        const char *const layer[] = { "aten::layer_norm", "aten::linear", keeps, "aten::scaled_dot_product_attention", "" };
        const char *const scores[] = { "aten::linear", "" };
        at_us = chain(run, at_us, head, 10);
        for (int j = 0; j < 4; j++)
            at_us = chain(run, at_us, layer, 10);
        at_us = chain(run, at_us, scores, 10);
    }
    op(run, "aten::cat", at_us, 10, 0);
    analyze(run);
}

static void tokens_that_are_known_are_told(void)
{
    struct run run;
    tokens(&run, "aten::is_nonzero", "aten::cat");
    is_int(habit(&run, "pass_in_turn", "saves_us"), 4 * 200 * 3 / 4, "all but one pass, whatever is asked of the mask");
    end(&run);
    tokens(&run, "aten::argmax", "aten::cat");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "each of them is chosen: text is generated");
    end(&run);
    tokens(&run, "aten::is_nonzero", "aten::contiguous");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "nothing is kept: what it makes may go into the next pass");
    end(&run);
}

/* Texts one behind the other, whose layers call so many operators each. */
static void texts(struct run *run, int within)
{
    static const char *const head[] = {
        "aten::embedding", "aten::eq", "aten::zeros_like", "aten::masked_fill_", "aten::logical_not", "aten::logical_not", ""
    };
    int64_t at_us = 0;
    begin(run);
    for (int i = 0; i < 4; i++) {
        at_us = chain(run, at_us, head, 10);
        for (int j = 0; j < 4; j++, at_us += within + 10) {
            op(run, "aten::_transformer_encoder_layer_fwd", at_us, within + 10, 0);
            for (int k = 0; k < within; k++)
                op(run, "aten::select", at_us + k, 1, 0);
        }
        op(run, "aten::mean", at_us, 10, 0);
        at_us += 10;
    }
    op(run, "aten::cat", at_us, 10, 0);
    analyze(run);
}

static void batches_of_texts_are_not_told(void)
{
    struct run run;
    texts(&run, 100);
    is_int(habit(&run, "pass_in_turn", "count"), 1, "layers of one text");
    end(&run);
    texts(&run, 300);
    is_int(habit(&run, "pass_in_turn", "count"), 0, "so many operators are those of several rows, each by itself");
    end(&run);
}

/* Pictures of a tensor that was taken apart, four of which go through the model; @layer and @other in each pass. */
static void pictures(struct run *run, const char *apart, const char *batch, const char *other)
{
    const char *const pass[] = { batch,          "aten::conv2d", "aten::relu", "aten::conv2d",  other,       "aten::mean",
                                 "aten::linear", "aten::argmax", "aten::item", "aten::softmax", "aten::add", "aten::add",
                                 "aten::add",    "aten::mul",    "aten::mul",  "aten::neg",     "aten::exp", "" };
    int64_t at_us = 10;
    begin(run);
    op(run, apart, 0, 10, 0);
    for (int i = 0; i < 4; i++)
        at_us = chain(run, at_us, pass, 10);
    analyze(run);
}

static void pictures_in_turn_are_told(void)
{
    struct run run;
    pictures(&run, "aten::unbind", "aten::unsqueeze", "aten::relu");
    is_int(habit(&run, "pass_in_turn", "saves_us"), 4 * 170 * 3 / 4, "whatever is chosen: the next one is there already");
    end(&run);
    pictures(&run, "aten::relu", "aten::unsqueeze", "aten::relu");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "pictures as they come");
    end(&run);
    pictures(&run, "aten::unbind", "aten::view", "aten::relu");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "batches of any size");
    end(&run);
    pictures(&run, "aten::unbind", "aten::unsqueeze", "aten::cat");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "a state goes in beside it");
    end(&run);
}

/* Pictures that are made of pictures; @mixed: what each is put together with before. */
static void filters(struct run *run, const char *mixed, const char *last)
{
    const char *const pass[] = { "aten::unsqueeze",
                                 mixed,
                                 "aten::conv2d",
                                 "aten::relu",
                                 "aten::conv2d",
                                 "aten::relu",
                                 last,
                                 "aten::clamp",
                                 "aten::mul",
                                 "aten::mul",
                                 "aten::neg",
                                 "aten::exp",
                                 "aten::neg",
                                 "aten::exp",
                                 "aten::neg",
                                 "aten::exp",
                                 "aten::neg",
                                 "" };
    int64_t at_us = 10;
    begin(run);
    op(run, "aten::unbind", 0, 10, 0);
    for (int i = 0; i < 4; i++)
        at_us = chain(run, at_us, pass, 10);
    analyze(run);
}

static void pictures_that_hang_on_the_one_before_are_not_told(void)
{
    struct run run;
    filters(&run, "aten::div", "aten::conv2d");
    is_int(habit(&run, "pass_in_turn", "count"), 1, "bytes become floats");
    end(&run);
    filters(&run, "aten::add", "aten::linear");
    is_int(habit(&run, "pass_in_turn", "count"), 1, "a class has not the form of a picture");
    end(&run);
    filters(&run, "aten::add", "aten::conv2d");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "the picture before is added");
    end(&run);
    filters(&run, "aten::slice", "aten::linear");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "a piece, where the answer before tells");
    end(&run);
    filters(&run, "aten::lerp_", "aten::linear");
    is_int(habit(&run, "pass_in_turn", "count"), 0, "an average so far");
    end(&run);
}

static void lists(struct run *run, int64_t gap_us, const char *last)
{
    begin(run);
    op(run, "aten::empty", 0, 10, 0);
    op(run, "aten::to", 10 + gap_us, 5, 0);
    op(run, "aten::lift_fresh", 15 + gap_us, 2, 0);
    op(run, last, 17 + gap_us, 2, 0);
    analyze(run);
}

static void tensors_of_lists_are_told(void)
{
    struct run run;
    lists(&run, 1000, "aten::detach_");
    is_int(habit(&run, "list_copied", "total_us"), 1010, "from the room to the tensor");
    end(&run);
    lists(&run, 20, "aten::detach_");
    is_int(habit(&run, "list_copied", "count"), 0, "a number alone");
    end(&run);
    lists(&run, 1000, "aten::relu");
    is_int(habit(&run, "list_copied", "count"), 0, "room that something else is written to");
    end(&run);
}

/* Questions to rows, which are normed for @norm_us; @before each @made_us are spent on something, and @then behind. */
static void questions(struct run *run, int64_t made_us, int64_t norm_us, const char *then)
{
    int64_t at_us = 0;
    begin(run);
    for (int i = 0; i < 4; i++, at_us += 1000) {
        const char *const rest[] = { "aten::clamp_min", "aten::expand_as", "aten::div", "aten::t", "aten::mm", then, "" };
        op(run, "aten::linear", at_us, made_us, 0);
        op(run, "aten::linalg_vector_norm", at_us + made_us, norm_us, 0);
        at_us = chain(run, at_us + made_us + norm_us, rest, 100);
    }
    analyze(run);
}

static void rows_that_are_normed_for_each_question_are_told(void)
{
    struct run run;
    questions(&run, 300, 5000, "aten::topk");
    is_int(habit(&run, "normed_again", "count"), 3, "all but the first, which may have been made before");
    is_int(habit(&run, "normed_again", "saves_us"), 3 * 5300, "norms and division");
    end(&run);
    questions(&run, 2000, 5000, "aten::topk");
    is_int(habit(&run, "normed_again", "count"), 0, "a model may have made them");
    end(&run);
    questions(&run, 100, 300, "aten::topk");
    is_int(habit(&run, "normed_again", "count"), 0, "a few rows cost nothing");
    end(&run);
    questions(&run, 300, 5000, "aten::relu");
    is_int(habit(&run, "normed_again", "count"), 0, "a layer");
    end(&run);
}

/* Four samples, each @taken from what is there, through layers and back, with @behind; then @join. */
static void samples(struct run *run, const char *taken, const char *behind, const char *join)
{
    int64_t at_us = 0;
    begin(run);
    for (int i = 0; i < 4; i++) {
        const char *const head[] = { taken,
                                     "aten::clone",
                                     "aten::linear",
                                     "aten::relu",
                                     "aten::linear",
                                     "aten::relu",
                                     "aten::linear",
                                     "aten::relu",
                                     "aten::linear",
                                     "aten::sum",
                                     "" };
        at_us = chain(run, at_us, head, 10);
        for (int j = 0; j < 8; j++, at_us += 10)
            node_of(run, j % 2 ? "ReluBackward0" : "AddmmBackward0", at_us, 10, (uint32_t)(10 + 8 * i + 7 - j));
        op(run, behind, at_us, 10, 0);
        at_us += 10;
    }
    op(run, join, at_us, 10, 0);
    analyze(run);
}

static void gradients_of_single_samples_are_told(void)
{
    struct run run;
    samples(&run, "aten::slice", "aten::abs", "aten::stack");
    is_int(habit(&run, "gradient_in_turn", "count"), 1, "one loop over all samples");
    is_int(habit(&run, "gradient_in_turn", "saves_us"), 4 * 190 * 3 / 4, "all but one pass");
    end(&run);
    samples(&run, "aten::slice", "aten::abs", "aten::sum");
    is_int(habit(&run, "gradient_in_turn", "count"), 0, "nothing is put together");
    end(&run);
    samples(&run, "aten::add", "aten::sign", "aten::stack");
    is_int(habit(&run, "gradient_in_turn", "count"), 0, "an input that goes down its gradient, step by step");
    end(&run);
    samples(&run, "aten::slice", "aten::sub_", "aten::stack");
    is_int(habit(&run, "gradient_in_turn", "count"), 0, "weights are trained by hand");
    end(&run);
    samples(&run, "aten::slice", "aten::item", "aten::stack");
    is_int(habit(&run, "gradient_in_turn", "count"), 0, "what is read may tell which piece is next");
    end(&run);
}

/* Series of which each next value is said by a layer, taken on by @between and @joined to those before; the recurrent layer
 * then begins with @state and takes @longer_us more for each. */
static void series(struct run *run, const char *between, const char *joined, const char *state, int64_t longer_us)
{
    int64_t at_us = 0, dur_us = 1000;
    begin(run);
    for (int i = 0; i < 3; i++, dur_us = 1000) {
        op(run, "aten::lstm", at_us, dur_us, 0);
        at_us += dur_us;
        for (int j = 0; j < 8; j++) {
            const char *const step[] = { "aten::slice", "aten::linear", between, joined, state, state, "" };
            at_us = chain(run, at_us, step, 10);
            dur_us += longer_us;
            op(run, "aten::lstm", at_us, dur_us, 0);
            at_us += dur_us;
        }
        op(run, "aten::stack", at_us, 10, 0);
        at_us += 10;
    }
    analyze(run);
}

static void series_that_are_gone_over_again_are_told(void)
{
    struct run run;
    series(&run, "aten::unsqueeze", "aten::cat", "aten::zeros", 100);
    is_int(habit(&run, "growing_prefix", "count"), 24, "all but the first of each series");
    is_int(habit(&run, "growing_prefix", "saves_us"), 3 * (8 * 1000 + 36 * 100 - 8 * 100), "all values but the last");
    end(&run);
    series(&run, "aten::unsqueeze", "aten::cat", "aten::zeros", 0);
    is_int(habit(&run, "growing_prefix", "count"), 0, "none is longer: features side by side");
    end(&run);
    series(&run, "aten::slice", "aten::cat", "aten::zeros", 100);
    is_int(habit(&run, "growing_prefix", "count"), 0, "a window that moves on");
    end(&run);
    series(&run, "aten::unsqueeze", "aten::add", "aten::zeros", 100);
    is_int(habit(&run, "growing_prefix", "count"), 0, "nothing is put behind");
    end(&run);
    series(&run, "aten::unsqueeze", "aten::cat", "aten::view", 100);
    is_int(habit(&run, "growing_prefix", "count"), 0, "the state is handed on");
    end(&run);
}

/* Four questions behind a layer that is asked once, each compared with all rows in @by; @then behind each. */
static void cosines(struct run *run, const char *by, int64_t made_us, const char *then)
{
    int64_t at_us = 0;
    begin(run);
    op(run, "aten::linear", 0, 100, 0);
    for (int i = 0; i < 4; i++) {
        op(run, "aten::mul", at_us + 200, made_us, 0);
        op(run, by, at_us + 200 + made_us, 4000, 0);
        op(run, then, at_us + 4200 + made_us, 100, 0);
        at_us += 4200 + made_us;
    }
    analyze(run);
}

static void cosines_with_all_rows_are_told(void)
{
    struct run run;
    cosines(&run, "aten::cosine_similarity", 100, "aten::topk");
    is_int(habit(&run, "normed_again", "count"), 3, "all but the first, which may have been made before");
    is_int(habit(&run, "normed_again", "saves_us"), 3 * 3800, "but the product with a vector");
    end(&run);
    cosines(&run, "aten::cosine_similarity", 3000, "aten::topk");
    is_int(habit(&run, "normed_again", "count"), 0, "new rows may have been made");
    end(&run);
    cosines(&run, "aten::cosine_similarity", 100, "aten::mean");
    is_int(habit(&run, "normed_again", "count"), 0, "nothing is searched: a score of pairs");
    end(&run);
    cosines(&run, "aten::pairwise_distance", 100, "aten::topk");
    is_int(habit(&run, "normed_again", "count"), 0, "no norms of rows");
    end(&run);
}

/* A sparse matrix that is made dense by @inner, and what follows. */
static void dense(struct run *run, const char *inner, const char *first, const char *second)
{
    const char *const rest[] = { first, second, "" };
    begin(run);
    op(run, "aten::to_dense", 0, 100, 0);
    if (inner)
        op(run, inner, 10, 80, 0);
    (void)chain(run, 100, rest, 500);
    analyze(run);
}

static void sparse_matrices_in_a_product_are_told(void)
{
    struct run run;
    dense(&run, "aten::_to_dense", "aten::matmul", "aten::relu");
    is_int(habit(&run, "diagonal_product", "total_us"), 600, "with the product right behind");
    end(&run);
    dense(&run, NULL, "aten::matmul", "aten::relu");
    is_int(habit(&run, "diagonal_product", "count"), 0, "it was dense");
    end(&run);
    dense(&run, "aten::_to_dense", "aten::linear", "aten::matmul");
    is_int(habit(&run, "diagonal_product", "count"), 0, "of a layer; and then it may be one of others");
    end(&run);
    dense(&run, "aten::_to_dense", "aten::add", "aten::matmul");
    is_int(habit(&run, "diagonal_product", "count"), 0, "not as it was");
    end(&run);
}

/* Probabilities that take @dur_us, of which the largest is looked for, and what comes behind. */
static void largest(struct run *run, const char *made_by, int64_t dur_us, const char *first, const char *second)
{
    const char *const rest[] = { "aten::argmax", first, second, "" };
    begin(run);
    op(run, "aten::conv2d", 0, 100, 0);
    op(run, made_by, 100, dur_us, 0);
    (void)chain(run, 100 + dur_us, rest, 10);
    analyze(run);
}

static void long_probabilities_for_a_maximum_are_told(void)
{
    struct run run;
    largest(&run, "aten::softmax", 900, "aten::to", "aten::conv2d");
    is_int(habit(&run, "order_only", "saves_us"), 900, "only places go on");
    end(&run);
    largest(&run, "aten::softmax", 900, "aten::eq", "aten::sum");
    is_int(habit(&run, "order_only", "count"), 1, "they are compared with labels");
    end(&run);
    largest(&run, "aten::softmax", 100, "aten::to", "aten::conv2d");
    is_int(habit(&run, "order_only", "count"), 0, "so few may be a reply");
    end(&run);
    largest(&run, "aten::softmax", 900, "aten::to", "aten::max");
    is_int(habit(&run, "order_only", "count"), 0, "how likely it is may be asked");
    end(&run);
    largest(&run, "aten::softmax", 900, "aten::resolve_neg", "aten::conv2d");
    is_int(habit(&run, "order_only", "count"), 1, "the places alone are handed to numpy");
    end(&run);
    largest(&run, "aten::softmax", 900, "aten::resolve_neg", "aten::resolve_neg");
    is_int(habit(&run, "order_only", "count"), 0, "the probabilities may be handed over too");
    end(&run);
    largest(&run, "aten::exp", 900, "aten::to", "aten::conv2d");
    is_int(habit(&run, "order_only", "count"), 0, "of another function the sign is not known");
    end(&run);
}

/* Rows of two tensors against each other by @pairs, and what is made of them; @before: the time of the operator before. */
static void enlarged_and_used(struct run *run, int64_t before_us, const char *second, const char *pairs, const char *then,
                              const char *last, const char *use, int64_t use_us)
{
    const char *const views[] = { "aten::unsqueeze", second, "" };
    begin(run);
    op(run, "aten::linear", 0, before_us, 0);
    int64_t at_us = chain(run, before_us, views, 10);
    op(run, pairs, at_us, 8000, 0);
    op(run, then, at_us + 8000, 4000, 0);
    op(run, last, at_us + 12000, 2000, 0);
    op(run, use, at_us + 14000, use_us, 0);
    analyze(run);
}

static void enlarged(struct run *run, int64_t before_us, const char *second, const char *pairs, const char *then,
                     const char *last)
{
    enlarged_and_used(run, before_us, second, pairs, then, last, "aten::topk", 100);
}

static void pairs_are_told_by_how_long_they_take(void)
{
    struct run run;
    enlarged(&run, 500, "aten::unsqueeze", "aten::sub", "aten::pow", "aten::sum");
    is_int(habit(&run, "all_pairs", "total_us"), 14000, "differences, squared and summed up");
    end(&run);
    enlarged(&run, 500, "aten::unsqueeze", "aten::mul", "aten::sum", "aten::topk");
    is_int(habit(&run, "all_pairs", "total_us"), 12000, "products and their sum");
    end(&run);
    enlarged(&run, 500, "aten::unsqueeze", "aten::sub", "aten::linalg_vector_norm", "aten::argmin");
    is_int(habit(&run, "all_pairs", "total_us"), 12000, "norms of differences");
    end(&run);
    enlarged(&run, 4000, "aten::unsqueeze", "aten::sub", "aten::pow", "aten::sum");
    is_int(habit(&run, "all_pairs", "count"), 0, "what is before may have made as many elements: a mean is taken off");
    end(&run);
    enlarged(&run, 500, "aten::view", "aten::sub", "aten::pow", "aten::sum");
    is_int(habit(&run, "all_pairs", "count"), 0, "one of them is as large as the result");
    end(&run);
    enlarged(&run, 500, "aten::unsqueeze", "aten::sub", "aten::exp", "aten::sum");
    is_int(habit(&run, "all_pairs", "count"), 0, "something else is made of each pair");
    end(&run);
}

static void differences_that_are_used_are_not_told(void)
{
    struct run run;
    enlarged_and_used(&run, 500, "aten::unsqueeze", "aten::sub", "aten::pow", "aten::sum", "aten::mul", 900);
    is_int(habit(&run, "all_pairs", "total_us"), 14000, "sums are scaled, of which there are less");
    end(&run);
    enlarged_and_used(&run, 500, "aten::unsqueeze", "aten::sub", "aten::pow", "aten::sum", "aten::sub", 8000);
    is_int(habit(&run, "all_pairs", "total_us"), 14000, "the next pairs");
    end(&run);
    enlarged_and_used(&run, 500, "aten::unsqueeze", "aten::sub", "aten::pow", "aten::sum", "aten::mul", 6000);
    is_int(habit(&run, "all_pairs", "count"), 0, "forces along the differences");
    end(&run);
}

/* Probabilities in their order, @sums so far, @drawn, and what the order is asked for. */
static void drawn(struct run *run, const char *sums, const char *draw, const char *last)
{
    const char *const names[] = { "aten::softmax", "aten::sort", sums, "aten::gt", "aten::masked_fill_", draw, last, "" };
    begin(run);
    (void)chain(run, 0, names, 1000);
    analyze(run);
}

static void draws_from_the_head_of_all_are_told(void)
{
    struct run run;
    drawn(&run, "aten::cumsum", "aten::multinomial", "aten::gather");
    is_int(habit(&run, "whole_sort", "total_us"), 5000, "from the sort to the draw");
    end(&run);
    drawn(&run, "aten::cumsum", "aten::scatter", "aten::multinomial");
    is_int(habit(&run, "whole_sort", "total_us"), 6000, "what is masked is put back before the draw");
    end(&run);
    drawn(&run, "aten::add", "aten::multinomial", "aten::gather");
    is_int(habit(&run, "whole_sort", "count"), 0, "no running sum");
    end(&run);
    drawn(&run, "aten::cumsum", "aten::sum", "aten::gather");
    is_int(habit(&run, "whole_sort", "count"), 0, "no draw: a metric");
    end(&run);
    drawn(&run, "aten::cumsum", "aten::multinomial", "aten::relu");
    is_int(habit(&run, "whole_sort", "count"), 0, "what was drawn is not looked up in the order");
    end(&run);
}

/* Four experts of two layers behind a choice; @takes is called within the last one, @behind on their results. */
static void mixture(struct run *run, const char *spreads, const char *takes, const char *behind)
{
    begin(run);
    op(run, "aten::topk", 0, 5, 10);
    op(run, "aten::softmax", 10, 5, 11);
    op(run, spreads, 20, 5, 12);
    for (int expert = 0; expert < 4; expert++) {
        op(run, "aten::linear", 100 + 100 * expert, 40, 0);
        op(run, expert == 3 ? takes : "aten::relu", 140 + 100 * expert, 10, 0);
        op(run, "aten::linear", 150 + 100 * expert, 40, 0);
    }
    op(run, "aten::stack", 500, 5, 0);
    op(run, "aten::unsqueeze", 510, 2, 0);
    op(run, "aten::mul", 515, 5, 0);
    op(run, behind, 525, 5, 0);
    analyze(run);
}

static void experts_without_rows_of_their_own_are_told(void)
{
    static const struct {
        const char *spreads, *takes, *behind, *what;
        int count;
    } rows[] = {
        { "aten::scatter", "aten::relu", "aten::sum", "each of them on all tokens, and summed up with weights", 1 },
        { "aten::gather", "aten::relu", "aten::sum", "what was chosen is not written among zeros", 0 },
        { "aten::scatter", "aten::index", "aten::sum", "one is handed rows of its own", 0 },
        { "aten::scatter", "aten::relu", "aten::relu", "the results are not summed up", 0 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct run run;
        mixture(&run, rows[i].spreads, rows[i].takes, rows[i].behind);
        is_int(habit(&run, "unused_expert", "count"), rows[i].count, rows[i].what);
        is_int(habit(&run, "unused_expert", "saves_us"), rows[i].count * 390 * 3 / 4, "all but one of four, at most");
        end(&run);
    }
}

/* Two steps of three layers, each with a matrix that is put together in so many us; @between them, @before all. */
static void sparse_layers(struct run *run, const char *before, const char *between, const int64_t takes_us[3])
{
    begin(run);
    for (int step = 0; step < 2; step++) {
        int64_t start_us = 2000 * step;
        row(run, "1", step ? "ProfilerStep#1" : "ProfilerStep#0", ANNOTATION, start_us, 2000);
        op(run, before, start_us + 10, 20, 0);
        for (int layer = 0; layer < 3; layer++) {
            int64_t layer_us = start_us + 100 + 500 * layer;
            op(run, "aten::sparse_coo_tensor", layer_us, 10, 0);
            op(run, "aten::coalesce", layer_us + 10, takes_us[layer] - 10, 0);
            op(run, "aten::linear", layer_us + 400, 20, 0);
            op(run, between, layer_us + 430, 20, 0);
        }
    }
    analyze(run);
}

static void sparse_matrices_of_each_layer_are_told(void)
{
    static const struct {
        const char *before, *between, *what;
        int64_t takes_us[3];
        int count;
    } rows[] = {
        { "aten::add", "aten::relu", "of three layers, in both steps", { 100, 100, 100 }, 6 },
        { "aten::add", "aten::add", "of one layer with three kinds of edges", { 100, 100, 100 }, 0 },
        { "aten::add", "aten::relu", "of samples, fewer from layer to layer", { 330, 100, 30 }, 0 },
        { "aten::index", "aten::relu", "the step may choose the entries", { 100, 100, 100 }, 0 },
    };
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++) {
        struct run run;
        sparse_layers(&run, rows[i].before, rows[i].between, rows[i].takes_us);
        is_int(habit(&run, "sorted_again", "count"), rows[i].count, rows[i].what);
        is_int(habit(&run, "sorted_again", "total_us"), 100 * rows[i].count, "put together and brought in order");
        end(&run);
    }
}

/* Steps that end with a concatenation and what is called behind it; the cut has a node with @sequence. */
static void queue(struct run *run, const char *then, const char *more, uint32_t sequence)
{
    begin(run);
    for (int step = 0; step < 4; step++) {
        int64_t start_us = 1000 * step;
        char name[40];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", step);
        row(run, "1", name, ANNOTATION, start_us, 1000);
        op(run, "aten::linear", start_us + 10, 100, (uint32_t)(100 * step + 10));
        node(run, start_us + 200, 100, (uint32_t)(100 * step + 10));
        row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, start_us + 400, 50);
        op(run, "aten::cat", start_us + 500, 200, sequence ? sequence + (uint32_t)(100 * step) : 0);
        op(run, then, start_us + 710, 5, sequence ? sequence + (uint32_t)(100 * step) + 1 : 0);
        op(run, more, start_us + 750, 5, sequence ? sequence + (uint32_t)(100 * step) + 2 : 0);
    }
    analyze(run);
}

/* Steps that put their input together and cut it. */
static void queue_before(struct run *run)
{
    const char *const names[] = { "aten::cat", "aten::slice", "aten::sub", "aten::flatten", "" };
    begin(run);
    for (int step = 0; step < 4; step++) {
        int64_t start_us = 1000 * step;
        char name[40];
        (void)snprintf(name, sizeof(name), "ProfilerStep#%d", step);
        row(run, "1", name, ANNOTATION, start_us, 1000);
        int64_t at_us = chain(run, start_us + 10, names, 100);
        op(run, "aten::linear", at_us, 100, (uint32_t)(100 * step + 10));
        node(run, at_us + 200, 100, (uint32_t)(100 * step + 10));
        row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, at_us + 400, 50);
    }
    analyze(run);
}

static void queues_that_are_copied_whole_are_told(void)
{
    struct run run;
    queue(&run, "aten::slice", "aten::contiguous", 0);
    is_int(habit(&run, "growing_cat", "count"), 4, "once a step");
    is_int(habit(&run, "growing_cat", "total_us"), 4 * (200 + 35), "with what is given back behind it");
    end(&run);
    queue(&run, "aten::slice", "aten::slice", 0);
    is_int(habit(&run, "growing_cat", "count"), 0, "two halves of a batch are both used");
    end(&run);
    queue(&run, "aten::linear", "aten::slice", 0);
    is_int(habit(&run, "growing_cat", "count"), 0, "a layer works on all of it");
    end(&run);
    queue_before(&run);
    is_int(habit(&run, "growing_cat", "count"), 0, "a signal that is rolled is what a layer gets");
    end(&run);
    queue(&run, "aten::slice", "aten::contiguous", 50);
    is_int(habit(&run, "growing_cat", "count"), 0, "of a model: it has a gradient");
    end(&run);
}

int main(void)
{
    tokens_that_are_known_are_told();
    batches_of_texts_are_not_told();
    pictures_in_turn_are_told();
    pictures_that_hang_on_the_one_before_are_not_told();
    tensors_of_lists_are_told();
    rows_that_are_normed_for_each_question_are_told();
    cosines_with_all_rows_are_told();
    gradients_of_single_samples_are_told();
    series_that_are_gone_over_again_are_told();
    sparse_matrices_in_a_product_are_told();
    long_probabilities_for_a_maximum_are_told();
    pairs_are_told_by_how_long_they_take();
    differences_that_are_used_are_not_told();
    draws_from_the_head_of_all_are_told();
    convolutions_without_onednn_are_told();
    a_weight_that_two_parameters_make_is_told();
    one_score_of_each_row_by_ones_is_told();
    tables_with_gradients_of_all_rows_are_told();
    layers_that_are_handed_time_steps_are_a_loop();
    gradients_that_are_asked_for_are_no_micro_batches();
    constants_that_follow_each_other_are_told_apart();
    values_that_are_read_behind_layers_are_told();
    pairs_are_told_by_gradients_that_are_summed_up();
    layers_of_all_pairs_are_told();
    a_call_without_node_has_none();
    what_layers_prepare_again_is_told_by_its_constants();
    queues_that_are_copied_whole_are_told();
    experts_without_rows_of_their_own_are_told();
    sparse_matrices_of_each_layer_are_told();
    return done();
}
