"""`st.evaluate`: what can be evaluated, what the report says, warnings in words, bad input."""

import numpy as np
import polars as pl
import pytest
from tests.evaluation.off_policy.made_logs import moderate_log

import stumpery as st
from stumpery.benchmarks.large_log import generate
from stumpery.columns import Columns
from stumpery.evaluation import off_policy as op
from stumpery.evaluation.off_policy.candidates import Rejecting
from stumpery.evaluation.off_policy.estimates import NAMES
from stumpery.evaluation.off_policy.log_checks import LogChecks

ACTIONS = ("a", "b", "c")
N = 3000


def rows_of(n=N, seed=0, low=0.0, high=1.0, probabilities=(0.5, 0.3, 0.2)):
    """Logged rows whose best action depends on the hour and the device."""
    rng = np.random.default_rng(seed)
    hour, device = rng.integers(0, 24, n), rng.choice(["tv", "phone"], n)
    actions = rng.choice(3, n, p=probabilities)
    best = np.where(hour < 12, 0, np.where(device == "tv", 1, 2))
    means = np.where(actions == best, 0.8, 0.2)
    rewards = low + (high - low) * (rng.random(n) < means)
    names = np.array(ACTIONS)[actions].tolist()
    own = np.array(probabilities)[actions]
    return {"hour": hour, "device": device.tolist(), "action": names, "p": own, "reward": rewards}


def log_of(rows, **options):
    return st.logs.from_frame(rows, action="action", reward="reward", probability="p", **options)


def best_rule(context):
    return "a" if context["hour"] < 12 else "b" if context["device"] == "tv" else "c"


@pytest.fixture(scope="module")
def log():
    return log_of(rows_of())


@pytest.fixture(scope="module")
def trained():
    return st.RewardForest(actions=ACTIONS, seed=1, n_trees=5).learn_log(log_of(rows_of(1500, seed=9)))


@pytest.fixture(scope="module")
def report(log, trained):
    policies = {
        "forest": trained,
        "rule": best_rule,
        "a": "a",
        "uniform": st.policies.RandomPolicy(actions=ACTIONS),
        "learns": op.Progressive(st.RewardForest(actions=ACTIONS, n_trees=5)),
        "replayed": op.Replayed(st.EpsilonGreedy(actions=ACTIONS)),
    }
    return st.evaluate(log, policies, slices="device", least_probability=0.2)


def test_values_are_near_the_truth(report):
    assert report.policies == ("logged", "forest", "rule", "a", "uniform", "learns", "replayed")
    truth = {"rule": 0.8, "a": 0.5, "uniform": 0.4}
    for policy, value in truth.items():
        assert report.value(policy) == pytest.approx(value, abs=0.04)
        for kind in ("sequence", "normal", "bootstrap", "likelihood", "Clopper-Pearson"):
            low, high = report.interval(policy, kind)
            assert low - 0.03 <= value <= high + 0.03
    assert report.value("forest") > 0.65
    assert report.value("learns") > 0.5


def test_the_logging_policy_is_the_mean_reward(report):
    assert report.value("logged") == pytest.approx(rows_of()["reward"].mean(), abs=1e-12)


def test_a_frozen_policy_is_evaluated_as_by_hand(log, trained):
    rows = rows_of()
    report = st.evaluate(log, {"forest": trained})
    target = trained.probabilities_many(Columns({"hour": rows["hour"].astype(float), "device": rows["device"]}))
    actions = np.array([ACTIONS.index(name) for name in rows["action"]])
    weights = target[np.arange(N), actions] / rows["p"]
    assert report.value("forest", "IPS") == pytest.approx(op.ips(weights, rows["reward"]), rel=1e-9)
    assert report.value("forest", "SNIPS") == pytest.approx(op.snips(weights, rows["reward"]), rel=1e-9)
    model = st.RewardForest(actions=ACTIONS, seed=0, n_trees=8, max_bytes=64_000_000)
    contexts = Columns({"hour": rows["hour"].astype(float), "device": rows["device"]})
    predicted = model.test_then_learn(st.Decisions(rows["action"], rows["p"], contexts), rows["reward"]).rewards
    predicted = np.clip(predicted, 0.0, 1.0)
    own, values = predicted[np.arange(N), actions], (target * predicted).sum(axis=1)
    expected = op.doubly_robust(weights, rows["reward"], own, values)
    assert report.value("forest") == pytest.approx(expected, rel=1e-9)


