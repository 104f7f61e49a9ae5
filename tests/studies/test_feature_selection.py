"""The study of online feature selection: which claims its numbers hold up, and what it plays."""

import numpy as np
import pytest

from stumpery.studies.selection import budgets, feature_selection
from stumpery.studies.selection import methods as feature_methods
from stumpery.studies.selection.methods import ALL, EPSILONS, LOGISTIC, OFS, ONLINE, OURS, PERCEPTRON, THOMPSON


def trials(**finals):
    """Two trials of every method with final rates as given, 0.5 unless said."""
    names = feature_methods.methods()
    rates = {name: finals.get(name, 0.5) for name in names}
    return {name: [{"rates": [0.6, rate], "seconds": 30.0, "looks": [0.5]}] * 2 for name, rate in rates.items()}


def verdicts(of_problem):
    found = feature_selection.claims({"a8a": of_problem}, 1000, 2)
    return {entry.claim: entry.verdict for entry in found}


def test_the_best_epsilon_is_the_one_with_the_fewest_mistakes():
    of_problem = trials(**{feature_methods.by_epsilon(OFS, 0.2): 0.3})
    assert feature_selection.best(of_problem, OFS) == "OFS, epsilon 0.2"
    assert feature_selection.shown_methods(of_problem)[OFS] == "OFS, epsilon 0.2"


def test_claims_follow_the_numbers():
    said = verdicts(trials(**{THOMPSON: 0.2, ALL: 0.3, ALL + LOGISTIC: 0.1, THOMPSON + ONLINE: 0.22, OURS: 0.1}))
    assert said[f"{THOMPSON} is better than {ALL} on a8a"] == "reproduced"
    assert said[f"{THOMPSON}{LOGISTIC} is better than {ALL}{LOGISTIC} on a8a"] == "refuted"
    lower = f"{THOMPSON} has a lower error rate, finally or after a tenth, than OFS and the perceptron"
    assert said[lower] == "reproduced"
    assert said[f"standardising online costs {THOMPSON} at most 0.01"] == "refuted"
    assert said["the paper's four methods take less than 30 minutes for everything, on two cores"] == "reproduced"


@pytest.mark.parametrize(("rate", "verdict"), [(0.1, "reproduced"), (0.3, "refuted")])
def test_ours_must_win_on_three_datasets(rate, verdict):
    won, lost = trials(**{OURS: 0.1, ALL: 0.2}), trials(**{OURS: rate, ALL: 0.2})
    found = feature_selection.claim_on_ours({"a8a": won, "b": won, "c": lost, "d": trials(**{OURS: 0.9})}, "")
    assert found.verdict == verdict


def test_every_method_looks_at_a_tenth_or_at_everything():
    data = feature_methods.load_problem(feature_methods.PROBLEMS["a8a"])
    assert data.n_chosen == 6
    for name, method in feature_methods.methods().items():
        found = feature_methods.play_trial(data, method, 120, 0, 0)
        most = len(data.names) if name.startswith(ALL) else data.n_chosen
        assert found["spent"] == pytest.approx(sum(found["looks"]))
        assert found["spent"] <= most + 1e-9
        if not name.startswith(OFS):  # before its first weights it looks at nothing
            assert found["spent"] == pytest.approx(most)


def test_standardised_columns_have_mean_0_and_deviation_1_and_constant_ones_are_0():
    rows = np.random.default_rng(1).normal(5, 3, (500, 3))
    rows[:, 1] = 7
    found = feature_methods.standardise(rows)
    assert found.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert found.std(axis=0) == pytest.approx(np.array([1, 0, 1]))


def test_prices_are_the_same_for_everybody():
    prices = budgets.prices_of(20)
    assert prices == budgets.prices_of(20)
    assert 1 <= min(prices.values()) < max(prices.values()) <= 10


def test_all_epsilons_of_the_paper_are_played():
    names = feature_methods.methods()
    assert {feature_methods.by_epsilon(name, e) for name in (OFS, PERCEPTRON) for e in EPSILONS} <= set(names)
