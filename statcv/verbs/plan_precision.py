"""The verb that plans the precision of a cross-validation, before there are data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from statcv import arguments
from statcv.engine import check_jobs
from statcv.errors import ArgumentError, StatcvWarning, needed
from statcv.metrics import Metric
from statcv.results.permutations import better_side
from statcv.results.result import CVResult
from statcv.results.wording.notes import measured
from statcv.results.wording.phrases import noted
from statcv.tables import Table, labels_of
from statcv.tables.printed import wrapped
from statcv.verbs.argument_types import MetricsLike, SeedLike
from statcv.verbs.simulated_studies import Study
from statcv.vocabulary import refuse_unknown
from statcv.words import plural

USUAL = ("auroc", "brier", "calibration_slope")
SHOWN = ("scheme", "metric", "truth", "estimate", "bias", "width", "coverage", "power")
OPTIONS = ("model", "select", "tune", "k", "repeats", "pairs", "rebalance", "threshold")
MIN_COVERAGE = 0.9  # share of data sets below which a scheme is not recommended
LEAST_EVENTS = 5  # expected records of the rarer class below which models often fail
FIRST_EVENTS = 50  # those from which the search for a width starts
MOST = 20_000  # records at which the search ends
STEPS, NEAR = 8, 0.01  # most steps of the search, and the relative change that ends it
CRITERIA = ("shrinkage", "optimism of R²", "overall risk", "all")


@dataclass(frozen=True, eq=False)
class PrecisionPlan:
    """The precision that cross-validated estimates will have.

    It is returned by :func:`statcv.plan_precision`.

    Attributes
    ----------
    n, p, prevalence, c
        Number of records, number of predictors, and the population that was assumed.
    table : pandas.DataFrame
        One row per scheme and metric: the means of ``truth``, the value of the model
        that is fitted to all records, and of ``estimate``; their difference ``bias``,
        and ``rmse``, the root mean squared error; mean ``width`` and ``coverage`` of
        the interval; ``power`` of the permutation test at 5 %. Each has a Monte Carlo
        standard error, such as ``bias_se``. ``missing`` is the share of data sets
        without an interval, ``failed`` that of data sets in which a fit did not
        converge or had separated classes.
    recommended : str or None
        The scheme with the smallest mean squared error of the first metric, among those
        whose interval contained the truth in 90 % of the data sets or more.
    notes : tuple of str
        Sentences that are printed below the table.

    Examples
    --------
    >>> import statcv as scv
    >>> plan = scv.plan_precision(n=80, prevalence=0.4, p=2, c=0.8, n_sim=20, seed=1)
    >>> plan.table.loc[0, ["scheme", "metric", "how"]].tolist()
    ['stratified_kfold', 'auroc', 'per_fold']
    """

    n: int
    p: int
    prevalence: float
    c: float
    table: pd.DataFrame
    recommended: str | None
    notes: tuple[str, ...]

    def riley(self, shrinkage: float = 0.9) -> pd.DataFrame:
        """Return the sample sizes by the criteria of Riley et al., from pmsampsize.

        Parameters
        ----------
        shrinkage : float, default 0.9
            Expected uniform shrinkage of the coefficients.

        Returns
        -------
        pandas.DataFrame
            Numbers of records and events by each criterion, and by all of them.

        Raises
        ------
        MissingPackageError
            If pmsampsize is not installed, on which statcv does not depend.
        ArgumentError
            If c is 0.5, or the shrinkage is out of range.

        References
        ----------
        Riley et al. (2020), BMJ 368:m441; Riley, Van Calster & Collins (2021), Stat.
        Med. 40:859.
        """
        arguments.check_types(PrecisionPlan.riley, locals())
        if self.c == 0.5 or not 0 < shrinkage < 1:
            raise ArgumentError(
                "riley() needs c above 0.5 and a shrinkage between 0 and 1, not "
                f"c={self.c} and shrinkage={shrinkage}."
            )
        package = needed(
            "pmsampsize.pmsampsize",
            "riley() needs the package pmsampsize, which runs on Python 3.12 or "
            "later: pip install pmsampsize",
        )
        about = {"cstatistic": self.c, "prevalence": self.prevalence}
        about |= {"shrinkage": shrinkage, "noprint": True}
        found = package.pmsampsize("b", self.p, **about)
        sizes = [int(one[1]) for one in found["results_table"] if len(one) > 1]
        return riley_table(sizes, self.prevalence, shrinkage)

    def __repr__(self) -> str:
        notes = [line for one in self.notes for line in ["", *wrapped(one)]]
        return "\n".join([repr(self.table), *notes])


def riley_table(sizes: list[int], prevalence: float, shrinkage: float) -> Table:
    """Return the numbers of records that pmsampsize found as a table."""
    table = pd.DataFrame({"criterion": CRITERIA, "n": sizes})
    table["events"] = table["n"] * prevalence
    caption = f"Sample size by Riley's criteria, with a shrinkage of {shrinkage:g}"
    return Table(table, caption, decimals={"events": 1})


def plan_precision(
    *,
    n: int | None = None,
    p: int,
    prevalence: float,
    c: float,
    width: float | None = None,
    scheme: str | Sequence[str] = "stratified_kfold",
    metrics: MetricsLike = USUAL,
    n_sim: int = 200,
    seed: SeedLike | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> PrecisionPlan:
    """Return the precision and power that a cross-validation will have.

    Data sets are simulated, and cross-validated with the interval that :func:`cv` will
    print; the truth is the metric, in the population, of the model that is fitted to
    all records of a data set. The predictors are independent and normal, and one linear
    combination of them carries the whole signal: its mean differs between the classes,
    as Riley, Van Calster & Collins (2021) assume.

    Parameters
    ----------
    n : int
        Number of records. Either n or width is needed.
    p : int
        Number of predictors.
    prevalence : float
        Share of events in the population.
    c : float
        c-statistic (auROC) of the true model, 0.5 or more. If it is 0.5, the power is
        the size of the test.
    width : float, optional
        Mean width of the interval of the first metric by the first scheme, for which n
        is found.
    scheme : str or list of str
        One scheme or several, as in :func:`cv`.
    metrics : str, callable, or a sequence of them
        As in :func:`cv`; auROC, Brier score and calibration slope unless given.
    n_sim : int, default 200
        Number of simulated data sets.
    seed : int, numpy.random.Generator or None
        Seed for the data sets.
    n_jobs : int, optional
        Number of processes, as in joblib; one unless given.
    progress : bool, optional
        As in :func:`cv`.
    **options
        Further arguments of :func:`cv`, such as ``k=5`` or ``model=Logit(C=1)``; the
        model is unpenalised logistic regression unless given.

    Returns
    -------
    PrecisionPlan
        ``table``, ``recommended``, and Riley's criteria by ``riley()``.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or fewer than 5 records of a class are expected.

    References
    ----------
    Riley, Van Calster & Collins (2021), Stat. Med. 40:859.

    Examples
    --------
    >>> import statcv as scv
    >>> few = {"p": 2, "n_sim": 20, "seed": 1}
    >>> plan = scv.plan_precision(width=0.3, prevalence=0.4, c=0.8, **few)
    >>> round(plan.n, -1)
    50
    """
    arguments.check_types(plan_precision, locals())
    check_jobs(n_jobs)
    arguments.check_whole(n_sim, "n_sim", least=20, most=100_000)
    refuse_unknown("plan_precision", sorted({*options} - {*OPTIONS}), OPTIONS)
    if not 0 < prevalence < 1:
        raise ArgumentError(
            f"prevalence is a share between 0 and 1, such as 0.2, not {prevalence}."
        )
    if not 0.5 <= c < 1:
        raise ArgumentError(
            f"c must be 0.5 (no signal) or more, and below 1, not {c}: the true model "
            "never ranks worse than chance."
        )
    if (n is None) == (width is None):
        raise ArgumentError(
            "plan_precision() needs either n=, the number of records, or width=, that "
            "of the interval for which n is found."
        )
    schemes = [scheme] if isinstance(scheme, str) else list(scheme)
    if not schemes or not all(isinstance(one, str) for one in schemes):
        raise ArgumentError(
            "scheme must be the name of a scheme or a list of names, not "
            f"{arguments.described(scheme)}."
        )
    arguments.check_whole(p, "p", least=1, most=MOST)
    least = max(p + 2, math.ceil(LEAST_EVENTS / min(prevalence, 1 - prevalence) - 1e-9))
    asked, own = {**options, "metrics": metrics}, arguments.resolve_seed(seed)
    study = Study(least, p, prevalence, c, schemes, asked, n_sim, own, n_jobs, progress)
    if n is not None:
        arguments.check_whole(n, "n", least=1, most=1_000_000)
        if n < least:
            raise ArgumentError(
                f"n={n} is too small: {p} predictors need {p + 2} records, and "
                f"{LEAST_EVENTS} of each class should be expected, which {least} "
                f"records have with prevalence={prevalence}."
            )
    # what a simulated data set warns of is not about the user's data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return _planned(replace(study, n=_n_for(study, width) if n is None else n))


def _planned(study: Study) -> PrecisionPlan:
    """Simulate the study, and return what is to be expected of it."""
    results, schemes = study.typical(), study.schemes
    every = results[0].chosen_metrics
    hows = [[one.estimate(metric).how for metric in every] for one in results]
    simulated = study.run(len(every))
    table = pd.DataFrame(
        {"scheme": name, "metric": metric.name, "how": hows[i][j]}
        | simulated.row(i, j, better_side(metric))
        for i, name in enumerate(schemes)
        for j, metric in enumerate(every)
    )
    able = table[:: len(every)].query(f"coverage >= {MIN_COVERAGE}")
    best = str(able.sort_values("rmse")["scheme"].iloc[0]) if len(able) else None
    of = f"{plural(study.p, 'predictor')} and c = {study.c:g}"
    if len(schemes) == 1:
        of += f", by {schemes[0]}"
    shown = Table(
        table,
        f"Precision to expect from {study.n:,} records with "
        f"{study.n * study.prevalence:.0f} events, {of}",
        {name: name for name in SHOWN[len(schemes) == 1 :]} | {"coverage": "covers"},
        words=labels_of(every),
        decimals={"coverage": 2, "power": 2},
    )
    result = results[schemes.index(best or schemes[0])]
    about = study.n, study.p, study.prevalence, study.c
    notes = tuple(_notes(table, best, result, study.n_sim))
    return PrecisionPlan(*about, shown, best, notes)


def _notes(
    table: pd.DataFrame, best: str | None, result: CVResult, n_sim: int
) -> Iterator[str]:
    """Say which scheme is recommended, what failed, and how precise the numbers are."""
    metric, schemes = result.chosen_metrics[0], table["scheme"].nunique()
    known: dict[str, Any] = {"metric": metric, "enough": MIN_COVERAGE}
    if best is None:
        yield noted("no scheme", **known)
    elif schemes > 1:
        yield noted("recommended scheme", best=best, **known)
        first = table[table["metric"] == metric.name].set_index("scheme")
        most = first["rmse"].add(first["rmse_se"])[best]
        near = first.query(f"rmse <= {most} and coverage >= {MIN_COVERAGE}").index
        if others := [name for name in near if name != best]:
            yield noted("other schemes", others=others)
    for name in ("failed", "missing"):
        shares = table.groupby("scheme", sort=False)[name].max()
        if some := [f"{v:.1%} by {k}" for k, v in shares.items() if v > 0]:
            yield noted(f"{name} sets", some=some)
    largest = table[table["metric"] == metric.name].max(numeric_only=True)
    each = ("bias", "width", "coverage", "power")
    errors = [f"{largest[f'{name}_se']:.3f} of the {name}" for name in each]
    yield noted("simulated sets", metric=metric, n_sim=n_sim, errors=errors)
    yield from measured(result, result.estimate())


def _n_for(study: Study, width: Any) -> int:
    """Return the number of records for which the interval has this mean width."""
    if not 0 < width < math.inf:
        raise ArgumentError(f"width must be a positive number, not {width}.")
    least, rarer = study.n, min(study.prevalence, 1 - study.prevalence)
    n = max(least, min(math.ceil(FIRST_EVENTS / rarer), MOST))
    study, first = replace(study, schemes=study.schemes[:1]), tuple[Metric, ...]()
    for _ in range(STEPS):
        if n > MOST:
            raise ArgumentError(
                f"an interval of width {width:g} needs about {n:,} records, more than "
                f"the {MOST:,} to which the search goes; give n= to simulate them."
            )
        study = replace(study, n=n)
        first = first or study.typical()[0].chosen_metrics[:1]
        alone = replace(study, options={**study.options, "metrics": first})
        found = alone.run(1, times=0).row(0, 0, "")["width"]
        if math.isnan(found):
            label = first[0].label
            raise ArgumentError(f"{label} has no interval; give n=, not width=.")
        # the width is inversely proportional to the root of n, but for few records
        before, n = n, max(least, math.ceil(n * (found / width) ** 2))
        if abs(n / before - 1) < NEAR:
            break
    return n
