"""Limits of use: large numbers of one thing, recorded and compared with what was recorded.

Limits of the compressor are measured without MPI: a core is given calls, and its trace is compared with
them. Limits of handles are measured with MPI programs on one rank, whose traces are compared with flat logs.
Seconds and memory are those of the recording process; under MPI, seconds are those of the whole command.
The result is "lossless", what differs, or the message of a refusal.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.running import compile_c
from benchmarks.study import Study, choose, one_table
from benchmarks.table import Row, grouped, verdict
from scalatrace import load
from scalatrace.core.binding import COMM_WORLD, Core, family
from scalatrace.trace.model.call import Call
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.model.trace import Trace
from support.mpis import Mpi, installed
from support.running import record, scalatrace

Record = Callable[[Core, int], None]
Check = Callable[[Trace, int], Iterator[bool]]


def _sites(core: Core, n: int) -> None:
    op = core.define_op("Barrier", [("comm", Kind.COMM)])
    for i in range(n):
        core.append(op, [COMM_WORLD], core.define_signature([f"app.py:{i}:step", "app.py:1:main"]))


def _check_sites(trace: Trace, n: int) -> Iterator[bool]:
    return (call.stack == (f"app.py:{i}:step", "app.py:1:main") for i, call in _calls(trace, n))


def _iterations(core: Core, n: int) -> None:
    op = core.define_op("Send", [("count", Kind.INT), ("dest", Kind.PEER)])
    first, second = (core.define_signature([f"app.py:{line}:step"]) for line in (1, 2))
    for i in range(n):
        core.append(op, [i, 0], first, 0, 1)
        core.append(op, [i % 7, 0], second, 0, 1)


def _check_iterations(trace: Trace, n: int) -> Iterator[bool]:
    expected = (values for i in range(n) for values in ((i, 0), (i % 7, 0)))
    return (
        tuple(call.values) == values for (_, call), values in zip(_calls(trace, 2 * n), expected, strict=True)
    )


def _comms(core: Core, n: int) -> None:
    op = core.define_op("Barrier", [("comm", Kind.COMM)])
    for i in range(n):
        core.define_comm(family(COMM_WORLD, i), COMM_WORLD, "dup", [0])
        core.append(op, [family(COMM_WORLD, i)], 1)


def _check_comms(trace: Trace, n: int) -> Iterator[bool]:
    seen: set[int] = set()
    for _, call in _calls(trace, n):
        number = call.values[0]
        yield number not in seen and trace.comms[number].kind == "dup"
        seen.add(number)


def _types(core: Core, n: int) -> None:
    op = core.define_op("Send", [("datatype", Kind.TYPE)])
    for i in range(n):
        core.append(op, [core.define_type(f"contiguous({i}, MPI_INT)", 4 * i, 4 * i)], 1)


def _check_types(trace: Trace, n: int) -> Iterator[bool]:
    return (trace.types[call.values[0]].size == 4 * i for i, call in _calls(trace, n))


def _wide(i: int) -> int:
    """A value without a rule, from the whole range of 64 bits."""
    value = i * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _counts(core: Core, n: int) -> None:
    op = core.define_op("Send_c", [("count", Kind.INT), ("counts", Kind.ARRAY)])
    for i in range(n):
        core.append(op, [_wide(i), core.array([_wide(i), (1 << 63) - 1, -(1 << 63)])], 1)


def _check_counts(trace: Trace, n: int) -> Iterator[bool]:
    for i, call in _calls(trace, n):
        yield call.values[0] == _wide(i)
        yield trace.arrays[call.values[1]].values == (_wide(i), (1 << 63) - 1, -(1 << 63))


def _name(i: int) -> str:
    """255 bytes, most of them no UTF-8."""
    return (str(i).encode() + b"\xff\xfe\xc3(" * 64)[:255].decode(errors="surrogateescape")


def _names(core: Core, n: int) -> None:
    op = core.define_op("File_open", [("filename", Kind.STRING)])
    for i in range(n):
        name = _name(i)
        core.append(op, [core.string(name)], core.define_signature([f"{name}:1:{name}"]))


def _check_names(trace: Trace, n: int) -> Iterator[bool]:
    for i, call in _calls(trace, n):
        name = _name(i)
        yield trace.strings[call.values[0]] == name
        yield call.stack == (f"{name}:1:{name}",)


def _calls(trace: Trace, n: int) -> Iterator[tuple[int, Call]]:
    """Number and call of all calls of rank 0; ValueError if there are not n."""
    return zip(range(n), trace.walk(0), strict=True)


CASES: dict[str, tuple[int, Record, Check]] = {
    "call sites": (1_000_000, _sites, _check_sites),
    "iterations": (10_000_000, _iterations, _check_iterations),
    "communicators in the core": (5_000, _comms, _check_comms),
    "datatypes in the core": (1_000, _types, _check_types),
    "64-bit counts": (10_000, _counts, _check_counts),
    "names of 255 bytes": (1_000, _names, _check_names),
}
"""By name: how many, record so many, compare them."""


def record_case(case: str, n: int, path: Path) -> None:
    """Write the trace of a case."""
    _, make, _ = CASES[case]
    with Core(0, 1) as core:
        core.define_comm(COMM_WORLD, 0, "world", [0])
        make(core, n)
        core.finish()
        core.write(path)


def measured(case: str, n: int, path: Path) -> tuple[float, float]:
    """Record in this process; return its seconds and peak memory in MB."""
    start = time.perf_counter()
    record_case(case, n, path)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def differences(case: str, n: int, path: Path) -> int:
    """Return how many calls in a trace differ from the recorded ones. ValueError: not so many calls."""
    return sum(not equal for equal in CASES[case][2](load(path), n))


COLUMNS = ("limit", "number", "seconds", "peak MB", "trace bytes", "result")
PROGRAMS = {"requests": 100_000, "communicators": 5_000, "datatypes": 1_000, "nested": 1_000, "names": 1_000}
TIMEOUT_S = 3600
LOSSLESS = "lossless"


def without_mpi(case: str, n: int, folder: Path) -> list[str]:
    """Return the line of a case of the compressor."""
    path = folder / "a.st"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, peak_mb = pool.apply(measured, (case, n, path))
        different = pool.apply(differences, (case, n, path))
    result = f"{different} differences" if different else LOSSLESS
    return _line(case, n, seconds, peak_mb, path, result)


def with_mpi(mpi: Mpi, case: str, n: int, folder: Path) -> list[str]:
    """Return the line of a program, which prints its peak memory in KiB."""
    path, logs = folder / "a.st", folder / "logs"
    program = compile_c(mpi, "limits.c", folder / "program", "-O1")
    start = time.perf_counter()
    done = record(mpi, 1, [program, case, str(n)], path, options=["--flat-log", logs], timeout=TIMEOUT_S)
    seconds = time.perf_counter() - start
    if done.returncode or not path.exists():
        return _line(case, n, seconds, 0, path, _last_line(done.stderr) or "no trace")
    verified = scalatrace(mpi, "verify", path, logs, timeout=TIMEOUT_S)
    result = LOSSLESS if LOSSLESS in verified.stdout else _last_line(verified.stdout + verified.stderr)
    return _line(case, n, seconds, int(done.stdout) / 1024, path, result)


def _last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "")


def _line(case: str, n: int, seconds: float, peak_mb: float, path: Path, result: str) -> list[str]:
    nbytes = path.stat().st_size if path.exists() else 0
    return [case, grouped(n), f"{seconds:.1f}", f"{peak_mb:.0f}", grouped(nbytes), result]


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    """Measure the limits, each number times `--scale`."""
    mpi = next(iter(installed().values()), None)
    for case in choose([*CASES, *(PROGRAMS if mpi else ())], args.only, str):
        number = max(1, int((CASES[case][0] if case in CASES else PROGRAMS[case]) * args.scale))
        with tempfile.TemporaryDirectory() as folder:
            if case in CASES:
                yield without_mpi(case, number, Path(folder))
            elif mpi is not None:
                yield with_mpi(mpi, case, number, Path(folder))


def _verdicts(rows: Sequence[Row]) -> list[str]:
    return [verdict(all(row[-1] == LOSSLESS for row in rows), "all traces are lossless")]


STUDIES = (
    Study(
        "limits",
        "10^6 call sites, 10^7 iterations, 5,000 communicators, ...: seconds, memory, lossless or not",
        "CHANGELOG.md, tests/record/test_limits.py, tests/core/test_limits.py",
        one_table("limits", "Limits of use", COLUMNS, _rows, judge=_verdicts),
        {"only": [], "scale": 1.0},
        {"scale": 0.01},
    ),
)
