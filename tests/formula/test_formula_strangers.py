"""An untrusted formula can use only columns and functions that compute."""

import builtins
import functools
import operator
import os
import shutil
import subprocess
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from statcv import cv, fold_plan
from statcv.cli import main as cli
from statcv.errors import ColumnError, FormulaError
from statcv.formula import make_design
from statcv.formula.language.permitted import METHODS

HOSTILE = [
    "__import__('os').system('touch {file}')",
    "exit()",
    "quit()",
    "open('{file}', 'w')",
    "eval('1')",
    "exec('import os')",
    "compile('1', 'a', 'eval')",
    "getattr(x, 'to_csv')('{file}')",
    "setattr(x, 'name', 'y')",
    "vars(np)",
    "globals()",
    "input()",
    "breakpoint()",
    "print(x)",
    "x.to_csv('{file}')",
    "x.to_pickle('{file}')",
    "x.to_numpy().tofile('{file}')",
    "x.values.tofile('{file}')",
    "x.map(open)",
    "x.apply(print)",
    "x.pipe(print)",
    "x.update(z)",
    "x.clip(0, 1, inplace=True)",
    "x.fillna(0, inplace=True)",
    "x.clip(0, 1, **{{'inplace': True}})",
    "x.__class__",
    "x.__class__.__mro__[1].__subclasses__()",
    "x._mgr",
    "().__class__.__bases__",
    "'{{0.__class__}}'.format(x)",
    "f'{{x.__class__}}'",
    "np.save('{file}', x)",
    "np.savetxt('{file}', x)",
    "np.load('{file}')",
    "np.fromfile('{file}')",
    "np.memmap('{file}', mode='w+', shape=3)",
    "np.lib.npyio.os.system('touch {file}')",
    "np.ctypeslib.ctypes.CDLL(None)",
    "np.frompyfunc(print, 1, 1)(x)",
    "np.vectorize(print)(x)",
    "np.exp(z, x)",
    "np.exp(z, out=x)",
    "np.clip(z, 0, 1, x)",
    "np.where.__self__",
    "np.exp.at(x, [0])",
    "np.copyto(x, z)",
    "pd.read_csv('{file}')",
    "pd.read_pickle('{file}')",
    "pd.eval('x')",
    "os.remove('{file}')",
    "os.system('touch {file}')",
    "own.path.touch()",
    "subprocess.run(['touch', '{file}'])",
    "run(['touch', '{file}'])",
    "system('touch {file}')",
    "rmtree('{folder}')",
    "Path('{file}').touch()",
    "write(x)",
    "twice(open)",
    "twice(os.system)",
    "twice(x.to_csv)",
    "twice(np)",
    "(lambda: 0)()",
    "[x for x in ().__class__.__bases__]",
    "(y := x)",
    "twice(*[x])",
    "[np.save][0]('{file}', x)",
    "(np.save if 1 else np.log)('{file}', x)",
]


def twice(values):
    return 2 * values


@pytest.fixture
def data():
    return pd.DataFrame(
        {"y": np.tile([0, 1], 10), "x": np.arange(20.0), "z": np.linspace(1, 2, 20)}
    )


@pytest.mark.parametrize("term", HOSTILE)
@pytest.mark.parametrize("side", ["right", "left"])
def test_hostile_formulas_do_nothing(data, tmp_path, capsys, term, side):
    file, kept = tmp_path / "made", tmp_path / "kept"
    kept.write_text("still here")
    term = term.format(file=file, folder=tmp_path)
    scope = {
        **{"np": np, "pd": pd, "os": os, "subprocess": subprocess, "own": os},
        **{"run": subprocess.run, "system": os.system, "rmtree": shutil.rmtree},
        **{"Path": Path, "write": data["x"].to_csv, "twice": twice},
    }
    before = data.copy(deep=True)
    formula = f"y ~ z + {term}" if side == "right" else f"{term} ~ z"
    with pytest.raises((FormulaError, ColumnError)):
        make_design(formula, data, scope=scope)
    assert sorted(tmp_path.iterdir()) == [kept]
    assert capsys.readouterr().out == ""
    pd.testing.assert_frame_equal(data, before)


def test_every_builtin_raises_an_error(data):
    for name in vars(builtins):
        if name.isidentifier() and callable(getattr(builtins, name)):
            if name in ("abs", "round"):  # R's, which are NumPy's
                continue
            with pytest.raises((FormulaError, ColumnError)):
                make_design(f"y ~ {name}(x)", data, scope=vars(builtins))


def test_only_elementwise_functions_of_numpy_are_called(data):
    called = []
    for name in dir(np):
        try:
            make_design(f"y ~ twice(np.{name})", data, scope={"np": np, "twice": twice})
        except FormulaError as error:
            if "failed" not in str(error) and "values for" not in str(error):
                continue
        value = getattr(np, name)
        if not isinstance(value, (np.ufunc, int, float)):
            called.append(name)
    assert sorted(called) == [
        *("around", "clip", "digitize", "interp", "isclose", "isin", "round"),
        *("select", "sinc", "where"),
    ]


