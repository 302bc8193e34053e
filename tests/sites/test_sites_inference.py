"""Estimates and intervals from sums, against those of the pooled records."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hospitals import FORMULA, agreed, by_person, hospital, hospitals, pooled, run_sites
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import stdtrit

import statcv as scv
from statcv import sites
from statcv.datasets import simulate_ehr
from statcv.errors import MetricError
from statcv.metrics import auroc, net_benefit
from statcv.sites.cells import Cells, area_of, class_mass, delong_variance, score_edges

COUNTS = arrays(np.intp, st.integers(2, 40), elements=st.integers(0, 9))


@pytest.fixture(scope="module")
def both():
    """The result over sites, and that of the pooled records."""
    data = hospitals()
    one = scv.cv(FORMULA, pooled(data), scheme="kfold", k=5, stratify=by_person())
    return sites.run(agreed(), data), one


@pytest.fixture(scope="module")
def errors():
    """The same for a continuous outcome."""
    data, formula = hospitals(), FORMULA.replace("y ~", "z ~")
    one = scv.cv(formula, pooled(data), scheme="kfold", k=5, stratify=by_person())
    return sites.run(agreed(formula, model="linear"), data), one


SUMS = ["brier", "log_loss", "calibration_slope", "calibration_intercept", "oe_ratio"]
ERRORS = ["rmse", "mae", "mse", "r2"]
ALL = [(name, "both") for name in SUMS] + [(name, "errors") for name in ERRORS]


@pytest.fixture
def pair(request):
    """One of the pairs of results, by its name."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(("metric", "pair"), ALL, indirect=["pair"])
def test_metrics_that_are_sums_are_exact(pair, metric):
    """The sites' limits with the fits as given have no degrees of freedom."""
    result, one = pair
    here = result.estimate(metric, interval="records")
    there = one.estimate(metric, interval="influence")
    assert here.value == pytest.approx(there.value, abs=1e-9)
    assert here.se == pytest.approx(there.se, rel=1e-6)
    assert here.interval.scale == there.interval.scale
    limits = np.array([here.lower - there.lower, here.upper - there.upper])
    assert np.abs(limits).max() < 0.008 * (there.upper - there.lower)


@pytest.mark.filterwarnings("ignore::statcv.errors.CostWarning")
@pytest.mark.parametrize(("metric", "pair"), ALL, indirect=["pair"])
def test_half_of_what_refits_add_is_counted(pair, metric):
    """The reference refits without each record; cv weights records at random."""
    here, there = (result.estimate(metric) for result in pair)
    given, refitted = (
        pair[1].estimate(metric, interval=name).se ** 2
        for name in ("influence", "jackknife")
    )
    half = max(refitted - given, 0) / 2
    assert here.se == pytest.approx(np.sqrt(given + half), rel=0.005)
    assert 1 / 1.3 < here.se / there.se < 1.3
    assert here.method == there.method
    assert here.interval.scale == there.interval.scale
    quantile = stdtrit(here.interval.df, 0.975)
    ends = np.array([here.lower, here.upper])
    if here.interval.scale == "log":
        distances = np.log(ends / here.value) * here.value
    else:
        distances = ends - here.value
    assert distances == pytest.approx(np.array([-1, 1]) * quantile * here.se)


@pytest.mark.parametrize("how", ["per_fold", "pooled"])
def test_the_area_lies_within_its_bound(both, how):
    # over sites the fits of a pooled area are taken as given
    interval = "delong" if how == "pooled" else None
    here = both[0].estimate("auroc", how=how)
    there = both[1].estimate("auroc", how=how, interval=interval)
    error = abs(here.value - there.value)
    assert error <= both[0].bound(how)
    assert error < 0.005
    assert abs(here.upper - here.lower) == pytest.approx(
        there.upper - there.lower, rel=0.05
    )


