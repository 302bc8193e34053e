import pickle
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from statcv.errors import ArgumentTypeError, MetricError
from statcv.metrics import METRICS, Metric, accuracy, auroc, get_metric, make_metric

INFINITE = (-np.inf, np.inf)


def spread_score(y, p):
    return p[y == 1].mean() - p[y == 0].mean()


def absolute_loss(y, p):
    return float(np.abs(y - p).mean())


def absolute_losses(y, p):
    return np.abs(y - p)


def cost(y, predicted):
    return (5 * (y > predicted).sum() + (y < predicted).sum()) / len(y)


def costs(y, predicted):
    return 5.0 * (y > predicted) + (y < predicted)


def ppv(y, predicted):
    return int((y * predicted).sum()) / int(predicted.sum())


def refuses(y, p):
    raise ValueError("I never work\nat all")


def binary(seed=0, n=60):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), rng.uniform(size=n)


def several(seed=0, n=60, classes=3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, classes, n), rng.dirichlet(np.ones(classes), n)


# ---- functions ----


def test_a_function_becomes_a_metric():
    y, p = binary()
    metric = make_metric(absolute_loss, label="mean distance", casewise=absolute_losses)
    assert isinstance(metric, Metric)
    assert (metric.name, metric.label) == ("absolute_loss", "mean distance")
    assert metric(y, p) == absolute_loss(y, p)
    assert type(metric(y, p)) is float
    assert metric.casewise(y, p) == pytest.approx(np.abs(y - p))
    assert metric.outcomes == {"binary", "multiclass", "continuous"}
    assert (metric.reads, metric.greater_is_better) == ("probabilities", False)
    assert metric.bounds == INFINITE
    assert make_metric(absolute_loss, limits=(0, 1)).bounds == (0, 1)


@pytest.mark.parametrize(
    ("name", "higher"),
    [
        ("my_score", True),
        ("my_error", False),
        ("my_loss", False),
        ("my_deviance", False),
        ("score_of_mine", None),
    ],
)
def test_the_direction_comes_from_the_name_or_must_be_given(name, higher):
    def function(y, p):
        return 0.0

    function.__name__ = name
    assert make_metric(function, greater_is_better=True).greater_is_better
    assert not make_metric(function, greater_is_better=False).greater_is_better
    if higher is None:
        with pytest.raises(MetricError, match=f"name {name} does not show whether"):
            make_metric(function)
    else:
        assert make_metric(function).greater_is_better == higher


def test_a_metric_that_reads_classes_receives_classes_at_the_threshold():
    y, p = binary()
    metric = make_metric(cost, greater_is_better=False, reads="classes", casewise=costs)
    assert metric.outcomes == {"binary", "multiclass"}
    assert metric(y, p) == cost(y, p > 0.5)
    assert metric(y, p, threshold=0.2) == cost(y, p > 0.2)
    each = np.linspace(0, 1, y.size)
    assert metric(y, p, threshold=each) == cost(y, p > each)
    assert metric.casewise(y, p, threshold=each) == pytest.approx(costs(y, p > each))
    scores = metric.readable(p - 0.3, probabilities=False)
    assert metric(y, scores) == cost(y, p > 0.3)
    codes, columns = several()
    assert metric(codes, columns) == cost(codes, columns.argmax(axis=1))


def test_predictions_of_several_classes_and_numbers_arrive_unchanged():
    y, p = several()
    top = make_metric(lambda y, p: p[np.arange(len(y)), y].mean(), name="given",
                      greater_is_better=True)  # fmt: skip
    assert top(y, p) == pytest.approx(np.mean([row[k] for k, row in zip(y, p)]))  # noqa: B905
    rng = np.random.default_rng(1)
    y, yhat = rng.normal(size=(2, 30))
    metric = make_metric(absolute_loss, outcomes="continuous")
    assert (metric.reads, metric.outcomes) == ("numbers", {"continuous"})
    assert metric(y, yhat) == absolute_loss(y, yhat)


def test_a_metric_of_order_is_a_rank_metric():
    def tau_score(y, score):
        from scipy.stats import kendalltau

        return kendalltau(y, score).statistic

    metric = make_metric(tau_score, reads="order")
    assert metric.rank
    assert metric.outcomes == {"binary"}
    y, p = binary()
    assert metric(y, p) == pytest.approx(metric(y, p**3))
    numbers = make_metric(tau_score, reads="order", outcomes=["continuous", "binary"])
    assert numbers.outcomes == {"binary", "continuous"}


def test_the_name_of_a_partial_includes_its_arguments():
    metric = make_metric(partial(sk.fbeta_score, beta=2), reads="classes")
    assert metric.name == metric.label == "fbeta_score(beta=2)"
    y, p = binary()
    assert metric(y, p) == sk.fbeta_score(y, p > 0.5, beta=2)


