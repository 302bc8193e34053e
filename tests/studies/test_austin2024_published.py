"""Published models under LOOCV, RLOOCV and leave-pair-out; paths of penalties."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from matplotlib import pyplot as plt
from pandas.testing import assert_frame_equal
from scipy.stats import norm, wilcoxon
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from statcv import fetch_cfs
from statcv.errors import ArgumentError, DataError, FormulaError, MissingDataWarning
from statcv.metrics import auroc
from statcv.models import Logit
from studies.austin2024.published import (
    ANALYSES,
    Figure4,
    TuningPaths,
    figure4,
    paper_and_ours,
    simulate_irae,
    stored,
    tuning_paths,
)
from studies.austin2024.published.analyses import (
    IRAE_FORMULA,
    analysis,
    capped,
    frequent_taxa,
    seed_of,
    tuned_on_accuracy,
)
from studies.austin2024.published.normal_classes import SAMPLES, population
from studies.austin2024.published.paper import PAPER
from studies.austin2024.published.paths import path_of_draw
from studies.austin2024.published.runs import one_run, pairs_of, shares_won

needs_data = pytest.mark.skipif(
    not Path(os.environ.get("STATCV_DATA", ""), "cfs_vogl.csv").is_file(),
    reason="STATCV_DATA names no folder with the prepared files",
)
N = 26


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file such as the authors', of simulated patients."""
    path = tmp_path_factory.mktemp("irae") / "model_input.txt"
    simulate_irae(N, seed=5).to_csv(path, sep="\t")
    return path


@pytest.fixture(scope="module")
def small(file: Path) -> Figure4:
    return figure4(3, analyses=(), irae=file)


# ---- published numbers ----


@needs_data
def test_loocv_of_preterm_birth_is_the_papers() -> None:
    own = analysis("ptb")
    assert len(frequent_taxa(own.data)) == 34
    kept = stored("figure4").predictions.query(
        "analysis == 'ptb' and scheme == 'loocv'"
    )
    assert auroc(kept["observed"], kept["predicted"]) == pytest.approx(0.6921, abs=3e-4)
    x = own.data[frequent_taxa(own.data)].to_numpy() + 1e-6
    x, y = np.log(x) - np.log(x).mean(axis=1, keepdims=True), own.outcome
    for i in (0, 60, 134):
        rest = np.arange(135) != i
        fit = tuned_on_accuracy().fit(x[rest], y[rest])
        expected = fit.predict_proba(x[[i]])[0, 1]
        assert kept["predicted"].iloc[i] == pytest.approx(expected, abs=1e-6)


@needs_data
def test_loocv_of_xgboost_gives_every_published_prediction() -> None:
    """From version 3.4 on, XGBoost breaks a tie of one person another way."""
    kept = stored("figure4").predictions
    kept = kept.query("analysis == 'cfs_xgboost' and scheme == 'loocv'")
    published = fetch_cfs("predictions")["xgboost"]
    np.testing.assert_allclose(kept["predicted"], published, rtol=0, atol=1e-6)
    assert auroc(kept["observed"], kept["predicted"]) == 0.79625
    alone = one_run("cfs_xgboost", None, 1, 0).query("scheme == 'loocv'")
    apart = np.abs(alone["predicted"].to_numpy() - published.to_numpy()) > 1e-6
    newer = tuple(map(int, version("xgboost").split(".")[:2])) >= (3, 4)
    assert apart.sum() == (1 if newer else 0)


@needs_data
def test_tuned_logistic_regression_of_blood_tests() -> None:
    """Covariates are scaled in each training set, and the penalty chosen in it."""
    own = analysis("cfs_logistic")
    kept = stored("figure4").predictions
    kept = kept.query("analysis == 'cfs_logistic' and scheme == 'loocv'")["predicted"]
    x, y = own.data.drop(columns="cfs").to_numpy(), own.outcome
    assert x.shape == (80, 37)
    grid = np.logspace(-3, 3, 7)
    for i in (0, 41, 79):
        rest = np.arange(80) != i
        mean, sd = x[rest].mean(axis=0), x[rest].std(axis=0)
        z, label = (x[rest] - mean) / sd, y[rest]
        right = [
            cross_val_score(LogisticRegression(C=C, max_iter=10_000), z, label, cv=5)
            for C in grid
        ]
        chosen = grid[np.mean(right, axis=1).argmax()]
        fit = LogisticRegression(C=chosen, tol=1e-10, max_iter=10_000).fit(z, label)
        expected = fit.predict_proba((x[[i]] - mean) / sd)[0, 1]
        assert kept.iloc[i] == pytest.approx(expected, abs=2e-3)


