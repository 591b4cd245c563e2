"""Drawn runs vary the durations of messages by the noise of their segments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalatrace import Trace
from scalatrace.errors import UsageError
from scalatrace.predict.engine.simulate import SimulateOptions, Simulator
from scalatrace.predict.platform import Network, Platform, Segment
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import BYTE, Builder, Comm, To

SEGMENT = Segment(0, 1000.0, 0.1, 0.0, 200.0, 300.0, relative_noise=0.1)
QUIET = Platform(network=Network((replace(SEGMENT, relative_noise=0.0),)))
NOISY = Platform(network=Network((SEGMENT,)))
NBYTES = 5000


def messages(count: int, wild: bool = False) -> Trace:
    """Messages from rank 1 to rank 0, each after the answer to the one before."""
    b = Builder(2)
    first, second = RankList([0]), RankList([1])
    both = {"count": NBYTES, "datatype": BYTE, "tag": 0, "comm": Comm()}
    source = ANY_SOURCE if wild else 1
    there = [
        b.event("Recv", repeat=Groups([(first, Vec(1))]), source=source, **both),
        b.event("Send", repeat=Groups([(second, Vec(1))]), dest=0, **both),
        b.event("Send", repeat=Groups([(first, Vec(1))]), dest=1, **both),
        b.event("Recv", repeat=Groups([(second, Vec(1))]), source=To(Encoding.ABSOLUTE, Vec(0)), **both),
    ]
    return b.of(b.loop(count, *there))


def drawn_ns(trace: Trace, platform: Platform, seeds: int, network: str = "") -> list[float]:
    simulator = Simulator(trace)
    return [
        simulator.run(platform, SimulateOptions(drawn=True, seed=seed, network=network)).time_ns
        for seed in range(seeds)
    ]


@pytest.mark.parametrize("wild", [False, True])
def test_the_spread_is_that_of_the_segment(wild: bool) -> None:
    quiet_ns = Simulator(messages(1, wild)).run(QUIET).time_ns
    times = np.array(drawn_ns(messages(1, wild), NOISY, 400))
    assert np.median(times) == pytest.approx(quiet_ns, rel=0.02)
    # Two messages one after the other.
    assert times.std() / times.mean() == pytest.approx(0.1 / np.sqrt(2), rel=0.15)


def test_several_modes_stay_apart() -> None:
    # Nine of ten messages take their median, the last one five times as long.
    segment = replace(SEGMENT, relative_noise=0.0, noise_factors=(1.0,) * 9 + (5.0,))
    times = np.array(drawn_ns(messages(1), Platform(network=Network((segment,))), 400))
    message_ns = SEGMENT.message_ns(NBYTES)
    modes = np.rint((times - times.min()) / (4 * message_ns)).astype(int)
    assert np.allclose(times, times.min() + modes * 4 * message_ns, atol=1.0)
    assert np.bincount(modes) / 400 == pytest.approx([0.81, 0.18, 0.01], abs=0.06)


def test_factors_of_a_file_are_limited() -> None:
    with pytest.raises(UsageError, match="noise_factors reach"):
        Segment(noise_factors=(1.0, 1e9))
    with pytest.raises(UsageError, match="noise_factors is"):
        Segment(noise_factors=(1.0, -1.0))


def test_many_messages_average_out() -> None:
    one, many = (np.array(drawn_ns(messages(n), NOISY, 60)) for n in (1, 100))
    assert many.std() / many.mean() == pytest.approx(one.std() / one.mean() / 10, rel=0.5)


def test_means_and_platforms_without_noise_do_not_vary() -> None:
    trace = messages(3)
    assert Simulator(trace).run(NOISY).time_ns == Simulator(trace).run(QUIET).time_ns
    assert len(set(drawn_ns(trace, QUIET, 5))) == 1


def test_the_same_seed_gives_the_same_time() -> None:
    trace = messages(5)
    assert drawn_ns(trace, NOISY, 4) == drawn_ns(trace, NOISY, 4)
    assert len(set(drawn_ns(trace, NOISY, 4))) == 4


@pytest.mark.parametrize("network", ["none", "loads", "flows"])
def test_collectives_vary(network: str) -> None:
    b = Builder(8)
    trace = b.of(b.event("Allreduce", count=100, datatype=BYTE, comm=Comm(), repeat=3))
    platform = replace(NOISY, interface="node", ranks_per_node=2)
    times = drawn_ns(trace, platform, 30, network)
    quiet_ns = Simulator(trace).run(replace(QUIET, interface="node", ranks_per_node=2)).time_ns
    assert len(set(times)) == 30
    # The slowest of several messages decides each round.
    assert quiet_ns < np.median(times) < 1.5 * quiet_ns


def test_the_longest_path_has_the_same_draws() -> None:
    simulator = Simulator(messages(20))
    options = SimulateOptions(drawn=True, seed=7)
    assert simulator.run(NOISY, options, path=True).time_ns == simulator.run(NOISY, options).time_ns
