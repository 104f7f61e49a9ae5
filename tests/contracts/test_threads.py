"""Whatever several threads do with a model, the result is that of one call after the other; a new model is found here.

STUMPERY_STRESS_S says for how many seconds threads use each model: a moment in the suite, a minute in a long run.
"""

import faulthandler
import os
import time
from copy import deepcopy
from threading import Event, Thread

import numpy as np
import pytest
from tests.support import bits_of, public, run

import stumpery as st
from stumpery.clicks import ClickModel
from stumpery.ensembles.batch_ensemble import BatchEnsemble
from stumpery.ensembles.online_ensemble import OnlineEnsemble
from stumpery.locks import all_exclusive, concurrent
from stumpery.models import Model
from stumpery.policies import ContextualPolicy, Policy
from stumpery.reinforcement import DeepTree
from stumpery.streaming import StreamModel
from stumpery.types import State

KINDS = [
    getattr(public, name)
    for name in public.__all__
    if isinstance(getattr(public, name), type) and issubclass(getattr(public, name), Model)
]
SECONDS = float(os.environ.get("STUMPERY_STRESS_S", "0.4"))
STUCK_S = 120.0  # nothing waits that long, on any machine
ACTIONS = ("a", "b", "c")
ROWS = [{"age": float(age % 60), "device": ("phone", "watch", "desk")[age % 3], "x": age % 7 / 7} for age in range(240)]
LABELS = [int(row["age"] > 25 or row["device"] == "watch") for row in ROWS]
SCHEMA = st.Schema.infer(ROWS, max_categories=8)
NUMBERS = np.array([[row["age"], row["x"]] for row in ROWS])


def stumps():
    return [st.clicks.Stump(), st.clicks.HashedStump()]


def tree():
    return st.HoeffdingTreeClassifier(grace_period=20, seed=1)


OPTIONS = {  # of models that cannot be made without
    **{
        kind: lambda: {"predictors": stumps()}
        for kind in (st.clicks.Average, st.clicks.LinearRanker, st.clicks.LogOdds)
    },
    **{kind: lambda: {"predictors": stumps()} for kind in (st.clicks.BaggedPredictors, st.clicks.WeightedPredictors)},
    **{
        kind: lambda: {"models": tree(), "n_models": 2}
        for kind in (st.ensembles.OnlineBagging, st.ensembles.OnlineBoosting)
    },
    **{
        kind: lambda: {"models": [tree(), tree()]}
        for kind in (st.ensembles.OnlineStacking, st.ensembles.ExponentialWeights, st.ensembles.Voting)
    },
    **{kind: lambda: {"model": tree(), "n_models": 2} for kind in (st.ensembles.Bagging, st.ensembles.AdaBoost)},
    st.reinforcement.ActorCriticTree: lambda: {"warm_up": 20, "seed": 1},
    st.DQNTree: lambda: {"warm_up": 20, "batch_size": 8, "memory": 100, "seed": 1},
    st.ensembles.Stacking: lambda: {"models": [tree(), tree()]},
    st.ContentSelector: lambda: {"model": st.clicks.Average(predictors=stumps()), "seed": 1},
    st.selection.CombinatorialThompson: lambda: {"actions": ACTIONS, "size": 2},
    st.FeatureSelector: lambda: {"features": ["age", "x"], "n_features": 1},
    st.RewardForest: lambda: {"n_trees": 6},
    st.ForestClassifier: lambda: {"n_models": 3, "grace_period": 20},
    st.ForestRegressor: lambda: {"n_models": 3, "grace_period": 20},
    st.summaries.CountMin: lambda: {"n_classes": 2},
    st.summaries.QuantileSummary: lambda: {"n_classes": 2, "max_tuples": 20},
}


def made(kind):
    options = OPTIONS.get(kind, dict)()
    if issubclass(kind, Policy):
        options |= {"actions": ACTIONS, "seed": 1}
    if issubclass(kind, ContextualPolicy):
        options["schema"] = SCHEMA
    return kind(**options)


