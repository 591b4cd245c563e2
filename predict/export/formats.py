"""The formats of `scalatrace export`: names, writers, and estimates of size."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output, output_file, output_folder
from scalatrace.predict.export.chakra import CHAKRA, write_chakra
from scalatrace.predict.export.events import chrome, otf2_archive, paraver, perfetto, tables
from scalatrace.predict.export.extrap_json import experiment_json
from scalatrace.predict.export.goal import GOAL, write_goal
from scalatrace.predict.export.simgrid import SIMGRID, write_simgrid
from scalatrace.predict.export.simgrid_platform import write_platform
from scalatrace.predict.lowering import LoweringTarget, TraceLowering
from scalatrace.predict.platform import Platform
from scalatrace.predict.timeline import Timeline
from scalatrace.predict.timeline.window import WindowLowering
from scalatrace.trace.model.trace import Trace

__all__ = ["FORMATS", "ExportSelection", "Format", "estimated_bytes", "export", "size_of"]


MAX_SAMPLED_CALLS = 2000
"""Calls of a rank that are lowered to estimate a size."""


@dataclass(frozen=True)
class ExportSelection:
    """The part of a trace to export, and how.

    Attributes:
        ranks: None: all.
        window_ns: None: the whole run.
        platform: of simulators: rules of collectives, and factors on computation; of events: calls have the
            times of a run on it. None: those of a default one; recorded times.
        collectives: whether collectives that the format has are kept; else all become messages.
    """

    ranks: tuple[int, ...] | None = None
    window_ns: tuple[float, float] | None = None
    platform: Platform | None = None
    collectives: bool = True


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name, summary: what users type and read.
        kind: "simulator" (lowered), "events" or "experiment" (of several traces).
        folder: whether the output is a folder; else it is a file.
        bytes_per_call: size of the output over the number of calls, roughly; for a simulator over the number
            of actions.
        target: of a simulator: the collectives that it has.
    """

    name: str
    summary: str
    kind: str
    folder: bool
    bytes_per_call: int
    target: LoweringTarget | None = None


def _formats() -> dict[str, Format]:
    listed = [
        Format("goal", "GOAL schedule, for LogGOPSim and ATLAHS", "simulator", False, 75, GOAL),
        Format(
            "simgrid", "time-independent trace, for SimGrid's smpirun -replay", "simulator", True, 30, SIMGRID
        ),
        Format("chakra", "Chakra execution trace, for ASTRA-sim", "simulator", True, 130, CHAKRA),
        Format("csv", "a line for each call", "events", False, 75),
        Format("parquet", "the same as a table of Parquet", "events", False, 10),
        Format("otf2", "OTF2 archive, for Vampir and Pipit", "events", True, 35),
        Format("perfetto", "Perfetto trace (.pftrace)", "events", False, 110),
        Format("chrome", "Chrome's JSON, for ui.perfetto.dev and chrome://tracing", "events", False, 230),
        Format("paraver", "Paraver trace (.prv, .pcf, .row)", "events", False, 130),
        Format("extrap", "experiment of several traces, for Extra-P (JSON)", "experiment", False, 0),
    ]
    return {export_format.name: export_format for export_format in listed}


FORMATS = _formats()


def estimated_bytes(form: Format, trace: Trace, selection: ExportSelection) -> int:
    """Return the size of an export in bytes, within a factor of about two; a window is not considered.

    Collectives may become many messages: some calls of three ranks are lowered to count them.
    """
    ranks = selection.ranks
    ncalls = trace.nevents() if ranks is None else sum(trace.nevents(rank) for rank in ranks)
    ratio = 1.0
    if form.kind == "simulator":
        lowering = _lower(form, trace, replace(selection, window_ns=None))
        chosen = {lowering.ranks[i * (len(lowering.ranks) - 1) // 2] for i in range(3)}
        steps = [step for rank in chosen for step in islice(lowering.steps(rank), MAX_SAMPLED_CALLS)]
        ratio = sum(len(step.actions) for step in steps) / max(len(steps), 1)
    return round(ncalls * ratio * form.bytes_per_call)


def export(
    form: Format, traces: Sequence[Trace], output: str, selection: ExportSelection
) -> list[dict[str, Any]]:
    """Write an export; return the account of a simulator's (`Account.rows`), else nothing.

    Raises:
        UsageError: a rank is not in the trace, a receive names no source, the output exists, or a package
            that the format needs is not installed.
        ScalatraceError: ranks have several threads, and the format has one for each.
    """
    if not form.folder:
        check_output(output, "-o")
    if form.kind == "experiment":
        _experiment(traces, output)
        return []
    if len(traces) != 1:
        raise UsageError(f"--to {form.name} takes one trace, not {len(traces)}")
    if form.kind == "events":
        timeline = Timeline(traces[0], selection.ranks, selection.window_ns, selection.platform)
        _events(form.name, timeline, output)
        return []
    lowering = _lower(form, traces[0], selection)
    _simulator(form.name, lowering, output, selection.platform is not None)
    return lowering.account.rows()


def size_of(output: str) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    path = Path(output)
    return sum(
        entry.stat().st_size for entry in (path.rglob("*") if path.is_dir() else [path]) if entry.is_file()
    )


def _lower(form: Format, trace: Trace, selection: ExportSelection) -> TraceLowering:
    if trace.has_streams:
        events = ", ".join(name for name, other in FORMATS.items() if other.kind == "events")
        raise ScalatraceError(
            f"cannot export to {form.name}: {len(trace.threads)} threads of a rank call MPI, and {form.name} "
            f"has one for each rank; {events} have several"
        )
    target = form.target if selection.collectives else LoweringTarget()
    if selection.window_ns is None:
        return TraceLowering(trace, target, selection.platform, selection.ranks)
    return WindowLowering(trace, selection.window_ns, target, selection.platform, selection.ranks)


def _simulator(name: str, lowering: TraceLowering, output: str, with_platform: bool) -> None:
    if name == "goal":
        with output_file(output) as file:
            write_goal(lowering, file)
        return
    with output_folder(output) as folder:
        {"simgrid": write_simgrid, "chakra": write_chakra}[name](lowering, Path(folder))
        if name == "simgrid" and with_platform:
            write_platform(
                Path(folder), lowering.platform, len(lowering.ranks), lowering.platform.shares_links
            )


def _events(name: str, timeline: Timeline, output: str) -> None:
    if name == "otf2":
        with output_folder(output) as folder:
            os.rmdir(folder)  # otf2 makes it
            otf2_archive.write_otf2(timeline, Path(folder))
        return
    if name == "paraver":
        paraver.write_paraver(timeline, Path(output))
        return
    writers: dict[str, Callable[[Timeline, IO[bytes]], None]] = {
        "csv": tables.write_csv,
        "parquet": tables.write_parquet,
        "chrome": chrome.write_chrome,
        "perfetto": perfetto.write_perfetto,
    }
    with output_file(output) as file:
        writers[name](timeline, file)


def _experiment(traces: Sequence[Trace], output: str) -> None:
    with output_file(output) as file:
        file.write(experiment_json(traces).encode("utf-8", "backslashreplace"))
