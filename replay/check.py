"""Check that a trace can be replayed, before any of its calls is issued."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from scalatrace.errors import UsageError
from scalatrace.executor.alone import why_not_alone
from scalatrace.replay import calls as _registered  # noqa: F401  (the handlers)
from scalatrace.replay.common.errors import (
    AloneError,
    MissingError,
    RanksError,
    ThreadsError,
    UnsupportedError,
)
from scalatrace.replay.common.options import CollectiveMode, ReplayOptions
from scalatrace.replay.engine.handlers import missing
from scalatrace.replay.engine.rank import PREDEFINED
from scalatrace.replay.probabilistic.sampled_calls import check_sampled, is_probabilistic
from scalatrace.trace.model.elastic import Columns, Elastic, Groups, Summary
from scalatrace.trace.model.nodes import Peer
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.query.factors import Factors
from scalatrace.trace.threads import order_note, thread_count
from scalatrace.trace.values.ranks_text import ranks as ranks_text
from scalatrace.trace.values.vec import Vec

if TYPE_CHECKING:
    from scalatrace import Trace

NEW_COMM = "newcomm"
"""The parameter of calls that make a communicator."""

UNKNOWN = "unknown"
"""Kind of a communicator that no recorded call made."""

MAX_VALUES = 1 << 16
"""So many values of a vector are looked at."""


def check(trace: Trace, size: int, options: ReplayOptions | None = None, force: bool = False) -> None:
    """Make sure that a trace can be replayed on `size` ranks, before anything is issued.

    Args:
        force: do not check that the calls of a selected part have their partners in it, nor that one
            thread of each rank made all calls.

    Raises:
        UsageError: a rule of the options is for calls that the trace does not have.
        RanksError: the program ran on another number of ranks, or some are not in the trace.
        UnsupportedError: some operations have no handler, or what was summarised cannot be drawn.
        MissingError: a communicator is used that no call of the trace makes.
        AloneError: not all calls were recorded, and one would wait for what is not there.
        ThreadsError: several threads of a rank made calls.
    """
    if size != trace.nprocs:
        raise RanksError(f"the trace is of {trace.nprocs} ranks, this is {size}: mpiexec -n {trace.nprocs}")
    if len(trace.ranks) != trace.nprocs:
        raise RanksError(f"the trace has only the ranks {ranks_text(trace.ranks)} of {trace.nprocs}")
    lacking = missing(trace.ops[leaf.op].name for leaf in trace.leaves())
    if lacking:
        raise UnsupportedError(f"no handler for {', '.join('MPI_' + op for op in lacking)}")
    if is_probabilistic(trace):
        check_sampled(trace)
        if options and options.collectives is CollectiveMode.P2P:
            raise UsageError("collectives of a trace with histograms for counts cannot become messages")
    _check_communicators(trace)
    if options:
        Factors(options.rules).check(trace)
    if trace.has_streams:
        _check_threads(trace, options)
    elif not force and thread_count(trace.meta) > 1:
        raise ThreadsError(
            f"{order_note(trace)}. Record a run in which one thread calls MPI (try OMP_NUM_THREADS=1), or "
            "replay it all the same with --force; info, show, stats, matrix and report need no replay"
        )
    if not force and (why := why_not_alone(trace)):
        raise AloneError(f"{why} (--force replays it all the same)")


def _check_threads(trace: Trace, options: ReplayOptions | None) -> None:
    """Check that threads share only what a replay can bring into the recorded order."""
    if is_probabilistic(trace) or (options and options.collectives is CollectiveMode.P2P):
        raise ThreadsError(
            f"{len(trace.threads)} threads of a rank call MPI: such traces cannot be replayed with "
            "histograms of counts (record without --histograms) or --collectives p2p"
        )
    if any(op.name.startswith("Comm_idup") for op in trace.ops):
        raise ThreadsError(
            "threads of a rank share communicators that a nonblocking call makes, and the trace has no "
            "order of their uses: it cannot be replayed. Record a run in which one thread calls MPI "
            "(try OMP_NUM_THREADS=1)"
        )


def _check_communicators(trace: Trace) -> None:
    used: dict[int, str] = {}
    available = set(PREDEFINED)
    for leaf in trace.leaves():
        op = trace.ops[leaf.op]
        for (name, kind), param in zip(op.params, leaf.params, strict=True):
            if kind is not Kind.COMM or isinstance(param, Peer | Summary):
                continue
            families = _distinct_values(param)
            if name == NEW_COMM:
                available |= families
            else:
                used |= dict.fromkeys(families, op.name)
    for family in sorted(used.keys() - available):
        if family >= 0:
            made_by = _kind(trace, family)
            use = f"MPI_{used[family]} uses communicator {family} ({made_by})"
            why = "; MPI_Comm_join, which may have made it, is not replayed" if made_by == UNKNOWN else ""
            raise MissingError(f"{use}, but no call in the trace makes it{why}")


def _kind(trace: Trace, family: int) -> str:
    return trace.comms[family].kind if family < len(trace.comms) else UNKNOWN


def _distinct_values(value: Elastic) -> set[int]:
    if isinstance(value, Groups):
        return set().union(*(_distinct_values(vec) for _, vec in value.groups))
    vec = value.vec if isinstance(value, Columns) else value
    assert isinstance(vec, Vec)
    return {vec.constant} if vec.constant is not None else set(islice(vec, MAX_VALUES))
