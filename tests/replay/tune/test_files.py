"""The files of both libraries, read by readers that follow the libraries' sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scalatrace.errors import ScalatraceError
from scalatrace.replay.tune.library import OperationRules, TunedSetting
from scalatrace.replay.tune.mpich import built_in_trees, tuned_trees
from scalatrace.replay.tune.openmpi import NUMBERS, classic_text, json_text
from scalatrace.replay.tune.size_rules import SizeRule, size_rules

RING = TunedSetting("ring", 4, (), segment=4096)
TREE = TunedSetting("tree", 6, (), fanout=2)
RULES = [
    OperationRules(
        "bcast", {4: size_rules({1024: RING, 65536: None, 1 << 20: TREE}), 5: size_rules({8: TREE})}
    ),
    OperationRules("barrier", {3: (SizeRule(0, TREE),)}),
]

Choice = tuple[int, int, int]
"""Algorithm, fan-out, bytes of a segment."""
OWN: Choice = (0, 0, 0)


def read_classic(text: str) -> dict[int, list[tuple[int, list[tuple[int, Choice]]]]]:
    """Read as coll_tuned_dynamic_file.c: numbers one after the other; # begins a comment."""
    words = iter([word for line in text.splitlines() for word in line.partition("#")[0].split()])
    number = lambda: int(next(words))  # noqa: E731
    result: dict[int, list[tuple[int, list[tuple[int, Choice]]]]] = {}
    for _ in range(number()):
        sets = result[number()] = []
        for _ in range(number()):
            ranks, count = number(), number()
            sets.append((ranks, [(number(), (number(), number(), number())) for _ in range(count)]))
    assert next(words, None) is None
    return result


def classic_choice(text: str, op: str, ranks: int, nbytes: int) -> Choice:
    """Choose as coll_tuned_dynamic_rules.c: the last set and rule that are not larger, else the first."""
    sets = read_classic(text)[NUMBERS[op]]
    best = sets[0][1]
    for least, rules in sets:
        if least > ranks:
            break
        best = rules
    choice = best[0][1]
    for start, parameters in best:
        if start <= nbytes:
            choice = parameters
    return choice


@pytest.mark.parametrize(
    ("ranks", "nbytes", "expected"),
    [
        (4, 1024, (4, 4, 4096)),
        (4, 255, OWN),
        (4, 256, (4, 4, 4096)),
        (4, 4096, (4, 4, 4096)),
        (4, 4097, OWN),
        (4, 65536, OWN),
        (4, 1 << 20, (6, 2, 0)),
        (4, 1 << 30, OWN),
        (5, 8, (6, 2, 0)),
        (5, 1024, OWN),
        (2, 1024, OWN),
        (6, 1024, OWN),
        (1000, 8, OWN),
    ],
)
def test_classic_rules_count_for_measured_ranks_and_sizes_only(
    ranks: int, nbytes: int, expected: Choice
) -> None:
    text = classic_text(RULES, ["for 4 ranks, 2 lines", "of text"])
    assert classic_choice(text, "bcast", ranks, nbytes) == expected


def test_classic_rules_without_sizes() -> None:
    text = classic_text(RULES)
    assert classic_choice(text, "barrier", 3, 0) == (6, 2, 0)
    assert classic_choice(text, "barrier", 4, 0) == OWN


def test_each_set_begins_with_size_zero() -> None:
    for sets in read_classic(classic_text(RULES)).values():
        assert all(rules[0][0] == 0 for _, rules in sets)
        assert [ranks for ranks, _ in sets] == sorted({ranks for ranks, _ in sets})


def test_json_rules_have_limits_of_their_own() -> None:
    data = json.loads(json_text(RULES))
    assert set(data) == {"rule_file_version", "module", "collectives"}
    four, five = data["collectives"]["bcast"]
    assert (four["comm_size_min"], four["comm_size_max"], five["comm_size_min"]) == (4, 4, 5)
    assert [(r["msg_size_min"], r["msg_size_max"], r["alg"], r["seg_size"]) for r in four["rules"]] == [
        (256, 4096, 4, 4096),
        (262145, 4194304, 6, 0),
    ]
    [barrier] = data["collectives"]["barrier"]
    assert barrier["rules"] == [
        {"msg_size_min": 0, "msg_size_max": "Inf", "alg": 6, "faninout": 2, "seg_size": 0}
    ]


BUILT_IN: dict[str, Any] = {
    "collective=allreduce": {
        "comm_type=intra": {"avg_msg_size<=8": {"algorithm=A": {}}, "avg_msg_size=any": {"algorithm=B": {}}},
        "comm_type=inter": {"algorithm=C": {}},
    },
    "collective=alltoall": {"comm_type=intra": {"algorithm=P": {}}, "comm_type=inter": {"algorithm=Q": {}}},
    "collective=barrier": {"comm_type=intra": {"algorithm=D": {}}, "comm_type=inter": {"algorithm=E": {}}},
}


