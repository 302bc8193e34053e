"""Terms of R and other packages of Python, and what statcv offers instead.

``vocabulary.txt`` has a table for arguments of each verb, for functions in formulas,
for attributes of results and for metrics: one line per answer, with the terms, the
argument of statcv where the table has arguments, and the explanation. A term is looked
up without regard to capitals, dots and underscores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from importlib import resources

from statcv.errors import ArgumentTypeError, suggestion


def _tables() -> dict[str, list[tuple[str, ...]]]:
    """Return each table of the file: its rows, split into cells."""
    text = resources.files("statcv").joinpath("vocabulary.txt").read_text("utf-8")
    tables = {}
    for table in text.strip().split("\n\n"):
        name, *lines = table.splitlines()
        tables[name.strip("[]")] = [tuple(line.split(" | ")) for line in lines]
    return tables


def _arguments(name: str) -> dict[str, tuple[str, str]]:
    """Return the terms of a table of arguments: the name here, or ""."""
    rows = _TABLES[name]
    return {word: (ours, says) for words, ours, says in rows for word in words.split()}


def _answers(name: str) -> dict[str, str]:
    return {word: says for words, says in _TABLES[name] for word in words.split()}


_TABLES = _tables()
ARGUMENTS = _arguments("arguments")
OF_PREDICTIONS = _arguments("arguments of from_predictions")
OF_COMPARE = _arguments("arguments of compare")
FUNCTIONS = _answers("functions in formulas")
ATTRIBUTES = _answers("attributes and functions of results")
METRICS = _answers("metrics")
MODELS = _answers("models")


def refuse_unknown(
    verb: str,
    unknown: Iterable[str],
    known: Collection[str],
    first: Mapping[str, tuple[str, str]] | None = None,
) -> None:
    """Reject arguments that a verb does not have, and name its own for the first.

    Parameters
    ----------
    verb : str
        Name of the verb as a user writes it, such as ``"cv"``.
    unknown, known : collections of str
        Arguments that were given and do not exist, and arguments that do.
    first : mapping, optional
        Terms with another meaning for this verb, looked up before `ARGUMENTS`.

    Raises
    ------
    ArgumentTypeError
        If there is an unknown argument. The error is a TypeError too.

    Examples
    --------
    >>> refuse_unknown("cv", ["groups"], ["stratify", "scheme"])
    Traceback (most recent call last):
    ...
    statcv.errors.ArgumentTypeError: cv() has no argument 'groups'; here it is \
stratify=, which keeps records with equal values together.
    """
    for word in unknown:
        answer = _argument(word, known, first or {})
        raise ArgumentTypeError(f"{verb}() has no argument {word!r}{answer}")


def refuse_words_of_compare(
    named: Mapping[str, object], known: Collection[str]
) -> None:
    """Reject arguments of R or scikit-learn where compare() expects results.

    A result may have any name; a keyword whose value is not a result is an argument.

    Raises
    ------
    ArgumentTypeError
        If there is such an argument.
    """
    words = [
        name
        for name, value in named.items()
        if name not in known
        and len(name) > 1
        and (bare_word(name) in OF_COMPARE or bare_word(name) in ARGUMENTS)
        and not hasattr(value, "plan")
        and not (isinstance(value, str) and "~" in value)
    ]
    refuse_unknown("compare", words, known, OF_COMPARE)


def _argument(
    word: str, known: Collection[str], first: Mapping[str, tuple[str, str]]
) -> str:
    key = bare_word(word)
    found = first.get(key) or ARGUMENTS.get(key)
    if found is None:
        return f".{suggestion(word, known)}"
    ours, says = found
    if not ours:
        return f": {says}."
    if ours not in known:
        return f"; in cv() it is {ours}=."
    return f"; here it is {ours}=, {says}."


def bare_word(word: str) -> str:
    """Return the letters and digits of a word, in lower case."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


def function_answer(name: str) -> str | None:
    """Return what a formula offers in place of a function of R, or None.

    >>> function_answer("ns")
    "a natural cubic spline is cr(x, df=3, constraints='center') here, with the \
columns of ns(x, df = 3)"
    """
    return FUNCTIONS.get(name)


def attribute_error(of: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for an attribute that does not exist, with what is offered.

    >>> attribute_error("a result", "confint", []).args[0]
    "a result has no 'confint': tidy() has the intervals of coefficients, and \
metrics() those of metrics."
    """
    if name.startswith("_"):  # asked for by copy and pickle
        return AttributeError(f"{of} has no {name!r}.")
    found = ATTRIBUTES.get(bare_word(name))
    answer = f": {found}." if found else f".{suggestion(name, known)}"
    return AttributeError(f"{of} has no {name!r}{answer}")


def model_answer(name: str) -> str:
    """Return what stands here for a model of R or scikit-learn, or nothing.

    >>> model_answer("coxph")
    " It is 'cox' here."
    """
    return f" {answer}" if (answer := MODELS.get(bare_word(name))) else ""


def metric_answer(name: object) -> str | None:
    """Return the name of a metric of R or scikit-learn in statcv, or None.

    >>> metric_answer("roc_auc"), metric_answer("AUC"), metric_answer("aurroc")
    ("here it is 'auroc'", "here it is 'auroc'", None)
    """
    if not isinstance(name, str):
        return None
    key = bare_word(name)
    for word in (key, key.removeprefix("neg"), key.removesuffix("score")):
        if word in METRICS:
            return METRICS[word]
    return None
