"""What the emitters write, without running it: readable, escaped, complete."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import log2

import pytest

from scalatrace import Trace
from scalatrace.codegen.emit import emitter, names
from scalatrace.codegen.emit.text import c_comment, c_string, hash_comment
from scalatrace.codegen.errors import GenerateError, NameLeakError
from scalatrace.codegen.generate import GenerateOptions, generate
from scalatrace.codegen.matching import MatchingError
from scalatrace.codegen.passes.obfuscate import check
from scalatrace.codegen.timing.imbalance import spread_of_shares
from scalatrace.errors import UsageError
from scalatrace.trace.model.elastic import Groups
from scalatrace.trace.model.peer_encoding import Encoding
from scalatrace.trace.model.tables import Datatype
from scalatrace.trace.query.load import Loads
from scalatrace.trace.values.compress import vec_of
from scalatrace.trace.values.histogram import Histogram
from scalatrace.trace.values.ranklist import RankList
from scalatrace.trace.values.vec import ANY_SOURCE, Vec
from support.builder import DOUBLE, Builder, Comm, To

EVIL = '*/ system("rm x"); /* ??/\n# \\'


def body(text: str, start: str) -> list[str]:
    """The lines of a text from one on, without the call sites."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(start))
    return [re.sub(r"\s+(/\*|#) .*$", "", line) for line in lines[first:]]


def stencil() -> Trace:
    """Four ranks on a ring, ten steps, and a sum at the end."""
    b = Builder(4)
    mean = Histogram(40, 1000, 3000, 2000, 10)
    message = {"count": 100, "datatype": DOUBLE}
    receive = b.event("Irecv", at=("halo.py:10:exchange",), **message,
                      source=To(Encoding.MODULO, Vec(-1)), tag=7, comm=Comm())  # fmt: skip
    send = b.event("Isend", at=("halo.py:11:exchange",), compute=mean, **message,
                   dest=To(Encoding.MODULO, Vec(1)), tag=7, comm=Comm())  # fmt: skip
    total = b.event("Allreduce", count=1, datatype=DOUBLE, op="MPI_SUM", comm=Comm(), in_place=0)
    return b.of(b.loop(10, receive, send, b.event("Waitall", requests=(1, 0))), total)


def test_c_is_the_tree_line_by_line() -> None:
    lines = body(generate(stencil(), "c").text, "static void benchmark")
    assert lines[:9] == [
        "static void benchmark(void)",
        "{",
        "    for (int i1 = 0; i1 < 10; i1++) {",
        "        Irecv(100, DOUBLE, (rank + 3) % 4, 7, WORLD);",
        "        compute(2);",
        "        Isend(100, DOUBLE, (rank + 1) % 4, 7, WORLD);",
        "        Waitall(A0);",
        "    }",
        "    Allreduce(1, DOUBLE, MPI_SUM, WORLD, 0);",
    ]


def test_python_is_the_same() -> None:
    text = generate(stencil(), "python").text
    ast.parse(text)
    assert "        Isend(100, DOUBLE, (rank + 1) % 4, 7, WORLD)" in body(text, "def benchmark")


@pytest.mark.parametrize(
    ("level", "c", "python"),
    [
        ("single", "MPI_Init(&argc, &argv);", 'mpi4py.rc.thread_level = "single"'),
        (
            "multiple",
            "MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE,",
            'mpi4py.rc.thread_level = "multiple"',
        ),
        ("none of MPI's", "MPI_Init(&argc, &argv);", None),
    ],
)
def test_mpi_starts_with_the_thread_level_of_the_program(level: str, c: str, python: str | None) -> None:
    trace = stencil()
    trace.meta["thread-level"] = level
    assert c in generate(trace, "c").text
    text = generate(trace, "python").text
    assert ("rc.thread_level" in text) == (python is not None)
    assert python is None or text.index(python) < text.index("from mpi4py import MPI")


