"""Simulate a trace in many settings: platforms, placements, numbers of ranks, factors, drawn times.

All combinations of the given values are settings. With `--repeat`, each one is simulated with drawn
computation times, and has an interval. Simulations run on several cores, or as ranks of an MPI program; the
times are the same. With `-o`, times are kept: the same command goes on where it was interrupted, and a
command with more values adds to them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from functools import lru_cache, partial
from io import StringIO
from itertools import product
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import scalatrace
from scalatrace.cli.output import add_formats, add_plot, add_seed, natural, print_facts, workers
from scalatrace.cli.parsing import further
from scalatrace.cli.progress import track
from scalatrace.cli.sizes import add_plugins, read_trace
from scalatrace.errors import ScalatraceError, UsageError
from scalatrace.files import check_output
from scalatrace.report.predictions.columns import STUDY

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.predict.engine.simulate import Simulator
    from scalatrace.predict.engine.study import StudyFile, StudyResult, StudyRun, StudySetting
    from scalatrace.predict.engine.worker_pool import WorkerPool
    from scalatrace.predict.platform import Platform

EXAMPLE = (
    "scalatrace study app.st --platform cluster fat-tree.toml --placement block cyclic -o study.jsonl\n"
    "  scalatrace study app.st --platform cluster --factors latency=0.5,1,2 bandwidth=1,2 --plot study.svg\n"
    "  scalatrace study app.stx -P 64 256 1024 --platform cluster --repeat 20 -o study.jsonl\n"
    "  mpiexec -n 64 scalatrace study app.stx -P 4096 65536 --platform cluster --workers mpi -o study.jsonl"
)

SAVE_S = 2.0
"""Seconds between two writings of the file of times."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("traces", nargs="+", help="trace files (.st, or .stx with -P or --dims)")
    parser.add_argument(
        "--platform", nargs="+", required=True, metavar="FILE", help="platform files, or installed ones"
    )
    several: dict[str, Any] = {"nargs": "+", "default": [""]}
    parser.add_argument("--placement", metavar="HOW", help="as of simulate: block, cyclic, ...", **several)
    parser.add_argument("--mpi", metavar="NAME", help="as of simulate: openmpi, mpich, ...", **several)
    parser.add_argument(
        "--network", choices=("none", "loads", "flows"), help="as of simulate: how messages share links",
        **several,
    )  # fmt: skip
    parser.add_argument(
        "--factors", nargs="+", default=[], metavar="NAME=F,F,...",
        help="factors on latency, bandwidth, overhead or compute",
    )  # fmt: skip
    of = "of symbolic traces (.stx):"
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "-P", type=natural, nargs="+", metavar="N", dest="nprocs", help=f"{of} numbers of ranks"
    )
    sizes.add_argument("--dims", nargs="+", metavar="XxYxZ", help=f"{of} grids of ranks")
    further(parser).add_argument(
        "--param",
        nargs="+",
        default=[],
        metavar="N=V,V,...",
        help=f"{of} values of parameters of the program",
    )
    add_plugins(parser)
    parser.add_argument(
        "--repeat", type=natural, metavar="R", help="simulate each setting with R draws of computation times"
    )
    add_seed(parser, "the first draw")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="file of times, read and added to")
    add_plot(parser)
    parser.add_argument(
        "--workers", type=workers, metavar="N",
        help="processes that simulate (default: one per core), or `mpi`: the ranks of this program",
    )  # fmt: skip
    add_formats(parser, STUDY)


def run(args: argparse.Namespace) -> int:
    """Simulate what is missing, print all settings."""
    from scalatrace.predict.engine.study import StudyFile
    from scalatrace.predict.engine.worker_pool import open_pool
    from scalatrace.report.curves import check_plot

    if args.plot:
        check_plot(args.plot)
        _check_varies(args)
    for path, option in ((args.output, "-o"), (args.plot, "--plot")):
        if path:
            check_output(path, option)
    settings = list(_settings(args))
    times = StudyFile(args.output)
    seeds = [None] if args.repeat is None else range(args.seed, args.seed + args.repeat)
    with open_pool(args.workers or len(os.sched_getaffinity(0))) as pool:
        if pool.serves:
            return 0
        _simulate_missing(pool, settings, seeds, times, args.plugin)
    return _show(args, settings, seeds, times)


