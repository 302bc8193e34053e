"""Intervals pooled over imputed data sets cover the truth."""

from studies import pooling


def test_pooled_intervals_cover_and_are_narrower_than_those_of_complete_cases():
    table = pooling.stored("coverage").set_index(["data", "n", "metric"]).sort_index()
    assert (table["samples"] == 300).all()
    own = table.loc["imputed"]
    assert (own["coverage"] > 0.95 - 3 * own["coverage_se"]).all()
    assert (own["bias"].abs() < 3 * own["bias_se"]).all()
    assert (own["width"] > table.loc["complete", "width"]).all()
    assert (own["width"] < table.loc["complete cases", "width"]).all()
    assert own["fraction_missing"].between(0.1, 0.3).all()


def test_imputation_inside_is_unbiased_where_the_usual_order_flatters_noise():
    table = pooling.stored("inside").set_index(["metric", "order", "population"])
    found = table.loc["auroc"]
    assert (found["samples"] == 300).all()
    error = found["bias"].abs() / found["bias_se"]
    assert (error["inside"] < 1).all()
    assert error["before", "noise"] > 3
    assert (found["coverage"] > 0.95 - 2 * found["coverage_se"]).all()
    made = pooling.inside(1, seed=2)
    names = ["population", "metric", "order"]
    assert made[names].equals(pooling.stored("inside")[names])


def test_a_run_has_a_row_for_each_size_metric_and_kind_of_data():
    found, known = pooling.coverage(1, seed=2), pooling.stored("coverage")
    assert found.columns.tolist() == known.columns.tolist()
    names = ["n", "metric", "data"]
    assert found[names].equals(known[names])
