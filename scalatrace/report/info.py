"""`info`: a run, its times and which ranks stand out; if asked, header, communicators, bytes of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgpack  # type: ignore[import-untyped]
from rich.console import Console
from rich.text import Text

from scalatrace.escapes import clean
from scalatrace.report.columns import COMMUNICATORS, PAYLOAD
from scalatrace.report.costs.performance import PerformanceReporter
from scalatrace.report.style import DIM, TITLE, number, print_more, ranks, text_table
from scalatrace.report.trees.depths import advised_depth
from scalatrace.report.values import comm_name
from scalatrace.trace.consistency.failed import nfailed
from scalatrace.trace.consistency.partial import NO_OPERATIONS, NOT_SELECTED, SWITCHED_OFF
from scalatrace.trace.io.writer import signatures
from scalatrace.trace.model import elastic
from scalatrace.trace.model.elastic import Columns, Formulas, Groups, Value
from scalatrace.trace.model.nodes import Event, Node, Peer
from scalatrace.trace.model.trace import MODULES, Trace
from scalatrace.trace.oversubscription import OVERSUBSCRIBED, oversubscription_note
from scalatrace.trace.query.counting import least_and_most
from scalatrace.trace.query.unfinished import UNFINISHED

COMMS_SHOWN = 20
BANNER_META = ("program", "mpi", "date")
"""Entries of the header that come first."""
FILE_META = (MODULES, "run", "version", "thread-level", "hosts", "cores-per-host", "ranks-per-host")
"""Entries of the header that describe the recording, or that the line of the ranks has."""
OPTIONS = "options"
"""The entry of the options of the recording, which choose the calls of a trace that has not all."""
RANKS_LISTED = 1 << 16
"""Ranks that the JSON form lists one by one; it has the ranklist of any number."""


def print_header(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    """Print names and values, one pair a line."""
    width = max(len(key) for key, _ in rows)
    for key, value in rows:
        console.print(Text.assemble((f"{clean(key):<{width}}  ", DIM), clean(value)), soft_wrap=True)


class InfoReporter:
    """Describes a trace.

    Args:
        file_bytes: the size of its file; 0: there is none.
        complete: print the parts of the file, too: header, nodes, communicators, bytes.
        children: the traces of the worlds that it spawned.
    """

    def __init__(
        self, trace: Trace, file_bytes: int = 0, children: Sequence[str] = (), complete: bool = False
    ) -> None:
        self.trace, self.file_bytes, self.children = trace, file_bytes, list(children)
        self.complete = complete
        self.performance = PerformanceReporter(trace)
        self.advice = advised_depth(trace)

    def facts(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        trace = self.trace
        events = trace.counted()
        least, most = (None, None) if events is None else least_and_most(trace)
        return {
            "nprocs": trace.nprocs,
            "ranks": list(trace.ranks) if len(trace.ranks) <= RANKS_LISTED else None,
            "ranklist": str(trace.ranks),
            "meta": dict(trace.meta),
            "events": events,
            "events_per_rank": {"min": least, "max": most},
            "nodes": trace.nnodes,
            "call_sites": len({leaf.signature for leaf in trace.leaves()}),
            "oversubscription": self._oversubscription() or None,
            "stack_depth_advice": asdict(self.advice) if self.advice else None,
            "file_bytes": self.file_bytes,
            "children": self.children,
            "communicators": [
                {"family": i, "kind": family.kind, "parent": family.parent, "sizes": self._sizes(i)}
                for i, family in enumerate(trace.comms)
            ],
            "datatypes": [t.description for t in trace.types],
            "counted": self._queries(),
            "not_selected": trace.counts.get(NOT_SELECTED, 0),
            "switched_off": trace.counts.get(SWITCHED_OFF, 0),
            "failed": nfailed(trace),
            "performance": self.performance.plain(),
            "payload_bytes": shares(trace),
        }

    def render(self, console: Console) -> None:
        """Print the program, its times and which ranks stand out; if complete, where the bytes are, too."""
        facts = self.facts()
        if self.complete:
            self._header(console, facts)
        else:
            self._banner(console, facts)
        self._advice(console)
        if facts["oversubscription"]:
            console.print(Text(facts["oversubscription"], style=DIM), soft_wrap=True)
        self.performance.render(console)
        if not self.complete:
            return
        self._communicators(console, facts["communicators"])
        self._print_counted(console, facts["counted"])
        self._shares(console, facts["payload_bytes"])

    def _advice(self, console: Console) -> None:
        if advice := self.advice:
            console.print(
                f"many call paths: {number(advice.nodes_now)} nodes of calls at {advice.sites} innermost "
                f"call sites; record --stack-depth {advice.depth} leaves at most {number(advice.nodes)}"
            )

    def _header(self, console: Console, facts: dict[str, Any]) -> None:
        rows = [
            (key, value)
            for key, value in self.trace.meta.items()
            if key != MODULES and not key.startswith(UNFINISHED)
        ]
        rows += [
            ("ranks", f"{self.trace.nprocs}{self._missing()}"),
            ("events", _event_counts(facts)),
            ("nodes", f"{number(facts['nodes'])}, of {facts['call_sites']} call sites"),
            *self._exceptions(facts),
        ]
        if self.file_bytes:
            size = f"{number(self.file_bytes)} bytes"
            if facts["events"] is not None:
                size += f", {_ratio(facts['events'], self.file_bytes)} events per byte"
            rows.append(("file", size))
        print_header(console, rows)

    def _banner(self, console: Console, facts: dict[str, Any]) -> None:
        is_partial = facts["not_selected"] or facts["switched_off"]
        hidden = FILE_META if is_partial else (*FILE_META, OPTIONS)
        meta = {
            key: value
            for key, value in self.trace.meta.items()
            if key not in hidden and not key.startswith(UNFINISHED)
        }
        if "mpi" in meta:
            meta["mpi"] = meta["mpi"].partition(",")[0]
        events = _event_counts(facts, "calls")
        in_file = f", {number(self.file_bytes)} bytes" if self.file_bytes else ""
        rows = [
            *((key, meta.pop(key)) for key in BANNER_META if key in meta),
            ("ranks", f"{number(self.trace.nprocs)}{self._hosts()}{self._missing()}"),
            *meta.items(),
            *self._exceptions(facts),
            ("trace", f"{events}; {number(facts['nodes'])} nodes{in_file}"),
        ]
        print_header(console, rows)

    def _exceptions(self, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield calls that are not in the trace or failed, and processes that were started."""
        for name, reason in (("not_selected", "not selected"), ("switched_off", "while recording was off")):
            if facts[name]:
                yield "left out", f"{number(facts[name])} calls {reason}"
        if facts["failed"]:
            yield "failed", f"{number(facts['failed'])} calls returned an error"
        if any(family.kind == "spawn" for family in self.trace.comms):
            yield "spawned", ", ".join(self.children) or "processes that were not traced"

    def _oversubscription(self) -> str:
        """Return what shared cores mean for the times; of an extrapolated trace, its header has that."""
        has_times = self.performance.whole.comm_ns is not None
        is_stated = OVERSUBSCRIBED in self.trace.meta
        return oversubscription_note(self.trace.meta) if has_times and not is_stated else ""

    def _hosts(self) -> str:
        """Return hosts and cores for the line of the ranks."""
        hosts, cores = (self.trace.meta.get(key, "") for key in ("hosts", "cores-per-host"))
        if not hosts:
            return ""
        on = f" on {hosts} host{'s' * (hosts != '1')}"
        return f"{on} of {cores} core{'s' * (cores != '1')}" if cores else on

    def _missing(self) -> str:
        trace = self.trace
        if len(trace.ranks) == trace.nprocs:
            return ""
        return f", of which the trace has {ranks(trace.ranks)}"

    def _sizes(self, family: int) -> list[int]:
        """Return the sizes of a family's communicators; MPI_COMM_SELF and MPI_COMM_NULL have none stored."""
        return self.trace.layout(family).sizes

    def _communicators(self, console: Console, families: list[dict[str, Any]]) -> None:
        console.print(
            text_table(
                COMMUNICATORS,
                map(self._communicator, (entry for entry in families[:COMMS_SHOWN] if entry["sizes"])),
            )
        )
        print_more(console, len(families) - COMMS_SHOWN)

    def _communicator(self, entry: dict[str, Any]) -> dict[str, Any]:
        sizes = entry["sizes"]
        return {
            "name": comm_name(self.trace, entry["family"]),
            "parent": comm_name(self.trace, entry["parent"]) if entry["parent"] >= 0 else "",
            "count": len(sizes),
            "sizes": str(min(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}",
        }

    def _queries(self) -> dict[str, int]:
        return {name: n for name, n in self.trace.counts.items() if name not in NO_OPERATIONS}

    def _print_counted(self, console: Console, counts: dict[str, int]) -> None:
        if not counts:
            return
        most = sorted(counts.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{clean(name)} {number(n)}" for name, n in most)
        console.print(Text.assemble(("counted, not recorded  ", TITLE), (listed, DIM)))

    def _shares(self, console: Console, parts: dict[str, int]) -> None:
        total = sum(parts.values())
        ordered = sorted(parts.items(), key=lambda item: -item[1])
        rows = ({"name": name, "bytes": size, "share": (size, total)} for name, size in ordered)
        console.print(text_table(PAYLOAD, rows))


def _ratio(events: int, nbytes: int) -> str:
    """Return events per byte; a count beyond floating-point numbers has its order only."""
    ratio = events // nbytes
    return number(ratio) if ratio >> 64 else f"{events / nbytes:,.3g}"


def _event_counts(facts: Mapping[str, Any], unit: str = "") -> str:
    """Return the number of events, in all and per rank."""
    if facts["events"] is None:
        return "uncounted: too many ranks with different numbers of events"
    least, most = facts["events_per_rank"]["min"], facts["events_per_rank"]["max"]
    spread = number(least) if least == most else f"{number(least)} to {number(most)}"
    return f"{number(facts['events'])}{f' {unit}' if unit else ''} ({spread} per rank)"


def shares(trace: Trace) -> dict[str, int]:
    """Return bytes by content; the sum is the payload without its frame (keys, list headers).

    "repeats" are the trip counts, "values" the parameters, both without the "ranklists" of their groups.
    """
    totals: Counter[str] = Counter()
    totals["call sites"] = _packed_size(trace.frames) + _packed_size(signatures(trace.signatures))
    totals["communicators"] = sum(_family(family) for family in trace.comms)
    totals["datatypes and names"] = _packed_size(trace.strings) + sum(
        _packed_size((t.description, t.size, t.extent)) for t in trace.types
    )
    totals["arrays"] = sum(_packed_size((1,) if a.summed else (a.length, a.vec.terms)) for a in trace.arrays)
    totals["header"] = (
        _packed_size(trace.meta) + _packed_size(trace.counts) + sum(_packed_size(op.name) for op in trace.ops)
    )
    totals["times"] = _packed_size(trace.preds)
    _add_nodes(totals, trace.nodes)
    return {name: size for name, size in totals.items() if size}


def _add_nodes(sizes: Counter[str], nodes: Iterable[Node]) -> None:
    for node in nodes:
        _add_elastic(sizes, "repeats", node.repeat)
        if isinstance(node, Event):
            _add_event(sizes, node)
        else:
            _add_nodes(sizes, node.nodes)


def _add_event(sizes: Counter[str], event: Event) -> None:
    sizes["call sites"] += _packed_size(event.op) + _packed_size(event.signature)
    for param in event.params:
        _add_elastic(sizes, "values", param.value if isinstance(param, Peer) else param)
    for stats in event.stats:
        sizes["times"] += 2 + sum(_packed_size(h.encode() if h else None) for h in stats.histograms)


def _add_elastic(sizes: Counter[str], name: str, value: Value) -> None:
    if isinstance(value, Groups):
        lists = sum(_packed_size(group.terms) for group, _ in value.groups)
    elif isinstance(value, Columns | Formulas):
        lists = _packed_size(value.ranks.terms)
    else:
        lists = 0
    sizes["ranklists"] += lists
    sizes[name] += _packed_size(elastic.encode(value)) - lists


def _family(family: Any) -> int:
    vecs = (family.sizes, family.members, family.remote_sizes, family.remote_members)
    return _packed_size(family.kind) + sum(_packed_size(vec.terms) for vec in vecs if vec is not None)


def _packed_size(value: Any) -> int:
    return len(msgpack.packb(value, unicode_errors="surrogateescape"))
