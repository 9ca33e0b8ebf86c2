/* SPDX-License-Identifier: MIT
 * Phases, operators with their GPU work, modules, lines, forward and backward, the narrowing: traces typed by hand. */
#include <stdlib.h>
#include <string.h>

#include "host_chain.h"
#include "pair_map.h"
#include "phase.h"
#include "random.h"
#include "row_set.h"
#include "typed_trace.h"

static void op(struct run *run, const char *thread, const char *name, int64_t start_us, int64_t dur_us, uint32_t sequence,
               uint32_t forward_thread)
{
    row(run, thread, name, OPERATOR, start_us, dur_us);
    if (sequence &&
        ap_trace_add_op_detail(run->trace, (struct ap_op_told){ .sequence = sequence, .forward_thread = forward_thread },
                               NULL) != AP_OK)
        abort();
}

static void op_of_shape(struct run *run, const char *name, int64_t start_us, int64_t dur_us, const char *dims)
{
    struct ap_op_told detail = { .sequence = 0 };
    row(run, "1", name, OPERATOR, start_us, dur_us);
    if (ap_trace_join_signature(run->trace, ap_text_of(dims), AP_TEXT("[\"float\"]"), &detail.signature, NULL) != AP_OK ||
        ap_trace_add_op_detail(run->trace, detail, NULL) != AP_OK)
        abort();
}

/* A call and the kernel that it launches on stream 7 of device 0. */
static void launch(struct run *run, const char *thread, int64_t call_us, const char *kernel, int64_t start_us,
                   int64_t dur_us)
{
    static uint32_t correlation;
    correlation++;
    row(run, thread, "cudaLaunchKernel", RUNTIME, call_us, 1);
    if (ap_trace_add_call_detail(run->trace, (struct ap_call_detail){ correlation, 0 }, NULL) != AP_OK)
        abort();
    row(run, "7", kernel, KERNEL, start_us, dur_us);
    if (ap_trace_add_work_detail(run->trace, (struct ap_work_detail){ .correlation = correlation }, NULL) != AP_OK)
        abort();
    run->trace->tracks[run->trace->events.track[run->trace->events.count - 1]].device = 0;
}

static void unlinked_kernel(struct run *run, const char *name, int64_t start_us, int64_t dur_us)
{
    row(run, "7", name, KERNEL, start_us, dur_us);
    if (ap_trace_add_work_detail(run->trace, (struct ap_work_detail){ .correlation = 0 }, NULL) != AP_OK)
        abort();
    run->trace->tracks[run->trace->events.track[run->trace->events.count - 1]].device = 0;
}

static void analyze_top(struct run *run, uint64_t top_n)
{
    run->top_n = top_n;
    analyze(run);
}

static int64_t cell(const struct ap_value *item, const char *key)
{
    return ap_value_integer(ap_value_member(item, key), -1);
}

static int64_t cell_us(const struct ap_value *item, const char *key)
{
    return ap_value_integer(ap_value_member(item, key), -1000) / 1000;
}

static int64_t sum_us(const struct run *run, const char *list, const char *key)
{
    int64_t sum = 0;
    for (const struct ap_value *item = ap_value_first(at(run, list)); item; item = item->next)
        sum += cell(item, key);
    return sum / 1000;
}

/* --------------------------------------------------------------------------------------------------------- phases */

/* One step of 100: loader 10, forward 20, backward on its own thread 30 with 5 of communication, optimizer 15. */
static void training_step(struct run *run)
{
    row(run, "1", "ProfilerStep#1", ANNOTATION, 0, 100);
    row(run, "1", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ANNOTATION, 0, 10);
    op(run, "1", "aten::linear", 10, 20, 0, 0);
    op(run, "1", "aten::addmm", 12, 10, 5, 0);
    launch(run, "1", 13, "gemm", 20, 8);
    op(run, "2", "autograd::engine::evaluate_function: AddmmBackward0", 40, 30, 5, 1);
    op(run, "2", "AddmmBackward0", 41, 20, 5, 1);
    launch(run, "2", 42, "gemm_backward", 50, 16);
    op(run, "2", "nccl:all_reduce", 63, 5, 0, 0);
    launch(run, "2", 64, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 70, 7);
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, 75, 15);
    op(run, "1", "aten::add_", 76, 5, 0, 0);
    launch(run, "1", 77, "add", 80, 3);
    op(run, "1", "aten::item", 92, 4, 0, 0);
}

static void phases_divide_the_step_without_overlap(void)
{
    struct run run;
    begin(&run);
    training_step(&run);
    unlinked_kernel(&run, "before", 1, 2);
    analyze(&run);
    is_int(us(&run, "phases.host_us"), 100, "of the one step");
    is_int(us(&run, "phases.data_loading.host_us"), 10, "the loader");
    is_int(us(&run, "phases.forward.host_us"), 20, "operators before the backward rows");
    is_int(us(&run, "phases.backward.host_us"), 25, "on its own thread, less what communication takes");
    is_int(us(&run, "phases.communication.host_us"), 5, "a collective within backward");
    is_int(us(&run, "phases.optimizer.host_us"), 15, "the annotation, not only its operators");
    is_int(us(&run, "phases.other.host_us"), 25, "the rest, an operator after backward included");
    is_int(sum_us(&run, "phases.items", "host_us"), 100, "parts add up to the step");
    is_int(us(&run, "phases.forward.device_us"), 8, "GPU work belongs to what launched it");
    is_int(us(&run, "phases.backward.device_us"), 16, "wherever it ran");
    is_int(us(&run, "phases.optimizer.device_us"), 3, "in the optimizer");
    is_int(us(&run, "phases.communication.device_us"), 7, "a collective kernel");
    is_int(us(&run, "phases.optimizer.longer_us"), 15, "the host is longer in the optimizer");
    is_int(us(&run, "phases.communication.longer_us"), 7, "the GPU in communication");
    is_int(us(&run, "phases.unknown.device_us"), 2, "without a launch");
    is_int(sum_us(&run, "phases.items", "device_us"), us(&run, "phases.device_us"), "parts add up to all GPU work");
    double number = 0;
    (void)ap_value_number(at(&run, "phases.backward_over_forward_ratio"), &number);
    ok(number == 2, "backward over forward, by GPU work");
    end(&run);
}

