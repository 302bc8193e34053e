"""Equations of fitted models, executed in every language that they are written in.

R's numbers are those of the functions in tests/reference/equations.R, which
`python tests/results/test_results_equation.py` writes with their data.
"""

import json
import re
import shutil
import sqlite3
import subprocess
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import EquationError
from statcv.models import Cox, Linear, Logit

REFERENCE = Path(__file__).parents[1] / "reference"
CASES = {
    "covariates": ("died ~ age + sex", Logit()),
    "splines": ("died ~ bs(age, df=5) * sex + log(crp) + race", Logit(C=1.0)),
    "natural": ("died ~ cr(age, df=4) + poly(bmi, 2) + C(grade) + flag", Logit()),
    "odd": (
        "died ~ center(age):scale(bmi) + I(crp > 2) + np.where(age > 50, 1, 0)"
        " + log10(crp) + I((age - 50)**2) + `odd name`",
        Logit(firth=True),
    ),
    "contrasts": (
        "died ~ C(race, Sum) + C(grade, Treatment(2)) + np.clip(bmi, 20, 30)",
        Logit(flic=True),
    ),
    "no intercept": ("died ~ 0 + race + age + flag:bmi", Logit()),
    "steps": ("died ~ bs(age, df=2, degree=0) + I(~flag) + abs(bmi - 25)", Logit()),
    "truths": ("died ~ C(race == 'white') + np.exp(-crp) + sqrt(age)", Logit()),
    "classes": ("stage ~ age + bs(bmi, df=4) + sex", Logit()),
    "ridge of classes": ("stage ~ scale(age) + race", Logit(C=0.5)),
    "number": ("cost ~ poly(age, 3) + race:flag", Linear()),
    "wave number": ("cost ~ sin(age / 10) + np.cos(bmi) * tan(crp / 100)", Linear()),
    "shares": ("died ~ clr(crp, bmi, age)", Logit(C=1.0)),
    "learnt shares": (
        "died ~ clr(crp, bmi, age, prevalence=0.5, pseudocount=0.5) + sex",
        Logit(C=1.0),
    ),
    "one number": ("cost ~ bs(bmi, knots=[25, 30], degree=2) + log1p(crp)", Linear()),
    "times": ("Surv(time, status) ~ age + sex", Cox()),
    "times in splines": (
        "Surv(time, status) ~ bs(age, df=5) * sex + log(crp) + race",
        Cox(C=1.0, ties="breslow"),
    ),
    "times alone": ("Surv(time, status) ~ 0 + bmi", Cox()),
    "times without covariates": ("Surv(time, status) ~ 1", Cox()),
}
HORIZONS = {
    "times": 3,
    "times in splines": [0.5, 2, 6.5],
    "times without covariates": [1, 2],
}


def people(n=400, seed=7):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n).round(1),
            "bmi": rng.normal(27, 4, n).round(2),
            "crp": rng.lognormal(1, 1, n).round(3),
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["white", "black", "other 'x' & \"y\""], n),
            "grade": rng.integers(1, 4, n),
            "flag": rng.random(n) < 0.3,
            "odd name": rng.normal(size=n).round(3),
        }
    )
    eta = (made.age - 50) / 20 + 0.5 * (made.sex == "m") + np.log(made.crp) / 2
    made["died"] = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    noisy = eta + rng.logistic(size=n)
    made["stage"] = np.select([noisy > 1, noisy > 0], ["late", "middle"], "early")
    made["cost"] = (eta + rng.normal(size=n)).round(4)
    made["time"] = np.ceil(10 * rng.exponential(np.exp(2 - eta / 2))) / 10  # ties
    made["status"] = rng.random(n) < 0.7
    return made


def new_people():
    """Return 200 records, of which four lie beyond the knots."""
    made = people(200, seed=8)
    made.loc[[0, 1], "age"] = 5.0, 110.0
    made.loc[[2, 3], "bmi"] = 10.0, 60.0
    return made


