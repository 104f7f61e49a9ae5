"""Arenas: kernels run over all rows, with growth in between, and state and workspace are pinned once."""

from typing import NamedTuple

import numpy as np

from stumpery.array_forest.arena import Arena


class Buffer(NamedTuple):
    values: np.ndarray
    n: np.ndarray


class Workspace(NamedTuple):
    copy: np.ndarray


class BufferArena(Arena):
    """Stores numbers in a buffer that doubles."""

    def __init__(self):
        super().__init__(Buffer(np.zeros(2), np.zeros(1, np.int64)), self._workspace)
        self.grown_for, self.seen = [], []

    def _workspace(self, state):
        return Workspace(np.zeros(len(state.values)))

    def grow(self, row):
        self.grown_for.append(row.tolist())
        self.state = Buffer(np.concatenate([self.state.values, np.zeros(len(self.state.values))]), self.state.n)

    def store(self, rows):
        def process(memory, start):
            self.seen.append(memory)
            n = int(self.state.n[0])
            stored = rows[start : start + len(self.state.values) - n, 0]
            self.state.values[n : n + len(stored)] = stored
            self.state.n[0] += len(stored)
            return len(stored)

        self.run(rows, process)


def test_all_rows_are_processed_and_the_arena_grows_for_the_first_that_does_not_fit():
    arena = BufferArena()
    arena.store(np.arange(7.0)[:, None])
    assert arena.state.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0]
    assert arena.grown_for == [[2.0], [4.0]]


def test_state_and_workspace_are_pinned_once_until_the_state_is_replaced():
    arena = BufferArena()
    arena.store(np.zeros((1, 1)))
    arena.store(np.zeros((1, 1)))
    arena.store(np.zeros((1, 1)))  # grows
    assert arena.seen[0] is arena.seen[1] is arena.seen[2]
    assert arena.seen[3] is not arena.seen[2]


def test_no_rows_pin_nothing():
    arena = BufferArena()
    arena.store(np.zeros((0, 1)))
    assert arena.seen == []
