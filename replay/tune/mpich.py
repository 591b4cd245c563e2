"""Algorithms of MPICH's control variables, and its file of rules (COLL_SELECTION_TUNING_JSON_FILE).

The file has a tree of conditions for each collective, and replaces all trees that the library has built
in. So the built-in trees are read from the library's file, and rules are put in front of them:

    "collective=allreduce": {"comm_type=intra": {
        "comm_size<=3": ...                          as built in
        "comm_size<=4": {
            "avg_msg_size<=1023": ...                as built in
            "avg_msg_size<=16384": {"algorithm=MPIR_Allreduce_intra_ring": {}},
            "avg_msg_size=any": ...}                 as built in
        "comm_size=any": ...}, "comm_type=inter": ...}

Conditions are checked from the first to the last, without a way back from inside one
(src/mpi/coll/src/csel.c). Devices decide before these trees: MPIR_CVAR_<OPERATION>_DEVICE_COLLECTIVE=0
leaves the decision to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scalatrace.errors import ScalatraceError
from scalatrace.replay.tune.compiled import ControlVariables
from scalatrace.replay.tune.library import SIZELESS, OperationRules, TunedSetting
from scalatrace.replay.tune.points import CollectivePoint
from scalatrace.replay.tune.size_rules import SizeRule

__all__ = ["Mpich", "built_in_trees", "tuned_trees"]

FILE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
STRICT = "MPIR_CVAR_COLLECTIVE_FALLBACK"
"""With its value "error", an algorithm that cannot carry out a call ends with an error."""

K_VALUES = (2, 4, 8)
"""Branches of trees, and radices, that are tried."""

_EXCHANGE = (("k", "RECEXCH_KVAL"), ("single_phase_recv", "RECEXCH_SINGLE_PHASE_RECV"))

PARAMETERS: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("barrier", "k_dissemination"): (("k", "DISSEM_KVAL"),),
    ("bcast", "tree"): (
        ("k", "TREE_KVAL"), ("tree_type", "TREE_TYPE"), ("is_non_blocking", "IS_NON_BLOCKING"),
    ),
    ("bcast", "pipelined_tree"): (
        ("k", "TREE_KVAL"), ("tree_type", "TREE_TYPE"), ("is_non_blocking", "IS_NON_BLOCKING"),
        ("chunk_size", "TREE_PIPELINE_CHUNK_SIZE"), ("recv_pre_posted", "RECV_PRE_POST"),
    ),
    ("allreduce", "recursive_multiplying"): (("k", "RECURSIVE_MULTIPLYING_KVAL"),),
    ("allreduce", "tree"): (
        ("k", "TREE_KVAL"), ("tree_type", "TREE_TYPE"), ("chunk_size", "TREE_PIPELINE_CHUNK_SIZE"),
        ("buffer_per_child", "TREE_BUFFER_PER_CHILD"),
    ),
    ("allreduce", "recexch"): _EXCHANGE,
    ("allreduce", "k_reduce_scatter_allgather"): _EXCHANGE,
    ("allgather", "k_brucks"): (("k", "BRUCKS_KVAL"),),
    ("allgather", "recexch_doubling"): _EXCHANGE,
    ("allgather", "recexch_halving"): _EXCHANGE,
    ("alltoall", "k_brucks"): (("k", "BRUCKS_KVAL"),),
}  # fmt: skip
"""Parameters in the file, and the ends of the variables that have their values (coll_algorithms.txt)."""

LEFT_OUT = frozenset({("barrier", "recexch"), ("allreduce", "ccl")})
"""Algorithms with a parameter that the file does not set, or for GPUs."""

AVERAGE = frozenset({"allreduce", "bcast", "reduce", "alltoall"})
"""Operations whose trees compare avg_msg_size (of the vector, or for each rank); others total_msg_size."""

COMMUTATIVE = frozenset({"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block"})
BUILT_IN = frozenset({"allreduce", "reduce"})
NOT_IN_PLACE = frozenset({"alltoall", "alltoallv"})
POWER_OF_TWO = frozenset({"reduce_scatter_allgather", "reduce_scatter_gather"})
"""Algorithms that need an element for each rank of the next lower power of two."""

WITHIN_NODES = "smp"
MAX_INT = (1 << 31) - 1

_DESCRIBED = re.compile(r"^\s*(\w+)\s+- ", re.MULTILINE)
_TREES = re.compile(rb'\{\s*"collective=')

Tree = dict[str, Any]


class Mpich:
    """MPICH 4 or later."""

    per_communicator = False
    knows_operators = True

    def __init__(self, variables: ControlVariables, version: str, several_nodes: bool, library: Path) -> None:
        """Read the built-in trees from the library's file.

        Raises:
            ScalatraceError: there are none.
        """
        number = re.search(r"MPICH Version:\s*(\S+)", version)
        self.name = f"MPICH {number[1]}" if number else "MPICH"
        self._variables, self._several_nodes = variables, several_nodes
        self._content = library.read_bytes()
        self._trees = built_in_trees(self._content)

    def candidates(self, point: CollectivePoint) -> Sequence[TunedSetting]:
        """Return the algorithms for a point, with their parameters."""
        variable = _variable(point.op, "INTRA_ALGORITHM")
        if variable not in self._variables:
            return ()
        names = _DESCRIBED.findall(self._variables.description(variable))
        result: list[TunedSetting] = []
        for number, name in enumerate(names):
            if name == "auto" or (point.op, name) in LEFT_OUT or self._container(point.op, name) is None:
                continue
            if name != WITHIN_NODES or self._several_nodes:
                result += self._with_parameters(point, name, number)
        return result

    def _container(self, op: str, name: str) -> str | None:
        """Return an algorithm as the file names it; None: this version does not read it."""
        for kind in ("intra", "allcomm"):
            container = f"MPIR_{op.capitalize()}_{kind}_{name}"
            if f"algorithm={container}\0".encode() in self._content:
                return container
        return None

    def _with_parameters(self, point: CollectivePoint, name: str, number: int) -> Iterator[TunedSetting]:
        parameters = PARAMETERS.get((point.op, name), ())
        if any(_variable(point.op, suffix) not in self._variables for _, suffix in parameters):
            return
        strict = [(STRICT, value)] if name != WITHIN_NODES and (value := self._strict()) is not None else []
        base = [*self._own(point.op), (_variable(point.op, "INTRA_ALGORITHM"), number), *strict]
        for k in [k for k in K_VALUES if k == 2 or k <= point.size] if parameters else [0]:
            texts, settings = [], []
            for key, suffix in parameters:
                variable = _variable(point.op, suffix)
                texts.append(f"{key}={k if key == 'k' else self._variables.text(variable)}")
                settings += [(variable, k)] if key == "k" else []
            yield TunedSetting(name, number, (*base, *settings), fanout=k, parameters=tuple(texts))

    def _strict(self) -> int | None:
        if STRICT not in self._variables:
            return None
        names = _DESCRIBED.findall(self._variables.description(STRICT))
        return names.index("error") if "error" in names else None

    def _own(self, op: str) -> list[tuple[str, int]]:
        """Return the setting that leaves the decision to the trees."""
        variable = _variable(op, "DEVICE_COLLECTIVE")
        return [(variable, 0)] if variable in self._variables else []

    def fallback(self, op: str) -> TunedSetting | None:
        """Return the built-in tree, without the device."""
        return TunedSetting("built-in rules", 0, tuple(self._own(op)))

    def rule_bytes(self, point: CollectivePoint) -> int:
        """Return the bytes that the conditions compare."""
        return 0 if point.op in SIZELESS else point.block if point.op in AVERAGE else point.block * point.size

    def text(self, rules: Sequence[OperationRules], about: Sequence[str]) -> str:
        """Return the built-in trees with the rules in front of them."""
        return json.dumps(tuned_trees(self._trees, rules, self._container), indent=4) + "\n"

    def variables(self, rules: Sequence[OperationRules], path: Path) -> Mapping[str, str]:
        """Return the settings as variables of the environment."""
        devices = [pair for operation in rules for pair in self._own(operation.op)]
        return {FILE: str(path), **{name: str(value) for name, value in devices}}

    def options(self, rules: Sequence[OperationRules], path: Path) -> Sequence[str]:
        """Return the settings as options of mpiexec."""
        return [
            word for name, value in self.variables(rules, path).items() for word in ("-genv", name, value)
        ]


def _variable(op: str, suffix: str) -> str:
    return f"MPIR_CVAR_{op.upper()}_{suffix}"


def built_in_trees(content: bytes) -> Tree:
    """Return the trees of the algorithms that a library's file contains.

    Raises:
        ScalatraceError: it contains none.
    """
    for start in _TREES.finditer(content):
        text = content[start.start() : content.index(b"\0", start.start())]
        if b"composition=" in text or b"MPIDI_" in text or b"algorithm=MPIR_" not in text:
            continue  # of a device
        try:
            trees: Tree = json.loads(text)
        except ValueError:
            continue
        return trees
    raise ScalatraceError(
        "this MPICH contains no rules of collectives that could be extended: version 4 or later is needed"
    )


def tuned_trees(trees: Tree, rules: Sequence[OperationRules], container: Any) -> Tree:
    """Return trees with rules in front.

    Args:
        container: of an operation and an algorithm, its name in the file.
    """
    result = dict(trees)
    for operation in rules:
        key = f"collective={operation.op}"
        kinds: Tree = dict(result[key])
        kinds["comm_type=intra"] = _by_ranks(operation, kinds["comm_type=intra"], container)
        result[key] = kinds
    return result


def _by_ranks(operation: OperationRules, built_in: Tree, container: Any) -> Tree:
    tree: Tree = {}
    for nranks, of_size in sorted(operation.by_ranks.items()):
        tree.setdefault(f"comm_size<={nranks - 1}", built_in)
        tree[f"comm_size<={nranks}"] = _by_bytes(operation.op, of_size, built_in, container)
    return {**tree, "comm_size=any": built_in}


def _by_bytes(op: str, of_size: Sequence[SizeRule[TunedSetting]], built_in: Tree, container: Any) -> Tree:
    leaves = [
        built_in if rule.choice is None else _guarded(op, rule.choice, built_in, container)
        for rule in of_size
    ]
    if op in SIZELESS:
        return leaves[0]
    measure = "avg_msg_size" if op in AVERAGE else "total_msg_size"
    ends = [rule.start - 1 for rule in of_size[1:]]
    tree = {f"{measure}<={end}": leaf for end, leaf in zip(ends, leaves, strict=False) if end < MAX_INT}
    return {**tree, f"{measure}=any": leaves[len(tree)]}


def _guarded(op: str, choice: TunedSetting, built_in: Tree, container: Any) -> Tree:
    """Return an algorithm behind the conditions that it needs."""
    parameters: Tree = {text: {} for text in choice.parameters}
    tree: Tree = {f"algorithm={container(op, choice.name)}": parameters}
    for condition, instead in reversed(list(_conditions(op, choice.name))):
        tree = (
            {condition: tree, instead: built_in}
            if "=any" in instead
            else {instead: built_in, condition: tree}
        )
    return tree


def _conditions(op: str, name: str) -> Iterable[tuple[str, str]]:
    """Yield the conditions of an algorithm, each with the one of other calls."""
    if name == WITHIN_NODES:
        yield "comm_hierarchy=parent", "comm_hierarchy=any"
    if op in COMMUTATIVE:
        yield "is_commutative=yes", "is_commutative=no"
    if op in BUILT_IN:
        yield "is_op_built_in=yes", "is_op_built_in=no"
    if op in NOT_IN_PLACE:
        yield "is_sendbuf_inplace=no", "is_sendbuf_inplace=yes"
    if name in POWER_OF_TWO:
        yield "count=any", "count<pow2"
