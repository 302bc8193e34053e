"""Differences of metrics between groups, with clusters that are in both groups."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import UndefinedMetricWarning
from statcv.metrics import auroc

FOREIGN = {"observed": "y", "predicted": "p", "metrics": ["auroc", "brier", "log_loss"]}


def pairs_of_eyes(people, seed, shift=0.0):
    """Return two eyes of every person, with outcomes and predictions that covary."""
    rng = np.random.default_rng(seed)
    frail = np.repeat(rng.normal(size=people), 2)
    noise = np.repeat(rng.normal(size=people), 2)
    eye = np.tile(["left", "right"], people)
    y = (frail + rng.normal(size=2 * people) > 0.3).astype(int)
    p = frail + noise + rng.normal(size=2 * people) + shift * (eye == "right")
    return pd.DataFrame(
        {
            "y": y,
            "p": 1 / (1 + np.exp(-p)),
            "eye": eye,
            "person": np.repeat(np.arange(people), 2),
        }
    )


def difference(frame, metric):
    left, right = (
        metric(own["y"].to_numpy(), own["p"].to_numpy())
        for own in (frame[frame["eye"] == "left"], frame[frame["eye"] == "right"])
    )
    return right - left


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auroc", "brier"])
def test_the_variance_is_that_of_a_bootstrap_of_clusters(name):
    frame = pairs_of_eyes(150, seed=3)
    metric = {"auroc": auroc, "brier": scv.metrics.brier}[name]
    read = scv.from_predictions(frame, **FOREIGN, cluster="person")
    found = read.compare_groups(name, by="eye").iloc[0]
    assert found["difference"] == pytest.approx(difference(frame, metric))
    rng, values = np.random.default_rng(1), []
    for _ in range(1500):
        drawn = rng.integers(150, size=150)
        rows = np.stack([2 * drawn, 2 * drawn + 1]).ravel()
        values.append(difference(frame.iloc[rows], metric))
    assert found["se"] == pytest.approx(np.std(values), rel=0.08)
    alone = scv.from_predictions(frame, **FOREIGN).compare_groups(name, by="eye")
    assert alone["se"].iloc[0] > 1.04 * found["se"]  # eyes of a person are alike


def test_groups_of_independent_records_add_their_variances():
    frame = pairs_of_eyes(60, seed=1)
    read = scv.from_predictions(frame, **FOREIGN)
    ses = read.metrics(by="eye").groupby("metric")["se"].agg(lambda s: (s**2).sum())
    found = read.compare_groups(by="eye").set_index("metric")
    known = found["se"].notna()
    assert known.sum() == 3
    assert found.loc[known, "se"].to_numpy() ** 2 == pytest.approx(
        ses[found.index[known]].to_numpy()
    )


@pytest.mark.parametrize("name", ["auroc", "brier"])
def test_the_order_of_the_groups_changes_only_the_sign(name):
    ehr = scv.load_data("ehr").iloc[:200].reset_index(drop=True)
    ehr["person"], ehr["eye"] = np.arange(200) // 2, np.arange(200) % 2
    res = scv.cv("y ~ x1 + x3", ehr, scheme="kfold", k=5, stratify="person", seed=1)
    found = res.compare_groups(name, by="eye").iloc[0]
    back = res.compare_groups(name, by="eye", reference=1).iloc[0]
    assert back["difference"] == pytest.approx(-found["difference"])
    assert back["se"] == pytest.approx(found["se"])
    assert back["p"] == pytest.approx(found["p"])


def test_all_pairs_or_those_with_a_reference():
    frame = pairs_of_eyes(90, seed=2)
    site = np.arange(180) % 3
    read = scv.from_predictions(frame, **FOREIGN)
    every = read.compare_groups("auroc", by=site)
    assert list(zip(every["first"], every["second"], strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]
    some = read.compare_groups("auroc", by=site, reference=1)
    assert some["second"].tolist() == [0, 2]
    assert (every["p_holm"] >= every["p"]).all()


def test_requests_that_mean_nothing_are_errors():
    read = scv.from_predictions(pairs_of_eyes(30, seed=1), **FOREIGN)
    with pytest.raises(scv.errors.ArgumentError, match="single value 'a'"):
        read.compare_groups(by=["a"] * 60)
    with pytest.raises(scv.errors.ArgumentError, match="reference='none' is not"):
        read.compare_groups(by="eye", reference="none")


def test_a_group_without_a_class_has_a_reason_and_no_number():
    frame = pairs_of_eyes(30, seed=1)
    read = scv.from_predictions(frame, **FOREIGN)
    group = np.where(frame["y"] == 1, "ill", frame["eye"])
    found = read.compare_groups("auroc", by=group).iloc[0]
    assert np.isnan(found["difference"])
    assert np.isnan(found["p"])
    assert found["interval"].startswith("none: ")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "crossed"), [("auroc", True), ("brier", False)])
def test_the_size_is_nominal(name, crossed):
    times, rejected = 300, 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        people = 60 if crossed else 120
        each = 2 if crossed else 1
        frail = np.repeat(rng.normal(size=people), each)
        x = frail + rng.normal(size=people * each)
        frame = pd.DataFrame(
            {
                "x": x,
                "z": rng.normal(size=people * each),
                "y": (frail + rng.normal(size=people * each) > 0).astype(int),
                "person": np.repeat(np.arange(people), each),
                "group": np.tile([0, 1], people * each // 2),
            }
        )
        how = {"stratify": "person"} if crossed else {}
        res = scv.cv("y ~ x + z", frame, scheme="kfold", k=5, seed=seed, **how)
        rejected += res.compare_groups(name, by="group")["p"].iloc[0] < 0.05
    assert 0.015 < rejected / times < 0.085


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize("outcome", ["two", "three", "number"])
@pytest.mark.parametrize("scheme", ["montecarlo", "bootstrap"])
def test_groups_of_which_no_record_is_held_out_have_no_value(scheme, outcome):
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    y = {"two": x + rng.normal(size=40) > 0, "number": x + rng.normal(size=40)}
    few = pd.DataFrame({"x": x, "g": np.where(np.arange(40) < 2, "few", "many")})
    few["y"] = y.get(
        outcome, np.digitize(x + rng.normal(size=40), [-0.5, 0.5]).astype(str)
    )
    plan = {"scheme": scheme, "repeats": 2, "model": "neighbors"}
    for seed in range(50):
        found = scv.cv("y ~ x", few, seed=seed, **plan)
        if not np.isin([0, 1], found.scores.row).any():
            break
    else:
        pytest.fail("the two records were always held out")
    with pytest.warns(UndefinedMetricWarning, match="of groups of g have no value"):
        table = found.metrics(by="g")
    absent = table[table["g"] == "few"]
    assert (absent["n"] == 0).all()
    assert absent["estimate"].isna().all()
    assert set(absent["interval"]) == {"none: no record is held out"}
    for metric in found.metric_names:
        (row,) = found.compare_groups(metric, by="g").to_dict("records")
        assert np.isnan(row["p"])
        assert "no record is held out, for few" in row["interval"]
