"""Checks of integers, words, levels and seeds, and the terms that other packages use.

There is one table for arguments, one for functions in formulas, and one for metrics.
A term is looked up without regard to capitals, dots and underscores.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError, StatcvError, suggestion


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a Python or NumPy integer; a bool is not.

    Examples
    --------
    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


# ---- numbers, words, and True or False ----

MAX_REPEATS = 10_000  # repeats of a scheme, or draws of it
MAX_RESAMPLES = 100_000  # bootstrap samples or permutations of one call
MAX_JOBS = 1024  # processes of one call
MAX_SEED = 2**128 - 1  # the entropy that a SeedSequence takes
MAX_GROUPS = 10_000_000  # groups whose areas are computed together
MAX_BINS = 100_000  # folds times bins per fold, or groups of predictions


def check_whole(
    value: object,
    name: str,
    least: int,
    most: float = math.inf,
    error: type[StatcvError] = ArgumentError,
) -> None:
    """Raise an error if a value is not an integer within the range.

    Examples
    --------
    >>> check_whole(1, "k", least=2)
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentError: k must be 2 or more, not 1, which is out of range.
    """
    if not is_whole(value):
        kind = ArgumentTypeError if error is ArgumentError else error
        raise kind(f"{name} must be an integer, not {described(value)}.")
    if not least <= value <= most:
        limit = f"{least} or more" if value < least else f"at most {most:,}"
        shown = described(value)
        raise error(f"{name} must be {limit}, not {shown}, which is out of range.")


def one_of(
    value: Any,
    known: Iterable[Any],
    name: str,
    error: type[StatcvError] = ArgumentError,
) -> Any:
    """Check that an option is among the known ones, and return it.

    Examples
    --------
    >>> one_of("hol", ("holm", "bh"), "adjust")
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentError: adjust must be 'holm' or 'bh', not 'hol'. Did you \
mean 'holm'?
    """
    options = tuple(known)
    for option in options:
        if value is option or (isinstance(value, str) and value == option):
            return option
    near = suggestion(value, [one for one in options if isinstance(one, str)])
    listed = " or ".join(map(repr, options))
    raise error(f"{name} must be {listed}, not {described(value)}.{near}")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number within the range of floats, and not NaN.

    Examples
    --------
    >>> is_number(1), is_number(math.nan), is_number(True), is_number("1")
    (True, False, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:
        return False


def described(value: object) -> str:
    """Return a short value as it is written, and the type of any other.

    Examples
    --------
    >>> described("a"), described(np.zeros(99)), described([1, 2])
    ("'a'", 'a value of type ndarray', '[1, 2]')
    """
    if isinstance(value, (str, bytes, list, tuple, dict, int, float, type(None))):
        try:
            text = repr(value)
        except ValueError:  # an integer of thousands of digits
            text = ""
        if 0 < len(text) <= 60 and " at 0x" not in text:
            return text
    return f"a value of type {type(value).__name__}"


def is_list(value: object) -> bool:
    """Return whether a value is a list, a tuple, a Series, or an array of some length.

    Examples
    --------
    >>> is_list([1]), is_list(np.arange(2)), is_list("ab"), is_list(np.array(1))
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    listed = isinstance(value, Sequence) or hasattr(value, "to_list")
    return listed and not isinstance(value, (str, bytes, type))


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "str": ("text", lambda value: isinstance(value, str)),
    "int": ("an integer", is_whole),
    "float": ("a number", lambda value: isinstance(value, float) or is_number(value)),
    "bool": ("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "None": ("None", lambda value: value is None),
    "Mapping": ("a mapping", lambda value: isinstance(value, Mapping)),
    "Sequence": ("a list", is_list),
}
_KINDS |= {"Literal": _KINDS["str"], "tuple": _KINDS["Sequence"]}


def check_types(
    function: Callable[..., Any],
    given: Mapping[str, object],
    error: type[StatcvError] = ArgumentTypeError,
) -> None:
    """Check arguments that a signature annotates as text, numbers, or True or False.

    Parameters
    ----------
    function : callable
        The function or class whose annotations say what each argument is. Arguments
        that may be of any other type are not checked, nor is ``level``.
    given : mapping
        The values of the arguments: ``locals()`` at the start of the function.
    error : type, optional
        Type of the error that is raised.

    Raises
    ------
    ArgumentTypeError
        If an argument is of none of its types, or an empty text; or the given error.

    Examples
    --------
    >>> def drawn(share: float = 0.95, how: str | None = None): ...
    >>> check_types(drawn, {"share": [0.9], "how": None})
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentTypeError: share must be a number, not [0.9].
    """
    for name, kinds in _kinds_of(function).items():
        value = given[name]
        if not any(holds(value) for _, holds in kinds):
            wanted = " or ".join(says for says, _ in kinds).removesuffix(" or None")
            raise error(f"{name} must be {wanted}, not {described(value)}.")
        if isinstance(value, str) and not value:
            raise error(f"{name} is an empty text.")


