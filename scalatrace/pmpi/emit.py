"""C text of the wrappers: a recorder per procedure, shared by its C and Fortran entries, and the entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scalatrace.operations import Category, communicates, is_collective, may_overlap, operation
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.selection import roles, selection
from scalatrace.pmpi.standard import Procedure, ProcedureParameter

__all__ = ["c_entry", "fortran_entries", "needs_fortran", "op_table", "recorder", "schema"]

_COMPLETION = frozenset(
    ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Request_free")
)
_AGREED = frozenset({"Comm_create_group", "Intercomm_create"})
_TAGGED = frozenset({"Comm_create_from_group", "Intercomm_create_from_groups"})
_TRACKED = frozenset({"REQUEST", "MESSAGE", "COMMUNICATOR", "WINDOW", "FILE"})
_FREED = {"COMMUNICATOR": "comm", "WINDOW": "win", "FILE": "file"}
_F2C = {
    "COMMUNICATOR": "PMPI_Comm_f2c",
    "DATATYPE": "PMPI_Type_f2c",
    "OPERATION": "PMPI_Op_f2c",
    "GROUP": "PMPI_Group_f2c",
    "WINDOW": "PMPI_Win_f2c",
    "FILE": "PMPI_File_f2c",
    "MESSAGE": "PMPI_Message_f2c",
    "REQUEST": "PMPI_Request_f2c",
    "ERRHANDLER": "PMPI_Errhandler_f2c",
}
_AWAITED = {"comm": 1, "source": 2, "dest": 4, "both": 8, "tag": 16}
"""What a call waits for: bits of `enum st_awaits`."""
_BUFFERS = frozenset({"BUFFER", "C_BUFFER", "C_BUFFER2", "C_BUFFER3", "C_BUFFER4"})


def op_table(procedures: Iterable[Procedure]) -> tuple[str, str]:
    """ops.h and ops.c: a number, a name and a schema for each operation."""
    # The plain variant stands for the large-count one.
    procedures = list(procedures)
    schemas = {p.op: (schema(p), rules.role(p)) for p in reversed(procedures)}
    awaited = {p.op: _awaited(p) for p in procedures}
    schemas["Pcontrol"] = rules.ANNOTATION, rules.ParameterRole.SELECTABLE
    order = sorted(schemas)
    header = ["#ifndef ST_OPS_H", "#define ST_OPS_H", "enum st_op_number {"]
    header += [f"    ST_OP_{op}," for op in order] + ["    ST_NOPS", "};", "#endif", ""]
    body = ['#include "events/events.h"', '#include "ops.h"', ""]
    with_buffers = {p.op for p in procedures if rules.buffers(p)}
    rows = []
    for op in order:
        values, role = schemas[op]
        nvalues, has_buffers = len(values), op in with_buffers
        if has_buffers:
            values = [*values, rules.MEMORY]
        if values:
            body.append(
                f"static const char *const names_{op}[] = {{{', '.join(_quote(v.name) for v in values)}}};"
            )
            body.append(f"static const int kinds_{op}[] = {{{', '.join(str(v.kind) for v in values)}}};")
        names = f"names_{op}, kinds_{op}" if values else "NULL, NULL"
        facts = (
            role, communicates(op), awaited.get(op, 0), op.endswith("_init"), has_buffers, is_collective(op),
            may_overlap(op),
        )  # fmt: skip
        rows.append(f'    {{"{op}", {nvalues}, {names}, {", ".join(str(int(fact)) for fact in facts)}}},')
    body += ["const struct st_op st_ops[] = {", *rows, "};", ""]
    return "\n".join(header), "\n".join(body)


def _quote(text: str) -> str:
    return f'"{text}"'


def schema(procedure: Procedure) -> list[rules.Value]:
    """The values that a recorded call has, in their order."""
    if rules.is_counted(procedure):
        return _query_values(procedure)
    if procedure.op in ("Waitany", "Testany"):
        return [rules.Value("requests", rules.ARRAY, ""), rules.Value("index", rules.INT, "")]
    if procedure.op in _COMPLETION and procedure.op not in ("Wait", "Test", "Request_free"):
        return [rules.Value("requests", rules.ARRAY, "")]
    return rules.values(procedure)


def _query_values(procedure: Procedure) -> list[rules.Value]:
    """What a recorded query holds: its communicator, its datatype and its plain numbers."""
    simple = []
    for p in procedure.parameters:
        if p.is_out or p.is_array:
            continue
        if p.kind == "COMMUNICATOR":
            simple.append(rules.Value("comm", rules.COMM, f"(int64_t)st_comm_name({p.name})"))
        elif (
            p.base in ("int", "MPI_Count", "MPI_Aint", "MPI_Offset")
            and p.kind not in _BUFFERS
            and "*" not in p.text
        ):
            simple.append(rules.Value(p.name, rules.INT, f"(int64_t){p.name}"))
    return simple if len({v.name for v in simple}) == len(simple) else []


# -- the recorder ----------------------------------------------------------------------------------------


def _parameters(procedure: Procedure) -> str:
    return ", ".join(p.text for p in procedure.parameters) or "void"


def _arguments(procedure: Procedure) -> str:
    return ", ".join(p.name for p in procedure.parameters)


def recorder(procedure: Procedure) -> str:
    """`rec_X(call, parameters of MPI_X)`: the event of a call that succeeded."""
    if procedure.op in _COMPLETION:
        return ""
    counted = rules.is_counted(procedure)
    lines = [f"static void rec_{procedure.name}(struct st_call *call{_more(_parameters(procedure))})", "{"]
    lines += [f"    (void){p.name};" for p in procedure.parameters if p.base]
    if _is_blocking_receive(procedure):
        lines.append("    source = st_requested_source(source);")
    lines += selection(procedure)
    lines += _before(procedure) if not counted else []
    lines.append(f"    if (!st_begin(call, ST_OP_{procedure.op})) return;")
    event = _event(procedure, _query_values(procedure) if counted else rules.values(procedure))
    if rules.role(procedure) is rules.ParameterRole.ALWAYS:  # its values are named while events are off, too
        lines += event
    else:
        lines += ["    if (call->on) {", *(f"    {line}" for line in event), "    }"]
    lines += _after(procedure) if not counted else []
    return "\n".join([*lines, "    st_end(call);", "}", ""])


def _event(procedure: Procedure, values: list[rules.Value]) -> list[str]:
    lines = _context(procedure)
    lines += [f"    call->event.values[{i}] = {v.text};" for i, v in enumerate(values)]
    lines += _statistics(procedure) if not rules.is_counted(procedure) else []
    nvalues = str(len(values))
    if not rules.is_counted(procedure) and (buffers := rules.buffers(procedure)):
        memory = f"(int64_t)ST_MEMORY({', '.join(buffers)})"
        lines.append(f"    if (st_shared.has_memory) call->event.values[{nvalues}] = {memory};")
        nvalues += " + st_shared.has_memory"
    lines.append(f"    st_append(call, {nvalues});")
    if any("&call->base_group" in line for line in lines):
        lines.append("    PMPI_Group_free(&call->base_group);")
    return lines


def _more(text: str) -> str:
    return "" if text in ("", "void") else f", {text}"


def _flag(procedure: Procedure) -> ProcedureParameter | None:
    return next((p for p in procedure.parameters if p.name == "flag" and p.is_out), None)


def _before(procedure: Procedure) -> list[str]:
    lines = []
    if _flag(procedure):
        lines += [
            "    if (!*flag) {",
            f"        st_count_failed_poll(call, ST_OP_{procedure.op}, true);",
            "        return;",
            "    }",
        ]
    new_comm = rules.made_communicator(procedure)
    if procedure.op in _AGREED and new_comm:
        parent = rules.communicator(procedure)
        lines.append(
            f"    st_comm_agree(call, {parent.name if parent else 'MPI_COMM_NULL'}, *{new_comm.name});"
        )
    if procedure.op in _TAGGED and new_comm:
        lines.append(f"    st_comm_name_by_tag(call, *{new_comm.name}, stringtag);")
    return lines


def _context(procedure: Procedure) -> list[str]:
    """What the expressions of the values refer to."""
    lines = []
    comm = rules.communicator(procedure)
    if comm and rules.frees(procedure):
        lines += [
            "    call->event.self = call->freed_comm.self;",
            "    call->event.size = call->freed_comm.size;",
        ]
    elif comm and not comm.is_array:
        lines.append(f"    st_set_comm(call, {comm.name});")
    if rules.is_counted(procedure):
        return lines
    if procedure.find("GROUP"):
        lines += _group_context(procedure, comm)
    if rules.allows_in_place(procedure):
        lines.append(f"    bool in_place = {rules.in_place_buffer(procedure)} == MPI_IN_PLACE;")
    if procedure.has("root") and any(p.root_only for p in procedure.parameters):
        lines += [f"    {line}" for line in roles()]
    if "eighbor" in procedure.op and comm:
        lines.append(f"    st_comm_degrees(call->comm, {comm.name});")
        lines.append("    int indegree = call->comm->indegree, outdegree = call->comm->outdegree;")
        lines.append("    (void)indegree, (void)outdegree;")
    return lines


def _group_context(procedure: Procedure, comm: ProcedureParameter | None) -> list[str]:
    window = procedure.find("WINDOW")
    if window:
        return [f"    PMPI_Win_get_group({window.name}, &call->base_group);"]
    if comm is None:
        return ["    call->base_group = st_world_group();"]
    return [f"    PMPI_Comm_group({comm.name}, &call->base_group);"]


def _is_blocking_receive(procedure: Procedure) -> bool:
    asked = any(p.name == "source" and not p.is_out for p in procedure.parameters)
    return asked and procedure.find("STATUS") is not None


def _statistics(procedure: Procedure) -> list[str]:
    lines = []
    if _flag(procedure):
        lines.append(f"    st_set_polls(call, ST_OP_{procedure.op});")
    if _is_blocking_receive(procedure):
        lines.append("    if (source == MPI_ANY_SOURCE) st_set_source(call, status, 0);")
    return lines


def _after(procedure: Procedure) -> list[str]:
    lines = []
    request = procedure.find("REQUEST")
    if request and request.direction == "OUT":
        persistent = "true" if procedure.op.endswith("_init") else "false"
        wild = "source == MPI_ANY_SOURCE" if procedure.has("source") else "false"
        lines.append(f"    st_request_add(call, {request.name}, {persistent}, {wild});")
    message = procedure.find("MESSAGE")
    if message and message.direction == "OUT":
        lines.append(f"    st_message_add(call, *{message.name});")
    if message and message.direction == "INOUT":
        lines.append("    st_message_drop(call);")
    new_comm = rules.made_communicator(procedure)
    if procedure.op in _TAGGED and new_comm:
        lines.append(f"    st_unique_start(*{new_comm.name});")
    if procedure.op.startswith("File_") and procedure.op.endswith("_begin"):
        lines.append("    st_set_split_recorded(call, fh);")
    return lines


def _awaited(procedure: Procedure) -> int:
    """Return what the call waits for."""
    peers = [name for name in ("source", "dest") if _given(procedure, name)]
    kinds = ["both"] if len(peers) == 2 else peers
    kinds += ["comm"] if "handle" in _fields(procedure) else []
    kinds += ["tag"] if "tag" in _fields(procedure) else []
    return sum(_AWAITED[kind] for kind in kinds)


def _given(procedure: Procedure, name: str) -> bool:
    return any(p.name == name and not p.is_out for p in procedure.parameters)


def _fields(procedure: Procedure) -> dict[str, str]:
    """Return the fields of `struct st_call` that say what the call waits for, and the parameters they get."""
    comm = rules.communicator(procedure)
    if not rules.is_event(procedure) or comm is None or comm.is_array:
        return {}
    names = ["tag", "recvtag", "source", "dest"]
    recorded = [name for name in names if _given(procedure, name)]
    fields = {
        "tag": "tag",
        "recvtag": "tag",
        "source": "peer",
        "dest": "dest" if "source" in recorded else "peer",
    }
    return {"handle": comm.name, **{fields[name]: name for name in recorded}}


# -- the entries -----------------------------------------------------------------------------------------


def _is_needed(procedure: Procedure) -> str:
    """Whether the call is needed even while events are off: it makes, uses or ends what is tracked."""
    touched = any(p.kind in _TRACKED and p.is_out for p in procedure.parameters)
    follows = rules.role(procedure) is rules.ParameterRole.FOLLOWS
    return "true" if touched or follows else "false"


def _prepare(procedure: Procedure, fortran: bool) -> list[str]:
    """Before the call: take out of the tables what the call ends."""
    lines = []
    pointers = {p.name for p in procedure.parameters if fortran or "*" in p.text}
    for field, name in _fields(procedure).items():
        star = "*" if name in pointers else ""
        f = "f_" if fortran and field == "handle" else ""
        lines.append(f"    call.{f}{field} = {star}{name};")
    for noun, handle in _ended(procedure, fortran):
        lines.append(f"    st_{noun}_{'claim' if noun == 'message' else 'remove'}(&call, {handle});")
    if procedure.op in _COMPLETION:
        lines += _claim(procedure, fortran)
    return lines


def _claim(procedure: Procedure, fortran: bool) -> list[str]:
    request = procedure.find("REQUEST")
    assert request is not None
    star = "*" if fortran else ""
    count = f"{star}{request.length}" if request.is_array else "1"
    lines = [f"    st_claim(&call, (MPI_Request *)(void *){request.name}, {count});"]
    status = procedure.find("STATUS")
    if status and status.is_array:
        lines += [
            f"    if (call.n_any_source && {_is_ignored_status(status, fortran)}) {{",
            f"        {_status_type(fortran)} *own = (void *)st_own_statuses(&call, {count});",
            f"        if (own) {status.name} = own;",
            "    }",
        ]
    return lines


def _status_type(fortran: bool) -> str:
    return "MPI_Fint" if fortran else "MPI_Status"


def _is_ignored_status(status: ProcedureParameter, fortran: bool) -> str:
    constant = "STATUSES_IGNORE" if status.is_array else "STATUS_IGNORE"
    return f"st_fortran_is({status.name}, ST_F_{constant})" if fortran else f"{status.name} == MPI_{constant}"


def _own_status(procedure: Procedure, fortran: bool) -> list[str]:
    """Where the program ignores the status of a receive, ours tells which source matched."""
    status = procedure.find("STATUS")
    wanted = _is_blocking_receive(procedure) or (procedure.op in _COMPLETION and procedure.find("STATUS"))
    if not wanted or status is None or status.is_array:
        return []
    declaration = "MPI_Fint own[ST_F_STATUS_INTS]" if fortran else "MPI_Status own"
    reference = "own" if fortran else "&own"
    return [
        f"    {declaration};",
        f"    if ({_is_ignored_status(status, fortran)}) {status.name} = {reference};",
    ]


def c_entry(procedure: Procedure) -> str:
    """`scalatrace_MPI_X`, to which MPI_X jumps, and the pointer to the next function: PMPI_X or a tool's."""
    parameters, next_ = _parameters(procedure), f"scalatrace_next_MPI_{procedure.name}"
    real = f"{next_}({_arguments(procedure)})"
    head = [
        f"#pragma weak PMPI_{procedure.name}",  # the library may lack what mpi.h declares
        f"ST_EXPORT int (*{next_})({parameters}) = PMPI_{procedure.name};",
        f"ST_EXPORT int scalatrace_MPI_{procedure.name}({parameters})",
        "{",
    ]
    if procedure.op == "Type_free":
        head.append("    if (st_shared.active && !st_thread.depth) st_type_forget(*datatype);")
    if procedure.op.endswith("_create_errhandler"):
        function = procedure.parameters[0]
        head.append(
            f"    {function.name} = ({function.base} *)st_error_stub((st_error_function *){function.name});"
        )
    if rules.is_counted(procedure):
        return "\n".join([*head, *_query_body(procedure, real), "}", ""])
    enter = f"ST_ENTER(&call, ST_OP_{procedure.op}, {_is_needed(procedure)})"
    body = ["    struct st_call call;", *_unrecorded_call(procedure, enter, real)]
    body += _own_status(procedure, False) + _prepare(procedure, False)
    body += [
        f"    int returned = {real};",
        "    int error = st_leave(&call, returned);",
        *_finish(procedure, "error", _arguments(procedure), False),
    ]
    return "\n".join([*head, *body, "    st_exit(&call);", "    return returned;", "}", ""])


