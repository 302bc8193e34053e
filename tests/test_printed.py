"""Everything that a public call returns prints as a statistician would write it.

Every public function and member is found by its annotation. One that returns a frame
or a series is in ``FRAMES``, and of each class that one returns there is an object in
``OBJECTS``; a new one has to be added to them.
"""

import inspect
import pickle
import pkgutil
import re
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import folds, inference, metrics, sites
from statcv.datasets import Inexact, Pseudonyms
from statcv.tables import Table, Values
from statcv.verbs.plan_precision import riley_table

ROOMS = (
    *("", ".datasets", ".errors", ".folds", ".inference", ".metrics", ".models"),
    *(".plots", ".sites", ".folds.sklearn"),
)

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")

# ---- what is printed ----


@cache
def made() -> SimpleNamespace:
    """Results from which all that is printed can be asked for."""
    data = scv.load_data("spector")
    data["site"] = np.where(np.arange(32) % 3, "north", "south")
    res = scv.cv("GRADE ~ GPA + TUCE + PSI", data, k=4, seed=1)
    ridge = scv.models.Logit(C=1.0)
    tuned = scv.cv("GRADE ~ GPA", data, model=ridge, tune={"C": [1, 10]}, k=4, seed=1)
    less = res.update(". ~ . - PSI")
    ehr = scv.load_data("ehr")
    at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}
    plan, transport = sites.agree("y ~ x1 + x2", seed=1), sites.InProcess()
    return SimpleNamespace(
        data=data,
        res=res,
        tuned=tuned,
        chosen=scv.cv(res.design.formula.text, data, select="both", k=4, seed=1),
        r=scv.cv("GRADE ~ GPA", data, scheme="rloocv", repeats=2, seed=1),
        boosted=scv.cv(
            "GRADE ~ GPA",
            data,
            model=scv.models.XGBoost(n_estimators=3, curves=True),
            k=2,
            seed=1,
        ),
        boot=scv.cv("GRADE ~ GPA", data, scheme="bootstrap", repeats=20, seed=1),
        several=scv.cv("site ~ GPA + TUCE", several(), k=3, seed=1),
        number=scv.cv("GPA ~ TUCE", data, k=4, seed=1),
        wide=scv.cv("y ~ .", many(), model=ridge, k=3, seed=1),
        long=scv.cv("y ~ x1 + x2", ehr, k=5, model="logit", seed=1),
        both=scv.compare(full=res, less=less),
        bias=scv.stratifier_bias("y ~ x3 + x10", ehr[:400], ["x3", "x10"], seed=1),
        over=scv.compare_settings(loocv=[0.7, 0.6, 0.8], rloocv=[0.74, 0.66, 0.79]),
        meta=scv.meta_analysis(a=0.04, b=0.10, c=0.30),
        pooled=scv.pool(res, res.update(data=moved(data))),
        planned=scv.plan_precision(n=30, p=1, prevalence=0.4, c=0.8, n_sim=20, seed=1),
        at=at,
        agreed=plan,
        transport=transport,
        run=sites.run(plan, at, transport),
        audit=res.plan.audit(data["GRADE"], data=data, duplicates=["TUCE"]),
    )


def moved(data) -> pd.DataFrame:
    return data.assign(GPA=data["GPA"].where(data.index % 5 > 0, 3.0))


def several() -> pd.DataFrame:
    data = scv.load_data("spector")
    return data.assign(site=np.array(["a", "b", "c"])[np.arange(32) % 3])


def many() -> pd.DataFrame:
    x = np.random.default_rng(1).normal(size=(60, 600))
    names = [f"expression of gene {i}" for i in range(600)]
    return pd.DataFrame(x, columns=names).assign(y=np.arange(60) % 2)


Y, A, B = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
RISKS = np.linspace(0.02, 0.97, 60)
CASES = (np.sin(np.arange(60) * 7.0) / 2 + 0.5 < RISKS).astype(int)

