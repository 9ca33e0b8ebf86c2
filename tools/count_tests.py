#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sum up meson's test logs: count_tests.py FOLDER [FAILED_STEP]...

Reads every meson-logs/testlog*.json below FOLDER. A test that speaks TAP counts with each of its checks, any other as one; a
test that failed without a failed check counts as one failure, and so does each FAILED_STEP. Prints what failed and what was
skipped, and last `N passed, N failed, N skipped`. Exit code 0 when something passed and nothing failed.
"""
import json
import re
import sys
from pathlib import Path

CHECK = re.compile(r"^(not )?ok\b(.*)$((?:\n#.*)*)", re.MULTILINE)
PLAN = re.compile(r"^1\.\.(\d+)(.*)$", re.MULTILINE)
MARK = re.compile(r"#\s*(skip|todo)\b\S*\s*(.*)$", re.IGNORECASE)
SHOWN = 20  # lines of what a failed check says


class Count:
    def __init__(self):
        self.passed, self.failures, self.skips = 0, [], []

    def add_check(self, test, bad, text, details):
        mark = MARK.search(text)
        claim = text[:mark.start()] if mark else text
        claim = re.sub(r"^\s*\d*\s*-?\s*", "", claim).strip()
        if mark:
            self.skips.append(f"{test}: {claim + ': ' if claim else ''}{mark[2]}")
        elif bad:
            self.failures.append("\n    ".join([f"{test}: {claim}", *details.splitlines()[1:SHOWN + 1]]))
        else:
            self.passed += 1

    def add_test(self, test, record):
        stdout, result = record.get("stdout") or "", record["result"]
        plan = PLAN.search(stdout)
        before = len(self.failures)
        if plan and plan[1] == "0":
            self.skips.append(f"{test}: {plan[2].strip(' #') or 'no checks'}")
        elif plan:
            for bad, text, details in CHECK.findall(stdout):
                self.add_check(test, bad, text, details)
        elif result in ("OK", "EXPECTEDFAIL"):
            self.passed += 1
        elif result == "SKIP":
            self.skips.append(test)
        if result not in ("OK", "EXPECTEDFAIL", "SKIP") and len(self.failures) == before:
            said = (stdout + "\n" + (record.get("stderr") or "")).strip().splitlines()
            said = [line for line in said[:-SHOWN] if "runtime error:" in line or "ERROR:" in line][:SHOWN] + said[-SHOWN:]
            self.failures.append("\n    ".join([f"{test}: {result}, exit code {record.get('returncode')}", *said]))


def main():
    folder, failed_steps = Path(sys.argv[1]), sys.argv[2:]
    count = Count()
    for path in sorted(folder.glob("*/meson-logs/testlog*.json")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            record = json.loads(line)
            name = record["name"].replace("analyze_profile:", "")
            count.add_test(f"{path.parent.parent.name}: {name}", record)
    count.failures += failed_steps
    for text in count.skips:
        print(f"skipped: {text}")
    for text in count.failures:
        print(f"FAILED: {text}")
    print(f"{count.passed} passed, {len(count.failures)} failed, {len(count.skips)} skipped")
    return 0 if count.passed and not count.failures else 1


if __name__ == "__main__":
    sys.exit(main())