static void updates(struct run *run, const char *second)
{
    begin(run);
    row(run, "1", "Optimizer.step#SGD.step", ANNOTATION, 0, 30);
    op(run, "1", "aten::add_", 2, 8, 0, 0);
    launch(run, "1", 4, "add", 8, 400);
    op(run, "1", second, 12, 8, 0, 0);
    launch(run, "1", 14, "add", 408, 6);
    analyze(run);
}

static void one_pass_over_a_large_tensor_stays(void)
{
    struct run run;
    updates(&run, "aten::add_");
    is_int(us(&run, "phases.optimizer_cost_us"), 10 + 6, "of the long kernel what launching it takes");
    end(&run);
    updates(&run, "aten::mul_");
    is_int(us(&run, "phases.optimizer_cost_us"), 406, "several passes may be one");
    end(&run);
}

static void zeroed_gradients_cost_the_adding_too(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "ProfilerStep#1", ANNOTATION, 0, 100);
    row(&run, "1", "Optimizer.zero_grad#SGD.zero_grad", ANNOTATION, 0, 12);
    op(&run, "1", "aten::zero_", 2, 8, 0, 0);
    launch(&run, "1", 4, "fill", 8, 5);
    op(&run, "2", "torch::autograd::AccumulateGrad", 40, 20, 0, 0);
    op(&run, "2", "aten::add_", 42, 10, 0, 0);
    launch(&run, "2", 44, "add", 50, 15);
    op(&run, "2", "aten::add_", 70, 9, 0, 0); /* adds something else */
    launch(&run, "2", 72, "add", 80, 15);
    analyze(&run);
    is_int(us(&run, "phases.zeroed_gradients_us"), 12 + 15, "the host is longer in clearing, the GPU in adding");
    end(&run);

    begin(&run);
    row(&run, "1", "Optimizer.zero_grad#SGD.zero_grad", ANNOTATION, 0, 12);
    op(&run, "1", "aten::mm", 20, 8, 0, 0);
    launch(&run, "1", 22, "gemm", 30, 5);
    analyze(&run);
    is_int(us(&run, "phases.zeroed_gradients_us"), 0, "nothing is filled");
    end(&run);

    begin(&run);
    row(&run, "1", "ProfilerStep#1", ANNOTATION, 0, 100);
    row(&run, "1", "Optimizer.zero_grad#SGD.zero_grad", ANNOTATION, 0, 12);
    op(&run, "1", "aten::zero_", 2, 8, 0, 0);
    op(&run, "2", "torch::autograd::AccumulateGrad", 40, 20, 0, 0);
    op(&run, "2", "aten::add_", 42, 10, 0, 0);
    analyze(&run);
    is_int(us(&run, "phases.zeroed_gradients_us"), 12 + 10, "without a GPU the host's time");
    end(&run);

    begin(&run);
    row(&run, "1", "ProfilerStep#1", ANNOTATION, 0, 100);
    row(&run, "1", "Optimizer.zero_grad#SGD.zero_grad", ANNOTATION, 0, 12);
    op(&run, "2", "torch::autograd::AccumulateGrad", 40, 20, 0, 0);
    op(&run, "2", "aten::add_", 42, 10, 0, 0); /* of micro-batches */
    analyze(&run);
    is_int(us(&run, "phases.zeroed_gradients_us"), 0, "gradients are forgotten, though Python took a while");
    end(&run);
}

static void without_backward_it_is_inference(void)
{
    struct run run;
    begin(&run);
    op(&run, "1", "aten::linear", 0, 20, 0, 0);
    op(&run, "1", "aten::linear", 30, 20, 0, 0);
    analyze(&run);
    is_int(us(&run, "phases.inference.host_us"), 40, "operators");
    is_int(us(&run, "phases.other.host_us"), 10, "between them");
    is_int(us(&run, "phases.forward.host_us"), 0, "nothing is called forward");
    ok(is_null(&run, "phases.device_us"), "GPU work is unknown without GPU rows");
    ok(is_null(&run, "phases.inference.host_per_steady_step_us"), "and means without steps");
    ok(is_null(&run, "phases.backward_over_forward_ratio"), "no ratio");
    end(&run);
}

static void marks_reach_what_lies_within(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "train.py(3): main", PYTHON, 0, 100);
    row(&run, "1", "nn.Module: Net_0", PYTHON, 0, 20);
    row(&run, "1", "torch/_tensor.py(5): backward", PYTHON, 30, 30);
    row(&run, "1", "nn.Module: Net_0", PYTHON, 35, 10); /* checkpointing runs it again */
    op(&run, "1", "aten::mul", 36, 5, 0, 0);
    row(&run, "1", "torch/optim/sgd.py(9): step", PYTHON, 70, 10);
    analyze(&run);
    is_int(us(&run, "phases.forward.host_us"), 20, "a module outside of backward");
    is_int(us(&run, "phases.backward.host_us"), 30, "all that backward calls is backward");
    is_int(us(&run, "phases.optimizer.host_us"), 10, "a frame of the optimizer");
    is_int(us(&run, "phases.other.host_us"), 40, "plain frames are no phase");
    end(&run);
}