def _check_varies(args: argparse.Namespace) -> None:
    """Raise UsageError if no number varies for the axis of a plot; traces may have different ranks."""
    lists: list[list[Any]] = [*parse_lists(args.factors, "--factors", float).values()]
    lists += [
        *parse_lists(args.param, "--param", int).values(),
        args.traces,
        args.nprocs or [],
        args.dims or [],
    ]
    if all(len(values) < 2 for values in lists):
        raise UsageError("--plot needs settings with several numbers of ranks, parameters or factors")


def parse_lists(words: Sequence[str], option: str, kind: type[float] | type[int]) -> dict[str, list[Any]]:
    """Read `NAME=VALUE,VALUE,...` of an option. Raises UsageError."""
    lists: dict[str, list[Any]] = {}
    for word in words:
        name, sign, values = word.partition("=")
        if name in lists:
            raise UsageError(f"{option}: {name} is given twice")
        try:
            lists[name] = list(dict.fromkeys(kind(value) for value in values.split(",")))
        except ValueError:
            sign = ""
        if not sign or not name:
            example = "latency=0.5,1,2" if kind is float else "n=100,200"
            raise UsageError(f"{option} {word}: expected NAME=VALUE,VALUE,..., such as {example}")
    return lists


def _settings(args: argparse.Namespace) -> Iterator[StudySetting]:
    """Yield all combinations. Raises ScalatraceError where one of them names what does not exist."""
    from scalatrace.predict.engine.sensitivity import scale_platform
    from scalatrace.predict.engine.study import StudySetting
    from scalatrace.predict.platform import Platform, platform_text, read_platform

    factors = parse_lists(args.factors, "--factors", float)
    params = parse_lists(args.param, "--param", int)
    for chosen in _combinations(factors):
        scale_platform(Platform(), **dict(chosen))
    placements, libraries, networks = map(dict.fromkeys, (args.placement, args.mpi, args.network))
    for placement, mpi in product(placements, libraries):
        Platform().changed(placement, mpi)
    platforms = {name: read_platform(name) for name in args.platform}
    plugins = [_content(path) for path in args.plugin]
    traces = {path: _digest(_content(path), *plugins) for path in args.traces}
    sizes = [(n, "") for n in args.nprocs or ()] or [(None, dims) for dims in args.dims or [""]]
    digests = {
        (name, placement): _digest(platform_text(platform).encode(), _hosts(placement or platform.placement))
        for (name, platform), placement in product(platforms.items(), placements)
    }
    for (trace, trace_digest), (nprocs, dims), values, platform in product(
        traces.items(), dict.fromkeys(sizes), _combinations(params), platforms
    ):
        for placement, mpi, network, chosen in product(
            placements, libraries, networks, _combinations(factors)
        ):
            platform_digest = digests[platform, placement]
            yield StudySetting(
                trace, platform, trace_digest, platform_digest, nprocs, dims, values, placement, mpi, network,
                chosen,
            )  # fmt: skip


def _combinations(lists: Mapping[str, Sequence[Any]]) -> list[tuple[tuple[str, Any], ...]]:
    return [tuple(zip(lists, values, strict=True)) for values in product(*lists.values())]


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ScalatraceError(f"{path}: cannot read: {error.strerror}") from None


def _hosts(placement: str) -> bytes:
    """Return the content of a placement's file of hosts; nothing of other placements."""
    kind, _, path = placement.partition(":")
    return _content(path) if kind == "file" else b""


def _digest(*contents: bytes) -> str:
    digest = hashlib.sha256(scalatrace.__version__.encode())
    for content in contents:
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]


def _simulate_missing(
    pool: WorkerPool,
    settings: Sequence[StudySetting],
    seeds: Sequence[int | None],
    times: StudyFile,
    plugins: Sequence[str],
) -> None:
    """Simulate what has no time; what is done by then is saved, also where the command is interrupted."""
    from scalatrace.predict.engine.study import StudyRun

    runs = [StudyRun(setting, seed) for setting in settings for seed in seeds]
    missing = [each for each in runs if times.needs(each)]
    saved_s = monotonic()
    warnings: dict[str, None] = {}
    try:
        results = pool.run(partial(_simulate, tuple(plugins)), missing)
        for done, time in track(results, "simulations", len(missing)):
            times.add(done, time)
            warnings |= dict.fromkeys(time.warnings)
            if monotonic() - saved_s > SAVE_S:
                times.save()
                saved_s = monotonic()
    finally:
        times.save()
        for warning in warnings:
            print(warning, file=sys.stderr)