def uses_of_a_policy(model, place, other):
    row = ROWS[place]
    decision = model.decide(row)
    model.learn(decision, float(LABELS[place]))
    decisions = model.decide_many([row, ROWS[0]], available=ACTIONS[:2])
    model.learn_many(decisions, [0.0, 1.0])
    model.explain(decision)
    assert model.n_bytes > 0
    if place % 20 == 0:
        model.play([row] * 5, np.ones((5, len(model.actions))))


def uses_of_a_stream_model(model, place, other):
    model.learn_one(ROWS[place], LABELS[place])
    model.predict_one(ROWS[place])
    model.predict_many(ROWS[:5])
    if place % 10 == 0:
        model.explain_one(ROWS[0])
        model.to_text()
        model.test_then_learn(ROWS[:5], LABELS[:5])


def uses_of_a_click_model(model, place, other):
    model.learn_one(ROWS[place], LABELS[place])
    model.predict_proba_one(ROWS[place])
    model.predict_many(ROWS[:5])
    model.contributions(ROWS[0])


def uses_of_a_learner(model, place, other):
    model.learn_one(ROWS[place], LABELS[place])
    model.predict_one(ROWS[place])
    if place % 10 == 0:
        model.learn_many(ROWS[:5], LABELS[:5])
        model.predict_many(ROWS[:5])


def uses_of_a_table_model(model, place, other):
    if place % 4 == 0:
        model.fit(NUMBERS[:60], LABELS[:60])
    if model.classes:
        model.predict_proba(NUMBERS[:5])


def uses_of_a_selector(model, place, other):
    decision = model.decide(ROWS[place : place + 3])
    model.learn(decision, click=LABELS[place])
    model.explain(decision)


def uses_of_sets(model, place, other):
    decision = model.decide()
    model.learn(decision, reward=float(LABELS[place]))
    if place % 20 == 0:
        model.merge(other)
        other.merge(made(st.selection.CombinatorialThompson))


def uses_of_features(model, place, other):
    model.ask()
    model.predict_one(ROWS[place])
    model.learn_one(ROWS[place], LABELS[place])
    model.explain()


def uses_of_quantiles(model, place, other):
    model.add(ROWS[place]["age"], LABELS[place])
    model.add_many([1.0, 2.0], [0, 1])
    model.quantile(0.5)
    model.histogram(4)
    if place % 50 == 0:
        model.merge(other)
        other.add(1.0)
        other.merge(made(st.summaries.QuantileSummary))


def uses_of_a_sketch(model, place, other):
    model.add(ROWS[place]["device"], LABELS[place])
    model.class_counts("phone")
    if place % 50 == 0:
        model.merge(other)
        other.merge(st.summaries.CountMin(n_classes=2))


def uses_of_moments(model, place, other):
    model.add(ROWS[place]["age"])
    assert model.count > 0.0
    assert model.variance >= 0.0
    if place % 50 == 0:
        other.add(1.0)
        model.merge(other)


USES = {
    Policy: uses_of_a_policy,
    StreamModel: uses_of_a_stream_model,
    ClickModel: uses_of_a_click_model,
    OnlineEnsemble: uses_of_a_learner,
    BatchEnsemble: uses_of_a_table_model,
    DeepTree: uses_of_a_learner,
    st.reinforcement.OptimalTree: uses_of_a_learner,
    st.ContentSelector: uses_of_a_selector,
    st.selection.CombinatorialThompson: uses_of_sets,
    st.FeatureSelector: uses_of_features,
    st.summaries.QuantileSummary: uses_of_quantiles,
    st.summaries.CountMin: uses_of_a_sketch,
    st.summaries.Moments: uses_of_moments,
}


def use_of(kind):
    (found,) = [use for family, use in USES.items() if issubclass(kind, family)]
    return found


