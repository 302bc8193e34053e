"""Nothing overlaps or is cut in figures of the widths that papers and pages use."""

import dataclasses
import pickle
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import statcv as scv
from statcv.errors import ArgumentError
from statcv.plots.wrapping import overlapping

mpl.use("Agg")
WIDTHS = (2.5, 3.5, 5.0)
LONG = "died_within_30_days"
ROUNDING = 1.5  # pixels
SITES = ["Aarhus", "Bergen", "Copenhagen"]


def patients(n=30):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, n))
    died = (a + rng.normal(size=n) > 0).astype(int)
    site = np.array(SITES)[np.arange(n) % 3]
    return pd.DataFrame({"age": a, "sodium": b, LONG: died, "site": site})


@pytest.fixture(scope="module")
def read():
    table, spector = patients(60), scv.load_data("spector")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = scv.cv(f"{LONG} ~ age + sodium", table, k=5, repeats=3, seed=1)
        other = scv.cv(f"{LONG} ~ age", table, k=5, repeats=3, seed=1)
        students = scv.cv("GRADE ~ GPA + PSI", spector, scheme="rloocv", seed=1)
        three = spector.assign(
            kind=np.array(["low", "middle", "high"])[np.arange(32) % 3]
        )
        kinds = scv.cv("kind ~ GPA + TUCE", three, k=4, seed=1)
        numbers = scv.cv("GPA ~ TUCE + PSI", spector, k=4, seed=1)
        boosted = scv.cv(
            "GRADE ~ GPA + PSI",
            spector,
            model=scv.models.XGBoost(n_estimators=10, curves=True),
            k=4,
            seed=1,
        )
        days = np.random.default_rng(5).exponential(500 * np.exp(-table["age"]))
        lung = table.assign(days=np.ceil(days), status=table[LONG])
        timed = scv.cv(
            "Surv(days, status) ~ age + sodium", lung, k=5, horizon=[200, 400], seed=1
        )
        endless = timed.update(horizon=None)
        names = ["systolic_blood_pressure", "serum_creatinine", "heart_rate"]
        names += ["age_at_admission", "ldl_cholesterol", "length_of_stay"]
        sick = scv.simulate_ehr(200, 40, seed=1)
        sick = sick.rename(columns={f"x{i + 1}": name for i, name in enumerate(names)})
        bias = scv.stratifier_bias(
            f"y ~ {' + '.join(names)}", sick, names, repeats=2, seed=1
        )
    effects = {"(Intercept)": -3.0, "age": 0.03, "I((bmi - 24)^2)": 0.01}
    effects |= {f"site[{site}]": b for site, b in zip(SITES[1:], (0.2, 1), strict=True)}
    effects["grade[poorly differentiated or unknown]"] = 0.6
    model = scv.published_model(effects, outcome=LONG, reference={"site": SITES[0]})
    shown = {"age": range(20, 90, 10), "bmi": range(16, 40, 2)}
    published = dataclasses.replace(model, seen={k: [*v] for k, v in shown.items()})
    return {
        "published": published,
        "one": one,
        "students": students,
        "kinds": kinds,
        "numbers": numbers,
        "boosted": boosted,
        "bias": bias,
        "two": {"age and sodium in a logistic model": one, "age": other},
        "compared": scv.compare({"age and sodium": one, "age": other}),
        "test": students.test(n_permutations=49, seed=1),
        "timed": timed,
        "endless": endless,
        "curve": one.corrected_calibration(n_boot=10),
        "moved": one.stability(n_boot=200, threshold=0.3),
        "moved numbers": numbers.stability(from_folds=True),
        "plan": scv.fold_plan(LONG, table, k=5, seed=1),
        "chosen": one.update(f"{LONG} ~ age + sodium", select="both", repeats=None),
        "loocv": scv.fold_plan("GRADE", spector, scheme="loocv"),
    }


