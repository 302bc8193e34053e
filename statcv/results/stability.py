"""How far predictions move with the sample to which the model is fitted.

Models of bootstrap samples, or of the training sets of the folds, predict every record,
and are compared with the final model (Riley & Collins 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from statcv.arguments import one_of
from statcv.errors import (
    ArgumentError,
    OutcomeError,
    UndefinedMetricWarning,
    warn,
)
from statcv.inference.estimates.groups import group_name, groups_of
from statcv.inference.refits.other_samples import (
    bootstrap_predictions,
    lacking,
)
from statcv.metrics import METRICS, calibration_curve, net_benefit
from statcv.metrics.classification.classwise import predicted_as
from statcv.results.refits import Running
from statcv.tables import Table
from statcv.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.results.refittable import Refittable

Floats = NDArray[np.float64]
POINTS = 50  # points of a curve
FEWEST = 10  # records that are treated at the last threshold of a decision curve
HEADS = {
    "n": "n",
    "mape": "mean absolute error",
    "largest": "largest",
    "width": "median width",
    "changed": "decide otherwise",
}


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """The predictions of many models for each record, beside those of the final model.

    Attributes
    ----------
    result : CVResult
    predicted : numpy.ndarray, shape (models, n)
        Predictions for every record.
    n_boot : int or None
        Number of bootstrap samples; None for the fits of the folds.
    running : Running
        Seed, processes and progress bar of the fits.
    failed : int
        Number of fits that did not converge, or whose classes are separated.
    threshold : float or None
        Smallest risk at which a record is treated.
    level : float
        Share of the models between the percentiles.
    by : str or array-like, optional
        Grouping of the records.
    """

    result: Refittable
    predicted: Floats
    n_boot: int | None
    running: Running
    failed: int
    threshold: float | None = None
    level: float = 0.95
    by: Any = None

    @property
    def final(self) -> Floats:
        """The predictions of the final model for the records."""
        return self.result.refits.fitted

    @property
    def mape(self) -> float:
        """The mean absolute prediction error: the mean distance from the final model.

        It is the mean over models and records.
        """
        return float(self.table["mape"].mean())

    @property
    def described(self) -> str:
        """Which models are compared."""
        fits = len(self.predicted)
        if self.n_boot is not None:
            return f"{fits} bootstrap models"
        total = self.result.plan.n_fits
        return f"{'' if fits == total else f'{fits} of '}{total} fits of the folds"

    @property
    def call(self) -> str:
        """The call that gives it, as code."""
        given: dict[str, Any] = {"n_boot": self.n_boot, "seed": self.running.seed}
        if self.n_boot is None:
            given = {"from_folds": True}
        if self.threshold is not None:
            given["threshold"] = self.threshold
        if self.level != 0.95:
            given["level"] = self.level
        words = [f"{name}={value!r}" for name, value in given.items()]
        if self.by is not None:
            words.append(f"by={self.by!r}" if isinstance(self.by, str) else "by=by")
        return f"stability({', '.join(words)})"

    @cached_property
    def table(self) -> pd.DataFrame:
        """The risk of each record with its percentiles and mean absolute error.

        The columns are ``predicted`` (by the final model), ``lower`` and ``upper`` (the
        percentiles over models) and ``mape``. With a threshold there are ``treat`` (by
        the final model), ``treating`` (how many models treat the record) and
        ``changed`` (the share that decides otherwise than the final model).
        """
        return self._table(self.final, self.predicted, self.result.design.labels)

    def _table(
        self, final: Floats, each: Floats, labels: pd.Index[Any]
    ) -> pd.DataFrame:
        lower, upper = np.quantile(each, self._ends, axis=0)
        away = np.mean([np.abs(one - final) for one in each], axis=0)
        made = {"predicted": final, "lower": lower, "upper": upper, "mape": away}
        risk = "risk" if self._is_risk else "predicted"
        low, high = map(percent, self._ends)
        heads = {"predicted": risk, "lower": low, "upper": high}
        heads["mape"] = HEADS["mape"]
        if self.threshold is not None:
            own = predicted_as(final, self.threshold)
            treated = np.stack([predicted_as(one, self.threshold) for one in each])
            count, unknown = treated.sum(axis=0), np.isnan(final).any()
            made["treating"] = count if unknown else count.astype(np.intp)
            made["changed"] = np.abs(treated - own).mean(axis=0)
            heads["treating"] = f"of {len(each)}, treat"
            heads["changed"] = HEADS["changed"]
        caption = f"{risk.capitalize()} by the final model, with percentiles and mean "
        caption += f"absolute error over {self.described}"
        if self.threshold is not None:
            caption += f"; treatment from {risk} {self.threshold:g}"
        return Table(pd.DataFrame(made, index=labels), caption, heads, indexed=True)

    @cached_property
    def overall(self) -> pd.DataFrame:
        """The instability of all records, and of each group, with one row each.

        The columns are ``n``, ``mape``, ``largest`` (of a record's mean absolute
        errors), ``width`` (the median distance of the percentiles) and, with a
        threshold, ``changed`` (the mean share that decides otherwise).
        """
        table = pd.DataFrame(self.table).reset_index(drop=True)
        parts: dict[Any, pd.DataFrame] = {"all records": table}
        if self.by is not None:
            groups = groups_of(self.result, self.by).to_numpy()
            parts |= dict(iter(table.groupby(groups)))
        rows = {
            name: {
                "n": len(own),
                "mape": own["mape"].mean(),
                "largest": own["mape"].max(),
                "width": (own["upper"] - own["lower"]).median(),
                **({"changed": own["changed"].mean()} if "changed" in own else {}),
            }
            for name, own in parts.items()
        }
        frame = pd.DataFrame.from_dict(rows, orient="index")
        frame["n"] = frame["n"].astype(int)
        frame.index.name = "" if self.by is None else group_name(self.by)
        outcome = self.result.design.outcome.name
        caption = f"Stability of the predictions of {outcome} over {self.described}"
        return Table(frame, caption, HEADS, indexed=True, note=" ".join(self.notes))

    @property
    def notes(self) -> list[str]:
        """What a reader should know of the models, as sentences."""
        said = [
            "Errors are distances from the prediction of the final model; the largest "
            "is that of a record. The width is that of the percentiles, which enclose "
            f"{percent(self.level)} of the models."
        ]
        if self.threshold is not None:
            said.append(
                f"Records are treated from a risk of {self.threshold:g}; the last "
                "column is the share of models that decide otherwise than the final "
                "one."
            )
        if self.result.scores.clusters is not None and self.n_boot:
            said.append("Clusters were drawn whole.")
        if self.n_boot is None:
            said.append(
                "The fits of folds share most of their records, and move less than "
                f"models of other samples do{self._ratio}."
            )
        elif missing := self.n_boot - len(self.predicted):
            said.append(lacking(missing, self.n_boot))
        if self.failed:
            said.append(f"{self.failed} fits did not converge or were separated.")
        return said

    @property
    def _ratio(self) -> str:
        """How far the fits of folds of a regression move less, in words."""
        n, trained = self.result.design.n, float(self.result.plan.n_train.mean())
        # the delete-d jackknife multiplies the spread of its estimates by this
        ratio = np.sqrt(trained / max(n - trained, 1))
        regression = self.result.learner.capabilities.likelihood is not None
        if trained >= n or ratio < 1.2 or not regression:
            return ""
        return f", here by a factor of about {ratio:.2g}"

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
            column per model. For ``"decision"`` there is ``treat_all``.

        Examples
        --------
        >>> import statcv as scv
        >>> data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
        >>> res = scv.cv("GRADE ~ GPA + PSI", data, model=ridge, seed=1)
        >>> found = res.stability(n_boot=50).curves("decision", at=[0.2, 0.4])
        >>> found[["at", "final", "treat_all"]].round(3)
            at  final  treat_all
        0  0.2  0.266      0.180
        1  0.4  0.188     -0.094
        """
        one_of(kind, ("calibration", "decision"), "kind")
        if not self._is_risk:
            raise OutcomeError(f"a {kind} curve needs an outcome of two classes.")
        y, rising = self.result.design.y, np.sort(self.final)
        both, more = (self.final, *self.predicted), dict[str, Floats]()
        if kind == "decision":
            last = rising[-min(FEWEST, max(1, len(rising) // 20))]
            points = np.linspace(0, min(last, 0.99), POINTS) if at is None else at
            found = [net_benefit(y, p, points) for p in both]
            final, *each = (one.net_benefit for one in found)
            more = {"treat_all": found[0].treat_all}
        else:
            points = np.linspace(rising[0], rising[-1], POINTS) if at is None else at
            final, *each = (calibration_curve(y, p, at=points).observed for p in both)
        lost = sum(bool(np.isnan(one).all()) for one in each)
        if lost:
            warn(
                f"{lost} of {len(each)} models have no {kind} curve there.",
                UndefinedMetricWarning,
            )
        known = ~np.isnan(each).all(axis=0)
        limits = np.full((2, len(final)), np.nan)
        limits[:, known] = np.nanquantile(np.array(each)[:, known], self._ends, axis=0)
        ends = {"lower": limits[0], "upper": limits[1]}
        columns = {"at": np.atleast_1d(points), "final": final, **ends, **more}
        columns |= {f"model {k}": one for k, one in enumerate(each, 1)}
        what = "Net benefit" if kind == "decision" else "Calibration"
        return Table(
            pd.DataFrame(columns),
            f"{what} of the final model, with percentiles over {self.described}",
            ["at", "final", "lower", "upper", *more],
        )

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
            raise ArgumentError(
                "predict() needs bootstrap models; call stability() without from_folds."
            )
        design, refits = self.result.design, self.result.refits
        matrix, labels = design.new_matrix(new)
        complete = np.asarray(~np.isnan(matrix).any(axis=1))
        each = np.full((len(self.predicted), len(matrix)), np.nan)
        if complete.any():
            further = design.extended(new, complete)
            setup, running = refits.setup_for(METRICS["brier"]), self.running
            seed, more = running.seed, running.processes
            made, _ = bootstrap_predictions(setup, self.n_boot, seed, further, **more)
            each[:, complete] = made[:, design.n :]
        final = np.asarray(self.result.model.predict(new), dtype=float)
        return self._table(final, each, labels)

    def plot(
        self,
        kind: Literal[
            "prediction", "calibration", "decision", "classification"
        ] = "prediction",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the instability, as :func:`statcv.plots.plot_stability` does."""
        from statcv.plots import plot_stability

        return plot_stability(self, kind, ax=ax)

    @property
    def _ends(self) -> tuple[float, float]:
        """The shares of the models below the percentiles."""
        return (1 - self.level) / 2, (1 + self.level) / 2

    @property
    def _is_risk(self) -> bool:
        return self.result.design.outcome.kind == "binary"

    def __repr__(self) -> str:
        return repr(self.overall)

    def _repr_html_(self) -> str:
        return str(self.overall._repr_html_())  # type: ignore[operator]
