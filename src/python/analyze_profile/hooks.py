# SPDX-License-Identifier: MIT
"""record() where somebody else owns the loop. @options of each are those of record().

    Trainer(..., callbacks=[hooks.hugging_face_callback(steps=5, folder="profile")])
    lightning.Trainer(..., callbacks=[hooks.lightning_callback(steps=5)])
    torchtitan.train.maybe_enable_profiling = hooks.torchtitan_profiling(steps=5)
    with hooks.vllm_profile(llm):    # VLLM_TORCH_PROFILER_DIR says where; it has to be set before the engine is made
        llm.generate(prompts)
    hooks.sglang_profile("http://localhost:30000", folder="/tmp/profile", steps=5)
"""
import contextlib
import importlib
import json
import urllib.request
from typing import Any, Callable, Iterator

from ._record import Recorder, record


def _first_module(*names: str) -> Any:
    for name in names:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise ImportError(f"none of these is installed: {', '.join(names)}")


def hugging_face_callback(**options: Any) -> Any:
    """A transformers.TrainerCallback. Its steps are the trainer's: all micro-batches of an accumulated one."""
    transformers = importlib.import_module("transformers")

    class Callback(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
        """Records from the first step on."""

        def __init__(self) -> None:
            self.recorder = record(**options)

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.recorder.start()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.recorder.step()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self.recorder.close()
    return Callback()


def lightning_callback(**options: Any) -> Any:
    """A Callback of Lightning (lightning.pytorch or pytorch_lightning). Its steps are training batches."""
    lightning = _first_module("lightning.pytorch", "pytorch_lightning")

    class Callback(lightning.Callback):  # type: ignore[misc,name-defined]
        """Records from the first batch on."""

        def __init__(self) -> None:
            super().__init__()
            self.recorder = record(**options)

        def on_train_start(self, *_: Any) -> None:
            self.recorder.start()

        def on_train_batch_end(self, *_: Any, **__: Any) -> None:
            self.recorder.step()

        def on_train_end(self, *_: Any) -> None:
            self.recorder.close()

        def on_exception(self, *_: Any) -> None:
            self.recorder.close()
    return Callback()


def torchtitan_profiling(**options: Any) -> Callable[..., Any]:
    """What takes the place of torchtitan's maybe_enable_profiling: a context manager whose value has step()."""
    @contextlib.contextmanager
    def maybe_enable_profiling(*_: Any, **__: Any) -> Iterator[Recorder]:
        with record(**options) as recorder:
            yield recorder
    return maybe_enable_profiling


@contextlib.contextmanager
def vllm_profile(llm: Any) -> Iterator[None]:
    """Profile what a vllm.LLM does meanwhile, with vLLM's own profiler."""
    llm.start_profile()
    try:
        yield
    finally:
        llm.stop_profile()


def sglang_profile(url: str, folder: str, steps: int = 5, timeout_s: float = 600) -> None:
    """Ask a running SGLang server for a trace of its next @steps forward steps, written to @folder on its machine."""
    body = {"output_dir": folder, "num_steps": steps, "activities": ["CPU", "GPU"], "record_shapes": True}
    request = urllib.request.Request(f"{url.rstrip('/')}/start_profile", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        answer.read()
