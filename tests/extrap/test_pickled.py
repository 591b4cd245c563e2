"""Messages of pickled objects, whose length has another form from 256 bytes on."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest

from scalatrace.extrap.errors import ExtrapolationError, UndeterminedError
from scalatrace.extrap.extrapolate import extrapolate
from scalatrace.trace.query.diff import diff
from support.calls import IssuedCall, call
from support.grids import Body, Rank, trace_of

BYTES_PER_RANK = 48


def _ring(rank: Rank, count: int, datatype: str) -> list[IssuedCall]:
    nprocs = rank.dims[0]
    peers = {"dest": (rank.number + 1) % nprocs, "source": (rank.number - 1) % nprocs}
    counts = {"sendcount": count, "recvcount": count}
    types = {"sendtype": datatype, "recvtype": datatype}
    return [call("Sendrecv", 1, comm="world", **peers, **counts, **types)] * 3


def pickled_bytes(rank: Rank) -> list[IssuedCall]:
    """As `comm.sendrecv(bytes(48 * size))`."""
    return _ring(rank, len(pickle.dumps(bytes(BYTES_PER_RANK * rank.dims[0]), 4)), "MPI_BYTE")


def other_numbers(rank: Rank) -> list[IssuedCall]:
    """The same numbers, of integers."""
    return _ring(rank, len(pickle.dumps(bytes(BYTES_PER_RANK * rank.dims[0]), 4)), "MPI_INT")


def _extrapolated(body: Body, sides: Sequence[int], target: int) -> list[str]:
    lines = [(side,) for side in sides]
    result = extrapolate([trace_of(body, dims) for dims in lines], target, (target,), dims_of=lines)
    return diff(result.trace, trace_of(body, (target,)), ["times"])


@pytest.mark.parametrize("target", [3, 16])
def test_form_changes_between_traces(target: int) -> None:
    """From 6 ranks on the lengths are 3 bytes longer."""
    assert _extrapolated(pickled_bytes, [4, 5, 6, 7], target) == []


def test_result_between_forms_is_refused() -> None:
    """No trace shows whether 6 ranks have the one form or the other."""
    with pytest.raises(UndeterminedError, match=r"add a trace of 6 ranks|cannot tell"):
        _extrapolated(pickled_bytes, [3, 4, 5, 7, 8], 6)


def test_other_datatypes_are_no_pickled_objects() -> None:
    with pytest.raises(ExtrapolationError, match="no formula found for sendcount"):
        _extrapolated(other_numbers, [4, 5, 6, 7], 16)
