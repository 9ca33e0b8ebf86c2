#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each rule of tools/check_style.py finds, and what it lets pass, in lines made by hand. Prints TAP."""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

from program import ROOT
from tap import Tap
import check_style as style

RULES = dict(style.RULES)
LONG = "x" * style.COLUMNS
NL = "\n"
# Rule, file, text, the lines that it complains about.
CASES = [
    ("no tabs", "a.c", "a\n\tb\n", [2]),
    ("no blanks at the end of a line", "a.md", "a \nb\nc\t\n", [1, 3]),
    ("lines end with LF alone", "a.py", "a\r\nb\n", [1]),
    ("each file ends with one newline", "a.c", "a\n", []),
    ("each file ends with one newline", "a.c", "a", [1]),
    ("each file ends with one newline", "a.c", "a\n\n", [3]),
    ("no invisible characters", "a.md", "\u00e9\u2013\n\u200b\n\u00a0\n", [2, 3]),
    (f"{style.SPDX} in the first line of code", "a.c", f"/* {style.SPDX} */\n", []),
    (f"{style.SPDX} in the first line of code", "a.py", f"#!/usr/bin/env python3\n# {style.SPDX}\n", []),
    (f"{style.SPDX} in the first line of code", "a.c", f"\n/* {style.SPDX} */\n", [1]),
    ("poison.h is included last in src", "src/a/a.c", '#include "a.h"\n#include "poison.h"\n#include "row.def"\n', []),
    ("poison.h is included last in src", "src/a/a.c", '#include "poison.h"\n#include "a.h"\n', [2]),
    ("poison.h is included last in src", "src/cli/a.c", '#include "a.h"\n', []),
    ("no // comments in C", "a.c", 'int a; // b\nconst char *c = "//"; /* // */\n', [1]),
    (f"at most {style.COLUMNS} columns in code", "a.py", LONG + "\n", []),
    (f"at most {style.COLUMNS} columns in code", "a.def", f"\n{LONG}x\n", [2]),
    (f"at most {style.COLUMNS} columns in code", "a.md", LONG + "x\n", []),
    (f"functions of at most {style.FUNCTION_MOST} lines in src", "src/a/a.c", f"int a(void)\n{{\n{'    b();' + NL * 38}}}\n"
     f"/* {{ */\nstruct c {{ int d; }};\nint e(int f)\n{{\n{'    b();' + NL * 37}}}\n", [1]),
    (f"files of at most {style.FILE_MOST} lines in src", "src/a/a.c", "int a;\n" * style.FILE_MOST, []),
    (f"files of at most {style.FILE_MOST} lines in src", "src/a/a.c", "int a;\n" * (style.FILE_MOST + 1),
     [style.FILE_MOST + 1]),
    ("sources that texts name are there", "src/a/a.def", "see src/a/gone.def\nsee src/names/op_family.def.\n", [1]),
    ("sources that texts name are there", "fixtures/a.md", "src/a/gone.def\n", []),
]
PROTOTYPES = """\
/* about the file */

int bare(void);
/** Comment above. */
int above(void);
int in_its_group(int a,
                 int b);
int in_its_group_too(void); /* and a word behind */
int last_of_the_group(void);

int behind(void); /* comment */
int not_in_a_group(void);
#define CALL(x) x(void); /* no prototype */
static int of_this_file(void);
typedef int function(void);
extern const char words[];
struct some {
    int (*member)(void); /* no prototype */
};
static inline int defined(void)
{
    return bare();
}
struct some *bare_pointer(const char *text);
"""
PUBLIC = """\
#ifdef __cplusplus
extern "C" {
#endif
int bare(void);
/** Comment. */
int told(void);
#ifdef __cplusplus
}
#endif
"""


def check_rules(tap):
    for claim, path, text, lines in CASES:
        found = RULES[claim](path, text)
        tap.ok(found == lines, f"{claim}: {text[:24]!r}", f"{found} and not {lines}")


def check_prototypes(tap):
    bare = RULES["a comment on each prototype in the headers"]
    found = [text.split("\n")[line - 1] for text in (PROTOTYPES,) for line in bare("src/a/a.h", text)]
    tap.ok(found == ["int bare(void);", "int not_in_a_group(void);", "struct some *bare_pointer(const char *text);"],
           "prototypes without comment", found)
    tap.ok(bare("include/analyze_profile/a.h", PUBLIC) == [4], "in a header that C++ may include too")
    tap.ok(not bare("src/a/a.c", PROTOTYPES) and not bare("tests/support/a.h", PROTOTYPES), "only in headers of the library")


def check_names(tap):
    same = ["src/a/one.c", "tools/b/one.c", "src/a/meson.build", "tools/meson.build", "src/a/two.h", "src/b/two.c",
            "fixtures/one.c"]
    tap.ok(style.same_name(same) == ["one.c: src/a, tools/b"], "two files of one name", style.same_name(same))


class Quiet(style.Tap):
    """Keeps what is printed, for the test has lines of its own."""

    def __init__(self):
        super().__init__()
        self.said = io.StringIO()

    def told(self, function, *arguments):
        with contextlib.redirect_stdout(self.said):
            function(self, *arguments)
        return self.said.getvalue()


def check_formatter(tap):
    real = style.formatter
    style.formatter = lambda: (None, "none here")
    said = Quiet().told(style.check_format, ["src/base/base.c"])
    tap.ok("ok 1 - clang-format changes nothing # SKIP none here" in said and "NOT checked" in said,
           "without clang-format the check is skipped, and says so", said)
    style.formatter = real
    if not real()[0]:
        tap.skip(f"no clang-format {style.FORMATTER}: what it finds")
        return
    with tempfile.TemporaryDirectory() as folder:
        root, style.ROOT = style.ROOT, Path(folder)
        (style.ROOT / ".clang-format").write_bytes((ROOT / ".clang-format").read_bytes())
        (style.ROOT / "good.c").write_text("int good;\n", encoding="ascii")
        (style.ROOT / "bad.c").write_text("int good;\nint   bad ;\n", encoding="ascii")
        good, bad = (Quiet().told(style.check_format, [name]) for name in ("good.c", "bad.c"))
        style.ROOT = root
    tap.ok(good.startswith("ok 1"), "a formatted file passes", good)
    tap.ok(bad.startswith("not ok 1") and "bad.c:2" in bad, "one that is not formatted is named, with the line", bad)


def check_commits(tap):
    subjects = {"style: keep it": True, "Keep it": False, "style: keep it.": False, "src/base, json: do": True}
    told = {subject: bool(style.SUBJECT.match(subject)) for subject in subjects}
    tap.ok(told == subjects, "subjects of commits", told)


def main():
    tap = Tap()
    for part in (check_rules, check_prototypes, check_names, check_formatter, check_commits):
        part(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
