"""Tables for papers: the same cells in LaTeX, Markdown, HTML, Word and great_tables."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from statcv.results.summary import Summary
from statcv.results.writing.export import INDENT, PaperTable

docx = pytest.importorskip("docx")

HOSTILE = [
    "a_b", "100%", "R&D", "<b>x</b>", r"C:\new", "-0.5", "$x$ #1", "{x}", "~^",
    "[0, 10)", "*", "a|b", "`code`", "--", '"quoted"', "1. first", "größe", "Ένα",
    "男性", "да", "two\nlines", "−1", "a \\\\", "&amp;", "]", "\\textbf{x}",
]  # fmt: skip


def hostile() -> PaperTable:
    """Return a table with odd labels as heads, names of rows, cells and notes."""
    cells = pd.DataFrame(
        [[one, other] for one, other in zip(HOSTILE, HOSTILE[::-1], strict=True)],
        index=[f"{INDENT * (k % 2)}{one}" for k, one in enumerate(HOSTILE)],
        columns=["a_b & c", "<d> %"],
    )
    notes = tuple(f"{one}: a note" for one in HOSTILE)
    return PaperTable(cells, " ".join(HOSTILE), "tab:x_1", notes)


def texts(table: PaperTable) -> list[list[str]]:
    """Return the texts that each format has to show, row by row."""
    return [table.head, *([name, *cells] for _, name, cells in table.body)]


# ---- each format is read by another program ----


def read_html(text: str) -> list[list[str]]:
    soup = BeautifulSoup(text, "html.parser")
    rows = soup.find("table").find_all("tr")
    return [[c.get_text() for c in row.find_all(["th", "td"])] for row in rows]


def stripped(rows: list[list[str]]) -> list[list[str]]:
    return [[cell.strip(f"{INDENT} ") for cell in row] for row in rows]


def test_html_is_read_by_a_parser() -> None:
    table = hostile()
    text = table.to_html()
    assert stripped(read_html(text)) == texts(table)
    soup = BeautifulSoup(text, "html.parser")
    assert soup.find("table")["id"] == "tab:x_1"
    assert soup.caption.get_text() == table.caption.replace("\n", " ")
    assert len(soup.find_all("li")) == len(HOSTILE)
    assert not soup.find_all(["b", "script"])
    scopes = [cell["scope"] for cell in soup.find_all("th")]
    assert scopes == ["col"] * 2 + ["row"] * len(HOSTILE)


def test_markdown_is_read_by_a_renderer() -> None:
    table = hostile()
    html = MarkdownIt("commonmark").enable("table").render(table.to_markdown())
    assert stripped(read_html(html)) == texts(table)
    soup = BeautifulSoup(html, "html.parser")
    assert soup.p.strong.get_text() == table.caption.replace("\n", " ")
    notes = [one.get_text() for one in soup.find_all("li")]
    assert notes == [note.replace("\n", " ") for note in table.notes]


def test_word_is_read_again(tmp_path: Path) -> None:
    table = hostile()
    assert table.to_word(tmp_path / "a.docx") == tmp_path / "a.docx"
    found = docx.Document(str(tmp_path / "a.docx"))
    (own,) = found.tables
    assert [[cell.text for cell in row.cells] for row in own.rows] == texts(table)
    said = [line.text for line in found.paragraphs if line.text]
    assert said[0] == table.caption.replace("\n", " ")
    assert found.paragraphs[0].style.name == "Caption"
    assert said[1:] == [note.replace("\n", " ") for note in table.notes]
    indents = [
        row.cells[0].paragraphs[0].paragraph_format.left_indent for row in own.rows
    ]
    assert [bool(one) for one in indents[1:]] == [below for below, _, _ in table.body]
    assert "w:tblHeader" in own.rows[0]._tr.xml


def latex_rows(text: str) -> list[list[str]]:
    """Return the cells of a ``tabular``, and check that they are well formed."""
    columns, body = re.search(
        r"\\begin{tabular}{(l r*)}\n(.*)\\end{tabular}".replace(" ", ""), text, re.S
    ).groups()
    rows = []
    for line in body.splitlines():
        if line in (r"\toprule", r"\midrule", r"\bottomrule"):
            continue
        assert line.endswith(r" \\")
        cells = re.split(r"(?<!\\)&", line[:-3])
        assert len(cells) == len(columns)
        for cell in cells:
            bare = re.sub(r"\\[\\{}_%$#&]", "", cell)
            assert bare.count("{") == bare.count("}")
            assert bare.count("$") % 2 == 0
            assert not re.search(r"[%#_^~<>]", re.sub(r"\$[^$]*\$", "", bare))
            assert not cell.strip().startswith(("[", "*"))
        rows.append(cells)
    return rows


def test_latex_has_as_many_cells_as_columns() -> None:
    table = hostile()
    text = table.to_latex()
    rows = latex_rows(text)
    assert len(rows) == len(HOSTILE) + 1
    assert [row[0].startswith(r"\quad ") for row in rows[1:]] == [
        below for below, _, _ in table.body
    ]
    assert text.startswith("\\begin{table}\n\\centering\n\\caption{")
    assert "\n\\label{tab:x_1}\n" in text
    shown = {row[1].strip() for row in rows}
    assert {r"100\%", r"R\&D", "$<$b$>$x$<$/b$>$", "$-$0.5", "$-$1"} <= shown
    assert {r"C:\textbackslash{}new", "{[}0, 10)", "a$|$b", "-{}-"} <= shown


LATIN = [one for one in HOSTILE if one not in ("Ένα", "男性", "да")]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_latex_compiles_with_booktabs_alone(tmp_path: Path) -> None:
    made = hostile()
    kept = made.cells.index.str.strip(INDENT).isin(LATIN)
    cells = made.cells[kept & made.cells.iloc[:, 1].isin(LATIN).to_numpy()]
    table = PaperTable(cells, " ".join(LATIN), "tab:x_1", tuple(LATIN))
    res = scv.cv("GRADE ~ GPA", scv.load_data("spector"), seed=1)
    parts = [table.to_latex(), res.summary().to_latex(), res.to_latex(notes=True)]
    body = "\n\n".join(parts)
    text = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (tmp_path / "a.tex").write_text(f"{text}{body}\n\\end{{document}}\n", "utf-8")
    command = ["pdflatex", "-draftmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:].decode("latin-1")


def test_great_tables_show_the_same_cells() -> None:
    pytest.importorskip("great_tables")
    table = hostile()
    text = table.as_gt().as_raw_html()
    soup = BeautifulSoup(text, "html.parser")
    rows = soup.find("tbody").find_all("tr")
    found = [[c.get_text() for c in row.find_all(["th", "td"])] for row in rows]
    assert stripped(found) == texts(table)[1:]
    assert soup.find(id="title").get_text() == table.caption.replace("\n", " ")


def test_plain_text_fits_in_80_columns() -> None:
    table = hostile()
    lines = str(table).splitlines()
    assert max(map(len, lines)) <= 80
    wide = PaperTable(
        pd.DataFrame({f"model {k}": ["0.68 (0.58 to 0.77)"] for k in range(9)})
    )
    text = str(wide)
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"model {k}" in text for k in range(9))
    assert text.count("0.68 (0.58 to 0.77)") == 9


# ---- summaries are written by the same writers ----


@pytest.fixture(scope="module")
def summary() -> Summary:
    return scv.cv("GRADE ~ GPA + TUCE", scv.load_data("spector"), seed=1).summary()


def test_all_forms_of_a_summary_have_the_same_cells(
    summary: Summary, tmp_path: Path
) -> None:
    expected = [texts(PaperTable(shown)) for shown in summary.shown.values()]
    markdown = MarkdownIt("commonmark").enable("table").render(summary.to_markdown())
    for text in (summary.to_html(), markdown):
        soup = BeautifulSoup(text, "html.parser")
        found = [read_html(str(one)) for one in soup.find_all("table") if one.thead]
        assert found == expected
        assert summary.headline in soup.get_text()
        assert all(note in soup.get_text() for note in summary.notes)
    word = docx.Document(str(summary.to_word(tmp_path / "s.docx")))
    assert [
        [[cell.text for cell in row.cells] for row in one.rows] for one in word.tables
    ] == expected
    pieces = summary.to_latex().split(r"\begin{tabular}")[1:]
    shapes = [np.shape(latex_rows(rf"\begin{{tabular}}{one}")) for one in pieces]
    assert shapes == [np.shape(one) for one in expected]


def test_a_single_table_has_notes_only_if_asked_for(summary: Summary) -> None:
    assert "footnotesize" not in summary.to_latex("Metrics.")
    text = summary.to_latex("Metrics.", notes=True)
    assert text.count("footnotesize") == len(summary.notes)


# ---- errors ----


def test_errors_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = hostile()
    with pytest.raises(ArgumentError, match=r"written as \.docx, not as '\.doc'"):
        table.to_word(tmp_path / "a.doc")
    (tmp_path / "folder.docx").mkdir()
    with pytest.raises(ArgumentError, match=r"cannot write .*folder\.docx"):
        table.to_word(tmp_path / "folder.docx")
    with pytest.raises(ArgumentTypeError, match="path must be"):
        table.to_word(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"label='a}b' can have letters"):
        PaperTable(table.cells, label="a}b")
    for name in ("docx", "great_tables"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackageError, match=r"pip install \"statcv\[word\]\""):
        table.to_word(tmp_path / "a.docx")
    with pytest.raises(MissingPackageError, match="pip install great_tables"):
        table.as_gt()
