"""Checkpoints: what is kept, what is taken up again, and what is refused."""

import dataclasses
import functools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import typing
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from statcv import Tuning, cv, fold_plan
from statcv.engine import tasks
from statcv.engine.checkpoint import from_bytes, identity_of, remove_drafts, to_bytes
from statcv.engine.predictions import Part
from statcv.engine.setup import Setup
from statcv.errors import ArgumentTypeError, CheckpointError, CheckpointWarning
from statcv.files import write_whole
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import Linear, Logit, XGBoost
from statcv.models.base import PlainFit
from statcv.models.resolve import resolve_model
from statcv.models.tuning import model_to_tune, tuned_model

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(24, 2)), columns=["a", "b"])
    frame["y"] = (frame["a"] + rng.logistic(size=24) > 0).astype(int)
    frame["z"] = frame["b"] + rng.normal(size=24)
    frame["g"] = rng.choice(["p", "q", "r"], 24)
    return frame


class Counts:
    """Predicts a draw; counts its fits, chooses, and draws curves."""

    label = "counts"
    fits = 0

    def __init__(self, tilt=1.0):
        self.tilt = tilt

    def check(self, kind):
        pass

    def fit(self, training):
        type(self).fits += 1
        draw = np.random.default_rng(training.seed).normal()
        X = training.X
        fit = PlainFit(lambda X: self.tilt * draw + X[:, 1], {"x": draw})
        chosen = {"C": np.float64(draw), "k": 3, "how": "best", "none": None}
        object.__setattr__(fit, "chosen", chosen)
        object.__setattr__(fit, "curves", {"loss": X[:4, :2], "auc": X[:2, :2]})
        return fit


