"""Mutations of bytes, of decoded msgpack and of texts; all choices come from the given random generator."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

__all__ = ["INTEGERS", "mutated_bytes", "mutated_text", "mutated_tree"]

MAX_STEPS = 6
"""Mutations of one input."""

MAX_COPIES = 5000
"""Copies of one token, for nesting and long lists."""

MAX_COPIED = 200
"""Characters of a token that are copied: copies of copies would need all memory."""

_POWERS = [(1 << n) + d for n in (4, 5, 6, 7, 8, 12, 15, 16, 24, 31, 32, 40, 53, 62) for d in (-1, 0, 1)]
INTEGERS = [
    *range(-3, 10), *_POWERS, *(-n for n in _POWERS), (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 63),
    *range(-1000000006, -999999999), 1000, 10**6, 10**9,
]  # fmt: skip
"""Ends of integer types, limits of the readers, and special values."""

FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-320,
    1e300,
    -1e300,
    2.0**63,
    float("inf"),
    float("-inf"),
    float("nan"),
]

BIG = 1 << 62

TEXTS = [
    "", "a", "x" * 300, "\x1b[31mred", "\x9b31m", "a\nb", "a\rb", '"', "\\", "%s%n", "*/", "{}", "[bold]",
    "\udcff", "\u202e", "\0", "P", "r", "X", "x", "i1", "l1", "P - 1", "P*P*P*P*P*P*P*P*P*P", "1 << 62",
    "r // 0", "-" * 300 + "1", "(" * 300, "world", "self", "null", "spawn", "looped", "cycle", "indexed",
    "MPI_INT", "contiguous(4611686018427387904,MPI_INT)", "vector(1,2,3,", "count", "comm", "dest", "Send",
    "Isend", "Recv", "Wait", "Send_init", "Start", "Barrier", "Win_create", "compute_ns", "choose(r, 1, 2)",
    "item(r, 1, 2)", "block(P, 0, r)", "PROC_NULL", "ANY_SOURCE",
]  # fmt: skip

VALUES: list[Any] = [
    None, True, False, [], {}, b"", b"\xff" * 9, [[0, 1, 5]], [[BIG, 0, 1]], [[BIG, 1, 0]], [[0, 0, 1, 2]],
    [[BIG, BIG, BIG]], [[3, 1, [1 << 40, 0, 5]]], [[2, -1, [2, 1, 0]]], [[1 << 24, 1, 0]], [[0, -1, 5]],
    {0: [0, 1, [1], 2]}, {0: [[[2, 1, 0]], 1]}, {1: [[[4, 1, 0]], [1, 2, 3, 4]]}, {2: [None, 5]},
    {1: [[[1 << 24, 1, 0]], [[0, 1, 0]]]}, {3: [[[4, 1, 0]], [4], 0, [], ["1", None, ["r"]], []]},
    {3: [[[4, 1, 0]], [2, 2], 1, [], ["1", "looped", ["1", "i1 + r"]], [[BIG]]]}, [2, 1], [0, [[0, 1, 0]]],
]  # fmt: skip
"""Value vectors, elastic values and peers, most of them with very many values."""


def _steps(random: Random) -> int:
    """Return a number of mutations: one in half of the inputs, so that most stay close to a file."""
    steps = 1
    while steps < MAX_STEPS and random.random() < 0.5:
        steps += 1
    return steps


def mutated_bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Return bytes that differ from `data` in a few places; `others` give parts."""
    out = bytearray(data)
    for _ in range(_steps(random)):
        at = random.randrange(len(out) + 1)
        end = min(len(out), at + random.choice((1, 1, 2, 4, 8, 40)))
        match random.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << random.randrange(8)
            case 1 if at < len(out):
                out[at] = random.choice((0, 1, 0x7F, 0x80, 0xC0, 0xC1, 0xCF, 0xD3, 0xDD, 0xDF, 0xFF))
            case 2:
                del out[at:end]
            case 3:
                out[at:at] = out[at:end] * random.choice((1, 1, 2, 30))
            case 4:
                number = random.choice(INTEGERS) & ((1 << 64) - 1)
                out[at:end] = number.to_bytes(8, random.choice(("big", "little")))[8 - (end - at or 1) :]
            case 5:
                other = random.choice(others)
                start = random.randrange(len(other) + 1)
                out[at:end] = other[start : start + random.choice((1, 8, 40, 200))]
            case _:
                del out[at if random.random() < 0.1 else len(out) :]
    return bytes(out)


# --- trees

Slot = tuple[Any, Any]
"""A list or map, and a key of it."""


def mutated_tree(tree: Any, others: Sequence[Any], random: Random) -> Any:
    """Change a tree of lists, maps and leaves in a few places, in place, and return it."""
    root = [tree]
    for _ in range(_steps(random)):
        holder, key = _slot(root, random)
        old = holder[key]
        random.choice(_TREE_STEPS)(holder, key, old, others, random)
    return root[0] if root else None


