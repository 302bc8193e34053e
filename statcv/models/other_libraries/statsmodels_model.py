"""Any statsmodels model class or formula function."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from statcv.errors import ArgumentTypeError, ModelError
from statcv.models.base import (
    Capabilities,
    Matrix,
    PlainFit,
    TrainingSet,
    refuse_kind,
    refuse_missing,
    without_column,
)
from statcv.models.batched.fits import FittedFolds
from statcv.models.batched.folds import Folds
from statcv.models.families import EXTREME
from statcv.models.likelihood import (
    Bernoulli,
    CumulativeLogit,
    Gaussian,
    Generalized,
    Likelihood,
)
from statcv.models.linear import Linear
from statcv.models.linear_fits import LinearFits
from statcv.models.logit import Logit
from statcv.models.offsets import fixed, with_offsets, without_offsets
from statcv.models.ordered import ProportionalOdds
from statcv.models.other_libraries.thread_warnings import collected

# These take one value per row, which must be subset to each training set.
_ROWWISE = (
    *("weights", "freq_weights", "var_weights", "sigma", "offset", "exposure"),
    *("groups", "time", "n_trials", "exog_infl", "status", "entry", "strata"),
)
_GROUPED = (
    *("MixedLM", "BinomialBayesMixedGLM", "PoissonBayesMixedGLM", "PHReg"),
    *("GEE", "OrdinalGEE", "NominalGEE", "ConditionalLogit", "ConditionalPoisson"),
)
_WITH_OFFSETS = ("GLM", "Poisson", "NegativeBinomial", "GeneralizedPoisson")
WEIGHT_NAMES = {"GLM": "freq_weights", "WLS": "weights"}


class Statsmodels:
    """A statsmodels model that is fitted in every fold.

    Parameters
    ----------
    model : class or formula function
        ``sm.GLM``, ``sm.Probit``, ``smf.glm``, …
    fit : dict, optional
        Keywords of the model's ``fit``.
    **keywords
        Keywords of the model itself, such as ``family=sm.families.Binomial()``.

    Examples
    --------
    >>> import statsmodels.formula.api as smf
    >>> Statsmodels(smf.probit).label
    'statsmodels Probit'
    """

    distribution = ""  # that of counts, if they have an exposure

    def __init__(
        self, model: Any, *, fit: Mapping[str, Any] | None = None, **keywords: Any
    ) -> None:
        while isinstance(model, functools.partial):
            keywords = {**model.keywords, **keywords}
            model = model.func
        self.family: Any = getattr(model, "__self__", model)
        if not isinstance(self.family, type):
            raise ArgumentTypeError(
                "Statsmodels() takes a model class or a formula function of "
                f"statsmodels, such as sm.GLM or smf.glm, not {model!r}."
            )
        if self.family.__name__ in _GROUPED:
            raise ModelError(
                f"statsmodels {self.family.__name__} is not supported: it models "
                "groups of records or times, not one record after another."
            )
        _refuse_rowwise(keywords)
        self.keywords = keywords
        self.fit_keywords = {"disp": 0, **(fit or {})}

    @property
    def capabilities(self) -> Capabilities:
        """The likelihood is that of the family, if it is a regression."""
        return Capabilities(
            fits_together=self._built_in is not None,
            own_matrices=self._built_in is not None,
            offsets=self.family.__name__ in _WITH_OFFSETS,
            needs_full_rank=True,
            likelihood=self._likelihood(),
        )

    @property
    def ordered(self) -> bool:
        """Whether it is a model of ordered classes."""
        return bool(self.family.__name__ == "OrderedModel")

    @property
    def _built_in(self) -> Logit | Linear | ProportionalOdds | None:
        """The built-in model that maximises the same likelihood, if there is one."""
        if set(self.fit_keywords) - {"disp"}:
            return None
        likelihood = self._likelihood()
        if isinstance(likelihood, Bernoulli):
            return Logit()
        if isinstance(likelihood, CumulativeLogit):
            return ProportionalOdds()
        return Linear() if isinstance(likelihood, Gaussian) else None

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit all folds together by the built-in model of the same likelihood.

        Folds are fitted by statsmodels one by one if they have weights that its model
        does not take, or fewer records than columns.
        """
        weighted = records.weights is not None or folds.weights is not None
        fewest = len(records.X) - int(folds.out.sizes.max(initial=0))
        model = self._built_in
        if model is None or fewest <= records.X.shape[1]:
            return None
        if isinstance(model, Logit) and records.kind == "continuous":  # shares
            return None
        if weighted and self.family.__name__ not in WEIGHT_NAMES:
            return None
        return model.fit_folds(records, folds)

    def _likelihood(self) -> Likelihood | None:
        """Return the likelihood of a regression without further arguments."""
        from statsmodels.genmod import families

        name = self.family.__name__
        if self.ordered and self.keywords == {"distr": "logit"}:
            return CumulativeLogit()
        family = self.keywords.get("family") or families.Gaussian()
        if set(self.keywords) - {"family"} or not isinstance(family, families.Family):
            return None
        if name in ("Logit", "MNLogit"):
            return Bernoulli()
        if name in ("OLS", "WLS"):
            return Gaussian()
        if name == "Probit":
            family = families.Binomial(families.links.Probit())
        elif name == "Poisson":
            family = families.Poisson()
        elif name != "GLM":
            return None
        kind, link = type(family).__name__, type(family.link).__name__
        known: dict[tuple[str, str], Likelihood] = {
            ("Binomial", "Logit"): Bernoulli(),
            ("Gaussian", "Identity"): Gaussian(),
        }
        return known.get((kind, link), Generalized(family))

    @property
    def label(self) -> str:
        """How print and summary call it."""
        chosen = [
            _in_words(name, value)
            for name, value in {**self.keywords, **self.fit_keywords}.items()
            if name != "disp"
        ]
        return ", ".join([f"statsmodels {self.family.__name__}", *chosen])

    def __repr__(self) -> str:
        return self.label

    def check(self, kind: str) -> None:
        """Raise ModelError if the model clearly does not fit the outcome."""
        name = self.family.__name__
        refuse_kind(f"statsmodels {name}", kind, ("binary", "multiclass", "continuous"))
        if name in ("Logit", "Probit") and kind != "binary":
            raise ModelError(f"statsmodels {name} needs an outcome of two classes.")
        if name == "MNLogit" and kind == "continuous":
            raise ModelError(
                "statsmodels MNLogit needs an outcome of classes; write C(…) ~ …"
            )
        if self.ordered:
            return ProportionalOdds().check(kind)
        if kind == "multiclass" and name != "MNLogit":
            raise ModelError(
                f"statsmodels {name} does not fit an outcome of more than two classes; "
                "MNLogit does."
            )

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        refuse_missing(training, self.label)
        if isinstance(built_in := self._built_in, ProportionalOdds):
            return built_in.fit(training)
        keywords = dict(self.keywords)
        if training.weights is not None:
            keywords[self._weight_name()] = training.weights
        inner = without_offsets(training, 0.0) if training.offsets else training
        if training.offsets:
            keywords["offset"] = inner.offset
        with collected():  # the relevant part is reported fold by fold
            # cut points are intercepts
            X = inner.without_intercept if self.ordered else inner.X
            model = self.family(inner.y, X, **keywords)
            result = model.fit(**self._fit_keywords(model))
        parameters = np.asarray(result.params)
        if training.offsets and len(parameters) == inner.X.shape[1]:
            parameters = with_offsets(parameters[None], training, 0.0)[0]
        coefficients = (
            dict(zip(training.names, parameters.tolist(), strict=True))
            if parameters.ndim == 1 and len(parameters) == len(training.names)
            else None
        )
        place = training.intercept if self.ordered else None
        predict = functools.partial(_predict, result, training, place)
        return PlainFit(
            predict,
            coefficients,
            converged=_converged(result),
            separated=self._separated(training, predict),
            linear=self._linear(parameters, training),
        )

    def _linear(self, parameters: Matrix, training: TrainingSet) -> LinearFits | None:
        """Return the linear predictor, if that is all that the parameters describe."""
        known = self._likelihood() is not None
        if not known or len(parameters) != training.X.shape[1]:
            return None
        if parameters.ndim == 2:  # a column for each class after the first
            # the first class is the reference of MNLogit
            parameters = np.column_stack([np.zeros(len(parameters)), parameters])
        if self.family.__name__ == "MNLogit" and training.kind == "binary":
            parameters = parameters[:, 1]
        return LinearFits.of_one(parameters, fixed(np.zeros(len(parameters)), training))

    def _separated(self, training: TrainingSet, predict: Any) -> bool:
        """Separation lies in the data: without an optimum of our logit, none exists."""
        family = type(self.keywords.get("family")).__name__
        if training.kind != "binary" or (
            self.family.__name__ not in ("Logit", "Probit") and family != "Binomial"
        ):
            return False
        fitted = predict(training.X)
        near = np.minimum(fitted, 1 - fitted) < EXTREME
        return bool(near.any()) and Logit().fit(training).separated

    def _fit_keywords(self, model: Any) -> dict[str, Any]:
        """Not every ``fit`` knows ``disp``."""
        import inspect

        known = inspect.signature(model.fit).parameters
        # the default of ordered models, Nelder and Mead's method, stops too early
        usual = {"method": "bfgs", "maxiter": 500} if self.ordered else {}
        return usual | {
            name: value
            for name, value in self.fit_keywords.items()
            if name != "disp" or name in known
        }

    def _weight_name(self) -> str:
        name = self.family.__name__
        if name not in WEIGHT_NAMES:
            raise ModelError(f"statsmodels {name} takes no weights; WLS and GLM do.")
        return WEIGHT_NAMES[name]