draws = scv.plots
PICTURES = {
    "roc": lambda r, ax: draws.plot_roc(r["students"], ax=ax, band=True),
    "roc of two": lambda r, ax: draws.plot_roc(r["two"], ax=ax),
    "roc by": lambda r, ax: draws.plot_roc(r["one"], ax=ax, by="site"),
    "pr": lambda r, ax: draws.plot_pr(r["one"], ax=ax, band=True),
    "pr of two": lambda r, ax: draws.plot_pr(r["two"], ax=ax),
    "calibration": lambda r, ax: draws.plot_calibration(
        r["one"], ax=ax, recalibrated=True
    ),
    "calibration of two": lambda r, ax: draws.plot_calibration(r["two"], ax=ax),
    "corrected": lambda r, ax: draws.plot_corrected_calibration(r["curve"], ax=ax),
    "by hospital": lambda r, ax: draws.plot_clustered_calibration(
        r["one"].clustered_calibration(by="site"), ax=ax
    ),
    "decision": lambda r, ax: draws.plot_decision(r["one"], ax=ax),
    "roc of times": lambda r, ax: draws.plot_roc(r["timed"], ax=ax, at=200, band=True),
    "calibration of times": lambda r, ax: draws.plot_calibration(
        r["timed"], ax=ax, at=400
    ),
    "decision of times": lambda r, ax: draws.plot_decision(r["timed"], ax=ax, at=200),
    "survival": lambda r, ax: draws.plot_survival(r["timed"], ax=ax),
    "survival of five": lambda r, ax: draws.plot_survival(
        r["endless"], ax=ax, groups=5
    ),
    "folds of times": lambda r, ax: draws.plot_folds(r["timed"], ax=ax),
    "composition of times": lambda r, ax: draws.plot_composition(r["timed"], ax=ax),
    "decision by": lambda r, ax: draws.plot_decision(r["one"], ax=ax, by="site"),
    "risk": lambda r, ax: draws.plot_risk(r["one"], ax=ax),
    "predicted": lambda r, ax: draws.plot_predicted(r["one"], ax=ax),
    "predicted numbers": lambda r, ax: draws.plot_predicted(r["numbers"], ax=ax),
    "learning": lambda r, ax: draws.plot_learning_curve(r["boosted"], ax=ax),
    "difference": lambda r, ax: draws.plot_difference(r["compared"], ax=ax, n_boot=20),
    "records": lambda r, ax: draws.plot_difference(
        *r["two"].values(), ax=ax, metric="brier"
    ),
    "forest": lambda r, ax: draws.plot_forest(r["two"], ax=ax, summary=(0.8, 0.7, 0.9)),
    "selection": lambda r, ax: draws.plot_selection(r["chosen"], ax=ax),
    "permutation": lambda r, ax: draws.plot_permutation(r["test"], ax=ax),
    "folds": lambda r, ax: draws.plot_folds(r["plan"], ax=ax),
    "folds of numbers": lambda r, ax: draws.plot_folds(r["numbers"], ax=ax),
    "composition": lambda r, ax: draws.plot_composition(r["plan"], ax=ax),
    "bias": lambda r, ax: draws.plot_bias(r["loocv"], ax=ax),
    "bias of classes": lambda r, ax: draws.plot_bias(r["kinds"], ax=ax),
    "stability": lambda r, ax: draws.plot_stability(r["moved"], ax=ax),
    "stability of numbers": lambda r, ax: r["moved numbers"].plot(ax=ax),
    "stability of calibration": lambda r, ax: r["moved"].plot("calibration", ax=ax),
    "stability of decisions": lambda r, ax: r["moved"].plot("decision", ax=ax),
    "stability of classes": lambda r, ax: r["moved"].plot("classification", ax=ax),
    "nomogram": lambda r, ax: draws.plot_nomogram(r["one"], ax=ax, lp=True),
    "nomogram of levels": lambda r, ax: draws.plot_nomogram(r["published"], ax=ax),
    "stratifiers": lambda r, ax: draws.plot_stratifier_bias(r["bias"], ax=ax),
}


def test_every_public_plot_is_tried():
    source = Path(__file__).read_text()
    untried = [name for name in draws.__all__ if f"draws.{name}(" not in source]
    assert untried == ["style"]


def test_texts_that_overlap_or_leave_the_figure_are_found():
    figure, ax = plt.subplots(figsize=(2.5, 2.5))
    ax.set_title("a title that is far too long for axes of two inches")
    ax.text(0.5, 0.5, "one")
    ax.text(0.5, 0.5, "two")
    found = faults(figure)
    assert any(one.startswith("cut: 'a title") for one in found)
    assert "overlap: 'one' and 'two'" in found


def texts_of(figure):
    """The texts that are seen, by the legend they are in, if any."""
    seen = {}
    for ax in figure.axes:
        if ax.get_legend() is not None:
            seen |= dict.fromkeys(ax.get_legend().findobj(Text), ax.get_legend())
    for text in figure.findobj(Text):
        seen.setdefault(text, None)
    for ax in figure.axes:  # ticks beyond the limits are not drawn
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    seen.pop(tick.label1, None)
                    seen.pop(tick.label2, None)
    return {
        text: legend
        for text, legend in seen.items()
        if text.get_visible() and text.get_text().strip()
    }