def run_together(works):
    """Run functions in threads; whatever one of them raises is raised here, and nobody may be stuck."""
    raised = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [Thread(target=guarded, args=(work,), daemon=True) for work in works]
    faulthandler.dump_traceback_later(STUCK_S - 10.0)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(STUCK_S)
    faulthandler.cancel_dump_traceback_later()
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if raised:
        raise raised[0]


def test_every_model_is_looked_at():
    assert all(use_of(kind) for kind in KINDS)
    assert {st.RewardForest, st.ForestClassifier, st.summaries.CountMin, st.ContentSelector, st.DQNTree} <= set(KINDS)
    mutable = [
        kind
        for kind in map(vars(public).get, public.__all__)
        if isinstance(kind, type) and any(hasattr(kind, verb) for verb in ("learn", "learn_one", "fit", "add"))
    ]
    assert set(mutable) <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_threads_may_share_a_model(kind, tmp_path):
    model, other, use = made(kind), made(kind), use_of(kind)
    use(model, 0, other)
    end = time.monotonic() + SECONDS

    def worker(seed):
        def work():
            places = np.random.default_rng(seed)
            while time.monotonic() < end:
                use(model, int(places.integers(len(ROWS) - 3)), other)

        return work

    def copier():
        n = 0
        while n < 2 or time.monotonic() < end:
            path = tmp_path / str(n % 2)
            st.save(model, path)
            st.load(path)
            deepcopy(model)
            n += 1
            time.sleep(0.05)

    run_together([worker(1), worker(2), worker(3), copier])
    use(model, 1, other)


POLICIES = [kind for kind in KINDS if issubclass(kind, Policy)]
LEARNERS = [kind for kind in KINDS if issubclass(kind, StreamModel | ClickModel)]


def recording(model, name, log):
    """Let a model write down the calls of one of its own steps, which come with the lock held."""
    step = getattr(model, name)

    def recorded(*arguments):
        copied = tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments)
        result = step(*arguments)
        if result is not False:  # it was done
            log.append((name, copied))
        return result

    setattr(model, name, recorded)


def assert_equals_one_after_the_other(model, twin, log):
    for name, arguments in log:
        getattr(twin, name)(*arguments)
    assert bits_of(model)[1] == bits_of(twin)[1]


@pytest.mark.parametrize("kind", POLICIES, ids=lambda kind: kind.__name__)
def test_no_decision_and_no_reward_is_lost(kind):
    model, twin, log = made(kind), made(kind), []
    for name in ("_decide", "_learn"):
        recording(model, name, log)

    def work():
        for place in range(150):
            model.learn(model.decide(ROWS[place]), float(LABELS[place]))

    run_together([work] * 4)
    assert len(log) == 2 * 4 * 150
    assert_equals_one_after_the_other(model, twin, log)


@pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.__name__)
def test_no_event_is_lost(kind):
    options = OPTIONS.get(kind, dict)()
    model, twin, log = kind(**options, schema=SCHEMA), kind(**options, schema=SCHEMA), []
    for name in ("_take_classes", "_learn", "_learn_row"):
        if hasattr(model, name):
            recording(model, name, log)

    def work():
        for row, label in zip(ROWS[:150], LABELS, strict=False):
            model.predict_one(row)
            model.learn_one(row, label)

    run_together([work] * 4)
    assert sum(name != "_take_classes" for name, _ in log) == 4 * 150
    assert_equals_one_after_the_other(model, twin, log)


class Meeting(Model):
    """A model whose concurrent methods can wait for each other."""

    def __init__(self):
        self.entered, self.may_go, self.order = Event(), Event(), []

    @concurrent
    def read(self):
        self.entered.set()
        assert self.may_go.wait(STUCK_S)
        self.order.append("read")

    @concurrent
    def read_inside(self):
        self.inside()

    @concurrent
    def look(self):
        self.order.append("look")
        self.glance()

    @concurrent
    def glance(self):
        self.order.append("glance")

    def write(self):
        self.order.append("write")

    @concurrent
    def write_while_reading(self):
        self.write()

    def state(self):
        return State({}, {})


