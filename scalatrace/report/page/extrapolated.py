"""Where an extrapolated trace comes from: sizes of the inputs, warnings, formulas, fitted times."""

from __future__ import annotations

from dataclasses import dataclass

from scalatrace.report.values import params, repeat
from scalatrace.trace.model.callsite import short_frame
from scalatrace.trace.model.elastic import Formulas
from scalatrace.trace.model.nodes import Event, Node, Peer, Sequence
from scalatrace.trace.model.trace import Trace

__all__ = ["Fit", "FormulaRow", "Provenance", "provenance_of"]

MAX_ROWS = 400
MAX_TEXT = 600
"""Characters of a formula."""

EXTRAPOLATED, NOTES = "extrapolated", ("unconfirmed", "found-size")
"""Entries of the header of an extrapolated trace."""


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


@dataclass(frozen=True)
class Provenance:
    """How a trace was made.

    Attributes:
        origin: the inputs and the size, as in the header.
        model: lines of the symbolic trace (.stx), if there is one.
        fits: models of times, if the symbolic trace is given.
    """

    origin: str
    notes: tuple[str, ...]
    formulas: tuple[FormulaRow, ...]
    model: tuple[str, ...] = ()
    fits: tuple[Fit, ...] = ()


def provenance_of(
    trace: Trace, numbers: dict[int, int], model: tuple[str, ...] = (), fits: tuple[Fit, ...] = ()
) -> Provenance | None:
    """Return where a trace comes from; None for a recorded one without a model.

    Args:
        numbers: id of a node -> number in the tree.
    """
    origin = trace.meta.get(EXTRAPOLATED, "")
    if not origin and not model:
        return None
    notes = tuple(trace.meta[name] for name in NOTES if name in trace.meta)
    rows: list[FormulaRow] = []
    _collect(trace, trace.nodes, numbers, rows)
    return Provenance(origin, notes, tuple(rows[:MAX_ROWS]), model, fits)


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
