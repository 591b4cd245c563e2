"""Programs that follow random formulas are extrapolated rightly or refused.

`python -m benchmarks random-rules` draws thousands of them.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings

from benchmarks.extrapolate.random_programs import EQUAL, REFUSED, outcome
from support.random_rules import RandomProgram, programs


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_right_or_refused(program: RandomProgram) -> None:
    assert outcome(program) in (EQUAL, REFUSED)
