"""Figure 5c: the auROC along a path of penalties, and which penalty it chooses.

Paths are of published data, and of data sets that are drawn from normal classes, for
which the true auROC of any linear score is known.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_whole, resolve_seed
from statcv.errors import ArgumentError, suggestion
from statcv.inference.tests import signed_rank
from statcv.metrics import round_significant
from studies.austin2024.published.normal_classes import SAMPLES
from studies.austin2024.published.paths import TRUTH, path_of_draw, path_of_sample
from studies.running import Directory, Study, run, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PUBLISHED = ("ptb", "cfs", "stand_in")
PENALTIES = tuple(float(f"1e{power}") for power in range(-6, 7))


@dataclass(frozen=True, eq=False)
class TuningPaths:
    """auROCs along paths of penalties; made by :func:`tuning_paths`.

    Attributes
    ----------
    table : pandas.DataFrame
        ``data``, ``number`` (of the data set that was drawn, or of the run), ``C``,
        ``estimate``, ``auroc``. For data sets that were drawn, the estimate ``"truth"``
        is the auROC, in the population, of the model fitted to all records.

    Examples
    --------
    >>> from studies.austin2024 import published
    >>> paths = published.stored("tuning_published")
    >>> paths.table["data"].unique().tolist()
    ['ptb', 'cfs', 'stand_in']
    """

    table: pd.DataFrame = field(repr=False)

    def paths(self) -> pd.DataFrame:
        """Return one row per data, penalty and estimate.

        ``auroc`` is the mean over data sets, with its standard error ``se``. For
        published data it is the median over runs of pooled estimates, as in the paper,
        and the mean of others; ``se`` is the Monte Carlo error of the mean, 0 for
        estimates that draw nothing and so have one run.
        """
        keys = ["data", "estimate", "C"]
        grouped = self.table.groupby(keys, sort=False)["auroc"]
        found = grouped.agg(["mean", "median", "sem"]).reset_index()
        medians = ~found["data"].isin(SAMPLES) & found["estimate"].str.contains("pool")
        found["auroc"] = np.where(medians, found["median"], found["mean"])
        found["se"] = found["sem"].fillna(0.0)
        return found[[*keys, "auroc", "se"]]

    def tests(self) -> pd.DataFrame:
        """Test over the penalties whether RLOOCV is above LOOCV, by Wilcoxon's test.

        Returns
        -------
        pandas.DataFrame
            One row per data: ``settings``, how many are ``higher``, the median
            difference (Hodges and Lehmann) and the exact ``p``.

        Notes
        -----
        The penalties share one data set, or the same ones, so that this test says
        little more than that the two paths differ; it is in the paper.
        """
        rows = []
        for name, own in self.paths().groupby("data", sort=False):
            wide = own.pivot(index="C", columns="estimate", values="auroc")
            gap = (wide["RLOOCV, pooled"] - wide["LOOCV, pooled"]).to_numpy()
            found = signed_rank(gap)
            rows.append(
                {
                    "data": name,
                    "settings": len(gap),
                    "higher": int((gap > 0).sum()),
                    "median": found.median,
                    "p": found.p_value,
                }
            )
        return pd.DataFrame(rows)

    def chosen(self) -> pd.DataFrame:
        """Return which penalty each estimate chooses.

        Returns
        -------
        pandas.DataFrame
            One row per data and estimate: ``auroc``, the highest along the path;
            ``strongest`` and ``weakest``, the range of C that reaches it; ``se``, the
            Monte Carlo error of the path there. For data sets that were drawn, these
            are means over data sets (geometric means for C). If several penalties reach
            the highest auROC, the strongest is chosen; ``truth`` is the mean true auROC
            of the models that are chosen, and ``lost`` the difference from the best of
            the path, with its standard error ``lost_se``.
        """
        rows = []
        for name, own in self.table.groupby("data", sort=False):
            if name in SAMPLES:
                rows += [{"data": name, **row} for row in _over_samples(own)]
                continue
            paths = self.paths()
            paths = paths[paths["data"] == name]
            for estimate, path in paths.groupby("estimate", sort=False):
                best = _best(path)
                se = float(path["se"].to_numpy()[path["auroc"].argmax()])
                rows.append({"data": name, "estimate": estimate, **best, "se": se})
        table = pd.DataFrame(rows)
        table.insert(3, "se", table.pop("se"))
        return table

    def plot(self, data: str, ax: Axes | None = None) -> Axes:
        """Draw the path of each estimate against the strength 1/C of the penalty.

        Parameters
        ----------
        data : str
            Name of the data.
        ax : matplotlib.axes.Axes, optional
        """
        from studies.austin2024.published.drawing import draw_paths

        known = list(self.table["data"].unique())
        if data not in known:
            raise ArgumentError(
                f"data is one of {', '.join(known)}, not {data!r}."
                f"{suggestion(data, known)}"
            )
        paths = self.paths()
        return draw_paths(paths[paths["data"] == data], data, ax)


def tuning_paths(
    data: Sequence[str] = (*SAMPLES, *PUBLISHED),
    *,
    data_sets: int = 100,
    runs: int = 10,
    penalties: Sequence[float] = PENALTIES,
    irae: str | os.PathLike[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> TuningPaths:
    """Estimate the auROC of ridge logistic regression along a path of penalties.

    By LOOCV, by RLOOCV (pooled, and in pairs) and by leave-pair-out.

    Parameters
    ----------
    data : str, or sequence of str
        ``"noise"``, ``"spread"``, ``"correlated"``: data sets of 50 records with five
        covariates that are drawn from a population, in which the best auROC is 0.5,
        0.75 and 0.75; RLOOCV is the mean of four draws. ``"ptb"``, ``"cfs"``: the
        published data of Fig. 4, ``"stand_in"``: simulated data of the shape of those
        of Fig. 5c. Covariates are on one scale, or scaled in each training set.
    data_sets : int, default 100
        Number of data sets for each population.
    runs : int, default 10
        Draws of the records that RLOOCV drops, on published data.
    penalties : sequence of float
        Values of C, the inverse of the strength of the penalty; by default 13 of them
        from 1e-6 to 1e6.
    irae : str or path, optional
        The file that :func:`statcv.load_irae` reads; the data of Fig. 5c are then
        analysed as well.
    directory : str or path, optional
        Directory for the results, from which an interrupted study continues.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes; the results do not depend on it.
    progress : bool, optional
        Whether to show a bar; by default at a terminal, after two seconds.

    Returns
    -------
    TuningPaths

    Raises
    ------
    ArgumentError
        If there are no such data, or fewer than two penalties.
    DownloadError
        If published data are not available.

    Examples
    --------
    >>> made = tuning_paths("noise", data_sets=2, penalties=[0.1, 1.0], seed=1)
    >>> made.paths().columns.tolist()
    ['data', 'estimate', 'C', 'auroc', 'se']
    """
    seed = resolve_seed(seed)
    check_whole(runs, "runs", least=1)
    if isinstance(data, str):
        data = (data,)
    names = dict.fromkeys([*data, *(["irae"] if irae is not None else [])])
    known = [*SAMPLES, *PUBLISHED, "irae"]
    odd = [name for name in names if name not in known]
    if odd:
        raise ArgumentError(
            f"there are no data {odd[0]!r}.{suggestion(odd[0], known)} There is "
            f"{', '.join(known)}."
        )
    Cs = tuple(float(C) for C in penalties)
    if len(set(Cs)) < 2 or not all(0 < C < np.inf for C in Cs):
        raise ArgumentError("penalties are two numbers above 0, or more.")
    tables = []
    for name in names:
        settings = {"data": name, "seed": seed, "penalties": list(Cs)}
        measure = (
            partial(path_of_sample, name, Cs, seed)
            if name in SAMPLES
            else partial(path_of_draw, name, irae, Cs, seed)
        )
        count = data_sets if name in SAMPLES else runs
        study = Study("path", measure, settings, counts="number")
        found = run(study, count, within(directory, name), n_jobs, progress)
        tables.append(found.assign(data=name))
    columns = ["data", "number", "C", "estimate", "auroc"]
    return TuningPaths(pd.concat(tables, ignore_index=True)[columns])


def _best(path: pd.DataFrame) -> dict[str, float]:
    """Return the highest auROC of a path, and the range of C that reaches it."""
    values = round_significant(path["auroc"].to_numpy())
    at = path["C"].to_numpy()[values == values.max()]
    return {
        "auroc": float(path["auroc"].max()),
        "strongest": float(at.min()),
        "weakest": float(at.max()),
    }


def _over_samples(table: pd.DataFrame) -> list[dict[str, Any]]:
    truth = table[table["estimate"] == TRUTH].pivot(
        index="number", columns="C", values="auroc"
    )
    rows = []
    for estimate, own in table.groupby("estimate", sort=False):
        best = pd.DataFrame(
            {number: _best(path) for number, path in own.groupby("number")}
        ).T
        at = truth.columns.get_indexer(pd.Index(best["strongest"]))
        worth = truth.loc[best.index].to_numpy()[np.arange(len(best)), at]
        lost = truth.loc[best.index].to_numpy().max(axis=1) - worth
        logs = np.log10(best[["strongest", "weakest"]]).mean()
        rows.append(
            {
                "estimate": estimate,
                "auroc": best["auroc"].mean(),
                "se": best["auroc"].sem(),
                "strongest": 10 ** logs["strongest"],
                "weakest": 10 ** logs["weakest"],
                "truth": worth.mean(),
                "lost": lost.mean(),
                "lost_se": lost.std(ddof=1) / len(lost) ** 0.5
                if len(lost) > 1
                else np.nan,
            }
        )
    return rows
