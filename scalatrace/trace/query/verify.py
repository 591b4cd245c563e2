"""Compare the walk of every rank with its flat log, call by call: equal means lossless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from scalatrace.errors import FormatError
from scalatrace.files import unreadable
from scalatrace.trace.io.flatlog import FlatCall, FlatLog
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.callsite import Stack, same_stack, short_frame
from scalatrace.trace.model.tables import Communicator, Datatype, Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.matching import CommMatcher, Description
from scalatrace.trace.query.summaries import is_summarised, summarised
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import SPECIAL_MAX, special_name

__all__ = ["LogProblem", "Verification", "describe", "render", "verify"]

MAX_MISSING = 1000
"""Ranks without a flat log that are reported one by one."""

MAX_CACHED_PAIRS = 200_000
"""Pairs of equal calls that are cached, so that an iteration of a loop costs one look-up per call."""


@dataclass(frozen=True, slots=True)
class LogProblem:
    """One error of a rank.

    Attributes:
        rank: world rank.
        event: number of the event from 1; None when the whole log is meant.
        reason: what is wrong.
        logged, walked: both renderings; "" where there is none.
    """

    rank: int
    event: int | None
    reason: str
    logged: str = ""
    walked: str = ""

    def __str__(self) -> str:
        place = f"rank {self.rank}" + (f", event {self.event}" if self.event is not None else "")
        if not self.logged and not self.walked:
            return f"{place}: {self.reason}"
        return f"{place}: {self.reason}\n  log:   {self.logged or '-'}\n  trace: {self.walked or '-'}"


@dataclass
class Verification:
    """Result of `verify`: number of compared events, and problems (at most a few per rank).

    Attributes:
        summarised: parameters, as `Alltoallv.sendcounts`, whose values the trace does not have: not compared.
        tolerance: lines (native: bytes) by which call sites may differ, from the options of the run.
        prefix: logs were allowed to go on behind the walks.
    """

    nranks: int = 0
    nevents: int = 0
    summarised: tuple[str, ...] = ()
    tolerance: int = 0
    prefix: bool = False
    problems: list[LogProblem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Return whether every rank's walk equals its log."""
        return not self.problems


def verify(trace: Trace, directory: str | PathLike[str], *, prefix: bool = False) -> Verification:
    """Compare each rank's walk with `rank-R.log` in a directory; the first difference of each rank is kept.

    Args:
        prefix: for a trace that `merge` made of parts: a log may go on behind the walk and be cut, and there
            may be logs of ranks of which there is no part.

    Raises:
        FormatError: the directory cannot be read.
    """
    result = Verification(summarised=summarised(trace), tolerance=_tolerance(trace), prefix=prefix)
    logs = _logs(directory)
    logged = [rank for rank in logs if rank in trace.ranks]
    for rank in sorted(logged):
        result.nranks += 1
        _verify_rank(trace, rank, logs[rank], prefix, result)
    missing = trace.ranks - RankList(logged)
    for rank in islice(missing, MAX_MISSING):
        result.problems.append(LogProblem(rank, None, "there is no flat log of it"))
    if len(missing) > MAX_MISSING:
        more = f"there is no flat log of it and of {len(missing) - MAX_MISSING - 1} ranks after it"
        result.problems.append(LogProblem(missing[MAX_MISSING], None, more))
    result.problems.sort(key=lambda problem: problem.rank)
    for rank in [] if prefix else sorted(set(logs) - set(trace.ranks)):
        result.problems.append(LogProblem(rank, None, "it has a flat log but is not in the trace"))
    return result


def _tolerance(trace: Trace) -> int:
    """How far apart lines may be: every round of the merge may have put one more tolerance between them."""
    tolerance = trace.meta.get("signature_tolerance", "0")
    return int(tolerance) * (1 + trace.nprocs.bit_length()) if tolerance.isdecimal() else 0


def _logs(directory: str | PathLike[str]) -> dict[int, Path]:
    try:
        names = sorted(Path(directory).iterdir())
    except OSError as error:
        raise unreadable(error, directory) from None
    matches = ((re.fullmatch(r"rank-(\d+)\.log", path.name), path) for path in names)
    return {int(match[1]): path for match, path in matches if match}


def _verify_rank(trace: Trace, rank: int, path: Path, prefix: bool, result: Verification) -> None:
    """Add a rank's events and problems to the result. A damaged log, or trace, is a problem of the rank."""
    counter = [0]
    try:
        log = FlatLog(path)
        if (log.rank, log.nprocs) != (rank, trace.nprocs):
            reason = f"its log says rank {log.rank} of {log.nprocs}"
            result.problems.append(LogProblem(rank, None, reason))
            return
        result.problems += _differences(trace, rank, log, prefix, counter)
    except FormatError as error:
        result.problems.append(LogProblem(rank, counter[0] + 1, str(error)))
    result.nevents += counter[0]


