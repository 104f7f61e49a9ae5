"""Updates per second of a DQN tree, against the same network and batch in eager PyTorch."""

from collections.abc import Iterator
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stumpery.benchmarks.runner import Benchmark
from stumpery.reinforcement import DQNTree
from stumpery.system.extras import need

N_CATEGORIES = (3, 5, 4, 4, 3, 2, 3, 3)  # those of Nursery
N_COLUMNS = len(N_CATEGORIES)
N_CLASSES, N_STREAM_ROWS, WARM_UP = 5, 6000, 1000
BATCH_SIZE, HIDDEN_WIDTH, N_PEER = 512, 32, 300


def benchmarks() -> Iterator[Benchmark]:
    """Training with one update per row, and with one update per column."""
    torch: dict[str, Any] = {"unit": "updates/s", "needs": "torch"}
    yield Benchmark(
        name="reinforcement/dqn/training",
        ours=lambda: ours(n_updates=1, n_rows=4000),
        peer=lambda: eager(trains=True),
        peer_name="eager PyTorch: rollout of a row, sampling and encoding of a batch, update",
        **torch,
    )
    yield Benchmark(
        name="reinforcement/dqn/updates",
        ours=lambda: ours(n_updates=None, n_rows=800),
        peer=lambda: eager(trains=False),
        peer_name="eager PyTorch: updates alone, of a prepared batch",
        **torch,
    )


@cache
def table() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of categories and their classes."""
    rng = np.random.default_rng(7)
    rows = np.stack([rng.integers(n, size=N_STREAM_ROWS) for n in N_CATEGORIES], axis=1)
    return rows, (rows[:, 0] * 2 + rows[:, 1] + 3 * (rows[:, 7] == 2) + rows[:, 3]) % N_CLASSES


@cache
def as_dicts() -> list[dict[str, str]]:
    """The same rows by column."""
    return [{f"column {column}": str(code) for column, code in enumerate(row)} for row in table()[0].tolist()]


def ours(n_updates: int | None, n_rows: int) -> float:
    """Updates per second after the warm-up, with rollouts, replay and encoding."""
    need("jax", "deep")
    rows, labels = as_dicts(), table()[1].tolist()
    model = DQNTree(warm_up=WARM_UP, batch_size=BATCH_SIZE, width=HIDDEN_WIDTH, n_updates=n_updates)
    model.learn_many(rows[: WARM_UP + 1], labels[: WARM_UP + 1])
    part = slice(WARM_UP + 1, WARM_UP + 1 + n_rows)
    start = perf_counter()
    model.learn_many(rows[part], labels[part])
    return n_rows * (n_updates or N_COLUMNS) / (perf_counter() - start)


def eager(*, trains: bool) -> float:
    """The same network, loss and optimiser in PyTorch, on one thread, which is fastest."""
    torch: Any = need("torch", "torch")
    torch.set_num_threads(1)
    torch.manual_seed(7)
    n_inputs, half = sum(N_CATEGORIES) + N_COLUMNS, BATCH_SIZE // 2
    online, target = (_network(torch, n_inputs) for _ in range(2))
    target.load_state_dict(online.state_dict())
    adam = torch.optim.Adam(online.parameters(), lr=1e-3)
    rows, labels = (torch.from_numpy(array) for array in table())
    ones = torch.cat([torch.nn.functional.one_hot(rows[:, c], n) for c, n in enumerate(N_CATEGORIES)], dim=1).float()
    ranks = torch.rand(rows.shape).argsort(dim=1)
    counts = torch.tensor(N_CATEGORIES)
    classes = torch.nn.functional.one_hot(labels, N_CLASSES).float()

    def encoded(indices: Any, seen: Any) -> Any:
        return torch.cat([ones[indices] * seen.repeat_interleave(counts, dim=1), (~seen).float()], dim=1)

    def rollout(row: int) -> None:
        seen = torch.zeros(1, N_COLUMNS, dtype=torch.bool)
        with torch.no_grad():
            for step in range(N_COLUMNS):
                q_values = online(encoded([row], seen))[0, :N_COLUMNS]
                preferences = torch.rand(N_COLUMNS) if torch.rand(()) < 0.5 else q_values
                column = int(preferences.masked_fill(seen[0], -1e9).argmax())
                seen[0, column], ranks[row, column] = True, step

    def batch() -> tuple[Any, ...]:
        indices = torch.randint(len(rows), (BATCH_SIZE,))
        step = torch.randint(N_COLUMNS, (BATCH_SIZE, 1))
        own = ranks[indices]
        after = own[:half] <= step[:half]
        closed = torch.cat([after, torch.zeros(half, N_CLASSES, dtype=torch.bool)], dim=1)
        action = (own[:half] == step[:half]).long().argmax(dim=1, keepdim=True)
        return encoded(indices, own < step), encoded(indices[:half], after), closed, action, classes[indices[half:]]

    def update(states: Any, after: Any, closed: Any, action: Any, right: Any) -> None:
        with torch.no_grad():
            query_target = target(after).masked_fill(closed, -1e9).max(dim=1).values.clamp(0.0, 1.0) - 0.001
        q_values = online(states)
        query_loss = (q_values[:half].gather(1, action)[:, 0] - query_target).square().mean()
        report_loss = (q_values[half:, N_COLUMNS:] - right).square().mean()
        adam.zero_grad()
        (query_loss + report_loss).backward()
        adam.step()

    ready = batch()
    for _ in range(20):
        update(*ready)
    start = perf_counter()
    for row in range(N_PEER):
        if trains:
            rollout(row)
        update(*(batch() if trains else ready))
    return N_PEER / (perf_counter() - start)


def _network(torch: Any, n_inputs: int) -> Any:
    layers = [
        each for size in (n_inputs, HIDDEN_WIDTH) for each in (torch.nn.Linear(size, HIDDEN_WIDTH), torch.nn.ReLU())
    ]
    return torch.nn.Sequential(*layers, torch.nn.Linear(HIDDEN_WIDTH, N_COLUMNS + N_CLASSES))
