"""Read GOAL schedules (Hoefler, Siebert, Lumsdaine 2009) in text form, as LogGOPSim's txt2bin reads them.

    num_ranks 2
    rank 0 {
    l1: calc 1000 cpu 0
    l2: send 8b to 1 tag 3 cpu 0 nic 0
    l2 requires l1          l2 begins after l1 has ended;  irequires: after l1 has begun
    }

`from -1` and `tag -1` are those of any sender and tag. Comments are `// ...` and `/* ... */`. The text is
UTF-8, with or without a byte order mark.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import NoReturn

from scalatrace.convert.schedules.model import ANY, OperationKind, OperationSchedule, ScheduledOperation
from scalatrace.errors import FormatError, TextError

__all__ = ["MAX_RANKS", "read_goal_text"]

MAX_RANKS = 1 << 20

_MESSAGE = re.compile(
    r"(?:([A-Za-z]\w*)\s*:\s*)?(send|recv)\s+(\d+)\s*b\s+(to|from)\s+(-1|\d+)"
    r"(?:\s+tag\s+(-1|\d+))?(?:\s+cpu\s+(\d+))?(?:\s+nic\s+(\d+))?$"
)
_CALC = re.compile(r"(?:([A-Za-z]\w*)\s*:\s*)?calc\s+(\d+)(?:\s+cpu\s+(\d+))?(?:\s+nic\s+(\d+))?$")
_NEED = re.compile(r"([A-Za-z]\w*)\s+(i?requires)\s+([A-Za-z]\w*)$")
_NRANKS = re.compile(r"num_ranks\s+(\d+)\s*")
_OPENING = re.compile(r"rank\s+(\d+)\s*\{\s*")
_LONG_NUMBER = re.compile(r"\b\d{20}")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_KINDS = {"send": OperationKind.SEND, "recv": OperationKind.RECV}


def read_goal_text(path: str | PathLike[str]) -> OperationSchedule:
    """Read a schedule.

    Raises:
        TextError: a line is no statement, or names a label that no line before it has.
        FormatError: the file is no text, or lacks ranks.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("no GOAL schedule: it is not text", path, error.start) from None
    bare = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    return _GoalReader(path).read(bare.split("\n"))


class _GoalReader:
    """The state of reading: the ranks so far, and the rank and labels of the block that is open."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path, self._line = path, 0
        self._ranks: dict[int, list[ScheduledOperation]] = {}
        self._nranks = 0
        self._rank = -1
        self._labels: dict[str, int] = {}

    def read(self, lines: list[str]) -> OperationSchedule:
        for number, line in enumerate(lines, 1):
            self._line, text = number, line.strip()
            if _LONG_NUMBER.search(text):
                self._fail("a number has more than 19 digits")
            while text:
                text = self._take_inside(text) if self._rank >= 0 else self._take_outside(text)
        if self._rank >= 0:
            raise FormatError(f"the block of rank {self._rank} is not closed: '}}' is missing", self._path)
        if not self._nranks:
            raise FormatError("no GOAL schedule: num_ranks is missing", self._path)
        missing = next((rank for rank in range(self._nranks) if rank not in self._ranks), None)
        if missing is not None:
            raise FormatError(
                f"num_ranks is {self._nranks}, but there is no block of rank {missing}", self._path
            )
        return OperationSchedule([self._ranks[rank] for rank in range(self._nranks)], [self._path])

    def _take_outside(self, text: str) -> str:
        """Take num_ranks or the beginning of a block; return what follows on the line."""
        if match := _NRANKS.match(text):
            if self._nranks:
                self._fail("num_ranks is given twice")
            self._nranks = int(match[1])
            if not 1 <= self._nranks <= MAX_RANKS:
                self._fail(f"num_ranks is {self._nranks}, expected 1 to {MAX_RANKS}")
        elif match := _OPENING.match(text):
            self._rank = int(match[1])
            if not self._nranks:
                self._fail("num_ranks is missing before the first block")
            if self._rank >= self._nranks:
                self._fail(f"rank {self._rank} is not one of {self._nranks} ranks")
            if self._rank in self._ranks:
                self._fail(f"rank {self._rank} has two blocks")
            self._ranks[self._rank], self._labels = [], {}
        else:
            self._fail(f"expected 'num_ranks N' or 'rank N {{', not {_shorten(text)}")
        return text[match.end() :]

    def _take_inside(self, text: str) -> str:
        """Take a statement or the end of a block; return what follows on the line."""
        if text[0] == "}":
            self._rank = -1
            return text[1:].lstrip()
        body, end, _ = text.partition("}")
        self._take_statement(body.rstrip())
        return end

    def _take_statement(self, text: str) -> None:
        operations = self._ranks[self._rank]
        if match := _MESSAGE.match(text):
            label, verb, size, side, peer, tag, cpu, _ = match.groups()
            if side != ("to" if verb == "send" else "from"):
                self._fail(f"expected '{verb} ... {'to' if verb == 'send' else 'from'}', not '{side}'")
            if verb == "send" and ANY in (int(peer), int(tag or 0)):
                self._fail("-1 (any) is for receives, not for sends")
            if int(peer) >= self._nranks:
                self._fail(f"rank {peer} is not one of {self._nranks} ranks")
            operation = ScheduledOperation(
                _KINDS[verb], int(size), int(peer), int(tag or 0), self._line, int(cpu or 0)
            )
        elif match := _CALC.match(text):
            label, size, cpu, _ = match.groups()
            operation = ScheduledOperation(OperationKind.CALC, int(size), place=self._line, cpu=int(cpu or 0))
        elif match := _NEED.match(text):
            later, kind, earlier = match.groups()
            needs = operations[self._number(later)]
            (needs.ended if kind == "requires" else needs.begun).append(self._number(earlier))
            return
        else:
            self._fail(f"expected send, recv, calc, 'A requires B' or 'A irequires B', not {_shorten(text)}")
        if label is not None:
            if label in self._labels:
                self._fail(f"label {label} is given twice in rank {self._rank}")
            self._labels[label] = len(operations)
        operations.append(operation)

    def _number(self, label: str) -> int:
        if label not in self._labels:
            self._fail(f"no line before has the label {label} in rank {self._rank}")
        return self._labels[label]

    def _fail(self, reason: str) -> NoReturn:
        raise TextError(reason, self._path, self._line, 1)


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
