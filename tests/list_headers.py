#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the project's headers, one a line, as folder and name."""
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for top in ("include", "src", "tools/cuda_harness"):
    for header in sorted((ROOT / top).rglob("*.h")):
        if header.name != "poison.h":
            print(header.parent.relative_to(ROOT).as_posix(), header.name)
