"""Test, then learn: figures against a plain loop."""

import math
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support import refused

import stumpery as st


class Echo:
    """Says what came last."""

    def __init__(self):
        self.last = "b"

    def predict_proba_one(self, x):
        return {self.last: 0.8, "c": 0.2}

    def learn_one(self, x, y):
        self.last = y


class Mean:
    """Says 1."""

    def predict_one(self, x):
        return 1.0

    def learn_one(self, x, y):
        pass


LABELS = [["a", "b", "c"][event * event % 7 % 3] for event in range(100)]
ROWS = [{"x": float(event)} for event in range(100)]


def test_the_figures_are_those_of_a_plain_loop():
    result = st.prequential({"echo": Echo()}, ROWS, LABELS, window=10, fading=0.9, every=20)
    guesses = ["b", *LABELS[:-1]]
    right = [guess == label for guess, label in zip(guesses, LABELS, strict=True)]
    curves = result.curves["echo"]
    assert result.checkpoints.tolist() == [20, 40, 60, 80, 100]
    assert curves["cumulative"]["accuracy"][-1] == pytest.approx(np.mean(right))
    assert curves["windowed"]["accuracy"][2] == pytest.approx(np.mean(right[50:60]))
    weights = 0.9 ** np.arange(99, -1, -1)
    assert curves["fading"]["accuracy"][-1] == pytest.approx((weights * right).sum() / weights.sum())
    probabilities = [0.8 * (g == y) + 0.2 * (y == "c") for g, y in zip(guesses, LABELS, strict=True)]
    lost = [
        -math.log(max(probability if g != "c" or y != "c" else 0.2, 1e-15))
        for g, y, probability in zip(guesses, LABELS, probabilities, strict=True)
    ]
    assert curves["cumulative"]["log_loss"][-1] == pytest.approx(np.mean(lost))


def test_kappa_agrees_with_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    result = st.prequential({"echo": Echo()}, ROWS, LABELS, every=30, window=45, fading=0.97)
    guesses, ways = ["b", *LABELS[:-1]], result.curves["echo"]
    faded = 0.97 ** np.arange(99, -1, -1)
    for place, end in enumerate(result.checkpoints.tolist()):
        parts = {
            "cumulative": (slice(end), None),
            "windowed": (slice(max(end - 45, 0), end), None),
            "fading": (slice(end), faded[100 - end :]),
        }
        for way, (part, weights) in parts.items():
            expected = cohen_kappa_score(LABELS[part], guesses[part], sample_weight=weights)
            assert ways[way]["kappa"][place] == pytest.approx(expected), way


def test_many_classes_take_no_table_of_all_events_and_classes():
    labels = [f"class {event % 900}" for event in range(5_000)]
    rows = [{"x": float(event)} for event in range(5_000)]
    tracemalloc.start()
    st.prequential({"echo": Echo()}, rows, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000 * 900 * 4


def test_our_models_are_measured_the_same_in_chunks_and_one_by_one():
    class OneByOne:
        def __init__(self):
            self.model = st.HoeffdingTreeClassifier()
            self.predict_proba_one, self.learn_one = self.model.predict_proba_one, self.model.learn_one

    models = {"ours": st.HoeffdingTreeClassifier(), "slow": OneByOne()}
    result = st.prequential(models, ROWS, LABELS, every=30)
    for metric in ("accuracy", "kappa"):
        ours, slow = (result.curves[name]["cumulative"][metric] for name in models)
        assert ours == pytest.approx(slow)
    assert math.isnan(result.n_bytes["slow"][-1])
    assert result.n_bytes["ours"][-1] == models["ours"].n_bytes


def test_numbers_are_measured_by_their_errors():
    numbers = [float(event % 3) for event in range(99)]
    result = st.prequential(Mean(), ROWS[:99], numbers)
    final = result.final()[0]
    assert final["mae"] == pytest.approx(2 / 3)
    assert final["rmse"] == pytest.approx(math.sqrt(2 / 3))
    assert final["r2"] == pytest.approx(0.0)


def test_it_becomes_a_frame_a_picture_and_lines_of_progress():
    lines = []
    result = st.prequential({"echo": Echo()}, ROWS, LABELS, every=50, progress=lines.append)
    assert [line.split("]")[0] for line in lines] == ["echo [50", "echo [100"]
    assert result.to_frame().shape == (2, 13)
    assert result.plot(metric="kappa", estimate="fading").get_ylabel() == "fading kappa"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, ROWS, LABELS), "models is empty"),
        ((Echo(), ROWS, LABELS[:5]), "100 rows and 5 labels"),
        ((Echo, ROWS, LABELS), "must have learn_one"),
        (({"a": Echo(), "b": Mean()}, ROWS, LABELS), "must be of one kind"),
        ((SimpleNamespace(learn_one=print), ROWS, LABELS), "must have learn_one and predict_one"),
        ((Mean(), ROWS, ["a"] * 100), "a label is 'a'; it must be a number"),
        ((Echo(), [1.0] * 100, LABELS), "a row is 1.0; it must be a dict"),
        ((Echo(), np.ones(100), LABELS), "a row is .*1.0.*; it must be a dict"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(st.InvalidInput, match=message):
        st.prequential(*arguments)


def test_a_progress_that_is_no_function_is_refused():
    with refused(naming="^progress is 3; it must be a function or None$"):
        st.prequential(Echo(), ROWS, LABELS, progress=3)


def test_a_wrong_label_is_refused_before_anything_is_learned():
    rows = [{"x": place} for place in range(100)]
    for model, label in ((st.HoeffdingTreeRegressor(), "a"), (st.HoeffdingTreeClassifier(), None)):
        with refused(model, naming="^a label is "):
            st.prequential(model, rows, [1.0] * 99 + [label])


def test_a_window_and_steps_beyond_the_stream_are_those_of_all_of_it():
    whole, beyond = (st.prequential(Echo(), ROWS, LABELS, window=n, every=n) for n in (100, 2**70))
    assert beyond.checkpoints.tolist() == [100]
    assert beyond.curves["Echo"]["windowed"]["accuracy"] == whole.curves["Echo"]["windowed"]["accuracy"]


@pytest.mark.parametrize(("predicted", "r2"), [(1e15, 1.0), (0.0, 0.0)])
def test_numbers_that_do_not_vary_have_the_r2_of_scikit_learn(predicted, r2):
    constant = SimpleNamespace(learn_one=lambda x, y: None, predict_one=lambda x: predicted)
    curves = st.prequential(constant, ROWS[:4], [1e15] * 4).curves["SimpleNamespace"]
    assert curves["cumulative"]["r2"][-1] == r2
