"""Figure 4: the cost of a stratifier against its importance.

Each covariate of a data set gets numbers that are computed before any refit from one
unbiased cross-validation and its models; they are set against the estimate of accuracy
when folds are stratified by that covariate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.datasets.ehr import COVARIATES
from statcv.inference.refits import Jackknife
from statcv.results.stratifier_bias import predicted_drop
from studies.bey2020.rankings import RANKINGS, fold_models, rank
from studies.bey2020.samples import Sample, Scale, drawn_population, simulate
from studies.bey2020.strategies import accuracy, cross_validate
from studies.running import Directory

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ALL_RANKINGS = (*RANKINGS, "predicted")
RESAMPLES = 500


@dataclass(frozen=True, eq=False)
class Figure4:
    """Cost and importance of stratifiers; made by :func:`figure4`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per data set and covariate: ``data_set``, ``stratifier``; ``unbiased``,
        the unbiased estimate of accuracy, and ``ratio``, the stratified estimate
        divided by it. The other columns are of the unbiased models or their data:
        ``gain``, ``total_gain``, ``weight`` and ``cover``, XGBoost's importances,
        normalised to sum one; ``permutation`` and ``clamp``, the loss of held-out
        accuracy when the covariate is shuffled, and when it is moved to the nearest
        value outside its quantile bin; ``mutual_information`` (nats, of ten quantile
        bins) and ``anova_f`` of covariate and outcome; ``heterogeneity``, the auROC by
        which the other covariates predict the fold.

    Examples
    --------
    >>> from studies import bey2020
    >>> figure = bey2020.stored("figure4")
    >>> figure.calibration()["term"].tolist()
    ['intercept', 'clamp', 'permutation']
    """

    table: pd.DataFrame = field(repr=False)

    @property
    def rankings(self) -> pd.DataFrame:
        """The table, and ``predicted``: by how many points the estimate should drop.

        From ``clamp`` and ``permutation``, as in :func:`statcv.stratifier_bias`.
        """
        return self.table.assign(predicted=predicted_drop(*self.lost))

    @property
    def lost(self) -> tuple[pd.Series[Any], pd.Series[Any]]:
        """Losses of accuracy by clamping and by permuting, in points."""
        return 100 * self.table["clamp"], 100 * self.table["permutation"]

    @property
    def drop(self) -> pd.Series[Any]:
        """By how many points the stratified estimate is below the unbiased one."""
        return 100 * self.table["unbiased"] * (1 - self.table["ratio"])

    def correlations(self, seed: int = 1) -> pd.DataFrame:
        """Return how well each number predicts the ratio before any refit.

        Parameters
        ----------
        seed : int, default 1
            Seed for the bootstrap.

        Returns
        -------
        pandas.DataFrame
            One row per column of ``rankings``: ``pearson`` and ``spearman`` over all
            pairs of a data set and a covariate, and ``within``, the mean over data sets
            of Spearman's correlation of its ten covariates; each with its standard
            error, from a bootstrap of whole data sets (500 times). NaN for fewer than
            two.
        """
        return correlations(self.rankings, seed)

    def calibration(self) -> pd.DataFrame:
        """Return the coefficients by which the drop is predicted.

        Returns
        -------
        pandas.DataFrame
            Least squares of ``drop`` on ``clamp``, 0 where that is negative, and
            ``permutation``, all in points: one row per ``term``, with ``coefficient``
            and its standard error by a jackknife of data sets.
        """
        return calibration(self)

    def plot(self, importance: str = "total_gain", ax: Axes | None = None) -> Axes:
        """Draw the ratio against an importance, or another column of ``rankings``."""
        from studies.bey2020.drawing import draw_importance

        return draw_importance(self.rankings, importance, ax)


def figure4(
    data_sets: int = 100,
    *,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Figure4:
    """Stratify along each covariate of many populations, and rank the covariates.

    Parameters
    ----------
    data_sets : int, default 100
        Number of data sets, each of a population whose parameters are all drawn
        (:func:`statcv.datasets.random_population`).
    scale, directory, seed, n_jobs, progress
        As in :func:`figure3`.

    Returns
    -------
    Figure4

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is not what it should be.
    CheckpointError
        If the directory holds another study.

    Notes
    -----
    Bey et al. (2020), JAMIA 27:1244-1251, Figure 4. Importances are means over the
    models of the folds of the unbiased cross-validation.

    Examples
    --------
    >>> from studies.bey2020 import Scale, figure4
    >>> found = figure4(2, scale=Scale(n=400, n_duplicates=80, rounds=10))
    >>> len(found.table), float(found.table["total_gain"].sum().round(6))
    (20, 2.0)
    """
    table = simulate(
        "figure4",
        _measure,
        data_sets,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
    )
    return Figure4(table)


def correlations(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return correlations of each column with the ratio; see `Figure4`."""
    from scipy.stats import rankdata

    of_set, names = pd.factorize(table["data_set"], sort=True)
    n = len(names)
    drawn = np.random.default_rng(seed).integers(n, size=(RESAMPLES, n))
    times = np.array([np.bincount(one, minlength=n) for one in [np.arange(n), *drawn]])
    weights = times[:, of_set]  # weights of the rows in the data, and in each sample
    ratio, rows = table["ratio"].to_numpy(), {}
    ranks_of_ratio = _ranks(ratio, weights)
    for name in ALL_RANKINGS:
        x = table[name].to_numpy()
        within = [
            _correlation(rankdata(x[of_set == one]), rankdata(ratio[of_set == one]))
            for one in range(n)
        ]
        measures = np.column_stack(
            [
                _correlations(x, ratio, weights),
                _correlations(_ranks(x, weights), ranks_of_ratio, weights),
                times @ np.array(within) / n,
            ]
        )
        found, samples = measures[0], measures[1:]
        spread = samples.std(axis=0, ddof=1) if n > 1 else np.full(3, np.nan)
        rows[name] = np.column_stack([found, spread]).ravel()
    columns = [
        f"{kind}{suffix}"
        for kind in ("pearson", "spearman", "within")
        for suffix in ("", "_se")
    ]
    return (
        pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        .rename_axis("ranking")
        .reset_index()
    )


