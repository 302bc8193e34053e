"""Files: what is read from a shell is what Python reads, and nothing is lost."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.cli.main import main
from statcv.errors import (
    ColumnError,
    DataError,
    MissingDataWarning,
    StatcvError,
    StatcvWarning,
)
from statcv.folds import FoldPlan
from statcv.folds.strata import pads, register_sqlite

N = 60


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STATCV_KEY", "k" * 32)


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


def number(i: int) -> str:
    return f"{1 + i * 1.37 % 5:.2f}"


def table(
    x: Any = number, identifier: Any = "{:05d}".format, arm: Any = "AB", sep: str = ","
) -> str:
    rows = [sep.join(["y", "x", "arm", "id"])]
    for i in range(N):
        cells = [str((i * 7 % 11) % 2), x(i), arm[i % len(arm)], identifier(i // 2)]
        rows.append(sep.join(f'"{c}"' if sep in c else c for c in cells))
    return "\n".join(rows) + "\n"


def with_code(code: str, every: int = 20) -> Any:
    return lambda i: number(i) if i % every else code


def identifiers(*some: str) -> Any:
    return lambda i: some[i] if i < len(some) else f"p{i}"


PLAIN = table()
COMMAS = table(lambda i: number(i).replace(".", ","), sep=";")
QUOTED_COMMAS = table(lambda i: number(i).replace(".", ","))
GERMAN = {"sep": ";", "decimal": ","}

# name: content, options, and what the error says
FILES: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "plain": (PLAIN, {}, ""),
    "carriage returns": (PLAIN.replace("\n", "\r\n"), {}, ""),
    "old line ends": (PLAIN.replace("\n", "\r"), {}, ""),
    "byte order mark": (b"\xef\xbb\xbf" + PLAIN.encode(), {}, ""),
    "byte order mark, named": ("\ufeff" + PLAIN, {"encoding": "utf-8"}, ""),
    "blank lines": ("\n" + PLAIN.replace("\n", "\n\n"), {}, ""),
    "tabs": (table(sep="\t"), {}, ""),
    "tabs, named": (table(sep="\t"), {"sep": r"\t"}, ""),
    "quoted": (re.sub(r"[^,\n]+", r'"\g<0>"', PLAIN), {}, ""),
    "semicolons": (table(sep=";"), {}, "by ';', not by ','.*--sep \";\" [(]in"),
    "semicolons, named": (table(sep=";"), {"sep": ";"}, ""),
    "German": (COMMAS, {}, 'by \';\'.*decimal commas.*--sep ";" --decimal ","'),
    "German, named": (COMMAS, GERMAN, ""),
    "German, half": (COMMAS, {"sep": ";"}, 'decimal comma.*--decimal ","'),
    "pipes": (table(sep="|"), {}, "by '|'"),
    "decimal commas": (QUOTED_COMMAS, {}, "first: '1,00' in row 0"),
    "decimal commas, named": (QUOTED_COMMAS, {"decimal": ","}, ""),
    "latin-1": (table(arm="éb").encode("latin-1"), {}, "line 2.*--encoding .latin-1"),
    "latin-1, named": (table(arm="éb").encode("latin-1"), {"encoding": "latin-1"}, ""),
    "UTF-16": (PLAIN.encode("utf-16"), {}, "UTF-16.*--encoding .utf-16"),
    "UTF-16, named": (PLAIN.encode("utf-16"), {"encoding": "utf-16"}, ""),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), {}, "--encoding .utf-16-le"),
    "wrong encoding": (b"y,x\n1,\xe9\n", {"encoding": "ascii"}, "which is not ascii"),
    "no encoding": (PLAIN, {"encoding": "utf-99"}, "no encoding 'utf-99'"),
    "long separator": (PLAIN, {"sep": ";;"}, "sep is one character"),
    "NUL": (PLAIN.replace("00007", "00\0007"), {}, "line 16 holds a NUL"),
    "empty": ("", {}, "it is empty"),
    "only blank lines": ("\n \n", {}, "it is empty"),
    "header alone": ("y,x,arm,id\n", {}, "no rows"),
    "long row": (PLAIN.replace("A,00007", "A,00007,9"), {}, "row 15.*line 16.*5 fie"),
    "short row": (PLAIN.replace("A,00007", "A"), {}, "row 15, which.*has 3 fields"),
    "same names": (PLAIN.replace("arm", "x", 1), {}, "columns 2 and 3 are both called"),
    "open quote": (PLAIN.replace("A,00007", 'A,"00007'), {}, "row 15|EOF inside str"),
    "arm None": (table(arm=["None", "null", "n/a", "nan"]), {}, ""),
    "arm NA": (table(arm=["NA", "A", "B"]), {}, ""),
    "blank cells": (table(with_code("  ")), {}, ""),
    "NA among numbers": (table(with_code(" NA ")), {}, ""),
    "limit": (table(with_code("<5")), {}, "limits .3 of 60; first: '<5' in row 0"),
    "code": (table(with_code("n.d.")), {}, 'n.d.\' in row 0.*--missing "n.d."'),
    "nan among numbers": (table(with_code("nan")), {}, '--missing "nan"'),
    "code, named": (table(with_code("n.d.")), {"missing": ["n.d."]}, ""),
    "codes, named": (table(with_code(".")), {"missing": [".", "-"]}, ""),
    "-9": (table(with_code("-9")), {"missing": ["-9"]}, ""),
    "-9.0": (table(with_code("-9.0")), {"missing": ["-9"]}, ""),
    "few integers": (table(lambda i: "unknown" if i == 9 else str(i % 4)), {}, ""),
    "thousands": (
        table(lambda i: f"{3000 + 97 * i:,}"),
        {},
        "'3,000' may be 3000, .*or 3; .*--decimal \",\".*thousands, take it out",
    ),
    "clear thousands": (table(lambda i: f"{10**6 + i:,}"), {}, "between thousands"),
    "apostrophes": (table(lambda i: f"{10**3 + i:,}".replace(",", "'")), {}, "betwee"),
    "per cent": (table(lambda i: f"{i} %"), {}, "'0 %' in row 0.*divide per cent by"),
    "money": (table(lambda i: f"${number(i)}"), {}, "a currency"),
    "dashes": (table(with_code("\u22123")), {}, "write the minus sign as '-'"),
    "exponents": (table(identifier=identifiers("1e5", "2e5")), {}, ""),
    "truth": (table(identifier=identifiers("TRUE", "FALSE")), {}, ""),
    "dates": (table(identifier=identifiers("2024-01-02", "2024-01-03")), {}, ""),
    "None as identifier": (table(identifier=identifiers("None", "nan")), {}, ""),
    "NA as identifier": (table(identifier=identifiers("NA")), {}, "missing in 2 of 60"),
    "blanks": (table(identifier=identifiers(" 7", "8 ")), {}, ""),
}


def fitted(options: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the result of Python, or its error, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            data = scv.read_table("d.csv", text="id", **options)
            found: Any = scv.cv("y ~ x + arm", data, stratify="id", k=4, seed=1)
            found.summary()
        except StatcvError as error:
            found = error
    return found, [str(one.message) for one in told]


@pytest.mark.parametrize("name", FILES)
def test_a_shell_and_python_read_the_same(name: str) -> None:
    content, options, error = FILES[name]
    raw = content if isinstance(content, bytes) else content.encode()
    Path("d.csv").write_bytes(raw)
    result, notes = fitted(options)
    given = ["--missing", *options["missing"]] if "missing" in options else []
    for option in ("sep", "decimal", "encoding"):
        given += [f"--{option}", options[option]] if option in options else []
    asked = ("-k", "4", "--stratify", "id", "--seed", "1", "--quiet", "--out", "o")
    code, _, err = run("cv", "y ~ x + arm", "d.csv", *asked, *given)
    plain = " ".join(err.split())
    if error:
        assert code == 2
        said = str(result)
        assert re.search(error, said), said
        assert f"statcv: {' '.join(said.split())}" in plain
        return
    assert code == 0, err
    for note in notes:
        assert " ".join(note.split()) in plain
    written = pd.read_csv("o/metrics.csv")["estimate"]
    np.testing.assert_allclose(written, result.metrics()["estimate"], rtol=1e-12)
    ran = run("folds", "d.csv", "--outcome", "y ~ x + arm", "-k", "4", "--stratify",
              "id", "--seed", "1", "--out", "f.csv", *given)  # fmt: skip
    assert ran[0] == 0, ran[2]
    plan = FoldPlan.from_frame(pd.read_csv("f.csv"), n=result.design.n)
    assert plan.fingerprint == result.plan.fingerprint


pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")


def test_a_column_of_text_is_as_written_and_others_as_pandas_reads_them() -> None:
    some = ["007", "1e5", "100.0", "+7", "TRUE", "2024-01-02", " 8", "None"]
    Path("d.csv").write_text(table(identifier=identifiers(*some)))
    data = scv.read_table("d.csv", text="id")
    assert data["id"].tolist()[:16:2] == some
    by_pandas = pd.read_csv(
        "d.csv", dtype={"id": str}, keep_default_na=False, na_values=["", "NA"]
    )
    pd.testing.assert_frame_equal(data, by_pandas)
    Path("d.csv.gz").write_bytes(gzip.compress(Path("d.csv").read_bytes()))
    pd.testing.assert_frame_equal(scv.read_table("d.csv.gz", text="id"), by_pandas)
    with pytest.raises(ColumnError, match=r"text='idd' is not.*Did you mean 'id'"):
        scv.read_table("d.csv", text="idd")
    with pytest.raises(DataError, match=r"cannot read 'e.csv': No such file"):
        scv.read_table("e.csv")


def test_row_labels_keep_their_zeros() -> None:
    Path("d.csv").write_text(",y\n007,1\n8,0\n")
    assert scv.read_table("d.csv").index.tolist() == ["007", "8"]
    Path("d.csv").write_text(",y\n7,1\n8,0\n")
    assert scv.read_table("d.csv").index.tolist() == [7, 8]
    assert scv.read_table("d.csv").index.name is None


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (["007", "7", "08"], True),
        (['"007"', "", "12"], True),
        (["12345678901234567", "", "12345678901234568"], True),
        (["12345678901234567", "1", "12345678901234568"], False),  # all exact
        (["012.5", "05", "7"], False),  # measurements, not digits alone
        (["1e30", "", "3e40"], False),
        (["0", "0.5", "10"], False),
    ],
)
def test_identifiers_are_kept_without_being_named(cells: list[str], kept: bool) -> None:
    Path("d.csv").write_text("y,id\n" + "".join(f"1,{cell}\n" for cell in cells))
    found = scv.read_table("d.csv")["id"]
    if kept:
        written = [cell.strip('"') or None for cell in cells]
        assert [None if pd.isna(cell) else cell for cell in found] == written
    else:
        assert pd.api.types.is_numeric_dtype(found)


def test_numbers_with_leading_zeros_are_a_factor_that_is_named() -> None:
    rows = [f"{i * 7 % 11 % 2},{i % 4:02d},{i:05d}" for i in range(N)]
    Path("d.csv").write_text("\n".join(["y,month,id", *rows]))
    said = "'month' is text of numbers with leading zeros, such as '00'"
    with pytest.warns(StatcvWarning, match=f"{said}.*Here it is a factor"):
        res = scv.cv("y ~ month", scv.read_table("d.csv"), seed=1)
    assert res.design.names[1:] == ("month[T.01]", "month[T.02]", "month[T.03]")
    _, out, err = run("cv", "y ~ month", "d.csv", "--seed", "1")
    assert "month[T.01]" in out
    assert said in " ".join(err.split())
    assert "'id'" not in err


def test_what_was_read_as_missing_is_counted_in_each_column() -> None:
    Path("d.csv").write_text("y,x,arm\n0,.,NA\n1,-9.0,B\n0, . ,B\n1,,NA\n")
    said = r"missing in x \('.' 1, '-9.0' 1, ' . ' 1, '' 1\), arm \('NA' 2\)"
    with pytest.warns(MissingDataWarning, match=said):
        data = scv.read_table("d.csv", missing=[".", "-9"])
    assert data["x"].isna().all()
    _, out, err = run("data", "d.csv", "--missing", ".", "-9")
    assert "arm ('NA' 2)" in " ".join(err.split())
    assert "4 rows" in out


def test_codes_of_missing_values_joined_by_a_comma_are_refused() -> None:
    Path("d.csv").write_text("y,x\n0,.\n1,999\n0,2\n1,3\n")
    code, _, err = run("data", "d.csv", "--missing", ".,999")
    assert code == 2
    assert "--missing . 999" in " ".join(err.split())
    Path("d.csv").write_text('y;x\n0;"999,9"\n1;2,5\n0;2\n1;3\n')
    written = ["--sep", ";", "--decimal", ",", "--missing", "999,9"]
    assert run("data", "d.csv", *written)[0] == 0  # a decimal comma


def test_hospitals_agree_on_equal_identifiers() -> None:
    ids, folds = [f"{i:05d}" for i in range(N)], {}
    for name, last in (("A", ids[-1]), ("B", "X0001")):
        frame = pd.DataFrame({"y": [0, 1] * 30, "id": [*ids[:-1], last]})
        frame.to_csv(f"{name}.csv", index=False)
        assert run("folds", f"{name}.csv", "-k", "5", "--stratify", "id", "--by",
                   "hash", "--out", "f.csv")[0] == 0  # fmt: skip
        written = pd.read_csv("f.csv", dtype={"id": str})
        assert list(written)[:3] == ["repeat", "fold", "id"]
        assert set(written["id"]) == set(frame["id"])
        folds[name] = written.set_index("id")["fold"]
    both = folds["A"].index.intersection(folds["B"].index)
    assert len(both) == N - 1
    assert (folds["A"][both] == folds["B"][both]).all()


def test_a_covariate_of_the_formula_stays_a_number() -> None:
    Path("d.csv").write_text(table(identifier=lambda i: f"{i % 9}.50"))
    _, out, err = run("cv", "y ~ id", "d.csv", "-k", "4", "--stratify", "id")
    assert "id[T." not in out, err
    data = scv.read_table("d.csv")
    assert scv.cv("y ~ id", data, k=4, stratify="id").design.names[1] == "id"
    assert run("cv", "y ~ .", "d.csv", "-k", "4", "--stratify", "id")[0] == 0


@pytest.mark.parametrize("name", ["fold", "bin", "row", "site", "stratum"])
def test_a_stratifier_may_be_called_as_a_column_of_the_plan(name: str) -> None:
    Path("d.csv").write_text(PLAIN.replace("id\n", f"{name}\n", 1))
    asked = ("folds", "d.csv", "-k", "4", "--stratify", name, "--seed", "1")
    assert run(*asked, "--out", "f.csv")[0] == 0
    data = scv.read_table("d.csv", text=name)
    plan = scv.fold_plan(data=data, k=4, stratify=name, seed=1)
    written = pd.read_csv("f.csv", dtype=str)
    assert FoldPlan.from_frame(pd.read_csv("f.csv")).fingerprint == plan.fingerprint
    assert set(written[f"{name} (data)"]) == set(data[name])


def test_predictions_keep_identifiers_as_written() -> None:
    rows = ["y,p,who,fold"]
    rows += [f"{i % 2},0.{i % 7 + 1},{'07' if i % 3 else '7'},{i % 2 + 1:02d}"
             for i in range(40)]  # fmt: skip
    Path("d.csv").write_text("\n".join(rows))
    asked = ("--observed", "y", "--predicted", "p", "--cluster", "who")
    assert run("evaluate", "d.csv", *asked, "--fold", "fold", "--out", "o")[0] == 0
    assert set(pd.read_csv("o/predictions.csv", dtype=str)["fold"]) == {"01", "02"}
    rows = ["y;p", *(f"{i % 2};0,{i + 10}" for i in range(40))]
    Path("d.csv").write_text("\n".join(rows))
    code, _, err = run("evaluate", "d.csv", *asked[:4], "--sep", ";")
    assert code == 2
    assert "column 'p' is text" in err
    code, _, err = run("evaluate", "d.csv", *asked[:4], "--sep", ";", "--decimal", ",")
    assert code == 0, err


def test_sql_says_what_is_bound() -> None:
    Path("d.csv").write_text(PLAIN)
    asked = ("folds", "--stratify", "id", "--by", "hash", "-k", "5", "--sql", "sqlite")
    code, out, err = run(*asked)
    assert code == 0
    for said in (out, err):
        assert "ipad, opad = pads()" in said
        assert "0x36" in said
    data = scv.read_table("d.csv", text="id")
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        register_sqlite(connection)
        data.to_sql("t", connection)
        ipad, opad = pads()
        found = connection.execute(
            f"SELECT {out} FROM t", {"ipad": ipad, "opad": opad}
        ).fetchall()
    plan = scv.fold_plan(data=data, k=5, stratify=scv.by_hash("id"))
    for fold in range(5):
        assert {found[i] for i in plan.test(fold)} == {(fold + 1,)}


def test_options_of_files_mean_nothing_elsewhere() -> None:
    code, _, err = run("cv", "GRADE ~ GPA", "spector", "--sep", ";")
    assert code == 2
    assert "--sep means nothing for the data set 'spector'" in err
    pd.DataFrame({"y": [0, 1]}).to_parquet("d.parquet")
    assert scv.read_table("d.parquet")["y"].tolist() == [0, 1]
    with pytest.raises(StatcvError, match="typed columns"):
        scv.read_table("d.parquet", missing=".")


def test_a_description_says_why_a_column_is_text() -> None:
    Path("d.csv").write_text(table(with_code("n.d.")))
    assert "column 'x' is text" in run("data", "d.csv")[1]


# ---- files of Excel, files that are not text, and files that would be lost ----


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_the_line_by_which_excel_knows_the_separator_is_no_row(start: str) -> None:
    Path("excel.csv").write_text(f"{start}sep=;\r\ny;x\r\n1;2,5\r\n", encoding="utf-8")
    for given in ({}, {"sep": ";"}):
        read = scv.read_table("excel.csv", decimal=",", **given)
        assert read.to_dict("list") == {"y": [1], "x": [2.5]}
    Path("excel.csv").write_text("sep=;\ny;x\n1;2\n1\n", encoding="utf-8")
    with pytest.raises(DataError, match="row 2, which ends in line 4, has 1 field"):
        scv.read_table("excel.csv")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b"PK\x03\x04\x14\x00", "Excel workbook or an archive; save its table as CSV"),
        (gzip.compress(b"y,x\n1,2\n", mtime=0), r"gzip; let its name end in \.gz"),
        (b",Unnamed: 0,x\n0,0,5\n", "columns 1 and 2 are both called 'Unnamed: 0'"),
    ],
)
def test_a_file_that_is_no_table_of_text_says_what_it_is(
    written: bytes, words: str
) -> None:
    Path("file.csv").write_bytes(written)
    with pytest.raises(DataError, match=words):
        scv.read_table("file.csv")


@pytest.mark.parametrize("missing", [999, "999", [999.0, -9], ("999", ".")])
def test_a_number_means_missing_as_its_text_does(missing: Any) -> None:
    Path("file.csv").write_text("y,x\n999,a\n2,b\n", encoding="utf-8")
    with pytest.warns(MissingDataWarning, match="text was read as missing in y"):
        read = scv.read_table("file.csv", missing=missing)
    assert read["y"].isna().tolist() == [True, False]


def test_no_file_that_is_read_is_written_over() -> None:
    held = "y,predicted,row_label\n" + "1,0.7,a\n0,0.4,b\n1,0.5,c\n0,0.6,d\n" * 9
    Path("own.csv").write_text(held, encoding="utf-8")
    Path("results").mkdir()
    Path("results/predictions.csv").write_text(held, encoding="utf-8")
    evaluated = ("evaluate", "results/predictions.csv", "--observed", "y")
    for call in (
        ("data", "own.csv", "--out", "./own.csv"),
        ("folds", "own.csv", "--outcome", "y", "--out", "own.csv"),
        (*evaluated, "--predicted", "predicted", "--out", "results"),
    ):
        code, _, err = run(*call)
        assert (code, "--out would write over" in err) == (2, True)
    assert Path("own.csv").read_text(encoding="utf-8") == held
    assert Path("results/predictions.csv").read_text(encoding="utf-8") == held
    assert run("data", "own.csv", "--out", "other.csv")[0] == 0
    assert run("data", "own.csv", "--out", "other.csv")[0] == 0


def test_a_table_is_no_workbook_by_its_name() -> None:
    for name in ("ehr.xlsx", "ehr.parquet", "ehr.tsv"):
        code, _, err = run("data", "ehr", "--out", name)
        assert (code, Path(name).exists()) == (2, False)
        assert "let its name end in .csv" in err
