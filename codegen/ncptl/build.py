"""The grammar's callbacks: from what a rule matched to a node of the tree."""

from __future__ import annotations

from typing import Any, NamedTuple

from lark import Token, Transformer

from codegen.ncptl import tree as t
from codegen.ncptl.errors import Place, ProgramError, Stage

__all__ = ["Builder"]

Parts = list[Any]


class Clause(NamedTuple):
    """A part of a message that may be absent: the field it fills, its value, where it stands."""

    field: str
    value: Any
    place: Place


class Word(str):
    """A unit, with the place where it stands."""

    place: Place

    def __new__(cls, text: str, place: Place) -> Word:
        word = super().__new__(cls, text)
        word.place = place
        return word


def _place(parts: Parts) -> Place:
    for part in parts:
        if isinstance(part, Token):
            return Place(part.line or 0, part.column or 0)
        if isinstance(part, list):
            return _place(part)
        if getattr(part, "place", None) is not None:
            return Place(*part.place)
    return Place()


def _nodes(parts: Parts) -> Parts:
    """What is no word of the language."""
    return [part for part in parts if not isinstance(part, Token)]


def _has(parts: Parts, terminal: str) -> bool:
    return any(isinstance(part, Token) and part.type == terminal for part in parts)


def _texts(parts: Parts, terminal: str) -> list[str]:
    return [str(part) for part in parts if isinstance(part, Token) and part.type == terminal]


def _clauses(parts: Parts) -> dict[str, Any]:
    return {part.field: part.value for part in parts if isinstance(part, Clause)}