/* Lightning's loop: Optimizer.step of the frames calls the closure; the optimizer's row begins behind it. */
static void a_closure_is_no_part_of_the_optimizer(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "torch/optim/optimizer.py(520): wrapper", PYTHON, 0, 100);
    row(&run, "1", "loop.py(10): closure", PYTHON, 0, 80);
    row(&run, "1", "nn.Module: Linear_0", PYTHON, 10, 30);
    row(&run, "1", "aten::linear", OPERATOR, 10, 30);
    row(&run, "1", "autograd::engine::evaluate_function: AddmmBackward0", OPERATOR, 50, 20);
    row(&run, "1", "Optimizer.step#Adam.step", ANNOTATION, 80, 20);
    analyze(&run);
    is_int(us(&run, "phases.forward.host_us"), 30, "the model");
    is_int(us(&run, "phases.backward.host_us"), 20, "the backward pass");
    is_int(us(&run, "phases.optimizer.host_us"), 20, "the update alone");
    end(&run);
}

static void a_collective_beside_the_model_is_no_part_of_it(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "hccl:all_to_all", ANNOTATION, 0, 60);
    op(&run, "1", "c10d::alltoall_", 2, 5, 0, 0);
    row(&run, "1", "## forward ##", ANNOTATION, 10, 40);
    op(&run, "1", "aten::addmm", 12, 30, 0, 0);
    row(&run, "1", "## backward ##", ANNOTATION, 70, 30);
    analyze(&run);
    is_int(us(&run, "phases.communication.host_us"), 5, "its start");
    is_int(us(&run, "phases.forward.host_us"), 40, "what the model does until it is waited for");
    end(&run);
}

static void alone_nobody_communicates(void)
{
    struct run run;
    begin(&run);
    run.trace->world_size = 1;
    row(&run, "1", "hccl:all_to_all", ANNOTATION, 0, 60);
    op(&run, "1", "c10d::alltoall_", 2, 5, 0, 0);
    row(&run, "1", "## forward ##", ANNOTATION, 10, 40);
    row(&run, "1", "## backward ##", ANNOTATION, 70, 30);
    op(&run, "1", "c10d::allreduce_", 75, 20, 0, 0);
    analyze(&run);
    is_int(us(&run, "phases.communication.host_us"), 0, "a collective of one rank is no communication");
    is_int(us(&run, "phases.backward.host_us"), 30, "it is of the phase around it");
    end(&run);
}

static void nothing_gives_nothing(void)
{
    struct run run;
    begin(&run);
    analyze(&run);
    ok(is_null(&run, "phases") && is_null(&run, "operators") && is_null(&run, "modules"), "no rows, no phases");
    ok(is_null(&run, "frames") && is_null(&run, "autograd") && is_null(&run, "drilldown"), "nor anything else");
    end(&run);
    begin(&run);
    unlinked_kernel(&run, "k", 0, 5);
    analyze(&run);
    is_int(us(&run, "phases.unknown.device_us"), 5, "a kernel alone");
    ok(is_null(&run, "operators"), "is no operator");
    end(&run);
    begin(&run);
    row(&run, "1", "aten::add", OPERATOR, 5, 0);
    analyze(&run);
    is_int(us(&run, "phases.host_us"), 0, "one row without time");
    is_int(cell(find(&run, "operators.top", "name", "aten::add"), "count"), 1, "is an operator");
    end(&run);
}

/* ------------------------------------------------------------------------------------------------------ operators */

static void operators_have_the_work_they_launched(void)
{
    struct run run;
    begin(&run);
    op(&run, "1", "aten::linear", 0, 50, 0, 0);
    op(&run, "1", "aten::addmm", 5, 20, 0, 0);
    launch(&run, "1", 6, "gemm", 100, 40);
    launch(&run, "1", 30, "bias", 140, 10); /* linear itself */
    launch(&run, "1", 60, "alone", 150, 5); /* outside */
    unlinked_kernel(&run, "before", 0, 7);
    analyze(&run);
    const struct ap_value *linear = find(&run, "operators.top", "name", "aten::linear");
    const struct ap_value *addmm = find(&run, "operators.top", "name", "aten::addmm");
    is_int(cell_us(linear, "device_self_us"), 10, "the innermost operator has it");
    is_int(cell_us(linear, "device_total_us"), 50, "and those around it in total");
    is_int(cell_us(addmm, "device_self_us"), 40, "a leaf");
    is_int(cell(linear, "device_rows"), 2, "rows below count");
    is_int(cell_us(linear, "host_self_us"), 30, "host time as ever");
    is_int(us(&run, "operators.in_operators_device_us"), 50, "within operators");
    is_int(us(&run, "operators.outside_operators_device_us"), 5, "outside");
    is_int(us(&run, "operators.unlinked_device_us"), 7, "without launch");
    is_int(sum_us(&run, "operators.families", "device_self_us"), us(&run, "operators.device_us"), "families add up");
    is_int(sum_us(&run, "operators.families", "host_self_us"), us(&run, "operators.host_self_us"), "on the host too");
    is_int(us(&run, "operators.other_operators_device_us"), 0, "all are listed");
    end(&run);
}

