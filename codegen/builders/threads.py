"""Find what the threads of a trace share, and the orders in which they use it, for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, islice

from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.program.by_rank import of_elastic
from scalatrace.codegen.program.communicators import is_communicator_free
from scalatrace.codegen.program.threads import INDEX, ProgramThreads, UseSequence
from scalatrace.codegen.program.values import of_vec
from scalatrace.formula import Const, Expr, number
from scalatrace.trace.model.elastic import Elastic, Groups, Value, at, gather, vecs
from scalatrace.trace.model.nodes import Event, events
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.counting import executions
from scalatrace.trace.query.requests import is_foreign
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import Vec

__all__ = ["program_threads"]

MAX_VALUES = 1 << 22
"""Values of one parameter that are looked at, where they follow no short rule."""


def program_threads(trace: Trace) -> ProgramThreads:
    """Return what the threads of a trace share.

    Args:
        trace: with threads, without formulas.

    Raises:
        GenerateError: a parameter has more values than are looked at.
    """
    naming = defaultdict[int, set[int]](set)
    runs = {id(event): max((n for _, n in classes), default=0) for event, classes in executions(trace)}
    for thread in trace.threads:
        for event in events(trace.stream(thread)):
            for family in _families(trace, event, runs[id(event)]):
                naming[family].add(thread)
    comms = frozenset(family for family, threads in naming.items() if len(threads) > 1)
    return ProgramThreads(
        count=max(trace.threads) + 1,
        comms=comms,
        shares_requests=_names_foreign(trace, ("request", "requests")) or _has_late_comms(trace),
        shares_messages=_names_foreign(trace, ("message",)),
        turns={family: _sequence(trace, order) for family, order in trace.turns.items()},
        ncalls=_calls_before_free(trace, comms, runs),
        uses={name: _sequence(trace, order) for name, order in trace.uses.items()},
    )


def _families(trace: Trace, event: Event, n: int) -> set[int]:
    """The communicators that n executions of an event name."""
    result: set[int] = set()
    for (_, kind), param in zip(trace.ops[event.op].params, event.params, strict=True):
        if kind is Kind.COMM:
            for vec in vecs(param):  # type: ignore[arg-type]
                result.update(_distinct(vec, n))
    return result


def _distinct(vec: Vec, n: int) -> Counter[int]:
    """The first n values of a vec, and how often each is among them."""
    if vec.constant is not None:
        return Counter({vec.constant: n})
    if n > MAX_VALUES:
        raise GenerateError(f"a communicator changes in more than {MAX_VALUES:,} calls of a thread")
    return Counter(islice(vec, n))


def _names_foreign(trace: Trace, names: tuple[str, ...]) -> bool:
    """Whether parameters of these names may hold names of what another thread made."""
    for event in trace.leaves():
        for (name, kind), param in zip(trace.ops[event.op].params, event.params, strict=True):
            if name not in names:
                continue
            held = [array.vec for array in trace.arrays] if kind is Kind.ARRAY else vecs(param)  # type: ignore[arg-type]
            if any(map(is_foreign, chain.from_iterable(vec.ends() for vec in held))):
                return True
    return False


def _has_late_comms(trace: Trace) -> bool:
    """Whether requests make communicators: other threads may use one when the request is complete."""
    return any(trace.ops[event.op].name.startswith("Comm_idup") for event in trace.leaves())


def _sequence(trace: Trace, order: Elastic) -> UseSequence:
    """Numbers in the order of uses as expressions of the rank and the number of the use."""
    lengths = {}
    for rank in trace.ranks:
        vec = at(order, rank)
        lengths[rank] = [0 if vec is None else vec.length or 0]
    ranks = RankList(rank for rank, (n,) in lengths.items() if n)
    value = of_elastic(order, ranks, trace.nprocs, lambda vec: of_vec(vec, INDEX, vec.length))
    return UseSequence(_by_rank(trace, lengths), value)


def _by_rank(trace: Trace, values: dict[int, list[int]]) -> Expr:
    """One number of each rank as an expression of the rank."""
    elastic = gather(values)
    if isinstance(elastic, Vec):
        return Const(next(iter(values.values()))[0])
    return number(of_elastic(elastic, trace.ranks, trace.nprocs, lambda vec: Const(vec[0])))


def _calls_before_free(trace: Trace, comms: frozenset[int], runs: dict[int, int]) -> dict[int, Expr]:
    """The number of calls on each shared communicator that is freed, by rank."""
    freed = set[int]()
    for event in trace.leaves():
        if is_communicator_free(trace.ops[event.op].name):
            freed |= _families(trace, event, runs[id(event)]) & comms
    if not freed:
        return {}
    counts = {family: Counter[int]() for family in freed}
    for event, ranks, n, value in _comm_values(trace):
        if is_communicator_free(trace.ops[event.op].name):
            continue
        for members, vec in _of_ranks(value, ranks):
            for family, times in _distinct(vec, n).items():
                if family in freed:
                    counts[family].update(dict.fromkeys(members, times))
    return {
        family: _by_rank(trace, {rank: [by_rank[rank]] for rank in trace.ranks})
        for family, by_rank in sorted(counts.items())
    }


def _comm_values(trace: Trace) -> Iterator[tuple[Event, RankList, int, Value]]:
    """The parameter `comm` of each event, for each set of ranks with equal numbers of executions."""
    for event, classes in executions(trace):
        names = [name for name, _ in trace.ops[event.op].params]
        if "comm" in names:
            for ranks, n in classes:
                if n:
                    yield event, ranks, n, event.params[names.index("comm")]  # type: ignore[misc]


def _of_ranks(value: Value, ranks: RankList) -> Iterator[tuple[RankList, Vec]]:
    """The values of some ranks."""
    if isinstance(value, Groups):
        for members, vec in value.groups:
            if not ranks.isdisjoint(members):
                yield members & ranks, vec
    elif isinstance(value, Vec):
        yield ranks, value
    else:
        for rank in ranks:
            if (own := at(value, rank)) is not None:
                yield RankList((rank,)), own
