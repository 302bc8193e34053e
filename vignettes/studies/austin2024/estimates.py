"""Every estimate of auROC that the paper names, and ours, over cells of a simulation.

A data set gives all estimates (:func:`estimates_of`). A cell is a population and a
model; its data sets give mean, spread and cost of each estimate (:func:`run_cells`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from statcv import cv
from statcv.arguments import resolve_seed
from statcv.errors import ArgumentError, StatcvWarning, suggestion
from statcv.folds import Bags
from statcv.results import CVResult, FullModel
from studies.austin2024.samples import Noise, Signal, learner_of, stream_of
from studies.running import Directory, Study, run, within
from studies.standardised import standardise_scores

FOLDS, PAIRS, FEW = 5, 2000, 400
ESTIMATES = {
    "loocv": "leave-one-out, pooled",
    "rloocv": "rebalanced leave-one-out, pooled",
    "rloocv_x4": "rebalanced leave-one-out, pooled, mean of four draws",
    "weight": "leave-one-out with weights, pooled",
    "upsample": "leave-one-out, up-balanced, pooled",
    "all": "leave-one-out, every subsample, pooled",
    "bag": "leave-one-out, ten balanced bags, pooled",
    "folds_pooled": f"{FOLDS} stratified folds, pooled",
    "folds_mean": f"{FOLDS} stratified folds, mean of folds",
    "rloocv_paired": "rebalanced leave-one-out, paired",
    "rloocv_paired_x4": "rebalanced leave-one-out, paired, mean of four draws",
    "leave_pair_out": "leave-pair-out",
    "pairs": f"leave-pair-out, {PAIRS:,} of the pairs",
    "few_pairs": f"leave-pair-out, {FEW} of the pairs",
    "averaged": "leave-pair-out, a record's predictions averaged over its fits, pooled",
    "tournament": "tournament leave-pair-out, shares of pairs won, pooled",
    "standardised": "leave-one-out, scores standardised (unsafe), pooled",
}
"""Names of the estimates, and what they are."""

ASKED = tuple(ESTIMATES)[: tuple(ESTIMATES).index("leave_pair_out") + 1]
"""The estimates that are made by default."""

OF_PAIRS = ("leave_pair_out", "few_pairs", "rloocv_paired_x4", "tournament", "averaged")
"""What can be made of records that are held out two by two."""

CHUNK = 25  # number of data sets in a file
FRESH = 20_000  # number of new records for a model whose truth has no closed form
COUNTS = "data_set"


@dataclass(frozen=True)
class Held:
    """One cross-validation, and the estimates that it gives.

    Attributes
    ----------
    arguments : mapping
        Arguments of :func:`statcv.cv`.
    reads : mapping
        Name of an estimate → pooled, per fold or paired.
    afterwards : callable, optional
        Function that is applied to the result first.
    """

    arguments: Mapping[str, Any]
    reads: Mapping[str, str]
    afterwards: Callable[[CVResult], CVResult] | None = None


HELD = (
    Held({"scheme": "loocv"}, {"loocv": "pooled"}),
    Held(
        {"scheme": "rloocv", "repeats": 1},
        {"rloocv": "pooled", "rloocv_paired": "paired"},
    ),
    Held(
        {"scheme": "rloocv", "repeats": 4},
        {"rloocv_x4": "pooled", "rloocv_paired_x4": "paired"},
    ),
    Held({"scheme": "loocv", "rebalance": "weight"}, {"weight": "pooled"}),
    Held({"scheme": "loocv", "rebalance": "upsample"}, {"upsample": "pooled"}),
    Held({"scheme": "loocv", "rebalance": "all"}, {"all": "pooled"}),
    Held({"scheme": "loocv", "rebalance": Bags(10)}, {"bag": "pooled"}),
    Held(
        {"scheme": "stratified_kfold", "k": FOLDS},
        {"folds_pooled": "pooled", "folds_mean": "per_fold"},
    ),
    Held(
        {"scheme": "leave_pair_out"}, {"leave_pair_out": "paired", "averaged": "pooled"}
    ),
    Held({"scheme": "leave_pair_out", "pairs": PAIRS}, {"pairs": "paired"}),
    Held({"scheme": "leave_pair_out", "pairs": FEW}, {"few_pairs": "paired"}),
    Held({"scheme": "tournament_leave_pair_out"}, {"tournament": "pooled"}),
    Held({"scheme": "loocv"}, {"standardised": "pooled"}, standardise_scores),
)


def check_estimates(names: Iterable[str] | None) -> tuple[str, ...]:
    """Return the requested names; raise an error if one is unknown."""
    if isinstance(names, str):
        names = (names,)
    asked = ASKED if names is None else tuple(names)
    for name in asked:
        if name not in ESTIMATES:
            raise ArgumentError(
                f"there is no estimate {name!r}; there are {', '.join(ESTIMATES)}."
                f"{suggestion(name, ESTIMATES)}"
            )
    return asked


def estimates_of(
    frame: pd.DataFrame, model: Any, names: Iterable[str], seed: int
) -> pd.DataFrame:
    """Cross-validate a data set by all schemes that the estimates need.

    Parameters
    ----------
    frame : pandas.DataFrame
        ``y`` and covariates.
    model : object
        As in :func:`statcv.cv`.
    names : iterable of str
        In ``ESTIMATES``.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per estimate: ``estimate``, ``auroc``, ``fits``, and ``seconds`` of the
        cross-validation that gives it.
    """
    wanted, rows = set(names), []
    for held in HELD:
        reads = {name: how for name, how in held.reads.items() if name in wanted}
        if not reads:
            continue
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatcvWarning)
            result = cv("y ~ .", frame, model=model, seed=seed, **held.arguments)
            if held.afterwards is not None:
                result = held.afterwards(result)
            found = {
                n: float(result.estimate("auroc", how=h)) for n, h in reads.items()
            }
        seconds = time.perf_counter() - started
        for name, auroc in found.items():
            fits = result.plan.n_fits
            rows.append(
                {"estimate": name, "auroc": auroc, "fits": fits, "seconds": seconds}
            )
    return pd.DataFrame(rows)


def fitted_to_all(frame: pd.DataFrame, model: Any) -> FullModel:
    """Return the model fitted to all records, whose performance is estimated."""
    held = cv("y ~ .", frame, model=model, scheme="stratified_kfold", k=2, seed=0)
    return held.model


@dataclass(frozen=True)
class Cell:
    """A population, a model by name, and which estimates are made.

    No two cells share a data set, so that their errors are independent.
    """

    population: Noise | Signal
    model: str
    estimates: tuple[str, ...]

    @property
    def columns(self) -> dict[str, Any]:
        """What distinguishes the cell from others."""
        return {**asdict(self.population), "model": self.model}

    @property
    def name(self) -> str:
        """Prefix of its file names."""
        return "-".join(
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in self.columns.values()
        ).replace(" ", "")

    def measure(self, seed: int, number: int) -> pd.DataFrame:
        """Return the estimates of a data set, and the truth where there is signal."""
        key = crc32(self.name.encode())
        rng = stream_of(seed, number, key)
        frame = self.population.sample(rng)
        own = int(rng.integers(2**32))
        model = learner_of(self.model, own)
        table = estimates_of(frame, model, self.estimates, own)
        if isinstance(self.population, Signal):
            fresh = stream_of(seed, number, key, 1)
            table["truth"] = _truth(frame, model, self.population, fresh)
        return table


def _truth(
    frame: pd.DataFrame, model: object, signal: Signal, rng: np.random.Generator
) -> float:
    """Return the auROC, on new records, of the model fitted to all records."""
    full = fitted_to_all(frame, model)
    names = signal.population.names
    if full.coefficients is not None:
        slopes = np.asarray(full.coefficients[list(names)], dtype=np.float64)
        return signal.population.true_auroc(slopes)
    from statcv.metrics import auroc

    new = Signal(FRESH, signal.covariates, signal.balance, signal.auroc).sample(rng)
    return float(auroc(new["y"], np.asarray(full.predict(new))))


def run_cells(
    cells: Sequence[Cell],
    data_sets: int,
    *,
    directory: Directory,
    seed: int,
    n_jobs: int | None,
    progress: bool | None,
) -> pd.DataFrame:
    """Run the data sets of every cell, and summarise each estimate.

    Parameters
    ----------
    cells : sequence of Cell
    data_sets : int
        Number of data sets for each cell.
    directory, n_jobs, progress
        As in :func:`studies.running.run`.
    seed : int

    Returns
    -------
    pandas.DataFrame
        The cell, and the columns of :func:`summarise`.
    """
    seed = resolve_seed(seed)
    tables = [
        beside(
            cell,
            summarise(run_cell(cell, data_sets, directory, seed, n_jobs, progress)),
        )
        for cell in cells
    ]
    return pd.concat(tables, ignore_index=True)


def run_cell(
    cell: Cell,
    data_sets: int,
    directory: Directory,
    seed: int,
    n_jobs: int | None,
    progress: bool | None,
) -> pd.DataFrame:
    """Run the data sets of a cell; one row per data set and estimate."""
    settings = {**cell.columns, "estimates": list(cell.estimates), "seed": seed}
    measure = partial(cell.measure, seed)
    study = Study("cell", measure, settings, counts=COUNTS, chunk=CHUNK)
    return run(study, data_sets, within(directory, cell.name), n_jobs, progress)


def beside(cell: Cell, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the cell in its first columns."""
    for place, (name, value) in enumerate(cell.columns.items()):
        table.insert(place, name, value)
    return table


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean, spread and cost of every estimate over data sets.

    Returns
    -------
    pandas.DataFrame
        ``estimate``, ``data_sets``, the ``mean`` with its Monte Carlo error ``se``,
        the ``sd`` of a data set, the quantile ``q95``; ``bias``, ``bias_se`` and
        ``rmse`` against the truth where there is signal; ``fits`` and
        ``milliseconds``, the median.
    """
    rows = []
    for name, own in table.groupby("estimate", sort=False):
        found, count = own["auroc"], len(own)
        row = {
            "estimate": name,
            "data_sets": count,
            "mean": found.mean(),
            "se": found.std() / np.sqrt(count),
            "sd": found.std(),
            "q95": found.quantile(0.95),
        }
        if "truth" in own:
            error = found - own["truth"]
            row["truth"] = own["truth"].mean()
            row["bias"], row["bias_se"] = error.mean(), error.std() / np.sqrt(count)
            row["rmse"] = np.sqrt((error**2).mean())
        row["fits"] = own["fits"].median()
        row["milliseconds"] = 1000 * own["seconds"].median()
        rows.append(row)
    return pd.DataFrame(rows)
