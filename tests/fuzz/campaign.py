"""Run inputs in child processes with limits, and collect outcomes and findings.

parent                          child (forked, so that nothing is imported again)
fork -------------------------> limits of memory and time; input after input
read a line per input <-------- "ok", "refused", or the finding as JSON
no more lines: how did it end?  a signal is a finding of the input after the last line
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from fuzz.exercise import THOROUGH, USUAL, Effort, check_message
from fuzz.steps import HANG, REFUSED, SIGNAL, TRACEBACK, Step, Table, begin, finish, stage, under_way
from fuzz.targets import TESTS, Target
from scalatrace.errors import ScalatraceError

__all__ = ["MAX_BYTES", "MAX_SECONDS", "Report", "Result", "fuzz", "judge", "judged_apart"]

MAX_SECONDS = 20.0
"""Processor time of one input, by all commands together."""

MAX_BYTES = 1 << 30
"""Memory of one input, beyond what is in use before."""

NATIVE_SECONDS = 5.0
"""Processor time that native code has to return after the time is over; then a signal ends the process."""

WALL_SECONDS = 300.0
"""After so long without a result a child is killed: it waits for something."""

INPUTS_PER_CHILD = 3000
"""Inputs of one child; caches grow."""

OK, FINDING = "ok", "finding"


class Result(NamedTuple):
    """What became of one input.

    Attributes:
        outcome: OK, REFUSED or FINDING.
        key: what findings with one cause have in common.
        text: the error.
        steps: what was done.
    """

    outcome: str
    key: str = ""
    text: str = ""
    steps: list[Step] = []  # noqa: RUF012 - of a tuple, and never changed


@dataclass
class Report:
    """Outcomes of one target.

    Attributes:
        findings: key -> number of the first input, its text.
        table: outcomes by command.
    """

    target: str
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[int, str]] = field(default_factory=dict)
    table: Table = field(default_factory=Table)

    @property
    def inputs(self) -> int:
        """Inputs that were run."""
        return sum(self.outcomes.values())

    def __str__(self) -> str:
        counts = ", ".join(f"{self.outcomes[name]:,} {name}" for name in (OK, REFUSED, FINDING))
        rate = self.inputs / self.seconds if self.seconds else 0.0
        return f"{self.target:<9} {self.inputs:>9,} inputs, {rate:>6,.0f}/s: {counts}"


class OverTime(BaseException):
    """The time of an input is over; handlers of errors do not catch it."""


def judge(run: Callable[[bytes], None], data: bytes, seconds: float = MAX_SECONDS) -> Result:
    """Run one input in this process."""
    try:
        begin()
        with _timed(seconds):
            run(data)
    except ScalatraceError as error:
        try:
            check_message(error)
        except (AssertionError, MemoryError) as wrong:
            return _finding(wrong, error.__traceback__)
        return Result(REFUSED, steps=finish(REFUSED))
    except (Exception, OverTime) as error:
        return _finding(error, error.__traceback__)
    return Result(OK, steps=finish())


def _finding(error: BaseException, raised_at: Any) -> Result:
    frames = [
        frame
        for frame in traceback.extract_tb(raised_at)
        if "/site-packages/" not in frame.filename and str(TESTS) not in frame.filename
    ]
    # Slow inputs are interrupted anywhere: their outermost frames tell more.
    shown = frames[:2] if isinstance(error, (OverTime, MemoryError)) else frames[-2:]
    where = " < ".join(f"{os.path.basename(f.filename)}:{f.name}" for f in reversed(shown))
    message = str(error).split("\n")[0][:200]
    kind = type(error).__name__
    about = f" {message[:60]}" if isinstance(error, AssertionError) else ""
    steps = finish(HANG if isinstance(error, OverTime) else TRACEBACK)
    return Result(FINDING, f"{kind} in {stage()}: {where}{about}", message or kind, steps)


@contextmanager
def _timed(seconds: float) -> Iterator[None]:
    """Raise OverTime after so much processor time; end the process if native code does not return."""

    def expired(number: int, frame: Any) -> None:
        raise OverTime(f"more than {seconds:g} s")

    signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds + NATIVE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def fuzz(
    target: Target,
    seed: int,
    max_seconds: float,
    first: int = 0,
    report: Report | None = None,
    effort: Effort = USUAL,
) -> Report:
    """Run the inputs of a target from number `first` on, until the time is over."""
    report = report or Report(target.name)
    assert target.seeds, f"no seeds in tests/corpus/{target.name}/seeds"
    start = time.monotonic()
    number = first
    while (left := start + max_seconds - time.monotonic()) > 0:
        made = (target.make(seed, i) for i in range(number, number + INPUTS_PER_CHILD))
        for result in _in_child(partial(target.run, effort=effort), made, left):
            report.outcomes[result.outcome] += 1
            report.table.add(result.steps)
            if result.outcome == FINDING and result.key not in report.findings:
                report.findings[result.key] = number, result.text
            number += 1
    report.seconds += time.monotonic() - start
    return report


def judged_apart(target: Target, data: bytes) -> Result:
    """Run one input, in all ways, in a child process with limits."""
    (result,) = _in_child(partial(target.run, effort=THOROUGH), [data], float("inf"))
    return result


def _in_child(run: Callable[[bytes], None], inputs: Iterable[bytes], seconds: float) -> Iterator[Result]:
    """Fork a child for some inputs and yield their results; that of a child that died is the last."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _serve(run, inputs, seconds, writing)
    os.close(writing)
    silent = False
    try:
        with os.fdopen(reading, encoding="utf-8") as lines:
            while True:
                silent = not select.select([lines], [], [], WALL_SECONDS)[0]
                line = "" if silent else lines.readline()
                if not line.endswith("\n"):
                    break
                *words, steps = json.loads(line)
                yield Result(*words, [Step(*one) for one in steps])
    finally:
        if silent:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status):
        name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "exit"
        steps = [Step(under_way(), HANG if silent else SIGNAL)]
        key = f"{'no result' if silent else name} in {under_way()}"
        yield Result(FINDING, key, f"the process ended with {name}", steps)


def _serve(run: Callable[[bytes], None], inputs: Iterable[bytes], seconds: float, writing: int) -> NoReturn:
    """Judge inputs in the child, and write a line for each at once."""
    status = 1
    try:
        end = time.monotonic() + seconds
        in_use = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (in_use + MAX_BYTES,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        for data in inputs:
            os.write(writing, (json.dumps(judge(run, data)) + "\n").encode())
            if time.monotonic() > end:
                break
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)