def assert_identical(one, two):
    for name in ("predicted", "partner_predicted", "converged", "seconds", "row"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for name in ("coefficients", "chosen"):
        first, second = getattr(one, name), getattr(two, name)
        assert (first is None) == (second is None)
        if first is not None:
            pd.testing.assert_frame_equal(first, second)
    assert (one.curves is None) == (two.curves is None)
    for old, new in zip(one.curves or [], two.curves or [], strict=True):
        assert list(old) == list(new)
        for name in old:
            np.testing.assert_array_equal(old[name], new[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "more"),
    [
        ("y ~ a + b", {"model": Logit(1.0), "scheme": "rloocv", "repeats": 2}),
        ("y ~ a + b", {"model": "counts", "scheme": "rloocv"}),
        ("g ~ a + b", {"model": Logit(1.0), "k": 3}),
        ("z ~ scale(a) + g", {"model": Linear(), "k": 4}),
        ("y ~ a", {"model": "mean", "scheme": "kfold", "k": 3, "rebalance": "all"}),
        ("y ~ a", {"model": LogisticRegression(), "k": 3}),
    ],
)
def test_what_is_read_again_is_what_was_computed(data, tmp_path, formula, more):
    if more["model"] == "counts":
        more = {**more, "model": Counts()}
    first = cv(formula, data, seed=1, checkpoint=tmp_path, **more).held
    assert list(tmp_path.glob("fits-*.npz"))
    Counts.fits = 0
    again = cv(formula, data, seed=1, checkpoint=tmp_path, **more).held
    assert Counts.fits == 0
    assert_identical(first, again)
    plain = cv(formula, data, seed=1, **more).held
    np.testing.assert_array_equal(plain.predicted, again.predicted)
    assert [name.suffix for name in tmp_path.iterdir() if name.suffix == ".tmp"] == []


def test_only_what_is_missing_is_fitted_again(data, tmp_path):
    arguments = {"model": Counts(), "scheme": "loocv", "seed": 1}
    first = cv("y ~ a", data, checkpoint=tmp_path, **arguments).held
    parts = sorted(tmp_path.glob("fits-*.npz"))
    assert len(parts) == 24
    for gone in parts[3:20:4]:
        gone.unlink()
    Counts.fits = 0
    again = cv("y ~ a", data, checkpoint=str(tmp_path), n_jobs=1, **arguments).held
    assert Counts.fits == len(parts[3:20:4])
    np.testing.assert_array_equal(first.predicted, again.predicted)
    same = np.flatnonzero(first.seconds == again.seconds)
    assert set(range(24)) - set(same) <= set(range(3, 20, 4))


def test_fits_made_together_are_kept_in_pieces(data, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "WORK", 24 * 2 * 5)
    arguments = {"model": Logit(1.0), "scheme": "loocv", "seed": 1}
    first = cv("y ~ a", data, checkpoint=tmp_path, **arguments).held
    parts = sorted(tmp_path.glob("fits-*.npz"))
    assert len(parts) == 5
    parts[2].unlink()
    again = cv("y ~ a", data, checkpoint=tmp_path, n_jobs=2, **arguments).held
    np.testing.assert_array_equal(first.predicted, again.predicted)
    pd.testing.assert_frame_equal(first.coefficients, again.coefficients)


@dataclasses.dataclass(frozen=True)
class Interrupted:
    """Fits fold by fold, and is interrupted at one of its fits."""

    C: float = 1.0
    label = "interrupted"
    fits: typing.ClassVar[int] = 0
    last: typing.ClassVar[int] = 0

    def check(self, kind):
        pass

    def fit(self, training):
        if Interrupted.fits == Interrupted.last:
            raise KeyboardInterrupt
        Interrupted.fits += 1
        return PlainFit(lambda X: np.full(len(X), training.y.mean() + self.C * 0.01))


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [None, "youden"])
def test_each_outer_fold_is_kept_with_its_tuning(data, tmp_path, threshold):
    many = pd.concat([data] * 3, ignore_index=True)
    call = {"model": Interrupted(), "tune": {"C": [1, 2]}, "scheme": "loocv"}
    call |= {"seed": 1, "checkpoint": tmp_path, "threshold": threshold}
    each = 2 * 5 + 1  # two values in five inner folds, and the fit of the outer one
    Interrupted.fits, Interrupted.last = 0, 40 * each + 7
    with pytest.raises(KeyboardInterrupt, match="40 of 72 fits are kept"):
        cv("y ~ a", many, **call)
    Interrupted.fits, Interrupted.last = 0, -1
    cv("y ~ a", many, **call)
    assert Interrupted.fits == 32 * each


@pytest.mark.slow
def test_each_search_is_kept(data, tmp_path):
    many = pd.concat([data] * 3, ignore_index=True)
    search = GridSearchCV(LogisticRegression(), {"C": [1, 2]}, cv=2)
    cv("y ~ a", many, tune=search, scheme="loocv", seed=1, checkpoint=tmp_path)
    assert len(list(tmp_path.glob("fits-*.npz"))) == 72


def test_drafts_of_a_process_that_was_killed_are_removed(data, tmp_path):
    call = {"model": Counts(), "k": 3, "seed": 1, "checkpoint": tmp_path}
    cv("y ~ a", data, **call)
    whole = sorted(file.name for file in tmp_path.iterdir())
    drafts = [f".{name}.{'0f' * 16}.tmp" for name in whole]
    others = [".gitignore", ".call.json.tmp", ".notes.tmp"]
    for name in (*drafts, *others):
        (tmp_path / name).write_bytes(b"half")
    cv("y ~ a", data, **call)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(whole + others)