def test_a_learning_policy_is_judged_before_each_event_and_the_given_one_stays(log):
    policy = st.EpsilonGreedy(actions=ACTIONS, seed=3)
    report = st.evaluate(log, {"learns": op.Progressive(policy)})
    rows, twin = rows_of(), policy.clone()
    total = 0.0
    for action, p, reward in zip(rows["action"], rows["p"].tolist(), rows["reward"].tolist(), strict=True):
        total += twin.probabilities()[ACTIONS.index(action)] / p * reward
        twin.learn(st.Decision(action, p), reward)
    assert report.value("learns", "IPS") == pytest.approx(total / N, rel=1e-9)
    assert policy.explain().rows[0]["n"] == 0


def test_replay_accepts_as_many_events_as_the_floor_allows(report):
    diagnostics = report.diagnostics("replayed")
    accepted = 0.2 * N  # floor / p * p(policy), averaged over actions drawn with p
    assert diagnostics["events"] == pytest.approx(accepted, rel=0.15)
    leader, others = 0.5, 0.25 * 0.8 + 0.75 * 0.2  # 'a' is best before noon, each other in a quarter of the events
    epsilon_greedy = 0.9 * leader + 0.1 * (leader + 2.0 * others) / 3.0
    error = np.sqrt(0.25 / accepted)
    assert report.value("replayed") == pytest.approx(epsilon_greedy, abs=4.0 * error)


def accepted_one_by_one(policy, rows, names, floor, seed):
    """Replay with rejection as Li et al. 2011 write it: event after event."""
    policy = policy.clone(include_attributes=True)
    draws = np.random.default_rng(seed).random(rows.n) * rows.probabilities / floor
    kept = []
    for row, context in enumerate(rows.contexts):
        action = names[rows.actions[row]]
        probability = policy.probabilities(context)[policy.position(action)]
        kept.append(draws[row] < probability)
        if kept[-1]:
            policy.learn(st.Decision(action, float(probability), context), float(rows.rewards[row]))
    return kept


@pytest.mark.parametrize("kind", [st.EpsilonGreedy, st.LinUCB, st.RewardForest])
def test_replay_accepts_the_events_that_it_accepts_one_by_one(kind):
    (chunk,) = log_of(rows_of(1200)).chunks(1200)
    rows = LogChecks(ACTIONS, (0.0, 1.0), None).valid_rows(chunk)
    options = {"schema": st.Schema.infer(rows.contexts)} if kind is st.LinUCB else {}
    policy = kind(actions=ACTIONS, seed=4, **options)
    found = Rejecting(policy, ACTIONS, 0.2, 7).accepted(rows)
    assert 100 < found.sum() < 400
    assert found.tolist() == accepted_one_by_one(policy, rows, ACTIONS, 0.2, 7)


def test_replayed_actions_come_as_the_policy_draws_them():
    rows = rows_of(6000, seed=4)
    report = st.evaluate(log_of(rows), {"uniform": op.Replayed(st.policies.RandomPolicy(actions=ACTIONS))})
    accepted = 6000 * rows["p"].min()  # least / p * target, averaged over actions drawn with p
    assert report.diagnostics("uniform")["events"] == pytest.approx(accepted, rel=0.1)
    assert report.value("uniform") == pytest.approx(0.4, abs=0.05)


def test_the_better_policy_is_found_and_the_difference_is_antisymmetric(report):
    assert report.is_better("rule", "logged")
    assert report.is_better("logged", "rule") is False
    low, high = report.difference("rule", "logged")
    assert report.difference("logged", "rule") == pytest.approx((-high, -low))
    assert report.difference("rule", "rule") == (0.0, 0.0)
    assert 0 < report.decided_at("rule", "logged") <= N