@cache
def _kinds_of(
    function: Callable[..., Any],
) -> dict[str, tuple[tuple[str, Callable[[object], bool]], ...]]:
    """Return what each argument may be, if every alternative can be checked."""
    found = {}
    for name, note in function.__annotations__.items():
        while "[" in note:
            note = re.sub(r"\[[^\[\]]*\]", "", note)
        kinds = [_kind(part, function) for part in note.split(" | ")]
        if name not in ("return", "level") and None not in kinds:
            found[name] = tuple(dict.fromkeys(kind for kind in kinds if kind))
    return found


def _kind(
    part: str, function: Callable[..., Any]
) -> tuple[str, Callable[[object], bool]] | None:
    """Return the kind of a type's name: one of the table, or a class of the package."""
    kind = vars(sys.modules[function.__module__]).get(part)
    if part in _KINDS:
        return _KINDS[part]
    if not isinstance(kind, type) or not kind.__module__.startswith("statcv."):
        return None
    if getattr(kind, "_is_protocol", False):
        return None
    return f"of type {part}", lambda value: isinstance(value, kind)


def numbers(values: object, name: str) -> NDArray[np.float64]:
    """Return a list of numbers as an array.

    Examples
    --------
    >>> numbers([1, 2], "weights").tolist()
    [1.0, 2.0]
    """
    try:
        made = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        made = np.empty(())
    if made.ndim != 1:
        raise ArgumentTypeError(f"{name} must be numbers, not {described(values)}.")
    return made


# ---- confidence levels ----


def check_level(level: object, error: type[StatcvError] = ArgumentError) -> None:
    """Check that a confidence level lies between 0 and 1.

    Parameters
    ----------
    level : float
        Confidence level.
    error : type, optional
        Type of the error that is raised.

    Raises
    ------
    ArgumentError
        Or an error of the given type.

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentError: level must lie between 0 and 1, such as 0.95, not 95.
    """
    if not is_number(level) or not 0 < level < 1:
        raise error(
            "level must lie between 0 and 1, such as 0.95, not "
            + described(level)
            + "."
        )


# ---- seeds ----

# Streams of random numbers that are derived from one seed.
PLAN, FIT, FULL_FIT, PERMUTATION = 0, 1, 2, 4
RESERVE, PAIR_SAMPLE, RESAMPLE, RESAMPLE_HELD = 8, 9, 10, 11
PERMUTED_COLUMN = 12


