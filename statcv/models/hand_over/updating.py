"""Updating and stacking of models that were fitted elsewhere, to be cross-validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from statcv.arguments import is_number, one_of
from statcv.errors import ModelError
from statcv.models.base import (
    Capabilities,
    PlainFit,
    TrainingSet,
    refuse_kind,
    refuse_missing,
)
from statcv.models.hand_over.updates import STRENGTHS, Updates
from statcv.models.likelihood import Bernoulli, Gaussian, Likelihood
from statcv.models.one_predictor import has_one_class
from statcv.words import listed

UPDATE_METHODS = {
    "none": "left as it is",
    "intercept": "intercept updated",
    "slope": "intercept and slope updated",
    "refit": "all coefficients refitted",
    "shrink": "refitted with shrinkage towards the old coefficients",
    "closed_test": "updated by closed testing",
}
# strengths to choose from, as multiples of the information of a standardised column
LIKELIHOODS: Mapping[str, Likelihood] = {
    "binary": Bernoulli(),
    "continuous": Gaussian(),
}
KINDS = (*LIKELIHOODS, "survival")


def said_update(method: str, kind: str | None) -> str:
    """Return what a method updates, in words."""
    said = UPDATE_METHODS[method]
    return said.replace("intercept", "baseline hazard") if kind == "survival" else said


@dataclass(frozen=True)
class Updating:
    """A regression that was fitted elsewhere, updated on the training set.

    Attributes
    ----------
    old : mapping of str to float
        The coefficient of each column of the design, ``Intercept`` included.
    method : str, default "closed_test"
        ``"none"``, ``"intercept"``, ``"slope"`` (with the intercept), ``"refit"``,
        ``"shrink"`` (a ridge on the differences from the old coefficients, of columns
        divided by their standard deviation), or ``"closed_test"``: refitting is tested
        against no update, a new intercept, and a new intercept and slope, in this
        order, and the first that is not rejected is chosen.
    strength : float, optional
        The strength of the ridge; unless given, each training set has the one of the
        least AIC, with effective degrees of freedom.
    level : float, default 0.05
        The significance level of closed testing.
    kind : {"binary", "continuous"}, optional
        The kind of outcome. Intervals take account of the variation of the fits, with
        the chosen method or strength as given, only if it is given.
    baseline : tuple of float, optional
        The old probabilities of no event by each horizon at a linear predictor of 0,
        for a Cox regression. Its baseline hazard is updated where others have a new
        intercept, and refitting is tested by the partial likelihood.

    Examples
    --------
    >>> import statcv as scv
    >>> old = {"Intercept": -10.0, "GPA": 2.5, "PSI": 2.0}
    >>> model = scv.models.Updating(old, "intercept")
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), model=model, k=4)
    >>> res.coefficients["GPA"].tolist()
    [2.5, 2.5, 2.5, 2.5]

    References
    ----------
    Vergouwe, Nieboer, Oostenbrink et al. (2017), Statistics in Medicine 36:4529;
    Steyerberg, Borsboom, van Houwelingen et al. (2004), Statistics in Medicine 23:2567.
    """

    old: Mapping[str, float]
    method: str = "closed_test"
    strength: float | None = None
    level: float = 0.05
    kind: str | None = None
    baseline: tuple[float, ...] = ()

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, and what it needs."""
        tried = {"closed_test": 4, "shrink": len(STRENGTHS)}
        return Capabilities(
            likelihood=LIKELIHOODS.get(self.kind or ""),
            fits_per_training_set=1 if self.strength else tried.get(self.method, 1),
        )

    def __post_init__(self) -> None:
        one_of(self.method, UPDATE_METHODS, "method")
        if self.kind is not None:
            one_of(self.kind, KINDS, "kind", ModelError)
        if self.strength is not None and self.method != "shrink":
            raise ModelError(f"strength= is for method='shrink', not {self.method!r}.")
        if not (
            self.strength is None or (is_number(self.strength) and self.strength > 0)
        ):
            raise ModelError(f"strength must be above 0, not {self.strength!r}.")
        if not (is_number(self.level) and 0 < self.level < 1):
            raise ModelError(f"level must lie between 0 and 1, not {self.level!r}.")

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"an older model, {said_update(self.method, self.kind)}"

    def check(self, kind: str) -> None:
        """Raise ModelError for more than two classes."""
        refuse_kind("updating", kind, (self.kind,) if self.kind else KINDS)

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        updates = self.updates(training)
        if has_one_class(training):  # nothing can be learnt
            return updates.fit_of("none", updates.old)
        method = self.method
        if method == "closed_test":
            tests = updates.tests()
            kept = (one.against for one in tests if not one.p_value < self.level)
            method = next(kept, "refit")
        return updates.made(method, self.strength)

    def updates(self, training: TrainingSet) -> Updates:
        """Return the updates of a training set.

        Raises
        ------
        ModelError
            If a column has no old coefficient, or there is no intercept.
        """
        self.check(training.kind)
        refuse_missing(training, "updating")
        lacking = [name for name in training.names if name not in self.old]
        spare = [name for name in self.old if name not in training.names]
        if lacking or spare or training.intercept is None:
            raise ModelError(
                "updating needs one old coefficient of each column of the design: "
                f"{listed([*training.names])}, an intercept among them; old= has "
                f"{listed([*self.old])}."
            )
        old = np.array([self.old[one] for one in training.names])
        return Updates(training, old, self.baseline)
