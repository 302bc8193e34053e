"""The benchmarks compare results with their peers before they measure times."""

from pathlib import Path

import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.slow
def test_a_quick_run_agrees_and_writes_its_tables(tmp_path):
    from run import main

    names = ["logit-60x5", "two-stage", "stability", "linear", "neighbors"]
    main(["--quick", "--out", str(tmp_path), "--only", *names])
    ratios = pd.read_csv(tmp_path / "ratios.csv")
    assert set(ratios["case"]) == set(names)
    assert (ratios["gap"] < 1e-8).all()
    assert (ratios["lowest"] > 0).all()
    counted = pd.read_csv(tmp_path / "products.csv").iloc[0]
    assert counted["fits"] == 60
    assert 1 < counted["iterations"] < 30
    operations = 4 * 60 * 60 * 6 * counted["iterations"] / 1e9
    assert counted["gigaflops"] == pytest.approx(operations, rel=1e-3)


def test_a_disagreement_names_its_case():
    from cases import Case
    from timing import agree

    def case(gap):
        return Case("work", "1 × 1", ours=int, gap=lambda: gap, peers=())

    assert agree("fine", case(1e-9)) == 1e-9
    for gap in (1e-7, float("nan")):
        with pytest.raises(AssertionError, match=r"^off-case: "):
            agree("off-case", case(gap))


def test_rows_of_other_cases_are_kept_if_the_machine_is_the_same(tmp_path):
    from run import Tables

    def cases():
        return pd.read_csv(tmp_path / "ratios.csv")[["case", "ratio"]].values.tolist()

    tables = Tables(tmp_path)
    tables.add("ratios", "linear", [{"ratio": 1.0}, {"ratio": 2.0}])
    tables.add("ratios", "glm-r", [{"ratio": 3.0}])
    Tables(tmp_path).add("ratios", "linear", [{"ratio": 4.0}])
    assert cases() == [["glm-r", 3.0], ["linear", 4.0]]
    (tmp_path / "machine.json").write_text('{"cores": "0"}')
    Tables(tmp_path).add("ratios", "glm-r", [{"ratio": 5.0}])
    assert cases() == [["glm-r", 5.0]]


def test_an_unknown_case_raises_an_error():
    from run import main

    with pytest.raises(SystemExit, match="case lojit; the cases are logit-60x5"):
        main(["--quick", "--only", "lojit"])