def _in_words(name: str, value: Any) -> str:
    """Return a keyword as labels show it, a family with its link, no addresses."""
    if name == "family":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some lack a parameter in their default
            default = type(type(value)().link)
        link = type(value.link)
        return type(value).__name__ + ("" if link is default else f" ({link.__name__})")
    if isinstance(value, (str, int, float, bool)):
        return f"{name}={value!r}"
    return f"{name}={type(value).__name__}"


def _refuse_rowwise(keywords: Mapping[str, Any]) -> None:
    for name in _ROWWISE:
        if keywords.get(name) is None or isinstance(keywords[name], (int, float)):
            continue
        if name in ("offset", "exposure"):
            raise ModelError(
                f"{name}= has one value per row, and cannot be cut to a training set. "
                "Counts with an exposure t are fitted by cv('count ~ …', data, "
                "exposure='t', model='poisson'), or 'negbin', and any offset is a term "
                "of that formula, offset(z)."
            )
        raise ModelError(
            f"{name}= has one value per row, and cannot be cut to a training set; fit "
            "without it" + (", or use cv(weights=…)." if "weight" in name else ".")
        )


def _predict(
    result: Any, training: TrainingSet, omitted: int | None, X: Matrix
) -> Matrix:
    if training.offsets:
        rows = without_offsets(replace(training, X=X), 0.0)
        return np.asarray(result.predict(rows.X, offset=rows.offset), dtype=float)
    predicted = np.asarray(result.predict(without_column(X, omitted)), dtype=float)
    return (
        predicted[:, 1]
        if training.kind == "binary" and predicted.ndim == 2
        else predicted
    )


def _converged(result: Any) -> bool:
    if hasattr(result, "converged"):
        return bool(result.converged)
    returned = getattr(result, "mle_retvals", None) or {}
    return bool(returned.get("converged", True))
