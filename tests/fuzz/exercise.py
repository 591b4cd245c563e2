"""Use a trace as the commands do; every step ends well or with a ScalatraceError."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any
from zlib import crc32

from rich.console import Console

from fuzz.commands import TRACE_COMMANDS
from fuzz.steps import refuse, stage
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.errors import ScalatraceError
from scalatrace.report.findings import DiffReporter
from scalatrace.report.info import InfoReporter
from scalatrace.report.lines import LinesReporter
from scalatrace.report.matrix import MatrixReporter, parts_of
from scalatrace.report.notation import NotationReporter
from scalatrace.report.page.gather import PageOptions, gather
from scalatrace.report.page.page import page
from scalatrace.report.stats import StatsReporter
from scalatrace.report.trees.reporter import TreeReporter, node_rows
from scalatrace.trace.consistency.agreement import first_conflict
from scalatrace.trace.io.container import pack_container
from scalatrace.trace.io.reader import loads
from scalatrace.trace.io.text import text
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import pack_payload
from scalatrace.trace.model.nodes import untimed
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import check_visits
from scalatrace.trace.query.diff import diff

__all__ = ["QUICK", "THOROUGH", "USUAL", "Effort", "Finding", "check_message", "exercise", "step"]

CALLS = 200
"""Calls of a rank that are walked."""

MAX_TEXT_BYTES = 20_000
"""Payloads up to this size are also written as text and read again."""


@dataclass(frozen=True)
class Effort:
    """What is done with a file that was read.

    Attributes:
        steps: commands that are tried on a trace.
        share: of the files with which something is done.
        text_share: of the traces that go through the text form.
    """

    steps: int
    share: float = 1.0
    text_share: float = 0.2

    def skips(self, data: bytes) -> bool:
        """Whether nothing is done with this file: its checksum decides."""
        return Random(crc32(data)).random() >= self.share


QUICK, USUAL, THOROUGH = Effort(1, 0.25, 0.1), Effort(4), Effort(1000, text_share=1.0)
"""To read as many files as possible, to fuzz, and to judge one file."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal acts on, other than the end of a line and a tabulator."""

OPTIONS = GenerateOptions(skip_unsupported=True)


class Finding(AssertionError):  # noqa: N818 - it is no error of the program that reads
    """Something that no input may cause, and that is no exception by itself."""


def check_message(error: ScalatraceError) -> None:
    """Raise Finding unless the message is one line of printable text."""
    message = str(error)
    if not message.strip() or "\n" in message:
        raise Finding(f"a message of no or several lines: {type(error).__name__}")
    if "MemoryError" in message:
        raise MemoryError(message)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Let a command refuse what it reads."""
    stage(name)
    try:
        yield
    except ScalatraceError as error:
        check_message(error)
        refuse()


def _console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=160, highlight=False, emoji=False, markup=False), out


def _rendered(reporter: Any) -> None:
    console, out = _console()
    reporter.render(console)
    if bad := _CONTROL.search(out.getvalue()):
        raise Finding(f"control characters in the output: {bad[0]!r}")


def _info(trace: Trace) -> None:
    reporter = InfoReporter(trace, 1000)
    json.dumps(reporter.facts())
    _rendered(reporter)


def _tree(trace: Trace) -> None:
    json.dumps(node_rows(trace))
    _rendered(TreeReporter(trace, stacks=True))


def _full_tree(trace: Trace) -> None:
    _rendered(TreeReporter(trace, full=True))


def _notation(trace: Trace) -> None:
    reporter = NotationReporter(trace)
    json.dumps(reporter.plain())
    _rendered(reporter)


def _lines(trace: Trace) -> None:
    for rank in islice(trace.ranks, 2):
        _rendered(LinesReporter(trace.walk(rank), CALLS))
        for line in LinesReporter(trace.walk(rank), CALLS).json_lines():
            json.loads(line)
        json.dumps(list(LinesReporter(trace.walk(rank), CALLS).rows()))


def _stats_of(by: str) -> Callable[[Trace], None]:
    def stats(trace: Trace) -> None:
        reporter = StatsReporter(trace, by, 5)
        json.dumps(reporter.plain())
        _rendered(reporter)

    return stats


def _matrix_of(what: str) -> Callable[[Trace], None]:
    def matrix(trace: Trace) -> None:
        parts, notes = parts_of(trace, what, "all", 1)
        reporter = MatrixReporter(parts, trace.nprocs, 1, what, notes)
        json.dumps(reporter.plain())
        list(reporter.rows())
        _rendered(reporter)

    return matrix


def _page(trace: Trace) -> None:
    page([gather(trace, "a.st", options=PageOptions(source=False))])


def _check(trace: Trace) -> None:
    check_visits(trace)
    conflict = first_conflict(trace)
    if conflict is not None and (not conflict or "\n" in conflict):
        raise Finding("a conflict of no or several lines")


def _diff(trace: Trace) -> None:
    """A trace that was saved does not differ from itself."""
    _, saved = _saved(trace)
    differences = diff(saved, _saved(saved)[1])
    _rendered(DiffReporter(differences, "a.st", "b.st"))
    if differences:
        raise Finding("a trace differs from itself")


def _generate_for(language: str) -> Callable[[Trace], None]:
    def program(trace: Trace) -> None:
        generate(trace, language, OPTIONS)

    return program


STEPS: dict[str, Callable[[Trace], None]] = {
    "info": _info,
    "show": _tree,
    "show --full": _full_tree,
    "show --notation": _notation,
    "show --rank": _lines,
    "stats --by op": _stats_of("op"),
    "stats --by site": _stats_of("site"),
    "stats --by rank": _stats_of("rank"),
    "matrix": _matrix_of("bytes"),
    "matrix --what messages": _matrix_of("messages"),
    "report": _page,
    "check": _check,
    "diff": _diff,
    "generate --to c": _generate_for("c"),
    "generate --to python": _generate_for("python"),
    "generate --to conceptual": _generate_for("conceptual"),
    **TRACE_COMMANDS,
}


def _saved(trace: Trace) -> tuple[bytes, Trace]:
    """The payload of a trace, and what is read from it: with rounded times, unless columns held them."""
    try:
        payload = pack_payload(trace)
        return payload, loads(pack_container(payload, compress=False))
    except ScalatraceError as error:
        raise Finding(f"a trace that was loaded is not saved and loaded again: {error}") from error


def _without_times(trace: Trace) -> Trace:
    return replace(trace, nodes=[untimed(node) for node in trace.nodes])


def exercise(trace: Trace, effort: Effort) -> None:
    """Save the trace and load it again, then do what the commands do: all, or a few that the trace selects.

    Raises:
        Finding: it differs from what was saved, or an output has control characters.
    """
    stage("save")
    payload, again = _saved(trace)
    if again != trace and (_without_times(again) != _without_times(trace) or _saved(again)[1] != again):
        raise Finding("a trace differs after save and load")
    if effort.skips(payload):
        return
    random = Random(f"steps {crc32(payload)}")
    if len(payload) <= MAX_TEXT_BYTES and random.random() < effort.text_share:
        _round_trip(trace)
    for name in random.sample(list(STEPS), min(effort.steps, len(STEPS))):
        with step(name):
            STEPS[name](trace)


def _round_trip(trace: Trace) -> None:
    stage("show --text")
    written = text(trace)
    if bad := _CONTROL.search(written):
        raise Finding(f"control characters in the text form: {bad[0]!r}")
    try:
        again = parse(written)
    except ScalatraceError as error:
        raise Finding(f"the text form of a trace is not read again: {error}") from error
    if again != trace:
        raise Finding("a trace differs after text and parse")
