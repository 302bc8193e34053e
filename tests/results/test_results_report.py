"""Reports as pages: they need nothing else, and no label can do harm."""

from __future__ import annotations

import configparser
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_page import Page

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.report import page, parts
from statcv.report.checklists import GUIDELINES
from statcv.report.page import draw, inline_svg
from statcv.results.result import CVResult

ROOT = Path(__file__).parents[2]


# ---- the page ----


def test_the_page_needs_nothing_else(html: str) -> None:
    read = Page(html)
    assert not read.open
    assert {tag for tag, _ in read.tags} & {"script", "link", "img", "iframe"} == set()
    for _, given in read.tags:
        assert not any(name.startswith("on") or name == "src" for name in given)
        assert all(
            str(v).startswith("#") for n, v in given.items() if n.endswith("href")
        )
    assert "@import" not in html
    assert all(u.startswith("#") for u in re.findall(r"url\(([^)]*)\)", html))


def test_the_page_is_accessible(html: str) -> None:
    read = Page(html)
    tags = read.tags
    assert dict(tags)["html"] == {"lang": "en"}
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    names = [tag for tag, _ in tags]
    assert names.count("caption") == names.count("table") == len(read.tables)
    assert all(given.get("scope") in ("col", "row") for t, given in tags if t == "th")
    drawn = [given for tag, given in tags if tag == "svg"]
    assert len(drawn) == 4
    ids = [str(given["id"]) for _, given in tags if "id" in given]
    assert len(ids) == len(set(ids))
    for one in drawn:
        assert one["role"] == "img"
        assert set(str(one["aria-labelledby"]).split()) <= set(ids)
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', html))
    assert used <= set(ids)


def luminance(colour: str) -> float:
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_text_has_contrast_in_light_dark_and_print(html: str) -> None:
    modes = re.findall(r":root \{([^}]*)\}", html)
    assert len(modes) == 3
    for mode in modes:
        colours = dict(re.findall(r"--(\w+): (#\w{6})", mode))
        for ground in ("paper", "soft"):
            both = luminance(colours["ink"]), luminance(colours[ground])
            assert (max(both) + 0.05) / (min(both) + 0.05) >= 4.5
    assert "prefers-color-scheme: dark" in html
    assert "size: A4" in html


# ---- labels that mean harm ----

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "&",
    "&lt;b&gt;",
    "]]>",
    "<![CDATA[x",
    "-->",
    "--!>",
    "<!--",
    "</svg><script>alert(1)</script>",
    "</style>",
    "</title>",
    "</pre></code>",
    "</data>",
    "{{7*7}}",
    "{% raw %}",
    "{# c #}",
    "${7*7}",
    "\u202eabc",
    "\u2066abc\u200f",
    "\N{ZERO WIDTH SPACE}x",
    "\N{PILE OF POO}",
    "two\nlines",
    "tab\tand\rreturn",
    r"$\frac$",
    r"$\undefined{$",
    "$$",
    "javascript:alert(1)",
    "[a](javascript:alert(1))",
    "a|b`c`*d*_e_",
    "\x07bell\x1b[31m",
    "url(http://example.org)",
]


def check_harmless(text: str) -> Page:
    read = Page(text)
    assert not read.open
    tags = {tag for tag, _ in read.tags}
    assert not tags & {"script", "img", "iframe", "object", "a"}
    for _, given in read.tags:
        assert not any(name.startswith("on") for name in given)
        assert all(
            str(v).startswith("#") for n, v in given.items() if n.endswith("href")
        )
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200f\x00-\x08\x0e-\x1f]", text)
    assert text.count("<!--") == 0
    return read


def test_there_are_thirty_hostile_labels() -> None:
    assert len(set(HOSTILE)) >= 30


def most_are_slow(labels: list[str], quick: int) -> list[Any]:
    """Leave all but the first labels to the slow tests."""
    slow = [pytest.param(label, marks=pytest.mark.slow) for label in labels[quick:]]
    return [*labels[:quick], *slow]


