"""Tune the collectives of a trace on the ranks of MPI_COMM_WORLD; rank 0 gets the result."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from mpi4py import MPI

from scalatrace.compilers.elf import loaded_mpi
from scalatrace.compilers.timed import TIMED_COLLECTIVES
from scalatrace.errors import ScalatraceError
from scalatrace.ranks import on_all
from scalatrace.replay.common.errors import RanksError
from scalatrace.replay.tune.campaign import MeasuringRank
from scalatrace.replay.tune.compiled import ControlVariables, TimedCollectives
from scalatrace.replay.tune.library import DYNAMIC, SIZELESS, MpiLibrary, OperationRules, TunedSetting
from scalatrace.replay.tune.mpich import Mpich
from scalatrace.replay.tune.openmpi import OpenMpi
from scalatrace.replay.tune.points import (
    OWN_OPERATION,
    CollectivePoint,
    LeftOutCalls,
    collect_calls,
    merge_calls,
)
from scalatrace.replay.tune.selection import (
    ConfirmedUnit,
    Rejected,
    RejectedError,
    RuleUnit,
    Selection,
    Tunable,
)
from scalatrace.replay.tune.size_rules import SizeRule, size_rules
from scalatrace.stats.trimmed_mean import MeanInterval, sum_of_means

if TYPE_CHECKING:
    from scalatrace.trace.model.trace import Trace

__all__ = ["TuneResult", "rules_of", "run_tuning"]

MIN_WHOLE_SAVING = 0.01
"""Least saving for which rules are written: a part of the time of all collectives."""

Progress = Callable[[int, int], None]
"""Seconds used, and the budget."""


@dataclass(frozen=True)
class TuneResult:
    """What was measured.

    Attributes:
        units: all units of rules; those with `gains` have a rule.
        rules: none where too little is gained.
        left_out: calls that no rule of the library chooses an algorithm for.
        seconds: of the measurements.
    """

    library: MpiLibrary
    nranks: int
    units: tuple[ConfirmedUnit, ...]
    rules: tuple[OperationRules, ...]
    left_out: tuple[LeftOutCalls, ...]
    rejected: tuple[Rejected, ...]
    seconds: float

    @property
    def collective_ns(self) -> float:
        """Time of all measured calls of a rank by the default."""
        return sum(unit.default_whole_ns for unit in self.units)

    @property
    def saving(self) -> MeanInterval:
        """Time that the rules save, of all calls of a rank, ns."""
        return sum_of_means([unit.saving for unit in self.units if unit.gains])


def run_tuning(
    trace: Trace, budget_s: float, seed: int, progress: Progress | None = None
) -> TuneResult | None:
    """Measure; all ranks call this. Returns the result on rank 0, None elsewhere.

    Raises:
        RanksError: the trace is of another number of ranks.
        ScalatraceError: the MPI library is not supported, or the trace has no calls to tune. On all ranks.
    """
    comm = MPI.COMM_WORLD
    if comm.size != trace.nprocs:
        raise RanksError(
            f"the trace is of {trace.nprocs} ranks, this is {comm.size}: mpiexec -n {trace.nprocs}"
        )
    points, left_out = _collect(trace, comm)
    if not points:
        raise ScalatraceError(_nothing_to_tune(left_out))
    library, variables, timed = on_all(comm, lambda: _prepare(comm, points), "tune")
    rank = MeasuringRank(comm, points, library, variables, timed)
    if comm.rank:
        rank.serve()
        return None
    tunables = tunables_of(points, library, {part.op for part in left_out if part.reason == OWN_OPERATION})
    begin_s = time.monotonic()
    selection = Selection(rank.measure, time.monotonic, budget_s, seed, progress)
    try:
        units = selection.run(tunables)
    except RejectedError as error:
        rank.end()
        raise ScalatraceError(f"a collective of the trace fails by default: {error}") from None
    rank.end()
    seconds = time.monotonic() - begin_s
    result = TuneResult(
        library, comm.size, tuple(units), (), tuple(left_out), tuple(selection.rejected), seconds
    )
    if result.saving.mean < MIN_WHOLE_SAVING * result.collective_ns:
        return replace(result, units=tuple(replace(unit, gains=False) for unit in units))
    return replace(result, rules=rules_of(tunables, units, library))


def _collect(trace: Trace, comm: MPI.Intracomm) -> tuple[list[CollectivePoint], list[LeftOutCalls]]:
    own_calls = on_all(comm, lambda: collect_calls(trace, comm.rank), "tune")
    gathered = comm.gather(own_calls)
    merged: tuple[list[CollectivePoint], list[LeftOutCalls]] = [], []
    if gathered is not None:
        counts: Counter[tuple[str, str]] = Counter()
        for _, left_out_of_rank in gathered:
            for part in left_out_of_rank:
                counts[part.op, part.reason] += part.calls
        left_out = [LeftOutCalls(op, reason, calls) for (op, reason), calls in sorted(counts.items())]
        merged = merge_calls([calls for calls, _ in gathered]), left_out
    return comm.bcast(merged)  # type: ignore[no-any-return]


def _nothing_to_tune(left_out: Sequence[LeftOutCalls]) -> str:
    if not left_out:
        return "the trace has no collective calls, so there is nothing to tune"
    parts = ", ".join(f"{part.calls:,} MPI_{part.op} ({part.reason})" for part in left_out)
    return f"the trace has no collective calls whose algorithm can be chosen: {parts}"


def _prepare(
    comm: MPI.Intracomm, points: list[CollectivePoint]
) -> tuple[MpiLibrary, ControlVariables, TimedCollectives]:
    version = MPI.Get_library_version().rstrip("\0 \n")
    kind = version.split()[0] + " " + version.split()[1] if len(version.split()) > 1 else version
    if not version.startswith(("Open MPI", "MPICH Version")):
        raise ScalatraceError(
            f"{kind}: tune writes rules for Open MPI (4 or later) and MPICH (4 or later) only"
        )
    variables = ControlVariables(comm.rank == 0)
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    several_nodes = node.size < comm.size
    node.Free()
    library: MpiLibrary
    if version.startswith("Open MPI"):
        library = OpenMpi(variables, version, several_nodes)
        if os.environ.get(DYNAMIC) != "1":
            raise ScalatraceError(f"{DYNAMIC} must be 1 when MPI starts; is MPI started before this command?")
    else:
        path = loaded_mpi()
        if path is None:
            raise ScalatraceError("the MPI library that this process has loaded is not known")
        library = Mpich(variables, version, several_nodes, path)
    return library, variables, TimedCollectives(points, comm.size)


def tunables_of(
    points: Sequence[CollectivePoint], library: MpiLibrary, own_operations: set[str]
) -> list[Tunable]:
    """Return the units of rules with their algorithms.

    Args:
        own_operations: reductions with operations of the program, as MPI names them. An algorithm that is
            right for sums may not be for these. They keep the default, where rules would apply to them, too.
    """
    kept = set() if library.knows_operators else {op.lower() for op in own_operations}
    units = []
    for (op, _), of_size in groupby(points, key=lambda point: (point.op, point.size)):
        together = tuple(of_size)
        units += [RuleUnit(together)] if op in SIZELESS else [RuleUnit((point,)) for point in together]
    result = []
    for number, unit in enumerate(units):
        usable = () if unit.op in kept else _common(library, unit)
        fallback = library.fallback(unit.op)
        scope = f"unit {number}" if fallback is None else unit.op if not library.per_communicator else "all"
        result.append(Tunable(unit, usable, fallback, scope))
    return result


def _common(library: MpiLibrary, unit: RuleUnit) -> tuple[TunedSetting, ...]:
    """Return the algorithms of a unit that all its points have."""
    first, *later = [library.candidates(point) for point in unit.points]
    return tuple(candidate for candidate in first if all(candidate in other for other in later))


def rules_of(
    tunables: Sequence[Tunable], units: Sequence[ConfirmedUnit], library: MpiLibrary
) -> tuple[OperationRules, ...]:
    """Return the rules of the units that gain, for all sizes."""
    chosen: defaultdict[str, defaultdict[int, dict[int, TunedSetting | None]]]
    chosen = defaultdict(lambda: defaultdict(dict))
    for tunable, unit in zip(tunables, units, strict=True):
        choice = unit.candidate if unit.gains and unit.candidate != tunable.fallback else None
        nbytes = library.rule_bytes(unit.unit.points[0])
        chosen[unit.unit.op][unit.unit.size][nbytes] = choice
    result = []
    for op in sorted(chosen, key=TIMED_COLLECTIVES.index):
        by_ranks = {
            size: _rules(op, sizes)
            for size, sizes in chosen[op].items()
            if any(c is not None for c in sizes.values())
        }
        if by_ranks:
            result.append(OperationRules(op, by_ranks))
    return tuple(result)


def _rules(op: str, chosen: dict[int, TunedSetting | None]) -> tuple[SizeRule[TunedSetting], ...]:
    return (SizeRule(0, chosen[0]),) if op in SIZELESS else size_rules(chosen)
