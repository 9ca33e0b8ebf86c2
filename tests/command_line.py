#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command line is expected to do without being read about first: command_line.py --program PROGRAM. Prints TAP."""

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from program import ROOT, Program, program_of
from tap import Tap

FIXTURES = ROOT / "fixtures"
TRACE = FIXTURES / "recorded" / "training_step_cpu.json.gz"
SNAPSHOT = FIXTURES / "snapshots" / "fragmented.json"
SLOWER, FASTER = (FIXTURES / "traces" / f"{when}_slowdown.json.gz" for when in ("after", "before"))
HEALTHY = FIXTURES / "scenarios" / "copies-to-host-healthy" / "trace.json.gz"
LIMIT_S = 60


class Runs(Program):
    def run(self, *arguments, **more):
        return super().run(*arguments, cwd=self.folder, **more)

    def report(self, path, *arguments, **more):
        """Its JSON without the path it was read from, or what was complained of."""
        done = self.run(path, *arguments, "--format", "json", **more)
        if done.returncode:
            return done.stderr.decode()
        report = json.loads(done.stdout)
        for part in (report["generator"], *(report.get(key) or {} for key in ("cpu", "trace", "memory"))):
            for of_file in ("path", "compressed", "sandbox"):
                part.pop(of_file, None)
        return report


def first_line(done):
    return (done.stdout or done.stderr).split(b"\n")[0].decode()


# ---- outputs

def check_outputs(tap, runs):
    done = runs.run(TRACE, "-o", "r.html", "-or.json", "--output", "r.md", "-o", "r.svg")
    tap.ok(done.returncode == 0, "-o is repeatable, glued or not", done.stderr.decode())
    begins = {"r.html": b"<!DOCTYPE html>", "r.json": b"{", "r.md": b"# Profile report", "r.svg": b"<svg "}
    for name, beginning in begins.items():
        got = (runs.folder / name).read_bytes()[:60] if (runs.folder / name).exists() else b"not there"
        tap.ok(got.startswith(beginning), f"{name} is what its name says", str(got))
    tap.ok(done.stdout.startswith(str(TRACE).encode()) and len(done.stdout.splitlines()) < 40,
           "one screen stands on standard output beside it", done.stdout.decode())
    runs.run(TRACE, "-o", "r.html.gz", "--json-out", "k.json.gz", "--md-out", "r.md.gz")
    for name, plain in (("r.html.gz", "r.html"), ("k.json.gz", "r.json"), ("r.md.gz", "r.md")):
        same = gzip.decompress((runs.folder / name).read_bytes()) == (runs.folder / plain).read_bytes()
        if name != "k.json.gz":  # pictures are a part of that which has some
            tap.ok(same, f"{name} is {plain} compressed")
        else:
            tap.ok(json.loads(gzip.decompress((runs.folder / name).read_bytes())), f"{name} is compressed JSON")
    for arguments, words in ((["-o", "r.txt"], "ends in .html"), (["-o", "a.md", "-o", "b.md"], "second output of its form"),
                             (["-o", "a.md", "--md-out", "b.md"], ""), (["-o"], "needs an argument")):
        done = runs.run(TRACE, *arguments)
        if words:
            tap.ok(done.returncode == 2 and words in done.stderr.decode(), f"{' '.join(arguments)}: refused",
                   done.stderr.decode())
    for option, beginning in (("--json-out", b"{"), ("--html-out", b"<!DOCTYPE")):
        done = runs.run(TRACE, option, "-")
        tap.ok(done.returncode == 0 and done.stdout.startswith(beginning) and b"# Profile report" not in done.stdout[:40],
               f"{option} - takes the place of the Markdown", done.stderr.decode())
    done = runs.run(TRACE, "--html-out", "r.html")
    tap.ok(not done.stdout.startswith(b"# Profile report"), "--html-out alone: one screen", first_line(done))
    done = runs.run(TRACE, "--html-out", "-", "--format", "json")
    tap.ok(done.returncode == 2, "two outputs on standard output are a mistake", first_line(done))


def check_closed_pipe(tap, runs):
    read, write = os.pipe()
    os.close(read)
    for what in ([str(TRACE), "--format", "md", "--json-out", "kept.json"], ["--help"], ["-h"], ["--version"],
                 ["--list-metrics"], ["--capture-snippet"], ["--completion", "bash"]):
        done = subprocess.run([runs.path, "--quiet", *what], cwd=runs.folder, stdout=write, stderr=subprocess.PIPE,
                              timeout=LIMIT_S, check=False)
        tap.same([done.returncode, done.stderr], [0, b""], f"a closed pipe ends quietly: {' '.join(what[-2:])}")
    os.close(write)
    tap.ok((runs.folder / "kept.json").exists(), "and the files beside it are written")