def test_a_function_cannot_change_the_callers_arrays():
    def vandal_score(y, p):
        y[:], p[:] = 0, 0
        return 0.0

    y, p = binary()
    kept = y.copy(), p.copy()
    for reads in ("probabilities", "classes"):
        make_metric(vandal_score, reads=reads)(y, p)
    np.testing.assert_array_equal(kept, (y, p))


def test_lists_are_accepted():
    metric = make_metric(spread_score)
    assert metric([0, 1], [0.25, 0.75]) == 0.5


def test_any_real_number_is_accepted_and_nothing_else():
    for value in (1, 0.5, np.float32(0.5), np.int8(3), np.array(2.0), Fraction(1, 4)):
        metric = make_metric(
            lambda y, p, v=value: v, name="one", greater_is_better=True
        )
        assert metric([0, 1], [0.2, 0.7]) == float(value)
        assert type(metric([0, 1], [0.2, 0.7])) is float
    for value in (None, "0.5", True, np.bool_(True), 1j, [0.5], np.array([0.5])):
        metric = make_metric(
            lambda y, p, v=value: v, name="odd", greater_is_better=True
        )
        with pytest.raises(MetricError, match="odd must return one number, not"):
            metric([0, 1], [0.2, 0.7])


# ---- undefined values ----


def test_without_records_or_with_nan_the_function_is_not_called():
    metric = make_metric(refuses, greater_is_better=True, casewise=refuses)
    assert np.isnan(metric([], []))
    assert np.isnan(metric([0, 1, 1], [0.2, np.nan, 0.3]))
    assert np.isnan(metric([0, 1], [[0.2, 0.8], [np.nan, 1]]))
    assert np.isnan(metric.casewise([0, 1], [np.nan, np.nan])).all()


def test_casewise_values_exist_where_predictions_are_not_nan():
    metric = make_metric(absolute_loss, casewise=absolute_losses)
    values = metric.casewise([0, 1, 1], [0.25, np.nan, 0.5])
    np.testing.assert_array_equal(values, [0.25, np.nan, 0.5])
    classes = make_metric(
        cost, greater_is_better=False, reads="classes", casewise=costs
    )
    values = classes.casewise([0, 1, 1], [0.7, 0.2, 0.2], threshold=[0.5, np.nan, 0.5])
    np.testing.assert_array_equal(values, [1, np.nan, 5])


def test_a_value_error_gives_nan_only_where_a_class_is_missing():
    metric = make_metric(refuses, greater_is_better=True)
    assert np.isnan(metric([1, 1], [0.2, 0.7]))
    assert np.isnan(metric([0, 2], np.full((2, 3), 1 / 3)))
    for y, p in (([0, 1], [0.2, 0.7]), ([0, 1, 2], np.eye(3))):
        with pytest.raises(MetricError, match=r"^refuses failed .* I never work\. It"):
            metric(y, p)


def test_other_errors_are_raised():
    metric = make_metric(lambda y: 0, name="unary", greater_is_better=True)
    for y in ([1, 1], [0, 1]):
        with pytest.raises(
            MetricError, match=r"unary failed for 2 records.* positional"
        ):
            metric(y, [0.2, 0.7])


def test_a_division_by_zero_is_nan_without_a_warning():
    metric = make_metric(ppv, greater_is_better=True, reads="classes")
    assert np.isnan(metric([0, 1], [0.2, 0.3]))
    assert metric([0, 1], [0.7, 0.8]) == 0.5
    share = make_metric(
        lambda y, c: (y * c).sum() / c.sum(), name="share", greater_is_better=True,
        reads="classes",
    )  # fmt: skip
    assert np.isnan(share([0, 1], [0.2, 0.3]))


def test_warnings_pass_except_for_records_that_lack_a_class():
    def warning_score(y, p):
        warnings.warn("take care", UserWarning, stacklevel=2)
        return 0.5

    metric = make_metric(warning_score)
    assert metric([1, 1], [0.2, 0.7]) == 0.5
    with pytest.warns(UserWarning, match="take care"):
        metric([0, 1], [0.2, 0.7])


def test_the_error_says_what_the_function_received():
    metric = make_metric(sk.f1_score, reads="probabilities")
    with pytest.raises(
        MetricError, match=r"f1_score failed.*probabilities.*reads=\.\.\."
    ):
        metric([0, 1], [0.2, 0.7])


def test_casewise_values_are_checked():
    short = make_metric(absolute_loss, casewise=lambda y, p: [0.5])
    with pytest.raises(MetricError, match=r"one number for each of 2 records.*shape"):
        short.casewise([0, 1], [0.2, 0.7])
    words = make_metric(absolute_loss, casewise=lambda y, p: ["a", "b"])
    with pytest.raises(
        MetricError, match="casewise of absolute_loss returns must hold"
    ):
        words.casewise([0, 1], [0.2, 0.7])
    broken = make_metric(absolute_loss, casewise=refuses)
    with pytest.raises(MetricError, match=r"casewise of absolute_loss failed.*never"):
        broken.casewise([1, 1], [0.2, 0.7])


