"""The grammar's callbacks for task descriptions, messages, and what is logged."""

from __future__ import annotations

from scalatrace.codegen.conceptual import tree as t
from scalatrace.codegen.conceptual.parser.action_values import (
    Clause,
    Parts,
    ValuesBuilder,
    Word,
    clauses_of,
    nodes_of,
    spot,
)
from scalatrace.codegen.conceptual.parser.lexer import SourceToken

__all__ = ["PartsBuilder"]


class PartsBuilder(ValuesBuilder):
    """Parts of statements."""

    # task descriptions

    def all_tasks(self, parts: Parts) -> t.AllTasks:
        name = str(parts[2]) if len(parts) == 3 else None
        return t.AllTasks(name, place=spot(parts))

    def all_others(self, parts: Parts) -> t.AllOthers:
        return t.AllOthers(place=spot(parts))

    def one_task(self, parts: Parts) -> t.OneTask:
        return t.OneTask(parts[1], place=spot(parts))

    def such_that(self, parts: Parts) -> t.SuchThat:
        return t.SuchThat(str(parts[1]), parts[-1], place=spot(parts))

    def task_ranges(self, parts: Parts) -> t.TaskRanges:
        return t.TaskRanges(parts[1], place=spot(parts))

    def task_group(self, parts: Parts) -> t.TaskGroup:
        return t.TaskGroup(str(parts[2]), place=spot(parts))

    # messages

    def mspec(self, parts: Parts) -> t.MessageSpec:
        return t.MessageSpec(place=spot(parts), **clauses_of(parts))

    mspec_into = mspec

    def rspec(self, parts: Parts) -> t.Reception:
        clauses = clauses_of(parts)
        clauses |= clauses.pop("as_message", {})
        return t.Reception(place=spot(parts), **clauses)

    def as_message(self, parts: Parts) -> Clause:
        return Clause("as_message", clauses_of(parts), spot(parts))

    def redspec(self, parts: Parts) -> t.ReductionValues:
        unit = next(part for part in parts if isinstance(part, str) and not isinstance(part, SourceToken))
        return t.ReductionValues(unit, place=spot(parts), **clauses_of(parts))

    as_values = redspec

    def redtarget(self, parts: Parts) -> t.ReductionResult:
        values = next((part for part in parts if isinstance(part, t.ReductionValues)), None)
        return t.ReductionResult(values, place=spot(parts), **clauses_of(parts))

    def count(self, parts: Parts) -> Clause:
        return Clause("count", parts[0], spot(parts))

    def count_one(self, parts: Parts) -> Clause:
        return Clause("count", None, spot(parts))

    def uniq(self, parts: Parts) -> Clause:
        return Clause("unique", parts[0].type == "UNIQUE", spot(parts))

    def amount(self, parts: Parts) -> t.UnitAmount:
        return t.UnitAmount(parts[0], parts[1], place=spot(parts))

    def size(self, parts: Parts) -> Clause:
        return Clause("size", parts[0], parts[0].place)

    def size_type(self, parts: Parts) -> Clause:
        place = spot(parts[1:])
        return Clause("size", t.UnitAmount(None, parts[0], place=place), place)

    def align(self, parts: Parts) -> Clause:
        return parts[0]  # type: ignore[no-any-return]

    def aligned_amount(self, parts: Parts) -> Clause:
        place = spot(parts)
        return Clause("alignment", t.Alignment(parts[1], parts[0], place=place), place)

    def aligned_type(self, parts: Parts) -> Clause:
        place = spot(parts)
        measure = t.UnitAmount(None, parts[0], place=place)
        return Clause("alignment", t.Alignment(parts[1], measure, place=place), place)

    def unaligned(self, parts: Parts) -> Clause:
        place = spot(parts)
        return Clause("alignment", t.Alignment("UNALIGNED", place=place), place)

    def touch(self, parts: Parts) -> Clause:
        place = spot(parts)
        wanted, verification = parts[0].type == "WITH", parts[1].type == "VERIFICATION"
        return Clause("touching", t.Touching(wanted, verification, place=place), place)

    def tag(self, parts: Parts) -> Clause:
        return Clause("tag", parts[-1], spot(parts))

    def tag_text(self, parts: Parts) -> Clause:
        return Clause("tag", str(parts[-1]), spot(parts))

    def where(self, parts: Parts) -> Clause:
        return Clause("buffer", parts[-1], spot(parts))

    def buffer(self, parts: Parts) -> t.MessageBuffer:
        offset = parts[0] if isinstance(parts[0], t.UnitAmount) else None
        return t.MessageBuffer(parts[-1], offset, place=spot(parts))

    def buffer_default(self, parts: Parts) -> t.MessageBuffer:
        offset = parts[0] if isinstance(parts[0], t.UnitAmount) else None
        return t.MessageBuffer(None, offset, place=spot(parts))

    def async_(self, parts: Parts) -> Clause:
        return Clause("asynchronous", parts[0].type == "ASYNCHRONOUSLY", spot(parts))

    def type(self, parts: Parts) -> Word:
        return Word(parts[0].type, spot(parts))

    plain_unit = type
    time_unit = type
    aligned = type

    def unit(self, parts: Parts) -> Word:
        return parts[0]  # type: ignore[no-any-return]

    # log and output

    def _column(self, parts: Parts, form: str) -> t.LogColumn:
        *before, value, label = [part for part in parts if not isinstance(part, SourceToken)]
        functions = tuple(before[0]) if before else ()
        return t.LogColumn(value, label, form, functions, place=spot(parts))

    def column(self, parts: Parts) -> t.LogColumn:
        return self._column(parts, "")

    def column_each(self, parts: Parts) -> t.LogColumn:
        return self._column(parts, "EACH")

    def column_the(self, parts: Parts) -> t.LogColumn:
        return self._column(parts, "THE")

    def column_of(self, parts: Parts) -> t.LogColumn:
        return self._column(parts, "OF")

    def column_histogram(self, parts: Parts) -> t.LogColumn:
        return self._column(parts, "HISTOGRAM")

    def functions(self, parts: Parts) -> Parts:
        return nodes_of(parts)

    def function_mean(self, parts: Parts) -> t.Aggregate:
        return t.Aggregate("MEAN", place=spot(parts))

    def function_words(self, parts: Parts) -> t.Aggregate:
        return t.Aggregate(" ".join(part.type for part in parts), place=spot(parts))

    def function_percentile(self, parts: Parts) -> t.Aggregate:
        return t.Aggregate("PERCENTILE", parts[0], place=spot(parts))

    def value_of(self, parts: Parts) -> t.ValueOf:
        return t.ValueOf(str(parts[-1]), place=spot(parts))

    def string(self, parts: Parts) -> str:
        return str.__str__(parts[0]) + ""