def _unrecorded_call(procedure: Procedure, enter: str, real: str) -> list[str]:
    """The call without an event. Other ranks may still wait for this one to agree on a name."""
    new_comm = rules.made_communicator(procedure)
    if procedure.op not in _AGREED or new_comm is None:
        return [f"    if (!{enter}) return {real};"]
    return [
        f"    if (!{enter}) {{",
        f"        int result = {real};",
        f"        if (result == MPI_SUCCESS) st_comm_agree_only(*{new_comm.name});",
        "        return result;",
        "    }",
    ]


def _query_body(procedure: Procedure, real: str) -> list[str]:
    return [
        "    struct st_call call;",
        f"    if (!ST_QUERY(&call, ST_OP_{procedure.op})) return {real};",
        f"    int error = {real};",
        "    st_leave(&call, error);",
        f"    rec_{procedure.name}(&call{_more(_arguments(procedure))});",
        "    st_exit(&call);",
        "    return error;",
    ]


def _finish(procedure: Procedure, error: str, arguments: str, fortran: bool) -> list[str]:
    if procedure.op in _COMPLETION:
        return [f"    st_post_{procedure.op}(&call, {error}{_more(arguments)});"]
    late = f" || st_had_effect(&call, {error})" if _may_truncate(procedure) else ""
    failed = [f"    st_record_failed(&call, ST_OP_{procedure.op}, {error});"]
    return [
        f"    if ({error} == MPI_SUCCESS{late})",
        f"        rec_{procedure.name}(&call{_more(arguments)});",
        "    else {",
        *(f"        {line.strip()}" for line in [*failed, *_restore(procedure, fortran)]),
        "    }",
    ]


