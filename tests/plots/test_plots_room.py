"""All texts of the plots fit, and plots are drawn on the given Axes."""

import matplotlib as mpl
import pytest
import statsmodels.api as sm
from scipy.special import logit

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError

mpl.use("Agg")
FORMULA = "GRADE ~ GPA + TUCE + PSI"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def results():
    table = scv.load_data("spector")
    repeated = scv.cv(FORMULA, table, k=4, repeats=5, seed=1)
    rloocv = scv.cv(FORMULA, table, scheme="rloocv", repeats=1, seed=1)
    return {"five times four folds": repeated, "one": rloocv}


def both(results):
    return results["one"], results["five times four folds"]


PICTURES = {
    "roc": lambda r, ax: scv.plots.plot_roc(r["five times four folds"], ax=ax),
    "roc, band": lambda r, ax: scv.plots.plot_roc(
        r["five times four folds"], ax=ax, band=True
    ),
    "pr": lambda r, ax: scv.plots.plot_pr(r["five times four folds"], ax=ax, band=True),
    "calibration": lambda r, ax: scv.plots.plot_calibration(
        r["five times four folds"], ax=ax
    ),
    "decision": lambda r, ax: scv.plots.plot_decision(r, ax=ax),
    "risk": lambda r, ax: scv.plots.plot_risk(r["five times four folds"], ax=ax),
    "difference": lambda r, ax: scv.plots.plot_difference(*both(r), ax=ax),
    "records": lambda r, ax: scv.plots.plot_difference(*both(r), ax=ax, metric="brier"),
    "forest": lambda r, ax: scv.plots.plot_forest(r, ax=ax, summary=(0.8, 0.7, 0.9)),
    "null": lambda r, ax: scv.plots.plot_permutation(
        r["one"].test(n_permutations=99), ax=ax
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_no_text_is_cut_off(results, name):
    ax = PICTURES[name](results, None)
    figure = ax.figure
    figure.canvas.draw()
    inside = figure.bbox.padded(1)
    drawn = ax.get_tightbbox(figure.canvas.get_renderer())
    assert inside.x0 <= drawn.x0 < drawn.x1 <= inside.x1
    assert inside.y0 <= drawn.y0 < drawn.y1 <= inside.y1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PICTURES if name != "forest"])
def test_a_legend_fits_the_width_of_its_axes(results, name):
    ax = PICTURES[name](results, None)
    ax.figure.canvas.draw()
    around, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
    assert around.x0 <= legend.x0 < legend.x1 <= around.x1


# ---- long names ----


@pytest.fixture(scope="module")
def wordy():
    long = "progression_within_5_years"
    table = scv.load_data("spector").rename(columns={"GRADE": long})
    one = scv.cv(
        f"{long} ~ GPA + TUCE + PSI", table, scheme="rloocv", repeats=1, seed=1
    )
    return {
        "the model with all of the routine predictors": one,
        "one without the score of the entering test": one.update(formula="~ . - TUCE"),
    }


WORDY = {
    "roc": lambda r, ax: compared(r).plot("roc", ax),
    "pr": lambda r, ax: compared(r).plot("pr", ax),
    "decision": lambda r, ax: compared(r).plot("decision", ax),
    "difference": lambda r, ax: compared(r).plot("difference", ax, n_boot=50),
    "calibration": lambda r, ax: scv.plots.plot_calibration(first(r), ax=ax),
    "risk": lambda r, ax: scv.plots.plot_risk(first(r), ax=ax),
    "folds": lambda r, ax: scv.plots.plot_folds(first(r), ax=ax),
    "composition": lambda r, ax: scv.plots.plot_composition(
        first(r).update(scheme="kfold", k=4), ax=ax
    ),
}
ROWS = {
    "differences": lambda r: compared(r).plot("forest"),
    "results": scv.plots.plot_forest,
    "one result": lambda r: scv.plots.plot_forest({"a": first(r)}),
}


def compared(results):
    return scv.compare(**results, test="delong")


def first(results):
    return next(iter(results.values()))


