from .click_challenge import ChallengeResult, play_challenge
from .click_table import ClickTable
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
    "play",
    "play_challenge",
    "prequential",
    "regret",
    "replay",
]
