"""How many small errors in a module the tests find: mutation of the core.

    python benchmarks/mutants.py [--only NAME ...] [--seed SEED] [--near]

A mutant is the package with one change in one place of one module: another comparison
or arithmetic operator, a constant one larger or smaller, a condition negated, `and`
for `or`, None returned, a default removed, branches swapped, or a statement deleted.
It is made in a copy of the package, where first the tests about the module run, and
then, unless one failed, the others of the folder that mirrors its room (not with
`--near`). A mutant is killed where a test fails, or where the tests need more than
five times the processor's time that they need without a change. Survivors are printed
as the line before and after.

24 mutants of each module are drawn, the same ones for the same seed. `--lines PATTERN`
takes instead every mutant whose line before or after matches.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import difflib
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path

LIBRARIES = [
    "hypothesis.extra.numpy",
    "joblib",
    "matplotlib.figure",
    "pandas",
    "polars",
    "pytest",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.linear_model",
    "statsmodels.formula.api",
]
ROOT = Path(__file__).parents[1]
SEED, MUTANTS, SLOWER = 18, 24, 5

# each with its files below statcv/, the folder of tests/ that mirrors its room, and a
# pattern of the test files that are about it
MODULES = {
    "placements": (
        ["metrics/areas/placements.py"],
        "metrics",
        "placements|disjoint|delong",
    ),
    "allocation": (["folds/schemes/allocation.py"], "folds", "allocation"),
    "signed_rank": (["inference/tests/signed_rank.py"], "inference", "signed_rank"),
    "strata_hash": (
        ["folds/strata/by_hash.py", "folds/strata/hashing.py"],
        "folds",
        "hashing|strata",
    ),
    "rebalance": (["folds/rebalance/*.py"], "folds", "rebalance|weighting"),
    "intervals": (
        ["inference/intervals/*.py"],
        "inference",
        "intervals|influence|held_bootstrap|at_boundary",
    ),
    "meta": (["inference/meta/*.py"], "inference", "meta"),
    "scope": (
        ["formula/language/scope.py"],
        "formula",
        "strangers|names|frames|dependence",
    ),
}

COMPARED = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
COMPUTED = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Div],
    ast.Mod: [ast.Mult],
    ast.Pow: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
    ast.LShift: [ast.RShift],
    ast.RShift: [ast.LShift],
    ast.BitXor: [ast.BitAnd],
    ast.MatMult: [ast.Mult],
}
DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise)


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    path: Path
    source: str
    line: str


# ---- the changes ----


def places(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes that compute: no annotation, docstring, decorator or table."""
    hidden: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        parts += getattr(node, "decorator_list", [])
        body = getattr(node, "body", None)
        if isinstance(body, list):
            parts += [one for one in body if is_text(one)]
        for part in parts:
            if isinstance(part, ast.AST):
                hidden |= {id(one) for one in ast.walk(part)}
    for node in tree.body:  # tables of data and names of types
        value = getattr(node, "value", None)
        if isinstance(value, (ast.Tuple, ast.Dict, ast.BinOp, ast.Subscript)):
            hidden |= {id(one) for one in ast.walk(value)}
    return [node for node in ast.walk(tree) if id(node) not in hidden]


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def changes(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    """List what can be done to a node, as functions that do it in place."""
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for other in COMPARED.get(type(operator), []):
                yield lambda n, at=at, other=other: n.ops.__setitem__(at, other())
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        for other in COMPUTED.get(type(node.op), []):
            yield lambda n, other=other: setattr(n, "op", other())
    if isinstance(node, ast.BoolOp):
        other = ast.And if isinstance(node.op, ast.Or) else ast.Or
        yield lambda n: setattr(n, "op", other())
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield lambda n: setattr(n, "value", not n.value)
        elif isinstance(node.value, (int, float)):
            for step in (1, -1):
                yield lambda n, step=step: setattr(n, "value", n.value + step)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield lambda n: setattr(n, "test", negated(n.test))
    if isinstance(node, ast.comprehension):
        for at in range(len(node.ifs)):
            yield lambda n, at=at: n.ifs.__setitem__(at, negated(n.ifs[at]))
    if isinstance(node, ast.IfExp) or (isinstance(node, ast.If) and node.orelse):
        yield swap_branches
    if isinstance(node, ast.Return) and node.value is not None:
        yield lambda n: setattr(n, "value", ast.Constant(None))
    if isinstance(node, ast.arguments):
        for at in range(len(node.defaults)):
            # The defaults before a removed one are removed too.
            yield lambda n, at=at: n.defaults.__delitem__(slice(0, at + 1))
        for at, default in enumerate(node.kw_defaults):
            if default is not None:
                yield lambda n, at=at: n.kw_defaults.__setitem__(at, None)
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        for at, one in enumerate(body if isinstance(body, list) else []):
            if isinstance(one, DELETED) and not is_text(one):
                yield lambda n, name=name, at=at: delete(getattr(n, name), at)


def negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def swap_branches(node: ast.AST) -> None:
    node.body, node.orelse = node.orelse, node.body


def delete(body: list[ast.stmt], at: int) -> None:
    body[at] = ast.Pass()


def mutants_of(paths: list[Path], rng: random.Random) -> Iterator[Mutant]:
    """Make all mutants of some files, each once, in random order."""
    trees = {path: ast.parse(path.read_text()) for path in paths}
    before = {path: ast.unparse(tree).splitlines() for path, tree in trees.items()}
    sites = [
        (path, at, which)
        for path, tree in trees.items()
        for at, node in enumerate(places(tree))
        for which in range(len(list(changes(node))))
    ]
    rng.shuffle(sites)
    seen: set[str] = set()
    for path, at, which in sites:
        tree = copy.deepcopy(trees[path])
        node = places(tree)[at]
        list(changes(node))[which](node)
        source = ast.unparse(ast.fix_missing_locations(tree))
        line = difference(before[path], source.splitlines())
        with contextlib.suppress(SyntaxError):
            compile(source, str(path), "exec")
            if line and source not in seen:
                seen.add(source)
                yield Mutant(path, source, line)


def difference(before: list[str], after: list[str]) -> str:
    """Return the changed lines before and after as one line."""
    old, new = [], []
    for line in difflib.unified_diff(before, after, lineterm="", n=0):
        if line[:2] not in ("--", "++", "@@"):
            (old if line[0] == "-" else new).append(line[1:].strip())
    return f"{' ⏎ '.join(old)}  →  {' ⏎ '.join(new)}" if old or new else ""


# ---- the tests ----


def tests_of(folder: str, about: str) -> tuple[list[str], list[str]]:
    """Return the test files about a module, and the others of the folder."""
    files = sorted((ROOT / "tests" / folder).glob("test_*.py"))
    near = [path for path in files if re.search(about, path.name)]
    rest = [path for path in files if path not in near]
    names = ([str(path.relative_to(ROOT)) for path in part] for part in (near, rest))
    near_names, rest_names = names
    return near_names, rest_names


def run_tests(work: Path, tests: list[str], limit: float) -> tuple[str, float]:
    """Run the tests of the copy in a process forked from this one."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        seconds = int(limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        log = os.open(work / "tests.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(work)
        sys.path.insert(0, str(work))
        code = 1
        try:
            import pytest

            options = ["-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            options += ["-p", "no:xdist", "--basetemp", str(work / "tmp")]
            code = int(pytest.main([*options, *tests], plugins=[Plain()]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    while time.monotonic() < start + 10 * limit:  # others may use the machine
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            state = {0: "passed", -signal.SIGXCPU: "too long"}.get(code, "failed")
            return state, used.ru_utime + used.ru_stime
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too long", limit


class Plain:
    """Property tests keep no examples and look for no smaller ones."""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        phases = [Phase.explicit, Phase.generate]
        usual = settings.get_profile("thorough")
        settings.register_profile("mutants", usual, phases=phases, database=None)
        settings.load_profile("mutants")


def failed_test(work: Path) -> str:
    log = (work / "tests.log").read_text(errors="replace")
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)", log, re.M)
    return found[0] if found else ""


def prepare() -> None:
    """Import what all tests need once; the package itself each mutant imports."""
    for name in LIBRARIES:
        import_module(name)
    assert "statcv" not in sys.modules


class Suite:
    """Tests in the copy, with the time that they need without a change."""

    def __init__(self, work: Path, tests: list[str]) -> None:
        self.work, self.tests, self.usual = work, tests, 0.0

    def run(self) -> tuple[str, float]:
        """Return how a run of the tests ended, and how long it took."""
        return run_tests(self.work, self.tests, SLOWER * self.usual + 10)

    def measure(self) -> None:
        """Run the tests of the unchanged package, which must pass."""
        state, self.usual = run_tests(self.work, self.tests, 3600)
        assert state == "passed", (self.work / "tests.log").read_text()[-3000:]


def measure(name: str, work: Path, asked: argparse.Namespace) -> None:
    """Run the mutants of a module and print its row and its survivors."""
    patterns, folder, about = MODULES[name]
    suites = [Suite(work, tests) for tests in tests_of(folder, about)]
    paths = [path for p in patterns for path in sorted((ROOT / "statcv").glob(p))]
    every = mutants_of(paths, random.Random(f"{asked.seed} {name}"))
    if asked.lines:
        drawn = [one for one in every if re.search(asked.lines, one.line)]
    else:
        drawn = list(islice(every, asked.mutants))
    survivors = drawn
    for suite in suites[: 1 if asked.near else 2]:
        if survivors:
            suite.measure()
            survivors = [one for one in survivors if survives(one, suite, asked)]
    killed = len(drawn) - len(survivors)
    print(
        f"{name:12} mutants {len(drawn):3}  killed {killed:3}  survived "
        f"{len(survivors):3}  ({killed / len(drawn):.0%})"
    )
    for mutant in survivors:
        print(f"  {mutant.path.name}: {mutant.line}", flush=True)


def survives(mutant: Mutant, suite: Suite, asked: argparse.Namespace) -> bool:
    """Say whether all tests pass in the copy with the change."""
    target = suite.work / mutant.path.relative_to(ROOT)
    original = target.read_text()
    target.write_text(mutant.source)
    try:
        state, seconds = suite.run()
    finally:
        target.write_text(original)
    if asked.verbose:
        by = failed_test(suite.work)
        text = f"{mutant.path.name}: {mutant.line}"
        print(f"    {state} {seconds:.0f} s {text} [{by}]", flush=True)
    return state == "passed"


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", choices=list(MODULES), default=[])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--mutants", type=int, default=MUTANTS, help="of a module")
    parser.add_argument("--near", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--lines", metavar="PATTERN")
    asked = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != ROOT]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for part in ("statcv", "tests", "data", "benchmarks", "vignettes"):
            ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
            shutil.copytree(ROOT / part, work / part, ignore=ignored)
        for part in ROOT.glob("*.*"):
            if part.is_file():
                shutil.copy(part, work)
        os.environ["PYTHONPATH"] = str(work)
        prepare()
        for name in asked.only or MODULES:
            measure(name, work, asked)


if __name__ == "__main__":
    main()
