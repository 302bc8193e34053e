"""Plots of calibration, net benefit and risk, checked on their Axes."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ComparisonError,
    MetricError,
    OutcomeError,
    UndefinedMetricWarning,
)
from statcv.metrics import calibration_curve, calibration_groups, net_benefit

mpl.use("Agg")
SPECTOR = scv.load_data("spector")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def result():
    return scv.cv("GRADE ~ GPA + PSI", SPECTOR, scheme="rloocv", repeats=1, seed=1)


@pytest.fixture(scope="module")
def repeated():
    return scv.cv("GRADE ~ GPA + PSI", SPECTOR, k=4, repeats=3, seed=1)


@pytest.fixture(scope="module")
def scored():
    return scv.cv("GRADE ~ GPA + PSI", SPECTOR, model=LinearSVC(), k=4, seed=1)


def curves(ax):
    found = [line for line in ax.lines if line.get_gid() == "curve"]
    return [tuple(map(np.asarray, line.get_data())) for line in found]


def band(ax, number=0):
    vertices = ax.collections[number].get_paths()[0].vertices
    return {tuple(corner) for corner in vertices.round(9).tolist()}


def corners(x, *heights):
    return {
        (round(a, 9), round(b, 9))
        for height in heights
        for a, b in zip(x.tolist(), height.tolist(), strict=True)
        if not np.isnan(b)
    }


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def averaged(result):
    table = result.predictions.groupby("row")[["observed", "predicted"]].mean()
    return table["observed"].to_numpy(), table["predicted"].to_numpy()


def external(y, p):
    table = pd.DataFrame({"y": y, "p": p})
    return scv.from_predictions(table, observed="y", predicted="p")


def clear_of(ax, text):
    """Return whether a text, or the legend, is above or below all observed points."""
    ax.figure.canvas.draw()
    box = text.get_window_extent().transformed(ax.transData.inverted())
    return box.y0 > 1 or box.y1 < ax.get_ylim()[0]


# ---- calibration ----


def test_the_calibration_curve_is_that_of_the_function(result, repeated):
    for one in (result, repeated):
        ax = scv.plots.plot_calibration(one)
        found = calibration_curve(*averaged(one))
        ((x, height),) = curves(ax)
        np.testing.assert_allclose(x, found.predicted)
        np.testing.assert_allclose(height, found.observed)
        drawn = set().union(*(band(ax, k) for k in range(len(ax.collections))))
        assert corners(found.predicted, found.lower, found.upper) <= drawn
        assert found.method in legend(ax)
    assert "averaged over 3 repeats" in ax.get_title()


def test_groups_have_wilson_s_intervals(result):
    ax = scv.plots.plot_calibration(result, level=0.9, groups=4)
    found = calibration_groups(*averaged(result), groups=4, level=0.9)
    (bars,) = ax.containers[:1]
    points, _, (lines,) = bars
    np.testing.assert_allclose(points.get_xdata(), found.predicted)
    np.testing.assert_allclose(points.get_ydata(), found.observed)
    ends = np.array([segment[:, 1] for segment in lines.get_segments()])
    np.testing.assert_allclose(ends, np.stack([found.lower, found.upper], axis=1))
    assert f"4 groups of {found.count.min()}" in " ".join(legend(ax))


def test_the_text_gives_slope_intercept_and_ratio_as_the_table_does(result):
    (text,) = scv.plots.plot_calibration(result).texts
    names = ("slope", "calibration_slope"), ("intercept", "calibration_intercept")
    wanted = []
    for label, metric in (*names, ("observed / expected", "oe_ratio")):
        one = result.estimate(metric, "pooled")
        wanted.append(f"{label} {one.value:.2f} ({one.lower:.2f} to {one.upper:.2f})")
    assert text.get_text().replace("−", "-").splitlines() == wanted


def test_a_long_text_hides_no_group():
    short = external([0, 1] * 20, np.linspace(0.1, 0.9, 40))
    apart = external([0] * 20 + [1] * 20, np.linspace(0.1, 0.9, 40))
    lines = []
    for one in (short, apart):
        ax = scv.plots.plot_calibration(one)
        (text,) = ax.texts
        lines.append(text.get_text().count("\n"))
        assert clear_of(ax, text)
    assert lines[1] > lines[0]


def test_the_label_of_one_group_is_singular():
    ax = scv.plots.plot_calibration(external([0, 1] * 10, [0.5] * 20))
    assert "1 group of 20" in legend(ax)


def test_the_histograms_show_shares_of_each_class(result):
    ax = scv.plots.plot_calibration(result)
    _, *histograms = ax.containers
    heights = [np.array([bar.get_height() for bar in bars]) for bars in histograms]
    assert [bars.get_label() for bars in histograms] == ["GRADE = 1", "GRADE = 0"]
    scale = heights[0].sum()  # both have the same sum, since both are shares
    assert scale > 0
    assert heights[1].sum() == pytest.approx(-scale)
    for bars in histograms:
        assert max(bar.get_y() + bar.get_height() for bar in bars) <= 0


def test_probabilities_of_0_and_1_have_groups_and_a_reason_for_the_rest():
    ax = scv.plots.plot_calibration(
        external([0, 1, 0, 1, 0, 1], [0, 0.3, 0.4, 0.5, 0.6, 1])
    )
    assert not curves(ax)
    (text,) = ax.texts
    said = text.get_text().replace("\n", " ")
    assert said.startswith("slope – intercept – observed / expected 1.07")
    assert said.count("exactly 0 or 1") == 1
    assert ax.containers


# ---- decision curves ----


def test_net_benefit_is_that_of_the_function(repeated):
    ax = scv.plots.plot_decision(repeated, thresholds=[0.5, 0.1, 0.3])
    found = net_benefit(*averaged(repeated), [0.1, 0.3, 0.5])
    ((x, height),) = curves(ax)
    assert x.tolist() == [0.1, 0.3, 0.5]
    assert height.tolist() == found.net_benefit.tolist()
    assert corners(found.thresholds, found.lower, found.upper) <= band(ax)
    (everyone,) = [line for line in ax.lines if line.get_label() == "treat all"]
    assert np.asarray(everyone.get_ydata()).tolist() == found.treat_all.tolist()
    (nobody,) = [line for line in ax.lines if line.get_label() == "treat none"]
    assert list(nobody.get_ydata()) == [0, 0]
    assert "averaged over 3 repeats" in ax.get_title()


def test_at_threshold_0_the_net_benefit_is_the_prevalence(result):
    ((x, height),) = curves(scv.plots.plot_decision(result))
    assert x[0] == 0
    assert height[0] == pytest.approx(11 / 32)


def test_several_decision_curves(result):
    other = result.update(formula="GRADE ~ GPA")
    ax = scv.plots.plot_decision({"large": result, "small": other})
    assert len(curves(ax)) == 2
    assert legend(ax) == [
        "large",
        "95% band, pointwise",
        "small",
        "treat all",
        "treat none",
    ]
    again = scv.plots.plot_decision(scv.compare(large=result, small=other))
    for one, two in zip(curves(ax), curves(again), strict=True):
        assert one[1].tolist() == two[1].tolist()


def test_several_results_are_named_by_their_differences(result):
    small = result.update(formula="GRADE ~ GPA")
    folds = result.update(scheme="stratified_kfold", k=4)
    where = [0.1, 0.2, 0.3]
    ax = scv.plots.plot_decision(result, small, thresholds=where)
    names = [result.design.formula.text, "GRADE ~ GPA"]
    assert [name for name in legend(ax) if name in names] == names
    by_name = scv.plots.plot_decision({"a": result, "b": small}, thresholds=where)
    for one, two in zip(curves(ax), curves(by_name), strict=True):
        assert one[1].tolist() == two[1].tolist()
    assert "rloocv" in legend(scv.plots.plot_decision(folds, result))
    assert "result 2" in legend(scv.plots.plot_decision(result, result))


def test_a_dot_marks_the_threshold_of_a_result(result):
    cut = result.update(threshold=0.3, metrics="net_benefit")
    ax = scv.plots.plot_decision(cut, cut.update(formula="GRADE ~ GPA"))
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    for dot, one in zip(dots, (cut, cut.update(formula="GRADE ~ GPA")), strict=True):
        assert dot.get_xdata().tolist() == [0.3]
        assert dot.get_ydata()[0] == pytest.approx(float(one.estimate("net_benefit")))
    assert legend(ax).count("threshold 0.3") == 1
    assert "threshold 0.3" not in legend(
        scv.plots.plot_decision(cut, thresholds=[0.4, 0.5])
    )
    by_fold = result.update(threshold="youden")
    assert not [x for x in legend(scv.plots.plot_decision(by_fold)) if "threshold" in x]


def test_a_single_threshold_is_drawn_as_a_mark(result):
    (line,) = [
        line
        for line in scv.plots.plot_decision(result, thresholds=0.3).lines
        if line.get_gid() == "curve"
    ]
    assert line.get_marker() == "s"


def test_the_legend_of_decision_curves_is_below_them():
    apart = external([0] * 20 + [1] * 20, np.linspace(0.01, 0.99, 40))
    ax = scv.plots.plot_decision({"one": apart, "other": apart})
    assert clear_of(ax, ax.get_legend())


def test_several_results_must_be_for_the_same_records(result):
    fewer = scv.cv("GRADE ~ GPA", SPECTOR[:-1], k=4, seed=1)
    with pytest.raises(ComparisonError, match="not have the same records"):
        scv.plots.plot_decision({"all": result, "fewer": fewer})
    with pytest.raises(ArgumentTypeError, match="by name"):
        scv.plots.plot_decision([result, result])
    with pytest.raises(ArgumentTypeError, match="int"):
        scv.plots.plot_decision({"a": 1})
    with pytest.raises(ArgumentError, match="no result"):
        scv.plots.plot_decision({})
    with pytest.raises(ArgumentTypeError, match="ax="):
        scv.plots.plot_decision(result, scv.plots.plot_decision(result))
    with pytest.raises(MetricError, match="below 1"):
        scv.plots.plot_decision(result, thresholds=[0.5, 1])


# ---- risk ----


def test_the_bars_of_risk_are_shares_of_each_class(result):
    ax = scv.plots.plot_risk(result, bins=5)
    y, p = averaged(result)
    edges = np.linspace(0, 1, 6)
    for bars, code, side in zip(ax.containers, (1, 0), (1, -1), strict=True):
        count = (y == code).sum()
        wanted = side * np.histogram(p[y == code], edges)[0] / count
        assert [bar.get_height() for bar in bars] == pytest.approx(wanted.tolist())
        assert bars.get_label() == f"GRADE = {code} (n = {count})"
    assert "threshold 0.5" in legend(ax)


def test_thresholds_chosen_in_training_sets_are_drawn_as_a_range():
    result = scv.cv("GRADE ~ GPA", SPECTOR, k=4, seed=1, threshold="youden")
    cuts = result.scores.threshold
    ax = scv.plots.plot_risk(result)
    (line,) = [one for one in ax.lines if one.get_linestyle() == "--"]
    assert line.get_xdata()[0] == np.median(cuts)
    shade = next(patch for patch in ax.patches if patch.get_alpha() == 0.15)
    assert shade.get_x() == cuts.min()
    assert shade.get_x() + shade.get_width() == pytest.approx(cuts.max())
    assert f"({cuts.min():.3g} to {cuts.max():.3g})" in legend(ax)[-1]


def test_scores_are_drawn_on_their_own_scale(scored):
    ax = scv.plots.plot_risk(scored)
    assert ax.get_xlabel() == "held-out score"
    assert legend(ax)[-1] == "threshold 0"
    first = ax.containers[0][0].get_x()
    assert first == scored.scores.predicted.min()
    with pytest.raises(ArgumentError, match="bins"):
        scv.plots.plot_risk(scored, bins=0)


def test_numbers_that_are_no_risks_are_drawn_as_scores():
    result = scv.cv("GRADE ~ GPA", SPECTOR, model="negmean", k=4, seed=1)
    assert (result.scores.predicted < 0).all()
    ax = scv.plots.plot_risk(result)
    assert ax.get_xlabel() == "held-out score"
    for bars in ax.containers:
        assert sum(bar.get_height() for bar in bars) == pytest.approx(
            1.0 if "= 1" in bars.get_label() else -1.0
        )


def test_scores_that_differ_by_rounding_are_drawn_as_one():
    y = np.tile([0, 1], 20)
    frame = pd.DataFrame({"y": y, "p": -3 * (1 + 1e-15 * np.arange(40))})
    read = scv.from_predictions(frame, observed="y", predicted="p")
    ax = scv.plots.plot_risk(read)
    for bars in ax.containers:
        assert np.abs([bar.get_height() for bar in bars]).max() == 1


class Unbounded(ClassifierMixin, BaseEstimator):
    """A classifier whose logits are infinite for some records."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def decision_function(self, X):
        first = np.asarray(X)[:, 0]
        return np.where(first < 3, -np.inf, first - 3.3)


