# SPDX-License-Identifier: MIT
"""Hostile traces and snapshots of any size: each function of CASES takes n and returns (trace or None, snapshot or None)
as JSON documents, or their bytes, of about n rows; a list in the place of the trace is a folder with those of several
ranks. To add one: a function with @case; its docstring says what is hostile."""
import gzip
import json
import random

CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def row(cat, name, tid, ts, dur, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def op(name, tid, ts, dur, **args):
    return row("cpu_op", name, tid, ts, dur, **args)


def step(number, ts, dur, tid=1):
    return row("user_annotation", f"ProfilerStep#{number}", tid, ts, dur)


def frame(name, tid, ts, dur, **args):
    return row("python_function", name, tid, ts, dur, **args)


def call(ts, dur, key, tid=1, name="cudaLaunchKernel"):
    return row("cuda_runtime", name, tid, ts, dur, correlation=key)


def kernel(ts, dur, key, stream=7, name="sgemm", device=0, **args):
    return row("kernel", name, stream, ts, dur, pid=device, device=device, stream=stream, correlation=key,
               **{"blocks per SM": 1.5, "est. achieved occupancy %": 40, **args})


def launch(ts, at, dur, key, stream=7, name="sgemm", tid=1, **args):
    return [call(ts, 1, key, tid), kernel(at, dur, key, stream, name, **args)]


def trace(*parts, **header):
    """Events and lists of events in one document."""
    events = []
    for part in parts:
        events += part if isinstance(part, list) else [part]
    return {"schemaVersion": 1, "with_stack": 1, "record_shapes": 1, "profile_memory": 1, "deviceProperties": [
        {"id": 0, "name": "A100", "totalGlobalMem": 85029158912, "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
        **header, "traceEvents": events}, None


def each(make, n, *more):
    return trace(*(make(i) for i in range(n)), *more)


# ---- inference engines, graphs, layers

def engine_step(name, ts, dur):
    return row("user_annotation", name, 1, ts, dur)


def graph_launch(ts, key, names):
    """A graph launch and its kernels, one behind the other."""
    return [call(ts, 1, key, 1, "cudaGraphLaunch"),
            *(kernel(ts + 2 + i, 1, key, 7, name) for i, name in enumerate(names))]


@case
def engine_steps_of_all_sizes(n):
    """Each step of an engine has a batch of its own, and work on a device of its own."""
    return each(lambda i: [engine_step(f"execute_context_{i}({3 * i})_generation_{i}({i})", 100 * i, 90),
                           call(100 * i + 1, 1, i + 1),
                           kernel(100 * i + 5, 1000 * n, i + 1, 7, "sgemm", i)], n // 3)


@case
def engine_steps_within_each_other(n):
    """Steps of an engine that all contain the next one."""
    return each(lambda i: engine_step(f"step[DECODE bs={i}]", i, 2 * n - 2 * i), n)


@case
def graphs_all_different(n):
    """Graph launches of four kernels, no two alike."""
    return each(lambda i: graph_launch(20 * i, i + 1, [f"k{i}", "a", "b", f"q{i % 7}"]), n // 5)


@case
def one_long_graph(n):
    """One graph launch with all kernels, which repeat in a pattern that never does: the word of Fibonacci."""
    word, longer = "a", "ab"
    while len(longer) < n:
        word, longer = longer, longer + word
    return trace(graph_launch(0, 1, [f"kernel_{letter}" for letter in longer[:n]]))


@case
def kernels_with_many_periods(n):
    """Stretches that repeat at each distance a few times, and one kernel again and again."""
    names = []
    distance = 3
    while len(names) < n:
        names += [f"k{i}" for i in range(distance)] * 3 + ["same"] * 5
        distance += 1
    return trace(graph_launch(0, 1, names[:n]))


@case
def neighbors_that_could_be_fused(n):
    """Nothing but an addition and a norm behind it."""
    add, norm = "vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >", "rms_norm_kernel<float>"
    return trace(graph_launch(0, 1, [add, norm] * (n // 2)))


@case
def products_of_all_shapes(n):
    """Each product has a shape and arguments of its own."""
    return each(lambda i: [op("aten::mm", 1, 20 * i, 15, **{"External id": i + 1, "Input Dims": [[i + 1, 8], [8, i + 2]],
                                                            "Input type": ["float", "float"],
                                                            "Input Strides": [[8, 1], [i + 2, 1]]}),
                           *launch(20 * i + 1, 20 * i + 5, 9, i + 1)], n // 3)


# ---- rows of the host

@case
def all_rows_nested(n):
    """Operators, each within the one before."""
    return each(lambda i: op("aten::mm", 1, i, 2 * n - 2 * i, **{"Input Dims": [[4, 8], [8, 2]]}), n)


@case
def nested_names(n):
    """Nested operators of different names, a kernel from each depth."""
    return each(lambda i: [op(f"aten::op{i}", 1, 2 * i, 10 * n - 4 * i, **{"External id": i}),
                           *launch(2 * i + 1, 2 * n + 2 * i, 1, i + 1)], n)


@case
def equal_times(n):
    """Operators that begin and end together."""
    return each(lambda i: op("aten::mm", 1, 5, 10), n)


@case
def equal_times_of_all_kinds(n):
    """Rows of all kinds that begin and end together."""
    kinds = ["cpu_op", "user_annotation", "python_function", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset",
             "cuda_sync"]
    return each(lambda i: row(kinds[i % 8], f"name{i % 16}", 1, 5, 10, correlation=i // 8, device=0, stream=1), n)


@case
def no_duration(n):
    """Rows of no length at one instant."""
    return each(lambda i: [op("aten::mm", 1, 5, 0), *launch(5, 5, 0, i)], n // 2)


@case
def equal_starts(n):
    return each(lambda i: op("aten::mm", 1, 5, 10 + i), n)


@case
def crossing_rows(n):
    """Each overlaps all others without nesting."""
    return each(lambda i: op(f"aten::op{i % 7}", 1, i, n), n)


@case
def crossing_frames(n):
    """Python frames that overlap without nesting, with calls below."""
    return each(lambda i: [frame(f"train.py({i}): f", 1, 2 * i, 2 * n), *launch(2 * i + 1, 2 * n + i, 1, i)], n // 3)


@case
def a_thread_per_row(n):
    return each(lambda i: op("aten::mm", i, i, 5), n)


@case
def a_thread_per_launch(n):
    return each(lambda i: launch(i, i + 2, 3, i, tid=i), n // 2)


@case
def threads_take_turns(n):
    return each(lambda i: [op("aten::mm", 1, 100 * i, 10), op("autograd::engine::evaluate_function: MmBackward0", i % 50 + 2,
                                                              100 * i + 20, 30)], n // 2)


@case
def threads_at_once(n):
    """Each row on its own thread, all at the same time, in one step."""
    return trace(step(1, 0, 100), *(op("aten::mm", 2 + i, 5, 10) for i in range(n)))


@case
def a_name_per_row(n):
    return each(lambda i: [op(f"aten::op{i}", 1, 10 * i, 8, **{"External id": i + 1, "Input Dims": [[i, 8], [8, 2]]}),
                           *launch(10 * i + 1, 10 * i + 3, 5, i + 1, name=f"kernel_{i}")], n // 3)


@case
def a_shape_per_row(n):
    return each(lambda i: [op("aten::mm", 1, 10 * i, 8, **{"External id": i + 1, "Input Dims": [[i, 8], [8, i]],
                                                           "Input type": ["float", "float"]}),
                           *launch(10 * i + 1, 10 * i + 3, 5, i + 1)], n // 3)


@case
def a_category_per_row(n):
    return each(lambda i: row(f"category{i}", "x", 1, 10 * i, 8), n)


@case
def an_annotation_per_row(n):
    return each(lambda i: [row("user_annotation", f"part {i}", 1, 10 * i, 9), op("aten::mm", 1, 10 * i + 1, 5)], n // 2)


@case
def nested_annotations(n):
    return each(lambda i: row("user_annotation", f"part {i % 50}", 1, i, 2 * n - 2 * i), n)


# ---- Python

@case
def deep_stack_with_calls_at_its_end(n):
    """Half of the rows are frames one in the other, the other half operators and launches in the innermost."""
    half = n // 2
    return trace([frame(f"f{i}.py({i}): g", 1, i, 100 * n - 2 * i) for i in range(half)],
                 *([op("aten::mm", 1, n + 10 * i, 8, **{"External id": i}), *launch(n + 10 * i + 1, n + 10 * i + 4, 3, i)]
                   for i in range(half // 3)))


@case
def gaps_within_a_deep_stack(n):
    """All frames but the outermost have ended, one around the other, when the first of many gaps begins; no row of the
    thread begins any more, and the launches are those of a thread that recorded nothing else."""
    third = n // 3
    return trace([frame("f.py(0): g", 1, 0, 1000 * n)], [frame(f"f{i}.py({i}): g", 1, 1 + i, 2 * third - 2 * i)
                                                         for i in range(third)],
                 *(launch(2 * n + 10 * i, 2 * n + 10 * i + 2, 3, i, tid=2) for i in range(third)))


@case
def deep_stack_of_library_frames(n):
    """No line of the user anywhere: every walk goes to the top."""
    half = n // 2
    return trace([frame(f"torch/nn/modules/module.py({i}): _call_impl", 1, i, 100 * n - 2 * i) for i in range(half)],
                 *([op("aten::item", 1, n + 10 * i, 8), call(n + 10 * i + 1, 5, i, name="cudaStreamSynchronize")]
                   for i in range(half // 2)))


@case
def a_stack_per_row(n):
    return each(lambda i: [frame(f"a{i}.py({i}): f", 1, 100 * i, 90), frame(f"b{i}.py({i}): g", 1, 100 * i + 1, 80),
                           op("aten::mm", 1, 100 * i + 2, 70), *launch(100 * i + 3, 100 * i + 5, 50, i)], n // 5)


@case
def modules_one_in_the_other(n):
    return each(lambda i: [frame(f"nn.Module: Layer{i}_0", 1, 4 * i, 100 * n - 8 * i,
                                 **{"Python id": i, "Python parent id": i - 1}),
                           op("aten::mm", 1, 4 * i + 1, 1)], n // 2)


@case
def one_module_in_itself(n):
    return each(lambda i: [frame("nn.Module: Layer_0", 1, 4 * i, 100 * n - 8 * i), *launch(4 * i + 1, 50 * n + i, 1, i)],
                n // 3)


@case
def a_module_per_row(n):
    return each(lambda i: [frame(f"nn.Module: Layer{i}_0", 1, 10 * i, 9), *launch(10 * i + 1, 10 * i + 4, 3, i)], n // 3)


# ---- steps

@case
def many_steps(n):
    return each(lambda i: [step(i, 20 * i, 18), op("aten::mm", 1, 20 * i + 1, 5), *launch(20 * i + 2, 20 * i + 4, 9, i)],
                n // 4)


@case
def many_steps_of_everything(n):
    """Step, thread, stream, operator, kernel, line and shape of its own for each launch."""
    return each(lambda i: [step(i, 20 * i, 18), frame(f"f{i}.py({i}): g", 1, 20 * i, 17),
                           op(f"aten::op{i}", 1, 20 * i + 1, 5, **{"External id": i + 1, "Input Dims": [[i]]}),
                           *launch(20 * i + 2, 20 * i + 4, 9, i + 1, stream=i, name=f"kernel_{i}"),
                           op("aten::mul", 2 + i, 20 * i + 3, 9)], n // 6)


@case
def nested_steps(n):
    return each(lambda i: [step(i, 2 * i, 20 * n - 4 * i), op("aten::mm", 1, 2 * i + 1, 1)], n // 2)


@case
def equal_steps(n):
    return each(lambda i: [step(i, 5, 100), op("aten::mm", 1, 6, 5)], n // 2)


@case
def overlapping_steps(n):
    return each(lambda i: [step(i, i, n), *launch(i, n + i, 1, i)], n // 3)


@case
def steps_over_threads_and_streams(n):
    """Long rows of many threads and streams that go through many steps."""
    part = n // 4
    return trace([step(i, 20 * i, 18) for i in range(part)], [op("aten::mm", 2 + i, 1 + i, 20 * part) for i in range(part)],
                 *(launch(20 * i + 1, 20 * i + 2, 20 * part, i, stream=i) for i in range(part)))


@case
def threads_behind_waits_for_the_interpreter(n):
    """Each thread has one frame, behind all waits of the loop's for the interpreter."""
    part = n // 4
    return trace(*([step(i, 6000 * i, 5950), frame("train.py(9): step", 1, 6000 * i, 5900),
                    op("aten::linear", 1, 6000 * i + 10, 100)] for i in range(part)),
                 *(frame("watch.py(3): total", 2 + i, 6000 * part, 10) for i in range(part)))


# ---- GPU

@case
def a_stream_per_row(n):
    return each(lambda i: launch(10 * i, 10 * i + 2, 5, i, stream=i), n // 2)


@case
def streams_at_once(n):
    """Kernels of many streams, all over one another."""
    return each(lambda i: launch(i, n + i, 2 * n, i, stream=i), n // 2)


@case
def a_device_per_row(n):
    return each(lambda i: [call(10 * i, 1, i), kernel(10 * i + 2, 5, i, device=i)], n // 2)


@case
def nested_kernels(n):
    """On one stream, each within the one before."""
    return each(lambda i: launch(i, n + i, 2 * n - 2 * i, i), n // 2)


@case
def kernels_of_one_graph(n):
    return trace(call(1, 5, 1, name="cudaGraphLaunch"), [kernel(10 + 2 * i, 1, 1, name=f"kernel_{i % 5}") for i in range(n)])


@case
def kernels_of_one_call(n):
    """One correlation, many calls, many kernels."""
    return each(lambda i: launch(3 * i, 3 * i + 1, 2, 1), n // 2)


@case
def kernels_without_calls(n):
    return each(lambda i: kernel(3 * i, 2, i), n)


@case
def all_wait_in_the_queue(n):
    """All calls first, then all kernels."""
    return each(lambda i: launch(2 * i, 2 * n + 2 * i, 2, i), n // 2)


@case
def calls_in_reverse(n):
    """Kernels start in the reverse order of their calls."""
    return each(lambda i: launch(2 * i, 4 * n - 2 * i, 1, i, stream=i % 3), n // 2)


@case
def a_gap_per_kernel(n):
    return each(lambda i: [*launch(100 * i, 100 * i + 2, 5, i), op("aten::mm", 1, 100 * i + 10, 80)], n // 3)


@case
def kernels_in_a_fibonacci_word(n):
    """No period, but repeats of every length."""
    word, longer = "a", "ab"
    while len(longer) < n // 2:
        word, longer = longer, longer + word
    return each(lambda i: launch(4 * i, 4 * i + 1, 2, i, name=f"kernel_{longer[i]}"), n // 2)


@case
def kernels_in_one_period(n):
    """One sequence, as long as a third of all."""
    period = n // 6
    return each(lambda i: launch(4 * i, 4 * i + 1, 2, i, name=f"kernel_{i % period}"), n // 2)


@case
def one_kernel_repeated(n):
    return each(lambda i: launch(4 * i, 4 * i + 1, 2, i), n // 2)


@case
def random_rows(n):
    chance = random.Random(1)
    kinds = ["cpu_op", "user_annotation", "python_function", "cuda_runtime", "kernel", "gpu_memcpy", "cuda_sync"]
    return each(lambda i: row(chance.choice(kinds), f"name{chance.randrange(60)}", chance.randrange(4),
                              chance.randrange(10 * n),
                              chance.randrange(n), correlation=chance.randrange(n), device=0, stream=chance.randrange(4)), n)


# ---- copies, waits, communication

@case
def all_copies(n):
    return each(lambda i: [op("aten::copy_", 1, 20 * i, 15, **{"External id": i + 1}),
                           call(20 * i + 1, 10, i + 1, name="cudaMemcpyAsync"),
                           row("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 20 * i + 3, 5, pid=0, device=0, stream=7,
                               correlation=i + 1, bytes=4096 + i)], n // 3)


@case
def all_waits(n):
    return each(lambda i: [*launch(20 * i, 20 * i + 2, 9, 2 * i),
                           call(20 * i + 4, 9, 2 * i + 1, name="cudaStreamSynchronize"),
                           row("cuda_sync", "Stream Synchronize", 7, 20 * i + 4, 8, pid=0, device=0, stream=7,
                               correlation=2 * i + 1)], n // 4)


@case
def waits_on_a_full_queue(n):
    """All launches, then all waits, which end together."""
    part = n // 3
    return trace(*(launch(2 * i, 100 * n, 5, i) for i in range(part)),
                 [call(2 * n + i, 200 * n, part + i, tid=2 + i, name="cudaDeviceSynchronize") for i in range(part)])


@case
def streams_wait_for_one_another(n):
    def chain(i):
        return [*launch(10 * i, 10 * i + 5, 4, 3 * i, stream=i), call(10 * i + 2, 1, 3 * i + 1, name="cudaEventRecord"),
                call(10 * i + 3, 1, 3 * i + 2, name="cudaStreamWaitEvent"),
                row("cuda_sync", "Stream Wait Event", i + 1, 10 * i + 4, 1, pid=0, device=0, stream=i + 1,
                    correlation=3 * i + 2,
                    wait_on_stream=i, wait_on_cuda_event_record_corr_id=3 * i + 1, wait_on_cuda_event_id=i)]
    return each(chain, n // 5)


@case
def all_wait_for_one_event(n):
    return trace(launch(1, 2, 3, 1), call(4, 1, 2, name="cudaEventRecord"), *(
        [call(10 * i + 10, 1, i + 3, name="cudaStreamWaitEvent"),
         row("cuda_sync", "Stream Wait Event", i + 8, 10 * i + 10, 1, pid=0, device=0, stream=i + 8, correlation=i + 3,
             wait_on_stream=7, wait_on_cuda_event_record_corr_id=2, wait_on_cuda_event_id=1)] for i in range(n // 2)))


def collective(i, ts, at, dur, size, group="0", stream=9):
    told = {"Collective name": "allreduce", "In msg nelems": size, "Out msg nelems": size, "Group size": 8, "dtype": "Float",
            "Process Group Name": group, "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", "Seq": i}
    return [op("record_param_comms", 1, ts, 5, **told), *launch(ts + 1, at, dur, i, stream,
                                                                "ncclDevKernel_AllReduce_Sum_f32_RING_LL", **told)]


@case
def all_collectives(n):
    return each(lambda i: collective(i, 20 * i, 20 * i + 3, 15, 1024), n // 3)


@case
def a_size_per_collective(n):
    return each(lambda i: collective(i, 20 * i, 20 * i + 3, 15, 1024 + 64 * i), n // 3)


@case
def a_group_per_collective(n):
    return each(lambda i: collective(i, 20 * i, 20 * i + 3, 15, 1024, f"{i}"), n // 3)


@case
def collectives_at_once(n):
    """All at the same time, on a stream each, with kernels over them."""
    return each(lambda i: [*collective(i, 10 * i, 10 * n, n, 1024, f"{i}", 9 + i), kernel(10 * n + i, n, n + i)], n // 4)


# ---- autograd, compiled regions, data loading

@case
def one_sequence_number(n):
    """All forward and all backward nodes share it."""
    return each(lambda i: [op("aten::mm", 1, 10 * i, 5, **{"Sequence number": 7, "Fwd thread id": 0}),
                           op("autograd::engine::evaluate_function: MmBackward0", 2, 10 * i + 10 * n, 5,
                              **{"Sequence number": 7, "Fwd thread id": 1})], n // 2)


@case
def nested_backward_nodes(n):
    return each(lambda i: op(f"autograd::engine::evaluate_function: Node{i}Backward0", 2, i, 2 * n - 2 * i,
                             **{"Sequence number": i, "Fwd thread id": 1}), n)


@case
def a_thread_per_row_behind_the_backward_pass(n):
    """Half of the rows are nodes of the autograd engine, the other half operators, each on a thread of its own."""
    half = n // 2
    return trace([op("autograd::engine::evaluate_function: MmBackward0", 1, 10 * i, 8) for i in range(half)],
                 [op("aten::mm", 2 + i, 10 * half + i, 5) for i in range(half)], launch(0, 20 * half, 5, 1))


@case
def searches_of_a_new_table_each(n):
    """Each table has a size of its own, so no search before is the same."""
    sizes = [20000 + i for i in range(n // 2)]
    return trace([op("aten::mul" if of_table else "aten::mm", 1, 10 * i + (0 if of_table else 5), 4,
                     **{"Input Dims": [[rows, 64], []] if of_table else [[4, 64], [64, rows]],
                        "Input type": ["float", "float"]})
                  for i, rows in enumerate(sizes) for of_table in (True, False)])


@case
def nested_compiled_regions(n):
    return each(lambda i: op(f"Torch-Compiled Region: {i}/0", 1, i, 2 * n - 2 * i), n)


@case
def compiled_regions(n):
    return each(lambda i: [op(f"Torch-Compiled Region: {i}/{i}", 1, 10 * i, 8), *launch(10 * i + 1, 10 * i + 3, 4, i,
                                                                                    name=f"triton_poi_fused_{i}")], n // 3)


@case
def all_data_loading(n):
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    return each(lambda i: [row("user_annotation", name, 1, 20 * i, 15), *launch(20 * i + 16, 20 * i + 18, 1, i)], n // 3)


@case
def nested_data_loading(n):
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    return each(lambda i: [row("user_annotation", name, 1, 2 * i, 20 * n - 4 * i), op("aten::mm", 1, 2 * i + 1, 1)], n // 2)


# ---- memory instants

def instant(ts, address, size, total, tid=1):
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts, "s": "t",
            "args": {"Addr": address, "Bytes": size, "Device Type": 1, "Device Id": 0, "Total Allocated": total,
                     "Total Reserved": 2 * total}}


@case
def instants_of_one_address(n):
    return each(lambda i: instant(i, 4096, 512 if i % 2 == 0 else -512, 512 * (1 - i % 2)), n)


@case
def instants_at_one_time(n):
    return each(lambda i: instant(5, 4096 * (i + 1), 512, 512 * (i + 1)), n)


@case
def instants_never_freed_in_deep_operators(n):
    half = n // 2
    return trace([op(f"aten::op{i}", 1, i, 100 * n - 2 * i) for i in range(half)],
                 [instant(n + i, 4096 * (i + 1), 512, 512 * (i + 1)) for i in range(half)])


@case
def instants_freed_in_order(n):
    half = n // 2
    return trace([step(i, 40 * i, 39) for i in range(half // 10)],
                 [instant(i, 4096 * (i + 1), 512, 512 * (i + 1)) for i in range(half)],
                 [instant(half + i, 4096 * (i + 1), -512, 512 * (half - i)) for i in range(half)])


@case
def instants_of_many_steps(n):
    return each(lambda i: [step(i, 20 * i, 18), instant(20 * i + 1, 4096 * (i + 1), 512 + i, 512),
                           op(f"aten::op{i}", 1, 20 * i + 1, 4)], n // 3)


# ---- begin and end, odd texts

@case
def pairs_one_in_the_other(n):
    return trace([{"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": i} for i in range(n // 2)],
                 [{"ph": "E", "pid": 1, "tid": 1, "ts": n + i} for i in range(n // 2)])


@case
def pairs_without_end(n):
    return trace([{"ph": "B", "cat": "cpu_op", "name": f"a{i}", "pid": 1, "tid": i % 9, "ts": i} for i in range(n)])


@case
def a_layout_per_event(n):
    """The keys of each event in another order."""
    chance = random.Random(1)

    def shuffled(event):
        items = list(event.items()) + [(f"key{chance.randrange(n)}", 1)]
        chance.shuffle(items)
        return dict(items)
    return each(lambda i: shuffled(op("aten::mm", 1, 10 * i, 8, **{f"arg{i}": i})), n)


@case
def paths_of_windows_as_they_are(n):
    """Names of a hundred backslashes that escape nothing, one of an ending far behind them."""
    def event(i):
        return json.dumps(op("NAME", 1, 10 * i, 8)).replace("NAME", ("a" if i % 2 else "C:") + r"\q" * 100 + r"\x.json")
    return ('{"traceEvents": [' + ", ".join(map(event, range(n))) + "]}").encode(), None


@case
def members_that_stand_twice(n):
    """Ten times in each event a member of its own, and of its arguments."""
    def event(i):
        text = json.dumps(op("aten::mm", 1, 10 * i, 8, pad=i))
        return text[:-2] + f', "pad": {i}' * 10 + "}" + ', "pid": 1' * 10 + "}"
    return ('{"traceEvents": [' + ", ".join(map(event, range(n))) + "]}").encode(), None


@case
def more_members_than_are_told_apart(n):
    """Each event has a hundred arguments in another order: some of their names are known after a while, and no more."""
    chance = random.Random(1)
    names = [f"argument {k}" for k in range(100)]
    return each(lambda i: op("aten::mm", 1, 10 * i, 8, **dict.fromkeys(chance.sample(names, 100), i)), n)


@case
def skipped_nesting(n):
    """A deep list in a member that nobody reads, and an object of many keys."""
    deep = []
    for _ in range(min(n, 400)):
        deep = [deep]
    return trace([op("aten::mm", 1, 10 * i, 8) for i in range(10)], other=deep, keys={f"k{i}": i for i in range(n)})


def launches_within(n):
    return [event for i in range(n // 3)
            for event in (op("aten::mm", 1, 10 * i, 8), *launch(10 * i + 1, 10 * i + 3, 5, i + 1))]


@case
def rows_below_frames_of_long_names(n):
    """Operators and kernels, all named differently, in a frame, a module and a step of names as long as there are rows."""
    name = "x" * 30 * n
    rows = [{**event, "name": f"{event['name']}{i // 3}"} for i, event in enumerate(launches_within(n))]
    return trace(frame(f"/home/me/{name}.py(12): f", 1, 0, 20 * n), frame(f"nn.Module: {name}_0", 1, 0, 20 * n),
                 row("user_annotation", f"ProfilerStep#1 {name}", 1, 0, 20 * n), rows)


@case
def kernels_of_a_call_with_long_shapes(n):
    """The operator that all kernels are of has more inputs than there are kernels."""
    sizes = [[8, 8]] * (3 * n)
    return trace(op("aten::scaled_dot_product_attention", 1, 0, 20 * n, **{
        "Input Dims": sizes, "Input type": ["float"] * len(sizes), "Input Strides": sizes, "External id": 7}),
        launches_within(n))


@case
def a_step_of_all_kinds_of_operators(n):
    """Forward and backward passes and an optimizer, with all names that habits of training are told by."""
    names = ["linear", "conv2d", "layer_norm", "select", "topk", "ones", "mul", "item", "clone", "sort", "cat", "dropout",
             "index", "cumsum", "multinomial", "argmax", "sum", "expand", "masked_fill"]
    forward = [op(f"aten::{names[(i * i + 3 * i) % len(names)]}", 1, 10 * i, 8, **{
        "Input Dims": [[1 + i % 5, 8, 16], [16, 16]], "Input type": ["float", "float"], "Sequence number": i + 1})
        for i in range(n // 4)]
    begin, backward = 10 * len(forward), []
    for i in range(n // 4):
        at = begin + 10 * i
        backward += [op(f"autograd::engine::evaluate_function: W{i % 7}Backward0", 2, at, 8, **{
            "Sequence number": len(forward) - i, "Fwd thread id": 1}),
            op("aten::mm", 2, at + 1, 3, **{"Input Dims": [[1 + i % 9, 8], [8, 16]]}),
            op("torch::autograd::AccumulateGrad", 2, at + 5, 2, **{"Input Dims": [[1 + i % 9, 16]]})]
    begin += 10 * (n // 4)
    update = [op("aten::add_", 1, begin + 1 + 10 * i, 8, **{"Input Dims": [[1 + i % 9, 16]]}) for i in range(n // 8)]
    return trace(forward, backward, row("user_annotation", "Optimizer.step#SGD.step", 1, begin, 10 * n), update)


@case
def one_long_name(n):
    return trace([op("x" * (40 * n), 1, 1, 5), op("<|`*_" * (8 * n), 1, 10, 5)])


# ---- snapshots

def stack(*names):
    return [{"filename": f"{name}.py", "line": 1 + index, "name": name} for index, name in enumerate(names)]


def block(address, size, state="active_allocated", frames=()):
    return {"address": address, "size": size, "requested_size": size, "state": state, "frames": list(frames)}


def segment(address, blocks, stream=0, pool=(0, 0), device=0, expandable=False):
    size = sum(b["size"] for b in blocks)
    used = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    return {"device": device, "address": address, "total_size": size, "allocated_size": used, "active_size": used,
            "requested_size": used, "stream": stream, "segment_type": "large", "segment_pool_id": list(pool),
            "is_expandable": expandable, "frames": [], "blocks": blocks}


def entry(action, address, size, time_us, frames=(), **more):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us, "frames": list(frames), **more}


def snapshot(segments, history=(), annotations=()):
    return None, {"segments": segments, "device_traces": [list(history)], "external_annotations": list(annotations),
                  "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": ""}}


MIB = 2**20
START_US = 1_700_000_000_000_000


@case
def segments_of_one_block(n):
    return snapshot([segment(MIB * 4 * i, [block(MIB * 4 * i, 2 * MIB)], stream=i % 5) for i in range(n)])


@case
def one_segment_of_many_blocks(n):
    return snapshot([segment(MIB, [block(MIB + 512 * i, 512, ("active_allocated", "inactive")[i % 2], stack(f"f{i % 50}"))
                                   for i in range(n)])])


@case
def segments_at_one_address(n):
    return snapshot([segment(MIB, [block(MIB, 512)]) for _ in range(n)])


@case
def a_pool_per_segment(n):
    return snapshot([segment(MIB * (i + 1), [block(MIB * (i + 1), 512), block(MIB * (i + 1) + 512, 512, "inactive")],
                             stream=i,
                             pool=(i, i)) for i in range(n // 2)])


@case
def a_device_per_segment(n):
    """As many as count as devices."""
    return snapshot([segment(MIB * (i + 1), [block(MIB * (i + 1), 512)], device=i) for i in range(n)])


@case
def segments_of_all_but_one_size(n):
    return snapshot([segment(MIB * 64 * i, [block(MIB * 64 * i, 512 * (1 + i)),
                                               block(MIB * 64 * i + 512 * (1 + i), 512, "inactive")],
                             expandable=i % 2 == 0) for i in range(n // 2)])


@case
def history_of_one_address(n):
    return snapshot([segment(MIB, [block(MIB, 512, "inactive")])],
                    [entry(("alloc", "free_requested", "free_completed")[i % 3], MIB, 512, START_US + i, stack("f"))
                     for i in range(n - n % 3)])


@case
def history_at_one_time(n):
    return snapshot([segment(MIB, [block(MIB, 512)])],
                    [entry("alloc", MIB + 512 * i, 512, START_US, stack(f"f{i % 9}")) for i in range(n)])


@case
def allocs_without_end(n):
    return snapshot([segment(MIB, [block(MIB + 512 * i, 512, frames=stack(f"f{i}")) for i in range(n // 2)])],
                    [entry("alloc", MIB + 512 * i, 512, START_US + i, stack(f"f{i}")) for i in range(n // 2)])


@case
def allocs_at_one_address(n):
    return snapshot([segment(MIB, [block(MIB, 512)])], [entry("alloc", MIB, 512, START_US + i) for i in range(n)])


@case
def frees_without_allocs(n):
    return snapshot([segment(MIB, [block(MIB, 512, "inactive")])],
                    [entry("free_completed", MIB + 512 * i, 512, START_US + i, stack("f")) for i in range(n)])


@case
def freed_in_order(n):
    part = n // 3
    return snapshot([segment(MIB, [block(MIB, 512 * part, "inactive")])],
                    [entry("alloc", MIB + 512 * i, 512, START_US + i, stack(f"f{i % 99}")) for i in range(part)] +
                    [entry(action, MIB + 512 * i, 512, START_US + part + i) for i in range(part)
                     for action in ("free_requested", "free_completed")])


@case
def freed_in_reverse(n):
    part = n // 3
    return snapshot([segment(MIB, [block(MIB, 512 * part, "inactive")])],
                    [entry("alloc", MIB + 512 * i, 512, START_US + i, stack(f"f{i}")) for i in range(part)] +
                    [entry(action, MIB + 512 * i, 512, START_US + 2 * part - i) for i in range(part - 1, -1, -1)
                     for action in ("free_requested", "free_completed")])


@case
def a_stack_per_allocation(n):
    return snapshot([segment(MIB, [block(MIB, 512 * n, "inactive")])],
                    [entry(action, MIB + 512 * i, 512, START_US + 2 * i + (action != "alloc"),
                           stack(f"f{i}", f"g{i}", "main"))
                     for i in range(n // 2) for action in ("alloc", "free_completed")])


@case
def deep_stacks(n):
    """Few allocations with stacks as deep as n."""
    return snapshot([segment(MIB, [block(MIB + 512 * i, 512, frames=stack(*(f"f{i}_{k}" for k in range(n // 8))))
                                   for i in range(4)])],
                    [entry("alloc", MIB + 512 * i, 512, START_US + i, stack(*(f"f{i}_{k}" for k in range(n // 8))))
                     for i in range(4)])


@case
def one_deep_stack(n):
    """A function that calls itself."""
    return snapshot([segment(MIB, [block(MIB, 512, frames=stack(*["f"] * n))])],
                    [entry("alloc", MIB, 512, START_US, stack(*["f"] * n))])


@case
def segments_come_and_go(n):
    return snapshot([], [entry(("segment_alloc", "segment_free")[i % 2], MIB * (i // 2 + 1), MIB, START_US + i, stack("f"))
                         for i in range(n)])


@case
def segments_all_come_then_go(n):
    half = n // 2
    return snapshot([], [entry("segment_alloc", MIB * (i + 1), MIB, START_US + i, stack("f")) for i in range(half)] +
                    [entry("segment_free", MIB * (i + 1), MIB, START_US + half + i, stack("f")) for i in range(half)])


@case
def one_segment_mapped_in_pieces(n):
    half = n // 2
    return snapshot([segment(MIB, [block(MIB, 2 * MIB * half, "inactive")], expandable=True)],
                    [entry("segment_map", MIB + 2 * MIB * i, 2 * MIB, START_US + i) for i in range(half)] +
                    [entry("segment_unmap", MIB + 2 * MIB * i, 2 * MIB, START_US + half + i) for i in range(half)])


@case
def all_out_of_memory(n):
    return snapshot([segment(MIB * 4 * i, [block(MIB * 4 * i, 512), block(MIB * 4 * i + 512, MIB, "inactive")])
                     for i in range(n // 2)],
                    [entry("oom", 0, 64 * MIB, START_US + i, stack(f"f{i}"), device_free=MIB) for i in range(n // 2)])


@case
def fragments_then_out_of_memory(n):
    part = n // 4
    return snapshot([segment(MIB, [block(MIB + 1024 * i, 512) for i in range(part)])],
                    [entry("alloc", MIB + 512 * i, 512, START_US + i, stack("f")) for i in range(2 * part)] +
                    [entry("free_completed", MIB + 1024 * i + 512, 512, START_US + 2 * part + i) for i in range(part)] +
                    [entry("oom", 0, 64 * MIB, START_US + n, stack("f"), device_free=MIB)])


@case
def growing_in_every_period(n):
    """Of ten periods each keeps a little more, from many stacks."""
    tenth = n // 20
    history = []
    for period in range(10):
        for i in range(tenth):
            at = period * tenth + i
            history.append(entry("alloc", MIB + 1024 * at, 512, START_US + 1000 * n * period + i, stack(f"f{i}")))
            history.append(entry("alloc", 2**40, 4096, START_US + 1000 * n * period + i, stack(f"g{i}")))
            history.append(entry("free_completed", 2**40, 4096, START_US + 1000 * n * period + i, stack(f"g{i}")))
    return snapshot([segment(MIB, [block(MIB + 1024 * i, 512) for i in range(10 * tenth)])], history)


class Trainer:
    """Entries of a training whose allocations are all of chosen sizes and stacks, and what is alive at its end."""

    def __init__(self):
        self.history, self.at, self.alive = [], MIB, {}

    def add(self, action, address, size, names):
        frames = [{"filename": file, "line": 1, "name": name} for file, name in names]
        self.history.append(entry(action, address, size, START_US + len(self.history), frames))

    def alloc(self, size, *names):
        self.at += 1 << 24
        self.add("alloc", self.at, size, names)
        self.alive[self.at] = size
        return self.at

    def free(self, address, *names):
        self.add("free_requested", address, self.alive[address], names)
        self.add("free_completed", address, self.alive.pop(address), names)

    def snapshot(self, before=()):
        blocks = [block((1 << 45) + (index << 24), size) for index, size in enumerate(before)]
        blocks += [block(address, size) for address, size in sorted(self.alive.items())]
        return snapshot([segment(b["address"], [b]) for b in sorted(blocks, key=lambda b: b["address"])], self.history)


FORWARD, BACKWARD, STEP, ZERO, LOADER = (("model.py", "forward"), ("x.cpp", "torch::autograd::Engine::evaluate_function("),
                                         ("/torch/optim/adam.py", "step"), ("/torch/optim/optimizer.py", "zero_grad"),
                                         ("loader.py", "load"))


def passes(n, stacks, sizes, ahead, loss):
    """Four passes: batches made ahead, outputs kept into the next pass, gradients dropped behind the next forward."""
    run, part, queue, outputs, gradients = Trainer(), n // 60, [], [], []
    for _ in range(4):
        queue += [run.alloc(4096, (f"q{i % stacks}.py", "main")) for i in range(ahead * part)]
        fresh = [run.alloc(2048 + sizes * i, FORWARD, (f"m{i % stacks}.py", "main")) for i in range(part)]
        for address in outputs:
            run.free(address, (f"m{address % stacks}.py", "main"))
        for address in gradients:
            run.free(address, ZERO)
        outputs, gradients = fresh, [run.alloc(1024 + sizes * i, BACKWARD) for i in range(part)]
        for address in queue[:part]:
            run.free(address, LOADER)
        del queue[:part]
        for _ in range(part // 4):
            run.free(run.alloc(512, STEP, LOADER), STEP)
    for i in range(loss):
        run.history.append(entry("oom", 0, 1 << 30, START_US + len(run.history), stack(f"f{i}"), device_free=MIB))
    return run


@case
def passes_of_one_kind(n):
    """All alike: whatever looks for its like meets all others."""
    return passes(n, 1, 0, 2, 0).snapshot([1024] * (n // 8))


@case
def passes_of_many_kinds(n):
    """Each allocation has a stack and a size of its own, and looks for its like in vain."""
    return passes(n, n, 512, 2, 0).snapshot([1024 + 512 * i for i in range(n // 8)])


@case
def sets_of_the_sizes_of_weights(n):
    """What is older than the history are eight sets of the sizes of the gradients, and more that is not."""
    part = n // 60
    return passes(n, n, 512, 1, 0).snapshot([1024 + 512 * (i % part) for i in range(8 * part)] +
                                            [1536 + 1024 * i for i in range(part)])


@case
def failures_among_many_kinds(n):
    """Of the last failures each asks who holds others like it."""
    return passes(n, n, 512, 1, n // 8).snapshot([128256 * 512] * (n // 16))


@case
def graphs_that_go_together_at_the_end(n):
    """Of each pass eight activations of four lines are left over; all let go of their first, then of their second ..."""
    run, graphs = Trainer(), []
    for _ in range(n // 32):
        graphs.append([run.alloc(4096, (f"m{i % 4}.py", "forward")) for i in range(8)])
        run.free(run.alloc(512, BACKWARD), BACKWARD)
    for i in range(8):
        for graph in graphs:
            run.free(graph[i], ("train.py", "main"))
    return run.snapshot([1024] * 8)


@case
def sizes_of_all_kinds(n):
    return snapshot([segment(MIB, [block(MIB, 512, "inactive")])],
                    [entry(action, MIB + 2**20 * i, 512 + i, START_US + 2 * i + (action != "alloc"), stack("f"))
                     for i in range(n // 2) for action in ("alloc", "free_completed")])


@case
def an_annotation_per_entry(n):
    return snapshot([segment(MIB, [block(MIB, 512)])], [entry("alloc", MIB, 512, START_US)],
                    [{"name": f"step {i}", "stage": ("START", "END")[i % 2], "device": 0, "time_us": START_US + i}
                     for i in range(n)])


# ---- chosen against tables and trees: what collides where a key is known, constant or lost

def shapes_with(words):
    """Signatures whose raw text begins with `[["`, so that the bytes behind can be chosen: PLACE is 8 bytes."""
    events, _ = each(lambda i: op("aten::mm", 1, 10 * i, 8, **{"Input Dims": [[f"{i:05x}PLACEHER{'x' * 20}"]]}), words[0])
    return json.dumps(events, separators=(",", ":")).encode().replace(b"PLACEHER", words[1]), None


@case
def shapes_against_a_product_with_a_constant(n):
    """Every second word is one by which a hash may multiply: the product is 0, and with it went the seed."""
    return shapes_with((n, (0xe7037ed1a0b428db).to_bytes(8, "little")))


@case
def shapes_against_a_key_of_zeros(n):
    return shapes_with((n, bytes(8)))


@case
def addresses_of_equal_low_bits(n):
    """In use at once, and freed in the order of their coming; they differ in bits 48 to 63 alone."""
    part = min(n // 3, 2**16)
    return snapshot([segment(MIB, [block(MIB, 512)])],
                    [entry("alloc", (i << 48) + MIB, 512, START_US + i) for i in range(part)] +
                    [entry(action, (i << 48) + MIB, 512, START_US + (1 + turn) * part + i)
                     for turn, action in enumerate(("free_requested", "free_completed")) for i in range(part)])


def scattered(index):
    """What was once the priority of a chunk."""
    x = index * 0x9e3779b9 % 2**32
    x = (x ^ x >> 16) * 0x85ebca6b % 2**32
    x = (x ^ x >> 13) * 0xc2b2ae35 % 2**32
    return x ^ x >> 16


@case
def free_segments_against_fixed_priorities(n):
    """Sizes in the order of fixed priorities, so that a tree by size becomes a list."""
    sizes, at, segments = {}, MIB, []
    for rank, index in enumerate(sorted(range(n), key=scattered)):
        sizes[index] = 2 * MIB + 512 * rank
    for index in range(n):
        segments.append(segment(at, [block(at, sizes[index], "inactive")]))
        at += sizes[index] + MIB
    return snapshot(segments, [entry("alloc", at, 512, START_US), entry("free_completed", at, 512, START_US + 1)])


# ---- many ranks

def process_of(rank):
    return {"ph": "M", "name": "process_name", "pid": rank + 1, "tid": 0, "args": {"name": f"RANK {rank} - CPU"}}


@case
def a_rank_per_row_in_one_file(n):
    """Merged traces: each row is of a rank of its own, and has a name of its own."""
    return trace(*([process_of(i), row("cpu_op", f"op{i}", 1, 10 * i, 8, pid=i + 1)] for i in range(n // 4)))


@case
def few_ranks_in_one_file(n):
    ranks = 4
    return trace(*[process_of(rank) for rank in range(ranks)],
                 *(row("cpu_op", f"op{i}", 1, 10 * i, 8, pid=i % ranks + 1, **{"Input Dims": [[i, 2]]}) for i in range(n)))


def dumped(at, group, name="all_reduce", state="completed", sequence=None, size=64):
    return {"record_id": at, "pg_id": 0, "process_group": [str(group), "undefined"], "op_id": at, "p2p_seq_id": 0,
            "collective_seq_id": at if sequence is None else sequence, "profiling_name": f"nccl:{name}",
            "time_created_ns": 10**18 + at, "input_sizes": [[size]], "input_dtypes": ["Float"], "output_sizes": [[size]],
            "output_dtypes": ["Float"], "state": state, "time_discovered_started_ns": 0, "retired": state == "completed",
            "time_discovered_completed_ns": 0, "timeout_ms": 600000, "is_p2p": False}


def dump(groups, entries):
    return {"version": "2.10", "pg_status": {}, "entries": entries,
            "pg_config": {str(name): {"name": str(name), "desc": "undefined", "ranks": str(sorted(members))}
                          for name, members in groups.items()}}


@case
def all_entries_of_one_group(n):
    """The last call is missing on one rank."""
    each_rank, everybody = n // 4, {0: range(4)}
    return [dump(everybody, [dumped(i, 0, state="scheduled" if i + 1 == each_rank else "completed")
                             for i in range(each_rank - (rank == 2))]) for rank in range(4)], None


@case
def a_group_per_entry(n):
    each_rank = n // 4
    groups = {i: range(4) for i in range(each_rank)}
    return [dump(groups, [dumped(i, i, state="scheduled", sequence=1) for i in range(each_rank)]) for _ in range(4)], None


@case
def calls_differ_everywhere(n):
    each_rank, names = n // 4, ("all_reduce", "all_gather", "broadcast", "reduce")
    return [dump({0: range(4)}, [dumped(i, 0, names[(rank + i) % 4], "scheduled", size=64 + rank) for i in range(each_rank)])
            for rank in range(4)], None


def ring(n, closed):
    """Ranks in pairs: each waits in the group with the next one, and has not come to that with the one before."""
    ranks = max(n // 16, 4)
    dumps = []
    for rank in range(ranks):
        groups = {number: (number, (number + 1) % ranks) for number in {rank, (rank - 1) % ranks}}
        last = rank == ranks - 1 and not closed
        dumps.append(dump(groups, [] if last else [dumped(0, rank, state="scheduled", sequence=1)]))
    return dumps, None


@case
def a_chain_of_waiting_ranks(n):
    return ring(n, False)


@case
def a_circle_of_waiting_ranks(n):
    return ring(n, True)


@case
def collectives_of_few_ranks(n):
    """One is late; each has a folder's file of its own."""
    def of_rank(rank):
        events, _ = trace(*(collective(i, 40 * i, 40 * i + (9 if rank == 1 else 1), 20 if rank == 1 else 28, 64)
                            for i in range(n // 12)), distributedInfo={"rank": rank, "world_size": 4, "backend": "nccl"})
        return events
    return [of_rank(rank) for rank in range(4)], None


# ---- both of one run

@case
def one_run(n):
    """Steps, instants and history of the same allocations, all from different places."""
    part = n // 8
    times = [20 * i for i in range(part)]
    events, _ = trace(*([step(i, at, 18), op(f"aten::op{i}", 1, at + 1, 9), instant(at + 2, MIB + 512 * i, 512, 512 * i),
                         *launch(at + 3, at + 5, 5, i)] for i, at in enumerate(times)), baseTimeNanoseconds=START_US * 1000)
    _, memory = snapshot([segment(MIB, [block(MIB + 512 * i, 512, frames=stack(f"f{i}")) for i in range(part)])],
                         [entry("alloc", MIB + 512 * i, 512, START_US + at + 2, stack(f"f{i}"))
                          for i, at in enumerate(times)])
    return events, memory


# ---- files of other profilers

def speedscope(frames, *profiles):
    return {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
            "profiles": [{"name": f"Thread {i}", "unit": "microseconds", "startValue": 0, "endValue": 10**7, **profile}
                         for i, profile in enumerate(profiles)]}, None


@case
def samples_that_share_nothing(n):
    """Stacks of sixteen frames, no two of which have one in common."""
    return speedscope([{"name": f"f{i}", "file": "/srv/a.py", "line": i} for i in range(n)],
                      {"type": "sampled", "samples": [list(range(i, i + 16)) for i in range(0, n - 16, 16)],
                       "weights": [1] * len(range(0, n - 16, 16))})


@case
def one_deep_sample(n):
    """Each sample goes one frame deeper than the one before, then back."""
    depth = int((n / 2)**0.5)
    samples = [list(range(i)) for i in range(1, depth)]
    return speedscope([{"name": f"f{i}"} for i in range(depth)],
                      {"type": "sampled", "samples": samples + samples[::-1], "weights": [1] * (2 * len(samples))})


@case
def frames_that_never_close(n):
    """All are opened, one in the other, and a thread for every other one."""
    opened = [{"type": "O", "frame": 0, "at": i} for i in range(n // 2)]
    return speedscope([{"name": "f"}], {"type": "evented", "events": opened},
                      *({"type": "evented", "events": [{"type": "O", "frame": 0, "at": 1}]} for _ in range(n // 4)))


@case
def browser_tasks_in_each_other(n):
    """VizTracer's and the browser's categories, nested and crossing."""
    return trace(*(row("FEE" if i % 2 else "devtools.timeline,v8", f"f{i % 97}", 1, i, 3 * (n - i)) for i in range(n)),
                 viztracer_metadata={"version": "1.0"})


@case
def empty_gzip_members(n):
    """Compressed, with a member of nothing for each row: what a member takes by itself."""
    events = b'{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}'
    return gzip.compress(events) + gzip.compress(b"") * n, None
