"""How good a policy is: play it over known rewards, compare regrets over many trials, replay a log."""

from stumpery.evaluation.click_challenge import ChallengeResult, play_challenge
from stumpery.evaluation.click_table import ClickTable
from stumpery.evaluation.play import PlayResult, play
from stumpery.evaluation.regret import RegretResult, regret
from stumpery.evaluation.replay import ReplayResult, replay

__all__ = [
    "ChallengeResult",
    "ClickTable",
    "PlayResult",
    "RegretResult",
    "ReplayResult",
    "play",
    "play_challenge",
    "regret",
    "replay",
]
