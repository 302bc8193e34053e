"""What cannot be done is refused at once, in words that say what to do."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import statcv as scv
from statcv import plots
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    OutcomeError,
    SchemeError,
)

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    return scv.load_data("spector")


@pytest.fixture(scope="module")
def result(data):
    return scv.cv("GRADE ~ GPA", data, k=4, seed=1)


def test_more_permutations_than_can_be_made(result):
    for call in (
        lambda: result.test(n_permutations=10**12),
        lambda: result.null_bias(n_permutations=10**12),
        lambda: result.null_distribution(times=10**12),
    ):
        with pytest.raises(ArgumentError, match=r"at most 10000000 .*take about .*\d"):
            call()


@pytest.mark.parametrize("wrong", [None, 5, "a", pd.DataFrame({"x": [1]})])
@pytest.mark.parametrize("name", sorted({*plots.__all__} - {"style"}))
def test_pictures_of_no_result(name, wrong):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()  # made by other tests
    with pytest.raises(scv.StatcvError) as error:
        getattr(plots, name)(wrong)
    assert isinstance(error.value, TypeError | KeyError)
    words = ["not", "no column", "there is one"]
    assert any(word in str(error.value) for word in words)
    assert plt.get_fignums() == before


def test_a_decision_curve_at_no_threshold(result):
    with pytest.raises(ArgumentError, match="thresholds is empty"):
        plots.plot_decision(result, thresholds=[])


def test_replicates_that_are_no_numbers(result):
    for wrong, said in [
        (None, "number 1 is None"),
        ("0.5", "number 1 is '0.5'"),
        ([0.4, None], "number 2 is None"),
        ([0.4, result], "number 2 is a CVResult"),
        (result, "number 1 is a CVResult"),
        (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), r"DataFrame of shape \(2, 2\)"),
    ]:
        with pytest.raises(ArgumentTypeError, match=said):
            scv.t_test(wrong)
    estimates = [result.estimate("auroc"), 0.5, np.float32(0.75)]
    assert scv.t_test(estimates).estimate == pytest.approx(
        np.mean([float(value) for value in estimates])
    )


@pytest.mark.parametrize("wrong", [5, None, "GLM", [sm.GLM], sm])
def test_a_statsmodels_model_that_is_none(wrong):
    with pytest.raises(ArgumentTypeError, match=r"such as sm\.GLM or smf\.glm"):
        scv.models.Statsmodels(wrong)


@pytest.mark.parametrize(
    ("splits", "said"),
    [
        ([(1, 2)], r"split 1 of GivenSplits is \(1, 2\), not a pair"),
        ([(1,)], "not a pair"),
        ([([0, 1], [2]), (1, 2)], r"split 2 .* is \(1, 2\)"),
        ([([0, 1], [2], [3])], "not a pair"),
        ([("a", "b")], "not a pair"),
        ([([[0], [1]], [2])], "not a pair"),
        ([([0.5, 1.5], [2])], "integers from 0, not .*0.5"),
        ([(["a"], [2])], "integers from 0, not .*'a'"),
        ([(None, None)], "not a pair"),
    ],
)
def test_splits_that_are_no_pairs_of_positions(data, splits, said):
    with pytest.raises(SchemeError, match=said):
        scv.cv("GRADE ~ GPA", data, scheme=splits)


def test_an_outcome_whose_squares_overflow():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=40), "y": rng.normal(size=40)})
    with pytest.raises(DataError, match=r"'y' has values up to \d\.\d+e\+300"):
        scv.cv("y ~ x", data.assign(y=data["y"] * 1e300))
    large = scv.cv("y ~ x", data.assign(y=data["y"] * 1e72), k=4, seed=1)
    small = scv.cv("y ~ x", data, k=4, seed=1)
    assert float(large.estimate("rmse")) == pytest.approx(
        1e72 * float(small.estimate("rmse"))
    )
    assert np.isfinite(large.metrics()["estimate"]).all()


def test_an_identifier_as_outcome():
    n = 120_000
    data = pd.DataFrame({"x": np.zeros(n), "id": [f"p{i % 50_000}" for i in range(n)]})
    with pytest.raises(OutcomeError, match=r"50000 classes in 120000 rows.*identifier"):
        scv.cv("id ~ x", data)
