"""The paper's datasets as bandit problems, where they are on this machine."""

import os

import pytest

from stumpery.studies.contextual import datasets

CONTEST = dict(datasets.CONTEST)
pytestmark = pytest.mark.data


def needs(dataset):
    if not os.environ.get("STUMPERY_DATA"):
        pytest.skip("STUMPERY_DATA names no folder of Parquet files")
    if not datasets.is_available(dataset):
        pytest.skip(f"{dataset} is not on this machine")


@pytest.mark.parametrize(("dataset", "n_bits", "n_actions"), [("covtype", 94, 7), ("adult", 119, 14)])
def test_the_bits_are_those_of_the_paper(dataset, n_bits, n_actions):
    needs(dataset)
    stream = datasets.bits(dataset)
    assert (stream.contexts.shape[1], len(stream.actions)) == (n_bits, n_actions)


@pytest.mark.parametrize("title", CONTEST)
def test_every_stream_of_the_contest_opens(title):
    needs(CONTEST[title].dataset)
    batch = next(CONTEST[title].open().batches(seed=1, size=50))
    assert len(batch.contexts) == len(batch.rewards) == 50
    assert (batch.rewards.sum(axis=1) == 1).all()
    if title == "Covertype":
        assert batch.contexts.width == 12
