"""Required properties of the table of sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator

from benchmarks.result_table import Line
from support.workloads import WORKLOADS

#: Values without rules: a lossless trace keeps them all.
GROWING = ("is", "amr")
SAME_NODES = ("bt", "cg", "ep", "ft", "lu", "sweep3d", "sp", "hpl")
MAX_SPREAD, MG_GROWTH = 0.10, 3
Verdict = tuple[str, bool, str]
"""What is demanded; whether it holds; the numbers."""


def claims(lines: list[Line]) -> list[str]:
    """A sentence per demand, over all lines measured so far."""
    return [
        f"{'yes' if holds else 'NO'}: {text} ({numbers})" if numbers else f"{text}: not measured"
        for text, holds, numbers in verdicts(lines)
    ]


def verdicts(lines: list[Line]) -> Iterator[Verdict]:
    """Judge every demand; one that nothing was measured for has no numbers."""
    measured = [line for line in lines if line.number("events") is not None]
    for workload in WORKLOADS:
        mine = [line for line in measured if line["program"] == workload.title]
        if workload.title not in GROWING:
            yield _same_size(workload.title, mine)
        if workload.title in SAME_NODES:
            yield _same_nodes(workload.title, mine)
        if workload.title == "mg":
            yield _slow_growth(mine)
    wrong = [f"{line['program']}, {line['ranks']}" for line in measured if line["lossless"] == "NO"]
    checked = sum(line["lossless"] in ("yes", "NO") for line in measured)
    details = ", ".join(wrong) or f"{checked} of {len(measured)} runs checked"
    yield "every trace is lossless", not wrong, details if checked else ""


def _same_size(title: str, lines: list[Line]) -> Verdict:
    """From 10 to 1000 steps on the same ranks."""
    worst = 0.0
    details = []
    for nprocs, group in _by(lines, "ranks"):
        traces = {int(line["steps"]): line.number("trace") or 0 for line in group if int(line["steps"]) >= 10}
        if len(traces) > 1:
            low, high = min(traces.values()), max(traces.values())
            worst = max(worst, high / low - 1)
            details.append(f"{nprocs} ranks {100 * (high / low - 1):.0f} % up to {max(traces)} steps")
    return f"{title}: size constant within {MAX_SPREAD:.0%}", worst <= MAX_SPREAD, ", ".join(details)


def _same_nodes(title: str, lines: list[Line]) -> Verdict:
    """From 16 ranks on, for the same number of steps."""
    equal, details = True, []
    for steps, group in _by(lines, "steps"):
        nodes = {int(line["ranks"]): int(line.number("nodes") or 0) for line in group}
        many = {nprocs: n for nprocs, n in sorted(nodes.items()) if nprocs >= 16}
        if len(many) > 1:
            equal = equal and len(set(many.values())) == 1
            details.append(f"{steps} steps " + ", ".join(f"{n} on {nprocs}" for nprocs, n in many.items()))
    return f"{title}: as many nodes on 64 ranks as on 16", equal, "; ".join(details)


def _slow_growth(lines: list[Line]) -> Verdict:
    worst, details = 0.0, []
    for steps, group in _by(lines, "steps"):
        traces = {int(line["ranks"]): line.number("trace") or 0 for line in group}
        if 8 in traces and 64 in traces:
            growth = traces[64] / traces[8]
            worst = max(worst, growth)
            details.append(f"{growth:.2f} with {steps} steps")
    return (
        f"mg: on 64 ranks at most {MG_GROWTH} times as large as on 8",
        worst <= MG_GROWTH,
        ", ".join(details),
    )


def _by(lines: Iterable[Line], column: str) -> list[tuple[Hashable, list[Line]]]:
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line[column]].append(line)
    return sorted(groups.items(), key=lambda item: int(item[0]))