def test_many_records_make_the_area_exact():
    data = {site: hospital(8_000, seed) for seed, site in enumerate("ABC")}
    result = sites.run(agreed(permutations=0), data)
    one = scv.cv(FORMULA, pooled(data), scheme="kfold", k=5, stratify=by_person())
    for how in ("per_fold", "pooled"):
        error = result.estimate("auroc", how).value - one.estimate("auroc", how).value
        assert abs(error) < 2e-4
        assert result.bound(how) < 0.015
    here, there = (each.estimate("auroc") for each in (result, one))
    # limits come from a limited number of draws
    assert here.lower == pytest.approx(there.lower, abs=6e-4)
    assert here.se == pytest.approx(there.se, rel=0.01)
    delong = one.estimate("auroc", "pooled", interval="delong")
    own = result.estimate("auroc", "pooled", interval="delong")
    assert own.se == pytest.approx(delong.se, abs=3e-4)


def test_the_no_skill_values_are_those_of_the_pooled_records(both, errors):
    for here, there in (both, errors):
        one, other = (each.metrics().set_index("metric") for each in (here, there))
        shared = one.index.intersection(other.index).drop("mae", errors="ignore")
        apart = one.loc[shared, "no_skill"] - other.loc[shared, "no_skill"]
        assert (apart.abs().fillna(0) < 1e-9).all()


# ---- counts in intervals ----


@pytest.mark.hypothesis
@given(COUNTS, st.integers(1, 7), st.data())
def test_no_count_is_small(counts, least, data):
    bins = len(counts)
    wanted = data.draw(arrays(bool, bins - 1))
    made = Cells.of(counts, least, wanted)
    assert made.counts.sum() == counts.sum()
    if counts.sum() >= least:
        assert ((made.counts == 0) | (made.counts >= least)).all()
    spread = made.spread(np.ones(bins))
    assert spread.sum() == pytest.approx(counts.sum())
    exact = Cells.of(counts, 1)
    assert np.array_equal(exact.spread(np.ones(bins)), counts)


@pytest.mark.hypothesis
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 3))
def test_the_bounds_hold_for_any_order_within_intervals(seed, least, n_sites):
    rng = np.random.default_rng(seed)
    sides, y, x = ([], []), [], []
    for _ in range(n_sites):
        for code in (0, 1):
            values = rng.normal(code, 1, rng.integers(6, 40))
            place = np.searchsorted(np.linspace(-2, 3, 20), values)
            counts = np.bincount(place, minlength=21)
            sides[code].append(Cells.of(counts, least))
            y.extend([code] * len(values))
            x.extend(values)
    area = area_of(sides[1], sides[0], [class_mass(sides[1]), class_mass(sides[0])])
    exact = auroc(y, x)
    assert area.lower - 1e-12 <= exact <= area.upper + 1e-12
    assert area.lower <= area.value <= area.upper
    assert abs(exact - area.value) <= area.bound + 1e-12


