# SPDX-License-Identifier: MIT
"""Records what the program can judge: times, then source lines, then memory, each in steps of its own, because what one
records slows the others. Snapshots are written as JSON, never as pickles."""
import gzip
import json
import os
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, List, Optional, Type, Union

WAIT_STEPS, WARMUP_STEPS = 1, 3  # the first steps allocate and tune
HISTORY_ENTRIES = 100000


def _distributed() -> Any:
    import torch.distributed as distributed
    return distributed if distributed.is_available() and distributed.is_initialized() else None


def _rank() -> int:
    distributed = _distributed()
    return int(distributed.get_rank()) if distributed else int(os.environ.get("RANK", "0") or 0)


def _world_size() -> int:
    distributed = _distributed()
    return int(distributed.get_world_size()) if distributed else int(os.environ.get("WORLD_SIZE", "1") or 1)


def write_snapshot(path: Union[str, "os.PathLike[str]"]) -> None:
    """The state and history of PyTorch's CUDA allocator as gzipped JSON; put in place when it is complete."""
    import torch
    part = Path(f"{os.fspath(path)}.part")
    with gzip.open(part, "wt", compresslevel=3, encoding="utf-8") as file:
        json.dump(torch.cuda.memory._snapshot(), file)
    os.replace(part, path)


class _Profile:
    """A trace of some steps, after steps that are left out."""

    def __init__(self, path: Path, wait: int, warmup: int, steps: int, **details: bool) -> None:
        from torch.profiler import profile, schedule
        self.path, self.steps_left, self.is_written = path, wait + warmup + steps, False
        self._profile = profile(schedule=schedule(wait=wait, warmup=warmup, active=steps, repeat=1),
                                on_trace_ready=self._write, record_shapes=True, **details)
        self._profile.start()

    def _write(self, profile: Any) -> None:
        part = self.path.with_name(f"part-{self.path.name}")  # it is compressed by its suffix
        profile.export_chrome_trace(str(part))
        os.replace(part, self.path)
        self.is_written = True

    def step(self) -> None:
        self._profile.step()

    def end(self) -> None:
        self._profile.stop()


class _History:
    """The allocator's history over some steps."""

    def __init__(self, path: Path, steps: int) -> None:
        import torch
        self.path, self.steps_left, self.is_written = path, steps, False
        torch.cuda.memory._record_memory_history(max_entries=HISTORY_ENTRIES, stacks="python")

    def step(self) -> None:
        pass

    def end(self) -> None:
        import torch
        try:
            write_snapshot(self.path)
            self.is_written = True
        finally:
            torch.cuda.memory._record_memory_history(enabled=None)


