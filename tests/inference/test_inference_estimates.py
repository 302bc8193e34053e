import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as peer

from statcv import by_hash, by_quantile, by_value, cv
from statcv.errors import MetricError, UndefinedMetricWarning
from statcv.inference import (
    Estimate,
    Interval,
    LeftOut,
    Scores,
    default_interval,
    make_estimate,
    possible_intervals,
)
from statcv.metrics import METRICS, delong
from statcv.models import Logit

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.FoldWarning",
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame["y"] = (frame["a"] + rng.logistic(size=60) > 0.7).astype(int)
    frame["z"] = 3 + frame["b"] + rng.normal(size=60)
    frame["g"] = rng.choice(["p", "q", "r"], 60)
    return frame


def make_scores(y, split, predicted, repeat=None, partners=None, n_train=None):
    """Make scores of records in order; partners are (split, row, predicted)."""
    splits = int(max(split)) + 1
    dropped = partners or (np.empty(0, int), np.empty(0, int), np.empty(0))
    row = np.arange(len(split)) % len(y)
    held = (np.asarray(split), row, np.asarray(predicted, dtype=float))
    repeat = np.zeros(splits, int) if repeat is None else np.asarray(repeat)
    return Scores(
        y=np.asarray(y),
        split=held[0],
        row=row,
        predicted=held[2],
        repeat=repeat,
        n_train=np.full(splits, 10.0) if n_train is None else np.asarray(n_train),
        baseline=np.full(splits, 0.5),
        left=LeftOut.joined(held, tuple(map(np.asarray, dropped)), repeat),
        pairwise=partners is not None,
    )


PEERS = {
    "auroc": lambda y, p, base: peer.roc_auc_score(y, p),
    "auprc": lambda y, p, base: peer.average_precision_score(y, p),
    "brier": lambda y, p, base: np.mean((y - p) ** 2),
    "log_loss": lambda y, p, base: peer.log_loss(y, p, labels=[0, 1]),
    "accuracy": lambda y, p, base: np.mean((p > 0.5) == y),
    "balanced_accuracy": lambda y, p, base: peer.balanced_accuracy_score(y, p > 0.5),
    "rmse": lambda y, p, base: np.sqrt(np.mean((y - p) ** 2)),
    "mse": lambda y, p, base: np.mean((y - p) ** 2),
    "mae": lambda y, p, base: np.mean(np.abs(y - p)),
    "r2": lambda y, p, base: peer.r2_score(y, p),
    "r2_training": lambda y, p, base: (
        1 - np.sum((y - p) ** 2) / np.sum((y - base) ** 2)
    ),
}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("repeats", [1, 3])
def test_pooled_and_per_fold_agree_with_loops(data, name, repeats):
    outcome = "z" if "continuous" in METRICS[name].outcomes else "y"
    result = cv(f"{outcome} ~ a + b", data, k=4, repeats=repeats, seed=1, metrics=name)
    values = data[outcome].to_numpy()
    table = result.predictions.merge(
        pd.DataFrame(
            {
                "repeat": [result.plan.name(s)[0] for s in range(4 * repeats)],
                "fold": [result.plan.name(s)[1] for s in range(4 * repeats)],
                "base": [
                    values[result.plan.train(s)].mean() for s in range(4 * repeats)
                ],
            }
        ),
        on=["repeat", "fold"],
    )

    def value(part):
        return PEERS[name](*part[["observed", "predicted", "base"]].to_numpy().T)

    pooled = [value(part) for _, part in table.groupby("repeat")]
    found = result.estimate(name, "pooled")
    assert float(found) == pytest.approx(np.mean(pooled), abs=1e-12)
    assert (found.n_values, found.n_undefined) == (repeats, 0)
    if repeats > 1:
        assert found.sd == pytest.approx(np.std(pooled, ddof=1), abs=1e-12)
    else:
        assert np.isnan(found.sd)
    folds = [value(part) for _, part in table.groupby(["repeat", "fold"])]
    found = result.estimate(name, "per_fold", interval="corrected_t")
    assert float(found) == pytest.approx(np.mean(folds), abs=1e-12)
    assert found.sd == pytest.approx(np.std(folds, ddof=1), abs=1e-12)
    assert (found.n_values, found.n_undefined) == (4 * repeats, 0)
    assert found.method == "corrected t over folds"
    width = stats.t(4 * repeats - 1).isf(0.025) * np.std(folds, ddof=1)
    width *= np.sqrt(1 / (4 * repeats) + 15 / 45)
    low, high = METRICS[name].bounds
    assert found.lower == pytest.approx(max(np.mean(folds) - width, low), abs=1e-12)
    assert found.upper == pytest.approx(min(np.mean(folds) + width, high), abs=1e-12)