FRAMES = {
    "available_data": lambda m: scv.available_data(),
    "Audit.rows": lambda m: m.audit.rows("duplicates"),
    "Audit.to_frame": lambda m: m.audit.to_frame(),
    "CVResult.apparent": lambda m: m.res.apparent,
    "CVResult.augment": lambda m: m.res.augment(),
    "CVResult.coefficients": lambda m: m.res.coefficients,
    "CVResult.compare_groups": lambda m: m.res.compare_groups(by="site"),
    "CVResult.folds": lambda m: m.res.folds,
    "CVResult.glance": lambda m: m.res.glance(),
    "CVResult.learning_curves": lambda m: m.boosted.learning_curves,
    "CVResult.metrics": lambda m: m.res.metrics(),
    "CVResult.no_skill": lambda m: m.res.no_skill,
    "CVResult.null_distribution": lambda m: m.res.null_distribution(times=9),
    "CVResult.optimism": lambda m: m.res.optimism,
    "CVResult.pairs": lambda m: m.r.pairs,
    "CVResult.predict": lambda m: m.res.predict(),
    "CVResult.predictions": lambda m: m.res.predictions,
    "SelectionTable.models": lambda m: m.chosen.selection.models,
    "SelectionTable.pairs": lambda m: m.chosen.selection.pairs,
    "CVResult.tidy": lambda m: m.res.tidy(),
    "CVResult.tuned": lambda m: m.tuned.tuned,
    "CVResult.tuning_path": lambda m: m.tuned.tuning_path,
    "Combination.combined": lambda m: m.meta.combined,
    "Comparison.differences": lambda m: m.both.differences,
    "Comparison.table": lambda m: m.both.table,
    "ClusteredCalibration.to_frame": lambda m: m.r.clustered_calibration(
        by="site"
    ).to_frame(),
    "CorrectedCalibration.to_frame": lambda m: calibrated(m).to_frame(),
    "Drop1.table": lambda m: m.res.drop1("brier").table,
    "FoldPlan.assign": lambda m: hashed().assign(scv.load_data("ehr")),
    "FoldPlan.to_frame": lambda m: m.res.plan.to_frame(),
    "PrecisionPlan.riley": lambda m: riley_table([221, 141, 246, 246], 0.2, 0.9),
    "PrecisionPlan.table": lambda m: m.planned.table,
    "Pooled.metrics": lambda m: m.pooled.metrics(),
    "Pooled.tidy": lambda m: m.pooled.tidy(),
    "PointScore.cost": lambda m: points(m).cost(),
    "PointScore.predict": lambda m: points(m).predict(m.data),
    "PointScore.risks": lambda m: points(m).risks,
    "PointScore.table": lambda m: points(m).table,
    "PointScore.total": lambda m: points(m).total(m.data),
    "UpdatedModel.nomogram": lambda m: updated(m).nomogram(
        values={"GPA": [2, 3, 4], "PSI": [0, 1], "TUCE": [20, 25]}
    ),
    "UpdatedModel.predict": lambda m: updated(m).predict(m.data),
    "UpdatedModel.tests": lambda m: updated(m).tests,
    "UpdatedModel.weights": lambda m: stacked(m).weights,
    "WrittenModel.nomogram": lambda m: m.res.final.shrunk(0.9).nomogram(),
    "WrittenModel.predict": lambda m: m.res.final.shrunk(0.9).predict(m.data),
    "FullModel.coefficients": lambda m: m.res.model.coefficients,
    "FullModel.nomogram": lambda m: m.res.final.nomogram(),
    "FullModel.predict": lambda m: m.res.model.predict(m.data),
    "OptimismTable.to_frame": lambda m: optimism(m).to_frame(),
    "Stability.curves": lambda m: stable(m).curves("decision"),
    "Stability.overall": lambda m: stable(m).overall,
    "Stability.predict": lambda m: stable(m).predict(m.data),
    "Stability.table": lambda m: stable(m).table,
    "SitesResult.by_site": lambda m: m.run.by_site(),
    "SitesResult.calibration": lambda m: m.run.calibration,
    "SitesResult.coefficients": lambda m: m.run.coefficients,
    "SitesResult.folds": lambda m: m.run.folds,
    "SitesResult.metrics": lambda m: m.run.metrics(),
    "SitesResult.model": lambda m: m.run.model,
    "SitesResult.net_benefit": lambda m: m.run.net_benefit,
    "SitesResult.predict": lambda m: m.run.predict(m.at["A"]),
    "SitesResult.roc": lambda m: m.run.roc,
    "SitesResult.sites": lambda m: m.run.sites,
    "sites.disclosure_sheet": lambda m: sites.disclosure_sheet(m.agreed),
    "sites.test_vectors": lambda m: sites.test_vectors(),
    # fields of objects
    "AgreedThresholds.table": lambda m: agreed_thresholds(m).table,
    "Combination.table": lambda m: m.meta.table,
    "Finding.table": lambda m: m.audit["duplicates"].table,
    "SettingsComparison.table": lambda m: m.over.table,
    "SharedPatients.table": lambda m: shared().table,
    "SharedPatients.sites": lambda m: shared().sites,
    "StratifierBias.ranking": lambda m: m.bias.ranking,
    "StratifierBias.measured": lambda m: m.bias.measured,
    # other outcomes, schemes and sizes
    "several classes: metrics": lambda m: m.several.metrics(),
    "several classes: predictions": lambda m: m.several.predictions,
    "several classes: predict": lambda m: m.several.predict(),
    "a number: metrics": lambda m: m.number.metrics(),
    "a number: augment": lambda m: m.number.augment(),
    "bootstrap: metrics": lambda m: m.boot.metrics(),
    "600 predictors: coefficients": lambda m: m.wide.coefficients,
    "600 predictors: augment": lambda m: m.wide.augment(),
    "2000 records: predictions": lambda m: m.long.predictions,
    "groups: metrics": lambda m: m.res.metrics(by="site"),
    "rebalanced: folds": lambda m: m.r.folds,
    "rebalanced: plan": lambda m: m.r.plan.to_frame(),
}

