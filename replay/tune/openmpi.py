"""Algorithms of Open MPI's component `tuned`, and its file of rules (`coll_tuned_dynamic_rules_filename`).

Its algorithms are enumerations of control variables. A communicator takes their values when it is made.
Versions 4 and 5 read numbers (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c); version 6 reads JSON, too:

    1               operations with rules
    2               allreduce (enum COLLTYPE of coll_base_functions.h)
    3               sets of rules: from 0, 4 and 5 ranks on
    0 1             the first: from 0 ranks on there is 1 rule
    0 0 0 0         from 0 bytes on: algorithm 0 (own decision), fan-out, bytes of a segment
    4 2 ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scalatrace.errors import ScalatraceError
from scalatrace.replay.tune.compiled import ControlVariables
from scalatrace.replay.tune.library import SIZELESS, OperationRules, TunedSetting
from scalatrace.replay.tune.points import CollectivePoint
from scalatrace.replay.tune.size_rules import SizeRule

__all__ = ["OpenMpi", "classic_text", "json_text"]

FILE = "coll_tuned_dynamic_rules_filename"

NUMBERS = {
    "allgather": 0, "allgatherv": 1, "allreduce": 2, "alltoall": 3, "alltoallv": 4, "barrier": 6, "bcast": 7,
    "exscan": 8, "gather": 9, "reduce": 11, "reduce_scatter": 12, "reduce_scatter_block": 13, "scan": 14,
    "scatter": 15,
}  # fmt: skip
"""Operations as the file numbers them: enum COLLTYPE."""

SEGMENTS = (0, 1 << 12, 1 << 15, 1 << 18)
"""Bytes of a segment that are tried, where an algorithm has segments."""

FANOUTS = (2, 4, 8)
"""Numbers of chains that are tried."""

SEGMENTED = {
    "bcast": ("chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial"),
    "reduce": ("chain", "pipeline", "binary", "binomial", "in-order_binary"),
    "allreduce": ("segmented_ring",),
}
CHAINS = {"bcast": ("chain",), "reduce": ("chain",)}
DEFAULT_FANOUT = 4
"""coll_tuned_init_chain_fanout and coll_tuned_init_tree_fanout."""

FOR_TWO = "two_proc"
EVEN_RANKS = ("neighbor",)
"""Algorithms for even numbers of ranks; Open MPI takes another one for others."""

PER_RANK = frozenset({"allgatherv"})
WHOLE = frozenset({"allgather", "alltoall", "reduce_scatter", "reduce_scatter_block"})
"""Operations whose rules count the bytes of all ranks (coll_tuned_decision_dynamic.c)."""

HAN, TUNED = "coll_han_priority", "coll_tuned_priority"

JSON_VERSION = 6
"""First version that reads JSON; its reader of numbers shifts the limits of communicator sizes."""


class OpenMpi:
    """Open MPI 4 or later.

    Attributes:
        lowers_han: communicators extend over several nodes, where the component `han` would decide instead.
    """

    per_communicator = True
    knows_operators = False

    def __init__(self, variables: ControlVariables, version: str, several_nodes: bool) -> None:
        """Find out what decides.

        Raises:
            ScalatraceError: the library does not have the component, or it was started without `DYNAMIC`.
        """
        number = re.search(r"Open MPI v(\d+)[\d.]*", version)
        self._variables = variables
        self.name = number[0].replace(" v", " ") if number else "Open MPI"
        self.major = int(number[1]) if number else 5
        if (
            "coll_tuned_use_dynamic_rules" not in variables
            and "coll_tuned_allreduce_algorithm" not in variables
        ):
            raise ScalatraceError(f"{self.name} has no component coll/tuned, whose algorithms `tune` chooses")
        self.lowers_han = several_nodes and HAN in variables and variables[HAN] > variables[TUNED]
        self._han = ((HAN, 0),) if self.lowers_han else ()

    def candidates(self, point: CollectivePoint) -> Sequence[TunedSetting]:
        """Return the algorithms for a point, with segments and fan-outs."""
        op = point.op
        variable = f"coll_tuned_{op}_algorithm"
        if variable not in self._variables:
            return ()
        result = []
        for name, number in self._variables.items(variable).items():
            if (
                number == 0
                or (name == FOR_TWO and point.size != 2)
                or (name in EVEN_RANKS and point.size % 2)
            ):
                continue
            segments = SEGMENTS if name in SEGMENTED.get(op, ()) else (0,)
            fanouts = [n for n in FANOUTS if n < point.size] if name in CHAINS.get(op, ()) else []
            for segment in segments:
                if segment < max(1, point.block):
                    result += [self._candidate(op, name, number, segment, n) for n in fanouts or (0,)]
        return result

    def _candidate(self, op: str, name: str, number: int, segment: int, fanout: int) -> TunedSetting:
        stem = f"coll_tuned_{op}_algorithm"
        wanted = {f"{stem}_segmentsize": segment}
        wanted |= {f"{stem}_{kind}_fanout": fanout or DEFAULT_FANOUT for kind in ("tree", "chain")}
        settings = [(key, value) for key, value in wanted.items() if key in self._variables]
        return TunedSetting(name, number, ((stem, number), *settings, *self._han), segment, fanout)

    def fallback(self, op: str) -> TunedSetting | None:
        """Return the own decision of `tuned`, where another component is in use."""
        return TunedSetting("tuned's own decision", 0, self._han) if self.lowers_han else None

    def rule_bytes(self, point: CollectivePoint) -> int:
        """Return the bytes by which the component chooses."""
        return rule_bytes(point)

    def text(self, rules: Sequence[OperationRules], about: Sequence[str]) -> str:
        """Return the rules as this version reads them."""
        return json_text(rules) if self.major >= JSON_VERSION else classic_text(rules, about)

    def variables(self, rules: Sequence[OperationRules], path: Path) -> Mapping[str, str]:
        """Return the settings as variables of the environment."""
        return {f"OMPI_MCA_{name}": value for name, value in self._settings(path).items()}

    def options(self, rules: Sequence[OperationRules], path: Path) -> Sequence[str]:
        """Return the settings as options of mpiexec."""
        return [word for name, value in self._settings(path).items() for word in ("--mca", name, value)]

    def _settings(self, path: Path) -> dict[str, str]:
        settings = {"coll_tuned_use_dynamic_rules": "1", FILE: str(path)}
        return settings | ({HAN: "0"} if self.lowers_han else {})


def rule_bytes(point: CollectivePoint) -> int:
    """Return the bytes by which rules choose: of one rank or of all, as the operation has it."""
    return point.block * point.size if point.op in WHOLE else 0 if point.op in SIZELESS else point.block


def classic_text(rules: Sequence[OperationRules], about: Sequence[str] = ()) -> str:
    """Return rules as versions 4 and 5 read them.

    A set of rules counts for its number of ranks and all larger ones, and the first one for smaller ones,
    too: so each is put between sets in which the library decides.
    """
    lines = [*(f"# {line}" for line in about), f"{len(rules)} # operations"]
    for operation in rules:
        sets = _sets(operation.by_ranks)
        lines += [f"{NUMBERS[operation.op]} # {operation.op}", f"{len(sets)} # sets of rules, by ranks"]
        for nranks, of_size in sets.items():
            lines.append(f"{nranks} {len(of_size)} # from {nranks} ranks on: rules")
            lines += [_classic_line(rule) for rule in of_size]
    return "\n".join(lines) + "\n"


_OWN_DECISION: SizeRule[TunedSetting] = SizeRule(0, None)


def _sets(
    by_ranks: Mapping[int, Sequence[SizeRule[TunedSetting]]],
) -> dict[int, Sequence[SizeRule[TunedSetting]]]:
    sets: dict[int, Sequence[SizeRule[TunedSetting]]] = {0: [_OWN_DECISION]}
    for nranks in sorted(by_ranks):
        sets[nranks] = by_ranks[nranks]
        sets.setdefault(nranks + 1, by_ranks.get(nranks + 1, [_OWN_DECISION]))
    return sets


def _classic_line(rule: SizeRule[TunedSetting]) -> str:
    choice = rule.choice
    if choice is None:
        return f"{rule.start} 0 0 0 # bytes: own decision"
    fanout = choice.fanout or DEFAULT_FANOUT
    return f"{rule.start} {choice.number} {fanout} {choice.segment} # bytes: {choice.label}"


def json_text(rules: Sequence[OperationRules]) -> str:
    """Return rules as version 6 reads them."""
    collectives: dict[str, Any] = {}
    for operation in rules:
        collectives[operation.op] = [
            {"comm_size_min": nranks, "comm_size_max": nranks, "rules": _json_rules(of_size)}
            for nranks, of_size in sorted(operation.by_ranks.items())
        ]
    return (
        json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=2) + "\n"
    )


def _json_rules(of_size: Sequence[SizeRule[TunedSetting]]) -> list[dict[str, Any]]:
    ends = [rule.start - 1 for rule in of_size[1:]] + ["Inf"]
    return [
        {
            "msg_size_min": rule.start,
            "msg_size_max": end,
            "alg": rule.choice.number,
            "faninout": rule.choice.fanout or DEFAULT_FANOUT,
            "seg_size": rule.choice.segment,
        }
        for rule, end in zip(of_size, ends, strict=True)
        if rule.choice is not None
    ]
