"""Random programs through the consumers of their traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumers.campaign import CONSUMERS, Campaign, kinds_of, table
from consumers.outcomes import Verdict
from consumers.phases import KINDS, Phase
from consumers.program import PLAIN, RARE, Program, draw_program, source
from consumers.shrink import reduced
from support.mpis import Mpi

WILD = (
    "outstanding_tags", "outstanding_comms", "persistent_any", "restarted", "testany", "waitsome", "taken",
    "workers",
)  # fmt: skip


def assert_agreed(campaign: Campaign, programs: int) -> None:
    result = campaign.result
    print("\n".join(table(result)))
    assert result.programs == programs
    assert set(result.outcomes) == set(CONSUMERS)
    assert not any(counts[Verdict.DIFFERENT] for counts in result.outcomes.values()), result.findings


@pytest.mark.mpi
def test_consumers_agree(openmpi: Mpi, tmp_path: Path) -> None:
    campaign = Campaign(openmpi, tmp_path, seed=1)
    campaign.run(8, group=8)
    assert_agreed(campaign, 8)


@pytest.mark.slow
@pytest.mark.mpi
def test_consumers_agree_on_receives_from_any_source(openmpi: Mpi, tmp_path: Path) -> None:
    """Several at once, persistent ones, and Testany, which other consumers called deadlocks."""
    campaign = Campaign(openmpi, tmp_path, seed=2)
    campaign.run(8, group=8, kinds=WILD)
    assert_agreed(campaign, 8)


@pytest.mark.slow
@pytest.mark.mpi
def test_consumers_agree_on_more_programs(openmpi: Mpi, tmp_path: Path) -> None:
    campaign = Campaign(openmpi, tmp_path, seed=3)
    campaign.run(400, group=50)
    assert_agreed(campaign, 400)


def test_a_program_follows_from_its_seed_and_its_number() -> None:
    programs = [draw_program(3, number, tuple(KINDS)) for number in range(50)]
    assert programs == [draw_program(3, number, tuple(KINDS)) for number in range(50)]
    assert all(2 <= len(program.phases) <= 6 for program in programs)
    assert len({source([program]) for program in programs}) == 50


def test_a_phase_stays_what_it_is_when_others_are_left_out() -> None:
    program = draw_program(1, 7, tuple(KINDS))
    kept = program.without(0)
    for index, phase in enumerate(kept.phases):
        assert phase.source("same") == program.phases[index + 1].source("same")


def test_only_what_fails_is_left() -> None:
    program = Program(0, tuple(Phase(kind, 1) for kind in ("ring", "testany", "files", "ring")))
    small = reduced(program, lambda each: any(phase.kind == "testany" for phase in each.phases))
    assert [phase.kind for phase in small.phases] == ["testany"]


def test_groups_have_all_kinds() -> None:
    assert {name for group in range(4) for name in kinds_of(group)} == set(KINDS)
    assert set(kinds_of(0)) == set(PLAIN) < set(KINDS)
    assert set(RARE) < set(KINDS)
    assert len(KINDS) >= 15
    assert "replay (compiled)" in CONSUMERS
