"""MPI operations by their form in coNCePTuaL, and the number in place of MPI_PROC_NULL."""

from __future__ import annotations

from scalatrace.operations import Category
from scalatrace.trace.values.vec import PROC_NULL

__all__ = [
    "COMPLETIONS", "EXCHANGES", "INITS", "NO_TASK", "PROBES", "RECEIVES", "SENDS", "SILENT",
    "ParameterNames",
]  # fmt: skip

SENDS = frozenset({"Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend"})
RECEIVES = frozenset({"Recv", "Irecv", "Mrecv", "Imrecv"})
EXCHANGES = frozenset({"Sendrecv", "Sendrecv_replace"})
INITS = frozenset({"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init"})
PROBES = frozenset({"Probe", "Iprobe", "Mprobe", "Improbe"})
COMPLETIONS = frozenset({
    "Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Request_free",
})  # fmt: skip

SILENT = frozenset({Category.COMMUNICATOR, Category.DATATYPE, Category.ENVIRONMENT})
"""Operations without a statement: communicators are sets of tasks, messages have a size only."""


NO_TASK = PROC_NULL

ParameterNames = tuple[str, str, str, str]
"""How a call names count, datatype, peer and tag."""
