"""A result as the data frames of R's broom: coefficients, one row, and records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from statcv.arguments import check_level
from statcv.errors import CoefficientError
from statcv.formula import as_frame
from statcv.inference.paired.tests import PairedTest
from statcv.models import cumulative_information
from statcv.models.batched import free_columns, partial_likelihood, strata_shares
from statcv.models.likelihood import (
    CumulativeLogit,
    Gaussian,
    Hazards,
    LogLinear,
    OfRecords,
)
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.results.comparison.likelihood_ratio import why_no_likelihood
from statcv.results.wording.phrases import caution
from statcv.sensitivity import score_residuals
from statcv.tables import Table, labels_of

if TYPE_CHECKING:
    from statcv.results.result import CVResult

UNDETERMINED = 1e-13  # share of the largest eigenvalue that is rounding
FEW_CLUSTERS = 40  # fewer clusters make standard errors too small
OF_KNOWN_VARIANCE = ("Poisson", "Binomial", "NegativeBinomial")
FREE = 1e-8  # part of a coefficient in a direction without information


# ---- coefficients ----


def tidy(result: CVResult, level: float = 0.95) -> pd.DataFrame:
    """Return the coefficients of the fit to all rows, as ``tidy`` of R's broom.

    There is one row per coefficient. The columns are ``term``, ``estimate``,
    ``std.error``, ``statistic``, ``p.value``, ``conf.low`` and ``conf.high``, and
    ``fold.min`` and ``fold.max``, the range of the estimate over folds. Standard
    errors are those of R's ``glm``, ``lm`` and ``coxph``, and the intervals are
    Wald's. They are not cross-validated. Where records are clustered by ``stratify=``,
    standard errors are those of Huber and White, which sum the scores of the records of
    a cluster, as in ``robcov`` of R's rms and ``coxph(cluster=)``; with fewer than some
    40 clusters they tend to be too small.

    Parameters
    ----------
    level : float, default 0.95
        Confidence level of the intervals.

    Raises
    ------
    CoefficientError
        If the model has no coefficients.

    Warns
    -----
    StatcvWarning
        If there are no standard errors, for example because the model is penalised
        or records are weighted; they are then NaN. Where columns are
        constant or determined by others, only those of their coefficients are.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.tidy()[["term", "estimate", "p.value"]].round(3)
            term  estimate  p.value
    0  Intercept   -11.602    0.006
    1        GPA     3.063    0.012
    2        PSI     2.338    0.025
    """
    check_level(level)
    estimates = result.model.coefficients
    if estimates is None or not len(estimates):
        raise CoefficientError(f"{result.learner.label} has no coefficients.")
    known = [result.design.names[j] for j in result.design.offsets]
    if getattr(result.refits.all_rows.linear, "dispersion", None) is not None:
        known.append(estimates.index[-1])  # theta, which is not among columns
    estimates = estimates.drop(known)  # offsets are not estimated
    values = np.asarray(estimates, dtype=float)
    ses, df, why = standard_errors(result, values)
    if why:
        caution("lost standard errors", lost=int(np.isnan(ses).sum()), why=why)
    table = pd.DataFrame({"term": estimates.index, "estimate": values})
    table["std.error"] = ses
    pairs = zip(values.tolist(), ses.tolist(), strict=True)
    tests = [PairedTest.of(value, se, level, df) for value, se in pairs]
    table["statistic"] = [one.statistic for one in tests]
    table["p.value"] = [one.p_value for one in tests]
    table["conf.low"] = [one.lower for one in tests]
    table["conf.high"] = [one.upper for one in tests]
    over = result.held.coefficients
    if over is not None:
        over = over.reindex(columns=list(estimates.index))
        table["fold.min"], table["fold.max"] = over.min().array, over.max().array
    return Table(
        table,
        "Coefficients of the fit to all rows, with their range over the folds",
        {
            "term": "term",
            "estimate": "estimate",
            "p.value": "p",
            "fold.min": "least of folds",
            "fold.max": "largest of folds",
        },
        limits={"estimate": ("conf.low", "conf.high")},
        alike=("fold.min", "fold.max"),
        level=level,
        p=("p.value",),
        units=True,
        note=_note_on_clusters(result, ses),
    )


def _note_on_clusters(result: CVResult, ses: Floats) -> str:
    """Return the number of clusters for which standard errors allow, as a sentence."""
    clusters = result.scores.clusters
    if clusters is None or np.isnan(ses).all():
        return ""
    count = len(np.unique(clusters))
    few = ", and tend to be too small with so few" * (count < FEW_CLUSTERS)
    return f"Standard errors allow for {count} clusters{few}."


def standard_errors(result: CVResult, values: Floats) -> tuple[Floats, float, str]:
    """Return the standard errors, their degrees of freedom, and why they are missing.

    They are those of R's ``glm`` and ``lm``, from the expected information, and of its
    ``coxph`` and ``orm``, from the observed one; of clusters the sandwich. The degrees
    of freedom are NaN where the variance of the outcome is a function of its mean.
    """
    none = np.full(len(values), np.nan)
    why = why_no_likelihood(result, independent=False)
    design, y, clusters = result.design, result.design.y, result.scores.clusters
    X = np.delete(design.matrix, list(design.offsets), axis=1)
    fitted = result.refits.fitted if not why else none
    classes = 1 if fitted.ndim == 1 else fitted.shape[1] - 1
    likelihood, wanted = result.learner.capabilities.likelihood, classes * X.shape[1]
    if isinstance(likelihood, Hazards):
        X = design.matrix[:, np.setdiff1d(free_columns(design), design.offsets)]
        wanted = X.shape[1]
    elif isinstance(likelihood, CumulativeLogit):  # a cut point for each class
        X = np.delete(X, [] if design.intercept is None else design.intercept, axis=1)
        wanted = classes + X.shape[1]
    if not why and len(values) != wanted:
        why = "the model has other coefficients than the columns of the formula"
    if why:
        return none, np.nan, why
    information, scores, residual = _information(result, X, y, fitted, values)
    if not np.isfinite(information).all():
        return none, np.nan, "the information on the coefficients is not finite"
    half, free = _root_of_inverse(information)
    rank, scaled = half.shape[1], not np.isnan(residual)
    if clusters is None:
        df = float(len(y) - rank)
        if scaled and df == 0:
            return none, np.nan, "there are as many coefficients as records"
        variances = (half**2).sum(axis=1) * (residual / df if scaled else 1.0)
    else:
        moved = scores @ half @ half.T  # what each record adds to the coefficients
        sums = pd.DataFrame(moved).groupby(clusters).sum().to_numpy()
        variances, df = (sums**2).sum(axis=0), len(sums) - 1.0
        if df < rank:
            return none, np.nan, "there are not more clusters than coefficients"
    why = "a column is constant, or determined by others" * (rank < len(values))
    ses = np.where(free, np.nan, np.sqrt(variances))
    return ses, df if scaled else np.nan, why


def _root_of_inverse(information: Floats) -> tuple[Floats, Bools]:
    """Return R with RR' the inverse information, and which coefficients are free.

    There is a column of R for each direction with information, (q, rank). Of free
    coefficients the data determine sums with others alone; the variances of the rest
    are those without the columns that others determine.
    """
    size = np.sqrt(np.diag(information))
    size = np.where(size > 0, size, 1.0)
    roots, vectors = np.linalg.eigh(information / np.outer(size, size))
    known = roots > UNDETERMINED * roots[-1]
    half = vectors[:, known] / np.sqrt(roots[known]) / size[:, None]
    return half, np.linalg.norm(vectors[:, ~known], axis=1) > FREE


def _information(
    result: CVResult, X: Floats, y: Array, fitted: Floats, values: Floats
) -> tuple[Floats, Floats, float]:
    """Return the information, the scores of records, and squared Pearson residuals.

    The sum of the latter is NaN for a family without a scale parameter.
    """
    likelihood, design = result.learner.capabilities.likelihood, result.design
    if isinstance(likelihood, CumulativeLogit):
        cuts = fitted.shape[1] - 1
        return *cumulative_information(X, y, values[:cuts], values[cuts:]), np.nan
    if isinstance(likelihood, Hazards):
        problem = partial_likelihood(
            X - X.mean(axis=0),
            y,
            likelihood.efron,
            shares=strata_shares(design.matrix, design.names),
            offset=design.matrix[:, list(design.offsets)].sum(axis=1),
        )
        eta = problem.linear(values[None])
        return problem.hessian(eta)[0], score_residuals(problem, eta[0, 0]), np.nan
    if isinstance(likelihood, LogLinear):
        # theta is taken as known, as in R
        more: Any = getattr(result.refits.all_rows.linear, "dispersion", None)
        likelihood = LogLinear(0.0 if more is None else float(more[0]))
    records, squares = cast(OfRecords, likelihood), np.nan
    eta = records.link(fitted)
    pull = records.residual(y, eta).reshape(len(y), -1)
    # the first of several classes is the reference; coefficients class by class
    pull = pull[:, -max(pull.shape[1] - 1, 1) :]
    scores = (pull[:, :, None] * X[:, None]).reshape(len(y), -1)
    if fitted.ndim > 1:
        p = fitted[:, 1:]
        products = p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])
        found = np.einsum("ni,njk,nl->jikl", X, products, X, optimize=True)
        return found.reshape(p.shape[1] * X.shape[1], -1), scores, squares
    family = getattr(likelihood, "family", None)
    if isinstance(likelihood, Gaussian):
        squares = float(((y - fitted) ** 2).sum())
    elif family is not None and type(family).__name__ not in OF_KNOWN_VARIANCE:
        squares = float(((y - fitted) ** 2 / family.variance(fitted)).sum())
    # for an outcome that equals its mean, the observed information is the expected one
    return (X.T * records.curvature(fitted, eta)) @ X, scores, squares


# ---- one row, and records ----


def glance(result: CVResult, level: float = 0.95) -> pd.DataFrame:
    """Return one row that describes the result, as ``glance`` of R's broom.

    The columns are ``nobs``, ``model``, ``scheme``, ``folds``, ``repeats``; the
    headline, ``metric`` and ``how``, with ``estimate``, ``conf.low`` and
    ``conf.high``; and the other metrics by their names, such as ``brier``,
    ``brier.low`` and ``brier.high``.

    Parameters
    ----------
    level : float, default 0.95
        Confidence level of the intervals.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.glance()[["nobs", "metric", "estimate"]].round(3)
       nobs metric  estimate
    0    32  auroc     0.833
    """
    table = result.metrics(level)
    wanted = ["metric", "estimate", "lower", "upper"]
    row: dict[str, Any] = {
        "nobs": result.design.n,
        "model": result.learner.label,
        "scheme": result.plan.scheme,
        "folds": result.plan.n_splits // result.plan.repeats,
        "repeats": result.plan.repeats,
        **table.loc[0, ["metric", "how", "estimate"]],
        "conf.low": table.loc[0, "lower"],
        "conf.high": table.loc[0, "upper"],
    }
    for name, *values in table.loc[1:, wanted].itertuples(index=False):
        row |= dict(zip((name, f"{name}.low", f"{name}.high"), values, strict=True))
    return Table(
        pd.DataFrame([row]),
        "The result in one row",
        ["nobs", "model", "scheme", "metric", "estimate"],
        limits={"estimate": ("conf.low", "conf.high")},
        level=level,
        words=labels_of(result.chosen_metrics),
    )


def augment(result: CVResult) -> pd.DataFrame:
    """Return the data with held-out predictions, as ``augment`` of R's broom.

    There is one row per record and repeat, in the order of the data; rows that were
    omitted are absent. After the columns of the data come ``.repeat``, ``.fold``,
    ``.observed``, ``.fitted``, the held-out prediction (several classes: one column
    each), and ``.resid``, the difference of the two.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.augment()[["GPA", ".observed", ".fitted"]].head(1).round(3)
        GPA  .observed  .fitted
    0  2.66          0    0.041
    """
    made, row = result.predictions, result.scores.row
    order = np.lexsort((row, made["repeat"]))
    kept = result.design.kept[row[order]]
    table = as_frame(result.call.data).iloc[kept].copy()
    for name, column in made.iloc[order].drop(columns="row").items():
        table[f".{str(name).replace('predicted', 'fitted')}"] = column.array
    if ".fitted" in table:
        table[".resid"] = table[".observed"] - table[".fitted"]
    added = [name for name in table if str(name).startswith(".")]
    first = [*added, *(name for name in table if name not in added)]
    caption = "Data with the held-out predictions"
    return Table(table, caption, {name: str(name) for name in first})