static void recursion_counts_once(void)
{
    struct run run;
    begin(&run);
    op(&run, "1", "aten::add", 0, 50, 0, 0);
    op(&run, "1", "aten::mul", 1, 40, 0, 0);
    op(&run, "1", "aten::add", 2, 30, 0, 0);
    launch(&run, "1", 3, "k", 100, 10);
    launch(&run, "1", 45, "k", 110, 5);
    analyze_top(&run, 1);
    const struct ap_value *add = ap_value_first(at(&run, "operators.top"));
    is_int(cell_us(add, "device_total_us"), 15, "the outer one holds the inner one's work");
    is_int(cell_us(add, "device_self_us"), 15, "own work is no one else's");
    is_int(cell(add, "count"), 2, "both are calls");
    is_int(us(&run, "operators.other_operators_device_us"), 0, "the one that is not listed has none");
    end(&run);
}

static void what_is_passed_on_is_one_call(void)
{
    struct run run;
    begin(&run);
    for (int64_t i = 0; i < 3; i++) {
        op(&run, "1", "aten::linalg_vector_norm", 20 * i, 10, 0, 0);
        op(&run, "1", "aten::linalg_vector_norm", 20 * i + 1, 8, 0, 0);
        op(&run, "1", "aten::add_", 20 * i + 12, 4, 0, 0);
    }
    row(&run, "1", "Optimizer.step#SGD.step", ANNOTATION, 60, 20);
    op(&run, "1", "aten::add_", 62, 4, 0, 0);
    op(&run, "1", "aten::mul_", 68, 4, 0, 0);
    analyze(&run);
    is_int(ap_value_integer(at(&run, "cpu.signals.norm.count"), -1), 3, "a norm that a backend passes on under its name");
    is_int(us(&run, "cpu.signals.norm.total_dur_us"), 30, "takes what the outer row takes");
    is_int(ap_value_integer(at(&run, "cpu.signals.per_tensor_update.count"), -1), 2, "an optimizer updates in its step");
    end(&run);
}

static void crossing_rows_give_work_to_the_innermost_open_one(void)
{
    struct run run;
    begin(&run);
    op(&run, "1", "a", 0, 50, 0, 0);
    op(&run, "1", "b", 30, 50, 0, 0);
    launch(&run, "1", 60, "k", 100, 10); /* only b is open */
    analyze(&run);
    is_int(cell_us(find(&run, "operators.top", "name", "b"), "device_self_us"), 10, "the open one");
    is_int(us(&run, "operators.in_operators_device_us"), 10, "once");
    end(&run);
}

static void shapes_are_told_apart(void)
{
    struct run run;
    begin(&run);
    op_of_shape(&run, "aten::mm", 0, 10, "[[4,8],\n [8,2]]");
    launch(&run, "1", 1, "k", 100, 10);
    op_of_shape(&run, "aten::mm", 20, 20, "[[64,8],[8,2]]");
    launch(&run, "1", 21, "k", 110, 30);
    op_of_shape(&run, "aten::mm", 50, 5, "[[64,8],[8,2]]");
    analyze(&run);
    const struct ap_value *large = ap_value_first(at(&run, "operators.by_shape"));
    ok(ap_text_is(ap_value_text(ap_value_member(large, "dims")), "[[64,8],[8,2]]"), "the one with more work first");
    is_int(cell(large, "count"), 2, "equal inputs together");
    is_int(cell_us(large, "host_total_us"), 25, "host time");
    is_int(cell_us(large, "device_self_us"), 30, "GPU work");
    ok(ap_text_is(ap_value_text(ap_value_member(large->next, "dims")), "[[4,8], [8,2]]"), "line breaks are not shown");
    is_int(cell_us(ap_value_member(large, "slowest"), "start_us"), 20, "the row with the most work");
    is_int(us(&run, "operators.other_shapes_device_us"), 0, "all are listed");
    end(&run);
}

/* ----------------------------------------------------------------------------------------------- modules and lines */

static void modules_are_a_tree_by_class(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "nn.Module: Net_0", PYTHON, 0, 100);
    row(&run, "1", "nn.Module: Block_0", PYTHON, 10, 30);
    row(&run, "1", "nn.Module: Linear_7", PYTHON, 15, 10);
    launch(&run, "1", 16, "k", 200, 50);
    row(&run, "1", "nn.Module: Block_1", PYTHON, 50, 20);
    launch(&run, "1", 51, "k", 250, 20);
    row(&run, "1", "nn.Module: Norm_0", PYTHON, 80, 5);
    launch(&run, "1", 120, "k", 270, 8); /* after the modules */
    analyze_top(&run, 2);
    const struct ap_value *net = ap_value_first(at(&run, "modules.items")), *block = net->next, *other = block->next;
    ok(ap_text_is(ap_value_text(ap_value_member(net, "name")), "Net"), "the outermost first");
    is_int(cell_us(net, "host_total_us"), 100, "its time with all below it");
    is_int(cell_us(net, "host_self_us"), 45, "without");
    ok(ap_text_is(ap_value_text(ap_value_member(block, "name")), "Block"), "modules of a class are one row");
    is_int(cell(block, "instances"), 2, "of two modules");
    is_int(cell_us(block, "host_total_us"), 50, "both");
    is_int(cell_us(block, "device_us"), 70, "with the GPU work below them");
    ok(ap_text_is(ap_value_text(ap_value_member(ap_value_member(block, "slowest"), "name")), "nn.Module: Block_0"),
       "the slower one is named");
    ok(ap_text_is(ap_value_text(ap_value_member(other, "name")), "other"), "what is not listed");
    is_int(cell_us(net, "host_self_us") + cell_us(block, "host_total_us") + cell_us(other, "host_total_us"),
           cell_us(net, "host_total_us"), "a level adds up to the row above it");
    is_int(us(&run, "modules.outside_modules_device_us"), 8, "work outside of modules");
    end(&run);
}