# Frames of the data themselves, which are as pandas reads them.
DATA = {
    *("fetch_cfs", "fetch_ptb", "load_data", "load_irae", "read_table"),
    *("simulate_ehr", "EhrPopulation.draw"),
}
# Frames of text from which a summary is made.
TEXT = {
    "PaperTable.cells",
    "OptimismTable.shown",
    "FullModel.labelled",
    "models.tuning.chosen_table",
}

OBJECTS = {
    "AgreedThresholds": lambda m: agreed_thresholds(m),
    "Audit": lambda m: m.audit,
    "Bootstrap632": lambda m: inference.Bootstrap632(0.1, 0.2, 0.5, False),
    "BrierParts": lambda m: metrics.brier_parts(CASES, RISKS),
    "ByHash": lambda m: scv.by_hash("id", key="secret"),
    "ByQuantile": lambda m: scv.by_quantile("age"),
    "ByValue": lambda m: scv.by_value("site"),
    "CVResult": lambda m: m.res,
    "SelectionTable": lambda m: m.chosen.selection,
    "Calibration": lambda m: metrics.calibration(CASES, RISKS),
    "CalibrationCurve": lambda m: metrics.calibration_curve(CASES, RISKS),
    "CalibrationGroups": lambda m: metrics.calibration_groups(CASES, RISKS),
    "Call": lambda m: m.res.call,
    "ClusteredCalibration": lambda m: m.r.clustered_calibration(by="site"),
    "Combination": lambda m: m.meta,
    "CombinedP": lambda m: m.meta.tests[0],
    "CompareCall": lambda m: m.both.asked,
    "Comparison": lambda m: m.both,
    "Contrasts": lambda m: m.both.contrasts,
    "Coordinator": lambda m: m.run.run,
    "CorrectedCalibration": lambda m: calibrated(m),
    "CurveBand": lambda m: metrics.roc_band(CASES, RISKS, seed=1),
    "DecisionCurve": lambda m: metrics.net_benefit(CASES, RISKS, [0.1, 0.2, 0.3]),
    "DeLong": lambda m: metrics.delong(CASES, RISKS),
    "DeLongContrast": lambda m: metrics.delong_contrast(Y, [A, B]),
    "DeLongTest": lambda m: metrics.delong_test(Y, A, B),
    "Deletions": lambda m: folds.delete_records(m.res.plan, [np.array([0])], seed=1),
    "Design": lambda m: m.res.design,
    "Drop1": lambda m: m.res.drop1("brier"),
    "EhrPopulation": lambda m: scv.datasets.ehr_population(),
    "Entry": lambda m: m.transport.sites["A"].entries[0],
    "Equation": lambda m: m.res.final.equation(),
    "Estimate": lambda m: m.res.estimate(),
    "Finding": lambda m: m.audit["duplicates"],
    "FoldPlan": lambda m: m.res.plan,
    "FullModel": lambda m: m.res.model,
    "HTest": lambda m: m.res.test(),
    "Held": lambda m: m.res.held,
    "Interval": lambda m: m.res.estimate().interval,
    "IntervalMethod": lambda m: inference.INTERVALS["delong"],
    "Jackknife": lambda m: m.res.jackknife("brier"),
    "Ledger": lambda m: sites.Ledger(),
    "LikelihoodRatio": lambda m: m.both.likelihood_ratios[0],
    "Message": lambda m: sites.Message.of(m.transport.sites["A"].entries[0].sent),
    "Metric": lambda m: metrics.get_metric("auroc"),
    "MonteCarlo": lambda m: m.r.monte_carlo(),
    "NoSkill": lambda m: m.res.without_predictors[0],
    "NullBias": lambda m: m.res.null_bias(n_permutations=5),
    "OptimismCorrected": lambda m: optimism(m)["auroc"],
    "OptimismTable": lambda m: optimism(m),
    "Optimum": lambda m: scv.datasets.optimal_accuracy(n=100, seed=1),
    "PaperTable": lambda m: scv.table(m.res),
    "PointScore": lambda m: points(m),
    "Pooled": lambda m: m.pooled,
    "PooledComparison": lambda m: pooled_comparison(m),
    "PrecisionPlan": lambda m: m.planned,
    "PooledContrasts": lambda m: pooled_comparison(m).contrasts,
    "PairedMethod": lambda m: m.both.method,
    "PairedRoc": lambda m: metrics.paired_roc([1, 1, 2, 2], [3, 4, 3, 4], [1, 1, 0, 1]),
    "PrCurve": lambda m: metrics.pr_curve(CASES, RISKS),
    "RandomEffects": lambda m: m.long.update(data=grouped()).heterogeneity(by="g"),
    "RocCurve": lambda m: metrics.roc_curve(CASES, RISKS),
    "Response": lambda m: m.res.plan.response,
    "Scheme": lambda m: folds.SCHEMES["rloocv"],
    "Setting": lambda m: m.bias.setting,
    "SettingsComparison": lambda m: m.over,
    "SharedPatients": lambda m: shared(),
    "SignedRank": lambda m: m.over.test,
    "Site": lambda m: m.transport.sites["A"],
    "SitesPlan": lambda m: m.agreed,
    "SitesResult": lambda m: m.run,
    "SpiegelhalterTest": lambda m: metrics.spiegelhalter_test(CASES, RISKS),
    "Strata": lambda m: hashed().strata,
    "Stability": lambda m: stable(m),
    "StratifierBias": lambda m: m.bias,
    "Summary": lambda m: m.res.summary(),
    "TunedFit": lambda m: m.tuned.refits.all_rows,
    "Verified": lambda m: sites.verify(
        m.agreed, m.transport.sites["A"].entries, m.at["A"], "A"
    ),
    "UpdatedModel": lambda m: updated(m),
    "WrittenModel": lambda m: m.res.final.shrunk(0.9),
}


