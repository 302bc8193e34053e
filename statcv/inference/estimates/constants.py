"""The constants that the fits of a plan predict without predictors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from statcv import models
from statcv.engine import Held, Setup
from statcv.folds import FoldPlan
from statcv.inference.scores import Scores
from statcv.models.likelihood import Likelihood
from statcv.models.thresholds import RULES, Thresholded, best_thresholds
from statcv.numeric.arrays import Floats, Numbers

ROUNDING = 1e-9  # differences of predictions up to this are rounding error
SHARE, RECORDS = 0.05, 2000  # limits to the extra fits: their share, or their records


@dataclass(frozen=True, eq=False)
class Constants:
    """The constants that the fits predict without predictors.

    Attributes
    ----------
    by_split : numpy.ndarray, shape (splits,) or (splits, classes)
        The prediction of each split.
    overall : numpy.ndarray, shape () or (classes,)
        The prediction of a fit to all records.
    cuts : numpy.ndarray, shape (splits + 1,), or None
        The threshold of each split, and of the fit to all records.
    shifts : tuple of float
        Constants that are added one after the other, since a score of 0 favours neither
        class.
    own : bool
        Whether the model itself has no predictors, so that these are its predictions.
    offset : numpy.ndarray, shape (n,), or None
        What is added to the linear predictor of the constants for each record.
    likelihood : Likelihood or None
        What relates constants and linear predictors, with an offset.
    dispersion : numpy.ndarray, shape (splits + 1,), or None
        That of counts in each split, and in the fit to all records.
    """

    by_split: Floats
    overall: Floats
    cuts: Floats | None = None
    shifts: tuple[float, ...] = (0.0,)
    own: bool = False
    offset: Floats | None = None
    likelihood: Likelihood | None = None
    dispersion: Floats | None = None

    def at_no_skill(self, scores: Scores, shift: float) -> Scores:
        """Return the scores with the same prediction for all records."""
        alone = not self.overall.ndim and self.offset is None
        mean = float(self.overall if alone else scores.y.mean())
        shape = (len(scores.row), *self.overall.shape)
        constants = np.broadcast_to(self.overall + shift, shape)
        whole = np.full(shape[0], -1)  # the fit to all records is the last
        baseline = np.full(scores.n_splits, mean)
        return self._scored(scores, constants, whole, baseline=baseline)

    def under_folds(self, scores: Scores, shift: float) -> Scores:
        """Return the scores with the same prediction for all records of a split."""
        if self.own:
            return scores
        split = scores.split
        return self._scored(scores, (self.by_split + shift)[split], split)

    def _scored(
        self, scores: Scores, constants: Floats, fit: Numbers, **more: Floats
    ) -> Scores:
        """Return the scores with constants, and with what else these fits chose."""
        cuts, spread = scores.given_threshold, scores.of_training
        return scores.predicting(
            self._beside(constants, scores),
            threshold=cuts if self.cuts is None else self.cuts[fit],
            of_training=spread if self.dispersion is None else self.dispersion[fit],
            **more,
        )

    def _beside(self, constants: Floats, scores: Scores) -> Floats:
        if self.offset is None or self.likelihood is None:
            return constants
        # such as the logarithm of a rate plus that of the exposure
        eta = self.likelihood.link(constants).reshape(len(constants), -1)
        made = self.likelihood.mean(eta + self.offset[scores.row, None])
        return np.asarray(made.reshape(constants.shape))

    @cached_property
    def same(self) -> bool:
        """Whether all fits predict the same, so that the folds cause no bias."""
        if self.own:
            return False
        with np.errstate(invalid="ignore"):  # infinite decision values
            # equal constants in all folds cannot reveal the held-out outcome
            spread = np.ptp(self.by_split, axis=0).max()
        cuts = 0.0 if self.cuts is None else float(np.ptp(self.cuts[:-1]))
        return bool(spread <= ROUNDING and cuts <= ROUNDING)


def constants_of(setup: Setup, held: Held) -> Constants | None:
    """Return the constants that the fits of a plan predict without predictors.

    Parameters
    ----------
    setup : Setup
        The design, the plan and the model, with its class weights and threshold.
    held : Held
        The held-out predictions.

    Returns
    -------
    Constants or None
        None if no fit was trained on these records.
    """
    if not setup.plan.n_train.any():
        return None
    plan, model, y = setup.plan, setup.model, setup.design.y
    outcome, kind = setup.design.outcome, setup.design.outcome.kind
    if setup.design.offsets or outcome.estimates_dispersion or kind == "survival":
        return _of_regression(setup)
    scores = kind == "binary" and not held.probabilities
    if scores and (margins := _margins(setup)) is not None:
        by_fit, at_all = margins
        shifts = (0.0, 1e-6, -1e-6)
        return Constants(plan.fits.mean_by_split(by_fit), at_all, shifts=shifts)
    levels = range(len(outcome.levels))
    values = [y] if kind == "continuous" else [y == code for code in levels]
    # the weighted share of each class in every training set, and in all records
    weights = np.ones(plan.n)
    # classes always weigh the same in rebalanced training sets
    if setup.weights is not None and not plan.rebalanced:
        weights = setup.weights
    total = plan.training_means(weights)
    shares = [plan.training_means(weights * one) / total for one in values]
    of_all = [np.average(one, weights=weights) for one in values]
    table = np.vstack([np.array(shares).T, of_all])
    predicted = models.predicted_without(model, table)
    overall = predicted[-1]
    cuts = None
    if isinstance(model, Thresholded):
        # one record per class, weighted by its share, stands for a training set
        classes = np.tile([0, 1], (len(table), 1))
        both = np.column_stack([predicted, predicted])
        chosen = best_thresholds(RULES[model.rule], classes, both, table)
        cuts = np.append(plan.fits.mean_by_split(chosen[:-1]), chosen[-1])
    by_split = plan.fits.mean_by_split(predicted[:-1])
    own = predicted.ndim == 1 and not model.capabilities.uses_predictors
    if own and (fitted := models.fitted_to_constant(model, setup.records)) is not None:
        overall = np.asarray(fitted)
    return Constants(by_split, np.asarray(overall), cuts, own=own)


def _of_regression(setup: Setup) -> Constants:
    """Return what every fit predicts without predictors where the offset is 0."""
    plan, records, able = setup.plan, setup.records, setup.model.capabilities
    model = models.bare_regression(setup.model, records.kind)
    bare = models.bare_records(records)
    fitted = model.fit_folds(bare, replace(setup.folds, matrices=None))
    origin = np.zeros((plan.n_fits, bare.X.shape[1]))
    origin[:, bare.intercept] = 1.0
    by_fit, whole = fitted.at(origin, np.arange(plan.n_fits)), model.fit(bare)
    dispersion = None
    if fitted.linear is not None and fitted.linear.dispersion is not None:
        spread = plan.fits.mean_by_split(fitted.linear.dispersion)
        dispersion = np.append(spread, whole.linear.dispersion)
    offset = bare.X[:, list(bare.offsets)].sum(axis=1)
    made = plan.fits.mean_by_split(by_fit), whole.predict(origin[:1])[0]
    found = Constants(*made, own=not able.uses_predictors, dispersion=dispersion)
    known = offset if bare.offsets else None
    return replace(found, offset=known, likelihood=model.capabilities.likelihood)


def _margins(setup: Setup) -> tuple[Floats, Floats] | None:
    """Return the decision values of fits to a constant, one per class composition.

    They are None if the estimator cannot be fitted to a constant, or if the fits would
    take too long. This is judged by their number and size, not by the clock, so that
    the same call always gives the same warnings.
    """
    plan, y = setup.plan, setup.design.y
    if setup.weights is not None or plan.weighting is not None:
        return None
    # training sets with the same class counts have the same constant
    counts, _ = plan.counts(y, 2)
    kinds, first, of = np.unique(counts, axis=0, return_index=True, return_inverse=True)
    fits = len(kinds) + 1
    if fits > SHARE * plan.n_fits and fits * plan.n > RECORDS:
        return None
    found = [
        models.fitted_to_constant(setup.model, _training(setup, plan, f)) for f in first
    ]
    found.append(models.fitted_to_constant(setup.model, setup.records))
    if any(value is None for value in found):
        return None
    values = np.array(found, dtype=float)
    return values[of.ravel()], values[-1]


def _training(setup: Setup, plan: FoldPlan, fit: int) -> models.TrainingSet:
    records, rows = setup.records, plan.train(int(fit))
    return replace(records, X=records.X[rows], y=records.y[rows], weights=None)
