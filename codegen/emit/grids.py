"""Options, checks and coordinates of a grid given at run time, shared by C and Python."""

from __future__ import annotations

import builtins
import re
from collections.abc import Set as AbstractSet
from keyword import kwlist, softkwlist

from scalatrace.codegen.emit.pieces import RuntimeLibrary
from scalatrace.codegen.program.grid_shape import GridShape
from scalatrace.formula import Binary, Compare, Cond, Const, Expr, Var, all_of, either, names_in

__all__ = [
    "demands", "law_text", "local_demands", "options_of", "places", "rename_parameters", "sides_of",
    "words_of",
]  # fmt: skip

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_GENERATED = re.compile(r"(?:t|a|A|table|context|bins|unused)\d+|[A-Z][A-Z0-9_]+")
"""Names of tables, datatypes, communicators and constants in generated programs."""

_C = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while alignas alignof bool constexpr nullptr static_assert thread_local
    typeof typeof_unqual true false asm linux unix main errno environ fclose feof ferror fflush
    fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf fseek fsetpos ftell fwrite
    getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf
    snprintf sprintf sscanf stderr stdin stdout tmpfile tmpnam ungetc vfprintf vprintf vsnprintf
    vsprintf fdopen fileno dprintf getline getdelim popen pclose abort abs atexit atof atoi atol
    atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc mblen mbstowcs mbtowc
    qsort quick_exit rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system
    wcstombs wctomb setenv unsetenv mkstemp random srandom index rindex memchr memcmp memcpy memmove
    memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy
    strpbrk strrchr strspn strstr strtok strxfrm strdup strndup strnlen stpcpy asctime clock ctime
    difftime gmtime localtime mktime nanosleep strftime time timezone daylight tzname tzset
    sched_yield ptrdiff_t max_align_t offsetof wchar_t size_t ssize_t time_t pid_t clock_t clockid_t
    timer_t