def _differences(
    trace: Trace, rank: int, log: FlatLog, prefix: bool, counter: list[int]
) -> Iterator[LogProblem]:
    are_equal = _LoggedComparison(trace, rank, log)
    n = 0
    for call, flat in _pairs(trace, rank, log, prefix):
        if flat is None or call is None or not are_equal(flat, call):
            counter[0] = n
            logged = _render_flat(log, flat) if flat is not None else ""
            walked = render(call) if call is not None else ""
            reason = (
                "the log ends here" if not logged else "the trace ends here" if not walked else "they differ"
            )
            yield LogProblem(rank, n + 1, reason, logged, walked)
            return
        n += 1
    counter[0] = n
    if prefix:
        return
    if log.declared is None:
        yield LogProblem(rank, None, "its log has no end line: the run did not reach MPI_Finalize")
    elif log.declared != n:
        yield LogProblem(rank, None, f"its log claims {log.declared} events and has {n}")


def _pairs(
    trace: Trace, rank: int, log: FlatLog, prefix: bool
) -> Iterator[tuple[Call | None, FlatCall | None]]:
    """Calls of each thread side by side; of a log that may be longer, what follows the walks is not read."""
    calls, walks = iter(log), {thread: trace.walk(rank, thread) for thread in trace.threads}
    ahead = {thread: call for thread, walk in walks.items() if (call := next(walk, None)) is not None}
    while ahead:
        flat = next(calls, None)
        if flat is None:
            yield next(iter(ahead.values())), None
            return
        call = ahead.pop(log.thread, None)
        if call is not None or not prefix:
            yield call, flat
        if call is not None and (following := next(walks[log.thread], None)) is not None:
            ahead[log.thread] = following
    if not prefix:
        yield from ((None, flat) for flat in calls)


class _LoggedComparison:
    """Comparison of logged and walked calls, with a cache of equal pairs."""

    def __init__(self, trace: Trace, rank: int, log: FlatLog) -> None:
        self.trace, self.log, self.tolerance = trace, log, _tolerance(trace)
        self.known: dict[tuple[Any, tuple[int, ...]], FlatCall] = {}
        self.comms = CommMatcher(lambda n: Description(*log.comms[n]), lambda n: describe(trace, n, rank))

    def __call__(self, flat: FlatCall, call: Call) -> bool:
        key = (call.place, call.values)
        if self.known.get(key) is flat:  # the log yields one object for equal lines
            return True
        if not self.compare(flat, call):
            return False
        if len(self.known) > MAX_CACHED_PAIRS:
            self.known.clear()
        self.known[key] = flat
        return True

    def compare(self, flat: FlatCall, call: Call) -> bool:
        schema = call.place.op.params
        if flat.op != call.op or self.log.schemas[flat.op] != schema:
            return False
        if not same_stack(self.log.stacks[flat.signature], call.stack, self.tolerance):
            return False
        return all(
            is_summarised(param) or self.value(kind, logged, walked, call)
            for (_, kind), logged, walked, param in zip(
                schema, flat.values, call.values, call.place.node.params, strict=True
            )
        )

    def value(self, kind: Kind, logged: Any, walked: int, call: Call) -> bool:
        if kind is Kind.INT or kind is Kind.PEER or walked < SPECIAL_MAX:
            return bool(logged == walked)
        if kind is Kind.COMM:
            return self.comms.match(logged, walked)
        if kind is Kind.TYPE:
            return self.log.types.get(logged) == self.trace.datatype(walked)
        if kind is Kind.STRING:
            return bool(logged == self.trace.string(walked))
        return bool(logged == self.trace.array(walked, call.place.own(call.values)))


def describe(trace: Trace, family: int, rank: int) -> Description:
    """Return the description of a rank's communicator of a family, for matching."""
    comm = trace.communicator(family, rank)
    return Description(comm.kind, trace.comms[family].parent, comm.members, comm.remote)


def render(call: Call) -> str:
    """Format a call for people: `Isend(count=100, ..., comm=world#0[16]) at app.py:12:main`."""
    return _render(call.op, call.params, call.stack)


def _render_flat(log: FlatLog, flat: FlatCall) -> str:
    params = {}
    for (name, kind), value in zip(log.schemas[flat.op], flat.values, strict=True):
        params[name] = value
        if kind is Kind.COMM and value in log.comms:
            comm = log.comms[value]
            params[name] = Communicator(value, comm.kind, comm.members, -1, comm.remote)
        elif kind is Kind.TYPE and value in log.types:
            params[name] = log.types[value]
    return _render(flat.op, params, log.stacks[flat.signature])


def _render(op: str, params: dict[str, Any], stack: Stack) -> str:
    listed_params = ", ".join(f"{name}={_shown(value)}" for name, value in params.items())
    site = " < ".join(ascii(short_frame(frame))[1:-1] for frame in stack)
    return f"{op}({listed_params})" + (f" at {site}" if site else "")


def _shown(value: Any) -> str:
    if isinstance(value, Communicator):
        return f"{value.kind}#{value.family}[{value.size}]"
    if isinstance(value, Datatype):
        return value.description
    if isinstance(value, str):
        return ascii(value)
    return (special_name(value) if isinstance(value, int) else None) or str(value)
