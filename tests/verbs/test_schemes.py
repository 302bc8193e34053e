"""Pairs, tournaments, rebalanced and resampled schemes through `cv()`."""

import itertools

import joblib
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import statcv as scv
from statcv.errors import SchemeError
from statcv.folds import SCHEMES, Bags
from statcv.models import Logit

pytestmark = [
    pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning"),
    pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning"),
]


@pytest.fixture(scope="module")
def data():
    """Return 15 records, 6 of them positive; ``h`` holds several a value."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(15, 2)), columns=["a", "b"])
    frame["y"] = np.repeat([1, 0], [6, 9])
    frame["a"] += frame["y"]
    frame["z"] = frame["a"] + rng.normal(size=15)
    frame["g"] = np.tile(["p", "q", "r"], 5)
    frame["h"] = rng.permutation(np.arange(15) // 2)
    return frame.sample(frac=1, random_state=1)


@pytest.fixture(scope="module")
def spector():
    return scv.load_data("spector")


REFITS = {}


def refit(data, rows, weights=None):
    """Return the probabilities of all records by a ridge fitted on some rows."""
    key = (tuple(rows), None if weights is None else tuple(weights))
    if key not in REFITS:
        REFITS[key] = _refit(data, rows, weights)
    return REFITS[key]


def _refit(data, rows, weights):
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    fit = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky")
    return fit.fit(X[rows], y[rows], weights).predict_proba(X)[:, 1]


def without(n, *out):
    return np.setdiff1d(np.arange(n), out)


def ridge(data, **arguments):
    return scv.cv("y ~ a + b", data, model=Logit(1.0), **{"seed": 1, **arguments})


# ---- leave-pair-out ----


def test_leave_pair_out_is_the_share_of_pairs_ranked_right(data):
    y = data["y"].to_numpy()
    won, own = [], {i: [] for i in range(15)}
    for i, j in itertools.product(np.flatnonzero(y == 1), np.flatnonzero(y == 0)):
        predicted = refit(data, without(15, i, j))
        won.append(predicted[i] > predicted[j])
        for row in (i, j):
            own[row].append(predicted[row])
    result = ridge(data, scheme="leave_pair_out")
    assert result.plan.n_fits == len(won) == 54
    headline = result.estimate()
    assert (headline.metric, headline.how) == ("auroc", "paired")
    assert float(headline) == pytest.approx(np.mean(won), abs=1e-12)
    # a record counts once: positives are in nine pairs each, negatives in six
    hits = [np.mean((np.array(own[i]) > 0.5) == y[i]) for i in range(15)]
    squares = [np.mean((np.array(own[i]) - y[i]) ** 2) for i in range(15)]
    assert result.estimate("accuracy").how == "pooled"
    assert float(result.estimate("accuracy")) == pytest.approx(np.mean(hits))
    found = result.estimate("brier", interval="records")
    assert float(found) == pytest.approx(np.mean(squares), abs=1e-5)
    assert found.se == pytest.approx(stats.sem(squares), abs=1e-5)
    pooled = roc_auc_score(y, [np.mean(own[i]) for i in range(15)])
    assert float(result.estimate("auroc", "pooled")) == pytest.approx(pooled)


@pytest.mark.parametrize("scheme", ["leave_pair_out", "tournament_leave_pair_out"])
def test_a_model_without_skill_ranks_half_the_pairs_right(data, scheme):
    result = scv.cv("y ~ a", data, model="mean", scheme=scheme)
    for how in ("paired", "pooled"):
        assert float(result.estimate("auroc", how)) == 0.5


def test_a_tournament_ranks_records_by_the_pairs_that_they_win(data):
    y, wins, right = data["y"].to_numpy(), np.zeros(15), []
    for i, j in itertools.combinations(range(15), 2):
        predicted = refit(data, without(15, i, j))
        wins[i] += predicted[i] > predicted[j]
        wins[j] += predicted[j] > predicted[i]
        if y[i] != y[j]:
            right.append((predicted[i] > predicted[j]) == (y[i] > y[j]))
    result = ridge(data, scheme="tournament_leave_pair_out")
    assert result.plan.n_fits == 105
    rows, share = result.scores.by_record(result.scores.by_repeat[0], rank=True)
    np.testing.assert_allclose(share[np.argsort(rows)] * 14, wins, atol=1e-9)
    pooled = float(result.estimate("auroc", "pooled"))
    assert pooled == pytest.approx(roc_auc_score(y, wins))
    paired = float(result.estimate("auroc"))
    assert paired == pytest.approx(np.mean(right))
    plain = ridge(data, scheme="leave_pair_out")
    assert paired == pytest.approx(float(plain.estimate("auroc")))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_leave_pair_out_of_more_classes(data):
    model = LogisticRegression(C=1.0, tol=1e-10)
    result = scv.cv("g ~ a + b", data, model=model, scheme="leave_pair_out", seed=1)
    X, g = data[["a", "b"]].to_numpy(), data["g"].to_numpy()
    shares = {i: [] for i in range(15)}
    for i, j in itertools.combinations(range(15), 2):
        if g[i] != g[j]:
            rest = without(15, i, j)
            found = model.fit(X[rest], g[rest]).predict_proba(X)
            shares[i].append(found[i])
            shares[j].append(found[j])
    codes = np.searchsorted(["p", "q", "r"], g)
    loss = [-np.log(np.array(shares[i])[:, codes[i]]).mean() for i in range(15)]
    hits = [(np.argmax(shares[i], axis=1) == codes[i]).mean() for i in range(15)]
    assert result.plan.n_fits == 75
    assert float(result.estimate("log_loss")) == pytest.approx(np.mean(loss), abs=1e-6)
    assert float(result.estimate("accuracy")) == pytest.approx(np.mean(hits))
    mean = np.array([np.mean(shares[i], axis=0) for i in range(15)])
    expected = balanced_accuracy_score(codes, mean.argmax(axis=1))
    assert float(result.estimate("balanced_accuracy")) == pytest.approx(expected)
    with pytest.raises(SchemeError, match="needs an outcome of two classes"):
        scv.cv("g ~ a", data, scheme="tournament_leave_pair_out")


def test_equals_of_a_held_out_pair_do_not_train(data):
    h, y = data["h"].to_numpy(), data["y"].to_numpy()
    arguments = {"scheme": "leave_pair_out", "stratify": scv.by_value("h")}
    result = ridge(data, **arguments)
    won = []
    for fit in range(result.plan.n_fits):
        test, train = result.plan.test(fit), result.plan.train(fit)
        expected = np.flatnonzero(~np.isin(h, h[test]))
        assert train.tolist() == expected.tolist()
        predicted = refit(data, expected)
        i, j = sorted(test, key=lambda row: y[row])
        won.append(predicted[j] > predicted[i])
    assert len(won) == 54
    assert float(result.estimate("auroc")) == pytest.approx(np.mean(won))


# ---- rebalanced: every subsample, weights, repeats, bags ----


def test_every_subsample_of_leave_one_out_is_leave_pair_out_twice(data):
    y, n = data["y"].to_numpy(), 15
    result = ridge(data, scheme="loocv", rebalance="all")
    mean = np.array(
        [
            np.mean(
                [refit(data, without(n, i, j))[i] for j in np.flatnonzero(y != y[i])]
            )
            for i in range(n)
        ]
    )
    held = result.predictions.set_index("row").loc[data.index, "predicted"]
    np.testing.assert_allclose(held, mean, atol=1e-5)
    pairs = result.pairs
    assert len(pairs) == 2 * 54
    unordered = [
        frozenset(pair) for pair in zip(pairs["row"], pairs["partner"], strict=True)
    ]
    assert all(unordered.count(pair) == 2 for pair in set(unordered))
    plain = ridge(data, scheme="leave_pair_out")
    expected = float(plain.estimate("auroc"))
    assert float(result.estimate("auroc")) == pytest.approx(expected)
    assert float(result.estimate("auroc", "pooled")) == pytest.approx(
        float(plain.estimate("auroc", "pooled"))
    )


@pytest.mark.parametrize("rebalance", ["all", "bag"])
def test_predictions_are_means_over_the_fits_of_a_fold(data, rebalance):
    result = ridge(data, scheme="stratified_kfold", k=4, rebalance=rebalance)
    plan = result.plan
    assert plan.n_fits > plan.n_splits
    expected = {}
    for split in range(plan.n_splits):
        fits = np.flatnonzero(plan.fits.split_of == split)
        predicted = np.mean([refit(data, plan.train(fit)) for fit in fits], axis=0)
        expected |= {data.index[row]: predicted[row] for row in plan.test(split)}
    table = result.predictions
    np.testing.assert_allclose(
        table["predicted"], [expected[row] for row in table["row"]], atol=1e-5
    )
    assert len(result.folds) == plan.n_fits
    assert result.folds.groupby("fold")["draw"].max().sum() == plan.n_fits


@pytest.mark.parametrize("scheme", ["loocv", "kfold", "stratified_kfold"])
def test_weights_hold_the_training_mean_constant(data, scheme):
    more = {} if scheme == "loocv" else {"k": 5}
    result = ridge(data, scheme=scheme, rebalance="weight", **more)
    y, plan, means = data["y"].to_numpy(), result.plan, []
    table = result.predictions.set_index("row")["predicted"]
    for fit in range(plan.n_fits):
        rows = plan.train(fit)
        assert len(rows) + len(plan.test(fit)) == 15  # none is lost
        weights = plan.weights(fit, rows)
        means.append(np.average(y[rows], weights=weights))
        predicted = refit(data, rows, weights)
        for row in plan.test(fit):
            assert table[data.index[row]] == pytest.approx(predicted[row], abs=1e-5)
    assert np.ptp(means) < 1e-12
    assert result.mean_model_auroc == 0.5


def test_weights_enter_an_unpenalised_fit(spector):
    result = scv.cv("GRADE ~ GPA + PSI", spector, scheme="loocv", rebalance="weight")
    X = sm.add_constant(spector[["GPA", "PSI"]]).to_numpy(float)
    y = spector["GRADE"].to_numpy()
    table = result.predictions.set_index("row")["predicted"]
    for fit in range(0, 32, 5):
        rows = result.plan.train(fit)
        weights = result.plan.weights(fit, rows)
        family = sm.families.Binomial()
        model = sm.GLM(y[rows], X[rows], family=family, freq_weights=weights)
        (row,) = result.plan.test(fit)
        expected = model.fit(tol=1e-12).predict(X[[row]])[0]
        assert table[spector.index[row]] == pytest.approx(expected, abs=1e-8)


def test_weights_of_the_caller_are_scaled_to_those_of_the_plan(data):
    given, y = np.linspace(1, 3, 15), data["y"].to_numpy()
    result = ridge(data, scheme="loocv", rebalance="weight", weights=given)
    table = result.predictions.set_index("row")["predicted"]
    for fit in (0, 7):
        rows = result.plan.train(fit)
        weights = given[rows].copy()
        for code in (0, 1):  # a class weighs what it does in all records
            own = y[rows] == code
            weights[own] *= given[y == code].sum() / weights[own].sum()
        predicted = refit(data, rows, weights)
        (row,) = result.plan.test(fit)
        assert table[data.index[row]] == pytest.approx(predicted[row], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("rebalance", ["subsample", "upsample", "bag", Bags(3)])
def test_what_is_drawn_follows_from_the_seed_alone(data, rebalance):
    tree = DecisionTreeClassifier(splitter="random", max_depth=2)
    arguments = {
        "model": tree,
        "scheme": "loocv",
        "rebalance": rebalance,
        "repeats": 1,
        "metrics": "brier",
    }
    first = scv.cv("y ~ a + b", data, seed=1, **arguments)
    again = scv.cv("y ~ a + b", data, seed=1, **arguments)
    pd.testing.assert_frame_equal(first.predictions, again.predictions)
    with joblib.parallel_config("threading"):
        parallel = scv.cv("y ~ a + b", data, seed=1, n_jobs=2, **arguments)
    pd.testing.assert_frame_equal(first.predictions, parallel.predictions)
    other = scv.cv("y ~ a + b", data, seed=2, **arguments)
    assert other.plan.fingerprint != first.plan.fingerprint
    expected = {"subsample": {5, 8}, "upsample": {6, 9}}
    for fit in range(first.plan.n_fits):
        train = data["y"].to_numpy()[first.plan.train(fit)]
        counts = {int(train.sum()), int((1 - train).sum())}
        assert counts == expected.get(str(rebalance), {5, 8})


def test_a_numeric_outcome_loses_the_record_that_restores_the_mean(data):
    result = scv.cv("z ~ a", data, scheme="rloocv")
    z, plan = data["z"].to_numpy(), result.plan
    x = sm.add_constant(data["a"]).to_numpy(float)
    table = result.predictions.set_index("row")["predicted"]
    for fit in range(15):
        (row,), (dropped,) = plan.test(fit), plan.left_out(fit)
        off = {
            j: abs(z[without(15, row, j)].mean() - z.mean()) for j in without(15, row)
        }
        assert off[dropped] == pytest.approx(min(off.values()), abs=1e-12)
        rest = without(15, row, dropped)
        expected = x[row] @ np.linalg.lstsq(x[rest], z[rest], rcond=None)[0]
        assert table[data.index[row]] == pytest.approx(expected)


def test_a_numeric_outcome_is_weighted_back_to_its_mean(data):
    result = scv.cv("z ~ a", data, scheme="rloocv", rebalance="weight")
    z, plan = data["z"].to_numpy(), result.plan
    x = sm.add_constant(data["a"]).to_numpy(float)
    table = result.predictions.set_index("row")["predicted"]
    for fit in range(15):
        (row,), rows = plan.test(fit), plan.train(fit)
        weights = plan.weights(fit, rows)
        assert np.average(z[rows], weights=weights) == pytest.approx(z.mean())
        expected = sm.WLS(z[rows], x[rows], weights=weights).fit().predict(x[row])[0]
        assert table[data.index[row]] == pytest.approx(expected)
        # exponential tilting: log-weights are linear in the outcome
        line = np.polyfit(z[rows], np.log(weights), 1)
        np.testing.assert_allclose(
            np.polyval(line, z[rows]), np.log(weights), atol=1e-8
        )


# ---- random shares, and bootstrap samples ----


@pytest.mark.parametrize("scheme", ["montecarlo", "bootstrap"])
def test_resampled_schemes_state_the_mean_over_splits(spector, scheme):
    result = scv.cv(
        "GRADE ~ GPA + PSI",
        spector,
        model=Logit(1.0),
        scheme=scheme,
        repeats=30,
        seed=1,
    )
    y = spector["GRADE"].to_numpy()
    values, ratios = [], []
    for train, test in result.plan.split():
        part = result.predictions.query(
            "repeat == @part", local_dict={"part": 1 + len(values)}
        )
        assert part["row"].tolist() == spector.index[test].tolist()
        values.append(accuracy_score(y[test], part["predicted"] > 0.5))
        ratios.append(len(test) / len(np.unique(train)))
    found = result.estimate("accuracy")
    assert (found.how, found.method) == ("per_fold", "corrected t over folds")
    assert float(found) == pytest.approx(np.mean(values))
    se = np.sqrt((1 / 30 + np.mean(ratios)) * np.var(values, ddof=1))
    assert found.se == pytest.approx(se)
    half = stats.t(29).ppf(0.975) * se
    assert found.lower == pytest.approx(np.mean(values) - half)
    assert result.estimate("auroc").how == "per_fold"


def test_all_metrics_of_resampled_schemes_hold_their_estimate(spector):
    for scheme in ("montecarlo", "bootstrap"):
        result = scv.cv("GRADE ~ GPA", spector, scheme=scheme, seed=3)
        table = result.metrics()
        pooled = table.loc[table["how"] == "pooled", "metric"].tolist()
        calibration = ["calibration_slope", "calibration_intercept", "oe_ratio"]
        assert pooled == ["auprc", *calibration]
        assert table["lower"].notna().all()
        assert (table["lower"] < table["estimate"]).all()
        assert (table["estimate"] < table["upper"]).all()


def test_calibration_of_random_splits_is_that_of_mean_held_out_predictions(spector):
    result = scv.cv("GRADE ~ GPA", spector, scheme="montecarlo", seed=3)
    mean = result.predictions.groupby("row")[["observed", "predicted"]].mean()
    y, p = mean["observed"].astype(int), mean["predicted"]
    for name in ("calibration_slope", "calibration_intercept", "oe_ratio", "auprc"):
        found = result.estimate(name)
        assert found.how == "pooled"
        assert found.value == pytest.approx(getattr(scv.metrics, name)(y, p))


def test_resampled_schemes_are_updated_and_compared(spector):
    base = scv.cv("GRADE ~ GPA", spector, scheme="montecarlo", p=0.3, seed=1)
    assert base.plan.repeats == 25
    assert {len(test) for _, test in base.plan.split()} == {10}
    larger = base.update(formula=". ~ . + PSI")
    assert larger.plan.fingerprint == base.plan.fingerprint
    table = scv.compare(base, larger).table
    assert table["how"].tolist() == ["per_fold", "per_fold"]
    assert table["estimate"].tolist() == [
        pytest.approx(float(one.estimate())) for one in (base, larger)
    ]
    boot = base.update(scheme="bootstrap", p=None, repeats=40)
    assert (boot.plan.scheme, boot.plan.repeats) == ("bootstrap", 40)
    assert 0 < float(boot.estimate("accuracy", ".632+")) < 1
    back = boot.update(scheme="montecarlo", p=0.3, repeats=None)
    assert back.predictions.equals(base.predictions)


def test_weighted_bootstrap_samples_weigh_what_the_data_do(spector):
    result = scv.cv(
        "GRADE ~ GPA",
        spector,
        scheme="bootstrap",
        rebalance="weight",
        repeats=20,
        seed=1,
    )
    y, plan = spector["GRADE"].to_numpy(), result.plan
    for fit in range(20):
        rows = plan.train(fit)
        totals = np.bincount(y[rows], plan.weights(fit, rows))
        np.testing.assert_allclose(totals, [21, 11])
    assert "training sets that weigh 11/21 each" in plan.sentence


# ---- in words ----

WORDS = [
    (scheme, rebalance)
    for scheme in SCHEMES
    for rebalance in (None, "subsample", "weight", "upsample", "all", "bag")
]
PAIRS = [name for name, scheme in SCHEMES.items() if scheme.splits == "pairs"]
MEANINGLESS = [
    (scheme, rebalance)
    for scheme, rebalance in WORDS
    if (rebalance and scheme in PAIRS)
    or (scheme == "bootstrap" and rebalance not in (None, "weight"))
]


def without_skill(frame, scheme, rebalance):
    size = {"p": 4} if SCHEMES[scheme].splits == "groups" else {}
    size |= {"k": 5} if SCHEMES[scheme].has_k else {}
    size |= {"p": 0.2, "repeats": 3} if scheme == "montecarlo" else {}
    return scv.cv(
        "GRADE ~ GPA",
        frame.iloc[4:19],
        model="mean",
        scheme=scheme,
        rebalance=rebalance,
        seed=1,
        **size,
    )


@pytest.mark.parametrize(("scheme", "rebalance"), MEANINGLESS)
def test_what_means_nothing_is_refused_with_the_reason(spector, scheme, rebalance):
    with pytest.raises(SchemeError, match=r"means nothing for .*(: only|; only)"):
        without_skill(spector, scheme, rebalance)


@pytest.mark.parametrize("scheme", PAIRS)
@pytest.mark.parametrize("rebalance", ["subsample", "weight", "upsample", "all", "bag"])
def test_pairs_of_whole_strata_are_not_evened_out_either(data, scheme, rebalance):
    with pytest.raises(
        SchemeError, match=f"'{rebalance}' means nothing for .*{scheme}"
    ):
        ridge(data, scheme=scheme, rebalance=rebalance, stratify=scv.by_value("h"))


@pytest.mark.parametrize("scheme", PAIRS)
def test_what_is_kept_out_beside_a_pair_is_not_compared(data, scheme):
    plan = scv.fold_plan("y", data, scheme=scheme, stratify=scv.by_value("h"))
    assert plan.kept_out.sizes.any()
    assert not plan.dropped.sizes.any()
    assert not any(len(plan.fits.partners(fit)) for fit in range(plan.n_fits))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.filterwarnings("ignore::statcv.errors.UndefinedMetricWarning")
@pytest.mark.parametrize(
    ("scheme", "rebalance"), [case for case in WORDS if case not in MEANINGLESS]
)
def test_every_scheme_is_told_in_words(spector, scheme, rebalance):
    result = without_skill(spector, scheme, rebalance)
    sentence = result.plan.sentence
    assert ":" not in sentence  # it stands behind the name and a colon
    assert len(repr(result).splitlines()) == 3
    text = str(result.summary(notes=True))
    assert all(len(line) <= 79 for line in text.split("\n"))
    methods = " ".join(text.split("\n\n")[1].split())
    assert ("all training sets" in methods) == result.plan.rebalanced
    assert len(result.folds) == result.plan.n_fits
    assert ("training sets " in sentence) == result.plan.rebalanced
    if result.plan.rebalanced:
        assert float(result.estimate("auroc", "pooled")) == 0.5


# ---- a sample of pairs ----


def test_a_sample_of_pairs_is_the_share_of_its_pairs_ranked_right(data):
    y = data["y"].to_numpy()
    result = ridge(data, scheme="leave_pair_out", pairs=20)
    won = []
    for fit in range(20):
        i, j = sorted(result.plan.test(fit), key=lambda row: y[row])
        predicted = refit(data, without(15, i, j))
        won.append(predicted[j] > predicted[i])
    assert float(result.estimate()) == pytest.approx(np.mean(won))
    assert "20 of 54 pairs" in repr(result)
    assert set(result.predictions["row"]) == set(data.index)
    more = result.update(pairs=30, repeats=2)
    assert more.plan.n_fits == 60
    whole = result.update(pairs=None)
    assert (
        whole.plan.fingerprint == ridge(data, scheme="leave_pair_out").plan.fingerprint
    )
    plan = scv.fold_plan("y", data, scheme="leave_pair_out", pairs=20, seed=1)
    again = ridge(data, scheme=plan)
    assert float(again.estimate()) == float(result.estimate())
    assert again.monte_carlo().se == result.monte_carlo().se
