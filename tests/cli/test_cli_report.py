"""The command `statcv report`."""

from __future__ import annotations

from pathlib import Path

import pytest

import statcv as scv
from statcv.cli.main import main
from statcv.report import page
from statcv.results.writing.styles import STYLES

FORMULA = "GRADE ~ GPA + TUCE"


def test_report_writes_what_the_result_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "inline_svg", lambda one, name: ("0 0 1 1", one.name))
    out = tmp_path / "a.html"
    given = ["--seed", "1", "-k", "5", "--style", "tripod+ai", "--out", str(out)]
    assert main(["report", FORMULA, "spector", *given]) == 0
    res = scv.cv(FORMULA, scv.load_data("spector"), k=5, seed=1)
    res.report(tmp_path / "b.html", style="tripod+ai")
    assert out.read_bytes() == (tmp_path / "b.html").read_bytes()
    assert capsys.readouterr().out == f"{res.sentence()}\n\nWritten: {out}\n"


def test_report_refuses_a_path_before_anything_is_fitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", FORMULA, "spector", "--out", str(tmp_path / "a.doc")]) == 2
    assert "not as '.doc'" in capsys.readouterr().err
    given = ["--style", "tripod-cluster", "--out", str(tmp_path / "a.html")]
    assert main(["report", FORMULA, "spector", *given]) == 2
    assert "needs by=" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_help_names_the_styles(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "--help"])
    assert "{" + ",".join(STYLES) + "}" in capsys.readouterr().out