def test_no_listed_method_writes():
    for name in METHODS[None] | METHODS["str"] | METHODS["dt"]:
        assert not name.startswith(("to_", "_"))


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("open('a')", ["open()", "a function of Python's own"]),
        ("exp(z, x)", ["2 arguments", "reads 1"]),
        ("x.to_csv('a')", [".to_csv()", "add a column to the data first"]),
        ("np.save('a', x)", ["np.save", "not an elementwise function"]),
        ("x.__class__", ["begin with an underscore"]),
        ("np.exp(z, out=x)", ["out=", "write into"]),
        ("np.exp(z, x)", ["2 arguments", "reads 1"]),
        ("own.twice(x)", ["Import twice by name"]),
    ],
)
def test_errors_say_what_to_do(data, term, words):
    import types

    own = types.ModuleType("own")
    own.twice = twice
    with pytest.raises(FormulaError) as error:
        make_design(f"y ~ {term}", data, scope={"np": np, "own": own})
    for word in words:
        assert word in str(error.value)


def test_functions_named_in_the_script_are_called(data):
    scope = {"thrice": functools.partial(np.multiply, 3), "twice": twice}
    design = make_design("y ~ thrice(z)", data, scope=scope)
    np.testing.assert_array_equal(design.matrix[:, 1], 3 * data["z"])
    result = cv("x ~ twice(z)", data, k=4, seed=1)
    np.testing.assert_array_equal(result.design.matrix[:, 1], 2 * data["z"])


@pytest.mark.parametrize(
    "lent",
    [
        pd.read_csv, pd.DataFrame.to_csv, np.load, np.save, open, os.system, eval,
        joblib.load, joblib.dump, Path("made").write_text, Path,
        functools.partial(open), functools.partial(open, "made", "w"),
        functools.partial(functools.partial(os.system), "touch made"),
        functools.partial(twice, open), functools.partial(twice, values=os.remove),
        functools.cache(open), functools.lru_cache(maxsize=2)(pd.read_csv),
        staticmethod(open), operator.methodcaller("to_csv", "made"),
        np.vectorize(eval), np.vectorize(functools.partial(open)),
        np.frompyfunc(eval, 1, 1), pd.Series([1]).to_csv, subprocess.run,
    ],
)  # fmt: skip
@pytest.mark.parametrize("term", ["lent(x)", "hand(lent, x)", "own.lent(x)"])
def test_what_reads_or_writes_is_not_lent(data, tmp_path, monkeypatch, lent, term):
    import types

    monkeypatch.chdir(tmp_path)
    own = types.ModuleType("own")
    own.lent = lent
    scope = {"lent": lent, "own": own, "hand": lambda function, x: x}
    with pytest.raises(FormulaError):
        make_design(f"y ~ {term}", data, scope=scope)
    assert not any(tmp_path.iterdir())


def test_wrappers_of_functions_of_the_script_are_lent(data):
    wrappers = [
        lambda x: 2 * x, twice, functools.partial(twice), functools.cache(twice),
        np.vectorize(twice), functools.partial(np.multiply, 2), np.poly1d([2, 0]),
    ]  # fmt: skip
    for lent in wrappers[:3] + wrappers[4:]:
        design = make_design("y ~ lent(z)", data, scope={"lent": lent})
        np.testing.assert_array_equal(design.matrix[:, 1], 2 * data["z"])
    make_design("y ~ hand(lent, z)", data, scope={"lent": wrappers[3], "hand": _hand})


def _hand(function, x):
    return x


LONG = "aaaaaaaaaa"
MANY = [f"v{i}" for i in range(30)]
COSTLY = [
    ("I(9**9**9)", "300 digits"), ("I(x + (1 << 10**10))", "300 digits"),
    ("I(x**(10**9))", "300 digits"), ("I(x + " + "9" * 5000 + ")", "cannot read"),
    ("x.between(0, 10**400)", "300 digits"),
    ("g.str.zfill(10**9)", "computes"), ("g.str.zfill(1000000000)", "1,000"),
    ("g.str.slice(0, 10**9)", "computes"), ("g.isin(['a'] * 10**9)", "list"),
    ("np.where(x > 0, 'a' * 10**9, 'b')", "text"), ("'%1000000000d' % x", "text"),
    ("np.log(g * 10**9)", "failed"), ("np.log(g * 1000 * 1000 * 1000)", "failed"),
    ("g.astype('S1000000000')", "width"),
    (f"g{f'.str.replace(*{chr(39)}a{chr(39)})' * 4}", "3 calls|Python"),
    ("g" + ".str.replace('a', 'aaaaaaaaa')" * 4, "3 calls"),
    ("g.str.contains('(a+)+$')", "group"), ("g.str.match('(a|a)*$')", "group"),
    ("g.str.contains('(a' + '+)+$')", "computes"),
    ("g.str.count('(?:a?){30}')", "group"),
    ("g.replace('(a+)+$', 'b', regex=True)", "group"),
    ("g.replace({'(a+)+$': 'b'}, regex=True)", "group"),
    ("g.str.contains('.*.*.*.*x')", "3 quantifiers"),
    ("g.str.contains('" + "a?" * 9 + LONG + "')", "3 quantifiers"),
    ("g.str.contains('" + "a" * 201 + "')", "200 characters"),
    ("clr(columns('" + "*a" * 200 + "'))", "200 characters"),
    ("bs(x, df=1000000)", "1,000 columns"), ("bs(x, df=10**6)", "computes"),
    ("poly(x, 100000)", "1,000 columns"), ("cr(x, df=100000)", "1,000 columns"),
    ("te(cr(x, df=90), cr(z, df=90))", "1,000 columns"),
    ("bs(x, df=40):bs(z, df=40)", "1,000 columns"),
    ("pd.cut(x, 1000000000)", "1,000 columns"), ("bs(x, 5, degree=5000)", "1,000"),
    (f"({'+'.join(MANY)})**20", "interactions"), ("*".join(MANY), "interactions"),
    (f"({'+'.join(MANY)})**4", "50,000 interactions"),
    (" + ".join(f"I(x + {i})" for i in range(20_000)), "20,000"),
    (" + ".join(f"I(x+{i})" for i in range(1_100)), "1,000 terms"),
    ("I(" + "-" * 4000 + "x)", "cannot read"),
]  # fmt: skip