def check_pictures(tap, runs):
    (runs.folder / "empty.json").write_text('{"traceEvents": []}')
    done = runs.run("empty.json", "--pictures-out", "none", "--format", "text")
    tap.same([done.returncode, b"there is no picture" in done.stderr, b"none" in done.stdout,
              (runs.folder / "none").exists()], [0, True, False, False], "a report without pictures is told of")
    (runs.folder / "folder").mkdir()
    for one, other in (("new", "new"), ("new", "./new"), ("new", "new//"), ("folder", "folder/")):
        done = runs.run("empty.json", "--md-out", one, "--pictures-out", other)
        tap.same([done.returncode, b"--md-out is a file and --pictures-out a folder" in done.stderr,
                  (runs.folder / "new").exists()], [2, True, False], f"--md-out {one} --pictures-out {other}: a mistake")


def check_step_summary(tap, runs):
    summary = runs.folder / "summary.md"
    summary.write_text("of another step\n")
    done = runs.run(TRACE, "--step-summary", "--md-out", "r.md", env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)})
    text = summary.read_text()
    tap.ok(done.returncode == 0 and text.startswith("of another step\n") and "data-loading-bound" in text and
           len(text) < 6100, "--step-summary appends a digest", text[:300])
    summary.unlink()
    done = runs.run(SLOWER, "--baseline", FASTER, "--fail-on", "steps.p50_us > +5%", "--step-summary", "--md-out", "r.md",
                    env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)})
    text = summary.read_text()
    tap.ok(done.returncode == 1 and "\nFAILED: `steps.p50_us` is " in text and "\nCompared with the baseline: " in text and
           text.find("FAILED: ") < text.find("1. "), "the digest says first what failed, and what changed", text[:600])
    done = runs.run(TRACE, "--summary-tokens", "4000")
    tap.ok(b"n/a" not in done.stdout and b"Operators, time of the host" in done.stdout, "it has no rows without a figure")
    nowhere = {key: value for key, value in os.environ.items() if key != "GITHUB_STEP_SUMMARY"}
    done = runs.run(TRACE, "--step-summary", env=nowhere)
    tap.ok(done.returncode == 2 and b"GITHUB_STEP_SUMMARY" in done.stderr, "without a file it is a mistake",
           first_line(done))


def check_asked(tap, runs):
    """What somebody asks for is answered on the first screen, and nothing found is said in so many words."""
    for change, answer in (("op like * speedup 2", " become "), ("kernel like * gone", "no row of the recording fits that"),
                           ("batch times 2", "that takes recordings with several batch sizes")):
        told = " ".join(runs.run(TRACE, "--what-if", change, "--format", "text").stdout.decode().split())
        tap.ok(f"What if {change}: " in told and answer in told.partition("What if ")[2][:120], f"--what-if: {change}",
               told[:600])
    told = runs.run(TRACE, "--what-if", "kernel like * gone").stdout.decode()
    tap.ok("No row of the recording fits `kernel like * gone`." in told, "a change that fits nothing is told of",
           told.partition("## What changes")[2][:300])
    told = runs.run(HEALTHY, "--format", "text").stdout.decode()
    tap.ok("No findings: nothing above its threshold." in told and "     info " in told, "remarks are no findings", told)


# ---- inputs

BLANKS_CHECKED = bytes.fromhex("1bf2c9b7")  # the checksum of 100 blanks


def zstd_frames(data):
    """The data as zstd, stored: a frame of raw blocks, and a second one of a block that repeats a blank, with its checksum
    (RFC 8878)."""
    out = io.BytesIO()
    out.write(b"\x28\xb5\x2f\xfd" + bytes([0xa0]) + len(data).to_bytes(4, "little"))
    for at in range(0, len(data), 1 << 17):
        block = data[at:at + (1 << 17)]
        last = at + (1 << 17) >= len(data)
        out.write((last | len(block) << 3).to_bytes(3, "little") + block)
    out.write(b"\x28\xb5\x2f\xfd" + bytes([0x24, 100]) + (1 | 1 << 1 | 100 << 3).to_bytes(3, "little") + b" ")
    out.write(BLANKS_CHECKED)
    return out.getvalue()


def wants_much(codec, packed):
    """The same in a file whose header asks for gigabytes: a window of 2 GiB, a dictionary of 4."""
    if codec == "zstd":
        head, frame, rest = packed.partition(b"\x28\xb5\x2f\xfd")
        return head + frame + bytes([0, 21 << 3]) + rest[5:]
    head = packed[12:16] + bytes([40]) + packed[17:20]
    return packed[:12] + head + zlib.crc32(head).to_bytes(4, "little") + packed[24:]


def with_wrong_checksum(codec, packed):
    """That of the last content, which is the last of all or stands before the index, whose size the last bytes tell."""
    at = len(packed) - 1
    if codec == "xz":
        at -= 12 + 4 * (int.from_bytes(packed[-8:-4], "little") + 1)
    return packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1:]


