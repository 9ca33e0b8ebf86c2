#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures of --pictures-out: every fixture's are well-formed SVG that loads nothing, whatever its names, and the
gallery is what the program draws now.  pictures.py --program PROGRAM [--bless]

--bless draws references/gallery anew. Prints TAP."""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from program import ROOT, parser_of
from tap import Tap

GALLERY = ROOT / "references" / "gallery"
# What the gallery shows: an input, and which of its pictures.
SHOWN = {
    "fixtures/scenarios/slow-input-pipeline/trace.json.gz": ["split", "utilization", "steps-chart", "step-parts",
                                                             "timeline", "kernel-map"],
    "fixtures/traces/training_step_cuda.json.gz": ["collectives"],
    "fixtures/recorded/inference_cpu_stacks.json.gz": ["host-flame"],
    "fixtures/snapshots/modern.json.gz": ["memory-0", "memory-flame", "segment-map"],
}
MOST_BYTES = 100_000
SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "style", "g", "rect", "line", "path", "circle", "text", "tspan"}
ATTRIBUTES = {"viewBox", "width", "height", "role", "aria-labelledby", "id", "class", "x", "y", "x1", "x2", "y1", "y2",
              "rx", "cx", "cy",
              "r", "d", "transform", "data-d", "data-n", "data-v"}


def draw(program, path, folder):
    return subprocess.run([program, path, "--quiet", "--md-out", os.devnull, "--pictures-out", folder], cwd=ROOT,
                          capture_output=True,
                          text=True, timeout=300, check=False)


def complaints_about(path):
    """What of an SVG file is not as it should be."""
    text = path.read_text(encoding="utf-8")
    if len(text.encode()) >= MOST_BYTES:
        yield f"{len(text.encode())} bytes"
    if re.search(r"@import|url\(|var\(|href|<!|<\?|&(?!(?:amp|lt|gt|quot|#39);)", text):
        yield "something to load or to resolve"
    root = ElementTree.fromstring(text)
    for element in root.iter():
        if element.tag.removeprefix(SVG) not in ELEMENTS or not element.tag.startswith(SVG):
            yield f"element {element.tag}"
        yield from (f"attribute {name}" for name in element.keys() if name not in ATTRIBUTES)
    title, says = root.find(SVG + "title"), root.find(SVG + "desc")
    if root.get("aria-labelledby") != "title says" or not title.text or not says.text or (title.get("id"),
                                                                                          says.get("id")) != ("title",
                                                                                                              "says"):
        yield "no text alternative"
    width, height = (int(root.get(name)) for name in ("width", "height"))
    ground = root.find(SVG + "rect")
    if (ground.get("class"), int(ground.get("width")), int(ground.get("height"))) != ("page", width - 1, height - 1):
        yield "no ground of its own"
    yield from (f"text outside: {text.text}" for text in root.findall(SVG + "text") if not 0 < float(text.get("y")) < height)


def check_fixture(tap, program, path):
    with tempfile.TemporaryDirectory() as folder:
        done = draw(program, path.relative_to(ROOT), Path(folder) / "new")
        pictures = sorted((Path(folder) / "new").glob("*.svg")) if done.returncode == 0 else []
        complaints = [f"{picture.name}: {complaint}" for picture in pictures for complaint in complaints_about(picture)]
        tap.ok(done.returncode in (0, 3) and not complaints, f"{path.name}: {len(pictures)} pictures",
               "\n".join([done.stderr, *complaints]))
        return len(pictures)


def check_gallery(tap, program, bless):
    GALLERY.mkdir(exist_ok=True)
    wanted = {f"{name}.svg" for names in SHOWN.values() for name in names}
    for source, names in SHOWN.items():
        with tempfile.TemporaryDirectory() as folder:
            draw(program, source, folder)
            for name in names:
                now, shown = Path(folder) / f"{name}.svg", GALLERY / f"{name}.svg"
                if bless:
                    shown.write_bytes(now.read_bytes())
                tap.ok(now.exists() and shown.exists() and now.read_bytes() == shown.read_bytes(),
                       f"the gallery's {name} is drawn so now",
                       f"tests/pictures.py --bless draws it anew from {source}")
    report = (GALLERY / "report.png").read_bytes()
    tap.ok(report.startswith(b"\x89PNG") and len(report) < MOST_BYTES, "the README's picture is small",
           f"{len(report)} bytes")
    there = {path.name for path in GALLERY.glob("*.svg")}
    linked = set(re.findall(r"\(\.\./gallery/([\w.-]+)\)",
                            (ROOT / "references/guide/gallery.md").read_text(encoding="utf-8")))
    tap.ok(there == wanted == linked, "the guide shows each", f"files {there ^ wanted}, links {linked ^ wanted}")


def check_captions(tap, program):
    """Work of another accelerator is not told as none."""
    for name, said in (("mtia", "Of an accelerator, not of a GPU"), ("cpu_only_gloo", "No GPU work was recorded")):
        with tempfile.TemporaryDirectory() as folder:
            draw(program, f"fixtures/traces/{name}.json", folder)
            captions = [(Path(folder) / picture).read_text(encoding="utf-8") for picture in ("split.svg", "utilization.svg")]
        tap.ok(all(said in caption for caption in captions), f"{name}: {said}")


def check_folder(tap, program):
    source = "fixtures/traces/sync_heavy.json"
    with tempfile.TemporaryDirectory() as folder:
        taken, missing = Path(folder) / "file", Path(folder) / "no" / "such"
        taken.write_text("mine")
        codes = [draw(program, source, place).returncode for place in (taken, missing)]
        tap.ok(codes == [4, 4] and taken.read_text() == "mine", "a place that is no folder is an output error", str(codes))
        tap.ok(draw(program, source, "-").returncode == 2, "nor is standard output one")
        draw(program, source, Path(folder) / "new")
        first = {path.name: path.read_bytes() for path in (Path(folder) / "new").iterdir()}
        draw(program, source, Path(folder) / "new")
        again = {path.name: path.read_bytes() for path in (Path(folder) / "new").iterdir()}
        tap.ok(first == again and all(name.endswith(".svg") for name in again),
               "the same bytes twice, and nothing beside them", str(sorted(again)))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--bless", action="store_true", help="take what is drawn now as right")
    arguments = parser.parse_args()
    tap, program = Tap(), arguments.program.resolve()
    check_gallery(tap, program, arguments.bless)
    check_captions(tap, program)
    check_folder(tap, program)
    folders = [ROOT / "fixtures/traces", ROOT / "fixtures/snapshots", ROOT / "fixtures/recorded"]
    count = sum(check_fixture(tap, program, path) for folder in folders for path in sorted(folder.iterdir()))
    tap.ok(count > 100, f"{count} pictures in all")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
