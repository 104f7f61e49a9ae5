"""The generator of Adobe's shape."""

import numpy as np
import pytest

from stumpery.encoding import HashEncoder, Schema
from stumpery.streams import ClickLog


@pytest.fixture(scope="module")
def rows():
    return next(ClickLog().blocks(seed=3, size=60_000))


def test_the_shape_is_adobes(rows):
    log = ClickLog()
    assert rows.matrix.shape == (60_000, 120)
    assert list(log.kinds.values()).count("numerical") == 99
    assert list(log.kinds)[-1] == "option"
    n_values = [len(np.unique(column[column >= 0])) for column in rows.codes.T]
    assert max(n_values) == n_values[-1] == 37
    assert 0.0020 < rows.probabilities.mean() < 0.0028
    assert 0.01 < np.isnan(rows.matrix).mean() < 0.03


def test_clicks_come_with_their_stated_probabilities(rows):
    expected = rows.probabilities.sum()
    assert abs(rows.clicks.sum() - expected) < 4 * np.sqrt(expected)
    likely = rows.probabilities > np.quantile(rows.probabilities, 0.9)
    assert rows.clicks[likely].mean() == pytest.approx(rows.probabilities[likely].mean(), rel=0.3)


def test_the_same_seed_gives_the_same_rows_whatever_the_size():
    log = ClickLog()
    whole = next(log.blocks(seed=5, size=6000))
    pieces = log.blocks(seed=5, size=1500)
    for start in range(0, 6000, 1500):
        piece = next(pieces)
        assert piece.matrix.tobytes() == whole.matrix[start : start + 1500].tobytes()
        assert piece.clicks.tolist() == whole.clicks[start : start + 1500].tolist()
    other = next(log.blocks(seed=6, size=6000))
    assert other.matrix.tobytes() != whole.matrix.tobytes()


def test_a_frame_encodes_to_the_same_matrix():
    log = ClickLog()
    rows = next(log.blocks(seed=5, size=300))
    encoder = HashEncoder(schema=Schema.of(log.kinds))
    assert np.array_equal(encoder.encode_many(log.frame(rows)), rows.matrix, equal_nan=True)


def test_numbers_tell_by_one_to_three_intervals():
    model = ClickLog()._click_model(4)
    n_intervals = 1 + np.isfinite(model.cuts).sum(axis=1)
    assert set(n_intervals.tolist()) == {1, 2, 3}


def test_no_strength_means_one_chance_for_all():
    rows = next(ClickLog(strength=0.0, missing=0.0).blocks(seed=1, size=1000))
    assert np.allclose(rows.probabilities, 0.0024)
    assert not np.isnan(rows.matrix).any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_numbers": 0},
        {"n_names": 0},
        {"most_values": 1},
        {"n_pairs": -1},
        {"strength": -1},
        {"rate": 0},
        {"missing": 1},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        ClickLog(**wrong)


@pytest.mark.parametrize("options", [{"strength": 100.0}, {"rate": 1e-9}, {"rate": 0.9}], ids=str)
def test_the_share_of_clicks_is_the_stated_one_for_all_options(options):
    log = ClickLog(n_numbers=9, n_names=3, most_values=5, **options)
    probabilities = next(log.blocks(seed=2, size=20_000)).probabilities
    assert probabilities.mean() == pytest.approx(log.rate, rel=0.3)
