"""Cells of a simulation: a population, a model, and the estimates that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from statcv.arguments import resolve_seed
from statcv.studies.austin2024.estimates import estimates_of, fitted_to_all
from statcv.studies.austin2024.learners import learner_of
from statcv.studies.austin2024.samples import Noise, Signal, stream_of
from statcv.studies.running import Directory, Study, run

CHUNK = 25  # data sets of a file
FRESH = 20_000  # records on which a model is tried whose truth has no closed form
COUNTS = "data_set"


@dataclass(frozen=True)
class Cell:
    """A population, a model by name, and which estimates are made.

    No two cells share a data set, so that their errors are independent.
    """

    population: Noise | Signal
    model: str
    estimates: tuple[str, ...]

    @property
    def told(self) -> dict[str, Any]:
        """What distinguishes the cell from others."""
        return {**asdict(self.population), "model": self.model}

    @property
    def name(self) -> str:
        """Prefix of its file names."""
        return "-".join(
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in self.told.values()
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
) -> pd.DataFrame:
    """Run the data sets of every cell, and summarise each estimate.

    Parameters
    ----------
    cells : sequence of Cell
    data_sets : int
        Number of data sets for each cell.
    directory, n_jobs
        As in :func:`statcv.studies.running.run`.
    seed : int

    Returns
    -------
    pandas.DataFrame
        The cell, and the columns of :func:`told`.
    """
    seed = resolve_seed(seed)
    tables = [
        beside(cell, told(run_cell(cell, data_sets, directory, seed, n_jobs)))
        for cell in cells
    ]
    return pd.concat(tables, ignore_index=True)


def run_cell(
    cell: Cell, data_sets: int, directory: Directory, seed: int, n_jobs: int | None
) -> pd.DataFrame:
    """Run the data sets of a cell; one row per data set and estimate."""
    own = None if directory is None else Path(directory) / cell.name
    said = {**cell.told, "estimates": list(cell.estimates), "seed": seed}
    measure = partial(cell.measure, seed)
    study = Study("cell", measure, said, counts=COUNTS, chunk=CHUNK)
    return run(study, data_sets, own, n_jobs)


def beside(cell: Cell, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the cell in its first columns."""
    for place, (name, value) in enumerate(cell.told.items()):
        table.insert(place, name, value)
    return table


def told(table: pd.DataFrame) -> pd.DataFrame:
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
