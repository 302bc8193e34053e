"""What an external validation says of the items of reporting guidelines."""

from __future__ import annotations

from typing import Any

from statcv.report.parts import Cited, Said, prose, rounded

# what the validation of a model says, in place of the above
OF_VALIDATION = {
    "7": "nothing is estimated from these records; quality checks are for the author",
    "9b": "columns that the model reads: {read}; the measurement is for the author",
    "12b": "{written}",
    "12c": "{res.learner.label}; it is not fitted again",
    "12f": "the model was not updated",
    "12g": "computed by the model from the columns {read}",
    "16": "{shares}; others are for the author",
    "20c": "{shares}; predictors are for the author",
    "22": "{written}",
    "24": "the model was not updated",
}


def of_others(res: Cited) -> dict[str, Any]:
    """Return the facts of an external validation."""
    names = [name for name in res.thing.design.names if name != "Intercept"]
    listed = f"', '.join(n for n in {res.api}.design.names if n != 'Intercept')"
    return {
        "predictions": ("read from the data: ", Said(", ".join(names), listed)),
        "not_apparent": "the model was fitted to other records",
        "repeated": "no resampling: the model was fitted to other records",
        "evaluated": "all records of the data count alike",
    }


def of_validated(res: Cited) -> dict[str, Any]:
    """Return the facts of the model that is validated."""
    model, api, y = res.thing.validated, f"{res.api}.validated", res.thing.design.y
    columns = Said(", ".join(model.predictors), f"', '.join({api}.predictors)")
    found: dict[str, Any] = {"read": columns}
    if model.text:
        found["written"] = "see the equation of the model"
    if model.share is not None:
        found["shares"] = prose(
            "the mean outcome is {here} in these records, and {there} where the model "
            "was fitted",
            here=rounded(float(y.mean()), f"{res.api}.design.y.mean()"),
            there=rounded(model.share, f"{api}.share"),
        )
    return found
