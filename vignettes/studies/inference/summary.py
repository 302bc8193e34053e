"""Make a tidy table of the files of the study: shares and means over data sets."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import CheckpointError
from studies.inference.questions import QUESTIONS
from studies.running import parts_of, read_part, unreadable

Floats = NDArray[np.float64]
ALPHA = 0.05
FIRST = "no_skill"  # the question of files that do not name one


def study_table(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the results of a study so far.

    Parameters
    ----------
    directory : str or path
        Directory of :func:`studies.inference.run_study`.

    Returns
    -------
    pandas.DataFrame
        One row per cell and method:

        ``question``
            What was asked: ``"no_skill"``, ``"equals"``, ``"losses"``, ``"nested"``,
            as in :func:`~studies.inference.run_study`. For two models the other
            columns are of their difference, the second minus the first.
        ``n``, ``balance``, ``auroc``, ``duplicates``, ``scheme``
            The cell; ``auroc`` is that of the best possible score.
        ``metric``, ``how``, ``method``, ``kind``
            What was estimated, and an interval, a test or an estimate alone.
        ``data_sets``, ``missing``
            Number of data sets on which it was tried, and the share without a result.
        ``truth``, ``estimate``, ``estimate_sd``, ``estimate_median``
            The mean true value of the model fitted to all records; mean, standard
            deviation and median of the estimates.
        ``covers``, ``covers_se``, ``covers_mean``, ``covers_mean_se``
            Share of intervals that cover the true value of the model fitted to those
            very records, and that cover the mean true value, with Monte Carlo standard
            errors.
        ``excludes``, ``excludes_se``
            Share of intervals without 0.5, for two models without 0; NaN for losses.
        ``rejects``, ``rejects_se``
            Share of p-values of at most .05. Against no skill they are one-sided, and
            this is the size of the test where ``auroc`` is 0.5, else its power. Of two
            models they are two-sided: the size where these are equally good.
        ``width``, ``seconds``
            Mean width, and seconds per data set.

        Shares are of the data sets with a result.

    Raises
    ------
    CheckpointError
        If the directory holds no part of a study, or one that cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from studies.inference import run_study
    >>> cell = {"n": [30], "balances": [0.5], "auroc": [0.5], "duplicates": [False]}
    >>> asked = {"schemes": ["loocv"], "questions": ["no_skill"], "refits": 0}
    >>> with TemporaryDirectory() as directory:
    ...     made = run_study(4, **cell, **asked, directory=directory)
    ...     made.equals(study_table(directory))
    True
    """
    cells: dict[str, list[Path]] = defaultdict(list)
    for file, _ in parts_of(Path(directory)):
        cells[file.name.rsplit("-", 2)[0]].append(file)
    if not cells:
        raise CheckpointError(f"{os.fspath(directory)} holds no part of a study.")
    rows = [row for files in cells.values() for row in _rows(files)]
    asked = list(QUESTIONS)
    rows.sort(
        key=lambda row: (
            asked.index(row["question"]),
            *(row[name] for name in ("duplicates", "n", "balance", "auroc")),
        )
    )
    return pd.DataFrame(rows)


def _rows(files: list[Path]) -> list[dict[str, Any]]:
    parts = [_load(file) for file in files]
    about = parts[0]["about"]
    made = np.concatenate([part["made"] for part in parts], axis=1)
    values = np.concatenate([part["values"] for part in parts], axis=1)
    seconds = np.concatenate([part["seconds"] for part in parts], axis=1)
    truth = np.concatenate([part["truth"] for part in parts])
    cell = {"question": FIRST} | {key: about[key] for key in about if key != "methods"}
    question = QUESTIONS[cell["question"]]
    rows = []
    for row, (metric, how, name, kind) in enumerate(about["methods"]):
        tried = made[row]
        if not tried.any():
            continue
        named = {"metric": metric, "how": how, "method": name, "kind": kind}
        target = truth[:, question.targets.index(metric)]
        found = _summary(
            kind,
            values[row, tried],
            target[tried],
            _mean(target[~np.isnan(target)]),
            question.null,
        )
        found["seconds"] = float(seconds[row, tried].mean())
        rows.append(cell | named | found)
    return rows


def _load(file: Path) -> dict[str, Any]:
    arrays = read_part(file)
    try:
        return arrays | {"about": json.loads(str(arrays["about"]))}
    except (ValueError, KeyError):
        raise unreadable(file) from None


def _summary(
    kind: str, values: Floats, truth: Floats, mean: float, null: float
) -> dict[str, Any]:
    """Return the shares and means of one method over data sets."""
    estimate, lower, upper, p = values.T
    answered = {"interval": lower, "test": p, "estimate": estimate}[kind]
    known, there = ~np.isnan(answered), ~np.isnan(estimate)
    found: dict[str, Any] = {
        "data_sets": len(values),
        "missing": float(1 - known.mean()),
        "truth": mean,
        "estimate": _mean(estimate[there]),
        "estimate_sd": float(estimate[there].std(ddof=1))
        if there.sum() > 1
        else np.nan,
        "estimate_median": float(np.median(estimate[there])) if there.any() else np.nan,
    }
    bounded = ~np.isnan(lower)
    low, high = lower[bounded], upper[bounded]
    inside = (low <= truth[bounded]) & (truth[bounded] <= high)
    found |= share("covers", inside)
    found |= share("covers_mean", (low <= mean) & (mean <= high))
    excluded = (low > null) | (high < null)
    found |= share("excludes", excluded[: 0 if np.isnan(null) else None])
    found |= share("rejects", p[~np.isnan(p)] <= ALPHA + 1e-12)
    return found | {"width": _mean(high - low)}


def share(name: str, held: NDArray[np.bool_]) -> dict[str, float]:
    """Return a share and its Monte Carlo standard error.

    The error is that of (count + 1) / (cases + 2), which is not 0 if all or no cases
    count.
    """
    if not len(held):
        return {name: np.nan, f"{name}_se": np.nan}
    near = (held.sum() + 1) / (len(held) + 2)
    error = float(np.sqrt(near * (1 - near) / len(held)))
    return {name: float(held.mean()), f"{name}_se": error}


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else np.nan