def test_a_bound_on_probabilities_narrows_sequences(log):
    plain, bounded = (st.evaluate(log, {"rule": best_rule}, least_probability=least) for least in (None, 0.2))
    assert bounded.interval("rule").width < plain.interval("rule").width
    assert "no bound on weights is known" in str(plain)


def test_probabilities_of_all_actions_bound_weights_and_are_checked():
    log = moderate_log(2000)
    names = [f"arm {index}" for index in range(5)]
    rows = {"x": log.x[:, 0], "y": log.x[:, 1], "z": log.x[:, 2], "reward": log.rewards}
    rows |= {"action": [names[index] for index in log.actions], "p": log.logging[np.arange(2000), log.actions]}
    chunk = next(log_of(rows, actions=names).chunks(2000))
    checks = LogChecks(names, (0.0, 1.0), None)
    checks.valid_rows(chunk_with(chunk, all_probabilities=log.logging))
    assert checks.probability_bins()
    assert not any(row.is_suspicious for row in checks.probability_bins() + checks.calibration())


def chunk_with(chunk, **changed):
    from dataclasses import replace

    return replace(chunk, **changed)


def test_slices_have_their_own_figures_with_corrected_intervals(report, log):
    assert set(report.slices) == {"tv", "phone"}
    part = st.evaluate(log_of({**rows_of(), "only": rows_of()["device"]}), {"rule": best_rule}, slices="only")
    assert report.value("rule", "IPS", slice="tv") == pytest.approx(part.value("rule", "IPS", slice="tv"), rel=1e-9)
    wide = report.interval("rule", "normal", slice="tv").width
    assert wide > report.interval("rule", "normal").width
    by_function = st.evaluate(log, {"rule": best_rule}, slices=lambda context: context["hour"] < 12)
    assert set(by_function.slices) == {"True", "False"}


def test_many_slices_share_one():
    rows = {**rows_of(600), "user": [f"u{index % 40}" for index in range(600)]}
    report = st.evaluate(log_of(rows), {"a": "a"}, slices="user")
    assert len(report.slices) == 21
    assert "all other values" in report.slices


def test_a_report_shows_itself(report, tmp_path):
    text = str(report)
    assert "rule" in text
    assert "assumes independent events" in text
    assert "<table>" in report._repr_html_()
    frame = report.to_frame()
    assert set(frame["estimator"]) == set(NAMES)
    assert report.intervals("rule")[0]["interval"] == "sequence"
    assert [row["action"] for row in report.overlap("rule")] == list(ACTIONS)
    report.to_json(tmp_path / "report.json")
    report.to_csv(tmp_path / "report.csv")


def test_a_report_is_drawn(report):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    ax = report.plot()
    assert len(ax.figure.axes) == 3
    assert len(ax.get_yticklabels()) == len(report.policies)
    assert report.plot(ax) is ax
    pyplot.close("all")


def test_any_regressor_may_be_the_reward_model(log):
    from sklearn.linear_model import Ridge

    report = st.evaluate(log, {"rule": best_rule}, model=Ridge())
    assert report.value("rule") == pytest.approx(0.8, abs=0.05)
    assert report.value("rule", "DM") != st.evaluate(log, {"rule": best_rule}).value("rule", "DM")


def test_a_log_without_contexts_is_evaluated_by_means():
    rows = {name: values for name, values in rows_of().items() if name in ("action", "p", "reward")}
    ucb = st.UCB(actions=ACTIONS)
    policies = {"a": "a", "ucb": ucb, "learns": op.Progressive(ucb), "replayed": op.Replayed(ucb)}
    report = st.evaluate(log_of(rows), policies)
    assert report.value("a") == pytest.approx(0.5, abs=0.04)


def test_rewards_of_another_range_scale_all_intervals():
    unit = st.evaluate(log_of(rows_of()), {"rule": best_rule}, model=None)
    scaled = st.evaluate(log_of(rows_of(low=-2.0, high=8.0)), {"rule": best_rule})
    for kind in ("sequence", "likelihood", "Clopper-Pearson"):
        expected = [-2.0 + 10.0 * end for end in unit.interval("rule", kind)]
        assert list(scaled.interval("rule", kind)) == pytest.approx(expected, abs=1e-6)
    assert scaled.value("rule", "SNIPS") == pytest.approx(-2.0 + 10.0 * unit.value("rule", "SNIPS"))


