"""The strata of several sites, joined into those of their stacked records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from statcv.errors import SchemeError
from statcv.folds.strata.clusters import Strata
from statcv.folds.strata.read_back import HASH, QUANTILE, VALUE, unknown_cut
from statcv.folds.strata.resolve import HashCut

_ADVICE = {
    QUANTILE: "let all sites use the thresholds, or the stratifier, of one plan",
    HASH: "balanced=True makes thresholds of a site's own records, so leave it out",
}


def joined_strata(parts: Mapping[str, Strata]) -> Strata:
    """Join the strata, which never hold records of different sites.

    Parameters
    ----------
    parts : mapping of str to Strata
        The strata of each site, all of one stratifier.

    Raises
    ------
    SchemeError
        If keys, thresholds or the allocation of bins to folds differ.
    """
    _check_bins(parts)
    strata = list(parts.values())
    known = [part for part in strata if _trace(part) is not None]
    if len({_trace(part) for part in known}) > 1:
        raise SchemeError(
            f"plans that are joined must have the same key: by_hash({known[0].label}) "
            "was made with different ones, so that equal identifiers lie in different "
            "folds."
        )
    first = (known or strata)[0]
    offsets = np.cumsum([0, *(part.count for part in strata)])
    codes = [part.codes + at for part, at in zip(strata, offsets, strict=False)]
    bins = [part.bins for part in strata if part.bins is not None]
    joined = replace(
        first,
        codes=np.concatenate(codes),
        count=int(offsets[-1]),
        bins=np.concatenate(bins) if len(bins) == len(strata) else None,
        by_site=len(strata) > 1,
    )
    if first.made_by == VALUE and first.cuts:
        return replace(joined, cuts=(unknown_cut(joined),) * len(first.cuts), folds=())
    return joined


def _trace(strata: Strata) -> str | None:
    """Return the trace that distinguishes keys, if it is known."""
    cut = strata.cuts[0] if strata.cuts else None
    return cut.trace if isinstance(cut, HashCut) else None


def _check_bins(parts: Mapping[str, Strata]) -> None:
    """Refuse sites that cut at other thresholds, or allocate bins otherwise."""
    (first, reference), *others = (
        (site, _fold_of_bin(part)) for site, part in parts.items()
    )
    for site, own in others:
        for key in dict.fromkeys([*reference, *own]):
            repeat, text = key
            if key in own and key in reference:
                if own[key] == reference[key]:
                    continue
                what = (
                    f"the bin {text} of {parts[site].label} lies in fold "
                    f"{reference[key]} at site {first!r} and in fold {own[key]} at "
                    f"{site!r} (repeat {repeat})"
                )
            else:
                here = first if key in reference else site
                what = f"the bin {text} of {parts[site].label} is only at site {here!r}"
            raise SchemeError(
                f"plans that are joined must have the same thresholds and folds: {what}"
                f"; {_ADVICE.get(parts[site].made_by, _ADVICE[QUANTILE])}."
            )


def _fold_of_bin(strata: Strata) -> dict[tuple[int, str], Any]:
    """Return the name of the fold of each repeat and bin; nothing without bins."""
    if strata.bins is None:
        return {}
    texts = strata.cuts[0].bins
    return {
        (repeat, text): names[fold]
        for repeat, (names, folds) in enumerate(
            zip(strata.labels, strata.folds, strict=True), start=1
        )
        for text, fold in zip(texts, folds.tolist(), strict=True)
    }
