"""Compute what several statements of a program in C or Python have in common once, in named local variables.

A benchmark is easier to read if `rank % 4` is `x` and the number of an iteration of two loops is
`iteration1`. Parts of expressions that occur at several places become variables of the innermost loop body
whose variable they use, or of the function. There they stand in the innermost block around all their uses
that is in no further loop, before the first one. A part may then be evaluated where it was not before. So
only those are named that always have a value (`total.py`), or that the statement behind them evaluates in any
case. Equal parts are one object (hash-consing).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from scalatrace.codegen.passes.names import P, Part, PartNames
from scalatrace.codegen.passes.total import interval_of
from scalatrace.codegen.program.tree import (
    BenchmarkProgram,
    Branch,
    LetStatement,
    LoopStatement,
    MpiCall,
    ProgramArgument,
    ProgramPart,
    Stmt,
    needed_by,
    statements,
)
from scalatrace.formula import (
    AllOf,
    AnyOf,
    Binary,
    Choose,
    Const,
    Expr,
    Item,
    Select,
    Special,
    Value,
    Var,
    bounds,
    children,
    count_uses,
    leaves,
    length,
    nodes,
    with_children,
)
from scalatrace.formula.bounds import Interval
from scalatrace.operations import Category, operation
from scalatrace.trace.model.tables import Kind

__all__ = ["with_common_parts"]

MIN_USES_OF_COORDINATES = 3
"""Uses of a remainder or quotient of the rank from which on it is a coordinate with a name."""

MIN_SAVED_LENGTH = 6
"""Variables and numbers that a name saves, at least, besides those of its definition."""

MIN_LENGTH = 3
"""Variables and numbers of a part that gets a name."""

RANK = "rank"

Body = tuple[Stmt, ...]
Names = dict[int, tuple[Expr | Select, Var]]
"""Parts with their variables, by id, the shortest first."""

MAX_SEARCHES = 6
"""Searches for places of variables, each without those that had none in the one before."""

_WISHES = {
    "count": "count", "sendcount": "count", "recvcount": "count",
    "tag": "tag", "sendtag": "tag", "recvtag": "tag",
    "source": "peer", "dest": "peer", "root": "root", "sendcounts": "array", "recvcounts": "array",
    "sdispls": "array", "rdispls": "array", "displs": "array", "requests": "array",
}  # fmt: skip
"""Parameter -> the name of a variable with its value, before a number."""


def with_common_parts(program: BenchmarkProgram) -> BenchmarkProgram:
    """The program with variables for what its statements have in common; the same object if that is nothing.

    Programs for any grid and those with threads stay as they are.
    """
    if program.shape is not None or program.threads is not None:
        return program
    naming = _Naming(program)
    body = naming.function(program.body, ())
    return program.with_body(body) if naming.nnamed else program


@dataclass(frozen=True)
class _Place:
    """Where a statement stands: its block and number in it.

    Attributes:
        around: the statement that the block is in; None: it is the outermost block.
        in_loop: whether the block is in a loop of the outermost block.
    """

    around: _Place | None
    block: int
    index: int
    in_loop: bool

    def chain(self) -> list[_Place]:
        """The places from the outermost block to this one."""
        chain = [self]
        while chain[-1].around is not None:
            chain.append(chain[-1].around)
        return chain[::-1]


@dataclass
class _Scope:
    """A loop body or function, in which parts are named.

    Attributes:
        bound: names of the variables that are known in all of it.
        loop: the variable of the loop; "": it is a function.
        roots: the interned expressions of its statements, with their places, and whether each statement
            evaluates them in any case.
        makes_comms: a call in it makes or frees a communicator.
        definitions: (block, number of a statement) -> variables to declare before the statement.
    """

    bound: frozenset[str]
    loop: str
    makes_comms: bool
    roots: list[tuple[Part, _Place, bool]] = field(default_factory=list)
    definitions: dict[tuple[int, int], list[LetStatement]] = field(default_factory=dict)


class _Naming:
    """The walk over the statements.

    Attributes:
        nnamed: variables so far.
    """

    def __init__(self, program: BenchmarkProgram) -> None:
        self._parts = PartNames(program)
        self._wishes: dict[int, str] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._of_comms: dict[int, bool] = {}
        self._nprocs = program.nprocs
        self._intervals: dict[int, Interval | None] = {}
        self._functions: dict[str, Body] = {}
        self.nnamed = 0

    def function(self, body: Body, parameters: Sequence[Var]) -> Body:
        """The statements of a function; its parameters and the rank are known in it."""
        bound = frozenset({RANK, *(variable.name for variable in parameters)})
        with self._parts.scope(function=True):
            return self._scope(body, _Scope(bound, "", _makes_comms(body)))

    def _scope(self, body: Body, scope: _Scope) -> Body:
        """The statements of a scope, in which parts have names that use its loop's variable."""
        blocks = count()
        self._collect(body, None, next(blocks), False, blocks, scope)
        with self._parts.scope():
            self._define(self._chosen(scope), scope)
            return self._rebuilt(body, iter(count()), scope)

    # -- choice --------------------------------------------------------------------------------------------

    def _collect(
        self,
        body: Body,
        around: _Place | None,
        block: int,
        in_loop: bool,
        blocks: Iterator[int],
        scope: _Scope,
    ) -> None:
        """Note the expressions of all statements, and where they stand."""
        for index, stmt in enumerate(body):
            place = _Place(around, block, index, in_loop)
            scope.roots += [(part, place, is_certain) for part, is_certain in self._expressions(stmt)]
            match stmt:
                case LoopStatement(_, _, inner):
                    self._collect(inner, place, next(blocks), True, blocks, scope)
                case Branch(_, then, otherwise):
                    for branch in (then, otherwise):
                        self._collect(branch, place, next(blocks), in_loop, blocks, scope)

    def _expressions(self, stmt: Stmt) -> Iterator[tuple[Part, bool]]:
        """Yield the interned expressions in which parts may get a name; whether each is always evaluated."""
        match stmt:
            case LoopStatement() | Branch():
                (part,) = needed_by(stmt)
                part = self._parts.intern(part)
                if isinstance(stmt, LoopStatement):
                    self._wishes.setdefault(id(part), "trips")
                yield part, True
            case MpiCall():
                for argument in stmt.arguments:
                    if _is_index(argument):
                        parts = map(self._parts.intern, _without_alternatives(argument.value))
                        yield from ((part, number == 0) for number, part in enumerate(parts))
                        continue
                    value = self._parts.intern(argument.value)
                    self._wishes.setdefault(id(value), _WISHES.get(argument.name, ""))
                    yield value, True

    def _chosen(self, scope: _Scope) -> Names:
        """Return the parts to name with their variables, by id, the shortest first."""
        counts = count_uses(part for part, _, _ in scope.roots)
        chosen: Names = {}
        for part in sorted(_distinct(part for part, _, _ in scope.roots), key=length):
            if not isinstance(part, Expr | Select) or isinstance(part, Const | Var):
                continue
            names, of_comms = self._names_in(part), self._uses_comms(part)
            if of_comms and (scope.makes_comms or not names):
                continue
            if names <= scope.bound and (not scope.loop or scope.loop in names or of_comms):
                coordinate = _is_coordinate(part)
                if _is_worth(part, counts[id(part)], coordinate):
                    chosen[id(part)] = (part, self._variable(part, coordinate))
        return chosen

    def _names_in(self, part: Part) -> frozenset[str]:
        if id(part) not in self._names:
            own_names = {part.name} if isinstance(part, Var) else set()
            self._names[id(part)] = frozenset(own_names).union(*map(self._names_in, children(part)))
        return self._names[id(part)]

    def _uses_comms(self, part: Part) -> bool:
        """Whether a part depends on the ranks of communicators, which calls make."""
        if id(part) not in self._of_comms:
            self._of_comms[id(part)] = isinstance(part, nodes.Element) or any(
                map(self._uses_comms, children(part))
            )
        return self._of_comms[id(part)]

    def _variable(self, part: Expr | Select, coordinate: bool) -> Var:
        """A variable for a part, named after its use, or what it depends on."""
        limits = self._interval(part) or (bounds(part) if isinstance(part, Expr) else None)
        preferred = ""
        if coordinate and isinstance(part, Binary) and isinstance(part.right, Const):
            preferred = f"rank_{'mod' if part.op == '%' else 'div'}_{part.right.value}"
        stem = self._wishes.get(id(part), "")
        return self._parts.new_variable(part, None if isinstance(part, Select) else limits, stem, preferred)

    def _interval(self, part: Value) -> Interval | None:
        """The interval of a part that always has a value; None for others."""
        if id(part) not in self._intervals:
            self._intervals[id(part)] = interval_of(part, self._nprocs)
        return self._intervals[id(part)]

    # -- places --------------------------------------------------------------------------------------------

    def _define(self, names: Names, scope: _Scope) -> None:
        """Note where each variable is declared; parts that may have no value there get none."""
        for _ in range(MAX_SEARCHES):
            places = _places_of(names, scope)
            without_value = {
                key
                for key, (part, _) in names.items()
                if self._interval(part) is None and not _is_evaluated(part, places[key], scope)
            }
            if not without_value:
                break
            names = {key: named for key, named in names.items() if key not in without_value}
        else:
            names = {key: named for key, named in names.items() if self._interval(named[0]) is not None}
            places = _places_of(names, scope)
        for key, (part, variable) in reversed(names.items()):
            let = LetStatement(variable, part, fits=self._interval(part) is not None)
            scope.definitions.setdefault((places[key].block, places[key].index), []).insert(0, let)
        self._parts.assign({key: variable for key, (_, variable) in names.items()})
        self.nnamed += len(names)

    # -- statements ----------------------------------------------------------------------------------------

    def _rebuilt(self, body: Body, blocks: Iterator[int], scope: _Scope) -> Body:
        """The statements with variables and their declarations; blocks are numbered as in `_collect`."""
        block, result = next(blocks), list[Stmt]()
        for index, stmt in enumerate(body):
            for let in scope.definitions.get((block, index), ()):
                assert let.value is not None
                parts = [self._replaced(child) for child in children(let.value)]
                result.append(replace(let, value=with_children(let.value, parts)))
            result.append(self._statement(stmt, blocks, scope))
        return tuple(result)

    def _statement(self, stmt: Stmt, blocks: Iterator[int], scope: _Scope) -> Stmt:
        match stmt:
            case LoopStatement(variable, trips, inner):
                body, trips = self._rebuilt(inner, blocks, scope), self._replaced(trips)
                bound = scope.bound | {variable.name}.union(v.name for v in self._parts.variables.values())
                return LoopStatement(
                    variable, trips, self._scope(body, _Scope(bound, variable.name, _makes_comms(body)))
                )
            case Branch(cond, then, otherwise):
                first, second = (self._rebuilt(branch, blocks, scope) for branch in (then, otherwise))
                return Branch(self._replaced(cond), first, second)
            case MpiCall():
                return replace(stmt, arguments=tuple(map(self._argument, stmt.arguments)))
            case ProgramPart(name, parameters, inner):
                if name not in self._functions:
                    self._functions[name] = self.function(inner, parameters)
                return replace(stmt, body=self._functions[name])
        return stmt

    def _replaced(self, part: P) -> P:
        return self._parts.replaced(self._parts.intern(part))

    def _argument(self, argument: ProgramArgument) -> ProgramArgument:
        if _is_index(argument):
            return replace(argument, value=self._with_alternatives(argument.value))
        return replace(argument, value=self._replaced(argument.value))

    def _with_alternatives(self, value: Value) -> Value:
        """The index of an entry, of which emitters still see the alternatives."""
        match value:
            case Choose(cond, a, b) | Select(cond, a, b):
                cond = self._replaced(cond)
                return with_children(value, (cond, self._with_alternatives(a), self._with_alternatives(b)))
        return with_children(value, [self._replaced(child) for child in children(value)])


