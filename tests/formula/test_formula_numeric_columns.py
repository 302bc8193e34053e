"""Many columns of numbers, read as one array, against columns read one by one."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.formula import make_design
from statcv.formula.language.terms import MIN_COLUMNS, NumericColumns


def wide(p=MIN_COLUMNS, n=40):
    rng = np.random.default_rng(p)
    data = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    data.index = data.index + 7
    return data.assign(y=np.arange(n) % 2)


@pytest.mark.parametrize("formula", ["y ~ .", "y ~ . + x1:x3", "y ~ 0 + scale(x0) + ."])
@pytest.mark.parametrize("lost", [0, 3])
def test_the_design_is_that_of_columns_read_one_by_one(monkeypatch, formula, lost):
    data = wide()
    data.loc[data.index[:lost], "y"] = np.nan
    found = make_design(formula, data, scope={})
    assert isinstance(found.terms.columns, NumericColumns)
    monkeypatch.setattr("statcv.formula.language.terms.MIN_COLUMNS", 10**6)
    expected = make_design(formula, data, scope={})
    assert isinstance(expected.terms.columns, dict)
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert found.names == expected.names
    assert found.labels.equals(expected.labels)
    pd.testing.assert_frame_equal(found.terms.frame, expected.terms.frame)


def test_other_columns_are_read_one_by_one():
    names = tuple(f"x{j}" for j in range(MIN_COLUMNS))
    data = wide()
    assert NumericColumns.of(data, names) is not None
    assert NumericColumns.of(data, names[1:]) is None
    assert NumericColumns.of(data.assign(x5=1), names) is None
    missing = data.assign(x5=data["x5"].where(data["x5"] > 0))
    assert NumericColumns.of(missing, names) is None
    with pytest.warns(scv.errors.MissingDataWarning, match="missing x5"):
        scv.cv("y ~ .", missing, model=scv.models.Logit(C=0.1), k=4, seed=1)
