"""Scores of integer points, rounded in every training set."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import ArgumentError, EquationError, ModelError
from statcv.models import Logit, Points, TrainingSet


def people(n=300, seed=3):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "age": rng.uniform(30, 80, n),
            "bmi": rng.normal(27, 4, n),
            "sex": rng.choice(["f", "m"], n),
            "stage": rng.choice(["i", "ii", "iii"], n),
        }
    )
    eta = (made.age - 55) / 12 - 0.1 * (made.bmi - 27) - 0.8 * (made.sex == "m")
    eta += np.select([made.stage == "ii", made.stage == "iii"], [-0.5, 0.9], 0.0)
    return made.assign(died=(rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int))


FORMULA = "died ~ age + bmi + sex + stage"


def test_each_predictor_has_the_points_of_its_log_odds():
    data = people()
    final = scv.cv(FORMULA, data, k=5, seed=1).final
    score, beta = final.points({"age": 5}), final.coefficients
    point = 5 * beta["age"]
    by_hand = np.rint((data.age - 30) * beta["age"] / point)
    by_hand += np.rint((data.bmi - data.bmi.max()) * beta["bmi"] / point)
    sexes = {"f": 0.0, "m": beta["sex[T.m]"]}
    stages = {"i": 0.0, "ii": beta["stage[T.ii]"], "iii": beta["stage[T.iii]"]}
    for column, effects in (("sex", sexes), ("stage", stages)):
        least = min(effects.values())
        points = {level: round((b - least) / point) for level, b in effects.items()}
        by_hand += data[column].map(points)
        own = score.table[score.table.predictor == column]
        assert dict(zip(own["value"], own["points"], strict=True)) == points
    # limits are rounded, so that a value beside one may have a point more or less
    assert (np.abs(score.total(data) - by_hand) <= 1).all()
    assert np.mean(score.total(data) == by_hand) > 0.9


def test_risks_are_near_those_of_the_model_and_rise_with_the_points():
    data = people()
    final = scv.cv(FORMULA, data, k=5, seed=1).final
    for distance, near in ((5, 0.12), (1, 0.04), (0.2, 0.012)):
        score = final.points({"age": distance} if distance > 0.5 else {"age": 1})
        difference = np.abs(score.predict(data) - final.predict(data)).max()
        assert difference < max(near, 0.04)
        assert score.risks["risk"].is_monotonic_increasing
        risk = score.risks.set_index("points")["risk"]
        np.testing.assert_allclose(score.predict(data), risk[score.total(data)])


def test_what_is_cross_validated_is_rounded_in_every_training_set():
    data = people()
    model = Points({"age": 10})
    res = scv.cv(FORMULA, data, model=model, k=5, seed=1)
    exact = scv.cv(FORMULA, data, k=5, seed=1)
    pd.testing.assert_series_equal(
        exact.final.points({"age": 10}).cross_validated().predictions["predicted"],
        res.predictions["predicted"],
    )
    fold = res.predictions[res.predictions["fold"] == res.predictions["fold"][0]]
    outside = data.drop(index=fold["row"])
    alone = scv.cv(FORMULA, outside, k=2, seed=1).final.points({"age": 10})
    np.testing.assert_allclose(
        fold.set_index("row")["predicted"], alone.predict(data.loc[fold["row"]])
    )
    score = exact.final.points({"age": 10})
    cost = score.cost()
    assert cost.index.tolist() == [
        *("auroc", "calibration_slope", "brier", "net_benefit")
    ]
    assert cost.loc["auroc", "points"] == pytest.approx(float(res.estimate("auroc")))
    pd.testing.assert_frame_equal(cost, score.cost(threshold=data["died"].mean()))
    at = {"exact": exact.update(threshold=0.2), "points": res.update(threshold=0.2)}
    treated = score.cost(threshold=0.2)
    for metric in cost.index:
        both = scv.compare(at, metric=metric)
        (one,) = both.differences[["difference", "lower", "upper"]].to_numpy()
        found = treated.loc[metric, ["difference", "lower", "upper"]].to_numpy(float)
        np.testing.assert_allclose(found, one)
    # a threshold of the result itself is kept
    own = at["exact"].final.points({"age": 10})
    pd.testing.assert_frame_equal(own.cost(), treated)
    with pytest.raises(ArgumentError, match="must be a risk"):
        score.cost(threshold=1.5)


def test_a_cox_regression_is_rounded_with_the_baseline_of_its_totals():
    data = scv.load_data("veteran")
    exact = scv.cv("Surv(time, status) ~ karno + celltype", data, horizon=[90, 180])
    score = exact.final.points({"karno": 10})
    total, risks = score.total(data).to_numpy(float), score.risks.set_index("points")
    # Breslow's estimate, event by event, with the log hazard of a point as given
    hazard = np.exp(-10 * exact.final.coefficients["karno"] * total)
    for at in (90, 180):
        cumulative = sum(
            1 / hazard[data.time >= time].sum()
            for time in data.time[(data.status == 1) & (data.time <= at)]
        )
        by_hand = 1 - np.exp(-cumulative * hazard)
        np.testing.assert_allclose(risks.loc[total, f"risk_{at}"], by_hand)
        np.testing.assert_allclose(score.predict(data)[f"risk_{at}"], by_hand)
    cost = score.cost(["harrell_c", "auroc@90", "net_benefit@180"])
    rounded = exact.update(model=Points({"karno": 10}, scv.models.Cox()))
    assert cost.loc["auroc@90", "points"] == float(rounded.estimate("auroc@90"))
    assert cost.loc["harrell_c", "difference"] == pytest.approx(-0.01, abs=0.03)
    assert score.cost().index[:3].tolist() == [
        *("auroc@90", "auroc@180", "calibration_slope@90")
    ]
    without = scv.cv("Surv(time, status) ~ karno", data, seed=1).final
    with pytest.raises(ModelError, match="give cv\\(\\) horizon="):
        without.points({"karno": 10})


def test_a_missing_value_has_no_points():
    data = people()
    score = scv.cv(FORMULA, data, k=5, seed=1).final.points({"age": 5})
    holes = data.head(3).assign(bmi=[np.nan, 25.0, 30.0])
    assert score.total(holes).isna().tolist() == [True, False, False]
    assert score.predict(holes).isna().tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("formula", "unit", "message"),
    [
        (FORMULA, {"sex": 1}, "not a numeric column"),
        (FORMULA, {"age": 0}, "above 0"),
        (FORMULA, {"age": 5, "bmi": 1}, "one column"),
        (FORMULA, {"age": 0.01}, "longer distance"),
        ("died ~ age * sex", {"age": 5}, "interaction"),
        ("died ~ bs(age, df=4)", {"age": 5}, "function"),
        ("died ~ C(stage, Sum) + age", {"age": 5}, "contrast"),
        ("stage ~ age", {"age": 5}, "multiclass"),
        ("bmi ~ age", {"age": 5}, "logistic"),
    ],
)
def test_what_has_no_points_is_said(formula, unit, message):
    res = scv.cv(formula, people(), k=5, seed=1)
    with pytest.raises((ModelError, EquationError), match=message):
        res.final.points(unit)


def test_a_coefficient_of_zero_gives_no_unit():
    X = np.column_stack([np.ones(8), np.arange(8.0), np.zeros(8)])
    y = np.array([0, 1] * 4)
    training = TrainingSet(X, y, "binary", 2, ("Intercept", "a", "b"), 0, None, seed=0)
    with pytest.raises(ModelError, match="is 0 in a training set"):
        Points({"b": 1.0}, Logit(C=1.0)).fit(training)