def pooled_comparison(m):
    less = scv.pool(one.update(". ~ . - PSI") for one in m.pooled.imputations)
    return scv.compare(full=m.pooled, less=less)


def updated(m):
    return m.res.final.update(m.data.iloc[1:])


def stacked(m):
    less = m.both.results["less"].final
    return scv.stack({"full": m.res.final, "less": less}, m.data)


def points(m):
    return m.res.final.points({"GPA": 0.5})


def calibrated(m):
    return m.long.corrected_calibration(n_boot=20, seed=1)


def stable(m):
    return m.res.stability(n_boot=20, threshold=0.4, by="site")


@cache
def corrected():
    return made().res.optimism_corrected(["auroc", "brier"], n_boot=20, seed=1)


def optimism(m):
    return corrected()


def grouped() -> pd.DataFrame:
    return scv.load_data("ehr").assign(g=np.arange(2000) % 4)


@cache
def hashed():
    cut = scv.by_hash("patient_id", key="secret")
    return scv.fold_plan(data=scv.load_data("ehr"), k=5, stratify=cut)


def agreed_thresholds(m):
    return sites.thresholds(m.at, "x1", low=-8, high=8, k=4)


@cache
def shared():
    at = {
        "A": pd.DataFrame({"id": range(12_000)}),
        "B": pd.DataFrame({"id": range(8_000, 20_000)}),
    }
    return sites.shared_patients(at, "id", key="secret", tables=4)


