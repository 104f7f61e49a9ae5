"""Votes of the Bandit Forest: the leaves that a row reaches vote on the action, or the forest explores.

A leaf votes once it has chosen an action, or with a draw where leaves are bandit algorithms. When enough leaves vote
the winner is played, else one of the actions that remain in any of these leaves.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal
from stumpery.policies.bandit_forest.state_kernels import (
    ARM_PLAYS,
    ARM_REMAINS,
    ARM_SUM,
    ELIMINATION_LEAF,
    NODE_CHOICE,
    NODE_LEAF,
    OPTION_IN_TURN,
    OPTION_LEAF_KIND,
    OPTION_VOTES_NEEDED,
    SELECTING_ACTION,
    THOMPSON_LEAF,
    BanditState,
    leaf_of,
)
from stumpery.policies.exploration import rule_kernels as rules
from stumpery.policies.exploration.explorer_kernels import best_action, rank
from stumpery.policies.exploration.thompson_kernels import probability_of_being_optimal, sample_posteriors
from stumpery.random import integer
from stumpery.types import Floats, RandomState

NodeIndices = NDArray[np.uint32]

CLOCK_EXPLORING, CLOCK_N_DECISIONS, CLOCK_TURN = range(3)  # the share of decisions that explored; the action in turn
N_CLOCK_FIELDS = 3
VOTE_COUNT, VOTE_EXPECTED, VOTE_VARIANCE = range(3)  # rows of the votes; the last two for Thompson sampling only
N_VOTE_ROWS = 3
MAX_RECENT_DECISIONS = 1000.0  # over which the share that explores is averaged


def new_explorer_rule(kind: int, strength: float) -> Floats:
    """An explorer's rule for leaves that are bandit algorithms, with a prior of one success and one failure."""
    rule = np.zeros(rules.N_RULE_FIELDS)
    rule[rules.RULE_KIND], rule[rules.RULE_STRENGTH] = kind, strength
    rule[rules.RULE_PRIOR_SUCCESSES] = rule[rules.RULE_PRIOR_FAILURES] = 1.0
    return rule


UCB_EXPLORER = new_explorer_rule(rules.UPPER_CONFIDENCE, 2.0)
THOMPSON_EXPLORER = new_explorer_rule(rules.BETA_THOMPSON, 1.0)
VOTES_EXPLORER = new_explorer_rule(rules.UNCERTAINTY_THOMPSON, 1.0)  # the sum of the Thompson votes of many leaves


@internal
def fill_statistics(state: BanditState, leaf: int, statistics: Floats) -> float:
    """Write a leaf's scores and uncertainties into action statistics, in place; return the time in this leaf."""
    time = 1.0
    for action in range(statistics.shape[1]):
        plays, total = state.arms[leaf, action, ARM_PLAYS], state.arms[leaf, action, ARM_SUM]
        statistics[rules.ACTION_SCORE, action] = total / plays if plays > 0.0 else np.inf
        statistics[rules.ACTION_UNCERTAINTY, action] = 1.0 / math.sqrt(plays) if plays > 0.0 else np.inf
        time += plays
    return time


@internal
def add_bandit_vote(state: BanditState, rng: RandomState, leaf: int, votes: Floats, available: np.ndarray) -> None:
    """Add the vote of a leaf that is a bandit algorithm, in place; of a Thompson vote also its mean and variance."""
    statistics = np.zeros((rules.N_STATISTICS, votes.shape[1]))
    time = fill_statistics(state, leaf, statistics)
    if state.options[OPTION_LEAF_KIND] != THOMPSON_LEAF:
        ranking = rank(UCB_EXPLORER, statistics, available, time)
        votes[VOTE_COUNT, best_action(rng, statistics, available, ranking)] += 1.0
        return
    for action in range(votes.shape[1]):
        if statistics[rules.ACTION_UNCERTAINTY, action] == np.inf:
            statistics[rules.ACTION_SCORE, action] = 0.0
    votes[VOTE_COUNT, sample_posteriors(rng, THOMPSON_EXPLORER, statistics, available)] += 1.0
    for action in range(votes.shape[1]):
        if available[action]:
            probability = probability_of_being_optimal(THOMPSON_EXPLORER, statistics, available, action)
            votes[VOTE_EXPECTED, action] += probability
            votes[VOTE_VARIANCE, action] += probability * (1.0 - probability)


@internal
def vote_probability(votes: Floats, available: np.ndarray, action: int, n_votes: int) -> float:
    """Estimate the probability that an action wins a Thompson vote, by a normal approximation."""
    if n_votes == 1:
        return float(votes[VOTE_EXPECTED, action])
    statistics = np.zeros((rules.N_STATISTICS, votes.shape[1]))
    for other in range(votes.shape[1]):
        statistics[rules.ACTION_SCORE, other] = votes[VOTE_EXPECTED, other]
        statistics[rules.ACTION_UNCERTAINTY, other] = math.sqrt(votes[VOTE_VARIANCE, other] + 1.0 / 12.0)
    return probability_of_being_optimal(VOTES_EXPLORER, statistics, available, action)


