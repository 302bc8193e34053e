"""A cluster by joblib's dask backend: the same numbers, computed elsewhere."""

import os
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from statcv import cv
from statcv.engine import tasks
from statcv.models import Logit
from statcv.models.base import PlainFit

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as local,
        distributed.Client(local),
    ):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame["a"] + rng.logistic(size=60) > 0.3).astype(int)
    return frame


class Whereabouts:
    """Predicts the training mean, and notes in which process."""

    label = "whereabouts"

    def check(self, kind):
        pass

    def fit(self, training):
        time.sleep(0.05)
        mean = training.y.mean()
        return PlainFit(lambda X: np.full(len(X), mean), {"pid": float(os.getpid())})


@pytest.mark.slow
@pytest.mark.parametrize("model", [Logit(1.0), LogisticRegression(C=0.5)])
def test_a_cluster_changes_no_bit(cluster, data, model, monkeypatch):
    monkeypatch.setattr(tasks, "WORK", 60 * 4 * 10)  # Logit in six tasks
    here = cv("y ~ a + b + c", data, model=model, scheme="loocv", seed=1)
    with joblib.parallel_config("dask"):
        there = cv("y ~ a + b + c", data, model=model, scheme="loocv", seed=1)
    np.testing.assert_array_equal(there.held.predicted, here.held.predicted)
    pd.testing.assert_frame_equal(there.held.coefficients, here.held.coefficients)


@pytest.mark.slow
def test_fits_are_made_in_the_workers(cluster, data):
    arguments = {"model": Whereabouts(), "scheme": "loocv", "seed": 1}
    workers = set(distributed.get_client().run(os.getpid).values())
    with joblib.parallel_config("dask"):
        result = cv("y ~ a", data, **arguments)
    assert set(result.coefficients["pid"]) == workers
    assert len(workers - {os.getpid()}) == 2
