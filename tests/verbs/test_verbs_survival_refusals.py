"""Bad outcomes of Surv(time, status): a sentence, or a number that is counted."""

import datetime

import numpy as np
import pandas as pd
import pytest

from statcv import compare, cv, fold_plan
from statcv.errors import (
    ArgumentError,
    ComparisonError,
    DataError,
    FoldWarning,
    FormulaError,
    OutcomeError,
    StatcvError,
)
from statcv.metrics import survival_metrics
from statcv.numeric.survival import signed_times

# what is counted is announced; a warning of NumPy or pandas stays an error
pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")

N = 40
RNG = np.random.default_rng(3)
X, Z = RNG.normal(size=(2, N))
EVENT, CENSORED = RNG.exponential(5 * np.exp(-X)) + 0.01, RNG.exponential(10, N)
FRAME = pd.DataFrame(
    {
        "x": X,
        "z": Z,
        "time": np.minimum(EVENT, CENSORED),
        "status": (EVENT <= CENSORED).astype(int),
    }
)
RANK = FRAME["time"].rank()
LEFT = "Surv(time, status)"


def changed(value, row=3):
    return FRAME["time"].where(np.arange(N) != row, value)


TIMES = {
    "negative": (changed(-2.0), "1 time .* is not above 0.* such as -2 in row 3"),
    "zero": (changed(0.0), "such as 0 in row 3"),
    "infinite": (changed(np.inf), "or not finite, such as inf in row 3"),
    "huge": (changed(1e300), "has values up to 1e.300"),
    "text": (["long"] * N, "is not a number"),
    "dates": (pd.date_range("2020-01-01", periods=N), "is not a number"),
    "differences": (pd.to_timedelta(FRAME["time"], unit="D"), "total_seconds"),
    "truth": (FRAME["time"] > 2, "is not a number"),
    "lists": ([[1]] * N, "values of the type list"),
    "complex": (FRAME["time"] + 0j, "complex"),
    "swapped": (FRAME["status"], "seem to be swapped"),
}


@pytest.mark.parametrize("what", TIMES)
def test_a_time_that_is_none_is_named(what):
    values, message = TIMES[what]
    data = FRAME.assign(time=values)
    if what == "swapped":
        data["status"] = FRAME["time"]
    for call in (lambda: cv(f"{LEFT} ~ x", data), lambda: fold_plan(LEFT, data)):
        with pytest.raises(DataError, match=message) as found:
            call()
        assert isinstance(found.value, ValueError)


STATUS = {
    "three words": (["a", "b", "c", "a"] * 10, "3 values .*status == 'b'"),
    "three numbers": ([0, 1, 2, 1] * 10, "3 values .0, 1, 2.*status == 1"),
    "two words": (["dead", "alive"] * 20, "status == 'dead'"),
    "digits as text": (["0", "1"] * 20, "status == '1'"),
    "-1 and 1": ([-1, 1] * 20, "values -1 and 1"),
    "days": ([datetime.date(2020, 1, d) for d in (1, 2)] * 20, "== '2020-01-02"),
    "dates": (pd.date_range("2020-01-01", periods=N), "has 40 values"),
    "no event": ([0] * N, "no record has an event"),
    "missing": ([np.nan] * N, "are missing"),
}


@pytest.mark.parametrize("what", STATUS)
def test_a_status_that_is_none_is_named(what):
    values, message = STATUS[what]
    with pytest.raises(OutcomeError, match=message) as found:
        cv(f"{LEFT} ~ x", FRAME.assign(status=values))
    assert isinstance(found.value, ValueError)


def test_a_status_in_lists_is_named():
    with pytest.raises(
        DataError, match="column 'status' holds values of the type list"
    ):
        cv(f"{LEFT} ~ x", FRAME.assign(status=[[1]] * N))


@pytest.mark.parametrize(
    "status", [pd.array([None, *[True, False, True] * 13], dtype="boolean"), None]
)
def test_missing_status_is_dropped_and_counted(status):
    data = FRAME.assign(status=status if status is not None else FRAME["status"])
    if status is None:
        data = data.assign(time=changed(np.nan, 0))
    result = cv(f"{LEFT} ~ x", data, seed=1, k=5)
    assert result.design.n == N - 1
    assert sum(result.design.missing.values()) == 1


def test_the_type_of_censoring_is_text():
    with pytest.raises(FormulaError, match="another origin or type"):
        cv("Surv(time, status, type=time) ~ x", FRAME)


HORIZONS = {
    "a length of time": (np.timedelta64(3, "D"), "must be a time above 0"),
    "another": (pd.Timedelta(3, "D"), "must be a time above 0"),
    "text": ("3", "must be a time above 0"),
    "missing": (pd.NA, "must be a time above 0"),
    "nested": ([[2, 3]], "must be a time above 0"),
    "beyond follow-up": (1e300, "longest follow-up"),
    "before the first event": (1e-9, "before the first event"),
    "one name": ([3, 3 + 1e-9], "both 3 in the names"),
}


@pytest.mark.parametrize("what", HORIZONS)
def test_a_horizon_that_is_none_is_named(what):
    value, message = HORIZONS[what]
    with pytest.raises(ArgumentError, match=message):
        cv(f"{LEFT} ~ x", FRAME, horizon=value)


