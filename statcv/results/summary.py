"""Tables with a title and notes, as text, HTML, LaTeX or Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError
from statcv.tables import WIDTH

# If there are more than MANY coefficients, the FIRST of them are shown.
MANY, FIRST = 60, 20


def first_of(table: Any) -> Any:
    """Return the first rows of a table of many coefficients, or all of a few."""
    return table.head(FIRST) if len(table) > MANY else table


@dataclass(frozen=True, eq=False)
class Summary:
    """A summary of a result as text, tables and notes; it never prints by itself.

    Attributes
    ----------
    title : str
        The title.
    headline : str
        The main result in one line, or an empty string.
    facts : tuple of (str, str)
        The names and descriptions of model, data and scheme, one line each.
    tables : dict of str to pandas.DataFrame
        The tables, unrounded.
    shown : dict of str to pandas.DataFrame
        The same tables as text, rounded for reading.
    notes : tuple of str
        Assumptions, methods and caveats, one sentence or more each.

    Examples
    --------
    >>> import statcv as scv
    >>> data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, model=ridge, k=4, seed=1)
    >>> summary = res.summary()
    >>> print(summary.headline)
    auROC 0.850 (per fold), 95% interval 0.635 to 0.970 by infinitesimal jackknife
    >>> list(summary.tables)
    ['Metrics', 'Coefficients over 4 folds']
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    tables: Mapping[str, pd.DataFrame]
    shown: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...] = ()
    headline: str = ""

    def __str__(self) -> str:
        wide = max((len(name) for name, _ in self.facts), default=0)
        parts = [self.title, ""]
        if self.headline:
            parts += [*textwrap.wrap(self.headline, WIDTH), ""]
        for name, text in self.facts:
            indent = " " * (wide + 4)
            parts += textwrap.wrap(
                f"  {name:<{wide}}  {text}", WIDTH, subsequent_indent=indent
            )
        for caption, table in self.shown.items():
            parts += ["", caption, table.to_string(line_width=None)]
        if self.notes:
            parts += ["", "Notes"]
            for note in self.notes:
                parts += textwrap.wrap(f"- {note}", WIDTH, subsequent_indent="  ")
        return "\n".join(parts)

    __repr__ = __str__

    def to_html(self) -> str:
        """Return HTML: a ``div`` of class ``statcv`` with headings, tables and notes.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA", scv.load_data("spector"), seed=1)
        >>> res.summary().to_html().partition("<p>")[0]
        '<div class="statcv"><h3>Cross-validation of GRADE ~ GPA</h3>'
        """
        facts = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in self.facts
        )
        parts = [f"<h3>{escape(self.title)}</h3>"]
        parts += [f"<p><strong>{escape(self.headline)}</strong></p>"] * bool(
            self.headline
        )
        parts += [f"<table>{facts}</table>"] if facts else []
        for caption, table in self.shown.items():
            parts.append(f"<h4>{escape(caption)}</h4>{table.to_html(border=0)}")
        items = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        parts += [f"<ul>{items}</ul>"] if items else []
        return f'<div class="statcv">{"".join(parts)}</div>'

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_markdown(self) -> str:
        """Return GitHub-flavoured Markdown."""
        parts = [f"### {_plain(self.title)}", ""]
        parts += [f"**{_plain(self.headline)}**", ""] * bool(self.headline)
        parts += [f"- **{_plain(name)}**: {_plain(text)}" for name, text in self.facts]
        for caption, table in self.shown.items():
            rows = _cells(table)
            parts += ["", f"**{_plain(caption)}**", "", _pipes(rows[0])]
            parts.append("| " + " | ".join([":--"] + ["--:"] * table.shape[1]) + " |")
            parts += map(_pipes, rows[1:])
        parts += ["", *[f"- {_plain(note)}" for note in self.notes]]
        return "\n".join(parts).rstrip() + "\n"

    def to_latex(
        self,
        caption: str | None = None,
        *,
        label: str | None = None,
        table: str | None = None,
    ) -> str:
        r"""Return LaTeX, which needs ``booktabs``: all tables, or one with a caption.

        Parameters
        ----------
        caption : str, optional
            Caption of a single ``table`` environment, which has the first table and
            the notes. Unless given, everything is returned, with one ``tabular`` per
            table.
        label : str, optional
            Label of the ``table`` environment, for ``\ref``; needs ``caption``.
        table : str, optional
            Beginning of the name in ``tables`` of another table than the first; needs
            ``caption``.

        Raises
        ------
        ArgumentError
            If no table or several have that name, or ``caption`` is missing.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA", scv.load_data("spector"), seed=1)
        >>> text = res.summary().to_latex("Held-out metrics.", label="tab:cv")
        >>> print(*text.splitlines()[:4], sep="\n")
        \begin{table}
        \centering
        \caption{Held-out metrics.}
        \label{tab:cv}
        """
        check_types(Summary.to_latex, locals())
        if caption is not None:
            return self._one_table(caption, label, table)
        for name, given in (("label", label), ("table", table)):
            if given is not None:
                raise ArgumentError(
                    f"{name}={given!r} is for a single table; give its caption, too."
                )
        parts = [rf"\paragraph{{{_latex(self.title)}}}"]
        parts += [rf"{_latex(self.headline)}"] * bool(self.headline)
        parts += [r"\begin{description}"]
        parts += [rf"\item[{_latex(name)}] {_latex(text)}" for name, text in self.facts]
        parts += [r"\end{description}", ""]
        for name, shown in self.shown.items():
            parts += [rf"\textbf{{{_latex(name)}}}\par", *_tabular(shown), ""]
        parts += self._latex_notes()
        return "\n".join(parts)

    def _one_table(self, caption: str, label: str | None, table: str | None) -> str:
        """Return a ``table`` environment with a caption, and the notes below."""
        wanted = next(iter(self.shown)) if table is None else table
        names = [name for name in self.shown if name.startswith(wanted)]
        if len(names) != 1:
            raise ArgumentError(
                f"table={table!r} is the beginning of {len(names)} names; the tables "
                f"are {', '.join(map(repr, self.shown))}."
            )
        parts = [r"\begin{table}", r"\centering", rf"\caption{{{_latex(caption)}}}"]
        parts += [rf"\label{{{label}}}"] if label else []
        parts += [*_tabular(self.shown[names[0]]), *self._latex_notes()]
        return "\n".join([*parts, r"\end{table}"])

    def _latex_notes(self) -> list[str]:
        return [rf"{{\footnotesize {_latex(note)}\par}}" for note in self.notes]


def _tabular(table: pd.DataFrame) -> list[str]:
    """Return the lines of a ``tabular``."""
    head, *rows = [" & ".join(map(_latex, row)) + r" \\" for row in _cells(table)]
    return [
        rf"\begin{{tabular}}{{l{'r' * table.shape[1]}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}\par",
    ]


def _cells(table: pd.DataFrame) -> list[list[str]]:
    head = [str(table.index.name or ""), *map(str, table.columns)]
    body = [
        [str(label), *map(str, row)]
        for label, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    return [head, *body]


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(text: str) -> str:
    """Escape characters that Markdown would read as markup."""
    return "".join("\\" + c if c in "\\`*_{}[]<>|~" else c for c in text)


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "∞": r"$\infty$",
    "<": "$<$",
    ">": "$>$",
    "²": "$^2$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
