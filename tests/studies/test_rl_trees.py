"""The study of trees by reinforcement: which claims its numbers hold up."""

from stumpery.studies.reinforcement import trees as rl_trees
from stumpery.studies.reinforcement import variants as rl_variants
from stumpery.studies.reinforcement.claims import claims
from stumpery.studies.reinforcement.learners import CRITIC, DOUBLE, DQN, GREEDY, VFDT
from stumpery.studies.study import Settings

LEARNERS = (DQN, DOUBLE, CRITIC, GREEDY, VFDT)
PAPER_LIKE = {  # final accuracies, like those of the paper
    "Adult": {DQN: 0.86, DOUBLE: 0.86, CRITIC: 0.78, VFDT: 0.83},
    "Poker": {DQN: 0.90, DOUBLE: 0.97, CRITIC: 0.42, VFDT: 0.51},
    "Skin, categorical": {DQN: 0.97, DOUBLE: 0.97, CRITIC: 0.96, VFDT: 0.99},
}


def trials(accuracy, depth=1.5, noise=0.0, rises=0):
    losses = [[0.1, loss] for loss in [*([0.1, 0.2] * rises), 0.1, 0.1]]
    finals = (accuracy - noise, accuracy + noise)
    return [{"accuracy": [0.1, final], "depth": [depth], "losses": [[None, None], *losses]} for final in finals]


def runs(finals, **critic):
    return {
        title: {
            name: trials(each.get(name, 0.5), **({"rises": 4} | critic if name == CRITIC else {})) for name in LEARNERS
        }
        for title, each in finals.items()
    }


def verdicts(of_problems, ours=0.99, one=0.97, printed=0.6, depth=3.5, accuracy=0.995):
    settings = [
        {"problem": title, "setting": name, "accuracy": value}
        for title in ("Nursery", "Mushroom")
        for name, value in ((rl_variants.OURS, ours), (rl_variants.ONE_REPORT, one), (rl_variants.PRINTED, printed))
    ]
    leaves = [{"problem": "Nursery", "tree": rl_variants.MERGED, "accuracy": accuracy, "depth": depth}]
    return {entry.claim: entry.verdict for entry in claims(of_problems, settings, leaves)}


def refuted(*given, **options):
    return [claim for claim, verdict in verdicts(*given, **options).items() if verdict == "refuted"]


def changed(title, **finals):
    names = {"dqn": DQN, "double": DOUBLE, "critic": CRITIC, "vfdt": VFDT}
    return PAPER_LIKE | {title: PAPER_LIKE[title] | {names[name]: value for name, value in finals.items()}}


def test_claims_follow_the_numbers():
    good = runs(PAPER_LIKE)
    assert refuted(good) == []
    assert sorted(verdicts(good).values()) == ["not testable"] + ["reproduced"] * 11
    assert refuted(good, ours=0.9) == ["learning all reports is better than a random one (Nursery)"]
    assert refuted(good, printed=1.0) == ["legal, clipped targets are better than those printed (Mushroom)"]
    assert refuted(good, depth=3.8) == ["Nursery at 99 % needs at most 3.7 columns of 8"]
    assert refuted(good, accuracy=0.98) == ["Nursery at 99 % needs at most 3.7 columns of 8"]
    assert refuted(runs(PAPER_LIKE, depth=2.5)) == ["actor-critic queries at most two columns"]
    assert refuted(runs(PAPER_LIKE, rises=2)) == ["the loss of actor-critic is noisy, those of DQN fall steadily"]
    assert refuted(runs(changed("Adult", critic=0.87))) == ["actor-critic is worse than DQN and Double DQN everywhere"]
    assert refuted(runs(changed("Adult", vfdt=0.9))) == [
        "the Hoeffding tree is better than DQN on Skin as categories alone"
    ]
    assert refuted(runs(changed("Adult", double=0.9))) == ["Double DQN helps on Poker alone"]
    assert "a greedy tree fails on Poker" in refuted(runs(changed("Poker", vfdt=0.7)))
    assert "the better of DQN and Double DQN is as good as the paper's" in refuted(runs(changed("Poker", double=0.9)))


def test_a_benefit_within_the_noise_of_the_trials_is_none():
    noisy = runs(PAPER_LIKE)
    noisy["Poker"][DOUBLE] = trials(0.97, noise=0.1)
    assert refuted(noisy) == ["Double DQN helps on Poker alone"]


def test_short_runs_and_few_trials_give_no_verdicts():
    assert rl_trees.is_enough(Settings(steps=100_000, trials=3))
    assert not rl_trees.is_enough(Settings(steps=99_999, trials=3))
    assert not rl_trees.is_enough(Settings(steps=100_000, trials=2))


def test_trials_are_averaged():
    rows = [{"setting": "ours", "accuracy": 0.5}, {"setting": "ours", "accuracy": 1.0}]
    assert rl_trees.mean_rows(rows) == {"setting": "ours", "accuracy": 0.75}
