"""Integer expressions of the program tree, and what is known of them without running anything.

The functions (`add`, `mul`, `div`, `mod`, `choose`, ...) make expressions as small as they can: sums are
linear forms with each variable once, and what the limits of the variables decide is decided here. So the
6th value of the 3rd iteration, `(i * 6 + j) % 6`, is `j` when j runs from 0 to 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = [
    "FALSE", "TRUE", "AllOf", "AnyOf", "Binary", "Called", "Choose", "Compare", "Cond", "Const", "Expr",
    "Item", "Member", "Own", "Size", "Truth", "Var", "add", "all_of", "bounds", "choose", "compare", "div",
    "either", "is_nonzero", "map_leaves", "mentions", "mod", "mul", "negate", "sub", "xor",
]  # fmt: skip


class _Hashed:
    """Remembers its hash: expressions hold expressions, and are keys wherever equal ones meet."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            names: tuple[str, ...] = type(self).__slots__
            found = hash((type(self).__name__, *(getattr(self, name) for name in names)))
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class Const:
    """An integer; one below `SPECIAL_MAX` is a constant of MPI."""

    value: int


@dataclass(frozen=True, slots=True)
class Var:
    """A variable from `least` to below `limit` (None: nobody knows).

    It is a loop's, `rank` in MPI_COMM_WORLD, or of a grid whose size is known at run time only a side, a
    coordinate, or a parameter of the program.
    """

    name: str
    limit: int | None = None
    least: int = 0


@dataclass(frozen=True, slots=True)
class Own:
    """This process's rank in the communicator with that number."""

    family: Expr


@dataclass(frozen=True, slots=True)
class Size:
    """How many ranks a peer in the communicator with that number can be."""

    family: Expr


@dataclass(frozen=True, slots=True)
class Binary(_Hashed):
    """`+ - * / % ^ & << >>`, and `//`, which is rounded down; `/` is of numbers that are not negative."""

    op: str
    left: Expr
    right: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Choose(_Hashed):
    """One of two values."""

    cond: Cond
    then: Expr
    otherwise: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Item(_Hashed):
    """An entry of a static table."""

    table: tuple[int, ...]
    index: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Called(_Hashed):
    """A function of numbers: `log2` (rounded down), `min`, `max`, `block` or `diagonal`; see `interpret`."""

    name: str
    arguments: tuple[Expr, ...]
    __hash__ = _Hashed.__hash__


Expr = Const | Var | Own | Size | Binary | Choose | Item | Called


@dataclass(frozen=True, slots=True)
class Truth:
    """Always or never."""

    value: bool