# ---- scorers ----


@pytest.mark.parametrize(
    ("name", "reads", "higher", "outcomes"),
    [
        ("roc_auc", "order", True, {"binary"}),
        ("average_precision", "order", True, {"binary"}),
        ("neg_brier_score", "probabilities", False, {"binary", "multiclass"}),
        ("roc_auc_ovr", "order", True, {"binary", "multiclass"}),
        ("neg_log_loss", "probabilities", False, {"binary", "multiclass"}),
        ("f1_macro", "classes", True, {"binary", "multiclass"}),
        ("matthews_corrcoef", "classes", True, {"binary", "multiclass"}),
        ("neg_mean_squared_error", "numbers", False, {"continuous"}),
        ("r2", "numbers", True, {"continuous"}),
    ],
)
def test_a_scorer_defines_its_predictions_and_direction(name, reads, higher, outcomes):
    metric = make_metric(sk.get_scorer(name), name="theirs")
    assert (metric.reads, metric.greater_is_better) == (reads, higher)
    assert metric.outcomes == outcomes


@pytest.mark.parametrize("name", ["roc_auc", "f1", "accuracy", "neg_brier_score"])
def test_a_scorer_of_two_classes_gives_the_same_value_for_a_model(name):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    model, scorer = LogisticRegression().fit(X, y), sk.get_scorer(name)
    metric = get_metric(scorer)
    value = metric(y, model.predict_proba(X)[:, 1])
    sign = 1 if metric.greater_is_better else -1
    assert value == pytest.approx(sign * scorer(model, X, y))
    if metric.reads != "probabilities":
        margin = LinearSVC().fit(X, y)
        scores = margin.decision_function(X)
        value = metric(y, metric.readable(scores, probabilities=False))
        assert value == pytest.approx(scorer(margin, X, y))


def test_a_scorer_of_numbers_or_several_classes_gives_the_same_value():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 2))
    numbers = X[:, 0] + rng.normal(size=90)
    model, scorer = (
        LinearRegression().fit(X, numbers),
        sk.get_scorer("neg_mean_absolute_error"),
    )
    metric = get_metric(scorer)
    assert metric(numbers, model.predict(X)) == pytest.approx(
        -scorer(model, X, numbers)
    )
    y = np.digitize(numbers, [-0.5, 0.5])
    model = LogisticRegression().fit(X, y)
    for name in ("roc_auc_ovo", "f1_weighted", "balanced_accuracy"):
        scorer = sk.get_scorer(name)
        value = get_metric(scorer)(y, model.predict_proba(X))
        assert value == pytest.approx(scorer(model, X, y))


def test_folds_that_lack_a_class_are_nan_for_scorers_that_raise():
    for name in ("roc_auc", "roc_auc_ovr"):
        metric = get_metric(sk.get_scorer(name))
        assert np.isnan(metric([1, 1], [0.2, 0.7]))
    assert np.isnan(metric([0, 1, 1], np.array([[5, 3, 2], [1, 7, 2], [2, 6, 2]]) / 10))


def test_a_scorer_keeps_its_arguments_in_name_and_value():
    scorer = sk.make_scorer(sk.fbeta_score, beta=0.5, zero_division=0)
    metric = get_metric(scorer)
    assert metric.name == "fbeta_score(beta=0.5, zero_division=0)"
    y, p = binary()
    assert metric(y, p) == sk.fbeta_score(y, p > 0.5, beta=0.5)
    named = make_metric(scorer, name="f_half", label="F½", outcomes="binary")
    assert (named.name, named.label, named.outcomes) == ("f_half", "F½", {"binary"})


def test_a_scorer_whose_kind_of_outcome_is_ambiguous_needs_outcomes():
    scorer = sk.make_scorer(cost, greater_is_better=False)
    with pytest.raises(MetricError, match=r"scorer cost takes .* classes or numbers"):
        get_metric(scorer)
    with pytest.raises(MetricError, match=r"scorer cost takes .* classes or numbers"):
        make_metric(scorer, outcomes=("binary", "continuous"))
    classes = make_metric(scorer, outcomes="binary")
    assert (classes.reads, classes.greater_is_better) == ("classes", False)
    assert make_metric(scorer, outcomes="continuous").reads == "numbers"
    assert make_metric(scorer, reads="classes").outcomes == {"binary", "multiclass"}
    assert make_metric(scorer, reads="numbers").outcomes == {"continuous"}