def check_compressed(tap, runs):
    plain = gzip.decompress(TRACE.read_bytes())
    want = runs.report(TRACE)
    want["trace"].pop("bytes_read", None)
    read = runs.run("--version").stdout.decode()
    packers = {"xz": lzma.compress, "zstd": zstd_frames,
               "zstd of pzstd": lambda data: b"\x50\x2a\x4d\x18\x04\0\0\0\x10\0\0\0" + zstd_frames(data),
               "two xz streams": lambda data: lzma.compress(data[:5000]) + lzma.compress(data[5000:])}
    for name, pack in packers.items():
        codec = name.partition(" of ")[0] if name.startswith("zstd") else "xz"
        packed = pack(plain)
        (runs.folder / "packed").write_bytes(packed)
        if codec not in read:
            done = runs.run("packed")
            tap.ok(done.returncode == 3 and b"-dc" in done.stderr, f"{name}: named, with the pipe that helps",
                   first_line(done))
            continue
        got = runs.report("packed")
        if isinstance(got, dict):
            got["trace"].pop("bytes_read", None)
        tap.ok(got == want, f"{name}: the same report", str(got)[:300])
        for cut in (len(packed) // 2, 5 * len(packed) // 6):
            (runs.folder / "packed").write_bytes(packed[:cut])
            done = runs.run("packed", "--format", "json")
            told = json.loads(done.stdout)["trace"].get("complete") if done.returncode == 0 else first_line(done)
            tap.ok(told is False, f"{name}, cut at byte {cut}: said to be incomplete", str(told))
        (runs.folder / "packed").write_bytes(packed[:4])
        tap.ok(runs.run("packed").returncode == 3, f"{name} of four bytes is refused")
        for what, content, says in (("that wants gigabytes", wants_much(codec, packed), b"unpack it, and give what"),
                                    ("that is broken at once", packed[:9] + b"\xff" * 60, b"is broken after 0 bytes"),
                                    ("with a wrong checksum", with_wrong_checksum(codec, packed), b"is broken after ")):
            (runs.folder / "packed").write_bytes(content)
            for option in ([], ["--cpu-trace"]):
                done = runs.run(*option, "packed")
                tap.ok(done.returncode == 3 and says in done.stderr, f"{name} {what}: said so", first_line(done))


def check_standard_input(tap, runs):
    for path in (TRACE, SNAPSHOT):
        with path.open("rb") as file:
            tap.same(runs.report("-", stdin=file), runs.report(path), f"- < {path.name}: recognized by its content")
    whole = TRACE.read_bytes()
    feeder = [sys.executable, "-c", "import sys, time\ndata = open(sys.argv[1], 'rb').read()\n"
              "for at in range(0, len(data), 1000):\n    sys.stdout.buffer.write(data[at:at + 1000])\n"
              "    sys.stdout.buffer.flush()\n", str(TRACE)]
    with subprocess.Popen(feeder, stdout=subprocess.PIPE) as feed:
        tap.same(runs.report("-", stdin=feed.stdout), runs.report(TRACE), "and from a pipe that brings it in small pieces")
    late = b'{"traceName": "' + b"x" * 300000 + b'",' + gzip.decompress(whole).lstrip()[1:]
    tap.ok(isinstance(runs.report("-", input=late), dict), "what it is may stand behind 300 KB")
    for content, code in ((b"", 3), (b'{"a": 1}', 3), (b"\x80\x04pickle", 3)):
        tap.same(runs.run("-", input=content).returncode, code, f"{content!r} on standard input: refused")


# ---- words

def check_words(tap, runs):
    brief = runs.run("-h").stdout.decode().splitlines()
    tap.ok(5 < len(brief) <= 24 and max(map(len, brief)) <= 92, "-h is one screen", f"{len(brief)} lines")
    tap.ok(len(runs.run("--help").stdout.splitlines()) > 100, "--help is all")
    tap.same(runs.run("-V").stdout, runs.run("--version").stdout, "-V is --version")
    done = subprocess.run([runs.path, "-q", str(TRACE)], capture_output=True, timeout=LIMIT_S, check=False)
    tap.same(done.stderr, b"", "-q is --quiet")
    for arguments, words in ((["--htm-out", "x"], "did you mean --html-out"), (["--jsonout"], "did you mean --json-out"),
                             (["--fromat", "x"], "did you mean --format"),
                             ([TRACE, "--table", "kernel"], "did you mean kernels"), (["-x"], "there is no option '-x'"),
                             (["-qx"], "there is no option '-qx'")):
        done = runs.run(*arguments)
        tap.ok(done.returncode == 2 and words in done.stderr.decode(), f"{arguments[-1]}: {words}", done.stderr.decode())
    done = runs.run()
    tap.ok(done.returncode == 2 and b"analyze_profile trace.json.gz -o report.html" in done.stderr,
           "nothing given: an example", done.stderr.decode())


def main():
    program, tap = program_of(__doc__), Tap()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(program, Path(folder))
        for check in (check_outputs, check_closed_pipe, check_pictures, check_step_summary, check_asked, check_compressed,
                      check_standard_input,
                      check_words):
            check(tap, runs)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
