"""Every error and warning of the package.

An error derives from :class:`StatcvError` *and* from the builtin error that a
caller would catch, so ``except ValueError`` works as it does elsewhere.
A warning derives from :class:`StatcvWarning`.
"""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import SequenceMatcher
from importlib import import_module
from typing import Any


class StatcvError(Exception):
    """Base of every error that statcv raises on purpose."""

    def __str__(self) -> str:  # KeyError would print the repr of its message
        return " ".join(str(part) for part in self.args)


class FrameError(StatcvError, TypeError):
    """The data are not a data frame."""


class DataError(StatcvError, ValueError):
    """A data frame that is empty, or has infinite values or duplicate labels."""


class ColumnError(StatcvError, KeyError):
    """A column that the data do not have."""


class FormulaError(StatcvError, ValueError):
    """A formula that cannot be parsed, or a term that is not supported."""


class OutcomeError(StatcvError, ValueError):
    """An outcome that does not suit the analysis."""


class SchemeError(StatcvError, ValueError):
    """An unknown scheme, or folds that cannot be made."""


class ModelError(StatcvError, ValueError):
    """An unknown model, or one that does not fit the outcome or the data."""


class EquationError(StatcvError, ValueError):
    """A model cannot be written as an equation, or a written one cannot be read."""


class FitError(StatcvError, RuntimeError):
    """A model failed while it was fitted in a fold."""


class MetricError(StatcvError, ValueError):
    """An unknown metric, or one that does not apply to the outcome."""


class ArgumentError(StatcvError, ValueError):
    """An argument whose value makes no sense for the call."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of the wrong type, which is a wrong value too."""


class CoefficientError(StatcvError, AttributeError):
    """A model that has no coefficients."""


class NotTunedError(StatcvError, AttributeError):
    """A model that was not tuned."""


class LearningCurveError(StatcvError, AttributeError):
    """A model that kept no learning curves."""


class CheckpointError(StatcvError, ValueError):
    """A checkpoint of another call, or a directory that cannot hold one."""


class ComparisonError(StatcvError, ValueError):
    """Results that cannot be compared, or pooled, with each other."""


class DownloadError(StatcvError, OSError):
    """A data set that could not be downloaded, or is not the published file."""


class MissingPackageError(StatcvError, ImportError):
    """An optional package that this call needs is not installed."""


class WorkerError(FitError):
    """The system ended a process in which models were fitted."""


class MessageError(StatcvError, ValueError):
    """A message between sites that is forged, damaged, or of another version."""


class SiteError(StatcvError, RuntimeError):
    """A site that refuses to take part, is missing, or has other data than agreed."""


class ExchangeError(StatcvError, OSError):
    """A file of an exchange between sites that cannot be read or written."""


class StatcvWarning(UserWarning):
    """Base of every warning that statcv gives."""


class DistributionalBiasWarning(StatcvWarning):
    """Held-out labels shift the training mean, which biases a pooled rank metric."""


class FoldWarning(StatcvWarning):
    """Folds were made, but not quite as requested."""


class MissingDataWarning(StatcvWarning):
    """Rows with missing values were dropped."""


class UnseenLevelWarning(StatcvWarning):
    """A training set lacks a level of a categorical predictor."""


class PrivacyWarning(StatcvWarning):
    """The output discloses more about a record than others should know."""


class CollinearityWarning(StatcvWarning):
    """Columns of the design are constant, or determined by others."""


class TuningWarning(StatcvWarning):
    """A hyperparameter was chosen at the edge of its candidate values."""


class CheckpointWarning(StatcvWarning):
    """Checkpoint files that are incomplete, or belong to another call."""


class CostWarning(StatcvWarning):
    """The call will take long; the warning says how long."""


class UndefinedMetricWarning(StatcvWarning):
    """A metric is undefined in some places, which the warning counts."""


class DegenerateVarianceWarning(StatcvWarning):
    """A difference is not zero, although its estimated variance is."""


class ConvergenceWarning(StatcvWarning):
    """A model did not converge in some folds."""


class SeparationWarning(StatcvWarning):
    """In some folds the classes are separated: fitted probabilities of 0 or 1."""


class PrecisionWarning(StatcvWarning):
    """Numbers are less precise than wanted: estimates from counts, rounded values."""


class ExchangeWarning(StatcvWarning):
    """Files in the directory of an exchange that are ignored."""


Noted = list[tuple[str, type[StatcvWarning]]]
_noting: ContextVar[tuple[Noted, ...]] = ContextVar("_noting", default=())


@contextmanager
def noted_warnings() -> Iterator[Noted]:
    """Note the package's warnings, which are given or silenced as without this.

    Examples
    --------
    >>> with noted_warnings() as noted, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     warn("few folds", FoldWarning)
    >>> noted[0][0]
    'few folds'
    """
    noted: Noted = []
    before = _noting.set((*_noting.get(), noted))
    try:
        yield noted
    finally:
        _noting.reset(before)


Gathering = tuple[type[StatcvWarning], list[str]]
_gathering: ContextVar[tuple[Gathering, ...]] = ContextVar("_gathering", default=())


@contextmanager
def gathered_warnings(category: type[StatcvWarning]) -> Iterator[list[str]]:
    """Gather the package's warnings of a category, of which one is given for all.

    Examples
    --------
    >>> with gathered_warnings(PrecisionWarning) as gathered:
    ...     warn("by rounding", PrecisionWarning)
    >>> gathered
    ['by rounding']
    """
    gathered: list[str] = []
    before = _gathering.set(((category, gathered), *_gathering.get()))
    try:
        yield gathered
    finally:
        _gathering.reset(before)


def warn(message: str, category: type[StatcvWarning]) -> None:
    """Warn at the caller's own line: the nearest frame outside the package."""
    for kind, gathered in _gathering.get():
        if kind is category:
            gathered.append(message)
            return
    for noted in _noting.get():
        noted.append((message, category))
    depth, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("statcv."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)


ALIKE = 0.6  # least similarity of a name that is suggested


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name or names, else nothing.

    Examples
    --------
    >>> suggestion("rlocv", ["loocv", "rloocv"])
    " Did you mean 'rloocv'?"
    >>> suggestion("rlocv", ["loocv", "rloocv", "rlpocv"])  # equally near
    " Did you mean 'rloocv' or 'rlpocv'?"
    >>> suggestion("zzz", ["loocv", "rloocv"])
    ''
    """
    matcher, near = SequenceMatcher(b=str(word).lower()), dict[str, float]()
    for name in known:
        matcher.set_seq1(name.lower())
        if matcher.quick_ratio() >= ALIKE:
            near[name] = matcher.ratio()
    best = max(near.values(), default=0.0)
    if best < ALIKE:
        return ""
    names = [repr(name) for name, ratio in near.items() if ratio == best]
    return f" Did you mean {' or '.join(names[:3])}?"


def needed(module: str, otherwise: str) -> Any:
    """Import a module of an optional package, or say how that is installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(otherwise) from error


def reason(error: Exception) -> str:
    r"""Return the first line of an error's message, or the name of its type.

    >>> reason(ValueError("too long\nfor a line")), reason(KeyError())
    ('too long', 'KeyError')
    """
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{error.strerror}: the disk is full; free space, or write elsewhere"
    text = (isinstance(error, OSError) and error.strerror) or str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def __dir__() -> list[str]:
    """Offer the errors and warnings alone."""
    kinds = (name for name, one in globals().items() if isinstance(one, type))
    return sorted(name for name in kinds if name.endswith(("Error", "Warning")))
