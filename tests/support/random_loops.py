"""Random loops of messages, waits and barriers, with computation on some ranks."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import BYTE, Builder, Comm, To
from support.lowered import on


def both(nbytes: int, tag: int = 0) -> dict[str, Any]:
    return {"count": nbytes, "datatype": BYTE, "tag": tag, "comm": Comm()}


@st.composite
def loops(draw: Any, wild: bool = True) -> Trace:
    """A loop of shifts, exchanges, receives from any source and barriers, with computation on some ranks."""
    n = draw(st.integers(2, 6))
    b = Builder(n)
    nodes = []
    for tag in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["shift", "line", "barrier", "exchange"] + ["any"] * wild))
        ns = Histogram.of(draw(st.sampled_from([0, 10, 1000, 5000])))
        data = both(draw(st.sampled_from([0, 8, 64, 400])), tag)
        some = on(dict.fromkeys(range(draw(st.integers(0, n - 1)), n), 1))
        nodes.append(b.event("Pcontrol", repeat=some, level=1, compute=ns))
        if kind == "barrier":
            nodes.append(b.event("Barrier", comm=Comm()))
        elif kind == "any":  # from each rank a message, and another one that it may not overtake
            others = on(dict.fromkeys(range(1, n), 1))
            for rank in range(1, n):
                mine = Histogram.of((0, 17, 101, 257, 619, 1031)[rank])  # no two messages arrive at one time
                nodes.append(b.event("Pcontrol", repeat=on({rank: 1}), level=1, compute=mine))
            nodes.append(b.event("Send", repeat=others, dest=0, **data))
            nodes.append(b.event("Send", repeat=others, dest=0, **both(draw(st.sampled_from([0, 300])), tag)))
            nodes.append(b.event("Recv", repeat=on({0: 2 * n - 2}), source=ANY_SOURCE, **both(400, tag)))
        elif kind == "line":  # a wavefront
            nodes.append(
                b.event(
                    "Recv",
                    repeat=on(dict.fromkeys(range(1, n), 1)),
                    source=To(Encoding.RELATIVE, Vec(-1)),
                    **data,
                )
            )
            nodes.append(
                b.event(
                    "Send",
                    repeat=on(dict.fromkeys(range(n - 1), 1)),
                    dest=To(Encoding.RELATIVE, Vec(1)),
                    **data,
                )
            )
        else:
            step = 1 if kind == "shift" else draw(st.integers(0, n - 1))
            nodes.append(b.event("Irecv", source=To(Encoding.MODULO, Vec(-step % n)), **data))
            nodes.append(b.event("Isend", dest=To(Encoding.MODULO, Vec(step)), **data))
            if draw(st.booleans()):
                nodes.append(b.event("Waitall", requests=(1, 0)))
            else:  # a trace names what a Waitsome completed
                nodes.append(b.event("Waitsome", requests=(0,)))
                nodes.append(b.event("Waitsome", requests=(0,)))
    return b.of(
        b.loop(draw(st.sampled_from([1, 3, 12, 30])), *nodes), b.event("Barrier", comm=Comm()), every=True
    )
