"""Results and their reports, which several tests of one process read.

Pictures take most of the time of a report. They are drawn in the report of one result;
other reports are written without them, and their pictures are drawn on bare axes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.report import page
from statcv.results.comparison import Comparison
from statcv.results.result import CVResult

Report = tuple[Any, str]  # a result, and its report as HTML


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(page, "inline_svg", lambda one, name: ("0 0 1 1", ""))
    patch.setattr(page, "draw", lambda one, form: b"\x89PNG")


def written(made: Any, folder: Path, **options: Any) -> str:
    """Write a report without pictures, and read it."""
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        path = made.report(folder / "quiet.html", **options)
    return Path(path).read_text("utf-8")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="session")
def res() -> CVResult:
    df = scv.load_data("spector")
    df.loc[3, "TUCE"] = np.nan
    with pytest.warns(scv.errors.MissingDataWarning):
        return scv.cv("GRADE ~ GPA + TUCE", df, seed=1)


@pytest.fixture(scope="session")
def html(res: CVResult, folder: Path) -> str:
    path = folder / "tripod.html"
    assert res.report(path, style="tripod+ai") == path
    return path.read_text("utf-8")


@pytest.fixture(scope="session")
def clustered(folder: Path) -> Report:
    df = scv.load_data("ehr")
    made = scv.cv("y ~ x1 + x2", df, k=5, seed=1)
    return made, written(made, folder, style="tripod-cluster", by="site")


@pytest.fixture(scope="session")
def numeric(folder: Path) -> Report:
    made = scv.cv("GPA ~ TUCE", scv.load_data("spector"), seed=1)
    return made, written(made, folder)


@pytest.fixture(scope="session")
def timed(folder: Path) -> Report:
    rng = np.random.default_rng(4)
    x, time = rng.normal(size=80), rng.exponential(500, 80)
    lung = pd.DataFrame({"x": x, "z": rng.normal(size=80)})
    lung["days"] = np.ceil(time * np.exp(-x)).clip(1, 900)
    lung["died"] = (time * np.exp(-x) < rng.uniform(100, 1500, 80)) & (lung.days < 900)
    made = scv.cv("Surv(days, died) ~ x + z", lung, k=5, horizon=[200, 500], seed=1)
    return made, written(made, folder, style="tripod+ai")


@pytest.fixture(scope="session")
def markdown(numeric: Report, folder: Path) -> Path:
    return numeric[0].report(folder / "out.md", style="tripod+ai")


@pytest.fixture(scope="session")
def several(folder: Path) -> Report:
    rng = np.random.default_rng(2)
    three = pd.DataFrame({"y": list("abc") * 20, "x1": rng.normal(size=60)})
    made = scv.cv("y ~ x1", three, k=3, seed=1)
    return made, written(made, folder, style="tripod+ai")


@pytest.fixture(scope="session")
def compared() -> Comparison:
    df = scv.load_data("spector")
    df.loc[3, "PSI"] = np.nan
    with pytest.warns(scv.errors.MissingDataWarning):
        return scv.compare(a="GRADE ~ GPA", b=". ~ . + PSI", data=df, k=5, seed=1)


@pytest.fixture(scope="session")
def of_comparison(compared: Comparison, folder: Path) -> Report:
    return compared, written(compared, folder, style="tripod+ai")


@pytest.fixture(scope="session")
def over_sites(folder: Path) -> Report:
    df = scv.load_data("ehr")
    plan = scv.sites.agree("y ~ x1 + x2", k=3, seed=1)
    data = {str(name): own for name, own in df.groupby("site")}
    made = scv.sites.run(plan, data)
    return made, written(made, folder)


@pytest.fixture
def without_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures empty, for tests that are about other parts of a report."""
    draw_nothing(monkeypatch)


@pytest.fixture
def quiet(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a report without pictures, and reads it."""

    def write(made: Any, **options: Any) -> str:
        return written(made, tmp_path, **options)

    return write