FITTED = {}


def fitted(name):
    if name not in FITTED:
        formula, model = CASES[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more = {"k": 5, "seed": 1, "horizon": HORIZONS.get(name)}
            FITTED[name] = scv.cv(formula, people(), model=model, **more).final
    return FITTED[name]


def expected(name):
    return fitted(name).predict(new_people()).to_numpy().squeeze()


def named(equation):
    several = len(equation.predicted) > 1
    ends = equation.predicted if several else ()
    return [f"predicted_{one}" for one in ends] or ["predicted"]


@pytest.mark.parametrize("name", CASES)
def test_an_equation_predicts_as_the_model(name):
    found = fitted(name).equation().predict(new_people()).squeeze()
    np.testing.assert_allclose(found, expected(name), atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_digits_that_are_printed_change_no_prediction_by_a_millionth(name):
    equation = fitted(name).equation()
    few, all_digits = equation.rounded(equation.digits), equation
    size = people().cost.std(ddof=0) if name.endswith("number") else 1
    change = np.abs(few.predict(people()) - all_digits.predict(people())).max()
    assert change < 1e-6 * size
    fewer = np.abs(equation.rounded(equation.digits - 1).predict(people()))
    if equation.digits > 3:
        change = np.abs(fewer - all_digits.predict(people())).max()
        assert change >= 1e-6 * size


@pytest.mark.parametrize("name", CASES)
def test_python(name):
    scope = {}
    exec(fitted(name).equation().to_python("risk"), scope)
    rows = [scope["risk"](row) for row in new_people().to_dict("records")]
    found = [list(one.values()) if isinstance(one, dict) else one for one in rows]
    np.testing.assert_allclose(found, expected(name), atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_duckdb_and_sqlite(name):
    equation, new = fitted(name).equation(), new_people()
    query, columns = equation.to_sql("new people"), named(equation)
    with duckdb.connect() as duck:
        duck.register("new people", new)
        found = duck.execute(query).df()[columns].to_numpy().squeeze()
    np.testing.assert_allclose(found, expected(name), atol=1e-9)
    lite = sqlite3.connect(":memory:")
    try:
        lite.execute("SELECT EXP(1.0), LN(1.0), POWER(1.0, 2), SQRT(1.0)")
    except sqlite3.OperationalError:
        pytest.skip("SQLite has no mathematical functions here")
    new.to_sql("new people", lite, index=False)
    found = pd.read_sql_query(query, lite)[columns].to_numpy().squeeze()
    lite.close()
    np.testing.assert_allclose(found, expected(name), atol=1e-9)


@pytest.mark.slow
def test_postgresql(postgres_server):
    _, psql = postgres_server
    new = new_people()
    kinds = {"f": "double precision", "i": "int", "b": "boolean"}
    columns = ", ".join(
        f'"{column}" {kinds.get(new[column].dtype.kind, "text")}' for column in new
    )
    psql(f"CREATE TABLE people (n int, {columns})")
    psql("COPY people FROM STDIN (FORMAT csv)", new.to_csv(header=False))
    for name in CASES:
        equation = fitted(name).equation()
        shown = ", ".join(f'"{column}"' for column in named(equation))
        query = f"SELECT {shown} FROM ({equation.to_sql('people')}) AS p ORDER BY n;"
        lines = psql(query).split()
        found = np.array([[float(x) for x in one.split("|")] for one in lines])
        np.testing.assert_allclose(found.squeeze(), expected(name), atol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("soffice"), reason="no LibreOffice here")
@pytest.mark.parametrize("name", CASES)
def test_spreadsheets(name, tmp_path):
    fitted(name).equation().to_excel(tmp_path / "risk.xlsx", new_people())
    as_text = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"
    command = ["soffice", f"-env:UserInstallation=file://{tmp_path}/user", "--headless"]
    command += ["--convert-to", as_text, "--outdir", str(tmp_path)]
    subprocess.run(
        [*command, str(tmp_path / "risk.xlsx")], check=True, capture_output=True
    )
    wide = 1 if expected(name).ndim == 1 else expected(name).shape[1]
    found = pd.read_csv(tmp_path / "risk.csv").iloc[:, -wide:].to_numpy(dtype=float)
    np.testing.assert_allclose(found.squeeze(), expected(name), atol=1e-9)


def test_an_empty_cell_gives_no_number_in_a_spreadsheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    fitted("covariates").equation().to_excel(tmp_path / "risk.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "risk.xlsx").active
    assert [cell.value for cell in sheet[1]][:2] == ["age", "sex"]
    assert sheet["C2"].value.startswith("=IF(COUNTBLANK(A2:B2)>0,NA(),")


def r_script():
    functions = [fitted(name).equation().to_r(as_r(name)) for name in CASES]
    calls = [f"  tidy({json.dumps(name)}, {as_r(name)}(people))" for name in CASES]
    return f"""# The equations of tests/results/test_results_equation.py, computed by R.
#
#   Rscript tests/reference/equations.R        (from the root of the repository)
#
# Writes equations_r.csv. The tests need no R.

{"".join(f"{one}{chr(10)}" for one in functions)}
people <- read.csv("tests/reference/equations_cases.csv", check.names = FALSE)
people$flag <- people$flag == "True"
tidy <- function(case, values) {{
  values <- as.matrix(values)
  data.frame(case = case, row = rep(seq_len(nrow(values)), ncol(values)),
             column = rep(seq_len(ncol(values)), each = nrow(values)),
             value = formatC(as.vector(values), digits = 17, format = "g"))
}}
table <- rbind(
{f",{chr(10)}".join(calls)}
)
write.csv(table, "tests/reference/equations_r.csv", row.names = FALSE, quote = 1)
"""


def as_r(name):
    return name.replace(" ", "_")


def without_numbers(code):
    return re.sub(r"\(?-?\b\d[\d.]*(e[+-]?\d+)?\)?", "#", code)


def test_r():
    stored = (REFERENCE / "equations.R").read_text()
    assert without_numbers(stored) == without_numbers(r_script())
    table = pd.read_csv(REFERENCE / "equations_r.csv")
    for name in CASES:
        own = table[table.case == name].pivot(index="row", columns="column")
        found = own["value"].to_numpy().squeeze()
        np.testing.assert_allclose(found, expected(name), atol=1e-9)


def test_a_saved_model_predicts_as_before(tmp_path):
    for name in CASES:
        final, path = fitted(name), tmp_path / f"{name}.json"
        final.save(path)
        read = scv.load_model(path)
        assert read.equation() == final.equation()
        found = read.predict(new_people()).to_numpy().squeeze()
        np.testing.assert_allclose(found, expected(name), atol=1e-11, rtol=1e-11)
        read.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"died"', '"lived"'), "was changed after"),
        (lambda text: text[:100], "damaged"),
        (lambda text: "[1, 2]", "not a file of a saved model"),
        (lambda text: text.replace("version 1", "version 9"), "has the format"),
        (lambda text: text.replace('"column"', '"colum"'), "damaged"),
    ],
)
def test_files_that_are_not_saved_models_are_refused(change, message, tmp_path):
    path = tmp_path / "model.json"
    fitted("covariates").save(path)
    path.write_text(change(path.read_text()))
    with pytest.raises(EquationError, match=message):
        scv.load_model(path)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(EquationError, match=r"there is no file .*absent\.json"):
        scv.load_model(tmp_path / "absent.json")


def test_data_that_do_not_fit_the_equation_are_named(tmp_path):
    fitted("covariates").save(tmp_path / "model.json")
    model, new = scv.load_model(tmp_path / "model.json"), new_people()
    with pytest.raises(scv.errors.ColumnError, match=r"'sex'.*age and sex"):
        model.predict(new.drop(columns="sex"))
    with pytest.raises(scv.errors.DataError, match="level 'x' in 1 row"):
        model.predict(new.assign(sex=["x", *new.sex[1:]]))
    with pytest.raises(scv.errors.DataError, match="'age' is text"):
        model.predict(new.assign(age=new.age.astype(str)))
    missing = model.predict(new.assign(age=[np.nan, *new.age[1:]]))
    assert missing.isna().tolist() == [True] + [False] * (len(new) - 1)


def as_array(x):
    return np.asarray(x) * 1.0


def doubled(x):
    return 2 * x + 1


@pytest.mark.parametrize(
    ("term", "why"),
    [
        ("cc(age, df=4)", "cc() is not a polynomial in pieces"),
        ("te(bs(age, df=3), bs(bmi, df=3))", "te() are not plain numbers"),
        ("np.sinh(age / 50)", "it uses sinh()"),
        ("np.digitize(age, [30, 50])", "it uses digitize()"),
        ("race.str.upper()", "it uses .str"),
        ("pd.cut(age, [0, 50, 100])", "needs the values"),
        ("np.clip(age, 20, None)", "other than single columns"),
        ("np.arctan(age / 50)", "it uses arctan()"),
        ("as_array(age)", "needs the values"),
        ("I(age % 10)", "it uses remainder()"),
    ],
)
def test_a_term_that_cannot_be_written_is_named(term, why):
    res = scv.cv(f"cost ~ 0 + bmi + {term}", people(), k=5, seed=1)
    with pytest.raises(EquationError) as caught:
        res.final.equation()
    message = str(caught.value)
    assert f"the term {term!r}" in message
    assert why in message
    assert "What can be written down are columns, levels" in message
    assert np.isfinite(res.final.predict(people())).all()


def test_levels_that_are_not_text_or_numbers_are_named():
    ages = people().assign(group=pd.cut(people().age, [0, 40, 100]))
    res = scv.cv("cost ~ bmi + group", ages, k=5, seed=1)
    with pytest.raises(EquationError, match=r"'group' .*type Interval.*astype\(str\)"):
        res.final.equation()


@pytest.mark.parametrize(
    "term",
    [
        "doubled(age)",
        "age.clip(20, 30)",
        "np.where(sex == 'm', age, 0)",
        "C(race != 'white')",
        "log(age, 2) + log2(crp)",
        "I((age > 30) & ~flag)",
        "cr(age, df=4, constraints='center')",
        "bs(scale(age), df=4)",
        "bs(crp, df=6)",
        "scale(age, center=False)",
        "poly(age, 7)",
        "bs(age, knots=[30, 30.1, 31])",
    ],
)
def test_a_term_of_operations_is_written(term):
    final = scv.cv(f"cost ~ {term}", people(), k=5, seed=1).final
    found = final.equation().predict(new_people())
    np.testing.assert_allclose(found, final.predict(new_people()), atol=1e-9, rtol=1e-9)


def test_fewer_events_than_coefficients_are_counted():
    rng = np.random.default_rng(1)
    few = pd.DataFrame(rng.normal(size=(90, 7)), columns=list("abcdefg"))
    few["y"] = (few.index % 15 == 0).astype(int)
    final = scv.cv("y ~ .", few, k=3, seed=1, model=Logit(firth=True)).final
    assert "g" in str(final.equation())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = scv.cv("y ~ .", few, k=3, seed=1).final
    with pytest.warns(scv.errors.PrecisionWarning, match="7 coefficients from 6 rec"):
        plain.equation()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: {"grade": pd.Categorical(data.grade)},
        lambda data: {"flag": pd.Categorical(data.flag)},
        lambda data: {
            "grade": data.grade.astype("Int64"),
            "sex": data.sex.astype(object),
        },
        lambda data: {
            "flag": data.flag.astype("boolean"),
            "grade": data.grade.astype(str),
        },
        lambda data: {"flag": data.flag.astype(object)},  # as files with empty cells
    ],
)
def test_columns_of_all_types_are_written(change, tmp_path):
    old, new = people(), new_people()
    old, new = old.assign(**change(old)), new.assign(**change(new))
    final = scv.cv("died ~ age + grade + flag + sex", old, k=4, seed=1).final
    final.save(tmp_path / "model.json")
    read = scv.load_model(tmp_path / "model.json")
    np.testing.assert_allclose(read.predict(new), final.predict(new), atol=1e-12)
    with duckdb.connect() as duck:
        duck.register("new", new)
        found = duck.execute(read.equation().to_sql("new")).df()["predicted"]
    np.testing.assert_allclose(found, final.predict(new), atol=1e-9)


