"""Plans of several sites, joined into one plan of their stacked records."""

import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from statcv import by_hash, by_quantile, by_value, cv, fold_plan
from statcv.errors import ArgumentError, ArgumentTypeError, FoldWarning, SchemeError
from statcv.folds import FoldPlan
from statcv.folds.user_folds import plan_from_column

quietly = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")


def sites(seed=0, sizes=(30, 20, 25), spread=1.0):
    """Return the records of sites that share some people."""
    rng = np.random.default_rng(seed)
    return {
        name: pd.DataFrame(
            {
                "y": rng.permutation(np.arange(n) % 2),
                "x": np.round(rng.normal(spread * i, 1, n), 2),
                "id": rng.integers(0, 40, n),
            }
        )
        for i, (name, n) in enumerate(zip("ABC", sizes, strict=True))
    }


def plans_of(frames, formula="y", **arguments):
    return {
        name: fold_plan(formula, own, **{"seed": 1, "scheme": "kfold", **arguments})
        for name, own in frames.items()
    }


def through_csv(table):
    return pd.read_csv(io.StringIO(table.to_csv(index=False)))


@pytest.mark.slow
@quietly
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([1, 3]), st.booleans())
def test_joined_plans_by_quantile_are_the_pooled_plan(seed, k, per_fold, far):
    frames = sites(seed, spread=4.0 if far else 0.2)  # far: folds are empty at sites
    stacked = pd.concat(frames)
    stratify = by_quantile("x", per_fold=per_fold)
    pooled = fold_plan("y", stacked, scheme="kfold", k=k, stratify=stratify, seed=seed)
    joined = FoldPlan.concat(plans_of(frames, stratify=pooled.stratifier))
    assert joined.fingerprint == pooled.fingerprint
    assert joined.rows.equals(stacked.index)
    np.testing.assert_array_equal(joined.held_out, pooled.held_out)
    np.testing.assert_array_equal(joined.thresholds, pooled.thresholds)
    assert joined.assign(stacked).equals(pooled.assign(stacked))
    assert not joined.strata.identifies
    back = FoldPlan.from_frame(through_csv(joined.to_frame()))
    assert back.fingerprint == joined.fingerprint
    assert back.rows.equals(stacked.index)
    assert joined.to_frame()["site"].map(str).isin(["A", "B", "C"]).all()


@quietly
@given(
    st.integers(0, 10**6),
    st.sampled_from(["kfold", "stratified_kfold", "rkfold", "montecarlo", "bootstrap"]),
    st.sampled_from([None, "subsample", "upsample", "bag"]),
    st.sampled_from([None, by_hash("id", key="k"), by_value("id")]),
)
def test_fold_j_of_the_whole_is_fold_j_of_each_site(seed, scheme, how, stratify):
    if scheme == "bootstrap" and how == "subsample":
        how = None
    frames, folds = sites(seed), scheme[-5:] == "kfold"
    try:
        plans = plans_of(
            frames,
            scheme=scheme,
            rebalance=how if scheme != "bootstrap" else None,
            stratify=stratify,
            seed=seed,
            **({"k": 3} if folds else {"repeats": 4}),
        )
    except SchemeError as error:
        # by chance the hash leaves a fold of a site empty, or has a class in one fold
        if not re.search("would be empty|trains without any", str(error)):
            raise
        reject()
    joined = FoldPlan.concat(plans)
    offsets = dict(zip(plans, np.cumsum([0, 30, 20]), strict=True))
    assert joined.n == 75
    for split in range(joined.n_splits):
        expected = [p.test(split) + offsets[name] for name, p in plans.items()]
        assert joined.test(split).tolist() == np.concatenate(expected).tolist()
    for fit in range(joined.n_fits):
        for part in ("dropped", "kept_out", "copied"):
            lists = [getattr(p, part)[fit] + offsets[name] for name, p in plans.items()]
            found = getattr(joined, part)[fit].tolist()
            assert found == np.concatenate(lists).tolist()
        train = [p.train(fit) + offsets[name] for name, p in plans.items()]
        assert joined.train(fit).tolist() == np.concatenate(train).tolist()
        held = joined.fits.held_out_by(fit)
        assert not np.isin(joined.train(fit), held).any()
    if folds:
        assert joined.partition  # each record in one held-out set
    assert joined.rebalance == plans["A"].rebalance
    if stratify is not None:
        codes = joined.strata.codes
        site = joined.rows.get_level_values("site")
        pairs = pd.DataFrame({"code": codes, "site": site}).drop_duplicates()
        assert not pairs["code"].duplicated().any()  # clusters of sites stay apart
        assert joined.strata.count == sum(p.strata.count for p in plans.values())
        assert joined.strata.identifies


