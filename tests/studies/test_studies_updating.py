"""The gain of updating at simulated hospitals."""

from studies import updating


def test_the_cross_validated_gain_is_nearer_to_the_truth_than_the_apparent_one():
    table = updating.stored("gain").set_index(["metric", "n", "method"]).sort_index()
    assert (table["hospitals"] == 400).all()
    for metric in ("log_loss", "brier"):
        own = table.loc[metric]
        assert (own["truth"] < 0).all()
        assert (own["cv_bias"].abs() < 3 * own["cv_bias_se"] + 0.001).all()
        # the same records served for the update, and their gain is too good
        assert (own["apparent_bias"] < -1.9 * own["apparent_bias_se"]).all()


def test_a_run_has_a_row_for_each_size_method_and_metric():
    found = updating.gain(2, seed=2)
    known = updating.stored("gain")
    assert found.columns.tolist() == known.columns.tolist()
    names = ["n", "method", "metric"]
    assert found[names].equals(known[names])