def test_a_category_without_rows_is_not_a_level_of_the_data(tmp_path):
    fitted("covariates").save(tmp_path / "model.json")
    model, new = scv.load_model(tmp_path / "model.json"), new_people()
    levels = pd.Categorical(new.sex, categories=["f", "m", "x"])
    found = model.predict(new.assign(sex=levels))
    np.testing.assert_array_equal(found, model.predict(new))


def test_a_model_without_coefficients_has_no_equation():
    res = scv.cv("died ~ age + bmi", people(), model="neighbors", k=5, seed=1)
    with pytest.raises(EquationError, match="nearest"):
        res.final.equation()


def test_latex_and_markdown_have_a_line_for_each_term():
    for name in CASES:
        equation = fitted(name).equation()
        latex = equation.to_latex()
        assert latex.count("{") == latex.count("}")
        terms = sum(map(len, equation.parts))
        assert latex.count(r"\\" + "\n") + 1 >= terms
        assert equation.to_markdown().count("\n| ") >= terms
        assert max(map(len, str(equation).splitlines())) <= 80


def test_a_published_model_has_the_terms_of_its_names():
    model = scv.published_model(
        {
            "(Intercept)": -3.4,
            "age": 0.03,
            "sex[m]": 0.3,
            "age:sex[m]": 0.01,
            "log(crp)": 0.2,
            "I((bmi - 25)^2)": 0.002,
            "`odd name`": -0.1,
        },
        outcome="died",
        reference={"sex": "f"},
    )
    new = new_people()
    male = (new.sex == "m").astype(float)
    eta = -3.4 + 0.03 * new.age + 0.3 * male + 0.01 * new.age * male
    eta += 0.2 * np.log(new.crp) + 0.002 * (new.bmi - 25) ** 2 - 0.1 * new["odd name"]
    np.testing.assert_allclose(model.predict(new), 1 / (1 + np.exp(-eta)), rtol=1e-12)
    with pytest.raises(scv.errors.DataError, match="has the level 'x'"):
        model.predict(new.assign(sex="x"))