def test_conceptual_speaks_of_tasks() -> None:
    lines = body(generate(stencil(), "conceptual").text, "FOR")
    assert lines[:6] == [
        "FOR 10 REPETITIONS {",
        "  TASKS t SUCH THAT t >= 0 ASYNCHRONOUSLY RECEIVE A 800 BYTE MESSAGE FROM TASK ((t + 3) MOD 4) THEN",
        "  ALL TASKS COMPUTE FOR 2 MICROSECONDS THEN",
        "  ALL TASKS t ASYNCHRONOUSLY SEND A 800 BYTE MESSAGE TO UNSUSPECTING TASK ((t + 1) MOD 4) THEN",
        "  ALL TASKS AWAIT COMPLETION",
        "}.",
    ]


def partial() -> Trace:
    """Only ranks 1, 3, 5, 7 send, to the rank before."""
    b = Builder(8)
    odd, even = RankList([1, 3, 5, 7]), RankList([0, 2, 4, 6])
    data, rest = {"count": 3, "datatype": DOUBLE}, {"tag": 0, "comm": Comm()}
    return b.of(
        b.event("Send", Groups([(odd, Vec(1))]), **data, dest=To(Encoding.RELATIVE, Vec(-1)), **rest),
        b.event("Recv", Groups([(even, Vec(1))]), **data, source=To(Encoding.RELATIVE, Vec(1)), **rest),
    )


def test_opposite_conditions_are_one() -> None:
    lines = body(generate(partial(), "c").text, "static void benchmark")
    assert lines[2:7] == [
        "    if (rank % 2 == 1) {",
        "        Send(3, DOUBLE, rank - 1, 0, WORLD);",
        "    } else {",
        "        Recv(3, DOUBLE, rank + 1, 0, WORLD);",
        "    }",
    ]


def test_conditions_become_sets_of_tasks() -> None:
    text = generate(partial(), "conceptual").text
    assert "TASKS t SUCH THAT t MOD 2 = 1 SEND A 24 BYTE MESSAGE TO UNSUSPECTING TASK (t - 1)." in text
    assert "TASKS t SUCH THAT 2 DIVIDES t RECEIVE A 24 BYTE MESSAGE FROM TASK (t + 1)." in text


def unknown() -> Trace:
    b = Builder(2)
    children = b.family("spawn", (2,), (0, 1))
    spawning = {"command": "worker", "maxprocs": 2, "root": 0, "comm": Comm(), "newcomm": children}
    return b.of(b.event("Comm_spawn", at=("app.py:3:main",), **spawning))


@pytest.mark.parametrize("language", ["c", "python", "conceptual"])
def test_what_has_no_words_is_refused_or_left_out(language: str) -> None:
    with pytest.raises(GenerateError, match=r"MPI_Comm_spawn at app.py:3:main"):
        generate(unknown(), language)
    made = generate(unknown(), language, GenerateOptions(skip_unsupported=True))
    assert made.skipped == {"Comm_spawn": 1}
    assert "left out: MPI_Comm_spawn" in made.text


def test_conceptual_refuses_receives_without_senders() -> None:
    b = Builder(2)
    event = b.event("Recv", count=1, datatype=DOUBLE, source=ANY_SOURCE, tag=0, comm=Comm())
    with pytest.raises(MatchingError, match="potential deadlock of ranks 0 and 1"):
        generate(b.of(event), "conceptual")


def test_a_rank_has_the_share_of_the_load_that_the_trace_says() -> None:
    trace = stencil()
    trace.load = [Vec(((4, 3, -4),))]  # -4, -1, 2, 5
    python, c = generate(trace, "python").text, generate(trace, "c").text
    share = next(line for line in python.split("\n") if line.startswith("share = 2"))
    steps = re.search(r"int steps = (.*?); steps;", c)
    factors = re.search(r"steps < 0 \? ([\d.]+) : ([\d.]+)", c)
    assert steps
    assert factors
    for rank in range(4):
        names: dict[str, float] = {"rank": rank}
        exec(share, names)
        expected = Loads(trace, "compute_ns").over_means(rank)
        assert expected == pytest.approx(trace.load_factor("compute_ns", rank), rel=0.1)
        assert names["share"] == pytest.approx(expected, rel=0.03)
        n = round(16 * log2(expected))
        assert float(factors[1 if n < 0 else 2]) ** abs(n) == pytest.approx(expected, rel=0.03)


def test_loads_of_ranks() -> None:
    """Equal ones have no spread, also as an endless vec; others are taken from the drawn times."""
    assert spread_of_shares(None, 4) == spread_of_shares(Vec(8), 4) == 0
    assert spread_of_shares(Vec((16, -16)), 2) == pytest.approx(0.6)
    trace = stencil()
    trace.load = [Vec(8)]
    generate(trace, "c")


