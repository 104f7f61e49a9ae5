"""The study of trees by reinforcement: which claims its numbers hold up."""

from stumpery.studies.reinforcement import trees as rl_trees
from stumpery.studies.reinforcement import variants as rl_variants
from stumpery.studies.reinforcement.learners import CRITIC, DOUBLE, DQN, GREEDY


def runs(**finals):
    return {name: [{"accuracy": [0.1, finals.get(name, 0.5)]}] for name in (DQN, DOUBLE, CRITIC, GREEDY)}


def verdicts(of_problems, ours=0.99, one=0.97, depth=3.5, accuracy=0.995):
    settings = [
        {"problem": "Nursery", "setting": rl_variants.OURS, "accuracy": ours},
        {"problem": "Nursery", "setting": rl_variants.ONE_REPORT, "accuracy": one},
    ]
    trees = [{"problem": "Nursery", "tree": rl_variants.MERGED, "accuracy": accuracy, "depth": depth}]
    return [entry.verdict for entry in rl_trees.claims(of_problems, settings, trees)]


def test_claims_follow_the_numbers():
    good = {"Nursery": runs(DQN=0.99, **{DOUBLE: 0.95}), "Poker": runs(DQN=0.97, **{DOUBLE: 0.98, GREEDY: 0.51})}
    assert verdicts(good) == ["reproduced"] * 5
    assert verdicts(good, ours=0.9)[2] == "refuted"
    assert verdicts(good, depth=3.8)[3] == "refuted"
    assert verdicts(good, accuracy=0.98)[3] == "refuted"
    poor = {"Nursery": runs(DQN=0.9, **{DOUBLE: 0.9, GREEDY: 0.95}), "Poker": runs(**{GREEDY: 0.9, CRITIC: 0.9})}
    assert verdicts(poor) == ["refuted", "refuted", "reproduced", "reproduced", "refuted"]


def test_trials_are_averaged():
    rows = [{"setting": "ours", "accuracy": 0.5}, {"setting": "ours", "accuracy": 1.0}]
    assert rl_trees.mean_rows(rows) == {"setting": "ours", "accuracy": 0.75}
