"""Plots of times to an event, checked against metrics and textbook estimates."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError, MetricError, OutcomeError
from statcv.metrics import calibration_groups, net_benefit, roc_band, roc_curve
from statcv.metrics.survival.curves import RisksBy, survival_band
from statcv.numeric.survival import median_follow_up

mpl.use("Agg")
draws = scv.plots


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def patients(n=160, seed=1, end=1500.0):
    rng = np.random.default_rng(seed)
    x, age = rng.normal(size=(2, n))
    time, censored = rng.exponential(700 * np.exp(-x)), rng.uniform(0.05, 1, n) * end
    observed = np.ceil(np.minimum(time, censored))
    site = np.array(["Aarhus", "Bergen"])[rng.integers(0, 2, n)]
    table = {"days": observed, "died": (time <= censored).astype(int), "x": x}
    return pd.DataFrame(table | {"age": age, "site": site})


FORMULA = "Surv(days, died) ~ x + age"


@pytest.fixture(scope="module")
def one():
    return scv.cv(FORMULA, patients(), horizon=365, k=5, seed=1)


@pytest.fixture(scope="module")
def two():
    return scv.cv(FORMULA, patients(), horizon=[365, 730], k=5, repeats=2, seed=1)


@pytest.fixture(scope="module")
def none():
    return scv.cv(FORMULA, patients(), k=5, seed=1)


def curves(ax):
    found = [line for line in ax.lines if line.get_gid() == "curve"]
    return [tuple(map(np.asarray, line.get_data())) for line in found]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def greenwood(time, event, at):
    """Return the survival and its variance, one death after the other."""
    survival, total = 1.0, 0.0
    for moment in sorted(set(time[event])):
        if moment > at:
            break
        risk = (time >= moment).sum()
        deaths = (event & (time == moment)).sum()
        survival *= 1 - deaths / risk
        total += deaths / (risk * (risk - deaths)) if risk > deaths else np.inf
    return survival, survival**2 * total if survival else 0.0


# ---- the ROC curve ----


def test_the_area_under_the_curve_is_the_metric(two):
    ax = draws.plot_roc(two, at=730)
    first, second = (line.get_data() for line in ax.lines if len(line.get_xdata()) > 2)
    areas = [np.trapezoid(y, x) for x, y in (first, second)]
    pooled = two.estimate("auroc@730", how="pooled").value
    assert np.mean(areas) == pytest.approx(pooled, abs=1e-12)
    assert ax.get_title() == "ROC at 730, held-out predictions pooled by repeat"


def test_the_legend_has_the_headline(one):
    paired = scv.cv(FORMULA, patients(60), horizon=365, scheme="rloocv", seed=1)
    for result in (one, paired):
        found = result.estimate("auroc@365")
        (said,) = legend(draws.plot_roc(result))
        assert said.startswith(f"auROC at 365 {found.value:.2f} ({found.lower:.2f} to")
    assert paired.estimate("auroc@365").how == "paired"


def test_without_censoring_the_curve_is_that_of_classes():
    rng = np.random.default_rng(3)
    y, risk = rng.permutation(90) + 1.0, rng.permutation(90) / 90
    risks, ill = RisksBy(y, risk, 40.0), y <= 40
    plain = roc_curve(ill, risk)
    assert_allclose(risks.roc(), (plain.fpr, plain.tpr), atol=1e-12)
    at = np.linspace(0.05, 0.6, 12)
    of_classes = net_benefit(ill, risk, at)
    assert_allclose(risks.net_benefit(at).estimate, of_classes.net_benefit, atol=1e-12)
    assert_allclose(risks.treat_all(at), of_classes.treat_all, atol=1e-12)
    groups, classes = risks.groups(6), calibration_groups(ill, risk, groups=6)
    for name in ("predicted", "observed", "lower", "upper", "count"):
        assert_allclose(getattr(groups, name), getattr(classes, name), atol=1e-12)
    # the bands agree but for which totals the bootstrap keeps
    ours, theirs = risks.roc_band(), roc_band(ill, risk, seed=1)
    width = (ours.upper - ours.lower).mean() / (theirs.upper - theirs.lower).mean()
    assert width == pytest.approx(1, abs=0.15)
    band = risks.net_benefit(at, 0.95)
    width = (band.upper - band.lower) / (of_classes.upper - of_classes.lower)
    assert_allclose(width, 1, atol=0.2)


def test_bands_do_not_depend_on_the_order_of_records():
    table = patients(50)
    y = np.where(table.died == 1, table.days, -table.days)
    risk, turned = 1 / (1 + np.exp(-table.x.to_numpy())), np.arange(50)[::-1]
    one, other = (RisksBy(y[o], risk[o], 365.0) for o in (np.arange(50), turned))
    assert_allclose(one.roc_band().lower, other.roc_band().lower, atol=1e-12)
    clusters = np.arange(50) // 2
    whole = RisksBy(y, risk, 365.0, clusters=clusters).roc_band()
    assert not np.allclose(whole.lower, one.roc_band().lower)


# ---- calibration ----


def test_the_distance_from_the_drawn_curve_is_ici(one):
    (curve,) = curves(draws.plot_calibration(one))
    risk = one.predictions["risk_365"].to_numpy()
    distance = np.abs(np.interp(risk, *curve) - risk).mean()
    assert distance == pytest.approx(one.estimate("ici@365").value, abs=1e-12)


def test_groups_have_kaplan_meier_risks_with_rothman_s_limits(one):
    ax = draws.plot_calibration(one, groups=4)
    bars = ax.containers[0]
    held = one.predictions.sort_values("risk_365")
    edges = np.quantile(held["risk_365"], [0.25, 0.5, 0.75], method="inverted_cdf")
    codes = np.searchsorted(edges, held["risk_365"])
    x, y = bars.lines[0].get_data()
    limits = [path.vertices[:, 1] for path in bars.lines[2][0].get_paths()]
    z = 1.959963984540054
    for k in range(4):
        own = held[codes == k]
        time, event = own["time"].to_numpy(), own["event"].to_numpy()
        survival, variance = greenwood(time, event, 365)
        assert (x[k], y[k]) == pytest.approx((own["risk_365"].mean(), 1 - survival))
        alike = survival * (1 - survival) / variance
        for end in limits[k]:  # Wilson's limits solve a quadratic equation
            error = (1 - survival - end) ** 2 - z**2 * end * (1 - end) / alike
            assert error == pytest.approx(0, abs=1e-9)
    assert "4 groups of 40, Kaplan–Meier" in legend(ax)


def test_the_numbers_are_those_of_the_table(one):
    said = draws.plot_calibration(one).texts[0].get_text().splitlines()
    for line, name in zip(
        said, ("calibration_slope", "calibration_intercept", "oe_ratio"), strict=True
    ):
        value = one.estimate(f"{name}@365", how="pooled").value
        assert f"{value:.2f}".replace("-", "−") in line


def test_groups_that_were_not_followed_are_counted():
    y = np.array([-3.0, -4, -2, 5, 20, 30, 12, -25, 3])
    risk = np.repeat([0.1, 0.5, 0.9], 3)
    found = RisksBy(y, risk, 10.0).groups(3)
    assert np.isnan(found.observed).tolist() == [True, False, False]


# ---- net benefit ----


def test_the_decision_curve_has_the_net_benefit_of_the_metric(one):
    where = [0.1, 0.3, 0.5]
    ax = draws.plot_decision(one, thresholds=where)
    ((x, y),) = curves(ax)
    assert x.tolist() == where
    held, metrics = one.predictions, scv.metrics.survival_metrics((365.0,))
    signed = np.where(held["event"], held["time"], -held["time"])
    for cut, height in zip(where, y, strict=True):
        found = metrics["net_benefit@365"](signed, held["risk_365"], threshold=cut)
        assert height == pytest.approx(found, abs=1e-12)
    table = patients()
    risk = 1 - greenwood(table.days.to_numpy(), table.died.to_numpy() == 1, 365)[0]
    everyone = next(line for line in ax.lines if line.get_label() == "treat all")
    odds = np.array(where) / (1 - np.array(where))
    assert_allclose(everyone.get_ydata(), risk - (1 - risk) * odds, atol=1e-12)


# ---- survival by risk group ----


def test_curves_are_kaplan_meier_estimates_of_thirds(two):
    ax = draws.plot_survival(two)
    held = two.predictions.groupby("row").mean(numeric_only=False)
    edges = np.quantile(held["linear"], [1 / 3, 2 / 3], method="inverted_cdf")
    codes = np.searchsorted(edges, held["linear"])
    for k, (x, y) in enumerate(curves(ax)):
        own = held[codes == k]
        time, event = own["time"].to_numpy(), own["event"].to_numpy() == 1
        for at in (100, 365, 730):
            drawn = y[np.flatnonzero(x <= at)[-1]]
            assert drawn == pytest.approx(greenwood(time, event, at)[0])
    dashed = [line for line in ax.lines if len(line.get_xdata()) == 3]
    means = [1.0, *(1 - held[["risk_365", "risk_730"]][codes == 2].mean())]
    assert_allclose(dashed[2].get_ydata(), means)
    assert legend(ax)[:3] == [
        "lowest third of risk (n = 54)",
        "middle third (n = 53)",
        "highest third of risk (n = 53)",
    ]


def test_numbers_at_risk_are_below_the_times(none):
    ax = draws.plot_survival(none, groups=2)
    held = none.predictions
    edge = np.quantile(held["linear"], 0.5, method="inverted_cdf")
    low = held[held["linear"] <= edge]["time"]
    for at, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True):
        time, first, _ = label.get_text().split("\n")
        assert (float(time), int(first)) == (at, (low >= at).sum())


def test_the_band_and_the_median_follow_up_are_those_of_the_textbook():
    table = patients(40, seed=9)
    time, event = table.days.to_numpy(), table.died.to_numpy() == 1
    y = np.where(event, time, -time)
    band = survival_band(y)
    for at, estimate in zip(band.at[1:], band.estimate[1:], strict=True):
        assert estimate == pytest.approx(greenwood(time, event, at)[0])
    reverse = [greenwood(time, ~event, at)[0] for at in band.at[1:]]
    assert median_follow_up(y) == band.at[1:][np.array(reverse) <= 0.5][0]
    assert np.isnan(median_follow_up(time))


# ---- what is drawn of any data ----

DATA = {
    "thirty records": patients(30, seed=2),
    "all events": patients(80).assign(died=1),
    "heavy censoring": patients(150, end=250.0),
    "ties": patients(80).assign(days=lambda d: 100 * np.ceil(d.days / 400)),
    "a binary predictor": patients(80).assign(x=lambda d: d.x > 0, age=0.0),
}


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
@pytest.mark.parametrize(
    ("what", "several"), [*itertools.product(DATA, [0, 2]), ("thirty records", 1)]
)
def test_four_plots_are_drawn_of(what, several):
    table = DATA[what]
    horizon = [None, 150, [100, 150]][several]
    formula = "Surv(days, died) ~ x" if "binary" in what else FORMULA
    result = scv.cv(formula, table, horizon=horizon, k=5, seed=1)
    axes = result.plot()
    axes[0, 0].figure.canvas.draw()
    titles = [ax.get_title().partition(",")[0] for ax in axes.flat]
    by_time = ["ROC at 150", "Calibration at 150", "Decision curve at 150"]
    if not several:
        by_time = ["AUC over time", "Calibration and decision curve", "95% intervals"]
    assert [one.replace("\n", " ") for one in titles] == [
        *by_time,
        "Survival by risk group",
    ]
    for ax in axes.flat:
        assert ax.lines or ax.texts or ax.collections


def test_several_results_and_groups_are_drawn_together(one):
    less = one.update("Surv(days, died) ~ age")
    both = scv.compare(full=one, less=less)
    assert len(curves(both.plot("roc", at=365))) == 2
    titles = [ax.get_title() for ax in draws.plot_referee(both).flat]
    assert titles[:3] == ["ROC at 365", "Calibration at 365", "Decision curve at 365"]
    drawn = draws.plot_decision(one, by="site")
    assert legend(drawn)[0] == "site = Aarhus"
    lines = curves(draws.plot_roc(one, by="site"))
    own = one.metrics(by="site").set_index(["metric", "site"])["estimate"]
    areas = [np.trapezoid(y, x) for x, y in lines]
    assert_allclose(areas, own["auroc@365"], atol=1e-12)


def test_the_area_over_time_is_that_of_the_linear_predictor(none):
    ax = none.plot()[0, 0]
    ((x, y),) = curves(ax)
    held = none.predictions
    signed = np.where(held["event"], held["time"], -held["time"])
    for time, area in list(zip(x, y, strict=True))[::8]:
        metric = scv.metrics.survival_metrics((float(time),))[f"auroc@{time:g}"]
        assert area == pytest.approx(metric.function(signed, held["linear"]))


# ---- what is refused ----


def test_horizons_are_named_if_one_is_wanted(one, two, none):
    for draw in (draws.plot_roc, draws.plot_calibration, draws.plot_decision):
        with pytest.raises(ArgumentError, match="give at=365 or at=730"):
            draw(two)
        with pytest.raises(ArgumentError, match=r"at=100 is not a horizon.*at=365"):
            draw(one, at=100)
        with pytest.raises(OutcomeError, match=r"give cv\(\) horizon="):
            draw(none)
        assert draw(one).get_title() == draw(one, at=365.0).get_title()
    binary = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    for draw in (draws.plot_roc, draws.plot_calibration, draws.plot_decision):
        with pytest.raises(ArgumentError, match="at=365 is for times to an event"):
            draw(binary, at=365)
    with pytest.raises(OutcomeError, match="'GRADE' is binary"):
        draws.plot_survival(binary)


def test_other_plots_refuse_times_in_a_sentence(one):
    for draw in (draws.plot_pr, draws.plot_risk):
        with pytest.raises(OutcomeError, match="is a time to an event"):
            draw(one)
    with pytest.raises(OutcomeError, match="plot_survival"):
        draws.plot_predicted(one)
    with pytest.raises(ArgumentError, match="not known for censored times"):
        draws.plot_roc(one, band="simultaneous")
    for given in ({"recalibrated": True}, {"smooth": "spline"}):
        with pytest.raises(ArgumentError, match="is for two classes"):
            draws.plot_calibration(one, **given)
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        draws.plot_survival(one, groups=0)
    with pytest.raises(ArgumentError, match="draws one result"):
        draws.plot_survival(one, one)
    with pytest.raises(MetricError, match="below 1"):
        draws.plot_decision(one, thresholds=[0.5, 1.0])