def _slot(root: list[Any], random: Random) -> Slot:
    """Descend from the root, and stop somewhere."""
    holder, key = root, 0
    while True:
        value = holder[key]
        if type(value) not in (list, dict) or not value or (holder is not root and random.random() < 0.12):
            return holder, key
        holder, key = value, random.choice(list(value) if type(value) is dict else range(len(value)))


def _put(holder: Any, key: Any, value: Any) -> None:
    holder[key] = value


def _replace(holder: Any, key: Any, old: Any, others: Sequence[Any], random: Random) -> None:
    """By another value, most often of the same type."""
    if random.random() < 0.15:
        _put(holder, key, _copy(random.choice((random.choice(VALUES), random.choice(INTEGERS), "x"))))
    elif type(old) is int:
        _put(holder, key, random.choice((random.choice(INTEGERS), _near(old, random))))
    elif type(old) is float:
        _put(holder, key, random.choice(FLOATS))
    elif type(old) is str:
        _put(holder, key, random.choice((random.choice(TEXTS), mutated_text(old, [], random))))
    elif type(old) is bytes:
        _put(holder, key, mutated_bytes(old, [old], random))
    else:
        _put(holder, key, _copy(random.choice(VALUES)))


def _near(old: int, random: Random) -> int:
    return max(-(1 << 63), min(old + random.randint(-2, 2), (1 << 64) - 1))


def _delete(holder: Any, key: Any, old: Any, others: Sequence[Any], random: Random) -> None:
    if len(holder) > 1:
        del holder[key]


def _repeat(holder: Any, key: Any, old: Any, others: Sequence[Any], random: Random) -> None:
    """Copy an entry of a list."""
    if type(holder) is list:
        holder[key:key] = [_copy(old) for _ in range(random.choice((1, 1, 2, 20)))]


def _swap(holder: Any, key: Any, old: Any, others: Sequence[Any], random: Random) -> None:
    """Exchange two entries."""
    other = random.choice(list(holder) if type(holder) is dict else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


def _graft(holder: Any, key: Any, old: Any, others: Sequence[Any], random: Random) -> None:
    """Take a part of another tree."""
    if others:
        there, at = _slot([random.choice(others)], random)
        _put(holder, key, _copy(there[at]))


def _wrap(holder: Any, key: Any, old: Any, others: Sequence[Any], random: Random) -> None:
    """Put a value into a loop, a group or a node."""
    times = random.choice((0, 1, 2, 3, 1 << 20, BIG))
    for _ in range(random.choice((1, 1, 2, 3, 40))):
        old = random.choice(([times, 0, old], [times, 1, old], [[times, 0, old]], [times, [old]], [old],
                             {0: [[[2, 1, 0]], old]}, {1: [[[4, 1, 0]], old]}))  # fmt: skip
    _put(holder, key, old)


def _unwrap(holder: Any, key: Any, old: Any, others: Sequence[Any], random: Random) -> None:
    """Put a part in the place of the whole."""
    if type(old) in (list, dict) and old:
        there, at = _slot([old], random)
        _put(holder, key, there[at])


_TREE_STEPS: list[Callable[[Any, Any, Any, Sequence[Any], Random], None]] = [
    _replace, _replace, _replace, _replace, _delete, _repeat, _swap, _graft, _wrap, _unwrap,
]  # fmt: skip


def _copy(value: Any) -> Any:
    if type(value) in (list, tuple):
        return [_copy(one) for one in value]
    return {key: _copy(one) for key, one in value.items()} if type(value) is dict else value


# --- texts

_TOKEN = re.compile(r"\s+|\w+|.", re.DOTALL)


def mutated_text(text: str, others: Sequence[str], random: Random) -> str:
    """Return a text that differs from `text` in a few tokens or lines; `others` give tokens and lines."""
    tokens = _TOKEN.findall(text)
    for _ in range(_steps(random)):
        at = random.randrange(len(tokens) + 1)
        token = tokens[at] if at < len(tokens) else ""
        match random.randrange(9):
            case 0 | 1 if at < len(tokens):
                integer = token.isdecimal() or random.random() < 0.1
                tokens[at] = str(random.choice(INTEGERS)) if integer else random.choice(TEXTS)
            case 2:
                del tokens[at : at + random.choice((1, 1, 2, 10))]
            case 3:
                tokens[at:at] = tokens[at : at + random.choice((1, 1, 2, 10))] * random.choice((1, 1, 2, 20))
            case 4 if at < len(tokens):
                tokens[at] = token[:MAX_COPIED] * random.choice((2, 3, 50, MAX_COPIES))
            case 5 if at < len(tokens):
                other = random.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], token
            case 6 if others:
                lines = random.choice(others).splitlines(keepends=True) or [""]
                tokens[at:at] = lines[(start := random.randrange(len(lines))) : start + random.randint(1, 3)]
            case 7 if others:
                words = _TOKEN.findall(random.choice(others)) or [""]
                tokens[at : at + 1] = [random.choice(words)]
            case _:
                tokens[at:at] = [random.choice(("(", ")", "[", "]", "{", "}", "-", "~", '"', "'", ",", "\n"))]
    return "".join(tokens)