@pytest.mark.parametrize("label", most_are_slow(HOSTILE, quick=2))
def test_a_hostile_label_is_text(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page.visible(label)

    def drawing(ax: Any) -> None:
        ax.set(title=label, xlabel=label, ylabel=label)
        ax.plot([0, 1], label="x" + label)
        ax.legend()

    said = parts.Said(label, label)
    made = parts.Report(
        label,
        said,
        (
            parts.Section(
                label,
                prose=((label, said),),
                items=(said,),
                tables=(parts.ReportTable(label, (label,), ((said,),), label),),
                pictures=(parts.Picture("x", label, label, drawing),),
                code=(label,),
            ),
        ),
    )
    text = page.to_html(made)
    read = check_harmless(text)
    assert shown in read.text
    assert (
        sum(shown in cell for _, _, t in read.tables for row in t for cell in row) == 2
    )
    monkeypatch.setattr(page, "draw", lambda one, form: b"")
    markdown, files = page.to_markdown(made, label)
    assert len(files) == 1
    assert not re.search(r"(?<!\\)<", markdown.replace("    " + label, ""))
    assert all(re.fullmatch(r"[\w.-]+", name) for name in files)


@pytest.mark.usefixtures("without_drawing")
def test_all_hostile_labels_are_text_in_all_places() -> None:
    said = tuple(parts.Said(one, one) for one in HOSTILE)
    table = parts.ReportTable(said, said, (said, said), HOSTILE[0])
    picture = parts.Picture("x", said, " ".join(HOSTILE), lambda ax: ax)
    section = parts.Section(
        said,
        prose=(tuple(HOSTILE), said),
        items=said,
        tables=(table,),
        pictures=(picture,),
        code=tuple(HOSTILE),
    )
    read = check_harmless(page.to_html(parts.Report(said, said, (section,))))
    shown = [page.visible(one) for one in HOSTILE]
    assert [one[2] for one in read.said[: len(shown)]] == shown
    assert read.tables[0][2][1] == shown
    assert read.titles == ["".join(shown)]


@pytest.mark.parametrize(
    "label", most_are_slow([HOSTILE[0], HOSTILE[1], r"$\frac$", "\u202eabc"], quick=1)
)
def test_hostile_levels_and_columns_of_data(label: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    y = np.where(x + rng.normal(size=60) > 0, label, "other")
    df = pd.DataFrame({label: x, "group": [label, "b", "c"] * 20})
    df["out" + label] = pd.Categorical(y, categories=["other", label])
    formula = f"Q({'out' + label!r}) ~ Q({label!r})"
    made = scv.cv(formula, df, k=3, seed=1)
    path = made.report(tmp_path / "out.html", style="tripod+ai")
    read = check_harmless(path.read_text("utf-8"))
    assert page.visible(label) in read.text


@pytest.mark.usefixtures("without_drawing")
def test_hostile_data_as_markdown(tmp_path: Path) -> None:
    label = HOSTILE[0]
    df = pd.DataFrame({label: np.arange(30.0), "y": [0, 1, 1] * 10})
    made = scv.cv(f"y ~ Q({label!r})", df, k=3, seed=1)
    text = made.report(tmp_path / "out.md").read_text("utf-8")
    prose = "\n".join(one for one in text.splitlines() if one[:4] != "    ")
    assert not re.search(r"(?<!\\)<", prose)


def test_a_picture_has_the_same_bytes_and_its_own_ids() -> None:
    one = parts.Picture("x", "x", "x", lambda ax: ax.plot([0, 1], [1, 2]))
    assert draw(one, "svg") == draw(one, "svg")
    assert draw(one, "png") == draw(one, "png")
    a, b = (set(re.findall(r'id="([^"]+)"', inline_svg(one, n)[1])) for n in "ab")
    assert a
    assert not a & b


# ---- Markdown, files and errors ----


def test_markdown_has_its_pictures_beside_it(
    numeric: tuple[CVResult, str], markdown: Path
) -> None:
    text = markdown.read_text("utf-8")
    named = re.findall(r"\]\((.+?\.png)\)", text)
    assert len(named) == 4
    assert all(
        (markdown.parent / name).read_bytes()[:4] == b"\x89PNG" for name in named
    )
    for line in text.splitlines():
        if line.startswith("| :--"):
            assert set(line) <= set("| :-")
    assert text.startswith("# Cross-validation of GPA")
    cells = re.findall(r"(?m)^\| RMSE \(pooled\) \| ([\d.]+) \(", text)
    assert cells == [f"{float(numeric[0].estimate('rmse')):.2f}"]


@pytest.mark.usefixtures("without_drawing")
def test_a_file_is_replaced(res: CVResult, tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_text("old")
    res.report(str(path))
    first = path.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    res.report(str(path))
    assert path.read_bytes() == first


@pytest.mark.usefixtures("without_drawing")
def test_errors_say_what_to_do(res: CVResult, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"not as '.pdf'"):
        res.report(tmp_path / "out.pdf")
    with pytest.raises(ArgumentError, match=r"does not exist"):
        res.report(tmp_path / "nowhere" / "out.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ArgumentError, match=r"cannot write .*folder\.html"):
        res.report(tmp_path / "folder.html")
    with pytest.raises(ArgumentError, match=r"style must be one of .* Did you mean"):
        res.report(tmp_path / "out.html", style="tripod-ai")
    with pytest.raises(ArgumentError, match=r"needs by="):
        res.report(tmp_path / "out.html", style="tripod-cluster")
    with pytest.raises(ArgumentTypeError, match="not a int"):
        res.report(3)  # type: ignore[arg-type]


def test_templates_are_package_data() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    data = config["options.package_data"]
    assert data["statcv.report"] == "templates/*"
    assert data["statcv"] == "py.typed, *.txt"
    assert data["statcv.cli"] == "*.txt"
    assert "jinja2" in config["options"]["install_requires"]
    folder = ROOT / "statcv" / "report" / "templates"
    lists = {file for one in GUIDELINES.values() for file in one.tables.values()}
    pages = {"report.html", "report.md", "pictures.txt", "works.txt"}
    pages |= {"facts.txt", "heterogeneity.txt", "prose.txt"}
    assert {p.name for p in folder.iterdir()} == pages | lists
