"""Click predictors against plain Python, decision for decision."""

import math

import numpy as np
import pytest
from tests.reference import click_predictors as slow

import stumpery as st
from stumpery.clicks import univariate_bank_kernels
from stumpery.encoding import HashEncoder
from stumpery.jit import INTERPRETED, kernel
from stumpery.summaries.quantile_streams_kernels import new_quantile_streams

pytestmark = pytest.mark.kernels

N = 300 if INTERPRETED else 2500
KINDS = {
    "stump": (st.clicks.Stump, {}),
    "stump of the printed criterion": (st.clicks.Stump, {"criterion": "sum"}),
    "one versus all": (st.clicks.OneVersusAll, {"column": "name"}),
    "rule": (st.clicks.OneRule, {"max_tuples": 4}),
    "rule of 0 and 1": (st.clicks.OneRule, {"max_tuples": 6, "binary": True}),
    "tree": (st.clicks.UnivariateTree, {"min_samples_split": 100, "max_leaves": 8}),
}
TWINS = {
    st.clicks.Stump: "stump",
    st.clicks.OneVersusAll: "one_versus_all",
    st.clicks.OneRule: "one_rule",
    st.clicks.UnivariateTree: "tree",
}


def stream(n, seed=4):
    """Rows of one number, one column of few values and one name, and their clicks."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        x, few = rng.normal(), float(rng.integers(0, 6))
        rows.append({"x": None if rng.random() < 0.1 else x, "few": few, "name": f"v{rng.integers(0, 9)}"})
    odds = [(row["x"] or 0) > 0.5 or row["name"] == "v3" for row in rows]
    return rows, [bool(rng.random() < (0.4 if odd else 0.05)) for odd in odds]


def twin_of(model):
    options = {"most": model.max_tuples, "weighted": model.criterion == "weighted", "prior": model.prior, "m": model.m}
    if isinstance(model, st.clicks.UnivariateTree):
        options |= {"min_samples_split": model.min_samples_split, "n_leaves": model.max_leaves}
    return slow.Univariate(TWINS[type(model)], binary=getattr(model, "binary", False), **options)


@pytest.mark.parametrize("name", KINDS)
def test_a_predictor_equals_its_slow_twin(name):
    kind, options = KINDS[name]
    options = {"column": "x", "prior": 0.1, "m": 10.0, **options}
    model = kind(**options, schema=st.Schema.of({"x": "numerical", "few": "numerical", "name": "categorical"}))
    twin = twin_of(model)
    rows, clicks = stream(N)
    encoder = HashEncoder(schema=model.schema)
    place = model.schema.names.index(options["column"])
    for event, (row, click) in enumerate(zip(rows, clicks, strict=True)):
        value = float(encoder.encode_one(row)[place])
        if event % 7 == 0:
            assert model.score_many([row])[0] == pytest.approx(twin.predict(value), rel=1e-12)
        weight = 1 + event % 3
        model.learn_one(row, click, w=weight)
        twin.learn(value, int(click), weight)


def test_a_univariate_tree_finds_an_interval_of_clicks_on_either_side():
    n, found = 6000, []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values, draws = rng.random(n), rng.random(n)
        clicks = draws < np.where((values > 0.90) & (values <= 0.92), 0.5, 0.1)
        for mirrored in (False, True):
            model = st.clicks.UnivariateTree(
                schema=st.Schema.of({"x": "numerical"}), min_samples_split=100, max_leaves=12, m=10.0
            )
            model.learn_many(1.0 - values[:, np.newaxis] if mirrored else values[:, np.newaxis], clicks)
            inside = np.linspace(0.904, 0.916, 13)[:, np.newaxis]
            found.append(model.predict_proba_many(1.0 - inside if mirrored else inside)[:, 1].mean())
    straight, mirrored = np.mean(found[::2]), np.mean(found[1::2])
    assert min(straight, mirrored) > 0.3
    assert straight == pytest.approx(mirrored, rel=0.25)


def test_log_odds_are_the_sum_of_the_log_ratios_of_slow_twins():
    tree = st.clicks.UnivariateTree(categories=True, prior=0.1, m=30.0, min_samples_split=100, max_leaves=6)
    model = st.clicks.LogOdds(
        predictors=[tree], schema=st.Schema.of({"x": "numerical", "few": "numerical", "name": "categorical"})
    )
    options = {"prior": 0.1, "m": 30.0, "min_samples_split": 100, "n_leaves": 6, "contributes": True}
    twins = [slow.Univariate("tree", **options) for _ in range(3)]
    for event, (row, click) in enumerate(zip(*stream(N), strict=True)):
        values = model._encoder.encode_one(row).tolist()
        if event % 5 == 0 and event > 40:  # by then every twin has cut once
            added = sum(twin.predict(value) for twin, value in zip(twins, values, strict=True))
            assert model.score_many([row])[0] == pytest.approx(added, rel=1e-9, abs=1e-12)
        model.learn_one(row, click)
        for twin, value in zip(twins, values, strict=True):
            twin.learn(value, int(click))


def test_thinned_rows_count_for_those_left_out():
    model = st.clicks.LogOdds(predictors=[st.clicks.Stump(m=1.0)], thin=4, schema=st.Schema.of({"x": "numerical"}))
    model.learn_many([{"x": float(event)} for event in range(400)], [event % 10 == 0 for event in range(400)])
    streams = model._bank.univariate.streams
    assert (
        streams.counts[0, : streams.sizes[0]].sum() + (streams.buffer_labels[0, : streams.n_buffered[0]] // 2).sum()
        == 400
    )
    assert model.predict_proba_one({"x": 3.0})[True] == pytest.approx(0.1, abs=0.05)


def test_every_hash_function_orders_categories_differently():
    model = st.clicks.HashedStump(n_hashes=5, column="name", schema=st.Schema.of({"name": "categorical"}))
    rows, clicks = stream(200)
    model.learn_many(rows, clicks)
    streams = model._bank.univariate.streams
    orders = {tuple(streams.counts[p, : streams.sizes[p]].sum(axis=1).tolist()) for p in range(5)}
    assert len(orders) > 3
    assert len({sum(order) for order in orders}) == 1


@pytest.mark.parametrize("tau", [0.0, 0.08])
def test_a_hoeffding_tree_equals_its_slow_twin(tau):
    options = {"prior": 0.1, "m": 20.0, "delta": 1e-3, "tau": tau, "max_depth": 4}
    model = st.clicks.RandomHoeffdingTree(n_features=3, grace_period=50, max_leaves=100, **options)
    rows, clicks = stream(N, seed=8)
    clicks = [click or row["name"] in ("v1", "v3") for click, row in zip(clicks, rows, strict=True)]
    twin = slow.HoeffdingTree(range(3), grace=50, **options)
    for event, (row, click) in enumerate(zip(rows, clicks, strict=True)):
        model.learn_one(row, click, w=1 + event % 2)
        encoded = model._encoder.encode_one(row).tolist()
        twin.learn(encoded, int(click), 1 + event % 2)
        if event % 5 == 0:
            assert model.score_many([row])[0] == pytest.approx(twin.predict(encoded), rel=1e-12)
    if not INTERPRETED:
        assert twin.root["cut"], "nothing was tested if the tree stayed a leaf"


def test_a_tree_without_free_slots_goes_on_counting():
    model = st.clicks.RandomHoeffdingTree(n_features=2, grace_period=20, tau=1.0, max_leaves=2)
    rows, clicks = stream(N)
    model.learn_many(rows, clicks)
    before = model.n_bytes
    model.learn_many(rows, clicks)
    assert model.n_bytes == before
    (bank,) = model._bank.tree_banks
    assert bank.used[1] == 2
    assert bank.counts[0].tolist() == [2 * clicks.count(False), 2 * clicks.count(True)]


def test_alone_a_stump_uses_the_column_with_the_best_cut():
    rng = np.random.default_rng(1)
    rows = [{"noise": rng.random(), "told": rng.random(), "more": rng.random()} for _ in range(2000)]
    model = st.clicks.Stump()
    model.learn_many(rows, [row["told"] > 0.7 for row in rows])
    assert model.predict_one({"told": 0.9, "noise": 0.1})
    assert not model.predict_one({"told": 0.2, "noise": 0.9})
    contributions = model.contributions({"told": 0.9, "noise": 0.1})
    assert contributions["told"] > 0
    assert contributions["noise"] == contributions["more"] == 0


def test_the_summary_of_the_challenge_takes_less_than_300_kilobytes():
    streams = new_quantile_streams(120, 100, 2, univariate_bank_kernels.BUFFER_SIZE, np.int32)
    assert sum(array.nbytes for array in streams) <= 300_000


@kernel
def halve(streams, stream):
    univariate_bank_kernels.halve_counts(streams, stream)


def test_counts_are_halved_before_32_bits_overflow():
    streams = new_quantile_streams(1, 4, 2, 4, np.int32)
    streams.sizes[0] = 2
    streams.counts[0, :2] = [[2**30, 6], [5, 1]]
    streams.deltas[0, :2] = [0, 3]
    halve(streams, 0)
    assert streams.counts[0, :2].tolist() == [[2**29, 3], [3, 1]]
    assert streams.deltas[0, :2].tolist() == [0, 2]


def test_a_value_that_never_came_with_a_click_ranks_below_one_that_did():
    model = st.clicks.UnivariateTree(categories=True, min_samples_split=10)
    model.learn_many([{"item": name} for name in ["a", "b", "c", "d"] * 100], [0, 1, 0, 0] * 100)
    probabilities = [model.predict_proba_one({"item": name})[True] for name in "abcd"]
    assert probabilities[1] == max(probabilities)
    assert math.isclose(model.predict_proba_one({})[True], model.prior)
