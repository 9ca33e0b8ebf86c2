# SPDX-License-Identifier: MIT
"""A report as Python objects. Figures keep the names that they have in JSON; `python -m analyze_profile --list-metrics` says
what each means."""
import html
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union, overload

from ._program import run

StrPath = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Finding:
    """One entry of the action plan, the most valuable first."""
    rule_id: str
    title: str
    severity: str  # info, low, medium, high, critical
    confidence: str
    observation: str  # what, how much, against which threshold
    hypothesis: str  # the likely cause
    action: str
    trade_off: Optional[str]
    validation: Optional[str]  # which figure has to move
    saves_us: Optional[float]  # at most, of the time that `raw["gain"]["whole"]` names
    saves_bytes: Optional[int]
    raw: Dict[str, Any] = field(repr=False)  # all that the JSON says of it

    @property
    def where(self) -> Optional[str]:
        """The line, operator, kernel or rank with most of it; None where it is about the run as a whole."""
        affected = self.raw.get("affected") or [{}]
        return affected[0].get("name")

    @property
    def saves(self) -> str:
        """What it saves at most, to be read: "352 ms", "1.2 GiB"; empty where that is not known."""
        known = [_time(self.saves_us)] if self.saves_us is not None else []
        return " and ".join(known + ([_size(self.saves_bytes)] if self.saves_bytes is not None else []))

    @classmethod
    def of(cls, raw: Dict[str, Any]) -> "Finding":
        names = [name for name in cls.__dataclass_fields__ if name != "raw"]
        return cls(**{name: raw.get(name) for name in names}, raw=raw)  # type: ignore[arg-type]


def _rounded(amount: float, units: Sequence[str], factor: int) -> str:
    at = 0
    while at + 1 < len(units) and float(f"{amount:.3g}") >= factor:
        amount, at = amount / factor, at + 1
    return f"{amount:.{0 if amount >= 100 else 3}{'f' if amount >= 100 else 'g'}} {units[at]}"


def _time(us: float) -> str:
    return _rounded(us, ("us", "ms", "s"), 1000)


def _size(size_bytes: float) -> str:
    return _rounded(size_bytes, ("B", "KiB", "MiB", "GiB", "TiB"), 1024)


