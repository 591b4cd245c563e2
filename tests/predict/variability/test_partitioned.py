"""The model of partitioned communication: examples 4.2.1 and 4.3.1, and its limits."""

from __future__ import annotations

import json
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalatrace.cli import main
from scalatrace.errors import UsageError
from scalatrace.predict.calibrate.osu import read_osu_table
from scalatrace.predict.platform import Network, Segment, read_platform
from scalatrace.predict.variability import ThreadTimes, max_rate, partitioned_send, postal, single_send
from scalatrace.predict.variability.partitioned import of_network, of_osu
from support.programs import SAMPLES

US, MB = 1e3, 1e6
FOUR = ThreadTimes(4, 100_000 * US, 1_000 * US)
"""Example 4.2.1: four threads of 100,000 us with a deviation of 1,000 us."""
MESSAGE = postal(5 * US, 10_000 * MB)
"""5 us and 10,000 MB/s."""
MIB = 1.048576
"""Factor that the thesis applies for numbers in MiB/s."""


def test_threads_of_example_4_2_1() -> None:
    assert int(FOUR.slowest_ns / US) == 101_121
    assert int(FOUR.fastest_ns / US) == 98_878
    assert int((FOUR.slowest_ns - FOUR.fastest_ns) / US) == 2_243
    assert ThreadTimes.of_variability(4, 100_000 * US, 0.1).deviation_ns == pytest.approx(FOUR.deviation_ns)


def test_single_send_of_example_4_2_1() -> None:
    send = single_send(16 * MB, FOUR, MESSAGE)
    assert send.elapsed_ns == pytest.approx(1605 * US)
    assert int(send.end_ns / US) == 102_726
    assert round(send.bandwidth / MB) == 9_969
    assert round(round(send.bandwidth / MB) * MIB) == 10_453


def test_partitioned_send_of_example_4_3_1() -> None:
    send = partitioned_send(16 * MB, FOUR, MESSAGE)
    assert send.message_ns == pytest.approx(405 * US)
    assert send.overlapped == 3
    assert send.elapsed_ns == pytest.approx(405 * US)
    assert int(send.end_ns / US) == 101_526
    assert int(send.bandwidth / MB) == 39_506
    assert round(send.bandwidth / MB * MIB) == 41_425
    assert 4 * send.message_ns == pytest.approx(1620 * US)


def test_wait_and_large_messages() -> None:
    """Of 160 MB, fewer messages than threads fit between the fastest and the slowest thread."""
    send = partitioned_send(160 * MB, FOUR, MESSAGE, wait_ns=20 * US)
    message = 5 + 4000
    spread = 2 * 1000 * NormalDist().inv_cdf(0.570376002**0.25)
    assert send.overlapped == pytest.approx(spread / message)
    assert send.elapsed_ns == pytest.approx((message * (4 - spread / message) + 20) * US)


@given(st.integers(1, 64), st.floats(0, 1e6), st.floats(1, 1e10))
def test_at_least_one_message_follows_the_slowest_thread(
    threads: int, deviation: float, nbytes: float
) -> None:
    times = ThreadTimes(threads, 1e6, deviation)
    send = partitioned_send(nbytes, times, MESSAGE)
    assert send.message_ns * 0.999999 <= send.elapsed_ns <= threads * send.message_ns * 1.000001
    assert 0 <= send.overlapped <= threads - 1


def test_without_variation_all_messages_follow() -> None:
    still = ThreadTimes(8, 1000.0, 0.0)
    assert still.slowest_ns == still.fastest_ns == 1000
    assert partitioned_send(8 * MB, still, MESSAGE).elapsed_ns == pytest.approx(8 * MESSAGE(MB))


def test_max_rate() -> None:
    """Eight processes of 10 GB/s share a node of 25 GB/s; two do not fill it."""
    assert max_rate(1000, 10e9, 25e9, 8)(1e6) == pytest.approx(1000 + 8e6 / 25e9 * 1e9)
    assert max_rate(1000, 10e9, 25e9, 2)(1e6) == pytest.approx(1000 + 1e6 / 10e9 * 1e9)


def test_network_of_a_platform() -> None:
    network = Network((Segment(0, 1000.0, 0.1), Segment(4096, 2000.0, 0.05)), 8192, 500.0)
    message = of_network(network)
    assert message(100) == pytest.approx(1010)
    assert message(8192) == pytest.approx(2000 + 409.6)
    assert message(10000) == pytest.approx(2500 + 500)


def test_errors() -> None:
    with pytest.raises(UsageError, match="bandwidths 0"):
        postal(5, 0)
    with pytest.raises(UsageError, match="0 threads"):
        ThreadTimes(0, 1, 1)


def test_algorithm_1_with_measured_latencies_and_bandwidths() -> None:
    """Figure 4.4, 10 %: the modelled peak is 115,000 MiB/s at 18 MB; table A.1 is interpolated here."""
    latency, interval = (
        read_osu_table(SAMPLES / "osu" / f"lassen-inter-{test}.txt")[1] for test in ("latency", "bw")
    )
    message = of_osu(latency, interval)
    assert message(4194304) == pytest.approx(308250 + 4194304 / 13891.20e6 * 1e9)
    threads = ThreadTimes.of_variability(20, 100_000 * US, 0.1)
    rates = {mb: partitioned_send(mb * 2**20, threads, message, 10 * US).bandwidth for mb in (9, 18, 36)}
    assert max(rates, key=lambda mb: rates[mb]) == 18
    assert rates[18] / 2**20 == pytest.approx(115_000, rel=0.03)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["models", "--platform", "lassen", "--partitioned", "20", "--bytes", "18874368", "--json"]
    assert main(words) == 0
    [send] = json.loads(capsys.readouterr().out)["sends"]
    threads = ThreadTimes.of_variability(20, 100e6, 0.1)
    expected = partitioned_send(18874368, threads, of_network(read_platform("lassen").network))
    assert send["elapsed_ns"] == pytest.approx(expected.elapsed_ns)
    assert main([*words[:-1], "--latex"]) == 2
    assert "--partitioned has its own table" in capsys.readouterr().err
