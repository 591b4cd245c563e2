"""Which procedures are events, and what of each parameter an event holds. By kind, exceptions by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from scalatrace.pmpi.standard import Procedure, ProcedureParameter

__all__ = [
    "ANNOTATION", "ARRAY", "COMM", "INT", "MEMORY", "PEER", "STRING", "TYPE",
    "ParameterRole", "Value", "allows_in_place", "buffers", "communicator", "condition", "ends_split",
    "frees", "in_place_buffer", "is_counted", "is_event", "length", "made_communicator", "refers", "role",
    "values",
]  # fmt: skip

INT, PEER, COMM, TYPE, STRING, ARRAY = range(6)

_COLLECTIVE = (
    "Barrier|Bcast|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Reduce|Allreduce|Reduce_scatter(_block)?|Scan|Exscan"
    "|Neighbor_all(gatherv?|toall[vw]?)"
)
_COLLECTIVE_I = _COLLECTIVE[0].lower() + re.sub(r"(?<=\|)[A-Z]", lambda m: m.group().lower(), _COLLECTIVE)[1:]
_EVENTS = re.compile(
    "|".join(
        (
            "[BSR]?[Ss]end|Recv|Sendrecv(_replace)?|I[bsr]?send|Irecv|Isendrecv(_replace)?",
            "([BSR]?[Ss]end|Recv|Psend|Precv)_init|I?m?[Pp]robe|Mprobe|Improbe|I?[Mm]recv",
            "Wait(all|any|some)?|Test(all|any|some)?|Start(all)?|Request_free|Cancel|Request_get_status",
            "Pready(_range|_list)?|Parrived",
            f"({_COLLECTIVE})(_init)?|I({_COLLECTIVE_I}).*",
            "Comm_(dup|dup_with_info|idup|idup_with_info|create|create_group|create_from_group|split|split_type)",
            "Comm_(free|disconnect|spawn|spawn_multiple|connect|accept)",
            "Cart_create|Cart_sub|Graph_create|Dist_graph_create(_adjacent)?|Intercomm_(create|create_from_groups|merge)",
            "Win_(create|create_dynamic|allocate|allocate_shared|free|fence|start|post|complete|wait|test|sync)",
            "Win_(lock|unlock|flush|flush_local)(_all)?",
            "R?(put|get|accumulate|get_accumulate)|Put|Get|Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap",
            "File_(open|close|set_size|preallocate|set_view|sync|set_atomicity|seek|seek_shared)",
            "File_i?(read|write)(_at|_all|_at_all|_shared|_ordered)?(_begin|_end)?",
        )
    )
)
BY_HAND = frozenset(
    {"Init", "Init_thread", "Finalize", "Abort", "Pcontrol", "Session_init", "Session_finalize"}
)
"""Wrapped by hand, in `process/lifecycle.c`."""
_VERSIONS = frozenset({"Get_version", "Get_library_version", "Abi_get_version"})
"""Programs look for these functions to find an MPI; they must not find them in the tracer."""
_IN_PLACE = re.compile(
    r"I?(gatherv?|allgatherv?|alltoall[vw]?|reduce|allreduce|reduce_scatter(_block)?|scan|exscan|scatterv?)(_init)?",
    re.I,
)
_SKIPPED = frozenset(
    (
        *("BUFFER", "C_BUFFER", "C_BUFFER2", "C_BUFFER3", "C_BUFFER4"),
        *("STRING_ARRAY", "STRING_2DARRAY", "ARGUMENT_LIST", "VARARGS"),
        *("INFO", "ERRHANDLER", "STATUS", "SESSION", "ERROR_CODE"),
        *("FUNCTION", "FUNCTION_SMALL", "EXTRA_STATE", "ATTRIBUTE_VAL", "KEYVAL"),
    )
)
_FLAGS = {
    "LOCK_TYPE": "st_lock_name",
    "UPDATE_MODE": "st_whence_name",
    "ACCESS_MODE": "st_amode_name",
    "ASSERT": "st_assert_name",
    "SPLIT_TYPE": "st_split_name",
}
_ELEMENTS = {"int": "st_ints", "MPI_Aint": "st_aints", "MPI_Count": "st_counts_array"}


class ParameterRole(IntEnum):
    """How a call is selected; the numbers are those of `enum st_role`."""

    SELECTABLE = 0  # by the user's conditions
    ALWAYS = 1  # later events refer to what it makes or frees
    FOLLOWS = 2  # recorded with the calls that made what it refers to


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an event: its name and kind in the schema, and the C expression that gives it."""

    name: str
    kind: int
    text: str


