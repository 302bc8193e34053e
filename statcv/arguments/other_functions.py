"""Functions, attributes and metrics of R and Python, and what statcv offers instead."""

from __future__ import annotations

from collections.abc import Iterable

from statcv.arguments.other_arguments import bare_word
from statcv.errors import suggestion


def function_answer(name: str) -> str | None:
    """Return what a formula offers in place of a function of R, or None.

    >>> function_answer("ns")
    'natural cubic splines are cr(x, df=4) here'
    """
    return FUNCTIONS.get(name)


def attribute_error(of: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for an attribute that does not exist, with what is offered.

    >>> attribute_error("a result", "confint", []).args[0]
    "a result has no 'confint': tidy() has the intervals of coefficients, and \
metrics() those of metrics."
    """
    if name.startswith("_"):  # asked for by copy and pickle
        return AttributeError(f"{of} has no {name!r}.")
    found = ATTRIBUTES.get(bare_word(name))
    answer = f": {found}." if found else f".{suggestion(name, known)}"
    return AttributeError(f"{of} has no {name!r}{answer}")


_SPLINES = (
    "bs(x, df=5) and cr(x, df=5) are splines with a fixed number of degrees of freedom"
)
_TOGETHER = (
    "random effects and clusters are not terms of a formula; cv(stratify='g') keeps "
    "the records of a group together"
)

FUNCTIONS: dict[str, str] = {
    "ns": "natural cubic splines are cr(x, df=4) here",
    "rcs": "restricted cubic splines are natural cubic splines: cr(x, df=4)",
    "rcspline.eval": "restricted cubic splines are natural cubic splines: cr(x, df=4)",
    **dict.fromkeys(
        ("factor", "as.factor", "as_factor", "ordered", "as.ordered", "catg"),
        "a column becomes a factor by C(x), with its levels in order by "
        "C(x, levels=['a', 'b'])",
    ),
    "relevel": "the reference level is named in C(x, Treatment('b'))",
    **dict.fromkeys(
        ("as.numeric", "as.integer", "as.character"),
        "make a column of that type in the data first",
    ),
    "Surv": "it is an outcome, and stands on the left of '~': Surv(time, status) ~ x",
    **dict.fromkeys(
        ("s", "ti", "t2", "lo", "pspline"),
        f"penalised smoothers are not fitted; {_SPLINES}",
    ),
    **dict.fromkeys(("cluster", "frailty"), _TOGETHER),
    "ifelse": "write np.where(x > 0, a, b)",
    "pmin": "write np.minimum(x, a)",
    "pmax": "write np.maximum(x, a)",
    "nchar": "write x.str.len()",
    "c": "a list is written [1, 2]",
    "pol": "polynomials are poly(x, 2) here",
    "lsp": "linear splines are bs(x, knots=[1, 2], degree=1)",
    **dict.fromkeys(
        ("logit", "qlogis"), "import logit from scipy.special, and write logit(x)"
    ),
    "plogis": "import expit from scipy.special, and write expit(x)",
    "cut": "write pd.cut(x, [0, 40, 65, 120]), with the cut points",
    "interaction": "interactions are written a:b, or a*b with the main effects",
    "is.na": "write x.isna()",
    "mean": "center(x) subtracts the mean of each training set",
    "sd": "scale(x) divides by the standard deviation of each training set",
    "ridge": "a penalty belongs to the model: model=statcv.models.Logit(C=1.0)",
    "sum": "write a + b inside I(...)",
    "pow": "write I(x**2)",
}


def _answers(*rows: tuple[str, str]) -> dict[str, str]:
    return {word: says for words, says in rows for word in words.split()}


# attributes of fits in R and Python, and functions of R → what a result offers
ATTRIBUTES = _answers(
    (
        "coef coefs params coefficient fixef bse se vcov pvalues tvalues",
        "tidy() has the coefficients of the fit to all rows with standard errors, and "
        "coefficients has those of the folds",
    ),
    (
        "confint confintdefault ci intervals",
        "tidy() has the intervals of coefficients, and metrics() those of metrics",
    ),
    (
        "fitted fittedvalues fit predictproba",
        "predictions has the held-out predictions, and predict() those of the fit to "
        "all rows",
    ),
    ("resid residuals", "augment() has the residuals of the held-out predictions"),
    (
        "anova lrtest waldtest aic bic loglik llf deviance",
        "compare(a, b) tests the difference of two results, by likelihood ratio as "
        "well if they are nested, and drop1() tests each term",
    ),
    ("add1 step stepaic", "drop1() drops each term in turn"),
    (
        "tidy glance augment drop1 predict summary update",
        "it belongs to a result, as in cv('y ~ x', data=df).tidy()",
    ),
    (
        "auc rocauc cstatistic auroc accuracy brier rmse r2 score cvresults results",
        "metrics() has the table of metrics, and estimate('auroc') one of them",
    ),
    (
        "bestparams besttune bestestimator",
        "tuned has the hyperparameters that each training set chose",
    ),
    ("nobs n", "design.n is the number of records"),
    (
        "glm lm lrm cvglm cvglmnet train crossvalscore crossvalidate",
        "cv('y ~ x', data=df, model='logit') fits and cross-validates",
    ),
)


def metric_answer(name: object) -> str | None:
    """Return the name of a metric of R or scikit-learn in statcv, or None.

    >>> metric_answer("roc_auc"), metric_answer("AUC"), metric_answer("aurroc")
    ("here it is 'auroc'", "here it is 'auroc'", None)
    """
    if not isinstance(name, str):
        return None
    key = bare_word(name)
    for word in (key, key.removeprefix("neg"), key.removesuffix("score")):
        if word in METRICS:
            return METRICS[word]
    return None


_FUNCTION = "pass the function itself, metrics=sklearn.metrics.{}"


def _named(words: str, ours: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), f"here it is {ours}")


METRICS: dict[str, str] = {
    **_named("rocauc auc aucroc rocaucbinary cstatistic areaunderroc", "'auroc'"),
    **_named(
        "cindex concordanceindex harrellc",
        "'auroc' for two classes and 'concordance' for continuous outcomes",
    ),
    **_named("rocaucovr rocaucovrweighted", "'auroc_ovr'"),
    **_named("rocaucovo rocaucovoweighted handtill multiclassauc", "'auroc_hand_till'"),
    **_named("averageprecision prauc aucpr auprcurve ap", "'auprc'"),
    **_named("recall sens tpr truepositiverate hitrate", "'sensitivity'"),
    **_named("spec tnr truenegativerate selectivity", "'specificity'"),
    **_named("ppv positivepredictivevalue", "'precision'"),
    **_named("negativepredictivevalue", "'npv'"),
    **_named("fpr falsepositiverate fallout", "1 minus 'specificity'"),
    **_named("fnr falsenegativerate missrate", "1 minus 'sensitivity'"),
    **_named("mcc matthewscorrcoef phi", "'matthews'"),
    **_named("fmeas fmeasure fscore f1binary f1score", "'f1'"),
    **_named("precisionscore", "'precision'"),
    **_named(
        "logloss mnlogloss crossentropy deviance nll logscore bce",
        "'log_loss', in which less is better",
    ),
    **_named(
        "brierscore brierclass brierscoreloss brierloss",
        "'brier', in which less is better",
    ),
    **_named("balaccuracy balancedaccuracyscore bacc bac", "'balanced_accuracy'"),
    **_named(
        "jindex youden youdenj informedness", "2 times 'balanced_accuracy' minus 1"
    ),
    **_named("gini somersd", "2 times 'auroc' minus 1"),
    **_named("acc accuracyscore", "'accuracy'"),
    **_named("balancederrorrate balancederror", "'ber', in which less is better"),
    **_named(
        "error errorrate misclassification misclass misclassificationerror zerooneloss",
        "1 minus 'accuracy'",
    ),
    **_named("meansquarederror", "'mse', in which less is better"),
    **_named("rootmeansquarederror", "'rmse', in which less is better"),
    **_named("meanabsoluteerror", "'mae', in which less is better"),
    **_named("rsq rsquared rsquare rsqtrad r2score coefficientofdetermination", "'r2'"),
    **dict.fromkeys(
        ("kappa", "kap", "cohenkappa", "cohenskappa"),
        _FUNCTION.format("cohen_kappa_score"),
    ),
    "jaccard": _FUNCTION.format("jaccard_score"),
    "mape": _FUNCTION.format("mean_absolute_percentage_error"),
    "meanabsolutepercentageerror": _FUNCTION.format("mean_absolute_percentage_error"),
    "explainedvariance": _FUNCTION.format("explained_variance_score"),
    "medianabsoluteerror": _FUNCTION.format("median_absolute_error"),
    "maxerror": _FUNCTION.format("max_error"),
    "ccc": "pass a function of (y, prediction), metrics=f",
}