def _makes_comms(body: Body) -> bool:
    """Whether a call among statements makes or frees a communicator."""
    return any(
        isinstance(stmt, MpiCall) and operation(stmt.op).category is Category.COMMUNICATOR
        for stmt in statements(body)
    )


def _is_index(argument: ProgramArgument) -> bool:
    """Whether an argument numbers an entry, and its alternatives tell emitters which entries it means."""
    plain = all(isinstance(leaf, Const | Item | Special | nodes.Lookup) for leaf in leaves(argument.value))
    return argument.kind is Kind.STRING or (argument.kind not in (Kind.INT, Kind.PEER) and plain)


def _without_alternatives(value: Value) -> Iterator[Part]:
    """Yield the conditions and indices of an argument's alternatives."""
    match value:
        case Choose(cond, a, b) | Select(cond, a, b):
            yield cond
            yield from _without_alternatives(a)
            yield from _without_alternatives(b)
        case _:
            yield from children(value)


def _distinct(roots: Iterable[Part]) -> Iterator[Part]:
    """Yield all parts of interned expressions, each once."""
    seen, pending = set[int](), list(roots)[::-1]
    while pending:
        part = pending.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            pending += children(part)[::-1]


def _outermost(parts: Iterable[Part], names: Container[int]) -> set[int]:
    """Ids of the parts with a name that are in no other one."""
    result, seen, pending = set[int](), set[int](), list(parts)
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if id(part) in names:
            result.add(id(part))
        else:
            pending += children(part)
    return result


