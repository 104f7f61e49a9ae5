"""The compiled loop of DQN against its slow twin, step by step."""

import jax
import numpy as np
import pytest
from tests.reference.dqn import DQN

from stumpery.encoding.online_encoder import OnlineEncoder
from stumpery.reinforcement.discretisation import Discretisation
from stumpery.reinforcement.training import dqn, network
from stumpery.reinforcement.training.agent_state import Chunk, ColumnMoments, new_agent_state

N, WARM, SIZE = 23, 14, 64


def some_rows(seed=3, n=N):
    rng = np.random.default_rng(seed)
    rows = [
        {"x": float(rng.normal()), "name": str(rng.choice(list("abc"))), "y": float(rng.integers(5))} for _ in range(n)
    ]
    for row in rows[1:]:
        if rng.random() < 0.3:
            row[str(rng.choice(["x", "name", "y"]))] = None
    return rows, rng.integers(3, size=n)


def prepared():
    rows, labels = some_rows()
    known, floats = OnlineEncoder.from_rows(rows, 10).extend(rows)
    cells = Discretisation.of(known.schema, floats, 4).extended(floats, known.is_categorical)
    state = new_agent_state(7, 16, 3, 4, 8, SIZE)
    codes, numbers = cells.coded(floats)
    return state, cells.span_arrays(16), codes, numbers, labels.astype(np.int32)


@pytest.mark.parametrize(
    "kind",
    [{}, {"double": True}, {"all_reports": False}, {"all_reports": False, "legal_targets": False}],
    ids=["ours", "double", "one report", "as printed"],
)
def test_the_loop_equals_its_twin(kind):
    state, spans, codes, numbers, labels = prepared()
    options = {"price": 0.05, "epsilon": 0.5, "rate": 0.01, "target_every": 4}
    settings = dqn.DQNSettings(batch=8, **kind)
    slow = DQN(state, spans, batch=8, **{"double": False, "all_reports": True} | kind, **options)
    for start, stop, n_updates in ((0, WARM, 0), (WARM, N, 1)):
        rule = dqn.DQNOptions(*map(np.float32, (0.05, 0.5, 0.01)), *map(np.int32, (4, n_updates, n_updates)))
        padded = [np.resize(each[start:stop], (WARM, *each.shape[1:])) for each in (codes, numbers, labels)]
        chunk = Chunk(*padded)  # of one length, so that one program serves both
        state, _ = dqn.run(state, spans, rule, chunk, np.int32(stop - start), settings)
        for place in range(start, stop):
            slow.learn(codes[place].tolist(), numbers[place].tolist(), int(labels[place]), updates=bool(n_updates))
    assert np.asarray(state.memory.ranks)[:N].tolist() == [row[2] for row in slow.rows]
    for name, expected in slow.weights.items():
        assert np.allclose(getattr(state.weights, name), expected, atol=2e-5), name
        assert np.allclose(getattr(state.target, name), slow.target[name], atol=2e-5), name
    assert not np.allclose(state.weights.into, state.target.into, atol=2e-5)


def test_picking_vectors_equals_multiplying_by_ones_and_zeros():
    rng = np.random.default_rng(5)
    cells = Discretisation.of_names(np.array([7, 5]))
    picks, multiplies = cells.span_arrays(12), cells.span_arrays(12)._replace(index=np.zeros((2, 0), np.int32))
    assert picks.index.shape == (2, 12)
    codes = np.stack([rng.integers(-1, 7, 20), rng.integers(-1, 5, 20)], axis=1).astype(np.int16)
    seen = (codes >= 0) & (rng.random((20, 2)) < 0.7)
    into = rng.normal(size=(12, 4)).astype(np.float32)
    found = [network.embed(into, spans, codes, seen) for spans in (picks, multiplies)]
    assert np.allclose(*found, atol=1e-6)
    assert np.abs(found[0]).max() > 0.5


def test_rows_about_which_the_network_is_wrong_are_sampled_more_often():
    memory = new_agent_state(0, 4, 2, 2, 4, 8).memory
    memory = memory._replace(
        priorities=np.array([1, 1, 9, 1, 5, 5, 5, 5], np.float32), filled=np.int32(4), time=np.int32(4)
    )
    draws = np.random.default_rng(1).random(8000).astype(np.float32)
    places, weights = dqn.replay_sample(memory, draws, 1.0)
    shares = np.bincount(np.asarray(places), minlength=8) / len(draws)
    assert shares == pytest.approx([1 / 12, 1 / 12, 9 / 12, 1 / 12, 0, 0, 0, 0], abs=0.02)
    assert np.unique(np.asarray(weights)).tolist() == pytest.approx([1 / 3, 1.0])


def test_a_rise_of_mistakes_makes_it_forget_all_but_the_latest_rows():
    state = new_agent_state(0, 4, 2, 2, 4, 5000)
    state = state._replace(memory=state.memory._replace(filled=np.int32(4000), time=np.int32(4000)))
    for _ in range(100):
        state = dqn.drift_reset(state, np.float32(0.0))
    assert int(state.memory.filled) == 4000
    for _ in range(100):
        state = dqn.drift_reset(state, np.float32(1.0))
    assert int(state.memory.filled) == dqn.N_AFTER_DRIFT


def test_counters_never_run_over():
    state = new_agent_state(0, 4, 2, 2, 4, 8)
    row = Chunk(np.zeros(2, np.int16), np.zeros(2, np.float32), np.int32(0))
    remembered, memory, places = jax.jit(dqn.replay_append), state.memory, []
    for _ in range(40):
        places.append(int(memory.time) % 8)
        memory = remembered(memory, row, np.zeros(2, np.int16))
        assert int(memory.time) < 16
    assert places == [place % 8 for place in range(40)]
    late = state.adam._replace(count=np.int32(network.MAX_STEPS))
    _, adam = network.adam_step(state.weights, late, state.weights, np.float32(0.1))
    assert 100_000 < int(adam.count) < network.MAX_STEPS


def test_moments_follow_a_stream_that_never_ends():
    count = np.full(1, network.MAX_MOMENT_ROWS, np.float32)
    moments = ColumnMoments(count, np.zeros(1, np.float32), 4.0 * count)
    for _ in range(100):
        moments = network.update_moments(moments, np.full(1, 2.0, np.float32), np.ones(1, bool))
    assert float(moments.count[0]) == network.MAX_MOMENT_ROWS
    assert float(moments.squares[0] / moments.count[0]) == pytest.approx(4.0, rel=1e-4)
    assert float(moments.squares[0]) < 4.0 * network.MAX_MOMENT_ROWS + 1.0
