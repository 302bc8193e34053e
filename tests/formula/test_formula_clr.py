"""Log-ratios of the parts of a whole, and columns by a pattern."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from statcv import cv
from statcv.errors import (
    ColumnError,
    DataError,
    DistributionalBiasWarning,
    FormulaError,
)
from statcv.formula import make_design
from statcv.formula.language.functions import clr
from statcv.models import Logit

N, PARTS = 60, 6
TAXA = [f"taxon_{j}" for j in range(1, PARTS + 1)]
FOLDS = np.arange(N) * 7 % 5
RARE = "taxon_6"  # in few rows, most of them in fold 0


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.gamma(1.0, 20.0, (N, PARTS)) + 0.5)
    counts[:, 0] += 3
    counts[:, 5] = np.where(FOLDS == 0, 4, 0)
    table = pd.DataFrame(counts, columns=TAXA)
    return table.assign(
        y=rng.integers(0, 2, N), age=rng.normal(50, 9, N), kind=list("ab") * (N // 2)
    )


def textbook(x):
    """Return log(x) minus the log of the geometric mean of each row."""
    mean = np.prod(x ** (1 / x.shape[1]), axis=1)
    return np.log(x / mean[:, None])


positive = st.lists(
    st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3), min_size=1, max_size=8
)


@given(rows=positive, scale=st.floats(1e-3, 1e3))
def test_rows_sum_to_zero_and_do_not_depend_on_the_total(rows, scale):
    x = np.array(rows)
    found = clr(*x.T)
    np.testing.assert_allclose(found, textbook(x), atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(clr(*(scale * x).T), found, atol=1e-9)
    np.testing.assert_allclose(clr(*x.T[::-1]), found[:, ::-1], atol=1e-12)


@pytest.mark.parametrize(
    "parts",
    [
        ", ".join(TAXA),
        'columns("taxon_*")',
        'columns("taxon_[12]", "taxon_[3-6]")',
        'taxon_1, columns("taxon_[2-6]")',
    ],
)
def test_each_part_is_a_column_with_its_name(data, parts):
    design = make_design(f"y ~ clr({parts}, pseudocount=0.5) + age", data, scope={})
    labels = [f"clr({taxon})" for taxon in TAXA]
    assert design.names == ("Intercept", *labels, "age")
    expected = textbook(data[TAXA].to_numpy() + 0.5)
    np.testing.assert_allclose(design.matrix[:, 1:7], expected, rtol=0, atol=1e-12)
    assert not design.terms.stateful
    training = np.flatnonzero(FOLDS != 0)
    fitted, _ = design.fold(training, training[:1])
    np.testing.assert_array_equal(fitted, design.matrix[training])


def test_names_inside_other_terms(data):
    right = (
        'scale(clr(columns("taxon_[12]"), pseudocount=1)) + clr(taxon_3, taxon_4):age'
    )
    with pytest.raises(DataError, match="has no logarithm"):
        make_design(f"y ~ {right}", data, scope={})
    design = make_design(f"y ~ {right}", data.assign(taxon_3=1, taxon_4=2), scope={})
    assert design.names[1:] == (
        "scale(clr(taxon_1))",
        "scale(clr(taxon_2))",
        "clr(taxon_3):age",
        "clr(taxon_4):age",
    )
    np.testing.assert_allclose(design.matrix[:, 1:3].std(axis=0), 1)
    np.testing.assert_allclose(
        design.matrix[:, 4], data["age"] * np.log(2) / 2, rtol=1e-12
    )


def test_odd_names_and_sums_of_parts(data):
    odd = data.rename(columns={"taxon_1": "odd name", "taxon_2": "clr"})
    design = make_design(
        'y ~ clr(columns("odd*"), clr, taxon_3 + taxon_4, pseudocount=1)', odd, scope={}
    )
    assert design.names[1:] == (
        "clr(Q('odd name'))",
        "clr(clr)",
        "clr(taxon_3 + taxon_4)",
    )
    sums = data["taxon_3"] + data["taxon_4"]
    parts = np.column_stack([data["taxon_1"], data["taxon_2"], sums]) + 1.0
    np.testing.assert_allclose(design.matrix[:, 1:], textbook(parts), atol=1e-12)


# ---- what is learnt ----


RIGHT = 'clr(columns("taxon_*"), pseudocount=0.5, prevalence=0.1)'


def test_the_frequent_parts_are_those_of_the_training_rows(data):
    assert 0.1 < (data[RARE] > 0).mean() < 0.25
    design = make_design(f"y ~ {RIGHT}", data, scope={})
    assert design.terms.stateful
    x = data[TAXA].to_numpy() + 0.5
    np.testing.assert_allclose(design.matrix[:, 1:], textbook(x), atol=1e-12)
    out = FOLDS == 0
    fitted, held_out = design.fold(np.flatnonzero(~out), np.flatnonzero(out))
    without = np.column_stack([textbook(x[:, :5]), np.zeros(N)])
    np.testing.assert_allclose(fitted[:, 1:], without[~out], atol=1e-12)
    np.testing.assert_allclose(held_out[:, 1:], without[out], atol=1e-12)


def by_hand(data, chosen_in):
    """Predict every fold by scikit-learn, with parts chosen in the given rows."""
    predicted = np.empty(N)
    for fold in range(5):
        out = FOLDS == fold  # noqa: SIM300
        rows = ~out if chosen_in == "training" else np.ones(N, dtype=bool)
        present = (data.loc[rows, TAXA] > 0).mean()
        kept = [taxon for taxon in TAXA if present[taxon] > 0.1]
        model = make_pipeline(
            FunctionTransformer(lambda x: textbook(x + 0.5)),
            LogisticRegression(C=0.5, tol=1e-10, max_iter=1000),
        )
        x = data[kept].to_numpy()
        model.fit(x[~out], data["y"][~out])
        predicted[out] = model.predict_proba(x[out])[:, 1]
    return predicted


def test_parts_are_chosen_again_in_every_fold(data):
    model = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000)
    result = cv(f"y ~ {RIGHT}", data, model=model, scheme=FOLDS, seed=1)
    predicted = result.predictions.set_index("row")["predicted"].loc[data.index]
    np.testing.assert_allclose(predicted, by_hand(data, "training"), atol=1e-6)
    assert np.abs(predicted - by_hand(data, "all")).max() > 1e-3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize(
    "scheme", ["loocv", "rloocv", "stratified_kfold", "rlpocv", "montecarlo"]
)
def test_in_every_scheme(data, scheme):

    extra = {"rlpocv": {"p": 5}, "rloocv": {"repeats": 1}}.get(scheme, {})
    some = data.iloc[:30]
    for right in (RIGHT, 'clr(columns("taxon_*"), pseudocount=1)'):
        result = cv(
            f"y ~ {right}", some, model=Logit(C=1.0), scheme=scheme, seed=1, **extra
        )
        assert result.predictions["predicted"].between(0, 1).all()


def test_new_rows(data):
    result = cv(f"y ~ {RIGHT}", data, model=LogisticRegression(), k=3, seed=1)
    new = data.iloc[:5].reset_index(drop=True)
    expected = result.predict(data).iloc[:5]
    np.testing.assert_allclose(result.predict(new), expected)
    with pytest.raises(ColumnError, match="taxon_3"):
        result.predict(new.drop(columns="taxon_3"))
    negative = new.assign(taxon_2=-1)
    with pytest.raises(DataError, match=r"'taxon_2' is negative in 5 of 5 rows"):
        result.predict(negative)


def test_missing_parts_make_the_row_missing(data):
    gap = data.astype({"taxon_2": float})
    gap.loc[3, "taxon_2"] = np.nan
    formula = 'y ~ clr(columns("taxon_*"), pseudocount=1)'
    design = make_design(formula, gap, scope={}, na_action="pass")
    assert np.isnan(design.matrix[3, 1:]).all()
    assert np.isfinite(np.delete(design.matrix, 3, axis=0)).all()
    assert make_design(formula, gap, scope={}).n == N - 1
    with pytest.raises(FormulaError, match="cannot be learnt with na_action='pass'"):
        make_design(f"y ~ {RIGHT}", gap, scope={}, na_action="pass")


# ---- invalid terms ----


@pytest.mark.parametrize(
    ("term", "error", "match"),
    [
        (
            'clr(columns("taxon_*"))',
            DataError,
            r"'taxon_6' is 0 in 48 of 60 rows.*othe",
        ),
        ("clr(taxon_1)", FormulaError, "two parts or more, not 1"),
        ("clr()", FormulaError, "two parts or more, not 0"),
        ("clr(taxon_1, kind)", FormulaError, "'kind' is not numeric"),
        ("clr(taxon_1, age - 200)", DataError, "is negative in 60 of 60"),
        ("clr(taxon_1, age, pseudocount=0)", FormulaError, "above 0 to every part"),
        ("clr(taxon_1, age, pseudocount='a')", FormulaError, "above 0 to every part"),
        ("clr(taxon_1, age, prevalence=1)", FormulaError, "from 0 to below 1, not 1"),
        ("clr(taxon_5, taxon_6, prevalence=0.9)", FormulaError, "a ratio needs two"),
        ("clr(taxon_1, nothing)", ColumnError, "no column 'nothing'"),
        ('clr(columns("taxa_*"))', ColumnError, "matches 'taxa_"),
        ("clr(columns(taxon_1))", FormulaError, "patterns in quotes"),
        ("clr(columns())", FormulaError, "patterns in quotes"),
        ('columns("taxon_*")', FormulaError, "not a term by itself"),
        ('clr(columns("*"))', FormulaError, "both sides"),
    ],
)
def test_invalid_terms_raise_an_error(data, term, error, match):
    with pytest.raises(error, match=match):
        make_design(f"y ~ {term}", data, scope={})


def test_a_training_set_without_frequent_parts_is_named(data):
    scarce = data.assign(taxon_1=np.where(FOLDS == 1, 1, 0), taxon_2=1)
    with pytest.raises(FormulaError, match=r"in fold 1: clr\(\): 1 of 2 parts"):
        cv(
            "y ~ clr(taxon_1, taxon_2, prevalence=0, pseudocount=1)",
            scarce,
            scheme=FOLDS,
            model=Logit(C=1.0),
        )


def test_patterns_in_functions_of_the_script(data):
    def total(*parts):
        return sum(parts)

    design = make_design('y ~ total(columns("taxon_*"))', data, scope={"total": total})
    np.testing.assert_array_equal(design.matrix[:, 1], data[TAXA].sum(axis=1))
    assert design.names[1] == 'total(columns("taxon_*"))'


def test_a_design_with_parts_pickles(data):
    import pickle

    design = make_design(f"y ~ {RIGHT}", data, scope={})
    again = pickle.loads(pickle.dumps(design))
    assert again.names == design.names
    np.testing.assert_array_equal(again.matrix, design.matrix)


@pytest.mark.slow
def test_loocv_of_parts_warns_as_for_other_terms(data):
    with pytest.warns(DistributionalBiasWarning):
        cv(f"y ~ {RIGHT}", data, model=LogisticRegression(), scheme="loocv")


def test_a_composition_is_not_an_outcome(data):
    with pytest.raises(FormulaError, match="has 2 columns; an outcome has one"):
        make_design("clr(taxon_3, age) ~ taxon_1", data.assign(taxon_3=1), scope={})