def test_delong_is_the_interval_of_a_pooled_auroc(data):
    result = cv("y ~ a + b", data, k=4, seed=1)
    table = result.predictions
    for level in (0.8, 0.95):
        found = result.estimate("auroc", "pooled", level, interval="delong")
        expected = delong(table["observed"], table["predicted"], level=level)
        assert found.se == pytest.approx(expected.se, abs=1e-14)
        assert found.lower == pytest.approx(expected.lower, abs=1e-14)
        assert found.upper == pytest.approx(expected.upper, abs=1e-14)
        assert found.method == "DeLong"
        assert "too narrow" in found.assumes


@pytest.mark.parametrize("name", ["brier", "log_loss", "accuracy", "mae", "mse"])
def test_casewise_metrics_have_the_interval_of_a_mean_over_records(data, name):
    outcome = "z" if name.startswith("m") else "y"
    result = cv(f"{outcome} ~ a", data, k=4, repeats=3, seed=1, metrics=name)
    loss = {
        "brier": lambda y, p: (y - p) ** 2,
        "log_loss": lambda y, p: -np.log(np.where(y == 1, p, 1 - p)),
        "accuracy": lambda y, p: (p > 0.5) == y,
        "mae": lambda y, p: np.abs(y - p),
        "mse": lambda y, p: (y - p) ** 2,
    }[name]
    table = result.predictions
    losses = loss(table["observed"].to_numpy(), table["predicted"].to_numpy())
    by_record = pd.Series(np.asarray(losses, float)).groupby(table["row"]).mean()
    found = result.estimate(name, "pooled", interval="records")
    assert len(by_record) == 60
    assert float(found) == pytest.approx(by_record.mean())
    assert found.se == pytest.approx(stats.sem(by_record))
    assert found.upper == pytest.approx(
        min(
            by_record.mean() + 1.959963984540054 * stats.sem(by_record),
            METRICS[name].bounds[1],
        )
    )


def test_rmse_has_the_root_of_the_interval_of_its_square(data):
    result = cv("z ~ a", data, k=4, seed=1, metrics=["rmse", "mse"])
    root, square = (
        result.estimate(name, "pooled", interval="records") for name in ("rmse", "mse")
    )
    assert root.lower**2 == pytest.approx(square.lower)
    assert root.upper**2 == pytest.approx(square.upper)
    # the delta method: se(√m) ≈ se(m) / 2√m
    assert root.se == pytest.approx(square.se / (2 * float(root)), rel=0.03)


@st.composite
def rebalanced(draw):
    """Draw held-out predictions and partners with many ties, over two repeats."""
    n = draw(st.integers(4, 12))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    y[:4] = 0, 1, 0, 1
    coarse = st.sampled_from([0.1, 0.1 + 1e-17, 0.2, 0.3 - 1e-16, 0.3])
    own = draw(st.lists(coarse, min_size=2 * n, max_size=2 * n))
    theirs = draw(st.lists(coarse, min_size=2 * n, max_size=2 * n))
    rows = [
        draw(st.sampled_from(np.flatnonzero(y != y[i % n]).tolist()))
        for i in range(2 * n)
    ]
    return y, own, rows, theirs


