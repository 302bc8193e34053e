"""Forest plots and permutation distributions, checked on their Axes."""

import itertools
import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError
from statcv.inference import HTest

mpl.use("Agg")
SPECTOR = scv.load_data("spector")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def results():
    small = scv.cv("GRADE ~ GPA", SPECTOR, scheme="rloocv", repeats=2, seed=1)
    return {"small": small, "large": small.update(formula=". ~ . + PSI")}


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def written(ax):
    return [text.get_text() for text in ax.texts]


def intervals(ax):
    return [
        tuple(line.get_xdata()) for line in ax.lines if line.get_gid() == "interval"
    ]


def points(ax):
    return [tuple(p.get_offsets()[0]) for p in ax.collections]


def reference(ax):
    return [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"]


def rows(**columns):
    return pd.DataFrame({"lower": 0.4, "upper": 0.8, "estimate": 0.6, **columns})


# ---- forest plots ----


def test_results_are_drawn_by_name_in_the_given_order(results):
    ax = scv.plots.plot_forest(results)
    found = [result.estimate() for result in results.values()]
    assert names(ax) == ["small", "large"]
    assert intervals(ax) == [(one.lower, one.upper) for one in found]
    assert points(ax) == [(one.value, place) for place, one in enumerate(found)]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is at the top
    assert reference(ax) == [0.5]
    assert ax.get_xlabel() == "auROC"
    assert ax.get_title() == "95% intervals"


def test_metric_how_and_level_are_passed_to_estimate(results):
    ax = scv.plots.plot_forest(results, metric="brier", how="pooled", level=0.8)
    found = [r.estimate("brier", "pooled", 0.8) for r in results.values()]
    assert intervals(ax) == [(one.lower, one.upper) for one in found]
    assert reference(ax) == []
    assert scv.plots.plot_forest(results, metric="brier", reference=0.25).lines[
        0
    ].get_xdata() == [0.25, 0.25]


def test_estimates_stated_in_different_ways_are_labelled(results):
    both = {
        "a": results["small"].estimate(),
        "b": results["small"].estimate(how="pooled"),
    }
    ax = scv.plots.plot_forest(both)
    assert names(ax) == [
        "a (over pairs of records that one fit predicts)",
        "b (over all held-out predictions)",
    ]
    assert ax.get_xlabel() == "auROC"


def test_the_plot_of_a_comparison_shows_its_differences(results):
    comparison = scv.compare(**results)
    ax = scv.plots.plot_forest(comparison)
    row = comparison.differences.iloc[0]
    assert names(ax) == ["large minus small"]
    assert intervals(ax) == [(row["lower"], row["upper"])]
    assert reference(ax) == [0]
    again = scv.plots.plot_forest(comparison.differences)
    assert names(again) == names(ax)
    assert intervals(again) == intervals(ax)
    assert reference(again) == [0]


def test_a_meta_analysis_has_its_mean_below_the_rows(results):
    odd, even = (SPECTOR[k::2] for k in (0, 1))
    compared = {
        name: scv.compare(
            a="GRADE ~ GPA",
            b=". ~ . + PSI",
            data=part,
            model=scv.models.Logit(C=1.0),
            k=4,
            seed=1,
        )
        for name, part in {"odd": odd, "even": even}.items()
    }
    combined = scv.meta_analysis(**compared)
    ax = scv.plots.plot_forest(combined)
    assert names(ax) == ["odd (n = 16)", "even (n = 16)", "summary"]
    (diamond,) = ax.patches
    pooled = combined.pooled
    assert diamond.get_xy()[:3, 0].tolist() == [
        pooled.lower,
        pooled.estimate,
        pooled.upper,
    ]


def test_groups_have_their_sizes_and_heterogeneity(results):
    table = SPECTOR.assign(site=np.array(list("ab"))[np.arange(32) % 2])
    result = scv.cv("GRADE ~ GPA", table, scheme="rloocv", seed=1)
    found = result.metrics(by="site")
    summary = result.heterogeneity(by="site")
    ax = scv.plots.plot_forest(found, summary=summary)
    assert names(ax) == ["a (n = 16)", "b (n = 16)", "summary"]
    own = found[found["metric"] == "auroc"]
    assert intervals(ax) == list(zip(own["lower"], own["upper"], strict=True))
    assert ax.get_title() == "auROC by site"
    (diamond,) = ax.patches
    across = diamond.get_xy()[:3, 0].tolist()
    assert across == [summary.lower, summary.estimate, summary.upper]
    brier = scv.plots.plot_forest(found, metric="brier")
    own = found[found["metric"] == "brier"]
    assert intervals(brier) == list(zip(own["lower"], own["upper"], strict=True))


def test_a_summary_of_five_numbers_has_a_prediction_interval():
    ax = scv.plots.plot_forest(
        rows(site=["A", "B"]), summary=(0.6, 0.5, 0.7, 0.2, 0.9), reference=np.nan
    )
    (line,) = [line for line in ax.lines if tuple(line.get_xdata()) == (0.2, 0.9)]
    assert line.get_ydata().tolist() == [2, 2]
    assert written(ax)[-1] == "0.60 (0.50 to 0.70)\nprediction 0.20 to 0.90"
    low, high = ax.get_xlim()
    assert low < 0.2
    assert high > 0.9
    with pytest.raises(ArgumentTypeError, match="five"):
        scv.plots.plot_forest(rows(site=["A"]), summary=0.6)


def test_a_row_without_an_interval_or_value_says_so():
    nan = np.nan
    table = pd.DataFrame(
        {
            "estimate": [0.6, 0.5, nan],
            "lower": [0.4, nan, nan],
            "upper": [0.8, nan, nan],
        },
        index=["whole", "bare", "none"],
    )
    ax = scv.plots.plot_forest(table)
    assert written(ax) == ["0.60 (0.40 to 0.80)", "0.50, no interval", "no value"]
    assert intervals(ax) == [(0.4, 0.8)]
    assert points(ax) == [(0.6, 0), (0.5, 1)]
    assert names(ax) == ["whole", "bare", "none"]


def test_an_interval_beyond_the_axis_ends_in_an_arrow():
    table = rows(site=["A", "B"], lower=[0.4, -np.inf])
    ax = scv.plots.plot_forest(table, xlim=(0.5, 0.7))
    assert ax.get_xlim() == (0.5, 0.7)
    assert intervals(ax) == [(0.5, 0.7), (0.5, 0.7)]
    marks = [line.get_marker() for line in ax.lines if line.get_marker() in "<>"]
    assert marks == ["<", ">", "<", ">"]
    assert written(ax)[1] == "0.60 (−∞ to 0.80)"
    low, high = scv.plots.plot_forest(table).get_xlim()
    assert -np.inf < low < 0.4
    assert 0.8 < high < np.inf
    with pytest.raises(ArgumentError, match="xlim"):
        scv.plots.plot_forest(table, xlim=(1, 0))


def test_areas_of_marks_are_proportional_to_weights():
    ax = scv.plots.plot_forest(rows(site=["A", "B", "C"], weight=[4.0, 2.0, np.nan]))
    first, second, third = (float(p.get_sizes()[0]) for p in ax.collections)
    assert first > second
    assert (
        third == scv.plots.plot_forest(rows(site=["A"])).collections[0].get_sizes()[0]
    )


def test_rows_are_named_by_the_index_or_a_given_column():
    table = rows(site=["A", "B"], n=[10, 2000], code=[1, 2])
    assert names(scv.plots.plot_forest(table)) == ["A (n = 10)", "B (n = 2,000)"]
    assert names(scv.plots.plot_forest(table, names="code")) == [
        "1 (n = 10)",
        "2 (n = 2,000)",
    ]
    assert names(scv.plots.plot_forest(table.set_index("code")))[0] == "1 (n = 10)"
    assert names(scv.plots.plot_forest(rows(code=[7, 8]))) == ["7", "8"]


def test_metrics_of_one_result_can_be_rows(results):
    ax = scv.plots.plot_forest(results["small"].metrics())
    assert names(ax)[:3] == ["auROC", "auPR", "calibration slope"]
    assert re.fullmatch(r"0\.\d\d \(0\.\d\d to 0\.\d\d\)", written(ax)[1])
    unknown = replace(scv.metrics.METRICS["auprc"], derive=None)
    without = scv.from_predictions(
        results["small"].predictions.query("repeat == 1"),
        observed="observed",
        predicted="predicted",
        metrics=["auroc", unknown],
    )
    ax = scv.plots.plot_forest(without.metrics())
    assert written(ax)[1].endswith("no interval")


def test_invalid_arguments_of_forest_plots_raise_an_error(results):
    with pytest.raises(ArgumentTypeError, match="by name"):
        scv.plots.plot_forest([1, 2])
    with pytest.raises(ArgumentTypeError, match="'a' is a int"):
        scv.plots.plot_forest({"a": 1})
    with pytest.raises(ArgumentError, match="no estimates"):
        scv.plots.plot_forest({})
    with pytest.raises(ColumnError, match="'upper'"):
        scv.plots.plot_forest(pd.DataFrame({"estimate": [1], "lower": [0]}))
    with pytest.raises(ColumnError, match="'place'"):
        scv.plots.plot_forest(rows(site=["A"]), names="place")
    with pytest.raises(ArgumentError, match="means nothing"):
        scv.plots.plot_forest(scv.compare(**results), metric="brier")
    result = results["small"]
    both = {"a": result.estimate(), "b": result.estimate("brier")}
    with pytest.raises(ArgumentError, match="do not share an axis"):
        scv.plots.plot_forest(both)
    table = result.metrics(by=np.arange(32) % 2)
    with pytest.raises(ArgumentError, match="auroc"):
        scv.plots.plot_forest(table, metric="auroch")


# ---- permutation distributions ----


def null_test(values, **changes):
    told = {
        "method": "Permutation of the outcome, with refits",
        "about": "y ~ x",
        "label": "auROC (pooled)",
        "estimate": 0.8,
        "null": 0.41,
        "alternative": "greater",
        "statistic": 0.8,
        "statistic_name": "auROC",
        "p_value": 0.012,
        "assumes": "",
        "replicates": np.asarray(values, dtype=float),
    }
    return HTest(**(told | changes))


def lines(ax):
    return {line.get_label(): line.get_xdata()[0] for line in ax.lines}


def test_the_null_distribution_has_all_permutations_and_three_lines():
    values = np.random.default_rng(1).normal(0.41, 0.1, 199)
    ax = scv.plots.plot_permutation(null_test(values))
    assert sum(bar.get_height() for bar in ax.patches) == 199
    assert lines(ax) == {"0.5": 0.5, "mean 0.410": 0.41, "observed 0.800": 0.8}
    assert ax.get_title() == "199 permuted outcomes, p = 0.012 (one-sided)"
    assert ax.get_xlabel() == "auROC (pooled)"
    low, high = ax.get_xlim()
    assert low < values.min()
    assert high > 0.8


def test_only_auroc_has_a_line_at_one_half():
    ax = scv.plots.plot_permutation(null_test([0.2, 0.3], label="Brier score (pooled)"))
    assert "0.5" not in lines(ax)


def test_permutations_without_a_value_are_counted():
    ax = scv.plots.plot_permutation(null_test([0.4, np.nan, 0.5]))
    assert ax.get_title().endswith("; 1 permutation gave no value")
    assert sum(bar.get_height() for bar in ax.patches) == 2
    with pytest.raises(ArgumentError, match="lacks a class"):
        scv.plots.plot_permutation(
            null_test([np.nan], reason="a training set lacks a class")
        )


def test_permutations_with_equal_values():
    ax = scv.plots.plot_permutation(null_test([0.5] * 9, null=0.5))
    (bar,) = ax.patches
    assert bar.get_height() == 9
    assert bar.get_x() < 0.5 < bar.get_x() + bar.get_width()


def test_the_test_of_a_result_is_drawn_and_others_raise_an_error(results):
    test = results["large"].test(n_permutations=99)
    ax = scv.plots.plot_permutation(test)
    assert lines(ax)[f"observed {test.estimate:.3f}"] == test.estimate
    assert sum(bar.get_height() for bar in ax.patches) == 99
    own = scv.plots.plot_permutation(results["small"])
    assert "999 permuted outcomes" in own.get_title()
    with pytest.raises(ArgumentError, match="no permutations"):
        scv.plots.plot_permutation(results["large"].test(method="pairs"))
    with pytest.raises(ArgumentTypeError, match="not list"):
        scv.plots.plot_permutation([0.4, 0.5])
    with pytest.raises(ArgumentTypeError, match="not FoldPlan"):
        scv.plots.plot_permutation(results["small"].plan)


# ---- groups of the records ----


def test_groups_and_their_differences_are_drawn_in_two_plots():
    ehr = scv.load_data("ehr")
    ehr["site"] = np.array(["north", "east", "south"])[np.arange(len(ehr)) % 3]
    result = scv.cv("y ~ x1 + x3", ehr, k=3, seed=1)
    upper, lower = scv.plots.plot_groups(result, metric="brier", by="site")
    figure = upper.figure
    figure.canvas.draw()
    texts = [text.get_text() for text in lower.get_yticklabels()]
    assert texts[0].startswith("north minus east\np (Holm) = ")
    renderer = figure.canvas.get_renderer()
    boxes = [ax.get_tightbbox(renderer) for ax in (upper, lower)]
    assert not boxes[0].overlaps(boxes[1])
    found = result.compare_groups("brier", by="site", reference="east")
    drawn = [line for line in lower.lines if line.get_gid() == "interval"]
    ends = np.array([line.get_xdata() for line in drawn])
    assert ends == pytest.approx(found[["lower", "upper"]].to_numpy())


@pytest.mark.parametrize("many", [3, 40])
def test_labels_of_rows_do_not_overlap_in_small_axes(many):
    import matplotlib.pyplot as plt

    name = "the hospital of town number {} in the region of the north-east"
    table = pd.DataFrame(
        {
            "site": [name.format(number) for number in range(many)],
            "estimate": 0.5,
            "lower": 0.4,
            "upper": 0.6,
            "n": 1000,
        }
    )
    figure, axes = plt.subplots(1, 2, figsize=(14, 4), layout="constrained")
    for ax in axes:
        scv.plots.plot_forest(
            table, ax=ax, names="site", summary=(0.5, 0.4, 0.6, 0.2, 0.8)
        )
    figure.draw_without_rendering()
    for ax in axes:
        for texts in (ax.get_yticklabels(), ax.texts):
            boxes = [text.get_window_extent() for text in texts]
            for above, below in itertools.pairwise(boxes):
                assert above.y0 >= below.y1 - 0.5
