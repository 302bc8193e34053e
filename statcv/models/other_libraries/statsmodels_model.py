"""Any statsmodels model class or formula function, and fitted results as models."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentTypeError, ModelError
from statcv.formula import quoted
from statcv.models import base, likelihood
from statcv.models.base import Capabilities, PlainFit, TrainingSet
from statcv.models.batched.fits import FittedFolds
from statcv.models.batched.folds import Folds
from statcv.models.families import EXTREME
from statcv.models.linear import Linear
from statcv.models.linear_fits import LinearFits
from statcv.models.logit import Logit
from statcv.models.offsets import fixed, with_offsets, without_offsets
from statcv.models.ordered import ProportionalOdds
from statcv.models.other_libraries.thread_warnings import collected
from statcv.numeric.arrays import Floats

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
        while isinstance(model, partial):
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
        found = None if set(self.fit_keywords) - {"disp"} else self._likelihood()
        same = {
            likelihood.Bernoulli: Logit,
            likelihood.CumulativeLogit: ProportionalOdds,
            likelihood.Gaussian: Linear,
        }
        return same[type(found)]() if type(found) in same else None

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

    def _likelihood(self) -> likelihood.Likelihood | None:
        """Return the likelihood of a regression without further arguments."""
        from statsmodels.genmod import families

        name = self.family.__name__
        if self.ordered and self.keywords == {"distr": "logit"}:
            return likelihood.CumulativeLogit()
        family = self.keywords.get("family") or families.Gaussian()
        if set(self.keywords) - {"family"} or not isinstance(family, families.Family):
            return None
        if name in ("Logit", "MNLogit"):
            return likelihood.Bernoulli()
        if name in ("OLS", "WLS"):
            return likelihood.Gaussian()
        if name == "Probit":
            family = families.Binomial(families.links.Probit())
        elif name == "Poisson":
            family = families.Poisson()
        elif name != "GLM":
            return None
        kind, link = type(family).__name__, type(family.link).__name__
        known: dict[tuple[str, str], likelihood.Likelihood] = {
            ("Binomial", "Logit"): likelihood.Bernoulli(),
            ("Gaussian", "Identity"): likelihood.Gaussian(),
        }
        return known.get((kind, link), likelihood.Generalized(family))

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
        base.refuse_kind(
            f"statsmodels {name}", kind, ("binary", "multiclass", "continuous")
        )
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
        base.refuse_missing(training, self.label)
        if isinstance(built_in := self._built_in, ProportionalOdds):
            return built_in.fit(training)
        keywords = dict(self.keywords)
        if training.weights is not None:
            if (name := self.family.__name__) not in WEIGHT_NAMES:
                raise ModelError(
                    f"statsmodels {name} takes no weights; WLS and GLM do."
                )
            keywords[WEIGHT_NAMES[name]] = training.weights
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
        predict = partial(_predict, result, training, place)
        return PlainFit(
            predict,
            coefficients,
            converged=_converged(result),
            separated=self._separated(training, predict),
            linear=self._linear(parameters, training),
        )

    def _linear(self, parameters: Floats, training: TrainingSet) -> LinearFits | None:
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
        known = inspect.signature(model.fit).parameters
        # the default of ordered models, Nelder and Mead's method, stops too early
        usual = {"method": "bfgs", "maxiter": 500} if self.ordered else {}
        return usual | {
            name: value
            for name, value in self.fit_keywords.items()
            if name != "disp" or name in known
        }


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
    result: Any, training: TrainingSet, omitted: int | None, X: Floats
) -> Floats:
    if training.offsets:
        rows = without_offsets(replace(training, X=X), 0.0)
        return np.asarray(result.predict(rows.X, offset=rows.offset), dtype=float)
    predicted = np.asarray(result.predict(base.without_column(X, omitted)), dtype=float)
    one = training.kind == "binary" and predicted.ndim == 2
    return predicted[:, 1] if one else predicted


def _converged(result: Any) -> bool:
    if hasattr(result, "converged"):
        return bool(result.converged)
    returned = getattr(result, "mle_retvals", None) or {}
    return bool(returned.get("converged", True))


# ---- fitted results as models ----


# the distribution of counts, by the name of a family or of a class; its dispersion is
# fixed, or has another name than in NegativeBinomial of statcv, so that none is scored
COUNTS = {"Poisson": "poisson", "NegativeBinomial": "counts"}

# the share of the range of fitted values by which a refit of a result may differ
SAME = 1e-3
NO_INTERCEPT = re.compile(r"[~+]\s*0\b|-\s*1\b")
DISTRIBUTIONS = {"norm": "probit", "logistic": "logit"}  # names in ordered models


def unwrap_result(fitted: Any) -> tuple[str, Any, Statsmodels, Any]:
    """Return (formula, frame, model, weights) of a fitted result.

    Its offset, or exposure, is a column of the frame and a term of the formula.

    Raises
    ------
    ModelError
        If it used arguments that cannot be subset to folds, or was fitted in a way that
        the result does not keep.
    """
    model, beside = fitted.model, dict[str, Any]()
    again, weights = unwrap_model(fitted, beside)
    formula = getattr(model, "formula", None)
    frame = getattr(model.data, "frame", None)
    if formula is None or frame is None:
        formula, frame = _of_arrays(model)
    text = str(formula)
    for name, values in beside.items():
        # rows without a missing value; the others are left out in any case
        column = pd.Series(values, model.data.row_labels).reindex(frame.index)
        close = partial(np.allclose, column, rtol=1e-12, atol=0.0, equal_nan=True)
        same = [str(c) for c in frame.select_dtypes("number") if close(frame[c])]
        place = same[0] if same else name + "_" * (name in frame)
        frame = frame if same else frame.assign(**{place: column})
        inner = quoted(place) if name == "offset" else f"log({quoted(place)})"
        text += f" + offset({inner})"
    if type(model).__name__ == "MNLogit":  # MNLogit takes numbers as classes
        left, right = text.split("~", 1)
        text = f"C({left.strip()}) ~ {right.strip()}"
    if again.ordered and NO_INTERCEPT.search(text):
        text += " + 1"  # cut points take its place
    return text, frame, again, weights


def _of_arrays(model: Any) -> tuple[str, pd.DataFrame]:
    """Return formula and frame of the arrays of a model."""
    names = model.exog_names[: model.exog.shape[1]]
    frame = pd.DataFrame(np.asarray(model.exog), model.data.row_labels, names)
    constant = model.data.const_idx
    terms = [quoted(name) for j, name in enumerate(names) if j != constant]
    left, start = str(model.endog_names), "0" if constant is None else "1"
    formula = f"{quoted(left)} ~ {' + '.join([start, *terms])}"
    return formula, frame.assign(**{left: np.asarray(model.endog)})


def is_result(model: Any) -> bool:
    """Return whether an object is a fitted result of statsmodels."""
    module = type(getattr(model, "model", None)).__module__
    return module.startswith("statsmodels.") and hasattr(model, "params")


def unwrap_model(
    fitted: Any, beside: dict[str, Any] | None = None
) -> tuple[Statsmodels, Any]:
    """Return (model, weights) of a fitted result; put what is an offset in ``beside``.

    Raises
    ------
    ModelError
        If it used arguments that cannot be subset to folds, or was fitted in a way that
        the result does not keep.
    """
    model = fitted.model
    Statsmodels(type(model))  # refuses kinds of models that are not supported
    keywords = {
        name: value
        for name, value in model._get_init_kwds().items()
        if value is not None and name not in ("missing_idx", "formula", "model_spec")
    }
    if type(model).__name__ == "OrderedModel":
        keywords["distr"] = DISTRIBUTIONS.get(model.distr.name, model.distr)
    elif np.ndim(model.data.orig_endog) == 2 and model.data.orig_endog.shape[1] > 1:
        raise ModelError(
            "statsmodels coded the outcome of this result in two columns and takes the "
            "first level for success; code the outcome 0/1, or give cv() the formula."
        )
    if hasattr(model, "M"):  # RLM keeps its norm in another attribute
        keywords["M"] = model.M
    weights = _pop_weights(keywords, model)
    if beside is not None:
        beside |= {n: keywords.pop(n) for n in ("offset", "exposure") if n in keywords}
    fit = {"q": fitted.q} if type(model).__name__ == "QuantReg" else {}
    again = Statsmodels(type(model), fit=fit, **keywords)
    _check_same(again, fitted, weights, beside or {})
    if beside:
        kind = type(keywords.get("family", model)).__name__
        again.distribution = COUNTS.get(kind, "")
    return again, weights


def _check_same(
    again: Statsmodels, fitted: Any, weights: Any, beside: dict[str, Any]
) -> None:
    """Refuse a result that a refit on its own rows does not reproduce.

    Penalties, constraints and choices of the fit (a robust scale, say) are not kept
    in the result, and would be lost in the folds.
    """
    model = fitted.model
    X, names = np.asarray(model.exog), tuple(model.exog_names)
    names = names[: X.shape[1]]
    if again.ordered:  # cut points are its intercepts
        X, names = np.column_stack([np.ones(len(X)), X]), ("Intercept", *names)
    logs = [v if n == "offset" else np.log(v) for n, v in beside.items()]
    size, names = X.shape[1], (*names, *beside)
    training = TrainingSet(
        X=np.column_stack([X, *logs]),
        offsets=tuple(range(size, len(names))),
        y=np.asarray(model.endog),
        kind="multiclass" if again.ordered else "continuous",
        n_classes=model.k_levels if again.ordered else 0,
        names=names,
        intercept=0 if again.ordered else None,
        weights=None if weights is None else weights.to_numpy(),
        seed=0,
    )
    try:
        before = np.asarray(fitted.predict(), dtype=float)
        after = again.fit(training).predict(training.X)
        # iterations of another start end at other last digits
        same = bool(np.abs(after - before).max() <= SAME * np.ptp(before) + 1e-8)
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise ModelError(
            f"the fitted {again.label} cannot be fitted again: {error}"
        ) from error
    if not same:
        raise ModelError(
            f"fitting {again.label} again does not give this result: it was fitted "
            "with a penalty, a constraint or a choice that it does not keep. Give "
            "cv() formula, data, and model=Statsmodels(…, fit={…})."
        )


def _pop_weights(keywords: dict[str, Any], model: Any) -> Any:
    """Take row weights out of the keywords; None where all are one."""
    keywords.pop("n_trials", None)
    found = None
    for name in ("weights", "freq_weights", "var_weights"):
        values = keywords.pop(name, None)
        if values is not None and not (np.asarray(values) == 1).all():
            if found is not None:
                raise ModelError("a fit with two kinds of weights cannot be repeated.")
            found = np.asarray(values, dtype=float)
    if found is None:
        return None
    return pd.Series(found, index=model.data.row_labels)