def resolve_seed(seed: object) -> int:
    """Return the integer that a seed stands for.

    Parameters
    ----------
    seed : int, numpy.random.Generator or None
        Seed. From a Generator one integer is drawn, and None gives a fresh seed. The
        integer that is returned reproduces the results.

    Raises
    ------
    ArgumentTypeError
        If `seed` is of another type.
    ArgumentError
        If `seed` is negative.

    Examples
    --------
    >>> resolve_seed(7)
    7
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    if not is_whole(seed):
        raise ArgumentTypeError(
            "seed must be an integer, a numpy Generator or None, not "
            f"{type(seed).__name__} ({seed!r})."
        )
    check_whole(seed, "seed", least=0, most=MAX_SEED)
    return int(seed)


def fit_seeds(seed: int, fits: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the seeds of the models of some fits.

    Parameters
    ----------
    seed : int
        Seed of the call.
    fits : numpy.ndarray of int
        Numbers of the fits.

    Examples
    --------
    >>> bool(fit_seeds(7, np.array([0, 3]))[1] == fit_seeds(7, np.array([3]))[0])
    True
    """
    streams = (np.random.SeedSequence(seed, spawn_key=(FIT, int(fit))) for fit in fits)
    first = [int(stream.generate_state(1)[0] // 2) for stream in streams]
    return np.array(first, dtype=np.int64)


# ---- names in R and scikit-learn, and what statcv calls or offers instead ----


def refuse_unknown(
    verb: str,
    unknown: Iterable[str],
    known: Collection[str],
    first: Mapping[str, tuple[str, str]] | None = None,
) -> None:
    """Reject arguments that a verb does not have, and name its own for the first.

    Parameters
    ----------
    verb : str
        Name of the verb as a user writes it, such as ``"cv"``.
    unknown, known : collections of str
        Arguments that were given and do not exist, and arguments that do.
    first : mapping, optional
        Terms with another meaning for this verb, looked up before `ARGUMENTS`.

    Raises
    ------
    ArgumentTypeError
        If there is an unknown argument. The error is a TypeError too.

    Examples
    --------
    >>> refuse_unknown("cv", ["groups"], ["stratify", "scheme"])
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentTypeError: cv() has no argument 'groups'; here it is \
stratify=, which keeps records with equal values together.
    """
    for word in unknown:
        answer = _argument(word, known, first or {})
        raise ArgumentTypeError(f"{verb}() has no argument {word!r}{answer}")


def refuse_words_of_compare(
    named: Mapping[str, object], known: Collection[str]
) -> None:
    """Reject arguments of R or scikit-learn where compare() expects results.

    A result may have any name; a keyword whose value is not a result is an argument.

    Raises
    ------
    ArgumentTypeError
        If there is such an argument.
    """
    words = [
        name
        for name, value in named.items()
        if name not in known
        and len(name) > 1
        and (_key(name) in OF_COMPARE or _key(name) in ARGUMENTS)
        and not hasattr(value, "plan")
        and not (isinstance(value, str) and "~" in value)
    ]
    refuse_unknown("compare", words, known, OF_COMPARE)


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
    found = ATTRIBUTES.get(_key(name))
    answer = f": {found}." if found else f".{suggestion(name, known)}"
    return AttributeError(f"{of} has no {name!r}{answer}")


def metric_answer(name: object) -> str | None:
    """Return the name of a metric of R or scikit-learn in statcv, or None.

    >>> metric_answer("roc_auc"), metric_answer("AUC"), metric_answer("aurroc")
    ("here it is 'auroc'", "here it is 'auroc'", None)
    """
    if not isinstance(name, str):
        return None
    key = _key(name)
    for word in (key, key.removeprefix("neg"), key.removesuffix("score")):
        if word in METRICS:
            return METRICS[word]
    return None


def _argument(
    word: str, known: Collection[str], first: Mapping[str, tuple[str, str]]
) -> str:
    key = _key(word)
    found = first.get(key) or ARGUMENTS.get(key)
    if found is None:
        return f".{suggestion(word, known)}"
    ours, says = found
    if not ours:
        return f": {says}."
    if ours not in known:
        return f"; in cv() it is {ours}=."
    return f"; here it is {ours}=, {says}."


def _key(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _table(*rows: tuple[str, str, str]) -> dict[str, tuple[str, str]]:
    return {word: (ours, says) for words, ours, says in rows for word in words.split()}


# terms → (argument of statcv, or "" without a counterpart; explanation)
ARGUMENTS = _table(
    (
        "groups group groupby cluster clusters id ids subject subjects patient block",
        "stratify",
        "which keeps records with equal values together",
    ),
    (
        "strata stratified stratum stratifyby",
        "",
        "scheme='stratified_kfold' spreads the classes evenly over the folds, and "
        "stratify= keeps records with equal values of a covariate together",
    ),
    (
        "v k folds fold nfolds nfold nsplits splits numfolds kfold kfolds number",
        "k",
        "the number of folds",
    ),
    ("foldid foldids foldcolumn index", "scheme", "which takes a column of folds"),
    (
        "times repeat nrepeats nrepeat reps nrep nreps",
        "repeats",
        "how often the records are held out",
    ),
    (
        "b r nboot nboots nbootstrap nbootstraps bootstraps nresamples",
        "repeats",
        "the number of draws of scheme='bootstrap'",
    ),
    (
        "niter niterations",
        "repeats",
        "the number of random splits of scheme='montecarlo'; the steps of a random "
        "search belong to tune=RandomizedSearchCV(...)",
    ),
    (
        "testsize trainsize prop proportion holdout",
        "p",
        "the share that scheme='montecarlo' holds out",
    ),
    (
        "family distribution",
        "",
        "the outcome decides (classes are fitted by logistic regression, numbers by "
        "least squares), and model= says otherwise, such as "
        "model=statcv.models.Statsmodels(smf.glm, family=...)",
    ),
    (
        "link",
        "",
        "a link belongs to the model: model=statcv.models.Statsmodels(smf.glm, "
        "family=sm.families.Binomial(link=...))",
    ),
    ("method", "", "model= says what is fitted, and scheme= who is held out"),
    (
        "cv trcontrol control resampling resamples resample splitter split folding rs",
        "scheme",
        "which says who is held out",
    ),
    (
        "scoring score scorer scorers metric measure measures typemeasure loss",
        "metrics",
        "the first of which is the headline",
    ),
    (
        "estimator learner clf classifier regressor engine algorithm fit pipeline",
        "model",
        "which says what is fitted",
    ),
    (
        "randomstate randomseed setseed rng",
        "seed",
        "which gives the same numbers again",
    ),
    (
        "subset rows filter",
        "",
        "select the rows beforehand, such as data=df[df['age'] > 18]",
    ),
    (
        "offset",
        "",
        "offsets are not offered; take the offset from a continuous outcome "
        "beforehand, or make the rate the outcome",
    ),
    ("exposure", "", "exposures are not offered; make the rate the outcome"),
    (
        "weight sampleweight sampleweights caseweights wts fitweights",
        "weights",
        "a column of weights, or one weight for each row",
    ),
    (
        "classweight classweights scaleposweight",
        "",
        "rebalance='weight' gives the classes equal weight in every training set; "
        "weights of your own belong to the model, such as "
        "model=LogisticRegression(class_weight=...)",
    ),
    (
        "shuffle",
        "",
        "records are always allocated at random, by seed=; folds in a given order are "
        "a column of fold numbers, scheme='column'",
    ),
    (
        "paramgrid paramdistributions params grid tunegrid tunelength hyperparameters",
        "tune",
        "a grid such as {'C': [0.1, 1, 10]}",
    ),
    (
        "alpha lambda c penalty regularization l1ratio",
        "",
        "a penalty belongs to the model, such as model=statcv.models.Logit(C=1.0), and "
        "tune={'C': [0.1, 1, 10]} chooses it in every training set",
    ),
    ("missing narm dropna skipna", "na_action", "'drop', 'raise' or 'pass'"),
    ("allownewlevels handleunknown", "new_levels", "'mean', 'omit' or 'error'"),
    (
        "workers cores ncores ncpus parallel nthreads nprocesses",
        "n_jobs",
        "the number of processes",
    ),
    ("verbose quiet trace silent", "progress", "True or False"),
    (
        "poslabel positiveclass eventlevel event reflevel poslevel",
        "positive",
        "the level that counts as positive",
    ),
    (
        "x y target outcome response features predictors xtrain ytrain",
        "",
        "the formula names the outcome and the predictors: 'y ~ x1 + x2', or 'y ~ .' "
        "for all other columns",
    ),
    ("df frame dataframe dataset", "data", "the data frame"),
    (
        "cutoff cutpoint threshhold",
        "threshold",
        "from which on a record is predicted positive",
    ),
    (
        "balance balanced sampling upsample downsample smote",
        "rebalance",
        "which gives all training sets equal class totals",
    ),
    (
        "preprocess preproc preprocessing standardize standardise normalize",
        "",
        "center(x) and scale(x) in the formula are learnt in every training set, and "
        "so is a scikit-learn pipeline as model=",
    ),
    (
        "level conflevel confidence ci",
        "",
        "the level is an argument of what shows intervals: result.summary(level=0.9)",
    ),
    ("cache memory savepredictions", "checkpoint", "a directory that keeps the fits"),
)

# their meaning in from_predictions()
OF_PREDICTIONS = _table(
    (
        "by subgroup subgroups",
        "",
        "groups are an argument of what reads the result: result.metrics(by='site')",
    ),
    (
        "truth y ytrue outcome response target label labels actual obs",
        "observed",
        "the column of the outcome",
    ),
    (
        "estimate pred preds prediction predictions prob probs probability score "
        "scores ypred yscore yprob yproba risk fitted",
        "predicted",
        "the column of the predictions",
    ),
    ("folds foldid split scheme cv index", "fold", "the column of the folds"),
    ("repeats times resample", "repeat", "the column of the repeats"),
    ("id ids record records rows", "row", "the column that identifies records"),
    (
        "group groups groupby clusters stratify strata subject subjects patient block",
        "cluster",
        "the column of the clusters",
    ),
)

# their meaning in compare()
OF_COMPARE = _table(
    ("method statistic", "test", "the test of the differences"),
    ("metrics scoring score measure", "metric", "the metric that is compared"),
    ("padjust padjustmethod correction", "adjust", "'holm', 'bh' or 'none'"),
    ("conflevel confidence ci", "level", "the level of the intervals"),
    ("alpha", "level", "1 minus alpha"),
    ("baseline ref control", "reference", "the name of one result"),
    (
        "nperm nperms npermutation permutations nresamples",
        "n_permutations",
        "the number of random permutations",
    ),
)

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
    "offset": "offsets are not offered; take the offset from a continuous outcome, "
    "I(y - x) ~ ..., or make the rate the outcome",
    "Surv": "survival outcomes are not offered; the event within a fixed time, for "
    "records that were followed as long, is a binary outcome: make a column of it",
    **dict.fromkeys(
        ("s", "ti", "t2", "lo", "pspline"),
        f"penalised smoothers are not fitted; {_SPLINES}",
    ),
    **dict.fromkeys(("strata", "cluster", "frailty"), _TOGETHER),
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
        "coefficients those of each fold",
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