@dataclass(frozen=True, slots=True)
class Compare(_Hashed):
    """`== != < >=` and so on."""

    op: str
    left: Expr
    right: Expr
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class AllOf(_Hashed):
    """Each of several conditions."""

    parts: tuple[Cond, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class AnyOf(_Hashed):
    """At least one of several conditions."""

    parts: tuple[Cond, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Member(_Hashed):
    """Whether a value is one of a set (or, `outside`, none of it): where no rule was found."""

    expr: Expr
    values: tuple[int, ...]
    outside: bool = False
    __hash__ = _Hashed.__hash__


Cond = Truth | Compare | AllOf | AnyOf | Member
TRUE, FALSE = Truth(True), Truth(False)
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def bounds(e: Expr) -> tuple[int, int] | None:
    """The least and the largest value an expression can have, as far as that is easily known."""
    match e:
        case Const(value):
            return value, value
        case Var(_, limit, least):
            return (least, limit - 1) if limit else None
        case Item(table, _):
            return (min(table), max(table)) if table else None
        case Choose(_, a, b):
            return _hull(bounds(a), bounds(b))
        case Binary(op, a, b):
            return _binary_bounds(op, a, b)
    return None


def _hull(a: tuple[int, int] | None, b: tuple[int, int] | None) -> tuple[int, int] | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _binary_bounds(op: str, a: Expr, b: Expr) -> tuple[int, int] | None:
    left, right = bounds(a), bounds(b)
    if op == "%" and right and right[0] > 0:
        return (0, right[1] - 1)
    if not left or not right:
        return None
    (low, high), (least, most) = left, right
    if op == "+":
        return low + least, high + most
    if op == "-":
        return low - most, high - least
    if op == "*":
        ends = [x * y for x in left for y in right]
        return min(ends), max(ends)
    if op in ("/", "//") and low >= 0 and least > 0:
        return low // most, high // least
    return None


Terms = dict[Expr, int]


def _linear(e: Expr) -> tuple[int, Terms]:
    """An expression as constant + sum of terms times integers."""
    match e:
        case Const(value):
            return value, {}
        case Binary("+" | "-" as op, a, b):
            sign = 1 if op == "+" else -1
            (m, left), (n, right) = _linear(a), _linear(b)
            return m + sign * n, _sum(left, right, sign)
        case Binary("*", a, Const(factor)):
            n, terms = _linear(a)
            return n * factor, {term: k * factor for term, k in terms.items()}
    return 0, {e: 1}


def _sum(left: Terms, right: Terms, sign: int) -> Terms:
    terms = dict(left)
    for term, k in right.items():
        terms[term] = terms.get(term, 0) + sign * k
    return {term: k for term, k in terms.items() if k}


def _built(constant: int, terms: Terms) -> Expr:
    """The expression of a linear form: what is added first, then what is taken away."""
    total: Expr | None = None
    if terms and constant > 0 and all(k < 0 for k in terms.values()):
        total, constant = Const(constant), 0
    for term, k in sorted(terms.items(), key=lambda item: item[1] < 0):
        part: Expr = term if abs(k) == 1 else Binary("*", term, Const(abs(k)))
        if total is None:
            total = part if k > 0 else Binary("*", term, Const(k))
        else:
            total = Binary("+" if k > 0 else "-", total, part)
    if total is None or constant == 0:
        return Const(constant) if total is None else total
    return Binary("+" if constant > 0 else "-", total, Const(abs(constant)))


def add(a: Expr, b: Expr) -> Expr:
    """a + b."""
    (m, left), (n, right) = _linear(a), _linear(b)
    return _built(m + n, _sum(left, right, 1))


def sub(a: Expr, b: Expr) -> Expr:
    """a - b."""
    return add(a, mul(b, Const(-1)))


def mul(a: Expr, b: Expr) -> Expr:
    """a * b."""
    if isinstance(a, Const):
        a, b = b, a
    if not isinstance(b, Const):
        return Binary("*", a, b)
    n, terms = _linear(a)
    return _built(n * b.value, {term: k * b.value for term, k in terms.items() if b.value})


def _split(e: Expr, m: int) -> tuple[Expr, Expr]:
    """An expression as m times the first plus the second, which has no terms that m divides."""
    n, terms = _linear(e)
    whole = {term: k // m for term, k in terms.items() if k % m == 0}
    rest = {term: k for term, k in terms.items() if k % m}
    return _built(n // m, whole), _built(n % m, rest)


def _within(e: Expr, m: int) -> bool:
    found = bounds(e)
    return found is not None and found[0] >= 0 and found[1] < m


def mod(e: Expr, m: int) -> Expr:
    """e % m, of an e that is not negative (or whose negative part m divides)."""
    _, rest = _split(e, m)
    if _within(rest, m):
        return rest
    if (
        isinstance(rest, Binary)
        and rest.op == "%"
        and isinstance(rest.right, Const)
        and rest.right.value % m == 0
    ):
        return mod(rest.left, m)
    return Const(rest.value % m) if isinstance(rest, Const) else Binary("%", rest, Const(m))


def div(e: Expr, m: int) -> Expr:
    """e / m without remainder, of an e that is not negative."""
    if m == 1:
        return e
    whole, rest = _split(e, m)
    if _within(rest, m):
        return whole
    return add(whole, Binary("/", rest, Const(m)))


def xor(a: Expr, b: Expr) -> Expr:
    """a ^ b."""
    if b == Const(0):
        return a
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value ^ b.value)
    return Binary("^", a, b)


def choose(cond: Cond, then: Expr, otherwise: Expr) -> Expr:
    """One of two values; one alone where the condition is decided or makes no difference."""
    if isinstance(cond, Truth):
        return then if cond.value else otherwise
    return then if then == otherwise else Choose(cond, then, otherwise)


def compare(op: str, a: Expr, b: Expr) -> Cond:
    """A comparison; decided where the bounds decide it."""
    n, terms = _linear(b)
    if terms:
        return Compare(op, a, b)
    shift, left = _linear(a)
    if len(left) == 1 and shift:
        (term, k), *_ = left.items()
        if k == 1:
            return compare(op, term, Const(n - shift))
    found = bounds(a)
    if found is not None:
        low, high = found
        verdicts = {
            "==": (low == high == n, n < low or n > high),
            "<": (high < n, low >= n),
            "<=": (high <= n, low > n),
        }
        positive = {"!=": "==", ">=": "<", ">": "<="}.get(op, op)
        yes, no = verdicts[positive] if positive == op else verdicts[positive][::-1]
        if yes or no:
            return Truth(yes)
        if op == "!=" and high - low == 1:
            return Compare("==", a, Const(low + high - n))
        if (op, n) == (">=", high) or (op, n) == (">", high - 1):
            return Compare("==", a, Const(high))
        if (op, n) == ("<", low + 1) or (op, n) == ("<=", low):
            return Compare("==", a, Const(low))
        if (op, n) == (">=", low + 1):
            return Compare("!=", a, Const(low))
        if (op, n) == ("<", high):
            return Compare("!=", a, Const(high))
    return Compare(op, a, b)


def negate(cond: Cond) -> Cond:
    """The opposite."""
    match cond:
        case Truth(value):
            return Truth(not value)
        case Compare(op, a, b):
            return compare(_OPPOSITE[op], a, b)
        case AllOf(parts):
            return either(*map(negate, parts))
        case AnyOf(parts):
            return all_of(*map(negate, parts))
        case Member(e, values, outside):
            return Member(e, values, not outside)


def all_of(*conds: Cond) -> Cond:
    """Each of these."""
    flat = [part for c in conds for part in (c.parts if isinstance(c, AllOf) else (c,)) if part != TRUE]
    if FALSE in flat:
        return FALSE
    return TRUE if not flat else flat[0] if len(flat) == 1 else AllOf(tuple(dict.fromkeys(flat)))


def either(*conds: Cond) -> Cond:
    """At least one of these."""
    flat = [part for c in conds for part in (c.parts if isinstance(c, AnyOf) else (c,)) if part != FALSE]
    if TRUE in flat:
        return TRUE
    return FALSE if not flat else flat[0] if len(flat) == 1 else AnyOf(tuple(dict.fromkeys(flat)))


def is_nonzero(e: Expr) -> Cond:
    """Whether an expression that is not negative is not 0."""
    match e:
        case Choose(cond, a, b):
            return either(all_of(cond, is_nonzero(a)), all_of(negate(cond), is_nonzero(b)))
        case Item(table, index):
            return _where(index, tuple(i for i, value in enumerate(table) if value), len(table))
    return compare("!=", e, Const(0))


def _where(index: Expr, chosen: tuple[int, ...], n: int) -> Cond:
    """Whether an index from 0 to below n is one of these, in as few words as possible."""
    if not chosen or len(chosen) == n:
        return Truth(bool(chosen))
    left_out = tuple(sorted(set(range(n)) - set(chosen)))
    if chosen[-1] - chosen[0] + 1 == len(chosen):
        if chosen[0] == 0:
            return compare("<", index, Const(len(chosen)))
        if chosen[-1] == n - 1:
            return compare(">=", index, Const(chosen[0]))
    if len(chosen) == 1:
        return compare("==", index, Const(chosen[0]))
    if len(left_out) == 1:
        return compare("!=", index, Const(left_out[0]))
    return Member(index, chosen) if len(chosen) <= len(left_out) else Member(index, left_out, outside=True)


def map_leaves(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each alternative of its choices changed."""
    if isinstance(e, Choose):
        return choose(e.cond, map_leaves(e.then, change), map_leaves(e.otherwise, change))
    return change(e)


def mentions(e: Expr, variable: Var) -> bool:
    """Whether a sum, product, quotient or table index holds a variable; of a choice, the safe answer."""
    match e:
        case Var():
            return e == variable
        case Binary(_, a, b):
            return mentions(a, variable) or mentions(b, variable)
        case Item(_, index):
            return mentions(index, variable)
        case Called(_, arguments):
            return any(mentions(a, variable) for a in arguments)
        case Const() | Size():
            return False
    return True