ANNOTATION = [
    Value("level", INT, ""),
    Value("kernel", STRING, ""),
    *(Value(f"size{i}", INT, "") for i in range(4)),
]
"""The values of a Pcontrol event (recording/annotations.c): single sizes, since arrays have no rules."""


MEMORY = Value("memory", STRING, "")
"""Where the buffers of a call lie, on machines with GPUs (recording/memory.c)."""


def buffers(procedure: Procedure) -> list[str]:
    """Return the C expressions of the buffers of an event; MPI_IN_PLACE where one means nothing."""
    if not is_event(procedure):
        return []
    lengths = []
    for p in procedure.parameters:
        if p.kind == "BUFFER":
            when = condition(procedure, p)
            lengths.append(f"{when} ? {p.name} : MPI_IN_PLACE" if when else p.name)
    return lengths


def is_event(procedure: Procedure) -> bool:
    """Whether calls are recorded: they move data, make communicators, or complete what does."""
    return _EVENTS.fullmatch(procedure.op) is not None


def is_counted(procedure: Procedure) -> bool:
    """Whether calls are only counted: local queries."""
    left_out = procedure.op in BY_HAND | _VERSIONS or procedure.op.startswith("T_")
    return not left_out and not is_event(procedure)


def allows_in_place(procedure: Procedure) -> bool:
    return _IN_PLACE.fullmatch(procedure.op) is not None


def in_place_buffer(procedure: Procedure) -> str:
    """The buffer that may be MPI_IN_PLACE: what a scatter's root receives, what all others send."""
    return "recvbuf" if "scatter" in procedure.op.lower() and "root" in _names(procedure) else "sendbuf"


def values(procedure: Procedure) -> list[Value]:
    """The values of the procedure's event, in the order of its parameters."""
    result = [value for p in procedure.parameters for value in _values_of(procedure, p)]
    if allows_in_place(procedure):
        result.append(Value("in_place", INT, "in_place"))
    return result


def communicator(procedure: Procedure) -> ProcedureParameter | None:
    """The communicator of the event."""
    return next(
        (
            p
            for p in procedure.parameters
            if p.kind == "COMMUNICATOR" and not _makes_communicator(procedure, p)
        ),
        None,
    )


def made_communicator(procedure: Procedure) -> ProcedureParameter | None:
    return next((p for p in procedure.parameters if _makes_communicator(procedure, p)), None)


def frees(procedure: Procedure) -> bool:
    return procedure.op in ("Comm_free", "Comm_disconnect", "Win_free", "File_close")


def role(procedure: Procedure) -> ParameterRole:
    """What decides whether a call is recorded where not all calls are."""
    if not is_event(procedure):
        return ParameterRole.SELECTABLE
    makes = any(p.kind in ("WINDOW", "FILE") and p.direction == "OUT" for p in procedure.parameters)
    if makes or frees(procedure) or made_communicator(procedure):
        return ParameterRole.ALWAYS
    return ParameterRole.FOLLOWS if refers(procedure) or ends_split(procedure) else ParameterRole.SELECTABLE


def refers(procedure: Procedure) -> ProcedureParameter | None:
    """The requests or the matched message that a call was given."""
    return next(
        (
            p
            for p in procedure.parameters
            if (p.kind == "REQUEST" and p.direction != "OUT")
            or (p.kind == "MESSAGE" and p.direction == "INOUT")
        ),
        None,
    )


