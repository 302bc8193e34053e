"""The eight checks of the project, each in an environment of its own: `nox -s lint`.

`.ci/run` makes all of them on a bare machine, without nox.
"""

from pathlib import Path

import nox

nox.options.sessions = ["tests", "lint", "types", "contract", "doctests"]


def _install(session: nox.Session, extra: str) -> None:
    session.install("-e", f".[{extra}]")


@nox.session(python=["3.10", "3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """Run the tests but the slow ones."""
    _install(session, "test")
    session.run("pytest", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the slow tests, with more examples of each property."""
    _install(session, "test")
    session.run("pytest", "-m", "slow", "--hypothesis-profile=thorough")


@nox.session
def doctests(session: nox.Session) -> None:
    """Run the examples in docstrings."""
    _install(session, "test")
    session.run("pytest", "-n", "0", "--doctest-modules", "statcv", "vignettes/studies")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    _install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    _install(session, "test,lint")
    session.run("mypy")


@nox.session
def contract(session: nox.Session) -> None:
    """Check which room imports which."""
    _install(session, "lint")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Execute the pages and build them."""
    _install(session, "docs")
    build = ["-j", "2", "-W", "-n", "-b", "html"]
    session.run("sphinx-build", *build, "vignettes", "build/html")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the source archive and the wheel, and use the wheel alone."""
    session.install("build")
    session.run("python", "-m", "build", "--outdir", "dist", ".")
    session.install(*map(str, Path("dist").glob("*.whl")))
    session.run("statcv", "data")