@given(rebalanced())
def test_paired_compares_each_record_with_its_partner(drawn):
    y, own, rows, theirs = drawn
    n = len(y)
    partners = (np.arange(2 * n), rows, theirs)
    repeat = np.repeat([0, 1], n)
    scores = make_scores(y, np.arange(2 * n), own, repeat, partners)
    values = []
    for r in (0, 1):
        won = 0.0
        for i in range(r * n, (r + 1) * n):
            high, low = (own[i], theirs[i]) if y[i % n] == 1 else (theirs[i], own[i])
            won += 0.5 if np.isclose(high, low, atol=1e-14, rtol=0) else high > low
        values.append(won / n)
    found = make_estimate(scores, METRICS["auroc"], "paired", interval="pairs")
    assert float(found) == pytest.approx(np.mean(values), abs=1e-14)
    assert found.sd == pytest.approx(np.std(values, ddof=1), abs=1e-14)
    if found.method != "none":
        assert found.method == "pairs clustered by record"
        assert 0 <= found.lower < float(found) < found.upper <= 1


@given(st.integers(0, 10**6))
def test_pairs_are_all_pairs_held_out_by_one_fit(seed):
    rng = np.random.default_rng(seed)
    n = 14
    y = rng.integers(0, 3, n)
    split = np.sort(rng.integers(0, 4, n))
    partner_split = np.sort(rng.integers(0, 4, 9))
    partners = (partner_split, rng.integers(0, n, 9), np.zeros(9))
    scores = make_scores(
        y, split, np.zeros(n), [0] * (max(split.max(), 3) + 1), partners
    )
    expected = {
        (i, j)
        for i in range(n)
        for j in range(9)
        if split[i] == partner_split[j] and y[i] != y[partners[1][j]]
    }
    together = {
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if split[i] == split[j] and y[i] != y[j]
    }
    left = scores.left
    assert left.most_pairs >= len(expected) + len(together)
    one, two = left.pairs(y)
    assert left.held[one].all()
    found = list(
        zip(left.row[one].tolist(), left.row[two].tolist(), left.held[two], strict=True)
    )
    rows = sorted((i, j) for i, j, held in found if held)
    assert rows == sorted(together)
    assert sorted((i, j) for i, j, held in found if not held) == sorted(
        (i, int(partners[1][j])) for i, j in expected
    )


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_paired_weights_folds_by_their_pairs(seed, folds):
    rng = np.random.default_rng(seed)
    n = 24
    y = rng.integers(0, 2, n)
    split = np.sort(np.arange(n) % folds)
    predicted = rng.integers(0, 6, n) / 8
    won = pairs = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            if split[i] == split[j]:
                pairs += 1
                won += float(predicted[i] > predicted[j])
                won += 0.5 * float(predicted[i] == predicted[j])
    found = make_estimate(make_scores(y, split, predicted), METRICS["auroc"], "paired")
    if pairs:
        assert float(found) == pytest.approx(won / pairs, abs=1e-12)
    else:
        assert np.isnan(float(found))
        assert found.n_undefined == 1
        assert found.method == "none"


def test_folds_of_one_class_are_omitted_and_counted():
    y = np.array([0, 1, 0, 1, 1, 1, 0, 0])
    split = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    predicted = np.array([0.1, 0.9, 0.6, 0.4, 0.5, 0.6, 0.5, 0.6])
    scores = make_scores(y, split, predicted)
    for name in ("auroc", "auprc"):
        found = make_estimate(scores, METRICS[name], "per_fold")
        expected = np.mean(
            [PEERS[name](y[s], predicted[s], None) for s in (slice(0, 2), slice(2, 4))]
        )
        assert float(found) == pytest.approx(expected)
        assert (found.n_values, found.n_undefined) == (4, 2)
    assert make_estimate(scores, METRICS["brier"], "per_fold").n_undefined == 0


