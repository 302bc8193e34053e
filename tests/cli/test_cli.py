"""The command line: what it prints, writes and refuses."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.cli.main import main
from statcv.cli.parser import EXAMPLES
from statcv.folds import FoldPlan
from statcv.folds.strata import pads, register_sqlite

FORMULA = "GRADE ~ GPA + TUCE + PSI"
PNG = b"\x89PNG\r\n\x1a\n"
PAPER = {"table.tex", "table.md", "table.docx"}
SCRIPT = shutil.which("statcv", path=str(Path(sys.executable).parent))


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in an empty folder, with an empty cache of data sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STATCV_DATA", raising=False)
    monkeypatch.delenv("STATCV_TRACEBACK", raising=False)
    monkeypatch.setenv("STATCV_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""

    def call(*arguments: str) -> Ran:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        return Ran(code, *capsys.readouterr())

    return call


def script(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the installed command as a shell does."""
    assert SCRIPT, "the package is not installed beside this Python"
    return subprocess.run(
        [SCRIPT, *arguments],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


@pytest.fixture
def spector() -> pd.DataFrame:
    return scv.load_data("spector")


def files(folder: str) -> set[str]:
    found = Path(folder).rglob("*")
    return {p.relative_to(folder).as_posix() for p in found if p.is_file()}


# ---- statcv cv ----


def test_cv_prints_the_summary(run: Run, spector: pd.DataFrame) -> None:
    ran = run("cv", FORMULA, "spector", "--scheme", "rloocv", "--seed", "1")
    expected = scv.cv(FORMULA, spector, scheme="rloocv", seed=1).summary()
    assert ran == Ran(0, f"{expected}\n", "")


def test_cv_chooses_terms_in_every_fold(run: Run, spector: pd.DataFrame) -> None:
    given = ["-k", "4", "--seed", "1", "--select"]
    ran = run("cv", FORMULA, "spector", *given, "backward")
    expected = scv.cv(FORMULA, spector, k=4, seed=1, select="backward").summary()
    assert ran == Ran(0, f"{expected}\n", "")
    assert run("cv", FORMULA, "spector", *given, "sideways").code == 2


def test_cv_hands_every_option_on(run: Run, spector: pd.DataFrame) -> None:
    options = "--model logit --scheme kfold -k 4 --repeats 3 --positive 0 --level 0.8"
    more = "--metrics brier,auroc --weights TUCE --seed 5 --jobs 1 --quiet"
    folds = "--stratify PSI,TUCE --rebalance weight"
    given = [*options.split(), *more.split(), *folds.split()]
    ran = run("cv", "GRADE ~ GPA", "spector", *given)
    expected = scv.cv(
        "GRADE ~ GPA",
        spector,
        model="logit",
        scheme="kfold",
        k=4,
        repeats=3,
        stratify=["PSI", "TUCE"],
        rebalance="weight",
        positive="0",
        metrics=["brier", "auroc"],
        weights="TUCE",
        seed=5,
    ).summary(level=0.8)
    assert ran.code == 0
    assert ran.out == f"{expected}\n"
    assert "80%" in ran.out


@pytest.mark.slow
def test_cv_tunes_and_takes_up_what_a_checkpoint_keeps(
    run: Run, spector: pd.DataFrame
) -> None:
    call = ("cv", "GRADE ~ GPA", "spector", "-k", "4", "--tune", "C=0.1,1", "--out")
    first = run(*call, "one", "--checkpoint", "kept")
    again = run(*call, "two", "--checkpoint", "kept")
    assert first.code == again.code == 0
    assert Path("kept", "call.json").exists()
    tuned = pd.read_csv("one/tuned.csv")
    pd.testing.assert_frame_equal(tuned, pd.read_csv("two/tuned.csv"))
    assert set(tuned["C"]) <= {0.1, 1.0}
    other = run(*call, "three", "--checkpoint", "kept", "--seed", "1")
    assert other.code == 2
    assert "seed" in other.err
    firth = run(*call[:5], "--tune", "firth=True,False", "--out", "four")
    assert set(pd.read_csv("four/tuned.csv")["firth"]) <= {True, False}
    assert "firth of True, False chosen" in " ".join(firth.out.split())
    twice = run(*call[:5], "--tune", "C=1", "--tune", "C=2")
    assert "values of a name once" in twice.err
    refused = run(*call[:5], "--tune", "C")
    assert "'C' is not NAME=A,B" in refused.err


def test_a_column_may_hold_the_folds(run: Run, spector: pd.DataFrame) -> None:
    spector.assign(site=np.arange(32) % 4).to_csv("sites.csv", index=False)
    ran = run("cv", "GRADE ~ GPA", "sites.csv", "--scheme", "site")
    assert ran.code == 0
    assert "4 folds as given by site" in ran.out


@pytest.mark.parametrize("end", [".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet"])
def test_files_give_what_the_name_gives(
    run: Run, spector: pd.DataFrame, end: str
) -> None:
    if end == ".parquet":
        spector.to_parquet(f"mine{end}")
    else:
        spector.to_csv(f"mine{end}", sep="\t" if "tsv" in end else ",", index=False)
    by_name = run("cv", FORMULA, "spector", "--seed", "1")
    assert run("cv", FORMULA, f"mine{end}", "--seed", "1") == by_name
    assert by_name.code == 0


def test_an_unnamed_first_column_labels_the_rows(
    run: Run, spector: pd.DataFrame
) -> None:
    spector.set_axis([f"id{i}" for i in range(32)]).to_csv("labelled.csv")
    ran = run("cv", "GRADE ~ .", "labelled.csv", "--seed", "1", "--out", "o")
    assert ran.code == 0
    assert "id31" in set(pd.read_csv("o/predictions.csv")["row"])
    terms = ["Intercept", "GPA", "TUCE", "PSI"]
    assert list(pd.read_csv("o/coefficients.csv").columns[2:]) == terms


def test_formulas_find_numpy_and_no_variable_of_the_program(run: Run) -> None:
    logged = "np.log(GPA) + np.sqrt(TUCE)"
    assert run("cv", f"GRADE ~ {logged}", "spector").code == 0
    compared = run(
        "compare", f"GRADE ~ {logged}", "spector", "--models", "logit,negmean"
    )
    assert compared.code == 0
    assert f"GRADE ~ {logged}" in compared.out
    for name in ("data", "options", "results"):
        ran = run("cv", f"GRADE ~ {name}", "spector")
        said = f"there is no column {name!r} in the data. The columns are GPA, "
        assert ran.err == f"statcv: {said}TUCE, PSI, GRADE.\n"


def test_missing_values_are_noted_or_refused(run: Run, spector: pd.DataFrame) -> None:
    spector.loc[[3, 4], "GPA"] = np.nan
    spector.to_csv("holes.csv", index=False)
    dropped = run("cv", FORMULA, "holes.csv", "--seed", "1")
    assert dropped.code == 0
    assert "; 2 left out as incomplete" in " ".join(dropped.out.split())
    assert dropped.err.startswith("note: 2 of 32 rows were omitted")
    assert all(len(line) <= 79 for line in dropped.err.splitlines())
    assert run("cv", FORMULA, "holes.csv", "--na-action", "raise").code == 2


def test_new_levels_are_noted_or_refused(run: Run, spector: pd.DataFrame) -> None:
    site = np.where(np.arange(len(spector)) == 3, "A", "B")
    spector.assign(site=site).to_csv("sites.csv", index=False)
    call = ("cv", "GPA ~ TUCE + site", "sites.csv", "--scheme", "loocv")
    assert "level 'A' of site" in run(*call).err
    refused = run(*call, "--new-levels", "error")
    assert refused.code == 2
    assert "refuses 1 record" in refused.err.replace("\n", " ")
    omitted = run(*call, "--new-levels", "omit")
    assert "in 32 records; 31 of them held out" in omitted.out


@pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="the system has no /dev/full"
)
@pytest.mark.parametrize(
    "call",
    [
        ("folds", "spector", "-k", "4", "--outcome", "GRADE", "--out", "/dev/full"),
        ("data", "spector", "--out", "/dev/full"),
    ],
)
def test_a_full_disk_is_named(run: Run, call: tuple[str, ...]) -> None:
    full = run(*call)
    assert full.code == 2
    assert "the disk is full; free space, or write elsewhere" in full.err


