# SPDX-License-Identifier: MIT
"""What pytorch_gpu.py records: an entry of the tables JOBS in the modules beside it."""
from dataclasses import dataclass, field

WARM_UP_STEPS, WINDOWS = 8, 9


@dataclass
class Job:
    make: object                                      # of `planted`; returns a function that does one step
    accept: list                                      # rules that name the cause
    unit: str = "us"
    steps: int = 5
    memory: bool = False                              # records the allocator and writes a snapshot
    trace: bool = True
    profiler: dict = field(default_factory=dict)
    least_frame_us: float = 0.0
    warm_up: int = WARM_UP_STEPS
    windows: int = WINDOWS                            # of which the median counts; none: the job ends before
