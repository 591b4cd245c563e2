"""Where an extrapolated trace comes from: sizes of the inputs, warnings, formulas, fitted times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import add
from typing import NamedTuple

from scalatrace.report.costs.rows import timed_by_node
from scalatrace.report.values import params, repeat
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.elastic import Formulas
from scalatrace.trace.model.nodes import Event, Node, Peer, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.oversubscription import OVERSUBSCRIBED

__all__ = ["AtSize", "Fit", "FormulaRow", "Growth", "Provenance", "SiteAtSizes", "provenance_of"]

MAX_ROWS, MAX_GROWTH = 400, 30
"""Formulas, and call sites with times at all sizes, that are listed."""

RESULT = 0
"""Stands for the number of ranks of the result, which may be that of an input, too."""

ALL_CALLS = "all calls"
"""Name of the sum over all call sites."""

MAX_TEXT = 600
"""Characters of a formula."""

EXTRAPOLATED = "extrapolated"
NOTES = {"lossy": "", "unconfirmed": "", "found-size": "problem size found in the traces: "}
"""Entries of the header of an extrapolated trace, with words before those that are notes."""


@dataclass(frozen=True)
class FormulaRow:
    """A value that differs between ranks, as a formula of rank, grid, or loop counters."""

    node: int
    call: str
    name: str
    formula: str


@dataclass(frozen=True)
class Fit:
    """The model of a mean time over the number of ranks.

    Attributes:
        stat: "compute_ns" (before the call) or "comm_ns" (in it).
        after: operation and call site of the predecessor; "": not known.
        ranks: conditions on the ranks that make the call, separated by commas; "": all do.
        error: deviation of the model from the points, as a part of the values.
        points: ranks and mean in ns of each input.
        curve: ranks, mean in ns, and interval of `level`, from the least to the number of ranks wanted.
    """

    op: str
    site: str
    stat: str
    formula: str
    error: float
    level: float
    points: tuple[tuple[int, float], ...]
    curve: tuple[tuple[int, float, float, float], ...]
    after: str = ""
    ranks: str = ""


class AtSize(NamedTuple):
    """A call site at a number of ranks: means over all ranks, of all timed calls of a rank."""

    ranks: int
    comm_ns: float
    compute_ns: float
    timed: float

    def plus(self, other: AtSize | None) -> AtSize:
        """Return the sum of two call sites at the same number of ranks."""
        return self if other is None else AtSize(self.ranks, *map(add, self[1:], other[1:]))


@dataclass(frozen=True)
class SiteAtSizes:
    """A call site in the traces that were extrapolated, the smallest first."""

    op: str
    site: str
    sizes: tuple[AtSize, ...]


@dataclass(frozen=True)
class Growth:
    """A call site in the inputs and in the result.

    Attributes:
        sizes: at each of `Provenance.sizes`; None: it has no times there.
        factor, timed_factor: time and timed calls of a rank in the result over those in the largest input;
            None: there were none.
        added_ns: the difference of these times.
    """

    op: str
    site: str
    sizes: tuple[AtSize | None, ...]
    factor: float | None
    timed_factor: float | None
    added_ns: float


@dataclass(frozen=True)
class Provenance:
    """How a trace was made.

    Attributes:
        origin: the inputs and the size, as in the header.
        model: lines of the symbolic trace (.stx), if there is one.
        fits: models of times, if the symbolic trace is given.
        sizes: numbers of ranks of the inputs, ascending, and of the result.
        parameters: of the program at these sizes, where they differ.
        growth: times of all calls, and by call site, at these sizes; those that add most time first. Empty
            without the symbolic trace, without times, and where calls were dropped.
        hidden: further call sites, with less time to add.
    """

    origin: str
    notes: tuple[str, ...]
    formulas: tuple[FormulaRow, ...]
    model: tuple[str, ...] = ()
    fits: tuple[Fit, ...] = ()
    sizes: tuple[int, ...] = ()
    parameters: tuple[str, ...] = ()
    growth: tuple[Growth, ...] = ()
    hidden: int = 0


def provenance_of(
    trace: Trace,
    numbers: dict[int, int],
    model: tuple[str, ...] = (),
    fits: tuple[Fit, ...] = (),
    inputs: tuple[SiteAtSizes, ...] = (),
    warnings: tuple[str, ...] = (),
    parameters: Mapping[int, str] | None = None,
) -> Provenance | None:
    """Return where a trace comes from; None for a recorded one without a model.

    Args:
        numbers: id of a node -> number in the tree.
        inputs: call sites of the traces that the model was made of.
        warnings: of the result.
        parameters: ranks of an input (0: of the result) -> its parameters, if they differ.
    """
    origin = trace.meta.get(EXTRAPOLATED, "")
    if not origin and not model:
        return None
    known = [words + trace.meta[name] for name, words in NOTES.items() if name in trace.meta]
    shared = trace.meta.get(OVERSUBSCRIBED)  # the summary has it
    more = (one for one in warnings if shared is None or not one.startswith(shared))
    notes = tuple(dict.fromkeys((*known, *more)))
    rows: list[FormulaRow] = []
    _collect(trace, trace.nodes, numbers, rows)
    sizes = sorted({size.ranks for one in inputs for size in one.sizes})
    growth = tuple(_growth(trace, inputs, sizes)) if sizes else ()
    return Provenance(
        origin,
        notes,
        tuple(rows[:MAX_ROWS]),
        model,
        fits,
        (*sizes, len(trace.ranks)),
        tuple((parameters or {}).get(n, "") for n in (*sizes, RESULT)),
        growth[:MAX_GROWTH],
        len(growth[MAX_GROWTH:]),
    )


def _growth(trace: Trace, inputs: tuple[SiteAtSizes, ...], sizes: list[int]) -> list[Growth]:
    known: dict[tuple[str, str], dict[int, AtSize]] = {}
    for one in inputs:
        there = known.setdefault((one.op, one.site), {})
        for size in one.sizes:
            there[size.ranks] = size.plus(there.get(size.ranks))
    n, rows, whole = len(trace.ranks), list[Growth](), dict[int, AtSize]()
    for row in timed_by_node(trace, "site"):
        op, site = row.key
        there = dict(known.get((op, site), {}))
        there[RESULT] = AtSize(n, (row.comm_ns or 0.0) / n, (row.compute_ns or 0.0) / n, row.timed / n)
        whole |= {key: size.plus(whole.get(key)) for key, size in there.items()}
        rows.append(_compared(op, site, there, sizes))
    here = {(one.op, one.site) for one in rows}
    for key in known.keys() - here:
        for n, size in known[key].items():
            whole[n] = size.plus(whole.get(n))
    rows.sort(key=lambda one: -one.added_ns)
    return [_compared(ALL_CALLS, "", whole, sizes), *rows]


def _compared(op: str, site: str, there: dict[int, AtSize], sizes: list[int]) -> Growth:
    """Return a call site at its sizes, of which RESULT is compared with the largest input."""
    here, last = there[RESULT], there.get(sizes[-1], AtSize(sizes[-1], 0.0, 0.0, 0.0))
    before, after = last.comm_ns + last.compute_ns, here.comm_ns + here.compute_ns
    return Growth(
        op,
        site,
        (*(there.get(size) for size in sizes), here),
        after / before if before else None,
        here.timed / last.timed if last.timed else None,
        after - before,
    )


def _collect(
    trace: Trace, nodes: list[Node] | tuple[Node, ...], numbers: dict[int, int], rows: list[FormulaRow]
) -> None:
    for node in nodes:
        number = numbers.get(id(node), 0)
        name = _call(trace, node)
        if isinstance(node.repeat, Formulas):
            rows.append(FormulaRow(number, name, "repeat", repeat(node.repeat)[:MAX_TEXT]))
        if isinstance(node, Sequence):
            _collect(trace, node.nodes, numbers, rows)
            continue
        for (parameter, text), value in zip(_shown(trace, node), node.params, strict=True):
            if isinstance(value.value if isinstance(value, Peer) else value, Formulas):
                rows.append(FormulaRow(number, name, parameter, text[:MAX_TEXT]))


def _shown(trace: Trace, event: Event) -> list[tuple[str, str]]:
    """Name and text of each parameter; `params` leaves out what is not shown."""
    texts = dict(params(trace, event))
    return [(name, texts.get(name, "")) for name, _ in trace.ops[event.op].params]


def _call(trace: Trace, node: Node) -> str:
    if isinstance(node, Sequence):
        return "loop"
    stack = trace.stack(node.signature)
    return f"{trace.ops[node.op].name}  {short_frame(stack[0]) if stack else ''}".strip()
