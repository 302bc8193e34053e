"""Figure 4: published models under LOOCV and RLOOCV, and leave-pair-out beside both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import resolve_seed
from statcv.errors import ArgumentError
from statcv.inference.meta import fisher
from statcv.metrics import auroc, delong_test
from studies.austin2024.published.analyses import ANALYSES, analysis
from studies.austin2024.published.runs import (
    ESTIMATES,
    one_run,
    pairs_of,
    right,
    shares_won,
)
from studies.running import Directory, Study, run, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes


IN_THE_PAPER = ("ptb", "irae", "cfs_boosting", "cfs_xgboost")
# p-values in the code of the paper's authors, from ten draws of their own
PRINTED_P = {
    "ptb": 0.38976368,
    "irae": 0.03233037,
    "cfs_boosting": 0.04828611,
    "cfs_xgboost": 0.12437051,
}
FISHER = 0.015  # Fisher's combined p-value, as the paper prints it
PRINTED = {
    "ptb": (0.692, 0.697),
    "irae": (0.817, 0.833),
    "cfs_boosting": (0.818, 0.824),
    "cfs_xgboost": (0.796, 0.817),
}


@dataclass(frozen=True, eq=False)
class Figure4:
    """Published models, cross-validated; made by :func:`figure4`.

    Attributes
    ----------
    predictions : pandas.DataFrame
        ``analysis``; ``run``; ``scheme``: ``"loocv"``, ``"rloocv"`` or
        ``"leave_pair_out"``; ``row``, its position in the data; ``observed``;
        ``predicted``, which under leave-pair-out is the share of the record's pairs in
        which it came first; ``partner``, under RLOOCV the record held out with it (else
        -1), and ``predicted_partner``.

    Examples
    --------
    >>> from studies.austin2024 import published
    >>> figure = published.stored("figure4")
    >>> rows = figure.table.query("analysis == 'cfs_xgboost'")
    >>> rows.set_index("estimate")["median"].round(3).head(2).to_dict()
    {'LOOCV, pooled': 0.796, 'RLOOCV, pooled': 0.805}
    """

    predictions: pd.DataFrame = field(repr=False)

    @cached_property
    def aurocs(self) -> pd.DataFrame:
        """One row per run: ``analysis``, ``estimate``, ``run``, ``auroc``."""
        rows: list[tuple[str, str, int, float]] = []
        keys = ["analysis", "scheme", "run"]
        key: Any  # a tuple of the three
        for key, own in self.predictions.groupby(keys, sort=False):
            name, scheme, number = key
            y, score = own["observed"].to_numpy(), own["predicted"].to_numpy()
            if scheme == "leave_pair_out":
                rows.append((name, ESTIMATES[3], number, float(score[y == 1].mean())))
                continue
            place = 0 if scheme == "loocv" else 1
            rows.append((name, ESTIMATES[place], number, auroc(y, score)))
            if scheme == "rloocv":
                rows.append((name, ESTIMATES[2], number, _share_of_pairs(own)))
        columns = ["analysis", "estimate", "run", "auroc"]
        table = pd.DataFrame(rows, columns=columns)
        order = table["estimate"].map(ESTIMATES.index)
        return table.assign(order=order).sort_values(
            ["order", "run"], ignore_index=True
        )[columns]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per analysis and estimate, beside the paper's median.

        ``analysis``, ``estimate``, ``paper`` (NaN if not printed), ``median`` and
        ``median_se``, ``mean`` and ``mean_se``, ``sd`` over ``runs``. Standard errors
        are Monte Carlo errors, of the records that were dropped at random and of fits
        that draw; that of the median is from the bootstrap over runs. They are 0 where
        nothing is drawn.
        """
        rows = []
        for name in self.predictions["analysis"].unique():
            own = self.aurocs[self.aurocs["analysis"] == name]
            for estimate, values in own.groupby("estimate", sort=False)["auroc"]:
                paper = _printed(name, str(estimate))
                rows.append(summary(values.to_numpy()) | {"paper": paper})
                rows[-1] |= {"analysis": name, "estimate": estimate}
        columns = ["analysis", "estimate", "paper", "median", "median_se", "mean"]
        return pd.DataFrame(rows)[[*columns, "mean_se", "sd", "runs"]]

    def tests(self) -> pd.DataFrame:
        """Test LOOCV against RLOOCV as the paper does, and combine by Fisher's method.

        Returns
        -------
        pandas.DataFrame
            One row per analysis of the paper: the ``difference`` (RLOOCV minus LOOCV)
            of the pooled auROCs of predictions that are averaged over runs, DeLong's
            ``p``, and ``paper``, the p-value in the code of the paper's authors.
            ``lowest`` and ``highest`` are p-values of single runs. Values are NaN for
            ``"irae"`` unless it was analysed. Further rows are Fisher's combination of
            our p-values; of these with the authors' own for ``"irae"``, unless that was
            analysed; and of the four of the authors, which is printed.

        Notes
        -----
        These tests take the fits as given, and are of two schemes, not of two models:
        they find a difference on noise as well. And Fisher's method takes the data sets
        as independent, which two models of the same data are not.
        """
        names = [
            name
            for name in self.predictions["analysis"].unique()
            if name in IN_THE_PAPER
        ]
        rows: list[dict[str, Any]] = [
            {"analysis": name, **self._test(name)} for name in names
        ]
        p = {row["analysis"]: row["p"] for row in rows}
        if p and "irae" not in p:
            rows.append({"analysis": "irae", "paper": PRINTED_P["irae"]})
        if p:
            rows.append({"analysis": f"Fisher, {len(p)} here", **_fisher(p.values())})
        if p and "irae" not in p:
            with_irae = [*p.values(), PRINTED_P["irae"]]
            found = _fisher(with_irae)
            rows.append(
                {"analysis": "Fisher, with printed irae", **found, "paper": FISHER}
            )
        printed = _fisher(PRINTED_P.values())
        rows.append({"analysis": "Fisher, four printed", **printed, "paper": FISHER})
        columns = ["analysis", "difference", "p", "paper", "lowest", "highest"]
        return pd.DataFrame(rows, columns=columns)

    def _test(self, name: str) -> dict[str, float]:
        own = self.predictions[self.predictions["analysis"] == name]
        y = own.groupby("row")["observed"].first().to_numpy()
        runs = {
            scheme: own[own["scheme"] == scheme].pivot(
                index="run", columns="row", values="predicted"
            )
            for scheme in ("loocv", "rloocv")
        }
        loocv, rloocv = (table.to_numpy() for table in runs.values())
        found = delong_test(y, rloocv.mean(axis=0), loocv.mean(axis=0))
        single = [
            delong_test(y, one, loocv[min(number, len(loocv) - 1)]).p_value
            for number, one in enumerate(rloocv)
        ]
        return {
            "difference": found.estimate,
            "p": found.p_value,
            "paper": PRINTED_P[name],
            "lowest": min(single),
            "highest": max(single),
        }

    def plot(
        self, analyses: Sequence[str] | None = None, axes: Sequence[Axes] | None = None
    ) -> NDArray[Any]:
        """Draw the ROC curves of both schemes, with their spread over the runs.

        The curve of leave-pair-out is drawn by placement values
        (:func:`statcv.metrics.paired_roc`).

        Parameters
        ----------
        analyses : sequence of str, optional
            All by default.
        axes : sequence of matplotlib.axes.Axes, optional
            One Axes per analysis.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
        """
        from studies.austin2024.published.drawing import draw_curves

        known = list(self.predictions["analysis"].unique())
        if isinstance(analyses, str):
            analyses = [analyses]
        chosen = known if analyses is None else list(analyses)
        odd = [name for name in chosen if name not in known]
        if odd or not chosen:
            raise ArgumentError(f"analyses are some of {', '.join(known)}, not {odd}.")
        return draw_curves(self, chosen, axes)