def _places_of(names: Names, scope: _Scope) -> dict[int, _Place]:
    """Return where the variables are declared, those of long parts first, since they use others."""
    uses_of: dict[int, list[_Place]] = {key: [] for key in names}
    inside: dict[int, set[int]] = {}
    for part, place, _ in scope.roots:
        if id(part) not in inside:
            inside[id(part)] = _outermost([part], names)
        for key in inside[id(part)]:
            uses_of[key].append(place)
    places: dict[int, _Place] = {}
    for key, (part, _) in reversed(names.items()):
        places[key] = _common_place(uses_of[key])
        for inner in _outermost(children(part), names):
            uses_of[inner].append(places[key])
    return places


def _is_evaluated(part: Part, place: _Place, scope: _Scope) -> bool:
    """Whether the statement at a place evaluates a part in any case."""
    at_place = (root for root, at, is_certain in scope.roots if is_certain and at == place)
    return any(id(part) in _certain(root) for root in at_place)


def _certain(root: Part) -> set[int]:
    """Ids of the parts that are evaluated with an expression in any case."""
    seen, pending = set[int](), [root]
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        inner = children(part)
        pending += inner[:1] if isinstance(part, Choose | Select | AllOf | AnyOf) else inner
    return seen


def _common_place(places: Sequence[_Place]) -> _Place:
    """The first statement of the innermost block around all places that is in no loop of the scope."""
    chains = [place.chain() for place in places]
    level = 0
    while all(len(chain) > level + 1 for chain in chains):
        inner = [chain[level + 1] for chain in chains]
        if inner[0].in_loop or len({place.block for place in inner}) > 1:
            break
        level += 1
    return min((chain[level] for chain in chains), key=lambda place: place.index)


def _is_coordinate(part: Value) -> bool:
    """Whether a part is the remainder or quotient of the rank by a number."""
    return isinstance(part, Binary) and part.op in ("%", "/", "//") and part.left == _rank_of(part.left)


def _rank_of(e: Expr) -> Expr | None:
    return e if isinstance(e, Var) and e.name == RANK else None


def _is_worth(part: Value, times: int, coordinate: bool) -> bool:
    """Whether a part that is used so many times is worth a variable."""
    if coordinate:
        return times >= MIN_USES_OF_COORDINATES
    size = length(part)
    return times >= 2 and size >= MIN_LENGTH and (times - 1) * size >= MIN_SAVED_LENGTH