def test_the_four_printed_p_values_combine_to_the_printed_one(small: Figure4) -> None:
    last = small.tests().iloc[-1]
    assert last["analysis"] == "Fisher, four printed"
    assert last["p"] == pytest.approx(0.01498, abs=5e-6)
    assert round(last["p"], 3) == last["paper"]


# ---- the data that are not public ----


def test_values_are_capped_at_what_training_rows_have() -> None:
    x = np.array([0.01, 0.03, 0.2, 0.07])
    assert capped(x, 0.1).tolist() == [0.01, 0.03, 0.07, 0.07]
    with pytest.raises(FormulaError, match="no training value is below"):
        capped(x, 0.001)
    data = simulate_irae(seed=4)
    own = "Activated_CD4_memory_T_CSx"
    highest = data[own].where(data[own] < 0.1).idxmax()
    assert (data[own] > 0.1).sum() > 1
    from statcv.formula import make_design

    design = make_design(IRAE_FORMULA, data, scope={"capped": capped})
    out = data.index.get_loc(highest)
    rest = np.setdiff1d(np.arange(len(data)), [out])
    fitted, held_out = design.fold(rest, np.array([out]))
    second = data[own].drop(highest).where(data[own] < 0.1).max()
    assert fitted[:, 1].max() == held_out[0, 1] == second < data.loc[highest, own]


def test_the_stand_in_has_the_shape_of_the_data() -> None:
    data = analysis("stand_in").data
    assert data.shape == (53, 3)
    assert set(data["Severe_irAE"]) == {0, 1}
    assert data["Activated_CD4_memory_T_CSx"].between(0, 1).all()


def test_the_authors_file_is_analysed_as_the_paper_does(
    file: Path, small: Figure4
) -> None:
    own = analysis("irae", file)
    assert_frame_equal(own.data, simulate_irae(N, seed=5))
    assert own.formula == IRAE_FORMULA
    tests = small.tests().set_index("analysis")
    assert tests.loc["irae", "paper"] == pytest.approx(0.03233, abs=1e-5)
    assert tests.index.tolist() == ["irae", "Fisher, 1 here", "Fisher, four printed"]
    assert tests.loc["Fisher, 1 here", "p"] == pytest.approx(tests.loc["irae", "p"])
    assert small.table["paper"].tolist()[:2] == [0.817, 0.833]


# ---- Figure 4 ----


def test_estimates_are_those_of_the_predictions(file: Path, small: Figure4) -> None:
    table = small.predictions
    y = analysis("irae", file).outcome
    loocv = table[table["scheme"] == "loocv"]
    assert loocv["run"].unique().tolist() == [1]  # nothing is drawn
    aurocs = small.aurocs.set_index(["estimate", "run"])["auroc"].sort_index()
    assert aurocs["LOOCV, pooled", 1] == roc_auc_score(y, loocv["predicted"])
    for number in (1, 2, 3):
        own = table[(table["scheme"] == "rloocv") & (table["run"] == number)]
        assert own["row"].tolist() == list(range(N))
        assert (own["observed"].to_numpy() == y).all()
        assert (y[own["partner"]] != y).all()
        pooled = roc_auc_score(y, own["predicted"])
        assert aurocs["RLOOCV, pooled", number] == pytest.approx(pooled)
        above = own["predicted"] > own["predicted_partner"]
        assert aurocs["RLOOCV, paired", number] == pytest.approx((above == y).mean())
    summary = small.table.set_index("estimate")
    pooled = aurocs["RLOOCV, pooled"].to_numpy()
    assert summary.loc["RLOOCV, pooled", "median"] == np.median(pooled)
    assert summary.loc["RLOOCV, pooled", "sd"] == pytest.approx(pooled.std(ddof=1))
    assert summary.loc["LOOCV, pooled", ["sd", "median_se"]].tolist() == [0, 0]
    assert summary["runs"].tolist() == [1, 3, 3, 1]