def test_leave_one_out_has_no_auroc_per_fold(data):
    result = cv("y ~ a", data, scheme="loocv")
    with pytest.warns(UndefinedMetricWarning, match="no value in 60 of 60 folds"):
        found = result.estimate("auroc", "per_fold")
    assert np.isnan(float(found))
    assert (found.n_values, found.n_undefined) == (60, 60)
    assert (found.method, found.assumes) == ("none", "no fold has a value")
    with pytest.warns(UndefinedMetricWarning, match="no value in 60 of 60 folds"):
        found = result.estimate("auroc", "per_fold", interval="corrected_t")
    assert (found.method, found.assumes) == (
        "none",
        "fewer than two folds have a value",
    )
    with pytest.warns(UndefinedMetricWarning, match="no value in 1 of 1 repeats"):
        assert np.isnan(float(result.estimate("auroc", "paired")))


@pytest.mark.parametrize(
    ("scheme", "more", "expected"),
    [
        ("stratified_kfold", {"k": 5}, ("per_fold", "pooled", "pooled")),
        ("stratified_kfold", {"k": 5, "repeats": 2}, ("per_fold", "pooled", "pooled")),
        ("kfold", {"k": 30}, ("pooled", "pooled", "pooled")),
        ("loocv", {}, ("pooled", "pooled", "pooled")),
        ("rloocv", {}, ("paired", "pooled", "pooled")),
    ],
)
def test_headlines_are_as_designed(data, scheme, more, expected):
    result = cv("y ~ a", data, scheme=scheme, seed=1, **more)
    found = tuple(
        result.scores.headline(METRICS[name]) for name in ("auroc", "auprc", "brier")
    )
    assert found == expected
    assert result.estimate("auroc").how == expected[0]


@pytest.mark.parametrize("scheme", ["stratified_kfold", "loocv", "rloocv"])
@pytest.mark.parametrize("good", [True, False])
def test_intervals_stay_within_bounds(scheme, good):
    rng = np.random.default_rng(1)
    x = np.r_[rng.normal(0, 1, 15), rng.normal(3.2 if good else 0.1, 1, 15)]
    data = pd.DataFrame({"x": x, "y": np.repeat([0, 1], 15)})
    result = cv("y ~ x", data, model=Logit(1.0), scheme=scheme, seed=1)
    for name in result.metric_names:
        low, high = METRICS[name].bounds
        for how in ("pooled", "per_fold"):
            found = make_estimate(result.scores, METRICS[name], how, 0.999)
            if found.method != "none":
                assert low <= found.lower <= float(found) <= found.upper <= high


def test_records_are_averaged_over_repeats_once():
    y = np.array([0, 1, 1])
    split = np.array([0, 0, 0, 1, 1, 1])
    scores = make_scores(y, split, [0.1, 0.2, 0.3, 0.5, 0.4, 0.3], [0, 1])
    rows, mean = scores.mean_prediction()
    assert rows.tolist() == [0, 1, 2]
    np.testing.assert_allclose(mean, [0.3, 0.3, 0.3])
    assert [where.tolist() for where in scores.by_repeat] == [[0, 1, 2], [3, 4, 5]]


def test_a_perfect_result_has_no_interval_without_width():
    y, split = np.tile([0, 1], 6), np.repeat(np.arange(3), 4)
    scores = make_scores(y, split, np.where(y == 1, 0.9, 0.1))
    found = make_estimate(scores, METRICS["brier"], "pooled")
    assert found.method == "none"
    assert found.assumes
    assert np.isnan([found.lower, found.upper, found.se]).all()
    share = make_estimate(scores, METRICS["accuracy"], "pooled")
    assert (share.value, share.upper) == (1.0, 1.0)
    assert share.lower == pytest.approx(0.025 ** (1 / 12))
    for how in ("pooled", "per_fold"):
        area = make_estimate(scores, METRICS["auroc"], how)
        assert (area.value, area.upper) == (1.0, 1.0)
        assert area.lower < 0.6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("auroc", "pool"), r"how must be one of .* Did you mean 'pooled'\?"),
        (("brier", "paired"), "Brier score is not available from pairs; auROC"),
        (("auroc", "pooled", 1.0), "level must lie between 0 and 1"),
        (("auroc", "pooled", 95), "level must lie between 0 and 1"),
        (("auroc", "pooled", "95%"), "level must lie between 0 and 1"),
    ],
)
def test_impossible_estimates_raise_an_error(data, arguments, message):
    result = cv("y ~ a", data, k=3, seed=1)
    with pytest.raises(MetricError, match=message):
        result.estimate(*arguments)


