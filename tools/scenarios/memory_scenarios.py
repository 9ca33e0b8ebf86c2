#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Modeled memory scenarios: a job with one planted cause, and its healthy twin.

    memory_scenarios.py [CAUSE...]               write them to fixtures/scenarios
    memory_scenarios.py --check                  compare with what is there; exit 1 if anything differs
    memory_scenarios.py --vary 5 --out FOLDER    write each with five other seeds, models, batches and devices

Jobs run on a model of PyTorch's caching allocator (allocator_model.py, memory_jobs.py); no PyTorch and no GPU. What a cause
costs is the difference between a run with it and a run without it; of jobs that fail, on a device that has no end.
"""
import argparse
import functools
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from make_fixtures import squeezed, unpacked  # noqa: E402
from scenarios.allocator_model import GIB, OutOfMemory  # noqa: E402
from scenarios.memory_jobs import (A100_BYTES, CALLS, CONTEXT_BYTES, EVALUATE, H100_BYTES, MAIN, RTX_BYTES,  # noqa: E402
                                   TORCH, TRAIN_STEP, V100_BYTES, Job, Transformer, in_module, released, stack)

ENDLESS_BYTES = 4096 * GIB
SERVE = (("/srv/job/serve.py", 57, "run"), ("/srv/job/serve.py", 92, "<module>"))
CACHE = (("/srv/job/kv_cache.py", 41, "update"),) + SERVE


class Setup:
    """One size of a job. share: of the device that a batch is to fill, where it was looked for once; None = look for it.
    history_from_step: what came before is not in the history. unwound: the failed step's tensors are dropped before the
    snapshot is taken, as after an exception that was caught. python_only, bare: see Job."""

    def __init__(self, **changes):
        self.seed, self.layers, self.width, self.vocabulary = 1, 3, 2048, 32000
        self.tokens, self.steps, self.capacity, self.element_bytes = 8192, 6, A100_BYTES, 2
        self.share, self.limit_bytes = None, None
        self.python_only, self.bare, self.history_from_step, self.unwound = False, False, 0, False
        self.__dict__.update(changes)

    def with_(self, **changes):
        return Setup(**{**self.__dict__, **changes})

    def job(self, **rules):
        rules = {"capacity_bytes": self.capacity, "limit_bytes": self.limit_bytes, **rules}
        return Job(self.seed, python_only=self.python_only, bare=self.bare, history_from_step=self.history_from_step,
                   **rules)

    def model(self, job, **how):
        return Transformer(job, self.layers, self.width, self.vocabulary, self.element_bytes, **how)

    def room_bytes(self):
        return self.limit_bytes or self.capacity - CONTEXT_BYTES

    def tokens_for(self, share, checkpoint=False):
        """The largest batch, in steps of 64, whose training peaks within this share of the device."""
        sizes = (self.layers, self.width, self.vocabulary, self.element_bytes)
        return largest_batch(sizes, int(share * self.room_bytes()), checkpoint)

    def inference_bytes_a_token(self):
        job = Setup.job(self, capacity_bytes=ENDLESS_BYTES, limit_bytes=None)
        model = self.model(job, trained=False)
        before = job.allocator.reserved_bytes
        model.forward(16384, grad=False)
        return (job.allocator.peak_reserved_bytes - before) / 16384


@functools.lru_cache(None)
def largest_batch(sizes, most_bytes, checkpoint):
    def fits(tokens):
        job = Job(1, capacity_bytes=ENDLESS_BYTES)
        model = Transformer(job, *sizes)
        for _ in range(2):
            model.train_step(tokens, checkpoint=checkpoint)
        return job.allocator.peak_active_bytes <= most_bytes
    low, high = 1, 8192
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * 64) else (low, middle)
    return low * 64


SCENARIOS = {}


class Scenario:
    def __init__(self, cause, build, accept, note, cost, **setup):
        self.cause, self.build, self.accept, self.note, self.cost, self.setup = cause, build, accept, note, cost, setup


def scenario(cause, accept, note, cost, **setup):
    """build(setup, planted) runs the job. cost: how the two runs are compared."""
    def keep(build):
        SCENARIOS[cause] = Scenario(cause, build, accept, note, cost, **setup)
        return build
    return keep


# ---- what a cause costs

def peak_reserved(job):
    return job.allocator.peak_reserved_bytes


def peak_active(job):
    return job.allocator.peak_active_bytes


def live_at_end(job):
    return job.allocator.requested_bytes


def window(job):
    return job.window_ns()


UNITS = {peak_reserved: "bytes", peak_active: "bytes", live_at_end: "bytes", window: "us"}
MEASURES = {peak_reserved: "peaks of reserved memory", peak_active: "peaks of memory in use",
            live_at_end: "bytes live at the end",
            window: "modeled windows"}


# ---- out of memory

def until_it_fails(job, setup, step, number, fails):
    """fails: whether the job is meant to; a healthy one that does is a mistake of this file."""
    try:
        for index in range(number):
            step(index)
    except OutOfMemory:
        if not fails:
            raise
        job.fail(setup.unwound)
    return job


@scenario("batch-out-of-memory", ["oom-truly-full"], "the batch needs more than the device has", peak_reserved, layers=4,
          tokens=0)
def batch_oom(setup, planted):
    tokens = setup.tokens_for(1.12 if planted else 0.7)
    job = setup.job()
    model = setup.model(job)
    return until_it_fails(job, setup, lambda index: model.train_step(tokens), setup.steps - 2, planted)


@scenario("fragmentation-out-of-memory", ["oom-fragmented"],
          "sequence lengths vary from step to step, until a request fails that "
          "the free pieces together would hold; the twin pads to the longest", peak_reserved, layers=3, steps=9, tokens=0,
          share=0.88)
def fragmentation_oom(setup, planted):
    """The least batch at which the varying lengths fail while the longest alone fits."""
    share = setup.share or next(p for p in range(70, 97, 2)
                                if not passes(setup, p / 100, True) and passes(setup, p / 100, False)) / 100
    job = setup.job()
    return until_it_fails(job, setup, lambda _: varying_lengths(job, setup, share, planted), 1, planted)


def passes(setup, share, vary_them, least_retries=0):
    job = Setup.job(setup)
    try:
        varying_lengths(job, setup, share, vary_them)
    except OutOfMemory:
        return False
    return job.allocator.retries >= least_retries


def varying_lengths(job, setup, share, vary_them):
    model, longest = setup.model(job), setup.tokens_for(share)
    for index in range(setup.steps):
        part = min(1.0, 0.55 + 0.05 * index + 0.1 * job.sim.random.random()) if vary_them else 1.0
        model.train_step(int(longest * part))


@scenario("logits-out-of-memory", ["oom-huge-request"],
          "the loss makes the logits of the whole batch over a large vocabulary at "
          "once; the twin makes them in chunks", peak_reserved, layers=2, width=1024, vocabulary=128256, steps=4, tokens=0,
          capacity=RTX_BYTES, element_bytes=4)
def logits_oom(setup, planted):
    tokens = int(0.54 * setup.capacity / setup.vocabulary / setup.element_bytes) // 64 * 64
    job = setup.job()
    model = setup.model(job)

    def step(_):
        model.train_step(tokens, chunks=1 if planted else 16)
    return until_it_fails(job, setup, step, setup.steps, planted)


@scenario("other-process-holds-device", ["oom-other-users"], "another process on the same device holds most of its memory",
          None,
          steps=3, tokens=0, profiled=True)
def other_process(setup, planted):
    tokens = setup.tokens_for(0.6)
    job = setup.job(others_bytes=CONTEXT_BYTES + (int(0.62 * setup.capacity) if planted else 0))
    model = setup.model(job)
    job.start_profile()
    return until_it_fails(job, setup, lambda index: model.train_step(tokens), setup.steps, planted)


@scenario("device-taken-by-others", ["oom-other-users"],
          "after some steps empty_cache() gives the cache back, and another process takes it; the twin has the device to "
          "itself", None, steps=4, tokens=0)
def taken_by_others(setup, planted):
    tokens, job = setup.tokens_for(0.6), setup.job()
    model = setup.model(job)

    def step(index):
        if index == setup.steps // 2:
            job.empty_cache()
            job.allocator.others_bytes += int(0.75 * job.allocator.device_free_bytes()) if planted else 0
        model.train_step(tokens)
    return until_it_fails(job, setup, step, setup.steps, planted)


# ---- leaks

@scenario("caches-of-ended-requests", ["memory-leak"],
          "a server generates word by word, and keeps each request's cache of keys and values after its last word; the twin "
          "drops it", live_at_end, steps=5, tokens=64, layers=1)
def ended_requests(setup, planted):
    job, kept = setup.job(), []
    model = setup.model(job, trained=False)
    row = 64 * setup.width * setup.element_bytes
    for _ in range(setup.steps):
        cache = [job.obtain(row, stack("cat", *CACHE)) for _ in range(2 * setup.layers)]
        for word in range(2, 16):
            job.release(model.forward(setup.tokens, grad=False, outer=SERVE), released(*SERVE))
            for index, old in enumerate(cache):
                cache[index] = job.obtain(word * row, stack("cat", *CACHE))
                job.release(old, released(*CACHE))
        kept.append(cache)
        for address in () if planted else kept.pop():
            job.release(address, released(*SERVE))
    return job


def evaluation_batch(setup, model, job, keeps_graph, kept, tokens):
    with job.step():
        nodes = model.loss(model.forward(tokens, outer=EVALUATE), tokens, outer=EVALUATE)
        kept.append(nodes)
        if not keeps_graph:
            model.drop(kept.pop(), EVALUATE)


@scenario("loss-list-leak", ["memory-leak"],
          "a list of losses keeps the graph of each batch of an evaluation that runs without "
          "no_grad; the twin keeps numbers", live_at_end, steps=8, tokens=4096, layers=2)
def loss_list(setup, planted):
    job, kept = setup.job(), []
    model = setup.model(job)
    for _ in range(setup.steps):
        evaluation_batch(setup, model, job, planted, kept, setup.tokens)
    return job


@scenario("retained-graph-leak", ["memory-leak"],
          "backward(retain_graph=True), and the state carried to the next step is not "
          "detached: saved tensors stay", live_at_end, steps=7, tokens=2048, layers=2)
def retained_graph(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for _ in range(setup.steps):
        with job.step():
            nodes = model.loss(model.forward(setup.tokens), setup.tokens)
            model.backward(nodes, retain=planted)
            model.optimizer_step()
            model.zero_grad()
    return job


HOOK = ((("/srv/job/probe.py", 31, "keep_output"),) + CALLS + (("/srv/job/model.py", 69, "forward"),) + CALLS + TRAIN_STEP)


@scenario("activation-cache-leak", ["memory-leak"],
          "a forward hook copies an activation of each step into a list that nobody "
          "empties", live_at_end, steps=8, tokens=4096, layers=2)
def activation_cache(setup, planted):
    job = setup.job()
    model = setup.model(job)
    nbytes = setup.tokens * setup.width * setup.element_bytes

    def hook():
        copy, = job.operator("clone", [4 * nbytes], HOOK)
        if not planted:
            job.release(copy, released(*HOOK))
    for _ in range(setup.steps):
        model.train_step(setup.tokens, after_forward=hook)
    return job


@scenario("leak-of-four-steps", ["memory-leak"],
          "a recording of four steps, of which only three have a beginning and an end: a forward hook keeps an activation "
          "of each", live_at_end, steps=4, tokens=4096, layers=3)
def leak_of_four_steps(setup, planted):
    return activation_cache(setup, planted)


@scenario("leak-without-stacks", ["memory-leak"],
          "a tensor of the size of a weight is appended to a list in each step, and no stack was recorded; the twin drops "
          "it",
          live_at_end, steps=9, tokens=2048, layers=2, bare=True)
def leak_without_stacks(setup, planted):
    job = setup.job()
    model = setup.model(job)
    nbytes = setup.width * setup.width * setup.element_bytes  # as the projection of a layer

    def at_end():
        copy, = job.operator("clone", [nbytes], HOOK)
        if not planted:
            job.release(copy, released(*HOOK))
    for _ in range(setup.steps):
        model.train_step(setup.tokens, at_end=at_end)
    return job


@scenario("leak-in-trace", ["memory-growth"],
          "the trace alone, with memory events: the outputs of each step are kept in a list",
          live_at_end, steps=7, tokens=4096, layers=2, profiled=True, snapshot=False)
def leak_in_trace(setup, planted):
    job = setup.job()
    model = setup.model(job)
    model.train_step(setup.tokens)
    job.start_profile()
    activation_steps(setup, job, model, planted)
    return job


def activation_steps(setup, job, model, planted):
    nbytes = setup.tokens * setup.width * setup.element_bytes

    def keep():
        copy, = job.operator("clone", [2 * nbytes], HOOK)
        if not planted:
            job.release(copy, released(*HOOK))
    for _ in range(setup.steps):
        model.train_step(setup.tokens, after_forward=keep)


# ---- what holds the memory

@scenario("optimizer-state", ["optimizer-state-dominates"],
          "AdamW with two 32-bit numbers a weight; the twin's states have 8 bits",
          peak_active, steps=4, tokens=1024, layers=6, width=3072)
def optimizer_state(setup, planted):
    job = setup.job()
    model = setup.model(job, state_bytes_per_weight=8 if planted else 2)
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    return job


@scenario("optimizer-made-again", ["old-optimizer-state"],
          "after some steps a new AdamW is made, while a scheduler still refers to the old one; the twin drops the old one "
          "first", peak_active, steps=3, tokens=1024, layers=6, width=2048)
def optimizer_made_again(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    if not planted:
        for address in model.states:
            job.release(address, released(*TRAIN_STEP[1:]))
    model.states = []
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    return job


@scenario("activation-peak", ["activations-dominate"],
          "all activations are kept for backward; the twin checkpoints each layer",
          peak_active, steps=3, tokens=0, layers=6, vocabulary=8000)
def activation_peak(setup, planted):
    job = setup.job()
    model, tokens = setup.model(job), setup.tokens_for(0.6)
    for _ in range(setup.steps):
        model.train_step(tokens, checkpoint=not planted)
    return job


@scenario("summed-micro-batches", ["forwards-before-backward"],
          "the losses of four micro-batches are added up, and one backward pass goes over the sum; the twin calls one for "
          "each", peak_active, steps=4, tokens=8192, layers=4, width=1024, vocabulary=8000)
def summed_micro_batches(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for _ in range(setup.steps):
        with job.step():
            graphs = []
            for _ in range(4):
                graphs.append(model.loss(model.forward(setup.tokens), setup.tokens))
                if not planted:
                    model.backward(graphs.pop())
            for nodes in reversed(graphs):
                model.backward(nodes)
            model.optimizer_step()
            model.zero_grad()
    return job


@scenario("large-vocabulary", ["logits-at-peak"],
          "the loss of each step makes all logits over a vocabulary of 96,000 at once; the twin makes them in chunks",
          peak_active, steps=4, tokens=3072, layers=6, width=1024, vocabulary=96000)
def large_vocabulary(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for _ in range(setup.steps):
        model.train_step(setup.tokens, chunks=1 if planted else 16)
    return job


@scenario("second-model-copy", ["weight-copies"],
          "an average of the weights is held on the device beside them; the twin holds it on the host", peak_active, steps=3,
          tokens=2048, layers=6, width=2048, vocabulary=8000)
def second_model_copy(setup, planted):
    job = setup.job()
    model = setup.model(job)
    calls = (("/usr/lib/python3.12/copy.py", 162, "deepcopy"), ("/srv/job/average.py", 14, "__init__"),
             ("/srv/job/train.py", 158, "main"), ("/srv/job/train.py", 180, "<module>"))
    for address in list(model.addresses) if planted else ():
        job.obtain(job.allocator.live[address], stack("clone", (TORCH + "_tensor.py", 158, "__deepcopy__"), *calls))
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    return job


@scenario("table-for-each-length", ["buffers-dominate"],
          "attention's bias of each length that came is kept in a table; the history begins when all have come; the twin "
          "keeps the longest alone", peak_active, steps=6, tokens=4096, layers=2, width=1024,
          vocabulary=8000)
def table_for_each_length(setup, planted):
    job, tables = setup.job(), []
    model = setup.model(job, trained=False)
    calls = (("/srv/job/bias.py", 24, "table"),) + SERVE
    for eighths in range(4, 9):
        length = setup.tokens * eighths // 8
        tables.append(job.obtain(length * length * 32, stack("arange", *calls)))
    for address in tables[:-1] if not planted else ():
        job.release(address, released(*calls))
    job.restart_recording()
    for step in range(setup.steps):
        with job.step():
            job.release(model.forward(setup.tokens * (4 + step % 5) // 8, grad=False, outer=SERVE), released(*SERVE))
    return job


class Casting(Transformer):
    """autocast without gradients: a copy of each weight in 16 bits for its product, dropped behind it."""

    def one(self, nodes, what, inputs, tokens, grad, outer):
        operator, line, _, _, weight = what
        calls = in_module(operator, line, outer)
        cast = self.job.obtain(self.weights[weight] * 2, stack("_to_copy", *calls)) if weight else None
        outputs = super().one(nodes, what, inputs, tokens, grad, outer)
        if cast:
            self.job.release(cast, released(*calls))
        return outputs


@scenario("cast-for-each-product", ["weights-in-more-bits"],
          "a model for inference is loaded in 32 bits and runs under autocast; the twin's weights are in 16 bits",
          peak_active, steps=3, tokens=1024, layers=6, width=2048, vocabulary=8000)
def cast_for_each_product(setup, planted):
    job = setup.with_(element_bytes=4 if planted else 2).job()
    model = (Casting if planted else Transformer)(job, setup.layers, setup.width, setup.vocabulary, 4 if planted else 2,
                                                  trained=False)
    model.element_bytes = 2
    for _ in range(setup.steps):
        with job.step():
            job.release(model.forward(setup.tokens, grad=False, outer=SERVE), released(*SERVE))
    return job


@scenario("model-of-the-run-before", ["weight-copies"],
          "a model is trained, and one of the same sizes is built and trained while the first and its optimizer are still "
          "referred to; the twin drops them first", peak_active, steps=3, tokens=1024, layers=6, width=2048)
def model_of_run_before(setup, planted):
    job = setup.job()
    for run_of_it in range(2):
        model = setup.model(job)
        for _ in range(setup.steps):
            model.train_step(setup.tokens)
        for address in model.addresses + model.states if not (planted or run_of_it) else ():
            job.release(address, released(*MAIN))
    return job


@scenario("buckets-beside-gradients", ["gradients-beside-buckets"],
          "DistributedDataParallel holds a bucket beside each gradient; the gradients of the twin are views of the buckets, "
          "so that there is one of both", peak_active, steps=3, tokens=512, layers=6, width=2048)
def buckets(setup, planted):
    job = setup.job()
    model = setup.model(job)
    init = (("/srv/job/train.py", 151, "main"), ("/srv/job/train.py", 180, "<module>"))
    calls = (("reducer.cpp", 0, "c10d::Reducer::initialize_buckets(std::vector<std::vector<unsigned long> >)"),
             (TORCH + "nn/parallel/distributed.py", 1220, "_ddp_init_helper"),
             (TORCH + "nn/parallel/distributed.py", 880, "__init__")) + init
    for count in model.weights.values() if planted else ():
        job.obtain(count * setup.element_bytes, stack("empty", *calls))
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    return job


@scenario("gradients-not-dropped", ["gradients-in-forward"],
          "zero_grad(set_to_none=False): gradients stay as zeros through forward",
          peak_active, steps=4, tokens=3072, layers=2, width=4096, profiled=True)
def gradients_kept(setup, planted):
    job = setup.job()
    model = setup.model(job, state_bytes_per_weight=4)
    model.train_step(setup.tokens, set_to_none=not planted)
    job.start_profile()
    for _ in range(setup.steps):
        model.train_step(setup.tokens, set_to_none=not planted)
    return job


@scenario("late-zero-grad", ["old-gradients"],
          "zero_grad stands between forward and backward, so that the last step's gradients are held beside all "
          "activations; the twin calls it before the forward", peak_active, steps=4, tokens=6144, layers=3, width=3072)
def late_zero_grad(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for _ in range(setup.steps):
        with job.step():
            if not planted:
                model.zero_grad()
            nodes = model.loss(model.forward(setup.tokens), setup.tokens)
            if planted:
                model.zero_grad()
            model.backward(nodes)
            model.optimizer_step()
    return job


@scenario("evaluated-with-graph", ["graphs-without-backward"],
          "after each step a validation batch of four times the size goes through the model without no_grad, so that its "
          "activations are kept until the result goes; the twin runs it without gradients", peak_active, steps=4,
          tokens=4096, layers=4, width=2048)
def evaluated_with_graph(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
        result = model.forward(4 * setup.tokens, grad=planted)
        if planted:
            model.drop(result)
        else:
            job.release(result, released(*TRAIN_STEP))
    return job


@scenario("teacher-with-graph", ["graphs-without-backward"],
          "a teacher's forward runs without no_grad, so that its activations stay beside those of the student, whose "
          "backward pass does not take them; the twin runs the teacher without gradients", peak_active, steps=4,
          tokens=4096, layers=4, width=2048)
def teacher_with_graph(setup, planted):
    job = setup.job()
    teacher, student = setup.model(job, trained=False), setup.with_(layers=2, width=setup.width // 2).model(job)
    for _ in range(setup.steps):
        result = teacher.forward(setup.tokens, grad=planted)
        student.train_step(setup.tokens)
        if planted:
            teacher.drop(result)
        else:
            job.release(result, released(*TRAIN_STEP))
    return job


@scenario("reference-with-graph", ["graphs-without-backward"],
          "a reference of the policy's size runs before it without no_grad, by the same lines; the step's loss is held "
          "until its end, behind the backward pass; the twin runs the reference without gradients", peak_active, steps=4,
          tokens=4096, layers=3, width=2048)
def reference_with_graph(setup, planted):
    job = setup.job()
    policy, reference = setup.model(job), setup.model(job, trained=False)
    outer = (("/srv/job/preference.py", 64, "reference_values"),) + MAIN
    for _ in range(setup.steps):
        result = reference.forward(setup.tokens, grad=planted, outer=outer)
        nodes = policy.loss(policy.forward(setup.tokens), setup.tokens)
        loss = nodes[-1].saved.pop()
        policy.backward(nodes)
        if planted:
            reference.drop(result, outer)
        else:
            job.release(result, released(*outer))
        policy.optimizer_step()
        policy.zero_grad()
        job.release(loss, released(*MAIN))
    return job


@scenario("sum-of-losses-with-graph", ["graphs-without-backward", "memory-leak"],
          "after some steps a validation adds up the losses of its batches with their graphs, and is not done when the "
          "snapshot is taken; the twin adds up numbers without gradients", peak_active, steps=3, tokens=2048, layers=4,
          width=1024)
def sum_of_losses(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    for _ in range(6):
        result = model.forward(setup.tokens, grad=planted, outer=EVALUATE)
        if planted:
            model.loss(result, setup.tokens, outer=EVALUATE)
        else:
            job.release(result, released(*EVALUATE))
    return job


@scenario("outputs-of-last-step", ["previous-outputs"],
          "the loop's variable still refers to the last step's logits while the next step makes its own; the twin deletes "
          "it at the end of the step", peak_active, steps=5, tokens=16384, layers=2)
def outputs_of_last_step(setup, planted):
    job = setup.job()
    model = setup.model(job)
    nbytes, held = setup.tokens * setup.vocabulary * setup.element_bytes, None
    for _ in range(setup.steps):
        with job.step():
            nodes = model.forward(setup.tokens)
            logits = job.obtain(nbytes, stack("addmm", *in_module("addmm", 79, TRAIN_STEP)))
            nodes = model.loss(nodes, setup.tokens, chunks=2)
            if held:
                job.release(held, released(*TRAIN_STEP))
            held = logits
            model.backward(nodes)
            model.optimizer_step()
            model.zero_grad()
            if not planted:
                job.release(held, released(*TRAIN_STEP))
                held = None
    return job


@scenario("results-joined-each-batch", ["regrown-results"],
          "an evaluation joins the features of each batch to those of before with torch.cat; the twin writes into a tensor "
          "that is there from the start", peak_reserved, steps=24, tokens=16384, layers=1, vocabulary=8000)
def results_joined(setup, planted):
    job = setup.job()
    model = setup.model(job, trained=False)
    nbytes = setup.tokens * setup.width * setup.element_bytes
    line, done = (("/srv/job/train.py", 124, "evaluate"),) + EVALUATE[1:], released(*EVALUATE)
    joined = None if planted else job.obtain(nbytes * setup.steps, stack("empty", *EVALUATE))
    for index in range(setup.steps):
        features = model.forward(setup.tokens, grad=False, outer=EVALUATE)
        if planted and joined:
            before, (joined,) = joined, job.operator("cat", [nbytes * (index + 1)], line)
            job.release(before, done)
            job.release(features, done)
        elif planted:
            joined = features
        else:
            job.release(features, done)
    return job


@scenario("batches-far-ahead", ["batches-ahead"],
          "a queue holds 24 batches of pictures on the device; the twin holds 2", peak_active, steps=30, tokens=1024,
          layers=2, vocabulary=8000)
def batches_far_ahead(setup, planted):
    job = setup.job()
    model = setup.model(job)
    depth, nbytes = 24 if planted else 2, 256 * 3 * 224 * 224 * 4
    queue = [job.obtain(nbytes, stack("_to_copy", *PREFETCH)) for _ in range(depth - 1)]
    for _ in range(setup.steps):
        queue.append(job.obtain(nbytes, stack("_to_copy", *PREFETCH)))
        model.train_step(setup.tokens)
        job.release(queue.pop(0), released(*TRAIN_STEP))
    return job


@scenario("state-out-of-memory", ["oom-optimizer-state"],
          "forward and backward fit, and the state that Adam sets up at its first step does not; the twin keeps an eighth",
          peak_active, layers=10, width=4096, tokens=256, capacity=V100_BYTES)
def state_oom(setup, planted):
    job = setup.job()
    model = setup.model(job, state_bytes_per_weight=8 if planted else 1)
    return until_it_fails(job, setup, lambda _: model.train_step(setup.tokens), 3, planted)


@scenario("cache-out-of-memory", ["oom-kv-cache"],
          "a cache of keys and values grows with each token until it does not fit; the twin has one of fixed size for fewer "
          "sequences", peak_active, layers=2, width=1024, vocabulary=4000, capacity=V100_BYTES)
def cache_oom(setup, planted):
    job = setup.job()
    model = setup.model(job, trained=False)
    unit = setup.room_bytes() // (256 * 8)
    held = [None] * 8 if planted else job.operator("zeros", [128 * unit] * 8, CACHE)

    def decode(index):
        job.release(model.forward(64, grad=False, outer=SERVE), released(*SERVE))
        for layer in range(len(held) if planted else 0):
            longer, = job.operator("cat", [(index + 1) * unit], CACHE)
            if held[layer] is not None:
                job.release(held[layer], released(*CACHE))
            held[layer] = longer
    return until_it_fails(job, setup, lambda index: decode(index * 8), 32, planted)


@scenario("batches-out-of-memory", ["oom-batches"],
          "a prefetcher puts batches on the device until it is full; the twin has two there", peak_active, layers=2,
          tokens=1024)
def batches_oom(setup, planted):
    job = setup.job()
    model = setup.model(job)
    nbytes, queue = setup.room_bytes() // 24, []
    calls = (("/srv/job/prefetch.py", 38, "fill"), ("/srv/job/train.py", 164, "main"),
             ("/srv/job/train.py", 180, "<module>"))

    def step(_):
        while len(queue) < (40 if planted else 2):
            copy, = job.operator("_to_copy", [nbytes], calls)
            queue.append(copy)
        model.train_step(setup.tokens)
        job.release(queue.pop(0), released(*calls))
    return until_it_fails(job, setup, step, 4, planted)


@scenario("checkpoint-out-of-memory", ["oom-weight-copies"],
          "a checkpoint with the state of the optimizer is read to the device and kept, and the first step of the optimizer "
          "does not fit; the twin reads it to the host", peak_active, layers=6, width=4096, tokens=256, vocabulary=8000,
          capacity=V100_BYTES)
def checkpoint_oom(setup, planted):
    job = setup.job()
    model = setup.model(job)
    read = ((TORCH + "serialization.py", 1893, "load_tensor"), (TORCH + "serialization.py", 1529, "load"),
            ("/srv/job/train.py", 40, "resume"), ("/srv/job/train.py", 180, "<module>"))
    for count in model.weights.values() if planted else ():
        for nbytes in (setup.element_bytes, 4, 4):
            job.operator("_to_copy", [count * nbytes], read)
    return until_it_fails(job, setup, lambda _: model.train_step(setup.tokens), 3, planted)


@scenario("longest-batch-out-of-memory", ["oom-one-step"],
          "after steps that need half of the device one batch is three times as long; the twin cuts it", peak_active,
          layers=3, tokens=0, steps=7)
def longest_batch_oom(setup, planted):
    tokens = setup.tokens_for(0.45)
    job = setup.job()
    model = setup.model(job)
    return until_it_fails(job, setup, lambda index: model.train_step(tokens * 3 if planted and index == setup.steps - 1
                                                                     else tokens), setup.steps, planted)


@scenario("out-of-place-update", ["optimizer-temporaries"],
          "an optimizer of the job's own computes each update out of place, with five tensors beside the largest weight; "
          "the twin updates in place", peak_active, steps=4, tokens=512, layers=2, vocabulary=48000)
def out_of_place_update(setup, planted):
    job = setup.job()
    model = setup.model(job)
    update = (("/srv/job/optimizer.py", 74, "step"), (TORCH + "optim/optimizer.py", 526, "wrapper")) + TRAIN_STEP

    def terms():
        for count in model.weights.values():
            made = [job.obtain(count * 4, stack("mul", *update)) for _ in range(5)]
            for address in made:
                job.release(address, released(*update))
    for _ in range(setup.steps):
        with job.step():
            model.backward(model.loss(model.forward(setup.tokens), setup.tokens))
            model.optimizer_step()
            if planted:
                terms()
            model.zero_grad()
    return job


@scenario("graph-pools", ["private-pools"],
          "a CUDA graph is captured for each of many batch sizes, each with a pool of its own; the "
          "twin's graphs share one", peak_reserved, tokens=0, layers=2)
def graph_pools(setup, planted):
    job = setup.job()
    model = setup.model(job, trained=False)
    most = int(0.08 * setup.room_bytes() / setup.inference_bytes_a_token())
    for index in range(6):
        job.capture((0, index + 1 if planted else 1))
        output = model.forward(most * (6 - index) // 6, grad=False, outer=SERVE)
        job.end_capture()
        job.release(output, released(*SERVE))
    for _ in range(4):
        job.release(model.forward(most // 8, grad=False, outer=SERVE), released(*SERVE))
    return job


@scenario("graph-pools-out-of-memory", ["oom-private-pools"],
          "an eager request fails while the pools of captured graphs have the "
          "memory; the twin's graphs share one pool", peak_reserved, tokens=0, layers=2)
def graph_pools_oom(setup, planted):
    job = setup.job()
    model = setup.model(job, trained=False)
    room = setup.room_bytes() - model.weight_bytes()
    tokens = int(room / setup.inference_bytes_a_token())
    for index in range(6):
        job.capture((0, index + 1 if planted else 1))
        output = model.forward(tokens * (14 - index) // 100, grad=False, outer=SERVE)
        job.end_capture()
        job.release(output, released(*SERVE))

    def step(_):
        job.release(model.forward(tokens * 45 // 100, grad=False, outer=SERVE), released(*SERVE))
    return until_it_fails(job, setup, step, 3, planted)


@scenario("record-stream", ["pending-free", "pending-free-peak"],
          "batches made ahead on a side stream are freed with record_stream "
          "and wait for it; the twin waits for the stream's event before it drops them", peak_active, steps=8, tokens=4096,
          layers=2)
def record_stream(setup, planted):
    job = setup.job()
    model = setup.model(job)
    nbytes = model.weight_bytes()
    for _ in range(setup.steps):
        with job.step():
            batch = job.obtain(nbytes, stack("empty_strided", *PREFETCH), stream=0)
            job.main.kernel(job.side, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 52_000.0)
            if planted:
                job.allocator.record_stream(batch, job.side.free_at_ns)
            else:
                job.main.wait_for(job.side, "cudaEventSynchronize")
            nodes = model.loss(model.forward(setup.tokens), setup.tokens)
            job.release(batch, released(*PREFETCH))
            model.backward(nodes)
            model.optimizer_step()
            model.zero_grad()
    return job


PREFETCH = (("/srv/job/prefetch.py", 44, "next_batch"), ("/srv/job/train.py", 84, "train_step")) + MAIN


# ---- waste

@scenario("varying-lengths", ["expandable-would-save", "memory-slack", "stranded-memory"],
          "sequences grow from step to step, and each "
          "length takes segments of its own; the twin pads to the longest", peak_reserved, steps=6, tokens=16384)
def lengths_vary(setup, planted):
    job = setup.job()
    model = setup.model(job)
    for index in range(setup.steps):
        model.train_step(int(setup.tokens * min(1.0, 0.4 + 0.12 * index)) if planted else setup.tokens)
    return job


READ, CAST = (TORCH + "serialization.py", 674, "_cuda_deserialize"), (TORCH + "nn/modules/module.py", 2576,
                                                                      "load_state_dict")
LOAD = (("/srv/job/checkpoint.py", 22, "load_experts"), ("/srv/job/train.py", 140, "main"),
        ("/srv/job/train.py", 180, "<module>"))


@scenario("checkpoint-on-device", ["stranded-memory"],
          "a checkpoint of many small 32-bit matrices is read to the device and cast there, "
          "so that the holes of its tensors lie between the weights that stay; the twin casts on the host", peak_reserved,
          steps=2,
          tokens=2048, layers=1, vocabulary=16000)
def checkpoint_on_device(setup, planted):
    job = setup.job()
    model = setup.model(job)
    elements = 768 * 3072
    originals = []
    for _ in range(400 if setup.capacity < H100_BYTES else 900):
        if planted:
            originals.append(job.obtain(elements * 4, stack("_to_copy", READ, *LOAD)))
        model.addresses.append(job.obtain(elements * 2, stack("_to_copy", CAST, *LOAD)))
    for address in originals:
        job.release(address, released(*LOAD))
    job.empty_cache()
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    return job


@scenario("checkpoint-kept", ["weight-copies"],
          "a checkpoint with the optimizer's state is read to the device, copied into the model, and still referred to in "
          "training; the twin drops it", peak_active, steps=3, tokens=2048, layers=6, width=2048)
def checkpoint_kept(setup, planted):
    job = setup.job()
    model = setup.model(job)
    sizes = [job.allocator.live[address] for address in model.addresses]
    read = [job.obtain(n, stack("_to_copy", READ, *LOAD)) for size in sizes for n in (size, 2 * size, 2 * size)]
    for address in () if planted else read:
        job.release(address, released(*LOAD))
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    return job


@scenario("weights-fill-device", ["weights-dominate"],
          "a model is loaded that nearly fills the device, and nothing is recorded but what it holds; the twin loads one "
          "of an eighth of the layers", live_at_end, steps=0, layers=48, width=4096)
def weights_alone(setup, planted):
    job = setup.job()
    Transformer(job, setup.layers if planted else setup.layers // 8, setup.width, setup.vocabulary, setup.element_bytes,
                trained=False)
    job.allocator.history.clear()
    return job


@scenario("rounding-to-powers", ["rounding-waste"],
          "roundup_power2_divisions:2 rounds sizes a little above a power of two up by a "
          "half; the twin leaves the setting out", peak_reserved, steps=3, tokens=4200, width=2112, layers=4)
def rounding(setup, planted):
    how = {}
    if planted:
        how = {"roundup_divisions": 2, "settings": {
            "PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:2",
            "roundup_power2_divisions": {str(1 << i): 2 for i in range(16)}}}
    job = setup.job(**how)
    model = setup.model(job)
    for _ in range(setup.steps):
        model.train_step(setup.tokens)
    model.forward(setup.tokens)                                 # the snapshot is taken in a step, before its backward
    return job


@scenario("logits-spike", ["memory-spike", "memory-slack"],
          "an evaluation copies all logits to 32 bits once, and the cache keeps "
          "that peak; the twin does so in chunks", peak_active, steps=6, tokens=0, vocabulary=64000, layers=2)
def logits_spike(setup, planted):
    job = setup.job()
    model = setup.model(job)
    tokens = int(0.45 * setup.room_bytes() / setup.vocabulary / (setup.element_bytes + 8))
    for _ in range(setup.steps):
        model.train_step(setup.tokens_for(0.22))
    chunks = 1 if planted else 24
    output = model.forward(tokens // 4, grad=False, outer=EVALUATE)
    for _ in range(chunks):
        elements = tokens * setup.vocabulary // chunks
        logits, = job.operator("addmm", [elements * setup.element_bytes], EVALUATE)
        copy, = job.operator("_to_copy", [elements * 4], EVALUATE)
        logs, = job.operator("_log_softmax", [elements * 4], EVALUATE)
        for address in (logits, copy, logs):
            job.release(address, released(*EVALUATE))
    job.release(output, released(*EVALUATE))
    return job


# ---- the driver

@scenario("empty-cache-in-loop", ["empty-cache-in-loop", "device-malloc-in-loop", "allocator-churn", "empty-cache-pattern"],
          "torch.cuda.empty_cache() at the end of each step", window, steps=5, tokens=4096, layers=2, width=1024,
          profiled=True)
def empty_cache(setup, planted):
    job = setup.job()
    model = setup.model(job)
    model.train_step(setup.tokens)
    job.start_profile()
    for _ in range(setup.steps):
        model.train_step(setup.tokens, at_end=job.empty_cache if planted else None)
    return job


@scenario("allocation-retries", ["cache-retries"],
          "lengths vary while the device is nearly full: the allocator gives its cache back "
          "to go on; the twin's batches are shorter and padded to one length", peak_reserved, steps=9, tokens=0, share=0.86)
def retries(setup, planted):
    """The largest batch whose lengths may vary without a failure, and not without retries."""
    share = setup.share or next(p for p in range(94, 58, -2) if passes(setup, p / 100, True, 3)) / 100
    job = setup.job()
    varying_lengths(job, setup, share if planted else 0.5, planted)
    return job


@scenario("near-capacity", ["near-capacity", "near-capacity-replay"], "the batch fills the device to the last",
          peak_reserved, steps=3,
          tokens=0, share=0.9, profiled=True)
def near_capacity(setup, planted):
    """The largest batch that trains at all."""
    share = setup.share or next(p for p in range(98, 60, -1) if passes(setup, p / 100, False)) / 100
    tokens = setup.tokens_for(share if planted else 0.6)
    job = setup.job()
    model = setup.model(job)
    model.train_step(tokens)
    job.start_profile()
    for _ in range(setup.steps):
        model.train_step(tokens)
    return job


# ---- files

VARIATIONS = (
    {"seed": 11, "layers": 4, "width": 1536, "capacity": V100_BYTES, "element_bytes": 4},
    {"seed": 12, "layers": 6, "width": 1024, "capacity": RTX_BYTES, "python_only": True},
    {"seed": 13, "layers": 5, "width": 4096, "capacity": H100_BYTES, "vocabulary": 50304},
    {"seed": 14, "layers": 2, "width": 3072, "capacity": H100_BYTES, "element_bytes": 4, "unwound": True},
    {"seed": 15, "layers": 8, "width": 2048, "capacity": A100_BYTES, "steps_more": 5},
    {"seed": 16, "layers": 4, "width": 2560, "capacity": H100_BYTES, "history_from_step": 2, "steps_more": 3},
    {"seed": 17, "layers": 3, "width": 2048, "capacity": A100_BYTES, "bare": True, "steps_more": 4},
    {"seed": 18, "layers": 4, "width": 1024, "capacity": H100_BYTES, "limit_bytes": 8 * GIB, "steps_more": 3},
)


def vary(of, setup, changes):
    """Another size of the same job; batches shrink with the device and with wider numbers."""
    changes = dict(changes)
    more = changes.pop("steps_more", 0)
    scale = changes.get("limit_bytes", changes["capacity"]) * setup.element_bytes * setup.layers * setup.width / (
        setup.capacity * changes.get("element_bytes", setup.element_bytes) * changes["layers"] * changes["width"])
    if of.cause == "rounding-to-powers":
        changes["width"] += 64                              # powers of two are not rounded
    tokens = max(512, int(setup.tokens * min(scale, 4)) // 64 * 64) if setup.tokens else 0
    return setup.with_(**changes, share=None, tokens=tokens, steps=setup.steps + more)


def truth(of, planted, cost):
    note = of.note
    if of.cost:
        note += "; the cost is the difference of the two %s" % MEASURES[of.cost]
        if planted and of.endless:
            note += ", on a device without end"
    return {"cause": of.cause, "planted": planted, "twin": of.cause + "-healthy" if planted else of.cause,
            "recording": "model",
            "made_by": "tools/scenarios/memory_scenarios.py " + of.cause, "accept": of.accept if planted else [],
            "unit": UNITS.get(of.cost, "bytes"), "planted_cost": cost if planted else None, "note": note}


def run(of, setup, planted):
    job = of.build(setup, planted)
    if planted and of.accept[0].startswith("oom-") and not job.failed:
        raise RuntimeError(of.cause + " does not fail")
    return job


def cost_of(of, setup, sick, well):
    """A job that fails would have needed more than it got."""
    of.endless = sick.failed
    if not of.cost:
        return None
    if sick.failed:
        sick, well = (of.build(EndlessSetup(**setup.__dict__), planted) for planted in (True, False))
    cost = of.cost(sick) - of.cost(well)
    return round(cost / 1000, 3) if of.cost is window else cost


class EndlessSetup(Setup):
    def job(self, **rules):
        return super().job(**{**rules, "capacity_bytes": ENDLESS_BYTES, "limit_bytes": None})


def files_of(of, setup, folder_of=lambda name: name):
    """(path, bytes) of the cause and of its twin."""
    traced, snapped = setup.__dict__.pop("profiled", False), setup.__dict__.pop("snapshot", True)
    sick, well = (run(of, setup, planted) for planted in (True, False))
    cost = cost_of(of, setup, sick, well)
    for job, planted in ((sick, True), (well, False)):
        folder = folder_of(of.cause + ("" if planted else "-healthy"))
        if snapped:
            yield folder + "/snapshot.json.gz", squeezed(json.dumps(job.snapshot()).encode())
        if traced:
            yield folder + "/trace.json.gz", squeezed(job.trace())
        yield folder + "/truth.json", (json.dumps(truth(of, planted, cost), indent=1) + "\n").encode()


def write(folder, files):
    for path, data in files:
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as stream:
            stream.write(data)
        yield path


def differences(folder, causes):
    """Generated files that differ from those in the folder, compressed ones by content."""
    with tempfile.TemporaryDirectory() as fresh:
        for path in (p for c in causes for p in write(fresh, files_of(SCENARIOS[c], Setup(**SCENARIOS[c].setup)))):
            there = os.path.join(folder, path)
            if not os.path.exists(there):
                yield path + ": missing"
                continue
            with open(there, "rb") as a, open(os.path.join(fresh, path), "rb") as b:
                if unpacked(a.read()) != unpacked(b.read()):
                    yield path + ": differs"


def write_varied(folder, causes, count):
    """Sizes that a job does not fit are left out, with a word about it."""
    for cause in causes:
        for index, changes in enumerate(VARIATIONS[:count]):
            of = SCENARIOS[cause]
            try:
                for path in write(os.path.join(folder, "v%d" % (index + 1)),
                                  files_of(of, vary(of, Setup(**of.setup), changes))):
                    yield path
            except (OutOfMemory, RuntimeError, StopIteration) as failure:
                print("%s, variation %d: left out (%s)" % (cause, index + 1, failure or "does not fit"))


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(root, "fixtures", "scenarios"), help="folder of the scenarios")
    parser.add_argument("--check", action="store_true", help="compare with the folder instead of writing to it")
    parser.add_argument("--vary", type=int, default=0, metavar="N",
                        help="write N (at most 8) other sizes of each, to OUT/v1, OUT/v2, ...")
    parser.add_argument("cause", nargs="*", help="which causes (all)")
    options = parser.parse_args()
    causes = options.cause or list(SCENARIOS)
    if options.check:
        found = list(differences(options.out, causes))
        print("\n".join(found) if found else "modeled memory scenarios are as generated")
        return 1 if found else 0
    paths = [path for cause in causes
             for path in write(options.out, files_of(SCENARIOS[cause], Setup(**SCENARIOS[cause].setup)))
             ] if not options.vary else list(write_varied(options.out, causes, options.vary))
    print("%d files written to %s" % (len(paths), options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
