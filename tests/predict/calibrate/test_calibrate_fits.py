"""Fits of made measurements, whose parameters are known; thresholds; archives; wrong input."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.cli import main
from scalatrace.errors import FormatError
from scalatrace.predict.calibrate import Archive, Measurement, fit_archive, read_archive
from scalatrace.predict.calibrate.archive import write_archive
from scalatrace.predict.calibrate.fitting import cluster_of, kernels_of
from scalatrace.predict.calibrate.loggops import one_way_ns
from scalatrace.predict.calibrate.plan import Settings, draw_peers, largest, log_uniform, plan
from scalatrace.predict.calibrate.typical import typical
from scalatrace.predict.calibrate.workloads import draw_calls
from scalatrace.predict.platform import Network, Segment, read_platform, write_platform
from scalatrace.predict.platform.collective_times import collective_ns

TRUE = Network(
    (
        Segment(0, 300, 0.0, 0.0, 200, 100, 0.25, 0.15),
        Segment(5000, 900, 0.1, 0.0, 250, 100, 0.01, 0.0),
        Segment(300_000, 900, 0.3, 0.0, 250, 100, 0.01, 0.0),
    ),
    4999,
    2000.0,
)
INTERRUPTION_NS = 1e7


def noisy(
    random: np.random.Generator, ns: float, interrupted: float = 0.0, repeats: int = 20
) -> tuple[float, ...]:
    """Repeats with 3 % noise; some of them are interrupted."""
    values = ns * (1 + random.normal(0, 0.03, repeats))
    return tuple(values + INTERRUPTION_NS * (random.uniform(size=repeats) < interrupted))


@cache
def made(levels: tuple[str, ...] = ("memory",), interrupted: float = 0.0, seed: int = 1) -> Archive:
    """An archive of TRUE; messages between nodes take twice as long."""
    random = np.random.default_rng(seed)
    rows = []
    for level in levels:
        scale = 2 if level == "network" else 1
        rows.append(Measurement("threshold", level=level, name="eager", nbytes=4999, params={"all": 0}))
        for size in [0, 1, *log_uniform(random, 60, 1 << 21)]:
            s = TRUE.segment(size)
            values = {
                "pingpong": one_way_ns(TRUE, size),
                "send": s.send_overhead_ns + size * s.send_overhead_per_byte_ns,
                "recv": s.recv_overhead_ns + size * s.recv_overhead_per_byte_ns,
                "burst": max(size * s.per_byte_ns, 350.0 if size < 5000 else 0),
            }
            rows += [
                Measurement(kind, noisy(random, scale * ns, interrupted), level=level, nbytes=size)
                for kind, ns in values.items()
                if kind != "recv" or size < 5000
            ]
        for entries in (0, 16, 256):
            times = noisy(random, 200 + 3.0 * entries)
            rows.append(Measurement("unexpected", times, level=level, params={"entries": entries}))
    for size in (64, 4096, 1 << 20):
        rows.append(Measurement("reduce_local", noisy(random, 50 + 0.125 * size), nbytes=size))
        rows.append(Measurement("pack", noisy(random, 50 + 0.5 * size), nbytes=size))
        rows.append(
            Measurement(
                "collective", noisy(random, 900 + size), name="bcast", nbytes=size, params={"ranks": 4}
            )
        )
    placement = ["a", "a"] if levels == ("memory",) else ["a", "a", "b", "b"]
    return Archive({"placement": placement, "hosts": {"a": {"processor": "P"}}}, tuple(rows))


@pytest.mark.parametrize("interrupted", [0.0, 0.6])
def test_parameters_are_recovered(interrupted: float) -> None:
    """Also if the system interrupts most repeats."""
    calibration = fit_archive(made(interrupted=interrupted))
    network = calibration.platform.network
    assert network.rendezvous_above_bytes == 4999
    assert 5000 in [s.from_bytes for s in network.segments]
    for size in np.geomspace(1, 2e6, 40).astype(int):
        if abs(np.log(size / 300_000)) > 0.2:  # a breakpoint lies between two measured sizes
            assert one_way_ns(network, int(size)) == pytest.approx(one_way_ns(TRUE, int(size)), rel=0.08)
    small, large = network.segment(64), network.segment(100_000)
    assert small.send_overhead_ns == pytest.approx(200, rel=0.15)
    assert small.recv_overhead_ns == pytest.approx(100, rel=0.15)
    assert small.latency_ns == pytest.approx(300, rel=0.2)
    assert small.per_byte_ns == pytest.approx(0, abs=0.06)
    assert large.per_byte_ns == pytest.approx(0.1, rel=0.1)
    assert large.latency_ns + network.rendezvous_latency_ns == pytest.approx(2900, rel=0.15)
    assert small.gap_ns == pytest.approx(350, rel=0.1)
    assert large.gap_ns == 0
    assert 0.02 < small.relative_noise < 0.04
    assert len(small.noise_factors) == 20
    assert np.std(small.noise_factors) == pytest.approx(small.relative_noise, rel=0.2)
    fit = calibration.fits["memory"]
    assert fit.error < 0.02
    assert fit.disturbed == pytest.approx(interrupted, abs=0.05)


def with_allreduce(algorithm: str, mpi: str) -> Archive:
    """The archive, and allreduces of 4 ranks that take the time of an algorithm."""
    archive = made()
    platform = fit_archive(archive).platform
    ranks = {"ranks": 4}
    rows = [
        Measurement(
            "collective", (collective_ns(platform, "allreduce", algorithm, size, 4),) * 5, name="allreduce",
            nbytes=size, params=ranks,
        )
        for size in (8, 4096, 100_000)
    ]  # fmt: skip
    return Archive({**archive.metadata, "versions": {"mpi": mpi}}, (*archive.measurements, *rows))


def test_collectives_are_compared_with_the_rules_of_the_measured_library() -> None:
    calibration = fit_archive(with_allreduce("recursive_doubling", "Open MPI v5.0.8, package"))
    assert calibration.platform.mpi == "openmpi-5.0.8"
    assert not calibration.platform.collectives
    times = [time for time in calibration.collectives if time.operation == "allreduce"]
    assert [(time.nbytes, time.algorithm) for time in times] == [
        (8, "recursive_doubling"), (4096, "recursive_doubling"), (100_000, "rabenseifner"),
    ]  # fmt: skip
    assert all(time.nearest_ns == pytest.approx(time.median_ns, rel=1e-3) for time in times)
    assert times[1].nearest == "recursive_doubling"
    assert fit_archive(made()).platform.mpi == "thakur"


def test_rules_are_fitted_to_measured_collectives(tmp_path: Path) -> None:
    archive = with_allreduce("linear", "Open MPI v5.0.8, package")
    platform = fit_archive(archive, rules=True).platform
    assert [platform.algorithm("allreduce", n, 4) for n in (8, 4096, 100_000)] == ["linear"] * 3
    assert platform.algorithm("allreduce", 4096, 8) == "recursive_doubling"
    assert fit_archive(archive, rules=True).collectives[0].algorithm == "linear"
    write_platform(tmp_path / "p.toml", platform)
    assert read_platform(tmp_path / "p.toml") == platform


def test_rules_keep_the_library_s_algorithm_where_no_other_is_near() -> None:
    far = with_allreduce("linear", "Open MPI v5.0.8, package")
    rows = [
        replace(m, ns=tuple(1000 * ns for ns in m.ns)) if m.name == "allreduce" else m
        for m in far.measurements
    ]
    assert not fit_archive(replace(far, measurements=tuple(rows)), rules=True).platform.collectives


@pytest.mark.parametrize(
    "hosts", [["a"] * 4, ["a", "a", "b", "b"], ["a", "b", "c", "d", "e"], ["a"] * 3 + ["b"]]
)
def test_pairings(hosts: list[str]) -> None:
    """Each rank is in one pair at most; pairs are on two hosts, if there are several."""
    drawn = {tuple(draw_peers(hosts, 1, pairing)) for pairing in range(1, 20)}
    assert len(drawn) > 1
    for peers in drawn:
        pairs = [(rank, peer) for rank, peer in enumerate(peers) if peer >= 0]
        assert all(peers[peer] == rank != peer for rank, peer in pairs)
        assert all(hosts[rank] != hosts[peer] for rank, peer in pairs if len(set(hosts)) > 1)
        assert len(pairs) >= 2
    alone = draw_peers(hosts, 1, 0)
    assert sum(peer >= 0 for peer in alone) == 2


def test_bisection_bandwidth() -> None:
    archive = made()
    rows = [
        Measurement("pairs", (1e6 if pairing == 0 else 2e6 + 1e4 * pairing,) * 4, nbytes=1 << 20,
                    params={"pairing": pairing, "ranks": 4})
        for pairing in range(9)
    ]  # fmt: skip
    bisection = fit_archive(replace(archive, measurements=(*archive.measurements, *rows))).bisection
    assert bisection is not None
    assert (bisection.ranks, bisection.pairings) == (4, 8)
    assert bisection.share == pytest.approx(0.49, abs=0.005)
    assert 0.48 < bisection.low < bisection.share < bisection.high < 0.5
    assert bisection.alone_gb_s == pytest.approx(1.048576)
    assert fit_archive(archive).bisection is None


def test_other_costs() -> None:
    platform = fit_archive(made()).platform
    assert platform.matching.per_entry_ns == pytest.approx(3, rel=0.1)
    assert platform.reduce_per_byte_ns == pytest.approx(0.125, rel=0.1)
    assert platform.strided.per_byte_ns == pytest.approx(0.5, rel=0.1)
    [first, *_] = fit_archive(made()).collectives
    assert (first.operation, first.ranks, first.nbytes) == ("bcast", 4, 64)


def test_one_node_has_no_network_between_nodes() -> None:
    platform = fit_archive(made()).platform
    assert (platform.ranks_per_node, platform.memory) == (0, None)


def test_two_levels(tmp_path: Path) -> None:
    platform = fit_archive(made(("memory", "network"))).platform
    assert platform.ranks_per_node == 2
    assert platform.memory is not None
    within, between = one_way_ns(platform.memory, 64), one_way_ns(platform.network, 64)
    assert between == pytest.approx(2 * within, rel=0.1)
    write_platform(tmp_path / "p.toml", platform)
    assert read_platform(tmp_path / "p.toml") == platform


def kernel_calls(seed: int) -> Archive:
    """A day of dgemm on three hosts, one of them slow."""
    random = np.random.default_rng(seed)
    rows = []
    for host, rate in (("a", 0.03), ("b", 0.031), ("c", 0.04)):
        rate *= 1 + random.normal(0, 0.005)
        for call in draw_calls(Settings(kernels=60, kernel_names=("dgemm",), seed=seed)):
            work = call.params["m"] * call.params["n"] * call.params["k"]
            ns = (rate * work + 900) * (1 + 0.03 * abs(random.standard_normal()))
            rows.append(Measurement("kernel", (ns,), name="dgemm", params=call.params, host=host))
    return Archive({}, tuple(rows))


def test_kernels_and_clusters_of_archives() -> None:
    days = [kernel_calls(seed) for seed in range(4)]
    models = kernels_of(days)
    params = {"m": 300, "n": 200, "k": 100}
    slow, fast = models.find("dgemm", "c"), models.find("dgemm", "a")
    assert slow is not None
    assert fast is not None
    assert slow.duration_ns(params) == pytest.approx(4 / 3 * fast.duration_ns(params), rel=0.03)
    cluster = cluster_of(days)
    assert cluster.unit == "m*n*k"
    assert sum(group.nodes for group in cluster.groups) == 3
    assert cluster.sample(100, 1).factor.min() > 0.5
    with pytest.raises(FormatError, match="no kernels"):
        kernels_of([made()])
    with pytest.raises(FormatError, match="calls of the kernel fft"):
        cluster_of(days, "fft")


def test_typical_durations_ignore_interruptions() -> None:
    assert typical([1.0, 1.2, 1.1, 1e7, 1e7, 1e7]) == pytest.approx(1.1)
    assert typical([0.0]) > 0


@given(threshold=st.integers(0, 5000), limit=st.integers(1, 5000))
def test_binary_search(threshold: int, limit: int) -> None:
    tested = []

    def holds(size: int) -> bool:
        tested.append(size)
        return size <= threshold

    expected = None if threshold >= limit else threshold or -1
    assert largest(holds, limit) == expected
    assert max(tested) <= max(limit, 1)
    assert len(tested) <= 30


def test_plans_are_shuffled_and_repeatable() -> None:
    settings = Settings(sizes=20, visits=2, seed=7)
    first, second = (plan(settings, ("memory",), {"memory": 4096}, [], 2) for _ in range(2))
    assert first == second
    other = plan(Settings(sizes=20, visits=2, seed=8), ("memory",), {"memory": 4096}, [], 2)
    assert other != first
    pingpongs = [e.nbytes for e in first if e.kind == "pingpong"]
    assert sorted(pingpongs) != pingpongs
    assert all(pingpongs.count(size) == 2 for size in pingpongs)
    assert max(e.nbytes for e in first if e.kind == "recv") <= 4096


def test_archives_are_read_back(tmp_path: Path) -> None:
    archive = made()
    write_archive(tmp_path / "a.jsonl", archive)
    assert read_archive(tmp_path / "a.jsonl") == archive


def test_segments_as_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_archive(tmp_path / "a.jsonl", made(("memory", "network")))
    words = ["--from", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "p.toml")]
    assert main(["calibrate", *words, "--csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    platform = read_platform(tmp_path / "p.toml")
    for level, network in (("memory", platform.memory), ("network", platform.network)):
        assert network is not None
        own = [row for row in rows if row["level"] == level]
        assert [int(row["from_bytes"]) for row in own] == [s.from_bytes for s in network.segments]
        assert [float(row["latency_ns"]) for row in own] == pytest.approx(
            [s.latency_ns for s in network.segments], rel=0.01
        )


HEADER = '{"format": "scalatrace calibration", "version": 1}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 is no JSON object"),
        ("format = 1\n", "line 1 is no JSON object"),
        ('{"a": 1}\n', "no archive of measurements"),
        ('{"format": "scalatrace calibration", "version": 9}\n', "version 9"),
        (HEADER + "[1]\n", "line 2 is no JSON object"),
        (HEADER + '{"ns": []}\n', "line 2 has no kind"),
        (HEADER + '{"kind": "send", "bytes": 1}\n', "line 2 has the unknown key 'bytes'"),
        (HEADER + '{"kind": "send", "nbytes": "1"}\n', "line 2: nbytes is '1'"),
        (HEADER + '{"kind": "send", "ns": [-1]}\n', "line 2: durations"),
    ],
)
def test_wrong_archives(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_archive(path)


def test_archives_without_pingpong_cannot_be_fitted(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no ping-pong"):
        fit_archive(Archive({}, ()))
    few = [m for m in made().measurements if m.kind != "send"]
    with pytest.raises(FormatError, match=r"0 sizes of send \(memory\)"):
        fit_archive(Archive({}, tuple(few)))
    assert json.loads(HEADER)["version"] == 1


def messages(time: Callable[[int], float], noise: float = 0.03, disturbed: float = 0.0) -> Archive:
    """Ping-pongs that take so many ns, and sends that take a third of it."""
    random = np.random.default_rng(3)
    rows = [
        Measurement(kind, noisy(random, part * time(size), disturbed), level="memory", nbytes=size)
        for size in [0, 1, *log_uniform(random, 60, 4 << 20)]
        for kind, part in (("pingpong", 1.0), ("send", 1 / 3))
    ]
    return Archive({}, tuple(rows))


@pytest.mark.parametrize(
    "time",
    [
        lambda n: 500 + 0.05 * n + max(0.0, 0.2 * (n - 1_500_000)),
        lambda n: 500 + 0.4 * min(n, 4000) + 0.05 * n,
        lambda n: 300 + 0.05 * n**1.15,
        lambda n: 300 + 2000 * (n > 60_000) + 0.02 * n,
        lambda n: 400.0,
    ],
    ids=["slower beyond the cache", "slower start", "convex", "jump", "constant"],
)
@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_latency_does_not_fall_and_bytes_take_time(time: Callable[[int], float], noise: float) -> None:
    fit = fit_archive(messages(time, noise)).fits["memory"]
    latencies = [segment.latency_ns for segment in fit.network.segments]
    assert latencies[0] > 0
    assert latencies == sorted(latencies)
    assert all(
        s.per_byte_ns + s.send_overhead_per_byte_ns + s.recv_overhead_per_byte_ns > 0
        for s in fit.network.segments
    )
    assert fit.error < 0.02 + noise / 2


def test_a_campaign_whose_checks_fail_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def line(n: int) -> float:
        return 500 + 0.1 * n

    assert fit_archive(messages(line)).platform.doubts == ""
    archive, output = tmp_path / "busy.jsonl", tmp_path / "busy.toml"
    write_archive(archive, messages(line, disturbed=0.35))
    assert main(["calibrate", "--from", str(archive), "-o", str(output)]) == 0
    assert "of the repeats within a node were interrupted" in capsys.readouterr().out
    doubts = read_platform(output).doubts
    assert doubts.endswith("of the repeats within a node were interrupted: other programs used the cores")
