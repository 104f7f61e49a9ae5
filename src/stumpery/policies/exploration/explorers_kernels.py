"""From scores and doubts to a choice and its probability.

A scorer gives every action a score (an estimate of its reward, on the scale 0 to 1) and a doubt: 1 / sqrt(n) after n
rewards, infinite before the first. An explorer's rule is one small array, so that every scorer's kernels can hold any
explorer. All kinds but Thompson sampling fill a vector of chances and draw once from it: the probability of a choice
is exact. Thompson sampling draws from the posteriors; the probability of its choice is an estimate (see `lead`).
Its rules are a matrix of one row: by that the compiler knows which half of this file a policy needs, and leaves out the
other.
"""

import math
from typing import NamedTuple

import numpy as np

from stumpery.jit import kernel, part
from stumpery.random import beta, choice, integer, normal, uniform
from stumpery.types import Floats, Words

GREEDY, UPPER_CONFIDENCE, INVERSE_GAP, BETA_THOMPSON, GAUSSIAN_THOMPSON, DOUBT_THOMPSON = range(6)

# A rule's fields. STRENGTH is rho, the scale of the inverse gap, the rewards' standard deviation, or how many doubts a
# draw is wide; BONUS is how many doubts are added to a score.
KIND, EPSILON, DECAY, FLOOR, STRENGTH, PRIOR_SUCCESSES, PRIOR_FAILURES, BONUS = range(8)
N_FIELDS = 8

# A board's rows, each with a column per action.
SCORE, DOUBT, VALUE, CHANCE = range(4)
N_ROWS = 4

DECIDES, LEARNS = 1, 2  # what a contextual policy's run along rows does; neither: it only fills the board

LEAST_CHANCE = 1e-6  # of a Thompson choice: its inverse stays usable as a weight
N_NODES = 24
REACH = 4.0  # posterior standard deviations to either side


def new_board(n_actions: int) -> Floats:
    """A board on which nothing is known yet."""
    board = np.zeros((N_ROWS, n_actions))
    board[DOUBT] = np.inf
    return board


@part
def epsilon_at(rule: Floats, time: float) -> float:
    """The share of uniform choices at a time: epsilon * time^-decay, never below the floor."""
    epsilon: float = rule[EPSILON]
    if rule[DECAY] != 0.0:
        epsilon *= time ** -rule[DECAY]
    floor: float = rule[FLOOR]
    return max(epsilon, floor)


class Ranking(NamedTuple):
    """The highest value on a board, who has it first, how many share it, and of how many actions."""

    best: float
    leader: int
    n_best: int
    n_available: int


@part
def rank(rule: Floats, board: Floats, available: np.ndarray, time: float) -> Ranking:
    """Write every value onto the board, in place: the score, plus a bonus where the rule has one and there is doubt."""
    scores, doubts, values = board[SCORE], board[DOUBT], board[VALUE]
    bonus = rule[BONUS]
    if rule[KIND] == UPPER_CONFIDENCE:
        bonus += math.sqrt(rule[STRENGTH] * math.log(time))
    best, leader, n_best, n_available = -np.inf, -1, 0, 0
    for action in range(scores.shape[0]):
        if not available[action]:
            continue
        n_available += 1
        value = scores[action]
        if bonus > 0.0 and doubts[action] < np.inf:
            value += bonus * doubts[action]
        values[action] = value
        if value > best or leader < 0:
            best, leader, n_best = value, action, 1
        elif value == best:
            n_best += 1
    return Ranking(best, leader, n_best, n_available)


@part
def nth(board: Floats, available: np.ndarray, least: float, n: int) -> int:
    """The n-th available action, from 0, whose value is at least `least`."""
    for action in range(board.shape[1]):
        if available[action] and board[VALUE, action] >= least:
            if n == 0:
                return action
            n -= 1
    return -1


@part
def leading(rng: Words, board: Floats, available: np.ndarray, ranking: Ranking) -> int:
    """The action of the highest value, drawn where several share it."""
    if ranking.n_best == 1:
        return ranking.leader
    return nth(board, available, ranking.best, integer(rng, ranking.n_best))


class Belief(NamedTuple):
    """A posterior on the scale on which it is most like a bell: its middle and spread there, and its density's terms.

    That scale is the reward for a normal posterior, whose shapes are 0, and the reward's log odds for a Beta one: there
    even a lopsided Beta has a middle and two tails, and which of several draws is the largest stays the same.
    """

    middle: float
    sd: float
    a: float
    b: float
    log_scale: float


@part
def log_gamma(x: float) -> float:
    """The logarithm of the Gamma function, to 1e-6; the library's own differs between compiled and plain Python."""
    y = x + 5.0
    steps = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0)
    return (y - 0.5) * math.log(y) - y + 0.9189385332046727 + 1.0 / (12.0 * y) - math.log(steps)