def _simulate(plugins: tuple[str, ...], one_run: StudyRun) -> StudyResult:
    """Simulate once, in a worker; an error is a result."""
    from scalatrace.predict.engine.simulate import SimulateOptions
    from scalatrace.predict.engine.study import StudyResult

    setting, seed = one_run.setting, one_run.seed
    nprocs = 0
    try:
        simulator, trace, warnings = _simulator(
            setting.trace, setting.nprocs, setting.dims, setting.params, plugins
        )
        nprocs = trace.nprocs
        platform = _placed_platform(setting, plugins)
        options = SimulateOptions(drawn=seed is not None, seed=seed or 0, network=setting.network)
        return StudyResult(simulator.run(platform, options).time_ns, nprocs, warnings=warnings)
    except ScalatraceError as error:
        return StudyResult(None, nprocs, str(error))


@lru_cache(maxsize=1)
def _placed_platform(setting: StudySetting, plugins: tuple[str, ...]) -> Platform:
    """Return the platform of a setting, once for all of its draws."""
    from scalatrace.predict.engine.sensitivity import scale_platform
    from scalatrace.predict.platform import read_platform

    _, trace, _ = _simulator(setting.trace, setting.nprocs, setting.dims, setting.params, plugins)
    platform = read_platform(setting.platform).changed(setting.placement, setting.mpi)
    return scale_platform(platform, **dict(setting.factors)).placed(trace.nprocs, trace.meta)


@lru_cache(maxsize=1)
def _simulator(
    path: str,
    nprocs: int | None,
    dims: str,
    params: tuple[tuple[str, int], ...],
    plugins: tuple[str, ...],
) -> tuple[Simulator, Trace, tuple[str, ...]]:
    """Return the simulator of a trace, and the warnings about it, which each worker would print.

    Workers get settings of the same trace one after the other.
    """
    from scalatrace.predict.engine.simulate import Simulator
    from scalatrace.trace.consistency.failed import repeatable
    from scalatrace.trace.threads import check_one_order

    words = [f"{name}={value}" for name, value in params]
    sizes = argparse.Namespace(nprocs=nprocs, dims=dims or None, param=words, plugin=list(plugins))
    with redirect_stderr(StringIO()) as printed:
        trace = read_trace(path, sizes)
    check_one_order(trace, "study")
    simulator = Simulator(repeatable(trace, keep_failed=True).without_phases)
    return simulator, trace, tuple(printed.getvalue().splitlines())


def _named(params: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return parameters by the names of their columns, which differ from those of factors and settings."""
    from scalatrace.predict.engine.sensitivity import FACTORS

    taken = {*FACTORS, *(column.name for column in STUDY.columns)}
    return {f"param {name}" if name in taken else name: value for name, value in params}


def _show(
    args: argparse.Namespace, settings: Sequence[StudySetting], seeds: Sequence[int | None], times: StudyFile
) -> int:
    from scalatrace.predict.engine.repeats import interval_of
    from scalatrace.predict.engine.study import StudyRun
    from scalatrace.report.predictions.study import StudyReporter

    rows: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    for setting in settings:
        results = [times.result(StudyRun(setting, seed)) for seed in seeds]
        error = next((result.error for result in results if result.error), "")
        row = {
            "trace": setting.trace, "ranks": results[0].nprocs, **_named(setting.params),
            "platform": setting.platform, "placement": setting.placement, "mpi": setting.mpi,
            "network": setting.network, **dict(setting.factors), "runs": len(results),
        }  # fmt: skip
        if error:
            errors.append({**row, "error": error})
            continue
        interval = interval_of([result.time_ns for result in results if result.time_ns is not None])
        rows.append(
            {**row, "time_ns": interval.median_ns, "low_ns": interval.low_ns, "high_ns": interval.high_ns}
        )
    if args.csv:
        for failed in errors:
            print(f"scalatrace: {failed['platform']}: {failed['error']}", file=sys.stderr)
    for row in rows:
        row["ratio"] = row["time_ns"] / max(rows[0]["time_ns"], 1e-9)
    names = [*_named(settings[0].params), *parse_lists(args.factors, "--factors", float)]
    reporter = StudyReporter(rows, errors, names)
    print_facts(args, {"rows": rows, "errors": errors}, reporter.table, rows, reporter)
    if args.plot and rows:
        reporter.draw(args.plot)
    return 1 if errors else 0
