"""LOOCV through cv() against refits by statsmodels, each without one record."""

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from statcv import cv

CLASSES = [
    ("spector", "GRADE ~ GPA + TUCE + PSI"),
    ("spector", "GRADE ~ TUCE * PSI"),
    ("spector", "GRADE ~ np.log(GPA) + TUCE"),
    ("fair", "affair ~ rate_marriage + age + yrs_married"),
    ("fair", "affair ~ C(rate_marriage > 3) + religious * educ"),
    ("fair", "affair ~ np.log(age) + children:religious - 1"),
    ("anes96", "vote ~ PID + age + income"),
    ("anes96", "vote ~ logpopul + C(educ > 3) + np.log(age)"),
    ("modechoice", "choice ~ ttme + invc + gc"),
    ("modechoice", "choice ~ C(mode) + hinc * ttme + np.log1p(invc)"),
    ("heart", "censors ~ age + np.log(survival)"),
    ("randhie", "visited ~ lncoins + physlm * disea + hlthg"),
]
NUMBERS = [
    ("longley", "TOTEMP ~ GNPDEFL + GNP + UNEMP + ARMED + POP + YEAR"),
    ("longley", "np.log(TOTEMP) ~ np.log(GNP) + UNEMP"),
    ("stackloss", "STACKLOSS ~ AIRFLOW + WATERTEMP + ACIDCONC"),
    ("stackloss", "STACKLOSS ~ AIRFLOW * WATERTEMP"),
    ("statecrime", "murder ~ urban + poverty + hs_grad + single"),
    ("ccard", "AVGEXP ~ AGE + INCOME + INCOMESQ + C(OWNRENT)"),
    ("engel", "np.log(foodexp) ~ np.log(income)"),
    ("copper", "WORLDCONSUMPTION ~ COPPERPRICE + INCOMEINDEX + ALUMPRICE + TIME"),
    ("cpunish", "EXECUTIONS ~ INCOME + PERPOVERTY + C(SOUTH) + np.log(VC100k96)"),
    ("strikes", "np.log(duration) ~ iprod"),
    ("committee", "BILLS104 ~ SIZE + SUBS * np.log(STAFF)"),
    ("scotland", "YES ~ COUTAX * UNEMPF + MOR + ACT + GDP + AGE"),
]


def frame(name):
    data = getattr(sm.datasets, name).load_pandas().data
    thinned = {"fair": 60, "anes96": 11, "modechoice": 9, "randhie": 230}
    data = data.iloc[:: thinned.get(name, 1)].reset_index(drop=True)
    if name == "fair":
        data["affair"] = (data["affairs"] > 0).astype(int)
    if name == "randhie":
        data["visited"] = (data["mdvis"] > 0).astype(int)
    return data.astype({"choice": int}) if name == "modechoice" else data


def some(data):
    """Return 25 labels, spread over the records: refits by formula are slow."""
    return data.index[:: -(-len(data) // 25)]


def refits(formula, data, **glm):
    """Predict some records by a GLM of all others, coded by patsy on the others."""
    predicted = []
    for label in some(data):
        model = smf.glm(formula, data.drop(index=label), **glm)
        fit = model.fit(tol=1e-12, maxiter=100)
        predicted.append(fit.predict(data.loc[[label]]).iloc[0])
    return np.array(predicted)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize(("name", "formula"), CLASSES)
def test_logit_predicts_what_glm_refits_predict(name, formula):
    data = frame(name)
    result = cv(formula, data, scheme="loocv")
    expected = refits(formula, data, family=sm.families.Binomial())
    predicted = result.predictions["predicted"].to_numpy()[some(data)]
    difference = np.abs(predicted - expected).max()
    print(f"{name}: {formula}: n = {len(data)}, largest difference {difference:.1e}")
    assert difference <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "formula"), NUMBERS)
def test_linear_predicts_what_glm_refits_predict(name, formula):
    data = frame(name)
    result = cv(formula, data, scheme="loocv")
    expected = refits(formula, data)
    scale = result.design.y.std()
    predicted = result.predictions["predicted"].to_numpy()[some(data)]
    difference = np.abs(predicted - expected).max() / scale
    print(f"{name}: {formula}: n = {len(data)}, largest difference {difference:.1e} sd")
    assert difference <= 1e-8
