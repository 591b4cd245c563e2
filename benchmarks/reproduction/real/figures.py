"""The dissertation's figures measured with real programs: their studies and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.reproduction import generated, replays
from benchmarks.reproduction.figure import Comparison, Figure, FigureStudy, NamedRow, NamedRows, bars
from benchmarks.reproduction.real import measured, programs
from benchmarks.reproduction.real.workshop import Workshop
from benchmarks.reproduction.replays import NOT_IN_TEXT
from benchmarks.reproduction.settings import Settings
from benchmarks.reproduction.sizes import compare_sizes
from benchmarks.table import Row
from support.mpis import Mpi

_TIMES = (
    "A run, its replay and its benchmarks compute on the cores of one machine. Times are compared with the "
    "recorded run. With more ranks than cores, its recorded computation contains waits for cores."
)


Measure = Callable[[Workshop], Iterator[Row]]


def _study(name: str, columns: Sequence[str], rows: Measure, nkeys: int, *figures: Figure) -> FigureStudy:
    def measure(mpi: Mpi, settings: Settings) -> Iterator[Row]:
        assert settings.workshop is not None
        return rows(settings.workshop)

    return FigureStudy(name, columns, measure, figures, real=True, nkeys=nkeys)


def _replayed(rows: NamedRows) -> NamedRows:
    """Programs of the dissertation's figure, also without a replay."""
    return [row for row in rows if row["program"] not in ("mg", "sp")]


def _compare_calls(rows: NamedRows) -> list[Comparison]:
    """Experiments 1 to 3 of each program, named with class and scaling, or what is missing."""
    *lines, summary = replays.compare_calls(rows)
    return [*(replace(line, program=_label(row)) for line, row in zip(lines, rows, strict=True)), summary]


def _label(row: NamedRow) -> str:
    """A program with its class, and with how it scales if a row for each would look the same."""
    name = f"{row['program']}.{row['class']}" if row["class"] else f"{row['program']}, {row['inputs']}"
    return f"{name}, weak" if row["scaling"] == "weak" and row["class"] else name


def _kept(rows: NamedRows) -> list[Comparison]:
    """Shares of lossy traces, and their replay time."""
    result = []
    for row in rows:
        strong = row["scaling"] == "strong"
        there = ("64", "96.98 %") if strong else (NOT_IN_TEXT, NOT_IN_TEXT)
        calls = ("64", NOT_IN_TEXT) if strong else ("all sizes", "over 95 %")
        times = "not measured" if strong else "slightly longer at large sizes"
        name = f"MG, {row['scaling']}"
        result += [
            Comparison(name, "Sends that are kept", *there, row["ranks"], _percent(row["kept_sends_pct"])),
            Comparison(name, "calls that are kept", *calls, row["ranks"], _percent(row["kept_calls_pct"])),
            Comparison(name, "time of the calls that are kept", "-", "not measured", row["ranks"],
                       _percent(row["kept_time_pct"])),
            Comparison(name, "replay time over the program's", "-", times, row["ranks"],
                       _percent(row["error_pct"])),
        ]  # fmt: skip
    return result


def _percent(cell: str) -> str:
    return f"{cell} %" if cell else "-"


STRONG = _study(
    "real_strong", measured.EXTRAPOLATED_COLUMNS, partial(measured.extrapolated_rows, programs.STRONG), 6,
    Figure(
        "3.9", "Calls of extrapolated traces and their replays", "p. 28, §3.4.1",
        "As with the stand-ins. A refused program is a row with its reason. MG without dropped calls is "
        "extrapolated neither there nor here. The counts of IS depend on data. There, small differences "
        "are removed when it is recorded. Here, `--lossy` takes their means. Each extrapolated and each "
        "recorded trace is simulated, too (*simulated error*: between both).",
        _compare_calls,
        left_out="the ring and the stencils, which are no programs of NPB",
        headline=(-1,),
    ),
    Figure(
        "3.10", "Replay time of extrapolated traces, strong scaling", "p. 31, §3.4.2",
        f"{_TIMES} These follow no curve over the ranks.",
        partial(replays.compare_times, replays.STRONG_TIMES, "generally above 90 %, no mean"),
        rows=_replayed,
        plot=partial(replays.plot_extrapolated, "Strong scaling"),
        headline=(-1,),
        timed=True,
    ),
)  # fmt: skip

WEAK = _study(
    "real_weak", measured.EXTRAPOLATED_COLUMNS, partial(measured.extrapolated_rows, programs.WEAK), 6,
    Figure(
        "3.11", "Replay time of extrapolated traces, weak scaling", "p. 34, §3.4.2",
        f"{_TIMES} BT and LU read their sizes from a file. The rows have experiments 1 to 3, too.",
        partial(replays.compare_times, {"": NOT_IN_TEXT}, "92.87 %"),
        plot=partial(replays.plot_extrapolated, "Weak scaling"),
        headline=(-1,),
        left_out="EP, FT and IS have sizes that are compiled in; Sweep3D has no public sources any more",
        timed=True,
    ),
)  # fmt: skip

