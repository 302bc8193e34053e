"""What the package promises before anything is fitted."""

import ast
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
    "statement", ["import statcv", "from statcv import cv, compare, load_data, plots"]
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
    for room in ["", ".folds", ".metrics", ".models", ".plots", ".datasets"]:
        package = import_module(f"statcv{room}")
        inside = {module.name for module in pkgutil.iter_modules(package.__path__)}
        for name in set(package.__all__) & inside:
            assert getattr(package, name) is import_module(f"statcv{room}.{name}")


# ---- a room is entered by its own door ----

WITH_DOORS = {"datasets", "engine", "folds", "formula", "models"}
WITH_DOORS |= {"inference", "metrics", "sensitivity"}
SUB_ROOMS = {
    "statcv.datasets.ehr",
    "statcv.datasets.irae",
    "statcv.folds.audit",
    "statcv.folds.request",
    "statcv.folds.sklearn",
    "statcv.folds.strata",
    "statcv.folds.theory",
    "statcv.metrics.named",
    "statcv.models.batched",
    "statcv.models.imputation",
    "statcv.models.likelihood",
    "statcv.models.linear_fits",
    "statcv.models.thresholds",
    "statcv.models.selection",
    "statcv.models.tuning",
}
OPEN = ("statcv.inference.", "statcv.metrics.")  # whose sub-rooms have no list


def imports_of(path: Path) -> list[tuple[str, list[str]]]:
    """Return the modules of the package that a file imports, and the names."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found.append((str(node.module), [alias.name for alias in node.names]))
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
    return [one for one in found if one[0].partition(".")[0] == "statcv"]


def is_open(module: str) -> bool:
    """Tell whether a module lies in a sub-room that has no list of its own."""
    return module.startswith(OPEN) and module.count(".") > 2


def test_other_rooms_import_what_a_room_lists():
    """Its ``__init__``, or that of a sub-room, lists what other rooms may use."""
    past, known = [], set(modules())
    for path in (ROOT / "statcv").rglob("*.py"):
        own = path.relative_to(ROOT / "statcv").parts[0].removesuffix(".py")
        for module, names in imports_of(path):
            room = module.partition(".")[2].partition(".")[0]
            if room == own or room not in WITH_DOORS or is_open(module):
                continue
            # a whole module of a sub-room without a list
            whole = [f"{module}.{name}" for name in names]
            if whole and all(is_open(one) and one in known for one in whole):
                continue
            door = module == f"statcv.{room}" or module in SUB_ROOMS
            listed = set(import_module(module).__all__) if door else set()
            inside = {m for m in SUB_ROOMS if m.startswith(f"{module}.")}
            listed |= {m.rpartition(".")[2] for m in inside}
            if not door or not set(names) <= listed:
                past.append((str(path.relative_to(ROOT)), module, names))
    assert not past, "\n".join(map(str, past))


# What the studies use beside these; the style of figures is for them alone
OF_STUDIES = {
    "statcv.inference.meta",
    "statcv.inference.refits",
    "statcv.inference.tests",
    "statcv.plots",
    "statcv.plots.base",
    "statcv.results",
    "statcv.results.stratifier_bias",
}
SHARED = ("arguments", "errors", "files", "words")  # modules that several rooms share
STUDIES = ROOT / "vignettes" / "studies"


def test_studies_import_what_the_package_and_its_rooms_list():
    doors = {"statcv", *(f"statcv.{room}" for room in WITH_DOORS)}
    doors |= SUB_ROOMS | OF_STUDIES
    past = []
    for path in STUDIES.rglob("*.py"):
        for module, names in imports_of(path):
            if module in {f"statcv.{name}" for name in SHARED}:
                continue
            if module not in doors or set(names) - set(import_module(module).__all__):
                past.append((str(path.relative_to(ROOT)), module, names))
    assert not past, "\n".join(map(str, past))


def test_the_package_imports_no_study():
    for path in (ROOT / "statcv").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [getattr(node, "module", None) or ""]
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert not any(name.split(".")[0] == "studies" for name in names)


def test_a_room_lists_names_that_it_has():
    rooms = {f"statcv.{room}" for room in WITH_DOORS}
    for module in rooms | SUB_ROOMS | OF_STUDIES:
        door = import_module(module)
        assert len(set(door.__all__)) == len(door.__all__)
        assert all(hasattr(door, name) for name in door.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("room", ["folds", "formula", "metrics", "models", "engine"])
def test_a_room_is_light(room):
    assert not loaded_by(f"import statcv.{room}") & set(HEAVY)


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


def test_the_page_of_the_install_names_what_is_required():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    required = setup["options"]["install_requires"].split()
    names = {line.partition(">=")[0] for line in required}
    page = (ROOT / "vignettes" / "install.md").read_text()
    light = page.partition(".venv/bin/pip install numpy")[2].partition("\n.venv")[0]
    by_hand = {"numpy", *light.replace("\\", "").split()}
    assert by_hand == names - {"xgboost"} | {"xgboost-cpu"}
    brings = page.partition("This brings")[2].partition("Some")[0].lower()
    assert [name for name in names if name not in brings] == []