@internal
def draw_winner(rng: RandomState, votes: Floats, available: np.ndarray) -> tuple[int, int]:
    """The available action with the most votes (ties are drawn) and how many share them; -1 and 0 without votes."""
    highest, n_best, winner = 0.0, 0, -1
    for action in range(votes.shape[1]):
        if available[action] and votes[VOTE_COUNT, action] > 0.0:
            if votes[VOTE_COUNT, action] > highest:
                highest, n_best, winner = votes[VOTE_COUNT, action], 1, action
            elif votes[VOTE_COUNT, action] == highest:
                n_best += 1
    if n_best > 1:
        skip = integer(rng, n_best)
        for action in range(votes.shape[1]):
            if available[action] and votes[VOTE_COUNT, action] == highest:
                if skip == 0:
                    return action, n_best
                skip -= 1
    return winner, n_best


@internal
def explore_paths(
    state: BanditState, rng: RandomState, clock: Floats, reached: NodeIndices, available: np.ndarray
) -> tuple[int, float]:
    """Draw, or take in turn, one of the actions that remain in some leaf; any available one where none of them is."""
    n_actions = available.shape[0]
    union = np.zeros(n_actions, dtype=np.bool_)
    n_union, n_available = 0, 0
    for action in range(n_actions):
        n_available += available[action]
    for tree in range(reached.shape[0]):
        choice, leaf = state.nodes[reached[tree], NODE_CHOICE], state.nodes[reached[tree], NODE_LEAF]
        for action in range(n_actions):
            if choice == action or (choice < 0 and state.arms[leaf, action, ARM_REMAINS] != 0.0):
                n_union += available[action] and not union[action]
                union[action] = union[action] or available[action]
        if n_union == n_available:
            break
    none_remain = n_union == 0
    n_candidates = n_available if none_remain else n_union
    in_turn = state.options[OPTION_IN_TURN] == 1.0
    skip = 0 if in_turn or n_candidates == 1 else integer(rng, n_candidates)
    start = int(clock[CLOCK_TURN]) if in_turn else 0
    for step in range(n_actions):
        action = (start + step) % n_actions
        if available[action] and (none_remain or union[action]):
            if skip == 0:
                if in_turn:
                    clock[CLOCK_TURN] = (action + 1) % n_actions
                return action, 1.0 if in_turn else 1.0 / n_candidates
            skip -= 1
    return -1, 0.0


@internal
def count_votes(
    state: BanditState, rng: RandomState, reached: NodeIndices, available: np.ndarray, votes: Floats
) -> int:
    """Count the votes of leaves that have chosen, and draw those of bandit leaves, in place; return their number."""
    for row in range(N_VOTE_ROWS):
        for action in range(votes.shape[1]):
            votes[row, action] = 0.0
    n_votes = 0
    for tree in range(reached.shape[0]):
        choice = state.nodes[reached[tree], NODE_CHOICE]
        if choice >= 0:
            votes[VOTE_COUNT, choice] += 1.0
            n_votes += 1
    if state.options[OPTION_LEAF_KIND] != ELIMINATION_LEAF:
        for tree in range(reached.shape[0]):
            if state.nodes[reached[tree], NODE_CHOICE] == SELECTING_ACTION:
                add_bandit_vote(state, rng, leaf_of(state, reached[tree]), votes, available)
                n_votes += 1
    return n_votes


@internal
def choose(
    state: BanditState, rng: RandomState, clock: Floats, reached: NodeIndices, available: np.ndarray, votes: Floats
) -> tuple[int, float]:
    """Choose by vote where enough leaves have chosen, else explore; return the action and its probability."""
    n_votes = count_votes(state, rng, reached, available, votes)
    winner, n_best = draw_winner(rng, votes, available) if n_votes >= state.options[OPTION_VOTES_NEEDED] else (-1, 0)
    explores = n_best == 0
    clock[CLOCK_N_DECISIONS] = min(clock[CLOCK_N_DECISIONS] + 1.0, MAX_RECENT_DECISIONS)
    clock[CLOCK_EXPLORING] += (explores - clock[CLOCK_EXPLORING]) / clock[CLOCK_N_DECISIONS]
    if explores:
        return explore_paths(state, rng, clock, reached, available)
    if state.options[OPTION_LEAF_KIND] == THOMPSON_LEAF:
        return winner, vote_probability(votes, available, winner, n_votes)
    return winner, 1.0 / n_best
