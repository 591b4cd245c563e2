"""Kinds of the parameters of MPI operations, which check that a file gives no datatype for a number."""

from __future__ import annotations

from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import Kind, Op

__all__ = ["KINDS", "check_schema"]

_NAMES = {
    Kind.INT: "color count disp disp_unit fh flag high in_place indegree index key length local_leader"
    " maxprocs message n ndims nnodes offset origin_count outdegree partition partition_high partition_low"
    " partitions rank recvcount recvtag remote_leader reorder request result_count root sendcount sendtag"
    " size source tag target_count target_disp win",
    Kind.PEER: "dest local_leader rank source target_rank",
    Kind.COMM: "comm newcomm peer_comm",
    Kind.TYPE: "datatype etype filetype origin_datatype recvtype recvtypes result_datatype sendtype sendtypes"
    " target_datatype",
    Kind.STRING: "amode assert command datarep filename lock_type memory op port_name split_type"
    " stringtag whence",
    Kind.ARRAY: "array_of_maxprocs array_of_partitions degrees destinations destweights dims displs edges"
    " group index local_group periods rdispls recvcounts remain_dims remote_group requests sdispls sendcounts"
    " sources sourceweights weights",
}
KINDS: dict[str, set[Kind]] = {}
"""Parameter -> its kinds; a few names are of another kind in queries, or in one more operation."""
for _kind, _words in _NAMES.items():
    for _name in _words.split():
        KINDS.setdefault(_name, set()).add(_kind)

NUMBERED_PER_COMM = {"win", "fh"}
"""Windows and files are known by how many were made before on their communicator."""


def check_schema(op: Op) -> None:
    """Raise ValueError where a schema contradicts the standard's parameters of its operation, or itself."""
    names = {name for name, _ in op.params}
    if "comm" not in names and (numbered := names & NUMBERED_PER_COMM):
        raise ValueError(f"{op.name} has {min(numbered)}, but not the communicator that this is numbered on")
    row = operation(op.name)
    if row.category is Category.OTHER:
        return  # not of the standard
    peers = row.peers
    for name, kind in op.params:
        expected = {Kind.PEER} if name in peers else KINDS.get(name, {kind})
        if kind not in expected:
            wanted = " or ".join(sorted(one.name for one in expected))
            raise ValueError(f"parameter {name} of {op.name} is of kind {kind.name}, not {wanted}")