def test_readers_run_together_and_writers_wait_for_them():
    model = Meeting()

    def write():
        model.entered.wait(STUCK_S)
        model.write()

    def look():
        model.entered.wait(STUCK_S)
        model.look()
        writer.start()
        while not model._readers.is_awaited:
            time.sleep(0.001)
        model.may_go.set()

    writer = Thread(target=write, daemon=True)
    run_together([model.read, look])
    writer.join(STUCK_S)
    assert model.order == ["look", "glance", "read", "write"]


def test_a_concurrent_method_that_calls_an_exclusive_one_is_an_error_and_leaves_the_lock_free():
    model = Meeting()
    with pytest.raises(RuntimeError, match="mark both or none"):
        model.write_while_reading()
    run_together([model.write])
    assert model.order == ["write"]


def test_a_concurrent_method_that_calls_an_exclusive_one_is_an_error_even_while_others_wait():
    model, raised = Meeting(), []

    def read():
        writer.start()
        while not model._readers.is_awaited:
            time.sleep(0.001)
        with pytest.raises(RuntimeError, match="mark both or none"):
            model.write()
        raised.append(True)

    model.inside = read
    writer = Thread(target=model.write, daemon=True)
    run_together([model.read_inside])
    writer.join(STUCK_S)
    assert raised == [True]
    assert model.order == ["write"]


@pytest.mark.parametrize("kind", [st.HoeffdingTreeClassifier, st.HoeffdingTreeRegressor])
def test_a_subclass_may_override_what_runs_together(kind):
    class Mine(kind):
        def predict_one(self, x):
            return super().predict_one(x)

    model = Mine()
    model.learn_one(ROWS[0], 1)
    assert "1" in str(model.explain_one(ROWS[0]))
    assert model.predict_one(ROWS[0]) == 1


def test_interruptions_while_predicting_leave_the_lock_free():
    assert run("interrupt_predictions.py") == "True False set()"


def inner_models():
    learner = tree()
    yield (
        learner,
        st.FeatureSelector(
            features=["age", "x"], n_features=2, classifier=learner, chooser=st.selection.choosers.thompson()
        ),
    )
    click_model = st.clicks.Average(predictors=stumps())
    yield click_model, st.ContentSelector(model=click_model)
    ensemble = st.ensembles.Voting(models=[tree(), tree()])
    yield ensemble.members[0], ensemble


@pytest.mark.parametrize(("inner", "outer"), list(inner_models()), ids=["FeatureSelector", "ContentSelector", "Voting"])
def test_a_model_within_another_is_saved_as_it_is_at_one_moment(inner, outer, tmp_path):
    rows = [{"age": row["age"], "x": row["x"]} for row in ROWS]
    inner.learn_many(rows, LABELS)
    done = Event()

    def learn():
        while not done.is_set():
            inner.learn_many(rows, LABELS)

    def save():
        try:
            for _ in range(25):
                st.save(outer, tmp_path / "outer")
                st.load(tmp_path / "outer")
        finally:
            done.set()

    run_together([learn, save])


def test_an_error_leaves_the_lock_free():
    model = st.UCB(actions=ACTIONS)
    with pytest.raises(ValueError, match="available is empty"):
        model.decide(available=[])
    run_together([model.decide])


def test_several_locks_are_taken_in_one_order():
    models = [st.summaries.Moments() for _ in range(3)]

    def forwards():
        for _ in range(200):
            with all_exclusive(models):
                pass

    def backwards():
        for _ in range(200):
            with all_exclusive(models[::-1]):
                pass

    run_together([forwards, backwards])


def test_models_that_merge_into_each_other_do_not_wait_for_ever():
    first, second = st.summaries.Moments(), st.summaries.Moments()
    first.add(1.0)
    second.add(2.0)

    def merging(model, other):
        def work():
            for _ in range(20):
                model.merge(other)

        return work

    run_together([merging(first, second), merging(second, first), merging(first, first)])
    assert 1.0 < first.mean < 2.0
