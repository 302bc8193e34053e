"""The writers of tables and summaries in LaTeX, Markdown and HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Protocol

from statcv.words import stored_rows

if TYPE_CHECKING:
    from statcv.results.writing.export import PaperTable

Row = tuple[bool, str, list[str]]  # whether below a heading, name, and cells
Facts = Sequence[tuple[str, str]]


class Writer(Protocol):
    """A document to which titles, tables and notes are added one after the other."""

    def title(self, text: str) -> None:
        """Add a title."""

    def strong(self, text: str) -> None:
        """Add a line in bold."""

    def facts(self, facts: Facts) -> None:
        """Add names with their descriptions."""

    def table(self, table: PaperTable) -> None:
        """Add a table with its caption, but without its notes."""

    def notes(self, notes: Sequence[str]) -> None:
        """Add notes."""


class TextWriter(Writer):
    """A document that is text."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(self) -> str:
        """Return the whole document."""
        raise NotImplementedError


def visible(text: str) -> str:
    r"""Return text in one line, with invisible and directional marks written out.

    >>> print(visible("a\u202eb"), visible("two\nlines"))
    a\u202eb two lines
    """
    shown = []
    for character in re.sub(r"\s+", " ", text):
        kind = unicodedata.category(character)
        hidden = kind in ("Cc", "Cs", "Cn", "Co") or (
            # the zero-width joiner joins parts of emoji
            kind == "Cf" and character != "\u200d"
        )
        shown.append(f"\\u{ord(character):04x}" if hidden else character)
    return "".join(shown)


# ---- Markdown ----

SPECIAL = "\\`*_{}[]<>|~$^@#&!\"'"
# characters that would become a dash or an ellipsis
REPEATED = re.compile(r"(?<=-)-|(?<=\.)\.")
# starts of a line that would begin a list
OF_A_LIST = re.compile(r"^(\(?\w*)([-+.)])(?= |$)")


