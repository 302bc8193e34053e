"""Caveats of a comparison: what differs between two results apart from the models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from statcv.folds.audit import BIASED
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.readable import Readable
from statcv.words import plural

Floats = NDArray[np.float64]
SCHEMES_DIFFER = "tests the schemes, not the models: only the scheme differs"
DRAWS_DIFFER = "tests two draws of one scheme: only the folds differ"
CLUSTERS_DIFFER = "tests how folds are made, not the models: {} against {}"
EXTERNAL_DIFFERS = "one is an external validation, the other a cross-validation"
FOLDS_DIFFER = "the folds differ too, which contributes to the difference"


def same_folds(a: Readable, b: Readable) -> bool:
    """Return whether two results hold out and drop the same records in every fold."""
    alike = a.design.labels.equals(b.design.labels)
    return alike and a.plan.fingerprint == b.plan.fingerprint


def caveat(a: Readable, b: Readable) -> str:
    """Say what differs between two results apart from the models."""
    if same_folds(a, b):
        return ""
    if a.scores.external != b.scores.external:
        return EXTERNAL_DIFFERS
    if _models_differ(a, b):
        return FOLDS_DIFFER
    if a.plan.scheme != b.plan.scheme:
        return SCHEMES_DIFFER
    kinds = [_clusters_of(result) for result in (a, b)]
    return CLUSTERS_DIFFER.format(*kinds) if kinds[0] != kinds[1] else DRAWS_DIFFER


def _clusters_of(result: Readable) -> str:
    strata = result.plan.strata
    return "records at random" if strata is None else f"equal {strata.label} together"


def _models_differ(a: Readable, b: Readable) -> bool:
    """Return whether the models or their data differ."""
    return (
        a.learner.label != b.learner.label
        or a.design.names != b.design.names
        or not np.array_equal(a.design.matrix, b.design.matrix, equal_nan=True)
        or not np.array_equal(_weights(a), _weights(b))
    )


def _weights(result: Readable) -> Floats:
    return np.ones(result.design.n) if result.weights is None else result.weights


def pooling_caveat(a: Readable, b: Readable) -> str:
    """Say that pooling is biased if it is, for tests of pooled predictions."""
    worst = max((a, b), key=lambda r: abs(r.mean_model_auroc - 0.5))
    if not abs(worst.mean_model_auroc - 0.5) > BIASED:
        return ""
    return (
        "pooled over folds whose training means reveal the labels: the training mean "
        f"alone has auROC {worst.mean_model_auroc:.3f} under {worst.plan.scheme}"
    )


def headline_caveat(headlines: Mapping[str, str], how: str) -> str:
    """Say which results have a headline that is computed in another way than ``how``.

    Parameters
    ----------
    headlines : mapping of str to str
        How the headline of each result is computed, by its name.
    how : str
        How the estimates that are compared are computed.
    """
    named: dict[str, list[str]] = {}
    for name, headline in headlines.items():
        if headline != how.partition(",")[0]:
            named.setdefault(headline.replace("_", " "), []).append(name)
    if not named:
        return ""
    said = [f"{way} for {' and '.join(names)}" for way, names in named.items()]
    compared = how.replace("_", " ")
    return f"compared {compared}, while the headline is {' and '.join(said)}"


def undefined_caveats(estimates: Mapping[str, Estimate]) -> list[str]:
    """Say in how many folds or repeats the estimate of a result has no value."""
    units = {"per_fold": "fold"}
    return [
        f"{found.label} has no value in {found.n_undefined} of "
        f"{plural(found.n_values, units.get(found.how, 'repeat'))} for {name}"
        for name, found in estimates.items()
        if 0 < found.n_undefined < found.n_values
    ]
