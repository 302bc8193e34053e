"""Learning curves, as a table and as a plot."""

import matplotlib as mpl
import numpy as np
import pytest

import statcv as scv
from statcv.errors import LearningCurveError, MetricError, NotTunedError

mpl.use("Agg")


@pytest.fixture(scope="module")
def boosted():
    model = scv.models.XGBoost(
        n_estimators=12, max_depth=2, curves=True, eval_metric=["error", "logloss"]
    )
    data = scv.load_data("ehr").head(200)
    return scv.cv("y ~ x1 + x2 + x3", data, model=model, k=4, repeats=2, seed=1)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_last_round_is_the_score_of_the_held_out_predictions(boosted):
    table = boosted.learning_curves
    assert len(table) == 8 * 2 * 12
    last = table[table["round"] == 12].set_index(["metric", "repeat", "fold"])
    last = last.sort_index()
    predictions = boosted.predictions
    wrong = (predictions["predicted"] > 0.5) != predictions["observed"]
    by_fold = wrong.groupby([predictions["repeat"], predictions["fold"]]).mean()
    held = last.loc["error", "held_out"]
    np.testing.assert_allclose(held, by_fold.loc[held.index], atol=1e-6)
    assert (
        last.loc["logloss", "training"] < last.loc["logloss", "held_out"]
    ).mean() > 0.8


def test_curves_do_not_change_the_fits(boosted):
    model = scv.models.XGBoost(n_estimators=12, max_depth=2)
    plain = boosted.update(model=model)
    np.testing.assert_array_equal(plain.scores.predicted, boosted.scores.predicted)


def test_the_bold_lines_are_means_over_fits(boosted):
    ax = scv.plots.plot_learning_curve(boosted, metric="logloss")
    means = [line for line in ax.lines if line.get_gid() == "curve"]
    own = boosted.learning_curves.query("metric == 'logloss'").groupby("round")
    for line, part in zip(means, ("training", "held_out"), strict=True):
        x, y = line.get_data()
        assert x.tolist() == list(range(1, 13))
        np.testing.assert_allclose(y, own[part].mean())
    assert len(ax.lines) == 2 * (8 + 1)
    assert scv.plots.plot_learning_curve(boosted).get_ylabel() == "error"


@pytest.fixture(scope="module")
def stopped(boosted):
    model = scv.models.XGBoost(
        n_estimators=60, max_depth=2, curves=True, early_stopping_rounds=2
    )
    return boosted.update(model=model)


def test_a_fit_that_stopped_early_keeps_its_last_value_in_the_means(stopped):
    table = stopped.learning_curves
    ends = table.groupby("fit")["round"].max()
    assert ends.nunique() > 1
    last = table[table["round"] == table["fit"].map(ends)]
    ax = scv.plots.plot_learning_curve(stopped)
    held = next(line for line in ax.lines if line.get_label() == "held-out records")
    assert held.get_ydata()[-1] == pytest.approx(last["held_out"].mean())
    assert all(float(tick).is_integer() for tick in ax.get_xticks())


def test_rounds_can_be_tuned_but_have_no_path(stopped):
    table = stopped.learning_curves
    ends = table.groupby(["repeat", "fold"])["round"].max()
    tuned = stopped.tuned.set_index(["repeat", "fold"])["rounds"]
    assert tuned.to_dict() == ends.to_dict()
    with pytest.raises(NotTunedError, match="with tune="):
        _ = stopped.tuning_path


def test_curves_that_were_not_kept_raise_an_error(boosted):
    with pytest.raises(MetricError, match="the metrics are error, logloss"):
        scv.plots.plot_learning_curve(boosted, metric="auc")
    plain = scv.cv("GRADE ~ GPA", scv.load_data("spector"), seed=1)
    with pytest.raises(LearningCurveError, match="curves=True"):
        scv.plots.plot_learning_curve(plain)
    assert not hasattr(plain, "learning_curves")


def test_several_results_have_two_lines_each(boosted):
    deeper = boosted.update(
        model=scv.models.XGBoost(
            n_estimators=12, max_depth=4, curves=True, eval_metric=["error", "logloss"]
        )
    )
    both = {"depth 2": boosted, "depth 4": deeper}
    ax = scv.plots.plot_learning_curve(both, metric="logloss")
    for name, result in both.items():
        own = result.learning_curves.query("metric == 'logloss'").groupby("round")
        for part, words in (("held_out", "held-out"), ("training", "training")):
            label = f"{name}, {words} records"
            (line,) = [line for line in ax.lines if line.get_label() == label]
            np.testing.assert_allclose(line.get_ydata(), own[part].mean())
    with pytest.raises(scv.errors.ArgumentError, match="no result"):
        scv.plots.plot_learning_curve({})


def test_rounds_have_round_ticks(boosted):
    ax = scv.plots.plot_learning_curve(boosted)
    ax.set_xlim(0, 60)
    steps = set(np.diff(ax.get_xticks()).tolist())
    assert len(steps) == 1
    assert str(int(steps.pop())).strip("0") in ("1", "2", "5")