def _may_truncate(procedure: Procedure) -> bool:
    """Return whether the call may receive a message that is too long for its buffer."""
    row = operation(procedure.op)
    moves = row.category in (Category.RECV, Category.SENDRECV, Category.COLLECTIVE, Category.NEIGHBOUR)
    return moves and not row.nonblocking


def _restore(procedure: Procedure, fortran: bool) -> list[str]:
    """Put back into the tables what the call would have ended."""
    return [
        f"st_{noun}_restore(&call{'' if noun == 'message' else ', ' + handle});"
        for noun, handle in _ended(procedure, fortran)
    ]


def _ended(procedure: Procedure, fortran: bool) -> Iterator[tuple[str, str]]:
    """Yield the tables and handles, in C, of what the call ends."""
    for p in procedure.parameters:
        handle = f"{_F2C[p.kind]}(*{p.name})" if fortran and p.kind in _F2C else f"*{p.name}"
        if rules.frees(procedure) and p.kind in _FREED:
            yield _FREED[p.kind], handle
        if p.kind == "MESSAGE" and p.direction == "INOUT":
            yield "message", handle


# -- Fortran ---------------------------------------------------------------------------------------------


def needs_fortran(procedure: Procedure) -> bool:
    """Events, and what frees a handle; Fortran has large counts through overloading only."""
    return procedure.name == procedure.op and (rules.is_event(procedure) or procedure.op == "Type_free")


