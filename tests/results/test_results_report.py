"""Reports: every number comes from the result, and no label can do harm."""

from __future__ import annotations

import ast
import configparser
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.results.report import page, parts, result_report
from statcv.results.report.checklists import TRIPOD, item_number, tripod_answers
from statcv.results.report.pictures import draw, inline_svg
from statcv.results.result import CVResult

ROOT = Path(__file__).parents[2]
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Reads the elements of a page, with those that name an expression."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[tuple[str, str | None, str]] = []
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.text = ""
        self._buffer: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag in VOID:
            return
        self.open.append((tag, given))
        if tag == "table":
            self.tables.append((given.get("data-api") or "", []))
        if tag == "tr":
            self.tables[-1][1].append([])
        if tag in ("td", "th"):
            self.tables[-1][1][-1].append("")
        if tag in ("data", "span") and "data-api" in given:
            self.said.append((str(given["data-api"]), given.get("value"), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        inside = [tag for tag, _ in self.open]
        if "style" in inside or "title" in inside:
            return
        self.text += data
        if self.open and self.open[-1][0] in ("data", "span"):
            api, value, text = self.said[-1]
            self.said[-1] = (api, value, text + data)
        if "td" in inside or "th" in inside:
            self.tables[-1][1][-1][-1] += data


@pytest.fixture(scope="module")
def res() -> CVResult:
    df = scv.load_data("spector")
    df.loc[3, "TUCE"] = np.nan
    with pytest.warns(scv.errors.MissingDataWarning):
        return scv.cv("GRADE ~ GPA + TUCE", df, seed=1)


@pytest.fixture(scope="module")
def html(res: CVResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "out.html"
    assert res.report(path, style="tripod+ai") == path
    return path.read_text("utf-8")


# ---- numbers ----


def follow(api: str, text: str, value: str | None, res: Any) -> None:
    """Check that a text is what an expression of the result gives."""
    found = eval(api, {"res": res, "int": int, "len": len, "set": set})
    if value is None:
        assert page.visible(str(found)) == text, api
        return
    assert float(value) == float(found), api
    places = len(text.partition(".")[2])
    assert float(text.replace("−", "-")) == pytest.approx(
        float(found), abs=0.5000001 * 10**-places
    )


def test_every_number_comes_from_the_result(res: CVResult, html: str) -> None:
    read = Page(html)
    assert len(read.said) > 40
    for api, value, text in read.said:
        follow(api, text, value, res)
    whole = [(api, rows) for api, rows in read.tables if api]
    assert len(whole) == 2  # metrics and coefficients
    for api, rows in whole:
        shown = eval(api, {"res": res})
        assert [row[1:] for row in rows[1:]] == shown.astype(str).to_numpy().tolist()
        assert [row[0] for row in rows[1:]] == [str(name) for name in shown.index]


def test_the_paragraph_has_no_number_of_its_own(res: CVResult) -> None:
    """Digits in prose are those of the result, of references or of names."""
    made = result_report(res, "tripod+ai", None, 0.95)
    methods = next(one for one in made.sections if one.title == "Methods")
    for prose in methods.prose:
        own = "".join(part for part in prose if isinstance(part, str))
        own = re.sub(r"\[[\d, ]+\]", "", own).replace("GRADE = 1", "")
        assert not re.search(r"\d", own)
    kept = {
        int(n) for item in methods.items for n in re.findall(r"^\[(\d+)\]", item.text)
    }
    text = "".join(p for prose in methods.prose for p in prose if isinstance(p, str))
    cited = {
        int(n) for group in re.findall(r"\[([\d, ]+)\]", text) for n in group.split(",")
    }
    assert cited == kept


def test_the_sentence_states_estimate_interval_folds_and_events(res: CVResult) -> None:
    one, said = res.estimate(level=0.9), res.sentence(0.9)
    for text in (f"{one.value:.3f}", f"{one.lower:.3f} to {one.upper:.3f}", "90%"):
        assert text in said
    assert res.plan.sentence in said
    assert f"of 31 records with {int(res.design.y.sum())} events (GRADE = 1)." in said


def test_the_data_flow_adds_up(res: CVResult, html: str) -> None:
    rows = {r[0]: r[1] for _, t in Page(html).tables for r in t if len(r) == 2}
    assert rows["rows given"] == "32"
    assert rows["rows left out as incomplete"] == "1"
    assert rows["missing in TUCE"] == "1"
    assert rows["records used"] == "31"
    assert int(rows["GRADE = 0"]) + int(rows["GRADE = 1 (positive)"]) == 31


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


def test_the_same_call_gives_the_same_bytes(tmp_path: Path) -> None:
    def written(name: str) -> list[bytes]:
        df = scv.load_data("spector")
        made = scv.cv("GRADE ~ GPA", df, seed=3)
        made.report(tmp_path / f"{name}.html", style="probast+ai")
        made.report(tmp_path / f"{name}.html", style="probast+ai")
        return [(tmp_path / f"{name}.html").read_bytes()]

    one, two = written("a"), written("b")
    assert one == two
    assert str(tmp_path).encode() not in one[0]
    assert not re.search(rb"\b20[2-9]\d-\d\d-\d\d|0x[0-9a-f]{6}", one[0])


@pytest.mark.slow
def test_the_replay_makes_the_same_report(res: CVResult, tmp_path: Path) -> None:
    made = result_report(res, "tripod+ai", None, 0.95)
    python, shell = made.sections[-1].code
    ast.parse(python)
    assert shell.startswith("statcv report 'GRADE ~ GPA + TUCE' data.csv --seed 1")
    python = python.replace("report.html", (tmp_path / "again.html").as_posix())
    with pytest.warns(scv.errors.MissingDataWarning):
        exec(python, {"data": res.call.data})
    res.report(tmp_path / "first.html", style="tripod+ai")
    first = (tmp_path / "first.html").read_bytes()
    assert (tmp_path / "again.html").read_bytes() == first


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


@pytest.mark.parametrize("label", most_are_slow(HOSTILE, quick=6))
def test_a_hostile_label_is_text(label: str) -> None:
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
                tables=(parts.Table(label, (label,), ((said,),), label),),
                pictures=(parts.Picture("x", label, label, drawing),),
                code=(label,),
            ),
        ),
    )
    text = page.to_html(made)
    read = check_harmless(text)
    assert shown in read.text
    assert sum(shown in cell for _, t in read.tables for row in t for cell in row) == 2
    markdown, files = page.to_markdown(made, label)
    assert len(files) == 1
    assert not re.search(r"(?<!\\)<", markdown.replace("    " + label, ""))
    assert all(re.fullmatch(r"[\w.-]+", name) for name in files)


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
    assert made.report(tmp_path / "out.md").is_file()


