"""What the package promises before anything is fitted."""

import configparser
import inspect
import json
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import statcv as scv
from statcv import errors

ROOT = Path(__file__).parents[1]
HEAVY = ("matplotlib", "xgboost", "statsmodels", "sklearn", "scipy.stats")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return set(json.loads(run.stdout))


@pytest.mark.parametrize(
    "statement",
    ["import statcv", "from statcv import cv, compare, load_data, plots"],
)
def test_import_loads_nothing_heavy(statement):
    assert not loaded_by(statement) & set(HEAVY)


def test_every_public_name_is_there():
    assert scv.__all__ == sorted(scv.__all__)
    for name in scv.__all__:
        assert getattr(scv, name) is not None
    assert set(scv.__all__) <= set(dir(scv))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = scv.nothing_of_the_kind


def modules() -> list[str]:
    return [m.name for m in pkgutil.walk_packages(scv.__path__, "statcv.")]


def test_no_name_of_a_room_is_also_a_module_there():
    """A name that is imported lazily would change its meaning with the module."""
    for room in ["", ".folds", ".metrics", ".models", ".plots", ".studies"]:
        package = import_module(f"statcv{room}")
        inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
        for name in set(package.__all__) & inside:
            assert getattr(package, name) is import_module(f"statcv{room}.{name}")


def test_every_package_is_listed():
    """Packages are listed by hand, since data/ lies outside the package's folder."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "statcv").rglob("__init__.py")
    }
    assert listed == found | {"statcv.data"}


def test_top_level_files():
    names = {"setup.cfg", "pyproject.toml", "README.md", "NEWS.md", "LICENSE"}
    names |= {"CITATION.cff", "CONTRIBUTING.md"}
    assert all((ROOT / name).is_file() for name in names)
    text = (ROOT / "setup.cfg").read_text()
    assert f"version = {scv.__version__}\n" in text
    assert f"version: {scv.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert scv.__version__ in (ROOT / "NEWS.md").read_text()


@pytest.mark.parametrize(
    "error",
    [
        value
        for value in vars(errors).values()
        if inspect.isclass(value)
        and issubclass(value, errors.StatcvError)
        and value is not errors.StatcvError
    ],
)
def test_every_error_is_a_builtin_error_too(error):
    builtin = (ValueError, TypeError, KeyError, RuntimeError, OSError, ImportError)
    builtin += (AttributeError,)
    assert issubclass(error, builtin)
    assert str(error("what was wrong")) == "what was wrong"


def test_a_warning_points_at_the_caller():
    frame = scv.load_data("spector")
    with pytest.warns(scv.errors.DistributionalBiasWarning) as caught:
        scv.cv("GRADE ~ GPA", frame, scheme="loocv")
    assert [warning.filename for warning in caught] == [__file__]