def tree_choice(tree: dict[str, Any], **call: Any) -> tuple[str, dict[str, Any]]:
    """Choose as csel.c: the first condition that holds; without a way back."""
    for key, inner in tree.items():
        name, _, value = key.partition("=") if "<=" not in key else key.partition("<=")
        if name == "algorithm":
            return value, inner
        if value == "any" or ("<=" in key and call[name] <= int(value)) or str(call.get(name)) == value:
            return tree_choice(inner, **call)
        if key == "count<pow2" and call["count"] < call["pow2"]:
            return tree_choice(inner, **call)
    raise AssertionError(f"no condition of {list(tree)} holds for {call}")


def name_of(op: str, name: str) -> str:
    return f"MPIR_{op}_{name}"


CALL = {
    "comm_type": "intra", "comm_size": 4, "avg_msg_size": 1024, "is_commutative": "yes",
    "is_op_built_in": "yes", "count": 128, "pow2": 4,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "MPIR_allreduce_reduce_scatter_allgather"),
        ({"avg_msg_size": 256}, "MPIR_allreduce_reduce_scatter_allgather"),
        ({"avg_msg_size": 255}, "B"),
        ({"avg_msg_size": 8}, "A"),
        ({"avg_msg_size": 4097}, "B"),
        ({"comm_size": 3}, "B"),
        ({"comm_size": 5}, "B"),
        ({"comm_type": "inter"}, "C"),
        ({"is_commutative": "no"}, "B"),
        ({"is_op_built_in": "no"}, "B"),
        ({"count": 3}, "B"),
    ],
)
def test_trees_choose_the_rule_only_where_it_holds(changes: dict[str, Any], expected: str) -> None:
    best = TunedSetting("reduce_scatter_allgather", 5, ())
    trees = tuned_trees(BUILT_IN, [OperationRules("allreduce", {4: size_rules({1024: best})})], name_of)
    assert tree_choice(trees["collective=allreduce"], **{**CALL, **changes})[0] == expected
    assert trees["collective=barrier"] == BUILT_IN["collective=barrier"]


def test_trees_have_parameters_and_several_numbers_of_ranks() -> None:
    best = TunedSetting("k_brucks", 2, (), fanout=4, parameters=("k=4",))
    rules = OperationRules("alltoall", {n: size_rules({64: best}) for n in (2, 3, 6)})
    tree = tuned_trees(BUILT_IN, [rules], name_of)["collective=alltoall"]
    call = {"comm_type": "intra", "avg_msg_size": 64, "is_sendbuf_inplace": "no"}
    chosen = [tree_choice(tree, **call, comm_size=n) for n in range(2, 8)]
    tuned, built_in = ("MPIR_alltoall_k_brucks", {"k=4": {}}), ("P", {})
    assert chosen == [tuned, tuned, built_in, built_in, tuned, built_in]
    assert tree_choice(tree, **{**call, "is_sendbuf_inplace": "yes"}, comm_size=2) == built_in


def test_trees_without_sizes() -> None:
    best = TunedSetting("k_dissemination", 3, (), parameters=("k=2",))
    trees = tuned_trees(BUILT_IN, [OperationRules("barrier", {4: (SizeRule(0, best),)})], name_of)
    assert (
        tree_choice(trees["collective=barrier"], comm_type="intra", comm_size=4)[0]
        == "MPIR_barrier_k_dissemination"
    )
    assert tree_choice(trees["collective=barrier"], comm_type="intra", comm_size=5)[0] == "D"


def test_trees_come_from_the_file_of_the_library() -> None:
    device = b'{"collective=bcast": {"composition=X": {}}}\0'
    own = b'{"collective=bcast": {"algorithm=MPIR_Bcast_intra_binomial": {}}}\0'
    assert built_in_trees(b"\x7fELF" + device + b"..{" + own + b"rest") == json.loads(own[:-1])
    with pytest.raises(ScalatraceError, match="contains no rules"):
        built_in_trees(b"\x7fELF" + device)


def test_trees_of_this_machine(mpis: dict[str, Any]) -> None:
    if "mpich" not in mpis:
        pytest.skip("needs MPICH, whose library holds the rules")
    library = Path(mpis["mpich"].mpiexec).resolve().parents[1] / "lib/libmpi.so.12"
    trees = built_in_trees(library.read_bytes())
    assert {"collective=allreduce", "collective=barrier", "collective=alltoall"} <= set(trees)