def test_an_estimate_is_a_number_with_its_method():
    asked = []

    def estimate(interval):
        def make():
            asked.append(interval)
            return interval

        return Estimate(
            metric="auroc",
            label="auROC",
            how="per_fold",
            value=0.71,
            level=0.975,
            n_undefined=0,
            n_values=5,
            sd=0.1,
            make=make,
            bounds=(0.0, 0.8),
        )

    found = estimate(Interval(0.6, 0.82, 0.05, "some", "much"))
    assert float(found) == 0.71
    assert not asked
    assert str(found) == "auROC 0.71 (97.5% CI 0.60 to 0.80)"
    assert repr(found) == f"{found}\nmean over folds; interval by some"
    assert len(asked) == 1
    again = pickle.loads(pickle.dumps(found))
    assert (again.upper, again.method, str(again)) == (0.8, "some", str(found))
    found = estimate(Interval.none("too few"))
    assert str(found) == "auROC 0.71 (no interval)"
    assert repr(found) == f"{found}\nmean over folds; no interval: too few"


def test_more_classes_have_casewise_estimates(data):
    result = cv("g ~ a + b", data, k=4, seed=1)
    shares = result.held.predicted
    codes = result.design.y[result.held.row]
    found = result.estimate("brier", "pooled", interval="records")
    expected = ((shares - np.eye(3)[codes]) ** 2).sum(axis=1)
    assert float(found) == pytest.approx(expected.mean())
    assert found.se == pytest.approx(stats.sem(expected))


def test_the_paired_estimate_is_unbiased_for_noise_and_leave_one_out_is_not():
    """The data are noise with n = 40, two covariates and equal classes."""
    paired, pooled = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        noise = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
        noise["y"] = rng.permutation(np.repeat([0, 1], 20))
        # a mild ridge keeps separated sets out of the way
        call = {"scheme": "rloocv", "repeats": 1, "seed": 1}
        rebalanced_ = cv("y ~ a + b", noise, model=Logit(10.0), **call)
        paired.append(float(rebalanced_.estimate("auroc", "paired")))
        plain = cv("y ~ a + b", noise, model=Logit(10.0), scheme="loocv")
        pooled.append(float(plain.estimate("auroc", "pooled")))
    error = np.std(paired, ddof=1) / np.sqrt(100)
    assert abs(np.mean(paired) - 0.5) < 3 * error
    assert error < 0.02
    assert np.mean(pooled) < 0.45
    assert np.mean(pooled) < 0.5 - 4 * np.std(pooled, ddof=1) / np.sqrt(100)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_rebalanced_pairs_of_a_result_are_those_of_its_table(seed):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.normal(size=16), "y": np.arange(16) % 2})
    data.index = rng.permutation(16) + 50
    result = cv("y ~ x", data, model=Logit(1.0), scheme="rloocv", repeats=2, seed=seed)
    table = result.pairs
    lead = (table["predicted"] - table["predicted_partner"]).round(13)
    lead *= np.where(table["observed"] == 1, 1, -1)
    won = (lead > 0) + 0.5 * (lead == 0)
    found = result.estimate("auroc", "paired")
    assert float(found) == pytest.approx(won.groupby(table["repeat"]).mean().mean())
    assert (data.loc[table["row"], "y"].to_numpy() == table["observed"]).all()
    assert (data.loc[table["partner"], "y"].to_numpy() != table["observed"]).all()