def _f_type(p: ProcedureParameter) -> str:
    if p.kind in _BUFFERS:
        return "void *"
    if p.kind.startswith("STRING"):
        return "char *"
    return {"MPI_Aint": "MPI_Aint *", "MPI_Offset": "MPI_Offset *", "MPI_Count": "MPI_Count *"}.get(
        p.base, "MPI_Fint *"
    )


def _convert_argument(procedure: Procedure, p: ProcedureParameter) -> str:
    """The C argument of the recorder for a Fortran argument."""
    if p.kind in _BUFFERS:
        return f"st_fortran_is({p.name}, ST_F_IN_PLACE) ? MPI_IN_PLACE : {p.name}"
    if p.kind in ("REQUEST", "STATUS") and (p.is_array or "*" in p.text):
        return f"(MPI_{p.kind.capitalize()} *)(void *){p.name}"
    if p.kind == "STRING":
        return f"text_{p.name}"
    if p.kind.startswith("STRING"):
        return "NULL"
    if p.kind == "INFO":
        return "NULL" if p.is_array else "MPI_INFO_NULL"
    if p.kind == "DATATYPE" and p.is_array:
        return f"(const MPI_Datatype *)(void *){p.name}"
    if p.kind in _F2C and p.is_out:
        return f"&c_{p.name}"
    if p.kind in _F2C:
        return f"{_F2C[p.kind]}(*{p.name})"
    return p.name if p.is_array or p.is_out else f"*{p.name}"