class Builder(Transformer[Any, Any]):
    """One method per rule or alternative; words of the language come as tokens, parts as what was built."""

    def start(self, parts: Parts) -> Any:
        made = _nodes(parts)
        headers = tuple(part for part in made if not isinstance(part, t.Sentence))
        return headers, tuple(part for part in made if isinstance(part, t.Sentence))

    def header(self, parts: Parts) -> t.Header:
        return _nodes(parts)[0]  # type: ignore[no-any-return]

    def version(self, parts: Parts) -> t.Version:
        return t.Version(str(parts[-1]), place=_place(parts))

    def parameter(self, parts: Parts) -> t.Parameter:
        about, long, short = _texts(parts, "STRING")
        return t.Parameter(str(parts[0]), about, long, short, parts[-1], place=_place(parts))

    def backend_declares(self, parts: Parts) -> t.BackendDeclares:
        return t.BackendDeclares(str(parts[-1]), place=_place(parts))

    def sentence(self, parts: Parts) -> t.Sentence:
        return t.Sentence(tuple(parts[0]), place=_place(parts))

    def stmts(self, parts: Parts) -> Parts:
        return _nodes(parts)

    # communication

    def _send(self, parts: Parts, unsuspecting: bool = False) -> t.Send:
        source, *middle = _nodes(parts)
        reception = middle.pop() if isinstance(middle[-1], t.Reception) else None
        message, target = [part for part in middle if not isinstance(part, Clause)]
        clauses = _clauses(middle)
        return t.Send(
            source, message, target, clauses.get("asynchronous"), unsuspecting, reception, place=_place(parts)
        )

    def send(self, parts: Parts) -> t.Send:
        return self._send(parts)

    send_who = send

    def send_unsuspecting(self, parts: Parts) -> t.Send:
        return self._send(parts, unsuspecting=True)

    def receive(self, parts: Parts) -> t.Receive:
        target, message, source = [part for part in _nodes(parts) if not isinstance(part, Clause)]
        return t.Receive(target, message, source, _clauses(parts).get("asynchronous"), place=_place(parts))

    def multicast(self, parts: Parts) -> t.Multicast:
        source, message, target = [part for part in _nodes(parts) if not isinstance(part, Clause)]
        return t.Multicast(source, message, target, _clauses(parts).get("asynchronous"), place=_place(parts))

    def reduce(self, parts: Parts) -> t.Reduce:
        source, values = _nodes(parts)
        return t.Reduce(source, values, place=_place(parts))

    def reduce_values(self, parts: Parts) -> t.Reduce:
        source, values, to = _nodes(parts)
        return t.Reduce(source, values, to, place=_place(parts))

    def reduce_tasks(self, parts: Parts) -> t.Reduce:
        source, values, target = _nodes(parts)
        return t.Reduce(source, values, None, target, place=_place(parts))

    def reduce_who(self, parts: Parts) -> t.Reduce:
        source, values, target, result = _nodes(parts)
        return t.Reduce(source, values, None, target, result, place=_place(parts))

    def await_(self, parts: Parts) -> t.Await:
        return t.Await(parts[0], place=_place(parts))

    def synchronize(self, parts: Parts) -> t.Synchronize:
        return t.Synchronize(parts[0], place=_place(parts))

    # what a task does for itself

    def _delay(self, parts: Parts, sleeps: bool) -> t.Delay:
        tasks, duration, unit = _nodes(parts)
        return t.Delay(tasks, sleeps, duration, unit, place=_place(parts))

    def compute(self, parts: Parts) -> t.Delay:
        return self._delay(parts, sleeps=False)

    def sleep(self, parts: Parts) -> t.Delay:
        return self._delay(parts, sleeps=True)

    def touch_memory(self, parts: Parts) -> t.TouchMemory:
        return t.TouchMemory(parts[0], place=_place(parts), **self._region(parts))

    def _region(self, parts: Parts) -> dict[str, Any]:
        clauses = _clauses(parts)
        if "size" in clauses:
            clauses["region"] = clauses.pop("size")
        return clauses

    def touched(self, parts: Parts) -> Clause:
        place = _place(parts)
        return Clause("amount", t.Measure(parts[0], parts[1], place=place), place)

    def times(self, parts: Parts) -> Clause:
        return Clause("times", parts[0], _place(parts))

    def stride(self, parts: Parts) -> Clause:
        place = _place(parts)
        return Clause("stride", t.Measure(parts[-2], parts[-1], place=place), place)

    def stride_random(self, parts: Parts) -> Clause:
        return Clause("random_stride", True, _place(parts))

    def touch_all(self, parts: Parts) -> t.TouchBuffers:
        return t.TouchBuffers(parts[0], place=_place(parts))

    def touch_current(self, parts: Parts) -> t.TouchBuffers:
        return t.TouchBuffers(parts[0], current=True, place=_place(parts))

    def touch_buffer(self, parts: Parts) -> t.TouchBuffers:
        return t.TouchBuffers(parts[0], parts[-1], place=_place(parts))

    def log(self, parts: Parts) -> t.Log:
        tasks, *columns = _nodes(parts)
        return t.Log(tasks, tuple(columns), place=_place(parts))

    def aggregates(self, parts: Parts) -> t.ComputeAggregates:
        return t.ComputeAggregates(parts[0], place=_place(parts))

    def counters(self, parts: Parts) -> t.Counters:
        return t.Counters(parts[0], parts[1].type, place=_place(parts))

    def output(self, parts: Parts) -> t.Output:
        tasks, *items = _nodes(parts)
        return t.Output(tasks, tuple(items), place=_place(parts))

    def execute(self, parts: Parts) -> t.BackendExecute:
        tasks, *items = _nodes(parts)
        return t.BackendExecute(tasks, tuple(items), place=_place(parts))

    def assign(self, parts: Parts) -> t.Assign:
        return t.Assign(parts[0], parts[-1], place=_place(parts))

    def assign_random(self, parts: Parts) -> t.Assign:
        return t.Assign(parts[0], place=_place(parts))

    def assert_(self, parts: Parts) -> t.Assert:
        return t.Assert(str(parts[2]), parts[-1], place=_place(parts))

    # control

    def for_each(self, parts: Parts) -> t.ForEach:
        return t.ForEach(str(parts[2]), parts[4], parts[5], place=_place(parts))

    def for_count(self, parts: Parts) -> t.ForCount:
        clauses = _clauses(parts)
        warmup, _, synchronized = clauses.get("warmup", (None, None, False))
        return t.ForCount(parts[1], parts[-1], warmup, synchronized, place=_place(parts))

    def for_time(self, parts: Parts) -> t.ForTime:
        clauses = _clauses(parts)
        warmup, unit, synchronized = clauses.get("warmup", (None, None, False))
        return t.ForTime(parts[1], parts[2], parts[-1], warmup, unit, synchronized, place=_place(parts))

    def warmup(self, parts: Parts) -> Clause:
        synchronized = any(isinstance(part, Clause) for part in parts)
        return Clause("warmup", (parts[1], None, synchronized), _place(parts))

    def warmup_time(self, parts: Parts) -> Clause:
        synchronized = any(isinstance(part, Clause) for part in parts)
        return Clause("warmup", (parts[1], parts[3], synchronized), _place(parts))

    def synchronization(self, parts: Parts) -> Clause:
        return Clause("synchronized", True, _place(parts))

    def let(self, parts: Parts) -> t.Let:
        *bindings, body = _nodes(parts)
        return t.Let(tuple(bindings), body, place=_place(parts))

    def if_(self, parts: Parts) -> t.If:
        return t.If(*_nodes(parts), place=_place(parts))

    def block(self, parts: Parts) -> t.Block:
        inner = parts[1] if len(parts) == 3 else []
        return t.Block(tuple(inner), place=_place(parts))

    def let_value(self, parts: Parts) -> t.LetValue:
        return t.LetValue(str(parts[0]), parts[-1], place=_place(parts))

    def let_tasks(self, parts: Parts) -> t.LetTasks:
        return t.LetTasks(str(parts[0]), parts[-1], place=_place(parts))

    def _let_random(self, parts: Parts, form: str = "", **bounds: Any) -> t.LetRandom:
        but = _clauses(parts).get("but")
        bounds = {"but": but, **bounds}
        return t.LetRandom(str(parts[0]), form, place=_place(parts), **bounds)

    def let_random(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts)

    def let_other(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "OTHER", but=parts[-1])

    def let_less(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "LESS", high=parts[7])

    def let_greater(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "GREATER", low=parts[7])

    def let_in(self, parts: Parts) -> t.LetRandom:
        return self._let_random(parts, "IN", low=parts[7], high=parts[9])

    def but(self, parts: Parts) -> Clause:
        return Clause("but", parts[-1], _place(parts))

    # task descriptions

    def all_tasks(self, parts: Parts) -> t.AllTasks:
        name = str(parts[2]) if len(parts) == 3 else None
        return t.AllTasks(name, place=_place(parts))

    def all_others(self, parts: Parts) -> t.AllOthers:
        return t.AllOthers(place=_place(parts))

    def one_task(self, parts: Parts) -> t.OneTask:
        return t.OneTask(parts[1], place=_place(parts))

    def such_that(self, parts: Parts) -> t.SuchThat:
        return t.SuchThat(str(parts[1]), parts[-1], place=_place(parts))

    def task_ranges(self, parts: Parts) -> t.TaskRanges:
        return t.TaskRanges(parts[1], place=_place(parts))

    def task_group(self, parts: Parts) -> t.TaskGroup:
        return t.TaskGroup(str(parts[2]), place=_place(parts))

    # messages

    def mspec(self, parts: Parts) -> t.Message:
        return t.Message(place=_place(parts), **_clauses(parts))

    mspec_into = mspec

    def rspec(self, parts: Parts) -> t.Reception:
        clauses = _clauses(parts)
        clauses |= clauses.pop("as_message", {})
        return t.Reception(place=_place(parts), **clauses)

    def as_message(self, parts: Parts) -> Clause:
        return Clause("as_message", _clauses(parts), _place(parts))

    def redspec(self, parts: Parts) -> t.Values:
        unit = next(part for part in parts if isinstance(part, str) and not isinstance(part, Token))
        return t.Values(unit, place=_place(parts), **_clauses(parts))

    as_values = redspec

    def redtarget(self, parts: Parts) -> t.Result:
        values = next((part for part in parts if isinstance(part, t.Values)), None)
        return t.Result(values, place=_place(parts), **_clauses(parts))

    def count(self, parts: Parts) -> Clause:
        return Clause("count", parts[0], _place(parts))

    def count_one(self, parts: Parts) -> Clause:
        return Clause("count", None, _place(parts))

    def uniq(self, parts: Parts) -> Clause:
        return Clause("unique", parts[0].type == "UNIQUE", _place(parts))

    def amount(self, parts: Parts) -> t.Measure:
        return t.Measure(parts[0], parts[1], place=_place(parts))

    def size(self, parts: Parts) -> Clause:
        return Clause("size", parts[0], parts[0].place)

    def size_type(self, parts: Parts) -> Clause:
        place = _place(parts[1:])
        return Clause("size", t.Measure(None, parts[0], place=place), place)

    def align(self, parts: Parts) -> Clause:
        return parts[0]  # type: ignore[no-any-return]

    def aligned_amount(self, parts: Parts) -> Clause:
        place = _place(parts)
        return Clause("alignment", t.Alignment(parts[1], parts[0], place=place), place)

    def aligned_type(self, parts: Parts) -> Clause:
        place = _place(parts)
        measure = t.Measure(None, parts[0], place=place)
        return Clause("alignment", t.Alignment(parts[1], measure, place=place), place)

    def unaligned(self, parts: Parts) -> Clause:
        place = _place(parts)
        return Clause("alignment", t.Alignment("UNALIGNED", place=place), place)

    def touch(self, parts: Parts) -> Clause:
        place = _place(parts)
        wanted, verification = parts[0].type == "WITH", parts[1].type == "VERIFICATION"
        return Clause("touching", t.Touching(wanted, verification, place=place), place)

    def tag(self, parts: Parts) -> Clause:
        return Clause("tag", parts[-1], _place(parts))

    def tag_text(self, parts: Parts) -> Clause:
        return Clause("tag", str(parts[-1]), _place(parts))

    def where(self, parts: Parts) -> Clause:
        return Clause("buffer", parts[-1], _place(parts))

    def buffer(self, parts: Parts) -> t.Buffer:
        offset = parts[0] if isinstance(parts[0], t.Measure) else None
        return t.Buffer(parts[-1], offset, place=_place(parts))

    def buffer_default(self, parts: Parts) -> t.Buffer:
        offset = parts[0] if isinstance(parts[0], t.Measure) else None
        return t.Buffer(None, offset, place=_place(parts))

    def async_(self, parts: Parts) -> Clause:
        return Clause("asynchronous", parts[0].type == "ASYNCHRONOUSLY", _place(parts))

    def type(self, parts: Parts) -> Word:
        return Word(parts[0].type, _place(parts))

    plain_unit = type
    time_unit = type
    aligned = type

    def unit(self, parts: Parts) -> Word:
        return parts[0]  # type: ignore[no-any-return]

    # log and output

    def _column(self, parts: Parts, form: str) -> t.Column:
        *before, value, label = [part for part in parts if not isinstance(part, Token)]
        functions = tuple(before[0]) if before else ()
        return t.Column(value, label, form, functions, place=_place(parts))

    def column(self, parts: Parts) -> t.Column:
        return self._column(parts, "")

    def column_each(self, parts: Parts) -> t.Column:
        return self._column(parts, "EACH")

    def column_the(self, parts: Parts) -> t.Column:
        return self._column(parts, "THE")

    def column_of(self, parts: Parts) -> t.Column:
        return self._column(parts, "OF")

    def column_histogram(self, parts: Parts) -> t.Column:
        return self._column(parts, "HISTOGRAM")

    def functions(self, parts: Parts) -> Parts:
        return _nodes(parts)

    def function_mean(self, parts: Parts) -> t.Aggregate:
        return t.Aggregate("MEAN", place=_place(parts))

    def function_words(self, parts: Parts) -> t.Aggregate:
        return t.Aggregate(" ".join(part.type for part in parts), place=_place(parts))

    def function_percentile(self, parts: Parts) -> t.Aggregate:
        return t.Aggregate("PERCENTILE", parts[0], place=_place(parts))

    def value_of(self, parts: Parts) -> t.ValueOf:
        return t.ValueOf(str(parts[-1]), place=_place(parts))

    def string(self, parts: Parts) -> str:
        return str.__str__(parts[0]) + ""

    # expressions

    def conditional(self, parts: Parts) -> t.Conditional:
        return t.Conditional(*_nodes(parts), place=_place(parts))

    def binary(self, parts: Parts) -> t.Binary:
        left, operator, right = parts
        return t.Binary(str(operator).upper(), left, right, place=_place(parts))

    def sign(self, parts: Parts) -> t.Expr:
        operator, operand = parts
        place = _place(parts)
        if operator.type == "HYPHEN" and isinstance(operand, t.Call):
            # As a difference it means the same, and can be written where a hyphen before a word would vanish.
            return t.Binary("-", t.Integer(0, place=place), operand, place=place)
        return t.Unary(str(operator).upper(), operand, place=place)

    def parenthesised(self, parts: Parts) -> Any:
        return parts[1]

    def variable(self, parts: Parts) -> t.Variable:
        return t.Variable(str(parts[0]), place=_place(parts))

    def integer(self, parts: Parts) -> t.Integer:
        return t.Integer(int(parts[0]), place=_place(parts))

    def my_task(self, parts: Parts) -> t.MyTask:
        return t.MyTask(place=_place(parts))

    def fn(self, parts: Parts) -> Token:
        return parts[0]  # type: ignore[no-any-return]

    file_word = fn
    comparison = fn

    def exprs(self, parts: Parts) -> Parts:
        return [*parts[0], parts[2]] if len(parts) == 3 else [parts[0]]

    def call(self, parts: Parts) -> t.Call:
        return t.Call(parts[0].type, tuple(parts[2]), place=_place(parts))

    def real(self, parts: Parts) -> t.Real:
        return t.Real(parts[2], place=_place(parts))

    def mesh(self, parts: Parts) -> Parts:
        return _nodes(parts)

    def dimension(self, parts: Parts) -> t.Dimension:
        return t.Dimension(parts[0], len(parts) == 2, place=_place(parts))

    def offsets(self, parts: Parts) -> Parts:
        return list(parts[1])

    def mesh_neighbor(self, parts: Parts) -> t.MeshNeighbor:
        mesh, task, offsets = _nodes(parts)
        if len(mesh) != len(offsets):
            said = f"{len(offsets)} offsets for a mesh of {len(mesh)} dimensions; expected as many"
            raise ProgramError(said, _place(offsets), Stage.SYNTAX)
        return t.MeshNeighbor(tuple(mesh), task, tuple(offsets), place=_place(parts))

    def mesh_coordinate(self, parts: Parts) -> t.MeshCoordinate:
        mesh, task, axis = _nodes(parts)
        return t.MeshCoordinate(tuple(mesh), task, axis, place=_place(parts))

    def mesh_distance(self, parts: Parts) -> t.MeshDistance:
        mesh, first, second = _nodes(parts)
        return t.MeshDistance(tuple(mesh), first, second, place=_place(parts))

    def file_data(self, parts: Parts) -> t.FileData:
        rest = parts[3] if isinstance(parts[3], list) else []
        return t.FileData(parts[0].type == "STATIC_FILE_DATA", str(parts[2]), *rest, place=_place(parts))

    def file_rest(self, parts: Parts) -> Parts:
        wanted = [part for part in parts if not (isinstance(part, Token) and part.type == "COMMA")]
        return [str(part) if isinstance(part, Token) else part for part in wanted]

    # relations and ranges

    def _logical(self, parts: Parts, conjunction: bool) -> t.Logical:
        left, _, right = parts
        return t.Logical(conjunction, left, right, place=_place(parts))

    def disjunction(self, parts: Parts) -> t.Logical:
        return self._logical(parts, conjunction=False)

    def conjunction(self, parts: Parts) -> t.Logical:
        return self._logical(parts, conjunction=True)

    def compare(self, parts: Parts) -> t.Compare:
        left, operator, right = parts
        return t.Compare(str(operator).upper(), left, right, place=_place(parts))

    def parity(self, parts: Parts) -> t.Parity:
        return t.Parity(parts[0], _has(parts, "ODD"), place=_place(parts))

    def within(self, parts: Parts) -> t.Within:
        return t.Within(parts[0], parts[-1], _has(parts, "NOT"), place=_place(parts))

    def between(self, parts: Parts) -> t.Between:
        operand, low, high = _nodes(parts)
        return t.Between(operand, low, high, _has(parts, "NOT"), place=_place(parts))

    def ranges(self, parts: Parts) -> tuple[t.Range, ...]:
        return tuple(_nodes(parts))

    def listing(self, parts: Parts) -> t.Listing:
        return t.Listing(tuple(parts[1]), place=_place(parts))

    def progression(self, parts: Parts) -> t.Progression:
        return t.Progression(tuple(parts[1]), parts[-2], place=_place(parts))

    def comprehension(self, parts: Parts) -> t.Comprehension:
        head, *rest = _nodes(parts)
        generators = tuple(part for part in rest if isinstance(part, t.Generator))
        return t.Comprehension(head, generators, _clauses(rest).get("condition"), place=_place(parts))

    def generator(self, parts: Parts) -> t.Generator:
        return t.Generator(str(parts[2]), parts[-1], place=_place(parts))

    def condition(self, parts: Parts) -> Clause:
        return Clause("condition", parts[-1], _place(parts))


# The rule's own name is a word of Python.
setattr(Builder, "async", Builder.async_)