def figure4(
    runs: int = 10,
    *,
    analyses: Sequence[str] = ANALYSES,
    irae: str | os.PathLike[str] | None = None,
    pairs: bool = True,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Figure4:
    """Cross-validate published models by LOOCV, RLOOCV and leave-pair-out.

    Parameters
    ----------
    runs : int, default 10
        Draws of the records that RLOOCV drops, and of what fits draw.
    analyses : str, or sequence of str
        ``"ptb"``: preterm birth from the vaginal microbiome (Fig. 4a), by logistic
        regression on centred log-ratios, its penalty tuned in each training set.
        ``"cfs_boosting"`` and ``"cfs_xgboost"``: chronic fatigue from blood tests (Fig.
        4c, d), by two ways of boosting; ``"cfs_logistic"``: the same by the tuned
        logistic regression of ``"ptb"``, of standardised covariates, which is not in
        the paper. ``"stand_in"``: simulated data of the shape of those of Fig. 4b.
    irae : str or path, optional
        The file that :func:`statcv.load_irae` reads; Fig. 4b is then analysed as well.
    pairs : bool, default True
        Whether to hold out every pair of a positive and a negative record, too, which
        takes as many fits as there are pairs.
    directory : str or path, optional
        Directory for the results, from which an interrupted study continues.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes; the results do not depend on it.
    progress : bool, optional
        Whether to show a bar; by default at a terminal, after two seconds.

    Returns
    -------
    Figure4

    Raises
    ------
    ArgumentError
        If there is no such analysis, or the list is empty.
    DownloadError
        If the data are not available.

    Examples
    --------
    >>> made = figure4(2, analyses="stand_in", pairs=False, seed=1)
    >>> made.aurocs["estimate"].unique().tolist()
    ['LOOCV, pooled', 'RLOOCV, pooled', 'RLOOCV, paired']
    """
    seed = resolve_seed(seed)
    if isinstance(analyses, str):
        analyses = (analyses,)
    names = [*analyses, *(["irae"] if irae is not None else [])]
    if not names:
        raise ArgumentError(
            f"analyses are some of {', '.join(ANALYSES)}; give at least one."
        )
    tables = []
    for name in dict.fromkeys(names):
        settings = {"analysis": name, "seed": seed}
        own = within(directory, name)
        measure = partial(one_run, name, irae, seed)
        study = Study("runs", measure, settings, counts="run")
        tables.append(
            run(study, runs, within(own, "runs"), n_jobs, progress).assign(
                analysis=name
            )
        )
        if pairs:
            positives = int((analysis(name, irae).outcome == 1).sum())
            study = Study(
                "pairs",
                partial(pairs_of, name, irae, seed),
                settings,
                counts="positive",
            )
            pairs_held = run(study, positives, within(own, "pairs"), n_jobs, progress)
            won = shares_won(pairs_held)
            tables.append(
                won.assign(
                    analysis=name,
                    run=1,
                    scheme="leave_pair_out",
                    partner=-1,
                    predicted_partner=np.nan,
                )
            )
    columns = ["analysis", "run", "scheme", "row", "observed", "predicted"]
    table = pd.concat(tables, ignore_index=True)
    table["observed"] = table["observed"].astype(int)
    return Figure4(table[[*columns, "partner", "predicted_partner"]])


def _share_of_pairs(pairs: pd.DataFrame) -> float:
    return float(right(pairs).mean())


def _printed(name: str, estimate: str) -> float:
    if name not in PRINTED or estimate not in ESTIMATES[:2]:
        return np.nan
    return PRINTED[name][ESTIMATES.index(estimate)]


def summary(values: NDArray[np.float64]) -> dict[str, float]:
    """Return median and mean of runs with their Monte Carlo errors, and the sd."""
    n = len(values)
    drawn = np.random.default_rng(0).integers(n, size=(2000, n))
    medians = np.median(values[drawn], axis=1)
    sd = float(values.std(ddof=1)) if n > 1 else 0.0
    return {
        "median": float(np.median(values)),
        "median_se": float(medians.std()) if n > 1 else 0.0,
        "mean": float(values.mean()),
        "mean_se": sd / n**0.5,
        "sd": sd,
        "runs": n,
    }


def _fisher(p: Iterable[float]) -> dict[str, float]:
    return {"p": fisher(list(p)).p_value}
