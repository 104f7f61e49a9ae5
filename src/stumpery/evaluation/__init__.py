"""How good a policy or a model is: play over known rewards, compare regrets, replay a log, test then learn."""

from stumpery.evaluation.click_challenge import ChallengeResult, play_challenge
from stumpery.evaluation.click_table import ClickTable
from stumpery.evaluation.play import PlayResult, play
from stumpery.evaluation.prequential import PrequentialResult, prequential
from stumpery.evaluation.regret import RegretResult, regret
from stumpery.evaluation.replay import ReplayResult, replay

__all__ = [
    "ChallengeResult",
    "ClickTable",
    "PlayResult",
    "PrequentialResult",
    "RegretResult",
    "ReplayResult",
    "play",
    "play_challenge",
    "prequential",
    "regret",
    "replay",
]