# Warnings in words.


def warnings_of(rows, policy="a"):
    report = st.evaluate(log_of(rows), {"it": policy})
    return report, report.warnings("it"), report.warnings()


def test_an_honest_log_raises_no_warnings(report):
    assert report.warnings() == []
    assert report.warnings("rule") == []


def test_few_events_that_count_give_a_warning():
    rows = rows_of(4000, probabilities=(0.005, 0.595, 0.4))
    _, warnings, _ = warnings_of(rows)
    assert any("effective sample size" in warning for warning in warnings)


def test_wrong_probabilities_give_a_warning():
    rows = rows_of()
    rows["p"] = np.where(np.array(rows["action"]) == "a", 0.9, 0.4)
    _, warnings, of_log = warnings_of(rows)
    assert any("average" in warning for warning in warnings)
    assert any("logged probabilities look wrong" in warning for warning in of_log)


def test_actions_that_the_log_never_shows_give_a_warning():
    policy = st.policies.RandomPolicy(actions=[*ACTIONS, "never logged"])
    report, warnings, _ = warnings_of(rows_of(), policy)
    assert any("25 % of its decisions" in warning for warning in warnings)
    assert report.diagnostics("it")["unsupported"] == pytest.approx(0.25)
    assert "do not trust 'it'" in str(report)


def test_drift_of_rewards_is_told():
    rows = rows_of()
    rows["reward"] = rows["reward"] * (np.arange(N) > N // 2)
    _, _, of_log = warnings_of(rows)
    assert any("rewards drift" in warning for warning in of_log)


def test_one_heavy_event_gives_a_warning():
    rows = rows_of(300)
    rows["p"] = rows["p"].copy()
    rows["p"][rows["action"].index("a")] = 1e-4
    _, warnings, _ = warnings_of(rows)
    assert any("% of all weight" in warning for warning in warnings)


# Bad input.


def test_rows_without_reward_are_left_out_and_counted():
    rows = rows_of()
    rows["reward"] = rows["reward"].copy()
    rows["reward"][:100] = np.nan
    report = st.evaluate(log_of(rows, on_error="lenient"), {"a": "a"})
    assert report.n_events == N - 100
    assert "100 without a valid reward" in str(report)


def test_a_log_with_the_probabilities_of_all_actions_is_evaluated_from_file_to_report(tmp_path):
    """Written by a policy that takes one action with .8 and others with .05; the truth is that of the generator."""
    generate(tmp_path / "events.dsjson", 8000, seed=3)
    log = st.logs.read(tmp_path / "events.dsjson")
    report = st.evaluate(log, {"first": 1, "uniform": st.policies.RandomPolicy(actions=log.actions)})
    phones, towns = 1.0 / 4.0, 8.0 / 40.0  # of four devices one, of forty towns eight, pay more for the first action
    truth = {"first": 0.1 + 0.3 * 0.5 * phones + 0.2 * towns, "uniform": 0.1 + 0.3 * 0.5 / 5.0 + 0.2 / 5.0}
    plain = st.evaluate(without_all_probabilities(log), {"first": 1})
    for policy, value in truth.items():
        for kind in ("sequence", "betting"):
            low, high = report.interval(policy, kind)
            assert low < value < high
        assert abs(report.value(policy) - value) < 4.0 * report.estimate(policy).standard_error
    assert report.interval("first").width < plain.interval("first").width
    assert "doubly robust" in str(report)
    assert "no bound on weights is known" in str(plain)
    ranges = [row for row in report.calibration if isinstance(row.group, str)]
    assert [row.group for row in ranges] == ["0.05 to 0.10", "0.80 to 0.85"]
    assert not any(row.is_suspicious for row in report.calibration)
    assert report.warnings() == []


def without_all_probabilities(log):
    class Plain:
        actions, reward_range = log.actions, log.reward_range

        def chunks(self, size):
            for chunk in log.chunks(size):
                yield chunk_with(chunk, all_probabilities=None)

    return Plain()


def test_a_bandit_forest_is_evaluated_by_how_often_it_draws_each_action(log):
    forest = st.BanditForest(actions=ACTIONS, seed=2, n_trees=5).learn_log(log_of(rows_of(1500, seed=9)))
    report = st.evaluate(log, {"forest": forest, "learns": op.Progressive(forest)})
    (chunk,) = log.chunks(N)
    target = forest.probabilities_many(chunk.contexts)
    weights = target[np.arange(N), chunk.actions] / chunk.probabilities
    assert report.value("forest", "IPS") == pytest.approx(op.ips(weights, chunk.rewards), rel=1e-9)
    draws = np.zeros((N, 3))
    for _ in range(200):
        drawn = forest.decide_many(chunk.contexts).actions
        draws[np.arange(N), [ACTIONS.index(action) for action in drawn]] += 1.0 / 200.0
    error = np.sqrt(0.25 / 200.0)
    assert np.abs(draws - target).max() < 5.0 * error
    assert report.warnings("forest") == []


class Chunks:
    """A log that is not checked."""

    actions, reward_range = ACTIONS, (0.0, 1.0)

    def __init__(self, **changed):
        self._changed = changed

    def chunks(self, size):
        for chunk in log_of(rows_of(100)).chunks(size):
            yield chunk_with(chunk, **{name: values(chunk) for name, values in self._changed.items()})


def with_first(column, value):
    def changed(chunk):
        values = getattr(chunk, column).copy()
        values[7] = value
        return values

    return changed


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("probabilities", 0.0, "line 7: probability is 0"),
        ("probabilities", 1.5, "line 7: probability is 1.5"),
        ("rewards", 2.0, "line 7: reward is 2"),
    ],
)
def test_impossible_values_are_refused_with_their_line(column, value, words):
    with pytest.raises(st.InvalidInput, match=words):
        st.evaluate(Chunks(**{column: with_first(column, value)}), {"a": "a"})


