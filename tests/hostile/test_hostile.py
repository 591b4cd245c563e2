"""What commands say to crafted files: one line of error, or a bounded result, within limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from hostile.crafted import CRAFTED
from scalatrace.core.binding import Core
from scalatrace.errors import FormatError
from scalatrace.trace.io.container import pack_container, read_container
from scalatrace.trace.io.reader import load_symbolic
from scalatrace.trace.model.tables import Kind
from scalatrace.trace.values.compress import vec_of
from support.filled import recorded
from support.forked import CommandServer, Run

MAX_BYTES = 1 << 30
MAX_SECONDS = 60
"""Processor time; a busy machine needs longer than the 10 s of the fuzzer."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

READING = ("info", "stats", "stats --by rank", "show", "show --notation", "show --rank 0 --limit 1", "matrix")
PAGE = "report -o /dev/null"
ALL = (
    *READING, PAGE, "info --json", "stats --by site", "show --text", "show --full --stacks", "matrix --csv",
    "check", "generate --to c --skip-unsupported", "generate --to python --skip-unsupported",
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[CommandServer]:
    """Run commands within limits of memory and time."""
    with closing(CommandServer(MAX_BYTES, MAX_SECONDS)) as made:
        yield made


@pytest.fixture
def crafted(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The crafted file of the test's parameter `name`."""
    name = request.getfixturevalue("name")
    path = tmp_path / name
    path.write_bytes(CRAFTED[name]())
    return path


Command = Callable[..., Run]
Refused = Callable[..., str]


@pytest.fixture
def command(server: CommandServer) -> Command:
    """Return a function that runs a command; whatever that prints is harmless to a terminal."""

    def run(words: str, *paths: Path) -> Run:
        done = server.run([*words.split(), *paths])
        assert done.status in (0, 1, 2), done.error
        assert "Traceback" not in done.error
        assert not CONTROL.search(done.out + done.error), ascii(CONTROL.search(done.out + done.error))
        return done

    return run


@pytest.fixture
def refused(command: Command) -> Refused:
    """Return a function for the one line with which a command refuses its input."""

    def run(words: str, *paths: Path) -> str:
        done = command(words, *paths)
        assert done.status == 1, done.out
        assert done.error.count("\n") == 1
        return done.error

    return run


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("deep-nodes.st", "nodes are nested too deeply"),
        ("deep-values.st", "nested too deeply"),
        ("bomb.st", "cannot inflate to"),
        ("liar.st", "cannot inflate to 4611686018427387904"),
        ("escape-in-operation.st", r"'\\x1b\[31mred\\x9b0m' is not a name"),
        ("escape-in-datatype.st", r"datatype '\\x1b\[31mred\\x9b0m': cannot read"),
        ("datatype-of-nothing.st", r"datatype 'contiguous': '\(' expected, not 'its end'"),
        ("code-in-operation.st", r"'x\(\); system' is not a name"),
        ("code-in-parameter.st", "'a b' is not a name"),
        ("nan-resolution.st", "'compute_ns' has a resolution beyond 1e.30 or none"),
        ("loads.st", "a load is not between -255 and 255"),
        ("schema.st", "parameter dest of Isend is of kind TYPE, not PEER"),
        ("dimensions.st", "parameter 'dims' of Cart_create has 16777216 values"),
        ("neighbours.st", "parameter 'sources' of Dist_graph_create_adjacent has 16777216 values"),
        ("missing-entries.st", "parameter 'datatype' of Irecv: there is no datatype 0: the table has 0"),
    ],
)
def test_files_that_no_command_reads(name: str, reason: str, crafted: Path, refused: Refused) -> None:
    assert re.search(reason, refused("info", crafted))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *product(["many-repeats.st", "nested-repeats.st", "overflowing-repeats.st"], (*READING, PAGE)),
        *product(["many-ranks.st"], ["info", "stats", "show", "show --rank 16777215 --limit 1", PAGE]),
        *product(
            ["few-of-many-ranks.st"],
            [*READING, PAGE, "anonymize -o /dev/null", "export --to chrome -o /dev/null"],
        ),
        *product(["many-nodes.st"], ["stats", "show --notation", "check"]),
        pytest.param("many-nodes.st", PAGE, marks=pytest.mark.slow),
    ],
)
def test_small_files_of_much(name: str, words: str, crafted: Path, command: Command) -> None:
    assert command(words, crafted).status == 0


@pytest.mark.parametrize("name", ["many-ranks.st"])
@pytest.mark.parametrize("words", ["stats --by rank", "check"])
def test_ranks_are_not_counted_one_by_one(name: str, words: str, crafted: Path, refused: Refused) -> None:
    assert "16777216 ranks execute 16777216 event nodes in all" in refused(words, crafted)


