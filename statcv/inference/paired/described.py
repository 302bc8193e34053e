"""What distinguishes results that are compared, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from statcv.inference.readable import Readable


def in_words(results: Mapping[str, Readable]) -> list[tuple[str, str]]:
    """Describe each result by the aspects in which they differ.

    A result whose name already says so gets no description.
    """
    aspects = differences(
        [*results.values()], [r.plan.sentence for r in results.values()]
    )
    texts = ["; ".join(parts) for parts in zip(*aspects, strict=True)]
    return [pair for pair in zip(results, texts, strict=True) if pair[0] != pair[1]]


def differences(
    results: Sequence[Readable], schemes: Sequence[str]
) -> list[Sequence[str]]:
    """Return the aspects in which results differ.

    Seeds count only if nothing else differs and every result can be refitted;
    predictions from other software do not depend on a seed.
    """
    aspects: list[Sequence[str]] = [
        schemes,
        [r.learner.label for r in results],
        [r.design.formula.text for r in results],
        ["unweighted" if r.weights is None else "weighted" for r in results],
    ]
    differing = [texts for texts in aspects if len(set(texts)) > 1]
    if not differing and all(r.learner.capabilities.refits for r in results):
        return [[f"seed {r.seed}" for r in results]]
    return differing or [[r.learner.label for r in results]]