@quietly
def test_joined_plans_are_a_scheme_of_cv():
    frames = sites()
    data = pd.concat(frames)
    joined = FoldPlan.concat(plans_of(frames, stratify=by_quantile("x", 1, [0.3, 1.4])))
    result = cv("y ~ x", data=data, scheme=joined, seed=1)
    assert result.plan.fingerprint == joined.fingerprint
    fold = data["x"].transform(lambda x: 1 + (x >= 0.3) + (x >= 1.4))
    again = cv("y ~ x", data=data.assign(fold=fold), scheme="fold", seed=1)
    columns = ["fold", "row", "predicted"]
    pd.testing.assert_frame_equal(
        result.predictions[columns], again.predictions[columns], check_dtype=False
    )
    named = pd.concat(frames, names=["hospital", "visit"])
    assert len(cv("y ~ x", data=named, scheme=joined, seed=1).predictions) == 75
    back = FoldPlan.from_frame(through_csv(joined.to_frame()))
    assert len(cv("y ~ x", data=data, scheme=back, seed=1).predictions) == 75
    with pytest.raises(SchemeError, match="in another order"):
        cv("y ~ x", data=data.iloc[::-1], scheme=joined, seed=1)


def test_joined_training_sets_are_rebalanced():
    frames = sites()
    data = pd.concat(frames)
    joined = FoldPlan.concat(plans_of(frames, scheme="rkfold", k=3))
    training, _ = joined.counts(data["y"].to_numpy(), 2)
    assert (training == training[0]).all()
    assert len(joined.dropped.values) > 0
    assert joined.response.levels == (0, 1)
    np.testing.assert_array_equal(joined.response.values, data["y"])
    assert joined.fits.compares_pairs
    assert len(cv("y ~ x", data=data, scheme=joined, seed=1).pairs) > 0


def test_folds_are_matched_by_name():
    plans = {
        "A": plan_from_column([10, 20, 10, 30], "fold"),
        "B": plan_from_column([30, 10, 20], "fold"),
    }
    backwards = replace(
        plans["B"],
        tests=plans["B"].tests.chosen(np.array([2, 1, 0])),
        labels=((30, 20, 10),),
    )
    for other in (plans["B"], backwards):
        joined = FoldPlan.concat({"A": plans["A"], "B": other})
        assert joined.labels == ((10, 20, 30),)
        assert [joined.test(j).tolist() for j in range(3)] == [
            [0, 2, 5],
            [1, 6],
            [3, 4],
        ]


def test_a_fold_that_a_site_lacks_holds_out_the_others():
    frames = {"A": pd.DataFrame({"x": [1.0, 2, 9]}), "B": pd.DataFrame({"x": [5.0, 6]})}
    agreed = by_quantile("x", thresholds=[4, 8, 20])
    with pytest.warns(FoldWarning) as caught:
        plans = plans_of(frames, formula=None, stratify=agreed)
    assert ["2 of 4" in str(caught[0].message), "3 of 4" in str(caught[1].message)] == [
        True,
        True,
    ]
    joined = FoldPlan.concat(plans)
    assert joined.labels == ((1, 2, 3),)  # nobody is in fold 4
    assert [(a.tolist(), b.tolist()) for a, b in joined.split()] == [
        ([2, 3, 4], [0, 1]),
        ([0, 1, 2], [3, 4]),
        ([0, 1, 3, 4], [2]),
    ]
    assert joined.assign(pd.DataFrame({"x": [99.0]})).tolist() == [4]


def test_equal_identifiers_of_sites_share_a_fold_by_hash():
    frames = sites()
    plans = plans_of(frames, k=3, stratify=by_hash("id", key="k"))
    joined = FoldPlan.concat(plans)
    held = pd.Series(joined.held_out[0], joined.rows)
    assert (held.groupby(pd.concat(frames)["id"].to_numpy()).nunique() == 1).all()
    assert joined.assign(frames["B"]).equals(plans["B"].assign(frames["B"]))
    other = {"B": fold_plan(data=frames["B"], k=3, stratify=by_hash("id", key="o"))}
    with pytest.raises(SchemeError, match=r"the same key: by_hash\(id\) was made with"):
        FoldPlan.concat({**plans, **other})
    balanced = plans_of(frames, k=3, stratify=by_hash("id", key="k", balanced=True))
    with pytest.raises(SchemeError, match="balanced=True makes thresholds of a site's"):
        FoldPlan.concat(balanced)
    read = FoldPlan.from_frame(through_csv(plans["B"].to_frame()))
    again = FoldPlan.concat({**plans, "B": read})  # a table does not tell the key
    assert again.fingerprint == joined.fingerprint


def test_joined_whole_values_do_not_define_folds_of_other_records():
    frames = sites()
    joined = FoldPlan.concat(plans_of(frames, k=3, stratify=by_value("id")))
    with pytest.raises(SchemeError, match="not their values"):
        joined.assign(frames["A"])


