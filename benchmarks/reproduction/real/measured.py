"""Rows of real programs: extrapolations, benchmarks, trace sizes and simulations."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.extrapolate.replayed import compare_totals
from benchmarks.record.workloads import OPTIONS
from benchmarks.reproduction.real.programs import (
    BT,
    FIXED,
    FT,
    SCALED,
    SIZED,
    RealProgram,
)
from benchmarks.reproduction.real.workshop import COMPILED, StepError, Workshop
from benchmarks.table import NO_VALUE, Row, compared, grouped
from scalatrace import Trace, load
from scalatrace.predict import platform
from scalatrace.replay.compare import sum_recorded_times
from scalatrace.trace.model.nodes import Event
from scalatrace.trace.query.counting import executions_of
from scalatrace.trace.query.diff import diff
from scalatrace.trace.query.load import COMM, COMPUTE
from scalatrace.trace.symbolic.grid import balanced

PLATFORM = "cluster"
"""The installed platform of simulated runs."""

NODES = (1, 4, 16)
"""Nodes of Figure 4.11."""

SIZE_RANKS = (4, 16)
"""Ranks of the traces whose sizes are compared."""

SCALES = (1.0, 0.6, 0.3, 0.1, 0.0)
"""Factors on the computation of Figure 4.10."""

MESSAGE_FACTORS = (0.1, 0.25, 0.5, 1, 4, 16, 64, 256)
"""Factors on the bytes of messages of Figure 4.11."""

COLLECTIVE_RANKS = (4, 8, 16)

Cells = Callable[[RealProgram], Sequence[str]]


def _rows(
    workshop: Workshop, what: str, programs: Sequence[RealProgram], head: Cells, cells: Cells, ncells: int
) -> Iterator[Row]:
    """A row per program: head, cells and a note, which is the reason if there are no cells."""
    chosen = [program for program in programs if workshop.has(program)]
    with workshop.showing(what, len(chosen)):
        for program in chosen:
            try:
                row = [*head(program), *cells(program)]
                yield row if len(row) > ncells + len(head(program)) else [*row, ""]
            except StepError as error:
                yield [*head(program), *[NO_VALUE] * ncells, str(error)]
            workshop.finish_row()


EXTRAPOLATED_COLUMNS = (
    "program", "class", "scaling", "inputs", "ranks", "lossy", "events", "differing_ranks", "calls", "bytes",
    "replay_differing_ranks", "app_s", "replay_s", "error_pct", "simulated_error_pct", "kept_sends_pct",
    "kept_calls_pct", "kept_time_pct", "note",
)  # fmt: skip


def extrapolated_rows(programs: Sequence[RealProgram], workshop: Workshop) -> Iterator[Row]:
    """Return a row per extrapolation: compared with a recorded run, replayed, and simulated."""

    def head(program: RealProgram) -> list[str]:
        inputs = ", ".join(map(str, program.inputs))
        return [*_name(program), program.scaling, inputs, str(program.target), "yes" if program.lossy else ""]

    def cells(program: RealProgram) -> list[str]:
        path = workshop.extrapolated(program)
        real_path = workshop.recorded(program, program.target)
        real, extrapolated = load(real_path), load(path)
        done = [f"{real.nevents():,}", str(len(diff(extrapolated, real, ["times"])))]
        kept = _kept(extrapolated, real) if program.lossy else [NO_VALUE] * 3
        try:
            replayed = _replay_cells(workshop, program, path, real, extrapolated)
        except StepError as error:
            return [*done, *[NO_VALUE] * 7, *kept, str(error)]
        simulated_ns, real_ns = (simulate_ns(workshop, trace) for trace in (path, real_path))
        return [*done, *replayed, f"{simulated_ns / real_ns - 1:+.1%}", *kept, ""]

    return _rows(workshop, "extrapolate", programs, head, cells, 12)


def _name(program: RealProgram) -> list[str]:
    return [program.title, program.size_class or NO_VALUE]


def _replay_cells(
    workshop: Workshop, program: RealProgram, path: Path, real: Trace, extrapolated: Trace
) -> list[str]:
    """Totals of the replay, ranks on which its recording differs, times, and their error."""
    facts = workshop.replayed(program.target, path)
    again = "drawn"
    if "--histograms" not in program.options:
        recorded = load(workshop.record_replay(program.target, path))
        again = str(len(diff(extrapolated, recorded, ["callsites", "times"])))
    app_s = recorded_s(real)
    return [*compare_totals(facts, real), again, f"{app_s:.3f}", *compared(float(facts["wall_s"]), app_s)]


def recorded_s(trace: Trace) -> float:
    """Return the time of the recorded run from start-up to shut-down, of the mean rank. Raises StepError."""
    seconds = sum_recorded_times(trace)["recorded_s"]
    if not seconds:
        raise StepError("the trace has no times")
    return seconds


Site = tuple[str, object]
"""Operation and stack of calls."""


def _kept(extrapolated: Trace, real: Trace) -> list[str]:
    """Shares of the real run that the extrapolated trace has: of its Sends, its calls, and their time.

    The time is that in the calls and in the computation before them. That of a call site counts by the share
    of its calls.
    """
    calls, real_calls = count_calls(extrapolated), count_calls(real)
    kept = Counter({site: min(calls[site], ncalls) for site, ncalls in real_calls.items()})
    sends = [site for site in real_calls if site[0] == "Send"]
    times = _sum_times(real)
    kept_time = sum(kept[site] / real_calls[site] * spent for site, spent in times.items() if kept.get(site))
    return [
        f"{sum(kept[site] for site in sends) / max(1, sum(real_calls[site] for site in sends)):.2%}",
        f"{kept.total() / max(1, real_calls.total()):.2%}",
        f"{kept_time / (sum(times.values()) or 1.0):.2%}",
    ]


def count_calls(trace: Trace) -> Counter[Site]:
    """Return the number of calls of each site, over all ranks."""
    result: Counter[Site] = Counter()
    for rank in trace.ranks:
        for event, times in executions_of(trace, rank):
            result[_site(trace, event)] += times
    return result


def _sum_times(trace: Trace) -> dict[Site, float]:
    """Return the computation and communication of each site, over all ranks, in units of the histograms."""
    result: dict[Site, float] = defaultdict(float)
    indices = [trace.stat_index[name] for name in (COMPUTE, COMM) if name in trace.stat_index]
    for event in trace.leaves():
        for stats in event.stats:
            for i in indices:
                histogram = stats.histograms[i] if i < len(stats.histograms) else None
                if histogram is not None:
                    result[_site(trace, event)] += histogram.total * trace.stats[i].resolution
    return result


def _site(trace: Trace, event: Event) -> Site:
    return trace.ops[event.op].name, trace.stack(event.signature)


def simulate_ns(workshop: Workshop, trace: Path) -> float:
    """Return the simulated time of a trace. Raises StepError."""
    shown = workshop.command(
        f"simulate {trace.name}", "simulate", trace, "--platform", PLATFORM, "--json"
    ).stdout
    return float(json.loads(shown)["time_ns"])


BENCHMARK_COLUMNS = (
    "program", "class", "ranks", "app_s", "c_s", "c_error_pct", "conceptual_s", "conceptual_error_pct",
    "conceptual_lines", "source_lines", "note",
)  # fmt: skip
LANGUAGES = ("c", "conceptual")


def benchmark_rows(workshop: Workshop) -> Iterator[Row]:
    """Return a row per program: times of its benchmarks on the ranks of the trace."""

    def cells(program: RealProgram) -> list[str]:
        trace = workshop.recorded(program, program.target)
        app_s = recorded_s(load(trace))
        times, notes = _language_cells(workshop, trace, app_s, program.target)
        try:
            lines = str(len(workshop.benchmark(trace, "conceptual").read_text().splitlines()))
        except StepError:
            lines = NO_VALUE
        sources = workshop.suites[program.suite].count_lines(program.title)
        return [f"{app_s:.3f}", *times, lines, str(sources), notes]

    return _rows(
        workshop, "benchmarks", FIXED, lambda program: [*_name(program), str(program.target)], cells, 7
    )


def _language_cells(
    workshop: Workshop, source: Path, app_s: float, nprocs: int, sides: Sequence[int] = ()
) -> tuple[list[str], str]:
    """Seconds and error of the benchmark in each language, and what went wrong.

    Args:
        sides: of the grid of ranks, which a scalable benchmark in coNCePTuaL is told.
    """
    cells, notes = list[str](), list[str]()
    for language in LANGUAGES:
        try:
            text = workshop.benchmark(source, language)
            has_options = language == "conceptual" and len(sides) > 1
            named = zip("xyz", sides, strict=False) if has_options else ()
            words = [word for name, side in named for word in (f"--{name}", str(side))]
            cells += compared(workshop.seconds(text, nprocs, words), app_s)
        except StepError as error:
            cells += [NO_VALUE, NO_VALUE]
            notes.append(f"{language}: {error}")
    return cells, "; ".join(notes)


SCALABLE_COLUMNS = (
    "program", "class", "inputs", "ranks", "app_s", "c_s", "c_error_pct", "conceptual_s",
    "conceptual_error_pct", "note",
)  # fmt: skip


def scalable_rows(workshop: Workshop) -> Iterator[Row]:
    """Return a row per program: times of scalable benchmarks on ranks without a trace."""

    def head(program: RealProgram) -> list[str]:
        return [*_name(program), ", ".join(map(str, program.inputs)), str(program.target)]

    def cells(program: RealProgram) -> list[str]:
        model = workshop.model(program)
        app_s = recorded_s(load(workshop.recorded(program, program.target)))
        sides = balanced(program.target, program.ndims)
        times, notes = _language_cells(workshop, model, app_s, program.target, sides)
        return [f"{app_s:.3f}", *times, notes]

    return _rows(workshop, "scalable benchmarks", SCALED, head, cells, 5)


COMPUTATION_COLUMNS = ("program", "class", "ranks", "computation_pct", "spent_s", "of_original_pct", "note")


def computation_rows(workshop: Workshop) -> Iterator[Row]:
    """Return a row per factor on the computation of BT's benchmark."""
    program = FIXED[0]
    if not workshop.has(program):
        return
    head, original_s = [*_name(program), str(program.target)], 0.0
    with workshop.showing("shorter computation", len(SCALES)):
        for scale in SCALES:
            shown, options = f"{100 * scale:g}", ["--compute-scale", f"{scale:g}"]
            try:
                trace = workshop.recorded(program, program.target)
                spent_s = workshop.seconds(workshop.benchmark(trace, "conceptual", *options), program.target)
            except StepError as error:
                yield [*head, shown, NO_VALUE, NO_VALUE, str(error)]
            else:
                original_s = spent_s if scale == 1 else original_s
                share = f"{spent_s / original_s:.1%}" if original_s else NO_VALUE
                yield [*head, shown, f"{spent_s:.3f}", share, ""]
            workshop.finish_row()


