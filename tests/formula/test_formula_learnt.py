"""Terms learnt in all training sets together are those that patsy learns in each."""

import numpy as np
import pandas as pd
import patsy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.formula import TrainingSets, make_design

N = 50


def shifted(x):
    return x + 1


def lowest():
    class Lowest:
        def memorize_chunk(self, x):
            self.low = min(x)

        def memorize_finish(self):
            pass

        def transform(self, x):
            return x - self.low

    return patsy.stateful_transform(Lowest)


SCOPE = {"np": np, "shifted": shifted, "lowest": lowest()}


def frame():
    rng = np.random.default_rng(8)
    made = pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "a": rng.normal(50, 20, N),
            "b": rng.normal(size=N),
            "c": rng.exponential(size=N),
            "k": rng.integers(0, 9, N),
            "g": rng.choice(list("uvw"), N),
            "odd name": rng.normal(2000, 1, N),
            "z1": rng.poisson(1, N),
            "z2": rng.poisson(0.5, N),
            "z3": rng.poisson(3, N),
        }
    )
    made.loc[0, "a"] = 1e4
    return made


def times():
    """Leave out one record, or ten; or draw with replacement."""
    rng = np.random.default_rng(9)
    made = np.ones((9, N), dtype=int)
    made[np.arange(4), [0, *rng.integers(1, N, 3)]] = 0
    for fit in (4, 5):
        made[fit, rng.permutation(N)[:10]] = 0
    for fit in (6, 7, 8):
        made[fit] = np.bincount(rng.integers(0, N, N), minlength=N)
    return made


def sets_of(times):
    owner, row = np.nonzero(times != 1)
    return TrainingSets(times.shape[1], len(times), owner, row, times[owner, row])


def assert_as_patsy(term, sets, data):
    design = make_design(f"y ~ {term}", data, scope=SCOPE)
    learnt = design.terms.learn_together(sets)
    assert learnt is not None, f"{term} is learnt by patsy"
    every = np.arange(N)
    together = learnt.matrices(np.arange(sets.fits))
    for fit in range(sets.fits):
        rows = sets.rows(fit)
        fitted, others = design.fold(rows, every)
        size = np.abs(fitted).max(axis=0) + 1e-300
        found = learnt.matrix(fit, rows)
        np.testing.assert_allclose(found / size, fitted / size, rtol=0, atol=1e-11)
        size = np.maximum(size, np.abs(others).max(axis=0))
        found = together[fit] / size
        np.testing.assert_allclose(found, others / size, rtol=0, atol=1e-11)
    last = learnt.chosen(np.array([sets.fits - 1])).matrix(0, every)
    np.testing.assert_allclose(last, together[-1], rtol=0, atol=1e-10)


TERMS = [
    "center(a)",
    "scale(a)",
    "standardize(k, rescale=False)",
    "scale(a, center=False, ddof=1)",
    "scale(Q('odd name'))",
    "poly(c, 2)",
    "poly(b, 4)",
    "bs(c, df=4)",
    "bs(k, df=6, degree=2)",
    "bs(c, knots=(.5, 1), include_intercept=True)",
    "bs(c, df=5, lower_bound=-1, upper_bound=20)",
    "cr(c, df=4)",
    "cr(c, knots=(.5, 1))",
    "cc(b, df=4)",
    "cr(c, df=4, constraints='center')",
    "cc(b, df=3, constraints='center')",
    "te(cr(b, df=3), cr(c, df=3))",
    "te(cr(b, df=3), cr(c, df=3), constraints='center')",
    "clr(z1, z2, z3, pseudocount=.5, prevalence=.4)",
    # nested
    "scale(np.log(c))",
    "scale(shifted(c))",
    "bs(center(a), df=4)",
    "bs(center(c), knots=(.5, 1), lower_bound=-2, upper_bound=20)",
    "cc(scale(b), df=4)",
    "center(scale(a))",
    "poly(-1 * scale(b), 3)",
    "scale(bs(b, df=4))",
    "scale(clr(z1, z2, z3, pseudocount=.5))",
    "scale(np.exp(scale(b)))",
    "I(scale(a)**2)",
    "I(2 * scale(a) + 1 - scale(b) / 3)",
    "I(-center(a) * b)",
    "np.log(scale(c) + 9)",
    "np.maximum(scale(a), scale(b))",
    # with other terms
    "g + scale(a) + b - 1",
    "g * scale(a)",
    "scale(a):b",
    "C(g):scale(a)",
    "C(g, Sum):bs(c, df=4)",
    "scale(a) * bs(b, df=4)",
    "poly(b, 2):poly(c, 2)",
    "k + scale(k) + poly(k, 2)",
    "shifted(b) + np.log(c) * scale(a)",
]


@pytest.mark.parametrize("term", TERMS)
def test_terms_are_those_that_patsy_learns(term):
    assert_as_patsy(term, sets_of(times()), frame())


SIMPLE = ["scale(a)", "center(b)", "poly(c, 2)", "bs(c, df=4)", "cr(b, df=3)", "g", "b"]


@given(
    st.lists(st.sampled_from(SIMPLE), min_size=1, max_size=3, unique=True),
    st.sampled_from(["+", ":", "*"]),
    st.integers(0, 10**6),
)
def test_any_formula_of_them_is_what_patsy_learns(parts, joint, seed):
    rng = np.random.default_rng(seed)
    drawn = np.where(rng.random((3, N)) < 0.9, 1, rng.integers(0, 3, (3, N)))
    term = f" {joint} ".join(parts) + " + scale(c)"
    assert_as_patsy(term, sets_of(drawn), frame())


@pytest.mark.parametrize(
    "term",
    [
        "lowest(a)",
        "np.where(scale(a) > 0, 1, 0)",
        "shifted(scale(a))",
        "bs(np.exp(scale(b)), df=4)",
        "poly(a, 4)",  # a polynomial loses digits without the outlier
    ],
)
def test_other_terms_are_left_to_patsy(term):
    data = frame()
    data.loc[0, "a"] = 1e6
    design = make_design(f"y ~ b + {term}", data, scope=SCOPE)
    assert design.terms.stateful
    assert design.terms.learn_together(sets_of(times())) is None


def test_a_training_set_in_which_a_term_fails_is_left_to_patsy():
    few = np.ones((2, N), dtype=int)
    few[1, 3:] = 0
    design = make_design("y ~ bs(c, df=4) + poly(b, 3)", frame(), scope=SCOPE)
    assert design.terms.learn_together(sets_of(few[:1])) is not None
    assert design.terms.learn_together(sets_of(few)) is None


def test_the_matrix_of_all_records_is_that_of_patsy():
    data = frame()
    term = "scale(a) * g + bs(c, df=4) + np.log(c)"
    design = make_design(f"y ~ {term}", data, scope=SCOPE)
    expected = patsy.dmatrix(term, data, return_type="dataframe")
    names = list(design.names)
    np.testing.assert_allclose(design.matrix, expected[names], rtol=1e-9, atol=1e-11)
    new, _ = design.new_matrix(data.iloc[:5])
    np.testing.assert_allclose(new, design.matrix[:5], rtol=1e-9, atol=1e-11)
