"""Cross-validation of times to an event: risks at horizons, schemes and metrics."""

import warnings

import numpy as np
import pandas as pd
import pytest

from statcv import compare, cv, fold_plan, from_predictions, load_data
from statcv.errors import (
    DistributionalBiasWarning,
    FoldWarning,
    MetricError,
    ModelError,
    OutcomeError,
)
from statcv.metrics import auroc, brier
from statcv.metrics.survival import Known
from statcv.models import Cox, TrainingSet
from statcv.numeric.survival import signed_times

FORMULA = "Surv(time, status) ~ x + z"


def data(n=60, seed=1, censoring=0.1, start=0.0, signal=1.0):
    """Times that depend on x; none is censored before ``start``."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    time = rng.exponential(5 * np.exp(-signal * x)).round(2) + 0.01
    censored = rng.exponential(1 / censoring, n) + start
    return pd.DataFrame(
        {"x": x, "z": z, "time": np.minimum(time, censored), "status": time <= censored}
    )


def values(result, name, how):
    return float(result.estimate(name, how))


# ---- predictions ----


@pytest.mark.parametrize("scheme", ["kfold", "loocv", "rloocv", "bootstrap"])
def test_each_fold_is_a_fit_of_its_training_set(scheme):
    frame = data(30)
    more = {"repeats": 2} if scheme in ("rloocv", "bootstrap") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistributionalBiasWarning)
        result = cv(FORMULA, frame, horizon=[2, 4], scheme=scheme, seed=3, **more)
    design, plan = result.design, result.plan
    for fit in range(0, plan.n_fits, 7):
        rows = plan.train(fit)
        training = TrainingSet(
            design.matrix[rows],
            design.y[rows],
            "survival",
            0,
            design.names,
            0,
            None,
            0,
            horizons=(2.0, 4.0),
        )
        own = result.held.fit == fit
        alone = Cox().fit(training).predict(design.matrix[result.held.row[own]])
        risks = result.held.predicted[own][:, 1:]
        np.testing.assert_allclose(risks, alone[:, 1:], atol=1e-8)


def test_numbers_do_not_depend_on_the_number_of_processes():
    one, two = (
        cv(FORMULA, data(), horizon=3, scheme="kfold", seed=1, n_jobs=n) for n in (1, 2)
    )
    pd.testing.assert_frame_equal(one.predictions, two.predictions)
    pd.testing.assert_frame_equal(one.metrics(), two.metrics())


def test_predictions_are_named_by_horizon():
    result = cv(FORMULA, data(), horizon=[2, 4.5], k=5, seed=1)
    names = ["time", "event", "linear", "risk_2", "risk_4.5"]
    assert list(result.predictions)[3:] == names
    assert list(result.final.predict(data().head(2))) == names[2:]
    risk = result.predictions[["risk_2", "risk_4.5"]].to_numpy()
    assert ((risk >= 0) & (risk <= 1)).all()
    assert (risk[:, 0] <= risk[:, 1]).all()


# ---- metrics ----


def test_without_censoring_before_the_horizon_metrics_are_those_of_two_classes():
    frame = data(80, start=3.0)
    result = cv(FORMULA, frame, horizon=2.5, scheme="rloocv", repeats=3, seed=1)
    made = result.predictions
    observed = (made["time"] <= 2.5) & made["event"]
    areas, losses = [], []
    for _, rows in made.groupby("repeat"):
        known = observed[rows.index]
        areas.append(auroc(known, rows["risk_2.5"]))
        losses.append(brier(known, rows["risk_2.5"]))
    assert values(result, "auroc", "pooled") == pytest.approx(np.mean(areas))
    assert values(result, "brier", "pooled") == pytest.approx(np.mean(losses))
    pairs = result.pairs
    case = (pairs["time"] <= 2.5) & pairs["event"]
    sign = np.where(case, 1, -1)
    won = (np.sign(sign * (pairs["risk_2.5"] - pairs["risk_2.5_partner"])) + 1) / 2
    assert values(result, "auroc", "paired") == pytest.approx(
        won.groupby(pairs["repeat"]).mean().mean()
    )


def test_pairs_of_censored_records_have_weights():
    frame = data(40, censoring=0.3)
    result = cv(FORMULA, frame, horizon=2, scheme="leave_pair_out", seed=1)
    y, held = result.design.y, result.scores.left
    known = Known(y, 2.0, np.ones((1, len(y))))
    won = total = 0.0
    for fit in range(result.plan.n_fits):
        one, two = np.flatnonzero(held.fit == fit)
        for i, j in ((one, two), (two, one)):
            if known.case[held.row[i]] and known.control[held.row[j]]:
                weight = known.factor[0, held.row[i]]
                apart = held.predicted[i, 1] - held.predicted[j, 1]
                won += weight * (np.sign(apart) + 1) / 2
                total += weight
    assert values(result, "auroc", "paired") == pytest.approx(won / total)


def test_censoring_weights_come_from_all_records():
    frame = data(60, censoring=0.2)
    result = cv(FORMULA, frame, horizon=3, k=5, seed=1)
    y = result.design.y
    found = []
    for fold in range(5):
        rows = result.held.row[result.held.fit == fold]
        risk = result.held.predicted[result.held.fit == fold][:, 1]
        known = Known(y[rows], 3.0, np.ones((1, len(rows))), censoring=y)
        case = known.case * 1.0
        found.append((known.own[0] * (risk - case) ** 2).sum() / len(rows))
    assert values(result, "brier", "per_fold") == pytest.approx(np.mean(found))


def test_metrics_are_named_at_horizons():
    result = cv(FORMULA, data(), horizon=[2, 4], k=5, seed=1, metrics=["auroc"])
    assert result.metric_names == ("auroc@2", "auroc@4")
    with pytest.raises(MetricError, match="'auroc@2' or 'auroc@4'"):
        result.estimate("auroc")
    assert float(result.estimate("harrell_c")) > 0.5
    with pytest.raises(MetricError, match="no metric 'auroc@3'"):
        result.estimate("auroc@3")
    with pytest.raises(MetricError, match="horizon="):
        cv(FORMULA, data(), k=5, metrics="brier")
    with pytest.raises(MetricError, match="no metric 'rmse'"):
        cv(FORMULA, data(), k=5, metrics="rmse", horizon=2)


def test_the_brier_score_is_integrated_over_three_horizons():
    result = cv(FORMULA, data(), horizon=[1, 2, 4], scheme="kfold", k=5, seed=1)
    each = [values(result, f"brier@{t}", "pooled") for t in (1, 2, 4)]
    area = each[0] / 2 + (each[0] + each[1]) / 2 + (each[1] + each[2])
    found = result.estimate("integrated_brier@4")
    assert float(found) == pytest.approx(area / 4)
    assert found.lower < float(found) < found.upper


def test_a_threshold_gives_the_net_benefit():
    result = cv(FORMULA, data(), horizon=3, threshold=0.4, k=5, seed=1)
    treat_all = result.no_skill.set_index("metric").loc["net_benefit@3", "no_skill"]
    assert np.isfinite(values(result, "net_benefit", "pooled"))
    assert treat_all < 1
    with pytest.raises(ModelError, match="two classes"):
        cv(FORMULA, data(), horizon=3, threshold="youden")


# ---- what leave-one-out gives away ----


def test_leave_one_out_ranks_every_case_below_every_control():
    with pytest.warns(DistributionalBiasWarning, match="auROC at 2 0.000"):
        result = cv("Surv(time, status) ~ 1", data(), horizon=2, scheme="loocv")
    assert values(result, "auroc", "pooled") == 0
    assert values(result, "harrell_c", "pooled") == 0.5


@pytest.mark.parametrize("scheme", ["rloocv", "leave_pair_out"])
def test_pairs_give_nothing_away(scheme):
    result = cv("Surv(time, status) ~ 1", data(), horizon=2, scheme=scheme, seed=1)
    assert result.estimate("auroc").how == "paired"
    assert float(result.estimate("auroc")) == 0.5


@pytest.mark.slow
def test_pairing_cures_noise():
    rows = []
    for seed in range(150):
        frame = data(40, seed, censoring=1e-9, signal=0.0)
        row = []
        for scheme in ("loocv", "rloocv"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DistributionalBiasWarning)
                result = cv(
                    "Surv(time, status) ~ x", frame, horizon=3, scheme=scheme, seed=seed
                )
            row.append(float(result.estimate("auroc")))
        rows.append(row)
    (pooled, paired), error = np.mean(rows, axis=0), np.std(rows, axis=0) / 150**0.5
    assert pooled < 0.5 - 5 * error[0]
    assert abs(paired - 0.5) < 3 * error[1]


# ---- models, comparisons, and what is refused ----


def test_a_ridge_is_tuned_by_concordance_inside_training_sets():
    grid = {"C": [0.01, 1, 100]}
    result = cv(FORMULA, data(), model=Cox(C=1.0), tune=grid, horizon=3, k=4, seed=1)
    assert set(result.tuned["C"]) <= set(grid["C"])
    assert "Harrell's C" in result.learner.label


def test_two_results_are_compared_at_a_horizon():
    full = cv(FORMULA, data(), horizon=3, k=5, seed=1)
    less = full.update("Surv(time, status) ~ z")
    for name in ("harrell_c", "auroc@3", "brier@3"):
        found = compare(less=less, full=full, metric=name).differences.iloc[0]
        away = float(full.estimate(name)) - float(less.estimate(name))
        assert found["difference"] == pytest.approx(away)
        assert found["lower"] < away < found["upper"]


@pytest.mark.parametrize("model", ["logit", "linear", "neighbors"])
def test_other_models_are_refused(model):
    with pytest.raises(ModelError, match="Cox"):
        cv(FORMULA, data(), model=model)


def test_a_training_set_without_events_is_named():
    frame = data(30).assign(status=np.arange(30) == 3)
    with pytest.raises(OutcomeError, match="training set of fold"):
        cv(FORMULA, frame, scheme="loocv")


def test_a_rare_status_is_counted():
    frame = data(40)
    late = frame.assign(status=frame["status"] & (frame["time"].rank() % 7 < 1))
    with pytest.warns(FoldWarning, match="fewer records"):
        fold_plan("Surv(time, status)", late, horizon=3, k=10, seed=1)


def test_permuted_times_have_no_skill():
    result = cv(FORMULA, data(50), horizon=3, scheme="rloocv", repeats=2, seed=1)
    found = result.null_distribution("auroc", times=60)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - 0.5) < 4 * error


def test_predictions_of_a_status_at_the_horizon_are_validated_as_two_classes():
    frame = data(60, start=3.0)
    known = signed_times(frame["time"], frame["status"])
    table = pd.DataFrame({"y": (known > 0) & (known <= 2), "p": 0.5})
    assert float(from_predictions(table, observed="y", predicted="p").estimate()) == 0.5


def test_folds_may_lack_censored_records():
    data = load_data("veteran")  # 9 of 137 are censored
    for horizon in (None, 90):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plan = fold_plan("Surv(time, status)", data=data, horizon=horizon, seed=1)
        (found,) = [
            one for one in plan.audit().findings if one.check == "class_not_held_out"
        ]
        assert found.sentence == "Every fold holds out records of all statuses."
