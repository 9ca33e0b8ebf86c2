# SPDX-License-Identifier: MIT
"""The program: where it is, and a run of it."""
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Optional, Sequence

MISTAKE, INPUT, OUTPUT, LIMIT = 2, 3, 4, 5  # its exit codes; 0 and 1 are reports


class AnalyzeError(RuntimeError):
    """The program gave no report. `exit_code` is its own: 2 a mistake in the call, 3 an input, 4 an output, 5 a limit."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def program_path() -> str:
    """The program's path: what ANALYZE_PROFILE_PROGRAM names, else the one that was installed with this package, else the
    first in PATH."""
    named = os.environ.get("ANALYZE_PROFILE_PROGRAM")
    if named:
        return named
    package = Path(__file__).resolve().parent
    folders = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent,
               Path(sysconfig.get_path("scripts", f"{os.name}_user")), package.parent / "bin"]  # the last: pip --target
    for folder in folders:
        if os.access(folder / "analyze_profile", os.X_OK):
            return str(folder / "analyze_profile")
    found = shutil.which("analyze_profile")
    if not found:
        raise AnalyzeError("the program analyze_profile is neither beside Python's scripts nor in PATH; "
                           "ANALYZE_PROFILE_PROGRAM can name it", MISTAKE)
    return found


def run(arguments: Sequence[str], timeout_s: Optional[float] = None) -> bytes:
    """What the program writes to standard output. AnalyzeError where it writes no report."""
    done = subprocess.run([program_path(), "--quiet", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout_s, check=False)
    if done.returncode not in (0, 1):
        message = done.stderr.decode("utf-8", "replace").strip()
        message = message[len("analyze_profile: "):] if message.startswith("analyze_profile: ") else message
        raise AnalyzeError(message or f"the program ended with {done.returncode}", done.returncode)
    return done.stdout


def version() -> str:
    """The program's version."""
    return run(["--version"]).decode().split("\n", 1)[0].rpartition(" ")[2]
