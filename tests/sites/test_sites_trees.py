"""Trees over sites are those of the pooled records, and what guards them."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hospitals import FORMULA, LEVELS, SIZES, agreed, by_person, hospitals, pooled, why

import statcv as scv
from statcv import sites
from statcv.errors import (
    ArgumentError,
    CoefficientError,
    MetricError,
    MissingPackageError,
    ModelError,
    SiteError,
)
from statcv.sites import DroppedOutError, Job, Message, SitesPlan, Trees
from statcv.sites.transports import federated
from statcv.sites.trees import MAX_TREE_BYTES, bins_of, bytes_of, numbers_of_bins

EXACT = 1e-6
# The last two cuts of x2 make bins with few records or none.
CUTS = {
    "x0": [-1.5, -0.8, -0.2, 0.3, 0.9, 1.6],
    "x1": np.linspace(-2, 2, 12),
    "x2": [-1.0, 0.0, 1.0, 2.7, 9.0],
}


def with_trees(**more) -> SitesPlan:
    trees = Trees(CUTS, rounds=12, depth=3, leaf=more.pop("leaf", 20))
    return agreed(**{"model": trees, **more})


@pytest.fixture(scope="module")
def plugin():
    """Skip where XGBoost has no federated plugin."""
    try:
        federated.need_plugin()
    except MissingPackageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def ran(plugin):
    """Return the result of three hospitals, and these with their logs."""
    here = sites.InProcess()
    return sites.run(with_trees(), hospitals(), here), here.sites


def numbered(data: pd.DataFrame) -> pd.DataFrame:
    """Return records with the number of cuts that are not above each value."""
    columns = {
        name: (data[name].to_numpy()[:, None] >= np.asarray(cuts)).sum(axis=1)
        for name, cuts in CUTS.items()
    }
    sex = (data["sex"] == "m").astype(int)
    return pd.DataFrame({**columns, "sex": sex}).astype(float)


def pooled_fits(fold: np.ndarray, data: pd.DataFrame, plan: SitesPlan):
    """Return the probabilities of one fit per fold of the pooled records."""
    import xgboost

    most = {"max_bin": 256}
    sizes = np.array([*(len(cuts) + 1 for cuts in CUTS.values()), 2])
    every = np.minimum(np.arange(sizes.max())[:, None], sizes - 1)
    agreed_bins = xgboost.QuantileDMatrix(every, np.zeros(len(every)), **most)
    bins, y = numbered(data).to_numpy(), data["y"].to_numpy()
    asked = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "base_score": 0.5,
        "max_depth": 3,
        "learning_rate": 0.3,
        "min_child_weight": plan.model["leaf"] / 4,
        "nthread": 1,
        **most,
    }
    p, fits = np.empty(len(y)), []
    for number in range(5):
        train = fold != number
        own = xgboost.QuantileDMatrix(bins[train], y[train], ref=agreed_bins, **most)
        fits.append(xgboost.train(asked, own, 12))
        p[~train] = fits[-1].inplace_predict(bins[~train])
    whole = xgboost.QuantileDMatrix(bins, y, ref=agreed_bins, **most)
    return p, [*fits, xgboost.train(asked, whole, 12)]


# ---- the plan ----


def test_a_plan_is_written_and_read():
    plan = with_trees(levels=LEVELS)
    again = SitesPlan.from_json(plan.to_json())
    assert again.fingerprint == plan.fingerprint
    assert again.model == plan.model
    assert numbers_of_bins(again) == numbers_of_bins(plan) == [7, 13, 6, 2]
    assert plan.binary
    assert plan.model["cuts"]["sex[T.m]"] == [0.5]  # a column of 0 and 1
    assert set(plan.model["cuts"]) == set(plan.columns[1:])
    assert plan.learner.parameters["min_child_weight"] == 5.0


@pytest.mark.parametrize(
    ("trees", "sentence"),
    [
        ({"cuts": {"x0": [1], "x1": [1]}}, "trees need cuts= of column 'x2'"),
        ({"cuts": {**CUTS, "age": [40]}}, "'age', which is not a column of the design"),
        ({"cuts": {**CUTS, "x0": [1, 1]}}, "the cuts of 'x0' must be rising"),
        ({"cuts": {**CUTS, "x0": []}}, "the cuts of 'x0' must be rising"),
        ({"cuts": {**CUTS, "x0": ["a"]}}, "the cuts of 'x0' must be numbers"),
        ({"cuts": {**CUTS, "x0": range(300)}}, "300 cuts, and 255 are the most"),
        ({"cuts": CUTS, "leaf": 4}, "leaf=4 is less than cell=5"),
        ({"cuts": CUTS, "learning_rate": 0}, "learning_rate=0 is out of range"),
        ({"cuts": CUTS, "ridge": -1}, "ridge=-1 is out of range"),
        ({"cuts": CUTS, "depth": 12}, "100 trees of depth 12 are too long"),
    ],
)
def test_what_trees_cannot_be(trees, sentence):
    with pytest.raises(ModelError, match=sentence):
        agreed(model=Trees(**trees))


def test_the_outcome_of_trees_has_two_classes():
    with pytest.raises(ArgumentError, match="takes two"):
        with_trees(formula="y ~ x0 + x1 + x2 + sex", levels={**LEVELS, "y": [0, 1, 2]})


def test_cuts_are_found_from_counts():
    data = hospitals()
    found = {
        name: sites.thresholds(data, name, low=-6, high=6, k=8)
        for name in ("x0", "x1", "x2")
    }
    plan = agreed(model=Trees(found))
    assert plan.model["cuts"]["x0"] == list(found["x0"])
    assert len(plan.model["cuts"]["x0"]) == 7


def test_trees_see_numbers_of_bins():
    plan, data = with_trees(), hospitals()["A"]
    from statcv.sites.site_records import read_records

    records = read_records(plan, data, "A")
    bins = bins_of(plan, records.X)
    assert bins.dtype == np.uint8
    assert np.array_equal(bins, numbered(data).to_numpy())


# ---- the fits ----


def test_predictions_are_those_of_the_pooled_records(ran):
    result, made = ran
    own = pd.concat([made[name].predictions() for name in SIZES])
    data = pooled(hospitals())
    fold = own["fold"].to_numpy() - 1
    p, fits = pooled_fits(fold, data, result.plan)
    assert np.abs(own["predicted"].to_numpy() - p).max() < EXACT
    assert np.array_equal(own["observed"], data["y"])
    new = hospitals()["B"].head(50)
    expected = fits[-1].inplace_predict(numbered(new).to_numpy())
    assert np.abs(result.predict(new) - expected).max() < EXACT
    # trees are the same, to the last byte
    assert made["A"].trees.raw == tuple(bytes(fit.save_raw("ubj")) for fit in fits)
    assert {one.trees.digest for one in made.values()} == {made["A"].trees.digest}


def test_estimates_are_those_of_cv_on_numbers_of_bins(ran):
    result, _ = ran
    data = pooled(hospitals())
    one = scv.cv(
        FORMULA,
        data.assign(**numbered(data)[list(CUTS)]),
        model=result.plan.learner,
        scheme="kfold",
        k=5,
        stratify=by_person(),
        metrics=["auroc", "brier", "log_loss", "calibration_slope", "oe_ratio"],
    )
    for metric in ("brier", "log_loss", "oe_ratio"):
        here, there = result.estimate(metric), one.estimate(metric)
        assert abs(here.value - there.value) < 1e-4  # records of rare bins
        rate = 1 + result.run.shared
        assert abs((here.se / there.se) ** 2 / rate - 1) < 0.02
        assert here.interval.scale == there.interval.scale
        assert (here.method, here.assumes.partition(";")[0]) == (
            there.method,
            there.assumes.partition(";")[0],
        )
        width = np.sqrt(rate) * (there.upper - there.lower)
        assert here.upper - here.lower == pytest.approx(width, rel=0.01)
    here, there = result.estimate("auroc"), one.estimate("auroc")
    assert abs(here.value - there.value) < result.bound()
    assert (here.method, here.assumes.partition(";")[0]) == (
        there.method,
        there.assumes.partition(";")[0],
    )
    slope = result.estimate("calibration_slope").value
    assert abs(slope - one.estimate("calibration_slope").value) < 0.01


def test_leaves_have_the_least_number_of_records(ran):
    result, made = ran
    import xgboost

    data = pooled(hospitals())
    bins = xgboost.DMatrix(numbered(data).to_numpy())
    booster = xgboost.Booster()
    booster.load_model(bytearray(made["A"].trees.raw[-1]))
    leaves = booster.predict(bins, pred_leaf=True)
    sizes = [np.unique(tree, return_counts=True)[1].min() for tree in leaves.T]
    assert min(sizes) >= result.plan.model["leaf"]


def test_bytes_of_trees_are_bounded(ran):
    result, made = ran
    size = max(map(len, made["A"].trees.raw))
    assert size <= bytes_of(12, 3) <= MAX_TREE_BYTES
    assert result.sites["bytes_sent"].max() < bytes_of(12, 3) + 25_000


def test_the_result_reads_as_another(ran, tmp_path):
    result, made = ran
    assert result.folds["converged"].all()
    assert result.rounds == made["A"].progress.round
    for name in ("coefficients", "model"):
        with pytest.raises(CoefficientError, match="trees have no coefficients"):
            getattr(result, name)
    with pytest.raises(MetricError, match="corrected_influence or delong is"):
        result.estimate("auroc", interval="infinitesimal_jackknife")
    with pytest.raises(MetricError, match="corrected_influence or records is"):
        result.estimate("brier", interval="influence")
    assert result.estimate("auroc", interval="delong").lower > 0.6
    assert result.by_site("brier")["n"].sum() == result.n == 1200
    text = str(result.summary())
    assert "sums of gradients by node and bin" in text
    page = tmp_path / "report.md"
    result.report(page)
    assert "1 record: not guarded" in page.read_text()
    gone = hospitals()["A"].head(3).assign(x0=[np.nan, 0, 1])
    assert result.predict(gone).isna().tolist() == [True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{"rebalance": True}, {"stratify": None}, {"formula": "y ~ x0 * sex"}]
)
def test_other_plans_equal_the_pooled_records(plugin, more):
    import xgboost

    cuts = {"x0": CUTS["x0"], "x0:sex[T.m]": [-1.0, 0.1, 1.0]}
    if "formula" not in more:
        cuts = CUTS
    plan, data = agreed(**{"model": Trees(cuts, rounds=4), **more}), hospitals()
    here = sites.InProcess()
    sites.run(plan, data, here)
    records = [here.sites[name]._records for name in SIZES]
    bins = np.concatenate([bins_of(plan, one.X) for one in records])
    y = np.concatenate([one.y for one in records])
    training = np.concatenate([one.training for one in records], axis=1) > 0
    fold = np.concatenate([one.fold for one in records])
    asked = {**plan.learner.parameters, "objective": "binary:logistic"}
    del asked["n_estimators"]
    p = np.concatenate(
        [here.sites[name].predictions()["predicted"].to_numpy() for name in SIZES]
    )
    for number in range(5):
        own = xgboost.DMatrix(bins[training[number]], y[training[number]])
        one = xgboost.train(asked, own, 4).inplace_predict(bins[fold == number])
        # some bins may be empty in a training set, and then have no cut
        assert np.mean(np.abs(one - p[fold == number]) < EXACT) > 0.98


@pytest.mark.slow
def test_files_in_a_directory_give_the_same(ran, tmp_path):
    result, made = ran
    files = sites.Directory(tmp_path / "exchange")
    other = sites.run(with_trees(), hospitals(), files)
    pd.testing.assert_frame_equal(other.metrics(), result.metrics(), check_exact=True)
    from statcv.sites.transports import TREES_FILE, read_log, read_trees

    kept = next((files.homes / "B").glob(f"plan-*/{TREES_FILE}"))
    assert oct(kept.stat().st_mode)[-3:] == "600"
    trees = read_trees(kept)
    assert tuple(trees) == made["B"].trees.raw
    entries = read_log(kept.with_name("log.jsonl"))
    assert entries == made["B"].entries
    assert sites.verify(with_trees(), entries, hospitals()["B"], "B", trees).passed
    kept.write_text("{}")
    with pytest.raises(SiteError, match=r"trees .* are damaged"):
        read_trees(kept)
    exchanged = b"".join(path.read_bytes() for path in files.exchange.path.iterdir())
    assert repr(float(hospitals()["A"]["x0"].iloc[0])).encode() not in exchanged


# ---- what guards a site, with trees that were grown before ----


def replayed(ran, grow=None, **change):
    """Begin again with sites that have grown their trees before."""
    _, made = ran
    grow = grow or {name: lambda job: made["A"].trees.raw for name in SIZES}
    data = {**hospitals(), **change}
    again = {
        name: sites.Site(name, with_trees(), one, grow=grow.get(name))
        for name, one in data.items()
    }
    coordinator = sites.Coordinator(with_trees())
    return coordinator, again


def to_grow(coordinator, made) -> bytes:
    """Return the message that asks for trees."""
    start = coordinator.start()
    return coordinator.step([one.step(start) for one in made.values()])


def test_a_log_is_verified_but_for_what_grew_the_trees(ran):
    result, made = ran
    entries, plan = made["A"].entries, result.plan
    trees = made["A"].trees.raw
    found = sites.verify(plan, entries, hospitals()["A"], "A", trees)
    assert found.passed
    assert "trees are taken as kept, and what grew them is not in it" in str(found)
    with pytest.raises(SiteError, match="site A: what grew the trees is not in the l"):
        sites.verify(plan, entries, hospitals()["A"], "A")
    other = [*trees[1:], trees[0]]
    assert not sites.verify(plan, entries, hospitals()["A"], "A", other).passed
    logs = {name: one.entries for name, one in made.items()}
    assert sites.audit_logs(plan, logs) == result.rounds


def test_all_that_leaves_is_in_the_sheet(ran):
    result, made = ran
    table = sites.disclosure_sheet(result.plan).set_index("array")
    seen = {"checksum", "rows", "xgboost", "histograms"}
    for entry in made["A"].entries:
        answer = Message.of(entry.sent)
        told = set(answer.header) - {"site", "plan", "round"}
        assert told <= {"checksum", "rows", "xgboost", "trees"}
        for name, array in answer.arrays.items():
            seen.add(name)
            assert array.size <= table.loc[name, "numbers"], name
    assert seen == set(table.index)
    server = table.loc["histograms"]
    assert server["what"].startswith("TO THE FEDERATED SERVER, not in the log")
    assert server["smallest_cell"] == "1 record: not guarded"


def test_other_trees_than_those_of_the_sites_are_refused(ran):
    coordinator, made = replayed(ran)
    message = to_grow(coordinator, made)
    published = Message.of(
        coordinator.step([one.step(message) for one in made.values()])
    )
    header = {**published.header, "trees": "0" * 64}
    forged = bytes(Message(published.kind, header, published.arrays))
    answer = made["A"].step(forged)
    assert why(answer) == "the trees that are published are not those of this site."
    assert not why(made["A"].step(bytes(published)))


def test_sites_with_other_trees_are_named(ran):
    _, grown = ran
    raw = grown["A"].trees.raw
    grow = {name: lambda job: raw for name in SIZES}
    coordinator, made = replayed(ran, {**grow, "C": lambda job: [raw[1], *raw[1:]]})
    message = to_grow(coordinator, made)
    with pytest.raises(SiteError, match="site C has grown other trees than site A"):
        coordinator.step([one.step(message) for one in made.values()])


def test_sites_with_another_xgboost_are_named(ran, monkeypatch):
    coordinator, made = replayed(ran)
    start, answers = coordinator.start(), []
    for name, one in made.items():
        version = "3.3.0" if name == "B" else "3.2.0"
        monkeypatch.setattr("statcv.sites.site.version_of_xgboost", lambda v=version: v)
        answers.append(one.step(start))
    with pytest.raises(SiteError, match=r"site A has xgboost 3\.2\.0, and site B has"):
        coordinator.step(answers)


def test_a_site_without_the_server_refuses(ran):
    coordinator, made = replayed(ran, {"A": None})
    answer = made["A"].step(to_grow(coordinator, made))
    assert "XGBoost's federated server, which this way of carrying" in why(answer)


def test_a_site_mends_what_kept_it_from_growing_trees(ran):
    def fail(job):
        raise OSError("no room for a process")

    coordinator, made = replayed(ran, {"A": fail})
    message = to_grow(coordinator, made)
    with pytest.raises(DroppedOutError, match="site A cannot grow trees: no room for"):
        made["A"].step(message)
    assert len(made["A"].entries) == 1
    made["A"].grow = lambda job: ran[1]["A"].trees.raw[:2]
    assert (
        why(made["A"].step(message)) == "there are trees of 2 fits, and the plan has 6."
    )


def test_nothing_is_grown_for_two_sites(ran):
    grown = []
    coordinator, made = replayed(ran, dict.fromkeys(SIZES, grown.append))
    del made["C"]
    with pytest.raises(SiteError, match="at least 3 must"):
        to_grow(coordinator, made)
    assert not grown


def test_one_plan_for_each_state_of_the_data(ran):
    _, made = ran
    second = with_trees(leaf=40)
    one = sites.Site("A", second, hospitals()["A"], made["A"].ledger)
    answer = one.step(sites.Coordinator(second).start())
    assert "these data have answered another plan" in why(answer)


def test_small_folds_are_refused_before_anything_is_grown(plugin):
    plan = with_trees()
    few = sites.Site("A", plan, hospitals()["A"].head(30))
    answer = few.step(sites.Coordinator(plan).start())
    assert "holds out fewer than 5 records" in why(answer)


def test_predictions_of_a_site_need_fits():
    site = sites.Site("A", with_trees(), hospitals()["A"])
    with pytest.raises(SiteError, match="site A: the fits have not ended"):
        site.predictions()


# ---- what must be installed ----


@pytest.mark.parametrize("found", ["3.1.3", "3.4.0", "2.1", ""])
def test_another_version_is_told(found, monkeypatch):
    monkeypatch.setattr(federated.trees, "version_of_xgboost", lambda: found)
    here = f"xgboost {found} is installed" if found else "xgboost is not installed"
    with pytest.raises(MissingPackageError, match=here) as raised:
        sites.run(with_trees(), hospitals())
    assert 'pip install "statcv[sites-trees]"' in str(raised.value)


def test_a_missing_plugin_is_told(plugin, monkeypatch):
    import xgboost

    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_FEDERATED": False})
    with pytest.raises(MissingPackageError, match="without its federated plugin"):
        sites.run(with_trees(), hospitals())


def test_missing_certificates_are_told(plugin, monkeypatch, tmp_path):
    with pytest.raises(ArgumentError, match=r"has no rootCA\.pem"):
        federated.Grower(federated.Server("localhost:1", tmp_path))(None)
    with (
        pytest.raises(ArgumentError, match=r"has no rootCA\.pem"),
        federated.serving(3, tmp_path, 1),
    ):
        pass
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingPackageError, match="which needs cryptography"):
        sites.run(with_trees(), hospitals())


# ---- sites that drop out ----


def in_threads(steps) -> dict[str, BaseException | bytes]:
    """Return what each step gives or raises."""
    found: dict[str, BaseException | bytes] = {}

    def take(name, step):
        try:
            found[name] = step()
        except BaseException as error:
            found[name] = error

    threads = [threading.Thread(target=take, args=one) for one in steps.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


def test_a_site_that_drops_out_is_named_and_the_step_is_repeated(ran):
    coordinator, made = replayed(ran)
    message = to_grow(coordinator, made)

    def drop(together) -> None:
        while "B" not in together.processes or together.processes["B"].said < 5:
            time.sleep(0.01)
        os.kill(together.processes["B"].number, signal.SIGKILL)

    with federated.growing_here(list(made)) as grow:
        for name, one in made.items():
            one.grow = grow[name]
        threading.Thread(target=drop, args=(grow["B"].together,)).start()
        found = in_threads(
            {name: lambda one=one: one.step(message) for name, one in made.items()}
        )
    for error in found.values():
        assert isinstance(error, DroppedOutError)
        assert str(error).startswith("site B dropped out while trees were grown; noth")
    assert {len(one.entries) for one in made.values()} == {1}
    for one in made.values():
        one.grow = lambda job: ran[1]["A"].trees.raw
    coordinator.step([one.step(message) for one in made.values()])
    assert coordinator.progress.phase == "score"


@pytest.mark.slow
def test_sites_that_are_absent_stopped_or_foreign_are_named(plugin, tmp_path):
    from statcv.sites.site_records import read_records

    plan = agreed(model=Trees(CUTS, rounds=400))
    jobs = {
        name: Job(read_records(plan, one, name), tuple(SIZES))
        for name, one in hospitals().items()
    }

    def grown(growers, names="ABC"):
        return in_threads(
            {name: lambda name=name: growers[name](jobs[name]) for name in names}
        )

    with federated.growing_here(list(SIZES)) as grow:  # C does not come
        soon = {name: federated.Grower(grow[name].server, come=8.0) for name in "AB"}
        found = grown(soon, "AB")
    assert str(found["A"]).startswith("site A has waited 8 seconds for site B, C, or")

    with federated.growing_here(list(SIZES)) as grow:  # C is stopped in the midst
        together = grow["C"].together
        some = {n: federated.Grower(grow[n].server, 60.0, 5.0, together) for n in "ABC"}

        def stop() -> None:
            while "C" not in together.processes or together.processes["C"].said < 5:
                time.sleep(0.01)
            os.kill(together.processes["C"].number, signal.SIGSTOP)

        threading.Thread(target=stop).start()
        found = grown(some)
    assert str(found["A"]).startswith("site C does not answer while trees are grown")

    with federated.growing_here(
        list(SIZES)
    ) as grow:  # C has a certificate of another root
        federated.make_certificates(tmp_path, "localhost")
        address = grow["C"].server.address
        some = {n: federated.Grower(grow[n].server, come=8.0) for n in "AB"}
        some["C"] = federated.Grower(federated.Server(address, tmp_path), come=8.0)
        found = grown(some)
    assert all(isinstance(error, DroppedOutError) for error in found.values())


def test_processes_end_when_their_input_does(plugin, tmp_path):
    federated.make_certificates(tmp_path, "localhost")
    assert {oct(path.stat().st_mode)[-3:] for path in tmp_path.iterdir()} == {"600"}
    with federated.serving(3, tmp_path, federated.free_port()) as server:
        server._pipe.close()
        server._popen.wait(20)
        assert server.ended


# ---- the commands ----


@pytest.mark.slow
def test_commands_grow_trees(plugin, tmp_path, monkeypatch):
    import subprocess

    monkeypatch.setenv("STATCV_KEY", "a key that the tests share")
    federated.make_certificates(tmp_path, "localhost")
    port, data = federated.free_port(), hospitals()
    command = [sys.executable, "-m", "statcv.cli.main", "sites"]
    started: list[subprocess.Popen] = []

    def start(*words: str) -> subprocess.Popen:
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        started.append(subprocess.Popen([*command, *words], cwd=tmp_path, **out))
        return started[-1]

    def say(*words: str, code: int = 0) -> str:
        made = start(*words)
        told, _ = made.communicate(timeout=200)
        assert made.returncode == code, told
        return told

    cuts = [f"{name}={','.join(map(str, values))}" for name, values in CUTS.items()]
    asked = ["agree", FORMULA, "-k", "5", "--by-hash", "person", "--levels", "sex=f,m"]
    asked += ["--sites", "A,B,C", "--out", "plan.json", "--trees", "12"]
    try:
        told = say(*asked, code=2)
        assert "--trees means nothing without --model trees" in told
        say(*asked, "--model", "trees", *(w for one in cuts for w in ("--cuts", one)))
        plan = SitesPlan.from_json((tmp_path / "plan.json").read_text())
        assert plan.model == with_trees().model
        assert "Whoever runs it sees, for each site" in say("disclose", "plan.json")
        say("coordinate", "plan.json", "exchange", "--home", "center")
        trees = ("--trees", f"localhost:{port}", "--certificates", ".")
        parties = []
        for name in SIZES:
            data[name].to_csv(tmp_path / f"{name}.csv", index=False)
            say("join", "plan.json", f"{name}.csv", "--site", name, "--home", name)
        server = start("trees", "plan.json", "--certificates", ".", "--port", str(port))
        for name in SIZES:
            words = ("step", "exchange", "--home", name, "--wait", "0.2")
            parties.append(start(*words, *trees))
        parties.append(start("step", "exchange", "--home", "center", "--wait", "0.2"))
        for one in parties:
            told, _ = one.communicate(timeout=200)
            assert one.returncode == 0, told
        server.terminate()
        server.communicate(timeout=30)
        say("result", "exchange", "--home", "center", "--out", "results")
        written = pd.read_csv(tmp_path / "results" / "metrics.csv")
        expected = sites.run(plan, data)
        pd.testing.assert_frame_equal(expected.metrics(), written, check_dtype=False)
        raw = (tmp_path / "results" / "trees.ubj").read_bytes()
        assert raw == expected.run.progress.forests.raw[-1]
        log = next((tmp_path / "A").glob("plan-*/log.jsonl"))
        told = say("verify", str(log), "A.csv")
        assert "recomputed (100%); the log is whole; trees are taken as kept" in told
        assert json.loads((Path(log).with_name("trees.json")).read_text())["trees"]
    finally:
        for one in started:
            one.kill()
            one.communicate()
