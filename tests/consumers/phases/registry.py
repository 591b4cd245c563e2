"""The registry of kinds, and the drawing of one phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from string import Template

from consumers.values import values

LENGTH = "24"
"""Elements of messages to receives from any source: compiled replays refuse several lengths."""

Drawer = Callable[[Random], "Text"]


@dataclass(frozen=True)
class Text:
    """A phase without its name.

    Attributes:
        body: C statements, with `$n` for the name and `$x` for a value of `parts`.
        functions: name of a function of rank and iteration -> its least and its largest value.
        declarations: C at file scope.
    """

    body: str
    functions: dict[str, tuple[int, int]]
    parts: dict[str, object]
    declarations: str = ""


@dataclass(frozen=True)
class Phase:
    """A phase of a program: its text follows from its kind and its seed."""

    kind: str
    seed: int

    def source(self, name: str) -> str:
        """Return the definition of the C function NAME."""
        random = Random(f"{self.kind} {self.seed}")
        text = KINDS[self.kind](random)
        functions = [
            values(random, f"{name}_{function}", *limits) for function, limits in text.functions.items()
        ]
        parts = {"n": name, **text.parts}
        body = Template(Template(text.body).safe_substitute(parts)).substitute(parts)
        declarations = Template(text.declarations).substitute(parts)
        if "MPI_ANY_SOURCE" in body:  # else it might take a message of the phase before or after it
            body = f"MPI_Barrier(WORLD);\n{body.strip()}\nMPI_Barrier(WORLD);"
        lines = body.strip("\n").splitlines()
        indented = "\n".join(f"    {line}" if line else "" for line in lines)
        head = f"/* {self.kind}, seed {self.seed} */\n"
        return f"{head}{declarations}{''.join(functions)}static void {name}(void)\n{{\n{indented}\n}}\n"


KINDS: dict[str, Drawer] = {}


def kind(drawer: Drawer) -> Drawer:
    """Register a kind under the name of its function."""
    KINDS[drawer.__name__] = drawer
    return drawer


def draw_phase(random: Random, names: tuple[str, ...]) -> Phase:
    """Draw a phase of one of these kinds."""
    return Phase(random.choice(names), random.randrange(1 << 30))


def trips(random: Random, most: int = 9) -> int:
    """Draw a number of iterations."""
    return random.choice((1, 2, 3, 3, 5, 7, most))


def tag(random: Random) -> str:
    """Draw a tag as a C expression of the iteration."""
    return random.choice((f"{random.randint(0, 50)}", f"{random.randint(1, 9)} + i % 3", "i"))