def test_cv_writes_tables_and_pictures(run: Run, spector: pd.DataFrame) -> None:
    ran = run(
        *("cv", FORMULA, "spector", "--scheme", "rloocv", "--seed", "1"),
        *("--level", "0.9", "--out", "new/results"),
    )
    assert ran.code == 0
    tables = {"metrics", "predictions", "folds", "coefficients", "pairs"}
    names = {"summary.txt", "panel.png", "roc.png", *(f"{t}.csv" for t in tables)}
    names |= PAPER
    assert files("new/results") == names
    said = ran.out.partition("Written to new/results:\n")[2]
    assert {name.strip() for name in said.split(",")} == names

    expected = scv.cv(FORMULA, spector, scheme="rloocv", seed=1)
    for name in tables - {"metrics", "folds"}:
        read = pd.read_csv(f"new/results/{name}.csv")
        pd.testing.assert_frame_equal(
            getattr(expected, name), read, check_dtype=False, rtol=1e-12
        )
    metrics = pd.read_csv("new/results/metrics.csv").set_index("metric")
    assert metrics["lower"]["auroc"] == pytest.approx(
        expected.estimate("auroc", level=0.9).lower
    )
    table = scv.table(expected, level=0.9)
    for name, form in (("table.tex", table.to_latex), ("table.md", table.to_markdown)):
        text = Path("new/results", name).read_text("utf-8")
        assert text.rstrip() == form().rstrip()
    text = Path("new/results/summary.txt").read_text(encoding="utf-8")
    assert ran.out.startswith(text)
    for name in names:
        content = Path("new/results", name).read_bytes()
        if name.endswith(".png"):
            assert content.startswith(PNG)
            assert len(content) > 5_000
        elif name.endswith(".docx"):
            assert content.startswith(b"PK")
        else:
            assert b"\r" not in content
            assert content.endswith(b"\n")


