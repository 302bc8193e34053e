"""Pandoc turns the Markdown of a report into a document of Word."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_results_report import HOSTILE

from statcv.report import page, parts

pytestmark = pytest.mark.skipif(
    shutil.which("pandoc") is None, reason="pandoc is not installed"
)
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def converted(markdown: Path, out: Path) -> zipfile.ZipFile:
    """Convert a file, with warnings as errors."""
    command = ["pandoc", "--fail-if-warnings", markdown.name, "-o", str(out)]
    done = subprocess.run(
        command, cwd=markdown.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return zipfile.ZipFile(out)


def cells(table: ElementTree.Element) -> list[list[str]]:
    """Return the texts of the cells of a table, row by row."""
    return [
        [
            "".join(t.text or "" for t in cell.iter(f"{W}t"))
            for cell in row.iter(f"{W}tc")
        ]
        for row in table.iter(f"{W}tr")
    ]


def test_tables_and_pictures_arrive_in_word(markdown: Path, tmp_path: Path) -> None:
    text = markdown.read_text("utf-8")
    with converted(markdown, tmp_path / "out.docx") as word:
        root = ElementTree.fromstring(word.read("word/document.xml"))
        media = [n for n in word.namelist() if n.startswith("word/media/")]
        assert all(word.read(name)[:4] == b"\x89PNG" for name in media)
    assert len(media) == len(list(root.iter(f"{W}drawing"))) == text.count("![") == 4
    tables = [cells(one) for one in root.iter(f"{W}tbl")]
    heads = re.findall(r"(?m)^\|( :-- \|)+$", text)
    assert len(tables) == len(heads) > 4
    metrics = next(one for one in tables if one[0][0] == "metric")
    assert metrics == [
        [cell.replace("\\", "").strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"(?m)^\| (?:metric|RMSE|MAE|R²).*$", text)
    ]
    checklist = next(one for one in tables if one[0][0] == "item")
    assert [row[0] for row in checklist[1:4]] == ["1", "2", "3a"]
    styles = [one.get(f"{W}val") for one in root.iter(f"{W}pStyle")]
    assert styles.count("Heading1") == 1
    assert styles.count("Heading2") == text.count("\n## ")
    assert "SourceCode" in styles


def test_labels_that_mean_harm_arrive_as_text(tmp_path: Path) -> None:
    rows = tuple((str(k), parts.Said(one)) for k, one in enumerate(HOSTILE))
    report = parts.Report(
        "Labels",
        "All of them",
        (
            parts.Section(
                HOSTILE[0],
                items=tuple(parts.Said(one) for one in HOSTILE),
                tables=(parts.ReportTable("Labels", ("", "label"), rows),),
                code=tuple(HOSTILE),
            ),
        ),
    )
    path = page.write_report(report, tmp_path / "out.md")
    with converted(path, tmp_path / "out.docx") as word:
        assert not [n for n in word.namelist() if n.startswith("word/media/")]
        root = ElementTree.fromstring(word.read("word/document.xml"))
        relations = word.read("word/_rels/document.xml.rels").decode()
    assert "hyperlink" not in relations
    (table,) = (cells(one) for one in root.iter(f"{W}tbl"))
    assert [row[1] for row in table[1:]] == [page.visible(one) for one in HOSTILE]
