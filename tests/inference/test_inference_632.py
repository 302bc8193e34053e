"""The .632 and .632+ rules, compared with the textbook and known properties."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from statcv import cv
from statcv.errors import MetricError, UndefinedMetricWarning
from statcv.inference import Bootstrap632, BootstrapEstimate
from statcv.inference.estimates import bootstrap_632 as module
from statcv.inference.estimates.bootstrap_632 import no_information
from statcv.metrics import METRICS
from statcv.models import Logit

# a sample whose held-out records separate has no calibration slope
SOME_UNDEFINED = pytest.mark.filterwarnings(
    "ignore:calibration slope:statcv.errors.UndefinedMetricWarning"
)
pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(36, 2)), columns=["a", "b"])
    frame["y"] = (frame["a"] + rng.logistic(size=36) > 0).astype(int)
    frame["z"] = 3 + frame["b"] + rng.normal(size=36)
    frame["g"] = rng.choice(["p", "q", "r"], 36)
    return frame


def textbook(apparent, losses, gamma):
    """Return err(.632) and err(.632+) of apparent error, losses[b, i] and gamma."""
    out = np.nanmean(losses, axis=0).mean()
    plain = 0.368 * apparent + 0.632 * out
    capped = min(out, gamma)
    rate = 0.0
    if out > apparent and gamma > apparent:
        rate = (capped - apparent) / (gamma - apparent)
    plus = plain + (capped - apparent) * 0.368 * 0.632 * rate / (1 - 0.368 * rate)
    return plain, plus


LOSSES = {
    "accuracy": lambda y, p: float((p >= 0.5) != y),
    "brier": lambda y, p: (y - p) ** 2,
    "log_loss": lambda y, p: -np.log(p if y == 1 else 1 - p),
    "mse": lambda y, p: (y - p) ** 2,
    "mae": lambda y, p: abs(y - p),
}


@pytest.mark.parametrize("name", LOSSES)
def test_casewise_metrics_agree_with_the_textbook(data, name):
    outcome = "z" if name.startswith("m") else "y"
    model = None if outcome == "z" else Logit(1.0)
    result = cv(
        f"{outcome} ~ a + b", data, model=model, scheme="bootstrap", repeats=25, seed=2
    )
    X, y, loss = data[["a", "b"]].to_numpy(), data[outcome].to_numpy(), LOSSES[name]

    def refit(rows):
        if outcome == "y":
            fit = LogisticRegression(C=1.0, tol=1e-10).fit(X[rows], y[rows])
            return fit.predict_proba(X)[:, 1]
        wide = np.column_stack([np.ones(len(X)), X])
        return wide @ np.linalg.lstsq(wide[rows], y[rows], rcond=None)[0]

    losses = np.full((25, len(y)), np.nan)
    for b, (train, test) in enumerate(result.plan.split()):
        assert len(train) == len(y)
        predicted = refit(train)
        for i in test:
            losses[b, i] = loss(y[i], predicted[i])
    fitted = refit(np.arange(len(y)))
    apparent = np.mean([loss(y[i], fitted[i]) for i in range(len(y))])
    gamma = np.mean([[loss(one, other) for other in fitted] for one in y])
    expected = textbook(apparent, losses, gamma)
    for how, error in zip((".632", ".632+"), expected, strict=True):
        found = result.estimate(name, how)
        value = 1 - error if name == "accuracy" else error
        assert float(found) == pytest.approx(value, abs=1e-6)
        assert (found.how, found.method, found.n_undefined) == (how, "none", 0)
    assert found.parts.no_information == pytest.approx(
        1 - gamma if name == "accuracy" else gamma, abs=1e-6
    )


def test_a_rank_metric_takes_the_mean_over_samples(data):
    result = cv(
        "y ~ a + b", data, model=Logit(1.0), scheme="bootstrap", repeats=30, seed=2
    )
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    for name, peer, gamma in (
        ("auroc", roc_auc_score, 0.5),
        ("auprc", average_precision_score, y.mean()),
    ):
        values = []
        for train, test in result.plan.split():
            fit = LogisticRegression(C=1.0, tol=1e-10).fit(X[train], y[train])
            values.append(peer(y[test], fit.predict_proba(X[test])[:, 1]))
        fit = LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
        apparent = peer(y, fit.predict_proba(X)[:, 1])
        expected = textbook(1 - apparent, 1 - np.array([values]).T, 1 - gamma)
        for how, error in zip((".632", ".632+"), expected, strict=True):
            found = result.estimate(name, how)
            assert isinstance(found, BootstrapEstimate)
            assert float(found) == pytest.approx(1 - error, abs=1e-9)
            assert found.n_values == 30


def test_more_classes_are_weighted_by_their_shares(data):
    result = cv("g ~ a", data, scheme="bootstrap", repeats=10, seed=1)
    parts = result.estimate("accuracy", ".632+").parts
    labels = np.array(["p", "q", "r"])[result.model.predict(data).to_numpy().argmax(1)]
    shares = [(data["g"] == g).mean() * (labels == g).mean() for g in "pqr"]
    assert parts.no_information == pytest.approx(sum(shares))
    assert parts.apparent == pytest.approx((labels == data["g"]).mean())
    assert result.estimate("balanced_accuracy", ".632").parts.no_information == (
        pytest.approx(1 / 3)
    )


# ---- the rule itself ----

values = st.floats(0, 1, allow_subnormal=False)


@given(values, values, values)
def test_the_rule_is_the_same_for_errors_and_for_their_complement(a, out, gamma):
    error = Bootstrap632(a, out, gamma, greater_is_better=False)
    right = Bootstrap632(1 - a, 1 - out, 1 - gamma, greater_is_better=True)
    assert right.plain == pytest.approx(1 - error.plain, abs=1e-12)
    if abs(gamma - a) > 1e-6 and abs(out - a) > 1e-6:
        assert right.overfitting == pytest.approx(error.overfitting, abs=1e-6)
        assert right.plus == pytest.approx(1 - error.plus, abs=1e-6)


@given(values, values, values)
def test_the_weight_lies_between_632_and_one(a, out, gamma):
    found = Bootstrap632(a, out, gamma, greater_is_better=False)
    assert 0 <= found.overfitting <= 1
    if out <= a or gamma <= a:
        assert found.plus == found.plain  # no overfitting, or none to measure it by
    elif out <= gamma:
        w = 0.632 / (1 - 0.368 * (out - a) / (gamma - a))
        assert 0.632 <= w <= 1 + 1e-12
        assert found.plus == pytest.approx((1 - w) * a + w * out, abs=1e-12)
    else:  # worse than no information
        assert found.overfitting == 1
        assert found.plus == pytest.approx(0.368 * gamma + 0.632 * out, abs=1e-12)


def test_a_missing_value_stays_missing():
    for numbers in ((np.nan, 0.5, 0.5), (0.1, np.nan, 0.5), (0.1, 0.3, np.nan)):
        assert np.isnan(Bootstrap632(*numbers, greater_is_better=False).plus)


# ---- the value without information ----


@given(st.integers(0, 10**6), st.integers(4, 12))
def test_no_information_is_the_metric_over_all_pairs(seed, n):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    p = rng.integers(1, 20, n) / 20
    pairs = [(one, other) for one in y for other in p]
    for name in ("accuracy", "brier", "log_loss"):
        loss = LOSSES[name]
        expected = np.mean([loss(one, other) for one, other in pairs])
        found = no_information(METRICS[name], y, p)
        assert found == pytest.approx(1 - expected if name == "accuracy" else expected)
    assert no_information(METRICS["auroc"], y, p) == pytest.approx(0.5)
    assert no_information(METRICS["auprc"], y, p) == pytest.approx(y.mean())
    assert no_information(METRICS["balanced_accuracy"], y, p) == pytest.approx(0.5)
    z = rng.normal(size=n)
    squares = np.mean([(one - other) ** 2 for one in z for other in p])
    absolute = np.mean([abs(one - other) for one in z for other in p])
    assert no_information(METRICS["mse"], z, p) == pytest.approx(squares)
    assert no_information(METRICS["rmse"], z, p) == pytest.approx(np.sqrt(squares))
    assert no_information(METRICS["mae"], z, p) == pytest.approx(absolute)
    r2 = 1 - squares / z.var()
    assert no_information(METRICS["r2"], z, p) == pytest.approx(r2)
    assert no_information(METRICS["r2_training"], z, p) == pytest.approx(r2)


def test_no_information_of_many_records_uses_a_sample_of_pairs(monkeypatch):
    rng = np.random.default_rng(1)
    n = 300
    y = np.sort(rng.integers(0, 2, n))  # neighbours are alike
    p = np.clip(0.3 + 0.4 * y + rng.normal(0, 0.1, n), 0, 1)
    exact = {m: no_information(METRICS[m], y, p) for m in ("accuracy", "brier")}
    monkeypatch.setattr(module, "MOST", 10 * n)
    for name, value in exact.items():
        found = no_information(METRICS[name], y, p)
        assert found != value
        assert found == pytest.approx(value, abs=0.04)


# ---- known properties of the rules ----


@pytest.mark.slow
def test_one_nearest_neighbour_on_noise():
    """The apparent error is 0, so .632 gives about .316, and .632+ about one half."""
    found = {".632": [], ".632+": []}
    for seed in range(25):
        rng = np.random.default_rng(seed)
        noise = pd.DataFrame(rng.normal(size=(20, 5)), columns=list("abcde"))
        noise["y"] = rng.permutation(np.arange(20) % 2)
        result = cv(
            "y ~ .",
            noise,
            model=KNeighborsClassifier(1),
            scheme="bootstrap",
            repeats=30,
            metrics="accuracy",
            seed=1,
        )
        assert result.apparent["accuracy"] == 1
        for how, errors in found.items():
            errors.append(1 - float(result.estimate("accuracy", how)))
    means = {how: np.mean(errors) for how, errors in found.items()}
    error = np.std(found[".632+"], ddof=1) / 5
    assert means[".632"] == pytest.approx(0.316, abs=0.04)
    assert abs(means[".632+"] - 0.5) < max(3 * error, 0.05)
    assert means[".632+"] > means[".632"] + 0.1


def test_a_model_that_cannot_overfit_is_not_corrected(data):
    result = cv("y ~ a", data, model="mean", scheme="bootstrap", seed=1)
    found = result.estimate("auroc", ".632+")
    assert float(found) == 0.5
    assert found.parts.overfitting == 0


# ---- in a result ----


@pytest.mark.slow
@SOME_UNDEFINED
def test_metrics_and_summary_show_the_rules_for_bootstrap_samples_only(data):
    result = cv("y ~ a + b", data, model=Logit(1.0), scheme="bootstrap", seed=2)
    table = result.metrics().set_index("metric")
    for name in table.index:
        for column, how in (("boot632", ".632"), ("boot632plus", ".632+")):
            expected = float(result.estimate(name, how))
            assert table.loc[name, column] == pytest.approx(expected)
    summary = result.summary()
    assert {".632", ".632+"} <= set(next(iter(summary.shown.values())).columns)
    parts = result.estimate("auroc", ".632+").parts
    notes = result.summary(notes=True).notes
    told = [note for note in notes if ".632+ value" in note]
    assert len(told) == 1
    for number in (parts.apparent, parts.out_of_bag, 0.5, parts.plus):
        assert f"{number:.3f}" in told[0]
    other = cv("y ~ a + b", data, model=Logit(1.0), scheme="montecarlo", seed=2)
    assert "boot632" not in other.metrics()
    assert ".632" not in str(other.summary())


@SOME_UNDEFINED
def test_apparent_is_of_the_fit_on_all_rows(data):
    result = cv("y ~ a + b", data, scheme="bootstrap", repeats=20, seed=2)
    for name, value in result.apparent.items():
        parts = result.estimate(name, ".632").parts
        assert parts.apparent == pytest.approx(value)
        assert float(result.estimate(name, ".632")) == pytest.approx(
            0.368 * parts.apparent + 0.632 * parts.out_of_bag
        )


def test_records_that_are_never_held_out_are_counted(data):
    result = cv("y ~ a", data, scheme="bootstrap", repeats=2, seed=2)
    held = np.unique(np.concatenate([test for _, test in result.plan.split()]))
    missing = len(data) - len(held)
    assert missing > 0
    with pytest.warns(
        UndefinedMetricWarning, match=rf"no value in {missing} of 36 records"
    ):
        found = result.estimate("accuracy", ".632")
    assert (found.n_undefined, found.n_values) == (missing, 36)
    table = result.predictions
    hit = (table["predicted"] > 0.5) == table["observed"]
    assert found.parts.out_of_bag == hit.groupby(table["row"]).mean().mean()


@pytest.mark.parametrize("scheme", ["stratified_kfold", "rloocv", "montecarlo"])
@pytest.mark.parametrize("how", [".632", ".632+"])
def test_other_schemes_do_not_have_the_rules(data, scheme, how):
    result = cv("y ~ a", data, scheme=scheme, seed=1)
    said = "out-of-bag value of bootstrap samples; use scheme="
    with pytest.raises(MetricError, match=said):
        result.estimate("accuracy", how)


def test_levels_and_ways_are_checked(data):
    result = cv("y ~ a", data, scheme="bootstrap", seed=1)
    with pytest.raises(MetricError, match="level must lie between 0 and 1"):
        result.estimate("accuracy", ".632", level=95)
    with pytest.raises(MetricError, match=r"bootstrap samples \.632 or \.632\+"):
        result.estimate("accuracy", "632")


def test_the_text_says_why_there_is_no_interval(data):
    result = cv("y ~ a", data, scheme="bootstrap", seed=1)
    found = result.estimate("accuracy", ".632+")
    assert str(found) == f"accuracy {float(found):.2f} (no interval)"
    why = "by the .632+ rule; no interval: it combines"
    assert repr(found).startswith(f"{found}\n{why}")
    assert np.isnan([found.lower, found.upper, found.se, found.sd]).all()


def test_the_fit_on_all_records_has_a_threshold_of_its_own():
    y, fitted = np.array([0, 0, 0, 1]), np.array([0.1, 0.4, 0.3, 0.9])
    accuracy = METRICS["accuracy"]
    for threshold, share in ((0.2, 3 / 4), (0.35, 1 / 2), (0.5, 1 / 4)):
        expected = 3 / 4 * (1 - share) + 1 / 4 * share
        found = no_information(accuracy, y, fitted, threshold)
        assert found == pytest.approx(expected)
    assert no_information(accuracy, y, fitted) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::statcv.errors.SeparationWarning")
@pytest.mark.parametrize("threshold", [0.3, "youden"])
def test_the_threshold_applies_to_the_fit_on_all_rows(data, threshold):
    res = cv(
        "y ~ a + b",
        data,
        scheme="bootstrap",
        repeats=10,
        seed=1,
        threshold=threshold,
        metrics=["sensitivity", "accuracy"],
    )
    table = res.metrics().set_index("metric")
    for name in ("sensitivity", "accuracy"):
        found = res.estimate(name, ".632")
        assert found.parts.apparent == res.apparent[name]
        assert table.loc[name, "boot632"] == float(found)
