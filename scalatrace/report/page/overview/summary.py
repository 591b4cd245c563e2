"""Header, times, efficiencies, operations, call sites and ranks of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalatrace.errors import LimitError, UsageError
from scalatrace.escapes import clean
from scalatrace.report.costs.efficiency import (
    RankBin,
    TraceTimes,
    longest_ranks,
    rank_bins,
    run_time,
    times_of,
)
from scalatrace.report.costs.performance import plain_efficiency
from scalatrace.report.costs.phases import phase_line, plain_phases, unknown_efficiency
from scalatrace.report.costs.rows import JOIN, CostRow, by_node, timed_by_node
from scalatrace.report.style import coarse_percent, number, ranks
from scalatrace.trace.model.callsite import native_frames
from scalatrace.trace.model.trace import MODULES, Trace
from scalatrace.trace.oversubscription import oversubscription_note, waited_for_cores
from scalatrace.trace.query.counting import least_and_most

__all__ = ["PageSummary", "summary_of"]

MAX_SITES = 5
"""Call sites that are listed."""

MIN_WAITED = 0.05
"""Part of the computation that waits for cores, from which on it is named."""

MAX_VALUE = 400
"""Characters of an entry of the header."""


@dataclass(frozen=True)
class PageSummary:
    """Facts of a trace.

    Attributes:
        origin: program, MPI and date of the run, as far as they are known.
        header: name and text of the entries of the header, and sizes.
        events: calls of all ranks; None: not counted.
        run_time_interval_ns: of an extrapolated run time, 95 %, where it is too wide for a number; else None.
        run_time_ns: of the longest rank, else the mean; of several threads that elapsed; None: not known.
        efficiency: POP efficiencies, as `info --json` has them; None: times of each rank are not known.
        operations, sites: rows as `stats --json` has them, the most expensive first.
        hidden_sites: call sites that `sites` leaves out.
        busiest, longest_in_mpi: ranks that compute most and are longest in MPI, with those within 5 % of
            them; "": times of each rank are not known.
        phases: start-up and shut-down, which are left out of all times; "": none.
        shared_cores: note that ranks shared cores, with its effect on times; "": they did not.
        mean_note: note that the run time is a mean of the ranks; "": it is that of the longest one.
        ranks: times by rank; empty where they are not known.
        notes: what the numbers are not.
    """

    origin: tuple[str, ...]
    header: tuple[tuple[str, str], ...]
    nprocs: int
    events: int | None
    run_time_ns: float | None
    run_time_interval_ns: tuple[int, int] | None
    comm_ns: float | None
    compute_ns: float | None
    efficiency: dict[str, Any] | None
    operations: tuple[dict[str, Any], ...]
    sites: tuple[dict[str, Any], ...]
    hidden_sites: int
    busiest: str
    longest_in_mpi: str
    phases: str
    shared_cores: str
    mean_note: str
    ranks: tuple[RankBin, ...]
    notes: tuple[str, ...]


def summary_of(trace: Trace, file_bytes: int = 0, times: TraceTimes | None = None) -> PageSummary:
    """Return the facts of a trace.

    Args:
        file_bytes: size of its file; 0: there is none.
        times: of the trace without start-up and shut-down, if the caller has them.
    """
    trace = trace.without_phases
    totals, efficiencies = times_of(trace) if times is None else times
    operations, notes = _rows(trace, "op", ("operation",))
    sites, _ = _rows(trace, "site", ("operation", "site"))
    time = run_time(trace, totals, efficiencies)
    notes += ["the trace has no times"] if totals.comm_ns is None and totals.compute_ns is None else []
    notes += _without_lines(sites[:MAX_SITES])
    mean_note = ""
    if time.is_elapsed:
        notes.append(time.note)
    elif time.basis:
        mean_note = f"{unknown_efficiency(trace.phases)}; run time is the mean, and there are no efficiencies"
    return PageSummary(
        _origin(trace),
        _header(trace, file_bytes),
        trace.nprocs,
        trace.counted(),
        time.ns,
        time.interval_ns,
        totals.comm_ns,
        totals.compute_ns,
        plain_efficiency(efficiencies),
        tuple(operations),
        tuple(sites[:MAX_SITES]),
        max(0, len(sites) - MAX_SITES),
        "" if efficiencies is None else longest_ranks(efficiencies.ranks, efficiencies.compute_ns),
        "" if efficiencies is None else longest_ranks(efficiencies.ranks, efficiencies.comm_ns),
        phase_line(plain_phases(trace.phases)),
        "" if time.ns is None else _shared_cores(trace, time.ns, totals.compute_ns),
        mean_note,
        () if efficiencies is None else rank_bins(efficiencies),
        tuple(notes),
    )


def _without_lines(sites: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how to get the source lines of the listed call sites, if some have offsets."""
    modules = native_frames(str(site["site"]).split(JOIN)[0] for site in sites)
    if modules:
        names = ", ".join(sorted(clean(Path(module).name) for module in modules))
        yield (
            f"call sites of {names} have offsets in place of lines: compile with -g, and make the page "
            "where these files are, or store the lines with scalatrace resolve"
        )