LOSSY = _study(
    "real_lossy", measured.EXTRAPOLATED_COLUMNS, partial(measured.extrapolated_rows, programs.LOSSY), 6,
    Figure(
        "3.12", "Lossy extrapolation of MG", "p. 36, §3.4.3",
        "The dissertation's filter keeps the exchange with the six neighbours, by snippets. Here "
        "`--lossy` drops what follows no formula, with its partners; `--max-dropped 0.99` allows most. "
        "2 V-cycles. The chart there has times of weak scaling, the text has the shares. With strong "
        "scaling, which it calls out of scope, 77.56 % of the Sends are kept on 1,024 ranks.",
        _kept,
        left_out="1,024 ranks do not run on one machine",
    ),
)  # fmt: skip

LULESH = _study(
    "real_lulesh", measured.EXTRAPOLATED_COLUMNS, partial(measured.extrapolated_rows, programs.LULESH), 6,
    Figure(
        "LULESH", "Extrapolation of LULESH", "none: it is not in the dissertation",
        "26 neighbours in a cube of ranks, 4^3 elements each, 5 steps.",
        _compare_calls,
        headline=(-1,),
        left_out="larger cubes: they share the cores of one machine",
    ),
)  # fmt: skip


def _language_bars(title: str, rows: NamedRows, path: Path) -> None:
    bars(path, rows, {"app_s": "program", "c_s": "C", "conceptual_s": "coNCePTuaL"}, title, "seconds")


FEW_RANKS = 2
"""Ranks that have a core each on a small machine. BT and SP communicate on 4 at least."""


def _mean_line_of_few(rows: NamedRows, language: str, column: str) -> Comparison:
    few = [row for row in rows if int(row["ranks"]) <= FEW_RANKS]
    quantity = f"mean absolute error, {language}"
    return Comparison(f"on {FEW_RANKS} ranks", quantity, "-", "-", *replays.mean_error(few, column))


def _compare_benchmarks(rows: NamedRows) -> list[Comparison]:
    return [
        replays.mean_line(rows, NOT_IN_TEXT, "2.9 %", "coNCePTuaL", "conceptual_error_pct"),
        _mean_line_of_few(rows, "coNCePTuaL", "conceptual_error_pct"),
        replays.mean_line(rows, "-", "not measured", "C", "c_error_pct"),
        _mean_line_of_few(rows, "C", "c_error_pct"),
        *generated.largest_errors(rows),
    ]


def _compare_lines(rows: NamedRows) -> list[Comparison]:
    return [
        Comparison(
            row["program"].upper(), "lines of coNCePTuaL (of the program)",
            "256" if row["program"] == "ft" else "-",
            "22 (2,131)" if row["program"] == "ft" else NOT_IN_TEXT,
            row["ranks"], f"{int(row['conceptual_lines']):,} ({int(row['source_lines']):,})",
        )
        for row in sorted(rows, key=lambda row: row["program"] != "ft")
        if row["conceptual_lines"]
    ]  # fmt: skip


BENCHMARKS = _study(
    "real_benchmarks", measured.BENCHMARK_COLUMNS, measured.benchmark_rows, 3,
    Figure(
        "4.8", "Time of generated benchmarks", "p. 64, §4.5.3", f"{_TIMES} The dissertation ran class C. "
        "Only LU on 256 and SP on 16 ranks are off by 10 % or more there.",
        _compare_benchmarks,
        plot=lambda rows, path: _language_bars("Generated benchmarks", rows, path),
        left_out="Sweep3D: no public sources any more",
        timed=True,
    ),
    Figure(
        "4.12", "Lines of coNCePTuaL", "p. 69, §4.5.5",
        "The dissertation counts FT. Here a benchmark checks the number of ranks, and its options have "
        "lines of their own.",
        _compare_lines,
        rows=lambda rows: [row for row in rows if row["conceptual_lines"]],
    ),
)  # fmt: skip


def _compare_scalable(rows: NamedRows) -> list[Comparison]:
    return [
        Comparison(
            program, f"absolute error, {language}", ranks, theirs,
            *replays.mean_error(generated.rows_of(program, rows), column),
        )
        for program, ranks, theirs in (("BT", "16 to 400", "5.12 %"), ("FT", "from 8", "3.42 %"))
        for language, column in (("coNCePTuaL", "conceptual_error_pct"), ("C", "c_error_pct"))
    ]  # fmt: skip


