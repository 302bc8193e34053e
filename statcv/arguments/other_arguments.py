"""Arguments of R and scikit-learn, and what statcv calls them or offers instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from statcv.errors import ArgumentTypeError, suggestion


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
        and (bare_word(name) in OF_COMPARE or bare_word(name) in ARGUMENTS)
        and not hasattr(value, "plan")
        and not (isinstance(value, str) and "~" in value)
    ]
    refuse_unknown("compare", words, known, OF_COMPARE)


def _argument(
    word: str, known: Collection[str], first: Mapping[str, tuple[str, str]]
) -> str:
    key = bare_word(word)
    found = first.get(key) or ARGUMENTS.get(key)
    if found is None:
        return f".{suggestion(word, known)}"
    ours, says = found
    if not ours:
        return f": {says}."
    if ours not in known:
        return f"; in cv() it is {ours}=."
    return f"; here it is {ours}=, {says}."


def bare_word(word: str) -> str:
    """Return the letters and digits of a word, in lower case."""
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
        "an offset is a term of the formula, y ~ x + offset(log(days)), and "
        "exposure='days' is the same",
    ),
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
    ("imputation imputer imputemissing", "impute", "'mice' or 'median'"),
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
    (
        "horizon horizons times at",
        "predicted",
        "with the column of the risk by each horizon, such as {365: 'risk'}",
    ),
    ("folds foldid split scheme cv index", "fold", "the column of the folds"),
    ("repeats resample", "repeat", "the column of the repeats"),
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