def test_infinite_scores_are_omitted_and_counted():
    result = scv.cv("GRADE ~ GPA", SPECTOR, model=Unbounded(), k=4, seed=1)
    ax = scv.plots.plot_risk(result)
    low = int((SPECTOR["GPA"] < 3).sum())
    assert ax.get_title().endswith(f", {low} without a finite prediction omitted")
    high = SPECTOR[SPECTOR["GPA"] >= 3]["GRADE"]
    named = [f"GRADE = {code} (n = {(high == code).sum()})" for code in (1, 0)]
    assert legend(ax)[:2] == named


# ---- the four plots together ----


@pytest.mark.slow
def test_the_figure_for_a_referee(result, tmp_path):
    axes = scv.plots.plot_referee(result)
    assert axes.shape == (2, 2)
    titles = [ax.get_title().split(",")[0] for ax in axes.flat]
    assert titles == ["ROC", "Calibration", "Decision curve", "Risk by outcome"]
    figure = axes[0, 0].figure
    said = figure.get_suptitle().replace("\n", " ")
    lines = str(result).splitlines()
    assert said.startswith(f"{lines[2]} {lines[1]}; n = 32")
    assert "95% band, pointwise" in legend(axes[0, 0])
    figure.savefig(tmp_path / "referee.png")
    assert (tmp_path / "referee.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["roc", "pr", "calibration", "decision", "risk"])
def test_one_plot_is_drawn_by_its_name(result, kind):
    import matplotlib.pyplot as plt

    axes, drawn = plt.subplots(1, 2)[1], getattr(scv.plots, f"plot_{kind}")
    assert result.plot(kind, ax=axes[0]) is axes[0]
    drawn(result, ax=axes[1])
    named, called = ([line.get_xydata().tolist() for line in one.lines] for one in axes)
    np.testing.assert_equal(named, called)


def test_a_plot_without_a_name_is_refused_with_the_names(result):
    with pytest.raises(ArgumentError, match=r"kind must be 'roc'.*Did you mean 'roc'"):
        result.plot("rok")


def test_scores_that_are_not_probabilities_raise_an_error(scored):
    for plot in (scv.plots.plot_calibration, scv.plots.plot_decision):
        with pytest.raises(MetricError, match=r"LinearSVC.*CalibratedClassifierCV"):
            plot(scored)


def test_the_figure_of_scores_says_what_they_lack(scored):
    axes = scv.plots.plot_referee(scored)
    titles = [ax.get_title().split(",")[0] for ax in axes.flat]
    assert titles[:2] == ["ROC", "Precision and recall"]
    assert titles[2:] == ["Calibration and decision curve", "Risk by outcome"]
    assert "need probabilities" in axes[1, 0].texts[0].get_text()


def test_the_figure_of_several_results_ends_in_their_estimates(result):
    pair = {"GPA and PSI": result, "GPA": result.update(formula="GRADE ~ GPA")}
    *curves, forest = scv.plots.plot_referee(pair).flat
    for ax in curves:
        assert sum(line.get_gid() == "curve" for line in ax.lines) >= 2
    assert [tick.get_text() for tick in forest.get_yticklabels()] == list(pair)
    with pytest.raises(ArgumentError, match="draws groups of one result"):
        scv.plots.plot_referee(pair, by="PSI")


def test_groups_have_the_estimates_of_the_table():
    table = scv.load_data("ehr")
    result = scv.cv("y ~ x1 + x3", table, k=5, seed=1)
    found = result.metrics(by="site").query("metric == 'auroc'")
    ax = scv.plots.plot_roc(result, by="site")
    said = [
        f"site = {row.site}: auROC {row.estimate:.2f}" for row in found.itertuples()
    ]
    assert legend(ax) == said
    for plot in (
        scv.plots.plot_pr,
        scv.plots.plot_calibration,
        scv.plots.plot_decision,
    ):
        drawn = plot(result, by="site").lines
        assert sum(line.get_gid() == "curve" for line in drawn) == len(found)
    with pytest.raises(ArgumentError, match="at most 6 groups"):
        scv.plots.plot_roc(result, by=np.arange(len(table)) % 7)


def test_groups_of_one_class_are_counted_not_drawn(result):
    ward = pd.Series(np.arange(32) % 2 + 1, name="ward").where(SPECTOR["PSI"] == 1, 0)
    ward[(ward == 0) & (SPECTOR["GRADE"] == 1)] = 1
    with pytest.warns(UndefinedMetricWarning, match="no curve of 1 group of ward, 0,"):
        ax = scv.plots.plot_roc(result, by=ward)
    assert [text.split(":")[0] for text in legend(ax)] == ["ward = 1", "ward = 2"]
    with pytest.raises(ArgumentError, match="nothing to draw but 2 groups of GRADE"):
        scv.plots.plot_roc(result, by="GRADE")


def test_an_outcome_without_two_classes_raises_an_error():
    numbers = scv.cv("GPA ~ TUCE", SPECTOR, k=4, seed=1)
    kinds = SPECTOR.assign(kind=np.array(list("abc"))[np.arange(32) % 3])
    several = scv.cv("kind ~ GPA", kinds, model="mean", k=4, seed=1)
    for plot in (
        scv.plots.plot_calibration,
        scv.plots.plot_decision,
        scv.plots.plot_risk,
    ):
        with pytest.raises(OutcomeError, match="'GPA' is continuous"):
            plot(numbers)
        with pytest.raises(OutcomeError, match="'kind' is multiclass"):
            plot(several)


def test_a_figure_of_its_own_takes_no_axes():
    res = scv.cv("GRADE ~ GPA", SPECTOR, k=4, seed=1)
    for draw in (scv.plots.plot_referee, scv.plots.plot_groups):
        with pytest.raises(ArgumentTypeError, match="leave the Axes out"):
            draw(res, mpl.figure.Figure().subplots())


def test_plots_of_one_result_say_which_plot_serves_for_several():
    res = scv.cv("GRADE ~ GPA", SPECTOR, k=4, seed=1)
    several = {"a": res, "b": res.update(seed=2)}
    for draw in (scv.plots.plot_risk, scv.plots.plot_predicted):
        assert draw({"a": res}).get_xlabel().startswith("held-out")
    for draw in (scv.plots.plot_risk, scv.plots.plot_predicted, scv.plots.plot_groups):
        for given in ([several], several.values()):
            with pytest.raises(ArgumentError, match=r"draws one result, not 2.*plot_"):
                draw(*given)