def faults(figure):
    """What overlaps, or is cut."""
    figure.canvas.draw()
    texts = texts_of(figure)
    boxes = {text: text.get_window_extent() for text in texts}
    found, room = [], figure.bbox.padded(ROUNDING)
    for text, box in boxes.items():
        if box.x0 < room.x0 or box.y0 < room.y0 or box.x1 > room.x1 or box.y1 > room.y1:
            found.append(f"cut: {text.get_text()!r}")
    listed = list(boxes.items())
    for number, (text, box) in enumerate(listed):
        for other, beside in listed[number + 1 :]:
            if overlapping([box, beside]):
                found.append(f"overlap: {text.get_text()!r} and {other.get_text()!r}")
    for legend in {legend for legend in texts.values() if legend is not None}:
        around = legend.get_window_extent()
        for text, own in texts.items():
            if own is not legend and overlapping([around, boxes[text]]):
                found.append(f"under a legend: {text.get_text()!r}")
    return found


@pytest.mark.parametrize(
    "width", [WIDTHS[0], *(pytest.param(w, marks=pytest.mark.slow) for w in WIDTHS[1:])]
)
@pytest.mark.parametrize("name", PICTURES)
def test_nothing_overlaps_or_is_cut_on_axes_of_ones_own(read, name, width):
    figure, ax = plt.subplots(figsize=(width, width))
    assert PICTURES[name](read, ax) is ax
    assert faults(figure) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PICTURES)
def test_nothing_overlaps_or_is_cut_in_a_grid(read, name, width):
    """Each subplot is as wide as the others are alone."""
    figure, axes = plt.subplots(1, 2, figsize=(2 * width, width), layout="constrained")
    PICTURES[name](read, axes[0])
    draws.plot_roc(read["students"], ax=axes[1])
    assert faults(figure) == []


@pytest.mark.slow
@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["students", "one"])
def test_nothing_overlaps_or_is_cut_in_two_rows(read, name, width, layout):
    figure, axes = plt.subplots(2, 2, figsize=(2 * width, 2 * width), layout=layout)
    plots = (draws.plot_roc, draws.plot_calibration, draws.plot_predicted)
    for draw, ax in zip((*plots, draws.plot_risk), axes.flat, strict=True):
        draw(read[name], ax=ax)
    assert faults(figure) == []


def test_texts_of_a_nomogram_are_legible_on_a_page_of_390_pixels(read):
    figure = draws.plot_nomogram(read["published"], lp=True).figure
    figure.canvas.draw()
    pixels = 390 / (72 * figure.get_figwidth())
    sizes = [text.get_fontsize() * pixels for text in texts_of(figure)]
    assert min(sizes) >= 8
    assert faults(figure) == []


PANELS = {
    "students": lambda r, **width: r["students"].plot(**width),
    "one": lambda r, **width: r["one"].plot(**width),
    "by": lambda r, **width: r["one"].plot(by="site", **width),
    "two": lambda r, **width: draws.plot_referee(r["two"], **width),
    "kinds": lambda r, **width: r["kinds"].plot(**width),
    "numbers": lambda r, **width: r["numbers"].plot(**width),
    "timed": lambda r, **width: r["timed"].plot(**width),
    "endless": lambda r, **width: r["endless"].plot(**width),
}


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PANELS)
def test_nothing_overlaps_or_is_cut_in_the_four_plots(read, name, width):
    figure = PANELS[name](read, width=width).flat[0].figure
    assert figure.get_figwidth() == width
    assert faults(figure) == []


def test_below_five_inches_the_four_plots_stand_one_below_the_other(read):
    for width, columns in ((2.5, 1), (5.0, 2)):
        axes = read["students"].plot(width=width)
        assert axes.shape == (2, 2)
        assert faults(axes[0, 0].figure) == []
        spec = axes[0, 0].get_subplotspec().get_topmost_subplotspec()
        assert spec.get_gridspec().ncols == columns
    with pytest.raises(ArgumentError, match=r"2\.0 to 100\.0 inches, not 1"):
        read["students"].plot(width=1)


@pytest.mark.slow
@pytest.mark.parametrize("width", [None, 7.0, 5.0])
@pytest.mark.parametrize("name", [*PANELS, "groups"])
def test_nothing_overlaps_or_is_cut_in_figures_of_several_plots(read, name, width):
    if name == "groups":
        axes = draws.plot_groups(read["one"], metric="brier", by="site")
    else:
        axes = PANELS[name](read)
    figure = axes.flat[0].figure
    if width is not None:
        figure.set_size_inches(width, width)
    assert faults(figure) == []


# ---- at another size, and beside what others set ----


