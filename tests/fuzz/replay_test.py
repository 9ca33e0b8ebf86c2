#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The replay driver on a target whose failures are planted (planted_failure.c): replay_test.py REPLAY. Prints TAP."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tap import Tap  # noqa: E402

RUN_LIMIT_S = 60


def main():
    program, tap = str(Path(sys.argv[1]).resolve()), Tap()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        saved = folder / "saved"

        def replay(*arguments):
            saved.unlink(missing_ok=True)
            return subprocess.run([program, "--save", saved, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, errors="replace", timeout=RUN_LIMIT_S, check=False)

        def seeds(name, **files):
            (folder / name).mkdir()
            for file, data in files.items():
                (folder / name / file).write_bytes(data)
            return folder / name

        good = seeds("good", one=b"nothing", two=b"", three=bytes(range(256)) * 20, four=b"size 5120" + bytes(5111))
        done = replay(good)
        tap.ok(done.returncode == 0 and done.stdout.startswith("4 runs, of these 4 "), "a target that does not fail passes",
               done)
        tap.ok(not saved.exists(), "and nothing is saved")
        plain = seeds("plain", one=b"nothing to see here", two=b"x" * 300)
        first, second = (replay("--mutate", "3000", "--seed", "7", plain) for _ in range(2))
        other = replay("--mutate", "3000", "--seed", "9", plain)
        digests = [run.stdout.rpartition("inputs ")[2].strip() for run in (first, second, other)]
        tap.ok(first.stdout.startswith("3002 runs, of these 2 "), "as many changed inputs as asked for", first)
        tap.ok(digests[0] and digests[0] == digests[1] != digests[2], "the same seed makes the same inputs, another others",
               digests)

        bad = seeds("bad", a_good=b"nothing", b_bad=b"abort here", c_good=b"nothing")
        done = replay(bad)
        tap.ok(done.returncode != 0 and "runs" not in done.stdout, "an abort in one of three files is noticed", done)
        tap.ok(saved.exists() and saved.read_bytes() == b"abort here", "and its input is kept")
        tap.ok(replay(seeds("leaver", file=b"exit")).returncode != 0, "so is a target that exits")
        wrong_size = replay(seeds("short", file=b"size 99" + bytes(50)))
        tap.ok(wrong_size.returncode != 0, "the target sees how many bytes there are", wrong_size)
        done = replay("--prefix", b"size ".hex(), seeds("prefix", file=b"12" + bytes(5)))
        tap.ok(done.returncode == 0, "a prefix stands before each file, and counts", done)
        done = replay("--prefix", b"abort".hex(), good)
        tap.ok(done.returncode != 0 and saved.exists() and saved.read_bytes() == b"abortsize 5120" + bytes(5111),
               "files are run in order of name", done)

        done = replay("--mutate", "20000", seeds("near", file=b"find boo boo boo", other=b"find moom loom boo"))
        tap.ok(done.returncode != 0 and b"boom" in (saved.read_bytes() if saved.exists() else b""),
               "a failure that is one change away is found", done)
        words = folder / "words.dict"
        words.write_text('# one word\n"bo\\x6f\\x6d"\n')
        far = seeds("far", file=b"find nothing here")
        done = replay("--mutate", "2000", far)
        tap.ok(done.returncode == 0, "what no change makes is not found", done)
        done = replay("--mutate", "2000", "--words", words, far)
        tap.ok(done.returncode != 0 and b"boom" in saved.read_bytes(), "unless it is a word of the dictionary", done)
        for text in ("boom\n", '"boom\n', '"bo\\nm"\n', '"boom"', '"' + "b" * 63 + '"\n'):
            words.write_text(text)
            tap.ok(replay("--words", words, good).returncode == 99, f"refused as a dictionary: {text!r}")

        done = replay(seeds("over", file=b"behind"))
        if "AddressSanitizer" in done.stderr:
            tap.ok(done.returncode != 0 and saved.exists() and saved.read_bytes() == b"behind",
                   "a read right behind the input is caught, and its input kept", done)
        else:
            tap.skip("a read right behind the input is caught", "no address sanitizer in this build")

        for arguments in ([], [folder / "missing"], ["--mutate"], ["--mutate", "x", good], ["--unknown", "1", good],
                          ["--prefix", "zz", good]):
            done = replay(*arguments)
            tap.ok(done.returncode == 99 and done.stderr, f"refused: {' '.join(map(str, arguments)) or 'no arguments'}"
                   .replace(str(folder), "FOLDER"), done)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
