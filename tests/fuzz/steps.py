"""Steps of an input, as a table needs them: what was done, how it ended, and the most memory in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from mmap import mmap
from typing import NamedTuple

__all__ = [
    "HANG", "LOADED", "OUTCOMES", "REFUSED", "SIGNAL", "TRACEBACK", "Step", "Table", "begin", "finish",
    "printed", "refuse", "stage", "under_way",
]  # fmt: skip

LOADED, REFUSED, TRACEBACK, SIGNAL, HANG = OUTCOMES = ("loaded", "refused", "traceback", "signal", "hang")

MAX_NAME_BYTES = 200

READ = "read"


class Step(NamedTuple):
    """One step of one input: its name, one of OUTCOMES, and its peak of resident memory in MB."""

    name: str
    outcome: str
    megabytes: int = 0


_shared = mmap(-1, MAX_NAME_BYTES)
"""Name of the step under way, for the parent of a process that a signal ends."""
_done: list[Step] = []
_outcome = [LOADED]


def begin() -> None:
    """Forget earlier steps, and begin to read an input."""
    _done.clear()
    _start(READ)


def stage(name: str = "") -> str:
    """End the step under way and begin another one; without a name, return that of the one under way."""
    if name:
        _end()
        _start(name)
    return under_way()


def under_way() -> str:
    """Return the name of the step under way, of this process or of a child that ended."""
    return bytes(_shared).rstrip(b"\0").decode(errors="replace") or READ


def refuse() -> None:
    """Note that the step under way refuses its input."""
    _outcome[0] = REFUSED


def finish(outcome: str = "") -> list[Step]:
    """End the step under way, with an outcome unless it has one, and return all steps of the input."""
    if outcome:
        _outcome[0] = outcome
    _end()
    return list(_done)


def _start(name: str) -> None:
    _shared[:] = name.encode()[:MAX_NAME_BYTES].ljust(MAX_NAME_BYTES, b"\0")
    _outcome[0] = LOADED
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak of resident memory begins anew


def _end() -> None:
    _done.append(Step(under_way(), _outcome[0], _peak_megabytes()))


def _peak_megabytes() -> int:
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) >> 10
    return 0


@dataclass
class Table:
    """Outcomes by step: inputs, how they ended, and the largest memory of one."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    megabytes: dict[str, int] = field(default_factory=dict)

    def add(self, steps: Iterable[Step]) -> None:
        """Count the steps of an input, each name once: the last one of a name counts."""
        for step in {step.name: step for step in steps}.values():
            self.counts[step.name, step.outcome] += 1
            self.megabytes[step.name] = max(self.megabytes.get(step.name, 0), step.megabytes)

    def rows(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each step with its inputs, the numbers of OUTCOMES, and the largest memory in MB."""
        for name in sorted(self.megabytes, key=lambda name: (name != READ, name)):
            numbers = [self.counts[name, outcome] for outcome in OUTCOMES]
            yield name, [sum(numbers), *numbers, self.megabytes[name]]


HEADINGS = ("inputs", *OUTCOMES, "MB")


def printed(tables: Iterable[tuple[str, Table]]) -> str:
    """Return the tables of all kinds of files as text."""
    heads = "".join(f"{each:>10}" for each in HEADINGS)
    lines = [f"{'file':<10}{'command':<28}{heads}"]
    for kind, table in tables:
        for name, numbers in table.rows():
            lines.append(f"{kind:<10}{name:<28}" + "".join(f"{number:>10,}" for number in numbers))
    return "\n".join(lines)