SCALABLE = _study(
    "real_scalable", measured.SCALABLE_COLUMNS, measured.scalable_rows, 4,
    Figure(
        "4.9", "Time of scalable benchmarks at sizes without a trace", "p. 65, §4.5.4",
        f"{_TIMES} The benchmark is made of formulas of the traces (*inputs*).",
        _compare_scalable,
        plot=lambda rows, path: _language_bars("Scalable benchmarks", rows, path),
        headline=(0, 1, 2, 3),
        left_out="400 ranks: they share the cores of one machine",
        timed=True,
    ),
)  # fmt: skip


COMPUTATION = _study(
    "real_computation", measured.COMPUTATION_COLUMNS, measured.computation_rows, 4,
    Figure(
        "4.10", "Time of a benchmark with shorter computation", "p. 67, §4.5.5",
        "The dissertation ran BT, class C, over Ethernet, whose receivers become saturated. "
        "Here messages go through shared memory, and the problem is of class W.",
        generated.compare_computation,
        plot=generated.plot_computation,
        left_out="Ethernet between nodes: there is one machine",
        headline=(0, 1),
        timed=True,
    ),
)  # fmt: skip


def _compare_messages(rows: NamedRows) -> list[Comparison]:
    """The simulated time with larger messages, of the original one."""
    theirs = {"4": "equal", "16": "longer: bandwidth saturated", "256": NOT_IN_TEXT}
    return [
        Comparison("BT", f"time with {row['message_factor']} times the bytes, {row['nodes']} nodes", "16",
                   theirs[row["message_factor"]], row["ranks"], f"{float(row['of_original_pct']):.0f} %")
        for row in sorted(rows, key=lambda row: -int(row["nodes"]))
        if row["message_factor"] in theirs and row["of_original_pct"]
    ]  # fmt: skip


MESSAGES = _study(
    "real_messages", measured.MESSAGE_COLUMNS, measured.message_rows, 5,
    Figure(
        "4.11", "Larger messages of BT", "p. 68, §4.5.5",
        "The dissertation ran class A on 1 to 16 nodes. Here the trace of class W is simulated on the "
        f"installed platform *{measured.PLATFORM}*: a message of k times the bytes takes as long as on "
        "links with a k-th of the bandwidth.",
        _compare_messages,
        left_out="runs on several nodes: there is one machine",
        headline=(0, 1, 2),
    ),
)  # fmt: skip


def _compare_collectives(rows: NamedRows) -> list[Comparison]:
    ours = {row["ranks"]: f"{float(row['longer_pct']):+.1f} %" for row in rows if row["longer_pct"]}
    return [
        Comparison("FT", "messages longer than collectives", "16", "+0.5 %", "16", ours.get("16", "-")),
        Comparison("FT", "messages longer than collectives", "256", "+46.2 %", "-", "-"),
    ]


COLLECTIVES = _study(
    "real_collectives", measured.COLLECTIVE_COLUMNS, measured.collective_rows, 3,
    Figure(
        "4.13", "Collectives and messages in their place", "p. 70, §4.5.5",
        "The dissertation ran FT, class C, on a cluster. Here all messages go through shared memory.",
        _compare_collectives,
        plot=generated.plot_collectives,
        left_out="256 ranks: they share the cores of one machine",
        timed=True,
    ),
)  # fmt: skip

SIZES = _study(
    "real_sizes", measured.SIZE_COLUMNS, measured.size_rows, 3,
    Figure(
        "5.7", "Trace sizes", "p. 90, §5.3.1",
        "Steps of the compression as with the stand-ins.",
        lambda rows: [line for line in compare_sizes(rows) if line.ours != "-"],
        plot=lambda rows, path: bars(
            path, rows, {column: column.removesuffix("_bytes") for column in measured.SIZE_COLUMNS[3:8]},
            "Trace sizes", "bytes", log=True,
        ),
        headline=(2, 3, 4, 7),
        left_out="Sweep3D and POP: no public sources here; their stand-ins are measured",
    ),
)  # fmt: skip


def _compare_replays(rows: NamedRows) -> list[Comparison]:
    lines = zip(replays.compare_replays(rows), ("histograms", "lossless"), strict=True)
    return [
        part for line, kind in lines for part in (line, _mean_line_of_few(rows, kind, f"{kind}_error_pct"))
    ]


REPLAYS = _study(
    "real_replays", measured.REPLAY_COLUMNS, measured.replay_rows, 3,
    Figure(
        "5.8", "Time of replays from histograms", "p. 93, §5.3.2", _TIMES,
        _compare_replays,
        plot=replays.plot_replays,
        left_out="Sweep3D and POP: no public sources here; their stand-ins are measured",
        timed=True,
    ),
)  # fmt: skip

REAL_STUDIES = (
    STRONG, SCALABLE, COMPUTATION, MESSAGES, COLLECTIVES, BENCHMARKS, REPLAYS, SIZES, WEAK, LULESH, LOSSY,
)  # fmt: skip
"""In the order in which they are measured."""
