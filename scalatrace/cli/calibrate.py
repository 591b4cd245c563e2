"""Measure the network and the kernels of this machine, and write a platform file for predictions.

Run it under mpiexec with two ranks or more, on two nodes if messages between nodes matter. Sizes are drawn at
random and experiments shuffled, from one seed. All measurements go to an archive; `--from` fits one again."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalatrace.cli.output import add_formats, add_seed, natural, print_facts, words
from scalatrace.cli.parsing import further
from scalatrace.cli.progress import PrintedSteps, stage
from scalatrace.errors import UsageError
from scalatrace.files import check_output
from scalatrace.launched import launched_rank
from scalatrace.predefined import THREAD_LEVELS
from scalatrace.report.predictions.columns import SEGMENTS

if TYPE_CHECKING:
    from scalatrace.predict.calibrate import Archive
    from scalatrace.predict.calibrate.plan import Settings
    from scalatrace.predict.regress import Runs

EXAMPLE = (
    "mpiexec -n 2 scalatrace calibrate -o platform.toml --archive platform.jsonl\n"
    "  srun -N 2 --ntasks-per-node 2 scalatrace calibrate -o cluster.toml --max-bytes 67108864\n"
    "  scalatrace calibrate --from monday.jsonl tuesday.jsonl -o platform.toml --cluster nodes.toml\n"
    "  scalatrace calibrate --from osu_latency.txt osu_bw.txt -o platform.toml"
)


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that bound the threads of linear algebra; unless one is set, a rank uses one core."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="TOML", help="the platform file")
    parser.add_argument("--archive", type=Path, metavar="FILE", help="write all measurements (JSON lines)")
    parser.add_argument(
        "--from", dest="sources", nargs="+", default=[], metavar="FILE",
        help="fit the measurements of an archive; measure nothing. More of them: days of --cluster. Or fit "
        "the output of osu_latency and osu_bw on two nodes",
    )  # fmt: skip
    osu = further(parser)
    osu.add_argument(
        "--within-node",
        nargs="+",
        default=[],
        metavar="FILE",
        help="with --from: the output of osu_latency and osu_bw within a node",
    )
    osu.add_argument(
        "--ranks-per-node", type=natural, default=1, metavar="N",
        help="with --from of OSU output: ranks of a node of the platform (default: 1)",
    )  # fmt: skip
    parser.add_argument("--kernels", type=Path, metavar="TOML", help="write the models of the kernels")
    parser.add_argument(
        "--cluster",
        type=Path,
        metavar="TOML",
        help="write the model of unequal nodes (two hosts or more)",
    )
    parser.add_argument(
        "--monitor",
        action="store_true",
        help="read frequency, temperature, power, other load",
    )
    parser.add_argument(
        "--table",
        type=Path,
        metavar="CSV",
        help="write the durations of each archive for `regress`",
    )
    parser.add_argument("--name", default="calibrated", help="of the platform")
    add_seed(parser, "sizes and order")
    parser.add_argument("--sizes", type=natural, default=80, metavar="N", help="message sizes (default: 80)")
    parser.add_argument(
        "--max-bytes", type=natural, default=4 << 20, metavar="N", help="largest message (default: 4 MiB)"
    )
    parser.add_argument(
        "--visits",
        type=natural,
        default=3,
        metavar="N",
        help="times that each experiment is done (default: 3)",
    )
    parser.add_argument(
        "--repeats", type=natural, default=10, metavar="N", help="durations of each (default: 10)"
    )
    parser.add_argument(
        "--collectives", type=int, default=12, metavar="N", help="sizes of collectives (default: 12; 0: none)"
    )
    parser.add_argument(
        "--pairings", type=int, default=16, metavar="N",
        help="random pairs of four or more ranks, for the bisection bandwidth (default: 16; 0: none)",
    )  # fmt: skip
    parser.add_argument(
        "--fit-rules", action="store_true",
        help="also fit rules for algorithms of collectives on so many ranks, where measured times are nearer "
        "to another algorithm than to that of the MPI library",
    )  # fmt: skip
    parser.add_argument(
        "--thread-level",
        choices=THREAD_LEVELS,
        help="of MPI, as your programs start it: C programs mostly `single`, mpi4py `multiple` (default)",
    )
    parser.add_argument(
        "--kernel-calls",
        type=int,
        default=60,
        metavar="N",
        help="calls of each kernel (default: 60; 0: none)",
    )
    parser.add_argument(
        "--kernel-names", type=words, default=["dgemm", "copy"], metavar="NAMES", help="default: dgemm,copy"
    )
    add_formats(parser, SEGMENTS)


def run(args: argparse.Namespace) -> int:
    """Measure or read, fit, write."""
    outputs = (
        ("-o", args.output),
        ("--archive", args.archive),
        ("--kernels", args.kernels),
        ("--cluster", args.cluster),
        ("--table", args.table),
    )
    for option, path in outputs:
        if path:
            check_output(path, option)
    if args.within_node and not args.sources:
        raise UsageError("--within-node needs --from with the output of osu_latency between nodes")
    if args.sources:
        if args.archive:
            raise UsageError("--from measures nothing, so there is no --archive to write")
        if args.thread_level:
            raise UsageError("--from measures nothing: --thread-level is that of the archives")
        if args.monitor:
            raise UsageError("--from measures nothing, so there is nothing to --monitor")
        return _fit_archives(_read_sources(args), args)
    archive, status = _measure(args)
    return status if archive is None else _fit_archives([archive], args)


def _read_sources(args: argparse.Namespace) -> list[Archive]:
    """Return the archives of --from, or one of the output of OSU benchmarks."""
    from scalatrace.predict.calibrate import read_archive
    from scalatrace.predict.calibrate.osu import is_osu, read_osu

    if is_osu(args.sources[0]):
        return [read_osu(args.sources, args.within_node, args.ranks_per_node)]
    if args.within_node:
        raise UsageError(f"--within-node goes with OSU output; {args.sources[0]} is an archive")
    return [read_archive(source) for source in args.sources]


def _settings(args: argparse.Namespace) -> Settings:
    from scalatrace.predict.calibrate.plan import MAX_BYTES, Settings

    if args.max_bytes > MAX_BYTES:
        raise UsageError(f"--max-bytes {args.max_bytes}: at most {MAX_BYTES:,}")
    if min(args.seed, args.collectives, args.pairings, args.kernel_calls) < 0:
        raise UsageError("--seed, --collectives, --pairings and --kernel-calls are 0 or more")
    return Settings(
        args.sizes, args.max_bytes, args.visits, args.repeats, args.collectives,
        args.pairings, args.kernel_calls, tuple(args.kernel_names), args.seed, args.monitor,
    )  # fmt: skip


def _measure(args: argparse.Namespace) -> tuple[Archive | None, int]:
    """Measure on all ranks; the archive on rank 0. An error ends all ranks, since others may wait."""
    if not any(name in os.environ for name in THREADS):
        os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported
    os.environ["MPI4PY_RC_THREAD_LEVEL"] = args.thread_level or "multiple"  # before mpi4py is imported
    from scalatrace.predict.calibrate.archive import write_archive
    from scalatrace.predict.calibrate.campaign import run_guarded

    settings = _settings(args)
    stage("measuring")
    report = PrintedSteps("experiments") if launched_rank() in (None, 0) else None
    archive, error = run_guarded(settings, ["scalatrace", *sys.argv[1:]], report)
    if error:
        if launched_rank() in (None, 0):
            print(f"scalatrace: {error}", file=sys.stderr, flush=True)
        return None, error.exit_status
    if archive is not None and args.archive:
        write_archive(args.archive, archive)
    return archive, 0


def _segments(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for level, fit in facts["fits"].items():
        for segment in fit["network"]["segments"]:
            yield {"level": level, **segment}


def _campaigns(archives: list[Archive]) -> Runs:
    """Return the durations of all archives, the oldest first. Raises UsageError."""
    from scalatrace.predict.calibrate.fitting import parameters_of
    from scalatrace.predict.regress import Runs

    archives = sorted(archives, key=lambda archive: str(archive.metadata.get("started", "")))
    settings = [dict(archive.metadata.get("settings", {}), monitor=None) for archive in archives]
    if any(setting != settings[0] for setting in settings):
        raise UsageError("--table: the archives have other options or seeds, so their calls differ")
    names = [archive.metadata.get("started", f"campaign {i}") for i, archive in enumerate(archives, 1)]
    measured = list(map(parameters_of, archives))
    common = [name for name in measured[0] if all(name in parameters for parameters in measured)]
    if not common:
        raise UsageError("--table: no duration is in all archives")
    rows = [{name: parameters[name] for name in common} for parameters in measured]
    return Runs.of(zip(names, rows, strict=True))


def _fit_archives(archives: list[Archive], args: argparse.Namespace) -> int:
    from scalatrace.predict.calibrate import fit_archive
    from scalatrace.predict.calibrate.fitting import cluster_of, kernels_of
    from scalatrace.predict.kernels import write_cluster, write_kernels
    from scalatrace.predict.platform import write_platform
    from scalatrace.predict.regress import write_table
    from scalatrace.report.predictions.calibration import CalibrationReporter

    calibration = fit_archive(archives[0], args.name, args.fit_rules)
    kernels = kernels_of(archives) if args.kernels else None
    cluster = cluster_of(archives) if args.cluster else None
    campaigns = _campaigns(archives) if args.table else None
    write_platform(args.output, calibration.platform)
    if kernels:
        write_kernels(args.kernels, kernels)
    if cluster:
        write_cluster(args.cluster, cluster)
    if campaigns:
        write_table(args.table, campaigns)
    facts = asdict(calibration)
    print_facts(args, facts, SEGMENTS, _segments(facts), CalibrationReporter(facts))
    return 0
