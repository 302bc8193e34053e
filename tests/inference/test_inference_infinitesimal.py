"""The infinitesimal jackknife, checked by refits and slow loops."""

import itertools
import pickle
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from statsmodels.stats.proportion import proportion_confint

import statcv as scv
from statcv.engine import Setup, run
from statcv.errors import CostWarning
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.inference.estimates import pair_variation as added
from statcv.inference.estimates.draws import DRAWS, Draws, _form, _weights, draw
from statcv.inference.estimates.influences import Units, influences
from statcv.inference.intervals.infinitesimal import (
    METHOD,
    by_deletion,
    infinitesimal_interval,
)
from statcv.inference.intervals.interval import wilson_limits
from statcv.inference.intervals.request import IntervalRequest
from statcv.metrics import METRICS
from statcv.metrics.discrimination import concordance_counts
from statcv.models import Linear, Logit, Statsmodels, resolve_model
from statcv.sensitivity import Sensitivity

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.FoldWarning",
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.UndefinedMetricWarning",
)

DEFAULT = "infinitesimal_jackknife"
AUROC, BRIER = METRICS["auroc"], METRICS["brier"]
HAND_TILL, CONCORDANCE = METRICS["auroc_hand_till"], METRICS["concordance"]


def simulated(n, seed=1):
    """Draw records with a binary, a continuous and a three-class outcome."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    z = X @ [1.0, 0.7, -0.5, 0.0] + rng.logistic(size=n)
    made = pd.DataFrame(X, columns=list("abcd"))
    made["g"] = np.array(list("pqr"))[np.digitize(z, [-0.6, 0.8])]
    return made.assign(y=(z > 0.3).astype(int), z=z.round(1))


# ---- one model, spelled in several ways ----

EXACT = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
DATA = {
    "spector": (scv.load_data("spector"), "GRADE", "GPA", "TUCE"),
    "simulated": (simulated(26), "y", "a", "b"),
}
SPELLINGS = {
    "center": {"formula": "{y} ~ center({x}) + {w}"},
    "scikit-learn": {"model": EXACT},
    "statsmodels": {"model": Statsmodels(sm.Logit)},
}


def spelled(name, spelling, **more):
    """Return a result, and that of the same model in another spelling."""
    data, y, x, w = DATA[name]
    first = scv.cv(f"{y} ~ {x} + {w}", data, seed=1, **more)
    changed = dict(SPELLINGS[spelling])
    if "formula" in changed:
        changed["formula"] = changed["formula"].format(y=y, x=x, w=w)
    return first, first.update(**changed)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    "scheme",
    [
        {"scheme": "kfold", "k": 4},
        {"scheme": "stratified_kfold", "k": 4},
        {"scheme": "rloocv", "repeats": 1},
        {"scheme": "loocv"},
        {"scheme": "leave_pair_out"},
    ],
    ids=lambda scheme: scheme["scheme"],
)
def test_the_interval_and_the_test_do_not_depend_on_the_spelling(
    name, spelling, scheme
):
    first, other = spelled(name, spelling, **scheme)
    rtol = 1e-6 if spelling == "center" else 1e-4
    for metric in ("auroc", "auprc", "brier"):
        one, two = first.estimate(metric), other.estimate(metric)
        assert one.interval.name == two.interval.name == DEFAULT
        assert (one.how, one.method, one.assumes) == (two.how, two.method, two.assumes)
        limits = [(e.lower, e.upper, e.se) for e in (one, two)]
        np.testing.assert_allclose(*limits, rtol=rtol)
    assert scv.compare(one=first, two=other).method.name == DEFAULT
    assert scv.compare(one=first, reference="null").method.name == DEFAULT
    assert scv.compare(first, first.update(model="mean")).method.name != DEFAULT


def test_a_ridge_is_the_same_ridge_in_other_software():
    given = {"data": simulated(60), "scheme": "stratified_kfold", "k": 5, "seed": 1}
    tight = LogisticRegression(C=0.5, tol=1e-10, solver="newton-cholesky")
    ours = scv.cv("y ~ a + b", model=Logit(C=0.5), **given)
    theirs = scv.cv("y ~ a + b", model=tight, **given)
    for metric in ("auroc", "brier", "calibration_slope"):
        one, two = ours.estimate(metric), theirs.estimate(metric)
        assert one.interval.name == two.interval.name == DEFAULT
        np.testing.assert_allclose(
            (one.lower, one.upper), (two.lower, two.upper), rtol=1e-5
        )


@pytest.mark.parametrize("n", [60, 600, 1500])
def test_the_default_does_not_depend_on_the_number_of_records(n):
    data = simulated(n)
    first = scv.cv("y ~ a", data, k=5, seed=1)
    for metric in ("auroc", "brier", "calibration_slope"):
        assert first.estimate(metric).interval.name == DEFAULT
    second = first.update(formula="y ~ a + b")
    assert scv.compare(first, second).method.name == DEFAULT
    tree = first.update(model=DecisionTreeClassifier(max_depth=2, random_state=0))
    found = [tree.estimate(*asked).interval.name for asked in TREE]
    assert found == list(TREE.values())
    for how in ("per_fold", "pooled"):
        assert scv.compare(first, tree, how=how).method.name == "corrected_influence"
    for metric in ("brier", "oe_ratio"):
        found = scv.compare(first, tree, metric=metric).method.name
        assert found == "corrected_influence"


TREE = {  # the default intervals of a model without a likelihood
    ("auroc", "per_fold"): "corrected_influence",
    ("auroc", "pooled"): "corrected_influence",
    ("auroc", "paired"): "corrected_influence",
    ("brier", "per_fold"): "corrected_t",
    ("brier", "pooled"): "corrected_influence",
    ("oe_ratio", "pooled"): "corrected_influence",
}


# ---- draws beside refits with the same weights ----


@pytest.mark.parametrize("scheme", [{"k": 5}, {"scheme": "rloocv", "repeats": 1}])
@pytest.mark.parametrize("metric", ["brier", "auroc", "calibration_intercept"])
def test_draws_are_near_to_refits_with_the_same_weights(metric, scheme):
    data = simulated(80)
    res = scv.cv("y ~ a + b", data, model=Logit(C=1.0), seed=1, **scheme)
    asked = METRICS[metric], res.scores.headline(METRICS[metric])
    moved = draw(res.scores, [asked])[0].error
    form = _form(res.scores, *asked)
    slow = []
    for weights in next(_weights(np.arange(80), 80, DRAWS, DRAWS))[:40]:
        again = res.update(scheme=res.plan, k=None, repeats=None, weights=weights)
        given = again.scores.predicted[None], again.scores.left.predicted[None]
        full = again.predict(data).to_numpy()[None]
        slow.append((form.value(*given, weights[None]) - form.of_model(full))[0])
    assert np.corrcoef(moved[:40], slow)[0, 1] > 0.93
    assert 0.8 < moved[:40].std() / np.std(slow) < 1.35


def test_all_of_what_ranks_owe_to_the_fits_is_counted_and_half_of_other_metrics():
    res = scv.cv("y ~ a + b", simulated(50), model=Logit(C=1.0), k=5, seed=1)
    for metric, share in ((AUROC, 1.0), (BRIER, 0.5)):
        draws = influences(res.scores, metric).draws
        more = draws.error.var() - draws.held.var()
        assert draws.excess == pytest.approx(share * max(more, 0))
        assert sum(draws.sides) / 2 == pytest.approx(draws.excess, rel=0.05)
        calm = replace(draws, error=draws.held / 2)
        assert calm.excess == 0
    found = influences(res.scores, BRIER)
    given = res.estimate("brier", "pooled", interval="influence")
    assert given.se == pytest.approx(np.sqrt(found.given_fits))
    assert given.se < res.estimate("brier", "pooled").se
    assert influences(res.scores, BRIER, of_fits=False).draws is None


def test_errors_above_the_truth_call_for_a_lower_limit_that_is_further_away():
    held = np.zeros(DRAWS)
    skewed = Draws(np.where(np.arange(DRAWS) < 20, 9.0, -1.0), held, held)
    below, above = skewed.sides
    assert below == pytest.approx(9 * above)
    turned = replace(skewed, error=-skewed.error)
    assert turned.sides == (above, below)


def test_draws_do_not_depend_on_how_many_are_made_at_a_time(monkeypatch):
    res = scv.cv("y ~ a + b", simulated(50), k=5, seed=1)
    whole = draw(res.scores, [(AUROC, "per_fold"), (BRIER, "pooled")])
    monkeypatch.setattr("statcv.inference.estimates.draws.CELLS", 7 * 50)
    parts = draw(res.scores, [(AUROC, "per_fold"), (BRIER, "pooled")])
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.error, other.error, atol=1e-12)
        np.testing.assert_allclose(one.held, other.held, atol=1e-12)


@pytest.mark.parametrize("outcome", ["y", "g", "z"])
def test_a_draw_with_equal_weights_is_the_estimate(outcome):
    """The formula of every metric with equal weights is the metric itself."""
    res = scv.cv(f"{outcome} ~ a + b", simulated(60), k=4, repeats=2, seed=1)
    given = res.scores.predicted[None], res.scores.left.predicted[None]
    for name in res.metric_names:
        for how in ("pooled", "per_fold", "paired"):
            metric = METRICS[name]
            several = metric.pairs == "each two classes"  # whose pairs are weighted
            if how != "pooled" and (metric.pairs is None or not metric.rank):
                continue
            if how == "paired" and several:
                continue
            form = _form(res.scores, metric, how)
            found = form.value(*given, np.ones((1, 60)))[0]
            assert found == pytest.approx(res.estimate(name, how).value, abs=1e-7)


def test_listed_pairs_with_equal_weights_have_the_estimate():
    for outcome, metric in (("y", "auroc"), ("g", "auroc_hand_till")):
        res = scv.cv(f"{outcome} ~ a + b", simulated(40), scheme="rloocv", seed=1)
        given = res.scores.predicted[None], res.scores.left.predicted[None]
        form = _form(res.scores, METRICS[metric], "paired")
        found = form.value(*given, np.ones((1, 40)))[0]
        assert found == pytest.approx(res.estimate(metric, "paired").value, abs=1e-9)


def test_the_degrees_of_freedom_are_those_of_the_smaller_class():
    data = simulated(60).sort_values("z", ignore_index=True).tail(33)
    data["site"] = np.arange(33) // 3
    zeros = int((data["y"] == 0).sum())
    assert 5 < zeros < 16
    res = scv.cv("y ~ a + b", data, model=Logit(C=1.0), k=4, seed=1)
    heavy = influences(res.scores, BRIER).heavy_df
    for metric, df in {"auroc": 2 * (zeros - 1), "brier": min(32, heavy)}.items():
        assert res.estimate(metric, "pooled").interval.df == df
    balanced = scv.cv("y ~ a", simulated(60), k=4, seed=1).estimate("auroc")
    assert balanced.interval.df <= 59
    sites = res.update(stratify=scv.by_value("site"))
    with_zeros = data.loc[data["y"] == 0, "site"].nunique()
    found = sites.estimate("auroc", "pooled")
    assert found.interval.df == 2 * (with_zeros - 1)
    assert found.method == "infinitesimal jackknife summed by cluster"
    heavy = influences(sites.scores, BRIER).heavy_df
    assert sites.estimate("brier", "pooled").interval.df == min(10, heavy)


def test_the_variance_of_clusters_is_that_of_their_totals():
    data = simulated(60).assign(site=np.arange(60) // 3)
    by = {"stratify": scv.by_value("site"), "k": 4, "seed": 1}
    res = scv.cv("y ~ a + b", data, model=Logit(C=1.0), **by)
    found = influences(res.scores, BRIER)
    for moved in (found.held, found.held**2):
        totals = np.array([moved[3 * site : 3 * site + 3].sum() for site in range(20)])
        expected = 20 / 19 * ((totals - totals.mean()) ** 2).sum()
        assert found.units.variance(moved) == pytest.approx(expected)
    pooled = res.estimate("auroc", "pooled", interval="delong")
    area = influences(res.scores, AUROC)
    assert area.given_fits == pytest.approx(pooled.se**2)


# ---- limits of Wilson's shape ----


@given(st.integers(1, 400), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_limits_of_a_share_are_wilson_s(n, data, level):
    hits = data.draw(st.integers(0, n))
    found = wilson_limits(hits / n, 1 / n, level, np.inf)
    expected = proportion_confint(hits, n, alpha=1 - level, method="wilson")
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_part_of_the_variance_may_not_depend_on_the_share():
    found = wilson_limits(0.8, 1 / 50, 0.95, np.inf, 0.002)
    for limit in found:
        variance = limit * (1 - limit) / 50 + 0.002
        assert abs(limit - 0.8) == pytest.approx(1.959963984540054 * variance**0.5)
    assert wilson_limits(0.97, 1 / 50, 0.95, np.inf, 0.002)[1] == 1


@pytest.mark.parametrize(
    ("metric", "how"),
    [
        ("auroc", "pooled"),
        ("auroc", "per_fold"),
        ("auprc", "per_fold"),
        ("accuracy", "pooled"),
        ("brier", "pooled"),
        ("calibration_slope", "pooled"),
    ],
)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_limit_is_the_value_that_the_test_just_rejects(metric, how, level):
    data = simulated(70)
    res = scv.cv("y ~ a + b", data, scheme="stratified_kfold", k=5, seed=1)
    found = res.estimate(metric, how, level)
    wilson = metric not in ("brier", "calibration_slope")
    assert found.interval.scale == ("wilson" if wilson else "identity")
    call = {"method": DEFAULT, "alternative": "two-sided", "level": level}
    for limit in (found.lower, found.upper):
        test = res.test(metric, how, null=limit, **call)
        assert test.p_value == pytest.approx(1 - level, abs=1e-9)
    inside = res.test(metric, how, null=found.value, **call)
    assert inside.p_value == pytest.approx(1)


# ---- pairs that are compared, and those that are not ----


@st.composite
def with_ties(draw):
    """Draw outcomes and predictions with many ties."""
    n = draw(st.integers(6, 16))
    values = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    y = draw(values)
    y[:4] = 0, 1, 0, 1
    return np.array(y), np.array(draw(values)) / 8


def won(high, low):
    return float(high > low) + 0.5 * float(high == low)


@given(with_ties())
def test_the_interaction_of_classes_is_that_of_a_double_loop(drawn):
    y, x = drawn[0] % 2, drawn[1]
    ones, zeros = x[y == 1], x[y == 0]
    table = np.array([[won(high, low) for low in zeros] for high in ones])
    area = table.mean()
    total = 0.0
    for i, j in itertools.product(range(len(ones)), range(len(zeros))):
        alone = table[i].mean() + table[:, j].mean() - area
        total += (table[i, j] - alone) ** 2
    found = added._interaction(y, x, (0, 1))
    assert found == pytest.approx(total / table.size, abs=1e-12)
    # with several classes, the mean of both columns
    columns = np.column_stack([x[::-1], x, -x])
    first, second = (added._interaction(y, one, (0, 1)) for one in columns.T[:2])
    both = added._interaction(y, columns, (0, 1))
    assert both == pytest.approx((first + second) / 2, abs=1e-12)


@given(with_ties())
def test_the_interaction_of_numbers_is_that_of_a_double_loop(drawn):
    y, x = drawn
    n = len(y)
    pairs = [(i, j) for i in range(n) for j in range(n) if y[i] > y[j]]
    values = {pair: won(x[pair[0]], x[pair[1]]) for pair in pairs}
    share = np.mean(list(values.values()))
    own = defaultdict(list)
    for (i, j), value in values.items():
        own[i].append(value)
        own[j].append(value)
    of = {i: np.mean(every) - share for i, every in own.items()}
    total = sum(
        (value - share) ** 2 - of[i] ** 2 - of[j] ** 2
        for (i, j), value in values.items()
    )
    found = added._interaction(y, x, added.NUMBERS)
    assert found == pytest.approx(max(total / len(pairs), 0.0), abs=1e-12)


@pytest.mark.parametrize(
    ("formula", "metric"),
    [("y ~ a", AUROC), ("g ~ a", HAND_TILL), ("z ~ a", CONCORDANCE)],
)
def test_all_pairs_add_no_variance(formula, metric):
    data, model = simulated(20), Linear() if formula[0] == "z" else Logit(C=1.0)
    res = scv.cv(formula, data, model=model, scheme="leave_pair_out", seed=1)
    found = influences(res.scores, metric, "paired")
    assert added.pair_variation(res.scores, metric, "paired", found) < 1e-15
    assert added.pair_variation(res.scores, metric, "pooled", found) == 0
    folds = scv.cv(formula, simulated(40), k=4, seed=1).scores
    found = influences(folds, metric, "paired")
    assert added.pair_variation(folds, metric, "paired", found) > 1e-5


@pytest.mark.parametrize("how", ["per_fold", "paired"])
@pytest.mark.parametrize("by", ["y", "z"])
def test_the_weights_of_pairs_within_folds_are_those_of_a_loop(how, by):
    data = simulated(37)
    scheme = "stratified_kfold" if by == "y" else "kfold"
    res = scv.cv(f"{by} ~ a", data, scheme=scheme, k=4, seed=1)
    outcome = data[by].to_numpy()
    folds = [res.plan.test(split) for split in range(4)]
    inside = [
        sum(outcome[i] != outcome[j] for i, j in itertools.combinations(fold, 2))
        for fold in folds
    ]
    weights = []
    for pairs in inside:
        each = 1 / (4 * pairs) if how == "per_fold" else 1 / sum(inside)
        weights += [each] * pairs
    assert sum(weights) == pytest.approx(1)
    every = sum(a != b for a, b in itertools.combinations(outcome, 2))
    expected = sum(weight**2 for weight in weights) - 1 / every
    metric, sides = (AUROC, (0, 1)) if by == "y" else (CONCORDANCE, added.NUMBERS)
    found = added._concentration(res.scores, metric, how, sides)
    assert found == pytest.approx(expected, rel=1e-10)
    moved = influences(res.scores, metric, how)
    ((_, y, read),) = moved.ranked
    total = added.pair_variation(res.scores, metric, how, moved)
    assert total == pytest.approx(expected * added._interaction(y, read, sides))


def test_every_two_classes_have_one_part_of_the_variance():
    res = scv.cv("g ~ a", simulated(60), k=4, seed=1)
    found = influences(res.scores, HAND_TILL, "per_fold")
    ((_, y, read),) = found.ranked
    codes, parts = res.design.y, []
    for a, b in itertools.combinations(range(3), 2):
        counts = [np.bincount(codes[res.plan.test(s)]) for s in range(4)]
        each = [1 / (16 * count[a] * count[b]) for count in counts]
        every = (codes == a).sum() * (codes == b).sum()
        interaction = added._interaction(y, read, (a, b))
        parts.append(interaction * (sum(each) - 1 / every))
    total = added.pair_variation(res.scores, HAND_TILL, "per_fold", found)
    assert total == pytest.approx(sum(parts) / 9)


def test_a_mean_of_folds_varies_by_what_their_records_do_not_explain():
    res = scv.cv("y ~ a", simulated(60), scheme="stratified_kfold", k=5, seed=1)
    metric = METRICS["auprc"]
    found = influences(res.scores, metric, "per_fold")
    y, rest = res.design.y, []
    for split in range(5):
        rows = res.plan.test(split)
        own = res.scores.predicted[res.scores.split == split]
        order = res.scores.row[res.scores.split == split]
        explained = sum(
            (y == code).sum() * found.held[rows[y[rows] == code]].mean()
            for code in (0, 1)
        )
        rest.append(metric(y[order], own) - explained)
    total = added.pair_variation(res.scores, metric, "per_fold", found)
    assert total == pytest.approx(np.var(rest, ddof=1) / 5)


@pytest.mark.parametrize(
    ("scheme", "how"),
    [
        ({"scheme": "stratified_kfold", "k": 5}, "per_fold"),
        ({"scheme": "stratified_kfold", "k": 5}, "paired"),
        ({"scheme": "rloocv", "repeats": 2}, "paired"),
    ],
)
@pytest.mark.parametrize("fits", ["varied", "given", "correlated"])
def test_the_limits_count_the_records_the_fits_and_the_pairs(scheme, how, fits):
    res = scv.cv("y ~ a + b", simulated(50), model=Logit(C=1.0), seed=1, **scheme)
    found = influences(res.scores, AUROC, how, of_fits=fits == "varied")
    pairs = added.pair_variation(res.scores, AUROC, how, found)
    assert pairs > 0
    value = float(res.estimate("auroc", how))
    asked = IntervalRequest(res.scores, AUROC, how, 0.9)
    assert asked.value == value
    made = infinitesimal_interval(asked, fits)
    spread, inflated = found.value * (1 - found.value), 1.0
    if fits == "correlated":  # each of k folds holds out a k-th of the records
        folds = res.plan.n_splits / res.plan.repeats
        inflated = 1 + (folds - 1) / folds
    known = found.given_fits + pairs
    excess, sides = (0, (0, 0))
    if fits == "varied":
        excess, sides = found.draws.excess, found.draws.sides
    rate = (known + excess) * inflated / spread
    assert made.se == pytest.approx(np.sqrt(rate * value * (1 - value)))
    for place, side in enumerate(sides):
        rate = (known + side) * inflated / spread
        limit = wilson_limits(value, rate, 0.9, made.df)[place]
        assert (made.lower, made.upper)[place] == pytest.approx(limit)
    if fits == "varied":
        default = res.estimate("auroc", how, 0.9)
        assert (default.lower, default.upper) == (made.lower, made.upper)


@pytest.mark.parametrize(
    ("model", "left", "names", "half"),
    [
        (scv.models.Neighbors(9), "z", ("rmse", "mae", "r2"), 0.5),
        (KNeighborsRegressor(9), "z", ("rmse", "mae", "r2"), 0.5),
        (scv.models.Neighbors(9), "y", ("brier", "accuracy"), 1.0),
        (DecisionTreeRegressor(max_depth=2), "z", ("rmse", "mae", "r2"), 1.0),
    ],
)
def test_errors_of_neighbors_are_corrected_by_half(model, left, names, half):
    """A mean of several outcomes hardly depends on one, unlike a class or a tree."""
    folds = {"scheme": "kfold", "k": 6, "seed": 1}
    res = scv.cv(f"{left} ~ a + b", simulated(60), model=model, **folds)
    for name in names:
        one, given = (
            res.estimate(name, "pooled", interval=interval).se
            for interval in ("corrected_influence", "influence")
        )
        assert (one / given) ** 2 == pytest.approx(1 + half * 5 / 6), name


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_errors_of_neighbors_are_covered_without_excess_width(skewed):
    rows = []
    for seed in range(200):
        rng = np.random.default_rng([seed, 20261129])
        X = rng.uniform(-1.5, 1.5, size=(4080, 3))
        noise = rng.exponential(size=4080) - 1 if skewed else rng.normal(size=4080)
        data = pd.DataFrame(X, columns=list("abc"))
        data["z"] = X @ [0.8, -0.5, 0.0] + 0.8 * noise
        some, fresh = data[:80], data[80:]
        model = scv.models.Neighbors(12)
        res = scv.cv("z ~ a + b + c", some, model=model, seed=seed, metrics="rmse")
        truth = np.sqrt(np.mean((fresh["z"] - res.predict(fresh)) ** 2))
        one = res.estimate()
        rows.append((truth, one.value, one.lower, one.upper))
    truth, value, lower, upper = np.array(rows).T
    covered = np.mean((lower <= truth) & (truth <= upper))
    ratio = (upper - lower).mean() / (2 * np.quantile(np.abs(value - truth), 0.95))
    assert 0.91 <= covered <= 0.995, covered
    assert 0.9 <= ratio <= 1.4, ratio


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_weights_of_rebalanced_pairs_are_those_of_a_loop(repeats):
    data = simulated(24)
    res = scv.cv("y ~ a", data, scheme="rloocv", repeats=repeats, seed=1)
    table = res.pairs
    weights = defaultdict(float)
    size = table.groupby("repeat").size()
    for _, pair in table.iterrows():
        members = frozenset((pair["row"], pair["partner"]))
        weights[members] += 1 / (repeats * size[pair["repeat"]])
    assert sum(weights.values()) == pytest.approx(1)
    every = data["y"].sum() * (1 - data["y"]).sum()
    expected = sum(weight**2 for weight in weights.values()) - 1 / every
    found = added._concentration(res.scores, AUROC, "paired", (0, 1))
    assert found == pytest.approx(expected, rel=1e-10)


# ---- what is learnt in the training sets ----

N = 40
STEP = 1e-4  # step of a weight


def setup_of(model, formula, scheme="kfold", weights=None, **more):
    design = make_design(formula, simulated(N, 3), scope={})
    kind = design.outcome.kind
    size = {"k": 3} if scheme == "kfold" else {}
    plan = make_plan(scheme, design.y, kind, seed=3, **size, **more)
    return Setup(design, plan, resolve_model(model, kind), 1, weights)


def held_of(setup):
    given = setup.weights
    return run(setup.design, setup.plan, setup.model, seed=1, weights=given, n_jobs=1)


WEIGHTS = np.random.default_rng(5).uniform(0.3, 2.0, N)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("scheme", ["kfold", "rloocv"])
def test_linear_predictors_are_standardised_in_the_training_set(scheme, weights):
    more = {"rebalance": "subsample"} if scheme == "rloocv" else {}
    setup = setup_of(Logit(C=1.0), "y ~ a + b", scheme, weights, **more)
    held = held_of(setup)
    sensitivity = Sensitivity.of(setup, held)
    turn = np.random.default_rng(1).permutation(len(held.fit))
    found = sensitivity.standardised(held.fit[turn], held.row[turn])
    X, y, slow = setup.records.X, setup.records.y, []
    for fit, row in zip(held.fit[turn], held.row[turn], strict=True):
        train = setup.plan.train(fit)
        eta = X @ held.linear.coefficients[fit]
        shares = np.ones(len(train)) if weights is None else weights[train].copy()
        if scheme == "rloocv" and weights is not None:
            for code in (0, 1):  # a class has the same mean weight in all fits
                own = y[train] == code
                shares[own] *= weights[y == code].mean() / shares[own].mean()
        mean = np.average(eta[train], weights=shares)
        spread = np.average((eta[train] - mean) ** 2, weights=shares)
        slow.append((eta[row] - mean) / np.sqrt(spread))
    np.testing.assert_allclose(found, slow, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scheme", ["kfold", "rloocv"])
def test_equal_values_of_one_covariate_tie_whatever_fit_predicts_them(scheme):
    """Otherwise the influences of a binary marker vary as if ties were broken."""
    data = pd.DataFrame({"y": np.arange(60) % 5 < 2, "x": np.arange(60) % 7 < 3})
    data.loc[:7, "x"] = data.loc[:7, "y"]
    res = scv.cv("y ~ x", data.astype(int), scheme=scheme, seed=1)
    how = res.estimate("auroc").how
    found = influences(res.scores, AUROC, how)
    assert len(np.unique(found.ranked[0][2].round(9))) == 2
    assert added.pair_variation(res.scores, AUROC, how, found) < 1e-12
    given = scv.metrics.delong(data["y"], data["x"]).se ** 2
    assert found.given_fits == pytest.approx(given, rel=1e-9)


def test_records_that_are_all_predicted_alike_are_0_when_standardised():
    setup = setup_of(Logit(), "y ~ 1")
    held = held_of(setup)
    found = Sensitivity.of(setup, held).standardised(held.fit, held.row)
    assert (found == 0).all()


# ---- nothing is fitted that was not asked for ----

CALLS = []


@dataclass(frozen=True)
class Counting:
    """Ridge logistic regression that counts its fits."""

    model: Logit = Logit(C=1.0)  # noqa: RUF009
    label: str = "counted"

    @property
    def capabilities(self):
        return replace(self.model.capabilities, fits_together=False)

    def check(self, *arguments):
        return self.model.check(*arguments)

    def fit(self, train):
        CALLS.append(1)
        return self.model.fit(train)


@pytest.fixture
def counted():
    CALLS.clear()
    data = simulated(40)
    res = scv.cv("y ~ a + b", data, model=Counting(), k=4, seed=1, n_jobs=1)
    assert len(CALLS) == 4
    return res


def test_nothing_that_is_printed_or_stored_makes_a_fit(counted, capsys):
    print(counted)
    assert str(counted.estimate()) in capsys.readouterr().out
    assert f"interval by {DEFAULT.replace('_', ' ')}" in repr(counted.estimate())
    repr(counted)
    str(counted.summary())
    table = counted.metrics()
    again = pickle.loads(pickle.dumps(counted))
    scv.compare(one=counted, two=again)
    assert str(again.summary()) == str(counted.summary())
    pd.testing.assert_frame_equal(again.metrics(), table)
    for metric, how in itertools.product(counted.metric_names, ("pooled", "per_fold")):
        assert counted.estimate(metric, how).interval
    assert len(CALLS) == 4
    counted.estimate("brier", interval="jackknife")
    assert len(CALLS) > 4


@pytest.mark.parametrize("outcome", ["y", "g", "z"])
@pytest.mark.parametrize("scheme", ["stratified_kfold", "rloocv", "montecarlo"])
def test_every_metric_has_an_interval_or_a_reason(outcome, scheme):
    kind = {"y": "binary", "g": "multiclass", "z": "continuous"}[outcome]
    names = [name for name, metric in METRICS.items() if kind in metric.outcomes]
    given = {"scheme": "kfold" if kind == "continuous" else scheme, "metrics": names}
    res = scv.cv(f"{outcome} ~ a + b", simulated(60), seed=1, **given)
    assert set(res.metrics()["metric"]) == set(names)
    there = 0
    for name in names:
        found = res.estimate(name)
        assert len(found.assumes) > 10
        assert (found.method == "none") == np.isnan(found.lower)
        there += found.method != "none"
        if found.method == METHOD:
            assert found.lower < found.value < found.upper
    assert there >= 0.9 * len(names)


def test_the_time_of_refits_is_said_before_they_are_made():
    call = {"model": Logit(C=1.0), "k": 4, "seed": 1}
    res = scv.cv("y ~ a", simulated(30), **call)
    res.estimate("brier", interval="jackknife")  # fast, and without a warning
    seconds = np.full_like(res.held.seconds, 2.0)
    slow = replace(scv.cv("y ~ a", simulated(30), **call))
    slow = replace(slow, held=replace(slow.held, seconds=seconds))
    slow.estimate("brier")
    said = r"interval='jackknife' makes about 120 fits: about 4 min on one core"
    with pytest.warns(CostWarning, match=said):
        found = slow.estimate("brier", interval="jackknife")
    assert found.se == res.estimate("brier", interval="jackknife").se
    slow.estimate("brier", interval="jackknife")  # the first result is kept


# ---- concordance ----


def square_table(y, x):
    """Return the counts of concordance_counts from a table of all pairs."""
    side = np.sign(y[:, None] - y)
    sign = np.sign(x[:, None] - x)
    rivals = (side != 0).sum(axis=1)
    tied = ((side != 0) & (sign == 0)).sum(axis=1)
    wins = (side * sign > 0).sum(axis=1) + tied / 2
    return wins, rivals, tied


def assert_counts(y, x):
    found = concordance_counts(y, x)
    each = (found.won, found.rivals, found.tied)
    for own, expected in zip(each, square_table(y, x), strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-8)


@pytest.mark.parametrize("values", [3, 40, 10**6])
def test_concordance_of_many_records_is_that_of_a_table(values):
    rng = np.random.default_rng(values)
    y, x = rng.integers(0, values, 600), rng.integers(0, 50, 600) / 16
    assert_counts(y, x)
    assert_counts(y, rng.normal(size=600))


@given(with_ties())
def test_concordance_is_that_of_a_table_of_all_pairs(drawn):
    assert_counts(*drawn)


@pytest.mark.parametrize("model", ["mean", "negmean"])
def test_a_constant_in_each_fold_has_no_interval(model):
    """Pooled over folds it would have one, as the constants differ."""
    res = scv.cv("y ~ a", simulated(60), model=model, k=4, seed=1)
    one = res.estimate("auroc", how="per_fold")
    assert one.value == 0.5
    assert np.isnan(one.lower)
    assert "no record moves the estimate" in repr(one)


# ---- parts of the variance that have no derivative ----


def test_a_precision_varies_with_the_share_of_positive_records():
    data = simulated(300)
    res = scv.cv("y ~ a + b", data, model="neighbors", seed=1)
    auprc, scores = METRICS["auprc"], res.scores
    found, y = influences(scores, auprc), data["y"] == 1
    # the derivative of the metric by the logarithm of the odds of being positive
    weights = np.array([np.where(y, np.exp(h), 1.0) for h in (-1e-4, 1e-4)])
    p = np.empty(300)
    p[scores.row] = scores.predicted
    rate = np.diff(auprc.weighted(data["y"].to_numpy(), p[None], weights)).item() / 2e-4
    of_shares = rate**2 * (1 / y.sum() + 1 / (~y).sum())
    assert found.of_shares == pytest.approx(of_shares, rel=0.03)
    se = res.estimate("auprc").se
    turned = np.divide(
        *(v * (1 - v) for v in (res.estimate("auprc").value, found.value))
    )
    more = by_deletion(auprc, [found])  # hardly, with many records
    assert 1 <= more < 1.05
    linear = 1.9 * found.given_fits + found.of_shares
    assert se**2 == pytest.approx(turned * more * linear)


def test_a_difference_of_precisions_varies_as_the_deletion_of_records_shows():
    data, auprc, both, values = simulated(60), METRICS["auprc"], [], np.zeros(60)
    y = data["y"].to_numpy()
    for sign, column in ((1, "a"), (-1, "b")):
        scores = scv.cv(f"y ~ {column}", data, k=5, seed=1).scores
        both.append(influences(scores, auprc))
        p = np.empty(60)
        p[scores.row] = scores.predicted
        kept = [np.delete(np.arange(60), number) for number in range(60)]
        values += sign * np.array([auprc(y[some], p[some], None) for some in kept])
    ratio = (59 / 60) ** 2 * values.var() / (both[0].held - both[1].held).var()
    assert ratio > 1
    assert by_deletion(auprc, both) == pytest.approx(ratio)
    assert by_deletion(METRICS["auroc"], both) == 1


def test_the_loss_of_sure_predictions_may_be_wrong_although_none_was():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, 100)
    p[:8] = [0, 0, 0, 0, 1, 1, 1, 1]
    data = pd.DataFrame({"y": (rng.random(100) < p).astype(int), "p": p})
    data["fold"] = np.arange(100) % 5
    read = {"observed": "y", "predicted": "p", "fold": "fold"}
    one = scv.from_predictions(data, **read).estimate("log_loss").interval
    assert one.name == "corrected_influence"
    more = (0.08 * 52 * np.log(2)) ** 2 * (0.1 * 0.9) / 8
    assert one.sides[1] ** 2 - one.sides[0] ** 2 == pytest.approx(more)
    assert one.se == one.sides[0]
    data.loc[0, "p"] = 1.0  # a wrong one is counted among the losses
    wrong = scv.from_predictions(data, **read).estimate("log_loss").interval
    assert wrong.sides[0] == wrong.sides[1] > one.sides[1]


# ---- other records, and slopes below 0 ----


@pytest.mark.parametrize("clusters", [None, "site"])
def test_predictions_made_elsewhere_have_wilsons_limits(clusters):
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"y": rng.integers(0, 2, 30), "site": rng.integers(0, 12, 30)})
    data["p"] = 1 / (1 + np.exp(-data["y"] - rng.normal(size=30)))
    read = {"observed": "y", "predicted": "p", "cluster": clusters}
    res = scv.from_predictions(data, **read)
    one, known = res.estimate("auroc"), res.estimate("auroc", interval="delong")
    assert one.interval.name == "influence"
    assert "DeLong's" in one.method
    assert one.se == pytest.approx(known.se, rel=1e-9)
    spread = one.value * (1 - one.value)
    limits = wilson_limits(one.value, known.se**2 / spread, 0.95, one.interval.df)
    assert (one.lower, one.upper) == pytest.approx(limits, rel=1e-9)
    loss = res.estimate("brier")
    records = res.estimate("brier", interval="records")
    assert loss.se == pytest.approx(records.se, rel=1e-9)
    away = student.ppf(0.975, loss.interval.df) * loss.se
    assert loss.upper - loss.value == pytest.approx(away)


def test_a_slope_below_0_errs_by_that_much():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=200), "y": rng.integers(0, 2, 200)})
    res = scv.cv("y ~ x", data, seed=2)
    slope = res.estimate("calibration_slope")
    assert slope.value < 0
    assert slope.interval.sides[1] >= -slope.value > 0
    assert slope.upper > -slope.value
    other = scv.cv("y ~ x", data.assign(x=rng.normal(size=200)), seed=2)
    compared = scv.compare(first=res, second=other, metric="calibration_slope")
    below = min(other.estimate("calibration_slope").value, 0) - slope.value
    assert compared.differences["se"].iloc[0] >= abs(below)


# ---- skewed errors, clusters of unequal size, splits that overlap ----


@pytest.mark.parametrize("metric", ["mae", "mse", "rmse", "poisson_deviance"])
def test_limits_of_a_mean_error_of_numbers_are_even_on_the_log_scale(metric):
    rng = np.random.default_rng(4)
    data = simulated(50).assign(n=rng.poisson(2, size=50))
    counts = metric == "poisson_deviance"
    outcome, model = ("n", "poisson") if counts else ("z", "linear")
    call = {"model": model, "scheme": "kfold", "metrics": [metric], "seed": 1}
    res = scv.cv(f"{outcome} ~ a + b", data, **call)
    found = res.estimate(metric)
    below, above = found.interval.sides
    assert below == above
    t = student.ppf(0.975, found.interval.df)
    assert found.upper == pytest.approx(found.value * np.exp(t * above / found.value))
    assert found.lower == pytest.approx(found.value / np.exp(t * below / found.value))


def test_clusters_of_unequal_size_have_fewer_degrees_of_freedom():
    size = np.array([8, 8, 2, 2, 2, 2])
    unit = np.repeat(np.arange(6), size)
    every = np.ones(len(unit), dtype=bool)
    units = Units(np.zeros_like(unit), unit, every)
    assert units.df == pytest.approx(24**2 / (size**2).sum() - 1)
    # as many of each cluster in either class halve all sizes
    halves = replace(units, sample=np.arange(len(unit)) % 2)
    assert halves.df == pytest.approx(units.df)
    copies = Units(np.zeros(12, dtype=np.intp), np.repeat(np.arange(6), 2), every[:12])
    assert copies.df == 5


@pytest.mark.parametrize("copies", [1, 3])
def test_the_interaction_of_clusters_is_that_of_their_sums(copies):
    data = simulated(40).assign(id=np.arange(40) // 2)
    res = scv.cv("y ~ a + b", data, stratify="id", k=4, seed=1)
    found = influences(res.scores, AUROC, "per_fold", of_fits=False)
    ((row, y, read),) = found.ranked
    y, read, unit = (np.repeat(one, copies) for one in (y, read, found.units.unit[row]))
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    won = (np.sign(read[ones, None] - read[zeros]) + 1) / 2
    left = won - won.mean(axis=0) - won.mean(axis=1, keepdims=True) + won.mean()
    sums, pairs = defaultdict(float), defaultdict(int)
    for i, j in itertools.product(range(len(ones)), range(len(zeros))):
        sums[unit[ones[i]], unit[zeros[j]]] += left[i, j]
        pairs[unit[ones[i]], unit[zeros[j]]] += 1
    by_hand = sum(v**2 for v in sums.values()) / sum(v**2 for v in pairs.values())
    both = (np.repeat(row, copies) * copies + np.arange(len(y)) % copies, y, read)
    number = np.repeat(found.units.unit, copies)
    given = added._interaction_of_both(AUROC, both, both, (0, 1), number)
    assert given == pytest.approx(by_hand)
    # records of one cluster do not win together
    assert by_hand < added._interaction(y, read, (0, 1))


@pytest.mark.parametrize("by", [{}, {"stratify": "id"}])
def test_a_precision_varies_as_when_records_or_clusters_are_deleted(by):
    data = simulated(36, seed=6).assign(id=np.arange(36) // 2)
    res = scv.cv("y ~ a", data, model=DecisionTreeClassifier(max_depth=2), seed=1, **by)
    scores, auprc = res.scores, METRICS["auprc"]
    found = influences(scores, auprc, of_fits=False)
    unit, n = found.units.unit[scores.row], len(np.unique(found.units.unit))
    kept = (unit != one for one in np.unique(unit))
    y, p = scores.y[scores.row], auprc.readable(scores.predicted)
    values = np.array([auprc(y[some], p[some]) for some in kept])
    jackknife = (n - 1) / n * ((values - values.mean()) ** 2).sum()
    linear = found.given_fits + found.of_shares
    assert jackknife > linear
    made = infinitesimal_interval(
        IntervalRequest(scores, auprc, "pooled", 0.95), "given"
    )
    own, at = found.value * (1 - found.value), res.estimate("auprc").value
    assert made.se**2 == pytest.approx(jackknife * at * (1 - at) / own)