# ---- how it is printed ----

CONSTRUCTED = {"ByHash", "ByQuantile", "ByValue"}  # print as the call of a class
ARGUMENTS = {
    "Bags(count=50)": folds.Bags(50),
    "Inexact(missing=0.1)": Inexact(missing=0.1),
    "Linear()": scv.models.Linear(),
    "Logit()": scv.models.Logit(),
    "Logit(C=1.0)": scv.models.Logit(C=1.0),
    "Mean()": scv.models.Mean(),
    "Neighbors(k=3)": scv.models.Neighbors(k=3),
    "Pseudonyms()": Pseudonyms(),
    "Trees(cuts={})": sites.Trees(),
    "Tuning(grid={'C': (1, 10)})": scv.Tuning({"C": [1, 10]}),
    "NVFlare('run')": sites.NVFlare("run"),
    "Sites in this process: none yet": sites.InProcess(),
}
REPR = re.compile(r"\b(?!Logit)[A-Z]\w*\(\w+=")  # notes advise Logit(C=1.0)


def faults(text: str, width: float = 80) -> list[str]:
    """Return what a statistician would not have written."""
    found = [f"long line: {line}" for line in text.splitlines() if len(line) > width]
    found += ["..."] * ("..." in text) + ["repr of a class"] * bool(REPR.search(text))
    found += ["NaN"] * bool(re.search(r"\bnan\b", text, re.IGNORECASE))
    found += ["an address"] * (" at 0x" in text)
    return found if text.strip() else ["nothing"]


@pytest.mark.parametrize("name", FRAMES)
def test_frames_print_as_tables_with_a_caption(name):
    table = FRAMES[name](made())
    for text in (str(table), repr(table)):
        assert not faults(text)
        assert text.startswith(table._view.caption[:60])
    html = table._repr_html_()
    assert not faults(re.sub(r"<[^>]*>", "\n", html), np.inf)
    assert re.search(r"<caption[^>]*>[^<]+</caption>", html)
    assert isinstance(table, (Table, Values))


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_print_in_words(name):
    thing = OBJECTS[name](made())
    assert type(thing).__name__ == name or name == "Call"
    for text in (str(thing), repr(thing)):
        found = faults(text)
        assert not found or (name in CONSTRUCTED and found == ["repr of a class"])
    if hasattr(thing, "_repr_html_"):
        assert not faults(re.sub(r"<[^>]*>", "\n", thing._repr_html_()), np.inf)