def test_a_figure_that_grows_again_has_its_whole_texts(read):
    figure, ax = plt.subplots(figsize=(5, 5))
    draws.plot_calibration(read["one"], ax=ax)

    def seen():
        figure.canvas.draw()
        entries = [text.get_text() for text in ax.get_legend().get_texts()]
        return [text.get_text() for text in [ax.title, *ax.texts]], entries

    before = seen()
    figure.set_size_inches(2.5, 2.5)
    assert seen() != before
    figure.set_size_inches(5, 5)
    assert seen() == before


def test_what_others_set_afterwards_is_kept(read):
    figure, ax = plt.subplots(figsize=(3.5, 3.5))
    draws.plot_roc(read["one"], ax=ax)
    ax.set_title("mine")
    own = ax.legend(["mine too"], loc="upper left")
    figure.canvas.draw()
    assert ax.get_title() == "mine"
    assert ax.get_legend() is own
    again = pickle.loads(pickle.dumps(figure))
    assert again.axes[0].get_title() == "mine"
    figure.subplots_adjust(left=0.3)
    figure.tight_layout()


def test_layouts_of_others_are_kept(read):
    figure, ax = plt.subplots(figsize=(3.5, 3.5))
    figure.subplots_adjust(left=0.4)
    draws.plot_roc(read["one"], ax=ax)
    figure.canvas.draw()
    assert figure.subplotpars.left == 0.4


def test_many_classes_have_no_curve_each():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=90), "kind": list("abcdefghi") * 10})
    axes = scv.cv("kind ~ x", table, model="mean", k=5, seed=1).plot()
    words = "9 classes are too many for a curve each"
    assert [ax.texts[0].get_text() for ax in axes[0]] == [words] * 2
    assert len(axes[1, 1].get_yticklabels()) == 9


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_axes_of_any_kind_are_fitted(read, layout):
    figure = plt.figure(figsize=(7, 3.5), layout=layout)
    for part in figure.subfigures(1, 2):
        draws.plot_roc(read["one"], ax=part.subplots())
    assert faults(figure) == []
    alone = plt.figure(figsize=(4, 4)).add_axes((0.2, 0.3, 0.7, 0.6))
    assert faults(draws.plot_roc(read["one"], ax=alone).figure) == []
    _, shared = plt.subplots(1, 2, sharey=True, figsize=(6, 3), layout=layout)
    for ax in shared:
        draws.plot_roc(read["one"], ax=ax)
    assert faults(ax.figure) == []


def test_why_there_is_no_curve_is_never_left_out():
    y = np.tile([0, 1], 20)
    table = pd.DataFrame({"y": y, "sure": y, "p": np.linspace(0.1, 0.9, 40)})
    sure, other = (
        scv.from_predictions(table, observed="y", predicted=name)
        for name in ("sure", "p")
    )
    figure, ax = plt.subplots(figsize=(2.5, 2.5))
    draws.plot_calibration({"sure": sure, "other": other}, ax=ax)
    figure.canvas.draw()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0].replace("\n", " ").startswith("sure: 40 of the 40 values")


def test_dollar_signs_of_names_are_drawn_and_are_no_mathematics(tmp_path):
    rng = np.random.default_rng(0)
    price, income = "price $_$", "income $ ($)"
    data = pd.DataFrame({price: rng.normal(size=90), "x": rng.normal(size=90)})
    data[income] = np.array(["<$5k-$10k", "$10k_$20k", ">$20k_$"])[np.arange(90) % 3]
    data["paid $_$"] = np.where(data["x"] + rng.normal(size=90) > 0, "$a_$", "$b_$")
    one, two = (
        scv.cv(f"`paid $_$` ~ {terms}", data, k=5, seed=1)
        for terms in (f"`{price}` + `{income}` + x", "x")
    )
    number = scv.cv(f"`{price}` ~ x", data, k=5, seed=1)
    both = scv.compare({"$a_$": one, "$b_$": two})
    plots = scv.plots
    drawn = [result.plot() for result in (one, number, both)]
    drawn += [plots.plot_calibration(one, by=income), plots.plot_nomogram(one)]
    drawn += [plots.plot_groups(one, by=income), plots.plot_difference(both)]
    drawn += [plots.plot_predicted(number), plots.plot_folds(number)]
    drawn += [plots.plot_bias(number), plots.plot_composition(number)]
    drawn += [plots.plot_forest(both), plots.plot_decision(both)]
    for axes in drawn:
        figure = np.ravel(axes)[0].figure
        figure.savefig(tmp_path / "drawn.svg")  # mathematics of "_" cannot be drawn
        shown = [text for text in figure.findobj(Text) if "$" in text.get_text()]
        for text in shown:
            plain = r"\$" in text.get_text() or not text.get_parse_math()
            assert plain or text.get_text().count("$") == 1, text
        plt.close(figure)