"""
KEYWORDS = frozenset([*_C.split(), *kwlist, *softkwlist, *dir(builtins)])
"""Words of C, of the headers that programs include, and of Python."""


def words_of(shape: GridShape) -> str:
    """Return a description of the grid of ranks."""
    kinds = {1: "a line", 2: "a grid", 3: "a grid"}
    if shape.square:
        kinds = {2: "a square", 3: "a cube"}
    return f"{kinds.get(len(shape.sizes), 'a grid')} of {' x '.join(shape.sizes)} ranks"


def options_of(shape: GridShape) -> str:
    """The options, as its usage shows them: in brackets what may be left out."""
    sides = " ".join(f"--{name} {name.upper()}" for name in shape.coords)
    options = [f"[{sides}]" if shape.rule else sides]
    for name in shape.inputs:
        text = f"--{name} {name.upper()}"
        options.append(text if shape.default(name) is None else f"[{text}]")
    return " ".join(options)


def rename_parameters(
    shape: GridShape, library: RuntimeLibrary, reserved: AbstractSet[str]
) -> dict[str, str]:
    """Return other names for the parameters whose names the program or its language needs otherwise."""
    local = {word for piece in library.pieces.values() for word in _WORD.findall(piece.text)}
    taken = {word for word in local if len(word) > 1}.union(  # single letters are used locally only
        reserved, KEYWORDS, shape.variables().keys() - set(shape.inputs), ("r", "i")
    )
    names: dict[str, str] = {}
    for name in shape.inputs:
        if name in taken or name[0] == "_" or name[-1] == "_" or _GENERATED.fullmatch(name):
            wish = f"{name.strip('_') or 'parameter'}_given"
            while wish in taken or wish in shape.inputs:
                wish += "_too"
            taken.add(wish)
            names[name] = wish
    return names


def sides_of(shape: GridShape) -> list[tuple[Cond, str]]:
    """What is wrong with sides and parameters, whatever the rank: the condition, and the complaint."""
    names = shape.variables()
    product: Expr = names[shape.sizes[0]]
    for name in shape.sizes[1:]:
        product = Binary("*", product, names[name])
    text = " * ".join(shape.sizes)
    checks = [(_is("<", names[s], low), f"{s} is at least {low}") for s, low in _least(shape)]
    unequal = Compare("!=", product, Var("P"))
    if shape.square:
        shapes = "squares" if len(shape.sizes) == 2 else "cubes"
        first, *more = (names[size] for size in shape.sizes)
        differs = either(*(Compare("!=", first, side) for side in more), unequal)
        checks.insert(0, (differs, f"this benchmark is for {shapes} of ranks: {' = '.join(shape.sizes)}"))
    checks.insert(0, (unequal, f"{text} has to be the number of ranks"))
    if shape.square:
        checks[0], checks[1] = checks[1], checks[0]
    if shape.powers:
        checks += _powers(shape)
    for name in shape.inputs:
        low = shape.smallest(name)
        checks.append((_is("<", names[name], low), f"{name} is at least {low}"))
    return checks


def _least(shape: GridShape) -> list[tuple[str, int]]:
    return list(zip(shape.sizes, shape.least, strict=True))


def _is(op: str, name: Expr, number: int) -> Cond:
    return Compare(op, name, Const(number))


def _powers(shape: GridShape) -> list[tuple[Cond, str]]:
    """Sides are powers of two, in a ratio that a trace has."""
    names = shape.variables()
    sides = [names[size] for size in shape.sizes]
    checks: list[tuple[Cond, str]] = [
        (Compare("!=", Binary("&", side, Binary("-", side, Const(1))), Const(0)), f"{name} is a power of two")
        for name, side in zip(shape.sizes, sides, strict=True)
    ]
    if len(sides) == 2:
        apart = [
            either(Compare("!=", Binary("*", sides[0], Const(b)), Binary("*", sides[1], Const(a))))
            for a, b in shape.ratios
        ]
        ratios = " or ".join(f"{a}:{b}" for a, b in shape.ratios)
        checks.append((all_of(*apart), f"X to Y is {ratios}"))
    return checks


def demands(shape: GridShape) -> list[tuple[Cond, str]]:
    """What formulas ask of sides and parameters."""
    return [(r.cond, r.complaint) for r in shape.requirements if not _local(r.cond, shape)]


def local_demands(shape: GridShape) -> list[tuple[Cond, str]]:
    """What formulas ask on every rank."""
    return [(r.cond, r.complaint) for r in shape.requirements if _local(r.cond, shape)]


def _local(cond: Cond, shape: GridShape) -> bool:
    return bool(names_in(cond) & {"rank", *shape.coords})


def law_text(law: tuple[tuple[float, float, int], ...], wanted: dict[str, None]) -> str:
    """A time in microseconds as it follows the number of ranks: `12.5 + 3.1 * lg(P)`."""
    text = ""
    for ns, power, log in law:
        sign = "-" if ns < 0 else "+"
        term = f"{abs(ns) / 1000:.6g}"
        term += ".0" if term.isdigit() else ""  # no quotient of integers
        if power in (1, 2, 3):
            term += " * P" * int(power)
        elif power in (-1, -2):
            term += " / P" * int(-power)
        elif power:
            term += f" * raised(P, {power:.10g})"
            wanted["raised"] = None
        if log:
            term += " * lg(P)" * log
            wanted["lg"] = None
        text += f" {sign} {term}" if text else term if ns >= 0 else f"-{term}"
    return text or "0"


def places(shape: GridShape, quotient: str) -> list[str]:
    """The assignments of the coordinates of rank r."""
    pairs = list(zip(shape.coords, shape.sizes, strict=True))
    result, stride = [], ""
    for i, (coord, size) in enumerate(pairs if shape.column_major else reversed(pairs)):
        quotient_text = (
            f"r {quotient} ({stride})" if "*" in stride else f"r {quotient} {stride}" if stride else "r"
        )
        result.append(f"{coord} = {quotient_text}" + ("" if i == len(pairs) - 1 else f" % {size}"))
        stride = f"{stride} * {size}" if stride else size
    return result
