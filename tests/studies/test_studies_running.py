"""One way to run the studies, and one place for their tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from statcv.errors import ArgumentError, CheckpointError, DataError
from studies import __main__ as command
from studies import austin2024, bey2020, inference
from studies.__main__ import PAPERS, main, paper_of
from studies.austin2024 import published
from studies.papers import TABLES, Paper, Rounding, Table
from studies.running import Study, fill, parts_of, run, simulate

STUDIES: list[Callable[..., Any]] = [
    austin2024.dummies,
    austin2024.null_aurocs,
    austin2024.null_classes,
    austin2024.null_kinds,
    austin2024.null_numbers,
    austin2024.other_models,
    austin2024.penalties,
    austin2024.predictions,
    austin2024.public_data,
    austin2024.signal_aurocs,
    austin2024.standardised,
    austin2024.stratified,
    published.figure4,
    published.tuning_paths,
    bey2020.figure2,
    bey2020.figure3,
    bey2020.figure4,
    bey2020.fresh_records,
    bey2020.leak_of_duplicates,
    bey2020.limits,
    bey2020.narrow_bins,
    bey2020.numbers_of_folds,
    inference.run_study,
]
EVERY = [(name, table) for name in PAPERS for table in paper_of(name).tables]


# ---- one way to run them ----


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.__qualname__)
def test_every_study_takes_the_same_arguments(study: Callable[..., Any]) -> None:
    there = signature(study).parameters
    common = list(there)[-4:]
    assert common == ["directory", "seed", "n_jobs", "progress"]
    assert [there[name].default for name in common] == [None, 1, None, None]
    assert all(there[name].kind is there[name].KEYWORD_ONLY for name in common)


def drawn(seed: int, number: int, size: int = 2) -> pd.DataFrame:
    """Return a table of a data set, with numbers and text."""
    values = np.random.default_rng([seed, number]).normal(size=size)
    return pd.DataFrame({"value": values, "name": ["a", "b"][:size]})


def test_a_data_set_depends_on_the_seed_and_its_number_alone(tmp_path: Path) -> None:
    how: dict[str, Any] = {"n_jobs": None, "progress": None, "chunk": 2}
    table = simulate("s", drawn, 5, directory=tmp_path, seed=4, **how)
    assert table["simulation"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    expected = pd.concat([drawn(4, number) for number in range(5)], ignore_index=True)
    pd.testing.assert_frame_equal(table[["value", "name"]], expected)
    assert [part for _, part in parts_of(tmp_path, "s")] == [
        range(0, 2),
        range(2, 4),
        range(4, 5),
    ]
    more = simulate("s", drawn, 8, directory=tmp_path, seed=4, **how)
    pd.testing.assert_frame_equal(more[:10], table)
    with pytest.raises(CheckpointError, match="seed=4"):
        simulate("s", drawn, 5, directory=tmp_path, seed=5, **how)
    with pytest.raises(CheckpointError, match="size=None"):
        simulate("s", drawn, 5, directory=tmp_path, seed=4, size=1, **how)


def test_progress_is_shown_where_it_is_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = Study("s", partial(drawn, 1), {}, chunk=3)
    run(study, 4, None, None, None)  # no terminal
    assert capsys.readouterr().err == ""
    run(study, 4, None, None, True)
    assert "4/4" in capsys.readouterr().err


def test_a_directory_is_filled_with_the_files_of_several_measures(
    tmp_path: Path,
) -> None:
    measures = {
        name: lambda numbers, factor=factor: {"x": factor * np.array(list(numbers))}
        for name, factor in (("one", 1), ("two", 2))
    }
    fill(tmp_path, measures, 3, 2, None, None)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "one-000000-000002.npz",
        "one-000002-000003.npz",
        "two-000000-000002.npz",
        "two-000002-000003.npz",
    ]


# ---- one command ----


def paper_with(make: Callable[..., pd.DataFrame], **how: Any) -> Paper:
    table = Table(10, make, ("size",), **how)
    return Paper("mine", {"t": table}, options={"size": {"type": int, "default": 2}})


def test_a_paper_hands_on_what_a_table_takes(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def make(count: int, **how: Any) -> pd.DataFrame:
        asked.append({"count": count, **how})
        return drawn(1, 0)

    common = {"seed": 3, "n_jobs": 2, "progress": False}
    paper_with(make).make("t", tmp_path, most=4, **common, size=7, other=1)
    paper_with(make, results="shared").make("t", tmp_path)
    assert asked == [
        {"count": 4, "directory": tmp_path / "t", **common, "size": 7},
        {
            "count": 10,
            "directory": tmp_path / "shared",
            "seed": 1,
            "n_jobs": None,
            "progress": None,
        },
    ]


def test_the_command_has_the_options_of_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(count: int, *, seed: int, size: int, **how: Any) -> pd.DataFrame:
        return drawn(seed, count, size)

    paper = paper_with(make)
    monkeypatch.setattr(command, "PAPERS", ("mine",))
    monkeypatch.setattr(command, "paper_of", {"mine": paper}.get)
    folder = tmp_path / "new" / "tables"
    asked = ["--seed", "5", "--most", "3", "--size", "1"]
    main(["mine", str(tmp_path / "results"), str(folder), *asked])
    (found,) = paper.stored("t", folder)["value"]
    assert found == pytest.approx(drawn(5, 3)["value"][0], rel=1e-4)
    with pytest.raises(SystemExit):
        main(["mine", "a", "b", "--only", "u"])


# ---- one place for their tables ----


def test_every_stored_table_of_a_study_belongs_to_a_paper() -> None:
    quoted = Path(str(files("statcv.data")))
    there = set(TABLES.glob("*.csv")) | set(quoted.glob("inference_*.csv"))
    made = [(paper_of(name), table) for name, table in EVERY]
    assert there == {paper.place / paper.file(table) for paper, table in made}


@pytest.mark.parametrize(("name", "table"), EVERY)
def test_a_stored_table_would_be_written_as_it_is(
    name: str, table: str, tmp_path: Path
) -> None:
    paper = paper_of(name)
    file = paper.place / paper.file(table)
    read: Any = paper.stored(table)
    for attribute in ("table", "curves", "predictions"):
        if not isinstance(read, pd.DataFrame) and attribute in vars(read):
            read = vars(read)[attribute]
    paper.write(table, read, tmp_path)
    assert (tmp_path / paper.file(table)).read_bytes() == file.read_bytes()


def test_numbers_are_rounded_by_column() -> None:
    table = pd.DataFrame(
        {"a": [4465.38, np.nan], "b": [0.123456, 2e-6], "b_se": [0.0123, 1.0]}
    )
    written = Rounding(digits=3, columns={"b": 4}, decimals=5).rounded(table)
    assert written.to_numpy().tolist() == [["4470", "0.1235", "0.012"], ["", "0", "1"]]
    all_decimals = Rounding(digits=7, errors=1, decimals=None).rounded(table)
    assert all_decimals["a"].tolist() == ["4465.38", ""]
    assert all_decimals["b"].tolist() == ["0.123456", "2e-06"]
    assert all_decimals["b_se"].tolist() == ["0.01", "1"]


def test_tables_that_there_are_not(tmp_path: Path) -> None:
    paper = paper_with(lambda count: drawn(1, count))
    with pytest.raises(ArgumentError, match="there is no table 'u'"):
        paper.stored("u")
    with pytest.raises(DataError, match=r"mine_t\.csv; python -m studies mine"):
        paper.stored("t", tmp_path)