MESSAGE_COLUMNS = (
    "program", "class", "ranks", "nodes", "message_factor", "simulated_s", "of_original_pct", "note",
)  # fmt: skip


def message_rows(workshop: Workshop) -> Iterator[Row]:
    """Return a row per number of nodes and factor on the bytes of BT's messages, which are simulated."""
    if not workshop.has(BT):
        return
    nprocs = SIZE_RANKS[-1]
    with workshop.showing("larger messages", len(NODES)):
        for nnodes in NODES:
            head = [*_name(BT), str(nprocs), str(nnodes)]
            try:
                rows = _simulate_messages(workshop, workshop.recorded(BT, nprocs), nprocs // nnodes)
            except StepError as error:
                yield [*head, *[NO_VALUE] * 3, str(error)]
            else:
                times = dict(zip(MESSAGE_FACTORS, (row["time_ns"] for row in rows), strict=True))
                for factor, time_ns in times.items():
                    yield [*head, f"{factor:g}", f"{time_ns / 1e9:.4f}", f"{time_ns / times[1]:.1%}", ""]
            workshop.finish_row()


def _simulate_messages(workshop: Workshop, trace: Path, ranks_per_node: int) -> list[dict[str, Any]]:
    """Simulate with each factor on PLATFORM with so many ranks on a node. Raises StepError."""
    text = (Path(platform.__file__).parent / "examples" / f"{PLATFORM}.toml").read_text()
    changed = workshop.folder / f"{PLATFORM}.{ranks_per_node}.toml"
    changed.write_text(re.sub(r"(?m)^ranks_per_node = \d+", f"ranks_per_node = {ranks_per_node}", text))
    factors = ",".join(f"{1 / factor:.9g}" for factor in MESSAGE_FACTORS)
    words = ("study", trace, "--platform", changed, "--factors", f"bandwidth={factors}", "--json")
    rows: list[dict[str, Any]] = json.loads(workshop.command("simulate", *words).stdout)["rows"]
    return rows


COLLECTIVE_COLUMNS = ("program", "class", "ranks", "collectives_s", "messages_s", "longer_pct", "note")


def collective_rows(workshop: Workshop) -> Iterator[Row]:
    """Return a row per number of ranks: FT's benchmark with collectives, and with messages in their place."""
    if not workshop.has(FT):
        return
    with workshop.showing("collectives", len(COLLECTIVE_RANKS)):
        for nprocs in COLLECTIVE_RANKS:
            head = [*_name(FT), str(nprocs)]
            try:
                trace = workshop.recorded(FT, nprocs)
                native_s, messages_s = (
                    workshop.seconds(workshop.benchmark(trace, "conceptual", "--collectives", way), nprocs)
                    for way in ("native", "p2p")
                )
                longer = f"{messages_s / native_s - 1:+.1%}"
                yield [*head, f"{native_s:.4f}", f"{messages_s:.4f}", longer, ""]
            except StepError as error:
                yield [*head, *[NO_VALUE] * 3, str(error)]
            workshop.finish_row()


SIZE_COLUMNS = (
    "program", "class", "ranks", "neither_bytes", "merge_bytes", "lcs_bytes", "signatures_bytes",
    "histograms_bytes", "note",
)  # fmt: skip


def size_rows(workshop: Workshop) -> Iterator[Row]:
    """Return a row per program and number of ranks: bytes of its trace with each step of the compression."""
    chosen = [program for program in SIZED if workshop.has(program)]
    with workshop.showing("trace sizes", len(chosen) * len(SIZE_RANKS)):
        for program in chosen:
            for nprocs in SIZE_RANKS:
                cells, notes = [], []
                for options in OPTIONS.values():
                    try:
                        trace = workshop.recorded(program, nprocs, options)
                        cells.append(grouped(trace.stat().st_size))
                    except StepError as error:
                        cells.append(NO_VALUE)
                        notes.append(str(error))
                yield [*_name(program), str(nprocs), *cells, "; ".join(dict.fromkeys(notes))]
                workshop.finish_row()


TIMED = [program for program in FIXED if program.title in ("bt", "cg", "lu", "mg", "sp")]
"""Programs of NPB in Figure 5.8."""

ENGINES = {"mg": "python"}
"""Engines of the replays in Figure 5.8: with histograms, MG lacks values that the compiled engine needs."""

REPLAY_COLUMNS = (
    "program", "class", "ranks", "app_s", "lossless_s", "lossless_error_pct", "histograms_app_s",
    "histograms_s", "histograms_error_pct", "note",
)  # fmt: skip


def replay_rows(workshop: Workshop) -> Iterator[Row]:
    """Return a row per program: times of replays, of lossless traces and of those with histograms."""

    def cells(program: RealProgram) -> list[str]:
        result = []
        for options in ([], ["--histograms", "1"]):
            trace = workshop.recorded(program, program.target, options)
            app_s = recorded_s(load(trace))
            facts = workshop.replayed(program.target, trace, ENGINES.get(program.title, COMPILED))
            result += [f"{app_s:.3f}", *compared(float(facts["wall_s"]), app_s)]
        return [*result, ""]

    return _rows(workshop, "replays", TIMED, lambda program: [*_name(program), str(program.target)], cells, 6)