def ends_split(procedure: Procedure) -> bool:
    """Whether it is the second half of a split collective."""
    return procedure.op.startswith("File_") and procedure.op.endswith("_end")


def _names(procedure: Procedure) -> set[str]:
    return {p.name for p in procedure.parameters}


def _makes_communicator(procedure: Procedure, p: ProcedureParameter) -> bool:
    return p.kind == "COMMUNICATOR" and p.is_out and not frees(procedure)


def _values_of(procedure: Procedure, p: ProcedureParameter) -> list[Value]:
    if p.kind in ("WINDOW", "FILE"):
        return _object(procedure, p)
    if p.kind in _SKIPPED or (p.is_out and p.kind not in ("COMMUNICATOR", "REQUEST", "MESSAGE")):
        return []
    if any(q.kind == "REQUEST" and q.length == p.name for q in procedure.parameters):
        return []  # the array of requests has its length
    if p.kind == "COMMUNICATOR":
        return [_communicator(procedure, p)]
    if p.kind == "REQUEST":
        return _request(procedure, p)
    if p.kind == "MESSAGE":
        return [Value("message", INT, "st_message_age(call)")] if p.direction == "INOUT" else []
    return [_array(procedure, p) if p.is_array else _scalar(procedure, p)]


def _object(procedure: Procedure, p: ProcedureParameter) -> list[Value]:
    """A window or file is its ordinal on a communicator; a call that makes one has that anyway."""
    noun, name = ("win", "win") if p.kind == "WINDOW" else ("file", "fh")
    if frees(procedure):
        number = "st_set_removed_object(call)"
    elif p.direction == "OUT":
        return [Value(name, INT, f"st_{noun}_created(call, comm, *{p.name})")]
    else:
        number = f"st_set_{noun}(call, {p.name})"
    return [Value(name, INT, number), Value("comm", COMM, "(int64_t)call->comm->name")]


def _communicator(procedure: Procedure, p: ProcedureParameter) -> Value:
    if frees(procedure):
        return Value("comm", COMM, "(int64_t)call->freed_comm.name")
    event_comm = communicator(procedure)
    if not _makes_communicator(procedure, p):
        name = "comm" if p is event_comm else p.name
        guarded = (
            f"call->event.self == local_leader ? {p.name} : MPI_COMM_NULL" if name == "peer_comm" else p.name
        )
        return Value(name, COMM, f"(int64_t)st_comm_name({guarded})")
    parent = event_comm.name if event_comm else "MPI_COMM_NULL"
    if "_idup" in procedure.op:
        return Value("newcomm", COMM, f'(int64_t)st_comm_idup(call, "dup", {parent}, {p.name})')
    return Value(
        "newcomm",
        COMM,
        f'(int64_t)st_comm_created(call, "{_family_kind(procedure.op)}", {parent}, *{p.name})',
    )


def _family_kind(op: str) -> str:
    """ "split" for Comm_split, "cart" for Cart_create, "intercomm", "merge", ..."""
    special = {
        "Comm_accept": "connect",  # the two sides of one communicator
        "Comm_dup_with_info": "dup",
        "Comm_spawn_multiple": "spawn",
        "Intercomm_merge": "merge",
    }
    if op in special:
        return special[op]
    name = op.removeprefix("Comm_")
    return re.sub(r"_create(_adjacent|_from_groups)?$", "", name).lower()


def _request(procedure: Procedure, p: ProcedureParameter) -> list[Value]:
    if p.direction == "OUT":
        return []  # the newest: 0
    if p.is_array:
        return [Value("requests", ARRAY, f"(int64_t)st_requests(call, {p.name}, {p.length})")]
    age = f"st_request(call, {p.name}, 0)" if "*" in p.text else f"st_request_value(call, {p.name})"
    return [Value("request", INT, age)]


