"""Which models are regressions, whose coefficients make an equation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass
from collections.abc import Iterator

from statcv.models import Cox, Logit, Model, Updating, distribution_of
from statcv.models.likelihood import CumulativeLogit
from statcv.models.selection import Selection


def is_regression(model: Model | None) -> bool:
    """Return whether coefficients make the linear predictor of a model."""
    known = (Cox, Logit, Selection, Updating)
    return not why_no_equation(model) and any(
        isinstance(one, known) or one.capabilities.likelihood is not None
        for one in models_in(model)
    )


def why_no_equation(model: Model | None) -> str:
    """Return what predictions are, if the equation of a regression is not written."""
    if distribution_of(model):
        return "exp() of the sum of coefficients times columns"
    fitted = [one.capabilities.likelihood for one in models_in(model)]
    if CumulativeLogit() in fitted:
        return (
            "differences of probabilities, whose log-odds are a cut point plus the sum "
            "of coefficients times columns"
        )
    return ""


def models_in(model: Model | None) -> Iterator[Model]:
    """Yield a model and those inside it, such as one that is tuned."""
    while model is not None:
        yield model
        model = getattr(model, "model", None)


def said_chosen(name: str, value: Any) -> str:
    """Return a hyperparameter that was chosen, in words."""
    return f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
