"""Invariants of all plans, for any scheme, rebalancing, stratifier and outcome."""

import dataclasses
import hmac
import unicodedata
from collections import Counter
from math import comb, prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from statcv.errors import ArgumentError, SchemeError, StatcvError
from statcv.folds import SCHEMES, FoldPlan, by_hash, by_quantile, by_value, make_plan

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.FoldWarning", "ignore::statcv.errors.PrivacyWarning"
)

HOWS = (None, "subsample", "weight", "upsample", "all", "bag")
KINDS = ("binary", "multiclass", "continuous")
STRATIFIERS = {
    "none": None,
    "name": "age",
    "quantile": by_quantile("age"),
    "quantile, per_fold=3": by_quantile("age", per_fold=3),
    "dates": by_quantile("seen"),
    "hash": by_hash("id", key="key"),
    "hash, balanced": by_hash("id", key="key", balanced=True),
    "value": by_value("id"),
    "several": ["born", "sex"],
    "several values": by_value(["born", "sex"]),
}
# whose units are folds by themselves, so that classes fall as they do; who has one
# allocation only; who leaves the sizes of folds to chance; what is said of folds, and
# means nothing where whole values are held out
FIXED = ("quantile", "dates", "hash, balanced")
CERTAIN = ("quantile", "dates", "hash", "hash, balanced")
AT_RANDOM = ("hash", "quantile, per_fold=3")
ONLY_FOR_FOLDS = ("quantile, per_fold=3", "hash, balanced")
MANY = 40  # fits that are looked at one by one

# Which combinations make plans, where there are records enough: a column each of HOWS.
TABLE = """
                             binary    multiclass  continuous
kfold                        ++++++    ++++++      +++---
stratified_kfold             ++++++    ++++++      ------
rkfold                       ++++++    ++++++      ------
loocv                        ++++++    ++++++      +++---
rloocv                       ++++++    ++++++      +++---
lpocv                        ++++++    ++++++      +++---
stratified_lpocv             ++++++    ++++++      ------
rlpocv                       ++++++    ++++++      ------
leave_pair_out               +-----    +-----      +-----
tournament_leave_pair_out    +-----    ------      ------
montecarlo                   ++++++    ++++++      +++---
bootstrap                    +-+---    +-+---      +-----
"""
REASONS = (
    "class",
    "rebalance",
    "scheme",
    "distinct value",
    "one value only",
    "bootstrap sample",
    "every possible subsample",
    "repeats",
    "training set",
    "k=",
    "p=",
)
TOLD: Counter[tuple[str, str, str]] = Counter()


@pytest.fixture(scope="module", autouse=True)
def tally():
    """Print the number of plans of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("STATCV_KEY", raising=False)
        yield
    made = {key: count for key, count in TOLD.items() if key[0] != "refused"}
    refused = TOLD.total() - sum(made.values())
    for part, title in enumerate(("scheme", "rebalance", "stratifier")):
        counts: Counter[str] = Counter()
        for key, count in made.items():
            counts[key[part]] += count
        print(f"\n{title}: " + ", ".join(f"{k} {v}" for k, v in counts.items()), end="")
    print(
        f"\n{sum(made.values())} plans of {len(made)} combinations, {refused} refused"
    )


# ---- what is drawn ----


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Records, and the arguments of a plan; ``equal`` holds the true clusters."""

    y: np.ndarray
    kind: str
    frame: pd.DataFrame
    equal: np.ndarray
    stratifier: str
    arguments: dict

    @property
    def scheme(self):
        return SCHEMES[self.arguments["scheme"]]

    @property
    def stratified(self):
        return self.stratifier != "none"

    @property
    def how(self):
        """The rebalancing method that is used."""
        return self.arguments["rebalance"] or self.scheme.rebalance

    @property
    def classes(self):
        return 1 if self.kind == "continuous" else int(self.y.max()) + 1

    def make(self):
        return make_plan(y=self.y, kind=self.kind, data=self.frame, **self.arguments)

    def base(self, plan, split):
        """Return the records that may train: not held out or equal to one of a pair."""
        stays = np.ones(len(self.y), dtype=bool)
        stays[plan.test(split)] = False
        if self.scheme.splits == "pairs" and self.stratified:
            stays &= ~np.isin(self.equal, self.equal[plan.test(split)])
        return np.flatnonzero(stays)


def records(equal, rng):
    """Make columns that are equal where ``equal`` is, in various notations."""
    n, odd = len(equal), rng.random(len(equal)) < 0.5
    age = (equal - 1) * 1.5
    age[(age == 0) & odd] = -0.0
    hours = pd.to_timedelta(np.where(odd, 0, 7), unit="h")
    born = [f"{1950 + code // 2}-07-01" for code in equal]
    return pd.DataFrame(
        {
            "age": age,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(equal, "D") + hours,
            "id": [
                f" Ame\u0301lie {c}" if o else f"Am\u00e9lie {c}"
                for c, o in zip(equal, odd, strict=True)
            ],
            "born": born,
            "sex": np.where(equal % 2, "f", "m"),
        },
        index=rng.permutation(n) + 100,
    )


