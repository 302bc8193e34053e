"""Moments of the predictions of each fit, against separate fits."""

import numpy as np
import pytest

import statcv as scv
from statcv.models import Linear
from studies.moments import prediction_moments


@pytest.mark.parametrize("training", [False, True])
def test_moments_of_predictions_are_those_of_each_fit(training):
    data = scv.load_data("spector")
    result = scv.cv("GPA ~ TUCE + PSI", data, k=4, seed=1, model="linear")
    setup = result.refits.setup
    found = prediction_moments(setup, training=training)
    for fit in range(4):
        own = setup.folds.training_set(setup.records, fit)
        values = Linear().fit(own).predict(own.X if training else setup.records.X)
        assert found.mean[fit] == pytest.approx(values.mean(), abs=1e-7)
        assert found.sd[fit] == pytest.approx(np.std(values), abs=1e-7)
