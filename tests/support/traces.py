"""Random traces, and the plainest possible reading of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from scalatrace.trace.io.unused import without_unused
from scalatrace.trace.model.elastic import Columns, Elastic, Groups
from scalatrace.trace.model.nodes import Event, Node, Param, Peer, PredStats, Sequence
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype, Family, IntArray, Kind, Op, RecordedStat
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.model.trace_tables import START
from scalatrace.trace.values.histogram import Bin, Histogram
from scalatrace.trace.values.histogram_columns import rounded
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, PROC_NULL, Vec

OPS = [
    Op("Isend", (("count", Kind.INT), ("datatype", Kind.TYPE), ("dest", Kind.PEER), ("comm", Kind.COMM))),
    Op("Recv", (("source", Kind.PEER), ("comm", Kind.COMM), ("tag", Kind.INT))),
    Op("Neighbor_alltoallv", (("sendcounts", Kind.ARRAY), ("sendtype", Kind.TYPE), ("comm", Kind.COMM))),
    Op("File_open", (("filename", Kind.STRING), ("mode", Kind.INT))),
    Op("Barrier", ()),
]

ints = st.integers(-3, 9) | st.integers(-(1 << 63), (1 << 63) - 1)
counts = st.integers(1, 4)
LOW, HIGH = -(1 << 63), (1 << 63) - 1


@st.composite
def wide_values(draw: Any) -> list[int]:
    """Repeats and progressions of few different values, most of them at the ends of 64 bits."""
    extremes = st.sampled_from([LOW, LOW + 1, -1, 0, 1, HIGH - 1, HIGH, 1 << 62, -(1 << 62)])
    alphabet = draw(st.lists(extremes | st.integers(LOW, HIGH), min_size=1, max_size=4))
    values: list[int] = []
    for _ in range(draw(st.integers(1, 4))):
        body = draw(st.lists(st.sampled_from(alphabet), min_size=1, max_size=4))
        stride = draw(st.sampled_from([0, 0, 1, -1, 1 << 61, -(1 << 62)]))
        for i in range(draw(st.integers(1, 12))):
            values += [value + i * stride for value in body if LOW <= value + i * stride <= HIGH]
    return values or [alphabet[0]]


texts = st.text(max_size=8) | st.binary(max_size=6).map(lambda raw: raw.decode("utf-8", "surrogateescape"))


def _loops(terms: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    inner = st.lists(terms, min_size=1, max_size=3)
    return st.builds(lambda n, stride, body: (n, stride, *body), counts, st.integers(-4, 4), inner)


def terms_of(values: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    """Finite terms."""
    return st.recursive(values, _loops, max_leaves=6)


def endless(values: st.SearchStrategy[int]) -> st.SearchStrategy[Vec]:
    """Vecs of these values that never end."""
    cycle = st.lists(values, min_size=1, max_size=4)
    head = st.lists(st.one_of(values, st.builds(lambda n, v: (n, 0, v), counts, values)), max_size=3)
    return st.builds(Vec, values) | st.builds(lambda h, c: Vec((*h, (0, 0, *c))), head, cycle)


def expand(terms: Any, n: int) -> list[int]:
    """The first n values of terms, or all there are, the long way."""
    if isinstance(terms, int):
        return [terms] * n
    found: list[int] = []
    for term in terms:
        if isinstance(term, int):
            found.append(term)
            continue
        turn = 0
        while len(found) < n and (term[0] == 0 or turn < term[0]):
            found += [value + turn * term[1] for value in expand(term[2:], n)]
            turn += 1
    return found[:n]


@st.composite
def elastics(draw: Any, nprocs: int, values: st.SearchStrategy[int], partial: bool = False) -> Elastic:
    """Elastic values of all ranks, or with `partial` of some."""
    shape = draw(st.integers(0, 3))
    ranks = list(range(nprocs))
    if partial:
        ranks = draw(st.lists(st.sampled_from(ranks), min_size=1, unique=True))
    if shape == 1:
        vec = Vec(tuple(draw(values) for _ in ranks))
        return Columns(RankList(ranks), vec)
    if shape == 2:
        labels = {rank: draw(st.integers(0, 2)) for rank in ranks}
        sets = [RankList(r for r in ranks if labels[r] == label) for label in sorted(set(labels.values()))]
        return Groups([(some, draw(endless(values))) for some in sorted(sets, key=lambda s: s.first)])
    return draw(endless(values))


@st.composite
def params(draw: Any, nprocs: int, kind: Kind) -> Param:
    """A parameter of a kind, with indices that exist."""
    if kind is Kind.PEER:
        encoding = draw(st.sampled_from(Encoding))
        # Peers are in their communicators, of whatever size: only these values are in all of them.
        inside = st.integers(-2, 6) if encoding == Encoding.MODULO else st.just(0)
        return Peer(encoding, draw(elastics(nprocs, inside | st.sampled_from([PROC_NULL, ANY_SOURCE]))))
    limits = {Kind.COMM: (0, 1), Kind.TYPE: (0, 1), Kind.STRING: (0, 2), Kind.ARRAY: (0, 1)}
    values = st.integers(*limits[kind]) if kind in limits else ints
    return draw(elastics(nprocs, values.map(lambda v: v * 3 if kind is Kind.COMM else v)))


bin_counts = st.integers(1, 1 << 40)
naturals = st.integers(0, 1 << 40)


@st.composite
def histograms(draw: Any) -> Histogram:
    """Any histogram the format can hold."""
    if draw(st.booleans()):
        return Histogram.of(draw(naturals))
    one = st.builds(Bin, bin_counts, naturals, naturals, naturals)
    bins = tuple(draw(st.lists(one, max_size=5)))
    low, span, mean, std = (draw(naturals) for _ in range(4))
    return Histogram(draw(st.integers(2, 1000)), low, low + span, low + mean, std, bins).rounded()


@st.composite
def nodes(draw: Any, nprocs: int, depth: int) -> Node:
    """A node; events at the latest at depth 0."""
    repeat = draw(elastics(nprocs, st.integers(0, 3), partial=draw(st.booleans())))
    if depth and draw(st.booleans()):
        return Sequence(repeat, tuple(draw(st.lists(nodes(nprocs, depth - 1), max_size=3))))
    op = draw(st.integers(0, len(OPS) - 1))
    given = tuple(draw(params(nprocs, kind)) for _, kind in OPS[op].params)
    times, amounts = st.none() | histograms().map(rounded), st.none() | histograms()
    preds = draw(st.lists(st.integers(0, 2), max_size=2, unique=True))
    stats = tuple(PredStats(pred, (draw(times), draw(amounts))) for pred in preds)
    return Event(repeat, op, draw(st.integers(0, 1)), given, stats)


def evens_and_odds(nprocs: int) -> Family:
    """What Comm_split by parity makes."""
    groups = [group for group in (range(0, nprocs, 2), range(1, nprocs, 2)) if group]
    members = tuple(rank for group in groups for rank in group)
    return Family("split", 0, Vec(tuple(len(group) for group in groups)), Vec(members))


@st.composite
def traces(draw: Any) -> Trace:
    """Small traces that use everything the format has."""
    nprocs = draw(st.integers(1, 6))
    trace = Trace(
        nprocs,
        nodes=without_unused(draw(st.lists(nodes(nprocs, 3), max_size=4))),
        meta=draw(st.dictionaries(texts, texts, max_size=2)),
        ops=OPS,
        stats=[RecordedStat("compute_ns", 1.0), RecordedStat("odd name", 0.25)],
        frames=[draw(texts), "lib.so+0x12", "dir/app.py:3:main"],
        signatures=[(), (2, 1, 0)],
        types=[Datatype("MPI_INT", 4, 4), Datatype("opaque(3,5)", 3, 5)],
        strings=[draw(texts), draw(texts), "*/\x1b[0m\n"],
        arrays=[IntArray(3, Vec(((0, 2, 1),))), IntArray(0, Vec(())), IntArray(3, Vec(((0, 2, 1),)), True)],
        preds=[START, (0, 1), (2, 0)],
        counts={"Comm_rank": draw(naturals)},
        load=draw(st.sampled_from([[], [None, Vec(3)], [Vec(((0, -1, 4),)), None]])),
    )
    trace.comms.append(evens_and_odds(nprocs))
    return trace


Plain = tuple[int, int, tuple[int, ...]]


def naive_walk(trace: Trace, rank: int) -> Iterator[Plain]:
    """(op, signature, values) of a rank's calls, by the letter of the format and with no thought of speed."""
    met: Counter[int] = Counter()
    ran: Counter[int] = Counter()

    def value(elastic: Elastic, i: int) -> int | None:
        if isinstance(elastic, Columns):
            ranks = list(elastic.ranks)
            return expand(elastic.vec.terms, len(ranks))[ranks.index(rank)] if rank in ranks else None
        groups = elastic.groups if isinstance(elastic, Groups) else [(range(trace.nprocs), elastic)]
        return next((expand(vec.terms, i + 1)[i] for ranks, vec in groups if rank in list(ranks)), None)

    def peer(param: Peer, family: int, i: int) -> int:
        stored = value(param.value, i)
        assert stored is not None
        if stored < -1000000000:
            return stored
        half = list(range(rank % 2, trace.nprocs, 2))
        own, size = (half.index(rank), len(half)) if family == 3 else (rank, trace.nprocs)
        return [stored, stored + own, (stored + own) % size, stored ^ own][param.encoding]

    def given(event: Event, i: int) -> tuple[int, ...]:
        schema = trace.ops[event.op].params
        family = next(
            (value(p, i) for p, (_, k) in zip(event.params, schema, strict=True) if k is Kind.COMM), 0
        )
        return tuple(peer(p, family, i) if isinstance(p, Peer) else value(p, i) for p in event.params)

    def run(node: Node) -> Iterator[Plain]:
        times = value(node.repeat, met[id(node)]) or 0
        met[id(node)] += 1
        for _ in range(times):
            if isinstance(node, Event):
                yield node.op, node.signature, given(node, ran[id(node)])
                ran[id(node)] += 1
            else:
                for child in node.nodes:
                    yield from run(child)

    for root in trace.nodes:
        yield from run(root)
