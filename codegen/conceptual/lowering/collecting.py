"""Events of tasks as they are collected: who is meant, how large messages are and where they lie."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.errors import ProgramError
from scalatrace.codegen.conceptual.lowering import events as e
from scalatrace.codegen.conceptual.names import bound
from scalatrace.codegen.conceptual.tree.together import memory_of
from scalatrace.codegen.conceptual.values.draws import Draws
from scalatrace.codegen.conceptual.values.evaluate import Env, holds, integer, values

__all__ = ["MAX_MESSAGE_BYTES", "UNIT_BYTES", "Collecting", "TooManyEventsError", "string_tag"]

UNIT_BYTES = {
    "BYTES": 1, "HALFWORDS": 2, "WORDS": 4, "INTEGERS": 4, "DOUBLEWORDS": 8, "QUADWORDS": 16,
    "PAGES": mmap.PAGESIZE, "KILOBYTE": 2**10, "MEGABYTE": 2**20, "GIGABYTE": 2**30,
}  # fmt: skip
MAX_MESSAGE_BYTES = 2**31 - 1
"""Bytes in one message, as MPI counts them in an int."""


class TooManyEventsError(Exception):
    """A program takes more steps than were wanted."""


def string_tag(text: str) -> int:
    """Return the tag that a string stands for: its FNV-1a hash (Fowler, Noll and Vo), cut to 23 bits."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value & 0x7FFFFF


@dataclass
class Collecting(ABC):
    """Collects events while it goes through the statements."""

    tasks: int
    ranks: Collection[int]
    seed: int
    most: int | None
    comms: list[e.Comm] = field(default_factory=list)
    draws: Draws = field(init=False)

    def __post_init__(self) -> None:
        self.draws = Draws(self.seed)
        self.out: dict[int, list[e.Event]] = {rank: [] for rank in self.ranks}
        self.active = set(self.ranks)
        self.processors = tuple(range(self.tasks))
        self.serial = self.steps = 0
        self.known: set[e.Comm] = {tuple(range(self.tasks))}

    # collecting

    def add(self, task: int, event: e.Event) -> None:
        """Let a task do something."""
        self.put(self.processors[task], event)

    def put(self, rank: int, event: e.Event) -> None:
        """Let a rank do something."""
        if rank in self.active:
            self.out[rank].append(event)
            self.charge()

    def charge(self, steps: int = 1) -> None:
        """Count steps of the work. Raises TooManyEventsError."""
        self.steps += steps
        if self.most is not None and self.steps > self.most:
            raise TooManyEventsError

    def each(self, event: e.Event) -> None:
        """Let all ranks do something."""
        for rank in self.active:
            self.out[rank].append(event)

    def taken(self) -> dict[int, tuple[e.Event, ...]]:
        """Return what was collected and start anew."""
        result = {rank: tuple(events) for rank, events in self.out.items()}
        self.out = {rank: [] for rank in self.ranks}
        return result

    def comm(self, tasks: Collection[int]) -> e.Comm:
        """Return the communicator of some tasks; a new one is made at start-up."""
        ranks = tuple(sorted(self.processors[task] for task in tasks))
        if ranks not in self.known:
            self.known.add(ranks)
            self.comms.append(ranks)
        return ranks

    def body(self, statement: t.Statement, env: Env) -> dict[int, tuple[e.Event, ...]]:
        """Return the events of a statement, which are not executed here and now."""
        outer, self.out = self.out, {rank: [] for rank in self.ranks}
        self.statement(statement, env)
        inner, self.out = self.taken(), outer
        return inner

    # task descriptions

    def sources(self, tasks: t.Tasks, env: Env, but: int | None = None) -> list[tuple[int, Env]]:
        """Return the tasks described, ascending, with what each knows; ALL OTHER TASKS leaves out `but`."""
        name = bound(tasks)
        match tasks:
            case t.AllTasks():
                sources: Collection[int] = range(self.tasks)
            case t.AllOthers():
                sources = [task for task in range(self.tasks) if task != but]
            case t.OneTask(task):
                sources = [integer(task, env)]
            case t.SuchThat(variable, condition):
                everyone = range(self.tasks)
                sources = [task for task in everyone if holds(condition, env.bind(variable, task))]
            case t.TaskRanges(ranges):
                sources = sorted(set(values(ranges, env)))
            case t.TaskGroup(group):
                sources = env.groups[group]
        self.charge(self.tasks if isinstance(tasks, t.SuchThat) else len(sources))
        return [(task, env.bind(name, task)) for task in sources if 0 <= task < self.tasks]

    def pairs(self, source: t.Tasks, target: t.Tasks, env: Env) -> list[tuple[int, int]]:
        """Return (source, target) for each message, ascending."""
        return [
            (a, b) for a, inner in self.sources(source, env) for b, _ in self.sources(target, inner, but=a)
        ]

    # messages

    def size(self, measure: t.UnitAmount | None, env: Env) -> int:
        """Return a measure in bytes."""
        if measure is None:
            return 0
        amount = 1 if measure.amount is None else integer(measure.amount, env)
        size = (amount + 7) // 8 if measure.unit == "BITS" else amount * UNIT_BYTES[measure.unit]
        if not -MAX_MESSAGE_BYTES <= size <= MAX_MESSAGE_BYTES:
            raise ProgramError(f"{size} bytes; MPI messages have less than 2 GiB", measure.place)
        return size

    def extent(self, measure: t.UnitAmount | None, env: Env) -> int:
        """Return a measure that must not be negative."""
        size = self.size(measure, env)
        if size < 0:
            assert measure is not None
            raise ProgramError(f"a size of {size} bytes; expected 0 or more", measure.place)
        return size

    def count(self, count: t.Expr | None, env: Env) -> int:
        """Return how many; never negative."""
        return 1 if count is None else max(0, integer(count, env))

    def tag(self, tag: t.Expr | str | None, env: Env) -> int:
        """Return the tag of a message."""
        if tag is None or isinstance(tag, str):
            return 0 if tag is None else string_tag(tag)
        value = abs(integer(tag, env))
        if value > MAX_MESSAGE_BYTES:
            raise ProgramError(f"tag {value} is too large for MPI", tag.place)
        return value

    def untagged(self, node: Any, env: Env) -> None:
        """Refuse a tag where MPI has none."""
        if node is not None and node.tag is not None and self.tag(node.tag, env) != 0:
            raise ProgramError("collective messages have no tags; expected tag 0 or none", node.place)

    def memory(self, node: Any, env: Env, under: Any = None) -> e.MemoryEvent:
        """Return where a message lies; what the node does not say, `under` does."""
        alignment, touching, buffer, unique = memory_of(node, under)
        wanted = touching if touching is not None and touching.wanted else None
        return e.MemoryEvent(
            buffer=None if buffer is None or buffer.number is None else integer(buffer.number, env),
            unique=unique,
            offset=self.extent(buffer.offset, env) if buffer is not None else 0,
            alignment=self.size(alignment.measure, env) if alignment is not None else 0,
            misaligned=alignment is not None and alignment.kind == "MISALIGNED",
            touched=wanted is not None and not wanted.verification,
            verified=wanted is not None and wanted.verification,
        )

    @abstractmethod
    def statement(self, node: t.Statement, env: Env) -> None:
        """Add what a statement does, on all ranks."""
