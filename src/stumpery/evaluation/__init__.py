"""How good a policy is: play it over known rewards, compare regrets over many trials."""

from stumpery.evaluation.play import PlayResult, play
from stumpery.evaluation.regret import RegretResult, regret

__all__ = ["PlayResult", "RegretResult", "play", "regret"]
