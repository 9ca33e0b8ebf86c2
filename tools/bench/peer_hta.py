#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""HolisticTraceAnalysis on one rank: load, temporal breakdown, kernel breakdown.

    PYTHON_WITH_HTA peer_hta.py FOLDER

FOLDER holds one trace, .json or .json.gz, with distributedInfo.rank in it.
To be run by a Python that has the package HolisticTraceAnalysis (see README.md).
"""

import sys
import time
from importlib.metadata import version

from hta.trace_analysis import TraceAnalysis


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: peer_hta.py FOLDER")
    began_s = time.monotonic()
    analysis = TraceAnalysis(trace_dir=sys.argv[1])
    loaded_s = time.monotonic()
    temporal = analysis.get_temporal_breakdown(visualize=False)
    kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    done_s = time.monotonic()
    print(temporal.to_string())
    print(f"rows {sum(len(frame) for frame in analysis.t.traces.values())}")
    print(f"kernel_names {len(kernels[1])}")
    print(f"versions HolisticTraceAnalysis {version('HolisticTraceAnalysis')},"
          f" pandas {version('pandas')}, Python {sys.version.split()[0]}")
    print(f"load_s {loaded_s - began_s:.3f}\nbreakdown_s {done_s - loaded_s:.3f}")


if __name__ == "__main__":
    main()