def test_without_python_docx_the_other_tables_are_written(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    ran = run("cv", FORMULA, "spector", "--seed", "1", "--out", "plain")
    assert ran.code == 0, ran.err
    assert files("plain") & PAPER == PAPER - {"table.docx"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "model", "absent"),
    [
        ("x1 ~ x2 + x3", "linear", {"pairs.csv", "roc.png"}),
        ("site ~ x1", "logit", {"pairs.csv", "roc.png"}),
        ("y ~ x1", "mean", {"pairs.csv", "coefficients.csv"}),
    ],
)
def test_what_an_outcome_does_not_have_is_not_written(
    run: Run, formula: str, model: str, absent: set[str]
) -> None:
    scv.load_data("ehr").head(150).to_csv("some.csv", index=False)
    ran = run("cv", formula, "some.csv", "--model", model, "-k", "3", "--out", "o")
    assert ran.code == 0, ran.err
    everything = {f"{t}.csv" for t in ("metrics", "predictions", "folds", "pairs")}
    everything |= {"coefficients.csv", "summary.txt", "panel.png", "roc.png", *PAPER}
    assert files("o") == everything - absent


# ---- statcv compare ----


@pytest.mark.slow
def test_predictions_of_other_software_are_evaluated(run: Run) -> None:
    data = scv.load_data("ehr")[:300].reset_index(drop=True)
    made = scv.cv("y ~ x1", data, stratify="patient_id", k=4, repeats=2, seed=1)
    held = made.predictions
    held["who"] = data["patient_id"].to_numpy()[held["row"]]
    held.to_csv("held.csv", index=False)
    names = {"observed": "observed", "predicted": "predicted", "fold": "fold"}
    names |= {"repeat": "repeat", "row": "row", "cluster": "who"}
    options = [part for name, column in names.items() for part in (f"--{name}", column)]
    call = ["evaluate", "held.csv", *options, "--seed", "1", "--level", "0.9"]
    done = run(*call, "--metrics", "auroc,brier", "--out", "there")
    assert done.code == 0
    assert done.err == ""
    read = scv.read_table("held.csv", text=["fold", "row", "who"])
    same = scv.from_predictions(read, metrics=["auroc", "brier"], seed=1, **names)
    assert done.out.startswith(str(same.summary(0.9)))
    assert {"metrics.csv", "roc.png"} <= set(os.listdir("there"))
    wrong = run("evaluate", "held.csv", "--observed", "obs", "--predicted", "predicted")
    assert wrong.code == 2
    assert wrong.err.startswith("statcv: observed='obs' is not a column of the data.")


def test_a_marker_is_evaluated_as_scores_by_group(run: Run) -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"y": np.arange(60) % 2, "site": ["01", "02", "03"] * 20})
    table["marker"] = (20 + 8 * table["y"] + 9 * rng.normal(size=60)).clip(1).round(1)
    table.to_csv("marker.csv", index=False)
    call = ["evaluate", "marker.csv", "--observed", "y", "--predicted", "marker"]
    refused = run(*call)
    assert refused.code == 2
    assert "--scores" in refused.err
    done = run(*call, "--scores", "--by", "site", "--metrics", "auroc")
    assert done.code == 0
    same = scv.from_predictions(
        table, observed="y", predicted="marker", probabilities=False, metrics="auroc"
    )
    assert done.out.startswith(str(same.summary()))
    groups = done.out.partition("By site")[2]
    assert [f"\n{site} " in groups for site in ("01", "02", "03")] == [True] * 3
    usual = run(*call, "--scores")
    assert "–" not in usual.out
    assert "metrics of\n  probabilities are omitted" in usual.out
    assert "have no value" not in usual.err


