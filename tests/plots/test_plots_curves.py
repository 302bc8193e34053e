"""Curves with bands, and differences of two curves, checked on their Axes."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ComparisonError,
    MetricError,
    OutcomeError,
    UndefinedMetricWarning,
)
from statcv.metrics import (
    auprc,
    auroc,
    pr_band,
    pr_curve,
    roc_band,
    roc_curve,
    roc_difference,
)

mpl.use("Agg")
SPECTOR = scv.load_data("spector")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def small():
    return scv.cv("GRADE ~ GPA", SPECTOR, k=4, seed=1)


@pytest.fixture(scope="module")
def large(small):
    return small.update(formula=". ~ . + PSI")


@pytest.fixture(scope="module")
def repeated():
    return scv.cv("GRADE ~ GPA + PSI", SPECTOR, k=4, repeats=5, seed=1)


def curve(ax):
    (line,) = [line for line in ax.lines if line.get_gid() == "curve"]
    return tuple(map(np.asarray, line.get_data()))


def area_below(height, x):
    return (np.diff(x) * (height[1:] + height[:-1]) / 2).sum()


def shaded(ax):
    """Return the distinct vertices of the drawn band."""
    (band,) = ax.collections
    return {tuple(corner) for corner in band.get_paths()[0].vertices.round(9).tolist()}


def corners(at, *heights):
    return {
        (round(x, 9), round(y, 9))
        for height in heights
        for x, y in zip(at.tolist(), height.tolist(), strict=True)
    }


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def averaged(result):
    table = result.predictions.groupby("row")[["observed", "predicted"]].mean()
    return table["observed"].to_numpy(), table["predicted"].to_numpy()


# ---- one curve ----


def test_the_band_of_a_roc_curve_is_that_of_roc_band(large):
    ax = scv.plots.plot_roc(large, band=True, level=0.9)
    band = roc_band(*averaged(large), level=0.9, seed=large.seed)
    assert corners(band.at, band.lower, band.upper) <= shaded(ax)
    assert legend(ax)[1] == "90% band, pointwise"


def test_a_simultaneous_band_is_wider(large):
    ax = scv.plots.plot_roc(large, band="simultaneous")
    band = roc_band(*averaged(large), method="simultaneous")
    assert corners(band.at, band.lower, band.upper) <= shaded(ax)


def test_the_band_of_precision_is_that_of_pr_band(large):
    ax = scv.plots.plot_pr(large, band=True)
    band = pr_band(*averaged(large), seed=large.seed)
    assert corners(band.at, band.lower, band.upper) <= shaded(ax)


def test_with_a_band_repeats_are_averaged_and_the_legend_gives_the_headline(repeated):
    y, p = averaged(repeated)
    ax = scv.plots.plot_roc(repeated, band=True)
    x, height = curve(ax)
    area = auroc(y, p)
    assert area_below(height, x) == pytest.approx(area)
    assert area != pytest.approx(float(repeated.estimate("auroc", "pooled")), abs=1e-3)
    headline = str(repeated.estimate("auroc")).replace("95% CI ", "")
    assert legend(ax)[0].replace("\n", " ") == headline
    assert "averaged over 5 repeats" in ax.get_title()
    ax = scv.plots.plot_pr(repeated, band="pointwise")
    assert float(repeated.estimate("auprc")) != pytest.approx(auprc(y, p), abs=1e-3)
    assert f"auPR {float(repeated.estimate('auprc')):.2f}" in legend(ax)[0]


@pytest.mark.parametrize("band", [False, "pointwise"])
def test_the_steps_have_the_area_of_average_precision_and_no_spike_at_0(band):
    rng = np.random.default_rng(3)
    y = np.arange(20) % 2
    p = np.where(np.arange(20) < 3, 0.9, rng.uniform(0.1, 0.8, 20))
    p[0] = 0.95  # the first record is negative
    table = pd.DataFrame({"y": y, "p": p})
    result = scv.from_predictions(table, observed="y", predicted="p")
    recall, precision = curve(scv.plots.plot_pr(result, band=band))
    assert precision.min() > 0
    assert np.count_nonzero(recall == 0) == 1
    area = float((np.diff(recall) * precision[1:]).sum())
    assert area == pytest.approx(average_precision_score(y, p))
    assert precision[0] == precision[1]  # the first step is horizontal
    straight = scv.plots.plot_pr(result, band=band, method="trapezoid")
    recall, precision = curve(straight)
    assert (recall[0], precision[0], precision[1]) == (0, 1, 0)
    area = auprc(y, p, method="trapezoid")
    assert area_below(precision, recall) == pytest.approx(area)
    assert f"auPR (trapezoid) {area:.2f}" in legend(straight)[0].replace("\n", " ")


def test_unknown_areas_of_precision_and_recall_raise_an_error(repeated):
    with pytest.raises(ArgumentError, match="Did you mean 'trapezoid'"):
        scv.plots.plot_pr(repeated, method="trapezium")


def test_without_a_band_the_title_says_that_each_repeat_has_its_curve(repeated):
    assert "pooled by repeat" in scv.plots.plot_roc(repeated).get_title()


def test_the_area_under_the_curve_of_a_tournament_is_the_pooled_estimate():
    result = scv.cv("GRADE ~ GPA", SPECTOR, scheme="tournament_leave_pair_out", seed=1)
    for band in (False, True):
        x, height = curve(scv.plots.plot_roc(result, band=band))
        pooled = float(result.estimate("auroc", "pooled"))
        assert area_below(height, x) == pytest.approx(pooled)


@pytest.mark.parametrize("pairs", [None, 50])
def test_the_area_under_the_curve_of_pairs_is_the_headline(pairs):
    given = {"scheme": "leave_pair_out", "pairs": pairs, "seed": 1}
    result = scv.cv("GRADE ~ GPA", SPECTOR, **given)
    paired = result.estimate("auroc")
    assert paired.how == "paired" != result.estimate("auroc", "pooled").value
    for band in (False, True):
        ax = scv.plots.plot_roc(result, band=band)
        x, height = curve(ax)
        assert area_below(height, x) == pytest.approx(paired.value)
        said = legend(ax)[0].replace("\n", " ")
        assert said == str(paired).replace("95% CI ", "")
        assert "compared in pairs" in ax.get_title()
    with pytest.raises(ArgumentError, match="simultaneous band is not known"):
        scv.plots.plot_roc(result, band="simultaneous")


def test_curves_of_several_kinds_share_a_title_that_applies_to_all():
    pairs = scv.cv("GRADE ~ GPA", SPECTOR, scheme="leave_pair_out", seed=1)
    pooled = pairs.update(scheme="rloocv", repeats=1)
    ax = scv.plots.plot_roc(pairs)
    assert scv.plots.plot_roc(pooled, ax=ax).get_title() == "ROC, held-out predictions"
    assert scv.plots.plot_roc(pooled, ax=ax).get_title() == "ROC, held-out predictions"
    assert (
        "pooled"
        in scv.plots.plot_roc(pooled, ax=scv.plots.plot_roc(pooled)).get_title()
    )


def test_each_repeated_sample_of_pairs_is_one_line():
    given = {"scheme": "leave_pair_out", "pairs": 50, "repeats": 3, "seed": 1}
    result = scv.cv("GRADE ~ GPA", SPECTOR, **given)
    ax = scv.plots.plot_roc(result)
    lines = [line for line in ax.lines if line.get_linestyle() == "-"]
    areas = [area_below(line.get_ydata(), line.get_xdata()) for line in lines]
    assert len(areas) == 3
    assert np.mean(areas) == pytest.approx(float(result.estimate("auroc")))
    assert "compared in pairs by repeat" in ax.get_title().replace("\n", " ")
    x, height = curve(scv.plots.plot_roc(result, band=True))
    assert area_below(height, x) == pytest.approx(np.mean(areas))


def test_a_band_without_width_is_not_drawn():
    table = pd.DataFrame({"y": [0, 0, 0, 1, 1], "p": [0.1, 0.2, 0.3, 0.8, 0.9]})
    perfect = scv.from_predictions(table, observed="y", predicted="p")
    ax = scv.plots.plot_roc(perfect, band=True)
    assert not ax.collections
    assert legend(ax)[1].startswith("no band: the curve is the same in all")
    single = scv.from_predictions(table[:4], observed="y", predicted="p")
    for plot in (scv.plots.plot_roc, scv.plots.plot_pr):
        ax = plot(single, band=True)
        assert not ax.collections
        assert legend(ax)[1].startswith("no band: ")


def test_repeats_that_hold_out_no_positive_record_have_no_curve():
    few = pd.DataFrame({"y": [0, 0, 0, 0, 1, 1], "x": [3.0, 1, 4, 1, 5, 9]})
    plan = {"scheme": "bootstrap", "repeats": 9, "seed": 1}
    made = scv.cv("y ~ x", few, model="neighbors", **plan)
    held = [made.scores.outcome[where].any() for where in made.scores.by_repeat]
    assert not all(held)
    for method in ("average_precision", "trapezoid"):
        ax = scv.plots.plot_pr(made, method=method)
        _, *drawn = ax.lines  # the first is the share of positive records
        assert [np.isfinite(line.get_xdata()).any() for line in drawn] == held
    assert [len(part) for part in pr_curve([0, 0], [0.1, 0.2]).steps] == [0, 0]


@pytest.mark.parametrize(("sign", "inside"), [(1, True), (-1, False)])
def test_the_legend_leaves_a_corner_in_which_there_are_curves(sign, inside):
    y = np.tile([0, 1], 20)
    frame = pd.DataFrame({"y": y, "p": sign * (y + np.linspace(0, 3, 40))})
    read = scv.from_predictions(frame, observed="y", predicted="p", probabilities=False)
    ax = scv.plots.plot_roc(read, label="external validation")
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent().transformed(ax.transAxes.inverted())
    assert (box.y0 >= 0) == inside
    assert (box.y1 <= 0) != inside


def test_with_clusters_whole_clusters_are_drawn_and_no_band_is_simultaneous():
    table = SPECTOR.assign(person=np.arange(32) // 2)
    result = scv.cv("GRADE ~ GPA", table, stratify=scv.by_value("person"), k=4, seed=1)
    ax = scv.plots.plot_roc(result, band=True)
    rows, p = result.scores.mean_prediction()
    y, people = result.scores.y[rows], result.scores.clusters[rows]
    band = roc_band(y, p, clusters=people, seed=result.seed)
    assert corners(band.at, band.lower, band.upper) <= shaded(ax)
    alone = roc_band(y, p, seed=result.seed)
    assert not corners(alone.at, alone.lower, alone.upper) <= shaded(ax)
    with pytest.raises(ArgumentError, match="one cluster"):
        scv.plots.plot_roc(result, band="simultaneous")


def test_unknown_bands_raise_an_error(large):
    with pytest.raises(ArgumentError, match="'both'"):
        scv.plots.plot_roc(large, band="both")
    with pytest.raises(ArgumentError, match="simultaneous"):
        scv.plots.plot_pr(large, band="simultaneous")


# ---- the difference of two curves ----


def test_the_area_under_the_difference_is_that_of_delong(small, large):
    comparison = scv.compare(small=small, large=large, test="delong", how="pooled")
    ax = scv.plots.plot_difference(comparison)
    x, height = curve(ax)
    row = comparison.differences.iloc[0]
    assert area_below(height, x) == pytest.approx(row["difference"], abs=1e-4)
    first, second, *_ = ax.get_title().splitlines()
    value, lower, upper = said_of(row, "difference", "lower", "upper")
    said = f"{value} ({lower} to {upper})"
    assert first == f"large minus small: difference in auROC {said}"
    assert second == f"by DeLong, p = {row['p']:.2g}"


def test_the_line_is_the_difference_of_the_two_curves(small, large):
    x, height = curve(scv.plots.plot_difference(small, large))
    grid = np.linspace(0.003, 0.997, 50)  # points at which neither curve jumps
    curves = [roc_curve(*averaged(result)) for result in (large, small)]
    a, b = (np.interp(grid, one.fpr, one.tpr) for one in curves)
    np.testing.assert_allclose(np.interp(grid, x, height), a - b, atol=1e-9)


def test_the_band_of_the_difference_draws_the_records_for_both(small, large):
    ax = scv.plots.plot_difference(small, large, n_boot=200)
    y, b = averaged(small)
    _, a = averaged(large)
    band = roc_difference(y, a, b, n_boot=200, seed=small.seed)
    assert corners(band.at, band.lower, band.upper) <= shaded(ax)


def test_the_reverse_difference_has_the_opposite_sign(small, large):
    _, there = curve(scv.plots.plot_difference(small, large))
    _, back = curve(scv.plots.plot_difference(large, small))
    np.testing.assert_allclose(there, -back, atol=1e-12)


def test_differences_of_records_are_in_order_with_their_mean(small, large):
    compared = scv.compare(small=small, large=large, metric="brier", test="t")
    ax = scv.plots.plot_difference(compared)
    y, p = averaged(small)
    _, q = averaged(large)
    change = (y - q) ** 2 - (y - p) ** 2
    x, height = curve(ax)
    np.testing.assert_allclose(height, np.sort(change))
    assert x.tolist() == list(range(1, 33))
    (mean,) = [line for line in ax.lines if str(line.get_label()).startswith("mean")]
    assert mean.get_ydata()[0] == pytest.approx(change.mean())
    se = change.std(ddof=1) / np.sqrt(32)
    half = 2.0395134463964077 * se  # t with 31 degrees of freedom
    (band,) = ax.patches
    assert band.get_y() == pytest.approx(change.mean() - half)
    assert band.get_height() == pytest.approx(2 * half)
    better, worse = (change < 0).sum(), (change > 0).sum()
    assert f"better in {better}, worse in {worse}" in legend(ax)[1]
    usual = scv.compare(small=small, large=large, metric="brier").differences.iloc[0]
    (band,) = scv.plots.plot_difference(small, large, metric="brier").patches
    assert band.get_y() == pytest.approx(usual["lower"])
    assert band.get_height() == pytest.approx(usual["upper"] - usual["lower"])
    assert usual["se"] != pytest.approx(se)


def test_the_meaning_of_better_depends_on_the_direction_of_the_metric(small, large):
    ax = scv.plots.plot_difference(small, large, metric="accuracy")
    y, p = averaged(small)
    _, q = averaged(large)
    won = (((q > 0.5) == y) & ((p > 0.5) != y)).sum()
    lost = (((q > 0.5) != y) & ((p > 0.5) == y)).sum()
    assert f"better in {won}, worse in {lost}, equal in" in legend(ax)[1]


def test_net_benefits_are_at_the_threshold_of_the_results(small, large):
    def worth(result, cut):
        y, p = averaged(result)
        return np.where(y == 1, 1.0, -cut / (1 - cut)) * (p >= cut)

    for cut in (0.5, 0.3):
        first, second = (r.update(threshold=cut) for r in (small, large))
        if cut == 0.5:  # the default
            first, second = small, large
        ax = scv.plots.plot_difference(first, second, metric="net_benefit")
        change = worth(second, cut) - worth(first, cut)
        np.testing.assert_allclose(curve(ax)[1], np.sort(change))
        named = f"difference in net benefit (threshold {cut:g})"
        assert f"{named} {change.mean():.2f}" in ax.get_title()
    with pytest.raises(MetricError, match="the thresholds differ"):
        scv.plots.plot_difference(small, second, metric="net_benefit")
    chosen = small.update(threshold="youden")
    with pytest.raises(MetricError, match="the thresholds differ"):
        scv.plots.plot_difference(chosen, chosen, metric="net_benefit")


def test_a_continuous_outcome_and_records_in_another_order():
    numbers = scv.cv("GPA ~ TUCE", SPECTOR, k=4, seed=1)
    other = scv.cv("GPA ~ TUCE + PSI", SPECTOR[::-1], k=4, seed=2)
    _, height = curve(scv.plots.plot_difference(numbers, other))
    tables = [r.predictions.set_index("row").sort_index() for r in (numbers, other)]
    p, q = ((t["observed"] - t["predicted"]) ** 2 for t in tables)
    np.testing.assert_allclose(height, np.sort((q - p).to_numpy()))


def test_one_of_several_pairs_and_a_permutation_test(small, large, repeated):
    several = scv.compare(a=small, b=large, c=repeated, test="permutation", seed=1)
    ax = scv.plots.plot_difference(several, pair=("a", "c"))
    row = several.differences.iloc[1]
    assert (row["first"], row["second"]) == ("a", "c")
    title = ax.get_title()
    assert f"{row['difference']:.2f}".replace("-", "−") in title
    assert "no interval, permutation of paired predictions" in title
    assert "pooled and averaged over 5 repeats" in title
    with pytest.raises(ArgumentError, match="'z'"):
        scv.plots.plot_difference(several, pair=("a", "z"))


def said_of(row, *columns):
    return [f"{row[column]:.2f}".replace("-", "−") for column in columns]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "test"),
    [
        ({"scheme": "rloocv", "repeats": 1, "k": None}, None),
        ({}, None),
        ({}, "corrected_t"),
    ],
)
def test_the_title_says_what_is_tested_and_what_is_drawn(small, more, test):
    """The curve is based on pooled predictions, and the test on other estimates."""
    before = small.update(**more)
    after = before.update(formula=". ~ . + PSI")
    compared = scv.compare(small=before, large=after, test=test)
    ax = scv.plots.plot_difference(compared)
    first, *lines = ax.get_title().splitlines()
    row = compared.differences.iloc[0]
    value, lower, upper = said_of(row, "difference", "lower", "upper")
    said = f"{value} ({lower} to {upper})"
    assert first == f"large minus small: difference in auROC {said}"
    rest = " ".join(lines)
    assert compared.method.name == (test or "infinitesimal_jackknife")
    assert rest.startswith(f"by {compared.method.title}, ")
    assert rest.endswith("drawn: held-out predictions pooled")


def test_the_curve_is_drawn_if_the_test_per_fold_has_no_value(small):
    one_by_one = small.update(scheme="rloocv", repeats=1, k=None)
    other = one_by_one.update(formula=". ~ . + PSI")
    with pytest.warns(UndefinedMetricWarning, match="no value in 32 of 32 folds"):
        ax = scv.plots.plot_difference(
            scv.compare(one_by_one, other, test="corrected_t")
        )
    assert "difference in auROC has no value" in ax.get_title()
    assert "drawn: held-out predictions pooled" in ax.get_title()


def test_the_mean_per_fold_of_a_loss_is_labelled_as_such(small, large):
    compared = scv.compare(small, large, metric="brier", test="corrected_t")
    ax = scv.plots.plot_difference(compared)
    assert "mean over folds, 95% interval" in legend(ax)
    assert "difference in Brier score" in ax.get_title()


def test_the_null_model_is_drawn_in_the_way_it_is_tested(large):
    """Its training means depend on the folds, but in the comparison it has no ranks."""
    compared = scv.compare(large=large, reference="null", how="pooled")
    x, height = curve(scv.plots.plot_difference(compared))
    row = compared.differences.iloc[0]
    assert area_below(height, x) == pytest.approx(row["difference"], abs=1e-4)
    assert row["difference"] == pytest.approx(
        float(large.estimate("auroc", "pooled")) - 0.5
    )


def test_no_difference_is_a_horizontal_line(small):
    ax = scv.plots.plot_difference(small, small)
    assert not curve(ax)[1].any()
    assert legend(ax)[0].startswith("no band: the difference is the same")


def test_results_without_a_paired_difference_raise_an_error(small, large):
    fewer = scv.cv("GRADE ~ GPA", SPECTOR[:-1], k=4, seed=1)
    with pytest.raises(ComparisonError, match="same records"):
        scv.plots.plot_difference(small, fewer)
    with pytest.raises(MetricError, match="plot_forest"):
        scv.plots.plot_difference(small, large, metric="auprc")
    with pytest.raises(ArgumentTypeError, match="one CVResult"):
        scv.plots.plot_difference(small)
    with pytest.raises(ArgumentTypeError, match="not a DataFrame"):
        scv.plots.plot_difference(small, SPECTOR)
    with pytest.raises(ArgumentError, match="its own"):
        scv.plots.plot_difference(scv.compare(small, large), metric="brier")
    with pytest.raises(ArgumentError, match="n_boot"):
        scv.plots.plot_difference(small, large, metric="brier", n_boot=10)
    with pytest.raises(ArgumentError, match="pair"):
        scv.plots.plot_difference(small, large, pair=("a", "b"))
    numbers = scv.cv("GPA ~ TUCE", SPECTOR, k=4, seed=1)
    with pytest.raises(MetricError, match="continuous"):
        scv.plots.plot_difference(numbers, numbers, metric="auroc")


def test_bands_need_an_outcome_of_two_classes():
    numbers = scv.cv("GPA ~ TUCE", SPECTOR, k=4, seed=1)
    for plot in (scv.plots.plot_roc, scv.plots.plot_pr):
        with pytest.raises(OutcomeError, match="two classes"):
            plot(numbers, band=True)
