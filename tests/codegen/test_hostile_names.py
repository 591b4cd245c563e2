"""Texts of a trace in generated programs: none becomes code, whatever characters it has."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalatrace import Trace
from scalatrace.codegen.conceptual.checks.program import examine
from scalatrace.codegen.conceptual.parser.lexer import scan
from scalatrace.codegen.conceptual.parser.parse import parse as parse_ncptl
from scalatrace.codegen.conceptual.printer.parts import quote
from scalatrace.codegen.emit.text import c_comment, c_string, hash_comment, ncptl_text, python_string
from scalatrace.codegen.errors import GenerateError
from scalatrace.codegen.foreign import Foreign
from scalatrace.codegen.generate import GenerateOptions, generate, generate_scalable
from scalatrace.errors import FormatError, TextError
from scalatrace.extrap.extrapolate import model_of
from scalatrace.formula import FUNCTIONS, Const, Var
from scalatrace.trace.io.reader import load, load_symbolic
from scalatrace.trace.io.text import text as text_form
from scalatrace.trace.io.textparse import parse
from scalatrace.trace.io.writer import save
from scalatrace.trace.model.symbolic import EVERYWHERE, Field, ParamRule, Part, Rule, SymbolicTrace
from scalatrace.trace.model.tables import Datatype, Kind, Op
from support.builder import DOUBLE, Builder, Comm
from support.generated import compiled
from support.grids import halo, trace_of
from support.mpis import Mpi
from support.running import mpirun, run

MODE = "MPI_MODE_CREATE|MPI_MODE_RDWR"
PAYLOAD = r'a*\ __attribute__((constructor)) static void p(void){__builtin_puts("X");} \* .py'
CODING = "-*- coding: utf-7 -*-"
hostile = st.text(
    st.sampled_from("*/\\?<>'\"#{}()\n\r\t\v\f\0\x1b\x85\u2028\u2029\u202e\u2066\udc80é\U0001f600 axn%:=")
    | st.characters(exclude_categories=()),
    max_size=30,
) | st.sampled_from([PAYLOAD, CODING, "\\\n*/", "/*/", "*\\/", '"""', "??/", "\\N{DIGIT ONE}"])


@given(hostile)
@example("*\\/")
@example("/*/*/")
def test_comments_in_c(text: str) -> None:
    assert not re.search(r"\*/|/\*|\?\?|\\|[^ -~]", c_comment(text))


@given(hostile)
@example(CODING)
def test_comments_behind_a_hash(text: str) -> None:
    comment = hash_comment(text)
    assert not re.search(r"[^ -~]|\\|coding[:=]", comment)
    assert scan(f"# {comment}\n", []) == []


@given(hostile)
def test_strings(text: str) -> None:
    literal = python_string(text)
    assert literal.isascii()
    assert literal.isprintable()
    assert ast.literal_eval(literal) == text
    in_c = c_string(text)
    assert not re.search(r"[^ -~]|\?\?|\n", in_c)
    raw = b"".join(
        c.encode("utf-8", "surrogateescape" if "\udc80" <= c <= "\udcff" else "surrogatepass") for c in text
    )
    assert ast.literal_eval(f"b{in_c}") == raw
    (token,) = scan(quote(ncptl_text(text)), [])
    assert token.type == "STRING"


def trace_with(title: str, frame: str, name: str, kind: str = "split") -> Trace:
    """A trace with one call of each that is given a text, and an operation that has no words."""
    b = Builder(2)
    comm = b.family(kind, (2,), (0, 1))
    at = (f"{frame}:3:{frame}", frame)
    trace = b.of(
        b.event("Comm_split", at=at, comm=Comm(), color=0, key=0, newcomm=comm),
        b.event("File_open", at=at, comm=Comm(), filename=name, amode=MODE, fh=0),
        b.event("File_set_view", at=at, fh=0, comm=Comm(), disp=0, etype=DOUBLE, filetype=DOUBLE,
                datarep=name),
        b.event("File_close", at=at, fh=0, comm=Comm()),
        b.event("Allreduce", at=at, count=1, datatype=DOUBLE, op=name, comm=comm, in_place=0),
        b.event("Reduce_local_x", at=at, count=1),
    )  # fmt: skip
    trace.meta["program"] = title
    return trace