@pytest.fixture
def many(data):
    more = pd.DataFrame(np.eye(20, 30), columns=MANY)
    return data.assign(g=[LONG * 3 + "b", "b"] * 10).join(more)


@pytest.mark.parametrize(("term", "limit"), COSTLY, ids=range(len(COSTLY)))
def test_the_cost_of_a_formula_is_bounded(many, term, limit):
    with pytest.raises(FormulaError, match=limit):
        make_design(f"y ~ {term}", many, scope={"np": np, "pd": pd})


@pytest.mark.parametrize(
    "term",
    [
        "I(x * 10**6)", "I(x * 1000000)", "x.clip(0, 10**6)", "I(x**3)", "I(x % 7)",
        "g.str.contains('^a+b$')", "g.str.zfill(50)", "g.str.contains('(?:a|c)')",
        "I((g == 'b') * 2000)", "poly(x, 3)", "bs(x, df=5):bs(z, df=5)", "(x + z)**9",
        "te(cr(x, df=4), cr(z, df=4))", "pd.cut(x, [-1, 5, 50])",
    ],
)  # fmt: skip
def test_usual_terms_are_within_the_limits(many, term):
    design = make_design(f"y ~ {term}", many, scope={"np": np, "pd": pd})
    assert len(design.matrix) == 20


def test_columns_may_be_as_many_as_the_data_have():
    names = [f"a_column_with_a_long_name_{i}" for i in range(3_000)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4, 3_000)), columns=names).assign(
        y=[0, 1] * 2
    )
    assert (
        make_design(f"y ~ {' + '.join(names)}", frame, scope={}).matrix.shape[1] == 3001
    )


def test_a_column_with_the_name_of_a_builtin_is_not_a_function(data):
    data = data.assign(open=data["z"])
    with pytest.raises(FormulaError, match="Python's own"):
        make_design("y ~ open(x)", data, scope={})
    assert make_design("y ~ open", data, scope={}).names[1] == "open"


def test_the_command_offers_numpy_only(data, tmp_path, capsys):
    file = tmp_path / "d.csv"
    data.to_csv(file, index=False)
    for term in ("make_folder('made')", "os.mkdir('made')", "Path('made')"):
        assert cli.main(["cv", f"y ~ {term}", str(file)]) == 2
        err = capsys.readouterr().err
        assert any(why in err for why in ("Python's own", "calls", "no column 'os'"))
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


def test_fold_plans_read_formulas_as_strictly(data, tmp_path):
    with pytest.raises(FormulaError, match="to_csv"):
        fold_plan(f"x.to_csv('{tmp_path / 'made'}') ~ z", data)
    assert not any(tmp_path.iterdir())


def test_what_is_handed_to_a_function_is_checked_as_what_is_called(data):
    handed = []

    def hand(function, x):
        handed.append(function)
        return 2 * x

    scope = {"hand": hand, "twice": twice, "system": os.system, "os": os}
    design = make_design("y ~ hand(twice, x)", data, scope=scope)
    assert handed[0] is twice
    np.testing.assert_array_equal(design.matrix[:, 1], 2 * data["x"])
    handed.clear()
    for name in ("system", "os.system", "os"):
        with pytest.raises(FormulaError):
            make_design(f"y ~ hand({name}, x)", data, scope=scope)
    assert not handed


@pytest.mark.parametrize("code", ["as.factor(x)", "s(x)"])
def test_a_function_of_r_is_answered_with_what_does_the_same(data, code):
    with pytest.raises(FormulaError, match=r"there is no [a-z.]+\(\) in formulas"):
        make_design(f"y ~ {code}", data, scope={})