def test_long_formulas_are_wrapped():
    about = " + ".join(f"predictor_{i}" for i in range(40))
    test = replace(made().res.test("auroc", n_permutations=9, seed=1), about=about)
    assert not faults(str(test))


@pytest.mark.parametrize("text", ARGUMENTS)
def test_what_is_given_to_a_call_prints_as_its_own_call(text):
    assert repr(ARGUMENTS[text]) == str(ARGUMENTS[text]) == text


def test_estimates_stand_with_their_interval_and_p_values_as_such():
    text = str(made().res.metrics())
    assert re.search(r"^auROC +0\.\d{2} \(0\.\d{2} to 0\.\d{2}\) +per fold", text, re.M)
    assert "calibration slope" in text
    assert "calibration_slope" not in text
    assert "per_fold_sd" in text.partition("Further columns: ")[2]
    p = made().res.tidy()["p.value"]
    assert f"{p[1]:.3f}" in str(made().res.tidy())


def test_digits_are_equal_within_a_column():
    lines = str(made().res.metrics()).splitlines()[3:11]
    cells = [re.search(r"(-?\d+\.\d+) \(", line) for line in lines]
    assert len({len(cell[1].partition(".")[2]) for cell in cells if cell}) == 1


def test_a_long_table_says_how_many_rows_there_are():
    text = str(made().long.predictions)
    assert len(text.splitlines()) < 30
    assert "1,980 more rows." in text


def test_a_wide_table_names_further_columns():
    assert "and 581 more" in str(made().wide.coefficients).splitlines()[-1]


# ---- a table is a data frame ----


def test_a_table_is_the_data_frame_in_all_else():
    table = made().res.metrics()
    plain = pd.DataFrame(table)
    assert type(plain) is pd.DataFrame
    assert table.equals(plain)
    assert plain.equals(table)
    pd.testing.assert_frame_equal(table, plain)
    assert type(table.loc[:2]) is type(table.copy()) is pd.DataFrame
    assert type(table[["metric", "estimate"]]) is pd.DataFrame
    assert table.to_csv() == plain.to_csv()
    assert table.to_html() == plain.to_html()
    both = pd.concat([table, table])
    assert type(both) is pd.DataFrame
    assert len(both) == 2 * len(table)
    again = pickle.loads(pickle.dumps(table))
    assert type(again) is Table
    assert str(again) == str(table)
    series = made().res.apparent
    assert type(series.head(2)) is type(series * 2) is pd.Series
    assert str(pickle.loads(pickle.dumps(series))) == str(series)


def test_a_table_that_was_changed_in_place_still_prints():
    table = made().res.metrics().reset_index(drop=True)
    limits = {"estimate": ("lower", "upper")}
    table = Table(table, "Metrics", ["metric", "how", "estimate"], limits=limits)
    del table["how"], table["lower"]
    table["mine"] = np.arange(len(table))
    assert "Further columns" in str(table)
    assert "mine" in str(table)


def test_chosen_numbers_are_not_rounded():
    frame = pd.DataFrame({"C": [1e-5, 0.1, 100.0], "score": [0.61, 0.62, 0.63]})
    text = str(Table(frame, "Chosen", exact=("C",)))
    assert re.findall(r"^ *(\S+)  0\.6", text, re.MULTILINE) == ["1e-05", "0.1", "100"]


def test_missing_cells_are_dashes_and_truth_values_words():
    frame = pd.DataFrame({"a": [None, 1.5], "b": pd.array([True, None], "boolean")})
    rows = str(Table(frame, "Cells")).splitlines()[3:]
    assert [row.split() for row in rows] == [["–", "yes"], ["1.500", "–"]]


def test_html_is_escaped():
    table = Table(pd.DataFrame({"<b>": ["<i>"]}), "a < b")
    assert "<b>" not in table._repr_html_()
    assert "<i>" not in table._repr_html_()


# ---- nothing is forgotten ----

