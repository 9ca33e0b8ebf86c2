#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels that are slow for one planted cause (tools/scenarios/kernel_cases.py): a rule that fits the cause stands first. Of
the same work by a good kernel nothing of medium or higher severity is said. Prints TAP."""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tap import Tap

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools" / "scenarios"))
import kernel_cases  # noqa: E402


def told(program, folder, text):
    """(rule, severity) of the findings above a remark, the first one first; None where the program failed."""
    trace, report = Path(folder) / "trace.json", Path(folder) / "report.json"
    trace.write_text(text, encoding="utf-8")
    done = subprocess.run([program, str(trace), "--json-out", str(report), "--md-out", str(Path(folder) / "report.md")],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return None
    findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
    return [(f["rule_id"], f["severity"]) for f in findings if f["severity"] != "info"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, case in kernel_cases.cases():
            slow, good = (told(program, folder, kernel_cases.document(case, planted)) for planted in (True, False))
            tap.ok(bool(slow) and slow[0][0] in case.accept, f"{name}: {case.accept[0]} stands first, of {slow}")
            tap.ok(good is not None and all(severity == "low" for _, severity in good), f"{name}: a good kernel, {good}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
