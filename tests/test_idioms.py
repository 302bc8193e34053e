"""The idioms of R on the page "Coming from R", held against R's own numbers."""

import ast
import os
import re
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]


def test_every_idiom_of_r_gives_its_numbers():
    page = (ROOT / "vignettes" / "from-r.md").read_text()
    cells = re.findall(r"```\{code-cell\} python3\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    before = Path.cwd()
    os.chdir(ROOT / "vignettes")
    try:
        for cell in cells:
            code = re.sub(r"^:tags:.*\n", "", cell)
            exec(compile(ast.parse(code), "from-r.md", "exec"), names)
    finally:
        os.chdir(before)
    files = (ROOT / "tests" / "reference").glob("idioms_*r.csv")
    stored = {idiom for file in files for idiom in pd.read_csv(file)["idiom"]}
    assert set(names["differences"]) == stored
    assert max(names["differences"].values()) < 1e-6
