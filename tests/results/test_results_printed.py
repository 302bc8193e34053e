"""What is printed: three plain lines, and a summary on one screen."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

import statcv as scv
from statcv.errors import FitError, StatcvWarning
from statcv.folds import SCHEMES
from statcv.models import Logit
from statcv.results.refits import Refits
from statcv.results.summary import Summary

WIDTH, N = 80, 60
PLAIN = "y ~ a + b"
JARGON = ("per fold", "pooled", "jackknife", "influence", "rloocv")

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")


def simulated(n=N, columns=4):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n, columns)))
    frame.columns = [*"abcd"[:columns], *(f"gene{i}" for i in range(columns - 4))]
    frame["y"] = (frame["a"] + rng.normal(size=n) > 0.3).astype(int)
    frame["died"] = np.where(frame["y"], "yes", "no")
    frame["stage"] = np.where(
        frame["b"] > 0.5, "III", np.where(frame["a"] > 0, "II", "I")
    )
    frame["grade"] = rng.integers(0, 7, n).astype(str)
    frame["cost"] = 1e5 * np.exp(frame["a"] + rng.normal(size=n))
    frame["patient"] = rng.integers(0, 25, n)
    frame["risk"] = 1 / (1 + np.exp(-frame["a"]))
    frame["fold"] = np.arange(n) % 4
    return frame


DATA = simulated()
FEWER = DATA.assign(a=DATA["a"].where(DATA.index > 3))
CALLS = {
    **{
        scheme: (PLAIN, {"scheme": scheme})
        for scheme in SCHEMES
        if not scheme.endswith("lpocv") and scheme not in ("rloocv", "montecarlo")
    },
    **{s: (PLAIN, {"scheme": s, "p": 4}) for s in SCHEMES if s.endswith("lpocv")},
    "montecarlo": (PLAIN, {"scheme": "montecarlo", "p": 0.25}),
    "rloocv": (PLAIN, {"scheme": "rloocv", "repeats": 3}),
    "repeats": (PLAIN, {"repeats": 3}),
    "folds of a column": (PLAIN, {"scheme": "fold"}),
    "balanced folds of a column": (PLAIN, {"scheme": "fold", "rebalance": "subsample"}),
    "bags": (PLAIN, {"rebalance": "bag"}),
    "weighted classes": (PLAIN, {"rebalance": "weight"}),
    "clusters": (PLAIN, {"stratify": "patient", "k": 5}),
    "each cluster": (PLAIN, {"stratify": "patient", "scheme": "rloocv", "repeats": 2}),
    "bins": (PLAIN, {"stratify": scv.by_quantile("c", per_fold=3), "k": 5}),
    "a pair of a sample": (PLAIN, {"scheme": "leave_pair_out", "pairs": 60}),
    "text levels": ("died ~ a + b", {}),
    "threshold": (PLAIN, {"threshold": 0.3}),
    "threshold by a rule": (PLAIN, {"threshold": "youden"}),
    "three classes": ("stage ~ c + d", {"model": Logit(C=1.0), "k": 5}),
    "seven classes": ("grade ~ a", {"model": Logit(C=1.0), "k": 5}),
    "numbers": ("cost ~ a + bs(b, df=4)", {}),
    "numbers one by one": ("cost ~ a", {"scheme": "loocv"}),
    "one predictor": ("y ~ a", {}),
    "no predictor": ("y ~ 1", {}),
    "the mean": (PLAIN, {"model": "mean", "scheme": "loocv"}),
    "Firth": (PLAIN, {"model": Logit(firth=True)}),
    "neighbours": (PLAIN, {"model": "neighbors"}),
    "forest": (PLAIN, {"model": RandomForestClassifier(5, random_state=1)}),
    "scores": (PLAIN, {"model": LinearSVC()}),
    "tuned": (PLAIN, {"model": Logit(C=1.0), "tune": {"C": [0.1, 1, 10]}}),
    "weights": (PLAIN, {"weights": np.arange(N) / N + 0.1}),
    "incomplete": (PLAIN, {"data": FEWER}),
    "a long formula": (
        "y ~ bs(a, df=4) + bs(b, df=4) + I(c ** 2) + I(d ** 2) + c:d + log(risk)",
        {"model": Logit(C=1.0)},
    ),
}


def made(name):
    formula, more = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return scv.cv(formula, **{"data": DATA, "seed": 1, **more})


def check_width(text):
    assert max(map(len, text.splitlines())) <= WIDTH, text


@pytest.mark.parametrize("name", CALLS)
def test_a_result_prints_in_three_lines_and_a_summary_on_a_screen(name):
    res = made(name)
    text, summary = str(res), res.summary()
    lines = text.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"{res.estimate()} in ")
    assert not any(word in text for word in JARGON), text
    assert str(summary).startswith(f"{res.estimate()}\n\n")
    assert str(summary).count("\n") < 40
    assert len(summary.notes) <= 3
    for printed in (text, summary, res.summary(notes=True), repr(res.estimate())):
        check_width(str(printed))


@pytest.mark.parametrize("name", ["rloocv", "loocv", "numbers", "three classes"])
def test_notes_are_those_of_all_notes_that_weigh_most(name):
    res = made(name)
    few, every = res.summary().notes, res.summary(notes=True).notes
    assert len(set(every)) == len(every) > len(few)
    assert [note for note in every if note in few] == list(few)
    method = res.estimate().method
    assert any(f": {method}; " in note for note in every)
    assert method not in res.summary().headline
    assert f"adds {len(every) - len(few)} further note" in str(res.summary())


def test_what_biases_the_headline_is_the_first_note():
    first = made("loocv").summary().notes[0]
    assert first.startswith("Biased downwards: in these folds a model without")
    assert "auROC 0.000, where no skill is 0.500; scheme='rloocv' balances" in first


@pytest.mark.parametrize(("p", "most"), [(3, 40), (10, 40), (600, 40)])
def test_lines_for_few_and_many_predictors(p, most):
    frame = simulated(80, max(p, 4)).drop(columns=["died", "stage", "grade", "cost"])
    names = frame.columns[:p]
    model = Logit() if p < 20 else Logit(C=0.01)
    res = scv.cv(f"y ~ {' + '.join(names)}", frame, model=model, seed=1)
    text = str(res.summary())
    assert len(text.splitlines()) <= most
    check_width(text)
    assert ("the first 10 of 601 (all are in" in text) is (p == 600)
    assert len(res.summary().tables["Coefficients"]) == p + 1
    assert f"on {p} predictors" in str(res) or p == 3


def test_a_final_model_that_separates_or_fails_is_not_shown(monkeypatch):
    split = DATA.assign(b=DATA["y"] + 0.0)
    res = scv.cv("y ~ b", split, seed=1)
    said = "Coefficients in the folds; the fit to all 60 records separates the classes"
    summary = res.summary()
    assert list(summary.shown)[1] == said
    assert list(summary.shown[said]) == ["range over 10 folds"]
    assert "The final model" not in str(summary)

    def fails(self):
        raise FitError("no.")

    monkeypatch.setattr(Refits, "all_rows", property(fails))
    other = made("repeats").summary()
    assert "the fit to all 60 records failed" in str(other)
    assert "final" not in other.tables["Coefficients"]


def test_models_that_are_fitted_fold_by_fold_are_not_fitted_again(monkeypatch):
    monkeypatch.setattr(Refits, "all_rows", property(lambda self: 1 / 0))
    shown = made("scores").summary().shown["Coefficients"]
    assert list(shown) == ["range over 10 folds"]


@pytest.mark.parametrize(
    "more", [{}, {"fold": "fold"}, {"threshold": 0.3, "cluster": "patient"}]
)
def test_predictions_of_others_print_likewise(more):
    res = scv.from_predictions(DATA, observed="died", predicted="risk", **more)
    lines = str(res).splitlines()
    assert len(lines) == 3
    assert lines[0].endswith(f"in 60 records, {DATA['y'].sum()} with died = yes")
    assert lines[1].startswith("Cross-" if "fold" in more else "External validation: ")
    assert lines[2] == "Predictions from other software of died (column risk)"
    check_width(str(res))
    check_width(str(res.summary()))


def test_a_comparison_prints_in_three_lines():
    full = made("text levels")
    less, other = full.update(". ~ . - a"), full.update(k=5)
    both, three = scv.compare(full=full, less=less), scv.compare(full, less, other)
    for compared in (both, three):
        text, summary = str(compared), compared.summary()
        assert len(text.splitlines()) == 3
        assert not any(word in text for word in JARGON)
        assert len(summary.notes) <= 3
        for printed in (text, summary, compared.summary(notes=True)):
            check_width(str(printed))
    cell = both.summary().shown["Differences"].iloc[0, 0].replace("(", "(95% CI ")
    pair = both.differences.iloc[0]
    assert str(both).startswith(f"difference in auROC {cell}, p = {pair['p']:.2g}")
    assert float(cell.partition(" ")[0]) == pytest.approx(pair["difference"], abs=1e-3)
    assert str(three).startswith("3 differences in auROC; smallest p = ")
    assert str(three).splitlines()[2].startswith("Caveat")
    method = both.method.title
    assert method not in both.summary().headline
    assert any(method in note for note in both.summary(notes=True).notes)


def test_long_names_of_rows_are_broken_into_lines():
    names = [
        "short",
        "a name of a row that is much too long for what is left of a line",
    ]
    table = pd.DataFrame({"a column " * 5: ["1.5 (1 to 2)", "–"]}, index=names)
    text = str(Summary("title", (), {}, {"Rows": table}))
    check_width(text)
    assert " ".join(text.split()).endswith("left of a line –")
    assert "1.5 (1 to 2)" in text


def test_a_coefficient_per_large_unit_is_printed_with_significant_digits():
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    data["y"] = (rng.random(80) < 1 / (1 + np.exp(-data["a"]))).astype(int)
    data["platelets"] = (60 * data["a"] + 250) * 1e9  # per litre
    res = scv.cv("y ~ platelets + b", data, seed=1)
    exact = res.model.coefficients["platelets"]
    assert 1e-12 < exact < 1e-10
    for printed in (repr(res.model), repr(res.tidy()), str(res.summary())):
        (line,) = (one for one in printed.splitlines() if one.startswith("platelets"))
        assert f"{exact:#.3g}" in line
        assert " 0.00" not in line
        (other,) = (one for one in printed.splitlines() if one.startswith("b "))
        assert "e-" not in other
