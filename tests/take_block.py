#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""take_block.py DOCUMENT LANGUAGE OUT: the one fenced block of a language in a Markdown document, as a file to compile."""
import re
import sys
from pathlib import Path

document, language, out = sys.argv[1:]
blocks = re.findall(rf"^```{language}\n(.*?)^```$", Path(document).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
if len(blocks) != 1:
    sys.exit(f"{document} has {len(blocks)} blocks of {language}, expected one")
Path(out).write_text(blocks[0], encoding="utf-8")
