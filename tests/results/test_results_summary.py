"""Summaries as HTML and LaTeX, with a chosen number of decimals."""

import re

import pytest

import statcv as scv
from statcv.errors import ArgumentError


@pytest.fixture(scope="module")
def result():
    return scv.cv("GRADE ~ GPA + TUCE", scv.load_data("spector"), seed=1)


@pytest.fixture(scope="module")
def comparison(result):
    return scv.compare(small=result, large=result.update(". ~ . + PSI"))


def test_digits_are_those_asked_for(result):
    for digits in (0, 1, 5):
        summary = result.summary(digits=digits)
        for name, table in summary.tables.items():
            shown = next(s for key, s in summary.shown.items() if key.startswith(name))
            names = {"estimate": "estimate (95% CI)", "final": "final model"}
            for column, heading in names.items():
                if column in table:
                    numbers = shown[heading].str.partition(" (")[0]
                    expected = [f"{v + 0.0:.{digits}f}" for v in table[column]]
                    assert numbers.tolist() == [
                        text.replace("-0" if digits == 0 and text == "-0" else "~", "0")
                        for text in expected
                    ]


def test_tables_can_be_given_to_other_software(result):
    summary = result.summary()
    table = summary.tables["Metrics"].round(2).reset_index(names="metric")
    assert table.columns.is_unique
    assert all(isinstance(name, str) for name in table.columns)
    assert table["metric"].tolist() == result.metrics()["metric"].tolist()
    found = table.set_index("metric")["estimate"]
    assert found["auroc"] == round(float(result.estimate("auroc")), 2)


def test_digits_of_a_comparison(comparison):
    summary = comparison.summary(digits=2)
    estimates, differences = (
        table.iloc[:, 0].str.partition(" (")[0] for table in summary.shown.values()
    )
    for value, text in zip(comparison.table["estimate"], estimates, strict=True):
        assert text == f"{value:.2f}"
    rounded = [float(text) for text in estimates]
    assert float(differences.iloc[0]) == pytest.approx(rounded[1] - rounded[0])


@pytest.mark.parametrize("digits", [-1, 2.5, 13, "two"])
def test_other_digits_are_errors(result, comparison, digits):
    for one in (result, comparison):
        with pytest.raises(ArgumentError, match="digits must be an integer"):
            one.summary(digits=digits)


def test_html_has_every_table_and_note(result, comparison):
    for summary in (result.summary(), comparison.summary()):
        html = summary.to_html()
        assert html == summary._repr_html_()
        assert html.count("<caption>") == len(summary.shown)
        assert html.count("<li>") == len(summary.notes)


def test_one_table_of_latex_has_a_caption(result):
    summary = result.summary()
    text = summary.to_latex("Held-out metrics, 100% of them", label="tab:cv")
    assert text.startswith("\\begin{table}")
    assert text.endswith("\\end{table}")
    assert "\\caption{Held-out metrics, 100\\% of them}" in text
    assert text.index("\\caption") < text.index("\\label{tab:cv}")
    assert text.count("tabular}") == 2
    rows = re.search(r"midrule\n(.*)\\bottomrule", text, re.S).group(1)
    assert rows.count("\\\\") == len(summary.tables["Metrics"])
    other = summary.to_latex("Coefficients.", table="Coefficients")
    assert "GPA" in other
    assert "auROC &" not in other


def test_requests_for_latex_that_mean_nothing_are_errors(result):
    summary = result.summary()
    with pytest.raises(ArgumentError, match="is for a single table"):
        summary.to_latex(label="tab:cv")
    with pytest.raises(ArgumentError, match="the tables are 'Metrics"):
        summary.to_latex("A table.", table="coefs")


def test_the_summary_and_the_curve_have_one_aupr():
    result = scv.cv("y ~ x1", scv.load_data("ehr")[:150], seed=1)
    found = result.estimate("auprc")
    assert found.how == "pooled"
    assert result.metrics().set_index("metric")["estimate"]["auprc"] == found.value
    held = result.predictions
    assert found.value == scv.metrics.auprc(held["observed"], held["predicted"])
    assert f"auPR {found.value:.2f}" in legend_of(scv.plots.plot_pr(result))


def legend_of(ax):
    return " ".join(text.get_text() for text in ax.get_legend().get_texts())


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_equal_class_shares_are_told_of_where_they_matter():
    data = scv.load_data("spector")
    said = "Every training set has the same share of events"
    for scheme, told in (("stratified_kfold", 1), ("kfold", 0), ("rloocv", 1)):
        result = scv.cv("GRADE ~ GPA", data, scheme=scheme, seed=1)
        assert (said in " ".join(result.summary(notes=True).notes)) == told


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_metrics_of_log_odds_mean_little_where_fits_separate_the_classes():
    data = scv.load_data("spector")
    data["sign"] = (data["GRADE"] - 0.5) * data["TUCE"]
    apart = scv.cv("GRADE ~ sign", data, k=4, seed=1)
    assert apart.held.separated.any()
    told = " ".join(str(apart.summary()).split())
    assert "separate the classes" in told
    assert "values and intervals of calibration slope" in told
    assert "log-loss mean little" in told
    ranked = scv.cv("GRADE ~ sign", data, k=4, seed=1, metrics=["auroc"])
    told = " ".join(str(ranked.summary()).split())
    assert "separate the classes" in told
    assert "mean little" not in told
