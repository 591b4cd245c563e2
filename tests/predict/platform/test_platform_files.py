"""Platform files: read, written again, and rejected with the key that is wrong."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.errors import FormatError, UsageError
from scalatrace.predict.kernels import read_cluster, read_kernels
from scalatrace.predict.platform import (
    AlgorithmRule,
    Network,
    NetworkTopology,
    Platform,
    PlatformCheck,
    Segment,
    add_check,
    example_names,
    platform_text,
    read_platform,
    write_platform,
)  # fmt: skip
from scalatrace.predict.platform.algorithms import algorithm_table

TIMES = st.floats(0, 1e6, allow_nan=False)
FACTORS = st.lists(st.floats(0, 1e6), max_size=5).map(tuple)
SEGMENTS = st.builds(Segment, st.just(0), *[TIMES] * (len(fields(Segment)) - 2), noise_factors=FACTORS)
NETWORKS = st.builds(
    lambda first, more, limit: Network(
        (first, *(Segment(start, *more[start]) for start in sorted(more))), limit, 5.0
    ),
    SEGMENTS,
    st.dictionaries(st.integers(1, 1 << 40), st.tuples(*[TIMES] * 3), max_size=3),
    st.none() | st.integers(0, 1 << 30),
)
PLATFORMS = st.builds(
    Platform,
    name=st.text(max_size=9),
    ranks_per_node=st.integers(0, 128),
    compute_scale=TIMES,
    network=NETWORKS,
    memory=st.none() | NETWORKS,
    interface=st.sampled_from(("rank", "node", "unlimited")),
    topology=st.just(NetworkTopology("torus", (4, 2), per_byte_ns=0.5)),
    collectives=st.just({"allreduce": (AlgorithmRule("ring", 100, 8), AlgorithmRule("rabenseifner"))}),
    checks=st.sampled_from(((), (PlatformCheck(2, 1.5, 1.25, "a b"), PlatformCheck(64, 0.1, 0.2)))),
)


@given(platform=PLATFORMS)
def test_written_platforms_are_read_back(
    platform: Platform, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("platform") / "a.toml"
    write_platform(path, platform)
    assert read_platform(path) == platform


@pytest.mark.parametrize(
    ("before", "count"),
    [("checks = []\n", 0), ("checks = [{ranks = 2, measured_s = 1.5, predicted_s = 1.25}]\n", 1)],
)
def test_a_check_is_added_to_checks_in_brackets(before: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("format = 1\n" + before + "[network]\nrendezvous_above_bytes = 5\n")
    add_check(path, PlatformCheck(8, 2.5, 2.25, "b"))
    platform = read_platform(path)
    assert platform.network.rendezvous_above_bytes == 5
    assert len(platform.checks) == count + 1
    assert platform.checks[-1] == PlatformCheck(8, 2.5, 2.25, "b")


def test_a_check_is_added_to_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("format = 1\nname = 'mine' # by hand\n[network]\n[[network.segments]]\nlatency_ns = 5\n")
    for check in (PlatformCheck(2, 1.5, 1.25, "first"), PlatformCheck(4, 2.5, 2.25, "second")):
        add_check(path, check)
    assert "name = 'mine' # by hand" in path.read_text()
    platform = read_platform(path)
    assert platform.network.segments[0].latency_ns == 5
    assert [(check.ranks, check.program) for check in platform.checks] == [(2, "first"), (4, "second")]
    assert platform.checks[0].ratio == 1.2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[checks]]\nranks = 0\nmeasured_s = 1.0\npredicted_s = 1.0\n", "checks[0]: ranks"),
        ("[[checks]]\nranks = 2\nmeasured_s = -1.0\npredicted_s = 1.0\n", "above 0"),
        ("[[checks]]\nranks = 2\nmeasured = 1.0\n", "checks[0].measured: unknown key"),
        ("[[checks]]\nranks = 2\nmeasured_s = inf\npredicted_s = 1.0\n", "no infinity"),
        ("[[checks]]\nranks = 2\nmeasured_s = 1e300\npredicted_s = 1.0\n", "not the same program"),
        ("checks = 3\n", "write [[checks]]"),
        ("thread_level = 'two'\n", "thread_level is 'two'; known: single"),
    ],
)
def test_wrong_checks(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("format = 1\n" + text)
    with pytest.raises(UsageError, match=re.escape(reason)):
        read_platform(path)


@pytest.mark.parametrize("name", example_names())
def test_installed_platforms_are_found_by_name(name: str) -> None:
    assert platform_text(read_platform(name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nam = 1", "nam: unknown key; did you mean name?"),
        ("ranks_per_node = true", "ranks_per_node is True; expected integer"),
        ("[network]\nsegments = [{from_bytes = 3}]", "network: segments start at [3] bytes"),
        ("[network]\nsegments = [{latency_us = 3}]", "network.segments[0].latency_us: unknown key"),
        (
            "[memory]\nsegments = [{gap_ns = -1}]",
            "memory.segments[0]: gap_ns is -1; it must be a finite number",
        ),
        ("[topology]\ndims = ['a']", "topology.dims is ['a']; expected array of integers"),
        (
            "[collectives]\nallreduce = [{algorithm = 'x'}]",
            "collectives.allreduce: no algorithm 'x'; known:",
        ),
        ("interface = 'x'", "interface is 'x'; known: rank, node, unlimited"),
        ("[topology]\nkind = 'x'", "topology: kind is 'x'; known: full, cluster, torus"),
        ("collectives = 3", "collectives must be a table"),
    ],
)
def test_errors_name_the_key(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("format = 1\n" + text)
    with pytest.raises(UsageError) as caught:
        read_platform(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_other_files_are_no_platforms(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    for text in ("", "format = 2", "format = ["):
        path.write_text(text)
        with pytest.raises(FormatError):
            read_platform(path)
    with pytest.raises(UsageError, match=r"installed: .*cluster"):
        read_platform("clusters")


@pytest.mark.parametrize("text", ["name = [", f"name = {'9' * 5000}", f"name = {'[' * 100_000}"])
def test_files_that_are_no_toml(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f"format = 1\n{text}\n")
    for read in (read_platform, read_cluster, read_kernels):
        with pytest.raises(FormatError, match="not valid TOML") as caught:
            read(tmp_path / "a.toml")
        assert "\n" not in str(caught.value)


def test_a_segment_starts_at_its_size() -> None:
    network = Network((Segment(0, 1.0), Segment(100, 2.0)), 1000)
    assert [network.segment(n).latency_ns for n in (0, 99, 100, 5000)] == [1.0, 1.0, 2.0, 2.0]
    assert [network.is_eager(n) for n in (1000, 1001)] == [True, False]


def test_neighbor_exchange_is_an_algorithm_of_allgather_only(tmp_path: Path) -> None:
    rule = 'format = 1\n[[collectives.{}]]\nalgorithm = "neighbor_exchange"\nmax_bytes = 100\n'
    path = tmp_path / "a.toml"
    path.write_text(rule.format("allgather"))
    platform = read_platform(path)
    assert [platform.algorithm("allgather", n, 6) for n in (100, 101)] == [
        "neighbor_exchange", "recursive_doubling",
    ]  # fmt: skip
    path.write_text(rule.format("allreduce"))
    with pytest.raises(UsageError, match="no algorithm 'neighbor_exchange'"):
        read_platform(path)


def test_conditions_of_algorithms_are_documented() -> None:
    rows = [
        f"| {operation} | `{name}` | {row.condition} | `{row.otherwise}` |"
        for operation, algorithms in algorithm_table().items()
        for name, row in algorithms.items()
        if row.condition
    ]
    page = Path(__file__).resolve().parents[3] / "docs/guide/simulate.md"
    table = page.read_text(encoding="utf-8").split("| operation | algorithm | needs | other calls use |\n")[1]
    assert table.split("\n\n")[0].splitlines()[1:] == rows


def test_default_algorithms_follow_sizes() -> None:
    platform = Platform(collectives={"allreduce": (AlgorithmRule("ring", 100, 8),)})
    assert platform.algorithm("allreduce", 100, 8) == "ring"
    assert platform.algorithm("allreduce", 100, 9) == "recursive_doubling"
    assert platform.algorithm("allreduce", 1 << 20, 8) == "rabenseifner"