def test_the_pairs_of_a_record_are_those_of_refits(file: Path, small: Figure4) -> None:
    own = analysis("irae", file)
    y = own.outcome
    pairs = pairs_of("irae", file, 1, 2)
    positive = np.flatnonzero(y == 1)[2]
    assert (pairs["row"] == positive).all()
    assert (pairs["partner"] == np.flatnonzero(y == 0)).all()
    for pair in pairs.iloc[::3].itertuples():
        rest = np.setdiff1d(np.arange(N), [pair.row, pair.partner])
        cd4, diversity = own.data.to_numpy()[:, 1:].T
        cd4 = np.minimum(cd4, cd4[rest][cd4[rest] < 0.1].max())
        x = sm.add_constant(np.column_stack([cd4, diversity]))
        fit = sm.Logit(y[rest], x[rest]).fit(disp=0, tol=1e-10, maxiter=100)
        both = fit.predict(x[[pair.row, pair.partner]])
        found = [pair.predicted, pair.predicted_partner]
        np.testing.assert_allclose(found, both, atol=1e-8)
    every = small.predictions.query("scheme == 'leave_pair_out'").set_index("row")
    won = (pairs["predicted"] > pairs["predicted_partner"]).mean()
    assert every.loc[positive, "predicted"] == pytest.approx(won)
    value = small.aurocs.set_index("estimate")["auroc"]["leave-pair-out"]
    for label in (0, 1):  # the share of pairs, from either side
        share = every.loc[every["observed"] == label, "predicted"].mean()
        assert value == pytest.approx(share if label else 1 - share)


def test_shares_won_count_ties_half() -> None:
    pairs = pd.DataFrame(
        {
            "row": [0, 0, 1, 1],
            "partner": [2, 3, 2, 3],
            "predicted": [0.9, 0.2, 0.5, 0.5],
            "predicted_partner": [0.1, 0.3, 0.5, 0.4],
        }
    )
    found = shares_won(pairs).set_index("row")
    assert found["predicted"].tolist() == [0.5, 0.75, 0.25, 0.5]
    assert found["observed"].tolist() == [1, 1, 0, 0]


def test_runs_go_on_and_do_not_depend_on_jobs(
    file: Path, small: Figure4, tmp_path: Path
) -> None:
    given = {"analyses": (), "irae": file, "pairs": False}
    figure4(1, directory=tmp_path, **given)
    more = figure4(3, directory=tmp_path, n_jobs=2, **given)
    own = small.predictions.query("scheme != 'leave_pair_out'")
    assert_frame_equal(more.predictions, own)
    other = figure4(1, seed=2, **given).predictions
    first = own.query("run == 1").reset_index(drop=True)
    assert (other["partner"] != first["partner"]).any()


@needs_data
def test_tests_are_of_averaged_predictions() -> None:
    found = figure4(2, analyses=("cfs_xgboost",), pairs=False)
    table = found.predictions
    y = analysis("cfs_xgboost").outcome
    first, second = (
        table[table["scheme"] == scheme].groupby("row")["predicted"].mean().to_numpy()
        for scheme in ("loocv", "rloocv")
    )
    row = found.tests().iloc[0]
    expected = roc_auc_score(y, second) - roc_auc_score(y, first)
    assert row["difference"] == pytest.approx(expected)
    assert row["lowest"] <= row["highest"]
    p = _delong(y, first, second)
    assert row["p"] == pytest.approx(p, abs=1e-10)


