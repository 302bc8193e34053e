"""Plots, checked by reading the Axes on which they are drawn."""

import warnings

import matplotlib as mpl
import numpy as np
import pytest

import statcv as scv
from statcv.errors import ArgumentError, OutcomeError

mpl.use("Agg")
FORMULA = "GRADE ~ GPA + TUCE + PSI"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def results():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scv.errors.DistributionalBiasWarning)
        rloocv = scv.cv(
            FORMULA, scv.load_data("spector"), scheme="rloocv", repeats=1, seed=1
        )
        return {"loocv": rloocv.update(scheme="loocv"), "rloocv": rloocv}


def curves(ax):
    return [line for line in ax.lines if line.get_gid() == "curve"]


def test_the_area_under_the_drawn_curve_is_the_pooled_auroc(results):
    for result in results.values():
        ax = scv.plots.plot_roc(result)
        (line,) = curves(ax)
        x, y = map(np.asarray, line.get_data())
        area = (np.diff(x) * (y[1:] + y[:-1]) / 2).sum()
        pooled = float(result.estimate("auroc", "pooled"))
        assert area == pytest.approx(pooled)


def test_the_legend_gives_the_headline(results):
    ax = scv.plots.plot_roc(results["rloocv"])
    (said,) = ax.get_legend().get_texts()
    assert said.get_text() == str(results["rloocv"].estimate()).replace("95% CI ", "")


def test_several_curves_share_the_axes(results):
    ax = scv.compare(**results).plot()
    first, second = curves(ax)
    assert first.get_color() != second.get_color()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [label.split(":")[0] for label in labels] == ["loocv", "rloocv"]


def test_the_plots_of_a_comparison_are_chosen_by_name(results):
    compared = scv.compare(**results, test="delong")
    seen = {
        kind: compared.plot(kind)
        for kind in ("roc", "pr", "decision", "difference", "forest")
    }
    assert [len(curves(seen[kind])) for kind in ("roc", "pr", "decision")] == [2] * 3
    assert seen["difference"].get_title().startswith("rloocv minus loocv")
    row = compared.differences.iloc[0]
    (interval,) = [line for line in seen["forest"].lines if line.get_gid()]
    assert list(interval.get_xdata()) == [row["lower"], row["upper"]]
    assert seen["roc"].get_title() == compared.plot().get_title()


def test_options_are_passed_to_the_plot_of_a_comparison(results):
    three = scv.compare(**results, again=results["rloocv"], test="delong")
    ax = three.plot("difference", pair=("loocv", "again"), n_boot=50)
    assert ax.get_title().startswith("again minus loocv")
    same = scv.plots.plot_roc(results["loocv"])
    assert three.plot("roc", same) is same
    with pytest.raises(ArgumentError, match=r"'decision' .* Did you mean 'forest'"):
        three.plot("forrest")


def test_comparisons_of_continuous_outcomes_are_drawn_as_differences():
    numbers = scv.cv("GPA ~ TUCE", scv.load_data("spector"), k=4, seed=1)
    compared = scv.compare(a=numbers, b=numbers.update(formula=". ~ . + PSI"))
    labels = [tick.get_text() for tick in compared.plot().get_yticklabels()]
    assert labels == ["b minus a"]
    with pytest.raises(OutcomeError, match="two classes"):
        compared.plot("roc")


def test_precision_recall_starts_at_one_and_ends_at_the_share_of_positives(results):
    ax = scv.plots.plot_pr(results["rloocv"], method="trapezoid")
    (line,) = curves(ax)
    assert line.get_ydata()[0] == 1
    assert line.get_ydata()[-1] == pytest.approx(11 / 32)
    assert line.get_drawstyle() == "default"
    (line,) = curves(scv.plots.plot_pr(results["rloocv"]))
    assert line.get_ydata()[0] == line.get_ydata()[1]
    assert line.get_drawstyle() == "steps-pre"


def test_predictions_by_class(results):
    ax = scv.plots.plot_predicted(results["rloocv"])
    points = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(line.get_ydata()) for line in points] == [21, 11]
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels == ["0 (n = 21)", "1 (n = 11)"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "held-out prediction",
        "observed GRADE",
    )
    again = scv.plots.plot_predicted(results["rloocv"])
    for line, other in zip(ax.lines, again.lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), other.get_ydata())


def test_points_of_a_class_are_not_ordered_by_their_prediction(results):
    """Spread by rank, they would lie on slanted stripes that look like structure."""
    ax = scv.plots.plot_predicted(results["rloocv"])
    low = next(line for line in ax.lines if line.get_marker() == "o")
    spread, at = np.asarray(low.get_ydata()), np.argsort(low.get_xdata())
    assert np.abs(spread).max() <= 0.15
    assert abs(np.corrcoef(spread[at][1:], spread[at][:-1])[0, 1]) < 0.5


def test_training_means_fall_under_loocv_and_are_constant_under_rloocv(results):
    means = {}
    for name, result in results.items():
        (points,) = scv.plots.plot_bias(result).collections
        places = np.asarray(points.get_offsets())
        means[name] = dict(zip(places[:, 0], places[:, 1], strict=True))
    assert means["loocv"][0] == pytest.approx(11 / 31)
    assert means["loocv"][1] == pytest.approx(10 / 31)
    assert means["rloocv"][0] == means["rloocv"][1] == pytest.approx(10 / 30)


def test_panel(results, tmp_path):
    axes = results["rloocv"].plot()
    assert axes.shape == (2, 2)
    figure = axes[0, 0].figure
    figure.savefig(tmp_path / "panel.png")
    assert (tmp_path / "panel.png").read_bytes().startswith(b"\x89PNG")
    numbers = scv.cv("GPA ~ TUCE + PSI", scv.load_data("spector"), k=4, seed=1)
    titles = [ax.get_title() for ax in numbers.plot().flat]
    assert titles[0] == "Observed against predicted"
    assert titles[1:] == ["Calibration in 6 groups", "Errors by prediction", "Errors"]


def test_each_repeat_is_one_line():
    res = scv.cv("GRADE ~ GPA", scv.load_data("spector"), k=4, repeats=5, seed=1)
    _chance, *lines = scv.plots.plot_roc(res).lines
    assert len(lines) == 5
    assert [line.get_gid() for line in lines] == ["curve"] + [None] * 4


def test_an_outcome_without_two_classes_raises_an_error():
    numbers = scv.cv("GPA ~ TUCE", scv.load_data("spector"), k=4, seed=1)
    with pytest.raises(OutcomeError, match="GPA"):
        scv.plots.plot_roc(numbers)
    with pytest.raises(OutcomeError, match="two classes"):
        scv.plots.plot_pr(numbers)