# ---- which interval ----


@pytest.fixture(scope="module")
def people(data):
    rng = np.random.default_rng(1)
    frame = data.assign(person=np.arange(60) // 2)
    frame["a"] = rng.normal(size=30)[frame["person"]]
    frame["person"] = [f"p{code}" for code in frame["person"]]
    return frame


INTERVALS_OF = {
    ("auroc", "pooled"): [
        *("corrected_influence", "delong", "logit", "influence", "bootstrap", "bca")
    ],
    ("auroc", "per_fold"): [
        *("corrected_influence", "corrected_t", "influence", "bootstrap", "bca")
    ],
    ("auroc", "paired"): ["corrected_influence", "influence", "bootstrap", "bca"],
    ("auprc", "pooled"): ["corrected_influence", "influence", "bootstrap", "bca"],
    ("auprc", "per_fold"): ["corrected_influence", "corrected_t", "bootstrap", "bca"],
    ("brier", "pooled"): [
        *("corrected_influence", "influence", "records", "bootstrap", "bca")
    ],
    ("brier", "per_fold"): ["corrected_t", "bootstrap", "bca"],
    ("rmse", "pooled"): [
        *("corrected_influence", "influence", "records", "bootstrap", "bca")
    ],
    ("r2", "pooled"): ["corrected_influence", "influence", "bootstrap", "bca"],
}
WITH_FITS = "infinitesimal_jackknife"
ONLY_FOLDS = [("brier", "per_fold")]  # a mean over folds that does not rank
DEFAULTS = {
    ("auroc", "pooled"): "corrected_influence",
    ("auroc", "per_fold"): "corrected_influence",
    ("auroc", "paired"): "corrected_influence",
    ("auprc", "pooled"): "corrected_influence",
    ("auprc", "per_fold"): "corrected_influence",
    ("brier", "pooled"): "corrected_influence",
    ("brier", "per_fold"): "corrected_t",
    ("rmse", "pooled"): "corrected_influence",
    ("r2", "pooled"): "corrected_influence",
}


@pytest.mark.slow
@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize(("name", "how"), INTERVALS_OF)
def test_intervals_are_chosen_by_name(data, name, how, fits):
    formula = "z ~ a" if name in ("rmse", "r2") else "y ~ a"
    scores = cv(formula, data, k=3, seed=1).scores
    metric, listed = METRICS[name], INTERVALS_OF[name, how]
    default = DEFAULTS.get((name, how))
    if not fits:
        scores = replace(scores, sensitivity=None)
    elif (name, how) not in ONLY_FOLDS:
        listed, default = [WITH_FITS, *listed], WITH_FITS
    assert list(possible_intervals(scores, metric, how)) == listed
    plain = make_estimate(scores, metric, how)
    assert default_interval(scores, metric, how) == default
    if default is None:
        assert "interval=" in plain.assumes
    else:
        named = make_estimate(scores, metric, how, 0.95, default)
        assert str(plain) == str(named)
        assert (plain.value, plain.se) == (named.value, named.se)
    methods = set()
    if name == "auprc" and how == "per_fold":
        listed = listed[:-1]  # one sample after the other, many of them
    for interval in listed:
        found = make_estimate(scores, metric, how, 0.9, interval)
        assert found.value == plain.value
        assert found.lower < found.value < found.upper
        methods.add(found.method)
    assert len(methods) == len(listed)


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_intervals_of_pairs_of_a_scheme(data, repeats):
    scores = cv("y ~ a", data, scheme="rloocv", repeats=repeats, seed=1).scores
    assert possible_intervals(scores, METRICS["auroc"], "paired") == (
        "infinitesimal_jackknife",
        "corrected_influence",
        "pairs",
        "influence",
    )
    default = default_interval(scores, METRICS["auroc"], "paired")
    assert default == "infinitesimal_jackknife"
    given = replace(scores, sensitivity=None)
    assert possible_intervals(given, METRICS["auroc"], "paired") == (
        "corrected_influence",
        "pairs",
        "influence",
    )
    assert default_interval(given, METRICS["auroc"], "paired") == "corrected_influence"


@pytest.mark.parametrize(
    ("name", "how", "interval", "message"),
    [
        (
            "auroc",
            "per_fold",
            "delong",
            "'delong' is not available for auROC .per fold.; there ",
        ),
        ("brier", "per_fold", "influence", "there are 'corrected_t', 'bootstrap'"),
        (
            "brier",
            "pooled",
            "pairs",
            "there are 'infinitesimal_jackknife', 'corrected_influence', 'influence'",
        ),
        ("auroc", "pooled", "delon", r"unknown; for auROC .* Did you mean 'delong'\?"),
        ("auroc", "pooled", "jackknife", "needs refits.*result.estimate"),
        ("brier", "pooled", "nested_cv", "needs refits.*result.estimate"),
    ],
)
def test_an_unavailable_interval_raises_an_error(data, name, how, interval, message):
    scores = cv("y ~ a", data, k=3, seed=1).scores
    with pytest.raises(MetricError, match=message):
        make_estimate(scores, METRICS[name], how, 0.95, interval)


def test_the_logit_scale_is_symmetric_in_the_log_odds(data):
    scores = cv("y ~ a", data, k=3, repeats=2, seed=1).scores
    wald = make_estimate(scores, METRICS["auroc"], "pooled", 0.9, "delong")
    found = make_estimate(scores, METRICS["auroc"], "pooled", 0.9, "logit")
    assert found.se == wald.se
    odds = [np.log(p / (1 - p)) for p in (found.lower, found.value, found.upper)]
    half = 1.6448536269514722 * wald.se / (found.value * (1 - found.value))
    assert np.diff(odds) == pytest.approx([half, half])


def test_equal_values_of_a_stratifier_are_clusters(people):
    kept = cv("y ~ a", people, k=3, seed=1, stratify=by_value("person"))
    codes = kept.scores.clusters
    assert (codes[:-1:2] == codes[1::2]).all()
    assert len(np.unique(codes)) == 30
    hashed = cv("y ~ a", people, k=3, seed=1, stratify=by_hash("person", key=b"k" * 32))
    assert hashed.scores.clusters is not None
    assert cv("y ~ a", people, k=3, seed=1).scores.clusters is None
    bins = cv("y ~ a", people, k=3, seed=1, stratify=by_quantile("a"), scheme="kfold")
    assert bins.scores.clusters is None
    once = people.iloc[::2]
    assert (
        cv("y ~ a", once, k=3, seed=1, stratify=by_value("person")).scores.clusters
        is None
    )


def test_clusters_are_the_units_of_the_default_intervals(people):
    result = cv("y ~ a", people, k=3, seed=1, stratify=by_value("person"))
    table = result.predictions
    person = people.loc[table["row"], "person"]
    pooled = result.estimate("auroc", "pooled", interval="delong")
    expected = delong(table["observed"], table["predicted"], clusters=person)
    usual = result.estimate("auroc", "pooled")
    assert usual.method == "infinitesimal jackknife summed by cluster"
    assert usual.assumes.startswith("counts the variation of the clusters, and")
    assert pooled.method == "clustered DeLong"
    assert pooled.se == pytest.approx(expected.se, abs=1e-14)
    assert (pooled.lower, pooled.upper) == pytest.approx(
        (expected.lower, expected.upper), abs=1e-12
    )
    losses = (table["observed"] - table["predicted"]) ** 2
    sums = (losses - losses.mean()).groupby(person.to_numpy()).sum()
    brier = result.estimate("brier", "pooled", interval="records")
    expected_se = np.sqrt(30 / 29 * (sums**2).sum()) / 60
    assert brier.se == pytest.approx(expected_se)
    assert "cluster" in brier.method
    plain = replace(result.scores, clusters=None)
    for name in ("bootstrap", "influence"):
        own = make_estimate(result.scores, METRICS["auroc"], "pooled", 0.95, name)
        assert own.se != make_estimate(plain, METRICS["auroc"], "pooled", 0.95, name).se
        assert own.method.endswith("by cluster")
    roots = make_estimate(
        cv("z ~ a", people, k=3, seed=1, stratify=by_value("person")).scores,
        METRICS["rmse"],
        interval="records",
    )
    assert roots.method == "root of the mean over records, cluster-robust"


# ---- more classes, and thresholds ----


@pytest.mark.parametrize("name", ["auroc_ovr", "auroc_hand_till"])
def test_ranks_of_more_classes_need_all_of_them(name):
    rng = np.random.default_rng(0)
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1, 1, 0])
    split = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    shares = rng.dirichlet(np.ones(3), 10)
    scores = replace(make_scores(y, split, np.zeros(10)), predicted=shares)
    metric = METRICS[name]
    assert scores.all_classes.tolist() == [True, True, False]
    assert scores.headline(metric) == "pooled"
    found = make_estimate(scores, metric, "per_fold")
    expected = [metric(y[s], shares[s]) for s in (slice(0, 3), slice(3, 6))]
    assert float(found) == pytest.approx(np.mean(expected))
    assert (found.n_values, found.n_undefined) == (3, 1)
    pooled = make_estimate(scores, metric, "pooled")
    assert float(pooled) == pytest.approx(metric(y, shares))
    assert pooled.interval_in_words == ("corrected influence of records, fits as given")
    assert pooled.lower < pooled.value < pooled.upper
    lacking = replace(scores, y=np.minimum(y, 1))
    assert np.isnan(float(make_estimate(lacking, metric, "pooled")))


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("probabilities", [True, False])
def test_each_prediction_has_its_own_threshold(name, probabilities):
    rng = np.random.default_rng(1)
    y, split = np.arange(24) % 2, np.arange(24) // 8
    predicted = rng.random(24) if probabilities else rng.normal(size=24)
    cuts = np.array([0.3, 0.5, 0.6])[split] - (not probabilities) * 0.4
    scores = replace(
        make_scores(y, split, predicted), threshold=cuts, probabilities=probabilities
    )
    hits = (predicted > cuts) == y
    recall = [[hits[(y == c) & (split == s)].mean() for c in (0, 1)] for s in range(3)]
    folds = np.mean(recall, axis=1)
    found = make_estimate(scores, METRICS[name], "per_fold")
    if name == "accuracy":
        folds = [hits[split == s].mean() for s in range(3)]
        assert float(make_estimate(scores, METRICS[name], "pooled")) == hits.mean()
    assert float(found) == pytest.approx(np.mean(folds))
    other = make_estimate(scores, METRICS["auroc"], "pooled")
    assert float(other) == float(
        make_estimate(replace(scores, threshold=None), METRICS["auroc"], "pooled")
    )


def test_a_record_held_out_often_has_the_mean_of_its_thresholds():
    y = np.array([0, 1, 1])
    split, row = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 2, 1, 2])
    predicted = np.array([0.6, 0.6, 0.2, 0.4, 0.3, 0.9])
    cuts = np.array([0.5, 0.8, 0.1, 0.7, 0.2, 0.4])
    scores = replace(make_scores(y, split, predicted), row=row, threshold=cuts)
    assert scores.overlapping
    # means: record 0 .4 against .3, record 1 .45 against .5, record 2 .65 against .55
    found = make_estimate(scores, METRICS["balanced_accuracy"], "pooled")
    assert float(found) == pytest.approx((0 + 1 / 2) / 2)
    np.testing.assert_allclose(scores.mean_threshold, [0.3, 0.5, 0.55])
    # a mean over records is that of the hits of each: 0 of 2, 1 of 2, 1 of 2
    share = float(make_estimate(scores, METRICS["accuracy"], "pooled"))
    assert share == pytest.approx(1 / 3)