def test_a_picture_has_the_same_bytes_and_its_own_ids() -> None:
    one = parts.Picture("x", "x", "x", lambda ax: ax.plot([0, 1], [1, 2]))
    assert draw(one, "svg") == draw(one, "svg")
    assert draw(one, "png") == draw(one, "png")
    a, b = (set(re.findall(r'id="([^"]+)"', inline_svg(one, n)[1])) for n in "ab")
    assert a
    assert not a & b


# ---- styles ----


def test_tripod_has_27_items_of_which_at_least_15_are_filled(
    res: CVResult, html: str
) -> None:
    assert {item_number(name) for name, _ in TRIPOD} == set(range(1, 28))
    answers = tripod_answers(res, 0.95, None)
    assert set(answers) <= {name for name, _ in TRIPOD}
    filled = {item_number(name) for name in answers}
    assert len(filled) >= 15
    rows = next(t for _, t in Page(html).tables if t[0][0] == "item")
    authors = {row[0] for row in rows[1:] if row[2] == "for the author"}
    assert authors == {name for name, _ in TRIPOD} - set(answers)
    assert f"{len(filled)} of 27 items" in html


def test_clusters_have_estimates_and_heterogeneity(tmp_path: Path) -> None:
    df = scv.load_data("ehr")
    made = scv.cv("y ~ x1 + x2", df, k=5, seed=1)
    path = made.report(tmp_path / "o.html", style="tripod-cluster", by="site")
    read = Page(path.read_text("utf-8"))
    for api, value, text in read.said:
        if "heterogeneity" in api:
            follow(api, text, value, made)
    assert any("heterogeneity" in api for api, _, _ in read.said)
    rows = next(t for _, t in read.tables if t[0][0] == "site")
    own = made.metrics(by="site")
    own = own[own["metric"] == made.chosen_metrics[0].name]
    for row, (_, found) in zip(rows[1:], own.iterrows(), strict=True):
        assert row[0] == str(found["site"])
        assert int(row[1]) == found["n"]
        for cell, name in zip(row[2:], ("estimate", "lower", "upper"), strict=True):
            assert float(cell) == pytest.approx(found[name], abs=6e-3)