def test_missing_probabilities_and_unknown_actions_are_counted():
    odd = Chunks(probabilities=with_first("probabilities", np.nan), actions=with_first("actions", -1))
    report = st.evaluate(odd, {"a": "a"})
    assert report.n_events == 99


def _few_rows(probability, rewards):
    rows = {"action": ["a", "b"] * (len(rewards) // 2), "p": [probability] * len(rewards), "reward": rewards}
    return st.logs.from_frame(rows, action="action", reward="reward", probability="p")


def test_no_interval_is_inverted_where_logged_probabilities_are_false():
    report = st.evaluate(_few_rows(1e-12, [1.0, 0.0] * 25), {"always a": "a"})
    for policy in report.policies:
        assert all(row["from"] <= row["to"] for row in report.intervals(policy))
    assert report.interval("always a", "sequence") == (1.0, 1.0)


def test_rewards_whose_squares_are_too_small_for_a_float_have_intervals():
    report = st.evaluate(_few_rows(0.5, [1e-310, 0.0] * 25), {"always a": "a"})
    for policy in report.policies:
        low, high = report.interval(policy, "bootstrap", "IPS")
        assert 0.0 <= low <= report.value(policy, "IPS") <= high < 1e-300


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ({}, "policies is"),
        (["a"], "policies is"),
        ({"logged": "a"}, "name 'logged'"),
        ({3: "a"}, "policies has the name 3; names must be strings"),
        ({"it": "z"}, "policy 'it' is 'z'"),
        ({"it": st.UCB(actions=["x", "y"])}, "has no action of the log"),
        ({"it": op.Progressive(st.UCB(actions=["a", "b"]))}, "has no action 'c'"),
        ({"it": lambda context: "z"}, "the rule 'it' gives 'z'"),
        ({"it": lambda context: {"a": 0.7, "b": 0.7}}, "must sum to 1"),
        ({"it": lambda context: {"a": 0.7}}, "must sum to 1"),
        ({"it": lambda context: {}}, "must sum to 1"),
        ({"it": lambda context: {"a": "all"}}, "must sum to 1"),
        ({"it": lambda context: ["a"]}, r"the rule 'it' gives \['a'\]"),
        ({"it": st.UCB}, "policy 'it' is <class"),
        ({"it": op.Progressive(5)}, "policy 'it' is to learn 5; it must be a policy"),
        ({"it": op.Replayed(None)}, "policy 'it' is to learn None; it must be a policy"),
    ],
)
def test_wrong_policies_are_refused(log, policies, words):
    with pytest.raises(st.InvalidInput, match=words):
        st.evaluate(log, policies)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 1.0}, "level"),
        ({"seed": -1}, "seed"),
        ({"least_probability": 0.0}, "least_probability"),
        ({"least_probability": 0.4}, "as least_probability says"),
        ({"slices": 3}, "slices is 3"),
        ({"slices": "nothing"}, "must be a column"),
        ({"model": 3}, "model is 3"),
        ({"model": st.RewardForest(actions=["x"])}, "model has other actions"),
        ({"progress": 3}, "progress"),
    ],
)
def test_wrong_options_are_refused(log, options, words):
    with pytest.raises(st.InvalidInput, match=words):
        st.evaluate(log, {"a": "a"}, **options)


