"""Every error and warning of the package.

An error derives from :class:`StatcvError` *and* from the builtin error that a
caller would catch, so ``except ValueError`` works as it does elsewhere.
A warning derives from :class:`StatcvWarning`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from difflib import SequenceMatcher


class StatcvError(Exception):
    """Base of every error that statcv raises on purpose."""

    def __str__(self) -> str:  # KeyError would print the repr of its message
        return " ".join(str(part) for part in self.args)


class FrameError(StatcvError, TypeError):
    """The data are not a data frame."""


class DataError(StatcvError, ValueError):
    """The data frame cannot be used as it is: empty, infinite, labels twice."""


class ColumnError(StatcvError, KeyError):
    """A column that the data do not have."""


class FormulaError(StatcvError, ValueError):
    """A formula that cannot be read, or a term that cannot be honoured."""


class OutcomeError(StatcvError, ValueError):
    """An outcome that does not admit what was asked."""


class SchemeError(StatcvError, ValueError):
    """An unknown scheme, or folds that cannot be made."""


class ModelError(StatcvError, ValueError):
    """An unknown model, or one that does not fit the outcome or the data."""


class FitError(StatcvError, RuntimeError):
    """A model failed while it was fitted in a fold."""


class MetricError(StatcvError, ValueError):
    """An unknown metric, or one that the outcome does not admit."""


class ArgumentError(StatcvError, ValueError):
    """An argument whose value makes no sense for the call."""


class ArgumentTypeError(StatcvError, TypeError):
    """An argument of the wrong type."""


class CoefficientError(StatcvError, AttributeError):
    """A model that has no coefficients."""


class NotTunedError(StatcvError, AttributeError):
    """A model of which no hyperparameter was chosen."""


class LearningCurveError(StatcvError, AttributeError):
    """A model that kept no learning curves."""


class CheckpointError(StatcvError, ValueError):
    """A checkpoint of another call, or a directory that cannot hold one."""


class ComparisonError(StatcvError, ValueError):
    """Results that cannot be compared with each other."""


class DownloadError(StatcvError, OSError):
    """A data set that could not be had, or is not the file that was published."""


class MissingPackageError(StatcvError, ImportError):
    """An optional package that this call needs is not installed."""


class StatcvWarning(UserWarning):
    """Base of every warning that statcv gives."""


class DistributionalBiasWarning(StatcvWarning):
    """Held-out labels move the training mean, and a pooled rank metric sees it."""


class FoldWarning(StatcvWarning):
    """Folds were made, but poorer than asked for."""


class MissingDataWarning(StatcvWarning):
    """Rows with missing values were left out."""


class UnseenLevelWarning(StatcvWarning):
    """A training set lacks a level of a categorical predictor."""


class PrivacyWarning(StatcvWarning):
    """What was asked for tells others more of a record than they should know."""


class CollinearityWarning(StatcvWarning):
    """Columns of the design are constant, or determined by others."""


class TuningWarning(StatcvWarning):
    """A hyperparameter was chosen at the edge of what it was chosen from."""


class CheckpointWarning(StatcvWarning):
    """Files of a checkpoint that are torn, or belong to another call."""


class CostWarning(StatcvWarning):
    """What was asked for will take long; how long is said beforehand."""


class UndefinedMetricWarning(StatcvWarning):
    """A metric has no value somewhere; the places are counted."""


class DegenerateVarianceWarning(StatcvWarning):
    """Numbers differ by an amount whose estimated variance is zero."""


class ConvergenceWarning(StatcvWarning):
    """A model did not converge in some folds."""


class SeparationWarning(StatcvWarning):
    """In some folds the classes are separated: fitted probabilities of 0 or 1."""


def warn(message: str, category: type[StatcvWarning]) -> None:
    """Warn at the caller's own line: the nearest frame outside the package."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("statcv."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "split"), plural(3, "split")
    ('1 split', '3 splits')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


ALIKE = 0.6  # from where on a name may have been meant


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


def reason(error: Exception) -> str:
    r"""Return in one line what went wrong.

    >>> reason(ValueError("too long\nfor a line")), reason(KeyError())
    ('too long', 'KeyError')
    """
    text = (isinstance(error, OSError) and error.strerror) or str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
