"""Simulate a trace on a platform."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalatrace.arrays import Floats, Ints
from scalatrace.errors import FormatError, LimitError, ScalatraceError
from scalatrace.executor import binding
from scalatrace.executor.alone import why_not_alone
from scalatrace.executor.binding import PARTS, PATH
from scalatrace.executor.call_times import TooLongCallError, load_factors
from scalatrace.executor.fields import pointer
from scalatrace.executor.links import EngineTopology
from scalatrace.executor.program import LoweredProgram, lower
from scalatrace.predict.engine.call_log import CallLog
from scalatrace.predict.engine.hot_links import LinkUse
from scalatrace.predict.engine.link_loads import LinkLoads, SharedLinks
from scalatrace.predict.engine.marked_kernels import KernelTimes, MarkedKernels
from scalatrace.predict.platform import Platform, TopologyShape
from scalatrace.predict.platform.engine_arrays import PlatformArrays, engine_topology
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.query.load import COMPUTE, spread_of
from scalatrace.trace.threads import order_note

__all__ = [
    "SimulateOptions",
    "Simulation",
    "SimulationDeadlockError",
    "SimulationThreadsError",
    "Simulator",
    "simulate",
]  # fmt: skip


Sums = NDArray[np.object_]
"""Python integers: 64 bits do not hold the computation of a million ranks."""

Progress = Callable[[int], bool]

MAX_NAMED_RANKS = 4
"""Waiting ranks that the message of a deadlock names."""


class SimulationDeadlockError(ScalatraceError):
    """Ranks of the trace wait for each other for ever."""


class SimulationThreadsError(ScalatraceError):
    """Ranks wait for each other for ever, since several threads of a rank called MPI in another order."""


@dataclass(frozen=True)
class SimulateOptions:
    """How computation times are taken from the trace.

    The total of each rank is that of the trace. A factor on the means of all its calls gives it, or with
    `uneven` a part of what each computation can be longer or shorter on one rank than the mean.

    Attributes:
        compute_scale: factor on all of them, besides the platform's; on kernels with a model only this one.
        drawn: draw each from its histogram, instead of the mean.
        seed: of the draws.
        slowness: [nranks] further factor of each rank.
        noise: [nranks] standard deviation of drawn kernel times over their mean, in place of their models'.
        network: how messages share links: "none", not; "loads", by the bytes on each link of the messages
            that are under way together; "flows", by max-min fair flows over time; "": loads where the nodes
            of the platform share links.
        uneven: a rank has what it has more or less than the mean where the samples of all ranks differ; not
            with `drawn`.
    """

    compute_scale: float = 1.0
    drawn: bool = False
    seed: int = 0
    slowness: NDArray[np.float32] | None = None
    noise: NDArray[np.float32] | None = None
    network: str = ""
    uneven: bool = False

    def network_of(self, platform: Platform) -> str:
        """Return how messages share links on a platform."""
        return self.network or ("loads" if platform.shares_links else "none")


@dataclass(frozen=True)
class Simulation:
    """Result of one run. Times are in picoseconds.

    Attributes:
        clocks: [nranks, 5] at each rank's end: total, and along the path that led to it computation, latency,
            bytes, and the number of latencies. The rest of the total are overheads.
        by_node: [nnodes, 3] computation, transfer, waiting; sums over ranks.
        by_rank: [nranks, 3] the same of each rank. Sum it as Python integers or float64.
        calls: [nnodes] of all ranks.
        nsimulated: calls that were simulated one by one, not by steady loops.
        path_by_node: [nnodes, 3] the same of the calls on the longest path; None if it was not followed.
        link_use: bytes on links; None if they were not counted, or messages share none.
    """

    program: LoweredProgram
    clocks: Ints
    by_node: Sums
    by_rank: Ints
    calls: Sums
    nsimulated: int
    path_by_node: Ints | None = None
    link_use: LinkUse | None = None

    @property
    def nevents(self) -> int:
        """Calls of all ranks."""
        return int(self.calls.sum())

    @property
    def last_rank(self) -> int:
        """The rank that ends last."""
        return int(self.clocks[:, 0].argmax())

    @property
    def time_ps(self) -> int:
        """When the last rank ends."""
        return int(self.clocks[:, 0].max())

    @property
    def time_ns(self) -> float:
        """When the last rank ends."""
        return self.time_ps / 1000

    @property
    def path(self) -> Ints:
        """[5] of the longest path, as in `clocks`."""
        path: Ints = self.clocks[self.last_rank]
        return path


class _Accounts:
    """Arrays for the results of a run, and the C structure that points to them."""

    def __init__(self, nranks: int, nnodes: int) -> None:
        self.clocks = np.zeros((nranks, PATH), dtype=np.int64)
        self._by_node = (binding.Sum * (nnodes * PARTS))()
        self.by_rank = np.zeros((nranks, PARTS), dtype=np.int64)
        self._calls = (binding.Sum * nnodes)()
        self.blocked = np.full(nranks, -1, dtype=np.int32)
        self.struct = binding.EngineResult(
            clocks=pointer(self.clocks, ctypes.c_int64),
            by_node=self._by_node,
            by_rank=pointer(self.by_rank, ctypes.c_int64),
            calls=self._calls,
            blocked=pointer(self.blocked, ctypes.c_int32),
        )

    @property
    def by_node(self) -> Sums:
        """[nnodes, PARTS] sums over ranks."""
        return _integers(self._by_node).reshape(-1, PARTS)

    @property
    def calls(self) -> Sums:
        """[nnodes] sums over ranks."""
        return _integers(self._calls)


def _integers(sums: Iterable[binding.Sum]) -> Sums:
    return np.array([(wide_sum.high << 64) + wide_sum.low for wide_sum in sums], dtype=object)


class Simulator:
    """A trace that is lowered once and simulated several times."""

    def __init__(self, trace: Trace, kernels: KernelTimes | None = None, polls_work: bool = False) -> None:
        """Take and raise what `program.lower` does."""
        marked = None if kernels is None else MarkedKernels(trace, kernels)
        self.program = lower(trace, marked, polls_work)
        self._shared = SharedLinks(self.program)
        self._loads: tuple[Any, LinkLoads] | None = None  # the last ones, and what they depend on
        self._topology: tuple[TopologyShape, EngineTopology] | None = None  # the last one
        self._trace = trace
        self._load: Any = None
        self._spread = 0.0  # of the loads
        self._totals: Any = None  # [nranks] recorded computation of each rank, as of _recorded_compute
        self._has_load = False

    def run(
        self,
        platform: Platform,
        options: SimulateOptions | None = None,
        progress: Progress | None = None,
        path: bool = False,
        steady: bool = True,
        count_links: bool = False,
        call_log: CallLog | None = None,
    ) -> Simulation:
        """Simulate once.

        Args:
            progress: called now and then with the number of simulated calls; True ends the run.
            path: follow the longest path, which takes a second run, without steady loops.
            steady: multiply the iterations of loops in a steady state, where times are not drawn.
            count_links: count the bytes on links that messages share.
            call_log: gets the times of calls; then there are no steady loops.

        Raises:
            SimulationDeadlockError, SimulationThreadsError: ranks wait for ever.
            FormatError: the trace contradicts itself.
            LimitError: out of memory.
            TooLongCallError: the run takes more than MAX_PS.
        """
        options = options or SimulateOptions()
        platform = platform.placed(self._trace.nprocs, self._trace.meta)
        if not self._has_load:
            self._has_load = True
            if self._trace.load_of(COMPUTE) is not None:
                # Loads are those of recorded times, kernels included.
                means = self._recorded_compute(
                    platform, replace(options, drawn=False), None, progress, steady
                )
                self._load = load_factors(self._trace, means)
                self._totals = self._load * means
                self._spread = spread_of(self._load)
        load = self._load
        if options.drawn and load is not None:
            sums = self._recorded_compute(platform, options, load, progress, steady)
            load = np.where(sums > 0, load * self._totals / np.maximum(sums, 1), load)
        uneven = None
        if options.uneven and load is not None and not options.drawn:
            load, uneven = self._uneven_load(load, platform, options, progress, steady)
        return self._run(
            platform,
            options,
            load,
            progress,
            path,
            steady,
            count_links=count_links,
            call_log=call_log,
            uneven=uneven,
        )

    def call_times(
        self,
        platform: Platform,
        options: SimulateOptions,
        lines: Sequence[tuple[int, int]],
        max_calls: int,
    ) -> dict[tuple[int, int], Floats]:
        """Simulate once, call by call; return the times of the first calls of some ranks or threads of them.

        Args:
            lines: rank and thread of each.
            max_calls: of a line.

        Returns:
            Rank and thread -> [calls, 2] start and end in ns.
        """
        log = CallLog(self._trace, self.program, lines, max_calls)
        self.run(platform, options, call_log=log)
        return {line: np.asarray(log.of(*line) / 1000, dtype=np.float64) for line in lines}

    def _uneven_load(
        self,
        load: NDArray[np.float64],
        platform: Platform,
        options: SimulateOptions,
        progress: Progress | None,
        steady: bool,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return [nranks] what is left of the factors, and the part of what each rank can have more or less.

        The part is negative for less. It is at most all of it; the factor has what lies beyond.
        """
        ones = np.ones(len(load))
        means = self._recorded_compute(platform, options, None, progress, steady)
        longest = self._recorded_compute(platform, options, ones, progress, steady, uneven=ones)
        shortest = self._recorded_compute(platform, options, ones, progress, steady, uneven=-ones)
        ends = np.where(load > 1, longest, shortest) / np.maximum(means, 1) - 1  # means of the extremes
        part = np.where(ends != 0, np.clip((load - 1) / np.where(ends != 0, ends, 1), 0, 1), 0)
        return load - part * ends, np.where(load > 1, part, -part)

    def _recorded_compute(
        self,
        platform: Platform,
        options: SimulateOptions,
        load: Any,
        progress: Progress | None,
        steady: bool,
        uneven: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return each rank's recorded computation, [nranks] in ps; drawn: what its draws add up to."""
        plain = SimulateOptions(drawn=options.drawn, seed=options.seed, network="none")
        unscaled = replace(platform, compute_scale=1.0)
        result = self._run(unscaled, plain, load, progress, False, steady, kernels=False, uneven=uneven)
        return result.by_rank[:, 0].astype(float)

    def _run(
        self,
        platform: Platform,
        options: SimulateOptions,
        load: Any,
        progress: Progress | None,
        path: bool,
        steady: bool,
        kernels: bool = True,
        count_links: bool = False,
        call_log: CallLog | None = None,
        uneven: NDArray[np.float64] | None = None,
    ) -> Simulation:
        nranks, nnodes = self._trace.nprocs, len(self.program.nodes)
        scale = platform.compute_scale * options.compute_scale
        factors = np.full(nranks, scale) if load is None else np.ascontiguousarray(load * scale)
        network = options.network_of(platform)
        links = platform.links(nranks) if network != "none" else None
        noise_seed = options.seed if options.drawn else None
        topology = None if links is None else self._topology_of(links)
        platform_arrays = PlatformArrays(platform, topology, network == "flows", noise_seed)
        link_use = LinkUse(links, topology) if count_links and links and topology else None
        loads = self._link_loads(platform, links, platform_arrays, link_use)
        struct = self.program.struct(loads, options.drawn, self._spread, uneven is not None)
        needs_calls = path or options.drawn or network == "flows" or call_log is not None
        struct.steady = steady and not needs_calls
        struct.load = pointer(factors, ctypes.c_double)
        parts = None if uneven is None else np.ascontiguousarray(uneven * scale)
        if parts is not None:
            struct.uneven = pointer(parts, ctypes.c_double)
        struct.seed = options.seed & (1 << 64) - 1
        struct.kernel_scale = options.compute_scale if kernels else -1.0
        if options.slowness is not None:
            slowness = np.ascontiguousarray(options.slowness, dtype=np.float32)
            struct.slowness = pointer(slowness, ctypes.c_float)
        if options.noise is not None:
            noise = np.ascontiguousarray(options.noise, dtype=np.float32)
            struct.noise = pointer(noise, ctypes.c_float)
        accounts = _Accounts(nranks, nnodes)
        if link_use is not None:
            link_use.receive(accounts.struct)
        if call_log is not None:
            call_log.receive(accounts.struct)
        callback = binding.PROGRESS(lambda n: int(progress(n)) if progress else 0)
        arguments = ctypes.byref(struct), ctypes.byref(platform_arrays.struct), ctypes.byref(accounts.struct)
        on_path = np.zeros((nnodes, PARTS), dtype=np.int64) if path else None
        if on_path is None:
            status = binding.library().st_sim_run(*arguments, callback)
        else:
            status = binding.library().st_sim_run_path(*arguments, pointer(on_path, ctypes.c_int64), callback)
        if status == binding.E_DEADLOCK:
            if note := why_not_alone(self._trace) or order_note(self._trace):
                raise SimulationThreadsError(
                    f"the calls cannot be simulated in the order of the trace: {note}"
                )
            raise SimulationDeadlockError(self._deadlock(accounts.blocked))
        if status == binding.E_MEMORY:
            raise LimitError("the simulation needs more memory than there is; simulate fewer ranks")
        if status == binding.E_TIME:
            raise TooLongCallError("the simulated time" + self._place(accounts.blocked))
        result = accounts.struct
        if self._shared.left_out:
            count = len(self._shared.left_out)
            self.program.notes["links"] = (
                f"sends of {count} calls with many different destinations share none"
            )
        if status:
            raise FormatError(f"cannot simulate: {result.message.decode(errors='replace')}")
        if link_use is not None:
            link_use.add_messages(accounts.calls, self._shared.cycles)
            if not link_use.complete:
                self.program.notes["busiest links"] = (
                    f"not counted: {len(link_use.nbytes):,} links for each call that sends "
                    "take too much memory"
                )
        return Simulation(
            self.program,
            accounts.clocks,
            accounts.by_node,
            accounts.by_rank,
            accounts.calls,
            int(result.executed),
            on_path,
            link_use,
        )

    def _topology_of(self, links: TopologyShape) -> EngineTopology:
        """Return the links as the executor reads them, those of the last run if they are equal."""
        if self._topology is None or self._topology[0] != links:
            self._topology = links, engine_topology(links)
        return self._topology[1]

    def _link_loads(
        self,
        platform: Platform,
        links: TopologyShape | None,
        arrays: PlatformArrays,
        link_use: LinkUse | None,
    ) -> LinkLoads | None:
        """Return what each node's messages share of the links; count them in `link_use`, too."""
        if links is None or arrays.struct.flows:
            return None
        nodes = None if platform.node_numbers is None else platform.node_numbers.tobytes()
        depends = links, platform.interface, platform.ranks_per_node, nodes
        count = None
        if link_use is not None:
            count = partial(link_use.count_messages, node_of=platform.nodes_of(self._trace.nprocs))
        if count is not None or self._loads is None or self._loads[0] != depends:
            self._loads = depends, self._shared.loads(arrays.struct, count)
        return self._loads[1]

    def _place(self, reached: NDArray[np.int32]) -> str:
        """Name the rank and the call, if the run ended in one."""
        ranks: list[int] = np.flatnonzero(reached >= 0).tolist()
        return f" of {self._call(ranks[0], reached)}" if ranks else ""

    def _call(self, rank: int, reached: NDArray[np.int32]) -> str:
        event = self.program.nodes[int(reached[rank])].event
        assert event is not None  # only calls wait or take time
        stack = self._trace.stack(event.signature)
        where = f" at {short_frame(stack[0])}" if stack else ""
        return f"rank {rank} in {self._trace.ops[event.op].name}{where}"

    def _deadlock(self, blocked: NDArray[np.int32]) -> str:
        waiting = np.flatnonzero(blocked >= 0)
        named = [self._call(rank, blocked) for rank in waiting[:MAX_NAMED_RANKS].tolist()]
        more = f" and {len(waiting) - len(named)} more" if len(waiting) > len(named) else ""
        return (
            f"the trace deadlocks: {len(waiting)} of {self._trace.nprocs} ranks wait for ever: "
            f"{'; '.join(named)}{more}. On a real machine large sends may not wait for their receives: "
            "check rendezvous_above_bytes of the platform"
        )


def simulate(
    trace: Trace,
    platform: Platform,
    options: SimulateOptions | None = None,
    kernels: KernelTimes | None = None,
) -> Simulation:
    """Simulate a trace once; `Simulator` does so several times.

    Raises:
        UsageError, LimitError, FormatError: as `program.lower`.
        SimulationDeadlockError, SimulationThreadsError: ranks wait for ever.
    """
    return Simulator(trace, kernels).run(platform, options)