def is_inside(figure, ax):
    figure.canvas.draw()
    drawn = ax.get_tightbbox(figure.canvas.get_renderer())
    room = figure.bbox.padded(1)
    return room.x0 <= drawn.x0 < drawn.x1 <= room.x1 and room.y0 <= drawn.y0


@pytest.mark.slow
@pytest.mark.parametrize("name", WORDY)
def test_long_names_fit_the_width_of_the_axes(wordy, name):
    ax = WORDY[name](wordy, None)
    assert is_inside(ax.figure, ax)
    around, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
    assert around.x0 - 1 <= legend.x0 < legend.x1 <= around.x1 + 1
    label = ax.yaxis.label.get_window_extent()
    assert label.height <= around.height + 2


@pytest.mark.parametrize("name", ROWS)
def test_long_names_of_rows_and_titles_are_wrapped(wordy, name):
    ax = ROWS[name](wordy)
    assert is_inside(ax.figure, ax)
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


@pytest.mark.slow
def test_no_texts_overlap_in_the_figure_for_a_referee(results):
    for result in results.values():
        axes = scv.plots.plot_referee(result)
        figure = axes[0, 0].figure
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        boxes = [ax.get_tightbbox(renderer) for ax in axes.flat]
        for number, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[number + 1 :])
        legend = axes[0, 0].get_legend().get_window_extent()
        assert 0 <= legend.x0 < legend.x1 <= figure.bbox.width / 2


@pytest.mark.slow
def test_plots_are_drawn_on_the_given_axes(results):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, len(PICTURES))
    for draw, ax in zip(PICTURES.values(), axes, strict=True):
        assert draw(results, ax) is ax
    assert len(plt.get_fignums()) == 1


SEVERAL = (scv.plots.plot_roc, scv.plots.plot_pr, scv.plots.plot_calibration)


@pytest.mark.parametrize("draw", [*SEVERAL, scv.plots.plot_decision])
def test_curves_of_several_results_are_drawn_together(results, draw):
    one, other = both(results)
    compared = scv.compare({"a": one, "b": other}, metric="brier")
    given = {"rloocv": (one, other), "b": ({"a": one, "b": other},), "a": (compared,)}
    for name, several in given.items():
        ax = draw(*several)
        assert sum(line.get_gid() == "curve" for line in ax.lines) == 2
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert any(text.startswith(name) for text in texts)
    assert compared.plot("calibration").get_title().startswith("Calibration")


@pytest.mark.parametrize("draw", SEVERAL)
def test_what_is_not_a_result_is_named(results, draw):
    one, other = both(results)
    with pytest.raises(ArgumentTypeError, match=r"draws results.* not a int"):
        draw(one, 5)
    with pytest.raises(ArgumentTypeError, match=r"pass the Axes as ax="):
        draw(one, draw(one))
    with pytest.raises(ArgumentTypeError, match="separate arguments"):
        draw([one, other])
    with pytest.raises(ArgumentError, match="no result"):
        draw()


def test_a_label_names_a_single_curve(results):
    with pytest.raises(ArgumentError, match="names one curve"):
        scv.plots.plot_roc(*both(results), label="mine")


@pytest.mark.parametrize("name", PICTURES)
def test_what_is_not_axes_is_named(results, name):
    for wrong, said in ((5, "not 5"), ([1], r"not \[1\]; give one of them")):
        with pytest.raises(ArgumentTypeError, match=f"matplotlib Axes, {said}"):
            PICTURES[name](results, wrong)


def test_the_recalibrated_curve_is_that_of_recalibrated_probabilities(results):
    ax = scv.plots.plot_calibration(results["one"], recalibrated=True)
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"][-1]
    scores = results["one"].scores
    y, p = scores.y[scores.row], scores.predicted
    fit = sm.Logit(y, sm.add_constant(logit(p))).fit(disp=False)
    curve = scv.metrics.calibration_curve(y, fit.predict())
    assert dashed.get_ydata() == pytest.approx(curve.observed, abs=1e-4)