@pytest.mark.parametrize("name", ["few-of-many-ranks.st"])
@pytest.mark.parametrize(
    "words", ["simulate --platform cluster", f"{PAGE} --platform cluster", "generate --to c"]
)
def test_what_needs_all_ranks_counts_them_first(
    name: str, words: str, crafted: Path, refused: Refused
) -> None:
    assert "the trace has 4 of 4194304 ranks" in refused(words, crafted)


@pytest.mark.parametrize("name", ["many-ranks.st"])
@pytest.mark.parametrize("words", ["matrix", "matrix --csv"])
def test_a_matrix_of_too_many_ranks_is_refused(
    name: str, words: str, crafted: Path, refused: Refused
) -> None:
    assert "the trace has 16,777,216 ranks (limit 4,194,304)" in refused(words, crafted)


@pytest.mark.parametrize("name", ["overflowing-repeats.st"])
def test_counts_beyond_floating_point_numbers_are_shown_by_their_order(
    name: str, crafted: Path, command: Command
) -> None:
    assert re.search(r"trace +1e1\d{3} calls ", command("info", crafted).out)


@pytest.mark.parametrize("name", ["escapes.st"])
@pytest.mark.parametrize("words", ALL)
def test_names_do_not_control_the_terminal(name: str, words: str, crafted: Path, command: Command) -> None:
    command(words, crafted)


@pytest.mark.parametrize("name", ["escapes.st"])
def test_a_trace_of_escapes_equals_itself(name: str, crafted: Path, command: Command) -> None:
    assert command("diff", crafted, crafted).status == 0


def test_parts_that_would_be_merged_for_hours(tmp_path: Path, refused: Refused) -> None:
    folder = tmp_path / "hang.parts"
    folder.mkdir()
    for name in ("rank-0.part", "rank-1.part"):
        (folder / name).write_bytes(CRAFTED[f"hang.parts/{name}"]())
    error = refused("merge", folder)
    assert "too many values to be merged one by one" in error


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("minus-900.ncptl", "ncptl compile"),
        ("minus-100000.ncptl", "ncptl compile"),
        ("deep.txt", "pack -o /dev/null"),
    ],
)
def test_texts_of_one_character(name: str, words: str, crafted: Path, refused: Refused) -> None:
    refused(words, crafted)


@pytest.mark.parametrize("name", ["deep.toml"])
def test_a_policy_of_brackets(name: str, crafted: Path, command: Command) -> None:
    run = command(f"record --policy {crafted} -- true")
    assert (run.status, run.error.count("\n")) == (2, 1)
    assert "nested too deeply" in run.error


@pytest.mark.parametrize("name", ["deep.snippets", "digits.snippets"])
def test_snippets_of_one_character(name: str, crafted: Path) -> None:
    from scalatrace.errors import ScalatraceError
    from scalatrace.extrap.lossy.snippets.parse import load

    with pytest.raises(ScalatraceError):
        load(crafted)


SYMBOLIC = Path(__file__).parent.parent / "corpus" / "stx" / "seeds" / "halo.stx"


@pytest.mark.parametrize("resolution", [float("nan"), float("inf")])
def test_formulas_with_numbers_that_are_none(resolution: float, tmp_path: Path) -> None:
    import msgpack

    payload = msgpack.unpackb(read_container(SYMBOLIC.read_bytes()).payload, strict_map_key=False)
    payload[6] = [["compute_ns", resolution]]
    (tmp_path / "a.stx").write_bytes(pack_container(msgpack.packb(payload), symbolic=True))
    with pytest.raises(FormatError, match="resolution"):
        load_symbolic(tmp_path / "a.stx")


@pytest.mark.parametrize("name", ["P", "a b", "x\x1b[31m", "__import__('os')"])
def test_formulas_with_parameters_that_are_no_names(name: str, tmp_path: Path, refused: Refused) -> None:
    import msgpack

    payload = msgpack.unpackb(read_container(SYMBOLIC.read_bytes()).payload, strict_map_key=False)
    payload[2] = [name]
    (tmp_path / "a.stx").write_bytes(pack_container(msgpack.packb(payload), symbolic=True))
    refused("show", tmp_path / "a.stx")


@pytest.mark.parametrize(
    "values",
    [
        [9223372032559808513] * 2 + [-4294967296] * 2,
        [-(1 << 63), (1 << 63) - 1] * 3,
        [(1 << 63) - 1, -1, -(1 << 63)] * 2,
    ],
)
def test_differences_that_do_not_fit_64_bits(values: list[int], tmp_path: Path) -> None:
    assert list(vec_of(values).first(len(values))) == values

    def fill(core: Core, rank: int) -> None:
        op = core.define_op("Send", [("tag", Kind.INT)])
        for value in values[:: -1 if rank else 1]:
            core.append(op, [value])

    trace = recorded(fill, 2, tmp_path)
    assert [call.values[0] for call in trace.walk(0)] == values
    assert [call.values[0] for call in trace.walk(1)] == values[::-1]
