"""Predictions of HPL by models of its kernels: process grids, a slow node, noisy kernels, other networks.

    scalatrace calibrate -o platform.toml --kernels kernels.toml        (under mpiexec -n 2)
    mpiexec -n 4 scalatrace record -o 2x2.st -- python samples/hpl.py --block 32 --kernels --rows 2
    mpiexec -n 4 scalatrace record -o 1x4.st -- python samples/hpl.py --block 32 --kernels --rows 1
    python samples/hpl_study.py 2x2.st 1x4.st --platform platform.toml --kernels kernels.toml --figure hpl.pdf

Each trace is simulated as it is, and once per change (Cornebize, chapter 7). For more ranks, record them on
few cores: marked kernels take the times of their models, however busy the cores were. `scalatrace
extrapolate` finds no formula for the sizes of the marks of HPL. Kernels without a model take their recorded
times; models of all of them come from `--fit TRACE ...`, traces of marked runs, instead of --kernels.
Expect: a table of predicted times, relative to those of the unchanged trace, and status 0.

    slow node N %   computation takes N % longer on the first node
    noise N %       kernel times are drawn, with a standard deviation of N % (median of --repeat runs)
    latency x F     all latencies of messages times F
    bandwidth x F   all bandwidths times F
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from scalatrace import load
from scalatrace.errors import ScalatraceError
from scalatrace.predict.engine import KernelTimes, SimulateOptions
from scalatrace.predict.engine.sensitivity import sweep
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.kernels import KernelModels, fit_traces, read_kernels
from scalatrace.predict.platform import Platform, read_platform

SLOWER = (0.1, 0.25, 0.5, 1.0)
DEVIATIONS = (0.0, 0.05, 0.1, 0.2, 0.4)
LATENCIES = (1.0, 10.0, 100.0, 1000.0)
BANDWIDTHS = (1.0, 0.1, 0.01, 0.001)
SERIES = ("slow node", "noise", "latency", "bandwidth")

Points = Iterator[tuple[float, float]]
"""A changed quantity, and the predicted time in ns."""
Row = tuple[str, float, float]
"""Series, its changed quantity, and the predicted time in ns."""


def slow_node(simulator: Simulator, platform: Platform, nranks: int) -> Points:
    """Yield each slowdown of the first node, and the predicted time."""
    on_node = np.array([platform.node_of(rank) == 0 for rank in range(nranks)])
    if not platform.ranks_per_node:  # one node has all ranks: the first rank instead
        on_node = np.arange(nranks) == 0
    for share in SLOWER:
        slowness = np.where(on_node, 1 + share, 1.0).astype(np.float32)
        yield share, simulator.run(platform, SimulateOptions(slowness=slowness)).time_ns


def noisy(simulator: Simulator, platform: Platform, nranks: int, repeat: int) -> Points:
    """Yield each deviation of kernel times, and the median of the predicted times."""
    for deviation in DEVIATIONS:
        noise = np.full(nranks, deviation, dtype=np.float32)
        runs = [
            simulator.run(platform, SimulateOptions(drawn=True, seed=seed, noise=noise)).time_ns
            for seed in range(repeat)
        ]
        yield deviation, median(runs)


def study(file: str, models: KernelModels, platform: Platform, repeat: int) -> tuple[float, list[Row]]:
    """Return the predicted time of a trace (ns), and those of its changes. Raises ScalatraceError."""
    trace = load(file)
    simulator = Simulator(trace, KernelTimes.on(platform, models, trace.nprocs))
    rows = [("slow node", *each) for each in slow_node(simulator, platform, trace.nprocs)]
    rows += [("noise", *each) for each in noisy(simulator, platform, trace.nprocs, repeat)]
    for name, factors in (("latency", LATENCIES), ("bandwidth", BANDWIDTHS)):
        swept = sweep(simulator, platform, {name: factors})
        rows += [(name, chosen[name], result.time_ns) for chosen, result in swept]
    return simulator.run(platform).time_ns, rows


def label(series: str, value: float) -> str:
    """Return the name of a change."""
    return f"{series} x {value:g}" if series in ("latency", "bandwidth") else f"{series} {value:.0%}"


def show(results: dict[str, tuple[float, list[Row]]]) -> None:
    """Print a column for each trace: its time, and the factors of the changes."""
    width = max(12, *(len(name) + 2 for name in results))

    def line(first: str, cells: list[str]) -> None:
        print(f"{first:20}" + "".join(f"{cell:>{width}}" for cell in cells))

    line("", list(results))
    line("predicted, ms", [f"{base / 1e6:.3f}" for base, _ in results.values()])
    for number, (series, value, _) in enumerate(next(iter(results.values()))[1]):
        line(label(series, value), [f"{rows[number][2] / base:.4f}" for base, rows in results.values()])


def draw(results: dict[str, tuple[float, list[Row]]], path: Path) -> None:
    """Draw a panel for each series."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(SERIES), figsize=(14, 3.5), layout="constrained")
    for series, panel in zip(SERIES, axes, strict=True):
        for name, (base, rows) in results.items():
            points = [(value, time / base) for one, value, time in rows if one == series]
            panel.plot(*zip(*points, strict=True), marker="o", label=name)
        panel.set(xlabel=series, xscale="log" if series in ("latency", "bandwidth") else "linear")
    axes[0].set_ylabel("time / predicted time")
    axes[0].legend()
    figure.savefig(path)


def main() -> int:
    """Parse the command line, predict, print and draw."""
    raw: Callable[..., argparse.HelpFormatter] = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("traces", nargs="+", help="of runs with --kernels")
    parser.add_argument("--platform", required=True, help="platform file, or an installed platform")
    models = parser.add_mutually_exclusive_group(required=True)
    models.add_argument("--kernels", metavar="FILE", help="models of kernels")
    models.add_argument("--fit", nargs="+", metavar="TRACE", help="fit the models to these traces")
    parser.add_argument("--repeat", type=int, default=11, help="runs with drawn times (11)")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw curves; needs matplotlib")
    args = parser.parse_args()
    if args.repeat < 1:
        parser.error("--repeat must be 1 or more")
    if args.figure and find_spec("matplotlib") is None:
        parser.error("--figure needs matplotlib: pip install matplotlib")
    try:
        platform = read_platform(args.platform)
        chosen = read_kernels(args.kernels) if args.kernels else fit_traces(load(file) for file in args.fit)
        results = {Path(file).stem: study(file, chosen, platform, args.repeat) for file in args.traces}
    except ScalatraceError as error:
        print(f"hpl_study: {error}", file=sys.stderr)
        return 1
    show(results)
    if args.figure:
        draw(results, args.figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