def test_probast_states_what_the_result_can_tell(res: CVResult, tmp_path: Path) -> None:
    path = res.report(tmp_path / "o.html", style="probast+ai")
    rows = next(t for _, t in Page(path.read_text()).tables if t[0][0] == "domain")
    assert len(rows) > 6
    rarer = int(min(np.bincount(res.design.y)))
    assert f"{rarer / 2:.1f} records of the rarer class per column" in str(rows)


# ---- other results ----


def test_continuous_outcomes_and_several_classes(tmp_path: Path) -> None:
    df = scv.load_data("spector")
    number = scv.cv("GPA ~ TUCE", df, seed=1).report(tmp_path / "a.html")
    assert number.read_text().count("<svg") == 2
    rng = np.random.default_rng(2)
    three = pd.DataFrame({"y": list("abc") * 20, "x": rng.normal(size=60)})
    made = scv.cv("y ~ x", three, k=3, seed=1)
    text = made.report(tmp_path / "b.html", style="tripod+ai").read_text()
    for api, value, said in Page(text).said:
        follow(api, said, value, made)


def test_a_comparison(tmp_path: Path) -> None:
    df = scv.load_data("spector")
    both = scv.compare(a="GRADE ~ GPA", b=". ~ . + PSI", data=df, seed=1)
    read = Page(both.report(tmp_path / "o.html").read_text())
    for api, value, text in read.said:
        follow(api, text, value, both)
    whole = [(api, rows) for api, rows in read.tables if api]
    for api, rows in whole:
        shown = eval(api, {"res": both})
        assert [row[1:] for row in rows[1:]] == shown.astype(str).to_numpy().tolist()
    assert len(whole) == 2
    assert sum(tag == "svg" for tag, _ in read.tags) == 3


def test_predictions_of_others(tmp_path: Path) -> None:
    df = pd.DataFrame({"ill": [0, 1] * 20, "risk": np.linspace(0.1, 0.9, 40)})
    made = scv.from_predictions(df, observed="ill", predicted="risk")
    text = made.report(tmp_path / "o.html").read_text()
    assert "scv.from_predictions(" in Page(text).text


def test_sites(tmp_path: Path) -> None:
    from statcv import sites

    df = scv.load_data("ehr")
    plan = sites.agree("y ~ x1 + x2", k=3, seed=1)
    data = {str(name): own for name, own in df.groupby("site")}
    made = sites.run(plan, data)
    read = Page(Path(made.report(tmp_path / "o.html")).read_text())
    for api, value, text in read.said:
        follow(api, text, value, made)
    named = {t[0][0] for _, t in read.tables}
    assert {"site", "array", "fold"} <= named
    assert "tau2" in read.text


# ---- Markdown, files and errors ----


def test_markdown_has_its_pictures_beside_it(res: CVResult, tmp_path: Path) -> None:
    text = res.report(tmp_path / "out.md", style="tripod+ai").read_text()
    named = re.findall(r"\]\((.+?\.png)\)", text)
    assert len(named) == 4
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in named)
    for line in text.splitlines():
        if line.startswith("| :--"):
            assert set(line) <= set("| :-")
    assert text.startswith("# Cross-validation of GRADE")
    cells = re.findall(r"(?m)^\| auROC \|(.*)\|$", text)
    shown = res.summary().shown
    assert [c.strip() for c in cells[0].split("|")][:1] == [
        next(iter(shown.values())).loc["auROC", "estimate"]
    ]


def test_a_file_is_replaced(res: CVResult, tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_text("old")
    res.report(str(path))
    assert path.read_text().startswith("<!DOCTYPE html>")


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
    assert config["options.package_data"]["statcv.results.report"] == "templates/*"
    assert "jinja2" in config["options"]["install_requires"]
    folder = ROOT / "statcv" / "results" / "report" / "templates"
    assert {p.name for p in folder.iterdir()} == {"report.html", "report.md"}


def test_the_methods_claim_only_what_was_done(tmp_path):
    data = scv.load_data("spector")
    plain = scv.cv("GRADE ~ GPA", data, k=4, seed=1)
    held = scv.from_predictions(
        plain.predictions, observed="observed", predicted="predicted", fold="fold"
    )
    learnt = plain.update("GRADE ~ scale(GPA)")
    texts = [
        one.report(tmp_path / "report.md", style="tripod+ai").read_text()
        for one in (plain, held, learnt)
    ]
    assert ["We fitted" in text for text in texts] == [True, False, True]
    assert ["were learnt again" in text for text in texts] == [False, False, True]
