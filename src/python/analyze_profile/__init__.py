# SPDX-License-Identifier: MIT
"""What a PyTorch run spends its time and memory on, why, and what to change first.

    report = analyze_profile.analyze("trace.json.gz", memory="snapshot.json")
    print(report.verdict, report.findings[0].title)

    with analyze_profile.record(steps=5):   # around a training loop: writes trace and snapshot
        train()

All reading and judging is done by the program `analyze_profile`, which this package brings along; no PyTorch is needed but
by record(). Nothing here loads a pickle.
"""
from ._program import AnalyzeError, program_path, version
from ._record import Recorder, record
from ._report import Finding, Report, Table, analyze


def __getattr__(name: str) -> str:
    if name == "__version__":
        return version()
    raise AttributeError(f"module 'analyze_profile' has no attribute '{name}'")


__all__ = ["AnalyzeError", "Finding", "Recorder", "Report", "Table", "analyze", "program_path", "record", "version"]
