"""The likelihood-ratio test of terms that one of two nested models adds.

It is a test of association within all rows, beside the difference in performance on
held-out records, which is another question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.inference.paired.nested import nesting
from statcv.models.batched import strata_shares
from statcv.models.imputation import Imputed
from statcv.models.likelihood import Bernoulli, CumulativeLogit, Gaussian, Hazards
from statcv.models.selection import selection_in
from statcv.results.wording.phrases import noted
from statcv.tables import wrapped
from statcv.words import p_in_words

if TYPE_CHECKING:
    from statcv.results.result import CVResult


@dataclass(frozen=True)
class LikelihoodRatio:
    """A likelihood-ratio test of the terms that the larger of two models adds.

    Attributes
    ----------
    smaller, larger : str
        The names of the two results.
    statistic : float
        Twice the difference of the maximised log-likelihoods of all rows.
    df : int
        The number of coefficients that are added.
    p_value : float
        By the chi-squared distribution.
    """

    smaller: str
    larger: str
    statistic: float
    df: int
    p_value: float

    def __repr__(self) -> str:
        return "\n".join(wrapped(self.sentence))

    @property
    def sentence(self) -> str:
        """The test in words."""
        p = p_in_words(self.p_value)
        said = noted("likelihood ratio", test=self, p=p)
        return f"{said} {noted('another question')}"


def likelihood_ratio(
    first: CVResult, second: CVResult, names: tuple[str, str]
) -> LikelihoodRatio | None:
    """Return the test if one model is nested in the other; None if it does not apply.

    It applies to models that maximise the same likelihood of independent records, of
    two classes, ordered classes, normal, or times to an event, without a penalty.

    Parameters
    ----------
    first, second : CVResult
        Results for the same records.
    names : tuple of str
    """
    from scipy.special import chdtrc

    both, own = (first, second), _likelihood(first)
    known = own in (Bernoulli(), Gaussian()) or isinstance(own, Hazards)
    known &= first.scores.n_classes <= 2
    if not (known or own == CumulativeLogit()):
        return None
    if any(map(why_no_likelihood, both)):
        return None
    nested = nesting(first, second)
    if nested is None:
        return None
    less, df = nested
    more = 1 - less
    statistic = 2 * (_log_likelihood(both[more]) - _log_likelihood(both[less]))
    p = float(chdtrc(df, max(statistic, 0.0)))
    return LikelihoodRatio(names[less], names[more], float(statistic), df, p)


def _likelihood(result: CVResult) -> Any:
    return result.learner.capabilities.likelihood


def why_no_likelihood(result: CVResult, independent: bool = True) -> str:
    """Return why the fit to all rows maximises no likelihood, without a penalty.

    The text is empty if it does.

    Parameters
    ----------
    result : CVResult
    independent : bool, default True
        Whether records must be independent, so that clusters are a reason.
    """
    if isinstance(result.learner, Imputed):
        return "values were imputed; pool() of imputed data sets has standard errors"
    if selection_in(result.learner) is not None:
        return "the terms were chosen on the same records"
    sensitivity = result.scores.sensitivity
    if _likelihood(result) is None or sensitivity is None:
        return f"{result.learner.label} does not maximise a likelihood that is known"
    if result.weights is not None:
        return "the records are weighted"
    if independent and result.scores.clusters is not None:
        return "the records of a cluster are dependent"
    fits = sensitivity.fits
    if fits.basis is not None:
        return "coefficients of another model are updated"
    if fits.class_weights is not None:
        return "the model weights the classes"
    if fits.filled is not None and not result.design.is_finite:
        return "missing values are filled in"
    penalty = fits.penalty
    unpenalised = (penalty[np.isfinite(penalty)] == 0).all()
    if not unpenalised or _likelihood(result) == Bernoulli(firth=True):
        return "the model is penalised"
    fit = result.refits.all_rows
    if fit.separated:
        return "the classes are separated"
    return "" if fit.converged else "the fit to all rows did not converge"


def _log_likelihood(result: CVResult) -> float:
    """Return the log-likelihood of all rows, maximised over a common variance.

    Of times to an event it is the partial likelihood.
    """
    y, predicted = result.design.y, result.refits.fitted
    if isinstance(own := _likelihood(result), Hazards):
        design = result.design
        shares = strata_shares(design.matrix, design.names)
        return own.of_all(y, predicted[:, 0], shares)
    if _likelihood(result) == Gaussian():
        return float(-len(y) / 2 * np.log(np.mean((y - predicted) ** 2)))
    if predicted.ndim > 1:
        return float(np.log(predicted[np.arange(len(y)), y]).sum())
    return float(np.log(np.where(y == 1, predicted, 1 - predicted)).sum())