def strata(draw, n, wild, rng):
    """Draw which records are equal: few, blocks, or clusters of any size."""
    forms = ["distinct", "pairs", "threes"]
    form = draw(st.sampled_from([*forms, "blocks", "skewed"] if wild else forms))
    if form == "skewed":
        return np.floor(rng.random(n) ** 2 * draw(st.integers(2, n))).astype(int)
    blocks = draw(st.integers(4, 8)) if form == "blocks" else 1 + forms.index(form)
    return rng.permutation(np.arange(n) // blocks)


def outcome(draw, kind, n, wild, rng):
    """Draw a continuous outcome, or classes from rare to even."""
    if kind == "continuous":
        forms = [rng.normal(size=n), np.exp(2 * rng.normal(size=n)), np.arange(n) % 4.0]
        return draw(st.sampled_from(forms))
    rest, counts = n, []
    for left in range(1 if kind == "binary" else draw(st.integers(2, 3)), 0, -1):
        most = rest // (left + 1)
        counts.append(draw(st.integers(1 if wild else min(3, most), most)))
        rest -= counts[-1]
    sizes = rng.permutation([*counts, rest])
    return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


@st.composite
def cases(draw, scheme, how):
    """Draw records and arguments; one case in four may be impossible."""
    named = SCHEMES[scheme]
    wild = draw(st.integers(0, 3)) == 3
    kind = draw(st.sampled_from(KINDS if wild else named.outcomes))
    small = named.splits == "pairs" or how == "all"
    n = draw(st.integers(8, 14 if small else 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    seed = draw(st.integers(0, 2**63))
    arguments = {"scheme": scheme, "rebalance": how, "seed": seed}
    if named.splits == "folds":
        arguments["k"] = draw(st.integers(2, n if wild else n // 4))
    elif named.splits == "groups":
        arguments["p"] = draw(st.integers(1, n // 2 if wild else n // 4))
    elif named.splits == "shares":
        arguments["p"] = draw(st.floats(0.05, 0.9 if wild else 0.4))
    equal = strata(draw, n, wild, rng)
    suited = sorted(STRATIFIERS)
    if named.splits != "folds" and not wild:
        suited = [name for name in suited if name not in ONLY_FOR_FOLDS]
    stratifier = draw(st.sampled_from(suited))
    arguments["stratify"] = STRATIFIERS[stratifier]
    by_chance = named.splits != "folds" or stratifier not in CERTAIN
    if named.random and (wild or (named.held_at_random and by_chance)):
        arguments["repeats"] = draw(st.integers(1, 3))
    y = outcome(draw, kind, n, wild, rng)
    return Case(y, kind, records(equal, rng), equal, stratifier, arguments)


# ---- what must hold ----


def check_sets(case, plan):
    """Check that training, held-out and dropped records partition the records."""
    n, times = len(case.y), np.zeros((plan.repeats, len(case.y)), dtype=int)
    assert plan.n == n
    for split in range(plan.n_splits):
        repeat, _ = plan.name(split)
        times[repeat - 1, plan.test(split)] += 1
        assert len(plan.test(split)) > 0
    if case.scheme.splits in ("folds", "groups", "units"):
        assert (times == 1).all()
        assert plan.partition
    for fit in some(plan.n_fits):
        test, out = plan.fits.held_out_by(fit), plan.left_out(fit)
        both = np.concatenate([plan.dropped[fit], plan.kept_out[fit]])
        assert np.array_equal(np.sort(both), out)
        train, copies = plan.train(fit), plan.copied[fit]
        once = np.unique(train)
        together = np.concatenate([once, test, out])
        assert np.array_equal(np.sort(together), np.arange(n))
        assert np.array_equal(np.sort(np.concatenate([once, copies])), np.sort(train))
        assert plan.n_train[fit] == len(train) > 0
        weights = plan.weights(fit, train)
        if weights is not None:
            assert weights.shape == train.shape
            assert np.isfinite(weights).all()
            assert (weights > 0).all()


def check_strata(case, plan):
    """Check that no fit trains on an equal of a record that it predicts."""
    if not case.stratified:
        return
    _, codes = np.unique(case.equal, return_inverse=True)
    pairs = set(zip(plan.strata.codes.tolist(), codes.tolist(), strict=True))
    assert len(pairs) == plan.strata.count == codes.max() + 1
    for fit in some(plan.n_fits):
        train = case.equal[plan.train(fit)]
        predicted = np.concatenate(
            [plan.fits.held_out_by(fit), plan.fits.partners(fit)]
        )
        assert not np.isin(case.equal[predicted], train).any()


def check_partners(case, plan):
    """Check that the records dropped for balance, and no others, are predicted."""
    drops = case.how in ("subsample", "all")
    keeps_out = case.how == "bag" or (case.scheme.splits == "pairs" and case.stratified)
    for fit in some(plan.n_fits):
        out = plan.dropped[fit]
        assert drops or not len(out)
        assert keeps_out or not len(plan.kept_out[fit])
        if case.stratified:
            out = out[~np.isin(case.equal[out], case.equal[plan.train(fit)])]
        assert np.array_equal(plan.fits.partners(fit), out)
    assert plan.fits.compares_pairs == (drops or case.scheme.splits == "pairs")


def check_balance(case, plan):
    """Check that class totals are equal, with the fewest drops or duplicates."""
    assert plan.rebalanced == (case.how is not None)
    if case.how is None:
        return
    if case.kind == "continuous":
        return check_means(case, plan)
    base = [
        np.bincount(case.y[case.base(plan, split)], minlength=case.classes)
        for split in range(plan.n_splits)
    ]
    least, most = np.min(base, axis=0), np.max(base, axis=0)
    samples = case.scheme.splits == "samples"
    if samples:  # as large as the data, whose classes they come to weigh
        most = np.bincount(case.y)
    for fit in some(plan.n_fits):
        train = plan.train(fit)
        totals = np.bincount(
            case.y[train], plan.weights(fit, train), minlength=case.classes
        )
        raised = case.how in ("weight", "upsample")
        np.testing.assert_allclose(totals, most if raised else least, rtol=1e-9)
        if case.how in ("weight", "upsample") and not samples:
            kept = len(case.base(plan, plan.fits.split_of[fit]))
            assert len(np.unique(train)) == kept
    if case.how == "all":
        every = [prod(map(comb, own.tolist(), (own - least).tolist())) for own in base]
        np.testing.assert_array_equal(np.diff(plan.first_fit), every)
        for split in range(plan.n_splits):
            fits = range(*plan.first_fit[split : split + 2])
            assert len({plan.dropped[fit].tobytes() for fit in fits}) == len(fits)
    if case.how == "bag":
        assert (np.diff(plan.first_fit) == 10).all()


def check_means(case, plan):
    """Check that the training mean is restored exactly, or by the best single drop."""
    y, mean = case.y, case.y.mean()
    for fit in some(plan.n_fits):
        train = plan.train(fit)
        if case.how == "weight":
            tilted = np.average(y[train], weights=plan.weights(fit, train))
            assert tilted == pytest.approx(mean, abs=1e-8 * np.abs(y).max())
            continue
        base = case.base(plan, plan.fits.split_of[fit])
        assert len(plan.left_out(fit)) == 1
        best = min(abs(np.delete(y[base], i).mean() - mean) for i in range(len(base)))
        found = abs(y[train].mean() - mean)
        assert found == pytest.approx(best, abs=1e-9 * np.abs(y).max())


def check_evenness(case, plan):
    """Check that sizes and class counts differ by at most one, if possible."""
    if case.scheme.splits not in ("folds", "groups"):
        return
    single = len(np.unique(case.equal)) == len(case.y)
    bound = case.stratified and case.scheme.splits == "folds"
    if (case.stratified and not single) or (bound and case.stratifier in AT_RANDOM):
        return
    codes = np.zeros_like(case.equal) if case.kind == "continuous" else case.y
    spread = case.scheme.spreads and not (bound and case.stratifier in FIXED)
    for repeat in range(plan.repeats):
        first, last = plan.fits.first_split[repeat : repeat + 2]
        held = [
            np.bincount(codes[plan.test(s)], minlength=4) for s in range(first, last)
        ]
        assert np.ptp(np.sum(held, axis=1)) <= 1
        if spread:
            assert np.ptp(held, axis=0).max() <= 1


def check_seed(case, plan):
    """Check that the same call makes the same plan."""
    again = case.make()
    assert again.fingerprint == plan.fingerprint
    assert again.sentence == plan.sentence
    assert "{" not in plan.sentence


def check_table(case, plan):
    """Check that the plan can be restored from its table."""
    if plan.weighting is not None:
        with pytest.raises(SchemeError, match="weights"):
            plan.to_frame()
        return
    back = FoldPlan.from_frame(plan.to_frame())
    assert back.fingerprint == plan.fingerprint
    if plan.n * plan.n_fits < 10_000:
        full = FoldPlan.from_frame(plan.to_frame(training=True))
        assert full.fingerprint == plan.fingerprint
    assert (back.rebalance, back.scheme) == (plan.rebalance, plan.scheme)


def check_assigned(case, plan):
    """Check that the stratifier assigns the same records to the same folds."""
    if not case.stratified or case.scheme.splits != "folds":
        with pytest.raises(SchemeError):
            plan.assign(case.frame)
        return
    order = np.random.default_rng(0).permutation(len(case.y))
    other = case.frame.iloc[order]
    for repeat in range(1, plan.repeats + 1):
        found = plan.assign(other, repeat)
        expected = plan.held_out[repeat - 1][order] + 1
        np.testing.assert_array_equal(found.to_numpy(), expected)
        assert found.index.equals(other.index)
    if case.stratifier == "hash":
        for name, fold in zip(other["id"], expected, strict=True):
            text = unicodedata.normalize("NFC", name).strip().encode()
            digest = hmac.digest(b"key", text, "sha256")[:7]
            assert int.from_bytes(digest, "big") % case.arguments["k"] == fold - 1


def check_memory(case, plan):
    """Check that memory is linear in the numbers of records, splits and entries."""
    lists = (plan.tests, plan.dropped, plan.kept_out, plan.copied)
    entries = sum(len(part.values) for part in lists)
    cells = plan.n_splits * (3 + case.classes) + plan.n_fits * 4
    cells += entries + plan.n * (4 + 2 * plan.repeats)
    assert arrays_within(plan) <= 8 * cells + 1000


def arrays_within(thing):
    """Count the bytes of all arrays of a dataclass."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple):
        return sum(map(arrays_within, thing))
    if dataclasses.is_dataclass(thing):
        parts = (getattr(thing, field.name) for field in dataclasses.fields(thing))
        return sum(map(arrays_within, parts))
    return 0


def some(fits):
    """Return all fits, or a sample if there are many."""
    return range(fits) if fits <= MANY else np.linspace(0, fits - 1, MANY).astype(int)


CHECKS = (
    check_sets,
    check_strata,
    check_partners,
    check_balance,
    check_evenness,
    check_seed,
    check_table,
    check_assigned,
    check_memory,
)


def cells():
    lines = TABLE.strip().splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(SCHEMES)
    for line in lines:
        scheme, *columns = line.split()
        for kind, column in zip(KINDS, columns, strict=True):
            yield scheme, kind, dict(zip(HOWS, column, strict=True))


SOME_PLAN = sorted(
    {(scheme, how) for scheme, _, row in cells() for how in HOWS if row[how] == "+"},
    key=str,
)


@pytest.mark.parametrize(("scheme", "how"), SOME_PLAN)
@settings(max_examples=settings.default.max_examples // 5)
@given(data=st.data())
def test_a_plan_satisfies_the_invariants_or_raises_with_a_reason(scheme, how, data):
    case = data.draw(cases(scheme, how), "case")
    try:
        plan = case.make()
    except StatcvError as error:
        check_reason(str(error), case)
        TOLD["refused", str(how), case.stratifier] += 1
        event("refused")
        return
    event("made")
    TOLD[scheme, str(how), case.stratifier] += 1
    for check in CHECKS:
        check(case, plan)


def check_reason(said, case):
    assert len(said.split()) >= 8
    assert any(reason in said for reason in REASONS), said


# ---- which combinations there are ----


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "kind", "expected"), list(cells()))
def test_every_combination_makes_plans_or_raises(scheme, kind, expected):
    rng = np.random.default_rng(5)
    equal = np.arange(16) // 2
    y = {
        "binary": rng.permutation(np.repeat([0, 1], [9, 7])),
        "multiclass": rng.permutation(np.repeat([0, 1, 2], [6, 5, 5])),
        "continuous": rng.normal(size=16),
    }[kind]
    sizes = {"folds": {"k": 2}, "groups": {"p": 4}}
    if SCHEMES[scheme].repeats > 1:
        sizes = {SCHEMES[scheme].splits: {"repeats": 2}}
    size = sizes.get(SCHEMES[scheme].splits, {})
    frame = records(equal, rng)
    for how, cell in expected.items():
        for name, stratify in STRATIFIERS.items():
            arguments = {"scheme": scheme, "rebalance": how, "stratify": stratify}
            case = Case(y, kind, frame, equal, name, arguments | size | {"seed": 1})
            folds = SCHEMES[scheme].splits == "folds"
            meant = folds or name not in ONLY_FOR_FOLDS
            if cell == "+" and meant:
                plan = case.make()
                check_sets(case, plan)
                check_balance(case, plan)
                TOLD[scheme, str(how), name] += 1
            else:
                expected_error = SchemeError if meant else (SchemeError, ArgumentError)
                with pytest.raises(expected_error) as refusal:
                    case.make()
                check_reason(str(refusal.value), case)