def calibration(figure: Figure4) -> pd.DataFrame:
    """Return how the drop is predicted; see `Figure4`."""
    (clamp, permutation), drop = figure.lost, figure.drop.to_numpy()
    X = np.column_stack([np.ones(len(drop)), np.maximum(clamp, 0), permutation])
    of_set = figure.table["data_set"].to_numpy()

    def fitted(rows: Any = slice(None)) -> Any:
        return np.linalg.lstsq(X[rows], drop[rows], rcond=None)[0]

    left = np.array([fitted(of_set != one) for one in np.unique(of_set)])
    alone = np.zeros(len(left), dtype=np.intp)  # one sample of data sets
    found = {
        "term": ["intercept", "clamp", "permutation"],
        "coefficient": fitted(),
        "se": [Jackknife(v, alone, "data set", 0).variance ** 0.5 for v in left.T],
    }
    return pd.DataFrame(found)


def _correlation(a: Any, b: Any) -> float:
    """Return Pearson's correlation, NaN if a side is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(x: Any, weights: Any) -> Any:
    """Return the mean ranks of values that each count so many times, a row each."""
    values, place = np.unique(x, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(values)))
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    return (counts.cumsum(axis=1) - (counts - 1) / 2)[:, place]


def _correlations(a: Any, b: Any, weights: Any) -> Any:
    """Return Pearson's correlations of weighted values, one for each row of weights."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.full(len(weights), np.nan)
    total = weights.sum(axis=1, keepdims=True)
    a = a - (weights * a).sum(axis=1, keepdims=True) / total
    b = b - (weights * b).sum(axis=1, keepdims=True) / total
    norm = (weights * a**2).sum(axis=1) * (weights * b**2).sum(axis=1)
    return (weights * a * b).sum(axis=1) / np.sqrt(norm)


def _measure(scale: Scale, seed: int, number: int) -> pd.DataFrame:
    sample = Sample.draw(scale, drawn_population(seed, number), seed, number)
    unbiased = cross_validate("unbiased", sample, scale)
    table = rank(unbiased, fold_models(unbiased), sample.seeds.folds)
    table = table.reindex(list(COVARIATES)).reset_index()
    reference = accuracy(unbiased)
    stratified = [accuracy(cross_validate(x, sample, scale)) for x in COVARIATES]
    table.insert(1, "unbiased", reference)
    table.insert(2, "ratio", np.array(stratified) / reference)
    return table