def _shared_cores(trace: Trace, run_time_ns: float, compute_ns: float | None) -> str:
    """Return the note on ranks that shared cores, with the part of the computation that it concerns."""
    note = oversubscription_note(trace.meta)
    part = waited_for_cores(trace.meta, (compute_ns or 0.0) / trace.nprocs, run_time_ns)
    if part < MIN_WAITED:
        return note
    return f"{note}; at least {coarse_percent(part)} of the computation waits for a core, or is sleep"


def _rows(trace: Trace, by: str, names: tuple[str, ...]) -> tuple[list[dict[str, Any]], list[str]]:
    rows: Sequence[CostRow]
    try:
        rows, notes = by_node(trace, by), []
    except (LimitError, UsageError) as error:
        rows, notes = timed_by_node(trace, by), [f"calls and bytes are not counted: {error}"]
    return [row.plain(names) for row in rows], notes


def _origin(trace: Trace) -> tuple[str, ...]:
    """Return program, MPI and date for a line at the top."""
    mpi = trace.meta.get("mpi", "").partition(",")[0]
    date = trace.meta.get("date", "")[:16].replace("T", " ")
    texts = (trace.meta.get("program", ""), mpi, date)
    return tuple(text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…" for text in texts if text)


def _header(trace: Trace, file_bytes: int) -> tuple[tuple[str, str], ...]:
    entries = [(key, text) for key, text in trace.meta.items() if key != MODULES]
    entries.append(("ranks", number(trace.nprocs)))
    if len(trace.ranks) != trace.nprocs:
        entries.append(("ranks in the trace", ranks(trace.ranks)))
    if (events := trace.counted()) is not None:
        least, most = least_and_most(trace)
        spread = number(least) if least == most else f"{number(least)} to {number(most)}"
        entries.append(("calls", f"{number(events)} ({spread} per rank)"))
    sites = len({leaf.signature for leaf in trace.leaves()})
    entries.append(("nodes", f"{number(trace.nnodes)}, of {number(sites)} call stacks"))
    if file_bytes:
        entries.append(("file", f"{number(file_bytes)} bytes"))
    return tuple(
        (key, text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…") for key, text in entries
    )


def stats_rows(rows: Sequence[Mapping[str, Any]], nranks: int, whole_ns: float) -> Iterator[dict[str, Any]]:
    """Yield operations or call sites with the columns of STATS_OF_SITES.

    Args:
        nranks: whose mean is the time per rank.
        whole_ns: time of all ranks, in MPI and computing.
    """
    for row in rows:
        in_mpi = row["mpi_ns"]
        shares: dict[str, Any] = {"rank_mpi_ns": None, "of_all": None}
        if in_mpi is not None:
            shares = {"rank_mpi_ns": in_mpi / nranks, "of_all": (in_mpi, whole_ns) if whole_ns else None}
        yield {**row, **shares, "call site": row.get("site", "")}
