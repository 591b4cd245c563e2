"""Simulation of a trace on a platform, as plain data: for `simulate` and for the page of `report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scalatrace.cli.progress import stage, track
from scalatrace.errors import LimitError, UsageError
from scalatrace.operations import operation
from scalatrace.predefined import THREAD_LEVEL

if TYPE_CHECKING:
    from scalatrace import Trace
    from scalatrace.arrays import Floats
    from scalatrace.predict.engine import KernelTimes
    from scalatrace.predict.platform import Platform

__all__ = ["DEFAULT_REPEATS", "MAX_REPEATED_CALLS", "Simulated", "SimulationSetting"]

DEFAULT_REPEATS = 20
MAX_PATH_CALLS = 20_000_000
"""Calls up to which the longest path is followed to call sites without `path`."""
MAX_REPEATED_CALLS = 2_000_000
"""Calls up to which runs are repeated without `repeat`."""
MAX_TOLERANCE_CALLS = 20_000_000
"""Simulated calls up to which tolerances are computed without being asked for: some twenty further runs."""
MAX_TIMELINE_CALLS = 20_000_000
"""Calls up to which a run is simulated call by call for a time line."""
MAX_LINKS = 10
"""Links that are named."""
TOLERATED = (0.01, 0.02, 0.05)


@dataclass(frozen=True)
class SimulationSetting:
    """How to simulate.

    Attributes:
        compute_scale: factor on computation times.
        drawn: computation times are drawn from their histograms, else means.
        seed: of the draws.
        repeat: runs with drawn times; None: DEFAULT_REPEATS of small traces.
        cluster: file of a model of unequal nodes.
        path: follow the longest path to call sites in large runs, too.
        kernels: file of models: marked kernels take their times instead of the recorded ones.
        polls_work: polls that find nothing take their recorded time, else they wait.
        network: how messages share links, as `SimulateOptions.network`.
    """

    compute_scale: float = 1.0
    drawn: bool = False
    seed: int = 0
    repeat: int | None = None
    cluster: str | None = None
    path: bool = False
    kernels: str | None = None
    polls_work: bool = False
    network: str = ""


class Simulated:
    """A trace that was simulated once, and further runs of it.

    Raises:
        ScalatraceError: a file cannot be read, or the calls of the trace cannot be simulated.
    """

    def __init__(self, trace: Trace, platform: Platform, setting: SimulationSetting | None = None) -> None:
        from scalatrace.predict.engine import SimulateOptions
        from scalatrace.predict.engine.repeats import sampled_nodes
        from scalatrace.predict.engine.simulate import Simulator
        from scalatrace.trace.consistency.failed import repeatable
        from scalatrace.trace.threads import check_one_order

        check_one_order(trace, "simulate")
        setting, trace = setting or SimulationSetting(), repeatable(trace, keep_failed=True).without_phases
        platform = platform.placed(trace.nprocs, trace.meta)
        self._trace, self._platform, self._repeat = trace, platform, setting.repeat
        self._drawn_times: list[float] = []
        self._nodes = None
        if setting.cluster:
            from scalatrace.predict.kernels import read_cluster

            self._nodes = partial(sampled_nodes, read_cluster(setting.cluster), platform, trace.nprocs)
        nodes = (None, None) if self._nodes is None else self._nodes(setting.seed)
        slowness, noise = nodes
        self._options = SimulateOptions(
            setting.compute_scale, setting.drawn, setting.seed, slowness, noise, setting.network
        )
        stage("lowering the calls to messages")
        self._simulator = Simulator(trace, _kernel_times(setting, trace, platform), setting.polls_work)
        calls = trace.counted()
        self._path = setting.path or (calls is not None and calls <= MAX_PATH_CALLS)
        stage(f"simulating {trace.nprocs:,} ranks")
        self._result = self._simulator.run(platform, self._options, path=self._path, count_links=True)

    @property
    def is_small(self) -> bool:
        """Whether it takes little time to simulate it again."""
        return bool(self._result.nevents <= MAX_REPEATED_CALLS)

    @property
    def allows_tolerance(self) -> bool:
        """Whether the tolerances take seconds, not minutes."""
        return bool(self._result.nsimulated <= MAX_TOLERANCE_CALLS)

    def facts(self) -> dict[str, Any]:
        """Return the time of the run, calls, the parts of its longest path, and notes."""
        from scalatrace.predict.engine.breakdown import path_parts
        from scalatrace.report.costs.phases import plain_phases

        result = self._result
        return {
            "ranks": self._trace.nprocs,
            "platform": self._platform.name,
            "platform_checks": len(self._platform.checks),
            "time_ns": result.time_ns,
            "drawn_run": self._options.drawn,
            "calls": result.nevents,
            "simulated_calls": result.nsimulated,
            "last_rank": result.last_rank,
            "path": path_parts(result),
            "phases": plain_phases(self._trace.phases),
            "notes": self._simulator.program.notes
            | self._part_note()
            | self._thread_note()
            | self._collective_note()
            | self._platform_note(),
        }

    def _part_note(self) -> dict[str, str]:
        """A note if the calls of a part of a program lack partners."""
        from scalatrace.executor.alone import why_not_alone

        note = why_not_alone(self._trace)
        return {"trace": note} if note else {}

    def _platform_note(self) -> dict[str, str]:
        """A note of what speaks against the platform, and what the run did not use of it."""
        from scalatrace.predict.platform.usage import unused_note

        doubts = self._platform.doubts
        texts = [f"{doubts}; measure it again (calibrate)"] if doubts else []
        largest = _largest_message(self._trace) if self._platform.measured_up_to_bytes else 0
        shared = self._options.network_of(self._platform) != "none"
        texts += [unused_note(self._platform, self._trace, largest, shared)]
        note = "; ".join(filter(None, texts))
        return {"platform": note} if note else {}

    def _collective_note(self) -> dict[str, str]:
        """A note on the library whose rules choose algorithms, if there are collective calls."""
        if not any(operation(op.name).collective for op in self._trace.ops):
            return {}
        platform, rules = self._platform, self._platform.library_rules
        own_rules = {operation(op.name).collective for op in self._trace.ops} & set(platform.collectives)
        before = "own rules of the platform, then " if own_rules else ""
        if not rules.library:
            chosen = "the chosen ones" if platform.mpi else "there are none of the recorded MPI"
            return {"collectives": f"algorithms by {before}the rules of {rules.source} ({chosen})"}
        chosen = "chosen rules" if platform.mpi else "rules of the recorded MPI"
        return {"collectives": f"algorithms by {before}{chosen}: {rules.library} {rules.versions}"}

    def _thread_note(self) -> dict[str, str]:
        """A note if MPI has another thread level in the program than in the measurements of the platform."""
        recorded, measured = self._trace.meta.get(THREAD_LEVEL, ""), self._platform.thread_level
        if not recorded or not measured or recorded == measured:
            return {}
        levels = f"the platform was measured with thread level {measured}, the program has {recorded}"
        return {
            "MPI": f"{levels}: short messages may take a different time (calibrate --thread-level {recorded})"
        }

    def rows(self, by: str) -> list[dict[str, Any]]:
        """Return calls and times by "site", "operation" or "rank"."""
        from scalatrace.predict.engine.breakdown import by_rank, rows

        return by_rank(self._result) if by == "rank" else rows(self._result, self._trace, by)

    def hottest_links(self) -> list[dict[str, Any]]:
        """Return the links that are busy longest, as `hot_links.hottest_links`; []: messages share none."""
        from scalatrace.predict.engine.hot_links import hottest_links

        use = self._result.link_use
        if use is None:
            return []
        return hottest_links(use, self._simulator.program, self._result.time_ns, MAX_LINKS)

    def link_map(self) -> list[dict[str, Any]]:
        """Return the loads of all links, as `hot_links.link_map`; []: messages share none."""
        from scalatrace.predict.engine.hot_links import link_map

        use = self._result.link_use
        return [] if use is None else link_map(use, self._result.time_ns)

    def link_drawing(self) -> dict[str, Any] | None:
        """Return the machine drawn with its loads, as the function of that name."""
        from scalatrace.predict.engine.link_drawing import link_drawing

        use = self._result.link_use
        return None if use is None else link_drawing(use, self._simulator.program, self._result.time_ns)

    def drawn(self) -> dict[str, Any] | None:
        """Return the median of runs with drawn computation times, and the 95 % interval.

        A large trace is simulated once, and has an interval if the platform has checks; else None.
        """
        from scalatrace.predict.engine.repeats import interval_of, repeats
        from scalatrace.predict.platform.accuracy import accuracy_of

        count = self._repeat or (DEFAULT_REPEATS if self.is_small else 0)
        accuracy = accuracy_of(self._platform, self._trace.nprocs)
        if count < 2 and accuracy is None:
            return None
        times: list[float] = [self._result.time_ns]
        if count >= 2:
            runs = repeats(self._simulator, self._platform, self._options, count, self._nodes)
            times = self._drawn_times = list(track(runs, "runs with drawn times", count))
        interval = interval_of(times, accuracy)
        result: dict[str, Any] = {
            "median_ns": interval.median_ns,
            "low_ns": interval.low_ns,
            "high_ns": interval.high_ns,
            "runs": interval.count,
        }
        if accuracy:
            result["checks"] = {"count": accuracy.count, "low": accuracy.low, "high": accuracy.high}
        return result

    def show_median(self) -> int | None:
        """Let all further facts be those of the drawn run with the median time.

        Returns:
            Its seed; None: no runs were drawn.
        """
        from statistics import median_low

        from scalatrace.predict.engine.repeats import drawn_options

        if not self._drawn_times:
            return None
        seed: int = self._options.seed + self._drawn_times.index(median_low(self._drawn_times))
        self._options = drawn_options(self._options, seed, self._nodes)
        self._result = self._simulator.run(self._platform, self._options, path=self._path)
        return seed

    def event_times(self) -> dict[int, dict[str, float]]:
        """Return id of an event node -> its times, as `breakdown.event_times` does."""
        from scalatrace.predict.engine.breakdown import event_times

        return event_times(self._result)

    def call_times(
        self, lines: Sequence[tuple[int, int]], max_calls: int
    ) -> dict[tuple[int, int], Floats] | None:
        """Return the times of the first calls of some ranks or threads of them, in the run that is shown.

        It is simulated once more for this, call by call.

        Returns:
            Rank and thread -> [calls, 2] start and end in ns; None: the run has more than MAX_TIMELINE_CALLS.
        """
        if self._result.nevents > MAX_TIMELINE_CALLS:
            return None
        stage("times of calls")
        return self._simulator.call_times(self._platform, self._options, lines, max_calls)

    def rank_times(self) -> tuple[Floats, Floats]:
        """Return computation of each rank of the trace, and time in calls, in ns."""
        parts = self._rank_parts()
        return parts[:, 0], parts[:, 1] + parts[:, 2]

    def _rank_parts(self) -> Floats:
        """Return PARTS of each rank of the trace, in ns."""
        return self._result.by_rank[list(self._trace.ranks)] / 1000

    def means(self) -> dict[str, float]:
        """Return the run time, and means over the ranks of the parts of `by_rank`, in ns."""
        from scalatrace.predict.engine.breakdown import PARTS

        parts = self._rank_parts()
        return {
            "time_ns": self._result.time_ns,
            **dict(zip(PARTS, parts.mean(axis=0).tolist(), strict=True)),
            "most_compute_ns": float(parts[:, 0].max()),
        }

    def tolerance(self) -> list[dict[str, Any]]:
        """Return the factors on latency and on time per byte at which the run is slower by TOLERATED."""
        from scalatrace.predict.engine.sensitivity import tolerances

        stage("tolerance of latency")
        return [
            {"parameter": tolerance.parameter, "slower": tolerance.share, "factor": tolerance.factor}
            for tolerance in tolerances(
                self._simulator, self._platform, TOLERATED, self._options, self._result
            )
        ]

    def sweep(self, factors: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
        """Return the time for each combination of factors on parameters of the platform."""
        from scalatrace.predict.engine.sensitivity import sweep

        settings = track(sweep(self._simulator, self._platform, factors, self._options), "sweep")
        return [{**chosen, "time_ns": simulated.time_ns} for chosen, simulated in settings]


def _largest_message(trace: Trace) -> int:
    """Return the bytes of the largest message or part of a collective, of a sample of many ranks."""
    from scalatrace.trace.exchange.matrix import flows
    from scalatrace.trace.exchange.rank_sets import Budget

    try:
        sizes = [flow.nbytes for flow in flows(trace, Budget())]
    except (LimitError, UsageError):
        return 0
    return max((n if isinstance(n, int) else int(n.max(initial=0)) for n in sizes), default=0)


def _kernel_times(setting: SimulationSetting, trace: Trace, platform: Platform) -> KernelTimes | None:
    if setting.kernels is None:
        return None
    from scalatrace.predict.engine import KernelTimes
    from scalatrace.predict.kernels import read_kernels

    models = read_kernels(setting.kernels)
    # The hosts of the models are not those of a sampled cluster.
    return KernelTimes(models) if setting.cluster else KernelTimes.on(platform, models, trace.nprocs)
