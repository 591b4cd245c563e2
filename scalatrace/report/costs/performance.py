"""The first questions of a user: run time, share of MPI, efficiencies, what costs most, who waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from scalatrace.operations import Category, operation
from scalatrace.report.columns import COSTLIEST, PER_RANK, WHOLE_TIMES
from scalatrace.report.costs.efficiency import (
    EQUALLY,
    Efficiency,
    RunTime,
    efficiency,
    longest_ranks,
    run_time,
)
from scalatrace.report.costs.phases import phase_line, plain_phases
from scalatrace.report.costs.rows import CostRow, timed_by_node, whole_time
from scalatrace.report.costs.spread import spreads
from scalatrace.report.style import (
    DIM,
    coarse,
    coarse_duration,
    coarse_percent,
    duration,
    interval_ends,
    percent,
    text_table,
)
from scalatrace.trace.model.trace import Trace

__all__ = ["PerformanceReporter", "efficiency_lines", "plain_efficiency"]

COLLECTIVES = (Category.COLLECTIVE, Category.NEIGHBOUR, Category.COMMUNICATOR)
COMPLETING = (Category.RECV, Category.SENDRECV, Category.PROBE, Category.COMPLETION)

MAX_COSTLIEST_SITES = 5
"""Call sites that are listed."""


class PerformanceReporter:
    """Describes where the time of a trace went; nothing where no time was measured."""

    def __init__(self, trace: Trace) -> None:
        self.phases, whole_trace = plain_phases(trace.phases), trace
        trace = trace.without_phases
        self.whole = whole_time(trace)
        self.efficiency = efficiency(trace, self.whole)
        self.run_time = run_time(trace, self.whole, self.efficiency)
        self.sites = timed_by_node(trace, "site")[:MAX_COSTLIEST_SITES]
        self.operations = timed_by_node(trace, "op")
        self.spreads = spreads(whole_trace, self.efficiency)
        self.nranks = len(trace.ranks)

    def plain(self) -> dict[str, Any]:
        """Return it as plain data; what is not known is None."""
        return {
            **WHOLE_TIMES.plain(self.whole.amounts()),
            "phases": self.phases,
            "run_time_ns": None if self.run_time.ns is None else round(self.run_time.ns),
            "run_time_interval_ns": self.run_time.interval_ns,
            "efficiency": plain_efficiency(self.efficiency),
            "per_rank": [spread.plain() for spread in self.spreads],
            "costliest": [COSTLIEST.plain(_values(row)) for row in self.sites],
        }

    def render(self, console: Console) -> None:
        """Print times and efficiencies, what ranks do at least and most, and the costliest call sites."""
        comm, compute = self.whole.comm_ns, self.whole.compute_ns
        if comm is None:
            self._per_rank(console)
            return
        lines = list(efficiency_lines(self.run_time, self.efficiency))
        if not self.run_time.is_elapsed:
            whole = comm + (compute or 0.0)
            lines[0] += f": {percent(compute or 0.0, whole)} computing, {percent(comm, whole)} in MPI"
        console.print()
        lines += self._waiting(comm)
        if line := phase_line(self.phases):
            lines.append(line)
        for line in lines:
            console.print(Text(line), soft_wrap=True)
        self._per_rank(console)
        self._costliest(console, comm)

    def _per_rank(self, console: Console) -> None:
        if any(spread.most for spread in self.spreads):
            console.print(text_table(PER_RANK, (spread.row() for spread in self.spreads)))

    def _waiting(self, comm: float) -> Iterator[str]:
        """How much of the time in collectives and elsewhere may be waiting."""
        groups = {"collectives": 0.0, "receives and completions": 0.0}
        for row in self.operations:
            category = operation(row.key[0]).category
            if category in COLLECTIVES:
                groups["collectives"] += row.beyond_ns or 0.0
            elif category in COMPLETING:
                groups["receives and completions"] += row.beyond_ns or 0.0
        parts = [
            f"{coarse_duration(ns)} in {name} ({coarse_percent(ns, comm)} of MPI)"
            for name, ns in groups.items()
            if ns
        ]
        if parts:
            yield f"waiting, at most: {', '.join(parts)}"

    def _costliest(self, console: Console, comm: float) -> None:
        rows = []
        for row in self.sites:
            in_mpi, beyond = row.comm_ns or 0.0, row.beyond_ns or 0.0
            times = {"mpi_ns": in_mpi, "of_mpi": (in_mpi, comm), "beyond_shortest_ns": beyond}
            rows.append({**_values(row), **times})
        console.print(text_table(COSTLIEST, rows))
        console.print(
            Text(
                "over fastest: excess over the fastest call at the same place, an upper bound of waiting",
                style=DIM,
            ),
            soft_wrap=True,
        )


def _values(row: CostRow) -> dict[str, Any]:
    """Return the values of a row of timed calls."""
    keys = dict(zip(("operation", "call site"), row.key, strict=True))
    return {**keys, **row.amounts(), "calls": row.timed}


def efficiency_lines(time: RunTime, measured: Efficiency | None) -> Iterator[str]:
    """Yield run time, efficiencies and the ranks that stand out, or why they are not known."""
    basis = f" ({time.basis})" if time.basis else ""
    shown = duration if basis else coarse_duration  # that of the longest rank is from its stored total
    if time.interval_ns is not None:
        about = ", ".join(filter(None, ("95 %", time.basis)))
        yield f"run time {' .. '.join(interval_ends(*time.interval_ns))} ({about})"
    else:
        yield "run time not known" if time.ns is None else f"run time {shown(time.ns)}{basis}"
    if time.note:
        yield time.note
    if measured is None:
        return
    factors = (measured.parallel_efficiency, measured.load_balance, measured.communication_efficiency)
    if None in factors:
        return
    parallel, balance, communication = (coarse_percent(factor or 0.0) for factor in factors)
    product = f"load balance {balance} * communication efficiency {communication}"
    yield f"parallel efficiency {parallel} = {product}"
    if len(measured.ranks) == 1:
        return
    most = float(measured.compute_ns.max() / measured.compute_ns.mean())
    computing = longest_ranks(measured.ranks, measured.compute_ns)
    inside = longest_ranks(measured.ranks, measured.comm_ns)
    in_mpi = coarse_duration(float(measured.comm_ns.max()))
    yield (
        f"{_who(computing, 'computes', 'compute')} most, {coarse(most):g} times the mean; "
        if computing != EQUALLY
        else "all ranks compute equally long; "
    ) + (
        f"{_who(inside, 'is', 'are')} longest in MPI, {in_mpi}"
        if inside != EQUALLY
        else f"all ranks are equally long in MPI, {in_mpi}"
    )


def _who(named: str, singular: str, plural: str) -> str:
    return f"{named} {singular if named.startswith('rank ') else plural}"


def plain_efficiency(measured: Efficiency | None) -> dict[str, Any] | None:
    """Return efficiencies as plain data; factors are between 0 and 1."""
    if measured is None:
        return None
    return {
        "run_time_ns": round(measured.run_time_ns),
        "parallel_efficiency": measured.parallel_efficiency,
        "load_balance": measured.load_balance,
        "communication_efficiency": measured.communication_efficiency,
        "busiest_rank": measured.busiest,
        "longest_in_mpi_rank": measured.longest_in_mpi,
    }
