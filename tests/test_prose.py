"""English as a statistician writes it, in docstrings, remarks, messages and pages."""

import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("statcv", "vignettes", "benchmarks", "tests")
# between two words: a new line, with a remark's mark, or the ends of two strings
GAP = r"""\s*["']?\s+(?:#\s*|f?["'])?"""
LESS = "longer|more|less|better|larger|smaller|narrower|wider|worse"
IS = r"(?<!there\s)(is|are|was|were)"
ODD = {
    r"know(s|n)? nothing": "has no predictive value, does not depend on",
    r"mend(s|ed|ing)?": "correct, fix",
    r"of whom": "whose, which have",
    rf"{IS} no (?!({LESS}|reason|need|other|different|such)\b)[a-z]+": "is not a",
    rf"{IS} (?-i:none)": "is not one, has no",
    r"lean(s|ed|ing|t)?": "is biased",
    r"deal(s|t|ing)?": "allocate, permute",
    r"anew": "again, refitted",
    r"heed(s|ed|ing)?": "take account of, use",
    r"there twice": "duplicated",
    r"a (row|column|value|number|draw|line|sentence|module|family) an? [a-z]+": "per",
    r"whole numbers?": "integer",
    r"less (the(?! [a-z]+er )|its|their|half|twice|those|that of)": "minus",
    r"dear(er|est)?": "costly",
    r"((is|are|be|was|were) had|had (by|from|of))": "available with",
    r"where (it is )?not given": "unless given",
    r"(keeps?|kept) (its|their) (word|promise)": "holds its nominal level",
    r"(?-i:parted)": "split across folds",
    r"to mind": "caveat",
    r"made elsewhere": "from other software",
    r"outcomes? of numbers": "continuous outcome",
    r"those of (a|the|each) fold": "the predictions of a fold",
    r"(at most|at least|more than|out of|in) so many": "a given number of",
    r"numbered through": "numbered",
    r"(evened|evens \w+) out": "balanced, balances",
    r"(never|may|would) part": "are never split, may be split",
    r"(come|comes) twice": "occur twice",
}
CUT_OFF = {
    r"^ {4,}Of (the|a|an|what|how|which|each|every|all)\b": "say what it is",
    r"(?<=  )# (than|of|whom|which|or|but|until|unless|these)\b": "say it whole",
}
PERMITTED = {"is no skill", 'is "none'}  # the name of a value, and a value
SAID = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
WORDS = {rf"(?i:\b{phrase}\b)".replace(" ", GAP): say for phrase, say in ODD.items()}
WORDS |= {f"(?m:{phrase})": say for phrase, say in CUT_OFF.items()}
FOUND = re.compile("|".join(WORDS))


def said(file):
    """Return the strings and remarks of code, or a page without its code, in place."""
    text = file.read_text("utf-8")
    if file.suffix == ".txt":
        return text
    if file.suffix == ".md":
        return re.sub(r"(?ms)^( *)```.*?^\1```", lambda code: blank(code[0]), text)
    lines = text.splitlines(keepends=True)
    kept = blank(text).splitlines(keepends=True)
    with file.open("rb") as code:
        for token in tokenize.tokenize(code.readline):
            if token.type in SAID:
                (first, begin), (last, end) = token.start, token.end
                for row in range(first - 1, last):
                    left = begin if row == first - 1 else 0
                    right = end if row == last - 1 else len(lines[row])
                    kept[row] = (
                        kept[row][:left] + lines[row][left:right] + kept[row][right:]
                    )
    return "".join(kept)


def blank(text):
    return re.sub(r"\S", " ", text)


@pytest.mark.parametrize("folder", [*FOLDERS, "."])
def test_nothing_is_said_in_an_odd_phrase(folder):
    files = [
        p for end in ("py", "md", "txt") for p in (ROOT / folder).rglob(f"*.{end}")
    ]
    odd = []
    for file in ROOT.glob("*.md") if folder == "." else files:
        name = file.relative_to(ROOT).as_posix()
        if file == Path(__file__) or not FOUND.search(file.read_text("utf-8")):
            continue
        text = said(file)
        for one in FOUND.finditer(text):
            phrase = " ".join(one.group().split())
            if phrase not in PERMITTED:
                line = text.count("\n", 0, one.start()) + 1
                instead = next(
                    say
                    for phrase, say in WORDS.items()
                    if re.compile(phrase).match(text, one.start())
                )
                odd.append(f"{name}:{line}: {phrase!r}; instead: {instead}")
    assert not odd, "\n".join(odd)


@pytest.mark.parametrize(
    ("written", "odd"),
    [
        ('"""A term that knows nothing."""', True),
        ('raise ValueError("k is no "\n    f"integer")', True),
        ("# the sum over records, less\n# the penalty", True),
        ("anew = less.the.mean", False),
        ('print("there is no fold")', False),
    ],
)
def test_a_phrase_is_found_over_the_ends_of_lines_and_not_in_code(
    written, odd, tmp_path
):
    file = tmp_path / "one.py"
    file.write_text(written, "utf-8")
    assert bool(FOUND.search(said(file))) == odd
