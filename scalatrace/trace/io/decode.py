"""Decode msgpack's plain values to the objects of a trace; functions take one entry and raise ValueError."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Elastic
from scalatrace.trace.model.nodes import Event, Param, Peer, PredStats
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import (
    MAX_RESOLUTION,
    Datatype,
    Family,
    IntArray,
    Kind,
    Op,
    RecordedStat,
    SharedKind,
    UseName,
    is_resolution,
)
from scalatrace.trace.model.trace_tables import LOAD_STEPS, OLD_LOAD_STEPS
from scalatrace.trace.model.typetree import parse
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.histogram_columns import ColumnReader
from scalatrace.trace.values.ranklist import MAX_RANK, RankList
from scalatrace.trace.values.vec import INT64, Vec

__all__ = [
    "array",
    "arrays",
    "datatype",
    "event",
    "family",
    "load",
    "name",
    "natural",
    "nprocs",
    "op",
    "pred",
    "ranks",
    "repeat",
    "signature",
    "signatures",
    "stat",
    "text",
    "turns",
    "uses",
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Fields = dict[str, Any]
"""The fields read so far."""

MAX_ARRAY = MAX_RANK
"""Values of an array parameter."""


def natural(raw: object) -> int:
    """Decode an integer of at least 0 within 64 bits."""
    if type(raw) is not int or raw < 0 or raw not in INT64:
        raise ValueError(f"{raw!r:.60} is not an integer of at least 0 and at most 63 bits")
    return raw


def text(raw: object) -> str:
    """Decode a string."""
    if type(raw) is not str:
        raise ValueError(f"{raw!r:.60} is not a string")
    try:
        raw.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError("a string is not valid UTF-8: it has half of a surrogate pair") from None
    return raw


def name(raw: object) -> str:
    """Decode the name of an operation or a parameter, which becomes a name in generated programs."""
    if type(raw) is not str or not _NAME.fullmatch(raw):
        raise ValueError(
            f"{raw!r:.60} is not a name of ASCII letters, digits and underscores without leading digit"
        )
    return raw


def nprocs(raw: object) -> int:
    """Decode the number of ranks."""
    count = natural(raw)
    if not 1 <= count <= MAX_RANK:
        raise ValueError(f"nprocs {count} is not between 1 and {MAX_RANK}")
    return count


def ranks(raw: object, fields: Fields) -> RankList:
    """Decode a ranklist within the run."""
    ranklist = RankList.from_terms(raw, fields["nprocs"])
    if not len(ranklist):
        raise ValueError("the trace has no ranks")
    return ranklist


def _parts(raw: object, name: str, *widths: int) -> tuple[Any, ...]:
    if type(raw) is not tuple or (widths and len(raw) not in widths):
        raise ValueError(f"{name} has a wrong number of parts")
    return raw


def op(raw: object, fields: Fields) -> Op:
    """Decode [name, [pname, kind, ...]]."""
    op_name, params = _parts(raw, "an operation", 2)
    if len(_parts(params, "a schema")) % 2:
        raise ValueError("a schema has a parameter without a kind")
    pairs = zip(params[::2], params[1::2], strict=True)
    return Op(name(op_name), tuple((name(pname), Kind(natural(kind))) for pname, kind in pairs))


def stat(raw: object, fields: Fields) -> RecordedStat:
    """Decode [name, resolution]."""
    stat_name, resolution = _parts(raw, "a statistic", 2)
    if not is_resolution(resolution):
        raise ValueError(f"statistic {stat_name!r:.50} has a resolution beyond {MAX_RESOLUTION:g} or none")
    return RecordedStat(text(stat_name), float(resolution))


def signature(raw: object, fields: Fields) -> tuple[int, ...]:
    """Decode [index into frames, ...]."""
    return tuple(natural(frame) for frame in _parts(raw, "a signature"))


MAX_FRAMES = 4096
"""Frames of a stack signature."""


def signatures(raws: Iterable[object]) -> list[tuple[int, ...]]:
    """Decode a list of [outermost frames shared with the signature before, index into frames, ...]."""
    stacks: list[tuple[int, ...]] = []
    for raw in raws:
        shared, *frames = signature(raw, {}) or (MAX_FRAMES + 1,)
        before = stacks[-1] if stacks else ()
        if shared > len(before) or shared + len(frames) > MAX_FRAMES:
            raise ValueError(
                f"signature {len(stacks)} shares more frames than its "
                f"predecessor has, or exceeds {MAX_FRAMES} frames"
            )
        stacks.append((*frames, *before[len(before) - shared :]))
    return stacks


def family(raw: object, fields: Fields) -> Family:
    """Decode [kind, parent, sizes, members(, remote sizes, remote members)]."""
    kind, parent, *vecs = _parts(raw, "a communicator", 4, 6)
    if type(parent) is not int:
        raise ValueError(f"the parent of communicator family {kind!r:.60} is not an index")
    decoded = [Vec.decode(vec) for vec in vecs]
    return Family(text(kind), parent, *decoded)


def datatype(raw: object, fields: Fields) -> Datatype:
    """Decode [description, size, extent]."""
    description, size, extent = _parts(raw, "a datatype", 3)
    if type(size) is not int or type(extent) is not int or size not in INT64 or extent not in INT64:
        raise ValueError(f"the size or extent of datatype {description!r:.60} is no integer of 64 bits")
    parse(text(description))
    return Datatype(description, size, extent)


def arrays(raws: Iterable[object]) -> list[IntArray]:
    """Decode a list of [length, vec], [length, vec, 1] if relative, or [index] of an array to be summed."""
    decoded: list[IntArray] = []
    for raw in raws:
        if type(raw) is tuple and len(raw) == 1:
            if natural(raw[0]) >= len(decoded) or decoded[raw[0]].summed:
                raise ValueError(
                    f"array {len(decoded)} is the sums of array {raw[0]}, which does not precede it"
                )
            decoded.append(decoded[raw[0]].sums())
        else:
            decoded.append(array(raw, {}))
    return decoded


def array(raw: object, fields: Fields) -> IntArray:
    """Decode [length, vec]; return it, whether it is relative, and whether its sums are meant."""
    length, terms, *flags = _parts(raw, "an array", 2, 3, 4)
    vec = Vec.decode(terms)
    if natural(length) > MAX_ARRAY or (vec.length is not None and vec.length < length):
        raise ValueError(f"an array of length {length} has too few values")
    relative, summed = (*map(bool, flags), False, False)[:2]
    return IntArray(length, vec, summed, relative)


def pred(raw: object, fields: Fields) -> tuple[int, int]:
    """Decode [op, signature]."""
    op_index, signature_index = _parts(raw, "a predecessor", 2)
    if type(op_index) is not int or op_index < -1:
        raise ValueError(f"the operation {op_index!r:.60} of a predecessor is not an index")
    return op_index, natural(signature_index)


MAX_LOAD_STEP = 1023
"""Steps of a rank's load; 24 bits of ranks times LOAD_STEPS are fewer."""


