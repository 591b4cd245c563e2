"""A small writer of SVG: boxes, texts, arrows and braces on white, with a title for screen readers."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"
MONO = "font-family='DejaVu Sans Mono, Menlo, monospace'"
INK, GREY = "#1f2933", "#7b8794"
BLUE, ORANGE, GREEN, RED, LIGHT = "#bcd7f5", "#fbd9a8", "#c5e8b7", "#f5b8b8", "#eef1f4"


@dataclass
class Drawing:
    """A picture of a size in pixels.

    Attributes:
        title: text for readers who do not see the picture.
    """

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, w: float, h: float, text: str = "", fill: str = LIGHT) -> None:
        """Draw a box with a text in its middle."""
        self.parts.append(
            f"<rect x='{x:g}' y='{y:g}' width='{w:g}' height='{h:g}' rx='3' fill='{fill}' stroke='{INK}'/>"
        )
        if text:
            self.text(x + w / 2, y + h / 2 + 4, text, anchor="middle", mono=True)

    def frame(self, x: float, y: float, w: float, h: float, label: str) -> None:
        """Draw a loop: a dashed frame with its trip count on the upper left."""
        self.parts.append(
            f"<rect x='{x:g}' y='{y:g}' width='{w:g}' height='{h:g}' rx='6' fill='none' stroke='{INK}' "
            "stroke-dasharray='5 3'/>"
        )
        self.text(x + 6, y - 5, label, mono=True)

    def text(
        self, x: float, y: float, text: str, *, anchor: str = "start", mono: bool = False, grey: bool = False
    ) -> None:
        """Write a line."""
        self.parts.append(
            f"<text x='{x:g}' y='{y:g}' text-anchor='{anchor}' font-size='13' {MONO if mono else FONT} "
            f"fill='{GREY if grey else INK}'>{escape(text)}</text>"
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Draw an arrow from one point to another."""
        self.parts.append(
            f"<line x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}' stroke='{INK}' stroke-width='1.4' "
            "marker-end='url(#head)'/>"
        )

    def brace(self, x: float, y: float, w: float, label: str) -> None:
        """Draw a bracket below a row, with a label under it."""
        self.parts.append(
            f"<path d='M{x:g} {y:g} v6 h{w:g} v-6' fill='none' stroke='{INK}' stroke-width='1.2'/>"
        )
        self.text(x + w / 2, y + 22, label, anchor="middle", grey=True)

    def svg(self) -> str:
        """Return the file's text."""
        head = (
            "<marker id='head' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' "
            f"orient='auto'><path d='M0 0 L8 4 L0 8 z' fill='{INK}'/></marker>"
        )
        lines = [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f"width='{self.width}' height='{self.height}' role='img'>",
            f"<title>{escape(self.title)}</title><defs>{head}</defs>",
            f"<rect width='{self.width}' height='{self.height}' rx='8' fill='white'/>",
            *self.parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"
