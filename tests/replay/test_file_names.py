"""File names of a trace in a replay: each stays in the replay's folder, whatever the trace calls it."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from scalatrace.replay.engine.rank import RankReplay

pieces = st.sampled_from(["..", ".", "/", "\0", "a", "~", ":", "\udc80", "ufs:", "\\"])


def path_of(recorded: str) -> str:
    rank: Any = object.__new__(RankReplay)
    rank._io_folder = "io"
    return str(RankReplay.file_path(rank, recorded))


@given(st.lists(pieces, max_size=6).map("".join))
@example("..")
@example("/etc/passwd")
@example("a/..")
def test_files_stay_in_the_folder(recorded: str) -> None:
    path = path_of(recorded)
    assert os.path.dirname(os.path.normpath(path)) == "io"
    assert "\0" not in path
    assert path == path_of(recorded)
