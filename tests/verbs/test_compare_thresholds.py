"""Metrics at a threshold in comparisons, and what cannot be fitted again."""

import numpy as np
import pytest

import statcv as scv
from statcv.errors import MetricError


@pytest.fixture(scope="module")
def pair():
    data = scv.load_data("spector")
    one = scv.cv("GRADE ~ GPA", data, seed=1, threshold=0.3)
    return one, one.update(formula="GRADE ~ GPA + PSI")


@pytest.mark.parametrize("test", ["t", "permutation"])
def test_net_benefit_is_compared_at_the_threshold_of_both(pair, test):
    compared = scv.compare(*pair, metric="net_benefit", test=test)
    first = pair[0].predictions.set_index("row")
    second = pair[1].predictions.set_index("row").loc[first.index]
    y = first["observed"].to_numpy()

    def benefit(p):
        treated = p.to_numpy() >= 0.3
        return (treated * np.where(y == 1, 1, -0.3 / 0.7)).mean()

    worth = benefit(second["predicted"]) - benefit(first["predicted"])
    assert compared.differences["difference"][0] == pytest.approx(worth)
    assert "net benefit (threshold 0.3)" in str(compared)


@pytest.mark.parametrize("test", ["t", "corrected_t"])
def test_the_null_model_is_held_at_the_threshold_of_the_results(pair, test):
    """It predicts the training mean, which is above 0.3 in every fold: all treated."""
    compared = scv.compare(*pair, metric="net_benefit", test=test, reference="null")
    folds = pair[0].predictions.groupby("fold")["observed"].mean()
    share = folds.mean() if test == "corrected_t" else pair[0].design.y.mean()
    assert compared.table["estimate"]["null"] == pytest.approx(
        share - (1 - share) * 0.3 / 0.7
    )
    assert "net benefit (threshold 0.3)" in str(compared)


def test_thresholds_that_differ_are_refused(pair):
    other = pair[1].update(threshold=0.4)
    with pytest.raises(MetricError, match="thresholds that differ"):
        scv.compare(pair[0], other, metric="net_benefit")


@pytest.mark.parametrize("interval", ["jackknife", "corrected_jackknife", "nested_cv"])
@pytest.mark.parametrize("fold", [None, "fold"])
def test_predictions_made_elsewhere_have_no_refits(pair, interval, fold):
    elsewhere = scv.from_predictions(
        pair[0].predictions, observed="observed", predicted="predicted", fold=fold
    )
    with pytest.raises(MetricError, match="so that there is no model to fit"):
        elsewhere.estimate("auroc", interval=interval)
