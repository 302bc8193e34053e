"""A table as it stands in a paper, in LaTeX, Markdown, HTML, Word and plain text."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError, ArgumentTypeError, needed, reason
from statcv.results.writing.writers import Document, Row, visible, written
from statcv.tables import WIDTH, check_digits
from statcv.vocabulary import refuse_unknown

MAX_NAME = 40  # characters of the name of a row in plain text
OPTIONS = ("by", "metrics", "digits", "level", "caption", "label", "notes")
INDENT = "\u2003"  # the em space that begins the name of a row below a heading
MINUS = re.compile(r"(?<![\w.)-])-(?=[\d.])")  # a hyphen that is the sign of a number


class Written:
    """Text with tables that is written as Markdown, HTML or a document of Word."""

    def _document(self) -> Document:
        raise NotImplementedError

    def to_markdown(self) -> str:
        """Return GitHub-flavoured Markdown."""
        return written(self._document(), "markdown")

    def to_html(self) -> str:
        """Return a ``div`` of class ``statcv``."""
        return written(self._document(), "html")

    def to_word(self, path: str | PathLike[str]) -> Path:
        """Write a document of Word, and return its path.

        Parameters
        ----------
        path : str or path
            File to write, which ends in ``.docx``; one that exists is replaced.

        Raises
        ------
        MissingPackageError
            If python-docx is not installed, which ``pip install "statcv[word]"`` does.
        ArgumentTypeError
            If the path is not the name of a file.
        ArgumentError
            If the name does not end in ``.docx``, or the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     scv.table(res).to_word(f"{folder}/table.docx").name
        'table.docx'
        """
        if not isinstance(path, (str, PathLike)):
            raise ArgumentTypeError(f"path must be the name of a file, not {path!r}.")
        file = Path(path)
        if file.suffix.lower() != ".docx":
            raise ArgumentError(
                f"a document of Word is written as .docx, not as {file.suffix!r} "
                f"({file.name})."
            )
        otherwise = 'a document of Word needs python-docx: pip install "statcv[word]"'
        docx = needed("docx", otherwise)
        made = docx.Document()
        _fill_word(made, self._document())
        try:
            made.save(str(file))
        except OSError as error:
            raise ArgumentError(f"cannot write {file}: {reason(error)}.") from error
        return file

    def _repr_html_(self) -> str:
        return self.to_html()


@dataclass(frozen=True, eq=False)
class PaperTable(Written):
    """A table as it stands in a paper: text in every cell, and a caption.

    It is returned by :func:`statcv.table` and :func:`statcv.table1`.

    Attributes
    ----------
    cells : pandas.DataFrame
        The text of the cells. The index has the names of the rows, and the name of the
        index heads them. The name of a row below a heading begins with an em space.
    caption : str
        Caption; empty for none.
    label : str or None
        Label of the table in LaTeX, and ``id`` in HTML.
    notes : tuple of str
        Notes below the table, one sentence or more each.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.table(res, metrics="auroc", caption="Performance")
    Performance
    <BLANKLINE>
            Estimate (95% CI)
    auROC 0.83 (0.57 to 0.98)
    """

    cells: pd.DataFrame
    caption: str = ""
    label: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.label is not None and not re.fullmatch(r"[\w:.+/-]+", self.label):
            raise ArgumentError(
                f"label={self.label!r} can have letters, digits and any of :.+/-_, "
                "but no other characters."
            )

    @property
    def head(self) -> list[str]:
        """The heads of the columns, after that of the names of rows."""
        return [visible(str(n)) for n in (self.cells.index.name or "", *self.cells)]

    @property
    def body(self) -> list[Row]:
        """The rows: whether one stands below a heading, its name, and its cells."""
        rows = []
        for name, *row in self.cells.itertuples(name=None):
            cells = [MINUS.sub("−", visible(str(cell))) for cell in row]
            named = str(name)
            below = named.startswith(INDENT)
            rows.append((below, visible(named.lstrip(INDENT)), cells))
        return rows

    def to_latex(self) -> str:
        r"""Return a ``table`` environment, which needs the package ``booktabs`` alone.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> made = scv.table(res, metrics="auroc", caption="Area")
        >>> print(*made.to_latex().splitlines()[4:8], sep="\n")
        \toprule
         & Estimate (95\% CI) \\
        \midrule
        auROC & 0.83 (0.57 to 0.98) \\
        """
        return written(self._document(), "latex_table")

    def as_gt(self) -> Any:
        """Return the table as ``great_tables.GT``, whose style can be changed further.

        Raises
        ------
        MissingPackageError
            If great_tables is not installed.
        """
        otherwise = "as_gt() needs the package great_tables: pip install great_tables"
        great_tables = needed("great_tables", otherwise)
        stub, *names = self.head
        keys = list(map(str, range(len(names))))
        frame = pd.DataFrame([cells for _, _, cells in self.body], columns=keys)
        below = [INDENT * indented + name for indented, name, _ in self.body]
        made = great_tables.GT(
            frame.assign(stub=below), rowname_col="stub"
        ).tab_stubhead(stub)
        made = made.cols_label(dict(zip(keys, names, strict=True)))
        made = made.cols_align("right", columns=keys)
        if self.caption:
            made = made.tab_header(visible(self.caption))
        for note in self.notes:
            made = made.tab_source_note(visible(note))
        return made

    def _document(self) -> Document:
        return Document([self], self.notes)

    def __repr__(self) -> str:
        parts = textwrap.wrap(visible(self.caption), WIDTH)
        for columns in self._pages():
            parts += [""] * bool(parts) + columns
        for note in self.notes:
            parts += ["", *textwrap.wrap(visible(note), WIDTH)]
        return "\n".join(parts)

    def _pages(self) -> list[list[str]]:
        """Return the lines of plain text, for as many columns at once as fit."""
        stub, *heads = self.head
        below = [stub, *("  " * indented + name for indented, name, _ in self.body)]
        names = [n if len(n) <= MAX_NAME else f"{n[: MAX_NAME - 1]}…" for n in below]
        rows = [heads, *(cells for _, _, cells in self.body)]
        room = max(map(len, names))
        pages: list[list[str]] = []
        used = WIDTH
        for place in range(len(heads)):
            column = [row[place] for row in rows]
            width = max(map(len, column))
            if used + 1 + width > WIDTH:
                pages.append([name.ljust(room) for name in names])
                used = room
            pages[-1] = [
                f"{line} {text:>{width}}"
                for line, text in zip(pages[-1], column, strict=True)
            ]
            used += 1 + width
        return [[line.rstrip() for line in page] for page in pages]


def check_options(
    digits: int | None, caption: str | None, label: str | None, notes: bool = False
) -> None:
    """Check the arguments of a table; an empty text leaves out the caption."""
    given = {"digits": digits, "label": label, "notes": notes}
    text = None if isinstance(caption, str) else caption
    check_types(check_options, {**given, "caption": text})
    check_digits(digits)


class Exports:
    """What :func:`statcv.table` writes in one call: a result, or a comparison.

    ``res.to_latex(metrics="auroc")`` is ``scv.table(res, metrics="auroc").to_latex()``.
    """

    def _table(self, verb: str, options: dict[str, Any]) -> PaperTable:
        # a verb makes the table of any result
        from statcv.verbs.table import table

        refuse_unknown(verb, [n for n in options if n not in OPTIONS], OPTIONS)
        return table(self, **options)  # type: ignore[arg-type]

    def to_latex(self, **options: Any) -> str:
        """Return ``statcv.table(self, **options).to_latex()``."""
        return self._table("to_latex", options).to_latex()

    def to_markdown(self, **options: Any) -> str:
        """Return ``statcv.table(self, **options).to_markdown()``."""
        return self._table("to_markdown", options).to_markdown()

    def to_html(self, **options: Any) -> str:
        """Return ``statcv.table(self, **options).to_html()``."""
        return self._table("to_html", options).to_html()

    def to_word(self, path: str | PathLike[str], **options: Any) -> Path:
        """Return ``statcv.table(self, **options).to_word(path)``."""
        return self._table("to_word", options).to_word(path)

    def as_gt(self, **options: Any) -> Any:
        """Return ``statcv.table(self, **options).as_gt()``."""
        return self._table("as_gt", options).as_gt()


def _fill_word(word: Any, document: Document) -> None:
    """Write a document into one of python-docx."""
    from docx.shared import Pt

    word.core_properties.author = ""
    if document.title:
        word.add_heading(visible(document.title), level=1)
    if document.headline:
        word.add_paragraph().add_run(visible(document.headline)).bold = True
    for name, text in document.facts:
        line = word.add_paragraph()
        line.add_run(f"{visible(name)}: ").bold = True
        line.add_run(visible(text))
    for table in document.tables:
        _add_table(word, table)
    for note in document.notes:
        line = word.add_paragraph()
        line.add_run(visible(note)).font.size = Pt(9)


def _add_table(word: Any, table: PaperTable) -> None:
    """Write a table with its caption into a document of python-docx."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.oxml import OxmlElement
    from docx.shared import Cm

    if table.caption:
        caption = word.add_paragraph(visible(table.caption), "Caption")
        caption.paragraph_format.keep_with_next = True
    rows: list[Row] = [(False, table.head[0], table.head[1:]), *table.body]
    made = word.add_table(len(rows), len(table.head))
    for place, (below, name, cells) in enumerate(rows):
        line = made.rows[place].cells
        line[0].text = name
        line[0].paragraphs[0].paragraph_format.left_indent = Cm(0.5) * below
        for cell, text in zip(line[1:], cells, strict=True):
            cell.text = text
            cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.RIGHT
    for place, edge in ((0, "top"), (0, "bottom"), (-1, "bottom")):
        for cell in made.rows[place].cells:
            _rule(cell, edge)
    # the first row is repeated at the top of each page
    made.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    word.add_paragraph()


def _rule(cell: Any, edge: str) -> None:
    """Draw a line at the top or the bottom of a cell."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    own = cell._tc.get_or_add_tcPr()
    borders = own.find(qn("w:tcBorders"))
    if borders is None:
        own.append(borders := OxmlElement("w:tcBorders"))
    line = OxmlElement(f"w:{edge}")
    for name, value in (("val", "single"), ("sz", "8"), ("color", "auto")):
        line.set(qn(f"w:{name}"), value)
    borders.append(line)