class Table(Sequence[Dict[str, Any]]):
    """Rows of a table of the report, or of the recording behind it. `rows_matched` counts those that a limit cut off,
    too."""

    def __init__(self, answer: Dict[str, Any]) -> None:
        self.name: str = answer["table"]
        self.rows_total: int = answer["rows_total"]
        self.rows_matched: int = answer["rows_matched"]
        self._rows: List[Dict[str, Any]] = answer["rows"]

    @overload
    def __getitem__(self, at: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> List[Dict[str, Any]]: ...

    def __getitem__(self, at: Union[int, slice]) -> Union[Dict[str, Any], List[Dict[str, Any]]]:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self._rows)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame; pandas has to be installed."""
        import pandas
        return pandas.DataFrame(self._rows)

    def to_polars(self) -> Any:
        """A polars.DataFrame; polars has to be installed."""
        import polars
        return polars.DataFrame(self._rows, infer_schema_length=None)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} of {self.rows_matched} rows>"

    def _repr_html_(self) -> str:
        return _html_table(self._rows)


def _html_table(rows: Iterable[Dict[str, Any]]) -> str:
    """Names come from a recording: everything is escaped."""
    rows = list(rows)
    keys = list(dict.fromkeys(key for row in rows for key in row))
    head = "".join(f"<th>{html.escape(key)}</th>" for key in keys)
    cells = ("".join(f"<td>{html.escape(_shown(row.get(key)))}</td>" for key in keys) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


class Report:
    """What the program says of a recording. `raw` is the whole JSON; references/report-schema.json describes it.
    Tables, HTML and Markdown are made by the program anew, from the recording: keep its files as long as the report."""

    def __init__(self, raw: Dict[str, Any], arguments: Sequence[str], timeout_s: Optional[float] = None) -> None:
        self.raw = raw
        self._arguments = list(arguments)
        self._timeout_s = timeout_s
        self.findings: List[Finding] = [Finding.of(finding) for finding in raw.get("findings") or []]

    @property
    def verdict(self) -> str:
        """What bounds the run, in a sentence; of a snapshot alone how full it is."""
        for part, word in (("verdict", "bound"), ("cluster", "kind"), ("hang", "bound"), ("profile", "verdict")):
            said = self.raw.get(part) or {}
            said = said["verdict"] if isinstance(said.get("verdict"), dict) else said
            if said.get("sentence"):
                return f"{said[word]}: {said['sentence']}" if said.get(word) else str(said["sentence"])
        used, reserved = (self.figure(f"memory.totals.{name}_bytes") for name in ("allocated", "reserved"))
        if not reserved or used is None or self.figure("trace"):
            return "nothing above threshold" if not self.findings else self.findings[0].title
        head = "Out of memory" if self.figure("memory.history.oom_count") else f"{100 * used / reserved:.3g} % full"
        in_use = f"{_size(used)} of {_size(reserved)} that the allocator reserved"
        return f"{head}: {in_use} were in use when the snapshot was taken"

    def figure(self, path: str) -> Any:
        """The figure at a dotted path, as "steps.p50_us"; None where the recording does not tell it."""
        at: Any = self.raw
        for key in path.split("."):
            at = at.get(key) if isinstance(at, dict) else None
        return at

    def table(self, name: str, where: Optional[str] = None, sort: Optional[str] = None,
              columns: Optional[Sequence[str]] = None, limit: int = 0) -> Table:
        """A table by its name, as "kernels" or "gpu.kernels"; table("tables") lists them. @where and @sort as on the command
        line; @limit 0: all rows."""
        more = ["--table", name, "--limit", str(limit), "--format", "json"]
        for option, value in (("--where", where), ("--sort", sort), ("--columns", ",".join(columns) if columns else None)):
            more += [option, value] if value else []
        return Table(json.loads(self._again(more)))

    def to_html(self, path: Optional[StrPath] = None) -> str:
        """The report as one HTML file that loads nothing; written to @path as well where one is given."""
        return self._written(["--html-out", "-"], path)

    def to_markdown(self, path: Optional[StrPath] = None, full: bool = False) -> str:
        """The same for @path and Markdown: 250 lines at most, or all of it."""
        return self._written(["--format", "md", *(["--full"] if full else [])], path)

    def explain(self, what: str) -> str:
        """What a rule, a finding or a figure means, with its values here."""
        return self._again(["--explain", what]).decode()

    def _written(self, more: Sequence[str], path: Optional[StrPath]) -> str:
        text = self._again(more)
        if path is not None:
            Path(path).write_bytes(text)
        return text.decode()

    def _again(self, more: Sequence[str]) -> bytes:
        return run([*more, *self._arguments], self._timeout_s)

    def __repr__(self) -> str:
        return f"<Report: {self.verdict}; findings: {len(self.findings)}>"

    def _repr_html_(self) -> str:
        rows = [{"severity": found.severity, "finding": found.title, "where": found.where, "saves at most": found.saves,
                 "what to do": found.action} for found in self.findings]
        return f"<p><strong>{html.escape(self.verdict)}</strong></p>{_html_table(rows)}"


def _list(value: Union[None, StrPath, Sequence[StrPath]]) -> List[str]:
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a path or a list of paths was expected, not {type(value).__name__}")
    return [os.fspath(one) for one in value]


def analyze(trace: Union[None, StrPath, Sequence[StrPath]] = None, *,
            memory: Union[None, StrPath, Sequence[StrPath]] = None,
            baseline: Union[None, StrPath, Sequence[StrPath]] = None, rubric: Optional[StrPath] = None,
            focus: Optional[str] = None, phase: Optional[str] = None, redact: bool = False, top_n: Optional[int] = None,
            options: Sequence[str] = (), timeout_s: Optional[float] = None) -> Report:
    """Read and judge.

    @trace: a profiler trace, the folder of all ranks, a flight-recorder dump, or a list of files, recognized by content;
    @memory: a snapshot as JSON. @baseline: older reports, traces or snapshots to compare with. @options: further options of
    the program. AnalyzeError where there is no report; subprocess.TimeoutExpired after @timeout_s seconds.
    """
    arguments: List[str] = []
    for option, values in (("memory-json", _list(memory)), ("baseline", _list(baseline)), ("rubric", _list(rubric)),
                           ("focus", _list(focus)), ("phase", _list(phase))):
        arguments += [f"--{option}={value}" for value in values]
    arguments += ["--redact"] if redact else []
    arguments += [f"--top-n={top_n}"] if top_n is not None else []
    arguments += [*options, "--", *_list(trace)]
    return Report(json.loads(run(["--format", "json", *arguments], timeout_s)), arguments, timeout_s)
