# SPDX-License-Identifier: MIT
"""python -m analyze_profile: the program itself."""
import os
import sys
from typing import NoReturn

from ._program import program_path


def main() -> NoReturn:
    path = program_path()
    os.execv(path, ["analyze_profile", *sys.argv[1:]])


if __name__ == "__main__":
    main()
