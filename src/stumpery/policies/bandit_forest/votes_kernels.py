"""The Bandit Forest's choice: the paths that a row takes through the trees vote, or explore.

A path votes once its leaf has chosen an action, or with a draw where leaves are bandits. When enough paths vote the
winner is played, else one of the actions that remain on some path.
"""

import math

import numpy as np
from numpy.typing import NDArray

from stumpery.jit import internal
from stumpery.policies.bandit_forest import arena_kernels as arena
from stumpery.policies.bandit_forest.arena_kernels import (
    CHOICE,
    ELIMINATION,
    IN_TURN,
    LEAF,
    LEAF_KIND,
    NEEDED,
    PLAYS,
    REMAINS,
    SELECTING_ACTION,
    SUM,
    THOMPSON,
    Forest,
)
from stumpery.policies.exploration import explorer_kernels as explorers
from stumpery.random import integer
from stumpery.types import Floats, RandomState

Places = NDArray[np.uint32]

EXPLORING, N_DECIDED, TURN = range(3)  # of the clock
N_CLOCK_FIELDS = 3
N_VOTES, EXPECTED, VARIANCE = range(3)  # rows of the votes; the last two of Thompson votes
N_VOTE_ROWS = 3
RECENT = 1000.0  # decisions over which the share that explores is averaged


def new_rule(kind: int, strength: float) -> Floats:
    """An explorer's rule for leaves that are bandits, with a prior of one success and one failure."""
    rule = np.zeros(explorers.N_RULE_FIELDS)
    rule[explorers.KIND], rule[explorers.STRENGTH] = kind, strength
    rule[explorers.PRIOR_SUCCESSES] = rule[explorers.PRIOR_FAILURES] = 1.0
    return rule


UCB_RULE = new_rule(explorers.UPPER_CONFIDENCE, 2.0)
THOMPSON_RULE = new_rule(explorers.BETA_THOMPSON, 1.0)
VOTES_RULE = new_rule(explorers.UNCERTAINTY_THOMPSON, 1.0)  # sums up the Thompson votes of many leaves


@internal
def fill_statistics(forest: Forest, leaf: int, statistics: Floats) -> float:
    """Put what a leaf knows onto action statistics, in place; give the time at it."""
    time = 1.0
    for action in range(statistics.shape[1]):
        plays, total = forest.arms[leaf, action, PLAYS], forest.arms[leaf, action, SUM]
        statistics[explorers.SCORE, action] = total / plays if plays > 0.0 else np.inf
        statistics[explorers.UNCERTAINTY, action] = 1.0 / math.sqrt(plays) if plays > 0.0 else np.inf
        time += plays
    return time


@internal
def bandit_vote(forest: Forest, rng: RandomState, leaf: int, votes: Floats, available: np.ndarray) -> None:
    """Add the vote of a leaf that is a bandit, and the mean and variance of a Thompson vote, in place."""
    statistics = np.zeros((explorers.N_STATISTICS, votes.shape[1]))
    time = fill_statistics(forest, leaf, statistics)
    if forest.rule[LEAF_KIND] != THOMPSON:
        ranking = explorers.rank(UCB_RULE, statistics, available, time)
        votes[N_VOTES, explorers.best_action(rng, statistics, available, ranking)] += 1.0
        return
    for action in range(votes.shape[1]):
        if statistics[explorers.UNCERTAINTY, action] == np.inf:
            statistics[explorers.SCORE, action] = 0.0
    votes[N_VOTES, explorers.sample(rng, THOMPSON_RULE, statistics, available)] += 1.0
    for action in range(votes.shape[1]):
        if available[action]:
            probability = explorers.probability_of_being_optimal(THOMPSON_RULE, statistics, available, action)
            votes[EXPECTED, action] += probability
            votes[VARIANCE, action] += probability * (1.0 - probability)


@internal
def vote_probability(votes: Floats, available: np.ndarray, action: int, n_votes: int) -> float:
    """Estimate the probability that an action wins a Thompson vote: the numbers of votes taken for normal."""
    if n_votes == 1:
        return float(votes[EXPECTED, action])
    statistics = np.zeros((explorers.N_STATISTICS, votes.shape[1]))
    for each in range(votes.shape[1]):
        statistics[explorers.SCORE, each] = votes[EXPECTED, each]
        statistics[explorers.UNCERTAINTY, each] = math.sqrt(votes[VARIANCE, each] + 1.0 / 12.0)
    return explorers.probability_of_being_optimal(VOTES_RULE, statistics, available, action)


