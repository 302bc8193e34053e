"""The caveats of a comparison where more than the models differs."""

import pytest

import statcv as scv


@pytest.fixture(scope="module")
def random():
    data = scv.load_data("ehr").head(300)
    return scv.cv("y ~ x1 + x5", data, scheme="kfold", k=5, seed=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 2}, "two draws of one scheme: only the folds differ"),
        ({"scheme": "stratified_kfold"}, "only the scheme differs"),
        (
            {"stratify": scv.by_value("patient_id")},
            "how folds are made, not the models: records at random against equal",
        ),
    ],
)
def test_what_differs_is_said(random, change, said):
    compared = scv.compare(random, random.update(**change), test="delong")
    assert said in " ".join(str(compared.summary()).split())
    assert "Caveat" in str(compared).splitlines()[2]
