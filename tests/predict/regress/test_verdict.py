"""Tables of runs, the verdict over several tests, and the evolution of factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scalatrace.errors import FormatError, UsageError
from scalatrace.predict.regress import Runs, evolution, judge, read_table
from scalatrace.predict.regress.runs import OTHER
from scalatrace.predict.regress.verdict import SEVERAL, TOTAL
from scalatrace.stats.mean_test import fluctuation_interval, mean_test

SITES = ("solve", "exchange", "dot")
MEANS = np.array([800.0, 150.0, 50.0])


def history(n: int, seed: int = 0, noise: float = 0.005, slow: float = 1.0, last: int = 1) -> Runs:
    """Runs of three call sites, of which `exchange` is slower in the last ones."""
    values = MEANS * (1 + noise * np.random.default_rng(seed).standard_normal((n, 3)))
    values[n - last :, 1] *= slow
    return Runs(tuple(f"run{i}" for i in range(n)), SITES, values)


def test_a_slower_call_site_is_a_regression() -> None:
    verdict = judge(history(21, slow=1.03))
    assert {f.factor for f in verdict.regressions} >= {"exchange"}
    assert not {f.factor for f in verdict.regressions} & {"solve", "dot"}
    worst = next(f for f in verdict.regressions if f.factor == "exchange")
    assert worst.change == pytest.approx(0.03, abs=0.01)
    assert worst.high is not None
    assert worst.new > worst.high


def test_a_faster_call_site_is_none() -> None:
    verdict = judge(history(21, slow=0.9))
    assert verdict.regressions == []
    assert "exchange" in {f.factor for f in verdict.improvements}


def test_a_window_detects_a_smaller_change() -> None:
    runs = history(30, noise=0.01, slow=1.02, last=5)
    verdict = judge(runs)
    assert [f.nnew for f in verdict.regressions if f.factor == "exchange"] == [5]


def test_tests_are_those_of_each_factor_of_the_total_and_of_several() -> None:
    runs = history(21)
    verdict = judge(runs)
    assert [(f.factor, f.nnew) for f in verdict.findings] == [
        (name, r) for r in (1, 5) for name in (TOTAL, *SITES, SEVERAL)
    ]
    assert verdict.level == pytest.approx(0.01 / 10)
    several = next(f for f in verdict.findings if f.factor == SEVERAL)
    logs = np.log(runs.values)  # times vary in proportion to their size
    assert several.likelihood == pytest.approx(mean_test(logs[:20], logs[20:]).likelihood)
    total = verdict.findings[0]
    low, high = fluctuation_interval(np.log(runs.totals[:20]), 1, 1 - verdict.level)
    assert (total.low, total.high) == pytest.approx((np.exp(low), np.exp(high)))


def test_false_alarms_of_all_tests_together_stay_below_the_level() -> None:
    alarms = sum(
        any(f.anomaly for f in judge(history(21, seed), confidence=0.9).findings) for seed in range(300)
    )
    assert alarms < 300 * 0.1 + 3 * np.sqrt(300 * 0.1 * 0.9)


def test_small_changes_can_be_ignored() -> None:
    assert judge(history(21, slow=1.04), min_change=0.06).regressions == []
    assert judge(history(21, slow=1.12), min_change=0.06).regressions != []


def test_errors() -> None:
    with pytest.raises(UsageError, match="3 runs before the 1 new"):
        judge(history(4))
    with pytest.raises(UsageError, match="confidence"):
        judge(history(9), confidence=0)


def test_small_factors_are_summed() -> None:
    runs = Runs(("a", "b"), ("big", "x", "y"), np.array([[97.0, 1.0, 2.0], [90.0, 5.0, 4.0]]))
    few = runs.gathered(0.06)
    assert few.factors == ("big", OTHER)
    assert few.values.tolist() == [[97, 3], [90, 9]]
    assert runs.gathered(0.045).factors == runs.factors  # one alone keeps its name


def test_missing_factors_are_zero_and_the_largest_come_first() -> None:
    runs = Runs.of([("a", {"x": 1.0}), ("b", {"x": 2.0, "y": 9.0})])
    assert runs.values.tolist() == [[1, 0], [2, 9]]
    assert runs.ordered().factors == ("y", "x")


def test_selection_of_runs() -> None:
    runs = history(6)
    assert runs.selected("run2", ["run4"]).names == ("run2", "run3", "run5")
    with pytest.raises(UsageError, match="run9: no such run"):
        runs.selected("run9")


def test_evolution_has_the_interval_of_the_runs_before() -> None:
    runs = history(9)
    total, solve, *_ = evolution(runs, 0.99)
    assert (total.factor, solve.factor) == (TOTAL, "solve")
    assert solve.values == pytest.approx(tuple(runs.values[:, 0]))
    assert solve.low[:4] == (None,) * 4
    logs = fluctuation_interval(np.log(runs.values[:6, 0]), 1, 0.99)
    assert (solve.low[6], solve.high[6]) == pytest.approx(tuple(np.exp(logs)))
    window = evolution(runs, 0.99, 3)[1]
    assert window.values[:2] == (None, None)
    logarithms = np.log(runs.values[:, 0])
    assert window.values[8] == pytest.approx(np.exp(logarithms[6:9].mean()))
    assert window.likelihood[8] == pytest.approx(mean_test(logarithms[:6], logarithms[6:9]).likelihood)


def test_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("run,MNK,N\nmonday,1.5,2\ntuesday,1e3,-4\n")
    runs = read_table(path)
    assert (runs.names, runs.factors) == (("monday", "tuesday"), ("MNK", "N"))
    assert runs.values.tolist() == [[1.5, 2], [1000, -4]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("run,x\n", "not a table"),
        ("run,x\na,1,2\n", "row 2 has 3 columns"),
        ("run,x\na,one\n", "no numbers"),
        ("run,x\na,nan\n", "not finite"),
    ],
)
def test_damaged_tables(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=why):
        read_table(path)


VARYING = np.array([[9.0], [30.0], [4.0], [14.0], [7.0]])
"""Times of a call site that waits, in ms."""


def varying(new: float) -> Runs:
    """Six runs of two call sites, of which the first varies a lot."""
    values = np.concatenate([VARYING, [[new]]])
    steady = 100 * (1 + 0.01 * np.random.default_rng(5).standard_normal((6, 1)))
    return Runs(tuple("abcdef"), ("wait", "solve"), np.concatenate([values, steady], axis=1))


def test_intervals_of_times_lie_above_0() -> None:
    runs = varying(30.0)
    assert fluctuation_interval(runs.values[:5, 0], 1, 0.99)[0] < 0  # of the times themselves
    verdict = judge(runs)
    assert all(f.low is None or 0 < f.low < f.reference for f in verdict.findings)
    for each in evolution(runs, 0.99):
        assert all(low is None or low > 0 for low in each.low)


def test_factors_that_are_0_somewhere_are_compared_as_they_are() -> None:
    runs = Runs(tuple("abcdef"), ("rare",), np.array([[0.0], [3.0], [0.0], [2.0], [1.0], [2.0]]))
    (finding,) = judge(runs).findings
    assert finding.low == 0
    assert finding.reference == pytest.approx(1.2)
    signed = Runs(runs.names, ("shift",), runs.values - 2)
    assert judge(signed).findings[0].low < -2  # type: ignore[operator]


def test_changes_that_few_runs_do_not_show_are_named() -> None:
    """Three times as slow, and not outside what five runs vary."""
    verdict = judge(varying(3.1 * float(np.exp(np.log(VARYING).mean()))))
    assert verdict.regressions == []
    (wait,) = (f for f in verdict.undecided if f.factor == "wait")
    assert wait.change == pytest.approx(2.1, abs=0.01)
    assert wait.detectable is not None
    assert wait.detectable > wait.change
    assert wait.high == pytest.approx(wait.reference * (1 + wait.detectable))
    plain = verdict.plain()
    assert plain["undecided"][0]["factor"] == "wait"


def test_a_detectable_change_is_a_regression() -> None:
    runs = varying(10.0)
    (wait,) = (f for f in judge(runs).findings if f.factor == "wait")
    assert wait.detectable is not None
    for factor, slower in ((0.99, False), (1.01, True)):
        runs.values[-1, 0] = wait.reference * (1 + wait.detectable) * factor
        assert ("wait" in {f.factor for f in judge(runs).regressions}) == slower
