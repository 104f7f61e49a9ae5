"""Adapters of other libraries, with a stand-in for Vowpal Wabbit; the real ones where they are installed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from stumpery.studies.contextual import peers

ALL = {**peers.PEERS, **peers.ONE_PASS_PEERS}
CONTEXTS = np.random.default_rng(1).normal(5.0, 3.0, size=(300, 3))
REWARDS = np.column_stack([CONTEXTS[:, 0] > 5, CONTEXTS[:, 0] <= 5]).astype(float)


class Workspace:
    """What of Vowpal Wabbit's class is called."""

    def __init__(self, options):
        self.options, self.learned = options, []

    def predict(self, row):
        return [1.0, 0.0]

    def learn(self, row):
        self.learned.append(row)


def test_vowpal_wabbit_is_told_actions_from_1_costs_and_chances(monkeypatch):
    monkeypatch.setitem(sys.modules, "vowpalwabbit", SimpleNamespace(Workspace=Workspace))
    peer = peers.VowpalWabbit(actions=["a", "b"], seed=2**40, options="-q ::")
    played = peer.play(np.array([[0, 1], [1, 0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert played.actions.tolist() == [0, 0]
    assert peer._model.learned == ["1:-1:1 | x1:1", "1:-0:1 | x0:1"]
    assert "--cb_explore 2 --squarecb" in peer._model.options
    assert peer._model.options.endswith("-q ::")


def test_vowpal_wabbit_sees_numbers_in_bins_where_it_should(monkeypatch):
    monkeypatch.setitem(sys.modules, "vowpalwabbit", SimpleNamespace(Workspace=Workspace))
    peer = peers.VowpalWabbit(actions=["a", "b"], seed=1, exploration="--bag 5", is_binned=True)
    peer.play(np.column_stack([np.arange(160.0), np.arange(160) % 2]), np.ones((160, 2)))
    shown = [line.partition("| ")[2] for line in peer._model.learned]
    assert shown[0] == "x0b0"
    assert shown[85] == "x0b8 x1"
    assert len({line.split()[0] for line in shown}) == peers.N_BINS
    assert "--cb_explore 2 --bag 5" in peer._model.options


def test_a_library_that_cannot_be_imported_is_not_there(monkeypatch):
    monkeypatch.setattr(peers, "PEERS", ALL)
    for module, _ in ALL.values():
        monkeypatch.setitem(sys.modules, module, None)
    assert peers.installed() == {}


def test_numbers_are_standardised_by_the_first_rows_and_missing_values_are_0():
    contexts = [{"age": age, "device": "phone" if age % 2 else "desktop", "same": 7} for age in range(50)]
    vectors = peers.Vectors(contexts)
    rows = vectors(contexts)
    assert rows[:, 0].mean() == pytest.approx(0)
    assert rows[:, 0].std() == pytest.approx(1)
    assert (rows[:, -1] == 1).all()
    assert vectors([{}])[0].tolist() == [0.0] * (rows.shape[1] - 1) + [1.0]
    assert vectors([{"age": 1e9}])[0, 0] == peers.MAX_DEVIATION


@pytest.mark.parametrize("name", ALL)
@pytest.mark.filterwarnings("default")
def test_an_installed_peer_learns(name):
    module, maker = ALL[name]
    pytest.importorskip(module)
    peer = maker(actions=["a", "b"], seed=1)
    played = peer.play(CONTEXTS, REWARDS)
    assert REWARDS[np.arange(300), played.actions][150:].mean() > 0.7
    assert ((played.probabilities > 0) & (played.probabilities <= 1)).all()
    assert peer.n_bytes > 0