def condition(procedure: Procedure, p: ProcedureParameter) -> str:
    """When the parameter means anything: only at the root, not in place; "" is always."""
    rooted = any(q.root_only for q in procedure.parameters) and procedure.has("root")
    terms = []
    if rooted and p.root_only:
        terms.append("at_root")
    elif rooted and p.name.startswith(("send", "recv")):
        terms.append("at_leaf")
    if allows_in_place(procedure) and _ignored_in_place(procedure, p):
        terms.append("!in_place")
    return " && ".join(terms)


def _ignored_in_place(procedure: Procedure, p: ProcedureParameter) -> bool:
    side = in_place_buffer(procedure)[:4]
    return p.name in {f"{side}{suffix}" for suffix in ("count", "counts", "type", "types")} | {
        f"{side[0]}displs"
    }


def _scalar(procedure: Procedure, p: ProcedureParameter) -> Value:
    when = condition(procedure, p)
    if p.kind == "DATATYPE":
        text = f"{when} ? {p.name} : MPI_DATATYPE_NULL" if when else p.name
        return Value(p.name, TYPE, f"(int64_t)st_type({text})")
    if p.kind in ("OPERATION", "STRING") or p.kind in _FLAGS:
        return Value(p.name, STRING, _text(p, when))
    if p.kind == "GROUP":
        return Value(p.name, ARRAY, f"(int64_t)st_group(call, {p.name})")
    kind, text = _number(procedure, p)
    return Value(p.name, kind, f"{when} ? {text} : ST_UNDEFINED" if when else text)


def _text(p: ProcedureParameter, condition: str) -> str:
    if p.kind == "STRING":
        condition_there = f"{condition} && {p.name}" if condition else p.name
        return f'(int64_t)st_text({condition_there} ? {p.name} : "")'
    function = _FLAGS.get(p.kind, "st_op_name")
    return f"(int64_t){function}({p.name})"


def _number(procedure: Procedure, p: ProcedureParameter) -> tuple[int, str]:
    if p.kind in ("RANK", "RANK_NNI"):
        of_a_group = made_communicator(procedure) and not communicator(procedure)  # no caller's rank is known
        relative = p.name not in ("root", "remote_leader") and not of_a_group
        return (PEER if relative else INT), f"st_rank({p.name})"
    if p.kind == "TAG":
        return INT, f"st_tag({p.name})"
    if p.kind.startswith("LOGICAL"):
        return INT, f"{p.name} != 0"
    return INT, f"st_int({p.name})" if p.base == "int" else f"(int64_t){p.name}"


def _array(procedure: Procedure, p: ProcedureParameter) -> Value:
    n, when = length(procedure, p), condition(procedure, p)
    if p.kind == "DATATYPE":
        n = f"{when} ? {n} : 0" if when else n
        return Value(p.name, TYPE, f"(int64_t)st_types(call, {p.name}, {n})")
    function = "st_ranks" if p.kind.startswith("RANK") else _ELEMENTS.get(p.base, "st_ints")
    if p.kind == "WEIGHT":
        function = "st_weights"
    text = f"{function}({p.name}, {n})"
    return Value(p.name, ARRAY, f"(int64_t)({when} ? {text} : st_no_array())" if when else f"(int64_t){text}")


def length(procedure: Procedure, p: ProcedureParameter) -> str:
    """How many elements an array has, where the standard's database only says "*"."""
    if p.length not in ("*", ""):
        return p.length
    op = procedure.op.lower()
    if "neighbor" in op:
        return "outdegree" if p.name.startswith("s") else "indegree"
    if op.startswith("dist_graph"):
        return {"sourceweights": "indegree", "destweights": "outdegree"}.get(p.name, "st_sum(degrees, n)")
    if op == "graph_create":
        return "(nnodes > 0 ? index[nnodes - 1] : 0)"
    if op == "cart_sub":
        return "st_comm_ndims(comm)"
    if "reduce_scatter" in op:
        return "call->comm->local_size"
    return "call->event.size"
