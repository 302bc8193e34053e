"""Tables and summaries as documents of Word, through python-docx."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingPackageError,
    reason,
)
from statcv.results.writers import Facts, Row, Tabular, Writer, visible

SUFFIX = ".docx"


def write_word(path: str | PathLike[str], write: Callable[[Writer], None]) -> Path:
    """Write a document, and return its path.

    Parameters
    ----------
    path : str or path
        File to write; one that exists is replaced.
    write : callable
        Function that adds to the document.

    Raises
    ------
    MissingPackageError
        If python-docx is not installed.
    ArgumentTypeError
        If the path is not the name of a file.
    ArgumentError
        If the name does not end in ``.docx``, or the file cannot be written.
    """
    if not isinstance(path, (str, PathLike)):
        raise ArgumentTypeError(f"path must be the name of a file, not {path!r}.")
    file = Path(path)
    if file.suffix.lower() != SUFFIX:
        raise ArgumentError(
            f"a document of Word is written as {SUFFIX}, not as {file.suffix!r} "
            f"({file.name})."
        )
    try:
        import docx
    except ImportError:
        raise MissingPackageError(
            'a document of Word needs python-docx: pip install "statcv[word]"'
        ) from None
    to = _Word(docx.Document())
    write(to)
    try:
        to.document.save(str(file))
    except OSError as error:
        raise ArgumentError(f"cannot write {file}: {reason(error)}.") from error
    return file


class _Word:
    """A writer of a document of python-docx."""

    def __init__(self, document: Any) -> None:
        self.document = document
        document.core_properties.author = ""

    def title(self, text: str) -> None:
        self.document.add_heading(visible(text), level=1)

    def strong(self, text: str) -> None:
        self.document.add_paragraph().add_run(visible(text)).bold = True

    def facts(self, facts: Facts) -> None:
        for name, text in facts:
            line = self.document.add_paragraph()
            line.add_run(f"{visible(name)}: ").bold = True
            line.add_run(visible(text))

    def table(self, table: Tabular) -> None:
        from docx.enum.text import WD_ALIGN_PARAGRAPH
        from docx.shared import Cm

        if table.caption:
            caption = self.document.add_paragraph(visible(table.caption), "Caption")
            caption.paragraph_format.keep_with_next = True
        rows: list[Row] = [(False, table.head[0], table.head[1:]), *table.body]
        made = self.document.add_table(len(rows), len(table.head))
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
        _repeat_head(made.rows[0])
        self.document.add_paragraph()

    def notes(self, notes: Sequence[str]) -> None:
        from docx.shared import Pt

        for note in notes:
            line = self.document.add_paragraph()
            line.add_run(visible(note)).font.size = Pt(9)


def _rule(cell: Any, edge: str) -> None:
    """Draw a line at the top or the bottom of a cell."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    own = cell._tc.get_or_add_tcPr()
    borders = own.find(qn("w:tcBorders"))
    if borders is None:
        borders = OxmlElement("w:tcBorders")
        own.append(borders)
    line = OxmlElement(f"w:{edge}")
    for name, value in (("val", "single"), ("sz", "8"), ("color", "auto")):
        line.set(qn(f"w:{name}"), value)
    borders.append(line)


def _repeat_head(row: Any) -> None:
    """Repeat a row at the top of each page."""
    from docx.oxml import OxmlElement

    row._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
