"""Notes on runs with more ranks than cores."""

from __future__ import annotations

import pytest

from scalatrace.trace.query.oversubscription import oversubscription_note


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({}, ""),
        ({"ranks-per-host": "4", "cores-per-host": "4"}, ""),
        ({"ranks-per-host": "2,4", "cores-per-host": "2"}, ""),
        ({"ranks-per-host": "8", "cores-per-host": "2"}, "8 ranks shared 2 cores of a host"),
        ({"ranks-per-host": "8", "cores-per-host": "1"}, "8 ranks shared 1 core of a host"),
        (
            {"oversubscribed": "runs with more ranks than cores: 8"},
            "runs with more ranks than cores: 8; times",
        ),
    ],
)
def test_note(meta: dict[str, str], text: str) -> None:
    note = oversubscription_note(meta)
    assert note.startswith(text)
    assert bool(note) == bool(text)