def fortran_entries(procedure: Procedure) -> str:
    """`mpi_x_` and `mpi_x_f08_`: the original with the very same pointers, then the recorder.

    Open MPI's bindings call PMPI_X: both are wrapped. MPICH's `mpi_x_` call MPI_X, so do its f08 ones with
    choice
    buffers (whose arguments are descriptors); its f08 ones without call PMPI_X.
    """
    strings = [p for p in procedure.parameters if p.kind.startswith("STRING")]
    declared = [f"{_f_type(p)}{p.name}" for p in procedure.parameters] + ["MPI_Fint *ierror"]
    declared += [f"size_t length_{p.name}" for p in strings]
    passed = [p.name for p in procedure.parameters] + ["ierror"] + [f"length_{p.name}" for p in strings]
    types = ", ".join(d.rsplit("*", 1)[0] + "*" if "*" in d else "size_t" for d in declared)
    args = ", ".join(passed)
    lines = [
        f"typedef void f_type_{procedure.name}({types});",
        f"static inline __attribute__((always_inline)) void f_{procedure.name}(",
        f"    f_type_{procedure.name} *next, void *caller,",
        f"    void *frame, {', '.join(declared)})",
        "{",
        *_f_body(procedure, args, strings),
        "}",
    ]
    plain, f08 = (
        _f_entry(procedure, f"mpi_{procedure.name.lower()}{end}", declared, args) for end in ("_", "_f08_")
    )
    if _has_buffer(procedure):
        return "\n".join(["#ifdef OPEN_MPI", *lines, *plain, *f08, "#endif", ""])
    entries = ["#ifdef OPEN_MPI", *plain, "#endif", *f08]
    return "\n".join(["#ifndef ST_STANDARD_ABI", *lines, *entries, "#endif", ""])