PUBLISHED = {"(Intercept)": -3.4, "age": 0.03, "sex[male]": 0.3, "race[white]": 0.1}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sex": ["M", "F"] * 100}, "DataError", r"'sex' has 'F', 'M'.*'male'"),
        ({"sex": ["Male", "female"] * 100}, "DataError", "'sex' has 'Male' in"),
        ({"sex": [1, 2] * 100}, "DataError", r"'sex' is not text.*such as 1"),
        ({"sex": [True, False] * 100}, "DataError", "'sex' is not text"),
        ({"age": ["old", "young"] * 100}, "DataError", "'age' is text.*'old'"),
        ({"age": [pd.Timestamp("2000-01-01")] * 200}, "DataError", "needs a number"),
        ({"age": None}, "ColumnError", r"lack 'age'.*age, sex and race"),
    ],
)
def test_data_of_another_coding_are_named(change, error, message):
    model = scv.published_model(PUBLISHED, outcome="died")
    new = new_people().replace({"sex": {"m": "male", "f": "female"}})
    assert model.predict(new).notna().all()
    assert model.predict(new[new.sex == "female"]).notna().all()
    absent = [name for name, values in change.items() if values is None]
    changed = new.drop(columns=absent) if absent else new.assign(**change)
    with pytest.raises(getattr(scv.errors, error), match=message):
        model.predict(changed)
    with pytest.raises(getattr(scv.errors, error), match=message):
        model.validate(changed)


