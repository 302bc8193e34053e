"""The plan: agreed before data, written without a key, and not to be changed."""

import json

import pytest
from hospitals import FORMULA, KEY, agreed, by_person

import statcv as scv
from statcv import sites
from statcv.errors import ArgumentError, FormulaError, ModelError, StatcvError
from statcv.models import Logit


def test_a_plan_is_read_as_it_was_written():
    plan = agreed()
    text = plan.to_json()
    assert sites.SitesPlan.from_json(text) == plan
    assert sites.SitesPlan.from_json(text).fingerprint == plan.fingerprint
    assert KEY not in text
    assert json.loads(text)["stratify"]["key"] == plan.key_name


@pytest.mark.parametrize(
    "stratify",
    [
        None,
        by_person(),
        scv.by_quantile("age", thresholds=[35.5, 50, 60, 70]),
        scv.by_quantile("born", thresholds=["1950-01-01", "1990-01-01"]),
    ],
)
def test_every_stratifier_is_written(stratify):
    k = 3 if getattr(stratify, "label", "") == "born" else 5
    plan = agreed(stratify=stratify, k=k)
    again = sites.SitesPlan.from_json(plan.to_json())
    assert again == plan
    if stratify is not None and "thresholds" in plan.stratify:
        assert again.stratifier == stratify


def test_a_changed_plan_is_not_read():
    text = agreed().to_json()
    with pytest.raises(ArgumentError, match="was changed after it was agreed"):
        sites.SitesPlan.from_json(text.replace('"k": 5', '"k": 6'))
    with pytest.raises(ArgumentError, match="not a plan"):
        sites.SitesPlan.from_json("{}")
    with pytest.raises(ArgumentError, match="version 9"):
        sites.SitesPlan.from_json(text.replace('"version": 1', '"version": 9'))


def test_each_part_changes_the_fingerprint():
    changes = [
        {"k": 4},
        {"formula": "y ~ x0"},
        {"model": "ridge"},
        {"model": Logit(C=0.5)},
        {"cell": 6},
        {"seed": 1},
        {"sites": ["A", "B", "C"]},
        {"stratify": scv.by_hash("person", key="another key")},
    ]
    prints = {agreed(**change).fingerprint for change in changes}
    assert len(prints | {agreed().fingerprint}) == len(changes) + 1


@pytest.mark.parametrize(
    ("formula", "more", "error", "match"),
    [
        ("y ~ scale(x0)", {}, FormulaError, "learns from the data"),
        ("y ~ bs(x0, df=4)", {}, FormulaError, "learns from the data"),
        ("y ~ .", {}, FormulaError, "name the columns"),
        ("y ~ C(stage)", {}, FormulaError, "give its levels"),
        ("y + x0 ~ x1", {}, FormulaError, "one column as its outcome"),
        ("y ~ (x0", {}, FormulaError, "cannot be read"),
        ("y ~ x0", {"model": "xgboost"}, ModelError, "not available over sites"),
        ("y ~ x0", {"model": Logit(standardize=True, C=1.0)}, ModelError, "as they"),
        ("y ~ x0", {"model": "logitt"}, ModelError, "Did you mean"),
        ("y ~ x0", {"stratify": scv.by_value("a")}, ArgumentError, "by_hash"),
        ("y ~ x0", {"stratify": scv.by_quantile("a")}, ArgumentError, "thresholds"),
        (
            "y ~ x0",
            {"stratify": scv.by_hash("a", key="k", balanced=True)},
            ArgumentError,
            "leave balanced out",
        ),
        ("y ~ x0", {"levels": {"y": [0, 1, 2]}}, ArgumentError, "takes two"),
        ("y ~ x0", {"levels": {"x0": ["a"]}}, ArgumentError, "at least two levels"),
        ("y ~ x0", {"metrics": "auprc"}, ArgumentError, "not available over sites"),
        ("z ~ x0", {"model": "linear", "rebalance": True}, ArgumentError, "classes"),
        ("y ~ x0", {"sites": ["A", "A"]}, ArgumentError, "same name"),
        ("y ~ x0", {"decisions": [1.2]}, ArgumentError, "between 0 and 1"),
        ("y ~ x0", {"k": 1}, ArgumentError, "2 or more"),
    ],
)
def test_what_cannot_be_agreed_is_said_at_once(formula, more, error, match):
    with pytest.raises(error, match=match):
        agreed(formula, **{"levels": None, **more})


def test_a_name_stands_for_its_hash(monkeypatch):
    monkeypatch.setenv("STATCV_KEY", KEY)
    assert agreed(stratify="person").fingerprint == agreed().fingerprint
    read = sites.SitesPlan.from_json(agreed().to_json())
    assert read.stratifier.cut is not None
    monkeypatch.delenv("STATCV_KEY")
    with pytest.raises(StatcvError, match="STATCV_KEY"):
        agreed(stratify="person")


def test_a_plan_says_what_it_is():
    assert " ".join(str(agreed()).split()).startswith(
        f"{FORMULA}: logistic regression, unpenalised; 5 folds, keyed hash of person"
    )
    assert KEY not in repr(agreed())


def test_the_sheet_has_what_will_leave():
    sheet = sites.disclosure_sheet(agreed())
    assert (sheet["numbers"] > 0).all()
    assert not sheet["array"].duplicated().any()
    firth = sites.disclosure_sheet(agreed(model="firth"))
    assert set(firth["array"]) - set(sheet["array"]) == {"firth"}
