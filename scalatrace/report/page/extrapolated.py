"""Where an extrapolated trace comes from: sizes of the inputs, warnings, formulas, fitted times."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass, field

from scalatrace.report.scaling.comparison import Scaling
from scalatrace.report.scaling.extrapolated_growth import (
    IN_MPI,
    RESULT,
    Growth,
    GrowthModel,
    SiteAtSizes,
    growth_of,
    rising_computation,
)
from scalatrace.report.style import number
from scalatrace.report.values import params, repeat
from scalatrace.trace.model.callsite import call_site, short_frame
from scalatrace.trace.model.elastic import Formulas
from scalatrace.trace.model.nodes import Event, Node, Peer, Sequence
from scalatrace.trace.model.trace import Trace
from scalatrace.trace.oversubscription import OVERSUBSCRIBED
from scalatrace.trace.symbolic.origin import FOUND_SIZE, LOSSY, UNCONFIRMED, split_origin

__all__ = ["Fit", "FormulaRow", "ModelFacts", "Provenance", "provenance_of"]

MAX_ROWS, MAX_GROWTH = 400, 30
"""Formulas, and call sites with times at all sizes, that are listed."""

MIN_RISING_AGAIN = 0.1
"""Part of the computation that rises against the recorded runs, from which on it is noted."""

MAX_TEXT = 600
"""Characters of a formula."""

MAX_KEPT_EXPONENT = 0.005
"""Exponent of the number of ranks, shown as P^0.00, below which a time counts as kept."""

NOTES = {LOSSY: "", UNCONFIRMED: "", FOUND_SIZE: "problem size found in the traces: "}
"""Entries of the header of an extrapolated trace that are notes, with words before them."""


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
        limit: why its value at the size of the result is of fewer ranks; "": it is not.
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
    limit: str = ""


@dataclass(frozen=True)
class ModelFacts:
    """Facts of the symbolic trace that a trace was made of.

    Attributes:
        lines: of the symbolic trace (.stx).
        fits: models of times.
        inputs: call sites of the traces that the model was made of.
        warnings: of the result.
        parameters: ranks of an input (RESULT: of the result) -> its parameters, if they differ.
        site_models: operation and call site -> model of the largest part of its time.
        runs: the inputs, compared as runs on several numbers of ranks; None: they are not at hand.
    """

    lines: tuple[str, ...] = ()
    fits: tuple[Fit, ...] = ()
    inputs: tuple[SiteAtSizes, ...] = ()
    warnings: tuple[str, ...] = ()
    parameters: Mapping[int, str] = field(default_factory=dict)
    site_models: Mapping[tuple[str, str], GrowthModel] = field(default_factory=dict)
    runs: Scaling | None = None


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
        runs: the inputs, compared as runs on several numbers of ranks; None: not known.
        waiting_growth: that the inputs do not tell how waiting grows; "": they do, or it is not known.
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
    waiting_growth: str = ""
    runs: Scaling | None = None


def provenance_of(
    trace: Trace, numbers: dict[int, int], model: ModelFacts | None = None
) -> Provenance | None:
    """Return where a trace comes from; None for a recorded one without a model.

    Args:
        numbers: id of a node -> number in the tree.
        model: facts of the symbolic trace; None: it is not given.
    """
    model = model or ModelFacts()
    origin = split_origin(trace.meta)[0]
    if not origin and not model.lines:
        return None
    stated = [words + trace.meta[name] for name, words in NOTES.items() if name in trace.meta]
    shared = trace.meta.get(OVERSUBSCRIBED)  # the summary has it
    more = (warning for warning in model.warnings if shared is None or not warning.startswith(shared))
    notes = tuple(dict.fromkeys((*stated, *more)))
    rows: list[FormulaRow] = []
    _collect(trace, trace.nodes, numbers, rows)
    sizes = sorted({size.ranks for growth in model.inputs for size in growth.sizes})
    growth = (
        growth_of(trace, model.inputs, sizes, model.site_models, not any(model.parameters.values()))
        if sizes
        else []
    )
    rising, site = rising_computation(growth)
    if rising >= MIN_RISING_AGAIN:
        notes = (
            f"{rising:.0%} of the computation rises in the result, though it falls in the recorded runs; "
            f"most of this is before {site}",
            "predictions contain this rise; whether it is real or noise is not known from the recorded runs",
            *notes,
        )
    return Provenance(
        origin,
        notes,
        tuple(rows[:MAX_ROWS]),
        model.lines,
        model.fits,
        (*sizes, len(trace.ranks)),
        tuple(model.parameters.get(n, "") for n in (*sizes, RESULT)),
        tuple(growth[:MAX_GROWTH]),
        len(growth[MAX_GROWTH:]),
        _waiting_growth(growth, sizes),
        model.runs,
    )


def _waiting_growth(growth: AnySequence[Growth], sizes: AnySequence[int]) -> str:
    """Say that the inputs do not tell how waiting grows: the time in MPI, of which it is part, is kept.

    Returns:
        "" where the time in MPI changes beyond the largest input, or is not known there.
    """
    in_mpi = next((row for row in growth if row.op == IN_MPI), None)
    if in_mpi is None or in_mpi.extrapolated is None or abs(in_mpi.extrapolated) >= MAX_KEPT_EXPONENT:
        return ""
    return (
        f"The time in MPI is that of {number(sizes[-1])} ranks: how waiting grows is not known from these "
        "runs. Predict it with scalatrace simulate, or give a machine with --platform."
    )


def _collect(
    trace: Trace, nodes: list[Node] | tuple[Node, ...], numbers: dict[int, int], rows: list[FormulaRow]
) -> None:
    for node in nodes:
        at = numbers.get(id(node), 0)
        name = _call(trace, node)
        if isinstance(node.repeat, Formulas):
            rows.append(FormulaRow(at, name, "repeat", repeat(node.repeat)[:MAX_TEXT]))
        if isinstance(node, Sequence):
            _collect(trace, node.nodes, numbers, rows)
            continue
        for (parameter, text), value in zip(_shown(trace, node), node.params, strict=True):
            if isinstance(value.value if isinstance(value, Peer) else value, Formulas):
                rows.append(FormulaRow(at, name, parameter, text[:MAX_TEXT]))


def _shown(trace: Trace, event: Event) -> list[tuple[str, str]]:
    """Name and text of each parameter; `params` leaves out what is not shown."""
    texts = dict(params(trace, event))
    return [(name, texts.get(name, "")) for name, _ in trace.ops[event.op].params]


def _call(trace: Trace, node: Node) -> str:
    if isinstance(node, Sequence):
        return "loop"
    stack = trace.stack(node.signature)
    return f"{trace.ops[node.op].name}  {short_frame(call_site(stack))}".strip()