def load(raw: object, fields: Fields) -> Vec | None:
    """Decode nil, {steps: vec over the ranks}, or the vec alone with steps of an older file."""
    if raw is None:
        return None
    steps, terms = raw.popitem() if type(raw) is dict and len(raw) == 1 else (OLD_LOAD_STEPS, raw)
    if type(steps) is not int or steps < 1 or LOAD_STEPS % steps:
        raise ValueError(f"a load has {steps!r:.60} steps in a factor of two, no divisor of {LOAD_STEPS}")
    vec = Vec.decode(terms)
    if vec.length is not None and vec.length < len(fields.get("ranks", ())):
        raise ValueError("a load has fewer values than the trace has ranks")
    ends = vec.bounded(len(fields.get("ranks", ())))
    most = MAX_LOAD_STEP * steps // LOAD_STEPS
    if any(end is not None and abs(end) > most for end in (ends.smallest(), ends.largest())):
        raise ValueError(f"a load is not between -{most} and {most}")
    return vec.times(LOAD_STEPS // steps)


def turns(raw: object, fields: Fields) -> tuple[int, Elastic]:
    """Decode [communicator family, threads in the order of collective calls]."""
    family_index, order = _parts(raw, "an order of threads", 2)
    return natural(family_index), _order(order, fields, "a communicator")


def uses(raw: object, fields: Fields) -> tuple[UseName, Elastic]:
    """Decode [kind, thread or communicator family, uses of objects by threads]."""
    kind, name, order = _parts(raw, "uses of threads", 3)
    return (SharedKind(natural(kind)), natural(name)), _order(order, fields, "an object")


def _order(raw: object, fields: Fields, what: str) -> Elastic:
    value = repeat(raw, fields["nprocs"])
    if isinstance(value, elastic.Formulas):
        raise ValueError(f"the order of threads on {what} has formulas")
    if any(vec.length is None for vec in elastic.vecs(value)):
        raise ValueError(f"the order of threads on {what} has no end")
    return value


def repeat(raw: object, n: int) -> Elastic:
    """Decode the repeat of a node in a run of n ranks."""
    value = elastic.decode(raw, n)
    if isinstance(value, elastic.Summary):
        raise ValueError("the repeat of a node is a histogram")
    if isinstance(value, elastic.Formulas):
        return value  # checked when evaluated
    for vec in elastic.vecs(value):
        low = vec.smallest()
        if vec.terms != () and (low is None or low < 0):
            raise ValueError("the repeat of a node is negative")
    return value


def event(
    repeats: Elastic, op_index: object, site: object, params: object, stats: object, fields: Fields
) -> Event:
    """Decode [repeat, op, signature, [parameter, ...], statistics]."""
    ops, op_number, signature_number = fields.get("ops", []), natural(op_index), natural(site)
    if op_number >= len(ops):
        raise ValueError(f"there is no operation {op_number}")
    if signature_number >= len(fields.get("signatures", [])):
        raise ValueError(f"there is no signature {signature_number}")
    op_name, schema = ops[op_number].name, ops[op_number].params
    raws = _parts(params, f"the parameter list of {op_name}", len(schema))
    decoded = tuple(
        _param(raw, name, kind, op_name, fields["nprocs"])
        for raw, (name, kind) in zip(raws, schema, strict=True)
    )
    samples = tuple(_stats(raw, fields) for raw in _parts(stats, "statistics"))
    return Event(repeats, op_number, signature_number, decoded, samples)


def _param(raw: object, name: str, kind: Kind, op_name: str, n: int) -> Param:
    """Return the value of a parameter. Errors name parameter and operation."""
    try:
        if kind is Kind.PEER:
            encoding, encoded = _parts(raw, "a peer", 2)
            return Peer(Encoding(natural(encoding)), elastic.decode(encoded, n))
        value = elastic.decode(raw, n)
        if isinstance(value, elastic.Formulas) and kind is not Kind.INT:
            raise ValueError(f"the index of a table entry ({kind.name}) cannot have formulas")
        return value
    except ValueError as error:
        raise ValueError(f"parameter {name!r} of {op_name}: {error}") from None


def _stats(raw: object, fields: Fields) -> PredStats:
    pred_index, *hists = _parts(raw, "the statistics after a predecessor") or (None,)
    if natural(pred_index) >= len(fields.get("preds", [])):
        raise ValueError(f"there is no predecessor {pred_index}")
    if len(hists) != len(fields.get("stats", [])):
        raise ValueError("an event does not have one histogram per statistic")
    return PredStats(pred_index, tuple(None if h is None else _histogram(h, fields) for h in hists))


def _histogram(raw: object, fields: Fields) -> Histogram:
    """Return an integer or bytes, or true: the next one of the columns."""
    if raw is not True:
        return Histogram.decode(raw)
    if "histograms" not in fields:
        raise ValueError("a histogram is in columns, which do not come before the nodes")
    columns: ColumnReader = fields["histograms"]
    return columns.next()