def skeleton(text: str) -> str:
    """A Python program's tree without the values of its strings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


SKIPPING = GenerateOptions(skip_unsupported=True)


@settings(max_examples=40, deadline=None)
@given(hostile, hostile, hostile)
@example(PAYLOAD, PAYLOAD, PAYLOAD)
@example(CODING, CODING, CODING)
def test_python_has_no_more_statements(title: str, frame: str, name: str) -> None:
    text = generate(trace_with(title, frame, name), "python", SKIPPING).text
    assert text.isascii()
    assert skeleton(text) == skeleton(generate(trace_with("a", "b", "c"), "python", SKIPPING).text)
    assert not re.search(r"coding[:=]", "\n".join(text.split("\n")[:2]))


@settings(max_examples=20, deadline=None)
@given(hostile, hostile)
def test_conceptual_has_no_more_sentences(title: str, frame: str) -> None:
    def sentences(title: str, frame: str) -> list[str]:
        text = generate(trace_with(title, frame, "c"), "conceptual", SKIPPING).text
        return [str(token) for token in scan(text, [])]

    assert sentences(title, frame) == sentences("a", "b")


@settings(max_examples=40, deadline=None)
@given(hostile, hostile, hostile)
@example(PAYLOAD, PAYLOAD, PAYLOAD)
def test_c_has_no_more_tokens(title: str, frame: str, name: str) -> None:
    def code(title: str, frame: str, name: str) -> str:
        text = generate(trace_with(title, frame, name), "c", SKIPPING).text
        assert text.isascii()
        assert "??" not in text
        without = re.sub(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', "", text, flags=re.DOTALL)
        return re.sub(r"\s+", " ", without)

    assert code(title, frame, name) == code("a", "b", "c")


@pytest.mark.mpi
def test_c_with_a_hostile_name_runs_nothing_else(openmpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "bench.c"
    b = Builder(1)
    site = (f"{PAYLOAD}:3:{PAYLOAD}",)
    trace = b.of(b.event("Bcast", at=site, count=1, datatype=DOUBLE, root=0, comm=Comm()))
    trace.meta["program"] = PAYLOAD
    source.write_text(generate(trace, "c").text)
    strict = ("-std=gnu17", "-trigraphs", "-Wall", "-Wextra", "-Werror")
    binary = compiled(openmpi, source, flags=strict)
    said = mpirun(openmpi, 1, [binary], timeout=60).check().stdout
    assert "X" not in said


@pytest.mark.parametrize("name", ["*/ system(1); /*", "Send\n", "", "1st", "Sénd", "a b", "MPI.x", "Send;"])
@pytest.mark.parametrize("of_parameter", [False, True])
def test_names_of_operations_are_checked_when_a_trace_is_read(
    name: str, of_parameter: bool, tmp_path: Path
) -> None:
    b = Builder(1)
    made = b.of(b.event("Barrier" if of_parameter else name, **{name if of_parameter else "comm": Comm()}))
    save(made, tmp_path / "a.st")
    with pytest.raises(FormatError, match="is not a name of ASCII letters"):
        load(tmp_path / "a.st")
    with pytest.raises(TextError, match="is not a name of ASCII letters"):
        parse(text_form(made))


def model(*names: str) -> SymbolicTrace:
    """Formulas of a line of ranks with parameters: as many barriers as each says."""
    sizes = [(4,), (5,), (6,)]
    result = model_of([trace_of(halo(False), dims, 0, False) for dims in sizes], sizes)[1]
    world = ParamRule("comm", Kind.COMM, Field((Part(EVERYWHERE, None, (Const(0),)),)))
    rules = [
        Rule(Field((Part(EVERYWHERE, None, (Var(name),)),)), "Barrier", (f"app.py:{n}:f",), (world,))
        for n, name in enumerate(names)
    ]
    given_inputs = dict.fromkeys(names, 2)
    return replace(
        result,
        inputs=names,
        seen=tuple((dims, given_inputs) for dims, _ in result.seen),
        nodes=tuple(rules),
        ops=[*result.ops, Op("Barrier", (("comm", Kind.COMM),))],
    )


@pytest.mark.parametrize(
    "name", ["X;system(1)", "n*/", "n\n", "", "ñ", "a b", "X", "x", "P", "r", "i1", "log2"]
)
def test_names_of_parameters_are_checked_when_formulas_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.stx"
    save(replace(model("n"), inputs=(name,)), path)
    with pytest.raises(FormatError, match=r"a\.stx: .*(is not a name|is called)"):
        load_symbolic(path)


def test_names_of_sides_and_operations_of_formulas(tmp_path: Path) -> None:
    path = tmp_path / "a.stx"
    good = model("n")
    save(good, path)
    assert load_symbolic(path).inputs == ("n",)
    for bad in (
        replace(good, sizes=("X*/",)),
        replace(good, ops=[*good.ops, Op("a b", ())]),
        replace(good, nodes=(replace(good.nodes[-1], op="*/"),)),
    ):
        save(bad, path)
        with pytest.raises(FormatError, match=r"a\.stx: "):
            load_symbolic(path)


TAKEN = (
    "int", "main", "time", "remove", "index", "register", "print", "match", "range", "own", "size",
    "table1", "A3", "a3", "t1", "WORLD", "DOUBLE", "RANKS", "MPI", "given", "tasks",
    "_n", "__debug__", "n_", "NULL", "n", "grid_points", "int_given", "unix",
)  # fmt: skip


def program(language: str, *names: str) -> str:
    formulas = model(*names)
    if language == "conceptual":  # its declarations are what matters
        formulas = replace(formulas, nodes=())
    return generate_scalable(formulas, language, lambda _: None, FUNCTIONS).text


def test_parameters_with_names_that_a_python_program_needs_otherwise() -> None:
    text = program("python", *TAKEN)
    assigned = [
        node.targets[0].id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Subscript)
        and getattr(node.value.value, "id", "") == "given"
    ]
    assert len(set(assigned)) == len(TAKEN) + 1  # and the side of the grid
    assert {"n", "grid_points", "int_given"} <= set(assigned)


def test_parameters_with_names_that_a_conceptual_program_needs_otherwise() -> None:
    names = [name for name in TAKEN if name.islower() and name != "int_given"]
    for start in range(0, len(names), 8):
        assert examine(program("conceptual", *names[start : start + 8])).errors == []
    with pytest.raises(GenerateError, match="no letter left"):
        program("conceptual", *(f"q{n}" for n in range(40)))


@pytest.mark.mpi
def test_parameters_with_names_that_a_c_program_needs_otherwise(openmpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "bench.c"
    source.write_text(program("c", *TAKEN))
    for standard in ("-std=gnu17", "-std=c11"):
        strict = (standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
        run([openmpi.mpicc, *strict, source], env=openmpi.environment(), timeout=60).check()


@pytest.mark.parametrize("name", ["rank", "element", "num_tasks", "i3", "i12"])
@pytest.mark.parametrize("language", ["c", "python", "conceptual"])
def test_parameters_with_names_of_variables_are_refused(language: str, name: str) -> None:
    with pytest.raises(GenerateError, match=f"a parameter is called {name}, as a variable"):
        program(language, name)


def test_a_family_with_the_name_of_an_array() -> None:
    text = generate(trace_with("a", "b", "c", kind="a"), "python", SKIPPING).text
    assert "A3_2" in text


def test_texts_that_a_language_refuses_are_internal_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    b = Builder(2)
    trace = b.of(b.event("Barrier", at=("app.py:7:main",), comm=Comm()))
    monkeypatch.setattr("scalatrace.codegen.emit.imperative.named_constants", lambda text, _: text.raw)
    wrong = trace_with("a", "app.py", "c")
    wrong.strings[wrong.strings.index(MODE)] = "2DOUBLE"
    with pytest.raises(
        GenerateError, match=r"internal error: .* no Python .* line \d+: File_open\(.*app\.py"
    ):
        generate(wrong, "python", SKIPPING)
    monkeypatch.setattr(
        "scalatrace.codegen.emit.conceptual.calls.statement_writer.StatementWriter.site",
        lambda self, call: "x\nTASK TASK",
    )
    with pytest.raises(GenerateError, match=r"internal error: .* no coNCePTuaL .* line \d+: "):
        generate(trace, "conceptual")


def test_unknown_datatypes_are_refused_with_their_call() -> None:
    for name in ("MPI_ABORT", "MPI_Abort", "MPI_EOF", "MPI_2DOUBLE"):
        b = Builder(1)
        kind = Datatype(name, 8, 8)
        trace = b.of(b.event("Send", at=("a.py:3:f",), count=1, datatype=kind, dest=0, tag=0, comm=Comm()))
        for language in ("c", "python"):
            with pytest.raises(
                GenerateError, match=rf"MPI_Send at a\.py:3:f to {language}: '{name}' is no predefined"
            ):
                generate(trace, language)


def test_conceptual_strings_are_what_the_parser_reads() -> None:
    text = f"ASSERT THAT {quote(ncptl_text(PAYLOAD))} WITH num_tasks = 1 ."
    assert parse_ncptl(text)


def test_texts_of_files_cannot_be_formatted() -> None:
    text = Foreign("x */ puts(); /*")
    for use in (
        str,
        lambda text: f"{text}",
        "{}".format,
        lambda text: "".join([text]),
    ):
        with pytest.raises(TypeError):
            use(text)
    assert "puts" not in repr(text)