def test_a_near_name_of_a_column_is_suggested():
    model = scv.published_model({"(Intercept)": 1, "Age": 0.03}, outcome="died")
    with pytest.raises(scv.errors.ColumnError, match="Did you mean 'age'"):
        model.predict(new_people())


def test_a_number_that_is_no_level_of_the_equation_is_named(tmp_path):
    fitted("natural").save(tmp_path / "model.json")
    model = scv.load_model(tmp_path / "model.json")
    with pytest.raises(
        scv.errors.DataError, match=r"'grade' has the level 7.*1.0, 2.0"
    ):
        model.predict(new_people().assign(grade=[7, *new_people().grade[1:]]))


def test_a_coefficient_that_is_the_rounding_of_0_is_not_printed():
    data = pd.DataFrame({"x": [0.0, 1, 0, 1] * 6, "y": [0, 0, 1, 1] * 6})
    written = str(scv.cv("y ~ x", data, k=4, seed=1).final.equation())
    assert "e-" not in written
    assert " x" not in written


def test_a_lasso_has_an_equation_of_the_terms_that_it_left():
    model = scv.models.Logit(C=0.3, l1_ratio=1.0, standardize=True)
    data = scv.load_data("spector")
    final = scv.cv("GRADE ~ GPA + TUCE + PSI", data, model=model, k=4, seed=1).final
    assert 0 < len(final.coefficients) < 4
    names = [part.name for part in final.equation().parts[0]]
    assert names == list(final.coefficients.index)
    np.testing.assert_allclose(
        final.equation().predict(data), final.predict(data), atol=1e-12
    )


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        ({"age +": 1.0}, {}, "cannot read the name"),
        ({"age": float("nan")}, {}, "finite number"),
        ({"sinh(age)": 1.0}, {}, r"'sinh\(age\)' cannot be written.*it uses sinh"),
        ({"spline(age)": 1.0}, {}, "it uses spline"),
        ({"age.__class__": 1.0}, {}, "it uses age.__class__"),
        ({"(lambda: age)()": 1.0}, {}, "cannot be written"),
        ({"np.log.__class__(age)": 1.0}, {}, "cannot be written"),
        ({"sex[m]": 1.0}, {"reference": {"sex": "m"}}, "reference level"),
        ({"age": 1.0}, {"reference": {"sex": "m"}}, "no level has a coefficient"),
        ({}, {}, "mapping"),
    ],
)
def test_coefficients_that_cannot_be_read_are_refused(given, more, message):
    with pytest.raises(scv.StatcvError, match=message):
        scv.published_model(given, **more)


def test_a_published_model_without_an_intercept_is_warned_of():
    with pytest.warns(scv.errors.StatcvWarning, match=r"no '\(Intercept\)'"):
        scv.published_model({"age": 0.03})
    scv.published_model({"age": 0.03}, kind="continuous")


def test_a_level_that_is_named_as_in_r_is_recognised():
    data = pd.DataFrame({"sex": ["m", "f"], "age": [50.0, 60.0]})
    model = scv.published_model({"(Intercept)": -3, "age": 0.03, "sexm": 0.4})
    with pytest.raises(scv.errors.ColumnError, match=r"'m' of 'sex': 'sex\[m\]'"):
        model.predict(data)


if __name__ == "__main__":
    new_people().to_csv(REFERENCE / "equations_cases.csv", index=False)
    (REFERENCE / "equations.R").write_text(r_script())