def test_incomplete_traces_are_refused() -> None:
    trace = stencil()
    trace.ranks = RankList([0, 1, 2])
    with pytest.raises(GenerateError, match="3 of 4 ranks"):
        generate(trace, "c")


def test_languages_are_named() -> None:
    assert {"c", "python", "conceptual"} <= set(names())
    assert emitter("c").suffix == ".c"
    with pytest.raises(UsageError, match="fortran"):
        emitter("fortran")


def evil() -> Trace:
    b = Builder(2)
    trace = b.of(b.event("Barrier", at=(f"{EVIL}:3:{EVIL}",), comm=Comm()))
    trace.meta["program"] = EVIL
    return trace


def test_names_cannot_end_a_comment() -> None:
    text = generate(evil(), "c").text
    outside = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert "system" not in outside
    assert "??" not in text
    assert "\\\n" not in "\n".join(line for line in text.split("\n") if "system" in line) + "\n"


@pytest.mark.parametrize("language", ["python", "conceptual"])
def test_names_cannot_end_a_line(language: str) -> None:
    text = generate(evil(), language).text
    found = [line for line in text.split("\n") if "system" in line]
    assert found
    assert all("#" in line.partition("system")[0] for line in found)


@pytest.mark.parametrize("text", [EVIL, "/" * 5 + "*" * 3 + "/", "a\\", "??/", "\x1b[0m\u2028"])
def test_escapes(text: str) -> None:
    assert not re.search(r"\*/|/\*|\?\?|\\|[^ -~]", c_comment(text))
    assert not re.search(r"[^ -~]|\\$", hash_comment(text))
    literal = c_string(text)
    assert not re.search(r"[^ -~]|\?\?", literal)
    assert ast.literal_eval(f"b{literal}") == text.encode()


def secretive() -> Trace:
    b = Builder(2)
    b.trace.meta["program"] = "python /home/somebody/reactor.py"
    sites = ("/home/somebody/reactor.py:10:meltdown", "/home/somebody/reactor.py:3:main")
    data, rest = {"count": 3, "datatype": DOUBLE}, {"tag": 4711, "comm": Comm()}
    return b.of(
        b.event("Isend", at=sites, **data, dest=To(Encoding.XOR, Vec(1)), **rest),
        b.event("Irecv", at=sites, **data, source=To(Encoding.XOR, Vec(1)), **rest),
        b.event("Waitall", requests=(1, 0)),
        b.event("Allreduce", count=1, datatype=DOUBLE, op="own reduction", comm=Comm(), in_place=0),
    )


@pytest.mark.parametrize("language", ["c", "python", "conceptual"])
def test_obfuscation_leaves_no_names(language: str) -> None:
    plain = generate(secretive(), language).text
    assert "reactor" in plain
    text = generate(secretive(), language, GenerateOptions(obfuscate=True)).text
    assert not re.search("somebody|reactor|meltdown|own reduction|4711", text)


@pytest.mark.parametrize("line", ["/* reactor */", "int meltdown;", "/home/somebody/reactor.py:10:meltdown"])
def test_the_check_finds_names(line: str) -> None:
    vocabulary = emitter("c").vocabulary()
    check("int main(void) { return 0; }", secretive(), vocabulary)
    with pytest.raises(NameLeakError):
        check(f"int main(void) {{ {line} }}", secretive(), vocabulary)


def lines_of(texts: Iterator[str]) -> list[int]:
    return [text.count("\n") for text in texts]


def test_collectives_become_messages() -> None:
    made = {name: generate(stencil(), name, GenerateOptions(by_messages=True)).text for name in names()}
    assert "    Allreduce_by_messages(1, DOUBLE, MPI_SUM, WORLD, 0);" in body(
        made["c"], "static void benchmark"
    )
    assert "MPI_Allreduce(data" not in made["c"]
    assert "def Allreduce_by_messages(" in made["python"]
    assert "REDUCE" not in made["conceptual"]
    assert "TASKS u SUCH THAT u <> 0 ASYNCHRONOUSLY SEND A 8 BYTE MESSAGE TO TASK 0" in made["conceptual"]


