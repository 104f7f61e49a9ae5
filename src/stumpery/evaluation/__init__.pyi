from . import off_policy
from .click_challenge.challenge import play_challenge
from .click_challenge.result import ChallengeResult, combine_trials
from .click_challenge.table import ClickTable
from .off_policy.candidates import Progressive, Replayed
from .off_policy.evaluation import evaluate
from .off_policy.reporting.report import OffPolicyReport
from .play import PlayResult, play
from .prequential import PrequentialResult, prequential
from .regret import RegretResult, regret
from .replay import ReplayResult, replay

__all__ = [
    "ChallengeResult",
    "ClickTable",
    "OffPolicyReport",
    "PlayResult",
    "PrequentialResult",
    "Progressive",
    "RegretResult",
    "ReplayResult",
    "Replayed",
    "combine_trials",
    "evaluate",
    "off_policy",
    "play",
    "play_challenge",
    "prequential",
    "regret",
    "replay",
]