@part
def digamma(x: float) -> float:
    """The logarithmic derivative of the Gamma function, to 1e-5: its recurrence, then its series."""
    y = x + 3.0
    return math.log(y) - 0.5 / y - 1.0 / (12.0 * y * y) - 1.0 / x - 1.0 / (x + 1.0) - 1.0 / (x + 2.0)


@part
def trigamma(x: float) -> float:
    """The derivative of `digamma`, to 1e-4."""
    y = x + 3.0
    rest = 1.0 / y + 0.5 / (y * y) + 1.0 / (6.0 * y * y * y)
    return rest + 1.0 / (x * x) + 1.0 / ((x + 1.0) * (x + 1.0)) + 1.0 / ((x + 2.0) * (x + 2.0))


@part
def shapes(rule: Floats, board: Floats, action: int) -> tuple[float, float]:
    """Successes and failures of an action, the prior's among them."""
    n = 1.0 / (board[DOUBT, action] * board[DOUBT, action])
    successes = n * min(max(board[SCORE, action], 0.0), 1.0) if n > 0.0 else 0.0  # a linear score may leave 0..1
    return rule[PRIOR_SUCCESSES] + successes, rule[PRIOR_FAILURES] + max(n - successes, 0.0)


@part
def belief_in(rule: Floats, board: Floats, action: int) -> Belief:
    """What Thompson sampling believes of an action, but for the scale of its density."""
    if rule[KIND] == DOUBT_THOMPSON:
        if board[DOUBT, action] < np.inf:
            return Belief(board[SCORE, action], rule[STRENGTH] * board[DOUBT, action], 0.0, 0.0, 0.0)
        return Belief(0.5, rule[STRENGTH], 0.0, 0.0, 0.0)  # as after one reward of a half
    a, b = shapes(rule, board, action)
    if rule[KIND] == GAUSSIAN_THOMPSON:
        return Belief(a / (a + b), rule[STRENGTH] / math.sqrt(a + b), 0.0, 0.0, 0.0)
    return Belief(digamma(a) - digamma(b), math.sqrt(trigamma(a) + trigamma(b)), a, b, 0.0)


@part
def expected(rule: Floats, board: Floats, action: int) -> float:
    """The mean reward that Thompson sampling believes in."""
    if rule[KIND] == BETA_THOMPSON:
        a, b = shapes(rule, board, action)
        return a / (a + b)
    return belief_in(rule, board, action).middle


@part
def scaled(belief: Belief) -> Belief:
    """The same belief with the scale of its density."""
    middle, sd, a, b, _ = belief
    if a == 0.0:
        return Belief(middle, sd, a, b, math.log(sd * math.sqrt(2.0 * math.pi)))
    return Belief(middle, sd, a, b, log_gamma(a) + log_gamma(b) - log_gamma(a + b))


@part
def density(belief: Belief, x: float) -> float:
    """The density of a scaled belief."""
    middle, sd, a, b, log_scale = belief
    if a == 0.0:
        z = (x - middle) / sd
        return math.exp(-0.5 * z * z - log_scale)
    log_chance = min(x, 0.0) - math.log1p(math.exp(-abs(x)))
    return math.exp((a + b) * log_chance - b * x - log_scale)


@part
def below(z: float) -> float:
    """The standard normal distribution function, to 1.5e-4 (Page 1977)."""
    if z < -2.0 * REACH:  # an exponential that plain Python refuses
        return 0.0
    return 1.0 / (1.0 + math.exp(-z * (1.5976 + 0.070566 * z * z)))


@part
def lead(rule: Floats, board: Floats, available: np.ndarray, action: int) -> float:
    """Estimate the chance that an action's posterior draw is the largest.

    It is the integral of the action's density times its rivals' distribution functions: none of it below the highest of
    the rivals' low ends, all of the density above the highest of their high ends, and a sum over nodes between.
    """
    belief = scaled(belief_in(rule, board, action))
    low, high = belief.middle - 1.5 * REACH * belief.sd, belief.middle + 1.5 * REACH * belief.sd
    settled = low  # from here on the rivals are beaten
    middles, sds = np.empty(board.shape[1]), np.empty(board.shape[1])
    n_rivals = 0
    for rival in range(board.shape[1]):
        if rival != action and available[rival]:
            other = belief_in(rule, board, rival)
            middles[n_rivals], sds[n_rivals] = other.middle, other.sd
            low = max(low, other.middle - REACH * other.sd)
            settled = max(settled, other.middle + REACH * other.sd)
            n_rivals += 1
    if n_rivals == 0:
        return 1.0
    if low >= high:
        return LEAST_CHANCE
    settled = max(min(settled, high), low)
    step, rest = (settled - low) / N_NODES, (high - settled) / N_NODES
    weights = np.empty(N_NODES)
    for node in range(N_NODES):
        weights[node] = density(belief, low + (node + 0.5) * step) * step
    for rival in range(n_rivals):
        if middles[rival] + REACH * sds[rival] > low:
            for node in range(N_NODES):
                weights[node] *= below((low + (node + 0.5) * step - middles[rival]) / sds[rival])
    chance = 0.0
    for node in range(N_NODES):
        chance += weights[node] + density(belief, settled + (node + 0.5) * rest) * rest
    return min(max(chance, LEAST_CHANCE), 1.0)