@pytest.mark.parametrize("language", ["c", "python", "conceptual"])
def test_no_program_grows_with_ranks_or_steps(language: str) -> None:
    def ring(nprocs: int, steps: int) -> Trace:
        b = Builder(nprocs)
        data, rest = {"count": 100, "datatype": DOUBLE}, {"tag": 7, "comm": Comm()}
        send = b.event("Isend", **data, dest=To(Encoding.MODULO, Vec(1)), **rest)
        receive = b.event("Irecv", **data, source=To(Encoding.MODULO, Vec(nprocs - 1)), **rest)
        return b.of(b.loop(steps, send, receive, b.event("Waitall", requests=(1, 0))))

    sizes = lines_of(generate(ring(n, t), language).text for n, t in ((4, 10), (512, 10), (4, 100000)))
    assert len(set(sizes)) == 1


def written(offsets: Vec) -> Trace:
    """A file of which both ranks write a piece in each of six steps."""
    b = Builder(2)
    name = "/home/somebody/reactor.dat"
    opened = b.event("File_open", comm=Comm(), filename=name, amode="MPI_MODE_CREATE|MPI_MODE_RDWR", fh=0)
    piece = b.event("File_write_at", fh=0, comm=Comm(), offset=offsets, count=4, datatype=DOUBLE)
    return b.of(opened, b.loop(6, piece), b.event("File_close", fh=0, comm=Comm()))


def test_files_lie_in_a_folder_of_their_own() -> None:
    text = generate(written(vec_of([n * 1000 for n in range(6)])), "c").text
    assert 'File_open(WORLD, "bench-io/f5ce8cb2-reactor.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, 0);' in text
    assert "        File_write_at(0, WORLD, i1 * 1000, 4, DOUBLE);" in text


@pytest.mark.parametrize("language", ["c", "python"])
def test_names_of_files_are_hidden(language: str) -> None:
    text = generate(written(vec_of([0])), language, GenerateOptions(obfuscate=True)).text
    assert "reactor" not in text
    assert "File_write_at(0, WORLD, 0, 4, DOUBLE)" in text


def test_offsets_have_64_bits_where_they_need_them() -> None:
    far = [1 << 40, 7, 1 << 33, 9, 11, 1 << 50]
    c = generate(written(vec_of(far)), "c").text
    table = next(line for line in c.split("\n") if line.startswith("static const long table1"))
    assert [int(n.rstrip("L")) for n in re.findall(r"\b\d+L?\b", table.partition("=")[2])] == far
    steps = generate(written(vec_of([n << 30 for n in range(6)])), "c").text
    assert f"File_write_at(0, WORLD, i1 * {1 << 30}L, 4, DOUBLE);" in steps
    python = generate(written(vec_of([n << 30 for n in range(6)])), "python").text
    assert f"File_write_at(0, WORLD, i1 * {1 << 30}, 4, DOUBLE)" in python


def test_a_datatype_for_each_peer() -> None:
    b = Builder(2)
    both = Datatype("struct([1,1],[0,0],MPI_INT,MPI_DOUBLE)", 12, 8)
    sides = {"sendcounts": (1, 1), "sdispls": (0, 16), "sendtypes": both}
    more = {"recvcounts": (1, 1), "rdispls": (0, 16), "recvtypes": both}
    trace = b.of(b.event("Alltoallw", **sides, **more, comm=Comm(), in_place=0))
    assert "listed(STRUCT0, 1, MPI_DOUBLE, 0);" in generate(trace, "c").text
    python = generate(trace, "python").text
    assert (
        "lists[STRUCT0] = [Type(MPI.INT, None, None, False), Type(MPI.DOUBLE, None, None, False)]" in python
    )


@pytest.mark.parametrize("language", ["c", "python", "conceptual"])
def test_words_of_the_language_are_no_names(language: str) -> None:
    """A command line with words that the text has anyway does not stand in the way."""
    trace = stencil()
    trace.meta["program"] = "solver --steps 3 --share 4 --subset each --random"
    trace.load = [Vec(((4, 3, -4),))]
    text = generate(trace, language, GenerateOptions(obfuscate=True, absolute_ranks=True)).text
    assert "solver" not in text
