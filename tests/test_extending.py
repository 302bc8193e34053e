"""Nothing is forgotten that goes with a new metric, scheme, model, interval or plot.

Each of these is an entry of a table. The tests here fail if an entry lacks what belongs
to it elsewhere; CONTRIBUTING.md shows how each is added.
"""

import inspect
import math
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import get_args

import pytest

import statcv as scv
from statcv.folds import SCHEMES
from statcv.inference import INTERVALS
from statcv.metrics import METRICS
from statcv.models import MODELS
from statcv.models.thresholds import RULES
from statcv.results.result import CVResult
from statcv.verbs import argument_types
from statcv.verbs.cv import CVCall
from statcv.verbs.from_predictions import PredictionsCall

PAGES = Path(__file__).parents[1] / "vignettes" / "reference"


def page(name):
    return (PAGES / f"{name}.md").read_text()


SHARES = {"½": 0.5, "0": 0.0, "1/K": 1 / 3, "1 − 1/K": 2 / 3}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_in_the_reference_with_its_range_and_value_without_skill(name):
    rows = [row.split(" | ") for row in page("metrics").splitlines()]
    (row,) = [row for row in rows if re.match(rf"\| (\*\*)?`{name}`", row[0])]
    metric, classes = METRICS[name], 3 if "multiclass" in METRICS[name].outcomes else 2
    lower, upper = metric.bounds_with(classes)
    ends = {(0, 1): "0 to 1", (-1, 1): "−1 to 1", (-math.inf, 1): "at most 1"}
    ends |= {
        (0, math.inf): "at least 0",
        (-math.inf, math.inf): "any",
        (0, 2): "or 0 to 2",
    }
    assert ends[lower, upper] in row[2]
    if metric.no_skill is not None:
        assert SHARES[row[3]] == pytest.approx(metric.without_skill(classes))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_is_in_the_reference(name):
    rows = [line for line in page("folds").splitlines() if line.startswith("| `")]
    assert any(f'`"{name}"`' in row for row in rows)


@pytest.mark.parametrize("name", INTERVALS)
def test_an_interval_is_in_the_reference(name):
    assert f"``{name}``" in page("results")


@pytest.mark.parametrize("name", scv.plots.__all__)
def test_a_plot_is_in_the_reference(name):
    assert f"statcv.plots.{name}\n" in page("plots")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_in_the_reference(name):
    assert f"statcv.models.{MODELS[name].__name__}\n" in page("models")


@pytest.mark.parametrize(
    ("names", "table"),
    [("SchemeName", SCHEMES), ("ModelName", MODELS), ("ThresholdRule", RULES)],
)
def test_an_editor_offers_every_name(names, table):
    alias = getattr(argument_types, names)
    listed = [one for part in get_args(alias) for one in get_args(part) or [part]]
    assert sorted(listed) == sorted(table)


@pytest.mark.parametrize("name", INTERVALS)
def test_an_interval_says_what_it_is_and_is_named_where_it_is_asked_for(name):
    sentence = INTERVALS[name].sentence
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert f'"{name}"' in str(CVResult.estimate.__doc__)


@pytest.mark.parametrize(
    ("verb", "call"), [(scv.cv, CVCall), (scv.from_predictions, PredictionsCall)]
)
def test_a_call_has_the_arguments_of_its_verb(verb, call):
    taken = inspect.signature(verb).parameters
    expected = {
        name: MISSING if one.default is inspect.Parameter.empty else one.default
        for name, one in taken.items()
        if name != "unknown"
    }
    kept = {one.name: one.default for one in fields(call)}
    assert kept == expected


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_notes_of_a_summary_are_sentences(scheme):
    frame = scv.load_data("spector")
    more = {"pairs": 30} if scheme == "leave_pair_out" else {}
    repeats = {"montecarlo": 5, "bootstrap": 5, "rloocv": 2}.get(scheme)
    k = 4 if SCHEMES[scheme].has_k else None
    p = {"montecarlo": 0.25}.get(scheme, 4 if "lpocv" in scheme else None)
    result = scv.cv(
        "GRADE ~ GPA", frame, scheme=scheme, repeats=repeats, k=k, p=p, seed=1, **more
    )
    notes = result.summary(notes=True).notes
    assert notes
    for note in notes:
        assert note[0].isupper() or note[0] in ".0123456789" or note.startswith("auROC")
        assert note.endswith((".", ".)"))