def test_a_direction_that_contradicts_the_scorer_raises_an_error():
    scorer = sk.get_scorer("neg_mean_absolute_error")
    assert not make_metric(scorer, greater_is_better=False).greater_is_better
    with pytest.raises(
        MetricError, match="contradicts the sign of the scorer mean_absol"
    ):
        make_metric(scorer, greater_is_better=True)


# ---- names, and invalid arguments ----


def test_get_metric_accepts_what_make_metric_accepts():
    assert get_metric(absolute_loss) == make_metric(absolute_loss)
    assert get_metric(accuracy) is METRICS["accuracy"]
    assert get_metric(auroc) is METRICS["auroc"]
    own = make_metric(cost, greater_is_better=False)
    assert get_metric(own) is own
    with pytest.raises(MetricError, match="does not show whether greater values"):
        get_metric(cost)


def test_names_must_differ_from_those_of_existing_metrics():
    with pytest.raises(MetricError, match="there is already a metric 'log_loss'"):
        get_metric(sk.log_loss)
    with pytest.raises(MetricError, match="already a metric 'brier'"):
        make_metric(absolute_loss, name="brier")
    assert make_metric(sk.log_loss, name="sklearn_log_loss").name == "sklearn_log_loss"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "name is empty"),
        ({"reads": "ranks"}, "reads must be 'order' or"),
        ({"reads": "class"}, "Did you mean 'classes'"),
        ({"outcomes": "binari"}, "Did you mean 'binary'"),
        ({"outcomes": []}, "outcomes is empty"),
        ({"limits": (1, 0)}, r"limits must be below .*unlike \(1, 0\)"),
        ({"limits": (0, np.nan)}, "the first of the limits must be"),
        ({"outcomes": "continuous", "reads": "classes"}, "reads classes, which a cont"),
    ],
)
def test_invalid_arguments_raise_an_error(arguments, message):
    with pytest.raises(MetricError, match=message):
        make_metric(absolute_loss, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": 3}, "name must be a string, not 3"),
        ({"label": 3}, "label must be a string, not 3"),
        ({"greater_is_better": "yes"}, "greater_is_better must be True or False"),
        ({"outcomes": 3}, "outcomes must be kinds of outcome, not 3"),
        ({"limits": 1}, "limits must be the smallest and the largest value, not 1"),
        ({"casewise": 3}, r"casewise must be a function of \(y, prediction\), not 3"),
    ],
)
def test_arguments_of_the_wrong_type_raise_an_error(arguments, message):
    with pytest.raises(ArgumentTypeError, match=message):
        make_metric(absolute_loss, **arguments)


def test_a_function_without_a_name_needs_one():
    for function in (lambda y, p: 0, partial(np.add, 1)):
        with pytest.raises(MetricError, match="has no name; give the metric one"):
            make_metric(function, greater_is_better=True)
    with pytest.raises(ArgumentTypeError, match=r"function of \(y, prediction\).*'f1'"):
        make_metric("f1")


def test_a_metric_pickles_if_its_function_does():
    y, p = binary()
    for metric in (
        make_metric(absolute_loss, casewise=absolute_losses),
        make_metric(cost, greater_is_better=False, reads="classes"),
        get_metric(sk.make_scorer(sk.fbeta_score, beta=2)),
    ):
        again = pickle.loads(pickle.dumps(metric))
        assert again == metric
        assert hash(again) == hash(metric)
        assert again(y, p) == metric(y, p)


@pytest.mark.parametrize(
    ("function", "limits"),
    [
        (sk.roc_auc_score, (0, 1)),
        (sk.accuracy_score, (0, 1)),
        (sk.balanced_accuracy_score, (0, 1)),
        (sk.f1_score, (0, 1)),
        (sk.jaccard_score, (0, 1)),
        (sk.average_precision_score, (0, 1)),
        (sk.brier_score_loss, (0, 1)),
        (sk.hamming_loss, (0, 1)),
        (sk.r2_score, (-np.inf, 1)),
        (sk.mean_absolute_error, (0, np.inf)),
        (sk.hinge_loss, (0, np.inf)),
        (partial(sk.balanced_accuracy_score, adjusted=True), (-np.inf, 1)),
        (partial(sk.zero_one_loss, normalize=False), (0, np.inf)),
    ],
)
def test_a_function_of_scikit_learn_has_its_range(function, limits):
    metric = make_metric(function)
    assert metric.bounds_with(2) == limits
    assert make_metric(function, limits=(-3, 7)).bounds == (-3, 7)


def test_correlations_have_their_range_and_other_functions_none():
    for function in (sk.matthews_corrcoef, sk.cohen_kappa_score):
        assert make_metric(function, greater_is_better=True).bounds == (-1, 1)
    assert make_metric(spread_score).bounds == INFINITE
    loss = sk.get_scorer("neg_log_loss")
    assert make_metric(loss, name="own loss").bounds == (0, np.inf)