static void lines_are_the_users(void)
{
    struct run run;
    begin(&run);
    row(&run, "1", "train.py(9): step", PYTHON, 0, 100);
    row(&run, "1", "torch/nn/functional.py(3): linear", PYTHON, 10, 30);
    row(&run, "1", "<built-in function linear>", PYTHON, 11, 20);
    op(&run, "1", "aten::linear", 12, 10, 0, 0);
    launch(&run, "1", 13, "k", 200, 50);
    row(&run, "1", "/opt/lib/python3.11/site-packages/mylib/layer.py(4): forward", PYTHON, 50, 20);
    op(&run, "1", "aten::linear", 52, 10, 0, 0);
    launch(&run, "1", 53, "k", 250, 10);
    analyze(&run);
    const struct ap_value *step = ap_value_first(at(&run, "frames.items"));
    ok(ap_text_is(ap_value_text(ap_value_member(step, "name")), "train.py(9): step"),
       "the line below which most was launched");
    is_int(cell_us(step, "device_self_us"), 50, "through a library");
    is_int(cell_us(step, "host_self_us"), 80, "less the time of the other line");
    is_int(cell_us(step->next, "device_self_us"), 10, "a library of someone else's counts as the user's");
    ok(ap_text_is(ap_value_text(ap_value_member(ap_value_first(at(&run, "operators.top")), "top_frame")),
                  "train.py(9): step"),
       "the operator names its line");
    end(&run);
}

static void the_line_behind_a_row_is_found(void)
{
    struct run run;
    struct ap_row_order order = { .gate = &run.gate };
    struct ap_host_tree tree = { .gate = &run.gate };
    struct ap_host_chains chains;
    begin(&run);
    row(&run, "1", "train.py(9): step", PYTHON, 0, 100);
    row(&run, "1", "torch/_tensor.py(3): item", PYTHON, 10, 30);
    row(&run, "1", "aten::item", OPERATOR, 12, 10);
    row(&run, "1", "aten::item", OPERATOR, 120, 10);
    is_int(ap_row_order_init(&order, run.trace, &run.gate, NULL), AP_OK, "rows in order");
    is_int(ap_host_tree_init(&tree, run.trace, &order, &run.gate, NULL), AP_OK, "rows in a tree");
    is_int(ap_host_chains_init(&chains, run.trace, &tree, &run.gate, NULL), AP_OK, "the table is read");
    is_u64(ap_host_chain_of(&chains, 2).line, 0, "through the library");
    is_u64(ap_host_chain_of(&chains, 0).line, 0, "a line stands for itself");
    is_u64(ap_host_chain_of(&chains, 3).line, AP_NO_ROW, "none is open");
    ap_host_chains_release(&chains);
    ap_host_tree_release(&tree);
    ap_row_order_release(&order);
    end(&run);
}

/* PyTorch's tracer misses the return of some built-in functions, and writes that they last to the end of the recording. */
static void a_function_is_open_no_longer_than_its_caller(void)
{
    static const struct {
        const char *name;
        unsigned tag;
        int64_t start, dur;
        uint32_t parent;
        const char *claim;
    } rows[] = {
        { "train.py(9): step", PYTHON, 0, 100, AP_NO_ROW, "the first step" },
        { "<built-in method apply of FunctionMeta object>", PYTHON, 10, 900, 0, "its call that does not return" },
        { "aten::mm", OPERATOR, 20, 10, 1, "has what it calls" },
        { "train.py(9): step", PYTHON, 200, 100, AP_NO_ROW, "the next step is not in it" },
        { "forward", ANNOTATION, 210, 200, 3, "a range may outlive the function that opens it" },
        { "train.py(20): log", PYTHON, 310, 50, 4, "and has what comes behind that" },
        { "aten::add", OPERATOR, 320, 60, 5, "an operator may outlive a function whose return is early" },
        { "aten::empty", OPERATOR, 370, 5, 6, "and has what it calls" },
    };
    struct run run;
    struct ap_row_order order = { .gate = &run.gate };
    struct ap_host_tree tree = { .gate = &run.gate };
    begin(&run);
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++)
        row(&run, "1", rows[i].name, rows[i].tag, rows[i].start, rows[i].dur);
    is_int(ap_row_order_init(&order, run.trace, &run.gate, NULL), AP_OK, "rows in order");
    is_int(ap_host_tree_init(&tree, run.trace, &order, &run.gate, NULL), AP_OK, "rows in a tree");
    for (size_t i = 0; i < AP_COUNT_OF(rows); i++)
        is_u64(ap_host_parent(&tree, (uint32_t)i), rows[i].parent, rows[i].claim);
    ap_host_tree_release(&tree);
    ap_row_order_release(&order);
    end(&run);
}