@kernel
def fill_chances(rule: Floats, board: Floats, available: np.ndarray, time: float) -> None:
    """Write every action's chance onto the board, in place."""
    if rule.ndim == 2:
        fill_posterior_chances(rule[0], board, available, time)
    else:
        fill_exact_chances(rule, board, available, time)


@part
def fill_exact_chances(rule: Floats, board: Floats, available: np.ndarray, time: float) -> None:
    """Those of all rules but Thompson's."""
    best, _, n_best, n_available = rank(rule, board, available, time)
    epsilon = epsilon_at(rule, time)
    sharpness = rule[STRENGTH] * math.sqrt(time)
    left = 1.0
    for action in range(board.shape[1]):
        share = 0.0
        if available[action]:
            if rule[KIND] == INVERSE_GAP and board[VALUE, action] < best < np.inf:
                share = 1.0 / (n_available + sharpness * (best - board[VALUE, action]))
            left -= share
            share = epsilon / n_available + (1.0 - epsilon) * share
        board[CHANCE, action] = share
    for action in range(board.shape[1]):
        if available[action] and board[VALUE, action] == best:
            board[CHANCE, action] = epsilon / n_available + (1.0 - epsilon) * left / n_best


@part
def fill_posterior_chances(rule: Floats, board: Floats, available: np.ndarray, time: float) -> None:
    """Those of Thompson's rules."""
    n_available = rank(rule, board, available, time).n_available
    epsilon = epsilon_at(rule, time)
    for action in range(board.shape[1]):
        share = 0.0
        if available[action]:
            share = epsilon / n_available + (1.0 - epsilon) * lead(rule, board, available, action)
            board[VALUE, action] = expected(rule, board, action)
        board[CHANCE, action] = share


@part
def sample(rng: Words, rule: Floats, board: Floats, available: np.ndarray) -> int:
    """Draw once from every available action's posterior and take the largest."""
    winner, highest = -1, -np.inf
    for action in range(board.shape[1]):
        if available[action]:
            if rule[KIND] == BETA_THOMPSON:
                a, b = shapes(rule, board, action)
                draw = beta(rng, a, b)
            else:
                belief = belief_in(rule, board, action)
                draw = belief.middle + belief.sd * normal(rng)
            if winner < 0 or draw > highest:
                winner, highest = action, draw
    return winner


@kernel
def choose(rng: Words, rule: Floats, board: Floats, available: np.ndarray, time: float) -> tuple[int, float]:
    """Draw an action; give it and the chance with which it was drawn. Values and chances on the board are scratch."""
    if rule.ndim == 2:
        return choose_sampled(rng, rule[0], board, available, time)
    return choose_ranked(rng, rule, board, available, time)


@part
def choose_ranked(rng: Words, rule: Floats, board: Floats, available: np.ndarray, time: float) -> tuple[int, float]:
    """Draw by any rule but Thompson's."""
    if rule[KIND] == INVERSE_GAP:
        fill_exact_chances(rule, board, available, time)
        action = choice(rng, board[CHANCE])
        return action, board[CHANCE, action]
    ranking = rank(rule, board, available, time)
    epsilon = epsilon_at(rule, time)
    if epsilon > 0.0 and uniform(rng) < epsilon:
        action = nth(board, available, -np.inf, integer(rng, ranking.n_available))
    else:
        action = leading(rng, board, available, ranking)
    share = 1.0 / ranking.n_best if board[VALUE, action] == ranking.best else 0.0
    return action, epsilon / ranking.n_available + (1.0 - epsilon) * share


@part
def choose_sampled(rng: Words, rule: Floats, board: Floats, available: np.ndarray, time: float) -> tuple[int, float]:
    """Draw by one of Thompson's rules."""
    n_available = rank(rule, board, available, time).n_available
    epsilon = epsilon_at(rule, time)
    if epsilon > 0.0 and uniform(rng) < epsilon:
        action = nth(board, available, -np.inf, integer(rng, n_available))
    else:
        action = sample(rng, rule, board, available)
    return action, epsilon / n_available + (1.0 - epsilon) * lead(rule, board, available, action)
