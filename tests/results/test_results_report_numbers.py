"""Every number of a report comes from the result, and code makes it again."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from report_page import Page, check_numbers

import statcv as scv
from statcv.errors import ArgumentError, StatcvWarning
from statcv.plots.referee import against_others
from statcv.report import result_report
from statcv.report.checklists import GUIDELINES, Item
from statcv.report.contents import comparison_report, pictures_section
from statcv.results.comparison import Comparison
from statcv.results.result import CVResult

Report = tuple[Any, str]
Write = Callable[..., str]


# ---- numbers ----


def test_every_number_comes_from_the_result(res: CVResult, html: str) -> None:
    read = check_numbers(html, res)
    assert len(read.said) > 100
    assert not any(api for api, _, _ in read.tables)  # each cell names its own
    metrics = res.metrics()
    for row, (_, one) in zip(read.rows("metric")[1:], metrics.iterrows(), strict=True):
        assert row[0].endswith(f"({one['how'].replace('_', ' ')})")
        for text, name in zip(
            re.findall(r"−?[\d.]+", row[1]), ("estimate", "lower", "upper"), strict=True
        ):
            assert float(text.replace("−", "-")) == pytest.approx(one[name], abs=6e-3)


def test_every_number_of_clusters_comes_from_the_result(clustered: Report) -> None:
    made, text = clustered
    read = check_numbers(text, made)
    found = made.heterogeneity(by="site")
    for name in ("estimate", "lower", "upper", "tau2", "i2", "p_heterogeneity"):
        api = f"res.heterogeneity(by='site', level=0.95).{name}"
        if name in ("estimate", "lower", "upper"):
            api = f"vars(res.heterogeneity(by='site', level=0.95))[{name!r}]"
        values = [one[1] for one in read.said if one[0] == api]
        assert set(values) == {repr(float(getattr(found, name)))}
    own = made.metrics(by="site")
    own = own[own["metric"] == made.chosen_metrics[0].name]
    for row, (_, one) in zip(read.rows("site")[1:], own.iterrows(), strict=True):
        assert row[:2] == [str(one["site"]), str(one["n"])]
        assert row[2] == (
            f"{one['estimate']:.2f} ({one['lower']:.2f} to {one['upper']:.2f})"
        )


def test_every_number_of_clusters_given_as_an_array(
    clustered: Report, quiet: Write
) -> None:
    made, _ = clustered
    by = scv.load_data("ehr")["site"].to_numpy()
    text = quiet(made, style="tripod-cluster", by=by, level=0.9)
    check_numbers(text, made, by=by)


def test_two_groups_are_compared_and_not_combined(
    clustered: Report, quiet: Write
) -> None:
    made, _ = clustered
    by = np.where(scv.load_data("ehr")["x1"] > 0, "high", "low")
    text = quiet(made, style="tripod+ai", by=by)
    read = check_numbers(text, made, by=by)
    found = made.compare_groups(made.chosen_metrics[0], by=by)
    row = read.rows("second")[1]
    assert row[:2] == ["low", "high"]
    shown = row[2].partition(" ")[0].replace("−", "-")
    assert float(shown) == pytest.approx(found["difference"].item(), abs=6e-3)
    assert "I²" not in text


def test_every_number_of_other_outcomes(numeric: Report, several: Report) -> None:
    check_numbers(numeric[1], numeric[0])
    check_numbers(several[1], several[0])


def test_every_number_of_questions_on_bias(
    res: CVResult, several: Report, numeric: Report, quiet: Write
) -> None:
    for made in (res, several[0], numeric[0]):
        check_numbers(quiet(made, style="probast+ai", level=0.8), made)


def test_every_number_of_a_comparison(of_comparison: Report, quiet: Write) -> None:
    made, text = of_comparison
    read = check_numbers(text, made)
    assert sum(tag == "svg" for tag, _ in read.tags) == 3
    check_numbers(quiet(made, style="probast+ai"), made)


def test_every_number_of_sites(over_sites: Report) -> None:
    made, text = over_sites
    read = check_numbers(text, made)
    named = {rows[0][0] for _, _, rows in read.tables}
    assert {"site", "array", "fold", "term"} <= named
    assert "tau²" in read.text
    assert len(read.said) > 200


def test_every_number_of_predictions_of_others(quiet: Write) -> None:
    df = pd.DataFrame({"ill": [0, 1] * 20, "risk": np.linspace(0.1, 0.9, 40)})
    made = scv.from_predictions(df, observed="ill", predicted="risk")
    for style in (None, "tripod+ai", "probast+ai"):
        text = quiet(made, style=style)
        check_numbers(text, made)
    assert "scv.from_predictions(" in Page(text).code


def test_every_number_of_a_tuned_and_rebalanced_result(quiet: Write) -> None:
    df = scv.load_data("ehr").head(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        made = scv.cv(
            "y ~ scale(x1) + x2",
            df,
            tune={"C": [0.1, 1.0]},
            k=3,
            rebalance="subsample",
            threshold="youden",
            stratify="site",
            seed=1,
        )
    for style in ("tripod+ai", "probast+ai"):
        text = quiet(made, style=style)
        check_numbers(text, made)
        assert "subsample" in text


def intervals(read: Page) -> dict[str, set[str]]:
    """Return the intervals that a page shows for each number, as they are shown."""
    found: dict[str, set[str]] = {}
    shown, value = "", ""
    for api, number, text in read.said:
        if re.search(r"(\.value|'estimate'\]|'difference'\])$", api):
            shown, value = text, number
        elif re.search(r"(\.lower|'lower'\])$", api):
            lower = text
        elif re.search(r"(\.upper|'upper'\])$", api):
            found.setdefault(value, set()).add(f"{shown} ({lower} to {text})")
    return found


def test_no_number_has_two_intervals(
    html: str, clustered: Report, numeric: Report, of_comparison: Report
) -> None:
    for text in (html, clustered[1], numeric[1], of_comparison[1]):
        read = Page(text)
        found = intervals(read)
        assert len(found) > 2
        assert {len(own) for own in found.values()} == {1}
        heads = {str(cell) for _, _, rows in read.tables for cell in rows[0]}
        assert not heads & {"lower", "upper", "95% interval"}
    made = clustered[0].estimate()
    assert intervals(Page(clustered[1]))[repr(made.value)] == {
        f"{made.value:.2f} ({made.lower:.2f} to {made.upper:.2f})"
    }


def test_a_number_that_comes_from_nowhere_is_found(res: CVResult, html: str) -> None:
    """The check fails for a digit in prose, in a cell, and for a wrong number."""
    strange = [
        html.replace("the code at the end", "the 3 lines at the end"),
        html.replace("rows given</th>", "32 rows given</th>"),
        html.replace('value="32.0"', 'value="33.0"'),
        html.replace("52 items", "53 items"),
    ]
    for text in strange:
        assert text != html
        with pytest.raises(AssertionError):
            check_numbers(text, res)


def test_the_session_states_what_is_installed(html: str) -> None:
    rows = dict(
        row
        for _, caption, rows in Page(html).tables
        for row in rows
        if caption == "Session"
    )
    for name in ("statcv", "numpy", "jinja2"):
        assert rows[name] == importlib.metadata.version(name)
    assert rows["seed"] == "1"


def test_the_sentence_states_estimate_interval_folds_and_events(res: CVResult) -> None:
    one, said = res.estimate(level=0.9), res.sentence(0.9)
    for text in (f"{one.value:.2f}", f"{one.lower:.2f} to {one.upper:.2f}", "90%"):
        assert text in said
    events = int(res.design.y.sum())
    assert f"in 31 records with {events} events (GRADE = 1), by 10-fold cross-" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"scheme": "rloocv", "repeats": 3},
            "rebalanced leave-one-out cross-validation, with 3 draws.",
        ),
        (
            {"scheme": "kfold", "k": 5, "repeats": 2, "stratify": "TUCE"},
            "5-fold cross-validation, repeated 2 times, with records with equal TUCE "
            "kept together (14 clusters).",
        ),
        (
            {"scheme": "kfold", "k": 3, "stratify": scv.by_quantile("GPA")},
            "cross-validation (3 quantile bins of GPA",
        ),
        ({"scheme": "bootstrap", "repeats": 9}, "cross-validation (a bootstrap"),
    ],
)
def test_the_sentence_says_the_scheme(given, said) -> None:
    data = scv.load_data("spector")
    made = scv.cv("GRADE ~ PSI", data, model=scv.models.Logit(C=1.0), seed=1, **given)
    assert f", by {said}" in made.sentence()


def test_the_data_flow_adds_up(res: CVResult, html: str) -> None:
    rows = {r[0]: r[1] for _, _, t in Page(html).tables for r in t if len(r) == 2}
    assert rows["rows given"] == "32"
    assert rows["rows omitted as incomplete"] == "1"
    assert rows["missing in TUCE"] == "1"
    assert rows["records used"] == "31"
    assert int(rows["GRADE = 0"]) + int(rows["GRADE = 1 (positive)"]) == 31


def test_the_records_are_described_by_outcome_or_by_cluster(
    res: CVResult, html: str, clustered: Report, quiet: Write
) -> None:
    for made, text, by in ((res, html, "outcome"), (*clustered, "site")):
        read = Page(text)
        table = scv.table1(made, by=by)
        rows = next(own for _, said, own in read.tables if "Characteristics" in said)
        assert rows[0][1:] == table.head[1:]
        expected = [
            [f"– {n}" if below else n, *cells] for below, n, cells in table.body
        ]
        assert [[cell.strip() for cell in row] for row in rows[1:]] == expected
        items = {row[0]: row[2] for row in read.rows("item")[1:]}
        described = items["20b" if by == "outcome" else "10b"]
        assert described.startswith("see the table of characteristics")
    many = {f"x{k}": np.arange(100.0) % (k + 2) for k in range(70)}
    data = pd.DataFrame({**many, "y": [0, 1] * 50})
    made = scv.cv("y ~ .", data, model=scv.models.Logit(C=1.0), k=3, seed=1)
    assert "Characteristics" not in quiet(made)


# ---- methods and checklists ----


def test_every_reference_is_cited_and_every_citation_has_one(res: CVResult) -> None:
    made = result_report(res, "tripod+ai", None, 0.95)
    methods = next(one for one in made.sections if one.title == "Methods")
    kept = {int(n) for item in methods.items for n in re.findall(r"^\[(\d+)\]", item)}
    text = "".join(p for prose in methods.prose for p in prose if isinstance(p, str))
    cited = {
        int(n) for group in re.findall(r"\[([\d, ]+)\]", text) for n in group.split(",")
    }
    assert cited == kept


def test_the_methods_claim_only_what_was_done(res: CVResult, quiet: Write) -> None:
    held = scv.from_predictions(
        res.predictions, observed="observed", predicted="predicted", fold="fold"
    )
    learnt = scv.cv("GRADE ~ scale(GPA)", scv.load_data("spector"), k=4, seed=1)
    texts = [Page(quiet(one, style="tripod+ai")).text for one in (res, held, learnt)]
    assert ["We fitted" in text for text in texts] == [True, False, True]
    assert ["were learnt again" in text for text in texts] == [False, False, True]
    assert ["internal validation by" in text for text in texts] == [True, False, True]
    assert ["no model was updated" in text for text in texts] == [True, False, True]


def filled(text: str) -> list[set[str]]:
    """Return the names of the items that a page fills, one set per list."""
    return [
        {row[0] for row in rows[1:] if row[2] != "for the author"}
        for _, _, rows in Page(text).tables
        if rows[0][0] == "item"
    ]


def items_of(style: str) -> list[tuple[Item, ...]]:
    """Return the lists of items of a guideline."""
    return [items for _, items in GUIDELINES[style].lists]


def numbers_of(items: tuple[Item, ...]) -> set[str]:
    """Return the numbers of items, without the letters of parts."""
    return {one.name.rstrip("abcdefg") for one in items}


def test_tripod_has_52_items_of_which_at_least_24_are_filled(html: str) -> None:
    (items,) = items_of("tripod+ai")
    assert numbers_of(items) == set(map(str, range(1, 28)))
    assert len(items) == 52
    (own,) = filled(html)
    assert len(own) >= 24
    assert f"{len(own)} of 52 items and sub-items" in html


def test_tripod_cluster_has_37_items_of_which_most_are_filled(
    clustered: Report,
) -> None:
    (items,) = items_of("tripod-cluster")
    assert numbers_of(items) == set(map(str, range(1, 20)))
    assert len(items) == 37
    (own,) = filled(clustered[1])
    assert len(own) >= 20
    assert f"{len(own)} of 37 items and sub-items" in clustered[1]
    assert {"8f", "10a", "13a", "13b"} <= own  # items about clusters


def test_probast_has_16_and_18_questions(res: CVResult, quiet: Write) -> None:
    assert [*map(len, items_of("probast+ai"))] == [16, 18]
    text = quiet(res, style="probast+ai")
    of_development, of_evaluation = filled(text)
    assert len(of_development) >= 6
    assert len(of_evaluation) >= 8
    rarer = int(min(np.bincount(res.design.y)))
    assert f"{rarer / 2:.1f} records of the rarer class per column" in Page(text).text


def test_a_checklist_names_the_official_list(
    html: str, clustered: Report, of_comparison: Report
) -> None:
    for text, doi in (
        (html, "10.1136/bmj-2023-078378"),
        (clustered[1], "10.1136/bmj-2022-071018"),
        (of_comparison[1], "10.1136/bmj-2023-078378"),
    ):
        assert doi in text
        assert "the official list is binding" in text


def test_answers_of_a_comparison_are_joined_where_they_differ(
    of_comparison: Report,
) -> None:
    rows = {row[0]: row[2] for row in Page(of_comparison[1]).rows("item")[1:]}
    assert rows["9b"] == (
        "a: GRADE ~ GPA; the measurement is for the author; "
        "b: GRADE ~ GPA + PSI; the measurement is for the author"
    )
    assert rows["12a"] == of_comparison[0].results["a"].plan.sentence
    assert "compared by" in rows["12e"]


def test_clusters_are_for_one_result(compared: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "o.html"
    with pytest.raises(ArgumentError, match=r"one result.*res\.results\['a'\]"):
        compared.report(path, style="tripod-cluster")
    with pytest.raises(ArgumentError, match=r"style must be one of"):
        compared.report(path, style="tripod")
    assert not path.exists()


# ---- warnings and pictures ----


def test_the_warnings_of_the_call_are_listed(
    res: CVResult, html: str, numeric: Report, of_comparison: Report
) -> None:
    read = Page(html)
    assert len(res.warnings) == 1
    assert ["res.warnings[0]", None, res.warnings[0]] in read.said
    assert "The call gave no warning." not in read.text
    assert "The call gave no warning." in Page(numeric[1]).text
    found = [one for one in Page(of_comparison[1]).said if ".warnings[" in one[0]]
    assert not found  # the formulas were fitted on complete rows


def test_the_warnings_of_each_result_of_a_comparison_are_listed(quiet: Write) -> None:
    df = scv.load_data("spector")
    made = scv.cv("GRADE ~ GPA", df, k=4, metrics="auroc", seed=1)
    with pytest.warns(scv.errors.DistributionalBiasWarning):
        loocv = made.update(scheme="loocv", k=None)
    text = quiet(scv.compare(a=made, b=loocv))
    said = [one for one in Page(text).said if ".warnings[" in one[0]]
    assert said == [["res.results['b'].warnings[0]", None, loocv.warnings[0]]]


def test_every_picture_can_be_drawn(
    numeric: Report, several: Report, compared: Comparison
) -> None:
    sections = [
        pictures_section(numeric[0], 0.95),
        pictures_section(several[0], 0.95),
        comparison_report(compared).sections[2],
    ]
    drawn = [one for section in sections for one in section.pictures]
    assert len(drawn) == 4 + 4 + 3
    for one in drawn:
        ax = Figure().subplots()
        one.draw(ax=ax)
        assert ax.has_data()


def test_the_pictures_are_those_of_plot(
    res: CVResult, numeric: Report, several: Report
) -> None:
    for made in (res, numeric[0], several[0]):
        axes = made.plot()
        for ax, one in zip(
            axes.flat, pictures_section(made, 0.95).pictures, strict=True
        ):
            own = Figure().subplots()
            one.draw(ax=own)
            names = ("get_xlabel", "get_ylabel")
            labels = [getattr(own, name)() for name in names]
            assert labels == [getattr(ax, name)() for name in names]
            assert own.get_title().startswith(ax.get_title())
            assert len(own.lines) == len(ax.lines)
        plt.close(axes[0, 0].figure)


def test_continuous_outcomes_have_four_pictures(numeric: Report) -> None:
    assert numeric[1].count("<svg") == 4
    assert "are for classes" in numeric[1]


def test_the_panel_of_several_classes_draws_each_against_the_others(
    several: Report,
) -> None:
    axes = several[0].plot()
    titles = [ax.get_title() for ax in axes.flat]
    assert titles == [
        "ROC, each class against the others",
        "Calibration, each class against the others",
        "Records by observed and predicted class",
        "Risks by outcome",
    ]
    assert len(axes[0, 0].get_legend().get_texts()) == 3
    counts = [int(text.get_text()) for text in axes[1, 0].texts]
    assert len(counts) == 9
    assert sum(counts) == several[0].scores.n_held_out
    plt.close(axes[0, 0].figure)


def test_several_classes_have_four_pictures(several: Report) -> None:
    read = Page(several[1])
    assert read.titles == [
        "ROC curves, each class against the others",
        "Calibration, each class against the others",
        "Observed and predicted classes",
        "Predictions of the observed class",
    ]
    assert "Net benefit is defined for two classes" in read.text


def test_a_class_against_the_others_has_the_metrics_of_a_binary_outcome(
    several: Report,
) -> None:
    made, _ = several
    table = made.predictions
    for code, level in enumerate("abc"):
        one = against_others(made, code)
        own = (table["observed"] == level).to_numpy()
        given = table[f"predicted_{level}"].to_numpy()
        apart = given[own][:, None] - given[~own]
        pairs = (apart > 0).mean() + (apart == 0).mean() / 2
        assert float(one.estimate("auroc", how="pooled")) == pytest.approx(pairs)
        assert (
            one.design.outcome.describe()
            == f"{level} (20) against others (40); {level} is positive"
        )


def test_many_classes_have_no_curve_each(quiet: Write) -> None:
    rng = np.random.default_rng(1)
    df = pd.DataFrame({"y": list("abcdefghi") * 10, "x": rng.normal(size=90)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        made = scv.cv("y ~ x", df, k=3, seed=1)
        text = quiet(made)
    assert text.count("<svg") == 4
    assert "neither ROC curves nor calibration are drawn" in text


# ---- replay ----


def run(code: str, path: Path, data: pd.DataFrame) -> bytes:
    """Run code of a report, and return the report that it writes."""
    ast.parse(code)
    code = code.replace("report.html", path.as_posix())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        exec(code, {"data": data})
    return path.read_bytes()


def test_the_replay_makes_the_same_report(
    res: CVResult, html: str, tmp_path: Path
) -> None:
    made = result_report(res, "tripod+ai", None, 0.95)
    python, shell = made.sections[-1].code
    assert shell.startswith("statcv report 'GRADE ~ GPA + TUCE' data.csv --seed 1")
    again = run(python, tmp_path / "again.html", res.call.data)
    assert again == html.encode()
    assert str(tmp_path).encode() not in again
    assert not re.search(rb"\b20[2-9]\d-\d\d-\d\d|0x[0-9a-f]{6}", again)


@pytest.mark.usefixtures("without_drawing")
def test_the_replay_of_a_comparison_makes_the_same_report(
    of_comparison: Report, tmp_path: Path
) -> None:
    made, text = of_comparison
    (python,) = comparison_report(made, "tripod+ai").sections[-1].code
    data = scv.load_data("spector")
    data.loc[3, "PSI"] = np.nan
    assert run(python, tmp_path / "again.html", data) == text.encode()


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reference": "null", "metric": "brier", "level": 0.9},
        {"test": "permutation", "n_permutations": 99, "seed": 4, "adjust": "bh"},
    ],
)
def test_the_replay_of_given_results(
    options: dict[str, Any], quiet: Write, tmp_path: Path
) -> None:
    df = scv.load_data("spector")
    small = scv.cv("GRADE ~ GPA", df, k=4, seed=2)
    made = scv.compare(small, small.update(". ~ . + PSI"), **options)
    (python,) = comparison_report(made).sections[-1].code
    assert run(python, tmp_path / "a.html", df) == quiet(made).encode()


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    "options",
    [
        {"reference": "null", "how": "pooled"},
        {"scheme": "rloocv", "repeats": 2, "metrics": ["auroc", "brier"]},
        {"rebalance": "subsample", "level": 0.8, "test": "t", "metric": "brier"},
    ],
)
def test_the_replay_of_formulas(
    options: dict[str, Any], quiet: Write, tmp_path: Path
) -> None:
    df = scv.load_data("spector")
    made = scv.compare("GRADE ~ GPA", ". ~ . + PSI", data=df, seed=3, **options)
    (python,) = comparison_report(made).sections[-1].code
    assert run(python, tmp_path / "a.html", df) == quiet(made).encode()


def test_the_replay_names_objects_that_only_the_script_has() -> None:
    df = scv.load_data("spector")

    made = scv.cv("GRADE ~ GPA", df, k=4, seed=2)
    other = made.update(data=df.copy(), weights=np.ones(32))
    (python,) = comparison_report(scv.compare(made, other)).sections[-1].code
    ast.parse(python)
    assert "weights=weights,  # an object of your script" in python
    assert "data_1,  # the data frame of" in python
    assert "data_2,  # the data frame of" in python
