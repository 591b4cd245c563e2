"""Marked kernels that take the times of their models: by size, host, noise and sampled node; wrong input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalatrace import Trace, save
from scalatrace.cli import main
from scalatrace.errors import UsageError
from scalatrace.predict.engine import KernelTimes, SimulateOptions, simulate
from scalatrace.predict.engine.repeats import sampled_nodes
from scalatrace.predict.engine.sensitivity import sweep
from scalatrace.predict.engine.simulate import Simulator
from scalatrace.predict.kernels import (
    Cluster,
    KernelModel,
    KernelModels,
    NodeGroup,
    Polynomial,
    write_cluster,
    write_kernels,
)
from scalatrace.predict.platform import Platform
from scalatrace.trace.model.elastic import Elastic, Groups
from scalatrace.trace.model.nodes import Node, PredStats
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from support.builder import Builder, Comm

RECORDED_NS = 7000
PER_UNIT_NS, CONSTANT_NS = 0.5, 100.0


def dgemm(noise: str = "N-0", host: str = "", scale: float = 1.0, deviation: float = 0.0) -> KernelModel:
    mean = Polynomial({"m*n*k": PER_UNIT_NS * scale, "1": CONSTANT_NS * scale})
    spread = Polynomial({"m*n*k": PER_UNIT_NS * scale * deviation, "1": CONSTANT_NS * scale * deviation})
    return KernelModel("dgemm", ("m", "n", "k"), "M-1", noise, mean, spread, host)


def expected_ns(m: int, n: int, k: int) -> float:
    return PER_UNIT_NS * m * n * k + CONSTANT_NS if m * n * k else 0  # nothing to do takes no time


def times(*models: KernelModel) -> KernelTimes:
    return KernelTimes(KernelModels(models))


def marked(b: Builder, *inside: Node, text: str = "dgemm(m,n,k)", **sizes: Elastic | int) -> list[Node]:
    """The events of a kernel, which took RECORDED_NS."""
    values = {f"size{i}": sizes.get(f"size{i}", 0) for i in range(4)}
    begin: Any = b.event("Pcontrol", at=("begin",), level=1001, kernel=text, **values)
    end: Any = b.event("Pcontrol", at=("end",), level=1002, kernel="", **{f"size{i}": 0 for i in range(4)})
    stats = tuple(PredStats(pred, (Histogram.of(RECORDED_NS),)) for pred in range(4 if inside else 3))
    return [begin, *inside, replace(end, stats=stats)]


def finished(b: Builder, *nodes: Node) -> Trace:
    trace = b.of(*nodes)
    op = next(i for i, op in enumerate(trace.ops) if op.name == "Pcontrol")
    trace.preds += [(op, b.site("begin")), (op, b.site("end"))]
    barriers = [i for i, op in enumerate(trace.ops) if op.name == "Barrier"]
    trace.preds += [(i, 0) for i in barriers]
    return trace


def one(nprocs: int = 1, m: Elastic | int = 10, repeat: int = 1, text: str = "dgemm(m,n,k)") -> Trace:
    b = Builder(nprocs)
    return finished(b, b.loop(repeat, *marked(b, size0=m, size1=20, size2=30, text=text)))


def test_recorded_times_without_models() -> None:
    assert simulate(one(), Platform()).time_ns == RECORDED_NS


def test_a_kernel_takes_the_time_of_its_model() -> None:
    result = simulate(one(), Platform(), kernels=times(dgemm()))
    assert result.time_ns == expected_ns(10, 20, 30)
    assert result.by_rank[0, 0] == result.time_ps


def test_sizes_that_change_from_call_to_call_and_between_ranks() -> None:
    sizes = [9, 7, 4, 4, 2]
    assert simulate(one(1, vec_of(sizes), 5), Platform(), kernels=times(dgemm())).time_ns == sum(
        expected_ns(m, 20, 30) for m in sizes
    )
    others = [1, 8, 0, 3, 5]
    groups = Groups([(RankList([0]), vec_of(sizes)), (RankList([1]), vec_of(others))])
    result = simulate(one(2, groups, 5), Platform(), kernels=times(dgemm()))
    assert (result.clocks[:, 0] / 1000).tolist() == [
        sum(expected_ns(m, 20, 30) for m in each) for each in (sizes, others)
    ]


@pytest.mark.parametrize("m", [6, vec_of([6, 3] * 500)])
def test_steady_loops_give_the_same_time(m: Elastic | int) -> None:
    b = Builder(2)
    trace = finished(b, b.loop(1000, *marked(b, size0=m, size1=5, size2=5), b.event("Barrier", comm=Comm())))
    simulator = Simulator(trace, times(dgemm()))
    fast, slow = (simulator.run(Platform(), steady=steady) for steady in (True, False))
    assert fast.time_ps == slow.time_ps
    assert slow.nsimulated == slow.nevents == 6000
    if m == 6:
        assert fast.nsimulated < 200


def test_unmarked_computation_and_kernels_with_calls_keep_recorded_times() -> None:
    b = Builder(2)
    barrier = b.event("Barrier", comm=Comm())
    trace = finished(b, *marked(b, size0=1, size1=1, size2=1), *marked(b, barrier, size0=9, size1=9, size2=9))
    result = simulate(trace, Platform(), kernels=times(dgemm()))
    assert result.by_rank[0, 0] / 1000 == expected_ns(1, 1, 1) + RECORDED_NS


def test_factors_apply_once() -> None:
    """compute_scale of a platform converts recorded times; models are of the platform."""
    options = SimulateOptions(compute_scale=3.0, slowness=np.array([2.0], dtype=np.float32))
    expected = expected_ns(10, 20, 30)
    assert simulate(one(), Platform(compute_scale=0.5), options, times(dgemm())).time_ns == 6 * expected
    b = Builder(1)
    both = finished(b, *marked(b, size0=10, size1=20, size2=30), *marked(b, text="other()"))
    simulator = Simulator(both, times(dgemm()))
    [(_, swept)] = sweep(simulator, Platform(compute_scale=0.5), {"compute": [4.0]})
    assert swept.time_ns == 4 * (expected + RECORDED_NS * 0.5)


def test_hosts_have_models_of_their_own() -> None:
    models = KernelModels([dgemm(), dgemm(host="a", scale=2.0), dgemm(host="b", scale=3.0)])
    platform = Platform(ranks_per_node=2)
    made = KernelTimes.on(platform, models, 6)
    assert list(made.hosts) == ["a", "a", "b", "b", "", ""]
    result = simulate(one(6, vec_of([4, 2]), 2), platform, kernels=made)
    both = expected_ns(4, 20, 30) + expected_ns(2, 20, 30)
    assert (result.clocks[:, 0] / 1000 / both).tolist() == [2, 2, 3, 3, 1, 1]
    assert not KernelTimes.on(Platform(ranks_per_node=0), models, 6).hosts


@pytest.mark.parametrize(("noise", "skew"), [("N-1", 0.0), ("N-2", 0.995)])
def test_drawn_noise_has_mean_deviation_and_skew(noise: str, skew: float) -> None:
    b = Builder(4000)
    trace = finished(b, *marked(b, size0=10, size1=20, size2=30))
    simulator = Simulator(trace, times(dgemm(noise, deviation=0.1)))
    drawn = simulator.run(Platform(), SimulateOptions(drawn=True, seed=1)).clocks[:, 0] / 1000
    relative = drawn / expected_ns(10, 20, 30) - 1
    assert relative.mean() == pytest.approx(0, abs=0.006)
    assert relative.std() == pytest.approx(0.1, rel=0.06)
    assert np.mean(relative**3) / relative.std() ** 3 == pytest.approx(skew, abs=0.2)
    again = simulator.run(Platform(), SimulateOptions(drawn=True, seed=1)).clocks[:, 0] / 1000
    assert (again == drawn).all()
    assert simulator.run(Platform()).time_ns == expected_ns(10, 20, 30)


def test_sampled_nodes_have_rates_and_noise_of_their_own() -> None:
    still = ((0.0,) * 3,) * 3
    spatial = ((4e-4, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    cluster = Cluster((NodeGroup(8, (0.5, 0.0, 0.05), spatial),), still)
    platform = Platform(ranks_per_node=2)
    slowness, noise = sampled_nodes(cluster, platform, 4, 3)
    assert slowness[0] == slowness[1] != slowness[2]
    sampled = cluster.sample(2, 3)
    assert noise[[0, 2]].tolist() == pytest.approx(sampled.noise.tolist())
    simulator = Simulator(one(4), times(dgemm()))
    options = SimulateOptions(slowness=slowness, noise=noise)
    expected = (slowness * expected_ns(10, 20, 30)).tolist()
    assert (simulator.run(platform, options).clocks[:, 0] / 1000).tolist() == pytest.approx(expected)
    drawn = [
        simulator.run(platform, replace(options, drawn=True, seed=seed)).clocks[:, 0] / 1000
        for seed in range(1500)
    ]
    assert np.std(drawn, axis=0) == pytest.approx(np.array(expected) * noise, rel=0.1)


def test_notes_name_kernels_without_model_or_mark() -> None:
    b = Builder(1)
    trace = finished(b, *marked(b, size0=1, size1=1, size2=1), *marked(b, text="dtrsm(m,n)", size0=3))
    copy = KernelModel("copy", ("nbytes",), "M-1", "N-0", Polynomial({"nbytes": 1.0}), Polynomial({}))
    result = simulate(trace, Platform(), kernels=times(dgemm(), copy))
    assert result.time_ns == expected_ns(1, 1, 1) + RECORDED_NS
    assert result.program.notes == {
        "kernel dtrsm": "has no model: takes its recorded times",
        "kernel copy": "has a model, but the trace does not mark it",
    }


def test_a_call_without_work_takes_no_time() -> None:
    b = Builder(1)
    trace = finished(b, *marked(b, size0=10, size1=20, size2=0), *marked(b, size0=1, size1=1, size2=1))
    model = replace(dgemm(), mean_ns=Polynomial({"m*n*k": 2.0, "1": 5000.0}))
    assert simulate(trace, Platform(), kernels=times(model)).time_ns == 5002


def test_notes_name_sizes_beyond_the_measured_ones() -> None:
    b = Builder(1)
    trace = finished(b, *marked(b, size0=10, size1=20, size2=30), *marked(b, size0=2, size1=2, size2=2))
    beyond = "sizes up to a product of 6e+03, the model was measured up to 5e+03"
    for measured_up_to, note in ((0, {}), (6000, {}), (5000, {"kernel dgemm": beyond})):
        models = times(replace(dgemm(), measured_up_to=measured_up_to))
        assert simulate(trace, Platform(), kernels=models).program.notes == note


def test_models_that_do_not_apply() -> None:
    with pytest.raises(UsageError, match="the trace marks dtrsm; mark them by"):
        simulate(one(text="dtrsm(m,n)"), Platform(), kernels=times(dgemm()))
    b = Builder(1)
    with pytest.raises(UsageError, match="the trace marks no kernels"):
        simulate(b.of(b.event("Pcontrol", level=1)), Platform(), kernels=times(dgemm()))
    with pytest.raises(UsageError, match=r"kernel dgemm: .* needs the parameter .k.; given: m, n"):
        simulate(one(text="dgemm(m,n)"), Platform(), kernels=times(dgemm()))
    with pytest.raises(UsageError, match="2 hosts of ranks for a trace of 1 ranks"):
        simulate(one(), Platform(), kernels=KernelTimes(KernelModels([dgemm()]), ["a", "b"]))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, kernels = tmp_path / "a.st", tmp_path / "k.toml"
    save(one(2, vec_of([9, 4]), 2), trace)
    write_kernels(kernels, KernelModels([dgemm("N-2", deviation=0.1)]))
    command = ["simulate", str(trace), "--platform", "cluster", "--kernels", str(kernels), "--json"]
    assert main(command) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["time_ns"] == expected_ns(9, 20, 30) + expected_ns(4, 20, 30)
    assert facts["drawn"]["low_ns"] < facts["drawn"]["median_ns"] < facts["drawn"]["high_ns"]
    still = ((0.0,) * 3,) * 3
    write_cluster(tmp_path / "c.toml", Cluster((NodeGroup(8, (0.5, 0.0, 0.0), still),), still))
    assert main([*command, "--cluster", str(tmp_path / "c.toml")]) == 0
    same = json.loads(capsys.readouterr().out)
    assert same["time_ns"] == facts["time_ns"]
    assert same["drawn"]["low_ns"] == same["drawn"]["high_ns"] == facts["time_ns"]
    assert main([*command, "--engine", "simgrid"]) == 2
    assert "leave out --kernels" in capsys.readouterr().err
    (tmp_path / "broken.toml").write_text("format = 2")
    assert main([*command[:-2], str(tmp_path / "broken.toml")]) == 1
    assert "not a file of kernel models" in capsys.readouterr().err