class Recorder:
    """Made by record(). `files` are those written so far."""

    def __init__(self, steps: int = 5, folder: Union[str, "os.PathLike[str]"] = ".", *, stacks: Optional[bool] = None,
                 memory: Optional[bool] = None, on_oom: bool = False, rank: Optional[int] = None) -> None:
        if steps < 1:
            raise ValueError("steps: at least one")
        self.folder = Path(folder)
        self.files: List[Path] = []
        self._steps, self._stacks, self._memory, self._on_oom, self._rank = steps, stacks, memory, on_oom, rank
        self._stages: List[Callable[[], Union[_Profile, _History]]] = []
        self._stage: Union[None, _Profile, _History] = None
        self._hook: Any = None
        self._optimizer: Any = None
        self._observes_memory = False

    def path_of(self, what: str) -> Path:
        """Where the trace, details, snapshot or oom is written: the rank stands in the name."""
        return self.folder / f"{what}_rank{_rank() if self._rank is None else self._rank}.json.gz"

    def start(self) -> "Recorder":
        """Begin to record. What goes wrong with recording is a warning and never ends the run that is recorded."""
        import torch
        self._guarded(lambda: self._begin(torch.cuda.is_available()))
        return self

    def _begin(self, on_gpu: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        stacks = _world_size() == 1 if self._stacks is None else self._stacks
        steps = self._steps
        self._stages = [lambda: _Profile(self.path_of("trace"), WAIT_STEPS, WARMUP_STEPS, steps)]
        if stacks:
            self._stages.append(lambda: _Profile(self.path_of("details"), 0, 1, steps, with_stack=True, profile_memory=True))
        if on_gpu and (self._memory or self._memory is None) and not self._on_oom:
            self._stages.append(lambda: _History(self.path_of("snapshot"), steps))
        if on_gpu and self._on_oom:
            self._observe_memory()
        self._hook = self._count_optimizer_steps()
        self._next_stage()

    def step(self) -> None:
        """A step of the loop has ended. Where this is never called, steps of the optimizer that steps first count."""
        self._forget_hook()
        self._advance()

    def close(self) -> None:
        """Write what is being recorded. A loop that ended before its steps were recorded is told in a warning."""
        self._forget_hook()
        if self._stage:
            stage = self._end_stage()
            what = "not whole" if stage.is_written else "not written"
            warnings.warn(f"analyze_profile.record: the loop ended {stage.steps_left} steps too early for {stage.path}, "
                          f"which is {what}", stacklevel=3)
        self._stages = []
        if self._observes_memory:
            self._guarded(self._end_observing)

    def __enter__(self) -> "Recorder":
        return self.start()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:  # pylint: disable=broad-except
            warnings.warn(f"analyze_profile.record: {type(error).__name__}: {error}", stacklevel=4)
            return None

    def _next_stage(self) -> None:
        while self._stages and not self._stage:
            self._stage = self._guarded(self._stages.pop(0))

    def _end_stage(self) -> Union[_Profile, _History]:
        stage, self._stage = self._stage, None
        assert stage
        self._guarded(stage.end)
        if stage.is_written and stage.path not in self.files:
            self.files.append(stage.path)
        return stage

    def _advance(self) -> None:
        if not self._stage:
            return
        self._guarded(self._stage.step)
        self._stage.steps_left -= 1
        if self._stage.steps_left == 0:
            self._end_stage()
            self._next_stage()

    def _count_optimizer_steps(self) -> Any:
        try:
            from torch.optim.optimizer import register_optimizer_step_post_hook
        except ImportError:  # before PyTorch 2.0: step() has to be called
            return None

        def stepped(optimizer: Any, *_: Any) -> None:
            self._optimizer = self._optimizer or optimizer
            if optimizer is self._optimizer:
                self._advance()
        return register_optimizer_step_post_hook(stepped)

    def _forget_hook(self) -> None:
        if self._hook:
            self._hook.remove()
        self._hook = None

    def _observe_memory(self) -> None:
        import torch

        def ran_out(*_: Any) -> None:
            self._guarded(self._write_oom)
        torch.cuda.memory._record_memory_history(max_entries=HISTORY_ENTRIES, stacks="python")
        torch._C._cuda_attach_out_of_memory_observer(ran_out)
        self._observes_memory = True

    def _write_oom(self) -> None:
        if self._observes_memory:
            write_snapshot(self.path_of("oom"))
            self.files.append(self.path_of("oom"))

    def _end_observing(self) -> None:
        import torch
        self._observes_memory = False  # observers cannot be detached
        torch.cuda.memory._record_memory_history(enabled=None)


def record(steps: int = 5, folder: Union[str, "os.PathLike[str]"] = ".", *, stacks: Optional[bool] = None,
           memory: Optional[bool] = None, on_oom: bool = False, rank: Optional[int] = None) -> Recorder:
    """Record a training loop: `with analyze_profile.record(steps=5):` around it, or `as recorder` and recorder.step().

    Written to @folder, N being the rank:
      trace_rankN.json.gz     times of @steps steps, after four that are left out
      details_rankN.json.gz   source lines and allocations of as many; @stacks None: where the run is a single process
      snapshot_rankN.json.gz  memory of the GPU over as many, as JSON; @memory None: where there is a GPU
      oom_rankN.json.gz       with @on_oom, instead: its history up to where memory runs out, which costs some time
    """
    return Recorder(steps, folder, stacks=stacks, memory=memory, on_oom=on_oom, rank=rank)
