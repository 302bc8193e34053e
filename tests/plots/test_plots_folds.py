"""Plots of fold plans, checked on their Axes against counts by hand."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from sklearn.model_selection import ShuffleSplit

import statcv as scv
from statcv.errors import ArgumentError, ArgumentTypeError, SchemeError
from statcv.folds import Bags
from statcv.plots import plot_bias, plot_composition, plot_folds
from statcv.plots.base import COLOURS

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "two": rng.permutation((np.arange(n) < 0.3 * n).astype(int)),
            "three": rng.permutation(np.array(list("AAABBBBCCC"))[np.arange(n) % 10]),
            "number": rng.normal(5, 2, n),
            "site": rng.permutation(np.arange(n) // 3),
        }
    )


def plan_of(outcome="two", n=24, **arguments):
    return scv.fold_plan(outcome, table(n), seed=1, **arguments)


def picture(ax):
    return np.asarray(ax.images[0].get_array())


def labels_of(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def mixed(colour, strength):
    return 1 - strength * (1 - np.array(to_rgb(colour)))


SHARES = ShuffleSplit(5, test_size=0.2, train_size=0.5, random_state=0)
PLANS = {
    "kfold": {"k": 5},
    "rkfold": {"scheme": "rkfold", "k": 5},
    "upsampled": {"scheme": "kfold", "k": 5, "rebalance": "upsample"},
    "loocv": {"scheme": "loocv"},
    "rloocv": {"scheme": "rloocv", "repeats": 1},
    "every subsample": {"scheme": "rloocv", "rebalance": "all"},
    "bags": {"k": 4, "rebalance": Bags(3)},
    "pairs": {"scheme": "leave_pair_out"},
    "montecarlo": {"scheme": "montecarlo", "repeats": 7},
    "bootstrap": {"scheme": "bootstrap", "repeats": 7},
    "half of them": {"scheme": SHARES},
    "half of them, balanced": {"scheme": SHARES, "rebalance": "subsample"},
    "whole sites": {"scheme": "kfold", "k": 3, "stratify": scv.by_value("site")},
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rloocv", "dropped for balance, 1 per fit"),
        ("half of them", "not trained on, 7 per fit"),
        ("half of them, balanced", "not trained on, {} per fit"),
        ("bags", "not trained on, {} per fit"),
        ("kfold", None),
    ],
)
def test_the_legend_says_why_records_are_not_trained_on(name, said):
    plan = plan_of(**PLANS[name])
    ax = plot_folds(plan)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    found = [text for text in texts if "per fit" in text]
    sizes = [len(plan.left_out(fit)) for fit in range(plan.n_fits)]
    low, high = min(sizes), max(sizes)
    expected = said and said.format(low if low == high else f"{low} to {high}")
    assert found == [expected] * (said is not None)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_the_colour_of_each_cell_shows_the_role_of_its_record(name):
    plan = plan_of(**PLANS[name])
    y = plan.response.values
    image = picture(plot_folds(plan))
    rows = np.array(labels_of(plot_folds(plan).yaxis), dtype=int)
    expected = np.zeros((plan.n_splits, plan.n, 3))
    for fit, split in enumerate(plan.fits.split_of):
        times = np.bincount(plan.train(fit), minlength=plan.n)
        for row in range(plan.n):
            strength = {0: None, 1: 0.16}.get(times[row], 0.45)
            colour = "#262626" if strength is None else mixed(COLOURS[y[row]], strength)
            if row in plan.test(split):
                colour = COLOURS[y[row]]
            expected[split, row] += to_rgb(colour)
    expected /= np.diff(plan.first_fit)[:, None, None]
    found = sorted(
        image.transpose(1, 0, 2).round(6).reshape(plan.n_splits, -1).tolist()
    )
    wanted = sorted(expected[:, rows].round(6).reshape(plan.n_splits, -1).tolist())
    assert np.allclose(found, wanted, atol=2e-6)
    assert sorted(rows) == list(range(plan.n))


def test_leave_one_out_of_200_is_a_diagonal():
    image = picture(plot_folds(plan_of(n=200, scheme="loocv")))
    strong = image.min(axis=2) < 0.1
    assert (strong == np.eye(200, dtype=bool)).all()


def test_the_folds_are_in_order():
    plan = plan_of(k=4)
    ax = plot_folds(plan)
    image, rows = picture(ax), np.array(labels_of(ax.xaxis))
    assert rows.tolist() == ["1", "2", "3", "4"]
    held = image.min(axis=2) < 0.1
    assert held.sum(axis=0).tolist() == plan.tests.sizes.tolist()
    order = np.array(labels_of(ax.yaxis), dtype=int)
    for split in range(4):
        assert set(order[held[:, split]]) == set(plan.test(split))


def test_several_records_per_line_have_their_mean_colour():
    plan = plan_of(n=5000, k=10)
    image = picture(plot_folds(plan))
    assert image.shape == (250, 10, 3)
    shares = plan.response.counts / plan.n
    mean = sum(
        share * (0.1 * mixed(colour, 1) + 0.9 * mixed(colour, 0.16))
        for share, colour in zip(shares, COLOURS[:2], strict=True)
    )
    assert image.mean(axis=(0, 1)) == pytest.approx(mean)
    assert "5,000 records, 20 per line" in plot_folds(plan).get_ylabel()


def test_with_many_splits_a_sample_is_drawn_and_the_title_says_so():
    plan = plan_of(n=400, scheme="rloocv", repeats=1)
    ax = plot_folds(plan)
    image = picture(ax)
    assert ax.get_title() == "Who is held out, rloocv, 250 of 400 splits"
    assert image.shape[1] == 250
    assert "of 400 records" in ax.get_ylabel()


def test_records_of_one_cluster_are_adjacent_with_a_band():
    plan = plan_of(n=30, scheme="kfold", k=3, stratify=scv.by_value("site"))
    ax = plot_folds(plan)
    rows = np.array(labels_of(ax.yaxis), dtype=int)
    changes = np.flatnonzero(np.diff(plan.strata.codes[rows]))
    assert len(changes) == plan.strata.count - 1
    bands = np.asarray(ax.images[1].get_array())[:, 0, 0]
    assert np.flatnonzero(np.diff(bands)).tolist() == changes.tolist()
    assert ax.get_legend().get_title().get_text().endswith(plan.strata.sentence)


def test_records_held_out_repeatedly_are_sorted_by_class_first():
    plan = plan_of("three", scheme="montecarlo", repeats=9)
    rows = np.array(labels_of(plot_folds(plan).yaxis), dtype=int)
    assert (np.diff(plan.response.values[rows]) >= 0).all()


def test_one_repeat_or_all_repeats_of_a_single_split():
    repeated = plan_of(k=4, repeats=3)
    assert picture(plot_folds(repeated)).shape[1] == 4
    second = plot_folds(repeated, repeat=2)
    assert second.get_title() == "Who is held out, stratified_kfold, repeat 2 of 3"
    rows = np.array(labels_of(second.yaxis), dtype=int)
    held = picture(second).min(axis=2) < 0.1
    assert set(rows[held[:, 0]]) == set(repeated.test(4))
    drawn = plan_of(scheme="montecarlo", repeats=6)
    assert labels_of(plot_folds(drawn).xaxis) == ["1", "2", "3", "4", "5", "6"]
    assert picture(plot_folds(drawn, repeat=5)).shape[1] == 1


def test_a_continuous_outcome_is_coloured_by_its_value():
    plan = plan_of("number", scheme="loocv")
    image = picture(plot_folds(plan))
    y = np.sort(plan.response.values)
    place = (y - y[0]) / (y[-1] - y[0])
    expected = mpl.colormaps["cividis"](place)[:, :3]
    assert image[np.arange(24), np.arange(24)] == pytest.approx(expected)


def test_a_plan_without_outcome_shows_who_is_held_out():
    plan = scv.fold_plan(None, table(20), scheme="kfold", k=4, seed=1)
    image = picture(plot_folds(plan))
    held = np.isclose(image, to_rgb(COLOURS[0])).all(axis=2)
    assert held.sum(axis=1).tolist() == [1] * 20
    for draw in (plot_bias, plot_composition):
        with pytest.raises(SchemeError, match="needs the outcome"):
            draw(plan)


@pytest.mark.parametrize("outcome", ["two", "number"])
@pytest.mark.parametrize("rebalance", [None, "subsample", "weight"])
def test_the_points_of_balance_are_the_means_of_records(outcome, rebalance):
    plan = plan_of(outcome, scheme="kfold", k=5, repeats=2, rebalance=rebalance)
    y = plan.response.values
    points, told, labels = [], [], []
    for split in range(plan.n_splits):
        rows = plan.train(split)
        mean = np.average(y[rows], weights=plan.weights(split, rows))
        points.append((y[plan.test(split)].mean(), mean))
        told += [mean] * len(plan.test(split))
        labels += y[plan.test(split)].tolist()
    ax = plot_bias(plan)
    drawn = {tuple(point) for point in ax.collections[0].get_offsets().round(9)}
    assert drawn == {tuple(point) for point in np.round(points, 9).tolist()}
    said = "the training means are all equal"
    if np.ptp(told) > 1e-12:
        r = f"{np.corrcoef(told, labels)[0, 1]:.2f}".replace("-", "−")
        said = f"r = {r} over held-out records"
    assert ax.get_title().splitlines()[1] == said


@pytest.mark.parametrize("levels", [[0, 1], ["a", "b", "c"], [0.5, 1.5, 2.5]])
def test_a_plan_without_training_sets_has_no_balance(levels):
    frame = pd.DataFrame({"y": levels * 8, "p": 1 / 3})
    predicted = dict.fromkeys(levels, "p") if levels[0] == "a" else "p"
    made = scv.from_predictions(frame, observed="y", predicted=predicted)
    ax = plot_bias(made)
    assert [text.get_text() for text in ax.texts] == ["there are no training sets"]
    assert not ax.collections


def test_balance_has_one_colour_per_class():
    plan = plan_of("three", scheme="loocv")
    ax = plot_bias(plan)
    n, counts = plan.n, plan.response.counts
    for count, points in zip(counts, ax.collections, strict=True):
        expected = [(0, count / (n - 1) - count / n)]
        expected.append((1, (count - 1) / (n - 1) - count / n))
        assert np.asarray(points.get_offsets()) == pytest.approx(np.array(expected))
    assert "r = −1.00 over" in ax.get_title()


def test_the_plot_of_a_result_is_that_of_its_plan():
    data = scv.load_data("spector")
    result = scv.cv("GRADE ~ GPA", data, k=4, seed=1)
    plan = scv.fold_plan("GRADE", data, k=4, seed=1)
    assert (picture(plot_folds(result)) == picture(plot_folds(plan))).all()
    for draw in (plot_bias, plot_composition):
        assert draw(result).get_title() == draw(plan).get_title()


def bars(ax):
    return np.array([[bar.get_height() for bar in group] for group in ax.containers])


@pytest.mark.parametrize("outcome", ["two", "three"])
@pytest.mark.parametrize("name", ["kfold", "upsampled", "bags", "bootstrap"])
@pytest.mark.parametrize("what", ["held out", "training"])
def test_shares_of_classes(outcome, name, what):
    plan = plan_of(outcome, **PLANS[name])
    y, classes = plan.response.values, plan.response.classes
    expected = np.zeros((classes, plan.n_splits))
    for fit, split in enumerate(plan.fits.split_of):
        rows = plan.test(split) if what == "held out" else plan.train(fit)
        expected[:, split] += np.bincount(y[rows], minlength=classes) / len(rows)
    expected /= np.diff(plan.first_fit)
    ax = plot_composition(plan, what=what)
    assert bars(ax) == pytest.approx(expected)
    lines = [line.get_ydata()[0] for line in ax.lines]
    assert lines == pytest.approx(np.cumsum(np.bincount(y) / len(y))[:-1])


def test_weighted_shares_are_equal_in_all_training_sets():
    plan = plan_of(scheme="kfold", k=5, rebalance="weight")
    shares = bars(plot_composition(plan, what="training"))
    assert np.ptp(shares, axis=1) == pytest.approx(0)
    assert np.ptp(bars(plot_composition(plan)), axis=1).min() > 0.1


@pytest.mark.parametrize("what", ["held out", "training"])
def test_means_and_standard_deviations_of_a_continuous_outcome(what):
    plan = plan_of("number", k=5)
    y = plan.response.values
    sets = [plan.test(s) if what == "held out" else plan.train(s) for s in range(5)]
    ax = plot_composition(plan, what=what)
    dots = ax.lines[1].get_ydata()
    assert dots == pytest.approx([y[rows].mean() for rows in sets])
    ends = [segment[:, 1] for segment in ax.collections[0].get_segments()]
    assert np.ptp(ends, axis=1) / 2 == pytest.approx([y[rows].std() for rows in sets])
    sizes = [label.split("\n")[1] for label in labels_of(ax.xaxis)]
    assert sizes == [str(len(rows)) for rows in sets]


def test_sizes_of_many_folds_are_a_range():
    ax = plot_composition(plan_of(scheme="bootstrap", repeats=20))
    sizes = plan_of(scheme="bootstrap", repeats=20).tests.sizes
    said = f"{sizes.min()} to {sizes.max()} records each"
    assert ax.get_title().endswith(f", {said}")


@pytest.mark.slow
@pytest.mark.parametrize("draw", [plot_folds, plot_bias, plot_composition])
@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        (outcome, name)
        for outcome in ("two", "three", "number")
        for name in PLANS
        if outcome == "two" or name in ("kfold", "loocv", "bootstrap", "whole sites")
    ],
)
def test_no_text_is_cut_off(draw, outcome, name):
    ax = draw(plan_of(outcome, **PLANS[name]))
    figure = ax.figure
    figure.canvas.draw()
    inside = figure.bbox.padded(1)
    drawn = ax.get_tightbbox(figure.canvas.get_renderer())
    assert inside.x0 <= drawn.x0 < drawn.x1 <= inside.x1
    assert inside.y0 <= drawn.y0 < drawn.y1 <= inside.y1


def test_plots_are_drawn_on_the_given_axes():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 3)
    plan = plan_of(k=4)
    for draw, ax in zip((plot_folds, plot_bias, plot_composition), axes, strict=True):
        assert draw(plan, ax=ax) is ax
    assert len(plt.get_fignums()) == 1


def test_invalid_arguments_raise_an_error():
    plan = plan_of(k=4, repeats=2)
    for repeat in (0, 3, True, 1.5):
        with pytest.raises(ArgumentError, match="repeats 1 to 2"):
            plot_folds(plan, repeat=repeat)
    with pytest.raises(ArgumentError, match=r"2, not a value of type DataFrame\.$"):
        plot_folds(plan, table(20))
    with pytest.raises(ArgumentError, match="'training'"):
        plot_composition(plan, what="trainig")
    with pytest.raises(ArgumentTypeError, match="DataFrame"):
        plot_folds(table(20))


# ---- sites, and duplicates on both sides of a fold ----


def test_divided_duplicates_are_marked_and_sites_are_together():
    plan, person = plan_of(scheme="kfold", k=4), np.arange(24) // 2
    site = np.array(["west", "east", "north"])[np.arange(24) % 3]
    ax = plot_folds(plan, sites=site, duplicates=person)
    fold = plan.to_frame().set_index("row")["fold"].reindex(range(24)).to_numpy()
    divided = {row for row in range(24) if fold[row] != fold[row ^ 1]}
    (marks,) = [line for line in ax.lines if line.get_gid() == "divided"]
    assert len(marks.get_xdata()) == len(divided)
    assert f"a duplicate is trained on ({len(divided)})" in [
        text.get_text() for text in ax.get_legend().get_texts()
    ]
    assert labels_of(ax.yaxis) == ["east", "north", "west"]
    edges = [line.get_ydata()[0] for line in ax.lines if line.get_gid() == "site"]
    assert edges == [7.5, 15.5]
    drawn = zip(marks.get_xdata(), marks.get_ydata(), strict=True)
    names = sorted(set(site))
    by_place = sorted((int(x), names[int(y) // 8]) for x, y in drawn)
    numbers = {name: at for at, name in enumerate(sorted(set(fold)))}
    assert by_place == sorted((numbers[fold[row]], site[row]) for row in divided)


def test_no_duplicate_is_divided_by_folds_of_persons():
    person = pd.Series(np.arange(24) // 2, name="person")
    data = table(24).assign(person=person)
    plan = scv.fold_plan("two", data, scheme="kfold", k=4, stratify="person", seed=1)
    ax = plot_folds(plan, duplicates=person)
    assert not [line for line in ax.lines if line.get_gid() == "divided"]


def test_sites_of_other_records_are_an_error():
    plan = plan_of(k=4)
    with pytest.raises(scv.errors.DataError, match="sites has 3 values"):
        plot_folds(plan, sites=[1, 2, 3])
    with pytest.raises(scv.errors.DataError, match="duplicates is missing in 1"):
        plot_folds(plan, duplicates=[None, *range(23)])
