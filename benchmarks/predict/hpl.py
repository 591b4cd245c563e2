"""HPL in simulation: grids, parameters, noise, unequal nodes, switches (Cornebize 2021, sections 6.5 to 7.3).

The calls are those of samples/hpl.py, recorded rank by rank without MPI; one rank per node. Kernels take the
times of a fixed rate, and all other computation none, so results depend on calls and platform only, not on
this machine. An element of the matrix stands for a block of f x f elements: bytes count f^2 times, operations
f^3 times. A matrix of order n and panels of b columns thus has the calls of one of order f n with panels of
f b columns, but f times fewer pivots.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product, repeat
from pathlib import Path

import numpy as np

from benchmarks.predict.hpl_ranks import record_ranks
from benchmarks.study import Study, choose, one_table
from benchmarks.table import Row, grouped, verdict
from scalatrace import Trace, load, save
from scalatrace.arrays import Floats
from scalatrace.cli.sizes import parse_dims
from scalatrace.predict.engine import KernelTimes
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.kernels import KernelModel, KernelModels, Polynomial
from scalatrace.predict.platform import Network, NetworkTopology, Platform, read_platform

PARAMETERS = {"dgemm": ("m", "n", "k"), "dtrsm": ("m", "n"), "dger": ("m", "n"), "dgemv": ("m", "n")}
KERNEL_NS = 200.0
"""Constant time of a kernel."""

PANEL_RATES = (4.0, 20.0)
"""Gflop/s of a core where it factors a panel: limited by memory, or as in products of matrices."""

NODE_CORES = 32
"""Cores that work for a rank where it has a node to itself, as in sections 7.2 and 7.3."""

PARAMETER_LEVELS: Mapping[str, Sequence[str]] = {
    "block": ("8", "16"),
    "depth": ("0", "1"),
    "bcast": ("ring", "ring-modified", "2-ring", "2-ring-modified", "long", "long-modified"),
    "swap": ("binary", "long", "mix"),
}
GRID, ORDER, FACTOR = (8, 8), 512, 16
MIX_WIDTH = 64
"""Columns up to which `mix` is the binary exchange: the threshold of HPL's input file."""


def _models(factor: int, cores: int, panel_rate: float) -> KernelModels:
    """Return models with 20 Gflop/s in dgemm, 10 in dtrsm, and `panel_rate` in what factors panels."""
    panel_ns = 2 / panel_rate
    core_ns = {
        "dgemm": ("m*n*k", 0.1),
        "dtrsm": ("m*m*n", 0.1),
        "dger": ("m*n", panel_ns),
        "dgemv": ("m*n", panel_ns),
    }
    none = Polynomial({})
    return KernelModels(
        KernelModel(
            name,
            PARAMETERS[name],
            "M-1",
            "N-0",
            Polynomial({"1": KERNEL_NS, product_of_sizes: ns * factor**3 / cores}),
            none,
        )
        for name, (product_of_sizes, ns) in core_ns.items()
    )


def _platform(factor: int) -> Platform:
    """Large messages of Lassen, one rank per node; computation without a model takes no time."""
    lassen = read_platform("lassen")
    segment = lassen.network.segments[-1]
    segment = replace(segment, from_bytes=0, per_byte_ns=segment.per_byte_ns * factor**2)
    return replace(lassen, network=Network((segment,)), ranks_per_node=1, memory=None, compute_scale=0.0)