def test_what_is_no_log_is_refused():
    with pytest.raises(st.InvalidInput, match="log is"):
        st.evaluate([1, 2], {"a": "a"})


def test_an_empty_log_is_refused():
    rows = {"action": [], "p": [], "reward": []}
    with pytest.raises(st.InvalidInput, match="empty"):
        st.evaluate(log_of(pl.DataFrame(rows, schema={"action": str, "p": float, "reward": float})), {"a": "a"})


def test_wrong_names_in_a_report_are_refused(report):
    for call in (
        lambda: report.value("nobody"),
        lambda: report.value("rule", "best"),
        lambda: report.interval("rule", "widest"),
        lambda: report.value("rule", slice="radio"),
        lambda: report.difference("rule", "nobody"),
        lambda: report.difference("rule", "replayed"),
    ):
        with pytest.raises(st.InvalidInput):
            call()


def test_one_row_and_one_action_are_enough():
    one = {"hour": [3], "action": ["a"], "p": [1.0], "reward": [1.0]}
    report = st.evaluate(log_of(one), {"a": "a"})
    assert report.value("a") == 1.0
    assert "effective sample size" in str(report)


def test_actions_that_were_not_offered_have_no_probability():
    rows = log_of(rows_of(400))
    offered = np.ones((400, 3), dtype=bool)
    offered[::2, 0] = False

    class Offered(Chunks):
        def chunks(self, size):
            for chunk in rows.chunks(size):
                mask = offered.copy()
                mask[np.arange(400), chunk.actions] = True
                yield chunk_with(chunk, available=mask)

    seen = []

    class Watched(st.UCB):
        def probabilities_many(self, contexts, *, available=None):
            seen.append(available)
            return super().probabilities_many(contexts, available=available)

    policies = {"ucb": Watched(actions=ACTIONS), "learns": op.Progressive(st.LinUCB(actions=ACTIONS))}
    st.evaluate(Offered(), policies)
    assert ["b", "c"] in seen


def test_figures_whose_squares_would_be_infinite_are_refused():
    frame = {"action": ["a", "b"], "reward": [1e200, 0.0], "p": [0.5, 0.5]}
    with pytest.raises(st.InvalidInput, match="the log's rewards are from 0 to 1e\\+200; they must be at most 1e\\+60"):
        st.evaluate(log_of_frame(frame), {"a": "a"})
    frame = {"action": ["a", "b"], "reward": [1e59, 0.0], "p": [1e-29, 0.5]}
    assert np.isfinite(st.evaluate(log_of_frame(frame), {"a": "a"}).value("a"))
    with pytest.raises(st.InvalidInput, match="probability is 1e-300; it must be in 1e-30 to 1"):
        st.evaluate(log_of_frame(frame | {"p": [1e-300, 0.5]}), {"a": "a"})


def log_of_frame(frame):
    return st.logs.from_frame(frame, action="action", reward="reward", probability="p")
