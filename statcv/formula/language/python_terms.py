"""A term of a formula read as Python, and what is wrong with one that cannot be."""

from __future__ import annotations

import ast
import keyword
import re

from statcv.arguments import function_answer
from statcv.errors import FormulaError


def parsed_term(code: str) -> ast.Expression:
    """Return the tree of a term, or say what keeps it from being read."""
    try:
        return ast.parse(code, mode="eval")
    except (RecursionError, MemoryError, ValueError):  # nested, or a huge constant
        raise too_long(code) from None
    except SyntaxError as error:
        called, bracket, _ = code.partition("(")
        answer = function_answer(called.strip()) if bracket else None
        if answer:  # as.factor(x): `as` is a keyword of Python
            raise not_known(called.strip(), code, answer) from None
        words = re.findall(r"(?<![.\w'\"])[a-z]+\b", code)
        word = next(filter(keyword.iskeyword, words), None)
        if word and "%" not in code:
            raise FormulaError(
                f"cannot read the term {code!r}: {word!r} is a word of Python; a "
                f"column of that name is written in backticks, `{word}`."
            ) from None
        if "%" in code:
            raise FormulaError(
                f"cannot read the term {code!r}: there is no %in% or other operator "
                "in % signs here; nested terms are written a:b, and membership is "
                "np.isin(x, [1, 2])."
            ) from None
        raise FormulaError(
            f"cannot read the term {code!r}: {error.msg}\n"
            f"    {code}\n    {' ' * ((error.offset or 1) - 1)}^"
        ) from None


def too_long(code: str) -> FormulaError:
    """Return the error for a term that is nested too deeply."""
    return FormulaError(f"cannot read a term of {len(code):,} characters.")


def not_known(function: str, code: str, answer: str) -> FormulaError:
    """Return the error for a function of R, with the alternative."""
    return FormulaError(f"there is no {function}() in formulas ({code!r}): {answer}.")
