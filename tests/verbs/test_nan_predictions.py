"""A model that predicts nothing for some record: the error says when and why."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import statcv as scv


class Silent(ClassifierMixin, BaseEstimator):
    """Has no prediction for a record whose covariate is above a limit."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        share = np.where(X[:, -1] > 2, np.nan, 1 / (1 + np.exp(-X[:, -1])))
        return np.column_stack([1 - share, share])


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    x = np.append(rng.normal(size=19) / 2, 3.0)
    return pd.DataFrame({"y": np.arange(20) % 2, "x": x})


@pytest.mark.parametrize("scheme", ["leave_pair_out", "rloocv"])
def test_predictions_that_are_nan_are_counted_and_named(data, scheme):
    given = {"model": Silent(), "scheme": scheme, "metrics": "auroc", "seed": 1}
    given["repeats"] = 1
    with pytest.warns(
        scv.errors.UndefinedMetricWarning, match="predicts NaN for .* of "
    ):
        result = scv.cv("y ~ x - 1", data, **given)
    with pytest.warns(
        scv.errors.UndefinedMetricWarning, match="no value in 1 of 1 repeats"
    ):
        estimate = result.estimate("auroc", how="paired")
    assert np.isnan(estimate.value)
    held = result.scores.left
    count = np.isnan(held.predicted).sum()
    assert count == (held.row == 19).sum()
    said = estimate.interval.assumes
    assert said == f"{count} of {len(held.row)} predictions are NaN, for 1 record"