PLAIN = re.compile(
    r"None|str|int|float|bool|bytes|Any|Self|T|Path|PathLike\[str\]|Axes|"
    r"(Floats?|FloatArray|Numbers|Codes|Rows|Matrix|Digests|NDArray\[.*\])|"
    r"(tuple|list|dict|Iterator|AbstractContextManager|Mapping)\[.*\]"
)
# Rooms whose objects are arrays with which fits and estimates are computed.
WORKINGS = ("statcv.models.", "statcv.numeric.", "statcv.formula.", "statcv.engine.")
WORKING = {
    *("Scores", "Refits", "KeptPermutations", "PlannedFits", "Ragged"),
    *("Cut", "ByValue", "PooledSums", "Cells"),
    *("Permuted", "Stratifier", "SiteSums", "HeldKey", "Readable", "SharedRecords"),
    *(
        "Running",
        "Source",
        "Strata",
        "Thresholds",
        "Contrasts",
        "PooledContrasts",
        "Setting",
        "Duplicates",
    ),
}


@cache
def classes() -> dict[str, type]:
    """The classes of statcv, by name."""
    found = {}
    for module in pkgutil.walk_packages(scv.__path__, "statcv."):
        if not module.name.startswith(("statcv.cli", "statcv.sites.transports.")):
            for name, one in vars(import_module(module.name)).items():
                if inspect.isclass(one) and one.__module__.startswith("statcv."):
                    found.setdefault(name, one)
    return found


def members(one: type) -> dict[str, str]:
    """The annotations of what the public members of a class return."""
    found = {f.name: str(f.type) for f in fields(one)} if is_dataclass(one) else {}
    for name in dir(one):
        value = inspect.getattr_static(one, name)
        wrapped = getattr(value, "fget", None) or getattr(value, "func", None)
        function = wrapped or getattr(value, "__func__", value)
        if inspect.isfunction(function) and function.__module__.startswith("statcv."):
            found[name] = str(inspect.signature(function).return_annotation)
    return {name: said for name, said in found.items() if not name.startswith("_")}


@cache
def public() -> tuple[set[str], set[str]]:
    """The public calls that return frames, and the classes that public calls return."""
    frames, seen, said = set(), set(), {}
    for room in ROOMS:
        for name in getattr(import_module(f"statcv{room}"), "__all__", ()):
            one = getattr(import_module(f"statcv{room}"), name)
            if inspect.isfunction(one) and not (room and name in scv.__all__):
                place = f"{room[1:]}.{name}".lstrip(".")
                said[place] = str(inspect.signature(one).return_annotation)
    while said:
        place, text = said.popitem()
        parts = [part.strip() for part in text.split(" | ")]
        parts = [part for part in parts if not PLAIN.fullmatch(part)]
        if any(part.startswith(("pd.DataFrame", "pd.Series")) for part in parts):
            frames.add(place)
        for name in {part for part in parts if part in classes()} - seen:
            seen.add(name)
            one = classes()[name]
            if name not in WORKING and not one.__module__.startswith(WORKINGS):
                said |= {f"{name}.{k}": text for k, text in members(one).items()}
    kept = {
        name for name in seen if not classes()[name].__module__.startswith(WORKINGS)
    }
    return frames, kept - WORKING


def test_every_public_frame_is_printed():
    assert public()[0] - set(FRAMES) - DATA - TEXT == set()


def test_every_public_object_is_printed():
    assert public()[1] - set(OBJECTS) == {"BootstrapEstimate"}  # prints as an Estimate
    own = classes()["BootstrapEstimate"]
    assert own.__str__ is inference.Estimate.__str__


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_offer_public_names_alone(room):
    package = import_module(f"statcv{room}")
    offered = [name for name in dir(package) if not name.startswith("__")]
    if room == ".errors":
        kinds = [getattr(package, name) for name in offered]
        assert "StatcvError" in offered
        assert all(issubclass(kind, Exception) for kind in kinds)
    else:
        assert offered == sorted(package.__all__)