def test_compare_schemes(run: Run, spector: pd.DataFrame) -> None:
    ran = run(
        *("compare", FORMULA, "spector", "--schemes", "loocv,rloocv", "--seed", "1"),
        *("--out", "o"),
    )
    assert ran.code == 0
    with pytest.warns(scv.errors.DistributionalBiasWarning):
        loocv = scv.cv(FORMULA, spector, scheme="loocv", seed=1)
    rloocv = loocv.update(scheme="rloocv")
    comparison = scv.compare(loocv=loocv, rloocv=rloocv)
    shown = [loocv.summary(), rloocv.summary(), comparison.summary()]
    assert ran.out.startswith("\n\n\n".join(map(str, shown)) + "\n")
    assert ran.err.startswith("note: distributional bias")
    assert ran.err.count("note:") == 1

    top = {"comparison.txt", "estimates.csv", "differences.csv", "roc.png", *PAPER}
    assert {name for name in files("o") if "/" not in name} == top
    assert "panel.png" in files("o/loocv")
    assert files("o/rloocv") == {*files("o/loocv"), "pairs.csv"}
    assert Path("o/roc.png").read_bytes().startswith(PNG)
    estimates = pd.read_csv("o/estimates.csv", index_col="result")
    pd.testing.assert_frame_equal(comparison.table, estimates, check_names=False)
    found = pd.read_csv("o/differences.csv")["difference"]
    assert found.tolist() == pytest.approx(comparison.differences["difference"])


@pytest.mark.slow
def test_models_are_compared_on_the_same_folds(run: Run) -> None:
    scv.load_data("ehr").head(300).to_csv("some.csv", index=False)
    ran = run(
        *("compare", "y ~ x1 + x2", "some.csv", "--models", "logit,xgboost,mean"),
        *("--scheme", "stratified_kfold", "-k", "3", "--metrics", "brier,auroc"),
        *("--out", "o"),
    )
    assert ran.code == 0, ran.err
    assert "3 differences in Brier score" in ran.out
    table = pd.read_csv("o/differences.csv")
    assert table["second"].tolist() == ["xgboost", "mean", "mean"]
    assert table["caveat"].isna().all()  # nothing about folds that differ
    folds = [
        pd.read_csv(f"o/{name}/predictions.csv")["fold"].tolist()
        for name in ("logit", "xgboost", "mean")
    ]
    assert folds[0] == folds[1] == folds[2]


def test_k_and_repeats_go_to_the_schemes_that_take_them(run: Run) -> None:
    ran = run(
        *("compare", "GRADE ~ GPA", "spector", "--schemes", "loocv,rloocv,kfold"),
        *("-k", "4", "--repeats", "2"),
    )
    assert ran.code == 0
    assert "dropped; training sets of 10/20 each, repeated 2 times" in " ".join(
        ran.out.split()
    )
    assert "kfold: 4 random folds, repeated 2 times" in ran.out


# ---- statcv data ----


def test_pairs_go_to_the_scheme_that_takes_them(run: Run) -> None:
    call = ("compare", "GRADE ~ GPA", "spector", "--schemes", "leave_pair_out,loocv")
    out = run(*call, "--pairs", "60", "--repeats", "2", "--seed", "1").out
    assert "60 of 231 pairs of records" in " ".join(out.split())
    call = ("folds", "spector", "--outcome", "GRADE", "--scheme", "leave_pair_out")
    assert "60 of 231 pairs" in run(*call, "--pairs", "60", "--seed", "1").out


# ---- thresholds, and folds as SQL ----


