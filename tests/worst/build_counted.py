#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the program once more, so that it counts its work: build_counted.py SOURCE FOLDER OUTPUT LINK_ARGUMENT...

A build folder of its own in FOLDER, made when there is none, whose program calls work_count.c in each basic block;
LINK_ARGUMENTs bring that in. Functions are not inlined, so that work has a name. OUTPUT is the program.
"""
import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

COMPILE = "-fsanitize-coverage=trace-pc -fno-inline -fno-builtin"
OPTIONS = ["--buildtype=plain", "-Doptimization=1", "-Db_ndebug=true", "-Ddefault_library=static", "-Dtests=false",
           "-Dhardened=false", "-Dcuda=disabled"]
PROGRAM = "src/cli/analyze_profile"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout)


def main():
    source, folder, output = map(Path, sys.argv[1:4])
    if not (folder / "build.ninja").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run("meson", "setup", *OPTIONS, f"-Dc_args={COMPILE}", f"-Dc_link_args={' '.join(sys.argv[4:])}", folder, source)
    run("ninja", "-C", folder, PROGRAM)
    built = folder / PROGRAM
    if not output.exists() or not filecmp.cmp(built, output, shallow=False):
        shutil.copy2(built, output)


if __name__ == "__main__":
    main()
