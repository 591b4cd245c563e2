"""Leave-one-out check of an extrapolation: predict each input trace from the others and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalatrace.extrap.errors import ExtrapolationError, InputError
from scalatrace.extrap.extrapolate import inputs_of, model_of, of_model
from scalatrace.extrap.grid.observed import Observed
from scalatrace.extrap.grid.topology import identify
from scalatrace.trace.query.diff import diff

if TYPE_CHECKING:
    from scalatrace import Trace

__all__ = ["Prediction", "leave_one_out"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Comparison of one trace with its prediction from the others.

    Attributes:
        left_out: its ranks and grid.
        events: of the real trace.
        ranks_differing: ranks with an event that was predicted otherwise; all of them when nothing could be.
        first: the first difference, or why there is no prediction; "" when there is none.
    """

    left_out: str
    events: int
    ranks_differing: int
    first: str

    @property
    def exact(self) -> bool:
        """Return whether every event of every rank was predicted."""
        return not self.first

    def plain(self) -> dict[str, Any]:
        """Return the prediction as plain data."""
        return {
            "left_out": self.left_out,
            "events": self.events,
            "ranks_differing": self.ranks_differing,
            "first": self.first,
        }


def leave_one_out(
    traces: Sequence[Trace], dims_of: Sequence[Sequence[int]] | None = None
) -> Iterator[Prediction]:
    """Yield a prediction of each trace by the lightest formulas of the others, compared with that trace.

    Raises:
        InputError: there are fewer than three traces.
    """
    if len(traces) < 3:
        raise InputError("to predict one trace from the others there must be at least three")
    order = sorted(range(len(traces)), key=lambda k: traces[k].nprocs)
    ordered = [traces[k] for k in order]
    grids = (
        [grid.dims for grid in identify(ordered, list(map(Observed, ordered))).grids]
        if dims_of is None
        else [tuple(dims_of[k]) for k in order]
    )
    for k, trace in enumerate(ordered):
        inputs = [t for n, t in enumerate(ordered) if n != k]
        known = [dims for n, dims in enumerate(grids) if n != k]
        name = f"{trace.nprocs} ranks ({'x'.join(map(str, grids[k]))})"
        try:
            model = model_of(inputs, known)[1]
            result = of_model(model, trace.nprocs, grids[k], inputs_of(trace), accept_unconfirmed=True)
        except ExtrapolationError as error:
            yield Prediction(name, trace.nevents(), trace.nprocs, str(error).splitlines()[0])
            continue
        differences = diff(result.trace, trace, ["times"])
        yield Prediction(name, trace.nevents(), len(differences), str(differences[0]) if differences else "")
