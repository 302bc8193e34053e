"""Tables of results for a paper, against the tables from which they are made."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError, MetricError
from statcv.results.comparison import Comparison
from statcv.results.result import CVResult

CELL = re.compile(r"−?\d+(\.\d+)?( \(−?\d+(\.\d+)? to −?\d+(\.\d+)?\))?")


@pytest.fixture(scope="module")
def res() -> CVResult:
    return scv.cv("y ~ x1 + x2", scv.load_data("ehr")[:300], k=3, seed=1)


@pytest.fixture(scope="module")
def small(res: CVResult) -> CVResult:
    return res.update("y ~ x1")


def as_printed(
    row: Any, digits: int, names: Any = ("estimate", "lower", "upper")
) -> str:
    value, lower, upper = (f"{row[name] + 0.0:.{digits}f}" for name in names)
    text = f"{value} ({lower} to {upper})"
    return re.sub(r"-(?=\d)", "−", re.sub(r"-(0\.0+)(?!\d)", r"\1", text))


def shown(table: Any) -> dict[str, list[str]]:
    return {name: cells for _, name, cells in table.body}


def test_a_cell_is_an_estimate_with_its_interval(res: CVResult) -> None:
    table = scv.table(res, digits=2)
    assert table.head == ["", "Estimate (95% CI)"]
    metrics = res.metrics()
    cells = [cells for (cells,) in shown(table).values()]
    assert cells == [as_printed(row, 2) for _, row in metrics.iterrows()]
    assert not table.notes
    assert "how" not in str(table)
    labels = [name.lower() for name in shown(table)]
    assert labels == [metric.label.lower() for metric in res.chosen_metrics]
    assert list(shown(table))[:3] == ["auROC", "auPR", "Calibration slope"]


def test_decimals_follow_the_standard_error_of_each_metric(res: CVResult) -> None:
    metrics = res.metrics()
    for (cell,), (_, row) in zip(
        shown(scv.table(res)).values(), metrics.iterrows(), strict=True
    ):
        se = (row["upper"] - row["lower"]) / 4
        digits = 2 if 0.01 <= se < 1 else 1 - int(np.floor(np.log10(se))) - (se < 0.1)
        assert cell == as_printed(row, digits)


def test_the_four_methods_write_that_table(res: CVResult) -> None:
    given = {"metrics": ["brier"], "digits": 3, "caption": "A", "label": "b"}
    table = scv.table(res, **given)
    assert res.to_latex(**given) == table.to_latex()
    assert res.to_markdown(**given) == table.to_markdown()
    assert res.to_html(**given) == table.to_html()
    assert list(shown(table)) == ["Brier score"]


def test_level_and_metrics_that_the_result_does_not_show(res: CVResult) -> None:
    table = scv.table(res, metrics="accuracy", level=0.9)
    assert table.head[1] == "Estimate (90% CI)"
    found = res.estimate("accuracy", level=0.9)
    row = {"estimate": found.value, "lower": found.lower, "upper": found.upper}
    assert shown(table) == {"Accuracy": [as_printed(row, 2)]}


def test_results_stand_side_by_side(res: CVResult, small: CVResult) -> None:
    table = scv.table(base=small, full=res, metrics=["auroc", "brier"], digits=3)
    assert table.head == ["Estimate (95% CI)", "base", "full"]
    for place, one in enumerate([small, res]):
        metrics = one.metrics().set_index("metric")
        column = [cells[place] for cells in shown(table).values()]
        expected = [as_printed(metrics.loc[name], 3) for name in ("auroc", "brier")]
        assert column == expected
    same = scv.table({"base": small, "full": res}, metrics=["auroc", "brier"], digits=3)
    assert str(same) == str(table)
    assert scv.table(small, res).head[1:] == ["y ~ x1", "y ~ x1 + x2"]
    assert "2 models in 300 records" in table.caption


def test_groups_are_rows(res: CVResult, small: CVResult) -> None:
    groups = res.metrics(by="site")
    for one in ("auroc", "brier"):
        own = groups[groups["metric"] == one]
        table = scv.table(res, by="site", metrics=one, digits=2)
        assert shown(table) == {
            f"{row['site']} (n = {row['n']})": [as_printed(row, 2)]
            for _, row in own.iterrows()
        }
        assert " by site of the model" in table.caption
    both = scv.table(res, by="site", metrics=["auroc", "brier"])
    below = [below for below, _, _ in both.body]
    assert below == ([False] + [True] * groups["site"].nunique()) * 2
    two = scv.table(a=small, b=res, by="site", metrics="auroc")
    assert {len(cells) for cells in shown(two).values()} == {2}


def test_notes_say_how_metrics_and_intervals_are_computed(res: CVResult) -> None:
    how, interval = scv.table(res, metrics=["auroc", "brier"], notes=True).notes
    assert how.startswith("auROC is the mean over folds; Brier score is computed from")
    assert interval == "95% confidence intervals (CI): infinitesimal jackknife."


def test_the_bootstrap_has_its_two_estimates() -> None:
    data = scv.load_data("spector")
    made = scv.cv("GRADE ~ GPA", data, scheme="bootstrap", repeats=20, seed=1)
    table = scv.table(made, digits=3)
    assert table.head[2:] == [".632", ".632+"]
    row = made.metrics().set_index("metric").loc["auroc"]
    expected = [f"{row[name]:.3f}" for name in ("boot632", "boot632plus")]
    assert shown(table)["auROC"][1:] == expected


# ---- comparisons ----


@pytest.fixture(scope="module")
def both(res: CVResult, small: CVResult) -> Comparison:
    return scv.compare(small=small, full=res)


def test_a_comparison_of_two_has_the_difference_beside_the_second(
    both: Comparison,
) -> None:
    table = scv.table(both, digits=3)
    assert table.head == ["", "auROC (95% CI)", "Difference (95% CI)", "p"]
    rows = shown(table)
    assert rows["small"] == [as_printed(both.table.loc["small"], 3), "", ""]
    difference = both.differences.iloc[0]
    names = ("difference", "lower", "upper")
    assert rows["full"][0] == as_printed(both.table.loc["full"], 3)
    found = rows["full"][1].partition(" ")
    assert found[2] == as_printed(difference, 3, names).partition(" ")[2]
    values = [float(rows[name][0].partition(" ")[0]) for name in ("small", "full")]
    assert float(found[0]) == pytest.approx(values[1] - values[0])
    assert float(rows["full"][2]) == pytest.approx(difference["p"], abs=6e-4)
    assert both.to_markdown(digits=3) == table.to_markdown()


def test_a_comparison_of_three_has_a_row_for_each_pair(
    res: CVResult, small: CVResult
) -> None:
    third = res.update("y ~ x2")
    table = scv.table(scv.compare(a=small, b=res, c=third))
    assert list(shown(table)) == ["a", "b", "c", "b − a", "c − a", "c − b"]
    assert table.head[-1] == "p (Holm)"
    with_reference = scv.table(scv.compare(a=small, b=res, c=third, reference="a"))
    assert list(shown(with_reference)) == ["a", "b", "c"]
    assert [bool(cells[1]) for cells in shown(with_reference).values()] == [0, 1, 1]
    unadjusted = scv.table(scv.compare(a=small, b=res, c=third, adjust="none"))
    assert unadjusted.head[-1] == "p"


def test_notes_of_a_comparison_are_those_of_its_summary(both: Comparison) -> None:
    assert scv.table(both, notes=True).notes == both.summary(notes=True).notes


# ---- other outcomes, and errors ----


def test_every_cell_has_the_same_form(res: CVResult) -> None:
    data = scv.load_data("spector")
    many = scv.cv("PSI ~ GPA", data.assign(PSI=["a", "b", "c", "d"] * 8), k=4, seed=1)
    numeric = scv.cv("GPA ~ TUCE", data, seed=1)
    for one in (res, many, numeric):
        for cells in shown(scv.table(one)).values():
            assert all(CELL.fullmatch(cell) for cell in cells), cells


def test_captions_name_scheme_and_records(res: CVResult) -> None:
    assert scv.table(res).caption == (
        "Performance of the model (logistic regression, unpenalised) in 300 records "
        f"with {int(res.design.y.sum())} events (y = 1), by 3-fold cross-validation, "
        "with classes spread evenly over folds."
    )
    assert r"\caption" not in res.to_latex(caption="")


def test_calls_that_mean_nothing_are_errors(res: CVResult, both: Comparison) -> None:
    with pytest.raises(ArgumentTypeError, match=r"to_latex\(\) has no argument 'foo'"):
        res.to_latex(foo=1)
    with pytest.raises(ArgumentTypeError, match="needs a result"):
        scv.table()
    with pytest.raises(ArgumentTypeError, match="'b' is 3"):
        scv.table(a=res, b=3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="by= means nothing for a comparison"):
        scv.table(both, by="site")
    with pytest.raises(ArgumentError, match="digits must be an integer"):
        scv.table(res, digits=-1)
    with pytest.raises(ArgumentTypeError, match="notes must be"):
        scv.table(res, notes="yes")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="metrics is empty"):
        scv.table(res, metrics=[])
    with pytest.raises(MetricError, match="aurok"):
        scv.table(res, metrics="aurok")
    other = scv.cv("GPA ~ TUCE", scv.load_data("spector"), seed=1)
    with pytest.raises(ArgumentError, match="no metric in common"):
        scv.table(a=res, b=other)
