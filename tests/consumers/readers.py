"""Consumers that read a trace without running it: each result is compared with the walk of all ranks."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping

from consumers.exported import CALLS, is_send
from consumers.outcomes import EQUAL, Consumer, Outcome, Verdict, different, refused
from consumers.recording import Recording
from scalatrace.errors import ScalatraceError
from scalatrace.operations import SENDING, Category, operation
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.export.formats import FORMATS, ExportSelection, export
from scalatrace.predict.lowering import LoweringTarget, TraceLowering
from scalatrace.predict.platform import read_platform
from scalatrace.predict.timeline import Timeline
from scalatrace.report.page.gather import gather
from scalatrace.report.page.page import page
from scalatrace.report.page.tree import leaves
from scalatrace.report.stats import StatsReporter
from scalatrace.trace.exchange.matrix import pairs
from scalatrace.trace.exchange.messages import messages_of
from scalatrace.trace.exchange.rank_sets import Budget
from scalatrace.trace.query.verify import verify
from support.lowered import run as run_lowered

Pairs = Mapping[tuple[int, int], int]


def flat_log(recording: Recording) -> Outcome:
    """Compare the walk with the flat log."""
    verification = verify(recording.trace, recording.logs)
    return EQUAL if verification.ok else different(str(verification.problems[0]))


def simulated(recording: Recording) -> Outcome:
    """Simulate: all calls of all ranks, each once."""
    trace = recording.trace
    result = Simulator(trace).run(read_platform("cluster"))
    calls: Counter[str] = Counter()
    for number, node in enumerate(result.program.nodes):
        if node.event is not None and result.calls[number]:
            calls[trace.ops[node.event.op].name] += int(result.calls[number])
    return _counts("simulated calls", calls, recording.calls)


def stats(recording: Recording) -> Outcome:
    """Compare the tables of `stats` by operation, call site and rank with the walk."""
    for by in ("op", "site", "rank"):
        rows = StatsReporter(recording.trace, by).plain()["rows"]
        wanted = [sum(row[i] for row in recording.totals.values()) for i in range(2)]
        if [sum(row[name] for row in rows) for name in ("calls", "bytes_sent")] != wanted:
            return different(f"stats by {by}: {[row.values() for row in rows]}, the walk has {wanted}")
        if by == "op":
            found = {row["operation"]: (row["calls"], row["bytes_sent"]) for row in rows}
            if found != recording.totals:
                return _counts("stats", found, recording.totals)
    return EQUAL


def matrix(recording: Recording) -> Outcome:
    """Compare the matrix with the messages of time lines and of the page."""
    trace = recording.trace
    for what in ("messages", "bytes"):
        found = pairs(trace, what, "p2p")
        for name, other in (
            ("the time line", _timeline_pairs(recording)),
            ("the page", _page_pairs(recording)),
        ):
            wanted = {pair: amount for pair, amount in other[what].items() if amount}
            if found != wanted:
                return _counts(f"{what} of the matrix against {name}", found, wanted)
    return EQUAL


def report(recording: Recording) -> Outcome:
    """Make the page; compare its calls and bytes."""
    aggregates = gather(recording.trace, "app.st")
    if aggregates.notes:
        return different("; ".join(aggregates.notes))
    page([aggregates], None)
    root = aggregates.tree.root
    whole = tuple(sum(column) for column in zip(*recording.totals.values(), strict=True))
    if (root.calls, root.sent) != whole:
        return different(f"the page has {root.calls} calls and {root.sent} bytes, the walk {whole}")
    if sum(1 for _ in leaves(root)) < sum(1 for _ in recording.trace.leaves()):
        return EQUAL  # a long program: the page leaves out calls that cost little
    found: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for leaf in leaves(root):
        found[leaf.op] += leaf.calls
        sent[leaf.op] += leaf.sent or 0
    totals = {op: (n, sent[op]) for op, n in found.items()}
    return _counts("calls and bytes of the page", totals, recording.totals)


def exported(name: str) -> Consumer:
    """Return the consumer that writes a format."""

    def write(recording: Recording) -> Outcome:
        target = recording.folder / f"out.{name}"
        if target.is_dir():
            shutil.rmtree(target)
        form = FORMATS[name]
        account = export(form, [recording.matched], str(target), ExportSelection())
        if form.kind == "simulator":
            return _lowered(recording, form.target or LoweringTarget(), account)
        return _events(recording, name)

    return write


READERS: dict[str, Consumer] = {
    "flat log": flat_log,
    "simulate": simulated,
    "stats": stats,
    "matrix": matrix,
    "report": report,
    **{f"export {name}": exported(name) for name in FORMATS if name != "extrap"},
}


def _lowered(recording: Recording, target: LoweringTarget, account: list[dict[str, object]]) -> Outcome:
    """Run the messages of a simulator's export, and compare the account with the walk."""
    calls: Counter[str] = Counter()
    nbytes: Counter[str] = Counter()
    for row in account:
        op = str(row["operation"]).removeprefix("MPI_")
        calls[op] += int(str(row["calls"]))
        if is_send(op):
            nbytes[op] += int(str(row["bytes"]))
    try:
        run_lowered(TraceLowering(recording.matched, target))
    except AssertionError as error:
        return different(f"lowered: {error}")
    totals = recording.totals.items()
    # The account counts a persistent collective at each start.
    found = {op: (n, nbytes[op]) for op, n in calls.items() if not _is_persistent_collective(op)}
    wanted = {
        op: (n, sent if is_send(op) else 0) for op, (n, sent) in totals if not _is_persistent_collective(op)
    }
    return _counts("calls and bytes of the account", found, wanted)