/* A long row keeps many others on its way up that ended long ago: a walk over them for each call would be quadratic. */
static uint32_t line_of_call_below_ended_rows(unsigned ended)
{
    struct run run;
    struct ap_row_order order = { .gate = &run.gate };
    struct ap_host_tree tree = { .gate = &run.gate };
    struct ap_host_chains chains;
    begin(&run);
    row(&run, "1", "train.py(9): step", PYTHON, 0, 10000);
    for (unsigned i = 0; i < ended; i++)
        row(&run, "1", "range", ANNOTATION, 1 + (int64_t)i, 3000);
    row(&run, "1", "top", ANNOTATION, 2999, 5000);
    row(&run, "1", "aten::item", OPERATOR, 7000, 10);
    is_int(ap_row_order_init(&order, run.trace, &run.gate, NULL), AP_OK, "rows in order");
    is_int(ap_host_tree_init(&tree, run.trace, &order, &run.gate, NULL), AP_OK, "rows in a tree");
    is_int(ap_host_chains_init(&chains, run.trace, &tree, &run.gate, NULL), AP_OK, "the table of frames is read");
    struct ap_host_chain chain = ap_host_chain_of(&chains, ended + 2);
    is_u64(chain.op, ended + 2, "the operator is found");
    ap_host_chains_release(&chains);
    ap_host_tree_release(&tree);
    ap_row_order_release(&order);
    end(&run);
    return chain.line;
}

static void a_walk_up_has_an_end(void)
{
    is_u64(line_of_call_below_ended_rows(AP_NESTING_MAX - 3), 0, "the line is found behind ranges that have ended");
    is_u64(line_of_call_below_ended_rows(AP_NESTING_MAX), AP_NO_ROW, "but not behind any number of them");
}

static void frames_are_told_by_name(void)
{
    static const struct {
        const char *name;
        bool is_user;
    } cases[] = {
        { "train.py(12): main", true },
        { "vllm/worker.py(3): run", true },
        { "torchvision/transforms/_functional_pil.py(241): resize", false },
        { "torchvision/datasets/folder.py(9): __getitem__", true },
        { "torchaudio/transforms/_transforms.py(9): forward", false },
        { "torchaudio/functional/filtering.py(9): lfilter", false },
        { "pandas/core/indexing.py(9): __getitem__", false },
        { "sklearn/metrics/_ranking.py(9): roc_auc_score", false },
        { "/home/me/torch_models/net.py(3): forward", true },
        { "torch/nn/modules/module.py(1501): _call_impl", false },
        { "/usr/lib/python3.10/threading.py(953): run", false },
        { "/opt/conda/lib/python3.10/site-packages/torch/_tensor.py(5): backward", false },
        { "/opt/conda/lib/python3.10/site-packages/mylib/a.py(5): f", true },
        { "contextlib.py(79): inner", false },
        { "<built-in method run_backward of torch._C._EngineBase object>", false },
        { "nn.Module: Linear_0", false },
        { "no place", false },
        { "", false },
    };
    for (size_t i = 0; i < AP_COUNT_OF(cases); i++) {
        struct run run;
        struct ap_user_frames frames;
        begin(&run);
        row(&run, "1", cases[i].name, PYTHON, 0, 1);
        is_int(ap_user_frames_init(&frames, run.trace, &run.gate, NULL), AP_OK, "the table is read");
        ok(ap_is_user_frame(&frames, run.trace->events.name[0]) == cases[i].is_user, cases[i].name);
        ap_user_frames_release(&frames);
        end(&run);
    }
}

/* ------------------------------------------------------------------------------------------------------- autograd */

static void backward_is_linked_to_forward(void)
{
    struct run run;
    begin(&run);
    training_step(&run);
    analyze(&run);
    const struct ap_value *pair = ap_value_first(at(&run, "autograd.by_forward_op"));
    is_int(ap_value_integer(at(&run, "autograd.backward_nodes"), -1), 1, "two rows are one node");
    is_int(ap_value_integer(at(&run, "autograd.linked_nodes"), -1), 1, "its forward operator is there");
    ok(ap_text_is(ap_value_text(ap_value_member(pair, "forward")), "aten::addmm"), "the producer");
    ok(ap_text_is(ap_value_text(ap_value_member(pair, "backward")), "AddmmBackward0"),
       "the node without the engine's words");
    is_int(cell_us(pair, "forward_device_us"), 8, "forward work");
    is_int(cell_us(pair, "backward_device_us"), 23, "backward work, what hooks launched included");
    end(&run);
}

static void the_last_to_start_is_the_producer(void)
{
    struct run run;
    begin(&run);
    op(&run, "1", "aten::linear", 0, 20, 5, 0);
    op(&run, "1", "aten::addmm", 5, 10, 5, 0);
    op(&run, "2", "AddmmBackward", 40, 10, 5, 1);
    op(&run, "1", "aten::sum", 60, 10, 5, 0); /* after the node: not its producer */
    op(&run, "2", "MulBackward", 80, 10, 5, 1);
    op(&run, "2", "OldBackward", 95, 5, 3, 1); /* forward before recording began */
    analyze(&run);
    ok(find(&run, "autograd.by_forward_op", "forward", "aten::addmm"), "of the rows before the first node");
    ok(!find(&run, "autograd.by_forward_op", "forward", "aten::sum"), "no later one");
    is_int(ap_value_integer(at(&run, "autograd.ambiguous_count"), -1), 1, "one number with two names");
    is_int(ap_value_integer(at(&run, "autograd.backward_nodes"), -1), 3, "nodes");
    is_int(ap_value_integer(at(&run, "autograd.linked_nodes"), -1), 2, "of which the forward is known");
    end(&run);
}

