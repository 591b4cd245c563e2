"""Models of kernels: fits of made calls, files, drawn durations, wrong input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scalatrace.errors import FormatError, UsageError
from scalatrace.predict.kernels import (
    KernelCall,
    KernelModel,
    KernelModels,
    Polynomial,
    fit_kernel,
    read_kernels,
    write_kernels,
)
from scalatrace.predict.kernels.annotated import SHOWN_CALLS, _pair_by_rank
from scalatrace.predict.kernels.model import terms_of
from scalatrace.trace.values.histogram import Bin, Histogram

M1 = {"m*n*k": 0.03, "1": 500.0}
M2 = {"m*n*k": 0.03, "m*n": 4.0, "m*k": 9.0, "n*k": 1.0, "1": 500.0}


def made(
    mean: dict[str, float],
    relative: float,
    constant_ns: float = 0,
    count: int = 400,
    host: str = "",
    seed: int = 1,
) -> list[KernelCall]:
    """Calls with sizes of all shapes; noise proportional to the mean, and constant."""
    random = np.random.default_rng(seed)
    calls = []
    for _ in range(count):
        m, n, k = (int(side) for side in np.exp(random.uniform(0, np.log(500), 3)))
        params = {"m": m, "n": n, "k": k}
        expected = Polynomial(mean).at(params)
        noise = random.standard_normal() * (relative * expected + constant_ns)
        calls.append(KernelCall(params, max(1.0, expected + noise), host))
    return calls


@pytest.mark.parametrize(("mean", "model"), [({"1": 700.0}, "M-0"), (M1, "M-1"), (M2, "M-2")])
def test_the_model_is_found(mean: dict[str, float], model: str) -> None:
    [found] = fit_kernel("dgemm", made(mean, 0.03))
    assert found.model == model
    for params in ({"m": 100, "n": 200, "k": 300}, {"m": 3, "n": 400, "k": 5}):
        assert found.duration_ns(params) == pytest.approx(Polynomial(mean).at(params), rel=0.03)


def test_noise_that_grows_and_noise_that_does_not() -> None:
    params = {"m": 300, "n": 300, "k": 300}
    [growing] = fit_kernel("dgemm", made(M1, 0.05))
    assert growing.noise == "N-2"
    assert growing.deviation_ns.at(params) == pytest.approx(0.05 * Polynomial(M1).at(params), rel=0.15)
    calls = made({"m*n*k": 0.03, "1": 50_000.0}, 0.0, 900.0)
    [constant] = fit_kernel("dgemm", calls, model="M-1")
    assert constant.noise == "N-1"
    assert constant.deviation_ns.at(params) == pytest.approx(900, rel=0.15)


def test_interrupted_calls_count_in_the_mean_and_leave_the_noise_relative() -> None:
    """Sizes over six orders of magnitude; the system interrupts a few calls for far longer than most take."""
    random = np.random.default_rng(5)
    calls = made({"m*n*k": 0.3, "1": 100.0}, 0.05, count=2000)
    calls = [
        KernelCall(
            call.params, call.ns + (2e6 if random.random() < 0.002 else 0.0), count=random.integers(1, 4)
        )
        for call in calls
    ]
    [model] = fit_kernel("dgemm", calls)
    assert model.noise == "N-2"
    total = sum(call.ns * call.count for call in calls)
    assert sum(model.duration_ns(call.params) * call.count for call in calls) == pytest.approx(
        total, rel=1e-3
    )
    drawn = sum(model.duration_ns(call.params, random) * call.count for call in calls)
    assert drawn == pytest.approx(total, rel=0.1)


def test_paired_calls_have_the_times_of_all() -> None:
    random = np.random.default_rng(6)
    sizes = [{"n": int(n)} for n in random.permutation(3000) + 1]
    times = [10.0 * each["n"] for each in sizes]
    middle, low, high = 15005.0, 10.0, 30000.0
    bins = (Bin(1500, low, 15000.0, 7505.0), Bin(1500, 15010.0, high, 22505.0))
    calls = list(_pair_by_rank(sizes, Histogram(3000, low, high, middle, 8660.0, bins)))
    assert len(calls) <= 2 * SHOWN_CALLS
    assert sum(call.count for call in calls) == pytest.approx(3000)
    assert sum(call.ns * call.count for call in calls) == pytest.approx(sum(times), rel=1e-3)
    assert all(call.ns == pytest.approx(10.0 * call.params["n"], rel=0.02, abs=100) for call in calls)


def test_calls_of_skewed_bins_have_their_sum() -> None:
    sizes = [{"n": 1}] * 2000
    bins = (Bin(1997, 1000, 1100, 1050), Bin(3, 1100, 500_000, 301_050))
    for times in (
        Histogram(2000, 1000, 500_000, 1500, 8000, bins),
        Histogram(2000, 1000, 500_000, 1200, 8000),
        Histogram(2000, 1000, 1000, 1000, 0),
    ):
        calls = list(_pair_by_rank(sizes, times))
        assert sum(call.ns * call.count for call in calls) == pytest.approx(times.total, rel=1e-9)
        assert all(times.min <= call.ns <= times.max for call in calls)


def test_calls_that_take_no_time() -> None:
    [model] = fit_kernel("f", [KernelCall({"n": n}, 0.0) for n in range(1, 9)])
    assert model.duration_ns({"n": 5}) == 0


def test_unequal_hosts_get_models_of_their_own() -> None:
    slow = {term: 1.2 * a for term, a in M1.items()}
    calls = made(M1, 0.03, host="a") + made(M1, 0.03, host="b", seed=2) + made(slow, 0.03, host="c", seed=3)
    models = KernelModels(fit_kernel("dgemm", calls))
    params = {"m": 200, "n": 200, "k": 200}
    found = {host: models.find("dgemm", host) for host in ("a", "c", "new")}
    assert all(found.values())
    durations = {host: model.duration_ns(params) for host, model in found.items() if model}
    assert durations["c"] == pytest.approx(1.2 * durations["a"], rel=0.02)
    assert durations["a"] < durations["new"] < durations["c"]
    equal = made(M1, 0.03, host="a") + made(M1, 0.03, host="b", seed=2)
    assert len(fit_kernel("dgemm", equal)) == 1
    assert len(fit_kernel("dgemm", equal, per_host=True)) == 3


@pytest.mark.parametrize("noise", ["N-1", "N-2"])
def test_drawn_durations_have_mean_and_deviation(noise: str) -> None:
    model = KernelModel("f", ("n",), "M-1", noise, Polynomial({"n": 10.0}), Polynomial({"n": 1.0}))
    random = np.random.default_rng(1)
    drawn = [model.duration_ns({"n": 50}, random) for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(500, rel=0.01)
    assert np.std(drawn) == pytest.approx(50, rel=0.05)
    skew = float(np.mean((np.array(drawn) - np.mean(drawn)) ** 3)) / float(np.std(drawn)) ** 3
    assert skew == pytest.approx(0 if noise == "N-1" else 0.995, abs=0.2)
    assert model.duration_ns({"n": 50}) == 500


def test_terms() -> None:
    assert terms_of("M-2", ("m", "n", "k")) == ("m*n*k", "m*n", "m*k", "n*k", "1")
    assert terms_of("M-2", ("n",)) == ("n", "1")
    assert terms_of("M-1", ()) == ("1",)


def test_files(tmp_path: Path) -> None:
    models = KernelModels(fit_kernel("dgemm", made(M2, 0.03, host="a"), per_host=True))
    write_kernels(tmp_path / "k.toml", models)
    assert read_kernels(tmp_path / "k.toml").models == models.models


GOOD = 'name = "f"\nparameters = ["n"]\nmodel = "M-1"\nnoise = "N-0"\nmean_ns = {"n" = 1}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernels = []", "format is None"),
        ("format = 1\n[[kernels]]\n" + GOOD.replace("M-1", "M-7"), "'M-7' is unknown; use one of M-0"),
        ("format = 1\n[[kernels]]\n" + GOOD.replace('"n" = 1', '"k*n" = 1'), "the term 'k.n' has a factor"),
        ("format = 1\n[[kernels]]\n" + GOOD.replace("= 1}", '= "x"}'), r"mean_ns.n is 'x'; expected number"),
        ("format = 1\n[[kernels]]\n" + GOOD.replace('name = "f"\n', ""), r"kernels\[0\].name is missing"),
        ("format = 1\n[[kernels]]\nmeasured_up_to = nan\n" + GOOD, "measured_up_to is nan, not a size"),
        ("format = 1\n[[kernels]]\nsize = 1\n" + GOOD, r"kernels\[0\].size: unknown key"),
        ("format = 1\n" + 2 * ("[[kernels]]\n" + GOOD), "kernel f has two models"),
        ("format = 1\nkernels = 3", "kernels is 3; expected array"),
        ("\x00", "not valid TOML"),
    ],
)
def test_wrong_files(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_kernels(tmp_path / "k.toml")


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="no calls"):
        fit_kernel("f", [])
    with pytest.raises(UsageError, match="parameters m in one call, n in another"):
        fit_kernel("f", [KernelCall({"n": 1}, 1.0), KernelCall({"m": 1}, 1.0)])
    with pytest.raises(UsageError, match="needs the parameter 'n'; given: m"):
        Polynomial({"n": 1.0}).at({"m": 1})
