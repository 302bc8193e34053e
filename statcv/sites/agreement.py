"""What sites agree on before any of them reads its records."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from statcv import arguments, errors
from statcv.folds import Stratifier, by_hash
from statcv.formula import Design, make_design
from statcv.models import Linear, Logit
from statcv.sites.plan import CELL, TREES, Levels, SitesPlan, described
from statcv.sites.trees import Trees

OF_PROBABILITIES: Final = ("auroc", "brier", "log_loss", "calibration_intercept")
METRICS: Final = {
    "logit": (*OF_PROBABILITIES, "calibration_slope", "oe_ratio"),
    "linear": ("rmse", "mse", "mae", "r2"),
}
DECISIONS: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
SCOPE: Final = {"np": np}  # what formulas may call, beyond patsy's own functions
# number of made-up rows from which the columns of the design are read
N_TRIAL_ROWS: Final = 200


MAX_ROUNDS = 10_000  # largest number of messages of one fit


def agree(
    formula: str,
    *,
    k: int = 5,
    stratify: str | Sequence[str] | Stratifier | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    model: str | Logit | Linear | Trees = "logit",
    rebalance: bool = False,
    metrics: str | Sequence[str] | None = None,
    decisions: Sequence[float] = DECISIONS,
    cell: int = CELL,
    bins: int = 128,
    rounds: int = 40,
    permutations: int = 199,
    sites: Sequence[str] = (),
    seed: int | np.random.Generator | None = 0,
) -> SitesPlan:
    """Make the plan of a cross-validation over sites, before any data are read.

    Parameters
    ----------
    formula : str
        Formula that names its columns. Terms that learn from data, such as ``scale``
        and ``bs``, are not available, since no site knows the data of all.
    k : int, default 5
        Number of folds.
    stratify : str, list of str, by_hash or by_quantile, optional
        What keeps records together and gives the fold on which sites agree. A name
        stands for :func:`statcv.by_hash` with the key of the environment;
        :func:`statcv.by_quantile` needs ``thresholds=``. Unless given, each site
        allocates its own records at random.
    levels : mapping, optional
        For each column that is not a number, its levels in order. The second level of
        the outcome is positive; unless given, it is 1 of 0 and 1.
    model : {"logit", "ridge", "firth", "linear"}, Logit, Linear or Trees
        The model; ``"ridge"`` has C = 1.
    rebalance : bool
        Whether each site drops training records of its larger class, so that all
        training sets have equal class counts.
    metrics : str or sequence of str, optional
        Metrics; all that are available unless given. The first is the headline.
    decisions : sequence of float
        Probabilities at which the net benefit is stated.
    cell : int, default 5
        Least number of records behind any count that leaves a site.
    bins : int, default 128
        Number of bins of the linear predictor in which a site counts its records.
    rounds : int, default 40
        Largest number of rounds.
    permutations : int, default 199
        Number of permutations of the test of no association.
    sites : sequence of str
        Names of the sites; unless given, any sites may join.
    seed : int, numpy.random.Generator or None
        Seed for all random draws.

    Returns
    -------
    SitesPlan
        The plan, which every site signs; its ``to_json`` writes it without the key.

    Raises
    ------
    FormulaError, ArgumentError, ModelError
        If a term learns from data, a column that is not a number has no levels, or an
        argument is not available for sites.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> by_patient = scv.by_hash("patient_id", key="our secret")
    >>> levels = {"sex": ["f", "m"]}
    >>> sites.agree("ill ~ age + sex", levels=levels, stratify=by_patient).columns
    ('Intercept', 'age', 'sex[T.m]')
    """
    arguments.check_types(agree, locals())
    arguments.check_whole(k, "k", least=2, most=arguments.MAX_BINS)
    arguments.check_whole(cell, "cell", least=1)
    arguments.check_whole(bins, "bins", least=8, most=arguments.MAX_BINS)
    arguments.check_whole(rounds, "rounds", least=5, most=MAX_ROUNDS)
    most = arguments.MAX_RESAMPLES
    arguments.check_whole(permutations, "permutations", least=0, most=most)
    chosen = _model(model)
    given: dict[str, Levels] = {}
    for name, values in (levels or {}).items():
        if not arguments.is_list(values):
            raise errors.ArgumentTypeError(f"levels={{{name!r}: …}} must be a list.")
        given[name] = tuple(values)
        if len(values) < 2 or len(set(values)) < len(values):
            raise errors.ArgumentError(
                f"levels={{{name!r}: …}} needs at least two levels, all different."
            )
    classes = chosen["kind"] != "linear"
    outcome, design = _trial(formula, given, classes)
    if isinstance(model, Trees):
        chosen = model.agreed(design.names, design.matrix, cell)
    if classes:
        given.setdefault(outcome, (0, 1))
    if rebalance and not classes:
        raise errors.ArgumentError("rebalance=True needs an outcome with two classes.")
    if stratify is not None and not isinstance(stratify, Stratifier):
        stratify = by_hash(stratify)
    shares = tuple(sorted(set(arguments.numbers(decisions, "decisions").tolist())))
    if not all(0 < share < 1 for share in shares):
        raise errors.ArgumentError("decisions must be probabilities between 0 and 1.")
    names = tuple(map(str, sites))
    if len(set(names)) < len(names):
        raise errors.ArgumentError("two sites have the same name.")
    return SitesPlan(
        formula=formula,
        outcome=outcome,
        levels=given,
        columns=design.names,
        k=int(k),
        stratify=described(stratify),
        model=chosen,
        rebalance=bool(rebalance),
        metrics=_metrics(metrics, "logit" if classes else "linear"),
        decisions=shares if classes else (),
        cell=int(cell),
        bins=int(bins),
        rounds=int(rounds),
        permutations=int(permutations),
        seed=arguments.resolve_seed(seed),
        sites=names,
        source=stratify,
    )


def _model(model: Any) -> dict[str, Any]:
    """Return what a plan says of its model."""
    named: dict[str, Logit | Linear] = {
        "logit": Logit(),
        "ridge": Logit(C=1.0),
        "firth": Logit(firth=True),
        "linear": Linear(),
    }
    if isinstance(model, str) and model not in named:
        raise errors.ModelError(
            f"model={model!r} is not available over sites; one of "
            f"{', '.join(named)}." + errors.suggestion(model, list(named))
        )
    model = named[model] if isinstance(model, str) else model
    if isinstance(model, Trees):
        return {"kind": TREES}
    if isinstance(model, Linear):
        return {"kind": "linear", "C": None, "firth": False}
    other = ("standardize", "flic", "selects")
    if isinstance(model, Logit) and not any(getattr(model, name) for name in other):
        strength = model.strength if model.penalised else None
        return {"kind": "logit", "C": strength, "firth": bool(model.firth)}
    raise errors.ModelError(
        f"{getattr(model, 'label', type(model).__name__)} is not available over "
        "sites: logistic regression (unpenalised, ridge on columns as they are, or "
        "Firth's), least squares and boosted trees (sites.Trees) are."
    )


def _metrics(metrics: str | Sequence[str] | None, kind: str) -> tuple[str, ...]:
    if metrics is None:
        return METRICS[kind]
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    for name in names:
        if not isinstance(name, str) or name not in METRICS[kind]:
            raise errors.ArgumentError(
                f"metric {name!r} is not available over sites for this outcome; one of "
                f"{', '.join(METRICS[kind])}." + errors.suggestion(name, METRICS[kind])
            )
    return names


# ---- the columns of the design, from made-up rows ----


def _trial(
    formula: str, levels: Mapping[str, Levels], classes: bool
) -> tuple[str, Design]:
    """Return the outcome, and the design of made-up rows with the agreed levels."""
    names = columns_of(formula)
    outcome = names[0]
    if classes and len(levels.get(outcome, (0, 1))) != 2:
        raise errors.ArgumentError(
            f"the outcome {outcome} has {len(levels[outcome])} levels; a model "
            "of classes over sites takes two."
        )
    if not classes and outcome in levels:
        raise errors.ArgumentError(
            f"the outcome {outcome} of least squares has no levels."
        )
    frames = (made_up(names, levels, classes, trial) for trial in range(2))
    design, other = (make_design(formula, frame, scope=SCOPE) for frame in frames)
    if design.terms.stateful:
        raise errors.FormulaError(
            f"{formula!r} has a term that learns from the data (such as center, scale, "
            "poly, bs or cr), which no site has in full. Use constants, such as "
            "I((age - 60) / 10), or columns that each site makes in the same way."
        )
    if design.offsets:
        raise errors.FormulaError(
            f"{formula!r} has an offset, which fits over sites do not take; omit it."
        )
    if design.names != other.names:
        raise errors.FormulaError(
            f"{formula!r} makes a factor of numbers; give its levels, such as "
            "levels={'stage': [1, 2, 3]}."
        )
    return outcome, design


def made_up(
    names: Sequence[str], levels: Mapping[str, Levels], classes: bool, trial: int = 0
) -> pd.DataFrame:
    """Make up rows with random numbers, in which every agreed level occurs.

    Parameters
    ----------
    names : sequence of str
        Names of the columns, the outcome first.
    levels : mapping
        The levels of some of them.
    classes : bool
        Whether the outcome has two classes.
    trial : int
        Seed of the numbers.
    """
    rng = np.random.default_rng(trial)
    frame = pd.DataFrame({name: 0.1 + 0.8 * rng.random(N_TRIAL_ROWS) for name in names})
    own = {names[0]: (0, 1)} if classes else {}
    for name, values in {**own, **levels}.items():
        if name in frame:
            codes = rng.permutation(np.arange(N_TRIAL_ROWS) % len(values))
            column = np.array(values, dtype=object)[codes]
            frame[name] = pd.Categorical(column, categories=list(values))
    return frame


def columns_of(formula: str) -> list[str]:
    """Return the columns that a formula names, the outcome first."""
    from patsy import ModelDesc, PatsyError

    if not isinstance(formula, str):
        raise errors.ArgumentTypeError(
            f"formula must be text, not {type(formula).__name__}."
        )
    try:
        described_ = ModelDesc.from_formula(formula)
    except (PatsyError, SyntaxError) as error:
        raise errors.FormulaError(f"{formula!r} cannot be read: {error}") from None
    left, right = (
        _of_code([factor.name() for term in terms for factor in term.factors])
        for terms in (described_.lhs_termlist, described_.rhs_termlist)
    )
    if len(left) != 1:
        raise errors.FormulaError(
            f"{formula!r} needs one column as its outcome, such as 'ill ~ age + sex'."
        )
    if "." in right:
        raise errors.FormulaError(
            "'.' has no meaning before there are data; name the columns."
        )
    return [*left, *(name for name in right if name not in left)]


def _of_code(codes: Sequence[str]) -> list[str]:
    """Return the names of columns in pieces of Python, in order."""
    found: dict[str, None] = {}
    for code in codes:
        if code == ".":
            found["."] = None
            continue
        nodes = [*ast.walk(ast.parse(code, mode="eval"))]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        lent = [part for call in calls for part in ast.walk(call.func)]
        lent += [node.value for node in nodes if isinstance(node, ast.Attribute)]
        for node in nodes:
            if isinstance(node, ast.Name) and node not in lent:
                found[node.id] = None
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Q":
                quoted = node.args[0]
                if isinstance(quoted, ast.Constant):
                    found[str(quoted.value)] = None
    return list(found)