static void a_custom_function_is_not_made_by_what_ran_before_it(void)
{
    struct run run;
    begin(&run);
    op(&run, "1", "aten::zero_", 0, 5, 5, 0);
    op(&run, "1", "fbgemm::lookup", 8, 5, 0, 0);
    op(&run, "1", "my::pool", 20, 5, 6, 0);
    op(&run, "2", "torch::autograd::CppNode<Pool>", 30, 10, 6, 1);
    op(&run, "2", "torch::autograd::CppNode<Lookup>", 40, 10, 5, 1);
    analyze(&run);
    ok(!find(&run, "autograd.by_forward_op", "forward", "aten::zero_"), "its operator bears no number");
    ok(find(&run, "autograd.by_forward_op", "forward", "my::pool"), "one that does is linked");
    is_int(ap_value_integer(at(&run, "autograd.linked_nodes"), -1), 1, "and only that one");
    end(&run);
}

static void a_ratio_compares_like_with_like(void)
{
    struct run run;
    begin(&run);
    op(&run, "1", "aten::permute", 0, 5, 5, 0);
    op(&run, "2", "PermuteBackward0", 40, 10, 5, 1);
    launch(&run, "2", 42, "copy", 60, 16);
    analyze(&run);
    const struct ap_value *pair = ap_value_first(at(&run, "autograd.by_forward_op"));
    is_int(cell_us(pair, "backward_device_us"), 16, "backward work");
    is_int(ap_value_member(pair, "backward_over_forward_ratio")->type, AP_VALUE_NULL, "over none is not told by host time");
    end(&run);
}

/* ------------------------------------------------------------------------------------------------------ narrowing */

/* Every row that is divided is the sum of the rows right below it. */
static void levels_add_up(const struct run *run)
{
    bool fits = true;
    int64_t total = 0;
    for (const struct ap_value *item = ap_value_first(at(run, "drilldown.rows")); item; item = item->next) {
        int64_t depth = cell(item, "depth"), below = 0, rows = 0;
        total += depth ? 0 : cell(item, "time_us");
        for (const struct ap_value *next = item->next; next && cell(next, "depth") > depth; next = next->next)
            if (cell(next, "depth") == depth + 1) {
                below += cell(next, "time_us");
                rows++;
            }
        fits = fits && rows <= 8 && (!rows || below == cell(item, "time_us"));
    }
    ok(fits, "levels add up and are short");
    is_int(total, ap_value_integer(at(run, "drilldown.total_us"), -1), "the first level is everything");
}

static void narrowing_by_gpu_time(void)
{
    struct run run;
    begin(&run);
    training_step(&run);
    unlinked_kernel(&run, "before", 50, 2); /* while a step runs */
    analyze(&run);
    ok(ap_text_is(ap_value_text(at(&run, "drilldown.basis")), "GPU time"), "GPU work where there is any");
    is_int(us(&run, "drilldown.total_us"), 36, "all of it");
    ok(ap_text_is(ap_value_text(at(&run, "drilldown.narrowed.phase")), "backward"), "the largest phase");
    ok(ap_text_is(ap_value_text(at(&run, "drilldown.narrowed.operation")), "AddmmBackward0"), "and its operation");
    is_int(cell_us(find(&run, "drilldown.rows", "name", "outside steps"), "time_us"), 2, "launched before recording");
    levels_add_up(&run);
    end(&run);
}

static void narrowing_by_host_time(void)
{
    struct run run;
    char name[32];
    begin(&run);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "made_up_%d", i);
        op(&run, "1", name, i * 100, 20 + i, 0, 0);
    }
    analyze(&run);
    ok(ap_text_is(ap_value_text(at(&run, "drilldown.basis")), "host self time"), "operators where there is no GPU work");
    is_int(us(&run, "drilldown.total_us"), us(&run, "operators.host_self_us"), "all of it");
    ok(find(&run, "drilldown.rows", "name", "not listed"), "small ones are put together");
    levels_add_up(&run);
    end(&run);
}

/* ---------------------------------------------------------------------------------------------------------- tables */

static void pairs_are_numbered_in_order_of_first_sight(void)
{
    struct ap_gate gate;
    ap_gate_init(&gate, 0);
    struct ap_pair_map map = { .gate = &gate };
    bool fits = ap_pair_map_find(&map, 1, 2) == AP_PAIR_NONE;
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t number = 0;
        fits = fits && ap_pair_map_add(&map, i % 1000, i % 3, &number, NULL) == AP_OK && number == i;
    }
    for (uint32_t i = 0; i < 3000; i++)
        fits = fits && ap_pair_map_find(&map, i % 1000, i % 3) == i;
    ok(fits, "each pair keeps its number while the map grows");
    ok(ap_pair_map_find(&map, 1000, 0) == AP_PAIR_NONE, "others have none");
    ap_pair_map_release(&map);
    is_u64(gate.used_bytes, 0, "all memory is given back");
}