def plain(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> print(plain("a*b <i>"), plain("1. --"))
    a\*b \<i\> 1\. -\-
    """
    shown = "".join("\\" + c if c in SPECIAL else c for c in visible(str(text)))
    return OF_A_LIST.sub(r"\1\\\2", REPEATED.sub(r"\\\g<0>", shown))


class _Markdown(TextWriter):
    """A writer of GitHub-flavoured Markdown."""

    def title(self, text: str) -> None:
        self.parts.append(f"### {plain(text)}")

    def strong(self, text: str) -> None:
        self.parts.append(f"**{plain(text)}**")

    def facts(self, facts: Facts) -> None:
        self._items([f"**{plain(name)}**: {plain(text)}" for name, text in facts])

    def table(self, table: PaperTable) -> None:
        if table.caption:
            self.strong(table.caption)
        lines = [
            table.head,
            *(["&emsp;" * below + plain(n), *cells] for below, n, cells in table.body),
        ]
        rows = [[row[0], *map(plain, row[1:])] for row in lines]
        rows[0][0] = plain(rows[0][0])
        rows.insert(1, [":--"] + ["--:"] * (len(table.head) - 1))
        self.parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))

    def notes(self, notes: Sequence[str]) -> None:
        self._items(list(map(plain, notes)))

    def _items(self, items: Sequence[str]) -> None:
        if items:
            self.parts.append("\n".join(f"- {item}" for item in items))

    def text(self) -> str:
        return "\n\n".join(self.parts) + "\n"


# ---- LaTeX ----

# brackets would be an argument of the end of the row above
_LATEX = {row[0]: row[1] for row in stored_rows("statcv.results.writing", "latex.txt")}


def latex(text: str) -> str:
    r"""Return text that LaTeX shows as it is.

    >>> print(latex(r"50% of a_b & [c] \d"), latex("−1 -- 2"))
    50\% of a\_b \& {[}c{]} \textbackslash{}d $-$1 -{}- 2
    """
    shown = "".join(_LATEX.get(c, c) for c in visible(text).replace("--", "\0"))
    return shown.replace("\0", "-{}-")


class _Latex(TextWriter):
    """A writer of LaTeX that needs the package booktabs alone."""

    def title(self, text: str) -> None:
        self.parts.append(rf"\paragraph{{{latex(text)}}}")

    def strong(self, text: str) -> None:
        self.parts.append(rf"\textbf{{{latex(text)}}}\par")

    def facts(self, facts: Facts) -> None:
        items = [rf"\item[{{{latex(n)}}}] {latex(text)}" for n, text in facts]
        self.parts += [r"\begin{description}", *items, r"\end{description}", ""]

    def table(self, table: PaperTable) -> None:
        if table.caption:
            self.strong(table.caption)
        self.parts += [*_tabular(table), r"\par", ""]

    def notes(self, notes: Sequence[str]) -> None:
        self.parts += [rf"{{\footnotesize {latex(note)}\par}}" for note in notes]

    def text(self) -> str:
        return "\n".join(self.parts)


def latex_figure(table: PaperTable) -> str:
    """Return a ``table`` environment, with the notes below."""
    to = _Latex()
    to.parts += [r"\begin{table}", r"\centering"]
    to.parts += [rf"\caption{{{latex(table.caption)}}}"] * bool(table.caption)
    to.parts += [rf"\label{{{table.label}}}"] if table.label else []
    to.parts += [*_tabular(table), *[r"\par"] * bool(table.notes)]
    to.notes(table.notes)
    to.parts.append(r"\end{table}")
    return to.text()


def _tabular(table: PaperTable) -> list[str]:
    """Return the lines of a ``tabular``."""
    rows = [
        [r"\quad " * below + latex(name), *map(latex, cells)]
        for below, name, cells in table.body
    ]
    head, *lines = [
        rf"{' & '.join(row)} \\" for row in [[*map(latex, table.head)], *rows]
    ]
    return [
        rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
        *(r"\toprule", head, r"\midrule", *lines, r"\bottomrule"),
        r"\end{tabular}",
    ]


# ---- HTML ----


class _Html(TextWriter):
    """A writer of HTML: a ``div`` of class ``statcv``."""

    def title(self, text: str) -> None:
        self.parts.append(f"<h3>{_html(text)}</h3>")

    def strong(self, text: str) -> None:
        self.parts.append(f"<p><strong>{_html(text)}</strong></p>")

    def facts(self, facts: Facts) -> None:
        rows = [
            f'<tr><th scope="row">{_html(name)}</th><td>{_html(text)}</td></tr>'
            for name, text in facts
        ]
        self.parts.append(f"<table>{''.join(rows)}</table>")

    def table(self, table: PaperTable) -> None:
        own = f' id="{escape(table.label)}"' if table.label else ""
        caption = f"<caption>{_html(table.caption)}</caption>" * bool(table.caption)
        stub, *heads = map(_html, table.head)
        first = f'<th scope="col">{stub}</th>' if stub else "<td></td>"
        head = first + "".join(
            f'<th scope="col" style="text-align:right">{name}</th>' for name in heads
        )
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{"&emsp;" * below}'
            f"{_html(name)}</th>"
            + "".join(f'<td style="text-align:right">{_html(c)}</td>' for c in cells)
            + "</tr>"
            for below, name, cells in table.body
        )
        self.parts.append(
            f'<table class="dataframe"{own}>{caption}<thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )

    def notes(self, notes: Sequence[str]) -> None:
        items = "".join(f"<li>{_html(note)}</li>" for note in notes)
        self.parts += [f"<ul>{items}</ul>"] if items else []

    def text(self) -> str:
        return f'<div class="statcv">{"".join(self.parts)}</div>'


def _html(text: str) -> str:
    return escape(visible(text))


WRITERS: dict[str, type[TextWriter]] = {
    "html": _Html,
    "latex": _Latex,
    "markdown": _Markdown,
}