def _delong(y: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Return the p-value by the definition, pair by pair."""
    wins = [np.sign(s[y == 1][:, None] - s[y == 0][None, :]) / 2 + 0.5 for s in (a, b)]
    gap = wins[1] - wins[0]
    variance = (
        gap.mean(axis=1).var(ddof=1) / gap.shape[0]
        + gap.mean(axis=0).var(ddof=1) / gap.shape[1]
    )
    return float(2 * norm.sf(abs(gap.mean()) / np.sqrt(variance)))


def test_the_figure_is_drawn(small: Figure4) -> None:
    (ax,) = small.plot()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    medians = small.table.set_index("estimate")["median"]
    assert texts == [
        f"LOOCV: auROC {medians['LOOCV, pooled']:.3f}",
        f"RLOOCV: median auROC {medians['RLOOCV, pooled']:.3f}",
        f"leave-pair-out: {medians['leave-pair-out']:.3f}",
    ]
    x, height = ax.lines[-1].get_data()
    area = (np.diff(x) * (height[1:] + height[:-1]) / 2).sum()
    assert area == pytest.approx(medians["leave-pair-out"], abs=0.01)
    with pytest.raises(ArgumentError, match="analyses are some of irae"):
        small.plot(["ptb"])
    plt.close("all")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"analyses": ("pbt",)}, "no analysis 'pbt'. Did you mean 'ptb'"),
        ({"analyses": ("irae",)}, "needs the authors' file"),
        ({"analyses": "pbt"}, "no analysis 'pbt'. Did you mean 'ptb'"),
        ({"analyses": ()}, "analyses are some of ptb.*give at least one"),
        ({"analyses": ("stand_in",), "runs": 0}, "must be 1 or more"),
    ],
)
def test_what_cannot_be_analysed(given: dict, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        figure4(pairs=False, **given)


# ---- paths ----


def test_the_true_auroc_is_that_of_many_records() -> None:
    rng = np.random.default_rng(1)
    for name, best in zip(SAMPLES, (0.5, 0.75, 0.75), strict=True):
        own = population(name)
        optimal = np.linalg.solve(own.covariance, own.shift)
        assert own.auroc(optimal) == pytest.approx(best)
        table = own.draw(100_000, rng)
        score = rng.normal(size=5)
        found = auroc(table["y"], table.drop(columns="y").to_numpy() @ score)
        assert own.auroc(score) == pytest.approx(found, abs=0.006)
    assert population("spread").auroc(np.zeros(5)) == 0.5


@pytest.fixture(scope="module")
def paths() -> TuningPaths:
    data = ["noise", "correlated"]
    return tuning_paths(data, data_sets=2, penalties=(1e-6, 1e-2, 1.0))


def test_loocv_collapses_where_the_penalty_is_strong(paths: TuningPaths) -> None:
    told = paths.paths().set_index(["data", "estimate", "C"])["auroc"]
    for data in ("noise", "correlated"):
        assert told[data, "LOOCV, pooled", 1e-6] == 0
        for estimate in ("RLOOCV, pooled", "RLOOCV, paired", "leave-pair-out"):
            assert told[data, estimate, 1e-6] > 0.3
    assert (
        paths.table.query("data == 'noise' and estimate == 'truth'").auroc == 0.5
    ).all()


def test_later_runs_have_only_what_is_drawn() -> None:
    found = path_of_draw("stand_in", None, (0.01,), 1, 1)
    assert found["estimate"].tolist() == ["RLOOCV, pooled", "RLOOCV, paired"]
    own = analysis("stand_in")
    at = replace(
        own,
        formula="Severe_irAE ~ scale(capped(Activated_CD4_memory_T_CSx, 0.1)) + "
        "scale(TCR_clonotype_diversity_ShannonEntropy)",
        model=Logit(C=0.01),
    )
    result = at.cross_validate("rloocv", seed_of(1, 1))
    expected = [result.estimate("auroc", how=how).value for how in ("pooled", "paired")]
    assert found["auroc"].tolist() == expected


def test_an_estimate_along_the_path_is_that_of_scikit_learn(paths: TuningPaths) -> None:
    data = population("correlated").draw(50, np.random.default_rng(seed_of(1, 1)))
    x, y = data.drop(columns="y").to_numpy(), data["y"].to_numpy()
    fit = LogisticRegression(C=0.01, tol=1e-10, max_iter=1000)
    score = [
        fit.fit(np.delete(x, i, axis=0), np.delete(y, i)).decision_function(x[[i]])[0]
        for i in range(50)
    ]
    own = paths.table.set_index(["data", "number", "C", "estimate"])["auroc"]
    found = own["correlated", 2, 0.01, "LOOCV, pooled"]
    assert found == pytest.approx(roc_auc_score(y, score), abs=0.002)
    truth = population("correlated").auroc(fit.fit(x, y).coef_[0])
    assert own["correlated", 2, 0.01, "truth"] == pytest.approx(truth, abs=1e-5)


def made(rows: list[tuple[str, int, float, str, float]]) -> TuningPaths:
    columns = ["data", "number", "C", "estimate", "auroc"]
    return TuningPaths(pd.DataFrame(rows, columns=columns))


def test_what_is_chosen_and_what_it_costs() -> None:
    rows = []
    for C, one, two, truth in (
        (0.1, 0.6, 0.5, 0.7),
        (1, 0.7, 0.8, 0.65),
        (10, 0.7, 0.8, 0.6),
    ):
        for number, value in ((1, one), (2, two)):
            rows.append(("noise", number, C, "LOOCV, pooled", value))
            rows.append(("noise", number, C, "truth", truth))
    found = made(rows).chosen().set_index("estimate")
    own = found.loc["LOOCV, pooled"]
    assert own["auroc"] == pytest.approx(0.75)
    assert (own["strongest"], own["weakest"]) == (pytest.approx(1), pytest.approx(10))
    # value of the stronger penalty of two equal ones
    assert own["truth"] == pytest.approx(0.65)
    assert own["lost"] == pytest.approx(0.05)
    assert own["lost_se"] == 0
    assert found.loc["truth", "lost"] == 0


def test_published_data_choose_by_the_median(paths: TuningPaths) -> None:
    rows = []
    for C, values in ((0.1, (0.6, 0.62, 0.9)), (1.0, (0.7, 0.65, 0.1))):
        for number, value in enumerate(values, start=1):
            rows.append(("ptb", number, C, "RLOOCV, pooled", value))
    own = made(rows)
    told = own.paths().set_index("C")["auroc"]
    assert told.to_dict() == {0.1: 0.62, 1.0: 0.65}
    assert own.chosen()["strongest"].item() == 1.0


def test_the_test_over_settings_is_wilcoxons() -> None:
    rng = np.random.default_rng(2)
    Cs = 10.0 ** np.arange(-6, 7)
    gap = np.abs(rng.normal(size=13)) / 10
    rows = [("ptb", 1, C, "LOOCV, pooled", 0.5) for C in Cs]
    rows += [
        ("ptb", 1, C, "RLOOCV, pooled", 0.5 + one)
        for C, one in zip(Cs, gap, strict=True)
    ]
    own = made(rows).tests().iloc[0]
    assert (own["settings"], own["higher"]) == (13, 13)
    assert own["p"] == pytest.approx(wilcoxon(gap).pvalue)
    assert own["p"] == pytest.approx(2 / 2**13)


def test_paths_are_drawn_and_go_on(paths: TuningPaths, tmp_path: Path) -> None:
    ax = paths.plot("correlated")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "LOOCV, pooled",
        "RLOOCV, pooled",
        "RLOOCV, paired",
        "leave-pair-out",
        "truth",
        "± 2 Monte Carlo standard errors",
    ]
    assert ax.lines[1].get_xdata().tolist() == [1e6, 100.0, 1.0]
    with pytest.raises(ArgumentError, match="data is one of noise"):
        paths.plot("nose")
    plt.close("all")
    settings = {"data": ["noise"], "penalties": (1e-2, 1.0), "directory": tmp_path}
    tuning_paths(data_sets=1, **settings)
    again = tuning_paths(data_sets=2, **settings).table
    own = paths.table.query("data == 'noise' and C > 1e-3").reset_index(drop=True)
    assert_frame_equal(again, own)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"data": ["nose"]}, "no data 'nose'. Did you mean 'noise'"),
        ({"data": ["noise"], "penalties": (1.0,)}, "two numbers above 0"),
        ({"data": ["noise"], "penalties": (1.0, -1.0)}, "two numbers above 0"),
        ({"data": ["noise"], "runs": 0}, "must be 1 or more"),
    ],
)
def test_paths_that_cannot_be_had(given: dict, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        tuning_paths(**given)


# ---- tables ----


def test_tables_come_back_as_they_were_written(
    small: Figure4, paths: TuningPaths, tmp_path: Path
) -> None:
    PAPER.write("figure4", small.predictions, tmp_path)
    PAPER.write("tuning_published", paths.table, tmp_path)
    again = stored("figure4", tmp_path)
    assert_frame_equal(again.table, small.table, rtol=1e-5)
    index = ["data", "number", "C", "estimate"]
    read = stored("tuning_published", tmp_path)
    found, expected = (one.table.set_index(index).sort_index() for one in (read, paths))
    assert_frame_equal(found, expected)
    assert_frame_equal(read.chosen(), paths.chosen(), rtol=1e-3)
    with pytest.raises(DataError, match=f"no {PAPER.file('figure4_draws')}; python -m"):
        paper_and_ours(tmp_path)
    with pytest.raises(ArgumentError, match="Did you mean 'figure4'"):
        stored("figure_4")


def test_what_ships_is_at_full_scale() -> None:
    figure = stored("figure4")
    runs = figure.table.set_index(["analysis", "estimate"])["runs"]
    for name in ANALYSES:
        assert runs[name, "RLOOCV, pooled"] == PAPER.tables["figure4"].count
        assert runs[name, "leave-pair-out"] == 1
    told = figure.table.set_index(["analysis", "estimate"])["median"]
    assert told["ptb", "LOOCV, pooled"] == pytest.approx(0.6921, abs=0.0003)
    assert told["cfs_xgboost", "LOOCV, pooled"] == 0.79625
    assert told["cfs_boosting", "LOOCV, pooled"] == pytest.approx(0.818, abs=0.01)
    assert told["cfs_boosting", "RLOOCV, pooled"] == pytest.approx(0.824, abs=0.01)
    assert told["ptb", "RLOOCV, pooled"] == pytest.approx(0.698, abs=0.004)
    draws = stored("figure4_draws").query("estimate == 'RLOOCV, pooled'")
    many = draws.groupby("analysis")["auroc"].median()
    assert many["cfs_xgboost"] == pytest.approx(0.8166, abs=0.01)
    samples = stored("tuning_samples").table
    assert samples["number"].max() == PAPER.tables["tuning_samples"].count
    assert set(samples["data"]) == set(SAMPLES)


def test_the_paper_beside_ours() -> None:
    numbers = paper_and_ours().set_index(["part", "quantity"])
    assert numbers.index.is_unique
    printed = numbers[numbers["paper"] != ""]
    missing = printed.index[printed["ours"].isna()]
    assert len(missing) == 2 + 1 + 7
    assert all("adverse events" in "".join(key) or "irae" in key[0] for key in missing)
    for key, paper, within in [
        (
            ("Figure 4, preterm birth, tuned logistic regression", "LOOCV, pooled"),
            0.692,
            5e-4,
        ),
        (("Figure 4, chronic fatigue, XGBoost", "LOOCV, pooled"), 0.796, 5e-4),
        (("Figure 4, chronic fatigue, XGBoost", "RLOOCV, pooled, median"), 0.817, 0.02),
        (("Figure 4, tests", "p, Fisher, four printed"), 0.015, 5e-4),
    ]:
        row = printed.loc[key]
        assert float(row["paper"]) == paper
        assert row["ours"] == pytest.approx(paper, abs=within)
    drawn = numbers[numbers.index.get_level_values(1).str.contains("RLOOCV")]
    estimates = drawn[drawn.index.get_level_values(1).str.contains("auROC|pooled, m")]
    assert (estimates["se"].dropna() > 0).all()
    assert estimates["se"].notna().sum() >= 8 + 3


def test_the_authors_file_fills_the_table(
    file: Path, small: Figure4, paths: TuningPaths, tmp_path: Path
) -> None:
    own = tuning_paths("irae", runs=2, irae=file, penalties=(0.01, 1.0))
    PAPER.write("figure4", small.predictions, tmp_path)
    PAPER.write("figure4_draws", small.aurocs, tmp_path)
    PAPER.write("tuning_published", own.table, tmp_path)
    numbers = paper_and_ours(tmp_path)
    irae = numbers[numbers["part"].str.contains("irae|adverse")]
    assert irae["ours"].notna().all()
    p = numbers[numbers["quantity"].str.startswith("DeLong p, adverse")]
    assert (p["paper"] == "0.0323").all()
    assert p["ours"].notna().all()


def test_patients_that_lack_a_covariate_are_left_out_and_counted(
    tmp_path: Path,
) -> None:
    data = simulate_irae(N, seed=5)
    data.iloc[3, 1] = np.nan
    path = tmp_path / "model_input.txt"
    data.to_csv(path, sep="\t")
    with pytest.warns(MissingDataWarning, match="1 of 26 patients.*simulated 4"):
        found = figure4(1, analyses=(), irae=path)
    assert found.predictions["row"].max() == N - 2
