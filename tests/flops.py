#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are operations counted as PyTorch counts them?  flops.py PROGRAM FIXTURES

For each FIXTURES/MODEL.json.gz of tools/record_flops.py: `compute.flops` of the report is what torch.utils.flop_counter
counted, and operations of operators add up to it. Prints TAP.
"""
import gzip
import json
import subprocess
import sys
from pathlib import Path

from tap import Tap

MATRIX_KINDS = ("GEMM", "convolution", "attention", "mixture of experts")


def main():
    program, fixtures = sys.argv[1], Path(sys.argv[2])
    tap = Tap()
    traces = sorted(fixtures.glob("*.json.gz"))
    tap.ok(len(traces) >= 12, "12 models at least")
    for path in traces:
        expected = json.loads(gzip.decompress(path.read_bytes()))["flop_counter"]
        run = subprocess.run([program, "--cpu-trace", path, "--json-out", "-", "--md-out", "/dev/null", "--top-n", "0"],
                             check=True, stdout=subprocess.PIPE)
        compute = json.loads(run.stdout)["compute"]
        tap.ok(compute["flops"] == expected, f"{path.name}: {compute['flops']} operations, PyTorch counted {expected}")
        listed = sum(row["flops"] * row["count"] for row in compute["operators"]
                     if row["kind"] in MATRIX_KINDS and row["flops"] is not None)
        tap.ok(listed == compute["flops"] and compute["macs"] * 2 == compute["flops"], f"{path.name}: they add up")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