@pytest.fixture
def visits() -> pd.DataFrame:
    """Write records to visits.csv, and the first half of them to early.csv."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"id": range(80), "age": rng.normal(50, 20, 80).round(2)})
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, 80), "D")
    table = table.assign(day=day, y=rng.integers(0, 2, 80))
    table.to_csv("visits.csv", index=False)
    table.head(40).to_csv("early.csv", index=False)
    return table


def in_sqlite(table: pd.DataFrame, expressions: str) -> np.ndarray:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        table.to_sql("t", connection)
        return np.array(connection.execute(f"SELECT {expressions} FROM t").fetchall())


def in_duckdb(table: pd.DataFrame, expressions: str) -> np.ndarray:
    with duckdb.connect() as connection:
        connection.register("t", table)
        return np.array(connection.execute(f"SELECT {expressions} FROM t").fetchall())


ENGINES = {"sqlite": in_sqlite, "duckdb": in_duckdb}


def fold_of(plan: FoldPlan, repeat: int = 0) -> list[int]:
    return np.asarray(plan.labels[repeat])[plan.held_out[repeat]].tolist()


def test_thresholds_are_applied(run: Run, visits: pd.DataFrame) -> None:
    for column, agreed in (("age", "35.5,56"), ("id", "20,60.5,70")):
        call = ("--stratify", column, "--thresholds", agreed, "--out", "folds.csv")
        ran = run("folds", "visits.csv", *call)
        assert ran.code == 0, ran.err
        plan = FoldPlan.from_frame(pd.read_csv("folds.csv"))
        bounds = [float(bound) for bound in agreed.split(",")]
        expected = 1 + np.searchsorted(bounds, visits[column], side="right")
        assert fold_of(plan) == expected.tolist()
        assert plan.thresholds.tolist() == bounds


@pytest.mark.parametrize("options", [(), ("--per-fold", "4", "--repeats", "2")])
def test_another_site_applies_a_plan(
    run: Run, visits: pd.DataFrame, options: tuple[str, ...]
) -> None:
    call = ("-k", "4", "--stratify", "age", "--by", "quantile", *options)
    call += ("--scheme", "kfold", "--seed", "3", "--out", "all.csv")
    assert run("folds", "visits.csv", *call).code == 0
    ran = run("folds", "early.csv", "--plan", "all.csv", "--out", "own.csv")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    pooled, own = (
        FoldPlan.from_frame(pd.read_csv(f"{name}.csv")) for name in ("all", "own")
    )
    assert own.repeats == pooled.repeats
    for repeat in range(own.repeats):
        assert fold_of(own, repeat) == fold_of(pooled, repeat)[:40]
    for dialect, engine in ENGINES.items():
        ran = run("folds", "--plan", "all.csv", "--sql", dialect)
        assert ran.code == 0, ran.err
        found = engine(visits, ran.out)
        for repeat in range(own.repeats):
            assert found[:, repeat].tolist() == fold_of(pooled, repeat)


@pytest.mark.parametrize("dialect", ENGINES)
def test_the_sql_of_thresholds_gives_the_folds(
    run: Run, visits: pd.DataFrame, dialect: str
) -> None:
    calls = {
        "age": ("--thresholds", "35.5,56"),
        "id": ("--thresholds", "20,50,60", "--per-fold", "2", "--seed", "4"),
    }
    for column, call in calls.items():
        asked = ("folds", "--stratify", column, *call, "--sql", dialect)
        ran = run(*asked)
        assert run("folds", "visits.csv", *asked[1:]).out == ran.out
        bounds = [float(bound) for bound in call[1].split(",")]
        agreed = scv.by_quantile(column, 2 if len(call) > 2 else 1, bounds)
        plan = scv.fold_plan(data=visits, stratify=agreed, seed=4)
        assert ENGINES[dialect](visits, ran.out)[:, 0].tolist() == fold_of(plan)
    ran = run("folds", "visits.csv", "--stratify", "age", "--by", "quantile", "-k", "3",
              "--sql", dialect)  # fmt: skip
    plan = scv.fold_plan(data=visits, k=3, stratify=scv.by_quantile("age"))
    assert ENGINES[dialect](visits, ran.out)[:, 0].tolist() == fold_of(plan)


def test_the_sql_of_a_hash_holds_no_key(
    run: Run, visits: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run("folds", "--stratify", "id", "--by", "hash", "-k", "5", "--sql", "sqlite")
    inner, outer = pads("our secret")
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        register_sqlite(connection)
        visits.to_sql("t", connection)
        query = f"SELECT {ran.out} FROM t"
        found = connection.execute(query, {"ipad": inner, "opad": outer}).fetchall()
    stratify = scv.by_hash("id", key="our secret")
    plan = scv.fold_plan(data=visits, k=5, stratify=stratify)
    assert [fold for (fold,) in found] == fold_of(plan)
    monkeypatch.setenv("STATCV_KEY", "our secret")
    assert run("folds", "visits.csv", "--stratify", "id", "--by", "hash", "-k", "5",
               "--sql", "sqlite").out == ran.out  # fmt: skip
    assert "secret" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "needs DATA"),
        ("--sql duckdb", "--sql writes folds by --thresholds"),
        ("--sql duckdb --stratify age --by value", "--sql writes folds by"),
        ("--sql duckdb --stratify age --by quantile", "needs DATA, --thresholds or"),
        (
            "--sql duckdb --stratify age --thresholds 3 --outcome y",
            "--outcome means no",
        ),
        ("--sql duckdb --stratify age --thresholds 3 --repeats 2", "--repeats means"),
        ("--sql duckdb --stratify age --thresholds 3 -k 4", "make 2 folds, not k=4"),
        ("--sql duckdb --stratify age --thresholds 1,2,3 --per-fold 2", "--seed alloc"),
        (
            "visits.csv --sql duckdb --stratify age --thresholds 50 --out f",
            "--out mean",
        ),
        (
            "visits.csv --stratify age --thresholds 5,4",
            "must rise, but 4 comes after 5",
        ),
        (
            "visits.csv --stratify age --thresholds 5,x",
            "'x' is text that is not a date",
        ),
        ("visits.csv --thresholds 5,6", "need --stratify"),
        ("visits.csv --stratify age --by hash --thresholds 5", "--thresholds means no"),
        ("visits.csv --stratify age --plan visits.csv", "--stratify means nothing bes"),
        ("visits.csv --plan visits.csv", "the table needs a column 'fold'"),
        ("visits.csv --plan visits.csv -k 3", "-k means nothing beside --plan"),
    ],
)
def test_what_thresholds_and_sql_refuse(
    run: Run, visits: pd.DataFrame, arguments: str, said: str
) -> None:
    ran = run("folds", *arguments.split())
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err


def test_the_list_of_data_sets(run: Run) -> None:
    ran = run("data")
    assert ran.code == 0
    for name in scv.available_data()["name"]:
        assert f"\n{name} " in f"\n{ran.out}"
    assert "not here yet: statcv data ptb --fetch" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_a_data_set_described_and_written(run: Run, spector: pd.DataFrame) -> None:
    ran = run("data", "spector")
    assert ran.code == 0
    assert "32 rows, 4 columns" in ran.out
    assert ["GPA", "float64", "0"] in [line.split() for line in ran.out.splitlines()]
    assert run("data", "spector", "--out", "copy.csv").code == 0
    assert b"\r" not in Path("copy.csv").read_bytes()
    pd.testing.assert_frame_equal(pd.read_csv("copy.csv"), spector)
    assert run("data", "copy.csv").out == ran.out.replace("spector", "copy.csv")


def test_a_data_set_that_has_to_be_fetched(run: Run) -> None:
    expected = "statcv: 'cfs' is not here yet: add --fetch to download it.\n"
    assert run("data", "cfs") == Ran(2, "", expected)
    assert run("data", "cfs", "--out", "cfs.csv") == Ran(2, "", expected)


def test_fetched_data_are_read_by_name(run: Run, prepared: None) -> None:
    assert "80 rows, 40 columns" in run("data", "cfs", "--fetch").out
    assert "in 80 records" in run("cv", "cfs ~ age", "cfs", "--seed", "1").out


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch, _own_folder: None) -> None:
    if not Path(PREPARED, "cfs_vogl.csv").is_file():
        pytest.skip("STATCV_DATA names no folder with the prepared files")
    monkeypatch.setenv("STATCV_DATA", PREPARED)


PREPARED = os.environ.get("STATCV_DATA", "")


# ---- what is refused ----


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('y,x\n0,"1,5"\n1,"2,25"\n0,3\n', "column 'x' is text.*comma.*first: '1,5'"),
        ('y,x\n0,"-1,5"\n1,\n0,"2,5"\n', "column 'x' is text.*first: '-1,5'"),
        ("y;x\n0;1,5\n1;2,5\n", "separated by ';'.*first line is 'y;x'"),
        ("y;x\n0;1.5\n1;2.5\n", "separated by ';'"),
        ("y,x,x\n0,1,2\n1,3,4\n", "columns 2 and 3 are both called 'x'"),
        (",x,y,x\n0,1,2,3\n", "columns 2 and 4 are both called 'x'"),
    ],
)
def test_files_that_would_be_misread(run: Run, content: str, said: str) -> None:
    Path("d.csv").write_text(content)
    ran = run("cv", "y ~ x", "d.csv")
    assert ran.code == 2
    assert ran.out == ""
    assert re.search(said, ran.err)


def test_text_with_commas_that_is_no_number_is_read(run: Run) -> None:
    Path("d.csv").write_text('y,x\n0,"1,5 mg"\n1,"2,5"\n')
    assert run("data", "d.csv").code == 0
    Path("d.csv").write_text("x,x.1,y\n0,1,2\n")
    assert run("data", "d.csv").code == 0


SHORT = ("cv", "GRADE ~ GPA", "spector")
BOTH = ("compare", "GRADE ~ GPA", "spector")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cv", "GRADE ~ GPAA", "spector"), "no column 'GPAA'.*Did you mean 'GPA'"),
        (("cv", "I(GPA > 9) ~ TUCE", "spector"), "one class only"),
        (("cv", "GPA + TUCE", "spector"), "no outcome on the left"),
        (("cv", "GRADE ~ GPA", "spectr"), "no file and no data set 'spectr'.*'spector"),
        (("cv", "GRADE ~ GPA", "mien.csv"), "no file.*Did you mean 'mine.csv'"),
        (("cv", "GRADE ~ GPA", "no/such.csv"), "no file and no data set"),
        (("cv", "spector", "GRADE ~ GPA"), "The formula comes before the file"),
        (("cv", "GRADE ~ GPA", ""), "does not end in .csv"),
        (("cv", "GRADE ~ GPA", "notes.txt"), "does not end in .csv"),
        (("cv", "GRADE ~ GPA", "empty.csv"), "cannot read 'empty.csv'"),
        (("cv", "GRADE ~ GPA", "ragged.csv"), "cannot read 'ragged.csv'"),
        (("cv", "GRADE ~ GPA", "latin.csv"), "cannot read 'latin.csv'"),
        (("cv", "GRADE ~ GPA", "folder.csv"), "cannot read 'folder.csv'"),
        (("cv", "GRADE ~ GPA", "false.csv.gz"), "cannot read 'false.csv.gz'"),
        (("cv", "GRADE ~ GPA", "false.parquet"), "cannot read 'false.parquet'"),
        (("cv", "GRADE ~ GPA", "rowless.csv"), "no rows"),
        ((*SHORT, "--scheme", "rlooc"), "no scheme 'rlooc'.*Did you mean 'rloocv'"),
        ((*SHORT, "--model", "logt"), "no model 'logt'.*Did you mean 'logit'"),
        ((*SHORT, "--metrics", "brierr"), "no metric 'brierr'.*Did you mean 'brier'"),
        ((*SHORT, "--metrics", "mse"), "MSE needs a continuous outcome"),
        ((*SHORT, "--weights", "TUCEE"), "not a column.*Did you mean 'TUCE'"),
        ((*SHORT, "--positive", "7"), "not a level of 'GRADE'"),
        ((*SHORT, "--seed", "-1"), "seed must be 0 or more"),
        ((*SHORT, "-k", "1"), "k=1 is out of range"),
        ((*SHORT, "-k", "99"), "k=99 is out of range"),
        ((*SHORT, "--scheme", "loocv", "-k", "5"), "means nothing"),
        ((*SHORT, "--scheme", "loocv", "--repeats", "5"), "means nothing"),
        ((*SHORT, "--out", "mine.csv"), "cannot make the folder mine.csv"),
        ((*SHORT, "--out", "mine.csv/below"), "cannot make the folder mine.csv.below"),
        (BOTH, "either --schemes A,B or --models A,B"),
        ((*BOTH, "--schemes", "kfold,loocv", "--models", "logit,mean"), "either"),
        ((*BOTH, "--schemes", "loocv"), "two or more different"),
        ((*BOTH, "--schemes", "loocv,loocv"), "two or more different"),
        ((*BOTH, "--schemes", "kfold,rlooc"), "no scheme.*Did you mean 'rloocv'"),
        ((*BOTH, "--schemes", "kfold,loocv", "--scheme", "kfold"), "means nothing"),
        ((*BOTH, "--schemes", "loocv,rloocv", "-k", "3"), "k=3 means nothing"),
        ((*BOTH, "--models", "logit,men"), "no model 'men'.*Did you mean 'mean'"),
        ((*BOTH, "--models", "logit,mean", "--model", "mean"), "means nothing"),
        (
            (*BOTH, "--models", "logit,mean", "--metrics", "rmse"),
            "RMSE needs a continuous outcome",
        ),
        (("data", "spectr"), "no file and no data set 'spectr'.*'spector'"),
        (("data", "spector", "--fetch"), "needs no download"),
        (("data", "--fetch"), "need the name of a data set"),
        (("data", "spector", "--out", "no/such/file.csv"), "no/such"),
    ],
)
def test_wrong_input_exits_2_with_one_line(
    run: Run, spector: pd.DataFrame, arguments: tuple[str, ...], said: str
) -> None:
    spector.to_csv("mine.csv", index=False)
    spector.head(0).to_csv("rowless.csv", index=False)
    for name in ("empty.csv", "notes.txt"):
        Path(name).touch()
    Path("folder.csv").mkdir()
    Path("ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    Path("latin.csv").write_bytes(b"a,b\n\xe9,2\n")
    for name in ("false.csv.gz", "false.parquet"):
        Path(name).write_bytes(b"neither")
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("statcv: ")
    assert re.search(said, line), line
    assert "Error" not in line.removeprefix("statcv: ").split(":")[0]


def test_any_metric_is_compared_without_the_name_of_a_test(run: Run) -> None:
    ran = run(*BOTH, "--models", "logit,mean", "--metrics", "auprc")
    assert ran.code == 0
    assert "difference in auPR " in ran.out


def test_a_formula_that_does_not_parse_is_pointed_at(run: Run) -> None:
    ran = run("cv", "GRADE ~ (GPA", "spector")
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert line.startswith("statcv: ")
    assert line.endswith("(at character 9 of 'GRADE ~ (GPA')")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("vc",),
        ("cv", "GRADE ~ GPA"),
        (*SHORT, "-k", "many"),
        (*SHORT, "--level", "95"),
        (*SHORT, "--level", "high"),
        (*SHORT, "--na-action", "ignore"),
        (*SHORT, "--sch", "loocv"),
    ],
)
def test_arguments_that_make_no_sense_are_told_in_one_line(
    run: Run, arguments: tuple[str, ...]
) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("statcv")
    assert line.endswith("--help)")


def test_rows_longer_than_the_header_are_refused(run: Run) -> None:
    Path("long.csv").write_text("y,x\n0,1,7\n1,2,8\n")
    ran = run("cv", "y ~ x", "long.csv")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    Path("semicolons.csv").write_text("y;x\n0;1\n1;2\n")
    ran = run("cv", "y ~ x", "semicolons.csv")
    assert "';'" in ran.err


@pytest.mark.parametrize("formula", ["GRADE ~ np", "GRADE ~ len(GPA)"])
def test_odd_formulas_end_in_one_line(run: Run, formula: str) -> None:
    ran = run("cv", formula, "spector")
    assert ran.code == 2
    assert ran.err.startswith("statcv: ")
    assert len(ran.err.splitlines()) == 1


# ---- as a shell runs it ----


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == f"statcv {scv.__version__}\n"
    assert EXAMPLES in run("--help").out
    assert all(len(line) <= 82 for line in EXAMPLES.splitlines())


@pytest.mark.slow
def test_the_installed_command(spector: pd.DataFrame) -> None:
    done = script("cv", FORMULA, "spector", "--seed", "1", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stderr == b""
    expected = f"{scv.cv(FORMULA, spector, seed=1).summary()}{os.linesep}"
    assert done.stdout == expected.encode("ascii", errors="replace")
    wrong = script("cv", "GRADE ~ nothing", "spector")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith(b"statcv: there is no column 'nothing'")


def test_help_is_light() -> None:
    code = (
        "import sys, statcv.cli.main\n"
        "assert not {'pandas', 'numpy', 'matplotlib'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def opened_by_its_reader(fifo: str, seconds: float = 60.0) -> int:
    """Open a named pipe for writing as soon as another process reads it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.02)
    raise TimeoutError(f"nobody read {fifo}")


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
class TestInterrupted:
    def test_a_reader_that_goes_away(self) -> None:
        assert SCRIPT
        running = subprocess.Popen(
            [SCRIPT, "data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        with running.stderr:
            assert running.stderr.read() == b""
        assert running.wait(60) == 141

    def test_ctrl_c(self) -> None:
        assert SCRIPT
        os.mkfifo("endless.csv")
        running = subprocess.Popen(
            [SCRIPT, "data", "endless.csv"], stderr=subprocess.PIPE
        )
        held = opened_by_its_reader("endless.csv")
        for _ in range(12):  # a signal just before the read begins is seen after it
            running.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                _, error = running.communicate(timeout=5)
                break
        os.close(held)
        assert error == b"statcv: interrupted\n"
        assert running.returncode == 130


def test_a_threshold_and_a_test(run: Run, spector: pd.DataFrame) -> None:
    ran = run(
        *("cv", FORMULA, "spector", "-k", "4", "--seed", "1", "--test", "19"),
        *("--threshold", "youden", "--metrics", "accuracy,auroc"),
    )
    assert ran.code == 0
    expected = scv.cv(
        FORMULA, spector, k=4, seed=1, threshold="youden", metrics=["accuracy", "auroc"]
    )
    assert str(expected.test(n_permutations=19)) in ran.out
    fixed = run("cv", FORMULA, "spector", "--threshold", "0.3", "--seed", "1")
    assert fixed.code == 0
    odd = run("cv", FORMULA, "spector", "--threshold", "yuden", "--seed", "1")
    assert odd.code == 2
    assert "Did you mean 'youden'" in odd.err


@pytest.mark.slow
def test_the_lean_of_a_pooled_estimate(run: Run, spector: pd.DataFrame) -> None:
    call = ("cv", FORMULA, "spector", "--scheme", "rloocv", "--seed", "1")
    ran = run(*call, "--null-bias", "15", "--out", "here")
    assert ran.code == 0
    expected = scv.cv(FORMULA, spector, scheme="rloocv", seed=1)
    summary = str(expected.summary(null_bias=15))
    assert "(15 permutations)" in " ".join(summary.split())
    assert summary in ran.out
    assert summary == Path("here/summary.txt").read_text(encoding="utf-8").rstrip()
    odd = run(*call, "--null-bias", "0")
    assert odd.code == 2
    assert "n_permutations must be 1 or more" in odd.err


def test_an_external_validation_by_group_at_a_threshold(run: Run) -> None:
    data = scv.load_data("ehr")[:300].reset_index(drop=True)
    held = scv.cv("y ~ x1", data, k=4, seed=1).predictions
    held["site"] = data["site"].to_numpy()[held["row"]]
    held["who"] = data["patient_id"].to_numpy()[held["row"]]
    held.to_csv("held.csv", index=False)
    call = ["evaluate", "held.csv", "--observed", "observed"]
    options = ["--predicted", "predicted", "--threshold", ".3", "--stratify", "who"]
    done = run(*call, *options, "--by", "site", "--out", "there")
    given = {"predicted": "predicted", "threshold": 0.3, "cluster": "who"}
    same = scv.from_predictions(held, observed="observed", **given)
    assert done.code == 0
    assert done.out.startswith(str(same.summary()))
    assert "By site, with 95% intervals" in done.out
    groups = pd.read_csv("there/groups.csv")
    assert len(groups) == 5 * len(same.metric_names)
    assert "folds.csv" not in os.listdir("there")
    wrong = run(*call, "--predicted", "predicted", "--threshold", "high")
    assert wrong.code == 2
    assert "threshold must be a number" in wrong.err
    scores = held.assign(predicted=held["predicted"] * 100)
    scores.to_csv("percent.csv", index=False)
    dashes = ["evaluate", "percent.csv", "--observed", "observed", "--metrics", "brier"]
    assert run(*dashes, "--predicted", "predicted").code == 2
