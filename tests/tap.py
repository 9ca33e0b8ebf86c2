# SPDX-License-Identifier: MIT
"""What the tests say: the Test Anything Protocol, with what is wrong below each failed check."""

SHOWN = 60  # lines of what is wrong


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, condition, claim, detail=""):
        """@detail: what is wrong, as text."""
        self.count += 1
        self.failed += not condition
        print(f"{'ok' if condition else 'not ok'} {self.count} - {claim}", flush=True)
        if not condition:
            lines = str(detail).splitlines()
            for line in lines[:SHOWN]:
                print(f"#   {line}")
            if len(lines) > SHOWN:
                print(f"#   and {len(lines) - SHOWN} lines more", flush=True)
        return condition

    def same(self, got, want, claim):
        return self.ok(got == want, claim, f"got {str(got)[:300]}\nwant {str(want)[:300]}")

    def check(self, claim, complaints):
        """Right where nothing is complained of."""
        return self.ok(not complaints, claim, "\n".join(map(str, complaints)))

    def skip(self, claim, why):
        self.count += 1
        print(f"# *** {claim}: NOT checked, {why}")
        print(f"ok {self.count} - {claim} # SKIP {why}", flush=True)

    def done(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0