@internal
def draw_best(rng: RandomState, votes: Floats, available: np.ndarray) -> tuple[int, int]:
    """The available action with the most votes, drawn where several have them; 0 of them where there are no votes."""
    most, n_best, winner = 0.0, 0, -1
    for action in range(votes.shape[1]):
        if available[action] and votes[N_VOTES, action] > 0.0:
            if votes[N_VOTES, action] > most:
                most, n_best, winner = votes[N_VOTES, action], 1, action
            elif votes[N_VOTES, action] == most:
                n_best += 1
    if n_best > 1:
        skip = integer(rng, n_best)
        for action in range(votes.shape[1]):
            if available[action] and votes[N_VOTES, action] == most:
                if skip == 0:
                    return action, n_best
                skip -= 1
    return winner, n_best


@internal
def explore(
    forest: Forest, rng: RandomState, clock: Floats, reached: Places, available: np.ndarray
) -> tuple[int, float]:
    """One of the actions that remain on some path, drawn or in turn; any available one where none of them is."""
    n_actions = available.shape[0]
    union = np.zeros(n_actions, dtype=np.bool_)
    n_union, n_available = 0, 0
    for action in range(n_actions):
        n_available += available[action]
    for tree in range(reached.shape[0]):
        choice, leaf = forest.nodes[reached[tree], CHOICE], forest.nodes[reached[tree], LEAF]
        for action in range(n_actions):
            if choice == action or (choice < 0 and forest.arms[leaf, action, REMAINS] != 0.0):
                n_union += available[action] and not union[action]
                union[action] = union[action] or available[action]
        if n_union == n_available:
            break
    nobody = n_union == 0
    n_candidates = n_available if nobody else n_union
    in_turn = forest.rule[IN_TURN] == 1.0
    skip = 0 if in_turn or n_candidates == 1 else integer(rng, n_candidates)
    start = int(clock[TURN]) if in_turn else 0
    for step in range(n_actions):
        action = (start + step) % n_actions
        if available[action] and (nobody or union[action]):
            if skip == 0:
                if in_turn:
                    clock[TURN] = (action + 1) % n_actions
                return action, 1.0 if in_turn else 1.0 / n_candidates
            skip -= 1
    return -1, 0.0


@internal
def gather(forest: Forest, rng: RandomState, reached: Places, available: np.ndarray, votes: Floats) -> int:
    """Count the votes of the paths that have finished, and draw those of bandits, in place; give how many there are."""
    for row in range(N_VOTE_ROWS):
        for action in range(votes.shape[1]):
            votes[row, action] = 0.0
    n_votes = 0
    for tree in range(reached.shape[0]):
        choice = forest.nodes[reached[tree], CHOICE]
        if choice >= 0:
            votes[N_VOTES, choice] += 1.0
            n_votes += 1
    if forest.rule[LEAF_KIND] != ELIMINATION:
        for tree in range(reached.shape[0]):
            if forest.nodes[reached[tree], CHOICE] == SELECTING_ACTION:
                bandit_vote(forest, rng, arena.leaf_of(forest, reached[tree]), votes, available)
                n_votes += 1
    return n_votes


@internal
def choose(
    forest: Forest, rng: RandomState, clock: Floats, reached: Places, available: np.ndarray, votes: Floats
) -> tuple[int, float]:
    """Vote where enough paths have finished, else explore; the action and its probability."""
    n_votes = gather(forest, rng, reached, available, votes)
    winner, n_best = draw_best(rng, votes, available) if n_votes >= forest.rule[NEEDED] else (-1, 0)
    explores = n_best == 0
    clock[N_DECIDED] = min(clock[N_DECIDED] + 1.0, RECENT)
    clock[EXPLORING] += (explores - clock[EXPLORING]) / clock[N_DECIDED]
    if explores:
        return explore(forest, rng, clock, reached, available)
    if forest.rule[LEAF_KIND] == THOMPSON:
        return winner, vote_probability(votes, available, winner, n_votes)
    return winner, 1.0 / n_best
