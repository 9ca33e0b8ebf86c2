#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that PyTorch itself has, for redaction: make_public_names.py OUT, in a Python that has torch.

Operators, parts of the paths of its Python files, their functions, nodes of autograd, and functions of its CUDA library
where that is installed. One a line, in order of bytes, each whole: src/redact/public_names.txt. Words of more than 60 bytes
or fewer than 2 are left out.
"""
import ast
import re
import subprocess
import sys
from pathlib import Path

import torch

FOLDERS = ["nn", "optim", "utils/data", "utils/checkpoint.py", "utils/_contextlib.py", "autograd", "amp", "cuda", "profiler",
           "_dynamo/eval_frame.py", "_dynamo/convert_frame.py", "_functorch/_aot_autograd", "_inductor/runtime",
           "_inductor/utils.py", "distributed/distributed_c10d.py", "distributed/fsdp", "_ops.py", "_tensor.py",
           "functional.py", "jit/_trace.py"]


def operators():
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.partition("::")[2].partition(".")[0]
        yield name
        yield "".join(word.capitalize() for word in name.strip("_").split("_")) + "Backward"


def python_names(root):
    for path in root.rglob("*.py"):
        yield from path.relative_to(root).with_suffix("").parts
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")) if (root / folder).is_dir() else [root / folder]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                    yield node.name


def kernels(root):
    """Of at::native: functions on the device, and what they are templates of."""
    library = root / "lib" / "libtorch_cuda.so"
    if not library.exists():
        return
    strings = subprocess.run(["strings", "-n", "12", library], capture_output=True, check=True).stdout
    mangled = {line for line in strings.split(b"\n") if line.startswith(b"_ZN2at6native") and b"kernel" in line.lower()}
    for symbol in mangled:
        for match in re.finditer(rb"(?<![0-9])([1-9][0-9]?)(?=[A-Za-z_])", symbol):
            word = symbol[match.end():match.end() + int(match.group(1))].decode("ascii", "replace")
            if re.search(r"kernel|Functor|functor|Op[s]?$|Loader|Storer|Calculator|Policy|Config|Array", word):
                yield word


def runtime_calls(root):
    """Of CUDA: what its runtime exports, and what that asks its driver for."""
    for library in sorted(root.parent.glob("nvidia/**/libcudart.so*")):
        strings = subprocess.run(["strings", library], capture_output=True, check=True).stdout.decode("ascii")
        yield from re.findall(r"(?m)^(?:cuda|cu)[A-Z]\w+$", strings)


def main():
    root = Path(torch.__file__).parent
    names = {*operators(), *python_names(root), *kernels(root), *runtime_calls(root)}
    words = [name for name in names if not re.search("ynchronis|olour", name)]  # the house has the other spelling
    fit = sorted(name for name in words if re.fullmatch(r"[A-Za-z_]\w{1,59}", name, re.ASCII)
                 and not re.search(r"_[0-9]{3}", name) and "test" not in name.lower())
    Path(sys.argv[1]).write_text("".join(name + "\n" for name in fit), encoding="ascii")


if __name__ == "__main__":
    main()