def _record(grid: tuple[int, int], order: int, block: int, words: Sequence[str]) -> Trace:
    """Record a factorisation of a matrix of this order on P x Q ranks."""
    assert order % block == 0, (order, block)
    panels = str(order // block)
    return record_ranks(grid, ["--steps", "1", "--block", str(block), "--panels", panels, *words])


def _simulator(trace: Trace, factor: int, cores: int = 1, panel_rate: float = PANEL_RATES[0]) -> Simulator:
    """Return the simulation of ranks that have so many cores for their kernels."""
    return Simulator(trace, KernelTimes(_models(factor, cores, panel_rate)))


def _rate(order: int, time_ns: float) -> float:
    """Return Gflop/s, as HPL counts them."""
    return 2 / 3 * order**3 / time_ns


FACTORS = (
    "panel rate", "parameter", "levels", "effect, %", "share of variance, %", "best level", "Gflop/s",
    "worst level",
)  # fmt: skip


def _factor_rows(args: argparse.Namespace) -> Iterator[Row]:
    """Simulate combinations; rows per rate of panels, one for each parameter (ANOVA of main effects)."""
    levels = list(PARAMETER_LEVELS.values())
    numbers = [  # of the level of each parameter
        combination
        for combination in product(*(range(len(values)) for values in levels))
        if args.all or sum(combination) % 2 == 0
    ]
    with ProcessPoolExecutor() as pool:
        words = [[values[i] for values, i in zip(levels, c, strict=True)] for c in numbers]
        by_panel_rate = np.array(list(pool.map(_rates_of, words, repeat(args.panel_rates)))).T
    for panel_rate, rates in zip(args.panel_rates, by_panel_rate, strict=True):
        for row in _shares(levels, numbers, rates):
            yield f"{panel_rate:g}", *row


def _shares(
    levels: Sequence[Sequence[str]], numbers: Sequence[Sequence[int]], rates: Floats
) -> Iterator[Row]:
    """Yield a row per parameter with its share of the variance, then one for all combinations."""
    table, total = np.array(numbers), float(((rates - rates.mean()) ** 2).sum())
    for column, (name, values) in enumerate(PARAMETER_LEVELS.items()):
        means = [float(rates[table[:, column] == i].mean()) for i in range(len(values))]
        counts = [int((table[:, column] == i).sum()) for i in range(len(values))]
        squares = sum(n * (mean - rates.mean()) ** 2 for n, mean in zip(counts, means, strict=True))
        best, worst = int(np.argmax(means)), int(np.argmin(means))
        yield (
            name, str(len(values)), f"{100 * (means[best] / means[worst] - 1):.1f}",
            f"{100 * squares / total:.1f}", values[best], f"{means[best]:.3f}", values[worst],
        )  # fmt: skip
    best = int(np.argmax(rates))
    best_levels = ", ".join(values[i] for values, i in zip(levels, numbers[best], strict=True))
    spread = f"{100 * (rates.max() / rates.min() - 1):.1f}"
    yield "all", str(len(rates)), spread, "100.0", best_levels, f"{rates.max():.3f}", "-"


def _rates_of(combination: Sequence[str], panel_rates: Sequence[float]) -> list[float]:
    """Return Gflop/s at each rate of panels."""
    block, depth, bcast, swap = combination
    words = ["--depth", depth, "--bcast", bcast, "--swap", swap, "--threshold", str(MIX_WIDTH // FACTOR)]
    trace = _record(GRID, ORDER, int(block), words)
    return [
        _rate(ORDER * FACTOR, _simulator(trace, FACTOR, 1, panel_rate).run(_platform(FACTOR)).time_ns)
        for panel_rate in panel_rates
    ]


EVICTION = (
    "nodes", "evicted", "grid", "panel rate", "slower nodes", "Gflop/s", "lowest", "highest",
    "over all nodes, %",
)  # fmt: skip
NODES = 256
EVICTED_GRIDS = ["8x32", "8x31", "8x30"]
NODE_GRIDS = [
    "2x128", "4x64", "8x32", "16x16", "2x126", "4x63", "12x21", "2x124", "4x62", "8x31", "2x120", "4x60",
    "8x30", "15x16",
]  # fmt: skip
"""Grids of 256, 252, 248 and 240 nodes."""
EVICTED_BLOCK, EVICTED_FACTOR = 4, 32
STANDARD = ["--bcast", "2-ring", "--swap", "binary", "--depth", "1"]
"""Parameters of section 7.2."""


SLOW = {"2 %": (0, 1.0), "8 by 10 %": (8, 1.1), "8 by 25 %": (8, 1.25)}
"""Slow nodes and how much slower they are, besides a deviation of 2 % of all."""


def _slowness(random: np.random.Generator, kind: str) -> Floats:
    """Draw the factors of all nodes, ascending: 2 % deviation, and those of some slow ones."""
    slow, factor = SLOW[kind]
    factors: Floats = 1 + 0.02 * random.standard_normal(NODES)
    factors[:slow] *= factor
    return np.sort(factors)


def _eviction_rows(args: argparse.Namespace) -> Iterator[Row]:
    """Simulate grids of the fastest nodes of drawn clusters; the best grid of all nodes is the baseline."""
    platform = _platform(EVICTED_FACTOR)
    all_nodes = dict[tuple[float, str], float]()
    for words in args.grids:
        rows, columns = parse_dims("--grids", words)
        grid, nnodes = (rows, columns), rows * columns
        trace = _record(grid, args.order, EVICTED_BLOCK, STANDARD)
        for panel_rate, kind in product(args.panel_rates, args.slower):
            simulator = _simulator(trace, EVICTED_FACTOR, NODE_CORES, panel_rate)
            random, rates = np.random.default_rng(args.seed), []
            for _ in range(args.clusters):
                slowness = _slowness(random, kind)
                factors = random.permutation(slowness[:nnodes]).astype(np.float32)
                time_ns = simulator.run(platform, SimulateOptions(slowness=factors)).time_ns
                rates.append(_rate(args.order * EVICTED_FACTOR, time_ns))
            mean, baseline = statistics.fmean(rates), (panel_rate, kind)
            if nnodes == NODES:
                all_nodes[baseline] = max(mean, all_nodes.get(baseline, 0.0))
            yield (
                str(nnodes), str(NODES - nnodes), words, f"{panel_rate:g}", kind, f"{mean:.3f}",
                f"{min(rates):.3f}", f"{max(rates):.3f}", f"{100 * (mean / all_nodes[baseline] - 1):+.1f}",
            )  # fmt: skip


SWITCHES = ("order", "top switches", "ms", "over four, %")
SWITCHED_ORDER = 1024


def _switch_rows(args: argparse.Namespace) -> Iterator[Row]:
    """Remove top switches of a fat tree of 8 leaf switches with 32 nodes each, the tree of the thesis."""
    trace = _record((16, 16), SWITCHED_ORDER, 8, STANDARD)
    for factor in args.factors:
        simulator = _simulator(trace, factor, NODE_CORES)
        full = 0.0
        for tops in (4, 3, 2, 1):
            topology = NetworkTopology(kind="fat-tree", topo_parameters=f"2;32,8;1,{tops};1,8")
            platform = replace(_platform(factor), topology=topology)
            options = SimulateOptions(network="flows")
            time_ns = simulator.run(platform, options).time_ns
            full = full or time_ns
            yield (
                grouped(factor * SWITCHED_ORDER),
                str(tops),
                f"{time_ns / 1e6:.3f}",
                f"{100 * (time_ns / full - 1):+.2f}",
            )


GRIDS = ("ranks", "P", "Q", "order", "panel rate", "ms", "Gflop/s")
GRID_BLOCK = 8


def _grid_rows(args: argparse.Namespace) -> Iterator[Row]:
    """Simulate each grid P x Q of so many ranks; every order is of the same traces, with other blocks."""
    for nranks in args.ranks:
        grids = [(p, nranks // p) for p in range(1, nranks + 1) if nranks % p == 0]
        order = GRID_BLOCK * int(np.lcm.reduce([np.lcm(*grid) for grid in grids]))
        for grid in choose(grids, args.only, lambda grid: "{}x{}".format(*grid)):
            trace = _record(grid, order, GRID_BLOCK, STANDARD)
            for factor, panel_rate in product(args.factors, args.panel_rates):
                time_ns = _simulator(trace, factor, 1, panel_rate).run(_platform(factor)).time_ns
                numbers = *map(str, (nranks, *grid)), grouped(factor * order), f"{panel_rate:g}"
                yield *numbers, f"{time_ns / 1e6:.1f}", f"{_rate(factor * order, time_ns):.1f}"


def _judge_grids(rows: Sequence[Row]) -> list[str]:
    lines = []
    for key in dict.fromkeys((row[0], row[3], row[4]) for row in rows):
        rates = {f"{row[1]}x{row[2]}": float(row[6]) for row in rows if (row[0], row[3], row[4]) == key}
        worst, best = (pick(rates, key=lambda grid: rates[grid]) for pick in (min, max))
        lines.append(
            f"{key[0]} ranks, order {key[1]}, panels at {key[2]} Gflop/s: {best} is the best of "
            f"{len(rates)} grids, {worst} the worst, {rates[best] / rates[worst]:.1f} times slower."
        )
    return lines


SCALE = ("ranks", "P", "Q", "calls", "record s", "trace bytes", "simulate s", "peak MB", "ms", "Gflop/s")
SCALE_GRIDS = ((8, 8), (16, 16), (16, 32), (32, 32), (64, 64))
SCALE_ORDER = 1024


def _scale_rows(args: argparse.Namespace) -> Iterator[Row]:
    """Record and simulate one matrix on more and more ranks, each simulation in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    for grid in choose(SCALE_GRIDS, args.only, lambda grid: "{}x{}".format(*grid)):
        start = time.perf_counter()
        trace = _record(grid, SCALE_ORDER, GRID_BLOCK, STANDARD)
        record_s = time.perf_counter() - start
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hpl.st"
            nbytes = save(trace, path)
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                time_ns, simulate_s, peak_mb = pool.submit(_simulate_file, path).result()
        yield (
            grouped(trace.nprocs), *map(str, grid), grouped(trace.nevents()), f"{record_s:.1f}",
            grouped(nbytes), f"{simulate_s:.1f}", grouped(peak_mb), f"{time_ns / 1e6:.1f}",
            f"{_rate(SCALE_ORDER * FACTOR, time_ns):.1f}",
        )  # fmt: skip


def _simulate_file(path: Path) -> tuple[float, float, int]:
    """Return the simulated time in ns, the seconds of the simulation, and the memory of the process in MB."""
    start = time.perf_counter()
    time_ns = _simulator(load(path), FACTOR).run(_platform(FACTOR), SimulateOptions()).time_ns
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return time_ns, time.perf_counter() - start, peak_mb


NOISE = ("order", "deviation of kernels, %", "overhead, %", "lowest", "highest")
DEVIATIONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
"""Coefficients of variation of kernel times, as in Figure 7.1."""


def _noise_rows(args: argparse.Namespace) -> Iterator[Row]:
    """Draw kernel times on equal nodes; a row per order and deviation, with its overhead over none."""
    trace = _record(GRID, ORDER, 8, STANDARD)
    for factor in args.factors:
        simulator = _simulator(trace, factor)
        equal_ns = simulator.run(_platform(factor), SimulateOptions()).time_ns
        for deviation in DEVIATIONS:
            noise = np.full(trace.nprocs, deviation, dtype=np.float32)
            times_ns = [
                simulator.run(_platform(factor), SimulateOptions(drawn=True, seed=seed, noise=noise)).time_ns
                for seed in range(args.repeat)
            ]
            overheads = [100 * (time_ns / equal_ns - 1) for time_ns in times_ns]
            yield (
                grouped(factor * ORDER), f"{100 * deviation:g}", f"{statistics.fmean(overheads):+.2f}",
                f"{min(overheads):+.2f}", f"{max(overheads):+.2f}",
            )  # fmt: skip


def _judge_noise(rows: Sequence[Row]) -> list[str]:
    """Fit a line through the origin to the overheads of each order."""
    lines = []
    for order in dict.fromkeys(row[0] for row in rows):
        points = np.array([(float(row[1]), float(row[2])) for row in rows if row[0] == order])
        slope = float(points[:, 0] @ points[:, 1] / (points[:, 0] @ points[:, 0]))
        residuals, around = points[:, 1] - slope * points[:, 0], points[:, 1] - points[:, 1].mean()
        share = 1 - float(residuals @ residuals / (around @ around))
        lines.append(f"Order {order}: {slope:.2f} % per % of deviation; the line has R^2 = {share:.3f}.")
    return lines


def _judge_factors(rows: Sequence[Row]) -> list[str]:
    lines = []
    for panel_rate in dict.fromkeys(row[0] for row in rows):
        shares = {row[1]: float(row[4]) for row in rows if row[0] == panel_rate and row[1] != "all"}
        order = sorted(shares, key=lambda name: -shares[name])
        lines.append(f"Panels at {panel_rate} Gflop/s, by share of variance: {', '.join(order)}.")
    return [*lines, "In the thesis (section 6.6), on 1,024 ranks: block and depth, then bcast and swap."]


def _judge_nodes(rows: Sequence[Row]) -> list[str]:
    lines = []
    for panel_rate in dict.fromkeys(row[3] for row in rows):
        best = {
            nodes: max(
                (row for row in rows if (row[0], row[3]) == (nodes, panel_rate)), key=lambda r: float(r[5])
            )
            for nodes in dict.fromkeys(row[0] for row in rows)
        }
        grids = ", ".join(f"{row[2]} ({row[8]} %)" for row in best.values())
        lines.append(f"Panels at {panel_rate} Gflop/s, the best grid of each number of nodes: {grids}.")
    return lines


def _judge_switches(rows: Sequence[Row]) -> list[str]:
    one_removed = [float(row[3]) for row in rows if row[1] == "3"]
    return [
        verdict(max(one_removed) <= 1, f"one switch removed costs at most 1 % ({max(one_removed):.2f} %)")
    ]


NOTES = (
    "",
    "Simulated: large messages of the platform `lassen`, one rank per node. A core has 20 Gflop/s in "
    "products of matrices; where it factors a panel 4, or the panel rate of the row.",
)
STUDIES = (
    Study(
        "hpl-factors",
        "HPL's block size, look-ahead, broadcast and swap in simulation: which one matters (ANOVA)",
        "docs/evaluation.md",
        one_table(
            "hpl_factors", "Parameters of HPL", FACTORS, _factor_rows, 0,
            (
                *NOTES,
                "Matrix of order 8,192 on 8 x 8 ranks, made of 512 blocks. Without `--all`, the last row has "
                "a balanced half of the 72 combinations. `mix` takes the binary exchange up to 64 columns.",
            ),
            _judge_factors,
        ),
        {"all": False, "panel_rates": list(PANEL_RATES)},
    ),
    Study(
        "hpl-grids",
        "HPL on all grids P x Q of some ranks in simulation",
        "docs/evaluation.md",
        one_table(
            "hpl_grids", "Grids of HPL", GRIDS, _grid_rows, 5,
            (*NOTES, "P rows of ranks and Q columns; panels of 128 and 512 columns."),
            _judge_grids,
        ),
        {"ranks": [48], "factors": [16, 64], "panel_rates": list(PANEL_RATES), "only": []},
        {"ranks": [12], "factors": [16]},
    ),
    Study(
        "hpl-scale",
        "HPL on 64 to 4,096 ranks: time and memory of recording rank by rank, and of the simulation",
        "docs/evaluation.md",
        one_table(
            "hpl_scale", "HPL on thousands of ranks", SCALE, _scale_rows, 3,
            (
                *NOTES,
                "Order 16,384, made of 1,024 blocks; panels of 128 columns. Peak memory is that of a process "
                "that reads the trace and simulates it.",
            ),
        ),
        {"only": []},
        {"only": ["8x8"]},
    ),
    Study(
        "hpl-noise",
        "HPL in simulation with varying kernel times: the overhead grows with their deviation",
        "docs/evaluation.md",
        one_table(
            "hpl_noise", "HPL with varying kernels", NOISE, _noise_rows, 0,
            (*NOTES, "On 8 x 8 equal ranks, 512 blocks per dimension; mean, lowest and highest of the runs."),
            _judge_noise,
        ),
        {"factors": [4, 16, 64], "repeat": 10},
        {"factors": [16], "repeat": 2},
    ),
    Study(
        "hpl-eviction",
        "HPL on unequal nodes in simulation, with all nodes and without the slowest ones",
        "docs/evaluation.md",
        one_table(
            "hpl_eviction", "HPL without the slowest nodes", EVICTION, _eviction_rows, 0,
            (
                *NOTES,
                "A rank has 32 such cores. Blocks of 32 x 32: order 122,880 by default. Mean, lowest and "
                "highest of the clusters.",
            ),
        ),
        {
            "grids": EVICTED_GRIDS, "panel_rates": [PANEL_RATES[0]], "slower": list(SLOW), "seed": 0,
            "clusters": 4, "order": 3840,
        },
        {"clusters": 1, "order": 64},
    ),
    Study(
        "hpl-nodes",
        "HPL on the grids of 240 to 256 mildly unequal nodes in simulation",
        "docs/evaluation.md",
        one_table(
            "hpl_nodes", "HPL on numbers of nodes", EVICTION, _eviction_rows, 0,
            (
                *NOTES,
                "A rank has 32 such cores. Blocks of 32 x 32: order 122,880 by default. Mean, lowest and "
                "highest of the clusters; the baseline is the best grid of 256 nodes.",
            ),
            _judge_nodes,
        ),
        {
            "grids": NODE_GRIDS, "panel_rates": list(PANEL_RATES), "slower": ["2 %"], "seed": 0,
            "clusters": 4, "order": 3840,
        },
        {"grids": ["8x32", "8x31"], "clusters": 1, "order": 64},
    ),
    Study(
        "hpl-switches",
        "HPL on a fat tree in simulation, without some of its top switches",
        "docs/evaluation.md",
        one_table(
            "hpl_switches", "HPL without top switches of a fat tree", SWITCHES, _switch_rows, 0,
            (
                *NOTES,
                "On 16 x 16 ranks with 32 such cores each, 1,024 blocks per dimension; messages share links "
                "as flows.",
            ),
            _judge_switches,
        ),
        {"factors": [4, 16, 64]},
    ),
)  # fmt: skip