def test_a_draft_that_another_start_removes_is_written_again(tmp_path):
    path = tmp_path / "fits-0-1.0123456789abcdef.npz"

    def remove_one():
        while not stop.is_set():
            if list(tmp_path.glob(".*.tmp")):
                remove_drafts(tmp_path)
                return

    for number in range(20):
        content = bytes([number]) * 2**18
        stop = threading.Event()
        other = threading.Thread(target=remove_one)
        other.start()
        write_whole(path, content)
        stop.set()
        other.join()
        assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_torn_and_foreign_files_are_counted_and_replaced(data, tmp_path):
    arguments = {"model": Counts(), "scheme": "loocv", "seed": 1}
    first = cv("y ~ a", data, checkpoint=tmp_path, **arguments).held
    parts = sorted(tmp_path.glob("fits-*.npz"))
    parts[0].write_bytes(b"")
    parts[1].write_bytes(parts[1].read_bytes()[:-1])
    altered = bytearray(parts[2].read_bytes())
    altered[len(altered) // 2] ^= 1
    parts[2].write_bytes(bytes(altered))
    other = cv("y ~ a", data, checkpoint=tmp_path / "b", **{**arguments, "seed": 2})
    (foreign,) = (tmp_path / "b").glob("fits-03-04.*.npz")
    parts[3].unlink()
    (tmp_path / foreign.name).write_bytes(foreign.read_bytes())
    for name in ("notes.txt", "fits-00-01.npz", ".fits-05-06.0.npz.7.tmp"):
        (tmp_path / name).write_bytes(b"\x00garbage")
    (tmp_path / "fits-06-07.0000000000000000.npz").mkdir()
    with pytest.warns(CheckpointWarning, match="^5 files in the checkpoint .* torn or"):
        again = cv("y ~ a", data, checkpoint=tmp_path, **arguments).held
    assert_equal_but_seconds(first, again, made_anew={0, 1, 2, 3})
    assert not np.array_equal(other.held.predicted, again.predicted)


def assert_equal_but_seconds(one, two, made_anew):
    np.testing.assert_array_equal(one.predicted, two.predicted)
    differ = set(np.flatnonzero(one.seconds != two.seconds).tolist())
    assert differ <= made_anew


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 2}, "seed 1 there, 2 here"),
        ({"model": Logit(2.0)}, r"model 'ridge .*C = 1' there, 'ridge .*C = 2' here"),
        ({"model": Counts(2.0)}, r"model 'ridge .*' there, 'counts' here"),
        ({"formula": "y ~ a"}, r"formula 'y ~ a \+ b' there, 'y ~ a' here, .*data"),
        ({"scheme": "kfold"}, r"scheme 'leave-one.*' there, '10 random folds' here"),
        ({"weights": np.arange(1, 25)}, "the data differ"),
        ({"data": "changed"}, r"call: the data differ\. Give another directory, or"),
        ({"data": "outcome"}, "the data differ"),
    ],
)
def test_another_call_is_refused_with_the_reason(data, tmp_path, change, said):
    arguments = {"formula": "y ~ a + b", "data": data, "model": Logit(1.0)}
    arguments |= {"scheme": "loocv", "seed": 1, "checkpoint": tmp_path}
    cv(**arguments)
    before = sorted(path.name for path in tmp_path.iterdir())
    if isinstance(change.get("data"), str):
        column = "a" if change["data"] == "changed" else "y"
        other = data.copy()
        other.loc[3, column] = 1 - other.loc[3, column]
        change = {"data": other}
    with pytest.raises(CheckpointError, match=said) as caught:
        cv(**{**arguments, **change})
    assert isinstance(caught.value, ValueError)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_parameters_that_the_label_does_not_show_are_compared(data, tmp_path):
    cv("y ~ a", data, model=Counts(1.0), seed=1, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="the model's parameters differ"):
        cv("y ~ a", data, model=Counts(1.5), seed=1, checkpoint=tmp_path)


def test_another_version_is_refused(data, tmp_path):
    cv("y ~ a", data, seed=1, checkpoint=tmp_path)
    call = tmp_path / "call.json"
    said = json.loads(call.read_text())
    assert (said["formula"], said["seed"], said["fits"]) == ("y ~ a", 1, 10)
    said["versions"]["numpy"] = "1.26.0"
    call.write_text(json.dumps(said))
    now = re.escape(np.__version__)
    with pytest.raises(CheckpointError, match=rf"numpy 1\.26\.0 there, {now} here"):
        cv("y ~ a", data, seed=1, checkpoint=tmp_path)


