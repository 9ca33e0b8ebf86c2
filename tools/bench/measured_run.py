# SPDX-License-Identifier: MIT
"""Run programs in turn and measure each with wait4: wall, user and system time, peak memory."""

import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass


class RunFailed(Exception):
    """A contender ended with an error; its figures would mean nothing."""


@dataclass
class Sample:
    wall_s: float
    user_s: float
    system_s: float
    peak_bytes: int


class Samples:
    """All runs of one contender on one input."""

    def __init__(self):
        self.runs = []

    def median_wall_s(self):
        return statistics.median(run.wall_s for run in self.runs)

    def best_wall_s(self):
        return min(run.wall_s for run in self.runs)

    def median_cpu_s(self):
        return statistics.median(run.user_s + run.system_s for run in self.runs)

    def median_of(self, name):
        return statistics.median(getattr(run, name) for run in self.runs)

    def peak_bytes(self):
        return max(run.peak_bytes for run in self.runs)

    def as_json(self):
        return [asdict(run) for run in self.runs]


def wait_measured(pid, began_s):
    _, status, usage = os.wait4(pid, 0)
    wall_s = time.monotonic() - began_s
    sample = Sample(wall_s, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)
    return os.waitstatus_to_exitcode(status), sample


def start(argv, log_stem, stdin_fd=None):
    """The new process's id; its output goes to log_stem.out and log_stem.err."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, log_stem + ".out", flags, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, log_stem + ".err", flags, 0o644),
    ]
    if stdin_fd is None:
        actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
    else:
        actions.append((os.POSIX_SPAWN_DUP2, stdin_fd, 0))
    return os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)


def text_of(path, limit_bytes=1 << 16):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(limit_bytes)


def require_success(argv, code, log_stem):
    if code != 0:
        lines = text_of(log_stem + ".err").strip().splitlines()
        raise RunFailed(f"{os.path.basename(argv[0])} ended with {code}: {lines[-1] if lines else 'no message'}")


def run_once(argv, log_stem):
    began_s = time.monotonic()
    pid = start(argv, log_stem)
    code, sample = wait_measured(pid, began_s)
    require_success(argv, code, log_stem)
    return sample


def warm(path):
    """Bring the file into the page cache, through a small buffer."""
    buffer = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def run_interleaved(contenders, runs, log_folder, after_run):
    """contenders: label -> argv.  A B A B ..., so that a slow minute of the machine hits all alike."""
    results = {label: Samples() for label in contenders}
    for number in range(runs):
        for label, argv in contenders.items():
            log_stem = os.path.join(log_folder, label)
            sample = run_once(argv, log_stem)
            after_run(label, log_stem)
            results[label].runs.append(sample)
            print(f"  {label} {number + 1}/{runs}: {sample.wall_s:.3f} s", file=sys.stderr)
    return results
