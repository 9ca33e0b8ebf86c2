#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots of kinds of programs: does the report say of each byte at the peak what it is for? Prints TAP.

The programs run on the model of the allocator (tools/scenarios), with the stacks that eager PyTorch has there. While they
run, books are kept of what each allocation is for; the report's categories at the peak are compared with the books. What
the report leaves open is no mistake but limited for each kind, what it names wrongly is.
"""
import json
import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

from program import Program, parser_of
from tap import Tap
from scenarios.allocator_model import MIB, snapshot_document
from scenarios.memory_jobs import (BUILD, CALLS, MAIN, TORCH, TRAIN_STEP, Job, Transformer, released,
                                   stack)

# False of all these programs:
FALSE = {"memory-leak", "memory-spike", "stranded-memory", "gradients-in-forward", "old-gradients", "old-optimizer-state"}
WRONG_SHARE = 0.03       # of the peak, named as something that it is not
PARAMETERS, GRADIENTS, STATE, ACTIVATIONS, INPUTS, CACHE, COPIES = (
    "parameters", "gradients", "optimizer state", "activations", "inputs", "KV cache", "copies of weights")
OPEN = ("unknown", "kept tensors")      # neither names a purpose
# A saved output and one that is freed soon are told apart by time alone: the books do not divide them.
WORK = (ACTIVATIONS, "temporaries")


class BookedJob(Job):
    """A job that knows what each allocation is for, and the sums at the peak of requested bytes."""

    def __init__(self, *arguments, **rules):
        self.kind, self.kind_of, self.sums, self.at_peak, self.most = ACTIVATIONS, {}, defaultdict(int), {}, -1
        super().__init__(*arguments, **rules)

    @contextmanager
    def booked(self, kind):
        before, self.kind = self.kind, kind
        yield
        self.kind = before

    def book_anew(self, address, kind):
        nbytes = self.allocator.live[address]
        self.sums[self.kind_of[address]] -= nbytes
        self.sums[kind] += nbytes
        self.kind_of[address] = kind

    def obtain(self, nbytes, frames_of_it, thread=None, stream=None):
        address = super().obtain(nbytes, frames_of_it, thread, stream)
        self.kind_of[address] = self.kind
        self.sums[self.kind] += nbytes
        if self.allocator.requested_bytes > self.most:
            self.most, self.at_peak = self.allocator.requested_bytes, dict(self.sums)
        return address

    def release(self, address, frames_of_it, thread=None):
        self.sums[self.kind_of.pop(address)] -= self.allocator.live[address]
        super().release(address, frames_of_it, thread)

    def restart_recording(self):
        """What the peak is, the history alone tells: that of before is forgotten."""
        super().restart_recording()
        self.most, self.at_peak = self.allocator.requested_bytes, dict(self.sums)


class BookedModel(Transformer):
    """Its weights are booked as such; so are gradients and state."""

    def __init__(self, job, *sizes, **how):
        with job.booked(PARAMETERS):
            super().__init__(job, *sizes, **how)
        job.book_anew(self.workspace, "temporaries")

    def weight_gradient(self, node, name):
        with self.job.booked(WORK[1] if node.weight in self.gradients else GRADIENTS):    # added to what is there
            super().weight_gradient(node, name)

    def optimizer_step(self):
        with self.job.booked(STATE):
            super().optimizer_step()


def training(job, **how):
    return BookedModel(job, 3, 1024, 16000, 4, **how)


KINDS = {}


def kind(name, unknown_share, **rules):
    """unknown_share: so much of the peak may be left open, because nothing in the file tells it."""
    def keep(build):
        KINDS[name] = (build, unknown_share, rules)
        return build
    return keep


# ---- training

@kind("plain training", 0.001)
def plain(job):
    model = training(job)
    for _ in range(3):
        model.train_step(512)


class OwnOptimizer(BookedModel):
    """An optimizer of the user's: its step sets up its state where it is first needed. shapes: bytes of a weight's state."""

    def __init__(self, job, file_of_it, shapes):
        super().__init__(job, 3, 1024, 16000, 4)
        self.frames = (("/srv/job/%s" % file_of_it, 61, "step"), (TORCH + "optim/optimizer.py", 493, "wrapper"),
                       ("/srv/job/train.py", 93, "train_step")) + MAIN
        self.shapes, self.made = shapes, False

    def optimizer_step(self):
        job = self.job
        with job.booked(STATE):
            for count in self.weights.values():
                for nbytes in () if self.made else self.shapes(count):
                    job.obtain(nbytes, stack("zeros", *self.frames))
        self.made = True
        for count in self.weights.values():
            job.release(job.obtain(count * 4, stack("mul", *self.frames)), released(*self.frames))


@kind("Lion, of a file of any name", 0.001)
def lion(job):
    model = OwnOptimizer(job, "momentum.py", lambda count: (count * 4,))
    for _ in range(3):
        model.train_step(512)


@kind("Adafactor: rows and columns", 0.001)
def adafactor(job):
    model = OwnOptimizer(job, "factored.py", lambda count: (1024 * 4, count // 1024 * 4))
    for _ in range(3):
        model.train_step(512)


@kind("Shampoo: squares of the sides", 0.001)
def shampoo(job):
    model = OwnOptimizer(job, "precondition.py", lambda count: (1024 * 1024 * 4, 1024 * 1024 * 4, count * 4))
    for _ in range(3):
        model.train_step(512)


@kind("LoRA: frozen weights, small adapters", 0.001)
def adapters(job):
    model = BookedModel(job, 3, 1024, 16000, 2, state_bytes_per_weight=0)
    rank, loaded = 16, (("/srv/job/lora.py", 20, "__init__"),) + BUILD
    with job.booked(PARAMETERS):
        small = [job.obtain(1024 * rank * 4, stack("kaiming_uniform_", *loaded)) for _ in range(12)]
    state_frames = ((TORCH + "optim/adamw.py", 178, "_init_group"), (TORCH + "optim/adamw.py", 232, "step"),
                    (TORCH + "optim/optimizer.py", 493, "wrapper")) + TRAIN_STEP
    model.weight_gradient = lambda node, name: None
    for step in range(3):
        with job.step():
            nodes = model.loss(model.forward(512), 512)
            model.backward(nodes)
            if step == 0:
                with job.booked(STATE):
                    for _ in range(2 * len(small)):
                        job.obtain(1024 * rank * 4, stack("zeros_like", *state_frames))


@kind("two models of the same sizes take turns", 0.001)
def twins(job):
    models = [training(job) for _ in range(2)]
    for _ in range(3):
        for model in models:
            model.train_step(512)


@kind("a reference that is built behind some steps", 0.001)
def late_reference(job):
    model = training(job)
    for _ in range(2):
        model.train_step(512)
    training(job)
    for _ in range(3):
        model.train_step(512)


@kind("gradients of several passes are added up", 0.001)
def accumulation(job):
    model = training(job)
    for _ in range(2):
        for _ in range(4):
            nodes = model.loss(model.forward(512), 512)
            model.backward(nodes)
        model.optimizer_step()
        model.zero_grad()


def average(job, model, frames_of_it, operator="clone"):
    with job.booked(COPIES):
        return [job.obtain(count * 4, stack(operator, *frames_of_it)) for count in model.weights.values()]


@kind("an average of the weights, by deepcopy", 0.001)
def deep_copied(job):
    copied = ((TORCH + "nn/parameter.py", 68, "__deepcopy__"), ("/usr/lib/python3.12/copy.py", 144, "deepcopy"),
              ("/usr/lib/python3.12/copy.py", 259, "_reconstruct"), ("/srv/job/train.py", 152, "main"),
              ("/srv/job/train.py", 180, "<module>"))
    model = training(job)
    average(job, model, copied)
    for _ in range(3):
        model.train_step(512)


@kind("an average of the weights, by code of any name", 0.001)
def averaged(job):
    model = training(job)
    average(job, model, (("/srv/job/train.py", 64, "<dictcomp>"), ("/srv/job/train.py", 64, "remember"),
                         ("/srv/job/train.py", 152, "main")))
    for _ in range(3):
        model.train_step(512)


@kind("weights in 16 bits, masters in 32", 0.001)
def masters(job):
    model = BookedModel(job, 3, 1024, 16000, 2)
    average(job, model, (("/srv/job/mixed.py", 31, "prepare"), ("/srv/job/train.py", 152, "main")), "to")
    for _ in range(3):
        model.train_step(512)


@kind("the history begins behind the first steps", 0.001, history_from_step=3)
def late_history(job):
    model = training(job)
    for _ in range(5):
        model.train_step(512)


@kind("it begins late, and there is an average", 0.001, history_from_step=3)
def late_average(job):
    model = training(job)
    average(job, model, (("/srv/job/train.py", 64, "remember"),))
    for _ in range(5):
        model.train_step(512)


@kind("only frames of Python: the workspace has none", 0.01, python_only=True)
def python_only(job):
    model = training(job)
    for _ in range(4):
        model.train_step(512)


# ---- inference

SERVE = (("/srv/job/serve.py", 57, "run"), ("/srv/job/serve.py", 92, "<module>"))


def decode(job, model, cache_frames, steps=24):
    """Keys and values of all tokens so far are joined with those of the new one, in each layer."""
    unit, caches = 64 * 1024 * 2, [None] * model.layers
    for step in range(1, steps + 1):
        output = model.forward(64, grad=False, outer=SERVE)
        for layer in range(model.layers):
            with job.booked(CACHE):
                longer = job.obtain(2 * unit * step, stack("cat", *cache_frames))
            if caches[layer]:
                job.release(caches[layer], released(*cache_frames))
            caches[layer] = longer
        job.release(output, released(*SERVE))


@kind("a cache of keys and values that grows", 0.01)
def growing_cache(job):
    model = BookedModel(job, 3, 1024, 16000, 2, trained=False)
    decode(job, model, ((TORCH + "../transformers/cache_utils.py", 120, "update"),
                        ("/srv/job/model.py", 64, "forward")) + CALLS + SERVE)


@kind("inference whose weights are older than the history", 0.001)
def old_weights(job):
    model = BookedModel(job, 3, 1024, 16000, 2, trained=False)
    job.restart_recording()
    for _ in range(6):
        job.release(model.forward(2048, grad=False, outer=SERVE), released(*SERVE))


@kind("a cache that an engine reserved before the history is no weight", 1)
def reserved_cache(job):
    model = BookedModel(job, 3, 1024, 16000, 2, trained=False)
    with job.booked("unknown"):
        for _ in range(8):
            job.obtain(300 * MIB, stack("zeros", *SERVE))
    job.restart_recording()
    for _ in range(6):
        job.release(model.forward(2048, grad=False, outer=SERVE), released(*SERVE))


@kind("evaluation behind training", 0.001)
def evaluation(job):
    model = training(job)
    for _ in range(2):
        model.train_step(256)
    outer = (("/srv/job/train.py", 121, "evaluate"),) + MAIN
    for _ in range(4):
        job.release(model.forward(4096, grad=False, outer=outer), released(*outer))


@kind("a list of outputs is kept", 0.02)
def kept_outputs(job):
    model = BookedModel(job, 3, 1024, 16000, 2, trained=False)
    for _ in range(8):
        model.forward(512, grad=False, outer=SERVE)


@kind("batches are fetched ahead", 0.001)
def prefetch(job):
    model, queue = training(job), []
    frames_of_it = (("/srv/job/prefetch.py", 44, "next_batch"), ("/srv/job/train.py", 84, "train_step")) + MAIN
    for _ in range(6):
        with job.booked(INPUTS):
            while len(queue) < 6:
                queue.append(job.obtain(64 * MIB, stack("empty_strided", *frames_of_it)))
        model.train_step(256)
        job.release(queue.pop(0), released(*frames_of_it))


# ---- allocators

@kind("private pools of graphs", 0.001)
def private_pools(job):
    model = BookedModel(job, 3, 1024, 16000, 2, trained=False)
    for index in range(3):
        job.capture((0, index + 1))
        output = model.forward(1024 * (3 - index), grad=False, outer=SERVE)
        job.end_capture()
        job.release(output, released(*SERVE))


@kind("expandable segments", 0.001, expandable=True)
def expandable(job):
    model = training(job)
    for _ in range(3):
        model.train_step(512)


# ---- what repeats and is no step, fills up and is no leak

LOADED = (("/srv/job/load.py", 31, "load_layer"), ("/srv/job/load.py", 50, "main"))
COLLECTED = (("/srv/job/agent.py", 31, "collect"), ("/srv/job/agent.py", 50, "main"))


@kind("weights are loaded layer by layer", 1)
def loading(job):
    with job.booked("unknown"):
        for _ in range(40):
            for widths in (3, 1, 4, 4):
                job.obtain(widths * 4 * MIB, stack("copy_", *LOADED))
            job.release(job.obtain(16 * MIB, stack("to", *LOADED)), released(*LOADED))


@kind("a snapshot within one forward of 24 layers", 1)
def within_forward(job):
    model = BookedModel(job, 24, 1024, 16000, 2)
    job.restart_recording()
    model.forward(1024)


@kind("states are collected, then learned from; the first half is recorded", 1)
def collecting(job):
    model = BookedModel(job, 3, 1024, 16000, 2)
    model.train_step(512)
    job.restart_recording()
    for _ in range(32):
        output = model.forward(64, grad=False, outer=COLLECTED)
        with job.booked("unknown"):
            job.obtain(8 * MIB, stack("stack", *COLLECTED))
        job.release(output, released(*COLLECTED))


@kind("micro-batches of a pipeline pile up activations", 1)
def pipeline(job):
    model = BookedModel(job, 3, 1024, 16000, 2)
    job.restart_recording()
    for nodes in [model.forward(512) for _ in range(8)]:
        model.backward(model.loss(nodes, 512))
    model.optimizer_step()
    model.zero_grad()


@kind("layers are computed again in backward", 1)
def checkpointed(job):
    model = BookedModel(job, 24, 1024, 16000, 2)
    job.restart_recording()
    model.train_step(1024, checkpoint=True)


# ---- judging

def of_category(report):
    devices = report["memory"]["peak"]["devices"]
    return max(devices, key=lambda row: row["requested_bytes"])


def told(program, document, folder):
    path = folder / "snapshot.json"
    path.write_text(json.dumps(document))
    return Program(program).json("--memory-json", path)


def wrong_bytes(rows, books):
    """Bytes that are named as something that the books have less of."""
    work = sum(books.get(name, 0) for name in WORK)
    wrong = max(0, sum(rows.get(name, 0) for name in WORK) - work)
    for name, nbytes in rows.items():
        if name not in WORK and name not in (*OPEN, "unexplained"):
            wrong += max(0, nbytes - books.get(name, 0))
    return wrong


def judge(tap, name, device, books, unknown_share):
    rows = {row["category"]: row["requested_bytes"] for row in device["by_category"]}
    whole = device["requested_bytes"]
    said = ", ".join("%s %.1f %% of %.1f" % (key, 100 * rows.get(key, 0) / whole, 100 * books.get(key, 0) / whole)
                     for key in sorted(set(rows) | set(books)) if rows.get(key) or books.get(key))
    tap.same(sum(rows.values()), whole, f"{name}: the categories add up to all of it")
    tap.same(whole, sum(books.values()), f"{name}: which is the peak of the books")
    tap.ok(sum(rows[name] for name in OPEN) <= unknown_share * whole,
           f"{name}: at most {unknown_share:.1%} are left open", said)
    tap.ok(wrong_bytes(rows, books) <= WRONG_SHARE * whole, f"{name}: nothing is named as what it is not", said)


def two_devices(tap, program, folder):
    """Histories of two devices in one file: each is judged by itself."""
    jobs = [BookedJob(5), BookedJob(6)]
    for number, job in enumerate(jobs):
        job.allocator.device = number
        job.allocator.next_address += number * (1 << 40)
        training(job).train_step(512 * (number + 1))
        job.allocator.snapshot()
    document = snapshot_document([job.allocator for job in jobs])
    devices = told(program, document, folder)["memory"]["peak"]["devices"]
    tap.same([row["device"] for row in devices], [0, 1], "two devices: both are told")
    for job, row in zip(jobs, devices):
        judge(tap, f"two devices: {row['device']}", row, job.at_peak, 0.001)


def no_history(tap, program, folder):
    """Blocks alone: the stacks tell weights and state; without stacks nothing is claimed."""
    for bare in (False, True):
        job = BookedJob(7, bare=bare)
        training(job).train_step(512)
        document = snapshot_document([job.allocator])
        document["device_traces"] = [[]]
        peak = told(program, document, folder)["memory"]["peak"]
        what = "no history, %s stacks" % ("no" if bare else "with")
        tap.same(peak["at"], "end", f"{what}: the end is told, no peak")
        if bare:
            tap.same(peak["unknown_ratio"], 1, f"{what}: nothing is claimed")
        else:
            judge(tap, what, peak["devices"][0], {key: value for key, value in job.sums.items() if value}, 0.02)


def emptying(steps, every, **rules):
    """Training that empties the cache behind each so many steps."""
    job = BookedJob(8, **rules)
    model = training(job)
    for step in range(1, steps + 1):
        model.train_step(1024, at_end=job.empty_cache if step % every == 0 else None)
    return job


def churn(tap, program, folder):
    """Segments that are taken and given back in each step are churn, with stacks or without; now and then they are none."""
    cases = (("in each step", emptying(8, 1), True),
             ("in each step, only Python recorded", emptying(8, 1, python_only=True), True),
             ("in each step, nothing recorded", emptying(8, 1, bare=True), True),
             ("in each step, expandable segments", emptying(8, 1, expandable=True), True),
             ("behind the last step", emptying(8, 8), False), ("never", emptying(8, 9), False),
             ("in each step, of the first few only", emptying(2, 1), False))
    for what, job, expected in cases:
        report = told(program, job.snapshot(), folder)
        said = [finding["rule_id"] for finding in report["findings"]]
        tap.same("allocator-churn" in said, expected, f"churn: the cache is emptied {what}")
        freed = sum(entry["action"] in ("segment_free", "segment_unmap") for entry in job.allocator.history)
        tap.same(report["memory"]["history"]["segment_free_count"], freed, f"churn: {what}: segments given back are counted")


class Momentum(BookedModel):
    """SGD: one state a weight, made in the first step."""

    FRAMES = ((TORCH + "optim/sgd.py", 178, "_init_group"), (TORCH + "optim/sgd.py", 232, "step")) + TRAIN_STEP

    def optimizer_step(self):
        with self.job.booked(STATE):
            for count in () if self.states else self.weights.values():
                self.job.obtain(count * 4, stack("clone", *self.FRAMES))
        self.states = [None]


def momentum(tap, program, folder):
    """Two states a weight are those of an earlier optimizer too, or of a second model."""
    for twins in (False, True):
        job = BookedJob(9)
        models = [Momentum(job, 3, 1024, 16000, 4) for _ in range(1 + twins)]
        for step in range(6):
            if step == 3 and not twins:
                models[0].states = []
            models[step % len(models)].train_step(512)
        said = [finding["rule_id"] for finding in told(program, job.snapshot(), folder)["findings"]]
        tap.same("old-optimizer-state" in said, not twins,
                 "momentum: %s" % ("each of two models has its own" if twins else "it is made again"))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only kinds with TEXT in their name")
    arguments = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, (build, unknown_share, rules) in KINDS.items():
            if arguments.only not in name:
                continue
            job = BookedJob(3, **rules)
            build(job)
            report = told(arguments.program, job.snapshot(), Path(folder))
            device = of_category(report)
            said = [finding["rule_id"] for finding in report["findings"]]
            tap.same([rule for rule in said if rule in FALSE], [], f"{name}: no leak or other alarm is told")
            judge(tap, name, device, job.at_peak, unknown_share)
        for check in (two_devices, no_history, momentum, churn):
            if arguments.only in check.__name__:
                check(tap, arguments.program, Path(folder))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
