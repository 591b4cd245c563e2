"""C text that asks whether a call is selected: by communicator, then by size, or by what it refers to."""

from __future__ import annotations

from scalatrace.operations import Flow, operation
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.standard import Procedure, ProcedureParameter

__all__ = ["roles", "selection"]

_SUMS = {"int": "st_sum", "MPI_Count": "st_sum_counts"}


def selection(procedure: Procedure) -> list[str]:
    """Lines that may skip a call, before it is recorded. Operation and time were asked about before."""
    role = rules.role(procedure)
    if role is rules.ParameterRole.ALWAYS:
        return []
    lines = (
        _follow_requests(procedure)
        if role is rules.ParameterRole.FOLLOWS
        else [*_by_comm(procedure), *_by_size(procedure)]
    )
    return ["    if (ST_SELECTING) {", *(f"        {line}" for line in lines), "    }"]


def _follow_requests(procedure: Procedure) -> list[str]:
    p = rules.refers(procedure)
    if p is None:
        return ["st_follow_begin(call, fh);"]
    if p.kind == "MESSAGE":
        return ["st_follow_message(call);"]
    if "*" not in p.text and not p.is_array:
        return [f"st_follow_request(call, {p.name});"]
    return [f"st_follow_requests(call, {p.name}, {p.length or 1});"]


def _by_comm(procedure: Procedure) -> list[str]:
    nouns = {"COMMUNICATOR": "comm", "WINDOW": "win", "FILE": "file"}
    place = next((p for p in procedure.parameters if p.kind in nouns and not p.is_array), None)
    question = (
        "st_skip(call)"  # on no communicator
        if place is None or "*" in place.text
        else f"st_select_{nouns[place.kind]}(call, {place.name})"
    )
    return [f"if (st_by_comm(call)) {question};"]


def _by_size(procedure: Procedure) -> list[str]:
    """The larger of what the call sends and receives, as `scalatrace stats` has them."""
    row = operation(procedure.op)
    flows = [flow for flow in (row.sends, row.recvs) if flow]
    moved = [text for flow in flows if (text := _count_bytes(procedure, flow))]
    lines = ["int64_t moved, most = 0;"] if moved else []
    if moved:
        lines += [*_context(procedure), *(f"if ((moved = {text}) > most) most = moved;" for text in moved)]
    asked = [f"    {line}" for line in [*lines, f"st_select_size(call, {'most' if moved else '0'});"]]
    return ["if (st_by_size(call)) {", *asked, "}"]


def _context(procedure: Procedure) -> list[str]:
    comm = rules.communicator(procedure)
    if comm is None:
        return []
    lines = ["if (!st_lock()) return;", f"st_set_comm(call, {comm.name});"]
    if "eighbor" in procedure.op:
        lines.append(f"st_comm_degrees(call->comm, {comm.name});")
    lines.append("st_unlock();")
    if "eighbor" in procedure.op:
        lines.append("int indegree = call->comm->indegree, outdegree = call->comm->outdegree;")
        lines.append("(void)indegree, (void)outdegree;")
    if rules.allows_in_place(procedure):
        lines += [f"bool in_place = {rules.in_place_buffer(procedure)} == MPI_IN_PLACE;", "(void)in_place;"]
    return [*lines, *(roles() if procedure.has("root") else [])]


def roles() -> list[str]:
    """What this process is in a rooted collective call: the root, or one of those that deal with it."""
    return [
        "bool at_root = call->comm->inter ? root == MPI_ROOT : root == call->event.self;",
        "bool at_leaf = !call->comm->inter || root >= 0;",
        "(void)at_root, (void)at_leaf;",
    ]


def _count_bytes(procedure: Procedure, flow: Flow) -> str:
    """Bytes of a flow; "" where the call does not have its parameters."""
    named = {p.name: p for p in procedure.parameters}
    datatype = named.get(flow.datatype)
    if datatype is None or datatype.is_array or (flow.count and flow.count not in named):
        return ""
    count = named[flow.count] if flow.count else None
    text = f"st_transfer_bytes({_elements(procedure, flow, count)}, {datatype.name})"
    conditions = [rules.condition(procedure, p) for p in (count, datatype) if p]
    conditions.append({"root": "at_root", "others": "!at_root && at_leaf"}.get(flow.where, ""))
    needed = list(dict.fromkeys(condition for condition in conditions if condition))
    return f"{' && '.join(needed)} ? {text} : 0" if needed else text


def _elements(procedure: Procedure, flow: Flow, count: ProcedureParameter | None) -> str:
    if count is None:
        return "1"
    if count.is_array:
        if flow.times == "self":
            return f"{count.name}[call->event.self]"
        return f"{_SUMS[count.base]}({count.name}, {rules.length(procedure, count)})"
    if flow.times == "each":
        return f"(int64_t){count.name} * call->comm->size"
    return f"(int64_t){count.name} * {flow.times}" if procedure.has(flow.times) else f"(int64_t){count.name}"
