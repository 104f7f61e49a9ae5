from .click_challenge.challenge import play_challenge
from .click_challenge.result import ChallengeResult, combine_trials
from .click_challenge.table import ClickTable
from .play import PlayResult, play
from .prequential import PrequentialResult, prequential
from .regret import RegretResult, regret
from .replay import ReplayResult, replay

__all__ = [
    "ChallengeResult",
    "ClickTable",
    "PlayResult",
    "PrequentialResult",
    "RegretResult",
    "ReplayResult",
    "combine_trials",
    "play",
    "play_challenge",
    "prequential",
    "regret",
    "replay",
]
