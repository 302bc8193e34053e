"""The plan that all sites sign: what is computed, on which columns and folds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final

from statcv.errors import ArgumentError
from statcv.folds import ByHash, ByQuantile, ByValue, Stratifier, by_hash, by_quantile
from statcv.models import Linear, Logit, Model, XGBoost
from statcv.sites.messages import VERSION, canonical
from statcv.tables import wrapped

Levels = tuple[Any, ...]
TREES: Final = "trees"  # the kind of a model of boosted trees
START_PROBABILITY: Final = 0.5  # probability before the first tree
MAX_SECOND_DERIVATIVE: Final = 0.25  # largest second derivative of a record's loss
CELL: Final = 5
MAX_COLUMN_BINS: Final = 256  # largest number of bins of a column that trees split


@dataclass(frozen=True)
class SitesPlan:
    """A cross-validation over sites; it is made by :func:`statcv.sites.agree`.

    Attributes
    ----------
    formula : str
        Formula without terms that learn from data.
    outcome : str
        Column of the outcome.
    levels : dict
        For each column that is not a number, its levels in order. The second level of
        the outcome is positive.
    columns : tuple of str
        Names of the columns of the design matrix.
    k : int
        Number of folds.
    stratify : dict
        How the folds are made: by hash, thresholds, value, or at random.
    model : dict
        The model, with its penalty, or the cuts and sizes of its trees.
    rebalance : bool
        Whether each site drops training records of the larger class, in the order of a
        hash, until the classes have equal counts.
    metrics : tuple of str
        Metrics; the first is the headline.
    decisions : tuple of float
        Probabilities at which the net benefit is stated.
    cell : int
        Least number of records behind any count that leaves a site.
    bins : int
        Number of bins of the linear predictor in which records are counted.
    rounds : int
        Budget of rounds, after which sites answer no more.
    permutations : int
        Number of permutations of the test of no association.
    seed : int
        Seed of whatever is random.
    sites : tuple of str
        Names of the sites; empty if any site may join.
    version : int
        Version of the messages.
    source : Stratifier or None
        The stratifier with its key, which is never written.

    Examples
    --------
    >>> from statcv import sites
    >>> plan = sites.agree("ill ~ age + sex", k=5, levels={"sex": ["f", "m"]})
    >>> plan.columns, plan.k
    (('Intercept', 'age', 'sex[T.m]'), 5)
    >>> type(plan).from_json(plan.to_json()).fingerprint == plan.fingerprint
    True
    """

    formula: str
    outcome: str
    levels: Mapping[str, Levels]
    columns: tuple[str, ...]
    k: int
    stratify: Mapping[str, Any]
    model: Mapping[str, Any]
    rebalance: bool
    metrics: tuple[str, ...]
    decisions: tuple[float, ...] = ()
    cell: int = CELL
    bins: int = 128
    rounds: int = 40
    permutations: int = 199
    seed: int = 0
    sites: tuple[str, ...] = ()
    version: int = VERSION
    source: Stratifier | None = field(default=None, repr=False, compare=False)

    @property
    def binary(self) -> bool:
        """Whether the outcome has two classes."""
        return self.model["kind"] in ("logit", TREES)

    @property
    def grown(self) -> bool:
        """Whether the model is boosted trees."""
        return bool(self.model["kind"] == TREES)

    @property
    def n_columns(self) -> int:
        """Number of coefficients."""
        return len(self.columns)

    @cached_property
    def learner(self) -> Model:
        """The model as :func:`statcv.cv` knows it."""
        if self.grown:
            return learner_of(self.model)
        if not self.binary:
            return Linear()
        return Logit(C=self.model["C"], firth=self.model["firth"])

    @property
    def scheme(self) -> str:
        """The scheme as :func:`statcv.cv` knows it."""
        return "rkfold" if self.rebalance else "kfold"

    @property
    def document(self) -> dict[str, Any]:
        """Everything that is agreed, as values of JSON."""
        agreed = {one.name: getattr(self, one.name) for one in fields(self)}
        agreed.pop("source")
        return dict(json.loads(json.dumps(agreed)))  # with lists in place of tuples

    @cached_property
    def fingerprint(self) -> str:
        """64 hex digits of SHA-256 that identify the document."""
        return hashlib.sha256(canonical(self.document)).hexdigest()

    def to_json(self) -> str:
        """Return the document as text; it holds no key."""
        held = {**self.document, "fingerprint": self.fingerprint}
        return json.dumps(held, indent=2, ensure_ascii=False, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> SitesPlan:
        """Read a plan; the key of its hash comes from the variable ``STATCV_KEY``.

        Raises
        ------
        ArgumentError
            If it is not a plan, is of another version, or was changed.
        """
        try:
            held = json.loads(text)
            given = held.pop("fingerprint")
            read = cls(**{name: _frozen(name, value) for name, value in held.items()})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ArgumentError(
                "this is not a plan of sites; sites.agree() makes one, and its "
                "to_json() writes it."
            ) from None
        if read.version != VERSION:
            raise ArgumentError(
                f"the plan is of version {read.version}, and this is version {VERSION};"
                " install the same version of statcv at all sites."
            )
        if read.fingerprint != given:
            raise ArgumentError(
                "the plan was changed after it was agreed: its fingerprint is not that "
                "of its content. Ask the coordinator for the plan that was signed."
            )
        return read

    @cached_property
    def stratifier(self) -> Stratifier | None:
        """What makes the folds; None for folds at random at each site."""
        if self.source is not None:
            return self.source
        told, columns = self.stratify, self.stratify.get("columns", [])
        no_key = self.key_name is None
        if told["by"] == "hash":
            return by_hash(columns, key=None) if no_key else by_hash(columns)
        if told["by"] == "quantile":
            return by_quantile(columns[0], told["per_fold"], told["thresholds"])
        return None

    @property
    def key_name(self) -> str | None:
        """Six digits that differ between keys without revealing them; None if none."""
        found = self.stratify.get("key")
        return None if found is None else str(found)

    def __repr__(self) -> str:
        text = (
            f"{self.formula}: {self.learner.label}; {self.k} folds, "
            f"{self.stratify['sentence']}; plan {self.fingerprint[:12]}"
        )
        return "\n".join(wrapped(text))


def learner_of(model: Mapping[str, Any]) -> XGBoost:
    """Return the model as :func:`statcv.cv` knows it, on numbers of bins."""
    return XGBoost(
        n_estimators=model["rounds"],
        max_depth=model["depth"],
        learning_rate=model["learning_rate"],
        min_child_weight=model["leaf"] * MAX_SECOND_DERIVATIVE,
        reg_lambda=model["ridge"],
        base_score=START_PROBABILITY,
        tree_method="hist",
        max_bin=MAX_COLUMN_BINS,
    )


def described(stratifier: Stratifier | None) -> dict[str, Any]:
    """Return what a plan says of its folds.

    Raises
    ------
    ArgumentError
        If folds would depend on the records of a site.
    """
    if stratifier is None:
        return {"by": "chance", "sentence": "at random at each site"}
    columns = list(stratifier.columns)
    label = " + ".join(columns)
    if isinstance(stratifier, ByHash):
        if stratifier.balanced:
            raise ArgumentError(
                "by_hash(…, balanced=True) makes thresholds of a site's own records, "
                "on which sites do not agree; leave balanced out."
            )
        said = f"keyed hash of {label}"
        key = stratifier.key.trace
        return {"by": "hash", "columns": columns, "key": key, "sentence": said}
    if isinstance(stratifier, ByQuantile):
        if stratifier.agreed is None:
            raise ArgumentError(
                f"by_quantile({label!r}) needs thresholds= on which all sites agree; "
                "sites.thresholds() finds them from counts."
            )
        at, per_fold = stratifier.agreed, stratifier.per_fold
        told: dict[str, Any] = {"by": "quantile", "columns": columns}
        cuts = at.texts if at.dates else list(at.values)
        told |= {"per_fold": per_fold, "thresholds": cuts}
        return {**told, "sentence": f"thresholds of {label}"}
    if isinstance(stratifier, ByValue):
        raise ArgumentError(
            f"by_value({label!r}) gives values to folds by the records of one site; "
            f"by_hash({label!r}, key=) gives equal values the same fold at all sites."
        )
    raise ArgumentError("stratify= must be by_hash(…) or by_quantile(…, thresholds=).")


def _frozen(name: str, value: Any) -> Any:
    """Return a value of JSON as the plan keeps it."""
    if name == "levels":
        return {column: tuple(levels) for column, levels in value.items()}
    return tuple(value) if isinstance(value, list) else value
