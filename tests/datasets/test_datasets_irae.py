"""The file that has to be asked for: read as its authors' code reads it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from statcv import load_data, load_irae
from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError, DataError

OUTCOME = "Severe_irAE"
CD4 = "Activated_CD4_memory_T_CSx"
DIVERSITY = "TCR_clonotype_diversity_ShannonEntropy"
NAMES = [OUTCOME, "Time_to_severe_irAE_months", CD4, DIVERSITY]
ROWS = [("P1", 1, 2.5, 0.031, 8.25), ("P2", 0, 9.0, 0.2, 7.5), ("P3", 1, 1.0, 0.05, 9)]


def written(path: Path, header: list[str], rows: list[tuple[object, ...]]) -> Path:
    lines = ["\t".join(map(str, line)) for line in (header, *rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("corner", [[], [""], ["Patient"]])
def test_with_and_without_a_name_of_the_first_column(
    tmp_path: Path, corner: list[str]
) -> None:
    file = written(tmp_path / "model_input.txt", [*corner, *NAMES], ROWS)
    expected = pd.DataFrame(
        [row[1:] for row in ROWS], columns=NAMES, index=["P1", "P2", "P3"]
    )
    assert_frame_equal(load_irae(file), expected)
    assert_frame_equal(load_irae(str(file)), expected)


def test_a_file_that_is_not_there_says_where_it_is_to_be_had(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file '.*input.txt'.*10.25936/f3np-k536"):
        load_irae(tmp_path / "input.txt")
    with pytest.raises(DataError, match="there is no file"):
        load_irae(tmp_path)
    with pytest.raises(ArgumentTypeError, match="must be the path of a file, not int"):
        load_irae(3)  # type: ignore[arg-type]


def test_its_name_is_known_to_load_data() -> None:
    with pytest.raises(ArgumentError, match=r"statcv.load_irae\(path\) reads the file"):
        load_data("irae")


@pytest.mark.parametrize("name", [OUTCOME, CD4, DIVERSITY])
def test_a_column_that_is_absent_is_named(tmp_path: Path, name: str) -> None:
    header = ["id", *[other if other != name else "x" for other in NAMES]]
    file = written(tmp_path / "model_input.txt", header, ROWS)
    with pytest.raises(ColumnError, match=f"no column '{name}'.*It has "):
        load_irae(file)


def test_what_is_no_such_table(tmp_path: Path) -> None:
    file = tmp_path / "model_input.txt"
    file.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(DataError, match="cannot read"):
        load_irae(file)
    file.write_text("")
    with pytest.raises(DataError, match="cannot read"):
        load_irae(file)
    written(file, ["id", *NAMES], [("P1", 2, 2.5, 0.031, 8.25)])
    with pytest.raises(DataError, match=r"is 0 or 1, but 2 for patient 'P1'"):
        load_irae(file)
    written(file, ["id", *NAMES], [("P1", 1, 2.5, "high", 8.25)])
    with pytest.raises(DataError, match=f"'{CD4}' of .* does not hold numbers"):
        load_irae(file)
    written(file, ["id", *NAMES], [ROWS[0], ROWS[0]])
    with pytest.raises(DataError, match="more than once"):
        load_irae(file)


def test_fields_that_are_not_set_off_by_tabs(tmp_path: Path) -> None:
    file = tmp_path / "model_input.txt"
    file.write_text(",".join(["id", *NAMES]) + "\nP1,1,2.5,0.031,8.25\n")
    with pytest.raises(ColumnError, match="fields separated by tabs"):
        load_irae(file)