def _is_persistent_collective(op: str) -> bool:
    return op.endswith("_init") and operation(op).category is Category.COLLECTIVE


def _events(recording: Recording, name: str) -> Outcome:
    calls, nbytes = CALLS[name](recording.folder / f"out.{name}")
    outcome = _counts(f"calls in {name}", calls, recording.calls)
    if outcome.verdict is Verdict.EQUAL and nbytes:
        sent = {op: sent for op, (_, sent) in recording.totals.items() if is_send(op) and sent}
        return _counts(f"bytes in {name}", nbytes, sent)
    return outcome


def _timeline_pairs(recording: Recording) -> dict[str, Counter[tuple[int, int]]]:
    messages: Counter[tuple[int, int]] = Counter()
    nbytes: Counter[tuple[int, int]] = Counter()
    timeline = Timeline(recording.matched)
    for rank in timeline.ranks:
        for event in timeline.events(rank):
            for message in event.messages:
                if message.sent and operation(event.call.op).category in (*SENDING, Category.START):
                    messages[message.source, message.dest] += 1
                    nbytes[message.source, message.dest] += message.nbytes
    return {"messages": messages, "bytes": nbytes}


def _page_pairs(recording: Recording) -> dict[str, Counter[tuple[int, int]]]:
    messages: Counter[tuple[int, int]] = Counter()
    nbytes: Counter[tuple[int, int]] = Counter()
    for each in messages_of(recording.trace, Budget()):
        for sender, receiver in zip(each.senders.tolist(), each.receivers.tolist(), strict=True):
            if receiver >= 0:
                messages[sender, receiver] += int(each.count)
                nbytes[sender, receiver] += int(each.count * each.nbytes)
    return {"messages": messages, "bytes": nbytes}


def _counts(what: str, found: Mapping[object, object], wanted: Mapping[object, object]) -> Outcome:
    keys = sorted({*found, *wanted}, key=str)
    lines = [
        f"{key}: {found.get(key, 0)}, expected {wanted.get(key, 0)}"
        for key in keys
        if found.get(key, 0) != wanted.get(key, 0)
    ]
    return different(f"{what}: {'; '.join(lines)}") if lines else EQUAL


def checked(consumer: Consumer, recording: Recording) -> Outcome:
    """Run a consumer; an error of one line is a refusal if it says so, anything else a disagreement."""
    try:
        return consumer(recording)
    except ScalatraceError as error:
        return refused(str(error)) if _is_refusal(error) else different(f"{type(error).__name__}: {error}")
    except Exception as error:  # a fault of the consumer is what the harness looks for
        return different("".join(_last_lines(error)))


def _is_refusal(error: ScalatraceError) -> bool:
    return str(error).startswith("cannot write ")


def _last_lines(error: Exception) -> Iterator[str]:
    import traceback

    return iter(traceback.format_exception(error)[-4:])