def _has_buffer(procedure: Procedure) -> bool:
    return any(p.kind in _BUFFERS and not p.is_out for p in procedure.parameters) or procedure.has("buf")


def _f_entry(procedure: Procedure, symbol: str, declared: list[str], args: str) -> list[str]:
    return [
        f"ST_EXPORT f_type_{procedure.name} *scalatrace_next_{symbol};",
        f"ST_EXPORT void scalatrace_{symbol}({', '.join(declared)})",
        "{",
        f"    f_{procedure.name}(scalatrace_next_{symbol}, __builtin_return_address(0),",
        f"        __builtin_frame_address(0), {args});",
        "}",
    ]


def _f_body(procedure: Procedure, args: str, strings: list[ProcedureParameter]) -> list[str]:
    lines = ["    struct st_call call;", "    MPI_Fint own_error;"]
    if procedure.op == "Type_free":
        return [
            "    (void)caller, (void)frame;",
            "    if (st_shared.active && !st_thread.depth) st_type_forget(PMPI_Type_f2c(*datatype));",
            f"    next({args});",
        ]
    enter = f"st_enter(&call, ST_OP_{procedure.op}, {_is_needed(procedure)}, caller, frame)"
    lines += [f"    if (!{enter}) {{", f"        next({args});"]
    new_comm = rules.made_communicator(procedure)
    if procedure.op in _AGREED and new_comm:
        lines.append(f"        if (!ierror || !*ierror) st_comm_agree_only(PMPI_Comm_f2c(*{new_comm.name}));")
    lines += ["        return;", "    }", "    call.fortran = true;", "    if (!ierror) ierror = &own_error;"]
    lines += _own_status(procedure, True) + _prepare(procedure, True)
    lines += [f"    next({args});", "    int error = st_leave(&call, *ierror);"]
    lines += _f_conversions(procedure, strings)
    converted = ", ".join(_convert_argument(procedure, p) for p in procedure.parameters)
    lines += [*_finish(procedure, "error", converted, True), "    st_exit(&call);"]
    return lines


def _f_conversions(procedure: Procedure, strings: list[ProcedureParameter]) -> list[str]:
    lines = []
    for p in procedure.parameters:
        if p.kind in _F2C and p.is_out and p.kind != "REQUEST":
            lines.append(f"    {p.base} c_{p.name} = {_F2C[p.kind]}(*{p.name});")
    for p in strings:
        if p.kind == "STRING":
            lines.append(f"    char text_{p.name}[ST_MAX_FORTRAN_TEXT];")
            lines.append(f"    st_fortran_text(text_{p.name}, {p.name}, length_{p.name});")
    return lines
