"""What every public policy must obey; a new policy is found here by itself."""

from itertools import islice

import numpy as np
import pytest
from scipy import stats
from tests.support import assert_same_play, assert_same_state, copy_of_state, public, restored

import stumpery as st
from stumpery.policies import ContextualPolicy, Policy
from stumpery.random import new_generator
from stumpery.streams import BernoulliArms
from stumpery.types import Decision, Decisions, State

COLUMNS = ("action", "n", "mean", "from", "to", "score", "uncertainty", "value", "probability")  # of explanations

POLICIES = [
    getattr(public, name)
    for name in public.__all__
    if isinstance(getattr(public, name), type)
    and issubclass(getattr(public, name), Policy)
    and not issubclass(getattr(public, name), ContextualPolicy)
]
ESTIMATED = {st.ThompsonSampling: 0.03}  # how far a stated probability may be from the true one
STUCK = {
    st.policies.RandomPolicy,
    st.policies.Greedy,
    st.policies.MeansPolicy,
}  # explore always or never: not sure to find the best
ACTIONS = ("a", "b", "c", "d")


@pytest.fixture(params=POLICIES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def rewards():
    """600 rows of quarters: they scale to other ranges without rounding."""
    return np.random.default_rng(1).integers(0, 5, size=(600, 4)) / 4


@pytest.fixture
def trained(kind, rewards):
    policy = kind(actions=ACTIONS, seed=5)
    policy.play(None, rewards[:40])
    return policy


def decided(policy, n=60):
    return [tuple(policy.decide()) for _ in range(n)]


def learned(policy):
    return {row["action"]: (row["n"], row["mean"]) for row in policy.explain().rows}


def test_there_are_policies_to_check():
    assert {st.UCB, st.SuccessiveElimination} <= set(POLICIES)


def test_a_decision_is_an_action_a_probability_and_the_context(trained):
    for _ in range(50):
        action, probability, context = trained.decide({"hour": 21})
        assert action in ACTIONS
        assert 0.0 < probability <= 1.0
        assert context == {"hour": 21}


def test_a_decision_keeps_its_context_when_the_caller_changes_it(trained):
    row, vector = {"hour": 21}, np.array([21.0])
    by_row, by_vector = trained.decide(row), trained.decide(vector)
    row["hour"] = vector[0] = 3.0
    assert by_row.context == {"hour": 21}
    assert by_vector.context.tolist() == [21.0]


def test_the_stated_probability_is_the_frequency_of_the_choice(kind, trained):
    options, arrays = copy_of_state(trained)
    n = 4000
    stated = {}
    seen = dict.fromkeys(ACTIONS, 0)
    for seed in range(n):  # the same state each time, but for the random numbers to come
        policy = kind.from_state(State(options, {**arrays, "rng": new_generator(seed)}))
        (decision,) = policy.decide_many(1)
        stated.setdefault(decision.action, decision.probability)
        seen[decision.action] += 1
        assert decision.probability == stated[decision.action]
    for action, probability in stated.items():
        low, high = stats.binomtest(seen[action], n).proportion_ci(0.9999)
        assert low - ESTIMATED.get(kind, 0.0) <= probability <= high + ESTIMATED.get(kind, 0.0)


@pytest.mark.parametrize("available", [None, ["d", "b"]])
def test_probabilities_sum_to_one_agree_with_decisions_and_change_nothing(kind, trained, available):
    before = copy_of_state(trained)
    one, many = trained.probabilities(available=available), trained.probabilities_many(3, available=available)
    assert_same_state(before, trained)
    slack = ESTIMATED.get(kind, 1e-9)
    assert one.sum() == pytest.approx(1.0, abs=slack)
    assert many.tolist() == [one.tolist()] * 3
    assert trained.probabilities_many(0).shape == (0, 4)
    for action, probability, _ in [trained.decide(available=available) for _ in range(20)]:
        if kind is st.SuccessiveElimination and trained.explore == "in turn":
            break
        assert one[trained.position(action)] == pytest.approx(probability, abs=1e-12)


def test_the_seed_decides(kind, rewards):
    first, same, other = (kind(actions=ACTIONS, seed=seed).play(None, rewards) for seed in (3, 3, 4))
    assert_same_play(first, same)
    if kind is not st.SuccessiveElimination:  # by default it draws nothing
        assert first.actions.tolist() != other.actions.tolist()


@pytest.mark.parametrize("available", [None, ["d", "b"]])
def test_deciding_many_equals_deciding_one_by_one(kind, trained, available):
    twin = restored(trained)
    contexts = [{"x": row} for row in range(50)]
    many = trained.decide_many(contexts, available=available)
    assert list(many) == [twin.decide(context, available=available) for context in contexts]
    assert_same_state(trained, twin)


def test_deciding_a_number_of_times_needs_no_contexts(trained):
    assert [decision.context for decision in trained.decide_many(3)] == [None] * 3
    assert len(trained.decide_many(np.int64(2))) == 2
    assert len(trained.decide_many(0)) == len(trained.decide_many([])) == 0


@pytest.mark.parametrize("form", [Decisions, list, iter])
def test_learning_many_equals_learning_one_by_one(kind, trained, form):
    twin = restored(trained)
    decisions = trained.decide_many(50)
    twin.decide_many(50)
    values = (np.arange(50) % 5 / 4).tolist()
    for decision, value in zip(decisions, values, strict=True):
        twin.learn(decision, value)
    given = decisions if form is Decisions else form(list(decisions))
    trained.learn_many(given, iter(values) if form is iter else values)
    assert_same_state(trained, twin)


def test_learning_many_takes_all_or_nothing(kind, trained):
    decisions, values = list(trained.decide_many(5)), [0.0, 0.5, 1.0, 0.5, 0.0]
    before = copy_of_state(trained)
    wrong = [
        (decisions, [*values[:4], 1.5]),
        (decisions, [*values[:4], None]),
        (decisions, values[:4]),
        ([*decisions[:4], Decision("unknown", 1.0)], values),
        ([*decisions[:4], Decision("a", 0.0)], values),
        ([*decisions[:4], ("a", 1.0)], values),
        (Decisions([*"abcd", "z"], np.ones(5)), values),
        (Decisions([*"abcda"], np.array([1, 1, 1, 1, np.nan])), values),
    ]
    for some_decisions, some_values in wrong:
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            trained.learn_many(some_decisions, some_values)
        assert_same_state(trained, before)


def test_playing_equals_the_plain_loop(kind, rewards):
    fast, slow = kind(actions=ACTIONS, seed=2), kind(actions=ACTIONS, seed=2)
    played, expected = fast.play(None, rewards), Policy._play(slow, None, rewards)
    assert_same_play(played, expected)
    assert_same_state(fast, slow)


def test_a_policy_saved_half_way_goes_on_as_if_never_stopped(kind, rewards, tmp_path):
    straight, first = kind(actions=ACTIONS, seed=2), kind(actions=ACTIONS, seed=2)
    expected = straight.play(None, rewards)
    first.play(None, rewards[:250])
    st.save(first, tmp_path / "policy.safetensors")
    second = st.load(tmp_path / "policy.safetensors")
    assert type(second) is kind
    assert repr(second) == repr(first)
    played = second.play(None, rewards[250:])
    assert played.actions.tolist() == expected.actions[250:].tolist()
    assert played.probabilities.tobytes() == expected.probabilities[250:].tobytes()
    assert_same_state(second, straight)


def test_rewards_may_come_late_out_of_order_and_twice(trained):
    decisions = list(trained.decide_many(20))
    before = sum(n for n, _ in learned(trained).values())
    for decision in [*reversed(decisions), *decisions[:5]]:
        trained.learn(decision, 1.0)
    trained.learn(tuple(decisions[0]), np.float32(0.5))
    trained.learn(Decision("a", np.float64(0.5)), 1)
    assert sum(n for n, _ in learned(trained).values()) == before + 27
    assert trained.decide().action in ACTIONS


@pytest.mark.parametrize(
    "options", [{}, {"seed": np.int64(7)}, {"reward_range": [0, 100]}, {"reward_range": (np.float32(-1), 1)}], ids=str
)
def test_the_repr_is_a_recipe(kind, options, rewards, tmp_path):
    policy = kind(actions=["a", 1, 2.5, False], **options)
    names = {**vars(public), "Explorer": st.explorers.Explorer}
    twin = eval(repr(policy), names)  # noqa: S307
    assert type(twin) is kind
    assert repr(twin) == repr(policy)
    scaled = policy.reward_range[0] + rewards * (policy.reward_range[1] - policy.reward_range[0])
    assert policy.play(None, scaled).actions.tolist() == twin.play(None, scaled).actions.tolist()
    st.save(policy, tmp_path / "policy.safetensors")


def test_a_new_policy_has_learned_nothing(kind, trained, rewards):
    fresh = trained.clone(seed=9)
    assert_same_state(fresh, kind(actions=ACTIONS, seed=9))
    before = copy_of_state(trained)
    fresh.play(None, rewards)
    assert_same_state(trained, before)


def test_memory_does_not_grow_with_the_events(kind):
    policy = kind(actions=ACTIONS)
    rewards = np.random.default_rng(2).random((10_000, 4))
    policy.play(None, rewards[:10])
    before = policy.n_bytes
    policy.play(None, rewards)
    policy.decide_many(1000)
    assert policy.n_bytes == before > 0


@pytest.mark.parametrize("reward_range", [(-5.0, 3.0), (0.0, 100.0)])
def test_other_reward_ranges_are_only_another_scale(kind, rewards, reward_range):
    low, high = reward_range
    plain, scaled = kind(actions=ACTIONS, seed=6), kind(actions=ACTIONS, seed=6, reward_range=reward_range)
    expected, played = plain.play(None, rewards), scaled.play(None, low + rewards * (high - low))
    assert_same_play(played, expected)
    means, units = learned(scaled), learned(plain)
    for action in ACTIONS:
        assert means[action][1] == pytest.approx(low + units[action][1] * (high - low), nan_ok=True)


def test_one_action_is_always_taken_for_sure(kind):
    policy = kind(actions=["only"])
    played = policy.play(None, np.full((20, 1), 0.5))
    assert set(played.probabilities) == {1.0}
    assert decided(policy, 3) == [("only", 1.0, None)] * 3
    assert "only" in str(policy.explain())


def test_a_thousand_actions_are_no_matter(kind):
    policy = kind(actions=range(1000))
    for _ in range(30):
        decision = policy.decide()
        policy.learn(decision, decision.action / 1000)
    assert len(policy.explain().rows) == 1000


def test_an_added_action_is_tried(trained, rewards):
    trained.add_action("new")
    played = trained.play(None, np.column_stack([rewards, np.ones(len(rewards))]))
    assert 4 in played.actions


def test_a_removed_action_is_never_chosen_and_its_reward_refused(trained, rewards):
    last = Decision("b", 0.5)
    trained.remove_action("b")
    assert trained.actions == ("a", "c", "d")
    assert "b" not in {action for action, *_ in decided(trained)}
    trained.play(None, rewards[:, :3])
    with pytest.raises(ValueError, match=r"^action is 'b'; it must be one of 'a', 'c', 'd'$"):
        trained.learn(last, 1.0)


def test_the_last_action_cannot_be_removed(kind):
    policy = kind(actions=["only"])
    with pytest.raises(ValueError, match=r"^'only' is the only action left; a policy needs at least one$"):
        policy.remove_action("only")


def test_adding_and_removing_keeps_what_was_learned_of_the_others(trained, tmp_path):
    before = learned(trained)
    trained.add_action("e")
    trained.remove_action("b")
    after = learned(trained)
    assert list(trained.actions) == ["a", "c", "d", "e"]
    assert after.pop("e")[0] == 0
    assert after == {action: before[action] for action in ("a", "c", "d")}
    st.save(trained, tmp_path / "policy.safetensors")
    assert decided(st.load(tmp_path / "policy.safetensors")) == decided(trained)


def test_only_available_actions_are_chosen(trained):
    for available in (["c"], ("a", "d"), iter(["b", "c"]), {"a": 1, "c": 2}):
        allowed = set(available) if not hasattr(available, "__next__") else {"b", "c"}
        chosen = trained.decide_many(40, available=available)
        assert set(chosen.actions) <= allowed
        assert (chosen.probabilities > 0).all()
    assert trained.decide(available=["d"])[:2] == ("d", 1.0)


@pytest.mark.parametrize("n_rewards", [0, 40])
@pytest.mark.parametrize("with_decision", [False, True])
def test_an_explanation_names_every_action_once(kind, rewards, n_rewards, with_decision):
    policy = kind(actions=ACTIONS)
    policy.play(None, rewards[:n_rewards])
    decision = policy.decide() if with_decision else None
    before = copy_of_state(policy)
    explanation = policy.explain(decision)
    assert sorted(row["action"] for row in explanation.rows) == list(ACTIONS)
    assert sum(row["n"] for row in explanation.rows) == n_rewards
    lines = str(explanation).splitlines()
    assert lines[0] == explanation.summary
    assert sorted(line.split()[0] for line in lines[2:]) == list(ACTIONS)
    assert (f"{decision.action!r} was chosen" in lines[0]) if decision else ("chosen" not in lines[0])
    assert_same_state(policy, before)


@pytest.mark.parametrize("with_decision", [False, True])
def test_rows_of_explanations_have_the_same_columns_in_the_same_order(kind, rewards, with_decision):
    policy = kind(actions=ACTIONS)
    policy.play(None, rewards[:40])
    for row in policy.explain(policy.decide() if with_decision else None).rows:
        assert list(row)[:3] == ["action", "n", "mean"]
        assert [column for column in row if column in COLUMNS] == [column for column in COLUMNS if column in row]


def test_in_the_end_the_best_action_gets_most_plays(kind):
    policy = kind(actions=range(3), seed=1)
    (batch,) = islice(BernoulliArms(means=[0.1, 0.5, 0.9]).batches(seed=4, size=3000), 1)
    share = np.mean(policy.play(None, batch.rewards).actions == 2)
    assert (share > 0.6) if kind not in STUCK else (share > 0.0)


def test_options_stay_as_they_were_given(trained):
    recipe = repr(trained)
    with pytest.raises(ValueError, match=r"^seed is an option of \w+ and stays as it is"):
        trained.seed = 5
    assert repr(trained) == recipe
