"""Proportional-odds regression of ordered classes, of all training sets together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from statcv.errors import ModelError
from statcv.models import base
from statcv.models.base import Capabilities, PlainFit, TrainingSet
from statcv.models.batched.cumulative import fit_cumulative
from statcv.models.batched.fits import FittedFolds, FoldFits, only_fit
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.likelihood import CumulativeLogit
from statcv.models.offsets import WHOLE
from statcv.numeric.arrays import Floats
from statcv.tables import Constructed


@dataclass(frozen=True, repr=False)
class ProportionalOdds(Constructed):
    """Proportional-odds regression of ordered classes, as R's ``polr`` and ``orm``.

    The log-odds of a given class or a higher one are a cut point plus a linear
    predictor that all classes share. Signs are those of ``rms::orm``; the cut points of
    ``MASS::polr`` are minus these. Predictions are the probabilities of all classes.

    Parameters
    ----------
    C : float, optional
        Inverse strength of a ridge penalty: the objective is ``C × negative
        log-likelihood + ½ Σ β²``, without the cut points. None, the default, means no
        penalty.

    Examples
    --------
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    >>> y, names = np.array([0, 1, 0, 2, 1, 2]), ("Intercept", "x")
    >>> data = TrainingSet(X, y, "multiclass", 3, names, 0, None, 0)
    >>> fit = ProportionalOdds().fit(data)
    >>> {name: round(value, 3) for name, value in fit.coefficients.items()}
    {'Intercept[>=1]': -1.447, 'Intercept[>=2]': -3.851, 'x': 1.06}

    References
    ----------
    McCullagh (1980), Journal of the Royal Statistical Society B 42:109.
    """

    C: float | None = None
    ordered = True

    def __post_init__(self) -> None:
        if self.C is not None:
            base.check_strength(self.C)

    @property
    def label(self) -> str:
        """How print and summary call it."""
        if not self.penalised:
            return "proportional-odds regression"
        return f"ridge proportional-odds regression, C = {self.C:g}"

    @property
    def penalised(self) -> bool:
        """Whether there is a penalty on the size of coefficients."""
        return self.C is not None and bool(np.isfinite(self.C))

    @property
    def capabilities(self) -> Capabilities:
        """A ridge determines the coefficients of dependent columns too."""
        return Capabilities(
            fits_together=True,
            needs_full_rank=not self.penalised,
            likelihood=CumulativeLogit(),
        )

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that does not have several classes."""
        if kind == "binary":
            raise ModelError(
                "proportional odds need three or more ordered classes, and there are "
                "two; model='logit' is the same model for these."
            )
        base.refuse_kind("proportional-odds regression", kind, ("multiclass",))

    def ridge(self, training: TrainingSet) -> Floats:
        """Return the strength of the penalty on each column, shape (p,)."""
        columns = np.arange(training.X.shape[1])
        return np.where(columns == training.intercept, 0.0, 1 / (self.C or np.inf))

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        fitted = self.fit_folds(training, WHOLE)
        assert fitted is not None and fitted.linear is not None
        found = np.asarray(fitted.coefficients)[0].tolist()
        predict = partial(
            base.means_at, CumulativeLogit().mean, fitted.linear.coefficients[0]
        )
        return only_fit(fitted, predict, found)

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        self.check(records.kind)
        base.refuse_missing(records, "proportional-odds regression")
        if folds.matrices is not None:
            return None
        (n, p), place, classes = records.X.shape, records.intercept, records.n_classes
        if place is None:
            raise ModelError(
                "proportional odds have cut points, which are intercepts; leave out "
                "'- 1' or '0 +' of the formula."
            )
        others, ridge = np.delete(np.arange(p), place), self.ridge(records)
        X, fits = records.X[:, others], FoldFits.empty(len(folds), classes - 1 + p)
        for block in folds.blocks(n, p, each=(n + p + classes) * (p + classes)):
            some, weights = block.fits, folds.weights_in(records, block.fits)
            y = records.y if block.outcome is None else records.y[block.outcome]
            y = np.broadcast_to(y.astype(np.intp), weights.shape)
            made = fit_cumulative(X, y, weights, classes, ridge[others])
            fits.coefficients[some, : classes - 1] = made[0]
            fits.coefficients[some[:, None], classes - 1 + others] = made[1]
            fits.converged[some], fits.separated[some] = made[2:]
        return fitted_odds(fits, records, folds, ridge)


def fitted_odds(
    fits: FoldFits, records: TrainingSet, folds: Folds, ridge: Floats
) -> FittedFolds:
    """Return fits that predict by cut points and slopes.

    Coefficients are the cut points, and the slopes of all columns of the matrix.
    """
    place, cuts = records.intercept, records.n_classes - 1
    assert place is not None
    levels, slopes = np.split(fits.coefficients, [cuts], axis=1)
    beta = np.tile(slopes[:, None], (1, cuts, 1))
    beta[:, :, place] = levels
    mean = CumulativeLogit().mean
    fitted = by_linear_predictor(fits, records, folds, mean, ridge, beta)
    # infinite cut points say that a class is not met
    known, others = np.isfinite(levels), np.delete(np.arange(slopes.shape[1]), place)
    first = [f"{records.names[place]}[>={k}]" for k in range(1, cuts + 1)]
    return replace(
        fitted,
        coefficients=np.column_stack(
            [np.where(known, levels, np.nan), slopes[:, others]]
        ),
        names=(*first, *(records.names[j] for j in others)),
    )