def test_who_never_parts_is_part_of_the_data(data, tmp_path):
    frame = data.assign(id=np.arange(24) % 6)
    plan = fold_plan("y", frame, scheme="kfold", k=3, stratify="id", seed=1)
    cv("y ~ a", frame, scheme=plan, seed=1, checkpoint=tmp_path)
    apart = dataclasses.replace(plan, strata=None)
    assert apart.fingerprint == plan.fingerprint
    with pytest.raises(CheckpointError, match="the data differ"):
        cv("y ~ a", frame, scheme=apart, seed=1, checkpoint=tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"formula": 1}', "\xff"])
def test_a_directory_of_something_else_is_refused(data, tmp_path, content):
    (tmp_path / "call.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(CheckpointError, match="was not written by statcv; give anoth"):
        cv("y ~ a", data, checkpoint=tmp_path)


def test_what_is_no_directory_is_refused(data, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(CheckpointError, match="is a file"):
        cv("y ~ a", data, checkpoint=file)
    with pytest.raises(CheckpointError, match=r"nothing can be kept in .*file"):
        cv("y ~ a", data, checkpoint=file / "below")
    with pytest.raises(CheckpointError, match="nothing can be kept"):
        cv("y ~ a", data, checkpoint="a" * 300)
    for wrong in (7, ""):
        with pytest.raises(ArgumentTypeError, match=f"a directory, not {wrong!r}"):
            cv("y ~ a", data, checkpoint=wrong)


def test_a_directory_with_other_files_is_left_as_it_is(data, tmp_path):
    (tmp_path / ".gitignore").write_text("*")
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(CheckpointError, match="holds files, but no checkpoint"):
        cv("y ~ a", data, checkpoint=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "thesis.tex").unlink()
    cv("y ~ a", data, checkpoint=tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
def test_a_disk_that_is_full_leaves_no_torn_files(data, tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, before[1]))
    try:
        with pytest.raises(CheckpointError, match="nothing can be kept"):
            cv("y ~ a", data, seed=1, checkpoint=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [path.name for path in tmp_path.iterdir()] == ["call.json"]
    again = cv("y ~ a", data, seed=1, checkpoint=tmp_path).held
    plain = cv("y ~ a", data, seed=1).held
    np.testing.assert_array_equal(again.predicted, plain.predicted)


def test_a_call_without_a_seed_takes_up_the_one_that_is_kept(data, tmp_path):
    first = cv("y ~ a", data, model=Counts(), checkpoint=tmp_path)
    Counts.fits = 0
    again = cv("y ~ a", data, model=Counts(), checkpoint=tmp_path)
    assert Counts.fits == 0
    assert again.seed == first.seed
    assert_identical(first.held, again.held)
    assert cv("y ~ a", data, model=Counts()).seed != first.seed


def test_a_changed_call_does_not_use_the_directory(data, tmp_path):
    result = cv("y ~ a", data, seed=1, checkpoint=tmp_path)
    other = result.update(formula="y ~ a + b")
    assert other.design.names == ("Intercept", "a", "b")


def test_a_model_that_cannot_be_told_from_others_is_refused(data, tmp_path):
    model = Counts()
    model.hook = lambda: None
    with pytest.raises(CheckpointError, match="not distinguish counts from another"):
        cv("y ~ a", data, model=model, checkpoint=tmp_path)


MODELS = {
    "logit": Logit(0.3),
    "forest": RandomForestClassifier(n_estimators=3, max_features=None),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression(C=0.2)),
    "probit": sm.Probit,
    "glm": functools.partial(sm.GLM, family=sm.families.Binomial()),
    "xgboost": "xgboost",
}
TUNED = {
    "grid": (Logit(), {"C": [0.1, 1.0]}),
    "rule": (Logit(), Tuning({"C": [0.1, 1.0]}, metric="auroc", rule="one_se")),
    "pipeline": (MODELS["pipeline"], {"logisticregression__C": [0.1, 1.0]}),
    "boosted": (XGBoost(), {"max_depth": [1, 2]}),
    "search": (None, GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)),
}
DIGESTS = """
import json, sys, warnings
sys.path.insert(0, {folder!r})
warnings.simplefilter("ignore")
from test_engine_checkpoint import digests
print(json.dumps(digests()))
"""


def digests():
    frame = pd.DataFrame({"x": np.arange(8.0), "y": [0, 1, 0, 1, 1, 0, 0, 1]})
    design = make_design("y ~ x", frame, scope={})
    plan = make_plan("loocv", design.y, "binary")
    models = {name: resolve_model(one, "binary") for name, one in MODELS.items()}
    for name, (model, tune) in TUNED.items():
        learner = resolve_model(model_to_tune(tune, model), "binary")
        models[f"tuned {name}"] = tuned_model(tune, learner, design.outcome, plan)
    return {
        name: identity_of(Setup(design, plan, model, 1))
        for name, model in models.items()
    }


@pytest.mark.slow
def test_identities_are_the_same_in_another_process():
    command = DIGESTS.format(folder=os.path.dirname(__file__))
    there = subprocess.run(
        [sys.executable, "-c", command],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = digests()
    assert json.loads(there.stdout) == here
    digests_of_models = {one["model_digest"] for one in here.values()}
    assert len(digests_of_models) == len(MODELS) + len(TUNED)


TEXT = st.text(max_size=4)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT


@given(
    fits=st.integers(1, 4),
    numbers=arrays(np.float64, 4, elements=st.floats()),
    names=st.none() | st.lists(TEXT, unique=True, max_size=3),
    chosen=st.none() | st.dictionaries(TEXT, PLAIN, max_size=3),
    curves=st.none() | st.lists(TEXT, unique=True, max_size=2),
)
def test_a_part_comes_back_bit_by_bit(fits, numbers, names, chosen, curves):
    flags = numbers[:fits] > 0
    table = None if names is None else np.tile(numbers[:fits, None], len(names))
    part = Part(
        fits=range(7, 7 + fits),
        predicted=np.column_stack([numbers, -numbers]),
        partner_predicted=np.empty((0, 2)),
        converged=flags,
        separated=~flags,
        seconds=np.abs(numbers[:fits]),
        probabilities=True,
        names=tuple(names or ()),
        coefficients=table,
        chosen=None if chosen is None else [chosen] * fits,
        curves=None
        if curves is None
        else [{name: np.column_stack([numbers, numbers]) for name in curves}] * fits,
    )
    content = to_bytes(part, "call")
    assert from_bytes(content, "another") is None
    back = from_bytes(content, "call")
    assert (back.fits, back.names) == (part.fits, part.names)
    assert back.chosen == part.chosen
    for name in ("predicted", "partner_predicted", "converged", "separated", "seconds"):
        old, new = getattr(part, name), getattr(back, name)
        assert (old.dtype, old.shape) == (new.dtype, new.shape)
        assert old.tobytes() == new.tobytes()
    assert (back.coefficients is None) == (table is None)
    if table is not None:
        np.testing.assert_array_equal(back.coefficients, table)
    if curves is None:
        assert back.curves is None
        return
    for old, new in zip(part.curves, back.curves, strict=True):
        assert list(old) == list(new)
        for name in curves:
            np.testing.assert_array_equal(old[name], new[name])


@given(st.binary(max_size=200))
def test_bytes_that_are_no_part_are_no_part(content):
    assert from_bytes(content, "call") is None


def test_the_bar_begins_where_the_run_does(data, tmp_path, capsys):
    arguments = {"model": Counts(), "scheme": "loocv", "seed": 1}
    cv("y ~ a", data, checkpoint=tmp_path, **arguments)
    sorted(tmp_path.glob("fits-*.npz"))[-1].unlink()
    cv("y ~ a", data, checkpoint=tmp_path, progress=True, **arguments)
    shown = re.findall(r"(\d+)/24", capsys.readouterr().err)
    assert shown[-1] == "24"
    assert {int(one) for one in shown} <= {0, 23, 24}
