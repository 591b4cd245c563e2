"""Random coNCePTuaL program trees: every node kind, whatever it means."""

from __future__ import annotations

from hypothesis import strategies as st

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.words import FUNCTIONS, TIME_UNITS, TYPES, UNITS

NAMES = st.sampled_from(["n", "size", "me", "x_1", "t2", "num_tasks", "elapsed_usecs"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


def several(strategy: st.SearchStrategy[object], least: int = 1, most: int = 3) -> st.SearchStrategy[tuple]:
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


leaves = st.builds(t.Integer, st.integers(0, 2**40)) | st.builds(t.Variable, NAMES) | st.builds(t.MyTask)
expressions = st.deferred(lambda: leaves | compound)
relations = st.deferred(lambda: simple_relations | st.builds(t.Logical, st.booleans(), relations, relations))
ranges = st.deferred(lambda: st.builds(t.Listing, several(expressions)) | progressions | comprehensions)
dimensions = several(st.builds(t.Dimension, expressions, st.booleans()))


@st.composite
def calls(draw: st.DrawFn) -> t.FunctionCall:
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    least, most = FUNCTIONS[name]
    return t.FunctionCall(name, draw(several(expressions, least, most or 3)))


@st.composite
def neighbors(draw: st.DrawFn) -> t.MeshNeighbor:
    mesh = draw(dimensions)
    return t.MeshNeighbor(mesh, draw(expressions), draw(several(expressions, len(mesh), len(mesh))))


@st.composite
def file_data(draw: st.DrawFn) -> t.FileData:
    """Each argument only behind the ones before it."""
    given = draw(st.integers(0, 4))
    if given == 1 or given == 0:
        parts = draw(several(expressions, given, given))
    else:
        parts = draw(several(expressions, 2, 2)) + draw(several(TEXTS, given - 2, given - 2))
    return t.FileData(draw(st.booleans()), draw(TEXTS), *parts)


def signed(operand: t.Expr) -> t.Expr:
    """A minus sign before a function call is read as a difference."""
    return (
        t.BinaryOperation("-", t.Integer(0), operand)
        if isinstance(operand, t.FunctionCall)
        else t.Unary("-", operand)
    )


OPERATORS = ["+", "-", "|", "XOR", "*", "/", "MOD", ">>", "<<", "&", "**"]
compound = st.one_of(
    st.builds(t.BinaryOperation, st.sampled_from(OPERATORS), expressions, expressions),
    st.builds(t.Unary, st.sampled_from(["+", "NOT"]), expressions),
    expressions.map(signed),
    st.builds(t.Conditional, expressions, relations, expressions),
    calls(),
    st.builds(t.Real, expressions),
    neighbors(),
    st.builds(t.MeshCoordinate, dimensions, expressions, expressions),
    st.builds(t.MeshDistance, dimensions, expressions, expressions),
    file_data(),
)
COMPARISONS = ["=", "<", ">", "<=", ">=", "<>", "DIVIDES"]
simple_relations = st.one_of(
    st.builds(t.NumberComparison, st.sampled_from(COMPARISONS), expressions, expressions),
    st.builds(t.Parity, expressions, st.booleans()),
    st.builds(t.Within, expressions, several(ranges), st.booleans()),
    st.builds(t.Between, expressions, expressions, expressions, st.booleans()),
)
progressions = st.builds(t.OpenRange, several(expressions), expressions)
variables = st.sampled_from(["i", "k", "peer"])
comprehensions = st.builds(
    t.Comprehension,
    expressions,
    several(st.builds(t.Generator, variables, several(ranges, 1, 2)), 1, 2),
    maybe(relations),
)

tasks = st.one_of(
    st.builds(t.AllTasks, maybe(variables)),
    st.builds(t.AllOthers),
    st.builds(t.OneTask, expressions),
    st.builds(t.SuchThat, variables, relations),
    st.builds(t.TaskRanges, several(ranges)),
    st.builds(t.TaskGroup, variables),
)

# Messages

units, types = st.sampled_from(UNITS), st.sampled_from(TYPES)
amounts = st.builds(t.UnitAmount, expressions, units)
measures = amounts | st.builds(t.UnitAmount, st.none(), types)
alignments = st.builds(t.Alignment, st.just("UNALIGNED")) | st.builds(
    t.Alignment, st.sampled_from(["ALIGNED", "MISALIGNED"]), measures
)
touchings = st.builds(t.Touching, st.booleans(), st.booleans())
buffers = st.builds(t.MessageBuffer, maybe(expressions), maybe(amounts))
tags = maybe(expressions | TEXTS)
clauses = {"touching": maybe(touchings), "tag": tags, "buffer": maybe(buffers)}
form = {"unique": maybe(st.booleans()), "alignment": maybe(alignments)}
flags = maybe(st.booleans())
messages = st.builds(t.MessageSpec, count=maybe(expressions), size=maybe(measures), **form, **clauses)


def fitting(message: t.MessageSpec) -> bool:
    """A receive has no alignment without a size."""
    return message.size is not None or message.alignment in (None, t.Alignment("UNALIGNED"))


received = messages.filter(fitting)
receptions = st.builds(t.Reception, asynchronous=flags, **form, **clauses)
values = st.builds(t.ReductionValues, unit=types, count=maybe(expressions), **form, **clauses)
plain_values = st.builds(t.ReductionValues, unit=types, count=maybe(expressions), **form)
results = st.builds(t.ReductionResult, values=maybe(plain_values), **clauses)


@st.composite
def sends(draw: st.DrawFn) -> t.Send:
    unsuspecting = draw(st.booleans())
    reception = None if unsuspecting else draw(maybe(receptions))
    return t.Send(draw(tasks), draw(messages), draw(tasks), draw(flags), unsuspecting, reception)


@st.composite
def reduces(draw: st.DrawFn) -> t.Reduce:
    source, taken = draw(tasks), draw(values)
    if draw(st.booleans()):
        return t.Reduce(source, taken, draw(maybe(values)))
    return t.Reduce(source, taken, None, draw(tasks), draw(maybe(results)))


labels = TEXTS | st.builds(t.ValueOf, TEXTS)
WORDS = [
    "MEAN",
    "HARMONIC MEAN",
    "GEOMETRIC MEAN",
    "MEDIAN",
    "STANDARD DEVIATION",
    "VARIANCE",
    "SUM",
    "FINAL",
]
aggregates = st.builds(
    t.Aggregate, st.sampled_from([*WORDS, "MEDIAN ABSOLUTE DEVIATION", "MINIMUM"])
) | st.builds(t.Aggregate, st.just("PERCENTILE"), expressions)
columns = st.builds(
    t.LogColumn, expressions, labels, st.sampled_from(["", "EACH", "THE", "HISTOGRAM"])
) | st.builds(t.LogColumn, expressions, labels, st.just("OF"), several(aggregates))
typed = st.builds(t.UnitAmount, expressions, types)
memory = st.builds(t.TouchMemory, tasks, maybe(measures), maybe(typed), maybe(expressions), maybe(typed))
items = several(expressions | labels)
time_units = st.sampled_from(sorted(TIME_UNITS))

simple_statements = st.one_of(
    sends(),
    st.builds(t.Receive, tasks, received, tasks, flags),
    st.builds(t.Multicast, tasks, messages, tasks, flags),
    reduces(),
    st.builds(t.Await, tasks),
    st.builds(t.Synchronize, tasks),
    st.builds(t.Delay, tasks, st.booleans(), expressions, time_units),
    memory,
    st.builds(t.TouchMemory, tasks, random_stride=st.just(True)),
    st.builds(t.TouchBuffers, tasks, maybe(expressions)),
    st.builds(t.TouchBuffers, tasks, current=st.just(True)),
    st.builds(t.Log, tasks, several(columns)),
    st.builds(t.ComputeAggregates, tasks),
    st.builds(t.Counters, tasks, st.sampled_from(["RESETS", "STORES", "RESTORES"])),
    st.builds(t.Output, tasks, items),
    st.builds(t.BackendExecute, tasks, items),
    st.builds(t.Assign, tasks, maybe(expressions)),
    st.builds(t.Assert, TEXTS, relations),
)


@st.composite
def random_bindings(draw: st.DrawFn) -> t.LetRandom:
    name, form_ = draw(variables), draw(st.sampled_from(["", "OTHER", "LESS", "GREATER", "IN"]))
    low = draw(expressions) if form_ in ("GREATER", "IN") else None
    high = draw(expressions) if form_ in ("LESS", "IN") else None
    but = draw(expressions) if form_ == "OTHER" else draw(maybe(expressions)) if form_ else None
    return t.LetRandom(name, form_, low, high, but)


bindings = (
    st.builds(t.LetValue, variables, expressions)
    | st.builds(t.LetTasks, variables, tasks)
    | random_bindings()
)


@st.composite
def loops(draw: st.DrawFn) -> t.ForCount | t.ForTime:
    warmup = draw(maybe(expressions))
    synchronized = warmup is not None and draw(st.booleans())
    if draw(st.booleans()):
        return t.ForCount(draw(expressions), draw(statements), warmup, synchronized)
    unit = None if warmup is None else draw(time_units)
    return t.ForTime(draw(expressions), draw(time_units), draw(statements), warmup, unit, synchronized)


@st.composite
def conditionals(draw: st.DrawFn) -> t.If:
    """An OTHERWISE behind another IF is kept from it by braces."""
    condition, otherwise = draw(relations), draw(maybe(statements))
    then = draw(statements)
    if otherwise is not None and not isinstance(then, t.Block):
        then = t.Block((then,))
    return t.If(condition, then, otherwise)


statements = st.deferred(
    lambda: st.one_of(
        simple_statements,
        simple_statements,
        st.builds(t.Block, several(statements, 0)),
        st.builds(t.ForEach, variables, several(ranges), statements),
        loops(),
        st.builds(t.Let, several(bindings), statements),
        conditionals(),
    )
)
headers = st.one_of(
    st.builds(t.Version, TEXTS),
    st.builds(t.ProgramParameter, variables, TEXTS, TEXTS, TEXTS, expressions),
    st.builds(t.BackendDeclares, TEXTS),
)
programs = st.builds(
    t.ProgramTree, several(headers, 0, 2), several(st.builds(t.Sentence, several(statements, 1, 2)), 0, 2)
)
