"""The description of a machine, with the parameters of LogGOPS (Hoefler, Schneider, Lumsdaine 2010).

A message of n bytes takes, from the call of the sender to the end of the receive,

    overhead of the sender  o + n O      the sender's processor is busy
    latency                 L
    transfer                n G
    overhead of the receiver  o + n O    the receiver's processor is busy

each by the segment of message sizes that n is in. A network interface starts its next message `g` after the
one before, and not before that one's n G are over. Above a threshold S, messages use the rendezvous
protocol: the transfer starts only when the receive has been posted.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from statistics import NormalDist

from scalatrace.arrays import Ints
from scalatrace.errors import UsageError
from scalatrace.predefined import THREAD_LEVELS
from scalatrace.predict.platform.algorithms import AlgorithmRule, AlgorithmRules, algorithm_table
from scalatrace.predict.platform.library_rules import LibraryRules, recorded_rules, rules_of_library
from scalatrace.predict.platform.placement import check_placement, place_ranks
from scalatrace.predict.platform.topology import FULL, NetworkTopology
from scalatrace.predict.platform.topology_shape import TopologyShape

__all__ = [
    "NOISE_PARTS",
    "AlgorithmRule",
    "MatchingCost",
    "Network",
    "Platform",
    "PlatformCheck",
    "Segment",
    "StridedCost",
]  # fmt: skip


MAX_RATIO = 1e6
"""Of measured and predicted time: more is a mistake in a file."""

NOISE_PARTS = 20
"""Equal parts of the sorted durations of messages; each has a factor."""
_NORMAL_PARTS = tuple(NormalDist().inv_cdf((part + 0.5) / 1000) for part in range(1000))

INTERFACES = ("rank", "node", "unlimited")


@dataclass(frozen=True)
class Segment:
    """Parameters of messages of `from_bytes` and more bytes, up to the next segment.

    Attributes:
        from_bytes: smallest message, bytes.
        latency_ns: L.
        per_byte_ns: G.
        gap_ns: g.
        send_overhead_ns, recv_overhead_ns: o of both sides.
        send_overhead_per_byte_ns, recv_overhead_per_byte_ns: O of both sides.
        noise_factors: durations of messages over the median of their size, each as probable: means of equal
            parts of the sorted durations. Several modes stay, as in the mixtures N' of Cornebize (2021),
            section 5.3.1.
        relative_noise: half the range of the middle 68 % of these ratios; they are lognormal where there are
            no `noise_factors`.
    """

    from_bytes: int = 0
    latency_ns: float = 0.0
    per_byte_ns: float = 0.0
    gap_ns: float = 0.0
    send_overhead_ns: float = 0.0
    recv_overhead_ns: float = 0.0
    send_overhead_per_byte_ns: float = 0.0
    recv_overhead_per_byte_ns: float = 0.0
    relative_noise: float = 0.0
    noise_factors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for member in fields(self):
            value = getattr(self, member.name)
            for number in value if isinstance(value, tuple) else (value,):
                if not 0 <= number < math.inf:
                    raise UsageError(f"{member.name} is {value}; it must be a finite number of 0 or more")
        if max(self.noise_factors, default=0.0) > MAX_RATIO:
            raise UsageError(f"noise_factors reach {max(self.noise_factors)}; the limit is {MAX_RATIO:,.0f}")

    def drawn_factors(self) -> tuple[float, ...]:
        """Return the factors on durations that drawn runs choose from; () if they do not vary."""
        if self.noise_factors or not self.relative_noise:
            return self.noise_factors
        sigma = math.sqrt(math.log1p(self.relative_noise**2))
        return tuple(math.exp(sigma * normal) for normal in _NORMAL_PARTS)

    def message_ns(self, nbytes: int) -> float:
        """Return the time from the send call to the end of a receive that was posted before."""
        overheads = self.send_overhead_ns + self.recv_overhead_ns
        per_byte = self.per_byte_ns + self.send_overhead_per_byte_ns + self.recv_overhead_per_byte_ns
        return overheads + self.latency_ns + nbytes * per_byte


@dataclass(frozen=True)
class Network:
    """Segments of message sizes, ascending, the first from 0 bytes; and the rendezvous protocol.

    Attributes:
        rendezvous_above_bytes: S, the largest eager message; None: all messages are eager.
        rendezvous_latency_ns: of the request to send and its answer, together, beyond that of the message.
    """

    segments: tuple[Segment, ...] = (Segment(),)
    rendezvous_above_bytes: int | None = None
    rendezvous_latency_ns: float = 0.0

    def __post_init__(self) -> None:
        starts = [segment.from_bytes for segment in self.segments]
        if not starts or starts[0] != 0 or starts != sorted(set(starts)):
            raise UsageError(f"segments start at {starts} bytes; they must ascend, the first from 0")

    def segment(self, nbytes: int) -> Segment:
        """Return the parameters for messages of a size."""
        return self.segments[bisect_right(self.segments, nbytes, key=lambda s: s.from_bytes) - 1]

    def is_eager(self, nbytes: int) -> bool:
        """Whether a message is sent before its receive is posted."""
        return self.rendezvous_above_bytes is None or nbytes <= self.rendezvous_above_bytes


@dataclass(frozen=True)
class MatchingCost:
    """Search in the queues of posted receives and of unexpected messages."""

    per_entry_ns: float = 0.0


@dataclass(frozen=True)
class StridedCost:
    """Packing and unpacking of datatypes with holes, on each side."""

    per_byte_ns: float = 0.0


@dataclass(frozen=True)
class PlatformCheck:
    """A run on the machine, and its predicted time.

    Attributes:
        ranks: of the run.
        measured_s, predicted_s: its time and the prediction, seconds.
        program: what ran.
    """

    ranks: int
    measured_s: float
    predicted_s: float
    program: str = ""

    def __post_init__(self) -> None:
        times = (self.measured_s, self.predicted_s)
        if self.ranks < 1 or not all(0 < time < math.inf for time in times):
            raise UsageError("ranks, measured_s and predicted_s must be above 0, and no infinity")
        if not 1 / MAX_RATIO <= self.ratio <= MAX_RATIO:
            raise UsageError(f"the run took {self.ratio:g} of its predicted time: not the same program")

    @property
    def ratio(self) -> float:
        """How long the run took, relative to its prediction."""
        return self.measured_s / self.predicted_s


@dataclass(frozen=True)
class Platform:
    """A machine.

    Attributes:
        name, description, source: texts; where the numbers are from.
        thread_level: of MPI in the measurements ("single", "multiple", ...); "": not known.
        doubts: why the measurements do not describe the machine well; "": nothing speaks against them.
        ranks_per_node: ranks of a node; 0: all on one node.
        placement: "block": ranks are placed node by node; "cyclic": one on each node, then the next ones;
            "random:SEED"; "file:HOSTS": one host a line in the order of ranks; "trace": node by node, with as
            many ranks as a host had in the recorded run.
        compute_scale: duration of a computation here over that in the trace.
        network: messages between nodes.
        memory: messages within a node; None: as between nodes.
        interface: "rank": each rank has a network interface of its own, which sends one message after the
            other (LogGP); "node": also, the ranks of a node share its links, as in the topology "cluster";
            "unlimited": no message waits for others of its rank.
        reduce_per_byte_ns: of the operator of a reduction.
        mpi: library whose rules choose algorithms of collectives ("openmpi-5.0", "mpich", "thakur"); "": the
            one that the trace was recorded with.
        collectives: rules before those of the library, by operation in lower case ("allreduce"); the first
            one that holds counts.
        measured_up_to_bytes: largest message of the measurements; 0: not known.
        checks: runs that were predicted and measured here; intervals of predictions follow from them.
        node_numbers: [nranks] node of each rank, of a platform that `placed` returned.
        recorded_mpi: text of MPI_Get_library_version of the trace, of a platform that `placed` returned.
    """

    name: str = "unnamed"
    description: str = ""
    source: str = ""
    thread_level: str = ""
    doubts: str = ""
    ranks_per_node: int = 1
    placement: str = "block"
    compute_scale: float = 1.0
    network: Network = Network()
    memory: Network | None = None
    interface: str = "rank"
    reduce_per_byte_ns: float = 0.0
    matching: MatchingCost = MatchingCost()
    strided: StridedCost = StridedCost()
    topology: NetworkTopology = field(default=FULL)
    mpi: str = ""
    collectives: Mapping[str, tuple[AlgorithmRule, ...]] = field(default_factory=dict)
    measured_up_to_bytes: int = 0
    checks: tuple[PlatformCheck, ...] = ()
    node_numbers: Ints | None = field(default=None, compare=False, repr=False, metadata={"file": False})
    recorded_mpi: str = field(default="", compare=False, repr=False, metadata={"file": False})

    def __post_init__(self) -> None:
        check_placement(self.placement)
        if self.mpi:
            rules_of_library(self.mpi)
        if self.interface not in INTERFACES:
            raise UsageError(f"interface is {self.interface!r}; known: {', '.join(INTERFACES)}")
        if self.thread_level not in ("", *THREAD_LEVELS):
            raise UsageError(f"thread_level is {self.thread_level!r}; known: {', '.join(THREAD_LEVELS)}")
        if min(self.ranks_per_node, self.compute_scale, self.measured_up_to_bytes) < 0:
            names = "ranks_per_node, compute_scale and measured_up_to_bytes"
            raise UsageError(f"{names} must be 0 or more")
        for operation, rules in self.collectives.items():
            algorithms = algorithm_table().get(operation)
            if algorithms is None:
                raise UsageError(
                    f"collectives.{operation}: no collective operation; known: {', '.join(algorithm_table())}"
                )
            for rule in rules:
                if rule.algorithm not in algorithms:
                    names = ", ".join(algorithms)
                    raise UsageError(
                        f"collectives.{operation}: no algorithm {rule.algorithm!r}; known: {names}"
                    )

    @cached_property
    def rules(self) -> AlgorithmRules:
        """The rules of `collectives`, then those of the MPI library."""
        return AlgorithmRules(self.collectives, self.library_rules.collectives)

    @property
    def library_rules(self) -> LibraryRules:
        """The rules of the MPI library."""
        return rules_of_library(self.mpi) if self.mpi else recorded_rules(self.recorded_mpi)

    def placed(self, nranks: int, meta: Mapping[str, str] | None = None) -> Platform:
        """Return the platform with the nodes of so many ranks; `meta`: header of their trace, with its MPI.

        Raises:
            UsageError: the ranks cannot be placed as `placement` says.
        """
        recorded_mpi = (meta or {}).get("mpi", self.recorded_mpi)
        numbers = self.node_numbers
        if self.placement != "block" and (numbers is None or len(numbers) != nranks):
            nodes = self.topology.nodes
            numbers = place_ranks(self.placement, nranks, self.ranks_per_node, meta or {}, nodes)
        if numbers is self.node_numbers and recorded_mpi == self.recorded_mpi:
            return self
        return replace(self, node_numbers=numbers, recorded_mpi=recorded_mpi)

    def changed(self, placement: str = "", mpi: str = "") -> Platform:
        """Return the platform with another placement or MPI library; "": as it is. Raises UsageError."""
        return replace(self, placement=placement or self.placement, mpi=mpi or self.mpi)

    def nodes_of(self, nranks: int) -> Ints:
        """Return the node of each rank."""
        if self.node_numbers is not None:
            return self.node_numbers[:nranks]
        return place_ranks("block", nranks, self.ranks_per_node, {})

    def node_of(self, rank: int) -> int:
        """Return the number of a rank's node, after `placed`."""
        if self.node_numbers is not None:
            return int(self.node_numbers[rank])
        return rank // self.ranks_per_node if self.ranks_per_node else 0

    def count_nodes(self, nranks: int) -> int:
        """Return the number of nodes that so many ranks take."""
        if self.node_numbers is not None:
            return len(set(self.node_numbers[:nranks].tolist()))
        return self.node_of(nranks - 1) + 1

    @property
    def has_noise(self) -> bool:
        """Whether durations of messages vary."""
        networks = (self.network, self.memory or self.network)
        return any(segment.drawn_factors() for network in networks for segment in network.segments)

    @property
    def shares_links(self) -> bool:
        """Whether messages of different nodes share links."""
        listed = self.placement.partition(":")[0] in ("file", "trace")
        one_each = self.ranks_per_node == 1 and not listed
        return self.topology.kind != "full" or (self.interface == "node" and not one_each)

    def links(self, nranks: int) -> TopologyShape:
        """Return the links between the nodes of so many ranks.

        Raises:
            UsageError: the topology has fewer nodes.
        """
        nnodes = self.count_nodes(nranks)
        if self.node_numbers is not None:
            nnodes = int(self.node_numbers.max(initial=0)) + 1
        return self.topology.shape(nnodes, self.network.segments[-1].per_byte_ns)

    def network_between(self, a: int, b: int) -> Network:
        """Return the parameters of messages between two ranks."""
        within_node = self.memory is not None and self.node_of(a) == self.node_of(b)
        return self.memory if within_node and self.memory is not None else self.network

    def algorithm(self, operation: str, nbytes: int, nranks: int, lists: bool = False) -> str:
        """Return the algorithm of a collective operation.

        Args:
            operation: in lower case, without `MPI_` ("allreduce").
            nbytes: of the message that the operation's rules count; see `algorithms.py`.
            nranks: size of the communicator.
            lists: whether ranks have sizes of their own ("Alltoallv"), of which `nbytes` is the mean.
        """
        return self.rules.choose(operation, nbytes, nranks, lists)
