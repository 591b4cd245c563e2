"""A reader of GOAL by its grammar, and the execution of what it reads."""

from __future__ import annotations

import io
import re
from collections import defaultdict, deque
from dataclasses import dataclass, field

from scalatrace import Trace
from scalatrace.predict.export.goal import GOAL, write_goal
from scalatrace.predict.lowering import TraceLowering

_NUMBER = r"(\d+)"
_OPTIONS = rf"(?:\s+cpu\s+{_NUMBER})?(?:\s+nic\s+{_NUMBER})?"
_PATTERNS = {
    "send": re.compile(rf"send\s+{_NUMBER}b\s+to\s+{_NUMBER}(?:\s+tag\s+{_NUMBER})?{_OPTIONS}$"),
    "recv": re.compile(rf"recv\s+{_NUMBER}b\s+from\s+(\d+|-1)(?:\s+tag\s+(\d+|-1))?{_OPTIONS}$"),
    "calc": re.compile(rf"calc\s+{_NUMBER}(?:\s+cpu\s+{_NUMBER})?$"),
}
_LABEL = re.compile(r"([a-zA-Z][a-zA-Z0-9_]*):\s*(.*)$")
_NEEDS = re.compile(r"(\w+)\s+(i?requires)\s+(\w+)$")


@dataclass
class Operation:
    """A statement: kind, and for messages bytes, peer and tag."""

    kind: str
    size: int
    peer: int = -1
    tag: int = 0
    ended: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)


Rank = dict[str, Operation]


def goal_of(trace: Trace) -> str:
    """Return the schedule that a trace is exported to."""
    out = io.BytesIO()
    write_goal(TraceLowering(trace, GOAL), out)
    return out.getvalue().decode()


def read_goal(text: str) -> list[Rank]:
    """Read a schedule; operations by label, in order. Raises ValueError at the first error."""
    assert text.endswith("\n")
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S).split("\n")
    lines = [line for each in bare if (line := re.sub(r"//.*", "", each).strip())]
    if not (head := re.fullmatch(r"num_ranks\s+(\d+)", lines[0])):
        raise ValueError(lines[0])
    ranks: list[Rank] = []
    inside = False
    for line in lines[1:]:
        if not inside:
            if line != f"rank {len(ranks)} {{":
                raise ValueError(line)
            ranks.append({})
            inside = True
        elif line == "}":
            inside = False
        else:
            _statement(ranks[-1], line)
    if inside or len(ranks) != int(head[1]):
        raise ValueError("the file ends too early")
    return ranks


def _statement(rank: Rank, line: str) -> None:
    if needs := _NEEDS.match(line):
        later, kind, earlier = needs.groups()
        if earlier not in rank:
            raise ValueError(line)
        (rank[later].ended if kind == "requires" else rank[later].begun).append(earlier)
        return
    if not (labelled := _LABEL.match(line)):
        raise ValueError(line)
    label, body = labelled.groups()
    kind = body.split()[0]
    found = _PATTERNS[kind].match(body)
    if found is None or label in rank:
        raise ValueError(line)
    values = [int(value or 0) for value in found.groups()]
    rank[label] = Operation(kind, *values[: 1 if kind == "calc" else 3])


def execute(ranks: list[Rank]) -> list[list[str]]:
    """Execute with buffered sends; each rank's labels in the order in which they end. Fails at deadlock."""
    under_way: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    begun: list[set[str]] = [set() for _ in ranks]
    ended: list[dict[str, None]] = [{} for _ in ranks]
    progress = True
    while progress:
        progress = False
        for number, rank in enumerate(ranks):
            for label, operation in rank.items():
                if label in ended[number]:
                    continue
                ready = all(each in ended[number] for each in operation.ended)
                if not ready or not begun[number].issuperset(operation.begun):
                    continue
                begun[number].add(label)
                if operation.kind == "recv":
                    queue = under_way[operation.peer, number, operation.tag]
                    if not queue:
                        continue
                    queue.popleft()
                elif operation.kind == "send":
                    under_way[number, operation.peer, operation.tag].append(operation.size)
                ended[number][label] = None
                progress = True
    assert [len(own) for own in ended] == [len(rank) for rank in ranks], "ranks wait for ever"
    assert not any(under_way.values()), "messages without a receive"
    return [list(own) for own in ended]


def messages_of(rank: Rank) -> list[tuple[str, int, int, int, frozenset[int], frozenset[int]]]:
    """Return the messages of a rank: kind, bytes, peer, tag, and numbers of the messages that it depends on.

    A dependency on a computation is those of the computation.
    """
    result = []
    known: dict[str, tuple[frozenset[int], frozenset[int]]] = {}
    for label, operation in rank.items():
        ended: frozenset[int] = frozenset().union(*(known[each][0] for each in operation.ended))
        begun: frozenset[int] = frozenset().union(*(known[each][1] for each in operation.begun))
        begun |= frozenset().union(*(_begun_before(known, rank, each) for each in operation.ended))
        if operation.kind == "calc":
            known[label] = ended, begun
            continue
        result.append((operation.kind, operation.size, operation.peer, operation.tag, ended, begun))
        known[label] = frozenset({len(result) - 1}), frozenset({len(result) - 1})
    return result


def _begun_before(
    known: dict[str, tuple[frozenset[int], frozenset[int]]], rank: Rank, label: str
) -> frozenset[int]:
    return known[label][1] if rank[label].kind == "calc" else frozenset()
