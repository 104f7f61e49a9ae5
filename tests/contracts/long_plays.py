"""Long streams: forests grow until memory runs short, remember repeated contexts, and meet a drift.

They take too long for kernels that run as plain Python.
"""

import numpy as np
from tests.contracts.plays import DELAY, Said, reloaded

import stumpery as st

N = 24_000
N_CHUNKS = 8
N_AGAIN = 300  # repeated contexts
ACTIONS = ("a", "b", "c", "d")


def make_stream(seed, by_digits=True):
    """Rows of five numbers with gaps, and which of four things fits each.

    Half of the rows come again and again. What fits depends on cells of a grid and, `by_digits`, on what no tree can
    follow. Half-way it becomes the opposite: a drift. One number is whole and small in the first third, then it is not.
    """
    rng = np.random.default_rng(seed)
    again = rng.random((N_AGAIN, 5))
    rows = np.where(rng.random((N, 1)) < 0.5, again[rng.integers(0, N_AGAIN, N)], rng.random((N, 5)))
    cells = (rows[:, 0] * 3).astype(int) + (rows[:, 1] * 3).astype(int)
    fits = (cells + by_digits * (1e4 * rows[:, 2]).astype(int) % 2) % 4
    fits[N // 2 :] = 3 - fits[N // 2 :]
    rows[: N // 3, 4] = np.floor(20.0 * rows[: N // 3, 4])
    rows[rng.random((N, 5)) < 0.03] = np.nan
    return rows, fits


def chunks():
    return [slice(start, start + N // N_CHUNKS) for start in range(0, N, N // N_CHUNKS)]


def reward_forest(noise, **options):
    """Grow, evict events and splits, detect the drift; decide and learn late in between; save and load."""
    rows, fits = make_stream(seed=6)
    expected = noise + (1.0 - 2.0 * noise) * (fits[:, None] == np.arange(4))
    rewards = (np.random.default_rng(7).random((N, 4)) < expected).astype(float)
    policy = st.RewardForest(actions=ACTIONS, seed=5, **options)
    decisions, probabilities = [], []
    for number, chunk in enumerate(chunks()):
        late = policy.decide_many(rows[chunk][:DELAY])
        result = policy.play(rows[chunk], rewards[chunk])
        policy.learn_many(late, rewards[chunk][:DELAY, 0])
        decisions += [list(late.actions), result.actions, policy.n_leaves]
        probabilities += [late.probabilities, result.probabilities]
        if number % 3 == 2:
            policy = reloaded(policy)
    assert policy.n_drifts > 0, "no drift was detected"
    assert policy.context_shrinkage > 0.0, "no context was remembered"
    return Said([policy], decisions, probabilities)


def stream_forest(kind, **options):
    """Replace trees after the drift, and forget what does not fit into memory; save and load."""
    rows, fits = make_stream(seed=8, by_digits=False)
    model = kind(n_models=3, grace_period=25, tau=0.2, seed=3, **options)
    predictions, n_leaves = [], [0]
    for number, chunk in enumerate(chunks()):
        for part in np.array_split(np.arange(N)[chunk], 10):
            predictions.append(model.test_then_learn(rows[part], fits[part].astype(float)))
            n_leaves.append(model.n_leaves)
        if number % 3 == 2:
            model = reloaded(model)
    assert (np.diff(n_leaves) < 0).any(), "no tree was replaced"
    return Said([model], [predictions, n_leaves], [])


def bandit_forest():
    """Grow until no memory is left."""
    rows, fits = make_stream(seed=9)
    bits = (np.nan_to_num(rows) * 4).astype(int) % 2
    policy = st.BanditForest(actions=ACTIONS, n_trees=5, max_depth=5, delta=0.5, epsilon=0.5, max_bytes=12_000, seed=5)
    half = N // 2
    first = policy.play(bits[:half], np.eye(4)[fits[:half]])
    policy = reloaded(policy)
    second = policy.play(bits[half:], np.eye(4)[fits[half:]])
    return Said([policy], [first.actions, second.actions], [first.probabilities, second.probabilities])


def long_cases():
    """A label and a function for each long play."""
    yield "RewardForest (long, 90 KB)", lambda: reward_forest(0.02, n_trees=3, max_bytes=90_000)
    yield "RewardForest (long, 130 KB)", lambda: reward_forest(0.0, n_trees=6, max_bytes=130_000)
    yield "RewardForest (long, 400 KB)", lambda: reward_forest(0.1, n_trees=8, max_bytes=400_000)
    yield "RewardForest (long, 16 MB)", lambda: reward_forest(0.1, n_trees=12, max_bytes=16_000_000)
    for kind in (st.ForestClassifier, st.ForestRegressor):
        for n_bytes, label in ((150_000, "150 KB"), (4_000_000, "4 MB")):
            play = lambda kind=kind, n_bytes=n_bytes: stream_forest(kind, max_bytes=n_bytes)  # noqa: E731
            yield f"{kind.__name__} (long, {label})", play
    yield "BanditForest (long)", bandit_forest
