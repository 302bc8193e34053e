"""What the README and the page on the command line say can be run, and is true."""

import re
import shlex
from pathlib import Path

import pytest

from statcv.cli.main import main
from statcv.words import limits_digits

ROOT = Path(__file__).resolve().parents[1]


def blocks(page, language):
    """Return the fenced blocks of a page in a language."""
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(page):
    """Return the commands `statcv ...` of a page, as lists of arguments."""
    joined = "\n".join(blocks(page, "sh")).replace("\\\n", " ")
    lines = [shlex.split(line) for line in joined.splitlines()]
    return [line[1:] for line in lines if line and line[0].endswith("statcv")]


def test_the_numbers_of_the_readme_are_those_of_its_code():
    (code,) = blocks("README.md", "python")
    names: dict[str, object] = {}
    exec(code.partition("res.metrics()")[0], names)
    result = names["res"]
    rows = re.findall(
        r"^\| (\w.*) \| ([\d.]+) \(([\d.]+) to ([\d.]+)\) \|",
        (ROOT / "README.md").read_text(),
        re.MULTILINE,
    )
    labels = {"auROC": "auroc", "Brier score": "brier"}
    for label, *numbers in rows:
        found = result.estimate(labels.get(label, label.replace(" ", "_")))
        digits = limits_digits(found.lower, found.upper)
        shown = [f"{x:.{digits}f}" for x in (float(found), found.lower, found.upper)]
        assert shown == numbers
    assert len(rows) == 3


def test_the_readme_has_the_two_commands_that_are_run_on_a_bare_machine():
    install, test = blocks("README.md", "sh")
    assert "statcv compare" in install
    assert install.rstrip().endswith("--out results")
    assert test.rstrip().endswith(".venv/bin/pytest")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_the_commands_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in commands("vignettes/how-to/command-line.md"):
        assert main(command) == 0, command
    made = {path.name for path in tmp_path.iterdir()}
    assert {"visits.csv", "results", "report.html", "folds.csv"} <= made