def test_one_plan_and_joined_plans_can_be_joined():
    frames = sites()
    plans = plans_of(frames, k=3)
    alone = FoldPlan.concat({"A": plans["A"]})
    assert alone.fingerprint == plans["A"].fingerprint
    both = FoldPlan.concat({"north": FoldPlan.concat(plans), "south": alone})
    assert both.rows.names == ["site", "row_1", "row_2"]
    back = FoldPlan.from_frame(through_csv(both.to_frame()))
    assert back.rows.equals(both.rows)
    assert str(both).startswith("kfold: 3 folds; 2 sites joined (north, south)\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scheme": "stratified_kfold"},
            "same scheme: that of site 'A' has kfold, tha",
        ),
        ({"repeats": 2}, "same number of repeats: that of site 'A' has 1, that of 'B'"),
        (
            {"k": 4},
            "the same folds: in repeat 1 fold 4 is one of only one of the sites",
        ),
        ({"rebalance": "subsample"}, "same rebalancing: that of site 'A' has None, th"),
        (
            {"stratify": by_value("id")},
            r"same stratifier: .* none, .* has by_value\(id",
        ),
        ({"rebalance": "weight"}, "site 'B' weights its training records"),
        ({"scheme": "loocv", "k": None}, r"loocv \(site 'B'\) has no folds that sites"),
    ],
)
def test_plans_that_differ_raise_an_error(change, message):
    frames = sites()
    plans = plans_of(frames, k=3)
    plans["B"] = fold_plan("y", frames["B"], **{"scheme": "kfold", "k": 3, **change})
    with pytest.raises(SchemeError, match=message):
        FoldPlan.concat(plans)


@quietly
def test_other_thresholds_and_allocations_raise_an_error():
    frames = sites()
    plans = plans_of(frames, stratify=by_quantile("x", 1, [0.5, 1]))
    for thresholds, message in (
        (
            [0.5, 2],
            r"same thresholds and folds: the bin \[0.5, 1\) of x is only at sit",
        ),
        ([0.5], r"the bin \[0.5, 1\) of x is only at site 'A'"),
    ):
        odd = plans_of(frames, stratify=by_quantile("x", 1, thresholds))["B"]
        with pytest.raises(SchemeError, match=message):
            FoldPlan.concat({**plans, "B": odd})
    agreed = by_quantile("x", 3, np.linspace(-1, 2, 8))
    plans = plans_of(frames, stratify=agreed)
    plans["C"] = plans_of(frames, stratify=agreed, seed=2)["C"]
    with pytest.raises(
        SchemeError, match=r"of x lies in fold \d at site 'A' and in fol"
    ):
        FoldPlan.concat(plans)


@quietly
def test_plans_with_different_numbers_of_fits_raise_an_error():
    frames = sites(sizes=(30, 22, 24))
    plans = plans_of(frames, scheme="stratified_kfold", k=4, rebalance="all")
    assert plans["A"].n_fits != plans["B"].n_fits
    with pytest.raises(SchemeError, match="'all' gives a fold"):
        FoldPlan.concat(plans)


def test_a_rebalanced_plan_that_lacks_a_fold_raises_an_error():
    frames = {
        "A": pd.DataFrame({"x": np.arange(12.0), "y": [0, 1] * 6}),
        "B": pd.DataFrame({"x": np.arange(8.0), "y": [0, 1] * 4}),
    }
    agreed = by_quantile("x", thresholds=[4, 8])
    with pytest.warns(FoldWarning, match="1 of 3 folds"):
        plans = plans_of(frames, stratify=agreed, rebalance="subsample")
    with pytest.raises(SchemeError, match="site 'B' has no record in 1 fold, so its"):
        FoldPlan.concat(plans)
    with pytest.warns(FoldWarning, match="1 of 3 folds"):
        joined = FoldPlan.concat(plans_of(frames, stratify=agreed))
    result = cv(
        "y ~ x", pd.concat(frames), scheme=joined, rebalance="subsample", seed=1
    )
    assert result.plan.rebalance == "subsample"


def test_objects_that_are_not_plans_raise_an_error():
    plan = fold_plan(data=sites()["A"], scheme="kfold", k=3)
    with pytest.raises(
        ArgumentTypeError, match=r"a mapping of sites to plans.*not list"
    ):
        FoldPlan.concat([plan])
    with pytest.raises(ArgumentError, match="at least one site"):
        FoldPlan.concat({})
    with pytest.raises(ArgumentTypeError, match="of site 'B' is a Table, not a Fold"):
        FoldPlan.concat({"A": plan, "B": plan.to_frame()})
    two = pd.concat({"x": sites()["A"]})
    mixed = {"A": plan, "B": fold_plan(data=two, scheme="kfold", k=3)}
    with pytest.raises(SchemeError, match="as many levels: 'A' has 1, 'B' has 2"):
        FoldPlan.concat(mixed)