@pytest.mark.parametrize(
    "horizon", [np.float32(3), [2, 2, 3], pd.Series([2, 3]), range(2, 4)]
)
def test_a_horizon_is_any_number_or_list(horizon):
    plan = fold_plan(LEFT, FRAME, horizon=horizon, scheme="kfold", seed=1)
    assert plan.n == N


def test_one_event_is_in_no_training_set_of_its_fold():
    data = FRAME.assign(status=(RANK == 1).astype(int))
    with pytest.raises(OutcomeError, match=r"set of fold .*; .* only one event,"):
        cv(f"{LEFT} ~ x", data, scheme="kfold", k=5, seed=1)


def test_folds_without_events_by_the_horizon_are_counted():
    data = FRAME.assign(status=(RANK <= 2).astype(int))
    horizon = float(data["time"][RANK == 10].iloc[0])
    with pytest.warns(FoldWarning, match="fewer records"):
        result = cv(f"{LEFT} ~ x", data, horizon=horizon, k=5, seed=1)
    table = result.metrics().set_index("metric")
    area = next(name for name in table.index if name.startswith("auroc"))
    assert table.loc[area, "n_undefined"] >= 3
    assert str(result.summary(notes=True))


@pytest.mark.parametrize("scheme", ["tournament_leave_pair_out", "rloocv", "kfold"])
def test_ties_of_everything_have_no_order(scheme):
    data = FRAME.assign(time=3.0)
    if scheme == "tournament_leave_pair_out":
        data = FRAME.assign(status=1).head(12)
    more = {"horizon": 3} if scheme.startswith("t") else {}
    result = cv(f"{LEFT} ~ x", data, scheme=scheme, seed=1, **more)
    value = float(result.estimate("harrell_c"))
    assert np.isnan(value) or 0 <= value <= 1
    assert str(result.summary(notes=True))


def test_a_tournament_scores_each_prediction_by_the_pairs_that_it_wins():
    data = FRAME.assign(status=1).head(12)
    result = cv(
        f"{LEFT} ~ x", data, horizon=3, scheme="tournament_leave_pair_out", seed=1
    )
    held = result.scores
    rows, scores = held.by_record(np.arange(len(held.row)), True)
    one, two = held.predicted[::2], held.predicted[1::2]
    first = (np.sign(one - two) + 1) / 2
    for row, own in zip(rows, scores, strict=True):
        mine = np.concatenate(
            [first[held.row[::2] == row], 1 - first[held.row[1::2] == row]]
        )
        np.testing.assert_allclose(own, mine.mean(axis=0))


def test_no_covariates_have_no_coefficients():
    result = cv(f"{LEFT} ~ 1", FRAME, horizon=3, scheme="kfold", k=5, seed=1)
    assert "Coefficients" not in str(result.summary(notes=True))
    assert float(result.estimate("harrell_c")) == 0.5


def test_the_training_mean_of_times_has_no_area():
    result = cv(f"{LEFT} ~ x", FRAME, seed=1, k=5)
    assert np.isnan(result.mean_model_auroc)


def test_covariates_too_small_for_powers_are_named():
    for left in (LEFT, "z"):
        with pytest.raises(DataError, match=r"the term 'x' .* too small"):
            cv(f"{left} ~ x", FRAME.assign(x=X * 1e-200))


def test_results_with_other_horizons_are_not_compared():
    one, two = (
        cv(f"{LEFT} ~ x", FRAME, horizon=h, scheme="kfold", seed=1) for h in (3, [2, 3])
    )
    with pytest.raises(ComparisonError, match=r"different times .3; 2 and 3."):
        compare(one, two, metric="auroc@3")


# ---- random patterns of censoring ----


def _patterns(count, seed=1):
    """Try random censoring on cross-validation and on every metric."""
    fitted = refused = 0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        n = int(rng.integers(3, 15))
        times = rng.integers(1, int(rng.integers(2, 9)), n).astype(float)
        status = rng.random(n) < rng.random()
        x = [rng.normal(size=n), rng.integers(0, 2, n)][number % 2]
        data = pd.DataFrame({"x": x, "time": times, "status": status})
        horizons = sorted(set(rng.choice(np.arange(0.5, 6, 0.5), 2).tolist()))
        asked = None if number % 3 == 0 else horizons[: number % 3]
        try:
            result = cv(
                f"{LEFT} ~ x", data, horizon=asked, scheme="kfold", k=3, seed=number
            )
            result.metrics()
            fitted += 1
        except StatcvError:
            refused += 1
        y = signed_times(times, status)
        risk = rng.choice([0.0, 0.2, 0.5, 1.0, np.nan], n, p=[0.2] * 4 + [0.2])
        for metric in survival_metrics(tuple(horizons)).values():
            low, high = metric.bounds
            for read in (np.nan_to_num(risk, nan=0.3), risk):
                value = metric.function(y, read)
                assert np.isnan(value) or low <= value <= high
                metric.derive(y, read)
    return fitted, refused


def test_random_patterns_of_censoring_give_numbers_or_sentences():
    fitted, refused = _patterns(25)
    assert fitted
    assert refused


@pytest.mark.slow
def test_thousands_of_patterns_of_censoring_give_numbers_or_sentences():
    fitted, refused = _patterns(3_000, seed=2)
    assert fitted > 600
    assert fitted + refused == 3_000