static void rows_of_a_set_are_numbered_in_order(void)
{
    struct ap_gate gate;
    struct ap_row_set set;
    ap_gate_init(&gate, 0);
    is_int(ap_row_set_init(&set, &gate, 1000, NULL), AP_OK, "room for a thousand");
    for (uint32_t row = 0; row < 1000; row += 7)
        (void)ap_row_set_add(&set, row);
    ok(!ap_row_set_add(&set, 7) && ap_row_set_add(&set, 999), "it is told what is new");
    ap_row_set_finish(&set);
    bool fits = set.count == 144 && ap_row_set_number(&set, 999) == 143;
    for (uint32_t row = 0; row < 999; row++)
        fits = fits && ap_row_set_number(&set, row) == (row % 7 ? AP_ROW_SET_NONE : row / 7);
    ok(fits, "numbers count up");
    ok(ap_row_set_next(&set, 0) == 0 && ap_row_set_next(&set, 1) == 7 && ap_row_set_next(&set, 700) == 700, "the next one");
    ok(ap_row_set_next(&set, 999) == 999 && ap_row_set_next(&set, 1000) == AP_ROW_SET_NONE, "and none behind the last");
    ap_row_set_remove(&set, 7);
    ok(!ap_row_set_has(&set, 7) && ap_row_set_next(&set, 1) == 14, "one that was taken out is passed over");
    ap_row_set_release(&set);
    is_u64(gate.used_bytes, 0, "all memory is given back");
}

/* ---------------------------------------------------------------------------------------------------------- chance */

/* Rows of all kinds at any place: whatever they are, parts add up. */
static void chance_adds_up(uint64_t seed)
{
    static const char *const names[] = { "aten::mm",
                                         "aten::add",
                                         "autograd::engine::evaluate_function: MmBackward0",
                                         "nccl:all_reduce",
                                         "Optimizer.step#SGD.step",
                                         "nn.Module: Net_0",
                                         "nn.Module: Net_1",
                                         "train.py(3): main",
                                         "torch/nn/functional.py(1): f",
                                         "enumerate(DataLoader)#x",
                                         "ProfilerStep#1" };
    static const unsigned kinds[] = { OPERATOR, OPERATOR, OPERATOR, OPERATOR, ANNOTATION, PYTHON, PYTHON, PYTHON };
    struct random random = { seed };
    struct run run;
    begin(&run);
    for (int i = 0; i < 120; i++) {
        const char *thread = random_below(&random, 3) ? "1" : "2";
        int64_t start_us = (int64_t)random_below(&random, 300), dur_us = (int64_t)random_below(&random, 60);
        if (random_below(&random, 4) == 0)
            launch(&run, thread, start_us, random_below(&random, 5) ? "gemm" : "ncclDevKernel_x", start_us + dur_us, dur_us);
        else if (random_below(&random, 4) == 0)
            op(&run, thread, names[random_below(&random, 4)], start_us, dur_us, 1 + (uint32_t)random_below(&random, 9),
               (uint32_t)random_below(&random, 2));
        else
            row(&run, thread, names[random_below(&random, AP_COUNT_OF(names))],
                kinds[random_below(&random, AP_COUNT_OF(kinds))], start_us, dur_us);
    }
    unlinked_kernel(&run, "before", 3, 9);
    analyze_top(&run, random_below(&random, 4));
    is_int(sum_us(&run, "phases.items", "host_us"), us(&run, "phases.host_us"), "host phases add up");
    is_int(sum_us(&run, "phases.items", "device_us"), us(&run, "phases.device_us"), "GPU phases add up");
    is_int(sum_us(&run, "operators.families", "device_self_us"), us(&run, "operators.device_us"), "families add up");
    is_int(sum_us(&run, "operators.families", "host_self_us"), us(&run, "operators.host_self_us"), "on the host too");
    is_int(us(&run, "operators.host_self_us"), us(&run, "cpu.operator_summary.self_dur_us"), "as counted elsewhere");
    is_int(sum_us(&run, "operators.top", "device_self_us") + us(&run, "operators.other_operators_device_us"),
           us(&run, "operators.in_operators_device_us"), "listed and others are all");
    levels_add_up(&run);
    end(&run);
}

/* ------------------------------------------------------------------------------------------------- refused memory */

static void step_with_modules(struct run *run)
{
    begin(run);
    training_step(run);
    row(run, "1", "train.py(3): main", PYTHON, 0, 100);
    row(run, "1", "nn.Module: Net_0", PYTHON, 10, 20);
    op_of_shape(run, "aten::mm", 30, 5, "[[64,8],[8,2]]");
}

static void every_refused_request_is_survived(void)
{
    refuse_each_request(step_with_modules, 0);
}

int main(void)
{
    phases_divide_the_step_without_overlap();
    one_pass_over_a_large_tensor_stays();
    zeroed_gradients_cost_the_adding_too();
    without_backward_it_is_inference();
    marks_reach_what_lies_within();
    a_closure_is_no_part_of_the_optimizer();
    a_collective_beside_the_model_is_no_part_of_it();
    alone_nobody_communicates();
    nothing_gives_nothing();
    operators_have_the_work_they_launched();
    recursion_counts_once();
    what_is_passed_on_is_one_call();
    crossing_rows_give_work_to_the_innermost_open_one();
    shapes_are_told_apart();
    modules_are_a_tree_by_class();
    lines_are_the_users();
    the_line_behind_a_row_is_found();
    a_function_is_open_no_longer_than_its_caller();
    a_walk_up_has_an_end();
    frames_are_told_by_name();
    backward_is_linked_to_forward();
    the_last_to_start_is_the_producer();
    a_custom_function_is_not_made_by_what_ran_before_it();
    a_ratio_compares_like_with_like();
    narrowing_by_gpu_time();
    narrowing_by_host_time();
    pairs_are_numbered_in_order_of_first_sight();
    rows_of_a_set_are_numbered_in_order();
    for (uint64_t seed = 1; seed <= 40; seed++)
        chance_adds_up(seed);
    every_refused_request_is_survived();
    return done();
}
