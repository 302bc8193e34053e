"""Words of R and scikit-learn are answered with ours."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn_metrics

import statcv as scv
from statcv import vocabulary as foreign_words
from statcv.errors import (
    ArgumentTypeError,
    ColumnError,
    FormulaError,
    MetricError,
    ModelError,
)
from statcv.metrics import METRICS
from statcv.verbs.cv import CV_NAMES

CALL = {"formula": "y ~ x", "seed": 1}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=40), "z": rng.normal(size=40)})
    return frame.assign(y=(rng.normal(size=40) + frame["x"] > 0).astype(int))


@pytest.fixture(scope="module")
def result(data):
    return scv.cv("y ~ x", data, k=4, seed=1)


# ---- what is printed ----


def test_a_metric_as_it_is_printed_is_answered_by_its_name(data):
    for name, metric in METRICS.items():
        if metric.label != name:
            with pytest.raises(MetricError, match=f"here it is '{name}'"):
                scv.cv("y ~ x", data, metrics=metric.label)


def test_predictions_that_are_all_missing_are_shown(result, data):
    shown = str(result.predict(data.head(2).assign(x=np.nan)))
    assert "predicted" in shown.splitlines()[2]
    assert shown.count("–") == 2


# ---- models ----


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("glm", "'logit'"),
        ("lm", "'linear'"),
        ("coxph", "'cox'"),
        ("glm.nb", "'negbin'"),
        ("lrm", "'proportional_odds'"),
        ("randomForest", "RandomForestClassifier()"),
        ("cv.glmnet", "Logit(C=1.0, l1_ratio=0.5)"),
        ("logitt", "Did you mean 'logit'"),
    ],
)
def test_a_model_of_another_package_is_answered(data, word, ours):
    with pytest.raises(ModelError, match="there is no model") as caught:
        scv.cv("y ~ x", data, model=word)
    assert ours in str(caught.value)


# ---- arguments ----


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("groups", "stratify="),
        ("strata", "scheme='stratified_kfold' spreads"),
        ("v", "k="),
        ("K", "k="),
        ("folds", "k="),
        ("nfolds", "k="),
        ("n_splits", "k="),
        ("times", "repeats="),
        ("n_repeats", "repeats="),
        ("B", "repeats="),
        ("n_iter", "repeats="),
        ("family", "the outcome decides"),
        ("link", "Statsmodels"),
        ("cv", "scheme="),
        ("trControl", "scheme="),
        ("scoring", "metrics="),
        ("type_measure", "metrics="),
        ("estimator", "model="),
        ("random_state", "seed="),
        ("method", "model= says"),
        ("subset", "select the rows"),
        ("offset", "term of the formula"),
        ("shuffle", "at random"),
        ("class_weight", "rebalance='weight'"),
    ],
)
def test_arguments_of_cv(data, result, word, ours):
    for call in (
        lambda: scv.cv("y ~ x", data, **{word: 5}),
        lambda: result.update(**{word: 5}),
    ):
        with pytest.raises(ArgumentTypeError) as error:
            call()
        assert str(error.value).startswith(f"cv() has no argument {word!r}")
        assert ours in str(error.value)
        assert isinstance(error.value, TypeError)


def test_arguments_of_fold_plan(data):
    for word, ours in {"n_splits": "k=", "groups": "stratify="}.items():
        with pytest.raises(ArgumentTypeError, match=f"fold_plan.*here it is {ours}"):
            scv.fold_plan("y", data, **{word: 3})
    with pytest.raises(ArgumentTypeError, match=r"in cv\(\) it is model="):
        scv.fold_plan("y", data, estimator=3)
    with pytest.raises(ArgumentTypeError, match="Did you mean 'scheme'"):
        scv.fold_plan("y", data, schem="kfold")


def test_arguments_of_from_predictions(data):
    for words, ours in [
        ({"truth": "y", "estimate": "x"}, "observed="),
        ({"observed": "y", "predicted": "x", "groups": "z"}, "cluster="),
        ({"observed": "y", "y_score": "x"}, "predicted="),
        ({"observed": "y"}, "needs predicted="),
    ]:
        with pytest.raises(ArgumentTypeError, match=f"from_predictions.*{ours}"):
            scv.from_predictions(data, **words)


def test_arguments_of_compare(data, result):
    for word, ours in {
        "method": "test",
        "p_adjust": "adjust",
        "n_perm": "n_perm",
    }.items():
        with pytest.raises(ArgumentTypeError, match=f"compare.*here it is {ours}"):
            scv.compare(result, result, **{word: "t"})
    with pytest.raises(ArgumentTypeError, match=r"compare.*here it is k="):
        scv.compare("y ~ x", "y ~ z", data=data, n_splits=3)
    # a result may be called by any of these words
    named = scv.compare(groups=result, method=result.update("y ~ x + z"))
    assert named.differences["second"].tolist() == ["method"]


def test_every_word_names_an_argument_that_there_is():
    assert {ours for ours, _ in foreign_words.ARGUMENTS.values()} <= {*CV_NAMES, ""}
    theirs = scv.from_predictions.__annotations__
    assert {ours for ours, _ in foreign_words.OF_PREDICTIONS.values()} <= {*theirs, ""}
    theirs = scv.compare.__annotations__
    assert {ours for ours, _ in foreign_words.OF_COMPARE.values()} <= {*theirs}


# ---- functions in formulas ----


@pytest.mark.parametrize(
    ("formula", "ours"),
    [
        ("y ~ ns(x, 3)", "cr(x, df=3, constraints='center')"),
        ("y ~ rcs(x, 4)", "cr(x, df=3, constraints='center')"),
        ("y ~ as.logical(x)", "make a column of that type"),
        ("y ~ poly(x, 2, raw=True)", "'raw'. It is poly(x, degree), and powers"),
        ("y ~ poly(x, z, degree=2)", "It is poly(x, degree)"),
        ("y ~ scale(x, scale=False)", "It is scale(x, center, rescale, ddof)"),
        ("y ~ cr(x)", "cr(x, df=4)"),
        ("y ~ te(x, z)", "te(cr(x, df=4), cr(z, df=4))"),
        ("y ~ factor(x)", "C(x)"),
        ("y ~ as.factor(x)", "C(x)"),
        ("x ~ Surv(y, z)", "it is an outcome, and stands on the left"),
        ("y ~ cbrt(x)", "np.cbrt"),
        ("y ~ s(x)", "bs(x, df=5)"),
        ("y ~ x + (1 | z)", "stratify="),
        ("y ~ x + strata(z)", "stratify="),
        ("y ~ x + cluster(z)", "stratify="),
        ("y ~ is.na(x)", "x.isna()"),
    ],
)
def test_functions_of_formulas(data, formula, ours):
    with pytest.raises(FormulaError) as error:
        scv.cv(formula, data, seed=1)
    assert ours in str(error.value)


def test_contrasts_of_r(data):
    with pytest.raises(ColumnError, match=r"Contrasts are C\(x, Sum\)"):
        scv.cv("y ~ C(x, contr.sum)", data, seed=1)


def test_a_function_of_the_script_may_have_such_a_name(data):
    def ns(values):
        return values**2

    np.testing.assert_array_equal(
        scv.cv("y ~ ns(x)", data, k=4, seed=1).design.matrix[:, 1], data["x"] ** 2
    )


def test_numpy_that_was_not_imported_is_told(data):
    from statcv.formula import make_design

    with pytest.raises(scv.StatcvError, match="need 'import numpy as np'"):
        make_design("y ~ np.log(x)", data, scope={})


# ---- metrics ----


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("roc_auc", "'auroc'"),
        ("auc", "'auroc'"),
        ("AUC", "'auroc'"),
        ("c_index", "'concordance'"),
        ("cindex", "'auroc'"),
        ("kappa", "sklearn.metrics.cohen_kappa_score"),
        ("kap", "sklearn.metrics.cohen_kappa_score"),
        ("recall", "'sensitivity'"),
        ("sens", "'sensitivity'"),
        ("tpr", "'sensitivity'"),
        ("spec", "'specificity'"),
        ("fpr", "1 minus 'specificity'"),
        ("ppv", "'precision'"),
        ("mcc", "'matthews'"),
        ("neg_log_loss", "'log_loss'"),
        ("logloss", "'log_loss'"),
        ("mn_log_loss", "'log_loss'"),
        ("neg_mean_squared_error", "'mse'"),
        ("rsq", "'r2'"),
        ("average_precision", "'auprc'"),
        ("pr_auc", "'auprc'"),
        ("bal_accuracy", "'balanced_accuracy'"),
        ("balanced_error_rate", "'ber'"),
        ("brier_class", "'brier'"),
        ("f1_score", "'f1'"),
    ],
)
def test_metrics(data, word, ours):
    with pytest.raises(MetricError) as error:
        scv.cv("y ~ x", data, metrics=word, seed=1)
    assert str(error.value).startswith(f"there is no metric {word!r}; ")
    assert ours in str(error.value)


def test_every_answer_names_a_metric_that_there_is():
    for answer in foreign_words.METRICS.values():
        quoted = answer.split("'")[1::2]
        assert all(name in METRICS for name in quoted)
        function = answer.rpartition("sklearn.metrics.")[2]
        assert quoted or function == answer or hasattr(sklearn_metrics, function)


def test_a_function_of_scikit_learn_is_a_metric(data):
    result = scv.cv("y ~ x", data, metrics=sklearn_metrics.cohen_kappa_score, seed=1)
    held = result.predictions
    kappa = sklearn_metrics.cohen_kappa_score(held["observed"], held["predicted"] > 0.5)
    assert float(result.estimate()) == pytest.approx(kappa, abs=1e-12)


# ---- update and predict ----


def test_update_takes_a_formula_by_position(result):
    again = result.update(". ~ . + z")
    assert again.design.formula.text == "y ~ x + z"
    assert result.update("y ~ z", k=5).design.names == ("Intercept", "z")
    with pytest.raises(ArgumentTypeError, match="two formulas"):
        result.update(". ~ z", formula="y ~ x")


def test_predict_without_new_rows_gives_fitted_values(data):
    gaps = data.set_index(data.index + 100).copy()
    gaps.loc[103, "x"] = np.nan
    with pytest.warns(scv.errors.StatcvWarning, match="omitted"):
        result = scv.cv("y ~ x", gaps, k=4, seed=1)
    fitted = result.predict()
    assert fitted.name == "fitted"
    assert fitted.index.equals(gaps.index.drop(103))
    np.testing.assert_array_equal(fitted, result.predict(gaps.drop(index=103)))
    pd.testing.assert_series_equal(fitted, fitted.sort_index(), check_series_type=False)