@pytest.mark.parametrize(("n_0", "n_1", "shift"), [(60, 15, 0.5), (100, 40, 1.0)])
def test_the_error_from_counts_is_as_large_as_its_standard_error(n_0, n_1, shift):
    """Of 200 areas of three small sites; the edges are those of a plan."""
    edges, error, said = score_edges(0.0, 1200.0, 1000, 128, []), [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sides, y, x = ([], []), [], []
        for _ in range(3):
            for code, n in ((0, n_0), (1, n_1)):
                values = rng.normal(shift * code, 1, n)
                counts = np.bincount(np.searchsorted(edges, values), minlength=128)
                sides[code].append(Cells.of(counts, 5))
                y.extend([code] * n)
                x.extend(values)
        mass = [class_mass(sides[1]), class_mass(sides[0])]
        area = area_of(sides[1], sides[0], mass)
        error.append(area.value - auroc(y, x))
        said.append(area.se)
    assert 0.85 < np.std(error) / np.sqrt(np.mean(np.square(said))) < 1.2
    assert abs(np.mean(error)) < 0.005


def test_small_sites_are_told_of_it():
    small = {site: hospital(70, seed) for seed, site in enumerate("ABC")}
    small["A"].loc[:3, "x0"] = np.nan
    plan = agreed("y ~ x0", k=3)
    with (
        pytest.warns(
            scv.errors.PrecisionWarning, match="a standard error of about 0.0"
        ),
        pytest.warns(scv.errors.MissingDataWarning, match="site A: 4 of 70 rows"),
    ):
        result = sites.run(plan, small)
    complete = pooled(small).dropna()
    there = scv.cv("y ~ x0", complete, scheme="kfold", k=3, stratify=by_person())
    here, there = result.estimate("auroc"), there.estimate("auroc")
    assert abs(here.value - there.value) < 3 * result.source.sums.order_se("per_fold")
    assert here.se > there.se


def test_delongs_variance_of_counts_is_that_of_ties():
    ones, zeros = np.array([1.0, 4, 9, 6]), np.array([8.0, 5, 3, 1])
    y = np.repeat([1, 0], [20, 17])
    x = np.concatenate([np.repeat(np.arange(4), c.astype(int)) for c in (ones, zeros)])
    frame = pd.DataFrame({"y": y, "p": x / 4})
    table = scv.from_predictions(frame, observed="y", predicted="p")
    se = table.estimate("auroc", interval="delong").se
    assert np.sqrt(delong_variance(ones, zeros)) == pytest.approx(se)


# ---- between sites, tests, curves ----


def test_sites_are_those_of_the_pooled_predictions(both):
    here, there = both
    site = np.repeat(list("ABC"), list(hospitals_sizes()))
    by = there.metrics(by=site).set_index("group").query("metric == 'brier'")
    own = here.by_site("brier")
    assert np.allclose(own["estimate"], by["estimate"], atol=1e-9)
    found, known = here.heterogeneity("brier"), there.heterogeneity("brier", by=site)
    assert found.estimate == pytest.approx(known.estimate, abs=0.002)
    ratio = here.by_site("oe_ratio")
    # limits are symmetric on the log scale
    ends = ratio[["lower", "upper"]].prod(axis=1)
    assert np.allclose(ends, ratio["estimate"] ** 2)
    auroc_by = there.metrics(by=site).query("metric == 'auroc'").set_index("group")
    assert np.allclose(here.by_site()["estimate"], auroc_by["estimate"], atol=0.02)


def hospitals_sizes():
    return map(len, hospitals().values())


def test_a_site_is_deleted(both):
    here, there = both
    kept = there.predictions[there.predictions["row"] >= 400]
    loss = (kept["predicted"] - kept["observed"]) ** 2
    assert here.by_site("brier").loc["A", "without"] == pytest.approx(loss.mean())


def test_ranks_within_sites_are_tested(both):
    here, _ = both
    found = here.test()
    assert found.p_value == 1 / 200
    again = sites.run(agreed(), hospitals()).test()
    assert np.array_equal(again.replicates, found.replicates)
    assert found.replicates.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
def test_no_association_is_rarely_rejected():
    """The p-value is not smaller than uniform, over 25 sets without an effect."""
    p = []
    for seed in range(25):
        data = {site: hospital(100, 100 * seed + i) for i, site in enumerate("ABC")}
        for i, one in enumerate(data.values()):
            one["y"] = np.random.default_rng(seed + 1000 * i).integers(0, 2, len(one))
        few = {"metrics": "auroc", "decisions": (), "bins": 16, "permutations": 99}
        plan = agreed("y ~ x0 + x1", k=2, levels=None, stratify=None, seed=seed, **few)
        p.append(sites.run(plan, data).test().p_value)
    assert np.mean(np.array(p) <= 0.1) <= 0.1 + 3 * np.sqrt(0.09 / 25)
    assert 0.3 < np.mean(p) < 0.7


def test_net_benefit_lies_within_its_bounds(both):
    here, there = both
    p, y = there.predictions["predicted"], there.predictions["observed"]
    for row in here.net_benefit.itertuples():
        exact = net_benefit(y, p, row.threshold).net_benefit[0]
        assert row.lower - 1e-12 <= exact <= row.upper + 1e-12
        assert row.net_benefit == pytest.approx(exact, abs=0.01)


def test_net_benefit_of_many_records_is_exact():
    data = {site: hospital(4_000, seed) for seed, site in enumerate("ABC")}
    plan = agreed(permutations=0, decisions=[0.2, 0.4, 0.5])
    here = sites.run(plan, data)
    there = scv.cv(FORMULA, pooled(data), scheme="kfold", k=5, stratify=by_person())
    p, y = there.predictions["predicted"], there.predictions["observed"]
    for row in here.net_benefit.itertuples():
        exact = net_benefit(y, p, row.threshold).net_benefit[0]
        assert row.lower == row.upper
        assert row.net_benefit == pytest.approx(exact, abs=1e-12)


def test_curves_are_near_those_of_the_pooled_predictions(both):
    here, there = both
    p = there.predictions
    for fpr in (0.1, 0.3, 0.6):
        cut = np.quantile(p["predicted"][p["observed"] == 0], 1 - fpr)
        tpr = (p["predicted"][p["observed"] == 1] > cut).mean()
        own = np.interp(fpr, here.roc["fpr"][::-1], here.roc["tpr"][::-1])
        assert own == pytest.approx(tpr, abs=0.05)
    groups = here.calibration
    assert groups["n"].sum() == pytest.approx(here.n)
    assert np.abs(groups["observed"] - groups["predicted"]).max() < 0.12


def test_a_result_reads_as_that_of_one_data_set(both):
    here, _ = both
    assert isinstance(here, sites.SitesResult)
    text = str(here.summary())
    for part in (
        "A, B, C; n = 1200",
        "auROC by site",
        "the error is at most",
        "rounds",
    ):
        assert part in text
    assert "<table>" in here.summary()._repr_html_()
    assert repr(here).count("\n") == 2
    table = here.metrics().set_index("metric")
    assert float(here.estimate("brier")) == table.loc["brier", "estimate"]
    labels = [text.get_text() for text in here.plot().get_yticklabels()]
    assert any(label.startswith("all sites") for label in labels)
    plt.close("all")


def test_what_is_not_there_is_said(both, errors):
    here, _ = both
    with pytest.raises(MetricError, match="not in the plan"):
        here.estimate("auprc")
    with pytest.raises(MetricError, match="pooled"):
        here.estimate("calibration_slope", how="per_fold")
    with pytest.raises(MetricError, match="not available over sites"):
        here.estimate("auroc", interval="jackknife")
    with pytest.raises(MetricError, match="how must be"):
        here.estimate("auroc", how="paired")
    with pytest.raises(MetricError, match="two classes"):
        errors[0].test()
    with pytest.raises(MetricError, match="not available by site"):
        here.by_site("calibration_slope")


def test_bytes_and_rounds_are_counted(both):
    here, _ = both
    coordinator, made = run_sites(agreed(), hospitals())
    for name, site in made.items():
        sent = sum(len(entry.sent) for entry in site.entries[:-1])
        assert sent == coordinator.bytes_up[name] == here.sites.loc[name, "bytes_sent"]
    assert here.rounds == len(made["A"].entries) - 1


def test_ten_covariates_and_five_folds_fit_in_a_small_letter():
    data = {site: hospital(2_000, seed) for seed, site in enumerate("ABCDE")}
    for seed, one in enumerate(data.values()):
        extra = np.random.default_rng(seed).normal(size=(len(one), 7))
        one[[f"w{j}" for j in range(7)]] = extra
    formula = "y ~ x0 + x1 + x2 + " + " + ".join(f"w{j}" for j in range(7))
    result = sites.run(agreed(formula, levels=None), data)
    assert result.sites["bytes_sent"].max() < 25_000


def test_persons_at_several_sites_widen_the_interval():
    """The variance is near that of clusters, which no site can see."""
    records = simulate_ehr(10_000, 2_000, 5, seed=4)
    formula = "y ~ " + " + ".join(f"x{j}" for j in range(1, 8))
    by = scv.by_hash("patient_id", key="a key")
    plan = agreed(formula, stratify=by, levels=None, metrics=["auroc", "brier"])
    result = sites.run(plan, dict(iter(records.groupby("site"))))
    one = scv.cv(formula, records, scheme="kfold", k=5, stratify=by)
    for metric in ("auroc", "brier"):
        found = result.estimate(metric)
        assert "persons at several sites raise its variance" in found.assumes
        assert found.se == pytest.approx(one.estimate(metric).se, rel=0.08)


def test_sites_without_shared_persons_count_as_independent(both):
    here, _ = both
    assert here.run.shared == 0
    assert "records of different sites count as independent" in here.estimate().assumes
