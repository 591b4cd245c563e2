"""Parameters of the remaining calls, with new request ages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from scalatrace.extrap.choices.arrays import Arrays
from scalatrace.extrap.lossy.links import requests_of
from scalatrace.extrap.lossy.repair import Repair
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.walk import Call
from scalatrace.trace.values.vec import PROC_NULL

__all__ = ["Overrides", "overrides"]

Overrides = dict[int, dict[str, int]]
"""Call -> parameter -> its new value, as stored."""


def overrides(repair: Repair, arrays: Arrays) -> Overrides:
    """Return the new parameters of the remaining calls."""
    result: Overrides = defaultdict(dict)
    for number, names in repair.nulled.items():
        if repair.calls.kept(number):
            result[number].update(dict.fromkeys(names, PROC_NULL))
    if repair.calls.marks.any():
        for rank in range(repair.calls.trace.nprocs):
            _requests(repair, rank, arrays, result)
    return result


def _requests(repair: Repair, rank: int, arrays: Arrays, found: Overrides) -> None:
    """Requests by their new ages, in the calls of one rank."""
    calls = repair.calls
    for number, live, _ in requests_of(calls, rank):
        if calls.kept(number):
            call = calls.calls[number]
            _renamed(calls.trace.ops[call.node.op].params, call, repair, live, arrays, found[number])


def _renamed(
    params: tuple[tuple[str, Kind], ...],
    call: Call,
    repair: Repair,
    live: Sequence[int],
    arrays: Arrays,
    new: dict[str, int],
) -> None:
    kept = [repair.calls.kept(one) for one in live]
    newer = [0] * (len(live) + 1)  # how many kept ones are newer than the one at a position
    for at in range(len(live) - 1, -1, -1):
        newer[at] = newer[at + 1] + kept[at]
    n = len(live)

    def age(old: int) -> int | None:
        if not 0 <= old < n:
            return old
        at = n - 1 - old
        return newer[at + 1] if kept[at] else None

    if "request" in call:
        one = age(call["request"])
        if one is not None and one != call["request"]:
            new["request"] = one
        return
    old = tuple(call["requests"])
    given = [age(one) for one in old]
    ages = tuple(one for one in given if one is not None)
    if ages != old:
        new["requests"] = arrays.index(ages)
    index = call.get("index", -1)
    if index >= 0 and len(ages) < len(old):
        new["index"] = index - sum(one is None for one in given[:index])
    for name, kind in params:
        if name in ("count", "incount") and kind is Kind.INT and call.raw(name) == len(old):
            new[name] = len(ages)
