"""How far predictions move with the sample to which the model is fitted.

Models of bootstrap samples, or of the training sets of the folds, predict every record,
and are compared with the final model (Riley & Collins 2023).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from statcv import arguments, errors
from statcv.engine import Setup, progress_bar, run_everywhere
from statcv.formula import Design
from statcv.inference.estimates.groups import group_name, groups_of
from statcv.inference.refits.refitting import warn_of_refits
from statcv.inference.refits.resampling import Resampling, Samples
from statcv.metrics import METRICS, calibration_curve, net_benefit
from statcv.metrics.classification.classwise import predicted_as
from statcv.metrics.survival.curves import RisksBy
from statcv.models import predictable
from statcv.models.imputation import Imputed
from statcv.numeric.arrays import Array, ArrayLike, Floats
from statcv.plots.base import horizon_of
from statcv.results.refits import Running, warn_of_fits
from statcv.results.wording.phrases import note, phrase
from statcv.tables import Table
from statcv.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.plots.stability import Kind
    from statcv.results.result import CVResult


def of_folds(setup: Setup, fits: int, running: Running) -> tuple[Floats, int]:
    """Return what fits of folds predict for all records, and how many failed."""
    chosen = np.linspace(0, len(setup.folds) - 1, fits).round().astype(np.intp)
    with progress_bar(fits, running.progress, "fit") as bar:
        folds = setup.folds.chosen(chosen)
        made = run_everywhere(setup, folds, running.n_jobs, bar)
    return made.predicted, made.failed


def bootstrapped(
    setup: Setup, n_boot: int, running: Running, design: Design | None = None
) -> tuple[Floats, int]:
    """Return what bootstrap models predict for all records, and how many failed.

    With a design that has further rows, these are predicted as well.
    """
    study = Samples((), False, None, running.seed, n_boot)
    resampling = Resampling(setup, study)
    times, _ = resampling.samples(range(n_boot))
    with progress_bar(n_boot, running.progress, "fit") as bar:
        given = times, np.arange(n_boot), running.n_jobs, bar, design
        made = [one.predicted for _, one in resampling.fits(*given)]
    missing = n_boot - sum(map(len, made))
    said = f"{missing} of {n_boot} bootstrap samples have too few records of a class."
    if not made:
        raise errors.FitError(said)
    if missing and design is None:  # the same models gave the warning before
        errors.warn(said, errors.StatcvWarning)
    return np.concatenate(made), resampling.failed


LEAST_BOOT = 20  # bootstrap samples of which percentiles are computed
MOST_FOLDS = 1000  # fits of folds that are made, evenly chosen among them
POINTS = 50  # points of a curve
UNCUT = METRICS["brier"]  # reads no thresholds, which are not needed


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """The predictions of many models for each record, beside those of the final model.

    Attributes
    ----------
    result : CVResult
    predicted : numpy.ndarray, shape (models, n) or (models, n, columns)
        Predictions for every record.
    failed : int
        Number of fits that did not converge, or whose classes are separated.
    n_boot : int or None
        Number of bootstrap samples; None for the fits of the folds.
    running : Running
        Seed, processes and progress bar of the fits.
    threshold : float or None
        Smallest risk at which a record is treated.
    level : float
        Share of the models between the percentiles.
    by : str or array-like, optional
        Grouping of the records.
    at : float or None
        Horizon of the risk, for times to an event.
    """

    result: CVResult
    predicted: Floats
    failed: int
    n_boot: int | None
    running: Running
    threshold: float | None = None
    level: float = 0.95
    by: Any = None
    at: float | None = None

    @property
    def final(self) -> Floats:
        """The predictions of the final model for the records."""
        return self._of_column(self.result.refits.fitted)

    def _of_column(self, predicted: Floats) -> Floats:
        """Return the risks at the horizon, if there are several columns."""
        if self.at is None:
            return predicted
        horizons = self.result.design.outcome.horizons
        return predicted[..., 1 + horizons.index(self.at)]

    @property
    def mape(self) -> float:
        """The mean absolute prediction error, over models and records."""
        return float(self.table["mape"].mean())

    @property
    def described(self) -> str:
        """Which models are compared."""
        return phrase("models", self)

    @property
    def given(self) -> dict[str, Any]:
        """The arguments of the call that gives it, by name."""
        drawn = {"n_boot": self.n_boot, "seed": self.running.seed}
        names = ("threshold", "level", "by", "at")
        given = {name: getattr(self, name) for name in names}
        known = {name: one for name, one in given.items() if one is not None}
        return ({"from_folds": True} if self.n_boot is None else drawn) | known

    @cached_property
    def table(self) -> pd.DataFrame:
        """The risk of each record with its percentiles and mean absolute error.

        The columns are ``predicted`` (by the final model), ``lower`` and ``upper`` (the
        percentiles over models) and ``mape``. With a threshold there are ``treating``
        (how many models treat the record) and ``changed`` (the share that decides
        otherwise than the final model).
        """
        labels = self.result.design.labels
        return self._table(self.final, self._of_column(self.predicted), labels)

    def _table(self, final: Floats, each: Floats, labels: pd.Index[Any]) -> Table:
        lower, upper = np.quantile(each, self._ends, axis=0)
        away = np.mean([np.abs(one - final) for one in each], axis=0)
        made = {"predicted": final, "lower": lower, "upper": upper, "mape": away}
        binary = self.result.design.outcome.kind in ("binary", "survival")
        risk = "risk" if binary else "prediction"
        heads = dict(zip(made, (risk, *map(percent, self._ends)), strict=False))
        caption = f"{risk.capitalize()} by the final model, with percentiles and mean "
        caption += f"absolute error over {self.described}"
        if self.threshold is not None:
            own = predicted_as(final, self.threshold)
            treated = np.stack([predicted_as(one, self.threshold) for one in each])
            count = treated.sum(axis=0)
            unknown = np.isnan(count).any()
            made["treating"] = count if unknown else count.astype(np.intp)
            made["changed"] = np.abs(treated - own).mean(axis=0)
            caption += f"; treatment from {risk} {self.threshold:g}"
        heads |= {"mape": "mape", "treating": f"of {len(each)}, treat"}
        heads["changed"] = "changed"
        shown = {"alike": tuple(made)[:4], "digits": 3 if binary else None}
        lacking = bool((np.isnan(away) & ~np.isnan(final)).any())
        told = "Bootstrap models did not impute what new rows lack." * lacking
        frame = pd.DataFrame(made, index=labels)
        return Table(frame, caption, heads, indexed=True, note=told, **shown)

    @cached_property
    def overall(self) -> pd.DataFrame:
        """The instability of all records, and of each group, with one row each.

        The columns are ``n``, ``mape``, ``largest`` (of a record's mean absolute
        errors), ``width`` (the median distance of the percentiles) and, with a
        threshold, ``changed`` (the mean share that decides otherwise).
        """
        table = pd.DataFrame(self.table).assign(n=1, largest=self.table["mape"])
        table["width"] = table["upper"] - table["lower"]
        how = {"n": "sum", "mape": "mean", "largest": "max", "width": "median"}
        how |= {"changed": "mean"} if self.threshold is not None else {}
        groups: list[Any] = [np.full(len(table), "all records")]
        if self.by is not None:
            groups.append(groups_of(self.result, self.by).to_numpy())
        frame = pd.concat([table.groupby(one).agg(how) for one in groups])
        frame.index.name = "" if self.by is None else group_name(self.by)
        outcome = self.result.design.outcome.name
        outcome += "" if self.at is None else f" by {self.at:g}"
        caption = f"Stability of the predictions of {outcome} over {self.described}"
        return Table(frame, caption, indexed=True, note=" ".join(self.notes))

    @property
    def notes(self) -> list[str]:
        """What a reader should know of the models, as sentences."""
        told = [note("mape", level=percent(self.level))]
        if self.threshold is not None:
            told.append(note("changed", threshold=self.threshold))
        if self.n_boot is None:
            told.append(note("models of folds"))
        if self.failed:
            told.append(note("failed models", failed=self.failed))
        return [text for _, text in told]

    def curves(
        self, kind: Literal["calibration", "decision"], at: ArrayLike | None = None
    ) -> pd.DataFrame:
        """Return the curve of each model on the original records.

        Parameters
        ----------
        kind : {"calibration", "decision"}
            A smooth calibration curve, or the net benefit by threshold.
        at : array_like, optional
            Probabilities at which the curves are evaluated; unless given, 50 over the
            range of the final model's predictions.

        Returns
        -------
        pandas.DataFrame
            One row per probability, ``at``: the curve of the ``final`` model, which is
            apparent, the percentiles over models, ``lower`` and ``upper``, and one
            column per model, NaN where it has no curve.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> ridge = res.update(model=scv.models.Logit(C=1.0))
        >>> found = ridge.stability(n_boot=50).curves("decision", at=[0.2])
        >>> found[["at", "final", "lower", "upper"]].round(3)
            at  final  lower  upper
        0  0.2  0.266   0.18  0.273
        """
        arguments.one_of(kind, ("calibration", "decision"), "kind")
        outcome = self.result.design.outcome
        if outcome.kind not in ("binary", "survival"):
            raise errors.MetricError(
                f"kind={kind!r} is for risks between 0 and 1, and {outcome.name!r} is "
                f"{outcome.kind}; kind='prediction' is for any outcome."
            )
        if at is None:
            at = np.linspace(self.final.min(), min(self.final.max(), 0.99), POINTS)
        both = (self.final, *self._of_column(self.predicted))
        each = [self._curve(kind, p, np.atleast_1d(at)) for p in both]
        lower, upper = pd.DataFrame(each[1:]).quantile(list(self._ends)).to_numpy()
        columns = {"at": np.atleast_1d(at), "final": each[0]}
        columns |= {"lower": lower, "upper": upper}
        caption = f"{kind.capitalize()} curve, with percentiles over {self.described}"
        models = {f"model {k}": one for k, one in enumerate(each[1:], 1)}
        return Table(pd.DataFrame(columns | models), caption, list(columns))

    def _curve(self, kind: str, p: Floats, at: Array) -> Floats:
        """Return the height of the curve of one model."""
        y = self.result.design.y
        if self.at is not None:
            return RisksBy(y, p, self.at).heights(kind, at)
        if kind == "decision":
            return net_benefit(y, p, at).net_benefit
        return calibration_curve(y, p, at=at).observed

    def predict(self, new: object) -> pd.DataFrame:
        """Return the risk of new patients, with percentiles over bootstrap models.

        Parameters
        ----------
        new : data frame
            One row per patient; rows with missing values have NaN.

        Returns
        -------
        pandas.DataFrame
            The columns of :attr:`table`.

        Raises
        ------
        ArgumentError
            If the models are those of folds.
        """
        if self.n_boot is None:
            raise errors.ArgumentError(
                "predict() needs bootstrap models; omit from_folds=."
            )
        design, setup = self.result.design, self.result.refits.setup_for(UNCUT)
        matrix, labels = design.new_matrix(new)
        complete = predictable(matrix, self.result.learner)
        if isinstance(self.result.learner, Imputed):  # bootstrap models impute no more
            complete = np.asarray(~np.isnan(matrix).any(axis=1))
        each = np.full((len(self.predicted), len(matrix)), np.nan)
        if complete.any():
            further = design.extended(new, complete)
            made, _ = bootstrapped(setup, self.n_boot, self.running, further)
            each[:, complete] = self._of_column(made[:, design.n :])
        final = np.asarray(self.result.model.predict(new), dtype=float)
        return self._table(self._of_column(final), each, labels)

    def plot(self, kind: Kind = "prediction", ax: Axes | None = None) -> Axes:
        """Draw the instability, as :func:`statcv.plots.plot_stability` does."""
        from statcv.plots import plot_stability

        return plot_stability(self, kind, ax=ax)

    @property
    def _ends(self) -> tuple[float, float]:
        """The shares of the models below the percentiles."""
        return (1 - self.level) / 2, (1 + self.level) / 2

    def __repr__(self) -> str:
        return repr(self.overall)

    def _repr_html_(self) -> str:
        return str(self.overall._repr_html_())  # type: ignore[operator]


def stability(
    result: CVResult,
    n_boot: int | None = None,
    *,
    from_folds: bool = False,
    threshold: float | None = None,
    by: Any = None,
    level: float = 0.95,
    at: float | None = None,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Stability:
    """Return how far the predictions move with the sample that the model is from.

    The model is fitted to bootstrap samples; every fit predicts all records, and is
    compared with the final model. The fits are kept: another threshold, level or
    grouping needs none. The report shows what was computed.

    Parameters
    ----------
    n_boot : int, optional
        Number of bootstrap samples, in which clusters are drawn whole; 200 unless
        given, and 20 or more.
    from_folds : bool, default False
        Whether to take the training sets of the folds instead, at the cost of the
        cross-validation. Their fits move less.
    threshold : float, optional
        Risk from which a record is treated; that of the result unless given.
    by : str or array-like, optional
        Grouping of the records, as in :meth:`metrics`.
    level : float, default 0.95
        Share of the models between the percentiles.
    at : float, optional
        Horizon of the risk of times to an event; needed if there are several.
    seed, n_jobs, progress
        As in :meth:`estimate`.

    Returns
    -------
    Stability
        ``table``, one row per record; ``overall``; ``mape``; ``curves(kind)``;
        ``predict(new)`` and ``plot(kind)``.

    Raises
    ------
    OutcomeError, MetricError, ModelError
        If there are several classes, predictions are not probabilities, or nothing
        can be refitted.

    Warns
    -----
    StatcvWarning, ConvergenceWarning
        If samples have one class alone, or fits are separated, with their number.

    References
    ----------
    Riley & Collins (2023), Biometrical Journal 65:2200302.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ridge = res.update(model=scv.models.Logit(C=1.0))
    >>> found = ridge.stability(n_boot=50, threshold=0.5)
    >>> round(found.mape, 3)
    0.076
    >>> found.table[["predicted", "mape", "treating"]].head(1).round(3)
       predicted   mape  treating
    0       0.13  0.038         0
    """
    arguments.check_types(stability, locals())
    if from_folds and (n_boot, seed) != (None, None):
        raise errors.ArgumentError("from_folds=True needs neither n_boot= nor seed=.")
    if n_boot is None and not from_folds:
        n_boot = 200
    running = Running.of(result, seed, n_jobs, progress)
    outcome, refits = result.design.outcome, result.refits
    arguments.check_level(level)
    at, risks = horizon_of(result, "stability()", at), outcome.kind != "continuous"
    if outcome.kind == "multiclass":
        raise errors.OutcomeError(
            f"stability() needs a number or two classes, and {outcome.name!r} has "
            f"{len(outcome.levels)}; compare one class with the others."
        )
    if not refits.all_rows.probabilities:
        raise errors.MetricError(
            f"stability() needs probabilities; calibrate the scores of "
            f"{result.learner.label}, for example with CalibratedClassifierCV."
        )
    if threshold is None:
        threshold = result.threshold
    elif not (arguments.is_number(threshold) and 0 < threshold < 1 and risks):
        raise errors.ArgumentError(
            f"threshold={threshold!r} must be a risk between 0 and 1; the outcome "
            f"{outcome.name!r} is {outcome.kind}."
        )
    if by is not None:
        groups_of(result, by)  # refuses what is not a grouping, before fits are made
    key, kept = n_boot and (n_boot, running.seed), refits.stabilities
    if n_boot is not None:
        arguments.check_whole(
            n_boot, "n_boot", least=LEAST_BOOT, most=arguments.MAX_RESAMPLES
        )
    if key not in kept:
        fits = min(result.plan.n_fits, MOST_FOLDS) if n_boot is None else n_boot
        warn_of_fits(result, "stability()", fits, "n_boot=20 is the least")
        make = of_folds if n_boot is None else bootstrapped
        predicted, failed = make(refits.setup_for(UNCUT), fits, running)
        warn_of_refits(failed, len(predicted))
        kept[key] = Stability(result, predicted, failed, n_boot, running)
    kept[key] = replace(kept[key], threshold=threshold, level=level, by=by, at=at)
    return kept[key]
